"""Make the files of tests/fixtures, which hold what a version of the package stores.

    python scripts/format_fixtures.py FOLDER   # a folder that is not there yet

Later versions have to read what earlier versions have stored. So a folder is made once, by the code
of its time, before a format changes, and never again: `facts.json` in it states the commit of the
code and the contents of every file. All data are simulated here, with a fixed seed. The noise of
stores comes from the system, unless a name says "seeded", and the noise of most results from a
seed; salts and times are new in each run.
"""

import argparse
import csv
import gzip
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

import graphcuts_dp as gc
from graphcuts_dp.cli.reading import Reading
from graphcuts_dp.ledger.file import VERSION as TABLES
from graphcuts_dp.ledger.opening import FORMAT as STORE
from graphcuts_dp.ledger.opening import Store, create_ledger
from graphcuts_dp.results.bundle import FORMAT, read_receipt, receipt_path
from graphcuts_dp.server.book import VERSION as BOOK
from graphcuts_dp.server.book import Book, book_of
from graphcuts_dp.server.desk import Desk
from graphcuts_dp.server.models import Ask, SessionIn
from graphcuts_dp.server.people import Person
from graphcuts_dp.session.runner import Runner
from graphcuts_dp.session.session import session_of

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

import format_facts as facts  # noqa: E402
from command_runs import run_line  # noqa: E402

SEED = 2026
ZONES = [f"z{k}" for k in range(6)]
MONTHS = "2026-01..2026-03"
TRIPS = gc.Columns(source="origin", target="destination", user="user", period="day")
SMALL = gc.FlowWorkload(expected_cell=0)  # no refusal, although noise exceeds such small cells


# --- The data -------------------------------------------------------------------------------------
_READ_ME = """# What version {version} stores

Made by `python scripts/format_fixtures.py`, with the code of {made_by}.

Stores have format {store} (version {file} of the tables), receipts format {receipt}, and the book
of a server version {book}. Later versions have to read these files, or say what to do. They are
never made again.

All data are synthetic, see `make_data` of the script. The noise of results with "private" in their
name comes from the system, that of all others from the seed {seed}; the noise of stores comes from
the system, unless "seeded" is in the name. All that each file said when it was made is in
`facts.json`; `tests/ledger/test_format_fixtures.py` and `tests/results/test_result_fixtures.py`
compare it.

Not here: releases of the contributions of users, of bounds and of degree bounds, which are written
to no file (their uses are in `users.db`, `periods.db` and `vertex.db`); tables, pictures and
transcripts that nothing reads back; sessions of a learner of one's own; early degrees, which only
releases of hundreds of vertices buy, and which are stored as degrees are.

## data

The private data that the stores know by digests or by a name, and public tables.

| file | what |
|---|---|
| letters.csv, .schema.json | undirected, no weights, 24 people; of most stores and results |
| calls.edges | the same edges with weights, cap 4 |
| follows.graphml | directed, 10 vertices |
| ratings.edges | bipartite, weights, cap 5 |
| trips.csv | rows with user, origin, destination, day; `periods.db` knows them as trips-2026 |
| staff.csv, zones.csv | groups of the people, of the zones of trips |
| map.csv, people.csv | a path of 8 vertices, and how many people are at each |

## stores

SQLite files, packed by gzip; unpack them with mode 600. `server.db-server` is the book beside
`server.db`, and `server-log.jsonl` the exported audit log of it. The user of all uses is "curator".
In the table of uses "unfinished" was killed between charge and result, "failed" while the session
started; the numbers of a session are answers, corrections, interruptions.

"""


