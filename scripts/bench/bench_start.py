"""What one waits for before any work: processor time of the import and of `--help`.

Run `python -m scripts.bench.bench_start [--quick]`. Medians of seven processes each (or three),
one after the other, beside `import numpy, scipy.sparse`, which nothing here can do without.
"""

import os
import statistics
import subprocess
import sys

from scripts.bench.harness import Table, run

TASKS = {
    "import numpy, scipy.sparse": ("-c", "import numpy, scipy.sparse"),
    "import graphcuts_dp": ("-c", "import graphcuts_dp"),
    "import, and read a small graph": (
        "-c",
        "import graphcuts_dp as gc; gc.Graph.of([(0, 1)], vertices=2)",
    ),
    "graphcuts-dp --help": ("-m", "graphcuts_dp", "--help"),
    "graphcuts-dp release --help": ("-m", "graphcuts_dp", "release", "--help"),
}


def processor_seconds(arguments: tuple[str, ...]) -> float:
    """User and system time of one run of Python."""
    before = os.times()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    own = after.children_user - before.children_user
    return own + after.children_system - before.children_system


def main(quick: bool) -> None:
    """Print the table."""
    peer, table = 0.0, Table("task:<32 seconds:>9.2f ratio:>7.2f")
    for task, arguments in TASKS.items():
        repeats = range(3 if quick else 7)
        seconds = statistics.median(processor_seconds(arguments) for _ in repeats)
        peer = peer or seconds
        table.row(task, seconds, seconds / peer)


if __name__ == "__main__":
    run(main, __doc__)
