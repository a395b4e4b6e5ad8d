"""What benchmarks share: how they are started, timed and printed, and sessions of their own.

A benchmark is a script with a function `main(quick)` that prints tables.
"""

import argparse
import re
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from graphcuts_dp.session.session import session_of

Result = TypeVar("Result")


def run(main: Callable[[bool], int | None], about: str | None) -> None:
    """Start a benchmark from the command line; its status is what `main` returns.

    Args:
        main: takes whether --quick was given.
        about: docstring of the script.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--quick", action="store_true", help="the short form")
    sys.exit(main(parser.parse_args().quick))


def timed(action: Callable[[], Result]) -> tuple[float, Result]:
    """Seconds of one call, and what it returns."""
    started = time.perf_counter()
    result = action()
    return time.perf_counter() - started, result


def median_seconds(action: Callable[[], object], repeats: int, *, warm: bool = True) -> float:
    """Median time of an action, after one run to warm up."""
    if warm:
        action()
    return statistics.median(timed(action)[0] for _ in range(repeats))


class Table:
    """A table that is printed as it grows.

    Args:
        columns: "title:format" of each, parted by blanks; an underscore in a title is a blank. The
            format is that of numbers and begins with the width: ">9,.0f". Text gets the width.
        title: a line above.
    """

    def __init__(self, columns: str, title: str = "") -> None:
        pairs = [column.rpartition(":") for column in columns.split()]
        self._formats = [form for _, _, form in pairs]
        if title:
            print(title)
        print("".join(self._cell(name.replace("_", " "), form) for name, _, form in pairs).rstrip())

    def row(self, *cells: Any) -> None:
        """Print a line; None and what is missing at the end are blank."""
        shown = (self._cell(*pair) for pair in zip(cells, self._formats, strict=False))
        print("".join(shown).rstrip(), flush=True)

    @staticmethod
    def _cell(value: Any, form: str) -> str:
        if isinstance(value, str) or value is None:
            align, width = re.match(r"([<>^]?)\+?(\d+)", form).groups()
            return f"{value or '':{align}{width}}"
        return format(value, form)


class Outcome(NamedTuple):
    """What a session promised and did: the bound, and errors of the answers."""

    guaranteed: float
    largest: float
    mean: float
    median: float
    seconds: float
    norm: str


def session_errors(graph: Any, asked: Sequence[Any], **options: Any) -> Outcome:
    """Ask everything at once in a session on a store of its own, epsilon = 1, delta = 1e-6."""
    terms = {"epsilon": 1.0, "delta": 1e-6} | options
    began = time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(action="ignore"),
        session_of(graph, store=Path(folder) / "a.db", **terms) as session,
    ):
        answers = session.ask_all(asked)
        bound, norm = session.error_bound, session.norm or ""
    pairs = zip(answers, asked, strict=True)
    off = [abs(answer.value - query.value(graph)) for answer, query in pairs]
    seconds = time.perf_counter() - began
    return Outcome(bound, max(off), float(np.mean(off)), float(np.median(off)), seconds, norm)
