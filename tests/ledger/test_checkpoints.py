"""Checkpoints: one more use costs the same however many there were, and their sums are right."""

import json
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import BudgetError, LedgerError, Store
from graphcuts_dp.ledger import ledger as ledger_module
from graphcuts_dp.ledger.charges import begin_charge
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.opening import Budget, Subject, create_ledger, ledger_budget, open_ledger
from graphcuts_dp.ledger.plain_values import plain
from graphcuts_dp.ledger.records import Kind
from graphcuts_dp.ledger.spending import SpendingTotals
from graphcuts_dp.ledger.uses import Use, begin_use, check_budget, uses_of
from graphcuts_dp.plugins import Cost
from graphcuts_dp.privacy.filters import CostSum, admits, renyi_order

SMALL = Cost.of_pure(Fraction(1, 1000))
MONTHS = [f"2026-{month:02}" for month in range(1, 13)]


def rows():
    schema = {"kind": "rows", "vertices": [9], "directed": False, "weighted": False}
    return Subject.named(schema | {"period": "day"}, "trips")


def terms(cost=SMALL, periods=None):
    words = {"epsilon": cost.epsilon, "delta": cost.delta, "neighbours": "a row"}
    return {
        "kind": "flows",
        "parameters": {"sums": 5},
        "cost": cost,
        "guarantee": gc.PrivacyGuarantee(privacy_unit="1 row", **words),
        "periods": periods,
    }


def charge(store, **chosen):
    """Charge a use and finish it."""
    begin_charge(store, rows(), **terms(**chosen)).keep(b"measured", {})


def fill(store, count, cost=SMALL):
    """Add many finished uses of the months in turn; quickly, by few transactions."""
    create_ledger(store, rows(), privacy_unit="1 row")
    with closing(open_ledger(store)) as ledger, ledger.locked():
        first = begin_use(ledger, **terms(cost, periods=(MONTHS[0],)), column="day")
        for start in range(2, count + 1, 40):
            with ledger.writing() as entries:
                for number in range(start, min(start + 40, count + 1)):
                    use = replace(first, number=number, periods=(MONTHS[number % 12],))
                    entries.add(Kind.BEGIN, number, plain(use))
                    entries.add(Kind.FINISHED, number, {"measured": "", "kept": False})


