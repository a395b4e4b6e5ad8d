"""Turn a table between groups into an estimate: spread each cell evenly over its pairs."""

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatMatrix, IntVector
from scripts.benchmark.base import Answers

_DENSE_ENTRIES = 5_000**2  # above, cuts are answered from the table


def spread_evenly(
    density: FloatMatrix, rows: IntVector, columns: IntVector, *, hollow: bool
) -> FloatMatrix | Answers:
    """Return the matrix with the same entry for all pairs of a cell, or its cuts if it is large.

    Args:
        density: weight of a pair of group a of the rows and group b of the columns, shape
            (groups, groups of the columns).
        rows: code of the group of each row, shape (n,).
        columns: of each column, shape (n,) or (n_right,).
        hollow: whether the diagonal holds no pair.

    Returns:
        The matrix, up to 25 million entries; else a function of two masks, which takes time linear
        in n. Edges inside both sets of an undirected graph are counted twice by that function:
        ask for disjoint ones.
    """
    if len(rows) * len(columns) <= _DENSE_ENTRIES:
        matrix: FloatMatrix = density[rows][:, columns]
        if hollow:
            np.fill_diagonal(matrix, 0.0)
        return matrix

    def answer(S: BoolVector, T: BoolVector) -> float:
        left = np.bincount(rows[S], minlength=density.shape[0])
        right = np.bincount(columns[T], minlength=density.shape[1])
        weight = float(left @ density @ right)
        if hollow:
            both = np.bincount(rows[S & T], minlength=density.shape[0])
            weight -= float(both @ density.diagonal())
        return weight

    return answer
