"""Time a million vertices at the command line: a release, and 10^5 answers.

A simulated graph of 10^7 edges with lognormal weights and 100 public groups, each of which a second
public column cuts into two halves, lies in a Parquet file. `graphcuts-dp release` reads it and
writes the release; `graphcuts-dp answer` reads 10^5 queries from a table: between groups, halves
and unions of these. Once the halves are levels of the groups that were measured, once only the
groups were, and a table given to `answer` tells the halves.

Random halves that no column names are asked from Python: 10^5 of them would be 10^11 bits.

Without public groups a release looks for communities, which takes longest where there are none: so
edges with ends at random are released as well, 10^7 of 10^6 vertices and 2.5*10^7 of 5*10^6.

Rows with users stay in a folder of Parquet files, where the engine bounds and merges them: 5*10^6
of 10^6 vertices, and 5*10^7 of 10^7.

    python -m scripts.bench.bench_million [--quick]
"""

import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import graphcuts_dp as gc
from scripts.bench import harness
from scripts.bench.bench_sparse import grouped_graph

GROUPS = 100
ALONE = ((10**6, 10**7), (5 * 10**6, 25 * 10**6))  # vertices and edges without communities
ROWS = ((10**6, 5 * 10**6), (10**7, 5 * 10**7))  # vertices and rows with users
PART = 5 * 10**6  # rows of a file
OPTIONS = ["--epsilon", "1", "--mechanism", "sparse", "--max-weight-change", "1", "--uncounted"]
IN_ENGINE = [
    *("--epsilon", "1", "--mechanism", "sparse", "--uncounted", "--data-name", "rows"),
    *("--columns", "source=from,target=to,user=who", "--privacy-unit", "user:max-contributions=20"),
]


def write(folder, n, degree, queries):
    """Write the edges, the groups, and the queries."""
    graph, codes = grouped_graph(n, degree, 20, 0, groups=GROUPS)
    edges = {"source": graph.rows, "target": graph.columns, "weight": graph.weights}
    pq.write_table(pa.table(edges), folder / "calls.parquet")
    rng = np.random.default_rng(9)
    half = np.char.add(codes.astype(str), np.array(["a", "b"])[rng.integers(0, 2, n)])
    rows = zip(range(n), codes.tolist(), half.tolist(), strict=True)
    lines = [f"{v},r{group},r{of}\n" for v, group, of in rows]
    (folder / "halves.csv").write_text("vertex,region,half\n" + "".join(lines))
    pairs = [line.rsplit(",", 1)[0] + "\n" for line in lines]
    (folder / "regions.csv").write_text("vertex,region\n" + "".join(pairs))

    def some(most):
        codes = rng.integers(0, GROUPS, rng.integers(1, most + 1))
        return ",".join(f"@r{code}{'ab'[rng.integers(2)] * rng.integers(2)}" for code in codes)

    kinds = [(1, 1)] * 6 + [(20, 20)] * 2 + [(50, 0)] * 2
    sizes_of_queries = [kinds[i % 10] for i in range(queries)]
    text = [f'"{some(a)}","{some(b) if b else ""}"\n' for a, b in sizes_of_queries]
    (folder / "cuts.csv").write_text("S,T\n" + "".join(text))
    return len(graph.rows)


def write_alone(path, n, edges):
    """Write edges with random ends and lognormal weights of mean 20."""
    rng = np.random.default_rng(0)
    ends = {"source": rng.integers(0, n, edges), "target": rng.integers(0, n, edges)}
    weights = np.maximum(np.rint(rng.lognormal(math.log(20) - 0.5, 1, edges)), 1)
    is_edge = ends["source"] != ends["target"]
    pq.write_table(pa.table(ends | {"weight": weights}).filter(pa.array(is_edge)), path)


def write_rows(folder, n, rows):
    """Write rows of users and two different ends; a few users have many rows."""
    for start in range(0, rows, PART):
        rng = np.random.default_rng((n, start))
        count = min(PART, rows - start)
        who, first = ((n * rng.random(count) ** 2).astype(np.int64) for _ in range(2))
        second = (first + 1 + (50 * rng.random(count) ** 2).astype(np.int64)) % n
        table = pa.table({"who": who, "from": first, "to": second})
        pq.write_table(table, folder / f"part-{start:010d}.parquet")


def run(folder, name, *arguments):
    """Run a command; print its seconds and its largest memory."""
    start = time.perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-m", "graphcuts_dp", *arguments],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    errors = child.stderr.read().decode()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(errors)
    seconds, work = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
    print(
        f"{name:44s}{seconds:8.0f} s{work:10.0f} s of processors{usage.ru_maxrss / 1e6:8.2f} GB",
        flush=True,
    )


def main(quick):
    """Run 20,000 vertices and 2,000 queries, or a million and 10^5."""
    n, queries = (20_000, 2_000) if quick else (10**6, 10**5)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        edges = write(folder, n, 20, queries)
        print(f"n = {n:,}, {edges:,} edges, {queries:,} queries; {os.getloadavg()[0]:.1f} busy")
        release = ["release", "calls.parquet"]
        options = [*OPTIONS, "--vertices", str(n), "--groups"]
        levels = ["halves.csv", "--groups-columns", "levels=region/half"]
        run(folder, "release, 100 groups", *release, "groups.npz", *options, "regions.csv")
        run(folder, "release, 200 halves of them", *release, "halves.npz", *options, *levels)
        ask = ["--queries", "cuts.csv", "-o"]
        run(folder, "answer, halves measured", "answer", "halves.npz", *ask, "a.csv")
        group_options = ["--groups", *levels]
        run(
            folder, "answer, groups measured", "answer", "groups.npz", *ask, "b.csv", *group_options
        )
        made_of = gc.Release.load(folder / "groups.npz", graph=False)
        rng = np.random.default_rng(1)
        halves = [gc.CutQuery(rng.random(n) < 0.5) for _ in range(20)]
        start = time.perf_counter()
        made_of.answer_all(halves)
        seconds_each = (time.perf_counter() - start) / len(halves)
        print(f"random halves of all vertices: {1e3 * seconds_each:.0f} ms each")
        for vertices, count in ((n, 10 * n),) if quick else ALONE:
            write_alone(folder / "alone.parquet", vertices, count)
            title = f"release, no groups, {vertices:,} and {count:,}"
            release = ["release", "alone.parquet", f"alone-{count}.npz", *OPTIONS]
            run(folder, title, *release, "--vertices", str(vertices))
        for vertices, count in ((n, 5 * n),) if quick else ROWS:
            table_folder = folder / f"rows-{count}"
            table_folder.mkdir()
            write_rows(table_folder, vertices, count)
            title = f"release, rows, {vertices:,} and {count:,}"
            release = ["release", str(table_folder), f"{table_folder}.npz", *IN_ENGINE]
            run(folder, title, *release, "--vertices", str(vertices))


if __name__ == "__main__":
    harness.run(main, __doc__)
