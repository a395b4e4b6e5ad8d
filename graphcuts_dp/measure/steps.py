"""The whole steps that sums of weights are counted in."""

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.privacy.distributions import LaplaceNoise, NoiseDistribution

_LARGEST_SUM = 2**61  # in steps; with its noise far below 2^63
_LARGEST_ENTRY = 2**31  # in steps, so that 2^31 of them and their noise fit into 64 bits


def check_sums(distribution: NoiseDistribution) -> None:
    """Check that sums of weights can be released.

    Raises:
        ParameterError: weights without a cap, or with one so large that sums could overflow.
    """
    if distribution.weight_cap is None:
        raise ParameterError(
            "sums of weights have no bounded sensitivity without a public weight cap: give "
            "weight_cap, or choose mechanism='response'"
        )
    if grid_of_sums(distribution).sensitivity_steps > _LARGEST_ENTRY:
        raise ParameterError(
            "the weight cap is too large for sums of weights: rescale the weights, or choose "
            "mechanism='response'"
        )


def grid_of_sums(distribution: NoiseDistribution) -> LaplaceNoise:
    """The grid that weights are rounded down to before they are added.

    Args:
        distribution: of the entries of the same release.
    """
    return (
        distribution
        if isinstance(distribution, LaplaceNoise)
        else LaplaceNoise(distribution.epsilon, distribution.weight_cap)
    )


def bounded_steps(weights: FloatVector, unit: float, most: int) -> IntVector:
    """Weights in whole steps, rounded down one by one, at most `most` each. Private.

    Cutting at a bound moves no two of them apart, and is no refusal, which would tell of the data.
    """
    with np.errstate(over="ignore"):  # a warning would tell of a huge weight
        steps: FloatVector = np.minimum(np.floor(weights / unit), most)
    return steps.astype(np.int64)


def whole_steps(graph: AnyGraph, grid: LaplaceNoise) -> IntVector:
    """Weights in whole steps, rounded down entry by entry. Private.

    Each is cut to 2^61/n steps, n being the number of vertices of the larger side, so that no
    sum over a vertex overflows; with a cap that passes `check_sums` nothing is cut.
    """
    return bounded_steps(graph.weights, grid.unit, _LARGEST_SUM // max(graph.shape))
