"""Audits of what is promised to owners of rows: bounding, tables, and what is told of bounds.

Neighbours are files of rows with and without one owner. Each run goes the whole way, from the rows
to all noisy sums, so that a bound which others have a say in shows, as does noise that is too small
for it. A run gives the log likelihood ratio of the neighbours for what was released, and the sums.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, partial

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.arrays import IntVector
from graphcuts_dp.estimate.measurement import cell_changes
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.owned_rows import Counting, bounded_graph, reach_of
from graphcuts_dp.measure.cells import cell_tree, measure_cells, sums_of_cells
from graphcuts_dp.measure.statistics import (
    class_counts,
    measure_contributions,
    share_scores,
    share_sensitivity,
)
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.privacy.noise import EntropySource, sample_discrete_laplace
from tests.audits.base import Audit, Enumerated, Sampled, audited
from tests.audits.losses import (
    DistributionPair,
    laplace_gain,
    normal_pair,
    side_by_side,
    softmax,
)

_N = 4
_PAIRS = tuple((u, v) for u in range(_N) for v in range(u))
_AT_MOST = 2
_PROTECTION = gc.Protect.of("owner", at_most=_AT_MOST)
_BOUNDS = (1, 2, 4)

# Of each owner: which pairs, and what each row weighs.
Owners = dict[int, tuple[tuple[int, ...], float]]
Table = Callable[[gc.OwnedRows], IntVector]


def rows_of(owners: Owners, counting: Counting) -> gc.OwnedRows:
    """A file of rows."""
    listed = [(o, *_PAIRS[p], w) for o, (pairs, w) in owners.items() for p in pairs]
    columns = [np.array(column) for column in zip(*listed, strict=True)] or [np.zeros(0)] * 4
    return gc.OwnedRows(
        gc.VertexSet(_N),
        columns[0].astype(np.int64),
        np.arange(16, dtype=np.uint64) * np.uint64(0xD1B54A32D192ED03),
        (columns[1].astype(np.int64), columns[2].astype(np.int64)),
        columns[3].astype(np.float64) if counting == "weight" else None,
        counting=counting,
    )


_EVERY = tuple(range(len(_PAIRS)))
_OTHERS: Owners = dict.fromkeys(range(8), (_EVERY, 0.6))
_NEW: Owners = {9: (_EVERY, 0.4)}


@dataclass(frozen=True, eq=False)
class Owned:
    """One of two neighbours.

    Attributes:
        before: the file without the owner.
        after: the file with it.
        is_first: which of them this is.
    """

    before: gc.OwnedRows = field(repr=False)
    after: gc.OwnedRows = field(repr=False)
    is_first: bool

    @cached_property
    def groups(self) -> gc.Groups:
        """Public: each vertex is a group, so that the table shows every pair."""
        return gc.Groups(gc.VertexSet(_N), {"vertex": list(range(_N))})


def _neighbours(name: str, others: Owners, new: Owners, counting: Counting) -> Neighbours:
    before, after = (rows_of(owners, counting) for owners in (others, {**others, **new}))
    first, second = (Owned(before, after, one) for one in (True, False))
    return Neighbours(name, first, second)


_PAIRS_OF_FILES = (
    _neighbours("one more beside many", _OTHERS, _NEW, "rows"),
    _neighbours("the first owner", {}, _NEW, "edges"),
    _neighbours("two of one pair", _OTHERS, {9: ((3, 3, 3), 1.0)}, "rows"),
    _neighbours("weights", _OTHERS, {9: (_EVERY, 5.0)}, "weight"),
)
_ROUNDED = _neighbours("weights that are rounded", {0: (_EVERY, 0.3)}, _NEW, "weight")


def honest_table(rows: gc.OwnedRows) -> IntVector:
    """True sums of the pairs of the bounded graph, in steps. Private."""
    return _table(rows, _AT_MOST)


def _table(rows: gc.OwnedRows, at_most: int) -> IntVector:
    graph = rows.bounded(at_most=at_most)
    found = np.zeros(len(_PAIRS), dtype=np.int64)
    for row, column, weight in zip(graph.rows, graph.columns, graph.weights, strict=True):
        found[_PAIRS.index((int(column), int(row)))] = int(weight)
    return found


def _released(epsilon: float, source: EntropySource) -> Callable[[Owned], list[float]]:
    """The way that `release_flows` goes."""
    known: dict[int, list[IntVector]] = {}
    rate = Fraction(epsilon) / _AT_MOST
    noise = LevelNoise("laplace", (rate,))

    def run(where: Owned) -> list[float]:
        rows = where.before if where.is_first else where.after
        graph = bounded_graph(rows, _PROTECTION)
        grid = Grid(cap=None if graph.weighted else 1.0)
        sides = where.groups, where.groups
        cells = cell_tree(graph, sides)
        if id(where) not in known:
            known[id(where)] = [
                sums_of_cells(bounded_graph(each, _PROTECTION), sides, cells, grid)[1]
                for each in (where.before, where.after)
            ]
        noisy = measure_cells(
            graph,
            sides,
            cells,
            places=(1,),
            noise=noise,
            grid=grid,
            whole=True,
            protection=_PROTECTION,
            reach=reach_of(rows),
            source=source,
        )
        before, after = known[id(where)]
        return _seen(noisy.steps[0], before, after, float(rate))

    return run


def _seen(noisy: IntVector, before: IntVector, after: IntVector, rate: float) -> list[float]:
    return [laplace_gain(noisy, before, after, rate), *(float(x) for x in noisy - before)]


def _broken(
    table: Table, factor: float, epsilon: float, source: EntropySource
) -> Callable[[Owned], list[float]]:
    """The same by another way from rows to sums, or with less noise."""
    known: dict[int, list[IntVector]] = {}
    rate = Fraction(epsilon * factor) / _AT_MOST

    def run(where: Owned) -> list[float]:
        if id(where) not in known:
            known[id(where)] = [table(each) for each in (where.before, where.after)]
        before, after = known[id(where)]
        true = before if where.is_first else after
        noisy = true + sample_discrete_laplace(rate, len(true), source)
        return _seen(noisy, before, after, float(rate))

    return run


# Broken on purpose.


def _all_by_one_hash(rows: gc.OwnedRows) -> IntVector:
    """Which rows an owner keeps depends on how many rows there are of others."""
    marks = rows.marks ^ np.uint64(len(rows.pairs) * 0x9E3779B9)
    ends = rows.pairs >> np.int64(31), rows.pairs & np.int64(2**31 - 1)
    return honest_table(
        gc.OwnedRows(rows.space, rows.owners, marks, ends, rows.weights, counting=rows.counting)
    )


def _bounded_later(rows: gc.OwnedRows) -> IntVector:
    """Noise for the bound on sums of all rows; cutting the noisy sums comes too late."""
    return _table(rows, 1000)


def _bounded_by_pair(rows: gc.OwnedRows) -> IntVector:
    """Rows are bounded in each pair, and not for each owner."""
    return np.minimum(_bounded_later(rows), _AT_MOST)


def _rounded_later(rows: gc.OwnedRows) -> IntVector:
    """Weights of each owner are scaled down to the bound, added up, and then rounded."""
    weights = np.ones(len(rows.pairs)) if rows.weights is None else rows.weights
    sums = np.zeros(len(_PAIRS))
    for owner in set(rows.owners.tolist()):
        own = rows.owners == owner
        share = min(1.0, _AT_MOST / float(weights[own].sum()))
        for pair, weight in zip(rows.pairs[own].tolist(), weights[own], strict=True):
            sums[_PAIRS.index((pair % 2**31, pair >> 31))] += weight * share
    return np.asarray(np.floor(sums + 1e-9)).astype(np.int64)


@audited("owners: flows, laplace")
def _laplace_audit(epsilon: float) -> Audit:
    return Sampled(
        claim=Claim(epsilon),
        pairs=_PAIRS_OF_FILES,
        start=partial(_released, epsilon),
        twins={
            "half the noise": partial(_broken, honest_table, 2, epsilon),
            "epsilon for edges": partial(_broken, honest_table, _AT_MOST, epsilon),
            "hash that depends on others": partial(_broken, _all_by_one_hash, 1, epsilon),
            "bound after the noise": partial(_broken, _bounded_later, 1, epsilon),
            "bound for each pair": partial(_broken, _bounded_by_pair, 1, epsilon),
            "rounding after adding up": partial(_broken, _rounded_later, 1, epsilon),
        },
        twin_pairs=(_PAIRS_OF_FILES[0], _PAIRS_OF_FILES[1], _ROUNDED),
        runs=6000,
    )


# Gaussian noise on a table: all that one owner has may lie in one cell.

_HALVES = gc.Groups(gc.VertexSet(6), {"half": [0, 0, 0, 1, 1, 1]})
_MANY = 5
_NOBODY = gc.OwnedRows(gc.VertexSet(6), [], np.zeros(1, np.uint64), ([], []))  # type: ignore[arg-type]
_CELLS = cell_tree(_NOBODY.bounded(at_most=1), (_HALVES, _HALVES))


def _gaussian_changes(variance: Fraction) -> Iterator[DistributionPair]:
    """Exact losses for every way in which an owner's pairs can lie in the cells."""
    for ways in np.ndindex(*(int(most) + 1 for most in _CELLS.pairs(1))):
        if sum(ways) == _MANY:
            parts = [normal_pair(float(variance), change) for change in ways if change]
            yield side_by_side(f"pairs in cells: {ways}", parts)


