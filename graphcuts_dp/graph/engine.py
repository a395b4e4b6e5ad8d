"""From private rows in a table of any engine to integers in cells: the bounded group-by.

A table is whatever narwhals takes: a frame of pandas, Polars or Arrow, a relation of duckdb, or a
lazy frame of Polars, PySpark, Dask or Ibis. The work is one expression that runs where the rows
lie; only integers of cells are collected. What a row adds follows from that row and public
constants alone, and what an owner adds from the owner's own rows, so that neither the order of the
rows, nor how they are split into parts, nor the engine has a say in any digit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, final

import narwhals as nw
import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import IntVector
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.estimate.measurement import STEPS
from graphcuts_dp.graph.engine_tables import (
    VIEW,
    ReadTable,
    Shape,
    collected,
    in_a_line,
    is_range,
    keys_of,
    least,
    read_table,
    rows_in,
)

MOST = 2**20  # rows, pairs or units of one owner
_MOST_UNITS = 2**41  # of one row whose weight is not bounded: its steps are exact in 64-bit floats
_MOST_TOP = 2**61  # of what is divided by an owner's total
# In duckdb: the total of each owner, and all parts, with those of owners within the bound merged.
# The total goes along only where it is used, since each column of 10^8 rows takes time.
# (A hash of two columns is that of one shifted by that of the other, by which owners would keep
# alike; so it is hashed again.)
_MERGED = """
with totals as materialized (
    select {who}, {sum} as total from {rows} group by {who}
), above as materialized (
    select * from totals where total > {bound}
), merged as materialized (
    select {apart}, {carried}cell, {sum} as amount
    from {rows} as part left join above on {same}
    group by {apart}, {carried}cell
), """
_SCALED = """bounded as materialized (
    select {who}, {heavy} as heavy, cell, amount as had, (case when {heavy}
        then least(amount, {most}) * {steps} // total else amount * {unit} end)
        // {whole} * {whole} as amount
    from merged
)"""
_KEPT = """bounded as materialized (
    select {who}, {heavy} as heavy, cell, amount as had,
        greatest(least(amount, {bound} - (reached - amount)), 0) * {unit} as amount
    from (
        select *, sum(amount) over (
            partition by {who} order by hash(hash({named}, cell)), cell
            rows unbounded preceding
        )::bigint as reached
        from merged where {heavy}
    )
    union all select {who}, {heavy} as heavy, cell, amount as had, amount * {unit} as amount
    from merged where not {heavy}
)"""
_SUMS = """
select cell::bigint as cell, sum(amount)::bigint as amount from bounded group by cell
union all select -1, coalesce(max(largest), 0) from (
    select sum(amount)::bigint as largest from bounded where heavy group by {who}
    union all select total * {unit} from totals as part anti join above on {same}
)
union all select -2,
    (select coalesce(sum(total), 0)::bigint from above)
    - (select coalesce(sum(had), 0)::bigint from bounded where heavy)
"""


@final
@dataclass(frozen=True)
class Cells:
    """How much is in each cell, in steps, where there is anything. Private.

    Attributes:
        first: numbers of the first ends among their labels; the smaller ones of unordered pairs.
        second: likewise.
        period: numbers of the periods; 0 without.
        steps: > 0. Sorted by period, first and second, each once.
    """

    first: IntVector
    second: IntVector
    period: IntVector
    steps: IntVector

    @classmethod
    def none(cls) -> Self:
        """The cells of no row."""
        return cls(*(np.zeros(0, dtype=np.int64) for _ in range(4)))

    def __repr__(self) -> str:
        return "Cells(private)"


def cells(table: Any, shape: Shape) -> Cells:
    """What is in each cell, when nobody is bounded. Private.

    Rows that cannot be used are left out, whether or not `check_rows` would refuse them. Weights
    are rounded row by row to the nearest step.

    Sensitivity: one row changes one cell, by at most 1024 steps; of weights by any number.

    Raises:
        GraphError: as `check_rows`, or sums that are too large for 64-bit integers.
    """
    with in_a_line():
        reading = read_table(table, shape)
        keys = keys_of(reading)
        if shape.counting == "weight":
            rows = rows_in(reading, _MOST_UNITS)
            total = nw.col("amount").cast(nw.Float64).sum().fill_null(0.0)
            if collected(rows.select(total))["amount"][0] > 2.0**62:
                raise GraphError("the weights are too large for this unit; pass a larger unit=")
            return _coded(_summed(rows, *keys), reading)
        rows = _parts(reading, MOST) if shape.counting == "owners" else rows_in(reading, MOST)
        found = rows.group_by(*keys).agg(nw.len().alias("amount"))
        return _coded(found.with_columns(nw.col("amount").cast(nw.Int64) * STEPS), reading)


def scaled_cells(table: Any, shape: Shape, *, at_most: int, whole: bool = False) -> Cells:
    """What is in each cell, when everybody's cells are scaled down to a sum of at most C. Private.

    Let c_i >= 0 be what an owner has in cell i (a period and a pair): rows, 1 for
    `counting="owners"`, or steps of weight, in which each row counts at most C units; T their sum,
    and B the bound: C rows or pairs, or 1024 C steps. An owner with T <= B adds c_i to each cell,
    another one floor(1024 C c_i / T) steps; or whole rows and units, rounded down for each owner.

    Sensitivity: one owner changes all cells of all periods together by at most 1024 C steps in L1.
    Proof: every owner's vector is a function of that owner's rows, C and public constants alone,
    and the cells are the sum of these vectors. So without one owner the cells are less by exactly
    that owner's vector, whose entries are >= 0. If T <= B its sum is T, which is at most 1024 C
    steps. If T > B it is the sum of floor(1024 C c_i / T) <= 1024 C (sum of c_i) / T = 1024 C.
    Rounding an owner's entries down to whole units makes their sum only less. With
    `shape.per_period` all this is said of the cells of each period.
    Replacing an owner changes at most twice that.
    64-bit integers are exact: c_i is taken as at most 2^61 / (1024 C), which makes the sum only
    less; T < 2^62 as long as there are less than 2^32 rows; and the quotient is found in floats
    and put right in integers, since not every engine divides integers exactly.

    Args:
        table: rows with owners.
        shape: how rows become cells.
        at_most: C, in 1..2^20.
        whole: whether what an owner adds to a cell is rounded down to whole units.

    Raises:
        ParameterError: another bound, no owners, or `counting="edges"`, which cannot be scaled.
        GraphError: as `check_rows`; or the engine returned an owner who is above the bound.
    """
    check_at_most(at_most)
    if shape.counting == "edges":
        raise ParameterError(
            "counting='edges' cannot be scaled: choose rows of each owner, or count owners"
        )
    with in_a_line():
        reading = read_table(table, shape)
        parts = _parts(reading, at_most)
        if reading.frame.implementation is nw.Implementation.DUCKDB:
            return _by_duckdb(parts, reading, at_most, _SCALED, whole=whole)
        light, heavy = _split(parts, reading, at_most)
        bound = at_most * STEPS
        amount = least(nw.col("amount"), nw.lit(_MOST_TOP // bound))
        scaled = heavy.with_columns(_quotient(amount * bound, nw.col("total")).alias("amount"))
        if whole:
            light = _summed(light, *_who_and_where(reading))
            light, scaled = (
                each.with_columns((nw.col("amount") // STEPS * STEPS).alias("amount"))
                for each in (light, scaled)
            )
        return _bounded(light, scaled, reading, at_most)


def kept_cells(table: Any, shape: Shape, *, at_most: int) -> Cells:
    """What is in each cell, when at most k rows of each owner count, whole ones. Private.

    Of an owner with more than k rows, or for "owners" and "edges" pairs in periods, k are kept:
    the cells are put in the order of a hash of the owner and the cell, and filled in it until k
    rows are taken. Others keep all. Windows are made over owners above k only.

    Sensitivity: one owner changes all cells of all periods together by at most 1024 k steps in L1.
    Proof: which rows are kept depends on the owner's own rows, k and a fixed hash alone, so others
    keep the same with and without. A sum loses the owner's vector, whose sum is at most 1024 k; a
    union ("edges") of sets of which one has at most k pairs loses at most k, 1024 steps each.

    Args:
        table: a relation of duckdb, of rows with owners.
        shape: how rows become cells; not weights.
        at_most: k, in 1..2^20.

    Raises:
        ParameterError: another bound, no owners, another engine, or `counting="weight"`.
        GraphError: as `scaled_cells`.
    """
    check_at_most(at_most)
    if shape.counting == "weight":
        raise ParameterError("weights are bounded by scaling, since rows of weight are no unit")
    with in_a_line():
        reading = read_table(table, shape)
        if reading.frame.implementation is not nw.Implementation.DUCKDB:
            raise ParameterError(
                "rows are chosen by duckdb alone: bound by scaling, or hand over a Parquet file or "
                "a relation of duckdb"
            )
        return _by_duckdb(_parts(reading, at_most), reading, at_most, _KEPT)


def clipped_cells(table: Any, shape: Shape, *, at_most: int) -> Cells:
    """The sum of weights in each cell, of which each row counts at most C units. Private.

    Sensitivity: one row changes one cell, by at most 1024 C steps; so one row changes all cells of
    all periods together by that in L1, and a row that moves by twice that. What a row adds is
    floor(1024 min(w / unit, C) + 1/2), in 64-bit floats, which depends on no other row.

    Raises:
        ParameterError: a bound outside 1..2^20, or not weights.
        GraphError: as `check_rows`.
    """
    check_at_most(at_most)
    if shape.counting != "weight":
        raise ParameterError("clipping is for counting='weight'; a row counts as one row")
    with in_a_line():
        reading = read_table(table, shape)
        return _coded(_summed(rows_in(reading, at_most), *keys_of(reading)), reading)


def contributions(table: Any, shape: Shape) -> IntVector:
    """Pairs, rows or units of each owner that has any, in no order. Private.

    Of pairs (`counting` "edges" and "owners") each counts once in every period. Units are rounded
    up; a row counts at most 2^20 of them. So an owner is above a bound if and only if this is.

    Raises:
        ParameterError: no owners.
        GraphError: as `check_rows`.
    """
    with in_a_line():
        totals = _totals(_parts(read_table(table, shape), MOST), shape.bounded).select("total")
        found = np.sort(collected(totals)["total"].astype(np.int64))
    found = found[found > 0]
    return -(-found // STEPS) if shape.counting == "weight" else found


def check_at_most(at_most: Any) -> None:
    """Check a bound on what one owner or row counts.

    Raises:
        ParameterError: not a whole number in 1..2^20.
    """
    whole = isinstance(at_most, int | np.integer) and not isinstance(at_most, bool)
    if not whole or not 1 <= at_most <= MOST:
        raise ParameterError(f"at_most must be a whole number from 1 to {MOST:,}")


def _parts(reading: ReadTable, most_units: int) -> nw.LazyFrame[Any]:
    """Owner, cell and amount: rows, distinct pairs, or steps of weight."""
    shape = reading.shape
    if shape.owner is None:
        raise ParameterError("bounding owners needs the column of owners; name it by owner=")
    rows = rows_in(reading, most_units)
    if shape.counting in ("edges", "owners"):
        rows = rows.group_by(*_who_and_where(reading)).agg(nw.len().alias("copies")).drop("copies")
    if shape.counting != "weight":
        rows = rows.with_columns(nw.lit(1, nw.Int64).alias("amount"))
    return rows


def _who_and_where(reading: ReadTable) -> tuple[str, ...]:
    """The columns of an owner's cells, each once."""
    return tuple(dict.fromkeys((*reading.shape.bounded, *keys_of(reading))))


def _totals(parts: nw.LazyFrame[Any], who: Sequence[str]) -> nw.LazyFrame[Any]:
    return _summed(parts, *who).rename({"amount": "total"})


def _summed(parts: nw.LazyFrame[Any], *keys: str) -> nw.LazyFrame[Any]:
    """The sum of the amounts for each of the keys, as 64-bit integers: duckdb makes 128 bits."""
    amount = nw.col("amount")
    return parts.group_by(*keys).agg(amount.sum()).with_columns(amount.cast(nw.Int64))


def _split(
    parts: nw.LazyFrame[Any], reading: ReadTable, at_most: int
) -> tuple[nw.LazyFrame[Any], nw.LazyFrame[Any]]:
    """Parts of owners within the bound, and merged ones of others, with the owner's total."""
    shape = reading.shape
    who = list(shape.bounded)
    above = _totals(parts, who).filter(nw.col("total") > _bound(shape, at_most))
    light = parts.join(above, on=who, how="anti")
    heavy = parts.join(above, on=who, how="inner")
    heavy = _summed(heavy, "total", *_who_and_where(reading))  # an owner has one total
    if shape.counting != "weight":
        light = light.with_columns((nw.col("amount") * STEPS).alias("amount"))
    return light, heavy


def _bound(shape: Shape, at_most: int) -> int:
    """The bound on an owner's total, which is in rows or pairs, or in steps of weight."""
    return at_most * STEPS if shape.counting == "weight" else at_most


def _quotient(top: nw.Expr, bottom: nw.Expr) -> nw.Expr:
    """floor(top / bottom) of integers, top >= 0, bottom > 0, both at most 2^62, quotient < 2^31.

    Floats miss it by at most one, which is put right in integers.
    """
    near = (top / bottom).floor().cast(nw.Int64)  # a division in floats
    rest = top - near * bottom
    down = nw.when(rest < 0).then(nw.lit(-1, nw.Int64)).otherwise(nw.lit(0, nw.Int64))
    return near + nw.when(rest >= bottom).then(nw.lit(1, nw.Int64)).otherwise(down)


def _bounded(
    light: nw.LazyFrame[Any], heavy: nw.LazyFrame[Any], reading: ReadTable, at_most: int
) -> Cells:
    """The cells of bounded parts, after a look at what the engine says of each owner."""
    columns = (*_who_and_where(reading), "amount")
    parts = nw.concat([light.select(*columns), heavy.select(*columns)], how="vertical")
    above = _summed(parts, *reading.shape.bounded).filter(nw.col("amount") > at_most * STEPS)
    _check_engine(collected(above.select(nw.len().alias("count")))["count"][0] == 0)
    return _coded(_summed(parts, *keys_of(reading)), reading)


def _check_engine(good: bool) -> None:
    """Refuse what an engine returned for which its own figures say that it is wrong.

    Engines have had windows and joins that were wrong without an error. So the largest contribution
    of an owner is asked for after the bounding, and must be within the bound.
    """
    if not good:
        raise GraphError(
            "the engine returned an owner above the bound, which is a fault of the engine: use "
            "another version of it"
        )


def _by_duckdb(
    parts: nw.LazyFrame[Any], reading: ReadTable, at_most: int, way: str, *, whole: bool = False
) -> Cells:
    """The cells of owners bounded one way, by SQL that goes over the rows twice and no more.

    Owners within the bound are merged at once, unless what each of them adds is rounded to whole
    units: only the parts of others are kept apart. Two rows
    more tell what `_check_engine` wants to know: the largest contribution of an owner, of those
    within the bound as it was counted, of others after the bounding; and how much of what the
    others have was not seen as theirs, which must be nothing.
    """
    shape = reading.shape
    who, weights = shape.bounded, shape.counting == "weight"
    query = (_MERGED + way + _SUMS).format(
        rows=VIEW,
        who=", ".join(who),
        apart=", ".join(f"{'part' if whole else 'above'}.{name}" for name in who),
        same=" and ".join(f"part.{name} = above.{name}" for name in who),
        carried="" if way is _KEPT else "total, ",
        heavy="owner is not null" if way is _KEPT else "total is not null",
        named="owner" if shape.mark is None else "mark",
        sum="sum(amount)::bigint" if weights else "count(*)",
        bound=_bound(shape, at_most),
        unit=1 if weights else STEPS,
        whole=STEPS if whole else 1,
        steps=at_most * STEPS,
        most=_MOST_TOP // (at_most * STEPS),
    )
    columns = collected(nw.from_native(parts.to_native().query(VIEW, query)))
    largest, unseen = (columns["amount"][columns["cell"] == mark] for mark in (-1, -2))
    _check_engine(bool(largest <= at_most * STEPS and unseen == 0))
    columns["amount"][columns["cell"] < 0] = 0  # of no cell
    return _numbered(columns, reading)


def _coded(found: nw.LazyFrame[Any], reading: ReadTable) -> Cells:
    """Cells whose amounts are in steps, collected, with numbers in place of labels."""
    return _numbered(collected(found.select(*keys_of(reading), "amount")), reading)


def _numbered(columns: dict[str, npt.NDArray[Any]], reading: ReadTable) -> Cells:
    """Cells of columns, which are taken from the dictionary, so that they go when they are used."""
    shape, known = reading.shape, reading.known
    steps = columns.pop("amount").astype(np.int64, copy=False)
    if shape.counting == "edges":
        steps = np.minimum(steps, STEPS)
    some = steps > 0
    if "cell" in columns:  # which sorts as periods and ends do
        cell = columns.pop("cell")[some]
        order = np.argsort(cell)
        cell, steps = cell[order].astype(np.int64, copy=False), steps[some][order]
        del some, order
        left, right = (len(side) for side in shape.labels)
        period = cell // (left * right)
        first = cell // right
        np.subtract(cell, first * right, out=cell)
        first -= period * left
        return Cells(first, cell, period, steps)
    places = {name: _places(columns[name], known[name]) for name in known}
    first, second = places["first"], places["second"]
    period = places.get("period", np.zeros_like(first))
    if shape.one_set and shape.unordered:  # text has another order
        first, second = np.minimum(first, second), np.maximum(first, second)
    order = np.lexsort((second[some], first[some], period[some]))
    return Cells(*(each[some][order] for each in (first, second, period, steps)))


def _places(values: npt.NDArray[Any], known: Sequence[Any]) -> IntVector:
    """The place of each value among the known ones."""
    if is_range(known):  # the engine has told places already
        return values.astype(np.int64)
    places = {entry: place for place, entry in enumerate(known)}
    return np.fromiter((places[value] for value in values.tolist()), np.int64, len(values))
