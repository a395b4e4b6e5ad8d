"""Time bounded cells of rows with users in Parquet, and compare with an unbounded group-by.

The table has trips (who, from, to, day, paid) in a folder of Parquet files: users are integers, of
whom a few have many rows; zones are texts; days lie in a year. Each way to count cells of zones by
month runs in a process of its own: a group-by of DuckDB that reads the files itself, and for each
counting `Rows.read` with unbounded users, with users scaled down to k, or with k rows of each user.
Imports are not timed. Targets: at most 4 GB, and for rows at most 5 times the processor seconds of
the group-by.

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
ROWS_PER_FILE = 5 * 10**6
MOST_GB = 4.0  # of memory
MOST_TIMES = 5.0  # processor seconds over those of the group-by
# What DuckDB counts in a cell.
GROUP_BY = {
    "rows": "count(*)",
    "weight": "sum(paid)",
    "users": "count(distinct who)",
}
UNBOUNDED = "engine.unbounded_cells(rows.coded_table(), rows.shape_of_cells())"
SCALED = "rows.cells(gc.PrivacyUnit.user(max_contributions={k}), whole=False)"
CHOSEN = "rows.cells(gc.PrivacyUnit.user(max_contributions={k}), whole=True)"
# Counting, and the call of this package; None for a group-by of DuckDB.
WAYS = {
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
# Of this process alone: getrusage reports the peak of its parent if that is larger.
print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1], cells, amount)
"""


def write_table(folder: Path, rows: int, users: int) -> None:
    """Write the missing files of the table, which depends on its sizes alone."""
    names = pa.array([f"zone {zone:03d}" for zone in range(ZONES)])
    for part, start in enumerate(range(0, rows, ROWS_PER_FILE)):
        file, row_count = folder / f"part-{part:04d}.parquet", min(ROWS_PER_FILE, rows - start)
        if file.exists():
            continue
        rng = np.random.default_rng((users, part))
        user = (users * rng.random(row_count) ** 2).astype(np.int64)
        home = user * 2654435761 % ZONES  # every second trip starts at home
        source = np.where(rng.random(row_count) < 0.5, home, rng.integers(0, ZONES, row_count))
        target = (ZONES * rng.random(row_count) ** 2).astype(np.int64)
        day = np.datetime64("2026-01-01") + rng.integers(0, 365, row_count)
        columns = {"who": user, "from": names.take(source), "to": names.take(target), "day": day}
        pq.write_table(pa.table(columns | {"paid": rng.exponential(3.0, row_count)}), file)


def run_way(name: str, folder: Path, k: int, memory: int) -> tuple[float, ...]:
    """Count in a process of its own.

    Returns:
        Seconds, processor seconds, gigabytes, number of cells, and the amount in all cells.
    """
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
    completed = subprocess.run(
        [sys.executable, "-c", code + TIMED], stdout=subprocess.PIPE, text=True, check=False
    )
    if completed.returncode:
        sys.exit(f"{name} failed")
    seconds, processor_seconds, kilobytes, cells, amount = map(float, completed.stdout.split())
    return seconds, processor_seconds, kilobytes / 1e6, cells, amount


def main(quick: bool, rows: int, users: int, k: int, folder: str, memory: int) -> int:
    """Print the table, of a hundredth of the rows if `quick`; return 1 if a target is missed."""
    if quick:
        rows, users = rows // 100, users // 100
    with tempfile.TemporaryDirectory() as temporary:
        table_folder = Path(folder or temporary) / f"rows-{rows}-{users}"
        table_folder.mkdir(exist_ok=True, parents=True)
        started = time.perf_counter()
        write_table(table_folder, rows, users)
        size = sum(file.stat().st_size for file in table_folder.iterdir()) / 1e9
        print(
            f"{rows:,} rows of {users:,} users, k = {k}, {size:.2f} GB of Parquet, written in "
            f"{time.perf_counter() - started:.0f} s; {os.getloadavg()[0]:.1f} busy"
        )
        table = harness.Table(
            "way:<20 seconds:>9.1f times:>7.1f of_processors:>15.1f times:>7.1f GB:>7.2f "
            "cells:>11,.0f kept:>8.3f"
        )
        worst, largest = 0.0, 0.0
        reference = {}
        for name, (counting, _) in WAYS.items():
            seconds, processor_seconds, gigabytes, cells, amount = run_way(
                name, table_folder, k, memory
            )
            first = reference.setdefault(counting, (seconds, processor_seconds, amount))
            times, kept_share = seconds / first[0], amount / first[2]
            table.row(
                name,
                seconds,
                times,
                processor_seconds,
                processor_seconds / first[1],
                gigabytes,
                cells,
                kept_share,
            )
            largest = max(largest, gigabytes)
            if counting == "rows":
                worst = max(worst, processor_seconds / first[1])
    print(f"at most {worst:.1f} times (wanted {MOST_TIMES:g}), {largest:.2f} GB ({MOST_GB:g})")
    return 0 if quick else int(worst > MOST_TIMES or largest > MOST_GB)


if __name__ == "__main__":
    harness.run(main, __doc__, rows=10**8, users=10**7, k=20, folder="", memory=3 * 10**9)
