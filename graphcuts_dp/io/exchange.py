"""Read and write GraphML, GML and Pajek files, which declare vertices, sides and weights.

networkx reads these formats, too, but private files cannot rely on it (3.6;
`tests/io/test_exchange_files.py` fails once that changes; for GraphML see `io.graphml`). Its errors
quote values and have no line numbers.

- GML: networkx refuses text beyond ASCII, integers as labels beside equal ones with zeros, repeated
  edges, and nodes without labels; it reads the weight `1e-05` of igraph as 1, loses all edges after
  a quotation mark in a comment, and joins labels that differ only in line ends. igraph takes the
  type of a column from all of its entries.
- Pajek: networkx refuses the two sides of `*Vertices n n_left` and vertices without a line, makes
  one vertex of two with the same label, and takes comments and lists of neighbours for edges, a
  second section for edges of the first, and an undeclared endpoint for a new vertex.

networkx, igraph and this package read our files with the same labels. A label that they would read
differently is refused: `_UNWRITABLE`.
"""

import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.io.assemble import (
    UNDIRECTED,
    edges_by_rows,
    listed_weights,
    named_attribute,
    other_attributes,
)
from graphcuts_dp.io.edge_store import EdgeStore, write_edges
from graphcuts_dp.io.graphml import (
    FACTS,
    GraphContents,
    graphml_contents,
    labels_in,
    parse_side,
    pick_names,
)
from graphcuts_dp.io.raw_edges import Options, RawEdges, Schema, dump_schema, load_schema
from graphcuts_dp.schema.columns import is_integer_literal, parse_number
from graphcuts_dp.schema.file_bytes import whole_file
from graphcuts_dp.schema.text_rows import BYTE_ORDER_MARK, MARK, decode_utf8
from graphcuts_dp.schema.vertices import Arcs, one_set, sets_in