def make_data(folder: Path) -> None:
    """Write the private data and the public tables that everything else is made of."""
    folder.mkdir()
    rng = np.random.default_rng(SEED)
    people = [f"p{i:02}" for i in range(24)]
    i, j = np.triu_indices(24, 1)
    across = (i < 12) != (j < 12)
    chosen = rng.random(len(i)) < np.where(across, 0.9, 0.08)
    gc.Graph(i[chosen], j[chosen], vertices=people).write(folder / "letters.csv")
    _write(
        folder / "staff.csv",
        ("vertex", "house", "floor"),
        [(name, "ab"[k // 12], f"{'ab'[k // 12]}{k // 6 % 2}") for k, name in enumerate(people)],
    )
    weights = 1.0 + rng.integers(0, 4, chosen.sum())
    gc.Graph(i[chosen], j[chosen], weights, vertices=people, max_weight=4.0).write(
        folder / "calls.edges"
    )
    tail, head = np.nonzero(rng.random((10, 10)) < 0.3)
    gc.DirectedGraph(tail[tail != head], head[tail != head], vertices=10).write(
        folder / "follows.graphml"
    )
    left, right = np.nonzero(rng.random((6, 4)) < 0.6)
    stars = 1.0 + rng.integers(0, 5, len(left))
    sides = {"left": [f"u{k}" for k in range(6)], "right": [f"f{k}" for k in range(4)]}
    gc.BipartiteGraph(left, right, stars, max_weight=5.0, **sides).write(folder / "ratings.edges")
    trips = [
        (
            f"u{rng.integers(30):02}",
            ZONES[rng.integers(6)],
            ZONES[rng.integers(6)],
            f"2026-{1 + rng.integers(3):02}-{1 + rng.integers(28):02}",
        )
        for _ in range(400)
    ]
    _write(folder / "trips.csv", ("user", "origin", "destination", "day"), trips)
    _write(
        folder / "zones.csv",
        ("vertex", "county", "zone"),
        [(zone, "nnnsss"[k], zone) for k, zone in enumerate(ZONES)],
    )
    _write(folder / "map.csv", ("source", "target"), [(k, k + 1) for k in range(7)])
    counts = enumerate(rng.integers(1, 200, 8).tolist())
    _write(folder / "people.csv", ("vertex", "people"), list(counts))


def _write(path: Path, names: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    with path.open("w", newline="") as handle:
        csv.writer(handle, lineterminator="\n").writerows([names, *rows])


def staff_of(data: Path, graph: gc.Graph) -> gc.Groups:
    """Read the public groups of the letters."""
    return gc.Groups.read(data / "staff.csv", graph, columns=["house", "floor"])


def zones_of(data: Path) -> gc.Groups:
    """Read the public groups of the trips."""
    return gc.Groups.read(data / "zones.csv", gc.VertexSet(ZONES), columns=["county", "zone"])


def trips_of(data: Path, *, periods: str | None = MONTHS, name: str | None = None) -> gc.Rows:
    """Read the rows of the trips: into memory, or as those that stay in an engine, by a name."""
    columns = TRIPS if periods else replace(TRIPS, period=None)
    options = {"columns": columns, "vertices": ZONES, "periods": periods, "kind": "directed"}
    if name is None:
        return gc.Rows.read(data / "trips.csv", **options)
    return gc.Rows.of(pd.read_csv(data / "trips.csv"), data_name=name, **options)


# --- Uses that are cut off ------------------------------------------------------------------------


def killed(act: Callable[[], object]) -> None:
    """Do something in a child process that it kills; raise an error if it survives."""
    child = os.fork()
    if child == 0:
        try:
            act()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        raise RuntimeError("the child process was not killed")


def die(*_: object, **__: object) -> None:
    """End this process, as `kill -9` would."""
    os.kill(os.getpid(), signal.SIGKILL)


def killed_before_its_result(act: Callable[[], object]) -> None:
    """Charge a store in a process that is killed between the charge and the result."""

    def dying() -> None:
        with mock.patch("graphcuts_dp.release.job.pack", die):  # packs what was measured
            act()

    killed(dying)


def killed_while_it_starts(act: Callable[[], object]) -> None:
    """Begin a session in a process that is killed as soon as its cost is on the store."""

    def dying() -> None:
        with mock.patch.object(Runner, "start", die):
            act()

    killed(dying)


def killed_in_a_step(graph: gc.Graph, path: Path, name: str, queries: list[gc.CutQuery]) -> None:
    """Ask in a process that is killed when the steps are reserved, before noise is drawn."""

    def dying() -> None:
        session = gc.open_session(graph, store=path, name=name)
        with mock.patch.object(Runner, "_steps", die):
            session.ask_all(queries)

    killed(dying)


# --- Stores ---------------------------------------------------------------------------------------


def make_stores(folder: Path, data: Path) -> None:
    """Write the stores, and the book of a server beside one."""
    folder.mkdir()
    for name, make in STORES.items():
        make(folder / name, data)


def _letters(path: Path, data: Path) -> None:
    """Everything that a graph without weights can be used for, within a budget with a delta."""
    graph = gc.read_graph(data / "letters.csv")
    staff = staff_of(data, graph)
    store = Store(path, budget=(30.0, 1e-4))
    gc.release_graph(graph, epsilon=1.0, store=store)
    gc.release_graph(graph, epsilon=1.0, mechanism="sparse", store=path)
    gc.release_flows(graph, staff, epsilon=0.5, workload=SMALL, store=path)
    gaussian = gc.FlowWorkload(noise="gaussian", expected_cell=0)
    gc.release_flows(graph, staff, epsilon=0.5, delta=1e-6, workload=gaussian, store=path)
    gc.least_cut(graph, "p00", "p23", epsilon=0.5, store=path)
    cuts = [gc.CutQuery(["p00"]), gc.CutQuery([f"p{k:02}" for k in range(12)])]
    learn = gc.release_iteratively
    rounds = "multiplicative-weights:rounds=2"
    learn(graph, cuts, epsilon=1.0, delta=1e-6, construction=rounds, store=path)
    learn(graph, cuts, epsilon=0.5, construction="answers", store=path)
    killed_before_its_result(lambda: gc.release_graph(graph, epsilon=0.75, fit="none", store=path))
    source = {"path": "/data/letters.csv", **Reading().to_dict()}  # as the command line has it
    terms = {"epsilon": 1.0, "queries": 10, "method": "laplace"}
    with session_of(graph, store=path, name="plain", source=source, **terms) as session:
        session.ask(["p00"])
        session.ask(["p00"])
        session.ask_all([gc.CutQuery(["p01", "p02"], ["p20"]), gc.CutQuery("*", "*")])
    terms = {"epsilon": 1.0, "delta": 1e-6, "queries": 3, "method": "gaussian"}
    with gc.open_session(graph, store=path, name="stopped", **terms) as session:
        session.ask_all([gc.CutQuery([f"p{k:02}"]) for k in range(3)])
    terms = {"epsilon": 1.0, "queries": 8, "method": "binary"}
    with gc.open_session(graph, store=path, name="binary", **terms) as session:
        session.ask(["p00", "p05"])


def _ratings(path: Path, data: Path) -> None:
    """A bipartite graph with weights, of which other linear queries than cuts are asked."""
    graph = gc.BipartiteGraph.read(data / "ratings.edges")
    workload = gc.SessionWorkload(queries=5, linear=True)
    matrix = np.add.outer(np.arange(6), np.arange(4)) % 3 - 1.0
    terms = {"epsilon": 4.0, "queries": workload, "method": "laplace"}
    with gc.open_session(graph, store=path, name="linear", **terms) as session:
        session.ask(["u0", "u1"], ["f0"])
        session.ask(gc.Query.rank_one(np.arange(6) / 6, np.arange(4) / 4))
        session.ask(gc.Query.matrix(matrix))
    cuts = [gc.CutQuery(["u0", "u1"], ["f0"]), gc.CutQuery(["u2"], ["f1", "f2"])]
    options = {"epsilon": 4.0, "delta": 1e-6, "construction": "sensing:rounds=2"}
    gc.release_iteratively(graph, cuts, store=path, **options)


def _vertex(path: Path, data: Path) -> None:
    """A directed graph of which one vertex with all its edges is protected."""
    graph = gc.DirectedGraph.read(data / "follows.graphml")
    halves = gc.Groups(graph.vertices, {"half": list("aaaaabbbbb")})
    vertex = gc.PrivacyUnit.vertex(max_degree=4)
    gc.release.choose_degree_bound(graph, epsilon=0.5, store=Store(path, budget=5.0))
    gc.release_flows(graph, halves, epsilon=1.0, privacy_unit=vertex, workload=SMALL, store=path)
    terms = {"epsilon": 1.0, "queries": 5, "method": "laplace", "privacy_unit": vertex}
    with gc.open_session(graph, store=path, **terms) as session:
        session.ask([0, 1], [2, 3])


def _median(path: Path, _: Path) -> None:
    """Five vertices, of which every graph can be listed: statistics, and a choice from a net."""
    graph = gc.Graph([0, 1, 2], [1, 2, 3], vertices=5)
    cuts = [gc.CutQuery([0]), gc.CutQuery([0, 1], [3])]
    gc.release_iteratively(graph, cuts, epsilon=1.0, construction="net", store=path)
    terms = {"epsilon": 40.0, "delta": 1e-2, "queries": 10, "method": "median"}
    with gc.open_session(graph, store=path, **terms) as session:
        session.ask(gc.Query.statistic("triangles"))
        session.ask_all([gc.Query.statistic("max-cut"), gc.CutQuery([0])])


def _learnt(path: Path, data: Path) -> None:
    """Sessions that correct what they have learnt, in a store without a budget."""
    graph = gc.read_graph(data / "letters.csv")
    staff = staff_of(data, graph)
    rng = np.random.default_rng(SEED)
    names = graph.vertices.labels
    sets = [[name for name in names if rng.random() < 0.5] for _ in range(120)]
    halves = [gc.CutQuery(names[:12]), gc.CutQuery(names[:12], names[:12])]
    queries = [
        *halves,
        *(gc.CutQuery(one, two) for one, two in zip(sets[::2], sets[1::2], strict=True)),
    ]
    terms = {"epsilon": 50.0, "delta": 1e-3, "queries": 40}
    method = "multiplicative-weights:calibration=tight"
    with gc.open_session(graph, store=path, name="weights", method=method, **terms) as session:
        session.ask_all(queries[:12])
    method = "mirror-descent:norm=l2"
    with gc.open_session(graph, store=path, name="mirror", method=method, **terms) as session:
        session.ask_all(queries[:6])
    method = gc.MultiplicativeWeights(start="groups")
    with gc.open_session(
        graph, store=path, name="groups", method=method, groups=staff, **terms
    ) as session:
        session.ask("@a", "@b")
    few = {**terms, "queries": 4}
    method = "multiplicative-weights"
    with gc.open_session(graph, store=path, name="freely", method=method, **few) as session:
        session.ask_all(queries[:6], unguaranteed=True)


def _killed(path: Path, data: Path) -> None:
    """Sessions that were cut off at each place where that leaves something."""
    graph = gc.read_graph(data / "letters.csv")
    terms = {"epsilon": 1.0, "queries": 10, "method": "laplace"}
    singles = [gc.CutQuery([f"p{k:02}"]) for k in range(8)]
    with gc.open_session(graph, store=path, name="written off", **terms) as session:
        session.ask_all(singles[:2])
    killed_in_a_step(graph, path, "written off", singles[2:5])
    with gc.open_session(graph, store=path, name="written off") as session:
        session.ask_all(singles[5:6])
    killed_while_it_starts(lambda: gc.open_session(graph, store=path, name="failed", **terms))
    with gc.open_session(graph, store=path, name="reserved", **terms) as session:
        session.ask_all(singles[:1])
    killed_in_a_step(graph, path, "reserved", singles[1:3])


def _users(path: Path, data: Path) -> None:
    """Rows that were in memory, known by digests; all that a user has is protected."""
    rows, zones = trips_of(data, periods=None), zones_of(data)
    user = gc.PrivacyUnit.user(max_contributions=8)
    gc.release.release_contributions(rows, epsilon=0.5, store=Store(path, budget=6.0))
    gc.release.choose_contribution_bound(rows, epsilon=0.25, store=path)
    gc.release_flows(rows, zones, epsilon=1.0, privacy_unit=user, workload=SMALL, store=path)
    with gc.open_session(
        rows, store=path, epsilon=1.0, queries=5, method="laplace", privacy_unit=user
    ) as session:
        session.ask(["z0"], ["z1"])


def _periods(path: Path, data: Path) -> None:
    """Rows that stayed in an engine, known by a name; a user in one month is protected."""
    zones = zones_of(data)
    privacy_unit = gc.PrivacyUnit.user(max_contributions=4, per_period=True)
    options = {"privacy_unit": privacy_unit, "workload": SMALL}
    months = partial(trips_of, data, name="trips-2026")
    gc.release_flows(
        months(periods="2026-01..2026-01"),
        zones,
        epsilon=1.0,
        store=Store(path, budget=(3.0, 1e-5)),
        **options,
    )
    gc.release_flows(months(periods="2026-01..2026-02"), zones, epsilon=0.5, store=path, **options)
    gc.release.release_contributions(months(), epsilon=0.25, per_period=True, store=path)
    killed_before_its_result(
        lambda: gc.release_flows(
            months(periods="2026-03..2026-03"), zones, epsilon=0.75, store=path, **options
        )
    )


def series_of(data: Path, store: Path, month: str) -> gc.FlowsOverTime:
    """Publish a month of a series of flows in a store; months before it come from the store."""
    bound = gc.PrivacyUnit.user(max_contributions=9)
    options = {"period": month, "epsilon": 2.0, "privacy_unit": bound, "strategy": "independent"}
    return gc.update_flows(trips_of(data), zones_of(data), store=store, **options)


def _series(path: Path, data: Path) -> None:
    """Two of three months of a series of flows, with the rows of each user that have counted."""
    for month in ("2026-01", "2026-02"):
        series_of(data, path, month)


def _repaired(path: Path, data: Path) -> None:
    """A table that was made after a kill, and a series that has ended."""
    rows, zones = trips_of(data), zones_of(data)
    bound = gc.PrivacyUnit.user(max_contributions=9)
    publish = partial(
        gc.release_flows, rows, zones, epsilon=1.0, privacy_unit=bound, workload=SMALL
    )
    killed_before_its_result(lambda: publish(store=path))
    publish(store=Store(path, resume=True))
    series_of(data, path, "2026-01")
    gc.end_series(path)


def _long(path: Path, data: Path) -> None:
    """A release by a command, with its files; a session whose spending is summed up on the way."""
    graph = gc.read_graph(data / "letters.csv")
    with tempfile.TemporaryDirectory() as folder:
        words = ["release", str(data / "letters.csv"), str(Path(folder) / "release.csv")]
        status, _, problem = run_line(*words, "--epsilon=1", "--fit=none", f"--store={path}")
    if status:
        raise RuntimeError(problem)
    terms = {"epsilon": 8.0, "queries": 80, "method": "laplace"}
    cuts = [gc.CutQuery([f"p{i:02}", f"p{j:02}"]) for i in range(12) for j in range(12, 18)]
    with gc.open_session(graph, store=path, **terms) as session:
        session.ask_all(cuts)
        session.ask(["p00"])


def _distances(path: Path, data: Path) -> None:
    """Positions of people on a map, asked for at once and one by one, with a seed."""
    city, people = gc.distances.Metric.path(8), data / "people.csv"
    gc.distances.answer_distances(city, people, epsilon=1.0, seed=SEED, store=path)
    with gc.distances.open_distance_session(
        city, people, store=path, epsilon=5.0, queries=6, seed=SEED
    ) as session:
        session.ask(0)
        session.ask_all([7, 3])


def _server(path: Path, data: Path) -> None:
    """A store that a server works on, with its book: people, requests, keys, the audit log."""
    graph = gc.read_graph(data / "letters.csv")
    create_ledger(Store(path, budget=9.0), graph, privacy_unit="1 edge")
    ann = Person(name="ann", preapproved=True, epsilon=2.0)
    curator, bob = Person(name="carol", role="curator"), Person(name="bob", epsilon=3.0)
    with closing(Desk(graph, Store(path), Book(book_of(path)))) as desk:
        for person in (curator, ann, bob):
            desk.people.add(person, by="console")
        desk.people.grant("bob", "ann", allowed=True, by="carol")
        terms = {"epsilon": 1.0, "queries": 5, "method": "laplace"}
        desk.request(ann, SessionIn(name="a", **terms))
        desk.ask(ann, "ann.a", Ask.model_validate({"queries": [{"S": ["p00"]}]}), "key-1")
        desk.request(bob, SessionIn(name="b", **terms))
        desk.decide(curator, "bob.b", approve=True, note="for May")
        desk.request(bob, SessionIn(name="waits", **terms))
        log = desk.people.log_text()
    path.with_name("server-log.jsonl").write_text(log)


STORES = {
    "letters.db": _letters,
    "ratings.db": _ratings,
    "vertex.db": _vertex,
    "median.db": _median,
    "learnt.db": _learnt,
    "killed.db": _killed,
    "users.db": _users,
    "periods.db": _periods,
    "series.db": _series,
    "repaired.db": _repaired,
    "long.db": _long,
    "distances-seeded.db": _distances,
    "server.db": _server,
}


# --- Results --------------------------------------------------------------------------------------


def blocks(n: int, inside: float, across: float) -> gc.Graph:
    """Draw a graph of two halves, from the chances of an edge inside and across."""
    i, j = np.triu_indices(n, 1)
    chances = np.where((i < n // 2) == (j < n // 2), inside, across)
    chosen = np.random.default_rng(SEED).random(len(i)) < chances
    return gc.Graph(i[chosen], j[chosen], vertices=n)


def results(data: Path) -> dict[str, tuple[object, list[tuple[object, object]]]]:
    """Return every kind of result, by the name of its file, with its queries."""
    graph = gc.read_graph(data / "letters.csv")
    staff = staff_of(data, graph)
    calls = gc.Graph.read(data / "calls.edges")
    follows = gc.DirectedGraph.read(data / "follows.graphml")
    ratings = gc.BipartiteGraph.read(data / "ratings.edges")
    names = graph.vertices.labels
    seeded = {"seed": SEED}
    release, learn, flows = gc.release_graph, gc.release_iteratively, gc.release_flows
    rows, zones = trips_of(data), zones_of(data)
    user = gc.PrivacyUnit.user(max_contributions=8)
    month = gc.PrivacyUnit.user(max_contributions=4, per_period=True)
    vertex = gc.PrivacyUnit.vertex(max_degree=4)
    gaussian = {"noise": "gaussian", "expected_cell": 0}
    cuts = [(names[:1], None), (names[:12], None), (names[:4], names[12:18])]
    queries = [gc.CutQuery(*cut) for cut in cuts]
    rated = [(("u0", "u1"), ("f0",)), (("u2",), ("f1", "f2")), (("u3", "u4", "u5"), ("f3",))]
    few = gc.Graph([0, 1, 2], [1, 2, 3], vertices=5)
    small = [((0,), None), ((0, 1), (3,)), ((2,), None)]
    default = release(graph, epsilon=3.0, **seeded)
    heavy = release(calls, epsilon=6.0, noise="laplace", **seeded)
    without_queries = {
        "default.csv": default,
        "default-private.graphml": release(graph, epsilon=3.0),
        "response.edges": release(graph, epsilon=3.0, mechanism="randomized-response", **seeded),
        "degrees.mtx": release(
            graph, epsilon=3.0, mechanism="degrees+randomized-response", **seeded
        ),
        "sparse.edges.gz": release(graph, epsilon=4.0, mechanism="sparse", **seeded),
        "sparse-weighted.edges": release(calls, epsilon=6.0, mechanism="sparse", **seeded),
        "sparse-communities.edges.gz": release(
            blocks(60, 0.4, 0.02), epsilon=8.0, mechanism="sparse", **seeded
        ),
        "total.edges": release(blocks(16, 0.5, 0.2), epsilon=2.0, **seeded),
        "weighted.npz": heavy,
        "no-graph.csv": release(graph, epsilon=2.0, fit="none", **seeded),
        "groups.csv": release(graph, epsilon=3.0, groups=staff, **seeded),
        "sparse-groups.csv": release(
            graph, epsilon=4.0, mechanism="sparse", groups=staff, **seeded
        ),
        "directed.gml": release(follows, epsilon=4.0, **seeded),
        "bipartite.edges": release(ratings, epsilon=6.0, **seeded),
        "flows.csv": flows(graph, staff, epsilon=1.0, workload=SMALL, **seeded),
        "flows-private.csv": flows(graph, staff, epsilon=1.0, workload=SMALL),
        "flows-gaussian.csv": flows(
            graph, staff, epsilon=1.0, delta=1e-6, workload=gc.FlowWorkload(**gaussian), **seeded
        ),
        "flows-vertex.csv": flows(
            graph, staff, epsilon=2.0, privacy_unit=vertex, workload=SMALL, **seeded
        ),
        "flows-user.csv": flows(
            rows, zones, epsilon=2.0, privacy_unit=user, workload=SMALL, **seeded
        ),
        "flows-months.csv": flows(
            rows, zones, epsilon=2.0, privacy_unit=month, workload=SMALL, by="month", **seeded
        ),
        "flows-quarters.csv": flows(
            rows, zones, epsilon=2.0, by=["quarter", "month"], workload=SMALL, **seeded
        ),
        "cut.csv": gc.least_cut(graph, "p00", "p23", epsilon=1.0, **seeded),
        "cut-several.csv": gc.least_cut(graph, "p00", "p05", "p23", epsilon=3.0, **seeded),
        "cut-directed.csv": gc.least_cut(follows, 0, 5, epsilon=1.0, **seeded),
        "parts-max-cut.csv": default.partition("max-cut"),
        "parts-sparsest.csv": default.partition("sparsest", smallest=3),
        "parts-balanced.csv": default.partition("balanced", parts=3),
        "parts-clusters.csv": default.partition("clusters"),
        "parts-hierarchy.csv": heavy.partition("hierarchy", parts=4),
    }
    learning = {"epsilon": 8.0, "delta": 1e-6, **seeded}
    weights = gc.Learning(rounds=3)
    mirror = gc.Learning(rule="mirror-descent", norm="l2", rounds=3)
    with_queries = {
        "learnt.csv": (learn(graph, queries, construction=weights, **learning), cuts),
        "learnt-private.edges": (
            learn(graph, queries, epsilon=8.0, delta=1e-6, construction=weights),
            cuts,
        ),
        "learnt-mirror.edges": (learn(graph, queries, construction=mirror, **learning), cuts),
        "learnt-alone.edges": (
            learn(follows, construction=gc.Learning(rounds=3), **learning),
            [],
        ),
        "game.csv": (
            learn(graph, queries, construction="game:player=both,rounds=3", **learning),
            cuts,
        ),
    }
    pure = {"epsilon": 2.0, **seeded}
    few_cuts, rates = [gc.CutQuery(*cut) for cut in small], [gc.CutQuery(*cut) for cut in rated]
    with_queries |= {
        "median.edges": (learn(few, few_cuts, construction="median", **learning), small),
        "net.csv": (learn(few, few_cuts, construction="net", **pure), small),
        "answers.npz": (learn(graph, queries, construction="answers", **pure), cuts),
        "answers-private.npz": (learn(graph, queries, construction="answers", epsilon=2.0), cuts),
        "sensing.npz": (learn(ratings, rates, construction="sensing:rounds=2", **learning), rated),
    }
    return {name: (result, []) for name, result in without_queries.items()} | with_queries


def make_results(folder: Path, data: Path, scratch: Path) -> dict[str, object]:
    """Write the results and their receipts; return facts about them."""
    folder.mkdir()
    facts_of = {}
    for month in ("2026-01", "2026-02"):
        series = series_of(data, scratch / "series.db", month)
    for name, (result, queries) in (results(data) | {"over-time.csv": (series, [])}).items():
        result.save(folder / name)
        facts_of[name] = {"files": _files_of(folder / name), **facts.of_result(result, queries)}
    city, people = gc.distances.Metric.path(8), data / "people.csv"
    result = gc.distances.answer_distances(city, people, epsilon=1.0, seed=SEED)
    result.save(folder / "distances.csv")
    facts_of["distances.csv"] = {
        "files": _files_of(folder / "distances.csv"),
        "class": "DistanceAnswers",
        "guarantee": facts.facts_of(result.guarantee),
        "best": result.best.vertex,
        "answers": [[answer.vertex, answer.value, *answer.interval] for answer in result.all()],
    }
    return facts_of


def _files_of(path: Path) -> list[str]:
    receipt = receipt_path(path)
    if read_receipt(receipt)["format"] != FORMAT:
        raise RuntimeError("a receipt of another format")
    return [*read_receipt(receipt)["files"], receipt.name]


# --- All together ---------------------------------------------------------------------------------


def clean(folder: Path) -> None:
    """Remove what killed processes have left beside stores, and check that nothing else is open."""
    for path in folder.iterdir():
        if path.name.endswith(("-lock", "-serving")):
            path.unlink()
        elif path.name.endswith("-journal"):
            if path.stat().st_size:
                raise RuntimeError(f"{path.name}: a transaction was cut off")
            path.unlink()


def kinds_in(path: Path) -> dict[str, int]:
    """Count the records of a store by kind."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT kind, COUNT(*) FROM records GROUP BY kind ORDER BY kind")
        return {str(kind): count for kind, count in rows}


def of_copy(path: Path, scratch: Path) -> dict[str, object]:
    """Return facts about a copy of a store."""
    copy = scratch / path.name
    shutil.copy(path, copy)
    kinds, facts_of_store = kinds_in(copy), facts.of_store(copy)
    if "distances" in path.name:
        facts_of_store["distances"] = facts.of_distance_session(copy, path.parents[1] / "data")
    return {"records": kinds, **facts_of_store}


def of_book(path: Path, scratch: Path) -> dict[str, object]:
    """Return facts about a copy of a server's registry."""
    return facts.of_book(shutil.copy(path, scratch / path.name))


def pack(folder: Path) -> None:
    """Compress SQLite files, which are mostly empty pages."""
    for path in sorted(folder.iterdir()):
        if path.read_bytes().startswith(b"SQLite format 3"):
            packed = gzip.compress(path.read_bytes(), mtime=0)
            path.with_name(f"{path.name}.gz").write_bytes(packed)
            path.unlink()


def as_lines(facts_of: dict[str, dict[str, object]]) -> str:
    """Write JSON with a line for each file."""
    parts = []
    for name, value in facts_of.items():
        text = json.dumps(value)
        if isinstance(value, dict):
            lines = (f"{json.dumps(key)}: {json.dumps(field)}" for key, field in value.items())
            text = "{\n" + ",\n".join(lines) + "\n}"
        parts.append(f"{json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def read_me(all_facts: dict[str, Any]) -> str:
    """Write what each file holds, in words and numbers."""
    text = _READ_ME.format(
        version=gc.__version__.rpartition(".")[0],
        made_by=all_facts["made_by"],
        store=STORE,
        file=TABLES,
        receipt=FORMAT,
        book=BOOK,
        seed=SEED,
    )
    for name, facts_of_file in all_facts["stores"].items():
        budget_spent = f"epsilon {facts_of_file['epsilon']:g}, delta {facts_of_file['delta']:g}"
        kinds = ", ".join(f"{kind}: {count}" for kind, count in facts_of_file["records"].items())
        text += f"### {name}.gz\n\n{STORES[name].__doc__}\n\n"
        text += f"- spent on {facts_of_file['privacy_unit']}: {budget_spent}; "
        text += f"budget {facts_of_file['budget']}\n"
        for period, cost in facts_of_file["periods"].items():
            text += f"- on {period}: epsilon {cost['epsilon']:g}\n"
        text += f"- records by kind: {kinds}\n\n"
        text += "| use | kind | name | state | epsilon | delta | periods | session |\n"
        text += "|---|---|---|---|---|---|---|---|\n"
        for use in facts_of_file["uses"]:
            session_counts = facts_of_file["sessions"].get(use["name"], {}) if use["name"] else {}
            counts = [
                session_counts.get(key) for key in ("answers", "corrections", "interruptions")
            ]
            cells = [use["number"], use["kind"], use["name"], use["state"]]
            cells += [f"{use['guarantee']['epsilon']:g}", f"{use['guarantee']['delta']:g}"]
            cells += [
                " ".join(use["periods"] or []),
                ", ".join(map(str, counts)) if session_counts else "",
            ]
            text += "| " + " | ".join(map(str, cells)) + " |\n"
        text += "\n"
    text += "## results\n\nWith the first of the answers, or the value of a partition.\n\n"
    text += "| file | class | privacy unit | epsilon | delta | what | says |\n"
    text += "|---|---|---|---|---|---|---|\n"
    for name, facts_of_file in all_facts["results"].items():
        guarantee, measured = (
            facts_of_file["guarantee"],
            facts_of_file.get("construction") or facts_of_file.get("kind"),
        )
        measured = measured or ", ".join(
            facts_of_file.get("measured", facts_of_file.get("levels", []))
        )
        says = (
            facts_of_file["total"]
            if "total" in facts_of_file
            else facts_of_file.get("answers", [[""]])[0]
        )
        says = (
            [facts_of_file["value"] or facts_of_file["shortfall"]]
            if "parts" in facts_of_file
            else says
        )
        shown = ", ".join(f"{number:.6g}" for number in says)
        cells = [name, facts_of_file["class"], guarantee["privacy_unit"]]
        cells += [f"{guarantee['epsilon']:g}", f"{guarantee['delta']:g}", measured, shown]
        text += "| " + " | ".join(cells) + " |\n"
    return text


@contextmanager
def written_at_once(folder: Path) -> Iterator[Path]:
    """Yield a folder under another name, which gets its own name when all of it is written."""
    part = folder.with_name(folder.name + ".part")
    part.mkdir(parents=True)
    try:
        yield part
        part.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def main() -> None:
    """Make all files in the folder of the command line, and write facts about them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("folder", type=Path, help="a new folder of tests/fixtures")
    folder = parser.parse_args().folder
    if folder.exists():
        parser.error(f"{folder} is there: fixtures are made once")
    if not Path(gc.__file__).is_relative_to(ROOT):
        parser.error(f"{gc.__file__} is imported, not the package of this checkout")
    os.environ["LOGNAME"] = "curator"  # what the stores call whoever runs this
    os.umask(0o022)
    warnings.simplefilter("ignore")
    git = ["git", "-C", str(ROOT), "log", "-1", "--format=%H", "--", "graphcuts_dp"]
    commit = subprocess.run(git, check=True, capture_output=True, text=True).stdout.strip()
    with written_at_once(folder) as part:
        data, stores, scratch = part / "data", part / "stores", part / "scratch"
        make_data(data)
        make_stores(stores, data)
        clean(stores)
        scratch.mkdir()
        all_facts = {
            "made_by": f"graphcuts_dp {gc.__version__}, commit {commit[:12]}",
            "results": make_results(part / "results", data, scratch),
        }
        all_facts["stores"] = {
            path.name: of_copy(path, scratch) for path in sorted(stores.glob("*.db"))
        }
        all_facts["book"] = of_book(stores / "server.db-server", scratch)
        shutil.rmtree(scratch)
        pack(stores)
        (part / "facts.json").write_text(as_lines(all_facts))
        (part / "README.md").write_text(read_me(all_facts))


if __name__ == "__main__":
    main()
