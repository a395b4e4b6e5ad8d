"""Rows that belong to people: from all rows of a file to a graph in which nobody has too much.

Each owner's rows are bounded by themselves, so that adding or removing everything that one owner
has in the file changes the graph step by step: at most `at_most` steps, each of one pair by one.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal, Self, final, get_args

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatArray, IntegerVector, IntVector
from graphcuts_dp.errors import FileFormatError, GraphError, ParameterError
from graphcuts_dp.estimate.measurement import Reach
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.adjacency import AnyGraph, from_parts_on, kind_of_graph
from graphcuts_dp.graph.assemble import Ends, Options, RawEdges, numbered, numbered_labels
from graphcuts_dp.graph.edge_store import EdgeParts, unpacked_keys
from graphcuts_dp.graph.files import (
    FORMATS,
    VertexSource,
    ending_of,
    naming_file,
    public_vertices_of,
    read_raw,
)
from graphcuts_dp.graph.gathered import CodedText
from graphcuts_dp.graph.sources import rows_of
from graphcuts_dp.pairs.vertices import Arcs, Space, VertexSet, sets_in
from graphcuts_dp.privacy.guarantee import Protect
from graphcuts_dp.tables.columns import Columns

Counting = Literal["edges", "owners", "rows", "weight"]
COUNTINGS: tuple[Counting, ...] = get_args(Counting)
MOST_STEPS = 2**20  # of one owner: more would need noise that nothing shows through
_PART_BITS = 10  # weights are added up in units over 2^10, as integers
_BITS = np.int64(31)
_UNIT_NAMES = {"edges": "pairs", "owners": "pairs", "rows": "rows", "weight": "units of weight"}
Marks = npt.NDArray[np.uint64]
_NO_VERTICES = (
    "rows with owners need the public vertex set, since which vertices they name is private: pass "
    "vertices="
)


@final
class OwnedRows:
    """Rows of a file, each with its owner. Private: its repr shows only the schema.

    Made by `OwnedRows.read` and `OwnedRows.of`. Loops are dropped, unless there are two sides.

    Args:
        space: public: the vertices that rows may join.
        owners: number of the owner of each row, shape (rows,).
        marks: a number for each owner that follows from the owner's name alone, shape (owners,).
        ends: row numbers in the space of both ends of each row.
        weights: of each row, finite and not negative; for `counting="weight"` only.
        counting: what the graph of the rows tells of a pair: "edges": whether any owner has it;
            "owners": how many have it; "rows": how many rows name it; "weight": the sum of their
            weights, in whole units.
        unit: public: weight of one unit, > 0; for `counting="weight"` only.
        owner_is_tail: public: whether the owner of a row is its first end.

    Raises:
        ParameterError: another counting, or a unit that is none or not asked for.
    """

    def __init__(
        self,
        space: Space,
        owners: IntegerVector,
        marks: Marks,
        ends: tuple[IntegerVector, IntegerVector],
        weights: FloatArray | None = None,
        *,
        counting: Counting = "edges",
        unit: float = 1.0,
        owner_is_tail: bool = False,
    ) -> None:
        check_counting(counting, unit)
        self.space, self.counting, self.unit = space, counting, float(unit)
        self.owner_is_tail = owner_is_tail
        first, second = (np.asarray(end).astype(np.int64) for end in ends)
        if isinstance(space, VertexSet):
            first, second = np.minimum(first, second), np.maximum(first, second)
        keep = slice(None)
        if isinstance(space, VertexSet | Arcs):
            keep = first != second
        self.owners = np.asarray(owners)[keep].astype(np.int32)
        self.pairs: IntVector = (first << _BITS | second)[keep]
        self.weights = None if counting != "weight" or weights is None else weights[keep]
        self.marks = marks

    @classmethod
    def read(
        cls,
        path: PathLike,
        *,
        columns: Columns,
        counting: Counting = "edges",
        unit: float = 1.0,
        vertices: VertexSource | tuple[VertexSource, VertexSource] | None = None,
        public_vertices_from_file: bool = False,
        bipartite: bool = False,
        directed: bool = False,
        tell: Callable[[str], None] | None = None,
    ) -> Self:
        """Read private rows that each belong to one owner: a sender, a payer, a patient.

        Args:
            path: an edge list or a table (Parquet, Arrow); its ending tells which.
            columns: as for `Graph.read`; `owner` is needed, and may be the column of either end;
                `weight` is read for `counting="weight"` only.
            counting: as for `OwnedRows`.
            unit: likewise.
            vertices: the public vertex set, as for `Graph.read`. It must be given here.
            public_vertices_from_file: say that the vertices that occur in this file are public.
            bipartite: the graphs of the rows are of the class `BipartiteGraph`.
            directed: they are of the class `DirectedGraph`.
            tell: called with a sentence that names the columns that were read and ignored.

        Raises:
            FileFormatError: as `Graph.read`; no such column, a row without owner, or a file without
                columns.
            GraphError: `vertices` holds a label twice, or none.
            ParameterError: no vertices, no owner, or options that do not fit each other.
        """
        given = vertices is not None or public_vertices_from_file
        options = replace(
            _options(columns, vertices, given, counting, unit, bipartite, directed),
            public_vertices=public_vertices_from_file,
        )
        if not FORMATS[ending_of(path)].columns:
            raise FileFormatError(f"{path!s}: owners stand in a column of an edge list or a table")
        with naming_file(path):
            raw = read_raw(path, options)
            if tell is not None and raw.reading:
                tell(raw.reading)
            return cls._of(raw, options, counting, unit)

    @classmethod
    def of(
        cls,
        table: Any,
        *,
        columns: Columns,
        counting: Counting = "edges",
        unit: float = 1.0,
        vertices: VertexSource | tuple[VertexSource, VertexSource] | None = None,
        bipartite: bool = False,
        directed: bool = False,
    ) -> Self:
        """Make private rows, each with its owner, from a table of pandas, polars or the like.

        Args:
            table: ids are strings or integers, and none is missing.
            columns: as for `read`.
            counting: as for `OwnedRows`.
            unit: likewise.
            vertices: public vertex set: a count or labels; a pair of these if `bipartite`. It must
                be given.
            bipartite: as for `read`.
            directed: likewise.

        Raises:
            GraphError: no table, no such columns, missing ids, an end outside the vertex set, or
                weights that are negative or not finite.
            ParameterError: no vertices, no owner, or options that do not fit each other.
        """
        given = vertices is not None
        options = _options(columns, vertices, given, counting, unit, bipartite, directed)
        return cls._of(rows_of(table, options), options, counting, unit)

    @classmethod
    def _of(
        cls,
        raw: RawEdges,
        options: Options,
        counting: Counting,
        unit: float,
    ) -> Self:
        places = raw.columns
        assert places is not None  # noqa: S101  # of a format with columns
        if counting == "weight" and raw.weights is None:
            raise raw.error("there is no column of weights; name it by weight=, or count rows")
        tail = places.owner == places.source
        space, parts, _ = numbered(raw, options)
        own = raw.owners  # of rows that count
        if own is None:
            owners = np.array(parts.rows if tail else parts.columns)  # ends may be written over
            # Row numbers in the public vertex set: they follow from no row.
            marks = np.arange(max(map(len, sets_in(space))), dtype=np.uint64)
        else:
            owners, names = _numbers(own)
            marks = _marks(names)
        return cls(
            space,
            owners,
            marks,
            (parts.rows, parts.columns),
            parts.weights,
            counting=counting,
            unit=unit,
            owner_is_tail=tail,
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Public: of the matrix of their graph."""
        left, *right = sets_in(self.space)
        return len(left), len(right[0] if right else left)

    @property
    def weighted(self) -> bool:
        """Public: whether the graph of these rows has weights."""
        return self.counting != "edges"

    @property
    def once(self) -> bool:
        """Public: whether one owner changes a pair by at most one, whatever rows there are."""
        return self.counting in ("edges", "owners")

    @property
    def what(self) -> str:
        """Public: what the bound on an owner counts: "pairs", "rows" or "units of weight"."""
        return _UNIT_NAMES[self.counting]

    def bounded(self, *, at_most: int) -> AnyGraph:
        """The graph of these rows, of which no owner has more than `at_most`. Private.

        Without weights for "edges"; else with weights that are whole numbers and no cap, of which
        a change by one is a step (`hide_change=1`). Of an owner above the bound, of "edges" and
        "owners" `at_most` pairs are kept, and of "rows" as many rows; weights are all scaled down
        to `at_most` units together, and then, as those of others, rounded down to whole units.

        Args:
            at_most: public bound k on the pairs, rows or units of one owner, in 1..2^20.

        Raises:
            ParameterError: not such a number.

        Sensitivity: between a file and the same without one owner, the graphs are the ends of a
        path of at most k graphs more, each of which differs from the one before in one pair: an
        edge, or 1 of its weight. Proof: which of its rows an owner keeps, and how many units
        these weigh, depends on this owner's rows, the bound and public constants alone: rows are
        ordered by a hash of the owner's name, the pair, and which of equal rows it is, and no
        other owner's rows enter it; nor does the order of the file. So every other owner
        contributes the same with and without. A sum of contributions loses at most k ones; so
        does a union of sets of which one has at most k pairs. Rounding comes before adding up:
        the units of one owner are integers whose sum is at most k, since the sum of k s_i/t,
        each rounded down, with t >= sum s_i is; of sums that are rounded, one owner could change
        every one, by however little. Replacing an owner by another one is a path of at most 2 k
        steps. The hash needs no secret: this holds for every fixed order.
        """
        check_bound(at_most)
        owners, pairs, counts = self._kept(at_most)
        del owners
        rows, columns = unpacked_keys(pairs)
        weights = counts.astype(np.float64) if self.weighted else None
        return from_parts_on(
            self.space,
            EdgeParts(rows, columns, weights, owned=True),
            merge="sum",
            weight_cap=None,
            hide_change=1 if self.weighted else None,
            note=f"weights in units of {self.unit:g}" if self.counting == "weight" else "",
        )

    def contributions(self) -> IntVector:
        """How many pairs, rows or units each owner has that has any, in no order. Private.

        Units are rounded up: an owner is above a bound if and only if this number is.
        """
        owners, _, parts = self._merged(MOST_STEPS)
        if not len(owners):
            return np.zeros(0, dtype=np.int64)
        starts = _starts(owners)
        if self.once:
            return np.diff(starts, append=len(owners))
        found: IntVector = np.add.reduceat(parts, starts)
        return -(-found >> _PART_BITS) if self.counting == "weight" else found

    def _merged(self, at_most: int) -> tuple[IntegerVector, IntVector, IntVector]:
        """Each owner's pairs, sorted by owner, and of each how many rows, or parts of a unit."""
        parts = None
        if self.counting == "weight" and self.weights is not None:
            # One by one, so that no other row has a say in the last digit.
            with np.errstate(over="ignore"):
                units = np.minimum(self.weights / self.unit, float(at_most))
            parts = np.floor(units * 2.0**_PART_BITS).astype(np.int64)
        order = np.lexsort((self.pairs, self.owners))
        owners, pairs = self.owners[order], self.pairs[order]
        new = np.ones(len(order), dtype=np.bool_)
        new[1:] = (owners[1:] != owners[:-1]) | (pairs[1:] != pairs[:-1])
        starts = np.flatnonzero(new)
        if parts is None:
            counts = np.diff(starts, append=len(order))
            return owners[starts], pairs[starts], counts
        if not len(starts):
            return owners, pairs, parts
        sums: IntVector = np.add.reduceat(parts[order], starts)
        some = sums > 0
        most = np.minimum(sums[some], at_most << _PART_BITS)
        return owners[starts][some], pairs[starts][some], most

    def _kept(self, at_most: int) -> tuple[IntegerVector, IntVector, IntVector]:
        """What each owner keeps: owners, pairs, and how many steps of each. Private."""
        owners, pairs, counts = self._merged(at_most)
        if not len(owners):
            return owners, pairs, counts
        if self.counting == "weight":
            starts = _starts(owners)
            totals = np.add.reduceat(counts, starts)
            sizes = np.diff(starts, append=len(owners))
            shared = np.repeat(np.maximum(totals, at_most << _PART_BITS), sizes)
            # At most 2^30 parts times 2^20, in integers: exact.
            units = counts * at_most // shared
            some = units > 0
            return owners[some], pairs[some], units[some]
        copies = np.zeros(len(owners), dtype=np.int64)
        if self.counting == "rows":
            # More than at_most equal rows are never all kept.
            counts = np.minimum(counts, at_most)
            ends = np.cumsum(counts)
            copies = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
            owners, pairs = np.repeat(owners, counts), np.repeat(pairs, counts)
        ranks = _mixed(self.marks[owners], pairs, copies)
        order = np.lexsort((copies, pairs, ranks, owners))
        owners = owners[order]
        starts = _starts(owners)
        sizes = np.diff(starts, append=len(owners))
        kept = np.arange(len(owners)) - np.repeat(starts, sizes) < at_most
        chosen = pairs[order][kept]
        return owners[kept], chosen, np.ones(len(chosen), dtype=np.int64)

    def __repr__(self) -> str:
        sizes = " x ".join(str(len(side)) for side in sets_in(self.space))
        kind = ", directed" if isinstance(self.space, Arcs) else ""
        unit = f" in units of {self.unit:g}" if self.counting == "weight" else ""
        return f"OwnedRows(n={sizes}{kind}, {self.counting}{unit})"

    __hash__ = None  # type: ignore[assignment]  # a hash would be a fingerprint of the rows


