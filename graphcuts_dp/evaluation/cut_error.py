"""Measured cut errors of a release, or of any graph. Reads the true graph: not private."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.errors import GraphError, QueryError
from graphcuts_dp.evaluation.tables import CutErrorRow, CutErrorTable, CutPoint
from graphcuts_dp.graph.adjacency import (
    OTHER_VERTICES,
    AnyGraph,
    BipartiteGraph,
    DirectedGraph,
    Graph,
    check_kinds,
)
from graphcuts_dp.pairs.queries import CutQuery, answer_all
from graphcuts_dp.pairs.vertices import Label
from graphcuts_dp.resources import Progress, silent
from graphcuts_dp.results.release import Release

_RANDOM_CUTS = 200
_LEAST_COMMUNITY = 10


@final
@dataclass(frozen=True)
class CutFamily:
    """Cuts of one kind, chosen on the true graph or at random, never on the noisy one.

    Attributes:
        kind: what they are.
        queries: the cuts.
    """

    kind: str
    queries: tuple[CutQuery, ...]


def cut_errors(
    graph: AnyGraph,
    release: Release,
    *,
    groups: Mapping[str, Sequence[Label]] | None = None,
    seed: int = 0,
) -> CutErrorTable:
    """Measure the cut errors of a release against the graph that it was made from.

    Args:
        graph: the private graph.
        release: made from it.
        groups: named sets of vertices; the cuts between each two of them become a family of
            their own (not of bipartite graphs).
        seed: of the random cuts, 0 or larger.

    Returns:
        Errors of the noisy matrix, of the synthetic graph if there is one, and of answering 0.
        NOT PRIVATE: computed from the true graph, costs no budget, must not be published.

    Raises:
        QueryError: the release is of other vertices.
    """
    noisy = release.noisy
    if graph.space != noisy.space:
        raise QueryError("the release was made from a graph on other vertices")
    if graph.weighted and noisy.distribution.name == "binary":
        raise QueryError("the release was made without weights; read the graph without them too")
    truth = graph.dense()
    estimates: dict[str, npt.NDArray[Any]] = {"noisy": noisy.estimate()}
    if release.has_graph:
        estimates["synthetic"] = release.graph.dense()
    estimates["all zero"] = np.zeros_like(truth)

    families = cut_families(graph, groups=groups, seed=seed)
    return CutErrorTable(
        title=f"{noisy.distribution.name} noise, epsilon = {release.guarantee.epsilon:g}",
        estimates=tuple(estimates),
        rows=_rows(graph, truth, estimates, families, silent),
        points=_points(families, graph, release),
    )


def graph_cut_errors(
    graph: AnyGraph,
    synthetic: AnyGraph,
    *,
    queries: Sequence[CutQuery] = (),
    seed: int = 0,
    title: str = "synthetic against true graph",
    progress: Progress = silent,
) -> CutErrorTable:
    """Measure the cut errors of any graph against a true one on the same vertices.

    Args:
        graph: the true graph.
        synthetic: any graph, however it was made, its vertices in the same order.
        queries: cuts that become a family of their own.
        seed: of the random cuts, 0 or larger.
        title: of the table.
        progress: called with the fraction done and a message.

    Returns:
        Errors of the synthetic graph and of two answers that learn next to nothing: the true
        density spread over all pairs, and 0. NOT PRIVATE: computed from the true graph.

    Raises:
        GraphError: other vertices, or graphs of two kinds.
        QueryError: a cut of unknown vertices.
    """
    check_kinds(graph, synthetic)
    if graph.space != synthetic.space:
        raise GraphError(OTHER_VERTICES)
    truth = graph.dense()
    density = np.full_like(truth, truth.sum() / max(1, truth.size - _diagonal(graph)))
    if not isinstance(graph, BipartiteGraph):
        np.fill_diagonal(density, 0.0)
    estimates = {
        "synthetic": synthetic.dense(),
        "density only": density,
        "all zero": np.zeros_like(truth),
    }
    families = cut_families(graph, seed=seed)
    if queries:
        families.append(CutFamily("given cuts", tuple(queries)))
    rows = _rows(graph, truth, estimates, families, progress)
    shown = _telling(families).queries
    values, others = answer_all(shown, graph), answer_all(shown, synthetic)
    points = [CutPoint(float(t), float(s)) for t, s in zip(values, others, strict=True)]
    return CutErrorTable(title=title, estimates=tuple(estimates), rows=rows, points=tuple(points))


def _diagonal(graph: AnyGraph) -> int:
    return 0 if isinstance(graph, BipartiteGraph) else graph.n


def _rows(
    graph: AnyGraph,
    truth: npt.NDArray[np.float64],
    estimates: Mapping[str, npt.NDArray[Any]],
    families: Sequence[CutFamily],
    progress: Progress,
) -> tuple[CutErrorRow, ...]:
    """The worst cut, then each family."""
    kind = {
        "bipartite": isinstance(graph, BipartiteGraph),
        "directed": isinstance(graph, DirectedGraph),
    }
    worst = []
    for i, (name, estimate) in enumerate(estimates.items()):
        progress(i / (len(estimates) + 1), f"worst cut, {name}")
        worst.append(cut_norm(estimate - truth).upper)
    progress(len(estimates) / (len(estimates) + 1), "kinds of cuts")
    twice = 2 if isinstance(graph, Graph) else 1
    rows = [CutErrorRow("worst cut (matrix form)", 0, twice * graph.weights.sum(), tuple(worst))]
    for family in families:
        values = answer_all(family.queries, graph)
        errors = tuple(
            float(np.abs(answer_all(family.queries, estimate, **kind) - values).mean())
            for estimate in estimates.values()
        )
        rows.append(CutErrorRow(family.kind, len(values), float(values.mean()), errors))
    return tuple(rows)


def cut_families(
    graph: AnyGraph, *, groups: Mapping[str, Sequence[Label]] | None = None, seed: int = 0
) -> list[CutFamily]:
    """The kinds of cuts that `cut_errors` tries."""
    rng = np.random.default_rng(seed)
    n, other = graph.shape
    families = [CutFamily("one vertex against all", tuple(_degree_cuts(graph)))]
    if isinstance(graph, DirectedGraph):
        out, into = _degree_cuts(graph), _degree_cuts(graph, heads=True)
        families = [
            CutFamily("out of one vertex", tuple(out)),
            CutFamily("into one vertex", tuple(into)),
        ]
    small = max(1, math.isqrt(n)), max(1, math.isqrt(other))
    halves, sets = [], []
    for _ in range(_RANDOM_CUTS):
        S = rng.random(n) < 0.5
        T = rng.random(other) < 0.5 if isinstance(graph, BipartiteGraph) else ~S
        halves.append(CutQuery(S, T))
        sets.append(CutQuery(_random_set(rng, n, small[0]), _random_set(rng, other, small[1])))
    families.append(CutFamily("random halves", tuple(halves)))
    families.append(CutFamily("small random sets", tuple(sets)))
    if not isinstance(graph, BipartiteGraph):
        ordered = isinstance(graph, DirectedGraph)
        communities = _communities(graph, seed)
        if len(communities) > 1:
            families.append(CutFamily("between communities", _between(communities, ordered)))
        if groups is not None and len(groups) > 1:
            members = [graph.vertices.mask(group) for group in groups.values()]
            families.append(CutFamily("between groups", _between(members, ordered)))
    return families


def _points(
    families: Sequence[CutFamily], graph: AnyGraph, release: Release
) -> tuple[CutPoint, ...]:
    """Single cuts of the most telling family."""
    shown = _telling(families).queries
    values = answer_all(shown, graph)
    synthetic = answer_all(shown, release.graph) if release.has_graph else None
    points = []
    for i, query in enumerate(shown):
        answer = release.answer(query)
        points.append(
            CutPoint(
                truth=float(values[i]),
                synthetic=None if synthetic is None else float(synthetic[i]),
                noisy=(answer.value, *answer.interval),
            )
        )
    return tuple(points)


def _telling(families: Sequence[CutFamily]) -> CutFamily:
    """The last family if it is of given cuts, groups or communities; else single vertices."""
    return families[-1] if families[-1].kind.startswith(("between", "given")) else families[0]


def _degree_cuts(graph: AnyGraph, *, heads: bool = False) -> list[CutQuery]:
    """A cut for each row, or for each column: of a directed graph, out- and in-degrees."""
    rows, columns = graph.shape
    everyone = np.ones(rows if heads else columns, dtype=np.bool_)
    alone = np.eye(columns if heads else rows, dtype=np.bool_)
    return [CutQuery(everyone, one) if heads else CutQuery(one, everyone) for one in alone]


def _random_set(rng: np.random.Generator, n: int, size: int) -> npt.NDArray[np.bool_]:
    mask = np.zeros(n, dtype=np.bool_)
    mask[rng.choice(n, size=size, replace=False)] = True
    return mask


def _between(sets: Sequence[npt.NDArray[np.bool_]], ordered: bool) -> tuple[CutQuery, ...]:
    pairs = permutations(sets, 2) if ordered else combinations(sets, 2)
    return tuple(CutQuery(S, T) for S, T in pairs)


def _communities(graph: Graph | DirectedGraph, seed: int) -> list[npt.NDArray[np.bool_]]:
    """Communities of the true graph by the Louvain method, those of at least ten vertices.

    Of a directed graph, without the directions.
    """
    import random

    import igraph  # slow to import, and only needed here

    edges = np.column_stack([graph.rows, graph.columns])
    network = igraph.Graph(n=graph.n, edges=edges)
    igraph.set_random_number_generator(random.Random(seed))  # noqa: S311
    try:
        found = network.community_multilevel(weights=graph.weights.tolist())
    finally:
        igraph.set_random_number_generator(random)
    membership = np.asarray(found.membership)
    sets = [membership == community for community in range(len(found))]
    return [members for members in sets if members.sum() >= _LEAST_COMMUNITY]
