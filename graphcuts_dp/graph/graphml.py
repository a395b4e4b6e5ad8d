"""GraphML: our own reader and writer, checked against those of networkx and igraph.

Expat reads the file in one pass. A DOCTYPE is refused, so entities cannot blow up or reach out.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import BinaryIO
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.graph.adjacency import AnyGraph, DirectedGraph
from graphcuts_dp.graph.edge_lists import write_edges
from graphcuts_dp.graph.exchange import (
    Contents,
    exchange_facts,
    labels_in,
    left_count,
    parse_side,
    pick_names,
    written_names,
)
from graphcuts_dp.pairs.vertices import Label

_FACTS = "graphcuts_dp"
_NODE_KEYS = ("name", "label", "bipartite", "type")
_BLANKS = {"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}


def read_graphml(data: bytes) -> Contents:
    """Vertices and edges of a GraphML file with one graph.

    The id of a node is its label. Where ids are just n0, n1, ... as igraph writes them, the
    attribute `name`, else `label`, is; without either, labels are 0, 1, ...

    Raises:
        FileFormatError: not well-formed (told by line number), a DOCTYPE, nested graphs or
            hyperedges.
    """
    return _parsed(data).finish()


def read_node_attributes(
    data: bytes, names: Sequence[str]
) -> tuple[list[Label], dict[str, list[str | None]]]:
    """Attributes of the nodes of a GraphML file, by name; None where a node has none.

    Returns:
        The labels of the nodes, and for each name the values in the same order.

    Raises:
        FileFormatError: as `read_graphml`, or a name that the file does not declare for nodes.
    """
    reader = _parsed(data, tuple(name.casefold() for name in names))
    contents = reader.finish()
    for name in names:
        if not reader.declares("node", name.casefold()):
            raise FileFormatError(f"the file declares no attribute {name!r:.60} of nodes")
    return labels_in(contents), {name: reader.attributes[name.casefold()] for name in names}


def _parsed(data: bytes, attributes: tuple[str, ...] = ()) -> "_Reader":
    parser = expat.ParserCreate()
    parser.buffer_text = True
    reader = _Reader(lambda: parser.CurrentLineNumber, attributes)
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.characters
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        parser.Parse(data, True)
    except expat.ExpatError as problem:
        raise FileFormatError(f"line {problem.lineno}: not well-formed XML") from None
    except (LookupError, ValueError):
        raise FileFormatError("not XML in a known encoding; convert it to UTF-8") from None
    if not reader.graphs:
        raise FileFormatError("no <graph> element; this is not a GraphML file")
    return reader


def _refuse_doctype(*_: object) -> None:
    raise FileFormatError("the file has a DOCTYPE, which may hold entity bombs; delete it")


class _Reader:
    """Handlers for expat; `contents` fills up as elements go by."""

    def __init__(self, line: Callable[[], int], more: tuple[str, ...] = ()) -> None:
        self.contents = Contents()
        self.graphs = 0
        self._directed = "true"  # of edges that do not say it
        self._line = line
        self._inside: str | None = None  # node, edge or graph that a <data> belongs to
        self._keys: dict[str, tuple[str, str]] = {}  # key id -> what for, attribute name
        self._defaults: dict[tuple[str, str], str] = {}
        self._key: tuple[str, str] | None = None
        self._text: list[str] | None = None
        self.attributes: dict[str, list[str | None]] = {name: [] for name in (*_NODE_KEYS, *more)}

    def start(self, element: str, attributes: dict[str, str]) -> None:
        name = element.rpartition(":")[2]
        if name == "edge":
            try:
                ends = attributes["source"], attributes["target"]
            except KeyError:
                raise self._malformed("an edge needs a source and a target") from None
            self.contents.add(*ends, None, self._line())
            if attributes.get("directed", self._directed) == "false":
                self.contents.undirected = True
            self._inside = "edge"
        elif name == "data":
            self._key = self._keys.get(attributes.get("key", ""))
            self._text = []
        elif name == "node":
            if "id" not in attributes:
                raise self._malformed("a node needs an id")
            self.contents.ids.append(attributes["id"])
            for values in self.attributes.values():
                values.append(None)
            self._inside = "node"
        elif name == "key":
            self._start_key(attributes)
        elif name == "default":
            self._text = []
        elif name == "graph":
            self.graphs += 1
            if self.graphs > 1:
                raise self._malformed("more than one graph, or nested ones; keep one")
            self._inside = "graph"
            if attributes.get("edgedefault") == "undirected":
                self._directed = "false"
        elif name == "hyperedge":
            raise self._malformed("hyperedges are not edges of a graph")

    def _start_key(self, attributes: dict[str, str]) -> None:
        name = attributes.get("attr.name", attributes.get("id", ""))
        target = attributes.get("for", "all")
        self._key = (target, name.casefold() if target != "graph" else name)
        self._keys[attributes.get("id", "")] = self._key
        if self._key == ("edge", "weight") or self._key == ("all", "weight"):
            self.contents.has_weights = True

    def characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def end(self, element: str) -> None:
        name = element.rpartition(":")[2]
        if name == "data":
            if self._key is not None:
                self._store(self._key[1], "".join(self._text or ()))
            self._key = self._text = None
        elif name == "default":
            if self._key is not None:
                self._defaults[self._key] = "".join(self._text or ())
            self._text = None
        elif name in ("node", "edge"):
            self._inside = "graph"
        elif name == "key":
            self._key = None

    def _store(self, attribute: str, text: str) -> None:
        if self._inside == "edge":
            if attribute == "weight":
                self.contents.weights[-1] = text
        elif self._inside == "node":
            if attribute in self.attributes:
                self.attributes[attribute][-1] = text
        elif attribute == _FACTS:
            self.contents.facts = text

    def finish(self) -> Contents:
        """The contents, with defaults, labels and sides."""
        contents = self.contents
        default = self._default("edge", "weight")
        if default is not None:
            contents.weights = [default if w is None else w for w in contents.weights]
        values = self.attributes
        for name, given in values.items():
            default = self._default("node", name)
            values[name] = [default if value is None else value for value in given]
        ids = contents.ids
        if ids == [f"n{row}" for row in range(len(ids))]:
            fallback = ids if contents.facts else [str(row) for row in range(len(ids))]
            names = pick_names(ids, [values["name"], values["label"]])
            contents.names = fallback if names is ids else names
            if contents.facts and None not in values["name"]:  # sides may share labels
                contents.names = [name or "" for name in values["name"]]
        sides = values["bipartite"]
        if None in sides:
            sides = values["type"]
        contents.sides = [parse_side(side) for side in sides]
        return contents

    def declares(self, target: str, name: str) -> bool:
        """Whether there is a key of this name for nodes, edges, or all."""
        return bool({(target, name), ("all", name)} & set(self._keys.values()))

    def _default(self, target: str, name: str) -> str | None:
        return self._defaults.get((target, name), self._defaults.get(("all", name)))

    def _malformed(self, reason: str) -> FileFormatError:
        return FileFormatError(f"line {self._line()}: {reason}")


def write_graphml(
    graph: AnyGraph, handle: BinaryIO, about: Mapping[str, float | str] | None = None
) -> None:
    """Write GraphML that networkx, igraph and we read with the same labels.

    Args:
        graph: what is written.
        handle: where to.
        about: names and values that become attributes of the graph.

    Raises:
        FileFormatError: a label that XML cannot hold.
    """
    names = written_names(graph)
    ids = names if len(set(names)) == len(names) else [f"n{row}" for row in range(len(names))]
    quoted = [quoteattr(name, _BLANKS) for name in ids]
    head = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
        f'<key id="facts" for="graph" attr.name="{_FACTS}" attr.type="string"/>',
        '<key id="name" for="node" attr.name="name" attr.type="string"/>',
    ]
    n_left = left_count(graph)
    if n_left is not None:
        head.append('<key id="side" for="node" attr.name="bipartite" attr.type="int"/>')
    if graph.weighted:
        head.append('<key id="weight" for="edge" attr.name="weight" attr.type="double"/>')
    facts = dict(about or {})
    for name, value in facts.items():
        kind = "string" if isinstance(value, str) else "double"
        named = quoteattr(name, _BLANKS)
        head.append(f'<key id={named} for="graph" attr.name={named} attr.type="{kind}"/>')
    direction = "directed" if isinstance(graph, DirectedGraph) else "undirected"
    head.append(f'<graph edgedefault="{direction}">')
    head.append(f'<data key="facts">{escape(exchange_facts(graph))}</data>')
    for name, value in facts.items():
        head.append(f"<data key={quoteattr(name, _BLANKS)}>{escape(str(value), _BLANKS)}</data>")
    for row, name in enumerate(names):
        side = "" if n_left is None else f'<data key="side">{int(row >= n_left)}</data>'
        text = escape(name, _BLANKS)
        head.append(f'<node id={quoted[row]}><data key="name">{text}</data>{side}</node>')
    handle.write(("\n".join(head) + "\n").encode())
    plain = "<edge source=%s target=%s/>\n"
    weighted = '<edge source=%s target=%s><data key="weight">%s</data></edge>\n'
    write_edges(graph, handle, quoted, quoted[n_left or 0 :], plain, weighted)
    handle.write(b"</graph>\n</graphml>\n")
