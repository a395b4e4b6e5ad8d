"""A server in this process on a small graph, with accounts, for tests of the server."""

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import httpx
import numpy as np

import graphcuts_dp as gc
from graphcuts_dp import QueryError, Store
from graphcuts_dp.ledger.opening import create_ledger
from graphcuts_dp.privacy.default_unit import EDGE
from graphcuts_dp.server.app import make_app
from graphcuts_dp.server.book import Book, book_of
from graphcuts_dp.server.desk import Desk
from graphcuts_dp.server.people import Person
from graphcuts_dp.server.service import Service
from graphcuts_dp.server.settings import Limits, Ticks

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from fastapi.testclient import TestClient

N = 24  # vertices
TERMS = {"epsilon": 0.5, "delta": 0.0, "queries": 10, "method": "laplace"}
NO_LIMITS = Limits(rate=1e6, burst=10**6, failures=10**6)  # more requests than any test sends


def labelled_graph(seed: int = 1, n: int = N) -> gc.Graph:
    """Return a random graph of about 4n edges on vertices v0, v1, ..."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(n, size=(2, 4 * n))
    return gc.Graph(rows, columns, vertices=[f"v{i}" for i in range(n)])


def halves_of(graph: gc.Graph) -> gc.Groups:
    """Return the groups `left` and `right`, each of one half of the vertices."""
    half = len(graph.vertices) // 2
    codes = {
        label: "left" if i < half else "right" for i, label in enumerate(graph.vertices.labels)
    }
    return gc.Groups.of(codes, graph)


def body_of(reply: httpx.Response, status: int = 200) -> Any:
    """Check the status of a reply and return its JSON; None if it has no body."""
    assert reply.status_code == status, reply.text
    return reply.json() if reply.content else None


def refusal_of(reply: httpx.Response, kind: str, status: int = 409) -> dict[str, Any]:
    """Check that a reply is a refusal of a kind, as in RFC 9457, and return its JSON."""
    body = body_of(reply, status)
    assert reply.headers["content-type"] == "application/problem+json"
    assert {"type", "title", "status", "detail"} <= set(body)
    assert (body["status"], body["type"]) == (status, f"urn:graphcuts-dp:{kind}")
    return body


class LocalServer:
    """A server in this process, on a store in a folder, with a curator.

    Args:
        folder: for the store and the registry.
        budget: of the store, as (epsilon, delta).
        limits: on requests.
        graph: the private graph; None for a small random one.
        groups: whether the server has the public groups of `halves_of`.
        privacy_unit: of the store.
    """

    def __init__(
        self,
        folder: Path | str,
        *,
        budget: tuple[float, float] = (2.0, 0.0),
        limits: Limits = NO_LIMITS,
        graph: gc.Graph | None = None,
        groups: bool = True,
        privacy_unit: gc.PrivacyUnit = EDGE,
    ) -> None:
        self.privacy_unit = privacy_unit
        self.folder = Path(folder)
        self.path = self.folder / "mail.db"
        self.graph = labelled_graph() if graph is None else graph
        self.groups = halves_of(self.graph) if groups else None
        self.limits = limits
        self.budget = budget
        self.tokens: dict[str, str] = {}  # of persons, by name
        self.start()
        if not self.people.all():
            self.add("curator", role="curator")

    def start(self) -> None:
        """Open the store, which is created if absent, and the registry."""
        store = Store(self.path)
        if not store.exists:
            create_ledger(
                Store(self.path, budget=self.budget),
                self.graph,
                privacy_unit=str(self.privacy_unit),
            )
        self.desk = Desk(
            self.graph, store, Book(book_of(store.file)), self.groups, self.privacy_unit
        )
        self.people = self.desk.people
        self.service = Service(self.desk, limits=self.limits, ticks=Ticks(0.001, queries=1000))
        self.http = TestClient(make_app(self.service), raise_server_exceptions=True)
        self.http.__enter__()

    def stop(self) -> None:
        """Shut the server down as after SIGTERM."""
        self.http.__exit__(None, None, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def add(self, name: str, **fields: object) -> None:
        """Add a person and keep the token."""
        self.tokens[name] = self.people.add(Person(name=name, **fields), by="console")

    def send(
        self, name: str | None, method: str, path: str, body: object = None, **headers: str
    ) -> httpx.Response:
        """Send a request with the token of a person; without a token if the name is None."""
        if name is not None:
            headers["Authorization"] = f"Bearer {self.tokens[name]}"
        return self.http.request(method, path, json=body, headers=headers)

    def get(self, name: str, path: str, status: int = 200) -> Any:
        """Return the JSON of a person's GET request."""
        return body_of(self.send(name, "GET", f"/v1/{path}"), status)

    def post(self, name: str, path: str, body: object, status: int = 200) -> Any:
        """Return the JSON of a person's POST request."""
        return body_of(self.send(name, "POST", f"/v1/{path}", body), status)

    def decide(self, session: str, **body: object) -> httpx.Response:
        """Send the curator's decision on a session."""
        return self.send("curator", "POST", f"/v1/sessions/{session}/decision", body)

    def open(self, name: str, session: str = "default", **terms: object) -> httpx.Response:
        """Open or request a session of a person."""
        return self.send(name, "POST", "/v1/sessions", {"name": session, **TERMS, **terms})

    def ask(
        self,
        name: str,
        cuts: Iterable[tuple[object, object]],
        session: str = "default",
        key: str | None = None,
        **fields: object,
    ) -> httpx.Response:
        """Ask for cuts, pairs of sets, in a person's session.

        Args:
            key: idempotency key; None to send none.
            fields: more fields of the request.
        """
        headers = {} if key is None else {"Idempotency-Key": key}
        body = {"queries": [{"S": S, "T": T} for S, T in cuts], **fields}
        path = f"/v1/sessions/{name}.{session}/answers"
        return self.send(name, "POST", path, body, **headers)

    def log(self) -> list[str]:
        """Return the kinds of the events in the audit log."""
        return [entry.what for entry, _ in self.people.log_lines()]


class InProcessTransport:
    """The connection of a `RemoteSession` to a server in this process; records what is sent."""

    def __init__(self, server: LocalServer, name: str) -> None:
        self.server, self.name = server, name
        self.sent: list[tuple[str, object]] = []

    def ask(self, method: str, path: str, body: object = None, *, key: str | None = None) -> Any:  # noqa: ARG002
        self.sent.append((path, body))
        reply = self.server.send(self.name, method, path, body)
        if reply.status_code >= 400:
            raise QueryError(reply.json()["detail"])
        return reply.json()

    def send(self, method: str, path: str) -> bytes:
        return self.server.send(self.name, method, path).content

    def close(self) -> None:
        pass
