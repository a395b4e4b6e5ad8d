"""Groups of vertices, on one or several nested levels: departments, or tracts within counties.

`Groups` maps each vertex of a public vertex set to a group on each level. It extends `GroupTree`,
which holds the names and sizes of the groups without their members. Groups are public: they appear
in every result that is computed from them. They hold no edges, so post-processing may use them.

The groups of a level have *codes* 0, 1, 2, .... The finest level is the last one; each of its
groups lies in exactly one group of every other level. `GroupUnion` is the set of all vertices of
some groups, such as a user writes by name in a query: "@Sales".

A *truth vector* has shape (n,), and says of each vertex, by its row in the `VertexSet`, whether it
belongs to a set. Truth vectors and codes are shared between objects, so all of them are read-only.

`GroupTree` holds for each level `_sizes` (vertices of each group) and `_parents` (code of the group
of the level before that holds each group), shape (groups,) each.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import NoneType
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, IntVector
from graphcuts_dp.errors import GraphError, KindError, UnknownVertexError
from graphcuts_dp.files import PathLike
from graphcuts_dp.final_classes import final
from graphcuts_dp.options import check_type
from graphcuts_dp.schema.columns import Column, Columns
from graphcuts_dp.schema.group_codes import codes_of, sorted_within, with_default_groups
from graphcuts_dp.schema.group_tables import levels_of, read_levels
from graphcuts_dp.schema.group_tree import GroupTree, checked_names, frozen, listed
from graphcuts_dp.schema.library_graphs import library_of, vertex_attribute, vertex_set_of
from graphcuts_dp.schema.vertices import Arcs, Label, NamedSet, VertexSet

# Memory of the truth vectors of groups that `Groups.members` keeps: 128 MiB, one byte a vertex.
_KEPT_BYTES = 1 << 27


@final
class Groups(GroupTree):
    """A public map from vertices to groups, on one or several nested levels.

    Every group of a level lies in one group of the level before. Groups are public: do not make
    them from private edges. Groups of a level are sorted within the group that holds them, integers
    by size and then strings by letters, unless `order` says otherwise.

    Args:
        vertices: the public vertex set; of a bipartite graph, that of one side.
        levels: name of each level, from the coarsest to the finest, and the label of the group of
            each vertex, in the order of the vertices: strings or integers; None, "" and NaN stand
            for no group.
        default_group: name of the group of all vertices without one; None refuses them. Below the
            first level its label is "GROUP/NAME", within the group GROUP of the level before; but
            within the default group of the level before it is NAME.
        order: for some levels, all labels of groups, each once, in the order that they shall have
            within the group that holds them. Default groups are not listed, and come last.

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
        level_names = checked_names(levels)
        orders = dict(order or {})
        if not set(orders) <= set(level_names):
            raise GraphError(f"the order names a level that is none of {listed(level_names)}")
        if default_group is not None and (not isinstance(default_group, str) or not default_group):
            raise GraphError(
                "default_group is the name of a group, for example default_group='other'"
            )
        self.vertices = vertices
        self._codes: list[IntVector] = []  # for each level, the code of each vertex
        self._members: dict[tuple[int, int], BoolVector] = {}  # truth vectors, by level and code
        labels_of_levels: list[list[Label]] = []
        parents_of_levels: list[IntVector] = []
        # The level before the first one is a single group without a label.
        parent_codes = np.zeros(len(vertices), dtype=np.int64)
        parent_labels: list[Label] = []
        for name, vertex_labels in levels.items():
            codes, labels = codes_of(vertices, name, vertex_labels)
            level_order = orders.get(name)
            if (codes < 0).any():  # a vertex without a group of this level
                group_count = len(labels)
                codes, labels = with_default_groups(
                    vertices,
                    name,
                    codes,
                    labels,
                    parent_codes=parent_codes,
                    parent_labels=parent_labels,
                    default_group=default_group,
                )
                # The default groups are the labels from `group_count` on. A caller who has listed
                # one of them gives it twice now, and `sorted_within` refuses the order.
                if level_order is not None:
                    level_order = [*level_order, *labels[group_count:]]
            codes, labels, parents = sorted_within(name, codes, labels, parent_codes, level_order)
            self._codes.append(frozen(codes))
            labels_of_levels.append(labels)
            parents_of_levels.append(parents)
            parent_codes, parent_labels = codes, labels
        sizes = [np.bincount(codes) for codes in self._codes]
        labels_by_level = dict(zip(level_names, labels_of_levels, strict=True))
        super().__init__(labels_by_level, sizes, parents_of_levels)

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
        separators and encodings are read as by `Graph.read`. Groups are integers if all labels of
        a level are integer literals, else strings.

        Args:
            path: the file.
            graph: the graph, or its public `VertexSet`; of a bipartite graph one side.
            columns: the columns of the groups, from the coarsest level to the finest, by name or by
                position from 0. None for the only column besides that of the vertices, and besides
                the column `mark` of a saved table of parts; in a file of one column each vertex is
                a group of its own. In a file without a header the levels
                are "level 1", "level 2", ...
            vertex: column of the vertices, by name or position. None for the first column, or, with
                a header, for the only one that is called vertex, id, node, name, or the like.
            default_group: name of the group of all vertices without one; None refuses them.
            order: order of the groups of some levels, see `Groups`.
            unknown: "error" refuses a row about something that is no vertex of the graph; "ignore"
                leaves such rows out.
            text: options for the text file, as `gc.Columns(header=False)`; only `header`,
                `delimiter` and `encoding` count. None: the defaults. If `header` is left out: the
                first line names the columns if a column is passed by name. Else .csv and .tsv files
                have a header, and .txt files have none; but for .csv and .tsv files `header` is
                required if columns are passed by position.

        Raises:
            FileFormatError: the file cannot be read, or can be read in several ways (the message
                names the option that decides). By the number of its line: an unknown vertex, one
                that has a row already, or a row of another length.
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
        graph: Any = None,
        columns: Column | Sequence[Column] | None = None,
        *,
        vertex: Column | None = None,
        default_group: str | None = None,
        order: Mapping[str, Sequence[Label]] | None = None,
        unknown: str = "error",
    ) -> Self:
        """Make public groups from a dict, a list of sets, a table, or an attribute of vertices.

        Vertices are matched by their text: 1 and "1" are one vertex.

        Args:
            source: one of the following.

                A dict has for each vertex the label of its group, or with several levels a tuple of
                labels from the coarsest to the finest. Vertices that it lacks have no group.

                A list of sets of labels, such as the communities of networkx, makes groups 0, 1, 2,
                ... in this order; a clustering of igraph likewise. Groups are public: find them in
                a public or a synthetic graph, never in the private one.

                A table has one row for each vertex; a series has the vertices in its index. Text
                and integers are labels as they are. A whole floating-point number is an integer,
                as pandas stores integers so in columns with gaps. None, "" and NaN stand for no
                group.

                A text is the name of an attribute of the vertices of `graph`, which is one of
                networkx or igraph then.
            graph: the graph, or its public `VertexSet`; of a bipartite graph one side. Of a graph
                of networkx or igraph, the vertices are its labels, sorted. None: the vertices are
                those of the source, sorted, and must be all of the graph's.
            columns: of a dict or a list of sets, the names of the levels, from the coarsest to the
                finest; None for "group". Of a table, the columns of the levels, by name or position
                from 0; None for all but `vertex`. A table of pandas without column names has levels
                "level 1", "level 2", ...
            vertex: of a table: column of the vertices, by name or position. None for the index of a
                table of pandas, unless it only numbers the rows; else for the only column that is
                called vertex, id, node, name, or the like, or the first of columns without names.
            default_group: name of the group of all vertices without one; None refuses them.
            order: order of the groups of some levels, see `Groups`. Ordered categories of a column
                of pandas are their order already.
            unknown: "error" refuses a row about something that is no vertex; "ignore" leaves it
                out.

        Raises:
            GraphError: as `Groups`; no such column or attribute, an unknown vertex, one with two
                rows, or one in two sets.
            KindError: something else.
            ParameterError: an option out of range.

        Examples:
            >>> graph = gc.Graph.of([("ann", "bob")], vertices=["ann", "bob", "eve"])
            >>> gc.Groups.of({"ann": "Sales", "bob": "IT", "eve": "IT"}, graph).labels()
            ('IT', 'Sales')
            >>> gc.Groups.of([{"ann"}, {"bob", "eve"}]).labels()
            (0, 1)
            >>> import networkx as nx
            >>> gc.Groups.of("club", nx.karate_club_graph()).labels()
            ('Mr. Hi', 'Officer')
        """
        vertices = None if graph is None else vertices_of(graph)
        if isinstance(source, str):
            if library_of(graph) is None:
                raise KindError(
                    f"{source!r:.60} would be an attribute of vertices: pass the graph of networkx "
                    "or igraph that has it; files are read by Groups.read"
                )
            columns = source if columns is None else columns
            source = vertex_attribute(graph, source)
        vertices, levels, category_order = levels_of(source, vertices, columns, vertex, unknown)
        check_type("order", order, (Mapping, NoneType), "a dict of lists by level, or None")
        full_order = {**category_order, **(order or {})}
        return cls(vertices, levels, default_group=default_group, order=full_order)

    def on(self, vertices: VertexSet) -> "Groups":
        """Return the same groups on a vertex set with the same labels in another order.

        Args:
            vertices: that vertex set.

        Raises:
            GraphError: other vertices.
        """
        if vertices == self.vertices:
            return self
        rows = [self.vertices.find(label) for label in vertices.labels]
        if len(vertices) != len(self.vertices) or None in rows:
            raise GraphError(
                "the groups are of other vertices than the graph's: make them from the graph, "
                "Groups.of(source, graph)"
            )
        return Groups.of_codes(vertices, self.tree, self.codes()[np.array(rows, dtype=np.int64)])

    @classmethod
    def of_codes(cls, vertices: VertexSet, tree: GroupTree, codes: IntVector) -> Self:
        """Return groups of known names and sizes.

        Args:
            vertices: the vertex set.
            tree: names, sizes and parents of the groups.
            codes: code of the finest group of each vertex, shape (n,).

        Raises:
            GraphError: the sizes of `tree` are others.
        """
        # The labels are checked already, so `__init__`, which sorts them, is not called. Whatever
        # it sets is set here: the attributes of `GroupTree`, `vertices`, `_members` and `_codes`.
        groups = cls.__new__(cls)
        GroupTree.__init__(
            groups,
            {name: tree.labels(name) for name in tree.levels},
            [tree.sizes(name) for name in tree.levels],
            [tree.parents(name) for name in tree.levels],
        )
        sizes = np.bincount(codes, minlength=len(tree.sizes()))
        if len(codes) != len(vertices) or not np.array_equal(sizes, tree.sizes()):
            raise GraphError("the groups have other sizes")
        groups.vertices = vertices
        groups._members = {}
        # `_ancestors` is computed from the attributes of `GroupTree` alone. It gives for each level
        # the code of the group that holds each finest group, and so each vertex.
        groups._codes = [frozen(ancestors[codes]) for ancestors in groups._ancestors]
        return groups

    @property
    def tree(self) -> GroupTree:
        """Names, sizes and parents of the groups, without their members.

        `self` is a `GroupTree`, too, but this copy holds no vertex set.
        """
        labels = {name: self.labels(name) for name in self.levels}
        return GroupTree(labels, self._sizes, self._parents)

    def codes(self, level: str | None = None) -> IntVector:
        """Return the code of the group of each vertex, shape (n,). Do not write to it.

        Args:
            level: name of a level; None for the finest.

        Raises:
            QueryError: no such level.
        """
        return self._codes[self.level_index(level)]

    def members(self, label: Label, level: str | None = None) -> BoolVector:
        """Return the truth vector of the vertices of a group, shape (n,), read-only.

        A `CutQuery` takes it as one of its sets. Vectors are kept, and the same object comes back
        for the same group. If they exceed `_KEPT_BYTES`, all of them are dropped.

        Args:
            label: of the group.
            level: name of its level; None for the finest.

        Raises:
            QueryError: no such level, or no such group in it.
        """
        level_index, code = self.level_index(level), self.code(label, level)
        members = self._members.get((level_index, code))
        if members is None:
            members = self._codes[level_index] == code
            members.flags.writeable = False
            if len(self._members) * len(members) >= _KEPT_BYTES:
                self._members.clear()
            self._members[level_index, code] = members
        return members

    def within(self, label: Label, level: str | None = None) -> BoolVector:
        """Return which groups of the finest level lie in a group, shape (finest groups,).

        Args:
            label: of the group.
            level: name of its level; None for the finest.

        Raises:
            QueryError: no such level, or no such group in it.
        """
        level_index, code = self.level_index(level), self.code(label, level)
        finest_mask: BoolVector = self._ancestors[level_index] == code
        return finest_mask

    @cached_property
    def sets_by_text(self) -> dict[str, NamedSet]:
        """Cache of the sets that queries named so far, by their text, such as "@Sales".

        It is empty here. The parser of queries, in the package `queries`, fills it.
        """
        return {}

    @cached_property
    def _ancestors(self) -> list[IntVector]:
        """For each level, the code of its group that holds each finest group.

        Shape (finest groups,) each, from the coarsest level to the finest.
        """
        ancestors = [np.arange(len(self._sizes[-1]))]  # of the finest level: each group itself
        for parents in reversed(self._parents[1:]):  # from a level to the one before
            ancestors.append(parents[ancestors[-1]])
        return ancestors[::-1]

    def down_to(self, level: str) -> "Groups":
        """Return the groups without the levels that are finer than one.

        Args:
            level: of the groups; the finest if None.

        Raises:
            QueryError: no such level.
        """
        if level == self.levels[-1]:
            return self
        count = self.level_index(level) + 1
        labels = {name: self.labels(name) for name in self.levels[:count]}
        tree = GroupTree(labels, self._sizes[:count], self._parents[:count])
        return Groups.of_codes(self.vertices, tree, self._codes[count - 1])

    def group_of(self, vertex: Label, level: str | None = None) -> Label:
        """Return the label of the group of a vertex.

        Args:
            vertex: its label.
            level: name of a level; None for the finest.

        Raises:
            QueryError: no such level, or, as `UnknownVertexError`, no such vertex.
        """
        row = self.vertices.find(vertex)
        if row is None:
            raise UnknownVertexError(f"unknown vertex {vertex!r:.60}")
        return self.labels(level)[int(self.codes(level)[row])]

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._codes = [frozen(codes) for codes in self._codes]
        self._members = {}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Groups):
            return NotImplemented
        return (
            self.vertices == other.vertices
            and self.tree == other.tree
            and np.array_equal(self.codes(), other.codes())
        )

    def __hash__(self) -> int:
        return super().__hash__()


