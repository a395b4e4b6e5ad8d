"""Sets of queries that are written with names of groups: "@Sales", "@county:Kent"."""

from collections.abc import Iterable
from typing import Any, final

import numpy as np

from graphcuts_dp.errors import QueryError
from graphcuts_dp.queries.linear import MARK, CutQuery, Subset
from graphcuts_dp.schema.group_tree import listed
from graphcuts_dp.schema.groups import Groups, GroupUnion
from graphcuts_dp.schema.vertices import ALL, Label, NamedSet

_MOST_KNOWN = 100_000  # names that were read


@final
class GroupNames:
    """Reads "@Sales" as all vertices of the group Sales.

    A group is looked for on all levels; "@county:Kent" says which level is meant. A set is one
    name, or a list of names and vertex labels, which means the vertices of all of them together.

    Args:
        left: groups of the vertices that S is made of.
        right: of those that T is made of; the same object unless the graph is bipartite.
    """

    def __init__(self, left: Groups, right: Groups) -> None:
        self.left = left
        self.right = right

    def query(self, S: Subset | str, T: Subset | str | None = None) -> CutQuery:
        """The cut query between two sets; T as for `CutQuery`.

        Raises:
            QueryError: an unknown group, or a name that may mean two things.
        """
        return CutQuery(members(S, self.left), None if T is None else members(T, self.right))

    def named(self, query: CutQuery) -> CutQuery:
        """The same query with its names read."""
        return self.query(query.S, query.T)


def members(given: Subset | str, groups: Groups) -> Subset:
    """The vertices that a set written with names of groups stands for.

    Args:
        given: a name of a group after "@", a list of such names and vertex labels, or a truth
            vector or a `NamedSet`, which stays as it is.
        groups: of the vertices.

    Returns:
        A `GroupUnion` where all are names of groups.

    Raises:
        QueryError: an unknown group or vertex, or a name that may mean two things.
    """
    if isinstance(given, np.ndarray | NamedSet) or (isinstance(given, str) and given == ALL):
        return given
    if isinstance(given, str):
        if not given.startswith(MARK):
            raise QueryError(
                f"a set is a list of labels, or the name of a group, such as '@{given:.60}'"
            )
        given = [given]
    labels: list[Any] = list(given) if isinstance(given, Iterable) else [given]
    names = [each for each in labels if isinstance(each, str) and each.startswith(MARK)]
    names = [each for each in names if not _is_vertex(each, groups)]
    if not names:
        return labels
    union = GroupUnion.of([_group(name[len(MARK) :], groups) for name in names])
    if len(names) == len(labels):
        return union
    marked = set(names)
    others = groups.vertices.mask([each for each in labels if each not in marked])
    return np.logical_or(others, union.truth_vector())


def is_group(name: str, groups: Groups) -> bool:
    """Whether a group of any level has this name, or "level:name"."""
    return bool(_found(name, groups))


def _is_vertex(name: str, groups: Groups) -> bool:
    if groups.vertices.find(name) is None:
        return False
    if is_group(name[len(MARK) :], groups):
        raise QueryError(
            f"{name!r:.60} is a vertex and the name of a group: pass groups.members(...) for the "
            "group, a truth vector for the vertex"
        )
    return True


def _group(name: str, groups: Groups) -> GroupUnion:
    """The group of a name, which is looked for once."""
    known = groups.sets_by_text
    found = known.get(name)
    if not isinstance(found, GroupUnion):
        if len(known) >= _MOST_KNOWN:
            known.clear()
        found = known[name] = GroupUnion(groups, [_label_and_level(name, groups)])
    return found


def _label_and_level(name: str, groups: Groups) -> tuple[Label, str]:
    found = _found(name, groups)
    if not found:
        known = listed([f"{MARK}{label}" for label in groups.labels()])
        raise QueryError(f"unknown group '@{name:.60}'; there are {known}")
    sets = [groups.within(label, level) for level, label in found.items()]
    if any(not np.array_equal(sets[0], other) for other in sets[1:]):
        raise QueryError(
            f"'@{name:.60}' is a group of several levels: write one of "
            + ", ".join(f"'@{level}:{name:.60}'" for level in found)
        )
    level, label = next(iter(found.items()))
    return label, level


def _found(name: str, groups: Groups) -> dict[str, Label]:
    """The labels of this name, by level; labels of a level differ as texts."""
    found = {level: groups.label_of_text(name, level) for level in groups.levels}
    level, colon, rest = name.partition(":")
    if colon and level in groups.levels and not any(each is not None for each in found.values()):
        found = {level: groups.label_of_text(rest, level)}
    return {level: each for level, each in found.items() if each is not None}
