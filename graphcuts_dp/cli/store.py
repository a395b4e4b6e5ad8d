"""`graphcuts-dp store`: what a store has recorded, whether a result belongs to it, its format."""

from typing import Any

import typer

from graphcuts_dp.cli.console import Report, write_out
from graphcuts_dp.cli.options import FORCE, OUT, Commands
from graphcuts_dp.cli.session import status
from graphcuts_dp.cli.spending import store_named
from graphcuts_dp.ledger.migration import Migration, migrate_store
from graphcuts_dp.options import output_option
from graphcuts_dp.release.receipt_check import check_receipt
from graphcuts_dp.session.transcript import store_status

store: Commands = Commands(
    help="Show what was spent from a store, check results against it, or export it."
)
store.command("status")(status)


@store.command("check")
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


@store.command("migrate")
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
    return Report(_fields(migration), _lines(store, migration))


@store.command("export")
def export(
    *,
    store: str = typer.Argument(metavar="STORE", help="The store."),
    output: str | None = OUT,
    force: bool = FORCE,
) -> None:
    """Print what was spent as JSON, for other tools that add it up.

    Example: graphcuts-dp store export mail.db -o ledger.json

    The document has only public facts: what was spent in total and by each use, the privacy unit,
    and the events of each use for dp_accounting. It has no data, answers, or names of files. Its
    fields are described in the documentation, under reliability.
    """
    document = store_status(store_named(store)).to_json()
    write_out([document, "\n"], output, force=force)


def _fields(migration: Migration) -> dict[str, Any]:
    account = migration.account
    return {
        "dry_run": migration.dry_run,
        "format_before": migration.before,
        "format_after": migration.after,
        "rewritten": list(migration.steps),
        "records": migration.records,
        "contents": migration.contents,
        "head": str(migration.head),
        "uses": account.uses,
        "epsilon": account.total.epsilon,
        "delta": account.total.delta,
        "budget": None if account.budget is None else str(account.budget),
        "backup": str(migration.backup),
    }


def _lines(store: str, migration: Migration) -> list[str]:
    """Two lines: the format and what changes; what was spent, before and after."""
    verb = "would be copied" if migration.dry_run else "was copied"
    steps = ", ".join(f"{number} to {number + 1}" for number in migration.steps)
    rewritten = f"rewritten from format {steps}" if steps else "read as it is: nothing is rewritten"
    line = (
        f"{store} has format {migration.before} (this version writes {migration.after}) and is "
        f"{rewritten}; its {_count(migration.records, 'record')} and "
        f"{_count(migration.contents, 'kept content')} are "
        f"intact; it {verb} to {migration.backup}"
    )
    return [line, f"before and after: {migration.account}"]


def _count(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number:,} {noun}{'s' * (number != 1)}"
