"""GML: our own reader and writer, checked against those of networkx and igraph.

networkx reads the weight `1e-05`, as igraph writes it, as 1, and loses all edges after a quotation
mark in a comment; it also joins labels that differ only in line ends. igraph takes the type of a
column from all of its entries (`tests/graph/test_exchange_files.py`).
"""

import html
import re
from collections.abc import Iterator
from typing import BinaryIO

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.graph.adjacency import AnyGraph, DirectedGraph
from graphcuts_dp.graph.edge_lists import write_edges
from graphcuts_dp.graph.exchange import (
    Contents,
    as_text,
    exchange_facts,
    left_count,
    parse_side,
    pick_names,
    written_names,
)

_FACTS = "graphcutsdp"  # GML keys have no underscores
_TOKEN = re.compile(
    r"\s*+(?:\#[^\n]*+"
    r"|(?P<open>[A-Za-z_]\w*+)\s*+\["
    r"|(?P<close>\])"
    r'|(?P<key>[A-Za-z_]\w*+)\s++(?:"(?P<text>[^"]*)"'
    r"|(?P<bare>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?\w+))"
    r"|(?P<wrong>\S))"
)


def read_gml(data: bytes) -> Contents:
    """Vertices and edges of a GML file.

    The `label` of a node is its label where every node has one and all differ, else its `name`
    (igraph), else its `id`. The weight of an edge is its `weight`, else its `value`.

    Raises:
        FileFormatError: malformed (told by line number), not UTF-8, no graph or more than one.
    """
    contents, graphs = Contents(), 0
    nodes: list[dict[str, str]] = []
    for path, values, line in _records(as_text(data).rstrip()):
        if path == "graph":
            graphs += 1
            contents.facts = values.get(_FACTS)
            contents.undirected = values.get("directed", "0") == "0"
        elif path == "graph/node":
            if "id" not in values:
                raise FileFormatError(f"line {line}: a node needs an id")
            nodes.append(values)
        elif path == "graph/edge":
            if not {"source", "target"} <= values.keys():
                raise FileFormatError(f"line {line}: an edge needs a source and a target")
            weight = values.get("weight", values.get("value"))
            contents.add(values["source"], values["target"], weight, line)
    if graphs != 1:
        raise FileFormatError("a GML file to read holds exactly one graph [ ... ]")
    contents.ids = [node["id"] for node in nodes]
    labels = [node.get("label") for node in nodes]
    contents.names = pick_names(contents.ids, [labels, [node.get("name") for node in nodes]])
    if contents.facts and None not in labels:  # sides may share labels
        contents.names = [label or "" for label in labels]
    contents.sides = [parse_side(node.get("bipartite", node.get("type"))) for node in nodes]
    return contents


def _records(text: str) -> Iterator[tuple[str, dict[str, str], int]]:
    """Each `key [ ... ]` that is at most two deep: its path, its values, and where it ends."""
    stack: list[tuple[str, dict[str, str]]] = [("", {})]
    line, seen = 1, 0
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind == "open":
            stack.append((token["open"], {}))
        elif kind == "bare":
            stack[-1][1][token["key"]] = token["bare"]
        elif kind == "text":
            stack[-1][1][token["key"]] = html.unescape(token["text"])
        elif kind is not None:
            line += text.count("\n", seen, token.end())
            seen = token.end()
            if kind == "wrong":
                raise FileFormatError(f"line {line}: malformed GML")
            if len(stack) == 1:
                raise FileFormatError(f"line {line}: a bracket too many")
            name, values = stack.pop()
            if len(stack) <= 2:
                yield "/".join([*(around for around, _ in stack[1:]), name]), values, line
    if len(stack) > 1:
        raise FileFormatError("malformed GML: a bracket is not closed; is the file cut off?")


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
    edge = "  edge [ source %s target %s"
    plain, weighted = f"{edge} ]\n", edge + " weight %s ]\n"
    write_edges(graph, handle, ids, ids[n_left or 0 :], plain, weighted, _real)
    handle.write(b"]\n")


def _escaped(text: str) -> str:
    text = text.replace("&", "&amp;").replace('"', "&quot;")
    if text.isascii() and text.isprintable():
        return text
    return "".join(mark if " " <= mark <= "~" else f"&#{ord(mark)};" for mark in text)


def _real(weight: str) -> str:
    """A GML real has a point before its exponent: 1e-05 becomes 1.0e-05."""
    return weight.replace("e", ".0e") if "e" in weight and "." not in weight else weight
