"""Measure the error of an estimate, in units of the error of the empty graph."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import scipy.sparse as sp

from graphcuts_dp.errors import MatrixError
from graphcuts_dp.evaluation.modularity import best_parts, modularity
from graphcuts_dp.evaluation.worst_cut import worst_cut
from graphcuts_dp.graph.adjacency import BipartiteGraph, DirectedGraph
from scripts.benchmark.base import Clustering, Estimate, SparseMatrix
from scripts.benchmark.estimates import checked_estimate
from scripts.benchmark.min_cuts import MOST_EDGES, FlowNetwork, global_min_cut, one_matrix
from scripts.benchmark.spectra import largest_singular
from scripts.benchmark.truth import Truth, upper_half

OF_PARTITIONS = frozenset({"found communities", "disagreements"})
TOLERANCE = 0.05  # between the cut that is found and the proof
_SECONDS = 20.0  # of search for the worst cut
_DENSE_ENTRIES = 5_000**2
_NEGATIVE = -1e-9  # what rounding may make of 0


@final
@dataclass(frozen=True, kw_only=True)
class Measure:
    """A measure of the benchmark; less is better.

    Attributes:
        name: in results.
        about: what it is, in a sentence.
        relative: whether it is a share of the empty graph's error; else seconds, or MiB.
    """

    name: str
    about: str
    relative: bool = True


MEASURES = (
    Measure(name="worst cut found", about="Error of the worst cut that was found, over the weight "
            "of all edges (both in matrix form): at least that."),
    Measure(name="worst cut proven", about="A proven upper bound on the error of every cut."),
    Measure(name="group cuts", about="Mean error of the cuts between two public groups."),
    Measure(name="community cuts", about="Mean error between two communities of the true graph "
            "(Louvain) of ten vertices or more."),
    Measure(name="single vertices", about="Mean error of a vertex against all others."),
    Measure(name="random halves", about="Mean error between random halves."),
    Measure(name="small sets", about="Mean error between two random sets of sqrt(n) vertices."),
    Measure(name="s-t cuts", about="Mean error of the least weight that parts two random vertices: "
            "of the synthetic graph's own least cut."),
    Measure(name="global min cut", about="Error of the least weight of any cut, to 600 "
            "vertices."),
    Measure(name="Gomory-Hu tree", about="Mean error of the least cuts of all pairs of vertices, "
            "by Gomory-Hu trees, to 200 vertices."),
    Measure(name="spectral distance", about="Largest singular value of estimate - truth."),
    Measure(name="modularity", about="Error of the modularity of the true communities."),
    Measure(name="found communities", about="How much less modular a partition is, in the true "
            "graph, than its communities: of a contender that hands in a partition, that one; of a "
            "graph or a matrix, the communities that Louvain finds in it."),
    Measure(name="disagreements", about="Edges of the true graph between parts, and pairs within "
            "parts that are no edges: of the partition that was handed in, or of the one that "
            "Leiden finds in the graph for the least of these. Even the best partition has some."),
    Measure(name="seconds", about="Elapsed time of the method with one thread in numerical "
            "libraries; other work on the machine counts.", relative=False),
    Measure(name="memory", about="Peak resident memory of the process while the method ran, less "
            "what it had before, in MiB; on Linux.", relative=False),
)  # fmt: skip


def measured(estimate: Estimate, truth: Truth) -> dict[str, float]:
    """Measure an estimate: the error of each measure over that of the empty graph.

    Args:
        estimate: a graph, a matrix, a function of two masks, or a partition.
        truth: of the graph that it is an estimate of.

    Returns:
        A number >= 0 for each measure that the estimate can have: 1 is what the empty graph gets. A
        function has cuts of the families alone, a partition the measures of partitions; least cuts
        are of matrices without entries below 0, and of at most a million edges. What cannot be had
        is left out, and so is what the empty graph gets right.

    Raises:
        MatrixError: an estimate of another shape or kind, or with entries or answers that are not
            finite.
    """
    checked = checked_estimate(estimate, truth.graph)
    if isinstance(checked, Clustering):
        return relative(truth.partition_errors(checked.codes), truth.empty)
    errors: dict[str, float] = {}
    for family, values in zip(truth.families, truth.cut_values, strict=True):
        answers = family.values(checked)
        if not np.isfinite(answers).all():
            raise MatrixError("the estimate answers a cut with a number that is not finite")
        errors[family.name] = float(np.abs(answers - values).mean())
    if not callable(checked):
        errors |= _of_matrix(checked, truth)
        errors |= _of_least_cuts(checked, truth)
        errors |= _of_found_parts(checked, truth)
    return relative(errors, truth.empty)


def relative(errors: Mapping[str, float], empty: Mapping[str, float]) -> dict[str, float]:
    """Return errors as shares of those of the empty graph, without those where that makes none."""
    order = [measure.name for measure in MEASURES]
    return {name: errors[name] / empty[name] for name in order if name in errors and name in empty}


def _of_matrix(estimate: SparseMatrix, truth: Truth) -> dict[str, float]:
    difference = _difference(estimate, truth.matrix)
    lower, upper = worst_cut(difference, tolerance=TOLERANCE, time_limit=_SECONDS)
    errors = {
        "worst cut found": lower,
        "worst cut proven": upper,
        "spectral distance": largest_singular(difference),
    }
    if truth.communities is not None and truth.modularity is not None:
        errors["modularity"] = abs(modularity(estimate, truth.communities) - truth.modularity)
    return errors


def _of_found_parts(estimate: SparseMatrix, truth: Truth) -> dict[str, float]:
    """Return the errors of the partitions that are found in an estimate, by post-processing."""
    entries = estimate.data if sp.issparse(estimate) else estimate
    if truth.communities is None or np.count_nonzero(entries) > 2 * MOST_EDGES:
        return {}
    both = estimate + estimate.T
    clusters = best_parts(both / 2, resolution=0.5) if truth.plain else None
    return truth.partition_errors(best_parts(both, resolution=None), clusters)


def _difference(estimate: SparseMatrix, truth: SparseMatrix) -> SparseMatrix:
    if not sp.issparse(estimate):
        return estimate - truth.toarray()
    difference = (estimate - truth).tocsr()
    difference.eliminate_zeros()
    small = difference.shape[0] * difference.shape[1] <= _DENSE_ENTRIES
    return (
        difference.toarray()
        if small and difference.nnz > 0.1 * np.prod(difference.shape)
        else difference
    )


def _of_least_cuts(estimate: Any, truth: Truth) -> dict[str, float]:
    entries = estimate.data if sp.issparse(estimate) else estimate
    if entries.size and (entries.min() < _NEGATIVE or np.count_nonzero(entries) > 2 * MOST_EDGES):
        return {}
    matrix = abs(one_matrix(estimate, bipartite=isinstance(truth.graph, BipartiteGraph)))
    network = FlowNetwork(matrix, directed=isinstance(truth.graph, DirectedGraph))
    errors = {"s-t cuts": float(np.abs(network.between(truth.pairs) - truth.least).mean())}
    if truth.least_global is not None:
        dense = matrix.toarray() if sp.issparse(matrix) else matrix
        errors["global min cut"] = abs(global_min_cut(dense) - truth.least_global)
    if truth.least_all is not None:
        least = upper_half(network.all_pairs())
        errors["Gomory-Hu tree"] = float(np.abs(least - truth.least_all).mean())
    return errors
