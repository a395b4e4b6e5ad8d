"""Figures of errors: everything that is measured is drawn, and fits."""

import pytest
from matplotlib.text import Text

from scripts.figures.density import density_figure
from scripts.figures.queries import queries_figure
from scripts.figures.table_one import table_one_figure


def lines_of(axes):
    return {line.get_label(): line for line in axes.get_lines()}


def texts_fit(figure):
    """Whether all names lie within the figure, and none on another name."""
    figure.draw_without_rendering()
    whole = figure.bbox
    # Of the words alone, without the line that leads to them.
    boxes = [Text.get_window_extent(text) for axes in figure.axes for text in axes.texts]
    inside = all(whole.x0 <= box.x0 and box.x1 <= whole.x1 + 1 for box in boxes)
    apart = not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[i + 1 :])
    return inside and apart


def test_table_one(quick_table):
    table = quick_table("table-1").table
    figure = table_one_figure(table)
    assert len(figure.axes) == 4
    for axes in figure.axes[:3]:
        assert len(axes.get_lines()) == 6
        assert axes.get_xscale() == axes.get_yscale() == "log"
    trivial = lines_of(figure.axes[0])["trivial"].get_ydata()
    assert max(trivial) == pytest.approx(0.5)
    assert texts_fit(figure)


def test_queries(quick_table):
    table = quick_table("queries").table
    figure = queries_figure(table)
    guaranteed, measured = figure.axes
    assert {"GRU12", "JT12", "DR14", "weights", "trivial"} <= set(lines_of(guaranteed))
    drawn = lines_of(measured)["Gaussian"].get_ydata()
    rows = table.where(part="measured", method="gaussian")
    assert list(drawn) == [row["largest error"] for row in rows]
    assert guaranteed.get_ylim() == measured.get_ylim()
    assert texts_fit(figure)


def test_density(quick_table):
    table = quick_table("density").table
    figure = density_figure(table)
    worst, between, sizes = figure.axes
    drawn = lines_of(worst)
    assert {"zero", "binary, raw", "binary, clipped", "Lemma 6.1"} <= set(drawn)
    rows = table.where(part="density", method="online weights")
    assert list(drawn["online, cuts given"].get_ydata()) == [row["upper"] for row in rows]
    assert [tick.get_text() for tick in sizes.get_xticklabels()] == ["30", "60", "120"]
    assert between.get_title(loc="left").startswith("Cuts between")
    assert texts_fit(figure)
