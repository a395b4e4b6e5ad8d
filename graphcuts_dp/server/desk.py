"""All that the server does with the store: sessions begin, queries are answered, budgets are told.

There is no other way to an answer than `Session`, and no other ledger than the store. Every method
is called by one thread at a time; the server has one thread for them. The private graph is handed
on to `open_session`, and read nowhere else in this folder.
"""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, final

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.errors import BudgetError, ExhaustedError, GraphCutsError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.graph_queries import Question
from graphcuts_dp.graph.group_names import GroupNames
from graphcuts_dp.graph.groups import Groups
from graphcuts_dp.graph.linear_query import LinearQuery
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.interactive.group_start import GROUPS
from graphcuts_dp.interactive.parameters import Parameters
from graphcuts_dp.interactive.session import Session, open_session
from graphcuts_dp.interactive.transcript import (
    LedgerStatus,
    SessionStatus,
    export_ledger,
    ledger_status,
)
from graphcuts_dp.ledger.opening import Store, ledger_budget, open_ledger
from graphcuts_dp.ledger.spending import Budget
from graphcuts_dp.ledger.uses import Use
from graphcuts_dp.measurements.cells import sides_of_groups
from graphcuts_dp.planning.planner import plan
from graphcuts_dp.server.approval import (
    APPROVED,
    REFUSED,
    WAITING,
    Request,
    Requests,
    check_caps,
    forecast,
)
from graphcuts_dp.server.book import Book
from graphcuts_dp.server.made import dummy_answers, made_like, quiet
from graphcuts_dp.server.models import Ask, DummyIn, PlanIn, QueryIn, SessionIn, Terms
from graphcuts_dp.server.people import CURATOR, People, Person
from graphcuts_dp.server.plain import digest_of_set, names_of_sets, plain_answer
from graphcuts_dp.server.problems import RefusedError

_NO_SESSION = "there is no such session, or it is not yours"


