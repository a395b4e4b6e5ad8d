"""Time sessions on a durable ledger: batches, single questions, opening.

Targets: 200 queries a second in a batch and 50 durable single asks a second on a graph of 10^5
vertices and 10^6 edges; opening a store with 10^5 answers in under a second.
"""

import resource
import tempfile
from functools import partial
from pathlib import Path

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.session.session import open_session, session_of
from scripts.bench.harness import run, timed

METHODS = ("frieze-kannan", "gaussian")


def main(quick: bool) -> None:
    """Run all of them; --quick takes smaller graphs and fewer queries."""
    n, m = (10_000, 100_000) if quick else (100_000, 1_000_000)
    rng = np.random.default_rng(0)
    graph = gc.Graph(rng.integers(0, n, m), rng.integers(0, n, m), vertices=n)
    print(f"n = {n:,}, m = {m:,}; queries are random halves against their complements")
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for method in METHODS:
            asking(graph, Path(folder) / f"{method}.db", method, 100 if quick else 400)
        opening(Path(folder) / "many.db", 10_000 if quick else 100_000)


def asking(graph: gc.Graph, path: Path, method: str, batch: int) -> None:
    """Time durable single questions, then a batch, on one store."""
    rng, singles = np.random.default_rng(1), 60
    options = {"epsilon": 1.0, "delta": 1e-6, "queries": 10**6, "method": method}
    opening_seconds, opened = timed(partial(session_of, graph, store=path, **options))
    with opened as session:
        session.ask(rng.random(graph.n) < 0.5)
        halves = [rng.random(graph.n) < 0.5 for _ in range(singles)]
        single, _ = timed(lambda: [session.ask(half) for half in halves])
        queries = [gc.CutQuery(rng.random(graph.n) < 0.5) for _ in range(batch)]
        many, _ = timed(lambda: session.ask_all(queries))
        corrections = session.status.corrections
    print(
        f"{method:>14}: begun in {opening_seconds:.2f} s; "
        f"{singles / single:.0f} single asks a second (target 50), "
        f"{batch / many:.0f} a second in a batch (target 200), {corrections} corrections"
    )


def opening(path: Path, answers: int) -> None:
    """Time the opening of a small graph with many answers, half of them asked one by one."""
    n = 200
    rng = np.random.default_rng(2)
    graph = gc.Graph(rng.integers(0, n, 2000), rng.integers(0, n, 2000), vertices=n)
    masks = rng.random((answers, n)) < 0.5
    options = {"epsilon": 50.0, "delta": 1e-6, "queries": 10**6, "method": "gaussian"}
    with session_of(graph, store=path, **options) as session:
        seconds, _ = timed(lambda: session.ask_all([gc.CutQuery(mask) for mask in masks]))
    times = []
    for _ in range(3):
        took, opened = timed(partial(open_session, graph, store=path))
        times.append(took)
        with opened as session:
            free = session.cost([gc.CutQuery(masks[0])]).free
    size = path.stat().st_size / 2**20
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(
        f"{answers:,} answers at {answers / seconds:.0f} a second; a store of {size:.0f} MiB opens "
        f"in {np.median(times):.2f} s (target 1); first query free: {free == 1}; {memory:.0f} MiB"
    )


if __name__ == "__main__":
    run(main, __doc__)
