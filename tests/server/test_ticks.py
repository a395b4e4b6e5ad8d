"""The time of a reply reveals no branch of the sparse vector technique, on a simulated clock."""

import math
from collections.abc import Callable, Iterable

import numpy as np
import pytest

from graphcuts_dp.server.settings import Ticks

PERIOD = 0.25  # seconds between ticks
# Seconds of work per query: if no test fires, and if one fires and the hypothesis is corrected.
WORK_NOT_FIRED, WORK_FIRED = 0.003, 0.040

DepartureRule = Callable[[float, float, int], float]  # of arrival, end of work, number of queries


def reply_times(
    departure: DepartureRule, work: float, arrivals: Iterable[float], queries: int = 1
) -> np.ndarray:
    """Return the seconds from each arrival to its reply."""
    return np.array([departure(arrival, arrival + work, queries) - arrival for arrival in arrivals])


def with_ticks(arrival: float, work_end: float, queries: int) -> float:
    return Ticks(PERIOD).departure(arrival, work_end, queries)[0]


def without_ticks(_arrival: float, work_end: float, _queries: int) -> float:
    """Reply at once (incorrect variant)."""
    return work_end


def at_next_tick(_arrival: float, work_end: float, _queries: int) -> float:
    """Reply at the first tick after the work, which depends on its length (incorrect variant)."""
    return math.ceil(work_end / PERIOD) * PERIOD


def advantage(departure: DepartureRule, rounds: int = 4000) -> float:
    """Return the advantage of the best threshold on reply times that distinguishes the branches.

    Arrivals are the same for both branches, so that only departures can distinguish them.
    """
    arrivals = np.random.default_rng(3).uniform(0, 100, rounds)
    not_fired, fired = (
        reply_times(departure, work, arrivals) for work in (WORK_NOT_FIRED, WORK_FIRED)
    )
    thresholds = np.unique(np.concatenate([not_fired, fired]))
    return max(
        abs(np.mean(not_fired <= threshold) - np.mean(fired <= threshold))
        for threshold in thresholds
    )


def test_replies_at_ticks_take_the_same_time_in_both_branches():
    arrivals = np.random.default_rng(4).uniform(0, 1e6, 4000)
    not_fired, fired = (
        reply_times(with_ticks, work, arrivals) for work in (WORK_NOT_FIRED, WORK_FIRED)
    )
    assert np.array_equal(not_fired, fired)
    assert advantage(with_ticks) == 0


def test_a_reply_at_a_tick_is_independent_of_the_work_for_any_chosen_arrival():
    for arrival in np.linspace(0, 1, 401):
        departures = {with_ticks(arrival, arrival + work, 1) for work in np.linspace(0, PERIOD, 30)}
        assert len(departures) == 1


@pytest.mark.parametrize(
    ("incorrect_variant", "minimum"), [(without_ticks, 0.99), (at_next_tick, 0.1)]
)
def test_reply_times_of_incorrect_variants_distinguish_the_branches(incorrect_variant, minimum):
    # By the DKW inequality for both branches, a rule that reveals nothing has an advantage above
    # 0.1 in 4000 rounds with probability below 4 exp(-2 * 4000 * 0.05^2) < 1e-8. The incorrect
    # variants have 1 and 0.148.
    assert advantage(incorrect_variant) > minimum


def test_the_time_of_a_batch_depends_on_its_public_size_only():
    ticks = Ticks(PERIOD, queries=16)
    assert [ticks.allotted(count) for count in (1, 16, 17, 64, 1000)] == [1, 1, 2, 4, 63]
    arrival = 0.1
    departures = {ticks.departure(arrival, arrival + work, 64)[0] for work in (0.01, 0.5, 0.99)}
    assert departures == {1.25}


def test_a_reply_after_an_overrun_leaves_after_a_doubled_number_of_periods():
    ticks = Ticks(PERIOD)
    departures = [ticks.departure(0.1, 0.1 + work) for work in (0.1, 0.5, 0.6, 0.7, 1.0, 1.3, 4.0)]
    # (time, overrun): one period after the tick at 0.25, then 2, 4, 8 and 16 periods after it.
    assert departures == [
        (0.5, False),
        (0.75, True),
        (0.75, True),
        (1.25, True),
        (1.25, True),
        (2.25, True),
        (4.25, True),
    ]


def test_a_request_that_arrives_at_a_tick_is_answered_at_the_next_one():
    """Rounding of 0.1 must not move an arrival to the tick before or after it."""
    for tick in range(1000):
        assert Ticks(0.1).departure(tick * 0.1, tick * 0.1)[0] == (tick + 1) * 0.1
