"""GML: our own reader and writer, checked against those of networkx and igraph."""

import html
import re
from typing import BinaryIO

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.graph.adjacency import AnyGraph, DirectedGraph
from graphcuts_dp.graph.dialect import NOT_UTF8
from graphcuts_dp.graph.edge_list_writer import edge_chunks
from graphcuts_dp.graph.exchange import (
    Contents,
    exchange_facts,
    left_count,
    parse_side,
    pick_names,
    to_raw,
    written_names,
)
from graphcuts_dp.graph.raw_edges import RawEdges

_FACTS = "graphcutsdp"  # GML keys have no underscores
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_TOKEN = re.compile(
    r"\s*(?:(?:\#[^\n]*)"
    r"|(?P<open>[A-Za-z_]\w*)\s*\["
    r"|(?P<close>\])"
    rf'|(?P<key>[A-Za-z_]\w*)\s+(?:"(?P<text>[^"]*)"|(?P<bare>{_NUMBER}|[+-]?\w+)))',
)
_PLAIN_EDGE = re.compile(
    r"\s*edge\s*\[\s*source\s+(-?[0-9]+)\s+target\s+(-?[0-9]+)"
    rf"(?:\s+weight\s+({_NUMBER}))?\s*\](?=\s)"
)


def read_gml(
    data: bytes, *, bipartite: bool, directed: bool = False, weighted: bool | None
) -> RawEdges:
    """Edges of a GML file.

    The `label` of a node is its label where every node has one and all differ, else its `name`
    (igraph), else its `id`. The weight of an edge is its `weight`, else its `value`.

    Raises:
        FileFormatError: malformed (told by line number), not UTF-8, no graph or more than one, or
            what `exchange.to_raw` refuses.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError(NOT_UTF8) from None
    reader = _Reader(text)
    reader.read()
    return to_raw(
        reader.finish(),
        lambda position: f"line {reader.line(reader.places[position])}",
        bipartite=bipartite,
        directed=directed,
        weighted=weighted,
    )


class _Reader:
    """Walks over nested `key [ ... ]` records and keeps those for nodes and edges."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.contents = Contents()
        self.places: list[int] = []
        self.graphs = 0
        self._nodes: list[dict[str, str]] = []
        self._stack: list[tuple[str, dict[str, str]]] = [("", {})]

    def line(self, place: int) -> int:
        return self.text.count("\n", 0, place) + 1

    def read(self) -> None:
        text, place, end = self.text, 0, len(self.text.rstrip())
        while place < end:
            if len(self._stack) == 2 and self._stack[1][0] == "graph":
                edge = _PLAIN_EDGE.match(text, place)
                if edge is not None:
                    self._add_edge(*edge.group(1, 2, 3), place=edge.start(1))
                    place = edge.end()
                    continue
            token = _TOKEN.match(text, place)
            if token is None:
                blanks = len(text) - place - len(text[place:].lstrip())
                raise FileFormatError(f"line {self.line(place + blanks)}: malformed GML")
            self._take(token)
            place = token.end()
        if len(self._stack) != 1:
            raise FileFormatError("malformed GML: a bracket is not closed; is the file cut off?")
        if self.graphs != 1:
            raise FileFormatError("a GML file to read holds exactly one graph [ ... ]")

    def _take(self, token: re.Match[str]) -> None:
        kind = token.lastgroup
        if kind == "open":
            self._stack.append((token["open"], {}))
        elif kind == "close":
            if len(self._stack) == 1:
                raise FileFormatError(f"line {self.line(token.end())}: a bracket too many")
            self._close(token.end())
        elif kind is not None:
            bare = token["bare"]
            value = html.unescape(token["text"]) if bare is None else bare
            self._stack[-1][1][token["key"]] = value

    def _close(self, place: int) -> None:
        name, values = self._stack.pop()
        path = [opened for opened, _ in self._stack[1:]]
        if name == "graph" and not path:
            self.graphs += 1
            self.contents.facts = values.get(_FACTS)
            self.contents.undirected = values.get("directed", "0") == "0"
        elif path != ["graph"]:
            return
        elif name == "node":
            if "id" not in values:
                raise FileFormatError(f"line {self.line(place)}: a node needs an id")
            self._nodes.append(values)
        elif name == "edge":
            if "source" not in values or "target" not in values:
                raise FileFormatError(
                    f"line {self.line(place)}: an edge needs a source and a target"
                )
            weight = values.get("weight", values.get("value"))
            self._add_edge(values["source"], values["target"], weight, place=place)

    def _add_edge(self, source: str, target: str, weight: str | None, *, place: int) -> None:
        self.contents.sources.append(source)
        self.contents.targets.append(target)
        self.contents.weights.append(weight)
        self.places.append(place)

    def finish(self) -> Contents:
        contents, nodes = self.contents, self._nodes
        contents.ids = [node["id"] for node in nodes]
        labels = [node.get("label") for node in nodes]
        contents.names = pick_names(contents.ids, [labels, [node.get("name") for node in nodes]])
        if contents.facts and None not in labels:  # sides may share labels
            contents.names = [label or "" for label in labels]
        contents.sides = [parse_side(node.get("bipartite", node.get("type"))) for node in nodes]
        contents.has_weights = bool(contents.facts and '"weighted": true' in contents.facts)
        return contents


def write_gml(graph: AnyGraph, handle: BinaryIO) -> None:
    """Write GML in ASCII that networkx, igraph and we read with the same labels.

    Raises:
        FileFormatError: a label with control characters.
    """
    names = written_names(graph)
    n_left = left_count(graph)
    head = [
        'Creator "graphcuts-dp"',
        "graph [",
        f"  directed {int(isinstance(graph, DirectedGraph))}",
        f'  {_FACTS} "{_escaped(exchange_facts(graph))}"',
    ]
    for row, name in enumerate(names):
        side = "" if n_left is None else f" bipartite {int(row >= n_left)}"
        head.append(f'  node [ id {row} label "{_escaped(name)}"{side} ]')
    handle.write(("\n".join(head) + "\n").encode("ascii"))
    ids = [str(row) for row in range(len(names))]
    for first, second, weights in edge_chunks(graph, ids, ids[n_left or 0 :]):
        if weights is None:
            lines = [
                f"  edge [ source {a} target {b} ]\n" for a, b in zip(first, second, strict=True)
            ]
        else:
            lines = [
                f"  edge [ source {a} target {b} weight {_real(w)} ]\n"
                for a, b, w in zip(first, second, weights, strict=True)
            ]
        handle.write("".join(lines).encode("ascii"))
    handle.write(b"]\n")


def _escaped(text: str) -> str:
    text = text.replace("&", "&amp;").replace('"', "&quot;")
    if text.isascii() and text.isprintable():
        return text
    return "".join(mark if " " <= mark <= "~" else f"&#{ord(mark)};" for mark in text)


def _real(weight: str) -> str:
    """A GML real has a point before its exponent: 1e-05 becomes 1.0e-05."""
    if "e" in weight and "." not in weight:
        return weight.replace("e", ".0e")
    return weight