@final
class Desk:
    """Works on one store for all who may ask.

    Args:
        graph: the private graph.
        store: an existing one, about this graph.
        book: of the same store.
        groups: public groups that queries may name.
        protecting: whom all sessions protect: `protect`, `at_most` and `degree_bound` as for
            `open_session`, without those that are left out.

    Raises:
        ParameterError: no such protection.
        LedgerError: the store cannot be used, or is about another graph.
        GraphError: groups of other vertices.
    """

    def __init__(
        self,
        graph: AnyGraph,
        store: Store,
        book: Book,
        groups: Groups | tuple[Groups, Groups] | None = None,
        protecting: Mapping[str, Any] | None = None,
    ) -> None:
        self._protecting = dict(protecting or {})
        self._graph = graph
        self._store = store
        self._groups = groups
        self.book = book
        self.people = People(book)
        self.requests = Requests(book)
        self.universe = Universe.of(graph)
        whom = Parameters(epsilon=1.0, queries=1, **self._protecting)
        self.grid = whom.grid(graph)
        self.protection = whom.protection
        self.names = None if groups is None else GroupNames(*sides_of_groups(graph, groups))
        sided = [] if self.names is None else [self.names.left, self.names.right]
        self._named = [names_of_sets(each) for each in sided] or [{}, {}]
        self._ledger = open_ledger(store, graph)
        self._sessions: dict[str, Session] = {}
        self._made: AnyGraph | None = None

    def __repr__(self) -> str:
        return f"Desk({self.universe!r})"

    def close(self) -> None:
        """Give the store and the book back."""
        for session in self._sessions.values():
            session.close()
        self._sessions.clear()
        self._ledger.close()
        self.book.close()

    @property
    def weighted(self) -> bool:
        """Whether edges have weights: public."""
        return self.grid.weighted

    @property
    def status(self) -> LedgerStatus:
        """What is on the store."""
        return ledger_status(self._ledger)

    @property
    def budget(self) -> Budget | None:
        """The cap on all uses of the graph together, or None."""
        return ledger_budget(self._ledger)

    def terms_of(self, asked: Terms) -> dict[str, Any]:
        """Keywords of `open_session`: what was asked for, and whom this server protects.

        Raises:
            ParameterError: a start from groups, where there are none.
        """
        if asked.start == GROUPS and self._groups is None:
            raise ParameterError("this server has no public groups to start from; leave start out")
        return asked.keywords() | self._protecting

    def plan(self, asked: PlanIn) -> dict[str, Any]:
        """What every mechanism would guarantee, from public numbers; see `plan`.

        Offline releases, which analysts cannot ask for, are left out.

        Raises:
            ParameterError: a number out of range.
        """
        universe = self.universe
        most = universe.size
        edges = asked.edges
        if edges is None:
            edges = max(1.0, min(10.0 * sum(universe.shape) / 2, most / 2))
        shape = universe.shape if universe.bipartite else universe.shape[0]
        found = plan(
            shape,
            directed=universe.directed,
            edges=min(edges, most),
            queries=asked.queries,
            epsilon=asked.epsilon,
            delta=asked.delta,
            beta=asked.beta,
            offline=False,
            **self._protecting,
        )
        return found.to_dict()

    def dummy(self, asked: DummyIn) -> list[dict[str, Any]]:
        """Answers about a made graph: free, and of no private data.

        Raises:
            GraphCutsError: as `open_session` and `Session.ask_all`.
        """
        if self._made is None:
            self._made = made_like(self._graph)
        terms = self.terms_of(asked.terms)
        queries = list(self._queries(asked.queries))
        if terms["queries"] < len(queries):
            raise ParameterError("the terms promise fewer answers than queries are asked")
        answers = dummy_answers(self._made, terms, queries, self.names)
        return [plain_answer(answer) for answer in answers]

    def request(self, person: Person, asked: SessionIn) -> tuple[Request, str | None]:
        """Ask for a session. It begins at once where the person is approved beforehand.

        Returns:
            The request, and a warning if its answers are worth nothing.

        Raises:
            ParameterError: terms out of range.
            BudgetError: a cap or the store's budget does not allow it; nothing was spent.
            RefusedError: a session of this name has other terms.
        """
        terms = self.terms_of(asked)
        known = self.requests.find(f"{person.name}.{asked.name}")
        told = forecast(terms, self.universe, self.grid)
        if known is None:
            check_caps(person, self._uses(), terms, told.cost)
        request = self.requests.add(person, asked.name, terms, by_itself=person.preapproved)
        if request.state == APPROVED:
            self._session(request)
        return request, told.warning

    def decide(self, curator: Person, name: str, *, approve: bool, note: str | None) -> Request:
        """Approve a session that waits, which begins it and spends its cost; or refuse it.

        Raises:
            BudgetError: the budget does not allow it; it goes on waiting.
            RefusedError: no such session, or it was decided already.
        """
        request = self._request(name)
        if request.state != WAITING:
            raise RefusedError(409, "that was decided already", kind="decided")
        if approve:
            owner = self.people.find(request.owner)
            cost = forecast(request.terms, self.universe, self.grid).cost
            uses = self._uses()
            check_caps(owner, uses, request.terms, cost)
            budget = self.budget
            if budget is not None and not budget.allows([*(use.cost for use in uses), cost]):
                raise BudgetError(f"the graph's budget ({budget}) does not allow this session")
        state = APPROVED if approve else REFUSED
        self.requests.decide(request, state, note, by=curator.name)
        request = self._request(name)
        if approve:
            self._session(request)
        return request

    def visible(self, person: Person) -> list[Request]:
        """Sessions that somebody may see: their own, those they were granted; a curator all."""
        if person.role == CURATOR:
            return self.requests.all()
        owners = {person.name} | self.people.owners_read_by(person.name)
        return [each for each in self.requests.all() if each.owner in owners]

    def readable(self, person: Person, name: str) -> Request:
        """A session that somebody may see.

        Raises:
            RefusedError: there is none of this name, or it is not theirs: the same for both.
        """
        found = next((each for each in self.visible(person) if each.id == name), None)
        if found is None:
            raise RefusedError(404, _NO_SESSION)
        return found

    def on_store(self, request: Request) -> SessionStatus | None:
        """Where a session stands on the store; None before it has begun."""
        found = (each for each in self.status.sessions if each.terms.name == request.id)
        return next(found, None)

    def error_bound(self, request: Request) -> float | None:
        """The largest half width of an interval; None where the session has not begun."""
        if request.state != APPROVED:
            return None
        try:
            return self._session(request).error_bound
        except BudgetError:
            return None

    def cost(self, person: Person, name: str, queries: Sequence[QueryIn]) -> tuple[Any, float]:
        """What queries would use, and the error that is promised for them; nothing is asked.

        Raises:
            RefusedError: no such session, or it has not begun.
            QueryError: unknown vertices.
        """
        session = self._own(person, name)
        return session.cost(self._queries(queries)), session.error_bound

    def ask(
        self, person: Person, name: str, asked: Ask, key: str | None
    ) -> tuple[list[dict[str, Any]], int]:
        """Answer queries, all or none, as far as what is left is known beforehand.

        1. A key that was answered before: the same answers.
        2. What is more than the session has left is refused; nothing is asked.
        3. The audit log tells that it was asked, and the key is kept.
        4. `Session.ask_all`: the cost is on the store before noise is drawn, the answers before
           they are shown.
        5. The audit log tells that it was answered; the answers are kept under the key.
        A process that is killed between 3 and 5 leaves a key without answers: asked again, what is
        on the record is free, and a step that was cut off counts as one that was spent.

        Returns:
            The answers as plain values, and how many of them were new.

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
                values = (person.name, key, digest)
                changes.execute("INSERT OR IGNORE INTO keys VALUES (?, ?, ?, NULL)", values)
            changes.log(person.name, "ask", {**note, "new": preview.new})
        try:
            answers = session.ask_all(self._queries(asked.queries), unguaranteed=asked.unguaranteed)
        except GraphCutsError as problem:
            kind = "exhausted" if isinstance(problem, ExhaustedError) else "refused"
            with self.book.writing() as changes:
                changes.log(person.name, kind, note)
            raise
        plain = [plain_answer(answer) for answer in answers]
        with self._ledger.locked():
            head = str(self._ledger.head)
        with self.book.writing() as changes:
            if key is not None:
                changes.execute(
                    "UPDATE keys SET response = ? WHERE person = ? AND name = ?",
                    (json.dumps(plain), person.name, key),
                )
            changes.log(person.name, "answered", {**note, "store": head})
        return plain, preview.new

    def history(
        self, person: Person, name: str, after: int, limit: int
    ) -> tuple[int, Iterator[tuple[int, Question, dict[str, Any]]]]:
        """How many answers there are, and some of them: record, query, answer.

        They are read as they are taken, since queries of many numbers fill the memory.

        Raises:
            RefusedError: no such session.
        """
        request = self.readable(person, name)
        if request.state != APPROVED:
            return 0, iter(())
        entries = self._session(request).history
        some = (entries[place] for place in range(after, min(after + limit, len(entries))))
        found = ((each.record, each.query, plain_answer(each.answer)) for each in some)
        return len(entries), found

    def export(self, person: Person, name: str) -> Iterator[str]:
        """The transcript of a session as JSON lines: what was promised, then the answers.

        Raises:
            RefusedError: no such session, or it has not begun.
        """
        request = self.readable(person, name)
        self._begun(request)
        with self.book.writing() as changes:
            changes.log(person.name, "export", {"session": name})
        answers = export_ledger(self._ledger, name)
        header = next(answers)
        whole = header["whole_ledger"]  # of what others asked for, its sums alone
        own = [use for use in whole["uses"] if use["name"] == name]
        yield json.dumps({**header, "whole_ledger": {**whole, "uses": own}}) + "\n"
        yield from (json.dumps(answer) + "\n" for answer in answers)

    def group_of(self, mask: BoolVector, side: int) -> str | None:
        """The public group that a set is, as a query may name it; None if it is none.

        Args:
            mask: truth vector.
            side: 0 for vertices that S is chosen from, 1 for T.
        """
        return self._named[side].get(digest_of_set(mask))

    def _uses(self) -> list[Use]:
        return [each.use for each in self.status.uses]

    def _queries(self, asked: Sequence[QueryIn]) -> Iterator[LinearQuery]:
        """One at a time: all at once could fill the memory."""
        return (each.query(self.universe) for each in asked)

    def _request(self, name: str) -> Request:
        found = self.requests.find(name)
        if found is None:
            raise RefusedError(404, _NO_SESSION)
        return found

    def _begun(self, request: Request) -> None:
        if request.state == WAITING:
            raise RefusedError(409, "the session waits for the curator", kind="waiting")
        if request.state == REFUSED:
            raise RefusedError(409, "the curator refused this session", kind="refused")

    def _own(self, person: Person, name: str) -> Session:
        request = self.readable(person, name)
        if request.owner != person.name:
            raise RefusedError(403, "only the owner of a session asks in it", kind="not-owner")
        self._begun(request)
        return self._session(request)

    def _session(self, request: Request) -> Session:
        """An open session; one that was approved and has not begun begins here."""
        found = self._sessions.get(request.id)
        if found is None:
            with quiet():
                found = open_session(
                    self._graph,
                    store=self._store,
                    name=request.id,
                    groups=self._groups,
                    **request.terms,
                )
            self._sessions[request.id] = found
        return found

    def _kept(self, person: Person, key: str, digest: bytes) -> list[dict[str, Any]] | None:
        rows = self.book.rows(
            "SELECT request, response FROM keys WHERE person = ? AND name = ?", (person.name, key)
        )
        if not rows:
            return None
        if rows[0][0] != digest:
            raise RefusedError(409, "this idempotency key belongs to another request", kind="key")
        kept: list[dict[str, Any]] | None = None if rows[0][1] is None else json.loads(rows[0][1])
        return kept
