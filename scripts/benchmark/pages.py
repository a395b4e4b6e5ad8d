"""Write the benchmark's pages and figures from its table, docs/benchmark/results.csv.gz.

Usage: `python -m scripts.benchmark.pages [--add] [RUNS.jsonl]`. A file of runs replaces the table
first; with --add its runs replace only those on the same graphs. Pages of graphs that are not in
the table are deleted. The same table gives the same pages.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from graphcuts_dp.plotting.style import PAGE, house_style, write_figure
from scripts.benchmark.page import graph_page, main_page
from scripts.benchmark.ranks import LEAST, Results, geometric_mean, is_ours
from scripts.benchmark.runs import BenchmarkRun, read_runs, write_table
from scripts.figures.style import draw_series, trivial_look

DOCS = Path(__file__).resolve().parents[2] / "docs"
TABLE = "benchmark/results.csv.gz"
PANELS = ("worst cut proven", "group cuts", "community cuts", "single vertices", "random halves")
MOST_PANELS = 3
MOST_LINES = 7  # as many looks as a reader can tell apart
_DPI = 110  # low, as there is a figure for each graph


def pages(runs: list[BenchmarkRun]) -> dict[str, str]:
    """Return the text of each page, by its path below docs/."""
    graphs = dict.fromkeys(run.graph for run in runs)
    graph_pages = {f"benchmark/{graph}.md": graph_page(runs, graph) for graph in graphs}
    return {"benchmark.md": main_page(runs, table=TABLE), **graph_pages}


def figure_of(results: Results, graph: str) -> Figure:
    """Draw the errors of the seven contenders of least error, ours among them first.

    Errors below LEAST are drawn as LEAST, as which they count in the tables.
    """
    panels: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    for measure in PANELS:
        errors = {e: results.errors(graph, e, measure) for e in results.epsilons}
        names = {name for curves in errors.values() for name in curves}
        if names and len(panels) < MOST_PANELS:
            panels[measure] = {}
            for name in names:
                measured_epsilons = [e for e in results.epsilons if name in errors[e]]
                panels[measure][name] = (
                    measured_epsilons,
                    [max(errors[e][name], LEAST) for e in measured_epsilons],
                )
    means = {}
    for name in {name for curves in panels.values() for name in curves} - {"empty-graph"}:
        values = [
            value for curves in panels.values() if name in curves for value in curves[name][1]
        ]
        if name in results.sound:
            means[name] = geometric_mean(values)
    ours = [name for name in sorted(means, key=means.__getitem__) if is_ours(name)]
    other_names = [name for name in sorted(means, key=means.__getitem__) if not is_ours(name)]
    first = ["ours"] if "ours" in means else []
    first += [name for name in ours if name not in first][:2]
    order = first + other_names[: MOST_LINES - len(first)]
    shown = {
        measure: {name: curves[name] for name in order if name in curves}
        for measure, curves in panels.items()
    }
    return benchmark_figure(graph, shown)


def main() -> None:
    """Write all pages and figures."""
    folder = DOCS / "benchmark"
    folder.mkdir(exist_ok=True)
    *options, path = sys.argv[1:] or [""]
    if path:
        added = read_runs(path)
        graphs = {run.graph for run in added}
        older_runs = [run for run in read_runs(DOCS / TABLE) if run.graph not in graphs]
        write_table([*older_runs, *added] if options == ["--add"] else added, DOCS / TABLE)
    runs = read_runs(DOCS / TABLE)
    texts = pages(runs)
    for old in (*folder.glob("*.md"), *folder.glob("*.png")):
        if f"benchmark/{old.stem}.md" not in texts:
            old.unlink()
    for path, text in texts.items():
        (DOCS / path).write_text(text, encoding="utf-8")
    results = Results(runs)
    for graph in results.graphs:
        write_figure(figure_of(results, graph), folder / f"{graph}.png", force=True)
    sys.stdout.write(f"wrote {len(texts)} pages of {len(runs):,} runs\n")


Curves = Mapping[str, tuple[Sequence[float], Sequence[float]]]


def benchmark_figure(title: str, panels: Mapping[str, Curves]) -> Figure:
    """Draw a panel for each measure: error over that of the empty graph, against epsilon.

    Args:
        title: of the figure: the graph's name.
        panels: for each measure, at most four of them, epsilons and errors by contender; the first
            seven contenders that occur are drawn, with the same look in all panels.

    Returns:
        A figure of as many panels in a row; a dotted line at 1, which is the empty graph.
    """
    names = list(dict.fromkeys(name for curves in panels.values() for name in curves))
    with house_style():
        figure = Figure(figsize=(PAGE, 2.9), dpi=_DPI)
        figure.suptitle(title)
        axes = np.atleast_1d(figure.subplots(1, max(1, len(panels)), squeeze=True))
        for axes_of_panel, (measure, curves) in zip(axes, panels.items(), strict=False):
            for index, name in enumerate(names[:MOST_LINES]):
                if name in curves:
                    draw_series(axes_of_panel, *curves[name], index=index, label=name)
            axes_of_panel.axhline(1.0, **trivial_look())
            axes_of_panel.set(xscale="log", yscale="log", title=measure, xlabel="epsilon")
            ticks = sorted({x for xs, _ in curves.values() for x in xs})
            axes_of_panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
            axes_of_panel.set_xticks([], minor=True)
        axes[0].set_ylabel("error / empty graph's")
        handles = {
            str(line.get_label()): line
            for axes_of_panel in axes
            for line in axes_of_panel.get_lines()
            if not str(line.get_label()).startswith("_")
        }
        shown = [name for name in names[:MOST_LINES] if name in handles]
        figure.legend([handles[name] for name in shown], shown, loc="outside lower center", ncols=4)
    return figure


if __name__ == "__main__":
    main()
