"""Audits of what is guaranteed to users of rows: bounding, tables, and what is reported of bounds.

Neighbours are files of rows with and without one user. Each run goes the whole way, from the rows
to all noisy sums, so that a bound which others have a say in shows, as does noise that is too small
for it. A run gives the log likelihood ratio of the neighbours for what was released, and the sums.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.estimate.cell_changes import cell_changes
from graphcuts_dp.evaluation.audit import Neighbours
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.row_sources import RowArrays
from graphcuts_dp.graph.rows import bounded_graph, reach_of
from graphcuts_dp.measure.cells import cell_tree, measure_cells, sums_of_cells
from graphcuts_dp.measure.statistics import (
    class_counts,
    measure_contributions,
    share_scores,
    share_sensitivity,
)
from graphcuts_dp.plugins import EntropySource
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.privacy.noise import sample_discrete_laplace
from graphcuts_dp.schema.cells import CellTree
from graphcuts_dp.schema.counting import Counting
from tests.audits.base import audited_laws, audited_runs, claimed_for
from tests.audits.losses import (
    DistributionPair,
    laplace_gain,
    normal_pair,
    side_by_side,
    softmax,
)
from tests.audits.rows_in_memory import bounded, rows_in_memory

_N = 4
_PAIRS = tuple((u, v) for u in range(_N) for v in range(u))
_AT_MOST = 2
_UNIT = gc.PrivacyUnit.user(max_contributions=_AT_MOST)
_BOUNDS = (1, 2, 4)
_RHO = claimed_for(1e-6)

# Of each user: which pairs, and what each row weighs.
Users = dict[int, tuple[tuple[int, ...], float]]
Result = TypeVar("Result")
Data = TypeVar("Data")
Table = Callable[[gc.Rows], IntVector]


def rows_of(users: Users, counting: Counting) -> gc.Rows:
    """A file of rows."""
    listed = [(o, *_PAIRS[p], w) for o, (pairs, w) in users.items() for p in pairs]
    columns = [np.array(column) for column in zip(*listed, strict=True)] or [np.zeros(0)] * 4
    return rows_in_memory(
        gc.VertexSet(_N),
        columns[0].astype(np.int64),
        np.arange(16, dtype=np.uint64) * np.uint64(0xD1B54A32D192ED03),
        (columns[1].astype(np.int64), columns[2].astype(np.int64)),
        columns[3].astype(np.float64) if counting == "weight" else None,
        counting=counting,
    )


_EVERY = tuple(range(len(_PAIRS)))
_OTHERS: Users = dict.fromkeys(range(8), (_EVERY, 0.6))
_NEW: Users = {9: (_EVERY, 0.4)}


@dataclass(frozen=True, eq=False)
class Owned:
    """One of two neighbours.

    Attributes:
        before: the file without the user.
        after: the file with it.
        is_first: which of them this is.
        known: true sums of both, by how they are made: the same in each run.
    """

    before: gc.Rows = field(repr=False)
    after: gc.Rows = field(repr=False)
    is_first: bool
    known: dict[Table, tuple[IntVector, IntVector]] = field(default_factory=dict, repr=False)

    @property
    def rows(self) -> gc.Rows:
        """Of this one."""
        return self.before if self.is_first else self.after

    def true(self, table: Table) -> tuple[IntVector, IntVector]:
        """Sums of both."""
        if table not in self.known:
            self.known[table] = table(self.before), table(self.after)
        return self.known[table]

    def seen(self, noisy: IntVector, table: Table, rate: Fraction) -> list[float]:
        """Log likelihood ratio of noisy sums, and all of them above the first neighbour's."""
        before, after = self.true(table)
        return [laplace_gain(noisy, before, after, rate), *(noisy - before).astype(np.float64)]


def _neighbours(name: str, others: Users, new: Users, counting: Counting) -> Neighbours:
    before, after = (rows_of(users, counting) for users in (others, {**others, **new}))
    first, second = (Owned(before, after, one) for one in (True, False))
    return Neighbours(name, first, second)


_PAIRS_OF_FILES = (
    _neighbours("one more beside many", _OTHERS, _NEW, "rows"),
    _neighbours("the first user", {}, _NEW, "edges"),
    _neighbours("two of one pair", _OTHERS, {9: ((3, 3, 3), 1.0)}, "rows"),
    _neighbours("weights", _OTHERS, {9: (_EVERY, 5.0)}, "weight"),
)
_ROUNDED = _neighbours("weights that are rounded", {0: (_EVERY, 0.3)}, _NEW, "weight")


