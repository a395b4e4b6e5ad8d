"""From labels of vertices to codes of nested groups; see `Groups`."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import GraphError
from graphcuts_dp.pairs.vertices import Label, VertexSet

_SHOWN = 6  # names that a message quotes


def codes_of(vertices: VertexSet, level: str, given: Any) -> tuple[IntVector, list[Label]]:
    """Code of each vertex, -1 for none, and labels in the order of their first vertices."""
    if isinstance(given, str) or not hasattr(given, "__len__") or len(given) != len(vertices):
        raise GraphError(f"level {level!r:.60} needs one label for each of the vertices")
    if isinstance(given, np.ndarray) and given.ndim == 1 and given.dtype.kind in "iuU":
        known, found = np.unique(given, return_inverse=True)
        if given.dtype.kind != "U" or known[0]:
            labels: list[Label] = known.tolist()
            return found.astype(np.int64), labels
    values = given.tolist() if isinstance(given, np.ndarray) else list(given)
    table: dict[Any, int] = {}
    try:
        raw = np.fromiter((table.setdefault(v, len(table)) for v in values), np.int64, len(values))
    except TypeError:
        raise _bad_label(level) from None
    codes: dict[Label, int] = {}
    places = []
    for value in table:
        # True equals 1 and has its hash, so what a dict holds is not enough.
        label = _plain(value, level)
        places.append(-1 if label is None else codes.setdefault(label, len(codes)))
    if any(isinstance(value, bool | np.bool_) for value in values):
        raise _bad_label(level)
    labels = list(codes)
    if len({str(label) for label in labels}) != len(labels):
        raise GraphError(f'two groups of level {level!r:.60} look alike, such as 1 and "1"')
    return np.array(places, dtype=np.int64)[raw], labels


def _plain(value: Any, level: str) -> Label | None:
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value == "":
        return None
    if isinstance(value, float | np.floating):  # numbers of a column with gaps
        number = float(value)
        if math.isnan(number):
            return None
        if not (number.is_integer() and abs(number) < 2.0**53):
            raise _bad_label(level)
        return int(number)
    if isinstance(value, bool | np.bool_) or not isinstance(value, str | int | np.integer):
        raise _bad_label(level)
    return str(value) if isinstance(value, str) else int(value)


def _bad_label(level: str) -> GraphError:
    return GraphError(f"groups of level {level!r:.60} must be strings or whole numbers")


def with_rest(
    vertices: VertexSet,
    level: str,
    own: tuple[IntVector, list[Label]],
    above: tuple[IntVector, tuple[Label, ...]],
    rest: str | None,
) -> tuple[IntVector, list[Label]]:
    """Vertices without a group in a group of their own, one in each group of the level before."""
    codes, labels = own[0].copy(), list(own[1])
    (missing,) = np.nonzero(codes < 0)
    if rest is None:
        some = f"{vertices.labels[int(missing[0])]!r:.60}"
        raise GraphError(
            f"{len(missing):,} vertices, such as {some}, have no group of level {level!r:.60}; "
            "add them, or pass rest='other'"
        )
    for parent in np.unique(above[0][missing]).tolist():
        name = rest if not above[1] or above[1][parent] == rest else f"{above[1][parent]}/{rest}"
        if name in labels:
            raise GraphError(f"rest: {name!r:.60} is a group of level {level!r:.60} already")
        codes[missing[above[0][missing] == parent]] = len(labels)
        labels.append(name)
    return codes, labels


def sorted_within(
    level: str,
    own: tuple[IntVector, list[Label]],
    above: IntVector,
    order: Sequence[Label] | None,
) -> tuple[IntVector, list[Label], IntVector]:
    """Codes in the order of enclosing groups and then of labels; and the enclosing groups."""
    codes, labels = own
    parent = np.zeros(len(labels), dtype=np.int64)
    parent[codes] = above
    (split,) = np.nonzero(parent[codes] != above)
    if len(split):
        name = labels[int(codes[split[0]])]
        raise GraphError(
            f"group {name!r:.60} of level {level!r:.60} lies in two groups of the level before; "
            "give the levels from the coarsest to the finest, and each group a name of its own"
        )
    ranks = {label: rank for rank, label in enumerate(labels if order is None else order)}
    if order is not None and (len(ranks) != len(order) or set(ranks) != set(labels)):
        raise GraphError(
            f"the order of level {level!r:.60} must name each of its groups once, and none "
            "without vertices"
        )

    def key(code: int) -> tuple[Any, ...]:
        label = labels[code]
        place = (isinstance(label, str), label) if order is None else (ranks[label],)
        return int(parent[code]), *place

    permutation = sorted(range(len(labels)), key=key)
    new = np.empty(len(labels), dtype=np.int64)
    new[permutation] = np.arange(len(labels))
    return new[codes], [labels[code] for code in permutation], parent[permutation]


def listed(names: Sequence[str]) -> str:
    """The first few names, for a message."""
    shown = [f"{name[:40]!r}" for name in names[:_SHOWN]]
    return ", ".join(shown) + (", ..." if len(names) > _SHOWN else "")
