"""Edges that come piece by piece: arrays that grow in place, in the smallest integers that do.

A file of many rows is never in memory as a whole. What its rows say is kept in 8 bytes for two ends
and 8 for a weight, and the arrays grow by an eighth at a time, where they are.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatArray, IndexArray, IntegerVector, IntVector
from graphcuts_dp.graph.coded_text import CodedText, Words
from graphcuts_dp.graph.growing import Growing, pieces
from graphcuts_dp.graph.name_table import NameTable

_MOST_INT32 = 2**31 - 1
_PLAIN = re.compile(r"0|[1-9][0-9]{0,17}", re.ASCII)


@final
@dataclass(frozen=True, slots=True)
class TextPieces:
    """A column as pieces of a text: `words_before` of it, and where each piece starts and ends."""

    words: Words
    starts: IntVector
    lengths: IntegerVector

    def __len__(self) -> int:
        return len(self.starts)


GatheredEnds = IntegerVector | TextPieces | CodedText | Sequence[str]


@final
class Gathered:
    """Rows of an edge list, as they come.

    Ends are integers as long as all are plain ones; from the first other one on they are names.

    Args:
        weighted: whether each row has a weight.
        as_text: whether text that is a plain integer is that integer.
    """

    def __init__(self, *, weighted: bool, as_text: bool = True) -> None:
        self._as_text = as_text
        self._ends = [Growing(np.int32), Growing(np.int32)]
        self._weights = Growing(np.float64) if weighted else None
        self._table: NameTable | None = None
        self._starts: list[int] = []
        self._places: list[Sequence[int]] = []

    @property
    def integers(self) -> bool:
        """Whether all ends up to here are integers."""
        return self._table is None

    def add(
        self,
        sources: GatheredEnds,
        targets: GatheredEnds,
        weights: FloatArray | None,
        places: Sequence[int],
    ) -> None:
        """Put rows behind those that are there.

        Args:
            sources: integers, pieces of a text, names by number, or a list of names.
            targets: likewise.
            weights: one for each row, or None if there are none.
            places: the number of the line, or row of a table, of each row.
        """
        self._starts.append(len(self._ends[0]))
        self._places.append(places)
        if self._weights is not None and weights is not None:
            self._weights.extend(weights)
        if self._table is None:
            plain = [_plain_integers(each, self._as_text) for each in (sources, targets)]
            if plain[0] is not None and plain[1] is not None:
                self._add_integers(0, plain[0])
                self._add_integers(1, plain[1])
                return
            self._table = self._names_begin()
        if (
            isinstance(sources, TextPieces)
            and isinstance(targets, TextPieces)
            and (sources.words is targets.words)
        ):
            # Both at once: what a call costs beside its pieces is a large part.
            starts = np.concatenate([sources.starts, targets.starts])
            lengths = np.concatenate([sources.lengths, targets.lengths])
            numbers = self._table.numbers(sources.words, starts, lengths)
            for grown, some in zip(self._ends, np.split(numbers, 2), strict=True):
                grown.extend(some)
            return
        for grown, each in zip(self._ends, (sources, targets), strict=True):
            grown.extend(_numbers(each, self._table))

    def ends(self) -> tuple[npt.NDArray[Any] | CodedText, npt.NDArray[Any] | CodedText]:
        """Both ends of all rows, which nothing here keeps: integers, or names by number."""
        table, self._table = self._table, None
        sources, targets = (grown.take() for grown in self._ends)
        if table is None:
            return sources, targets
        names = table.names()
        return CodedText(sources, names), CodedText(targets, names)

    def weights(self) -> FloatArray | None:
        """The weights of all rows, which nothing here keeps; None if there are none."""
        return None if self._weights is None else self._weights.take()

    def place(self, position: int) -> int:
        """The number of the line, or row, of a row by its position among all."""
        piece = bisect_right(self._starts, position) - 1
        return self._places[piece][position - self._starts[piece]]

    def _add_integers(self, side: int, values: IntegerVector) -> None:
        grown = self._ends[side]
        if grown.values.dtype == np.int32 and len(values) and _is_wide(values):
            wide = Growing(np.int64)
            wide.extend(grown.values)
            self._ends[side] = grown = wide
        grown.extend(values)

    def _names_begin(self) -> NameTable:
        """From now on names: the integers up to here become names, too."""
        table = NameTable()
        for side, grown in enumerate(self._ends):
            numbers = Growing(np.int32)
            for piece in pieces(grown.values):
                numbers.extend(_numbers(piece, table))
            self._ends[side] = numbers
        return table


def _is_wide(values: IntegerVector) -> bool:
    return bool(values.max() > _MOST_INT32 or values.min() < -_MOST_INT32)


def _numbers(ends: GatheredEnds, table: NameTable) -> IndexArray:
    if isinstance(ends, TextPieces):
        return table.numbers(ends.words, ends.starts, ends.lengths)
    if isinstance(ends, CodedText):
        return table.numbers_of(ends.names)[ends.codes]
    if isinstance(ends, np.ndarray):
        distinct, inverse = np.unique(ends, return_inverse=True)
        return table.numbers_of(list(map(str, distinct.tolist())))[inverse]
    return table.numbers_of(ends)


def _plain_integers(ends: GatheredEnds, as_text: bool) -> IntegerVector | None:
    """The ends as integers that are not negative; None if one is another text."""
    if isinstance(ends, np.ndarray):
        return ends
    if isinstance(ends, TextPieces) or not as_text:
        return None  # the reader of pieces has tried
    names = ends.names if isinstance(ends, CodedText) else ends
    if not all(map(_PLAIN.fullmatch, names)):
        return None
    values = np.array(list(map(int, names)), dtype=np.int64)
    return values[ends.codes] if isinstance(ends, CodedText) else values
