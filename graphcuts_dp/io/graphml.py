"""GraphML: our own reader, checked against those of networkx and igraph.

Expat reads the file in one pass. A DOCTYPE is refused, so entities cannot blow up or reach out.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.schema.columns import is_integer_literal
from graphcuts_dp.schema.text_rows import Label, labels_of

FACTS = "graphcuts_dp"
_NEEDED = {"edge": ("source", "target"), "node": ("id",)}
_MISSING = {"edge": "an edge needs a source and a target", "node": "a node needs an id"}


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


def _parsed(data: bytes) -> "_Reader":
    parser = expat.ParserCreate()
    parser.buffer_text = True
    reader = _Reader(lambda: parser.CurrentLineNumber)
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
    return reader


def _refuse_doctype(*_: object) -> None:
    raise FileFormatError("the file has a DOCTYPE, which may hold entity bombs; delete it")


class _Reader:
    """Handlers for expat; `contents` fills up as elements go by."""

    def __init__(self, line: Callable[[], int]) -> None:
        self.contents = Contents()
        self.has_graph = False
        self.text: list[str] = []  # of the latest data
        self._line = line
        self._directed = "true"  # of edges that do not say it
        self._keys: dict[str, tuple[str, str]] = {}  # key id -> what for, attribute name
        self._defaults: dict[tuple[str, str], str] = {}
        self._nodes: list[dict[str, str]] = []  # the data of each
        # Each element around: its name, its attributes, its data by name, and its line.
        self._open: list[tuple[str, dict[str, str], dict[str, str], int]] = [("", {}, {}, 0)]

    def start(self, element: str, attributes: dict[str, str]) -> None:
        name = element.rpartition(":")[2]
        if not attributes.keys() >= {*_NEEDED.get(name, ())}:
            raise self._malformed(_MISSING[name])
        if name == "key":
            attribute = attributes.get("attr.name", attributes.get("id", ""))
            key = attributes.get("for", "all"), attribute.casefold()
            self._keys[attributes.get("id", "")] = key
        elif name == "graph":
            if self.has_graph:
                raise self._malformed("more than one graph, or nested ones; keep one")
            self.has_graph = True
            if attributes.get("edgedefault") == "undirected":
                self._directed = "false"
        elif name == "hyperedge":
            raise self._malformed("hyperedges are not edges of a graph")
        if name in ("data", "default", "node", "edge"):  # other markup may stand within data
            self.text.clear()
        self._open.append((name, attributes, {}, self._line()))

    def end(self, _: str) -> None:
        name, attributes, data, line = self._open.pop()
        if name == "data":
            key = self._keys.get(attributes.get("key", ""))
            if key is not None:
                self._open[-1][2][key[1]] = "".join(self.text)
        elif name == "default":
            key = self._keys.get(self._open[-1][1].get("id", ""))
            if key is not None:
                self._defaults[key] = "".join(self.text)
        elif name == "edge":
            ends = attributes["source"], attributes["target"]
            self.contents.add(*ends, data.get("weight"), line)
            self.contents.undirected |= attributes.get("directed", self._directed) == "false"
        elif name == "node":
            self.contents.ids.append(attributes["id"])
            self._nodes.append(data)
        elif name == "graph":
            self.contents.facts = data.get(FACTS)

    def finish(self) -> Contents:
        """The contents, with defaults, labels and sides."""
        contents, ids = self.contents, self.contents.ids
        contents.has_weights = self.declares("edge", "weight")
        default = self._default("edge", "weight")
        if default is not None:
            contents.weights = [default if w is None else w for w in contents.weights]
        if ids == [f"n{row}" for row in range(len(ids))]:
            fallback = ids if contents.facts else [str(row) for row in range(len(ids))]
            given = self.of_nodes("name")
            names = pick_names(ids, [given, self.of_nodes("label")])
            contents.names = fallback if names is ids else names
            if contents.facts and None not in given:  # sides may share labels
                contents.names = [name or "" for name in given]
        sides = self.of_nodes("bipartite")
        if None in sides:
            sides = self.of_nodes("type")
        contents.sides = [parse_side(side) for side in sides]
        return contents

    def of_nodes(self, name: str) -> list[str | None]:
        """An attribute of all nodes; None where a node has none."""
        default = self._default("node", name)
        return [data.get(name, default) for data in self._nodes]

    def declares(self, target: str, name: str) -> bool:
        """Whether there is a key of this name for nodes, edges, or all."""
        return bool({(target, name), ("all", name)} & set(self._keys.values()))

    def _default(self, target: str, name: str) -> str | None:
        return self._defaults.get((target, name), self._defaults.get(("all", name)))

    def _malformed(self, reason: str) -> FileFormatError:
        return FileFormatError(f"line {self._line()}: {reason}")
