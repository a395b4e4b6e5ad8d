"""Audits of tables of rows with periods: what is guaranteed to single rows, and to their users.

Neighbours are rows with and without one row, or all rows of one user, in several periods. Each run
draws the noise of a job of `release_flows`, and all periods come out. What has no noise is computed
once.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import cache, partial

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp import Job, flows_job
from graphcuts_dp.arrays import FloatArray, IntVector
from graphcuts_dp.evaluation.audit import Neighbours
from graphcuts_dp.graph.row_sources import RowArrays
from graphcuts_dp.graph.rows import PairCounts, counted_rows
from graphcuts_dp.measure.cells import cell_tree, grid_of_rows, sums_of_cells
from graphcuts_dp.plugins import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_laplace
from graphcuts_dp.resources import silent
from graphcuts_dp.schema.counting import STEPS, Counting
from tests.audits.base import audited_runs
from tests.audits.users import Owned, Table, once

_N, _AT_MOST = 4, 2
_PERIODS = gc.Periods.of("2026-01..2026-03")
_GROUPS = gc.Groups(gc.VertexSet(_N), {"half": [0, 0, 1, 1]})
_SIDES = (_GROUPS, _GROUPS)
_UNDECLARED = -1
_ROW, _WEIGHT = gc.PrivacyUnit.row(), gc.PrivacyUnit.row(_AT_MOST)
_USER = gc.PrivacyUnit.user(max_contributions=_AT_MOST)
_EACH_PERIOD = gc.PrivacyUnit.user(max_contributions=_AT_MOST, per_period=True)

Row = tuple[int, int, int, int, float]  # user, both ends, period, weight


def rows_of(listed: Sequence[Row], counting: Counting, *, owned: bool) -> gc.Rows:
    """Rows in memory."""
    table: FloatArray = np.array(listed, dtype=np.float64).reshape(-1, 5)
    users, first, second, periods = (table[:, column].astype(np.int64) for column in range(4))
    row_arrays = RowArrays(
        endpoints=(first, second),
        users=users if owned else None,
        marks=np.arange(16, dtype=np.uint64) * np.uint64(0xD1B54A32D192ED03),
        periods=periods,
        weights=table[:, 4] if counting == "weight" else None,
    )
    return gc.Rows.of_arrays(gc.VertexSet(_N), row_arrays, counting=counting, periods=_PERIODS)


_OTHERS: tuple[Row, ...] = tuple(
    (user, first, second, period, 0.6)
    for user in range(3)
    for period in (_UNDECLARED, 0, 1, 2)
    for first, second in ((0, 1), (2, 0), (3, 3))
)
# Of one user, in all periods, with two ends of one and of two groups.
_NEW: tuple[Row, ...] = tuple(
    (9, first, second, period, 5.0) for period in range(3) for first, second in ((0, 3), (2, 2))
)


def _neighbours(
    name: str, others: Sequence[Row], new: Sequence[Row], counting: Counting, *, owned: bool
) -> Neighbours:
    before, after = (rows_of(x, counting, owned=owned) for x in (others, (*others, *new)))
    first, second = (Owned(before, after, one) for one in (True, False))
    return Neighbours(name, first, second)


_ROWS = (
    _neighbours("one more beside many", _OTHERS, _NEW[:1], "rows", owned=False),
    _neighbours("the first row, within one place", (), _NEW[1:2], "rows", owned=False),
    _neighbours("of no declared period", _OTHERS, ((0, 0, 1, -1, 1.0),), "rows", owned=False),
)
_WEIGHTS = (_neighbours("a heavy row", _OTHERS, _NEW[:1], "weight", owned=False),)
_USERS = (
    _neighbours("in all periods", _OTHERS, _NEW, "rows", owned=True),
    _neighbours("weights in all periods", _OTHERS, _NEW, "weight", owned=True),
    _neighbours("pairs in all periods", (), _NEW, "edges", owned=True),
)


def _privacy_unit_of(rows: gc.Rows) -> gc.PrivacyUnit:
    if rows.owned:
        return _USER
    return _WEIGHT if rows.counting == "weight" else _ROW


@cache
def _job(counting: Counting, owned: bool, epsilon: float) -> Job[gc.Flows]:
    public = rows_of((), counting, owned=owned)
    return flows_job(public, _GROUPS, epsilon=epsilon, privacy_unit=_privacy_unit_of(public))


@once
def _bounded(rows: gc.Rows) -> PairCounts:
    """What is measured, whatever epsilon is. Private."""
    found: PairCounts = _job(rows.counting, rows.owned, 1.0).bounded(rows)
    return found


def _cells_of(counts: PairCounts, rows: gc.Rows) -> IntVector:
    """The cells of all periods, one after the other, in steps."""
    tree, grid = cell_tree(rows, _SIDES), grid_of_rows(whole=counts.step > 1)
    return sums_of_cells(counts, _SIDES, tree, grid)[-1]


@once
def _sums(rows: gc.Rows) -> IntVector:
    return _cells_of(_bounded(rows), rows)


def _rate(rows: gc.Rows, epsilon: float) -> Fraction:
    """Of the noise, for what the guarantee says that one row or user changes."""
    return Fraction(epsilon) / (_privacy_unit_of(rows).group_size * (STEPS // _bounded(rows).step))


def _noisy(epsilon: float, where: Owned, source: EntropySource) -> list[float]:
    """The way that `release_flows` goes."""
    job = _job(where.rows.counting, where.rows.owned, epsilon)
    drawn = job.measure(_bounded(where.rows), source, silent).cells
    assert drawn.map.measured_levels == (
        1,
    )  # all of epsilon is spent on the periods, each of which has it
    return where.seen(drawn.steps[0], _sums, _rate(where.rows, epsilon))


# Broken on purpose.


def _broken(
    epsilon: float,
    where: Owned,
    source: EntropySource,
    table: Table = _sums,
    factor: int = 1,
) -> list[float]:
    """Other sums with noise for the guarantee, or less noise."""
    true, rate = where.true(table)[not where.is_first], factor * _rate(where.rows, epsilon)
    noisy = true + sample_discrete_laplace(rate, len(true), source)
    return where.seen(noisy, table, rate)


def _bounded_by(privacy_unit: gc.PrivacyUnit, rows: gc.Rows) -> IntVector:
    """Sums of rows that are bounded by another rule than the guarantee's."""
    counts = counted_rows(rows, privacy_unit, whole=_bounded(rows).step > 1)
    return _cells_of(counts, rows)


