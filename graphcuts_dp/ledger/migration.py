"""Migrate stores of earlier formats: check all of a store, copy it, and rewrite what has to change.

So far nothing has to change. The digest chain of a store begins with its header, which names the
format: with a rewritten header, every head that somebody has written down would be refused. So
stores of older formats are read as they are, and a migration only checks and copies them.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from secrets import token_hex
from typing import final

from graphcuts_dp._version import __version__
from graphcuts_dp.errors import LedgerError
from graphcuts_dp.files import flush_folder
from graphcuts_dp.ledger.copies import copy_database
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.opening import FORMAT, Budget, check_format, ledger_budget
from graphcuts_dp.ledger.plain_values import check_intact
from graphcuts_dp.ledger.records import Head
from graphcuts_dp.ledger.uses import spent_together, uses_of
from graphcuts_dp.privacy.composition import Cost

# By format, the function that rewrites a store of it into the next format, in one transaction.
STEPS: Mapping[int, Callable[[Ledger], None]] = {}


@final
@dataclass(frozen=True)
class StoreSpending:
    """The uses and the spending of a store, which a migration must not change.

    Attributes:
        uses: number of recorded uses of the private data.
        total: cost of all of them together.
        budget: of the store; None without one.
    """

    uses: int
    total: Cost
    budget: Budget | None

    def __str__(self) -> str:
        limit = "no limit" if self.budget is None else f"budget {self.budget}"
        delta = f", delta = {self.total.delta:g}" if self.total.delta else ""
        uses = f"{self.uses:,} use{'s' * (self.uses != 1)}"
        return f"{uses}, epsilon = {self.total.epsilon:g}{delta} spent; {limit}"


@final
@dataclass(frozen=True)
class Migration:
    """The report of a migration, or of a dry run of one.

    Attributes:
        before: format that the store had.
        after: format that this version writes.
        steps: formats that a function of `STEPS` has rewritten, or in a dry run would rewrite.
        records: number of records that were checked.
        contents: number of large contents that were checked.
        head: of the ledger; a migration that rewrites nothing leaves it as it is.
        spending: the spending of the store, which is the same before and after.
        backup: path of the copy of the store as it was; a dry run has not written it.
        dry_run: whether nothing was written.
    """

    before: int
    after: int
    steps: tuple[int, ...]
    records: int
    contents: int
    head: Head
    spending: StoreSpending
    backup: Path
    dry_run: bool


def migrate_store(path: Path, *, dry_run: bool, timeout: float = 30.0) -> Migration:
    """Check all of a store, copy it, and bring it to the format of this version.

    1. All pages, records, states and contents are checked.
    2. A copy appears beside the store, whole or not at all.
    3. The steps from its format to the present one rewrite it. There is none so far.
    4. The spending is compared with that before.

    Args:
        path: an existing store; it may be in use.
        dry_run: True opens the store for reading alone and writes no file at all.
        timeout: seconds to wait for other processes that use it.

    Raises:
        LedgerError: the store is missing, no store, damaged, of a format that this version cannot
            read, or busy for longer; or the copy cannot be written, or is there already.
    """
    backup = path.with_name(f"{path.name}.before-{__version__}")
    if dry_run:
        _check_journal(path)
    with closing(Ledger(path, timeout=timeout, read_only=dry_run)) as ledger, ledger.locked():
        before = check_format(ledger)
        contents = ledger.check_all()
        with check_intact(f"the store {path} was altered: its header is damaged"):
            spending = spending_of(ledger)
        if os.path.lexists(backup):
            raise LedgerError(f"{backup} exists; move it away, and migrate again")
        steps = tuple(number for number in range(before, FORMAT) if number in STEPS)
        if not dry_run:
            _back_up(ledger, backup)
            for number in steps:
                STEPS[number](ledger)
            if spending_of(ledger) != spending:
                raise LedgerError(f"what was spent has changed: bring back {backup}")
        return Migration(
            before=before,
            after=FORMAT,
            steps=steps,
            records=ledger.records,
            contents=contents,
            head=ledger.head,
            spending=spending,
            backup=backup,
            dry_run=dry_run,
        )


def _check_journal(path: Path) -> None:
    """Refuse a store that a killed process left within a transaction: reading would roll it back.

    Raises:
        LedgerError: there is a journal that is not empty.
    """
    try:
        is_unfinished = os.stat(f"{path}-journal").st_size > 0  # noqa: PTH116  # a suffix, not a name
    except OSError:
        return
    if is_unfinished:
        raise LedgerError(
            f"a transaction of {path} is going on, or was cut off; run: graphcuts-dp store status "
            f"{path}, which takes it back, and try again"
        )


def _back_up(ledger: Ledger, backup: Path) -> None:
    """Copy a locked store to a new file, which appears whole or not at all.

    Raises:
        LedgerError: it cannot be written, or the copy differs from the store.
    """
    part = backup.with_name(f".{backup.name}.{token_hex(4)}.part")
    try:
        copy_database(ledger.file.connection, part, shown=backup)
        with closing(Ledger(part, read_only=True)) as copy:
            if copy.head != ledger.head:
                raise LedgerError(f"{backup} is not a true copy: the disk fails; nothing changed")
        os.link(part, backup)  # never over a file that has appeared meanwhile
        flush_folder(backup.parent)
    except OSError as problem:
        raise LedgerError(f"cannot write {backup}: {problem.strerror}") from None
    finally:
        with suppress(OSError):  # a disk that fails
            part.unlink(missing_ok=True)


def spending_of(ledger: Ledger) -> StoreSpending:
    """Return the spending of a store. Within `Ledger.locked`."""
    uses, budget = uses_of(ledger), ledger_budget(ledger)
    total = spent_together(uses, budget) if uses else Cost.of_pure(Fraction(0))
    return StoreSpending(len(uses), total, budget)
