"""Measure bounds of two norms of the matrix of a private bipartite graph, for mirror descent.

The sum of the roots of the left degrees is JT12's private norm. A row of the matrix has a Euclidean
norm of at most the root of its degree, so the sum bounds ||X||_{2,1}, which mirror descent with a
(2,p) norm needs.

The nuclear norm of a matrix of ratings, the sum of the singular values, is small if few kinds of
users explain all ratings. Mirror descent with a Schatten norm needs an upper bound of it.

For each norm there is a function that counts it in whole numbers, with the proof of its
sensitivity, and one that returns an upper bound from the noisy count.

Source: JT12, sections 3.2 (the start needs the norm), 4.1 and 4.2.
"""

import math

import numpy as np

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.privacy.count_noise import ValueNoise
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.resources import one_blas_thread

ROOT_STEPS = 1024  # grid units of 1 in the sum of roots
_NORM_STEPS = 1024  # grid units of 1 in the nuclear norm
# Sensitivity of the count in grid units: a change of the norm by 1, the errors of two computed
# norms, and one more for safety; see `nuclear_norm`.
NUCLEAR_STEPS = _NORM_STEPS + 2
_LARGEST_ERROR = 2.0**-11  # of a computed norm that counts, in units
_ROUNDING = 2.0**-53  # relative error of a float operation


def measure_root_degrees(
    graph: AnyGraph, grid: Grid, noise: ValueNoise, radius: int, source: EntropySource
) -> float:
    """Measure an upper bound of the sum of root degrees.

    Args:
        graph: the private bipartite graph.
        grid: `Grid.of` the graph.
        noise: for a count of sensitivity `ROOT_STEPS`.
        radius: number of steps that the noise exceeds with a small probability only.
        source: of the noise.

    Returns:
        The noisy sum, plus the radius, plus a step for each left vertex, whose root was rounded
        down; in units. The sum exceeds it at most with the probability of the radius.

    Guarantee: the cost of the noise, `ValueNoise.cost(ROOT_STEPS)`, for neighbours that differ in
        one pair: see `root_degrees`.
    """
    noisy = root_degrees(graph, grid) + noise.draw(source)
    return max(0, noisy + radius + graph.shape[0]) / ROOT_STEPS


