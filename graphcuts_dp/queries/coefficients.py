"""Coefficients of linear queries: their extent, and their rounding to a grid.

Noise for a linear query must hide the largest change of its answer, which its coefficients decide.
They are public, and this module reads no graph.

A *space* says which pairs a query is about: a `VertexSet` (unordered pairs i < j), `Arcs` (ordered
pairs of one vertex set), or two vertex sets (pairs across). `one_set(space)` is true of the first
two, where no vertex is paired with itself. A rank-one query has two vectors u, v >= 0. Its
coefficient is u_i v_j, for a `VertexSet` u_i v_j + u_j v_i. `sides_of(space)` are the vertices of
rows and of columns of matrices. Read `linear` for the kinds of `LinearQuery`.

- `pair_coefficients` lists the coefficients of all pairs, checked.
- `Extent` says how large they are: what the sensitivity of a query is, and between which bounds
  its answer lies on every graph.
- `CoefficientGrid` rounds them to integers, so that answers can be counted exactly: mechanisms
  add integer noise to an exact integer. `exact_sums` computes such integers. A *grid unit* is the
  value that the integer 1 stands for.
- `as_cut` recognises a rank-one query that is a cut, which cuts' own noise then answers.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from graphcuts_dp.errors import QueryError
from graphcuts_dp.queries.linear import (
    CutQuery,
    LinearQuery,
    RankOneQuery,
    pairs_of_cut,
    sides_of,
)
from graphcuts_dp.schema.value_bounds import most_weight
from graphcuts_dp.schema.vertices import Space, VertexSet, one_set

# Coefficients of a query that is given by all of them, at most: 128 MiB of floats.
MOST_COEFFICIENTS = 1 << 24
# The largest coefficient has 2^30 grid units, so a sum of 2^24 coefficients is at most 2^54 and
# fits into 64-bit integers. Products with weights do not: `exact_sums` adds them up in parts.
_GRID_BITS = 30
# Relative error of sums of floats, at most: much more than it is for 2^24 terms.
_SUM_ERROR = 1e-9
_UNIT_ROUNDOFF = 2.0**-53  # relative error of one operation on floats, at most
# If entries of u and v have at most this many binary digits after the point, they are multiples of
# 2^-14. Coefficients u_i v_j or u_i v_j + u_j v_i are then multiples of 2^-28.
_EXACT_DIGITS = 14
_DIGIT_BITS = 16  # of the digits that `exact_sums` multiplies


@final
@dataclass(frozen=True)
class Extent:
    """Bounds and sums of the coefficients of a query over all public pairs. No graph is read.

    Attributes:
        largest: largest absolute coefficient: the sensitivity.
        negative: sum of the absolute values of the negative coefficients, rounded up.
        positive: sum of the positive coefficients, rounded up.
        on_grid: whether each coefficient is an integer multiple of `CoefficientGrid.unit`, so that
            rounding to the grid changes nothing.
    """

    largest: float
    negative: float
    positive: float
    on_grid: bool

    @classmethod
    def of(cls, query: LinearQuery, space: Space) -> "Extent":
        """Return the extent of a query.

        Raises:
            QueryError: a query that does not fit the vertex sets, has coefficients that are not
                finite, or is given by more than 2^24 coefficients.
        """
        if isinstance(query, RankOneQuery):
            return _extent_of_rank_one(query, space)
        if isinstance(query, CutQuery):
            pairs = pairs_of_cut(*query.masks(space), space)  # each has the coefficient 1
            return cls(float(pairs > 0), 0.0, float(pairs), on_grid=True)
        coefficients = pair_coefficients(query, space)
        largest = float(np.abs(coefficients).max(initial=0.0))
        unit = largest * 2.0**-_GRID_BITS
        rounded = np.rint(coefficients / unit) if unit > 0 else coefficients
        return cls(
            largest=largest,
            negative=-float(np.minimum(coefficients, 0).sum()) * (1 + _SUM_ERROR),
            positive=float(np.maximum(coefficients, 0).sum()) * (1 + _SUM_ERROR),
            on_grid=bool((rounded * unit == coefficients).all()),
        )

    @property
    def absolute_sum(self) -> float:
        """Sum of the absolute values of all coefficients."""
        return self.negative + self.positive

    def possible(self, max_weight: float | None) -> tuple[float, float]:
        """Return bounds (low, high) on the answer on every graph with weights in [0, max_weight].

        Args:
            max_weight: the largest weight of a pair. None if weights have no bound: then low is
                minus infinity if some coefficient is negative, and high is infinity if some
                coefficient is positive.
        """
        # `most_weight(c, max_weight)` is c max_weight, rounded up; infinity without a max_weight.
        low = 0.0 - most_weight(self.negative, max_weight) if self.negative else 0.0
        high = most_weight(self.positive, max_weight) if self.positive else 0.0
        return low, high


def _extent_of_rank_one(query: RankOneQuery, space: Space) -> Extent:
    """Return the extent of a rank-one query from sums of u and v, without a matrix.

    No coefficient is negative. Their sum is sum(u) sum(v), less the terms u_i v_i where no vertex
    is paired with itself. This holds for unordered pairs as well: the coefficient
    u_i v_j + u_j v_i of the pair i < j has the terms of both orders.
    """
    left, right = sides_of(space)
    u, v = query.vectors((len(left), len(right)))
    positive = float(u.sum()) * float(v.sum())
    if one_set(space):
        positive = max(0.0, positive - float(u @ v))
    slack = _SUM_ERROR * float(u.sum()) * float(v.sum())
    largest = query.sensitivity(space)  # the largest coefficient of a pair
    scaled = [np.ldexp(x, _EXACT_DIGITS) for x in (u, v)]
    few_digits = all(bool((entries == np.rint(entries)).all()) for entries in scaled)
    # If the largest coefficient is a power of two that is at most 2, the grid unit is 2^-29 or a
    # smaller power of two. The coefficients are multiples of 2^-28, so they lie on the grid.
    # (`frexp` returns the mantissa 1/2 for powers of two alone.)
    power_of_two = np.frexp(largest)[0] == 0.5
    return Extent(
        largest=largest,
        negative=0.0,
        positive=(positive + slack) if largest else 0.0,
        on_grid=bool(few_digits and power_of_two and largest <= 2),
    )


def pair_coefficients(query: LinearQuery, space: Space) -> FloatMatrix:
    """Return the coefficient of each pair, once, as a matrix over the space.

    For one vertex set the coefficients stand above the diagonal; all other entries are zero. For
    `Arcs` the diagonal is zero.

    Returns:
        Shape (n, n), or (n_left, n_right) for two sides.

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
        coefficients = np.array(query.coefficients(space), dtype=np.float64)
    except QueryError:  # a `ValueError` whose message is better than the one below
        raise
    except (AttributeError, TypeError, ValueError):  # of a class of the user's own
        raise QueryError(f"{type(query).__name__} gives no matrix of coefficients") from None
    if coefficients.shape != (len(left), len(right)) or not np.isfinite(coefficients).all():
        raise QueryError(
            f"the coefficients of a query are finite numbers, {len(left)} x {len(right)} of them"
        )
    if isinstance(space, VertexSet):
        if not np.array_equal(coefficients, coefficients.T):
            raise QueryError("the coefficients of a query on one vertex set are symmetric")
        coefficients = np.triu(coefficients, 1)
    elif one_set(space):
        np.fill_diagonal(coefficients, 0)
    return coefficients + 0.0  # turns -0.0 into 0.0, so that equal queries have equal bytes


