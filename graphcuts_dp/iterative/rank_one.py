"""Distinguishers that add noise to every pair once, and search rank-one queries or a list.

With R = G - h, the class is all queries scale * u'Rv with |u| = |v| = 1, where scale is n/2 (the
geometric mean of both sides of a bipartite graph). Its largest value is scale * sigma_1(R), which
singular vectors attain. Every cut between disjoint sets is in the ball: 1_S 1_T' = sqrt(|S||T|)
times a unit pair, and |S||T| <= scale^2. So a distinguisher whose unit pair has a gap u'Rv of at
least sigma_1(R) - F bounds all those cuts: max |R(S, T)| <= scale * (gap of the pair + F). The
class of queries with vectors in [0, 1]^n is another one: its largest value is the cut norm, which
is hard to find.

The cut to which a pair is rounded has no such guarantee, since rounding may lose a factor:
`shortfall` is infinite. The first set is where u has one sign, the second its best partner on the
noisy data, then the first is replaced by the best partner of the second, and so on. The result is a
cut between disjoint sets, or all pairs inside one set; in a directed graph, any cut.

Everything here but `ChargedOnce.noisy` reads noisy data only. `power_method` searches the same
class with noise at each call.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, Self, final

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import ArpackError, eigsh, svds

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector
from graphcuts_dp.confidence import DEFAULT_FAILURE
from graphcuts_dp.errors import HypothesisError, ParameterError
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.graph.adjacency import AnyGraph
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
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.queries.linear import CutQuery
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.schema.layout import Layout

_SMALL_SIDE = 128  # rows or columns up to which all eigenvectors are computed
_MOST_IMPROVEMENTS = 20  # of a cut on a noisy matrix


@final
@dataclass(frozen=True, eq=False)
class UnitPair:
    """Unit vectors u, v with a large u'Rv. Public.

    Attributes:
        left: u, shape (n,) (left vertices of a bipartite graph).
        right: v, shape (n,).
        gap: noisy value of u'Rv; its sign is part of u, so it is positive but for noise.
    """

    left: FloatVector
    right: FloatVector
    gap: float


@dataclass(frozen=True, kw_only=True)
class ChargedOnce:
    """Base of distinguishers that add noise to every pair at the start, and read only that.

    Attributes:
        distribution: the noise for one pair; its epsilon is the cost of `begin`. Binary noise for
            graphs without weights.
    """

    distribution: NoiseDistribution
    call: ClassVar[None] = None  # calls read the noisy pairs alone

    @property
    def setup(self) -> Cost:
        """See `Distinguisher.setup`: the cost of the distribution."""
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
        """Return an unbiased noisy value for each pair, as a matrix over the universe.

        Guarantee: purely epsilon-DP with the distribution's epsilon: neighbours differ in one pair,
        and one noisy value depends on it.

        Raises:
            ParameterError: other vertices, or a distribution for another maximum weight, or for
                graphs without weights.
        """
        universe: Universe = self.universe  # type: ignore[attr-defined]  # of subclasses
        distribution = self.distribution
        checked_graph(graph, universe)
        if distribution.max_weight != graph.max_weight or (distribution.bits and graph.weighted):
            raise ParameterError("the distribution of noise does not suit the graph's weights")
        steps = distribution.respond(universe.size, graph.weights, pair_indices(graph), source)
        return universe.matrix_of(distribution.estimate(steps))


@final
@dataclass(frozen=True, kw_only=True)
class ResponseRankOne(ChargedOnce):
    """Add noise to every pair at the start; take the top singular pair of Z - h at each call.

    Args:
        universe: the public vertex pairs.
        distribution: the noise for one pair; its epsilon is the cost of `begin`.

    Guarantee: `begin` is purely epsilon-DP, see `ChargedOnce.noisy`. Calls are post-processing, so
        they are free and any number is allowed. With E = Z - G and all calls at once, the pair
        found has u'(G - h)v >= sigma_1(G - h) - 2 ||E||: sigma_1(Z - h) is at least
        sigma_1(G - h) - ||E||, and u'Ev takes away at most ||E|| more.

    Source: GRU12 sections 6 and 7; a bound on ||E|| is `response_norm` of a checkout.
    """

    universe: Universe

    name = "response-rank-one"

    def shortfall(self, gamma: float) -> float:  # noqa: ARG002
        """Return infinity: rounding a pair to a cut may lose a factor."""
        return math.inf

    @property
    def usual_shortfall(self) -> float:
        """About the cut norm of the noise."""
        return usual_cut_norm(self.universe) * self.distribution.standard_deviation

    def begin(self, graph: AnyGraph, source: EntropySource) -> GraphSearch:
        """See `Distinguisher.begin` and `noisy`."""
        return matrix_search(self.universe, self.noisy(graph, source))


@final
@dataclass(frozen=True, kw_only=True)
class Released(ChargedOnce):
    """Release answers to a list once, by randomised response; distinguish without the graph.

    The list is answered from one noisy matrix. Each call compares a hypothesis with these answers
    and returns the cut with the largest difference, and its sign. In the end the search proves a
    bound: with probability 1 - beta the error of any hypothesis on the list, however it was
    computed, is at most the largest difference from the released answers, plus their radius.

    Args:
        queries: the public list.
        distribution: the noise for one pair; its epsilon is the cost of `begin`.
        beta: probability that the proven bound is too small, in (0, 1).

    Guarantee: `begin` is purely epsilon-DP, see `ChargedOnce.noisy`. Calls are post-processing.
    Accuracy: with probability 1 - gamma all answers of the release are within r(gamma) of the
        truth, in a union over the k cuts of the list. Then at every call a cut whose released gap
        is largest has a true signed gap of at least (largest |gap|) - 2 r: the released gap of the
        truly worst cut is at most r smaller than its true one, and that of the returned cut is at
        most r larger.

    Source: DR14 section 5.3.2 (query release solves distinguishing); the release is GRU12 section
    6. Deviation: one release serves all rounds, while the reduction spends on one in each.
    """

    queries: CutList
    beta: float = DEFAULT_FAILURE

    name = "released"

    @property
    def universe(self) -> Universe:
        """The public vertex pairs."""
        return self.queries.universe

    def radius(self, gamma: float) -> float:
        """Return r, which no error of a released answer exceeds with probability 1 - gamma."""
        pairs, noise = self.queries.most_pairs, self.distribution
        failures = math.log(len(self.queries) / gamma)
        return _radius(noise, pairs, failures) + pairs * noise.rounding

    def shortfall(self, gamma: float) -> float:
        """Return 2 r(gamma), in weight; see `Distinguisher.shortfall`.

        Args:
            gamma: in (0, 1), for all calls together.
        """
        return 2 * self.radius(gamma)

    @property
    def usual_shortfall(self) -> float:
        """About the largest error among the answers of the list."""
        return self.radius(0.5)

    def answers(self, graph: AnyGraph, source: EntropySource) -> FloatVector:
        """Return the released answers, in weight, shape (k,); see `noisy`."""
        return self.queries.on_matrix(self.noisy(graph, source))

    def begin(self, graph: AnyGraph, source: EntropySource) -> GraphSearch:
        """See `Distinguisher.begin` and `noisy`."""
        released = self.answers(graph, source)

        def gaps(hypothesis: Hypothesis) -> FloatVector:
            if hypothesis.universe != self.universe:
                raise HypothesisError("the hypothesis is over other vertices than the list")
            differences: FloatVector = released - self.queries.answers(hypothesis)
            return differences

        def find(hypothesis: Hypothesis, source: EntropySource) -> ProposedQuery:  # noqa: ARG001
            differences = gaps(hypothesis)
            worst = int(np.argmax(np.abs(differences)))
            sign: Sign = 1 if differences[worst] > 0 else -1
            return ProposedQuery(query=self.queries[worst], sign=sign)

        def prove(hypothesis: Hypothesis, source: EntropySource) -> float:  # noqa: ARG001
            return float(np.abs(gaps(hypothesis)).max()) + self.radius(self.beta)

        return GraphSearch(find, prove)


def matrix_search(universe: Universe, noisy: FloatMatrix) -> GraphSearch:
    """Return a search on a noisy matrix that was measured once; its finds are post-processing.

    Args:
        universe: the public vertex pairs.
        noisy: Z with E[Z] = G, over the universe. It is not copied.
    """

    def find(hypothesis: Hypothesis, source: EntropySource) -> ProposedQuery:  # noqa: ARG001
        """Return a cut made of the top singular pair of Z - h."""
        gaps = noisy - written_out(hypothesis, universe)
        pair = top_pair(gaps, symmetric=universe.symmetric)
        return _cut_of_pair(gaps, pair, ordered=not universe.symmetric)

    return GraphSearch(find)


def top_pair(matrix: FloatMatrix, *, symmetric: bool) -> UnitPair:
    """Return the top singular pair of a noisy matrix, up to the rounding of floats.

    Args:
        matrix: shape (n1, n2).
        symmetric: whether it is symmetric; then u = v or u = -v.
    """
    decomposition = None
    if min(matrix.shape) > _SMALL_SIDE:
        start = np.random.default_rng(7).standard_normal(min(matrix.shape))
        try:
            if symmetric:
                decomposition = eigsh(matrix, k=1, which="LM", v0=start)
            else:
                decomposition = svds(matrix, k=1, v0=start, tol=0)
        except ArpackError:  # two values nearly equal: LAPACK is slower, but always ends
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
    """Return the set with the largest |sum|: all entries that are not negative, or all that are.

    It is the best prefix of the sorted entries. Prefixes that are best for |sum| / sqrt(size) are
    shorter, and under noise their cuts had smaller true gaps by either measure.
    """
    negative = sums < 0
    return negative if -sums[negative].sum() > sums[~negative].sum() else ~negative


def best_partner(sums: FloatVector, side: BoolVector, *, ordered: bool) -> tuple[BoolVector, float]:
    """Return the set whose cut with a given set has the largest |gap|, and the gap.

    Args:
        sums: noisy sums of R over the given set, one for each vertex of the other side.
        side: the given set: S (or T), not empty.
        ordered: whether (row, column) and (column, row) are different pairs, as between two sides
            or of arcs: any partner is then possible. If not, the partner is disjoint from the given
            set, or is that set itself, whose pairs `sums` counts twice.
    """
    if ordered:
        partner = heavier_sign(sums)
        return partner, float(sums[partner].sum())
    inside = float(sums[side].sum()) / 2
    if side.all():
        return side, inside
    partner = np.zeros(len(side), dtype=np.bool_)
    partner[~side] = heavier_sign(sums[~side])
    across = float(sums[partner].sum())
    if side.sum() > 1 and abs(inside) > abs(across):
        return side, inside
    return partner, across


def proposed_cut(S: BoolVector, T: BoolVector, gap: float) -> ProposedQuery:
    """Return a cut with the sign of its noisy gap."""
    sign: Sign = 1 if gap >= 0 else -1
    return ProposedQuery(query=CutQuery(S, T), sign=sign)


def pair_scale(universe: Universe) -> float:
    """Return the least c such that all cuts of disjoint sets are c times the query of a pair."""
    return math.sqrt(universe.disjoint_norm_squared)


def usual_cut_norm(universe: Universe) -> float:
    """Return about the largest |E(S, T)| for independent noise E of deviation 1 on all pairs.

    n^1.5/2 for a plain universe, where 0.50 to 0.54 n^1.5 was measured.
    """
    return pair_scale(universe) * math.sqrt(sum(universe.shape) / 2)


def check_budget(rho: float, grid: Grid) -> None:
    """Refuse a zCDP budget for Gaussian noise on grid units that is out of range.

    Raises:
        ParameterError: a budget out of range, or weights without a public bound.
    """
    if not 1e-12 <= rho < math.inf:
        raise ParameterError(f"rho must be a finite number of at least 1e-12, not {rho}")
    if grid.cap is None:
        raise ParameterError("a distinguisher needs a public max_weight; read the graph with one")


def pair_indices(graph: AnyGraph) -> npt.NDArray[np.int64]:
    """Return the index of each edge in `Universe.pairs`, shape (edges,). Private."""
    layout = Layout.of(graph.space)
    return layout.places(graph.rows.astype(np.int64), graph.columns.astype(np.int64))


def _cut_of_pair(gaps: FloatMatrix, pair: UnitPair, *, ordered: bool) -> ProposedQuery:
    """Return a cut: take the best partner of a set, then of that partner, while gaps grow."""
    side, is_left = heavier_sign(pair.left), True
    largest_gap = -1.0  # below every |gap|: the first cut is always taken
    for _ in range(_MOST_IMPROVEMENTS):
        sums = (gaps.T if is_left else gaps) @ side
        partner, gap = best_partner(sums, side, ordered=ordered)
        if abs(gap) <= largest_gap:
            break
        largest_gap = abs(gap)
        cut = proposed_cut(*((side, partner) if is_left else (partner, side)), gap)
        side, is_left = partner, not is_left
    return cut


@lru_cache(maxsize=256)  # a tuning asks for a few values again and again, for all rounds
def _radius(noise: NoiseDistribution, pairs: int, log_failures: float) -> float:
    """Return `NoiseDistribution.radius`."""
    return noise.radius(pairs, log_failures=log_failures)
