"""Cases of recorded results: every kind of result, of small graphs with a fixed seed.

Most are generated from the tables of names, so that a new name has a case, which lacks a record.
"""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
from golden_facts import (
    answer_numbers,
    answers_record,
    certificate_record,
    cut_record,
    cuts_of,
    exact,
    flows_record,
    guarantee_record,
    other_queries,
    release_record,
    reply_record,
    updates_record,
)

import graphcuts_dp as gc
from graphcuts_dp.estimate.noises import NOISES
from graphcuts_dp.estimate.time_strategy import SQUARE_ROOT, TIME_STRATEGIES
from graphcuts_dp.iterative.game import PLAYERS
from graphcuts_dp.iterative.learning import CALIBRATIONS as OFFLINE_CALIBRATIONS
from graphcuts_dp.learn.calibrations import CALIBRATIONS
from graphcuts_dp.learn.constructions import CONSTRUCTIONS
from graphcuts_dp.measure.updates import UpdateState, measure_period, true_sums
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy.k_norm import NORMS
from graphcuts_dp.privacy.sparse_vector import NoisyComparison, OneSidedPair, SharedThreshold
from graphcuts_dp.session.session import session_of
from graphcuts_dp.session.terms import METHODS
from graphcuts_dp.synth.mechanisms import MECHANISMS
from graphcuts_dp.synth.methods import FIT_NAMES
from scripts.benchmark.baselines import BASELINES

learn = gc.release_iteratively

SEED = 7
# Tolerance of numbers about a synthetic graph: where a fit ends depends on the processor and its
# linear algebra. All other numbers are the same to 1e-9 on every machine.
FITTED = 1e-3
FIRST_ORDER = 0.03  # of fits with many optimal graphs: kernels end at different ones


@dataclass(frozen=True)
class Case:
    """A result and its record.

    Attributes:
        make: returns the result.
        record: returns the record of a result.
        suffix: of the file that the result is saved to; "" if it cannot be loaded.
        fitted: tolerance of numbers about a synthetic graph, see `golden_facts.differences`.
    """

    make: Callable[[], Any]
    record: Callable[[Any], Any]
    suffix: str = ""
    fitted: float = 1e-9

    def saved_and_loaded(self, result: Any) -> Any:
        """Return the result as it is loaded from its file, None if it has none."""
        if not self.suffix:
            return None
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"saved{self.suffix}"
            result.save(path)
            return gc.load(path)


def _itself(record: Any) -> Any:
    """Return a record, of cases whose result is one."""
    return record


def pairs(rows: int, columns: int, *, kind: str = "plain") -> tuple[Any, Any]:
    """Return pairs by a formula, more of them within two blocks than between."""
    joined = [
        (i, j)
        for i in range(rows)
        for j in range(columns)
        if (kind == "bipartite" or (i < j if kind == "plain" else i != j))
        and (7 * i * i + 3 * j * (j + i)) % 11 < (6 if (2 * i < rows) == (2 * j < columns) else 2)
    ]
    first, second = zip(*joined, strict=True)
    return np.array(first), np.array(second)


def plain(n: int = 16) -> gc.Graph:
    return gc.Graph(*pairs(n, n), vertices=n)


def weighted(n: int = 16, *, heavy: bool = False) -> gc.Graph:
    i, j = pairs(n, n)
    if heavy:
        options = {"max_weight": 1200.0, "max_weight_change": 1.0}
        return gc.Graph(i, j, 900.0 + (i * j) % 301, vertices=n, **options)
    return gc.Graph(i, j, 1.0 + (i * j) % 3, vertices=n, max_weight=4.0)


def uncapped(n: int = 30) -> gc.Graph:
    i, j = pairs(n, n)
    return gc.Graph(i, j, 20.0 + (i * j) % 7, vertices=n, max_weight_change=1)


def fractions(n: int = 16) -> gc.Graph:
    i, j = pairs(n, n)
    return gc.Graph(i, j, 0.1 + (i * j) % 3, vertices=n, max_weight=2.5)


