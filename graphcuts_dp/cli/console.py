"""Print what commands report: messages, tables, JSON and progress bars.

A command returns a `Report`, which `show` prints on standard output. While it works it writes notes
to standard error (`say`), and its progress (`progress_bar`).
"""

import json
import math
import os
import re
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as ProgressBar
from rich.table import Table as RichTable

from graphcuts_dp.confidence import DEFAULT_DEVIATIONS, DEFAULT_PERCENT
from graphcuts_dp.display import Card, Displayed, cell_text, printable, short_bound
from graphcuts_dp.errors import AccuracyWarning, PrivacyWarning
from graphcuts_dp.files import atomic_write
from graphcuts_dp.frames import is_formula
from graphcuts_dp.resources import Progress, silent

if TYPE_CHECKING:
    from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
    from graphcuts_dp.privacy.privacy_unit import PrivacyUnit

HELP = {"help_option_names": ["-h", "--help"]}  # settings of every command
PROGRESS_FILE = "GRAPHCUTS_DP_PROGRESS"  # environment variable: file for the progress of the work
_WIDTH_OF_PIPES = 200  # characters of a line: a pipe has no width of its own to respect
_QUIET_SECONDS = 2.0  # work shorter than this gets no bar
# An option, and behind it how Python spells it: "--known-max NUMBER (known_max=)".
_OPTION_AND_PYTHON_NAME = re.compile(r"(--[a-z][^()]{0,60}) \([a-z_]+=[^()]*\)")
_MESSAGES: ContextVar[list[str] | None] = ContextVar("collected messages", default=None)
_WRITTEN: ContextVar[tuple[tuple[str, ...], str]] = ContextVar("written files", default=((), ""))

_is_terminal = sys.stdout is not None and sys.stdout.isatty()  # a closed stream is None
out: Console = Console(
    soft_wrap=True, highlight=False, width=None if _is_terminal else _WIDTH_OF_PIPES
)
err: Console = Console(stderr=True, soft_wrap=True, highlight=False)


def say(message: str) -> None:
    """Write a message to standard error, so that standard output stays clean.

    The message is one line whatever the names in it: characters that cannot be printed are shown as
    Python would write them. Within `collect_messages` it goes into the list.
    """
    text, messages = printable(_without_python_names(message)), _MESSAGES.get()
    if messages is None:
        err.print(text, markup=False)
    else:
        messages.append(text)


def _without_python_names(message: str) -> str:
    """Remove the Python names that a message has in brackets behind options."""
    return _OPTION_AND_PYTHON_NAME.sub(r"\1", message)


@contextmanager
def collect_messages() -> Iterator[list[str]]:
    """Collect the messages of `say` in a list, in place of standard error: for forms."""
    messages: list[str] = []
    token = _MESSAGES.set(messages)
    try:
        yield messages
    finally:
        _MESSAGES.reset(token)


def note_formulas(labels: Iterable[Any], *, spreadsheet: bool) -> None:
    """Warn of public labels that a spreadsheet would run as formulas, unless they are quoted."""
    if not spreadsheet and any(map(is_formula, labels)):
        say(
            "note: Some labels begin with =, +, - or @, which spreadsheets run as formulas: "
            "--spreadsheet puts an apostrophe before them."
        )


