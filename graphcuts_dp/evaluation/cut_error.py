"""Measure the cut errors of a release, or of any graph. Reads the true graph: not private."""

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
from graphcuts_dp.evaluation.tables import (
    CutErrorRow,
    CutErrorTable,
    CutPoint,
    PropertyRow,
    index_of_single_cuts,
)
from graphcuts_dp.former_names import refuses_former_options
from graphcuts_dp.graph.adjacency import (
    OTHER_VERTICES,
    AnyGraph,
    BipartiteGraph,
    DirectedGraph,
    check_kinds,
)
from graphcuts_dp.graph.private_data import PrivateSource, private_graph
from graphcuts_dp.options import check_type
from graphcuts_dp.privacy.entropy import Seed, as_seed
from graphcuts_dp.queries.linear import CutQuery, answer_all, answer_on_matrix
from graphcuts_dp.resources import Progress, progress_function, silent
from graphcuts_dp.results.release import Release
from graphcuts_dp.schema.vertices import Label

_RANDOM_CUTS = 200  # of each random kind
_LEAST_COMMUNITY = 10  # vertices of a community that counts
_TOLERANCE = 0.1  # of the bounds on worst cuts: closer ones take several times as long
_LARGE = 1 << 22  # entries from which differences are held in single precision
_QUANTILES = {"least": 0.0, "tenth": 0.1, "median": 0.5, "nine tenths": 0.9, "largest": 1.0}
DEGREES, EMPTY = "true degrees alone", "empty graph"
MatrixMaker = Callable[[], npt.NDArray[np.floating]] | None  # None for a matrix of zeros


@final
@dataclass(frozen=True)
class CutFamily:
    """Cuts of one kind, chosen on the true graph or at random, never on the noisy one.

    Attributes:
        kind: of the cuts, in words.
        queries: the cuts.
        axis: of cuts around single vertices: along which a matrix is added up; None for others.
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
        QueryError: the release is of other vertices, or was made without the weights; or a group
            has unknown vertices.
        GraphError: a sparse release, which has no noisy matrix.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> release = gc.release_graph(club, epsilon=2.0)
        >>> errors = gc.cut_errors(club, release)  # reads the private graph
    """
    check_type("release", release, Release, "a Release")
    truth, noisy = private_graph(graph, shows_truth=True), release.noisy
    if truth.space != noisy.space:
        raise QueryError("the release was made from a graph on other vertices")
    if truth.weighted and noisy.distribution.name == "binary":
        raise QueryError("the release was made without weights; read the graph without them too")
    estimates: dict[str, MatrixMaker] = {"noisy": lambda: noisy.estimate(_precision(noisy.shape))}
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
    makers: dict[str, MatrixMaker] = {"synthetic": synthetic.dense}
    return _table(title, truth, makers, families, communities, progress_function(progress), points)


def cut_families(graph: AnyGraph, *, seed: int = 0) -> list[CutFamily]:
    """Return the kinds of cuts that `cut_errors` tries."""
    return _families(graph, seed=seed)[0]


def _table(
    title: str,
    graph: AnyGraph,
    graph_makers: Mapping[str, MatrixMaker],
    families: Sequence[CutFamily],
    communities: IntVector | None,
    report: Progress,
    points: tuple[CutPoint, ...],
) -> CutErrorTable:
    """Measure all errors, one estimate after the other: memory holds one matrix at a time.

    Args:
        title: of the table.
        graph: the true graph.
        graph_makers: functions that return the matrix of an estimate, by its name.
        families: the kinds of cuts.
        communities: community of each vertex of the true graph; None if there are none.
        report: called with the fraction done and a message.
        points: single cuts for the table.
    """
    estimates: dict[str, MatrixMaker] = {
        **graph_makers,
        DEGREES: lambda: expected_by_degrees(graph),
        EMPTY: None,
    }
    truth = graph.to_scipy()
    values = [family.values(truth, graph) for family in families]
    total = float(truth.sum())
    worst, errors, property_rows = [], [], [_properties(truth, communities)]
    for index, (name, make) in enumerate(estimates.items()):
        report(index / len(estimates), f"worst cut, {name}")
        if make is None:
            worst.append(total)
            errors.append([float(np.abs(true_values).mean()) for true_values in values])
            property_rows.append([0.0] * len(property_rows[0]))
            continue
        matrix = make()
        property_rows.append(_properties(matrix, communities))
        difference = _difference(matrix, truth)
        del matrix
        worst.append(
            cut_norm(difference, tolerance=_TOLERANCE).upper + _rounding_error(difference, total)
        )
        report((index + 0.8) / len(estimates), f"kinds of cuts, {name}")
        errors.append(
            [float(np.abs(family.values(difference, graph)).mean()) for family in families]
        )
        del difference
    report(1.0, "done")
    rows = [CutErrorRow("worst cut (matrix form)", 0, total, tuple(worst))]
    for family, true_values, family_errors in zip(
        families, values, zip(*errors, strict=True), strict=True
    ):
        size = float(true_values.mean())
        rows.append(CutErrorRow(family.kind, len(true_values), size, family_errors))
    names = [] if communities is None else ["modularity of the communities"]
    names += [f"degrees: {name}" for name in _QUANTILES]
    properties = [
        PropertyRow(name, property_values[0], property_values[1:])
        for name, property_values in zip(names, zip(*property_rows, strict=True), strict=True)
    ]
    return CutErrorTable(title, tuple(estimates), tuple(rows), points, tuple(properties))


