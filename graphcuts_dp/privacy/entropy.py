"""Where random bits come from: the operating system, or a seed that makes a run repeatable."""

import os
from typing import Protocol, final

import numpy as np
import numpy.typing as npt

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
