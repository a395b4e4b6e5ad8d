"""Add up coded rows to integers in cells: the bounded group-by, in SQL of DuckDB.

What a row adds follows from that row and public constants alone, and what a user adds from the
user's own rows, so no digit depends on the order of the rows or on how they are split into parts.
Each statement goes over the rows at most twice.

Read `scaled_cells` and `kept_cells` first: their proofs say what a bound is.
"""

from dataclasses import dataclass, replace
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import IntegerVector, IntVector
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.graph.row_store import hiding_rows_in_errors
from graphcuts_dp.schema.counting import STEPS, Counting

MOST = 2**20  # the largest bound: rows, pairs or units of one user
_MOST_UNITS = 2**41  # units of one row without a bound: its steps are exact in 64-bit floats
_MOST_TOP = 2**61  # the largest dividend of a division by a user's total: 64 bits hold it
_MOST_SUM = 2.0**62  # the largest sum of weights in one cell, in steps, for the same reason
_MOST_CELLS = 2**63  # numbers of cells are 64-bit integers
_TABLE = "rows_of_graphcuts_dp"  # the name of the coded rows within one query
# Codes instead of cell numbers in the rows that a bounded query appends; see `_bounded_cells`.
_LARGEST = -1  # the largest contribution of a user
_MISSED = -2  # the amount of users above the bound that the join missed
_LEFT_OUT = -3  # the amount that bounding leaves out
# Statements of a bounded query: `_MERGED`, then `_SCALED` or `_KEPT`, then `_SUMS`, and perhaps
# `_LEFT_OUT_SUM`. `_MERGED` computes the total of each user, and merges the rows of users within
# the bound by cell. The column of totals is there only if it is used, since each column of 10^8
# rows takes time.
_MERGED = """
with totals as materialized (
    select {who}, {sum} as total from {rows} group by {who}
), above as materialized (
    select * from totals where total > {bound}
), merged as materialized (
    select {group_columns}, {total_column}cell, {sum} as amount
    from {rows} as part left join above on {join_on_user}
    group by {group_columns}, {total_column}cell
), """
_SCALED = """bounded as materialized (
    select {who}, {above_bound} as above_bound, cell, amount as contributed,
        (case when {above_bound} then least(amount, {most}) * {steps} // total
            else amount * {unit} end) // {whole} * {whole} as amount
    from merged
)"""
# DuckDB combines the hashes of two columns by a shift, so that different users would keep the same
# cells; so the result is hashed again.
_KEPT = """bounded as materialized (
    select {who}, {above_bound} as above_bound, cell, amount as contributed,
        greatest(least(amount, {bound} - (reached - amount)), 0) * {unit} as amount
    from (
        select *, sum(amount) over (
            partition by {who} order by hash(hash({hashed_key}, cell)), cell
            rows unbounded preceding
        )::bigint as reached
        from merged where {above_bound}
    )
    union all select {who}, {above_bound} as above_bound, cell, amount as contributed,
        amount * {unit} as amount
    from merged where not {above_bound}
)"""
_SUMS = """
select cell::bigint as cell, sum(amount)::bigint as amount from bounded group by cell
union all select {largest_code}, coalesce(max(largest), 0) from (
    select sum(amount)::bigint as largest from bounded where above_bound group by {who}
    union all select total * {unit} from totals as part anti join above on {join_on_user}
)
union all select {missed_code},
    (select coalesce(sum(total), 0)::bigint from above)
    - (select coalesce(sum(contributed), 0)::bigint from bounded where above_bound)
"""
# What bounding leaves out of users above the bound, each of whom counts at most {most_left_out}.
_LEFT_OUT_SUM = """
union all select
    {left_out_code}, coalesce(sum(least(total * {unit} - kept, {most_left_out})), 0)::bigint
from above as part join (
    select {who}, sum(amount) as kept from bounded where above_bound group by {who}
) as above on {join_on_user}
"""


@final
@dataclass(frozen=True)
class Cells:
    """The contents of all cells that are not empty, in grid units ("steps"). Private.

    Attributes:
        first: numbers of the first endpoints; the smaller ones of unordered pairs.
        second: numbers of the second endpoints.
        period: numbers of the periods; 0 without periods.
        steps: what is in each cell, > 0. Cells are sorted by period, first and second endpoint, and
            each is there once.
        left_out: steps that bounding users has left out, see `most_left_out`; None if they were not
            counted.
    """

    first: IntVector
    second: IntVector
    period: IntVector
    steps: IntVector
    left_out: int | None = None

    @classmethod
    def none(cls) -> Self:
        """Return no cells, as for data without rows."""
        first, second, period, steps = (np.zeros(0, dtype=np.int64) for _ in range(4))
        return cls(first, second, period, steps)

    def of_period(self, number: int) -> Self:
        """Return the cells of one period as cells without periods."""
        is_in_period = self.period == number
        columns = (self.first, self.second, np.zeros_like(self.period), self.steps)
        return type(self)(*(column[is_in_period] for column in columns))

    def __repr__(self) -> str:
        return "Cells(private)"


