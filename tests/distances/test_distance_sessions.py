"""Stored sessions of distances: answers, history, refusals, and the cost of lost steps."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import (
    AccuracyWarning,
    BudgetError,
    ExhaustedError,
    FileFormatError,
    LedgerError,
    ParameterError,
    QueryError,
)
from graphcuts_dp.distances import (
    Locations,
    Metric,
    answer_distances,
    learner,
    open_distance_session,
)
from graphcuts_dp.distances.locations import all_distances
from graphcuts_dp.distances.session import InteractiveDistances
from graphcuts_dp.privacy.entropy import SystemEntropy
from graphcuts_dp.session.runner import read_state, stored_state

GRID = Metric.grid(5, 6)
PEOPLE = Locations(
    GRID,
    np.random.default_rng(1).multinomial(10**6, np.random.default_rng(2).dirichlet([0.3] * 30)),
)
TERMS = {"epsilon": 2.0, "queries": 6}


def begin(path, *, metric=GRID, people=PEOPLE, **options):
    return open_distance_session(metric, people, store=path, **(TERMS | options))


def resume(path, *, metric=GRID, people=PEOPLE, **options):
    return open_distance_session(metric, people, store=path, **options)


def state_of(session):
    with session._ledger.locked():
        return session._runner.current_state()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "p.db"


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_intervals_hold_for_queries_that_depend_on_earlier_answers(path, delta):
    """An answer of the two sessions fail_in with a chance of 2e-8."""
    truth = all_distances(PEOPLE)
    for seed in range(2):
        terms = {"delta": delta, "confidence": 1 - 1e-8, "name": f"{seed}", "seed": seed}
        with begin(path, **terms) as session:
            vertex, values = 0, {}
            for _ in range(6):
                reply = session.ask(vertex)
                values[vertex] = reply.value
                low, high = reply.interval
                assert low <= truth[GRID.row(vertex)] <= high
                assert (high - low) / 2 <= session.error_bound * (1 + 1e-9)
                assert reply.value == pytest.approx((low + high) / 2)
                nearest = min(values, key=values.get)
                vertex = next(v for v in GRID.vertices.labels if v not in values and v >= nearest)
            assert session.status.remaining.queries == 0


def test_a_repeated_query_is_free_and_keeps_its_answer_when_resumed(path):
    with begin(path) as session:
        first = session.ask_all([3, 7])
        assert session.ask_all([7, 3, 7]) == [first[1], first[0], first[1]]
        assert session.guarantee.is_private
        assert session.guarantee.epsilon == 2.0
    with resume(path) as session:
        assert session.history == first
        assert session.ask(3) == first[0]
        assert session.status.remaining.queries == 4
    assert [reply.queries_left for reply in first] == [5, 4]


def test_a_session_that_has_run_out_refuses_or_answers_without_a_guarantee(path):
    with begin(path, queries=2) as session:
        with pytest.raises(ExhaustedError, match="run out"):
            session.ask_all([1, 2, 3])
        assert [reply.vertex for reply in session.history] == [1, 2]
        free = session.ask(3, unguaranteed=True)
        assert not free.guaranteed
        assert free.interval == (0.0, pytest.approx(7.0, rel=0.3))
        assert "no guarantee" in str(free)
        assert session.status.state == "stopped"
        assert session.ask(1).guaranteed


def test_a_session_shares_the_budget_of_its_store_with_other_uses(path):
    store = gc.Store(path, budget=3.5)
    with begin(store) as session:
        session.ask(0)
        with pytest.raises(QueryError):
            session.ask_all([1, 99])
        assert len(session.history) == 1
    answer_distances(GRID, PEOPLE, epsilon=1.0, store=path)
    with pytest.raises(BudgetError, match="does not allow another"):
        begin(path, name="second")
    with pytest.warns(AccuracyWarning, match="guarantees as much"):
        begin(path, name="small", epsilon=1e-5).close()
    with pytest.raises(BudgetError, match="different neighbours"):
        begin(path, name="ten", group_size=10)
    status = gc.store_status(path)
    kinds = ["distance session", "distances", "distance session"]
    assert [use.use.kind for use in status.uses] == kinds
    assert status.epsilon == pytest.approx(3 + 1e-5)


def test_a_session_is_resumed_only_with_the_same_terms_data_and_mechanism(path, monkeypatch):
    begin(path).close()
    longer = Metric(GRID.lengths.tocoo().row, GRID.lengths.tocoo().col, np.full(98, 2), vertices=30)
    other_people, people_on_longer = (
        Locations(GRID, np.roll(PEOPLE.counts, 1)),
        Locations(longer, PEOPLE.counts),
    )
    other_mechanism = "belongs to a mechanism with other parameters"
    for error, message, changed in [
        (ParameterError, r"with epsilon=2\.0", {"epsilon": 3.0}),
        (ParameterError, "with seed=None", {"seed": 1}),
        (LedgerError, "other private data", TERMS | {"people": other_people}),
        (LedgerError, other_mechanism, TERMS | {"metric": longer, "people": people_on_longer}),
    ]:
        with pytest.raises(error, match=message):
            resume(path, **changed)
    monkeypatch.setattr(learner, "_PURE_POWER", 0.5)  # noise that another version would choose
    with pytest.raises(LedgerError, match=other_mechanism):
        resume(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": None}, "needs epsilon"),
        ({"queries": None}, "needs queries"),
        ({"queries": 0}, "whole number from 1"),
        ({"confidence": 1.0}, "confidence"),
        ({"at_most": 0}, "at_most"),
        ({"name": ""}, "name"),
        ({"seed": -1}, "seed"),
    ],
)
def test_bad_parameters_leave_no_store(path, options, message):
    with pytest.raises(ParameterError, match=message):
        begin(path, **options)
    assert not path.exists()


def test_a_larger_group_of_people_has_a_larger_error(path, tmp_path):
    with begin(path) as session_of_one, begin(tmp_path / "ten.db", group_size=10) as session_of_ten:
        assert session_of_ten.guarantee.privacy_unit == "10 people"
        assert session_of_ten.error_bound > 2 * session_of_one.error_bound


class BrokenError(Exception):
    pass


def fail_in(
    method: str,
    monkeypatch: pytest.MonkeyPatch,
    call: Callable[[], object],
    *,
    at_end: bool = False,
) -> None:
    """Call a function while a method of the mechanism fail_in, at its start or at its end.

    The budget is reserved before; at the end, noise has been drawn, too.
    """
    whole = getattr(InteractiveDistances, method)

    def broken(*arguments):
        if at_end:
            whole(*arguments)
        raise BrokenError

    with monkeypatch.context() as patched:
        patched.setattr(InteractiveDistances, method, broken)
        with pytest.raises(BrokenError):
            call()


def interrupt(session: Any, monkeypatch: pytest.MonkeyPatch, rows: list[int]) -> None:
    """Lose a step of a session after its noise was drawn."""
    fail_in("step", monkeypatch, lambda: session.ask_all(rows), at_end=True)


def test_a_lost_step_counts_as_spent_once(path, monkeypatch):
    with begin(path) as session:
        session.ask(4)
        before = state_of(session)
        interrupt(session, monkeypatch, [5, 6])
    with resume(path) as session:
        after = state_of(session)
        assert after.coordinates == state_of(session).coordinates
    assert after.queries == before.queries + 2
    for old, new in zip(before.coordinates, after.coordinates, strict=True):
        assert new.secret is None or new.secret != old.secret or new.lost > old.lost
        assert new.tests == min(old.tests + 2, 6)
        assert new.hypothesis == old.hypothesis
    with resume(path) as session:
        assert session.status.interruptions == 1
        assert session.status.remaining.queries == 6 - after.queries or not after.guaranteed


def test_interruptions_cannot_start_more_instances_than_were_paid_for(path, monkeypatch):
    """Each lost step counts as a tangent; above their number a coordinate reads no more data."""
    with begin(path, queries=60) as session:
        tunings = session._runner.mechanism.learner.tunings
    interruptions = 0
    for _ in range(29):
        with resume(path) as session:
            if session.status.state == "stopped":
                break
            interrupt(session, monkeypatch, [interruptions])
            interruptions += 1
    assert interruptions == min(tuning.updates for tuning in tunings) + 1 < 60
    with resume(path) as session:
        with pytest.raises(ExhaustedError):
            session.ask(29)
        state = state_of(session)
    for tuning, part in zip(tunings, state.coordinates, strict=True):
        assert part.updates <= tuning.updates
        assert (part.secret is None) == (interruptions > tuning.updates)


def test_a_process_that_died_while_it_started_has_spent_everything(path, monkeypatch):
    fail_in("start", monkeypatch, lambda: begin(path))
    with resume(path) as session, pytest.raises(BudgetError, match="interrupted while it started"):
        session.ask(1)
    assert gc.store_status(path).epsilon == 2.0


def test_a_resumed_session_continues_the_noise_of_its_seed(tmp_path):
    answers = []
    for name in ("a.db", "b.db"):
        with begin(tmp_path / name, seed=4) as session:
            first = session.ask(2)
        with resume(tmp_path / name) as session:
            answers.append((first, session.ask(9)))
            assert "not private" in repr(session)
    assert answers[0] == answers[1]
    assert answers[0][0].seeded


def test_a_state_without_its_secret_noise_counts_as_interrupted(path):
    """A copy of a store may have the public part alone."""
    with begin(path) as session, session._ledger.locked():
        runner = session._runner
        mechanism = runner.mechanism
        stored = stored_state(mechanism, runner.current_state())
        restored = mechanism.restore(read_state(mechanism, stored), PEOPLE, b"")
        assert restored.coordinates == runner.current_state().coordinates
        without_secret = mechanism.restore(
            read_state(mechanism, replace(stored, secret=None)), PEOPLE, b""
        )
        after = runner.mechanism.after_interruption(without_secret, SystemEntropy())
    assert after.queries == 1
    assert [part.lost for part in after.coordinates] == [1, 1]
    other_mechanism = InteractiveDistances(replace(mechanism.learner, beta=0.01), mechanism.cost)
    for broken, read in ((b"{}", mechanism), (b"[", mechanism), (stored.public, other_mechanism)):
        with pytest.raises(FileFormatError, match="the stored state"):
            read_state(read, replace(stored, public=broken))
