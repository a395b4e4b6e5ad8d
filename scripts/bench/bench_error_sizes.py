"""Measure errors in numbers of edges, which README and the guides state, by kind of graph.

Run `python -m scripts.bench.bench_error_sizes [--quick]`. Releases at epsilon = 1 of graphs from
generators that no constant was tuned on, three seeds each. *Halves*: root mean square error of
`release.answer` on 40 cuts between random halves, over n/2; the same of `estimate="shrunk"`, all
cuts in one list; and the printed half width over that of the shrunk ones. *Worst cut*: the largest
error of a cut of the synthetic graph that a local search finds, edges inside both sets counted
twice, over n^1.5; and the proven bound over it. *Seconds* of a release. Then the standard errors of
cells of tables between groups on one to four nested levels, at epsilon = 1, which are formulas.
"""

import statistics
import time
import warnings
from collections.abc import Callable, Mapping

import networkx as nx
import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.estimate.strategy import choose_strategy, equal_groups
from graphcuts_dp.schema.cells import CellTree
from scripts.bench.harness import Table, run

_CUTS, _SEEDS = 40, 3
_COLUMNS = ("halves", "shrunk", "width", "worst", "bound", "seconds")
KINDS: Mapping[str, Callable[[int], nx.Graph]] = {
    "planted blocks": lambda n: nx.planted_partition_graph(4, n // 4, 0.4, 0.04, seed=1),
    "random": lambda n: nx.gnp_random_graph(n, 0.1, seed=2),
    "geometric": lambda n: nx.random_geometric_graph(n, 0.13, seed=3),
    "small world": lambda n: nx.watts_strogatz_graph(n, 12, 0.1, seed=4),
    "preferential": lambda n: nx.powerlaw_cluster_graph(n, 10, 0.5, seed=5),
    "ring of cliques": lambda n: nx.ring_of_cliques(n // 20, 20),
}


def _halves(n: int, seed: int) -> list[gc.CutQuery]:
    """Return cuts between random halves."""
    generator = np.random.default_rng(seed)
    masks = (generator.permutation(n) < n // 2 for _ in range(_CUTS))
    return [gc.CutQuery(mask, ~mask) for mask in masks]


def _row(kind: str, n: int, seeds: int) -> dict[str, float]:
    """Return medians over the seeds."""
    network = nx.convert_node_labels_to_integers(KINDS[kind](n))
    graph, rows = gc.Graph.of(network, vertices=range(n)), []
    for seed in range(seeds):
        cuts = _halves(n, 100 + seed)
        truth = gc.answer_all(cuts, graph)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            start = time.perf_counter()
            release = gc.release_graph(graph, epsilon=1.0, seed=seed)
            seconds = time.perf_counter() - start
        plain = release.answer_all(cuts)
        shrunk = release.answer_all(cuts, estimate="shrunk")
        errors = [
            np.sqrt(np.mean((np.array([one.estimate for one in answers]) - truth) ** 2))
            for answers in (plain, shrunk)
        ]
        width = np.mean([(one.interval[1] - one.interval[0]) / 2 for one in shrunk])
        worst = gc.cut_norm(release.expected.dense() - graph.dense()).lower
        rows.append(
            (
                errors[0] / (n / 2),
                errors[1] / (n / 2),
                width / errors[1],
                worst / n**1.5,
                release.worst_cut_error_bound() / worst,
                seconds,
            )
        )
    middle = [statistics.median(values) for values in zip(*rows, strict=True)]
    return dict(zip(_COLUMNS, middle, strict=True))


def main(quick: bool) -> None:
    """Print both tables."""
    sizes, seeds = ((200,), 1) if quick else ((200, 400), _SEEDS)
    form = "graph:<18 n:>6 " + " ".join(f"{name}:>10.3f" for name in _COLUMNS)
    table, rows = Table(form, "epsilon = 1"), []
    for kind in KINDS:
        for n in sizes:
            rows.append(_row(kind, n, seeds))
            table.row(kind, f"{n}", *(rows[-1][name] for name in _COLUMNS))
    for name, choose in (("median", statistics.median), ("least", min), ("largest", max)):
        table.row(name, "all", *(choose([row[column] for row in rows]) for column in _COLUMNS))
    levels_table = Table(
        "groups_on_each_level:<24 1:>8.1f 2:>8.1f 3:>8.1f 4:>8.1f",
        "\nepsilon = 1, standard errors of cells on each level, the coarsest first",
    )
    for levels in ((20,), (5, 20), (4, 20, 100), (2, 8, 32, 128)):
        strategy = choose_strategy(CellTree(equal_groups(1000, [*levels])), epsilon=1.0)
        levels_table.row(", ".join(map(str, levels)), *strategy.deviations[1:])


if __name__ == "__main__":
    run(main, __doc__)
