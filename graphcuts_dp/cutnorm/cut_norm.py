"""The cut norm and its two relatives, bounded from both sides with a certificate.

`cut_norm` is the public function. It validates its arguments, chooses a method, runs it, and has
`certificate.build_certificate` recompute what is proven. The methods are in modules of their own:

- "exact": enumeration or branch and bound (`exact`), and enumeration for the normalised norm;
- "low-rank": the low-rank relaxation and a search for cuts (`low_rank`);
- "sdp": the same relaxation by SCS, for reference (`relaxation`);
- "spectral": singular vectors and singular values (`spectral`).

Each method returns a `MethodOutcome`: a set of rows S and a set of columns T, an upper bound, and
why it ended. Terms used here:

- `Operand`: the matrix A, shape (n1, n2), as all methods see it. Its `kind` is "dense", "sparse" or
  "operator"; an operator has products but no entries to look at.
- `bordered`: True for the cut norm and False for the infinity-to-one norm. Four times the cut norm
  is the infinity-to-one norm of the *bordered matrix*, which has one more row and column that come
  first and make all rows and columns sum to zero.
- *witness*: the sets S and T whose value |A(S, T)| is the lower bound. A `CutBatch` has several, as
  masks `S`, shape (count, n1), and `T`, shape (count, n2), with `values` A(S, T).
- *sigma_1*: the largest singular value.
- *scaling theorem* (see `certificate`): it makes an upper bound of any positive weights of the rows
  and columns of the bordered matrix; good weights make a good bound.
"""

import math
from collections.abc import Mapping
from types import NoneType
from typing import Any, Literal

import numpy as np

from graphcuts_dp.cutnorm.certificate import (
    CutNormCertificate,
    MethodOutcome,
    NormName,
    Stopped,
    UpperBound,
    build_certificate,
    scaling_bound,
    smallest_bound,
    trivial_bound,
    witness_value,
)
from graphcuts_dp.cutnorm.cut_search import best_cuts, improve
from graphcuts_dp.cutnorm.exact import MAX_SIDE, enumerate_cuts, solve_program
from graphcuts_dp.cutnorm.low_rank import LowRankSolver, SearchLimits, search_low_rank
from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.cutnorm.relaxation import round_solution, solve_relaxation
from graphcuts_dp.cutnorm.spectral import (
    exact_normalised,
    largest_singular_value,
    prefix_cuts,
    row_norm_weights,
)
from graphcuts_dp.errors import GraphError, KindError, MatrixError, ParameterError
from graphcuts_dp.options import check_type, is_number
from graphcuts_dp.privacy.entropy import Seed, as_seed
from graphcuts_dp.resources import Deadline

METHODS = ("auto", "exact", "low-rank", "sdp", "spectral")
NORMS: Mapping[NormName, tuple[str, ...]] = {  # with the methods that each has
    "cut": METHODS,
    "infinity-to-one": METHODS[:-1],
    "normalised": ("auto", "exact", "spectral"),
}
# Entries that an enumeration touches, up to which "auto" takes well under a second: 2^m n for m
# rows and n >= m columns. The normalised norm sorts them, too.
_AUTO_EXACT_COST = 2.0**24
_AUTO_NORMALISED_COST = 2.0**18
_MAX_NORMALISED_SIDE = 20  # rows or columns whose sets are enumerated for the normalised norm
_SPECTRAL_CUTS = 8  # cuts from singular vectors that the spectral method improves
_FALLBACK_STEPS = 100  # alternations for an upper bound where an exact method ran out of time

Method = Literal["auto", "exact", "low-rank", "sdp", "spectral"]


