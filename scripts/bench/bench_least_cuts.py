"""Compare private least cuts with the least cut of a noisy matrix, by excess weight.

Run `python -m scripts.bench.bench_least_cuts [--quick] [--epsilon 1]`.

Twelve generators of PrivateCuts, fixed before the first run, of n = 200, 400, 800 and 1,600
vertices; without weights, and with whole weights (lognormal, mean 10, a change by 1 is hidden).
Four pairs of terminals in each: two random vertices, the two of largest degree, two random sets of
a twentieth of the vertices, and the first and the last twentieth; two runs each. "above" is what
the cut weighs more than the least one, on average over the eight, then the worst; "matrix" the same
of the least cut in the noisy matrix of a release of the same epsilon (response without weights,
Laplace noise with them; entries below 0 count as 0). n/epsilon is the theorem's bound on the mean.
The lines below have mean and median over the generators, since one of them, two cliques, decides
the mean of the matrix.

Second table: four terminals, the first vertices of the four quarters, five runs. "halving" is what
`gc.least_cut` does; "isolating" two cuts of all vertices by the binary digits of the terminals
("digits" are the parts after these), then each terminal alone within its region, with a third of
epsilon each. What they weigh more than the least of what either finds without noise, on average and
at worst.

Third table: a million vertices, ten million edges.
"""

import resource
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

import graphcuts_dp as gc
from graphcuts_dp.cuts.least import cut_job, grid_of_cuts, measure_cut, rows_of_terminals
from graphcuts_dp.cuts.network import least_side
from graphcuts_dp.learn.least_cut_error import CutRates
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.privacy.noise import sample_discrete_laplace
from scripts.bench.harness import Table, run, timed
from scripts.benchmark import made_graphs as made

