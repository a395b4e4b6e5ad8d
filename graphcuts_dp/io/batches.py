"""Hold batches of rows as all readers yield them: by role, converted, without bad rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatArray, IntVector

if TYPE_CHECKING:
    import pyarrow as pa


@final
@dataclass(slots=True, repr=False)
class TableBatch:
    """Rows of a table in their order. Private.

    Attributes:
        columns: identifiers by role, "source", "target" and, if there is one, "user": arrays of
            int64 or large_string without nulls. An array of int64 stands for the decimal text of
            its integers, so text such as "007" or "-0" is never in one.
        weights: weight of each row, which may be negative or not finite; None if none are read.
        periods: number of the declared period of each row, int32, -1 for a period that is not
            declared; None if no periods are declared.
        row_numbers: number of each row in the source: its line in a text file, from 1, else its
            position from 0.
    """

    columns: dict[str, "pa.Array"]
    weights: FloatArray | None
    periods: IntVector | None
    row_numbers: Sequence[int] | IntVector

    def __len__(self) -> int:
        return len(self.row_numbers)

    def take(self, positions: IntVector) -> "TableBatch":
        """Return the rows at these positions, in this order."""
        import pyarrow as pa

        chosen = pa.array(positions)
        return TableBatch(
            {role: entries.take(chosen) for role, entries in self.columns.items()},
            None if self.weights is None else self.weights[positions],
            None if self.periods is None else self.periods[positions],
            np.asarray(self.row_numbers)[positions],
        )

    def __repr__(self) -> str:
        return "TableBatch(private)"


def integer_view(array: "pa.Array") -> npt.NDArray[Any]:
    """Return a read-only view of the integers of an Arrow array without nulls.

    `to_numpy` would import pandas if it is installed, which takes as long as a small release.
    """
    values = array.buffers()[1]
    dtype = np.dtype(str(array.type))
    if values is None:
        return np.zeros(0, dtype)
    return np.frombuffer(values, dtype)[array.offset :][: len(array)]
