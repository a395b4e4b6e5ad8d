"""Public groups of vertices, on one or several nested levels: departments, tracts in counties.

Groups are public: they come out with everything that is computed from them, as do their sizes. This
module knows no edges, so post-processing may use it. Besides the groups there are sets that are
unions of them, and sets of vertices that are written with their names: "@Sales".
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, IntVector
from graphcuts_dp.errors import GraphError, QueryError
from graphcuts_dp.files import PathLike
from graphcuts_dp.schema.columns import Column, Columns
from graphcuts_dp.schema.group_tables import (
    codes_of,
    levels_of,
    read_levels,
    sorted_within,
    with_rest,
)
from graphcuts_dp.schema.group_tree import GroupTree, checked_names, frozen, listed
from graphcuts_dp.schema.vertices import Arcs, Label, NamedSet, VertexSet


@final
class GroupUnion(NamedSet):
    """All vertices of some groups: held as the groups, of which there are few.

    Args:
        groups: that the names are of.
        names: label and level of each group; levels may differ.

    Raises:
        QueryError: no such level, or no such group in it.
    """

    def __init__(self, groups: "Groups", names: Sequence[tuple[Label, str]]) -> None:
        self.groups = groups
        self._names = tuple(names)
        within = [groups.within(label, level) for label, level in self._names]
        self.chosen: BoolVector = np.logical_or.reduce(within)
        self.chosen.flags.writeable = False

    @classmethod
    def of(cls, unions: Sequence["GroupUnion"]) -> "GroupUnion":
        """Of sets of the same groups together; there is at least one."""
        if len(unions) == 1:
            return unions[0]
        found = cls.__new__(cls)
        found.groups = unions[0].groups
        found._names = tuple(name for each in unions for name in each._names)
        found.chosen = np.logical_or.reduce([each.chosen for each in unions])
        found.chosen.flags.writeable = False
        return found

    def truth_vector(self) -> BoolVector:
        """See `NamedSet.truth_vector`; of a single group one object each time."""
        if len(self._names) == 1:
            return self.groups.members(*self._names[0])
        found: BoolVector = self.chosen[self.groups.codes()]
        found.flags.writeable = False
        return found

    def __iter__(self) -> Iterator[Label]:
        labels = self.groups.vertices.labels
        return (labels[row] for row in np.flatnonzero(self.truth_vector()).tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.truth_vector(), dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"GroupUnion({', '.join(repr(label) for label, _ in self._names)})"


_KEPT_BYTES = 1 << 27  # of truth vectors of groups that were asked for


@final
class Groups(GroupTree):
    """A public map from vertices to groups, on one or several nested levels.

    Every group of a level lies in one group of the level before. Groups are public: do not make
    them from private edges. Groups of a level are sorted within the group that holds them, integers
    by size and then strings by letters, unless `order` is given.

    Args:
        vertices: the public vertex set; of a bipartite graph, that of one side.
        levels: name of each level, from the coarsest to the finest, and the label of the group of
            each vertex, in the order of the vertices: strings or integers; None, "" and NaN stand
            for no group.
        default_group: name of the group of all vertices without one; None refuses them. Below the
            first level it is "GROUP/NAME", of the group that holds them.
        order: for some levels, the labels of the groups in the order that they shall have within
            the group that holds them, each once; groups of the rest come last.

    Raises:
        GraphError: no level, labels of the wrong number or kind, a vertex without a group (and no
            `default_group`), a group that lies in two groups of the level before, or an order that
            leaves out a group or names one without vertices.
    """

    def __init__(
        self,
        vertices: VertexSet,
        levels: Mapping[str, Sequence[Any] | npt.NDArray[Any]],
        *,
        default_group: str | None = None,
        order: Mapping[str, Sequence[Label]] | None = None,
    ) -> None:
        if not isinstance(vertices, VertexSet):
            raise GraphError("groups are of a VertexSet: pass graph.vertices, or one side")
        names = checked_names(levels)
        order = dict(order or {})
        if not set(order) <= set(names):
            raise GraphError(f"the order names a level that is none of {listed(names)}")
        if default_group is not None and (not isinstance(default_group, str) or not default_group):
            raise GraphError(
                "default_group is the name of a group, for example default_group='other'"
            )
        self.vertices = vertices
        codes = np.zeros(len(vertices), dtype=np.int64)
        above: tuple[Label, ...] = ()
        tables, parents = [], []
        self._codes: list[IntVector] = []
        self._members: dict[tuple[int, int], BoolVector] = {}  # truth vectors asked for so far
        for name, given in levels.items():
            found, table = codes_of(vertices, name, given)
            own_order = order.get(name)
            if (found < 0).any():
                known = len(table)
                found, table = with_rest(
                    vertices, name, (found, table), (codes, above), default_group
                )
                if own_order is not None:
                    own_order = [*own_order, *table[known:]]
            found, table, parent = sorted_within(name, (found, table), codes, own_order)
            codes, above = found, tuple(table)
            tables.append(above)
            parents.append(parent)
            self._codes.append(frozen(codes))
        super().__init__(
            dict(zip(names, tables, strict=True)),
            [np.bincount(found) for found in self._codes],
            parents,
        )

    @classmethod
    def read(
        cls,
        path: PathLike,
        graph: Any,
        *,
        columns: Sequence[Column] | None = None,
        vertex: Column | None = None,
        default_group: str | None = None,
        order: Mapping[str, Sequence[Label]] | None = None,
        unknown: str = "error",
        text: Columns | None = None,
    ) -> Self:
        """Read public groups of vertices from a table.

        The table has a row for each vertex: .csv, .tsv or .txt, perhaps packed (.gz); quotes,
        separators and encodings are read as by `Graph.read`. Groups are integers where all labels
        of a level are integer literals, else strings.

        Args:
            path: the file.
            graph: the graph, or its public `VertexSet`; of a bipartite graph one side.
            columns: the columns of the groups, from the coarsest level to the finest, by name or by
                place from 0; None for the only one besides that of the vertices, and besides the
                marks of a table of parts that a seed made. A column by place is a level "level 1",
                "level 2", ... where the file has no header.
            vertex: column of the vertices, by name or place; None for the first, or with a header
                for the only one that is called vertex, id, node, name, or the like.
            default_group: name of the group of all vertices without one; None refuses them.
            order: order of the groups of some levels, see `Groups`.
            unknown: "error" refuses a row about something that is no vertex of the graph; "ignore"
                leaves such rows out.
            text: how a table is read, as `gc.Columns(header=False)`: its `header`, `delimiter` and
                `encoding`. Without a word about its header, the first line names the columns if
                columns are given by name, else in .csv and .tsv files (where it must be said if
                columns are given by place), and not in .txt files.

        Raises:
            FileFormatError: the file cannot be read, or not in one way (the message names the
                option that decides); told by the number of its line: an unknown vertex, one that
                has a row already, or a row of another length.
            GraphError: as `Groups`.
            ParameterError: an option out of range.
        """
        vertices = vertices_of(graph)
        levels = read_levels(path, vertices, columns, vertex, unknown, text or Columns())
        return cls(vertices, levels, default_group=default_group, order=order)

    @classmethod
    def of(
        cls,
        source: Any,
        graph: Any,
        columns: Column | Sequence[Column] | None = None,
        *,
        vertex: Column | None = None,
        default_group: str | None = None,
        order: Mapping[str, Sequence[Label]] | None = None,
        unknown: str = "error",
    ) -> Self:
        """Make public groups from a dict or a table.

        Args:
            source: one of the following.

                A dict: for each vertex the label of its group, or with several levels a tuple of
                labels from the coarsest to the finest. Vertices that are left out have none.

                A table of pandas, polars or the like with one row for each vertex, or a series,
                whose index holds the vertices. Groups are read value by value: text and integers
                stay, a whole floating-point number is an integer (pandas has them in columns with
                gaps), and None, "" and NaN stand for no group.

                Vertices are matched by their text: 1 and "1" are one vertex.

                Of attributes of a graph of networkx a dict is `dict(source.nodes(data="club"))`, of
                igraph `dict(zip(source.vs["name"], source.vs["club"]))`.
            graph: the graph, or its public `VertexSet`; of a bipartite graph one side.
            columns: names of the levels, from the coarsest to the finest: of a dict ("group" if
                omitted), or the columns of a table, by name or place from 0 (all but `vertex`).
                Levels of a table of pandas without names of columns are "level 1", "level 2", ...
            vertex: of a table: column of the vertices, by name or place. None for the index of a
                table of pandas, unless it only numbers the rows; else for the only column that is
                called vertex, id, node, name, or the like, or the first of columns without names.
            default_group: name of the group of all vertices without one; None refuses them.
            order: order of the groups of some levels, see `Groups`; categories of a column of
                pandas that is ordered are their order already.
            unknown: "error" refuses a row about something that is no vertex; "ignore" leaves it
                out.

        Raises:
            GraphError: as `Groups`; no such column, an unknown vertex, or one with two rows.
            ParameterError: an option out of range.

        Examples:
            >>> graph = gc.Graph.of([("ann", "bob")], vertices=["ann", "bob", "eve"])
            >>> gc.Groups.of({"ann": "Sales", "bob": "IT", "eve": "IT"}, graph).labels()
            ('IT', 'Sales')
        """
        vertices = vertices_of(graph)
        levels, known = levels_of(source, vertices, columns, vertex, unknown)
        return cls(vertices, levels, default_group=default_group, order={**known, **(order or {})})

    @classmethod
    def of_codes(cls, vertices: VertexSet, tree: GroupTree, codes: IntVector) -> Self:
        """Groups of known names, from the code of the finest group of each vertex.

        Raises:
            GraphError: groups of other sizes.
        """
        found = cls.__new__(cls)
        GroupTree.__init__(
            found,
            {name: tree.labels(name) for name in tree.levels},
            [tree.sizes(name) for name in tree.levels],
            [tree.parents(name) for name in tree.levels],
        )
        counted = np.bincount(codes, minlength=len(tree.sizes()))
        if len(codes) != len(vertices) or not np.array_equal(counted, tree.sizes()):
            raise GraphError("the groups have other sizes")
        found.vertices, found._members = vertices, {}
        found._codes = [frozen(above[codes]) for above in found._above]
        return found

    @property
    def tree(self) -> GroupTree:
        """Names and sizes alone."""
        return GroupTree(
            {name: self.labels(name) for name in self.levels}, self._sizes, self._parents
        )

    def codes(self, level: str | None = None) -> IntVector:
        """The code of the group of each vertex, shape (n,). Do not write to it.

        Raises:
            QueryError: no such level.
        """
        return self._codes[self.level_index(level)]

    def members(self, label: Label, level: str | None = None) -> BoolVector:
        """Truth vector of the vertices of a group, shape (n,), read-only: a set of a `CutQuery`.

        Raises:
            QueryError: no such level, or no such group in it.
        """
        which = self.level_index(level), self.code(label, level)
        found = self._members.get(which)
        if found is None:
            found = self._codes[which[0]] == which[1]
            found.flags.writeable = False
            if len(self._members) * len(found) >= _KEPT_BYTES:
                self._members.clear()
            self._members[which] = found
        return found

    def within(self, label: Label, level: str | None = None) -> BoolVector:
        """Which groups of the finest level lie in a group, shape (finest groups,).

        Raises:
            QueryError: no such level, or no such group in it.
        """
        place, code = self.level_index(level), self.code(label, level)
        found: BoolVector = self._above[place] == code
        return found

    @cached_property
    def read_names(self) -> dict[str, NamedSet]:
        """Groups by the texts that named them so far."""
        return {}

    @cached_property
    def _above(self) -> list[IntVector]:
        """For each level, the code of the group that holds each group of the finest level."""
        found = [np.arange(len(self._sizes[-1]))]
        for parents in reversed(self._parents[1:]):
            found.append(parents[found[-1]])
        return found[::-1]

    def down_to(self, level: str) -> "Groups":
        """The same without the levels below one.

        Raises:
            QueryError: no such level.
        """
        if level == self.levels[-1]:
            return self
        kept = self.level_index(level) + 1
        labels = {name: self.labels(name) for name in self.levels[:kept]}
        tree = GroupTree(labels, self._sizes[:kept], self._parents[:kept])
        return Groups.of_codes(self.vertices, tree, self._codes[kept - 1])

    def group_of(self, vertex: Label, level: str | None = None) -> Label:
        """The group of a vertex.

        Raises:
            QueryError: no such level or vertex.
        """
        row = self.vertices.find(vertex)
        if row is None:
            raise QueryError(f"unknown vertex {vertex!r:.60}")
        return self.labels(level)[int(self.codes(level)[row])]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Groups):
            return NotImplemented
        return (
            self.vertices == other.vertices
            and self.tree == other.tree
            and np.array_equal(self.codes(), other.codes())
        )

    __hash__ = GroupTree.__hash__


def vertices_of(graph: Any) -> VertexSet:
    """The vertex set of a graph or of rows with users, or a vertex set itself.

    Raises:
        GraphError: a bipartite graph, of which one side must be named, or something else.
    """
    if isinstance(graph, VertexSet):
        return graph
    for name in ("vertices", "space"):
        found = getattr(graph, name, None)
        if isinstance(found, VertexSet):
            return found
        if isinstance(found, Arcs):
            return found.vertices
    if hasattr(graph, "left"):
        raise GraphError("a bipartite graph has two sides: pass graph.left or graph.right")
    if isinstance(getattr(graph, "space", None), tuple):
        raise GraphError("these rows join two sides: pass the VertexSet of one, rows.space[0]")
    raise GraphError("groups are of a graph or a VertexSet: pass the graph, or graph.vertices")


Sides = tuple[Groups, Groups]  # of rows and columns; one object for one vertex set