@final
@dataclass(frozen=True)
class CoefficientGrid:
    """Multiples of 2^-30 of the largest coefficient, to which all coefficients are rounded.

    A coefficient is then an integer, its number of grid units. An answer is an integer as well:
    grid units of coefficients times grid units of weights. (Weights are multiples of a grid unit of
    their own, which the graph declares.) If one weight changes by at most d of its grid units, the
    answer changes by at most 2^30 d. The proof relies on `grid_units`: it cuts off what rounding
    may add, so that no coefficient has more than 2^30 grid units.

    Attributes:
        extent: that of the query; `largest` > 0.
    """

    extent: Extent
    max_units: ClassVar[int] = 1 << _GRID_BITS  # grid units of the largest coefficient

    @cached_property
    def unit(self) -> float:
        """The value of one grid unit, exactly: the largest coefficient over 2^30.

        Division by a power of two is exact unless the largest coefficient is below 2^-990.
        """
        return self.extent.largest * 2.0**-_GRID_BITS

    def grid_units(self, coefficients: FloatVector) -> IntVector:
        """Return coefficients in grid units, rounded to the nearest; the shape stays."""
        rounded = np.rint(coefficients / self.unit)
        return np.clip(rounded, -self.max_units, self.max_units).astype(np.int64)

    def rounding_error(self, pairs: int, max_weight: float | None) -> float:
        """Return a bound on how much rounding the coefficients changes an answer, in weight.

        Each pair weighs at most `max_weight`, and its coefficient moves by at most 1/2 + 4 M r grid
        units, where M = 2^30 is `max_units` and r = 2^-53 the relative error of one operation.

        Proof. Three steps move a coefficient that is not cut off, and so has at most M units:

        - It becomes a float. u_i v_j + u_j v_i has two roundings, one after the other, and any
          other form at most one: it moves by 2 M r, up to terms with r^2.
        - `grid_units` divides it by the unit, which is exact: it moves by M r.
        - `grid_units` rounds the quotient to an integer: it moves by 1/2.

        That is 1/2 + 3 M r. The rest, M r, is more than the terms with r^2 and the rounding of this
        bound, below 3 r in all. A coefficient is cut off at M units only if rounding made
        `extent.largest` too small. That happens to rank-one queries alone, by a relative 12 n r for
        n vertices at most (see `RankOneQuery.sensitivity`). So the coefficient has less than half a
        unit more than M, as 12 n r M < 1/2 for n up to 2^18, and is moved by no more. QED.

        Args:
            pairs: number of pairs of the universe.
            max_weight: public largest weight. None if weights have no bound.

        Raises:
            QueryError: there is no bound, as weights have none.
        """
        if self.extent.on_grid:
            return 0.0
        if max_weight is None:
            raise QueryError(
                "without a max_weight the coefficients of a query must be whole multiples of a "
                "2^-30th part of the largest one; give the graph a max_weight"
            )
        coefficient_error = 0.5 + 4 * self.max_units * _UNIT_ROUNDOFF  # in grid units
        return pairs * max_weight * self.unit * coefficient_error


