"""Connect to sessions over HTTP, with the interface of sessions at home: `connect`.

Only the standard library is needed. A request that was lost on the way is sent again with the same
idempotency key, so that it costs once and has one answer. Refusals of the server are raised as the
exceptions of sessions at home.
"""

import base64
import http.client
import json
import math
import secrets
import ssl
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Self, cast, final
from urllib.parse import quote, urlencode, urlsplit

import numpy as np

from graphcuts_dp.errors import (
    BudgetError,
    ExhaustedError,
    ParameterError,
    QueryError,
    ServerError,
)
from graphcuts_dp.learn.workload import SessionWorkload
from graphcuts_dp.queries.graph_queries import GraphQuery, Question
from graphcuts_dp.queries.linear import CutQuery, LinearQuery, RankOneQuery, Subset, is_query
from graphcuts_dp.queries.query_lines import query_from_dict, query_to_dict
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.resources import Progress, progress_function, silent
from graphcuts_dp.schema.vertices import VertexSet
from graphcuts_dp.session.base import Answer, Update
from graphcuts_dp.session.methods import Method
from graphcuts_dp.session.session import Preview, named_terms
from graphcuts_dp.session.store_sessions import Remaining

_CHUNK = 64  # queries of a request, at most
_TEXT = 4 << 20  # characters of a request of several queries, at most
_PAGE = 10_000  # labels that are asked for at once
_NUMBERS_OF_ENTRY = 16  # a named coefficient counts as so many numbers, as in `server.models`
_PAUSES = (0.1, 0.2, 0.5, 1.0, *[2.0] * 20)  # seconds before a request is sent again
_WHOLE_SERVER = ("/v1/me", "/v1/graphs")  # all other requests are about one graph
_RETRY_STATUSES = (429, 502, 503, 504)  # 502 and 504: a proxy cannot reach the server


def connect(
    url: str,
    token: str,
    *,
    name: str = "default",
    graph: str | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    queries: int | SessionWorkload | None = None,
    method: str | Method = "auto",
    timeout: float = 120.0,
    certificate: str | None = None,
) -> "RemoteSession":
    """Resume a session on a server, or ask for a new one. It is used like a `Session`.

    Args:
        url: of the server, https but on this machine.
        token: yours, which the curator gave you.
        name: of the session among yours, or "analyst.name" to read another's that was granted.
        graph: name of the graph, of a server that has several; None for the only one that you may
            ask.
        epsilon: of a new session; with `queries` it asks for one that is not there.
        delta: of a new session, as for `open_session`.
        queries: of a new session, a number or a `SessionWorkload`.
        method: of a new session, a name or an object such as `MirrorDescent`; groups to start from
            are those of the server.
        timeout: seconds to wait for a reply.
        certificate: PEM file of the authority that vouches for the server, if the system's do not.

    Returns:
        The session; its `state` is "waiting" until the curator approves it.

    Raises:
        ParameterError: no address, or a parameter that is missing.
        BudgetError: a limit or the budget does not allow the session. Nothing was spent.
        ServerError: the server cannot be reached, or refuses the token.

    Examples:
        >>> gc.connect("http://localhost:1", token="none")
        Traceback (most recent call last):
        graphcuts_dp.errors.ServerError: ...
    """
    connection = Connection(url, token, timeout=timeout, certificate=certificate, graph=graph)
    try:
        account = connection.ask("GET", "/v1/me")
        if graph is None:
            connection.graph = _only_graph(connection.ask("GET", "/v1/graphs")["graphs"])
        full_name = name if "." in name else f"{account['name']}.{name}"
        sessions = connection.ask("GET", "/v1/sessions")["sessions"]
        status = next((session for session in sessions if session["id"] == full_name), None)
        has_terms = epsilon is not None and queries is not None
        if status is None and not has_terms:
            raise ParameterError(f"no session {name!r}; a new one needs epsilon= and queries=")
        not_begun = status is not None and status["state"] == "approved"
        if status is None or (has_terms and not_begun and status["analyst"] == account["name"]):
            terms = named_terms(epsilon, delta, queries, method)
            if "rule" in terms:
                raise ParameterError("over HTTP a session learns by a method of the server's own")
            terms = {key: value for key, value in terms.items() if value is not None}
            terms["name"] = name if status is None else status["name"]
            status = connection.ask("POST", "/v1/sessions", terms)
    except BaseException:
        connection.close()
        raise
    return RemoteSession(connection, status)


