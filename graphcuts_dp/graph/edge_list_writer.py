"""Write edge lists as text, so that reading them gives back the same graph."""

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from graphcuts_dp.arrays import FloatArray
from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.graph.dialect import TextFormat
from graphcuts_dp.graph.schema import MARK, dump_schema, token_table
from graphcuts_dp.graph.vertices import VertexSet

_CHUNK = 1 << 16


def write_edge_list(graph: AnyGraph, handle: BinaryIO, form: TextFormat) -> None:
    """Write one row for each edge.

    A comment `# graphcuts-dp: {...}` above them holds the vertex set, so isolated vertices and the
    types of labels survive. Files with a delimiter begin with a header instead, `source,target` or
    `source,target,weight`, for the programs that take their first line for one.

    Raises:
        FileFormatError: a label cannot be written in this format.
        GraphError: two labels look alike as text.
    """
    left, right = (graph.vertices,) * 2 if isinstance(graph, Graph) else (graph.left, graph.right)
    sources = edge_names(left, form)
    targets = sources if right is left else edge_names(right, form)
    separator = form.delimiter or " "
    if form.delimiter is None:
        handle.write(f"# {MARK} {dump_schema(graph)}\n".encode())
    else:
        names = ["source", "target", "weight"][: 3 if graph.weighted else 2]
        handle.write((separator.join(names) + "\n").encode())
    for first, second, weights in edge_chunks(graph, sources, targets):
        if weights is None:
            lines = [f"{a}{separator}{b}\n" for a, b in zip(first, second, strict=True)]
        else:
            lines = [
                f"{a}{separator}{b}{separator}{w}\n"
                for a, b, w in zip(first, second, weights, strict=True)
            ]
        handle.write("".join(lines).encode())


def edge_chunks(
    graph: AnyGraph, sources: list[str], targets: list[str]
) -> Iterator[tuple[list[str], list[str], list[str] | None]]:
    """Names of both ends of the edges, and their weights as text, in pieces."""
    whole = are_whole(graph.weights)
    for start in range(0, len(graph.rows), _CHUNK):
        piece = slice(start, start + _CHUNK)
        yield (
            [sources[row] for row in graph.rows[piece].tolist()],
            [targets[column] for column in graph.columns[piece].tolist()],
            weight_texts(graph.weights[piece], whole=whole) if graph.weighted else None,
        )


def are_whole(weights: FloatArray) -> bool:
    """Whether all weights are whole numbers that are written without a decimal point."""
    return bool((weights < 1e15).all() and (weights == np.floor(weights)).all())


def weight_texts(weights: FloatArray, *, whole: bool) -> list[str]:
    """Shortest text of each weight that reads back as the same number.

    Args:
        weights: some weights of a graph.
        whole: `are_whole` of all its weights.
    """
    if whole:
        return list(map(str, weights.astype(np.int64).tolist()))
    return list(map(repr, weights.tolist()))


def edge_names(vertices: VertexSet, form: TextFormat) -> list[str]:
    """Each label as it stands in a row, quoted where the format has quotes.

    Raises:
        FileFormatError: a label cannot be written in this format.
        GraphError: two labels look alike as text.
    """
    names = list(token_table(vertices))
    if vertices.is_default:
        return names
    if "" in names:
        raise FileFormatError("a text edge list cannot hold an empty label; write .graphml or .gml")
    if form.delimiter is not None:
        return [_quoted(name, form.delimiter) for name in names]
    for name in names:
        if name[0] in "#%\ufeff" or "," in name or len(name.split()) != 1 or name != name.strip():
            raise FileFormatError(
                "a label holds blanks, a comma, or starts with # or %; write .csv or .graphml"
            )
    return names


def _quoted(name: str, delimiter: str) -> str:
    plain = (
        name == name.strip()
        and name[0] not in "#%\ufeff"
        and not any(mark in name for mark in (delimiter, '"', "\r", "\n"))
    )
    return name if plain else '"' + name.replace('"', '""') + '"'
