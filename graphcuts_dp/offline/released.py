"""A release turned into a distinguisher: answer the whole list once, then look for what is off."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self, final

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.errors import HypothesisError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.learn.base import Hypothesis
from graphcuts_dp.offline.cut_list import CutList
from graphcuts_dp.offline.distinguisher import Found
from graphcuts_dp.offline.noisy_pairs import noisy_pairs, rescaled
from graphcuts_dp.offline.scoring import check_rounds, root_at_most
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.entropy import EntropySource


@final
@dataclass(frozen=True, kw_only=True)
class Released:
    """Release answers to a list once, by randomised response; distinguish without the graph.

    The list is answered from one noisy matrix. Each call compares a hypothesis with these answers
    and names the cut where they are farthest apart, with the sign.

    Args:
        queries: the public list.
        distribution: the noise for one pair; its epsilon is what `begin` costs. Binary noise for
            graphs without weights.
        beta: probability that `ReleasedSearch.error_of` may be too small, in (0, 1).

    Guarantee: `begin` is purely epsilon-DP with the distribution's epsilon: neighbours differ in
        one pair, one noisy value depends on it, and each is epsilon-DP. Calls are post-processing.
    Accuracy: with probability 1 - gamma all answers of the release are within r(gamma) of the
        truth, in a union over the k cuts of the list. Then at every call a cut whose released gap
        is largest has a true signed gap of at least (largest |gap|) - 2 r: the released gap of the
        truly worst cut is at most r smaller than its true one, and that of the cut which is named
        at most r larger.

    Source: DR14 section 5.3.2 (query release solves distinguishing); the release is GRU12 section
    6. Deviation: one release serves all rounds, where the reduction pays for one in each.
    """

    queries: CutList
    distribution: NoiseDistribution
    beta: float = 0.05

    name = "released"

    @property
    def universe(self) -> Universe:
        """Of the list."""
        return self.queries.universe

    @property
    def setup(self) -> Cost:
        """Pure epsilon of the distribution."""
        return Cost.of_pure(self.distribution.epsilon)

    call = None  # each call reads the release

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

    def with_rho(self, rho: float, *, rounds: int) -> Self:
        """See `Distinguisher.with_rho`: epsilon-DP is epsilon^2/2-zCDP."""
        return self.with_epsilon(root_at_most(2 * Fraction(rho)), rounds=rounds)

    def with_epsilon(self, epsilon: Fraction, *, rounds: int) -> Self:
        """See `Distinguisher.with_epsilon`."""
        check_rounds(rounds)
        return replace(self, distribution=rescaled(self.distribution, epsilon))

    def begin(self, graph: AnyGraph, source: EntropySource) -> "ReleasedSearch":
        """See `Distinguisher.begin`. Draws one noisy value for each pair; dense, n1 x n2 numbers.

        Raises:
            ParameterError: other vertices, or a distribution for another weight cap or without
                weights.
        """
        noisy = noisy_pairs(graph, self.universe, self.distribution, source)
        return ReleasedSearch(self, self.queries.on_matrix(noisy))


@final
@dataclass(frozen=True, eq=False)
class ReleasedSearch:
    """Released answers at work. All of it is public.

    Attributes:
        of: the distinguisher, with its list.
        answers: the released answers, in weight, shape (k,).
    """

    of: Released
    answers: FloatVector

    def find(self, hypothesis: Hypothesis, source: EntropySource) -> Found:  # noqa: ARG002
        """See `Search.find`: the cut of the largest released gap. Draws nothing.

        Raises:
            HypothesisError: a hypothesis over other vertices.
        """
        gaps = self._gaps(hypothesis)
        worst = int(np.argmax(np.abs(gaps)))
        return Found(query=self.of.queries[worst], sign=1 if gaps[worst] > 0 else -1)

    def error_of(self, hypothesis: Hypothesis) -> float:
        """A bound on the error of a hypothesis on the whole list, in weight; free.

        It is proven with probability 1 - beta, whichever hypothesis and however it was found: the
        largest released gap, plus the radius of the release.

        Raises:
            HypothesisError: a hypothesis over other vertices.
        """
        return float(np.abs(self._gaps(hypothesis)).max()) + self.of.radius(self.of.beta)

    def _gaps(self, hypothesis: Hypothesis) -> FloatVector:
        queries = self.of.queries
        if hypothesis.universe != queries.universe:
            raise HypothesisError("the hypothesis is over other vertices than the list")
        gaps: FloatVector = self.answers - queries.answers(hypothesis)
        return gaps
