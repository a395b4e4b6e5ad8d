"""Audits of HR12's mechanisms on neighbouring locations, and of broken twins that must be caught.

Each audit may fail with probability 1e-6 if its seed were drawn at random. The test's exact loss is
in tests/theorems/test_hr12_above_threshold.py; here the code runs as it is.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from graphcuts_dp.distances.coordinate import (
    AboveThreshold,
    CoordinateTask,
    CoordinateTuning,
    PiecewiseLinear,
    Profile,
    start_coordinate,
    step_coordinate,
)
from graphcuts_dp.distances.embeddings import exact_embedding
from graphcuts_dp.distances.l1_plan import L1Plan
from graphcuts_dp.distances.learnt import InteractiveDistances, release_distances
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.evaluation.audit import audit
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.privacy.value_noise import ValueNoise

WIDTH, PEOPLE = 4, 12
RATE = Fraction(1, 2)
TINY = Fraction(1, 10**6)
LOW = AboveThreshold(Fraction(9), Fraction(9), -(10**9))  # fires always, and so tells nothing


def at_ends(left):
    """So many people at 0, the others at the far end."""
    return Profile(np.array([0, WIDTH]), np.array([left, PEOPLE - left]))


def tuning(test=LOW, value=TINY, count=TINY, updates=1):
    return CoordinateTuning(
        task=CoordinateTask(WIDTH, PEOPLE, 50, WIDTH + 1),
        updates=updates,
        test=test,
        value_noise=ValueNoise("laplace", value),
        count_noise=ValueNoise("laplace", count),
        value_radius=0,
        count_radius=0,
        below=0,
        above=0,
        spent=Fraction(0),
    )


def tangent(tuned, at, seed):
    """Slope and value of the tangent that one step buys."""
    source = SeededEntropy(seed)

    def run(profile, _):
        state = step_coordinate(tuned, start_coordinate(tuned, source), profile, at, source)
        (line,) = state.hypothesis.lines
        return [line.slope, line.value]

    return run


def test_a_bought_slope_keeps_its_promise_and_the_printed_sensitivity_does_not():
    """A move across the position changes the sum's slope by 2; HR12's derivative is 1/n-sensitive.

    Noise for a change of 1 on the slope is noise for a change of 1/2 on the count: twice the rate.
    """
    bound = float(RATE + WIDTH * TINY)
    honest = audit(tangent(tuning(count=RATE), 1, 1), at_ends(6), at_ends(7))
    assert 0.5 * bound < honest.epsilon_lower <= bound, honest.event
    printed = audit(tangent(tuning(count=2 * RATE), 1, 1), at_ends(6), at_ends(7), runs=3000)
    assert printed.epsilon_lower > bound, printed.event


def test_a_bought_value_keeps_its_promise_and_a_twin_with_half_the_noise_does_not():
    """At an end a move changes the sum of distances by the whole width."""
    rate = Fraction(1, WIDTH)
    bound = float(WIDTH * rate + TINY)
    honest = audit(tangent(tuning(value=rate), 0, 2), at_ends(6), at_ends(7))
    assert 0.5 * bound < honest.epsilon_lower <= bound, honest.event
    twin = audit(tangent(tuning(value=2 * rate), 0, 2), at_ends(6), at_ends(7), runs=2000)
    assert twin.epsilon_lower > bound, twin.event


def firings(tuned, seed, positions):
    """When the only instance fired, if it did: the updates after each step."""
    source = SeededEntropy(seed)

    def run(profile, _):
        state, found = start_coordinate(tuned, source), []
        for at in positions:
            state = step_coordinate(tuned, state, profile, at, source)
            found.append(state.updates)
        return [found[0], found[-1], sum(found)]

    return run


def test_the_tests_keep_their_promise_and_a_twin_with_an_eighth_of_the_noise_does_not():
    """The sum from 0 is 4 (12 - left); at 4 it is 4 left: one grows where the other shrinks."""
    r1, r2 = Fraction(1, 16), Fraction(1, 4)
    test = AboveThreshold(r1, r2, 26)
    bound = float(test.cost(WIDTH))
    assert bound == 2.25
    honest = audit(firings(tuning(test), 3, (WIDTH, 0)), at_ends(6), at_ends(7))
    assert 0.2 < honest.epsilon_lower <= bound, honest.event
    loud = replace(test, threshold_rate=8 * r1, query_rate=8 * r2)
    twin = audit(firings(tuning(loud), 3, (WIDTH, 0)), at_ends(6), at_ends(7), runs=1000)
    assert twin.epsilon_lower > bound, twin.event


def test_a_twin_that_ignores_its_cap_is_caught():
    """Six slopes where one was paid for: their sum has much less noise than six times one."""
    rate = Fraction(2)
    bound = float(rate + WIDTH * TINY)

    def slopes(updates, seed):
        source, tuned = SeededEntropy(seed), tuning(count=rate, updates=updates)

        def run(profile, _):
            state = start_coordinate(tuned, source)
            for _ in range(6):
                state = step_coordinate(tuned, state, profile, 1, source)
            return [sum(line.slope for line in state.hypothesis.lines)]

        return run

    honest = audit(slopes(1, 4), at_ends(6), at_ends(7), runs=1000)
    assert 0.5 < honest.epsilon_lower <= bound, honest.event
    greedy = audit(slopes(6, 4), at_ends(6), at_ends(7), runs=1000)
    assert greedy.epsilon_lower > bound, greedy.event


GRID = Metric.grid(3, 3)
EMBEDDING = exact_embedding(GRID)


def on_grid(*rows):
    return Locations(GRID, np.bincount(rows, minlength=9))


FIRST, SECOND = on_grid(0, 0, 4), on_grid(0, 8, 4)


def erred(plan, profiles, hypothesis, alpha, row):
    """HR12's Lemma 6 as printed: which coordinates are wrong by more than alpha/l. No noise."""
    point = plan.embedding.points[row].tolist()
    return [
        float(profile.value(at) - part(at) > alpha / len(point))
        for profile, part, at in zip(profiles, hypothesis, point, strict=True)
    ]