PrivateData = AnyGraph | OwnedRows


def without_rows(data: PrivateData) -> PrivateData:
    """Data of the same schema without any row: all that is public of them, and nothing else.

    Raises:
        GraphError: neither a graph nor rows.
    """
    if isinstance(data, OwnedRows):
        return OwnedRows(
            data.space,
            np.zeros(0, dtype=np.int64),
            np.zeros(0, dtype=np.uint64),
            (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)),
            np.zeros(0),
            counting=data.counting,
            unit=data.unit,
            owner_is_tail=data.owner_is_tail,
        )
    if not isinstance(data, AnyGraph):
        raise GraphError("the first argument must be a Graph; make one by Graph.of, or read_graph")
    return data.without_edges()


def check_counting(counting: Any, unit: float) -> None:
    """Check what the graph of owned rows is to tell.

    Raises:
        ParameterError: another counting, or a unit that is none or not asked for.
    """
    if counting not in COUNTINGS:
        listed = ", ".join(f"{name!r}" for name in COUNTINGS)
        raise ParameterError(f"unknown counting {counting!r:.40}; it is one of {listed}")
    good = not isinstance(unit, bool) and isinstance(unit, int | float | np.number)
    if not good or not (np.isfinite(unit) and unit > 0):
        raise ParameterError("unit must be a positive, finite number: the weight of one step")
    if unit != 1 and counting != "weight":
        raise ParameterError("unit is for counting='weight'")