@final
@dataclass(frozen=True, kw_only=True)
class Shape:
    """The rule by which coded rows become cells. Public.

    A coded row has the number of its cell, (period * left + first) * right + second, and perhaps a
    `user_key`, a `mark` and a `weight`.

    Attributes:
        counting: what a cell counts of a pair in a period: "edges": whether there is a row;
            "users": how many users have one; "rows": how many there are; "weight": the sum of
            their weights in units.
        left: number of vertices that first endpoints may be.
        right: number of vertices that second endpoints may be.
        periods: number of periods; 1 without periods.
        one_set: whether both endpoints are of one set.
        loops: whether rows whose endpoints are equal count; for one vertex set only.
        has_users: whether each row has a user.
        has_marks: whether the numbers of users depend on other users. A column `mark` then has
            numbers that depend on the user's name alone, by which rows are chosen.
        per_period: whether users are bounded in each period by itself.
        weight_unit: weight of one unit, > 0.
    """

    counting: Counting
    left: int
    right: int
    periods: int = 1
    one_set: bool = False
    loops: bool = True
    has_users: bool = False
    has_marks: bool = False
    per_period: bool = False
    weight_unit: float = 1.0

    def __post_init__(self) -> None:
        if self.cell_count >= _MOST_CELLS:
            raise GraphError("there are too many cells; name fewer vertices or periods")

    @property
    def cell_count(self) -> int:
        """Number of cells."""
        return self.left * self.right * self.periods

    @property
    def user_columns(self) -> tuple[str, ...]:
        """Names of the columns that identify whom the bound is for: a user, or one in a period."""
        mark = ("mark",) if self.has_marks else ()
        return ("user_key", *mark, *(("period",) if self.per_period else ()))

    def cell_numbers(
        self,
        first: IntegerVector,
        second: IntegerVector,
        period: IntVector | None,
        *,
        unordered: bool,
    ) -> IntVector:
        """Return the number of the cell of each row.

        Args:
            first: row numbers of first endpoints.
            second: row numbers of second endpoints.
            period: numbers of periods, none of which is negative; None without.
            unordered: whether (a, b) and (b, a) are one pair.
        """
        if unordered:
            first, second = np.minimum(first, second), np.maximum(first, second)
        row = first.astype(np.int64) if period is None else period * self.left + first
        cell: IntVector = row * self.right + second
        return cell


def unbounded_cells(table: Any, shape: Shape) -> Cells:
    """Return the contents of each cell without a bound on users. Private.

    Weights are rounded row by row to the nearest step.

    Sensitivity: one row changes one cell, by at most 1024 steps; a row of weight by any number.

    Raises:
        GraphError: sums that are too large for 64-bit integers.
    """
    with hiding_rows_in_errors():
        if shape.counting == "weight":
            rows = _rows_sql(shape, _MOST_UNITS)
            total = f"select coalesce(sum(amount::double), 0) as total from ({rows})"  # noqa: S608
            if _fetch(table, total)["total"][0] > _MOST_SUM:
                raise GraphError(
                    "the weights are too large for this unit; pass a larger weight_unit="
                )
            return _sums(table, shape, rows)
        rows = _user_cells_sql(shape, MOST) if shape.counting == "users" else _rows_sql(shape, MOST)
        counts = f"select cell, count(*) * {STEPS} as amount from ({rows}) group by cell"  # noqa: S608
        return _cells_of(_fetch(table, counts), shape)


