"""The noisy nuclear norm of a matrix of ratings: the private norm of Schatten mirror descent.

The nuclear norm, the sum of the singular values, is small where few kinds of users explain all
ratings. Mirror descent with a Schatten norm needs an upper bound of it.

Source: JT12, sections 3.2 (the start needs the norm) and 4.2.
"""

import math

import numpy as np

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.parallel import one_blas_thread
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.value_noise import ValueNoise

_COUNTED = 1024  # steps of a change of the norm by 1
NUCLEAR_STEPS = _COUNTED + 2  # by which the count can differ: see `nuclear_norm`
_OFF = 2.0**-11  # how far a computed norm may be from the true one, in units
_ROUNDING = 2.0**-53


def nuclear_norm(graph: AnyGraph, grid: Grid) -> int:
    """The nuclear norm of the matrix of weights, in 1024ths of the largest weight. Private.

    Sensitivity: at most 1026. Changing one weight by at most the largest one changes the matrix, in
    units of that, by a matrix of one entry of at most 1, whose nuclear norm is that entry; so by
    the triangle inequality the true norm changes by at most 1. What is computed is within 2^-11 of
    the true norm, so it changes by at most 1 + 2^-10, which is 1025 of the steps; and
    floor(b) <= floor(a) + 1026 for a <= b <= a + 1025.

    That it is so near is checked after each computation, by `_is_near`. Where the check fails, the
    count is the largest that the public vertex set allows. The singular values of LAPACK are off by
    a few roundings of the largest one, a millionth of what the check allows at 2,048 vertices, so
    this does not happen; the promise of the noise is for all matrices with which it does not.

    Raises:
        ParameterError: a graph without two sides, or a grid of bounded cuts, in which all edges of
            a vertex change.
    """
    if not isinstance(graph, BipartiteGraph) or grid.bounded is not None or grid.cap is None:
        raise ParameterError(
            "a nuclear norm is of bipartite graphs with a weight_cap, whose edges are to be hidden"
        )
    matrix = np.zeros(graph.shape)
    steps = grid.edge_steps(graph)
    matrix[graph.rows, graph.columns] = 1.0 if steps is None else steps / grid.largest
    with one_blas_thread():
        found = _checked_norm(matrix)
    if found is None:
        found = math.sqrt(min(matrix.shape) * matrix.size)
    return math.floor(found * _COUNTED)


def _checked_norm(matrix: FloatMatrix) -> float | None:
    """The nuclear norm; None if it may be farther off than 2^-11."""
    try:
        left, values, right = np.linalg.svd(matrix, full_matrices=False)
    except np.linalg.LinAlgError:
        return None
    return float(values.sum()) if _is_near(matrix, left, values, right) else None


def _is_near(
    matrix: FloatMatrix, left: FloatMatrix, values: FloatMatrix, right: FloatMatrix
) -> bool:
    """Whether the sum of these values is proven to be within 2^-11 of the nuclear norm.

    Proof. Let U S V be the product of what was computed, E = A - U S V, and d the larger of
    ||U'U - I|| and ||V V' - I|| in the Frobenius norm. All singular values of U and V lie within
    [(1-d)^(1/2), (1+d)^(1/2)], so the singular values of U S V are those of S times something
    within [1-d, 1+d], and its nuclear norm is within d sum(S) of sum(S). ||A||_* differs from it
    by at most ||E||_* <= rank^(1/2) ||E||_F. The products below are computed with errors: an entry
    of a product over k terms is off by at most (k + 2) 2^-53 times the product of the moduli,
    whatever the order, of which the Frobenius norms are at most ||U||_F ||S V||_F and ||U||_F^2.
    The sums of floats are covered by doubling everything.
    """
    rank = len(values)
    longest = max(matrix.shape)
    error = matrix - (left * values) @ right
    identity = np.eye(rank)
    turned = max(
        float(np.linalg.norm(left.T @ left - identity)),
        float(np.linalg.norm(right @ right.T - identity)),
    )
    size = float(np.linalg.norm(left))
    turned += (longest + 2) * _ROUNDING * max(size, float(np.linalg.norm(right))) ** 2
    lost = float(np.linalg.norm(error))
    lost += (rank + 4) * _ROUNDING * size * float(np.linalg.norm(values[:, None] * right))
    off = 2 * (turned * float(values.sum()) + math.sqrt(rank) * lost)
    return bool(turned < 0.5 and off <= _OFF)


def buy_nuclear_norm(
    graph: AnyGraph, grid: Grid, noise: ValueNoise, radius: int, source: EntropySource
) -> float:
    """An upper bound of the nuclear norm, from a noisy one.

    Args:
        graph: the private bipartite graph.
        grid: `Grid.of` it.
        noise: for a count of sensitivity `NUCLEAR_STEPS`.
        radius: how far the noise can be off, in steps.
        source: where the noise comes from.

    Returns:
        The noisy norm, its radius, and what rounding took away; in units of the largest weight. The
        norm of the weights, each rounded down to its grid, is not larger but with the probability
        that the radius is for.

    Guarantee: the cost of the noise, `ValueNoise.cost(NUCLEAR_STEPS)`, for neighbours that differ
        in one pair: see `nuclear_norm`.
    """
    noisy = nuclear_norm(graph, grid) + noise.draw(source)
    return max(0, noisy + radius + 2) / _COUNTED
