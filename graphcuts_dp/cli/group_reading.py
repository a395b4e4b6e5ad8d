"""Options by which commands read public groups of the vertices.

`GroupFile` has all of them, and reads by them. Commands whose argument is the table of groups have
only the options of `GroupReading`, and get a `GroupFile` from `GroupReading.of`.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

from graphcuts_dp.cli.options import spelling_keys
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.io.raw_edges import PublicVertices
from graphcuts_dp.options import input_option
from graphcuts_dp.queries.group_names import GroupNames
from graphcuts_dp.schema.columns import Column, Columns, column_of, delimiter_of
from graphcuts_dp.schema.group_tables import vertices_of_table
from graphcuts_dp.schema.groups import Groups
from graphcuts_dp.schema.typed_names import split_names
from graphcuts_dp.schema.vertices import Space, VertexSet, vertex_sets

# The groups of all vertices, or of both sides of a bipartite graph; None if no table is named.
GroupsRead = Groups | tuple[Groups, Groups] | None


def _read_levels(text: str) -> list[Column]:
    levels = [column_of(word) for word in split_names(text, "/")]
    if "" in levels:
        raise ParameterError("an empty name in levels; write names with single slashes between")
    return levels


@final
@dataclass(frozen=True, kw_only=True)
class GroupColumns:
    """Options that read a table of public groups; see `Groups.read`."""

    levels: list[Column] | None = input_option(
        None,
        usual=True,
        metavar="COLUMN",
        help="Columns of the groups, one for each level, coarsest first, as region/office.",
        parse=_read_levels,
    )
    vertex: Column | None = input_option(
        None,
        usual=True,
        metavar="COLUMN",
        help="Column of the vertices: a name, or a number from 1.",
        parse=column_of,
    )
    right_levels: list[Column] | None = input_option(
        None, metavar="COLUMN", help="Columns of the groups in --right-groups.", parse=_read_levels
    )
    default_group: str | None = input_option(
        None, help="Name of the group of all vertices that the table does not list."
    )
    unknown: str = input_option(
        "error",
        help="What to do with rows of the table about unknown vertices.",
        choices=("error", "ignore"),
    )
    header: bool | None = input_option(None, help="Whether the first line names the columns.")
    delimiter: str | None = input_option(
        None,
        help="What separates columns: a character, tab, blank or comma.",
        parse=delimiter_of,
    )
    encoding: str | None = input_option(None, help="Encoding of the table, such as cp1252.")

    @property
    def text_format(self) -> Columns:
        """Return the options for the text of the table."""
        return Columns(header=self.header, delimiter=self.delimiter, encoding=self.encoding)


@dataclass(frozen=True, kw_only=True)
class GroupReading:
    """Options that read public groups of a table, which is an argument of the command."""

    groups_columns: GroupColumns = input_option(
        GroupColumns(),
        usual=True,
        help="Which columns of the table of groups are read, and how; see the keys below.",
        of=GroupColumns,
    )
    right_groups: str | None = input_option(
        None,
        help="For a bipartite graph: the table of public groups of the right vertices.",
        metavar="FILE",
    )

    def of(self, path: str | None) -> "GroupFile":
        """Return the options with the table; None if the argument was left out."""
        return GroupFile(groups=path, **vars(self))


@final
@dataclass(frozen=True, kw_only=True)
class GroupFile(GroupReading):
    """Options that read public groups of a table, which is an option of the command."""

    groups: str | None = input_option(
        None,
        usual=True,
        help="Public groups of the vertices: a table with a row for each vertex.",
        metavar="FILE",
    )

    @property
    def lists_all_vertices(self) -> bool:
        """Return whether the table has a row for each vertex, and no row for anything else."""
        columns = self.groups_columns
        return columns.default_group is None and columns.unknown != "ignore"

    def read(self, space: Space) -> GroupsRead:
        """Read the groups of the vertices, or of both sides of a bipartite graph.

        Args:
            space: the vertices.

        Returns:
            The groups; None if no table is named.

        Raises:
            ParameterError: options that do not fit together, or do not fit the sides.
            FileFormatError, GraphError: as `Groups.read`.
        """
        if self.groups is None:
            if self != GroupFile():
                raise ParameterError("--groups-columns and --right-groups need --groups FILE")
            return None
        left, right = vertex_sets(space)
        if left is not right and self.right_groups is None:
            raise ParameterError("a bipartite graph needs --right-groups, too")
        if left is right and self.right_groups is not None:
            raise ParameterError("--right-groups is for --kind bipartite")
        left_groups = self._read_table(self.groups, left, self.groups_columns.levels)
        if self.right_groups is None:
            return left_groups
        right_levels = self.groups_columns.right_levels
        return left_groups, self._read_table(self.right_groups, right, right_levels)

    def _read_table(
        self, path: str, vertices: VertexSet, levels: Sequence[Column] | None
    ) -> Groups:
        columns = self.groups_columns
        with _spelling_keys(path):
            return Groups.read(
                path,
                vertices,
                columns=levels,
                vertex=columns.vertex,
                default_group=columns.default_group,
                unknown=columns.unknown,
                text=columns.text_format,
            )

    def names(self, space: Space) -> GroupNames | None:
        """Return a reader of the names of groups in queries; None if no table is named.

        Args:
            space: the vertices.

        Raises:
            ParameterError, FileFormatError, GraphError: as `read`.
        """
        groups = self.read(space)
        if groups is None:
            return None
        return GroupNames(*(groups if isinstance(groups, tuple) else (groups, groups)))

    def space(self, *, bipartite: bool) -> PublicVertices:
        """Return the vertices that the tables name, of both sides of a bipartite graph.

        Returns:
            The vertices; None if the table, or that of one side, is not named.

        Raises:
            FileFormatError, GraphError: as `vertices_of_table`.
        """
        columns = self.groups_columns
        tables = [(self.groups, columns.levels)]
        if bipartite:
            tables.append((self.right_groups, columns.right_levels))
        sides = []
        for path, levels in tables:
            if path is None:
                return None
            with _spelling_keys(path):
                sides.append(vertices_of_table(path, levels, columns.vertex, columns.text_format))
        return (sides[0], sides[1]) if bipartite else sides[0]

    def to_dict(self) -> dict[str, Any]:
        """Return the options as plain values, with absolute paths, for `from_dict`."""
        paths = {
            name: path and str(Path(path).resolve())
            for name, path in (("groups", self.groups), ("right_groups", self.right_groups))
        }
        return {**asdict(self), **paths}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "GroupFile":
        """Return the options of `to_dict`.

        Raises:
            TypeError: another version has written them.
        """
        return cls(**{**values, "groups_columns": GroupColumns(**values.get("groups_columns", {}))})


def _spelling_keys(path: str) -> AbstractContextManager[None]:
    """Spell keys of --groups-columns as they are typed, in errors about a table of groups."""
    return spelling_keys("--groups-columns", GroupColumns, path, columns="levels")
