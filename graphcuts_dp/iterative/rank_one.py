"""Distinguishers that hide every pair once, and those by rank-one queries.

With R = G - h, the class is all queries scale * u'Rv with |u| = |v| = 1, where scale is n/2 (the
geometric mean of both sides of a bipartite graph). Its largest value is scale * sigma_1(R), which
singular vectors attain. Every cut between disjoint sets is in the ball: 1_S 1_T' = sqrt(|S||T|)
times a unit pair, and |S||T| <= scale^2. So a distinguisher that is F short on unit pairs
bounds all those cuts: max |R(S, T)| <= scale * (gap found + F). The class over [0, 1]^n is another
one: its largest value is the cut norm, which is hard to find.

The cut that a pair is rounded to has no such guarantee, since rounding may lose a factor:
`shortfall` is infinite. It is made of the set where u has one sign, the best partner of
that on noisy data, and so on: a cut between disjoint sets, or all pairs inside one set; in a
directed graph, any cut.

Everything here but `PaidOnce.noisy` and `PowerSearch` reads noisy data only.

The power method looks for the pair by a few noisy products with A at each call. A certificate of
the result is measured by more of them, and one noisy quotient: with R = A - h and noisy products
Y_t = R X_t + E_t, a value sigma is no largest singular value of R if it would make some Y_t longer
than it is, by Theorem "Noisy products bound the largest singular value". The theorem also states
how likely the random start is short, and from which signal on the factor is small: about
34/sqrt(rho) with a budget of rho.

Source: Ball, *Cube slicing in R^n*, 1986; Hsu, Kakade, Zhang, *A tail inequality for quadratic
forms of subgaussian random vectors*, 2012; Kuczynski, Wozniakowski 1992, for random starts without
noise. GRU12 section 7 leaves open whether rank-one queries can be found privately; this says for
which graphs they are.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, NoReturn, Self, final

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackError, eigsh, svds

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IntMatrix, IntVector
from graphcuts_dp.confidence import DEFAULT_FAILURE
from graphcuts_dp.errors import HypothesisError, ParameterError
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.iterative.distinguisher import (
    GraphSearch,
    ProposedQuery,
    checked_graph,
    root_at_most,
    written_out,
)
from graphcuts_dp.iterative.query_lists import CutList
from graphcuts_dp.learn.base import Hypothesis, Sign
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.count_noise import ValueNoise
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_gaussian
from graphcuts_dp.queries.linear import CutQuery
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.schema.layout import Layout

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
        ParameterError: a budget out of range, or weights without a public bound.
    """
    if not 1e-12 <= rho < math.inf:
        raise ParameterError(f"rho must be a finite number of at least 1e-12, not {rho}")
    if grid.cap is None:
        raise ParameterError("a distinguisher needs a public max_weight; read the graph with one")


def pair_places(graph: AnyGraph) -> npt.NDArray[np.int64]:
    """The place of each edge in `Universe.pairs`, shape (edges,). Private."""
    layout = Layout.of(graph.space)
    return layout.places(graph.rows.astype(np.int64), graph.columns.astype(np.int64))


def matrix_search(universe: Universe, noisy: FloatMatrix) -> GraphSearch:
    """A search that has bought a noisy matrix once; what it finds is post-processing.

    Args:
        universe: the public vertex pairs.
        noisy: Z with E[Z] = G, over the universe. It is not copied.
    """

    def find(hypothesis: Hypothesis, source: EntropySource) -> ProposedQuery:  # noqa: ARG001
        """A cut made from the top singular pair of Z - h."""
        gaps = noisy - written_out(hypothesis, universe)
        pair = top_pair(gaps, symmetric=universe.symmetric)
        return _cut_of(gaps, pair, ordered=not universe.symmetric)

    return GraphSearch(find)


def _cut_of(gaps: FloatMatrix, pair: UnitPair, *, ordered: bool) -> ProposedQuery:
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