def honest_table(rows: gc.Rows) -> IntVector:
    """True sums of the pairs of the bounded graph, in steps. Private."""
    return _table(rows, _AT_MOST)


def _table(rows: gc.Rows, bound: int) -> IntVector:
    graph = bounded(rows, bound)
    found = np.zeros(len(_PAIRS), dtype=np.int64)
    for row, column, weight in zip(graph.rows, graph.columns, graph.weights, strict=True):
        found[_PAIRS.index((int(column), int(row)))] = int(weight)
    return found


# Each vertex is a group, so that the table shows every pair.
_SIDES = (gc.Groups(gc.VertexSet(_N), {"vertex": list(range(_N))}),) * 2


def once(of: Callable[[Data], Result]) -> Callable[[Data], Result]:
    """The same of the same data: what has no noise is computed once for all runs."""
    known: dict[int, tuple[Data, Result]] = {}

    def found(data: Data) -> Result:
        if id(data) not in known:
            known[id(data)] = data, of(data)
        return known[id(data)][1]

    return found


@once
def _cells_of(rows: gc.Rows) -> tuple[AnyGraph, CellTree, Grid]:
    graph = bounded_graph(rows, _UNIT)
    return graph, cell_tree(graph, _SIDES), Grid(cap=None if graph.weighted else 1.0)


def _sums(rows: gc.Rows) -> IntVector:
    graph, cells, grid = _cells_of(rows)
    return sums_of_cells(graph, _SIDES, cells, grid)[1]


def _broken(
    epsilon: float,
    where: Owned,
    source: EntropySource,
    table: Table = honest_table,
    factor: int = 1,
) -> list[float]:
    """Another way from rows to sums, or less noise."""
    true, rate = where.true(table)[not where.is_first], factor * Fraction(epsilon) / _AT_MOST
    return where.seen(true + sample_discrete_laplace(rate, len(true), source), table, rate)


def _held(rows: gc.Rows) -> RowArrays:
    """The rows, which are in memory."""
    assert rows.row_arrays is not None
    return rows.row_arrays


# Broken on purpose.


def _all_by_one_hash(rows: gc.Rows) -> IntVector:
    """Which rows a user keeps depends on how many rows there are of others."""
    row_arrays = _held(rows)
    marks = row_arrays.marks ^ np.uint64(len(row_arrays.endpoints[0]) * 0x9E3779B9)
    return honest_table(
        gc.Rows.of_arrays(rows.space, replace(row_arrays, marks=marks), counting=rows.counting)
    )


def _bounded_later(rows: gc.Rows) -> IntVector:
    """Noise for the bound on sums of all rows; cutting the noisy sums comes too late."""
    return _table(rows, 1000)


def _bounded_by_pair(rows: gc.Rows) -> IntVector:
    """Rows are bounded in each pair, and not for each user."""
    return np.minimum(_bounded_later(rows), _AT_MOST)


def _rounded_later(rows: gc.Rows) -> IntVector:
    """Weights of each user are scaled down to the bound, added up, and then rounded."""
    row_arrays = _held(rows)
    weights = (
        np.ones(len(row_arrays.endpoints[0])) if row_arrays.weights is None else row_arrays.weights
    )
    sums, users = np.zeros(len(_PAIRS)), np.asarray(row_arrays.users)
    for user in set(users.tolist()):
        own = users == user
        share = min(1.0, _AT_MOST / float(weights[own].sum()))
        pairs = zip(*(end[own].tolist() for end in row_arrays.endpoints), strict=True)
        for (first, second), weight in zip(pairs, weights[own], strict=True):
            sums[_PAIRS.index((first, second))] += weight * share
    return np.asarray(np.floor(sums + 1e-9)).astype(np.int64)


