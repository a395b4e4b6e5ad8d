"""The low-rank method: unit vectors by alternation, sets from them, and a search for better ones.

**Alternation**, never forming the border. The semidefinite relaxation of ||A'||_{inf->1} gives each
row i of A' a unit vector u_i and each column j a unit vector v_j, and maximises sum_ij a'_ij <u_i,
v_j>. For fixed V the best U is u_i = (A'V)_i / ||(A'V)_i||, and the other way round, so each half
step can only raise the value.

The border is implicit. With index 0 for it, A' = L A R^T for L = [-1^T; I] and R = [-1^T; I]:

    A'V = L (A (V[1:] - V[0])),        A'^T U = R (A^T (U[1:] - U[0])),

where L W puts minus the column sums of W on top of W. One alternation costs two products of A
with k columns, and no n1 x n2 temporary.

Source: AN06 (Alon, Naor 2006) for the relaxation; GRU12 Lemma 6.2 for its use.

**From vectors to sets** by random hyperplanes, alternating improvement, tabu search and
recombination: all of it works on signs x, y of the rows and columns of A' (or of A, for the
infinity-to-one norm). With border signs x_0, y_0 the cut is S = {i: x_i != x_0}, T = {j: y_j !=
y_0}, and x^T A' y = 4 x_0 y_0 A(S, T).

Source: AN06 for hyperplanes.

**The search** (`search_low_rank`) relaxes, rounds, improves and proves until the bounds are close
or time is up. Tabu search and recombination change only the witness, never a bound: whatever they
return is summed again by the certificate.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolMatrix, BoolVector, RealMatrix
from graphcuts_dp.cutnorm.certificate import (
    FoundSets,
    Stopped,
    UpperBound,
    scaling_bound,
    sigma_estimate,
    trivial_bound,
)
from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.resources import NEVER, Deadline

MAX_ALTERNATIONS = 60


@final
@dataclass(frozen=True, eq=False)
class CutBatch:
    """Distinct cuts, largest absolute value first.

    Attributes:
        S: masks of rows, shape (count, n1).
        T: masks of columns, shape (count, n2).
        values: A(S, T) with its sign (x^T A y for the infinity-to-one norm), shape (count,);
            plain floating-point, not a proven bound.
    """

    S: BoolMatrix
    T: BoolMatrix
    values: npt.NDArray[np.float64]


def round_hyperplanes(
    operand: Operand,
    V: RealMatrix,
    hyperplanes: int,
    count: int,
    rng: np.random.Generator,
    *,
    bordered: bool,
) -> CutBatch:
    """Cut the vectors by random hyperplanes and improve every cut by alternation.

    Args:
        operand: the matrix, (n1, n2).
        V: unit vectors of the columns, border first if bordered.
        hyperplanes: how many random directions.
        count: how many distinct cuts to keep.
        rng: where the directions come from.
        bordered: cut norm (True) or infinity-to-one norm (False).
    """
    directions = rng.standard_normal((V.shape[1], max(1, hyperplanes)), dtype=V.dtype)
    side = V @ directions >= 0
    T = side[1:] != side[0] if bordered else side
    return best_cuts(improve(operand, T, bordered=bordered), count)


def improve(operand: Operand, T: BoolMatrix, *, bordered: bool) -> CutBatch:
    """Alternate S <- best for T, T <- best for S, on a batch of cuts, until none improves.

    For a fixed T the best S holds either all rows with positive sum or all with negative sum,
    whichever total is larger; for the infinity-to-one norm it is the sign of the row sums.

    Args:
        operand: the matrix, (n1, n2).
        T: masks of columns, one cut a column, shape (n2, b).
        bordered: cut norm (True) or infinity-to-one norm (False).
    """
    T = T.copy()
    S = np.zeros((operand.shape[0], T.shape[1]), dtype=np.bool_)
    values = np.zeros(T.shape[1])
    active = np.arange(T.shape[1])
    for _ in range(MAX_ALTERNATIONS):
        indicator = _indicator(T[:, active], operand.dtype, bordered)
        new_S, _ = _best_side(operand.apply(indicator), bordered)
        indicator = _indicator(new_S, operand.dtype, bordered)
        new_T, new_values = _best_side(operand.apply(indicator, transpose=True), bordered)
        better = np.abs(new_values) > np.abs(values[active]) * (1.0 + 1e-6)
        changed = active[better]
        S[:, changed], T[:, changed] = new_S[:, better], new_T[:, better]
        values[changed] = new_values[better]
        active = changed
        if active.size == 0:
            break
    return CutBatch(S.T, T.T, values)


def _indicator(mask: BoolMatrix, dtype: np.dtype[Any], bordered: bool) -> RealMatrix:
    indicator: RealMatrix = mask.astype(dtype)
    if not bordered:
        indicator *= 2
        indicator -= 1
    return indicator


def _best_side(sums: RealMatrix, bordered: bool) -> tuple[BoolMatrix, npt.NDArray[np.float64]]:
    """The best mask for given sums, columnwise, and the signed values."""
    sums = np.asarray(sums)
    if not bordered:
        return sums >= 0, np.abs(sums).sum(axis=0, dtype=np.float64)
    positive = np.maximum(sums, 0).sum(axis=0, dtype=np.float64)
    negative = positive - sums.sum(axis=0, dtype=np.float64)
    upward = positive >= negative
    mask = np.where(upward, sums > 0, sums < 0)
    return mask, np.where(upward, positive, -negative)


def best_cuts(batch: CutBatch, count: int) -> CutBatch:
    """The `count` best distinct cuts of a batch.

    Args:
        batch: cuts in any order.
        count: how many to keep, at least 1.
    """
    order = np.argsort(-np.abs(batch.values), kind="stable")
    packed = [np.packbits(sides, axis=1) for sides in (batch.S, batch.T)]
    keys = np.concatenate(packed, axis=1)
    width, bits = keys.shape[1], keys.tobytes()
    chosen: list[int] = []
    seen: set[bytes] = set()
    for index in order.tolist():
        key = bits[index * width : (index + 1) * width]
        if key not in seen:
            seen.add(key)
            chosen.append(index)
        if len(chosen) >= count:
            break
    return CutBatch(
        np.ascontiguousarray(batch.S[chosen]),
        np.ascontiguousarray(batch.T[chosen]),
        batch.values[chosen],
    )


_TINY = {np.dtype(kind): np.finfo(kind).tiny for kind in (np.float32, np.float64)}


def full_rank(shape: tuple[int, int]) -> int:
    """Columns with which the factored problem has no spurious local optimum: about sqrt(4(n+1)).

    The relaxation has n1 + n2 + 2 constraints, so an optimum of rank r with
    r (r + 1) / 2 <= n1 + n2 + 2 exists (Barvinok 1995, Pataki 1998).
    """
    return math.ceil(math.sqrt(2.0 * (shape[0] + shape[1] + 2))) + 1


def row_norms(block: RealMatrix) -> RealMatrix:
    """Euclidean norms of the rows, shape (n,)."""
    norms: RealMatrix = np.sqrt(np.einsum("ij,ij->i", block, block))
    return norms


@final
class LowRankSolver:
    """Unit vectors for the rows and columns of A', kept between calls: a warm start.

    The matrix is an argument of every method, so that it may change between steps, as the residual
    x - z of a fit does. Index 0 of U and V is the border.

    Args:
        shape: (n1, n2) of the matrix, without the border.
        rank: number of columns k >= 1 of U and V; None takes `full_rank`, about 32 is enough
            inside an outer loop.
        dtype: float32 or float64, of U and V; best equal to that of the matrix.
        seed: of the random start and of the hyperplanes. This is not privacy noise.
        bordered: True for the cut norm, False for the infinity-to-one norm (no border).

    Attributes:
        U: shape (n1 + 1, k), unit rows (n1 without the border).
        V: shape (n2 + 1, k), unit rows (n2 without the border).
        weights_U: norms of the rows of A'V at the last step, shape of U's rows.
        weights_V: norms of the rows of A'^T U at the last step.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        rank: int | None = None,
        dtype: npt.DTypeLike = np.float64,
        seed: int = 0,
        *,
        bordered: bool = True,
    ) -> None:
        if rank is not None and rank < 1:
            raise ParameterError(f"rank must be at least 1, not {rank}")
        self.shape = shape
        self.rank = full_rank(shape) if rank is None else rank
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        if self.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise ParameterError(f"dtype must be float32 or float64, not {self.dtype}")
        self.seed = seed
        self.bordered = bordered
        self._rng = np.random.default_rng([seed, 1])
        border = int(bordered)
        self.U = self._random_rows(shape[0] + border)
        self.V = self._random_rows(shape[1] + border)
        self.weights_U: RealMatrix = np.ones(shape[0] + border, dtype=self.dtype)
        self.weights_V: RealMatrix = np.ones(shape[1] + border, dtype=self.dtype)
        self._before: RealMatrix | None = None  # V before its last move, where there is momentum

    def _random_rows(self, count: int) -> RealMatrix:
        rows = self._rng.standard_normal((count, self.rank), dtype=self.dtype)
        rows /= np.maximum(row_norms(rows), np.finfo(self.dtype).tiny)[:, None]
        return rows

    def _centred(self, vectors: RealMatrix) -> RealMatrix:
        return vectors[1:] - vectors[0] if self.bordered else vectors

    def _image(self, matrix: Any, vectors: RealMatrix, *, transpose: bool) -> RealMatrix:
        """A'V, or A'^T U if `transpose`."""
        centred = self._centred(vectors)
        if isinstance(matrix, Operand):
            block = matrix.apply(centred, transpose=transpose)
        elif transpose:
            block = matrix.T @ centred
        else:
            block = matrix @ centred
        block = np.asarray(block, dtype=self.dtype)
        if self.bordered:  # minus the column sums on top
            block = np.concatenate((-block.sum(axis=0, keepdims=True), block))
        return block

    def step(self, matrix: Any, iterations: int = 1, *, momentum: float = 0.0) -> float:
        """Alternate U <- rows of A'V, V <- rows of A'^T U, each normalised; zero rows stay put.

        Args:
            matrix: shape (n1, n2): an array, a scipy sparse matrix or an `Operand`; not checked.
            iterations: alternations, at least 1.
            momentum: by what part of the last move V goes on before the next, in [0, 1). For one
                matrix over many calls: with 0 the value never falls, with more it rises faster
                and may fall now and then.

        Returns:
            sum_ij a'_ij <u_i, v_j> / 4 at the new U and V (without the 1/4 if not bordered): a
            value between the norm over Grothendieck's constant and, once converged, above it.
        """
        for _ in range(iterations):
            V, self._before = self._moved_on(momentum), self.V.copy() if momentum else None
            self.weights_U = _normalise_into(self.U, self._image(matrix, V, transpose=False))
            self.weights_V = _normalise_into(self.V, self._image(matrix, self.U, transpose=True))
        return float(self.weights_V.sum(dtype=np.float64)) / self._divisor

    def _moved_on(self, momentum: float) -> RealMatrix:
        """V, a part of its last move farther; no row comes near zero, for |(1+m)v - m w| >= 1."""
        if self._before is None or not momentum:
            return self.V
        farther = self.V - self._before
        farther *= np.asarray(momentum, dtype=self.dtype)
        farther += self.V
        farther /= row_norms(farther)[:, None]
        return farther

    @property
    def _divisor(self) -> float:
        return 4.0 if self.bordered else 1.0

    def value(self, matrix: Any) -> float:
        """sum_ij a'_ij <u_i, v_j> / 4 for the present U and V (no 1/4 if not bordered)."""
        image = self._image(matrix, self.V, transpose=False)
        return float(np.einsum("ij,ij->", self.U, image, dtype=np.float64)) / self._divisor

    def subgradient_factors(self) -> tuple[RealMatrix, RealMatrix]:
        """(P, Q), shapes (n1, k) and (n2, k): P Q^T is the gradient of `value` in the matrix.

        That is G_ij = <u_i - u_0, v_j - v_0> / 4.
        """
        scale = np.asarray(1.0 / self._divisor, dtype=self.dtype)
        return self._centred(self.U) * scale, self._centred(self.V).copy()

    def round_batch(self, matrix: Any, hyperplanes: int = 64, count: int = 8) -> CutBatch:
        """The `count` best distinct cuts from random hyperplanes, best first.

        Args:
            matrix: shape (n1, n2).
            hyperplanes: how many to draw, at least 1.
            count: how many cuts to return at most.
        """
        operand = _operand(matrix)
        return round_hyperplanes(
            operand, self.V, hyperplanes, count, self._rng, bordered=self.bordered
        )

    def upper_bound(self, matrix: Any) -> UpperBound:
        """A proven upper bound on the norm of `matrix`, whatever U and V are.

        Costs two products to refresh the weights and the proof of `scaling_bound`.

        Args:
            matrix: shape (n1, n2).
        """
        operand = _operand(matrix)
        weights_U = row_norms(self._image(operand, self.V, transpose=False))
        weights_V = row_norms(self._image(operand, self.U, transpose=True))
        return scaling_bound(operand, weights_U, weights_V, bordered=self.bordered, seed=self.seed)

    def sigma_estimate(self, matrix: Any) -> float:
        """sigma_1 of the scaling theorem at the last step's weights, from below: 1 when solved."""
        return sigma_estimate(
            _operand(matrix), self.weights_U, self.weights_V, bordered=self.bordered
        )

    def resized(self, rank: int) -> "LowRankSolver":
        """A solver with more columns that starts where this one stands, slightly perturbed.

        Args:
            rank: the new number of columns, at least the present one.
        """
        larger = LowRankSolver(self.shape, rank, self.dtype, self.seed, bordered=self.bordered)
        for new, old in ((larger.U, self.U), (larger.V, self.V)):
            new *= np.asarray(0.01, dtype=self.dtype)
            new[:, : self.rank] = old
            _normalise_into(new, new.copy())
        return larger


