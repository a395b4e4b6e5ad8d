"""What a series publishes when: its sensitivity by brute force, its cost, and its errors."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from graphcuts_dp import ParameterError, Periods
from graphcuts_dp.estimate.time_estimator import TimeEstimator
from graphcuts_dp.estimate.time_strategy import (
    CALENDAR_YEARS,
    INDEPENDENT,
    SQUARE_ROOT,
    TIME_STRATEGIES,
    TimeStrategy,
)
from graphcuts_dp.plugins import SeededEntropy
from scripts import updates

MONTHS = Periods.of("2026-11..2027-03").labels


def strategy_of(name, periods=MONTHS):
    return TimeStrategy(name=name, periods=periods)


def all_changes(cells, periods, largest):
    """All whole changes of the true sums of some cells, whose moduli add up to a bound at most."""
    size = cells * periods
    for signs in itertools.product(range(-largest, largest + 1), repeat=size):
        if sum(map(abs, signs)) <= largest:
            yield np.array(signs).reshape(periods, cells)


@pytest.mark.parametrize("name", TIME_STRATEGIES[1:])
def test_no_change_moves_the_published_numbers_by_more_than_is_paid_for(name):
    """Of all cells and levels, by brute force, and the bound is reached."""
    periods, largest, cells = MONTHS[:3], 2, 2
    strategy = strategy_of(name, periods)
    moved = [
        (int(np.abs(level.rows @ x).sum()), int(((level.rows @ x) ** 2).sum()))
        for level in strategy.levels
        for x in all_changes(cells, len(periods), largest)
    ]
    count = len(moved) // len(strategy.levels)
    for index, paid in enumerate(strategy.changes(largest)):
        own = moved[index * count : (index + 1) * count]
        assert (max(a for a, _ in own), max(s for _, s in own)) == paid


@pytest.mark.parametrize("name", TIME_STRATEGIES[1:])
def test_a_row_that_some_numbers_do_not_read_moves_no_more(name):
    """As a row that comes late: entries are not negative, so parts of a column are smaller."""
    for level in strategy_of(name).levels:
        assert (level.rows >= 0).all()
        absolute, squared = level.change(1)
        for column in level.rows.T:
            for read in itertools.product((0, 1), repeat=len(column)):
                assert (column * read).sum() <= absolute
                assert ((column * read) ** 2).sum() <= squared


@pytest.mark.parametrize("name", TIME_STRATEGIES[1:])
def test_no_number_reads_a_period_that_is_not_over(name):
    strategy = strategy_of(name)
    for level in strategy.levels:
        for row, last in zip(level.rows, level.published_with, strict=True):
            assert row[last] > 0
            assert not row[last + 1 :].any()
        counts = [level.count(periods) for periods in range(len(MONTHS) + 1)]
        assert counts[0] == 0
        assert counts[-1] == len(level.rows)


def test_calendar_years_add_up_the_months_that_are_declared():
    months, years = strategy_of(CALENDAR_YEARS).levels
    assert (months.rows == np.eye(5)).all()
    assert years.rows.tolist() == [[1, 1, 0, 0, 0], [0, 0, 1, 1, 1]]
    assert years.published_with.tolist() == [1, 4]


def test_the_square_root_is_one_up_to_its_grid():
    (level,) = strategy_of(SQUARE_ROOT, Periods.of("2026-01..2030-12").labels).levels
    product = level.rows @ level.rows / 1024**2
    assert np.abs(product - np.tri(60)).max() < 5e-3
    assert np.linalg.matrix_rank(level.rows) == 60


@pytest.mark.parametrize("name", TIME_STRATEGIES[1:])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_noise_costs_exactly_the_budget(name, delta):
    strategy = strategy_of(name)
    plan = strategy.budget_plan(epsilon=0.7, delta=delta)
    noise = strategy.noise(plan, 2048)
    losses = [
        noise.kind.loss(parameter, change)
        for parameter, change in zip(noise.parameters, strategy.changes(2048), strict=True)
    ]
    assert sum(losses) == plan.amount == plan.spent
    if not delta:
        assert plan.amount == Fraction(0.7)


@pytest.mark.parametrize("name", TIME_STRATEGIES[1:])
def test_estimates_are_those_of_least_squares_and_unbiased(name):
    strategy = strategy_of(name)
    noise = strategy.noise(strategy.budget_plan(epsilon=1.0, delta=1e-6), 1)
    for published in range(1, len(MONTHS) + 1):
        estimator = TimeEstimator(strategy, noise, published)
        rows = np.concatenate(
            [level.rows[: level.count(published), :published] for level in strategy.levels]
        )
        counts = [level.count(published) for level in strategy.levels]
        weights = 1 / np.sqrt(np.repeat(noise.variances, counts))
        reference = np.linalg.pinv(rows * weights[:, None]) * weights
        for first, stop in itertools.combinations(range(published + 1), 2):
            h = estimator.coefficients(first, stop)
            window = np.zeros(published)
            window[first:stop] = 1
            assert np.allclose(h @ rows, window, atol=1e-9)
            assert np.allclose(h, reference[first:stop].sum(axis=0), atol=1e-9)


@pytest.mark.parametrize("name", TIME_STRATEGIES[1:])
def test_intervals_hold_as_often_as_they_say_and_deviations_are_right(name):
    strategy = strategy_of(name)
    delta = 1e-6 if name == SQUARE_ROOT else 0.0
    noise = strategy.noise(strategy.budget_plan(epsilon=1.0, delta=delta), 3)
    estimator, source, runs = TimeEstimator(strategy, noise, len(MONTHS)), SeededEntropy(3), 4000
    numbers = np.concatenate(
        [
            noise.draw(index, runs * len(level.rows), source).reshape(-1, runs).astype(np.float64)
            for index, level in enumerate(strategy.levels)
        ]
    )
    for first, stop in ((0, 1), (1, 4), (0, 5)):
        errors = estimator.estimates(numbers, first, stop)
        radius = estimator.radius(first, stop, 1, failure=0.05)
        assert (np.abs(errors) > radius).mean() < 0.05 + 0.015
        assert (np.abs(errors) > 0.6 * radius).mean() > 0.05
        assert np.isclose(errors.std(), estimator.deviation(first, stop), rtol=0.07)


def test_errors_of_sixty_months():
    """In units of one independent month's error at the same epsilon: the aims of the page."""
    root, pure = (SQUARE_ROOT, updates.DELTA), (CALENDAR_YEARS, 0.0)
    for length, most in ((12, 0.75), (24, 0.57), (60, 0.35)):
        alone = updates.error(INDEPENDENT, updates.DELTA, length)
        assert updates.error(*root, length) <= most * alone
    assert updates.error(*root, 1) <= 1.75
    year = updates.error(*pure, 12, 12) / updates.error(INDEPENDENT, 0.0, 12, 12)
    assert year <= 0.75
    assert updates.error(*pure, 1) <= 1.5
    assert (updates.first_gain(*root), updates.first_gain(*pure)) == (6, 16)
    assert updates.first_gain(*pure, 0.5) is None


