"""The default release beside the best simple baseline, on made and real graphs of every kind.

Run `python -m scripts.bench.bench_baselines [--quick]`. Ratio: worst cut error of the synthetic
graph over that of the best baseline of the same epsilon and seed (raw matrix, noisy density, noisy
degrees with Chung-Lu, top-m filter), each the largest cut that was found; geometric means over
seeds. Both workloads, with the same baselines; "answers": standard deviation of the unbiased answer
between two random quarters of the vertices, over that of noisy entries that all of epsilon is spent
on; "bound": `worst_cut_error_bound` over the largest error that was found. Graphs are
those of baseline_graphs.py, which says which of them thresholds were tuned on.
--save FILE keeps one line of JSON for each run, and a later call goes on where it ended; with
--seconds it ends by itself. Real graphs that may not be distributed are read from the folder that
--data or GRAPHCUTS_DP_DATA names.
"""

import argparse
import json
import math
import os
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.errors import AccuracyWarning
from graphcuts_dp.measure.entries import distribution_for
from graphcuts_dp.privacy.noise import SeededEntropy
from graphcuts_dp.release.measuring import measure as buy
from graphcuts_dp.results.release import WORKLOADS
from scripts.bench.baseline_graphs import MADE, Entry, bundled, from_folder
from scripts.benchmark.baselines import BASELINES

DATA_VARIABLE = "GRAPHCUTS_DP_DATA"
EPSILONS = (0.5, 1.0, 2.0, 5.0)
SEEDS = 3
TOLERANCE = 0.08  # of the certificates
QUICK = ("planted 300, 4 blocks, .4/.04", "two cliques 300", "US flights 305")
# The empty graph is no release, and clipping is worse than what it clips.
COMPARED = {name: make for name, make in BASELINES.items() if name != "elementwise clip"}


def noise_of(graph: Any) -> str:
    """The distribution of entries that suits a graph."""
    if not graph.weighted:
        return "binary"
    whole = bool((graph.weights == graph.weights.round()).all())
    return "discrete-laplace" if whole else "laplace"


def largest_cut(matrix: Any, truth: Any) -> float:
    """Error of the worst cut that is found."""
    return float(gc.cut_norm(matrix - truth, tolerance=TOLERANCE).lower)


