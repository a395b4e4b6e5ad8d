"""Test whether reply times reveal that a sparse vector test fired, with ticks and without.

A session by multiplicative weights corrects its hypothesis in some steps, which takes longer. An
analyst on this machine guesses from the time of a reply whether that happened; an advantage of 0 is
a coin's, 1 is certainty. The twin has ticks of a millisecond, which are as good as none.
"""

import tempfile
import time

import numpy as np

import graphcuts_dp as gc
from scripts.bench.harness import Table, run, server


def replies(graph, tick, asks):
    """Return how long each reply took, and whether its step corrected the hypothesis."""
    n = len(graph.vertices)
    random = np.random.default_rng(5)
    measured = []
    with tempfile.TemporaryDirectory() as name:
        options = ("--budget", "50,delta=1e-3", "--rate", "100000")
        process = server(name, graph, *options, "--tick", str(tick))
        process.add("ann", preapproved=True)
        terms = {"epsilon": 40.0, "delta": 1e-4, "queries": 10 * asks}
        with gc.connect(
            process.url, process.tokens["ann"], method="multiplicative-weights", **terms
        ) as session:
            while len(measured) < asks:
                # Half of the queries tell of the planted part, which the hypothesis lacks at first.
                inside = random.random(n) < np.where(np.arange(n) < n // 4, 0.9, 0.3)
                time.sleep(random.uniform(0, 0.02))  # no rhythm of the asker's own
                start = time.perf_counter()
                answer = session.ask(inside, ~inside if len(measured) % 2 else inside)
                measured.append((time.perf_counter() - start, answer.updated))
        process.stop()
    times, corrected = map(np.array, zip(*measured, strict=True))
    return times, corrected.astype(bool)


def advantage(times, corrected):
    """Return the advantage of the best threshold, and the 95 % quantile of chance alone."""
    if corrected.all() or not corrected.any():
        return float("nan"), float("nan")
    cuts = np.unique(times)
    one, two = (np.searchsorted(np.sort(sample), cuts, "right") / len(sample)
                for sample in (times[corrected], times[~corrected]))  # fmt: skip
    by_chance = 1.36 * np.sqrt(1 / corrected.sum() + 1 / (~corrected).sum())  # 95 %, Smirnov
    return np.abs(one - two).max(), by_chance


def main(quick):
    """Run both, print a table."""
    asks, n = (100, 600) if quick else (1000, 2000)
    random = np.random.default_rng(2)
    rows, columns = random.integers(n // 4, size=(2, n * 20))
    graph = gc.Graph(rows, columns, vertices=n)
    table = Table("tick:<9g asks:>6 corrected:>11 advantage:>11.3f by_chance_(95_%):>19.3f")
    for tick in (0.1 if quick else 0.25, 0.001):
        times, corrected = replies(graph, tick, asks)
        measured_advantage, chance = advantage(times, corrected)
        table.row(tick, asks, corrected.sum(), measured_advantage, chance)


if __name__ == "__main__":
    run(main, __doc__)