@final
class GroupUnion(NamedSet):
    """The set of all vertices of some groups, stored as groups, of which there are few.

    Args:
        groups: the groups to which the names belong.
        names: label and level of each group of the union; levels may differ.

    Attributes:
        groups: the same.
        finest_mask: which groups of the finest level lie in the union, shape (finest groups,),
            read-only. Every group is a union of finest groups, so this describes the set.

    Raises:
        QueryError: no such level, or no such group in it.
    """

    def __init__(self, groups: Groups, names: Sequence[tuple[Label, str]]) -> None:
        self.groups = groups
        self._names = tuple(names)
        masks = [groups.within(label, level) for label, level in self._names]
        self.finest_mask: BoolVector = np.logical_or.reduce(masks)
        self.finest_mask.flags.writeable = False

    @classmethod
    def of(cls, unions: Sequence["GroupUnion"]) -> "GroupUnion":
        """Return the union of one or several unions, all of which are of one `Groups` object."""
        if len(unions) == 1:
            return unions[0]
        joined = cls.__new__(cls)
        joined.groups = unions[0].groups
        joined._names = tuple(name for union in unions for name in union._names)
        joined.finest_mask = np.logical_or.reduce([union.finest_mask for union in unions])
        joined.finest_mask.flags.writeable = False
        return joined

    def truth_vector(self) -> BoolVector:
        """Return the truth vector of the vertices, shape (n,), read-only.

        That of a single group is the object that `Groups.members` keeps.
        """
        if len(self._names) == 1:
            return self.groups.members(*self._names[0])
        members: BoolVector = self.finest_mask[self.groups.codes()]
        members.flags.writeable = False
        return members

    def __iter__(self) -> Iterator[Label]:
        labels = self.groups.vertices.labels
        return (labels[row] for row in np.flatnonzero(self.truth_vector()).tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.truth_vector(), dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        return f"GroupUnion({', '.join(repr(label) for label, _ in self._names)})"


def vertices_of(graph: Any) -> VertexSet:
    """Return the vertex set of a graph or of rows with users, or a vertex set itself.

    Args:
        graph: a `VertexSet`; a graph of networkx or igraph, whose labels are sorted; a graph, with
            an attribute `vertices`; or `Rows`, the rows of users
            from which tables are made, with an attribute `space`. A space says which pairs of
            vertices there are: it is a vertex set, `Arcs` of one (all ordered pairs), or a pair of
            vertex sets.

    Raises:
        GraphError: a bipartite graph, of which one side must be named, or something else.
    """
    if isinstance(graph, VertexSet):
        return graph
    if library_of(graph) is not None:
        return vertex_set_of(graph)
    for name in ("vertices", "space"):
        space = getattr(graph, name, None)
        if isinstance(space, VertexSet):
            return space
        if isinstance(space, Arcs):
            return space.vertices
    if hasattr(graph, "left"):
        raise GraphError("a bipartite graph has two sides: pass graph.left or graph.right")
    if isinstance(getattr(graph, "space", None), tuple):
        raise GraphError("these rows join two sides: pass the VertexSet of one, rows.space[0]")
    raise GraphError("groups are of a graph or a VertexSet: pass the graph, or graph.vertices")


Sides = tuple[Groups, Groups]  # of rows and columns; one object twice for one vertex set