def found_cut(S: BoolVector, T: BoolVector, gap: float) -> ProposedQuery:
    """A cut with the sign of its noisy gap."""
    sign: Sign = 1 if gap >= 0 else -1
    return ProposedQuery(query=CutQuery(S, T), sign=sign)


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
        """See `Distinguisher.setup`: what the distribution costs."""
        return self.distribution.cost

    def with_rho(self, rho: float, *, rounds: int) -> Self:
        """See `Distinguisher.with_rho`: epsilon-DP is epsilon^2/2-zCDP."""
        return self.with_epsilon(root_at_most(2 * Fraction(rho)), rounds=rounds)

    def with_epsilon(self, epsilon: Fraction, *, rounds: int) -> Self:  # noqa: ARG002
        """See `Distinguisher.with_epsilon`: all of it goes into `begin`."""
        noise = self.distribution
        other = noise_distribution(noise.name, epsilon=epsilon, max_weight=noise.max_weight)
        return replace(self, distribution=other)

    def noisy(self, graph: AnyGraph, source: EntropySource) -> FloatMatrix:
        """An unbiased noisy value for each pair, as a matrix over the universe: n1 x n2 numbers.

        Guarantee: purely epsilon-DP with the distribution's epsilon: neighbours differ in one pair,
        and one noisy value depends on it.

        Raises:
            ParameterError: other vertices, or a distribution for another maximum weight, or for
                graphs without weights.
        """
        universe: Universe = self.universe  # type: ignore[attr-defined]  # of each of them
        distribution = self.distribution
        checked_graph(graph, universe)
        if distribution.max_weight != graph.max_weight or (distribution.bits and graph.weighted):
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

    Guarantee: `begin` is purely epsilon-DP, see `PaidOnce.noisy`. Calls are post-processing, so
        they are free and any number is allowed. With E = Z - G and all calls at once, the pair
        found has u'(G - h)v >= sigma_1(G - h) - 2 ||E||: sigma_1(Z - h) is at least
        sigma_1(G - h) - ||E||, and u'Ev takes away at most ||E|| more.

    Source: GRU12 sections 6 and 7; a bound on ||E|| is `response_norm` of a checkout.
    """

    universe: Universe

    name = "response-rank-one"

    def shortfall(self, gamma: float) -> float:  # noqa: ARG002
        """Infinite: rounding a pair to a cut may lose a factor."""
        return math.inf

    @property
    def usual_shortfall(self) -> float:
        """About the cut norm of the noise."""
        return usual_cut_norm(self.universe) * self.distribution.standard_deviation

    def begin(self, graph: AnyGraph, source: EntropySource) -> GraphSearch:
        """See `Distinguisher.begin` and `noisy`."""
        return matrix_search(self.universe, self.noisy(graph, source))


@lru_cache(maxsize=256)  # a tuning asks for few of them, with every number of rounds
def _radius(noise: NoiseDistribution, pairs: int, log_failures: float) -> float:
    return noise.radius(pairs, log_failures=log_failures)


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
    beta: float = DEFAULT_FAILURE

    name = "released"

    @property
    def universe(self) -> Universe:
        """Of the list."""
        return self.queries.universe

    def radius(self, gamma: float) -> float:
        """r: no released answer of the list is farther off, but for probability gamma."""
        pairs, noise = self.queries.most_pairs, self.distribution
        failures = math.log(len(self.queries) / gamma)
        return _radius(noise, pairs, failures) + pairs * noise.rounding

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

        def find(hypothesis: Hypothesis, source: EntropySource) -> ProposedQuery:  # noqa: ARG001
            off = gaps(hypothesis)
            worst = int(np.argmax(np.abs(off)))
            return ProposedQuery(query=self.queries[worst], sign=1 if off[worst] > 0 else -1)

        def prove(hypothesis: Hypothesis, source: EntropySource) -> float:  # noqa: ARG001
            return float(np.abs(gaps(hypothesis)).max()) + self.radius(self.beta)

        return GraphSearch(find, prove)


_ROUNDING = 1 + 1e-9  # covers the rounding of the special functions
_HALVINGS = 80


@final
@dataclass(frozen=True, kw_only=True)
class PowerCertificate:
    """What is proven about the largest singular value of R = A - h, and about a pair. Public.

    It is bought by a block of noisy products and one noisy quotient; the proof stands above.

    Attributes:
        pair: unit vectors u, v that were found.
        upper: sigma_1(R) is at most this.
        lower: u'Rv is at least this.
        scale: every cut between disjoint sets is at most this times sigma_1.
        confidence: probability with which both hold at once.
    """

    pair: UnitPair
    upper: float
    lower: float
    scale: float
    confidence: float

    @property
    def cut_bound(self) -> float:
        """No cut between disjoint sets differs by more than this between graph and hypothesis."""
        return self.scale * self.upper


@final
@dataclass(frozen=True, kw_only=True)
class NoisyStep:
    """The public numbers of one noisy product.

    Attributes:
        norm: ||Y_t||.
        noise: tau_t: |u'E_t| for a fixed unit u is at most this, but for a stated probability.
        scale: a_t.
        rounding: at least ||r_t||.
    """

    norm: float
    noise: float
    scale: float
    rounding: float


def start_radius(steps: int, columns: int, failure: float) -> float:
    """r, in steps: |v'X| for a start of K = `steps` is larger, but for a probability.

    Args:
        steps: K: entries are uniform on -K .. K.
        columns: k >= 1.
        failure: in (0, 1).
    """
    k = columns
    log_volume = k / 2 * math.log(math.pi) - math.lgamma(k / 2 + 1)
    reach = math.exp((math.log(0.75 * failure) - log_volume) / k) * (2 * steps + 1) / math.sqrt(2)
    return max(0.0, reach / _ROUNDING - math.sqrt(k / 3))


def noise_length(proxy: float, columns: int, failure: float) -> float:
    """A length that k sub-Gaussian numbers of this proxy do not pass, but for a probability.

    Args:
        proxy: E exp(t xi) <= exp(t^2 proxy/2).
        columns: k >= 1.
        failure: in (0, 1).
    """
    log_failures = math.log(1 / failure)
    most = columns + 2 * math.sqrt(columns * log_failures) + 2 * log_failures
    return math.sqrt(proxy * most) * _ROUNDING


def largest_possible(start: float, steps: Sequence[NoisyStep], most: float) -> float:
    """The largest sigma that the products leave possible.

    Args:
        start: |z_0| is at least this.
        steps: of the products, in order.
        most: that sigma cannot pass in any case.
    """
    low, high = 0.0, most
    if _possible(high, start, steps):
        return high
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if _possible(middle, start, steps) else (low, middle)
    return high * _ROUNDING


def _possible(sigma: float, start: float, steps: Sequence[NoisyStep]) -> bool:
    z = start
    for step in steps:
        y = sigma * z - step.noise
        if y > step.norm * _ROUNDING:
            return False
        z = step.scale * y - step.rounding
        if z <= 0:
            return True
    return True


COLUMNS = 8  # of the start: fewer may all be small, and more share the noise
STEPS = 4
_BITS = 12  # a vector of equal entries has about 2^12 steps in each
_PAIR_BITS = 8
_SHARE = Fraction(9, 10)  # of the budget for products; the rest is for the quotient


def quotient_sensitivity(left: IntVector, right: IntVector, universe: Universe) -> int:
    """By how much U'AV moves when one pair's weight moves by one step, at most.

    |U_i V_j| + |U_j V_i|, or |U_i V_j| where pairs are ordered: at most 2 max |U| max |V|.

    Args:
        left: U, whole entries.
        right: V, likewise.
        universe: the public vertex pairs.
    """
    most = int(np.abs(left).max()) * int(np.abs(right).max())
    return 2 * most if universe.symmetric else most


def uniform_whole(most: int, shape: tuple[int, int], source: EntropySource) -> IntMatrix:
    """Independent whole numbers, uniform on -most .. most: public randomness.

    Args:
        most: at most 2^30.
        shape: of the result.
        source: where the bytes come from.
    """
    width, count = 2 * most + 1, shape[0] * shape[1]
    limit = 2**32 - 2**32 % width  # of equal shares
    found = np.zeros(0, dtype=np.int64)
    while len(found) < count:
        words = source.bytes(4 * (count - len(found))).copy().view(np.uint32).astype(np.int64)
        found = np.concatenate([found, words[words < limit] % width])
    return found.reshape(shape) - most


def _whole(vector: FloatVector, bits: int) -> IntVector:
    """A unit vector in steps of 2^-bits, not zero."""
    length = float(np.linalg.norm(vector))
    if not length:
        return np.ones(len(vector), dtype=np.int64)
    steps: IntVector = np.rint(np.ldexp(vector / length, bits)).astype(np.int64)
    return steps


def _most(dense: FloatMatrix, cap: float) -> float:
    """What sigma_1(A - h) cannot pass for any A with entries in [0, cap]: |R| is within a matrix.

    The norm of that is at most the root of its largest row sum times its largest column sum.
    """
    reach = np.maximum(np.abs(dense), np.abs(cap - dense))
    return math.sqrt(float(reach.sum(axis=0).max()) * float(reach.sum(axis=1).max())) * (1 + 1e-9)


_ENTRY_BITS = 8  # a vector of equal entries has about 2^8 steps in each
_CLIP = 0.5  # vectors are cut at this over sqrt(n): nearly signs, which need the least noise
_LARGEST = 2**61  # of products and of the noise, so that both fit into 64 bits


@final
@dataclass(frozen=True, kw_only=True)
class PowerRankOne:
    """Iterate Y = (A - h) X + noise, X = the orthonormal basis of Y, from random signs.

    Args:
        universe: the public vertex pairs.
        rho: zCDP budget of one call, >= 1e-12.
        delta: for which its cost is stated, in (0, 1).
        grid: of the graph.
        steps: noisy products that look for the pair, >= 1. The cut costs one more.
        certificate: zCDP budget of one certificate (see `PowerSearch.certify`); 0 for none. What
            `with_rho` gives is halved if there is one.
        beta: probability that the certificate is wrong, in (0, 1).

    Guarantee, for one call: rho-zCDP. X has whole entries, in steps of a power of two, and is
        public: it is made from random signs and earlier noisy products. Graphs that differ in the
        pair {i, j} by d steps have products A X that differ in row i by d X_j, in row j by d X_i,
        and nowhere else. So the squared Euclidean sensitivity is s^2 max (|X_i|^2 + |X_j|^2) over
        pairs, exactly (`squared_sensitivity`), and independent discrete Gaussian noise of parameter
        v = that/(2 rho') on the integers A X is rho'-zCDP, with rho' = rho/products. h X is public.
        Entries of X are cut at 1/(2 sqrt(n)), which keeps the sensitivity near the least one for
        vectors of that length: post-processing, as is all else. It more than doubles what is
        found, unless the singular vectors sit on few vertices.
        Side channel: products take time proportional to the number of edges.

    No bound on the shortfall is proven beforehand: the start is random, and few steps lose a factor
    of the largest singular value rather than a summand. `shortfall` is infinite; what is measured
    stands in the experiment `rank_one`. Afterwards a certificate proves a factor, for the graphs
    that have a signal: see `power_certificate`.

    Raises:
        ParameterError: a number out of range, or weights without a cap.

    Source: Hardt, Price, *The Noisy Power Method*, 2014; Canonne, Kamath, Steinke 2020 (zCDP).
    """

    universe: Universe
    rho: float
    delta: float
    grid: Grid = field(default_factory=Grid)
    steps: int = 8
    certificate: float = 0.0
    beta: float = DEFAULT_FAILURE

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ParameterError("steps must be at least 1")
        self._check(self.rho, 2 << _ENTRY_BITS, self.products)
        if self.certificate:
            self._check(self.certificate, 8 << _BITS, sum(self.universe.shape) * COLUMNS * STEPS)

    def _check(self, rho: float, entry: int, count: int) -> None:
        """That neither products nor their noise pass 64 bits, for so many of entries up to that."""
        checked_budget(rho, self.grid)
        entry *= self.grid.sensitivity
        most = max(sum(self.universe.shape) * entry, 40 * entry * math.sqrt(count / rho))
        if most >= _LARGEST:
            raise ParameterError("products of these weights do not fit into 64 bits; raise rho")

    @property
    def name(self) -> str:
        """As it is typed."""
        return "power-rank-one-certified" if self.certificate else "power-rank-one"

    @property
    def setup(self) -> Cost | None:
        """What the certificate costs, once; None without one."""
        return Cost.of_rho(self.certificate, delta=self.delta) if self.certificate else None

    @property
    def call(self) -> Cost:
        """rho-zCDP for each call."""
        return Cost.of_rho(self.rho, delta=self.delta)

    @property
    def products(self) -> int:
        """Noisy products of one call."""
        return self.steps + 1

    @property
    def vector_bits(self) -> int:
        """The entries of X count steps of 2^-vector_bits."""
        return _ENTRY_BITS + math.ceil(math.log2(max(self.universe.shape)) / 2)

    def shortfall(self, gamma: float) -> float:  # noqa: ARG002
        """Infinite: nothing is proven, see the class."""
        return math.inf

    @property
    def usual_shortfall(self) -> float:
        """`pair_scale` times the length of a product's noise, for vectors at their cut."""
        one = self.grid.unit * self.grid.sensitivity
        return pair_scale(self.universe) * math.sqrt(self.products / self.rho) * one

    def with_rho(self, rho: float, *, rounds: int) -> Self:
        """See `Distinguisher.with_rho`."""
        certificate = rho / 2 if self.certificate else 0.0
        rho = math.nextafter(rho - certificate, 0) if certificate else rho
        each = math.nextafter(rho / rounds, 0) if rounds > 1 else rho
        return replace(self, rho=each, certificate=certificate)

    def with_epsilon(self, epsilon: Fraction, *, rounds: int) -> NoReturn:  # noqa: ARG002
        """Refused: Gaussian noise has no pure bound.

        Raises:
            ParameterError: always.
        """
        raise ParameterError("the power method has no pure bound: use 'response-rank-one', or rho")

    def begin(self, graph: AnyGraph, source: EntropySource) -> "PowerSearch":  # noqa: ARG002
        """See `Distinguisher.begin`. Draws no noise.

        Raises:
            ParameterError: other vertices, or weights counted on another grid.
        """
        checked_graph(graph, self.universe, self.grid)
        return PowerSearch(self, graph)


@final
class PowerSearch:
    """The power method at work on one graph. Holds its edges: private.

    Args:
        distinguisher: its parameters.
        graph: the private graph.
    """

    def __init__(self, distinguisher: PowerRankOne, graph: AnyGraph) -> None:
        self._of = distinguisher
        self._matrix = double(graph, distinguisher.grid)
        rows, columns = distinguisher.universe.shape
        self._sides = [slice(0, rows)]
        if not distinguisher.universe.symmetric:
            self._sides.append(slice(rows, rows + columns))
        self._left, self._right = self._sides[0], self._sides[-1]
        self._certified = not distinguisher.certificate

    def __repr__(self) -> str:
        return "PowerSearch()"

    def find(self, hypothesis: Hypothesis, source: EntropySource) -> ProposedQuery:
        """See `Search.find`: a cut made from the pair with one more noisy product.

        The first set is where u has one sign; the noisy sums of R over it give its best partner,
        and the sign of the gap.
        """
        of = self._of
        dense = written_out(hypothesis, of.universe)
        S = heavier_sign(self.pair(dense, source).left)
        indicator = np.zeros((self._matrix.shape[0], 1), dtype=np.int64)
        indicator[self._left, 0] = S
        sums = self._product(indicator, 0, dense, source)[self._right, 0]
        T, gap = best_partner(sums, S, ordered=not of.universe.symmetric)
        return found_cut(S, T, gap)

    @property
    def prove(self) -> Callable[[Hypothesis, EntropySource], float] | None:
        """See `GraphSearch.prove`, for all cuts between disjoint sets, by the certificate."""
        if self._certified:
            return None
        return lambda hypothesis, source: self.certify(hypothesis, source).cut_bound

    def certify(self, hypothesis: Hypothesis, source: EntropySource) -> PowerCertificate:
        """A pair, and how large sigma_1 and its own u'Rv can be; see `power_certificate`.

        Steps:
        1. A random start of k = 8 columns and T = 4 noisy products, with 9/10 of the budget.
        2. The top singular pair of the last one, rounded to a grid; its Rayleigh quotient u'Rv with
           discrete Gaussian noise, with the rest.

        Guarantee: `PowerRankOne.certificate`-zCDP. The products as in `PowerRankOne`; with whole U
        and V the quotient U'AV moves by at most |U_i V_j| + |U_j V_i| steps with pair {i, j}, hence
        by 2 max |U| max |V| at most (half of that where pairs are ordered). It is made once.
        All that it says holds with probability 1 - beta, of which the start has a half, noise on
        products and on the quotient a quarter each.

        Args:
            hypothesis: as for `find`.
            source: likewise.

        Raises:
            ParameterError: there is no budget for it, or it was spent.
            HypothesisError: as for `find`.
        """
        of = self._of
        if self._certified:
            raise ParameterError("there is no budget left for a certificate: it is measured once")
        dense = written_out(hypothesis, of.universe)
        self._certified = True
        known, reached, start, steps, on_left = self._products(dense, source)
        of_reached, _, mixed = np.linalg.svd(reached, full_matrices=False)
        left, right = of_reached[:, 0], known @ mixed[0]
        if not on_left:
            left, right = right, left
        pair, radius = self.quotient(left, right, dense, source)
        return PowerCertificate(
            pair=pair,
            upper=largest_possible(start, steps, _most(dense, of.grid.cap or math.inf)),
            lower=pair.gap - radius,
            scale=pair_scale(of.universe),
            confidence=1 - of.beta,
        )

    def _products(
        self, dense: FloatMatrix, source: EntropySource
    ) -> tuple[FloatMatrix, FloatMatrix, float, list[NoisyStep], bool]:
        """Step 1: the last X and Y, |z_0|, the steps, and whether Y is on the left."""
        bits = _BITS + math.ceil(math.log2(max(self._of.universe.shape)) / 2)
        budget = Fraction(self._of.certificate) * _SHARE / STEPS
        there, here = self._left, self._right
        length = here.stop - here.start
        most = math.floor(math.sqrt(3 / length) * 2**bits)
        vectors = np.zeros((self._matrix.shape[0], COLUMNS), dtype=np.int64)
        vectors[here] = uniform_whole(most, (length, COLUMNS), source)
        start = math.ldexp(start_radius(most, COLUMNS, self._of.beta / 2), -bits)
        steps = []
        for _ in range(STEPS):
            known = np.ldexp(vectors[here].astype(np.float64), -bits)
            every, variance = self._noisy(vectors, bits, dense, budget, source)
            reached = every[there]
            vectors = np.zeros_like(vectors)
            step, vectors[there] = self._scaled(reached, variance, bits)
            steps.append(step)
            here, there = there, here
        return known, reached, start, steps, here == self._left

    def _scaled(
        self, reached: FloatMatrix, variance: Fraction, bits: int
    ) -> tuple[NoisyStep, IntMatrix]:
        """What a product tells, and the next X."""
        norm = float(np.linalg.norm(reached, 2))
        scale = 1 / max(norm, 1e-300)
        following: IntMatrix = np.rint(np.ldexp(scale * reached, bits)).astype(np.int64)
        off = np.ldexp(following.astype(np.float64), -bits) - scale * reached
        proxy = math.ldexp(float(variance), -2 * bits) * self._of.grid.unit**2
        step = NoisyStep(
            norm=norm,
            noise=noise_length(proxy, COLUMNS, self._of.beta / (4 * STEPS)),
            scale=scale,
            rounding=float(np.linalg.norm(off)) * (1 + 1e-9),
        )
        return step, following

    def quotient(
        self, left: FloatVector, right: FloatVector, dense: FloatMatrix, source: EntropySource
    ) -> tuple[UnitPair, float]:
        """Step 2: the pair with its noisy quotient, and how far that may be off."""
        bits = _PAIR_BITS + math.ceil(math.log2(max(self._of.universe.shape)) / 2)
        U, V = (_whole(vector, bits) for vector in (left, right))
        whole = np.zeros(self._matrix.shape[0], dtype=np.int64)
        whole[self._right] = V
        private = (self._matrix @ whole)[self._left]
        count = sum(int(a) * int(b) for a, b in zip(U, private, strict=True))
        move = quotient_sensitivity(U, V, self._of.universe) * self._of.grid.sensitivity
        budget = Fraction(self._of.certificate) * (1 - _SHARE)
        noise = ValueNoise("gaussian", Fraction(max(1, move)) ** 2 / (2 * budget))
        lengths = [float(np.linalg.norm(vector)) for vector in (U, V)]
        one = 1 / (lengths[0] * lengths[1])
        known = float(U @ (dense @ V)) * one
        value = (count + noise.draw(source)) * self._of.grid.unit * one - known
        # The noise is sub-Gaussian; its exact tail takes seconds at such a scale.
        steps = math.sqrt(2 * noise.parameter * math.log(8 / self._of.beta)) * (1 + 1e-9)
        radius = steps * self._of.grid.unit * one
        sign = 1 if value >= 0 else -1
        pair = UnitPair(sign * U / lengths[0], V / lengths[1], abs(value))
        return pair, radius + 1e-9 * (radius + abs(known) + pair.gap)

    def pair(self, dense: FloatMatrix, source: EntropySource) -> UnitPair:
        """The pair that a call looks for, by all its products but one; `dense` is h."""
        bits = self._of.vector_bits
        vectors = self._signs(source)
        for step in range(self._of.steps):
            reached = self._product(vectors, bits, dense, source)
            if step + 1 < self._of.steps:
                for side in self._sides:
                    vectors[side] = on_grid(reached[side], bits)
        left, right = reached[self._left, 0], np.ldexp(vectors[self._right, 0], -bits)
        lengths = np.linalg.norm(left), np.linalg.norm(right)
        return UnitPair(left / lengths[0], right / lengths[1], float(lengths[0] / lengths[1]))

    def _signs(self, source: EntropySource) -> IntMatrix:
        """Random signs over sqrt(n), on the grid."""
        size = self._matrix.shape[0]
        coins = np.unpackbits(source.bytes(-(-size // 8)))[:size]
        signs = coins[:, None] * 2.0 - 1
        for side in self._sides:
            signs[side] /= np.linalg.norm(signs[side], axis=0)
        whole: IntMatrix = np.rint(np.ldexp(signs, self._of.vector_bits)).astype(np.int64)
        return whole

    def _product(
        self, vectors: IntMatrix, bits: int, dense: FloatMatrix, source: EntropySource
    ) -> FloatMatrix:
        """One of the products that a call pays for."""
        budget = Fraction(self._of.rho) / self._of.products
        return self._noisy(vectors, bits, dense, budget, source)[0]

    def _noisy(
        self,
        vectors: IntMatrix,
        bits: int,
        dense: FloatMatrix,
        budget: Fraction,
        source: EntropySource,
    ) -> tuple[FloatMatrix, Fraction]:
        """(A - h) X with noise, for whole X in steps of 2^-bits; see the guarantee of the class.

        Args:
            vectors: X.
            bits: of its entries.
            dense: h.
            budget: zCDP that it may cost.
            source: where the noise comes from.

        Returns:
            The product, and the variance of its noise, in steps squared.
        """
        of = self._of
        reach = squared_sensitivity(vectors, of.universe) * of.grid.sensitivity**2
        variance = max(1, reach) / (2 * budget)
        noise = sample_discrete_gaussian(variance, vectors.size, source)
        private = self._matrix @ vectors
        hidden = np.ldexp((private + noise.reshape(vectors.shape)).astype(np.float64), -bits)
        known = np.ldexp(vectors.astype(np.float64), -bits)
        reached: FloatMatrix = hidden * of.grid.unit
        reached[self._left] -= dense @ known[self._right]
        if not of.universe.symmetric:
            reached[self._right] -= dense.T @ known[self._left]
        return reached, variance


def double(graph: AnyGraph, grid: Grid) -> sp.csr_array:
    """The symmetric matrix of a graph in whole steps: A, or [[0, B], [B', 0]]. Private."""
    rows, columns = graph.rows, graph.columns
    n = graph.n if isinstance(graph, Graph) else sum(graph.shape)
    if not isinstance(graph, Graph):
        columns = columns + np.int32(graph.shape[0])
    steps = np.tile(grid.steps(graph.weights), 2)
    places = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    return sp.csr_array((steps, places), shape=(n, n))


def squared_sensitivity(vectors: IntMatrix, universe: Universe) -> int:
    """By how much A X moves, squared, when one pair's weight moves by one step, at most.

    The largest |X_i|^2 + |X_j|^2 over the pairs {i, j} of the universe: exactly that, but for arcs,
    where i and j may be one vertex here, which can only be more.

    Args:
        vectors: X, whole entries, shape (n, k); the left vertices before the right ones.
        universe: the public vertex pairs.
    """
    lengths = np.square(vectors).sum(axis=1)
    if not universe.symmetric:
        ends = lengths[: universe.shape[0]].max(), lengths[universe.shape[0] :].max()
        return int(ends[0]) + int(ends[1])
    return int(np.sort(lengths)[-2:].sum())


def on_grid(reached: FloatMatrix, bits: int) -> IntMatrix:
    """An orthonormal basis of noisy columns, cut at 1/(2 sqrt(n)), in steps of 2^-bits."""
    basis, _ = np.linalg.qr(reached)
    most = _CLIP / math.sqrt(len(basis))
    steps: IntMatrix = np.rint(np.ldexp(np.clip(basis, -most, most), bits)).astype(np.int64)
    return steps
