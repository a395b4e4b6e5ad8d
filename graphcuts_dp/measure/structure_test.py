"""The structure test: one number that is large if a graph has structure beyond its density.

With A the matrix of weights, each divided by their public maximum, J the matrix that is 1 for every
pair, and public numbers p (a density) and tau > 0, let B = A - p J or its negative. The number is
the larger of both

    f(B) = min over y of  sum(y) - tau log det(Diag(y) - B),

the value of a smoothed semidefinite program: without tau it would be the largest <B, X> over
positive semidefinite X with ones on the diagonal. Communities make <A - p J, X> large, and parts
with few edges inside make <p J - A, X> large. Since no |X_ij| exceeds 1, one edge changes the
number little, and a vertex with many edges matters no more than others.

The matrix A - p J of a directed or two-sided graph is not symmetric. Such a graph is tested as one
without directions on both sides, with no edges within a side: with 0 for the unknown blocks,

    B = [ 0           A - p J ]
        [ (A - p J)^T 0       ].

Its negative has the same value, since a change of the signs of one side turns one into the other.

`smoothed_value` computes f with a proof of its error, which enters the sensitivity. What the noisy
number means for a graph is computed in `synth.detected_structure`.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple, final

import numpy as np
import numpy.typing as npt
import scipy.linalg

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.estimate.measurement import CountMeasurement, NonlinearCounts
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.measure.statistics import draw
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.resources import one_blas_thread
from graphcuts_dp.synth.detected_structure import StructureSetting

STRUCTURE_STEPS = 1024  # grid units of a value of 1
_LARGEST_ERROR = 2.0**-6  # largest `ProvenValue.width`; errors of two values differ by no more
# Grid units by which one pair can change the count: a change of f by 2, and the error.
STRUCTURE_CHANGE = int(STRUCTURE_STEPS * (2 + _LARGEST_ERROR))
_UNEVENNESS_CHANGE = 2  # sensitivity of `unevenness`

# Rounds of Newton's method that every graph gets, so that time reveals nothing. Typical graphs
# need 6 to 20, stars and the heaviest tails of 300 vertices up to 36. If p is a third or four times
# the density of the graph, up to 44 are needed. The others are a reserve.
_ROUNDS = 60
_MOST_ROUNDS = 4000  # limit of rounds if the value is not proven before; see `smoothed_value`
# tau is multiplied by the factor once no diagonal entry of X deviates from 1 by more than this.
# With 0.5 for both, typical graphs would need a round less, stars and heavy tails half as many
# more.
_LARGEST_DEVIATION = 0.9
_TAU_FACTOR = 0.7
_BISECTIONS = 60  # of a line search
_LONGEST_STEP = 1e3  # of a line search, in directions of Newton's method
_ROUNDING = 2.0**-53  # relative error of a float operation
_LOGARITHM_ROUNDING = 2.0**-48  # relative error of a logarithm and of what is added to it


@final
class ProvenValue(NamedTuple):
    """A computed value of f(B) with a proven error.

    Attributes:
        value: f(B) lies in [value - a, value + b] for some a, b >= 0 with 2 (a + b) <= width.
        width: bound on 2 (a + b), twice the width of that interval.
    """

    value: float
    width: float


def measure_structure(
    graph: AnyGraph, setting: StructureSetting, *, epsilon: Fraction, source: EntropySource
) -> CountMeasurement[NonlinearCounts]:
    """Return the value of the structure test with discrete Laplace noise.

    Args:
        graph: the private graph; its weights, if any, have a maximum.
        setting: the public tested vertices and density.
        epsilon: privacy parameter, exact.
        source: where the noise comes from.

    Privacy: epsilon-DP: see `draw`; the sensitivity is proven in `structure_count`.
    Side channel: the test runs the same operations for all graphs on these vertices whose value is
        proven after `_ROUNDS` rounds.
    """
    return draw_structure(structure_count(graph, setting), epsilon=epsilon, source=source)


def structure_count(graph: AnyGraph, setting: StructureSetting) -> int:
    """Return the larger of f(B) and f(-B), rounded down to grid units. Private.

    B is the matrix of the module's docstring on the vertices of the setting.

    Sensitivity: at most `STRUCTURE_CHANGE` = 1024 (2 + 1/64). Neighbours differ in one pair. In B
    every pair has two entries, (i, j) and (j, i), also an arc of a directed graph and an edge
    between two sides. So the matrices of neighbours differ in two entries, by at most 1, or not at
    all if the pair is not tested: f changes by at most 2, and so does the larger of both values
    (Theorem "The structure test changes by two"). The computed value exceeds f by at most a, and f
    exceeds it by at most b, with a + b <= 1/128 for every matrix (Theorem "Certified values of the
    structure test"; `proven_value` doubles the width). So computed values of neighbours differ by
    at most 2 + 1/64, and floor(y) <= floor(x + k) = floor(x) + k for x <= y <= x + k with a whole
    k.

    These errors are proven after each computation. If the proof fails, the count is the largest
    that the public setting allows. The guarantee of the noise is for all matrices whose proofs
    succeed; in exact arithmetic all of them do.
    """
    matrix = _centred_matrix(graph, setting)
    # Of two sides, B and -B have the same value.
    signs = (1.0, -1.0) if setting.layout.symmetric else (1.0,)
    results = [smoothed_value(sign * matrix, setting.tau) for sign in signs]
    values = [result.value for result in results if result is not None]
    if len(values) < len(results):
        return STRUCTURE_STEPS * len(matrix) ** 2
    return math.floor(max(values) * STRUCTURE_STEPS)


def draw_structure(
    count: int, *, epsilon: Fraction, source: EntropySource
) -> CountMeasurement[NonlinearCounts]:
    """Return a `structure_count` with discrete Laplace noise; see `measure_structure`."""
    return draw(
        "structure",
        NonlinearCounts(
            "structure beyond the density, as the value of a semidefinite program",
            "a pair of vertices has two entries of the matrix, each with a weight within [-1, 1], "
            "and what is computed is proven to lie within 1/64",
        ),
        [[np.array([count], dtype=np.int64)]],
        [(STRUCTURE_CHANGE, STRUCTURE_CHANGE**2)],
        unit=1 / STRUCTURE_STEPS,
        epsilon=epsilon,
        source=source,
    )


def measure_unevenness(
    graph: AnyGraph, *, epsilon: Fraction, source: EntropySource
) -> CountMeasurement[NonlinearCounts]:
    """Return the sum of |degree - median degree| with discrete Laplace noise.

    Args:
        graph: the private graph; its weights, if any, have a maximum, in which the sum is stated.
        epsilon: privacy parameter, exact.
        source: where the noise comes from.

    Privacy: epsilon-DP: see `draw`; the sensitivity is proven in `unevenness`, for weights in units
        of 1/1024 of the largest, of which a pair changes a degree by at most 1024.
    Side channel: counting takes time proportional to the number of edges.
    """
    steps = STRUCTURE_STEPS if graph.weighted else 1
    change = _UNEVENNESS_CHANGE * steps
    return draw(
        "unevenness",
        NonlinearCounts(
            "sum of the distances of degrees from their median",
            "an edge changes two degrees by 1, and the least sum of distances from any number by "
            "no more",
        ),
        [[np.array([unevenness(degrees_of_sides(graph))], dtype=np.int64)]],
        [(change, change**2)],
        unit=1 / steps,
        epsilon=epsilon,
        source=source,
    )


def unevenness(sides: Sequence[IntVector]) -> int:
    """Return the sum of |degree - median degree| over one or both sides. Private.

    Sensitivity: exactly 2, if a pair changes each of its two degrees by at most 1. The sum of a
    side is the least sum of |degree - c| over all c. An edge of a graph without directions changes
    two degrees, so for every c the sum changes by at most 2, and so does the least one; one edge in
    the empty graph on five vertices changes it by 2. An arc, or an edge between two sides, changes
    one degree of either side, so the least sum of each side changes by at most 1.

    Args:
        sides: the degrees of a graph without directions; else those of rows and of columns.
    """
    distances = 0
    for degrees in sides:
        median = np.sort(degrees)[len(degrees) // 2]
        distances += int(np.abs(degrees - median).sum())
    return distances


def degrees_of_sides(graph: AnyGraph) -> list[IntVector]:
    """Return the degrees of a graph without directions, else those of rows and columns. Private.

    With weights, they are sums of `_scaled_weights`.
    """
    n, m = graph.shape
    weights = _scaled_weights(graph) if graph.weighted else np.ones(len(graph.rows))

    def sums(endpoints: npt.NDArray[np.integer], vertices: int) -> IntVector:
        return np.bincount(endpoints, weights, vertices).astype(np.int64)  # exact below 2^53

    rows, columns = sums(graph.rows, n), sums(graph.columns, m)
    return [rows + columns] if isinstance(graph, Graph) else [rows, columns]


def smoothed_value(matrix: FloatMatrix, tau: float) -> ProvenValue | None:
    """Return f(B) = min over y of sum(y) - tau log det(Diag(y) - B).

    Newton's method with an exact line search follows the minimiser from a large tau, where all y
    are alike, down to the wanted one. Every matrix gets `_ROUNDS` rounds of the same operations. If
    the value is not proven then, more rounds follow. Their number is finite: -log det is
    self-concordant, so a round at which the decrement is above 1/4 lowers the objective by at least
    1/4 - log(5/4), and below 1/4 convergence is quadratic.

    Args:
        matrix: B, symmetric with a zero diagonal, entries within [-1, 1], shape (n, n).
        tau: above 0.

    Returns:
        None if no value is proven within `_LARGEST_ERROR` after `_MOST_ROUNDS` rounds.
    """
    with one_blas_thread(), np.errstate(all="ignore"):
        try:
            return _follow_minimiser(matrix, tau)
        except np.linalg.LinAlgError:
            return None


def proven_value(
    matrix: FloatMatrix,
    tau: float,
    y: FloatVector,
    factor: FloatMatrix,
    inverse: FloatMatrix,
) -> ProvenValue | None:
    """Return the objective at y, if it is proven to be near its minimum f(B).

    The proof, Theorem "Certified values of the structure test", does not depend on how y, the
    factor and its inverse were computed. Each matrix product below has an error, whose Frobenius
    norm is at most (n + 2) 2^-53 times that of the product of the moduli, in whatever order terms
    are added. Sums of floats are covered by doubling the width.

    Args:
        matrix: B, symmetric with a zero diagonal, entries within [-1, 1], shape (n, n).
        tau: above 0.
        y: any point, shape (n,).
        factor: lower triangular L with a positive diagonal and L L^T near Diag(y) - B.
        inverse: lower triangular, near L^-1.
    """
    n = len(y)
    rounding = (n + 2) * _ROUNDING
    factor_norm = float(np.linalg.norm(factor))
    # e >= ||L L^T - (Diag(y) - B)||
    error = float(np.linalg.norm(factor @ factor.T - (np.diag(y) - matrix)))
    error = 2 * (error + rounding * factor_norm**2)
    # r >= ||I - Z L||
    residual = float(np.linalg.norm(np.eye(n) - inverse @ factor))
    residual = 2 * (residual + rounding * factor_norm * float(np.linalg.norm(inverse)))
    # The theorem needs these bounds, and that on d. `not` refuses NaN, too.
    if not (error <= 1 / 64 and residual <= 1 / 64):
        return None
    # Near the diagonal of X = tau (Diag(y) - B)^-1.
    diagonal = tau * np.einsum("ij,ij->j", inverse, inverse)
    deviation = float(np.abs(diagonal - 1).max()) + 4 * (residual + 2 * rounding)  # d
    if not deviation <= 1 / 4:
        return None
    logarithms = np.log(factor.diagonal())
    value = math.fsum([*y, *(-2 * tau * logarithms)])
    terms = float(np.abs(y).sum() + 2 * tau * np.abs(logarithms).sum())
    value_error = n * error + _LOGARITHM_ROUNDING * terms
    width = 2 * (n * deviation**2 * (n + 1.5 * tau) + 2 * value_error)
    return ProvenValue(value, width) if width <= _LARGEST_ERROR else None


def _follow_minimiser(matrix: FloatMatrix, tau: float) -> ProvenValue | None:
    """Return `smoothed_value`, by following the minimiser.

    Raises:
        LinAlgError: eigenvalues or a factor cannot be computed.
    """
    largest = float(np.linalg.eigvalsh(matrix)[-1])
    current_tau = max(tau, 2 * largest)
    y = np.full(len(matrix), largest + current_tau)
    for round_index in range(_MOST_ROUNDS):
        factor = _cholesky_factor(matrix, y)
        inverse = _inverse(factor)
        product = inverse.T @ inverse  # (Diag(y) - B)^-1
        diagonal = product.diagonal()
        if np.abs(current_tau * diagonal - 1).max() <= _LARGEST_DEVIATION:
            current_tau = max(tau, _TAU_FACTOR * current_tau)
        if current_tau == tau and round_index >= _ROUNDS - 1:
            proven = proven_value(matrix, tau, y, factor, inverse)
            if proven is not None:
                return proven
        # Newton: the gradient is 1 - diag(X) and the Hessian X o X/tau, X = tau (Diag(y) - B)^-1.
        X = current_tau * product
        X *= X
        X.flat[:: len(y) + 1] += 1e-13  # so that rounding does not make it indefinite
        # `cho_solve` gives no warning, which could reveal something about the graph.
        hessian_factor = scipy.linalg.cho_factor(X, lower=True)
        gradient = 1 - current_tau * diagonal
        direction = -current_tau * scipy.linalg.cho_solve(hessian_factor, gradient)
        y = y + _step_length(direction, inverse, current_tau) * direction
    return None


def _cholesky_factor(matrix: FloatMatrix, y: FloatVector) -> FloatMatrix:
    """Return the lower triangular L with L L^T = Diag(y) - B; `np.linalg.cholesky` is slower.

    Raises:
        LinAlgError: the matrix is not positive definite.
    """
    difference = -matrix
    difference.flat[:: len(y) + 1] += y
    # Columns of the transpose, which is the same matrix, are contiguous.
    factor, failed = scipy.linalg.lapack.dpotrf(difference.T, lower=0, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("the matrix is not positive definite")
    lower: FloatMatrix = factor.T
    return lower


def _inverse(factor: FloatMatrix) -> FloatMatrix:
    """Return the inverse of a lower triangular matrix with a positive diagonal."""
    transposed, _ = scipy.linalg.lapack.dtrtri(factor.T, lower=0)  # columns are contiguous
    inverse: FloatMatrix = transposed.T
    return inverse


def _eigenvalues(matrix: FloatMatrix) -> FloatVector:
    """Return the eigenvalues of a symmetric matrix, ascending, in half the time of `eigvalsh`.

    Raises:
        LinAlgError: the iteration does not converge.
    """
    lapack = scipy.linalg.lapack
    work, _ = lapack.dsytrd_lwork(len(matrix), lower=1)
    _, diagonal, off_diagonal, _, _ = lapack.dsytrd(matrix, lower=1, lwork=int(work))
    eigenvalues, failed = lapack.dsterf(diagonal, off_diagonal)
    if failed:
        raise np.linalg.LinAlgError("eigenvalues did not converge")
    return np.asarray(eigenvalues)


def _step_length(direction: FloatVector, inverse: FloatMatrix, tau: float) -> float:
    """Return the t at which y + t * direction nearly minimises the objective.

    With L L^T = Diag(y) - B and m the eigenvalues of L^-1 Diag(direction) L^-T, the objective at
    t is t sum(direction) - tau sum(log(1 + t m)) plus a constant. Steps stay in its domain.
    """
    eigenvalues = _eigenvalues((inverse * direction) @ inverse.T)
    low, high = 0.0, _LONGEST_STEP
    if eigenvalues[0] < 0:
        high = min(high, -1 / float(eigenvalues[0]))
    slope_of_sum = float(direction.sum())
    for _ in range(_BISECTIONS):
        t = (low + high) / 2
        descends = slope_of_sum <= tau * float((eigenvalues / (1 + t * eigenvalues)).sum())
        low, high = (t, high) if descends else (low, t)
    return low


def _centred_matrix(graph: AnyGraph, setting: StructureSetting) -> FloatMatrix:
    """Return B of the module's docstring on the vertices of the setting. Private.

    Weights are multiples of 1/1024 and the density is one of 1/4096, so all entries are exact.
    """
    rows = _tested_indices(graph.rows, setting.rows, setting.layout.shape[0])
    columns = _tested_indices(graph.columns, setting.columns, setting.layout.shape[1])
    is_tested = (rows >= 0) & (columns >= 0)
    weights = _scaled_weights(graph)[is_tested] / STRUCTURE_STEPS
    matrix = np.full((len(setting.rows), len(setting.columns)), -setting.density)
    matrix[rows[is_tested], columns[is_tested]] += weights
    if setting.layout.symmetric:
        matrix[columns[is_tested], rows[is_tested]] += weights
    if setting.layout.hollow:  # rows and columns are the same vertices
        np.fill_diagonal(matrix, 0.0)
    if setting.layout.symmetric:
        return matrix
    r, c = matrix.shape
    return np.block([[np.zeros((r, r)), matrix], [matrix.T, np.zeros((c, c))]])


def _scaled_weights(graph: AnyGraph) -> IntVector:
    """Return the weight of each edge in 1/1024 of the largest weight, rounded. Private.

    Each is a function of one weight alone, with values from 0 to 1024, so a pair changes it by at
    most 1024, and the weights of other pairs stay. An edge of a graph without weights has 1024.

    Raises:
        TypeError: weights without a public maximum.
    """
    if not graph.weighted:
        return np.full(len(graph.rows), STRUCTURE_STEPS)
    if graph.max_weight is None:
        raise TypeError("structure is tested of graphs whose weights have a maximum")
    shares = np.clip(graph.weights / graph.max_weight, 0.0, 1.0)
    return np.rint(shares * STRUCTURE_STEPS).astype(np.int64)


def _tested_indices(
    endpoints: npt.NDArray[np.integer], tested: IntVector, vertices: int
) -> IntVector:
    """Return the row or column in the tested matrix of each endpoint; -1 if it is not tested."""
    index = np.full(vertices, -1)
    index[tested] = np.arange(len(tested))
    return np.asarray(index[endpoints])
