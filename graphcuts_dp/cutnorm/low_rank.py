"""The low-rank method: unit vectors by alternation, sets from them, and a search for better ones.

**Relaxation.** The cut norm of A is a quarter of the infinity-to-one norm of the bordered matrix
A': A with one more row and column, the *border*, which come first and make all rows and columns
sum to zero. The semidefinite relaxation gives each row i of A' a unit vector u_i and
each column j a unit vector v_j in place of signs, and maximises sum_ij a'_ij <u_i, v_j>. With
vectors of few coordinates (the *rank*) this is the low-rank, or Burer-Monteiro, problem. U and V
are the matrices with the vectors u_i and v_j as rows; index 0 is the border. For the
infinity-to-one norm (`bordered` False) all is the same with A in place of A', without the border
and without the quarter.

**Alternation.** For fixed V the best U is u_i = (A'V)_i / ||(A'V)_i||, and the other way round, so
each half step can only raise the value. A' is not written out. It is A' = L A R^T with
L = [-1^T; I] (n1 + 1 rows) and R = [-1^T; I] (n2 + 1 rows), so that

    A'V = L (A (V[1:] - V[0])),        A'^T U = R (A^T (U[1:] - U[0])),

where L W puts minus the column sums of W on top of W, and R does the same to matrices of n2 rows.
One alternation costs two products of A with `rank` columns, and no n1 x n2 temporary.
`LowRankSolver` does this.

**Search.** `search_low_rank` solves the relaxation, proves an upper bound by the scaling theorem of
`certificate`, and searches for cuts with `cut_search` until the bounds are close or time is up. A
cut is a set of rows S and a set of columns T; its value is A(S, T), the sum of a_ij over S x T. The
scaling theorem holds for any positive *weights* d_U, d_V of the rows and columns of A'. It says
that the norm is at most sigma_1(M) sqrt(sum d_U) sqrt(sum d_V) / 4, where sigma_1(M) is the largest
singular value of M, A' with entries divided by the square roots of their row's and column's
weights. The norms ||(A'V)_i|| and ||(A'^T U)_j|| serve as weights. If the relaxation is solved,
sigma_1(M) is 1 and both sums are the sum that it maximises, so the bound is its value.

Source: AN06 (Alon, Naor 2006) for the relaxation; GRU12 (Gupta, Roth,
Ullman 2012) Lemma 6.2 for its use.
"""

import math
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import RealMatrix
from graphcuts_dp.cutnorm.certificate import (
    MethodOutcome,
    Stopped,
    UpperBound,
    scaling_bound,
    sigma_estimate,
    smallest_bound,
    trivial_bound,
)
from graphcuts_dp.cutnorm.cut_search import (
    CutBatch,
    improve,
    merge,
    recombine,
    round_hyperplanes,
    tabu_search,
)
from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.cutnorm.singular_values import CHOLESKY_LIMIT
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.resources import NEVER, Deadline

# Smallest normal number by data type. Rows of this norm or less count as zero.
_TINY = {np.dtype(kind): np.finfo(kind).tiny for kind in (np.float32, np.float64)}

# Of the relaxation in a search.
_CHUNK = 5  # alternations between two looks at the value and the clock
_MAX_ALTERNATIONS = 300
_STALL = 3e-5  # relative gain of a chunk below which the relaxation counts as solved
_LARGE_STALL = 1e-4  # the same for large matrices
_BRIEF_STALL = 1e-3  # the same of brief searches
# Chosen with `_STALL` and `_HYPERPLANES` on five residuals of fits of releases, and checked on 14
# others. Without momentum, with thresholds a third as large and twice as many hyperplanes, bounds
# are within 0.2 % of these, and take half as much time again.
_MOMENTUM = 0.85
_FIRST_RANK = 24  # columns of U and V to begin with
_VECTOR_ENTRIES = 1 << 20  # entries of U and V together to which the rank may double
# sigma_1 of the scaling theorem is 1 if the relaxation is solved. Up to this it counts as solved.
_SOLVED_SIGMA = 1.003
# Relative margins by which a bound may exceed what the value of the relaxation promises: without
# and with an estimate of sigma_1, which is a little too low.
_VALUE_MARGIN = 1.001
_SIGMA_MARGIN = 1.002
_LARGE = 5000  # longer side above which a proof costs much more than an estimate of sigma_1

