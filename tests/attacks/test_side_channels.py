"""Nothing that a user sees depends on the private data but through numbers with noise.

The few functions that read private data are blindfolded: noise is drawn as ever, from the same
seed, but on data that are empty. Then everything that comes out must be the same to the byte for
graphs that are as different as can be: reprs, texts, exports, files (so their sizes, packed or
not), standard output and error, exit statuses, warnings, log records, progress. What differs would
have come past the noise. Tables name every public name and every command, so that a new one has to
be put to the test. What whoever holds the private graph reads back from it (conversions, written
graphs, measured errors) is named too; it is theirs, and says "NOT PRIVATE" where it might be taken
for a release. The store of sessions is as private as the graph and is not looked at; what it
exports is. Timing is measured in the benchmarks.
"""

import inspect
import json
import logging
import secrets
import shutil
import warnings
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from unittest import mock

import matplotlib.font_manager  # noqa: F401  # it logs when it is first imported
import numpy as np
import pandas
import pytest
import scipy.sparse as sp
from command_runs import run_line
from helpers import StandingClock
from matplotlib.figure import Figure

import graphcuts_dp as gc
from graphcuts_dp import CutList, graph_job
from graphcuts_dp.cli import main
from graphcuts_dp.cuts import least
from graphcuts_dp.cuts import weights as cut_weights
from graphcuts_dp.display import Card, Displayed
from graphcuts_dp.distances import locations as distance_locations
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.iterative import answer_grid, distinguisher, net, power_method
from graphcuts_dp.iterative.query_lists import QuestionList
from graphcuts_dp.ledger import opening, uses
from graphcuts_dp.measure import (
    cells,
    edge_counts,
    entries,
    mean_square,
    statistics,
    structure_test,
)
from graphcuts_dp.measure import updates as updates_measure
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy.budget_plan import ALL_LEFT, BudgetStep
from graphcuts_dp.privacy.distributions import BinaryResponse, LaplaceNoise
from graphcuts_dp.release import updates
from graphcuts_dp.session.counts import EdgeCounter
from graphcuts_dp.session.session import session_of
from graphcuts_dp.synth.budget_plans import COUNTS_SHARE, DEGREES, KEPT_EDGES, WEIGHTS
from tests.audits.public_names import public_names
from tests.audits.registry import READS_NO_DATA
from tests.audits.rows_in_memory import rows_in_memory

learn = gc.release_iteratively

N = 8
PAIRS = [(i, j) for i in range(N) for j in range(i + 1, N)]
ARCS = [(i, j) for i in range(N) for j in range(N) if i != j]
ENDS = [(i, j) for i in range(N) for j in range(N)]


def graphs(kind):
    """Nothing, one edge and everything, of one schema."""
    n = 5 if "few" in kind else N
    places = {"bipartite": ENDS, "directed": ARCS}.get(kind.split()[-1], PAIRS)
    places = [(i, j) for i, j in places if max(i, j) < n]
    found = []
    for count, weight in ((0, 0.0), (1, 0.3), (len(places), 1.0)):
        rows, columns = np.array(places[:count], dtype=int).reshape(-1, 2).T
        weights = None if "weighted" not in kind else np.full(count, weight)
        cap = None if weights is None or "no cap" in kind else 1.0
        sides = {"left": N, "right": N} if "bipartite" in kind else {"vertices": n}
        classes = {"bipartite": gc.BipartiteGraph, "directed": gc.DirectedGraph}
        make = classes.get(kind.split()[-1], gc.Graph)
        found.append(make(rows, columns, weights, max_weight=cap, max_weight_change=1, **sides))
    return found


def nothing_to(respond):
    """An answer of noise on entries, of none of them."""
    return lambda self, pairs, _entries, _places, source: respond(
        self, pairs, np.empty(0), np.empty(0, dtype=np.int64), source
    )


def zeros(size):
    """In place of what counts: as many zeros as it counts things."""
    return lambda *given, **_: np.zeros(size(*given), dtype=np.int64)


def all_at_one_place(placed):
    """In place of a reader of locations."""

    def of(metric, given):
        first = np.eye(1, len(metric), dtype=np.int64)[0]
        return Locations(metric, first * placed(metric, given).people)

    return of


def sides_of(graph):
    return N if isinstance(graph, gc.Graph) else 2 * N


