"""Accounts of curators, analysts and monitors: their tokens, limits and logins."""

import hashlib
import hmac
import re
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, final

from graphcuts_dp.errors import LedgerError, ParameterError
from graphcuts_dp.ledger.opening import Budget
from graphcuts_dp.ledger.records import Head
from graphcuts_dp.options import check, privacy_option
from graphcuts_dp.server.book import Book, Changes, LogLine, log_text, now

CURATOR, ANALYST, MONITOR = ROLES = ("curator", "analyst", "monitor")
LOGIN_SECONDS = 12 * 3600.0  # after which a login of a page ends
MOST_QUERIES = 10**12  # the largest limit of guaranteed answers
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")  # of a person
_TOKEN = re.compile(r"gcdp_([0-9a-f]{16})_[A-Za-z0-9_-]{43}")  # with its public id
_DIGEST_OF_NOBODY = hashlib.sha256(b"nobody").digest()  # compared with where there is no token
# Columns of the table of people, in their order.
_COLUMNS = ("name", "role", "preapproved", "epsilon", "delta", "queries", "active", "graphs")


@dataclass(frozen=True, kw_only=True)
class Caps:
    """Limits of what one person may use, and whether the curator is asked each time.

    Raises:
        ParameterError: a limit out of range.
    """

    preapproved: bool = privacy_option(False, help="Sessions within the limits need no approval.")
    epsilon: float | None = privacy_option(
        None, help="Limit of epsilon for all sessions of this person together.", least=1e-6, most=50
    )
    delta: float = privacy_option(
        0.0, help="Limit of delta for all sessions of this person together.", least=0, below=1
    )
    queries: int | None = privacy_option(
        None, help="Limit of the number of guaranteed answers.", least=1, most=MOST_QUERIES
    )

    def __post_init__(self) -> None:
        check(self)
        if self.epsilon is None and self.delta:
            raise ParameterError("a limit of delta needs one of epsilon")

    @property
    def cap(self) -> Budget | None:
        """Return the limit of what all sessions of the person cost; None if there is none."""
        return None if self.epsilon is None else Budget(self.epsilon, self.delta)


@final
@dataclass(frozen=True, kw_only=True)
class Person(Caps):
    """Somebody with a token.

    Attributes:
        name: small letters, digits, "_" and "-".
        role: "curator" (approves, makes people, reads all), "analyst" (asks), or "monitor" (reads
            the metrics).
        active: whether tokens of the person are accepted.
        graphs: identifiers of the stores whose graphs the person may ask, separated by commas;
            empty for all graphs of the server.

    Raises:
        ParameterError: no name, an unknown role, or a limit out of range.
    """

    name: str
    role: str = ANALYST
    active: bool = True
    graphs: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not _NAME.fullmatch(self.name):
            raise ParameterError("a name is 1 to 40 small letters, digits, '_' and '-'")
        if self.role not in ROLES:
            raise ParameterError(f"a role is one of: {', '.join(ROLES)}")

    def may_ask(self, store: str) -> bool:
        """Return True if the person may ask the graph of a store; curators and monitors see all."""
        return self.role != ANALYST or not self.graphs or store in self.graphs.split(",")


def digest_of(text: str) -> bytes:
    """Return the digest by which a token, or another random text, is kept."""
    return hashlib.sha256(text.encode()).digest()


@final
@dataclass(frozen=True)
class Login:
    """The sender of a request, and the proof of it.

    Attributes:
        person: who sends the request.
        token: public id of the token; empty if a proxy has signed the person in.
        csrf: what a page must send along with a change; None for a request with a token.
    """

    person: Person
    token: str
    csrf: str | None = None


