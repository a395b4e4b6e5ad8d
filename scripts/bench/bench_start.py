"""Measure the processor time of the import and of `--help`, the wait before any work.

Run `python -m scripts.bench.bench_start [--quick]`. The least of ten processes each (or three), in
turn, beside `import scipy.sparse`, which nothing here can do without. The import and a first graph
are to cost at most 1.5 times as much; tests/cli/test_start.py says what they must not load.
"""

import math
import os
import subprocess
import sys

from scripts.bench.harness import Table, run

TASKS = {
    "import scipy.sparse": ("-c", "import scipy.sparse"),
    "import graphcuts_dp": ("-c", "import graphcuts_dp"),
    "import, and make a first graph": (
        "-c",
        "import graphcuts_dp as gc; gc.Graph([0], [1], vertices=3)",
    ),
    "import, and read a list of edges": (
        "-c",
        "import graphcuts_dp as gc; gc.Graph.of([(0, 1)], vertices=2)",
    ),
    "graphcuts-dp --help": ("-m", "graphcuts_dp", "--help"),
    "graphcuts-dp release --help": ("-m", "graphcuts_dp", "release", "--help"),
}


def processor_seconds(arguments: tuple[str, ...]) -> float:
    """Return user and system time of one run of Python."""
    before = os.times()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    user_seconds = after.children_user - before.children_user
    return user_seconds + after.children_system - before.children_system


def main(quick: bool) -> None:
    """Print the table."""
    seconds = dict.fromkeys(TASKS, math.inf)
    for _ in range(3 if quick else 10):
        for task, arguments in TASKS.items():
            seconds[task] = min(seconds[task], processor_seconds(arguments))
    table = Table("task:<32 seconds:>9.2f ratio:>7.2f")
    for task, least in seconds.items():
        table.row(task, least, least / seconds["import scipy.sparse"])


if __name__ == "__main__":
    run(main, __doc__)
