"""Simple private graphs to compare a release with. For measurements only, not for publishing.

Each takes a simple graph and spends epsilon at edge level: neighbours are graphs on the same
vertices that differ in one edge. All noise is exact integer noise from the entropy source.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, IntVector
from graphcuts_dp.errors import GraphError
from graphcuts_dp.fits.chung_lu import chung_lu, chung_lu_directed
from graphcuts_dp.graph.adjacency import DirectedGraph, Graph
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.measurements.degrees import measure_degrees
from graphcuts_dp.measurements.entries import randomized_response
from graphcuts_dp.measurements.total import measure_total
from graphcuts_dp.privacy.entropy import EntropySource, entropy_source
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, exact_epsilon, hidden_change
from graphcuts_dp.privacy.noises import noise_distribution

OneSetGraph = Graph | DirectedGraph
COUNT_SHARE = Fraction(1, 10)  # of the budget of `top_m_filter`, for the number of edges


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Baseline:
    """A private matrix of weights.

    Attributes:
        name: how it was made.
        matrix: shape (n, n), zero diagonal, symmetric but for a directed graph; in [0, 1] except
            for "raw matrix".
        guarantee: what it promises.
    """

    name: str
    matrix: FloatMatrix
    guarantee: PrivacyGuarantee


def density_only(graph: OneSetGraph, *, epsilon: float, seed: int | None = None) -> Baseline:
    """The noisy number of edges, spread evenly over all pairs.

    Guarantee: epsilon-DP. One edge changes the count by exactly 1; discrete Laplace noise of rate
    epsilon is added; clipping to 0 .. the number of pairs and spreading read nothing else.

    Args:
        graph: the private graph, directed or not, without weights, at least two vertices.
        epsilon: privacy parameter, in [1e-6, 50].
        seed: makes the run repeatable and voids the promise.

    Raises:
        GraphError: weights, or one vertex.
        ParameterError: epsilon or seed out of range.
    """
    exact, source = _start(graph, epsilon, seed)
    count = noisy_edge_count(graph, exact, source)
    matrix = np.full((graph.n, graph.n), count / Universe.of(graph).size)
    np.fill_diagonal(matrix, 0.0)
    return _baseline("density only", matrix, graph, epsilon, seed)


def noisy_degrees_chung_lu(
    graph: OneSetGraph, *, epsilon: float, seed: int | None = None
) -> Baseline:
    """The Chung-Lu matrix of noisy degrees, negative ones taken as 0.

    Guarantee: epsilon-DP: computed from `noisy_degrees`. Arguments and errors as for
    `density_only`.
    """
    exact, source = _start(graph, epsilon, seed)
    if isinstance(graph, DirectedGraph):
        matrix = chung_lu_directed(*noisy_in_and_out_degrees(graph, exact, source))
    else:
        matrix = chung_lu(noisy_degrees(graph, exact, source))
    return _baseline("noisy degrees, Chung-Lu", matrix, graph, epsilon, seed)


def top_m_filter(graph: OneSetGraph, *, epsilon: float, seed: int | None = None) -> Baseline:
    """As many pairs as there are edges, by a noisy count: those with the largest noisy entries.

    A tenth of epsilon buys the count (sensitivity 1), the rest Laplace noise on every entry (see
    `randomized_response`); equal entries, which a fine grid makes rare, are taken in row order.

    Guarantee: epsilon-DP by basic composition, epsilon/10 + 9 epsilon/10.
    Source: Nguyen, Imine, Rusinowitch, "Differentially private publication of social graphs at
    linear cost", ASONAM 2015; their filter draws from the same distribution without filling the
    matrix. Arguments and errors as for `density_only`.
    """
    exact, source = _start(graph, epsilon, seed)
    count = noisy_edge_count(graph, exact * COUNT_SHARE, source)
    distribution = noise_distribution("laplace", epsilon=exact * (1 - COUNT_SHARE), weight_cap=1.0)
    noisy = randomized_response(graph, distribution, source).estimate()
    rows, columns = Universe.of(graph).pairs()
    kept = np.argsort(-noisy[rows, columns], kind="stable")[:count]
    matrix = np.zeros((graph.n, graph.n))
    matrix[rows[kept], columns[kept]] = 1.0
    if isinstance(graph, Graph):
        matrix += matrix.T.copy()
    return _baseline("top-m filter", matrix, graph, epsilon, seed)


def raw_matrix(graph: OneSetGraph, *, epsilon: float, seed: int | None = None) -> Baseline:
    """The unbiased matrix after binary randomised response: not a graph, entries leave [0, 1].

    With the same seed it is the noisy matrix of `release_graph` with binary noise.

    Guarantee: epsilon-DP; see `randomized_response`. Arguments and errors as for `density_only`.
    """
    exact, source = _start(graph, epsilon, seed)
    distribution = noise_distribution("binary", epsilon=exact, weight_cap=1.0)
    matrix = randomized_response(graph, distribution, source).estimate()
    return _baseline("raw matrix", matrix, graph, epsilon, seed)


def elementwise_clip(graph: OneSetGraph, *, epsilon: float, seed: int | None = None) -> Baseline:
    """`raw_matrix` with every entry brought into [0, 1]; the bias grows as n^2.

    Guarantee: epsilon-DP: computed from `raw_matrix`. Arguments and errors as for `density_only`.
    """
    raw = raw_matrix(graph, epsilon=epsilon, seed=seed)
    matrix = np.clip(raw.matrix, 0.0, 1.0)
    return Baseline(name="elementwise clip", matrix=matrix, guarantee=raw.guarantee)


BASELINES: Mapping[str, Callable[..., Baseline]] = {
    "raw matrix": raw_matrix,
    "elementwise clip": elementwise_clip,
    "density only": density_only,
    "noisy degrees, Chung-Lu": noisy_degrees_chung_lu,
    "top-m filter": top_m_filter,
}


def noisy_edge_count(graph: OneSetGraph, epsilon: Fraction, source: EntropySource) -> int:
    """Number of edges with discrete Laplace noise, brought into 0 .. the number of pairs.

    Guarantee: epsilon-DP; see `measure_total`. Clipping is post-processing.

    Args:
        graph: the private graph.
        epsilon: exact, > 0.
        source: where the noise comes from.
    """
    distribution = noise_distribution("binary", epsilon=epsilon, weight_cap=1.0)
    total = measure_total(graph, distribution, epsilon=epsilon, source=source)
    twice = 2 if isinstance(graph, Graph) else 1
    return min(max(int(total.value) // twice, 0), Universe.of(graph).size)


def noisy_degrees(graph: OneSetGraph, epsilon: Fraction, source: EntropySource) -> IntVector:
    """Degrees with discrete Laplace noise; may be negative.

    Guarantee: epsilon-DP; see `measure_degrees`.

    Args:
        graph: the private graph, without weights.
        epsilon: exact, > 0.
        source: where the noise comes from.

    Returns:
        Shape (n,).
    """
    distribution = noise_distribution("binary", epsilon=epsilon, weight_cap=1.0)
    return measure_degrees(graph, distribution, epsilon=epsilon, source=source).rows


def noisy_in_and_out_degrees(
    graph: DirectedGraph, epsilon: Fraction, source: EntropySource
) -> tuple[IntVector, IntVector]:
    """Out-degrees and in-degrees with discrete Laplace noise; may be negative.

    Guarantee: epsilon-DP, both together; see `measure_degrees`.

    Args:
        graph: the private graph, without weights.
        epsilon: exact, > 0.
        source: where the noise comes from.

    Returns:
        Shape (n,) each.
    """
    distribution = noise_distribution("binary", epsilon=epsilon, weight_cap=1.0)
    noisy = measure_degrees(graph, distribution, epsilon=epsilon, source=source)
    return noisy.rows, noisy.columns


def _start(graph: OneSetGraph, epsilon: float, seed: int | None) -> tuple[Fraction, EntropySource]:
    if not isinstance(graph, Graph | DirectedGraph) or graph.weighted:
        raise GraphError("baselines are for graphs on one vertex set, without weights")
    if graph.n < 2:
        raise GraphError("a graph of one vertex has no pairs: there is nothing to release")
    return exact_epsilon(epsilon), entropy_source(seed)


def _baseline(
    name: str, matrix: FloatMatrix, graph: OneSetGraph, epsilon: float, seed: int | None
) -> Baseline:
    guarantee = PrivacyGuarantee(
        epsilon=float(epsilon),
        neighbours=hidden_change(
            weighted=False, weight_cap=1.0, directed=isinstance(graph, DirectedGraph)
        ),
        seed=seed,
    )
    return Baseline(name=name, matrix=matrix, guarantee=guarantee)
