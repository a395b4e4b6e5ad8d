"""The figure of a graph of the benchmark."""

import pytest

from scripts.benchmark.pages import MOST_LINES, benchmark_figure

CURVES = {f"method {i}": ([0.5, 1.0, 2.0], [1.0 / (i + 1), 0.5, 0.1]) for i in range(9)}


def drawn(axes):
    return [line for line in axes.get_lines() if not line.get_label().startswith("_")]


def test_a_panel_for_each_measure_and_a_line_for_each_of_the_first_contenders():
    few = dict(list(CURVES.items())[:2])
    figure = benchmark_figure("a graph", {"worst cut": CURVES, "group cuts": few})
    first, second = figure.axes
    assert [line.get_label() for line in drawn(first)] == [f"method {i}" for i in range(MOST_LINES)]
    assert [line.get_label() for line in drawn(second)] == ["method 0", "method 1"]
    assert list(drawn(first)[2].get_ydata()) == pytest.approx([1 / 3, 0.5, 0.1])
    # The same look in all panels.
    assert drawn(first)[1].get_color() == drawn(second)[1].get_color()
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["worst cut", "group cuts"]
    (legend,) = figure.legends
    assert len(legend.get_texts()) == MOST_LINES


def test_the_empty_graph_is_a_line_at_1():
    (axes,) = benchmark_figure("a graph", {"worst cut": CURVES}).axes
    (level,) = [line for line in axes.get_lines() if line not in drawn(axes)]
    assert list(level.get_ydata()) == [1.0, 1.0]
    assert axes.get_yscale() == axes.get_xscale() == "log"
    assert [text.get_text() for text in axes.get_xticklabels()] == ["0.5", "1", "2"]