def test_the_page_has_the_errors_that_are_computed():
    assert updates.table() in updates.PAGE.read_text(encoding="utf-8")


def test_what_suits_the_noise_is_chosen():
    choose = TimeStrategy.choose
    year = Periods.of("2026-01..2026-12").labels
    assert choose(year, delta=0.0).name == CALENDAR_YEARS
    assert choose(year[:-1], delta=0.0).name == INDEPENDENT  # nobody asked for eleven months
    assert choose(("2025-Q4", *Periods.of("2026-Q1..2026-Q4").labels), delta=0.0).levels[1:]
    assert choose(("2026", "2027"), delta=0.0).name == INDEPENDENT
    assert choose(("spring", "autumn"), delta=0.0).name == INDEPENDENT
    assert choose(MONTHS, delta=1e-6).name == SQUARE_ROOT
    with pytest.raises(ParameterError, match="delta"):
        choose(MONTHS, strategy=SQUARE_ROOT, delta=0.0)
    with pytest.raises(ParameterError, match="days, months or quarters"):
        choose(("spring", "autumn"), strategy=CALENDAR_YEARS, delta=0.0)
    with pytest.raises(ParameterError, match="choose one of"):
        choose(MONTHS, strategy="tree", delta=0.0)
    with pytest.raises(ParameterError, match="horizon"):
        choose(Periods.of("2001-01..2101-01").labels, delta=0.0)
