"""The cut norm and its two relatives, each with a certificate; and the exact methods.

**The Alon-Naor relaxation** as it is written, solved by SCS: the reference for small matrices.
Primal: maximise <B, X_12> over positive semidefinite X = [[X_11, X_12], [X_12^T, X_22]] with unit
diagonal, B = A' for the cut norm. SCS returns a nearly feasible X, so its value proves nothing.
What is proven is weak duality: its dual variables are weights d_U, d_V, and the scaling theorem of
`certificate` holds for any positive ones, however inaccurate the solver.

Krivine's rounding: with c = ln(1 + sqrt 2) and the Gram matrix G of the solution, the matrix with
sinh(c G) within each side and sin(c G) across is again a Gram matrix of unit vectors, whose random
hyperplanes give E[x_i y_j] = (2 c / pi) <u_i, v_j>: so SDP / 1.7822 <= ||B|| in expectation.

Source: AN06 (relaxation, section 5.1 for Krivine's argument); Krivine 1979.

**By enumeration**: every set on the shorter side, the best answer on the other. With c = A^T 1_S,
the best T takes the positive or the negative entries of c, so

    max_T |A(S, T)| = (sum_j |c_j| + |sum_j c_j|) / 2,

and for signs x the best y gives ||A^T x||_1. The sums of the low rows are tabulated once; each
subset of the high rows shifts the whole table.

**By branch and bound** (HiGHS), for matrices too large to enumerate: binary s_i, t_j choose rows
and columns, and w_ij stands for s_i t_j: at most both where its coefficient is positive, at least
s_i + t_j - 1 where it is negative. Sparse matrices of a hundred rows are solved in seconds; dense
ones above about 40 rows rarely are, and then the time limit gives a bound.
"""

import importlib
import math
import time
import warnings
from dataclasses import dataclass
from typing import Any, Literal, final

import highspy
import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatArray
from graphcuts_dp.cutnorm.certificate import (
    CutNormCertificate,
    NormName,
    UpperBound,
    build_certificate,
    scaling_bound,
    trivial_bound,
    witness_value,
)
from graphcuts_dp.cutnorm.low_rank import (
    CutBatch,
    LowRankSolver,
    SearchLimits,
    best_cuts,
    improve,
    search_low_rank,
)
from graphcuts_dp.cutnorm.operand import Operand, gamma
from graphcuts_dp.cutnorm.spectral import (
    exact_normalised,
    largest_singular_value,
    prefix_cuts,
    row_norm_weights,
)
from graphcuts_dp.errors import MatrixError, ParameterError, SolverError

MAX_ENTRIES = 20_000
_TRUST = 1e-6  # of the absolute sum: what HiGHS's tolerances may hide


@final
@dataclass(frozen=True, eq=False)
class ProgramResult:
    """The best sets found and a bound on all others.

    Attributes:
        S: mask of rows.
        T: mask of columns.
        upper: at least the norm, if HiGHS is right up to its tolerances; these are covered by
            widening it by 1e-6 of the sum of absolute entries. Infinite if no bound was found.
        finished: whether the search was completed.
    """

    S: BoolVector
    T: BoolVector
    upper: float
    finished: bool


def solve_program(
    operand: Operand, *, bordered: bool, time_limit: float | None = None
) -> ProgramResult:
    """Maximise over all pairs of sets by branch and bound.

    Args:
        operand: the matrix, dense or sparse, at most 20,000 non-zero entries.
        bordered: cut norm (True: both signs of the sum are tried) or infinity-to-one norm (False:
            opposite signs have the same value).
        time_limit: seconds, or None for no limit.

    Raises:
        MatrixError: an operator, or too many entries.
    """
    if operand.kind == "operator":
        raise MatrixError("the exact method needs the entries; an operator hides them")
    rows, columns = operand.data.nonzero()
    if len(rows) > MAX_ENTRIES:
        raise MatrixError(
            f'the exact method takes at most {MAX_ENTRIES:,} non-zero entries; use "low-rank"'
        )
    values = np.asarray(operand.data[rows, columns], dtype=np.float64).ravel()
    deadline = None if time_limit is None else time.monotonic() + time_limit
    best, upper, finished = -1.0, 0.0, True
    S, T = np.zeros(operand.shape[0], dtype=np.bool_), np.zeros(operand.shape[1], dtype=np.bool_)
    signs = (1.0, -1.0) if bordered else (1.0,)
    for left, sign in zip(range(len(signs), 0, -1), signs, strict=True):
        limit = None if deadline is None else max(0.0, deadline - time.monotonic()) / left
        program = _Program(operand.shape, rows, columns, sign * values, bordered=bordered)
        value, bound, chosen, done = program.solve(limit)
        finished &= done
        upper = max(upper, bound)
        if chosen is not None and value > best:
            best = value
            S, T = chosen[: operand.shape[0]], chosen[operand.shape[0] :]
    return ProgramResult(S, T, upper + _TRUST * operand.absolute_total, finished)


