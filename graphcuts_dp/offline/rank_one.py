"""Distinguishers that hide every pair once, and what those by rank-one queries share.

With R = G - h, the class is all queries scale * u'Rv with |u| = |v| = 1, where scale is n/2 (the
geometric mean of both sides of a bipartite graph). Its largest value is scale * sigma_1(R), which
singular vectors attain. Every cut between disjoint sets is in the ball: 1_S 1_T' = sqrt(|S||T|)
times a unit pair, and |S||T| <= scale^2. So a distinguisher that is F short on unit pairs
bounds all those cuts: max |R(S, T)| <= scale * (gap found + F). The class over [0, 1]^n is another
one: its largest value is the cut norm, which is hard to find.

The cut that a pair is rounded to has no such promise, since rounding may lose a factor:
`shortfall` is infinite for cuts. It is made of the set where u has one sign, the best partner of
that on noisy data, and so on: a cut between disjoint sets, or all pairs inside one set; in a
directed graph, any cut.

Everything here but `PaidOnce.noisy` reads noisy data only.

Source: GRU12 section 7, which leaves the distinguisher open.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, Literal, Self, final

import numpy as np
import numpy.typing as npt
import scipy
from scipy.sparse.linalg import ArpackError, eigsh, svds

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector
from graphcuts_dp.errors import HypothesisError, ParameterError
from graphcuts_dp.estimate.noisy_matrix import noise_distribution
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import Hypothesis, Sign
from graphcuts_dp.offline.distinguisher import (
    Found,
    GraphSearch,
    checked_graph,
    root_at_most,
    written_out,
)
from graphcuts_dp.offline.query_lists import CutList
from graphcuts_dp.pairs.queries import CutQuery, MatrixQuery
from graphcuts_dp.pairs.universe import Layout, Universe
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.distributions import BinaryResponse, NoiseDistribution
from graphcuts_dp.privacy.noise import EntropySource

# What `find` returns: a cut, or the unit pair itself as a matrix query times scale.
Answer = Literal["cut", "pair"]
_DENSE = 128  # up to here all eigenvectors are computed
_ROUNDS = 20  # of improvement of a cut on a noisy matrix, at most


@final
@dataclass(frozen=True, eq=False)
class UnitPair:
    """Unit vectors u, v on which u'Rv is found to be large. Public.

    Attributes:
        left: u, shape (n,) (left vertices of a bipartite graph).
        right: v, shape (n,).
        gap: noisy value of u'Rv; its sign is part of u, so it is positive but for noise.
    """

    left: FloatVector
    right: FloatVector
    gap: float


def pair_scale(universe: Universe) -> float:
    """Least c such that every cut between disjoint sets is c times the query of a unit pair."""
    return math.sqrt(universe.disjoint_norm_squared)


def usual_cut_norm(universe: Universe) -> float:
    """About the largest |E(S, T)| for independent noise of deviation 1 on all pairs.

    n^1.5/2 for a plain universe, where 0.50 to 0.54 n^1.5 was measured.
    """
    return pair_scale(universe) * math.sqrt(sum(universe.shape) / 2)


def checked_budget(rho: float, grid: Grid) -> None:
    """Check a zCDP budget for Gaussian noise on steps of a grid.

    Raises:
        ParameterError: a budget out of range, or weights without a public cap.
    """
    if not 1e-12 <= rho < math.inf:
        raise ParameterError(f"rho must be a finite number of at least 1e-12, not {rho}")
    if grid.cap is None:
        raise ParameterError("a distinguisher needs a public weight_cap; read the graph with one")


def pair_places(graph: AnyGraph) -> npt.NDArray[np.int64]:
    """The place of each edge in `Universe.pairs`, shape (edges,). Private."""
    layout = Layout.of(graph.space)
    return layout.places(graph.rows.astype(np.int64), graph.columns.astype(np.int64))


def matrix_search(universe: Universe, noisy: FloatMatrix, answer: Answer) -> GraphSearch:
    """A search that has bought a noisy matrix once; what it finds is post-processing.

    Args:
        universe: the public vertex pairs.
        noisy: Z with E[Z] = G, over the universe. It is not copied.
        answer: what `find` returns.
    """

    def find(hypothesis: Hypothesis, source: EntropySource) -> Found:  # noqa: ARG001
        """The top singular pair of Z - h, or a cut made from it."""
        gaps = noisy - written_out(hypothesis, universe)
        pair = top_pair(gaps, symmetric=universe.symmetric)
        if answer == "pair":
            return found_pair(pair, universe)
        return _cut_of(gaps, pair, ordered=not universe.symmetric)

    return GraphSearch(find)


def _cut_of(gaps: FloatMatrix, pair: UnitPair, *, ordered: bool) -> Found:
    """Alternate: the best partner of a set, then the best partner of that, while it helps."""
    known, on_left = heavier_sign(pair.left), True
    best = -1.0
    for _ in range(_ROUNDS):
        sums = (gaps.T if on_left else gaps) @ known
        partner, gap = best_partner(sums, known, ordered=ordered)
        if abs(gap) <= best:
            break
        best = abs(gap)
        found = found_cut(*((known, partner) if on_left else (partner, known)), gap)
        known, on_left = partner, not on_left
    return found


def top_pair(matrix: FloatMatrix, *, symmetric: bool) -> UnitPair:
    """The top singular pair of a noisy matrix, as exact as LAPACK or ARPACK make it.

    Args:
        matrix: shape (n1, n2).
        symmetric: whether it is symmetric; then u = v or u = -v.
    """
    decomposition = None
    if min(matrix.shape) > _DENSE:
        start = np.random.default_rng(7).standard_normal(min(matrix.shape))
        try:
            if symmetric:
                decomposition = eigsh(matrix, k=1, which="LM", v0=start)
            else:
                decomposition = svds(matrix, k=1, v0=start, tol=0)
        except ArpackError:  # two values nearly alike; slower, but it always ends
            pass
    if symmetric:
        values, vectors = decomposition or np.linalg.eigh(matrix)
        largest = int(np.abs(values).argmax())
        vector = vectors[:, largest]
        return UnitPair(
            np.copysign(1, values[largest]) * vector, vector, float(abs(values[largest]))
        )
    left, values, right = decomposition or np.linalg.svd(matrix, full_matrices=False)
    return UnitPair(left[:, 0], right[0], float(values[0]))


def heavier_sign(sums: FloatVector) -> BoolVector:
    """The set with the largest |sum|: all entries that are not negative, or all that are.

    It is the best prefix of the sorted entries. Prefixes that are best for |sum| / sqrt(size) are
    shorter, and what they found under noise was less by either measure.
    """
    negative = sums < 0
    return negative if -sums[negative].sum() > sums[~negative].sum() else ~negative


def best_partner(
    sums: FloatVector, known: BoolVector, *, ordered: bool
) -> tuple[BoolVector, float]:
    """The set whose cut with a known one has the largest |gap|, and the gap.

    Args:
        sums: noisy sums of R over the known set, one for each vertex of the other side.
        known: S (or T), not empty.
        ordered: whether rows and columns are pairs in that order only, as between two sides or of
            arcs: any partner is then possible. If not, the partner is disjoint from the known set,
            or is the known set itself, whose pairs `sums` counts twice.
    """
    if ordered:
        partner = heavier_sign(sums)
        return partner, float(sums[partner].sum())
    inside = float(sums[known].sum()) / 2
    if known.all():
        return known, inside
    partner = np.zeros(len(known), dtype=np.bool_)
    partner[~known] = heavier_sign(sums[~known])
    across = float(sums[partner].sum())
    if known.sum() > 1 and abs(inside) > abs(across):
        return known, inside
    return partner, across


def found_cut(S: BoolVector, T: BoolVector, gap: float) -> Found:
    """A cut with the sign of its noisy gap."""
    sign: Sign = 1 if gap >= 0 else -1
    return Found(query=CutQuery(S, T), sign=sign)


def found_pair(pair: UnitPair, universe: Universe) -> Found:
    """A unit pair as a query of the class: coefficients scale * u v'."""
    coefficients = np.outer(pair_scale(universe) * pair.left, pair.right)
    return Found(query=MatrixQuery(coefficients), sign=1)


