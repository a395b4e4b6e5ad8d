"""What is spent on each period, and that uses of different periods share no budget."""

import itertools
import json
import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import date, timedelta
from fractions import Fraction

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import BudgetError, LedgerError, ParameterError, Store
from graphcuts_dp.ledger.charges import begin_charge
from graphcuts_dp.ledger.opening import Budget, Subject, create_ledger, open_ledger
from graphcuts_dp.ledger.plain_values import plain
from graphcuts_dp.ledger.records import Kind
from graphcuts_dp.ledger.spending import Coverage
from graphcuts_dp.ledger.uses import (
    Use,
    check_budget,
    in_all_periods,
    spent_by_period,
    spent_on,
    spent_together,
    total_cost,
    uses_of,
)
from graphcuts_dp.plugins import Cost

MONTHS = [f"2026-{month:02}" for month in range(1, 13)]
IN_A_MONTH = "1 user in one month"
ONE = Cost.of_pure(Fraction(1))


def rows(column="day"):
    """Rows that stay in an engine, of which nothing is read here."""
    schema = {"kind": "rows", "vertices": [9], "directed": False, "weighted": False}
    return Subject.named(schema | {"period": column}, "trips")


def guarantee(cost=ONE, privacy_unit="1 row"):
    words = {"epsilon": cost.epsilon, "delta": cost.delta, "neighbours": "a row"}
    return gc.PrivacyGuarantee(privacy_unit=privacy_unit, **words)


def spend(store, *periods, cost=ONE, privacy_unit="1 row", column="day"):
    use = {
        "kind": "flows",
        "parameters": {},
        "cost": cost,
        "guarantee": guarantee(cost, privacy_unit),
    }
    begin_charge(store, rows(column), periods=periods or None, **use)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "trips.db", budget=1.0)


def spent(store):
    found = gc.store_status(store.path)
    return {label: cost.epsilon for label, cost in found.periods.items()}


def test_each_month_has_the_whole_budget_and_no_month_more(store):
    for month in MONTHS:
        spend(store, month)
    with pytest.raises(BudgetError) as caught:
        spend(store, "2026-03")
    assert str(caught.value) == (
        "the budget of these data (epsilon = 1) does not allow another use of epsilon = 1, delta ="
        " 0 that reads 2026-03, on which epsilon = 1 was spent; nothing was spent; what is"
        " published can still be asked, free of charge"
    )
    found = gc.store_status(store.path)
    assert len(found.uses) == 12
    assert (found.epsilon, found.delta, found.all_periods) == (1.0, 0.0, None)
    assert spent(store) == dict.fromkeys(MONTHS, 1.0)
    spend(store, "2027-01")


HALF = Cost.of_pure(Fraction(1, 2))
ADMITTED = {
    "disjoint": [["2026-01", "2026-02"], ["2026-03"]],
    "another year": [["2026"], ["2027-01"], ["2025-Q4"]],
    "a day of another month": [["2026-03"], ["2026-04-01"]],
    "a month of another quarter": [["2026-Q1"], ["2026-04"]],
    "names": [["spring"], ["autumn", "winter"]],
}
REFUSED = {
    "the same": ([["2026-03"], ["2026-03"]], "2026-03"),
    "one in common": ([["2026-01", "2026-02"], ["2026-02", "2026-03"]], "2026-02"),
    "a day of it": ([["2026-03"], ["2026-03-09"]], "2026-03-09"),
    "the month of a day": ([["2026-03-09"], ["2026-03"]], "2026-03-09"),
    "the quarter of a month": ([["2026-06"], ["2026-Q2"]], "2026-06"),
    "the year of a quarter": ([["2026-Q4"], ["2026"]], "2026-Q4"),
    "everything after a month": ([["2026-03"], []], "2026-03"),
    "a month after everything": ([[], ["2026-03"]], "2026-03"),
    "a name": ([["spring", "autumn"], ["autumn"]], "autumn"),
}


