"""The runner of sessions: steps on a ledger, in the order that survives a crash at any point.

`ledger.ledger` describes the order, and why each point is safe. Only the runner and the mechanisms
read private data for a session. Sessions of cuts and of distances differ in `SessionMechanism`
alone.
"""

import hashlib
import json
from collections.abc import Callable, Generator, Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Generic, TypeVar, cast, final

from graphcuts_dp.errors import (
    BudgetError,
    ExhaustedError,
    FileFormatError,
    GraphCutsError,
    LedgerError,
)
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.plain_values import DAMAGED, check_intact, from_plain, plain
from graphcuts_dp.ledger.records import Entries, Kind, StoredState, UseTotals, encode
from graphcuts_dp.ledger.temporary import TemporaryStore
from graphcuts_dp.ledger.uses import Use
from graphcuts_dp.privacy.entropy import (
    EntropySource,
    SeededEntropy,
    SystemEntropy,
)
from graphcuts_dp.session.base import (
    Answer,
    SessionMechanism,
    Update,
    zero_answer,
)
from graphcuts_dp.session.queries import EncodedQuery

M = TypeVar("M", bound=SessionMechanism[Any, Any])
Write = Callable[[Entries], None]  # adds records within a transaction
# Work of a session that goes on once the records of each `Write` that it yields are on the disk.
Phases = Generator[Write, None, list[Answer]]

RUN_OUT = (
    "the session has run out: no further answer is guaranteed; answers on the record stay free, "
    "and a new session, which is charged anew, answers more"
)
_MOST_CORRECTIONS = 32  # after a snapshot; they are repeated when a session is opened


