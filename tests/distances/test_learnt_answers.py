"""HR12's learner from the outside, and the bounds that make its intervals narrow."""

from fractions import Fraction

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcuts_dp.distances import Locations, Metric, answer_distances, plan_distances
from graphcuts_dp.distances.coordinate import (
    AboveThreshold,
    CoordinateTask,
    CoordinateTuning,
    Line,
    PiecewiseLinear,
    Profile,
)
from graphcuts_dp.distances.embeddings import embeddings_of, learnt_cheaply
from graphcuts_dp.distances.learner import best_learner, coordinate_bounds
from graphcuts_dp.distances.locations import all_distances
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.distributions import ValueNoise

WIDTH = 20


def ring(size):
    graph = nx.cycle_graph(size)
    graph.add_edge(0, size // 3)
    return Metric.of(graph)


MAPS = {
    "path": Metric.path(40),
    "grid": Metric.grid(6, 7),
    "tree": Metric.of(nx.balanced_tree(2, 3)),
    "ring": ring(12),
}


def placed(metric, people=10**6, seed=1):
    rng = np.random.default_rng(seed)
    return Locations(metric, rng.multinomial(people, rng.dirichlet(np.full(len(metric), 0.3))))


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
@pytest.mark.parametrize("kind", MAPS)
def test_intervals_hold_for_all_vertices(kind, noise):
    """All runs hold but for a chance of 4e-8; none is wider than the plan promised."""
    here = placed(MAPS[kind])
    truth = all_distances(here)
    for seed in range(4):
        answers = answer_distances(
            here.metric,
            here,
            epsilon=2.0,
            delta=1e-6,
            mechanism="learner",
            noise=noise,
            confidence=1 - 1e-8,
            seed=seed,
        )
        assert (np.abs(answers.values - truth) <= answers.radii).all()
        row = answers.plan.best
        assert (row.mechanism, row.noise, row.typical) == ("learner", noise, None)
        assert answers.radii.max() <= row.guaranteed * (1 + 1e-9) < here.metric.diameter
        assert answers.guarantee.delta == (0 if noise == "laplace" else 1e-6)


def test_intervals_are_much_narrower_than_one_number_for_all_positions():
    """Where people are decides how much; here, for a fixed seed, half and less."""
    here = placed(MAPS["path"], seed=3)
    answers = answer_distances(MAPS["path"], here, epsilon=2.0, mechanism="learner", seed=3)
    assert np.median(answers.radii) < answers.plan.best.guaranteed / 2


def tuning(value_radius, count_radius, above, people):
    bare = ValueNoise("laplace", Fraction(1))
    return CoordinateTuning(
        task=CoordinateTask(WIDTH, people, 50, WIDTH + 1),
        updates=5,
        test=AboveThreshold(Fraction(1), Fraction(1), 1),
        value_noise=bare,
        count_noise=bare,
        value_radius=value_radius,
        count_radius=count_radius,
        below=value_radius + 2 * WIDTH * count_radius,
        above=above,
        spent=Fraction(0),
    )


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
    counts = np.arange(WIDTH + 1)
    profile = Profile(np.arange(WIDTH + 1), counts)
    exact, off = PiecewiseLinear(), PiecewiseLinear()
    for at in range(WIDTH + 1):
        slope = 2 * profile.count(at) - int(counts.sum())
        exact = exact.with_line(Line(at, profile.value(at), slope))
        off = off.with_line(Line(at, profile.value(at) - 1, slope))
    points = np.arange(WIDTH + 1)
    truth = [profile.value(at) for at in range(WIDTH + 1)]
    low, high = coordinate_bounds(exact, tuning(0, 0, 0, int(counts.sum())), points)
    assert low == pytest.approx(truth)
    assert high == pytest.approx(truth)
    _, high = coordinate_bounds(off, tuning(0, 0, 0, int(counts.sum())), points)
    assert (high < np.array(truth) - 0.5).any()


def test_several_people_cost_as_much_as_the_noise_of_one_grows():
    here = placed(MAPS["grid"])
    one = answer_distances(MAPS["grid"], here, epsilon=1.0, mechanism="learner", seed=1)
    ten = answer_distances(MAPS["grid"], here, epsilon=1.0, mechanism="learner", at_most=10, seed=1)
    assert ten.guarantee.protects == "10 people"
    assert one.guarantee.epsilon == ten.guarantee.epsilon == 1.0
    assert ten.plan.best.guaranteed > 2 * one.plan.best.guaranteed
    for share, whole in zip(ten.plan.best.built.tunings, one.plan.best.built.tunings, strict=True):
        assert 10 * share.spent <= Fraction(1)
        assert share.spent < whole.spent


def test_auto_tries_the_learner_where_that_is_cheap():
    star = Metric.of(nx.star_graph(90))
    named = {
        name: {row.mechanism for row in plan_distances(metric, people=10**8, epsilon=1.0).rows}
        for name, metric in {**MAPS, "star": star}.items()
    }
    assert {name for name, rows in named.items() if "learner" in rows} == {"path", "grid", "tree"}
    assert learnt_cheaply(star, most_coordinates=90)
    asked = plan_distances(star, people=99, epsilon=1.0, mechanism="learner")
    assert asked.best.mechanism == "learner"


def test_the_dimension_of_an_inexact_embedding_is_the_best_promise():
    terms = {"queries": None, "epsilon": 5.0, "beta": 0.05}
    many, few = (
        best_learner(embeddings_of(MAPS["ring"]), people=people, **terms) for people in (10**8, 10)
    )
    assert many.embedding.contraction > 1
    assert many.radius < MAPS["ring"].diameter / 2
    assert many.embedding.points.shape[1] >= few.embedding.points.shape[1]
    assert many.radii(confidence=0.95) == many.radius
    with pytest.raises(ParameterError, match="smaller confidence"):
        many.radii(confidence=0.96)