# Every place that reads private data, and what it then sees. The ledger keeps digests of the data,
# keyed by random bytes that lie beside them.
BLINDED = {
    (BinaryResponse, "respond"): nothing_to(BinaryResponse.respond),
    (LaplaceNoise, "respond"): nothing_to(LaplaceNoise.respond),
    (statistics, "whole_steps"): zeros(lambda weights, *_: len(weights)),
    (statistics, "class_counts"): zeros(lambda _, bounds: len(bounds) + 1),
    (entries, "edges_of"): lambda *_: (*np.zeros((2, 0), dtype=np.int32), np.zeros(0)),
    (cells, "digits_of_cells"): lambda _graph, _sides, tree, _grid: [
        [np.zeros(tree.size(place), dtype=np.int64)] for place in range(tree.depth)
    ],
    (Grid, "count"): lambda *_: 0,
    (Grid, "total"): lambda *_: 0,
    (Grid, "steps"): zeros(lambda _, weights: len(weights)),
    (Grid, "digits_of"): lambda grid, weights: [
        np.zeros(len(weights), dtype=np.int64) for _ in range(grid.digits)
    ],
    (edge_counts, "count_edges"): lambda _: (np.zeros(1, dtype=np.int64),) * 2,
    (mean_square, "squared_distance"): lambda *_, **__: 0,
    (cut_weights, "_sum"): lambda *_: 0,
    (updates_measure, "sums_of_cells"): lambda _counts, _sides, tree, _grid: [
        np.zeros(tree.size(tree.depth - 1), dtype=np.int64)
    ],
    (structure_test, "structure_count"): lambda *_: 0,
    (structure_test, "unevenness"): lambda *_: 0,
    (EdgeCounter, "counts"): lambda _, queries: [0] * len(queries),
    (CutList, "counts"): zeros(lambda self, *_: len(self)),
    (QuestionList, "_exact_answers"): lambda _, indices, *__: [0] * len(list(indices)),
    (answer_grid.AnswerGrid, "count"): zeros(lambda self, _: len(self.queries)),
    (net._Net, "scores"): zeros(lambda self, _: len(self.databases)),
    (distinguisher.ExactCuts, "pair_scores"): zeros(lambda self, _: self.universe.shape),
    (power_method, "symmetric_matrix"): lambda graph, _: sp.csr_array(
        (sides_of(graph),) * 2, dtype=np.int64
    ),
    (least, "least_side"): lambda _, pull, side: np.where(side == 0, pull > 0, side == 1),
    (opening, "identity_of_edges"): lambda *_: {"entries": "00"},
    (opening, "identity_of_rows"): lambda *_: {"entries": "00"},
    (distance_locations, "identity_of_counts"): lambda *_: {"entries": "00"},
    (secrets, "token_bytes"): lambda count: bytes(count),
    (uses, "datetime"): StandingClock,
    (Locations, "of"): all_at_one_place(Locations.of),
}


@pytest.fixture
def blindfold(monkeypatch):
    """Every place that reads private data sees none."""
    for (where, name), blinded in BLINDED.items():
        monkeypatch.setattr(where, name, blinded)


class Watch:
    """Runs something in a folder of its own and notes all that can be seen of it."""

    def __init__(self, folder, caplog):
        self.folder = folder / "here"
        self._caplog = caplog
        self.steps = []

    def progress(self, done, message):
        self.steps.append((done, message))

    def __call__(self, run):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        self._caplog.clear()
        self.steps = []
        with warnings.catch_warnings(record=True) as raised, self._caplog.at_level(logging.DEBUG):
            warnings.simplefilter("always")
            try:
                result = run(self)
            except gc.errors.GraphCutsError as problem:
                result = type(problem).__name__, str(problem)
        return {
            "result": result if isinstance(result, tuple | dict | list) else texts_of(result),
            "warnings": [(w.category.__name__, str(w.message)) for w in raised],
            "logs": [
                (r.name, r.getMessage())
                for r in self._caplog.records
                if not r.name.startswith("matplotlib")  # what fonts it finds
            ],
            "progress": self.steps,
            "files": {
                file.name: file.read_bytes()
                for file in sorted(self.folder.iterdir())
                if ".private" not in file.name
            },
        }


@pytest.fixture
def watch(tmp_path, caplog):
    return Watch(tmp_path, caplog)


def texts_of(value):
    """What a person who prints a value, or its public attributes, sees."""
    names = [name for name in dir(value) if not name.startswith("_")]
    shown = {"repr": repr(value), "str": str(value)}
    if hasattr(value, "_repr_html_"):
        shown["html"] = value._repr_html_()
    for name in names:
        try:
            found = getattr(value, name)
        except gc.errors.GraphCutsError as problem:
            found = type(problem).__name__, str(problem)
        if not inspect.ismethod(found) and not inspect.isbuiltin(found):
            text = json.dumps(found.tolist()) if isinstance(found, np.ndarray) else repr(found)
            shown[name] = text if " at 0x" not in text else type(found).__name__
    return shown


def all_of(made):
    """A saved release: all attributes, and answers."""
    return texts_of(made) | {"answers": [str(made.answer([0], T)) for T in (None, [1, 2], [0])]}


def released(release=gc.release_graph, **options):
    def run(watch, graph):
        made = release(graph, epsilon=2.0, seed=3, progress=watch.progress, **options)
        made.save(watch.folder / "x.graphml.gz")
        return all_of(made)

    return run


def all_parts_of_sparse(watch, graph):
    """A sparse release that keeps edges, whatever the counts say."""
    job = graph_job(graph, epsilon=2.0, noise="laplace", mechanism="sparse")
    shares = {WEIGHTS: COUNTS_SHARE, KEPT_EDGES: Fraction(3, 4), DEGREES: ALL_LEFT}
    steps = (
        BudgetStep(statistic=statistic, share=share, noise="laplace")
        for statistic, share in shares.items()
    )
    job = replace(job, budget_plan=replace(job.budget_plan, steps=tuple(steps)))
    source = SeededEntropy(3)
    bought = job.measure(graph, source, watch.progress)
    made = job.finish(bought, bought.guarantee, source, watch.progress)
    made.save(watch.folder / "x.graphml.gz")
    kept = bought.kept
    return {"repr": repr(made), "kept": repr(kept), "steps": kept.steps.tolist()}