@dataclass(frozen=True, kw_only=True)
class PaidOnce:
    """What distinguishers share that hide every pair on its own, and read that from then on.

    Attributes:
        distribution: the noise for one pair; its epsilon is what `begin` costs. Binary noise for
            graphs without weights.
    """

    distribution: NoiseDistribution
    call: ClassVar[None] = None  # each call reads what was bought

    @property
    def setup(self) -> Cost:
        """Pure epsilon of the distribution."""
        return Cost.of_pure(self.distribution.epsilon)

    def with_rho(self, rho: float, *, rounds: int) -> Self:
        """See `Distinguisher.with_rho`: epsilon-DP is epsilon^2/2-zCDP."""
        return self.with_epsilon(root_at_most(2 * Fraction(rho)), rounds=rounds)

    def with_epsilon(self, epsilon: Fraction, *, rounds: int) -> Self:  # noqa: ARG002
        """See `Distinguisher.with_epsilon`: all of it goes into `begin`."""
        noise = self.distribution
        other = noise_distribution(noise.name, epsilon=epsilon, weight_cap=noise.weight_cap)
        return replace(self, distribution=other)

    def noisy(self, graph: AnyGraph, source: EntropySource) -> FloatMatrix:
        """An unbiased noisy value for each pair, as a matrix over the universe: n1 x n2 numbers.

        Guarantee: purely epsilon-DP with the distribution's epsilon: neighbours differ in one pair,
        and one noisy value depends on it.

        Raises:
            ParameterError: other vertices, or a distribution for another weight cap or without
                weights.
        """
        universe: Universe = self.universe  # type: ignore[attr-defined]  # of each of them
        distribution = self.distribution
        checked_graph(graph, universe)
        if distribution.weight_cap != graph.weight_cap or (distribution.bits and graph.weighted):
            raise ParameterError("the distribution of noise does not suit the graph's weights")
        steps = distribution.respond(universe.size, graph.weights, pair_places(graph), source)
        return universe.matrix_of(distribution.estimate(steps))


