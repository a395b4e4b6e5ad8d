"""What commands read: a private graph or rows, public groups beside it, and the store to charge."""

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast, final

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import say
from graphcuts_dp.cli.options import naming
from graphcuts_dp.errors import GraphCutsError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph, kind_of_graph
from graphcuts_dp.graph.rows import (
    COUNTINGS,
    PrivateData,
    Rows,
    bounded_graph,
    without_rows,
)
from graphcuts_dp.io.assemble import GivenVertices
from graphcuts_dp.io.edge_store import Merge
from graphcuts_dp.io.files import FORMATS, describe_reading, ending_of, public_vertices_of
from graphcuts_dp.ledger.ledger import Head
from graphcuts_dp.ledger.opening import Budget, Store, Subject, open_ledger, stores_beside
from graphcuts_dp.ledger.uses import uses_of
from graphcuts_dp.options import (
    Checked,
    check,
    input_option,
    privacy_option,
)
from graphcuts_dp.privacy.guarantee import EDGE, PROTECTIONS, Protect
from graphcuts_dp.queries.group_names import GroupNames
from graphcuts_dp.schema.columns import Column, Columns, column_of, delimiter_of
from graphcuts_dp.schema.counting import Counting
from graphcuts_dp.schema.group_tables import vertices_of_table
from graphcuts_dp.schema.groups import Groups
from graphcuts_dp.schema.vertices import Arcs, Space, VertexSet, sets_in, vertex_sets

_protect = partial(privacy_option, usual=True, of=PROTECTIONS)
WHOM = _protect(EDGE, help="Whom the promise protects; edges if omitted.")
PROTECT = _protect(
    None,
    help="Whom the promise protects; edges if omitted, and of rows with amounts or periods single "
    "rows.",
)
BUDGET = privacy_option(
    None, usual=True, help="Of a new store: cap on all uses of the data together.", of=Budget
)
KINDS = ("undirected", "directed", "bipartite")
STDIN = "-"
_NO_FILE = "--dry-run reads no graph: name its vertices by --vertices"
_Groups = Groups | tuple[Groups, Groups] | None  # of both sides, where there are two


@dataclass(frozen=True, kw_only=True)
class Promise:
    """How much is promised, and to whom."""

    epsilon: float = options.EPSILON
    protect: Protect | None = PROTECT

    def __post_init__(self) -> None:
        check(self)
        self.whom.per_step(self.epsilon)

    @property
    def whom(self) -> Protect:
        """Of what has edges."""
        return self.protect or EDGE


@final
@dataclass(frozen=True, kw_only=True)
class ApproximatePromise(Promise):
    """Of approximate differential privacy, where delta is given."""

    delta: float = options.DELTA


@dataclass(frozen=True, kw_only=True)
class Run(Checked):
    """How a command runs: whether it can be repeated, and replaces files."""

    seed: int | None = options.SEED
    force: bool = options.FORCE


@dataclass(frozen=True, kw_only=True)
class TriedRun(Run):
    """One that may be tried first."""

    dry_run: bool = options.DRY_RUN