@pytest.mark.parametrize("name", ADMITTED)
def test_disjoint_periods_share_no_budget(store, name):
    for periods in ADMITTED[name]:
        spend(store, *periods)
    assert gc.store_status(store.path).epsilon == 1.0


@pytest.mark.parametrize("name", REFUSED)
def test_periods_that_overlap_share_one_budget(store, name):
    (first, then), period = REFUSED[name]
    spend(store, *first)
    with pytest.raises(BudgetError, match=f"that reads {period}, on which epsilon = 1 was spent"):
        spend(store, *then)
    assert len(gc.store_status(store.path).uses) == 1


def test_what_reads_everything_counts_for_every_period(store):
    spend(store, "2026-01", cost=HALF)
    spend(store, cost=HALF)
    spend(store, "2026-02", cost=HALF)
    assert spent(store) == {"2026-01": 1.0, "2026-02": 1.0}
    with pytest.raises(BudgetError, match="another use"):
        spend(store, "2026-02", cost=HALF)
    spend(store, "2026-03", cost=HALF)


EVERYWHERE = ["1 user", "1 edge", "3 edges", "1 vertex", "3 rows", "1 user in one week"]


@pytest.mark.parametrize("privacy_unit", EVERYWHERE)
def test_neighbours_that_differ_in_many_periods_pay_for_all_of_them(store, privacy_unit):
    spend(store, "2026-01", privacy_unit=privacy_unit)
    with pytest.raises(BudgetError, match="does not allow another use"):
        spend(store, "2026-02", privacy_unit=privacy_unit)
    found = gc.store_status(store.path)
    assert (found.periods, found.all_periods, found.epsilon) == ({}, None, 1.0)
    assert found.to_dict()["uses"][0]["periods"] == ["2026-01"]


@pytest.mark.parametrize("privacy_unit", [IN_A_MONTH, "1 edge in one month", "3 rows in one month"])
def test_neighbours_that_differ_in_one_month_pay_for_it_and_the_sum_is_told(store, privacy_unit):
    for month in MONTHS:
        spend(store, month, privacy_unit=privacy_unit)
    found = gc.store_status(store.path)
    assert (found.epsilon, found.all_periods.epsilon) == (1.0, 12.0)
    with pytest.raises(BudgetError, match=r"privacy unit of the store .* in one month"):
        spend(store, "2027-01", privacy_unit="1 user")


@pytest.mark.parametrize(
    ("privacy_unit", "read", "counted"),
    [
        (IN_A_MONTH, ["2026-03-05", "2026-03-06", "2026-04-01"], ["2026-03", "2026-04"]),
        ("1 user in one quarter", ["2026-02", "2026-03"], ["2026-Q1"]),
        ("1 user in one year", ["2026-02", "2026-12"], ["2026"]),
        ("1 user in one day", ["2026-03-05"], ["2026-03-05"]),
        ("1 user in one period", ["2026-02", "2026-03"], ["2026-02", "2026-03"]),
        ("1 user in one period", ["spring"], ["spring"]),
        ("1 row", ["2026-02", "2026-03-05", "2027"], ["2026-02", "2026-03-05", "2027"]),
        ("1 row", ["spring", "2026"], ["2026", "spring"]),
        # Of these nobody can say which of the neighbours' periods they are.
        (IN_A_MONTH, ["2026-Q1"], None),
        (IN_A_MONTH, ["spring"], None),
        ("1 user in one year", ["spring"], None),
        ("1 user in one period", ["2026-02", "2027"], None),
    ],
)
def test_a_cost_counts_for_whole_periods_of_the_neighbours(privacy_unit, read, counted):
    found = Coverage.of(read, "day", privacy_unit)
    assert (None if found is None else sorted(place[-1] for place in found.paths)) == counted