class _Program:
    """One maximisation: variables s, t, then one w for each non-zero entry."""

    def __init__(
        self,
        shape: tuple[int, int],
        rows: npt.NDArray[np.integer],
        columns: npt.NDArray[np.integer],
        values: FloatArray,
        *,
        bordered: bool,
    ) -> None:
        self._sides = shape[0] + shape[1]
        ends = np.stack([rows, shape[0] + columns])
        linear = np.zeros(self._sides)
        self._constant = 0.0
        if not bordered:
            # (2s - 1)(2t - 1) = 4w - 2s - 2t + 1
            np.subtract.at(linear, ends[0], 2 * values)
            np.subtract.at(linear, ends[1], 2 * values)
            self._constant, values = float(values.sum()), 4 * values
        total = self._sides + len(values)
        lp: Any = highspy.HighsLp()
        lp.num_col_ = total
        lp.sense_ = highspy.ObjSense.kMaximize
        lp.col_cost_ = np.concatenate([linear, values])
        lp.col_lower_, lp.col_upper_ = np.zeros(total), np.ones(total)
        kinds = highspy.HighsVarType
        lp.integrality_ = [kinds.kInteger] * self._sides + [kinds.kContinuous] * len(values)
        self._add_rows(lp, ends, values)
        self._solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        options = {"output_flag": False, "threads": 1, "mip_rel_gap": 0.0, "mip_abs_gap": 1e-9}
        for option, value in options.items():
            self._solver.setOptionValue(option, value)
        self._solver.passModel(lp)

    def _add_rows(self, lp: Any, ends: npt.NDArray[np.integer], values: FloatArray) -> None:
        """Rows w <= s and w <= t for positive values, w >= s + t - 1 for negative ones."""
        products = self._sides + np.arange(len(values))
        up, down = values > 0, values < 0
        two = [np.stack([products[up], end[up]], axis=1) for end in ends]
        three = np.stack([products[down], ends[0][down], ends[1][down]], axis=1)
        count = 2 * int(up.sum())
        lengths = np.concatenate([np.full(count, 2), np.full(len(three), 3)])
        lp.num_row_ = len(lengths)
        lp.row_lower_ = np.concatenate(
            [np.full(count, -highspy.kHighsInf), np.full(len(three), -1)]
        )
        lp.row_upper_ = np.concatenate([np.zeros(count), np.full(len(three), highspy.kHighsInf)])
        matrix = lp.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kRowwise
        matrix.start_ = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        matrix.index_ = np.concatenate([*two, three], axis=None).astype(np.int32)
        pair, triple = np.array([1.0, -1.0]), np.array([1.0, -1.0, -1.0])
        matrix.value_ = np.concatenate([np.tile(pair, count), np.tile(triple, len(three))])

    def solve(self, limit: float | None) -> tuple[float, float, BoolVector | None, bool]:
        """(value found, bound, chosen rows and columns or None, whether it was completed)."""
        if limit is not None:
            self._solver.setOptionValue("time_limit", limit)
        self._solver.run()
        info = self._solver.getInfo()
        done = self._solver.getModelStatus() == highspy.HighsModelStatus.kOptimal
        bound = float(info.mip_dual_bound) if math.isfinite(info.mip_dual_bound) else math.inf
        if self._solver.getModelStatus() == highspy.HighsModelStatus.kModelEmpty:
            done, bound = True, 0.0
        solution = np.array(self._solver.getSolution().col_value)
        if len(solution) == 0 or not math.isfinite(info.objective_function_value):
            return -math.inf, bound + self._constant, None, done
        value = float(info.objective_function_value) + self._constant
        return value, bound + self._constant, solution[: self._sides] > 0.5, done


