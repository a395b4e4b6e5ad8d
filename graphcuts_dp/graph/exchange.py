"""What GraphML, GML and Pajek files share: declared vertices, sides, and weights on edges."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph
from graphcuts_dp.graph.assemble import UNDIRECTED, split_sides
from graphcuts_dp.graph.file_bytes import NOT_UTF8
from graphcuts_dp.graph.raw_edges import RawEdges
from graphcuts_dp.graph.schema import (
    Schema,
    dump_schema,
    is_integer_literal,
    labels_of,
    load_schema,
)
from graphcuts_dp.pairs.vertices import Label, VertexSet, sets_in

# What XML cannot hold, or what character references do not bring back.
_UNWRITABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef"
    + "".join(chr(plane + end) for plane in range(0, 0x110000, 0x10000) for end in (0xFFFE, 0xFFFF))
    + "]"
)


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


def as_text(data: bytes) -> str:
    """The text of a file in UTF-8, which is refused if it is not."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FileFormatError(NOT_UTF8) from None


def to_raw(
    contents: Contents, *, bipartite: bool, directed: bool, weighted: bool | None
) -> RawEdges:
    """Edges by row numbers, for `assemble.build`.

    Raises:
        FileFormatError: no vertices, an id that is not declared, an edge without a weight among
            others with one, (bipartite) a vertex without a side or an edge within a side, or
            (directed) edges without a direction.
    """
    if directed and contents.undirected:
        raise FileFormatError(UNDIRECTED)
    if not contents.ids:
        raise FileFormatError("the file declares no vertices")
    lines = contents.lines

    def where(position: int) -> str:
        return f"line {lines[position]}"

    table = {name: row for row, name in enumerate(contents.ids)}
    if len(table) != len(contents.ids):
        raise FileFormatError("two vertices have the same id; ids must be distinct")
    ends = []
    for given in (contents.sources, contents.targets):
        rows = np.fromiter(
            (table.get(name, -1) for name in given), dtype=np.int64, count=len(given)
        )
        if len(rows) and rows.min() < 0:
            place = where(int(np.argmin(rows >= 0)))
            raise FileFormatError(f"{place}: an edge ends at a vertex that is not declared")
        ends.append(rows)
    declared = Schema() if contents.facts is None else load_schema(contents.facts)
    has_weights = contents.has_weights or declared.weighted
    weights = _weights(contents, where, weighted, has_weights)
    labels = labels_in(contents)
    schema = Schema(
        vertices=None if bipartite else _distinct(labels),
        directed=declared.directed,
        weighted=has_weights,
        weight_cap=declared.weight_cap,
        note=declared.note,
    )
    if bipartite:
        ends, sets = split_sides(ends, labels, contents.sides, where, FileFormatError)
        schema = replace(schema, vertices=None, sides=sets)
    return RawEdges(
        sources=ends[0],
        targets=ends[1],
        weights=weights,
        schema=schema,
        as_rows=True,
        arbitrary_order=contents.facts is None,
        undeclared=has_weights is None,
        where=where,
        error=FileFormatError,
    )


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


def exchange_facts(graph: AnyGraph) -> str:
    """Our JSON for these formats: the schema, and which labels are text though they look like ints.

    The labels themselves stand in the file anyway, so other programs may change them.
    """
    text = [
        label
        for vertices in sets_in(graph.space)
        if not vertices.is_default
        for label in vertices.labels
        if isinstance(label, str) and is_integer_literal(label)
    ]
    facts: dict[str, Any] = json.loads(dump_schema(graph, labels=False))
    return json.dumps({**facts, "text": text})


def left_count(graph: AnyGraph) -> int | None:
    """How many of the names of a bipartite graph are on the left; None for other graphs."""
    return graph.shape[0] if isinstance(graph, BipartiteGraph) else None


def written_names(graph: AnyGraph) -> list[str]:
    """Labels as text, left before right.

    Raises:
        FileFormatError: a label with a character that these formats cannot hold, or labels of one
            vertex set that look alike, such as 1 and "1".
    """
    names: list[str] = []
    for vertices in sets_in(graph.space):
        own = [str(label) for label in vertices.labels]
        if len(set(own)) != len(own):
            raise FileFormatError('two labels look alike as text, such as 1 and "1"; rename one')
        names += own
    if any(map(_UNWRITABLE.search, names)):
        raise FileFormatError("a label holds a control character; rename it, or write .csv")
    return names


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


def _distinct(labels: list[Label]) -> VertexSet:
    if len(set(labels)) != len(labels):
        raise FileFormatError("two vertices have the same label; pass bipartite=True if meant")
    return VertexSet(labels)


def _weights(
    contents: Contents,
    where: Callable[[int], str],
    weighted: bool | None,
    declared: bool | None,
) -> Any:
    if weighted is False:
        return None
    if not declared and all(text is None for text in contents.weights):
        return None
    if declared is False and weighted is None:
        place = next(i for i, text in enumerate(contents.weights) if text is not None)
        raise FileFormatError(
            f"{where(place)}: an edge has a weight though the file declares that none has; pass "
            "weighted=True or weighted=False"
        )
    values = np.empty(len(contents.weights))
    for position, text in enumerate(contents.weights):
        if text is None:
            raise FileFormatError(
                f"{where(position)}: an edge has no weight though others have, or the file "
                "declares weights; add it, or pass weighted=False"
            )
        try:
            values[position] = float(text)
        except ValueError:
            raise FileFormatError(f"{where(position)}: the weight is not a number") from None
    return values
