"""Time one more use of a store, after few uses and after many.

Run `python -m scripts.bench.bench_uses [--quick]`. Processor time of a small release that is
charged to a store: medians of 21, at the first uses and where the store already has many. The
ratio compares with the first. The store is filled by records as they would be written, without
noise, in few transactions.
"""

import statistics
import tempfile
import time
import warnings
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import graphcuts_dp as gc
from graphcuts_dp.ledger.opening import open_ledger
from graphcuts_dp.ledger.plain_values import plain
from graphcuts_dp.ledger.records import Kind
from graphcuts_dp.ledger.uses import uses_of
from scripts.bench.harness import Table, run

REPEATS = 21
USES_A_TRANSACTION = 40


def main(quick: bool) -> None:
    """Print the table."""
    graph = gc.datasets.load("karate")
    first, table = 0.0, Table("uses_before:>12, milliseconds:>13.2f ratio:>7.2f megabytes:>10.1f")
    with tempfile.TemporaryDirectory(dir=".") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "karate.db"
        for uses in (0, 100, 1000) if quick else (0, 100, 1000, 10_000):
            fill(path, uses)
            milliseconds = statistics.median(one_use(graph, path) for _ in range(REPEATS))
            first = first or milliseconds
            table.row(uses, milliseconds, milliseconds / first, path.stat().st_size / 1e6)


def one_use(graph: gc.Graph, path: Path) -> float:
    """Return processor milliseconds of a small release."""
    start = time.process_time()
    gc.release_graph(
        graph,
        epsilon=0.002,
        mechanism="randomized-response",
        fit="none",
        store=gc.Store(path, budget=50.0),
    )
    return 1000 * (time.process_time() - start)


def fill(path: Path, count: int) -> None:
    """Add copies of the first use until there are so many."""
    if not path.exists():
        return
    with closing(open_ledger(path)) as ledger, ledger.locked():
        use = uses_of(ledger)[0]
        for start in range(len(ledger.uses) + 1, count + 1, USES_A_TRANSACTION):
            with ledger.writing() as entries:
                for number in range(start, min(start + USES_A_TRANSACTION, count + 1)):
                    entries.add(Kind.BEGIN, number, plain(replace(use, number=number)))
                    body = {"measured": "", "kept": False, "completion": {}}
                    entries.add(Kind.FINISHED, number, body)


if __name__ == "__main__":
    run(main, __doc__)
