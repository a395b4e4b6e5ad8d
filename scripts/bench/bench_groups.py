"""Compare releases with public groups, without groups, and with groups drawn by chance.

Run `python -m scripts.bench.bench_groups [--quick]`. The shares of epsilon, the threshold of
`telling` and the slack of the fit were set on the tuning graphs alone; the validation graphs were
drawn afterwards, once.

For each graph, each a median over seeds (worst seed in brackets):
  W       worst cut error over 2m, proven from above, of today's release without groups
  with    the same with groups, over that of the same seed without
  chance  the same with the groups of other vertices (a permutation), over that without: no graph
          should pay for groups that say nothing
  pairs   mean error of the sums between two groups over that expected of the raw matrix of all of
          epsilon: of the synthetic graph without groups, with them, and of the answers
"""

import math
import statistics
import warnings
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from typing import Any

import networkx as nx
import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.errors import AccuracyWarning
from graphcuts_dp.estimate.noises import noise_distribution
from scripts.bench.baseline_graphs import drawn, ends
from scripts.bench.harness import run, timed

Matrix = Any
Case = tuple[gc.Graph, Matrix]
TOLERANCE = 0.05  # of the certificates
EPSILON, SEEDS, QUICK_SEEDS = 1.0, 10, 3


def blocks(
    n: int, k: int, within: float, between: float, seed: int, *, spread: float = 0.0,
    uneven: bool = False,
) -> Case:  # fmt: skip
    """Draw blocks, perhaps of sizes 1 : 2 : ... : k and with uneven degrees."""
    random = np.random.default_rng(seed)
    weights = np.arange(1, k + 1) if uneven else np.ones(k)
    labels = np.sort(random.choice(k, n, p=weights / weights.sum()))
    factors = ends(random, n, spread)
    chances = np.where(labels[:, None] == labels, within, between) * np.outer(factors, factors)
    return drawn(np.minimum(chances, 1), seed + 1), labels


def hierarchy(n: int, levels: int, least: float, factor: float, seed: int) -> Case:
    """Draw a binary tree of blocks; each common level multiplies the chance."""
    labels = np.arange(n) * 2**levels // n
    chances = np.full((n, n), least)
    for level in range(levels):
        above = labels >> level
        chances = np.where(above[:, None] == above, chances * factor, chances)
    return drawn(np.minimum(chances, 0.95), seed), labels


