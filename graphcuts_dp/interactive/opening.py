"""What a ledger and a session are about: graph, budget, parameters; finding and beginning one."""

import hashlib
import hmac
import json
import math
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

from graphcuts_dp._version import __version__
from graphcuts_dp.errors import BudgetError, LedgerError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.graph.vertices import VertexSet
from graphcuts_dp.interactive.ledger import Kind, Ledger
from graphcuts_dp.interactive.spending import Budget, cost_from_dict, cost_to_dict
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee

_FORMAT = 2


@final
@dataclass(frozen=True)
class Terms:
    """What the BEGIN record of a session says. All of it is public.

    Attributes:
        number: of the session, from 1.
        name: of the session, each once in a ledger.
        parameters: of the mechanism, plain values.
        cost: what the whole session costs.
        guarantee: what it promises.
        source: how to read the graph again; empty if that is not known.
    """

    number: int
    name: str
    parameters: dict[str, Any]
    cost: Cost
    guarantee: PrivacyGuarantee
    source: dict[str, Any]

    @property
    def seed(self) -> int | None:
        """Of the noise; a seed voids the promise."""
        return self.guarantee.seed


def open_ledger(path: Path, graph: AnyGraph | None, *, timeout: float = 30.0) -> Ledger:
    """Open a ledger and check that it is about this graph.

    Args:
        path: an existing store.
        graph: the private graph; None to read the record only.
        timeout: seconds to wait for others.

    Raises:
        LedgerError: as `Ledger`; or the ledger is about another graph, or it has changed.
    """
    path = path.resolve()  # SQLite puts its log beside the file itself, not beside a link to it
    ledger = Ledger(path, timeout=timeout)
    try:
        header = ledger.header
        if header.get("format") != _FORMAT:
            raise LedgerError(f"the store {path} was written by another version of this program")
        if graph is not None:
            salt = bytes.fromhex(header["salt"])
            if not hmac.compare_digest(bytes.fromhex(header["graph"]), _fingerprint(graph, salt)):
                raise LedgerError(
                    f"the graph is not the one that {path} is about, or it has changed; "
                    "a ledger is for one graph, so make another store for this one"
                )
    except (LookupError, TypeError, ValueError):
        ledger.close()
        raise LedgerError(f"the store {path} was altered: its header is damaged") from None
    except BaseException:
        ledger.close()
        raise
    return ledger


def create_ledger(path: Path, graph: AnyGraph, budget: Budget | None) -> None:
    """Make a ledger about a graph, unless somebody else has just made one at this path.

    The graph's digest is keyed by a salt that lies beside it, so both are as private as the store.

    Raises:
        LedgerError: the file cannot be written.
    """
    salt = secrets.token_bytes(32)
    sides = [graph.vertices] if isinstance(graph, Graph) else [graph.left, graph.right]
    header = {
        "format": _FORMAT,
        "made_by": f"graphcuts_dp {__version__}",
        "salt": salt.hex(),
        "graph": _fingerprint(graph, salt).hex(),
        "vertices": [len(side) if side.is_default else list(side.labels) for side in sides],
        "weighted": graph.weighted,
        "weight_cap": graph.weight_cap,
        "budget": None if budget is None else asdict(budget),
    }
    Ledger.create(path, header)


def ledger_budget(ledger: Ledger) -> Budget | None:
    """The cap on the sum of all sessions, or None."""
    stored = ledger.header["budget"]
    return None if stored is None else Budget(**stored)


def ledger_universe(ledger: Ledger) -> Universe:
    """The public vertex pairs that a ledger is about."""
    left, *right = (VertexSet(labels) for labels in ledger.header["vertices"])
    return Universe(left, *right)


def session_terms(ledger: Ledger) -> list[Terms]:
    """The terms of all sessions, in order; within `Ledger.locked`."""
    found = []
    for number, totals in ledger.sessions.items():
        _, body = ledger.record(totals.begin)
        try:
            told = body["guarantee"]
            found.append(
                Terms(
                    number,
                    body["name"],
                    body["parameters"],
                    cost_from_dict(body["cost"]),
                    PrivacyGuarantee(
                        epsilon=told["epsilon"],
                        delta=told["delta"],
                        neighbours=told["neighbours"],
                        public=told["public"],
                        seed=told["seed"],
                        parts=tuple(told["parts"].items()),
                    ),
                    body["source"],
                )
            )
        except (LookupError, TypeError):
            path = ledger.file.path
            raise LedgerError(f"the store {path} was written by another version") from None
    return found


