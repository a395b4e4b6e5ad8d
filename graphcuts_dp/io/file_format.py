"""Describe a format of graph files: its reader, its writer and what they can do."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.io.arrow import Opening, read_table_file
from graphcuts_dp.io.raw_edges import Options, RawEdges
from graphcuts_dp.io.text import read_edge_list, write_edge_list
from graphcuts_dp.schema.text_format import TextFormat


@final
@dataclass(frozen=True, kw_only=True)
class FileFormat:
    """A format of graph files: a line of the table `FORMATS` of `io.files`.

    Attributes:
        read: reads raw edges from an open file, by the options.
        write: writes a graph to an open file; None for a format that is only read.
        text: how lines of a text edge list are split; None for formats that are no text edge list.
        opening: function that opens a table with stored types; None for other formats.
        columns: whether the caller may name columns, as in edge lists and tables.
        named_weight: whether edges have attributes, one of which the caller may name as the weight.
        encoded: whether the file is text in an encoding that the caller may name (`encoding=`).
        attributes: whether `write` takes `about`, facts about the graph that the file states.
        described_apart: whether the schema is in a file of its own, `<path>.schema.json`.
        repeats: whether the file can hold an edge twice, in one direction.
        list_or_matrix: whether a file holds either lists of edges, or a matrix.
    """

    read: Callable[[BinaryIO, Options], RawEdges]
    write: Callable[..., None] | None
    text: TextFormat | None = None
    opening: Opening | None = None
    columns: bool = False
    named_weight: bool = False
    encoded: bool = False
    attributes: bool = False
    described_apart: bool = False
    repeats: bool = True
    list_or_matrix: bool = False


def table_format(opening: Opening, write: Callable[..., None]) -> FileFormat:
    """Return the format of tables with stored types."""
    return FileFormat(
        read=partial(read_table_file, opening=opening), write=write, opening=opening, columns=True
    )


def edge_list_format(text_format: TextFormat) -> FileFormat:
    """Return the format of edge lists whose lines are split as a text format describes."""
    return FileFormat(
        read=partial(read_edge_list, form=text_format),
        write=None if text_format.konect else partial(write_edge_list, form=text_format),
        text=text_format,
        columns=True,
        encoded=True,
        described_apart=text_format.has_header,
    )


def format_of_package(ending: str, plug_in: object) -> FileFormat:
    """Check the format that another package adds, and return it.

    Raises:
        ParameterError: no `FileFormat`, or a name that is no ending.
    """
    if not ending.startswith(".") or not isinstance(plug_in, FileFormat):
        raise ParameterError("its entry point must be a `FileFormat`, and its name an ending")
    return plug_in