@final
class Runner(Generic[M]):
    """Answer queries of one session. Several runners may exist for it, in threads and processes.

    Args:
        ledger: the open ledger.
        use: the session on the ledger.
        mechanism: of the session.
        data: the private data, as the mechanism's `start` and `counter` read them.
    """

    def __init__(self, ledger: Ledger, use: Use, mechanism: M, data: Any) -> None:
        self.ledger = ledger
        self.mechanism = mechanism
        self._number, self._seed = use.number, use.seed
        self._data = data
        self._state: Any = None
        self._record = 0  # number of the record that `_state` belongs to
        # Number and bytes of the latest snapshot of the hypothesis that was read.
        self._snapshot: tuple[int, bytes] | None = None
        self.temporary: TemporaryStore | None = None  # a store that ends with this session
        self.shares_ledger = False  # true if other sessions go on when this one is closed

    @cached_property
    def _count_truths(self) -> Callable[[Sequence[Any]], Sequence[int | None]]:
        """The function from queries to true answers. Private."""
        return self.mechanism.counter(self._data)

    @property
    def totals(self) -> UseTotals:
        """The totals of the session's records; to be read within `Ledger.locked`."""
        return self.ledger.uses[self._number]

    def start(self) -> None:
        """Store the first state. BEGIN is on the disk already, so the cost is charged."""
        state = self.mechanism.start(self._data, self._source())
        with self.ledger.writing() as entries:
            self._add(entries, Kind.STARTED, {}, state=state)
            self._add_snapshot(entries, state)
        self._set_state(state)

    def current_state(self) -> Any:
        """Return the state to go on from, after interrupted steps have been written off.

        Raises:
            BudgetError: the session was interrupted while it started.
            LedgerError: the stored state does not belong to this session's mechanism.
        """
        totals = self.totals
        if not totals.started:
            raise BudgetError(
                "this session was interrupted while it started, which counts as spent; "
                "start another under a new name"
            )
        lost = False
        if self._state is None or self._record != totals.state:
            self._state, lost = self._restore()
            self._record = totals.state or 0
        if totals.reserved or lost:
            before, state = self._state, self._after_lost_steps(self._state, totals.reserved)
            self._state = None
            with self.ledger.writing() as entries:
                body = {
                    "steps": totals.reserved,
                    "queries": state.queries - before.queries,
                    "stopped": state.stopped,
                }
                self._add(entries, Kind.INTERRUPTED, body, state=state)
            self._set_state(state)
        return self._state

    def answers(self, queries: Sequence[EncodedQuery], *, unguaranteed: bool) -> list[Answer]:
        """Answer queries: from the record if they are on it, else by steps.

        A query whose answer is 0 on all data takes no step, no record and no budget.

        Args:
            queries: the queries.
            unguaranteed: if the mechanism has stopped, False refuses, and True answers by the
                hypothesis, marked as without guarantee.

        Raises:
            ExhaustedError: the mechanism has stopped. Earlier answers are on the record.
            QueryError: a query that the mechanism refuses. Earlier answers are on the record.
            BudgetError: the session was interrupted while it started.
            LedgerError: the store cannot be used.
        """
        (reply,) = answer_together(self.ledger, [self.phases(queries, unguaranteed=unguaranteed)])
        if isinstance(reply, Exception):
            raise reply
        return reply

    def phases(self, queries: Sequence[EncodedQuery], *, unguaranteed: bool) -> Phases:
        """Answer queries as `answers` does, in phases for `answer_together`."""
        records = self.ledger.answers(self._number)
        new_queries = {
            query.digest: query for query in queries if query.pairs and query.digest not in records
        }
        if new_queries:
            yield from self._answer_new(list(new_queries.values()), unguaranteed=unguaranteed)
        return [
            self.answer_of_record(records[query.digest]) if query.pairs else zero_answer()
            for query in queries
        ]

    def answer_of_record(self, seq: int) -> Answer:
        """Return the answer of a record; within `Ledger.locked`."""
        return recorded_answer(self.ledger.record(seq)[1])

    def _answer_new(
        self, queries: Sequence[EncodedQuery], *, unguaranteed: bool
    ) -> Generator[Write, None, None]:
        """Answer queries that are not on the record, and record the answers, in phases.

        What is yielded first is on the disk before any noise is drawn.

        1. Reserve the queries: a crash from here on counts all of them as lost.
        2. Step.
        3. Record the answers with the state after them, and release what was not used.
        """
        state = self.current_state()
        answered = 0
        refusal: GraphCutsError = ExhaustedError(RUN_OUT)
        if not state.stopped:
            truths = self._count_truths([query.query for query in queries])
            yield partial(self._reserve, queries)  # 1.
            self._state = None  # never step twice from one state
            answers, state, problem = self._steps(queries, truths, state)  # 2.
            yield partial(self._add_answers, queries, answers, state)  # 3.
            self._set_state(state)
            answered = len(answers)
            refusal = problem or refusal  # none if the mechanism has stopped
        if answered < len(queries):
            if not (unguaranteed and isinstance(refusal, ExhaustedError)):
                raise refusal
            self._answer_unguaranteed(queries[answered:], state)

    def _after_lost_steps(self, state: Any, steps: int) -> Any:
        """Return the state after some steps from `state` were lost.

        Mechanisms that count lost answers count each of them; others have one set of running noise,
        which they replace once.
        """
        source = self._source()
        for _ in range(max(1, steps)):
            before = state.queries
            state = self.mechanism.after_interruption(state, source)
            if state.queries == before:
                break
        return state

    def _steps(
        self, queries: Sequence[EncodedQuery], truths: Sequence[int | None], state: Any
    ) -> tuple[list[Answer], Any, GraphCutsError | None]:
        """Answer until the mechanism stops or refuses.

        Only a refusal by `check`, before the noise, leaves the state valid. Any error from within a
        step may depend on the noise or on private data (that a test fired, say): it is raised with
        the reservation standing, so that the steps of this call count as interrupted, and are
        charged before the session goes on.

        Returns:
            The answers, the state after them, and the refusal; None if there is none.
        """
        source = self._source()
        answers: list[Answer] = []
        for query, truth in zip(queries, truths, strict=True):
            if state.stopped:
                break
            try:
                self.mechanism.check(state, query.query)
            except GraphCutsError as problem:
                return answers, state, problem
            state, answer = self.mechanism.step(state, query.query, truth, source)
            answers.append(self.mechanism.public_answer(query, answer))
        return answers, state, None

    def _reserve(self, queries: Sequence[EncodedQuery], entries: Entries) -> None:
        """Record that steps are about to be made: they count as spent from then on."""
        for query in queries:
            _add_query(entries, query)
        self._add(entries, Kind.RESERVE, b"".join(query.digest for query in queries))

    def _add_answers(
        self,
        queries: Sequence[EncodedQuery],
        answers: Sequence[Answer],
        state: Any,
        entries: Entries,
    ) -> None:
        """Record answers to the first of the queries; the state belongs to the last of them."""
        for index, (query, answer) in enumerate(zip(queries, answers, strict=False)):
            kind = Kind.CORRECTION if answer.updated else Kind.ANSWER
            state_after = state if index + 1 == len(answers) else None
            self._add(entries, kind, plain(answer), query=query.digest, state=state_after)
        corrections = len(self.totals.corrections) + sum(answer.updated for answer in answers)
        if corrections >= _MOST_CORRECTIONS:
            self._add_snapshot(entries, state)
        if len(answers) < len(queries):
            self._add(entries, Kind.RELEASE, {})

    def _answer_unguaranteed(self, queries: Sequence[EncodedQuery], state: Any) -> None:
        """Record answers without guarantee, which depend on the hypothesis alone."""
        mechanism = self.mechanism
        answers = [
            mechanism.public_answer(query, mechanism.unguaranteed(state, query.query))
            for query in queries
        ]
        with self.ledger.writing() as entries:
            for query, answer in zip(queries, answers, strict=True):
                _add_query(entries, query)
                self._add(entries, Kind.UNGUARANTEED, plain(answer), query=query.digest)

    def _add_snapshot(self, entries: Entries, state: Any) -> None:
        """Record the hypothesis, if it is stored apart from the state."""
        hypothesis = self.mechanism.hypothesis_bytes(state)
        if hypothesis is not None:
            self._add(entries, Kind.SNAPSHOT, {}, query=entries.add_content(hypothesis))

    def _restore(self) -> tuple[Any, bool]:
        """Return the state that is stored on the ledger, and whether its secret was lost."""
        stored = self.ledger.state(self._number)
        if stored is None:
            raise LedgerError("the store was altered: a session has no state")
        try:
            with check_intact(
                "the session cannot go on: what it has learned is damaged in its store"
            ):
                hypothesis, updates = self._snapshot_and_updates()
                state = read_state(self.mechanism, stored)
                state = self.mechanism.restore(state, self._data, hypothesis, updates)
        except FileFormatError as problem:
            raise LedgerError(f"the session cannot go on: {problem}") from None
        return state, stored.secret is None

    def _snapshot_and_updates(self) -> tuple[bytes, list[tuple[Any, Update]]]:
        """Return the latest snapshot of the hypothesis, and the updates since, with queries."""
        totals = self.totals
        if totals.snapshot is None:
            return b"", []
        if self._snapshot is None or self._snapshot[0] != totals.snapshot:
            digest, _ = self.ledger.record(totals.snapshot)
            self._snapshot = totals.snapshot, self.ledger.content(digest)
        updates = []
        for seq in totals.corrections:
            digest, body = self.ledger.record(seq)
            query = self.mechanism.decode(self.ledger.content(digest), self.ledger.content)
            updates += [(query, update) for update in recorded_answer(body).updates]
        return self._snapshot[1], updates

    def _set_state(self, state: Any) -> None:
        """Go on from a state, which is that of the ledger."""
        self._state, self._record = state, self.totals.state or 0

    def _source(self) -> EntropySource:
        """Return the source of noise; a seeded session is repeatable also if it is resumed."""
        if self._seed is None:
            return SystemEntropy()
        key = hashlib.sha256(f"{self._seed} {self._number} {self.ledger.records}".encode())
        return SeededEntropy(int.from_bytes(key.digest()[:16], "big"))

    def _add(
        self,
        entries: Entries,
        kind: Kind,
        body: bytes | dict[str, Any],
        *,
        query: bytes = b"",
        state: Any = None,
    ) -> None:
        """Add a record of the session, and the state after it if there is one."""
        stored = None if state is None else stored_state(self.mechanism, state)
        entries.add(kind, self._number, body, query=query, state=stored)


