"""The accounts of the folder of the page.

An account is a store, for one private file or for several files about the same people. Its record
is public: no private row is read here.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self, final

from graphcuts_dp.errors import LedgerError
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.session.transcript import LedgerStatus, UseStatus, store_status

_ENDING = ".db"
_LONGEST_LINE = 60  # characters of names of accounts that fit on the first page of a report


@final
@dataclass(frozen=True, kw_only=True)
class PageAccount:
    """The budget and the spending of an account.

    Attributes:
        name: of its file, without the folder.
        is_new: whether its file does not exist yet.
        results: number of results that were charged.
        used: epsilon of all results together.
        total: epsilon of the budget; None if there is none.
        left: the part of the budget that is left; None if there is none.
    """

    name: str
    is_new: bool = True
    results: int = 0
    used: float = 0.0
    total: float | None = None
    left: float | None = None

    @classmethod
    def of(cls, path: Path) -> Self:
        """Read an account.

        Raises:
            LedgerError: it cannot be read.
        """
        account = spent_on(str(path))
        if account is None:
            return cls(name=path.name)
        left, used = account["left"], account["epsilon"]
        return cls(
            name=path.name,
            is_new=False,
            results=len(account["uses"]),
            used=used,
            left=left,
            total=None if left is None else left + used,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return asdict(self)


def other_accounts(folder: Path, excluded: Path) -> list[PageAccount]:
    """Return all accounts of a folder except one, by name; those that cannot be read are left out.

    Args:
        folder: of the page.
        excluded: the account to leave out.
    """
    accounts = []
    for path in sorted(folder.glob(f"*{_ENDING}")):
        if path.resolve() != excluded.resolve():
            try:
                accounts.append(PageAccount.of(path))
            except LedgerError:
                continue
    return accounts


def unused_name(path: Path) -> str:
    """Return a name for a new account beside an existing one, such as "trips.csv-2.db"."""
    stem, number = path.name.removesuffix(_ENDING), 2
    while path.with_name(f"{stem}-{number}{_ENDING}").exists():
        number += 1
    return f"{stem}-{number}{_ENDING}"


def names_for_report(accounts: Iterable[PageAccount]) -> str:
    """Return the names of accounts as one line of a report, which ends "and 3 more" if too long."""
    names, line = [account.name for account in accounts], ""
    for index, name in enumerate(names):
        text = f"{line}, {name}" if line else name
        more = f" and {len(names) - index:,} more"
        if len(text) + len(more) > _LONGEST_LINE:
            return f"{line}{more}" if line else f"{len(names):,} accounts"
        line = text
    return line


def uses_on(store: str) -> tuple[UseStatus, ...]:
    """Return all uses that a store has recorded; none if the store does not exist.

    Raises:
        LedgerError: it cannot be read.
    """
    return store_status(store).uses if Store(store).exists else ()


def spent_on(store: str) -> dict[str, Any] | None:
    """Return the spending of a store, as plain values; None if the store does not exist.

    Raises:
        LedgerError: it cannot be read.
    """
    if not Store(store).exists:
        return None
    status: LedgerStatus = store_status(store)
    summary = {
        name: getattr(status, name)
        for name in ("epsilon", "delta", "budget", "left", "privacy_unit")
    }
    return summary | {"uses": [use_status.to_dict() for use_status in status.uses]}
