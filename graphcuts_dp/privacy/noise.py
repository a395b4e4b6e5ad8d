"""Random bits and exact samplers: integer noise, choices by score, positions above a threshold.

Bits come from the operating system, or from a seed that makes a run repeatable.

**Integer noise**, vectorised: every sample (of the discrete Gaussian: every proposal) is an
inversion of the true distribution function: a uniform real number is revealed bit by bit, 16 bits
first from a table, then 64, then as many as it takes, until the bits seen decide the value. The cut
points are computed in decimal arithmetic to as many digits as are needed, so the distribution is
the stated one exactly (given uniform bits), not an approximation to some precision. Floats only
decide which proposals of the discrete Gaussian stay, and only where a margin of 16 times their
error leaves no doubt. Cost: one table look-up for nearly every sample. The time taken depends on
the bits drawn, never on data.

No sample wraps around: where 64 bits could overflow, samples are Python integers in an array of
objects. To add such an array in place to one of 64-bit integers is an error, never a wrong number.

Contrast: inverse transforms of floats leak through the holes in their output
(Mironov, "On significance of the least significant bits for differential privacy", CCS 2012).

**Events and choices** (`happens`, `Choice`) have real probabilities: floats propose, decimals
decide. A proposal is drawn with integer weights that lie a little above the true ones, and kept
with the ratio of the two. Floats only make the proposal's weights, which are exact integers once
made; the ratio is compared with a uniform number that is revealed bit by bit, in decimal arithmetic
to as many digits as it takes. The result has the stated probabilities exactly, given uniform bits.

**Noise above a threshold** (`sample_exceeding`): a virtual vector of independent discrete Laplace
noises is never drawn: positions at or above the threshold are independent events of one
probability, so the gaps between them are geometric, and what the noise has above the threshold is
geometric, too.
"""

import decimal
import math
import os
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache, partial
from typing import Any, NamedTuple, Protocol, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatVector, IntVector
from graphcuts_dp.errors import ParameterError

SEEDED_WARNING = "seeded: not private"
ByteVector = npt.NDArray[np.uint8]


class EntropySource(Protocol):
    """A stream of independent uniform bytes."""

    @property
    def seed(self) -> int | None:
        """The seed, or None when the bits come from the operating system."""

    def bytes(self, count: int) -> ByteVector:
        """The next `count` bytes, each uniform on 0..255."""

    def split(self, count: int) -> "list[EntropySource]":
        """`count` sources, independent of each other, of this one and of earlier splits.

        What each of them gives does not depend on when, where or in which order they are used, so
        parallel work that is given one source a part is repeatable.
        """


@final
class SystemEntropy:
    """Bits from the operating system's generator.

    It keeps no state and no buffer of its own, so a forked or spawned process can never repeat
    bits that its parent used.
    """

    seed: int | None = None

    def bytes(self, count: int) -> ByteVector:
        """The next `count` bytes of the operating system's generator."""
        return np.frombuffer(os.urandom(count), dtype=np.uint8)

    def split(self, count: int) -> list[EntropySource]:
        """Itself, `count` times: it has no state to share."""
        return [self] * count

    def __repr__(self) -> str:
        return "SystemEntropy()"