@audited("owners: flows, gaussian")
def _gaussian_audit(epsilon: float) -> Audit:
    rho = Fraction(zcdp_rho(epsilon=epsilon, delta=1e-6))
    protection = gc.Protect.of("owner", at_most=_MANY)
    _, squares = cell_changes(_CELLS, protection, reach=reach_of(_NOBODY))[1]
    variance = squares / (2 * rho)
    return Enumerated(
        claim=Claim(float(rho), kind="rho"),
        distributions=partial(_gaussian_changes, variance),
        twins={
            "half the noise": partial(_gaussian_changes, variance / 4),
            "sensitivity of one pair in each cell": partial(
                _gaussian_changes, Fraction(_MANY) / (2 * rho)
            ),
        },
    )


# What is told of bounds.


def _classes(rate: Fraction, factor: int, source: EntropySource) -> Callable[[Owned], list[float]]:
    def run(where: Owned) -> list[float]:
        rows = where.before if where.is_first else where.after
        counts = measure_contributions(rows, _BOUNDS, rate=rate * factor, source=source)
        return [float(x) for x in counts - class_counts(where.before, _BOUNDS)]

    return run


def _rows_left_out(rate: Fraction, source: EntropySource) -> Callable[[Owned], list[float]]:
    """How many rows are left out, as if one owner could change that by 1."""

    def run(where: Owned) -> list[float]:
        rows = where.before if where.is_first else where.after
        dropped = np.maximum(rows.contributions() - _AT_MOST, 0).sum()
        known = np.maximum(where.before.contributions() - _AT_MOST, 0).sum()
        return [float(dropped - known + sample_discrete_laplace(rate, 1, source)[0])]

    return run


