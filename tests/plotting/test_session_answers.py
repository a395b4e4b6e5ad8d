"""The figure of a session's answers."""

import math

import pytest

from graphcuts_dp.plotting.session_answers import AnswerPoint, session_answers_figure


@pytest.mark.parametrize("count", [1, 3, 500])
def test_values_and_intervals_are_drawn(count, tmp_path):
    points = [AnswerPoint(float(i), i - 2.0, i + 2.0, i % 3 == 1) for i in range(count)]
    figure = session_answers_figure(points, title="Session a")
    figure.savefig(tmp_path / "a.png")
    axes = figure.axes[0]
    values = [offset[1] for offset in axes.collections[1].get_offsets()]
    assert values == [point.value for point in points]
    assert axes.get_title(loc="left") == "Session a"
    assert len(axes.collections) == (2 if count == 1 else 3)
    assert len(figure.legends) == (count > 1)


def test_infinite_intervals_are_left_out(tmp_path):
    points = [AnswerPoint(1.0, 0.0, math.inf, False), AnswerPoint(2.0, 1.0, 3.0, False)]
    figure = session_answers_figure(points, title="Session a")
    figure.savefig(tmp_path / "a.png")
    bottom, top = figure.axes[0].get_ylim()
    assert 0 <= bottom < top < 4