SCHEMES = {
    "names after dates": ({}, ["2026-03"], {}, ["spring"]),
    "dates after names": ({}, ["spring"], {}, ["2026-03"]),
    "another column": ({"column": "start"}, ["2026-01"], {"column": "end"}, ["2026-02"]),
    "days after months": (
        {"privacy_unit": "1 user in one period"},
        ["2026-01"],
        {"privacy_unit": "1 user in one period"},
        ["2026-02-01"],
    ),
}


@pytest.mark.parametrize("name", SCHEMES)
def test_periods_that_cannot_be_compared_are_refused_and_everything_can_be_read(store, name):
    first, read, then, other = SCHEMES[name]
    spend(store, *read, cost=HALF, **first)
    with pytest.raises(LedgerError, match="nobody knows which of them overlap; nothing") as caught:
        spend(store, *other, cost=HALF, **then)
    assert "\n" not in str(caught.value)
    spend(store, cost=HALF, privacy_unit=first.get("privacy_unit", "1 row"))
    assert gc.store_status(store.path).epsilon == 1.0


@pytest.mark.parametrize("periods", [(), ("",), ["2026-01"], "2026-01"])
def test_a_use_reads_some_period(store, periods):
    use = {"kind": "x", "parameters": {}, "cost": ONE, "guarantee": guarantee()}
    with pytest.raises(ParameterError, match="name the periods that are read"):
        begin_charge(store, rows(), periods=periods, **use)
    assert gc.store_status(store.path).uses == ()


def use_of(periods, cost, privacy_unit="1 row", number=1, column="day"):
    return Use(
        number=number,
        kind="flows",
        name="",
        parameters={},
        cost=cost,
        guarantee=guarantee(cost, privacy_unit),
        source={},
        reading={},
        periods=periods,
        column=column,
        time="",
        user="",
        made_by="",
    )


def as_stored(use):
    return json.loads(json.dumps(plain(use)))


DAMAGES = [[], "2026-03", [""], {"2026-03": 1}, 5, [5], [None], [["2026-03"]], True]


@pytest.mark.parametrize("periods", DAMAGES)
def test_damaged_periods_are_refused(store, periods):
    create_ledger(store, rows(), privacy_unit="1 row")
    with closing(open_ledger(store)) as ledger, ledger.locked():
        good = as_stored(use_of(("2026-03",), ONE))
        assert good["periods"] == ["2026-03"]
        with ledger.writing() as entries:
            entries.add(Kind.BEGIN, 1, good | {"periods": periods})
        with pytest.raises(LedgerError, match="is damaged") as caught:
            uses_of(ledger)
    assert "2026" not in str(caught.value).replace(str(store.path), "")
    with pytest.raises(LedgerError, match="is damaged"):
        spend(store, "2026-03")


def test_periods_are_kept_as_they_were_declared(store):
    spend(store, "2026-03-05", "2026-03-06", privacy_unit=IN_A_MONTH)
    (status,) = gc.store_status(store.path).uses
    assert (status.use.periods, status.use.column) == (("2026-03-05", "2026-03-06"), "day")
    plainly = use_of(None, ONE)
    assert "periods" not in plain(plainly)


def test_whoever_comes_at_the_same_time_gets_no_period_twice(store):
    def tried(period):
        try:
            spend(store, period)
        except BudgetError:
            return None
        return period

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(tried, MONTHS[:3] * 4))
    assert sorted(filter(None, found)) == MONTHS[:3]
    assert spent(store) == dict.fromkeys(MONTHS[:3], 1.0)


def test_what_is_cut_off_stays_spent_on_its_periods(store):
    use = {"kind": "flows", "parameters": {}, "cost": ONE, "guarantee": guarantee()}
    begin_charge(store, rows(), periods=("2026-03",), **use)  # and nothing follows
    assert spent(store) == {"2026-03": 1.0}
    with pytest.raises(BudgetError, match="reads 2026-03"):
        spend(store, "2026-03")
    spend(store, "2026-04")


DAYS = [date(2026, 1, 1) + timedelta(day) for day in range(-2, 367)]


