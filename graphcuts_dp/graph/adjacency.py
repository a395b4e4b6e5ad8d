"""Define graphs as values: immutable, validated, on a public vertex set.

A graph may be private, so nothing here prints its edges or their number: `repr` and errors show
the vertex set and the schema (weighted or not, maximum weight), which are public.

Read `Graph` first. To make a graph of arrays on a space of any kind, call `graph_on_space`,
`graph_of_parts` or `graph_of_matrix_rows`.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, ClassVar, ParamSpec, Self, TypeVar, cast

import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.errors import ConversionWarning, GraphError, ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.final_classes import final
from graphcuts_dp.former_names import refuses_former_options
from graphcuts_dp.io import libraries, sources
from graphcuts_dp.io.assemble import assemble, merge_rule
from graphcuts_dp.io.edge_store import (
    Above,
    EdgeParts,
    EdgeStore,
    Merge,
    Vertices,
    parts_of_arrays,
)
from graphcuts_dp.io.files import (
    VertexSource,
    naming_file,
    public_vertices_of,
    read_raw,
    write_graph,
)
from graphcuts_dp.io.raw_edges import Options, RawEdges
from graphcuts_dp.options import check_type
from graphcuts_dp.schema.columns import Columns
from graphcuts_dp.schema.vertices import Arcs, Label, Space, VertexSet, sets_in, vertex_sets

if TYPE_CHECKING:
    import igraph
    import networkx as nx

OTHER_VERTICES = "the graphs have different vertices; read both with the same vertices="
_P = ParamSpec("_P")
_G = TypeVar("_G")


class _GraphMethods(EdgeStore):
    """Read, convert and write graphs of any kind; a subclass sets whether it has sides or arcs."""

    _sides: ClassVar[bool] = False
    _directed: ClassVar[bool] = False

    @classmethod
    @refuses_former_options()
    def read(
        cls,
        path: PathLike,
        *,
        columns: Columns = Columns(),  # noqa: B008  # frozen
        vertices: VertexSource | tuple[VertexSource, VertexSource] | None = None,
        public_vertices_from_file: bool = False,
        weighted: bool | None = None,
        max_weight: float | None = None,
        max_weight_change: float | None = None,
        merge: Merge | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> Self:
        """Read a private graph from a file; `gc.read_graph` is `Graph.read`.

        Always: loops are dropped, parallel edges are one edge, and arcs are edges unless a
        `DirectedGraph` is read. Ids that are all integer literals are integers; if a single one is
        not (007, +1, NA), all are strings (for bipartite graphs: on each side).

        A `BipartiteGraph` has two sides. Edge lists: first column left, second right. Matrices:
        rows left, columns right. GraphML, GML: vertex attribute `bipartite` 0 or 1 (networkx) or
        `type` false or true (igraph). Pajek: `*Vertices n n_left`.

        A `DirectedGraph` has arcs. Edge lists: from the first column (`source`) to the second.
        Matrices: from the row to the column. A file that declares its edges to be undirected (Pajek
        *Edges, a symmetric .mtx, `edgedefault="undirected"`, a .gml file without `directed 1`) is
        refused: which of the two arcs is meant, or both, is not guessed.

        Args:
            path: the file; its ending tells the format, see `io.files`, and may end in `.gz`.
            columns: of edge lists and tables: which columns are read, and how, see `Columns`; of
                GraphML and GML its weight: the edge attribute that holds the weights.
            vertices: the public vertex set: a count n (ids 0..n-1), labels, or the path of a file
                with one label on each line; for bipartite graphs a pair of these, left and right.
                Without it, the vertices that the file lists are taken, or else those that occur in
                edges; they are sorted, unless this package wrote the file, as their order in the
                file may reveal edges. A set that was taken from edges reveals which vertices have
                some, and every guarantee then says so.
            public_vertices_from_file: say that the vertices that occur in this file are public.
            weighted: None reads weights if the file declares them (.gml and Pajek files of others
                declare nothing: if all edges have one); False ignores them; True requires them.
            max_weight: public bound on any weight; larger weights are clipped to it. Without it,
                the one that the file declares, if any.
            max_weight_change: 1 to have weights without a maximum. The guarantee is then for a
                change of a weight by at most 1: an edge that weighs more is detectable. Rows that
                weigh more than 2^40 (1.1e12) are refused, or count as 2^40 with `on_bad="skip"`.
                Whatever draws noise needs this or `max_weight`.
            merge: weight of parallel and reciprocal edges: their "sum", which is then clipped to
                `max_weight`, the largest ("max", for lists that name each edge in both directions)
                or the smallest ("min", for lengths). None for the sum; but a matrix (.mtx, .npz, a
                `*Matrix` of Pajek) that does not declare itself symmetric may hold an edge twice,
                so that for undirected graphs the larger entry counts there, and "sum" is refused.
                Reciprocal arcs of a directed graph stay two.
            tell: called with a sentence that names the columns, or attributes of edges, that were
                read and ignored.

        Comments are lines that start with # or %; in `.csv` and `.tsv` files only above the header.
        A row is a line: quotes end where it ends. What `write` put beside such a file, in
        `<path>.schema.json`, is read with it. Text edge lists and tables are read a piece at a
        time: at the peak they take no more than twice the memory of the graph. Endpoints in tables
        (Parquet, Arrow) are integers or strings, perhaps dictionary-encoded; a null is a missing
        endpoint.

        Raises:
            FileFormatError: the file cannot be read, its ending is unknown, a row is malformed or
                names a vertex outside the public set, a weight is negative or not finite, or an
                option does not fit the file or is needed.
            GraphError: `vertices` holds a label twice, or none.
            ParameterError: `max_weight`, `max_weight_change`, `merge`, `delimiter` or `encoding` is
                out of its range, or `columns` names a user or a period.

        Examples:
            >>> import tempfile, pathlib
            >>> file = pathlib.Path(tempfile.mkdtemp()) / "mail.csv"
            >>> with file.open("w") as rows:
            ...     print("source,target", "ann,bob", "bob,eve", sep=chr(10), file=rows)
            >>> gc.read_graph(file, vertices=["ann", "bob", "eve", "kim"])
            Graph(n=4)
        """
        options = cls._options(
            vertices,
            columns=columns,
            weighted=weighted,
            max_weight=max_weight,
            max_weight_change=max_weight_change,
            public_vertices=public_vertices_from_file,
            merge=merge,
        )
        with naming_file(path):
            graph = cls._of_raw_edges(read_raw(path, options), options)
        if tell is not None and graph.reading:
            tell(graph.reading)
        return graph

    @classmethod
    @refuses_former_options()
    def of(
        cls,
        source: Any,
        *,
        columns: Columns = Columns(),  # noqa: B008  # frozen
        vertices: VertexSource | tuple[VertexSource, VertexSource] | None = None,
        weighted: bool | None = None,
        max_weight: float | None = None,
        max_weight_change: float | None = None,
        merge: Merge | None = None,
        tell: Callable[[str], object] | None = None,
    ) -> Self:
        """Make a graph of edges, a table, a matrix, or a graph of another library.

        Args:
            source: one of the following.

                Pairs (source, target) or triples (source, target, weight): an iterable of tuples,
                all of the same length. Endpoints are strings or integers; left before right. Dicts,
                sets and strings are no edges.

                A table with a row for each edge: of pandas, polars, pyarrow, or any library that
                narwhals knows, or whatever hands out batches of Arrow (`__arrow_c_stream__`), which
                are read one at a time. Endpoints are integers or strings, and none is missing.

                A matrix, scipy sparse or dense; its diagonal is ignored. Both entries of a pair are
                one edge, whether they are equal or not, see `merge`; of a `DirectedGraph` the entry
                (u, v) is the arc u -> v; of a `BipartiteGraph` rows are left, columns right.
                Entries of a sparse matrix that stand twice add up.

                A graph of networkx, of any class, whose nodes are strings or integers; a
                `BipartiteGraph` needs the attribute `bipartite`, 0 (left) or 1 (right), of each.

                A graph of igraph: labels are the vertex attribute `name`, or 0..n-1 without it; a
                `BipartiteGraph` needs the vertex attribute `type`, false (left) or true (right).
            columns: of a table, as for `read`; of networkx and igraph `Columns(weight=...)` names
                the edge attribute with the weight, "weight" without it; others are ignored.
            vertices: as for `read`. Isolated vertices of matrices, networkx and igraph are kept.
            weighted: False ignores weights; True requires them. None reads weights if the source
                has them: a matrix, unless its entries are truth values; a graph of networkx if all
                edges have one (an error if only some have). A source without edges that declares
                nothing has weights if `max_weight` is passed and is not 1.
            max_weight: public bound on any weight; larger ones are clipped to it.
            max_weight_change: 1 to have weights without a maximum, see `read`.
            merge: as for `read`. Of a matrix a "sum" would count each edge of a symmetric one
                twice, and no entry may decide whether a matrix is symmetric: to add up arcs, pass
                `matrix + matrix.T`.
            tell: as for `read`; of networkx and igraph sentences about attributes. Without it, a
                warning says what is joined or left out.

        Raises:
            FileFormatError: a file of vertices that cannot be read.
            KindError: none of these sources.
            GraphError: endpoints that are neither strings nor integers, or missing; no such
                columns; a matrix that is not real, finite, non-negative or, but for two sides,
                square; an endpoint outside the vertex set; no vertices; weights that are negative
                or not finite.
            ParameterError: `max_weight`, `max_weight_change` or `merge` is out of its range.

        Warns:
            ConversionWarning: attributes of vertices, declared attributes of edges, or columns that
                are not read; a multigraph, whose parallel edges become one. It depends on the kind
                of source, on its vertices and on declared names, never on an edge.

        Examples:
            >>> gc.Graph.of([("ann", "bob"), ("bob", "eve")], vertices=["ann", "bob", "eve", "kim"])
            Graph(n=4)
            >>> import networkx as nx
            >>> gc.Graph.of(nx.karate_club_graph(), weighted=False)
            Graph(n=34)
            >>> import pandas as pd
            >>> calls = pd.DataFrame({"caller": ["ann", "bob"], "callee": ["bob", "eve"]})
            >>> gc.DirectedGraph.of(calls)
            DirectedGraph(n=3)
        """
        options = cls._options(
            vertices,
            columns=columns,
            weighted=weighted,
            max_weight=max_weight,
            max_weight_change=max_weight_change,
            merge=merge,
        )
        graph, left_out = cls._of_source(source, options)
        if tell is not None and graph.reading:
            tell(graph.reading)
        elif tell is None and left_out:
            warnings.warn(left_out, ConversionWarning, stacklevel=3)
        return graph

    @classmethod
    def _of_source(cls, source: Any, options: Options) -> tuple[Self, str]:
        """Return the graph of a source, and a sentence about what is joined or left out."""
        raw = sources.edges_of(source, options)
        left_out = raw.left_out
        return cls._of_raw_edges(raw, options), left_out

    @classmethod
    def _options(cls, vertices: Any, **options: Any) -> Options:
        """Return the options of a reader, with the kind of graph that this class is."""
        columns = options["columns"]
        check_type("columns", columns, Columns, "a gc.Columns")
        if columns.user is not None or columns.period is not None:
            raise ParameterError("user= and period= are for rows: read them with Rows.read")
        public = public_vertices_of(vertices, cls._sides)
        return Options(vertices=public, bipartite=cls._sides, directed=cls._directed, **options)

    @classmethod
    def _of_raw_edges(cls, raw: RawEdges, options: Options) -> Self:
        """Return the graph of raw edges, which are taken out of `raw`."""
        space, parts, max_weight = assemble(raw, options)
        graph = object.__new__(cls)
        note, change = raw.schema.note, options.max_weight_change
        # Where bad rows are left out, no row may decide whether the table is read, and so no sum of
        # rows may.
        above: Above = "clip" if raw.bad.skip else "refuse"
        merge = merge_rule(raw, options)
        graph._set_up(space, parts, max_weight, change, note, clip=True, above=above, merge=merge)
        graph.reading = raw.reading
        return graph

    def write(
        self,
        path: PathLike,
        *,
        force: bool = False,
        about: Mapping[str, float | str] | None = None,
    ) -> None:
        """Write the graph to a file; `read` restores it with labels and isolated vertices.

        The file appears whole or not at all. Text formats carry the vertex set, and the maximum
        weight, in a comment `graphcuts-dp: {...}`; but `.csv` and `.tsv` files begin with their
        header, so that other programs read them, and have these facts beside them in
        `<path>.schema.json`. The file holds the edges: only write graphs that are synthetic, or
        that stay private.

        Args:
            path: where; the ending determines the format, as for `read`, KONECT excepted.
            force: replace a file that is there.
            about: facts about the graph, such as the epsilon of its release. GraphML holds them as
                attributes of the graph; other formats cannot hold them.

        Raises:
            FileFormatError: unknown ending, missing folder, a file that is there, a label that the
                format cannot hold, or a full disk.
        """
        write_graph(self, path, force=force, about=about)

    def to_networkx(self) -> "nx.Graph[Any]":
        """Make a networkx graph with the labels as nodes, and attributes `weight` and `bipartite`.

        A directed graph becomes a `DiGraph`.

        Raises:
            GraphError: a label occurs on both sides of a bipartite graph.

        Examples:
            >>> gc.datasets.load("karate").to_networkx().number_of_nodes()
            34
        """
        return libraries.to_networkx(self)

    def to_igraph(self) -> "igraph.Graph":
        """Make an igraph graph: vertex attributes `name`, `type` (of two sides), edge `weight`."""
        return libraries.to_igraph(self)

    def to_scipy(self) -> sp.csr_array:
        """Make a sparse matrix of `shape`: row u, column v for u -> v; symmetric for a `Graph`."""
        return self._matrix().copy()

    def difference(self, other: "AnyGraph") -> sp.csr_array:
        """Return `to_scipy` of this graph less that of another one; vertices may be in any order.

        Args:
            other: a graph of the same class on the same vertices.

        Raises:
            GraphError: other vertices, or a graph of another kind.
        """
        return self._matrix() - matrix_on(self.space, other)

    def to_frame(self, kind: Any = None) -> Any:
        """Make a table with columns source, target and weight (if any), one row for each edge.

        Isolated vertices are not in it; pass `vertices=graph.vertices` to `of`.

        Args:
            kind: "pandas", "polars" or "pyarrow", or a table of the wanted library; None for the
                first of these that is installed.

        Raises:
            ParameterError: none is installed, or another kind.
        """
        return sources.to_frame(self, kind)

    def _matrix(self) -> sp.csr_array:
        """Return the matrix that `to_scipy` copies."""
        entries = sp.coo_array((self.weights, (self.rows, self.columns)), shape=self.shape)
        if isinstance(self.space, VertexSet):
            entries = entries + entries.T
        return entries.tocsr()


class _OneSet(_GraphMethods):
    """Edges among the vertices of one public set."""

    @refuses_former_options()
    def __init__(
        self,
        rows: npt.ArrayLike,
        columns: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        vertices: Vertices,
        max_weight: float | None = None,
        max_weight_change: float | None = None,
        note: str = "",
    ) -> None:
        vertex_set = _vertex_set(vertices)
        space = Arcs(vertex_set) if self._directed else vertex_set
        parts = parts_of_arrays(rows, columns, weights)
        self._set_up(space, parts, max_weight, max_weight_change, note)

    @property
    def vertices(self) -> VertexSet:
        """The public vertex set."""
        return sets_in(self.space)[0]

    @property
    def n(self) -> int:
        """Number of vertices, public."""
        return len(self.vertices)

    @property
    def labels(self) -> tuple[Label, ...]:
        """Vertex labels in row order, public."""
        return tuple(self.vertices.labels)


@final
class Graph(_OneSet):
    """An undirected graph without loops on a public vertex set.

    Args:
        rows: first endpoint of each edge, row numbers in 0..n-1, shape (edges,).
        columns: second endpoint of each edge, as `rows`. Loops are dropped (they never cross a
            cut); a pair that occurs more than once, in either direction, is one edge with the
            largest weight.
        weights: None for a simple graph, else finite numbers >= 0; zeros are no edges.
        vertices: public vertex set: a count, labels, or a `VertexSet`.
        max_weight: public bound on any weight. Neighbouring graphs then differ in one pair, by up
            to this maximum.
        max_weight_change: 1 to have weights without a maximum. Neighbouring graphs then differ in
            one weight, by at most 1.
        note: public remark that goes with the graph, also into files.

    Raises:
        GraphError: endpoints out of range, arrays of unequal length, non-finite or negative
            weights, or a weight above the maximum.
    """

    space: VertexSet

    @cached_property
    def adjacency(self) -> sp.csr_array:
        """Symmetric adjacency matrix, sparse, shape (n, n), zero diagonal. Do not write to it."""
        return self._matrix()


class _TwoSided(_GraphMethods):
    """Edges from a public vertex set of rows to one of columns, two objects even if alike."""

    space: tuple[VertexSet, VertexSet]

    @property
    def left(self) -> VertexSet:
        """Public vertex set of the rows."""
        return self.space[0]

    @property
    def right(self) -> VertexSet:
        """Public vertex set of the columns."""
        return self.space[1]

    @cached_property
    def biadjacency(self) -> sp.csr_array:
        """Biadjacency matrix, sparse, shape (n_left, n_right). Do not write to it."""
        return self._matrix()


@final
class BipartiteGraph(_TwoSided):
    """A bipartite graph: edges between two public vertex sets, left and right.

    Args:
        rows: left endpoint of each edge, row numbers in 0..n_left-1, shape (edges,).
        columns: right endpoint of each edge, row numbers in 0..n_right-1. A pair that occurs more
            than once is one edge with the largest weight.
        weights: None for a simple graph, else finite numbers >= 0; zeros are no edges.
        left: public left vertex set: a count, labels, or a `VertexSet`.
        right: public right vertex set, as `left`. A label may occur on both sides.
        max_weight: as for `Graph`.
        max_weight_change: as for `Graph`.
        note: as for `Graph`.

    Raises:
        GraphError: as for `Graph`.
    """

    _sides = True

    @refuses_former_options()
    def __init__(
        self,
        rows: npt.ArrayLike,
        columns: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        *,
        left: Vertices,
        right: Vertices,
        max_weight: float | None = None,
        max_weight_change: float | None = None,
        note: str = "",
    ) -> None:
        parts = parts_of_arrays(rows, columns, weights)
        space = _vertex_set(left), _vertex_set(right)
        self._set_up(space, parts, max_weight, max_weight_change, note)


@final
class DirectedGraph(_OneSet, _TwoSided):
    """A directed graph: arcs u -> v with u != v on a public vertex set.

    It is treated as a bipartite graph whose two sides are copies of the vertex set, the tails and
    the heads of arcs, where no vertex can be joined to its own copy.

    Args:
        rows: tail of each arc (the vertex that it leaves), row numbers in 0..n-1, shape (arcs,).
        columns: head of each arc, as `rows`. Loops are dropped; an arc that occurs more than once
            is one arc with the largest weight. u -> v and v -> u are two arcs.
        weights: None for a simple graph, else finite numbers >= 0; zeros are no arcs.
        vertices: public vertex set: a count, labels, or a `VertexSet`.
        max_weight: public bound on any weight. Neighbouring graphs differ in one arc: it is there
            or not, or its weight differs by up to this maximum.
        max_weight_change: as for `Graph`.
        note: as for `Graph`.

    Attributes:
        left: the vertices as tails of arcs, the rows of the matrix.
        right: the same vertices as heads.

    Raises:
        GraphError: as for `Graph`.
    """

    space: Arcs
    _directed = True

    @property
    def adjacency(self) -> sp.csr_array:
        """Sparse adjacency matrix, shape (n, n): row u, column v for u -> v. Do not write to it."""
        return self.biadjacency


AnyGraph = Graph | BipartiteGraph | DirectedGraph


def _as_declared(method: Callable[_P, _G]) -> Callable[[Callable[..., _G]], Callable[_P, _G]]:
    """Return a decorator that gives a function the signature and the docstring of a method."""
    decorator: Any = wraps(method, assigned=("__doc__",))
    return cast(Callable[[Callable[..., _G]], Callable[_P, _G]], decorator)


@_as_declared(Graph.read)
def read_graph(*source: Any, **options: Any) -> Graph:
    """Read a private graph, as `Graph.read` does, whose docstring this function shows."""
    return Graph.read(*source, **options)


def graph_of_source(
    source: Any, kind: type[AnyGraph], *, weighted: bool | None = None
) -> tuple[AnyGraph, str]:
    """Return the graph that `kind.of` makes of a source, and the text of its warning.

    Args:
        source: as for `Graph.of`.
        kind: class of the graph.
        weighted: as for `Graph.of`, the only option.

    Raises:
        GraphError: as `Graph.of`.
    """
    return kind._of_source(source, kind._options(None, columns=Columns(), weighted=weighted))


def check_kinds(g: EdgeStore, h: EdgeStore | type[EdgeStore]) -> None:
    """Check that two graphs, or a graph and a class of graphs, are of one kind.

    Raises:
        GraphError: only one of them is bipartite, or directed.
    """
    for kind, name in ((BipartiteGraph, "bipartite"), (DirectedGraph, "directed")):
        if isinstance(g, kind) != (h is kind or isinstance(h, kind)):
            raise GraphError(f"one graph is {name} and the other is not")


def matrix_on(space: Space, graph: AnyGraph) -> sp.csr_array:
    """Return the sparse matrix of a graph with rows and columns in the order of a space.

    Args:
        space: of the same vertices as the graph's, in any order.
        graph: whose matrix is returned.

    Raises:
        GraphError: other vertices, or the space of another kind of graph.
    """
    check_kinds(graph, graph_class(space))
    orders = []
    for row_set, graph_set in zip(vertex_sets(space), vertex_sets(graph.space), strict=True):
        order = [graph_set.find(label) for label in row_set.labels]
        if len(row_set) != len(graph_set) or None in order:
            raise GraphError(OTHER_VERTICES)
        orders.append(order)
    rows, columns = orders
    return graph.to_scipy()[rows][:, columns]


def kind_of_graph(*, bipartite: bool, directed: bool) -> type[AnyGraph]:
    """Return the class of graphs that are bipartite, directed, or neither.

    Raises:
        ParameterError: both are.
    """
    if bipartite and directed:
        raise ParameterError("a graph is bipartite or directed, not both: leave one out")
    return BipartiteGraph if bipartite else DirectedGraph if directed else Graph


def graph_class(space: Space) -> type[AnyGraph]:
    """Return the class of graphs on a space."""
    if isinstance(space, VertexSet):
        return Graph
    return DirectedGraph if isinstance(space, Arcs) else BipartiteGraph


def graph_on_space(
    space: Space,
    rows: npt.ArrayLike,
    columns: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    **schema: Any,
) -> AnyGraph:
    """Make a graph of the kind that a space has, of arrays of edges.

    Args:
        space: one vertex set, two, or `Arcs`.
        rows: as for `Graph`.
        columns: as for `Graph`.
        weights: as for `Graph`.
        schema: other keywords of `Graph`.

    Raises:
        GraphError: as for `Graph`.
    """
    graph = object.__new__(graph_class(space))
    graph._set_up(space, parts_of_arrays(rows, columns, weights), **schema)
    return graph


def graph_of_parts(
    space: Space, parts: EdgeParts, *, merge: Merge, max_weight: float | None, **schema: Any
) -> AnyGraph:
    """Make a graph as `graph_on_space` does, in little memory, and clip weights to their maximum.

    The arrays of edges become those of the graph, so the caller must not use them afterwards.

    Args:
        space: as for `graph_on_space`.
        parts: the edges, row numbers within the space; empty afterwards.
        merge: weight of a pair that occurs more than once.
        max_weight: as for `Graph`.
        schema: other keywords of `Graph`.

    Raises:
        GraphError: as for `Graph`.
    """
    graph = object.__new__(graph_class(space))
    schema = {"above": "keep", **schema}
    graph._set_up(space, parts, max_weight=max_weight, clip=True, merge=merge, **schema)
    return graph


def graph_of_matrix_rows(
    space: Space,
    parts: Iterable[npt.NDArray[Any]],
    *,
    weighted: bool = True,
    max_weight: float | None = None,
    note: str = "",
) -> AnyGraph:
    """Make a graph of a dense matrix that comes a few rows at a time, in order, in little memory.

    Args:
        space: as for `graph_on_space`.
        parts: each of shape (some rows, columns); finite entries >= 0. Of an undirected graph the
            entries above the diagonal are read; of arcs all but those on it.
        weighted: False keeps only which entries are non-zero.
        max_weight: as for `Graph`, with weights.
        note: as for `Graph`.

    Raises:
        GraphError: too many or too few rows, rows of the wrong length, entries out of range.
    """
    graph = object.__new__(graph_class(space))
    graph._set_up(space, None, note=note)
    graph._store_rows(parts, weighted=weighted, max_weight=max_weight)
    return graph


def _vertex_set(vertices: Vertices) -> VertexSet:
    """Return the vertex set of a count or of labels, or a vertex set as it is."""
    return vertices if isinstance(vertices, VertexSet) else VertexSet(vertices)
