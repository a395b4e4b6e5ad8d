"""Time rows with users in Parquet: bounded cells, beside the unbounded group-by.

Makes a table of trips (who, from, to, day, paid) in a folder of Parquet files: users are integers,
of whom a few have many rows; zones are text; days lie in a year. Then each way to cells of zones by
month runs in a process of its own, from the files on: a group-by of DuckDB that reads them itself,
and for each counting `Rows.read` with nobody bounded, with everybody scaled down to k, or with k
rows of each user chosen. Imports are not timed. Wanted: at most 4 GB, and for rows at most 5 times
the processors' seconds of the group-by.

    python -m scripts.bench.bench_rows [--quick] [--rows 100000000] [--users 10000000] [--k 20]
        [--folder FOLDER]
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from graphcuts_dp.schema.counting import STEPS
from scripts.bench import harness

ZONES, PERIODS = 200, 12
PART = 5 * 10**6  # rows of a file
MOST_GB, MOST_TIMES = 4.0, 5.0
GROUP_BY = {  # what DuckDB counts in a cell
    "rows": "count(*)",
    "weight": "sum(paid)",
    "users": "count(distinct who)",
}
UNBOUNDED = "engine.unbounded_cells(rows.coded_table(), rows.shape_of_cells())"
SCALED = "rows.cells(gc.PrivacyUnit.user(max_contributions={k}), whole=False)"
CHOSEN = "rows.cells(gc.PrivacyUnit.user(max_contributions={k}), whole=True)"
WAYS = {  # what is counted, and how; None: by a group-by of DuckDB
    "group-by": ("rows", None),
    "unbounded": ("rows", UNBOUNDED),
    "scaled": ("rows", SCALED),
    "chosen": ("rows", CHOSEN),
    "group-by of weights": ("weight", None),
    "unbounded weights": ("weight", UNBOUNDED),
    "scaled weights": ("weight", SCALED),
    "group-by of users": ("users", None),
    "unbounded users": ("users", UNBOUNDED),
    "scaled users": ("users", SCALED),
}
OURS = """
import pyarrow.parquet
import graphcuts_dp as gc
from graphcuts_dp.graph import engine, row_store
row_store.memory_limit = lambda: {memory} * 4 // 3  # of which DuckDB takes three quarters
def work():
    rows = gc.Rows.read(
        {folder!r},
        columns=gc.Columns(source="from", target="to", user="who", period="day", weight={weight}),
        vertices=[f"zone {{place:03d}}" for place in range({zones})],
        periods="2026-01..2026-{periods:02d}",
        kind="directed",
        counting={counting!r},
    )
    steps = {call}.steps
    return len(steps), int(steps.sum()) / {grid}
"""
PEER = """
import duckdb
options = {{"memory_limit": "{memory}B", "preserve_insertion_order": False}}
connection = duckdb.connect(config=options)
connection.execute("set enable_progress_bar = false")
def work():
    return connection.execute('''
        select count(*), sum(amount) from (
            select month(day), "from", "to", {amount} as amount
            from read_parquet('{folder}/*.parquet') group by all
        )
    ''').fetchone()
"""
TIMED = """
import re, time
from pathlib import Path
start, processors = time.perf_counter(), time.process_time()
cells, amount = work()
print(time.perf_counter() - start, time.process_time() - processors)
# Of this process alone: what getrusage tells is that of its parent, too.
print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1], cells, amount)
"""


def write(folder, rows, users):
    """Write the table, the same for the same sizes, if it is missing."""
    names = pa.array([f"zone {zone:03d}" for zone in range(ZONES)])
    for part, start in enumerate(range(0, rows, PART)):
        file, count = folder / f"part-{part:04d}.parquet", min(PART, rows - start)
        if file.exists():
            continue
        rng = np.random.default_rng((users, part))
        user = (users * rng.random(count) ** 2).astype(np.int64)
        home = user * 2654435761 % ZONES  # a trip in two begins at home
        begin = np.where(rng.random(count) < 0.5, home, rng.integers(0, ZONES, count))
        end = (ZONES * rng.random(count) ** 2).astype(np.int64)
        day = np.datetime64("2026-01-01") + rng.integers(0, 365, count)
        columns = {"who": user, "from": names.take(begin), "to": names.take(end), "day": day}
        pq.write_table(pa.table(columns | {"paid": rng.exponential(3.0, count)}), file)


def run(name, folder, k, memory):
    """Return seconds, those of processors, gigabytes, cells and amount, in a process of its own."""
    counting, call = WAYS[name]
    code = (PEER if call is None else OURS).format(
        call=(call or "").format(k=k),
        amount=GROUP_BY[counting],
        counting=counting,
        weight="'paid'" if counting == "weight" else None,
        folder=str(folder),
        memory=memory,
        zones=ZONES,
        periods=PERIODS,
        grid=STEPS,
    )
    done = subprocess.run(
        [sys.executable, "-c", code + TIMED], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{name} failed")
    seconds, work, kilobytes, cells, amount = map(float, done.stdout.split())
    return seconds, work, kilobytes / 1e6, cells, amount


def main(quick, rows, users, k, folder, memory):
    """Run 10^6 rows, or 10^8."""
    if quick:
        rows, users = rows // 100, users // 100
    with tempfile.TemporaryDirectory() as temporary:
        table_folder = Path(folder or temporary) / f"rows-{rows}-{users}"
        table_folder.mkdir(exist_ok=True, parents=True)
        began = time.perf_counter()
        write(table_folder, rows, users)
        size = sum(file.stat().st_size for file in table_folder.iterdir()) / 1e9
        print(
            f"{rows:,} rows of {users:,} users, k = {k}, {size:.2f} GB of Parquet, written in "
            f"{time.perf_counter() - began:.0f} s; {os.getloadavg()[0]:.1f} busy"
        )
        table = harness.Table(
            "way:<20 seconds:>9.1f times:>7.1f of_processors:>15.1f times:>7.1f GB:>7.2f "
            "cells:>11,.0f kept:>8.3f"
        )
        worst, largest = 0.0, 0.0
        reference = {}
        for name, (counting, _) in WAYS.items():
            seconds, work, gigabytes, cells, amount = run(name, table_folder, k, memory)
            first = reference.setdefault(counting, (seconds, work, amount))
            times, kept_share = seconds / first[0], amount / first[2]
            table.row(name, seconds, times, work, work / first[1], gigabytes, cells, kept_share)
            largest = max(largest, gigabytes)
            if counting == "rows":
                worst = max(worst, work / first[1])
    print(f"at most {worst:.1f} times (wanted {MOST_TIMES:g}), {largest:.2f} GB ({MOST_GB:g})")
    return 0 if quick else int(worst > MOST_TIMES or largest > MOST_GB)


if __name__ == "__main__":
    harness.run(main, __doc__, rows=10**8, users=10**7, k=20, folder="", memory=3 * 10**9)
