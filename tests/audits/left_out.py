"""Audits of the noisy number of rows that a bound on contributions leaves out.

Neighbours are rows with and without all rows of one user, who has as many as the known maximum, or
far more. A row above the bound is dropped ("kept": the other rows count in full), or all rows of
the user are scaled down ("scaled").
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

_BOUND = 1  # contributions of a user that count
_KNOWN_MAX = 3  # public: rows of a user above this number are not counted as left out
_USER = gc.PrivacyUnit.user(max_contributions=_BOUND)

_OTHERS: tuple[Row, ...] = tuple(
    (user, 0, 2, user % 3, 1.0) for user in range(4) for _ in range(1 + user)
)
_AS_KNOWN: tuple[Row, ...] = tuple((9, 1, 3, period, 1.0) for period in range(_KNOWN_MAX))
_FAR_MORE: tuple[Row, ...] = tuple((9, 1, 3, number % 3, 1.0) for number in range(40))


def _neighbours(name: str, rows_of_user: tuple[Row, ...]) -> Neighbours:
    """Return neighbours of which the second has all these rows of one more user."""
    before, after = (
        rows_of(rows, "rows", owned=True) for rows in (_OTHERS, _OTHERS + rows_of_user)
    )
    return Neighbours(name, Owned(before, after, True), Owned(before, after, False))


_PAIRS = (
    _neighbours("a user with as many rows as known", _AS_KNOWN),
    _neighbours("a user with far more", _FAR_MORE),
)


@once
def _counts_of_whole_rows(rows: gc.Rows) -> PairCounts:
    return counted_rows(rows, _USER, whole=True, known_max=_KNOWN_MAX)


@once
def _counts_of_scaled_rows(rows: gc.Rows) -> PairCounts:
    return counted_rows(rows, _USER, whole=False, known_max=_KNOWN_MAX)


def _left_out(counts: PairCounts) -> int:
    """Return the true number of rows left out, in the steps of the counts."""
    assert counts.cells.left_out is not None
    return counts.cells.left_out // counts.step


@once
def _all_left_out(rows: gc.Rows) -> int:
    """Count all rows that the bound leaves out, however many one user has."""
    return int(np.maximum(rows.contributions() - _BOUND, 0).sum())


def _observations(
    epsilon: float,
    side: Owned,
    source: EntropySource,
    counts_of: Callable[[gc.Rows], PairCounts],
    missing_rows: int = 0,
) -> list[float]:
    """Return what the noisy number of a release shows.

    Args:
        epsilon: of the number.
        side: one of two neighbours, which knows both.
        source: of the noise.
        counts_of: counts rows by the bound.
        missing_rows: number of rows of a user that the noise does not hide; 0 if sound.

    Returns:
        ln(Q/P) of the noisy number, P on the first neighbour and Q on the second; and the number
        above that of the first neighbour.
    """
    step = counts_of(side.rows).step
    change = side.rows.most_left_out(_USER, whole=step > 1, known_max=_KNOWN_MAX) // step
    rate = Fraction(epsilon) / (change - missing_rows * STEPS // step)
    noise = LevelNoise("laplace", (rate,))
    measurement = measure_left_out(counts_of(side.rows), change=change, noise=noise, source=source)
    before, after = (_left_out(counts_of(rows)) for rows in (side.before, side.after))
    noisy = int(measurement.steps[0][0])
    return [laplace_gain([noisy], [before], [after], rate), float(noisy - before)]


def _count_all_left_out(
    _handling: str, epsilon: float, side: Owned, source: EntropySource
) -> list[float]:
    """Add the noise of a release to a number in which a user counts for all rows."""
    rate = Fraction(epsilon) / (_KNOWN_MAX - _BOUND)
    before, after = _all_left_out(side.before), _all_left_out(side.after)
    noisy = _all_left_out(side.rows) + int(sample_discrete_laplace(rate, 1, source)[0])
    return [laplace_gain([noisy], [before], [after], rate), noisy - before]


@audited_runs(
    "users: rows left out, {}",
    ("kept", "scaled"),
    pairs=_PAIRS,
    incorrect_variants={
        "sensitivity M - k - 1": {"missing_rows": 1},
        "a user who counts for all rows": _count_all_left_out,
    },
    variant_pairs=_PAIRS,
    runs=6000,
)
def _run_left_out(
    handling: str, epsilon: float, side: Owned, source: EntropySource, missing_rows: int = 0
) -> list[float]:
    counts_of = _counts_of_whole_rows if handling == "kept" else _counts_of_scaled_rows
    return _observations(epsilon, side, source, counts_of, missing_rows)
