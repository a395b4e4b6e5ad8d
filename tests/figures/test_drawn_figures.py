"""Figures: they draw their tables, and all texts fit on the page."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.text import Text

from scripts.figures import bipartite_cuts, low_rank, updates
from scripts.figures.base import Table
from scripts.figures.bipartite_cuts import COLUMNS, METHODS
from scripts.figures.registry import figure_names
from scripts.figures.updates import ANALYSTS, CONSTRUCTIONS, RULES
from scripts.figures.updates import COLUMNS as UPDATE_COLUMNS


def lines_by_label(axes: Axes) -> dict[str, Line2D]:
    return {line.get_label(): line for line in axes.get_lines()}


def table_of(columns: Sequence[str], rows: list[tuple[Any, ...]], **parameters: Any) -> Table:
    return Table(columns=columns, rows=rows, parameters=parameters, findings=[])


@pytest.mark.thorough
@pytest.mark.parametrize("name", figure_names())
def test_no_text_is_cut_off_and_no_name_lies_on_another(name, drawn):
    _, figure = drawn(name)
    figure.draw_without_rendering()
    page, texts = figure.bbox, [text for legend in figure.legends for text in legend.get_texts()]
    for axes in (axes for axes in figure.axes if axes.axison):
        texts += [axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label, *axes.texts]
        low, high = sorted(axes.get_ylim())
        ticks = [tick for tick in axes.yaxis.get_major_ticks() if low <= tick.get_loc() <= high]
        texts += [tick.label1 for tick in ticks]
    # Boxes of the words alone, without the lines that lead to them.
    for box in (Text.get_window_extent(text) for text in texts if text.get_text()):
        assert page.x0 <= box.x0 <= box.x1 <= page.x1 + 1
        assert page.y0 - 1 <= box.y0 <= box.y1 <= page.y1 + 1
    for axes in figure.axes:
        names = [Text.get_window_extent(text) for text in axes.texts]
        assert not any(a.overlaps(b) for a, b in itertools.combinations(names, 2))


@pytest.mark.thorough
def test_the_figure_of_table_1_has_six_lines_in_each_panel_and_half_for_the_trivial_answer(drawn):
    _, figure = drawn("table-1")
    assert len(figure.axes) == 4
    for axes in figure.axes[:3]:
        assert len(axes.get_lines()) == 6
        assert axes.get_xscale() == axes.get_yscale() == "log"
    trivial = lines_by_label(figure.axes[0])["trivial"].get_ydata()
    assert max(trivial) == pytest.approx(0.5)


@pytest.mark.thorough
def test_the_figure_of_queries_draws_guaranteed_and_measured_errors_on_one_scale(drawn):
    table, figure = drawn("queries")
    guaranteed, measured = figure.axes
    assert {"GRU12", "JT12", "DR14", "weights", "trivial"} <= set(lines_by_label(guaranteed))
    (errors,) = table.line("largest error", part="measured", method="gaussian")
    assert list(lines_by_label(measured)["Gaussian"].get_ydata()) == errors
    assert guaranteed.get_ylim() == measured.get_ylim()


@pytest.mark.thorough
def test_the_figure_of_densities_draws_errors_bounds_and_sessions(drawn):
    table, figure = drawn("density")
    worst, weighted, session, _, between, sizes = figure.axes
    lines = lines_by_label(worst)
    assert {"zero", "binary, raw", "binary, clipped", "Lemma 6.1"} <= set(lines)
    (errors,) = table.line("upper", part="density", method="online weights")
    assert list(lines["online, cuts given"].get_ydata()) == errors
    assert [tick.get_text() for tick in sizes.get_xticklabels()] == ["25", "50", "100"]
    assert between.get_title(loc="left").startswith("Cuts between")
    (bounds,) = table.line("upper", part="bound", method="Theorem 4.9, weights")
    drawn_bounds = lines["Thm 4.9, weights"].get_ydata()
    assert list(drawn_bounds) == [2 * error for error in bounds]  # of the matrix form
    (errors,) = table.line("upper", part="weighted", method="laplace")
    assert list(lines_by_label(weighted)["Laplace, raw"].get_ydata()) == errors
    (errors,) = table.line("lower", part="session", method="gaussian")
    assert list(lines_by_label(session)["Gaussian noise"].get_ydata()) == errors


def test_errors_on_bipartite_graphs_are_drawn_over_those_of_answering_0():
    """Method number i guarantees i times the error of answering 0; sessions have half of it."""
    sizes, rows = (10**2, 10**4, 10**6), []

    def add_varied(method, quantity, error):
        for V in sizes:
            rows.append(("V varies", method, V, 16, 1.0, quantity, 0, error))
            rows.append(("|S| varies", method, 10**6, V, 1.0, quantity, 0, error))

    def add_session(method, quantity, error, repeat=0):
        keys = [("session", method, V, V // 2, 3.0) for V in (50, 100)]
        rows.extend((*key, quantity, repeat, error) for key in keys)

    for number, method in enumerate(METHODS, start=1):
        for quantity in ("guaranteed", "claimed, scaled"):
            add_varied(method, quantity, number * 10.0)
        for repeat in range(3):
            add_session(method, "measured", number * 5.0 * (1 + repeat / 10), repeat)
        add_session(method, "guaranteed", number * 10.0)
    add_varied("answer 0", "exact", 10.0)
    add_session("answer 0", "exact", 10.0)
    by_side, by_size, sessions = bipartite_cuts.draw(table_of(COLUMNS, rows)).axes
    for axes in (by_side, by_size):
        marked = [line for line in axes.lines if line.get_marker() not in ("None", "")]
        assert [list(line.get_ydata()) for line in marked] == [[i, i, i] for i in (1, 2, 3)]
        assert axes.get_xscale() == axes.get_yscale() == "log"
    assert "16" in by_side.get_title(loc="left")
    assert "1,000,000" in by_size.get_title(loc="left")
    assert len(sessions.containers) == len(METHODS)
    for number, bar in enumerate(sessions.containers, start=1):
        assert list(bar[0].get_ydata()) == pytest.approx([number * 0.55] * 2)
        (segments,) = (lines.get_segments() for lines in bar[2])
        assert np.array(segments)[:, :, 1] == pytest.approx(np.array([[0.5, 0.6]] * 2) * number)


def test_every_run_of_updates_is_a_point_within_the_axes():
    rows = [
        (name, rule, analyst, graph, 0.1, 5.0, used, 100.0)
        for name, rule, analyst in itertools.product(CONSTRUCTIONS, RULES, ANALYSTS)
        for graph, used in (("a", 0), ("b", 7), ("c", 100))
    ]
    panels = updates.draw(table_of(UPDATE_COLUMNS, rows)).axes
    assert len(panels) == len(RULES)
    for axes in panels:
        low, high = axes.get_xlim()
        assert len(axes.collections) == len(ANALYSTS)
        for points in axes.collections:
            shares = points.get_offsets()[:, 0]
            assert sorted(shares) == sorted([0, 0.07, 1.0] * len(CONSTRUCTIONS))
            assert low < shares.min() < shares.max() < high
        assert len(axes.get_yticks()) == len(CONSTRUCTIONS)


@pytest.mark.thorough
def test_lines_of_low_rank_are_medians_with_bands_and_the_trivial_answer_is_mn():
    methods = ("Frobenius", "Schatten, JT12's p", "Schatten, best p")
    methods_of = {"gaussian": methods, "rank-one": methods[:2]}
    rows = [
        (part, queries, method, 2.0, n, rank, repetition, (i + 1) * n * rank + repetition, 1e4)
        for queries, of in methods_of.items()
        for i, method in enumerate(of)
        for repetition in (0, 1)
        for part, n, rank in (("n", 8, 2), ("n", 16, 2), ("rank", 8, 1), ("rank", 8, 4))
    ]
    columns = ("part", "queries", "method", "p", "n", "rank", "repetition", "updates", "bound")
    panels = low_rank.draw(table_of(columns, rows, **{"rank in part n": 2})).axes
    for axes, queries in zip(panels, ["gaussian"] * 2 + ["rank-one"] * 2, strict=True):
        assert (
            sum("Schatten" in label for label in lines_by_label(axes))
            == len(methods_of[queries]) - 1
        )
        assert axes.get_xscale() == axes.get_yscale() == "log"
        assert len(axes.collections) == len(methods_of[queries])  # bands
    by_n, by_rank, _, rank_one_by_rank = panels
    lines = lines_by_label(by_n)
    assert list(lines["Frobenius"].get_xdata()) == [8, 16]
    assert list(lines["Frobenius"].get_ydata()) == [16.5, 32.5]
    assert list(lines["every entry"].get_ydata()) == [256, 1024]
    assert {"$n$", "$n^2$"} <= set(lines)
    assert [text.get_text() for text in by_rank.get_xticklabels()] == ["1", "4"]
    names = [{text.get_text() for text in axes.texts} for axes in (by_rank, rank_one_by_rank)]
    assert {"Frobenius", "Schatten, best $p$"} <= names[0]
    assert "Schatten, best $p$" not in names[1]