def has(label, day):
    """Whether a day lies in a period, from the calendar."""
    quarter = f"{day.year}-Q{1 + (day.month - 1) // 3}"
    return label in (f"{day.year}", quarter, f"{day:%Y-%m}", day.isoformat())


def labels_of(day):
    return [f"{day.year}", f"{day.year}-Q{1 + (day.month - 1) // 3}", f"{day:%Y-%m}", f"{day}"]


def some_uses(rng, privacy_unit="1 row", depths=(1, 2, 3, 4)):
    """Uses of few periods, which therefore overlap often."""
    days = rng.choice(DAYS, size=4)
    uses = []
    for number in range(1, int(rng.integers(2, 9))):
        epsilon = Fraction(int(rng.integers(1, 9)), 8)
        cost = Cost.of_pure(epsilon)
        if rng.random() < 0.4:
            cost = Cost.of_rho(float(epsilon) ** 2 / 40, delta=1e-7)
        count = int(rng.integers(1, 4))
        names = [labels_of(rng.choice(days))[int(rng.choice(depths)) - 1] for _ in range(count)]
        periods = None if rng.random() < 0.2 else tuple(dict.fromkeys(names))
        uses.append(use_of(periods, cost, privacy_unit, number))
    return uses


def admitted(budget, before, use):
    try:
        check_budget(budget, before, use.cost, use.coverage)
    except BudgetError:
        return False
    return True


BUDGETS = [Budget(1.5), Budget(1.5, 1e-5), Budget(0.75, 1e-6), None]


@pytest.mark.thorough(cases=5)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize(
    "seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(5, 12))]
)
def test_the_total_is_the_most_on_a_day_and_the_budget_caps_each(budget, seed):
    """Beside a count of every day, of a year and around it, on which each use is looked up."""
    rng = np.random.default_rng(seed)
    uses = some_uses(rng)

    def on(day, chosen):
        return [
            use for use in chosen if use.periods is None or any(has(p, day) for p in use.periods)
        ]

    def cost(day):
        read = [use.cost for use in on(day, uses)]
        return total_cost(read, budget) if read else None

    costs = {day: cost(day) for day in DAYS}
    whole = spent_together(uses, budget)
    found = [each for each in costs.values() if each is not None]
    assert whole.epsilon == max(each.epsilon for each in found)
    assert whole.delta == max(each.delta for each in found)
    named = {label for use in uses for label in use.periods or ()}
    told = spent_by_period(uses, budget)
    assert set(told) == named
    for label in named | {"2026-02", "2026-Q3", "2026", "2024"}:
        of_days = [costs[day] for day in DAYS if has(label, day) and costs[day] is not None]
        most = spent_on(uses, label, budget)
        if label != "2024":  # which is none of these days
            expected = max((each.epsilon for each in of_days), default=None)
            assert (None if most is None else most.epsilon) == expected
        assert label not in told or told[label] == most
    if budget is not None:
        for count, use in enumerate(uses):
            begun = [*uses[:count], use]
            days = [day for day in DAYS if use in on(day, [use])]
            allowed = all(budget.allows([each.cost for each in on(day, begun)]) for day in days)
            assert admitted(budget, uses[:count], use) == allowed


@pytest.mark.parametrize("seed", range(20))
def test_days_count_for_the_months_that_neighbours_differ_in(seed):
    """Beside a count of every month, by the first seven letters of days."""
    rng = np.random.default_rng(seed)
    uses = [use for use in some_uses(rng, IN_A_MONTH, depths=(3, 4)) if use.periods is not None]
    uses = [use_of(use.periods, Cost.of_pure(Fraction(use.number)), IN_A_MONTH) for use in uses]
    months = {use.number: {label[:7] for label in use.periods} for use in uses}
    of_each = [(use.cost.pure, {label[:7] for label in use.periods}) for use in uses]
    known = set().union(*(own for _, own in of_each)) if months else set()
    sums = {month: sum(pure for pure, own in of_each if month in own) for month in known}
    assert {m: c.pure for m, c in spent_by_period(uses).items()} == dict(sorted(sums.items()))
    assert spent_on(uses, "1999-01") is None
    if uses:
        assert spent_together(uses).pure == max(sums.values())
        assert in_all_periods(uses).pure == sum(sums.values())
        assert in_all_periods([*uses, use_of(None, ONE, IN_A_MONTH)]) is None


