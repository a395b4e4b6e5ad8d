"""Carry out the jobs of commands, and report the files of their results."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from graphcuts_dp.cli.console import Report, progress_bar, say
from graphcuts_dp.cli.inspect import NOT_PRIVATE
from graphcuts_dp.cli.reading import STDIN
from graphcuts_dp.files import check_space
from graphcuts_dp.ledger.observed import latest_charge
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.release.job import Job, execute
from graphcuts_dp.results.bundle import sha256_of

_SHOWN_CELLS = 10  # of the finest level of a table

R = TypeVar("R")


def carry_out(
    job: Job[R], private: Any, target: str, *, store: Store | None, seed: int | None
) -> R:
    """Execute a job for a file, with its notes before and its progress meanwhile.

    Args:
        job: the prepared job.
        private: the private data.
        target: the file that the result will be written to.
        store: the store to charge; None if no store is charged.
        seed: as for `execute`.

    Raises:
        BudgetError, LedgerError, ParameterError: as `execute`.
        FileFormatError: the disk of the target or of the store has no room for the result.
    """
    for note in job.notes:
        say(f"note: {note}")
    check_space((target, *([] if store is None else [store.path])), job.result_bytes)
    with progress_bar("releasing") as progress:
        return execute(job, private, store=store, seed=seed, progress=progress)


def written_report(
    facts: dict[str, Any],
    guarantee: PrivacyGuarantee,
    written: Sequence[str],
    source: str | None,
    *blocks: Any,
) -> Report:
    """Record the files of a result with its charge, and report what may be published.

    Args:
        facts: names and values, printed first.
        guarantee: guarantee of the result.
        written: the files of the result.
        source: the private file; None if the result was computed from public data.
        blocks: further blocks of the report.
    """
    charge = latest_charge()
    if charge is not None:
        charge.record_files({Path(file).name: sha256_of(Path(file)) for file in written})
    note = f"May be published: {', '.join(Path(file).name for file in written)}."
    if source is not None:
        private_data = "the rows" if source == STDIN else source
        note += f" Keep to yourself: {private_data}, its store, errors against it."
    return Report(
        {**facts, "files": list(written)},
        [{**facts, "files": "  ".join(written)}, *blocks],
        [note if guarantee.is_private else NOT_PRIVATE] if written else [],
    )


def table_report(report: Report, table: Any, target: str, written: Sequence[str]) -> Report:
    """Return a report of written files with the first cells of their table in place of its facts.

    Args:
        report: report of the files.
        table: the table of flows.
        target: the file of the table.
        written: all files of the result.
    """
    return replace(
        report,
        blocks=[table, {"files": "  ".join(written)}],
        notes=[*report.notes, comment_note(target)],
        most=_SHOWN_CELLS,
    )


def comment_note(target: str) -> str:
    """Return a sentence on how programs read a table whose first line is a comment."""
    return (
        f"The first line of {target} says what counts; programs skip it, as pandas does with "
        f"read_csv({target!r}, skiprows=1)."
    )
