"""Group trees: names, sizes and parents of nested groups, without their members.

A `GroupTree` describes the groups of the vertices on one or several levels, from the coarsest to
the finest: the rows, and the columns, of a table of flows between groups. `Groups` adds which
vertex is in which group. Periods of time have the same structure: the shortest periods are then the
"vertices" that are counted, see `Periods.tree`.

The *code* of a group is its number within its level, from 0. Its *parent* is the group of the level
before that holds it. Groups of one parent have neighbouring codes: `parents` never decreases.
`schema.cells` relies on that.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import GraphError, QueryError
from graphcuts_dp.schema.vertices import Label, VertexSet

_SHOWN_NAMES = 6  # that a message quotes
_SHOWN_CHARACTERS = 40  # of each of them


class GroupTree:
    """Names, sizes and parents of nested groups.

    A group label keeps the rules of vertex labels: a string or an integer, and no two labels of a
    level are the same text.

    Args:
        labels: name of each level, from the coarsest to the finest, and the labels of its groups
            in the order of their codes.
        sizes: for each level, how many vertices each group has; whole numbers >= 1.
        parents: for each level, the code of the group of the level before that holds each group;
            zeros for the first level.

    Raises:
        GraphError: no level, no group, a label twice in a level or not a string or integer, or
            numbers that do not fit together.

    Examples:
        >>> zones = gc.Groups(gc.VertexSet(["a", "b", "c"]), {"zone": ["north", "north", "south"]})
        >>> zones.tree.labels("zone")
        ('north', 'south')
    """

    def __init__(
        self,
        labels: Mapping[str, Iterable[Label]],
        sizes: Sequence[npt.ArrayLike],
        parents: Sequence[npt.ArrayLike],
    ) -> None:
        self._names = checked_names(labels)
        # The labels of each level. A `VertexSet` holds labels, and finds the row of a label; here
        # the row is the code of a group.
        self._sets = tuple(label_set(name, level_labels) for name, level_labels in labels.items())
        self._sizes = tuple(frozen(np.asarray(level_sizes)) for level_sizes in sizes)
        self._parents = tuple(frozen(np.asarray(level_parents)) for level_parents in parents)
        if not len(self._sets) == len(self._sizes) == len(self._parents):
            raise GraphError("groups need labels, sizes and parents for every level")
        # Sizes of the groups of the level before. Before the first level, that is a single group of
        # all vertices.
        sizes_before = np.array([self._sizes[0].sum()])
        for label_vertices, level_sizes, level_parents in zip(
            self._sets, self._sizes, self._parents, strict=True
        ):
            shapes = {level_sizes.shape, level_parents.shape, (len(label_vertices),)}
            if len(shapes) > 1 or (level_sizes < 1).any() or (np.diff(level_parents) < 0).any():
                raise GraphError("sizes of groups are at least 1, and parents are in order")
            known_parents = level_parents.min() >= 0 and level_parents.max() < len(sizes_before)
            # `bincount` adds up the sizes of the groups within each parent.
            if not known_parents or not np.array_equal(
                np.bincount(level_parents, weights=level_sizes, minlength=len(sizes_before)),
                sizes_before,
            ):
                raise GraphError("sizes of groups do not add up to those of the level before")
            sizes_before = level_sizes

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._sizes = tuple(map(frozen, self._sizes))  # a pickle forgets that they are read-only
        self._parents = tuple(map(frozen, self._parents))

    @property
    def levels(self) -> tuple[str, ...]:
        """Names of the levels, from the coarsest to the finest."""
        return self._names

    @property
    def n(self) -> int:
        """Number of vertices."""
        return int(self._sizes[0].sum())

    def labels(self, level: str | None = None) -> tuple[Label, ...]:
        """Return the labels of the groups of a level in the order of codes; None for the finest.

        Args:
            level: of the groups; the finest if None.

        Raises:
            QueryError: no such level.
        """
        return tuple(self._sets[self.level_index(level)].labels)

    def label_of_text(self, text: str, level: str | None = None) -> Label | None:
        """Return the label of a level that is written as a text; None if there is none.

        "7" may be the label 7; "007" is not.

        Args:
            text: as it is typed.
            level: of the groups; the finest if None.

        Raises:
            QueryError: no such level.
        """
        groups = self._sets[self.level_index(level)]
        code = groups.find_text(text)
        if code is None or str(groups.labels[code]) != text:
            return None
        return groups.labels[code]

    def sizes(self, level: str | None = None) -> IntVector:
        """Return how many vertices each group has, shape (groups,). Do not write to it.

        Args:
            level: of the groups; the finest if None.

        Raises:
            QueryError: no such level.
        """
        return self._sizes[self.level_index(level)]

    def parents(self, level: str | None = None) -> IntVector:
        """Return the code of the group of the level before that holds each, shape (groups,).

        Zeros for the first level.

        Args:
            level: of the groups; the finest if None.

        Raises:
            QueryError: no such level.
        """
        return self._parents[self.level_index(level)]

    def level_index(self, level: str | None = None) -> int:
        """Return the index of a level: 0 for the coarsest; the last one for None.

        Args:
            level: of the groups; the finest if None.

        Raises:
            QueryError: no such level.
        """
        if level is None:
            return len(self._names) - 1
        if level not in self._names:
            raise QueryError(f"unknown level {level!r:.60}; there are {listed(self._names)}")
        return self._names.index(level)

    def code(self, label: Hashable, level: str | None = None) -> int:
        """Return the code of a group within its level.

        Args:
            label: of the group.
            level: name of its level; None for the finest.

        Raises:
            QueryError: no such level, or no such group in it.
        """
        level_index = self.level_index(level)
        code = self._sets[level_index].find(label)
        if code is None:
            levels_with_label = [
                name
                for name, groups in zip(self._names, self._sets, strict=True)
                if groups.find(label) is not None
            ]
            advice = ""
            if levels_with_label:
                advice = f"; say level={levels_with_label[0]!r:.60} for the group of this name"
            raise QueryError(
                f"unknown group {label!r:.60}; level {self._names[level_index]!r:.60} has "
                f"{len(self._sets[level_index])} groups{advice}"
            )
        return code

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GroupTree):
            return NotImplemented
        # A tree equals `Groups` that have the same names, sizes and parents. Members are compared
        # only between two `Groups`.
        return bool(self.to_dict()["levels"] == other.to_dict()["levels"])

    def __hash__(self) -> int:
        return hash((self._names, self._sets))

    def __repr__(self) -> str:
        counts = (
            f"{len(groups)} {name}" for name, groups in zip(self._names, self._sets, strict=True)
        )
        return f"{type(self).__name__}(n={self.n}; {', '.join(counts)})"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, which receipts store."""
        levels = zip(self._names, self._sets, self._sizes, self._parents, strict=True)
        return {
            "levels": [
                {
                    "name": name,
                    "labels": list(groups.labels),
                    "sizes": sizes.tolist(),
                    "parents": parents.tolist(),
                }
                for name, groups, sizes, parents in levels
            ]
        }

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> "GroupTree":
        """Return the tree that `to_dict` wrote.

        Args:
            stored: what `to_dict` returned, perhaps of an earlier version.

        Raises:
            GraphError, KeyError, TypeError, ValueError: it is something else.
        """
        levels = stored["levels"]
        return GroupTree(
            {level["name"]: level["labels"] for level in levels},
            [np.array(level["sizes"], dtype=np.int64) for level in levels],
            [np.array(level["parents"], dtype=np.int64) for level in levels],
        )