MAX_SIDE = 30
_TABLE_BITS = 12
_TABLE_ENTRIES = 1 << 18


@final
@dataclass(frozen=True, eq=False)
class ExactResult:
    """An optimal pair of sets and a proven bound on the optimum.

    Attributes:
        S: mask of rows.
        T: mask of columns.
        upper: at least the norm; above its computed value by the rounding of the table, and equal
            to it for integers. Infinite if the time ran out.
        finished: whether all sets were tried.
    """

    S: BoolVector
    T: BoolVector
    upper: float
    finished: bool


def enumeration_cost(shape: tuple[int, int]) -> float:
    """Entries that an enumeration touches: 2^(shorter side) times the longer side."""
    return 2.0 ** min(*shape, 1000) * max(shape)


def enumerate_cuts(
    operand: Operand, *, bordered: bool, time_limit: float | None = None
) -> ExactResult:
    """Try every set of the shorter side.

    Args:
        operand: the matrix, dense or sparse, shorter side at most 30 (24 takes seconds).
        bordered: cut norm (True) or infinity-to-one norm (False).
        time_limit: seconds, or None for no limit.

    Raises:
        MatrixError: the shorter side is above 30, or the matrix is an operator.
    """
    if operand.kind == "operator":
        raise MatrixError("the exact method needs the entries; an operator hides them")
    if min(operand.shape) > MAX_SIDE:
        raise MatrixError(
            f"the exact method tries 2^{min(operand.shape)} sets, 2^{MAX_SIDE} at most; "
            'use method="low-rank"'
        )
    dense = operand.data.toarray() if operand.kind == "sparse" else operand.data
    dense = np.asarray(dense, dtype=np.float64)
    transpose = dense.shape[0] > dense.shape[1]
    rows = np.ascontiguousarray(dense.T if transpose else dense)
    deadline = None if time_limit is None else time.monotonic() + time_limit
    best, subset, finished = _scan(rows, bordered, deadline)
    sums = rows.T @ (subset.astype(np.float64) if bordered else 2.0 * subset - 1.0)
    if bordered:
        upward = np.maximum(sums, 0).sum() >= np.maximum(-sums, 0).sum()
        answer = sums > 0 if upward else sums < 0
    else:
        answer = sums >= 0
    slack = 0.0
    if not operand.is_integer:
        # a column sum: table, 64 Gray steps and a fresh start; intermediate sums reach 3 times |A|
        slack = 3.0 * gamma(sum(rows.shape) + 96) * operand.absolute_total * 1.01
    S, T = (answer, subset) if transpose else (subset, answer)
    return ExactResult(S, T, best + slack if finished else np.inf, finished)


def _scan(
    rows: FloatArray, bordered: bool, deadline: float | None
) -> tuple[float, BoolVector, bool]:
    """The best value, its subset of rows, and whether the scan was complete."""
    m, n = rows.shape
    low = min(m, _TABLE_BITS, max(1, int(np.log2(_TABLE_ENTRIES / n)) if n < _TABLE_ENTRIES else 1))
    offset, gain = (np.zeros(n), 1.0) if bordered else (-rows.sum(axis=0), 2.0)
    table = np.zeros((n, 1))
    for i in range(low):
        table = np.concatenate((table, table + gain * rows[i][:, None]), axis=1)
    work, values = np.empty_like(table), np.empty(table.shape[1])
    best, best_code, finished = -1.0, 0, True
    # a sign vector and its opposite have the same value: the last sign is fixed
    high_codes = 1 << max(0, m - low - (0 if bordered else 1))
    shift = offset.copy()
    for code in range(high_codes):
        gray = code ^ (code >> 1)
        if code % 64 == 0:  # recompute now and then: rounding does not pile up
            bits = (gray >> np.arange(m - low)) & 1
            shift = offset + gain * (bits @ rows[low:])
            if deadline is not None and time.monotonic() > deadline:
                finished = False
                break
        else:
            flipped = (code & -code).bit_length() - 1
            shift += (gain if gray >> flipped & 1 else -gain) * rows[low + flipped]
        np.add(table, shift[:, None], out=work)
        if bordered:
            total = work.sum(axis=0)
        np.abs(work, out=work)
        work.sum(axis=0, out=values)
        if bordered:
            values += np.abs(total)
        index = int(values.argmax())
        if values[index] > best:
            best, best_code = float(values[index]), (gray << low) | index
    subset = (best_code >> np.arange(m)) & 1 == 1
    return best * (0.5 if bordered else 1.0), subset, finished


