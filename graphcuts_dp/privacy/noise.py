"""Exact samplers of integer noise: randomised response, geometric, discrete Laplace and others.

Each function draws many independent samples of a distribution with rational parameters. Samples are
exact inversions of the true distribution function (`privacy.inversion`), so the distribution is the
stated one, given uniform bits. Two are drawn by rejection: uniform integers, and the discrete
Gaussian from exact discrete Laplace proposals. Nearly every sample takes one table look-up. The
time depends on the bits drawn, never on data. The order and number of the bits drawn must not
change: recorded outputs of seeded sources depend on them.

`Inversion(cdf, last)` samples 0..last from cdf(value, bits) = floor(2^bits P(K <= value)).
`floor_bits(cut, bits, lost_digits)` computes such a floor exactly from a decimal formula;
lost_digits counts the decimal digits that the formula loses in differences of near numbers.

The basic sampler is the geometric one: P(k) = (1-r) r^k with r = e^-rate. Its binary digits are
independent, and are drawn in *digit groups* (`DigitGroup`), each with an inversion of its own.

No sample overflows: where 64 bits could be too few, samples are Python integers in an array of
objects. Callers that add such an array to 64-bit integers get an array of objects. Theorems named
here are in docs/mathematics.md.

Papers: GV14 is Geng, Viswanath, *The Optimal Mechanism in Differential Privacy*, 2014.
"""

import math
from collections.abc import Callable
from decimal import Decimal, getcontext
from fractions import Fraction
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, IntVector
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.inversion import Inversion, exponential, floor_bits, happens

# r^count for a fixed r in (0, 1), computed in the current decimal context
Power = Callable[[int], Decimal]

_BLOCK = 1 << 19  # samples drawn together: their tables and words fit in the processor's cache
_GROUP_DIGITS = 9  # low binary digits of a geometric variable drawn by one inversion
# A geometric sample has low digits in groups, and a last group, the *top*, without an upper end.
# Samples with up to 52 low digits are 64-bit integers: with each step of the top, probabilities
# fall by a factor of at most e^(-1/2), so the top passes 2^10 with probability below e^-512;
# otherwise a sample is below 2^63, and so is a difference of two samples.
_NARROW_DIGITS = 52
_TOP_BITS = 11  # bits of the top, except with probability below e^-512
_LARGEST_INT64_BITS = 62
# Relative error that the floats of `_accepted` keep below; theirs is under 2^-34.
_DOUBT = 2.0**-30
_LARGEST_POWER = 700  # e^-700 is still an ordinary float, and far below 2^-64
# log2 of the largest steepness f of `_accepted`: it keeps f a float. Powers f (a - b)^2 with an
# even larger f are beyond `_LARGEST_POWER` anyway, or 0.
_STEEPEST = 900


def sample_flips(epsilon: Fraction, size: int, source: EntropySource) -> npt.NDArray[np.bool_]:
    """Draw independent bits that are true with probability 1/(1 + e^epsilon), exactly.

    Args:
        epsilon: > 0.
        size: number of bits.
        source: of the random bits.

    Privacy:
        A bit that is exchanged if its flip is true is epsilon-DP: the odds of its two values are
        e^epsilon.

    Source: Warner 1965, randomised response.
    """
    flips = np.empty(size, dtype=np.bool_)
    sampler = _flip_sampler(epsilon)
    for start in range(0, size, _BLOCK):
        block = flips[start : start + _BLOCK]
        block[:] = sampler.draw(len(block), source) != 0
    return flips


def sample_geometric(rate: Fraction, size: int, source: EntropySource) -> IntVector:
    """Draw independent integers k >= 0 with P(k) = (1-r) r^k, r = e^-rate, exactly.

    Args:
        rate: > 0. Below about 2^-53 the samples are Python integers.
        size: number of samples.
        source: of the random bits.
    """
    return sample_by_digits(_geometric_groups(rate), size, source)


def sample_discrete_laplace(rate: Fraction, size: int, source: EntropySource) -> IntVector:
    """Draw independent integers with P(k) proportional to e^(-rate |k|), exactly.

    Each is the difference of two geometric variables.

    Args:
        rate: > 0.
        size: number of samples.
        source: of the random bits.

    Privacy:
        Added to an integer of sensitivity s it is (s rate)-DP.

    Source: Ghosh, Roughgarden, Sundararajan, "Universally utility-maximizing privacy
    mechanisms", STOC 2009.
    """
    samples = sample_geometric(rate, size, source)
    for start in range(0, size, _BLOCK):
        block = samples[start : start + _BLOCK]
        block -= sample_geometric(rate, len(block), source)
    return samples


