"""Bounds from public numbers alone: B(alpha) of each update rule, and the error of each session.

Each bound is one function here. A calibration tunes its noise by it, a session states it, and a
forecast, a plan and the tables of the papers call it. No graph is read, and no vertex set held;
sizes are a number of vertices, a pair (left, right) of a bipartite graph, or `ArcsOn`. The file is
long, since it is the only home of the formulas.

1. B of multiplicative weights and Frieze-Kannan, by which their rules are bounded, too; that of
   mirror descent is in `learn.norms`.
2. The error of an online mechanism. A construction needs at most B(alpha) updates, and the fewer it
   needs, the less noise each of its answers gets; so alpha depends on a threshold T that depends on
   B(alpha). The functions here solve that circle, for any B. The papers' modes keep the printed
   constants, corrected where a proof needs it (each docstring says where). At epsilon = 1 the
   errors of GRU12's and JT12's exceed every cut of graphs up to 10^5 vertices, and DR14's seldom
   stays under half of the edges; `tight_online` is what the same ideas give today. No bound here
   knows that answering 0 is never off by more than m.
3. The error of noise on each answer, and of randomised response.

Source: GRU12, section 4; each function names its own.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import final

import numpy as np
import scipy

from graphcuts_dp.confidence import DEFAULT_FAILURE
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.learn.base import Rule
from graphcuts_dp.options import (
    OUTPUT,
    Checked,
    check,
    check_positive,
    check_probability,
    is_number,
    option,
)
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.privacy.count_noise import ValueNoise, count_noise
from graphcuts_dp.privacy.default_unit import EDGE
from graphcuts_dp.privacy.distributions import BinaryResponse, response_radius
from graphcuts_dp.privacy.noise_scales import sparse_vector_scales
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.queries.universe import Universe

UpdateBound = Callable[[float], float]
_USUAL_DEGREE = 20  # average, of a graph of which nobody says how many edges it has
_MOST_QUERIES = 10**18
_SMALLEST_BETA = 1e-12
_MOST_VERTICES = 10**9
_MOST_UPDATES = 1e15
_PLACES = {True: 3, False: 4}  # where a vertex can be: in S, in T, in none; in both if not disjoint
_SMALLEST, _LARGEST = 1e-12, 1e30  # where the roots are sought, in edges

# Sizes


@final
@dataclass(frozen=True)
class ArcsOn:
    """The size of a directed graph: its number of vertices."""

    n: int


Size = int | tuple[int, int] | ArcsOn


def shape_of(n: Size) -> tuple[int, int]:
    """Of the matrix of a graph."""
    if isinstance(n, tuple):
        return n
    return (n.n, n.n) if isinstance(n, ArcsOn) else (n, n)


def size_of(universe: Universe) -> Size:
    """The public size of a graph on these pairs."""
    if universe.bipartite:
        return universe.shape
    return ArcsOn(universe.shape[0]) if universe.directed else universe.shape[0]


def pairs_of(n: Size) -> int:
    """X: n(n-1)/2, or left * right, or n(n-1) arcs."""
    rows, columns = shape_of(n)
    if isinstance(n, int):
        return n * (n - 1) // 2
    return rows * (columns - isinstance(n, ArcsOn))


def largest_disjoint_cut(n: Size) -> int:
    """Most pairs between disjoint S and T: floor(n^2/4), or X if bipartite."""
    return pairs_of(n) if isinstance(n, tuple) else shape_of(n)[0] ** 2 // 4


@final
@dataclass(frozen=True, kw_only=True)
class CutSizes:
    """Public sizes that a bound for cuts rests on.

    Attributes:
        shape: of the matrix.
        pairs: X.
        most: N, the most pairs of a query.
        right: t, the most columns that a query has pairs in.
        bipartite: whether rows and columns are two sides.
        span: largest difference of two coefficients of a query: 1 of cuts, 2 where some are -1.
        spectral: the largest singular value that a query can have; None where it is not known, or
            of cuts, whose only one is their Euclidean norm.
    """

    shape: tuple[int, int]
    pairs: int
    most: int
    right: int
    bipartite: bool
    span: float = 1.0
    spectral: float | None = None

    @classmethod
    def of(
        cls,
        n: Size,
        *,
        disjoint: bool = False,
        max_right_size: int | None = None,
        linear: bool = False,
        spectral: float | None = None,
    ) -> "CutSizes":
        """From the size of a graph.

        Args:
            n: its size.
            disjoint: whether all queries are cuts with disjoint S and T.
            max_right_size: of a bipartite graph: most right vertices that a query is about.
            linear: whether queries have any coefficients in [-1, 1].
            spectral: of these, on a bipartite graph: the largest singular value of one.

        Raises:
            ParameterError: a number that is for bipartite graphs.
        """
        shape, bipartite = shape_of(n), isinstance(n, tuple)
        if max_right_size is not None and not bipartite:
            raise ParameterError("max_right_size is for bipartite graphs: the other side of a cut")
        if spectral is not None and not bipartite:
            raise ParameterError("max_spectral_norm is for bipartite graphs")
        right = shape[1] if max_right_size is None else min(shape[1], max_right_size)
        most = shape[0] * right if bipartite else pairs_of(n)
        if disjoint and not bipartite:
            most = largest_disjoint_cut(n)
        return cls(
            shape=shape,
            pairs=pairs_of(n),
            most=most,
            right=right,
            bipartite=bipartite,
            span=2.0 if linear else 1.0,
            spectral=None if spectral is None else min(float(spectral), math.sqrt(most)),
        )


def usual_edges(n: Size) -> float:
    """How many edges are assumed where nobody guesses it: 10 a vertex, at most half of all."""
    vertices = sum(n) if isinstance(n, tuple) else shape_of(n)[0]
    return max(1.0, min(vertices * _USUAL_DEGREE, max(pairs_of(n), 2)) / 2)


# B of multiplicative weights and Frieze-Kannan


def squared_start(
    pairs: int, total_weight: float, *, total_error: float = 0.0, rule: Rule = "tight"
) -> tuple[float, float]:
    """The density d of Frieze-Kannan's first hypothesis, and a bound on ||D - d||^2.

    Tight, d = m / X and ||D - d||^2 <= m (1 - d); as printed, d = 0 and ||D||^2 <= m. In general it
    is m (1 - 2 d) + d^2 X for the true m, which may lie on either side of `total_weight`.
    """
    density = total_weight / max(pairs, 1) if rule == "tight" else 0.0
    return density, total_weight * (1 - density) + total_error * abs(1 - 2 * density)


def squared_drop(alpha: float, largest_norm_squared: float) -> float:
    """By how much a step of Frieze-Kannan lowers ||D - h||^2 at least."""
    return alpha**2 / largest_norm_squared


def entropy_start(
    pairs: int, total_weight: float, *, total_error: float = 0.0, rule: Rule = "tight"
) -> float:
    """A bound on KL(D^||h^) for the same weight on all pairs: ln(X/m), as printed ln X.

    Weights in [0, 1] that sum to m have entropy at least ln m once normalised, and at least 0.
    """
    entropy = math.log(max(1.0, total_weight - total_error)) if rule == "tight" else 0.0
    return math.log(pairs) - entropy


def entropy_drop(share: float, *, span: float = 1.0, rule: Rule = "tight") -> float:
    """By how much a step of multiplicative weights lowers KL at least, for an answer `share` off.

    Tight 2 (alpha / (m R))^2; as printed alpha^2 / (4 m^2), for the paper's m = n: GRU12 prints
    alpha^2 / (4 n) after Claim A.5; its own theorem needs the square.

    Args:
        share: alpha/m, of the normalised databases; at most `span`.
        span: R of the coefficients.
        rule: see `Rule`.
    """
    return share**2 / 4 if rule == "as printed" else 2 * (share / span) ** 2


def frieze_kannan_updates(
    n: Size, edges: float, rule: Rule = "tight", disjoint: bool = False
) -> UpdateBound:
    """B of the Frieze-Kannan construction on simple graphs.

    Args:
        n: vertices, (left, right), or `ArcsOn`.
        edges: m, in [0, X].
        rule: "tight": m(1-d) N/alpha^2 for density d; "as printed": m X/alpha^2.
        disjoint: whether all queries have disjoint S and T, so that N = floor(n^2/4); else N = X.
    """
    pairs = pairs_of(n)
    most = largest_disjoint_cut(n) if disjoint and rule == "tight" else pairs
    _, start = squared_start(pairs, edges, rule=rule)
    return lambda alpha: start / squared_drop(alpha, most)


def multiplicative_weights_updates(
    n: Size, edges: float, *, rule: Rule = "tight", span: float = 1.0
) -> UpdateBound:
    """B of multiplicative weights on simple graphs.

    Args:
        n: vertices, (left, right), or `ArcsOn`.
        edges: m, in (0, X].
        rule: "tight": m^2 ln(X/m)/(2 alpha^2); "as printed": 4 m^2 ln X/alpha^2.
        span: R of the coefficients: 1 for cuts; B grows with its square.
    """
    pairs = pairs_of(n)
    start = entropy_start(pairs, edges, rule=rule)
    return lambda alpha: start / entropy_drop(alpha / edges, span=span, rule=rule)


def at_least_one(update_bound: UpdateBound) -> UpdateBound:
    """One update must be paid for even where B says that none happens: the cap must be hard."""
    return lambda alpha: max(1.0, update_bound(alpha))


# The error of online mechanisms


@final
@dataclass(frozen=True, kw_only=True)
class ErrorBound:
    """What a mechanism guarantees about all its answers.

    Attributes:
        alpha: tolerance that the construction is tuned to, in edges.
        updates: cap on the number of updates, >= 0.
        threshold: what (noisy) discrepancies are compared with, in edges.
        error: with probability 1 - beta, no answer is farther from the truth than this.
    """

    alpha: float
    updates: int
    threshold: float
    error: float


@final
@dataclass(frozen=True, kw_only=True)
class PaperConstants:
    """The constants of a paper's mechanism.

    Attributes:
        noise: of the threshold's noise; each paper's function says how.
        tolerance: alpha in thresholds.
        error: likewise.
    """

    noise: float
    tolerance: float
    error: float


PAPERS = {
    "gru12": PaperConstants(noise=1000, tolerance=3 / 4, error=5 / 4),
    "jt12": PaperConstants(noise=100, tolerance=1 / 2, error=2),
    "dr14": PaperConstants(noise=1 + math.sqrt(512), tolerance=1 / 2, error=3 / 2),
}


def _paper_bound(
    known: PaperConstants, update_bound: UpdateBound, threshold: Callable[[float], float]
) -> ErrorBound:
    """The alpha with alpha = tolerance T, where T depends on B(alpha), and what follows from it."""
    alpha = solve_circle(lambda alpha: known.tolerance * threshold(update_bound(alpha)))
    return ErrorBound(
        alpha=alpha,
        updates=whole(update_bound(alpha)),
        threshold=alpha / known.tolerance,
        error=alpha / known.tolerance * known.error,
    )


def _compared(
    known: PaperConstants,
    update_bound: UpdateBound,
    *,
    queries: float,
    epsilon: float,
    delta: float,
    beta: float,
) -> ErrorBound:
    """Of noisy answers that are compared: sigma = noise sqrt(B) ln(4/delta)/epsilon."""

    def threshold(updates: float) -> float:
        sigma = known.noise * math.sqrt(updates) * math.log(4 / delta) / epsilon
        return 4 * sigma * math.log(2 * queries / beta)

    return _paper_bound(known, update_bound, threshold)


def gru12_online(update_bound: UpdateBound, **terms: float) -> ErrorBound:
    """GRU12's Algorithm 1: alpha = 3T/4 with T = 4 sigma ln(2k/beta).

    sigma = 1000 sqrt(B(alpha)) ln(4/delta)/epsilon. The error is 5T/4 = 5 alpha/3 (Theorem 4.9
    calls it alpha), and equation (3) needs ln(2k/beta) where it prints ln(k/beta).

    Args:
        update_bound: B.
        terms: `queries`, `epsilon`, `delta` in (0, 1) and `beta`, as for `tight_online`.

    Raises:
        ParameterError: no alpha solves the equation.

    Source: GRU12, section 4.
    """
    return _compared(PAPERS["gru12"], update_bound, **terms)


def jt12_online(update_bound: UpdateBound, *, gamma: float = 1.0, **terms: float) -> ErrorBound:
    """JT12's Algorithm 1: T = (4/epsilon0) ln(2k/beta), error 2T, updates where |d| >= T/2.

    epsilon0 = epsilon/(100 gamma sqrt(B) ln(4/delta)). The paper takes B as given, but it is
    B(T/2): the circle is solved here.

    Args:
        update_bound: B.
        gamma: l_1 distance of neighbours, > 0.
        terms: as for `gru12_online`; the theorem's own beta is half of this one.

    Raises:
        ParameterError: no T solves the equation.

    Source: JT12, Algorithm 1 and Theorem 2.
    """
    known = PAPERS["jt12"]
    return _compared(replace(known, noise=known.noise * gamma), update_bound, **terms)


def dr14_online(
    update_bound: UpdateBound, *, queries: float, epsilon: float, delta: float, beta: float
) -> ErrorBound:
    """DR14's Algorithm 11 (NumericSparse): threshold 2 alpha, error 3 alpha.

    alpha = (1 + sqrt(512)) sqrt(c ln(2/delta)) (ln 2k + ln(4c/beta))/epsilon with c = B(alpha), or
    9 c (ln 2k + ln(4c/beta))/epsilon for delta = 0. NumericSparse is asked 2k queries: the printed
    threshold for delta > 0 has ln k. Answers count edges: the book's alpha times m.

    Args:
        update_bound: B, of unnormalised databases.
        queries: k >= 1.
        epsilon: > 0.
        delta: in [0, 1).
        beta: probability of failure, in (0, 1).

    Raises:
        ParameterError: no alpha solves the equation.

    Source: DR14, Algorithm 11 and Theorems 5.14 and 5.15.
    """
    known = PAPERS["dr14"]

    def threshold(updates: float) -> float:
        c = max(1.0, updates)
        logs = math.log(2 * queries) + math.log(4 * c / beta)
        if delta == 0:
            return 2 * 9 * c * logs / epsilon
        return 2 * known.noise * math.sqrt(c * math.log(2 / delta)) * logs / epsilon

    return _paper_bound(known, update_bound, threshold)


def tight_online(
    update_bound: UpdateBound, *, queries: float, epsilon: float, delta: float, beta: float
) -> ErrorBound:
    """Two one-sided sparse vectors under zCDP, no numeric answers: error alpha + slack.

    c = floor(B(alpha)) updates are allowed, and alpha is chosen for the least error; see
    `sparse_vector_scales`. The cap c holds whether or not B is right.

    Args:
        update_bound: B.
        queries: k >= 1.
        epsilon: > 0.
        delta: in (0, 1).
        beta: probability of failure, in (0, 1).
    """
    rho = zcdp_rho(epsilon=epsilon, delta=delta)

    def bound(updates: float) -> ErrorBound:
        alpha = _alpha_for(update_bound, updates)
        scales = sparse_vector_scales(rho=rho, updates=updates, queries=queries, beta=beta)
        return ErrorBound(
            alpha=alpha,
            updates=math.floor(updates),
            threshold=alpha + scales.margin,
            error=alpha + scales.slack,
        )

    top = math.log(_MOST_UPDATES)
    found = math.exp(
        scipy.optimize.minimize_scalar(
            lambda log_updates: bound(math.exp(log_updates)).error,
            bounds=(0, top),
            method="bounded",
        ).x
    )
    # The best whole number, the smallest alpha for it, and its neighbours if B has jumps.
    whole_numbers = {0, 1, math.floor(found), math.ceil(found)}
    return min(map(bound, whole_numbers), key=lambda each: each.error)


def checked_guarantee(queries: float, epsilon: float, delta: float, beta: float) -> None:
    """Check what a guarantee is made of: k >= 1, epsilon > 0, delta and beta in (0, 1).

    Raises:
        ParameterError: a number out of range.
    """
    check_positive(epsilon=epsilon)
    if not queries >= 1:
        raise ParameterError(f"queries must be at least 1, not {queries}")
    check_probability("delta", delta)
    check_probability("beta", beta)


def whole(updates: float) -> int:
    """Updates that B allows: a solved alpha may put B a rounding error under a whole number."""
    return math.floor(updates * (1 + 1e-9))


def solve_circle(right_side: Callable[[float], float]) -> float:
    """The alpha with alpha = right_side(alpha), which falls in alpha; from above if it jumps."""

    def excess(log_alpha: float) -> float:
        right = right_side(math.exp(log_alpha))
        return log_alpha - math.log(right) if right > 0 else math.inf

    low, high = math.log(_SMALLEST), math.log(_LARGEST)
    if excess(low) >= 0 or excess(high) <= 0:
        raise ParameterError("no tolerance solves the mechanism's equation: check the bound on B")
    root = float(
        scipy.optimize.brentq(lambda x: max(-1e3, min(1e3, excess(x))), low, high, xtol=1e-13)
    )
    while excess(root) < 0:  # on the wrong side of a jump, or of the last bit
        root += 1e-12
    return math.exp(root)


def _alpha_for(update_bound: UpdateBound, updates: float) -> float:
    """The least alpha, within 1e-12, with B(alpha) < updates + 1: no more than `updates` happen."""

    def excess(log_alpha: float) -> float:
        return math.log(update_bound(math.exp(log_alpha))) - math.log(updates + 1)

    low, high = math.log(_SMALLEST), math.log(_LARGEST)
    if update_bound(_LARGEST) >= updates + 1:
        return _LARGEST  # never few enough; no such cap is best
    if update_bound(_SMALLEST) < updates + 1:
        return _SMALLEST
    root = float(scipy.optimize.brentq(excess, low, high, xtol=1e-13))
    while excess(root) >= 0:
        root += 1e-12
    return math.exp(root)


# What is guaranteed, and the errors of noise on answers


@final
@dataclass(frozen=True, kw_only=True)
class SessionWorkload(Checked):
    """What will be asked of a session: how much, and which queries. The less, the less noise.

    A plan takes it, too: whatever is announced of them, it is about cuts between disjoint sets, or
    with `linear` about queries with a largest coefficient of 1.

    Attributes:
        queries: k >= 1: how many answers are guaranteed.
        beta: probability that any of the k intervals is wrong, in [1e-100, 1).
        disjoint: only cuts with disjoint S and T will be asked: smaller errors of "frieze-kannan",
            "mirror-descent" and "binary", which then refuse others.
        linear: rank-one, matrix and other linear queries will be asked, too: "auto" then chooses
            among the methods that answer them all, and others are refused. Since answers then
            change either way, "mirror-descent" has twice the noise that it has for cuts.
        max_right_size: of a bipartite graph: only cuts with at most so many right vertices will be
            asked: smaller errors of "mirror-descent", which then refuses others. Without it its
            norm "entropy" is never worse.
        max_spectral_norm: of "mirror-descent" with `linear`, on a bipartite graph: no query that
            will be asked has a matrix of coefficients of which the largest singular value is more
            than so many times the largest coefficient. With norm "schatten" or "auto" the nuclear
            norm of the graph is then measured, and the error is smaller if that is.
        expected_edges: a public guess of the number of edges, for method "auto", warnings and
            plans; not kept.

    Raises:
        ParameterError: a number out of range.

    Examples:
        >>> gc.SessionWorkload(queries=0)
        Traceback (most recent call last):
        graphcuts_dp.errors.ParameterError: queries must be a whole number from 1 on, not 0
    """

    queries: int = option(
        usual=True, help="Largest number of queries that the session answers.", least=1
    )
    beta: float = option(
        DEFAULT_FAILURE,
        help="Probability that any of the intervals of the session is wrong.",
        least=1e-100,
        below=1,
        group=OUTPUT,
    )
    disjoint: bool = option(
        False,
        help="Announce that S and T of each query share no vertex, which makes errors smaller.",
    )
    linear: bool = option(
        False, help="Answer all linear queries, not only cuts; for method auto or mirror-descent."
    )
    max_right_size: int | None = option(
        None,
        help="Of a bipartite graph: announce that no set T has more vertices than this.",
        least=1,
    )
    max_spectral_norm: float | None = option(
        None,
        help="With linear, of a bipartite graph: announce that no query's largest singular value is"
        " above so many times its largest coefficient.",
        least=1,
    )
    expected_edges: float | None = option(
        None, help="A public guess of the number of edges, used only to choose the method.", above=0
    )

    def expected(self, n: Size) -> float:
        """The number of edges to expect, or of the largest weights that can change."""
        guess = usual_edges(n) if self.expected_edges is None else float(self.expected_edges)
        return min(max(1.0, guess), float(pairs_of(n)))


@final
@dataclass(frozen=True, kw_only=True)
class Setting:
    """The public numbers that a guarantee depends on.

    Attributes:
        n: vertices, or (left, right) of a bipartite graph, or `ArcsOn` of a directed one; at least
            two pairs, at most 10^9 a side.
        edges: m, a public guess, in [1, pairs]. The true one is private.
        workload: k queries, at most 10^18; beta is 1e-12 at least.
        epsilon: privacy parameter, in [1e-6, 50].
        delta: in [0, 1).
        privacy_unit: what neighbouring data differ by.
        rank: of any linear queries on a bipartite graph: a public guess of the rank of its matrix.

    Raises:
        ParameterError: anything else.
    """

    n: Size
    edges: float
    workload: SessionWorkload
    epsilon: float
    delta: float = option(0.0, help="Second privacy parameter.", least=0, below=1)
    privacy_unit: PrivacyUnit = EDGE
    rank: int | None = None

    def __post_init__(self) -> None:
        check(self)
        sides = shape_of(self.n)
        if not (len(sides) == 2 and all(_is_whole(side, _MOST_VERTICES) for side in sides)):
            raise ParameterError(
                "n must be a number of vertices up to 10^9, or two of them: (left, right)"
            )
        if self.pairs < 2:
            raise ParameterError("there must be at least two vertex pairs: add vertices")
        if not (is_number(self.edges) and 1 <= self.edges <= self.pairs):
            raise ParameterError(
                f"edges must lie between 1 and the number of pairs, {self.pairs:,}"
            )
        if self.workload.queries > _MOST_QUERIES:
            raise ParameterError("queries must be at most 10^18")
        if self.workload.beta < _SMALLEST_BETA:
            raise ParameterError(f"beta must be at least {_SMALLEST_BETA:g} here")
        self.privacy_unit.per_change(self.epsilon)
        if not self.workload.linear and (self.workload.max_spectral_norm, self.rank) != (
            None,
            None,
        ):
            raise ParameterError("max_spectral_norm and rank are for linear=True")
        if self.workload.linear and self.privacy_unit.kind == "vertex":
            raise ParameterError("privacy_unit='vertex' is for cuts, not for linear=True")
        if self.rank is not None and not _is_whole(self.rank, min(sides)):
            raise ParameterError("rank is a whole number of at most the smaller side")
        _ = self.sizes  # checks what was announced

    @property
    def pairs(self) -> int:
        """X: all vertex pairs."""
        return pairs_of(self.n)

    @property
    def sizes(self) -> CutSizes:
        """Public sizes that a bound for these queries rests on: cuts are between disjoint sets."""
        work = self.workload
        return CutSizes.of(
            self.n,
            disjoint=not work.linear,
            max_right_size=work.max_right_size,
            linear=work.linear,
            spectral=work.max_spectral_norm,
        )

    @property
    def change(self) -> int:
        """By how much one answer differs between neighbours, in edges."""
        return self.privacy_unit.max_degree or self.privacy_unit.group_size

    def for_one(self, *, zcdp: bool = False) -> "Setting":
        """The setting in which one edge has the privacy that so many need to have together.

        Not for vertices, all edges of which change.

        Args:
            zcdp: whether costs add up in zCDP, else in epsilon and delta.

        Raises:
            ParameterError: too little is left for one of many edges.
        """
        privacy_unit = self.privacy_unit.either_way if self.workload.linear else self.privacy_unit
        epsilon, delta = privacy_unit.budget_per_change(
            epsilon=self.epsilon, delta=self.delta, zcdp=zcdp
        )
        work = replace(self.workload, linear=False, max_spectral_norm=None)
        return replace(
            self, epsilon=epsilon, delta=delta, privacy_unit=EDGE, workload=work, rank=None
        )

    @property
    def distribution(self) -> BinaryResponse:
        """Binary randomised response with this epsilon."""
        return BinaryResponse(self.privacy_unit.per_change(self.epsilon), 1.0)


def _is_whole(value: object, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def noise_on_each(
    distribution: str,
    *,
    epsilon: float,
    delta: float,
    queries: int,
    sensitivity: int,
) -> ValueNoise:
    """Noise on each of k answers that change by so many steps, for (epsilon, delta) of them all."""
    parameter = count_noise(distribution).for_answers(
        epsilon=epsilon, delta=delta, queries=queries, sensitivity=sensitivity
    )
    return ValueNoise(distribution, parameter)


def radius_of_each(noise: ValueNoise, *, queries: int, beta: float) -> int:
    """With probability 1 - beta none of k answers with noise of its own is farther off, in steps.

    A union over the k answers.
    """
    return noise.radius(beta / queries)


# Each is a search for the best exponent, a millisecond; many cuts have equally many pairs.
@lru_cache(maxsize=1 << 16)
def fixed_cuts_radius(
    distribution: BinaryResponse, pairs: int, *, queries: int, beta: float
) -> float:
    """Randomised response of k cuts of so many pairs that do not depend on answers."""
    return response_radius(distribution, pairs, failure=beta / queries)


@lru_cache(maxsize=1 << 16)
def all_cuts_radius(
    distribution: BinaryResponse, n: Size, pairs: int, *, beta: float, disjoint: bool
) -> float:
    """Randomised response of all cuts at once: one of so many pairs, chosen as you like.

    All answers come from the same noise. A failure probability of beta/3^n for each of the at most
    3^n/2 pairs of disjoint sets, beta/4^n for the at most 4^n/2 others, beta/2^(left + right) for
    each cut of a bipartite graph; of a directed graph, where (S, T) and (T, S) are two cuts, half
    of those of the plain one.
    """
    rows, columns = shape_of(n)
    if isinstance(n, tuple):
        cuts = (rows + columns) * math.log(2)
    else:
        cuts = rows * math.log(_PLACES[disjoint]) + math.log(2) * isinstance(n, ArcsOn)
    return distribution.radius(pairs, log_failures=cuts - math.log(beta))


def noise_error(distribution: str, setting: Setting) -> float:
    """With probability 1 - beta no answer with noise of its own is farther off than this.

    Infinity where delta is 0 and the noise needs one, as Gaussian noise.
    """
    if not count_noise(distribution).pure and setting.delta == 0:
        return math.inf
    work = setting.workload
    noise = noise_of(distribution, setting)
    return float(radius_of_each(noise, queries=work.queries, beta=work.beta))


def noise_of(distribution: str, setting: Setting) -> ValueNoise:
    """The noise on each answer of a session of this setting."""
    return noise_on_each(
        distribution,
        epsilon=setting.epsilon,
        delta=setting.delta,
        queries=setting.workload.queries,
        sensitivity=setting.change,
    )


def response_error(setting: Setting, adaptive: bool = True) -> float:
    """Likewise for randomised response, whose noise is drawn once.

    A union over k cuts holds only for cuts that do not depend on answers; else over all cuts.
    """
    distribution, most, work = setting.distribution, setting.sizes.most, setting.workload
    if adaptive:
        return all_cuts_radius(distribution, setting.n, most, beta=work.beta, disjoint=True)
    return fixed_cuts_radius(distribution, most, queries=work.queries, beta=work.beta)


# From which degrees a synthetic graph can show something

SHOWN = 1.5  # times s sqrt(n): see planning/synthetic.py, and bench_fit_quality.py


def degrees_needed(n: Size, *, epsilon: float) -> tuple[float, float]:
    """Average degrees from which communities, and single edges, can show in a synthetic graph.

    Args:
        n: vertices, (left, right), or `ArcsOn`; of a bipartite graph the average degree is
            m/sqrt(left right), of a directed one the average number of arcs that leave a vertex.
        epsilon: privacy of one edge.
    """
    root, side = root_and_side(n)
    single = side * pairs_of(n) / (1 + math.exp(epsilon))
    return SHOWN * root / (2 * math.sinh(epsilon / 2)), single


def epsilon_needed(n: Size, strength: float, *, flips: bool = True) -> float:
    """From which epsilon on communities can show in a synthetic graph; infinite for none.

    A direction of strength theta shows where theta >= SHOWN s sqrt(n), and entries with all of
    epsilon have the deviation s = 1/(2 sinh(epsilon/2)), or sqrt(2)/epsilon with Laplace noise.

    Args:
        n: as for `degrees_needed`.
        strength: the largest that a direction may have: at most the average degree.
        flips: whether bits are flipped, or Laplace noise is added.
    """
    root, _ = root_and_side(n)
    if strength <= 0:
        return math.inf
    ratio = SHOWN * root / (2 * strength)
    return 2 * math.asinh(ratio) if flips else 2 * math.sqrt(2) * ratio


def root_and_side(n: Size) -> tuple[float, float]:
    """Root of n, and average degree over number of edges, or what they are for two sides."""
    rows, columns = shape_of(n)
    ends = 2 if isinstance(n, int) else 1
    return (math.sqrt(rows) + math.sqrt(columns)) / 2, ends / math.sqrt(rows * columns)


def least_cut_excess(n: int, rate: float | Fraction, *, unit: float = 1.0, beta: float) -> float:
    """What the private least cut of n vertices weighs more than the least one, at most.

    At most the sum of n independent X = max(0, D), where D is discrete Laplace noise of this rate:
    P(X = k) = (1-r)/(1+r) r^k for k >= 1, r = e^-rate. By Markov's inequality for e^(t sum X), at
    the best of some t. `gc.least_cut` says why.

    Args:
        n: vertices.
        rate: of the noise, in steps.
        unit: of a step, in weight.
        beta: probability that it is more.
    """
    rate = float(rate)
    tilts = rate * np.linspace(0.001, 0.999, 999)
    r = math.exp(-rate)
    # E e^(tX) - 1 = r (e^t - 1)/((1+r)(1 - r e^t))
    moments = r / (1 + r) * np.expm1(tilts) / -np.expm1(tilts - rate)
    return unit * float(np.min((n * np.log1p(moments) - math.log(beta)) / tilts))
