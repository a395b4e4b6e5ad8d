"""Bounds on the values that a query can have, from public numbers alone.

`most_weight` bounds the weight of some pairs of vertices. `possible_part` cuts an interval for a
query's value to the values that the query can have.
"""

import math
from fractions import Fraction


def most_weight(pairs: float, max_weight: float | None) -> float:
    """Return the most that some pairs can weigh together, rounded up.

    Args:
        pairs: number of pairs, or the sum of the coefficients that a linear query gives to pairs.
        max_weight: the most that one pair can weigh; None if there is no bound.

    Returns:
        max_weight · pairs as the next floating-point number from above; infinity without a bound.
    """
    if max_weight is None:
        return math.inf
    most = max_weight * pairs
    is_bound = math.isinf(most) or Fraction(most) >= Fraction(max_weight) * Fraction(pairs)
    return most if is_bound else math.nextafter(most, math.inf)


def possible_part(
    interval: tuple[float, float], most: float, least: float = 0.0
) -> tuple[float, float]:
    """Return the part of an interval in which a query's true value can lie.

    The result holds every possible value that the interval holds. If the interval holds none, the
    result is the one possible value that is nearest to it.

    Args:
        interval: (low, high).
        most: the largest possible value; of a cut, what its pairs can weigh, see `most_weight`.
        least: the smallest possible value; 0 for a cut, since weights are not negative. It is below
            0 for queries with negative coefficients.
    """
    low, high = interval
    return min(max(low, least), most), min(max(high, least), most)