def sample_uniform(count: int, size: int, source: EntropySource) -> IntVector:
    """Draw independent uniform integers in 0..count-1, exactly.

    As many random bits as count - 1 has are drawn, and drawn again if they exceed it.

    Args:
        count: in 1..2^62.
        size: number of samples.
        source: of the random bits.
    """
    bits = (count - 1).bit_length()
    samples = np.zeros(size, dtype=np.int64)
    if not bits:
        return samples
    filled = 0
    while filled < size:
        words = source.bytes(8 * (size - filled)).view(np.uint64) >> np.uint64(64 - bits)
        accepted = words[words < np.uint64(count)].view(np.int64)
        samples[filled : filled + len(accepted)] = accepted
        filled += len(accepted)
    return samples


def sample_staircase(
    epsilon: Fraction, period: int, inner: int, size: int, source: EntropySource
) -> IntVector:
    """Draw independent integers with P(k) proportional to e^(-epsilon m(|k|)), exactly.

    m(j) = floor((j + s - r)/s) counts the stairs between the top and j: it is 0 for j < r, and
    grows by one after every s integers. With q = e^-epsilon, the 2r - 1 integers |k| < r weigh 1
    each, and for m >= 1 the 2s integers r + (m-1) s <= |k| < r + m s weigh q^m each. Drawn in this
    order:

    1. Whether |k| < r, an event of probability (2r-1)/(2r-1 + 2 s q/(1-q)). If so, k is uniform.
    2. Otherwise |k| = r + s G + V with G geometric, P(g) = (1-q) q^g, V uniform in 0..s-1, and a
       fair sign: each k of stair m has a weight proportional to q^m.

    Args:
        epsilon: > 0.
        period: s, in 1..2^60.
        inner: r, in 1..s.
        size: number of samples.
        source: of the random bits.

    Privacy:
        See `staircase.Staircase`.

    Source: GV14, integer-valued queries.
    """
    outside_sampler = _staircase_sampler(epsilon, period, inner)
    stair_digits = _geometric_groups(epsilon)[-1].shift  # low digits of G, below its top
    # Whether s G fits into 64 bits.
    narrow = period.bit_length() + stair_digits + _TOP_BITS <= _LARGEST_INT64_BITS
    dtype: type[Any] = np.int64 if narrow else object
    samples = np.empty(size, dtype=dtype)
    for start in range(0, size, _BLOCK):
        block = samples[start : start + _BLOCK]
        outside = outside_sampler.draw(len(block), source) != 0
        beyond = int(np.count_nonzero(outside))
        block[~outside] = sample_uniform(2 * inner - 1, len(block) - beyond, source) - (inner - 1)
        offsets_and_signs = sample_uniform(2 * period, beyond, source)  # 2 V + sign bit
        lengths = sample_geometric(epsilon, beyond, source).astype(dtype) * period
        lengths += inner + (offsets_and_signs >> 1)
        block[outside] = np.where(offsets_and_signs & 1, -lengths, lengths)
    return samples


