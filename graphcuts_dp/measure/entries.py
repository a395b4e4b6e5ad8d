"""Randomised response: a noisy value for every vertex pair of a private graph."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.blocks import Blocks, LocalBlocks, Pairs
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.pairs.layout import Layout
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.value_noise import noise_distribution

_Edges = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float64]]
# (distribution, layout, the integers of each block's pairs) -> blocks
MakeBlocks = Callable[[NoiseDistribution, Layout, Sequence[Pairs]], Blocks]


def randomized_response(
    graph: AnyGraph,
    distribution: NoiseDistribution,
    source: EntropySource,
    make_blocks: MakeBlocks = LocalBlocks.from_pairs,
) -> NoisyMatrix:
    """Hide every vertex pair on its own.

    Args:
        graph: the private graph.
        distribution: the noise for one entry.
        source: where the noise comes from.
        make_blocks: puts the blocks of the matrix where they shall live.

    Returns:
        The noisy matrix; its shape, type and distribution are public.

    Raises:
        ParameterError: the distribution is for another weight cap, or for graphs without weights.

    Guarantee: epsilon-DP with epsilon = `distribution.epsilon`, neighbours being graphs on the same
    vertices that differ in one pair (an edge; or its weight, by at most 1 or within the public
    cap). In a directed graph that is an ordered pair of two vertices, and an arc. Exactly one noisy
    value depends on that pair, the others are independent of it, and each value is epsilon-DP, so
    the whole matrix is. Source: GRU12 section 6; Warner 1965.
    Each block of rows is drawn from a source of its own, split off `source`: independent of the
    others, and with a seed the same however many processors there are.
    Side channel: adding the edges to the noise takes time proportional to their number
    (nanoseconds each), block by block, as reading the file does.
    """
    if distribution.weight_cap != graph.weight_cap or (
        distribution.name == "binary" and graph.weighted
    ):
        raise ParameterError(
            "the distribution of noise does not suit the graph; make it with distribution_for"
        )
    layout = Layout.of(graph.space)
    bounds = layout.bounds()
    responses = [
        _Response(distribution, layout, rows, edges_of(graph, *rows), own)
        for rows, own in zip(bounds, source.split(len(bounds)), strict=True)
    ]
    return NoisyMatrix(make_blocks(distribution, layout, responses), graph.space)


@dataclass(frozen=True)
class _Response:
    """The noisy integers of the pairs in some rows, drawn when it is called.

    Holds the private edges of these rows, and does not show them.
    """

    distribution: NoiseDistribution
    layout: Layout
    bounds: tuple[int, int]
    edges: _Edges = field(repr=False)
    source: EntropySource

    def __call__(self) -> npt.NDArray[np.integer]:
        first, end = (self.layout.pairs_before(row) for row in self.bounds)
        places = self.layout.places(*(ends.astype(np.int64) for ends in self.edges[:2])) - first
        return self.distribution.respond(end - first, self.edges[2], places, self.source)


def edges_of(graph: AnyGraph, start: int, stop: int) -> _Edges:
    """Rows, columns and weights of the edges whose row lies in start..stop-1."""
    edges = slice(*np.searchsorted(graph.rows, [start, stop]))
    return graph.rows[edges], graph.columns[edges], graph.weights[edges]


def distribution_for(graph: AnyGraph, noise: str, epsilon: float | Fraction) -> NoiseDistribution:
    """The distribution of a name that suits the schema of a graph.

    Raises:
        ParameterError: epsilon out of range, unknown noise, binary noise for weights, or weights
            whose bound nobody has given.
    """
    if noise == "binary" and graph.weighted:
        raise ParameterError(
            "binary noise is for graphs without weights: "
            "choose noise='laplace' (--noise laplace), or read the graph without its weights"
        )
    graph.check_bounded()
    return noise_distribution(noise, epsilon=epsilon, weight_cap=graph.weight_cap)
