"""Integer noise on groups of counts: how a budget is split between groups, tails, and its cost.

Mechanisms here release integers in groups ("levels"), each with noise of its own scale, and answer
by a public linear map of what they released. What that map does with the noise is told by a
`Spread`: for each answer and level the sum of squares and the largest of the coefficients.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypedDict, final

import numpy as np
import scipy

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.composition import Cost, rounded_up, zcdp_rho
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.privacy.noise import sample_discrete_gaussian, sample_discrete_laplace

DistributionPair = Literal["laplace", "gaussian"]
Change = tuple[int, int]  # the largest sums of |change| and of change^2 of the counts of a level
_SHARES = 1 << 20  # budgets of levels are whole multiples of the whole over this
_ORDER = 16  # of the norm that stands for the largest variance
_SEARCH = 1e-3  # relative width at which the search for the best tail bound stops


@final
@dataclass(frozen=True, eq=False)
class Spread:
    """What noise of standard deviation 1 in one level does to the answers. Public.

    Attributes:
        squares: sum of the squared coefficients of a level's counts in an answer, shape
            (answers, levels), or (1, levels) for a bound that holds for every answer.
        largest: the largest absolute coefficient, likewise.
        answers: how many answers there are.
    """

    squares: FloatMatrix
    largest: FloatMatrix
    answers: int

    def scaled(self, factor: float) -> "Spread":
        """The same for answers that are multiplied by a factor."""
        return Spread(self.squares * factor**2, self.largest * abs(factor), self.answers)


@final
@dataclass(frozen=True)
class LevelNoise:
    """Independent integer noise of one distribution, with one parameter for each level.

    Attributes:
        distribution: "laplace": P(k) proportional to e^(-rate |k|); "gaussian": to e^(-k^2/(2
            variance)).
        parameters: rates or variances, one a level, exact.
    """

    distribution: DistributionPair
    parameters: tuple[Fraction, ...]

    def draw(self, level: int, size: int, source: EntropySource) -> IntVector:
        """Fresh noise for the counts of a level, shape (size,)."""
        if self.distribution == "laplace":
            return sample_discrete_laplace(self.parameters[level], size, source)
        return sample_discrete_gaussian(self.parameters[level], size, source)

    def deviations(self, spread: Spread) -> FloatVector:
        """Standard deviations of answers (Gaussian: bounds), shape (answers,) or (1,)."""
        if self.distribution == "laplace":
            variances = [1 / (2 * math.sinh(rate / 2) ** 2) for rate in self.parameters]
        else:
            variances = [float(variance) for variance in self.parameters]
        return np.asarray(np.sqrt(spread.squares @ np.array(variances)))

    def radii(self, spread: Spread, *, failure: float) -> FloatVector:
        """Half widths t with P(|error of any answer| > its t) <= failure, proven, shape (answers,).

        Chernoff's bound for each answer and the union bound over all. Of the Gaussian distribution
        the logarithm of the moment generating function is at most variance s^2/2: the sum over
        integers of e^(-(k - a)^2/(2 variance)) is largest for a = 0, its Fourier transform being
        positive. Of the Laplace distribution it is f(s) = ln((cosh r - 1)/(cosh r - cosh s)),
        which is convex in s^2 and 0 at 0, so that sum_m f(s w_m) <= f(s w)/w^2 sum_m w_m^2, w
        being the largest |w_m| of the level.

        Args:
            spread: of the answers, in their units.
            failure: in (0, 1).
        """
        log_failures = math.log(2 * spread.answers / failure)
        if self.distribution == "gaussian":
            return self.deviations(spread) * math.sqrt(2 * log_failures) * (1 + 1e-9)
        return self._laplace_radii(spread, log_failures)

    def _laplace_radii(self, spread: Spread, log_failures: float) -> FloatVector:
        rates = np.array([float(rate) for rate in self.parameters])
        used = spread.largest > 0
        size = np.where(used, spread.largest, 1.0)
        counts = np.where(used, spread.squares / size**2, 0.0)
        limit = np.where(used, rates / size, np.inf).min(axis=1)  # s must stay below
        high_cosh = 2 * np.sinh(rates / 2) ** 2  # cosh r - 1

        def bound(log_part: FloatVector) -> FloatVector:
            s = limit * np.exp(log_part)
            lift = 2 * np.sinh(s[:, None] * size / 2) ** 2
            logs = -np.log1p(-np.minimum(lift / high_cosh, 1 - 1e-12))
            return np.asarray(((counts * logs).sum(axis=1) + log_failures) / s)

        finite = np.isfinite(limit)
        limit = np.where(finite, limit, 1.0)
        low, high = np.full(len(limit), -12.0), np.full(len(limit), -1e-6)
        # Every s is valid, so an inexact minimum only widens the bound; it has one valley.
        while (high - low).max() > _SEARCH:
            left, right = low + (high - low) * 0.382, low + (high - low) * 0.618
            worse = bound(left) > bound(right)
            low, high = np.where(worse, left, low), np.where(worse, high, right)
        return np.where(finite, bound((low + high) / 2) * (1 + 1e-9), 0.0)

    def cost(self, *, delta: float, changes: Sequence[Change]) -> Cost:
        """What it costs to release the noisy counts of all levels.

        Args:
            delta: for the Gaussian distribution, in (0, 1).
            changes: of each level, the largest possible sums of |change| and of change^2 of its
                counts between neighbours.
        """
        if self.distribution == "laplace":
            parts = zip(self.parameters, changes, strict=True)
            return Cost.of_pure(sum((rate * change[0] for rate, change in parts), Fraction(0)))
        pairs = zip(self.parameters, changes, strict=True)
        rho = sum((change[1] / (2 * variance) for variance, change in pairs), Fraction(0))
        return Cost.of_rho(rounded_up(rho), delta=delta)


class LevelBudget(TypedDict):
    """What `split_budget` splits; see there."""

    distribution: DistributionPair
    epsilon: float | Fraction
    delta: float


def split_budget(
    spread: Spread,
    changes: Sequence[Change],
    *,
    distribution: DistributionPair,
    epsilon: float | Fraction,
    delta: float,
) -> LevelNoise:
    """The noise that spends exactly the budget, split so that the largest deviation is least.

    Level j with share e_j of epsilon has rate e_j/(l1 change); with share e_j of rho, variance
    (squared change)/(2 e_j). The shares minimise the 16-norm of the variances of all answers, which
    stands for the largest; then they are rounded to exact fractions that add up to the whole.

    Args:
        spread: of the answers.
        changes: as for `LevelNoise.cost`.
        distribution: of the noise.
        epsilon: privacy parameter, in [1e-6, 50].
        delta: in [0, 1); the Gaussian distribution needs more than 0, the other ignores it.

    Raises:
        ParameterError: epsilon or delta out of range.
    """
    exact = exact_epsilon(epsilon)
    power = 2 if distribution == "laplace" else 1
    if distribution == "gaussian":
        if not 0 < delta < 1:
            raise ParameterError("Gaussian noise needs a delta between 0 and 1, for example 1e-6")
        exact = Fraction(zcdp_rho(epsilon=float(exact), delta=delta))
    scale = np.array([float(change[0]) ** 2 if power == 2 else change[1] for change in changes])
    shares = _best_shares(spread.squares * scale, power)
    whole = np.maximum(1, np.floor(shares * _SHARES)).astype(np.int64)
    parts = [exact * Fraction(int(share), int(whole.sum())) for share in whole]
    pairs = list(zip(parts, changes, strict=True))
    if distribution == "laplace":
        return LevelNoise("laplace", tuple(part / change[0] for part, change in pairs))
    return LevelNoise("gaussian", tuple(change[1] / (2 * part) for part, change in pairs))


def _best_shares(squares: FloatMatrix, power: int) -> FloatVector:
    """Shares e_j > 0 that add up to 1 and minimise the norm of sum_j squares_ij / e_j^power."""
    top = squares.max(axis=0)
    weights = np.maximum(squares / top.sum(), 1e-30)

    def objective(logs: FloatVector) -> tuple[float, FloatVector]:
        shares = np.exp(logs - logs.max())
        shares /= shares.sum()
        terms = weights / shares**power
        variances = terms.sum(axis=1)
        scale = variances.max()
        powers = (variances / scale) ** _ORDER
        value = math.log(scale) + math.log(powers.sum()) / _ORDER
        pull = (powers / variances) @ terms / powers.sum()  # minus the slope, over `power`
        return value, power * (pull.sum() * shares - pull)

    start = np.log(np.maximum(top / top.sum(), 1e-12)) / (power + 1)
    found = scipy.optimize.minimize(
        objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 300}
    )
    shares = np.exp(found.x - found.x.max())
    return np.asarray(shares / shares.sum())
