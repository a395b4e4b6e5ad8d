"""`graphcuts-dp session status | export | list`: what is on a store. The graph is not read."""

import json
import sys
from collections.abc import Iterator
from contextlib import closing

from graphcuts_dp.cli import options
from graphcuts_dp.cli.console import out, show_facts, show_json, show_table
from graphcuts_dp.cli.reading import check_apart
from graphcuts_dp.cli.store_options import store_named
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.files import atomic_write
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.opening import open_ledger
from graphcuts_dp.session.runner import SessionStatus
from graphcuts_dp.session.transcript import LedgerStatus, export_ledger, ledger_status, store_status

STATUS_EXAMPLE = "Example: graphcuts-dp session status mail.db"
LIST_EXAMPLE = "Example: graphcuts-dp session list mail.db"
EXPORT_EXAMPLE = """Example: graphcuts-dp session export mail.db -o transcript.json

The transcript contains every answer with its query, and the guarantee for all of them. It contains
nothing secret, so you may publish it."""


def status(
    store: options.SessionStore,
    name: options.AnyName = None,
    expect_head: options.ExpectHead = None,
    as_json: options.Json = False,
) -> None:
    """Show what the sessions have spent, and what is left of them."""
    found = store_status(store_named(store, expect_head=expect_head))
    chosen = _chosen(found, name)
    if as_json:
        show_json({**found.to_dict(), "sessions": [each.to_dict() for each in chosen]})
        return
    for each in chosen:
        show_facts(session_facts(each))
        out.print()
    show_facts(totals(found))


def list_sessions(store: options.SessionStore, as_json: options.Json = False) -> None:
    """List the sessions in a store."""
    found = store_status(store_named(store))
    if as_json:
        show_json([each.to_dict() for each in found.sessions])
        return
    columns = ("session", "state", "method", "epsilon", "delta", "answers", "left")
    rows = [
        (
            each.terms.name,
            each.state,
            each.terms.parameters["method"],
            f"{each.terms.cost.epsilon:g}",
            f"{each.terms.cost.delta:g}",
            f"{each.answers:,}",
            _left(each),
        )
        for each in found.sessions
    ]
    show_table(f"Sessions in {store}", columns, rows)


def export(
    store: options.SessionStore,
    output: options.Output = None,
    name: options.AnyName = None,
    expect_head: options.ExpectHead = None,
    force: options.ForceOutput = False,
) -> None:
    """Write the transcript and its guarantee, as JSON."""
    check_apart([output], store)
    with closing(open_ledger(store_named(store, expect_head=expect_head))) as ledger:
        _chosen(ledger_status(ledger), name)
        if output is None:
            sys.stdout.writelines(_document(ledger, name))
        else:
            with atomic_write(output, force=force) as handle:
                handle.writelines(part.encode() for part in _document(ledger, name))


def _document(ledger: Ledger, name: str | None) -> Iterator[str]:
    """One JSON object, an answer on each line."""
    parts = export_ledger(ledger, name)
    header = json.dumps(next(parts), indent=2)
    yield header.removesuffix("\n}") + ',\n  "answers": ['
    for index, answer in enumerate(parts):
        yield (",\n    " if index else "\n    ") + json.dumps(answer)
    yield "\n  ]\n}\n"


def _chosen(found: LedgerStatus, name: str | None) -> list[SessionStatus]:
    chosen = [each for each in found.sessions if name in (None, each.terms.name)]
    if name is not None and not chosen:
        known = ", ".join(each.terms.name for each in found.sessions) or "none"
        raise ParameterError(f"no session {name!r} in the store; there is: {known}")
    return chosen


def session_facts(each: SessionStatus) -> dict[str, str]:
    """Where a session stands, for printing."""
    facts = {
        "session": f"{each.terms.name} ({each.state})",
        "method": str(each.terms.parameters["method"]),
        "guarantee": str(each.terms.guarantee),
        "answers": f"{each.answers:,}, {each.corrections:,} of them corrected",
        "queries left": _left(each),
    }
    if each.remaining.updates is not None:
        facts["corrections left"] = f"{each.remaining.updates:,}"
    if each.interruptions:
        facts["interruptions"] = f"{each.interruptions:,}, counted as spent"
    return facts


def _left(each: SessionStatus) -> str:
    left = each.remaining.queries
    return "no limit" if left is None else f"{left:,}"


def totals(found: LedgerStatus) -> dict[str, str]:
    """What all uses of the data cost together, for printing."""
    delta = f", delta = {found.delta:g}" if found.delta else ""
    mark = " (seeded: not private)" if found.seeded else ""
    return {
        "all uses together": f"epsilon = {found.epsilon:.4g}{delta}{mark}",
        "protects": found.protects,
        "budget": found.budget or "no cap",
        "head": found.head,
    }
