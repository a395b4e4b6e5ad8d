"""The top-m filter: the pairs with the largest noisy entries, as many as a noisy count of edges.

The filter's own law, at linear cost by drawing only what passes a threshold. The paper's linear
algorithm, as its authors' code, fills up with uniform false edges to a number that is fixed first:
where few are needed this tells true ones, and exceeds epsilon. So does PGB's code, which also lets
dropped edges come back as false ones and gets the threshold wrong. All of these draw floating-point
noise.
"""

import math
from fractions import Fraction

import numpy as np

from graphcuts_dp.arrays import IntegerVector, IntVector
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.measure.entries import measure_kept_edges
from graphcuts_dp.measure.statistics import measure_total
from graphcuts_dp.privacy.distributions import LaplaceNoise
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.schema.layout import Layout
from scripts.benchmark.contenders.opening import Run, contender
from scripts.benchmark.subsets import uniform_subset

COUNT_SHARE = Fraction(1, 10)  # of epsilon, for the number of edges
_FEW_PAIRS = 1 << 12  # up to so many, noise is drawn for every pair
_LARGEST_CHANCE = 0.25  # of a pair without an edge to be looked at; above, likewise
_LOG_FAILURES = 28.0  # that fewer pairs are looked at than are wanted: below e^-28
_GRAINS = 8  # of a threshold within the scale of the noise, so that few samplers are made


def top_m_filter(run: Run) -> AnyGraph:
    """Return the pairs with the largest noisy entries, as many as a noisy count of the edges.

    1. m~ = the number of edges with discrete Laplace noise, for a tenth of epsilon, in 0..N.
    2. Each of the N pairs gets its entry, 0 or 1, with Laplace noise on a grid, for the rest.
    3. The m~ pairs with the largest of these are edges; of equal ones, uniform ones.

    Step 2 is not carried out for all pairs: only those above a threshold are drawn, in the same
    law, so few below m~ with a chance of e^-28 (see `filtered`), in which case there are fewer
    edges. The cost is linear in m~.

    Guarantee: epsilon-DP by basic composition. One pair moves the count by 1, and one entry by 1;
    what comes out is computed from m~ and noisy entries that were kept by a threshold that is
    computed from m~ (`measure_total`, `measure_kept_edges`).

    Source: Nguyen, Imine, Rusinowitch, "Differentially private publication of social graphs at
    linear cost", ASONAM 2015. Deviation: there, false edges are drawn uniformly until there are m~
    edges in all. That is not the law of step 3, and not private: of an output that has the edge of
    a pair and hardly any false ones, the chance is about 1/N without the edge, and does not depend
    on N with it.
    """
    for_count = run.epsilon * COUNT_SHARE
    run.spend(number_of_edges=for_count, entries=run.epsilon - for_count)
    count = noisy_count(run.graph, epsilon=for_count, source=run.source)
    pairs = filtered(run.graph, count, epsilon=run.epsilon - for_count, source=run.source)
    return run.made(*pairs)


def noisy_count(graph: AnyGraph, *, epsilon: Fraction, source: EntropySource) -> int:
    """Count the edges, with discrete Laplace noise, and move the count into 0..N for N pairs.

    Guarantee: epsilon-DP; one pair changes the number by 1. See `measure_total`.

    Args:
        graph: the private graph, without weights.
        epsilon: exact.
        source: where the noise comes from.
    """
    plain = noise_distribution("binary", epsilon=epsilon, max_weight=1.0)
    total = measure_total(graph, plain, epsilon=epsilon, source=source)
    return min(max(round(total.total / total.unit), 0), _pairs(Layout.of(graph.space)))


def filtered(
    graph: AnyGraph, count: int, *, epsilon: Fraction, source: EntropySource
) -> tuple[IntegerVector, IntegerVector]:
    """Return the pairs with the largest noisy entries.

    Where `count` is small beside the number N of pairs, only pairs above a threshold T are drawn
    (`measure_kept_edges`), whose law is that of the full matrix. T is chosen such that N P(noise
    >= T) = w with w - sqrt(2 w 28) = count. A pair with an edge passes with a larger probability
    still, and pairs pass independently, so that fewer than `count` pass with probability e^-28 at
    most (Chernoff), whatever the graph. The largest `count` of those that pass are the largest of
    all.

    Guarantee: epsilon-DP, for a `count` that is public or was paid for.

    Args:
        graph: the private graph, without weights.
        count: of the pairs, in 0..N.
        epsilon: exact.
        source: where the noise comes from.

    Returns:
        Rows and columns, shape (count,) each, but with probability e^-28.
    """
    layout = Layout.of(graph.space)
    pairs = _pairs(layout)
    noise = noise_distribution("laplace", epsilon=epsilon, max_weight=1.0)
    if not isinstance(noise, LaplaceNoise):
        raise TypeError("Laplace noise is LaplaceNoise")
    if count == 0:
        none = np.zeros(0, dtype=np.int64)
        return none, none
    expected_count = (
        (math.sqrt(2 * _LOG_FAILURES) + math.sqrt(2 * _LOG_FAILURES + 4 * count)) / 2
    ) ** 2
    if pairs <= _FEW_PAIRS or expected_count > _LARGEST_CHANCE * pairs:
        edges = layout.places(graph.rows.astype(np.int64), graph.columns.astype(np.int64))
        values = noise.respond(pairs, graph.weights, edges, source)
        return layout.ends(_largest(values, count, source))
    kept_edges = measure_kept_edges(
        graph, noise, threshold=_threshold(noise, expected_count / pairs), source=source
    )
    chosen = _largest(kept_edges.steps, count, source)
    return kept_edges.rows[chosen], kept_edges.columns[chosen]


def _threshold(noise: LaplaceNoise, chance: float) -> int:
    """Return the largest T, in steps, that noise reaches with at least this chance."""
    rate = float(noise.rate)
    most = (-math.log(chance) - math.log1p(math.exp(-rate))) / rate
    grain = max(1, math.floor(1 / (_GRAINS * rate)))
    return max(1, math.floor(most / grain) * grain)


def _largest(values: IntegerVector, count: int, source: EntropySource) -> IntVector:
    """Return the indices of the largest values, ascending; among equal ones, random ones."""
    if count >= len(values):
        return np.arange(len(values))
    least = np.partition(values, len(values) - count)[len(values) - count]
    above = np.flatnonzero(values > least)
    equal = np.flatnonzero(values == least)
    chosen = uniform_subset(count - len(above), len(equal), source)
    return np.sort(np.concatenate([above, equal[chosen]]))


def _pairs(layout: Layout) -> int:
    return int(layout.pairs_before(layout.shape[0]))


TMF = contender(
    top_m_filter,
    name="tmf",
    source="Nguyen, Imine, Rusinowitch, ASONAM 2015",
    kinds=frozenset({"undirected", "directed", "bipartite"}),
    most_vertices=100_000,
)
