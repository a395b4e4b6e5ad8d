"""GraphML: our own reader, checked against those of networkx and igraph.

Expat reads the file in one pass. A DOCTYPE is refused, so entities cannot blow up or reach out.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.tables.columns import is_integer_literal
from graphcuts_dp.tables.rows import Label, labels_of

FACTS = "graphcuts_dp"
_NODE_KEYS = ("name", "label", "bipartite", "type")


@dataclass(slots=True)
class Contents:
    """What a reader has found in a file, edges by vertex ids.

    Attributes:
        ids: id of each vertex, distinct.
        names: label of each vertex as text; the ids again if None.
        sides: for each vertex 0 (left), 1 (right) or None (not told).
        sources: id of the first end of each edge.
        targets: id of the second end.
        weights: weight of each edge as text, None where it has none.
        has_weights: the file declares weights, even if no edge has one; our own JSON may, too.
        undirected: an edge is declared to have no direction.
        facts: our own JSON, or None.
        lines: the number of the line of each edge.
    """

    ids: list[str] = field(default_factory=list)
    names: list[str] | None = None
    sides: list[int | None] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    weights: list[str | None] = field(default_factory=list)
    has_weights: bool = False
    undirected: bool = False
    facts: str | None = None
    lines: list[int] = field(default_factory=list)

    def add(self, source: str, target: str, weight: str | None, line: int) -> None:
        """Take an edge."""
        self.sources.append(source)
        self.targets.append(target)
        self.weights.append(weight)
        self.lines.append(line)


def pick_names(ids: list[str], candidates: Sequence[list[str | None]]) -> list[str]:
    """The first list of names that names every vertex, each once; else the ids."""
    for names in candidates:
        complete = [name for name in names if name is not None]
        if len(complete) == len(ids) == len(set(complete)):
            return complete
    return ids


def parse_side(text: str | None) -> int | None:
    """Side of a vertex: networkx writes 0 or 1, igraph false or true."""
    return {"0": 0, "1": 1, "0.0": 0, "1.0": 1, "false": 0, "true": 1}.get((text or "").lower())


def labels_in(contents: Contents) -> list[Label]:
    """Labels of the vertices of a file: integers where all are integer literals."""
    names = contents.ids if contents.names is None else contents.names
    if contents.facts is None:
        return labels_of(names)
    text = json.loads(contents.facts).get("text", [])
    if not isinstance(text, list) or not all(isinstance(name, str) for name in text):
        text = []
    kept = set(text)
    return [
        int(name) if len(name) < 4000 and is_integer_literal(name) and name not in kept else name
        for name in names
    ]


def graphml_contents(data: bytes) -> Contents:
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
        FileFormatError: as `graphml_contents`, or a name that the file does not declare for nodes.
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
        elif attribute == FACTS:
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
