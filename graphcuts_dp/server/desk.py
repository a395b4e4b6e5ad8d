"""All that the server does with the store: sessions begin, queries are answered, budgets are told.

There is no other way to an answer than `Session`, and no other ledger than the store. Every method
is called by one thread at a time; the server has one thread for them. The private graph is handed
on to `open_session`, and read nowhere else in this folder.
"""

import hashlib
import json
import tempfile
import threading
import time
import warnings
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, final

import numpy as np

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.errors import (
    AccuracyWarning,
    BudgetError,
    ExhaustedError,
    GraphCutsError,
    LedgerError,
    ParameterError,
    PrivacyWarning,
)
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.sizes import size_of
from graphcuts_dp.learn.workload import SessionWorkload, Setting
from graphcuts_dp.ledger.opening import Budget, Store, ledger_budget, open_ledger, store_id
from graphcuts_dp.ledger.uses import Use, check_spending, total_of, use_of
from graphcuts_dp.measure.cells import sides_of_groups
from graphcuts_dp.planning.planner import plan_of
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.default_unit import EDGE
from graphcuts_dp.privacy.filters import CostSums
from graphcuts_dp.privacy.guarantee import delta_warning
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.queries.graph_queries import Question
from graphcuts_dp.queries.group_names import GroupNames
from graphcuts_dp.queries.linear import LinearQuery
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.release.usefulness import made_up_graph
from graphcuts_dp.schema.groups import Groups
from graphcuts_dp.schema.vertices import sets_in
from graphcuts_dp.server.book import Book, graph_name, now
from graphcuts_dp.server.metrics import GraphFigures
from graphcuts_dp.server.models import (
    AnswerOut,
    Ask,
    DummyIn,
    PlanIn,
    QueryIn,
    RefusedError,
    SessionIn,
    Terms,
)
from graphcuts_dp.server.pairing import check_pair, note_store, people_of
from graphcuts_dp.server.people import CURATOR, People, Person
from graphcuts_dp.server.queues import Steps, finished
from graphcuts_dp.server.readiness import not_ready
from graphcuts_dp.server.use_index import UseIndex
from graphcuts_dp.session.base import Answer
from graphcuts_dp.session.session import Session, session_of
from graphcuts_dp.session.starts import GROUPS
from graphcuts_dp.session.store_sessions import (
    FAILED,
    OpenStore,
    SessionStatus,
    session_status,
    stored_error_bound,
)
from graphcuts_dp.session.terms import SessionTerms
from graphcuts_dp.session.transcript import (
    LedgerStatus,
    UseStatus,
    export_ledger,
    ledger_status,
)

WAITING, APPROVED, REFUSED = "waiting", "approved", "refused"
_NO_SESSION = "there is no such session, or it is not yours"
_NOT_BEGUN = {
    WAITING: "the session waits for the curator",
    REFUSED: "the curator refused this session",
    APPROVED: "the session was approved but could not begin, and nothing was spent; ask for it "
    "again with the same name and terms",
}
_DEGREE = 20  # average, of a made graph
_FORECASTS = 1000  # that are kept
_MECHANISMS = 64  # that are kept, for bounds on errors
OPEN_SESSIONS = 32  # of a server at once; each may hold a hypothesis for all pairs of vertices
LISTED_AT_ONCE = 64  # sessions or uses of a list, between which others take their turns


