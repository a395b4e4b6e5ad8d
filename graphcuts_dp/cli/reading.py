"""Options for reading a private graph, sets and queries, the same in every subcommand."""

import csv
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import cast, final

from graphcuts_dp.cli.console import say
from graphcuts_dp.cli.spelling import spelled
from graphcuts_dp.errors import FileFormatError, GraphCutsError, ParameterError, QueryError
from graphcuts_dp.graph.adjacency import AnyGraph, kind_of_graph
from graphcuts_dp.graph.assemble import GivenVertices
from graphcuts_dp.graph.edge_store import Merge
from graphcuts_dp.graph.files import describe_reading, public_vertices_of, read_vertices
from graphcuts_dp.graph.owned_rows import COUNTINGS, Counting, OwnedRows, PrivateData
from graphcuts_dp.options import INPUT, option
from graphcuts_dp.pairs.groups import GroupNames, Groups, is_group
from graphcuts_dp.pairs.vertices import ALL, Label, VertexSet, sets_in
from graphcuts_dp.tables.columns import Columns

_GROUP = "@@"  # before the name of a group; a single @ is for files
_DELIMITERS = {"tab": "\t", "\\t": "\t", "blank": " "}


_input = partial(option, group=INPUT)


@dataclass(frozen=True, kw_only=True)
class TextReading:
    """How to read the columns of a text edge list."""

    source_column: str | None = _input(
        None, help="First ends: a column name, or number from 1.", flag="--source", metavar="COLUMN"
    )
    target_column: str | None = _input(
        None, help="Column of the second ends.", flag="--target", metavar="COLUMN"
    )
    weight_column: str | None = _input(
        None, help="Column of the weights.", flag="--weight", metavar="COLUMN"
    )
    header: bool | None = _input(None, help="Whether line 1 names the columns.")
    delimiter: str | None = _input(None, help="Separator of columns: a character, tab, or blank.")
    encoding: str | None = _input(
        None, help="Encoding of the text, such as cp1252; UTF-8 if omitted."
    )

    def columns(self) -> Columns:
        """The same for `read_graph`."""
        return Columns(
            source=column_of(self.source_column),
            target=column_of(self.target_column),
            weight=column_of(self.weight_column),
            header=self.header,
            delimiter=delimiter_of(self.delimiter),
            encoding=self.encoding,
        )


