"""Read GraphML by expat, in one pass.

networkx reads GraphML, too, but private files cannot rely on it (3.6; checked by
`tests/io/test_exchange_files.py`, which fails once that changes): it joins nodes with equal ids,
takes an undeclared endpoint for a new vertex, expands the entities of a DOCTYPE, quotes values in
its errors without a line, and holds the tree of all elements. A DOCTYPE is refused here, so
entities can neither grow without bound nor read other files.
"""

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import final
from xml.parsers import expat

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.schema.column_search import find_weight_attribute, shown_names
from graphcuts_dp.schema.columns import Columns, is_integer_literal
from graphcuts_dp.schema.text_rows import labels_of
from graphcuts_dp.schema.vertices import Label

FACTS = "graphcuts_dp"  # the attribute of a graph with our JSON
_NEEDED = {"edge": ("source", "target"), "node": ("id",)}  # attributes of elements
_MISSING = {"edge": "an edge needs a source and a target", "node": "a node needs an id"}
_NUMERIC = ("int", "long", "float", "double")  # types of attributes that are numbers


@dataclass(slots=True)
class GraphContents:
    """Vertices and edges of a file, edges by vertex ids.

    Attributes:
        ids: id of each vertex, distinct.
        names: label of each vertex as text; None if the ids are the labels.
        sides: for each vertex 0 (left), 1 (right) or None (not declared).
        sources: id of the first endpoint of each edge.
        targets: id of the second endpoint.
        weights: weight of each edge as text; None if it has none.
        has_weights: whether the file or the caller declares weights; `facts` may, too.
        undirected: whether an edge is declared to have no direction.
        both_ways: whether edges are entries of a matrix, see `RawEdges.both_ways`.
        facts: the JSON of a file of this package; None for other files.
        lines: line number of each edge.
        reading: a sentence about the attributes of edges; it depends on no edge.
    """

    ids: list[str] = field(default_factory=list)
    names: list[str] | None = None
    sides: list[int | None] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    weights: list[str | None] = field(default_factory=list)
    has_weights: bool = False
    undirected: bool = False
    both_ways: bool = False
    facts: str | None = None
    lines: list[int] = field(default_factory=list)
    reading: str = ""

    def add(self, source: str, target: str, weight: str | None, line: int) -> None:
        """Append an edge."""
        self.sources.append(source)
        self.targets.append(target)
        self.weights.append(weight)
        self.lines.append(line)


@final
@dataclass(frozen=True, slots=True)
class GraphmlHead:
    """Declarations of a GraphML file above its vertices and edges. Public.

    Attributes:
        names: names of the attributes that edges may have.
        numeric: whether each attribute is declared to be a number.
        of_edges: whether each attribute is declared for edges alone, not for vertices, too.
        directed: whether edges have a direction by default.
    """

    names: tuple[str, ...]
    numeric: tuple[bool, ...]
    of_edges: tuple[bool, ...]
    directed: bool


def graphml_contents(data: bytes, columns: Columns, *, weighted: bool | None) -> GraphContents:
    """Read the vertices and edges of a GraphML file with one graph.

    The label of a node is its id. If ids are n0, n1, ..., as igraph writes them, it is the
    attribute `name`, else the attribute `label`, else 0, 1, ... The weight is chosen among the
    declared attributes of edges as a column of a table is.

    Args:
        data: the file.
        columns: may name the edge attribute with the weight.
        weighted: False reads no weight.

    Raises:
        FileFormatError: not well-formed (reported by line number), a DOCTYPE, nested graphs or
            hyperedges; the caller must say which attribute is the weight.
    """
    parser = expat.ParserCreate()
    reader = _Reader(lambda: parser.CurrentLineNumber, columns, weighted)
    _parse(parser, reader, data)
    return reader.finish()


def graphml_head(data: bytes) -> "GraphmlHead":
    """Read what a GraphML file declares above its vertices and edges, but no vertex or edge.

    Raises:
        FileFormatError: as `graphml_contents`, for the part above the vertices.
    """
    parser = expat.ParserCreate()
    reader = _Reader(lambda: parser.CurrentLineNumber, Columns(), None, head_only=True)
    with suppress(_HeadEnd):
        _parse(parser, reader, data)
    return reader.head()