def _precision(shape: tuple[int, int]) -> type[np.floating]:
    """Return the precision of differences of matrices: single if they are large."""
    return np.float32 if math.prod(shape) > _LARGE else np.float64


def _difference(matrix: npt.NDArray[np.floating], truth: sp.csr_array) -> npt.NDArray[np.floating]:
    """Return a matrix less the true one."""
    precision = _precision(matrix.shape)
    difference: npt.NDArray[np.floating] = matrix.astype(precision)
    edges = truth.tocoo()
    difference[edges.row, edges.col] -= edges.data.astype(precision)
    return difference


def _rounding_error(difference: npt.NDArray[np.floating], total: float) -> float:
    """Return a bound on the error of a cut by single precision.

    Each entry of the difference and each of its operands is rounded by half a unit at most.
    """
    if difference.dtype == np.float64:
        return 0.0
    unit = float(np.finfo(difference.dtype).eps)
    return unit * (float(np.linalg.norm(difference.ravel(), 1)) + total)


def _properties(matrix: Any, communities: IntVector | None) -> list[float]:
    """Return the modularity of communities, if there are any, and quantiles of row sums."""
    degrees = np.asarray(matrix.sum(axis=1, dtype=np.float64)).ravel()
    quantiles = [float(value) for value in np.quantile(degrees, list(_QUANTILES.values()))]
    return quantiles if communities is None else [modularity(matrix, communities), *quantiles]


def _families(
    graph: AnyGraph, *, groups: Mapping[str, Sequence[Label]] | None = None, seed: int
) -> tuple[list[CutFamily], IntVector | None]:
    """Return the kinds of cuts, and the community of each vertex, if the vertices are one set."""
    rng = np.random.default_rng(seed)
    rows, columns = graph.shape
    families = [CutFamily("one vertex against all", tuple(_degree_cuts(graph)), axis=1)]
    if isinstance(graph, DirectedGraph):
        out, into = _degree_cuts(graph), _degree_cuts(graph, heads=True)
        families = [
            CutFamily("out of one vertex", tuple(out), axis=1),
            CutFamily("into one vertex", tuple(into), axis=0),
        ]
    set_sizes = max(1, math.isqrt(rows)), max(1, math.isqrt(columns))
    halves, small_sets = [], []
    for _ in range(_RANDOM_CUTS):
        S = rng.random(rows) < 0.5
        T = rng.random(columns) < 0.5 if isinstance(graph, BipartiteGraph) else ~S
        halves.append(CutQuery(S, T))
        small_S = _random_set(rng, rows, set_sizes[0])
        small_sets.append(CutQuery(small_S, _random_set(rng, columns, set_sizes[1])))
    families.append(CutFamily("random halves", tuple(halves)))
    families.append(CutFamily("small random sets", tuple(small_sets)))
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
    """Return the single cuts that the table has, with their answers.

    Args:
        families: the kinds of cuts.
        graph: the true graph.
        synthetic: the synthetic graph; None if there is none.
        release: of the noisy answers; None if there are none.
    """
    queries = families[index_of_single_cuts([family.kind for family in families])].queries
    absent = [None] * len(queries)
    synthetic_answers = absent if synthetic is None else answer_all(queries, synthetic).tolist()
    answers = [] if release is None else release.answer_all(queries)
    noisy = [(answer.value, *answer.interval) for answer in answers] or absent
    return tuple(map(CutPoint, answer_all(queries, graph).tolist(), synthetic_answers, noisy))


def _degree_cuts(graph: AnyGraph, *, heads: bool = False) -> list[CutQuery]:
    """Return a cut for each row, or with `heads` for each column: its degree.

    Of a directed graph these are out-degrees, or in-degrees.
    """
    rows, columns = graph.shape
    if heads:
        all_rows = np.ones(rows, dtype=np.bool_)
        return [CutQuery(all_rows, vertex) for vertex in np.eye(columns, dtype=np.bool_)]
    return [CutQuery(vertex) for vertex in np.eye(rows, dtype=np.bool_)]


def _random_set(rng: np.random.Generator, n: int, size: int) -> npt.NDArray[np.bool_]:
    """Return the mask of a random set of so many of n vertices."""
    mask = np.zeros(n, dtype=np.bool_)
    mask[rng.choice(n, size=size, replace=False)] = True
    return mask


def _between(sets: Sequence[npt.NDArray[np.bool_]], ordered: bool) -> tuple[CutQuery, ...]:
    """Return the cuts between each two of some sets, in both orders if `ordered`."""
    pairs = permutations(sets, 2) if ordered else combinations(sets, 2)
    return tuple(CutQuery(S, T) for S, T in pairs)