@final
@dataclass(frozen=True, kw_only=True)
class Reading(TextReading):
    """How to read a graph file."""

    vertices: str | None = _input(
        None,
        help="Public vertex set: a count, or a file with one label on each line; "
        "for --bipartite, two of these separated by a comma.",
    )
    public_vertices_from_file: bool = _input(
        False,
        help="Declare that the vertices in the file are public. Without this or "
        "--vertices they may reveal edges, and the guarantee says so.",
    )
    bipartite: bool = _input(False, help="Two sides: first column left, second right.")
    directed: bool = _input(False, help="Edges have a direction: first column to second.")
    ignore_weights: bool = _input(False, help="Keep only which pairs are edges.")
    weight_cap: float | None = _input(
        None, help="Public bound on a weight; larger ones are clipped. Hides whole edges."
    )
    hide_change: float | None = _input(
        None, help="1: no cap; hide only a change of a weight by 1, no heavier edge."
    )
    merge: str = _input(
        "max", help="How to merge the weights of several rows for one edge.", metavar="max|min|sum"
    )
    one_based: bool = _input(False, help="Vertex numbers in the file start at 1 (KONECT).")
    owner: str | None = _input(
        None,
        help="Column of the owner of each row, for --protect owner; or tail, the first end.",
        metavar="COLUMN",
    )
    counting: str = _input(
        "edges", help=f"What counts for a pair, with --owner: {', '.join(COUNTINGS)}."
    )
    unit: float = _input(1.0, help="Unit of --counting weight; --at-most counts such units.")

    def read(
        self,
        path: str,
        *,
        public: VertexSet | tuple[VertexSet, VertexSet] | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> AnyGraph:
        """Read a graph, perhaps on vertices that are known already.

        Raises:
            GraphCutsError: as `read_graph`; it names options as the command line spells them.
        """
        if self.owner is not None:
            raise ParameterError("--owner is not for this command; it reads graphs")
        try:
            kind = kind_of_graph(bipartite=self.bipartite, directed=self.directed)
            return kind.read(
                path,
                columns=self.columns(),
                vertices=self._vertices() if public is None else public,
                public_vertices_from_file=self.public_vertices_from_file,
                weighted=False if self.ignore_weights else None,
                weight_cap=self.weight_cap,
                hide_change=self.hide_change,
                merge=cast(Merge, self.merge),
                tell=tell,
            )
        except GraphCutsError as problem:
            raise spelled(problem, path) from None

    def columns(self) -> Columns:
        """The same for `read_graph` and `OwnedRows.read`."""
        found = replace(super().columns(), one_based=self.one_based)
        return replace(found, owner=column_of(self.owner))

    @property
    def counts(self) -> tuple[int, int] | None:
        """Rows and columns of the matrix, where the options tell them; None where files do."""
        given = self._vertices()
        rows, columns = given if isinstance(given, tuple) else (given, given)
        if not isinstance(rows, int) or not isinstance(columns, int):
            return None
        return len(VertexSet(rows)), len(VertexSet(columns))  # refused here if there are too many

    @property
    def public_sets(self) -> GivenVertices:
        """The vertex sets that the options name; None where the graph's file has to tell them."""
        return public_vertices_of(self._vertices(), self.bipartite)

    def read_rows(self, path: str, *, tell: Callable[[str], None] | None = None) -> OwnedRows:
        """Read rows with owners.

        Raises:
            GraphCutsError: as `OwnedRows.read`; it names options as the command line spells them.
        """
        given = (self.weight_cap, self.hide_change, self.ignore_weights or None)
        if any(each is not None for each in given) or self.merge != "max":
            raise ParameterError(
                "--weight-cap, --hide-change, --ignore-weights and --merge are not for rows with "
                "owners; see --counting"
            )
        try:
            return OwnedRows.read(
                path,
                columns=self.columns(),
                counting=cast(Counting, self.counting),
                unit=self.unit,
                vertices=self._vertices(),
                public_vertices_from_file=self.public_vertices_from_file,
                bipartite=self.bipartite,
                directed=self.directed,
                tell=tell,
            )
        except GraphCutsError as problem:
            raise spelled(problem, path) from None

    def read_data(self, path: str) -> PrivateData:
        """Read a graph, or rows with owners where a column of these is named.

        Raises:
            GraphCutsError: as `read` and `read_rows`.
        """
        return self.read(path) if self.owner is None else self.read_rows(path)

    def read_private(self, path: str) -> AnyGraph:
        """Read a graph of which something will be released, and say how it was read.

        Raises:
            GraphCutsError: as `read`.
            ParameterError: weights whose bound nobody has given.
        """
        graph = self.read(path, tell=note_reading)
        try:
            graph.check_bounded()
        except ParameterError as problem:
            raise spelled(problem, path) from None
        for note in self._notes(graph):
            note_reading(note)
        return graph

    def _notes(self, graph: AnyGraph) -> tuple[str, ...]:
        return describe_reading(
            vertices_given=self.vertices is not None or self.public_vertices_from_file,
            inferred=any(vertices.inferred for vertices in sets_in(graph.space)),
            weighted=graph.weighted,
            capped=self.weight_cap is not None,
            merge=cast(Merge, self.merge),
            bipartite=self.bipartite,
            directed=self.directed,
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


def note_reading(text: str) -> None:
    """Tell the user how a file was read."""
    say(f"note: {text}")


def delimiter_of(text: str | None) -> str | None:
    """A separator as `read_graph` takes it, from its name or itself."""
    return None if text is None else _DELIMITERS.get(text, text)


def column_of(text: str | None) -> str | int | None:
    """A name, or a number from 1 as a place from 0."""
    if text is None:
        return None
    return int(text) - 1 if text.isascii() and text.isdigit() and len(text) < 10 else text


def _count_or_file(text: str) -> int | str:
    # Python refuses to read numbers of thousands of digits, and so does every graph.
    return int(text) if text.isascii() and text.isdigit() and len(text) < 100 else text


def read_set(text: str, vertices: VertexSet, groups: Groups | None = None) -> list[Label] | str:
    """A set of vertices from the command line: labels with commas between, or @FILE.

    A label that holds a comma, or begins with a quote, stands in double quotes, as in CSV.
    Numbers become integers where the vertices are integers. A word @@NAME names a group, and stays
    as "@NAME", which `members` reads. A star alone stays as it is: all vertices.

    Args:
        text: as it was typed.
        vertices: those that it may name.
        groups: public groups of these, if there are any.

    Raises:
        QueryError: an empty label, a group where there are none, or a star where a vertex has that
            name.
        FileFormatError: the file cannot be read.
    """
    if text.strip() == ALL:
        if vertices.find(ALL) is not None:
            raise QueryError(
                "'*' is all vertices, and here one vertex has that name: write the set that you"
                " mean to a file with one label on each line, and type @FILE"
            )
        return ALL
    if text.startswith("@") and not text.startswith(_GROUP):
        try:
            return list(read_vertices(text[1:]).labels)
        except FileFormatError as problem:
            if groups is None or not any(is_group(word[1:], groups) for word in text.split(",")):
                raise
            raise FileFormatError(
                f"{problem}; @ is for files, type @{text} for the group"
            ) from None
    words = _words(text)
    if not all(words):
        raise QueryError("an empty label in a set; write labels with single commas between")
    return [_label(word, vertices, groups) for word in words]


def _words(text: str) -> list[str]:
    """The labels of a set, which stand in quotes where they hold a comma, as in CSV."""
    if '"' not in text:
        return [word.strip() for word in text.split(",")]
    try:
        (words,) = csv.reader([text], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        raise QueryError(
            'check the quotes of the set: a label with a comma is typed "Lee, Ann", and a quote '
            'within such a label twice, ""'
        ) from None
    return words


def read_sets(
    first: str, second: str | None, sides: tuple[VertexSet, VertexSet], names: GroupNames | None
) -> tuple[list[Label] | str, list[Label] | str | None]:
    """The two sets of a query as they were typed, which may name groups.

    Args:
        first: the set S.
        second: the set T, if there is one.
        sides: the vertices that S and T may name.
        names: of groups, if there are any.

    Raises:
        QueryError, FileFormatError: as `read_set`.
    """
    groups = (None, None) if names is None else (names.left, names.right)
    S = read_set(first, sides[0], groups[0])
    return S, None if second is None else read_set(second, sides[1], groups[1])


def _label(word: str, vertices: VertexSet, groups: Groups | None) -> Label:
    if vertices.find(word) is not None:
        return word
    if not word.startswith(_GROUP):
        return _number(word)
    if groups is None:
        raise QueryError(
            f"{word[:60]} names a group, and there are none: give --groups FILE; a file whose name "
            f"begins with @ is typed @./{word[1:60]}"
        )
    return word[1:]


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
