"""Sources of random bits: the operating system, or a seed that makes a run repeatable.

Every sampler takes an `EntropySource` and reads bytes from it; there is no global random state.
`entropy_source` makes one. A seeded source voids every privacy guarantee, since whoever knows the
seed can compute the noise; its results are marked with `SEEDED_WARNING`.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.errors import ParameterError

SEEDED_WARNING = "seeded: not private"
_SEEDS = "a seed is an integer >= 0, or a SeedSequence or Generator of numpy"
ByteVector = npt.NDArray[np.uint8]


class EntropySource(Protocol):
    """A stream of independent uniform bytes."""

    @property
    def seed(self) -> int | None:
        """The seed, or None if the bits come from the operating system."""

    def bytes(self, count: int) -> ByteVector:
        """Return the next `count` bytes, each uniform on 0..255, shape (count,)."""

    def split(self, count: int) -> "list[EntropySource]":
        """Return `count` sources, independent of each other, of this one and of earlier splits.

        The stream of each does not depend on when, where or in which order the returned sources are
        used. So parallel work is repeatable if each part has a source of its own. It does depend on
        the number of earlier splits of this source, so splits must come in a fixed order.
        """


@final
class SystemEntropy:
    """Bits from the operating system's generator.

    It has no state and no buffer, so a forked or spawned process cannot repeat bits that its parent
    used.
    """

    seed: int | None = None

    def bytes(self, count: int) -> ByteVector:
        """Return the next `count` bytes of the operating system's generator."""
        return np.frombuffer(os.urandom(count), dtype=np.uint8)

    def split(self, count: int) -> list[EntropySource]:
        """Return this source `count` times; it has no state to share."""
        return [self] * count

    def __repr__(self) -> str:
        return "SystemEntropy()"


@final
class SeededEntropy:
    """A repeatable stream of bits (Philox counter generator), for tests, figures and debugging.

    It gives no privacy: mark everything drawn from it with `SEEDED_WARNING`.

    Args:
        seed: integer >= 0.

    Raises:
        ParameterError: the seed is not an integer >= 0.
    """

    def __init__(self, seed: int) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
            raise ParameterError(_SEEDS)
        self.seed: int | None = int(seed)
        self._start(np.random.SeedSequence(int(seed)))

    def _start(self, sequence: np.random.SeedSequence) -> None:
        self._sequence = sequence
        self._splits = 0
        self._generator = np.random.Philox(sequence)

    def bytes(self, count: int) -> ByteVector:
        """Return the next `count` bytes; the rest of the last 64-bit word is thrown away."""
        words: npt.NDArray[np.uint64] = self._generator.random_raw(-(-count // 8))
        return words.astype("<u8", copy=False).view(np.uint8)[:count]

    def split(self, count: int) -> list[EntropySource]:
        """Return `count` new streams, keyed by the seed, the number of the split and an index."""
        self._splits += 1
        return [self._stream(index) for index in range(count)]

    def _stream(self, index: int) -> "SeededEntropy":
        stream = object.__new__(SeededEntropy)
        stream.seed = self.seed
        key = (*self._sequence.spawn_key, self._splits, index)
        stream._start(np.random.SeedSequence(self.seed, spawn_key=key))
        return stream

    def apart(self) -> "SeededEntropy":
        """Return a stream of its own, which does not depend on what this one has drawn so far."""
        stream = object.__new__(SeededEntropy)
        stream.seed = self.seed
        # Splits are numbered from 1.
        key = (*self._sequence.spawn_key, 0, 0)
        stream._start(np.random.SeedSequence(self.seed, spawn_key=key))
        return stream

    @property
    def state(self) -> dict[str, Any]:
        """The state of the stream, as plain values: `from_state` goes on from there."""
        generator = self._generator.state
        return {
            "seed": self.seed,
            "counter": generator["state"]["counter"].tolist(),
            "key": generator["state"]["key"].tolist(),
            "buffer": generator["buffer"].tolist(),
            "position": int(generator["buffer_pos"]),
            "spawn_key": list(self._sequence.spawn_key),
            "splits": self._splits,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Return the stream that stands where `state` says.

        Raises:
            LookupError, TypeError, ValueError, OverflowError: it is not the state of a stream.
        """
        stream = cls(state["seed"])
        stream._start(np.random.SeedSequence(stream.seed, spawn_key=tuple(state["spawn_key"])))
        stream._splits = int(state["splits"])
        words = {name: np.array(state[name], np.uint64) for name in ("counter", "key", "buffer")}
        generator = stream._generator.state
        stream._generator.state = generator | {
            "state": {"counter": words["counter"], "key": words["key"]},
            "buffer": words["buffer"],
            "buffer_pos": int(state["position"]),
        }
        return stream

    def __repr__(self) -> str:
        return f"SeededEntropy({SEEDED_WARNING})"


Seed = (
    int
    | np.random.SeedSequence
    | np.random.BitGenerator
    | np.random.Generator
    | np.random.RandomState
    | Sequence[int]
)


def as_seed(seed: Seed | None) -> int | None:
    """Return a seed as an integer >= 0, from whatever numpy takes for one; None stays None.

    Args:
        seed: an integer >= 0, which stays as it is; a `SeedSequence`, whose first 128 bits are
            taken and whose state does not change; a `Generator`, `RandomState` or `BitGenerator`,
            of which 128 bits are drawn, so that a second call gives another seed; or integers >= 0,
            of which numpy makes a `SeedSequence`.

    Raises:
        ParameterError: something else.
    """
    if seed is None:
        return None
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0:
        return int(seed)
    if isinstance(seed, list | tuple | np.ndarray):
        try:
            seed = np.random.SeedSequence(seed)
        except (TypeError, ValueError):
            raise ParameterError(_SEEDS) from None
    if isinstance(seed, np.random.SeedSequence):
        words = seed.generate_state(2, np.uint64)
        return int.from_bytes(words.astype("<u8").tobytes(), "little")
    if isinstance(seed, np.random.BitGenerator):
        seed = np.random.Generator(seed)
    if isinstance(seed, np.random.Generator | np.random.RandomState):
        return int.from_bytes(seed.bytes(16), "little")
    raise ParameterError(_SEEDS)


def entropy_source(seed: Seed | None) -> EntropySource:
    """Return the operating system's entropy if the seed is None, else a seeded stream.

    Raises:
        ParameterError: as `as_seed`.
    """
    number = as_seed(seed)
    return SystemEntropy() if number is None else SeededEntropy(number)


def repeatable(source: EntropySource) -> SeededEntropy:
    """Return a stream whose state can be stored, for random numbers that hide nothing.

    It is the source itself if that is seeded, else a new stream with a seed of 128 random bits.
    """
    if isinstance(source, SeededEntropy):
        return source
    return SeededEntropy(int.from_bytes(source.bytes(16).tobytes(), "little"))


def apart(source: EntropySource) -> EntropySource:
    """Return a source for noise that is drawn after a repeatable fit.

    A fit draws its coins from a copy of the source, so noise from the source itself would repeat
    them if it is seeded. Then it is a stream of its own, else the source itself.
    """
    return source.apart() if isinstance(source, SeededEntropy) else source


def next_word(source: EntropySource) -> int:
    """Return the next 64 bits of a source as a uniform integer in 0..2^64-1."""
    return int.from_bytes(source.bytes(8).tobytes(), "little")
