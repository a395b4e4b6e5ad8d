"""The cut norm and its two relatives, with a certificate; and the exact methods.

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
import warnings
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import highspy
import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatArray
from graphcuts_dp.cutnorm.certificate import (
    CutNormCertificate,
    FoundSets,
    NormName,
    Stopped,
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
from graphcuts_dp.errors import GraphError, MatrixError, ParameterError, SolverError
from graphcuts_dp.options import is_number
from graphcuts_dp.resources import NEVER, Deadline

MAX_SIDE = 30  # of what is enumerated
_TABLE_BITS = 12
_TABLE_ENTRIES = 1 << 18
MAX_SIZE = 260  # of what SCS is asked
KRIVINE_CONSTANT = math.log(1.0 + math.sqrt(2.0))
MAX_ENTRIES = 20_000  # of what is solved by branch and bound
_TRUST = 1e-6  # of the absolute sum: what HiGHS's tolerances may hide


class Optimum(NamedTuple):
    """The best sets that an exact method found, and a proven bound on all others.

    Attributes:
        S: mask of rows.
        T: mask of columns.
        upper: at least the norm. Of an enumeration above its computed value by the rounding of the
            table, and equal to it for integers. Of branch and bound right if HiGHS is up to its
            tolerances; these are covered by widening it by 1e-6 of the sum of absolute entries.
            Infinite if the time ran out before there was one.
        finished: whether all sets were tried.
    """

    S: BoolVector
    T: BoolVector
    upper: float
    finished: bool


def solve_program(operand: Operand, *, bordered: bool, deadline: Deadline = NEVER) -> Optimum:
    """Maximise over all pairs of sets by branch and bound.

    Args:
        operand: the matrix, dense or sparse, at most 20,000 non-zero entries.
        bordered: cut norm (True: both signs of the sum are tried) or infinity-to-one norm (False:
            opposite signs have the same value).
        deadline: when to stop.

    Raises:
        MatrixError: an operator, or too many entries.
    """
    operand.require_entries("exact")
    rows, columns = operand.data.nonzero()
    if len(rows) > MAX_ENTRIES:
        raise MatrixError(
            f'the exact method takes at most {MAX_ENTRIES:,} non-zero entries; use "low-rank"'
        )
    values = np.asarray(operand.data[rows, columns], dtype=np.float64).ravel()
    sides = sum(operand.shape)
    best, upper, finished, chosen = -1.0, 0.0, True, np.zeros(sides, dtype=np.bool_)
    ends = np.stack([rows, operand.shape[0] + columns])
    signs = (1.0, -1.0) if bordered else (1.0,)
    for left, sign in zip(range(len(signs), 0, -1), signs, strict=True):
        solver, constant = _program(ends, sign * values, sides, bordered=bordered)
        seconds = deadline.seconds_left
        if seconds is not None:
            solver.setOptionValue("time_limit", seconds / left)
        solver.run()
        info, status = solver.getInfo(), solver.getModelStatus()
        bound = float(info.mip_dual_bound) if math.isfinite(info.mip_dual_bound) else math.inf
        empty = status == highspy.HighsModelStatus.kModelEmpty
        finished &= empty or status == highspy.HighsModelStatus.kOptimal
        upper = max(upper, constant + (0.0 if empty else bound))
        value = float(info.objective_function_value) + constant
        solution = np.array(solver.getSolution().col_value)
        if len(solution) and math.isfinite(value) and value > best:
            best, chosen = value, solution[:sides] > 0.5
    S, T = np.split(chosen, [operand.shape[0]])
    return Optimum(S, T, upper + _TRUST * operand.absolute.total, finished)


def _program(
    ends: npt.NDArray[np.integer], values: FloatArray, sides: int, *, bordered: bool
) -> tuple[Any, float]:
    """A solver of one maximisation, and a constant that its objective lacks.

    Variables are s and t, then one w for each non-zero entry, with rows w <= s and w <= t for
    positive values, w >= s + t - 1 for negative ones.

    Args:
        ends: row and column of each non-zero entry, columns numbered on from the rows.
        values: of these entries.
        sides: number of rows and columns.
        bordered: cut norm (True) or infinity-to-one norm (False).
    """
    linear, constant = np.zeros(sides), 0.0
    if not bordered:
        # (2s - 1)(2t - 1) = 4w - 2s - 2t + 1
        np.subtract.at(linear, ends[0], 2 * values)
        np.subtract.at(linear, ends[1], 2 * values)
        constant, values = float(values.sum()), 4 * values
    total = sides + len(values)
    lp: Any = highspy.HighsLp()
    lp.num_col_ = total
    lp.sense_ = highspy.ObjSense.kMaximize
    lp.col_cost_ = np.concatenate([linear, values])
    lp.col_lower_, lp.col_upper_ = np.zeros(total), np.ones(total)
    kinds = highspy.HighsVarType
    lp.integrality_ = [kinds.kInteger] * sides + [kinds.kContinuous] * len(values)
    products = sides + np.arange(len(values))
    up, down = values > 0, values < 0
    two = [np.stack([products[up], end[up]], axis=1) for end in ends]
    three = np.stack([products[down], ends[0][down], ends[1][down]], axis=1)
    count = 2 * int(up.sum())
    lengths = np.repeat([2, 3], [count, len(three)])
    lp.num_row_ = len(lengths)
    lp.row_lower_ = np.where(lengths == 2, -highspy.kHighsInf, -1)
    lp.row_upper_ = np.where(lengths == 2, 0, highspy.kHighsInf)
    matrix = lp.a_matrix_
    matrix.format_ = highspy.MatrixFormat.kRowwise
    matrix.start_ = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    matrix.index_ = np.concatenate([*two, three], axis=None).astype(np.int32)
    pair, triple = np.array([1.0, -1.0]), np.array([1.0, -1.0, -1.0])
    matrix.value_ = np.concatenate([np.tile(pair, count), np.tile(triple, len(three))])
    solver: Any = highspy.Highs()  # type: ignore[no-untyped-call]
    options = {"output_flag": False, "threads": 1, "mip_rel_gap": 0.0, "mip_abs_gap": 1e-9}
    for option, value in options.items():
        solver.setOptionValue(option, value)
    solver.passModel(lp)
    return solver, constant


def enumerate_cuts(operand: Operand, *, bordered: bool, deadline: Deadline = NEVER) -> Optimum:
    """Try every set of the shorter side.

    Args:
        operand: the matrix, dense or sparse, shorter side at most 30 (24 takes seconds).
        bordered: cut norm (True) or infinity-to-one norm (False).
        deadline: when to stop.

    Raises:
        MatrixError: the shorter side is above 30, or the matrix is an operator.
    """
    operand.require_entries("exact")
    dense = operand.dense()
    if min(dense.shape) > MAX_SIDE:
        raise MatrixError(
            f"the exact method tries 2^{min(dense.shape)} sets, 2^{MAX_SIDE} at most; "
            'use method="low-rank"'
        )
    transpose = dense.shape[0] > dense.shape[1]
    rows = np.ascontiguousarray(dense.T if transpose else dense)
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
        slack = 3.0 * gamma(sum(rows.shape) + 96) * operand.absolute.total * 1.01
    S, T = (answer, subset) if transpose else (subset, answer)
    return Optimum(S, T, best + slack if finished else np.inf, finished)


def _scan(rows: FloatArray, bordered: bool, deadline: Deadline) -> tuple[float, BoolVector, bool]:
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
            if deadline.passed():
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


def solve_relaxation(
    operand: Operand, *, bordered: bool, accuracy: float = 1e-6, deadline: Deadline = NEVER
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Solve the semidefinite program.

    Args:
        operand: the matrix, dense or sparse, n1 + n2 <= 260.
        bordered: cut norm (True, B = A') or infinity-to-one norm (False, B = A).
        accuracy: SCS's relative and absolute tolerance.
        deadline: when to stop.

    Returns:
        (X, d_U, d_V): the primal matrix, shape (N, N), and the dual variables of its diagonal.

    Raises:
        MatrixError: too large, or an operator.
        SolverError: SCS returned nothing usable.
    """
    operand.require_entries("sdp")
    if sum(operand.shape) > MAX_SIZE:
        raise MatrixError(
            f"the sdp method takes n1 + n2 <= {MAX_SIZE}, not {sum(operand.shape)}; "
            'use method="low-rank"'
        )
    cp: Any = importlib.import_module("cvxpy")  # here, for it takes a second
    B = operand.dense()
    if bordered:  # border first: [[1^T A 1, -1^T A], [-A 1, A]]
        rows = np.concatenate((-B.sum(axis=0, keepdims=True), B))
        B = np.concatenate((-rows.sum(axis=1, keepdims=True), rows), axis=1)
    scale = float(np.abs(B).max()) or 1.0
    n1, n2 = B.shape
    X = cp.Variable((n1 + n2, n1 + n2), PSD=True)
    diagonal = cp.diag(X) == 1
    objective = cp.Maximize(cp.sum(cp.multiply(B / scale, X[:n1, n1:])))
    problem = cp.Problem(objective, [diagonal])
    options: dict[str, float] = {"eps_abs": accuracy, "eps_rel": accuracy, "max_iters": 20_000}
    seconds = deadline.seconds_left
    if seconds is not None:
        options["time_limit_secs"] = max(seconds, 0.01)
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