def made_like(graph: AnyGraph) -> AnyGraph:
    """A random graph on the same public vertices, with the same bound on weights.

    It has about 10 edges for each vertex, or a quarter of all pairs: it reads the public vertex
    set, whether there are weights, and their bound.
    """
    rows, columns = graph.shape
    count = max(1, min(_DEGREE * max(rows, columns) // 2, rows * columns // 4))
    schema = {"max_weight": graph.max_weight, "max_weight_change": graph.max_weight_change}
    return made_up_graph(graph.space, count, weighted=graph.weighted, **schema)


@final
class _Quiet:
    """Within it no warning about accuracy or delta is raised; replies carry them as texts.

    Filters of warnings belong to all threads: the first one that enters sets them, and the last one
    that leaves puts the former ones back. None waits for another.
    """

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._inside = 0
        self._filters = ExitStack()

    def __enter__(self) -> None:
        with self._turn:
            if not self._inside:
                self._filters.enter_context(warnings.catch_warnings())
                for category in (AccuracyWarning, PrivacyWarning):
                    warnings.simplefilter("ignore", category)
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._turn:
            self._inside -= 1
            if not self._inside:
                self._filters.close()


quiet = _Quiet()


def digest_of_set(mask: BoolVector) -> bytes:
    """SHA-256 of a truth vector."""
    return hashlib.sha256(np.packbits(mask).tobytes()).digest()


def names_of_sets(groups: Groups) -> dict[bytes, str]:
    """The names of all groups, by the digest of their truth vectors; coarser levels go first."""
    found: dict[bytes, str] = {}
    for level in groups.levels:
        codes = groups.codes(level)
        prefix = f"{level}:" if len(groups.levels) > 1 else ""
        for code, label in enumerate(groups.labels(level)):
            found.setdefault(digest_of_set(codes == code), f"@{prefix}{label}")
    return found


def id_of_session(analyst: str, name: str) -> str:
    """How a session is named over HTTP and on the store; neither part holds a dot."""
    return f"{analyst}.{name}"


@final
@dataclass(frozen=True)
class Request:
    """A session that somebody asked for.

    Attributes:
        id: "analyst.name", its name on the store, too.
        analyst: who asked.
        terms: keywords of `open_session`.
        state: "waiting", "approved" or "refused".
        asked: when.
        note: of the curator, if there is one.
    """

    id: str
    analyst: str
    terms: dict[str, Any]
    state: str
    asked: str
    note: str | None

    @property
    def name(self) -> str:
        """Without the analyst."""
        return self.id.partition(".")[2]


@final
@dataclass(frozen=True)
class Forecast:
    """What a session would be, told before anything is spent.

    Attributes:
        cost: of the whole session.
        guarantee: as text.
        error: within which all answers are guaranteed, in weight, if the guess of edges is right.
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
@dataclass(frozen=True)
class Claims:
    """What counts against the limits of one person.

    Attributes:
        costs: of the sessions that are on the store, and of those that have not begun.
        queries: that all of these guarantee.
        not_begun: how many were approved and are not on the store.
    """

    costs: CostSums
    queries: int
    not_begun: int

    def total(self, cap: Budget | None) -> Cost | None:
        """Return what all of them cost together, see `total_cost`; None if there are none."""
        return total_of(self.costs, cap) if self.costs.count else None

    def beside(self, other: "Claims") -> "Claims":
        """Return these and others together."""
        return Claims(
            self.costs.with_more(other.costs.elements()),
            self.queries + other.queries,
            self.not_begun + other.not_begun,
        )

    def check(self, person: Person, terms: dict[str, Any], cost: Cost) -> None:
        """Refuse a session that the limits of a person do not allow beside these.

        Raises:
            BudgetError: a limit does not allow it.
        """
        held = f" ({self.not_begun} of them approved and not begun)" if self.not_begun else ""
        cap = person.cap
        if cap is not None and not self.costs.allows(cost, epsilon=cap.epsilon, delta=cap.delta):
            needed = cap.enlarged_for([*self.costs.elements(), cost])
            missing = " has no delta, and" if cost.delta and not cap.delta else ""
            grant = ""
            if needed is not None:
                grant = (
                    f": it would have to be {needed}, which a curator grants by `graphcuts-dp serve"
                    f" access limits STORE {person.name} --epsilon {needed.epsilon:g} --delta "
                    f"{needed.delta:g}`"
                )
            raise BudgetError(
                f"your limit ({person.cap}){missing} does not allow this session, which costs "
                f"epsilon = {cost.epsilon:g}, delta = {cost.delta:g}, beside those you have{held}; "
                f"nothing was spent{grant}"
            )
        if person.queries is not None and self.queries + terms["queries"] > person.queries:
            left = max(0, person.queries - self.queries)
            needed_queries = self.queries + terms["queries"]
            raise BudgetError(
                f"your limit of {person.queries:,} queries leaves {left:,} beside the sessions you "
                f"have{held}; nothing was spent: it would have to be "
                f"{needed_queries:,}, which a curator grants by `graphcuts-dp serve access limits "
                f"STORE {person.name} --queries {needed_queries}`"
            )


NO_CLAIMS = Claims(CostSums(), 0, 0)


@final
class Desk:
    """Works on one store for all who may ask.

    A session is approved in the book, then begun on the store; a crash, a full disk or a busy store
    can come between the two. It counts against the limits of its analyst from its approval until it
    is on the store, and from then on by what the store says. It begins when it is approved; where
    that failed, when its analyst asks for it again, or a curator approves it again. The limits are
    checked each time, and no other request begins it. A curator who refuses it gives what it held
    back.

    Args:
        graph: the private graph.
        store: an existing one, about this graph.
        book: of the same store.
        groups: public groups that queries may name.
        privacy_unit: of all sessions.

    Raises:
        ParameterError: no such privacy unit.
        LedgerError: the store cannot be used, or is about another graph.
        GraphError: groups of other vertices.
    """

    def __init__(
        self,
        graph: AnyGraph,
        store: Store,
        book: Book,
        groups: Groups | tuple[Groups, Groups] | None = None,
        privacy_unit: PrivacyUnit = EDGE,
    ) -> None:
        self._graph = graph
        self._store = store
        self._groups = groups
        self.book = book
        self.universe: Universe = Universe.of(graph)
        self.privacy_unit = privacy_unit
        self.grid: Grid = SessionTerms.of(epsilon=1.0, queries=1, privacy_unit=privacy_unit).grid(
            graph
        )
        self.names: GroupNames | None = (
            None if groups is None else GroupNames(*sides_of_groups(graph, groups))
        )
        sided = [] if self.names is None else [self.names.left, self.names.right]
        self._named = [names_of_sets(each) for each in sided] or [{}, {}]
        self._ledger = open_ledger(store, graph)
        try:
            check_pair(self._ledger, book)
        except BaseException:
            self._ledger.close()
            raise
        self.store: str = store_id(self._ledger)
        self.others: tuple[Desk, ...] = ()  # of the other graphs of the server
        self.people: People = people_of(self._ledger, book)
        with self._ledger.locked():
            self._index = UseIndex(self._ledger)
        self._sessions: OrderedDict[str, Session] = OrderedDict()  # open ones, the latest last
        self._not_begun = self._approved_requests()
        self._made: AnyGraph | None = None
        self._mechanisms = lru_cache(_MECHANISMS)(
            lambda text: SessionTerms.of(**json.loads(text)).mechanism(self.universe, self.grid)
        )
        self._forecasts = lru_cache(_FORECASTS)(
            lambda text: forecast(json.loads(text), self.universe, self.grid)
        )

    def __repr__(self) -> str:
        return f"Desk({self.universe!r})"

    @property
    def name(self) -> str:
        """Name of the graph: that of its store, without the ending."""
        return graph_name(self._store.file)

    def figures(self) -> GraphFigures:
        """Return public numbers, for the metrics: budget, what was spent, sessions by state."""
        spent, budget = self.spent, self.budget
        counts = self.book.rows(
            "SELECT state, COUNT(*) FROM requests WHERE store = ? GROUP BY state", (self.store,)
        )
        return GraphFigures(
            epsilon=spent.epsilon if spent else 0.0,
            delta=spent.delta if spent else 0.0,
            budget_epsilon=budget.epsilon if budget else None,
            budget_delta=budget.delta if budget else None,
            sessions=dict(counts),
        )

    def not_ready(self) -> str | None:
        """Return what keeps the store and the registry from taking changes, or None."""
        return not_ready(self._ledger, self.book)

    def close(self) -> None:
        """Give the store and the book back."""
        self._note_store()
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()
        self._ledger.close()
        self.book.close()

    def _note_store(self) -> None:
        """Have the book note where the store stands: a session has begun, or the server ends."""
        with suppress(LedgerError):  # the note that is there is older, which is harmless
            with self._ledger.locked():
                head = self._ledger.head
            note_store(self._ledger, self.book, head)

    @contextmanager
    def _followed(self) -> Iterator[UseIndex]:
        """Lock the store, with what is looked up of its uses up to date."""
        with self._ledger.locked():
            self._index.follow()
            yield self._index

    def _approved_requests(self) -> dict[str, dict[str, Request]]:
        """Return requests that were approved and have not begun, by analyst and id.

        It is kept in memory from then on: no other program approves.
        """
        approved: dict[str, dict[str, Request]] = {}
        for request in self.requests("state = ?", APPROVED):
            if self._index.number(request.id) is None:
                approved.setdefault(request.analyst, {})[request.id] = request
        return approved

    @property
    def status(self) -> LedgerStatus:
        """Return what is on the store: all of it is read."""
        return ledger_status(self._ledger)

    @property
    def spent(self) -> Cost | None:
        """Return the cost of all uses together; None if there are none."""
        with self._followed() as index:
            return index.total

    @property
    def budget(self) -> Budget | None:
        """The budget for all uses of the graph together, or None."""
        return ledger_budget(self._ledger)

    def terms_of(self, asked: Terms) -> dict[str, Any]:
        """Keywords of `open_session`: what was asked for, and the privacy unit of this server.

        Raises:
            ParameterError: a start from groups, where there are none.
        """
        terms = asked.keywords()
        if terms.get("start") == GROUPS and self._groups is None:
            raise ParameterError("this server has no public groups to start from; leave start out")
        unit = self.privacy_unit
        return terms if unit == EDGE else terms | {"privacy_unit": unit.typed}

    def forecast(self, terms: dict[str, Any]) -> Forecast:
        """What a session of these terms would be, as `forecast`; kept, since some take long."""
        return self._forecasts(json.dumps(terms, sort_keys=True))

    def plan(self, asked: PlanIn) -> dict[str, Any]:
        """What every mechanism would guarantee, from public numbers; see `plan`.

        Iterative releases, which analysts cannot ask for, are left out.

        Raises:
            ParameterError: a number out of range.
        """
        size = size_of(self.universe)
        workload = SessionWorkload(
            queries=asked.queries, beta=asked.beta, expected_edges=asked.edges
        )
        setting = Setting(
            n=size,
            edges=workload.expected(size),
            workload=workload,
            epsilon=asked.epsilon,
            delta=asked.delta,
            privacy_unit=self.privacy_unit,
        )
        return plan_of(setting, iterative=False).to_dict()

    def dummy(self, asked: DummyIn) -> Steps[list[AnswerOut]]:
        """Answer queries about a made graph, in steps: free, and of no private data.

        Raises:
            GraphCutsError: as `open_session` and `Session.ask_all`.
        """
        if self._made is None:
            self._made = made_like(self._graph)
        terms = self.terms_of(asked.terms)
        queries = list(self._queries(asked.queries))
        if terms["queries"] < len(queries):
            raise ParameterError("the terms guarantee fewer answers than queries are asked")
        with tempfile.TemporaryDirectory(prefix="graphcuts-dp-dummy-") as folder:
            with quiet:
                session = session_of(
                    self._made, store=Path(folder) / "made.db", groups=self._groups, **terms
                )
            with session:
                answers: list[AnswerOut] = []
                for start in range(0, len(queries), Session.chunk):
                    yield
                    chunk = session.ask_all(queries[start : start + Session.chunk])
                    answers += map(AnswerOut.model_validate, chunk)
                return answers

    def request(self, person: Person, asked: SessionIn) -> tuple[Request, str | None]:
        """Ask for a session. It begins at once where the person is approved beforehand.

        The same again is the same request: it begins what was approved and could not begin.

        Returns:
            The request, and a warning if its answers are worth nothing.

        Raises:
            ParameterError: terms out of range.
            BudgetError: a limit or the store's budget does not allow it; nothing was spent.
            RefusedError: a session of this name has other terms, or the person was revoked.
        """
        terms = self.terms_of(asked)
        warning = self.forecast(terms).warning
        self._follow_all()  # before the book is locked, since stores may be busy
        with self.book.writing() as changes:
            name = id_of_session(person.name, asked.name)
            request = next(iter(self.requests("id = ?", name)), None)
            if request is None:
                approved = self._allowed(name, terms).preapproved
                state, asked_at = APPROVED if approved else WAITING, now()
                values = (name, person.name, json.dumps(terms, sort_keys=True), state, asked_at)
                changes.execute(
                    "INSERT INTO requests VALUES (?, ?, ?, ?, ?, NULL, NULL, ?)",
                    (*values, self.store),
                )
                asked_for = {"session": name, "terms": terms, "state": state}
                changes.log(person.name, "request", asked_for)
                request = Request(name, person.name, terms, state, asked_at, None)
            elif request.terms != terms:
                raise RefusedError(
                    409,
                    "there is a session of this name with other terms; choose another name",
                    kind="other-terms",
                )
            elif request.state == APPROVED and not self._is_on(request):
                changes.log(person.name, "begin", {"session": request.id})
        if request.state == APPROVED:
            self._begin(request)
        return request, warning

    def decide(self, curator: Person, name: str, *, approve: bool, note: str | None) -> Request:
        """Approve a session that waits, which begins it and spends its cost; or refuse it.

        One that was approved and has not begun can be approved again, or refused after all.

        Raises:
            BudgetError: a limit or the budget does not allow it; it stays as it was.
            RefusedError: no such session, its analyst was revoked, it was refused, or has begun.
        """
        self._follow_all()  # before the book is locked, since stores may be busy
        with self.book.writing() as changes:
            request = self._request(name)
            if request.state == REFUSED or (request.state == APPROVED and self._is_on(request)):
                raise RefusedError(409, "that was decided already", kind="decided")
            if approve:
                self._allowed(name, request.terms)
            state = APPROVED if approve else REFUSED
            changes.execute(
                "UPDATE requests SET state = ?, decided = ?, note = ? WHERE store = ? AND id = ?",
                (state, now(), note or request.note, self.store, name),
            )
            note_of_log = {"session": name, "note": note}
            changes.log(curator.name, state, note_of_log, access=not approve)
            request = self._request(name)
        if approve:
            self._begin(request)
        else:
            self._not_begun.get(request.analyst, {}).pop(request.id, None)
            self.people.record_change()
        return request

    def claims(self, analyst: str, *, without: str = "") -> Claims:
        """What counts against the limits of a person: sessions on the store, and approved ones.

        Args:
            analyst: whose limits.
            without: a session that is not counted unless it is on the store.
        """
        begun = self._index.of(analyst)
        waiting = [
            request
            for request in self._not_begun.get(analyst, {}).values()
            if request.id != without and not self._is_on(request)
        ]
        costs = begun.costs
        if waiting:
            costs = costs.with_more(self.forecast(request.terms).cost for request in waiting)
        queries = begun.queries + sum(request.terms["queries"] for request in waiting)
        return Claims(costs, queries, len(waiting))

    def _follow_all(self) -> None:
        """Take into account what has begun on the stores of all graphs of the server."""
        for desk in (self, *self.others):
            with desk._followed():
                pass

    def _claims_elsewhere(self, analyst: str) -> Claims:
        """Return what counts against the limits of a person on the other graphs of the server."""
        claims = NO_CLAIMS
        for desk in self.others:
            claims = claims.beside(desk.claims(analyst))
        return claims

    def all_claims(self, analyst: str) -> Claims:
        """Return what counts against the limits of a person, on all graphs together."""
        self._follow_all()
        return self.claims(analyst).beside(self._claims_elsewhere(analyst))

    def _allowed(self, name: str, terms: dict[str, Any]) -> Person:
        """Return the analyst of a session, if the registry and the store let it begin.

        Raises:
            BudgetError: a limit or the store's budget does not allow it.
            RefusedError: the analyst was revoked.
        """
        person = self.people.find(name.partition(".")[0])
        if not person.active:
            raise RefusedError(409, f"the tokens of {person.name} were withdrawn", kind="revoked")
        cost = self.forecast(terms).cost
        claims = self.claims(person.name, without=name).beside(self._claims_elsewhere(person.name))
        claims.check(person, terms, cost)
        check_spending(self.budget, self._ledger.spending, cost)
        return person

    def visible(self, person: Person) -> Iterator[Request]:
        """Sessions that somebody may see: their own, those they were granted; a curator all."""
        return self._requests(*self._seen_by(person))

    def readable(self, person: Person, name: str) -> Request:
        """A session that somebody may see.

        Raises:
            RefusedError: there is none of this name, or it is not theirs: the same for both, and
                the same is read to find out.
        """
        which, analysts = self._seen_by(person)
        request = next(self._requests(f"id = ? AND {which}", (name, *analysts)), None)
        if request is None:
            raise RefusedError(404, _NO_SESSION)
        return request

    def _seen_by(self, person: Person) -> tuple[str, tuple[str, ...]]:
        """Return the condition of SQL on requests that a person may see, and its values."""
        if person.role == CURATOR:
            return "1", ()
        analysts = (person.name, *self.people.analysts_read_by(person.name))
        return f"({' OR '.join(['owner = ?'] * len(analysts))})", analysts

    def on_store(self, request: Request) -> SessionStatus | None:
        """Where a session stands on the store; None before it has begun."""
        with self._followed() as index:
            use = index.use(request.id)
            return None if use is None else session_status(self._ledger, use)

    def error_bound(self, status: SessionStatus | None) -> float | None:
        """Return the largest half width of an interval; None if the session has not begun.

        It is read from the state that the store has: the session need not be open for that.
        """
        if status is None or status.state == FAILED:
            return None
        mechanism = self._mechanisms(json.dumps(status.terms.parameters, sort_keys=True))
        with self._ledger.locked():
            return stored_error_bound(self._ledger, status.terms, mechanism)

    def cost(self, person: Person, name: str, queries: Sequence[QueryIn]) -> tuple[Any, float]:
        """What queries would use, and the error that is guaranteed for them; nothing is asked.

        Raises:
            RefusedError: no such session, or it has not begun.
            QueryError: unknown vertices.
        """
        session = self._own(person, name)
        return session.cost(self._queries(queries)), session.error_bound

    def ask(
        self, person: Person, name: str, asked: Ask, key: str | None
    ) -> tuple[list[AnswerOut], int]:
        """Answer queries: `ask_in_steps` without a pause."""
        return finished(self.ask_in_steps(person, name, asked, key))

    def ask_in_steps(
        self, person: Person, name: str, asked: Ask, key: str | None
    ) -> Steps[tuple[list[AnswerOut], int]]:
        """Answer queries, all or none, as far as what is left is known beforehand.

        Others may take their turns between two chunks of queries. An analyst's requests do not
        overtake each other, so what a session has left is not used up meanwhile, but by other
        programs on the same store.

        1. A key that was answered before: the same answers.
        2. What is more than the session has left is refused; nothing is asked.
        3. The audit log tells that it was asked, and the key is kept.
        4. `Session.ask_all`: the cost is on the store before noise is drawn, the answers before
           they are shown.
        5. The audit log tells that it was answered; the answers are kept under the key.
        A process that is killed between 3 and 5 leaves a key without answers: asked again, what is
        on the record is free, and a step that was cut off counts as one that was spent.

        Returns:
            The answers, and how many of them were new.

        Raises:
            RefusedError: no such session, or the key belongs to another request.
            QueryError: unknown vertices.
            ExhaustedError: not enough is left.
        """
        session = self._own(person, name)
        text = name + "\n" + json.dumps(asked.model_dump(), sort_keys=True)
        digest = hashlib.sha256(text.encode()).digest()
        if key is not None:
            kept = self._kept(person, key, digest)
            if kept is not None:
                return kept, 0
        preview = session.cost(self._queries(asked.queries))
        if not preview.allowed and not asked.unguaranteed:
            raise RefusedError(
                409,
                f"{preview.new:,} new queries, but the session has {preview.left:,} left; nothing "
                "was asked",
                kind="exhausted",
                left={"queries": preview.left},
            )
        note = {"session": name, "request": digest.hex(), "queries": len(asked.queries)}
        with self.book.writing() as changes:
            if key is not None:
                values = (person.name, key, digest, time.time(), self.store)
                changes.execute("INSERT OR IGNORE INTO keys VALUES (?, ?, ?, NULL, ?, ?)", values)
            changes.log(person.name, "ask", {**note, "new": preview.new})
        queries, answers = self._queries(asked.queries), list[Answer]()
        try:
            while len(answers) < len(asked.queries):
                if answers:
                    yield
                chunk = islice(queries, Session.chunk)
                answers += session.ask_all(chunk, unguaranteed=asked.unguaranteed)
        except GraphCutsError as problem:
            kind = "exhausted" if isinstance(problem, ExhaustedError) else "refused"
            with self.book.writing() as changes:
                changes.log(person.name, kind, note)
            raise
        replies = [AnswerOut.model_validate(answer) for answer in answers]
        with self._ledger.locked():
            head = str(self._ledger.head)
        with self.book.writing() as changes:
            if key is not None:
                changes.execute(
                    "UPDATE keys SET response = ? WHERE person = ? AND name = ?",
                    (json.dumps([each.model_dump() for each in replies]), person.name, key),
                )
            changes.log(person.name, "answered", {**note, "store": head})
            changes.note_store(self.store, head)
        return replies, preview.new

    def history(
        self, person: Person, name: str, after: int, limit: int
    ) -> tuple[int, Iterator[tuple[int, Question, Answer]]]:
        """How many answers there are, and some of them: record, query, answer.

        They are read as they are taken, since queries of many numbers fill the memory.

        Raises:
            RefusedError: no such session.
        """
        request = self.readable(person, name)
        if not self._has_begun(request):
            return 0, iter(())
        entries = self._session(request).history
        some = (entries[place] for place in range(after, min(after + limit, len(entries))))
        found = ((each.record, each.query, each.answer) for each in some)
        return len(entries), found

    def export(self, person: Person, name: str) -> Iterator[str]:
        """The transcript of a session as JSON lines: what was guaranteed, then the answers.

        Raises:
            RefusedError: no such session, or it has not begun.
        """
        request = self.readable(person, name)
        self._check_begun(request)
        with self.book.writing() as changes:
            changes.log(person.name, "export", {"session": name})
        answers = export_ledger(self._ledger, name, self._status_of_one(request))
        yield json.dumps(next(answers)) + "\n"
        yield from (json.dumps(answer) + "\n" for answer in answers)

    def group_of(self, mask: BoolVector, side: int) -> str | None:
        """The public group that a set is, as a query may name it; None if it is none.

        Args:
            mask: truth vector.
            side: 0 for vertices that S is chosen from, 1 for T.
        """
        return self._named[side].get(digest_of_set(mask))

    def _status_of_one(self, request: Request) -> LedgerStatus:
        """Return the ledger as an analyst may see it: one session, and the sums of all uses."""
        with self._followed() as index:
            use, total, budget = index.use(request.id), index.total, self.budget
            if use is None or total is None:  # it has begun
                raise RefusedError(404, _NO_SESSION)
            session = session_status(self._ledger, use)
            return LedgerStatus(
                store=store_id(self._ledger),
                uses=(UseStatus(use, session.state),),
                sessions=(session,),
                epsilon=total.epsilon,
                delta=total.delta,
                periods=index.by_period,
                all_periods=None,  # a session reads all periods
                budget=None if budget is None else str(budget),
                left=None if budget is None else max(0.0, budget.epsilon - total.epsilon),
                privacy_unit=str(self._ledger.header["privacy_unit"]),
                seeded=index.seeded,
                head=str(self._ledger.head),
            )

    def spending(self) -> Steps[tuple[list[tuple[Use, float]], str]]:
        """Return every use, with the epsilon of it and all before together; and the head."""
        uses: list[tuple[Use, float]] = []
        while True:
            with self._followed() as index:
                stop = min(len(index), len(uses) + LISTED_AT_ONCE)
                epsilons = index.epsilons(stop)[len(uses) :]
                numbers = range(len(uses) + 1, stop + 1)
                uses += zip((use_of(self._ledger, n) for n in numbers), epsilons, strict=True)
                if stop == len(index):
                    return uses, str(self._ledger.head)
            yield

    def _queries(self, asked: Sequence[QueryIn]) -> Iterator[LinearQuery]:
        """One at a time: all at once could fill the memory."""
        return (each.query(self.universe) for each in asked)

    def requests(self, which: str = "1 = ?", value: object = 1) -> list[Request]:
        """Sessions that were asked for, in the order in which they were."""
        return list(self._requests(which, (value,)))

    def _requests(self, which: str, values: tuple[object, ...]) -> Iterator[Request]:
        """Yield sessions that were asked for; their terms are read one at a time."""
        columns = "id, owner, terms, state, asked, note"
        condition = f"store = ? AND {which}"
        statement = f"SELECT {columns} FROM requests WHERE {condition} ORDER BY rowid"  # noqa: S608
        for name, analyst, terms, *rest in self.book.rows(statement, (self.store, *values)):
            yield Request(name, analyst, json.loads(terms), *rest)

    def _request(self, name: str) -> Request:
        found = self.requests("id = ?", name)
        if not found:
            raise RefusedError(404, _NO_SESSION)
        return found[0]

    def _is_on(self, request: Request) -> bool:
        """Return whether a session is on the store, as far as that was followed."""
        return self._index.number(request.id) is not None

    def _has_begun(self, request: Request) -> bool:
        with self._followed():
            return request.state == APPROVED and self._is_on(request)

    def _check_begun(self, request: Request) -> None:
        if not self._has_begun(request):
            kind = "not-begun" if request.state == APPROVED else request.state
            raise RefusedError(409, _NOT_BEGUN[request.state], kind=kind)

    def _own(self, person: Person, name: str) -> Session:
        request = self.readable(person, name)
        if request.analyst != person.name:
            raise RefusedError(403, "only the analyst of a session asks in it", kind="not-yours")
        return self._session(request)

    def _begin(self, request: Request) -> None:
        """Begin a session that was approved, unless it has begun: the one place that does."""
        self._follow_all()  # not while this store is locked: backups lock stores in order
        with self._followed():
            if self._is_on(request):
                return
            self._not_begun.setdefault(request.analyst, {})[request.id] = request
            self._allowed(request.id, request.terms)
            self._opened(request, request.terms)
        del self._not_begun[request.analyst][request.id]
        self._note_store()

    def _session(self, request: Request) -> Session:
        """A session that has begun. Without terms, `open_session` can begin none.

        Raises:
            RefusedError: it has not begun.
        """
        found = self._sessions.get(request.id)
        if found is None:
            self._check_begun(request)
            return self._opened(request, {})
        self._sessions.move_to_end(request.id)
        return found

    def _opened(self, request: Request, terms: dict[str, Any]) -> Session:
        """Open a session on the ledger that all share; the one that was idle longest is closed.

        What an idle session has is on the store, where the next request finds it.
        """
        with quiet, self._followed() as index:
            opened = OpenStore(self._ledger, self._store, index.use(request.id))
            session = session_of(
                self._graph, store=opened, name=request.id, groups=self._groups, **terms
            )
        self._sessions[request.id] = session
        if len(self._sessions) > OPEN_SESSIONS:
            _, idle = self._sessions.popitem(last=False)
            idle.close()
        return session

    def _kept(self, person: Person, key: str, digest: bytes) -> list[AnswerOut] | None:
        rows = self.book.rows(
            "SELECT request, response, store FROM keys WHERE person = ? AND name = ?",
            (person.name, key),
        )
        if not rows:
            return None
        if (rows[0][0], rows[0][2]) != (digest, self.store):
            raise RefusedError(409, "this idempotency key belongs to another request", kind="key")
        kept = rows[0][1]
        return None if kept is None else [AnswerOut(**each) for each in json.loads(kept)]
