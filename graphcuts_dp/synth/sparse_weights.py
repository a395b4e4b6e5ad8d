"""Random rounding of a fit with weights to a sparse graph: few edges, with plausible weights.

A fit x gives a weight to every pair. `round_to_weights` draws a graph in which most pairs have the
weight 0 and each pair has the weight x in expectation. Each pair gets a *law*: a probability of
having no weight, and one for each of some public weights, the *points*. Of all laws with the mean
x_ij it is the nearest to a common law, which does not depend on the pair: it is proportional to
that law times e^(t_ij w) for the weight w (exponential tilting), where t_ij is chosen so that the
mean is x_ij. The common law is chosen so that the expected number of edges, and of edges in each
public class of weights, are the noisy counts, as far as x allows.

Laws are tabulated for some means and interpolated between them. A mixture of two laws has the mean
of their means, so the mean is exact between the tabulated ones, too.

Everything here reads noisy values and costs no privacy. Coins come from the entropy source, so that
a release has one origin of randomness.
"""

import math
from dataclasses import dataclass
from typing import Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector, RealMatrix
from graphcuts_dp.estimate.measurement import Classes, EdgeCounts, Measurements
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.synth.dependent_rounding import round_keeping_degrees
from graphcuts_dp.synth.fit_weights import DECIMALS

_FRACTIONAL = 0.25  # share of edges with fractional weights below which weights are whole
_POINTS_OF_CLASS = 12  # largest number of points of a class
_SPAN = 32.0  # the first class starts at a grid unit, and its points at its end over this
_MEANS = 64  # number of means for which laws are tabulated
_LEAST_MEAN = 1e-4  # least tabulated mean above 0, over the least point
_TILTS = 60  # bisections for a tilt
_FITTING_ROUNDS = 25  # rounds that fit the number of edges in each class
_SHIFTS = 20  # bisections for the common factor of all edges
_LARGEST_LOG = 20.0  # largest |logarithm| of a factor of the common law
_CHUNK = 1 << 16  # edges whose laws are computed at once
_GOLDEN = (math.sqrt(5) - 1) / 2  # multiples of it are spread most evenly, modulo 1
_TINY = 1e-300  # replaces a divisor of 0


@final
@dataclass(frozen=True, eq=False)
class WeightCounts:
    """Noisy counts of the edges of a graph with weights.

    Attributes:
        edges: estimated number of edges; may be below 0.
        starts: least weight of each public class, ascending, shape (classes,).
        class_edges: noisy number of edges in each class, shape (classes,).
        integral: whether weights are whole numbers.
    """

    edges: float
    starts: FloatVector
    class_edges: FloatVector
    integral: bool

    @classmethod
    def of(cls, measured: Measurements, *, integral: bool) -> Self | None:
        """Return the counts of a release; None if it did not measure them.

        The number of edges is the mean of the counted one and of the sum over the classes, with
        weights that are inverse to their variances.

        Args:
            measured: the measurements of the release.
            integral: whether weights were rounded down to whole numbers. If not, they count as
                whole if the noisy number of fractional ones is below a quarter of that of edges.
        """
        counted, classes = measured.find(EdgeCounts), measured.find(Classes)
        if counted is None or classes is None:
            return None
        (number,), (fractional,) = counted.values
        in_classes = classes.values[0]
        variances = (
            counted.standard_errors[0] ** 2,
            classes.standard_errors[0] ** 2 * len(in_classes),
        )
        precision = [1 / variance for variance in variances]
        edges = (number * precision[0] + in_classes.sum() * precision[1]) / sum(precision)
        return cls(
            edges=float(edges),
            starts=classes.map.starts,
            class_edges=in_classes,
            integral=integral or bool(fractional < _FRACTIONAL * number),
        )

    def shares(self) -> FloatVector:
        """Return the estimated share of each class in the edges, shape (classes,).

        It is the nearest vector to the noisy counts whose entries are at least 0 and add up to the
        number of edges, divided by that number, which counts as 1 if it is less.
        """
        edges = max(self.edges, 1.0)
        falling = np.sort(self.class_edges)[::-1]
        excess = (np.cumsum(falling) - edges) / np.arange(1, len(falling) + 1)
        lowered = excess[np.flatnonzero(falling > excess)[-1]]
        return np.asarray(np.maximum(self.class_edges - lowered, 0.0) / edges)


