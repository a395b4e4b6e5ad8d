"""The figure of Schatten norms: what it shows, from a table alone."""

import pytest

from scripts.figures.base import Table
from scripts.figures.low_rank import low_rank_figure

METHODS = {"gaussian": ("Frobenius", "Schatten, JT12's p", "Schatten, best p")}
METHODS["rank-one"] = METHODS["gaussian"][:2]


@pytest.fixture
def table():
    rows = []
    for queries, methods in METHODS.items():
        for i, method in enumerate(methods):
            for repetition in (0, 1):
                sizes = [("n", 8, 2), ("n", 16, 2), ("rank", 8, 1), ("rank", 8, 4)]
                for part, n, rank in sizes:
                    updates = (i + 1) * n * rank + repetition
                    rows.append((part, queries, method, 2.0, n, rank, repetition, updates, 1e4))
    columns = ("part", "queries", "method", "p", "n", "rank", "repetition", "updates", "bound")
    return Table(columns=columns, rows=rows, parameters={"rank in part n": 2}, findings=())


def test_four_panels_with_a_line_for_each_method_and_the_trivial_answer(table):
    panels = low_rank_figure(table).axes
    assert len(panels) == 4
    for axes, queries in zip(panels, ["gaussian"] * 2 + ["rank-one"] * 2, strict=True):
        labels = [line.get_label() for line in axes.get_lines()]
        assert "every entry" in labels
        assert sum("Schatten" in label for label in labels) == len(METHODS[queries]) - 1
        assert axes.get_xscale() == axes.get_yscale() == "log"
        assert len(axes.collections) == len(METHODS[queries])  # bands


def test_lines_are_medians_and_the_trivial_answer_is_mn(table):
    left, right, *_ = low_rank_figure(table).axes
    lines = {line.get_label(): line for line in left.get_lines()}
    assert list(lines["Frobenius"].get_xdata()) == [8, 16]
    assert list(lines["Frobenius"].get_ydata()) == [16.5, 32.5]
    assert list(lines["every entry"].get_ydata()) == [256, 1024]
    assert {"$n$", "$n^2$"} <= set(lines)
    assert [text.get_text() for text in right.get_xticklabels()] == ["1", "4"]


def test_the_right_panels_name_their_lines(table):
    _, right, _, below = low_rank_figure(table).axes
    assert {"Frobenius", "Schatten, best $p$"} <= {text.get_text() for text in right.texts}
    assert "Schatten, best $p$" not in {text.get_text() for text in below.texts}
