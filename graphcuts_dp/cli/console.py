"""What all subcommands share: messages, tables, JSON, progress bars."""

import json
import os
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from rich import box
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as ProgressBar
from rich.table import Table

from graphcuts_dp.display import Displayed, cell_text
from graphcuts_dp.errors import AccuracyWarning, ParameterError, PrivacyWarning
from graphcuts_dp.resources import Progress, silent

Number = TypeVar("Number", int, float)
HELP = {"help_option_names": ["-h", "--help"]}
_QUIET_SECONDS = 2.0  # work shorter than this gets no bar

_WIDE = None if sys.stdout.isatty() else 200  # a pipe has no width to respect
out = Console(soft_wrap=True, highlight=False, width=_WIDE)
err = Console(stderr=True, soft_wrap=True, highlight=False)


def say(message: str) -> None:
    """A note for the user, on standard error so that standard output stays clean.

    One line whatever the names in it: what cannot be printed is shown as Python would write it.
    """
    shown = (c if c.isprintable() else repr(c)[1:-1] for c in message)
    err.print("".join(shown), markup=False)


def numbers(text: str, kind: type[Number], problem: str) -> list[Number]:
    """Numbers with commas between, as they were typed.

    Raises:
        ParameterError: with this text, where one is no such number.
    """
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        raise ParameterError(problem) from None


def show_json(value: Any) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def show_facts(facts: Mapping[str, str]) -> None:
    """Names and values on standard output, one pair a line."""
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        out.print(f"{name:<{width}}  {value}", markup=False)


def show_made(facts: dict[str, object], written: tuple[str, ...], as_json: bool) -> None:
    """What was made, and the files it was written to."""
    if as_json:
        show_json({**facts, "files": list(written)})
    else:
        named = {name.replace("_", " "): _shown(value) for name, value in facts.items()}
        show_facts(named | {"files": "  ".join(written)})


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {part:.3g}" for name, part in value.items())
    return f"{value:,.4g}" if isinstance(value, float) else str(value)


def show_table(title: str, columns: Iterable[str], rows: Iterable[Iterable[str]]) -> None:
    """A table on standard output; the first column is text, the others are numbers."""
    bold = "none" if os.environ.get("NO_COLOR") else "bold"  # rich takes it for colours alone
    table = Table(
        title=title,
        title_justify="left",
        title_style=bold,
        header_style=bold,
        box=box.SIMPLE_HEAD,
    )
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    out.print(table)


def show_card(shown: Displayed, most: int | None = None) -> None:
    """What an object shows of itself: its title, facts, table (so many rows at most) and notes."""
    card = shown._card()
    if card.warning:
        out.print(card.warning, markup=False)
    for name, value in card.facts:
        out.print(f"{name}: {value}\n", markup=False)
    show_table(card.title, card.columns, [list(map(cell_text, row)) for row in card.rows[:most]])
    for note in card.notes:
        out.print(note, markup=False)


@contextmanager
def progress_bar(title: str) -> Iterator[Progress]:
    """Report progress on standard error: a bar after two seconds, nothing if not a terminal."""
    if not err.is_terminal:
        yield silent
        return
    started = time.monotonic()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %  {task.fields[message]}", markup=False),
        TimeElapsedColumn(),
    )
    with ProgressBar(*columns, console=err, transient=True, auto_refresh=False) as bar:
        task = bar.add_task(title, total=1.0, message="", visible=False)

        def report(done: float, message: str) -> None:
            if time.monotonic() - started >= _QUIET_SECONDS:
                bar.update(task, completed=done, message=message, visible=True)
                bar.refresh()

        yield report


@contextmanager
def accuracy_notes() -> Iterator[None]:
    """Show warnings about accuracy and privacy as one line the moment they are raised."""
    with warnings.catch_warnings():
        for shown in (AccuracyWarning, PrivacyWarning):
            warnings.simplefilter("always", shown)
        plain = warnings.showwarning

        def show(message: Any, category: type[Warning], *rest: Any, **named: Any) -> None:
            if issubclass(category, AccuracyWarning | PrivacyWarning):
                say(f"warning: {message}")
            else:
                plain(message, category, *rest, **named)

        warnings.showwarning = show
        yield
