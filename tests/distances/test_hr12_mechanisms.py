"""Parts of the mechanisms of HR12: tangents, profiles, budgets, update limits, bounds, texts.

A coordinate is one axis of an embedding into l1. Its profile has the people at each position; its
hypothesis is a maximum of tangents ("lines") to the sum of distances.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcuts_dp import QueryError
from graphcuts_dp.distances.coordinate import (
    AboveThreshold,
    CoordinateState,
    CoordinateTask,
    CoordinateTuning,
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


def random_people(metric: Metric, count: int, seed: int = 0) -> Locations:
    rng = np.random.default_rng(seed)
    return Locations(metric, rng.multinomial(count, rng.dirichlet(np.ones(len(metric)))))


def learner(metric: Metric = GRID, **terms: Any) -> L1Learner:
    usual_terms = {"people": 1000, "queries": None, "epsilon": 1.0, "delta": 1e-6}
    return L1Learner(embedding=exact_embedding(metric), **(usual_terms | terms))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), min_size=1, max_size=8))
def test_a_profile_counts_people_up_to_a_position_and_sums_their_distances(table):
    positions, counts = (np.array(column, dtype=np.int64) for column in zip(*table, strict=True))
    profile = Profile(positions, counts)
    for position in range(10):
        assert profile.count(position) == counts[positions <= position].sum()
        assert profile.value(position) == (np.abs(positions - position) * counts).sum()


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
def test_a_coordinate_spends_its_budget_and_at_least_99_percent_of_it(task, pure):
    for budget in (Fraction(1, 1000), Fraction(1, 40), Fraction(2)):
        tuning = tune_coordinate(task, budget=budget, pure=pure, beta=0.05)
        test = tuning.test.cost(task.width)
        value, count = tuning.value_noise.parameter, tuning.count_noise.parameter
        if pure:
            line = task.width * value + count
        else:
            # Both in zCDP: Gaussian noise, and a pure test of epsilon as epsilon^2 / 2.
            line, test = task.width**2 / (2 * value) + 1 / (2 * count), test**2 / 2
        spent = (tuning.updates + 1) * test + tuning.updates * line
        assert Fraction(99, 100) * budget < spent <= budget
        assert spent == tuning.total_cost
        assert 1 <= tuning.updates <= task.most_updates
        assert tuning.below < tuning.above


TASK = CoordinateTask(9, 50, 30, 10)
ALWAYS = AboveThreshold(Fraction(5), Fraction(5), -(10**9))  # fires at every query
NEVER = replace(ALWAYS, threshold=10**18)


def run(
    profile: Any,
    positions: list[int],
    *,
    task: CoordinateTask = TASK,
    budget: Fraction = Fraction(1),
    seed: int = 1,
    **changes: Any,
) -> tuple[CoordinateTuning, list[CoordinateState]]:
    """Answer queries at these positions; return the changed tuning, and the state after each."""
    tuning = replace(tune_coordinate(task, budget=budget, pure=True, beta=0.1), **changes)
    source = SeededEntropy(seed)
    states = [start_coordinate(tuning, source)]
    for position in positions:
        states.append(step_coordinate(tuning, states[-1], profile, position, source))
    return tuning, states


def test_a_test_that_always_fires_measures_the_planned_tangents_and_reads_no_more_data():
    class CountingProfile:
        reads = 0

        def value(self, _):
            self.reads += 1
            return 20

        def count(self, _):
            return 20

    profile = CountingProfile()
    tuning, states = run(profile, [step % 10 for step in range(20)], test=ALWAYS)
    for step, state in enumerate(states[1:]):
        assert state.updates == min(step + 1, tuning.updates)
        assert (state.secret is None) == (step >= tuning.updates)
    assert profile.reads == 2 * tuning.updates + 1


def test_a_test_that_has_fired_goes_on_with_a_new_threshold():
    """Each instance of the test is paid for by itself, so it must not share its noise.

    Two thresholds of a mean of 10^12 are equal with probability below 10^-12.
    """
    profile = Profile(np.array([2]), np.array([50]))
    wide = AboveThreshold(Fraction(1, 10**12), Fraction(5), -(10**18))
    _, states = run(profile, [3] * 4, test=wide, updates=4)
    assert states[-1].updates == 4
    assert len({state.secret for state in states}) == 5
    _, (before, after) = run(profile, [3], test=replace(wide, threshold=10**18), updates=4)
    assert after.secret == before.secret


def test_tests_end_after_the_number_of_queries_that_the_error_is_stated_for():
    profile = Profile(np.arange(10), np.full(10, 5))
    _, states = run(profile, [4] * 5, task=CoordinateTask(9, 50, 3, 10), test=NEVER)
    assert [state.secret is not None for state in states[1:]] == [True, True, True, False, False]


def test_noisy_tangents_are_clipped_to_possible_slopes_and_values():
    profile, few = Profile(np.array([3]), np.array([4])), CoordinateTask(9, 4, 30, 10)
    lines = []
    for seed in range(30):
        noisy = {"task": few, "budget": Fraction(1, 100), "seed": seed, "test": ALWAYS}
        lines += run(profile, [2], **noisy)[1][-1].hypothesis.lines
    assert {line.slope for line in lines} <= {-4, -2, 0, 2, 4}
    assert {line.value for line in lines} == {0, 28}  # noise is a hundred times larger


def test_a_release_gives_the_same_answers_one_by_one_and_all_at_once():
    for metric, delta in ((GRID, 1e-6), (Metric.path(9, np.linspace(0.3, 1.1, 8)), 0.0)):
        locations = random_people(metric, 10**6)
        mechanism = learner(metric, people=10**6, delta=delta)
        state = mechanism.learn(locations, SeededEntropy(4))
        assert are_guaranteed(state)
        values, (low, high), truth = (
            mechanism.values(state),
            mechanism.ranges(state),
            all_distances(locations),
        )
        for row in range(len(metric)):
            one_query = np.array([row])
            assert mechanism.values(state, one_query) == values[row]
            (one_low,), (one_high,) = mechanism.ranges(state, one_query)
            assert low[row] - 1e-9 <= truth[row] <= high[row] + 1e-9
            assert one_low <= truth[row] <= one_high
        assert (low >= 0).all()
        assert (high <= metric.diameter * (1 + 1e-5)).all()
        assert (np.abs(values - truth) <= mechanism.error + mechanism.embedding.rounding).all()
        assert np.ptp(values) > 0


def test_without_a_guarantee_an_answer_has_the_trivial_interval():
    mechanism = InteractiveDistances(learner(queries=9, people=40))
    state = mechanism.start(random_people(GRID, 40), SeededEntropy(1))
    answer = mechanism.unguaranteed(state, 0)
    assert answer.interval == (0, pytest.approx(9))
    assert "no guarantee" in str(answer)
    first, second = state.coordinates
    state = replace(state, coordinates=(replace(first, secret=None), second))
    assert state.stopped
    _, answer = mechanism.step(state, 0, None, SeededEntropy(1))
    assert (answer.guaranteed, answer.queries_left) == (False, 0)
    assert answer.interval == (0, pytest.approx(9))


def test_reprs_of_states_and_profiles_show_nothing_private():
    mechanism = InteractiveDistances(learner(queries=3))
    states = [mechanism.start(random_people(GRID, 1000, seed), SeededEntropy(1)) for seed in (1, 2)]
    assert repr(states[0]) == repr(states[1])
    assert "secret" not in repr(states[0].coordinates[0])
    assert repr(states[0].profiles[0]) == "Profile()"
    _, answer = mechanism.step(states[0], 1, None, SeededEntropy(2))
    assert str(answer).endswith("[seeded: not private]")


def test_only_query_vertices_are_answered():
    metric = Metric.of(nx.cycle_graph(6))
    embedding = bourgain_embedding(metric, [0, 3], public_seed=1, repetitions=8)
    online = InteractiveDistances(L1Learner(embedding=embedding, people=50, queries=4, epsilon=1.0))
    state = online.start(random_people(metric, 50), SeededEntropy(1))
    for row in (1, -1, 6):
        with pytest.raises(QueryError):
            online.step(state, row, None, SeededEntropy(1))
    assert online.step(state, 3, None, SeededEntropy(1))[1].guaranteed


WIDTH = 20  # of the coordinate of the bounds below


def tuning_with(value_radius: int, count_radius: int, above: int, people: int) -> CoordinateTuning:
    """Return a tuning with errors of lines and tests of exactly these radii."""
    task = CoordinateTask(WIDTH, people, 50, WIDTH + 1)
    tuning = tune_coordinate(task, budget=Fraction(1), pure=True, beta=0.1)
    return replace(tuning, value_radius=value_radius, count_radius=count_radius, above=above)


@given(
    st.lists(st.integers(0, 30), min_size=WIDTH + 1, max_size=WIDTH + 1).filter(any),
    st.lists(st.tuples(st.integers(0, WIDTH), st.integers(-5, 5), st.integers(-2, 2)), max_size=5),
    st.sets(st.integers(0, WIDTH), min_size=1, max_size=6),
)
def test_bounds_contain_the_truth_for_all_noise_within_the_radii(counts, lines, silent_positions):
    """Errors of lines and of silent tests are drawn up to their radii."""
    profile = Profile(np.arange(WIDTH + 1), np.array(counts))
    people = sum(counts)
    hypothesis = PiecewiseLinear()
    for position, value, count in lines:
        hypothesis = hypothesis.with_line(
            Line(
                position,
                profile.value(position) + value,
                2 * (profile.count(position) + count) - people,
            )
        )
    above = max(
        [5, *(profile.value(position) - hypothesis(position) for position in silent_positions)]
    )
    points = np.array(sorted(silent_positions))
    low, high = coordinate_bounds(hypothesis, tuning_with(5, 2, above, people), points)
    truth = np.array([profile.value(position) for position in points.tolist()])
    assert (low <= truth).all()
    assert (truth <= high).all()


def test_exact_lines_at_all_positions_have_bounds_of_no_width():
    """Lines with an error of one more than their radius lead to wrong bounds."""
    points = np.arange(WIDTH + 1)
    profile, people = Profile(points, points), int(points.sum())
    truth, bounds = np.array([profile.value(position) for position in range(WIDTH + 1)]), []
    for error in (0, 1):
        hypothesis = PiecewiseLinear()
        for position in range(WIDTH + 1):
            line = Line(
                position, profile.value(position) - error, 2 * profile.count(position) - people
            )
            hypothesis = hypothesis.with_line(line)
        bounds.append(coordinate_bounds(hypothesis, tuning_with(0, 0, 0, people), points))
    assert np.array(bounds[0]) == pytest.approx(np.array([truth, truth]))
    assert (bounds[1][1] < truth - 0.5).any()


def tangent(people: list[int], position: int) -> Line:
    """Return the exact value and right derivative of the sum of distances to some people."""
    slope = sum(1 if person <= position else -1 for person in people)
    return Line(position, sum(abs(person - position) for person in people), slope)


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=12),
    st.lists(st.integers(0, 30), max_size=8),
)
def test_a_maximum_of_exact_tangents_is_below_the_function_and_equal_where_they_touch(
    people, positions
):
    hypothesis = PiecewiseLinear()
    for position in positions:
        hypothesis = hypothesis.with_line(tangent(people, position))
    points = np.arange(31)
    truth = np.abs(points[:, None] - np.array(people)).sum(axis=1)
    values = hypothesis(points)
    assert values.dtype == points.dtype
    assert (values <= truth).all()
    assert (values[positions] == truth[positions]).all()
    assert values.tolist() == [hypothesis(point) for point in range(31)]
