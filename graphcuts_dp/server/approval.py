"""Sessions that analysts ask for: within whose caps, approved by whom, and in which state."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

from graphcuts_dp.errors import BudgetError
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.ledger.uses import Use
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.pairs.vertices import sets_in
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.guarantee import delta_warning
from graphcuts_dp.server.book import Book, Changes, now
from graphcuts_dp.server.people import Person
from graphcuts_dp.session.terms import SessionTerms

WAITING, APPROVED, REFUSED = "waiting", "approved", "refused"


def id_of_session(owner: str, name: str) -> str:
    """How a session is named over HTTP and on the store; neither part holds a dot."""
    return f"{owner}.{name}"


@final
@dataclass(frozen=True)
class Request:
    """A session that somebody asked for.

    Attributes:
        id: "owner.name", its name on the store, too.
        owner: who asked.
        terms: keywords of `open_session`.
        state: "waiting", "approved" or "refused".
        asked: when.
        note: of the curator, if there is one.
    """

    id: str
    owner: str
    terms: dict[str, Any]
    state: str
    asked: str
    note: str | None

    @property
    def name(self) -> str:
        """Without the owner."""
        return self.id.partition(".")[2]


@final
@dataclass(frozen=True)
class Forecast:
    """What a session would be, told before anything is spent.

    Attributes:
        cost: of the whole session.
        guarantee: as text.
        error: within which all answers are promised, in weight, if the guess of edges is right.
        warning: a sentence when that is worthless or its delta too large, or None.
    """

    cost: Cost
    guarantee: str
    error: float
    warning: str | None


def forecast(terms: dict[str, Any], universe: Universe, grid: Grid) -> Forecast:
    """What a session of these terms would be. Reads public numbers alone.

    Raises:
        ParameterError: a number out of range, or a method that does not suit the graph.
    """
    agreed = SessionTerms.of(**terms).resolved(universe, grid)
    mechanism = agreed.mechanism(universe, grid)
    count = sum(map(len, sets_in(universe.space)))
    worries = (
        delta_warning(mechanism.cost.delta, count=count),
        agreed.warning(universe, grid),
    )
    return Forecast(
        cost=mechanism.cost,
        guarantee=str(agreed.guarantee(mechanism, None)),
        error=agreed.expected_error(universe, grid),
        warning="; ".join(filter(None, worries)) or None,
    )


@final
class Requests:
    """The sessions that were asked for, in a book.

    Args:
        book: open.
    """

    def __init__(self, book: Book) -> None:
        self.book = book

    def all(self) -> list[Request]:
        """In the order in which they were asked for."""
        columns = "id, owner, terms, state, asked, note"
        rows = self.book.rows(f"SELECT {columns} FROM requests ORDER BY rowid")  # noqa: S608
        return [_request(row) for row in rows]

    def find(self, name: str) -> Request | None:
        """One of them by its id."""
        return next((each for each in self.all() if each.id == name), None)

    def add(
        self, changes: Changes, person: Person, name: str, terms: dict[str, Any], *, by_itself: bool
    ) -> Request:
        """Keep a session of a new name that was asked for; `by_itself` approves it at once."""
        state, time = APPROVED if by_itself else WAITING, now()
        name = id_of_session(person.name, name)
        values = (name, person.name, json.dumps(terms, sort_keys=True), state, time, None, None)
        changes.execute("INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        changes.log(person.name, "request", {"session": name, "terms": terms, "state": state})
        return Request(name, person.name, terms, state, time, None)

    def decide(
        self, changes: Changes, request: Request, state: str, note: str | None, *, by: str
    ) -> None:
        """Keep the curator's decision; a note of an earlier one stays unless there is a new one."""
        changes.execute(
            "UPDATE requests SET state = ?, decided = ?, note = ? WHERE id = ?",
            (state, now(), note or request.note, request.id),
        )
        changes.log(by, state, {"session": request.id, "note": note})


@final
@dataclass(frozen=True)
class Claims:
    """What counts against the caps of one person.

    Attributes:
        costs: of the sessions that are on the store, then of those that have not begun.
        queries: that all of these promise.
        not_begun: how many were approved and are not on the store.
    """

    costs: tuple[Cost, ...]
    queries: int
    not_begun: int


def check_caps(person: Person, claims: Claims, terms: dict[str, Any], cost: Cost) -> None:
    """Refuse a session that the caps of a person do not allow beside what counts against them.

    Raises:
        BudgetError: a cap does not allow it.
    """
    held = f" ({claims.not_begun} of them approved and not begun)" if claims.not_begun else ""
    if person.cap is not None and not person.cap.allows([*claims.costs, cost]):
        raise BudgetError(
            f"your cap ({person.cap}) does not allow this session beside those you have{held}; "
            "nothing was spent"
        )
    if person.queries is not None and claims.queries + terms["queries"] > person.queries:
        left = max(0, person.queries - claims.queries)
        raise BudgetError(
            f"your cap of {person.queries:,} queries leaves {left:,} beside the sessions you have"
            f"{held}; nothing was spent"
        )


def own_uses(name: str, uses: Sequence[Use]) -> list[Use]:
    """The sessions of one person among all uses."""
    return [use for use in uses if use.kind == "session" and use.name.startswith(f"{name}.")]


def _request(row: tuple[Any, ...]) -> Request:
    name, owner, terms, state, asked, note = row
    return Request(name, owner, json.loads(terms), state, asked, note)
