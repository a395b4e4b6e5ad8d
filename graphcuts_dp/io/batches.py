"""Rows of one block of a table, converted by the schema, without the bad ones. Private."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from graphcuts_dp.arrays import FloatArray, IntVector

if TYPE_CHECKING:
    import pyarrow as pa


@final
@dataclass(slots=True, repr=False)
class TableBatch:
    """Sound rows of a block, in the columns of a `TableSchema`.

    Attributes:
        columns: source, target and perhaps user: 64-bit integers, or strings of the type
            large_string, without nulls. Integers stand for their text in decimal.
        weights: 64-bit floats, shape (rows,); None if none are read. They may be negative, infinite
            or NaN, which later tests refuse.
        periods: number of the declared period of each row, -1 for another one; None if none are
            read.
        row_numbers: number of the line, or row of the table, of each row.
    """

    columns: "dict[str, pa.Array]"
    weights: FloatArray | None
    periods: IntVector | None
    row_numbers: Sequence[int] | IntVector

    def __len__(self) -> int:
        return len(self.row_numbers)

    def __repr__(self) -> str:
        return "TableBatch(private)"