@audited_runs(
    "users: flows, laplace",
    pairs=_PAIRS_OF_FILES,
    incorrect_variants={
        "half the noise": partial(_broken, factor=2),
        "epsilon for edges": partial(_broken, factor=_AT_MOST),
        "hash that depends on others": partial(_broken, table=_all_by_one_hash),
        "bound after the noise": partial(_broken, table=_bounded_later),
        "bound for each pair": partial(_broken, table=_bounded_by_pair),
        "rounding after adding up": partial(_broken, table=_rounded_later),
    },
    variant_pairs=(_PAIRS_OF_FILES[0], _PAIRS_OF_FILES[1], _ROUNDED),
    runs=6000,
)
def _released(epsilon: float, where: Owned, source: EntropySource) -> list[float]:
    """The way that `release_flows` goes."""
    rate, (graph, cells, grid) = Fraction(epsilon) / _AT_MOST, _cells_of(where.rows)
    noisy = measure_cells(
        graph,
        _SIDES,
        cells,
        measured_levels=(1,),
        noise=LevelNoise("laplace", (rate,)),
        grid=grid,
        whole=True,
        privacy_unit=_UNIT,
        reach=reach_of(where.rows),
        source=source,
    )
    return where.seen(noisy.steps[0], _sums, rate)


# Gaussian noise on a table: all that one user has may lie in one cell.

_HALVES = gc.Groups(gc.VertexSet(6), {"half": [0, 0, 0, 1, 1, 1]})
_MANY = 5
_NOBODY = rows_in_memory(gc.VertexSet(6), [], np.zeros(1, np.uint64), ([], []))
_CELLS = cell_tree(bounded(_NOBODY, 1), (_HALVES, _HALVES))


@audited_laws(
    "users: flows, gaussian",
    incorrect_variants={
        "half the noise": {"factor": 2},
        "sensitivity of one pair in each cell": {"squares": _MANY},
    },
    claim=_RHO,
)
def _gaussian_changes(
    epsilon: float, factor: int = 1, squares: int | None = None
) -> Iterator[DistributionPair]:
    """Exact losses for every way in which a user's pairs can lie in the cells."""
    privacy_unit = gc.PrivacyUnit.user(max_contributions=_MANY)
    paid = cell_changes(_CELLS, privacy_unit, reach=reach_of(_NOBODY))[1][1]
    variance = float(squares or paid) / (2 * _RHO(epsilon).value) / factor**2
    for ways in np.ndindex(*(int(most) + 1 for most in _CELLS.pairs(1))):
        if sum(ways) == _MANY:
            parts = [normal_pair(variance, change) for change in ways if change]
            yield side_by_side(f"pairs in cells: {ways}", parts)


# What is told of bounds.


@once
def _contributed(rows: gc.Rows) -> Any:
    """Rows that know what their users have."""
    found = rows.contributions()
    return SimpleNamespace(contributions=lambda **_: found)


def _rows_left_out(epsilon: float, where: Owned, source: EntropySource) -> list[float]:
    """How many rows are left out, as if one user could change that by 1."""
    known, dropped = (
        np.maximum(_contributed(rows).contributions() - _AT_MOST, 0).sum()
        for rows in (where.before, where.rows)
    )
    return [float(dropped - known + sample_discrete_laplace(Fraction(epsilon), 1, source)[0])]


@audited_runs(
    "users: contributions",
    pairs=_PAIRS_OF_FILES,
    incorrect_variants={
        "half the noise": {"factor": 2},
        "rows left out, for one of a user": _rows_left_out,
    },
    runs=6000,
)
def _classes(epsilon: float, where: Owned, source: EntropySource, factor: int = 1) -> list[float]:
    rate = factor * Fraction(epsilon)
    before, own = (_contributed(rows) for rows in (where.before, where.rows))
    counts = measure_contributions(own, _BOUNDS, rate=rate, source=source)
    return [float(x) for x in counts - class_counts(before, _BOUNDS)]


@audited_laws(
    "users: bound",
    incorrect_variants={
        "sensitivity 1 for more": {"change": 1},
        "rows left out as the score": {"change": 1, "by_rows": True},
    },
)
def _choices(
    epsilon: float, change: int | None = None, by_rows: bool = False
) -> Iterator[DistributionPair]:
    share = Fraction(1, 5)
    rate = epsilon / (2 * (change or share_sensitivity(share)))

    def law(where: Owned) -> FloatVector:
        scores = share_scores(class_counts(_contributed(where.rows), _BOUNDS), share)
        if by_rows:
            own = _contributed(where.rows).contributions()
            scores = -np.array([np.maximum(own - bound, 0).sum() for bound in _BOUNDS])
        return softmax(scores, rate)

    for pair in (*_PAIRS_OF_FILES, _neighbours("few", {0: ((1,), 1.0)}, {1: ((2,), 1.0)}, "rows")):
        yield DistributionPair.of(pair, law)
