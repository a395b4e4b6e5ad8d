"""The noisy total weight of a private graph."""

from fractions import Fraction

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.measurements.noisy_sums import NoisyTotal
from graphcuts_dp.measurements.parts import PartedGraph, public_of, summed
from graphcuts_dp.measurements.steps import check_sums, grid_of_sums, whole_steps
from graphcuts_dp.privacy.distributions import LaplaceNoise, NoiseDistribution
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_laplace


def measure_total(
    graph: AnyGraph | PartedGraph,
    distribution: NoiseDistribution,
    *,
    epsilon: Fraction,
    source: EntropySource,
) -> NoisyTotal:
    """The sum of the whole matrix (each edge of a `Graph` twice), with discrete Laplace noise.

    Args:
        graph: the private graph; weights need a public cap.
        distribution: of the entries; tells the grid that weights are rounded down to.
        epsilon: privacy parameter, exact.
        source: where the noise comes from.

    Raises:
        ParameterError: weights without a cap, or sums that could overflow.

    Guarantee: epsilon-DP. One pair changes the sum of the weights by at most s steps (see
    `measure_degrees`), and the noise k, added before doubling, has P(k) proportional to
    e^(-epsilon |k|/s). May be negative.
    """
    check_sums(distribution)
    grid = grid_of_sums(distribution)
    (total,) = summed(graph, _steps, grid)
    steps = int(total[0])
    rate = epsilon / grid.sensitivity_steps
    steps += int(sample_discrete_laplace(rate, 1, source)[0])
    unit = grid.unit * (2 if isinstance(public_of(graph), Graph) else 1)
    return NoisyTotal(steps * unit, unit, rate, grid.sensitivity_steps * rate)


def _steps(graph: AnyGraph, grid: LaplaceNoise) -> list[IntVector]:
    return [whole_steps(graph, grid).sum(keepdims=True)]