@audited("owners: contributions")
def _contributions_audit(epsilon: float) -> Audit:
    rate = Fraction(epsilon)
    return Sampled(
        claim=Claim(epsilon),
        pairs=_PAIRS_OF_FILES,
        start=partial(_classes, rate, 1),
        twins={
            "half the noise": partial(_classes, rate, 2),
            "rows left out, for one of an owner": partial(_rows_left_out, rate),
        },
        runs=6000,
    )


def _choices(
    epsilon: Fraction, share: Fraction, change: int, by_rows: bool
) -> Iterator[DistributionPair]:
    rate = float(epsilon / (2 * change))
    for pair in (*_PAIRS_OF_FILES, _neighbours("few", {0: ((1,), 1.0)}, {1: ((2,), 1.0)}, "rows")):
        distributions = []
        for rows in (pair.first.before, pair.first.after):
            scores = share_scores(class_counts(rows, _BOUNDS), share)
            if by_rows:
                own = rows.contributions()
                scores = -np.array([np.maximum(own - bound, 0).sum() for bound in _BOUNDS])
            distributions.append(softmax(scores, rate))
        yield DistributionPair(pair.name, distributions[0], distributions[1])


@audited("owners: bound")
def _bound_audit(epsilon: float) -> Audit:
    exact, share = Fraction(epsilon), Fraction(1, 5)
    most = share_sensitivity(share)
    return Enumerated(
        claim=Claim(epsilon),
        distributions=partial(_choices, exact, share, most, False),
        twins={
            "sensitivity 1 for more": partial(_choices, exact, share, 1, False),
            "rows left out as the score": partial(_choices, exact, share, 1, True),
        },
    )
