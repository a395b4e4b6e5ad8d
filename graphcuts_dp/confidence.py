"""Define the default confidence of everything that is stated; change it here and nowhere else.

Intervals, errors that are stated before the budget is spent, plans, titles of pictures, help texts
and HTTP replies all import it. A share of a failure probability, or the probability that an
algorithm fails, is no confidence, and is defined where it is used.
"""

import math
from fractions import Fraction
from statistics import NormalDist

DEFAULT_CONFIDENCE = 0.95  # probability that an interval, or a stated error, holds
DEFAULT_PERCENT = f"{100 * DEFAULT_CONFIDENCE:g}%"  # as `percent` writes it in titles and messages
# Probability that it does not: 1 - 0.95 as written, 0.05, and not the float 0.050000000000000044.
DEFAULT_FAILURE = float(1 - Fraction(str(DEFAULT_CONFIDENCE)))
# Standard deviations that a normal error exceeds with that probability, up or down: 1.96.
DEFAULT_DEVIATIONS = -NormalDist().inv_cdf(DEFAULT_FAILURE / 2)

# Columns of an interval in every table: of one number alone, and of all numbers at once.
INTERVAL_COLUMNS = ("low", "high")
SIMULTANEOUS_COLUMNS = ("simultaneous_low", "simultaneous_high")

_FINEST = 100  # parts of a percent that are written
_ROUNDING = 1e-6  # of such a part: rounding error of a confidence that was computed as 1 - beta


def percent(confidence: float) -> str:
    """Write a confidence in titles, messages and help, rounded down to hundredths of a percent.

    Args:
        confidence: in [0, 1].

    Examples:
        >>> percent(0.95), percent(1 - 0.05 / 3), percent(0.99999)
        ('95%', '98.33%', '99.99%')
    """
    return f"{math.floor(confidence * 100 * _FINEST + _ROUNDING) / _FINEST:g}%"