def test_erratum_which_coordinate_erred_is_private():
    """One person moves from a corner to the opposite one, as far from the query as before.

    The sum of distances stays, so that testing it tells nothing; which coordinates are wrong tells
    the move with certainty. Here each coordinate has its own test, and the pattern of updates keeps
    the promise.
    """
    first, second = on_grid(0, 4, 2), on_grid(0, 4, 6)
    plan = L1Plan(embedding=EMBEDDING, people=3, queries=2, epsilon=1.0)

    def printed(locations, _):
        zero = [PiecewiseLinear()] * 2
        return erred(plan, plan.profiles(locations), zero, 7.0, 8)

    caught = audit(printed, first, second, runs=500)
    assert caught.epsilon_lower > 1.0, caught.event
    mechanism, source = InteractiveDistances(plan), SeededEntropy(6)

    def honest(locations, _):
        state = mechanism.start(locations, source)
        for _ in range(2):
            state, _ = mechanism.step(state, 8, None, source)
        return [part.updates for part in state.coordinates]

    assert audit(honest, first, second, runs=1500).epsilon_lower <= 1.0


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_whole_mechanisms_keep_their_promise(delta):
    """For rho-zCDP this looks at epsilon alone, which errs to our disadvantage."""
    epsilon = 3.0
    online = InteractiveDistances(
        L1Plan(embedding=EMBEDDING, people=3, queries=3, epsilon=epsilon, delta=delta)
    )
    offline = L1Plan(embedding=EMBEDDING, people=3, queries=None, epsilon=epsilon, delta=delta)
    source = SeededEntropy(7)

    def interactive(locations, _):
        state, values = online.start(locations, source), []
        for row in (8, 8, 0):
            state, answer = online.step(state, row, None, source)
            values.append(answer.value)
        return values

    def at_once(locations, _):
        return release_distances(offline, locations, source).values()[[0, 8]]

    for mechanism in (interactive, at_once):
        found = audit(mechanism, FIRST, SECOND, runs=800)
        assert found.epsilon_lower <= epsilon, found.event


def test_a_twin_that_reads_without_noise_is_caught(monkeypatch):
    """Values without noise in the same code: the harness sees what goes wrong."""
    monkeypatch.setattr(ValueNoise, "draw", lambda *_: 0)
    plan = L1Plan(embedding=EMBEDDING, people=3, queries=None, epsilon=3.0)
    loud = [replace(tuned, test=LOW) for tuned in plan.tunings]
    monkeypatch.setitem(plan.__dict__, "tunings", tuple(loud))
    source = SeededEntropy(8)

    def run(locations, _):
        return release_distances(plan, locations, source).values()[[0, 8]]

    assert audit(run, FIRST, SECOND, runs=600).epsilon_lower > 3.0
