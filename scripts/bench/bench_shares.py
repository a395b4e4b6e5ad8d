"""Measure what a better share for degrees could gain: the default, fixed shares, and hindsight.

Run `python -m scripts.bench.bench_shares [--quick]`. For each graph that no threshold was tuned on:
the worst cut error of the fit with fixed shares of epsilon for degrees, one seed each, over that of
the best baseline of bench_baselines.py. "hindsight" is the least of them, which no choice can know,
and which is a little too good, since it also picks the luckier noise; "true degrees" is the graph
that the degrees themselves expect (Chung, Lu), without any noise: a graph of noisy degrees alone
is hardly better, so where nothing but degrees can be seen this is about the end.
"""

import argparse
from typing import Any

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.estimate.measurement import Degrees, Total
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.release.graphs import graph_job
from graphcuts_dp.synth.base import FitProblem
from graphcuts_dp.synth.maximum_entropy import maximum_entropy
from scripts.bench.baseline_graphs import MADE
from scripts.bench.bench_baselines import (
    QUICK,
    best_of,
    geometric_mean,
    largest_cut,
    noise_of,
    simple_matrices,
)
from scripts.benchmark.baselines import chung_lu

SHARES = (0.1, 0.3, 0.6, 0.75)
SEED = 0


def fitted(graph: Any, epsilon: float, response: gc.Mechanism) -> float:
    """Return the worst cut error of a fit, as far as a search finds it."""
    job = graph_job(graph, epsilon=epsilon, noise=noise_of(graph), mechanism=response, fitted=False)
    measurements = job.measure(graph, SeededEntropy(SEED))
    blocks = gc.Release(measurements=measurements).noisy.blocks
    problem = FitProblem(
        blocks, graph.max_weight or 1.0, measurements.find(Degrees), measurements.find(Total)
    )
    return largest_cut(maximum_entropy(problem).matrix.astype(np.float64), graph.dense())


def of_true_degrees(graph: Any) -> float:
    """Return the worst cut error of the graph that the degrees expect, which has no noise."""
    truth, cap = graph.dense(), graph.max_weight or 1.0
    plain = isinstance(graph, gc.Graph)
    rows, columns = truth.sum(axis=1) / cap, truth.sum(axis=0) / cap
    expected = chung_lu(rows, None if plain else columns, hollow=plain)
    return largest_cut(expected * cap, truth)


def main() -> None:
    """Print one line for each graph, then means and the worst."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two small graphs")
    parser.add_argument("--epsilon", type=float, default=2.0, help="2 by default")
    options = parser.parse_args()
    names = ("default", *(f"{share:g}" for share in SHARES), "hindsight", "true degrees")
    print(f"{f'epsilon = {options.epsilon:g}':<34}" + "".join(f"{name:>14}" for name in names))
    ratios_of_graphs = []
    for entry in MADE:
        if entry.part == "tuning" or (options.quick and entry.name not in QUICK):
            continue
        graph: Any = entry.make()
        if graph.weighted and graph.max_weight is None:
            continue  # no degrees without a cap
        simple = simple_matrices(graph, options.epsilon, SEED)
        cuts = {name: largest_cut(matrix, graph.dense()) for name, matrix in simple.items()}
        best = cuts[best_of(cuts)]
        fixed = [
            fitted(
                graph,
                options.epsilon,
                gc.Mechanism("degrees+randomized-response", degree_share=share),
            )
            for share in SHARES
        ]
        default = fitted(graph, options.epsilon, gc.Mechanism())
        row = [default, *fixed, min(fixed), of_true_degrees(graph)]
        ratios_of_graphs.append([error / best for error in row])
        print(
            f"{entry.name:<34}" + "".join(f"{ratio:>14.2f}" for ratio in ratios_of_graphs[-1]),
            flush=True,
        )
    for name, fold in (("mean", geometric_mean), ("median", np.median), ("worst", max)):
        folded = [float(fold(list(column))) for column in zip(*ratios_of_graphs, strict=True)]
        print(f"{name:<34}" + "".join(f"{ratio:>14.2f}" for ratio in folded))


if __name__ == "__main__":
    main()
