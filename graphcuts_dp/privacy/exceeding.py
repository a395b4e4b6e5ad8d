"""Discrete Laplace noise at or above a threshold, without drawing the noise below it.

A sparse mechanism adds discrete Laplace noise to each of very many positions, nearly all of them 0,
and releases only sums that reach a threshold T. `sample_exceeding` returns the positions whose
noise alone reaches T, and that noise, in time proportional to their number. Each position reaches
T independently with p = P(K >= T). So the *gap* before the next such position, the number of
positions skipped, is geometric: P(gap = k) = p (1-p)^k. Noise that reaches T exceeds it by a
geometric number, since P(K = T + k) is proportional to e^(-rate k).

Noise is in grid units, which messages to users call steps; positions are usually pairs of vertices.

Exact gaps come from `privacy.noise`: it draws a geometric variable by groups of its binary digits
(`DigitGroup`), from a `Power` function, which computes r^count for a fixed r in the current
decimal context. Here r = 1 - p. The samplers rely on it that a `Power` is right to all digits of
the context but the last few; `_powers_below` ensures that.
"""

import math
from decimal import Decimal, getcontext, localcontext
from fractions import Fraction
from functools import cache, lru_cache
from typing import NamedTuple, final

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import (
    DigitGroup,
    Power,
    geometric_digits,
    sample_by_digits,
    sample_geometric,
)

LARGEST_POSITIONS = 2**56  # sums of gaps then stay far below 2^63
LARGEST_THRESHOLD = 2**52  # in grid units
# Smallest p: its gaps exceed all 2^56 positions except with probability 2^-100.
_LEAST_CHANCE = 2.0**-160
_GAP_MARGIN = 6.0  # gaps drawn at once beyond the expected number, in standard deviations
_LEAST_GAPS = 16  # gaps drawn at once, at least
_MOST_GAPS = 1 << 22  # and at most
# Decimal digits more than the counted ones that a computation loses, for the rounding of its steps.
_GUARD_DIGITS = 5


@final
class Exceeding(NamedTuple):
    """Positions whose noise reaches a threshold, and that noise.

    Attributes:
        positions: ascending and distinct, shape (k,).
        values: their noise, each at least the threshold, shape (k,).
    """

    positions: IntVector
    values: IntVector


def tail_chance(rate: Fraction, threshold: int) -> float:
    """Return P(K >= threshold) = e^(-rate threshold)/(1 + e^-rate) for discrete Laplace noise K.

    Args:
        rate: P(k) is proportional to e^(-rate |k|).
        threshold: >= 1.
    """
    return math.exp(-float(rate * threshold)) / (1 + math.exp(-float(rate)))


def sample_exceeding(
    rate: Fraction, threshold: int, positions: int, source: EntropySource
) -> Exceeding:
    """Draw all positions whose discrete Laplace noise reaches a threshold, with that noise.

    The distribution is exactly that of drawing noise for every position and leaving out what is
    below the threshold. Gaps are inverted exactly, group of digits by group of digits
    (`noise.geometric_digits`); the values of their distribution function are non-constant algebraic
    functions of e^-rate, which is transcendental, so enough bits always decide.

    The time is proportional to the number of positions returned, and depends on random bits only.
    The order of draws, all gaps block by block and then all values, must not change: recorded
    outputs depend on it.

    Args:
        rate: > 0; P(K = k) is proportional to e^(-rate |k|).
        threshold: T, in 1..2^52.
        positions: number of positions, in 0..2^56.
        source: of the random bits.

    Raises:
        ParameterError: the threshold or the number of positions is out of range, or
            P(K >= T) is below 2^-160.
    """
    if not 1 <= threshold <= LARGEST_THRESHOLD:
        raise ParameterError("the threshold must be a whole number in 1..2^52 steps")
    if not 0 <= positions <= LARGEST_POSITIONS:  # never negative: callers count pairs
        raise ParameterError("there are more pairs than can be counted: at most 2^56")
    blocks: list[IntVector] = []
    start = 0  # the first position that is still undecided
    while start < positions:
        gaps = _sample_gaps(rate, threshold, positions - start, source)
        reached = start + _positions_after(gaps, positions)
        blocks.append(reached[reached < positions])
        start = int(reached[-1]) + 1
    reached = np.concatenate(blocks) if blocks else np.zeros(0, dtype=np.int64)
    return Exceeding(reached, sample_geometric(rate, len(reached), source) + threshold)


