"""The learner of one-dimensional convex functions, and sums of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcuts_dp.distances.coordinate import Line, PiecewiseLinear
from graphcuts_dp.errors import ParameterError
from scripts.figures.distance_bounds import (
    decomposable_mistakes,
    decomposable_tolerance,
    learner_mistakes,
)


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


def test_the_first_hypothesis_is_zero_and_stays_as_it_was():
    first = PiecewiseLinear()
    second = first.with_line(Line(2, 5, -1))
    assert [first(x) for x in (0, 4)] == [0, 0]
    assert [second(x) for x in (0, 2, 10)] == [7, 5, 0]
    assert first(np.array([0.0, 4.0])).tolist() == [0, 0]


def test_bounds_are_whole_and_fall_with_the_tolerance():
    counts = [learner_mistakes(alpha) for alpha in (0.001, 0.01, 0.1, 1.9, 3)]
    assert counts == [45, 15, 5, 2, 1]
    assert learner_mistakes(0.01, line_error=0.005) == 21
    assert learner_mistakes(1, width=50, slope_range=8) == 21
    assert decomposable_mistakes(0.04, 4) == 4 * 21
    assert decomposable_tolerance(0.04, 4) == 0.01 / 4


@pytest.mark.parametrize(
    "numbers", [{"line_error": 1}, {"line_error": -0.1}, {"width": 0}, {"slope_range": 0}]
)
def test_impossible_tolerances_are_refused(numbers):
    with pytest.raises(ParameterError):
        learner_mistakes(1, **numbers)
