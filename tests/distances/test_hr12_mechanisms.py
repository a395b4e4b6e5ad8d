"""The parts of HR12's mechanisms: tangents, profiles, budgets, hard caps, bounds, what is shown."""

from dataclasses import replace
from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcuts_dp import QueryError
from graphcuts_dp.distances.coordinate import (
    AboveThreshold,
    CoordinateTask,
    Line,
    PiecewiseLinear,
    Profile,
    start_coordinate,
    step_coordinate,
    tune_coordinate,
)
from graphcuts_dp.distances.embeddings import bourgain_embedding, exact_embedding
from graphcuts_dp.distances.learner import L1Learner, are_guaranteed, coordinate_bounds
from graphcuts_dp.distances.locations import Locations, all_distances
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.distances.session import InteractiveDistances
from graphcuts_dp.plugins import SeededEntropy

GRID = Metric.grid(5, 6)


def people(metric, count, seed=0):
    rng = np.random.default_rng(seed)
    return Locations(metric, rng.multinomial(count, rng.dirichlet(np.ones(len(metric)))))


def plan(metric=GRID, **numbers):
    given_ = {"people": 1000, "queries": None, "epsilon": 1.0, "delta": 1e-6}
    return L1Learner(embedding=exact_embedding(metric), **(given_ | numbers))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), min_size=1, max_size=8))
def test_a_profile_counts_people(table):
    positions, counts = (np.array(column, dtype=np.int64) for column in zip(*table, strict=True))
    profile = Profile(positions, counts)
    for at in range(10):
        assert profile.count(at) == counts[positions <= at].sum()
        assert profile.value(at) == (np.abs(positions - at) * counts).sum()


@pytest.mark.parametrize("pure", [True, False])
@pytest.mark.parametrize(
    "task",
    [
        CoordinateTask(1, 1, 1, 2),
        CoordinateTask(1, 10**6, 1000, 2),
        CoordinateTask(2**24, 10**4, 10**6, 500),
        CoordinateTask(37, 500, 40, 38),
    ],
    ids=repr,
)
def test_no_coordinate_spends_more_than_it_may(task, pure):
    for budget in (Fraction(1, 1000), Fraction(1, 40), Fraction(2)):
        tuning = tune_coordinate(task, budget=budget, pure=pure, beta=0.05)
        one = tuning.test.cost(task.width)
        value, count = tuning.value_noise.parameter, tuning.count_noise.parameter
        if pure:
            line = task.width * value + count
        else:
            line, one = task.width**2 / (2 * value) + 1 / (2 * count), one**2 / 2
        spent = (tuning.updates + 1) * one + tuning.updates * line
        assert Fraction(99, 100) * budget < spent <= budget
        assert spent == tuning.total_cost
        assert 1 <= tuning.updates <= task.most_updates
        assert tuning.below < tuning.above


TASK = CoordinateTask(9, 50, 30, 10)
ALWAYS = AboveThreshold(Fraction(5), Fraction(5), -(10**9))
NEVER = replace(ALWAYS, threshold=10**18)


def run(profile, places, *, task=TASK, budget=Fraction(1), seed=1, **changes):
    """The tuning, changed, and the states of a coordinate that is asked at some places."""
    tuning = replace(tune_coordinate(task, budget=budget, pure=True, beta=0.1), **changes)
    source = SeededEntropy(seed)
    states = [start_coordinate(tuning, source)]
    for at in places:
        states.append(step_coordinate(tuning, states[-1], profile, at, source))
    return tuning, states


def test_the_cap_is_hard():
    """A test that always fires buys the tangents that were paid for, then reads nothing more."""

    class Watched:
        reads = 0

        def value(self, _):
            self.reads += 1
            return 20

        def count(self, _):
            return 20

    profile = Watched()
    tuning, states = run(profile, [step % 10 for step in range(20)], test=ALWAYS)
    for step, state in enumerate(states[1:]):
        assert state.updates == min(step + 1, tuning.updates)
        assert (state.secret is None) == (step >= tuning.updates)
    assert profile.reads == 2 * tuning.updates + 1


