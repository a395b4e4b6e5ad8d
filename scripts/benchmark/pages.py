"""Makes the benchmark's pages and figures from its table, docs/benchmark/results.csv.gz.

`python -m scripts.benchmark.pages [--add] [RUNS.jsonl]`: with a file of runs, the table is made
from it first; with --add its runs replace those on the same graphs, and the others stay. Pages of
graphs that the table does not have are deleted. The same table gives the same pages.
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
MOST_LINES = 7  # looks that can be told apart
_DPI = 110  # there is one for each graph: small files


def pages(runs: list[BenchmarkRun]) -> dict[str, str]:
    """The text of each page, by its path below docs/."""
    graphs = dict.fromkeys(run.graph for run in runs)
    found = {f"benchmark/{graph}.md": graph_page(runs, graph) for graph in graphs}
    return {"benchmark.md": main_page(runs, table=TABLE), **found}


def figure_of(results: Results, graph: str) -> Figure:
    """The errors of the seven contenders of least error, ours among them first.

    Errors below LEAST are drawn as that, as they count in the tables.
    """
    drawn: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    for measure in PANELS:
        errors = {e: results.errors(graph, e, measure) for e in results.epsilons}
        names = {name for each in errors.values() for name in each}
        if names and len(drawn) < MOST_PANELS:
            drawn[measure] = {}
            for name in names:
                there = [e for e in results.epsilons if name in errors[e]]
                drawn[measure][name] = there, [max(errors[e][name], LEAST) for e in there]
    means = {}
    for name in {name for each in drawn.values() for name in each} - {"empty-graph"}:
        values = [value for each in drawn.values() if name in each for value in each[name][1]]
        if name in results.sound:
            means[name] = geometric_mean(values)
    ours = [name for name in sorted(means, key=means.__getitem__) if is_ours(name)]
    others = [name for name in sorted(means, key=means.__getitem__) if not is_ours(name)]
    first = ["ours"] if "ours" in means else []
    first += [name for name in ours if name not in first][:2]
    order = first + others[: MOST_LINES - len(first)]
    kept = {
        measure: {name: each[name] for name in order if name in each}
        for measure, each in drawn.items()
    }
    return benchmark_figure(graph, kept)


def main() -> None:
    """Write all pages and figures."""
    folder = DOCS / "benchmark"
    folder.mkdir(exist_ok=True)
    *options, path = sys.argv[1:] or [""]
    if path:
        added = read_runs(path)
        graphs = {run.graph for run in added}
        kept = [run for run in read_runs(DOCS / TABLE) if run.graph not in graphs]
        write_table([*kept, *added] if options == ["--add"] else added, DOCS / TABLE)
    runs = read_runs(DOCS / TABLE)
    made = pages(runs)
    for old in (*folder.glob("*.md"), *folder.glob("*.png")):
        if f"benchmark/{old.stem}.md" not in made:
            old.unlink()
    for path, text in made.items():
        (DOCS / path).write_text(text, encoding="utf-8")
    results = Results(runs)
    for graph in results.graphs:
        write_figure(figure_of(results, graph), folder / f"{graph}.png", force=True)
    sys.stdout.write(f"wrote {len(made)} pages of {len(runs):,} runs\n")


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
        for each, (measure, curves) in zip(axes, panels.items(), strict=False):
            for index, name in enumerate(names[:MOST_LINES]):
                if name in curves:
                    draw_series(each, *curves[name], index=index, label=name)
            each.axhline(1.0, **trivial_look())
            each.set(xscale="log", yscale="log", title=measure, xlabel="epsilon")
            ticks = sorted({x for xs, _ in curves.values() for x in xs})
            each.set_xticks(ticks, [f"{tick:g}" for tick in ticks], minor=False)
            each.set_xticks([], minor=True)
        axes[0].set_ylabel("error / empty graph's")
        handles = {
            str(line.get_label()): line
            for each in axes
            for line in each.get_lines()
            if not str(line.get_label()).startswith("_")
        }
        kept = [name for name in names[:MOST_LINES] if name in handles]
        figure.legend([handles[name] for name in kept], kept, loc="outside lower center", ncols=4)
    return figure


if __name__ == "__main__":
    main()
