"""What is told of how much users have: exactly one user's worth of change, paid and charged."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

import graphcuts_dp as gc
from graphcuts_dp import (
    BudgetError,
    Contributions,
    KindError,
    ParameterError,
    choose_contribution_bound,
    release_contributions,
)
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE
from graphcuts_dp.measure.statistics import class_counts, share_scores, share_sensitivity
from graphcuts_dp.planning import plan_contribution_bounds
from graphcuts_dp.schema.counting import COUNTINGS
from tests.audits.rows_in_memory import bounded, rows_in_memory

pytestmark = pytest.mark.usefixtures("one_database")  # of many small tables

N = 40


@pytest.fixture
def counted_once(monkeypatch):
    """Many releases of the same rows differ in noise alone; the engine counts users once."""
    count, known = gc.Rows.contributions, {}

    def contributions(rows, *, per_period=False):
        key = id(rows), per_period
        if key not in known:
            known[key] = rows, count(rows, per_period=per_period)  # the rows, to keep the id
        return known[key][1].copy()

    monkeypatch.setattr(gc.Rows, "contributions", contributions)


def rows_of(sizes, counting="rows"):
    """Users with so many rows each, of different pairs as long as there are any."""
    first, second = np.triu_indices(N, 1)
    each = [np.arange(size) % len(first) for size in sizes]
    picked = np.concatenate(each or [np.zeros(0)]).astype(int)
    return rows_in_memory(
        gc.VertexSet(N),
        np.repeat(np.arange(len(sizes)), sizes),
        np.arange(len(sizes), dtype=np.uint64),
        (first[picked], second[picked]),
        np.full(len(picked), 0.5) if counting == "weight" else None,
        counting=counting,
    )


@pytest.mark.parametrize("counting", COUNTINGS)
def test_one_user_changes_one_count_by_one_and_no_score_by_more_than_stated(counting):
    bounds, sizes = (1, 2, 4), range(1, 9)
    # Users are counted one by one, and each is in one class.
    rows = rows_of(sizes, counting)
    own = [-(-size // 2) if counting == "weight" else size for size in sizes]
    assert rows.contributions().tolist() == sorted(own)
    places = np.searchsorted(bounds, own)
    assert class_counts(rows, bounds).tolist() == np.bincount(places, minlength=4).tolist()
    for share in (Fraction(1, 20), Fraction(1, 2), Fraction(2, 3)):
        for others in product(range(3), repeat=4):  # so many users in each class
            for place in places:
                before, after = np.array(others), np.array(others) + np.eye(4, dtype=int)[place]
                change = share_scores(after, share) - share_scores(before, share)
                assert np.abs(change).max() <= share_sensitivity(share)


def test_the_table_is_right_and_its_noise_as_stated(tmp_path):
    rows = rows_of([1] * 50 + [3] * 20 + [30] * 5)
    store = gc.Store(tmp_path / "x.db", budget=3)
    table = release_contributions(rows, epsilon=2.0, bounds=[1, 2, 5, 10], store=store)
    assert (table.rate, table.what) == (2, "rows")
    assert (table.guarantee.privacy_unit, table.guarantee.epsilon) == ("1 user", 2)
    # Noise of rate 2: farther off than 20 with a probability below 1e-17.
    assert np.abs(table.counts - [50, 0, 20, 0, 5]).max() <= 20
    assert gc.store_status(store).uses[0].use.cost.pure == 2
    with pytest.raises(BudgetError):
        release_contributions(rows, epsilon=1.5, store=store)
    with pytest.raises(ValueError, match="read-only"):
        table.counts[0] = 7


@pytest.mark.usefixtures("counted_once")
def test_how_many_are_above_and_what_is_left_out():
    table = Contributions.public((1, 2, 5), [50, 10, 20, 0], "pairs")
    assert table.users_above(1) == (30, 0)
    assert table.users_above(5) == (0, 0)
    assert table.left_out(2) == (20 * 1, 20 * 3)
    assert table.left_out(1) == (10 + 20 * 2, 10 + 20 * 4)
    beyond = Contributions.public((1, 2), [5, 5, 5])
    assert beyond.left_out(1) == (5 + 5 * 2, math.inf)
    with pytest.raises(ParameterError, match="none of the bounds"):
        table.left_out(3)
    rows = rows_of([1] * 30 + [9] * 10)
    within = 0
    for seed in range(200):
        made = release_contributions(rows, epsilon=1.0, bounds=[1, 2, 5], seed=seed)
        found, radius = made.users_above(2)
        within += abs(found - 10) <= radius
    # At least 95 % are; fewer than 170 of 200 has a probability below 1e-7.
    assert within >= 170
    # Exactly: so is the sum of the noises of two classes, and half the radius would not do.
    one = np.exp(-np.abs(np.arange(-60, 61.0)))
    two = np.convolve(one / one.sum(), one / one.sum())
    beyond = [two[np.abs(np.arange(-120, 121)) > t].sum() for t in (radius, radius // 2)]
    assert beyond[0] <= 0.05 < beyond[1]
    assert not made.guarantee.is_private


RANDOM = np.random.default_rng(3)
USUAL = RANDOM.integers(1, 15, 400)
# Sizes of users, in whole rows.
HEAVY = {
    "uniform": USUAL,
    "lognormal": np.ceil(RANDOM.lognormal(1, 1.5, 400)).astype(int),
    "one heavy": np.append(USUAL, 2200),  # 44 % of all rows
    "ten heavy": np.append(USUAL, np.full(10, 500)),
}


@pytest.mark.thorough(cases=2)
@pytest.mark.usefixtures("counted_once")
@pytest.mark.parametrize("shape", HEAVY)
def test_what_is_left_out_lies_in_its_range_for_all_bounds_at_once(shape):
    """Also where one user has most of the rows, whom noise hides."""
    sizes = HEAVY[shape]
    bounds, most = (1, 2, 5, 10, 50, 200, 1000), int(sizes.max())
    rows = rows_of(sizes)
    true = class_counts(rows, bounds)
    beyond = {bound: int(np.maximum(sizes - bound, 0).sum()) for bound in bounds}
    off = missed = 0
    for seed in range(60):
        table = release_contributions(rows, epsilon=0.5, bounds=bounds, seed=seed)
        off += bool((np.abs(table.counts - true) > table.radius).any())
        lost = False
        for bound, truth in beyond.items():
            low, high = table.left_out(bound, known_max=most)
            unknown = table.left_out(bound)
            assert unknown[0] >= low
            assert unknown[1] >= high
            lost |= not low <= truth <= high
        missed += lost
    # 5 % at most: 13 or more of 60 have a probability below 1e-5.
    assert missed <= off < 13


@pytest.mark.thorough
@pytest.mark.usefixtures("counted_once")
@pytest.mark.parametrize("runs", [80, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("shape", HEAVY)
def test_what_one_bound_leaves_out_lies_in_its_own_narrower_range(shape, runs):
    sizes = HEAVY[shape]
    bounds, most, bound = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000), int(sizes.max()), 10
    rows = rows_of(sizes)
    truth = int(np.maximum(sizes - bound, 0).sum())
    missed, above, widths = 0, 0, []
    for seed in range(runs):
        table = release_contributions(rows, epsilon=0.5, bounds=bounds, seed=seed)
        low, high = table.left_out_of_one(bound, known_max=most)
        unknown, infinite = table.left_out_of_one(bound)
        missed += not low <= truth <= high
        above += unknown > truth
        widths.append((high - low, np.subtract(*table.left_out(bound, known_max=most)[::-1])))
        assert math.isinf(infinite)
    assert max(missed, above) <= runs * 0.05 + 3 * math.sqrt(runs * 0.05 * 0.95)
    own, for_all = np.mean(widths, axis=0)
    assert own < for_all * (1 if most < 20 else 0.8)


def test_a_public_table_has_exact_ranges_for_one_bound():
    table = Contributions.public((1, 2, 5), [50, 10, 20, 0])
    assert table.left_out_of_one(2) == table.left_out(2) == (20 * 1, 20 * 3)
    assert table.left_out_of_one(5, known_max=5) == (0, 0)
    plan = plan_contribution_bounds(table, epsilon=1, known_max=5, max_contributions=2)
    assert plan.chosen == (2, (20, 60))
    assert "at least 20 and at most 60 further rows are left out, if nobody has more than 5" in (
        plan.coverage
    )
    assert "narrower" in plan.coverage
    alone = plan_contribution_bounds(table, epsilon=1, max_contributions=2)
    assert "at least 20 and at most 60 further rows are left out." in alone.coverage
    assert "only their lower ends" in alone.coverage
    with pytest.raises(ParameterError, match="none of the bounds"):
        plan_contribution_bounds(table, epsilon=1, max_contributions=3)


@pytest.mark.usefixtures("counted_once")
def test_no_finite_number_is_told_that_a_hidden_user_could_pass():
    # What is told differs by a factor of e^0.5, so it cannot be finite on one of them alone.
    for rows in (rows_of(HEAVY["one heavy"]), rows_of(USUAL)):
        terms = {"epsilon": 0.5, "bounds": (1, 5, 10, 20)}
        made = [release_contributions(rows, **terms, seed=seed) for seed in range(100)]
        assert sum(math.isinf(each.left_out(10)[1]) for each in made) >= 90


def test_rows_of_users_that_noise_cannot_hide():
    noisy = {"bounds": (1, 5, 20), "rate": Fraction(1, 2)}
    table = Contributions(counts=np.array([900, -2, 300, 3]), **noisy)
    assert table.radius == 9  # of 4 classes: 2 e^(-10/2)/(1 + e^(-1/2)) <= 0.05/4 < the same at 8
    assert table.left_out_by_detected(5) == 309 * 15
    assert table.left_out(5) == (291 * 1, math.inf)
    assert table.left_out(5, known_max=40) == (291 * 1, 309 * 15 + 12 * 35)
    assert table.left_out(5, known_max=20) == (291 * 1, 309 * 15)  # nobody is beyond
    assert table.left_out(1, known_max=4) == (0, 7 * 3)
    assert Contributions.public((1, 2), [5, 5, 5]).left_out_by_detected(1) == 5 + 5 * 2
    for wrong in (0, -1, 1.5, True):
        with pytest.raises(ParameterError, match="known_max must be"):
            table.left_out(5, known_max=wrong)
    hidden = plan_contribution_bounds(table, epsilon=1)
    assert (hidden.confidence, hidden.undetectable) == (DEFAULT_CONFIDENCE, 9)
    assert "any number of rows" in hidden.warning
    assert "unknown" in str(hidden)
    assert str(hidden).endswith(hidden.warning)
    known = plan_contribution_bounds(table, epsilon=1, known_max=1000)
    assert known.warning == ""
    # 300 of 6 to 20 rows show; nobody beyond does, so with no known maximum the table ends there.
    bounds = (1, 5, 20, 50, 100)
    longer = Contributions(
        counts=np.array([900, -2, 300, 3, -1, 5]), bounds=bounds, rate=Fraction(1, 2)
    )
    for known_max, end in ((None, 20), (40, 50), (1000, 100)):
        plan = plan_contribution_bounds(longer, epsilon=1, known_max=known_max)
        shown = [int(row[0].replace(",", "")) for row in plan._card().rows]
        assert shown == [bound for bound in bounds if bound <= end]
        assert ("are not shown: noise hides how many users" in str(plan)) == (end < 100)
        assert [row.max_contributions for row in plan.rows] == list(bounds)
    for row in plan.rows:
        number, error = longer.users_above(row.max_contributions)
        assert (row.users_above, row.users_above_error) == (number, error)
    # 12 users of 1,000 rows might be there: a bound that leaves out the fewest is recommended.
    assert (hidden.best.max_contributions, known.best.max_contributions) == (20, 20)
    assert known.best.left_out[1] == 12 * 980
    few = Contributions(counts=np.array([900, 9, 2, 0]), **noisy)
    assert plan_contribution_bounds(few, epsilon=0.1).best.max_contributions == 1
    assert plan_contribution_bounds(few, epsilon=0.1, known_max=30).best.max_contributions == 20


@pytest.mark.thorough
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 5.0])
def test_the_share_that_a_bound_leaves_out_is_no_larger_than_stated(epsilon):
    """With a known maximum, for all bounds at once, where every count is within its radius."""
    sizes = [1] * 500 + [4] * 300 + [18] * 120 + [55] * 25
    truths = {
        bound: sum(max(0, size - bound) for size in sizes) / sum(sizes) for bound in (1, 5, 20, 50)
    }
    held = 0
    for seed in range(20):
        table = release_contributions(
            rows_of(sizes), epsilon=epsilon, bounds=[1, 5, 20, 50], seed=seed
        )
        plan = plan_contribution_bounds(table, epsilon=1, known_max=60)
        held += all(
            row.share_left_out >= truths[row.max_contributions] and row.share_left_out <= 1
            for row in plan.rows
        )
        unknown = plan_contribution_bounds(table, epsilon=1)
        assert {row.share_left_out for row in unknown.rows} == {1.0}
    assert held >= 17  # of 20 with at least 95 %: fewer with a chance of 0.3 %
    public = Contributions.public((1, 5, 20), [500, 300, 120, 25])
    # At least one row of each of 500 users, two of each of 300, and five of each of 145.
    assert public.counted_at_least(5) == 500 + 300 * 2 + 145 * 5
    row = plan_contribution_bounds(public, epsilon=1, known_max=60).rows[1]
    assert row.share_left_out == (120 * 15 + 25 * 55) / (120 * 15 + 25 * 55 + 1825)


def test_a_bound_that_is_chosen_is_near_the_quantile(tmp_path):
    sizes = [1] * 500 + [4] * 400 + [25] * 60 + [300] * 40
    store = gc.Store(tmp_path / "x.db", budget=2)
    chosen = choose_contribution_bound(rows_of(sizes), epsilon=2.0, share_above=0.05, store=store)
    # 4 % are above 30 and 10 % above 20: 200 and 1,000 thousandths of 1,000 users away from it.
    # With rate 2/(2 19), each of the others has e^(-(1000-200)/19) of the chance, below 1e-18.
    assert 30 <= chosen.max_contributions <= 200
    assert chosen.guarantee.privacy_unit == "1 user"
    assert [each.use.kind for each in gc.store_status(store).uses] == ["bound"]
    assert choose_contribution_bound(
        rows_of(sizes), epsilon=50.0, share_above=0.5
    ).max_contributions in (
        1,
        2,
        3,
    )


BOTH = [release_contributions, choose_contribution_bound]


@pytest.mark.parametrize(
    ("functions", "options", "words"),
    [
        (BOTH, {"epsilon": 0}, "epsilon must be"),
        (BOTH, {"bounds": []}, "bounds are"),
        (BOTH, {"bounds": [2, 2]}, "must ascend"),
        (BOTH, {"bounds": [0, 2]}, "bounds are"),
        (BOTH, {"bounds": [1.5]}, "bounds are"),
        (BOTH, {"rows": bounded(rows_of([1]), 1)}, r"Rows\.read"),
        *(
            ([choose_contribution_bound], {"share_above": share}, "share_above must be")
            for share in (0, 1, 0.0001, True, "half", math.nan)
        ),
    ],
)
def test_what_cannot_be_asked_for(functions, options, words):
    for function in functions:
        with pytest.raises((ParameterError, KindError), match=words):
            function(**{"rows": rows_of([1, 2]), "epsilon": 1} | options)


def test_the_plan_weighs_noise_against_what_is_left_out():
    few = Contributions.public((1, 2, 5, 10, 20), [10, 0, 0, 1, 2, 0])
    many = Contributions.public((1, 2, 5, 10, 20), [1000, 0, 0, 100, 200, 0])
    assert (
        plan_contribution_bounds(few, epsilon=1).best.max_contributions
        < plan_contribution_bounds(many, epsilon=1).best.max_contributions
    )
    plan = plan_contribution_bounds(many, epsilon=1)
    assert plan.best.max_contributions == 20
    row = plan.rows[2]
    # Discrete Laplace noise of rate 1/5 has variance 1/(2 sinh(0.1)^2).
    assert row.noise == pytest.approx(math.sqrt(0.5) / math.sinh(0.1))
    assert row.left_out == (100 * 1 + 200 * 6, 100 * 5 + 200 * 15)
    assert row.users_above == 300
    assert plan_contribution_bounds(many, epsilon=1, cells=10_000).best.max_contributions == 1
    assert str(plan).splitlines()[0].endswith("the best is 20")
    assert (plan.confidence, plan.undetectable, plan.warning) == (1.0, 0, "")
    with pytest.raises(ParameterError, match="one count more"):
        Contributions.public((1, 2), [1, 2])
    for options, words in (({"epsilon": 1, "cells": 0}, "cells must be"), ({"epsilon": 0}, "eps")):
        with pytest.raises(ParameterError, match=words):
            plan_contribution_bounds(many, **options)
    with pytest.raises(ParameterError, match=r"^most is now called known_max$"):
        plan_contribution_bounds(many, epsilon=1, most=30)


MONTHS = ("2026-01", "2026-02", "2026-03")


def dated(seed=1, count=400, *, counting="rows", periods=MONTHS[:2], without=None):
    """Rows of 30 users in three months, of which some are declared, and the same as a table.

    Perhaps without those of one user in one month.
    """
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "who": rng.integers(0, 30, count) * rng.integers(0, 2, count),
            "a": rng.integers(0, N, count),
            "b": rng.integers(0, N, count),
            "month": rng.choice(MONTHS, count),
            "amount": rng.random(count),
        }
    )
    if without is not None:
        table = table[(table.who != without[0]) | (table.month != without[1])]
    weight = "amount" if counting == "weight" else None
    columns = gc.Columns(source="a", target="b", user="who", period="month", weight=weight)
    rows = gc.Rows.of(table, columns=columns, vertices=N, counting=counting, periods=list(periods))
    return rows, table[table.month.isin(periods)]


@pytest.mark.parametrize("counting", COUNTINGS)
@pytest.mark.parametrize("per_period", [False, True])
def test_a_user_may_count_in_each_period_as_one_of_its_own(counting, per_period):
    rows, table = dated(counting=counting)
    who = ["who", "month"] if per_period else ["who"]
    table = table.assign(low=table[["a", "b"]].min(axis=1), high=table[["a", "b"]].max(axis=1))
    if counting in ("edges", "users"):
        table = table.drop_duplicates(["who", "month", "low", "high"])
    found = rows.contributions(per_period=per_period)
    if counting == "weight":  # in units, rounded up at random and then as a whole
        own = table.groupby(who).amount.agg(["sum", "size"])
        assert len(found) == len(own)
        assert np.sum(found) >= own["sum"].sum() - len(table) / 2**9
        assert np.sum(found) <= own["sum"].sum() + len(own) + len(table) / 2**9
    else:
        assert found.tolist() == sorted(table.groupby(who).size())


@pytest.mark.thorough(cases=1)
@pytest.mark.usefixtures("counted_once")
@pytest.mark.parametrize("counting", ["rows", "edges"])
def test_a_user_in_one_period_changes_one_count_by_one(counting):
    """And where the bound is for all periods, it may change two: it does not protect that user."""
    whole, table = dated(count=150, counting=counting)
    changes = {True: set(), False: set()}
    for who, month in sorted(set(zip(table.who, table.month, strict=True)))[:10]:
        fewer, _ = dated(count=150, counting=counting, without=(who, month))
        for per_period, found in changes.items():
            counts = [class_counts(x, (1, 2, 4), per_period=per_period) for x in (whole, fewer)]
            found.add(int(np.abs(counts[0] - counts[1]).sum()))
    assert changes[True] == {1}
    assert max(changes[False]) == 2


@pytest.mark.parametrize("chosen", [release_contributions, choose_contribution_bound])
def test_a_bound_for_each_period_is_paid_from_the_store_of_its_tables(tmp_path, chosen):
    rows, _ = dated()
    store = gc.Store(tmp_path / "x.db", budget=1.0)
    found = chosen(rows, epsilon=0.5, per_period=True, store=store)
    assert found.guarantee.privacy_unit == "1 user in one month"
    assert "in any one period" in found.guarantee.neighbours
    groups = gc.Groups(gc.VertexSet(N), {"half": [vertex // 20 for vertex in range(N)]})
    privacy_unit = gc.PrivacyUnit.user(max_contributions=5, per_period=True)
    terms = {"epsilon": 0.5, "privacy_unit": privacy_unit, "by": "month", "store": store}
    later, _ = dated(periods=MONTHS[2:])
    gc.release_flows(rows, groups, **terms)
    gc.release_flows(later, groups, **terms)
    with pytest.raises(BudgetError, match="reads 2026-01, on which epsilon = 1 was spent"):
        chosen(rows, epsilon=0.5, per_period=True, store=store)
    status = gc.store_status(store)
    spent = {label: cost.epsilon for label, cost in status.periods.items()}
    assert spent == {"2026-01": 1.0, "2026-02": 1.0, "2026-03": 0.5}
    assert status.all_periods.epsilon == 2.5
    with pytest.raises(BudgetError, match="that of this use 1 user, "):
        chosen(rows, epsilon=0.1, store=store)


@pytest.mark.parametrize("chosen", [release_contributions, choose_contribution_bound])
def test_a_bound_for_each_period_needs_periods(chosen, tmp_path):
    with pytest.raises(ParameterError, match="needs rows with periods="):
        chosen(rows_of([1]), epsilon=1.0, per_period=True, store=tmp_path / "x.db")
    assert not list(tmp_path.iterdir())
