"""The K-norm mechanism: joint noise on up to six counts, drawn exactly on whole numbers.

Independent noise on k counts ignores how the counts change together. A change of the data moves
the vector of counts by a multiple of a *column*: the 0/1 vector that says which counts the changed
pair is part of. The K-norm mechanism draws noise z with P(z) proportional to e^(-rate N(z)), for a
norm N that is at most 1 on every column. The smaller the unit ball of N, the less noise. The best
ball is the convex hull of the columns and their negatives; here unit vectors are added to it, and
its *facets* (the linear functions that bound it) are rounded to rational numbers.

`KNormNoise` is the mechanism; `k_norm_radius` bounds its errors before any columns are known. The
number of counts is k throughout. Sizes in whole numbers: facets are stored times 2^12, and norms
times 2^12 w, so that no rounding touches a privacy proof.

Papers: GRU12 is Gupta, Roth, Ullman, *Iterative Constructions and Private Data Release*, 2012.
"""

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Self, final

import numpy as np
import scipy
import scipy.optimize
import scipy.spatial

from graphcuts_dp.arrays import IntMatrix, IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.count_noise import discrete_laplace_radius
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.inversion import happens
from graphcuts_dp.privacy.noise import sample_discrete_laplace

NORMS = ("k-norm", "laplace")  # names of the norm N; "laplace" is ||z||_1/w
MOST_COUNTS = 6  # for "k-norm": the sampler accepts too few proposals for more counts
_FACET_BITS = 12  # facets are whole numbers of 2^-12
_LARGEST_INT64_NOISE = 1 << 40  # noise below this cannot overflow int64 in `scaled_norm`
_MOST_LISTED = 1 << 18  # vectors whose probabilities may be added up for a radius
_CUT = 1e-6  # share of a failure probability for vectors that are not listed
_SUM_ERROR = 1e-12  # absolute: more than rounding moves a sum of probabilities
_OUTWARD = 1 + 1e-9  # factor of a radius: more than its floats can lose


