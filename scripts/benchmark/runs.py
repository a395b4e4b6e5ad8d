"""Store benchmark runs: append to a file, continue from it, and write it as a table."""

import csv
import fcntl
import gzip
import io
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO, final

from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.files import PathLike, atomic_write
from scripts.benchmark.measures import MEASURES

HEADER = {"format": "graphcuts_dp benchmark", "version": 2}
_NAMES = tuple(measure.name for measure in MEASURES)
_DIGITS = 6  # of the numbers in a table


@final
@dataclass(frozen=True, kw_only=True)
class BenchmarkRun:
    """One contender on one graph. Not private: seeded, and measured against the truth.

    Attributes:
        contender: its name.
        source: the paper, or the file that it came from.
        graph: name of the case.
        epsilon: what was given.
        delta: likewise.
        seed: number of the repetition, see `seed_of`.
        claimed_epsilon: what the method claims that it spent; None if it failed.
        claimed_delta: likewise.
        claim_holds: whether that is true as far as is known.
        audited: whether it is a contender of this package's table.
        failure: why there are no measures, in one line; else empty.
        shuffled: whether the vertices had a random order. If not (until version 1 of the file),
            those of generated graphs stood in the order of their planted groups.
        errors: by measure; those that could be had.
        versions: of the package, Python and the libraries.
    """

    contender: str
    source: str
    graph: str
    epsilon: float
    delta: float
    seed: int
    claimed_epsilon: float | None
    claimed_delta: float | None
    claim_holds: bool
    audited: bool
    failure: str
    shuffled: bool
    errors: Mapping[str, float]
    versions: str

    @property
    def key(self) -> tuple[str, str, float, int]:
        """Return what identifies a run: contender, graph, epsilon and seed."""
        return self.contender, self.graph, self.epsilon, self.seed


_PLAIN = {field.name: field.type for field in fields(BenchmarkRun) if field.name != "errors"}


@final
class RunFile:
    """An open file of runs, a line of JSON each, that one process at a time appends to.

    Attributes:
        runs: those that were there when it was opened.
    """

    def __init__(self, handle: BinaryIO, runs: Sequence[BenchmarkRun]) -> None:
        self._handle = handle
        self.runs = tuple(runs)

    def append(self, run: BenchmarkRun) -> None:
        """Write a run, on the disk before this returns.

        Raises:
            FileFormatError: the disk is full, or gone.
        """
        self._write(asdict(run))

    def _write(self, value: Mapping[str, Any]) -> None:
        try:
            self._handle.write(json.dumps(value).encode() + b"\n")
            self._handle.flush()
            os.fsync(self._handle.fileno())
        except OSError as problem:
            raise FileFormatError(f"cannot write the file of runs: {problem.strerror}") from None


@contextmanager
def open_runs(path: PathLike) -> Iterator[RunFile]:
    """Open a file of runs, or make it; the half line of a process that was killed is dropped.

    Args:
        path: of the file.

    Raises:
        FileFormatError: it is something else, damaged, or another benchmark writes to it.
    """
    try:
        handle = Path(path).open("a+b")  # noqa: SIM115  # closed below, after the lock
    except OSError as problem:
        raise FileFormatError(f"cannot write {path}: {problem.strerror}") from None
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise FileFormatError(f"another benchmark is writing to {path}") from None
        handle.seek(0)
        content = handle.read()
        complete = content[: content.rfind(b"\n") + 1]
        first = complete.partition(b"\n")[0]
        if content and not first and not json.dumps(HEADER).encode().startswith(content):
            raise FileFormatError(f"{path} is no file of benchmark runs; name another one")
        runs = _read_lines(path, complete) if complete else []
        if len(complete) < len(content):
            handle.truncate(len(complete))
        opened = RunFile(handle, runs)
        if not complete:
            opened._write(HEADER)
        yield opened


def read_runs(path: PathLike) -> list[BenchmarkRun]:
    """Read a file of runs (a half line at its end is left out) or a table of them.

    Args:
        path: lines of JSON, or .csv, or .csv.gz.

    Raises:
        FileFormatError: it is missing, damaged, or something else.
    """
    name = os.fspath(path)
    try:
        content = Path(name).read_bytes()
        if name.endswith(".gz"):
            content = gzip.decompress(content)
    except (OSError, EOFError, ValueError) as problem:
        reason = getattr(problem, "strerror", None) or "it is damaged"
        raise FileFormatError(f"cannot read {path}: {reason}") from None
    if name.endswith((".csv", ".csv.gz")):
        return _read_table(path, content)
    return _read_lines(path, content[: content.rfind(b"\n") + 1])


def write_table(runs: Iterable[BenchmarkRun], path: PathLike) -> None:
    """Write runs as a table, a line each, in order of graph, epsilon, contender and seed.

    The same runs give the same bytes. Numbers have six digits.

    Args:
        runs: what to write.
        path: .csv, or .csv.gz; replaced if it is there.

    Raises:
        FileFormatError: it cannot be written.
    """
    text = io.StringIO(newline="")
    table = csv.writer(text, lineterminator="\n")
    table.writerow([*_PLAIN, *_NAMES])
    for run in sorted(runs, key=lambda run: (run.graph, run.epsilon, run.contender, run.seed)):
        numbers = [run.errors.get(name) for name in _NAMES]
        table.writerow([_cell(getattr(run, name)) for name in _PLAIN] + [_cell(x) for x in numbers])
    content = text.getvalue().encode()
    if os.fspath(path).endswith(".gz"):
        content = gzip.compress(content, mtime=0)
    with atomic_write(path, force=True) as handle:
        handle.write(content)


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return ""
    return f"{value:.{_DIGITS}g}" if isinstance(value, float) else str(value)


def _read_lines(path: PathLike, content: bytes) -> list[BenchmarkRun]:
    lines = content.decode("utf-8", "replace").splitlines()
    try:
        if not lines or json.loads(lines[0]) != HEADER:
            raise FileFormatError(f"{path} is no file of benchmark runs; name another one")
        return [BenchmarkRun(**json.loads(line)) for line in lines[1:]]
    except (ValueError, TypeError):
        raise FileFormatError(f"{path} is damaged: a line of it is no benchmark run") from None


def _read_table(path: PathLike, content: bytes) -> list[BenchmarkRun]:
    rows = csv.DictReader(io.StringIO(content.decode("utf-8", "replace"), newline=""))
    if set(rows.fieldnames or ()) != {*_PLAIN, *_NAMES}:
        raise FileFormatError(f"{path} is no table of benchmark runs")
    try:
        return [_of_row(row) for row in rows]
    except (ValueError, TypeError, AttributeError):
        raise FileFormatError(f"{path} is damaged: a row of it is no benchmark run") from None


def _of_row(row: Mapping[str, str]) -> BenchmarkRun:
    known = {name: _value(kind, row[name]) for name, kind in _PLAIN.items()}
    errors = {name: float(row[name]) for name in _NAMES if row[name]}
    return BenchmarkRun(**known, errors=errors)


def _value(kind: Any, text: str) -> Any:
    """Return the value of a field of this type from its cell, which `_cell` wrote."""
    if kind is bool:
        return text == "yes"
    return kind(text) if kind in (str, int, float) else float(text) if text else None
