"""Randomised response: a noisy value for every vertex pair of a private graph.

Also kept edges: a noisy weight for every pair, of which only the large ones are ever made.
"""

import itertools
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, IndexArray, IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.blocks import Blocks
from graphcuts_dp.estimate.kept_edges import KeptEdges
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import whole_steps
from graphcuts_dp.privacy.distributions import LARGEST_STEPS, LaplaceNoise, NoiseDistribution
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.exceeding import LARGEST_POSITIONS, LARGEST_THRESHOLD, sample_exceeding
from graphcuts_dp.privacy.noise import sample_discrete_laplace
from graphcuts_dp.resources import in_parallel
from graphcuts_dp.schema.layout import Layout

_Edges = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float64]]


def randomized_response(
    graph: AnyGraph,
    distribution: NoiseDistribution,
    source: EntropySource,
) -> NoisyMatrix:
    """Hide every vertex pair on its own.

    Args:
        graph: the private graph.
        distribution: the noise for one entry.
        source: where the noise comes from.

    Returns:
        The noisy matrix; its shape, type and distribution are public.

    Raises:
        ParameterError: the distribution is for another maximum weight, or for no weights.

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
    if distribution.max_weight != graph.max_weight or (
        distribution.name == "binary" and graph.weighted
    ):
        raise ParameterError(
            "the distribution of noise does not suit the graph; make it with distribution_for"
        )
    layout = Layout.of(graph.space)
    bounds = layout.bounds()
    sources = source.split(len(bounds))

    def respond(index: int) -> npt.NDArray[np.integer]:
        rows, columns, weights = edges_of(graph, *bounds[index])
        first, end = (layout.pairs_before(row) for row in bounds[index])
        places = layout.places(rows.astype(np.int64), columns.astype(np.int64)) - first
        return distribution.respond(end - first, weights, places, sources[index])

    return NoisyMatrix(Blocks.from_pairs(distribution, layout, respond), graph.space)


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
            "choose noise='laplace', or read the graph without its weights"
        )
    graph.check_bounded()
    return noise_distribution(noise, epsilon=epsilon, max_weight=graph.max_weight)


# Rows, columns and released integers of the pairs that were kept of a part.
Kept = tuple[IndexArray, IndexArray, IntVector]

_PARTS = 64  # of the rows, so that processors share them; the noise depends on how many


def measure_kept_edges(
    graph: AnyGraph,
    distribution: LaplaceNoise,
    *,
    threshold: int,
    source: EntropySource,
) -> KeptEdges:
    """All pairs whose weight plus discrete Laplace noise reaches a threshold.

    Args:
        graph: the private graph.
        distribution: of the noise of each pair; weights are rounded down to its steps.
        threshold: T in steps, in 1..2^52; public, or computed from noisy data that was paid for.
        source: where the noise comes from.

    Returns:
        The kept pairs in the order of pairs, which does not tell edges from others.

    Raises:
        ParameterError: a distribution for another maximum weight, a threshold out of range, or more
            than 2^56 pairs. Nothing was drawn.

    Guarantee: epsilon-DP with epsilon = `distribution.epsilon`, neighbours being graphs on the same
    vertices that differ in one pair (an edge; or its weight, by at most 1 or within 0..cap; in a
    directed graph, an arc). Proof: the output has the law of the following. To the steps of each
    pair, at most 2^62 (see `LaplaceNoise`) and 0 without an edge, add its own noise, P(k)
    proportional to e^(-rate |k|); publish which sums reach T, and these. One pair changes by up to
    s = `sensitivity_steps` steps, all noises are independent, so that the whole matrix is
    (s rate)-DP, s rate = epsilon; the filter is post-processing by a public threshold. What is
    drawn is the same: noise for each edge; of all N places, edges or not, those where noise alone
    reaches T (`sample_exceeding`, independent of the edges), of which places with an edge are
    dropped. So every pair without an edge is kept with P(noise >= T), independently of all
    others, with the value of its noise. A threshold from measurements that were bought before is
    allowed by sequential composition (DR14 Theorem 3.16).
    Source: the high-pass filter of Liu, Upadhyay, Zou, 2024, is related; here the threshold comes
    from noisy numbers, and the law is that of the full matrix exactly.
    Side channel: drawing noise for the edges takes time proportional to their number.
    """
    if distribution.max_weight != graph.max_weight:
        raise ParameterError("the distribution of noise does not suit the graph's maximum weight")
    layout = Layout.of(graph.space)
    if not 1 <= threshold <= LARGEST_THRESHOLD:
        raise ParameterError("the threshold must be a whole number in 1..2^52 steps")
    if layout.pairs_before(layout.shape[0]) > LARGEST_POSITIONS:
        raise ParameterError("there are more pairs than can be counted: at most 2^56")
    bounds = row_parts(layout)
    own = source.split(len(bounds))
    given = [(distribution, threshold, layout, *each) for each in zip(bounds, own, strict=True)]
    found = in_parallel(lambda part: keep_part(graph, *part), given)
    rows, columns, steps = (np.concatenate(each) for each in zip(*found, strict=True))
    for each in (rows, columns, steps):
        each.flags.writeable = False
    return KeptEdges(
        rows=rows,
        columns=columns,
        steps=steps,
        threshold=threshold,
        distribution=distribution,
        space=graph.space,
    )


def row_parts(layout: Layout) -> list[tuple[int, int]]:
    """First row and end of each part, of about as many pairs each; from the shape alone."""
    height = layout.shape[0]
    before = layout.pairs_before(np.arange(height + 1, dtype=np.int64))
    ends = np.searchsorted(before, [int(before[-1]) * part // _PARTS for part in range(1, _PARTS)])
    edges = np.unique(np.concatenate([[0], ends, [height]])).tolist()
    return list(itertools.pairwise(edges))


def keep_part(
    graph: AnyGraph,
    distribution: LaplaceNoise,
    threshold: int,
    layout: Layout,
    bounds: tuple[int, int],
    source: EntropySource,
) -> Kept:
    """What is kept of the pairs in some rows.

    Args:
        graph: the private graph.
        distribution: of the noise.
        threshold: in steps.
        layout: of the whole matrix.
        bounds: first row and end.
        source: of the noise of these rows; see `measure_kept_edges`.
    """
    first, end = (layout.pairs_before(row) for row in bounds)
    rows, columns, weights = edges_of(graph, *bounds)
    edges = layout.places(rows.astype(np.int64), columns.astype(np.int64)) - first
    noisy = whole_steps(weights, distribution.unit, LARGEST_STEPS)
    noisy += sample_discrete_laplace(distribution.rate, len(noisy), source)
    reached = noisy >= threshold
    false = sample_exceeding(distribution.rate, threshold, end - first, source)
    empty = ~_among(false.positions, edges)
    places = np.concatenate([edges[reached], false.positions[empty]])
    values = np.concatenate([noisy[reached], false.values[empty]])
    order = np.argsort(places)
    kept_rows, kept_columns = layout.ends(places[order] + first, *bounds)
    return kept_rows.astype(np.int32), kept_columns.astype(np.int32), values[order]


def _among(places: IntVector, sorted_places: IntVector) -> BoolVector:
    """Which places are among sorted ones; numpy's `isin` sorts again, in 30 times the time."""
    if not len(sorted_places):
        return np.zeros(len(places), dtype=np.bool_)
    at = np.minimum(np.searchsorted(sorted_places, places), len(sorted_places) - 1)
    return np.asarray(sorted_places[at] == places)