# Characters that no label may have: XML cannot hold them, or references do not restore them.
_CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef"
    + "".join(chr(plane + end) for plane in range(0, 0x110000, 0x10000) for end in (0xFFFE, 0xFFFF))
    + "]"
)
# GML: networkx refuses text beyond ASCII, igraph does not resolve references to it, and networkx
# turns the labels () and [] into values of Python. Pajek: networkx reads escapes, igraph does not.
_UNWRITABLE = {
    ".gml": re.compile(r"[^ -~]|\A(?:\(\)|\[\])\Z"),
    ".net": re.compile(r'["\n\r]|\\(?:\\|\Z)'),
}
_BLANKS = {"\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_KEY_IDS = {"facts", "name", "side", "weight"}  # of the keys that GraphML files of ours declare
_GML_FACTS = "graphcutsdp"  # GML keys have no underscores
_GML_TOKEN = re.compile(
    r"\s*+(?:\#[^\n]*+"
    r"|(?P<open>[A-Za-z_]\w*+)\s*+\["
    r"|(?P<close>\])"
    r'|(?P<key>[A-Za-z_]\w*+)\s++(?:"(?P<text>[^"]*)"'
    r"|(?P<bare>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?\w+))"
    r"|(?P<wrong>\S))"
)
# A name in Pajek is quoted with escapes (networkx since 3.7), quoted without, or one word.
_PAJEK_VERTEX = re.compile(
    r'\s*([0-9]{1,18})(?![0-9])(?:\s+(?:"((?:[^"\\]|\\.)*)"|"([^"]*)"|(\S+)))?'
)
_PAJEK_ESCAPE = re.compile(r'\\(["\\])')
_PAJEK_COUNT = re.compile(r"[0-9]{1,18}")
# Vertices without a line of their own cost memory, too, so their number is limited by the size of
# the file: to the larger of these two.
_VERTICES_ALWAYS = 10**6
_VERTICES_PER_BYTE = 10


def read_graphml(file: BinaryIO, options: Options) -> RawEdges:
    """Read the vertices and edges of a GraphML file, see `io.graphml`."""
    data = whole_file(file, text=False)
    return _raw_edges(graphml_contents(data, options.columns, weighted=options.weighted), options)


def read_gml(file: BinaryIO, options: Options) -> RawEdges:
    """Read the vertices and edges of a GML file.

    The `label` of a node is its label where every node has one and all differ, else its `name`
    (igraph), else its `id`. The weight of an edge is the attribute that the caller names, else its
    `weight`, else its `value`.

    Raises:
        FileFormatError: malformed (with the line number), not UTF-8, no graph or more than one.
    """
    weight_attribute = named_attribute(options)
    contents, graph_count = GraphContents(has_weights=weight_attribute is not None), 0
    weight_keys = ["weight", "value"] if weight_attribute is None else [weight_attribute]
    nodes: list[dict[str, str]] = []
    for path, values, line in _records(_text(file, options).rstrip()):
        if path == "graph":
            graph_count += 1
            contents.facts = values.get(_GML_FACTS)
            contents.undirected = values.get("directed", "0") == "0"
        elif path == "graph/node":
            if "id" not in values:
                raise FileFormatError(f"line {line}: a node needs an id")
            nodes.append(values)
        elif path == "graph/edge":
            if not {"source", "target"} <= values.keys():
                raise FileFormatError(f"line {line}: an edge needs a source and a target")
            weight = next((values[key] for key in weight_keys if key in values), None)
            contents.add(values["source"], values["target"], weight, line)
    if graph_count != 1:
        raise FileFormatError("a GML file to read holds exactly one graph [ ... ]")
    contents.ids = [node["id"] for node in nodes]
    labels = [node.get("label") for node in nodes]
    contents.names = pick_names(contents.ids, [labels, [node.get("name") for node in nodes]])
    if contents.facts and None not in labels:  # sides may share labels
        contents.names = [label or "" for label in labels]
    contents.sides = [parse_side(node.get("bipartite", node.get("type"))) for node in nodes]
    if contents.facts is None:
        contents.reading = other_attributes(weight_keys)
    return _raw_edges(contents, options)


def read_pajek(file: BinaryIO, options: Options) -> RawEdges:
    """Read the sections *Vertices, *Edges, *Arcs, *Edgeslist, *Arcslist, *Matrix of a Pajek file.

    Labels are those of the vertex lines where all differ, else the numbers 1..n that Pajek uses.
    `*Vertices n n_left` declares the first n_left vertices as the left side of a bipartite graph.
    A *Matrix has a row and a column for each vertex, or with two sides a row for each left vertex
    and a column for each right one. It is a matrix as an `.mtx` file is: of the two entries of a
    pair, an undirected graph takes the larger one (`merge_rule`).

    Raises:
        FileFormatError: malformed (with the line number), a *Matrix of another shape or beside
            other sections of edges, or not UTF-8.
    """
    text = _text(file, options)
    reader = _PajekReader(max(_VERTICES_ALWAYS, _VERTICES_PER_BYTE * len(text)))
    section = ""
    for number, content in enumerate(text.split("\n"), 1):
        line = content.strip()
        if line.startswith("*"):
            section, problem = reader.start_section(line)
        elif line and line[0] != "%":
            problem = reader.read_line(section, line, number)
        else:
            continue
        if problem:
            raise FileFormatError(f"line {number}: {problem}")
    return _raw_edges(reader.finish(), options)


def write_graphml(
    graph: EdgeStore, handle: BinaryIO, about: Mapping[str, float | str] | None = None
) -> None:
    """Write GraphML that networkx, igraph and we read with the same labels.

    Args:
        graph: the graph.
        handle: of the open file.
        about: names and values that become attributes of the graph.

    Raises:
        FileFormatError: a label, or text in `about`, that XML cannot hold; or the name of our own
            attribute in `about`.
    """
    from xml.sax.saxutils import escape, quoteattr  # at use: it imports urllib, http and ssl

    graph_attributes = dict(about or {})
    if FACTS in graph_attributes:
        raise FileFormatError(f"the attribute {FACTS} of a graph holds its schema; rename it")
    if any(_CONTROL.search(f"{name}{value}") for name, value in graph_attributes.items()):
        raise FileFormatError("about= holds a control character, which XML cannot hold")
    # Keys have different ids, so those of `about` get a prefix if one of them is an id of ours.
    prefix = "" if _KEY_IDS.isdisjoint(graph_attributes) else "about "
    names = _written_names(graph)
    ids = names if len(set(names)) == len(names) else [f"n{row}" for row in range(len(names))]
    quoted = [quoteattr(name, _BLANKS) for name in ids]
    head = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">',
        f'<key id="facts" for="graph" attr.name="{FACTS}" attr.type="string"/>',
        '<key id="name" for="node" attr.name="name" attr.type="string"/>',
    ]
    n_left = _left_count(graph)
    if n_left is not None:
        head.append('<key id="side" for="node" attr.name="bipartite" attr.type="int"/>')
    if graph.weighted:
        head.append('<key id="weight" for="edge" attr.name="weight" attr.type="double"/>')
    for name, value in graph_attributes.items():
        kind = "string" if isinstance(value, str) else "double"
        key_id, quoted_name = quoteattr(prefix + name, _BLANKS), quoteattr(name, _BLANKS)
        head.append(f'<key id={key_id} for="graph" attr.name={quoted_name} attr.type="{kind}"/>')
    direction = "directed" if isinstance(graph.space, Arcs) else "undirected"
    head.append(f'<graph edgedefault="{direction}">')
    head.append(f'<data key="facts">{escape(_schema_json(graph))}</data>')
    for name, value in graph_attributes.items():
        key_id = quoteattr(prefix + name, _BLANKS)
        head.append(f"<data key={key_id}>{escape(str(value), _BLANKS)}</data>")
    for row, name in enumerate(names):
        side = "" if n_left is None else f'<data key="side">{int(row >= n_left)}</data>'
        text = escape(name, _BLANKS)
        head.append(f'<node id={quoted[row]}><data key="name">{text}</data>{side}</node>')
    handle.write(("\n".join(head) + "\n").encode())
    pair_line = "<edge source=%s target=%s/>\n"
    triple_line = '<edge source=%s target=%s><data key="weight">%s</data></edge>\n'
    write_edges(graph, handle, quoted, quoted[n_left or 0 :], pair_line, triple_line)
    handle.write(b"</graph>\n</graphml>\n")


