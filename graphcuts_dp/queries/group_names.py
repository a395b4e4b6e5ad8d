"""Sets of vertices that are written with names of groups: "@Sales", "@county:Kent".

Public groups of vertices have labels, on one or several levels (see `schema.groups`). Where a query
is asked, "@" and the label of a group stand for all vertices of the group. A level before a colon
says which level is meant, and a list may mix names of groups with vertex labels.

`members` turns such a set into one that `CutQuery` takes. `GroupNames` does so for both sets of a
query.

Terms used here:

- A *truth vector* has True for each vertex in the set, shape (n,).
- A `NamedSet` is a set that is stored by a name and makes its truth vector when asked. A
  `GroupUnion` is a `NamedSet`, made of (label, level) pairs of groups. A set that consists of
  groups alone becomes one.
- `Groups` are public nested groups: each group of a level lies in one of the level before. The
  last level is the *finest*. Labels of groups are texts or integers; "@7" also names the group with
  the integer label 7: `label_of_text(text, level)` returns the label, or None if there is none.
"""

from collections.abc import Iterable
from typing import Any, final

import numpy as np

from graphcuts_dp.errors import QueryError
from graphcuts_dp.queries.linear import MARK, CutQuery, Subset
from graphcuts_dp.schema.group_tree import listed
from graphcuts_dp.schema.groups import Groups, GroupUnion
from graphcuts_dp.schema.vertices import ALL, Label, NamedSet, plain_subset

_MAX_CACHED_NAMES = 100_000  # sets that one `Groups` keeps by name; then its cache is emptied


@final
class GroupNames:
    """Read "@Sales" as all vertices of the group Sales.

    A group is looked for on all levels; "@county:Kent" says which level is meant. A set is one
    name, or a list of names and vertex labels, which means the vertices of all of them together.
    Sets without names of groups pass unchanged.

    Args:
        left: groups of the vertices that S is made of.
        right: groups of the vertices that T is made of; the same object unless the graph is
            bipartite.
    """

    def __init__(self, left: Groups, right: Groups) -> None:
        self.left = left
        self.right = right

    def query(self, S: Subset | str, T: Subset | str | None = None) -> CutQuery:
        """Return the cut query between two sets; T is None as for `CutQuery`.

        Raises:
            QueryError: an unknown group, or a name that may mean two things.
        """
        return CutQuery(members(S, self.left), None if T is None else members(T, self.right))

    def named(self, query: CutQuery) -> CutQuery:
        """Return the same query with each name of a group replaced by the set of its vertices."""
        return self.query(query.S, query.T)


def members(subset: Subset | str, groups: Groups) -> Subset:
    """Return the vertices that a set written with names of groups stands for.

    Args:
        subset: a text "@" and a name of a group; or several vertex labels and such texts; or a
            single integer label. A truth vector, a `NamedSet` and "*", which stands for all
            vertices, are returned as they are.
        groups: public groups of the vertices.

    Returns:
        A `GroupUnion` if all items are names of groups; a truth vector if only some are; else the
        list of vertex labels (of one label, if that was passed), which `CutQuery` checks later.

    Raises:
        QueryError: a single text without "@", an unknown group or vertex, or a name that may mean
            two things.
    """
    if isinstance(subset, np.ndarray | NamedSet) or (isinstance(subset, str) and subset == ALL):
        return subset
    if isinstance(subset, str):
        if not subset.startswith(MARK):
            raise QueryError(
                f"a set is a list of labels, or the name of a group, such as '@{subset:.60}'"
            )
        subset = [subset]
    subset = plain_subset(subset) if isinstance(subset, Iterable) else [subset]
    if isinstance(subset, np.ndarray):
        return subset
    labels: list[Any] = list(subset)
    marked = [label for label in labels if isinstance(label, str) and label.startswith(MARK)]
    # A vertex may have a label that begins with "@". It is no name, and stays among the labels.
    names = [label for label in marked if not _is_vertex(label, groups)]
    if not names:
        return labels
    union = GroupUnion.of([_group_union(name[len(MARK) :], groups) for name in names])
    if len(names) == len(labels):
        return union
    name_set = set(names)
    # Truth vector of the vertices that are written by their own labels, (n,).
    vertices = groups.vertices.mask([label for label in labels if label not in name_set])
    return np.logical_or(vertices, union.truth_vector())


def is_group(name: str, groups: Groups) -> bool:
    """Return whether a group of any level has this name, or "level:name"."""
    return bool(_labels_by_level(name, groups))


def _is_vertex(marked_name: str, groups: Groups) -> bool:
    """Return whether a text that begins with "@" is a vertex label.

    Raises:
        QueryError: it is the name of a group as well.
    """
    if groups.vertices.find(marked_name) is None:
        return False
    if is_group(marked_name[len(MARK) :], groups):
        raise QueryError(
            f"{marked_name!r:.60} is a vertex and the name of a group: pass groups.members(...) for"
            " the group, a truth vector for the vertex"
        )
    return True


def _group_union(name: str, groups: Groups) -> GroupUnion:
    """Return the vertices of one group, from the cache `Groups.sets_by_text` if they are there.

    This module alone writes to that cache, under names without "@". `Groups` declares its entries
    as `NamedSet`, so the type is tested for the type checker.
    """
    cached = groups.sets_by_text.get(name)
    if isinstance(cached, GroupUnion):
        return cached
    if len(groups.sets_by_text) >= _MAX_CACHED_NAMES:
        groups.sets_by_text.clear()
    union = GroupUnion(groups, [_label_and_level(name, groups)])
    groups.sets_by_text[name] = union
    return union


def _label_and_level(name: str, groups: Groups) -> tuple[Label, str]:
    """Return the label and the level of the group that a name means.

    A name on several levels is allowed if it has the same vertices on each.

    Raises:
        QueryError: an unknown group, or one name for different groups.
    """
    labels = _labels_by_level(name, groups)
    if not labels:
        # The first few groups of the finest level.
        known = listed([f"{MARK}{label}" for label in groups.labels()])
        raise QueryError(f"unknown group '@{name:.60}'; there are {known}")
    # For each level with the name, which finest groups lie in its group, shape (finest groups,).
    sets = [groups.within(label, level) for level, label in labels.items()]
    if any(not np.array_equal(sets[0], another) for another in sets[1:]):
        raise QueryError(
            f"'@{name:.60}' is a group of several levels: write one of "
            + ", ".join(f"'@{level}:{name:.60}'" for level in labels)
        )
    level, label = next(iter(labels.items()))
    return label, level


def _labels_by_level(name: str, groups: Groups) -> dict[str, Label]:
    """Return the label of the group of this name on each level that has one.

    A level has at most one such label: `Groups` refuses two labels with the same text, such as 7
    and "7". "level:name" is read as a level and a name only if no group has the whole text as its
    label.
    """
    labels = {level: groups.label_of_text(name, level) for level in groups.levels}
    level, colon, name_on_level = name.partition(":")
    if colon and level in groups.levels and all(label is None for label in labels.values()):
        labels = {level: groups.label_of_text(name_on_level, level)}
    return {level: label for level, label in labels.items() if label is not None}
