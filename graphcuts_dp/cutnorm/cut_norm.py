"""The public functions: the cut norm and its two relatives, each with a certificate."""

import math
import time
from typing import Any, Literal

import numpy as np

from graphcuts_dp.cutnorm.certificate import (
    CutNormCertificate,
    NormName,
    build_certificate,
    witness_value,
)
from graphcuts_dp.cutnorm.exact import MAX_SIDE, ExactResult, enumerate_cuts, enumeration_cost
from graphcuts_dp.cutnorm.low_rank import LowRankSolver
from graphcuts_dp.cutnorm.mixed_integer import ProgramResult, solve_program
from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.cutnorm.rounding import best_cuts, improve
from graphcuts_dp.cutnorm.sdp import sdp_bound, sdp_cuts, solve_relaxation
from graphcuts_dp.cutnorm.search import SearchLimits, search_low_rank
from graphcuts_dp.cutnorm.spectral import (
    exact_normalised,
    largest_singular_value,
    prefix_cuts,
    row_norm_weights,
)
from graphcuts_dp.cutnorm.upper_bound import UpperBound, scaling_bound, trivial_bound
from graphcuts_dp.errors import MatrixError, ParameterError

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