def write_gml(graph: EdgeStore, handle: BinaryIO) -> None:
    """Write GML in ASCII that networkx, igraph and we read with the same labels.

    Raises:
        FileFormatError: a label that is not of printable ASCII.
    """
    names = _written_names(graph, ".gml")
    n_left = _left_count(graph)
    head = [
        'Creator "graphcuts-dp"',
        "graph [",
        f"  directed {int(isinstance(graph.space, Arcs))}",
        f'  {_GML_FACTS} "{_escaped(_schema_json(graph))}"',
    ]
    for row, name in enumerate(names):
        side = "" if n_left is None else f" bipartite {int(row >= n_left)}"
        head.append(f'  node [ id {row} label "{_escaped(name)}"{side} ]')
    handle.write(("\n".join(head) + "\n").encode("ascii"))
    ids = [str(row) for row in range(len(names))]
    edge = "  edge [ source %s target %s"
    pair_line, triple_line = f"{edge} ]\n", edge + " weight %s ]\n"
    write_edges(graph, handle, ids, ids[n_left or 0 :], pair_line, triple_line, _real)
    handle.write(b"]\n")


def write_pajek(graph: EdgeStore, handle: BinaryIO) -> None:
    """Write a Pajek file; of one vertex set, networkx, igraph and we read it with the same labels.

    Raises:
        FileFormatError: a label with a quotation mark, a line end, a control character, or a
            backslash before another one or at its end.
    """
    names = _written_names(graph, ".net")
    offset = _left_count(graph) or 0
    head = [
        f"*Network {MARK} {_schema_json(graph)}",
        f"*Vertices {len(names)} {offset}" if offset else f"*Vertices {len(names)}",
        *(f'{row} "{name}"' for row, name in enumerate(names, 1)),
        "*Arcs\n" if isinstance(graph.space, Arcs) else "*Edges\n",
    ]
    handle.write("\n".join(head).encode())
    ids = [str(row) for row in range(1, len(names) + 1)]
    write_edges(graph, handle, ids, ids[offset:], "%s %s\n", "%s %s %s\n")


