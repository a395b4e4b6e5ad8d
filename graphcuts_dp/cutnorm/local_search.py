"""Better cuts from good cuts: one-flip tabu search, and recombination of many cuts at once.

Both change only the witness, never a bound: whatever they return is summed again by the
certificate.
"""

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from graphcuts_dp.arrays import BoolMatrix, BoolVector, RealMatrix
from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.cutnorm.rounding import CutBatch, best_cuts, improve

_COPY_TRANSPOSE_ENTRIES = 1 << 24
_CLOCK_STEPS = 512


def tabu_search(
    operand: Operand,
    S: BoolVector,
    T: BoolVector,
    *,
    steps: int,
    rng: np.random.Generator,
    bordered: bool,
    tenure: int = 20,
    deadline: float = math.inf,
) -> BoolMatrix:
    """Walk by single flips of rows and columns, each the best one not flipped lately.

    Keeps the row sums of the present T and the column sums of the present S, so a step costs
    O(n1 + n2). A flip may lose value, and so the walk leaves local optima.

    Args:
        operand: the matrix, dense or sparse; an operator has no rows to look at.
        S: mask of rows to start from.
        T: mask of columns to start from.
        steps: flips to make.
        rng: of the tenures.
        bordered: cut norm (True) or infinity-to-one norm (False).
        tenure: a flipped row or column rests for `tenure` to 2 * `tenure` steps.
        deadline: `time.monotonic()` at which to stop.

    Returns:
        The columns of the best pair that was seen, shape (n2, 1), as `improve` takes them.
    """
    n1, n2 = operand.shape
    row, column = _slices(operand)
    unit = 1 if bordered else 2
    x: RealMatrix = S.astype(operand.dtype)
    y: RealMatrix = T.astype(operand.dtype)
    if not bordered:
        x, y = 2 * x - 1, 2 * y - 1
    sums = np.concatenate(
        (operand.apply(y[:, None]).ravel(), operand.apply_transpose(x[:, None]).ravel())
    )
    value = float(x @ sums[:n1])
    sign = 1 if value >= 0 else -1
    sums, value = sums * sign, abs(value)
    row_sums, column_sums = sums[:n1], sums[n1:]
    step: RealMatrix = np.concatenate((S, T)).astype(operand.dtype)
    step = step * (-2 * unit) + unit
    best, best_step = value, step.copy()
    rests = np.zeros(n1 + n2, dtype=np.int64)
    tenure = max(1, min(tenure, (n1 + n2) // 4))
    tenures = tenure + rng.integers(0, tenure, steps)
    gains = np.empty_like(sums)
    for now in range(steps):
        np.multiply(step, sums, out=gains)
        gains[rests > now] = -np.inf
        index = int(gains.argmax())
        gain = float(gains[index])
        if not math.isfinite(gain):
            continue
        if index < n1:
            where, entries = row(index)
            column_sums[where] += (sign * step[index]) * entries
        else:
            where, entries = column(index - n1)
            row_sums[where] += (sign * step[index]) * entries
        step[index] = -step[index]
        rests[index] = now + 1 + tenures[now]
        value += gain
        if value > best * (1.0 + 1e-7):
            best = value
            best_step[:] = step
        if now % _CLOCK_STEPS == 0 and time.monotonic() > deadline:
            break
    return np.less(best_step[n1:], 0.0)[:, None]


Slices = Callable[[int], tuple[Any, RealMatrix]]


def _slices(operand: Operand) -> tuple[Slices, Slices]:
    """Functions that give row i and column j as (where, entries)."""
    if operand.kind == "dense":
        matrix = operand.data
        copied = matrix.size <= _COPY_TRANSPOSE_ENTRIES
        transposed = np.ascontiguousarray(matrix.T) if copied else matrix.T
        whole = slice(None)
        return (lambda i: (whole, matrix[i])), (lambda j: (whole, transposed[j]))

    def of(csr: Any) -> Slices:
        def at(i: int) -> tuple[Any, RealMatrix]:
            where = slice(csr.indptr[i], csr.indptr[i + 1])
            return csr.indices[where], csr.data[where]

        return at

    return of(operand.data), of(operand.T.data)


def recombine(
    operand: Operand,
    population: CutBatch,
    *,
    children: int,
    rng: np.random.Generator,
    bordered: bool,
    mutation: float = 0.01,
) -> CutBatch:
    """One generation: mix the columns of random pairs, flip a few, alternate, keep the best.

    Args:
        operand: the matrix.
        population: distinct cuts, best first.
        children: how many new cuts to try, in one batch of products.
        rng: of the mixing.
        bordered: cut norm (True) or infinity-to-one norm (False).
        mutation: chance of a flip for each column.

    Returns:
        As many cuts as `population` has, or more if there was room; the best is never lost.
    """
    T = population.T
    first = rng.integers(0, T.shape[0], children)
    second = rng.integers(0, T.shape[0], children)
    mixed = np.where(rng.random((children, T.shape[1])) < 0.5, T[first], T[second])
    mixed ^= rng.random(mixed.shape) < mutation
    offspring = improve(operand, np.ascontiguousarray(mixed.T), bordered=bordered)
    return merge(population, offspring, max(population.S.shape[0], 8))


def merge(first: CutBatch, second: CutBatch, count: int) -> CutBatch:
    """The `count` best distinct cuts of two batches."""
    return best_cuts(
        CutBatch(
            np.concatenate((first.S, second.S)),
            np.concatenate((first.T, second.T)),
            np.concatenate((first.values, second.values)),
        ),
        count,
    )
