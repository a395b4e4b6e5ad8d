"""Exact samplers of integer noise, vectorised.

Every sample (of the discrete Gaussian: every proposal) is an inversion of the true distribution
function: a uniform real number is revealed bit by bit, 16 bits first from a table, then 64, then as
many as it takes, until the bits seen decide the value. The cut points are computed in decimal
arithmetic to as many digits as are needed, so the distribution is the stated one exactly (given
uniform bits), not an approximation to some precision. Floats only decide which proposals of the
discrete Gaussian stay, and only where a margin of 16 times their error leaves no doubt. Cost: one
table look-up for nearly every sample. The time taken depends on the bits drawn, never on data.

No sample wraps around: where 64 bits could overflow, samples are Python integers in an array of
objects. To add such an array in place to one of 64-bit integers is an error, never a wrong number.

Contrast: inverse transforms of floats leak through the holes in their output
(Mironov, "On significance of the least significant bits for differential privacy", CCS 2012).
"""

import decimal
import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, IntVector
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.exact_choice import happens

# floor(2**bits * P(K <= value)), exactly
ScaledCdf = Callable[[int, int], int]
# r^count for a fixed r in (0, 1), in the current decimal context
Power = Callable[[int], decimal.Decimal]

_BLOCK = 1 << 19  # samples drawn together: the tables and the words stay in the cache
_DIGIT_BITS = 9  # low binary digits of a geometric variable drawn together
# Binary digits below the top part of a geometric variable, up to which samples are 64-bit integers.
# The top part passes 2^10 with probability below e^-512, so a difference of two stays below 2^63.
_NARROW_DIGITS = 52
_DOUBT = 2.0**-30  # relative error that floats are trusted to keep below; theirs is under 2^-34
_LARGEST_POWER = 700  # e^-700 is still a normal float, and far below 2^-64
_STEEPEST = 900  # log2 of a factor that makes every power but that of 0 pass the largest


def sample_flips(epsilon: Fraction, size: int, source: EntropySource) -> npt.NDArray[np.bool_]:
    """Independent bits that are true with probability 1/(1+e^epsilon), exactly.

    Args:
        epsilon: > 0.
        size: how many.
        source: where the bits come from.

    Source: Warner 1965, randomised response; the flips of one bit are epsilon-DP.
    """
    result = np.empty(size, dtype=np.bool_)
    sampler = _flip_sampler(epsilon)
    for start in range(0, size, _BLOCK):
        block = result[start : start + _BLOCK]
        block[:] = sampler.draw(len(block), source) != 0
    return result


def sample_geometric(rate: Fraction, size: int, source: EntropySource) -> IntVector:
    """Independent integers k >= 0 with P(k) = (1-r) r^k where r = e^-rate, exactly.

    The binary digits of a geometric variable are independent, and so are groups of them: digits
    a..b-1 hold v with probability proportional to e^(-rate 2^a v), and what is left above digit b
    is geometric with rate 2^b rate. Small rates are thus drawn by a few small tables.

    Args:
        rate: > 0, as small as you like: below about 2^-53 the samples are Python integers.
        size: how many.
        source: where the bits come from.
    """
    return sample_parts(_geometric_parts(rate), size, source)


def sample_parts(
    parts: "list[tuple[int, _Inversion]]", size: int, source: EntropySource
) -> IntVector:
    """Independent samples of the variable whose digits `geometric_parts` gives."""
    if size <= _BLOCK:  # of a few samples, putting blocks together would take as long as drawing
        return _geometric_block(parts, size, source)
    result = np.empty(size, dtype=_integers(parts[-1][0]))
    for start in range(0, size, _BLOCK):
        block = result[start : start + _BLOCK]
        block[:] = _geometric_block(parts, len(block), source)
    return result


def _geometric_block(
    parts: "list[tuple[int, _Inversion]]", count: int, source: EntropySource
) -> IntVector:
    (_, lowest), *others = parts
    kind = _integers(parts[-1][0])
    block = lowest.draw(count, source).astype(kind)
    for shift, sampler in others:
        block += sampler.draw(count, source).astype(kind) << shift
    return block


def _integers(digits: int) -> type[Any]:
    """What holds samples whose top part begins above so many binary digits."""
    return np.int64 if digits <= _NARROW_DIGITS else object


def sample_discrete_laplace(rate: Fraction, size: int, source: EntropySource) -> IntVector:
    """Independent integers with P(k) proportional to e^(-rate |k|), exactly.

    The difference of two geometric variables. Added to an integer of sensitivity s it is
    (s*rate)-DP.

    Args:
        rate: > 0.
        size: how many.
        source: where the bits come from.

    Source: Ghosh, Roughgarden, Sundararajan, "Universally utility-maximizing privacy
    mechanisms", STOC 2009.
    """
    result = sample_geometric(rate, size, source)
    for start in range(0, size, _BLOCK):
        block = result[start : start + _BLOCK]
        block -= sample_geometric(rate, len(block), source)
    return result