def _sample_gaps(
    rate: Fraction, threshold: int, positions: int, source: EntropySource
) -> IntVector:
    """Draw about as many gaps as it takes to pass all positions."""
    expected = positions * tail_chance(rate, threshold)
    count = math.ceil(expected + _GAP_MARGIN * math.sqrt(expected)) + _LEAST_GAPS
    return sample_by_digits(_gap_digits(rate, threshold), min(count, _MOST_GAPS), source)


def _positions_after(gaps: IntVector, positions: int) -> IntVector:
    """Return the position after each gap, counted from 0, up to the first beyond all positions.

    After gaps g_0, ..., g_i it is g_0 + ... + g_i + i: each earlier hit takes one position itself.
    All positions from the first one >= `positions` on may be left out.
    """
    # A gap above `positions` leads beyond all of them, however long it is. Gaps may be Python
    # integers of any size; clipped ones are at most 2^56.
    clipped = np.minimum(gaps, positions).astype(np.int64)
    # The sum of all gaps could overflow int64, so only the gaps up to a sum of about 2 positions
    # are added: twice, so that errors of the float sums cannot stop too early. It stays below 2^58.
    float_sums = np.cumsum(clipped.astype(np.float64))
    stop = int(np.searchsorted(float_sums, 2.0 * positions)) + 1
    return np.cumsum(clipped[:stop] + 1) - 1


@lru_cache(maxsize=64)
def _gap_digits(rate: Fraction, threshold: int) -> list[DigitGroup]:
    """Return the digit groups of a gap: P(gap >= k) = (1-p)^k.

    Raises:
        ParameterError: p is below 2^-160; its gaps would need digits without end.
    """
    chance = tail_chance(rate, threshold)
    if chance < _LEAST_CHANCE:
        raise ParameterError("the threshold is so high that nothing would ever reach it")
    # The float rate only decides how many digits are drawn from tables, and how many bits each has.
    # The distribution is exact, from the powers.
    approximate_rate = Fraction(-math.log1p(-chance))
    return geometric_digits(approximate_rate, _powers_below(rate, threshold))


def _powers_below(rate: Fraction, threshold: int) -> Power:
    """Return the powers of 1 - p, p = e^(-rate T)/(1 + e^-rate), right to all digits but the last.

    A power is e^(count ln(1-p)). Rounding 1 - p loses about as many digits of its logarithm as 1/p
    has. The exponential turns the absolute error of count ln(1-p) into a relative one, and loses as
    many digits as `count` has. Each of the two numbers of digits is estimated from a float or a
    length, and gets `_GUARD_DIGITS` of its own.
    """
    lost_digits = len(str(int(1 / tail_chance(rate, threshold)))) + _GUARD_DIGITS

    @cache
    def log_below(digits: int) -> Decimal:
        """Return ln(1 - p) to so many digits."""
        with localcontext() as context:
            context.prec = digits
            exact_rate = Decimal(rate.numerator) / Decimal(rate.denominator)
            return (1 - (-exact_rate * threshold).exp() / (1 + (-exact_rate).exp())).ln()

    def power(count: int) -> Decimal:
        digits = getcontext().prec + lost_digits + len(str(count)) + _GUARD_DIGITS
        with localcontext() as context:
            context.prec = digits
            exact_power = (log_below(digits) * count).exp()
        return +exact_power  # rounded to the current precision

    return power
