"""The noisy degrees of a private graph."""

from fractions import Fraction

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.measurements.noisy_sums import NoisyDegrees
from graphcuts_dp.measurements.parts import PartedGraph, summed
from graphcuts_dp.measurements.steps import check_sums, grid_of_sums, whole_steps
from graphcuts_dp.privacy.distributions import LaplaceNoise, NoiseDistribution
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_laplace


def measure_degrees(
    graph: AnyGraph | PartedGraph,
    distribution: NoiseDistribution,
    *,
    epsilon: Fraction,
    source: EntropySource,
    early: bool = False,
    without_cap: bool = False,
) -> NoisyDegrees:
    """All degrees with discrete Laplace noise.

    Args:
        graph: the private graph; weights need a public cap.
        distribution: of the entries; tells the grid that weights are rounded down to.
        epsilon: privacy parameter of all degrees together, exact.
        source: where the noise comes from.
        early: whether a choice will depend on them; the same noise, another name.
        without_cap: whether weights may have no cap, so that a change by 1 is hidden. Each is then
            cut to 2^61/n steps (`whole_steps`), so that no sum overflows.

    Raises:
        ParameterError: weights without a cap, or sums that could overflow.

    Guarantee: epsilon-DP, neighbours being graphs on the same vertices that differ in one pair (an
    edge; or its weight within 0..cap). Let an entry be at most s steps. Changing the pair {i, j}
    changes the row sums of i and of j (or the row sum of i and the column sum of j: of an arc, the
    out-degree of its tail and the in-degree of its head) by the same number of steps, at most s,
    and no other: the L1 sensitivity is exactly 2 s. Independent noise with P(k) proportional to
    e^(-rate |k|), rate = epsilon/(2 s), on integers of that sensitivity is epsilon-DP. Weights are
    rounded down to steps before they are added, entry by entry, which keeps s, and so does cutting
    each at a public bound: min(x, b) never moves two numbers apart. Without a cap s steps are a
    change by 1.
    Source: Dwork, McSherry, Nissim, Smith 2006; Ghosh, Roughgarden, Sundararajan 2009.
    Side channel: adding up takes time proportional to the number of edges.
    """
    if not (without_cap and distribution.weight_cap is None):
        check_sums(distribution)
    grid = grid_of_sums(distribution)
    rate = epsilon / (2 * grid.sensitivity_steps)
    sums = summed(graph, _sums, grid)
    rows, columns = sums[0], sums[-1]  # one object where there is one vertex set
    rows += sample_discrete_laplace(rate, len(rows), source)
    if columns is not rows:
        columns += sample_discrete_laplace(rate, len(columns), source)
    return NoisyDegrees(rows, columns, grid.unit, rate, 2 * grid.sensitivity_steps * rate, early)


def _sums(graph: AnyGraph, grid: LaplaceNoise) -> list[IntVector]:
    """Sums of rows and of columns; of both together where there is one vertex set."""
    steps = whole_steps(graph, grid)
    sums = [np.zeros(graph.shape[0], dtype=np.int64)]
    if not isinstance(graph, Graph):
        sums.append(np.zeros(graph.shape[1], dtype=np.int64))
    np.add.at(sums[0], graph.rows, steps)
    np.add.at(sums[-1], graph.columns, steps)
    return sums
