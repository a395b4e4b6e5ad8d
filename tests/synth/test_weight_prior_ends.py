"""Points of the last class of weights: the largest weight is one of them."""

import numpy as np
import pytest

from graphcuts_dp.synth.weight_prior import _points_between


@pytest.mark.parametrize(("start", "cap"), [(1.0, 1.0), (2.0, 3.0), (4.0, 5.0), (2.5, 4.0), (4, 9)])
def test_a_short_last_class_has_the_largest_weight(start, cap):
    points = _points_between(start, cap, 1.0, integral=True, closed=True)
    expected = np.arange(np.ceil(start), cap + 1)
    if len(expected) <= 6:
        assert points.tolist() == expected.tolist()
    else:
        assert start <= points.min() < points.max() <= cap


@pytest.mark.parametrize(("start", "stop"), [(1.0, 2.0), (2.0, 4.0), (0.5, 1.0), (4.0, 8.0)])
def test_another_class_ends_before_the_next_one(start, stop):
    points = _points_between(start, stop, 1.0, integral=True)
    assert (
        points.tolist()
        == [*range(int(np.ceil(start)), max(int(stop), int(start) + 2))][: len(points)]
    )
    assert points.max() < stop or len(points) == 1
