"""The low-rank search: relax, round, improve, prove; until the bounds are close or time is up.

Better cuts from good cuts: one-flip tabu search, and recombination of many cuts at once.

Both change only the witness, never a bound: whatever they return is summed again by the
certificate.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from graphcuts_dp.arrays import BoolMatrix, BoolVector, RealMatrix
from graphcuts_dp.cutnorm.certificate import CutNormCertificate, Stopped, build_certificate
from graphcuts_dp.cutnorm.low_rank import LowRankSolver, full_rank
from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.cutnorm.rounding import CutBatch, best_cuts, improve
from graphcuts_dp.cutnorm.upper_bound import UpperBound, trivial_bound

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


_CHUNK = 5
_MAX_ALTERNATIONS = 300
# Chosen on five residuals of releases: bounds within 0.2 % of those without momentum, twice as many
# hyperplanes and thresholds a third as large, in two thirds of the time; the same on 14 others.
_MOMENTUM = 0.85
_FIRST_RANK = 24
_SLACK_SIGMA = 1.003
_HYPERPLANES = 32
_FEW_HYPERPLANES = 8  # when the time is up
_VECTOR_ENTRIES = 1 << 20
_LARGE = 5000
_POPULATION = 32
_GENERATIONS = 6
_TABU_STEPS = 1000
_NARROW_FROM = 160 * 160
_NARROW_TO = 1 << 25


@final
@dataclass(frozen=True)
class SearchLimits:
    """When to stop.

    Attributes:
        tolerance: enough once upper/lower <= 1 + tolerance.
        deadline: `time.monotonic()` at which to stop searching; infinity for never.
    """

    tolerance: float
    deadline: float

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return math.isfinite(self.deadline) and time.monotonic() >= self.deadline

    def met(self, found: float, upper: float) -> bool:
        """Whether a found value and a bound are close enough."""
        return found > 0 and upper <= (1.0 + self.tolerance) * found


def search_low_rank(
    operand: Operand,
    *,
    bordered: bool,
    limits: SearchLimits,
    seed: int,
    start: LowRankSolver | None = None,
    rank: int | None = None,
) -> CutNormCertificate:
    """Bound the norm from both sides with the low-rank method.

    1. Alternate on unit vectors with momentum (Polyak 1964), in float32 for a dense matrix of
       moderate size, until the value of the relaxation stands still.
    2. Prove the upper bound on the matrix itself; add columns if it (of a large matrix: an estimate
       of sigma_1) says that the relaxation is not solved.
    3. Round by hyperplanes, then tabu search and recombination until nothing improves.

    Args:
        operand: the matrix.
        bordered: cut norm (True) or infinity-to-one norm (False).
        limits: when to stop.
        seed: of the start, the hyperplanes and the searches.
        start: a solver to continue from; its vectors are updated in place.
        rank: columns; None starts with 24 and adds some while the bound asks for it.
    """
    working = _narrow(operand)
    fixed = rank is not None or start is not None
    most = min(full_rank(operand.shape), max(_FIRST_RANK, _VECTOR_ENTRIES // sum(operand.shape)))
    solver = start or LowRankSolver(
        operand.shape, rank or min(most, _FIRST_RANK), working.dtype, seed, bordered=bordered
    )
    rng = np.random.default_rng([seed, 3])
    bound = trivial_bound(operand, bordered=bordered)
    value = _relax(solver, working, limits)
    hyperplanes = _FEW_HYPERPLANES if limits.late else _HYPERPLANES
    batch = solver.round_batch(working, hyperplanes, _POPULATION)
    # Mostly solved: then the proof is all that is needed. A large one costs more than an estimate.
    large = max(operand.shape) > _LARGE
    if not large or limits.met(_value(batch), 1.001 * value):
        bound = _least(bound, solver.upper_bound(operand))
    if not limits.met(_value(batch), bound.value) and bound.value > _SLACK_SIGMA * value:
        while not (fixed or limits.late or solver.rank >= most):
            sigma = solver.sigma_estimate(working)
            if sigma < _SLACK_SIGMA or limits.met(_value(batch), 1.002 * sigma * value):
                break
            solver = solver.resized(min(most, 2 * solver.rank))
            value = _relax(solver, working, limits)
        bound = _least(bound, solver.upper_bound(operand))
    batch = _search_cuts(working, batch, bound, limits, rng, bordered)
    stopped: Stopped = "iterations"
    if limits.met(_value(batch), bound.value):
        stopped = "tolerance"
    elif limits.late:
        stopped = "time"
    return build_certificate(
        operand,
        batch.S[0],
        batch.T[0],
        bound=bound,
        method="low-rank",
        norm="cut" if bordered else "infinity-to-one",
        stopped=stopped,
    )


def _narrow(operand: Operand) -> Operand:
    """A float32 copy to search on, if that is faster; every bound still uses the original."""
    size = operand.shape[0] * operand.shape[1]
    if operand.dtype == np.float32 or operand.kind == "operator":
        return operand
    if operand.kind == "sparse":
        scale = float(np.abs(operand.data.data).max(initial=0.0))
        if size >= _NARROW_FROM and 2.0**-24 < scale < 2.0**24:
            return Operand(operand.data.astype(np.float32))
    elif _NARROW_FROM <= size <= _NARROW_TO:
        scale = float(np.abs(operand.data).max())
        if 2.0**-24 < scale < 2.0**24:
            return Operand(operand.data.astype(np.float32))
    return operand


def _relax(solver: LowRankSolver, working: Operand, limits: SearchLimits) -> float:
    """Alternate until five alternations raise the value by less than 3e-5 of it (1e-4 if large)."""
    enough = 1e-4 if max(working.shape) > _LARGE else 3e-5
    value = solver.step(working, _CHUNK, momentum=_MOMENTUM)
    for _ in range(_MAX_ALTERNATIONS // _CHUNK):
        if limits.late:
            break
        new_value = solver.step(working, _CHUNK, momentum=_MOMENTUM)
        stalled = new_value - value <= enough * abs(new_value)
        value = new_value
        if stalled:
            break
    return value


def _value(batch: CutBatch) -> float:
    return float(np.abs(batch.values[0]))


def _least(first: UpperBound, second: UpperBound) -> UpperBound:
    return second if second.value < first.value or not math.isfinite(first.value) else first


def _search_cuts(
    working: Operand,
    batch: CutBatch,
    bound: UpperBound,
    limits: SearchLimits,
    rng: np.random.Generator,
    bordered: bool,
) -> CutBatch:
    """Tabu search from the two best cuts, then generations while they help."""
    target = bound.value * (1.0 - 1e-6 if working.dtype == np.float32 else 1.0)

    def enough() -> bool:
        return limits.met(_value(batch), target) or limits.late

    steps = min(_TABU_STEPS, 40 * sum(working.shape))
    for _ in range(_GENERATIONS):
        before = _value(batch)
        if working.kind != "operator":
            for index in range(min(2, batch.values.size)):
                if enough():
                    return batch
                columns = tabu_search(
                    working,
                    batch.S[index],
                    batch.T[index],
                    steps=steps,
                    rng=rng,
                    bordered=bordered,
                    deadline=limits.deadline,
                )
                batch = merge(batch, improve(working, columns, bordered=bordered), _POPULATION)
        if enough():
            return batch
        batch = recombine(working, batch, children=_POPULATION, rng=rng, bordered=bordered)
        if _value(batch) <= before * (1.0 + 1e-3):
            break
    return batch