@final
@dataclass(frozen=True, kw_only=True)
class Reading:
    """How to read a graph file."""

    columns: Columns = input_option(
        Columns(),
        usual=True,
        help="How to read the columns of an edge list or a table.",
        of=Columns,
    )
    vertices: str | None = input_option(
        None,
        usual=True,
        help="Public vertex set: a count, or a file with one label on each line; of two sides "
        "two of these with a comma between.",
        metavar="COUNT|FILE",
    )
    public_vertices_from_file: bool = input_option(
        False,
        usual=True,
        help="Declare that the vertices in the file are public. Without this or --vertices they "
        "may reveal edges, and the guarantee says so.",
    )
    kind: str = input_option(
        KINDS[0],
        usual=True,
        help="Of the graph. Directed: from the first column to the second. Bipartite: first column "
        "left, second right.",
        choices=KINDS,
    )
    ignore_weights: bool = input_option(False, help="Keep only which pairs are edges.")
    weight_cap: float | None = input_option(
        None,
        help="Public bound on a weight; larger ones are clipped. Hides whole edges. Private "
        "weights need it, or --hide-change.",
    )
    hide_change: float | None = input_option(
        None,
        help="Instead of a cap: 1 hides a change of a weight by at most 1, but not that there "
        "is a heavier edge.",
    )
    merge: str = input_option(
        "max",
        help="Weight of an edge that several rows list: their largest, smallest or sum.",
        choices=("max", "min", "sum"),
    )
    counting: str | None = input_option(
        None,
        usual=True,
        help="Read rows, not a graph, and count for each pair: rows; their weight; edges: whether "
        "there is a row; or how many owners have one. Rows if an owner or a period is named.",
        choices=COUNTINGS,
    )
    unit: float = input_option(
        1.0,
        help="Of --counting weight: the weight of one unit; --protect owner:at-most= counts units.",
    )
    periods: str | None = input_option(
        None,
        usual=True,
        help="Public: the periods of --columns period=, as 2026-01..2026-12 or spring,autumn. "
        "Rows of others do not count.",
        metavar="FROM..TO",
    )
    data: str | None = input_option(
        None,
        help="Leave the rows of Parquet files where they lie; this is the name by which a store "
        "knows them, such as trips-2026.",
        metavar="NAME",
    )

    @property
    def bipartite(self) -> bool:
        """Whether there are two sides."""
        return self.kind == "bipartite"

    @property
    def directed(self) -> bool:
        """Whether edges have a direction."""
        return self.kind == "directed"

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
        if self.rows or self.data is not None:
            raise ParameterError(
                "--counting, --periods, --data and --columns owner= and period= are for rows; "
                "this command reads graphs"
            )
        with naming("--columns", Columns, path):
            return kind_of_graph(bipartite=self.bipartite, directed=self.directed).read(
                path,
                columns=self.columns,
                vertices=self._vertices() if public is None else public,
                public_vertices_from_file=self.public_vertices_from_file,
                weighted=False if self.ignore_weights else None,
                weight_cap=self.weight_cap,
                hide_change=self.hide_change,
                merge=cast(Merge, self.merge),
                tell=tell,
            )

    @property
    def rows(self) -> bool:
        """Whether rows are read, not a graph."""
        owned = self.columns.owner is not None or self.columns.period is not None
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
                unit=self.unit,
                vertices=self._vertices() if public is None else public,
                public_vertices_from_file=self.public_vertices_from_file,
                periods=self.periods,
                kind=self.kind,
                data=self.data,
            )
        if rows.reading:
            note(rows.reading)
        return rows

    def check_rows(self) -> None:
        """Refuse options that are for graphs alone.

        Raises:
            ParameterError: one is given.
        """
        given = (self.weight_cap, self.hide_change, self.ignore_weights or None)
        if any(each is not None for each in given) or self.merge != "max":
            raise ParameterError(
                "--weight-cap, --hide-change, --ignore-weights and --merge are not for rows; see "
                "--counting"
            )

    def vertices_beside(self, grouping: "GroupFile | None") -> GivenVertices:
        """The vertices that the public groups name, where no option names those of rows.

        Raises:
            FileFormatError, GraphError: groups that do not tell them.
        """
        named = self.vertices is not None or self.public_vertices_from_file
        if named or grouping is None or grouping.groups is None:
            return None
        note("The public vertices are those of the groups, since --vertices names no others.")
        return grouping.space(bipartite=self.bipartite)

    def read_data(self, path: str) -> PrivateData:
        """Read a graph, or rows where the options speak of these.

        Raises:
            GraphCutsError: as `read` and `read_rows`.
        """
        return self.read_rows(path) if self.rows else self.read(path)

    def read_private(
        self, path: str, protect: Protect | None = EDGE, grouping: "GroupFile | None" = None
    ) -> tuple[PrivateData, _Groups]:
        """Read what will be released, and say how it was read; and its groups.

        What is wrong with the groups stands in one line with what is missing of the graph.

        Raises:
            GraphCutsError: as `read` and `read_rows`.
            ParameterError: weights whose bound nobody has given; owners that are not to be
                protected, or the other way round.
        """
        self._check_owner(protect)
        if self.rows:
            rows = self.read_rows(path, public=self.vertices_beside(grouping))
            if protect is not None and protect.kind == "owner":
                each = " in each period" if protect.per_period else ""
                note(
                    f"Of each owner at most {_amount(rows, protect)} count{each}; how much is "
                    "left out is not told: flows --contributions tells it, for a part of the "
                    "budget."
                )
            if protect is not None and protect.kind == "rows" and rows.counting == "weight":
                note(f"Of each row at most {_amount(rows, protect)} count.")
            if isinstance(rows.space, VertexSet):
                note("Both directions of a pair count together: --kind directed keeps them apart.")
            if rows.periods is not None:
                note("Rows of other periods do not count; whether there are any is not told.")
            if grouping is not None and not self.bipartite:
                note("Rows whose two ends are equal count, in cells of their own.")
            if rows.counting == "weight":
                note("Amounts come out as they are typed in the file.")
            return rows, None if grouping is None else grouping.read(rows.space)
        graph = self.read(path, tell=note)
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
        for text in describe_reading(
            vertices_given=self.vertices is not None or self.public_vertices_from_file,
            inferred=any(vertices.inferred for vertices in sets_in(graph.space)),
            weighted=graph.weighted,
            capped=self.weight_cap is not None,
            merge=cast(Merge, self.merge),
            bipartite=self.bipartite,
            directed=self.directed,
            repeats=FORMATS[ending_of(path)].repeats,
        ):
            note(text)
        bounded_graph(without_rows(graph), protect or EDGE)  # refuses what cannot be promised
        return graph, groups

    def without_file(
        self, protect: Protect | None = EDGE, grouping: "GroupFile | None" = None
    ) -> tuple[PrivateData, _Groups]:
        """Data of the schema that the options give, without any row, and their groups.

        Nothing private is read: a dry run makes a job of it.

        Raises:
            GraphCutsError: as `read_private`.
        """
        self._check_owner(protect)
        public = self.public_sets
        if public is None and grouping is not None:
            public = grouping.space(bipartite=self.bipartite)
        if public is None:
            raise ParameterError(_NO_FILE)
        data: PrivateData
        if self.rows:
            data = Rows.empty(
                columns=self.columns,
                counting=cast(Counting, self.counting or "rows"),
                unit=self.unit,
                vertices=public,
                periods=self.periods,
                kind=self.kind,
            )
        else:
            data = without_rows(self.made_up(1, public))
        return data, None if grouping is None else grouping.read(data.space)

    def made_up(self, edges: float, public: GivenVertices = None) -> AnyGraph:
        """A graph of so many edges at random, of the schema that the options give.

        On the vertices that the options name, or else on those that are known.

        Raises:
            ParameterError: they name none; owners of rows; or a number that is no guess of edges.
        """
        from graphcuts_dp.release.usefulness import made_up_graph  # results are slow to import

        named = self.public_sets
        space: Space | None = public if named is None else named
        if space is None:
            raise ParameterError(_NO_FILE)
        if self.columns.owner is not None and self.counting != "edges":
            raise ParameterError("--dry-run with owners is for --counting edges")
        if self.directed and isinstance(space, VertexSet):
            space = Arcs(space)
        cap, change = self.weight_cap, self.hide_change
        weighted = (cap, change) != (None, None) and not self.ignore_weights
        schema = {"weight_cap": cap, "hide_change": change} if weighted else {}
        return made_up_graph(space, edges, weighted=weighted, **schema)

    def _check_owner(self, protect: Protect | None) -> None:
        """Refuse owners that are not to be protected, or the other way round."""
        owner = self.columns.owner is not None
        if owner is not (protect is not None and protect.kind == "owner"):
            raise ParameterError(
                "--columns owner=COLUMN is for --protect owner:at-most=K, which says how much of "
                "each owner counts; --contributions helps to choose K"
                if owner
                else "--protect owner needs --columns owner=COLUMN, which names whose a row is"
            )

    def to_dict(self) -> dict[str, Any]:
        """How to read the graph again, from any folder: plain values."""
        vertices = self.vertices
        if vertices is not None:
            parts = vertices.split(",") if self.bipartite else [vertices]
            found = (part if _is_count(part) else str(Path(part).resolve()) for part in parts)
            vertices = ",".join(found)
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