Method = Literal["auto", "exact", "low-rank", "sdp", "spectral"]
METHODS = ("auto", "exact", "low-rank", "sdp", "spectral")
NORMS: Mapping[NormName, tuple[str, ...]] = {  # with the methods that each has
    "cut": METHODS,
    "infinity-to-one": METHODS[:-1],
    "normalised": ("auto", "exact", "spectral"),
}
_AUTO_EXACT_COST = 2.0**24  # entries that an enumeration touches
_MOST_NORMALISED = 20  # rows or columns whose sets are tried


def cut_norm(
    matrix: Any,
    other: Any = None,
    *,
    norm: NormName = "cut",
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
            Integers and bools are welcome; entries from 1e-300 to 1e300 are. Or a graph, with:
        other: a graph of the same kind on the same vertices, in any order. What is bounded is their
            distance, the largest difference of any cut; divide it by n^2 for that of graph limits.
            S and T are rows and columns of the first one. NOT PRIVATE if one of them is private.
        norm: "cut"; "infinity-to-one", ||A||_{inf->1} = max over signs x, y of x^T A y, between one
            and four times the cut norm; or "normalised", ||A||_NC = max over nonempty S, T of
            |A(S, T)| / sqrt(|S||T|).
        method: "exact" (enumeration to a shorter side of 30, 24 in a second; above that
            branch and bound, for up to 20,000 non-zero entries; give a time_limit), "low-rank"
            (any size), "sdp" (the reference, to about 100), "spectral" (fast, loose; not for
            infinity-to-one), or "auto": exact if that takes well under a second, else low-rank. The
            normalised norm has "exact" (shorter side to 20), "spectral" (any size: prefixes of
            singular vectors below, sigma_1 above, at most a factor 2 H_n ~ (ln n)/2 + 2 apart
            before improvement) and "auto".
        tolerance: stop once upper/lower <= 1 + tolerance is proven; at least 0.
        time_limit: seconds of search, or None. The proof of the upper bound comes on top. The
            normalised norm has no search to stop.
        seed: of start vectors and hyperplanes; the same seed gives the same certificate. This is
            not privacy noise.
        start: a `LowRankSolver` whose vectors to start from (and to update), for "low-rank"; for
            infinity-to-one made with `bordered=False`.
        rank: columns of the low-rank method; None adapts.

    Returns:
        A `CutNormCertificate` of that norm. Of "infinity-to-one" S holds the rows of sign +1, T the
        columns; of "normalised" both bounds are also `normalised_lower` and `normalised_upper`.

    Raises:
        MatrixError: the matrix is not usable (nan, empty, too large for the method).
        GraphError: graphs on other vertices, or of two kinds.
        ParameterError: an unknown norm, a method that it does not have, a negative tolerance or
            time limit, or a limit, start or rank for a norm that is not searched for.

    Examples:
        >>> certificate = gc.cut_norm([[1.0, -2.0], [-3.0, 4.0]])
        >>> certificate.lower, round(certificate.upper, 6)
        (4.0, 4.0)

    Source: Frieze, Kannan 1999; Lovasz, *Large Networks and Graph Limits*, section 8.1
    (without the minimum over relabellings).
    """
    if norm not in NORMS:
        raise ParameterError(f"norm must be one of {', '.join(NORMS)}, not {norm!r}")
    if method not in NORMS[norm]:
        known = ", ".join(NORMS[norm])
        raise ParameterError(f"method must be one of {known} for this norm, not {method!r}")
    if not (is_number(tolerance) and 0.0 <= tolerance < math.inf):
        raise ParameterError(f"tolerance must be at least 0, not {tolerance!r:.60}")
    if time_limit is not None and not (is_number(time_limit) and time_limit >= 0.0):
        raise ParameterError(f"time_limit must be at least 0 seconds, not {time_limit!r:.60}")
    if not (isinstance(seed, int | np.integer) and seed >= 0):
        raise ParameterError(f"seed must be a whole number of at least 0, not {seed!r:.60}")
    if other is not None:
        if not hasattr(matrix, "difference"):
            raise GraphError("other is for two graphs; of two matrices give their difference")
        matrix = matrix.difference(other)
    operand, name = Operand.from_matrix(matrix), str(method)
    limits = SearchLimits(tolerance, Deadline.after(time_limit))
    if norm == "normalised":
        if (time_limit, start, rank) != (None, None, None):
            raise ParameterError(
                "the normalised norm is not searched for; leave time limit, start and rank out"
            )
        if name == "auto":
            name = "exact" if _enumerable(operand, 2.0**18) else "spectral"
        found = _normalised(operand, name, limits, seed)
    else:
        if name == "auto":
            small = start is None and _enumerable(operand, _AUTO_EXACT_COST)
            name = "exact" if small else "low-rank"
        found = _found(operand, norm, name, limits, seed, start, rank)
    return build_certificate(operand, found, method=name, norm=norm)


def _enumerable(operand: Operand, most: float) -> bool:
    """Whether an enumeration touches 2^(shorter side) times the longer side, or few entries."""
    cost = 2.0 ** min(*operand.shape, 1000) * max(operand.shape)
    return operand.kind != "operator" and cost <= most


def _found(
    operand: Operand,
    norm: NormName,
    method: str,
    limits: SearchLimits,
    seed: int,
    start: LowRankSolver | None,
    rank: int | None,
) -> FoundSets:
    bordered = norm == "cut"
    if method == "exact":
        return _exact(operand, norm, limits.deadline)
    if method == "spectral":
        return _spectral(operand, limits, seed)
    if method == "low-rank":
        if start is not None and (start.shape != operand.shape or start.bordered != bordered):
            raise MatrixError("the start solution is for another shape or norm; make a new one")
        return search_low_rank(
            operand, bordered=bordered, limits=limits, seed=seed, start=start, rank=rank
        )
    X, d_U, d_V = solve_relaxation(operand, bordered=bordered, deadline=limits.deadline)
    bound = scaling_bound(operand, d_U, d_V, bordered=bordered)
    batch = sdp_cuts(operand, X, bordered=bordered, seed=seed)
    stopped = _stopped(abs(float(batch.values[0])), bound, limits)
    return FoundSets(batch.S[0], batch.T[0], bound, stopped)


def _normalised(operand: Operand, method: str, limits: SearchLimits, seed: int) -> FoundSets:
    if method == "exact":
        if operand.kind == "operator" or min(operand.shape) > _MOST_NORMALISED:
            raise MatrixError('too large for the exact normalised norm; use method="spectral"')
        S, T, upper = exact_normalised(operand)
        bound = UpperBound(upper, "deterministic: every set was tried")
    else:
        batch = prefix_cuts(operand, 1, seed=seed)
        S, T = batch.S[0], batch.T[0]
        bound = largest_singular_value(operand, seed)
    lower = witness_value(operand, S, T, "normalised")[0]
    return FoundSets(S, T, bound, _stopped(lower, bound, limits), (lower, bound.value))


def _stopped(found: float, bound: UpperBound, limits: SearchLimits) -> Stopped:
    """Why a method ended that does not search: whether what it found is near enough."""
    return "tolerance" if limits.met(found, bound.value) else "iterations"


def _spectral(operand: Operand, limits: SearchLimits, seed: int) -> FoundSets:
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
    stopped = _stopped(abs(float(batch.values[0])), bound, limits)
    return FoundSets(batch.S[0], batch.T[0], bound, stopped, (lower, sigma.value))


def _exact(operand: Operand, norm: NormName, deadline: Deadline) -> FoundSets:
    """Enumeration where it is possible, else branch and bound; stopped early, the best of both."""
    bordered = norm == "cut"
    if min(operand.shape) <= MAX_SIDE:
        best = enumerate_cuts(operand, bordered=bordered, deadline=deadline)
        proof = "deterministic: every set was tried"
    else:
        best = solve_program(operand, bordered=bordered, deadline=deadline)
        proof = "branch and bound by HiGHS, widened by 1e-6 of the absolute sum"
    found = FoundSets(best.S, best.T, UpperBound(best.upper, proof), "exact")
    if best.finished:
        return found
    limits = SearchLimits(0.0, Deadline.after(0.0))
    other = search_low_rank(operand, bordered=bordered, limits=limits, seed=0)
    solver = LowRankSolver(operand.shape, None, operand.dtype, 0, bordered=bordered)
    solver.step(operand, 100)
    bound = min(found.bound, solver.upper_bound(operand), key=lambda proven: proven.value)
    sides = max(found, other, key=lambda each: witness_value(operand, each.S, each.T, norm))
    return FoundSets(sides.S, sides.T, bound, "time")