@final
@dataclass(frozen=True, eq=False)
class _Laws:
    """Laws of the weight of a pair, tabulated by their means.

    Attributes:
        points: weights above 0, ascending, shape (points,).
        means: ascending from 0 to the last point, shape (means,).
        chances: probability of each point, shape (means, points); the remainder of each row to 1
            is the probability of no weight.
    """

    points: FloatVector
    means: FloatVector
    chances: FloatMatrix

    def edge_chances(self, expected: RealMatrix) -> RealMatrix:
        """Return the probability that a pair is an edge, from its expected weight, of any shape."""
        table = np.minimum(self.chances.sum(axis=1), 1.0)
        return np.asarray(np.interp(expected, self.means, table))

    def weights(self, expected: FloatVector, uniform: FloatVector) -> FloatVector:
        """Return the weights of edges: the quantiles of their laws, given that they are edges.

        Args:
            expected: expected weight of each pair, shape (edges,).
            uniform: numbers between 0 and 1, shape (edges,).
        """
        index = np.clip(
            np.searchsorted(self.means, expected, side="right") - 1, 0, len(self.means) - 2
        )
        low, high = self.means[index], self.means[index + 1]
        share = np.clip((expected - low) / (high - low), 0.0, 1.0)[:, None]
        law = (1 - share) * self.chances[index] + share * self.chances[index + 1]
        sums = np.cumsum(law, axis=1)
        below = sums < (uniform * sums[:, -1])[:, None]
        return np.asarray(self.points[np.minimum(below.sum(axis=1), len(self.points) - 1)])


def round_to_weights(
    matrix: RealMatrix,
    counts: WeightCounts,
    *,
    cap: float,
    symmetric: bool,
    source: EntropySource,
) -> npt.NDArray[np.float64]:
    """Return a sparse matrix of weights with about the expectation of a fit.

    1. Draw the edges, each pair with the probability of its law, by dependent coins that keep the
       number of edges of each vertex within 2 1/8 of its expectation (`round_keeping_degrees`).
    2. Give each edge the quantile of its law at a uniform number. Edges are listed vertex by
       vertex, and each number is the one before it plus the golden section, modulo 1, from a
       uniform start. The numbers of consecutive edges are spread evenly, so that their weights
       nearly add up to what is expected.

    The expectation of each pair is x, up to 2^-32 of the largest weight. Two exceptions: with whole
    weights x counts as the largest whole number within the maximum, where it is above that; and
    weights below 10^-4 are none, as in all synthetic graphs.

    `FitSummary.rounding` bounds the differences of all cuts from their expectations.

    Args:
        matrix: the fit x, entries in [0, cap]; symmetric to the last bit if `symmetric`.
        counts: the noisy counts of the edges.
        cap: largest weight, or infinity.
        symmetric: whether this is an undirected adjacency matrix.
        source: where the coins come from.

    Returns:
        Weights, of the shape of the matrix: whole numbers, or multiples of 10^-4, or the maximum.
    """
    entries = matrix[np.triu_indices(len(matrix), 1)] if symmetric else matrix.ravel()
    pairs: FloatVector = entries.astype(np.float64)
    result = np.zeros(matrix.shape)
    if not pairs.any():
        return result
    laws = _fitted_laws(pairs, counts, cap)
    if laws is None:
        return result
    chances = laws.edge_chances(matrix)
    bits = round_keeping_degrees(chances, symmetric=symmetric, source=source)
    rows, columns = np.nonzero(np.triu(bits, 1) if symmetric else bits)
    expected = matrix[rows, columns].astype(np.float64)
    uniform = _uniform_numbers(matrix, rows, columns, symmetric=symmetric, source=source)
    weights = np.zeros(len(rows))
    for start in range(0, len(rows), _CHUNK):
        part = slice(start, start + _CHUNK)
        weights[part] = laws.weights(expected[part], uniform[part])
    result[rows, columns] = weights
    if symmetric:
        result[columns, rows] = weights
    return result


def _uniform_numbers(
    matrix: RealMatrix,
    rows: IntVector,
    columns: IntVector,
    *,
    symmetric: bool,
    source: EntropySource,
) -> FloatVector:
    """Return a uniform number in [0, 1) for each edge; see `round_to_weights`.

    Vertices are listed by their expected weight, and the edges of a vertex by theirs. An undirected
    edge is listed at its endpoint of the larger expected weight.
    """
    strengths = matrix.sum(axis=1, dtype=np.float64)
    vertices, vertex_strengths = rows, strengths[rows]
    if symmetric:
        column_strengths = strengths[columns]
        vertices = np.where(vertex_strengths >= column_strengths, rows, columns)
        vertex_strengths = np.maximum(vertex_strengths, column_strengths)
    order = np.lexsort((matrix[rows, columns], vertices, vertex_strengths))
    start = float(source.bytes(4).view(np.uint32)[0]) * 2.0**-32
    uniform = np.zeros(len(rows))
    uniform[order] = (start + _GOLDEN * np.arange(len(rows))) % 1.0
    return uniform