def sample_discrete_gaussian(variance: Fraction, size: int, source: EntropySource) -> IntVector:
    """Independent integers with P(k) proportional to e^(-k^2 / (2 variance)), exactly.

    Rejection from the discrete Laplace distribution of rate 1/t, t = floor(sigma) + 1: a proposal
    y stays with probability exp(-(|y| - variance/t)^2 / (2 variance)), see `_kept`. The product of
    the two is proportional to e^(-y^2 / (2 variance)). Proposals are independent of each other, so
    those that stay are too, and the first `size` of them are the sample. About two in three stay,
    fewer for small variances. Added to an integer of sensitivity s it is s^2/(2 variance)-zCDP.

    Args:
        variance: sigma^2 > 0, the parameter of the distribution; its variance is at most that.
        size: how many.
        source: where the bits come from.

    Source: Canonne, Kamath, Steinke, *The Discrete Gaussian for Differential Privacy*, 2020,
    Algorithm 3 and Theorem 4.
    """
    t = math.isqrt(math.floor(variance)) + 1
    result = np.empty(size, dtype=_integers(t.bit_length()))
    filled = 0
    while filled < size:
        count = min((size - filled) * 3 // 2 + 4, _BLOCK)
        proposals = sample_discrete_laplace(Fraction(1, t), count, source)
        kept = proposals[_kept(proposals, variance, source)][: size - filled]
        result[filled : filled + len(kept)] = kept
        filled += len(kept)
    return result


def _kept(proposals: IntVector, variance: Fraction, source: EntropySource) -> BoolVector:
    """Independent events, of probability exp(-(|y| - variance/t)^2 / (2 variance)) for each y.

    A uniform number decides each. Its first 64 bits are compared with the probability in floats,
    which are right to a relative 2^-34: with a = |y|/t, r = variance/t^2 <= 1 and
    f = t^2/(2 variance) the power is f (a - r)^2. Rounding moves a - r by at most 2^-50 (a + r),
    so a power up to 700 by at most 2^-37 for sigma >= 1, where f <= 2 and a <= 40, and by 2^-34
    below, where t = 1 and powers up to 700 with a > 0 need variance > 1/1500. Where bits and floats
    are nearer to each other than `_DOUBT`, more bits and decimals decide: less than once in 10^8.
    """
    t = math.isqrt(math.floor(variance)) + 1
    steepness = float(min(Fraction(t**2) / (2 * variance), Fraction(2**_STEEPEST)))
    lengths = np.abs((proposals / t).astype(np.float64))
    powers = steepness * (lengths - float(variance / t**2)) ** 2
    chances = np.exp(-np.minimum(powers, _LARGEST_POWER)) * 2.0**64
    words = source.bytes(8 * len(proposals)).view(np.uint64)
    kept: BoolVector = words + 1.0 <= chances * (1 - _DOUBT)
    for i in np.flatnonzero(~kept & (words < chances * (1 + _DOUBT))):
        power = (abs(int(proposals[i])) - variance / t) ** 2 / (2 * variance)
        kept[i] = happens(partial(_exp, -power), source, prefix=int(words[i]), bits=64)
    return kept


@final
class _Inversion:
    """Exact sampler of a distribution on 0, 1, 2, ... given by its distribution function.

    Args:
        cdf: floor(2^bits P(K <= value)). P(K <= value) must be irrational for every value asked:
            then enough bits always decide.
        last: the largest value, or None when there is none.
    """

    def __init__(self, cdf: ScaledCdf, last: int | None) -> None:
        self._cdf = cdf
        self._last = last
        cuts = self._cuts(16)
        words = np.arange(1 << 16)
        self._table = np.searchsorted(cuts, words, side="left").astype(np.int32)
        self._table[cuts.astype(np.int64)] = -1  # a cut lies inside this cell: look closer
        self._fine_cuts = self._cuts(64)

    def _cuts(self, bits: int) -> npt.NDArray[np.uint64]:
        cuts: list[int] = []
        value = 0
        while value != self._last:
            cuts.append(self._cdf(value, bits))
            if cuts[-1] == (1 << bits) - 1:
                break
            value += 1
        return np.array(cuts, dtype=np.uint64)

    def draw(self, count: int, source: EntropySource) -> npt.NDArray[np.int32]:
        """`count` independent samples."""
        words = source.bytes(2 * count).view(np.uint16)
        result = self._table[words]
        (open_cells,) = (result < 0).nonzero()
        if len(open_cells):
            result[open_cells] = self._refine(words[open_cells], source)
        return result

    def _refine(
        self, words: npt.NDArray[np.uint16], source: EntropySource
    ) -> npt.NDArray[np.int32]:
        low = source.bytes(8 * len(words)).view(np.uint64) >> np.uint64(16)
        uniform = (words.astype(np.uint64) << np.uint64(48)) | low
        values = np.searchsorted(self._fine_cuts, uniform, side="left").astype(np.int32)
        beyond = values == len(self._fine_cuts)
        ties = self._fine_cuts[np.where(beyond, 0, values)] == uniform
        for i in np.flatnonzero(ties & ~beyond):
            values[i] = self._extend(int(uniform[i]), int(values[i]), source)
        return values

    def _extend(self, prefix: int, value: int, source: EntropySource) -> int:
        """Reveal more bits of one uniform number until its value is decided."""
        bits = 64
        while True:
            bits += 64
            prefix = (prefix << 64) | int.from_bytes(source.bytes(8).tobytes(), "little")
            while value != self._last and prefix > self._cdf(value, bits):
                value += 1
            if value == self._last or prefix < self._cdf(value, bits):
                return value


@lru_cache(maxsize=64)
def _flip_sampler(epsilon: Fraction) -> _Inversion:
    def cdf(_: int, bits: int) -> int:
        return _floor_bits(lambda: 1 / (1 + _exp(-epsilon)), bits)

    return _Inversion(cdf, last=1)


@lru_cache(maxsize=64)
def _geometric_parts(rate: Fraction) -> list[tuple[int, _Inversion]]:
    """Samplers of groups of binary digits, each with its shift, low digits first."""
    return geometric_parts(rate, lambda count: _exp(-rate * count))


def geometric_parts(rate: Fraction, power: Power) -> list[tuple[int, _Inversion]]:
    """Samplers of groups of binary digits of a variable with P(k) proportional to r^k.

    Args:
        rate: about -ln r, > 0; tells how many digits there are.
        power: r^count, in the current decimal context; no P(K <= k) may be rational.
    """
    parts = []
    shift = 0
    digits = 0
    while rate * 2**digits < Fraction(1, 2):
        digits += 1
    while shift < digits:
        width = min(_DIGIT_BITS, digits - shift)
        parts.append((shift, _digits(rate * 2**shift, 1 << width, _every(power, 1 << shift))))
        shift += width
    parts.append((shift, _top(_every(power, 1 << shift))))
    return parts


def _every(power: Power, stride: int) -> Power:
    return lambda count: power(count * stride)


def _digit_sampler(rate: Fraction, size: int) -> _Inversion:
    """P(v) proportional to e^(-rate v) on 0..size-1."""
    return _digits(rate, size, lambda count: _exp(-rate * count))


def _digits(rate: Fraction, size: int, power: Power) -> _Inversion:
    lost = len(str(int(1 / rate)))  # digits, by taking what is nearly 1 from 1

    def cdf(value: int, bits: int) -> int:
        return _floor_bits(lambda: (1 - power(value + 1)) / (1 - power(size)), bits, lost)

    return _Inversion(cdf, last=size - 1)


def _top_sampler(rate: Fraction) -> _Inversion:
    """P(v) proportional to e^(-rate v) on 0, 1, 2, ..."""
    return _top(lambda count: _exp(-rate * count))


def _top(power: Power) -> _Inversion:
    def cdf(value: int, bits: int) -> int:
        return _floor_bits(lambda: 1 - power(value + 1), bits)

    return _Inversion(cdf, last=None)


def _exp(power: Fraction) -> decimal.Decimal:
    # Decimal division and exp are correctly rounded in the current context.
    return (decimal.Decimal(power.numerator) / decimal.Decimal(power.denominator)).exp()


def _floor_bits(value: Callable[[], decimal.Decimal], bits: int, lost: int = 0) -> int:
    """floor(2^bits * value()) for an irrational value in (0, 1), exactly.

    Evaluated with 40 digits to spare, of which 15 are trusted, and as many more as differences are
    known to lose: besides these, the formulas above lose at most 25 (powers up to 1e4 in size).
    When the result is too near to an integer to be sure of its floor, the precision is doubled.
    """
    digits = bits * 302 // 1000 + 41 + lost
    while True:
        with decimal.localcontext(decimal.Context(prec=digits, Emin=-(10**9), Emax=10**9)):
            scaled = value() * (1 << bits)
            slack = decimal.Decimal(10) ** (bits * 302 // 1000 + 26 + lost - digits)
            low, high = int(scaled - slack), int(scaled + slack)
            if low == high:
                return low
        digits *= 2
