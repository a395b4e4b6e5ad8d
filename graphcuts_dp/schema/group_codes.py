"""Codes of groups: from a label for each vertex to numbered, nested groups.

The groups of a level have *codes* 0, 1, 2, .... `Groups` builds each level in three steps:

1. `codes_of` numbers the labels of the level, and checks them;
2. `with_default_groups` puts vertices without a group into a default group;
3. `sorted_within` renumbers the groups, so that those within one group of the level before follow
   each other, in the order of their labels or in a given order.

Labels are strings or integers. None, "" and NaN stand for no group, with code -1.

Above the first level one thinks of a level with a single group of all vertices: its codes are all
0, and it has no label. So each level has one before it. The *parent* of a group is the group of the
level before that holds it.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import GraphError
from graphcuts_dp.schema.vertices import Label, VertexSet

_EXACT_FLOATS = 2.0**53  # floating-point numbers below this are exact integers
_MISSING_TYPES = ("NAType", "NaTType")  # names of the types of missing values of pandas


def codes_of(vertices: VertexSet, level: str, labels: Any) -> tuple[IntVector, list[Label]]:
    """Number the groups of a level.

    Args:
        vertices: the vertex set.
        level: name of the level, for messages.
        labels: the label of each vertex, in the order of the vertices.

    Returns:
        The code of each vertex, shape (n,), -1 for no group; and the labels in the order of codes.

    Raises:
        GraphError: the wrong number of labels, or a label that is neither text nor a whole number.
    """
    if isinstance(labels, str) or not hasattr(labels, "__len__") or len(labels) != len(vertices):
        raise GraphError(f"level {level!r:.60} needs one label for each of the vertices")
    if isinstance(labels, np.ndarray) and labels.ndim == 1 and labels.dtype.kind in "iuU":
        # A fast way for arrays of integers or text. It takes every text for a label, so it fails
        # where a text is empty. `np.unique` sorts, so an empty text would be the first one.
        distinct, codes = np.unique(labels, return_inverse=True)
        if labels.dtype.kind != "U" or distinct[0]:
            return codes.astype(np.int64), distinct.tolist()
    values = labels.tolist() if isinstance(labels, np.ndarray) else list(labels)
    # Several values may stand for one label: 7 and np.float64(7), or None and "". Number the
    # distinct values first, then find the label of each of them once. This saves time, as there are
    # many vertices and few groups.
    value_numbers: dict[Any, int] = {}
    try:
        numbers = np.fromiter(
            (value_numbers.setdefault(value, len(value_numbers)) for value in values),
            np.int64,
            len(values),
        )
    except TypeError:  # a value that cannot be a key
        raise _bad_label(level) from None
    label_codes: dict[Label, int] = {}
    code_of_value = []  # by the number of the value
    for value in value_numbers:
        label = _label_of(value, level)
        code_of_value.append(
            -1 if label is None else label_codes.setdefault(label, len(label_codes))
        )
    # `_label_of` refuses truth values. But True equals 1 as a key of a dict: a True that comes
    # after a 1 is not among the distinct values, so look at all values here.
    if any(isinstance(value, bool | np.bool_) for value in values):
        raise _bad_label(level)
    group_labels = list(label_codes)
    if len({str(label) for label in group_labels}) != len(group_labels):
        raise GraphError(f'two groups of level {level!r:.60} look alike, such as 1 and "1"')
    return np.array(code_of_value, dtype=np.int64)[numbers], group_labels


def _label_of(value: Any, level: str) -> Label | None:
    """Return the label that a value stands for; None for no group."""
    if value is None or type(value).__name__ in _MISSING_TYPES or value == "":
        return None
    if isinstance(value, float | np.floating):  # pandas stores integers so in columns with gaps
        number = float(value)
        if math.isnan(number):
            return None
        if not (number.is_integer() and abs(number) < _EXACT_FLOATS):
            raise _bad_label(level)
        return int(number)
    if isinstance(value, bool | np.bool_) or not isinstance(value, str | int | np.integer):
        raise _bad_label(level)
    return str(value) if isinstance(value, str) else int(value)


def _bad_label(level: str) -> GraphError:
    return GraphError(f"groups of level {level!r:.60} must be strings or whole numbers")


def with_default_groups(
    vertices: VertexSet,
    level: str,
    codes: IntVector,
    labels: Sequence[Label],
    *,
    parent_codes: IntVector,
    parent_labels: Sequence[Label],
    default_group: str | None,
) -> tuple[IntVector, list[Label]]:
    """Put vertices without a group into default groups, one in each group of the level before.

    Callers must have a vertex without a group: some code is below 0.

    Args:
        vertices: the vertex set.
        level: name of the level, for messages.
        codes: code of the group of each vertex, shape (n,), -1 for none.
        labels: labels of the groups, in the order of codes.
        parent_codes: code of the group of the level before, of each vertex, shape (n,).
        parent_labels: labels of these groups; empty for the first level.
        default_group: NAME of the default group; None refuses vertices without a group. On the
            first level the default group has the label NAME. On others it has the label
            "PARENT/NAME", with the label of its parent; but within a parent that has the label NAME
            itself, it has the label NAME.

    Returns:
        Codes and labels, with the default groups after the others.

    Raises:
        GraphError: no `default_group`, or one that exists already.
    """
    (ungrouped,) = np.nonzero(codes < 0)
    if default_group is None:
        # `vertices.inferred`: the labels were taken from private edges, so they are private. Then
        # the message shows neither a label nor a number.
        example = f"{vertices.labels[int(ungrouped[0])]!r:.60}"
        subject = (
            "some vertices have"
            if vertices.inferred
            else f"{len(ungrouped):,} vertices, such as {example}, have"
        )
        raise GraphError(
            f"{subject} no group of level {level!r:.60}; add them, or pass default_group='other'"
        )
    codes = codes.copy()
    labels = list(labels)
    ungrouped_parents = parent_codes[ungrouped]  # of each vertex in `ungrouped`
    for parent in np.unique(ungrouped_parents).tolist():
        if not parent_labels or parent_labels[parent] == default_group:
            name = default_group
        else:
            name = f"{parent_labels[parent]}/{default_group}"
        if name in labels:
            raise GraphError(
                f"default_group: {name!r:.60} is a group of level {level!r:.60} already"
            )
        codes[ungrouped[ungrouped_parents == parent]] = len(labels)
        labels.append(name)
    return codes, labels


def sorted_within(
    level: str,
    codes: IntVector,
    labels: Sequence[Label],
    parent_codes: IntVector,
    order: Sequence[Label] | None,
) -> tuple[IntVector, list[Label], IntVector]:
    """Number the groups of a level anew by their parents, then by their labels.

    `GroupTree` requires this order: groups of one parent follow each other.

    Args:
        level: name of the level, for messages.
        codes: code of the group of each vertex, shape (n,); none is below 0.
        labels: labels of the groups, in the order of codes.
        parent_codes: code of the group of the level before, of each vertex, shape (n,).
        order: all labels in the order that they shall have within their parent. None: integers by
            size, then strings by letters.

    Returns:
        New code of each vertex, shape (n,); the labels in the order of new codes; and the code of
        the parent of each group in this order, shape (groups,).

    Raises:
        GraphError: a group lies in two groups of the level before, or `order` has other labels.
    """
    # Numpy writes `parent_codes` one after the other, so each group keeps the parent of one of its
    # vertices. If the parent of another of its vertices differs, the group lies in two parents.
    parents = np.zeros(len(labels), dtype=np.int64)
    parents[codes] = parent_codes
    (split,) = np.nonzero(parents[codes] != parent_codes)  # vertices with a differing parent
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

    def sort_key(code: int) -> tuple[Any, ...]:
        label = labels[code]
        if order is None:
            return int(parents[code]), isinstance(label, str), label
        return int(parents[code]), ranks[label]

    sorted_codes = sorted(range(len(labels)), key=sort_key)
    new_codes = np.empty(len(labels), dtype=np.int64)
    new_codes[sorted_codes] = np.arange(len(labels))
    return new_codes[codes], [labels[code] for code in sorted_codes], parents[sorted_codes]
