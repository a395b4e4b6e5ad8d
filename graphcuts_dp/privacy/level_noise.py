"""Integer noise on counts: how a budget is split between groups, tails, and its cost.

Mechanisms of `LevelNoise` release integers in groups ("levels"), each with noise of its own scale,
and answer by a public linear map of what they released. What that map does with the noise is told
by a `Spread`: for each answer and level the sum of squares and the largest of the coefficients.

`KNormNoise` is for a few counts at once, drawn exactly on the grid of whole numbers.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Self, TypedDict, final

import numpy as np
import scipy
import scipy.optimize
import scipy.spatial

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.count_noise import (
    Change,
    CountDistribution,
    count_noise,
    discrete_laplace_radius,
)
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.privacy.noise import (
    EntropySource,
    happens,
    sample_discrete_laplace,
)

_SHARES = 1 << 20  # budgets of levels are whole multiples of the whole over this
_ORDER = 16  # of the norm that stands for the largest variance


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
        distribution: its name in `COUNT_NOISES`.
        parameters: one a level, exact; see there.
    """

    distribution: str
    parameters: tuple[Fraction, ...]

    @property
    def kind(self) -> CountDistribution:
        """What the name of the distribution means."""
        return count_noise(self.distribution)

    @property
    def variances(self) -> FloatVector:
        """Bounds on the variance of one noise of each level, in squared steps."""
        return np.array([self.kind.variance(parameter) for parameter in self.parameters])

    def draw(self, level: int, size: int, source: EntropySource) -> IntVector:
        """Fresh noise for the counts of a level, shape (size,)."""
        return self.kind.draw(self.parameters[level], size, source)

    def deviations(self, spread: Spread) -> FloatVector:
        """Standard deviations of answers (Gaussian: bounds), shape (answers,) or (1,)."""
        return np.asarray(np.sqrt(spread.squares @ self.variances))

    def radii(self, spread: Spread, *, failure: float) -> FloatVector:
        """Half widths t with P(|error of any answer| > its t) <= failure, proven, shape (answers,).

        Chernoff's bound for each answer (`CountDistribution.chernoff_radii`), and the union bound
        over all.

        Args:
            spread: of the answers, in their units.
            failure: in (0, 1).
        """
        parameters = np.array([float(parameter) for parameter in self.parameters])
        log_failures = math.log(2 * spread.answers / failure)
        return self.kind.chernoff_radii(parameters, spread.squares, spread.largest, log_failures)

    def cost(self, *, delta: float, changes: Sequence[Change]) -> Cost:
        """What it costs to release the noisy counts of all levels.

        Args:
            delta: for which a cost is stated that is not pure, in (0, 1).
            changes: of each level, the largest possible sums of |change| and of change^2 of its
                counts between neighbours.
        """
        parts = zip(self.parameters, changes, strict=True)
        loss = sum((self.kind.loss(*part) for part in parts), Fraction(0))
        return self.kind.cost(loss, delta=delta)


class LevelBudget(TypedDict):
    """What `split_budget` splits; see there."""

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
    """The noise that spends exactly the budget, split so that the largest deviation is least.

    Level j gets the parameter that loses its share e_j of the budget, and so a variance
    proportional to e_j^-power (`CountDistribution`). The shares minimise the 16-norm of the
    variances of all answers, which stands for the largest; then they are rounded to exact fractions
    that add up to the whole.

    Args:
        spread: of the answers.
        changes: as for `LevelNoise.cost`.
        distribution: name of the noise.
        epsilon: privacy parameter, in [1e-6, 50].
        delta: in [0, 1); more than 0 for noise that is not pure.

    Raises:
        ParameterError: epsilon or delta out of range.
    """
    exact = exact_epsilon(epsilon)
    kind = count_noise(distribution)
    budget = kind.budget(exact, delta=delta)
    scale = np.array([kind.scale(change) for change in changes])
    shares = _best_shares(spread.squares * scale, kind.power)
    whole = np.maximum(1, np.floor(shares * _SHARES)).astype(np.int64)
    parts = [budget * Fraction(int(share), int(whole.sum())) for share in whole]
    pairs = zip(parts, changes, strict=True)
    return LevelNoise(distribution, tuple(kind.parameter(*pair) for pair in pairs))


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


MOST_COUNTS = 6  # of K-norm noise: beyond, few proposals of the sampler stay
_BITS = 12  # facets are whole numbers of 2^-12
_MOST_LISTED = 1 << 18  # vectors whose chances are added up for a radius
_CUT = 1e-6  # part of a failure probability for what is not listed


