"""Pair types of a cut, and the regression for the best linear unbiased estimate of the cut.

A release with a noisy matrix knows three kinds of unbiased numbers: every *entry* Z_p, which is the
noisy weight of the pair p; sums at each vertex (degrees); and sums over blocks of pairs (the total
is one, over all pairs). All have independent noise of known variance. A query has a coefficient q_p
for each pair. For any numbers k_r, one for each noisy sum y_r with coefficients h_rp,

    sum_p (q_p - f_p) Z_p + sum_r k_r y_r   with   f_p = sum_r k_r h_rp

is unbiased, since the second sum puts back what the first leaves out, and its variance is

    V(k) = s^2 sum_p (q_p - f_p)^2 + sum_r k_r^2 v_r,

s^2 being the variance of an entry and v_r that of a sum. The best k minimises this quadratic: it is
a ridge regression of q on the patterns h of the sums (`best_combination`). By Gauss and Markov no
other linear unbiased estimate has a smaller variance.

The regression is small. Exchanging two vertices that lie alike to the cut changes nothing in V but
the order of their k. V is convex, so the mean of the best k and the exchanged one is as good: there
is a best k that is the same for both. Vertices that lie alike form a *cell*. A cut has at most
four: in S alone, in T alone, in both, in neither. A directed or bipartite graph has two cells of
rows (in S or not), and two of columns (in T or not). Pairs between two cells are a *pair type*.

If there are sums between public groups, vertices lie alike only if their groups do, too. So cells
are divided further, by *classes* of groups (`group_classes`). A *block* is the set of pairs between
two classes, and so a union of types; the measured sums in a block get the same k.

Noisy sums of a measurement that get the same k are added up first, as a *column* (`SummedRows`).
"""

from dataclasses import dataclass, replace
from typing import final

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from graphcuts_dp.estimate.measurement import CellSums
from graphcuts_dp.privacy.laws import NoiseLaw
from graphcuts_dp.schema.layout import Layout

# Most classes of the groups that a cut splits; see `group_classes`. More would make the regression
# larger for little precision.
_MOST_SPLIT_GROUPS = 12

SideClasses = tuple[IntVector, IntVector]  # a class >= 0 for each row and for each column


