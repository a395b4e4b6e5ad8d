"""Shifts of rows and columns that keep the degrees of a clipped matrix.

Searches need a first point x in the *box*, the matrices with entries in [0, cap]. Clipping the
noisy matrix z to the box moves cuts by order n^2, since noise below 0 is cut off. The start here is
x = clip(z + a_i + b_j), with a shift a_i for each row and b_j for each column such that the row and
column sums of x are near those of z.

An entry of x is *free* if it lies inside the box, so that a small shift moves it. The *margins* of
a matrix are its row sums, its column sums, and the numbers of free entries in each row and column.

z is kept in blocks of rows (`Blocks`, `RowBlock`). `Blocks.map` lists a function's results for all
blocks, and `Blocks.gather` stacks them to a matrix. `RowBlock.estimate` returns the entries of z as
a new array. A *chunk* is a part of a block that is small enough for the processor's cache.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatVector, RealMatrix
from graphcuts_dp.estimate.blocks import RowBlock
from graphcuts_dp.synth.base import FitProblem

_CHUNK_ENTRIES = 1 << 16  # entries of a chunk
_SWEEPS = 15  # updates of all shifts
_DAMPING = 0.7  # factor of a step; with full steps shifts oscillate
_LEAST_FREE_SHARE = 0.05  # see `_step`


def degree_matched_start(problem: FitProblem) -> RealMatrix:
    """Return x = clip(z + a_i + b_j), whose row and column sums are near those of z; dense."""
    row_shifts, column_shifts = degree_matched_shifts(problem)
    return problem.blocks.gather(
        shifted,
        row_shifts,
        column_shifts,
        problem.cap,
        np.float64,
        width=problem.shape[1],
        dtype=np.float64,
    )


def degree_matched_shifts(problem: FitProblem) -> tuple[FloatVector, FloatVector]:
    """Return the shifts a, shape (rows,), and b, shape (columns,), of `degree_matched_start`."""
    # Without shifts, `_all_margins` has the sums of z itself, not of its clipped entries.
    row_targets, column_targets, *_ = _all_margins(problem, None, None)
    row_shifts, column_shifts = np.zeros(problem.shape[0]), np.zeros(problem.shape[1])
    for _ in range(_SWEEPS):
        row_sums, column_sums, free_in_rows, free_in_columns = _all_margins(
            problem, row_shifts, column_shifts
        )
        row_shifts = row_shifts + _step(row_targets - row_sums, free_in_rows)
        if problem.symmetric:
            column_shifts = row_shifts  # the same numbers: x stays symmetric to the last bit
        else:
            column_shifts = column_shifts + _step(column_targets - column_sums, free_in_columns)
    return row_shifts, column_shifts


def _step(missing: FloatVector, free: FloatVector) -> FloatVector:
    """Return by how much to shift each line (row, or column) whose sum lacks `missing`.

    A shift of a line by d moves its sum by d times the number of its free entries. Half of what is
    missing is enough, since the shifts of the other lines move the same entries.

    So that no step is huge, lines with few free entries count as having a least number of them.
    This least number is a share of the number of lines (of rows, for row shifts), and not of the
    number of entries of a line, as one would expect. Both are the same in a square matrix. In a
    bipartite graph they differ, which makes some steps larger or smaller. Recorded results depend
    on it.

    Args:
        missing: wanted sum less present sum of each line, shape (lines,).
        free: number of free entries of each line, shape (lines,).
    """
    least_free = _LEAST_FREE_SHARE * len(missing)
    return _DAMPING * (missing / np.maximum(free, least_free) / 2)


def shifted(
    block: RowBlock,
    row_shifts: FloatVector,
    column_shifts: FloatVector,
    cap: float,
    dtype: npt.DTypeLike = np.float32,
) -> RealMatrix:
    """Return clip(z + a_i + b_j) for the rows of a block, a new array.

    The diagonal is zero if rows and columns are the same vertices.

    Args:
        block: rows of z.
        row_shifts: a, of all rows of the matrix.
        column_shifts: b, of all columns.
        cap: upper side of the box; it may be infinite.
        dtype: of the result.
    """
    x = block.estimate(dtype)  # a new array, so it can be changed
    x += np.add(row_shifts[block.start : block.stop, None], column_shifts, dtype=dtype)
    np.maximum(x, x.dtype.type(0), out=x)
    np.minimum(x, x.dtype.type(cap), out=x)
    return block.clear_diagonal(x)


def _all_margins(
    problem: FitProblem, row_shifts: FloatVector | None, column_shifts: FloatVector | None
) -> list[FloatVector]:
    """Return row sums, column sums, free entries in each row, and free entries in each column.

    They are those of `_margins`, for all blocks together. For a symmetric matrix the two of the
    columns are not computed and are zeros: they would equal those of the rows.
    """
    blocks = problem.blocks.map(_margins, row_shifts, column_shifts, problem.cap)
    row_sums, column_sums, free_in_rows, free_in_columns = zip(*blocks, strict=True)
    return [
        np.concatenate(row_sums),
        np.sum(column_sums, axis=0),
        np.concatenate(free_in_rows),
        np.sum(free_in_columns, axis=0),
    ]


def _margins(
    block: RowBlock,
    row_shifts: FloatVector | None,
    column_shifts: FloatVector | None,
    cap: float,
) -> list[FloatVector]:
    """Return the margins of a block of clip(z + a_i + b_j), in the order of `_all_margins`.

    Those of columns are sums over the rows of this block alone. With None for the shifts, they are
    the margins of z itself, of which no entry counts as free.
    """
    height, width = block.shape
    row_sums, column_sums = np.zeros(height), np.zeros(width)
    free_in_rows, free_in_columns = np.zeros(height), np.zeros(width)
    for chunk, rows in chunks(block, _CHUNK_ENTRIES):
        if row_shifts is None or column_shifts is None:
            x = chunk.estimate()
        else:
            x = shifted(chunk, row_shifts, column_shifts, cap)
            free = (x > 0) & (x < cap)
            free_in_rows[rows] = np.count_nonzero(free, axis=1)
            if not block.layout.symmetric:
                free_in_columns += np.count_nonzero(free, axis=0)
        row_sums[rows] = x.sum(axis=1)
        if not block.layout.symmetric:
            column_sums += x.sum(axis=0)
    return [row_sums, column_sums, free_in_rows, free_in_columns]


def chunks(block: RowBlock, entries: int) -> Iterator[tuple[RowBlock, slice]]:
    """Iterate over a block, at most so many entries at a time.

    Yields:
        Some rows as a block, and the slice of the rows of the whole block that they are.
    """
    for chunk in block.parts(entries):
        yield chunk, slice(chunk.start - block.start, chunk.stop - block.start)
