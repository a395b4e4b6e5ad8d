"""Requests of analysts for sessions, as the registry of a server has them, and who may see them.

A request is in the registry from when it is sent. Whether its session has begun is on the store
alone, see `desk`.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, final

from graphcuts_dp.server.book import Book, Changes, now
from graphcuts_dp.server.models import RefusedError
from graphcuts_dp.server.people import CURATOR, People, Person

WAITING, APPROVED, REFUSED = "waiting", "approved", "refused"
NO_SESSION: Final = "there is no such session, or it is not yours"
NOT_BEGUN: Final = {
    WAITING: "the session waits for the curator",
    REFUSED: "the curator refused this session",
    APPROVED: "the session was approved but could not begin, and nothing was spent; ask for it "
    "again with the same name and terms",
}
_COLUMNS = "id, owner, terms, state, asked, note"  # `asked` is the time, `owner` the analyst


@final
@dataclass(frozen=True)
class SessionRequest:
    """A session that an analyst asked for.

    Attributes:
        id: "analyst.name", its name on the store, too.
        analyst: who asked for it.
        terms: keywords of `open_session`.
        state: "waiting", "approved" or "refused".
        time: of the request, in UTC, as ISO 8601 writes it.
        note: of the curator; None if there is none.
    """

    id: str
    analyst: str
    terms: dict[str, Any]
    state: str
    time: str
    note: str | None

    @property
    def name(self) -> str:
        """Return the name without the analyst."""
        return self.id.partition(".")[2]


def id_of_session(analyst: str, name: str) -> str:
    """Return the name of a session over HTTP and on the store; neither part has a dot."""
    return f"{analyst}.{name}"


@final
class SessionRequests:
    """The requests for sessions on one graph.

    Args:
        book: the registry.
        store: identifier of the store of the graph.
        people: the accounts of the registry.
    """

    def __init__(self, book: Book, store: str, people: People) -> None:
        self._book = book
        self._store = store
        self._people = people

    def __iter__(self) -> Iterator[SessionRequest]:
        """Yield all requests, in the order in which they came."""
        return self._select("1")

    def in_state(self, state: str) -> Iterator[SessionRequest]:
        """Yield the requests in a state."""
        return self._select("state = ?", state)

    def find(self, session: str) -> SessionRequest | None:
        """Return the request for a session, by "analyst.name"; None if there is none."""
        return next(self._select("id = ?", session), None)

    def get(self, session: str) -> SessionRequest:
        """Return the request for a session, by "analyst.name".

        Raises:
            RefusedError: there is none.
        """
        request = self.find(session)
        if request is None:
            raise RefusedError(404, NO_SESSION)
        return request

    def visible_to(self, person: Person) -> Iterator[SessionRequest]:
        """Yield the requests that a person may see: their own, granted ones; all for a curator."""
        condition, analysts = self._visibility(person)
        return self._select(condition, *analysts)

    def get_visible(self, person: Person, session: str) -> SessionRequest:
        """Return the request for a session that somebody may see.

        Raises:
            RefusedError: there is none of this name, or the person may not see it. Both have the
                same message, and read the same rows.
        """
        condition, analysts = self._visibility(person)
        request = next(self._select(f"id = ? AND {condition}", session, *analysts), None)
        if request is None:
            raise RefusedError(404, NO_SESSION)
        return request

    def add(self, changes: Changes, request: SessionRequest) -> None:
        """Add a request, in a transaction of the registry."""
        changes.execute(
            "INSERT INTO requests VALUES (?, ?, ?, ?, ?, NULL, NULL, ?)",
            (
                request.id,
                request.analyst,
                json.dumps(request.terms, sort_keys=True),
                request.state,
                request.time,
                self._store,
            ),
        )

    def decide(
        self, changes: Changes, request: SessionRequest, state: str, note: str | None
    ) -> None:
        """Change the state of a request, and its note unless `note` is None."""
        changes.execute(
            "UPDATE requests SET state = ?, decided = ?, note = ? WHERE store = ? AND id = ?",
            (state, now(), note or request.note, self._store, request.id),
        )

    def counts(self) -> dict[str, int]:
        """Return the number of requests in each state."""
        rows = self._book.rows(
            "SELECT state, COUNT(*) FROM requests WHERE store = ? GROUP BY state", (self._store,)
        )
        return dict(rows)

    def _visibility(self, person: Person) -> tuple[str, tuple[str, ...]]:
        """Return the condition of SQL on requests that a person may see, and its values."""
        if person.role == CURATOR:
            return "1", ()
        analysts = (person.name, *self._people.analysts_read_by(person.name))
        return f"({' OR '.join(['owner = ?'] * len(analysts))})", analysts

    def _select(self, condition: str, *values: object) -> Iterator[SessionRequest]:
        """Yield the requests for which a condition of SQL holds; terms are read one at a time."""
        statement = (
            f"SELECT {_COLUMNS} FROM requests WHERE store = ? AND {condition} "  # noqa: S608
            "ORDER BY rowid"
        )
        for session, analyst, terms, state, time, note in self._book.rows(
            statement, (self._store, *values)
        ):
            yield SessionRequest(session, analyst, json.loads(terms), state, time, note)
