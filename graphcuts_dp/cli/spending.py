"""Options of the store that a command charges, and what commands look up in stores.

`Spending` has the options of commands that may charge a store. `expected_refusal` forecasts whether
the store would refuse a use.
"""

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

WOULD_REFUSE = " would refuse this: "  # stands before the reason in `expected_refusal`
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
    """Options of commands that charge a store, or none."""

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

    def store_to_charge(self) -> Store | None:
        """Return the store to charge; None if no store is charged.

        Commands call it before they read anything, since it refuses wrong options.

        Raises:
            ParameterError: options that do not fit together.
            LedgerError: the name of the store is no file name.
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

    def check_and_register(self, data: PrivateData | Subject, file: str) -> None:
        """Refuse data charged to another store; register data that no store is charged for.

        Without --store, the command is refused if a store about these data lies beside them or in
        the working folder. With or without --store, it is refused if this account has charged
        another store for them. A note says if the data were used before without a store.

        Args:
            data: the private data.
            file: the file that they were read from.

        Raises:
            ParameterError: a store that lies beside the data was not named.
            LedgerError: another store was charged.
        """
        if self.uncounted or current_resumption() is not None:
            return
        store, subject = self.store_to_charge(), Subject.of(data)
        if store is None:
            folders = {Path(os.path.realpath(file)).parent, Path.cwd()}
            for path in stores_beside(sorted(folders), data):
                raise ParameterError(
                    f"{path} keeps account of what is spent on these data: add --store {path}, "
                    "or --uncounted to spend beside it"
                )
        check_known(subject, store)
        if store is not None and store.exists:
            return
        charged_stores = {use.store for use in uses_of_data(subject)}
        if charged_stores == {""}:  # used before, and always without a store
            say(
                "note: These data were read before without a store; what that spent, if anything, "
                "and what is spent now add up. --store keeps account."
            )
        if store is None:
            register(subject, "")


def store_named(path: str, budget: Budget | None = None, expect_head: str | None = None) -> Store:
    """Return the store that the options describe.

    Raises:
        ParameterError: `expect_head` is no head.
        LedgerError: the path is no file name.
    """
    if expect_head is not None:
        Head.parse(expect_head)
    store = Store(path, budget=budget, expect_head=expect_head)
    store.file  # noqa: B018  # refuses what is no file name
    return store


def expected_refusal(
    store: Store | None,
    *,
    guarantee: PrivacyGuarantee,
    cost: Cost,
    periods: tuple[str, ...] | None = None,
    data: PrivateData | None = None,
) -> str:
    """Return a sentence with the reason why a store would refuse a use; "" if none is known.

    The check uses only what a store reveals without the private data: its privacy unit, how its
    data were read, and what is left of its budget. It reads no private row, and writes nothing.

    Args:
        store: the store that would be charged; None if no store is charged.
        guarantee: guarantee of the use.
        cost: cost of the use.
        periods: labels of the periods that the use reads; None if it reads all.
        data: data with the vertices and the directions of the use, without any row; None if these
            are not known.
    """
    if store is None:
        return ""
    period_column = data.period_column if isinstance(data, Rows) and periods is not None else ""
    coverage = Coverage.of(periods, period_column, guarantee.privacy_unit)
    try:
        if not store.exists:
            check_budget(store.cap, [], cost)
            return ""
        with closing(open_ledger(store, read_only=True)) as ledger, ledger.locked():
            check_privacy_unit(ledger, guarantee)
            if data is not None:
                # Weights are not compared: only the file shows whether there are any.
                schema = data_schema(data) | {"kind": ""}
                check_reading(ledger, schema, same_people=store.same_people)
            check_budget(ledger_budget(ledger), uses_of(ledger), cost, coverage)
    except GraphCutsError as refusal:
        return f"The store {store.path}{WOULD_REFUSE}{refusal}"
    return ""


def expected_refusal_of_job(store: Store | None, job: Job[Any]) -> str:
    """Return why a store would refuse a prepared use, as `expected_refusal` does."""
    return expected_refusal(
        store, guarantee=job.guarantee, cost=job.cost, periods=job.periods, data=job.public
    )


def session_source(store: Store, name: str, kind: str) -> dict[str, Any]:
    """Return where the files of a session are and how they are read, as recorded at its start.

    Args:
        store: the store of the session.
        name: name of the session.
        kind: kind of the session, such as `ledger.uses.SESSION`.

    Raises:
        LedgerError: as `open_ledger`.
        ParameterError: the store has no such session.
    """
    with closing(open_ledger(store)) as ledger, ledger.locked():
        sources = {use.name: use.source for use in uses_of(ledger) if use.kind == kind}
    if name not in sources:
        start = f"session start GRAPH --store {store.path} --epsilon NUMBER --queries COUNT"
        remedy = (
            f"there is: {', '.join(sources)}" if sources else f"start one: graphcuts-dp {start}"
        )
        raise ParameterError(f"no session {name!r} in {store.path}; {remedy}")
    return dict(sources[name])


def current_path(typed: str | None, recorded: str | None, argument: str) -> str:
    """Return the path that was typed; if none was, the path that a store has recorded.

    Args:
        typed: the path on the command line; None if absent.
        recorded: the path in the store; None if absent.
        argument: how the path is typed, for messages.

    Raises:
        ParameterError: no path was typed, and none was recorded or nothing is there any more.
    """
    path = typed or recorded
    if path is None:
        raise ParameterError(f"the store does not know where the file is; name {argument}")
    if typed is None and not Path(path).exists():  # a file, or a folder of Parquet files
        raise ParameterError(f"the file is no longer at {path}; name {argument}")
    return path
