"""Bounds on the values that a query can have, from public numbers alone.

`most_weight` bounds the weight of some pairs of vertices. `possible_part` cuts an interval for a
query's value to the values that the query can have.
"""

import math
from fractions import Fraction


def most_weight(pairs: float, max_weight: float | None) -> float:
    """Return the most that some pairs can weigh together, rounded up.

    Args:
        pairs: number of pairs. A linear query adds up coefficients times weights, so a pair with
            coefficient c counts as c pairs: pass the sum of its positive coefficients for the
            most, and of the absolute values of its negative ones for the least.
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

    The result is the part of [low, high] in [least, most]. If the two do not meet, it is a single
    point: `most` if the interval lies above it, `least` if it lies below.

    Args:
        interval: (low, high).
        most: the largest possible value; of a cut, what its pairs can weigh, see `most_weight`.
        least: the smallest possible value; 0 for a cut, since weights are not negative. It is below
            0 for queries with negative coefficients.
    """
    low, high = interval
    return min(max(low, least), most), min(max(high, least), most)
