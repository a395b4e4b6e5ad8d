"""Exact random events and samples from exact distribution functions.

A sample of a distribution on 0, 1, 2, ... is found by *inversion*: draw a uniform real number U in
[0, 1); the sample is the least k with U < P(K <= k). Here U is revealed bit by bit, until its first
bits decide on which side of every *cut* P(K <= k) it lies. Cuts are computed in decimal arithmetic,
to as many digits as the decision needs. So the sample has exactly the stated distribution, given
uniform bits. Inverse transforms of floats do not: they leak through the holes in their output
(Mironov, "On significance of the least significant bits for differential privacy", CCS 2012).

`happens` decides one event this way. `Inversion` draws many samples: 16 bits of each from a table,
then 64 bits, then as many as it takes. The order of these draws must not change: recorded outputs
of seeded sources depend on it.

A cut of `Inversion` must be irrational: then U, with enough bits, always lies on one side of it.
All cuts of this package are non-constant rational functions of e^-x for a rational x > 0, which is
transcendental (Lindemann). `floor_bits` would never end for a cut such as 1/2. `happens` ends with
probability 1 whatever its probability is, 0 and 1 included.

Precision: a function computes a number in the current decimal context. If the context has n digits
and the formula may lose m of them, n - m digits are right. The *guard digits* are those that
remain beyond the bits that are compared. They make it unlikely that more bits are needed, and have
no influence on correctness; the lost digits have.
"""

import decimal
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.privacy.entropy import EntropySource, next_word

# A function that computes a number in the current decimal context. If the context has n digits, its
# relative error is at most 10^(UNTRUSTED_DIGITS - n).
Computed = Callable[[], Decimal]
# floor(2^bits P(K <= value)), exactly, for (value, bits)
ScaledCdf = Callable[[int, int], int]

UNTRUSTED_DIGITS = 25  # last digits of a `Computed` number that may be wrong
_EVENT_GUARD_DIGITS = 20  # of `happens`
# Digits that the formula of a cut may lose besides those that its caller counts: 25 by powers, and
# one because `_decimal_digits` may be one too small.
_LOST_DIGITS = 26
_CUT_GUARD_DIGITS = 15  # of `floor_bits`
_CUT_EXPONENT = 10**9  # decimal exponents of a cut lie within -10^9..10^9
_TABLE_BITS = 16  # first bits of a number, which nearly always decide its sample
_WORD_BITS = 64
_UNDECIDED = -1  # entry of the table where a cut lies inside the cell


def wide_context(digits: int) -> decimal.Context:
    """Return decimal arithmetic to so many digits, with the widest range of exponents."""
    return decimal.Context(prec=digits, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)


def happens(chance: Computed, source: EntropySource, *, prefix: int = 0, bits: int = 0) -> bool:
    """Draw an event of a given probability, exactly.

    A uniform number below the probability means that the event happens. Its bits are drawn 64 at a
    time until they decide.

    Args:
        chance: computes the probability, in [0, 1]. It is called in contexts of any number of
            digits, and must be right to all but the last `UNTRUSTED_DIGITS`.
        source: of the bits.
        prefix: the first bits of the uniform number, if they were drawn before.
        bits: number of bits of the prefix.
    """
    while True:
        bits += _WORD_BITS
        prefix = (prefix << _WORD_BITS) | next_word(source)
        digits = _decimal_digits(bits) + UNTRUSTED_DIGITS + _EVENT_GUARD_DIGITS
        with decimal.localcontext(wide_context(digits)):
            scaled = chance() * (1 << bits)
            error = scaled * Decimal(10) ** (UNTRUSTED_DIGITS - digits)  # about 10^-20 at most
            # The uniform number, times 2^bits, lies in prefix..prefix + 1.
            if prefix + 1 <= scaled - error:
                return True
            if prefix >= scaled + error:
                return False


def floor_bits(cut: Callable[[], Decimal], bits: int, lost_digits: int = 0) -> int:
    """Return floor(2^bits * cut()) for an irrational number in (0, 1), exactly.

    If the product is too near to an integer to be sure of its floor, the precision is doubled.

    Args:
        cut: computes the number in the current decimal context.
        bits: binary digits after the point.
        lost_digits: decimal digits that the formula loses in differences of nearly equal numbers.
            Callers must not count too few. Besides these the formula may lose 25; an e^x loses as
            many as x has before its point.
    """
    whole_digits = _decimal_digits(bits)
    digits = whole_digits + _LOST_DIGITS + _CUT_GUARD_DIGITS + lost_digits
    while True:
        context = decimal.Context(prec=digits, Emin=-_CUT_EXPONENT, Emax=_CUT_EXPONENT)
        with decimal.localcontext(context):
            scaled = cut() * (1 << bits)
            # The number has digits - 25 - lost_digits right digits, of which at most
            # whole_digits + 1 stand before the point of `scaled`. So its error is absolute: 10^-15
            # in the first pass.
            error = Decimal(10) ** (whole_digits + _LOST_DIGITS + lost_digits - digits)
            low, high = int(scaled - error), int(scaled + error)
            if low == high:
                return low
        digits *= 2


