"""The options by which commands read public groups of the vertices."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

from graphcuts_dp.cli.options import naming
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.io.raw_edges import GivenVertices
from graphcuts_dp.options import (
    input_option,
)
from graphcuts_dp.queries.group_names import GroupNames
from graphcuts_dp.schema.columns import Column, Columns, column_of, delimiter_of
from graphcuts_dp.schema.group_tables import vertices_of_table
from graphcuts_dp.schema.groups import Groups
from graphcuts_dp.schema.typed_names import split_names
from graphcuts_dp.schema.vertices import Space, VertexSet, vertex_sets

GroupsRead = Groups | tuple[Groups, Groups] | None  # of both sides, where there are two


def _levels(text: str) -> list[Column]:
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
        parse=_levels,
    )
    vertex: Column | None = input_option(
        None,
        usual=True,
        metavar="COLUMN",
        help="Column of the vertices: a name, or a number from 1.",
        parse=column_of,
    )
    right_levels: list[Column] | None = input_option(
        None, metavar="COLUMN", help="Columns of the groups in --right-groups.", parse=_levels
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
    def text(self) -> Columns:
        """Return how the text is read."""
        return Columns(header=self.header, delimiter=self.delimiter, encoding=self.encoding)


@dataclass(frozen=True, kw_only=True)
class GroupReading:
    """Options that read public groups which an argument names."""

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
        """The groups of a file."""
        return GroupFile(groups=path, **vars(self))


@final
@dataclass(frozen=True, kw_only=True)
class GroupFile(GroupReading):
    """Public groups of vertices, if there are any."""

    groups: str | None = input_option(
        None,
        usual=True,
        help="Public groups of the vertices: a table with a row for each vertex.",
        metavar="FILE",
    )

    @property
    def lists_all_vertices(self) -> bool:
        """Return whether each vertex has a row of the table, and nothing else has one."""
        how = self.groups_columns
        return how.default_group is None and how.unknown != "ignore"

    def read(self, space: Space) -> GroupsRead:
        """The groups of the vertices of pairs, where there are two sides those of both; or None.

        Raises:
            ParameterError: options that do not fit together.
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
        left_groups = self._side(self.groups, left, self.groups_columns.levels)
        if self.right_groups is None:
            return left_groups
        return left_groups, self._side(self.right_groups, right, self.groups_columns.right_levels)

    def _side(self, path: str, vertices: VertexSet, levels: Sequence[Column] | None) -> Groups:
        how = self.groups_columns
        with naming("--groups-columns", GroupColumns, path, columns="levels"):
            return Groups.read(
                path,
                vertices,
                columns=levels,
                vertex=how.vertex,
                default_group=how.default_group,
                unknown=how.unknown,
                text=how.text,
            )

    def space(self, *, bipartite: bool) -> GivenVertices:
        """The vertices that the tables name; None where a side has no table.

        Raises:
            FileFormatError, GraphError: as `vertices_of_table`.
        """
        how = self.groups_columns
        sides = [(self.groups, how.levels)]
        sides += [(self.right_groups, how.right_levels)] if bipartite else []
        named_sets = []
        for path, levels in sides:
            if path is None:
                return None
            with naming("--groups-columns", GroupColumns, path, columns="levels"):
                named_sets.append(vertices_of_table(path, levels, how.vertex, how.text))
        return (named_sets[0], named_sets[1]) if bipartite else named_sets[0]

    def to_dict(self) -> dict[str, Any]:
        """Return what reads the groups again, from any folder: plain values."""
        files = {
            name: path and str(Path(path).resolve())
            for name, path in (("groups", self.groups), ("right_groups", self.right_groups))
        }
        return {**asdict(self), **files}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "GroupFile":
        """Return the groups of `to_dict`.

        Raises:
            TypeError: another version has written them.
        """
        return cls(**{**values, "groups_columns": GroupColumns(**values.get("groups_columns", {}))})

    def names(self, space: Space) -> GroupNames | None:
        """Return what reads the names of groups in queries; None without `--groups`.

        Raises:
            ParameterError, FileFormatError, GraphError: as `read`.
        """
        groups = self.read(space)
        if groups is None:
            return None
        return GroupNames(*(groups if isinstance(groups, tuple) else (groups, groups)))