def asked(method, **options):
    def run(watch, graph):
        with session_of(
            graph,
            store=watch.folder / "store.private",
            method=method,
            **({"epsilon": 2.0, "delta": 1e-6, "queries": 9, "seed": 3} | options),
        ) as session:
            answers = session.ask_all(
                [gc.CutQuery([0]), gc.CutQuery([1], [2, 3]), gc.CutQuery([4])],
                progress=watch.progress,
            )
            answers.append(session.ask([0]))
            return {
                "answers": [repr(answer) for answer in answers],
                "export": json.dumps(session.export()),
                "status": [repr(session), repr(session.status), repr(session.history)],
                "html": session._repr_html_(),
                "cost": repr(session.cost([gc.CutQuery([0]), gc.CutQuery([7])])),
            }

    return run


def learnt(queries=None, construction=gc.Learning, **options):
    made = construction(rounds=3, **options)
    return released(learn, queries=queries, delta=1e-6, construction=made)


def sensed(watch, graph):
    queries = [gc.CutQuery([i], [j]) for i in range(3) for j in range(3)]
    terms = {"epsilon": 2.0, "delta": 1e-6, "seed": 3, "progress": watch.progress}
    return texts_of(learn(graph, queries, construction="sensing:rounds=3", **terms))


def netted(_, graph):
    graph = gc.Graph(
        [i for i in graph.rows if i < 3], [3] * int((graph.rows < 3).sum()), vertices=4
    )
    return texts_of(learn(graph, [gc.CutQuery([0])], epsilon=1.0, seed=3, construction="net"))


LEVELS = {"half": [0] * 4 + [1] * 4, "pair": [0, 0, 1, 1, 2, 2, 3, 4]}
HALVES = {"half": ["a"] * 4 + ["b"] * 4}


def groups_of(graph, levels):
    """Public groups of the vertices, or of those of both sides."""
    if isinstance(graph, gc.Graph):
        return gc.Groups(graph.vertices, levels)
    return gc.Groups(graph.left, levels), gc.Groups(graph.right, levels)


def tabled(work=None, **options):
    def run(watch, graph):
        workload = gc.FlowWorkload(**(work or {}), expected_cell=0)
        made = gc.release_flows(
            graph,
            groups_of(graph, LEVELS),
            epsilon=2.0,
            workload=workload,
            seed=3,
            **options,
        )
        made.save(watch.folder / "x.csv")
        again = gc.load(watch.folder / "x.csv")
        return texts_of(made) | {
            "values": [made.values(level).tolist() for level in made.levels],
            "between": [str(made.between([0, 1], 2)), str(made.linear(np.ones((5, 5))))],
            "rounded": made.rounded().values().tolist(),
            "loaded": texts_of(again),
        }

    return run


def grouped(epsilon=2.0, **options):
    def run(watch, graph):
        made = gc.release_graph(
            graph,
            epsilon=epsilon,
            seed=3,
            groups=groups_of(graph, LEVELS),
            progress=watch.progress,
            **options,
        )
        made.save(watch.folder / "x.graphml.gz")
        return all_of(made) | {"loaded": all_of(gc.Release.load(watch.folder / "x.graphml.gz"))}

    return run


def begun_from_groups(method):
    """In a session that buys the sums between two halves first."""

    def run(watch, graph):
        groups = groups_of(graph, HALVES)
        return asked(method, start="groups", groups=groups, epsilon=40.0)(watch, graph)

    return run


def named(watch, graph):
    groups = groups_of(graph, HALVES)
    with gc.open_session(
        graph, store=watch.folder / "store.private", epsilon=2.0, queries=9, seed=3, groups=groups
    ) as session:
        return {
            "answers": [repr(session.ask("@a", "@b")), repr(session.ask(["@a", 5]))],
            "export": json.dumps(session.export()),
        }


def structure_detected(_, graph):
    return repr(gc.detect_structure(graph, epsilon=1.0, seed=3))


def bound_chosen(_, graph):
    return repr(gc.choose_degree_bound(graph, epsilon=1.0, seed=3))


def cut(*terminals):
    def run(watch, graph):
        made = gc.least_cut(graph, *terminals, epsilon=2.0, seed=3, progress=watch.progress)
        made.save(watch.folder / "x.csv")
        return texts_of(made) | {"parts": made.parts}

    return run


CUTS = [gc.CutQuery([0]), gc.CutQuery([1, 2], [3, 4])]


