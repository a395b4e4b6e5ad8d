"""Arrays that grow at their end, in place, and work on arrays a piece at a time."""

from typing import Any, final

import numpy as np
import numpy.typing as npt

_LEAST = 1 << 12  # entries of a new array
PIECE = 1 << 18  # entries that are changed at a time: what is made of them stays in the cache


@final
class Growing:
    """An array of one dimension that grows at its end.

    Args:
        dtype: of its entries.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._array = np.empty(_LEAST, dtype=dtype)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def values(self) -> npt.NDArray[Any]:
        """What is in it; a view, to be let go before the next entry comes."""
        return self._array[: self._count]

    def extend(self, values: npt.ArrayLike) -> None:
        """Put values at its end, converted to its type."""
        values = np.asarray(values)
        end = self._count + len(values)
        if end > len(self._array):
            # In place where the system can: numpy's other ways hold both arrays for a moment.
            self._array.resize(max(end, len(self._array) * 9 // 8), refcheck=False)
        self._array[self._count : end] = values
        self._count = end

    def take(self) -> npt.NDArray[Any]:
        """The array, of its true length; nothing is left here."""
        array, self._array = self._array, np.empty(0, dtype=self._array.dtype)
        array.resize(self._count, refcheck=False)
        self._count = 0
        return array


def pieces(array: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
    """Views of an array, one after the other, each small enough for the cache."""
    return [array[start : start + PIECE] for start in range(0, len(array), PIECE)]
