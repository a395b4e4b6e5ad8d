"""The query release game beside the first-order fit: cut norm of x - z, its gap, and time.

Run `python -m scripts.bench.bench_game [--quick]`. Values are over n^1.5; `cut norm` is the
certified interval of ||x - z||_C, which first-order minimises through its relaxation, and `lower`
is each method's own bound on the minimum (of the relaxation, for first-order).
"""

from functools import partial

import numpy as np

from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.measure.entries import distribution_for, randomized_response
from graphcuts_dp.privacy.noise import SeededEntropy
from graphcuts_dp.synth.base import FitProblem
from graphcuts_dp.synth.cutting_plane import query_game
from graphcuts_dp.synth.first_order import first_order
from scripts.bench.harness import Table, run, timed

METHODS = (
    first_order,
    partial(query_game, max_rounds=100),
    partial(query_game, max_rounds=300),
    partial(query_game, max_rounds=1000),
)


def noisy_problem(n: int, seed: int) -> FitProblem:
    """Binary noise at epsilon = 1 on a random graph of density 0.3."""
    rng = np.random.default_rng(seed)
    graph = Graph(*np.nonzero(np.triu(rng.random((n, n)) < 0.3, 1)), vertices=n)
    noisy = randomized_response(graph, distribution_for(graph, "binary", 1.0), SeededEntropy(seed))
    return FitProblem(noisy.blocks)


def main(quick: bool) -> None:
    """Print the table."""
    table = Table("n:>4 _fit:<13 rounds:>7 cut_norm:>16 lower:>8.4f gap:>7.1% s:>8.2f")
    for n in (60,) if quick else (60, 150, 400):
        problem = noisy_problem(n, seed=0)
        for method in METHODS[:-1] if quick or n == 400 else METHODS:
            seconds, found = timed(lambda of=method, given=problem: of(given))
            norm = cut_norm(found.matrix - problem.noisy, tolerance=0.25)
            low, high, lower = (v / n**1.5 for v in (norm.lower, norm.upper, found.lower))
            between = f"{low:.4f}-{high:.4f}"
            table.row(n, f" {found.method}", found.rounds, between, lower, found.gap, seconds)


if __name__ == "__main__":
    run(main, __doc__)