def check_bound(at_most: Any) -> None:
    """Check a bound on what one owner contributes.

    Raises:
        ParameterError: not a whole number in 1..2^20.
    """
    whole = isinstance(at_most, int | np.integer) and not isinstance(at_most, bool)
    if not whole or not 1 <= at_most <= MOST_STEPS:
        raise ParameterError(f"at_most must be a whole number from 1 to {MOST_STEPS:,}")


def _starts(owners: IntegerVector) -> IntVector:
    """Where each owner begins, of owners side by side."""
    return np.flatnonzero(np.concatenate([[True], owners[1:] != owners[:-1]]))


def _mixed(marks: Marks, pairs: IntVector, copies: IntVector) -> Marks:
    """A number for each row that looks random, and follows from these three alone.

    Source: the finaliser of SplitMix64 (Steele, Lea, Flood 2014), once for each.
    """
    found = marks
    for each in (pairs, copies):
        found = found ^ each.astype(np.uint64)
        found = found + np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            found = (found ^ (found >> np.uint64(shift))) * np.uint64(factor)
        found = found ^ (found >> np.uint64(31))
    return found


def reach_of(data: PrivateData) -> Reach | None:
    """What one owner's rows can change; None for a graph. Reads the schema only."""
    return Reach(data.once, data.owner_is_tail) if isinstance(data, OwnedRows) else None


