"""Audits of the noisy sum of what a bound on users leaves out.

Neighbours are rows with and without all rows of one user, who has as many as the known maximum, or
far more. Each run goes from the rows to the noisy sum, of rows that are kept whole and of rows that
are scaled down.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.evaluation.audit import Neighbours
from graphcuts_dp.graph.rows import PairCounts, counted_rows
from graphcuts_dp.measure.left_out import measure_left_out
from graphcuts_dp.plugins import EntropySource
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.privacy.noise import sample_discrete_laplace
from graphcuts_dp.schema.counting import STEPS
from tests.audits.base import audited_runs
from tests.audits.losses import laplace_gain
from tests.audits.rows import Row, rows_of
from tests.audits.users import Owned, once

_AT_MOST, _KNOWN_MAX = 1, 3
_USER = gc.PrivacyUnit.user(max_contributions=_AT_MOST)

_OTHERS: tuple[Row, ...] = tuple(
    (user, 0, 2, user % 3, 1.0) for user in range(4) for _ in range(1 + user)
)
_AS_KNOWN: tuple[Row, ...] = tuple((9, 1, 3, period, 1.0) for period in range(_KNOWN_MAX))
_FAR_MORE: tuple[Row, ...] = tuple((9, 1, 3, number % 3, 1.0) for number in range(40))


def _neighbours(name: str, new: tuple[Row, ...]) -> Neighbours:
    before, after = (rows_of(x, "rows", owned=True) for x in (_OTHERS, _OTHERS + new))
    first, second = (Owned(before, after, one) for one in (True, False))
    return Neighbours(name, first, second)


_PAIRS = (
    _neighbours("a user with as many rows as known", _AS_KNOWN),
    _neighbours("a user with far more", _FAR_MORE),
)


@once
def _kept(rows: gc.Rows) -> PairCounts:
    return counted_rows(rows, _USER, whole=True, known_max=_KNOWN_MAX)


@once
def _scaled(rows: gc.Rows) -> PairCounts:
    return counted_rows(rows, _USER, whole=False, known_max=_KNOWN_MAX)


def _left_out(counts: PairCounts) -> int:
    assert counts.cells.left_out is not None
    return counts.cells.left_out // counts.step


@once
def _not_clipped(rows: gc.Rows) -> int:
    """All rows that the bound leaves out, however many one user has."""
    return int(np.maximum(rows.contributions() - _AT_MOST, 0).sum())


def _of_sum(
    epsilon: float,
    where: Owned,
    source: EntropySource,
    counted: Callable[[gc.Rows], PairCounts],
    fewer: int = 0,
) -> list[float]:
    """The noisy sum, as a release measures it; with noise for `fewer` rows of a user."""
    step = counted(where.rows).step
    change = where.rows.most_left_out(_USER, whole=step > 1, known_max=_KNOWN_MAX) // step
    rate = Fraction(epsilon) / (change - fewer * STEPS // step)
    noise = LevelNoise("laplace", (rate,))
    drawn = measure_left_out(counted(where.rows), change=change, noise=noise, source=source)
    before, after = (_left_out(counted(rows)) for rows in (where.before, where.after))
    noisy = int(drawn.steps[0][0])
    return [laplace_gain([noisy], [before], [after], rate), float(noisy - before)]


def _all_that_is_left_out(
    way: str, epsilon: float, where: Owned, source: EntropySource
) -> list[float]:
    """The same noise on a sum in which a user counts for all rows."""
    del way
    rate = Fraction(epsilon) / (_KNOWN_MAX - _AT_MOST)
    before, own = _not_clipped(where.before), _not_clipped(where.rows)
    noisy = own + int(sample_discrete_laplace(rate, 1, source)[0])
    return [laplace_gain([noisy], [before], [_not_clipped(where.after)], rate), noisy - before]


@audited_runs(
    "users: rows left out, {}",
    ("kept", "scaled"),
    pairs=_PAIRS,
    incorrect_variants={
        "sensitivity M - k - 1": {"fewer": 1},
        "a user who counts for all rows": _all_that_is_left_out,
    },
    variant_pairs=_PAIRS,
    runs=6000,
)
def _rows_left_out(
    way: str, epsilon: float, where: Owned, source: EntropySource, fewer: int = 0
) -> list[float]:
    return _of_sum(epsilon, where, source, _kept if way == "kept" else _scaled, fewer)
