"""The options by which commands read a private graph or rows; see also `group_reading`."""

import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast, final

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import say
from graphcuts_dp.cli.group_reading import GroupFile, GroupsRead
from graphcuts_dp.cli.options import naming
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
from graphcuts_dp.io.raw_edges import GivenVertices
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
GRAPH_UNIT = _unit_option(
    EDGE, help="Privacy unit: what neighbouring graphs differ by; edge if omitted."
)
PRIVACY_UNIT = _unit_option(
    None,
    help="What neighbouring data differ by: edge, row, user (give max-contributions) or vertex "
    "(give max-degree). If omitted, an edge; for flows that count rows, a row.",
)
KINDS = ("undirected", "directed", "bipartite")
STDIN = "-"
_BOTH_DIRECTIONS = "Both directions of a pair count together: --kind directed keeps them apart."
_PUBLIC_USERS = (
    "The users are vertices, whose names are public. List all who could be in the data, such as "
    "every customer number that was ever given out: a list that is made from the private file "
    "shows who is in it."
)
_LOOPS_IN_CELLS = "Rows whose two ends are equal count, in cells of their own."
_NO_LOOPS = "Rows whose two ends are equal are dropped: they cross no cut."
_NO_FILE = "--dry-run reads no graph: name its vertices by --vertices, or public groups of them"


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
    """Add delta, for approximate differential privacy."""

    delta: float = options.DELTA


@dataclass(frozen=True, kw_only=True)
class Run(Checked):
    """Options of a run: whether it can be repeated, and replaces files."""

    seed: int | None = options.SEED
    force: bool = options.FORCE


@dataclass(frozen=True, kw_only=True)
class TriedRun(Run):
    """One that may be tried first."""

    dry_run: bool = options.DRY_RUN


@dataclass(frozen=True, kw_only=True)
class TableRun(TriedRun):
    """One that writes a table."""

    spreadsheet: bool = options.SPREADSHEET


