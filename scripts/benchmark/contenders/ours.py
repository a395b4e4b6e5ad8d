"""Contenders: what this package offers, mode by mode."""

from typing import Any

import numpy as np

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.errors import GraphError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.measure.cells import cell_tree, sides_of_groups
from graphcuts_dp.offline.methods import Learning, release_iteratively
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.release.flow_release import release_flows
from graphcuts_dp.release.synthesis import release_graph
from graphcuts_dp.results.release import Release
from graphcuts_dp.results.storage import SYNTHETIC_GRAPH
from scripts.benchmark.base import Contender, Kind, Method, Submission
from scripts.benchmark.contenders.blocks import spread_evenly

SOURCE = "this package"
ALL_KINDS: frozenset[Kind] = frozenset({"undirected", "directed", "bipartite"})
_DENSE_VERTICES = 4_000  # the noisy matrix and its fit grow with the square
_SPARSE_VERTICES = 200_000


def noise_of(graph: AnyGraph) -> str:
    """The distribution of entries that suits the public schema of a graph."""
    return "laplace" if graph.weighted else "binary"


def _released(graph: AnyGraph, **options: Any) -> Release:
    return release_graph(graph, noise=noise_of(graph), **options)


def _release_method(*, grouped: bool = False, **fixed: Any) -> Method:
    """`release_graph` with these options.

    Guarantee: that of `release_graph`: epsilon-DP at edge level, all of epsilon spent.
    """

    def method(
        graph: AnyGraph, *, epsilon: float, delta: float, groups: Groups | None, seed: int | None
    ) -> Submission:
        del delta
        made = _released(
            graph, epsilon=epsilon, groups=groups if grouped else None, seed=seed, **fixed
        )
        return Submission(estimate=made.graph, guarantee=made.guarantee)

    return method


def _answers(
    graph: AnyGraph, *, epsilon: float, delta: float, groups: Groups | None, seed: int | None
) -> Submission:
    """The unbiased answers of the default release, one cut at a time.

    Guarantee: that of `release_graph`; answers are computed from what it measured.
    """
    del delta, groups
    made = _released(graph, epsilon=epsilon, seed=seed)

    def answer(S: BoolVector, T: BoolVector) -> float:
        return float(made.answer_all([CutQuery(S, T)])[0].value)

    return Submission(estimate=answer, guarantee=made.guarantee)


def _iterative(
    graph: AnyGraph, *, epsilon: float, delta: float, groups: Groups | None, seed: int | None
) -> Submission:
    """Multiplicative weights on cuts that are found on a noisy matrix.

    Guarantee: that of `release_iteratively`: epsilon-DP at edge level with this distinguisher.
    """
    del delta, groups
    learning = Learning(distinguisher="response-rank-one")
    made = release_iteratively(graph, epsilon=epsilon, construction=learning, seed=seed)
    return Submission(estimate=made.graph, guarantee=made.guarantee)


def _flows(
    graph: AnyGraph, *, epsilon: float, delta: float, groups: Groups | None, seed: int | None
) -> Submission:
    """The finest table of `release_flows`, each cell spread evenly over its pairs.

    Guarantee: that of `release_flows`: epsilon-DP at edge level; spreading reads its table and
    public sizes alone.
    """
    del delta
    if groups is None:
        raise GraphError("this contender needs public groups")
    flows = release_flows(graph, groups, epsilon=epsilon, seed=seed)
    sides = sides_of_groups(graph, groups)
    cells = cell_tree(graph, sides)
    pairs = cells.matrix(cells.depth - 1, cells.pairs(cells.depth - 1))
    density = flows.values() / np.maximum(pairs, 1)
    rows, columns = (side.codes() for side in sides)
    estimate = spread_evenly(density, rows, columns, hollow=Universe.of(graph).hollow)
    return Submission(estimate=estimate, guarantee=flows.guarantee)


def _contender(name: str, method: Method, **about: Any) -> Contender:
    given = {"kinds": ALL_KINDS, "weights": True, "most_vertices": _DENSE_VERTICES, **about}
    return Contender(name=name, method=method, source=SOURCE, **given)


RELEASE = _contender("ours", _release_method(), note="release_graph with its defaults.")
SYNTHETIC = _contender(
    "ours-synthetic",
    _release_method(workload=SYNTHETIC_GRAPH),
    note="release_graph with workload='synthetic graph'.",
)
ANSWERS = _contender(
    "ours-answers",
    _answers,
    most_vertices=1_000,
    note="The unbiased answers of the default release, not a graph: each is computed by itself.",
)
RESPONSE = _contender(
    "ours-response",
    _release_method(mechanism="response"),
    note="release_graph with mechanism='response': all of epsilon for the entries.",
)
DEGREES = _contender(
    "ours-degrees",
    _release_method(mechanism="degrees+response"),
    note="release_graph with mechanism='degrees+response': a fixed share for degrees.",
)
GROUPS = _contender(
    "ours-groups",
    _release_method(grouped=True),
    needs_groups=True,
    kinds=frozenset({"undirected", "directed"}),
    note="release_graph with the public groups.",
)
SPARSE = _contender(
    "ours-sparse",
    _release_method(mechanism="sparse"),
    most_vertices=_SPARSE_VERTICES,
    note="release_graph with mechanism='sparse', which is made for large graphs.",
)
SPARSE_GROUPS = _contender(
    "ours-sparse-groups",
    _release_method(mechanism="sparse", grouped=True),
    most_vertices=_SPARSE_VERTICES,
    needs_groups=True,
    kinds=frozenset({"undirected", "directed"}),
    note="release_graph with mechanism='sparse' and the public groups.",
)
FLOWS = _contender(
    "ours-flows",
    _flows,
    most_vertices=_SPARSE_VERTICES,
    needs_groups=True,
    kinds=frozenset({"undirected", "directed"}),
    note="release_flows, each cell of its finest level spread evenly over its pairs.",
)
ITERATIVE = _contender(
    "ours-iterative",
    _iterative,
    most_vertices=1_000,
    note="release_iteratively with distinguisher='response-rank-one': for comparison, not advised.",
)
OURS = (
    RELEASE,
    SYNTHETIC,
    ANSWERS,
    RESPONSE,
    DEGREES,
    GROUPS,
    SPARSE,
    SPARSE_GROUPS,
    FLOWS,
    ITERATIVE,
)
