"""Audits of tables over time: everything that a series publishes in its horizon, together.

Neighbours are rows with and without one row, or all rows of one user, in several periods. Each run
goes through all periods in their order, as `update_flows` does; what has no noise is computed once.
A run gives the log likelihood ratio of the neighbours for all that was published, and the numbers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp import UpdatePlan, update_plan
from graphcuts_dp.arrays import IntVector
from graphcuts_dp.estimate.time_strategy import (
    CALENDAR_YEARS,
    INDEPENDENT,
    SQUARE_ROOT,
    IntMatrix,
    TimeStrategy,
)
from graphcuts_dp.evaluation.audit import Neighbours
from graphcuts_dp.graph.lifelong import UsedContributions
from graphcuts_dp.measure.updates import UpdateState, measure_period, true_sums
from graphcuts_dp.plugins import EntropySource
from graphcuts_dp.privacy.level_noise import LevelNoise
from tests.audits.base import audited_laws, audited_runs, claimed_for
from tests.audits.losses import DistributionPair, laplace_gain, normal_pair, side_by_side
from tests.audits.rows import Row, rows_of

_AT_MOST = 2
_ROW, _USER = gc.PrivacyUnit.row(), gc.PrivacyUnit.user(max_contributions=_AT_MOST)
_GROUPS = gc.Groups(gc.VertexSet(4), {"half": [0, 0, 1, 1]})
_PERIODS = 3  # of `rows_of`: three months of one year
_RHO = claimed_for(1e-6)


@cache
def _plan(owned: bool, strategy: str, epsilon: float) -> UpdatePlan:
    public = rows_of((), "rows", owned=owned)
    unit = _USER if owned else _ROW
    return update_plan(public, _GROUPS, epsilon=epsilon, privacy_unit=unit, strategy=strategy)


def _sums(rows: gc.Rows, *, forgetful: bool = False) -> list[IntVector]:
    """True sums of each period; of a forgetful series without what users have used up before."""
    plan = _plan(rows.owned, INDEPENDENT, 1.0)
    state = UpdateState.start(plan.privacy_unit)
    for period in range(_PERIODS):
        if forgetful:
            state = UpdateState(state.sums, UsedContributions.none())
        state = true_sums(
            rows,
            plan.sides,
            plan.cells,
            state,
            period=period,
            grid=plan.grid,
            whole=plan.whole,
            privacy_unit=plan.privacy_unit,
        )
    return [state.sums[period] for period in range(_PERIODS)]


@dataclass(frozen=True, eq=False)
class Updated:
    """One of two neighbours, as a series counts it.

    Attributes:
        owned: whether rows have users.
        before: true sums of the first neighbour, by period.
        after: those of the second.
        is_first: which of them this is.
    """

    owned: bool
    before: Sequence[IntVector] = field(repr=False)
    after: Sequence[IntVector] = field(repr=False)
    is_first: bool

    @property
    def true(self) -> Sequence[IntVector]:
        """Those of this one."""
        return self.before if self.is_first else self.after


def _neighbours(
    name: str, others: Sequence[Row], new: Sequence[Row], *, owned: bool, forgetful: bool = False
) -> Neighbours:
    before, after = (
        _sums(rows_of(listed, "rows", owned=owned), forgetful=forgetful)
        for listed in (others, (*others, *new))
    )
    first, second = (Updated(owned, before, after, one) for one in (True, False))
    return Neighbours(name, first, second)


_OTHERS: tuple[Row, ...] = tuple(
    (user, 0, 2, period, 1.0) for user in range(3) for period in range(_PERIODS)
)
_LIFE: tuple[Row, ...] = tuple(
    (9, first, second, period, 1.0)
    for period in range(_PERIODS)
    for first, second in ((0, 3), (2, 2))
)
_ROWS = (
    _neighbours("a row of the first month", _OTHERS, _LIFE[:1], owned=False),
    _neighbours("a row of the last month", (), _LIFE[-1:], owned=False),
)
_USERS = (
    _neighbours("a user of all months", _OTHERS, _LIFE, owned=True),
    _neighbours("a user of two months", (), (_LIFE[0], _LIFE[3]), owned=True),
)
_FORGOTTEN = (_neighbours("a user of all months", _OTHERS, _LIFE, owned=True, forgetful=True),)


def _published(
    sums: Sequence[IntVector], strategy: TimeStrategy, noise: LevelNoise, source: EntropySource
) -> list[IntMatrix]:
    """Return all numbers of each level, published period after period."""
    levels: list[list[IntMatrix]] = [[] for _ in strategy.levels]
    for period in range(len(sums)):
        state = UpdateState(dict(enumerate(sums[: period + 1])))
        numbers, _ = measure_period(state, strategy, noise, period=period, source=source)
        for level, published in zip(levels, numbers, strict=True):
            level.append(published)
    return [np.concatenate(level) for level in levels]


def _reported(
    where: Updated, strategy: TimeStrategy, noise: LevelNoise, noisy: Sequence[IntMatrix]
) -> list[float]:
    """Return the log likelihood ratio of what was published, and all of it above the first's."""
    gain, numbers = 0.0, []
    for level, rate, published in zip(strategy.levels, noise.parameters, noisy, strict=True):
        before, after = (level.rows @ np.array(sums) for sums in (where.before, where.after))
        gain += laplace_gain(published, before, after, rate)
        numbers += (published - before).ravel().astype(np.float64).tolist()
    return [gain, *numbers]


