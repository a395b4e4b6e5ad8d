"""Compare private least cuts with cuts around a single terminal, as ratios to the optimum.

Run `python -m scripts.bench.bench_trivial_cuts [--quick] [--tuning_table 1]`.

"old" returns the noisy cut, with all of epsilon for it, as version 0.1 did; "new" is
`gc.least_cut`, which measures the weights of the noisy cut and of the trivial ones, and returns the
lightest. "trivial" is the better of the two cuts that separate one terminal from all other
vertices, by true weights. All are ratios to the optimum (if that is 0, 1 is added to both numbers):
the mean and the worst over all pairs of terminals and runs of a graph. "lost" is the most by which
new is heavier than the better trivial cut, "stated" the bound of the forecast on this with 95 %,
and "broken" the number of runs above it.

With --tuning_table 1 the shares of epsilon for the weight of the noisy cut are compared on ten
graphs that are in no other table; `WEIGHT_SHARE` was chosen by this. Real graphs besides the
bundled ones are read from ../shared/data if they are there.
"""

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.cuts.least import grid_of_cuts, measure_cut, rows_of_terminals
from graphcuts_dp.cuts.weights import lightest
from graphcuts_dp.learn.least_cut_error import WEIGHT_SHARE, CutErrors, CutRates
from graphcuts_dp.privacy.entropy import SeededEntropy
from scripts.bench.bench_least_cuts import cost, least_codes, network_of, terminals_of, weights_for
from scripts.bench.harness import Table, run
from scripts.benchmark import made_graphs as simulated

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"
SHARES = [Fraction(1, denominator) for denominator in (40, 20, 12, 8, 6, 4, 3)]
EPSILONS = (0.3, 1.0, 3.0)


def bottleneck(n: int, inside: float, bridges: int, seed: int) -> gc.Graph:
    """Return two dense halves and a few edges between them."""
    random = np.random.default_rng(seed)
    upper = np.triu(random.random((n, n)) < inside, 1)
    half = n // 2
    upper[:half, half:] = False
    upper[random.integers(0, half, bridges), random.integers(half, n, bridges)] = True
    return gc.Graph(*np.nonzero(upper), vertices=n)


def tuning_graphs() -> Iterator[tuple[str, gc.Graph]]:
    """Yield the graphs on which the share was chosen."""
    plain = {
        "2 blocks": simulated.in_blocks(150, 2, 0.2, 0.02, seed=71),
        "power law": simulated.power_law(150, 10, seed=72),
        "preferential": simulated.preferential(180, 4),
        "ring": simulated.ring(180, 4, 0.1),
        "bottleneck": bottleneck(120, 0.4, 9, 73),
    }
    for name, graph in plain.items():
        yield name, graph
        yield f"{name}, weights", weights_for(graph)


def comparison_graphs() -> Iterator[tuple[str, gc.Graph]]:
    """Yield thirty other graphs."""
    plain = {
        "4 blocks 240": simulated.in_blocks(240, 4, 0.2, 0.01, seed=81),
        "8 blocks 400": simulated.in_blocks(400, 8, 0.3, 0.02, seed=82),
        "uneven degrees 300": simulated.corrected_blocks(300, (3, 2, 1), 0.3, 0.03),
        "hierarchy 256": simulated.hierarchy(256, 4),
        "geometric 300": simulated.geometric(300, 0.1),
        "ring 400": simulated.ring(400, 5, 0.1),
        "preferential 400": simulated.preferential(400, 5),
        "power law 400": simulated.power_law(400, 12, seed=83),
        "affiliation 300": simulated.affiliation(300, 15, 20),
        "fringe 300": simulated.fringe(300, 40),
        "two cliques 100": simulated.two_cliques(100),
    }
    for name, graph in plain.items():
        yield name, graph
        yield f"{name}, weights", weights_for(graph)
    for bridges in (2, 10, 40):
        yield f"{bridges} bridges 200", bottleneck(200, 0.3, bridges, 84)
    yield "20 bridges 200, weights", weights_for(bottleneck(200, 0.3, 20, 85))
    yield "karate", gc.datasets.load("karate")
    yield "lesmis, weights", with_whole_weights(gc.datasets.load("lesmis"))
    yield "us airports, weights", with_whole_weights(gc.datasets.load("us-flights"))
    for name in ("polblogs.edges.gz", "celegansneural_w.edges", "power.edges"):
        if (SHARED / name).exists():
            options = {"columns": gc.Columns(weight=2)} if "_w." in name else {}
            yield (
                name.partition(".")[0],
                with_whole_weights(gc.read_graph(SHARED / name, **options)),
            )


def with_whole_weights(graph: gc.Graph) -> gc.Graph:
    """Return a graph with whole weights of at least 1, whose neighbours differ by 1."""
    if not graph.weighted:
        return graph
    weights = np.minimum(np.maximum(np.rint(graph.weights), 1), 2**31)
    return gc.Graph(graph.rows, graph.columns, weights, vertices=graph.n, max_weight_change=1)