def exact_sums(coefficients: IntMatrix, weights: IntVector) -> list[int]:
    """Return sum_j coefficients_ij weights_j for each row i, exactly.

    Both factors are split into digits of 16 bits. A product of two digits is below 2^32, so 2^24
    of them add up in 64-bit integers. Python's integers add the sums up, each with its power of
    two. The high digit of a negative coefficient is negative, its low digit is not.

    Args:
        coefficients: shape (k, N), of absolute value at most 2^31, N at most 2^24.
        weights: shape (N,), from 0 to below 2^63.

    Returns:
        k integers of any size.
    """
    low_digits, high_digits = coefficients & 0xFFFF, coefficients >> _DIGIT_BITS
    totals = [0] * len(coefficients)
    for shift in range(0, 64, _DIGIT_BITS):
        weight_digits = weights >> shift & 0xFFFF
        for row, digit_sum in enumerate((low_digits @ weight_digits).tolist()):
            totals[row] += digit_sum << shift
        for row, digit_sum in enumerate((high_digits @ weight_digits).tolist()):
            totals[row] += digit_sum << (shift + _DIGIT_BITS)
    return totals


def as_cut(query: RankOneQuery, space: Space) -> CutQuery | None:
    """Return the cut that a rank-one query is, or None if it is no cut.

    It is one if u and v are indicators of sets S and T. Where pairs are unordered, the sets must
    not meet: a rank-one query counts the pairs inside S & T twice, a cut counts them once.
    """
    left, right = sides_of(space)
    u, v = query.vectors((len(left), len(right)))
    if not all(bool(((entries == 0) | (entries == 1)).all()) for entries in (u, v)):
        return None
    S, T = u > 0, v > 0
    if isinstance(space, VertexSet) and (S & T).any():
        return None
    return CutQuery(S, T)