def cut_norm(
    matrix: Any,
    other: Any = None,
    *,
    norm: NormName = "cut",
    method: Method = "auto",
    tolerance: float = 0.01,
    time_limit: float | None = None,
    seed: Seed = 0,
    start: LowRankSolver | None = None,
    rank: int | None = None,
) -> CutNormCertificate:
    """||A||_C = max over S, T of |sum of a_ij over i in S, j in T|, bounded from both sides.

    Args:
        matrix: real, shape (n1, n2): array-like, any scipy sparse matrix, or a `LinearOperator`.
            Entries may be integers, bools, and floats from 1e-300 to 1e300. Or a graph, with:
        other: a graph of the same kind on the same vertices, in any order. Then their distance is
            bounded, the largest difference of any cut; divide it by n^2 for that of graph limits.
            S and T are rows and columns of the first one. NOT PRIVATE if one of them is private.
        norm: "cut"; "infinity-to-one", ||A||_{inf->1} = max over signs x, y of x^T A y, between one
            and four times the cut norm; or "normalised", ||A||_NC = max over nonempty S, T of
            |A(S, T)| / sqrt(|S||T|).
        method: "exact" (enumeration up to a shorter side of 30, which takes a few seconds for 24
            and doubles with each row; above that branch and bound, for up to 20,000 non-zero
            entries: give a time_limit), "low-rank" (any size), "sdp" (the reference, for up to 260
            rows and columns together), "spectral" (fast, loose; not for infinity-to-one), or
            "auto": exact if that takes well under a second, else low-rank. The normalised norm has
            "exact" (shorter side to 20), "spectral" (any size: prefixes of singular vectors below,
            sigma_1 above; for n rows and columns at most a factor of about (ln n)/2 + 2 apart) and
            "auto".
        tolerance: stop once upper/lower <= 1 + tolerance is proven; at least 0.
        time_limit: seconds of search; None for no limit. The proof of the upper bound takes time
            besides. The normalised norm has no search to stop.
        seed: seed of start vectors and hyperplanes, as numpy takes it; the same seed gives the same
            certificate. This is not privacy noise.
        start: a `LowRankSolver` whose vectors to start from (and to update), for "low-rank"; for
            infinity-to-one made with `bordered=False`. None starts at random.
        rank: columns of the low-rank method; None adapts.

    Returns:
        A `CutNormCertificate` of that norm. Of "infinity-to-one" S holds the rows of sign +1, T the
        columns; of "normalised" both bounds are also `normalised_lower` and `normalised_upper`.

    Raises:
        MatrixError: the matrix is not usable (nan, empty, too large for the method).
        GraphError: graphs on other vertices, or of two kinds.
        KindError: a graph of another library.
        ParameterError: an unknown norm, a method that it does not have, a negative tolerance or
            time limit, or a limit, start or rank for a norm that is not searched for.

    Examples:
        >>> certificate = gc.cut_norm([[1.0, -2.0], [-3.0, 4.0]])
        >>> certificate.lower, round(certificate.upper, 6)
        (4.0, 4.0)

    Source: Frieze, Kannan 1999; Lovasz, *Large Networks and Graph Limits*, section 8.1
    (without the minimum over relabellings).
    """
    check_type("norm", norm, str, "a name")
    check_type("method", method, str, "a name")
    check_type("start", start, (LowRankSolver, NoneType), "a LowRankSolver or None")
    if norm not in NORMS:
        raise ParameterError(f"norm must be one of {', '.join(NORMS)}, not {norm!r}")
    if method not in NORMS[norm]:
        known = ", ".join(NORMS[norm])
        raise ParameterError(f"method must be one of {known} for this norm, not {method!r}")
    if not (is_number(tolerance) and 0.0 <= tolerance < math.inf):
        raise ParameterError(f"tolerance must be at least 0, not {tolerance!r:.60}")
    if time_limit is not None and not (is_number(time_limit) and time_limit >= 0.0):
        raise ParameterError(f"time_limit must be at least 0 seconds, not {time_limit!r:.60}")
    number = as_seed(seed)
    if number is None:
        raise ParameterError("seed must be given: it makes the search repeatable")
    operand = _operand(matrix, other)
    limits = SearchLimits(tolerance, Deadline.after(time_limit))
    if norm == "normalised":
        if (time_limit, start, rank) != (None, None, None):
            raise ParameterError(
                "the normalised norm is not searched for; leave time limit, start and rank out"
            )
        chosen = _chosen_method(method, operand, _AUTO_NORMALISED_COST, otherwise="spectral")
        if chosen == "exact":
            outcome = _exact_normalised(operand, limits)
        else:
            outcome = _spectral_normalised(operand, limits, number)
        return build_certificate(operand, outcome, method=chosen, norm=norm)

    bordered = norm == "cut"
    # A start asks for "low-rank": no enumeration costs 0 or less, so "auto" is never "exact" then.
    exact_cost = _AUTO_EXACT_COST if start is None else 0.0
    chosen = _chosen_method(method, operand, exact_cost, otherwise="low-rank")
    if chosen == "exact":
        outcome = _exact(operand, norm, limits.deadline)
    elif chosen == "spectral":
        outcome = _spectral(operand, limits, number)
    elif chosen == "sdp":
        outcome = _relaxed(operand, limits, number, bordered=bordered)
    else:
        if start is not None and (start.shape != operand.shape or start.bordered != bordered):
            raise MatrixError("the start solution is for another shape or norm; make a new one")
        outcome = search_low_rank(
            operand, bordered=bordered, limits=limits, seed=number, start=start, rank=rank
        )
    return build_certificate(operand, outcome, method=chosen, norm=norm)


