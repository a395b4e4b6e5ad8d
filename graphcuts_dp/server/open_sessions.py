"""Sessions that a server has open: on the private graph of a store, and on a simulated graph.

The private graph is handed on to `session_of`, and read nowhere else in this folder. Of all
sessions of a store a few are open, since each may hold a hypothesis for all pairs of vertices. What
an idle session has is on the store, where the next request finds it.

Queries of several sessions are answered together (`QueriesOfSession`): their steps share two
transactions of the store, whose flushes to the disk take most of the time that an answer takes.
"""

import tempfile
import threading
import warnings
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from graphcuts_dp.errors import AccuracyWarning, ParameterError, PrivacyWarning
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.opening import Store
from graphcuts_dp.ledger.uses import Use
from graphcuts_dp.queries.graph_queries import Question
from graphcuts_dp.release.usefulness import simulated_graph
from graphcuts_dp.schema.groups import Groups
from graphcuts_dp.server.models import AnswerOut
from graphcuts_dp.server.queues import JointPart, Steps
from graphcuts_dp.session.base import Answer
from graphcuts_dp.session.session import Session, ask_together, session_of
from graphcuts_dp.session.store_sessions import OpenStore

OPEN_SESSIONS: Final = 32  # of a store at once
_SIMULATED_DEGREE = 20  # average, of a simulated graph


@final
class _Quiet:
    """Suppresses warnings about accuracy and delta within a `with` statement.

    Replies carry them as texts. Filters of warnings belong to all threads: the first one that
    enters sets them, and the last one that leaves puts the former ones back. None waits for
    another.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0  # of threads within the statement
        self._filters = ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            if not self._count:
                self._filters.enter_context(warnings.catch_warnings())
                for category in (AccuracyWarning, PrivacyWarning):
                    warnings.simplefilter("ignore", category)
            self._count += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._count -= 1
            if not self._count:
                self._filters.close()


quiet = _Quiet()


@final
class OpenSessions:
    """The sessions of one store that are open, on the ledger that all of them share.

    Args:
        graph: the private graph.
        store: that the ledger is of; it states purpose and author of new uses.
        ledger: open, about this graph.
        groups: public groups that queries may name; None if there are none.
    """

    def __init__(
        self,
        graph: AnyGraph,
        store: Store,
        ledger: Ledger,
        groups: Groups | tuple[Groups, Groups] | None,
    ) -> None:
        self._graph = graph
        self._store = store
        self._ledger = ledger
        self._groups = groups
        self._sessions: OrderedDict[str, Session] = OrderedDict()  # by name, the latest last

    def __len__(self) -> int:
        """Return how many are open."""
        return len(self._sessions)

    def find(self, name: str) -> Session | None:
        """Return a session that is open; None if it is not."""
        session = self._sessions.get(name)
        if session is not None:
            self._sessions.move_to_end(name)
        return session

    def open(self, name: str, use: Use | None, terms: dict[str, Any]) -> Session:
        """Open a session; the one that was idle longest is closed where there are too many.

        Args:
            name: of the session, "analyst.name".
            use: the session as it is on the store; None begins it.
            terms: of a new session; without them none can begin.

        Raises:
            GraphCutsError: as `open_session`.
        """
        with quiet:
            session = session_of(
                self._graph,
                store=OpenStore(self._ledger, self._store, use),
                name=name,
                groups=self._groups,
                **terms,
            )
        self._sessions[name] = session
        if len(self._sessions) > OPEN_SESSIONS:
            _, idle = self._sessions.popitem(last=False)
            idle.close()
        return session

    def put_away(self, session: Session) -> None:
        """Close a session unless it is one of the open ones."""
        if self._sessions.get(session.name) is not session:
            session.close()

    def close(self) -> None:
        """Close all sessions."""
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()


@final
@dataclass(frozen=True, eq=False)
class QueriesOfSession:
    """Queries to answer in one session, together with those of other sessions of its store.

    Attributes:
        sessions: the open sessions of the store.
        session: that answers them.
        queries: at most `Session.chunk`.
        unguaranteed: as for `Session.ask`.
    """

    sessions: OpenSessions
    session: Session
    queries: Sequence[Question]
    unguaranteed: bool

    def parts_to_join(self, parts: Sequence[JointPart]) -> "list[QueriesOfSession]":
        """Return these queries, and those that are answered together with them.

        Those of other sessions of the same store, as long as all together are not more than one
        session may ask at once: other programs wait for the store meanwhile.
        """
        chosen, names, count = [self], {self.session.name}, len(self.queries)
        for part in parts:
            if (
                isinstance(part, QueriesOfSession)
                and part.sessions is self.sessions
                and part.session.name not in names
                and count + len(part.queries) <= Session.chunk
            ):
                chosen.append(part)
                names.add(part.session.name)
                count += len(part.queries)
        return chosen

    @staticmethod
    def do_together(
        parts: "Sequence[QueriesOfSession]",
    ) -> list[list[Answer] | Exception]:
        """Answer the queries of several sessions, see `ask_together`."""
        replies = ask_together([(part.session, part.queries, part.unguaranteed) for part in parts])
        for part in parts:
            part.sessions.put_away(part.session)
        return replies


def simulated_like(graph: AnyGraph) -> AnyGraph:
    """Return a random graph on the same public vertices, with the same bound on weights.

    It has about 10 edges for each vertex, or a quarter of all pairs: it reads the public vertex
    set, whether there are weights, and their bound.
    """
    rows, columns = graph.shape
    count = max(1, min(_SIMULATED_DEGREE * max(rows, columns) // 2, rows * columns // 4))
    schema = {"max_weight": graph.max_weight, "max_weight_change": graph.max_weight_change}
    return simulated_graph(graph.space, count, weighted=graph.weighted, **schema)


@final
class SimulatedGraph:
    """Answers queries about a simulated graph on the public vertices of a private one.

    Args:
        graph: the private graph, of which public facts are read alone.
        groups: public groups that queries may name; None if there are none.
    """

    def __init__(self, graph: AnyGraph, groups: Groups | tuple[Groups, Groups] | None) -> None:
        self._private_graph = graph
        self._groups = groups
        self._simulated: AnyGraph | None = None

    def answers(self, terms: dict[str, Any], queries: Sequence[Question]) -> Steps[list[AnswerOut]]:
        """Answer queries in a session of its own, in steps: free, and of no private data.

        Args:
            terms: keywords of `open_session`.
            queries: at most as many as the terms guarantee.

        Raises:
            GraphCutsError: as `open_session` and `Session.ask_all`.
        """
        if terms["queries"] < len(queries):
            raise ParameterError("the terms guarantee fewer answers than queries are asked")
        if self._simulated is None:
            self._simulated = simulated_like(self._private_graph)
        with tempfile.TemporaryDirectory(prefix="graphcuts-dp-dummy-") as folder:
            with quiet:
                session = session_of(
                    self._simulated,
                    store=Path(folder) / "simulated.db",
                    groups=self._groups,
                    **terms,
                )
            with session:
                answers: list[AnswerOut] = []
                for start in range(0, len(queries), Session.chunk):
                    yield None
                    chunk = session.ask_all(queries[start : start + Session.chunk])
                    answers += map(AnswerOut.model_validate, chunk)
                return answers