@final
@dataclass(frozen=True, eq=False)
class KNormNoise:
    """Whole vectors z with P(z) proportional to e^(-rate N(z)), for a norm N.

    N(z) is the largest of |z_i|, ||z||_1/w and |<a, z>| over some vectors a, all rational; so N of
    a column c of the query matrix is at most 1, which `of_columns` makes sure of in whole numbers.
    It is 1 of a unit vector, so that radii hold for any columns.

    Guarantee: counts that change between neighbours by d c, for a column c of the matrix and a
        whole d with |d| <= s, are (s rate)-DP together, purely: N(d c) <= s, the weights of an
        outcome differ by at most e^(rate N(d c)), by the triangle inequality, and their sums over
        all whole vectors are the same number, since whole vectors shifted by a whole vector are all
        whole vectors. So a grid costs nothing here, and that facets come from floating point costs
        no privacy, either: a worse set of them is a worse norm, for which the same is checked.

    Attributes:
        facets: whole vectors 2^12 a, shape (F, k); no entry is larger than 2^12, and unit vectors
            are among them. None: N(z) = ||z||_1/w.
        weight: w, the largest sum of a column, >= 1.
        rate: > 0.

    Raises:
        ParameterError: other facets.

    Source: Hardt, Talwar 2010 (the K-norm mechanism); GRU12, Table 1. Deviations: noise on whole
    numbers instead of points of R^k; K is replaced by a body a little larger: unit vectors span it,
    too, and its facets are rational.
    """

    facets: IntMatrix
    weight: int
    rate: Fraction

    def __post_init__(self) -> None:
        tops = np.abs(self.facets).max(axis=0, initial=0)
        if not (self.weight >= 1 and self.rate > 0):
            raise ParameterError("K-norm noise needs a weight of at least 1 and a rate above 0")
        if len(self.facets) and (tops != 1 << _BITS).any():
            raise ParameterError("the norm of K-norm noise must be 1 of each unit vector")

    @classmethod
    def of_columns(cls, columns: IntMatrix, rate: Fraction, *, norm: str = "k-norm") -> Self:
        """The noise for queries whose columns are these.

        Args:
            columns: the distinct columns of the matrix of k queries, 0 or 1, shape (c, k): for each
                pair, which queries count it. More of them do no harm.
            rate: > 0.
            norm: "k-norm": N is nearly the norm whose unit ball is spanned by the columns, the unit
                vectors and their negatives; "laplace": N(z) = ||z||_1/w, independent noise for each
                count.

        Raises:
            ParameterError: another norm, or more than 6 counts for "k-norm".
        """
        columns = np.asarray(columns, dtype=np.int64)
        columns = columns[columns.any(axis=1)]
        k = columns.shape[1]
        weight = int(columns.sum(axis=1).max(initial=1))
        facets = np.zeros((0, k), dtype=np.int64)
        if norm == "k-norm":
            if k > MOST_COUNTS:
                raise ParameterError(
                    f"K-norm noise is for at most {MOST_COUNTS} queries, not {k}; use laplace"
                )
            facets = np.eye(k, dtype=np.int64) << _BITS
            if k > 1 and weight > 1:
                facets = np.concatenate([facets, _hull_facets(columns)])
        elif norm != "laplace":
            raise ParameterError(f"unknown noise {norm!r:.40}; choose one of {', '.join(NORMS)}")
        return cls(facets, weight, rate)

    @property
    def counts(self) -> int:
        """How many counts there are: k."""
        return int(self.facets.shape[1])

    def scaled_norm(self, z: IntMatrix) -> IntVector:
        """2^12 w N(z) of whole vectors, exactly, shape (len(z),)."""
        of_sums = np.abs(z).sum(axis=1) << _BITS
        if not len(self.facets):
            return np.asarray(of_sums)
        of_facets = np.abs(z @ self.facets.T).max(axis=1) * self.weight
        return np.asarray(np.maximum(of_sums, of_facets))

    def draw(self, source: EntropySource) -> IntVector:
        """One vector, shape (k,).

        Rejection: ||z||_1/w <= N(z), so independent two-sided geometric noise of rate/w, which has
        weights e^(-rate ||z||_1/w), is kept with probability e^(-rate (N(z) - ||z||_1/w)).
        """
        each = self.rate / self.weight
        while True:
            size = 4 << self.counts if self.weight > 1 and len(self.facets) else 1
            flat = sample_discrete_laplace(each, size * self.counts, source)
            z = flat.reshape(size, self.counts)
            if int(np.abs(z).max(initial=0)) >= 1 << 40:
                z = z.astype(object)  # whole numbers without end
            beyond = self.scaled_norm(z) - (np.abs(z).sum(axis=1) << _BITS)
            for vector, more in zip(z, beyond, strict=True):
                if not more or happens(partial(self._chance, int(more)), source):
                    return vector.astype(np.int64)

    def _chance(self, beyond: int) -> Decimal:
        """e^(-rate beyond/(2^12 w)), in the current decimal context."""
        power = self.rate * beyond / (self.weight << _BITS)
        return (-Decimal(power.numerator) / Decimal(power.denominator)).exp()

    def cost(self, sensitivity: int) -> Cost:
        """Of one draw for counts whose pairs change by at most so many steps; see the class."""
        return Cost.of_pure(sensitivity * self.rate)

    def radius(self, failure: float) -> int:
        """R with P(some |z_i| > R) <= failure, proven; rounded up.

        `k_norm_radius`; where few whole vectors matter, their chances are added up, which gives
        less. For "laplace" a union over the counts of exact tails.
        """
        rate, k = float(self.rate), self.counts
        if not len(self.facets) or k == 1:
            return discrete_laplace_radius(rate / self.weight, failure=failure / k)
        bound, reach = k_norm_radius(k, rate, failure), _by_integrals(k, rate, failure * _CUT)
        if (2 * reach + 1) ** k > _MOST_LISTED:
            return bound
        return min(bound, self._listed_radius(reach, failure))

    def _listed_radius(self, reach: int, failure: float) -> int:
        """The quantile of max |z_i|, from all vectors within reach; rounded up."""
        ends = np.arange(-reach, reach + 1)
        others = np.stack(np.meshgrid(*[ends] * (self.counts - 1), indexing="ij"), axis=-1)
        others = others.reshape(-1, self.counts - 1)
        chances = np.zeros(reach + 1)
        for first in ends:
            z = np.column_stack([np.full(len(others), first), others])
            weights = np.exp(-float(self.rate) / (self.weight << _BITS) * self.scaled_norm(z))
            chances += np.bincount(np.abs(z).max(axis=1), weights, minlength=reach + 1)
        # What lies beyond has a chance of failure * _CUT at most.
        beyond = 1 - np.cumsum(chances) / chances.sum()
        return int(np.argmax(beyond <= failure * (1 - 2 * _CUT) - 1e-12))


