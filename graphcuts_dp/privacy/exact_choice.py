"""Exact draws with probabilities that are real numbers: floats propose, decimals decide.

A proposal is drawn with integer weights that lie a little above the true ones, and kept with the
ratio of the two. Floats only make the proposal's weights, which are exact integers once made; the
ratio is compared with a uniform number that is revealed bit by bit, in decimal arithmetic to as
many digits as it takes. The result has the stated probabilities exactly, given uniform bits.
"""

import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.privacy.entropy import EntropySource

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
