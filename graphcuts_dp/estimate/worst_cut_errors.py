"""Worst errors of cuts of a noisy matrix: a proven bound, an expected value, and a warning.

The *worst cut error* is the largest |z(S, T) - A(S, T)| over all sets S and T, with A the adjacency
matrix and z its noisy one. It is the cut norm of the noise. An edge with both ends in S and T
counts twice in an undirected graph ("matrix form"). A *deviation* is a standard deviation.

All of it is computed from public numbers, so it is known before anything is spent. "Before the fit"
means: of the noisy matrix itself, not of the synthetic graph that is fitted to it.
"""

import bisect
import math
from fractions import Fraction

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE
from graphcuts_dp.display import up_to_digits
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.guarantee import LARGEST_EPSILON, SMALLEST_EPSILON
from graphcuts_dp.schema.vertices import VertexSet

# Expected cut norm of a symmetric matrix of independent entries of deviation s, over s n^1.5. For n
# = 60..2000 and three noises ("binary", "laplace", "discrete-laplace") the largest cuts found have
# 0.61-0.66, the proven upper bounds 0.68-0.75 (tests/theorems). The constant lies between, so that
# a warning comes rather too often than too rarely.
_WORST_CUT = 0.68
_EPSILON_GRID_SIZE = 1800  # candidates from the smallest to the largest epsilon, 1 % apart


def noise_cut_bound(
    distribution: NoiseDistribution,
    shape: tuple[int, int],
    *,
    symmetric: bool,
    confidence: float = DEFAULT_CONFIDENCE,
) -> float:
    """Return a bound on the cut norm of the noise, which holds with a given confidence.

    With E = z - A and signs s, t = 2 * indicator - 1,

        4 1_S^T E 1_T = 1^T E 1 + s^T E 1 + 1^T E t + s^T E t.

    Each of the four terms is a sum of all entries with coefficients +-1. It is bounded for all
    signs at once, by Chernoff's method and a union over the signs: there are 1, 2^rows, 2^columns
    and 2^(rows + columns) choices. Of a symmetric E, each pair above the diagonal stands for two
    equal entries, so it has a coefficient of at most 2 in modulus. Then both middle terms have the
    same form, and a bound for all signs covers both. So three failures are added up, not four.

    The bound is about 1.42 n^1.5 standard deviations for n vertices; the cut norm is about half of
    that.

    Args:
        distribution: of the noise of an entry.
        shape: rows and columns.
        symmetric: whether the matrix is that of an undirected graph.
        confidence: in (0, 1).

    Source: Gupta, Roth, Ullman, *Iterative Constructions and Private Data Release*, 2012, Lemma
    6.1, has the same argument for one family of cuts. The split into signs saves a factor of 1.7
    over it.
    """
    rows, columns = shape
    term_count = 3 if symmetric else 4
    log_failures = math.log(term_count) - math.log1p(-confidence)
    coefficient, pairs = (2, rows * (rows - 1) // 2) if symmetric else (1, rows * columns)

    # Bound on a term whose signs can be chosen in 2^signs ways. `distribution.radius` bounds the
    # error of a sum of so many entries with coefficients of at most 1.
    def largest_term(signs: int) -> float:
        log_failures_of_choice = log_failures + signs * math.log(2)
        return coefficient * distribution.radius(pairs, log_failures=log_failures_of_choice)

    terms = largest_term(0) + largest_term(rows) + largest_term(columns)
    return (terms + largest_term(rows + columns)) / 4


def expected_worst_cut(distribution: NoiseDistribution, shape: tuple[int, int]) -> float:
    """Return the expected worst cut error before the fit.

    It is a measured constant times the deviation of one entry, and no proven bound.

    Args:
        distribution: of the noise of an entry.
        shape: rows and columns.
    """
    rows, columns = shape
    mean_root = (math.sqrt(rows) + math.sqrt(columns)) / 2
    return _WORST_CUT * distribution.standard_deviation * math.sqrt(rows * columns) * mean_root


def expected_error_note(distribution: NoiseDistribution, shape: tuple[int, int]) -> str:
    """Return a note for the user on the error to expect, before anything is spent.

    Args:
        distribution: of the noise of an entry.
        shape: rows and columns.
    """
    error = expected_worst_cut(distribution, shape)
    return (
        f"Expected error of the worst of all cuts: up to about {error:,.0f} before the graph is "
        "fitted (edges inside both sets counted twice). Noise hides a graph of less total weight."
    )


def largest_cut(shape: tuple[int, int], *, symmetric: bool, cap: float) -> float:
    """Return the largest weight between a set of vertices and the others in a graph of this size.

    Args:
        shape: rows and columns.
        symmetric: whether the graph is undirected.
        cap: largest weight of a pair.
    """
    rows, columns = shape
    return cap * ((rows // 2) * (rows - rows // 2) if symmetric else rows * columns)


def accuracy_warning(
    distribution: NoiseDistribution, left: VertexSet, right: VertexSet, *, steps: int = 1
) -> str | None:
    """Return a warning if noise drowns any graph of this size, with the epsilon that would do.

    The expected worst error of all cuts (S, T) is compared with the largest weight of one set
    against all others that a graph of this size can have. It is a rule of thumb.

    Args:
        distribution: of the noise of a pair.
        left: public vertex set of the rows.
        right: public vertex set of the columns.
        steps: `PrivacyUnit.group_size`, the number of pairs in which neighbours differ. The user's
            epsilon is this many times that of the noise of a pair.

    Returns:
        None if a graph of this size can hold cuts above the expected worst error. None also if
        weights have no maximum: they can then be larger than any noise.
    """
    if distribution.max_weight is None:
        return None
    shape = len(left), len(right)
    possible = largest_cut(shape, symmetric=left is right, cap=distribution.max_weight)
    error = expected_worst_cut(distribution, shape)
    if error <= possible:
        return None
    size = " x ".join(f"{count:,}" for count in sorted(set(shape)))
    finding = (
        f"worthless at this size: the expected worst cut error is {error:,.0f}, "
        f"but no cut of {size} vertices can hold more than {possible:,.0f}"
    )
    enough = _least_epsilon(distribution, shape, possible)
    advised = None if enough is None else up_to_digits(Fraction(enough) * steps, 3)
    if advised is None or advised > LARGEST_EPSILON:
        return f"{finding}; no epsilon in range helps at this size"
    return f"{finding}; epsilon = {advised:g} or more would do"


def _least_epsilon(
    distribution: NoiseDistribution, shape: tuple[int, int], possible: float
) -> float | None:
    """Return the least epsilon of a grid at which the expected error is at most what is possible.

    Args:
        distribution: whose epsilon is not enough.
        shape: rows and columns.
        possible: largest cut.

    Returns:
        Rounded to two digits, up; None if no epsilon is enough.
    """
    grid: FloatVector = np.geomspace(SMALLEST_EPSILON, LARGEST_EPSILON, _EPSILON_GRID_SIZE)
    candidates = grid[grid > float(distribution.epsilon)]

    def negative_error(epsilon: float) -> float:  # it grows with epsilon, as bisection needs
        candidate = noise_distribution(
            distribution.name, epsilon=float(epsilon), max_weight=distribution.max_weight
        )
        return -expected_worst_cut(candidate, shape)

    first = bisect.bisect_left(candidates, -possible, key=negative_error)
    if first == len(candidates):
        return None
    return up_to_digits(float(candidates[first]), 2)
