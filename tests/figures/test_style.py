"""The house style: labels that do not overlap, looks that differ in grey."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

from graphcuts_dp.plotting.style import house_style
from scripts.figures.style import draw_series, label_ends, look, spread


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=9), st.floats(0, 1))
def test_spread_keeps_the_order_and_the_gap(places, gap):
    moved = spread(places, gap)
    order = np.argsort(places, kind="stable")
    assert (np.diff(moved[order]) >= gap - 1e-9).all()
    assert np.mean(moved) == pytest.approx(np.mean(places), abs=1e-9)
    if (np.diff(np.sort(places)) >= gap + 1e-9).all():
        assert moved == pytest.approx(places)


def test_looks_differ_in_every_way():
    looks = [look(i) for i in range(7)]
    for key in ("color", "marker", "linestyle"):
        assert len({str(entry[key]) for entry in looks}) == 7
    lightness = [np.dot(to_rgb(entry["color"]), (0.299, 0.587, 0.114)) for entry in looks]
    assert max(lightness) < 0.75  # seen on white


def test_labels_at_the_ends_do_not_overlap():
    with house_style():
        figure = Figure(figsize=(3.4, 2.6))
        axes = figure.subplots()
        lines = [
            draw_series(axes, [1, 2, 3], [1, 2, 3 + i / 100], index=i, label=f"line {i}")
            for i in range(5)
        ]
        label_ends(axes, lines)
        figure.draw_without_rendering()
        boxes = sorted(
            (Text.get_window_extent(text) for text in axes.texts), key=lambda box: float(box.y0)
        )
        whole = figure.bbox
    assert len(boxes) == 5
    for low, high in itertools.pairwise(boxes):
        assert high.y0 >= low.y0 + 0.9 * low.height
    assert all(box.x1 <= whole.x1 for box in boxes)


def test_a_band_is_the_range_over_seeds():
    axes = Figure().subplots()
    line = draw_series(axes, [1, 2], [[1, 2, 6], [3, 4, 8]], index=0, label="a")
    assert list(line.get_ydata()) == [2, 4]
    heights = axes.collections[0].get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (1, 8)
    draw_series(axes, [1, 2], [1, 2], index=1, label="b")
    assert len(axes.collections) == 1