@final
@dataclass(frozen=True, kw_only=True)
class ResponseRankOne(PaidOnce):
    """Hide every pair on its own, then take the top singular pair of Z - h at each call.

    Args:
        universe: the public vertex pairs.
        distribution: the noise for one pair; its epsilon is what `begin` costs.
        answer: "cut" or "pair"; see `rank_one`.

    Guarantee: `begin` is purely epsilon-DP, see `PaidOnce.noisy`. Calls are post-processing, so
        they are free and any number is allowed. With E = Z - G and all calls at once, the pair
        found has u'(G - h)v >= sigma_1(G - h) - 2 ||E||: sigma_1(Z - h) is at least
        sigma_1(G - h) - ||E||, and u'Ev takes away at most ||E|| more.

    Source: GRU12 sections 6 and 7; the bound on ||E|| is `response_norm`.
    """

    universe: Universe
    answer: Answer = "cut"

    name = "response-rank-one"

    def unit_shortfall(self, gamma: float) -> float:
        """F for unit pairs: u'Rv >= sigma_1(R) - F at all calls, but for probability gamma."""
        shape, plain = self.universe.shape, self.universe.symmetric
        return 2 * response_norm(self.distribution, shape, symmetric=plain, failure=gamma)

    def shortfall(self, gamma: float) -> float:
        """See `Distinguisher.shortfall`: scale times F for pairs, infinite for cuts.

        Args:
            gamma: in (0, 1), for all calls together.
        """
        if self.answer == "cut":
            return math.inf
        return pair_scale(self.universe) * self.unit_shortfall(gamma)

    @property
    def usual_shortfall(self) -> float:
        """About the cut norm of the noise."""
        return usual_cut_norm(self.universe) * self.distribution.standard_deviation

    def begin(self, graph: AnyGraph, source: EntropySource) -> GraphSearch:
        """See `Distinguisher.begin` and `noisy`."""
        return matrix_search(self.universe, self.noisy(graph, source), self.answer)