def _amount(rows: Rows, protect: Protect) -> str:
    """What a bound of rows lets through, and of units what they are together."""
    told = f"{protect.steps:,} {rows.what}"
    return told if rows.unit == 1 else f"{told} of {rows.unit:g} ({protect.steps * rows.unit:,g})"


def note(text: str) -> None:
    """Tell the user how a file was read."""
    say(f"note: {text}")


def _is_count(text: str) -> bool:
    # Python refuses to read numbers of thousands of digits, and so does every graph.
    return text.isascii() and text.isdigit() and len(text) < 100


def _count_or_file(text: str) -> int | str:
    return int(text) if _is_count(text) else text


def _levels(text: str) -> list[Column]:
    found = [column_of(word.strip()) for word in text.split("/")]
    if "" in found:
        raise ParameterError("an empty name in levels; write names with single slashes between")
    return found


@final
@dataclass(frozen=True, kw_only=True)
class GroupColumns:
    """How a table of public groups is read; see `Groups.read`."""

    levels: list[Column] | None = input_option(
        None,
        usual=True,
        metavar="COLUMN",
        help="Columns of the groups, coarsest first, as region/office.",
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
        None, metavar="COLUMN", help="Columns of --right-groups, likewise.", parse=_levels
    )
    rest: str | None = input_option(None, help="Group of all vertices that have none.")
    unknown: str = input_option(
        "error",
        help="Whether rows about no vertex are left out.",
        choices=("error", "ignore"),
    )
    header: bool | None = input_option(None, help="Whether the first line names the columns.")
    delimiter: str | None = input_option(
        None,
        help="What separates columns: a character, tab, blank or comma.",
        parse=delimiter_of,
    )
    encoding: str | None = input_option(None, help="Of the text, such as cp1252.")

    @property
    def text(self) -> Columns:
        """How the text is read."""
        return Columns(header=self.header, delimiter=self.delimiter, encoding=self.encoding)