def checked_names(levels: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of levels, checked.

    Raises:
        GraphError: no levels, or names that are no text.
    """
    if not isinstance(levels, Mapping) or not levels:
        raise GraphError("groups need at least one level: {'department': [...]}")
    if not all(isinstance(name, str) and name for name in levels):
        raise GraphError("names of levels are strings that are not empty")
    return tuple(levels)


def frozen(values: npt.NDArray[Any]) -> IntVector:
    """Return a read-only copy of whole numbers, one for each group or vertex.

    Raises:
        GraphError: something else, or no number.
    """
    if values.dtype.kind not in "iu" or values.ndim != 1 or not len(values):
        raise GraphError("sizes and parents of groups are whole numbers, one a group")
    integers = values.astype(np.int64)
    integers.flags.writeable = False
    return integers


def label_set(level: str, labels: Iterable[Label]) -> VertexSet:
    """Return the labels of a level as a vertex set, which finds the code of a label.

    Raises:
        GraphError: the labels break the rules of vertex labels.
    """
    try:
        return VertexSet(list(labels))
    except GraphError as problem:
        text = str(problem).replace("vertex label", "group label")
        raise GraphError(f"level {level!r:.60}: {text}") from None


def listed(names: Sequence[str]) -> str:
    """Return the first few names, for a message."""
    shown = [f"{name[:_SHOWN_CHARACTERS]!r}" for name in names[:_SHOWN_NAMES]]
    return ", ".join(shown) + (", ..." if len(names) > _SHOWN_NAMES else "")
