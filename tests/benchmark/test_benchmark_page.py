"""The benchmark's pages are what its table says, with a page and a figure for each graph."""

import pytest

from scripts.benchmark import pages as script
from scripts.benchmark.contenders.table import CONTENDERS
from scripts.benchmark.pages import MOST_LINES, benchmark_figure
from scripts.benchmark.ranks import Results
from scripts.benchmark.runs import read_runs

RUNS = read_runs(script.DOCS / script.TABLE)
CURVES = {f"method {i}": ([0.5, 1.0, 2.0], [1.0 / (i + 1), 0.5, 0.1]) for i in range(9)}


@pytest.mark.thorough
def test_the_pages_are_those_of_the_table_and_every_graph_has_a_figure():
    for path, text in script.pages(RUNS).items():
        there = (script.DOCS / path).read_text(encoding="utf-8")
        assert there == text, f"{path}: run python -m scripts.benchmark.pages"
    folder, graphs = script.DOCS / "benchmark", {run.graph for run in RUNS}
    for ending in ("md", "png"):
        assert {path.stem for path in folder.glob(f"*.{ending}")} == graphs


def test_the_table_is_of_the_package_s_contenders_alone():
    for run in RUNS:
        contender = CONTENDERS[run.contender]
        assert (run.source, run.claim_holds) == (contender.source, contender.claim_holds)
        assert run.audited


@pytest.mark.thorough
def test_figures_draw_ours_first_and_only_what_can_be_told_apart():
    results = Results(RUNS)
    for graph in results.graphs:
        figure = script.figure_of(results, graph)
        (legend,) = figure.legends
        names = [text.get_text() for text in legend.get_texts()]
        run_there = {run.contender for run in RUNS if run.graph == graph}
        assert names[0] == "ours" or ("ours" not in run_there and names[0].startswith("ours-"))
        assert len(names) <= MOST_LINES
        assert 1 <= len(figure.axes) <= script.MOST_PANELS


def drawn(axes):
    return [line for line in axes.get_lines() if not line.get_label().startswith("_")]


def test_a_panel_for_each_measure_with_a_line_for_each_contender_and_for_the_empty_graph():
    few = dict(list(CURVES.items())[:2])
    figure = benchmark_figure("a graph", {"worst cut": CURVES, "group cuts": few})
    first, second = figure.axes
    assert [line.get_label() for line in drawn(first)] == [f"method {i}" for i in range(MOST_LINES)]
    assert [line.get_label() for line in drawn(second)] == ["method 0", "method 1"]
    assert list(drawn(first)[2].get_ydata()) == pytest.approx([1 / 3, 0.5, 0.1])
    # The same look in all panels.
    assert drawn(first)[1].get_color() == drawn(second)[1].get_color()
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["worst cut", "group cuts"]
    assert len(figure.legends[0].get_texts()) == MOST_LINES
    (level,) = [line for line in first.get_lines() if line not in drawn(first)]
    assert list(level.get_ydata()) == [1.0, 1.0]
    assert first.get_yscale() == first.get_xscale() == "log"
    assert [text.get_text() for text in first.get_xticklabels()] == ["0.5", "1", "2"]
