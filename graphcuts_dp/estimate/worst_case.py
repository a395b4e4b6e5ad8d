"""The worst cut error of a noisy matrix, from public numbers alone: expected, and proven."""

import bisect
import math

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.estimate.noisy_matrix import noise_distribution
from graphcuts_dp.pairs.vertices import VertexSet
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.guarantee import LARGEST_EPSILON, SMALLEST_EPSILON

# Expected cut norm of a symmetric matrix of independent entries of deviation s, over s n^1.5. For
# n = 60..2000 and all three distributions the largest cuts found have 0.61-0.66 and the proven
# upper bounds # 0.68-0.75 (tests/theorems); in between, to err on the side of a warning.
_WORST_CUT = 0.68


def noise_cut_bound(
    distribution: NoiseDistribution,
    shape: tuple[int, int],
    *,
    symmetric: bool,
    confidence: float = 0.95,
) -> float:
    """A number that ||z - A||_C (matrix form) does not pass, with a given probability.

    With E = z - A and signs s, t = 2 * indicator - 1,
    4 1_S^T E 1_T = 1^T E 1 + s^T E 1 + 1^T E t + s^T E t. Each of the terms, for all signs at once,
    is bounded by Chernoff's method and a union over the signs: none, 2^rows, 2^columns and
    2^(rows + columns) choices. For a symmetric E the pairs above its diagonal are independent, with
    coefficients of at most 2 in modulus, and the two middle terms are one.

    About 1.42 n^1.5 standard deviations for n vertices; the true norm is about half of that.

    Args:
        distribution: of the noise.
        shape: rows and columns.
        symmetric: whether the matrix is an adjacency matrix.
        confidence: in (0, 1).

    Source: GRU12 Lemma 6.1 is the same argument for one family of cuts; the split into signs saves
    a factor of 1.7 over it.
    """
    rows, columns = shape
    terms = 3 if symmetric else 4
    failures = math.log(terms) - math.log1p(-confidence)
    coefficient, pairs = (2, rows * (rows - 1) // 2) if symmetric else (1, rows * columns)

    def largest(signs: int) -> float:
        return coefficient * distribution.radius(pairs, log_failures=failures + signs * math.log(2))

    return (largest(0) + largest(rows) + largest(columns) + largest(rows + columns)) / 4


def expected_worst_cut(distribution: NoiseDistribution, shape: tuple[int, int]) -> float:
    """Expected max over S, T of |Z(S,T) - A(S,T)| before any fit, from public numbers alone.

    A measured constant times the deviation of one entry, not a proven bound.
    """
    rows, columns = shape
    mean_root = (math.sqrt(rows) + math.sqrt(columns)) / 2
    return _WORST_CUT * distribution.standard_deviation * math.sqrt(rows * columns) * mean_root


def expected_error_note(distribution: NoiseDistribution, shape: tuple[int, int]) -> str:
    """What error to expect, for the user, before anything is spent.

    Args:
        distribution: of the entries.
        shape: rows and columns.
    """
    error = expected_worst_cut(distribution, shape)
    return (
        f"Expect a worst cut error of up to about {error:,.0f} before the fit (edges inside both "
        "sets counted twice); a graph of less total weight drowns in it."
    )


def largest_cut(shape: tuple[int, int], *, symmetric: bool, cap: float) -> float:
    """The most that can pass between a set of vertices and the others in a graph of this size."""
    rows, columns = shape
    return cap * ((rows // 2) * (rows - rows // 2) if symmetric else rows * columns)


def accuracy_warning(
    distribution: NoiseDistribution, left: VertexSet, right: VertexSet, *, steps: int = 1
) -> str | None:
    """A sentence when the noise drowns any graph of this size, with the epsilon that would do.

    From the vertex sets, the cap and epsilon alone: nothing private is read, nothing is spent.

    Args:
        distribution: of the noise of a pair.
        left: public vertex set of the rows.
        right: of the columns.
        steps: how many pairs share the epsilon that a user names, see `Protect.steps`.

    Returns:
        None when a graph of this size can hold cuts above the expected worst error.
    """
    if distribution.weight_cap is None:
        return None  # weights without a bound can be larger than any noise
    shape = len(left), len(right)
    holds = largest_cut(shape, symmetric=left is right, cap=distribution.weight_cap)
    error = expected_worst_cut(distribution, shape)
    if error <= holds:
        return None
    start = (
        f"worthless at this size: the expected worst cut error is {error:,.0f}, "
        f"but no cut of {' x '.join(f'{n:,}' for n in sorted(set(shape)))} vertices can hold more "
        f"than {holds:,.0f}"
    )
    enough = _least_epsilon(distribution, shape, holds)
    if enough is None or enough * steps > LARGEST_EPSILON:
        return f"{start}; no epsilon in range helps at this size"
    return f"{start}; epsilon = {enough * steps:.3g} or more would do"


def _least_epsilon(
    distribution: NoiseDistribution, shape: tuple[int, int], holds: float
) -> float | None:
    """Smallest epsilon on a grid of 1 % at which the expected error is what a cut can hold."""
    grid: FloatVector = np.geomspace(SMALLEST_EPSILON, LARGEST_EPSILON, 1800)
    candidates = grid[grid > float(distribution.epsilon)]

    def gain(epsilon: float) -> float:
        trial = noise_distribution(
            distribution.name, epsilon=float(epsilon), weight_cap=distribution.weight_cap
        )
        return -expected_worst_cut(trial, shape)

    first = bisect.bisect_left(candidates, -holds, key=gain)  # errors fall as epsilon grows
    if first == len(candidates):
        return None
    epsilon = candidates[first]
    rounded = float(f"{epsilon:.2g}")
    return rounded if rounded >= epsilon else float(f"{epsilon * 1.05:.2g}")