def test_a_test_that_has_fired_goes_on_with_a_new_threshold():
    """Kept, one noise would answer for all instances, of which each is paid for by itself.

    Two thresholds of a mean of 10^12 are equal with probability below 10^-12.
    """
    profile = Profile(np.array([2]), np.array([50]))
    wide = AboveThreshold(Fraction(1, 10**12), Fraction(5), -(10**18))
    _, states = run(profile, [3] * 4, test=wide, updates=4)
    assert states[-1].updates == 4
    assert len({state.secret for state in states}) == 5
    _, (kept, after) = run(profile, [3], test=replace(wide, threshold=10**18), updates=4)
    assert after.secret == kept.secret


def test_no_more_tests_than_were_paid_for_in_accuracy():
    profile = Profile(np.arange(10), np.full(10, 5))
    _, states = run(profile, [4] * 5, task=CoordinateTask(9, 50, 3, 10), test=NEVER)
    assert [state.secret is not None for state in states[1:]] == [True, True, True, False, False]


def test_noisy_tangents_are_brought_back_to_what_is_possible():
    profile, few = Profile(np.array([3]), np.array([4])), CoordinateTask(9, 4, 30, 10)
    lines = []
    for seed in range(30):
        loud = {"task": few, "budget": Fraction(1, 100), "seed": seed, "test": ALWAYS}
        lines += run(profile, [2], **loud)[1][-1].hypothesis.lines
    assert {line.slope for line in lines} <= {-4, -2, 0, 2, 4}
    assert {line.value for line in lines} == {0, 28}  # noise is a hundred times larger


def test_a_release_gives_the_same_answers_one_by_one_and_all_at_once():
    for metric, delta in ((GRID, 1e-6), (Metric.path(9, np.linspace(0.3, 1.1, 8)), 0.0)):
        here = people(metric, 10**6)
        made = plan(metric, people=10**6, delta=delta)
        learnt = made.learn(here, SeededEntropy(4))
        assert are_guaranteed(learnt)
        values, (low, high), truth = made.values(learnt), made.ranges(learnt), all_distances(here)
        for row in range(len(metric)):
            one = np.array([row])
            assert made.values(learnt, one) == values[row]
            found = made.ranges(learnt, one)
            assert low[row] - 1e-9 <= truth[row] <= high[row] + 1e-9
            assert found[0][0] <= truth[row] <= found[1][0]
        assert (low >= 0).all()
        assert (high <= metric.diameter * (1 + 1e-5)).all()
        assert (np.abs(values - truth) <= made.error + made.embedding.rounding).all()
        assert np.ptp(values) > 0


def test_a_coordinate_that_ran_out_leaves_the_trivial_interval():
    made = InteractiveDistances(plan(queries=9, people=40))
    state = made.start(people(GRID, 40), SeededEntropy(1))
    answer = made.unguaranteed(state, 0)
    assert answer.interval == (0, pytest.approx(9))
    assert "no guarantee" in str(answer)
    out = replace(state.coordinates[0], secret=None)
    state = replace(state, coordinates=(out, state.coordinates[1]))
    assert state.stopped
    _, answer = made.step(state, 0, None, SeededEntropy(1))
    assert (answer.guaranteed, answer.queries_left) == (False, 0)
    assert answer.interval == (0, pytest.approx(9))


def test_what_is_printed_shows_nothing_private():
    mechanism = InteractiveDistances(plan(queries=3))
    states = [mechanism.start(people(GRID, 1000, seed), SeededEntropy(1)) for seed in (1, 2)]
    assert repr(states[0]) == repr(states[1])
    assert "secret" not in repr(states[0].coordinates[0])
    assert repr(states[0].profiles[0]) == "Profile()"
    _, answer = mechanism.step(states[0], 1, None, SeededEntropy(2))
    assert str(answer).endswith("[seeded: not private]")