def updated(watch, graph):
    """Three months of a table over time, of rows that lie in the first two."""
    dates = [f"2026-0{1 + number % 2}-10" for number in range(len(graph.rows))]
    dates = pandas.array(dates, dtype="string")  # of a stored type without rows, too
    table = pandas.DataFrame({"source": graph.rows, "target": graph.columns, "date": dates})
    rows = gc.Rows.of(
        table, columns=gc.Columns(period="date"), vertices=N, periods="2026-01..2026-12"
    )
    store, seen = watch.folder / "s.private", {}
    for month in ("2026-01", "2026-02", "2026-03"):
        with mock.patch.object(updates, "entropy_source", return_value=SeededEntropy(3)):
            made = gc.update_flows(
                rows, groups_of(graph, LEVELS), period=month, epsilon=2.0, store=store
            )
        made.save(watch.folder / f"{month}.csv")
        status = gc.store_status(store)
        seen[month] = texts_of(made) | {"status": str(status), "export": status.to_json()}
    return seen


def answered(noise):
    def run(_watch, graph):
        made = learn(graph, CUTS, epsilon=1.0, seed=3, construction=noise)
        return {
            "made": texts_of(made),
            "answers": [texts_of(each) for each in made.answer_all(CUTS)],
        }

    return run


MECHANISMS = {
    "answers at once": ("plain", answered("answers")),
    "tables over time": ("plain", updated),
    "answers at once, k-norm": ("weighted bipartite", answered("k-norm")),
    "response": ("plain", released(mechanism="randomized-response")),
    "auto": ("plain", released()),
    "degrees": ("plain", released(mechanism="degrees+randomized-response")),
    "groups": ("plain", grouped()),
    "groups, two looks": ("plain", grouped(epsilon=40.0, mechanism="degrees+randomized-response")),
    "groups, two sides": ("bipartite", grouped()),
    "groups, weights": ("weighted", grouped(noise="laplace")),
    "groups, two sides, weights": ("weighted bipartite", grouped(noise="discrete-laplace")),
    "groups, no cap": ("weighted no cap", grouped(noise="laplace")),
    "session, groups": ("plain", named),
    "session, from groups": ("plain", begun_from_groups("frieze-kannan")),
    "session, from groups, weights": (
        "weighted bipartite",
        begun_from_groups("multiplicative-weights"),
    ),
    "no fit": ("bipartite", released(fit="none")),
    "bipartite": ("bipartite", released()),
    "laplace": ("weighted", released(noise="laplace")),
    "whole weights": ("weighted bipartite", released(noise="discrete-laplace", fit="first-order")),
    "no cap": ("weighted no cap", released(noise="laplace")),
    "cutting plane": ("plain", released(fit="cutting-plane", mechanism="randomized-response")),
    "game": ("plain", released(fit="game", mechanism="randomized-response")),
    "learnt from all cuts": ("plain", learnt()),
    "learnt from a list": ("weighted", learnt(CUTS, rule="frieze-kannan")),
    "learnt from a matrix": ("plain", learnt(distinguisher="response-rank-one")),
    "learnt from released answers": ("plain", learnt(CUTS, distinguisher="released")),
    "learnt by both players": ("weighted", learnt(CUTS, gc.Game)),
    "learnt by the query player": ("bipartite", learnt(CUTS, gc.Game, player="query")),
    "learnt of a hidden list": ("plain", learnt(CUTS * 9, gc.Game, hide_queries=0.9)),
    "learnt from other queries": (
        "weighted bipartite",
        learnt([gc.Query.matrix(np.eye(8) - 0.5), *CUTS]),
    ),
    "learnt by the median": (
        "plain few",
        learnt([gc.Query.statistic("triangles"), CUTS[0]], rule="median"),
    ),
    "learnt by powers": ("weighted bipartite", learnt(distinguisher="power-rank-one")),
    "learnt until accurate": ("plain", learnt(calibration="tight")),
    "session, gaussian": ("plain", asked("gaussian")),
    "session, weights": ("weighted no cap", asked("laplace")),
    "session, binary": ("plain", asked("binary")),
    "session, weights learnt": ("weighted", asked("multiplicative-weights")),
    "session, learnt": ("bipartite", asked("frieze-kannan", value_share=0.2)),
    "session, as printed": ("plain", asked("frieze-kannan", calibration="dr14", delta=0.0)),
    "session, auto": ("plain", asked("auto")),
    "directed": ("directed", released()),
    "directed, weights": ("weighted directed", released(noise="laplace", fit="first-order")),
    "directed, learnt": ("directed", learnt(distinguisher="power-rank-one")),
    "directed, session": ("weighted directed", asked("frieze-kannan")),
    "cut": ("plain", cut(0, 5)),
    "cut, weights": ("weighted no cap", cut([0, 1], 2, 5)),
    "cut, directed": ("weighted directed", cut(0, 5)),
    "sensing": ("weighted bipartite", sensed),
    "net": ("plain", netted),
    "flows": ("plain", tabled()),
    "flows, workload": ("plain", tabled({"accurate": "half"})),
    "sparse": ("plain", released(mechanism="sparse")),
    "sparse, all parts": ("weighted no cap", all_parts_of_sparse),
    "sparse, two sides": ("bipartite", released(mechanism="sparse")),
    "sparse, weights": ("weighted directed", released(mechanism="sparse")),
    "sparse, no cap": ("weighted no cap", released(mechanism="sparse", noise="discrete-laplace")),
    "flows, two sides": ("bipartite", tabled({"noise": "gaussian"}, delta=1e-6)),
    "flows, vertex": ("plain", tabled(privacy_unit=gc.PrivacyUnit.vertex(max_degree=2))),
    "flows, vertex, no cap": (
        "weighted no cap",
        tabled(privacy_unit=gc.PrivacyUnit.vertex(max_degree=2)),
    ),
    "flows, vertex, two sides": (
        "bipartite",
        tabled(privacy_unit=gc.PrivacyUnit.vertex(max_degree=2)),
    ),
    "session, vertex": ("plain", asked("frieze-kannan", privacy_unit="vertex:2")),
    "degree bound": ("plain", bound_chosen),
    "structure test": ("plain", structure_detected),
    "flows, cap": ("weighted", tabled()),
    "flows, no cap": ("weighted no cap", tabled({"whole": True})),
}