MAX_SIZE = 260
KRIVINE_CONSTANT = math.log(1.0 + math.sqrt(2.0))


def bordered_matrix(dense: FloatArray) -> FloatArray:
    """A' written out, border first: [[1^T A 1, -1^T A], [-A 1, A]].

    Args:
        dense: A, shape (n1, n2).
    """
    rows = np.concatenate((-dense.sum(axis=0, keepdims=True), dense))
    return np.concatenate((-rows.sum(axis=1, keepdims=True), rows), axis=1)


def solve_relaxation(
    operand: Operand, *, bordered: bool, accuracy: float = 1e-6, time_limit: float | None = None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Solve the semidefinite program.

    Args:
        operand: the matrix, dense or sparse, n1 + n2 <= 260.
        bordered: cut norm (True, B = A') or infinity-to-one norm (False, B = A).
        accuracy: SCS's relative and absolute tolerance.
        time_limit: seconds, or None.

    Returns:
        (X, d_U, d_V): the primal matrix, shape (N, N), and the dual variables of its diagonal.

    Raises:
        MatrixError: too large, or an operator.
        SolverError: SCS returned nothing usable.
    """
    if operand.kind == "operator":
        raise MatrixError('the "sdp" method needs the entries; use method="low-rank"')
    if sum(operand.shape) > MAX_SIZE:
        raise MatrixError(
            f"the sdp method takes n1 + n2 <= {MAX_SIZE}, not {sum(operand.shape)}; "
            'use method="low-rank"'
        )
    cp: Any = importlib.import_module("cvxpy")  # here, for it takes a second

    dense = operand.data.toarray() if operand.kind == "sparse" else operand.data
    dense = np.asarray(dense, dtype=np.float64)
    B = bordered_matrix(dense) if bordered else dense
    scale = float(np.abs(B).max()) or 1.0
    n1, n2 = B.shape
    X = cp.Variable((n1 + n2, n1 + n2), PSD=True)
    diagonal = cp.diag(X) == 1
    objective = cp.Maximize(cp.sum(cp.multiply(B / scale, X[:n1, n1:])))
    problem = cp.Problem(objective, [diagonal])
    options: dict[str, float] = {"eps_abs": accuracy, "eps_rel": accuracy, "max_iters": 20_000}
    if time_limit is not None:
        options["time_limit_secs"] = max(time_limit, 0.01)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "solution may be inaccurate": never relied upon
            problem.solve(solver=cp.SCS, **options)
    except cp.error.SolverError as error:
        raise SolverError('SCS failed on this matrix; use method="low-rank"') from error
    if X.value is None or diagonal.dual_value is None:
        raise SolverError('SCS gave no solution in time; use method="low-rank"')
    dual = np.abs(np.asarray(diagonal.dual_value, dtype=np.float64)) * scale
    return np.asarray(X.value, dtype=np.float64), dual[:n1], dual[n1:]


def sdp_cuts(
    operand: Operand, X: FloatArray, *, bordered: bool, seed: int, hyperplanes: int = 256
) -> CutBatch:
    """Krivine's rounding of X by many hyperplanes, each cut improved by alternation.

    Args:
        operand: the matrix.
        X: Gram matrix of the relaxation, rows first.
        bordered: cut norm (True) or infinity-to-one norm (False).
        seed: of the hyperplanes.
        hyperplanes: how many.
    """
    rng = np.random.default_rng([seed, 5])
    n1 = operand.shape[0] + int(bordered)
    gram = np.clip((X + X.T) / 2.0, -1.0, 1.0)
    c = KRIVINE_CONSTANT
    krivine = np.sinh(c * gram)
    krivine[:n1, n1:] = np.sin(c * gram[:n1, n1:])
    krivine[n1:, :n1] = krivine[:n1, n1:].T
    values, vectors = np.linalg.eigh(krivine)
    factor = vectors * np.sqrt(np.maximum(values, 0.0))
    signs = factor @ rng.standard_normal((factor.shape[1], hyperplanes)) >= 0
    side = signs[n1:]
    T = side[1:] != side[0] if bordered else side
    return best_cuts(improve(operand, T, bordered=bordered), 8)


def sdp_bound(operand: Operand, d_U: FloatArray, d_V: FloatArray, *, bordered: bool) -> UpperBound:
    """The proven bound from the solver's dual variables, see `scaling_bound`."""
    return scaling_bound(operand, d_U, d_V, bordered=bordered)


Method = Literal["auto", "exact", "low-rank", "sdp", "spectral"]
METHODS = ("auto", "exact", "low-rank", "sdp", "spectral")
NORMS: tuple[NormName, ...] = ("cut", "infinity-to-one", "normalised")
_AUTO_EXACT_COST = 2.0**24


def cut_norm(
    matrix: Any,
    *,
    method: Method = "auto",
    tolerance: float = 0.01,
    time_limit: float | None = None,
    seed: int = 0,
    start: LowRankSolver | None = None,
    rank: int | None = None,
) -> CutNormCertificate:
    """||A||_C = max over S, T of |sum of a_ij over i in S, j in T|, bounded from both sides.

    Args:
        matrix: real, shape (n1, n2): array-like, any scipy sparse matrix, or a `LinearOperator`.
            Integers and bools are welcome; entries from 1e-300 to 1e300 are.
        method: "exact" (enumeration to a shorter side of 30, 24 in a second; above that
            branch and bound, for up to 20,000 non-zero entries; give a time_limit), "low-rank"
            (any size), "sdp" (the reference, to about 100), "spectral" (fast, loose), or "auto":
            exact if that takes well under a second, else low-rank.
        tolerance: stop once upper/lower <= 1 + tolerance is proven; at least 0.
        time_limit: seconds of search, or None. The proof of the upper bound comes on top.
        seed: of start vectors and hyperplanes; the same seed gives the same certificate. This is
            not privacy noise.
        start: a `LowRankSolver` whose vectors to start from (and to update), for "low-rank".
        rank: columns of the low-rank method; None adapts.

    Returns:
        A `CutNormCertificate` with norm "cut".

    Raises:
        MatrixError: the matrix is not usable (nan, empty, too large for the method).
        ParameterError: an unknown method, a negative tolerance or time limit.

    Examples:
        >>> certificate = gc.cut_norm([[1.0, -2.0], [-3.0, 4.0]])
        >>> certificate.lower, round(certificate.upper, 6)
        (4.0, 4.0)
    """
    return _dispatch(matrix, True, method, tolerance, time_limit, seed, start, rank)


def infinity_to_one_norm(
    matrix: Any,
    *,
    method: Method = "auto",
    tolerance: float = 0.01,
    time_limit: float | None = None,
    seed: int = 0,
    start: LowRankSolver | None = None,
    rank: int | None = None,
) -> CutNormCertificate:
    """||A||_{inf->1} = max over signs x, y of x^T A y; between one and four times the cut norm.

    Args:
        matrix: as for `cut_norm`.
        method: "auto", "exact", "low-rank" or "sdp".
        tolerance: as for `cut_norm`.
        time_limit: as for `cut_norm`.
        seed: as for `cut_norm`.
        start: a `LowRankSolver` made with `bordered=False`.
        rank: as for `cut_norm`.

    Returns:
        A certificate with norm "infinity-to-one": S holds the rows of sign +1, T the columns.

    Raises:
        MatrixError: the matrix is not usable.
        ParameterError: a method without this norm, or a parameter out of range.
    """
    if method == "spectral":
        raise ParameterError('method="spectral" bounds cut norms; use "low-rank" here')
    return _dispatch(matrix, False, method, tolerance, time_limit, seed, start, rank)


def certified_norm(
    matrix: Any, *, norm: NormName = "cut", time_limit: float | None = None, **options: Any
) -> CutNormCertificate:
    """One of the three norms by its name.

    Args:
        matrix: as for `cut_norm`.
        norm: "cut", "infinity-to-one" or "normalised".
        time_limit: as for `cut_norm`; the normalised norm has no search to stop.
        options: for the function of that norm.

    Raises:
        MatrixError: the matrix is not usable.
        ParameterError: an unknown norm, a method without this norm, or a parameter out of range.
    """
    if norm == "cut":
        return cut_norm(matrix, time_limit=time_limit, **options)
    if norm == "infinity-to-one":
        return infinity_to_one_norm(matrix, time_limit=time_limit, **options)
    if norm != "normalised":
        raise ParameterError(f"norm must be one of {', '.join(NORMS)}, not {norm!r}")
    if time_limit is not None:
        raise ParameterError("the normalised norm is not searched for; leave the time limit out")
    return normalised_cut_norm(matrix, **options)


def _dispatch(
    matrix: Any,
    bordered: bool,
    method: str,
    tolerance: float,
    time_limit: float | None,
    seed: int,
    start: LowRankSolver | None,
    rank: int | None,
) -> CutNormCertificate:
    check_parameters(method, tolerance, time_limit)
    operand = Operand.from_matrix(matrix)
    if method == "auto":
        small = operand.kind != "operator" and enumeration_cost(operand.shape) <= _AUTO_EXACT_COST
        method = "exact" if small and start is None else "low-rank"
    if method == "exact":
        return _exact(operand, bordered, time_limit)
    if method == "low-rank":
        started = time.monotonic()
        deadline = math.inf if time_limit is None else started + time_limit
        if start is not None and (start.shape != operand.shape or start.bordered != bordered):
            raise MatrixError("the start solution is for another shape or norm; make a new one")
        return search_low_rank(
            operand,
            bordered=bordered,
            limits=SearchLimits(tolerance, deadline),
            seed=seed,
            start=start,
            rank=rank,
        )
    if method == "sdp":
        return _sdp(operand, bordered, SearchLimits(tolerance, math.inf), time_limit, seed)
    return _spectral(operand, tolerance, seed)


def normalised_cut_norm(
    matrix: Any,
    *,
    method: Literal["auto", "exact", "spectral"] = "auto",
    tolerance: float = 0.01,
    seed: int = 0,
) -> CutNormCertificate:
    """||A||_NC = max over nonempty S, T of |A(S, T)| / sqrt(|S||T|), bounded from both sides.

    Args:
        matrix: as for `cut_norm`.
        method: "exact" (shorter side to 20), "spectral" (any size: prefixes of singular vectors
            below, sigma_1 above, at most a factor 2 H_n ~ (ln n)/2 + 2 apart before
            improvement), or "auto".
        tolerance: reported as met if upper/lower <= 1 + tolerance; there is no further search.
        seed: of start vectors.

    Returns:
        A certificate with norm "normalised"; both bounds also as `normalised_lower` and
        `normalised_upper`.

    Raises:
        MatrixError: the matrix is not usable, or too large for "exact".
        ParameterError: an unknown method or a parameter out of range.
    """
    if method not in ("auto", "exact", "spectral"):
        raise ParameterError(f"method must be auto, exact or spectral, not {method!r}")
    check_parameters(method, tolerance, None)
    operand = Operand.from_matrix(matrix)
    exact = method == "exact"
    if method == "auto":
        exact = operand.kind != "operator" and enumeration_cost(operand.shape) <= 2.0**18
    if exact and (operand.kind == "operator" or min(operand.shape) > 20):
        raise MatrixError('too large for the exact normalised norm; use method="spectral"')
    if exact:
        S, T, upper = exact_normalised(operand)
        bound = UpperBound(upper, "deterministic: every set was tried")
    else:
        batch = prefix_cuts(operand, 1, seed=seed)
        S, T = batch.S[0], batch.T[0]
        bound = largest_singular_value(operand, seed)
    lower = witness_value(operand, S, T, "normalised")[0]
    return build_certificate(
        operand,
        S,
        T,
        bound=bound,
        method="exact" if exact else "spectral",
        norm="normalised",
        stopped="tolerance" if bound.value <= (1.0 + tolerance) * lower else "iterations",
        normalised=(lower, bound.value),
    )


def _sdp(
    operand: Operand, bordered: bool, limits: SearchLimits, time_limit: float | None, seed: int
) -> CutNormCertificate:
    X, d_U, d_V = solve_relaxation(operand, bordered=bordered, time_limit=time_limit)
    bound = sdp_bound(operand, d_U, d_V, bordered=bordered)
    batch = sdp_cuts(operand, X, bordered=bordered, seed=seed)
    met = limits.met(float(np.abs(batch.values[0])), bound.value)
    return build_certificate(
        operand,
        batch.S[0],
        batch.T[0],
        bound=bound,
        method="sdp",
        norm="cut" if bordered else "infinity-to-one",
        stopped="tolerance" if met else "iterations",
    )


def _spectral(operand: Operand, tolerance: float, seed: int) -> CutNormCertificate:
    """Prefix cuts with alternation below; above, the best of sigma_1 and of fixed weights."""
    cuts = prefix_cuts(operand, 8, seed=seed)
    sizes = np.sqrt(cuts.S.sum(axis=1, dtype=np.float64) * cuts.T.sum(axis=1))
    normalised = int(np.argmax(np.abs(cuts.values) / sizes))
    batch = best_cuts(improve(operand, np.ascontiguousarray(cuts.T.T), bordered=True), 1)
    sigma = largest_singular_value(operand, seed)
    area = math.sqrt(operand.shape[0]) * math.sqrt(operand.shape[1]) * (1.0 + 2.0**-50)
    bounds = [
        trivial_bound(operand, bordered=True),
        UpperBound(sigma.value * area, sigma.proof, sigma.failure_probability, sigma.sigma),
        scaling_bound(operand, *row_norm_weights(operand, seed), bordered=True, seed=seed),
    ]
    bound = min(bounds, key=lambda candidate: candidate.value)
    lower = witness_value(operand, cuts.S[normalised], cuts.T[normalised], "normalised")[0]
    found = float(np.abs(batch.values[0]))
    return build_certificate(
        operand,
        batch.S[0],
        batch.T[0],
        bound=bound,
        method="spectral",
        norm="cut",
        stopped="tolerance" if bound.value <= (1.0 + tolerance) * found else "iterations",
        normalised=(lower, sigma.value),
    )


def check_parameters(method: str, tolerance: float, time_limit: float | None) -> None:
    """Raise `ParameterError` for an unknown method or a number out of range."""
    if method not in METHODS:
        raise ParameterError(f"method must be one of {', '.join(METHODS)}, not {method!r}")
    if not (tolerance >= 0.0 and math.isfinite(tolerance)):
        raise ParameterError(f"tolerance must be at least 0, not {tolerance}")
    if time_limit is not None and not time_limit >= 0.0:
        raise ParameterError(f"time_limit must be at least 0 seconds, not {time_limit}")


def _exact(operand: Operand, bordered: bool, time_limit: float | None) -> CutNormCertificate:
    """Enumeration where it is possible, else branch and bound; stopped early, the best of both."""
    result: ExactResult | ProgramResult
    if min(operand.shape) <= MAX_SIDE:
        result = enumerate_cuts(operand, bordered=bordered, time_limit=time_limit)
        bound = UpperBound(result.upper, "deterministic: every set was tried")
    else:
        result = solve_program(operand, bordered=bordered, time_limit=time_limit)
        bound = UpperBound(
            result.upper, "branch and bound by HiGHS, widened by 1e-6 of the absolute sum"
        )
    S, T = result.S, result.T
    if not result.finished:
        limits = SearchLimits(0.0, time.monotonic())
        found = search_low_rank(operand, bordered=bordered, limits=limits, seed=0)
        solver = LowRankSolver(operand.shape, None, operand.dtype, 0, bordered=bordered)
        solver.step(operand, 100)
        bound = min(bound, solver.upper_bound(operand), key=lambda proven: proven.value)
        norm: NormName = "cut" if bordered else "infinity-to-one"
        if witness_value(operand, found.S, found.T, norm) > witness_value(operand, S, T, norm):
            S, T = found.S, found.T
    return build_certificate(
        operand,
        S,
        T,
        bound=bound,
        method="exact",
        norm="cut" if bordered else "infinity-to-one",
        stopped="exact" if result.finished else "time",
    )
