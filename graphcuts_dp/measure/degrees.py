"""The noisy degrees of a private graph.

The noisy total weight of a private graph.

The noisy sum of the roots of the left degrees of a bipartite graph: JT12's private norm.

A row of the matrix has a Euclidean norm of at most the root of its degree, so the sum bounds
||X||_{2,1}, which mirror descent with a (2,p) norm needs to know.

Source: JT12, sections 3.2 (the start needs the norm) and 4.1.

How many edges of a private graph weigh how much.
"""

import math
from fractions import Fraction

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.noisy_sums import NoisyDegrees, NoisyTotal
from graphcuts_dp.estimate.noisy_weights import NoisyWeightCounts, weight_classes
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.measure.parts import PartedGraph, public_of, summed
from graphcuts_dp.measure.steps import check_sums, grid_of_sums, whole_steps
from graphcuts_dp.privacy.distributions import LaplaceNoise, NoiseDistribution
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_laplace
from graphcuts_dp.privacy.value_noise import ValueNoise


def measure_weight_counts(
    graph: AnyGraph | PartedGraph,
    distribution: LaplaceNoise,
    *,
    epsilon: Fraction,
    source: EntropySource,
) -> NoisyWeightCounts:
    """How many pairs have a weight in each of a few public classes, with discrete Laplace noise.

    Args:
        graph: the private graph.
        distribution: of the noise of each pair with all of epsilon; tells the steps that weights
            are rounded down to, and the classes.
        epsilon: privacy parameter of all counts together, exact.
        source: where the noise comes from.

    Guarantee: epsilon-DP, neighbours being graphs on the same vertices that differ in one pair.
    That pair leaves at most one class and enters at most one other; no other pair moves. So the L1
    sensitivity is 2 where there are several classes, and 1 where there is one, that of all edges of
    a graph without weights. Independent noise with P(k) proportional to e^(-rate |k|),
    rate = epsilon over that sensitivity, is epsilon-DP. Classes are public: they depend on epsilon
    and the cap alone.
    Side channel: counting takes time proportional to the number of edges.
    """
    lower = weight_classes(1 / float(distribution.rate), distribution.most_steps)
    (counts,) = summed(graph, _counted, distribution, lower)
    sensitivity = min(2, len(lower))
    rate = epsilon / sensitivity
    counts = counts + sample_discrete_laplace(rate, len(lower), source)
    counts.flags.writeable = False
    return NoisyWeightCounts(lower, counts, distribution.unit, rate, sensitivity * rate)


def _counted(graph: AnyGraph, distribution: LaplaceNoise, lower: IntVector) -> list[IntVector]:
    """How many edges are in each class. Private."""
    steps = whole_steps(graph, distribution)
    places = np.searchsorted(lower, steps, side="right")  # 0: no whole step
    return [np.bincount(places, minlength=len(lower) + 1)[1:].astype(np.int64)]


ROOT_STEPS = 1024  # that a change of the sum by 1 is counted in


def root_degrees(graph: AnyGraph, grid: Grid) -> int:
    """The sum over left vertices of floor(1024 sqrt(W_i / u)), exactly. Private.

    W_i is the weight of all edges at i, u the largest weight of one, both in steps of the grid.

    Sensitivity: exactly 1024. Changing one pair changes one W_i, by at most u. Of W < W' <= W + u
    the roots differ by at most sqrt(u), since sqrt(a + u) <= sqrt(a) + sqrt(u); and
    floor(b) <= floor(a + 1024) = floor(a) + 1024 for a <= b <= a + 1024. A vertex that gets its
    first edge, of the largest weight, attains it. No sum overflows: W_i < 2^31 * 2^31.

    Raises:
        ParameterError: a graph without two sides, or a grid of bounded cuts, in which all edges of
            a vertex change.
    """
    if not isinstance(graph, BipartiteGraph) or grid.bounded is not None or grid.cap is None:
        raise ParameterError("root degrees are of bipartite graphs, whose edges are to be hidden")
    weights = np.zeros(graph.shape[0], dtype=np.int64)
    steps = grid.edge_steps(graph)
    np.add.at(weights, graph.rows, np.int64(1) if steps is None else steps)
    scale = ROOT_STEPS**2
    return sum(math.isqrt(scale * int(weight) // grid.largest) for weight in weights)


def buy_root_degrees(
    graph: AnyGraph, grid: Grid, noise: ValueNoise, radius: int, source: EntropySource
) -> float:
    """An upper bound of the sum of root degrees, from a noisy one.

    Args:
        graph: the private bipartite graph.
        grid: `Grid.of` it.
        noise: for a count of sensitivity `ROOT_STEPS`.
        radius: how far the noise can be off, in steps.
        source: where the noise comes from.

    Returns:
        The noisy sum, its radius, and a step for each left vertex, whose root was rounded down; in
        units. The sum is not larger but with the probability that the radius is for.

    Guarantee: the cost of the noise, `ValueNoise.cost(ROOT_STEPS)`, for neighbours that differ in
        one pair: see `root_degrees`.
    """
    noisy = root_degrees(graph, grid) + noise.draw(source)
    return max(0, noisy + radius + graph.shape[0]) / ROOT_STEPS


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
