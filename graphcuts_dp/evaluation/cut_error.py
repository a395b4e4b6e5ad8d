"""Measured cut errors of a release, or of any graph. Reads the true graph: not private."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any, final

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.errors import GraphError, QueryError
from graphcuts_dp.evaluation.degree_baseline import expected_by_degrees
from graphcuts_dp.evaluation.modularity import communities_of, modularity
from graphcuts_dp.evaluation.tables import CutErrorRow, CutErrorTable, CutPoint, KeptRow
from graphcuts_dp.former_names import refuses_former_options
from graphcuts_dp.graph.adjacency import (
    OTHER_VERTICES,
    AnyGraph,
    BipartiteGraph,
    DirectedGraph,
    check_kinds,
)
from graphcuts_dp.graph.private_data import PrivateSource, private_graph
from graphcuts_dp.privacy.entropy import Seed, as_seed
from graphcuts_dp.queries.linear import CutQuery, answer_all, answer_on_matrix
from graphcuts_dp.resources import Progress, progress_function, silent
from graphcuts_dp.results.release import Release
from graphcuts_dp.schema.vertices import Label

_RANDOM_CUTS = 200
_LEAST_COMMUNITY = 10
_TOLERANCE = 0.1  # of the bounds on worst cuts: closer ones take several times as long
_LARGE = 1 << 22  # entries from which differences are held in single precision
_QUANTILES = {"least": 0.0, "tenth": 0.1, "median": 0.5, "nine tenths": 0.9, "largest": 1.0}
DEGREES, EMPTY = "true degrees alone", "empty graph"
Made = Callable[[], npt.NDArray[np.floating]] | None  # makes a matrix; None for one of zeros


@final
@dataclass(frozen=True)
class CutFamily:
    """Cuts of one kind, chosen on the true graph or at random, never on the noisy one.

    Attributes:
        kind: what they are.
        queries: the cuts.
        axis: along which a matrix is added up to answer them, if they are of single vertices.
    """

    kind: str
    queries: tuple[CutQuery, ...]
    axis: int | None = None

    def values(self, matrix: Any, graph: AnyGraph) -> npt.NDArray[np.float64]:
        """Return the values of all cuts, on a matrix of the vertices of this graph."""
        if self.axis is not None:
            return np.asarray(matrix.sum(axis=self.axis, dtype=np.float64)).ravel()
        return answer_on_matrix(self.queries, matrix, graph.space)


@refuses_former_options()
def cut_errors(
    graph: PrivateSource,
    release: Release,
    *,
    groups: Mapping[str, Sequence[Label]] | None = None,
    seed: Seed = 0,
    progress: Progress | bool = silent,
) -> CutErrorTable:
    """Measure the cut errors of a release against the graph that it was made from.

    Args:
        graph: the private graph.
        release: made from it.
        groups: named sets of vertices; the cuts between each two of them become a family of
            their own (not of bipartite graphs).
        seed: of the random cuts, 0 or larger.
        progress: True shows a bar; a function is called with the fraction done and a message.

    Returns:
        Errors of the noisy matrix, of the synthetic graph if there is one, of what the true
        degrees alone would tell, and of the empty graph; and what each keeps of the communities.
        NOT PRIVATE: computed from the true graph, costs no budget, must not be published.

    Raises:
        QueryError: the release is of other vertices.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> release = gc.release_graph(club, epsilon=2.0)
        >>> errors = gc.cut_errors(club, release)  # reads the private graph
    """
    truth, noisy = private_graph(graph, shows_truth=True), release.noisy
    if truth.space != noisy.space:
        raise QueryError("the release was made from a graph on other vertices")
    if truth.weighted and noisy.distribution.name == "binary":
        raise QueryError("the release was made without weights; read the graph without them too")
    estimates: dict[str, Made] = {"noisy": lambda: noisy.estimate(_precision(noisy.shape))}
    if release.has_graph:
        estimates["synthetic"] = release.graph.dense
    families, communities = _families(truth, groups=groups, seed=as_seed(seed) or 0)
    return _table(
        f"{noisy.distribution.name} noise, epsilon = {release.guarantee.epsilon:g}",
        truth,
        estimates,
        families,
        communities,
        progress_function(progress),
        _points(families, truth, release.graph if release.has_graph else None, release),
    )


@refuses_former_options()
def graph_cut_errors(
    graph: PrivateSource,
    synthetic: PrivateSource,
    *,
    queries: Sequence[CutQuery] = (),
    seed: Seed = 0,
    title: str = "synthetic against true graph",
    progress: Progress | bool = silent,
) -> CutErrorTable:
    """Measure the cut errors of any graph against a true one on the same vertices.

    Args:
        graph: the true graph.
        synthetic: any graph, however it was made, its vertices in the same order.
        queries: cuts that become a family of their own.
        seed: of the random cuts, 0 or larger.
        title: of the table.
        progress: True shows a bar; a function is called with the fraction done and a message.

    Returns:
        Errors of the synthetic graph, of what the true degrees alone would tell (Chung, Lu), and of
        the empty graph; and what each keeps of the true communities and degrees. NOT PRIVATE:
        computed from the true graph.

    Raises:
        GraphError: other vertices, or graphs of two kinds.
        QueryError: a cut of unknown vertices.
    """
    truth = private_graph(graph, shows_truth=True)
    synthetic = private_graph(synthetic, shows_truth=True)
    check_kinds(truth, synthetic)
    if truth.space != synthetic.space:
        raise GraphError(OTHER_VERTICES)
    families, communities = _families(truth, seed=as_seed(seed) or 0)
    if queries:
        families.append(CutFamily("given cuts", tuple(queries)))
    points = _points(families, truth, synthetic)
    makers: dict[str, Made] = {"synthetic": synthetic.dense}
    return _table(title, truth, makers, families, communities, progress_function(progress), points)


def _table(
    title: str,
    graph: AnyGraph,
    synthetic_graphs: Mapping[str, Made],
    families: Sequence[CutFamily],
    communities: IntVector | None,
    tell: Progress,
    points: tuple[CutPoint, ...],
) -> CutErrorTable:
    """Measure all errors, one estimate after the other: memory holds one matrix at a time."""
    estimates: dict[str, Made] = {
        **synthetic_graphs,
        DEGREES: lambda: expected_by_degrees(graph),
        EMPTY: None,
    }
    truth = graph.to_scipy()
    values = [family.values(truth, graph) for family in families]
    total = float(truth.sum())
    worst, errors, kept_rows = [], [], [_kept(truth, communities)]
    for index, (name, make) in enumerate(estimates.items()):
        tell(index / len(estimates), f"worst cut, {name}")
        if make is None:
            worst.append(total)
            errors.append([float(np.abs(estimates_kept).mean()) for estimates_kept in values])
            kept_rows.append([0.0] * len(kept_rows[0]))
            continue
        matrix = make()
        kept_rows.append(_kept(matrix, communities))
        difference = _less(matrix, truth)
        del matrix
        worst.append(cut_norm(difference, tolerance=_TOLERANCE).upper + _lost(difference, total))
        tell((index + 0.8) / len(estimates), f"kinds of cuts, {name}")
        errors.append(
            [float(np.abs(family.values(difference, graph)).mean()) for family in families]
        )
        del difference
    tell(1.0, "done")
    rows = [CutErrorRow("worst cut (matrix form)", 0, total, tuple(worst))]
    for family, value, error in zip(families, values, zip(*errors, strict=True), strict=True):
        rows.append(CutErrorRow(family.kind, len(value), float(value.mean()), error))
    names = ["modularity of the communities"] * (communities is not None)
    names += [f"degrees: {name}" for name in _QUANTILES]
    shape = [
        KeptRow(name, estimates_kept[0], estimates_kept[1:])
        for name, estimates_kept in zip(names, zip(*kept_rows, strict=True), strict=True)
    ]
    return CutErrorTable(title, tuple(estimates), tuple(rows), points, tuple(shape))


def _precision(shape: tuple[int, int]) -> type[np.floating]:
    """Return the precision of differences of matrices: single if they are large."""
    return np.float32 if math.prod(shape) > _LARGE else np.float64


def _less(matrix: npt.NDArray[np.floating], truth: sp.csr_array) -> npt.NDArray[np.floating]:
    """Return a matrix less the true one."""
    kind = _precision(matrix.shape)
    difference: npt.NDArray[np.floating] = matrix.astype(kind)
    edges = truth.tocoo()
    difference[edges.row, edges.col] -= edges.data.astype(kind)
    return difference


def _lost(difference: npt.NDArray[np.floating], total: float) -> float:
    """Return the most that rounding hides of a cut: half a unit of each entry and operand."""
    if difference.dtype == np.float64:
        return 0.0
    unit = float(np.finfo(difference.dtype).eps)
    return unit * (float(np.linalg.norm(difference.ravel(), 1)) + total)


def _kept(matrix: Any, communities: IntVector | None) -> list[float]:
    """Return the modularity of communities, if there are any, and quantiles of degrees of rows."""
    degrees = np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel()
    quantiles = [float(value) for value in np.quantile(degrees, list(_QUANTILES.values()))]
    return quantiles if communities is None else [modularity(matrix, communities), *quantiles]


def cut_families(graph: AnyGraph, *, seed: int = 0) -> list[CutFamily]:
    """Return the kinds of cuts that `cut_errors` tries."""
    return _families(graph, seed=seed)[0]


def _families(
    graph: AnyGraph, *, groups: Mapping[str, Sequence[Label]] | None = None, seed: int
) -> tuple[list[CutFamily], IntVector | None]:
    """Return the kinds of cuts, and the community of each vertex, if the vertices are one set."""
    rng = np.random.default_rng(seed)
    n, other = graph.shape
    families = [CutFamily("one vertex against all", tuple(_degree_cuts(graph)), axis=1)]
    if isinstance(graph, DirectedGraph):
        out, into = _degree_cuts(graph), _degree_cuts(graph, heads=True)
        families = [
            CutFamily("out of one vertex", tuple(out), axis=1),
            CutFamily("into one vertex", tuple(into), axis=0),
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
    communities: IntVector | None = None
    if not isinstance(graph, BipartiteGraph):
        ordered = isinstance(graph, DirectedGraph)
        communities = communities_of(graph, seed=seed)
        large = np.flatnonzero(np.bincount(communities) >= _LEAST_COMMUNITY)
        if len(large) > 1:
            masks = [communities == part for part in large]
            families.append(CutFamily("between communities", _between(masks, ordered)))
        if groups is not None and len(groups) > 1:
            members = [graph.vertices.mask(group) for group in groups.values()]
            families.append(CutFamily("between groups", _between(members, ordered)))
    return families, communities


def _points(
    families: Sequence[CutFamily],
    graph: AnyGraph,
    synthetic: AnyGraph | None,
    release: Release | None = None,
) -> tuple[CutPoint, ...]:
    """Return single cuts of the most informative family."""
    shown = _telling(families).queries
    none = [None] * len(shown)
    synthetic_answers = none if synthetic is None else answer_all(shown, synthetic).tolist()
    answers = [] if release is None else release.answer_all(shown)
    noisy = [(answer.value, *answer.interval) for answer in answers] or none
    return tuple(map(CutPoint, answer_all(shown, graph).tolist(), synthetic_answers, noisy))


def _telling(families: Sequence[CutFamily]) -> CutFamily:
    """Return the last family if it has cuts, groups or communities; else single vertices."""
    return families[-1] if families[-1].kind.startswith(("between", "given")) else families[0]


def _degree_cuts(graph: AnyGraph, *, heads: bool = False) -> list[CutQuery]:
    """Return a cut for each row, or for each column: of a directed graph, out- and in-degrees."""
    rows, columns = graph.shape
    if heads:
        everyone = np.ones(rows, dtype=np.bool_)
        return [CutQuery(everyone, one) for one in np.eye(columns, dtype=np.bool_)]
    return [CutQuery(one) for one in np.eye(rows, dtype=np.bool_)]


def _random_set(rng: np.random.Generator, n: int, size: int) -> npt.NDArray[np.bool_]:
    mask = np.zeros(n, dtype=np.bool_)
    mask[rng.choice(n, size=size, replace=False)] = True
    return mask


def _between(sets: Sequence[npt.NDArray[np.bool_]], ordered: bool) -> tuple[CutQuery, ...]:
    pairs = permutations(sets, 2) if ordered else combinations(sets, 2)
    return tuple(CutQuery(S, T) for S, T in pairs)
