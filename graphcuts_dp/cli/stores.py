"""`graphcuts-dp store status`: everything that was spent on private data. They are not read."""

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import show_facts, show_json, show_table
from graphcuts_dp.cli.options import Commands
from graphcuts_dp.cli.session_record import totals
from graphcuts_dp.cli.store_options import store_named
from graphcuts_dp.session.transcript import UseStatus, store_status

STATUS_EXAMPLE = """Example: graphcuts-dp store status mail.db

The command shows all releases and sessions on one graph, who began them and when, and what they
cost together. Keep the head that it prints: with --expect-head, every command that opens the
store refuses an older copy of it."""

stores = Commands(
    help="Show what was spent on private data, by all commands together.",
)


@stores.callback()
def _group() -> None:
    """Show what was spent on private data, by all commands together."""


@stores.command(epilog=STATUS_EXAMPLE)
def status(
    store: options.SessionStore,
    expect_head: options.ExpectHead = None,
    as_json: options.Json = False,
) -> None:
    """List all uses of the data, and what they cost together."""
    found = store_status(store_named(store, expect_head=expect_head))
    if as_json:
        show_json(found.to_dict())
        return
    columns = ("began (UTC)", "by", "use", "state", "epsilon", "delta")
    show_table(f"Spent on the data of {store}", columns, [_row(each) for each in found.uses])
    show_facts(totals(found))


def _row(each: UseStatus) -> tuple[str, ...]:
    use = each.use
    name = f"{use.kind} {use.name}".rstrip()
    mark = "" if use.seed is None else " (seeded: not private)"
    cost = use.guarantee
    return (
        use.time.removesuffix("+00:00").replace("T", " "),
        use.user,
        name + mark,
        each.state,
        f"{cost.epsilon:g}",
        f"{cost.delta:g}",
    )
