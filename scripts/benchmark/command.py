"""`graphcuts-dp benchmark`: compare private methods on simulated and public graphs."""

import tempfile
from collections import Counter
from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from graphcuts_dp.cli.console import out, progress_bar, say, show_json, show_table
from scripts.benchmark.base import Contender
from scripts.benchmark.entering import load_contender
from scripts.benchmark.page import about
from scripts.benchmark.ranks import RANKED, Results, Standing
from scripts.benchmark.runner import SECONDS, BenchmarkPlan, run_benchmark
from scripts.benchmark.runs import write_table

_SHOWN = (
    *("worst cut proven", "group cuts", "community cuts", "single vertices", "random halves"),
    *("s-t cuts", "modularity", "found communities"),
)
_FAILURE = ("contender", "graph", "epsilon", "seed", "failure")
_LEGEND = (
    "each number: error over that of the best contender of the table whose claim holds, geometric "
    "mean over the graphs on which all of the table were run (a * before the name: nobody has "
    "audited it; a dagger: its claim does not hold); less is better"
)


def benchmark(
    out_file: Annotated[
        str | None,
        typer.Option(
            "--out", metavar="FILE", help="File of runs, a line each; continued if it exists."
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run five methods on three tiny graphs, at epsilon 1.")
    ] = False,
    contender: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|MODULE:NAME", help="Run only these contenders; your own are added to all."
        ),
    ] = None,
    graphs: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="Use only the graphs whose names begin so; may be repeated."
        ),
    ] = None,
    epsilon: Annotated[
        list[float] | None, typer.Option(help="Values of epsilon; .5, 1, 2 and 5 if omitted.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Runs of each; if omitted 3, or 5 up to n=1,000.")
    ] = None,
    jobs: Annotated[int, typer.Option(min=1, max=256, help="Number of processes.")] = 1,
    seconds: Annotated[
        float, typer.Option(min=0.1, help="Limit for one run of a method.")
    ] = SECONDS,
    table: Annotated[
        str | None, typer.Option(metavar="FILE.csv[.gz]", help="Also write all runs as a table.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the standings as JSON.")] = False,
) -> None:
    """Run private methods on public graphs, and rank them by the errors of their cuts.

    Example: graphcuts-dp benchmark

    Example: graphcuts-dp benchmark --quick

    Example: graphcuts-dp benchmark --out runs.jsonl --table runs.csv.gz --jobs 4

    Example: graphcuts-dp benchmark --out runs.jsonl --contender mymodule:my_method --graphs blocks-

    Without --out and --quick the command lists the graphs and methods. All noise is seeded, and all
    graphs are simulated or public: nothing that it prints is a private release.
    """
    named = contender or []
    plan = BenchmarkPlan.of(
        graphs=graphs or (),
        contenders=[name for name in named if ":" not in name],
        added=[name for name in named if ":" in name],
        epsilons=epsilon or (),
        seeds=seeds,
        quick=quick,
    )
    if out_file is None and not quick:
        _show_plan(plan, as_json)
        return
    with tempfile.TemporaryDirectory() as folder, progress_bar("benchmark") as progress:
        path = out_file or Path(folder) / "runs.jsonl"
        runs = run_benchmark(plan, path, jobs=jobs, seconds=seconds, progress=progress)
    if table is not None:
        write_table(runs, table)
        say(f"wrote {table}")
    results = Results(runs)
    if as_json:
        show_json(_plain(results))
    else:
        _show(results)


def _show_plan(plan: BenchmarkPlan, as_json: bool) -> None:
    """Print the graphs and contenders of a plan, and how many runs they make."""
    counted = Counter(known.contender for _, known in plan.runs())
    loaded = [load_contender(spec) for spec in plan.contenders]
    if as_json:
        names = {
            "graphs": [case.name for case in plan.cases],
            "contenders": [contender.name for contender in loaded],
        }
        seeds = {case.name: plan.seeds_of(case) for case in plan.cases}
        numbers = {"epsilons": plan.epsilons, "seeds": seeds, "runs": counted.total()}
        show_json(names | numbers)
        return
    rows = [(case.name, f"{case.vertices:,}", about(case), case.licence) for case in plan.cases]
    show_table("Graphs", ("graph", "vertices", "", "licence"), rows)
    lines = [
        (contender.name, f"{counted[contender.name]:,}", _source(contender)) for contender in loaded
    ]
    show_table("Contenders", ("contender", "runs", "source"), lines)
    out.print(f"{counted.total():,} runs; give --out FILE to run them, or --quick", markup=False)


def _source(contender: Contender) -> str:
    return contender.source if contender.claim_holds else f"{contender.source}; claim does not hold"


def _show(results: Results) -> None:
    for epsilon, title in product(results.epsilons, results.tables()):
        standings = {name: results.standings(epsilon, name, title) for name in _SHOWN}
        shown = [name for name in _SHOWN if standings[name]]
        cells = {
            (name, standing.contender): standing for name in shown for standing in standings[name]
        }
        order = [standing.contender for name in shown for standing in standings[name]]
        rows = [
            (_marked(name, results), *(_ratio(cells.get((column, name))) for column in shown))
            for name in dict.fromkeys(order)
        ]
        if rows:
            show_table(f"{title}, epsilon = {epsilon:g}", ("contender", *shown), rows)
    out.print(_LEGEND, markup=False)
    for (name, reason), runs in sorted(results.failures.items()):
        out.print(f"failed: {name}, {_times(runs)}: {reason}", markup=False)


def _times(runs: Any) -> str:
    return f"{len(runs)} {'run' if len(runs) == 1 else 'runs'}"


def _marked(name: str, results: Results) -> str:
    mark = "" if name in results.audited else "*"
    return f"{mark}{'' if name in results.sound else '†'}{name}"


def _ratio(standing: Standing | None) -> str:
    return "" if standing is None else f"{standing.ratio:.2f}"


def _plain(results: Results) -> dict[str, Any]:
    return {
        "data": "made and public graphs, seeded noise",
        "runs": len(results.runs),
        "failures": [
            {name: getattr(run, name) for name in _FAILURE} for run in results.runs if run.failure
        ],
        "standings": [
            {"measure": measure, "epsilon": epsilon, "table": title, **asdict(standing),
             "audited": standing.contender in results.audited}
            for epsilon, measure in product(results.epsilons, RANKED)
            for title in results.tables()
            for standing in results.standings(epsilon, measure, title)
        ],
    }  # fmt: skip
