"""Measure the entries of a private graph: one noisy value for every pair of vertices.

`randomized_response` returns all of them. `measure_kept_edges` returns those above a threshold, and
never forms the others.
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

# Rows, columns and weights of edges.
_Edges = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float64]]
# Rows, columns and noisy weights, in steps, of kept pairs.
Kept = tuple[IndexArray, IndexArray, IntVector]
# Parts of the rows, which are measured in parallel. The noise of a seed depends on their number.
_PARTS = 64


def randomized_response(
    graph: AnyGraph,
    distribution: NoiseDistribution,
    source: EntropySource,
) -> NoisyMatrix:
    """Measure every pair of vertices with noise of its own.

    Args:
        graph: the private graph.
        distribution: the noise for one entry.
        source: of the noise.

    Returns:
        The noisy matrix; its shape, type and distribution are public.

    Raises:
        ParameterError: the distribution is for another maximum weight, or for no weights.

    Guarantee: epsilon-DP with epsilon = `distribution.epsilon`, neighbours being graphs on the same
    vertices that differ in one pair (an edge; or its weight, by at most 1 or within the public
    maximum). In a directed graph the pair is ordered, and the edge an arc. Exactly one noisy value
    depends on that pair, the others are independent of it, and each value is epsilon-DP, so the
    whole matrix is. Source: GRU12 section 6; Warner 1965.
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
        first, stop = (layout.pairs_before(row) for row in bounds[index])
        positions = layout.places(rows.astype(np.int64), columns.astype(np.int64)) - first
        return distribution.respond(stop - first, weights, positions, sources[index])

    return NoisyMatrix(Blocks.from_pairs(distribution, layout, respond), graph.space)


def edges_of(graph: AnyGraph, start: int, stop: int) -> _Edges:
    """Return rows, columns and weights of the edges whose row lies in start..stop-1. Private."""
    edges = slice(*np.searchsorted(graph.rows, [start, stop]))
    return graph.rows[edges], graph.columns[edges], graph.weights[edges]


def distribution_for(graph: AnyGraph, noise: str, epsilon: float | Fraction) -> NoiseDistribution:
    """Return the distribution of noise of this name for the schema of a graph.

    Raises:
        ParameterError: epsilon out of range, unknown noise, binary noise for weights, or weights
            without a public bound.
    """
    if noise == "binary" and graph.weighted:
        raise ParameterError(
            "binary noise is for graphs without weights: "
            "choose noise='laplace', or read the graph without its weights"
        )
    graph.check_bounded()
    return noise_distribution(noise, epsilon=epsilon, max_weight=graph.max_weight)


def measure_kept_edges(
    graph: AnyGraph,
    distribution: LaplaceNoise,
    *,
    threshold: int,
    source: EntropySource,
) -> KeptEdges:
    """Measure all pairs whose weight plus discrete Laplace noise reaches a threshold.

    Args:
        graph: the private graph.
        distribution: of the noise of each pair; weights are rounded down to its steps.
        threshold: T in steps, in 1..2^52; public, or computed from earlier measurements.
        source: of the noise.

    Returns:
        The kept pairs in the order of pairs, which does not distinguish edges from other pairs.

    Raises:
        ParameterError: a distribution for another maximum weight, a threshold out of range, or more
            than 2^56 pairs. Nothing was drawn.

    Guarantee: epsilon-DP with epsilon = `distribution.epsilon`, neighbours being graphs on the same
    vertices that differ in one pair (an edge; or its weight, by at most 1 or within 0..max_weight;
    in a directed graph, an arc).

    Proof. The output has the law of the following mechanism. To the steps of each pair, at most
    2^62 (see `LaplaceNoise`) and 0 without an edge, add its own noise, P(k) proportional to
    e^(-rate |k|); publish the sums that reach T, and their pairs. One pair changes by up to
    s = `sensitivity_steps` steps, and all noises are independent, so the whole matrix is
    (s rate)-DP, s rate = epsilon; the filter is post-processing by a public threshold. The function
    draws noise for each edge, and of all N pairs, with or without an edge, those where noise alone
    reaches T (`sample_exceeding`, independent of the edges); of these it drops pairs with an edge.
    So every pair without an edge is kept with P(noise >= T), independently of all others, with the
    value of its noise. A threshold from earlier measurements is allowed by sequential composition
    (DR14 Theorem 3.16).
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
    parts = list(zip(bounds, source.split(len(bounds)), strict=True))
    kept_parts = in_parallel(
        lambda part: keep_part(graph, distribution, threshold, layout, *part), parts
    )
    rows, columns, steps = (np.concatenate(arrays) for arrays in zip(*kept_parts, strict=True))
    for array in (rows, columns, steps):
        array.flags.writeable = False
    return KeptEdges(
        rows=rows,
        columns=columns,
        steps=steps,
        threshold=threshold,
        distribution=distribution,
        space=graph.space,
    )


def row_parts(layout: Layout) -> list[tuple[int, int]]:
    """Return the first row and the stop of each part; parts have about equally many pairs."""
    height = layout.shape[0]
    pairs_before = layout.pairs_before(np.arange(height + 1, dtype=np.int64))
    pair_count = int(pairs_before[-1])
    stops = np.searchsorted(
        pairs_before, [pair_count * part // _PARTS for part in range(1, _PARTS)]
    )
    boundaries = np.unique(np.concatenate([[0], stops, [height]])).tolist()
    return list(itertools.pairwise(boundaries))


def keep_part(
    graph: AnyGraph,
    distribution: LaplaceNoise,
    threshold: int,
    layout: Layout,
    bounds: tuple[int, int],
    source: EntropySource,
) -> Kept:
    """Return the kept pairs of some rows, in the order of pairs.

    Guarantee: that of `measure_kept_edges`, where the proof is, for the pairs of these rows.

    Args:
        graph: the private graph.
        distribution: of the noise.
        threshold: in steps.
        layout: of the whole matrix.
        bounds: first row and stop.
        source: of the noise of these rows; see `measure_kept_edges`.
    """
    first, stop = (layout.pairs_before(row) for row in bounds)
    rows, columns, weights = edges_of(graph, *bounds)
    edges = layout.places(rows.astype(np.int64), columns.astype(np.int64)) - first
    noisy = whole_steps(weights, distribution.unit, LARGEST_STEPS)
    noisy += sample_discrete_laplace(distribution.rate, len(noisy), source)
    reaches = noisy >= threshold
    noise_only = sample_exceeding(distribution.rate, threshold, stop - first, source)
    has_no_edge = ~_is_in(noise_only.positions, edges)
    pairs = np.concatenate([edges[reaches], noise_only.positions[has_no_edge]])
    values = np.concatenate([noisy[reaches], noise_only.values[has_no_edge]])
    order = np.argsort(pairs)
    kept_rows, kept_columns = layout.ends(pairs[order] + first, *bounds)
    return kept_rows.astype(np.int32), kept_columns.astype(np.int32), values[order]


def _is_in(values: IntVector, sorted_values: IntVector) -> BoolVector:
    """Return which values are in a sorted array; numpy's `isin` sorts again, 30 times slower."""
    if not len(sorted_values):
        return np.zeros(len(values), dtype=np.bool_)
    index = np.minimum(np.searchsorted(sorted_values, values), len(sorted_values) - 1)
    return np.asarray(sorted_values[index] == values)