def answer_together(ledger: Ledger, sessions: Sequence[Phases]) -> list[list[Answer] | Exception]:
    """Answer queries of several sessions of one store; their steps share two transactions.

    1. All reservations are committed: from then on all steps count as spent.
    2. Each session draws its noise and makes its steps, see `Runner`.
    3. All answers and next states are committed.
    The store is locked for all of it. Where a shared transaction fails, each session has one of its
    own: so the failure of one is not that of another.

    Privacy: each session does what it does by itself, in the same order, with noise of its own.
    What one writes beside another is no input of either.

    Args:
        ledger: open, of all sessions.
        sessions: see `Runner.phases`; of different sessions.

    Returns:
        The answers of each session, or the exception that it raised.
    """
    replies: dict[int, list[Answer] | Exception] = {}
    with ledger.locked():
        problems: dict[int, Exception] = {}
        while len(replies) < len(sessions):
            writes: dict[int, Write] = {}
            for number, phases in enumerate(sessions):
                if number in replies:
                    continue
                try:
                    if number in problems:
                        writes[number] = phases.throw(problems[number])
                    else:
                        writes[number] = next(phases)
                except StopIteration as stop:
                    replies[number] = stop.value
                except Exception as problem:
                    replies[number] = problem
            problems = _commit(ledger, writes)
    return [replies[number] for number in range(len(sessions))]