def root_degrees(graph: AnyGraph, grid: Grid) -> int:
    """Return the sum over left vertices of floor(1024 sqrt(W_i / u)), exactly. Private.

    W_i is the weight of all edges at i, u the largest weight of one, both in steps of the grid.

    Sensitivity: exactly 1024. Changing one pair changes one W_i, by at most u. Of W < W' <= W + u
    the roots differ by at most sqrt(u), since sqrt(a + u) <= sqrt(a) + sqrt(u); and
    floor(b) <= floor(a + 1024) = floor(a) + 1024 for a <= b <= a + 1024. A vertex that gets its
    first edge, of the largest weight, attains it. No sum overflows: W_i < 2^31 * 2^31.

    Raises:
        ParameterError: a graph without two sides, weights without a maximum, or a grid of bounded
            cuts, in which all edges of a vertex change.
    """
    _check_has_norms(graph, grid)
    weights = np.zeros(graph.shape[0], dtype=np.int64)
    steps = grid.edge_steps(graph)
    np.add.at(weights, graph.rows, np.int64(1) if steps is None else steps)
    scale = ROOT_STEPS**2
    return sum(math.isqrt(scale * int(weight) // grid.largest) for weight in weights)


def measure_nuclear_norm(
    graph: AnyGraph, grid: Grid, noise: ValueNoise, radius: int, source: EntropySource
) -> float:
    """Measure an upper bound of the nuclear norm.

    Args:
        graph: the private bipartite graph.
        grid: `Grid.of` the graph.
        noise: for a count of sensitivity `NUCLEAR_STEPS`.
        radius: number of steps that the noise exceeds with a small probability only.
        source: of the noise.

    Returns:
        The noisy norm, plus the radius, plus a bound on the loss by rounding; in units of the
        largest weight. The norm of the weights, each rounded down to its grid, exceeds it at most
        with the probability of the radius.

    Guarantee: the cost of the noise, `ValueNoise.cost(NUCLEAR_STEPS)`, for neighbours that differ
        in one pair: see `nuclear_norm`.
    """
    noisy = nuclear_norm(graph, grid) + noise.draw(source)
    return max(0, noisy + radius + 2) / _NORM_STEPS


def nuclear_norm(graph: AnyGraph, grid: Grid) -> int:
    """Return the nuclear norm of the matrix of weights, in 1024ths of the largest weight. Private.

    Sensitivity: at most 1026. Changing one weight by at most the largest one changes the matrix, in
    units of that, by a matrix of one entry of at most 1, whose nuclear norm is that entry; so by
    the triangle inequality the true norm changes by at most 1. The computed norm is within 2^-11 of
    the true one, so it changes by at most 1 + 2^-10, which is 1025 of the steps; and
    floor(b) <= floor(a) + 1026 for a <= b <= a + 1025.

    `_is_near` checks that distance after each computation. If the check fails, the count is the
    largest that the public vertex set allows. The singular values of LAPACK have errors of a few
    roundings of the largest one, a millionth of what the check allows at 2,048 vertices, so this
    does not happen; the guarantee of the noise is for all matrices with which it does not.

    Raises:
        ParameterError: a graph without two sides, weights without a maximum, or a grid of bounded
            cuts, in which all edges of a vertex change.
    """
    _check_has_norms(graph, grid)
    matrix = np.zeros(graph.shape)
    steps = grid.edge_steps(graph)
    matrix[graph.rows, graph.columns] = 1.0 if steps is None else steps / grid.largest
    with one_blas_thread():
        norm = _checked_norm(matrix)
    if norm is None:
        norm = math.sqrt(min(matrix.shape) * matrix.size)
    return math.floor(norm * _NORM_STEPS)


def _check_has_norms(graph: AnyGraph, grid: Grid) -> None:
    """Refuse a graph or a grid for which the sensitivities of the norms are not proven."""
    if not isinstance(graph, BipartiteGraph) or grid.bounded is not None or grid.cap is None:
        raise ParameterError(
            "norms are measured of bipartite graphs with a max_weight, for guarantees for edges"
        )


def _checked_norm(matrix: FloatMatrix) -> float | None:
    """Return the nuclear norm; None if its error is not proven to be at most 2^-11."""
    try:
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
    except np.linalg.LinAlgError:
        return None
    return float(values.sum()) if _is_near(matrix, left, values, right) else None


def _is_near(
    matrix: FloatMatrix, left: FloatMatrix, values: FloatMatrix, right: FloatMatrix
) -> bool:
    """Return whether the sum of these values is proven to be within 2^-11 of the nuclear norm.

    Proof. Let U S V be the product of the computed factors, E = A - U S V, and d the larger of
    ||U'U - I|| and ||V V' - I|| in the Frobenius norm. All singular values of U and V lie within
    [(1-d)^(1/2), (1+d)^(1/2)], so the singular values of U S V are those of S times factors within
    [1-d, 1+d], and its nuclear norm is within d sum(S) of sum(S). ||A||_* differs from it by at
    most ||E||_* <= rank^(1/2) ||E||_F. The products below are computed with errors: the error of an
    entry of a product over k terms is at most (k + 2) 2^-53 times the product of the moduli,
    whatever the order, of which the Frobenius norms are at most ||U||_F ||S V||_F and ||U||_F^2.
    The sums of floats are covered by doubling everything.
    """
    rank = len(values)
    longest = max(matrix.shape)
    left_norm, right_norm = float(np.linalg.norm(left)), float(np.linalg.norm(right))
    identity = np.eye(rank)
    d = max(
        float(np.linalg.norm(left.T @ left - identity)),
        float(np.linalg.norm(right @ right.T - identity)),
    )
    d += (longest + 2) * _ROUNDING * max(left_norm, right_norm) ** 2
    residual = float(np.linalg.norm(matrix - (left * values) @ right))
    residual += (rank + 4) * _ROUNDING * left_norm * float(np.linalg.norm(values[:, None] * right))
    error = 2 * (d * float(values.sum()) + math.sqrt(rank) * residual)
    return bool(d < 0.5 and error <= _LARGEST_ERROR)
