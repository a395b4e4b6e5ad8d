"""Print messages, tables, JSON and progress bars for all commands."""

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

HELP = {"help_option_names": ["-h", "--help"]}
_QUIET_SECONDS = 2.0  # work shorter than this gets no bar
# An option, and behind it how Python spells it: "--known-max NUMBER (known_max=)".
_PYTHON_NAME = re.compile(r"(--[a-z][^()]{0,60}) \([a-z_]+=[^()]*\)")
_HEARD: ContextVar[list[str] | None] = ContextVar("heard", default=None)
_WRITTEN: ContextVar[tuple[tuple[str, ...], str]] = ContextVar("written files", default=((), ""))
PROGRESS_FILE = "GRAPHCUTS_DP_PROGRESS"  # names a file for the progress of the work

# A pipe has no width to respect, and a closed standard output is None.
_WIDE = None if sys.stdout is not None and sys.stdout.isatty() else 200
out: Console = Console(soft_wrap=True, highlight=False, width=_WIDE)
err: Console = Console(stderr=True, soft_wrap=True, highlight=False)


def say(message: str) -> None:
    """Write a note to standard error, so that standard output stays clean.

    One line whatever the names in it: what cannot be printed is shown as Python would write it.
    Within `heard` it goes into the list.
    """
    text, heard_so_far = printable(_as_typed(message)), _HEARD.get()
    if heard_so_far is None:
        err.print(text, markup=False)
    else:
        heard_so_far.append(text)


def _as_typed(message: str) -> str:
    """Return a message without the Python names that it has in brackets behind options."""
    return _PYTHON_NAME.sub(r"\1", message)


@contextmanager
def heard() -> Iterator[list[str]]:
    """Collect what is said within into a list, in place of standard error: for forms."""
    messages: list[str] = []
    before = _HEARD.set(messages)
    try:
        yield messages
    finally:
        _HEARD.reset(before)


def note_formulas(labels: Iterable[Any], *, spreadsheet: bool) -> None:
    """Say that a spreadsheet would run public labels as formulas, unless they are quoted."""
    if not spreadsheet and any(map(is_formula, labels)):
        say(
            "note: Some labels begin with =, +, - or @, which spreadsheets run as formulas: "
            "--spreadsheet puts an apostrophe before them."
        )


def show_json(value: Any) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


@dataclass(frozen=True)
class Report:
    """Hold what a command prints: one JSON document, or text, block after block.

    Attributes:
        fields: for `--json`, plain values.
        blocks: names with their values, cards, sentences, and what shows itself.
        notes: on standard error, for people alone.
        most: rows of each card; None for all.
    """

    fields: Any
    blocks: Sequence[Mapping[str, object] | Card | Displayed | str]
    notes: Sequence[str] = ()
    most: int | None = None


def foretold(
    guarantee: "PrivacyGuarantee",
    privacy_unit: "PrivacyUnit",
    errors: Iterable[tuple[str, float]],
    notes: Iterable[str | None] = (),
    warning: str | None = None,
    picture: dict[str, Any] | None = None,
) -> Report:
    """Forecast a use of the budget; forms read the fields, and draw simulated cells."""
    explanation = privacy_unit.explain(epsilon=guarantee.epsilon, delta=guarantee.delta)
    sentences = explanation.sentences
    messages = [*filter(None, (warning, *notes))]
    rows = [*errors]
    fields = {
        "dry_run": True,
        "guarantee": str(guarantee),
        "epsilon": guarantee.epsilon,
        "delta": guarantee.delta,
        "unit_in_words": sentences["The guarantee"],
        "odds": [vars(odds) for odds in explanation.odds],
        "odds_in_words": list(explanation.odds_in_words),
        "errors": [
            {"of": of, "bound": error if math.isfinite(error) else None} for of, error in rows
        ],
        "notes": messages,
        "picture": picture and {**picture, "deviation": picture["error"] / DEFAULT_DEVIATIONS},
    }
    columns = ("what is reported", f"error at most ({DEFAULT_PERCENT})")
    card = Card(title="To expect", columns=columns, rows=[(of, _bound_text(e)) for of, e in rows])
    done = "A dry run: no graph was read, nothing was spent, and nothing was written."
    facts = {"guarantee": fields["guarantee"]}
    if guarantee.in_short:
        facts["in short"] = guarantee.in_short
    return Report(fields, [facts, card], [*messages, done])


def _bound_text(error: float) -> str:
    return short_bound(error) if math.isfinite(error) else "no bound holds for these values"


def show(report: Report, *, as_json: bool) -> None:
    """Print it."""
    if as_json:
        show_json(report.fields)
        return
    for block in report.blocks:
        shown = block._card() if isinstance(block, Displayed) else block
        if isinstance(shown, Card):
            _show_card(shown, report.most)
        elif isinstance(shown, str):
            out.print(shown, markup=False)
        else:
            show_facts(shown)
    for note in report.notes:
        say(f"note: {note}")


def show_facts(facts: Mapping[str, object]) -> None:
    """Names and values on standard output, one pair a line."""
    width = max(len(name) for name in facts)
    for name, value in facts.items():
        out.print(f"{name.replace('_', ' '):<{width}}  {_shown(value)}", markup=False)


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(part)}" for name, part in value.items())
    return cell_text(value, 4)


def show_table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print a table; in a terminal that is too narrow for it, long cells get several lines."""
    bold = "none" if os.environ.get("NO_COLOR") else "bold"  # rich takes it for colours alone
    table = RichTable(
        title=title,
        title_justify="left",
        title_style=bold,
        header_style=bold,
        box=box.SIMPLE_HEAD,
    )
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*(escape(cell_text(cell)) for cell in row))
    out.print(table)


def _show_card(card: Card, most: int | None) -> None:
    """Its warning, facts, table and notes."""
    for text in (card.warning, "" if card.columns else card.title):
        if text:
            out.print(text, markup=False)
    if card.facts:
        show_facts(dict(card.facts))
    if card.columns:
        show_table(card.title, card.columns, card.rows[:most])
    for note in card.notes:
        out.print(_as_typed(note), markup=False)


def remember_written(files: Iterable[str], remedy: str = "") -> None:
    """Remember files of a result that are whole, for the message if a later one cannot be written.

    Args:
        files: that were written since the last call.
        remedy: how to make the others from them, where no store keeps the result.
    """
    before, earlier_remedy = _WRITTEN.get()
    _WRITTEN.set(((*before, *files), remedy or earlier_remedy))


def forget_written_files() -> None:
    """Begin a command, which has written nothing yet."""
    _WRITTEN.set(((), ""))


def written_files() -> tuple[tuple[str, ...], str]:
    """Return the files that this command has written so far, and how to make the others."""
    return _WRITTEN.get()


def write_out(parts: Iterable[str], output: str | None, *, force: bool) -> None:
    """Text to a file, whole or not at all; to standard output where none is named."""
    if output is None:
        sys.stdout.writelines(parts)
        return
    with atomic_write(output, force=force) as handle:
        handle.writelines(part.encode() for part in parts)


@contextmanager
def progress_bar(title: str) -> Iterator[Progress]:
    """Report progress on standard error: a bar after two seconds, nothing if not a terminal.

    To a file instead, where the environment names one.
    """
    if PROGRESS_FILE in os.environ:
        file = Path(os.environ[PROGRESS_FILE])
        yield lambda done, message: _tell(file, f"{done:.2f} {message}")
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


def _tell(file: Path, text: str) -> None:
    with suppress(OSError):  # what is reported of the work must not stop it
        file.write_text(text, encoding="utf-8")


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
