"""What tests of the server share: a small graph, an application on it, people with tokens."""

import warnings
from pathlib import Path

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

N = 24
TERMS = {"epsilon": 0.5, "delta": 0.0, "queries": 10, "method": "laplace"}
QUICK = Limits(rate=1e6, burst=10**6, failures=10**6)


def made_graph(seed=1, n=N):
    """A random graph on vertices with names."""
    random = np.random.default_rng(seed)
    rows, columns = random.integers(n, size=(2, 4 * n))
    return gc.Graph(rows, columns, vertices=[f"v{i}" for i in range(n)])


def made_groups(graph):
    """Two halves."""
    half = len(graph.vertices) // 2
    codes = {
        label: "left" if i < half else "right" for i, label in enumerate(graph.vertices.labels)
    }
    return gc.Groups.of(codes, graph)


def told(reply, status=200):
    """What a reply holds, which must have this status."""
    assert reply.status_code == status, reply.text
    return reply.json() if reply.content else None


def problem(reply, kind, status=409):
    """A refusal, which must be of this kind, with all members of one."""
    found = told(reply, status)
    assert reply.headers["content-type"] == "application/problem+json"
    assert {"type", "title", "status", "detail"} <= set(found)
    assert (found["status"], found["type"]) == (status, f"urn:graphcuts-dp:{kind}")
    return found


class Office:
    """An application on a store in a folder."""

    def __init__(
        self,
        folder,
        *,
        budget=(2.0, 0.0),
        limits=QUICK,
        graph=None,
        groups=True,
        privacy_unit=EDGE,
    ):
        self.privacy_unit = privacy_unit
        self.folder = Path(folder)
        self.path = self.folder / "mail.db"
        self.graph = made_graph() if graph is None else graph
        self.groups = made_groups(self.graph) if groups else None
        self.limits = limits
        self.budget = budget
        self.tokens = {}
        self.start()
        if not self.people.all():
            self.add("curator", role="curator")

    def start(self):
        """Open store and book, as a server does."""
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

    def stop(self):
        """End it in good order."""
        self.http.__exit__(None, None, None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def add(self, name, **facts):
        """Make a person; the token is kept here."""
        self.tokens[name] = self.people.add(Person(name=name, **facts), by="console")

    def send(self, name, method, path, body=None, **headers):
        """A request of somebody; `name` None sends no token."""
        if name is not None:
            headers["Authorization"] = f"Bearer {self.tokens[name]}"
        return self.http.request(method, path, json=body, headers=headers)

    def get(self, name, path, status=200):
        """What somebody is told at a place."""
        return told(self.send(name, "GET", f"/v1/{path}"), status)

    def post(self, name, path, body, status=200):
        """What somebody is told who sends something there."""
        return told(self.send(name, "POST", f"/v1/{path}", body), status)

    def decide(self, name, **body):
        """The curator decides on a session."""
        return self.send("curator", "POST", f"/v1/sessions/{name}/decision", body)

    def open(self, name, session="default", **terms):
        """A session of somebody, opened or asked for."""
        return self.send(name, "POST", "/v1/sessions", {"name": session, **TERMS, **terms})

    def ask(self, name, queries, session="default", key=None, **more):
        """Queries of somebody: pairs of sets."""
        headers = {} if key is None else {"Idempotency-Key": key}
        body = {"queries": [{"S": S, "T": T} for S, T in queries], **more}
        path = f"/v1/sessions/{name}.{session}/answers"
        return self.send(name, "POST", path, body, **headers)

    def log(self):
        """Kinds of events in the audit log."""
        return [entry.what for entry, _ in self.people.log_lines()]


class Wires:
    """What a client sends goes to an application in this process."""

    def __init__(self, office, name):
        self.office, self.name, self.sent = office, name, []

    def ask(self, method, path, body=None, *, key=None):  # noqa: ARG002
        self.sent.append((path, body))
        found = self.office.send(self.name, method, path, body)
        if found.status_code >= 400:
            raise QueryError(found.json()["detail"])
        return found.json()

    def send(self, method, path):
        return self.office.send(self.name, method, path).content

    def close(self):
        pass
