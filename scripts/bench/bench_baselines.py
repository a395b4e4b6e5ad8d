"""Compare the default release with the best simple baseline, on graphs of every kind.

Run `python -m scripts.bench.bench_baselines [--quick]`. The best of three baselines of the same
epsilon and seed is the unit: noisy degrees with Chung-Lu, the raw matrix, and the empty graph. All
of them have weights. Columns for each graph and epsilon, geometric means over seeds:

- "cut": error of the worst cut of the fit (`Release.expected`). Worst cuts are the largest that a
  search finds.
- "laplace": the same, where the raw matrix has Laplace noise. (Without weights it is that of
  randomised response, whose noise has .71 of the deviation of Laplace noise.)
- "rounded": error of the worst cut of the synthetic graph without weights, over that of the fit.
- "degrees": mean error of the degrees.
- "answers": standard deviation of the unbiased answer between two random quarters of the vertices,
  over that of noisy entries with all of epsilon.
- "bound": `worst_cut_error_bound` over the largest error that a search finds.

Graphs are those of baseline_graphs.py, which says on which of them thresholds were tuned.
--save FILE appends one line of JSON for each run, and a later call adds the missing runs; with
--seconds it stops after a time. Real graphs that may not be distributed are read from the folder
that --data or GRAPHCUTS_DP_DATA names.
"""

import argparse
import json
import math
import os
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.errors import AccuracyWarning
from graphcuts_dp.measure.entries import distribution_for, randomized_response
from graphcuts_dp.privacy.entropy import SeededEntropy
from scripts.bench.baseline_graphs import MADE, Entry, bundled, from_folder
from scripts.benchmark.baselines import BASELINES

DATA_VARIABLE = "GRAPHCUTS_DP_DATA"
EPSILONS = (0.5, 1.0, 2.0, 5.0)
SEEDS = 3
TOLERANCE = 0.08  # of the certificates
QUICK = ("planted 300, 4 blocks, .4/.04", "two cliques 300", "US flights 305")
RAW = "raw matrix"
COMPARED = (RAW, "noisy degrees, Chung-Lu")
EMPTY = "empty graph"
LAPLACE = "raw matrix, Laplace"


def noise_of(graph: Any) -> str:
    """Return the distribution of entries that suits a graph."""
    if not graph.weighted:
        return "binary"
    is_integral = bool((graph.weights == graph.weights.round()).all())
    return "discrete-laplace" if is_integral else "laplace"


def largest_cut(matrix: Any, truth: Any) -> float:
    """Return the error of the worst cut that a search finds."""
    return float(gc.cut_norm(matrix - truth, tolerance=TOLERANCE).lower)


