"""The topology sampler: as many pairs as there are edges, edges being likelier, exactly.

The exponential mechanism over all sets of pairs of one size, for graphs without weights: there the
score, minus the distance to the true graph, is twice the number of true edges in the set up to a
constant, and moves one way, so that e^(epsilon edges) is private in place of half that exponent. It
is drawn exactly, by how many edges are in the set, in linear time; the later paper's Markov chain
only comes near it and pays for that with a delta. The size of the set, which is the number of
edges, is not taken as public: a tenth of epsilon measures it. The noise that the paper puts on
weights has no place here.
"""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.privacy.choices import Choice
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_laplace
from graphcuts_dp.schema.layout import Layout
from scripts.benchmark.contenders.opening import Run, contender
from scripts.benchmark.subsets import uniform_subset

COUNT_SHARE = Fraction(1, 10)  # of epsilon, for the number of pairs
_LOGARITHM_ERROR = 2.0**-20  # of sums of up to 10^7 logarithms from the mode


def overlaps(edges: int, chosen: int, pairs: int) -> tuple[int, int]:
    """Return the least and the largest number of edges that can be among the chosen pairs."""
    return max(0, chosen - (pairs - edges)), min(edges, chosen)


def overlap_log_weights(
    edges: int, chosen: int, pairs: int, rate: Fraction
) -> tuple[int, FloatVector]:
    """Return the likeliest number of edges among the chosen pairs, and log weights of all numbers.

    The weight of j is C(edges, j) C(pairs - edges, chosen - j) e^(rate j): there are so many
    choices with j edges, and each has weight e^(rate j) (Fisher's noncentral hypergeometric law).
    The weights are log-concave in j.

    Returns:
        The place of the largest weight, from the least overlap on; and ln of each weight over
        the largest, shape (overlaps,).
    """
    least, most = overlaps(edges, chosen, pairs)
    j = np.arange(least, most, dtype=np.float64)
    up = np.log(edges - j) + np.log(chosen - j)
    down = np.log(j + 1) + np.log(pairs - edges - chosen + j + 1)
    steps = up - down + float(rate)
    mode = int(np.count_nonzero(steps > 0))
    below, above = -np.cumsum(steps[:mode][::-1])[::-1], np.cumsum(steps[mode:])
    return mode, np.concatenate([below, np.zeros(1), above])


def draw_overlap(edges: int, chosen: int, pairs: int, rate: Fraction, source: EntropySource) -> int:
    """Draw the number of edges among the chosen pairs, exactly; see `overlap_log_weights`."""
    least, most = overlaps(edges, chosen, pairs)
    if least == most:
        return least
    mode, log_weights = overlap_log_weights(edges, chosen, pairs, rate)

    def exact(index: int) -> Decimal:
        up, down = 1, 1
        for j in range(least + min(index, mode), least + max(index, mode)):
            up *= (edges - j) * (chosen - j)
            down *= (j + 1) * (pairs - edges - chosen + j + 1)
        log_ratio = (Decimal(up) / Decimal(down)).ln()
        tilt = Decimal(rate.numerator) / Decimal(rate.denominator)
        return (log_ratio if index >= mode else -log_ratio) + (index - mode) * tilt

    return least + Choice(log_weights, _LOGARITHM_ERROR, exact).draw(source)


def among_others(ranks: IntVector, excluded: IntVector) -> IntVector:
    """Return the numbers at these ranks among the numbers that are not excluded.

    Args:
        ranks: from 0, shape (k,).
        taken: ascending places.
    """
    free_before = excluded - np.arange(len(excluded))
    pair_indices: IntVector = ranks + np.searchsorted(free_before, ranks, side="right")
    return pair_indices


def sampled_topology(
    edges: IntVector, chosen: int, pairs: int, *, rate: Fraction, source: EntropySource
) -> IntVector:
    """Draw a set of pairs of this size, with probability proportional to e^(rate edges in it).

    Args:
        edges: places of the edges, ascending. Private.
        chosen: size of the set, in 0..pairs; public, or computed from noisy numbers.
        pairs: how many there are.
        rate: see there.
        source: where the choice comes from.

    Returns:
        Places, ascending, shape (chosen,).

    Guarantee: rate-DP, neighbours differing in one edge. An edge more multiplies the weight of a
    set that has it by e^rate and leaves the others, so that the sum of all weights grows by a
    factor in [1, e^rate], and each probability changes by one in [e^-rate, e^rate]. What is
    drawn has that law: how many edges are in the set, then which of the edges, and which of the
    other pairs, all sets of one size being equally likely.
    """
    overlap = draw_overlap(len(edges), chosen, pairs, rate, source)
    true = edges[uniform_subset(overlap, len(edges), source)]
    ranks = uniform_subset(chosen - overlap, pairs - len(edges), source)
    return np.sort(np.concatenate([true, among_others(ranks, edges)]))


def noisy_size(edges: int, pairs: int, *, rate: Fraction, source: EntropySource) -> int:
    """Count the edges, with discrete Laplace noise, within the number of pairs: rate-DP."""
    return min(max(edges + int(sample_discrete_laplace(rate, 1, source)[0]), 0), pairs)


def topology_sampler(run: Run) -> AnyGraph:
    """Return a graph of about as many edges, sampled so that true edges are likelier.

    Guarantee: epsilon-DP by sequential composition: a tenth for the size (one edge changes the
    number of edges by 1), the rest for the set (`sampled_topology`).
    Source: Liu, Upadhyay, Zou, "Optimal bounds on private graph approximation", SODA 2024.
    """
    graph: AnyGraph = run.graph
    for_size, for_set = run.epsilon * COUNT_SHARE, run.epsilon * (1 - COUNT_SHARE)
    run.spend(Cost.of_pure(for_size + for_set))
    layout = Layout.of(graph.space)
    pairs = int(layout.pairs_before(layout.shape[0]))
    edges = np.sort(layout.places(graph.rows.astype(np.int64), graph.columns.astype(np.int64)))
    size = noisy_size(len(edges), pairs, rate=for_size, source=run.source)
    pair_indices = sampled_topology(edges, size, pairs, rate=for_set, source=run.source)
    return run.made(*layout.ends(pair_indices))


def set_chance(overlap: int, edges: int, chosen: int, pairs: int, rate: Fraction) -> float:
    """Return the chance of one set of that size with so many edges, from the drawn weights."""
    least, _ = overlaps(edges, chosen, pairs)
    _, log_weights = overlap_log_weights(edges, chosen, pairs, rate)
    chances = np.exp(log_weights - np.logaddexp.reduce(log_weights))
    alike = math.comb(edges, overlap) * math.comb(pairs - edges, chosen - overlap)
    return float(chances[overlap - least]) / alike


TOPOLOGY_SAMPLER = contender(
    topology_sampler,
    name="topology-sampler",
    source=(
        "Liu, Upadhyay, Zou: Optimal bounds on private graph approximation, SODA 2024; Almost "
        "linear time differentially private release of synthetic graphs, 2024"
    ),
    kinds=frozenset({"undirected", "directed", "bipartite"}),
    most_vertices=100_000,
)