NORMS = ("k-norm", "laplace")


def k_norm_radius(counts: int, rate: float, failure: float) -> int:
    """R with P(some |z_i| > R) <= failure for K-norm noise of any columns, proven; rounded up.

    The lesser of two bounds, for which N(z) need only be a norm with max |z_i| <= N(z) <= ||z||_1:
    `_by_integrals`; and by counting, since (2t+1)^k - (2t-1)^k whole vectors have max |z_i| = t,
    and all weights together are at least sum e^(-rate ||z||_1) = coth(rate/2)^k.
    """
    bound, reach = (_by_integrals(counts, rate, failure * part) for part in (1, _CUT))
    if reach > _MOST_LISTED:
        return bound
    t = np.arange(1.0, reach + 1)
    weights = ((2 * t + 1) ** counts - (2 * t - 1) ** counts) * np.exp(-rate * t)
    # Beyond r, for r from 0 on; what lies beyond the reach has a chance of failure * _CUT at most.
    beyond = np.append(np.cumsum(weights[::-1])[::-1], 0.0) * math.tanh(rate / 2) ** counts
    return min(bound, int(np.argmax(beyond <= failure * (1 - 2 * _CUT))))


def _by_integrals(k: int, rate: float, failure: float) -> int:
    """R with P(N(z) > R) <= failure, where N(z) <= ||z||_1, by a comparison with integrals.

    Let u be uniform in the cube around 0: N(u) <= sum |u_i|. Sums over whole vectors are compared
    with integrals over their cubes: by convexity of N, e^(-a N(z)) <= e^(a E N(u)) times the mean
    of e^(-a N) over the cube at z (Jensen), and that mean is at most e^(-a N(z)) E cosh(a N(u)),
    since N(z+u) + N(z-u) >= 2 N(z). Integrals of e^(-a N) are proportional to a^-k. Hence, for
    0 < t < 1, P(N >= r) <= (1-t)^-k E cosh(rate N(u)) e^((1-t) rate E N(u) - t rate r).
    """
    grow, shrink = (math.expm1(half) / half for half in (rate / 2, -rate / 2))
    uneven, mean = math.log((grow**k + shrink**k) / 2), k / 4

    def least(t: float) -> float:
        logs = -k * math.log1p(-t) + uneven + (1 - t) * rate * mean - math.log(failure)
        return logs / (t * rate)

    found = scipy.optimize.minimize_scalar(least, bounds=(1e-6, 1 - 1e-9), method="bounded")
    return math.ceil(least(float(found.x)) * (1 + 1e-9))


def _hull_facets(columns: IntMatrix) -> IntMatrix:
    """Whole vectors 2^12 a, |<a, c>| <= 1 for every column and unit vector c: nearly the facets.

    Whether that holds is checked in whole numbers; floating point only proposes.
    """
    k = columns.shape[1]
    spanning = np.concatenate([columns, np.eye(k, dtype=np.int64)])
    hull = scipy.spatial.ConvexHull(np.concatenate([spanning, -spanning]).astype(np.float64))
    normals = np.unique(np.round(hull.equations[:, :k] / -hull.equations[:, k:], 9), axis=0)
    top = 1 << _BITS
    facets = np.rint(normals * (top - 2 * k)).astype(np.int64)
    worst = np.abs(facets @ spanning.T).max(axis=1)
    facets = facets[(worst <= top) & facets.any(axis=1)]
    return np.asarray(np.unique(facets, axis=0))