def bounded_graph(data: PrivateData, protection: Protect) -> AnyGraph:
    """The graph of private data: of rows with owners, that in which each owner is bounded. Private.

    Between neighbours, files with and without the rows of one owner, it changes by at most
    `protection.steps` steps: see `OwnedRows.bounded`.

    Args:
        data: a graph, or rows with owners.
        protection: whom the promise is for.

    Raises:
        ParameterError: an owner shall be protected of a graph, which has none; or rows with owners
            shall be released for somebody else; or a bound out of range.
    """
    if isinstance(data, OwnedRows):
        if protection.kind != "owner":
            raise ParameterError(
                "rows with owners are released under protect='owner' with a bound at_most; for "
                "anything else read the file with read_graph"
            )
        return data.bounded(at_most=protection.steps)
    if protection.kind == "owner":
        raise ParameterError(
            "protect='owner' needs rows with owners: read the file with OwnedRows.read"
        )
    return data


def paired_graph(
    data: PrivateData, protect: str | Protect, *, at_most: int | None, epsilon: float
) -> tuple[AnyGraph, Protect]:
    """The graph of private data, for what is made of noisy pairs, and whom that can protect.

    Args:
        data: a graph, or rows with owners.
        protect: as users type it, see `Protect.of_pairs`.
        at_most: likewise.
        epsilon: that was asked for.

    Raises:
        GraphError: neither a graph nor rows.
        ParameterError: as `Protect.of_pairs` and `bounded_graph`.
    """
    if not isinstance(data, PrivateData):
        raise GraphError("the first argument must be a Graph; make one by Graph.of, or read_graph")
    protection = Protect.of_pairs(
        protect, at_most=at_most, others=max(data.shape) - 1, epsilon=epsilon
    )
    return bounded_graph(data, protection), protection