# Of the search for cuts.
_HYPERPLANES = 32  # hyperplanes that round the vectors, one cut each
# When the time is up, and of large dense matrices: values of cuts differ little between hyperplanes
# there (by .2 % at 5,000 rows), and each costs many products.
_FEW_HYPERPLANES = 8
_BRIEF_HYPERPLANES = 4  # of brief searches
_POPULATION = 32  # cuts in a batch
_GENERATIONS = 6  # rounds of tabu search and recombination, at most
_GENERATION_GAIN = 1e-3  # relative gain of a generation below which the search ends
_TABU_STEPS = 1000  # flips of a tabu search
_TABU_STARTS = 2  # best cuts from which tabu search walks in each generation
_FLOAT32_MARGIN = 1e-6  # relative rounding error of values in float32

# Entries between which a float32 copy of a dense matrix is faster to search on; a sparse matrix has
# no upper limit. Its largest entry must be between 2^-24 and 2^24.
_FLOAT32_FROM = 160 * 160
_FLOAT32_TO = 1 << 25
_FLOAT32_LARGEST = 2.0**24


def full_rank(shape: tuple[int, int]) -> int:
    """Return a rank for which the low-rank problem has the optimum of the relaxation.

    The relaxation has n1 + n2 + 2 constraints, so it has an optimum of rank r with
    r (r + 1) / 2 <= n1 + n2 + 2 (Barvinok 1995, Pataki 1998).
    """
    return math.ceil(math.sqrt(2.0 * (shape[0] + shape[1] + 2))) + 1


def row_norms(block: RealMatrix) -> RealMatrix:
    """Return the Euclidean norms of the rows, shape (n,)."""
    norms: RealMatrix = np.sqrt(np.einsum("ij,ij->i", block, block))
    return norms


