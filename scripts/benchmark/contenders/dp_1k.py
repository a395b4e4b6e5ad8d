"""The noisy histogram of degrees, and a random graph with such degrees.

A tenth of epsilon measures the largest degree, up to which counts go. PGB's code takes it from the
private graph: how many counts there are then tells it exactly; and its graph has another number of
vertices. Vertices get their degrees at random, since a histogram does not tell whose they are.
"""

from fractions import Fraction
from typing import NamedTuple, final

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_laplace
from scripts.benchmark.contenders.opening import Run, contender
from scripts.benchmark.contenders.realised import with_degrees
from scripts.figures.random_graphs import largest_remainders

LARGEST_SHARE = Fraction(1, 10)  # of epsilon, for the largest degree
SENSITIVITY = 4


@final
class NoisyHistogram(NamedTuple):
    """Noisy numbers of vertices of each degree.

    Attributes:
        largest: the noisy largest degree, in 1..n-1; larger ones are counted as this.
        counts: of the degrees 0..largest, any sign, shape (largest + 1,).
    """

    largest: int
    counts: IntVector


def degree_histogram_graph(run: Run) -> AnyGraph:
    """Release a random graph with the noisy 1K-distribution of a private graph.

    1. The largest degree with noise, for a tenth of epsilon, and counts of the degrees up to it
       with noise, for the rest (`measure_histogram`).
    2. Negative counts are taken as 0, and all are scaled to n vertices, by largest remainders.
    3. Vertices get these degrees in a random order, since a histogram does not name vertices.
    4. A random simple graph has these degrees, or nearly (`with_degrees`).

    Guarantee: epsilon-DP: see `measure_histogram`; the other steps read its result alone.

    Source: Wang, Wu, "Preserving differential privacy in degree-correlation based graph
    generation", Transactions on Data Privacy 2013, the 1K model. Added: the largest degree is
    measured, since counts up to the true one would reveal it; there are n vertices, a public
    number.
    """
    for_largest = run.epsilon * LARGEST_SHARE
    run.spend(largest_degree=for_largest, counts=run.epsilon - for_largest)
    noisy = measure_histogram(run.graph, epsilon=run.epsilon, source=run.source)
    rng = run.generator()
    return run.made(*with_degrees(rng.permutation(degrees_of(noisy, run.graph.n)), rng))


def measure_histogram(
    graph: AnyGraph, *, epsilon: Fraction, source: EntropySource
) -> NoisyHistogram:
    """Measure the number of vertices of each degree with discrete Laplace noise.

    Guarantee: epsilon-DP by basic composition. One pair changes the largest degree by at most 1,
    which gets noise of rate epsilon/10. Let D be what comes out, brought into 1..n-1. min(degree,
    D) changes for two vertices at most, by 1: each leaves one bin for another. So the counts
    change by 4 in all at most, and by just 4 where the two bins that vertices leave and the two
    that they come to differ; noise of rate (9 epsilon/10)/4 on each of D + 1 counts hides that.

    Args:
        graph: the private graph, undirected, without weights.
        epsilon: exact.
        source: where the noise comes from.
    """
    n = graph.shape[0]
    degrees = np.bincount(np.concatenate([graph.rows, graph.columns]), minlength=n)
    for_largest = epsilon * LARGEST_SHARE
    noise = int(sample_discrete_laplace(for_largest, 1, source)[0])
    largest = min(max(int(degrees.max()) + noise, 1), n - 1)
    counts = np.bincount(np.minimum(degrees, largest), minlength=largest + 1).astype(np.int64)
    rate = (epsilon - for_largest) / SENSITIVITY
    counts += sample_discrete_laplace(rate, len(counts), source)
    return NoisyHistogram(largest, counts)


def degrees_of(noisy: NoisyHistogram, n: int) -> IntVector:
    """Return ascending degrees of n vertices whose histogram is near a noisy one."""
    weights = np.maximum(noisy.counts, 0).astype(np.float64)
    if not weights.any():
        return np.zeros(n, dtype=np.int64)
    return np.repeat(np.arange(len(weights)), largest_remainders(weights, n))


DP_1K = contender(
    degree_histogram_graph,
    name="dp-1k",
    source="Wang, Wu, Transactions on Data Privacy 2013",
    most_vertices=100_000,
)
