"""The options by which commands name the store that is charged, and what they look up in stores."""

import os
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

from graphcuts_dp.cli.console import say
from graphcuts_dp.cli.resumption import command_words, current_resumption
from graphcuts_dp.errors import GraphCutsError, ParameterError
from graphcuts_dp.graph.rows import PrivateData, Rows
from graphcuts_dp.ledger.charges import check_known
from graphcuts_dp.ledger.known_data import register, uses_of_data
from graphcuts_dp.ledger.opening import (
    Budget,
    Store,
    Subject,
    check_reading,
    data_schema,
    ledger_budget,
    open_ledger,
    stores_beside,
)
from graphcuts_dp.ledger.records import Head
from graphcuts_dp.ledger.spending import Coverage
from graphcuts_dp.ledger.uses import check_budget, check_privacy_unit, uses_of
from graphcuts_dp.options import privacy_option
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.release.job import Job

WOULD_REFUSE = " would refuse this: "  # in `foreseen_refusal`, before the reason
PURPOSE = privacy_option(
    None, help="What the result is for, in a few words: for the store and the receipt."
)
AUTHOR = privacy_option(
    None, help="Who releases it, for the receipt; the store also keeps the name of the account."
)
SEPARATE_BUDGET = privacy_option(
    None,
    metavar="REASON",
    help="Reason why these data have a separate budget here, although another store was charged "
    "for them; it is written to the store and to the receipt.",
)
BUDGET = privacy_option(
    None,
    usual=True,
    help="For a new store: the largest epsilon, and delta, of all uses of the data together; no "
    "limit if omitted, except for `serve`, which needs it.",
    of=Budget,
)


@final
@dataclass(frozen=True, kw_only=True)
class Spending:
    """The store that a command charges which can do without one."""

    store: str | None = privacy_option(
        None,
        usual=True,
        help="Store (.db), a record of what is spent: this use is charged to it, and refused if "
        "its budget does not suffice. Created if it does not exist.",
        metavar="FILE",
    )
    budget: Budget | None = BUDGET
    uncounted: bool = privacy_option(
        False,
        help="Charge no store. Without this option, a use is refused if a store of the same data "
        "is known and not charged.",
    )
    purpose: str | None = PURPOSE
    author: str | None = AUTHOR
    same_people_as: str | None = privacy_option(
        None,
        help="Instead of --store: the store of other data about the same people, such as the same "
        "table before rows were added or corrected; both share its budget.",
        metavar="FILE",
    )
    separate_budget: str | None = SEPARATE_BUDGET
    no_keep: bool = privacy_option(
        False,
        help="Do not keep the measurements in the store; then a lost result cannot be resumed.",
    )

    def check(self) -> Store | None:
        """Return the store to charge, None for none; call it before anything is read.

        Raises:
            ParameterError: options that do not fit together.
            LedgerError: no file name.
        """
        resumption = current_resumption()
        if resumption is not None:
            return Store(resumption.store, resume=resumption.use, keep=not self.no_keep)
        path = self.store or self.same_people_as
        if path is not None:
            if self.uncounted:
                raise ParameterError("give --store or --uncounted, not both")
            if None not in (self.store, self.same_people_as):
                raise ParameterError("--same-people-as names the store: leave out --store")
            return replace(
                store_named(path, self.budget),
                purpose=self.purpose or "",
                author=self.author or "",
                keep=not self.no_keep,
                same_people=self.same_people_as is not None,
                separate_budget=self.separate_budget or "",
                registered=True,
                command=command_words(),
            )
        if self.budget is not None:
            raise ParameterError("a budget is kept in a store: add, for example, --store mail.db")
        stated = (self.purpose, self.author, self.separate_budget)
        if stated != (None, None, None) or self.no_keep:
            raise ParameterError(
                "purpose, author, the reason for a separate budget and what was measured are kept "
                "in a store: add, for example, --store mail.db"
            )
        return None

    def remind(self, data: PrivateData | Subject, file: str) -> None:
        """Refuse to spend on data that another store keeps account of.

        That is a store in the data's or the working folder that is about them, where none is
        named, or any that this account has charged for them. Where they were used before without
        a store, a note says so.

        Args:
            data: private.
            file: that they were read from.

        Raises:
            ParameterError: a store beside the data was not named.
            LedgerError: another store was charged.
        """
        if self.uncounted or current_resumption() is not None:
            return
        store, subject = self.check(), Subject.of(data)
        if store is None:
            folders = {Path(os.path.realpath(file)).parent, Path.cwd()}
            for path in stores_beside(sorted(folders), data):
                raise ParameterError(
                    f"{path} keeps account of what is spent on these data: add --store {path}, "
                    "or --uncounted to spend beside it"
                )
        check_known(subject, store)
        known = {use.store for use in uses_of_data(subject)}
        if store is not None and store.exists:
            return
        if known == {""}:
            say(
                "note: These data were read before without a store; what that spent, if anything, "
                "and what is spent now add up. --store keeps account."
            )
        if store is None:
            register(subject, "")


