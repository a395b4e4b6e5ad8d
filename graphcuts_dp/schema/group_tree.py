"""The public facts of nested groups: names, sizes and parents, without who is in which group."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import GraphError, QueryError
from graphcuts_dp.schema.vertices import Label, VertexSet

_SHOWN = 6  # names that a message quotes


class GroupTree:
    """Names and sizes of nested groups, without their members: the rows and columns of flows.

    Groups of a level are numbered by codes 0, 1, ..., those of one enclosing group after each
    other.

    Args:
        labels: name of each level, from the coarsest to the finest, and the labels of its groups
            in the order of their codes.
        sizes: how many vertices each group has, for each level; whole numbers >= 1.
        parents: for each level the code of the group of the level before that holds the group;
            zeros for the first level.

    Raises:
        GraphError: no level, no group, a label twice in a level or not a string or integer, or
            numbers that do not fit together.
    """

    def __init__(
        self,
        labels: Mapping[str, Iterable[Label]],
        sizes: Sequence[npt.ArrayLike],
        parents: Sequence[npt.ArrayLike],
    ) -> None:
        self._names = checked_names(labels)
        self._sets = tuple(label_set(name, given) for name, given in labels.items())
        self._sizes = tuple(frozen(np.asarray(given)) for given in sizes)
        self._parents = tuple(frozen(np.asarray(given)) for given in parents)
        if not len(self._sets) == len(self._sizes) == len(self._parents):
            raise GraphError("groups need labels, sizes and parents for every level")
        above = np.array([self._sizes[0].sum()])
        for names, own, parent in zip(self._sets, self._sizes, self._parents, strict=True):
            shapes = {own.shape, parent.shape, (len(names),)}
            if len(shapes) > 1 or (own < 1).any() or (np.diff(parent) < 0).any():
                raise GraphError("sizes of groups are at least 1, and parents are in order")
            if not (parent.min() >= 0 and parent.max() < len(above)) or not np.array_equal(
                np.bincount(parent, weights=own, minlength=len(above)), above
            ):
                raise GraphError("sizes of groups do not add up to those of the level before")
            above = own

    @property
    def levels(self) -> tuple[str, ...]:
        """Names of the levels, from the coarsest to the finest."""
        return self._names

    @property
    def n(self) -> int:
        """Number of vertices."""
        return int(self._sizes[0].sum())

    def labels(self, level: str | None = None) -> tuple[Label, ...]:
        """Labels of the groups of a level in the order of their codes; None for the finest.

        Raises:
            QueryError: no such level.
        """
        return tuple(self._sets[self.level_index(level)].labels)

    def label_of_text(self, text: str, level: str | None = None) -> Label | None:
        """The label of a level that is written like this, if there is one.

        Raises:
            QueryError: no such level.
        """
        groups = self._sets[self.level_index(level)]
        code = groups.find_text(text)
        if code is None or str(groups.labels[code]) != text:  # 007 is not 7
            return None
        return groups.labels[code]

    def sizes(self, level: str | None = None) -> IntVector:
        """How many vertices each group has, shape (groups,). Do not write to it.

        Raises:
            QueryError: no such level.
        """
        return self._sizes[self.level_index(level)]

    def parents(self, level: str | None = None) -> IntVector:
        """Codes of the enclosing groups of the level before, shape (groups,); 0 for the first.

        Raises:
            QueryError: no such level.
        """
        return self._parents[self.level_index(level)]

    def level_index(self, level: str | None = None) -> int:
        """Number of a level from 0, the coarsest; None for the finest.

        Raises:
            QueryError: no such level.
        """
        if level is None:
            return len(self._names) - 1
        if level not in self._names:
            raise QueryError(f"unknown level {level!r:.60}; there are {listed(self._names)}")
        return self._names.index(level)

    def code(self, label: Hashable, level: str | None = None) -> int:
        """Number of a group within its level.

        Raises:
            QueryError: no such level, or no such group in it.
        """
        place = self.level_index(level)
        found = self._sets[place].find(label)
        if found is None:
            others = [
                name
                for name, groups in zip(self._names, self._sets, strict=True)
                if groups.find(label) is not None
            ]
            there = f"; say level={others[0]!r:.60} for that of this name" if others else ""
            raise QueryError(
                f"unknown group {label!r:.60}; level {self._names[place]!r:.60} has "
                f"{len(self._sets[place])} groups{there}"
            )
        return found

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GroupTree):
            return NotImplemented
        mine, theirs = (each.to_dict()["levels"] for each in (self, other))
        return bool(mine == theirs)

    def __hash__(self) -> int:
        return hash((self._names, self._sets))

    def __repr__(self) -> str:
        counts = (f"{len(s)} {name}" for name, s in zip(self._names, self._sets, strict=True))
        return f"{type(self).__name__}(n={self.n}; {', '.join(counts)})"

    def to_dict(self) -> dict[str, Any]:
        """For receipts: plain values."""
        parts = zip(self._names, self._sets, self._sizes, self._parents, strict=True)
        return {
            "levels": [
                {
                    "name": name,
                    "labels": list(labels.labels),
                    "sizes": sizes.tolist(),
                    "parents": parents.tolist(),
                }
                for name, labels, sizes, parents in parts
            ]
        }

    @staticmethod
    def from_dict(stored: Mapping[str, Any]) -> "GroupTree":
        """Read what `to_dict` wrote.

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
    """Return whole numbers, one a group, which nobody writes to.

    Raises:
        GraphError: something else.
    """
    if values.dtype.kind not in "iu" or values.ndim != 1 or not len(values):
        raise GraphError("sizes and parents of groups are whole numbers, one a group")
    found = values.astype(np.int64)
    found.flags.writeable = False
    return found


def label_set(level: str, labels: Iterable[Label]) -> VertexSet:
    """Labels with a way back to their codes; they keep the rules of the labels of vertices."""
    try:
        return VertexSet(list(labels))
    except GraphError as problem:
        text = str(problem).replace("vertex label", "group label")
        raise GraphError(f"level {level!r:.60}: {text}") from None


def listed(names: Sequence[str]) -> str:
    """Return the first few names, for a message."""
    shown = [f"{name[:40]!r}" for name in names[:_SHOWN]]
    return ", ".join(shown) + (", ..." if len(names) > _SHOWN else "")