def scaled_cells(
    table: Any, shape: Shape, *, bound: int, whole: bool = False, known_max: int | None = None
) -> Cells:
    """Return the contents of each cell, with the rows of each user scaled down to C. Private.

    Let c_i >= 0 be what a user has in cell i (a period and a pair): rows, 1 for
    `counting="users"`, or steps of weight, in which each row counts at most C units; T their sum,
    and B the bound: C rows or pairs, or 1024 C steps. A user with T <= B adds c_i to each cell,
    another one floor(1024 C c_i / T) steps; or whole rows and units, rounded down for each user.

    Sensitivity: one user changes all cells of all periods together by at most 1024 C steps in L1.
    Proof: every user's vector is a function of that user's rows, C and public constants alone,
    and the cells are the sum of these vectors. So without one user the cells are less by exactly
    that user's vector, whose entries are >= 0. If T <= B its sum is T, which is at most 1024 C
    steps. If T > B it is the sum of floor(1024 C c_i / T) <= 1024 C (sum of c_i) / T = 1024 C.
    Rounding a user's entries down to whole units makes their sum only less. With
    `shape.per_period` all this is said of the cells of each period.
    Replacing a user changes at most twice that.
    64-bit integers are exact: c_i is taken as at most 2^61 / (1024 C), which makes the sum only
    less; and T < 2^62 as long as there are less than 2^32 rows.

    Args:
        table: coded rows with users, a relation of DuckDB.
        shape: how rows become cells.
        bound: C, in 1..2^20.
        whole: whether what a user adds to a cell is rounded down to whole units.
        known_max: M of `most_left_out`, to count what is left out; None not to count it.

    Raises:
        ParameterError: another bound, no users, or `counting="edges"`, which cannot be scaled; or
            as `most_left_out`.
        GraphError: the engine returned a user who is above the bound.
    """
    check_bound(bound)
    if shape.counting == "edges":
        raise ParameterError(
            "counting='edges' cannot be scaled: choose rows of each user, or count users"
        )
    with hiding_rows_in_errors():
        return _bounded_cells(table, shape, bound, _SCALED, whole=whole, known_max=known_max)


def kept_cells(table: Any, shape: Shape, *, bound: int, known_max: int | None = None) -> Cells:
    """Return the contents of each cell, with at most k whole rows of each user. Private.

    A user with more than k rows keeps k of them: the user's cells are sorted by a hash of the user
    and the cell, and rows are kept cell by cell until there are k. Other users keep all rows. For
    "users" and "edges", pairs in periods take the place of rows.

    Sensitivity: one user changes all cells of all periods together by at most 1024 k steps in L1.
    Proof: which rows are kept depends on the user's own rows, k and a fixed hash alone, so others
    keep the same with and without. A sum loses the user's vector, whose sum is at most 1024 k; a
    union ("edges") of sets of which one has at most k pairs loses at most k, 1024 steps each.

    Args:
        table: as for `scaled_cells`.
        shape: how rows become cells; not weights.
        bound: k, in 1..2^20.
        known_max: M of `most_left_out`, to count what is left out; None not to count it.

    Raises:
        ParameterError: another bound, no users, or `counting="weight"`; or as `most_left_out`.
        GraphError: as `scaled_cells`.
    """
    check_bound(bound)
    if shape.counting == "weight":
        raise ParameterError("weights are bounded by scaling, since rows of weight are no unit")
    with hiding_rows_in_errors():
        return _bounded_cells(table, shape, bound, _KEPT, known_max=known_max)


def clipped_cells(table: Any, shape: Shape, *, bound: int) -> Cells:
    """Return the sum of weights in each cell, with at most C units of each row. Private.

    Sensitivity: one row changes one cell, by at most 1024 C steps; so one row changes all cells of
    all periods together by that in L1, and a row that moves by twice that. What a row adds is
    floor(1024 min(w / weight_unit, C) + 1/2), in 64-bit floats, which depends on no other row.

    Raises:
        ParameterError: a bound outside 1..2^20, or not weights.
    """
    check_bound(bound)
    if shape.counting != "weight":
        raise ParameterError("clipping is for counting='weight'; a row counts as one row")
    with hiding_rows_in_errors():
        return _sums(table, shape, _rows_sql(shape, bound))


