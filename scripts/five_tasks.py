"""Five tasks of people who are new here, with the commands that each takes: two at most.

`python scripts/five_tasks.py [FOLDER]` makes the files that they would have, runs their commands
there, and shows what is left. It fails where a command fails, or a result is missing.
"""

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.cli.console import out

PROGRAM = (sys.executable, "-m", "graphcuts_dp")
SERVED = "--graph", "mail.csv", "--vertices", "staff.txt", "--budget", "4", "--port", "0"

# Who, what is wanted, the commands, and files that must be there afterwards.
TASKS = (
    (
        "analyst",
        "a table of trips by month and region, with errors and a chart, from a messy table",
        (
            (
                "plan --n 60 --groups 6 --counting rows --periods 2026-01..2026-03 --by month"
                " --epsilon 1 --protect rows --queries 1"
            ),
            (
                "flows trips.csv zones.csv by-month.csv --epsilon 1 --kind directed"
                " --columns source=origin,target=destination,period=date,on-bad=skip"
                " --periods 2026-01..2026-03 --groups-columns vertex=zone,levels=region"
                " --vertices zones.txt --plot by-month.png"
            ),
        ),
        ("by-month.csv", "by-month.png"),
    ),
    (
        "network researcher",
        "a synthetic graph instead of the private one, and how far its cuts are off",
        (
            "release mail.csv synthetic.graphml --epsilon 2 --vertices staff.txt",
            "evaluate mail.csv synthetic.graphml --vertices staff.txt --plot errors.png",
        ),
        ("synthetic.graphml", "errors.png"),
    ),
    (
        "curator",
        "answers that are at most 40 edges off, and a store that keeps count",
        (
            "plan --n 100 --edges 800 --queries 20 --epsilon 1 --target-error 40",
            "session start mail.csv --vertices staff.txt --store mail.db --epsilon 3 --queries 20",
        ),
        ("mail.db",),
    ),
    (
        "theorist",
        "a theorem, measured beside its bound, and an audit of a mechanism",
        ("figures laplace-tail --quick -o figures", 'audit "response, binary" --quick --seed 1'),
        ("figures/laplace_tail.png",),
    ),
    (
        "platform engineer",
        "a server, and a person who may use it",
        (
            f"serve team.db {' '.join(SERVED)}",
            "serve access add team.db ann --epsilon 1 --queries 1000",
        ),
        ("team.db", "team.db-token"),
    ),
)


def make_files(folder: Path) -> None:
    """What these people have: mail of a hundred people, and trips between sixty zones."""
    random = np.random.default_rng(7)
    people = [f"p{number}" for number in range(100)]
    pairs = {tuple(sorted(random.choice(100, 2, replace=False))) for _ in range(800)}
    mail = "".join(f"{people[a]},{people[b]}\n" for a, b in sorted(pairs))
    (folder / "mail.csv").write_text(f"from,to\n{mail}")
    (folder / "staff.txt").write_text("".join(f"{name}\n" for name in people))
    zones = [f"zone {number}" for number in range(60)]
    (folder / "zones.txt").write_text("".join(f"{zone}\n" for zone in zones))
    regions = "".join(f"{zone},region {number % 6}\n" for number, zone in enumerate(zones))
    (folder / "zones.csv").write_text(f"zone,region\n{regions}")
    trips = [
        f"{zones[a]};{zones[b]};2026-{month:02}-{day:02}"
        for a, b, month, day in random.integers([0, 0, 1, 1], [60, 60, 4, 29], (20_000, 4))
    ]
    trips[5], trips[9] = "zone 3;;2026-01-03", "zone 3;zone 999;2026-01-03"
    (folder / "trips.csv").write_text("\r\n".join(["origin;destination;date", *trips, ""]))


def run_command(words: str, folder: Path) -> None:
    """Run one command as typed; a server until it listens.

    Raises:
        SystemExit: it failed.
    """
    line = [*PROGRAM, *shlex.split(words)]
    allowed = {0}
    with subprocess.Popen(line, cwd=folder, stdout=subprocess.PIPE, text=True) as running:  # noqa: S603
        for told in running.stdout or ():
            out.print("    " + told.rstrip(), markup=False, highlight=False)
            if told.startswith("listening on"):
                running.terminate()
                allowed.add(130)  # before it is ready to end in good order
    if running.returncode not in allowed:
        sys.exit(f"failed with status {running.returncode}: {words}")


def main(folder: Path) -> None:
    """All tasks in a folder."""
    make_files(folder)
    for who, wanted, commands, results in TASKS:
        out.print(f"\n{who}: {wanted}", markup=False)
        for words in commands:
            out.print(f"  graphcuts-dp {words}", markup=False, highlight=False)
            run_command(words, folder)
        missing = [name for name in results if not (folder / name).exists()]
        if missing:
            sys.exit(f"{who} has no {', '.join(missing)}")
    out.print(f"\nversion {gc.__version__}: five tasks, ten commands, nothing missing")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as made:
            main(Path(made))