def session_source(
    store: Path, name: str, *, moved_to: str | None = None
) -> tuple[str, dict[str, Any]]:
    """Where the graph of a session is, and how to read it again.

    Args:
        store: an existing one.
        name: of a session in it.
        moved_to: where the graph's file is now, if it has moved.

    Returns:
        The path, and the options with which it was read.

    Raises:
        LedgerError: as `open_ledger`.
        ParameterError: no such session, or nobody knows where the graph is.
    """
    ledger = open_ledger(store, None)
    try:
        with ledger.locked():
            terms = {each.name: each for each in session_terms(ledger)}
    finally:
        ledger.close()
    if name not in terms:
        known = ", ".join(terms) or "none"
        raise ParameterError(f"no session {name!r} in {store}; there is: {known}")
    source = dict(terms[name].source)
    path = source.pop("path", None) if moved_to is None else moved_to
    source.pop("path", None)
    if path is None:
        raise ParameterError("the store does not know where the graph is; pass --graph")
    if moved_to is None and not Path(path).is_file():
        raise ParameterError(f"the graph is no longer at {path}; pass --graph")
    return str(path), source


def check_budget(budget: Budget | None, spent: list[Cost], cost: Cost) -> None:
    """Refuse a session that the budget does not allow.

    Raises:
        BudgetError: it would cost too much.
    """
    if budget is not None and not budget.allows([*spent, cost]):
        deltas = sum(other.delta for other in [*spent, cost] if other.pure is None)
        hint = (
            f". Sessions that share a budget may state deltas of {budget.delta / 2:g} together, "
            "half of the budget's: choose a smaller delta"
            if spent and deltas > budget.delta / 2
            else ""
        )
        raise BudgetError(
            f"the graph's budget ({budget}) does not allow another session of epsilon = "
            f"{cost.epsilon:g}, delta = {cost.delta:g}; nothing was spent{hint}"
        )


def begin_session(
    ledger: Ledger,
    *,
    name: str,
    parameters: dict[str, Any],
    cost: Cost,
    guarantee: PrivacyGuarantee,
    source: dict[str, Any],
) -> int:
    """Write the terms of a session; its whole cost is spent from then on. Within `Ledger.locked`.

    Raises:
        BudgetError: the budget does not allow it.
        LedgerError: the store cannot be written.
    """
    terms = session_terms(ledger)
    check_budget(ledger_budget(ledger), [other.cost for other in terms], cost)
    number = len(terms) + 1
    body = {
        "name": name,
        "parameters": parameters,
        "cost": cost_to_dict(cost),
        "guarantee": guarantee.to_dict(),
        "source": source,
        "made_by": f"graphcuts_dp {__version__}",
    }
    with ledger.writing() as entries:
        entries.plain(Kind.BEGIN, number, body)
    return number


def checked_name(name: str) -> str:
    """A session's name, checked.

    Raises:
        ParameterError: empty, too long, or with characters that cannot be printed.
    """
    if not isinstance(name, str) or not 0 < len(name) <= 100 or not name.isprintable():
        raise ParameterError("a session's name is a printable text of 1 to 100 characters")
    return name


def _fingerprint(graph: AnyGraph, salt: bytes) -> bytes:
    """Keyed SHA-256 of all that the graph is. Private: it tells whether a guess is right."""
    digest = hmac.new(salt, digestmod=hashlib.sha256)
    sides = [graph.vertices] if isinstance(graph, Graph) else [graph.left, graph.right]
    cap = graph.weight_cap
    schema = {
        "vertices": [len(side) if side.is_default else list(side.labels) for side in sides],
        "weighted": graph.weighted,
        "cap": None if cap is None or math.isinf(cap) else float(cap).hex(),
        "edges": len(graph.rows),
    }
    digest.update(json.dumps(schema).encode() + b"\0")
    for array, form in ((graph.rows, "<i4"), (graph.columns, "<i4"), (graph.weights, "<f8")):
        digest.update(array.astype(form, copy=False).tobytes())
    return digest.digest()