def _commit(ledger: Ledger, writes: dict[int, Write]) -> dict[int, Exception]:
    """Commit writes in one transaction, or in one each if it fails; return their exceptions."""
    problems: dict[int, Exception] = {}
    transactions = [list(writes)] if writes else []
    while transactions:
        numbers = transactions.pop()
        try:
            with ledger.writing() as entries:
                for number in numbers:
                    writes[number](entries)
        except Exception as problem:
            if len(numbers) == 1:
                problems[numbers[0]] = problem
            else:
                transactions += [[number] for number in reversed(numbers)]
    return problems


def stored_state(mechanism: SessionMechanism[Any, Any], state: Any) -> StoredState:
    """Return a state as the ledger stores it: its mechanism's identity, and its fields by name."""
    secrets: list[Any] = []
    public = {**_header(mechanism), "state": plain(state, secrets)}
    return StoredState(encode(public), json.dumps(secrets).encode())


def read_state(mechanism: SessionMechanism[Any, Any], stored: StoredState) -> Any:
    """Return the state that `stored_state` wrote; lost secrets and fields stored apart are None.

    Raises:
        FileFormatError: damaged values, or those of another mechanism, version or parameters.
    """
    try:
        public = json.loads(stored.public, parse_constant=Fraction)  # refuses NaN
        state = public.pop("state")
        if public != _header(mechanism):
            raise FileFormatError("the stored state belongs to a mechanism with other parameters")
        secrets = None if stored.secret is None else json.loads(stored.secret)
        return from_plain(mechanism.state, state, secrets)
    except DAMAGED:
        raise FileFormatError("the stored state is damaged") from None


def _header(mechanism: SessionMechanism[Any, Any]) -> dict[str, Any]:
    """Return a mechanism's identity: its kind, version, and a digest of its parameters."""
    parameters = json.dumps(mechanism.parameters, sort_keys=True)
    return {
        "kind": mechanism.name,
        "version": mechanism.version,
        "parameters": hashlib.sha256(parameters.encode()).hexdigest()[:32],
    }


def recorded_answer(body: dict[str, Any]) -> Answer:
    """Return the answer of a record.

    Raises:
        LedgerError: other values.
    """
    with check_intact("an answer on the record is of another version, or damaged"):
        body = {key: value for key, value in body.items() if key != "state"}
        return cast(Answer, from_plain(Answer, body))


def _add_query(entries: Entries, query: EncodedQuery) -> None:
    """Store a query and its long parts as contents of the ledger."""
    for data in (*query.long_parts, query.data):
        entries.add_content(data)
