"""Whether the time that noise takes tells of the private graph: measured, not promised.

Run `python -m scripts.bench.bench_timing_channel [--quick]`. Each line runs a piece of code on
two inputs by turns. "neighbours" differ in one pair; "empty and full" in all of them. z is the
difference of the mean times (the slowest tenth of each left out) over its standard error: beyond 5
it would show in so many runs. Drawing noise does not look at the data, so its z stays small; adding
the edges to it takes nanoseconds an edge, as the docstrings say, and shows between graphs of very
different sizes. What is added for one pair drowns unless runs can be repeated many thousand times
on the same graphs, which each pay for in full.
"""

import gc
import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from graphcuts_dp.estimate.noisy_matrix import noise_distribution
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.measure.entries import randomized_response
from graphcuts_dp.measure.statistics import measure_degrees
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.noise import SystemEntropy, sample_discrete_laplace, sample_flips
from graphcuts_dp.session.queries import EdgeCounter
from graphcuts_dp.session.terms import SessionTerms
from scripts.bench.harness import Table, run

SOURCE = SystemEntropy()
# Name, code, and both inputs.
Case = tuple[str, Callable[[Any], object], tuple[Any, Any]]


def graph_of(pairs: int, n: int) -> Graph:
    """The first so many vertex pairs of n vertices are edges."""
    rows, columns = np.triu_indices(n, 1)
    return Graph(rows[:pairs], columns[:pairs], vertices=n)


def times(run: Callable[[Any], object], inputs: tuple[Any, Any], repeats: int) -> np.ndarray:
    """Seconds of each run, by turns in changing order, shape (2, repeats)."""
    seconds = np.empty((2, repeats))
    for _ in range(3):
        for given in inputs:
            run(given)
    gc.collect()
    gc.disable()
    try:
        for i in range(repeats):
            for side in (0, 1) if i % 2 else (1, 0):
                started = time.perf_counter()
                run(inputs[side])
                seconds[side, i] = time.perf_counter() - started
    finally:
        gc.enable()
    return seconds


def compared(seconds: np.ndarray) -> tuple[float, float, float, float]:
    """Both mean times in microseconds, their difference, and how sure it is."""
    kept = np.sort(seconds, axis=1)[:, : int(0.9 * seconds.shape[1])] * 1e6
    first, second = kept.mean(axis=1)
    error = math.sqrt(float((kept.var(axis=1) / kept.shape[1]).sum()))
    return first, second, second - first, (second - first) / error


def cases(n: int) -> list[Case]:
    """What is timed."""
    pairs = n * (n - 1) // 2
    binary, laplace = (
        noise_distribution(name, epsilon=1.0) for name in ("binary", "discrete-laplace")
    )
    neighbours = graph_of(pairs // 20, n), graph_of(pairs // 20 + 1, n)
    extremes = graph_of(0, n), graph_of(pairs, n)

    def response(distribution: NoiseDistribution) -> Callable[[Graph], object]:
        distribution = noise_distribution(distribution.name, epsilon=1.0, weight_cap=1.0)
        return lambda graph: randomized_response(graph, distribution, SOURCE)

    def degrees(graph: Graph) -> object:
        return measure_degrees(graph, binary, epsilon=Fraction(1), source=SOURCE)

    half = CutQuery(np.arange(n) < n // 2)
    step = _one_answer(n)
    found: list[Case] = [
        ("flips, drawn twice the same way", lambda _: sample_flips(Fraction(1), pairs, SOURCE),
         (None, None)),
        ("Laplace noise, drawn twice the same way",
         lambda _: sample_discrete_laplace(Fraction(1), pairs, SOURCE), (None, None)),
        ("session answer, truths 0 and 1", step, (0, 1)),
        ("session answer, truths 0 and all pairs", step, (0, pairs)),
    ]  # fmt: skip
    for kind, graphs in (("neighbours", neighbours), ("empty and full", extremes)):
        grid = Grid.of(graphs[0])
        counters = tuple(EdgeCounter(graph, grid) for graph in graphs)
        found += [
            (f"randomised response, binary, {kind}", response(binary), graphs),
            (f"randomised response, Laplace, {kind}", response(laplace), graphs),
            (f"noisy degrees, {kind}", degrees, graphs),
            (f"true count of a cut, {kind}", lambda c: c.counts([half]), counters),
        ]
    return found


def _one_answer(n: int) -> Callable[[int], object]:
    mechanism = SessionTerms.of(
        method="gaussian", epsilon=1.0, delta=1e-6, queries=10**6
    ).mechanism(Universe(n), Grid())
    state = mechanism.start(graph_of(0, n), SOURCE)
    query = CutQuery(np.arange(n) < n // 2)
    return lambda truth: mechanism.step(state, query, truth, SOURCE)


def main(quick: bool) -> None:
    """Print the table."""
    n, repeats = (100, 100) if quick else (400, 1500)
    title = f"n = {n}, {repeats} runs of each by turns; times in microseconds"
    table = Table(":<46 first:>12.1f second:>12.1f more:>+11.2f z:>+9.1f", title)
    for name, code, inputs in cases(n):
        table.row(name, *compared(times(code, inputs, repeats)))


if __name__ == "__main__":
    run(main, __doc__)