SHOWN = (
    *("get_text", "get_position", "get_xy", "get_height", "get_xydata", "get_segments"),
    *("get_offsets", "get_array", "get_facecolor", "get_edgecolor"),
)
PAINTED = ("auto", "flows", "cut")  # of each way to draw, one whose picture is painted to the pixel


def write_what_is_drawn(figure, file, **_):
    """Write what a picture shows, in place of its pixels: texts, lines, colours and where they lie.

    Takes the place of `Figure.savefig`.
    """
    for artist in figure.findobj():
        shown = [type(artist).__name__]
        for name in SHOWN:
            with suppress(AttributeError, TypeError, ValueError):  # boxes and spines have others
                value = getattr(artist, name)()
                shown.append(value.tolist() if isinstance(value, np.ndarray) else repr(value))
        file.write(f"{shown}\n".encode())


def compare_all_that_is_seen(name, watch, private_graphs):
    _, run = MECHANISMS[name]
    first, *others = [watch(lambda w, g=graph: run(w, g)) for graph in private_graphs]
    assert isinstance(first["result"], dict), first["result"]
    for other in others:
        for key, value in first.items():
            assert other[key] == value, key


# What sessions say of their worth is made of public numbers; commands say it below.
@pytest.mark.thorough(cases=6)
@pytest.mark.usefixtures("blindfold", "no_forecast")
@pytest.mark.parametrize("name", MECHANISMS)
def test_all_that_is_seen_is_the_same_for_all_graphs(name, watch, monkeypatch):
    if name not in PAINTED:
        monkeypatch.setattr(Figure, "savefig", write_what_is_drawn)
    nothing, _, everything = graphs(MECHANISMS[name][0])
    compare_all_that_is_seen(name, watch, [nothing, everything])


@pytest.mark.slow
@pytest.mark.usefixtures("blindfold", "no_forecast")
@pytest.mark.parametrize("name", MECHANISMS)
def test_all_that_is_painted_is_the_same_for_a_graph_of_one_edge_too(name, watch):
    compare_all_that_is_seen(name, watch, graphs(MECHANISMS[name][0]))


def asked_of_people(watch, metric, people):
    terms = {"epsilon": 9.0, "queries": 3, "seed": 3, "store": watch.folder / "d.private"}
    with gc.distances.open_distance_session(metric, people, **terms) as one:
        told = [str(one), *map(str, one.ask_all([0, 5])), str(one.ask(7))]
        return {"told": told, "json": json.dumps(one.status.to_dict())}


def answered_of_people(watch, metric, people):
    made = gc.distances.answer_distances(metric, people, epsilon=1.0, seed=3)
    made.save(watch.folder / "x.csv")
    return {"json": json.dumps(made.to_dict()), "str": str(made)}


@pytest.mark.usefixtures("blindfold")
@pytest.mark.parametrize("run", [asked_of_people, answered_of_people])
def test_distances_are_the_same_wherever_people_are(run, watch):
    metric = gc.distances.Metric.path(N)
    placed = np.array([[9] + [0] * 7, [0] * 7 + [9], [2, 1] * 3 + [0, 0]])
    found = [watch(lambda w, c=counts: run(w, metric, Locations(metric, c))) for counts in placed]
    assert isinstance(found[0]["result"], dict), found[0]["result"]
    assert found[0] == found[1] == found[2]


def edges_of(graph):
    rows = zip(graph.rows.tolist(), graph.columns.tolist(), graph.weights.tolist(), strict=True)
    return "".join(f"{i} {j} {w}\n" if graph.weighted else f"{i} {j}\n" for i, j, w in rows)


