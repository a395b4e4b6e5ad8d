"""Measure partitions of releases: their value in the true graph, and whether intervals hold.

Run `python -m scripts.bench.bench_partitions [--quick]`. First table: the value in the true graph
of the partition that is found in a release ("release": its synthetic weights), and by the same
search in its noisy matrix ("noisy"), over the best value that is known, that of any search here on
the true graph or of any partition of a release; median of the seeds, and the worst. For max-cut and
clusters a value near 1 from below is good, for the others one near 1 from above. Clusters are
valued with the mean weight of the true graph as the resolution. "true": the search on the true
graph. "interval": half its length over the best known value. "proven": by how much the partition
may be worse than the best of the true graph, `Partition.shortfall`, likewise.

Second table: of 200 releases each, in how many the true value lay outside of the interval, and the
best known one outside of `Partition.optimum`, which 5 % may.

The search was made while looking at karate, lesmis, us-flights and planted halves; no number was
set for the graphs of the first table. In the second, nothing is tuned.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.synth.partitions import KINDS, FoundParts, Partitioning, worth
from scripts.bench.baseline_graphs import corrected_blocks, planted
from scripts.bench.harness import Table, run

SEEDS, QUICK_SEEDS = 5, 1  # of the first table
RUNS, QUICK_RUNS = 200, 4  # of the second table
# Kind and options of each partition; None stands for a tenth of the vertices.
PARTITIONS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "max-cut": ("max-cut", {}),
    "sparsest, a tenth": ("sparsest", {"smallest": None}),
    "balanced, 2": ("balanced", {}),
    "balanced, 4": ("balanced", {"parts": 4}),
    "clusters": ("clusters", {}),
    "hierarchy": ("hierarchy", {}),
}
COVERED: Mapping[str, Callable[[], gc.Graph]] = {
    "karate": lambda: gc.datasets.load("karate"),
    "lesmis": lambda: gc.datasets.load("lesmis", weighted=False),
    "planted 60, .8/.2": lambda: planted(60, 2, 0.8, 0.2),
    "no edges, 40": lambda: gc.Graph([], [], vertices=40),
}


def from_networkx(network: nx.Graph) -> gc.Graph:
    """Return the edges of a network on the vertices 0 to n - 1."""
    return gc.Graph(*np.array(sorted(network.edges())).T, vertices=len(network))


def busiest_airports(count: int) -> gc.Graph:
    """Return the airports of the world with most routes."""
    matrix = gc.datasets.load("air-routes", weighted=False).adjacency
    rows = np.sort(np.argsort(-matrix.sum(axis=1), kind="stable")[:count])
    return gc.Graph(*np.nonzero(np.triu(matrix[rows][:, rows].toarray(), 1)), vertices=count)


GRAPHS: Mapping[str, Callable[[], gc.Graph]] = {
    "planted 300, 4 blocks, .5/.05": lambda: planted(300, 4, 0.5, 0.05),
    "uneven blocks 400": lambda: corrected_blocks(400, [3.0, 2.0, 1.0], 0.3, 0.04),
    "geometric 300": lambda: from_networkx(nx.random_geometric_graph(300, 0.2, seed=1)),
    "small world 300, 20": lambda: from_networkx(nx.watts_strogatz_graph(300, 20, 0.1, seed=1)),
    "Barabasi-Albert 400, 10": lambda: from_networkx(nx.barabasi_albert_graph(400, 10, seed=1)),
    "grid 15 x 20": lambda: from_networkx(
        nx.convert_node_labels_to_integers(nx.grid_2d_graph(15, 20))
    ),
    "air routes, 400 busiest": lambda: busiest_airports(400),
}


def request_of(graph: gc.Graph, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a partition of this graph."""
    return {
        key: max(1, graph.n // 10) if value is None else value for key, value in options.items()
    }


def quiet_release(graph: gc.Graph, epsilon: float, seed: int) -> Any:
    """Return a release with a seed, without a warning about its accuracy."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gc.release_graph(graph, epsilon=epsilon, seed=seed)


def value_of(kind: str, weights: Any, parts: Any, resolution: float) -> float:
    """Return the value of a partition by its definition."""
    options = Partitioning(resolution=resolution if kind == "clusters" else None)
    return worth(kind, weights, parts, options)


def print_values(quick: bool) -> None:
    """Print the first table."""
    table = Table(
        "graph:<31 kind:<19 epsilon:<8 true:>6.3f release:>9.3f worst:>9.3f noisy:>9.3f "
        "worst:>9.3f interval:>10.2f proven:>9.2f"
    )
    for name, make in GRAPHS.items():
        graph = make()
        truth = graph.adjacency.toarray().astype(float)
        mean = float(truth.mean()) * graph.n / (graph.n - 1)
        releases = {
            epsilon: [
                quiet_release(graph, epsilon, seed)
                for seed in range(QUICK_SEEDS if quick else SEEDS)
            ]
            for epsilon in (1.0, 3.0)
        }
        for label, (kind, options) in PARTITIONS.items():
            request = request_of(graph, options)
            resolution = mean if kind == "clusters" else None
            true_options = replace(Partitioning(**request), resolution=resolution)
            search, largest = KINDS[kind].search, KINDS[kind].largest
            true = value_of(kind, truth, search(truth, true_options), mean)
            lines, best = [], true
            for epsilon, releases_of_epsilon in releases.items():
                values = []
                for release in releases_of_epsilon:
                    partition = release.partition(kind, **request)
                    noisy = np.asarray(release.noisy.estimate())
                    noisy_parts = search(noisy, Partitioning(**request))
                    half_width = (partition.interval[1] - partition.interval[0]) / 2
                    partition_parts = FoundParts(partition.codes, partition.tree)
                    values_in_truth = [
                        value_of(kind, truth, parts, mean)
                        for parts in (partition_parts, noisy_parts)
                    ]
                    values.append((*values_in_truth, half_width, partition.shortfall))
                    best = max(best, *values_in_truth) if largest else min(best, *values_in_truth)
                lines.append((epsilon, np.array(values)))
            for epsilon, values in lines:
                median = np.median(values, axis=0) / best
                worst = (values.min(axis=0) if largest else values.max(axis=0)) / best
                cells = true / best, median[0], worst[0], median[1], worst[1], median[2], median[3]
                table.row(name, label, f"{epsilon:g}", *cells)


def print_coverage(quick: bool) -> None:
    """Print the second table."""
    runs = QUICK_RUNS if quick else RUNS
    print(f"\n{runs} releases each")
    table = Table("graph:<20 kind:<19 epsilon:<8 outside:>8 best_outside:>14")
    for name, make in COVERED.items():
        graph = make()
        truth = graph.adjacency.toarray().astype(float)
        best_values: dict[tuple[str, Partitioning], float] = {}  # by the search on the true graph
        for epsilon in (1.0, 3.0):
            outside = {label: [0, 0] for label in PARTITIONS}
            for seed in range(runs):
                release = quiet_release(graph, epsilon, 1000 + seed)
                for label, (kind, options) in PARTITIONS.items():
                    partition = release.partition(kind, **request_of(graph, options))
                    partition_parts = FoundParts(partition.codes, partition.tree)
                    value = worth(kind, truth, partition_parts, partition.options)
                    key = kind, partition.options
                    if key not in best_values:
                        best_parts = KINDS[kind].search(truth, partition.options)
                        best_values[key] = worth(kind, truth, best_parts, partition.options)
                    best_value = best_values[key]
                    best = max(value, best_value) if KINDS[kind].largest else min(value, best_value)
                    slack = 1e-9 * (1 + abs(value))
                    for index, (value_of_kind, interval) in enumerate(
                        ((value, partition.interval), (best, partition.optimum))
                    ):
                        outside[label][index] += (
                            not interval[0] - slack <= value_of_kind <= interval[1] + slack
                        )
            for label, counts in outside.items():
                table.row(name, label, f"{epsilon:g}", *counts)


def main(quick: bool) -> None:
    """Print both tables; --quick takes few releases."""
    print_values(quick)
    print_coverage(quick)


if __name__ == "__main__":
    run(main, __doc__)
