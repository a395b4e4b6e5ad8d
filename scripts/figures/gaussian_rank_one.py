"""Rank-one distinguisher by Gaussian noise on the whole matrix, once: a baseline."""

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NoReturn, Self, final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.offline.distinguisher import GraphSearch, checked_graph
from graphcuts_dp.offline.rank_one import (
    checked_budget,
    matrix_search,
    pair_places,
    usual_cut_norm,
)
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.noise import EntropySource, sample_discrete_gaussian
from scripts.figures.noise_norms import subgaussian_norm


@final
@dataclass(frozen=True, kw_only=True)
class GaussianRankOne:
    """Add symmetric discrete Gaussian noise to the matrix, then search it at each call.

    At (1, 1e-6) its noise is 4.7 times that of randomised response at epsilon = 1: a baseline.

    Args:
        universe: the public vertex pairs.
        rho: zCDP budget of `begin`, >= 1e-12.
        delta: for which its cost is stated, in (0, 1).
        grid: of the graph.

    Guarantee: `begin` is rho-zCDP. One pair changes one of the integers, by at most s =
        `grid.sensitivity` steps, and noise of parameter v = s^2/(2 rho) hides that. Calls are
        post-processing. The pair found is within 2 ||E|| of the best, as in `ResponseRankOne`; the
        noise is sub-Gaussian with proxy v. Weights are rounded down by less than a step, which
        adds at most n steps to ||E||.

    Raises:
        ParameterError: a number out of range, or weights without a cap.

    Source: Dwork, Talwar, Thakurta, Zhang, *Analyze Gauss*, 2014; Canonne, Kamath, Steinke 2020.
    """

    universe: Universe
    rho: float
    delta: float
    grid: Grid = field(default_factory=Grid)

    def __post_init__(self) -> None:
        checked_budget(self.rho, self.grid)

    name = "gaussian-rank-one"

    @property
    def setup(self) -> Cost:
        """rho-zCDP, once."""
        return Cost.of_rho(self.rho, delta=self.delta)

    call = None  # each call reads the noisy matrix

    @property
    def variance(self) -> Fraction:
        """v, in steps squared."""
        return Fraction(self.grid.sensitivity) ** 2 / (2 * Fraction(self.rho))

    def unit_shortfall(self, gamma: float) -> float:
        """F for unit pairs: u'Rv >= sigma_1(R) - F at all calls, but for probability gamma.

        Args:
            gamma: in (0, 1).
        """
        shape, plain = self.universe.shape, self.universe.symmetric
        norm = subgaussian_norm(float(self.variance), shape, symmetric=plain, failure=gamma)
        return 2 * (norm * self.grid.unit + self.grid.rounding(max(shape)))

    def shortfall(self, gamma: float) -> float:  # noqa: ARG002
        """Infinite: rounding a pair to a cut may lose a factor."""
        return math.inf

    @property
    def usual_shortfall(self) -> float:
        """About the cut norm of the noise."""
        return usual_cut_norm(self.universe) * math.sqrt(self.variance) * self.grid.unit

    def with_rho(self, rho: float, *, rounds: int) -> Self:  # noqa: ARG002
        """See `Distinguisher.with_rho`: all of rho goes into `begin`."""
        return replace(self, rho=rho)

    def with_epsilon(self, epsilon: Fraction, *, rounds: int) -> NoReturn:  # noqa: ARG002
        """Refused: Gaussian noise has no pure bound.

        Raises:
            ParameterError: always.
        """
        raise ParameterError("Gaussian noise has no pure bound: use 'response-rank-one', or rho")

    def noisy(self, graph: AnyGraph, source: EntropySource) -> FloatMatrix:
        """The matrix with noise. Draws one integer for each pair, about 60 microseconds each.

        Raises:
            ParameterError: other vertices, or weights counted on another grid.
        """
        checked_graph(graph, self.universe, self.grid)
        steps = sample_discrete_gaussian(self.variance, self.universe.size, source)
        steps[pair_places(graph)] += self.grid.steps(graph.weights)
        return self.universe.matrix_of(steps.astype(np.float64) * self.grid.unit)

    def begin(self, graph: AnyGraph, source: EntropySource) -> GraphSearch:
        """See `Distinguisher.begin` and `noisy`."""
        return matrix_search(self.universe, self.noisy(graph, source))
