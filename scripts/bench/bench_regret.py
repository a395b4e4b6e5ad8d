"""Measure the regret of the default share for degrees: its worst cut over that of the best share.

Run `python -m scripts.bench.bench_regret [--quick] [--part tuning] [--save FILE] [--seconds S]`.
Each graph of a part of regret_graphs.py (tuning, validation or large) or of regret_kinds.py
(directed, two-sided or weighted) is fitted with fixed shares of epsilon for the degrees (0, .2,
.35, .6, .95; the rest goes to entries) and with the default. Regret: error of the worst cut that a
local search finds on the expected weights of the fit, over that of the best fixed share, which is
chosen on the other seeds if there are several. Kept: where the best share keeps more than half of
the modularity of the communities, how many graphs keep at least .8 of that with the default. The
mean and the largest regret are of means over the seeds, "draw" is the largest regret of a seed.
The file of --save has one line of JSON for each run; a later call adds the missing runs, and one
with --seconds 0 prints the table of the runs in the file.
"""

import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.estimate.measurement import Degrees, Total
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.release.graph_jobs import MatrixJob
from graphcuts_dp.release.graphs import graph_job
from graphcuts_dp.synth.base import FitProblem
from graphcuts_dp.synth.methods import FitOptions
from scripts.bench.harness import Table, run
from scripts.bench.regret_graphs import LARGE, TUNING, VALIDATION, RegretGraph
from scripts.bench.regret_kinds import DIRECTED, TWO_SIDED, WEIGHTED, KindGraph

PARTS: dict[str, tuple[RegretGraph, ...] | tuple[KindGraph, ...]] = {
    "tuning": TUNING, "validation": VALIDATION, "large": LARGE,
    "directed": DIRECTED, "two-sided": TWO_SIDED, "weighted": WEIGHTED,
}  # fmt: skip
EPSILONS = (1.0, 1.5, 2.5, 0.5, 0.3)
SHARES = (0.0, 0.2, 0.35, 0.6, 0.95)
DEFAULT = "default"
# Of the search for the worst cut: start vectors, and the most steps from each.
_STARTS, _ROUNDS = 12, 60


def worst_cut(difference: Any) -> float:
    """Return the largest |sum over S x T| of a local search from singular and random vectors."""
    random = np.random.default_rng(0)
    if difference.shape[0] == difference.shape[1] and np.array_equal(difference, difference.T):
        _, vectors = np.linalg.eigh(difference)
        starts = [vectors[:, index] for index in (0, 1, 2, -1, -2, -3)]
    else:
        starts = list(np.linalg.svd(difference, full_matrices=False)[2][:6])
    starts += list(random.standard_normal((_STARTS - len(starts), difference.shape[1])))
    best = 0.0
    for start in starts:
        for sign in (1.0, -1.0):
            columns, value = sign * start > 0, -math.inf
            for _ in range(_ROUNDS):
                rows = difference[:, columns].sum(axis=1) > 0
                sums = difference[rows].sum(axis=0)
                columns, new = sums > 0, float(np.maximum(sums, 0).sum())
                if new <= value + 1e-9:
                    break
                value = new
            best = max(best, value)
    return best


def worst_cut_error(difference: Any) -> float:
    """Return the largest error of a cut, of either sign."""
    return max(worst_cut(difference), worst_cut(-difference))


def modularity(matrix: Any, labels: Any) -> float:
    """Return the modularity of a partition."""
    degrees, total = matrix.sum(axis=0), matrix.sum()
    return sum(
        float(matrix[np.ix_(part, part)].sum() / total - (degrees[part].sum() / total) ** 2)
        for part in (labels == label for label in np.unique(labels))
    )


def fitted(graph: Any, epsilon: float, choice: str | float, seed: int) -> tuple[Any, Any]:
    """Return expected weights of a fit, and the measurements.

    Args:
        graph: private.
        epsilon: of the measurements.
        choice: share of the degrees, or DEFAULT.
        seed: of the noise.
    """
    mechanism = gc.Mechanism("auto")
    if choice == 0.0:
        mechanism = gc.Mechanism("randomized-response")
    elif isinstance(choice, float):
        mechanism = gc.Mechanism("degrees+randomized-response", degree_share=choice)
    job = graph_job(graph, epsilon=epsilon, mechanism=mechanism, fitted=False)
    assert isinstance(job, MatrixJob)
    measured = job.measure(job.bounded(graph), SeededEntropy(seed))
    noisy, method = measured.matrix, FitOptions().method(1.0)
    assert noisy is not None
    assert method is not None
    problem = FitProblem(noisy.blocks, 1.0, measured.find(Degrees), measured.find(Total))
    return method.run(problem, time_limit=None).matrix, measured


def planned_runs(
    part: str, epsilons: tuple[float, ...], seeds: range
) -> Iterator[tuple[RegretGraph | KindGraph, tuple[Any, ...]]]:
    """Yield the graph and the key (name, epsilon, seed, choice) of every run, by seeds first."""
    for seed in seeds:
        for epsilon in epsilons:
            for entry in PARTS[part]:
                for choice in (*SHARES, DEFAULT):
                    yield entry, (entry.name, epsilon, seed, choice)


