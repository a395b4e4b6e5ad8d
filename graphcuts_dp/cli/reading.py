"""What commands read: a private graph or rows, public groups beside it, and the store to charge."""

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, cast, final

from graphcuts_dp.cli.console import say
from graphcuts_dp.cli.options import naming
from graphcuts_dp.errors import FileFormatError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph, kind_of_graph
from graphcuts_dp.graph.assemble import GivenVertices
from graphcuts_dp.graph.edge_store import Merge
from graphcuts_dp.graph.files import describe_reading, public_vertices_of
from graphcuts_dp.graph.owned_rows import (
    COUNTINGS,
    Counting,
    OwnedRows,
    PrivateData,
    bounded_graph,
    without_rows,
)
from graphcuts_dp.ledger.ledger import Head
from graphcuts_dp.ledger.opening import Budget, Store, Subject, stores_beside
from graphcuts_dp.options import INPUT, PRIVACY, Option, option
from graphcuts_dp.pairs.groups import GroupNames, Groups
from graphcuts_dp.pairs.vertices import Space, VertexSet, sets_in, vertex_sets
from graphcuts_dp.privacy.guarantee import EDGE, PROTECTIONS, Protect
from graphcuts_dp.tables.columns import Column, Columns, column_of, delimiter_of

PROTECT = Option(help="Whom the promise protects; edges if omitted.", of=PROTECTIONS, group=PRIVACY)
BUDGET = "Of a new store: cap on all uses of the data together."
Whom = Annotated[Protect, PROTECT]
StoreBudget = Annotated[Budget | None, Option(help=BUDGET, of=Budget, group=PRIVACY)]
KINDS = ("undirected", "directed", "bipartite")
_AS_READ: Columns = option(
    group=INPUT,
    default=Columns(),
    help="How to read the columns of an edge list or a table.",
    of=Columns,
)


