"""Families of cuts of the benchmark: disjoint sets, chosen on the true graph or at random."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from graphcuts_dp.arrays import BoolMatrix, BoolVector, FloatVector, IntVector
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, DirectedGraph, Graph
from scripts.benchmark.base import Answers, SparseMatrix
from scripts.benchmark.made_graphs import uniform

_MOST_CUTS, _FEW_CUTS = 200, 60  # of a family; on more than 20,000 vertices the latter
_LARGE = 20_000
_BLOCK = 1 << 22  # entries of the sets at a time
_LEAST_COMMUNITY = 10


@final
@dataclass(frozen=True, eq=False)
class DisjointCuts:
    """Cuts between disjoint sets of vertices (or sets of the two sides).

    Attributes:
        name: of the family, a name of `measures.MEASURES`.
        S: truth vectors over the rows, shape (cuts, rows).
        T: over the columns, shape (cuts, columns).
    """

    name: str
    S: BoolMatrix
    T: BoolMatrix

    def values(self, estimate: SparseMatrix | Answers) -> FloatVector:
        """Return the weight of each cut, shape (cuts,), of a matrix or a function."""
        if callable(estimate):
            return np.array([float(estimate(s, t)) for s, t in zip(self.S, self.T, strict=True)])
        height = max(1, _BLOCK // self.S.shape[1])
        weights = np.empty(len(self.S))
        for start in range(0, len(weights), height):
            part = slice(start, start + height)
            sums = (estimate.T @ self.S[part].T.astype(np.float64)).T
            weights[part] = (sums * self.T[part]).sum(axis=1)
        return weights


def families_of(
    graph: AnyGraph, *, groups: IntVector | None, communities: IntVector | None
) -> tuple[DisjointCuts, ...]:
    """Return the families that a graph has.

    Args:
        graph: the true graph, of which the shape and the kind are read.
        groups: code of the public group of each vertex, or None.
        communities: likewise of the communities that were found in the true graph.

    Returns:
        "group cuts" and "community cuts" between two groups or communities (in each direction),
        communities of at least ten vertices; "single vertices" against all others (out of and
        into); "random halves" against the rest; "small sets", two of sqrt(n) vertices. At most 200
        each, picked at random, 60 on more than 20,000 vertices. Families without cuts are left
        out.
    """
    many = _MOST_CUTS if sum(graph.shape) <= _LARGE else _FEW_CUTS
    ordered = isinstance(graph, DirectedGraph)
    families = [
        _between("group cuts", groups, many, ordered, least=1, seed=101),
        _between("community cuts", communities, many, ordered, least=_LEAST_COMMUNITY, seed=102),
        _singles(graph, many),
        _halves(graph, many),
        _small_sets(graph, many),
    ]
    return tuple(family for family in families if family is not None)


def _between(
    name: str, codes: IntVector | None, most: int, ordered: bool, *, least: int, seed: int
) -> DisjointCuts | None:
    if codes is None:
        return None
    large_parts = np.flatnonzero(np.bincount(codes) >= least)
    pairs = [(a, b) for a in large_parts for b in large_parts if a != b and (ordered or a < b)]
    if not pairs:
        return None
    picked = [pairs[i] for i in _some(len(pairs), most, seed)]
    return DisjointCuts(
        name,
        np.array([codes == a for a, _ in picked]),
        np.array([codes == b for _, b in picked]),
    )


def _singles(graph: AnyGraph, most: int) -> DisjointCuts:
    rows, columns = graph.shape
    out = [(0, i) for i in range(rows)]
    into = [] if isinstance(graph, Graph) else [(1, i) for i in range(columns)]
    one_set = not isinstance(graph, BipartiteGraph)
    sets = []
    for side, i in (((*out, *into))[k] for k in _some(len(out) + len(into), most, 103)):
        S, T = (np.full(length, where != side) for where, length in enumerate((rows, columns)))
        (T if side else S)[i] = True
        if one_set:
            (S if side else T)[i] = False
        sets.append((S, T))
    return _family("single vertices", sets)


def _halves(graph: AnyGraph, most: int) -> DisjointCuts:
    rows, columns = graph.shape
    draws = uniform(104, (most, rows + columns))
    S = draws[:, :rows] < 0.5
    T = draws[:, rows:] < 0.5 if isinstance(graph, BipartiteGraph) else ~S
    return DisjointCuts("random halves", S, T)


def _small_sets(graph: AnyGraph, most: int) -> DisjointCuts:
    """Return sets of sqrt(n) vertices each, or of the square roots of both sides."""
    rows, columns = graph.shape
    sizes = [max(1, int(length**0.5)) for length in (rows, columns)]
    sets = []
    for k in range(most):
        if isinstance(graph, BipartiteGraph):
            picked = [_picked(n, size, 2 * k + i) for i, (n, size) in
                      enumerate(zip((rows, columns), sizes, strict=True))]  # fmt: skip
        else:
            both = _picked(rows, 2 * min(sizes[0], rows // 2), k)
            picked = [both[0::2], both[1::2]]
        S, T = np.zeros(rows, dtype=np.bool_), np.zeros(columns, dtype=np.bool_)
        S[picked[0]], T[picked[1]] = True, True
        sets.append((S, T))
    return _family("small sets", sets)


def _family(name: str, sets: Sequence[tuple[BoolVector, BoolVector]]) -> DisjointCuts:
    return DisjointCuts(name, np.array([S for S, _ in sets]), np.array([T for _, T in sets]))


def _picked(n: int, count: int, number: int) -> IntVector:
    """Return some of n numbers, each once, in random order."""
    vertices: IntVector = np.argsort(uniform(1_000 + number, n), kind="stable")[:count]
    return vertices


def _some(count: int, most: int, seed: int) -> IntVector:
    """Return at most so many of `count` numbers, ascending."""
    if count <= most:
        return np.arange(count)
    indices: IntVector = np.sort(np.argsort(uniform(seed, count), kind="stable")[:most])
    return indices