def _operand(matrix: Any) -> Operand:
    return matrix if isinstance(matrix, Operand) else Operand(matrix)


def _normalise_into(target: RealMatrix, image: RealMatrix) -> RealMatrix:
    """Write the normalised rows of `image` into `target` and return their norms."""
    norms = row_norms(image)
    tiny = _TINY[image.dtype]
    if norms.min() > tiny:
        np.divide(image, norms[:, None], out=target)
    else:
        np.divide(image, norms[:, None], out=target, where=(norms > tiny)[:, None])
    return norms


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
    deadline: Deadline = NEVER,
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
        deadline: when to stop.

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
        (operand.apply(y[:, None]).ravel(), operand.apply(x[:, None], transpose=True).ravel())
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
        if now % _CLOCK_STEPS == 0 and deadline.passed():
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
        deadline: of the search.
    """

    tolerance: float
    deadline: Deadline = NEVER

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
) -> FoundSets:
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
    hyperplanes = _FEW_HYPERPLANES if limits.deadline.passed() else _HYPERPLANES
    batch = solver.round_batch(working, hyperplanes, _POPULATION)
    # Mostly solved: then the proof is all that is needed. A large one costs more than an estimate.
    large = max(operand.shape) > _LARGE
    if not large or limits.met(_value(batch), 1.001 * value):
        bound = min(bound, solver.upper_bound(operand), key=lambda proven: proven.value)
    if not limits.met(_value(batch), bound.value) and bound.value > _SLACK_SIGMA * value:
        while not (fixed or limits.deadline.passed() or solver.rank >= most):
            sigma = solver.sigma_estimate(working)
            if sigma < _SLACK_SIGMA or limits.met(_value(batch), 1.002 * sigma * value):
                break
            solver = solver.resized(min(most, 2 * solver.rank))
            value = _relax(solver, working, limits)
        bound = min(bound, solver.upper_bound(operand), key=lambda proven: proven.value)
    batch = _search_cuts(working, batch, bound, limits, rng, bordered)
    stopped: Stopped = "iterations"
    if limits.met(_value(batch), bound.value):
        stopped = "tolerance"
    elif limits.deadline.passed():
        stopped = "time"
    return FoundSets(batch.S[0], batch.T[0], bound, stopped)


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
        if limits.deadline.passed():
            break
        new_value = solver.step(working, _CHUNK, momentum=_MOMENTUM)
        stalled = new_value - value <= enough * abs(new_value)
        value = new_value
        if stalled:
            break
    return value


def _value(batch: CutBatch) -> float:
    return float(np.abs(batch.values[0]))


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
        return limits.met(_value(batch), target) or limits.deadline.passed()

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