def _raw_edges(contents: GraphContents, options: Options) -> RawEdges:
    """Return the edges of a file by row numbers, for `assemble`.

    Raises:
        FileFormatError: no vertices, an id that is not declared, an edge without a weight among
            others with one, (bipartite) a vertex without a side or an edge within a side, or
            (directed) edges without a direction.
    """
    if options.directed and contents.undirected:
        raise FileFormatError(UNDIRECTED)
    if not contents.ids:
        raise FileFormatError("the file declares no vertices")
    lines = contents.lines

    def where(position: int) -> str:
        return f"line {lines[position]}"

    row_of_id = {name: row for row, name in enumerate(contents.ids)}
    if len(row_of_id) != len(contents.ids):
        raise FileFormatError("two vertices have the same id; ids must be distinct")
    endpoints = []
    for endpoint_ids in (contents.sources, contents.targets):
        rows = np.fromiter(
            (row_of_id.get(name, -1) for name in endpoint_ids), np.int64, len(endpoint_ids)
        )
        if len(rows) and rows.min() < 0:
            position = where(int(np.argmin(rows >= 0)))
            raise FileFormatError(f"{position}: an edge ends at a vertex that is not declared")
        endpoints.append(rows)
    declared = Schema() if contents.facts is None else load_schema(contents.facts)
    # True if the file or our JSON declares weights; else False or None, as our JSON has it.
    has_weights = contents.has_weights or declared.weighted
    return edges_by_rows(
        endpoints,
        labels_in(contents),
        contents.sides,
        listed_weights(contents.weights, options, has_weights, where, FileFormatError),
        options,
        schema=replace(declared, vertices=None, sides=None, weighted=has_weights),
        reading=contents.reading,
        both_ways=contents.both_ways and not (options.bipartite or options.directed),
        arbitrary_order=contents.facts is None,
        undeclared=has_weights is None,
        where=where,
        error=FileFormatError,
    )


def _schema_json(graph: EdgeStore) -> str:
    """Return our JSON for these formats: the schema, and the text labels that look like integers.

    The other labels are in the file alone, where other programs may change them.
    """
    integer_texts = [
        label
        for vertices in sets_in(graph.space)
        if not vertices.is_default
        for label in vertices.labels
        if isinstance(label, str) and is_integer_literal(label)
    ]
    facts: dict[str, Any] = json.loads(dump_schema(graph, labels=False))
    return json.dumps({**facts, "text": integer_texts})


def _left_count(graph: EdgeStore) -> int | None:
    """Return the number of left vertices of a bipartite graph; None for other graphs."""
    return graph.shape[0] if not one_set(graph.space) else None


def _written_names(graph: EdgeStore, ending: str = ".graphml") -> list[str]:
    """Return the labels as text, left before right.

    Raises:
        FileFormatError: a label with a character that the format cannot hold.
    """
    names = [str(label) for vertices in sets_in(graph.space) for label in vertices.labels]
    if any(map(_CONTROL.search, names)):
        raise FileFormatError("a label holds a control character; rename it, or write .csv")
    pattern = _UNWRITABLE.get(ending)
    if pattern is not None and any(map(pattern.search, names)):
        raise FileFormatError(
            f"a label holds a sign that programs read differently in {ending} files; write .graphml"
        )
    return names


def _text(file: BinaryIO, options: Options) -> str:
    """Return the text of a file, without a byte-order mark."""
    return decode_utf8(whole_file(file, options.columns.encoding)).removeprefix(BYTE_ORDER_MARK)


def _records(text: str) -> Iterator[tuple[str, dict[str, str], int]]:
    """Yield path, values and last line of each record `key [ ... ]` of depth 1 or 2."""
    stack: list[tuple[str, dict[str, str]]] = [("", {})]
    line, counted_to = 1, 0
    for token in _GML_TOKEN.finditer(text):
        kind, (name, values) = token.lastgroup, stack[-1]
        if kind == "open":
            stack.append((token["open"], {}))
        elif kind == "bare":
            values[token["key"]] = token["bare"]
        elif kind == "text":
            values[token["key"]] = html.unescape(token["text"])
        elif kind is not None:
            line += text.count("\n", counted_to, token.end())
            counted_to = token.end()
            if kind == "wrong":
                raise FileFormatError(f"line {line}: malformed GML")
            if len(stack) == 1:
                raise FileFormatError(f"line {line}: a bracket too many")
            stack.pop()
            if len(stack) <= 2:
                parents = [parent for parent, _ in stack[1:]]
                yield "/".join([*parents, name]), values, line
    if len(stack) > 1:
        raise FileFormatError("malformed GML: a bracket is not closed; is the file cut off?")


def _escaped(text: str) -> str:
    """Return text as a string of GML holds it."""
    return text.replace("&", "&amp;").replace('"', "&quot;")


def _real(weight: str) -> str:
    """Return a weight as a real number of GML, with a point before its exponent: 1.0e-05."""
    return weight.replace("e", ".0e") if "e" in weight and "." not in weight else weight