def exponential(power: Fraction) -> Decimal:
    """Return e^power in the current decimal context.

    Division and exponential of decimals are correctly rounded.
    """
    return (Decimal(power.numerator) / Decimal(power.denominator)).exp()


@final
class Inversion:
    """Exact sampler of a distribution on 0, 1, 2, ... with irrational cuts.

    Args:
        cdf: floor(2^bits P(K <= value)), exactly, for (value, bits).
        last: the largest value, or None if there is none.
    """

    def __init__(self, cdf: ScaledCdf, last: int | None) -> None:
        self._cdf = cdf
        self._last = last
        self._fine_cuts = self._cuts(_WORD_BITS)
        # The first 16 bits of a cut, rounded down, are those of its first 64.
        coarse = self._fine_cuts >> np.uint64(_WORD_BITS - _TABLE_BITS)
        # Cuts after the first one whose 16 bits are all ones tell no words apart.
        cuts = coarse[: int(np.searchsorted(coarse, (1 << _TABLE_BITS) - 1)) + 1]
        # The sample of each 16-bit word: the first value whose cut is above the word; the last
        # value if there is none. If the word equals the first bits of a cut, more bits must decide.
        words = np.arange(1 << _TABLE_BITS)
        self._table = np.searchsorted(cuts, words, side="left").astype(np.int32)
        self._table[cuts.astype(np.int64)] = _UNDECIDED

    def draw(self, count: int, source: EntropySource) -> npt.NDArray[np.int32]:
        """Draw independent samples, shape (count,)."""
        words = source.bytes(2 * count).view(np.uint16)
        samples = self._table[words]
        (undecided,) = (samples == _UNDECIDED).nonzero()
        if len(undecided):
            samples[undecided] = self._refine(words[undecided], source)
        return samples

    def _cuts(self, bits: int) -> npt.NDArray[np.uint64]:
        """Return the scaled cuts of 0, 1, ..., each floor(2^bits P(K <= value)), ascending.

        The last value needs no cut. Without a last value, the first cut whose bits are all ones
        ends the list: no uniform number of so many bits lies above it.
        """
        cuts: list[int] = []
        value = 0
        while value != self._last:
            cuts.append(self._cdf(value, bits))
            if cuts[-1] == (1 << bits) - 1:
                break
            value += 1
        return np.array(cuts, dtype=np.uint64)

    def _refine(
        self, words: npt.NDArray[np.uint16], source: EntropySource
    ) -> npt.NDArray[np.int32]:
        """Return samples of numbers that begin with these words, from their first 64 bits."""
        low_bits = source.bytes(8 * len(words)).view(np.uint64) >> np.uint64(_TABLE_BITS)
        high_bits = words.astype(np.uint64) << np.uint64(_WORD_BITS - _TABLE_BITS)
        uniform = high_bits | low_bits
        # The first value whose 64-bit cut is not below the uniform number.
        values = np.searchsorted(self._fine_cuts, uniform, side="left").astype(np.int32)
        beyond = values == len(self._fine_cuts)  # above all cuts: the last value
        # Whether the 64 bits equal those of that cut. (`beyond` has no cut; 0 stands in for it.)
        ties = self._fine_cuts[np.where(beyond, 0, values)] == uniform
        for i in np.flatnonzero(ties & ~beyond):
            values[i] = self._extend(int(uniform[i]), int(values[i]), source)
        return values

    def _extend(self, prefix: int, value: int, source: EntropySource) -> int:
        """Return the sample of a number whose first 64 bits equal those of the cut of `value`.

        More bits are drawn until the number differs from a cut. Several cuts may agree on their
        first bits; those that the number passes are skipped.
        """
        bits = _WORD_BITS
        while True:
            bits += _WORD_BITS
            prefix = (prefix << _WORD_BITS) | next_word(source)
            while value != self._last and prefix > self._cdf(value, bits):
                value += 1
            if value == self._last or prefix < self._cdf(value, bits):
                return value


def _decimal_digits(bits: int) -> int:
    """Return n with 2^bits < 10^(n+1): n or n + 1 digits hold 2^bits, since log10(2) = 0.30103."""
    return bits * 302 // 1000
