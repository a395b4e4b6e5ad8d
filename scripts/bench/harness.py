"""Start, time and print benchmarks, and run sessions for them: what all benchmarks share.

A benchmark is a script with a function `main(quick)` that prints tables.
"""

import argparse
import re
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from graphcuts_dp.session.session import session_of

Result = TypeVar("Result")


def run(main: Callable[..., int | None], about: str | None, **options: Any) -> None:
    """Start a benchmark from the command line; exit with the status that `main` returns.

    Args:
        main: called with `quick`, true if --quick was typed, and with the options.
        about: docstring of the script, which describes the options.
        options: default values of options, or the types of options without a default.
    """
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="run a short form")
    for name, default in options.items():
        kind, value = (default, None) if isinstance(default, type) else (type(default), default)
        parser.add_argument(f"--{name}", type=kind, default=value)
    sys.exit(main(**vars(parser.parse_args())))


def server(*arguments: Any) -> Any:
    """Start a server in its own process, as the tests do: a folder, a graph, and options."""
    sys.path.append(str(Path(__file__).resolve().parents[2] / "tests" / "server"))
    from processes import ServerProcess

    return ServerProcess(*arguments)


def timed(action: Callable[[], Result]) -> tuple[float, Result]:
    """Return the seconds of one call, and its result."""
    started = time.perf_counter()
    result = action()
    return time.perf_counter() - started, result


def median_seconds(action: Callable[[], object], repeats: int, *, warm: bool = True) -> float:
    """Return the median time of an action, after one run to warm up."""
    if warm:
        action()
    return statistics.median(timed(action)[0] for _ in range(repeats))


class Table:
    """A table that is printed as it grows.

    Args:
        columns: "title:format" of each column, with blanks between columns; an underscore in a
            title is printed as a blank. The format is that of numbers and begins with the width:
            ">9,.0f". Texts are printed in that width.
        title: line above the table.
    """

    def __init__(self, columns: str, title: str = "") -> None:
        pairs = [column.rpartition(":") for column in columns.split()]
        self._formats = [form for _, _, form in pairs]
        if title:
            print(title)
        print("".join(self._cell(name.replace("_", " "), form) for name, _, form in pairs).rstrip())

    def row(self, *cells: Any) -> None:
        """Print a line; None and missing cells at the end are blank."""
        shown = (self._cell(*pair) for pair in zip(cells, self._formats, strict=False))
        print("".join(shown).rstrip(), flush=True)

    @staticmethod
    def _cell(value: Any, form: str) -> str:
        if isinstance(value, str) or value is None:
            align, width = re.match(r"([<>^]?)\+?(\d+)", form).groups()
            return f"{value or '':{align}{width}}"
        return format(value, form)


class Outcome(NamedTuple):
    """The guaranteed error of a session, and the errors of its answers."""

    guaranteed: float
    largest: float
    mean: float
    median: float
    seconds: float
    norm: str


def compared_norms(
    table: Table,
    cases: Iterable[tuple[Sequence[Any], Callable[[str], Outcome]]],
    names: Sequence[str],
    norms: Sequence[str],
    error: str,
) -> int:
    """Print sessions by each name in each case; return 1 if the guarantee of `auto` is too weak.

    Args:
        table: with columns of a case, the name, and results of the session.
        cases: the first cells of a line, and a function that runs a session of a name.
        names: in the order of the lines.
        norms: `auto` is at most 5 % above the best of these.
        error: field of `Outcome` that is printed after the guaranteed and the largest error.
    """
    worst, allowed = 0.0, 1.05
    for head, session in cases:
        outcomes = {}
        for name in names:
            outcome = outcomes[name] = session(name)
            errors = (outcome.guaranteed, outcome.largest, getattr(outcome, error))
            table.row(*head, f"  {name}", outcome.norm, *errors, outcome.seconds)
        best = min(outcomes[norm].guaranteed for norm in norms)
        worst = max(worst, outcomes["auto"].guaranteed / best)
    print(f"auto guarantees at most {worst:.3f} times the best norm's error (allowed {allowed})")
    return int(worst > allowed)


def session_errors(graph: Any, queries: Sequence[Any], **options: Any) -> Outcome:
    """Ask everything at once in a session on a store of its own, epsilon = 1, delta = 1e-6."""
    terms = {"epsilon": 1.0, "delta": 1e-6} | options
    began = time.perf_counter()
    with (
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(action="ignore"),
        session_of(graph, store=Path(folder) / "a.db", **terms) as session,
    ):
        answers = session.ask_all(queries)
        bound, norm = session.error_bound, session.norm or ""
    pairs = zip(answers, queries, strict=True)
    off = [abs(answer.value - query.value(graph)) for answer, query in pairs]
    seconds = time.perf_counter() - began
    return Outcome(bound, max(off), float(np.mean(off)), float(np.median(off)), seconds, norm)