class _PajekReader:
    """Reader of the lines of a Pajek file, for `read_pajek`.

    The methods `start_section` and `read_line` return the fault of a line, "" if it has none.
    """

    def __init__(self, most_vertices: int) -> None:
        self.contents = GraphContents()
        self._most_vertices = most_vertices
        self._n = self._n_left = self._matrix_row = 0
        self._names: dict[int, str] = {}
        self._edge_sections: list[str] = []

    @property
    def _matrix_height(self) -> int:
        """Return the number of rows that a matrix has."""
        return self._n_left or self._n

    def start_section(self, line: str) -> tuple[str, str]:
        """Start a section, and return its name and the fault of the line."""
        name, *remainder = line.split(None, 1)
        section, words = name[1:].casefold(), "".join(remainder)
        if section == "network":
            if words.startswith(MARK):
                self.contents.facts = words.removeprefix(MARK).strip()
        elif section == "vertices":
            counts = words.split()[:2]
            if self._n or not counts or not all(map(_PAJEK_COUNT.fullmatch, counts)):
                return section, "expected '*Vertices n' once"
            self._n, self._n_left = int(counts[0]), int(counts[1]) if len(counts) > 1 else 0
            if self._n > self._most_vertices:
                return section, (
                    "far more vertices than a file of this size can name; write it as .mtx"
                )
        elif section not in ("edges", "arcs", "edgeslist", "arcslist", "matrix"):
            return section, "a section that this reader does not know"
        elif not self._n:
            return section, "*Vertices must come first"
        elif self._edge_sections and "matrix" in (section, *self._edge_sections):
            # Of a pair the larger entry counts in a matrix, and the sum in the other sections.
            return section, "a *Matrix stands alone; write each section of edges to its own file"
        else:
            self._edge_sections.append(section)
        if section == "matrix":
            self.contents.has_weights = True
            self.contents.both_ways = not self._n_left
        return section, ""

    def read_line(self, section: str, line: str, number: int) -> str:
        """Read one line of a section, and return its fault.

        Args:
            section: name of the section; "" before the first one.
            line: the line, without blanks at its ends.
            number: number of the line in the file.
        """
        fields = line.split()
        add = self.contents.add
        self.contents.undirected |= section in ("edges", "edgeslist")
        if section in ("edges", "arcs"):
            if len(fields) < 2:
                return "malformed row: an edge has two endpoints"
            # A third field that is no number is a keyword of the drawing, such as c Blue.
            has_weight = len(fields) > 2 and parse_number(fields[2]) is not None
            weight = fields[2] if has_weight else None
            add(fields[0], fields[1], weight, number)
        elif section in ("edgeslist", "arcslist"):
            for target in fields[1:]:
                add(fields[0], target, None, number)
        elif section == "vertices":
            match = _PAJEK_VERTEX.match(line)
            if match is None or not 1 <= int(match[1]) <= self._n:
                return "malformed row: not a vertex"
            name = next((part for part in match.groups()[1:] if part is not None), match[1])
            if match[2] is not None:
                name = _PAJEK_ESCAPE.sub(r"\1", name)
            self._names[int(match[1])] = name
        elif section == "matrix":
            values = [parse_number(field) for field in fields]
            if len(fields) != self._n - self._n_left:
                return "malformed row: wrong number of columns"
            if None in values:
                return "malformed row: not a number"
            if self._matrix_row == self._matrix_height:
                return "malformed row: the *Matrix has more rows than vertices"
            self._matrix_row += 1
            for column, value in enumerate(values, 1 + self._n_left):
                if value != 0:
                    add(str(self._matrix_row), str(column), str(value), number)
        else:
            return "text before the first section"
        return ""

    def finish(self) -> GraphContents:
        """Return the contents, with labels and sides.

        Raises:
            FileFormatError: too few rows of a matrix.
        """
        if "matrix" in self._edge_sections and self._matrix_row < self._matrix_height:
            raise FileFormatError("the *Matrix has fewer rows than vertices; is the file cut off?")
        contents = self.contents
        contents.ids = [str(row) for row in range(1, self._n + 1)]
        names = [self._names.get(row, name) for row, name in enumerate(contents.ids, 1)]
        if contents.facts is not None:
            contents.names = names
        else:
            quoted = [name.replace("&#34;", '"') for name in names]  # as igraph writes it
            contents.names = pick_names(contents.ids, [[*quoted]])
        if self._n_left:
            contents.sides = [int(row >= self._n_left) for row in range(self._n)]
        return contents