@final
@dataclass(frozen=True, kw_only=True)
class Released(PaidOnce):
    """Release answers to a list once, by randomised response; distinguish without the graph.

    The list is answered from one noisy matrix. Each call compares a hypothesis with these answers
    and names the cut where they are farthest apart, with the sign. The search proves afterwards:
    with probability 1 - beta, whichever hypothesis and however it was found, it is nowhere on the
    list farther off than the largest released gap, plus the radius of the release.

    Args:
        queries: the public list.
        distribution: the noise for one pair; its epsilon is what `begin` costs.
        beta: probability that what is proven may be too small, in (0, 1).

    Guarantee: `begin` is purely epsilon-DP, see `PaidOnce.noisy`. Calls are post-processing.
    Accuracy: with probability 1 - gamma all answers of the release are within r(gamma) of the
        truth, in a union over the k cuts of the list. Then at every call a cut whose released gap
        is largest has a true signed gap of at least (largest |gap|) - 2 r: the released gap of the
        truly worst cut is at most r smaller than its true one, and that of the cut which is named
        at most r larger.

    Source: DR14 section 5.3.2 (query release solves distinguishing); the release is GRU12 section
    6. Deviation: one release serves all rounds, where the reduction pays for one in each.
    """

    queries: CutList
    beta: float = 0.05

    name = "released"

    @property
    def universe(self) -> Universe:
        """Of the list."""
        return self.queries.universe

    def radius(self, gamma: float) -> float:
        """r: no released answer of the list is farther off, but for probability gamma."""
        pairs, noise = self.queries.most_pairs, self.distribution
        failures = math.log(len(self.queries) / gamma)
        return noise.radius(pairs, log_failures=failures) + pairs * noise.rounding

    def shortfall(self, gamma: float) -> float:
        """2 r(gamma), in weight; see `Distinguisher.shortfall`.

        Args:
            gamma: in (0, 1), for all calls together.
        """
        return 2 * self.radius(gamma)

    @property
    def usual_shortfall(self) -> float:
        """About the largest error among the answers of the list."""
        return self.radius(0.5)

    def answers(self, graph: AnyGraph, source: EntropySource) -> FloatVector:
        """What is released, in weight, shape (k,); see `noisy`."""
        return self.queries.on_matrix(self.noisy(graph, source))

    def begin(self, graph: AnyGraph, source: EntropySource) -> GraphSearch:
        """See `Distinguisher.begin` and `noisy`."""
        released = self.answers(graph, source)

        def gaps(hypothesis: Hypothesis) -> FloatVector:
            if hypothesis.universe != self.universe:
                raise HypothesisError("the hypothesis is over other vertices than the list")
            off: FloatVector = released - self.queries.answers(hypothesis)
            return off

        def find(hypothesis: Hypothesis, source: EntropySource) -> Found:  # noqa: ARG001
            off = gaps(hypothesis)
            worst = int(np.argmax(np.abs(off)))
            return Found(query=self.queries[worst], sign=1 if off[worst] > 0 else -1)

        def prove(hypothesis: Hypothesis, source: EntropySource) -> float:  # noqa: ARG001
            return float(np.abs(gaps(hypothesis)).max()) + self.radius(self.beta)

        return GraphSearch(find, prove)


_ROUNDING = 1 + 1e-9  # covers the rounding of the special functions


def response_norm(
    distribution: NoiseDistribution, shape: tuple[int, int], *, symmetric: bool, failure: float
) -> float:
    """A number that ||Z - A|| does not pass, for Z made by a distribution of noise.

    The smaller of two bounds. One is `subgaussian_norm`. The other holds for any distribution. The
    noise on a pair is xi (e_i e_j' + e_j e_i'), whose exponential has the mean values M(t) and
    M(-t) on the plane of e_i and e_j. So P(||E|| >= t) is at most 2 n times the Chernoff bound for
    a sum of n - 1 entries: Tropp 2012, Theorem 3.6. About deviation * sqrt(2 n ln(2 n / failure)).

    Args:
        distribution: of the entries.
        shape: rows and columns.
        symmetric: whether Z is an adjacency matrix: pairs above the diagonal are independent.
        failure: probability that the norm is larger, in (0, 1).

    Source: Tropp, *User-friendly tail bounds for sums of random matrices*, 2012; Kearns, Saul 1998
    for the proxy of a centred bit, 1/(2 epsilon tanh(epsilon/2)) once it is scaled.
    """
    rows, columns = shape
    largest = max(rows, columns) - 1 if symmetric else max(rows, columns)
    # `radius` counts both tails; the spectrum of a rectangular matrix's double is symmetric.
    dimensions = float(rows) if symmetric else (rows + columns) / 2
    best = distribution.radius(largest, log_failures=math.log(dimensions / failure))
    if isinstance(distribution, BinaryResponse):
        proxy = distribution.unit / (2 * float(distribution.epsilon))
        best = min(best, subgaussian_norm(proxy, shape, symmetric=symmetric, failure=failure))
    return best