def _options(
    columns: Columns,
    vertices: Any,
    given: bool,
    counting: Counting,
    unit: float,
    bipartite: bool,
    directed: bool,
) -> Options:
    """The options of a reader of rows, checked."""
    check_counting(counting, unit)
    if not given:
        raise ParameterError(_NO_VERTICES)
    if columns.owner is None:
        raise ParameterError("owner= names the column that tells whose each row is; it is needed")
    if columns.period is not None:
        raise ParameterError("rows with owners have no periods; leave out period=")
    if columns.weight is not None and counting != "weight":
        raise ParameterError("weight= is for counting='weight'")
    kind_of_graph(bipartite=bipartite, directed=directed)
    return Options(
        columns=columns,
        vertices=public_vertices_of(vertices, bipartite),
        weighted=None if counting == "weight" else False,
        bipartite=bipartite,
        directed=directed,
    )


def _numbers(own: Ends) -> tuple[IntegerVector, Sequence[Any]]:
    """A number for each owner, and the names by number."""
    if isinstance(own, np.ndarray):
        distinct, numbers = np.unique(own, return_inverse=True)
        return numbers, distinct.tolist()
    coded = own if isinstance(own, CodedText) else numbered_labels(own)[0]
    return coded.codes, coded.names


def _marks(names: Sequence[Any]) -> Marks:
    """A number for each name that follows from it alone, whatever other names there are.

    Integers and their digits are one name: whether a file's names are all integers is not one
    owner's affair.
    """
    digests = (
        hashlib.blake2b(str(name).encode("utf-8", "surrogatepass"), digest_size=8) for name in names
    )
    joined = b"".join(each.digest() for each in digests)
    return np.frombuffer(joined, dtype="<u8").astype(np.uint64)