def trivial_codes(terminal_rows: list[np.ndarray], n: int) -> Iterator[np.ndarray]:
    """Yield the partitions in which one of two terminals keeps all other vertices."""
    for keeper in (0, 1):
        codes = np.full(n, keeper)
        for part, rows in enumerate(terminal_rows):
            codes[rows] = part
        yield codes


def costs_of_runs(
    graph: gc.Graph, epsilon: float, shares: list[Fraction], runs: int
) -> Iterator[tuple[float, ...]]:
    """Yield, for each run, the weights of the optimum, the better trivial cut, old and new cuts.

    There is one new cut for each share.
    """
    network, n = network_of(graph), graph.n
    for pair in terminals_of(graph):
        terminal_rows = rows_of_terminals(graph.vertices, [rows.tolist() for (rows,) in pair])
        optimum = cost(graph, least_codes(network, terminal_rows, n))
        trivial = min(cost(graph, codes) for codes in trivial_codes(terminal_rows, n))
        grid = grid_of_cuts(graph, Fraction(epsilon))
        for seed in range(runs):
            old_rates = CutRates.of(Fraction(epsilon), grid.sensitivity, share=Fraction(1, 10**9))
            options = {"terminal_rows": terminal_rows, "grid": grid}
            noisy = measure_cut(graph, SeededEntropy(seed), rates=old_rates, **options).codes
            costs = []
            for share in shares:
                rates = CutRates.of(Fraction(epsilon), grid.sensitivity, share=share)
                errors = CutErrors.of(rates, n, 2, unit=grid.unit, beta=0.05)
                measured_cut = measure_cut(graph, SeededEntropy(seed), rates=rates, **options)
                costs.append(
                    cost(graph, lightest(measured_cut, terminal_rows, errors, grid.unit).codes)
                )
            yield optimum, trivial, cost(graph, noisy), *costs


def ratios(values: np.ndarray, optimum: np.ndarray) -> np.ndarray:
    """Return ratios to the optimum; if it is 0, of both numbers plus 1."""
    return (values + (optimum == 0)) / (optimum + (optimum == 0))


def print_tuning(runs: int) -> None:
    """Print mean ratios by share and epsilon, over the tuning graphs."""
    share_columns = " ".join(f"1/{share.denominator}:>7,.3f" for share in SHARES)
    columns = "what:<6 epsilon:>8,.1f trivial:>8,.3f old:>8,.3f " + share_columns
    table = Table(columns, title="ratio to the optimum, mean over the tuning graphs")
    for epsilon in EPSILONS:
        means, worsts = [], []
        for _, graph in tuning_graphs():
            rows = np.array(list(costs_of_runs(graph, epsilon, SHARES, runs)))
            ratios_of_graphs = np.stack([ratios(column, rows[:, 0]) for column in rows.T[1:]])
            means.append(ratios_of_graphs.mean(axis=1))
            worsts.append(ratios_of_graphs.max(axis=1))
        table.row("mean", epsilon, *np.mean(means, axis=0))
        table.row("worst", epsilon, *np.mean(worsts, axis=0))


def main(quick: bool, tuning_table: int) -> None:
    """Print the tables."""
    runs = 2 if quick else 5
    if tuning_table:
        print_tuning(runs)
        return
    columns = (
        "graph:<26 n:>6,d epsilon:>8,.1f optimum:>8,.0f trivial:>9,.2f old:>9,.2f worst:>10,.2f "
    )
    columns += "new:>8,.2f worst:>8,.2f lost:>6,.0f stated:>7,.0f broken:>7,d"
    table, sums = Table(columns, title=None), {}
    for name, graph in comparison_graphs():
        for epsilon in EPSILONS:
            grid = grid_of_cuts(graph, Fraction(epsilon))
            rates = CutRates.of(Fraction(epsilon), grid.sensitivity)
            errors = CutErrors.of(rates, graph.n, 2, unit=grid.unit, beta=0.05)
            rows = np.array(list(costs_of_runs(graph, epsilon, [WEIGHT_SHARE], runs)))
            optimum, trivial, _, new = rows.T
            ratios_of_rows = np.stack([ratios(column, optimum) for column in rows.T[1:]])
            means, worsts = ratios_of_rows.mean(axis=1), ratios_of_rows.max(axis=1)
            excess = new - trivial
            violations = int(np.count_nonzero(excess > errors.above_trivial))
            row = [optimum.mean(), means[0], means[1], worsts[1], means[2], worsts[2]]
            table.row(name, graph.n, epsilon, *row, excess.max(), errors.above_trivial, violations)
            sums.setdefault(epsilon, []).append((*means, *worsts, len(rows), violations))
    print()
    columns = "all_graphs:>10 epsilon:>8,.1f trivial:>9,.2f old:>9,.2f worst:>10,.2f new:>9,.2f "
    table = Table(columns + "worst:>8,.2f runs:>6,d broken:>7,d", title=None)
    for epsilon, rows in sums.items():
        trivial, old, new, _, old_worst, new_worst, count, violations = np.array(rows).T
        means = trivial.mean(), old.mean(), old_worst.max(), new.mean(), new_worst.max()
        table.row(len(rows), epsilon, *means, int(count.sum()), int(violations.sum()))


if __name__ == "__main__":
    run(main, __doc__, tuning_table=0)