def subgaussian_norm(
    proxy: float, shape: tuple[int, int], *, symmetric: bool, failure: float
) -> float:
    """A number that the norm of a matrix of independent sub-Gaussian noise does not pass.

    Let mu be uniform on the unit sphere. For x on it, x'Ex = sum over pairs of 2 x_i x_j xi, and
    the sum of (2 x_i x_j)^2 is at most 2, so E exp(theta x'Ex - theta^2 proxy) <= 1. By Donsker and
    Varadhan, with probability 1 - gamma every probability measure nu on the sphere has

        theta nu(x'Ex) <= theta^2 proxy + KL(nu, mu) + ln(1/gamma).

    Under mu, r = <x,u>^2 has the distribution Beta(1/2, (n-1)/2). For the largest eigenvalue lambda
    with its vector u take nu with r of distribution Beta(a, (n-1)/2) and all else as under mu:
    since E has no trace, nu(x'Ex) = lambda (n r' - 1)/(n - 1) with r' the mean of r. The best theta
    gives

        lambda <= 2 sqrt(proxy (KL + ln(1/gamma))) (n - 1)/(n r' - 1)

    for any a chosen beforehand, and likewise for -E. For large n that is 2.22 sqrt(n proxy), where
    Gaussian noise has 2.00. Rectangular matrices alike, with one sphere for each side.

    Args:
        proxy: E exp(t xi) <= exp(t^2 proxy / 2) for every entry and every t. The discrete Gaussian
            distribution exp(-k^2/(2 v)) on the integers has proxy v (Canonne, Kamath, Steinke
            2020).
        shape: rows and columns.
        symmetric: as for `response_norm`; the diagonal is then zero.
        failure: in (0, 1).
    """
    if symmetric:
        return math.sqrt(proxy) * _symmetric(shape[0], math.log(2 / failure)) * _ROUNDING
    return math.sqrt(proxy) * _rectangular(shape, math.log(1 / failure)) * _ROUNDING


def _symmetric(n: int, log_failures: float) -> float:
    if n < 2:
        return 0.0
    b = (n - 1) / 2

    def bound(log_excess: float) -> float:
        a = 0.5 + math.exp(log_excess)
        mean = a / (a + b)
        return 2 * math.sqrt(_beta_divergence(a, 0.5, b) + log_failures) * (n - 1) / (n * mean - 1)

    middle = math.log(2.5 * b + 1)  # the best r' for large n is 0.715
    found = scipy.optimize.minimize_scalar(bound, bounds=(middle - 6, middle + 6), method="bounded")
    return float(found.fun)


def _rectangular(shape: tuple[int, int], log_failures: float) -> float:
    def bound(logits: npt.NDArray[np.float64]) -> float:
        divergence, kept = log_failures, 1.0
        for size, logit in zip(shape, logits, strict=True):
            if size == 1:  # a sphere of two points
                divergence += math.log(2)
                continue
            # (1 + <x,u>)/2 is Beta(b, b) under the uniform distribution, b = (size - 1)/2
            b = (size - 1) / 2
            a = b * (1 + 2 * math.exp(min(float(logit), 50.0)))
            divergence += _beta_divergence(a, b, b)
            kept *= (a - b) / (a + b)
        return math.sqrt(2 * divergence) / kept

    return float(scipy.optimize.minimize(bound, np.full(2, 1.7), method="Nelder-Mead").fun)


def _beta_divergence(a: float, start: float, b: float) -> float:
    """KL(Beta(a, b), Beta(start, b))."""
    return float(
        scipy.special.betaln(start, b)
        - scipy.special.betaln(a, b)
        + (a - start) * (scipy.special.digamma(a) - scipy.special.digamma(a + b))
    )