def edit(path, statement, *values):
    """Change a store behind its back, with what may only grow."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        triggers = connection.execute(
            "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"
        ).fetchall()
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement, values)
        for _, trigger in triggers:
            connection.execute(trigger)


def calls_of(action):
    """How many functions an action calls, in Python and in C: a count that no clock disturbs."""
    calls = 0

    def count(_frame, event, _argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        action()
    finally:
        sys.setprofile(None)
    return calls


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "trips.db", budget=20.0)


@pytest.mark.thorough
@pytest.mark.parametrize("count", [2000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_the_last_of_thousands_of_uses_costs_no_more_than_one_of_the_first(tmp_path, count):
    few, many = (Store(tmp_path / f"{name}.db", budget=20.0) for name in ("few", "many"))
    fill(few, 100)  # the first checkpoint lies behind them
    fill(many, count)
    calls = {}
    for name, store in (("few", few), ("many", many)):
        charge(store, periods=("2026-02",))  # what is cached is cached
        # A checkpoint comes every 64 records, so that the dearest of 32 uses pays for one.
        calls[name] = max(
            calls_of(lambda store=store: charge(store, periods=("2026-03",))) for _ in range(32)
        )
    assert calls["many"] <= 1.1 * calls["few"]
    with closing(open_ledger(many, whole=False)) as ledger, ledger.locked():
        assert ledger.spending.uses == count + 33


def test_a_use_reads_nothing_before_the_latest_checkpoint(store):
    fill(store, 1000)
    with closing(open_ledger(store, whole=False)) as ledger, ledger.locked():
        assert ledger.spending.uses == 1000
        assert min(ledger._uses) > 900
        brief = ledger.head, ledger.records, ledger.spending
        assert len(ledger.uses) == 1000  # which reads everything
        assert (ledger.head, ledger.records, ledger.spending) == brief


@pytest.mark.thorough
@pytest.mark.parametrize("tried", [60, pytest.param(120, marks=pytest.mark.slow)])
def test_sums_are_those_of_the_uses_whatever_they_read_and_cost(tmp_path, tried):
    """Beside lists of all costs, as the filter was before it had sums."""
    random = np.random.default_rng(0)
    for case, budget in enumerate([Budget(2.0), Budget(2.0, 1e-5), Budget(0.5, 1e-6)]):
        store = Store(tmp_path / f"{case}.db", budget=budget)
        create_ledger(store, rows(), privacy_unit="1 row")
        before, refused = [], 0
        for _ in range(tried):
            epsilon = Fraction(int(random.integers(1, 9)), tried // 3)
            cost = Cost.of_pure(epsilon)
            if random.random() < 0.4:
                cost = Cost.of_rho(float(epsilon) ** 2 / 40, delta=1e-8)
            months = random.choice(MONTHS, size=2, replace=False)
            periods = None if random.random() < 0.05 else tuple(map(str, months))
            with closing(open_ledger(store, whole=False)) as ledger, ledger.locked():
                expected = all(
                    budget.allows([use.cost for use in before if reads(use, month)] + [cost])
                    for month in MONTHS
                    if periods is None or month in periods
                ) and budget.allows(
                    [use.cost for use in before if use.periods is None]
                    + ([cost] if periods is None else [])
                )
                try:
                    use = begin_use(ledger, **terms(cost, periods), column="day")
                except BudgetError:
                    assert not expected
                    refused += 1
                    with pytest.raises(BudgetError):
                        check_budget(budget, before, cost, coverage_of(cost, periods))
                    continue
                assert expected
                before.append(use)
        assert refused > 10
        assert len(before) > 10
        together = SpendingTotals.under((budget.epsilon, budget.delta))
        together.add((use.coverage, use.cost) for use in before)
        for whole in (False, True):
            with closing(open_ledger(store, whole=whole)) as ledger, ledger.locked():
                assert ledger.spending.agrees(together)
                assert uses_of(ledger) == before


def reads(use, month):
    return use.periods is None or month in use.periods


def coverage_of(cost, periods):
    words = {"name": "", "source": {}, "reading": {}, "time": "", "user": "", "made_by": ""}
    return Use(number=1, column="day", **words, **terms(cost, periods)).coverage


@pytest.mark.parametrize("statement", [
    "UPDATE records SET body = replace(body, '\"uses\":', '\"uses\": ') WHERE kind = 14",
    "UPDATE records SET body = x'00' WHERE kind = 14",
    "DELETE FROM records WHERE kind = 14",
    "UPDATE records SET kind = 13 WHERE kind = 14",
    "UPDATE records SET body = '{}' WHERE kind = 14",
])  # fmt: skip
def test_an_altered_checkpoint_is_noticed_by_the_next_use(store, statement):
    fill(store, 200)
    edit(store.file, statement)
    with pytest.raises(LedgerError, match=r"altered|damaged") as caught:
        charge(store)
    assert "\n" not in str(caught.value)
    with pytest.raises(LedgerError, match=r"altered|damaged"):
        gc.store_status(store.path)


@pytest.mark.parametrize("changed", ["uses", "sums", "joined", "registry", "before"])
def test_a_checkpoint_that_fits_the_chain_and_not_the_uses_is_noticed(store, changed):
    fill(store, 10)
    with closing(open_ledger(store)) as ledger, ledger.locked():
        body = ledger._checkpoint_body()
        if changed == "uses":
            body["spending"]["uses"] -= 1
        elif changed == "sums":
            body["spending"]["sums"][0]["pure"] = "0"
        elif changed in ("joined", "registry"):
            body[changed] = [3] if changed == "joined" else 3
        else:
            body["before"] = "00" * 32
        with pytest.raises((LedgerError, ValueError)), ledger.writing() as entries:
            entries.add(Kind.CHECKPOINT, 0, body)
    if changed == "before":  # it was not even written
        assert len(gc.store_status(store.path).uses) == 10
        return
    with pytest.raises(LedgerError, match="a checkpoint is not what the uses before it add up to"):
        gc.store_status(store.path)


def test_sums_by_rules_of_another_version_are_made_again(store, monkeypatch):
    fill(store, 100)
    monkeypatch.setattr(ledger_module, "_SUMMING_RULES", 2)
    with closing(open_ledger(store, whole=False)) as ledger, ledger.locked():
        assert len(ledger._uses) == 100  # all of them were read
        assert ledger.spending.uses == 100
        head = ledger.head
    charge(store)
    assert gc.store_status(store.path).head != str(head)


def test_a_handle_that_stays_open_follows_checkpoints_of_others(store):
    fill(store, 20)
    with closing(open_ledger(store)) as waiting, closing(open_ledger(store, whole=False)) as brief:
        for _ in range(50):
            charge(store)
        heads = []
        for ledger in (waiting, brief):
            with ledger.locked():
                assert ledger.spending.uses == 70
                heads.append(ledger.head)
                assert len(ledger.uses) == 70
        assert heads[0] == heads[1]


def test_a_use_that_began_before_a_checkpoint_is_finished_after_it(store):
    slow = begin_charge(store, rows(), **terms())
    for _ in range(80):
        charge(store)
    slow.keep(b"late", {})
    with pytest.raises(LedgerError, match="another process has taken up use 1"):
        slow.keep(b"later", {})
    assert gc.store_status(store.path).uses[0].state == "finished"


def test_an_expected_head_from_before_a_checkpoint_is_still_compared(store):
    charge(store)
    head = gc.store_status(store.path).head
    for _ in range(80):
        charge(store)
    with closing(open_ledger(Store(store.path, expect_head=head), whole=False)):
        pass
    number, _, digest = head.partition(":")
    wrong = f"{number}:{digest[::-1]}"
    with pytest.raises(LedgerError, match="not the store that the expected head was read from"):
        open_ledger(Store(store.path, expect_head=wrong), whole=False)


def test_what_lies_after_the_head_is_noticed_without_reading_everything(store):
    """As where a journal was left behind by a copy: newer records with an older head."""
    fill(store, 200)
    with closing(sqlite3.connect(store.file)) as connection:
        old = connection.execute("SELECT seq, digest FROM head").fetchone()
    charge(store)
    edit(store.file, "UPDATE head SET seq = ?, digest = ?", *old)
    with pytest.raises(LedgerError, match="its records do not fit together"):
        charge(store)


@pytest.mark.thorough
def test_a_budget_is_not_passed_in_many_small_steps(tmp_path):
    store = Store(tmp_path / "trips.db", budget=0.2)
    for _ in range(200):
        charge(store)
    with pytest.raises(BudgetError, match=r"does not allow another use of epsilon = 0\.001"):
        charge(store)
    assert gc.store_status(store.path).epsilon == pytest.approx(0.2)
    with closing(open_ledger(store)) as ledger:
        assert ledger_budget(ledger) == Budget(0.2)


def test_sums_come_back_from_plain_values():
    order = renyi_order(1.0, 1e-6)
    costs = [SMALL, Cost.of_rho(0.01, delta=1e-7), Cost(epsilon=0.1, delta=1e-9)]
    for chosen in ([], costs[:1], costs[:2], costs):
        cost_sum = CostSum.of(chosen, order)
        stored = json.loads(json.dumps(cost_sum.to_dict()))
        assert CostSum.from_dict(stored, order) == cost_sum
        added = CostSum(order=order)
        for cost in chosen:
            added = added + CostSum.of([cost], order)
        assert added.agrees(cost_sum)
        verdicts = admits(chosen, epsilon=1.0, delta=1e-6), added.admitted(epsilon=1.0, delta=1e-6)
        assert verdicts[0] == verdicts[1]
    with pytest.raises(ValueError, match="different orders"):
        CostSum.of(costs, order) + CostSum.of(costs, None)
    with pytest.raises(ValueError, match="another budget"):
        CostSum.of(costs, order).admitted(epsilon=0.01, delta=1e-3)


def test_an_older_store_gets_checkpoints_when_it_is_written(store, monkeypatch):
    monkeypatch.setattr(ledger_module, "_CHECKPOINT_RECORDS", 10**9)
    fill(store, 100)
    monkeypatch.undo()
    with closing(Ledger(store.file, whole=False)) as ledger, ledger.locked():
        assert len(ledger._uses) == 100
    charge(store)
    charge(store)
    with closing(Ledger(store.file, whole=False)) as ledger, ledger.locked():
        assert len(ledger._uses) == 2
        assert ledger.spending.uses == 102