def sample_discrete_gaussian(variance: Fraction, size: int, source: EntropySource) -> IntVector:
    """Draw independent integers with P(k) proportional to e^(-k^2/(2 variance)), exactly.

    Rejection sampling from the discrete Laplace distribution of rate 1/t, t = floor(sigma) + 1: a
    proposal y is accepted with probability exp(-(|y| - variance/t)^2/(2 variance)) (`_accepted`).
    The product of both probabilities is proportional to e^(-y^2/(2 variance)). About two in three
    proposals are accepted, fewer for small variances.

    Args:
        variance: sigma^2 > 0, the parameter of the distribution; its variance is at most that.
        size: number of samples.
        source: of the random bits.

    Privacy:
        Added to an integer of sensitivity s it is (s^2/(2 variance))-zCDP (Theorem 4 of the
        source).

    Source: Canonne, Kamath, Steinke, *The Discrete Gaussian for Differential Privacy*, 2020,
    Algorithm 3.
    """
    t = math.isqrt(math.floor(variance)) + 1
    samples = np.empty(size, dtype=_sample_type(t.bit_length()))
    filled = 0
    while filled < size:
        count = min((size - filled) * 3 // 2 + 4, _BLOCK)
        proposals = sample_discrete_laplace(Fraction(1, t), count, source)
        accepted = proposals[_accepted(proposals, variance, source)][: size - filled]
        samples[filled : filled + len(accepted)] = accepted
        filled += len(accepted)
    return samples


@final
class RefinableLaplace:
    """Discrete Laplace noise of which a finer copy can be drawn later. Private.

    Coarse noise of rate r is X - Y for geometric X and Y with P(X >= k) = e^(-r k). For a finer
    rate s > r let G be geometric of rate s - r, and X' = min(X, G). Then
    P(X' >= k) = e^(-r k) e^(-(s-r) k), so X' is geometric of rate s. With Y' made from Y in the
    same way, X' - Y' is noise of rate s.

    Privacy:
        Let t be whole numbers of L1 sensitivity d, c = t + X - Y, and f = t + X' - Y'. Then c is
        (d r)-DP, and (c, f) together is (d s)-DP, no more than f alone; so the refinement costs
        d (s - r). That holds too if c decides whether f is drawn. Proof: Theorem "Refining Laplace
        noise". A finer copy may be refined again. Independent noise of the rates r and s would cost
        d (r + s).

    Source: Koufogiannis, Han, Pappas, "Gradual release of sensitive data under differential
    privacy", JPC 2016, for the continuous distribution and another construction; the minimum is
    ours.
    """

    def __init__(self, rate: Fraction, up: IntVector, down: IntVector) -> None:
        self.rate = rate
        self._up, self._down = up, down

    @classmethod
    def draw(cls, rate: Fraction, size: int, source: EntropySource) -> Self:
        """Draw independent noises; those of `sample_discrete_laplace` for the same seed.

        Args:
            rate: > 0.
            size: number of noises.
            source: of the random bits.
        """
        up, down = (sample_geometric(rate, size, source) for _ in range(2))
        return cls(rate, up, down)

    @property
    def values(self) -> IntVector:
        """The noise, shape (size,)."""
        difference: IntVector = self._up - self._down
        return difference

    def refined(self, rate: Fraction, source: EntropySource) -> Self:
        """Draw finer noise of which this noise is a coarser copy.

        Args:
            rate: s, above the rate of this noise.
            source: of the random bits.
        """
        finer_parts = []
        for part in (self._up, self._down):
            finer = np.minimum(part, sample_geometric(rate - self.rate, len(part), source))
            # No larger than `part`, so its type holds it.
            finer_parts.append(finer.astype(part.dtype))
        return type(self)(rate, *finer_parts)

    def __repr__(self) -> str:
        """Return the rate, and nothing of the noise."""
        return f"RefinableLaplace({self.rate})"


class DigitGroup(NamedTuple):
    """A group of adjacent binary digits of a geometric variable.

    Attributes:
        shift: number of binary digits below the group.
        sampler: of the value of the group.
    """

    shift: int
    sampler: Inversion


def geometric_digits(rate: Fraction, power: Power) -> list[DigitGroup]:
    """Return samplers of all digit groups of a variable with P(k) proportional to r^k.

    The binary digits of a geometric variable are independent, and so are groups of them: digits
    a..b-1 have the value v with probability proportional to r^(2^a v), and the digits from b on are
    geometric with r^(2^b). So small rates need a few small tables. The last group is the one
    without an upper end.

    Args:
        rate: about -ln r, > 0; it decides how many digits there are.
        power: r^count, in the current decimal context. No P(K <= k) may be rational.
    """
    groups = []
    shift = 0
    digits = 0
    while rate * 2**digits < Fraction(1, 2):
        digits += 1
    while shift < digits:
        width = min(_GROUP_DIGITS, digits - shift)
        sampler = _low_digits(rate * 2**shift, 1 << width, _strided(power, 1 << shift))
        groups.append(DigitGroup(shift, sampler))
        shift += width
    groups.append(DigitGroup(shift, _top_digits(_strided(power, 1 << shift))))
    return groups


def sample_by_digits(groups: list[DigitGroup], size: int, source: EntropySource) -> IntVector:
    """Draw independent samples of the variable whose digit groups are given.

    Args:
        groups: from `geometric_digits`.
        size: number of samples.
        source: of the random bits.
    """
    if size <= _BLOCK:  # joining blocks would take as long as drawing a few samples
        return _digit_block(groups, size, source)
    samples = np.empty(size, dtype=_sample_type(groups[-1].shift))
    for start in range(0, size, _BLOCK):
        block = samples[start : start + _BLOCK]
        block[:] = _digit_block(groups, len(block), source)
    return samples


def _digit_block(groups: list[DigitGroup], count: int, source: EntropySource) -> IntVector:
    """Draw samples as the sum of the values of their groups, low digits first."""
    lowest, *higher = groups
    dtype = _sample_type(groups[-1].shift)
    block = lowest.sampler.draw(count, source).astype(dtype)
    for group in higher:
        block += group.sampler.draw(count, source).astype(dtype) << group.shift
    return block


def _sample_type(digits: int) -> type[Any]:
    """Return the type of samples whose top group begins above so many binary digits."""
    return np.int64 if digits <= _NARROW_DIGITS else object


def _accepted(proposals: IntVector, variance: Fraction, source: EntropySource) -> BoolVector:
    """Draw independent events of probability exp(-(|y| - variance/t)^2/(2 variance)) for each y.

    The first 64 bits of a uniform number are compared with the probability in floats. If both
    differ by less than `_DOUBT`, less than once in 10^8, more bits and decimals decide.

    Error of the floats: with a = |y|/t, b = variance/t^2 <= 1 and f = t^2/(2 variance) the exponent
    is f (a - b)^2. Rounding changes a - b by at most 2^-50 (a + b), and so the exponent by at most
    about 2 f (a - b) 2^-50 (a + b). Exponents above 700 do not matter. For sigma >= 1, f <= 2, so
    an exponent up to 700 has a <= 40, and changes by at most 2^-37. For a smaller sigma, t = 1; an
    exponent up to 700 with a > 0 needs variance > 1/1500, and changes by at most 2^-34.
    """
    t = math.isqrt(math.floor(variance)) + 1  # as in `sample_discrete_gaussian`
    steepness = float(min(Fraction(t**2) / (2 * variance), Fraction(2**_STEEPEST)))
    lengths = np.abs((proposals / t).astype(np.float64))
    powers = steepness * (lengths - float(variance / t**2)) ** 2
    scaled_chances = np.exp(-np.minimum(powers, _LARGEST_POWER)) * 2.0**64
    words = source.bytes(8 * len(proposals)).view(np.uint64)
    accepted: BoolVector = words + 1.0 <= scaled_chances * (1 - _DOUBT)
    doubtful = ~accepted & (words < scaled_chances * (1 + _DOUBT))
    for i in np.flatnonzero(doubtful):
        power = (abs(int(proposals[i])) - variance / t) ** 2 / (2 * variance)
        chance = partial(exponential, -power)
        accepted[i] = happens(chance, source, prefix=int(words[i]), bits=64)
    return accepted


@lru_cache(maxsize=64)
def _flip_sampler(epsilon: Fraction) -> Inversion:
    """Return the sampler of 0 with probability 1/(1 + e^-epsilon), and of 1 otherwise."""

    def cdf(_: int, bits: int) -> int:
        return floor_bits(lambda: 1 / (1 + exponential(-epsilon)), bits)

    return Inversion(cdf, last=1)


@lru_cache(maxsize=64)
def _staircase_sampler(epsilon: Fraction, period: int, inner: int) -> Inversion:
    """Return the sampler of 0 if staircase noise lies in |k| < inner, and of 1 otherwise."""
    lost_digits = len(str(int(1 / epsilon)))  # of 1 - e^-epsilon, a difference of near numbers

    def cdf(_: int, bits: int) -> int:
        def inside() -> Decimal:
            power = exponential(-epsilon)
            middle = (2 * inner - 1) * (1 - power)
            return middle / (middle + 2 * period * power)

        return floor_bits(inside, bits, lost_digits)

    return Inversion(cdf, last=1)


@lru_cache(maxsize=64)
def _geometric_groups(rate: Fraction) -> list[DigitGroup]:
    """Return the digit groups of `sample_geometric`."""
    return geometric_digits(rate, _exponential_powers(rate))


def _exponential_powers(rate: Fraction) -> Power:
    """Return the powers of r = e^-rate."""
    return lambda count: exponential(-rate * count)


def _strided(power: Power, stride: int) -> Power:
    """Return the powers of r^stride."""
    return lambda count: power(count * stride)


def _low_digits(rate: Fraction, size: int, power: Power) -> Inversion:
    """Return the sampler of v in 0..size-1 with P(V <= v) = (1 - r^(v+1))/(1 - r^size)."""
    # 1 - r^(v+1) and 1 - r^size are at least 1 - r, which is about the rate: each is a difference
    # of near numbers and loses at most about log10(1/rate) digits.
    lost_digits = len(str(int(1 / rate)))

    @cache
    def divisor(_: int) -> Decimal:
        """Return 1 - r^size, which all cuts share, to a number of digits."""
        return 1 - power(size)

    def cdf(value: int, bits: int) -> int:
        def cut() -> Decimal:
            return (1 - power(value + 1)) / divisor(getcontext().prec)

        return floor_bits(cut, bits, lost_digits)

    return Inversion(cdf, last=size - 1)


def _top_digits(power: Power) -> Inversion:
    """Return the sampler of v >= 0 with P(V <= v) = 1 - r^(v+1)."""

    def cdf(value: int, bits: int) -> int:
        return floor_bits(lambda: 1 - power(value + 1), bits)

    return Inversion(cdf, last=None)