def geometric(n: int, radius: float, side: int, seed: int) -> Case:
    """Join points of the square that are near; groups are the squares of a grid."""
    points = np.random.default_rng(seed).random((n, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    labels = (points * side).astype(int) @ np.array([side, 1])
    return drawn((distances < radius).astype(float), seed), labels


def school(n: int, classes: int, seed: int, within: float = 0.8) -> Case:
    """Draw classes in grades of two, with uneven degrees: like a day of contacts at a school."""
    random = np.random.default_rng(seed)
    labels = np.sort(random.integers(0, classes, n))
    factors, grades = ends(random, n, 0.5), labels // 2
    chances = np.where(grades[:, None] == grades, 0.35, 0.17)
    chances = np.where(labels[:, None] == labels, within, chances) * np.outer(factors, factors)
    return drawn(np.minimum(chances, 0.98), seed), labels


def lfr(n: int, mixing: float, seed: int) -> Case:
    """Draw communities and degrees with power laws (Lancichinetti, Fortunato, Radicchi)."""
    network = nx.LFR_benchmark_graph(
        n, 2.5, 1.5, mixing, average_degree=24, max_degree=80, min_community=30, seed=seed
    )
    network.remove_edges_from(list(nx.selfloop_edges(network)))
    groups = sorted({tuple(sorted(network.nodes[v]["community"])) for v in network})
    labels = np.zeros(n, dtype=int)
    for label, members in enumerate(groups):
        labels[list(members)] = label
    rows, columns = np.array(network.edges).T
    return gc.Graph(rows, columns, vertices=n), labels


GRAPHS: dict[str, dict[str, Callable[[], Case]]] = {
    "tuning": {
        "blocks 600, 6 uneven, degrees uneven": lambda: blocks(
            600, 6, 0.15, 0.02, 10, spread=0.5, uneven=True
        ),
        "blocks 400, 8, .2/.02": lambda: blocks(400, 8, 0.2, 0.02, 11),
        "blocks 500, 4, .5/.05 (visible)": lambda: blocks(500, 4, 0.5, 0.05, 15),
        "hierarchy 512, 16 groups": lambda: hierarchy(512, 4, 0.01, 2.3, 12),
        "geometric 500, radius .13, 16 squares": lambda: geometric(500, 0.13, 4, 13),
        "school 242, 10 classes": lambda: school(242, 10, 14),
        "G(400, .1), 10 groups": lambda: (
            drawn(np.full((400, 400), 0.1), 16), np.arange(400) % 10
        ),
    },
    "validation": {
        "blocks 800, 6 uneven, degrees uneven": lambda: blocks(
            800, 6, 0.2, 0.03, 30, spread=0.6, uneven=True
        ),
        "blocks 600, 5, .3/.05": lambda: blocks(600, 5, 0.3, 0.05, 31),
        "blocks 700, 10, .35/.03": lambda: blocks(700, 10, 0.35, 0.03, 35),
        "hierarchy 512, 16 groups": lambda: hierarchy(512, 4, 0.025, 2.2, 32),
        "geometric 600, radius .15, 25 squares": lambda: geometric(600, 0.15, 5, 33),
        "geometric 400, radius .2, 9 squares": lambda: geometric(400, 0.2, 3, 36),
        "school 300, 12 classes": lambda: school(300, 12, 34, within=0.7),
        "LFR 600, mixing .25": lambda: lfr(600, 0.25, 37),
    },
}  # fmt: skip


def errors(case: Case, release: gc.Release) -> tuple[float, float, float]:
    """Return the worst cut and the errors of group pairs, of graph and answers, over raw."""
    graph, labels = case
    wrong = release.expected.dense() - graph.dense()
    worst = gc.cut_norm(wrong, tolerance=TOLERANCE).upper / graph.dense().sum()
    members = np.eye(labels.max() + 1)[labels]
    pairs = np.triu_indices(members.shape[1], 1)
    sizes = np.outer(members.sum(axis=0), members.sum(axis=0))[pairs]
    spread = noise_distribution("binary", epsilon=EPSILON).standard_deviation
    raw = spread * math.sqrt(2 / math.pi) * np.sqrt(sizes).mean()
    pair_error = np.abs((members.T @ wrong @ members)[pairs]).mean() / raw
    sets = [(members[:, a] > 0, members[:, b] > 0) for a, b in zip(*pairs, strict=True)]
    cuts = [gc.CutQuery(S, T) for S, T in sets if S.any() and T.any()]
    truth = [cut.value(graph) for cut in cuts]
    estimates = [answer.estimate for answer in release.answer_all(cuts)]
    return worst, pair_error, np.abs(np.subtract(estimates, truth)).mean() / raw


def measured(make: Callable[[], Case], seeds: int) -> dict[str, Any]:
    """Return all errors of one graph."""
    case = make()
    graph, labels = case
    chance = np.random.default_rng(5).permutation(labels)
    errors_of: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    kinds = {"none": None, "groups": labels, "chance": chance}
    for seed in range(seeds):
        for kind, group_labels in kinds.items():
            groups = (
                None
                if group_labels is None
                else gc.Groups(graph.vertices, {"g": group_labels.tolist()})
            )
            release = gc.release_graph(graph, epsilon=EPSILON, seed=seed, groups=groups)
            errors_of[kind].append(errors(case, release))
    worst = {kind: np.array(errors_of_runs)[:, 0] for kind, errors_of_runs in errors_of.items()}
    over = {kind: worst[kind] / worst["none"] for kind in ("groups", "chance")}
    return {
        "n, m": (graph.n, len(graph.rows)),
        "W": worst["none"],
        "with": over["groups"],
        "chance": over["chance"],
        "pairs, without": [errors_of_runs[1] for errors_of_runs in errors_of["none"]],
        "pairs, with": [errors_of_runs[1] for errors_of_runs in errors_of["groups"]],
        "pairs, answers": [errors_of_runs[2] for errors_of_runs in errors_of["groups"]],
    }


def main(quick: bool) -> None:
    """Measure and print; --quick takes the first graph of each part."""
    warnings.simplefilter("ignore", AccuracyWarning)
    seeds = QUICK_SEEDS if quick else SEEDS
    for part, graphs in GRAPHS.items():
        print(f"{part}, epsilon = {EPSILON:g}, {seeds} seeds: median (worst)")
        for name, make in list(graphs.items())[: 1 if quick else None]:
            took, results = timed(partial(measured, make, seeds))
            n, m = results.pop("n, m")
            cells = (
                f"{key} {statistics.median(values):.3f} ({max(values):.3f})"
                for key, values in results.items()
            )
            print(f"  {name} (n {n}, m {m:,}): {'; '.join(cells)}; {took:.0f} s", flush=True)


if __name__ == "__main__":
    run(main, __doc__)