@final
@dataclass(frozen=True, kw_only=True)
class Reading:
    """Options that read a private graph, or rows."""

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
    def matrix_shape(self) -> tuple[int, int] | None:
        """Rows and columns of the matrix, where the options tell them; None where files do."""
        vertices = self._vertices()
        rows, columns = vertices if isinstance(vertices, tuple) else (vertices, vertices)
        if not isinstance(rows, int) or not isinstance(columns, int):
            return None
        return len(VertexSet(rows)), len(VertexSet(columns))  # refused here if there are too many

    @property
    def named_vertices(self) -> GivenVertices:
        """The vertex sets that the options name; None where the graph's file has to tell them."""
        return public_vertices_of(self._vertices(), self.bipartite)

    def read(
        self,
        path: str,
        *,
        public: VertexSet | tuple[VertexSet, VertexSet] | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> AnyGraph:
        """Read a graph, perhaps on vertices that are known already.

        Raises:
            GraphCutsError: as `read_graph`.
        """
        if path == STDIN:
            raise ParameterError("- is standard input, for rows: add --counting, or name a file")
        if self.reads_rows or self.data_name is not None:
            raise ParameterError(
                "--counting, --periods, --data-name and --columns user= and period= are for rows; "
                "this command reads graphs"
            )
        with naming("--columns", Columns, path):
            return kind_of_graph(bipartite=self.bipartite, directed=self.directed).read(
                path,
                columns=self.columns,
                vertices=self._vertices() if public is None else public,
                public_vertices_from_file=self.public_vertices_from_file,
                weighted=False if self.ignore_weights else None,
                max_weight=self.max_weight,
                max_weight_change=self.max_weight_change,
                merge=cast(Merge | None, self.merge),
                tell=tell,
            )

    @property
    def reads_rows(self) -> bool:
        """Return whether rows are read, not a graph."""
        owned = self.columns.user is not None or self.columns.period is not None
        return self.counting is not None or owned or self.periods is not None

    def read_rows(
        self,
        path: str,
        *,
        public: GivenVertices = None,
    ) -> Rows:
        """Read rows, of standard input if the path is "-", perhaps on vertices that are known.

        Raises:
            GraphCutsError: as `Rows.read`.
        """
        self.check_rows()
        with naming("--columns", Columns, path):
            stdin: Any = sys.stdin
            rows = Rows.read(
                getattr(stdin, "buffer", stdin) if path == STDIN else path,
                columns=self.columns,
                counting=cast(Counting, self.counting or "rows"),
                weight_unit=self.weight_unit,
                vertices=self._vertices() if public is None else public,
                public_vertices_from_file=self.public_vertices_from_file,
                periods=self.periods,
                kind=self.kind,
                data_name=self.data_name,
            )
        if rows.reading:
            note(rows.reading)
        return rows

    def unit_or_default(self, privacy_unit: PrivacyUnit | None) -> PrivacyUnit:
        """Return the privacy unit that is typed, or the one that is meant for what is read."""
        counting = self.counting or ("rows" if self.reads_rows else None)
        return privacy_unit or default_unit(counting)

    def check_rows(self) -> None:
        """Refuse options that are for graphs alone.

        Raises:
            ParameterError: one is given.
        """
        graph_options = (self.max_weight, self.max_weight_change, self.ignore_weights or None)
        if (
            any(option_value is not None for option_value in graph_options)
            or self.merge is not None
        ):
            raise ParameterError(
                "--max-weight, --max-weight-change, --ignore-weights and --merge are for graphs, "
                "not for rows; see --counting"
            )

    def vertices_of_groups(self, grouping: GroupFile | None) -> GivenVertices:
        """Return the vertices that the public groups name, and say so; None if others are named.

        Raises:
            FileFormatError, GraphError: groups that do not tell them.
        """
        vertices = self._vertices_of_groups(grouping)
        if vertices is not None:
            note("The public vertices are those of the groups, since --vertices names no others.")
        return vertices

    def _vertices_of_groups(self, grouping: GroupFile | None) -> GivenVertices:
        """Return the vertices that the public groups name; None where an option names others.

        Of a graph, groups that need not list all of its vertices, or may list more, do not count.
        """
        named = self.vertices is not None or self.public_vertices_from_file
        if named or grouping is None or grouping.groups is None:
            return None
        if not (self.reads_rows or grouping.lists_all_vertices):
            return None
        return grouping.space(bipartite=self.bipartite)

    def read_again(self, path: str, grouping: GroupFile) -> PrivateData:
        """Read a graph, or rows where the options speak of these, as they were read before.

        Args:
            path: of the private file.
            grouping: the public groups that a session began with; they may name the vertices.

        Raises:
            GraphCutsError: as `read` and `read_rows`.
        """
        public = self._vertices_of_groups(grouping)
        return (
            self.read_rows(path, public=public)
            if self.reads_rows
            else self.read(path, public=public)
        )

    def read_private(
        self,
        path: str,
        privacy_unit: PrivacyUnit | None = EDGE,
        grouping: GroupFile | None = None,
        *,
        has_cells: bool = False,
    ) -> tuple[PrivateData, GroupsRead]:
        """Read what will be released, and say how it was read; and its groups.

        What is wrong with the groups stands in one line with what is missing of the graph. With
        `has_cells` sums between groups are released, which count rows whose two ends are equal.

        Raises:
            GraphCutsError: as `read` and `read_rows`.
            ParameterError: weights whose bound nobody has given; a column of users without
                users as privacy unit, or the other way round.
        """
        self._check_user(privacy_unit)
        if self.reads_rows:
            rows = self.read_rows(path, public=self.vertices_of_groups(grouping))
            if privacy_unit is not None and privacy_unit.kind == "user":
                per_period = " in each period" if privacy_unit.per_period else ""
                note(
                    f"Of each user at most {_amount(rows, privacy_unit)} count{per_period}; how "
                    "much is left out is private: flows --contributions estimates it, for a part "
                    "of the budget."
                )
            if (
                privacy_unit is not None
                and privacy_unit.kind == "row"
                and rows.counting == "weight"
            ):
                note(f"Of each row at most {_amount(rows, privacy_unit)} count.")
            directions = directions_note(rows)
            if directions:
                note(directions)
            if rows.user_is_source:
                note(_PUBLIC_USERS)
            if rows.periods is not None:
                note("Rows of other periods do not count; whether there are any is private.")
            if not self.bipartite:
                note(_LOOPS_IN_CELLS if has_cells else _NO_LOOPS)
            if rows.counting == "weight":
                note("Amounts come out as they are typed in the file.")
            return rows, None if grouping is None else grouping.read(rows.space)
        public = self.vertices_of_groups(grouping)
        graph = self.read(path, public=public, tell=note)
        groups, missing = None, []
        try:
            graph.check_bounded()
        except GraphCutsError as problem:
            missing.append(problem)
        try:
            groups = None if grouping is None else grouping.read(graph.space)
        except GraphCutsError as problem:
            missing.append(problem)
        if len(missing) == 1:
            raise missing[0]
        if missing:
            raise ParameterError("; and ".join(map(str, missing)))
        file_format = FORMATS[ending_of(path)]
        for text in describe_reading(
            vertices_given=self.vertices is not None
            or self.public_vertices_from_file
            or public is not None,
            inferred=any(vertices.inferred for vertices in sets_in(graph.space)),
            weighted=graph.weighted,
            has_maximum=self.max_weight is not None,
            merge=cast(Merge | None, self.merge),
            bipartite=self.bipartite,
            directed=self.directed,
            repeats=file_format.repeats,
            list_or_matrix=file_format.list_or_matrix,
        ):
            note(text)
        # refuses what cannot be guaranteed
        bounded_graph(without_rows(graph), privacy_unit or EDGE)
        return graph, groups

    def empty_data(
        self, privacy_unit: PrivacyUnit | None = EDGE, grouping: GroupFile | None = None
    ) -> tuple[PrivateData, GroupsRead]:
        """Data of the schema that the options give, without any row, and their groups.

        Nothing private is read: a dry run makes a job of it.

        Raises:
            GraphCutsError: as `read_private`.
        """
        self._check_user(privacy_unit)
        public = self.named_vertices
        if public is None and grouping is not None:
            public = grouping.space(bipartite=self.bipartite)
        if public is None:
            raise ParameterError(_NO_FILE)
        data = (
            self._empty_rows(public)
            if self.reads_rows
            else without_rows(self.random_graph(1, public))
        )
        return data, None if grouping is None else grouping.read(data.space)

    def empty_rows(self, public: GivenVertices = None) -> Rows:
        """Rows of the schema that the options give, without any row in them.

        Args:
            public: the vertices, where no option names them.

        Raises:
            GraphCutsError: options that do not fit together, or no vertices.
        """
        public = public if self.named_vertices is None else self.named_vertices
        if public is None:
            raise ParameterError(_NO_FILE)
        self.check_rows()
        return self._empty_rows(public)

    def _empty_rows(self, public: GivenVertices) -> Rows:
        return Rows.empty(
            columns=self.columns,
            counting=cast(Counting, self.counting or "rows"),
            weight_unit=self.weight_unit,
            vertices=public,
            periods=self.periods,
            kind=self.kind,
        )

    def random_graph(self, edges: float, public: GivenVertices = None) -> AnyGraph:
        """A graph of so many edges at random, of the schema that the options give.

        On the vertices that the options name, or else on those that are known.

        Raises:
            ParameterError: they name none; users of rows; or a number that is no guess of edges.
        """
        from graphcuts_dp.release.usefulness import made_up_graph  # results are slow to import

        named = self.named_vertices
        space: Space | None = public if named is None else named
        if space is None:
            raise ParameterError(_NO_FILE)
        if self.columns.user is not None and self.counting != "edges":
            raise ParameterError("--dry-run with users is for --counting edges")
        if self.directed and isinstance(space, VertexSet):
            space = Arcs(space)
        cap, change = self.max_weight, self.max_weight_change
        weighted = (cap, change) != (None, None) and not self.ignore_weights
        schema = {"max_weight": cap, "max_weight_change": change} if weighted else {}
        return made_up_graph(space, edges, weighted=weighted, **schema)

    def _check_user(self, privacy_unit: PrivacyUnit | None) -> None:
        """Refuse a column of users without users as privacy unit, or the other way round."""
        user = self.columns.user is not None
        if user is not (privacy_unit is not None and privacy_unit.kind == "user"):
            raise ParameterError(
                "--columns user=COLUMN needs --privacy-unit user:max-contributions=K, which bounds "
                "how much of each user counts; flows --contributions helps to choose K"
                if user
                else "--privacy-unit user needs --columns user=COLUMN, the column of users"
            )

    def to_dict(self) -> dict[str, Any]:
        """Return what reads the graph again, from any folder: plain values."""
        vertices = self.vertices
        if vertices is not None:
            parts = vertices.split(",") if self.bipartite else [vertices]
            resolved_parts = (
                part if _is_count(part) else str(Path(part).resolve()) for part in parts
            )
            vertices = ",".join(resolved_parts)
        return {**asdict(self), "vertices": vertices}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Reading":
        """The same again.

        Raises:
            TypeError: another version has written them.
        """
        return cls(**{**values, "columns": Columns(**values.get("columns", {}))})

    def _vertices(self) -> int | str | tuple[int | str, int | str] | None:
        if self.vertices is None:
            return None
        if not self.bipartite:
            return _count_or_file(self.vertices)
        parts = self.vertices.split(",")
        if len(parts) != 2:
            raise ParameterError("--vertices of a bipartite graph is LEFT,RIGHT")
        return _count_or_file(parts[0]), _count_or_file(parts[1])


def _amount(rows: Rows, privacy_unit: PrivacyUnit) -> str:
    """Return how many rows a bound lets through; of units of weight, also their sum."""
    count, unit = privacy_unit.group_size, rows.weight_unit
    together = "" if unit == 1 else f" of {unit:g} ({count * unit:,g})"
    return f"{count:,} {rows.what}{together}"


def directions_note(data: PrivateData) -> str:
    """Return a sentence on directions where both of a pair count together; else ""."""
    together = isinstance(data.space, VertexSet)
    return _BOTH_DIRECTIONS if together else ""


def note(text: str) -> None:
    """Say how a file was read."""
    say(f"note: {text}")


def _is_count(text: str) -> bool:
    # Python refuses to read numbers of thousands of digits, and so does every graph.
    return text.isascii() and text.isdigit() and len(text) < 100


def _count_or_file(text: str) -> int | str:
    return int(text) if _is_count(text) else text