def foreseen_refusal(
    store: Store | None,
    *,
    guarantee: PrivacyGuarantee,
    cost: Cost,
    periods: tuple[str, ...] | None = None,
    data: PrivateData | None = None,
) -> str:
    """Return why a store would refuse a use, "" if nothing is known against it.

    What a store tells without the private data is asked: its privacy unit, how its data were read,
    and what is left of its budget. No private row is read, and nothing is written.

    Args:
        store: that would be charged; None for none.
        guarantee: of the use.
        cost: of the use.
        periods: labels of the periods that it reads; None for all.
        data: with the vertices and the directions of the use, without any row; None if that is not
            known.
    """
    if store is None:
        return ""
    column = data.period_column if isinstance(data, Rows) and periods is not None else ""
    coverage = Coverage.of(periods, column, guarantee.privacy_unit)
    try:
        if not store.exists:
            check_budget(store.cap, [], cost)
            return ""
        with closing(open_ledger(store, read_only=True)) as ledger, ledger.locked():
            check_privacy_unit(ledger, guarantee)
            if data is not None:
                # Weights are not compared: only the file tells whether there are any.
                schema = data_schema(data) | {"kind": ""}
                check_reading(ledger, schema, same_people=store.same_people)
            check_budget(ledger_budget(ledger), uses_of(ledger), cost, coverage)
    except GraphCutsError as refusal:
        return f"The store {store.path}{WOULD_REFUSE}{refusal}"
    return ""


def job_refusal(store: Store | None, job: Job[Any]) -> str:
    """Return why a store would refuse a prepared use, as `foreseen_refusal`."""
    return foreseen_refusal(
        store,
        guarantee=job.guarantee,
        cost=job.cost,
        periods=job.periods,
        data=job.public,
    )


def store_named(path: str, budget: Budget | None = None, expect_head: str | None = None) -> Store:
    """Return the store that the options describe.

    Raises:
        ParameterError: no head.
        LedgerError: no file name.
    """
    if expect_head is not None:
        Head.parse(expect_head)
    store = Store(path, budget=budget, expect_head=expect_head)
    store.file  # noqa: B018  # refuses what is no file name
    return store


def kept_source(store: Store, name: str, kind: str) -> dict[str, Any]:
    """Return where the files of a session are and how they are read, as it was told at its start.

    Raises:
        LedgerError: as `open_ledger`.
        ParameterError: no such session.
    """
    with closing(open_ledger(store)) as ledger, ledger.locked():
        known = {use.name: use.source for use in uses_of(ledger) if use.kind == kind}
    if name not in known:
        start = f"session start GRAPH --store {store.path} --epsilon NUMBER --queries COUNT"
        remedy = f"there is: {', '.join(known)}" if known else f"start one: graphcuts-dp {start}"
        raise ParameterError(f"no session {name!r} in {store.path}; {remedy}")
    return dict(known[name])


def still_there(given: str | None, remembered: str | None, what: str) -> str:
    """Return the file that is named, or else the one that a store remembers.

    Raises:
        ParameterError: nobody knows where it is.
    """
    path = given or remembered
    if path is None:
        raise ParameterError(f"the store does not know where the file is; name {what}")
    if given is None and not Path(path).exists():  # perhaps a folder of Parquet files
        raise ParameterError(f"the file is no longer at {path}; name {what}")
    return path