@final
@dataclass(frozen=True, eq=False)
class KNormNoise:
    """Noise vectors z of k whole numbers with P(z) proportional to e^(-rate N(z)).

    N(z) is the larger of ||z||_1/w and the largest |<a, z>| over the facets a. `of_columns` makes
    the unit vectors the first k facets, so N(z) >= max |z_i|. It leaves out every facet that
    exceeds 1 on a column, checked in whole numbers, so N is at most 1 on each column. N is 1 on
    each unit vector, so max |z_i| <= N(z) <= ||z||_1; all radii rely on that. Without facets N(z)
    is ||z||_1/w: independent noise.

    Attributes:
        facets: 2^12 a for the vectors a, whole numbers, shape (F, k). No entry exceeds 2^12 in
            modulus, and each column of the matrix has an entry of that size. Shape (0, k) if N is
            ||z||_1/w.
        weight: w >= 1, the largest number of ones in a column.
        rate: > 0.

    Raises:
        ParameterError: the weight, the rate or the facets are not as stated.

    Privacy:
        Let the counts change between neighbours by d c, for a column c and a whole number d with
        |d| <= s. Then the noisy counts are (s rate)-DP. Proof: N(d c) <= s, so by the triangle
        inequality the weights e^(-rate N) of one outcome differ by a factor of at most
        e^(s rate). The sum of the weights over all whole vectors is the same for both neighbours,
        since a shift by a whole vector maps whole vectors onto whole vectors. The proof needs no
        exact facets: any rational facets with |<a, c>| <= 1 give a norm with N(c) <= 1, and that is
        checked exactly.

    Source: Hardt, Talwar 2010 (the K-norm mechanism); GRU12, Table 1. Deviations: noise on whole
    vectors in place of points of R^k; the unit ball contains the unit vectors, too; its facets are
    rational.
    """

    facets: IntMatrix
    weight: int
    rate: Fraction

    def __post_init__(self) -> None:
        if not (self.weight >= 1 and self.rate > 0):
            raise ParameterError("K-norm noise needs a weight of at least 1 and a rate above 0")
        unit_norms = np.abs(self.facets).max(axis=0, initial=0)  # 2^12 N(unit vector)
        if len(self.facets) and (unit_norms != 1 << _FACET_BITS).any():
            raise ParameterError("the norm of K-norm noise must be 1 of each unit vector")

    @classmethod
    def of_columns(cls, columns: IntMatrix, rate: Fraction, *, norm: str = "k-norm") -> Self:
        """Return the noise for k counts whose changes are multiples of these columns.

        Args:
            columns: 0/1 vectors, shape (columns, k): for each pair of vertices, the counts that it
                is part of. Zero columns and repeated columns do no harm.
            rate: > 0.
            norm: "k-norm" for a norm with nearly the smallest unit ball (see the module);
                "laplace" for N(z) = ||z||_1/w.

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
            facets = np.eye(k, dtype=np.int64) << _FACET_BITS
            if k > 1 and weight > 1:
                facets = np.concatenate([facets, _hull_facets(columns)])
        elif norm != "laplace":
            raise ParameterError(f"unknown noise {norm!r:.40}; choose one of {', '.join(NORMS)}")
        return cls(facets, weight, rate)

    @property
    def counts(self) -> int:
        """The number k of counts."""
        return int(self.facets.shape[1])

    def scaled_norm(self, z: IntMatrix) -> IntVector:
        """Return 2^12 w N(z) of whole vectors, exactly, shape (len(z),)."""
        sum_norms = np.abs(z).sum(axis=1) << _FACET_BITS  # 2^12 ||z||_1
        if not len(self.facets):
            return np.asarray(sum_norms)
        facet_norms = np.abs(z @ self.facets.T).max(axis=1) * self.weight
        return np.asarray(np.maximum(sum_norms, facet_norms))

    def draw(self, source: EntropySource) -> IntVector:
        """Draw one noise vector, shape (k,).

        Rejection sampling: independent two-sided geometric noise of rate/w has the weights
        e^(-rate ||z||_1/w). Since ||z||_1/w <= N(z), it is accepted with probability
        e^(-rate (N(z) - ||z||_1/w)).
        """
        coordinate_rate = self.rate / self.weight
        # Proposals drawn together: fewer are accepted for more counts; all are without facets.
        batch = 4 * 2**self.counts if self.weight > 1 and len(self.facets) else 1
        while True:
            flat = sample_discrete_laplace(coordinate_rate, batch * self.counts, source)
            proposals = flat.reshape(batch, self.counts)
            if int(np.abs(proposals).max(initial=0)) >= _LARGEST_INT64_NOISE:
                # Python integers, since `scaled_norm` could overflow. The vector itself fits int64.
                proposals = proposals.astype(object)
            # 2^12 w (N(z) - ||z||_1/w), shape (batch,)
            excesses = self.scaled_norm(proposals) - (np.abs(proposals).sum(axis=1) << _FACET_BITS)
            for vector, excess in zip(proposals, excesses, strict=True):
                if not excess or happens(partial(self._acceptance, int(excess)), source):
                    return vector.astype(np.int64)

    def _acceptance(self, excess: int) -> Decimal:
        """Return e^(-rate excess/(2^12 w)), in the current decimal context, for `happens`."""
        power = self.rate * excess / (self.weight << _FACET_BITS)
        return (-Decimal(power.numerator) / Decimal(power.denominator)).exp()

    def cost(self, sensitivity: int) -> Cost:
        """Return the cost of one draw for counts that change by at most s columns; see the class.

        Args:
            sensitivity: s, the largest |d|.
        """
        return Cost.of_pure(sensitivity * self.rate)

    def radius(self, failure: float) -> int:
        """Return R with P(max |z_i| > R) <= failure, proven.

        `k_norm_radius`, or a smaller R from the probabilities of all vectors that matter, if they
        are few. Without facets, the exact tail of each count and a union bound.
        """
        rate, k = float(self.rate), self.counts
        if not len(self.facets) or k == 1:
            return discrete_laplace_radius(rate / self.weight, failure=failure / k)
        bound = k_norm_radius(k, rate, failure)
        # Vectors with an entry beyond this reach have a probability of at most failure * _CUT. All
        # others are listed.
        listed_reach = _integral_radius(k, rate, failure * _CUT)
        if (2 * listed_reach + 1) ** k > _MOST_LISTED:
            return bound
        listed = self._listed_radius(listed_reach, failure)
        return bound if listed is None else min(bound, listed)

    def _listed_radius(self, reach: int, failure: float) -> int | None:
        """Return the quantile of max |z_i|, from all vectors with max |z_i| <= reach.

        It is None if the failure probability is below the rounding error of the sums.
        Vectors beyond the reach must have a probability of at most failure * _CUT. Leaving them out
        of the total changes a probability by at most that, and it is also added to the tail; so
        the listed tail may have failure * (1 - 2 _CUT).
        """
        coordinates = np.arange(-reach, reach + 1)
        axes = [coordinates] * (self.counts - 1)
        tails = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        tails = tails.reshape(-1, self.counts - 1)  # z_2, ..., z_k
        weights_by_maximum = np.zeros(reach + 1)
        for first in coordinates:
            z = np.column_stack([np.full(len(tails), first), tails])
            weights = np.exp(-float(self.rate) / (self.weight << _FACET_BITS) * self.scaled_norm(z))
            weights_by_maximum += np.bincount(np.abs(z).max(axis=1), weights, minlength=reach + 1)
        # P(max |z_i| > r) among the listed vectors, for r = 0..reach.
        above = 1 - np.cumsum(weights_by_maximum) / weights_by_maximum.sum()
        (proven,) = np.nonzero(above <= failure * (1 - 2 * _CUT) - _SUM_ERROR)
        return int(proven[0]) if len(proven) else None


def k_norm_radius(counts: int, rate: float, failure: float) -> int:
    """Return R with P(max |z_i| > R) <= failure for K-norm noise of any columns, proven.

    It uses only that N is a norm with max |z_i| <= N(z) <= ||z||_1, and is the smaller of two
    bounds:

    1. `_integral_radius`.
    2. Counting: (2t+1)^k - (2t-1)^k whole vectors have max |z_i| = t, and weigh at most e^(-rate t)
       each, since N(z) >= max |z_i|. All weights together are at least
       sum_z e^(-rate ||z||_1) = coth(rate/2)^k. The counting ends at a *reach*, the integral radius
       of failure * _CUT; vectors beyond it have a probability of at most failure * _CUT.

    Args:
        counts: k >= 1.
        rate: > 0.
        failure: in (0, 1).
    """
    bound = _integral_radius(counts, rate, failure)
    reach = _integral_radius(counts, rate, failure * _CUT)
    if reach > _MOST_LISTED:
        return bound
    t = np.arange(1.0, reach + 1)
    weights = ((2 * t + 1) ** counts - (2 * t - 1) ** counts) * np.exp(-rate * t)
    # P(max |z_i| > r), up to the reach, for r = 0, 1, ..., reach.
    above = np.append(np.cumsum(weights[::-1])[::-1], 0.0) * math.tanh(rate / 2) ** counts
    # The last entry of `above` is 0, so some r meets the failure probability; argmax is the first.
    return min(bound, int(np.argmax(above <= failure * (1 - 2 * _CUT))))


def _integral_radius(k: int, rate: float, failure: float) -> int:
    """Return R with P(N(z) > R) <= failure, for any norm with N(z) <= ||z||_1.

    Theorem "Tails of K-norm noise on whole vectors" of docs/mathematics.md compares sums over whole
    vectors with integrals over unit cubes around them. For 0 < t < 1 and u uniform in the unit cube
    around 0 it says

        P(N >= r) <= (1-t)^-k E[cosh(rate N(u))] e^((1-t) rate E[N(u)] - t rate r).

    N(u) is at most the sum of |u_i|, so both means are at most those of that sum: E[N(u)] <= k/4,
    and E[cosh] is the mean of (E e^(rate |u_i|))^k and (E e^(-rate |u_i|))^k. Every t gives a valid
    R, so the search for the best t may be inexact.
    """
    # E e^(rate |u_i|) and E e^(-rate |u_i|) for u_i uniform in [-1/2, 1/2]
    mean_growth, mean_decay = (math.expm1(half) / half for half in (rate / 2, -rate / 2))
    log_mean_cosh = math.log((mean_growth**k + mean_decay**k) / 2)
    mean_norm = k / 4

    def radius_at(t: float) -> float:
        log_factor = -k * math.log1p(-t) + log_mean_cosh + (1 - t) * rate * mean_norm
        return (log_factor - math.log(failure)) / (t * rate)

    best = scipy.optimize.minimize_scalar(radius_at, bounds=(1e-6, 1 - 1e-9), method="bounded")
    return math.ceil(radius_at(float(best.x)) * _OUTWARD)


def _hull_facets(columns: IntMatrix) -> IntMatrix:
    """Return whole vectors 2^12 a with |<a, c>| <= 1 for every column and unit vector c.

    They are nearly the facets of the convex hull of the columns, the unit vectors and their
    negatives. Floating point proposes them, a little too small; whole numbers check them. A
    proposal that fails is left out, which only enlarges the unit ball.
    """
    k = columns.shape[1]
    spanning = np.concatenate([columns, np.eye(k, dtype=np.int64)])
    hull = scipy.spatial.ConvexHull(np.concatenate([spanning, -spanning]).astype(np.float64))
    # A facet satisfies <normal, x> + offset = 0, so a = normal/-offset. Qhull repeats a facet that
    # is no simplex; rounding to 9 digits makes the copies equal. Shape (facets, k).
    normals = np.unique(np.round(hull.equations[:, :k] / -hull.equations[:, k:], 9), axis=0)
    top = 1 << _FACET_BITS
    # A facet times 2^12 has products up to 2^12 with the columns. It is shrunk to 2^12 - 2 k, since
    # rounding its k entries to whole numbers adds at most k/2 to a product with a 0/1 vector.
    facets = np.rint(normals * (top - 2 * k)).astype(np.int64)
    largest_products = np.abs(facets @ spanning.T).max(axis=1)
    facets = facets[(largest_products <= top) & facets.any(axis=1)]
    return np.asarray(np.unique(facets, axis=0))