def light(n: int = 16) -> gc.Graph:
    """Return a graph with weights so small that all edges of a group weigh less than .01."""
    i, j = pairs(n, n)
    return gc.Graph(i, j, (1.0 + (i * j) % 3) / 2**17, vertices=n, max_weight=2.0**-15)


def halves(n: int = 40) -> gc.Graph:
    """Return all pairs between two halves, a structure that the constructions can learn."""
    i, j = np.divmod(np.arange(n * n // 4), n // 2)
    return gc.Graph(i, n // 2 + j, vertices=n)


def two_sided(left: int = 12, right: int = 9) -> gc.BipartiteGraph:
    return gc.BipartiteGraph(*pairs(left, right, kind="bipartite"), left=left, right=right)


def ratings(left: int = 12, right: int = 9) -> gc.BipartiteGraph:
    i, j = pairs(left, right, kind="bipartite")
    return gc.BipartiteGraph(i, j, 1.0 + (i * j) % 5, left=left, right=right, max_weight=5.0)


def arcs(n: int = 14) -> gc.DirectedGraph:
    return gc.DirectedGraph(*pairs(n, n, kind="directed"), vertices=n)


def groups(vertices: gc.VertexSet) -> gc.Groups:
    n = len(vertices)
    codes = np.arange(n)
    return gc.Groups(
        vertices, {"half": (2 * codes // n).tolist(), "part": (4 * codes // n).tolist()}
    )


def groups_of(graph: Any) -> Any:
    if isinstance(graph, gc.BipartiteGraph):
        return groups(graph.left), groups(graph.right)
    return groups(graph.vertices)


def owned(counting: str = "rows", n: int = 12) -> gc.Rows:
    """Return rows of twenty users, some of whom have many."""
    import pandas as pd

    i, j = pairs(n, n)
    users = (i * 5 + j * 3) % 20
    rows = {"user": users, "source": i, "target": j, "weight": 1.0 + (i + j) % 4}
    return gc.Rows.of(
        pd.DataFrame(rows), columns=gc.Columns(user="user"), counting=counting, vertices=n
    )  # type: ignore[arg-type]


def dated(counting: str = "rows", n: int = 12, *, user: str | None = None) -> gc.Rows:
    """Return rows in three months, of which two are declared."""
    import pandas as pd

    i, j = pairs(n, n)
    days = [f"2026-{1 + (a + b) % 3:02}-17" for a, b in zip(i.tolist(), j.tolist(), strict=True)]
    rows = {"user": (i * 5 + j * 3) % 20, "source": i, "target": j, "day": days}
    columns = gc.Columns(
        source="source",
        target="target",
        user=user,
        period="day",
        weight="weight" if counting == "weight" else None,
    )
    return gc.Rows.of(
        pd.DataFrame(rows | {"weight": 1.0 + (i + j) % 4}),
        columns=columns,
        counting=counting,  # type: ignore[arg-type]
        vertices=n,
        periods="2026-01..2026-02",
    )


def shape_of(graph: Any) -> tuple[int, ...]:
    """Return (n,), or (left, right) of a bipartite graph."""
    rows, columns = graph.shape
    return (rows, columns) if isinstance(graph.space, tuple) else (rows,)


def release(graph: Callable[[], Any], *, fitted: float = FITTED, **options: Any) -> Case:
    """Return the case of a release of a graph, or of rows with users.

    Options that are functions are called for their values, when the case is run.
    """
    options = {"epsilon": 2.0, "seed": SEED} | options
    return Case(
        lambda: gc.release_graph(
            graph(),
            **{name: value() if callable(value) else value for name, value in options.items()},
        ),
        lambda result: release_record(result, shape_of(graph())),
        ".edges.gz",
        fitted,
    )


_LOOSE = {"first-order": FIRST_ORDER, "cutting-plane": FIRST_ORDER, "game": FIRST_ORDER}


def _releases() -> dict[str, Case]:
    cases = {
        f"release: {mechanism}, {noise}": release(
            weighted if noise == "discrete-laplace" else plain, mechanism=mechanism, noise=noise
        )
        for mechanism in MECHANISMS
        for noise in NOISES
    }
    cases |= {
        f"fit: {fit}": release(
            partial(plain, 10),
            fit=fit,
            mechanism="randomized-response",
            fitted=_LOOSE.get(fit, FITTED),
        )
        for fit in FIT_NAMES
    }
    for noise in NOISES:
        grouped = partial(groups_of, plain())
        cases[f"release: groups, {noise}"] = release(plain, noise=noise, groups=grouped)
    light_release = partial(release, light, groups=partial(groups_of, light()), epsilon=20.0)
    cases["release: light, groups"] = light_release(noise="laplace")
    cases["release: light, sparse"] = light_release(mechanism="sparse")
    # Both measurements of the groups are taken.
    cases["release: halves, groups"] = release(halves, groups=partial(groups_of, halves()))
    for name, graph in (("bipartite", two_sided), ("directed", arcs)):
        cases[f"release: {name}"] = release(graph)
        cases[f"release: {name}, groups"] = release(graph, groups=partial(groups_of, graph()))
    cases |= {
        "release: weights with a fractional cap": release(fractions, noise="laplace", fitted=1e-2),
        "release: a change of weights": release(
            partial(weighted, heavy=True),
            noise="laplace",
            mechanism="randomized-response",
            fit="spectral",
        ),
        "release: oracle spectral": release(
            partial(plain, 10),
            fit=gc.FitOptions("cutting-plane", oracle="spectral"),
            fitted=FIRST_ORDER,
        ),
        "release: two edges": release(plain, privacy_unit=gc.PrivacyUnit.edge(2)),
        "release: user": release(
            owned,
            privacy_unit=gc.PrivacyUnit.user(max_contributions=3),
            noise="laplace",
            mechanism="randomized-response",
        ),
        "release: user, edges": release(
            partial(owned, "edges"),
            privacy_unit=gc.PrivacyUnit.user(max_contributions=2),
            fit="none",
        ),
    }
    four = {"mechanism": "sparse", "epsilon": 4.0}
    sparse = {
        "plain": plain,
        "weighted": uncapped,
        "capped": partial(weighted, 30),
        "bipartite": partial(two_sided, 24, 20),
        "directed": partial(arcs, 24),
        "user": partial(owned, "weight", 24),
    }
    for name, graph in sparse.items():
        unit = {"privacy_unit": gc.PrivacyUnit.user(max_contributions=4)} if name == "user" else {}
        cases[f"release: sparse, {name}"] = release(graph, **four, **unit)
    for noise in ("laplace", "discrete-laplace"):
        cases[f"release: sparse, {noise}"] = release(sparse["capped"], **four, noise=noise)
    for name in ("weighted", "bipartite", "directed"):
        grouped = partial(groups_of, sparse[name]())
        cases[f"release: sparse, groups, {name}"] = release(sparse[name], **four, groups=grouped)
    return cases


def flows(
    graph: Callable[[], Any], work: Mapping[str, Any] = MappingProxyType({}), **options: Any
) -> Case:
    workload = gc.FlowWorkload(**work, expected_cell=0)  # noise hides what so few vertices have
    options = {"epsilon": 1.0, "seed": SEED, "workload": workload} | options
    return Case(
        lambda: gc.release_flows(graph(), groups_of(_sided(graph())), **options),
        flows_record,
        ".csv",
    )


def _measured_margins() -> gc.Flows:
    """Return a table with Laplace noise, of so many zones that measured margins help."""
    graph = arcs(48)
    zones = gc.Groups(graph.vertices, {"zone": list(range(48))})
    work = gc.FlowWorkload(expected_cell=0)
    return gc.release_flows(
        graph, zones, epsilon=1.0, seed=SEED, workload=work, measure_margins=True
    )


def _sided(data: Any) -> Any:
    return data if not isinstance(data, gc.Rows) else SimpleNamespace(vertices=data.space)


def _flows() -> dict[str, Case]:
    gaussian = {"work": {"noise": "gaussian"}, "delta": 1e-6}
    user, vertex = gc.PrivacyUnit.user(max_contributions=3), gc.PrivacyUnit.vertex(max_degree=4)
    return {
        "flows: laplace": flows(plain, {"noise": "laplace"}),
        "flows: gaussian": flows(plain, **gaussian),
        "flows: auto": flows(plain, delta=1e-6),
        "flows: finest": flows(plain, {"accurate": "part"}),
        "flows: whole weights": flows(weighted, {"whole": True}),
        "flows: weights": flows(fractions),
        "flows: a change of weights": flows(partial(weighted, heavy=True)),
        "flows: bipartite": flows(two_sided),
        "flows: directed": flows(arcs),
        "flows: three edges": flows(plain, privacy_unit=gc.PrivacyUnit.edge(3), **gaussian),
        "users: flows, laplace": flows(owned, privacy_unit=user),
        "users: flows, gaussian": flows(partial(owned, "weight"), privacy_unit=user, **gaussian),
        "users: rows left out, kept": flows(owned, {"whole": True}, privacy_unit=user, known_max=9),
        "users: rows left out, scaled": flows(
            owned, {"whole": False}, privacy_unit=user, known_max=9
        ),
        "rows: flows by period": flows(dated),
        "rows: flows by period, weight": flows(
            partial(dated, "weight"), privacy_unit=gc.PrivacyUnit.row(3), by=["quarter", "month"]
        ),
        "users: flows by period": flows(partial(dated, user="user"), privacy_unit=user),
        "flows: measured margins, laplace": Case(_measured_margins, flows_record, ".csv"),
        "flows: measured margins, gaussian": flows(arcs, measure_margins=True, **gaussian),
        "flows: vertex": flows(plain, privacy_unit=vertex),
        "flows: vertex, gaussian": flows(plain, privacy_unit=vertex, **gaussian),
    }


def _published(rows: Callable[[], gc.Rows], **options: Any) -> gc.results.FlowsOverTime:
    """Return the table over time that `update_flows` publishes, with noise of the seed."""
    data, source, publications = rows(), SeededEntropy(SEED), []
    plan = gc.release.update_plan(data, groups_of(_sided(data)), epsilon=1.0, **options)
    state = UpdateState.start(plan.privacy_unit)
    for period in range(len(plan.strategy.periods)):
        state = true_sums(
            data,
            plan.sides,
            plan.cells,
            state,
            period=period,
            grid=plan.grid,
            whole=plan.whole,
            privacy_unit=plan.privacy_unit,
        )
        publication, state = measure_period(
            state, plan.strategy, plan.noise, period=period, source=source
        )
        publications.append(publication)
    return plan.table(publications, plan.guarantee)


def _updates() -> dict[str, Case]:
    user = gc.PrivacyUnit.user(max_contributions=3)
    rows = {
        f"updates: {strategy}, {noise}": partial(_published, dated, strategy=strategy, delta=delta)
        for noise, delta in (("laplace", 0.0), ("gaussian", 1e-6))
        for strategy in TIME_STRATEGIES[1:]
        if delta or strategy != SQUARE_ROOT
    }
    users = {
        f"users: updates, {strategy}": partial(
            _published, partial(dated, user="user"), strategy=strategy, privacy_unit=user
        )
        for strategy in TIME_STRATEGIES[1:]
        if strategy != SQUARE_ROOT
    }
    return {name: Case(make, updates_record, ".csv") for name, make in (rows | users).items()}


def cut(graph: Callable[[], Any], *terminals: Any, **options: Any) -> Case:
    options = {"epsilon": 1.0, "seed": SEED} | options
    return Case(lambda: gc.least_cut(graph(), *terminals, **options), cut_record, ".csv")


def _cuts() -> dict[str, Case]:
    user = gc.PrivacyUnit.user(max_contributions=3)
    return {
        "least cut": cut(plain, 0, 15),
        "least cut: weights": cut(fractions, [0, 1], 15, epsilon=4.0),
        "least cut: a change of weights": cut(partial(weighted, heavy=True), 0, 15),
        "least cut: directed": cut(arcs, 0, 5),
        "least cut: several": cut(plain, 0, 5, 15, epsilon=3.0),
        "least cut: user": cut(owned, 0, 5, privacy_unit=user),
    }


def learnt(
    graph: Callable[[], Any],
    construction: Any = "multiplicative-weights",
    queries: Any = "cuts",
    suffix: str = ".graphml",
    **options: Any,
) -> Case:
    """Return the case of an iterative release.

    Args:
        queries: those of the release; "cuts" for some of every kind, None if it takes none. Then
            its record has answers to the same cuts.
    """
    options = {"epsilon": 50.0, "delta": 1e-6, "seed": SEED} | options
    recorded_queries = (
        cuts_of(shape_of(graph())) if queries is None or queries == "cuts" else queries
    )
    release_queries = None if queries is None else recorded_queries
    return Case(
        lambda: learn(graph(), release_queries, construction=construction, **options),
        lambda result: answers_record(result, recorded_queries),
        suffix,
    )


def _few_answers() -> dict[str, Case]:
    def case(graph: Callable[[], Any], construction: str = "answers", **options: Any) -> Case:
        queries = cuts_of(shape_of(graph()))[:3]
        options = {"epsilon": 1.0, "delta": 0.0} | options
        return learnt(graph, construction, queries, ".npz", **options)

    graphs = {"auto": plain, "bipartite": two_sided, "directed": arcs, "weights": weighted}
    cases = {f"answers: {noise}": case(plain, noise) for noise in NORMS}
    cases |= {f"answers: {name}": case(graph) for name, graph in graphs.items()}
    cases["answers: three edges"] = case(plain, privacy_unit=gc.PrivacyUnit.edge(3))
    cases["answers: user"] = case(
        partial(owned, "edges"), privacy_unit=gc.PrivacyUnit.user(max_contributions=3)
    )
    return cases


def _iterative() -> dict[str, Case]:
    tiny = partial(plain, 8)
    ten = partial(gc.Learning, rounds=10)
    cases = {
        "distinguisher: exponential": learnt(halves, ten(distinguisher="exponential")),
        "distinguisher: released": learnt(halves, ten(distinguisher="released")),
        "distinguisher: exact-cuts": learnt(tiny, gc.Learning(distinguisher="exact-cuts"), None),
    }
    for name in ("response-rank-one", "power-rank-one", "power-rank-one-certified"):
        rule = gc.Learning(distinguisher=name)
        cases[f"distinguisher: {name}"] = learnt(partial(plain, 20), rule, None)
    for name in CONSTRUCTIONS:
        cases[f"iterative: {name}"] = learnt(halves, ten(rule=name))
    for name in OFFLINE_CALIBRATIONS:
        exactly = {"delta": 0.0} if name == "dr14" else {}
        rounds = {"practical": 10, "gru12": 3, "nik17": 3}  # those of papers would run none here
        rule = gc.Learning(calibration=name, rounds=rounds.get(name))
        cases[f"iterative: {name} calibration"] = learnt(halves, rule, epsilon=50.0, **exactly)
    cases["iterative: median"] = learnt(partial(plain, 6), "median")
    cases["iterative: statistics"] = learnt(
        partial(plain, 6),
        "median",
        [gc.CutQuery([0]), gc.Query.statistic("triangles"), gc.Query.statistic("max-cut")],
    )
    cases["iterative: other queries"] = learnt(
        ratings, "mirror-descent", [*cuts_of((12, 9)), *other_queries((12, 9))]
    )
    cases["iterative: root degrees"] = learnt(
        partial(two_sided, 30, 30), gc.Learning(rule="mirror-descent", norm="2,p", rounds=5)
    )
    cases["iterative: bipartite"] = learnt(two_sided)
    cases["iterative: directed"] = learnt(arcs)
    cases["iterative: two edges"] = learnt(halves, ten(), privacy_unit=gc.PrivacyUnit.edge(2))
    cases["iterative: user"] = learnt(
        partial(owned, "edges"), privacy_unit=gc.PrivacyUnit.user(max_contributions=3)
    )
    for player in PLAYERS[1:]:
        cases[f"player: {player}"] = learnt(halves, gc.Game(player=player, hide_queries=0.5))
    return cases


def _lists() -> dict[str, Case]:
    small_ratings, queries = partial(ratings, 6, 4), [*cuts_of((6, 4)), gc.CutQuery([1, 2], [3])]
    net_budget, sensing_budget = {"epsilon": 2.0, "delta": 0.0}, {"epsilon": 5.0, "delta": 1e-4}
    return {
        "release: net": learnt(partial(plain, 5), "net", cuts_of((5,))[:3], **net_budget),
        "release: net, bipartite": learnt(partial(two_sided, 3, 3), "net", **net_budget),
        "release: sensing": learnt(small_ratings, "sensing", queries, ".npz", **sensing_budget),
        "release: sensing, rounds": learnt(
            small_ratings, "sensing:rounds=5", queries, ".npz", **sensing_budget
        ),
    }


def session(graph: Callable[[], Any], queries: Any = None, **terms: Any) -> Case:
    """Return the case of a session: its replies, and its history when it is opened again."""
    terms = {"epsilon": 8.0, "delta": 1e-6, "queries": 20, "seed": SEED} | terms
    session_queries = disjoint_cuts(shape_of(graph())) if queries is None else queries

    def run() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            store = Path(folder) / "s.db"
            with session_of(graph(), store=store, **terms) as first:
                record = {
                    "guarantee": guarantee_record(first.guarantee),
                    "error": first.error_bound,
                }
                record["replies"] = [reply_record(first.ask(query)) for query in session_queries]
            with gc.open_session(graph(), store=store, seed=SEED) as reopened:
                record["history"] = [answer_numbers(entry.answer) for entry in reopened.history]
        return record

    return Case(run, _itself)


def disjoint_cuts(shape: tuple[int, ...]) -> list[gc.CutQuery]:
    """Return cuts between sets that have no vertex in common."""
    if len(shape) == 2:
        return cuts_of(shape)[:4]
    (n,) = shape
    halves = [gc.CutQuery(range(n // 2), range(n // 2, n)), gc.CutQuery(range(n // 2 - 1))]
    return [*cuts_of(shape)[:3], *halves, gc.CutQuery([1], range(2, n)), gc.CutQuery([0])]


def _sessions() -> dict[str, Case]:
    heavy = partial(weighted, 24, heavy=True)
    most = {"epsilon": 50.0}
    cases = {}
    for method in METHODS:
        pure = {"delta": 0.0} if method in ("laplace", "binary") else {}
        if method == "median":
            cases["session: median"] = session(partial(plain, 6), method=method)
        elif method not in CONSTRUCTIONS:
            graph = plain if method == "binary" else heavy
            cases[f"session: {method}"] = session(graph, method=method, **pure)
        else:
            for name in CALIBRATIONS:
                terms = {"method": method, "calibration": name}
                terms["epsilon"] = 50.0 if name in ("tight", "dr14") else 1.0
                terms["delta"] = 0.0 if name == "dr14" else 1e-6
                cases[f"session: {method}, {name}"] = session(halves, **terms)
    linear = partial(
        session, ratings, [*disjoint_cuts((12, 9)), *other_queries((12, 9))], linear=True
    )
    ranked = [*disjoint_cuts((16,)), other_queries((16,))[0]]
    mirror = {"method": "mirror-descent", **most}
    learns = {"method": "multiplicative-weights", **most}
    gaussian = partial(session, method="gaussian")
    sides = partial(two_sided, 30, 30)
    few = [gc.CutQuery([0], [1, 2]), gc.CutQuery("*", range(5))]
    nuclear = {"norm": "schatten", "linear": True, "max_spectral_norm": 16.0}
    cases |= {
        "session: auto": session(plain),
        "session: start from groups": session(
            partial(plain, 40), start="groups", groups=groups(gc.VertexSet(40)), **learns
        ),
        "session: linear queries, gaussian": linear(method="gaussian"),
        "session: linear queries, laplace": linear(method="laplace", delta=0.0),
        "session: linear queries, mirror-descent": linear(**mirror),
        "session: root degrees": session(sides, norm="2,p", **mirror),
        "session: nuclear norm": session(sides, **nuclear, **mirror),
        "session: rank-one, binary": session(plain, ranked, method="binary", delta=0.0),
        "session: bought values": session(halves, value_share=0.3, **learns),
        "session: few right vertices": session(two_sided, few, max_right_size=5, **mirror),
        "session: disjoint cuts": session(halves, method="frieze-kannan", disjoint=True, **most),
        "session: capped weights": gaussian(weighted),
        "session: directed": gaussian(arcs),
        "session: three edges": gaussian(heavy, privacy_unit="edge:3"),
        "session: user": gaussian(owned, privacy_unit=gc.PrivacyUnit.user(max_contributions=3)),
        "session: vertex": gaussian(heavy, privacy_unit="vertex:900"),
        "session: vertex, learnt": session(halves, privacy_unit="vertex:5", **learns),
    }
    return cases


def street() -> gc.distances.Metric:
    return gc.distances.Metric.path(12)


def ring() -> gc.Graph:
    return gc.Graph(range(12), [(i + 1) % 12 for i in range(12)], vertices=12)


PEOPLE = [(i * i) % 12 for i in range(60)]


def _distances() -> dict[str, Case]:
    def record_of(answers: Any) -> Any:
        return {
            "guarantee": guarantee_record(answers.guarantee),
            "answers": [answer_numbers(answer) for answer in answers.all()],
            "best": answers.best.vertex,
        }

    def list_case(space: Callable[[], Any], **options: Any) -> Case:
        options = {"epsilon": 1.0, "seed": SEED} | options
        return Case(lambda: gc.distances.answer_distances(space(), PEOPLE, **options), record_of)

    def session_case(space: Callable[[], Any], **terms: Any) -> Case:
        terms = {"epsilon": 8.0, "queries": 8, "seed": SEED} | terms

        def run() -> Any:
            with tempfile.TemporaryDirectory() as folder:
                store = Path(folder) / "p.db"
                with gc.distances.open_distance_session(
                    space(), PEOPLE, store=store, **terms
                ) as session:
                    record = {
                        "guarantee": guarantee_record(session.guarantee),
                        "error": session.error_bound,
                    }
                    replies = [session.ask(vertex) for vertex in (0, 5, 11, 0, 7)]
                    record["replies"] = [answer_numbers(answer) for answer in replies]
                    record["corrections"] = session.status.corrections
            return record

        return Case(run, _itself)

    noises = {"laplace": {}, "gaussian": {"delta": 1e-6}}
    cases = {
        f"distances: {mechanism}, {noise}": list_case(
            street, mechanism=mechanism, noise=noise, **guaranteed
        )
        for mechanism in ("tree-counts", "histogram", "per-query", "learner")
        for noise, guaranteed in noises.items()
    }
    cases["distances: auto, ring"] = list_case(ring)
    cases["distances: three people"] = list_case(street, group_size=3)
    for noise, guaranteed in noises.items():
        cases[f"distances: session, {noise}"] = session_case(street, **guaranteed)
    cases["distances: session, two people"] = session_case(street, group_size=2)
    return cases


def _users() -> dict[str, Case]:
    def case(function: Any, data: Any, **facts: Callable[[Any], Any]) -> Case:
        def record_of(result: Any) -> Any:
            numbers = {name: fact(result) for name, fact in facts.items()}
            return {"guarantee": guarantee_record(result.guarantee), **numbers}

        return Case(lambda: function(data(), epsilon=1.0, seed=SEED), record_of)

    counts = {
        "bounds": lambda result: list(result.bounds),
        "measured": lambda result: {"counts": exact(result.counts)},
    }
    weights = partial(owned, "weight")
    return {
        "users: contributions": case(gc.release_contributions, owned, **counts),
        "users: contributions, weight": case(gc.release_contributions, weights, **counts),
        "users: bound": case(
            gc.choose_contribution_bound, owned, bound=lambda result: result.max_contributions
        ),
        "degree bound": case(gc.choose_degree_bound, plain, bound=lambda result: result.max_degree),
        "structure test": case(
            gc.detect_structure,
            partial(plain, 48),
            structure=lambda result: exact(np.array([result.value])),
        ),
        "structure test, arcs and two sides": case(
            gc.detect_structure,
            partial(two_sided, 48, 40),
            structure=lambda result: exact(np.array([result.value])),
        ),
        "structure test, weights": case(
            gc.detect_structure,
            partial(weighted, 48),
            structure=lambda result: exact(np.array([result.value])),
        ),
    }


def _gap_tests() -> dict[str, Case]:
    """Return cases of streams of gap tests, as sessions use them: the outcome of each step."""
    rates = {"threshold_rate": Fraction(1, 9), "query_rate": Fraction(1, 5)}
    tests = {
        "one-sided": OneSidedPair(**rates, threshold=Fraction(21, 2)),
        "shared threshold": SharedThreshold(**rates, threshold=Fraction(21, 2)),
        "noisy comparison": NoisyComparison(rate=Fraction(1, 5), threshold=Fraction(10)),
    }

    def stream(test: Any) -> Any:
        source = SeededEntropy(SEED)
        secret, outcomes = test.start(source), []
        for step in range(120):
            gap = test.run(secret, step % 7, Fraction(step % 11, 2), source)
            outcomes.append([gap.sign, gap.value])
            if gap.sign:
                secret = test.restart(secret, gap.sign, source)
        cost = test.cost(3, updates=5, delta=1e-6)
        return {
            "found": outcomes,
            "secret": list(secret),
            "cost": [cost.epsilon, cost.delta, cost.rho],
        }

    return {
        f"gap test: {name}": Case(partial(stream, test), _itself) for name, test in tests.items()
    }


def _baselines() -> dict[str, Case]:
    def record_of(result: Any) -> Any:
        return [query.value(result.matrix) for query in cuts_of((16,))]

    return {
        f"baseline: {name}": Case(partial(baseline, plain(), epsilon=1.0, seed=SEED), record_of)
        for name, baseline in BASELINES.items()
    }


def _public_numbers() -> dict[str, Case]:
    """Return cases of certified norms and plans, which have no noise."""
    matrix = np.cos(np.arange(144.0).reshape(12, 12) ** 2 % 7)

    def norms() -> Any:
        return {
            "cut": certificate_record(gc.cut_norm(matrix)),
            "exact": certificate_record(gc.cut_norm(matrix[:8, :8], method="exact")),
            "infinity-to-one": certificate_record(gc.cut_norm(matrix, norm="infinity-to-one")),
            "normalised": certificate_record(gc.cut_norm(np.abs(matrix), norm="normalised")),
        }

    def planned(**options: Any) -> Any:
        rows = gc.plan(**options).rows
        return [[row.name, row.guaranteed, row.typical] for row in rows]

    def distances() -> Any:
        rows = gc.distances.plan_distances(street(), people=60, epsilon=1.0, delta=1e-6).rows
        return [[row.name, row.guaranteed, row.typical] for row in rows]

    small = {"n": 60, "edges": 400, "queries": 100, "epsilon": 1.0, "delta": 1e-6}
    many = {"n": 3000, "edges": 90_000, "queries": 10**6, "epsilon": 2.0, "delta": 0.0}
    functions = {
        "cut norms": norms,
        "plan: distances": distances,
        "plan: small": partial(planned, **small),
        "plan: many queries": partial(planned, **many),
    }
    return {name: Case(function, _itself) for name, function in functions.items()}


CASES: Mapping[str, Case] = {
    **_releases(),
    **_flows(),
    **_updates(),
    **_cuts(),
    **_few_answers(),
    **_iterative(),
    **_lists(),
    **_sessions(),
    **_distances(),
    **_users(),
    **_gap_tests(),
    **_baselines(),
    **_public_numbers(),
}