def _operand(matrix: Any, other: Any) -> Operand:
    """Return the matrix of `cut_norm`, or the difference of two graphs.

    Raises:
        KindError: a graph of another library.
        GraphError: graphs on other vertices, or of two kinds; a second matrix.
        MatrixError: no usable matrix.
    """
    if any(hasattr(graph, "is_directed") for graph in (matrix, other)):  # networkx, igraph
        raise KindError(
            "cut_norm takes a matrix, or two graphs of this package: convert graphs of networkx "
            "and igraph by gc.Graph.of, and pass gc.Graph.of(graph).to_scipy() for one alone"
        )
    if other is None:
        return Operand.from_matrix(matrix)
    if not hasattr(matrix, "difference"):
        raise GraphError("other is for two graphs; of two matrices give their difference")
    return Operand.from_matrix(matrix.difference(other))


def _chosen_method(method: Method, operand: Operand, exact_cost: float, *, otherwise: str) -> str:
    """Return the method that is meant; "auto" means "exact" if its cost is small.

    Args:
        method: the argument of `cut_norm`.
        operand: the matrix.
        exact_cost: largest cost for "exact": 2^(shorter side) times the longer side, the number of
            entries that an enumeration touches.
        otherwise: the method that "auto" means for larger matrices.
    """
    if method != "auto":
        return str(method)
    shorter, longer = min(operand.shape), max(operand.shape)
    cost = 2.0 ** min(shorter, 1000) * longer  # without overflow
    return "exact" if operand.kind != "operator" and cost <= exact_cost else otherwise


def _exact(operand: Operand, norm: NormName, deadline: Deadline) -> MethodOutcome:
    """Enumerate where that is possible, else use branch and bound.

    If the time runs out, return the better of the sets so far and of a short low-rank search, and
    the smaller of both upper bounds. (That of an unfinished enumeration is infinite.)
    """
    bordered = norm == "cut"
    if min(operand.shape) <= MAX_SIDE:
        optimum = enumerate_cuts(operand, bordered=bordered, deadline=deadline)
        proof = "deterministic: every set was tried"
    else:
        optimum = solve_program(operand, bordered=bordered, deadline=deadline)
        proof = "branch and bound by HiGHS, widened by 1e-6 of the absolute sum"
    exact = MethodOutcome(optimum.S, optimum.T, UpperBound(optimum.upper, proof), "exact")
    if optimum.finished:
        return exact
    # With a passed deadline the search makes one short run of alternations and rounds the vectors
    # to cuts. It improves these by alternation only, without tabu search or recombination.
    time_is_up = SearchLimits(tolerance=0.0, deadline=Deadline.after(0.0))
    search = search_low_rank(operand, bordered=bordered, limits=time_is_up, seed=0)
    # The bound of this search is loose, as its weights come from a few alternations. A solver with
    # more alternations gives better weights.
    solver = LowRankSolver(operand.shape, dtype=operand.dtype, seed=0, bordered=bordered)
    solver.step(operand, _FALLBACK_STEPS)
    bound = smallest_bound(exact.bound, solver.upper_bound(operand))
    # `witness_value` returns (proven lower bound, sign), so this compares lower bounds.
    witness = max(
        exact, search, key=lambda outcome: witness_value(operand, outcome.S, outcome.T, norm)
    )
    return MethodOutcome(witness.S, witness.T, bound, "time")


