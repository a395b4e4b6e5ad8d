"""Pajek `.net`: our own reader and writer, checked against those of networkx and igraph.

networkx loses the two sides of `*Vertices n n_left`, makes one vertex of two with the same label,
takes comments for edges, lists of neighbours for weights and arcs for edges where both are there,
and an end that nobody declared for a new vertex (`tests/graph/test_exchange_files.py`).
"""

import html
import re
from typing import BinaryIO

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.graph.adjacency import AnyGraph, DirectedGraph
from graphcuts_dp.graph.edge_lists import write_edges
from graphcuts_dp.graph.exchange import (
    Contents,
    as_text,
    exchange_facts,
    left_count,
    pick_names,
    written_names,
)
from graphcuts_dp.graph.schema import MARK, parse_number

# A name is quoted with escapes (networkx since 3.7), quoted without, or one word.
_VERTEX = re.compile(r'\s*([0-9]{1,18})(?![0-9])(?:\s+(?:"((?:[^"\\]|\\.)*)"|"([^"]*)"|(\S+)))?')
_ESCAPE = re.compile(r'\\(["\\])')
_ESCAPES = str.maketrans({"&": "&amp;", '"': "&quot;", "\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
_COUNT = re.compile(r"[0-9]{1,18}")
# Vertices without a line of their own cost memory too: not more of them than bytes allow for.
_VERTICES_ALWAYS = 10**6
_VERTICES_PER_BYTE = 10


def read_pajek(data: bytes) -> Contents:
    """Vertices and edges: *Vertices, *Edges, *Arcs, *Edgeslist, *Arcslist, *Matrix.

    Labels are those of the vertex lines where all differ, else the numbers 1..n that Pajek uses.
    `*Vertices n n_left` tells the left side of a bipartite graph.

    Raises:
        FileFormatError: malformed (told by line number), or not UTF-8.
    """
    reader = _Reader(max(_VERTICES_ALWAYS, _VERTICES_PER_BYTE * len(data)))
    section = ""
    for number, content in enumerate(as_text(data).split("\n"), 1):
        line = content.strip()
        if line.startswith("*"):
            section, problem = reader.open(line)
        elif line and line[0] != "%":
            problem = reader.take(section, line, number)
        else:
            continue
        if problem:
            raise FileFormatError(f"line {number}: {problem}")
    return reader.finish()


class _Reader:
    """What was read so far; its methods return what is wrong with a line, or nothing."""

    def __init__(self, most_vertices: int) -> None:
        self.contents = Contents()
        self._most_vertices = most_vertices
        self._n = self._n_left = self._matrix_row = 0
        self._names: dict[int, str] = {}

    def open(self, line: str) -> tuple[str, str]:
        """Start a section, and tell its name."""
        name, *rest = line.split(None, 1)
        section, words = name[1:].casefold(), "".join(rest)
        if section == "network":
            if words.startswith(MARK):
                self.contents.facts = words.removeprefix(MARK).strip()
        elif section == "vertices":
            counts = words.split()[:2]
            if self._n or not counts or not all(map(_COUNT.fullmatch, counts)):
                return section, "expected '*Vertices n' once"
            self._n, self._n_left = int(counts[0]), int(counts[1]) if len(counts) > 1 else 0
            if self._n > self._most_vertices:
                return section, (
                    "far more vertices than a file of this size tells of; write it as .mtx"
                )
        elif section not in ("edges", "arcs", "edgeslist", "arcslist", "matrix"):
            return section, "a section that this reader does not know"
        elif not self._n:
            return section, "*Vertices must come first"
        self.contents.has_weights |= section == "matrix"
        return section, ""

    def take(self, section: str, line: str, number: int) -> str:
        """Read one line of a section."""
        fields = line.split()
        add = self.contents.add
        self.contents.undirected |= section in ("edges", "edgeslist")
        if section in ("edges", "arcs"):
            if len(fields) < 2:
                return "malformed row: an edge has two ends"
            # What is no number there is a keyword of the drawing, such as c Blue.
            weight = next((w for w in fields[2:3] if parse_number(w) is not None), None)
            add(fields[0], fields[1], weight, number)
        elif section in ("edgeslist", "arcslist"):
            for target in fields[1:]:
                add(fields[0], target, None, number)
        elif section == "vertices":
            found = _VERTEX.match(line)
            if found is None or not 1 <= int(found[1]) <= self._n:
                return "malformed row: not a vertex"
            name = next((part for part in found.groups()[1:] if part is not None), found[1])
            if found[2] is not None and self.contents.facts is None:
                name = _ESCAPE.sub(r"\1", name)
            self._names[int(found[1])] = name
        elif section == "matrix":
            values = [parse_number(field) for field in fields]
            if len(fields) not in (self._n, self._n - self._n_left):
                return "malformed row: wrong number of columns"
            if None in values:
                return "malformed row: not a number"
            self._matrix_row += 1
            for column, value in enumerate(values, 1 + self._n - len(fields)):
                if value != 0:
                    add(str(self._matrix_row), str(column), str(value), number)
        else:
            return "text before the first section"
        return ""

    def finish(self) -> Contents:
        contents = self.contents
        contents.ids = [str(row) for row in range(1, self._n + 1)]
        names = [self._names.get(row, name) for row, name in enumerate(contents.ids, 1)]
        if contents.facts is not None:
            contents.names = [html.unescape(name) for name in names]
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
    head = [
        f"*Network {MARK} {exchange_facts(graph)}",
        f"*Vertices {len(names)} {offset}" if offset else f"*Vertices {len(names)}",
        *(f'{row} "{name.translate(_ESCAPES)}"' for row, name in enumerate(names, 1)),
        "*Arcs\n" if isinstance(graph, DirectedGraph) else "*Edges\n",
    ]
    handle.write("\n".join(head).encode())
    ids = [str(row) for row in range(1, len(names) + 1)]
    write_edges(graph, handle, ids, ids[offset:], "%s %s\n", "%s %s %s\n")
