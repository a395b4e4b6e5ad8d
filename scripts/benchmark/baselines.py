"""Simple private graphs to compare a release with. For measurements only, not for publishing.

Each takes a graph of any kind, its weights within a public bound, and spends epsilon at edge
level: neighbours are graphs on the same vertices that differ in one edge, or in one weight within
the cap. All noise is exact integer noise from the entropy source.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix, IntVector
from graphcuts_dp.errors import GraphError
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, Graph
from graphcuts_dp.measure.entries import randomized_response
from graphcuts_dp.measure.statistics import measure_degrees, measure_total
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.entropy import EntropySource, entropy_source
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, exact_epsilon
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.synth.chung_lu import MAX_ROUNDS, chung_lu_factors
from scripts.benchmark.base import hidden

COUNT_SHARE = Fraction(1, 10)  # of the budget of `top_m_filter`, for the number of edges


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Baseline:
    """A private matrix of weights.

    Attributes:
        name: how it was made.
        matrix: shape (n, n), zero diagonal, symmetric but for a directed graph, or (n_left,
            n_right); in [0, cap] except for "raw matrix".
        guarantee: what it guarantees.
    """

    name: str
    matrix: FloatMatrix
    guarantee: PrivacyGuarantee


def density_only(graph: AnyGraph, *, epsilon: float, seed: int | None = None) -> Baseline:
    """Return the noisy total weight, spread evenly over all pairs.

    Guarantee: epsilon-DP. One edge changes the total by at most the cap; discrete Laplace noise of
    that sensitivity is added (`measure_total`); clipping and spreading read nothing else.

    Args:
        graph: the private graph, with at least one pair; weights need a public bound.
        epsilon: privacy parameter, in [1e-6, 50].
        seed: makes the run repeatable and voids the guarantee.

    Raises:
        GraphError: weights without a cap, or one vertex.
        ParameterError: epsilon or seed out of range.
    """
    exact, source = _start(graph, epsilon, seed)
    matrix = np.full(graph.shape, noisy_weight(graph, exact, source) / _pairs(graph))
    return _baseline("density only", graph, matrix, epsilon, seed)


def noisy_degrees_chung_lu(graph: AnyGraph, *, epsilon: float, seed: int | None = None) -> Baseline:
    """Return the Chung-Lu matrix of noisy degrees, with 0 in place of negative ones.

    Guarantee: epsilon-DP: computed from `measure_degrees`. Arguments and errors as for
    `density_only`.
    """
    exact, source = _start(graph, epsilon, seed)
    noisy = measure_degrees(graph, _distribution(graph, exact), epsilon=exact, source=source)
    rows, columns = (
        steps * (noisy.unit / _cap(graph)) for steps in (noisy.steps[0], noisy.steps[-1])
    )
    column_degrees = None if isinstance(graph, Graph) else columns
    expected = chung_lu(rows, column_degrees, hollow=not isinstance(graph, BipartiteGraph))
    return _baseline("noisy degrees, Chung-Lu", graph, expected * _cap(graph), epsilon, seed)


def top_m_filter(graph: AnyGraph, *, epsilon: float, seed: int | None = None) -> Baseline:
    """Return the pairs with the largest noisy entries, as many as a noisy count of the edges.

    A tenth of epsilon measures the total weight (sensitivity: the maximum weight), the rest is
    for Laplace noise on every entry (see `randomized_response`). The largest entries get the
    maximum weight, as many as make up the total; equal entries, which a fine grid makes rare, are
    taken in row order.

    Guarantee: epsilon-DP by basic composition, epsilon/10 + 9 epsilon/10.
    Source: Nguyen, Imine, Rusinowitch, "Differentially private publication of social graphs at
    linear cost", ASONAM 2015; their filter draws from the same distribution without filling the
    matrix. Arguments and errors as for `density_only`.
    """
    exact, source = _start(graph, epsilon, seed)
    count = round(noisy_weight(graph, exact * COUNT_SHARE, source) / _cap(graph))
    distribution = noise_distribution(
        "laplace", epsilon=exact * (1 - COUNT_SHARE), max_weight=graph.max_weight
    )
    noisy = randomized_response(graph, distribution, source).estimate()
    rows, columns = Universe.of(graph).pairs()
    largest = np.argsort(-noisy[rows, columns], kind="stable")[:count]
    matrix = np.zeros(graph.shape)
    matrix[rows[largest], columns[largest]] = _cap(graph)
    if isinstance(graph, Graph):
        matrix += matrix.T.copy()
    return _baseline("top-m filter", graph, matrix, epsilon, seed)


def raw_matrix(graph: AnyGraph, *, epsilon: float, seed: int | None = None) -> Baseline:
    """Return the unbiased matrix after randomised response: no graph, as entries leave [0, cap].

    The noise is binary, or Laplace for weights. With the same seed it is the noisy matrix of
    `release_graph` with that noise and mechanism="randomized-response".

    Guarantee: epsilon-DP; see `randomized_response`. Arguments and errors as for `density_only`,
    but weights may do without a bound, and neighbours then differ in one weight by at most 1.
    """
    exact, source = _start(graph, epsilon, seed, capped=False)
    matrix = randomized_response(graph, _distribution(graph, exact), source).estimate()
    return _baseline("raw matrix", graph, matrix, epsilon, seed)


def elementwise_clip(graph: AnyGraph, *, epsilon: float, seed: int | None = None) -> Baseline:
    """Return `raw_matrix` with every entry moved into [0, cap]; the bias grows as n^2.

    Guarantee: epsilon-DP: computed from `raw_matrix`. Arguments and errors as for `raw_matrix`.
    """
    raw = raw_matrix(graph, epsilon=epsilon, seed=seed)
    matrix = np.clip(raw.matrix, 0.0, np.inf if graph.max_weight is None else graph.max_weight)
    return Baseline(name="elementwise clip", matrix=matrix, guarantee=raw.guarantee)


BASELINES: Mapping[str, Callable[..., Baseline]] = {
    "raw matrix": raw_matrix,
    "elementwise clip": elementwise_clip,
    "density only": density_only,
    "noisy degrees, Chung-Lu": noisy_degrees_chung_lu,
    "top-m filter": top_m_filter,
}


def noisy_degrees(graph: AnyGraph, epsilon: Fraction, source: EntropySource) -> IntVector:
    """Return degrees (of the left side; out-degrees) with discrete Laplace noise; may be negative.

    Guarantee: epsilon-DP; see `measure_degrees`.

    Args:
        graph: the private graph, without weights.
        epsilon: exact, > 0.
        source: where the noise comes from.

    Returns:
        Shape (n,), or (n_left,).
    """
    distribution = noise_distribution("binary", epsilon=epsilon, max_weight=1.0)
    return measure_degrees(graph, distribution, epsilon=epsilon, source=source).steps[0]


def noisy_weight(graph: AnyGraph, epsilon: Fraction, source: EntropySource) -> float:
    """Return the total weight with noise, moved into the range that the pairs allow.

    Guarantee: epsilon-DP; see `measure_total`. Clipping is post-processing.

    Args:
        graph: the private graph; weights within a cap.
        epsilon: exact, > 0.
        source: where the noise comes from.
    """
    total = measure_total(graph, _distribution(graph, epsilon), epsilon=epsilon, source=source)
    doubled = 2 if isinstance(graph, Graph) else 1
    return min(max(total.total / doubled, 0.0), _pairs(graph) * _cap(graph))


def _pairs(graph: AnyGraph) -> int:
    return Universe.of(graph).size


def _cap(graph: AnyGraph) -> float:
    return 1.0 if graph.max_weight is None else graph.max_weight


def _distribution(graph: AnyGraph, epsilon: Fraction) -> NoiseDistribution:
    noise = "laplace" if graph.weighted else "binary"
    return noise_distribution(noise, epsilon=epsilon, max_weight=graph.max_weight)


def _start(
    graph: AnyGraph, epsilon: float, seed: int | None, *, capped: bool = True
) -> tuple[Fraction, EntropySource]:
    graph.check_bounded()
    if capped and graph.weighted and graph.max_weight is None:
        raise GraphError("this baseline needs weights with a public bound: pass max_weight")
    if not isinstance(graph, BipartiteGraph) and graph.n < 2:
        raise GraphError("a graph of one vertex has no pairs: there is nothing to release")
    return exact_epsilon(epsilon), entropy_source(seed)


def _baseline(
    name: str, graph: AnyGraph, matrix: FloatMatrix, epsilon: float, seed: int | None
) -> Baseline:
    if not isinstance(graph, BipartiteGraph):
        np.fill_diagonal(matrix, 0.0)
    guarantee = PrivacyGuarantee(epsilon=float(epsilon), neighbours=hidden(graph), seed=seed)
    return Baseline(name=name, matrix=matrix, guarantee=guarantee)


def chung_lu(
    rows: npt.ArrayLike,
    columns: npt.ArrayLike | None = None,
    *,
    hollow: bool = True,
    max_rounds: int = MAX_ROUNDS,
) -> FloatMatrix:
    """Return the matrix min(1, r_i c_j) for given row and column sums, or min(1, t_i t_j).

    Args:
        rows: as for `chung_lu_factors`, which tells how close the sums come.
        columns: likewise; None for a symmetric matrix.
        hollow: whether the diagonal is zero.
        max_rounds: likewise.

    Returns:
        Entries in [0, 1].
    """
    r, c = chung_lu_factors(rows, columns, hollow=hollow, max_rounds=max_rounds)
    matrix: FloatMatrix = np.minimum(np.outer(r, c), 1.0)
    if hollow:
        np.fill_diagonal(matrix, 0.0)
    return matrix
