"""Options by which commands read private data: a graph, or rows such as trips.

`Reading` has the options, and reads by them: `read_private` for releases and sessions, `read` and
`read_rows` for other commands, and `empty_data` for dry runs, which read no private file. The
classes before it are options that many commands share. Options for public groups of the vertices
are in `group_reading`.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast, final

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import say
from graphcuts_dp.cli.group_reading import GroupFile, GroupsRead
from graphcuts_dp.cli.options import spelling_keys
from graphcuts_dp.errors import GraphCutsError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph, kind_of_graph
from graphcuts_dp.graph.rows import (
    PrivateData,
    Rows,
    bounded_graph,
    without_rows,
)
from graphcuts_dp.io.edge_store import Merge
from graphcuts_dp.io.files import FORMATS, describe_reading, ending_of, public_vertices_of
from graphcuts_dp.io.raw_edges import PublicVertices
from graphcuts_dp.options import (
    Checked,
    check,
    input_option,
    privacy_option,
)
from graphcuts_dp.privacy.default_unit import EDGE, default_unit
from graphcuts_dp.privacy.privacy_unit import PRIVACY_UNITS, PrivacyUnit
from graphcuts_dp.schema.columns import Columns
from graphcuts_dp.schema.counting import COUNTINGS, Counting
from graphcuts_dp.schema.vertices import Arcs, Space, VertexSet, sets_in

_unit_option = partial(privacy_option, usual=True, of=PRIVACY_UNITS)
# The option of commands that read graphs alone, and of those that may read rows.
GRAPH_UNIT = _unit_option(
    EDGE, help="Privacy unit: what neighbouring graphs differ by; edge if omitted."
)
PRIVACY_UNIT = _unit_option(
    None,
    help="What neighbouring data differ by: edge, row, user (give max-contributions) or vertex "
    "(give max-degree). If omitted, an edge; for flows that count rows, a row.",
)
KINDS = ("undirected", "directed", "bipartite")
STDIN = "-"  # the path that stands for standard input
# Notes on how data are read, which follow from the options alone.
_BOTH_DIRECTIONS = "Both directions of a pair count together: --kind directed keeps them apart."
_PUBLIC_USERS = (
    "The users are vertices, whose names are public. List all who could be in the data, such as "
    "every customer number that was ever given out: a list that is made from the private file "
    "shows who is in it."
)
_LOOPS_IN_CELLS = "Rows whose two ends are equal count, in cells of their own."
_NO_LOOPS = "Rows whose two ends are equal are dropped: they cross no cut."
_NO_VERTICES = "--dry-run reads no graph: name its vertices by --vertices, or public groups of them"


@dataclass(frozen=True, kw_only=True)
class PrivacyOptions:
    """The privacy parameters and the privacy unit of a command."""

    epsilon: float = options.EPSILON
    privacy_unit: PrivacyUnit | None = PRIVACY_UNIT

    def __post_init__(self) -> None:
        check(self)
        (self.privacy_unit or EDGE).per_change(self.epsilon)


@final
@dataclass(frozen=True, kw_only=True)
class ApproximatePrivacyOptions(PrivacyOptions):
    """The privacy parameters of approximate differential privacy, and the privacy unit."""

    delta: float = options.DELTA


@dataclass(frozen=True, kw_only=True)
class Run(Checked):
    """The seed of a run, and whether it replaces files."""

    seed: int | None = options.SEED
    force: bool = options.FORCE


@dataclass(frozen=True, kw_only=True)
class TriedRun(Run):
    """Options of a run that may be tried before private data are read."""

    dry_run: bool = options.DRY_RUN


@dataclass(frozen=True, kw_only=True)
class TableRun(TriedRun):
    """Options of a run that writes a table."""

    spreadsheet: bool = options.SPREADSHEET


@final
@dataclass(frozen=True, kw_only=True)
class Reading:
    """Options that read a private graph, or rows.

    Several methods have a parameter `public`: the public vertices, or both sides of a bipartite
    graph, if they are known from elsewhere, such as from groups; None if only the options and the
    file name them.
    """

    columns: Columns = input_option(
        Columns(),
        usual=True,
        help="Which columns of an edge list or a table are read, and how; see the keys below.",
        of=Columns,
    )
    vertices: str | None = input_option(
        None,
        usual=True,
        help="Public vertex set: a count n (vertices 0 to n-1), or a file with one label on each "
        "line. For a bipartite graph two of these, as left,right. If omitted, the table of public "
        "groups names the vertices.",
        metavar="COUNT|FILE",
    )
    public_vertices_from_file: bool = input_option(
        False,
        usual=True,
        help="Declare that the vertices that occur in GRAPH are public. Without this or "
        "--vertices, a vertex that occurs may reveal an edge, and the guarantee says so.",
    )
    kind: str = input_option(
        KINDS[0],
        usual=True,
        help="Kind of graph. Directed: edges go from source to target. Bipartite: source vertices "
        "are left, target vertices right.",
        choices=KINDS,
    )
    ignore_weights: bool = input_option(False, help="Drop the weights: a pair is an edge or not.")
    max_weight: float | None = input_option(
        None,
        help="Public bound on every weight; larger ones are clipped to it. Neighbouring graphs "
        "then differ in a whole edge. A graph with weights needs it, or --max-weight-change.",
    )
    max_weight_change: float | None = input_option(
        None,
        help="Instead of --max-weight; must be 1. Neighbouring graphs then differ by at most 1 in "
        "one weight, so an edge with a much larger weight can be detected.",
    )
    merge: str | None = input_option(
        None,
        help="Weight of an edge that stands on several lines: the sum (default), the "
        "largest or the smallest of their weights. For the two entries of a pair in a matrix, the "
        "largest is the default.",
        choices=("max", "min", "sum"),
    )
    counting: str | None = input_option(
        None,
        usual=True,
        help="Read rows, such as trips, instead of a graph, and count for each pair of vertices: "
        "its rows; their weight; its users; or edges, which is 1 if there is any row. If omitted, "
        "a graph is read, or rows if --columns names a user or a period.",
        choices=COUNTINGS,
    )
    weight_unit: float = input_option(
        1.0,
        help="With --counting weight: the weight that counts as one unit in the keys "
        "max-contributions and max-units of --privacy-unit.",
    )
    periods: str | None = input_option(
        None,
        usual=True,
        help="Public periods in the column that --columns period= names, such as 2026-01..2026-12 "
        "or spring,autumn. Rows of other periods are left out.",
        metavar="FROM..TO",
    )
    data_name: str | None = input_option(
        None,
        help="Do not load Parquet files into memory, but read them where they are; the store knows "
        "these data by this name, such as trips-2026. Use the same name each time.",
        metavar="NAME",
    )

    @property
    def bipartite(self) -> bool:
        """Return whether there are two sides."""
        return self.kind == "bipartite"

    @property
    def directed(self) -> bool:
        """Return whether edges have a direction."""
        return self.kind == "directed"

    @property
    def reads_rows(self) -> bool:
        """Return whether rows are read, not a graph."""
        has_row_columns = self.columns.user is not None or self.columns.period is not None
        return self.counting is not None or has_row_columns or self.periods is not None

    @property
    def matrix_shape(self) -> tuple[int, int] | None:
        """Return the shape of the graph's matrix; None if only files tell the numbers of vertices.

        Raises:
            GraphError: too many vertices.
        """
        vertices = self._typed_vertices()
        rows, columns = vertices if isinstance(vertices, tuple) else (vertices, vertices)
        if not isinstance(rows, int) or not isinstance(columns, int):
            return None
        return len(VertexSet(rows)), len(VertexSet(columns))

    @property
    def named_vertices(self) -> PublicVertices:
        """Return the public vertices that --vertices names; None if it is left out."""
        return public_vertices_of(self._typed_vertices(), self.bipartite)

    def unit_or_default(self, privacy_unit: PrivacyUnit | None) -> PrivacyUnit:
        """Return the typed privacy unit; if None, the default unit of the data that are read."""
        counting = self.counting or ("rows" if self.reads_rows else None)
        return privacy_unit or default_unit(counting)

    def read_private(
        self,
        path: str,
        privacy_unit: PrivacyUnit | None = EDGE,
        grouping: GroupFile | None = None,
        *,
        has_cells: bool = False,
    ) -> tuple[PrivateData, GroupsRead]:
        """Read data to release, with their groups, and print notes on how they were read.

        Args:
            path: of the private file; "-" for rows from standard input.
            privacy_unit: the typed privacy unit; None if it was left out, and is then the default
                unit of the data.
            grouping: options of the public groups; None if the command has none.
            has_cells: whether sums between groups are released: they count rows from a vertex to
                itself, and cuts do not.

        Raises:
            GraphCutsError: as `read` and `read_rows`, and as `GroupFile.read`. Problems of a graph
                and of its groups stand in one message.
            ParameterError: weights without a bound; a column of users if the privacy unit is no
                user, or the other way round.
        """
        self._check_user(privacy_unit)
        if not self.reads_rows:
            return self._read_private_graph(path, privacy_unit or EDGE, grouping)
        rows = self.read_rows(path, public=self.vertices_of_groups(grouping))
        for text in self._notes_on_rows(rows, privacy_unit, has_cells=has_cells):
            note(text)
        return rows, None if grouping is None else grouping.read(rows.space)

    def _read_private_graph(
        self, path: str, privacy_unit: PrivacyUnit, grouping: GroupFile | None
    ) -> tuple[PrivateData, GroupsRead]:
        public = self.vertices_of_groups(grouping)
        graph = self.read(path, public=public, tell=note)
        groups, problems = None, []
        try:
            graph.check_bounded()
        except GraphCutsError as problem:
            problems.append(problem)
        try:
            groups = None if grouping is None else grouping.read(graph.space)
        except GraphCutsError as problem:
            problems.append(problem)
        if len(problems) == 1:
            raise problems[0]
        if problems:
            raise ParameterError("; and ".join(map(str, problems)))
        for text in self._notes_on_graph(path, graph, has_public_vertices=public is not None):
            note(text)
        bounded_graph(without_rows(graph), privacy_unit)  # refuses what cannot be guaranteed
        return graph, groups

    def _notes_on_graph(
        self, path: str, graph: AnyGraph, *, has_public_vertices: bool
    ) -> tuple[str, ...]:
        file_format = FORMATS[ending_of(path)]
        return describe_reading(
            has_public_vertices=self._has_vertex_option() or has_public_vertices,
            inferred=any(vertices.inferred for vertices in sets_in(graph.space)),
            weighted=graph.weighted,
            has_maximum=self.max_weight is not None,
            merge=cast(Merge | None, self.merge),
            bipartite=self.bipartite,
            directed=self.directed,
            repeats=file_format.repeats,
            list_or_matrix=file_format.list_or_matrix,
        )

    def _notes_on_rows(
        self, rows: Rows, privacy_unit: PrivacyUnit | None, *, has_cells: bool
    ) -> Iterator[str]:
        if privacy_unit is not None and privacy_unit.kind == "user":
            per_period = " in each period" if privacy_unit.per_period else ""
            yield (
                f"Of each user at most {_amount(rows, privacy_unit)} count{per_period}; how "
                "much is left out is private: flows --contributions estimates it, for a part "
                "of the budget."
            )
        if privacy_unit is not None and privacy_unit.kind == "row" and rows.counting == "weight":
            yield f"Of each row at most {_amount(rows, privacy_unit)} count."
        directions = directions_note(rows)
        if directions:
            yield directions
        if rows.user_is_source:
            yield _PUBLIC_USERS
        if rows.periods is not None:
            yield "Rows of other periods do not count; whether there are any is private."
        if not self.bipartite:
            yield _LOOPS_IN_CELLS if has_cells else _NO_LOOPS
        if rows.counting == "weight":
            yield "Amounts come out as they are typed in the file."

    def read(
        self,
        path: str,
        *,
        public: PublicVertices = None,
        tell: Callable[[str], None] | None = None,
    ) -> AnyGraph:
        """Read a graph.

        Args:
            path: of the file.
            public: the public vertices, see above.
            tell: takes each note on how the file is read; None to drop them.

        Raises:
            ParameterError: options that are for rows.
            GraphCutsError: as `read_graph`.
        """
        if path == STDIN:
            raise ParameterError("- is standard input, for rows: add --counting, or name a file")
        if self.reads_rows or self.data_name is not None:
            raise ParameterError(
                "--counting, --periods, --data-name and --columns user= and period= are for rows; "
                "this command reads graphs"
            )
        with spelling_keys("--columns", Columns, path):
            return kind_of_graph(bipartite=self.bipartite, directed=self.directed).read(
                path,
                columns=self.columns,
                vertices=self._typed_vertices() if public is None else public,
                public_vertices_from_file=self.public_vertices_from_file,
                weighted=False if self.ignore_weights else None,
                max_weight=self.max_weight,
                max_weight_change=self.max_weight_change,
                merge=cast(Merge | None, self.merge),
                tell=tell,
            )

    def read_rows(self, path: str, *, public: PublicVertices = None) -> Rows:
        """Read rows, and print a note on how they were read.

        Args:
            path: of the file; "-" for standard input.
            public: the public vertices, see above.

        Raises:
            ParameterError: options that are for graphs.
            GraphCutsError: as `Rows.read`.
        """
        self.check_rows()
        with spelling_keys("--columns", Columns, path):
            stdin: Any = sys.stdin
            rows = Rows.read(
                getattr(stdin, "buffer", stdin) if path == STDIN else path,
                columns=self.columns,
                counting=cast(Counting, self.counting or "rows"),
                weight_unit=self.weight_unit,
                vertices=self._typed_vertices() if public is None else public,
                public_vertices_from_file=self.public_vertices_from_file,
                periods=self.periods,
                kind=self.kind,
                data_name=self.data_name,
            )
        if rows.reading:
            note(rows.reading)
        return rows

    def read_again(self, path: str, grouping: GroupFile) -> PrivateData:
        """Read the graph or the rows of a session again, as they were read before.

        Args:
            path: of the private file.
            grouping: the public groups that the session began with; they may name the vertices.

        Raises:
            GraphCutsError: as `read` and `read_rows`.
        """
        public = self._vertices_of_groups(grouping)
        if self.reads_rows:
            return self.read_rows(path, public=public)
        return self.read(path, public=public)

    def empty_data(
        self, privacy_unit: PrivacyUnit | None = EDGE, grouping: GroupFile | None = None
    ) -> tuple[PrivateData, GroupsRead]:
        """Return data of the schema that the options describe, without any row, and their groups.

        Nothing private is read: a dry run makes a job of the result.

        Args:
            privacy_unit: as for `read_private`.
            grouping: options of the public groups, which name the vertices if no option does.

        Raises:
            ParameterError: neither an option nor the groups name the vertices; or as
                `read_private`.
            GraphCutsError: options or groups that do not fit together.
        """
        self._check_user(privacy_unit)
        public = self.named_vertices
        if public is None and grouping is not None:
            public = grouping.space(bipartite=self.bipartite)
        if public is None:
            raise ParameterError(_NO_VERTICES)
        data: PrivateData
        if self.reads_rows:
            data = self._rows_on(public)
        else:
            data = without_rows(self.random_graph(1, public))
        return data, None if grouping is None else grouping.read(data.space)

    def empty_rows(self, public: PublicVertices = None) -> Rows:
        """Return rows of the schema that the options describe, without any row in them.

        Args:
            public: the public vertices if no option names them.

        Raises:
            ParameterError: no vertices are named, or options that are for graphs.
            GraphCutsError: options that do not fit together.
        """
        vertices = self.named_vertices
        if vertices is None:
            vertices = public
        if vertices is None:
            raise ParameterError(_NO_VERTICES)
        self.check_rows()
        return self._rows_on(vertices)

    def _rows_on(self, vertices: PublicVertices) -> Rows:
        return Rows.empty(
            columns=self.columns,
            counting=cast(Counting, self.counting or "rows"),
            weight_unit=self.weight_unit,
            vertices=vertices,
            periods=self.periods,
            kind=self.kind,
        )

    def random_graph(self, edges: float, public: PublicVertices = None) -> AnyGraph:
        """Return a random graph of the schema that the options describe, for a forecast.

        Args:
            edges: about how many edges it has.
            public: the public vertices if no option names them.

        Raises:
            ParameterError: no vertices are named; rows with users count more than edges; or the
                number is no guess of edges.
        """
        from graphcuts_dp.release.usefulness import simulated_graph  # results are slow to import

        vertices = self.named_vertices
        space: Space | None = public if vertices is None else vertices
        if space is None:
            raise ParameterError(_NO_VERTICES)
        if self.columns.user is not None and self.counting != "edges":
            raise ParameterError("--dry-run with users is for --counting edges")
        if self.directed and isinstance(space, VertexSet):
            space = Arcs(space)
        bounds = {"max_weight": self.max_weight, "max_weight_change": self.max_weight_change}
        weighted = not self.ignore_weights and any(bound is not None for bound in bounds.values())
        return simulated_graph(space, edges, weighted=weighted, **(bounds if weighted else {}))

    def vertices_of_groups(self, grouping: GroupFile | None) -> PublicVertices:
        """Return the vertices that the public groups name, and print a note that they are used.

        Args:
            grouping: options of the public groups; None if the command has none.

        Returns:
            The vertices, or None if there are no groups, an option names the vertices, or the
            groups of a graph may list more or fewer vertices than the graph has.

        Raises:
            FileFormatError, GraphError: as `GroupFile.space`.
        """
        vertices = self._vertices_of_groups(grouping)
        if vertices is not None:
            note("The public vertices are those of the groups, since --vertices names no others.")
        return vertices

    def _vertices_of_groups(self, grouping: GroupFile | None) -> PublicVertices:
        """Return the vertices of `vertices_of_groups`, without a note."""
        if self._has_vertex_option() or grouping is None or grouping.groups is None:
            return None
        if not (self.reads_rows or grouping.lists_all_vertices):
            return None
        return grouping.space(bipartite=self.bipartite)

    def _has_vertex_option(self) -> bool:
        return self.vertices is not None or self.public_vertices_from_file

    def check_rows(self) -> None:
        """Check that no option is for graphs alone.

        Raises:
            ParameterError: an option is.
        """
        bounds = (self.max_weight, self.max_weight_change, self.merge)
        if self.ignore_weights or any(value is not None for value in bounds):
            raise ParameterError(
                "--max-weight, --max-weight-change, --ignore-weights and --merge are for graphs, "
                "not for rows; see --counting"
            )

    def _check_user(self, privacy_unit: PrivacyUnit | None) -> None:
        """Check that there is a column of users if and only if the privacy unit is a user.

        Raises:
            ParameterError: there is one without the other.
        """
        has_users = self.columns.user is not None
        is_user = privacy_unit is not None and privacy_unit.kind == "user"
        if has_users and not is_user:
            raise ParameterError(
                "--columns user=COLUMN needs --privacy-unit user:max-contributions=K, which bounds "
                "how much of each user counts; flows --contributions helps to choose K"
            )
        if is_user and not has_users:
            raise ParameterError(
                "--privacy-unit user needs --columns user=COLUMN, the column of users"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return the options as plain values, with absolute paths, for `from_dict`."""
        vertices = self.vertices
        if vertices is not None:
            parts = vertices.split(",") if self.bipartite else [vertices]
            vertices = ",".join(
                part if _is_count(part) else str(Path(part).resolve()) for part in parts
            )
        return {**asdict(self), "vertices": vertices}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Reading":
        """Return the options of `to_dict`.

        Raises:
            TypeError: another version has written them.
        """
        return cls(**{**values, "columns": Columns(**values.get("columns", {}))})

    def _typed_vertices(self) -> int | str | tuple[int | str, int | str] | None:
        """Return --vertices: a count or a path, or a pair of them; None if it is left out.

        Raises:
            ParameterError: no pair for a bipartite graph.
        """
        if self.vertices is None:
            return None
        if not self.bipartite:
            return _count_or_path(self.vertices)
        parts = self.vertices.split(",")
        if len(parts) != 2:
            raise ParameterError("--vertices of a bipartite graph is LEFT,RIGHT")
        return _count_or_path(parts[0]), _count_or_path(parts[1])


def directions_note(data: PrivateData) -> str:
    """Return a sentence on directions if both of a pair count together; else ""."""
    return _BOTH_DIRECTIONS if isinstance(data.space, VertexSet) else ""


def note(text: str) -> None:
    """Print a note on how data were read."""
    say(f"note: {text}")


def _amount(rows: Rows, privacy_unit: PrivacyUnit) -> str:
    """Return what a bound lets through, as "3 rows" or "3 units of weight of 0.5 (1.5)"."""
    count, unit = privacy_unit.group_size, rows.weight_unit
    sum_of_weights = "" if unit == 1 else f" of {unit:g} ({count * unit:,g})"
    return f"{count:,} {rows.what}{sum_of_weights}"


def _count_or_path(text: str) -> int | str:
    return int(text) if _is_count(text) else text


def _is_count(text: str) -> bool:
    # Python refuses to read numbers of thousands of digits, and so does every graph.
    return text.isascii() and text.isdigit() and len(text) < 100
