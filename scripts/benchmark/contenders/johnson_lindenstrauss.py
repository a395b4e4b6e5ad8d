"""The Johnson-Lindenstrauss transform: random projections of the edges, and cuts of those.

The paper's noise is a real Gaussian, which floats can only imitate; here it is a discrete Gaussian
on a grid, drawn exactly, with a proof that its losses are those of the real one. The weight w that
is added to the complete graph is the least one that moments of the loss of all rows allow. The
paper's own, sqrt(32 r ln(2/delta)) ln(4r/delta)/epsilon, is about 7,000 for 256 rows at epsilon 1
and delta 1e-6, and its algorithm needs w < n; here it is 116, and any number of vertices will do:
weights are not scaled by 1 - w/n, which only makes w larger. There is a row for each vertex, from
256 to 1,024 rows: the method is for cuts that are fixed beforehand, and fewer rows make the worst
of all cuts worse. A public implementation spends epsilon on each row, not on all of them, and adds
weight only to directions that the edges span, so that a vertex without edges is seen.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
import scipy

from graphcuts_dp.arrays import FloatMatrix, IntMatrix
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_gaussian
from scripts.benchmark.contenders.opening import Run, contender

LEAST_ROWS = 256  # a cut then errs by sqrt(2/256) = 9 % of itself and of the weight that is added
MOST_ROWS = 1024  # the worst of all cuts errs less with a row for each vertex; this bounds the time
EDGE_VARIANCE = 2**20
_NAME = "johnson-lindenstrauss"
_LARGEST_CHANGE = 0.5  # so that sums over the grid are integrals, see `log_delta`
_SMALLEST_CHANGE = 2.0**-40
_LARGEST_ORDER = 1e6
_CHUNK = 1 << 22  # samples that are held at once


@final
@dataclass(frozen=True, kw_only=True)
class ProjectionNoise:
    """The noise of a projection, in steps of a grid.

    Attributes:
        rows: number of projections, r.
        vertex_variance: variance of the noise of a vertex; divided by `EDGE_VARIANCE` it is the
            weight w that the paper adds.
    """

    rows: int
    vertex_variance: int

    @property
    def weight(self) -> Fraction:
        """The weight w: w/n is added to every pair."""
        return Fraction(self.vertex_variance, EDGE_VARIANCE)

    @property
    def change(self) -> float:
        """t: an edge makes the variance along it 1 + t times as large, at most."""
        return float(2 / self.weight)

    def cost(self, epsilon: Fraction) -> Cost:
        """Return the cost, with the delta at this epsilon."""
        delta = math.exp(log_delta(float(epsilon), rows=self.rows, change=self.change))
        return Cost(epsilon=float(epsilon), delta=delta)


def log_delta(epsilon: float, *, rows: int, change: float) -> float:
    """Return the logarithm of a proven delta of `projected` at this epsilon.

    Let u and v be the endpoints of the edge that the neighbour has in addition, and fix the
    numbers of all other edges, which move the result by the same whole vector in both. Of one row,
    compare P, two independent discrete Gaussians x, y of variance V (of the vertices u and v) with
    P', (x + g, y - g) where g is one of variance s^2 (of the edge). Summing over g by Poisson's
    formula,

        P'(x, y)/P(x, y) = (1+t)^(-1/2) exp(t/(1+t) (x-y)^2/(4 V)) (1 +- 5 e^(-2 pi^2 s^2/(1+t))),

    t = 2 s^2/V, which is the ratio for real Gaussians. Moments of it under P are sums of e^(-Q)
    for a positive quadratic form Q on a grid of two dimensions, again integrals up to a factor
    1 + 5 e^(-2 pi^2 c), c = V/(1 + a) for moments of order a. Here s^2 = 2^20, t <= 1/2 and
    a <= 10^6, so that every factor is 1 to within e^-20. So for every order a > 1, up to that,

        ln E_P[(P'/P)^a]     = -a/2 ln(1+t) - ln(1 - a t/(1+t))/2, where a t/(1+t) < 1,
        ln E_P'[(P/P')^a]... = (a-1)/2 ln(1+t) - ln(1 + (a-1) t/(1+t))/2,

    rows add up, and each moment M bounds delta by e^(M - (a-1) epsilon) (1 - 1/a)^a/(a - 1). The
    largest of the two directions counts. e^-15 is added to the logarithm for all factors.

    Args:
        epsilon: > 0.
        rows: r >= 1.
        change: t, in (0, 1/2].

    Source: the comparison of two Gaussians of different variance is that of Blocki, Blum, Datta,
    Sheffet 2012; the last step is Canonne, Kamath, Steinke 2020, Proposition 12.
    """
    share = change / (1 + change)
    grown = math.log1p(change)

    def added(excess: float) -> float:
        order = 1 + excess
        moment = -order * grown / 2 - math.log1p(-order * share) / 2
        return _from_moment(rows * moment, excess, epsilon)

    def removed(excess: float) -> float:
        moment = excess * grown / 2 - math.log1p(excess * share) / 2
        return _from_moment(rows * moment, excess, epsilon)

    top = min(1 / share - 1, _LARGEST_ORDER)
    return max(_least(added, top * (1 - 1e-9)), _least(removed, _LARGEST_ORDER)) + math.exp(-15)


def _from_moment(log_moment: float, excess: float, epsilon: float) -> float:
    order = 1 + excess
    scale = order * math.log(excess / order) - math.log(excess)
    return log_moment - excess * epsilon + scale


def _least(function: Callable[[float], float], top: float) -> float:
    """Return nearly the least value on (0, top); each value is a valid bound."""
    logs = np.linspace(math.log(top) - 30, math.log(top), 121)
    values = [function(math.exp(log_argument)) for log_argument in logs]
    at = int(np.argmin(values))
    bounds = logs[max(at - 1, 0)], logs[min(at + 1, len(logs) - 1)]
    minimum = scipy.optimize.minimize_scalar(
        lambda log_argument: function(math.exp(log_argument)), bounds=bounds, method="bounded"
    )
    return min(float(minimum.fun), values[at])


def rows_for(vertices: int) -> int:
    """Return the number of projections for a number of vertices."""
    return min(max(vertices, LEAST_ROWS), MOST_ROWS)


def projection_noise(*, epsilon: float, delta: float, rows: int) -> ProjectionNoise:
    """Return the least noise that provably keeps (epsilon, delta).

    Args:
        epsilon: > 0.
        delta: in (0, 1).
        rows: how many projections.

    Raises:
        ParameterError: no noise up to 2^40 times that of an edge will do.
    """

    def excess(log_change: float) -> float:
        log_of_delta = log_delta(epsilon, rows=rows, change=math.exp(log_change))
        return log_of_delta - math.log(delta)

    limits = math.log(_SMALLEST_CHANGE), math.log(_LARGEST_CHANGE)
    if excess(limits[0]) > 0:
        raise ParameterError(f"{_NAME} has no noise for so small an epsilon and delta")
    if excess(limits[1]) <= 0:
        change = _LARGEST_CHANGE
    else:
        change = math.exp(scipy.optimize.brentq(excess, *limits, xtol=1e-9) - 1e-8)
    return ProjectionNoise(rows=rows, vertex_variance=math.ceil(2 * EDGE_VARIANCE / change))


def projected(graph: Graph, noise: ProjectionNoise, source: EntropySource) -> IntMatrix:
    """Return random signed sums of the edges at each vertex, with noise of the vertex itself.

    For each row j, each edge gets a discrete Gaussian g of variance 2^20 (a whole number), which
    is added to one of its ends and taken from the other, and each vertex one of variance
    `noise.vertex_variance` besides.

    Args:
        graph: the private graph, without weights.
        noise: of the projection.
        source: where it comes from.

    Returns:
        Shape (n, rows). Over 2^20, each column has the covariance of the Laplacian plus w I.

    Guarantee: (epsilon, delta)-DP for every epsilon with ln delta = `log_delta`, neighbours
    differing in one edge. What comes out is a whole number, drawn exactly.
    Side channel: drawing takes time proportional to the number of edges.
    """
    columns = np.empty((graph.n, noise.rows), dtype=np.int64)
    endpoints = np.concatenate([graph.rows, graph.columns])
    edges = np.arange(len(graph.rows))
    signs = np.repeat(np.array([1, -1], dtype=np.int64), len(edges))
    incidence = scipy.sparse.csr_array(
        (signs, (endpoints, np.concatenate([edges, edges]))), shape=(graph.n, len(edges))
    )
    step = max(1, _CHUNK // max(graph.n, len(edges)))
    for start in range(0, noise.rows, step):
        width = min(step, noise.rows - start)
        vertex_noise = sample_discrete_gaussian(
            Fraction(noise.vertex_variance), graph.n * width, source
        )
        edge_noise = sample_discrete_gaussian(Fraction(EDGE_VARIANCE), len(edges) * width, source)
        sums = incidence @ edge_noise.reshape(len(edges), width)
        columns[:, start : start + width] = vertex_noise.reshape(graph.n, width) + sums
    return columns


def estimated(columns: IntMatrix, noise: ProjectionNoise) -> FloatMatrix:
    """Return an unbiased adjacency matrix from a projection; reads noisy numbers alone.

    The covariance of the columns, without their means, less what the noise of the vertices adds,
    is the Laplacian on average. Its cuts are those of the matrix, since its rows sum to 0.

    Args:
        columns: from `projected`.
        noise: likewise.

    Returns:
        Shape (n, n), symmetric, zero diagonal, entries of any sign.
    """
    centred = (columns - columns.mean(axis=0)) / math.sqrt(EDGE_VARIANCE)
    laplacian = centred @ centred.T / noise.rows
    matrix: FloatMatrix = -laplacian - float(noise.weight) / len(columns)
    np.fill_diagonal(matrix, 0.0)
    return (matrix + matrix.T) / 2


def johnson_lindenstrauss(run: Run) -> FloatMatrix:
    """Release a matrix whose cuts are those of a random projection of the edges.

    Guarantee: (epsilon, delta)-DP; see `projected`.
    Source: Blocki, Blum, Datta, Sheffet, "The Johnson-Lindenstrauss transform itself preserves
    differential privacy", FOCS 2012; Upadhyay, "Random projections, graph sparsification, and
    differential privacy", ASIACRYPT 2013.
    """
    rows = rows_for(run.graph.n)
    noise = projection_noise(epsilon=float(run.epsilon), delta=run.delta, rows=rows)
    run.spend(noise.cost(run.epsilon))
    return estimated(projected(run.graph, noise, run.source), noise)


JOHNSON_LINDENSTRAUSS = contender(
    johnson_lindenstrauss,
    name=_NAME,
    source=(
        "Blocki, Blum, Datta, Sheffet: The Johnson-Lindenstrauss transform itself preserves "
        "differential privacy, FOCS 2012; Upadhyay, ASIACRYPT 2013"
    ),
    needs_delta=True,
)