def show_json(value: Any) -> None:
    """Print a JSON document."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


@dataclass(frozen=True)
class Report:
    """Hold what a command prints: one JSON document with `--json`, else text, block after block.

    Attributes:
        fields: plain values for JSON.
        blocks: each is a mapping of names to values, a card, an object that has a card, or a
            sentence.
        notes: messages on standard error, after the text.
        most: number of rows of each card that are printed; None if all are.
    """

    fields: Any
    blocks: Sequence[Mapping[str, object] | Card | Displayed | str]
    notes: Sequence[str] = ()
    most: int | None = None


def forecast_report(
    guarantee: "PrivacyGuarantee",
    privacy_unit: "PrivacyUnit",
    errors: Iterable[tuple[str, float]],
    notes: Iterable[str | None] = (),
    warning: str | None = None,
    picture: dict[str, Any] | None = None,
) -> Report:
    """Report what a dry run forecasts.

    Args:
        guarantee: guarantee of the use.
        privacy_unit: privacy unit of the use, which is explained in words.
        errors: bounds, each with what it is a bound on; infinite if no bound holds.
        notes: sentences; empty ones and None are left out.
        warning: a first note; None if absent.
        picture: what forms draw simulated cells from: "what", "side", "cell" and "error"; None if
            they draw none.
    """
    explanation = privacy_unit.explain(epsilon=guarantee.epsilon, delta=guarantee.delta)
    messages = [*filter(None, (warning, *notes))]
    bounds = [*errors]
    fields = {
        "dry_run": True,
        "guarantee": str(guarantee),
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "unit_in_words": explanation.sentences["The guarantee"],
        "odds": [vars(odds) for odds in explanation.odds],
        "odds_in_words": list(explanation.odds_in_words),
        "errors": [
            {"of": quantity, "bound": bound if math.isfinite(bound) else None}
            for quantity, bound in bounds
        ],
        "notes": messages,
        "picture": picture and {**picture, "deviation": picture["error"] / DEFAULT_DEVIATIONS},
    }
    facts = {"guarantee": fields["guarantee"]}
    if guarantee.in_short:
        facts["in short"] = guarantee.in_short
    card = Card(
        title="To expect",
        columns=("what is reported", f"error at most ({DEFAULT_PERCENT})"),
        rows=[(quantity, _bound_text(bound)) for quantity, bound in bounds],
    )
    done = "A dry run: no graph was read, nothing was spent, and nothing was written."
    return Report(fields, [facts, card], [*messages, done])


def _bound_text(bound: float) -> str:
    return short_bound(bound) if math.isfinite(bound) else "no bound holds for these values"


def show(report: Report, *, as_json: bool) -> None:
    """Print a report."""
    if as_json:
        show_json(report.fields)
        return
    for block in report.blocks:
        content = block._card() if isinstance(block, Displayed) else block
        if isinstance(content, Card):
            _show_card(content, report.most)
        elif isinstance(content, str):
            out.print(content, markup=False)
        else:
            show_facts(content)
    for note in report.notes:
        say(f"note: {note}")


def show_facts(facts: Mapping[str, object]) -> None:
    """Print names and values, one pair a line."""
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        out.print(f"{name.replace('_', ' '):<{width}}  {_fact_text(value)}", markup=False)


def _fact_text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_fact_text(part)}" for name, part in value.items())
    return cell_text(value, 4)


def show_table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print a table; in a terminal that is too narrow for it, long cells get several lines."""
    bold = "none" if os.environ.get("NO_COLOR") else "bold"  # rich applies it to colours alone
    table = RichTable(
        title=title,
        title_justify="left",
        title_style=bold,
        header_style=bold,
        box=box.SIMPLE_HEAD,
    )
    for index, column in enumerate(columns):
        table.add_column(column, justify="left" if index == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*(escape(cell_text(cell)) for cell in row))
    out.print(table)


def _show_card(card: Card, most: int | None) -> None:
    """Print the warning, facts, table and notes of a card, and at most so many rows."""
    for text in (card.warning, "" if card.columns else card.title):
        if text:
            out.print(text, markup=False)
    if card.facts:
        show_facts(dict(card.facts))
    if card.columns:
        show_table(card.title, card.columns, card.rows[:most])
    for note in card.notes:
        out.print(_without_python_names(note), markup=False)


def forget_written_files() -> None:
    """Forget the files of an earlier command: a new one begins."""
    _WRITTEN.set(((), ""))


def remember_written(files: Iterable[str], remedy: str = "") -> None:
    """Remember complete files of a result, for the message if a later one cannot be written.

    Args:
        files: the files that were written since the last call.
        remedy: how to make the other files from these, for results that no store keeps.
    """
    earlier_files, earlier_remedy = _WRITTEN.get()
    _WRITTEN.set(((*earlier_files, *files), remedy or earlier_remedy))


def written_files() -> tuple[tuple[str, ...], str]:
    """Return the files that this command has written so far, and how to make the others."""
    return _WRITTEN.get()


def write_out(parts: Iterable[str], output: str | None, *, force: bool) -> None:
    """Write text to a file, whole or not at all; to standard output if the file is None."""
    if output is None:
        sys.stdout.writelines(parts)
        return
    with atomic_write(output, force=force) as handle:
        handle.writelines(part.encode() for part in parts)


@contextmanager
def progress_bar(title: str) -> Iterator[Progress]:
    """Show progress on standard error: a bar after two seconds, nothing if it is no terminal.

    If the environment names a `PROGRESS_FILE`, progress is written to it instead.
    """
    if PROGRESS_FILE in os.environ:
        file = Path(os.environ[PROGRESS_FILE])
        yield lambda done, message: _write_progress(file, f"{done:.2f} {message}")
        return
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


def _write_progress(file: Path, text: str) -> None:
    with suppress(OSError):  # a report of progress must not stop the work
        file.write_text(text, encoding="utf-8")


@contextmanager
def accuracy_notes() -> Iterator[None]:
    """Show a warning about accuracy or privacy as one line when it is raised."""
    categories = (AccuracyWarning, PrivacyWarning)
    with warnings.catch_warnings():
        for category in categories:
            warnings.simplefilter("always", category)
        show_other_warning = warnings.showwarning

        def show_warning(
            message: Any, category: type[Warning], *arguments: Any, **keywords: Any
        ) -> None:
            if issubclass(category, categories):
                say(f"warning: {message}")
            else:
                show_other_warning(message, category, *arguments, **keywords)

        warnings.showwarning = show_warning
        yield
