"""List five tasks of newcomers, with the commands that they took from README and `--help`.

`python scripts/first_tasks.py` runs them in an empty folder, and says how long each took. No task
needs more than two commands. {data} stands for the folder of the bundled public graphs.
"""

import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FLIGHTS = "{data}/us_flights_2008.csv --ignore-weights --public-vertices-from-file"
STATES = "{data}/us_airports_2008.csv --groups-columns vertex=airport,levels=state"
TASKS = {
    "an analyst publishes a table of flows between states, and a map of it": (
        f"flows {FLIGHTS} {STATES} flows.csv --epsilon 1 --plot flows.png",
    ),
    "a network researcher wants a graph to compute with, and to know how wrong it is": (
        f"release {FLIGHTS} synthetic.graphml --epsilon 2",
        f"evaluate graphs {FLIGHTS} synthetic.graphml",
    ),
    "a theorist checks the claims of a table of the paper": ("figures table-1 --quick -o .",),
    "a platform engineer lets a budget decide, and looks at what was spent": (
        f"session start {FLIGHTS} --store flights.db --epsilon 1 --queries 50 --budget 2",
        "session status flights.db",
    ),
    "a maintainer audits a mechanism and its incorrect variants": ('audit "noisy degrees"',),
}


def main() -> int:
    """Run all tasks; 1 if a command fails."""
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for task, commands in TASKS.items():
            began = time.monotonic()
            for command in commands:
                words = shlex.split(command.format(data=ROOT / "datasets"))
                line = [sys.executable, "-m", "graphcuts_dp", *words]
                done = subprocess.run(line, cwd=folder, check=False, capture_output=True, text=True)  # noqa: S603
                if done.returncode:
                    failed = 1
                    sys.stdout.write(f"graphcuts-dp {command}\n{done.stderr}")
            sys.stdout.write(f"{time.monotonic() - began:5.1f} s  {task}\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())
