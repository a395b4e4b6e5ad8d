"""The session service: all that a server does with one store.

Read `Desk` first: sessions are requested, approved and begun (`request`, `decide`), and queries are
answered in them (`ask_in_steps`). There is no other way to an answer than `Session`, and no other
ledger than the store. Every method is called by one thread at a time; the server has one thread for
them. What a session would cost and the limits of analysts are in `limits`, what analysts have asked
for in `requests`, sessions that are open in `open_sessions`.
"""

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Any, Final, final

import numpy as np

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.errors import ExhaustedError, GraphCutsError, LedgerError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.ledger.opening import Budget, Store, ledger_budget, open_ledger, store_id
from graphcuts_dp.ledger.uses import Use, check_spending, use_of
from graphcuts_dp.measure.cells import sides_of_groups
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.default_unit import EDGE
from graphcuts_dp.privacy.filters import CostSums
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.queries.graph_queries import Question
from graphcuts_dp.queries.group_names import GroupNames
from graphcuts_dp.queries.linear import LinearQuery
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.schema.groups import Groups
from graphcuts_dp.server.book import Book, BookChange, Changes, graph_name, now
from graphcuts_dp.server.limits import Claims, Forecast, Forecasts
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
from graphcuts_dp.server.open_sessions import OpenSessions, QueriesOfSession, SimulatedGraph
from graphcuts_dp.server.pairing import check_pair, note_store, people_of
from graphcuts_dp.server.people import People, Person
from graphcuts_dp.server.queues import Steps, run_all
from graphcuts_dp.server.readiness import not_ready
from graphcuts_dp.server.requests import (
    APPROVED,
    NO_SESSION,
    NOT_BEGUN,
    REFUSED,
    WAITING,
    SessionRequest,
    SessionRequests,
    id_of_session,
)
from graphcuts_dp.server.use_index import UseIndex
from graphcuts_dp.session.base import Answer
from graphcuts_dp.session.session import Preview, Session
from graphcuts_dp.session.starts import GROUPS
from graphcuts_dp.session.store_sessions import (
    FAILED,
    SessionStatus,
    session_status,
    stored_error_bound,
)
from graphcuts_dp.session.terms import SessionTerms
from graphcuts_dp.session.transcript import LedgerStatus, UseStatus, export_ledger, ledger_status

LISTED_AT_ONCE: Final = 64  # sessions or uses of a list, after which others take their turns


def digest_of_set(mask: BoolVector) -> bytes:
    """Return the SHA-256 of a truth vector."""
    return hashlib.sha256(np.packbits(mask).tobytes()).digest()


def names_of_sets(groups: Groups) -> dict[bytes, str]:
    """Return the names of all groups, by the digest of their truth vectors.

    Where a set has several, it is that of the coarsest level.
    """
    names: dict[bytes, str] = {}
    for level in groups.levels:
        codes = groups.codes(level)
        prefix = f"{level}:" if len(groups.levels) > 1 else ""
        for code, label in enumerate(groups.labels(level)):
            names.setdefault(digest_of_set(codes == code), f"@{prefix}{label}")
    return names


