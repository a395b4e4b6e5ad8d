"""Rank-one distinguisher by randomised response: buy a noisy matrix once, search it for ever."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self, final

from graphcuts_dp.distinguishers.noise_norms import response_norm
from graphcuts_dp.distinguishers.noisy_pairs import noisy_pairs, rescaled
from graphcuts_dp.distinguishers.rank_one import (
    Answer,
    MatrixSearch,
    checked_answer,
    pair_scale,
    usual_cut_norm,
)
from graphcuts_dp.distinguishers.scoring import check_rounds, root_at_most
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.entropy import EntropySource


@final
@dataclass(frozen=True, kw_only=True)
class ResponseRankOne:
    """Hide every pair on its own, then take the top singular pair of Z - h at each call.

    Args:
        universe: the public vertex pairs.
        distribution: the noise for one pair; its epsilon is what `begin` costs. Binary noise for
            graphs without weights.
        answer: "cut" or "pair"; see `rank_one`.

    Guarantee: `begin` is purely epsilon-DP with the distribution's epsilon, for graphs that differ
        in one
        pair: one noisy value depends on it, and each is epsilon-DP. Calls are post-processing, so
        they are free and any number is allowed. With E = Z - G and all calls at once, the pair
        found has u'(G - h)v >= sigma_1(G - h) - 2 ||E||: sigma_1(Z - h) is at least
        sigma_1(G - h) - ||E||, and u'Ev takes away at most ||E|| more.

    Raises:
        ParameterError: an unknown answer.

    Source: GRU12 sections 6 and 7; the bound on ||E|| is `noise_norms.response_norm`.
    """

    universe: Universe
    distribution: NoiseDistribution
    answer: Answer = "cut"

    def __post_init__(self) -> None:
        checked_answer(self.answer)

    name = "response-rank-one"

    @property
    def setup(self) -> Cost:
        """Pure epsilon of the distribution."""
        return Cost.of_pure(self.distribution.epsilon)

    call = None  # each call reads the noisy matrix

    def unit_shortfall(self, gamma: float) -> float:
        """F for unit pairs: u'Rv >= sigma_1(R) - F at all calls, but for probability gamma.

        Args:
            gamma: in (0, 1).
        """
        norm = response_norm(
            self.distribution,
            self.universe.shape,
            symmetric=self.universe.symmetric,
            failure=gamma,
        )
        return 2 * norm

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

    def with_rho(self, rho: float, *, rounds: int) -> Self:
        """See `Distinguisher.with_rho`: epsilon-DP is epsilon^2/2-zCDP."""
        return self.with_epsilon(root_at_most(2 * Fraction(rho)), rounds=rounds)

    def with_epsilon(self, epsilon: Fraction, *, rounds: int) -> Self:
        """See `Distinguisher.with_epsilon`."""
        check_rounds(rounds)
        return replace(self, distribution=rescaled(self.distribution, epsilon))

    def begin(self, graph: AnyGraph, source: EntropySource) -> MatrixSearch:
        """See `Distinguisher.begin`. Draws one noisy value for each pair; dense, n1 x n2 numbers.

        Raises:
            ParameterError: other vertices, or a distribution for another weight cap or without
                weights.
        """
        noisy = noisy_pairs(graph, self.universe, self.distribution, source)
        return MatrixSearch(self.universe, noisy, self.answer)
