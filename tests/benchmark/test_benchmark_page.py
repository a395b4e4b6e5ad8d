"""The benchmark's pages are what its table says, with a page and a figure for each graph."""

from scripts.benchmark import pages as script
from scripts.benchmark.contenders.table import CONTENDERS
from scripts.benchmark.ranks import Results
from scripts.benchmark.runs import read_runs

RUNS = read_runs(script.DOCS / script.TABLE)


def test_the_pages_are_those_of_the_table():
    for path, text in script.pages(RUNS).items():
        there = (script.DOCS / path).read_text(encoding="utf-8")
        assert there == text, f"{path}: run python -m scripts.benchmark.pages"


def test_there_are_no_other_pages_and_every_graph_has_a_figure():
    graphs = {run.graph for run in RUNS}
    folder = script.DOCS / "benchmark"
    assert {path.stem for path in folder.glob("*.md")} == graphs
    assert {path.stem for path in folder.glob("*.png")} == graphs


def test_the_table_is_of_the_package_s_contenders_alone():
    assert {run.contender for run in RUNS} <= set(CONTENDERS)
    for run in RUNS:
        contender = CONTENDERS[run.contender]
        assert (run.source, run.claim_holds) == (contender.source, contender.claim_holds)
        assert run.audited


def test_figures_draw_ours_first_and_only_what_can_be_told_apart():
    results = Results(RUNS)
    for graph in results.graphs:
        figure = script.figure_of(results, graph)
        (legend,) = figure.legends
        names = [text.get_text() for text in legend.get_texts()]
        run_there = {run.contender for run in RUNS if run.graph == graph}
        assert names[0] == "ours" or ("ours" not in run_there and names[0].startswith("ours-"))
        assert len(names) <= 7
        assert 1 <= len(figure.axes) <= script.MOST_PANELS
