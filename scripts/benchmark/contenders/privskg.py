"""PrivSKG: a stochastic Kronecker graph that has the moments of noisy degrees.

The paper fits edges, stars of two and of three edges, and triangles, whose noise follows a smooth
bound on their sensitivity and costs a delta. Here all of epsilon measures degrees, and the three
kinds of stars are fitted, which determine the three numbers of the model; the guarantee is pure.
Stars are counted without bias from integer noise in place of sorting and averaging. The model has
no vertices of its own: they are matched to those of the graph by noisy degrees, the least of 2^k
that are too many are left out, and chances are scaled to the number of edges. A public
implementation gives degrees noise for a sensitivity of 1 in place of 2, multiplies noisy degrees
with the true ones when it counts stars, and scales the noise of triangles by the graph's own
sensitivity, which tells of the graph: none of these keeps its epsilon.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
import numpy.typing as npt
import scipy

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.estimate.measurement import CountMeasurement, Degrees
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.measure.statistics import measure_degrees
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource
from scripts.benchmark.contenders.block_draws import Edges
from scripts.benchmark.contenders.opening import Run, contender

_STARTS = ((0.9, 0.5, 0.1), (0.6, 0.4, 0.3), (0.99, 0.3, 0.6), (0.5, 0.5, 0.5))
_BOUND = 1e-9
_CHUNK = 1 << 22


@final
@dataclass(frozen=True, kw_only=True)
class StarCounts:
    """Numbers of edges and of stars of two and three edges, counted or expected.

    Attributes:
        edges: half the sum of the degrees d.
        pairs: sum of d(d-1)/2.
        triples: sum of d(d-1)(d-2)/6.
    """

    edges: float
    pairs: float
    triples: float

    @property
    def values(self) -> FloatVector:
        """All three."""
        return np.array([self.edges, self.pairs, self.triples])


@final
@dataclass(frozen=True, kw_only=True)
class Initiator:
    """A stochastic Kronecker graph on 2^levels vertices.

    Vertices u and v are joined with probability a^i b^j c^k, where i, j, k are the numbers of
    binary digits that are 0 in both, differ, and are 1 in both.

    Attributes:
        a: in [0, 1].
        b: likewise.
        c: likewise.
        levels: digits of a vertex.
    """

    a: float
    b: float
    c: float
    levels: int

    def expected(self) -> StarCounts:
        """Return the expected numbers of stars.

        All vertices with k ones are alike: sums of the p-th powers of the chances of their pairs
        are (a^p + b^p)^(levels - k) (b^p + c^p)^k, less the loop's a^(p (levels - k)) c^(p k). The
        expected numbers of stars are elementary symmetric polynomials of these chances (Newton).
        """
        ones = np.arange(self.levels + 1)
        zeros = self.levels - ones
        a, b, c = self.a, self.b, self.c
        one, two, three = (
            (a**p + b**p) ** zeros * (b**p + c**p) ** ones - a ** (p * zeros) * c ** (p * ones)
            for p in (1, 2, 3)
        )
        alike = scipy.special.comb(self.levels, ones)
        return StarCounts(
            edges=float(alike @ one) / 2,
            pairs=float(alike @ (one**2 - two)) / 2,
            triples=float(alike @ (one**3 - 3 * one * two + 2 * three)) / 6,
        )

    def degrees(self) -> FloatVector:
        """Return the expected degree of each vertex, loops counted, shape (2^levels,)."""
        ones = np.bitwise_count(np.arange(2**self.levels)).astype(np.int64)
        degrees: FloatVector = (self.a + self.b) ** (self.levels - ones) * (self.b + self.c) ** ones
        return degrees

    def chances(self, rows: IntVector, columns: IntVector) -> FloatVector:
        """Return the probability of each pair, shape (rows, columns)."""
        both = np.bitwise_count(rows[:, None] & columns[None, :])
        differing_bits = np.bitwise_count(rows[:, None] ^ columns[None, :])
        digits = np.arange(self.levels + 1)
        table = self.b ** digits[None, :] * self.c ** digits[:, None]
        left = self.levels - digits[None, :] - digits[:, None]
        table = table * np.where(left >= 0, self.a ** np.maximum(left, 0), 0.0)
        chances: FloatVector = table[both, differing_bits]
        return chances


def counted_stars(noisy: npt.NDArray[np.float64], variance: float) -> StarCounts:
    """Return unbiased numbers of stars from noisy degrees; reads noisy numbers alone.

    The noise is symmetric about 0, so that d^2 + variance and d^3 + 3 d variance are what the
    powers of a noisy degree are on average.

    Args:
        noisy: degrees with noise, shape (n,).
        variance: of the noise of each.
    """
    square = noisy**2 - variance
    cube = noisy**3 - 3 * variance * noisy
    return StarCounts(
        edges=float(noisy.sum()) / 2,
        pairs=float((square - noisy).sum()) / 2,
        triples=float((cube - 3 * square + 2 * noisy).sum()) / 6,
    )


def fitted(counts: StarCounts, levels: int) -> Initiator:
    """Return the initiator whose expected stars are nearest, by squares of relative errors.

    Args:
        counts: that are wanted; each is taken as 1 at least.
        levels: digits of a vertex.

    Source: Gleich, Owen, "Moment-based estimation of stochastic Kronecker graph parameters", 2012.
    """
    targets = np.maximum(counts.values, 1.0)

    def loss(entries: FloatVector) -> float:
        expected = Initiator(a=entries[0], b=entries[1], c=entries[2], levels=levels).expected()
        return float((((expected.values - targets) / targets) ** 2).sum())

    tried = [
        scipy.optimize.minimize(
            loss, np.array(start), method="Nelder-Mead", bounds=[(_BOUND, 1.0)] * 3
        )
        for start in _STARTS
    ]
    best = min(tried, key=lambda attempt: float(attempt.fun)).x
    a, c = max(best[0], best[2]), min(best[0], best[2])
    return Initiator(a=float(a), b=float(best[1]), c=float(c), levels=levels)


def sampled(
    initiator: Initiator, order: IntVector, edges: float, generator: np.random.Generator
) -> Edges:
    """Draw a graph of the model on fewer vertices; reads noisy numbers alone.

    Of the model's 2^levels vertices those of the largest expected degrees stay, and the
    one that comes first among these is the first of `order`. All chances are then scaled so that
    they add up to the number of edges that is wanted, and cut at 1.

    Args:
        initiator: of the model.
        order: vertices of the graph, those of the largest noisy degrees first, shape (n,).
        edges: that are wanted.
        generator: of the edges.

    Returns:
        Both ends of the edges.
    """
    order_by_degree = np.argsort(-initiator.degrees(), kind="stable")[: len(order)].astype(np.int64)
    step = max(1, _CHUNK // len(order))
    starts = range(0, len(order), step)

    def above(start: int) -> FloatMatrix:
        """Return the probabilities of pairs in these rows, each pair once."""
        return np.triu(
            initiator.chances(order_by_degree[start : start + step], order_by_degree), k=start + 1
        )

    expected = sum(float(above(start).sum()) for start in starts)
    scale = max(edges, 0.0) / expected if expected > 0 else 0.0
    rows, columns = [], []
    for start in starts:
        chances = above(start) * scale
        first, second = np.nonzero(generator.random(chances.shape) < chances)
        rows.append(order[first + start])
        columns.append(order[second])
    return np.concatenate(rows), np.concatenate(columns)


def measured_degrees(
    graph: Graph, epsilon: Fraction, source: EntropySource
) -> CountMeasurement[Degrees]:
    """Return degrees with noise for two that change by 1: epsilon-DP (`measure_degrees`)."""
    noise = noise_distribution("binary", epsilon=epsilon, max_weight=1.0)
    return measure_degrees(graph, noise, epsilon=epsilon, source=source)


def privskg(run: Run) -> AnyGraph:
    """Return a stochastic Kronecker graph fitted to noisy degrees.

    Guarantee: epsilon-DP: all else is computed from `measure_degrees`.
    Source: Mir, Wright, "A differentially private estimator for the stochastic Kronecker graph
    model", PAIS 2012.
    """
    run.spend(Cost.of_pure(run.epsilon))
    noisy = measured_degrees(run.graph, run.epsilon, run.source)
    degrees = noisy.values[0]
    levels = max(1, math.ceil(math.log2(run.graph.n)))
    counts = counted_stars(degrees, noisy.law.variance)
    order = np.argsort(-degrees, kind="stable")
    return run.made(*sampled(fitted(counts, levels), order, counts.edges, run.generator()))


PRIVSKG = contender(
    privskg,
    name="privskg",
    source="Mir, Wright: A differentially private estimator for the stochastic Kronecker graph "
    "model, 2012",
    most_vertices=4_000,
)
