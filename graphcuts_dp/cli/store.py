"""`graphcuts-dp store`: what a store has recorded, whether a result belongs to it, its format.

`status` is a command of `graphcuts-dp session`, too.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import typer

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import Report, write_out
from graphcuts_dp.cli.options import Commands
from graphcuts_dp.cli.spending import store_named
from graphcuts_dp.display import Card
from graphcuts_dp.errors import GraphCutsError, ParameterError
from graphcuts_dp.ledger.migration import Migration, migrate_store
from graphcuts_dp.options import output_option
from graphcuts_dp.release.receipt_check import check_receipt
from graphcuts_dp.schema.periods import Periods
from graphcuts_dp.session.store_sessions import SessionStatus
from graphcuts_dp.session.transcript import LedgerStatus, UseStatus, store_status

store: Commands = Commands(
    help="Show what was spent from a store, check results against it, or export it."
)
_COLUMNS = ("no.", "began (UTC)", "by", "use", "purpose", "state", "epsilon", "delta", "files")
_SEEDED = " (seeded: not private)"


@store.command()
def status(
    *,
    store: str = options.SESSION_STORE,
    name: str | None = options.ANY_NAME,
    expect_head: str | None = options.EXPECT_HEAD,
) -> Report:
    """Show what was spent on the private data, and what is left.

    Example: graphcuts-dp session status mail.db

    `session status` and `store status` are one command. It shows all releases and sessions on one
    graph, who began them and when, and what they cost together. Keep the head that it prints: with
    --expect-head, every command that opens the store refuses an older copy of it.
    """
    ledger_status = store_status(store_named(store, expect_head=expect_head))
    sessions = sessions_named(ledger_status, name)
    fields = ledger_status.to_dict() | {"sessions": [session.to_dict() for session in sessions]}
    rows = [_use_row(use_status) for use_status in ledger_status.uses]
    return Report(
        fields,
        [
            Card(title=f"Spent on the data of {store}", columns=_COLUMNS, rows=rows),
            *([_period_card(ledger_status)] if ledger_status.periods else []),
            *map(session_facts, sessions),
            _totals(ledger_status),
        ],
    )


@store.command()
def check(
    *,
    store: str = typer.Argument(metavar="STORE", help="The store that was charged."),
    result: str = typer.Argument(metavar="RESULT", help="The saved result, as it was named."),
) -> Report:
    """Compare a saved result with the store that was charged.

    Example: graphcuts-dp store check mail.db synthetic.graphml

    The command says which use of the store the result is, and what was spent on the same data
    before it. It fails if a file was changed, or if receipt and store do not agree.
    """
    checked = check_receipt(store_named(store), result)
    facts = {"result": result, "store": store, "what the store says": str(checked)}
    if not checked.recorded:
        facts["files"] = "the store has not recorded them: they were saved outside of a command"
    return Report(checked.to_dict(), [facts])


@store.command()
def migrate(
    *,
    store: str = typer.Argument(metavar="STORE", help="The store, of any version of this program."),
    dry_run: bool = output_option(False, help="Open it for reading only, and write nothing."),
) -> Report:
    """Check and copy a store, and bring it to the current format.

    Example: graphcuts-dp store migrate mail.db --dry-run

    The copy has the name of the store with .before-VERSION, and only your account can read it.
    Stores of earlier versions are read as they are: so far no store needs to be rewritten. Heads
    that you wrote down stay valid, and what was spent stays spent.
    """
    migration = migrate_store(store_named(store).file, dry_run=dry_run)
    return Report(_migration_fields(migration), _migration_lines(store, migration))


@store.command()
def export(
    *,
    store: str = typer.Argument(metavar="STORE", help="The store."),
    output: str | None = options.OUT,
    force: bool = options.FORCE,
) -> None:
    """Print what was spent as JSON, for other tools that add it up.

    Example: graphcuts-dp store export mail.db -o ledger.json

    The document has only public facts: what was spent in total and by each use, the privacy unit,
    and the events of each use for dp_accounting. It has no data, answers, or names of files. Its
    fields are described in the documentation, under reliability.
    """
    document = store_status(store_named(store)).to_json()
    write_out([document, "\n"], output, force=force)


def sessions_named(ledger_status: LedgerStatus, name: str | None) -> Sequence[SessionStatus]:
    """Return the session of a name; all sessions of the store if the name is None.

    Raises:
        ParameterError: the store has no session of this name.
    """
    if name is None:
        return ledger_status.sessions
    sessions = [session for session in ledger_status.sessions if session.terms.name == name]
    if not sessions:
        known = ", ".join(session.terms.name for session in ledger_status.sessions) or "none"
        raise ParameterError(f"no session {name!r} in the store; there is: {known}")
    return sessions


def session_facts(session: SessionStatus) -> dict[str, object]:
    """Return the guarantee of a session, what it has answered and what is left, for printing."""
    left = session.remaining.queries
    facts: dict[str, object] = {
        "session": f"{session.terms.name} ({session.state})",
        "method": session.terms.parameters["method"],
        "guarantee": session.terms.guarantee,
        "answers": f"{session.answers:,}, {session.corrections:,} of them corrected",
        "queries left": "no limit" if left is None else f"{left:,}",
    }
    if session.remaining.updates is not None:
        facts["corrections left"] = f"{session.remaining.updates:,}"
    if session.interruptions:
        facts["interruptions"] = f"{session.interruptions:,}, counted as spent"
    return facts


def _use_row(use_status: UseStatus) -> tuple[str, ...]:
    """Return the row of a use in the table of `status`, as `_COLUMNS` names its cells."""
    use = use_status.use
    title = f"{use.kind} {use.name}".rstrip() + _periods_text(use.periods)
    return (
        str(use.number),
        use.time.removesuffix("+00:00").replace("T", " "),
        use.author or use.user,
        title if use.seed is None else title + _SEEDED,
        use.purpose,
        use_status.state,
        f"{use.guarantee.epsilon:g}",
        f"{use.guarantee.delta:g}",
        ", ".join(use_status.files),
    )


def _periods_text(periods: tuple[str, ...] | None) -> str:
    if periods is None:
        return ""
    return f" of {periods[0]}" if len(periods) == 1 else f" of {len(periods):,} periods"


def _totals(ledger_status: LedgerStatus) -> dict[str, str]:
    """Return what all uses cost together, and what is left of the budget, for printing."""
    mark = _SEEDED if ledger_status.seeded else ""
    spent_on = "the most on one period" if ledger_status.periods else "all uses together"
    totals = {spent_on: _cost_text(ledger_status.epsilon, ledger_status.delta) + mark}
    if ledger_status.all_periods is not None:
        cost = ledger_status.all_periods
        totals["all periods together"] = _cost_text(cost.epsilon, cost.delta)
    totals["privacy_unit"] = ledger_status.privacy_unit
    totals["budget"] = "no limit"
    if ledger_status.budget:
        totals["budget"] = f"{ledger_status.budget}; {ledger_status.left:.4g} is left"
    totals["head"] = ledger_status.head
    return totals


def _cost_text(epsilon: float, delta: float) -> str:
    return f"epsilon = {epsilon:.4g}" + (f", delta = {delta:g}" if delta else "")


def _period_card(ledger_status: LedgerStatus) -> Card:
    """Return a table of what was spent on each period; equal consecutive periods share a row."""
    costs = [
        (label, f"{cost.epsilon:.4g}", f"{cost.delta:g}")
        for label, cost in ledger_status.periods.items()
    ]
    rows = [
        (labels[0] if len(labels) == 1 else f"{labels[0]}..{labels[-1]}", *cost_texts)
        for cost_texts, periods in groupby(costs, key=itemgetter(1, 2))
        for labels in _consecutive([label for label, *_ in periods])
    ]
    return Card(title="Spent by period", columns=("period", "epsilon", "delta"), rows=rows)


def _consecutive(labels: list[str]) -> Iterator[list[str]]:
    """Split labels into runs; each has all dates from its first label to its last, in order."""
    run = labels[:1]
    for label in labels[1:]:
        if _all_between(run[0], label) == (*run, label):
            run.append(label)
        else:
            yield run
            run = [label]
    yield run


def _all_between(first: str, last: str) -> tuple[str, ...]:
    """Return the labels of the dates from the first to the last; empty if these are no dates."""
    try:
        return Periods.of(f"{first}..{last}").labels
    except GraphCutsError:
        return ()


def _migration_fields(migration: Migration) -> dict[str, Any]:
    spending = migration.spending
    return {
        "dry_run": migration.dry_run,
        "format_before": migration.before,
        "format_after": migration.after,
        "rewritten": list(migration.steps),
        "records": migration.records,
        "contents": migration.contents,
        "head": str(migration.head),
        "uses": spending.uses,
        "epsilon": spending.total.epsilon,
        "delta": spending.total.delta,
        "budget": None if spending.budget is None else str(spending.budget),
        "backup": str(migration.backup),
    }


def _migration_lines(store: str, migration: Migration) -> list[str]:
    """Return two lines: the format and what changes; what was spent, before and after."""
    verb = "would be copied" if migration.dry_run else "was copied"
    steps = ", ".join(f"{number} to {number + 1}" for number in migration.steps)
    rewritten = f"rewritten from format {steps}" if steps else "read as it is: nothing is rewritten"
    line = (
        f"{store} has format {migration.before} (this version writes {migration.after}) and is "
        f"{rewritten}; its {_count(migration.records, 'record')} and "
        f"{_count(migration.contents, 'kept content')} are "
        f"intact; it {verb} to {migration.backup}"
    )
    return [line, f"before and after: {migration.spending}"]


def _count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number:,} {noun}{'s' * (number != 1)}"