def test_the_sum_of_periods_of_gaussian_noise_is_for_as_many_changes():
    cost = Cost.of_rho(0.01, delta=1e-6)
    uses = [use_of(("2026-01", "2026-02", "2026-03"), cost, IN_A_MONTH)]
    assert in_all_periods(uses) == cost.for_group(3)
    assert in_all_periods(uses).epsilon > 2.9 * cost.epsilon


def test_uses_by_other_columns_may_have_read_the_same_row():
    """No store holds them; if one did, they would count for every period."""
    uses = [use_of(("2026-01",), ONE, column="start"), use_of(("2026-02",), ONE, column="end")]
    assert spent_together(uses).pure == 2
    assert spent_on(uses, "2026-02").pure == 1  # by the first column
    assert not admitted(Budget(1.0), uses[:1], uses[1])


def test_periods_stand_in_the_order_of_time_and_names_in_that_of_letters():
    dated = [use_of((label,), ONE) for label in ("2026-10-01", "2026-Q3", "2025", "2026-02")]
    assert list(spent_by_period(dated)) == ["2025", "2026-02", "2026-Q3", "2026-10-01"]
    named = [use_of((label,), ONE) for label in ("spring", "autumn", "2026-13")]
    assert list(spent_by_period(named)) == ["2026-13", "autumn", "spring"]


def loss(rng_seed, differ, cap):
    """The exact privacy loss of an adversary who chooses each use after the answers before.

    Data are one bit for each of two periods. A use reads the bits of some periods: randomised
    response to each of them that epsilon-DP allows, all with the same epsilon. What comes next is
    any function of the answers so far.
    """

    def tree(history, before, chances):
        if len(history) == 5:
            return abs(math.log(chances[0] / chances[1]))
        rng = np.random.default_rng([rng_seed, *history])
        periods = [("2026-01",), ("2026-02",), ("2026-01", "2026-02"), None][int(rng.integers(4))]
        epsilon = Fraction(int(rng.integers(1, 5)), 4)
        use = use_of(periods, Cost.of_pure(epsilon), "1 row", len(before) + 1)
        if not admitted(cap, before, use):
            return tree((*history, 4), before, chances)
        read = [p for p in MONTHS[:2] if periods is None or p in periods]
        truth = float(1 / (1 + math.exp(-epsilon)))
        worst = 0.0
        for answer in itertools.product((0, 1), repeat=len(read)):
            now = []
            for bits in ({}, dict.fromkeys(differ, 1)):
                each = [
                    truth if a == bits.get(p, 0) else 1 - truth
                    for p, a in zip(read, answer, strict=True)
                ]
                now.append(chances[len(now)] * math.prod(each))
            code = sum(2**place * bit for place, bit in enumerate(answer))
            worst = max(worst, tree((*history, code), [*before, use], now))
        return worst

    return tree((), [], [1.0, 1.0])


@pytest.mark.thorough
def test_whatever_is_chosen_adaptively_keeps_the_budget_of_neighbours_in_one_period():
    """By exact sums over all transcripts; and those who differ in both periods have more."""
    cap, seeds = Budget(1.0), range(40)
    single = [loss(seed, (month,), cap) for seed in seeds for month in MONTHS[:2]]
    assert max(single) == pytest.approx(1.0)  # reached, and nowhere exceeded
    both = [loss(seed, MONTHS[:2], cap) for seed in seeds]
    assert max(both) == pytest.approx(2.0)