def test_only_query_vertices_are_answered():
    metric = Metric.of(nx.cycle_graph(6))
    embedding = bourgain_embedding(metric, [0, 3], public_seed=1, repetitions=8)
    online = InteractiveDistances(L1Learner(embedding=embedding, people=50, queries=4, epsilon=1.0))
    state = online.start(people(metric, 50), SeededEntropy(1))
    for row in (1, -1, 6):
        with pytest.raises(QueryError):
            online.step(state, row, None, SeededEntropy(1))
    assert online.step(state, 3, None, SeededEntropy(1))[1].guaranteed


WIDTH = 20


def tuning(value_radius, count_radius, above, people):
    task = CoordinateTask(WIDTH, people, 50, WIDTH + 1)
    made = tune_coordinate(task, budget=Fraction(1), pure=True, beta=0.1)
    return replace(made, value_radius=value_radius, count_radius=count_radius, above=above)


@given(
    st.lists(st.integers(0, 30), min_size=WIDTH + 1, max_size=WIDTH + 1).filter(any),
    st.lists(st.tuples(st.integers(0, WIDTH), st.integers(-5, 5), st.integers(-2, 2)), max_size=5),
    st.sets(st.integers(0, WIDTH), min_size=1, max_size=6),
)
def test_bounds_hold_for_all_that_noise_may_do(counts, bought, silent):
    """Lines are off by whatever their radii allow, and silent tests by whatever theirs do."""
    profile = Profile(np.arange(WIDTH + 1), np.array(counts))
    people = sum(counts)
    hypothesis = PiecewiseLinear()
    for at, value, count in bought:
        hypothesis = hypothesis.with_line(
            Line(at, profile.value(at) + value, 2 * (profile.count(at) + count) - people)
        )
    above = max([5, *(profile.value(at) - hypothesis(at) for at in silent)])
    points = np.array(sorted(silent))
    low, high = coordinate_bounds(hypothesis, tuning(5, 2, above, people), points)
    truth = np.array([profile.value(at) for at in points.tolist()])
    assert (low <= truth).all()
    assert (truth <= high).all()


def test_exact_lines_everywhere_leave_nothing_open():
    """And a twin whose lines are off by one more than their radius is caught."""
    points = np.arange(WIDTH + 1)
    profile, people = Profile(points, points), int(points.sum())
    truth, bounds = np.array([profile.value(at) for at in range(WIDTH + 1)]), []
    for off in (0, 1):
        hypothesis = PiecewiseLinear()
        for at in range(WIDTH + 1):
            line = Line(at, profile.value(at) - off, 2 * profile.count(at) - people)
            hypothesis = hypothesis.with_line(line)
        bounds.append(coordinate_bounds(hypothesis, tuning(0, 0, 0, people), points))
    assert np.array(bounds[0]) == pytest.approx(np.array([truth, truth]))
    assert (bounds[1][1] < truth - 0.5).any()


def tangent(places, at):
    """Exact value and right derivative of the sum of distances to some places."""
    slope = sum(1 if place <= at else -1 for place in places)
    return Line(at, sum(abs(place - at) for place in places), slope)


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=12),
    st.lists(st.integers(0, 30), max_size=8),
)
def test_exact_tangents_never_pass_the_function_and_meet_it_where_they_touch(places, touched):
    hypothesis = PiecewiseLinear()
    for at in touched:
        hypothesis = hypothesis.with_line(tangent(places, at))
    points = np.arange(31)
    truth = np.abs(points[:, None] - np.array(places)).sum(axis=1)
    found = hypothesis(points)
    assert found.dtype == points.dtype
    assert (found <= truth).all()
    assert (found[touched] == truth[touched]).all()
    assert found.tolist() == [hypothesis(x) for x in range(31)]