@audited_runs(
    "updates: {}, laplace",
    (INDEPENDENT, CALENDAR_YEARS),
    pairs=_ROWS,
    incorrect_variants=lambda strategy: {
        "half the noise": {"factor": 2},
        "rows counted from their month on": {"running": True},
        **(
            {
                "year forgotten in the budget": {"whole_budget": True},
                "noise reused": {"reused": True},
            }
            if strategy == CALENDAR_YEARS
            else {}
        ),
    },
    runs=6000,
)
def _rows_over_time(
    strategy: str,
    epsilon: float,
    where: Updated,
    source: EntropySource,
    factor: int = 1,
    running: bool = False,
    whole_budget: bool = False,
    reused: bool = False,
) -> list[float]:
    """The way that `update_flows` goes, for rows."""
    plan = _plan(where.owned, strategy, epsilon)
    rates = [factor * rate for rate in plan.noise.parameters]
    if whole_budget:
        rates = [Fraction(epsilon) / plan.largest_change for _ in rates]
    noise = LevelNoise("laplace", tuple(rates))
    if running:
        before, after = (list(np.cumsum(sums, axis=0)) for sums in (where.before, where.after))
        where = Updated(where.owned, before, after, where.is_first)
    noisy = _published(where.true, plan.strategy, noise, source)
    if reused:
        months, years = noisy
        true = np.array(where.true)
        noisy = [months, true.sum(axis=0, keepdims=True) + months[-1:] - true[-1:]]
        assert years.shape == noisy[1].shape
    return _reported(where, plan.strategy, noise, noisy)


@audited_runs(
    "users: updates, {}",
    (INDEPENDENT, CALENDAR_YEARS),
    pairs=_USERS,
    incorrect_variants={
        "noise of one row for a user": {"factor": _AT_MOST},  # half the noise
        "bound that begins again each month": {"forgetful": True},
    },
    runs=6000,
    slow=lambda strategy: strategy == CALENDAR_YEARS,  # of rows, it is quick above
)
def _users_over_time(
    strategy: str,
    epsilon: float,
    where: Updated,
    source: EntropySource,
    factor: int = 1,
    forgetful: bool = False,
) -> list[float]:
    """The way that `update_flows` goes, for users with a bound for all periods."""
    if forgetful:
        (pair,) = _FORGOTTEN
        where = pair.first if where.is_first else pair.second
    plan = _plan(where.owned, strategy, epsilon)
    noise = LevelNoise("laplace", tuple(factor * rate for rate in plan.noise.parameters))
    noisy = _published(where.true, plan.strategy, noise, source)
    return _reported(where, plan.strategy, noise, noisy)


_HORIZON = gc.Periods.of("2026-11..2027-04").labels


@audited_laws(
    "updates: {}, gaussian",
    (INDEPENDENT, CALENDAR_YEARS, SQUARE_ROOT),
    incorrect_variants=lambda strategy: {
        "half the noise": {"factor": 2},
        **(
            {"sensitivity of one published number": {"one_number": True}}
            if strategy == SQUARE_ROOT
            else {"sensitivity of one row for a user": {"largest": 1}}
        ),
    },
    claim=_RHO,
)
def _gaussian_over_time(
    strategy: str,
    epsilon: float,
    factor: int = 1,
    one_number: bool = False,
    largest: int = _AT_MOST,
) -> Iterator[DistributionPair]:
    """Exact losses for every choice of the periods in which a user's two rows lie, in one cell."""
    chosen = TimeStrategy(name=strategy, periods=_HORIZON)
    plan = chosen.budget_plan(epsilon=epsilon, delta=1e-6)
    variances = [float(v) / factor**2 for v in chosen.noise(plan, largest).parameters]
    if one_number:
        squares = [int((level.rows**2).max()) for level in chosen.levels]
        paid = [change for _, change in chosen.changes(1)]
        variances = [v * s / p for v, s, p in zip(variances, squares, paid, strict=True)]
    for periods in combinations_with_replacement(range(len(_HORIZON)), _AT_MOST):
        parts = [
            normal_pair(variance, float(shift))
            for level, variance in zip(chosen.levels, variances, strict=True)
            for shift in level.rows[:, list(periods)].sum(axis=1).tolist()
            if shift
        ]
        yield side_by_side(f"rows in the months {periods}", parts)