@final
@dataclass(frozen=True, eq=False)
class PairTypes:
    """The cells of the vertices and the pair types of a cut.

    Of a bipartite or directed graph the rows have cells of their own, which are numbered first.

    Attributes:
        sizes: number of vertices of each cell, all > 0, shape (cells,).
        cell_of: cell of each vertex: of the rows, and then of the columns unless the graph is
            undirected.
        first: cell of one end of the pairs of each type, shape (types,).
        second: cell of the other end, shape (types,); the same cell for pairs within a cell.
        counts: number of pairs of each type, shape (types,).
        cut_coefficients: 1 for types whose pairs the cut joins, else 0, shape (types,).
    """

    sizes: IntVector
    cell_of: IntVector
    first: IntVector
    second: IntVector
    counts: IntVector
    cut_coefficients: FloatVector

    @classmethod
    def of(
        cls, S: BoolVector, T: BoolVector, layout: Layout, classes: SideClasses | None = None
    ) -> "PairTypes":
        """Return the pair types of a cut.

        Args:
            S: mask of the rows.
            T: mask of the columns.
            layout: of the matrix.
            classes: of vertices; each cell lies within one class. None for a single class.
        """
        # Bit 0 of the code of a vertex says whether it is in S, bit 1 whether it is in T.
        row_codes, column_codes = S.astype(np.int64), 2 * T.astype(np.int64)
        if layout.hollow:  # rows and columns are the same vertices
            row_codes = column_codes = row_codes + column_codes
        row_classes, column_classes = (None, None) if classes is None else classes
        codes, row_cells, sizes = _cells(row_codes, row_classes)
        if layout.symmetric:
            first, second = np.triu_indices(len(sizes))
            pairs_within = sizes[first] * (sizes[first] - 1) // 2
            counts = np.where(first == second, pairs_within, sizes[first] * sizes[second])
            # A pair is joined if one end is in S (bit 0) and the other in T (bit 1), either way.
            a, b = codes[first], codes[second]
            joined = ((a & 1) & (b >> 1)) | ((b & 1) & (a >> 1))
            return cls(sizes, row_cells, first, second, counts, joined.astype(float))
        heads, column_cells, head_sizes = _cells(column_codes, column_classes)
        first, second = np.indices((len(sizes), len(head_sizes))).reshape(2, -1)
        counts = sizes[first] * head_sizes[second]
        if layout.hollow:
            # A vertex is no pair with itself: subtract one for each, from the type of its two
            # cells.
            type_of_itself = row_cells * len(head_sizes) + column_cells
            counts = counts - np.bincount(type_of_itself, minlength=len(counts))
        # The row is in S (bit 0 of its code) and the column in T (bit 1 of its code).
        joined = (codes[first] & 1) * (heads[second] >> 1)
        row_cell_count = len(sizes)
        return cls(
            np.concatenate([sizes, head_sizes]),
            np.concatenate([row_cells, column_cells + row_cell_count]),
            first,
            second + row_cell_count,
            counts,
            joined.astype(float),
        )

    @property
    def endpoints(self) -> FloatMatrix:
        """Number of ends (0, 1 or 2) of a pair of each type in each cell, shape (types, cells)."""
        cells = np.arange(len(self.sizes))
        endpoints: FloatMatrix = (self.first[:, None] == cells).astype(float)
        endpoints += self.second[:, None] == cells
        return endpoints

    def pairs_joined_by(self, S: FloatMatrix, T: FloatMatrix, layout: Layout) -> FloatMatrix:
        """Return how many pairs of each type other cuts join, shape (types, cuts).

        Args:
            S: 1 for the rows in S of each cut, else 0, shape (cuts, rows).
            T: 1 for the columns in T of each cut, else 0, shape (cuts, columns).
            layout: of the matrix.
        """
        # Indicator of the vertices of each cell, shape (cells, vertices).
        cells = (np.arange(len(self.sizes))[:, None] == self.cell_of).astype(np.float64)
        if layout.symmetric:
            # Vertices of each cell in the sets of each cut, shape (cells, cuts).
            in_S, in_T, in_both = cells @ S.T, cells @ T.T, cells @ (S * T).T
            first, second = self.first, self.second
            between = in_S[first] * in_T[second] + in_S[second] * in_T[first]
            between -= in_both[first] * in_both[second]
            # Pairs {u, v} of two cells with u in S, v in T, or the other way round. Those with both
            # ends in both sets were counted twice.
            # Within a cell, in_S in_T counts ordered pairs (u, v), u in S and v in T. With b
            # vertices in both sets, it counts b pairs of a vertex with itself, and the b (b - 1)/2
            # pairs within both sets twice: b + b (b - 1)/2 = b (b + 1)/2 too many.
            too_many = in_both[first] * (in_both[first] + 1) / 2
            inside = in_S[first] * in_T[first] - too_many
            return np.asarray(np.where((first == second)[:, None], inside, between))
        row_cells, column_cells = cells[:, : S.shape[1]], cells[:, S.shape[1] :]
        joined = (row_cells @ S.T)[self.first] * (column_cells @ T.T)[self.second]
        if layout.hollow:
            joined -= (row_cells[self.first] * column_cells[self.second]) @ (S * T).T
        return np.asarray(joined)


def _cells(codes: IntVector, classes: IntVector | None) -> tuple[IntVector, IntVector, IntVector]:
    """Return the code of each cell, the cell of each vertex, and the sizes of the cells.

    Args:
        codes: 0 to 3 for each vertex, by how it lies to the cut.
        classes: of the vertices; None for a single class.
    """
    keys = codes if classes is None else codes + 4 * classes
    distinct, cell_of, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    return distinct % 4, cell_of, sizes


@final
@dataclass(frozen=True, eq=False)
class SummedRows:
    """The noisy sums of one measurement, as patterns over the pair types of a cut.

    A column stands for sums that get the same k: the degrees of a cell, the sums between two
    classes of groups, or the total.

    Attributes:
        patterns: how often the sums of a column count a pair of each type, shape (types, columns).
        values: the noisy sums of each column, added up, in units of weight, shape (columns,).
        entry_sums: the same sums of the noisy entries, shape (columns,).
        law: of the noise of each sum.
        sum_counts: how many sums each column adds up, shape (columns,).
        rounding_loss: by how much each pair may have been rounded down, in units of weight.
        variance_factor: what the variances are multiplied by in the search for the best k. With
            more than 1 the sums are used less.
    """

    patterns: FloatMatrix
    values: FloatVector
    entry_sums: FloatVector
    law: NoiseLaw
    sum_counts: IntVector
    rounding_loss: float
    variance_factor: float = 1.0

    @property
    def variances(self) -> FloatVector:
        """Variance of the noise of each column for k = 1, times the variance factor."""
        return np.asarray(self.sum_counts * self.law.variance * self.variance_factor)

    def columns(self, chosen: BoolVector) -> "SummedRows":
        """Return some of the columns, where a mask of shape (columns,) is true."""
        return replace(
            self,
            patterns=self.patterns[:, chosen],
            values=self.values[chosen],
            entry_sums=self.entry_sums[chosen],
            sum_counts=self.sum_counts[chosen],
        )


