"""Figures of the bipartite families, and of updates beside B."""

import itertools

import numpy as np
import pytest

from scripts.figures.base import Table
from scripts.figures.bipartite_cuts import COLUMNS, METHODS, bipartite_cuts_figure
from scripts.figures.updates import ANALYSTS, CONSTRUCTIONS, RULES, updates_figure
from scripts.figures.updates import COLUMNS as UPDATE_COLUMNS

SIDES = (50, 100)


def table_of(columns, rows):
    return Table(columns=columns, rows=rows, parameters={}, findings=[])


def bipartite_table():
    """Method i promises i + 1 times the error of answering 0; its sessions err half as much."""
    rows = []
    for number, method in enumerate(METHODS, start=1):
        for V, size in ((10**2, 16), (10**4, 16), (10**6, 16)):
            for quantity in ("promised", "claimed, scaled"):
                rows.append(("V varies", method, V, size, 1.0, quantity, 0, number * 10.0))
                rows.append(("|S| varies", method, 10**6, V, 1.0, quantity, 0, number * 10.0))
        for V, repeat in itertools.product(SIDES, range(3)):
            error = number * 5.0 * (1 + repeat / 10)
            rows.append(("session", method, V, V // 2, 3.0, "measured", repeat, error))
        rows += [("session", method, V, V // 2, 3.0, "promised", 0, number * 10.0) for V in SIDES]
    for V in (10**2, 10**4, 10**6):
        rows.append(("V varies", "answer 0", V, 16, 1.0, "exact", 0, 10.0))
        rows.append(("|S| varies", "answer 0", 10**6, V, 1.0, "exact", 0, 10.0))
    rows += [("session", "answer 0", V, V // 2, 3.0, "exact", 0, 10.0) for V in SIDES]
    return table_of(COLUMNS, rows)


def updates_table():
    rows = [
        (name, rule, analyst, graph, 0.1, 5.0, used, 100.0)
        for name, rule, analyst in itertools.product(CONSTRUCTIONS, RULES, ANALYSTS)
        for graph, used in (("a", 0), ("b", 7), ("c", 100))
    ]
    return table_of(UPDATE_COLUMNS, rows)


def test_errors_are_drawn_over_those_of_answering_0():
    by_side, by_size, sessions = bipartite_cuts_figure(bipartite_table()).axes
    for axes in (by_side, by_size):
        marked = [line for line in axes.lines if line.get_marker() not in ("None", "")]
        assert [list(line.get_ydata()) for line in marked] == [[i, i, i] for i in (1, 2, 3)]
        assert axes.get_xscale() == axes.get_yscale() == "log"
    assert "16" in by_side.get_title(loc="left")
    assert "1,000,000" in by_size.get_title(loc="left")
    bars = list(sessions.containers)
    assert len(bars) == len(METHODS)
    for number, bar in enumerate(bars, start=1):
        assert list(bar[0].get_ydata()) == pytest.approx([number * 0.55] * 2)
        (segments,) = (lines.get_segments() for lines in bar[2])
        assert np.array(segments)[:, :, 1] == pytest.approx(np.array([[0.5, 0.6]] * 2) * number)


def test_every_run_is_a_point_and_none_is_out_of_sight():
    panels = updates_figure(updates_table()).axes
    assert len(panels) == len(RULES)
    for axes in panels:
        low, high = axes.get_xlim()
        assert len(axes.collections) == len(ANALYSTS)
        for points in axes.collections:
            shares = points.get_offsets()[:, 0]
            assert sorted(shares) == sorted([0, 0.07, 1.0] * len(CONSTRUCTIONS))
            assert low < shares.min() < shares.max() < high
        assert len(axes.get_yticks()) == len(CONSTRUCTIONS)


@pytest.mark.parametrize(
    ("draw", "table"),
    [(bipartite_cuts_figure, bipartite_table()), (updates_figure, updates_table())],
)
def test_no_text_is_cut_off(draw, table):
    figure = draw(table)
    figure.draw_without_rendering()
    page = figure.bbox
    texts = [text for axes in figure.axes for text in (axes.title, axes._left_title)]
    texts += [axis.label for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)]
    texts += [label for axes in figure.axes for label in axes.get_yticklabels()]
    texts += [text for legend in figure.legends for text in legend.get_texts()]
    for text in texts:
        if text.get_text():
            box = text.get_window_extent()
            assert page.x0 <= box.x0 <= box.x1 <= page.x1
            assert page.y0 <= box.y0 <= box.y1 <= page.y1
