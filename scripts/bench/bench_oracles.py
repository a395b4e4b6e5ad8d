"""Compare the oracles of the cutting-plane fit on the same noisy matrices.

Run `python -m scripts.bench.bench_oracles [--quick]`. The graphs have four equal groups, and the
noise is that of randomised response at epsilon = 1. Two oracles search for cuts that are large in
the cut norm, the third one in the normalised cut norm, so that its values are those of another
norm. The last columns recompute the cut norm of what each fit leaves, x - z, from both sides. A
row's time limit is 120 seconds, or ten with --quick; a search over it ends after its first round.
"""

from functools import partial

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.synth.base import FitProblem
from graphcuts_dp.synth.cutting_plane import cutting_plane
from graphcuts_dp.synth.separation_oracles import ORACLES
from scripts.bench.harness import Table, run, timed

GROUPS = 4
INSIDE, BETWEEN = 0.5, 0.1  # chances of edges


def planted(n: int, seed: int) -> gc.Graph:
    """Return a graph of equal groups, dense inside and sparse between them."""
    rng = np.random.default_rng([n, seed])
    group = np.arange(n) % GROUPS
    chance = np.where(group[:, None] == group, INSIDE, BETWEEN)
    return gc.Graph.of(np.triu(rng.random((n, n)) < chance, 1))


def main(quick: bool) -> None:
    """Print a line for each size, seed and oracle."""
    table = Table(
        "n:>5 seed:>5 __oracle:<12 rounds:>7 seconds:>9.1f value:>9.4g gap:>8.3f __ended:<8 "
        "cut_norm_from:>14.1f to:>9.1f"
    )
    for n in (16, 32) if quick else (16, 32, 64, 96, 120):
        for seed in (0,) if quick else (0, 1):
            graph = planted(n, seed)
            noisy = gc.release_graph(
                graph, epsilon=1.0, mechanism="randomized-response", fit="none", seed=seed
            ).noisy
            problem = FitProblem(noisy.blocks, 1.0)
            for oracle in ORACLES:
                search = partial(
                    cutting_plane, problem, oracle=oracle, time_limit=10.0 if quick else 120.0
                )
                seconds, fit = timed(search)
                left = gc.cut_norm(fit.matrix - problem.noisy)
                sizes = fit.rounds, seconds, fit.value, fit.gap
                table.row(
                    str(n), str(seed), f"  {oracle}", *sizes, f"  {fit.stopped}",
                    left.lower, left.upper,
                )  # fmt: skip


if __name__ == "__main__":
    run(main, __doc__)
