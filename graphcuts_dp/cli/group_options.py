"""Options for reading public groups of vertices beside a private graph."""

from dataclasses import dataclass
from functools import partial
from typing import final

from graphcuts_dp.cli.reading import column_of, delimiter_of
from graphcuts_dp.errors import FileFormatError, GraphError, ParameterError
from graphcuts_dp.options import INPUT, option
from graphcuts_dp.pairs.groups import GroupNames, Groups
from graphcuts_dp.pairs.vertices import Space, VertexSet, vertex_sets

_OPTIONS = (
    ("columns=", "--levels"),
    ("vertex=", "--vertex-column"),
    ("rest='other'", "--rest other"),
    ("unknown='ignore'", "--ignore-unknown"),
    ("header=True", "--groups-header"),
    ("header=False", "--no-groups-header"),
    ("delimiter=", "--groups-delimiter"),
    ("encoding='cp1252'", "--groups-encoding cp1252"),
    ("encoding=", "--groups-encoding"),
)


_input = partial(option, group=INPUT)


@dataclass(frozen=True, kw_only=True)
class GroupColumns:
    """How a file of public groups is read. Not final: `GroupReading` adds the file."""

    levels: str | None = _input(
        None, help="Columns of the groups, coarsest first, separated by commas."
    )
    vertex_column: str | None = _input(
        None, help="Column of the vertices: a name, or a number counted from 1."
    )
    right_groups: str | None = _input(
        None, help="Public groups of the right side, for --bipartite."
    )
    right_levels: str | None = _input(
        None, help="Columns of --right-groups, coarsest first, separated by commas."
    )
    rest: str | None = _input(
        None, help="Name of the group that gets all vertices without a group."
    )
    ignore_unknown: bool = _input(False, help="Leave out rows whose label is no vertex.")
    groups_header: bool | None = _input(
        None, help="Whether the first row of the groups names the columns."
    )
    groups_delimiter: str | None = _input(
        None, help="Separator of the groups file: a character, tab, or blank."
    )
    groups_encoding: str | None = _input(None, help="Encoding of the groups file, such as cp1252.")

    def read_from(self, path: str, space: Space) -> Groups | tuple[Groups, Groups]:
        """The groups of the vertices of pairs; where there are two sides, those of both.

        Raises:
            ParameterError: options that do not fit together.
            FileFormatError, GraphError: as `Groups.read`, with options as they are typed here.
        """
        left, right = vertex_sets(space)
        if left is right:
            if self.right_groups is not None:
                raise ParameterError("--right-groups is for --bipartite graphs")
            return self._side(path, left, self.levels)
        if self.right_groups is None:
            raise ParameterError("a bipartite graph needs --right-groups, too")
        return (
            self._side(path, left, self.levels),
            self._side(self.right_groups, right, self.right_levels),
        )

    def _side(self, path: str, vertices: VertexSet, levels: str | None) -> Groups:
        try:
            return Groups.read(
                path,
                vertices,
                columns=_columns(levels),
                vertex=column_of(self.vertex_column),
                rest=self.rest,
                unknown="ignore" if self.ignore_unknown else "error",
                header=self.groups_header,
                delimiter=delimiter_of(self.groups_delimiter),
                encoding=self.groups_encoding,
            )
        except (FileFormatError, GraphError) as problem:
            raise _spelled(problem, path) from None


@final
@dataclass(frozen=True, kw_only=True)
class GroupReading(GroupColumns):
    """Public groups of vertices, if there are any."""

    groups: str | None = _input(
        None,
        help="Public groups of the vertices: a table with a row for each vertex, or GraphML.",
        metavar="FILE",
    )

    @property
    def files(self) -> tuple[str | None, ...]:
        """What is read."""
        return self.groups, self.right_groups

    def read(self, space: Space) -> Groups | tuple[Groups, Groups] | None:
        """The groups of the vertices of pairs; None without `--groups`.

        Raises:
            ParameterError: options that do not fit together.
            FileFormatError, GraphError: as `read_from`.
        """
        if self.groups is not None:
            return self.read_from(self.groups, space)
        if any(value not in (None, False) for value in vars(self).values()):
            raise ParameterError("--levels, --rest and the like need --groups FILE")
        return None

    def names(self, space: Space) -> GroupNames | None:
        """What reads the names of the groups in queries; None without `--groups`.

        Raises:
            ParameterError, FileFormatError, GraphError: as `read`.
        """
        found = self.read(space)
        if found is None:
            return None
        return GroupNames(*(found if isinstance(found, tuple) else (found, found)))


def _columns(text: str | None) -> list[str | int] | None:
    if text is None:
        return None
    found = [column_of(word.strip()) for word in text.split(",")]
    if not all(word or word == 0 for word in found):
        raise ParameterError("an empty name in --levels; write names with single commas between")
    return [word for word in found if word is not None]


def _spelled(problem: FileFormatError | GraphError, path: str) -> FileFormatError | GraphError:
    """The same error, which names options as the command line spells them."""
    text = str(problem)
    start = len(path) if text.startswith(path) else 0
    told = text[start:]
    for name, flag in _OPTIONS:
        told = told.replace(name, flag)
    return type(problem)(text[:start] + told)
