"""Gaussian noise on the whole matrix, once, to find a pair on it: a baseline."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.iterative.distinguisher import checked_graph
from graphcuts_dp.iterative.rank_one import check_budget, pair_indices
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_gaussian
from graphcuts_dp.queries.universe import Universe
from scripts.figures.noise_norms import subgaussian_norm


@final
@dataclass(frozen=True, kw_only=True)
class GaussianRankOne:
    """Add symmetric discrete Gaussian noise to the matrix, to be searched for pairs.

    At (1, 1e-6) its noise is 4.7 times that of randomised response at epsilon = 1: a baseline.

    Args:
        universe: the public vertex pairs.
        rho: zCDP budget of `noisy`, >= 1e-12.
        grid: of the graph.

    Guarantee: `noisy` is rho-zCDP. One pair changes one of the integers, by at most s =
        `grid.sensitivity` steps, and noise of parameter v = s^2/(2 rho) hides that. The
        pair found is within 2 ||E|| of the best, as in `ResponseRankOne`; the noise is sub-Gaussian
        with proxy v. Weights are rounded down by less than a step, which adds at most n steps to
        ||E||.

    Raises:
        ParameterError: a number out of range, or weights without a cap.

    Source: Dwork, Talwar, Thakurta, Zhang, *Analyze Gauss*, 2014; Canonne, Kamath, Steinke 2020.
    """

    universe: Universe
    rho: float
    grid: Grid = field(default_factory=Grid)

    def __post_init__(self) -> None:
        check_budget(self.rho, self.grid)

    @property
    def variance(self) -> Fraction:
        """v, in steps squared."""
        return Fraction(self.grid.sensitivity) ** 2 / (2 * Fraction(self.rho))

    def unit_shortfall(self, gamma: float) -> float:
        """Return F for unit pairs: u'Rv >= sigma_1(R) - F at all calls, but for probability gamma.

        Args:
            gamma: in (0, 1). The universe must be that of a plain graph.
        """
        n = self.universe.shape[0]
        norm = subgaussian_norm(float(self.variance), n, failure=gamma)
        return 2 * (norm * self.grid.unit + self.grid.rounding(n))

    def noisy(self, graph: AnyGraph, source: EntropySource) -> FloatMatrix:
        """Return the matrix with noise: one integer for each pair, about 60 microseconds each.

        Raises:
            ParameterError: other vertices, or weights counted on another grid.
        """
        checked_graph(graph, self.universe, self.grid)
        steps = sample_discrete_gaussian(self.variance, self.universe.size, source)
        steps[pair_indices(graph)] += self.grid.steps(graph.weights)
        return self.universe.matrix_of(steps.astype(np.float64) * self.grid.unit)