@final
class Desk:
    """The session service of one store, for all analysts.

    A session is approved in the registry, then begun on the store; a crash, a full disk or a busy
    store can come between the two. It counts against the limits of its analyst from its approval
    on: by its terms until it is on the store, and then by what the store has recorded. It begins
    when it is approved. If that fails, it begins when its analyst requests it again, or a curator
    approves it again. The limits are checked each time, and no other request begins it. If a
    curator refuses a session that was approved and has not begun, it no longer counts.

    Args:
        graph: the private graph.
        store: an existing one, about this graph.
        book: the registry of the same store.
        groups: public groups that queries may name.
        privacy_unit: of all sessions.

    Attributes:
        book: the registry.
        universe: the public vertex pairs.
        privacy_unit: of all sessions.
        grid: of the weights.
        names: of the public groups; None if there are none.
        store: identifier of the store.
        others: the session services of the other graphs of the server.
        people: the accounts of the registry.
        requests: what analysts have asked for.
        forecasts: what sessions would cost.

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
        self._store = store
        self.book = book
        self.universe: Universe = Universe.of(graph)
        self.privacy_unit = privacy_unit
        self.grid: Grid = SessionTerms.of(epsilon=1.0, queries=1, privacy_unit=privacy_unit).grid(
            graph
        )
        self.names: GroupNames | None = (
            None if groups is None else GroupNames(*sides_of_groups(graph, groups))
        )
        self.forecasts: Forecasts = Forecasts(self.universe, self.grid, privacy_unit)
        sides = [] if self.names is None else [self.names.left, self.names.right]
        self._names_of_sets = [names_of_sets(side) for side in sides] or [{}, {}]
        self._simulated = SimulatedGraph(graph, groups)
        self._ledger = open_ledger(store, graph)
        try:
            check_pair(self._ledger, book)
            self.store: str = store_id(self._ledger)
            self.others: tuple[Desk, ...] = ()
            self.people: People = people_of(self._ledger, book)
            self.requests: SessionRequests = SessionRequests(book, self.store, self.people)
            with self._ledger.locked():
                self._index = UseIndex(self._ledger)
            self._sessions = OpenSessions(graph, store, self._ledger, groups)
            self._not_begun = self._approved_requests()
        except BaseException:
            self._ledger.close()
            raise

    def __repr__(self) -> str:
        return f"Desk({self.universe!r})"

    @property
    def name(self) -> str:
        """The name of the graph: that of its store, without the ending."""
        return graph_name(self._store.file)

    def close(self) -> None:
        """Close the store and the registry."""
        self._note_store()
        self._sessions.close()
        self._ledger.close()
        self.book.close()

    # What was spent, and on what.

    @property
    def status(self) -> LedgerStatus:
        """The status of the store, for which all of it is read."""
        return ledger_status(self._ledger)

    @property
    def spent(self) -> Cost | None:
        """The cost of all uses together; None if there are none."""
        with self._updated_index() as index:
            return index.total

    @property
    def budget(self) -> Budget | None:
        """The budget for all uses of the graph together; None if there is none."""
        return ledger_budget(self._ledger)

    def figures(self) -> GraphFigures:
        """Return public numbers for the metrics: the budget, what was spent, sessions by state."""
        total, budget = self.spent, self.budget
        return GraphFigures(
            epsilon=total.epsilon if total else 0.0,
            delta=total.delta if total else 0.0,
            budget_epsilon=budget.epsilon if budget else None,
            budget_delta=budget.delta if budget else None,
            sessions=self.requests.counts(),
        )

    def spending(self) -> Steps[tuple[list[tuple[Use, float]], str]]:
        """Return all uses, each with the epsilon of those up to it; and the head of the store."""
        uses: list[tuple[Use, float]] = []
        while True:
            with self._updated_index() as index:
                stop = min(len(index), len(uses) + LISTED_AT_ONCE)
                epsilons = index.epsilons(stop)[len(uses) :]
                numbers = range(len(uses) + 1, stop + 1)
                uses += zip((use_of(self._ledger, n) for n in numbers), epsilons, strict=True)
                if stop == len(index):
                    return uses, str(self._ledger.head)
            yield None

    def not_ready(self) -> str | None:
        """Return what keeps the store and the registry from taking changes; None if nothing."""
        return not_ready(self._ledger, self.book)

    # Public numbers, and simulated graphs.

    def terms_of(self, terms_in: Terms) -> dict[str, Any]:
        """Return keywords of `open_session`: terms that were sent, and the server's privacy unit.

        Raises:
            ParameterError: a start from groups, where there are none.
        """
        terms = terms_in.keywords()
        if terms.get("start") == GROUPS and self.names is None:
            raise ParameterError("this server has no public groups to start from; leave start out")
        unit = self.privacy_unit
        return terms if unit == EDGE else terms | {"privacy_unit": unit.typed}

    def forecast(self, terms: dict[str, Any]) -> Forecast:
        """Return cost and guarantee of a session of these terms, see `limits.forecast`."""
        return self.forecasts.of(terms)

    def plan(self, question: PlanIn) -> dict[str, Any]:
        """Return what every mechanism would guarantee, see `Forecasts.plan`."""
        return self.forecasts.plan(question)

    def simulated_answers(self, dummy_in: DummyIn) -> Steps[list[AnswerOut]]:
        """Answer queries about a simulated graph, in steps: free, and of no private data.

        Raises:
            GraphCutsError: as `open_session` and `Session.ask_all`.
        """
        terms = self.terms_of(dummy_in.terms)
        return (yield from self._simulated.answers(terms, list(self._queries(dummy_in.queries))))

    def group_of(self, mask: BoolVector, side: int) -> str | None:
        """Return the public group that a set is, as a query may name it; None if it is none.

        Args:
            mask: truth vector.
            side: 0 for vertices that S is chosen from, 1 for T.
        """
        return self._names_of_sets[side].get(digest_of_set(mask))

    # Sessions are asked for, approved and begun.

    def request(self, person: Person, session_in: SessionIn) -> tuple[SessionRequest, str | None]:
        """Ask for a session. It begins at once where the person is approved beforehand.

        A request that is sent again is the same one: it begins a session that was approved and
        could not begin.

        Returns:
            The request, and a warning if its answers are worth nothing.

        Raises:
            ParameterError: terms out of range.
            BudgetError: a limit or the store's budget does not allow it; nothing was spent.
            RefusedError: a session of this name has other terms, or the person was revoked.
        """
        terms = self.terms_of(session_in)
        warning = self.forecast(terms).warning
        self._update_all()  # before the book is locked, since stores may be busy
        with self.book.writing() as changes:
            name = id_of_session(person.name, session_in.name)
            request = self.requests.find(name)
            if request is None:
                state = APPROVED if self._check_allowed(name, terms).preapproved else WAITING
                request = SessionRequest(name, person.name, terms, state, now(), None)
                self.requests.add(changes, request)
                note = {"session": name, "terms": terms, "state": state}
                changes.log(person.name, "request", note)
            elif request.terms != terms:
                raise RefusedError(
                    409,
                    "there is a session of this name with other terms; choose another name",
                    kind="other-terms",
                )
            elif request.state == APPROVED and not self._is_on_store(request):
                changes.log(person.name, "begin", {"session": request.id})
        if request.state == APPROVED:
            self._begin(request)
        return request, warning

    def decide(
        self, curator: Person, name: str, *, approve: bool, note: str | None
    ) -> SessionRequest:
        """Approve a session that waits, which begins it and spends its cost; or refuse it.

        One that was approved and has not begun can be approved again, or refused after all.

        Raises:
            BudgetError: a limit or the budget does not allow it; it stays as it was.
            RefusedError: no such session, its analyst was revoked, it was refused, or has begun.
        """
        self._update_all()  # before the book is locked, since stores may be busy
        with self.book.writing() as changes:
            request = self.requests.get(name)
            if request.state == REFUSED or (
                request.state == APPROVED and self._is_on_store(request)
            ):
                raise RefusedError(409, "that was decided already", kind="decided")
            if approve:
                self._check_allowed(name, request.terms)
            state = APPROVED if approve else REFUSED
            self.requests.decide(changes, request, state, note)
            log_body = {"session": name, "note": note}
            changes.log(curator.name, state, log_body, access=not approve)
            request = self.requests.get(name)
        if approve:
            self._begin(request)
        else:
            self._not_begun.get(request.analyst, {}).pop(request.id, None)
            self.people.record_change()
        return request

    def claims(self, analyst: str, *, without: str = "") -> Claims:
        """Return what counts against the limits of a person on this graph.

        These are the sessions that are on the store, and those that were approved.

        Args:
            analyst: name of the person.
            without: id of a session that counts only if it is on the store.
        """
        begun_sessions = self._index.of(analyst)
        not_begun = [
            request
            for request in self._not_begun.get(analyst, {}).values()
            if request.id != without and not self._is_on_store(request)
        ]
        costs = begun_sessions.costs
        if not_begun:
            costs = costs.with_more(self.forecast(request.terms).cost for request in not_begun)
        queries = begun_sessions.queries + sum(request.terms["queries"] for request in not_begun)
        return Claims(costs, queries, len(not_begun))

    def all_claims(self, analyst: str) -> Claims:
        """Return what counts against the limits of a person, on all graphs together."""
        self._update_all()
        return self.claims(analyst).beside(self._claims_elsewhere(analyst))

    def _claims_elsewhere(self, analyst: str) -> Claims:
        """Return what counts against the limits of a person on the other graphs of the server."""
        claims = Claims(CostSums(), 0, 0)
        for desk in self.others:
            claims = claims.beside(desk.claims(analyst))
        return claims

    def _check_allowed(self, name: str, terms: dict[str, Any]) -> Person:
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

    def _approved_requests(self) -> dict[str, dict[str, SessionRequest]]:
        """Return requests that were approved and have not begun, by analyst and id.

        It is kept in memory from then on: no other program approves.
        """
        approved: dict[str, dict[str, SessionRequest]] = {}
        for request in self.requests.in_state(APPROVED):
            if self._index.number(request.id) is None:
                approved.setdefault(request.analyst, {})[request.id] = request
        return approved

    def _begin(self, request: SessionRequest) -> None:
        """Begin a session that was approved, unless it has begun. Nothing else begins one."""
        self._update_all()  # not while this store is locked: backups lock stores in order
        with self._updated_index():
            if self._is_on_store(request):
                return
            self._not_begun.setdefault(request.analyst, {})[request.id] = request
            self._check_allowed(request.id, request.terms)
            self._open(request, request.terms)
        del self._not_begun[request.analyst][request.id]
        self._note_store()

    # Queries are answered in sessions.

    def cost(self, person: Person, name: str, queries: Sequence[QueryIn]) -> tuple[Preview, float]:
        """Return a preview of what queries would use, and the error bound of the session.

        Nothing is asked.

        Raises:
            RefusedError: no such session, or it has not begun.
            QueryError: unknown vertices.
        """
        session = self._session_of(person, name)
        return session.cost(self._queries(queries)), session.error_bound

    def ask(
        self, person: Person, name: str, ask_in: Ask, key: str | None
    ) -> tuple[list[AnswerOut], int]:
        """Answer queries: `ask_in_steps` without a pause."""
        return run_all(self.ask_in_steps(person, name, ask_in, key))

    def ask_in_steps(
        self, person: Person, name: str, ask_in: Ask, key: str | None
    ) -> Steps[tuple[list[AnswerOut], int]]:
        """Answer queries: all, or none if the session has less left.

        Others may take their turns between two chunks of queries. An analyst's requests do not
        overtake each other, so meanwhile only other programs on the same store can use up the
        queries that a session has left.

        1. A key that was answered before gets the same answers.
        2. More new queries than the session has left are refused; nothing is asked.
        3. The audit log records the request, and the key is kept.
        4. `ask_together`: the cost is on the store before noise is drawn, the answers before they
           are shown.
        5. The audit log records the answers by the head of the store, and they are kept under the
           key.
        Steps 3, 4 and 5 are done together with those of others who ask at the same time: each has
        one transaction of the registry, or two of the store, for all of them.

        A process that is killed between 3 and 5 leaves a key without answers. If its queries are
        sent again, those on the record are free, and an interrupted one counts as spent.

        Returns:
            The answers, and how many of them were new.

        Raises:
            RefusedError: no such session, or the key belongs to another request.
            QueryError: unknown vertices.
            ExhaustedError: not enough is left.
        """
        session = self._session_of(person, name)
        text = name + "\n" + json.dumps(ask_in.model_dump(), sort_keys=True)
        digest = hashlib.sha256(text.encode()).digest()
        if key is not None:
            earlier_answers = self._answers_of_key(person, key, digest)
            if earlier_answers is not None:
                return earlier_answers, 0
        preview = session.cost(self._queries(ask_in.queries))
        if not preview.allowed and not ask_in.unguaranteed:
            raise RefusedError(
                409,
                f"{preview.new:,} new queries, but the session has {preview.left:,} left; nothing "
                "was asked",
                kind="exhausted",
                left={"queries": preview.left},
            )
        note = {"session": name, "request": digest.hex(), "queries": len(ask_in.queries)}

        def note_question(changes: Changes) -> None:
            if key is not None:
                values = (person.name, key, digest, time.time(), self.store)
                changes.execute("INSERT OR IGNORE INTO keys VALUES (?, ?, ?, NULL, ?, ?)", values)
            changes.log(person.name, "ask", {**note, "new": preview.new})

        yield BookChange(self.book, note_question)
        queries, answers = self._queries(ask_in.queries), list[Answer]()
        try:
            while len(answers) < len(ask_in.queries):
                if answers:
                    yield None
                chunk = list(islice(queries, Session.chunk))
                answers += yield QueriesOfSession(
                    self._sessions, session, chunk, ask_in.unguaranteed
                )
        except GraphCutsError as problem:
            kind = "exhausted" if isinstance(problem, ExhaustedError) else "refused"
            with self.book.writing() as changes:
                changes.log(person.name, kind, note)
            raise
        replies = [AnswerOut.model_validate(answer) for answer in answers]
        with self._ledger.locked():
            head = str(self._ledger.head)

        def note_answers(changes: Changes) -> None:
            if key is not None:
                changes.execute(
                    "UPDATE keys SET response = ? WHERE person = ? AND name = ?",
                    (json.dumps([reply.model_dump() for reply in replies]), person.name, key),
                )
            changes.log(person.name, "answered", {**note, "store": head})
            changes.note_store(self.store, head)

        yield BookChange(self.book, note_answers)
        return replies, preview.new

    def _answers_of_key(self, person: Person, key: str, digest: bytes) -> list[AnswerOut] | None:
        """Return the answers under an idempotency key; None if there are none.

        Raises:
            RefusedError: it belongs to another request.
        """
        rows = self.book.rows(
            "SELECT request, response, store FROM keys WHERE person = ? AND name = ?",
            (person.name, key),
        )
        if not rows:
            return None
        ((request, response, store),) = rows
        if (request, store) != (digest, self.store):
            raise RefusedError(409, "this idempotency key belongs to another request", kind="key")
        return None if response is None else [AnswerOut(**reply) for reply in json.loads(response)]

    def _queries(self, queries: Sequence[QueryIn]) -> Iterator[LinearQuery]:
        """Yield queries one at a time: all at once could fill the memory."""
        return (query.query(self.universe) for query in queries)

    # What is on the record of sessions.

    def status_of(self, request: SessionRequest) -> SessionStatus | None:
        """Return the status of a session on the store; None before it has begun."""
        with self._updated_index() as index:
            use = index.use(request.id)
            return None if use is None else session_status(self._ledger, use)

    def error_bound(self, status: SessionStatus | None) -> float | None:
        """Return the largest half width of an interval; None if the session has not begun.

        It is read from the state that the store has: the session need not be open for that.
        """
        if status is None or status.state == FAILED:
            return None
        mechanism = self.forecasts.mechanism(status.terms.parameters)
        with self._ledger.locked():
            return stored_error_bound(self._ledger, status.terms, mechanism)

    def history(
        self, person: Person, name: str, after: int, limit: int
    ) -> tuple[int, Iterator[tuple[int, Question, Answer]]]:
        """Return how many answers there are, and some of them: record, query, answer.

        They are read as they are taken, since queries of many numbers fill the memory.

        Args:
            person: who reads.
            name: of the session.
            after: number of the oldest answers to leave out.
            limit: the most answers.

        Raises:
            RefusedError: no such session.
        """
        request = self.requests.get_visible(person, name)
        if not self._has_begun(request):
            return 0, iter(())
        entries = self._session(request).history
        page = (entries[index] for index in range(after, min(after + limit, len(entries))))
        return len(entries), ((entry.record, entry.query, entry.answer) for entry in page)

    def export(self, person: Person, name: str) -> Iterator[str]:
        """Yield the transcript of a session as JSON lines: its guarantee, then its answers.

        Raises:
            RefusedError: no such session, or it has not begun.
        """
        request = self.requests.get_visible(person, name)
        self._check_begun(request)
        with self.book.writing() as changes:
            changes.log(person.name, "export", {"session": name})
        answers = export_ledger(self._ledger, name, self._status_of_one(request))
        yield json.dumps(next(answers)) + "\n"
        yield from (json.dumps(answer) + "\n" for answer in answers)

    def _status_of_one(self, request: SessionRequest) -> LedgerStatus:
        """Return the ledger as an analyst may see it: one session, and the sums of all uses."""
        with self._updated_index() as index:
            use, total, budget = index.use(request.id), index.total, self.budget
            if use is None or total is None:  # impossible: `_check_begun` has passed
                raise RefusedError(404, NO_SESSION)
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

    # The store, and the sessions on it.

    def _note_store(self) -> None:
        """Have the registry note the head of the store: a session has begun, or the server ends."""
        with suppress(LedgerError):  # an older note stays, which is harmless
            with self._ledger.locked():
                head = self._ledger.head
            note_store(self._ledger, self.book, head)

    @contextmanager
    def _updated_index(self) -> Iterator[UseIndex]:
        """Lock the store, and yield the index of its uses, which is then up to date."""
        with self._ledger.locked():
            self._index.update()
            yield self._index

    def _update_all(self) -> None:
        """Update the indices of the stores of all graphs of the server."""
        for desk in (self, *self.others):
            with desk._updated_index():
                pass

    def _is_on_store(self, request: SessionRequest) -> bool:
        """Return whether a session is on the store, by the index as it was updated last."""
        return self._index.number(request.id) is not None

    def _has_begun(self, request: SessionRequest) -> bool:
        """Return whether a session was approved and is on the store."""
        with self._updated_index():
            return request.state == APPROVED and self._is_on_store(request)

    def _check_begun(self, request: SessionRequest) -> None:
        """Refuse a session that has not begun.

        Raises:
            RefusedError: it has not.
        """
        if not self._has_begun(request):
            kind = "not-begun" if request.state == APPROVED else request.state
            raise RefusedError(409, NOT_BEGUN[request.state], kind=kind)

    def _session_of(self, person: Person, name: str) -> Session:
        """Return a session for its analyst to ask in.

        Raises:
            RefusedError: there is none that the person may see, it is of another analyst, or it has
                not begun.
        """
        request = self.requests.get_visible(person, name)
        if request.analyst != person.name:
            raise RefusedError(403, "only the analyst of a session asks in it", kind="not-yours")
        return self._session(request)

    def _session(self, request: SessionRequest) -> Session:
        """Return a session that has begun. Without terms, `open_session` can begin none.

        Raises:
            RefusedError: it has not begun.
        """
        session = self._sessions.find(request.id)
        if session is None:
            self._check_begun(request)
            return self._open(request, {})
        return session

    def _open(self, request: SessionRequest, terms: dict[str, Any]) -> Session:
        """Open a session of the store, or begin it by its terms."""
        with self._updated_index() as index:
            return self._sessions.open(request.id, index.use(request.id), terms)