def pick_names(ids: list[str], candidates: Sequence[list[str | None]]) -> list[str]:
    """Return the first list of names that names every vertex, each once; else the ids."""
    for names in candidates:
        complete = [name for name in names if name is not None]
        if len(complete) == len(ids) == len(set(complete)):
            return complete
    return ids


def parse_side(text: str | None) -> int | None:
    """Return the side of a vertex: networkx writes 0 or 1, igraph false or true."""
    return {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1}.get((text or "").lower())


def labels_in(contents: GraphContents) -> list[Label]:
    """Return the labels of the vertices of a file: integers where all are integer literals."""
    names = contents.ids if contents.names is None else contents.names
    if contents.facts is None:
        return labels_of(names)
    text = json.loads(contents.facts).get("text", [])
    if not isinstance(text, list) or not all(isinstance(name, str) for name in text):
        text = []
    text_names = set(text)
    return [
        int(name)
        if len(name) < 4000 and is_integer_literal(name) and name not in text_names
        else name
        for name in names
    ]


def attributes_read(weight: str | None, others: Sequence[str]) -> str:
    """Return a sentence for the user about declared edge attributes.

    Args:
        weight: the attribute that was read as the weight; None if there is none.
        others: those that were not read.

    Returns:
        Which were read and ignored; "" if there is nothing but `weight`.
    """
    ignored = f"ignored edge attributes: {shown_names(others)}" if others else ""
    if weight in (None, "weight"):
        return f"{ignored.capitalize()}." if ignored else ""
    return f"Read as the weight of an edge: {weight!r:.60}" + (f"; {ignored}." if ignored else ".")


class _HeadEnd(Exception):  # noqa: N818  # it is no error
    """Stops the parser where vertices and edges begin."""


def _parse(parser: expat.XMLParserType, reader: "_Reader", data: bytes) -> None:
    """Pass the elements of a GraphML file to a reader.

    Raises:
        FileFormatError: not well-formed XML, a DOCTYPE, or no graph.
    """
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text.append
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        parser.Parse(data, True)
    except expat.ExpatError as problem:
        raise FileFormatError(f"line {problem.lineno}: not well-formed XML") from None
    except (LookupError, ValueError):
        raise FileFormatError("not XML in a known encoding; convert it to UTF-8") from None
    if not reader.has_graph:
        raise FileFormatError("no <graph> element; this is not a GraphML file")


def _refuse_doctype(*_: object) -> None:
    raise FileFormatError("the file has a DOCTYPE, which may hold entity bombs; delete it")


@dataclass(slots=True)
class _Key:
    """A declared attribute."""

    target: str
    name: str
    numeric: bool
    default: str | None = None


@dataclass(slots=True)
class _Element:
    """An element of XML.

    Attributes:
        name: without the prefix of its namespace.
        attributes: by name.
        line: number of the line where it begins.
        data: texts of the <data> elements in it, by the id of their key.
    """

    name: str
    attributes: dict[str, str]
    line: int
    data: dict[str, str] = field(default_factory=dict)


