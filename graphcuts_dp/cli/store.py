"""`graphcuts-dp store`: what a store has recorded, and whether a result belongs to it."""

import typer

from graphcuts_dp.cli.console import Report
from graphcuts_dp.cli.options import Commands
from graphcuts_dp.cli.session import status
from graphcuts_dp.cli.spending import store_named
from graphcuts_dp.release.receipt_check import check_receipt

store = Commands(help="Look after a store: what was spent, and which results belong to it.")
store.command("status")(status)


@store.command("check")
def check(
    *,
    store: str = typer.Argument(metavar="STORE", help="The store that was charged."),
    result: str = typer.Argument(metavar="RESULT", help="The saved result, as it was named."),
) -> Report:
    """Compare a saved result and its receipt with the store that was charged for it.

    Example: graphcuts-dp store check mail.db synthetic.graphml

    The command says which use of the store the result is, and what was spent on the same data
    before it. It fails if a file was changed, or if receipt and store do not agree.
    """
    checked = check_receipt(store_named(store), result)
    facts = {"result": result, "store": store, "what the store says": str(checked)}
    if not checked.recorded:
        facts["files"] = "the store has not recorded them: they were saved outside of a command"
    return Report(checked.to_dict(), [facts])