@dataclass(frozen=True, kw_only=True)
class GroupReading:
    """How public groups are read that an argument names."""

    groups_columns: GroupColumns = input_option(
        GroupColumns(), usual=True, help="How to read the columns of the groups.", of=GroupColumns
    )
    right_groups: str | None = input_option(
        None, help="Public groups of the right side, of a bipartite graph.", metavar="FILE"
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

    def read(self, space: Space) -> _Groups:
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
        found = self._side(self.groups, left, self.groups_columns.levels)
        if self.right_groups is None:
            return found
        return found, self._side(self.right_groups, right, self.groups_columns.right_levels)

    def _side(self, path: str, vertices: VertexSet, levels: Sequence[Column] | None) -> Groups:
        how = self.groups_columns
        with naming("--groups-columns", GroupColumns, path, columns="levels"):
            return Groups.read(
                path,
                vertices,
                columns=levels,
                vertex=how.vertex,
                rest=how.rest,
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
        found = []
        for path, levels in sides:
            if path is None:
                return None
            with naming("--groups-columns", GroupColumns, path, columns="levels"):
                found.append(vertices_of_table(path, levels, how.vertex, how.text))
        return (found[0], found[1]) if bipartite else found[0]

    def names(self, space: Space) -> GroupNames | None:
        """What reads the names of the groups in queries; None without `--groups`.

        Raises:
            ParameterError, FileFormatError, GraphError: as `read`.
        """
        found = self.read(space)
        if found is None:
            return None
        return GroupNames(*(found if isinstance(found, tuple) else (found, found)))


@final
@dataclass(frozen=True, kw_only=True)
class Spending:
    """Where a command that can do without a store charges what it costs."""

    store: str | None = privacy_option(
        None,
        usual=True,
        help="File that records what was spent on the data; created if it does not exist.",
        metavar="FILE",
    )
    budget: Budget | None = BUDGET
    uncounted: bool = privacy_option(
        False, help="Charge no store, even if a store near the data is about them."
    )

    def check(self) -> Store | None:
        """The store to charge; call it before anything is read.

        Raises:
            ParameterError: options that do not fit together.
            LedgerError: no file name.
        """
        if self.store is not None:
            if self.uncounted:
                raise ParameterError("give --store or --uncounted, not both")
            return store_named(self.store, self.budget)
        if self.budget is not None:
            raise ParameterError("a budget is kept in a store: add, for example, --store mail.db")
        return None

    def remind(self, data: PrivateData | Subject, file: str) -> None:
        """Refuse to spend beside a store in the data's or the working folder that is about them.

        Raises:
            ParameterError: there is one, and it was not named.
        """
        if self.store is not None or self.uncounted:
            return
        folders = {Path(os.path.realpath(file)).parent, Path.cwd()}
        for found in stores_beside(sorted(folders), data):
            raise ParameterError(
                f"{found} keeps account of what is spent on these data: add --store {found}, "
                "or --uncounted to spend beside it"
            )


def store_named(path: str, budget: Budget | None = None, expect_head: str | None = None) -> Store:
    """The store that the options describe.

    Raises:
        ParameterError: no head.
        LedgerError: no file name.
    """
    if expect_head is not None:
        Head.parse(expect_head)
    found = Store(path, budget=budget, expect_head=expect_head)
    found.file  # noqa: B018  # refuses what is no file name
    return found


def kept_source(store: Store, name: str, kind: str) -> dict[str, Any]:
    """Where the files of a session are, and how they are read: what was told when it began.

    Raises:
        LedgerError: as `open_ledger`.
        ParameterError: no such session.
    """
    with closing(open_ledger(store)) as ledger, ledger.locked():
        known = {use.name: use.source for use in uses_of(ledger) if use.kind == kind}
    if name not in known:
        there = ", ".join(known) or "none"
        raise ParameterError(f"no session {name!r} in {store.path}; there is: {there}")
    return dict(known[name])


def still_there(given: str | None, remembered: str | None, what: str) -> str:
    """The file that is named, or else the one that a store remembers.

    Raises:
        ParameterError: nobody knows where it is.
    """
    found = given or remembered
    if found is None:
        raise ParameterError(f"the store does not know where the file is; name {what}")
    if given is None and not Path(found).is_file():
        raise ParameterError(f"the file is no longer at {found}; name {what}")
    return found