def best_combination(
    counts: IntVector,
    query: FloatVector,
    patterns: FloatMatrix,
    variances: FloatVector,
    *,
    entry: float,
) -> tuple[FloatVector, FloatVector]:
    """Return the combination of least variance: q - f of each type, and k of each column.

    It is solved as a ridge regression. Rounding in the solution costs variance, and no bias.

    Args:
        counts: number of pairs of each type, shape (types,).
        query: q, the coefficient of the pairs of each type, shape (types,).
        patterns: h, how often each column counts them, shape (types, columns).
        variances: of the columns, > 0, shape (columns,).
        entry: s^2, the variance of a noisy entry, > 0.
    """
    # V(k) is quadratic. Its derivative is 0 where (h' D h + diag(v)) k = h' D q, with h the
    # patterns and D the diagonal matrix of s^2 times the counts.
    if not len(variances):
        return query, np.empty(0)
    weighted = patterns * (entry * counts)[:, None]
    normal_matrix = patterns.T @ weighted
    normal_matrix[np.diag_indices_from(normal_matrix)] += variances
    # Scaled to a unit diagonal: variances of degrees and totals may differ by many orders.
    scale = 1 / np.sqrt(normal_matrix.diagonal())
    scaled_matrix = normal_matrix * np.outer(scale, scale)
    k = scale * np.linalg.solve(scaled_matrix, scale * (weighted.T @ query))
    return query - patterns @ k, k


def group_classes(groups: CellSums, S: BoolVector, T: BoolVector) -> SideClasses:
    """Return a class for each row and each column, so that sums between groups fit the pair types.

    A cut splits a group if not all of its vertices lie alike to the cut. Groups that it does not
    split are in one class for each way in which they can lie to it (in
    S, in T, in both, in neither): permuting such groups changes nothing but their sizes. Groups
    that it splits have at most 12 classes: one for each of them, or, if there are more, one for
    each of the 11 largest and one for all others. Fewer classes mean that fewer numbers get a k of
    their own, never a bias.

    Returns:
        One array twice for an undirected graph.
    """
    row_groups, column_groups = groups.members
    if groups.tree.symmetric:
        classes = _classes(row_groups, S + 2 * T.astype(np.int64))
        return classes, classes
    row_classes = _classes(row_groups, S.astype(np.int64))
    column_classes = _classes(column_groups, T.astype(np.int64))
    return row_classes, column_classes + int(row_classes.max()) + 1


def _classes(groups: IntVector, codes: IntVector) -> IntVector:
    """Return the class of each vertex, numbered from 0.

    Args:
        groups: group of each vertex.
        codes: 0 to 3 for each vertex, by how it lies to the cut.
    """
    group_count = int(groups.max()) + 1
    # Least and largest code within each group; a group is split if they differ.
    lowest, highest = np.full(group_count, 4), np.full(group_count, -1)
    np.minimum.at(lowest, groups, codes)
    np.maximum.at(highest, groups, codes)
    class_of_group = lowest.copy()  # 0 to 3: the code of all vertices of a group that is not split
    (split,) = np.nonzero(lowest < highest)
    sizes = np.bincount(groups, minlength=group_count)[split]
    by_size = split[np.argsort(-sizes, kind="stable")]
    # Split groups are numbered from 4 on, the largest first; all beyond the 11th share a number.
    class_of_group[by_size] = 4 + np.minimum(np.arange(len(by_size)), _MOST_SPLIT_GROUPS - 1)
    without_gaps: IntVector = np.unique(class_of_group, return_inverse=True)[1].ravel()
    return without_gaps[groups]
