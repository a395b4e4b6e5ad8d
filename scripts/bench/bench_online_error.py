"""Errors of online mechanisms side by side: what they guarantee, and what 300 queries measure.

Run `python -m scripts.bench.bench_online_error [--quick]`. n = 5,000, m about 50,000, room for a
million adaptive queries, epsilon = 1, delta = 1e-6. Queries are random halves, and halves chosen to
be far from the density. With --quick, n = 500.
"""

import time
from dataclasses import replace

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.noise import SeededEntropy
from graphcuts_dp.session.terms import SessionTerms
from scripts.bench.harness import Table, run
from scripts.figures.random_graphs import planted_partition

BETTER = 1.5  # least gain over the better of Gaussian noise and randomised response
METHODS = (
    ("multiplicative-weights", {}),
    ("frieze-kannan", {"disjoint": True}),
    ("gaussian", {}),
    ("binary", {"adaptive": False}),
    ("binary", {"adaptive": True}),
)


def queries(n: int, count: int) -> list[gc.CutQuery]:
    """Halves of the vertices: random ones, and ones that keep or split two planted blocks."""
    random = np.random.default_rng(0)
    found = []
    for number in range(count):
        if number % 2:
            inside = random.random(n) < 0.5
        else:
            inside = np.roll(np.arange(n) < n // 2, int(random.integers(n)))
        found.append(gc.CutQuery(inside, ~inside))
    return found


def main(quick: bool) -> None:
    """Print the table."""
    n = 500 if quick else 5000
    # Two blocks, nine tenths of the edges within them; 20 edges a vertex.
    graph = planted_partition(n, 2, 36 / n, 4 / n, seed=1)
    asked = queries(n, 60 if quick else 300)
    truths = gc.answer_all(asked, graph)
    universe, grid = Universe(graph.vertices), Grid.of(graph)
    print(
        f"n = {n:,}, m = {len(graph.rows):,}, 10^6 queries, epsilon = 1, delta = 1e-6; not private"
    )
    table = Table("method:<24 :<14 guaranteed:>11,.0f largest:>9,.0f mean:>8,.0f ms/query:>10.2f")
    guaranteed = {}
    for method, options in METHODS:
        mechanism = SessionTerms.of(
            method=method, epsilon=1.0, delta=1e-6, queries=10**6, disjoint="disjoint" in options
        ).mechanism(universe, grid)
        if "adaptive" in options:
            mechanism = replace(mechanism, adaptive=options["adaptive"])
        source = SeededEntropy(2)
        state = mechanism.start(graph, source)
        errors, radii = [], []
        started = time.perf_counter()
        for query, truth in zip(asked, truths, strict=True):
            state, answer = mechanism.step(state, query, int(truth), source)
            errors.append(abs(answer.value - truth))
            radii.append((answer.interval[1] - answer.interval[0]) / 2)
        spent = (time.perf_counter() - started) / len(asked)
        name = "".join(f"{key}={value}" for key, value in options.items())
        guaranteed[method, name] = max(radii)
        table.row(method, name, max(radii), max(errors), np.mean(errors), spent * 1e3)
    best = guaranteed["multiplicative-weights", ""]
    others = min(guaranteed["gaussian", ""], guaranteed["binary", "adaptive=False"])
    print(f"multiplicative weights guarantee {others / best:.2f} times less (target {BETTER})")


if __name__ == "__main__":
    run(main, __doc__)
