"""Pajek `.net`: our own reader and writer, checked against those of networkx and igraph."""

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
    pick_names,
    to_raw,
    written_names,
)
from graphcuts_dp.graph.raw_edges import RawEdges
from graphcuts_dp.graph.schema import MARK, parse_number

# A name is quoted with escapes (networkx since 3.7), quoted without, or one word.
_VERTEX = re.compile(r'\s*([0-9]{1,18})(?![0-9])(?:\s+(?:"((?:[^"\\]|\\.)*)"|"([^"]*)"|(\S+)))?')
_ESCAPE = re.compile(r'\\(["\\])')
_COUNT = re.compile(r"[0-9]{1,18}")
# Vertices without a line of their own cost memory too: not more of them than bytes allow for.
_VERTICES_ALWAYS = 10**6
_VERTICES_PER_BYTE = 10


def read_pajek(
    data: bytes, *, bipartite: bool, directed: bool = False, weighted: bool | None
) -> RawEdges:
    """Edges of a Pajek file: sections *Vertices, *Edges, *Arcs, *Edgeslist, *Arcslist, *Matrix.

    Labels are those of the vertex lines where all differ, else the numbers 1..n that Pajek uses.
    `*Vertices n n_left` tells the left side of a bipartite graph.

    Raises:
        FileFormatError: malformed (told by line number), not UTF-8, or what `exchange.to_raw`
            refuses.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError(NOT_UTF8) from None
    reader = _Reader(max(_VERTICES_ALWAYS, _VERTICES_PER_BYTE * len(data)))
    section = ""
    for number, content in enumerate(text.split("\n"), 1):
        line = content.strip()
        if not line or line[0] == "%":
            continue
        if line[0] == "*":
            section = reader.open(line, number)
        else:
            reader.take(section, line, number)
    contents, lines = reader.finish(), reader.places
    return to_raw(
        contents,
        lambda position: f"line {lines[position]}",
        bipartite=bipartite,
        directed=directed,
        weighted=weighted,
    )


class _Reader:
    def __init__(self, most_vertices: int) -> None:
        self.contents = Contents()
        self.places: list[int] = []
        self._most_vertices = most_vertices
        self._n = self._n_left = 0
        self._names: dict[int, str] = {}
        self._matrix_row = 0

    def open(self, line: str, number: int) -> str:
        """Start a section, and tell its name."""
        name, *rest = line.split(None, 1)
        section = name[1:].casefold()
        if section == "network":
            words = rest[0] if rest else ""
            if words.startswith(MARK):
                self.contents.facts = words.removeprefix(MARK).strip()
        elif section == "vertices":
            counts = rest[0].split() if rest else []
            if self._n or not counts or not all(map(_COUNT.fullmatch, counts[:2])):
                raise FileFormatError(f"line {number}: expected '*Vertices n' once")
            if int(counts[0]) > self._most_vertices:
                raise FileFormatError(
                    f"line {number}: far more vertices than a file of this size tells of; "
                    "write it as .mtx"
                )
            self._n = int(counts[0])
            self._n_left = int(counts[1]) if len(counts) > 1 else 0
        elif section in ("edges", "arcs", "edgeslist", "arcslist", "matrix"):
            if not self._n:
                raise FileFormatError(f"line {number}: *Vertices must come first")
        else:
            raise FileFormatError(f"line {number}: a section that this reader does not know")
        return section

    def take(self, section: str, line: str, number: int) -> None:
        """Read one line of a section."""
        if section in ("edges", "edgeslist"):
            self.contents.undirected = True
        if section in ("edges", "arcs"):
            fields = line.split()
            if len(fields) < 2:
                raise FileFormatError(f"line {number}: malformed row: an edge has two ends")
            self._add(fields[0], fields[1], fields[2] if len(fields) > 2 else None, number)
        elif section in ("edgeslist", "arcslist"):
            source, *targets = line.split()
            for target in targets:
                self._add(source, target, None, number)
        elif section == "vertices":
            found = _VERTEX.match(line)
            if found is None or not 1 <= int(found[1]) <= self._n:
                raise FileFormatError(f"line {number}: malformed row: not a vertex")
            name = next((part for part in found.groups()[1:] if part is not None), None)
            if found[2] is not None and self.contents.facts is None:
                name = _ESCAPE.sub(r"\1", found[2])
            self._names[int(found[1])] = found[1] if name is None else name
        elif section == "matrix":
            self._take_matrix_row(line.split(), number)
        else:
            raise FileFormatError(f"line {number}: text before the first section")

    def _take_matrix_row(self, fields: list[str], number: int) -> None:
        if len(fields) not in (self._n, self._n - self._n_left):
            raise FileFormatError(f"line {number}: malformed row: wrong number of columns")
        self._matrix_row += 1
        offset = self._n - len(fields)
        for column, weight in enumerate(fields, 1 + offset):
            value = parse_number(weight)
            if value is None:
                raise FileFormatError(f"line {number}: malformed row: not a number")
            if value != 0:
                self._add(str(self._matrix_row), str(column), weight, number)

    def _add(self, source: str, target: str, weight: str | None, number: int) -> None:
        if weight is not None and parse_number(weight) is None:
            weight = None  # a keyword of the drawing, such as c Blue
        self.contents.sources.append(source)
        self.contents.targets.append(target)
        self.contents.weights.append(weight)
        self.places.append(number)

    def finish(self) -> Contents:
        contents = self.contents
        contents.ids = [str(row) for row in range(1, self._n + 1)]
        names = [self._names.get(row, str(row)) for row in range(1, self._n + 1)]
        if contents.facts is not None:
            contents.names = [html.unescape(name) for name in names]
            contents.has_weights = '"weighted": true' in contents.facts
        else:
            quoted = [name.replace("&#34;", '"') for name in names]  # as igraph writes it
            contents.names = pick_names(contents.ids, [[*quoted]])
        if self._n_left:
            contents.sides = [int(row >= self._n_left) for row in range(self._n)]
        return contents


def write_pajek(graph: AnyGraph, handle: BinaryIO) -> None:
    """Write a Pajek file; quotes, ampersands and line ends in labels as character references.

    Raises:
        FileFormatError: a label with control characters.
    """
    names = written_names(graph)
    offset = left_count(graph) or 0
    size = f"{len(names)} {offset}" if offset else f"{len(names)}"
    head = [f"*Network {MARK} {exchange_facts(graph)}", f"*Vertices {size}"]
    head += [f'{row} "{_escaped(name)}"' for row, name in enumerate(names, 1)]
    head.append("*Arcs" if isinstance(graph, DirectedGraph) else "*Edges")
    handle.write(("\n".join(head) + "\n").encode())
    ids = [str(row) for row in range(1, len(names) + 1)]
    for first, second, weights in edge_chunks(graph, ids, ids[offset:]):
        if weights is None:
            lines = [f"{a} {b}\n" for a, b in zip(first, second, strict=True)]
        else:
            lines = [f"{a} {b} {w}\n" for a, b, w in zip(first, second, weights, strict=True)]
        handle.write("".join(lines).encode())


def _escaped(name: str) -> str:
    name = name.replace("&", "&amp;").replace('"', "&quot;")
    return name.replace("\n", "&#10;").replace("\r", "&#13;").replace("\t", "&#9;")