def precision(made: gc.Release, noise: str, graph: Any) -> float:
    """Deviation of the answer between two quarters, over that of entries with all of epsilon."""
    random = np.random.default_rng(0)
    S, T = (np.isin(np.arange(n), random.permutation(n)[: n // 4]) for n in graph.shape)
    if made.noisy.symmetric:
        T = ~S & (np.cumsum(~S) <= graph.shape[0] // 4)
    whole = distribution_for(graph, noise, made.guarantee.epsilon).standard_deviation
    deviation = made.estimator.estimate(S, T).noise.deviation
    return float(deviation / (whole * math.sqrt(S.sum() * T.sum())))


def spending(
    graph: Any, epsilon: float, noise: str, seed: int, response: gc.Response
) -> dict[str, float]:
    """What a release of this seed spends epsilon on."""
    bought = buy(graph, epsilon=epsilon, noise=noise, source=SeededEntropy(seed), response=response)
    return dict(bought.guarantee.parts)


def measure(
    entry: Entry, graph: Any, epsilon: float, seed: int, workloads: tuple[str, ...]
) -> Iterator[dict[str, Any]]:
    """A run with each workload and of every baseline that takes the graph."""
    truth = graph.dense()
    uncapped = graph.weighted and graph.weight_cap is None
    names = ("raw matrix",) if uncapped else tuple(COMPARED)
    errors = {
        name: largest_cut(COMPARED[name](graph, epsilon=epsilon, seed=seed).matrix, truth)
        for name in names
    }
    best = min(errors, key=lambda name: errors[name])
    noise, found = noise_of(graph), dict[str, Any]()
    for workload in workloads:
        started = time.perf_counter()
        options: dict[str, Any] = {"noise": noise, "seed": seed}
        response = gc.Response(workload=workload)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AccuracyWarning)
            if not found or (
                not uncapped
                and spending(graph, epsilon, response=response, **options) != found["parts"]
            ):
                made = gc.release_graph(graph, epsilon=epsilon, mechanism=response, **options)
                error = largest_cut(made.graph.dense(), truth)
                found = {
                    "error": error, "ratio": error / errors[best],
                    "parts": dict(made.guarantee.parts),
                    "bound": made.worst_cut_error_bound() / error,
                    "precision": precision(made, noise, graph),
                    "seconds": time.perf_counter() - started,
                }  # fmt: skip
        yield {
            "graph": entry.name, "part": entry.part, "epsilon": epsilon, "seed": seed,
            "workload": workload, "total": float(truth.sum()), "best": best, **found,
        }  # fmt: skip


def runs(entries: list[Entry], options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """All runs: those kept before, then the missing ones, until the time is over."""
    kept = []
    if options.save and options.save.is_file():
        kept = [json.loads(line) for line in options.save.read_text("utf-8").splitlines()]
    names = {entry.name for entry in entries}
    yield from (run for run in kept if run["graph"] in names)
    done = {(run["graph"], run["epsilon"], run["seed"], run["workload"]) for run in kept}
    end = time.monotonic() + options.seconds
    for entry in entries:
        graph = None
        for epsilon in (1.0,) if options.quick else options.epsilon or EPSILONS:
            for seed in range(1 if options.quick else options.seeds):
                missing = tuple(
                    workload for workload in options.workloads
                    if (entry.name, epsilon, seed, workload) not in done
                )  # fmt: skip
                if not missing:
                    continue
                if time.monotonic() > end:
                    print("the time is over: run again with the same --save to go on\n")
                    return
                graph = entry.make() if graph is None else graph
                for found in measure(entry, graph, epsilon, seed, missing):
                    if options.save:
                        with options.save.open("a", encoding="utf-8") as file:
                            file.write(json.dumps(found) + "\n")
                    yield found


def mean(values: list[float]) -> float:
    """Geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def show(found: list[dict[str, Any]]) -> None:
    """Print a line for each graph and epsilon, then a summary for each epsilon."""
    cells: dict[tuple[float, str, str], list[dict[str, Any]]] = defaultdict(list)
    for run in found:
        cells[run["epsilon"], run["part"], run["graph"]].append(run)
    print(f"{'':<36}{'epsilon':>8}{'ratio':>7}{'error/2m':>10}{'answers':>9}{'bound':>7}"
          "  best baseline; epsilon spent on")  # fmt: skip
    summary: dict[tuple[float, str], list[float]] = defaultdict(list)
    for (epsilon, part, name), group in sorted(cells.items()):
        ratio = mean([run["ratio"] for run in group])
        share = mean([run["error"] / run["total"] for run in group])
        spent = ", ".join(f"{key} {value:.3g}" for key, value in group[0]["parts"].items())
        print(f"{name:<36}{epsilon:>8g}{ratio:>7.2f}{share:>10.3f}"
              f"{mean([run['precision'] for run in group]):>9.2f}"
              f"{mean([run['bound'] for run in group]):>7.1f}  {group[0]['best']}; "
              f"{spent or 'entries'}")  # fmt: skip
        for key in (part, "all"):
            summary[epsilon, key].append(ratio)
    print(f"\n{'epsilon':>8}  {'graphs':<12}{'number':>7}{'mean':>7}{'largest':>9}{'> 1.1':>7}")
    for (epsilon, part), ratios in sorted(summary.items()):
        print(f"{epsilon:>8g}  {part:<12}{len(ratios):>7}{mean(ratios):>7.2f}{max(ratios):>9.2f}"
              f"{sum(ratio > 1.1 for ratio in ratios):>7}")  # fmt: skip
    bounds = [run["bound"] for run in found]
    if bounds:
        print(f"bound over the largest error found: {min(bounds):.1f} to {max(bounds):.1f}, "
              f"median {np.median(bounds):.1f}\n")  # fmt: skip


def main() -> None:
    """Read the options, run what is missing, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three small graphs, one run each")
    parser.add_argument("--data", type=Path, help=f"folder of graphs; else {DATA_VARIABLE}")
    parser.add_argument("--graphs", default="", help="only graphs whose name contains this")
    parser.add_argument("--epsilon", type=float, nargs="+", help="these alone")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"how many; {SEEDS} by default")
    parser.add_argument("--workload", choices=tuple(WORKLOADS), help="one of them alone")
    parser.add_argument("--save", type=Path, help="file of runs, added to and gone on from")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no run after these")
    options = parser.parse_args()
    named = os.environ.get(DATA_VARIABLE)
    folder = options.data or (Path(named) if named else None)
    entries = [*MADE, *bundled(), *(from_folder(folder) if folder else ())]
    if options.quick:
        entries = [entry for entry in entries if entry.name in QUICK]
    options.workloads = (options.workload,) if options.workload else tuple(WORKLOADS)
    found = list(runs([entry for entry in entries if options.graphs in entry.name], options))
    for workload in options.workloads:
        print(f"workload {workload!r}\n")
        show([run for run in found if run["workload"] == workload])


if __name__ == "__main__":
    main()