def measure(entry: RegretGraph | KindGraph, key: tuple[Any, ...]) -> dict[str, Any]:
    """Measure one run."""
    graph, labels = entry.drawn()
    _, epsilon, seed, choice = key
    weights, measured = fitted(graph, epsilon, choice, seed)
    truth = graph.dense()
    return {
        "key": key, "n": max(graph.shape), "cut": worst_cut_error(np.asarray(weights) - truth),
        "modularity": 0.0 if labels is None else float(modularity(weights, labels)),
        "true": 0.0 if labels is None else float(modularity(truth, labels)),
        "spent": [[name, part] for name, part in measured.guarantee.spent],
    }  # fmt: skip


def regrets(lines: list[dict[str, Any]], choice: Any) -> list[tuple[str, float, float, float]]:
    """Return a row of regrets for each graph, over the seeds that have runs of all fixed shares.

    Returns:
        Name of the graph; geometric mean over the seeds of the regret of the worst cut; the largest
        one; and the part of the seeds that keep .8 of the modularity of the best share, NaN if that
        share keeps at most half of a graph's in most seeds.
    """
    by_key = {tuple(line["key"]): line for line in lines}
    seeds_of: dict[tuple[str, float], list[int]] = {}
    for name, epsilon, seed, line_choice in by_key:
        if line_choice == choice and all(
            (name, epsilon, seed, share) in by_key for share in SHARES
        ):
            seeds_of.setdefault((name, epsilon), []).append(seed)
    rows = []
    for (name, epsilon), seeds in seeds_of.items():
        cuts, keeps_structure = [], []
        for seed in seeds:
            line = by_key[name, epsilon, seed, choice]
            best = by_key[name, epsilon, seed, best_share(by_key, name, epsilon, seed, seeds)]
            cuts.append(line["cut"] / best["cut"])
            if best["modularity"] > best["true"] / 2 and best["true"] > 0.1:
                keeps_structure.append(line["modularity"] >= 0.8 * best["modularity"])
        mean_regret = math.exp(float(np.mean(np.log(cuts))))
        is_structured = 2 * len(keeps_structure) >= len(seeds)
        rows.append(
            (
                name,
                mean_regret,
                max(cuts),
                float(np.mean(keeps_structure)) if is_structured else math.nan,
            )
        )
    return rows


def best_share(
    by_key: dict[tuple[Any, ...], dict[str, Any]],
    name: str,
    epsilon: float,
    seed: int,
    seeds: list[int],
) -> float:
    """Return the fixed share of the least worst cut on the other seeds, if there are others."""
    other_seeds = [other for other in seeds if other != seed] or [seed]
    return min(
        SHARES,
        key=lambda share: sum(by_key[name, epsilon, other, share]["cut"] for other in other_seeds),
    )


def main(quick: bool, part: str, save: Path, seconds: float, seeds: int) -> None:
    """Print the table; --quick takes four graphs at epsilon 1."""
    lines = [json.loads(line) for line in save.read_text().splitlines()] if save.exists() else []
    finished = {tuple(line["key"]) for line in lines}
    started = time.monotonic()
    epsilons = EPSILONS[:1] if quick else EPSILONS
    keys = list(planned_runs(part, epsilons, range(1 if quick else seeds)))
    for entry, key in keys[: 4 * 6 if quick else None]:
        if key in finished:
            continue
        if time.monotonic() - started > seconds:
            break
        lines.append(measure(entry, key))
        with save.open("a") as file:
            file.write(json.dumps(lines[-1]) + "\n")
    names = {entry.name for entry in PARTS[part]}
    table = Table(
        "epsilon:>8 choice:>12 graphs:>7 seeds:>6 mean:>7.3f largest:>8.2f draw:>6.2f kept:>6.2f "
        "of:>4 :<2 worst:<36"
    )
    for epsilon in sorted(epsilons):
        lines_of_part = [
            line for line in lines if line["key"][1] == epsilon and line["key"][0] in names
        ]
        for choice in (DEFAULT, *SHARES):
            rows = regrets(lines_of_part, choice)
            if rows:
                _, cuts, draws, kept_shares = zip(*rows, strict=True)
                shares_of_structured = [part for part in kept_shares if not math.isnan(part)]
                mean = math.exp(float(np.mean(np.log(cuts))))
                worst = max(rows, key=lambda row: row[1])[0]
                runs = sum(line["key"][3] == choice for line in lines_of_part)
                cells = (
                    mean,
                    max(cuts),
                    max(draws),
                    float(np.mean(shares_of_structured)) if shares_of_structured else 1.0,
                )
                table.row(
                    epsilon,
                    choice,
                    len(rows),
                    runs // len(rows),
                    *cells,
                    len(shares_of_structured),
                    "",
                    worst,
                )


if __name__ == "__main__":
    run(main, __doc__, part="validation", save=Path("regret.jsonl"), seconds=math.inf, seeds=1)