@final
class SeededEntropy:
    """A repeatable stream (Philox counter generator). Whoever knows the seed can undo the noise.

    For tests, figures and debugging: everything drawn from it must be marked
    "seeded: not private".

    Args:
        seed: integer >= 0.

    Raises:
        ParameterError: a seed that is not an integer >= 0.
    """

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise ParameterError("a seed is an integer >= 0")
        self.seed: int | None = int(seed)
        self._start(np.random.SeedSequence(int(seed)))

    def _start(self, sequence: np.random.SeedSequence) -> None:
        self._sequence = sequence
        self._splits = 0
        self._generator = np.random.Philox(sequence)

    def bytes(self, count: int) -> ByteVector:
        """The next `count` bytes of the stream; whole 64-bit words are used up."""
        words: npt.NDArray[np.uint64] = self._generator.random_raw(-(-count // 8))
        return words.astype("<u8", copy=False).view(np.uint8)[:count]

    def split(self, count: int) -> list[EntropySource]:
        """Streams of their own, each keyed by the seed, the number of the split and its index."""
        self._splits += 1
        return [self._stream(index) for index in range(count)]

    def _stream(self, index: int) -> "SeededEntropy":
        stream = object.__new__(SeededEntropy)
        stream.seed = self.seed
        key = (*self._sequence.spawn_key, self._splits, index)
        stream._start(np.random.SeedSequence(self.seed, spawn_key=key))
        return stream

    def __repr__(self) -> str:
        return f"SeededEntropy({SEEDED_WARNING})"


def entropy_source(seed: int | None) -> EntropySource:
    """The operating system's entropy, or a seeded stream when a seed is given."""
    return SystemEntropy() if seed is None else SeededEntropy(seed)


# A number computed in the current decimal context; of its digits all but 25 may be relied on.
Computed = Callable[[], Decimal]
_SPARE_DIGITS = 25
_TOP = 52  # the largest proposal weight is about 2^52, which a float holds exactly
_ROUNDING = 2.0**-40  # more than exp and the operations around it can be off


def happens(chance: Computed, source: EntropySource, *, prefix: int = 0, bits: int = 0) -> bool:
    """An event of the given probability, exactly.

    Args:
        chance: the probability, in [0, 1].
        source: where the bits come from.
        prefix: the first bits of the uniform number, if they were drawn before.
        bits: how many those are.
    """
    while True:
        bits += 64
        prefix = (prefix << 64) | int.from_bytes(source.bytes(8).tobytes(), "little")
        digits = bits * 302 // 1000 + _SPARE_DIGITS + 20
        with decimal.localcontext(wide_context(digits)):
            scaled = chance() * (1 << bits)
            slack = scaled * Decimal(10) ** (_SPARE_DIGITS - digits)
            if prefix + 1 <= scaled - slack:
                return True
            if prefix >= scaled + slack:
                return False


def uniform_below(count: int, source: EntropySource) -> int:
    """A uniform integer in 0..count-1, exactly, count in 1..2^64."""
    bits = (count - 1).bit_length()
    while True:
        word = int.from_bytes(source.bytes(8).tobytes(), "little") >> (64 - bits)
        if word < count:
            return word


@final
class Choice:
    """Draws index i with probability w_i / sum w, exactly.

    Args:
        log_weights: floats near ln w_i - shift for any one shift, shape (k,).
        error: by how much they may be off, where they are within 100 of the largest; others may be
            off by 50.
        exact: ln w_i - shift, computed in the current decimal context: right to 20 digits after the
            point beyond those that the context has to spare (see `Computed`).

    Cost: O(k) once, O(log k) a draw; a draw needs decimals with probability about 2 error + 2^-36.
    """

    def __init__(
        self, log_weights: FloatVector, error: float, exact: Callable[[int], Decimal]
    ) -> None:
        self._exact = exact
        self._shift = float(log_weights.max())
        self._bits = min(_TOP, 61 - len(log_weights).bit_length())
        self._error = error
        # At least the true weights: a kept draw has a ratio of at most 1.
        inflated = np.exp(np.minimum(log_weights - self._shift, 0) + (error + _ROUNDING))
        inflated *= 2.0**self._bits
        proposal = np.ceil(inflated).astype(np.uint64) + np.uint64(1)
        self._ends = np.cumsum(proposal, dtype=np.uint64)
        self._total = int(self._ends[-1])

    def draw(self, source: EntropySource) -> int:
        """One index."""
        while True:
            word = uniform_below(self._total, source)
            index = int(np.searchsorted(self._ends, np.uint64(word), side="right"))
            if self._kept(index, source):
                return index

    def _kept(self, index: int, source: EntropySource) -> bool:
        before = int(self._ends[index - 1]) if index else 0
        weight = int(self._ends[index]) - before
        first = int.from_bytes(source.bytes(8).tobytes(), "little")
        # The ratio is at least this: then the first bits decide nearly always.
        least = math.exp(-2 * self._error - 2 * _ROUNDING) - 2 / weight - 2**-50
        if (first + 1) * 2.0**-64 * (1 + 2**-50) <= least:
            return True

        def ratio() -> Decimal:
            true = (self._exact(index) - Decimal(self._shift)).exp() * (1 << self._bits)
            return true / weight

        return happens(ratio, source, prefix=first, bits=64)


def wide_context(digits: int) -> decimal.Context:
    """Decimal arithmetic to so many digits, with all exponents that there are."""
    return decimal.Context(prec=digits, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)


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


def sample_uniform(count: int, size: int, source: EntropySource) -> IntVector:
    """Independent uniform integers in 0..count-1, exactly.

    As many random bits as count - 1 has, drawn again where they are beyond it.

    Args:
        count: in 1..2^62.
        size: how many.
        source: where the bits come from.
    """
    bits = (count - 1).bit_length()
    result = np.zeros(size, dtype=np.int64)
    if not bits:
        return result
    filled = 0
    while filled < size:
        words = source.bytes(8 * (size - filled)).view(np.uint64) >> np.uint64(64 - bits)
        kept = words[words < np.uint64(count)].view(np.int64)
        result[filled : filled + len(kept)] = kept
        filled += len(kept)
    return result


def sample_staircase(
    epsilon: Fraction, period: int, inner: int, size: int, source: EntropySource
) -> IntVector:
    """Independent integers with P(k) proportional to e^(-epsilon m(|k|)), exactly.

    m(j) = floor((j + s - r)/s) counts the steps of a staircase: 0 for j < r, and one more after
    every s integers, s = `period` and r = `inner`. So with q = e^-epsilon the 2 r - 1 integers
    |k| < r have weight 1 each, and for m >= 1 the 2 s integers r + (m-1) s <= |k| < r + m s have
    weight q^m. Hence, drawn in this order:

    1. Whether |k| < r, an event of probability (2r-1)/(2r-1 + 2 s q/(1-q)): then k is uniform.
    2. Else |k| = r + s G + V with P(G = g) = (1-q) q^g, V uniform in 0..s-1, and a fair sign: each
       k of step m has the weight q (1-q) q^(m-1)/(1-q) = q^m.

    The probability of the first event is no constant and a rational function of q, which is
    transcendental for a rational epsilon > 0 (Lindemann): enough bits always decide.

    Args:
        epsilon: > 0.
        period: s, in 1..2^60.
        inner: r, in 1..s.
        size: how many.
        source: where the bits come from.

    Source: GV14, integer-valued queries.
    """
    chance = _staircase_sampler(epsilon, period, inner)
    digits = _geometric_parts(epsilon)[-1][0]
    # The top part of G passes 2^10 with probability below e^-512, see `_NARROW_DIGITS`.
    kind: type[Any] = np.int64 if period.bit_length() + digits + 11 <= 62 else object
    result = np.empty(size, dtype=kind)
    for start in range(0, size, _BLOCK):
        block = result[start : start + _BLOCK]
        outside = chance.draw(len(block), source) != 0
        beyond = int(np.count_nonzero(outside))
        block[~outside] = sample_uniform(2 * inner - 1, len(block) - beyond, source) - (inner - 1)
        signed = sample_uniform(2 * period, beyond, source)
        lengths = sample_geometric(epsilon, beyond, source).astype(kind) * period
        lengths += inner + (signed >> 1)
        block[outside] = np.where(signed & 1, -lengths, lengths)
    return result


@final
class RefinableLaplace:
    """Noise as of `sample_discrete_laplace`, of which a finer copy can be drawn later. Private.

    The noise of rate r is X - Y of two geometric variables with P(X >= k) = e^(-r k). For s > r let
    G be geometric of rate s - r, and X' = min(X, G): P(X' >= k) = e^(-r k) e^(-(s - r) k), so X' is
    geometric of rate s, exactly. Likewise Y' of Y, and X' - Y' is noise of rate s.

    Coarse noise is fine noise and something of its own: X = X' + A, and A is independent of X',

        P(X' = k, A = 0) = P(X = k) P(G >= k)   = (1 - p) (p q)^k,
        P(X' = k, A = a) = P(X = k + a) P(G = k) = (1 - p) p^a (1 - q) (p q)^k for a >= 1,

    with p = e^(-r), q = e^(-(s - r)): each is P(X' = k) = (1 - p q) (p q)^k times what k is not in.

    Guarantee: let t be whole numbers of L1 sensitivity d, c = t + X - Y, and f = t + X' - Y'. Then
    c = f + A - B, where A - B depends on neither t nor f: both together are made of f alone. So
    c is (d r)-DP, and (c, f) is (d s)-DP, no more than f. That holds too where c decides whether f
    is drawn: what comes out shows c, so of two neighbours the chance of any outcome (c) of one
    branch differs by at most e^(d r), that of any outcome (c, f) of the other by at most e^(d s).
    The cost of a branch is a function of c, hence known before f is drawn: d r is charged first,
    d (s - r) before the second draw, and nothing is ever given back.
    A finer copy may be refined again: A is independent of X', hence of all that is made of X' and
    new bits, so that all copies together are made of the finest one.
    Twice independent noise of the rates r and s, in its place, would cost d (r + s).

    Source: Koufogiannis, Han, Pappas, "Gradual release of sensitive data under differential
    privacy", JPC 2016, for the continuous distribution and a longer way; the minimum is ours.
    """

    def __init__(self, rate: Fraction, up: IntVector, down: IntVector) -> None:
        self.rate = rate
        self._up, self._down = up, down

    @classmethod
    def draw(cls, rate: Fraction, size: int, source: EntropySource) -> Self:
        """Independent ones: with a seed those of `sample_discrete_laplace`.

        Args:
            rate: > 0.
            size: how many.
            source: where the bits come from.
        """
        up, down = (sample_geometric(rate, size, source) for _ in range(2))
        return cls(rate, up, down)

    @property
    def values(self) -> IntVector:
        """The noise, shape (size,)."""
        difference: IntVector = self._up - self._down
        return difference

    def refined(self, rate: Fraction, source: EntropySource) -> Self:
        """Finer noise that this is a coarser copy of.

        Args:
            rate: above that of this noise.
            source: where the bits come from.
        """
        up, down = (
            np.minimum(part, sample_geometric(rate - self.rate, len(part), source)).astype(
                part.dtype  # no larger than the part, which may be of few bits
            )
            for part in (self._up, self._down)
        )
        return type(self)(rate, up, down)

    def __repr__(self) -> str:
        """The rate, and nothing of the noise."""
        return f"RefinableLaplace({self.rate})"


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
        self._fine_cuts = self._cuts(64)
        # The first 16 bits of a number, rounded down, are those of its first 64.
        coarse = self._fine_cuts >> np.uint64(48)
        cuts = coarse[: int(np.searchsorted(coarse, (1 << 16) - 1)) + 1]
        words = np.arange(1 << 16)
        self._table = np.searchsorted(cuts, words, side="left").astype(np.int32)
        self._table[cuts.astype(np.int64)] = -1  # a cut lies inside this cell: look closer

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
def _staircase_sampler(epsilon: Fraction, period: int, inner: int) -> _Inversion:
    """Whether staircase noise lies outside of |k| < inner: 0 or 1."""
    lost = len(str(int(1 / epsilon)))  # digits, by taking what is nearly 1 from 1

    def cdf(_: int, bits: int) -> int:
        def inside() -> Decimal:
            power = _exp(-epsilon)
            middle = (2 * inner - 1) * (1 - power)
            return middle / (middle + 2 * period * power)

        return _floor_bits(inside, bits, lost)

    return _Inversion(cdf, last=1)


@lru_cache(maxsize=64)
def _geometric_parts(rate: Fraction) -> list[tuple[int, _Inversion]]:
    """Samplers of groups of binary digits, each with its shift, low digits first."""
    return geometric_parts(rate, _powers(rate))


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


def _powers(rate: Fraction) -> Power:
    return lambda count: _exp(-rate * count)


def _every(power: Power, stride: int) -> Power:
    return lambda count: power(count * stride)


def _digits(rate: Fraction, size: int, power: Power) -> _Inversion:
    lost = len(str(int(1 / rate)))  # digits, by taking what is nearly 1 from 1

    @cache
    def divisor(_: int) -> decimal.Decimal:
        """Of all cuts, to so many digits."""
        return 1 - power(size)

    def cdf(value: int, bits: int) -> int:
        return _floor_bits(
            lambda: (1 - power(value + 1)) / divisor(decimal.getcontext().prec), bits, lost
        )

    return _Inversion(cdf, last=size - 1)


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


_LOGARITHM_ERROR = 2.0**-40  # of float logarithms that are within 100 of the largest


def noisy_maximum(scores: IntVector, rate: Fraction, source: EntropySource) -> int:
    """The candidate whose score plus noise is largest; of equal ones, the first.

    Noise is G >= 0 with P(G >= k) = e^(-rate k) for whole k >= 0, independent for each candidate.

    Guarantee: if each score differs by at most s between neighbours, (2 s rate)-DP; if moreover
    all of them differ in the same direction, (s rate)-DP.
    Proof. Fix the noise of all candidates but i. Then i is chosen just when u_i + G_i >= t_i, where
    t_i = max over j != i of u_j + G_j, plus 1 for a j that comes before i: whole numbers all. On a
    neighbour the least G_i that will do, max(t_i - u_i, 0), is larger by at most 2 s (by at most s
    in the second case, where t_i - u_i is a difference of numbers that move together), so the
    probability is at least e^(-2 s rate) times as large, for each noise of the others.

    Accuracy: the chosen score is within k of the largest but for probability
    (candidates - 1) e^(-rate (k + 1)), since a candidate more than k below the best one can win
    only with G > k. See `shortfall`.

    Args:
        scores: of the candidates, whole numbers below 2^62 in size, shape (candidates,). Private.
        rate: > 0.
        source: where the noise comes from.

    Source: DR14 section 3.3 (report noisy max); with exponential noise it is never worse than the
    exponential mechanism of the same epsilon (McKenna, Sheldon 2020; Ding et al. 2021).
    """
    noise = sample_geometric(rate, len(scores), source)
    return int(np.argmax(scores + noise))


def shortfall(candidates: int, rate: Fraction, *, failure: float) -> int:
    """By how much the score of `noisy_maximum` may stay below the largest, rounded up.

    Args:
        candidates: how many there are, >= 1.
        rate: as for `noisy_maximum`.
        failure: in (0, 1): the probability with which it may stay further below.
    """
    if candidates == 1:
        return 0
    steps = math.log((candidates - 1) / failure) / float(rate) * (1 + 1e-12)
    return max(0, math.ceil(steps) - 1)


def exponential_choice(scores: IntVector, rate: Fraction, source: EntropySource) -> int:
    """The exponential mechanism, exactly: candidate i has probability ~ e^(rate u_i).

    Guarantee: if each score differs by at most s between neighbours, the privacy loss has range
    2 s rate: (2 s rate)-DP, and (2 s rate)^2/8-zCDP, a quarter of what is proven for
    `noisy_maximum`. Half the range if all scores differ in the same direction.

    Accuracy: the chosen score is within t of the largest but for probability
    (candidates - 1) e^(-rate t).

    Args:
        scores: of the candidates, whole numbers below 2^62 in size, shape (candidates,). Private.
        rate: > 0.
        source: where the noise comes from.

    Source: McSherry, Talwar 2007; zCDP: Cesar, Rogers 2021.
    """
    return exponential_choices(scores, rate, 1, source)[0]


def exponential_choices(
    scores: IntVector, rate: Fraction, count: int, source: EntropySource
) -> list[int]:
    """Several independent draws of `exponential_choice` with the same scores.

    Guarantee: that of one draw, for each of them.

    Args:
        scores: as for `exponential_choice`. Private.
        rate: > 0.
        count: how many, >= 1.
        source: where the noise comes from.
    """
    behind = scores - scores.max()

    def exact(index: int) -> Decimal:
        return int(behind[index]) * Decimal(rate.numerator) / Decimal(rate.denominator)

    choice = Choice(behind * float(rate), _LOGARITHM_ERROR, exact)
    return [choice.draw(source) for _ in range(count)]


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
    return geometric_parts(Fraction(-math.log1p(-chance)), _powers_of_missing(rate, threshold))


def _powers_of_missing(rate: Fraction, threshold: int) -> Power:
    """Powers of 1 - p, p = e^(-rate T)/(1 + e^-rate), right to all digits but the last."""
    lost = len(str(int(1 / tail_chance(rate, threshold)))) + 5  # digits that 1 - p loses of p

    @cache
    def log_missing(digits: int) -> Decimal:
        with decimal.localcontext() as context:
            context.prec = digits
            each = Decimal(rate.numerator) / Decimal(rate.denominator)
            return (1 - (-each * threshold).exp() / (1 + (-each).exp())).ln()

    def power(count: int) -> Decimal:
        digits = decimal.getcontext().prec + lost + len(str(count)) + 5
        with decimal.localcontext() as context:
            context.prec = digits
            found = (log_missing(digits) * count).exp()
        return +found

    return power