@final
class Connection:
    """One connection to a server, opened again when it was lost."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        timeout: float,
        certificate: str | None,
        graph: str | None = None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ParameterError("the address of a server is like https://graphs.example.org:8470")
        self._timeout = timeout
        self._host, self._port = parts.hostname, parts.port
        self._base = parts.path.rstrip("/")
        self.graph = graph
        self._context: ssl.SSLContext | None = None
        if parts.scheme == "https":
            self._context = ssl.create_default_context(cafile=certificate)
        elif parts.hostname not in ("127.0.0.1", "localhost", "::1"):
            raise ParameterError("a token is sent by https alone, but to this machine")
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._http: http.client.HTTPConnection | None = None

    def __repr__(self) -> str:
        return f"{self._host}:{self._port}"

    def send(self, method: str, path: str, body: Any = None, *, key: str | None = None) -> bytes:
        """Send a request and return its reply; it is sent again while the server cannot be reached.

        Raises:
            ServerError: it cannot be reached, or failed.
            QueryError, ExhaustedError, BudgetError, ParameterError: as the server says.
        """
        text = None if body is None else json.dumps(body)
        headers = self._headers if key is None else {**self._headers, "Idempotency-Key": key}
        reason = "it does not answer"
        for pause in (*_PAUSES, None):
            try:
                if self._http is None:
                    self._http = self._new_connection()
                self._http.request(method, self._base + self._path_at_graph(path), text, headers)
                reply = self._http.getresponse()
                content = reply.read()
            except (OSError, http.client.HTTPException) as problem:
                if isinstance(problem, ssl.SSLCertVerificationError):
                    raise ServerError(f"the certificate of {self} is not trusted") from None
                reason = getattr(problem, "strerror", None) or type(problem).__name__
                self.close()
            else:
                if reply.status < 400:
                    return content
                if reply.status not in _RETRY_STATUSES or pause is None:
                    raise _error_of(reply.status, content)
            if pause is not None:
                time.sleep(pause)
        raise ServerError(f"the server at {self} cannot be reached: {reason}")

    def _path_at_graph(self, path: str) -> str:
        """Return a path, with the name of the graph if it is about one and the graph has a name."""
        if self.graph is None or path in _WHOLE_SERVER:
            return path
        return f"/v1/graphs/{quote(self.graph, safe='')}{path.removeprefix('/v1')}"

    def ask(self, method: str, path: str, body: Any = None, *, key: str | None = None) -> Any:
        """Send a request as `send` does, and return its reply, read as JSON.

        Raises:
            ServerError: as there, or the reply is no JSON.
        """
        content = self.send(method, path, body, key=key)
        try:
            return json.loads(content)
        except ValueError:
            raise _no_server(self) from None

    def _new_connection(self) -> http.client.HTTPConnection:
        """Return a connection that is not open yet."""
        if self._context is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=self._timeout, context=self._context
        )

    def close(self) -> None:
        """Hang up."""
        if self._http is not None:
            self._http.close()
            self._http = None


@final
class RemoteSession:
    """A session on a server; made by `connect`. It is used like a `Session`.

    Examples:
        >>> gc.connect("http://localhost:1", token="none")
        Traceback (most recent call last):
        graphcuts_dp.errors.ServerError: ...
    """

    def __init__(self, connection: Connection, status: dict[str, Any]) -> None:
        self._connection = connection
        self._status = status

    def __repr__(self) -> str:
        return f"RemoteSession({self.id!r}, {self._status['state']})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up. The session goes on to exist."""
        self._connection.close()

    @property
    def id(self) -> str:
        """Return the name of the session on the server: "analyst.name"."""
        return str(self._status["id"])

    @property
    def name(self) -> str:
        """Return the name of the session among those of its analyst."""
        return str(self._status["name"])

    @property
    def state(self) -> str:
        """Return "waiting", "refused", "approved", "open", "stopped" or "failed", as of now.

        "waiting" is for the curator; "approved" has not begun, since the store could not take it:
        `connect` again with the same terms begins it.
        """
        return str(self._load_status()["state"])

    @property
    def guarantee(self) -> str:
        """Return what is guaranteed for all answers of this session together, as text."""
        return str(self._status["guarantee"])

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the mechanism."""
        return dict(self._status["terms"])

    @property
    def error_bound(self) -> float | None:
        """Return the largest half width of an interval, in weight; None before it has begun."""
        bound = self._load_status()["error_bound"]
        return None if bound is None else float(bound)

    @property
    def remaining(self) -> Remaining:
        """Return what is left, as of the latest answer."""
        status = self._load_status()
        return Remaining(status["queries_left"], status["updates_left"])

    @cached_property
    def vertices(self) -> tuple[VertexSet, VertexSet]:
        """Return the public vertex sets of S and of T; one unless the graph is bipartite."""
        left = self._labels(0)
        return left, self._labels(1) if self.graph["bipartite"] else left

    @cached_property
    def graph(self) -> dict[str, Any]:
        """Return what is public about the graph: sizes, kind, groups."""
        return dict(self._connection.ask("GET", "/v1/graph"))

    @cached_property
    def universe(self) -> Universe:
        """Return all public vertex pairs; the labels are asked for once."""
        left, right = self.vertices
        directed = bool(self.graph["directed"])
        return Universe(left, None if right is left else right, directed=directed)

    def ask(
        self,
        S: Subset | str | LinearQuery,
        T: Subset | str | None = None,
        *,
        unguaranteed: bool = False,
    ) -> Answer:
        """Ask for the weight of the edges between S and T, or any other query; see `Session.ask`.

        Raises:
            QueryError: unknown vertices, or a query that the method does not take.
            ExhaustedError: the session has run out.
            ServerError: the server cannot be reached, or refuses.
        """
        if is_query(S):
            if T is not None:
                raise QueryError("give either a whole query or two sets, not both")
            return self.ask_all([S], unguaranteed=unguaranteed)[0]
        sets = cast(Subset | str, S), T
        query = {"S": self._set(sets[0], 0), "T": None if T is None else self._set(T, 1)}
        return self._answers([query], unguaranteed)[0]

    def ask_all(
        self,
        queries: Iterable[LinearQuery],
        *,
        unguaranteed: bool = False,
        progress: Progress | bool = silent,
    ) -> list[Answer]:
        """Answer many queries; see `Session.ask_all`.

        Raises:
            QueryError, ExhaustedError, ServerError: as `ask`; earlier chunks are on the record.
        """
        total = len(queries) if isinstance(queries, Sequence) else 0
        report = progress_function(progress)
        answers: list[Answer] = []
        for chunk in self._chunks(queries):
            answers += self._answers(chunk, unguaranteed)
            report(len(answers) / total if total else 0.0, f"{len(answers):,} answers")
        return answers

    def cost(self, queries: Iterable[LinearQuery]) -> Preview:
        """Return what `ask_all` would use; in one request, so not of too many. Nothing is asked.

        Args:
            queries: what would be asked.

        Raises:
            QueryError, ServerError: as `ask`.
        """
        body = {"queries": [self._plain(query)[0] for query in queries]}
        cost = self._connection.ask("POST", self._path("/cost"), body)
        return Preview(cost["queries"], cost["free"], cost["new"], cost["left"])

    @property
    def history(self) -> list[tuple[Question, Answer]]:
        """Return all answers so far, oldest first, each with its query.

        Raises:
            QueryError: a query that is too long to be told; `export` has it.
        """
        entries: list[tuple[Question, Answer]] = []
        while True:
            position = {"after": len(entries), "limit": 200, "labels": "true"}
            page = self._connection.ask("GET", self._path(f"/answers?{urlencode(position)}"))
            entries += [(self._query_of(item), answer_of(item["answer"])) for item in page["items"]]
            if not page["items"] or len(entries) >= page["total"]:
                return entries

    def export(self) -> dict[str, Any]:
        """Return the transcript and what is guaranteed for it, as plain values. Nothing secret."""
        content = self._connection.send("GET", self._path("/export"))
        try:
            header, *answers = map(json.loads, content.splitlines())
            return {**header, "answers": answers}
        except (ValueError, TypeError):
            raise _no_server(self._connection) from None

    def _load_status(self) -> dict[str, Any]:
        """Ask for the status of the session, and return it."""
        self._status = self._connection.ask("GET", self._path())
        return self._status

    def _path(self, route: str = "") -> str:
        """Return the path of the session, or of one of its routes."""
        return f"/v1/sessions/{self.id}{route}"

    def _answers(self, queries: list[dict[str, Any]], unguaranteed: bool) -> list[Answer]:
        """Send queries in one request, and return their answers."""
        body = {"queries": queries, "unguaranteed": unguaranteed}
        key = secrets.token_hex(16)
        reply = self._connection.ask("POST", self._path("/answers"), body, key=key)
        return [answer_of(answer) for answer in reply["answers"]]

    def _chunks(self, queries: Iterable[LinearQuery]) -> Iterator[list[dict[str, Any]]]:
        """Yield as many queries at a time as one request may hold."""
        chunk: list[dict[str, Any]] = []
        text = numbers = 0
        for query in queries:
            plain, count = self._plain(query)
            length = len(json.dumps(plain))
            if chunk and (
                len(chunk) == _CHUNK
                or text + length > _TEXT
                or numbers + count > self.graph["numbers"]
            ):
                yield chunk
                chunk, text, numbers = [], 0, 0
            chunk.append(plain)
            text, numbers = text + length, numbers + count
        if chunk:
            yield chunk

    def _plain(self, query: Any) -> tuple[dict[str, Any], int]:
        """Return a query as it is sent, and how many numbers the server makes it into."""
        if isinstance(query, CutQuery):
            T = None if query.T is None else self._set(query.T, 1)
            return {"S": self._set(query.S, 0), "T": T}, 0
        if isinstance(query, GraphQuery) or not is_query(query):
            raise QueryError("over HTTP a session answers linear queries, such as CutQuery")
        rows, columns = self.universe.shape
        plain = query_to_dict(query, self.universe)
        if isinstance(query, RankOneQuery):
            return plain, rows + columns
        return plain, rows * columns + _NUMBERS_OF_ENTRY * len(plain["entries"])

    def _query_of(self, item: dict[str, Any]) -> Question:
        """Return the query of an answer on the record."""
        if item["S"]:  # no other query has sets, and a cut without pairs is on no record
            return CutQuery(item["S"]["labels"], item["T"] and item["T"]["labels"])
        plain = item.get("query")
        query = None if plain is None else query_from_dict(plain, self.universe.space)
        if query is None:
            raise QueryError("a query on the record is too long to be shown here; export() has it")
        return query

    def _set(self, subset: Subset | str, side: int) -> Any:
        """Return a set as it is sent: the name of a group, labels, or bits."""
        if isinstance(subset, str):
            return subset
        if isinstance(subset, np.ndarray) and subset.dtype == np.bool_:
            sizes = self.graph["vertices"]
            if subset.shape != (sizes[min(side, len(sizes) - 1)],):
                raise QueryError("a truth vector has an entry for each vertex")
            return {"bits": base64.b64encode(np.packbits(subset).tobytes()).decode()}
        return [int(label) if isinstance(label, np.integer) else label for label in subset]

    def _labels(self, side: int) -> VertexSet:
        """Ask for the labels of one side, page by page."""
        labels: list[int | str] = []
        while True:
            position = urlencode({"side": side, "first": len(labels), "limit": _PAGE})
            page = self._connection.ask("GET", f"/v1/vertices?{position}")
            labels += page["labels"]
            if not page["labels"] or len(labels) >= page["total"]:
                return VertexSet(labels)


def answer_of(plain: dict[str, Any]) -> Answer:
    """Return an answer as a server has sent it."""
    low, high = plain["interval"]
    interval = (-math.inf if low is None else low, math.inf if high is None else high)
    updates = tuple(Update(**update) for update in plain["updates"])
    return Answer(**{**plain, "interval": interval, "updates": updates})


def _no_server(connection: Connection) -> ServerError:
    """Return the error for a reply that no server of sessions sends, such as a page of a proxy."""
    return ServerError(f"what answers at {connection} is no server of sessions")


def _error_of(status: int, content: bytes) -> Exception:
    """Return the exception for a refusal of the server."""
    try:
        problem = json.loads(content)
        detail, kind = str(problem["detail"]), str(problem["type"]).rpartition(":")[2]
    except (ValueError, LookupError, TypeError):
        detail, kind = f"status {status}", ""
    errors = {"exhausted": ExhaustedError, "budget": BudgetError, "value": QueryError}
    return errors[kind](detail) if kind in errors else ServerError(f"the server refuses: {detail}")


def _only_graph(graphs: Sequence[str]) -> str | None:
    """Return the only graph that a person may ask; None if there is none.

    Raises:
        ParameterError: there are several.
    """
    if len(graphs) > 1:
        raise ParameterError(f"name the graph, by graph=; you may ask: {', '.join(graphs)}")
    return next(iter(graphs), None)
