"""Makes the benchmark's pages and figures of its table, docs/benchmark/results.csv.gz.

`python scripts/benchmark_page.py [RUNS.jsonl]`: with a file of runs, the table is made of it first.
Pages of graphs that the table does not have are deleted. The same table gives the same pages.
"""

import sys
from pathlib import Path

from graphcuts_dp.evaluation.benchmark.page import graph_page, main_page
from graphcuts_dp.evaluation.benchmark.ranks import LEAST, Results, geometric_mean, is_ours
from graphcuts_dp.evaluation.benchmark.runs import BenchmarkRun, read_runs, write_table
from graphcuts_dp.plotting.benchmark import MOST_LINES, benchmark_figure
from graphcuts_dp.plotting.saving import write_figure

DOCS = Path(__file__).resolve().parents[1] / "docs"
TABLE = "benchmark/results.csv.gz"
PANELS = ("worst cut proven", "group cuts", "community cuts", "single vertices", "random halves")
MOST_PANELS = 3


def pages(runs: list[BenchmarkRun]) -> dict[str, str]:
    """The text of each page, by its path below docs/."""
    graphs = dict.fromkeys(run.graph for run in runs)
    found = {f"benchmark/{graph}.md": graph_page(runs, graph) for graph in graphs}
    return {"benchmark.md": main_page(runs, table=TABLE), **found}


def figure_of(results: Results, graph: str):
    """The errors of the seven contenders of least error, ours among them first.

    Errors below LEAST are drawn as that, as they count in the tables.
    """
    curves = {}
    for measure in PANELS:
        errors = {e: results.errors(graph, e, measure) for e in results.epsilons}
        names = {name for each in errors.values() for name in each}
        if names and len(curves) < MOST_PANELS:
            curves[measure] = {
                name: zip(*[(e, max(errors[e][name], LEAST)) for e in errors if name in errors[e]],
                          strict=True)
                for name in names
            }  # fmt: skip
    drawn = {
        measure: {name: tuple(map(list, points)) for name, points in each.items()}
        for measure, each in curves.items()
    }
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
    folder = DOCS / "benchmark"
    folder.mkdir(exist_ok=True)
    if len(sys.argv) > 1:
        write_table(read_runs(sys.argv[1]), DOCS / TABLE)
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
    print(f"wrote {len(made)} pages of {len(runs):,} runs")


if __name__ == "__main__":
    main()
