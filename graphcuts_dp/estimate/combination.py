"""The best linear unbiased estimate of a sum of weights, from public numbers alone.

A release knows three kinds of unbiased numbers: every entry, sums of the entries at each vertex
(degrees), and sums over blocks of pairs (the total is one, over all pairs), each with independent
noise of known variance. A query has a coefficient q_p for each pair p. For any numbers k_r, one for
each sum r with coefficients h_rp,

    sum_p (q_p - f_p) Z_p + sum_r k_r y_r   with   f_p = sum_r k_r h_rp

is unbiased, since the second sum puts back what the first leaves out, and its variance is

    V(k) = s^2 sum_p (q_p - f_p)^2 + sum_r k_r^2 v_r,

s^2 being the variance of an entry and v_r that of a sum. The best k minimises this quadratic: a
ridge regression of q on the patterns of the sums. By Gauss and Markov no other unbiased linear
estimate has a smaller variance. With degrees of variance t^2 alone it is k = s^2 M^-1 w,
M = (s^2 (n-2) + t^2) I + s^2 1 1', w_i = sum_j q_ij, and V = s^2 sum q^2 - s^4 w' M^-1 w.

Permuting vertices that play the same part in a cut changes nothing, and V is convex, so the best k
is constant on them. Vertices are therefore taken in *cells* (for a cut at most four: in S, in T, in
both, in none; a directed graph has these for tails and for heads of arcs), pairs in types (cell,
cell), and the regression has as many unknowns as there are cells and blocks, whatever the number of
vertices. Blocks of pairs must be unions of types: sums over blocks that cut through the cells need
finer cells (`classes` of `cut_types`), nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import final

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from graphcuts_dp.pairs.layout import Layout
from graphcuts_dp.privacy.value_noise import NoiseTerm


@final
@dataclass(frozen=True, eq=False)
class PairTypes:
    """Vertices in cells, and the pairs between them.

    Attributes:
        sizes: number of vertices of each cell, all > 0.
        first: for each type of pairs the cell of one end (of the rows, if there are two sides).
        second: the cell of the other end; the same for pairs within a cell.
        counts: how many pairs there are of each type.
    """

    sizes: IntVector
    first: IntVector
    second: IntVector
    counts: IntVector

    @classmethod
    def within(cls, sizes: Sequence[int]) -> "PairTypes":
        """Of one set of vertices, each pair of distinct vertices once."""
        cells = np.array(sizes, dtype=np.int64)
        first, second = np.triu_indices(len(cells))
        same = first == second
        counts = np.where(
            same, cells[first] * (cells[first] - 1) // 2, cells[first] * cells[second]
        )
        return cls(cells, first, second, counts)

    @classmethod
    def across(cls, left: Sequence[int], right: Sequence[int]) -> "PairTypes":
        """Of two sets of vertices; the cells of the left come first."""
        cells = np.array([*left, *right], dtype=np.int64)
        first = np.repeat(np.arange(len(left)), len(right))
        second = np.tile(np.arange(len(right)), len(left)) + len(left)
        return cls(cells, first, second, cells[first] * cells[second])

    @cached_property
    def ends(self) -> FloatMatrix:
        """How many ends a pair of each type has in each cell, shape (types, cells): 0, 1 or 2."""
        cells = np.arange(len(self.sizes))
        found: FloatMatrix = (self.first[:, None] == cells).astype(float)
        found += self.second[:, None] == cells
        return found


@final
@dataclass(frozen=True, eq=False)
class Rows:
    """Noisy sums of weights as rows over the types of pairs, and how they were measured.

    A column stands for sums that get one number k: the degrees of a cell, or a sum over a block.

    Attributes:
        patterns: how often the sums count a pair of each type, shape (types, columns).
        values: the noisy sums of each column, added up, in weight, shape (columns,).
        entries: the same sums of the noisy entries.
        noises: of each column for k = 1: so many independent ones of each law.
        step: by how much each pair may have been rounded down.
    """

    patterns: FloatMatrix
    values: FloatVector
    entries: FloatVector
    noises: Sequence[Sequence[NoiseTerm]]
    step: float

    @property
    def variances(self) -> FloatVector:
        """Of the noise of each column for k = 1."""
        return np.array(
            [sum(count * c**2 * law.variance for law, c, count in own) for own in self.noises]
        )


def best_combination(
    counts: IntVector,
    query: FloatVector,
    patterns: FloatMatrix,
    variances: FloatVector,
    *,
    entry: float,
) -> tuple[FloatVector, FloatVector]:
    """The combination of least variance: q - f of each type, and k of each column.

    Args:
        counts: how many pairs there are of each type, shape (types,).
        query: coefficient of the pairs of each type, shape (types,).
        patterns: how often each column counts them, see `Rows`; shape (types, columns).
        variances: of the columns, > 0.
        entry: variance of a noisy entry, > 0.

    Solved as a ridge regression; any rounding in the solution costs variance and no bias.
    """
    if not len(variances):
        return query, np.empty(0)
    weighted = patterns * (entry * counts)[:, None]
    # Scaled to a unit diagonal: variances of degrees and totals may differ by many orders.
    normal = patterns.T @ weighted
    normal[np.diag_indices_from(normal)] += variances
    scale = 1 / np.sqrt(normal.diagonal())
    solved = scale * np.linalg.solve(normal * np.outer(scale, scale), scale * (weighted.T @ query))
    return query - patterns @ solved, solved


def cut_types(
    S: BoolVector,
    T: BoolVector,
    layout: Layout,
    *,
    classes: tuple[IntVector, IntVector] | None = None,
) -> tuple[PairTypes, FloatVector, tuple[IntVector, IntVector]]:
    """Cells, types and coefficients of a cut query.

    Args:
        S: mask of rows.
        T: mask of columns.
        layout: of the matrix: which entries are pairs.
        classes: a number >= 0 for each row and each column; cells lie within them, so that blocks
            of pairs between classes are unions of types. None for one class.

    Returns:
        The types; the coefficient of each, 1 where it joins S and T; and the cell of each row and
        of each column (one array twice for a plain graph).
    """
    tails, heads = S.astype(np.int64), 2 * T.astype(np.int64)
    if layout.hollow:  # rows and columns are the same vertices
        tails = heads = tails + heads
    codes, cells, sizes = _cells(tails, None if classes is None else classes[0])
    if layout.symmetric:
        types = PairTypes.within(sizes)
        a, b = codes[types.first], codes[types.second]
        joined = ((a & 1) & (b >> 1)) | ((b & 1) & (a >> 1))
        return types, joined.astype(float), (cells, cells)
    others, columns, many = _cells(heads, None if classes is None else classes[1])
    types = PairTypes.across(sizes, many)
    if layout.hollow:  # a vertex is no pair with itself
        same = np.bincount(cells * len(many) + columns, minlength=len(types.counts))
        types = replace(types, counts=types.counts - same)
    joined = np.outer(codes & 1, others >> 1).ravel()
    return types, joined.astype(float), (cells, columns + len(sizes))


def _cells(
    codes: IntVector, classes: IntVector | None
) -> tuple[IntVector, IntVector, tuple[int, ...]]:
    """The code of each cell, the cell of each vertex, the sizes of the cells."""
    keys = codes if classes is None else codes + 4 * classes
    found, cells, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    return found % 4, cells, tuple(sizes.tolist())