# Commands that read private data, right and wrong ones. GRAPH stands for the graph's file and its
# vertices, RUN for what a good run needs.
RUN = "--epsilon 2 --seed 1"
SENSED = "--delta 1e-6 --kind bipartite"
TAIL = "--columns user=tail"
TABLE = "flows GRAPH --contributions table"
BOTH = "--groups-columns levels=half/pair"
FLOWS = f"flows GRAPH staff.csv x.csv {RUN}"
PRIVATE = {
    "release-iteratively": [
        *(
            f"release-iteratively GRAPH x.net --epsilon 2 {more}"
            for more in (
                "--seed 1 --delta 1e-6 --construction multiplicative-weights:rounds=2",
                "--construction median:calibration=best",
                "--player both",
                "--construction game",
            )
        ),
        *(
            f"release-iteratively GRAPH {file} --epsilon 2 --queries queries.jsonl {more}"
            for file, more in (
                ("x.csv", "--construction net:edges=4 --seed 1 --store s.private"),
                ("x.csv", "--construction net --uncounted"),
                ("x.npz", "--construction answers --seed 1 --store s.private"),
                (
                    "x.npz",
                    "--construction k-norm --seed 1 --privacy-unit edge:2 --json --uncounted",
                ),
                ("x.csv", "--construction answers"),
                (
                    "x.npz",
                    "--construction sensing --delta 1e-6 --seed 1 --kind bipartite --uncounted",
                ),
                ("x.npz", f"--construction sensing:rounds=2 {SENSED} --seed 1 --uncounted"),
            )
        ),
    ],
    "release": [
        f"release GRAPH x.csv {RUN}",
        f"release GRAPH x.csv {RUN} --json",
        "release GRAPH x.npz --epsilon .01 --seed 1 --fit none",
        f"release GRAPH x.csv {RUN} --mechanism sparse",
        f"release GRAPH x.csv {RUN} --weights w.csv",
        "release GRAPH x.csv --epsilon 0",
        "release GRAPH x.csv --epsilon 2 --dry-run 9",
    ],
    "flows": [
        f"{FLOWS} {BOTH}",
        f"{FLOWS} --json --groups-columns levels=half",
        f"{FLOWS} --delta 1e-6 --noise gaussian {BOTH} --store s.private",
        f"{FLOWS} {BOTH} --privacy-unit vertex:max-degree=2 --uncounted",
        FLOWS,
        f"{FLOWS} --groups-columns levels=half --vertices 9",
        f"{FLOWS} --workload town --groups-columns levels=half --uncounted",
        f"{FLOWS} --groups-columns levels=half --dry-run --vertices 9",
    ],
    "cuts": [
        f"cuts GRAPH x.csv --from 0 --to 5 {RUN}",
        f"cuts GRAPH x.csv --from 0 --to 5/3 {RUN} --json --store s.private",
        f"cuts GRAPH x.csv --from 0 --to 0 {RUN}",
        "cuts GRAPH x.csv --from 0 --to 99 --epsilon 1",
        "cuts GRAPH x.csv --from 0 --to 5 --epsilon 2 --dry-run",
    ],
    "contributions": [
        f"{TABLE} {TAIL} {RUN}",
        f"{TABLE} --columns user=2,source=1,target=2 {RUN} --json",
        f"flows GRAPH --contributions choice:share-above=.1 {TAIL} {RUN}",
        f"{FLOWS} --groups-columns levels=half {TAIL} --privacy-unit user:2 --counting rows",
        f"release GRAPH x.csv --epsilon 9 --seed 1 --allow-useless {TAIL} --privacy-unit user:2",
        f"flows graph.private.edges --contributions table {TAIL} --epsilon 1",
        f"{TABLE}:bounds=1/2/3 {TAIL} {RUN} --counting users --store o.private",
        "release GRAPH x.csv --epsilon 2 --privacy-unit user:max-contributions=2",
        f"release GRAPH x.csv --epsilon 2 {TAIL}",
        f"{TABLE}:bounds=1/2/3 {TAIL} {RUN} --vertices 9 --dry-run --store o.private",
        f"flows GRAPH --contributions choice:share-above=.1 {TAIL} {RUN} --vertices 9 --dry-run",
    ],
    "distances": [
        "distances map.csv PEOPLE --epsilon 1 --seed 1 --output x.csv",
        "distances map.csv PEOPLE --epsilon 1 --seed 1 --json",
        "distances map.csv PEOPLE --epsilon .001 --seed 1",
        "distances map.csv PEOPLE --store d.private --epsilon 9 --queries 3 --seed 1",
        "distances --store d.private --ask 0 --ask 5",
        "distances --store d.private --ask 5 --ask 7 --json",
        "distances --store d.private --ask 99",
        "distances --store d.private",
        "distances --store d.private --json",
        "distances map.csv PEOPLE --store d.private --epsilon 2 --queries 3",
        "session status d.private",
        "distances map.csv PEOPLE --epsilon 1 --seed 1 --output x.csv --store d.private",
    ],
    "session": [
        f"session start GRAPH --store s.private {RUN} --delta 1e-6 --queries 9",
        "session ask s.private --from 0,1",
        "session ask s.private --from 0,1 --to 5 --json",
        "session ask s.private --from 99",
        "session run s.private queries.jsonl -o answers.jsonl",
        "session repl s.private",
        "session status s.private",
        "session status s.private --json",
        "session export s.private -o export.json",
        "session start GRAPH --store s.private --epsilon 2 --queries 9",
        "session start GRAPH --store t.private --epsilon 2 --queries 9 --budget 1",
    ],
    "store": [
        f"release GRAPH x.csv {RUN} --store s.private --budget 3",
        "release GRAPH x.csv --epsilon 2 --store s.private",
        "release GRAPH x.csv --epsilon 2",
        "distances map.csv PEOPLE --epsilon 1 --seed 1 --output x.csv --store p.private",
        "session status s.private",
        "session status p.private --json",
        "session status s.private --expect-head 5",
    ],
    "serve": [  # what it tells once it listens is watched in tests/server
        f"release GRAPH x.csv {RUN} --store s.private",
        "serve new.private --graph GRAPH",
        "serve s.private --graph GRAPH --host 0.0.0.0",
        "serve s.private --graph GRAPH --certificate none.pem",
        "serve s.private --graph GRAPH --person-header X-User --proxy-secret none --budget 1",
        "serve .",
        "serve backup s.private backup",
        "serve access add . ann --graphs s",
        "serve access limits s.private ann --epsilon 1",
    ],
}
# Commands that read public data only, or measure against the truth and say so.
OTHERS = {
    "answer": "reads a release",
    "flows-over-time": "prints `update_flows`, see `MECHANISMS`: tests/cli/test_flows_over_time.py",
    "plan": "reads nothing",
    "inspect": "reads a receipt or the head of a file: tests/cli/test_inspect_tables.py",
    "audit": "made graphs",
    "benchmark": "made graphs and public ones",
    "datasets": "public graphs",
    "figures": "made graphs and public ones",
    "evaluate": "NOT PRIVATE",
    "page": "runs the others: tests/page",
    "resume": "runs the others again: tests/crash/test_resumption.py",
    "store": "reads a store: tests/ledger",
    "report": "reads receipts, results and stores: tests/reports",
}


