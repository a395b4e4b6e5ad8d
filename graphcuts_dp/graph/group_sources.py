"""Public groups from files, tables, dicts, and attributes of other packages' graphs.

All that is read here is taken to be public: it comes out with every table of flows.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from graphcuts_dp.errors import FileFormatError, GraphError, ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.columns import Column, TextOptions, has_header, place_of, position_of
from graphcuts_dp.graph.edge_lists import Row, read_rows
from graphcuts_dp.graph.file_bytes import TextFormat, read_unpacked
from graphcuts_dp.graph.graphml import read_node_attributes
from graphcuts_dp.graph.schema import labels_of
from graphcuts_dp.pairs.groups import Groups, vertices_of
from graphcuts_dp.pairs.vertices import Label, VertexSet

if TYPE_CHECKING:
    import igraph
    import networkx as nx
    import pandas as pd

Order = Mapping[str, Sequence[Label]]
Unknown = Literal["error", "ignore"]

_VERTEX_HEADS = (
    *("vertex", "id", "node", "name", "label", "person", "user", "email", "vertexid", "nodeid"),
    *("personid", "userid", "iata"),
)
_FORMS = {".csv": TextFormat(","), ".tsv": TextFormat("\t"), ".txt": TextFormat()}


def read_groups(
    path: PathLike,
    graph: Any,
    *,
    columns: Sequence[Column] | None = None,
    vertex: Column | None = None,
    rest: str | None = None,
    order: Order | None = None,
    unknown: Unknown = "error",
    header: bool | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Groups:
    """Read public groups of the vertices of a graph from a table, or from attributes in GraphML.

    The table has a row for each vertex: .csv, .tsv or .txt, perhaps packed (.gz); quotes,
    separators and encodings are read as by `read_graph`. Groups are integers where all labels of a
    level are integer literals, else strings.

    Args:
        path: the file.
        graph: the graph, or its public `VertexSet`; of a bipartite graph one side.
        columns: the columns of the groups, from the coarsest level to the finest, by name or by
            place from 0; None for the only one besides that of the vertices. In GraphML the names
            of vertex attributes. A column by place is a level "level 1", "level 2", ... where the
            file has no header.
        vertex: column of the vertices, by name or place; None for the first, or with a header for
            the only one that is called vertex, id, node, name, or the like.
        rest: name of the group of all vertices without one; None refuses them.
        order: order of the groups of some levels, see `Groups`.
        unknown: "error" refuses a row about something that is no vertex of the graph; "ignore"
            leaves such rows out.
        header: whether the first line names the columns; None: it does if columns are given by
            name, else in .csv and .tsv files (where it must be said if columns are given by place),
            and not in .txt files.
        delimiter: separator of the columns; None for what the header shows, see `read_graph`.
        encoding: of the text; None for UTF-8, or what the mark at its start says.

    Raises:
        FileFormatError: the file cannot be read, or not in one way (the message names the option
            that decides); told by the number of its line: an unknown vertex, one that has a row
            already, or a row of another length.
        GraphError: as `Groups`.
        ParameterError: an option out of range.
    """
    vertices = vertices_of(graph)
    if unknown not in ("error", "ignore"):
        raise ParameterError("unknown is 'error' or 'ignore'")
    if isinstance(columns, str | int):
        columns = [columns]
    name = Path(path).name.lower()
    ending = Path(name.removesuffix(".gz")).suffix
    data = read_unpacked(path)
    try:
        if ending == ".graphml":
            return _from_graphml(data, vertices, columns, (rest, order, unknown))
        if ending not in _FORMS:
            raise FileFormatError("groups are read from .csv, .tsv, .txt and .graphml files")
        if columns is not None and not columns:
            raise FileFormatError("pass columns=, at least one column of groups")
        named = has_header(header, [*(columns or ()), vertex], _FORMS[ending])
        text = TextOptions(header=named, delimiter=delimiter, encoding=encoding)
        names, rows = read_rows(data, _FORMS[ending], text)
        announced = header is not None or columns is not None or vertex is not None
        found = _table(names, rows, vertices, columns, vertex, unknown, announced)
    except FileFormatError as problem:
        raise FileFormatError(f"{path!s}: {problem}") from None
    return Groups(vertices, found, rest=rest, order=order)


def groups_from_dict(
    groups: Mapping[Label, Any],
    graph: Any,
    levels: Sequence[str] = ("group",),
    *,
    rest: str | None = None,
    order: Order | None = None,
) -> Groups:
    """Make public groups from a dict of vertices and their groups.

    Args:
        groups: for each vertex the label of its group, or with several levels a tuple of labels
            from the coarsest to the finest. Vertices that are left out have none.
        graph: the graph, or its public `VertexSet`; of a bipartite graph one side.
        levels: names of the levels.
        rest: name of the group of all vertices without one; None refuses them.
        order: order of the groups of some levels, see `Groups`.

    Raises:
        GraphError: as `Groups`; an unknown vertex, or tuples of another length.

    Examples:
        >>> graph = gc.from_edges([("ann", "bob")], vertices=["ann", "bob", "eve"])
        >>> gc.groups_from_dict({"ann": "Sales", "bob": "IT", "eve": "IT"}, graph).labels()
        ('IT', 'Sales')
    """
    vertices = vertices_of(graph)
    if isinstance(levels, str) or len(set(levels)) != len(levels):
        raise GraphError("levels are a list of distinct names, for example ['state', 'county']")
    columns: list[list[Any]] = [[None] * len(vertices) for _ in levels]
    for place, (vertex, given) in enumerate(groups.items(), 1):
        row = vertices.find(vertex)
        if row is None:
            raise GraphError(f"entry {place} of the groups is not a vertex of the graph")
        labels = given if isinstance(given, tuple | list) else (given,)
        if len(labels) != len(columns):
            raise GraphError(f"entry {place} of the groups does not have one label for each level")
        for column, label in zip(columns, labels, strict=True):
            column[row] = label
    return Groups(vertices, dict(zip(levels, columns, strict=True)), rest=rest, order=order)


def groups_from_pandas(
    frame: "pd.DataFrame | pd.Series[Any]",
    graph: Any,
    columns: str | Sequence[str] | None = None,
    *,
    vertex: str | None = None,
    rest: str | None = None,
    order: Order | None = None,
    unknown: Unknown = "error",
) -> Groups:
    """Make public groups from a table with one row for each vertex.

    Args:
        frame: a table, or a series of groups.
        graph: the graph, or its public `VertexSet`; of a bipartite graph one side.
        columns: the columns of the groups, from the coarsest level to the finest; None for all
            but `vertex`.
        vertex: column of the vertices; None for the index.
        rest: name of the group of all vertices without one; None refuses them.
        order: order of the groups of some levels, see `Groups`; categories of a column that is
            ordered are their order already.
        unknown: "error" refuses a row about something that is no vertex; "ignore" leaves it out.

    Raises:
        GraphError: as `Groups`; no such column, an unknown vertex, or one with two rows.
        ParameterError: an option out of range.
    """
    vertices = vertices_of(graph)
    table: Any = frame
    if table.ndim == 1:
        table = table.to_frame("group" if table.name is None else str(table.name))
    names = [name for name in table.columns if name != vertex]
    picked = names if columns is None else [columns] if isinstance(columns, str) else list(columns)
    if not picked or not {*picked, *(() if vertex is None else (vertex,))} <= set(table.columns):
        raise GraphError("the table has no such column: pass columns= and vertex=")
    keys = list(table.index if vertex is None else table[vertex])
    values = {name: list(table[name]) for name in picked}
    given = dict(order or {})
    for name in picked:
        kind = table[name].dtype
        if getattr(kind, "ordered", False) and name not in given:
            present = set(values[name])
            given[name] = [label for label in kind.categories if label in present]
    return _placed(vertices, keys, values, (rest, given, unknown))


def groups_from_networkx(
    source: "nx.Graph[Any]",
    graph: Any,
    attributes: str | Sequence[str],
    *,
    rest: str | None = None,
    order: Order | None = None,
) -> Groups:
    """Make public groups from the vertex attributes of a networkx graph.

    Args:
        source: the networkx graph.
        graph: the graph that was made of it, or its public `VertexSet`; of a bipartite graph one
            side. Nodes that are not in it do not count.
        attributes: names, from the coarsest level to the finest.
        rest: name of the group of all vertices without one; None refuses them.
        order: order of the groups of some levels, see `Groups`.

    Raises:
        GraphError: as `Groups`, or an attribute that no node has.
    """
    names = _attribute_names(attributes)
    nodes = list(source.nodes)
    values = {name: [source.nodes[node].get(name) for node in nodes] for name in names}
    return _placed(vertices_of(graph), nodes, values, (rest, order, "ignore"))


def groups_from_igraph(
    source: "igraph.Graph",
    graph: Any,
    attributes: str | Sequence[str],
    *,
    rest: str | None = None,
    order: Order | None = None,
) -> Groups:
    """Make public groups from the vertex attributes of an igraph graph.

    Args:
        source: the igraph graph; its labels are the attribute `name`, or 0..n-1 without it.
        graph: the graph that was made of it, or its public `VertexSet`; of a bipartite graph one
            side. Vertices that are not in it do not count.
        attributes: names, from the coarsest level to the finest.
        rest: name of the group of all vertices without one; None refuses them.
        order: order of the groups of some levels, see `Groups`.

    Raises:
        GraphError: as `Groups`, or an attribute that no vertex has.
    """
    names = _attribute_names(attributes)
    known = source.vs.attributes()
    nodes = list(source.vs["name"]) if "name" in known else list(range(source.vcount()))
    missing = [None] * len(nodes)
    values = {name: list(source.vs[name]) if name in known else missing for name in names}
    return _placed(vertices_of(graph), nodes, values, (rest, order, "ignore"))


def _attribute_names(attributes: str | Sequence[str]) -> list[str]:
    names = [attributes] if isinstance(attributes, str) else list(attributes)
    if not names or len(set(names)) != len(names):
        raise GraphError("attributes are distinct names, for example ['state', 'county']")
    return names


def _placed(
    vertices: VertexSet,
    keys: Iterable[Any],
    values: Mapping[str, Sequence[Any]],
    options: tuple[str | None, Order | None, Unknown],
) -> Groups:
    """Groups of columns whose rows are about the vertices of `keys`."""
    rest, order, unknown = options
    if unknown not in ("error", "ignore"):
        raise ParameterError("unknown is 'error' or 'ignore'")
    rows: list[int | None] = []
    for place, key in enumerate(keys, 1):
        row = vertices.find(key)
        if row is None and unknown == "error":
            raise GraphError(f"row {place} is about no vertex of the graph; or unknown='ignore'")
        rows.append(row)
    known = [row for row in rows if row is not None]
    if len(set(known)) != len(known):
        raise GraphError("a vertex has two rows; keep one")
    found: dict[str, list[Any]] = {}
    for name, column in values.items():
        if not any(value is not None for value in column):
            raise GraphError(f"no vertex has a group of level {name!r:.60}")
        held: list[Any] = [None] * len(vertices)
        for row, value in zip(rows, column, strict=True):
            if row is not None:
                held[row] = value
        found[str(name)] = held
    return Groups(vertices, found, rest=rest, order=order)


def _from_graphml(
    data: bytes,
    vertices: VertexSet,
    columns: Sequence[Column] | None,
    options: tuple[str | None, Order | None, Unknown],
) -> Groups:
    if columns is None or not all(isinstance(name, str) for name in columns):
        raise FileFormatError("pass columns=, the names of vertex attributes")
    labels, values = read_node_attributes(data, [str(name) for name in columns])
    typed = {name: _typed(column) for name, column in values.items()}
    return _placed(vertices, labels, typed, options)


def _typed(cells: Sequence[str | None]) -> list[Label | None]:
    """Integers where all that is there are integer literals, else text."""
    present = [(place, cell) for place, cell in enumerate(cells) if cell]
    found: list[Label | None] = [None] * len(cells)
    for (place, _), label in zip(present, labels_of([cell for _, cell in present]), strict=True):
        found[place] = label
    return found


def _table(
    header: list[str] | None,
    rows: list[Row],
    vertices: VertexSet,
    columns: Sequence[Column] | None,
    vertex: Column | None,
    unknown: Unknown,
    announced: bool,
) -> dict[str, list[Any]]:
    """The label of each vertex, for each level; `announced` says that somebody said how to read."""
    if header is None and not rows:
        raise FileFormatError("the file is empty")
    width = len(rows[0][1] if header is None else header)
    key = _key_column(header, width, vertex)
    if header is not None and not announced and vertices.find_text(header[key]) is not None:
        raise FileFormatError(
            "the first line is about a vertex: pass header=False if the file has no header, else "
            "header=True"
        )
    if columns is not None:
        places = [_place(column, header, width) for column in columns]
    else:
        places = [place for place in range(width) if place != key]
        if len(places) != 1:
            raise FileFormatError(
                "pass columns=, the columns of the groups from the coarsest level to the finest"
            )
    if len({key, *places}) != len(places) + 1:
        raise FileFormatError("vertex= and columns= name different columns, at least one group")
    held: list[list[str | None]] = [[None] * len(vertices) for _ in places]
    seen = [False] * len(vertices)
    for line, cells in rows:
        if len(cells) != width:
            raise FileFormatError(f"line {line}: expected {width} columns, as in the first row")
        row = vertices.find_text(cells[key])
        if row is None:
            if unknown == "ignore":
                continue
            header_too = ", or header=True if it names the columns"
            raise FileFormatError(
                f"line {line}: not a vertex of the graph; correct it, or pass unknown='ignore'"
                + (header_too if header is None and (line, cells) == rows[0] else "")
            )
        if seen[row]:
            raise FileFormatError(f"line {line}: this vertex has a row already")
        seen[row] = True
        for column, place in zip(held, places, strict=True):
            column[row] = cells[place]
    names = [f"level {i}" if header is None else header[p] for i, p in enumerate(places, 1)]
    if len(set(names)) != len(names) or not all(names):
        raise FileFormatError("two columns of groups have one name, or one has none")
    return {name: _typed(column) for name, column in zip(names, held, strict=True)}


def _place(column: Column, header: list[str] | None, width: int) -> int:
    if header is not None:
        return position_of(column, header)
    place = place_of(column)
    if place >= width:
        raise FileFormatError(f"there is no such column; the first row has {width} of them")
    return place


def _key_column(header: list[str] | None, width: int, vertex: Column | None) -> int:
    if vertex is not None:
        return _place(vertex, header, width)
    known = [p for p, cell in enumerate(header or ()) if _plain(cell) in _VERTEX_HEADS]
    return known[0] if len(known) == 1 else 0


def _plain(cell: str) -> str:
    return "".join(c for c in cell if c.isalnum()).casefold()
