"""Options for reading a private graph, sets and queries, the same in every subcommand."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, final

import typer

from graphcuts_dp.errors import FileFormatError, ParameterError, QueryError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.files import describe_reading, read_graph, read_vertices
from graphcuts_dp.graph.vertices import Label, VertexSet

VerticesOption = Annotated[
    str | None,
    typer.Option(
        help="Public vertex set: a count, or a file with one label on each line; "
        "for --bipartite two of these with a comma between. "
        "Without it the file's vertices are taken as public.",
    ),
]
BipartiteOption = Annotated[
    bool, typer.Option("--bipartite", help="Two sides: first column left, second right.")
]
IgnoreWeightsOption = Annotated[
    bool, typer.Option("--ignore-weights", help="Keep only which pairs are edges.")
]
WeightCapOption = Annotated[
    float | None,
    typer.Option(help="Public bound on a weight; larger ones are clipped. Hides whole edges."),
]
OneBasedOption = Annotated[
    bool, typer.Option("--one-based", help="Ids in the file count from 1 (KONECT).")
]


@final
@dataclass(frozen=True)
class Reading:
    """How to read a graph file."""

    vertices: str | None = None
    bipartite: bool = False
    ignore_weights: bool = False
    weight_cap: float | None = None
    one_based: bool = False

    def read(self, path: str) -> AnyGraph:
        """Read the graph."""
        return read_graph(
            path,
            vertices=self._vertices(),
            weighted=False if self.ignore_weights else None,
            weight_cap=self.weight_cap,
            bipartite=self.bipartite,
            one_based=self.one_based,
        )

    @property
    def counts(self) -> tuple[int, int] | None:
        """Rows and columns of the matrix, where the options tell them; None where files do."""
        given = self._vertices()
        rows, columns = given if isinstance(given, tuple) else (given, given)
        return (rows, columns) if isinstance(rows, int) and isinstance(columns, int) else None

    def notes(self, graph: AnyGraph) -> tuple[str, ...]:
        """What reading did, in words that depend on options and schema alone."""
        return describe_reading(
            vertices_given=self.vertices is not None,
            weighted=graph.weighted,
            capped=self.weight_cap is not None,
            bipartite=self.bipartite,
        )

    def _vertices(self) -> int | str | tuple[int | str, int | str] | None:
        if self.vertices is None:
            return None
        if not self.bipartite:
            return _count_or_file(self.vertices)
        parts = self.vertices.split(",")
        if len(parts) != 2:
            raise ParameterError("--vertices of a bipartite graph is LEFT,RIGHT")
        return _count_or_file(parts[0]), _count_or_file(parts[1])


def _count_or_file(text: str) -> int | str:
    # Python refuses to read numbers of thousands of digits, and so does every graph.
    return int(text) if text.isascii() and text.isdigit() and len(text) < 100 else text


def read_set(text: str, vertices: VertexSet) -> list[Label]:
    """A set of vertices from the command line: labels with commas between, or @FILE.

    Numbers become integers where the vertices are integers.

    Raises:
        QueryError: an empty label.
        FileFormatError: the file cannot be read.
    """
    if text.startswith("@"):
        return list(read_vertices(text[1:]).labels)
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise QueryError("an empty label in a set; write labels with single commas between")
    return [word if vertices.find(word) is not None else _number(word) for word in words]


def _number(word: str) -> Label:
    """An integer as files have them: no sign but a minus, no leading zero, ASCII digits alone."""
    return int(word) if re.fullmatch("0|-?[1-9][0-9]{0,99}", word) else word


def check_apart(outputs: Iterable[str | None], *inputs: str | None) -> None:
    """Check that nothing which is read would be written over, even where replacing is allowed.

    Raises:
        FileFormatError: an output is an input.
    """
    kept = {os.path.realpath(path) for path in inputs if path is not None}
    for path in outputs:
        if path is not None and os.path.realpath(path) in kept:
            raise FileFormatError(f"{path} is read by this command; write to another file")