@pytest.mark.thorough(cases=1)
@pytest.mark.usefixtures("blindfold")
@pytest.mark.parametrize("command", PRIVATE)
@pytest.mark.parametrize("left_out", [1, pytest.param(None, marks=pytest.mark.slow)])
def test_commands_say_and_write_the_same_for_all_graphs(command, left_out, watch, monkeypatch):
    """The graph of one edge is left to the slow tests."""

    def run(watch, number, graph):
        folder = watch.folder
        monkeypatch.chdir(folder)
        monkeypatch.setenv("GRAPHCUTS_DP_STATE", f"{folder}-state")
        shutil.rmtree(f"{folder}-state", ignore_errors=True)
        # Receipts name the store, whose salt is random, and the second in which it was charged.
        for name in ("charges.store_id", "charges.time_now", "uses.time_now"):
            monkeypatch.setattr(f"graphcuts_dp.ledger.{name}", lambda *_: "2026")
        (folder / "graph.private.edges").write_text(edges_of(graph))
        (folder / "map.csv").write_text(
            "source,target\n" + "".join(f"{i},{i + 1}\n" for i in range(N - 1))
        )
        staff = "".join(f"{i},{i // 4},{i // 2}\n" for i in range(N))
        (folder / "staff.csv").write_text("vertex,half,pair\n" + staff)
        (folder / "people.private.csv").write_text(f"vertex,people\n{[0, 7, 3][number]},9\n")
        (folder / "queries.jsonl").write_text('{"S": [1]}\n{"S": [2], "T": [3]}\n')
        seen = []
        for line in PRIVATE[command]:
            shutil.rmtree(folder / "x.csv", ignore_errors=True)
            words = line.replace("PEOPLE", "people.private.csv").split()
            if "GRAPH" in words:
                words[words.index("GRAPH")] = "graph.private.edges"
                vertices = "8,8" if "bipartite" in words else "8"
                words += [] if "--vertices" in words else ["--vertices", vertices]
            for old in folder.glob("x.*"):
                if words[0] != "session":
                    old.rename(folder / f"kept {len(seen)} {old.name}")
            seen.append(run_line(*words, typed="0,1\n:status\n:history\n0 | 99\n"))
        return seen

    first, *others = (
        watch(lambda w, n=number, g=graph: run(w, n, g))
        for number, graph in enumerate(graphs("plain"))
        if number != left_out
    )
    assert {status for status, *_ in first["result"]} == {0, 2}, first["result"]
    assert len(first["files"]) > 3
    for other in others:
        for line, one, two in zip(PRIVATE[command], first["result"], other["result"], strict=True):
            assert one == two, line
        assert other == first


def test_every_command_is_watched_or_excused():
    commands = {line.split()[0] for lines in PRIVATE.values() for line in lines}
    assert set(main.COMMANDS) == commands | set(OTHERS)


WATCHED = {  # public functions that spend: in `MECHANISMS`, `OF_PEOPLE` and `PRIVATE`
    *("release_graph", "release_iteratively", "open_session", "choose_degree_bound"),
    "detect_structure",
    *("release_flows", "release_contributions", "choose_contribution_bound", "least_cut"),
    "update_flows",
    *("distances.answer_distances", "distances.open_distance_session"),
}


def test_every_public_function_that_spends_is_watched():
    spends = {
        name
        for name, each in public_names().items()
        if inspect.isfunction(each) and "epsilon" in inspect.signature(each).parameters
    }
    assert spends - READS_NO_DATA == WATCHED