@final
class LowRankSolver:
    """Unit vectors for the rows and columns of A', kept between calls as a warm start.

    The matrix is an argument of every method, so that it may change between steps, as the residual
    of a fit does. Index 0 of U and V is the border.

    Args:
        shape: (n1, n2) of the matrix, without the border.
        rank: number of columns k >= 1 of U and V; None takes `full_rank`. About 32 is enough
            inside an outer loop.
        dtype: float32 or float64, of U and V; best equal to that of the matrix.
        seed: seed of the random start and of the hyperplanes. This is not privacy noise.
        bordered: True for the cut norm, False for the infinity-to-one norm (no border).

    Attributes:
        U: shape (n1 + 1, k), unit rows (n1 without the border).
        V: shape (n2 + 1, k), unit rows (n2 without the border).
        weights_U: norms of the rows of A'V at the last step, shape (n1 + 1,) or (n1,).
        weights_V: norms of the rows of A'^T U at the last step, shape (n2 + 1,) or (n2,).
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
        self.rank: int = full_rank(shape) if rank is None else rank
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        if self.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise ParameterError(f"dtype must be float32 or float64, not {self.dtype}")
        self.seed = seed
        self.bordered = bordered
        # ||A'||_{inf->1} is four times the cut norm.
        self._divisor = 4.0 if bordered else 1.0
        # The second number is the stream: 1 here, 3 in `search_low_rank`, others in other modules.
        # Neither it nor the order of draws may change: results depend on both.
        self._rng = np.random.default_rng([seed, 1])
        border = int(bordered)
        self.U = self._random_rows(shape[0] + border)
        self.V = self._random_rows(shape[1] + border)
        self.weights_U: RealMatrix = np.ones(shape[0] + border, dtype=self.dtype)
        self.weights_V: RealMatrix = np.ones(shape[1] + border, dtype=self.dtype)
        self._previous_V: RealMatrix | None = None  # V before its last step; None without momentum

    def step(self, matrix: Any, iterations: int = 1, *, momentum: float = 0.0) -> float:
        """Alternate U <- rows of A'V, V <- rows of A'^T U, each normalised; zero rows stay put.

        Args:
            matrix: shape (n1, n2): an array, a scipy sparse matrix or an `Operand`; not checked.
            iterations: alternations, at least 1.
            momentum: m in [0, 1): V + m (V - previous V) is used in place of V. For one matrix over
                many calls: with 0 the value never falls, with more it rises faster and may fall
                now and then.

        Returns:
            sum_ij a'_ij <u_i, v_j> / 4 at the new U and V (without the 1/4 if not bordered). At the
            optimum of the relaxation this is at least the norm, and at most Grothendieck's constant
            times the norm.
        """
        for _ in range(iterations):
            V = self._extrapolated_V(momentum)
            self._previous_V = self.V.copy() if momentum else None
            self.weights_U = _normalise_into(self.U, self._image(matrix, V, transpose=False))
            self.weights_V = _normalise_into(self.V, self._image(matrix, self.U, transpose=True))
        # v_j = (A'^T U)_j / ||(A'^T U)_j||, so the sum of these norms is sum_ij a'_ij <u_i, v_j>.
        return float(self.weights_V.sum(dtype=np.float64)) / self._divisor

    def value(self, matrix: Any) -> float:
        """Return sum_ij a'_ij <u_i, v_j> / 4 for the present U and V (no 1/4 if not bordered)."""
        image = self._image(matrix, self.V, transpose=False)
        return float(np.einsum("ij,ij->", self.U, image, dtype=np.float64)) / self._divisor

    def subgradient_factors(self) -> tuple[RealMatrix, RealMatrix]:
        """Return (P, Q), shapes (n1, k) and (n2, k): P Q^T is the gradient of `value` in A.

        Its entries are <u_i - u_0, v_j - v_0> / 4, or <u_i, v_j> if not bordered.
        """
        scale = np.asarray(1.0 / self._divisor, dtype=self.dtype)
        return self._centred(self.U) * scale, self._centred(self.V).copy()

    def round_batch(self, matrix: Any, hyperplanes: int = 64, count: int = 8) -> CutBatch:
        """Return the `count` best distinct cuts from random hyperplanes, the best first.

        Each call draws new hyperplanes from the solver's own stream.

        Args:
            matrix: shape (n1, n2).
            hyperplanes: number of hyperplanes, at least 1.
            count: number of cuts to return at most.
        """
        operand = _as_operand(matrix)
        return round_hyperplanes(
            operand, self.V, hyperplanes, count, self._rng, bordered=self.bordered
        )

    def upper_bound(self, matrix: Any, *, short: bool = False) -> UpperBound:
        """Return a proven upper bound on the norm of `matrix`, for any U and V.

        It costs two products for new weights, and the proof of `scaling_bound`.

        Args:
            matrix: shape (n1, n2).
            short: see `sigma_bound`.
        """
        operand = _as_operand(matrix)
        weights_U = row_norms(self._image(operand, self.V, transpose=False))
        weights_V = row_norms(self._image(operand, self.U, transpose=True))
        return scaling_bound(
            operand,
            weights_U,
            weights_V,
            bordered=self.bordered,
            seed=self.seed,
            short=short,
        )

    def sigma_estimate(self, matrix: Any) -> float:
        """Return an estimate of sigma_1 of the scaling theorem at the last step's weights.

        It is an estimate from below, and about 1 if the relaxation is solved.
        """
        return sigma_estimate(
            _as_operand(matrix), self.weights_U, self.weights_V, bordered=self.bordered
        )

    def resized(self, rank: int) -> "LowRankSolver":
        """Return a solver with more columns that starts at these vectors, slightly perturbed.

        Args:
            rank: the new number of columns, at least the present one.
        """
        larger = LowRankSolver(self.shape, rank, self.dtype, self.seed, bordered=self.bordered)
        for larger_rows, rows in ((larger.U, self.U), (larger.V, self.V)):
            larger_rows *= np.asarray(0.01, dtype=self.dtype)
            larger_rows[:, : self.rank] = rows
            _normalise_into(larger_rows, larger_rows.copy())
        return larger

    def _random_rows(self, count: int) -> RealMatrix:
        rows = self._rng.standard_normal((count, self.rank), dtype=self.dtype)
        rows /= np.maximum(row_norms(rows), np.finfo(self.dtype).tiny)[:, None]
        return rows

    def _centred(self, vectors: RealMatrix) -> RealMatrix:
        """Return R^T V, or L^T U: all rows but the border, less the border."""
        return vectors[1:] - vectors[0] if self.bordered else vectors

    def _image(self, matrix: Any, vectors: RealMatrix, *, transpose: bool) -> RealMatrix:
        """Return A'V, or A'^T U if `transpose`."""
        centred = self._centred(vectors)
        if isinstance(matrix, Operand):
            image = matrix.apply(centred, transpose=transpose)
        elif transpose:
            image = matrix.T @ centred
        else:
            image = matrix @ centred
        image = np.asarray(image, dtype=self.dtype)
        if self.bordered:
            image = np.concatenate((-image.sum(axis=0, keepdims=True), image))
        return image

    def _extrapolated_V(self, momentum: float) -> RealMatrix:
        """Return V + momentum (V - previous V) with normalised rows.

        No row comes near zero: for unit vectors v and w, ||(1 + m) v - m w|| >= 1.
        """
        if self._previous_V is None or not momentum:
            return self.V
        V = self.V - self._previous_V
        V *= np.asarray(momentum, dtype=self.dtype)
        V += self.V
        V /= row_norms(V)[:, None]
        return V


