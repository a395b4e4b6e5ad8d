"""What is public of any linear query: how large its coefficients are, and their whole steps."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from graphcuts_dp.errors import QueryError
from graphcuts_dp.pairs.linear_query import LinearQuery, one_set, sides_of
from graphcuts_dp.pairs.queries import CutQuery, RankOneQuery, pairs_of_cut
from graphcuts_dp.pairs.vertices import Space, VertexSet

MOST_COEFFICIENTS = 1 << 24  # of a query that is given by all of them: 128 MiB
_BITS = 30  # the largest coefficient has 2^30 steps
_FLOATS = 1e-9  # what sums of floats may be off, relatively: far more than they are


@final
@dataclass(frozen=True)
class Extent:
    """How large the coefficients of a query are, over all public pairs. Reads no graph.

    Attributes:
        largest: largest modulus of a coefficient: the sensitivity.
        negative: sum of the moduli of those below 0, rounded up.
        positive: sum of those above 0, rounded up.
        whole: whether each is a whole number of `LinearSteps.unit`.
    """

    largest: float
    negative: float
    positive: float
    whole: bool

    @classmethod
    def of(cls, query: LinearQuery, space: Space) -> "Extent":
        """The extent of a query.

        Raises:
            QueryError: a query that does not fit the vertex sets, has coefficients that are not
                finite, or is given by more than 2^24 coefficients.
        """
        if isinstance(query, RankOneQuery):
            return _of_rank_one(query, space)
        if isinstance(query, CutQuery):
            pairs = pairs_of_cut(*query.masks(space), space)
            return cls(float(pairs > 0), 0.0, float(pairs), whole=True)
        coefficients = pair_coefficients(query, space)
        # Either triangle of a symmetric matrix; nothing else lies on the other one.
        largest = float(np.abs(coefficients).max(initial=0.0))
        unit = largest * 2.0**-_BITS
        steps = np.rint(coefficients / unit) if unit > 0 else coefficients
        return cls(
            largest=largest,
            negative=-float(np.minimum(coefficients, 0).sum()) * (1 + _FLOATS),
            positive=float(np.maximum(coefficients, 0).sum()) * (1 + _FLOATS),
            whole=bool((steps * unit == coefficients).all()),
        )

    @property
    def modulus(self) -> float:
        """Sum of the moduli of all coefficients."""
        return self.negative + self.positive

    def possible(self, cap: float | None) -> tuple[float, float]:
        """(low, high) between which the answer lies on every graph with weights from 0 to a cap.

        Args:
            cap: None where there is none: then a side is endless, or 0.
        """
        low, high = (_product(cap, side) for side in (self.negative, self.positive))
        return 0.0 - low, high


def _product(cap: float | None, total: float) -> float:
    """Rounded up; 0 of nothing, and else infinity where there is no cap."""
    if not total or cap is None:
        return math.inf if total else 0.0
    most = cap * total
    exact = math.isinf(most) or Fraction(most) >= Fraction(cap) * Fraction(total)
    return most if exact else math.nextafter(most, math.inf)


def _of_rank_one(query: RankOneQuery, space: Space) -> Extent:
    left, right = sides_of(space)
    u, v = query.vectors((len(left), len(right)))
    # Entries are not below 0, and nor are coefficients. Pairs of a vertex with itself are none.
    positive = float(u.sum()) * float(v.sum())
    if one_set(space):
        positive = max(0.0, positive - float(u @ v))
    largest = query.sensitivity(space)
    # Dyadic entries of few digits have coefficients that are whole steps of 2^-30 times 1 or 2.
    few = all(bool((np.ldexp(x, 14) == np.rint(np.ldexp(x, 14))).all()) for x in (u, v))
    whole = few and np.frexp(largest)[0] == 0.5 and largest <= 2
    slack = _FLOATS * float(u.sum()) * float(v.sum())
    return Extent(largest, 0.0, (positive + slack) if largest else 0.0, bool(whole))


def pair_coefficients(query: LinearQuery, space: Space) -> FloatMatrix:
    """The coefficient of each pair, once: of one vertex set above the diagonal, zeros elsewhere.

    Raises:
        QueryError: coefficients that are not finite or of another shape, not symmetric where they
            must be, or more than 2^24.
    """
    left, right = sides_of(space)
    if len(left) * len(right) > MOST_COEFFICIENTS:
        raise QueryError(
            f"a query with a coefficient for each pair is for up to {MOST_COEFFICIENTS:,} of them;"
            " cuts and rank-one queries have no such limit"
        )
    try:
        found = np.array(query.coefficients(space), dtype=np.float64)
    except QueryError:
        raise
    except (AttributeError, TypeError, ValueError):
        raise QueryError(f"{type(query).__name__} gives no matrix of coefficients") from None
    if found.shape != (len(left), len(right)) or not np.isfinite(found).all():
        raise QueryError(
            f"the coefficients of a query are finite numbers, {len(left)} x {len(right)} of them"
        )
    if isinstance(space, VertexSet):
        if not np.array_equal(found, found.T):
            raise QueryError("the coefficients of a query on one vertex set are symmetric")
        found = np.triu(found, 1)
    elif one_set(space):
        np.fill_diagonal(found, 0)
    return found + 0.0  # -0.0 and 0.0 are one number


def exact_sums(coefficients: IntMatrix, weights: IntVector) -> list[int]:
    """Sums of products of whole numbers, exactly, one for each row.

    Args:
        coefficients: shape (k, N), of at most 2^31 in size, N at most 2^24.
        weights: shape (N,), from 0 to below 2^64.
    """
    # Digits of 16 bits: products of two are below 2^32, and so many of them fit into 64 bits.
    total = [0] * len(coefficients)
    low, high = coefficients & 0xFFFF, coefficients >> 16
    for shift in range(0, 53, 16):
        digit = weights >> shift & 0xFFFF
        for part, place in ((low, shift), (high, shift + 16)):
            total = [
                sum_so_far + (int(found) << place)
                for sum_so_far, found in zip(total, part @ digit, strict=True)
            ]
    return total


def as_cut(query: RankOneQuery, space: Space) -> CutQuery | None:
    """The cut that a rank-one query is, if both vectors are indicators of sets that do not meet.

    Where pairs are ordered, the sets may meet: each arc counts once.
    """
    left, right = sides_of(space)
    u, v = query.vectors((len(left), len(right)))
    if not all(bool(((x == 0) | (x == 1)).all()) for x in (u, v)):
        return None
    S, T = u > 0, v > 0
    return None if isinstance(space, VertexSet) and (S & T).any() else CutQuery(S, T)


@final
@dataclass(frozen=True)
class LinearSteps:
    """Coefficients in whole steps of 2^-30 of the largest one, rounded to the nearest.

    An answer is then a whole number of steps of coefficients times steps of weights. If one
    weight changes by at most d of its steps, the count changes by at most 2^30 d: no coefficient
    has more than 2^30 steps, which `steps` makes sure of whatever floats do.

    Attributes:
        extent: of the query; `largest` > 0.
    """

    extent: Extent
    most: ClassVar[int] = 1 << _BITS  # steps of the largest coefficient

    @cached_property
    def unit(self) -> float:
        """Of one step, exact: the largest coefficient over 2^30."""
        return self.extent.largest * 2.0**-_BITS

    def steps(self, coefficients: FloatVector) -> IntVector:
        """Some coefficients in steps."""
        found = np.rint(coefficients / self.unit)
        return np.clip(found, -self.most, self.most).astype(np.int64)

    def rounding(self, pairs: int, cap: float | None) -> float:
        """By how much rounding coefficients can move an answer, in weight.

        Args:
            pairs: of the universe.
            cap: public largest weight; None where there is none.

        Raises:
            QueryError: nobody can tell, as weights have no bound.
        """
        if self.extent.whole:
            return 0.0
        if cap is None:
            raise QueryError(
                "without a weight_cap the coefficients of a query must be whole multiples of a "
                "2^-30th part of the largest one; give the graph a weight_cap"
            )
        return pairs * cap * self.unit * (0.5 + _FLOATS)
