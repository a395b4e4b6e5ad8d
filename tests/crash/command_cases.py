"""Every command that writes: what it reads, what it is called with, what it should leave."""

import contextlib
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from command_runs import run_line
from matplotlib.figure import Figure
from saving_cases import (
    CASES,
    NEWER,
    OLDER,
    answered,
    asked_at_once,
    chosen,
    learnt,
    parted,
    released,
    sample,
    tabled,
)

import graphcuts_dp as gc
from graphcuts_dp import Job
from graphcuts_dp.session.session import session_of
from scripts.figures import command, registry
from scripts.figures.base import Finding, Table
from scripts.figures.registry import FigureSpec

QUERIES = [{"S": [0]}, {"S": [1, 2], "T": [4]}]


@dataclass(frozen=True)
class Command:
    """One command line.

    Attributes:
        line: words of the command, in a folder with the files of `prepare`.
        written: groups of files that appear together, the one that vouches last.
        replaces: whether `--force` allows to replace them.
        typed: what comes from the keyboard.
    """

    line: str
    written: tuple[str, ...]
    replaces: bool = True
    typed: str = ""

    @property
    def outputs(self) -> list[list[str]]:
        """The groups of files by name."""
        return [group.split() for group in self.written]


_LEARN = "release-iteratively in.csv --uncounted --epsilon 5"
_LEARNT = "r.csv.schema.json r.csv r.csv.hypothesis.npz r.csv.json"
COMMANDS = {
    "release": Command(
        "release in.csv r.csv --uncounted --epsilon 5",
        ("r.csv.schema.json r.csv r.csv.noisy.npz r.csv.json",),
    ),
    "release, iterative": Command(f"{_LEARN} r.csv", (_LEARNT,)),
    "release, net": Command(
        f"{_LEARN} r.csv --construction net --queries q.jsonl",
        (_LEARNT,),
    ),
    "release, answers": Command(
        f"{_LEARN} a.npz --construction answers --queries q.jsonl",
        ("a.npz a.npz.json",),
    ),
    "distances": Command(
        "distances map.csv people.csv --output d.csv --plot m.png --epsilon 5",
        ("d.csv d.csv.json", "m.png"),
    ),
    "flows": Command(
        "flows in.csv staff.csv t.csv --uncounted --epsilon 5",
        ("t.csv t.csv.noisy.npz t.csv.json",),
    ),
    "cuts": Command(
        "cuts in.csv c.csv --from 0 --to 5 --uncounted --epsilon 5",
        ("c.csv c.csv.arrays.npz c.csv.json",),
    ),
    "datasets": Command("datasets lesmis l.csv", ("l.csv.schema.json l.csv",)),
    "evaluate": Command("evaluate in.csv in.csv --plot e.pdf", ("e.pdf",)),
    "evaluate release": Command("evaluate release in.csv g.edges.gz --plot e.png", ("e.png",)),
    "figures": Command("figures a-toy", ("a_toy.png a_toy.pdf a_toy.csv a_toy.json",)),
    "session run": Command("session run mail.db q.jsonl -o a.jsonl", ("a.jsonl",)),
    "session export": Command("session export mail.db -o t.json", ("t.json",)),
    "session repl": Command(
        "session repl mail.db", ("p.png",), replaces=False, typed=":plot p.png\n"
    ),
}


@cache
def inputs(folder: Path) -> dict[str, bytes]:
    """The files that commands read, made once in a folder."""
    sample(OLDER).write(folder / "in.csv")
    (folder / "map.csv").write_text("source,target\n0,1\n1,2\n")
    (folder / "people.csv").write_text("vertex,people\n1,20\n2,20\n")
    (folder / "staff.csv").write_text("vertex,half\n0,a\n1,a\n2,a\n3,b\n4,b\n5,b\n")
    (folder / "q.jsonl").write_text("".join(json.dumps(query) + "\n" for query in QUERIES))
    CASES["release"].save(folder, OLDER, force=False)
    source = {"path": str(folder / "in.csv")}
    with session_of(
        sample(OLDER), store=folder / "mail.db", epsilon=5.0, queries=50, source=source
    ) as session:
        session.ask_all([gc.CutQuery(query["S"], query.get("T")) for query in QUERIES])
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def prepare(folder: Path, files: dict[str, bytes]) -> None:
    """Put files into a folder; those that hold secrets are for their owner only."""
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
        if name.endswith(".db"):
            (folder / name).chmod(0o600)


class Ended(NamedTuple):
    """How a command ended: its status, and what it said."""

    status: int
    out: str
    err: str


def call(folder: Path, line: str, typed: str = "") -> Ended:
    """Run a command in this process, in a folder."""
    state = {"GRAPHCUTS_DP_STATE": f"{folder}-state"}  # in each folder another person works
    with contextlib.chdir(folder), mock.patch.dict(os.environ, state):
        return Ended(*run_line(*line.split(), typed=typed))


def _small(*_: object, **__: object) -> Figure:
    return Figure(figsize=(0.1, 0.1))


def _measured(**_: object) -> Table:
    finding = Finding(statement="A", claimed=0.5, measured=0.5, tolerance=0.1, agrees=True)
    return Table(columns=("x",), rows=((1,),), parameters={}, findings=(finding,))


_TOY = FigureSpec(name="a-toy", shows="x", tests="y", measure=_measured, draw=_small)


def _quick_release(*_: object, construction: object, **__: object) -> gc.IterativeRelease:
    """What the construction of that class would make."""
    made = {"Net": chosen, "Answers": asked_at_once}.get(type(construction).__name__, learnt)
    return made(NEWER)


def _quick_job(job: Job[object], *_: object, **__: object) -> object:
    """What the job would make."""
    made = {"flows": tabled, "cut": parted}.get(job.kind)
    return released(NEWER, "spectral") if made is None else made(NEWER)


@contextlib.contextmanager
def quick_work() -> Iterator[None]:
    """What commands do between reading and writing takes no time: faults are about files."""

    def ready(found: Callable[..., object]) -> Callable[..., object]:
        return lambda *_, **__: found(NEWER)

    with contextlib.ExitStack() as patches:
        for place, stand_in in {
            "cli.job_results.execute": _quick_job,
            "cli.release_iteratively.release_iteratively": _quick_release,
            "cli.distances.answer_distances": ready(answered),
            "distances.answers.DistanceAnswers.plot": _small,
            "evaluation.tables.CutErrorTable.plot": _small,
            "session.session.Session.plot": _small,
        }.items():
            patches.enter_context(mock.patch(f"graphcuts_dp.{place}", stand_in))
        for module in (registry, command):
            patches.enter_context(mock.patch.object(module, "FIGURES", (_TOY,)))
        yield
