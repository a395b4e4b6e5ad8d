"""What commands that make a release have in common: they carry out a job, and end with one line.

That line says what of the release may be published, and what not.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from graphcuts_dp.cli.console import accuracy_notes, progress_bar, say, show_made
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.release.job import Job, execute

R = TypeVar("R")

NOT_PRIVATE = (
    "A seed was given, so whoever guesses it can take the noise off: publish nothing of this."
)
KEEP = (
    "the private file itself, the store and its bounds on what is left, seeds, and whatever was "
    "measured against the truth (evaluate)"
)


def carry_out(job: Job[R], private: Any, *, store: Store | None, seed: int | None) -> R:
    """Say what the job has to say, charge it, and run it.

    Raises:
        BudgetError, LedgerError, ParameterError: as `execute`.
    """
    for note in job.notes:
        say(f"note: {note}")
    with accuracy_notes(), progress_bar("releasing") as progress:
        return execute(job, private, store=store, seed=seed, progress=progress)


def show_release(
    facts: dict[str, object],
    guarantee: PrivacyGuarantee,
    written: tuple[str, ...],
    source: str,
    as_json: bool,
) -> None:
    """What was made, where it was written, and what of it may be published."""
    show_made(facts, written, as_json)
    if not as_json:
        tell_publishing(guarantee, written, source)


def tell_publishing(guarantee: PrivacyGuarantee, files: Sequence[str], source: str) -> None:
    """Say it in one sentence, as the last line of a command that read the private file `source`."""
    names = ", ".join(Path(file).name for file in files)
    text = f"May be published: {names}. Keep to yourself: {source}, its store, errors against it."
    say(f"note: {text if guarantee.is_private else NOT_PRIVATE}")