def _relaxed(operand: Operand, limits: SearchLimits, seed: int, *, bordered: bool) -> MethodOutcome:
    """Solve the relaxation by SCS: its dual weights give the bound, its rounding the sets."""
    X, d_U, d_V = solve_relaxation(operand, bordered=bordered, deadline=limits.deadline)
    bound = scaling_bound(operand, d_U, d_V, bordered=bordered)
    batch = round_solution(operand, X, bordered=bordered, seed=seed)
    stopped = _stopped_without_search(batch.first_value, bound, limits)
    return MethodOutcome(batch.S[0], batch.T[0], bound, stopped)


def _spectral(operand: Operand, limits: SearchLimits, seed: int) -> MethodOutcome:
    """Improve cuts from singular vectors, and return the smallest of three upper bounds.

    The bounds are the sum of entries of one sign, sigma_1 sqrt(n1 n2), and the scaling theorem with
    the norms of rows and columns as weights. The outcome also bounds the normalised norm.
    """
    # Cuts with large |A(S, T)| / sqrt(|S||T|); the one that is best by this is the witness of the
    # normalised norm. Alternation then improves |A(S, T)| itself.
    cuts = prefix_cuts(operand, _SPECTRAL_CUTS, seed=seed)
    sizes = np.sqrt(cuts.S.sum(axis=1, dtype=np.float64) * cuts.T.sum(axis=1))  # sqrt(|S||T|)
    best_normalised = int(np.argmax(np.abs(cuts.values) / sizes))
    # cuts.T are the masks of columns (not a transpose), one cut a row. `improve` takes one cut a
    # column, shape (n2, count).
    columns = np.ascontiguousarray(cuts.T.transpose())
    batch = best_cuts(improve(operand, columns, bordered=True), 1)
    sigma = largest_singular_value(operand, seed)
    # |A(S, T)| = |1_S^T A 1_T| <= sigma_1 ||1_S|| ||1_T|| = sigma_1 sqrt(|S||T|), and this is at
    # most sigma_1 sqrt(n1 n2). The last factor rounds it up.
    area = math.sqrt(operand.shape[0]) * math.sqrt(operand.shape[1]) * (1.0 + 2.0**-50)
    bound = smallest_bound(
        trivial_bound(operand, bordered=True),
        UpperBound(sigma.value * area, sigma.proof, sigma.failure_probability, sigma.sigma),
        scaling_bound(operand, *row_norm_weights(operand, seed), bordered=True, seed=seed),
    )
    S, T = cuts.S[best_normalised], cuts.T[best_normalised]
    normalised_lower, _ = witness_value(operand, S, T, "normalised")
    stopped = _stopped_without_search(batch.first_value, bound, limits)
    normalised = normalised_lower, sigma.value
    return MethodOutcome(batch.S[0], batch.T[0], bound, stopped, normalised)


def _exact_normalised(operand: Operand, limits: SearchLimits) -> MethodOutcome:
    if operand.kind == "operator" or min(operand.shape) > _MAX_NORMALISED_SIDE:
        raise MatrixError('too large for the exact normalised norm; use method="spectral"')
    S, T, upper = exact_normalised(operand)
    bound = UpperBound(upper, "deterministic: every set was tried")
    lower, _ = witness_value(operand, S, T, "normalised")
    stopped = _stopped_without_search(lower, bound, limits)
    return MethodOutcome(S, T, bound, stopped, (lower, bound.value))


def _spectral_normalised(operand: Operand, limits: SearchLimits, seed: int) -> MethodOutcome:
    batch = prefix_cuts(operand, 1, seed=seed)
    bound = largest_singular_value(operand, seed)
    lower, _ = witness_value(operand, batch.S[0], batch.T[0], "normalised")
    stopped = _stopped_without_search(lower, bound, limits)
    return MethodOutcome(batch.S[0], batch.T[0], bound, stopped, (lower, bound.value))


def _stopped_without_search(lower: float, bound: UpperBound, limits: SearchLimits) -> Stopped:
    """Return why a method ended that makes one attempt only.

    It is "tolerance" if its bounds are within the tolerance, else "iterations".
    """
    return "tolerance" if limits.are_close(lower, bound.value) else "iterations"
