"""Cuts with large sums: rounding of vectors, alternating improvement, tabu search, recombination.

The matrix A has n1 rows and n2 columns; an `Operand` holds it dense, sparse or as an "operator",
which has products but no entries to look at. Terms used here:

- *cut*: a pair of a set of rows S and a set of columns T. Its value is A(S, T), the sum of a_ij
  over i in S and j in T. For the infinity-to-one norm the sets say which signs x_i, y_j are +1,
  and the value is x^T A y. Both norms are the largest absolute value of a cut.
- *mask*: the booleans of a set. Products with A take one cut a column, so `improve` takes T of
  shape (n2, count). A `CutBatch` has one cut a row: its T has shape (count, n2).
- `bordered`: an argument, True for the cut norm and False for the infinity-to-one norm.
- *bordered matrix* A': A with one more row and column, the *border*, which come first (index 0) and
  make all rows and columns sum to zero. Signs x, y of the rows and columns of A' mean the cut
  S = {i: x_i != x_0}, T = {j: y_j != y_0}, and x^T A' y = 4 x_0 y_0 A(S, T). So the cut norm of A
  is a quarter of the infinity-to-one norm of A'. Here only `round_hyperplanes` meets the border.

Nothing here proves anything: values are plain floating-point sums (float32 products if A is
float32), and a certificate sums its cut again. What callers rely on is that S, T and values of a
cut belong together, and that a seed gives the same cuts: the order of random draws must not change.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolMatrix, BoolVector, RealMatrix
from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.resources import NEVER, Deadline

_MAX_ALTERNATIONS = 60  # of S and T in `improve`; nearly all cuts stop after ten
_IMPROVEMENT = 1e-6  # least relative gain of an alternation, so that rounding causes no cycle
# The same for dense matrices with more than so many entries, whose products are slow: alternations
# with smaller gains would be four in five, and would raise the best cut of noise by 0.1 %.
_LARGE_IMPROVEMENT = 1e-4
_LARGE_ENTRIES = 1 << 22
# Entries up to which tabu search copies the transpose of a dense matrix (128 MiB), so that columns
# are contiguous in memory.
_COPY_ENTRIES = 1 << 24
_TABU_IMPROVEMENT = 1e-7  # least relative gain for a new best cut of a tabu search
_TABU_TENURE = 20  # least number of steps for which a flipped row or column stays as it is
_STEPS_PER_CLOCK = 512  # steps of a tabu search between two looks at the clock
_MUTATION = 0.01  # chance that `recombine` flips a column
_MIN_POPULATION = 8  # cuts to which `recombine` lets a smaller batch grow

# A function of a row (or column) number. It returns the column (or row) numbers of its stored
# entries, as an index for numpy, and these entries.
EntriesOf = Callable[[int], tuple[Any, RealMatrix]]


@final
@dataclass(frozen=True, eq=False)
class CutBatch:
    """Several cuts with their values.

    `best_cuts`, and all functions that end with it (`round_hyperplanes`, `merge`, `recombine`),
    return distinct cuts, the best first. `improve` keeps the order of its argument, and may return
    a cut twice.

    Attributes:
        S: masks of rows, shape (count, n1).
        T: masks of columns, shape (count, n2).
        values: A(S, T) with its sign (x^T A y for the infinity-to-one norm), shape (count,);
            plain floating-point, not a proven bound.
    """

    S: BoolMatrix
    T: BoolMatrix
    values: npt.NDArray[np.float64]

    @property
    def first_value(self) -> float:
        """Absolute value of the first cut. It is the largest, except after `improve`."""
        return float(np.abs(self.values[0]))


def round_hyperplanes(
    operand: Operand,
    V: RealMatrix,
    hyperplanes: int,
    count: int,
    rng: np.random.Generator,
    *,
    bordered: bool,
) -> CutBatch:
    """Return the best cuts from random hyperplanes, each improved by alternation.

    A column's sign is the side of the hyperplane on which its vector lies. If bordered, columns
    whose sign differs from that of the border are in T. Vectors of rows are not needed, as the
    alternation begins with the best S for T.

    Args:
        operand: the matrix, shape (n1, n2).
        V: unit vectors of the columns: of A', shape (n2 + 1, rank), border first, if bordered; else
            of A, shape (n2, rank).
        hyperplanes: number of random directions.
        count: number of distinct cuts to return at most.
        rng: draws the directions.
        bordered: cut norm (True) or infinity-to-one norm (False).

    Source: AN06 (Alon, Naor 2006).
    """
    directions = rng.standard_normal((V.shape[1], max(1, hyperplanes)), dtype=V.dtype)
    signs = V @ directions >= 0  # (n2 + 1 or n2, hyperplanes); True for +1
    T = signs[1:] != signs[0] if bordered else signs
    return best_cuts(improve(operand, T, bordered=bordered), count)


def improve(operand: Operand, T: BoolMatrix, *, bordered: bool) -> CutBatch:
    """Alternate S <- best for T, T <- best for S, on a batch of cuts, until none improves.

    The row sums of T are A 1_T. For a fixed T the best S holds either all rows with positive sum
    or all with negative sum, whichever total is larger in absolute value. For the infinity-to-one
    norm T stands for signs y, and the best x has the signs of A y.

    Args:
        operand: the matrix, shape (n1, n2).
        T: masks of columns, one cut a column, shape (n2, count).
        bordered: cut norm (True) or infinity-to-one norm (False).

    Returns:
        The improved cuts in the same order, one a row as in every batch.
    """
    T = T.copy()
    S = np.zeros((operand.shape[0], T.shape[1]), dtype=np.bool_)
    values = np.zeros(T.shape[1])
    # Numbers of the cuts that improved in the last alternation. Others stay as they are from then
    # on, and only active ones cost products. At first all are active.
    active = np.arange(T.shape[1])
    is_large = operand.kind == "dense" and math.prod(operand.shape) > _LARGE_ENTRIES
    least_gain = _LARGE_IMPROVEMENT if is_large else _IMPROVEMENT
    for _ in range(_MAX_ALTERNATIONS):
        # These arrays have one column for each active cut.
        indicator = _indicator(T[:, active], operand.dtype, bordered)
        new_S, _ = _best_side(operand.apply(indicator), bordered)
        indicator = _indicator(new_S, operand.dtype, bordered)
        new_T, new_values = _best_side(operand.apply(indicator, transpose=True), bordered)
        better = np.abs(new_values) > np.abs(values[active]) * (1.0 + least_gain)
        active = active[better]
        S[:, active], T[:, active] = new_S[:, better], new_T[:, better]
        values[active] = new_values[better]
        if active.size == 0:
            break
    return CutBatch(S.T, T.T, values)


def _indicator(mask: BoolMatrix, dtype: np.dtype[Any], bordered: bool) -> RealMatrix:
    """Return masks as 0 and 1, or as signs -1 and 1 if not bordered."""
    indicator: RealMatrix = mask.astype(dtype)
    if not bordered:
        indicator *= 2
        indicator -= 1
    return indicator


def _best_side(sums: RealMatrix, bordered: bool) -> tuple[BoolMatrix, npt.NDArray[np.float64]]:
    """Return for each cut the best mask of one side, and the value that it gives.

    Args:
        sums: shape (n, count): what each of n rows (or columns) adds to the value of each cut.
        bordered: cut norm (True) or infinity-to-one norm (False).

    Returns:
        Masks, shape (n, count), and values with their signs, shape (count,).
    """
    sums = np.asarray(sums)
    if not bordered:
        return sums >= 0, np.abs(sums).sum(axis=0, dtype=np.float64)
    positive = np.maximum(sums, 0).sum(axis=0, dtype=np.float64)
    # total = positive - negative, where `negative` is the absolute sum of the negative entries.
    total = sums.sum(axis=0, dtype=np.float64)
    negative = positive - total
    takes_positive = positive >= negative
    mask = np.where(takes_positive, sums > 0, sums < 0)
    return mask, np.where(takes_positive, positive, -negative)


def best_cuts(batch: CutBatch, count: int) -> CutBatch:
    """Return the `count` best distinct cuts of a batch, by absolute value, the best first.

    Of equal values the earlier cut comes first. Cuts are the same if both masks are equal; a cut
    and its complement are different ones.

    Args:
        batch: cuts in any order, at least one.
        count: number of cuts to return at most, at least 1.
    """
    order = np.argsort(-np.abs(batch.values), kind="stable")
    packed = [np.packbits(masks, axis=1) for masks in (batch.S, batch.T)]
    keys = np.concatenate(packed, axis=1)  # (count of the batch, width): the masks' bits as bytes
    width, key_bytes = keys.shape[1], keys.tobytes()  # one copy, faster than one for each cut
    chosen: list[int] = []
    chosen_keys: set[bytes] = set()
    for index in order.tolist():
        key = key_bytes[index * width : (index + 1) * width]
        if key not in chosen_keys:
            chosen_keys.add(key)
            chosen.append(index)
        if len(chosen) >= count:
            break
    return CutBatch(
        np.ascontiguousarray(batch.S[chosen]),
        np.ascontiguousarray(batch.T[chosen]),
        batch.values[chosen],
    )


def merge(first: CutBatch, second: CutBatch, count: int) -> CutBatch:
    """Return the `count` best distinct cuts of two batches, the best first."""
    both = CutBatch(
        np.concatenate((first.S, second.S)),
        np.concatenate((first.T, second.T)),
        np.concatenate((first.values, second.values)),
    )
    return best_cuts(both, count)


def tabu_search(
    operand: Operand,
    S: BoolVector,
    T: BoolVector,
    *,
    steps: int,
    rng: np.random.Generator,
    bordered: bool,
    deadline: Deadline = NEVER,
) -> BoolMatrix:
    """Walk by single flips of rows and columns, each the best one not flipped lately.

    A flip takes a row or column into its set or out of it. It may lower the value, so the walk
    leaves local optima. A flipped row or column *rests* (it is not flipped) for the next 20 to 39
    steps, or fewer in a small matrix. Row i adds its *row sum* over the present T to the value, and
    column j its *column sum* over the present S. These sums are updated by each flip, so that a
    step costs O(n1 + n2).

    Args:
        operand: the matrix, dense or sparse; an operator has no rows to look at.
        S: mask of rows to start from.
        T: mask of columns to start from.
        steps: number of steps; a step flips one row or column, or none if all rest.
        rng: draws how long rows and columns rest.
        bordered: cut norm (True) or infinity-to-one norm (False).
        deadline: when to stop.

    Returns:
        The column set of the best cut on the way, shape (n2, 1), for `improve`, which finds its
        rows and its value. (The value that the walk tracks has the rounding of all steps.)
    """
    n1, n2 = operand.shape
    row_entries, column_entries = _entries_of_rows_and_columns(operand)
    # x, y: indicators 0 and 1, or signs if not bordered; the value of the cut is x^T A y.
    x: RealMatrix = S.astype(operand.dtype)
    y: RealMatrix = T.astype(operand.dtype)
    if not bordered:
        x, y = 2 * x - 1, 2 * y - 1
    row_sums = operand.apply(y[:, None]).ravel()
    column_sums = operand.apply(x[:, None], transpose=True).ravel()
    value = float(x @ row_sums)
    # The walk maximises. If the cut to start from is negative, it walks on -A: all sums, and all
    # entries that update them, are multiplied by `sign`.
    sign = 1 if value >= 0 else -1
    value = abs(value)
    # Rows and columns are numbered together below: row i is i, column j is n1 + j.
    sums = np.concatenate((row_sums, column_sums)) * sign
    row_sums, column_sums = sums[:n1], sums[n1:]  # views: their updates change `sums`

    # flips[k]: the change of entry k of (x, y) if it is flipped. Indicators change by +1 or -1,
    # signs by +2 or -2. It is negative just where the mask is true now, so it also stores the cut.
    # Flipping k changes the value by flips[k] * sums[k], its gain.
    largest_flip = 1 if bordered else 2
    flips: RealMatrix = np.concatenate((S, T)).astype(operand.dtype)
    flips = flips * (-2 * largest_flip) + largest_flip
    best_value, best_flips = value, flips.copy()
    resting_until = np.zeros(n1 + n2, dtype=np.int64)  # first step at which k may flip again
    tenure = max(1, min(_TABU_TENURE, (n1 + n2) // 4))
    tenures = tenure + rng.integers(0, tenure, steps)  # number of steps of rest, by step
    gains = np.empty_like(sums)
    for step in range(steps):
        np.multiply(flips, sums, out=gains)
        gains[resting_until > step] = -np.inf
        index = int(gains.argmax())
        gain = float(gains[index])
        if not math.isfinite(gain):  # all rows and columns rest
            continue
        # Flipping a row changes all column sums, but no row sum; flipping a column the converse.
        if index < n1:
            columns, entries = row_entries(index)
            column_sums[columns] += (sign * flips[index]) * entries
        else:
            rows, entries = column_entries(index - n1)
            row_sums[rows] += (sign * flips[index]) * entries
        flips[index] = -flips[index]
        resting_until[index] = step + 1 + tenures[step]
        value += gain
        if value > best_value * (1.0 + _TABU_IMPROVEMENT):
            best_value = value
            best_flips[:] = flips
        if step % _STEPS_PER_CLOCK == 0 and deadline.passed():
            break
    return np.less(best_flips[n1:], 0.0)[:, None]  # negative where column j is in T


def _entries_of_rows_and_columns(operand: Operand) -> tuple[EntriesOf, EntriesOf]:
    """Return two functions: one gives the stored entries of row i, the other those of column j.

    For a dense matrix the first part of their results is a slice of all numbers.
    """
    if operand.kind == "dense":
        matrix = operand.data
        is_small = matrix.size <= _COPY_ENTRIES
        transposed = np.ascontiguousarray(matrix.T) if is_small else matrix.T
        everything = slice(None)
        return (lambda i: (everything, matrix[i])), (lambda j: (everything, transposed[j]))

    def entries_of_rows(csr: Any) -> EntriesOf:
        def entries_of_row(row: int) -> tuple[Any, RealMatrix]:
            stored = slice(csr.indptr[row], csr.indptr[row + 1])
            return csr.indices[stored], csr.data[stored]

        return entries_of_row

    return entries_of_rows(operand.data), entries_of_rows(operand.transposed_data)


def recombine(
    operand: Operand,
    population: CutBatch,
    *,
    children: int,
    rng: np.random.Generator,
    bordered: bool,
) -> CutBatch:
    """Mix the column sets of random pairs of cuts, flip a few columns, improve, and keep the best.

    A new cut takes each column's membership in T from one of its two parents, at random.

    Args:
        operand: the matrix.
        population: distinct cuts, the best first.
        children: number of new cuts; all are improved in one batch of products.
        rng: draws the pairs, the mixture and the flips, in this order.
        bordered: cut norm (True) or infinity-to-one norm (False).

    Returns:
        The best of old and new cuts, so the best old one is lost only to better ones: as many as
        `population` has, or up to 8 if it has fewer.
    """
    T = population.T  # (cuts, n2)
    first = rng.integers(0, T.shape[0], children)  # numbers of the parents
    second = rng.integers(0, T.shape[0], children)
    mixed = np.where(rng.random((children, T.shape[1])) < 0.5, T[first], T[second])
    mixed ^= rng.random(mixed.shape) < _MUTATION
    offspring = improve(operand, np.ascontiguousarray(mixed.T), bordered=bordered)
    return merge(population, offspring, max(population.S.shape[0], _MIN_POPULATION))
