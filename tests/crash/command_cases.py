"""Every command that writes: its inputs, its command line, and the files that it should write."""

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
    answers_release,
    distance_answers,
    flow_table,
    iterative_release,
    net_release,
    partition,
    release,
    sample_graph,
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
    """A command line.

    Attributes:
        line: words of the command, run in a folder with the files of `inputs`.
        written: names of files in groups that are written together, each with its receipt last.
        replaces: whether `--force` allows to replace them.
        typed: text on standard input.
    """

    line: str
    written: tuple[str, ...]
    replaces: bool = True
    typed: str = ""

    @property
    def outputs(self) -> list[list[str]]:
        """The names of files, by group."""
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
    sample_graph(OLDER).write(folder / "in.csv")
    (folder / "map.csv").write_text("source,target\n0,1\n1,2\n")
    (folder / "people.csv").write_text("vertex,people\n1,20\n2,20\n")
    (folder / "staff.csv").write_text("vertex,half\n0,a\n1,a\n2,a\n3,b\n4,b\n5,b\n")
    (folder / "q.jsonl").write_text("".join(json.dumps(query) + "\n" for query in QUERIES))
    CASES["release"].save(folder, OLDER, force=False)
    source = {"path": str(folder / "in.csv")}
    with session_of(
        sample_graph(OLDER), store=folder / "mail.db", epsilon=5.0, queries=50, source=source
    ) as session:
        session.ask_all([gc.CutQuery(query["S"], query.get("T")) for query in QUERIES])
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def prepare(folder: Path, files: dict[str, bytes]) -> None:
    """Write files into a new folder; stores, which hold secrets, are for their owner only."""
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
        if name.endswith(".db"):
            (folder / name).chmod(0o600)


class CommandResult(NamedTuple):
    """Exit status and output of a command."""

    status: int
    out: str
    err: str


def call(folder: Path, line: str, typed: str = "") -> CommandResult:
    """Run a command in this process, with a folder as its working directory."""
    state = {"GRAPHCUTS_DP_STATE": f"{folder}-state"}  # each folder is of another account
    with contextlib.chdir(folder), mock.patch.dict(os.environ, state):
        return CommandResult(*run_line(*line.split(), typed=typed))


def _small(*_: object, **__: object) -> Figure:
    return Figure(figsize=(0.1, 0.1))


def _measured(**_: object) -> Table:
    finding = Finding(statement="A", claimed=0.5, measured=0.5, tolerance=0.1, agrees=True)
    return Table(columns=("x",), rows=((1,),), parameters={}, findings=(finding,))


_TOY = FigureSpec(name="a-toy", shows="x", tests="y", measure=_measured, draw=_small)


def _quick_release(*_: object, construction: object, **__: object) -> gc.IterativeRelease:
    """Return a cached release of a construction."""
    releases = {"Net": net_release, "Answers": answers_release}
    return releases.get(type(construction).__name__, iterative_release)(NEWER)


def _quick_job(job: Job[object], *_: object, **__: object) -> object:
    """Return a cached result of a job."""
    result = {"flows": flow_table, "cut": partition}.get(job.kind)
    return release(NEWER, "spectral") if result is None else result(NEWER)


@contextlib.contextmanager
def quick_work() -> Iterator[None]:
    """Replace the computations of commands by cached results: the faults are about files."""

    def cached(result: Callable[..., object]) -> Callable[..., object]:
        return lambda *_, **__: result(NEWER)

    with contextlib.ExitStack() as patches:
        for function, replacement in {
            "cli.job_results.execute": _quick_job,
            "cli.release_iteratively.release_iteratively": _quick_release,
            "cli.distances.answer_distances": cached(distance_answers),
            "distances.answers.DistanceAnswers.plot": _small,
            "evaluation.tables.CutErrorTable.plot": _small,
            "session.session.Session.plot": _small,
        }.items():
            patches.enter_context(mock.patch(f"graphcuts_dp.{function}", replacement))
        for module in (registry, command):
            patches.enter_context(mock.patch.object(module, "FIGURES", (_TOY,)))
        yield
