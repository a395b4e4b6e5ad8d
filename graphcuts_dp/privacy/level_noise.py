"""Noise on groups of counts, and the split of a privacy budget between the groups.

A *level* is a group of integer counts that get noise of one parameter; for example, the counts of
all cells of one size in a hierarchy. A mechanism releases the noisy counts of several levels and
answers queries by public linear combinations of them. A `Spread` describes these combinations: for
each answer and each level, the sum of squares of the coefficients and the largest of them.

`LevelNoise` holds the noise of all levels: it draws it, states its cost, and bounds the errors of
answers. `split_budget` chooses it: it divides a budget between the levels so that the largest
variance of an answer is nearly least.

Terms from `count_noise`: a *family* of distributions (`CountDistribution`) has one open parameter,
such as the rate of discrete Laplace noise. It computes the parameter with which counts lose a
budget, and back the loss from a parameter: an epsilon for pure families, else a rho of zCDP. Losses
of levels add up. A `Change` (l1, l2_squared) of some counts is the largest sum of |difference| and
of difference^2 between neighbours. Counts and noise are whole numbers of *grid units*.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypedDict, final

import numpy as np
import scipy
import scipy.optimize

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.count_distribution import Change, CountDistribution
from graphcuts_dp.privacy.count_noise import count_noise
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.guarantee import exact_epsilon

_SHARE_UNITS = 1 << 20  # a level's share of the budget is a whole multiple of about 2^-20
_NORM_ORDER = 16  # the 16-norm of the variances is smooth, and close to the largest of them
_LEAST_WEIGHT = 1e-30  # keeps every level in the search, also one that no answer uses
_MOST_ITERATIONS = 300


@final
@dataclass(frozen=True, eq=False)
class Spread:
    """The coefficients with which the noise of each level enters each answer. Public.

    Attributes:
        squares: sum of the squared coefficients of a level's counts in an answer, shape
            (answers, levels). Or shape (1, levels): a single row whose entries bound those of every
            answer; then deviations and radii have one entry, which holds for every answer.
        largest: largest absolute coefficient of a level's counts in an answer, same shape.
        answers: number of answers, also if there is a single row; the union bound of `radii` counts
            them.
    """

    squares: FloatMatrix
    largest: FloatMatrix
    answers: int

    def scaled(self, factor: float) -> "Spread":
        """Return the spread of the answers multiplied by a factor."""
        return Spread(self.squares * factor**2, self.largest * abs(factor), self.answers)


@final
@dataclass(frozen=True)
class LevelNoise:
    """Independent integer noise of one family of distributions, with a parameter for each level.

    Attributes:
        distribution: name of the family in `count_noise.COUNT_NOISES`.
        parameters: of the family, exact, one for each level.
    """

    distribution: str
    parameters: tuple[Fraction, ...]

    @property
    def kind(self) -> CountDistribution:
        """The family of distributions with the name `distribution`."""
        return count_noise(self.distribution)

    @property
    def variances(self) -> FloatVector:
        """Upper bounds on the variance of one noise, in squared grid units, shape (levels,)."""
        return np.array([self.kind.variance(parameter) for parameter in self.parameters])

    def draw(self, level: int, size: int, source: EntropySource) -> IntVector:
        """Draw noise for the counts of a level, in grid units, shape (size,)."""
        return self.kind.draw(self.parameters[level], size, source)

    def deviations(self, spread: Spread) -> FloatVector:
        """Return standard deviations of the answers, shape (answers,), or (1,) for a single row.

        They are upper bounds if the spread has a single row, and for Gaussian noise.
        """
        return np.asarray(np.sqrt(spread.squares @ self.variances))

    def radii(self, spread: Spread, *, failure: float) -> FloatVector:
        """Return radii t with P(the error of any answer exceeds its t) <= failure, proven.

        Chernoff's bound for each answer (`CountDistribution.chernoff_radii`), and a union bound
        over all answers and the two tails of each. The shorter `combination_radii` are not used:
        they need sums of |coefficients|, which a spread does not have.

        Args:
            spread: of the answers.
            failure: probability for all answers together, in (0, 1).

        Returns:
            Shape (answers,), or (1,) for a single row.
        """
        parameters = np.array([float(parameter) for parameter in self.parameters])
        log_failures = math.log(2 * spread.answers / failure)  # for one tail of one answer
        return self.kind.chernoff_radii(parameters, spread.squares, spread.largest, log_failures)

    def cost(self, *, delta: float, changes: Sequence[Change]) -> Cost:
        """Return the cost of releasing the noisy counts of all levels.

        Args:
            delta: in [0, 1); a cost that is not pure is stated for this delta, which is then > 0.
            changes: one for each level, of its counts.
        """
        levels = zip(self.parameters, changes, strict=True)
        losses = (self.kind.loss(parameter, change) for parameter, change in levels)
        return self.kind.cost(sum(losses, Fraction(0)), delta=delta)


class LevelBudget(TypedDict):
    """The keyword arguments of `split_budget` that name a budget, for callers that pass them on."""

    distribution: str
    epsilon: float | Fraction
    delta: float


def split_budget(
    spread: Spread,
    changes: Sequence[Change],
    *,
    distribution: str,
    epsilon: float | Fraction,
    delta: float,
) -> LevelNoise:
    """Return noise that spends exactly the budget, and makes the largest variance nearly least.

    A level with the share e_j of the budget has a variance of about f_j/e_j^a, up to a factor that
    all levels share. f_j is `CountDistribution.variance_factor` of its change, and a the
    `budget_exponent`. The shares minimise the 16-norm of the variances of all answers, which is
    close to the largest variance. Then each is rounded to a whole number of units, at least 1, and
    divided by the sum of these numbers. So the exact fractions add up to 1, and the losses of all
    levels to the budget.

    Args:
        spread: of the answers.
        changes: for each level, as for `LevelNoise.cost`.
        distribution: name of a family in `count_noise.COUNT_NOISES`.
        epsilon: privacy parameter, in [1e-6, 50].
        delta: in [0, 1); above 0 for noise that is not pure.

    Raises:
        ParameterError: epsilon or delta is out of range.
    """
    exact = exact_epsilon(epsilon)
    kind = count_noise(distribution)
    budget = kind.budget(exact, delta=delta)
    factors = np.array([kind.variance_factor(change) for change in changes])  # f_j, (levels,)
    shares = _best_shares(spread.squares * factors, kind.budget_exponent)
    units = np.maximum(1, np.floor(shares * _SHARE_UNITS)).astype(np.int64)
    total_units = int(units.sum())
    budgets = [budget * Fraction(int(unit_count), total_units) for unit_count in units]
    levels = zip(budgets, changes, strict=True)
    parameters = tuple(kind.parameter(level_budget, change) for level_budget, change in levels)
    return LevelNoise(distribution, parameters)


def _best_shares(squares: FloatMatrix, exponent: int) -> FloatVector:
    """Return shares e_j > 0 of sum 1 that minimise the p-norm of v_i = sum_j squares_ij/e_j^a.

    p is 16. The search is over x, with e_j = exp(x_j)/sum_k exp(x_k). Gradient: let
    t_ij = squares_ij/e_j^a, the part of level j in the variance v_i. Then ln ||v||_p changes with
    ln e_j at the rate -a g_j, where

        g_j = (sum_i v_i^(p-1) t_ij)/(sum_i v_i^p),

    a weighted mean of the relative parts t_ij/v_i. Since d ln e_k/d x_j is 1 - e_j for k = j and
    -e_j otherwise, the derivative by x_j is a (e_j sum_k g_k - g_j).

    Args:
        squares: shape (answers, levels), >= 0.
        exponent: a > 0.
    """
    level_maxima = squares.max(axis=0)
    # A common factor of all squares does not change the best shares.
    scaled_squares = np.maximum(squares / level_maxima.sum(), _LEAST_WEIGHT)

    def log_norm_and_gradient(logs: FloatVector) -> tuple[float, FloatVector]:
        shares = np.exp(logs - logs.max())
        shares /= shares.sum()
        level_parts = scaled_squares / shares**exponent  # t, (answers, levels)
        variances = level_parts.sum(axis=1)  # v, (answers,)
        largest = variances.max()
        powers = (variances / largest) ** _NORM_ORDER  # v^p, scaled so that none overflows
        log_norm = math.log(largest) + math.log(powers.sum()) / _NORM_ORDER
        mean_parts = (powers / variances) @ level_parts / powers.sum()  # g, (levels,)
        return log_norm, exponent * (mean_parts.sum() * shares - mean_parts)

    # Start at the best shares for a single answer with the largest squares m_j of every level:
    # the sum of m_j/e_j^a is least for e_j proportional to m_j^(1/(a+1)).
    start = np.log(np.maximum(level_maxima / level_maxima.sum(), 1e-12)) / (exponent + 1)
    best = scipy.optimize.minimize(
        log_norm_and_gradient,
        start,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": _MOST_ITERATIONS},
    )
    shares = np.exp(best.x - best.x.max())
    return np.asarray(shares / shares.sum())