def most_left_out(shape: Shape, *, bound: int, known_max: int, kept: bool) -> int:
    """Return S, the most steps that bounding leaves out of one user with at most M rows.

    Let T be the rows (or pairs) of a user, B what the user adds to all cells, in steps, and k the
    bound. What is left out is the sum over users of min(1024 T - B, S).

    Sensitivity: one user changes it by at most S, whatever rows that user has, since each term is
    a function of one user's rows, k, M and public constants, and lies in 0..S: B <= 1024 T.

    Of a user with T <= M rows the term is exactly 1024 T - B, so that of such users all that is
    left out is counted. Proof. If T <= k, B = 1024 T. Else, of rows that are kept (`kept_cells`),
    B = 1024 k, and 1024 (T - k) <= 1024 (M - k) = S. Else (`scaled_cells`) B is the sum of
    floor(1024 k c_i / T) over the m cells where c_i > 0. Less than m is lost by the floors, and
    1024 k - B is a whole number, so at most m - 1. Each of these cells has a row, so m <= T <= M,
    and m is at most the number of cells; S = 1024 (M - k) + min(M, cells) - 1 covers that.
    With `shape.per_period` all this is said of a user in each period.

    Args:
        shape: how rows become cells.
        bound: k.
        known_max: M, what no user is known to have more of, in k..2^20.
        kept: whether whole rows are kept, see `kept_cells`; else rows are scaled down.

    Raises:
        ParameterError: another M, or weights, whose rows have no least size.
    """
    if shape.counting == "weight":
        raise ParameterError(
            "known_max bounds what is left out of rows, users or pairs, and not of weights: leave "
            "it out"
        )
    check_bound(known_max)
    if known_max < bound:
        raise ParameterError(
            f"known_max={known_max} is below max_contributions={bound}: if no user has more than "
            f"{known_max}, pass max_contributions={known_max}"
        )
    if known_max == bound:
        return 0
    rounding = 0 if kept else min(known_max, shape.cell_count) - 1
    return STEPS * (known_max - bound) + rounding