@final
@dataclass(frozen=True, kw_only=True)
class Reading:
    """How to read a graph file."""

    columns: Columns = _AS_READ
    vertices: str | None = option(
        group=INPUT,
        default=None,
        help="Public vertex set: a count, or a file with one label on each line; of two sides "
        "two of these with a comma between.",
        metavar="COUNT|FILE",
    )
    public_vertices_from_file: bool = option(
        group=INPUT,
        default=False,
        help="Declare that the vertices in the file are public. Without this or --vertices they "
        "may reveal edges, and the guarantee says so.",
    )
    kind: str = option(
        group=INPUT,
        default=KINDS[0],
        help="Of the graph. Directed: from the first column to the second. Bipartite: first column "
        "left, second right.",
        choices=KINDS,
    )
    ignore_weights: bool = option(
        group=INPUT, default=False, help="Keep only which pairs are edges."
    )
    weight_cap: float | None = option(
        group=INPUT,
        default=None,
        help="Public bound on a weight; larger ones are clipped. Hides whole edges. Private "
        "weights need it, or --hide-change.",
    )
    hide_change: float | None = option(
        group=INPUT,
        default=None,
        help="Instead of a cap: 1 hides a change of a weight by at most 1, but not that there "
        "is a heavier edge.",
    )
    merge: str = option(
        group=INPUT,
        default="max",
        help="Weight of an edge that several rows list: their largest, smallest or sum.",
        choices=("max", "min", "sum"),
    )
    counting: str = option(
        group=INPUT,
        default="edges",
        help="With --columns owner=: what counts for a pair of vertices. edges: whether there is a "
        "row; owners: how many have one; rows; or their weight.",
        choices=COUNTINGS,
    )
    unit: float = option(
        group=INPUT,
        default=1.0,
        help="Of --counting weight: the weight of one step; --protect owner:at-most= counts steps.",
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
        if self.columns.owner is not None:
            raise ParameterError("--columns owner= is not for this command; it reads graphs")
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

    def read_rows(self, path: str, *, tell: Callable[[str], None] | None = None) -> OwnedRows:
        """Read rows with owners.

        Raises:
            GraphCutsError: as `OwnedRows.read`.
        """
        given = (self.weight_cap, self.hide_change, self.ignore_weights or None)
        if any(each is not None for each in given) or self.merge != "max":
            raise ParameterError(
                "--weight-cap, --hide-change, --ignore-weights and --merge are not for rows with "
                "owners; see --counting"
            )
        with naming("--columns", Columns, path):
            return OwnedRows.read(
                path,
                columns=self.columns,
                counting=cast(Counting, self.counting),
                unit=self.unit,
                vertices=self._vertices(),
                public_vertices_from_file=self.public_vertices_from_file,
                bipartite=self.bipartite,
                directed=self.directed,
                tell=tell,
            )

    def read_data(self, path: str) -> PrivateData:
        """Read a graph, or rows with owners where a column of these is named.

        Raises:
            GraphCutsError: as `read` and `read_rows`.
        """
        return self.read(path) if self.columns.owner is None else self.read_rows(path)

    def read_private(self, path: str, protect: Protect = EDGE) -> tuple[PrivateData, AnyGraph]:
        """Read what will be released, and say how it was read; with its graph, without any edge.

        Raises:
            GraphCutsError: as `read` and `read_rows`.
            ParameterError: weights whose bound nobody has given; owners that are not to be
                protected, or the other way round.
        """
        owner = self.columns.owner is not None
        if owner is not (protect.kind == "owner"):
            raise ParameterError(
                "--columns owner=COLUMN is for --protect owner:at-most=K"
                if owner
                else "--protect owner needs --columns owner=COLUMN, which names whose a row is"
            )
        if owner:
            rows = self.read_rows(path, tell=note)
            note(
                f"Of each owner at most {protect.steps:,} {rows.what} count; how much is left out "
                "is not told: flows --contributions tells it, for a part of the budget."
            )
            if rows.counting == "weight":
                note(f"Weights come out in units of {rows.unit:g}.")
            return rows, bounded_graph(without_rows(rows), protect)
        graph = self.read(path, tell=note)
        graph.check_bounded()
        for text in describe_reading(
            vertices_given=self.vertices is not None or self.public_vertices_from_file,
            inferred=any(vertices.inferred for vertices in sets_in(graph.space)),
            weighted=graph.weighted,
            capped=self.weight_cap is not None,
            merge=cast(Merge, self.merge),
            bipartite=self.bipartite,
            directed=self.directed,
        ):
            note(text)
        return graph, bounded_graph(without_rows(graph), protect)

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

    levels: list[Column] | None = option(
        group=INPUT,
        default=None,
        help="Columns of the groups, coarsest first, as region/office.",
        parse=_levels,
    )
    vertex: Column | None = option(
        group=INPUT,
        default=None,
        help="Column of the vertices: a name, or a number from 1.",
        parse=column_of,
    )
    right_levels: list[Column] | None = option(
        group=INPUT, default=None, help="Columns of --right-groups, likewise.", parse=_levels
    )
    rest: str | None = option(
        group=INPUT, default=None, help="Group of all vertices that have none."
    )
    unknown: str = option(
        group=INPUT,
        default="error",
        help="Whether rows about no vertex are left out.",
        choices=("error", "ignore"),
    )
    header: bool | None = option(
        group=INPUT, default=None, help="Whether the first line names the columns."
    )
    delimiter: str | None = option(
        group=INPUT,
        default=None,
        help="What separates columns: a character, tab, blank or comma.",
        parse=delimiter_of,
    )
    encoding: str | None = option(group=INPUT, default=None, help="Of the text, such as cp1252.")


@dataclass(frozen=True, kw_only=True)
class GroupReading:
    """Public groups of vertices. Not final: `GroupFile` adds the file."""

    groups_columns: GroupColumns = option(
        group=INPUT,
        default=GroupColumns(),
        help="How to read the columns of the groups.",
        of=GroupColumns,
    )
    right_groups: str | None = option(
        group=INPUT,
        default=None,
        help="Public groups of the right side, of a bipartite graph.",
        metavar="FILE",
    )

    def read_from(self, path: str, space: Space) -> Groups | tuple[Groups, Groups]:
        """The groups of the vertices of pairs; where there are two sides, those of both.

        Raises:
            ParameterError: options that do not fit together.
            FileFormatError, GraphError: as `Groups.read`.
        """
        left, right = vertex_sets(space)
        if left is not right and self.right_groups is None:
            raise ParameterError("a bipartite graph needs --right-groups, too")
        if left is right and self.right_groups is not None:
            raise ParameterError("--right-groups is for --kind bipartite")
        found = self._side(path, left, self.groups_columns.levels)
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
                header=how.header,
                delimiter=how.delimiter,
                encoding=how.encoding,
            )


@final
@dataclass(frozen=True, kw_only=True)
class GroupFile(GroupReading):
    """Public groups of vertices, if there are any."""

    groups: str | None = option(
        group=INPUT,
        default=None,
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
        if self != GroupFile():
            raise ParameterError("--groups-columns and --right-groups need --groups FILE")
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


@final
@dataclass(frozen=True, kw_only=True)
class Spending:
    """Where a command that can do without a store charges what it costs."""

    store: str | None = option(
        group=PRIVACY,
        default=None,
        help="File that records what was spent on the data; created if it does not exist.",
        metavar="FILE",
    )
    budget: Budget | None = option(None, help=BUDGET, of=Budget, group=PRIVACY)
    uncounted: bool = option(
        group=PRIVACY,
        default=False,
        help="Charge no store, even if a store near the data is about them.",
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


def check_apart(outputs: Iterable[str | None], *inputs: str | None) -> None:
    """Check that nothing which is read would be written over, even where replacing is allowed.

    Raises:
        FileFormatError: an output is an input.
    """
    kept = {os.path.realpath(path) for path in inputs if path is not None}
    for path in outputs:
        if path is not None and os.path.realpath(path) in kept:
            raise FileFormatError(f"{path} is read by this command; write to another file")