def _as_operand(matrix: Any) -> Operand:
    return matrix if isinstance(matrix, Operand) else Operand(matrix)


def _normalise_into(target: RealMatrix, image: RealMatrix) -> RealMatrix:
    """Write the normalised rows of `image` into `target` and return their norms.

    Rows of norm zero are not written.
    """
    norms = row_norms(image)
    tiny = _TINY[image.dtype]
    if norms.min() > tiny:  # no row is zero: the usual case, faster without a mask
        np.divide(image, norms[:, None], out=target)
    else:  # `where` leaves rows of `target` as they are
        np.divide(image, norms[:, None], out=target, where=(norms > tiny)[:, None])
    return norms


@final
@dataclass(frozen=True)
class SearchLimits:
    """The conditions that end a search.

    Attributes:
        tolerance: the search ends once upper/lower <= 1 + tolerance.
        deadline: the search ends then.
        brief: whether bounds of a large matrix may be some 2 % looser, to save half of the time:
            the relaxation counts as solved earlier, and proofs are short; see `sigma_bound`.
    """

    tolerance: float
    deadline: Deadline = NEVER
    brief: bool = False

    def are_close(self, lower: float, upper: float) -> bool:
        """Return whether a lower and an upper bound are within the tolerance."""
        return lower > 0 and upper <= (1.0 + self.tolerance) * lower