@once
def _by_each_period(rows: gc.Rows) -> IntVector:
    return _bounded_by(_EACH_PERIOD, rows)


@once
def _not_clipped(rows: gc.Rows) -> IntVector:
    return _bounded_by(gc.PrivacyUnit.row(1000), rows) if rows.counting == "weight" else _sums(rows)


@once
def _in_each_period(rows: gc.Rows) -> IntVector:
    """A row counts in its period, and in all that come after it."""
    of_each = _sums(rows).reshape(len(_PERIODS.labels), -1)
    return np.cumsum(of_each, axis=0).ravel()


@audited_runs(
    "rows: flows by period",
    pairs=(*_ROWS, *_WEIGHTS),
    incorrect_variants={
        "half the noise": partial(_broken, factor=2),
        "counted from its period on": partial(_broken, table=_in_each_period),
        "weights that are not clipped": partial(_broken, table=_not_clipped),
        "noise of one unit of weight": partial(_broken, factor=_AT_MOST),
    },
    variant_pairs=(*_ROWS[:2], *_WEIGHTS),
    runs=6000,
)
def _rows_by_period(epsilon: float, where: Owned, source: EntropySource) -> list[float]:
    return _noisy(epsilon, where, source)


@audited_runs(
    "users: flows by period",
    pairs=_USERS,
    incorrect_variants={
        "half the noise": partial(_broken, factor=2),
        "bound per period where it is guaranteed over all": partial(_broken, table=_by_each_period),
        "noise of one row for a user": partial(_broken, factor=_AT_MOST),
    },
    runs=6000,
)
def _users_by_period(epsilon: float, where: Owned, source: EntropySource) -> list[float]:
    return _noisy(epsilon, where, source)