class _Reader:
    """Handlers for expat, which fill `contents` element by element."""

    def __init__(
        self,
        line: Callable[[], int],
        columns: Columns,
        weighted: bool | None,
        *,
        head_only: bool = False,
    ) -> None:
        self._head_only = head_only
        self.contents = GraphContents()
        self.has_graph = False
        self.text: list[str] = []  # pieces of the text since the last tag that clears them
        self._line = line
        self._columns, self._weighted = columns, weighted
        self._directed = "true"  # value of the attribute `directed` of edges without it
        self._keys: dict[str, _Key] = {}  # by id
        self._weight: str | None = None  # id of the key of weights
        self._nodes: list[dict[str, str]] = []  # `_Element.data` of each node
        self._open = [_Element("", {}, 0)]  # elements that are not closed, outermost first

    def start(self, element: str, attributes: dict[str, str]) -> None:
        """Open an element. Store the declaration of a key; choose the weight when a graph opens.

        Raises:
            FileFormatError: an element that makes the file malformed.
        """
        name = element.rpartition(":")[2]
        if not attributes.keys() >= {*_NEEDED.get(name, ())}:
            raise self._malformed(_MISSING[name])
        if name == "key":
            if self.has_graph:
                raise self._malformed("a <key> below <graph>; move it above")
            key_id = attributes.get("id", "")
            kind = attributes.get("attr.type", "").casefold()
            self._keys[key_id] = _Key(
                attributes.get("for", "all"), attributes.get("attr.name", key_id), kind in _NUMERIC
            )
        elif name == "graph":
            if self.has_graph:
                raise self._malformed("more than one graph, or nested ones; keep one")
            self.has_graph = True
            if not self._head_only:  # a head lists the attributes; the caller chooses among them
                self._choose_weight()
            if attributes.get("edgedefault") == "undirected":
                self._directed = "false"
            if self._head_only:
                raise _HeadEnd
        elif name == "hyperedge":
            raise self._malformed("hyperedges are not edges of a graph")
        if name in ("data", "default", "node", "edge"):  # other markup may stand within data
            self.text.clear()
        self._open.append(_Element(name, attributes, self._line()))

    def head(self) -> "GraphmlHead":
        """Return what is declared above the vertices."""
        keys = [key for key in self._keys.values() if key.target in ("edge", "all")]
        return GraphmlHead(
            tuple(key.name for key in keys),
            tuple(key.numeric for key in keys),
            tuple(key.target == "edge" for key in keys),
            self._directed == "true",
        )

    def _choose_weight(self) -> None:
        ids = [key_id for key_id, key in self._keys.items() if key.target in ("edge", "all")]
        keys = [self._keys[key_id] for key_id in ids]
        names, numeric = [key.name for key in keys], [key.numeric for key in keys]
        chosen = find_weight_attribute(names, numeric, self._columns, weighted=self._weighted)
        self._weight = None if chosen is None else ids[chosen]
        self.contents.has_weights = chosen is not None
        other_names = [
            key.name for i, key in enumerate(keys) if key.target == "edge" and i != chosen
        ]
        self.contents.reading = attributes_read(
            None if chosen is None else names[chosen], other_names
        )

    def end(self, _: str) -> None:
        """Close an element, and store an edge, a node, or the text of data or of a default."""
        element, parent = self._open.pop(), self._open[-1]
        attributes, data = element.attributes, element.data
        if element.name == "data":
            parent.data[attributes.get("key", "")] = "".join(self.text)
        elif element.name == "default":
            key = self._keys.get(parent.attributes.get("id", ""))
            if key is not None:
                key.default = "".join(self.text)
        elif element.name == "edge":
            key_id = self._weight
            weight = None if key_id is None else data.get(key_id, self._keys[key_id].default)
            self.contents.add(attributes["source"], attributes["target"], weight, element.line)
            self.contents.undirected |= attributes.get("directed", self._directed) == "false"
        elif element.name == "node":
            self.contents.ids.append(attributes["id"])
            self._nodes.append(data)
        elif element.name == "graph":
            our_facts = (text for key_id, text in data.items() if self._name(key_id) == FACTS)
            self.contents.facts = next(our_facts, None)

    def finish(self) -> GraphContents:
        """Return the contents, with labels and sides."""
        contents, ids = self.contents, self.contents.ids
        if ids == [f"n{row}" for row in range(len(ids))]:
            node_names = self._node_attribute("name")
            if contents.facts and None not in node_names:
                # Files of this package hold the labels so. Two sides may share some of them, so
                # they need not be distinct.
                contents.names = [name or "" for name in node_names]
            else:
                names = pick_names(ids, [node_names, self._node_attribute("label")])
                if names is ids and not contents.facts:
                    names = [str(row) for row in range(len(ids))]
                contents.names = names
        sides = self._node_attribute("bipartite")
        if None in sides:
            sides = self._node_attribute("type")
        contents.sides = [parse_side(side) for side in sides]
        return contents

    def _node_attribute(self, name: str) -> list[str | None]:
        """Return the value of an attribute for each node; None for a node without it."""
        for key_id, key in self._keys.items():
            if key.target in ("node", "all") and key.name.casefold() == name:
                return [data.get(key_id, key.default) for data in self._nodes]
        return [None] * len(self._nodes)

    def _name(self, key_id: str) -> str:
        """Return the name of an attribute by the id of its key; "" of an undeclared one."""
        return self._keys[key_id].name if key_id in self._keys else ""

    def _malformed(self, reason: str) -> FileFormatError:
        """Return the error of a malformed file, at the line that is being read."""
        return FileFormatError(f"line {self._line()}: {reason}")
