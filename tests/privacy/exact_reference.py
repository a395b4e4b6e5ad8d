"""Reference values for the samplers, by another road: Taylor series in rational arithmetic.

And what tests of samplers need: entropy that was prepared.
"""

from fractions import Fraction
from functools import lru_cache

import numpy as np


def exp_between(power: Fraction, bits: int = 400) -> tuple[Fraction, Fraction]:
    """Fractions low < e^power < high that are nearer than 2^-bits of the value; power <= 0.

    e^power = (e^(power/2^k))^(2^k); the alternating series of the inner one is enclosed by two
    consecutive partial sums. All roundings go outward.
    """
    halvings = 0
    while -power / 2**halvings > Fraction(1, 2):
        halvings += 1
    x = power / 2**halvings
    work = bits + 2 * halvings + 64 + int(-power * 2)
    term, total, k = Fraction(1), Fraction(1), 0
    previous = Fraction(0)
    while abs(total - previous) > Fraction(1, 1 << work):
        k += 1
        previous = total
        term = _rounded(term * x / k, work + 16)
        total += term
    slack = Fraction(k + 2, 1 << work)
    low, high = min(previous, total) - slack, max(previous, total) + slack
    for _ in range(halvings):
        low = Fraction((low * low).numerator * (1 << work) // (low * low).denominator, 1 << work)
        high = Fraction(
            -(-(high * high).numerator * (1 << work) // (high * high).denominator), 1 << work
        )
    return low, high


def _rounded(value: Fraction, bits: int) -> Fraction:
    return Fraction(value.numerator * (1 << bits) // value.denominator, 1 << bits)


@lru_cache(maxsize=4096)
def geometric_cdf(rate: Fraction, value: int, size: int | None) -> tuple[Fraction, Fraction]:
    """Enclosure of P(K <= value), P(k) proportional to e^(-rate k) on 0..size-1 (None: no end)."""
    low, high = exp_between(-rate * (value + 1))
    if size is None:
        return 1 - high, 1 - low
    low_all, high_all = exp_between(-rate * size)
    return (1 - high) / (1 - low_all), (1 - low) / (1 - high_all)


def flip_cdf(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Enclosure of P(no flip) = 1/(1+e^-epsilon)."""
    low, high = exp_between(-epsilon)
    return 1 / (1 + high), 1 / (1 + low)


def floor_bits(enclosure: tuple[Fraction, Fraction], bits: int) -> int:
    """floor(2^bits value), certain because both ends of the enclosure agree."""
    low, high = (int(end * (1 << bits)) for end in enclosure)
    assert low == high, "the enclosure is too wide for this many bits"
    return low


class ScriptedEntropy:
    """Plays back prepared bytes, and fails when asked for more or for other amounts."""

    seed = None

    def __init__(self, *pieces: bytes) -> None:
        self.pieces = list(pieces)

    def bytes(self, count: int) -> np.ndarray:
        piece = self.pieces.pop(0)
        assert len(piece) == count
        return np.frombuffer(piece, dtype=np.uint8)


def script_of(uniform: int, words: int) -> list[bytes]:
    """The bytes that reveal one uniform number, as the sampler of one value asks for them.

    Args:
        uniform: the number times 2^(64 + 64 words), a whole number.
        words: how many 64-bit words after the first 64 bits.
    """
    head = uniform >> (64 * words)
    pieces = [
        np.array([head >> 48], dtype=np.uint16).tobytes(),
        np.array([(head & (2**48 - 1)) << 16 | 0xBEEF], dtype=np.uint64).tobytes(),
    ]
    rest = [(uniform >> (64 * k)) & (2**64 - 1) for k in reversed(range(words))]
    return pieces + [word.to_bytes(8, "little") for word in rest]