def search_low_rank(
    operand: Operand,
    *,
    bordered: bool,
    limits: SearchLimits,
    seed: int,
    start: LowRankSolver | None = None,
    rank: int | None = None,
) -> MethodOutcome:
    """Bound the norm from both sides with the low-rank method.

    1. Alternate on unit vectors with momentum (Polyak 1964) until the value of the relaxation
       stands still; in float32 where that is faster. Round them to cuts by hyperplanes.
    2. Prove the upper bound on the matrix itself. (For a large matrix a proof is costly: do it now
       only if it will probably be close enough to the best cut. If the time is up, it is the last
       proof, and a short one.)
    3. If the bounds are not close and the relaxation is not solved, double the rank and alternate
       again while sigma_1, estimated, says so. Prove the upper bound again.
    4. Improve the cuts by tabu search and recombination until nothing helps.

    Args:
        operand: the matrix.
        bordered: cut norm (True) or infinity-to-one norm (False).
        limits: when to stop.
        seed: seed of the start, the hyperplanes and the searches.
        start: a solver to continue from; its vectors are updated in place. None starts at random.
        rank: number of columns, which then stays; None starts with 24 and doubles it if needed.
    """
    working = _float32_if_faster(operand)
    rank_is_fixed = rank is not None or start is not None
    max_rank = min(
        full_rank(operand.shape), max(_FIRST_RANK, _VECTOR_ENTRIES // sum(operand.shape))
    )
    solver = start or LowRankSolver(
        operand.shape, rank or min(max_rank, _FIRST_RANK), working.dtype, seed, bordered=bordered
    )
    rng = np.random.default_rng([seed, 3])  # of tabu search and recombination; see `LowRankSolver`
    bound = trivial_bound(operand, bordered=bordered)
    value = _solve_relaxation(solver, working, limits)
    is_large = min(operand.shape) > CHOLESKY_LIMIT or max(operand.shape) > _LARGE
    few = limits.deadline.passed() or (is_large and operand.kind == "dense")
    hyperplanes = _FEW_HYPERPLANES if few else _HYPERPLANES
    if limits.brief:
        hyperplanes = _BRIEF_HYPERPLANES
    # Cuts, the best first; `first_value` is the absolute value of the best one.
    batch = solver.round_batch(working, hyperplanes, _POPULATION)

    # `value` approaches the value of the relaxation, and that is what the bound can be at best.
    # Once the time is up, these vectors are the last ones.
    is_last = limits.deadline.passed()
    if is_last or not is_large or limits.are_close(batch.first_value, _VALUE_MARGIN * value):
        is_short = is_last or limits.brief
        bound = smallest_bound(bound, solver.upper_bound(operand, short=is_short))

    is_open = not (is_last or limits.are_close(batch.first_value, bound.value))
    # At a fixed point of the alternation the weights of rows and those of columns each sum to
    # 4 `value` (`value` if not bordered), so the scaling bound is about sigma_1 times `value`.
    # Their ratio says if the relaxation is solved.
    # A large matrix may have only its trivial bound so far, and then also comes in here.
    if is_open and bound.value > _SOLVED_SIGMA * value:
        while not (rank_is_fixed or limits.deadline.passed() or solver.rank >= max_rank):
            sigma = solver.sigma_estimate(working)
            expected_bound = _SIGMA_MARGIN * sigma * value  # of a proof at the present vectors
            if sigma < _SOLVED_SIGMA or limits.are_close(batch.first_value, expected_bound):
                break
            solver = solver.resized(min(max_rank, 2 * solver.rank))
            value = _solve_relaxation(solver, working, limits)
        bound = smallest_bound(bound, solver.upper_bound(operand, short=limits.brief))

    batch = _improve_cuts(working, batch, bound, limits, rng, bordered)
    stopped: Stopped = "iterations"
    if limits.are_close(batch.first_value, bound.value):
        stopped = "tolerance"
    elif limits.deadline.passed():
        stopped = "time"
    return MethodOutcome(batch.S[0], batch.T[0], bound, stopped)


def short_upper_bound(operand: Operand, *, bordered: bool, seed: int) -> UpperBound:
    """Return the upper bound of `search_low_rank` after its deadline, without looking for cuts."""
    working = _float32_if_faster(operand)
    rank = min(full_rank(operand.shape), _FIRST_RANK)
    solver = LowRankSolver(operand.shape, rank, working.dtype, seed, bordered=bordered)
    _solve_relaxation(solver, working, SearchLimits(0.0, Deadline.after(0.0)))
    bound = solver.upper_bound(operand, short=True)
    return smallest_bound(trivial_bound(operand, bordered=bordered), bound)


def _float32_if_faster(operand: Operand) -> Operand:
    """Return a float32 copy to search on, if that is faster; else the matrix itself.

    Callers rely on it only to find vectors and cuts: every proof uses the original. The copy keeps
    the scaled unit of the original, so their values compare.
    """
    if operand.dtype == np.float32 or operand.kind == "operator":
        return operand
    size = operand.shape[0] * operand.shape[1]
    if size < _FLOAT32_FROM or (operand.kind == "dense" and size > _FLOAT32_TO):
        return operand
    entries = operand.data.data if operand.kind == "sparse" else operand.data
    largest = float(np.abs(entries).max(initial=0.0))
    if 1.0 / _FLOAT32_LARGEST < largest < _FLOAT32_LARGEST:
        return Operand(operand.data.astype(np.float32))
    return operand


def _solve_relaxation(solver: LowRankSolver, working: Operand, limits: SearchLimits) -> float:
    """Alternate until a chunk of alternations hardly raises the value; return the value."""
    stall = _LARGE_STALL if max(working.shape) > _LARGE else _STALL
    if limits.brief:
        stall = _BRIEF_STALL
    value = solver.step(working, _CHUNK, momentum=_MOMENTUM)
    for _ in range(_MAX_ALTERNATIONS // _CHUNK):
        if limits.deadline.passed():
            break
        new_value = solver.step(working, _CHUNK, momentum=_MOMENTUM)
        stalled = new_value - value <= stall * abs(new_value)
        value = new_value
        if stalled:
            break
    return value


def _improve_cuts(
    working: Operand,
    batch: CutBatch,
    bound: UpperBound,
    limits: SearchLimits,
    rng: np.random.Generator,
    bordered: bool,
) -> CutBatch:
    """Improve a batch by tabu search from the two best cuts and recombination, while it helps.

    It ends early once the best cut is close to the bound or the time is up.
    """
    # Values of cuts are float32 sums here. A cut that reaches the bound exactly may have a value
    # that rounding put slightly below it, so the target is lowered by as much.
    target = bound.value * (1.0 - _FLOAT32_MARGIN if working.dtype == np.float32 else 1.0)
    steps = min(_TABU_STEPS, 40 * sum(working.shape))
    for _ in range(_GENERATIONS):
        value_before = batch.first_value
        if working.kind != "operator":
            for index in range(min(_TABU_STARTS, batch.values.size)):
                if limits.are_close(batch.first_value, target) or limits.deadline.passed():
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
        if limits.are_close(batch.first_value, target) or limits.deadline.passed():
            return batch
        batch = recombine(working, batch, children=_POPULATION, rng=rng, bordered=bordered)
        if batch.first_value <= value_before * (1.0 + _GENERATION_GAIN):
            break
    return batch
