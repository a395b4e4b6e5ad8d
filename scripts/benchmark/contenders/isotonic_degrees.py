"""The sorted degrees with noise, made to ascend again, and a random graph with such degrees.

The paper releases degrees; the graph that has them is drawn here. Vertices get their degrees at
random, since ranks do not tell whose they are.
"""

from fractions import Fraction

import numpy as np
import scipy

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_laplace
from scripts.benchmark.contenders.opening import Run, contender
from scripts.benchmark.contenders.realised import with_degrees

SENSITIVITY = 2


def sorted_degrees_graph(run: Run) -> AnyGraph:
    """Release a random graph with noisy sorted degrees, after isotonic regression.

    1. The ascending degrees with discrete Laplace noise (`measure_sorted`).
    2. The ascending sequence nearest to them in least squares, rounded.
    3. Vertices get these degrees in a random order: ranks do not say which vertex has which degree.
    4. A random simple graph has these degrees, or nearly (`with_degrees`).

    Guarantee: epsilon-DP: see `measure_sorted`; the other steps read its result alone.

    Source: Hay, Li, Miklau, Jensen, "Accurate estimation of the degree distribution of private
    networks", ICDM 2009, for steps 1 and 2.
    """
    run.spend(sorted_degrees=run.epsilon)
    noisy = measure_sorted(run.graph, epsilon=run.epsilon, source=run.source)
    rng = run.generator()
    return run.made(*with_degrees(rng.permutation(ascending(noisy)), rng))


def measure_sorted(graph: AnyGraph, *, epsilon: Fraction, source: EntropySource) -> IntVector:
    """Measure the ascending degrees with discrete Laplace noise, shape (n,).

    Guarantee: epsilon-DP. A new edge raises two degrees by 1 and lowers none, so that no number of
    the ascending sequence falls either, and their sum grows by 2: the L1 sensitivity is exactly
    2, and the noise has rate epsilon/2.

    Args:
        graph: the private graph, undirected, without weights.
        epsilon: exact.
        source: where the noise comes from.
    """
    n = graph.shape[0]
    degrees = np.bincount(np.concatenate([graph.rows, graph.columns]), minlength=n)
    noise = sample_discrete_laplace(epsilon / SENSITIVITY, n, source)
    return np.asarray(np.sort(degrees) + noise)


def ascending(noisy: IntVector) -> IntVector:
    """Return the ascending integers nearest to a noisy sequence in least squares."""
    fitted = scipy.optimize.isotonic_regression(noisy.astype(np.float64)).x
    return np.asarray(np.rint(fitted).astype(np.int64))


ISOTONIC_DEGREES = contender(
    sorted_degrees_graph,
    name="isotonic-degrees",
    source="Hay, Li, Miklau, Jensen, ICDM 2009",
    most_vertices=100_000,
)
