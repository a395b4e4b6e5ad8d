"""Which of many positions carry noise of at least a threshold, in time of the number of these.

A virtual vector of independent discrete Laplace noises is never drawn: positions at or above the
threshold are independent events of one probability, so the gaps between them are geometric, and
what the noise has above the threshold is geometric, too.
"""

import decimal
import math
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, final

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import geometric_parts, sample_geometric, sample_parts

LARGEST_POSITIONS = 2**56  # that sums of gaps stay far below 2^63
LARGEST_THRESHOLD = 2**52
_RAREST = 2.0**-160  # gaps are then beyond all positions but with probability 2^-100
_SPREAD = 6.0  # deviations: how many more gaps are drawn at once than are expected
_LEAST_GAPS = 16


@final
class Exceeding(NamedTuple):
    """Positions that reach a threshold, and their noise.

    Attributes:
        places: ascending, distinct, shape (k,).
        values: the noise there, each at least the threshold, shape (k,).
    """

    places: IntVector
    values: IntVector


def tail_chance(rate: Fraction, threshold: int) -> float:
    """P(K >= threshold) = e^(-rate threshold)/(1 + e^-rate) for discrete Laplace noise K.

    Args:
        rate: P(k) is proportional to e^(-rate |k|).
        threshold: >= 1.
    """
    return math.exp(-float(rate * threshold)) / (1 + math.exp(-float(rate)))


def sample_exceeding(
    rate: Fraction, threshold: int, positions: int, source: EntropySource
) -> Exceeding:
    """All positions whose noise reaches the threshold, with that noise, exactly.

    The same law as drawing discrete Laplace noise for each position and keeping what is at least
    the threshold. Each position is kept independently with p = P(K >= threshold), so that the gaps
    are independent with P(gap = k) = p (1-p)^k; given K >= T >= 1, K - T is geometric of the same
    rate, since P(K = T + k) is proportional to e^(-rate k).

    Gaps are inverted exactly, digit by digit (`geometric_parts`): (1-p)^k is evaluated in decimal
    arithmetic to as many digits as decide. With a rational rate > 0, e^-rate is transcendental
    (Lindemann), and so is every value of the distribution function, which is no constant and a
    rational function of a root of it: enough bits always decide.

    Args:
        rate: > 0; P(K = k) is proportional to e^(-rate |k|).
        threshold: T, in 1..2^52.
        positions: how many, in 0..2^56.
        source: where the bits come from.

    Raises:
        ParameterError: a threshold or a number of positions out of range.

    Cost: proportional to how many are kept; the time depends on the bits drawn alone.
    """
    if not 1 <= threshold <= LARGEST_THRESHOLD:
        raise ParameterError("the threshold must be a whole number in 1..2^52 steps")
    if not 0 <= positions <= LARGEST_POSITIONS:
        raise ParameterError("there are more pairs than can be counted: at most 2^56")
    parts: list[IntVector] = []
    start = 0  # the next position that nothing is known of
    while start < positions:
        found = start + _ends(_gaps(rate, threshold, positions - start, source), positions)
        parts.append(found[found < positions])
        start = int(found[-1]) + 1
    places = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
    return Exceeding(places, sample_geometric(rate, len(places), source) + threshold)


def _gaps(rate: Fraction, threshold: int, positions: int, source: EntropySource) -> IntVector:
    """About as many gaps as it takes to pass all positions."""
    expected = positions * tail_chance(rate, threshold)
    count = math.ceil(expected + _SPREAD * math.sqrt(expected)) + _LEAST_GAPS
    return sample_parts(_gap_parts(rate, threshold), min(count, 1 << 22), source)


def _ends(gaps: IntVector, positions: int) -> IntVector:
    """Position after each gap, counted from 0; none after the first beyond all positions."""
    clipped = np.minimum(gaps, positions).astype(np.int64)  # beyond is beyond
    # Each is at most 2^56: a float tells which of the sums could overflow; they are not needed.
    rough = np.cumsum(clipped.astype(np.float64))
    stop = int(np.searchsorted(rough, 2.0 * positions)) + 1
    steps = clipped[:stop] + 1
    return np.cumsum(steps) - 1


@lru_cache(maxsize=64)
def _gap_parts(rate: Fraction, threshold: int) -> list[tuple[int, Any]]:
    """Samplers of the digits of a gap: P(gap >= k) = (1-p)^k."""
    # Rarer events than these take digits without end; what is not so rare is not so rare.
    chance = tail_chance(rate, threshold)
    if chance < _RAREST:
        raise ParameterError("the threshold is so high that nothing would ever reach it")
    missing = _Missing(rate, threshold)
    return geometric_parts(Fraction(-math.log1p(-chance)), missing.power)


@final
class _Missing:
    """Powers of 1 - p, p = e^(-rate T)/(1 + e^-rate), in the current decimal context."""

    def __init__(self, rate: Fraction, threshold: int) -> None:
        self._rate = rate
        self._threshold = threshold
        self._known: dict[int, Decimal] = {}
        # Digits that 1 - p loses of p.
        self._lost = len(str(int(1 / tail_chance(rate, threshold)))) + 5

    def power(self, count: int) -> Decimal:
        """(1 - p)^count, right to all digits of the context but the last."""
        digits = decimal.getcontext().prec + self._lost + len(str(count)) + 5
        with decimal.localcontext() as context:
            context.prec = digits
            if digits not in self._known:
                self._known[digits] = self._log()
            found = (self._known[digits] * count).exp()
        return +found

    def _log(self) -> Decimal:
        """ln(1 - p) in the current context."""
        rate = Decimal(self._rate.numerator) / Decimal(self._rate.denominator)
        chance = (-rate * self._threshold).exp() / (1 + (-rate).exp())
        return (1 - chance).ln()
