"""Pairs as integers that sort as pairs do: how edges are sorted and merged in little memory.

At the peak, beside the arrays that come out, there are a key of 8 bytes for each edge, and for
weighted ones its place among the sorted ones.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatArray, IndexArray, IntegerVector, IntVector
from graphcuts_dp.graph.gathered import PIECE, pieces

Merge = Literal["max", "min", "sum"]

MOST_ROWS = 2**31  # row numbers are 32-bit integers >= 0
_BITS = np.int64(31)
_MASK = np.int64(2**31 - 1)
_HOW = {"max": np.maximum, "min": np.minimum, "sum": np.add}


@dataclass(slots=True)
class EdgeParts:
    """Edges on their way into a graph, which empties this, so that nothing else keeps the arrays.

    Attributes:
        rows: row number of the first end of each edge.
        columns: of the second one.
        weights: finite and not negative; None for a graph without weights.
        owned: whether the weights may be written over.
    """

    rows: IntegerVector
    columns: IntegerVector
    weights: FloatArray | None
    owned: bool = False


def pair_keys(
    parts: EdgeParts, *, ordered: bool, loops: bool
) -> tuple[IntVector, FloatArray | None]:
    """Both ends of each edge in one integer, and the weights; the parts are empty then.

    Args:
        parts: the edges.
        ordered: whether (u, v) and (v, u) are two pairs; else the smaller end comes first.
        loops: whether edges with two equal ends are kept.
    """
    keys = np.empty(len(parts.rows), dtype=np.int64)
    kept = 0
    weights = parts.weights
    if weights is not None and not (parts.owned and weights.flags.writeable):
        weights = weights.copy()
    for start in range(0, len(keys), PIECE):
        piece = slice(start, start + PIECE)
        first, second = parts.rows[piece], parts.columns[piece]
        keep = slice(None) if loops else first != second
        low, high = (first, second) if ordered else _in_order(first, second)
        made = (low.astype(np.int64) << _BITS | high.astype(np.int64))[keep]
        keys[kept : kept + len(made)] = made
        if weights is not None:
            weights[kept : kept + len(made)] = weights[piece][keep]
        kept += len(made)
    parts.rows = parts.columns = np.empty(0, dtype=np.int64)
    parts.weights = None
    return shortened(keys, kept), None if weights is None else shortened(weights, kept)


def _in_order(first: IntegerVector, second: IntegerVector) -> tuple[IntegerVector, IntegerVector]:
    return np.minimum(first, second), np.maximum(first, second)


def sorted_distinct(keys: IntVector) -> IntVector:
    """Each key once, in order; writes over them."""
    keys.sort()
    kept = 0
    last = None
    for piece in pieces(keys):
        new = np.empty(len(piece), dtype=np.bool_)
        new[0] = piece[0] != last
        np.not_equal(piece[1:], piece[:-1], out=new[1:])
        last = piece[-1]
        found = piece[new]
        keys[kept : kept + len(found)] = found
        kept += len(found)
    return shortened(keys, kept)


def sorted_merged(
    keys: IntVector, weights: FloatArray, merge: Merge
) -> tuple[IntVector, FloatArray]:
    """Each key once, in order, with the largest, the smallest or the sum of its weights.

    Keys without weight are left out. Sums add up in the order of the rows.
    """
    # The largest and the smallest are the same in any order, and this one is faster.
    order = np.argsort(keys, kind="stable" if merge == "sum" else None)
    places: IntegerVector = order.astype(np.int32) if len(keys) <= _MASK else order
    del order
    taken = np.empty(len(keys), dtype=np.int64)
    for array in (keys, weights):
        _permute(array, places, taken.view(array.dtype))
    del taken, places
    start = kept = 0
    while start < len(keys):
        end = start + PIECE
        if end < len(keys):  # a piece holds all edges of its last pair
            end = int(np.searchsorted(keys, keys[end - 1], side="right"))
        piece = keys[start:end]
        first = np.flatnonzero(np.concatenate([[True], piece[1:] != piece[:-1]]))
        with np.errstate(over="ignore"):
            total = _HOW[merge].reduceat(weights[start:end], first)
        found, some = piece[first], total != 0
        count = int(np.count_nonzero(some))
        keys[kept : kept + count] = found[some]
        weights[kept : kept + count] = np.minimum(total[some], np.finfo(np.float64).max)
        start, kept = end, kept + count
    return shortened(keys, kept), shortened(weights, kept)


def _permute(array: npt.NDArray[Any], places: IntegerVector, scratch: npt.NDArray[Any]) -> None:
    """array[places], in place; an index of 8 bytes is made for a piece at a time only."""
    for new, some in zip(pieces(scratch), pieces(places), strict=True):
        new[:] = array[some]
    array[:] = scratch


def unpacked_keys(keys: IntVector) -> tuple[IndexArray, IndexArray]:
    """Both ends of each pair."""
    rows = np.empty(len(keys), dtype=np.int32)
    columns = np.empty(len(keys), dtype=np.int32)
    for start in range(0, len(keys), PIECE):
        piece = keys[start : start + PIECE]
        rows[start : start + PIECE] = piece >> _BITS
        columns[start : start + PIECE] = piece & _MASK
    return rows, columns


def shortened(array: npt.NDArray[Any], count: int) -> npt.NDArray[Any]:
    """The first entries of an array that nobody else has, and no more memory than they need."""
    if count == len(array):
        return array
    if not array.flags.owndata:
        return array[:count].copy()
    array.resize(count, refcheck=False)
    return array