def contributions(table: Any, shape: Shape) -> IntVector:
    """Return the pairs, rows or units of each user that has any, sorted. Private.

    Of pairs (`counting` "edges" and "users") each counts once in every period. Units are rounded
    up; a row counts at most 2^20 of them. So a bound takes something from a user if and only if
    this number is above the bound.

    Raises:
        ParameterError: no users.
    """
    with hiding_rows_in_errors():
        query = (
            f"select sum(amount)::bigint as total from ({_user_cells_sql(shape, MOST)}) "  # noqa: S608
            f"group by {', '.join(shape.user_columns)}"
        )
        totals = np.sort(_fetch(table, query)["total"].astype(np.int64))
    totals = totals[totals > 0]
    return -(-totals // STEPS) if shape.counting == "weight" else totals


def user_cells(table: Any, shape: Shape, *, period: int) -> dict[str, npt.NDArray[Any]]:
    """Return the amount of each user in each cell of one period, without a bound. Private.

    Args:
        table: coded rows with users, a relation of DuckDB.
        shape: how rows become cells.
        period: number of the period.

    Returns:
        The columns "user_key", "cell" and "amount" (rows, 1 for "users", or steps of weight).

    Raises:
        ParameterError: no users.
    """
    pairs, weights = shape.left * shape.right, shape.counting == "weight"
    amount = "sum(amount)" if weights else "count(*)"
    query = (
        f"select user_key, cell, {amount}::bigint as amount "  # noqa: S608
        f"from ({_user_cells_sql(shape, MOST)}) where cell // {pairs} = {period} "
        "group by user_key, cell"
    )
    with hiding_rows_in_errors():
        return _fetch(table, query)


def cells_of_amounts(amounts: IntVector, cells: IntVector, shape: Shape) -> Cells:
    """Return the cells with the sums of their amounts. Private.

    Args:
        amounts: steps >= 0, one for each user and cell.
        cells: number of the cell of each amount.
        shape: how rows became cells.
    """
    distinct, codes = np.unique(cells, return_inverse=True)
    sums = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(sums, codes, amounts)
    return _cells_of({"cell": distinct.astype(np.int64), "amount": sums}, shape)


def check_bound(bound: Any) -> None:
    """Check a bound on what one user or row counts.

    Raises:
        ParameterError: not a whole number in 1..2^20.
    """
    is_integer = isinstance(bound, int | np.integer) and not isinstance(bound, bool)
    if not is_integer or not 1 <= bound <= MOST:
        raise ParameterError(f"the bound must be a whole number from 1 to {MOST:,}")


def _rows_sql(shape: Shape, most_units: int) -> str:
    """Return the SQL of the rows that count: `user_columns`, the cell, and the amount."""
    pairs = shape.left * shape.right
    columns = {"user_key": "user_key", "mark": "mark", "period": f"cell // {pairs}"}
    users = [f"{columns[name]} as {name}" for name in shape.user_columns] if shape.has_users else []
    amount = "1::bigint"
    if shape.counting == "weight":
        units = (
            f"least(weight / {float(shape.weight_unit)!r}::double, {float(most_units)!r}::double)"
        )
        amount = f"floor({units} * {float(STEPS)!r}::double + 0.5::double)::bigint"
    without_loops = ""
    if shape.one_set and not shape.loops:
        without_loops = f" where cell % {pairs} // {shape.right} <> cell % {shape.right}"
    return (
        f"select {', '.join([*users, 'cell', f'{amount} as amount'])} from {_TABLE}{without_loops}"  # noqa: S608
    )


def _user_cells_sql(shape: Shape, most_units: int) -> str:
    """Return the SQL of users, cells and amounts, which are rows, pairs, or steps of weight."""
    if not shape.has_users:
        raise ParameterError("bounding users needs the column of users; name it by user=")
    rows = _rows_sql(shape, most_units)
    return f"select distinct * from ({rows})" if shape.counting in ("edges", "users") else rows  # noqa: S608


def _sums(table: Any, shape: Shape, rows: str) -> Cells:
    """Return the cells with the sums of the amounts of `rows`, an SQL of `_rows_sql`."""
    query = f"select cell, sum(amount)::bigint as amount from ({rows}) group by cell"  # noqa: S608
    return _cells_of(_fetch(table, query), shape)


def _bounded_cells(
    table: Any,
    shape: Shape,
    bound: int,
    bounding_sql: str,
    *,
    whole: bool = False,
    known_max: int | None = None,
) -> Cells:
    """Return the cells of users that are bounded by `_SCALED` or `_KEPT`.

    The rows of users within the bound are merged by cell, unless what each of these users adds is
    rounded to whole units; rows of other users stay apart. The query appends rows with a code
    instead of a cell, two of them for `_check_engine`: `_LARGEST`, the largest contribution of a
    user after bounding; and `_MISSED`, the amount of users above the bound that the join missed,
    which must be 0.
    """
    who, weights, keeps_rows = shape.user_columns, shape.counting == "weight", bounding_sql is _KEPT
    most, left_out_sql = 0, ""
    if known_max is not None:
        most = most_left_out(shape, bound=bound, known_max=known_max, kept=keeps_rows)
        left_out_sql = _LEFT_OUT_SUM
    query = (_MERGED + bounding_sql + _SUMS + left_out_sql).format(
        rows="part_rows",
        who=", ".join(who),
        group_columns=", ".join(f"{'part' if whole else 'above'}.{name}" for name in who),
        join_on_user=" and ".join(f"part.{name} = above.{name}" for name in who),
        total_column="" if keeps_rows else "total, ",
        above_bound="user_key is not null" if keeps_rows else "total is not null",
        hashed_key="mark" if shape.has_marks else "user_key::varchar",
        sum="sum(amount)::bigint" if weights else "count(*)",
        bound=bound * STEPS if weights else bound,
        unit=1 if weights else STEPS,
        whole=STEPS if whole else 1,
        steps=bound * STEPS,
        most=_MOST_TOP // (bound * STEPS),
        most_left_out=most,
        largest_code=_LARGEST,
        missed_code=_MISSED,
        left_out_code=_LEFT_OUT,
    )
    parts = f"part_rows as ({_user_cells_sql(shape, bound)}), "
    columns = _fetch(table, query.replace("with ", f"with {parts}", 1))
    codes = (_LARGEST, _MISSED)
    largest, missed = (columns["amount"][columns["cell"] == code] for code in codes)
    _check_engine(bool(largest <= bound * STEPS and missed == 0))
    left_out = None
    if known_max is not None:
        left_out = int(columns["amount"][columns["cell"] == _LEFT_OUT][0])
    columns["amount"][columns["cell"] < 0] = 0  # codes are no cells
    return replace(_cells_of(columns, shape), left_out=left_out)


def _check_engine(is_consistent: bool) -> None:
    """Refuse a result of the engine that its own control figures contradict; see `_bounded_cells`.

    Engines have had windows and joins that were wrong without an error.
    """
    if not is_consistent:
        raise GraphError(
            "the engine returned a user above the bound, which is a fault of the engine: use "
            "another version of it"
        )


def _fetch(table: Any, query: str) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of a query."""
    columns = table.query(_TABLE, query).fetchnumpy()
    return {name: np.ma.getdata(column) for name, column in columns.items()}


def _cells_of(columns: dict[str, npt.NDArray[Any]], shape: Shape) -> Cells:
    """Return the cells of the columns "cell" and "amount", sorted; empties `columns` on the way."""
    steps = columns.pop("amount").astype(np.int64, copy=False)
    if shape.counting == "edges":
        steps = np.minimum(steps, STEPS)
    is_positive = steps > 0
    cell = columns.pop("cell")[is_positive]
    order = np.argsort(cell)  # cells are numbered in the order of periods and pairs
    cell, steps = cell[order].astype(np.int64, copy=False), steps[is_positive][order]
    del is_positive, order
    period = cell // (shape.left * shape.right)
    first = cell // shape.right
    np.subtract(cell, first * shape.right, out=cell)
    first -= period * shape.left
    return Cells(first, cell, period, steps)