GENERATORS = {
    "2 blocks": lambda n: made.in_blocks(n, 2, 30 / n, 3 / n, seed=31),
    "8 blocks": lambda n: made.in_blocks(n, 8, 0.3, 0.02, seed=32),
    "uneven degrees": lambda n: made.corrected_blocks(n, (3, 2, 1), 0.3, 0.03),
    "hierarchy": lambda n: made.hierarchy(n, 4),
    "geometric": lambda n: made.geometric(n, 0.1),
    "ring": lambda n: made.ring(n, 5, 0.1),
    "preferential": lambda n: made.preferential(n, 5),
    "power law": lambda n: made.power_law(n, 12, seed=33),
    "affiliation": lambda n: made.affiliation(n, n // 20, 20),
    "fringe": lambda n: made.fringe(n, n // 8),
    "two cliques": made.two_cliques,
    "large blocks": lambda n: made.large_blocks(n, 10, 20, seed=34),
}
SIZES, RUNS = (200, 400, 800, 1600), 2
_MATRIX_STEPS = 2**10
_LARGE = (1_000_000, 10_000_000)


def weights_for(graph):
    """Return the same edges with whole weights, from the generator of the benchmark."""
    random = np.random.default_rng(35)
    weights = np.maximum(np.rint(random.lognormal(np.log(10) - 0.5, 1, len(graph.rows))), 1)
    return gc.Graph(graph.rows, graph.columns, weights, vertices=graph.n, max_weight_change=1)


def terminals_of(graph):
    """Yield the four pairs of terminals."""
    n, random = graph.n, np.random.default_rng(36)
    part = n // 20
    degrees = np.bincount(np.concatenate([graph.rows, graph.columns]), minlength=n)
    heaviest = np.argsort(-degrees, kind="stable")
    mixed = random.permutation(n)
    yield [mixed[-1:]], [mixed[-2:-1]]
    yield [heaviest[:1]], [heaviest[1:2]]
    yield [mixed[:part]], [mixed[part : 2 * part]]
    yield [np.arange(part)], [np.arange(n - part, n)]


def cost(graph, codes):
    """Return the weight of a partition."""
    return float(graph.weights[codes[graph.rows] != codes[graph.columns]].sum())


def arcs_of(rows, columns, steps, n):
    """Return a graph in the form that `least_side` takes."""
    arcs = sp.csr_array((steps, (rows, columns)), shape=(n, n))
    return sp.csr_array(arcs + arcs.T)


def least_codes(network, ends, n):
    """Return the parts of a least cut, without noise."""
    side = np.zeros(n, dtype=np.int8)
    side[ends[0]], side[ends[1]] = 1, -1
    return (~least_side(network, np.zeros(n, dtype=np.int64), side)).astype(np.int64)


def network_of(graph):
    """Return the true graph in whole steps of 1."""
    return arcs_of(graph.rows, graph.columns, graph.weights.astype(np.int64), graph.n)


def noisy_network(graph, epsilon, seed):
    """Return the noisy matrix of a release as a network, without what is below 0."""
    noise = "laplace" if graph.weighted else "binary"
    options = {"noise": noise, "mechanism": "randomized-response", "fit": "none", "seed": seed}
    matrix = gc.release_graph(graph, epsilon=epsilon, **options).noisy.estimate()
    rows, columns = np.nonzero(np.triu(matrix > 0, 1))
    steps = np.rint(matrix[rows, columns] * _MATRIX_STEPS).astype(np.int64)
    return arcs_of(rows, columns, steps, graph.n)


def compared(graph, epsilon):
    """Return optima, and the excess weight of our cuts and the matrix's: one number a run."""
    optima, ours, noisy_costs = [], [], []
    true = network_of(graph)
    pairs = [(first[0], second[0]) for first, second in terminals_of(graph)]
    least = [cost(graph, least_codes(true, ends, graph.n)) for ends in pairs]
    for seed in range(RUNS):
        noisy = noisy_network(graph, epsilon, seed)
        for ends, best in zip(pairs, least, strict=True):
            cut = gc.least_cut(graph, *map(np.ndarray.tolist, ends), epsilon=epsilon, seed=seed)
            optima.append(best)
            ours.append(cost(graph, cut.codes) - best)
            noisy_costs.append(cost(graph, least_codes(noisy, ends, graph.n)) - best)
    return np.array(optima), np.array(ours), np.array(noisy_costs)


def isolating(graph, ends, epsilon, source):
    """Cut by the binary digits of the terminals on all vertices, then each alone in its region."""
    rate, n = Fraction(epsilon) / 6, graph.n
    network = network_of(graph)

    def cut(first, second, region=None):
        side = np.zeros(n, dtype=np.int8) if region is None else np.where(region, 0, -1)
        side = side.astype(np.int8)
        for group, value in ((first, 1), (second, -1)):
            for rows in group:
                side[rows] = value
        return least_side(network, sample_discrete_laplace(rate, n, source), side)

    part = np.zeros(n, dtype=np.int64)
    for bit in (1, 0):
        second = [rows for number, rows in enumerate(ends) if number >> bit & 1]
        first = [rows for number, rows in enumerate(ends) if not number >> bit & 1]
        part = 2 * part + ~cut(first, second)
    codes = np.full(n, len(ends) - 1)
    for number, rows in enumerate(ends):
        codes[cut([rows], [], part == number)] = number
    return part, codes


def several(table, name, graph, epsilon):
    """Compare methods on four terminals."""
    n = graph.n
    labels = [0, n // 4, n // 2, 3 * n // 4]
    ends = rows_of_terminals(graph.vertices, labels)
    no_noise = CutRates(**dict.fromkeys(("cut", "across", "terminal", "between"), Fraction(60)))
    grid = grid_of_cuts(graph, Fraction(epsilon) / 2)
    options = {"terminal_rows": ends, "grid": grid}
    exact = [
        measure_cut(graph, SeededEntropy(0), rates=no_noise, **options).codes,
        *isolating(graph, ends, 360, SeededEntropy(0)),  # of rate 60 there is no noise
    ]
    best = min(cost(graph, codes) for codes in exact)
    runs = [[], [], []]
    job = cut_job(graph, *labels, epsilon=epsilon)
    for seed in range(5):
        halved = job.run(graph, SeededEntropy(seed)).codes
        digits, parallel = isolating(graph, ends, epsilon, SeededEntropy(seed))
        for excesses, codes in zip(runs, (halved, digits, parallel), strict=True):
            excesses.append(cost(graph, codes) - best)
    table.row(
        name, n, best, *(value for excesses in runs for value in (np.mean(excesses), max(excesses)))
    )


def large(epsilon):
    """Time and memory of a sparse graph of a million vertices."""
    n, edges = _LARGE
    random = np.random.default_rng(37)
    rows, columns = random.integers(0, n, (2, edges + edges // 50))
    is_edge = np.flatnonzero(rows != columns)[:edges]
    rows, columns = rows[is_edge], columns[is_edge]
    table = Table("weights:<14 epsilon:>8 seconds:>9,.0f GB,_peak:>9,.1f part_of_s:>12,d")
    for name, weights in (("none", None), ("lognormal, 10", random.lognormal(1.8, 1, len(rows)))):
        options = {} if weights is None else {"weights": np.ceil(weights), "max_weight_change": 1}
        graph = gc.Graph(rows, columns, vertices=n, **options)
        for share in (1, 0.1):
            seconds, cut = timed(
                lambda g=graph, e=share * epsilon: gc.least_cut(g, 0, 1, epsilon=e, seed=0)
            )
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            table.row(name, share * epsilon, seconds, peak, cut.sizes[0])


def main(quick: bool, epsilon: float, table: int) -> None:
    """Print the tables, or one of them."""
    sizes = SIZES[:1] if quick else SIZES
    if table in (0, 1):
        form = "graph:<16 n:>6,d weights:>8 edges:>9,d optimum:>9,.0f above:>8,.1f worst:>8,.0f "
        form += "matrix:>10,.1f worst:>8,.0f n/epsilon:>10,.0f"
        shown, sums = Table(form, title=f"epsilon = {epsilon:g}"), {}
        for name, make in GENERATORS.items():
            for n in sizes:
                plain = make(n)
                for weighted in (False, True):
                    graph = weights_for(plain) if weighted else plain
                    optima, ours, noisy_costs = compared(graph, epsilon)
                    row = [
                        optima.mean(),
                        ours.mean(),
                        ours.max(),
                        noisy_costs.mean(),
                        noisy_costs.max(),
                    ]
                    words = "1 to .." if weighted else "none"
                    shown.row(name, n, words, len(graph.rows), *row, n / epsilon)
                    key = weighted, n
                    sums.setdefault(key, []).append((ours.mean(), noisy_costs.mean(), n / epsilon))
        print()
        form = "all_graphs:<16 n:>6,d above:>8,.1f median:>8,.1f matrix:>10,.1f median:>8,.1f "
        shown = Table(form + "not_worse_on:>14 worst_of_n/epsilon:>20,.2f")
        for (weighted, n), results in sorted(sums.items()):
            ours, noisy_costs, bound = np.array(results).T
            name = "weights" if weighted else "no weights"
            both = [
                value for kind in (ours, noisy_costs) for value in (kind.mean(), np.median(kind))
            ]
            least = f"{np.count_nonzero(ours <= noisy_costs)} of {len(ours)}"
            shown.row(name, n, *both, least, (ours / bound).max())
    if table in (0, 2):
        print()
        form = "four_terminals:<16 n:>6,d best:>8,.0f halving:>9,.1f worst:>7,.0f "
        form += "digits:>9,.1f worst:>7,.0f isolating:>10,.1f worst:>7,.0f"
        shown = Table(form, title=f"epsilon = {epsilon:g}, no weights")
        for name, make in GENERATORS.items():
            for n in sizes[:3]:
                several(shown, name, make(n), epsilon)
    if table in (0, 3) and not quick:
        print()
        large(epsilon)


if __name__ == "__main__":
    run(main, __doc__, epsilon=1.0, table=0)
