"""Rows with owners in Parquet: seconds and memory of bounded cells, beside the unbounded group-by.

Makes a table of trips (who, from, to, day, paid) in a folder of Parquet files: owners are integers,
of whom a few have many rows; zones are text; days lie in a year. Then each way to cells of zones by
month runs in a process of its own: nobody bounded, everybody scaled down to k rows, k rows of each
owner chosen, and likewise of weights and of owners. Wanted: at most 4 GB, and for rows at most 5
times the processors' seconds of the unbounded group-by.

    python -m scripts.bench.bench_rows [--quick] [--rows 100000000] [--owners 10000000] [--k 20]
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

from scripts.bench import harness

ZONES, PERIODS = 200, 12
PART = 5 * 10**6  # rows of a file
MOST_GB, MOST_TIMES = 4.0, 5.0
WAYS = {  # what is counted, and how
    "unbounded": ("rows", "cells(table, shape)"),
    "scaled": ("rows", "scaled_cells(table, shape, at_most={k})"),
    "chosen": ("rows", "kept_cells(table, shape, at_most={k})"),
    "unbounded weights": ("weight", "cells(table, shape)"),
    "scaled weights": ("weight", "scaled_cells(table, shape, at_most={k})"),
    "unbounded owners": ("owners", "cells(table, shape)"),
    "scaled owners": ("owners", "scaled_cells(table, shape, at_most={k})"),
}
WORK = """
import time
from graphcuts_dp.graph.engine import *
from graphcuts_dp.graph.engine_tables import Engine, Shape
labels = [f"zone {{place:03d}}" for place in range({zones})]
shape = Shape(counting={counting!r}, unordered=False, loops=True, source="from", target="to",
              owner="who", period="day", weight="paid", by="month", labels=(labels, labels),
              periods=tuple(f"2026-{{month:02d}}" for month in range(1, {periods} + 1)))
with Engine({folder!r}, memory={memory}) as engine:
    table = engine.table
    start, work = time.perf_counter(), time.process_time()
    found = {call}
    print(time.perf_counter() - start, time.process_time() - work)
    print(len(found.steps), int(found.steps.sum()))
"""


def write(folder, rows, owners):
    """The table, the same for the same sizes, if it is not there."""
    names = pa.array([f"zone {place:03d}" for place in range(ZONES)])
    for part, start in enumerate(range(0, rows, PART)):
        file, count = folder / f"part-{part:04d}.parquet", min(PART, rows - start)
        if file.exists():
            continue
        rng = np.random.default_rng((owners, part))
        owner = (owners * rng.random(count) ** 2).astype(np.int64)
        home = owner * 2654435761 % ZONES  # a trip in two begins at home
        begin = np.where(rng.random(count) < 0.5, home, rng.integers(0, ZONES, count))
        end = (ZONES * rng.random(count) ** 2).astype(np.int64)
        day = np.datetime64("2026-01-01") + rng.integers(0, 365, count)
        columns = {"who": owner, "from": names.take(begin), "to": names.take(end), "day": day}
        pq.write_table(pa.table(columns | {"paid": rng.exponential(3.0, count)}), file)


def run(name, folder, k, memory):
    """Seconds, those of processors, gigabytes, cells and steps of a way, in its own process."""
    counting, call = WAYS[name]
    code = WORK.format(
        counting=counting,
        call=call.format(k=k),
        folder=str(folder),
        memory=memory,
        zones=ZONES,
        periods=PERIODS,
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as child:
        printed = child.stdout.read().decode().split()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{name} failed")
    seconds, work, cells, steps = map(float, printed)
    return seconds, work, usage.ru_maxrss / 1e6, cells, steps


def main(quick, rows, owners, k, folder, memory):
    """10^6 rows, or 10^8."""
    if quick:
        rows, owners = rows // 100, owners // 100
    with tempfile.TemporaryDirectory() as made:
        place = Path(folder or made) / f"rows-{rows}-{owners}"
        place.mkdir(exist_ok=True, parents=True)
        began = time.perf_counter()
        write(place, rows, owners)
        size = sum(file.stat().st_size for file in place.iterdir()) / 1e9
        print(
            f"{rows:,} rows of {owners:,} owners, k = {k}, {size:.2f} GB of Parquet, written in "
            f"{time.perf_counter() - began:.0f} s; {os.getloadavg()[0]:.1f} busy"
        )
        table = harness.Table(
            "way:<20 seconds:>9.1f times:>7.1f of_processors:>15.1f times:>7.1f GB:>7.2f "
            "cells:>11,.0f kept:>8.3f"
        )
        worst, largest = 0.0, 0.0
        whole = {}
        for name, (counting, _) in WAYS.items():
            seconds, work, gigabytes, cells, steps = run(name, place, k, memory)
            first = whole.setdefault(counting, (seconds, work, steps))
            times, kept = seconds / first[0], steps / first[2]
            table.row(name, seconds, times, work, work / first[1], gigabytes, cells, kept)
            largest = max(largest, gigabytes)
            if counting == "rows":
                worst = max(worst, work / first[1])
    print(f"at most {worst:.1f} times (wanted {MOST_TIMES:g}), {largest:.2f} GB ({MOST_GB:g})")
    return 0 if quick else int(worst > MOST_TIMES or largest > MOST_GB)


if __name__ == "__main__":
    harness.run(main, __doc__, rows=10**8, owners=10**7, k=20, folder="", memory=3 * 10**9)
