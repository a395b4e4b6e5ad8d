"""What a file tells beside its edges, all of it public: vertices, weighted or not, weight cap.

Formats that cannot say it themselves carry it as one line of JSON after the mark `MARK`, so that a
round trip keeps isolated vertices, the order and the types of labels, and the weight cap.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphcuts_dp.errors import FileFormatError, GraphError
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, DirectedGraph
from graphcuts_dp.pairs.vertices import Label, VertexSet, labels_or_number

MARK = "graphcuts-dp:"
_INTEGER = re.compile(r"(?:0|-?[1-9][0-9]*)\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class Schema:
    """Public facts about a graph; None where nothing is said.

    Attributes:
        vertices: vertex set of a `Graph` or a `DirectedGraph`.
        sides: left and right vertex sets of a `BipartiteGraph`.
        directed: whether one of our own files holds a `DirectedGraph`; None: it is not ours.
        weighted: whether weights other than one are possible.
        weight_cap: public bound on any weight.
        note: public remark that goes with the graph.
    """

    vertices: VertexSet | None = None
    sides: tuple[VertexSet, VertexSet] | None = None
    directed: bool | None = None
    weighted: bool | None = None
    weight_cap: float | None = None
    note: str = ""


def is_integer_literal(token: str) -> bool:
    """Whether a token is how Python prints an integer: no leading zero, plus sign or blank."""
    return _INTEGER.match(token) is not None


def parse_number(text: str) -> float | None:
    """A decimal number, or None. NaN and infinities are numbers here; `build` refuses them."""
    if "_" in text or not text.isascii():
        return None
    try:
        return float(text)
    except ValueError:
        return None


def labels_of(tokens: Sequence[str]) -> list[Label]:
    """Integers when every token is an integer literal, else all strings as they are."""
    match = _INTEGER.match
    if all(map(match, tokens)):
        try:
            return [int(token) for token in tokens]
        except ValueError:  # thousands of digits: Python refuses; a name, then
            return list(tokens)
    return list(tokens)


def token_table(vertices: VertexSet) -> dict[str, int]:
    """Row number of each label as text.

    Raises:
        GraphError: two labels look alike, such as 1 and "1".
    """
    table = {str(label): row for row, label in enumerate(vertices.labels)}
    if len(table) != len(vertices):
        raise GraphError('two vertex labels look alike as text, such as 1 and "1"; rename one')
    return table


def dump_schema(graph: AnyGraph, *, labels: bool = True) -> str:
    """The schema as one line of ASCII JSON; without the vertices if `labels` is False."""
    facts: dict[str, Any] = {}
    if labels and isinstance(graph, BipartiteGraph):
        facts["left"], facts["right"] = labels_or_number(graph.left), labels_or_number(graph.right)
    elif labels and not isinstance(graph, BipartiteGraph):
        facts["vertices"] = labels_or_number(graph.vertices)
    if isinstance(graph, DirectedGraph):
        facts["directed"] = True
    facts["weighted"] = graph.weighted
    if graph.weighted and graph.weight_cap is not None:
        facts["weight_cap"] = graph.weight_cap
    if graph.note:
        facts["note"] = graph.note
    return json.dumps(facts)


def load_schema(text: str) -> Schema:
    """Read what `dump_schema` wrote.

    Raises:
        FileFormatError: not such a line.
    """
    try:
        facts = json.loads(text)
        sides = None
        if "left" in facts or "right" in facts:
            sides = _vertex_set(facts["left"]), _vertex_set(facts["right"])
        weighted, cap = facts.get("weighted"), facts.get("weight_cap")
        if weighted not in (None, True, False) or isinstance(cap, bool | str | list | dict):
            raise TypeError
        directed = facts.get("directed", False)
        if not isinstance(directed, bool):
            raise TypeError
        if cap is not None and not (np.isfinite(cap) and cap > 0):
            raise ValueError
        return Schema(
            vertices=_vertex_set(facts["vertices"]) if "vertices" in facts else None,
            sides=sides,
            directed=directed,
            weighted=weighted,
            weight_cap=None if cap is None else float(cap),
            note=str(facts.get("note", "")),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError):
        raise FileFormatError(
            f"the comment '{MARK}' is damaged; repair it, or delete it and give vertices="
        ) from None


def _vertex_set(value: Any) -> VertexSet:
    if isinstance(value, str | dict):
        raise TypeError
    if isinstance(value, int) and value > 2**31:
        raise ValueError
    return VertexSet(value)