@final
class People:
    """The accounts of a registry.

    Args:
        book: open.
        record: called after each change of who may do what, so that the store records it, see
            `pairing`; None where there is no store.
    """

    def __init__(self, book: Book, record: Callable[[], None] | None = None) -> None:
        self.book = book
        self._record = record

    def record_change(self) -> None:
        """Have the store record the latest change.

        Raises:
            LedgerError: the store cannot be written. The change holds; after the next one, or at
                the next start, the store records both.
        """
        if self._record is None:
            return
        try:
            self._record()
        except LedgerError as problem:
            raise LedgerError(
                f"the change holds, but the store has not recorded it, so that an older copy of "
                f"{self.book.path} would go unnoticed: {problem}"
            ) from None

    def all(self) -> list[Person]:
        """Return everybody, by name."""
        return [_person(row) for row in self.book.rows("SELECT * FROM people ORDER BY name")]

    def find(self, name: str) -> Person:
        """Return one person.

        Raises:
            ParameterError: nobody of this name.
        """
        rows = []
        if _NAME.fullmatch(name):  # what is no name may be no text that a book can look for
            rows = self.book.rows("SELECT * FROM people WHERE name = ?", (name,))
        if not rows:
            raise ParameterError(f"there is nobody named {name!r:.60}")
        return _person(rows[0])

    def add(self, person: Person, *, by: str) -> str:
        """Add a person, and return the text of a first token, which is not kept: show it once.

        Raises:
            ParameterError: the name is taken.
        """
        token, text = _new_token()
        with self.book.writing() as changes:
            namesake = changes.execute("SELECT 1 FROM people WHERE name = ?", (person.name,))
            if namesake.fetchone():
                raise ParameterError(f"there is somebody named {person.name!r} already")
            row = tuple(getattr(person, column) for column in _COLUMNS)
            changes.execute("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            _keep_token(changes, person.name, token, text)
            changes.log(by, "person", {**_facts(person), "token": token}, access=True)
        with suppress(LedgerError):  # an older copy of the registry only lacks the token
            self.record_change()
        return text

    def change(self, person: Person, *, by: str) -> None:
        """Change the limits of a person, and whether their sessions need approval.

        Raises:
            ParameterError: nobody of this name.
        """
        former = self.find(person.name)
        new = replace(person, role=former.role, active=former.active, graphs=former.graphs)
        with self.book.writing() as changes:
            changes.execute(
                "UPDATE people SET preapproved = ?, epsilon = ?, delta = ?, queries = ? "
                "WHERE name = ?",
                (new.preapproved, new.epsilon, new.delta, new.queries, new.name),
            )
            changes.log(by, "caps", _facts(new), access=True)
        self.record_change()

    def restrict(self, name: str, stores: Sequence[str], *, by: str) -> None:
        """Change which graphs a person may ask.

        Args:
            name: of the person.
            stores: identifiers of the stores of the graphs; empty for all graphs.
            by: name of whoever changes it, for the log.

        Raises:
            ParameterError: nobody of this name.
        """
        self.find(name)
        graphs = ",".join(stores)
        with self.book.writing() as changes:
            changes.execute("UPDATE people SET graphs = ? WHERE name = ?", (graphs, name))
            changes.log(by, "graphs", {"name": name, "graphs": graphs}, access=True)
        self.record_change()

    def renew(self, name: str, *, by: str) -> str:
        """Withdraw all tokens of a person, and return a new one; tokens of the person count again.

        Raises:
            ParameterError: nobody of this name.
        """
        self.find(name)
        token, text = _new_token()
        with self.book.writing() as changes:
            _withdraw(changes, name)
            changes.execute("UPDATE people SET active = 1 WHERE name = ?", (name,))
            _keep_token(changes, name, token, text)
            changes.log(by, "token", {"name": name, "token": token}, access=True)
        self.record_change()
        return text

    def revoke(self, name: str, *, by: str) -> None:
        """Withdraw all tokens and logins of a person. What was answered stays on the record.

        Raises:
            ParameterError: nobody of this name.
        """
        self.find(name)
        with self.book.writing() as changes:
            _withdraw(changes, name)
            changes.execute("UPDATE people SET active = 0 WHERE name = ?", (name,))
            changes.log(by, "revoked", {"name": name}, access=True)
        self.record_change()

    def revoke_all(self, *, by: str) -> int:
        """Withdraw all tokens, logins, grants and approvals beforehand, of all people.

        Limits stay, and so do requests for sessions.

        Returns:
            How many people had a token.
        """
        with self.book.writing() as changes:
            (active,) = changes.execute("SELECT COUNT(*) FROM people WHERE active").fetchone()
            changes.execute("DELETE FROM logins")
            changes.execute("DELETE FROM grants")
            changes.execute("UPDATE tokens SET active = 0")
            changes.execute("UPDATE people SET active = 0, preapproved = 0")
            changes.log(by, "all-revoked", {"people": active}, access=True)
        self.record_change()
        return int(active)

    def of_token(self, text: str) -> Login | None:
        """Return the login by a token; None if it is not valid."""
        match = _TOKEN.fullmatch(text)
        token = match[1] if match else ""
        rows = self.book.rows(
            "SELECT digest, person FROM tokens WHERE id = ? AND active = 1", (token,)
        )
        digest, holder = rows[0] if rows else (_DIGEST_OF_NOBODY, "")
        # It takes as long if there is no such token.
        if not hmac.compare_digest(digest_of(text), digest) or not rows:
            return None
        return self._login(holder, token)

    def of_name(self, name: str, *, csrf: str) -> Login | None:
        """Return the login of a person whom a proxy has signed in; None without an account.

        Args:
            name: as the proxy states it.
            csrf: token that a change must have, as browsers send a proxy's cookie by themselves.
        """
        try:
            return self._login(name, "", csrf)
        except ParameterError:
            return None

    def log_in(self, login: Login) -> tuple[str, str]:
        """Begin a login of a page, and return its secret, for a cookie, and its CSRF token."""
        secret, csrf = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        with self.book.writing() as changes:
            changes.execute("DELETE FROM logins WHERE ends < ?", (time.time(),))
            changes.execute(
                "INSERT INTO logins VALUES (?, ?, ?, ?)",
                (digest_of(secret), login.token, csrf, time.time() + LOGIN_SECONDS),
            )
            changes.log(login.person.name, "login", {"token": login.token})
        return secret, csrf

    def of_login(self, secret: str | None) -> Login | None:
        """Return the login by the secret of a cookie; None if it is not valid."""
        rows = self.book.rows(
            "SELECT tokens.person, tokens.id, logins.csrf FROM logins JOIN tokens "
            "ON tokens.id = logins.token WHERE logins.digest = ? AND tokens.active = 1 "
            "AND logins.ends > ?",
            (digest_of(secret or ""), time.time()),
        )
        return self._login(*rows[0]) if rows else None

    def log_out(self, secret: str) -> None:
        """End a login."""
        with self.book.writing() as changes:
            changes.execute("DELETE FROM logins WHERE digest = ?", (digest_of(secret),))

    def grant(self, reader: str, analyst: str, *, allowed: bool, by: str) -> None:
        """Let an analyst read the answers of another, or no longer.

        Raises:
            ParameterError: nobody of these names.
        """
        self.find(reader)
        self.find(analyst)
        with self.book.writing() as changes:
            changes.execute("DELETE FROM grants WHERE reader = ? AND owner = ?", (reader, analyst))
            if allowed:
                changes.execute("INSERT INTO grants VALUES (?, ?)", (reader, analyst))
            granted = {"reader": reader, "analyst": analyst, "allowed": allowed}
            changes.log(by, "grant", granted, access=True)
        self.record_change()

    def analysts_read_by(self, reader: str) -> set[str]:
        """Return the analysts whose answers somebody was granted to read."""
        rows = self.book.rows("SELECT owner FROM grants WHERE reader = ?", (reader,))
        return {analyst for (analyst,) in rows}

    def log_lines(self, after: int = 0, limit: int = -1) -> Iterator[tuple[LogLine, bytes]]:
        """Yield lines of the audit log, with their digests."""
        rows = self.book.rows(
            "SELECT seq, time, who, what, body, digest FROM audit WHERE seq > ? "
            "ORDER BY seq LIMIT ?",
            (after, limit),
        )
        for row in rows:
            yield LogLine(*row[:5]), row[5]

    def log_text(self) -> str:
        """Return the audit log as JSON lines, see `book.log_text`."""
        return log_text(self.book.salt, self.book.log_start, self.log_lines())

    @property
    def log_head(self) -> Head:
        """Return the latest line of the audit log and its digest."""
        return self.book.log_head

    def _login(self, holder: str, token: str, csrf: str | None = None) -> Login | None:
        """Return the login of a person; None if their tokens were withdrawn.

        Raises:
            ParameterError: nobody of this name.
        """
        person = self.find(holder)
        return Login(person, token, csrf) if person.active else None


def _new_token() -> tuple[str, str]:
    """Make a token: its public id, and its text, which is shown once and kept as a digest.

    The text has 32 random bytes, so that one fast digest suffices: nobody can try them all. Its
    first part names the row to compare with; that comparison takes the same time wherever the
    texts differ.
    """
    token = secrets.token_hex(8)
    return token, f"gcdp_{token}_{secrets.token_urlsafe(32)}"


def _person(row: tuple[Any, ...]) -> Person:
    """Return a person from a row of the table."""
    fields = dict(zip(_COLUMNS, row, strict=True))
    flags = {name: bool(fields[name]) for name in ("preapproved", "active")}
    return Person(**{**fields, **flags})


def _facts(person: Person) -> dict[str, Any]:
    """Return the plain values of a person for the audit log."""
    names = [name for name in _COLUMNS if name != "active" and (name != "graphs" or person.graphs)]
    return {name: getattr(person, name) for name in names}


def _keep_token(changes: Changes, person: str, token: str, text: str) -> None:
    """Store the digest of a token of a person."""
    values = (token, person, digest_of(text), now())
    changes.execute("INSERT INTO tokens VALUES (?, ?, ?, ?, 1)", values)


def _withdraw(changes: Changes, name: str) -> None:
    """Withdraw all tokens and logins of a person."""
    tokens = "(SELECT id FROM tokens WHERE person = ?)"
    changes.execute(f"DELETE FROM logins WHERE token IN {tokens}", (name,))  # noqa: S608
    changes.execute("UPDATE tokens SET active = 0 WHERE person = ?", (name,))
