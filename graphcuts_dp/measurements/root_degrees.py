"""The noisy sum of the roots of the left degrees of a bipartite graph: JT12's private norm.

A row of the matrix has a Euclidean norm of at most the root of its degree, so the sum bounds
||X||_{2,1}, which mirror descent with a (2,p) norm needs to know.

Source: JT12, sections 3.2 (the start needs the norm) and 4.1.
"""

import math

import numpy as np

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.value_noise import ValueNoise

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
