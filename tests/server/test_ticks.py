"""The time of a reply does not tell a sparse vector branch: in an abstract clock."""

import math

import numpy as np
import pytest

from graphcuts_dp.server.settings import Ticks

QUIET, FIRED = 0.003, 0.040  # seconds of work: no test fires; one does, and a correction is made


def replies(ticks, work, arrivals, queries=1):
    """How long each reply takes, for an asker who sees the clock exactly."""
    return np.array([ticks(came, came + work, queries) - came for came in arrivals])


def with_ticks(came, done, queries):
    return Ticks(0.25).departure(came, done, queries)[0]


def without_ticks(_came, done, _queries):
    return done


def next_tick(_came, done, _queries):
    """A tempting mistake: the first tick after the work is done tells how long it was."""
    return math.ceil(done / 0.25) * 0.25


def advantage(rule, rounds=4000):
    """How much better than a coin the best threshold on the time of a reply tells the branches.

    Arrivals are the same for both branches, so that they cannot tell them apart.
    """
    arrivals = np.random.default_rng(3).uniform(0, 100, rounds)
    quiet, fired = (replies(rule, work, arrivals) for work in (QUIET, FIRED))
    cuts = np.unique(np.concatenate([quiet, fired]))
    return max(abs(np.mean(quiet <= cut) - np.mean(fired <= cut)) for cut in cuts)


def test_replies_at_ticks_are_the_same_for_both_branches():
    arrivals = np.random.default_rng(4).uniform(0, 1e6, 4000)
    quiet, fired = (replies(with_ticks, work, arrivals) for work in (QUIET, FIRED))
    assert np.array_equal(quiet, fired)
    assert advantage(with_ticks) == 0
    for came in np.linspace(0, 1, 401):  # nor for an asker who picks the moment
        found = {with_ticks(came, came + work, 1) for work in np.linspace(0, 0.25, 30)}
        assert len(found) == 1


@pytest.mark.parametrize(("rule", "least"), [(without_ticks, 0.99), (next_tick, 0.1)])
def test_twins_without_ticks_or_with_the_next_one_are_told_apart(rule, least):
    # By the DKW inequality for both branches, a rule that tells nothing has an advantage above 0.1
    # in 4000 rounds with probability below 4 exp(-2 * 4000 * 0.05^2) < 1e-8. These: 1 and 0.148.
    assert advantage(rule) > least


def test_a_batch_is_allotted_time_by_its_public_size():
    ticks = Ticks(0.25, queries=16)
    assert [ticks.allotted(count) for count in (1, 16, 17, 64, 1000)] == [1, 1, 2, 4, 63]
    came = 0.1
    found = {ticks.departure(came, came + work, 64)[0] for work in (0.01, 0.5, 0.99)}
    assert found == {1.25}


def test_an_overrun_tells_that_it_was_one_and_no_more():
    ticks = Ticks(0.25)
    found = [ticks.departure(0.1, 0.1 + work) for work in (0.1, 0.5, 0.6, 0.7, 1.0, 1.3, 4.0)]
    # One period, then 2, 4, 8 and 16 after the tick at 0.25.
    assert found == [
        (0.5, False),
        (0.75, True),
        (0.75, True),
        (1.25, True),
        (1.25, True),
        (2.25, True),
        (4.25, True),
    ]


def test_what_comes_at_a_tick_leaves_at_the_next_one():
    for number in range(1000):
        assert Ticks(0.1).departure(number * 0.1, number * 0.1)[0] == (number + 1) * 0.1