@pytest.mark.parametrize("kind", ["plain", "bipartite", "directed", "weighted", "weighted no cap"])
def test_reprs_of_private_things_tell_the_schema_only(kind):
    metric = gc.distances.Metric.path(N)
    shown = []
    for graph in graphs(kind):
        people = Locations(metric, np.roll(np.array([9] + [0] * (N - 1)), len(graph.rows)))
        things = [graph, people, EdgeCounter(graph, Grid.of(graph))]
        things.append(inspect.signature(type(graph)))
        users = np.zeros(len(graph.rows), dtype=np.int64)
        marks = np.zeros(1, dtype=np.uint64)
        things.append(rows_in_memory(graph.space, users, marks, (graph.rows, graph.columns)))
        shown.append([(repr(thing), str(thing), f"{thing!s:>9}") for thing in things])
        shown[-1].append(graph._repr_html_())
    assert shown[0] == shown[1] == shown[2]


WRONG = [
    lambda g: gc.release_graph(g, epsilon=-1),
    lambda g: gc.release_graph(g, epsilon=1, noise="gauss"),
    lambda g: gc.release_graph(g, epsilon=1, noise="binary", fit="best"),
    lambda g: gc.release_graph(g, epsilon=1e-7),
    lambda g: gc.release_graph(g, epsilon=1, mechanism=gc.Mechanism(degree_share=2)),
    lambda g: gc.release_graph(g, epsilon=1, groups="staff.csv"),
    lambda g: gc.release_graph(g, epsilon=1, groups=gc.Groups(gc.VertexSet(3), {"a": [0, 1, 2]})),
    lambda g: learn(g, epsilon=1, delta=0.0),
    lambda g: gc.release_graph(
        g, epsilon=1, fit="spectral", mechanism="degrees+randomized-response"
    ),
    lambda g: gc.release_flows(g, gc.Groups(gc.VertexSet(3), {"a": [0, 1, 2]}), epsilon=1),
    lambda g: gc.release_flows(g, "staff.csv", epsilon=-1),
    lambda g: gc.open_session(g, store="/nowhere/x.db", epsilon=1, queries=1),
    lambda g: gc.open_session(g, store="x.db", epsilon=1, queries=0),
    lambda g: session_of(g, store="x.db", epsilon=1, delta=1e-6, queries=9, beta=-1.0),
    lambda g: gc.release_graph(g, epsilon=2, store=gc.Store("x.db", budget=1)),
    lambda g: gc.CutQuery([99]).masks(g),
    lambda g: gc.CutQuery([True] * 3).masks(g),
    lambda g: gc.Query.matrix(np.ones((2, 3))).value(g),
    lambda g: g.write("x.nothing"),
    lambda g: g.write("/nowhere/x.csv"),
]


@pytest.mark.thorough(cases=43)
@pytest.mark.parametrize("number", range(len(WRONG)))
@pytest.mark.parametrize("kind", ["plain", "weighted", "weighted bipartite", "weighted directed"])
def test_errors_are_the_same_for_all_graphs(kind, number, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    told = []
    for graph in graphs(kind):
        with pytest.raises(gc.errors.GraphCutsError) as caught:
            WRONG[number](graph)
        told.append((type(caught.value), str(caught.value)))
    assert told[0] == told[1] == told[2]


# Broken on purpose: each lets something past the blindfold.


class Drawn(Displayed):
    """Draws how many edges a graph has: as a text, as a line or as the colour of a cell."""

    def __init__(self, graph, what):
        self.figure = Figure()
        axes, count = self.figure.subplots(), len(graph.rows)
        draw = {
            "text": lambda: axes.text(0, 0, f"{count} edges"),
            "line": lambda: axes.plot([0, count]),
            "bar": lambda: axes.bar([0], [count]),
            "colour": lambda: axes.imshow([[[count / 99, 0.0, 0.0]]]),
        }
        draw[what]()

    def _card(self):
        return Card(title="drawn")

    def _picture(self):
        return self.figure


@pytest.mark.parametrize("what", ["text", "line", "bar", "colour"])
def test_a_picture_that_tells_of_the_graph_is_caught_without_its_pixels(what, monkeypatch):
    monkeypatch.setattr(Figure, "savefig", write_what_is_drawn)
    first, *others = [Drawn(graph, what)._repr_html_() for graph in graphs("plain")]
    assert first not in others


def speak(_, graph):
    logging.getLogger("graphcuts_dp").info("%d edges", len(graph.rows))


def warn(_, graph):
    if len(graph.rows) > 1:
        warnings.warn("a dense graph", UserWarning, stacklevel=2)


def write(watch, graph):
    (watch.folder / "x.npz").write_bytes(bytes(len(graph.rows)))


def count(watch, graph):
    watch.progress(1.0, f"{len(graph.rows)} edges")


def refuse(_, graph):
    if not len(graph.rows):
        raise gc.errors.GraphError("a graph without edges")


@pytest.mark.usefixtures("blindfold")
@pytest.mark.parametrize("leak", [speak, warn, write, count, refuse])
def test_twins_that_tell_of_the_graph_are_caught(leak, watch):
    found = [watch(lambda w, g=graph: leak(w, g)) for graph in graphs("plain")]
    assert not found[0] == found[1] == found[2]


@pytest.mark.thorough
@pytest.mark.usefixtures("no_forecast")
def test_without_the_blindfold_answers_differ(watch):
    _, run = MECHANISMS["session, gaussian"]
    found = [watch(lambda w, g=graph: run(w, g)) for graph in graphs("plain")]
    assert found[0] != found[2]