def precision(release: gc.Release, noise: str, graph: Any) -> float:
    """Return the deviation of the answer between two quarters, over that of entries alone."""
    random = np.random.default_rng(0)
    S, T = (np.isin(np.arange(n), random.permutation(n)[: n // 4]) for n in graph.shape)
    if release.noisy.symmetric:
        T = ~S & (np.cumsum(~S) <= graph.shape[0] // 4)
    deviation_alone = distribution_for(graph, noise, release.guarantee.epsilon).standard_deviation
    deviation = release.estimator.estimate_cut(S, T).noise.deviation
    return float(deviation / (deviation_alone * math.sqrt(S.sum() * T.sum())))


def errors_of(matrix: Any, truth: Any) -> tuple[float, float]:
    """Return the error of the worst cut that a search finds, and the mean error of degrees."""
    degrees = [np.abs(matrix.sum(axis=axis) - truth.sum(axis=axis)) for axis in (0, 1)]
    return largest_cut(matrix, truth), float(np.concatenate(degrees).mean())


def compared(graph: Any) -> tuple[str, ...]:
    """Return the baselines that take a graph, except the empty one."""
    return COMPARED[: 1 if graph.weighted and graph.max_weight is None else None]


def simple_matrices(graph: Any, epsilon: float, seed: int) -> dict[str, Any]:
    """Return all baselines that take the graph; without weights also Laplace noise on entries."""
    matrices = {
        name: BASELINES[name](graph, epsilon=epsilon, seed=seed).matrix for name in compared(graph)
    }
    matrices[EMPTY] = np.zeros(graph.shape)
    if not graph.weighted:
        noise = distribution_for(graph, "discrete-laplace", epsilon)
        matrices[LAPLACE] = randomized_response(graph, noise, SeededEntropy(seed)).estimate()
    return matrices


def best_of(errors: Mapping[str, float], *, laplace: bool = False) -> str:
    """Return the baseline of the least error, without one of the two raw matrices."""
    left_out = RAW if laplace and LAPLACE in errors else LAPLACE
    return min((name for name in errors if name != left_out), key=errors.__getitem__)


def quiet_release(graph: Any, epsilon: float, seed: int) -> gc.Release:
    """Return the default release, without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)
        return gc.release_graph(graph, epsilon=epsilon, noise=noise_of(graph), seed=seed)


def measure(entry: Entry, graph: Any, epsilon: float, seed: int) -> dict[str, Any]:
    """Measure the release and every baseline that takes the graph, once."""
    truth, noise = graph.dense(), noise_of(graph)
    matrices = simple_matrices(graph, epsilon, seed)
    cuts, degrees = (
        dict(zip(matrices, column, strict=True))
        for column in zip(*(errors_of(matrix, truth) for matrix in matrices.values()), strict=True)
    )
    best = best_of(cuts)
    started = time.perf_counter()
    release = quiet_release(graph, epsilon, seed)
    error, degree_error = errors_of(release.expected.dense(), truth)
    rounded = 1.0 if graph.weighted else largest_cut(release.graph.dense(), truth) / error
    return {
        "graph": entry.name, "part": entry.part, "epsilon": epsilon, "seed": seed,
        "total": float(truth.sum()), "best": best, "error": error, "ratio": error / cuts[best],
        "laplace": error / cuts[best_of(cuts, laplace=True)],
        "rounded": rounded,
        "degrees": degree_error / degrees[best_of(degrees)],
        "parts": dict(release.guarantee.spent), "bound": release.worst_cut_error_bound() / error,
        "precision": precision(release, noise, graph), "seconds": time.perf_counter() - started,
    }  # fmt: skip


Run = Callable[[Entry, Any, float, int], dict[str, Any]]


def runs(entries: list[Entry], run: Run, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield all runs: those saved before, then the missing ones, until the time is over."""
    saved = []
    if options.save and options.save.is_file():
        saved = [json.loads(line) for line in options.save.read_text("utf-8").splitlines()]
    names = {entry.name for entry in entries}
    yield from (run for run in saved if run["graph"] in names)
    done = {(run["graph"], run["epsilon"], run["seed"]) for run in saved}
    deadline = time.monotonic() + options.seconds
    for entry in entries:
        graph = None
        for epsilon in (1.0,) if options.quick else options.epsilon or EPSILONS:
            for seed in range(1 if options.quick else options.seeds):
                if (entry.name, epsilon, seed) in done:
                    continue
                if time.monotonic() > deadline:
                    print("the time is over: run again with the same --save to go on\n")
                    return
                graph = entry.make() if graph is None else graph
                result = run(entry, graph, epsilon, seed)
                if options.save:
                    with options.save.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(result) + "\n")
                yield result


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean."""
    return math.exp(sum(map(math.log, values)) / len(values))


def show(runs: list[dict[str, Any]]) -> None:
    """Print a line for each graph and epsilon, then a summary for each epsilon."""
    cells: dict[tuple[float, str, str], list[dict[str, Any]]] = defaultdict(list)
    for run in runs:
        cells[run["epsilon"], run["part"], run["graph"]].append(run)
    print(f"{'':<36}{'epsilon':>8}{'cut':>7}{'laplace':>9}{'rounded':>9}{'degrees':>9}"
          f"{'error/2m':>10}{'answers':>9}{'bound':>7}"
          "  best baseline; epsilon spent on")  # fmt: skip
    summary: dict[tuple[float, str], list[tuple[float, ...]]] = defaultdict(list)
    for (epsilon, part, name), group in sorted(cells.items()):
        ratio, laplace, rounded, degrees, precise, bound = (
            geometric_mean([run[key] for run in group])
            for key in ("ratio", "laplace", "rounded", "degrees", "precision", "bound")
        )
        share = geometric_mean([run["error"] / run["total"] for run in group])
        budget = ", ".join(f"{key} {value:.3g}" for key, value in group[0]["parts"].items())
        budget = budget or "entries"
        print(f"{name:<36}{epsilon:>8g}{ratio:>7.2f}{laplace:>9.2f}{rounded:>9.2f}"
              f"{degrees:>9.2f}{share:>10.3f}{precise:>9.2f}{bound:>7.1f}"
              f"  {group[0]['best']}; {budget}")  # fmt: skip
        for key in (part, "all"):
            summary[epsilon, key].append((ratio, laplace, rounded, degrees))
    names = "".join(f"{name:>9}{'largest':>9}" for name in ("cut", "laplace", "rounded", "degrees"))
    print(f"\n{'epsilon':>8}  {'graphs':<12}{'number':>7}{'> 1.1':>7}{names}")
    for (epsilon, part), group_of in sorted(summary.items()):
        columns = list(zip(*group_of, strict=True))
        beaten = sum(ratio > 1.1 for ratio in columns[0])
        shown = "".join(f"{geometric_mean(ratios):>9.2f}{max(ratios):>9.2f}" for ratios in columns)
        print(f"{epsilon:>8g}  {part:<12}{len(group_of):>7}{beaten:>7}{shown}")
    bounds = [run["bound"] for run in runs]
    if bounds:
        print(f"bound over the largest error found: {min(bounds):.1f} to {max(bounds):.1f}, "
              f"median {np.median(bounds):.1f}\n")  # fmt: skip


def arguments(about: str | None) -> argparse.Namespace:
    """Return the options of a benchmark on these graphs."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="three small graphs, one run each")
    parser.add_argument("--data", type=Path, help=f"folder of graphs; else {DATA_VARIABLE}")
    parser.add_argument("--graphs", default="", help="only graphs whose name contains this")
    parser.add_argument("--part", default="", help="tuning, validation or real ones alone")
    parser.add_argument("--epsilon", type=float, nargs="+", help="these alone")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"how many; {SEEDS} by default")
    parser.add_argument("--save", type=Path, help="file of runs, added to and gone on from")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no run after these")
    return parser.parse_args()


def entries_of(options: argparse.Namespace) -> list[Entry]:
    """Return the graphs that were asked for."""
    named = os.environ.get(DATA_VARIABLE)
    folder = options.data or (Path(named) if named else None)
    entries = [*MADE, *bundled(), *(from_folder(folder) if folder else ())]
    if options.quick:
        entries = [entry for entry in entries if entry.name in QUICK]
    return [
        entry for entry in entries if options.graphs in entry.name and options.part in entry.part
    ]


def main() -> None:
    """Read the options, run what is missing, print."""
    options = arguments(__doc__)
    show(list(runs(entries_of(options), measure, options)))


if __name__ == "__main__":
    main()
