"""What a user waits for before any work: processor time of the import and of `--help`.

Run `python scripts/bench/bench_start.py [--quick]`. Medians of seven processes each (or three),
one after the other, beside `import numpy, scipy.sparse`, which nothing here can do without.
"""

import os
import statistics
import subprocess
import sys

REPEATS = 3 if "--quick" in sys.argv else 7
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


def main() -> None:
    """Print the table."""
    peer = 0.0
    print(f"{'task':32} {'seconds':>8} {'ratio':>6}")
    for task, arguments in TASKS.items():
        seconds = statistics.median(processor_seconds(arguments) for _ in range(REPEATS))
        peer = peer or seconds
        print(f"{task:32} {seconds:8.2f} {seconds / peer:6.2f}", flush=True)


if __name__ == "__main__":
    main()