def _fitted_laws(pairs: FloatVector, counts: WeightCounts, cap: float) -> _Laws | None:
    """Return laws whose expected numbers of edges are the counted ones; None without points.

    In each round the factors of the classes of the common law are multiplied by counted over
    expected numbers (iterative proportional fitting). Then a common factor of all edges corrects
    their number. Numbers that x does not allow are approached.
    """
    integral = counts.integral and cap >= 1
    largest = float(pairs.max())
    top = math.floor(cap) if integral and cap < math.inf else cap
    if top == math.inf:
        top = max(float(counts.starts[-1]), math.ceil(largest) if integral else largest)
    points, classes, logs = _points(counts.starts, top, integral=integral)
    if not len(points):
        return None
    least, top = points[0], points[-1]
    inner = np.geomspace(min(least * _LEAST_MEAN, top / 2), top, _MEANS - 1)
    means = np.concatenate([[0.0], inner])
    means[-1] = top
    crowd = _crowd(np.minimum(pairs, top), means)  # pairs at each tabulated mean
    target = np.bincount(classes, minlength=len(counts.starts)).astype(np.float64)
    target = np.where(target > 0, counts.shares(), 0.0)
    total = float(np.minimum(pairs, top).sum())
    edges = min(max(counts.edges, total / top), total / least, float(len(pairs)))
    target = np.maximum(target * edges, 1e-3 * edges)
    factors = np.zeros(len(counts.starts))
    for _ in range(_FITTING_ROUNDS):
        table = _tilted(points, logs + factors[classes], means)
        expected = np.bincount(classes, crowd @ table, minlength=len(factors))
        change = np.log(target / np.maximum(expected, _TINY))
        factors = np.clip(factors + 0.7 * change, -_LARGEST_LOG, _LARGEST_LOG)
    low, high = -_LARGEST_LOG, _LARGEST_LOG
    for _ in range(_SHIFTS):
        middle = (low + high) / 2
        table = _tilted(points, logs + factors[classes] + middle, means)
        if float((crowd @ table).sum()) < edges:
            low = middle
        else:
            high = middle
    return _Laws(points, means, table)


def _points(
    starts: FloatVector, top: float, *, integral: bool
) -> tuple[FloatVector, IntVector, FloatVector]:
    """Return the points, the class of each, and the logarithm of its share in the class.

    All three have the shape (points,). Within a class the logarithm of the weight is spread evenly.

    Args:
        starts: least weight of each class, ascending, shape (classes,).
        top: the largest weight.
        integral: whether weights are whole numbers.
    """
    points_of_classes: list[FloatVector] = []
    classes: list[IntVector] = []
    logs: list[FloatVector] = []
    bounds = np.append(starts, top)
    for index in range(len(starts)):
        low, high = float(bounds[index]), float(min(bounds[index + 1], top))
        last = index == len(starts) - 1 or bounds[index + 1] > top
        if low > top:
            break
        if integral:
            first, stop = max(1, math.ceil(low)), math.floor(high) + 1 if last else math.ceil(high)
            if stop <= first:
                continue
            values = np.unique(np.rint(np.geomspace(first, stop - 1, _POINTS_OF_CLASS)))
        else:
            low = max(low, high / _SPAN) if index == 0 else low
            borders = np.geomspace(low, high, _POINTS_OF_CLASS + 1)
            values = np.unique(np.round(np.sqrt(borders[1:] * borders[:-1]), DECIMALS))
            values = values[(values > 0) & (values < top)]
            values = np.append(values, top) if last else values
        if not len(values):
            continue
        gaps = np.gradient(values) if len(values) > 1 else np.ones(1)
        shares = gaps / values
        points_of_classes.append(values.astype(np.float64))
        classes.append(np.full(len(values), index, dtype=np.int64))
        logs.append(np.log(shares / shares.sum()))
        if last:
            break
    if not points_of_classes:
        return np.zeros(0), np.zeros(0, dtype=np.int64), np.zeros(0)
    points, first_of = np.unique(np.concatenate(points_of_classes), return_index=True)
    return points, np.concatenate(classes)[first_of], np.concatenate(logs)[first_of]


def _crowd(pairs: FloatVector, means: FloatVector) -> FloatVector:
    """Return the number of pairs at each mean, interpolated linearly, shape (means,)."""
    index = np.clip(np.searchsorted(means, pairs, side="right") - 1, 0, len(means) - 2)
    share = (pairs - means[index]) / (means[index + 1] - means[index])
    size = len(means)
    crowd = np.bincount(index, 1 - share, minlength=size)
    crowd += np.bincount(index + 1, share, minlength=size)
    return np.asarray(crowd)


def _tilted(points: FloatVector, logs: FloatVector, means: FloatVector) -> FloatMatrix:
    """Return the laws of some means: a common law times e^(t w), shape (means, points).

    Args:
        points: weights above 0, ascending.
        logs: logarithms of the common law, shape (points,); that of no weight is 0.
        means: ascending from 0 to the last point; these two have only one possible law each.
    """
    values = np.concatenate([[0.0], points])
    base = np.concatenate([[0.0], logs])
    scaled = values / values[-1]
    reach = 200.0 / float(np.diff(scaled).min())
    low, high = np.full(len(means), -reach), np.full(len(means), reach)
    for _ in range(_TILTS):
        tilt = (low + high) / 2
        law = _normalised(base + tilt[:, None] * scaled)
        too_small = law @ values < means
        low, high = np.where(too_small, tilt, low), np.where(too_small, high, tilt)
    law = _normalised(base + ((low + high) / 2)[:, None] * scaled)
    law[0], law[-1] = 0.0, 0.0
    law[0, 0] = law[-1, -1] = 1.0
    return np.asarray(law[:, 1:])


def _normalised(logs: FloatMatrix) -> FloatMatrix:
    """Return laws from their logarithms, up to a constant of each row."""
    law = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(law / law.sum(axis=1, keepdims=True))
