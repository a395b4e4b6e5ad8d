"""The one runner of sessions: steps on a ledger, in the order that survives a crash at any point.

The order, and why each point is safe, is told in `ledger.ledger`. Only this and the mechanisms read
private data for a session. Sessions of cuts and of distances differ in `SessionMechanism` alone.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, Generic, Self, TypeVar, cast, final

from graphcuts_dp.errors import (
    BudgetError,
    ExhaustedError,
    FileFormatError,
    GraphCutsError,
    LedgerError,
    ParameterError,
)
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.rows import PrivateData
from graphcuts_dp.ledger.charges import open_to_charge, warn_of_second_use
from graphcuts_dp.ledger.ledger import Entries, Kind, Ledger, StoredState, UseTotals, encode
from graphcuts_dp.ledger.opening import Store, Subject, check_vertices, open_ledger
from graphcuts_dp.ledger.plain_values import DAMAGED, from_plain, intact, plain
from graphcuts_dp.ledger.temporary import TemporaryStore
from graphcuts_dp.ledger.uses import Use, begin_use, uses_of
from graphcuts_dp.privacy.composition import as_stored
from graphcuts_dp.privacy.entropy import (
    SEEDED_WARNING,
    EntropySource,
    Seed,
    SeededEntropy,
    SystemEntropy,
    as_seed,
)
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, exact_epsilon
from graphcuts_dp.session.base import (
    NOTHING,
    Answer,
    SessionMechanism,
    Update,
)
from graphcuts_dp.session.queries import EncodedQuery

M = TypeVar("M", bound=SessionMechanism[Any, Any])

OUT = "the session has run out: no further answer is guaranteed; answers on the record stay free"
FAILED = "failed"  # a session that was interrupted while it started
_LEARNT_EVERY = 32  # corrections that are made again when a session is opened, at most


@final
class Runner(Generic[M]):
    """Answers queries of one session. Any number may exist for it, in threads and processes.

    Args:
        ledger: the open ledger.
        use: the session, as it is there.
        mechanism: the session's.
        data: private: what the mechanism's `start` and `counter` read.
    """

    def __init__(self, ledger: Ledger, use: Use, mechanism: M, data: Any) -> None:
        self.ledger = ledger
        self.mechanism = mechanism
        self._number, self._seed = use.number, use.seed
        self._data = data
        self._state: Any = None
        self._record = 0  # that `_state` belongs to
        self._learnt: tuple[int, bytes] | None = None  # the latest snapshot that was read
        self.temporary: TemporaryStore | None = None  # that the ledger is on, which ends with this
        self.shares_ledger = False  # with other sessions, which go on when this one is closed

    @cached_property
    def _truths(self) -> Callable[[Sequence[Any]], Sequence[int | None]]:
        return self.mechanism.counter(self._data)

    @property
    def totals(self) -> UseTotals:
        """What the records of the session add up to; within `Ledger.locked`."""
        return self.ledger.uses[self._number]

    def start(self) -> None:
        """Make the first state. BEGIN is on the disk already: its cost counts from then on."""
        state = self.mechanism.start(self._data, self._source())
        with self.ledger.writing() as entries:
            self._add(entries, Kind.STARTED, {}, state=state)
            self._keep_learnt(entries, state)
        self._keep(state)

    def present(self) -> Any:
        """The state to go on from, after anything that was interrupted has been written off.

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
            self._state, lost = self._restored()
            self._record = totals.state or 0
        if totals.reserved or lost:
            before, state = self._state, self._written_off(self._state, totals.reserved)
            self._state = None
            with self.ledger.writing() as entries:
                body = {
                    "steps": totals.reserved,
                    "queries": state.queries - before.queries,
                    "stopped": state.stopped,
                }
                self._add(entries, Kind.INTERRUPTED, body, state=state)
            self._keep(state)
        return self._state

    def answers(self, asked: Sequence[EncodedQuery], *, unguaranteed: bool) -> list[Answer]:
        """Answer queries: from the record where possible, else by steps.

        A query whose answer is 0 whatever the data takes no step, no record and no budget.

        Args:
            asked: the queries.
            unguaranteed: what to do once the mechanism has stopped: False refuses, True answers
                from what was learnt, marked.

        Raises:
            ExhaustedError: the mechanism has stopped. Answers before that are on the record.
            QueryError: a query that the mechanism refuses; likewise.
            BudgetError: the session was interrupted while it started.
            LedgerError: the store cannot be used.
        """
        with self.ledger.locked():
            answered = self.ledger.answers(self._number)
            fresh = {key.digest: key for key in asked if key.pairs and key.digest not in answered}
            if fresh:
                self._answer(list(fresh.values()), unguaranteed=unguaranteed)
            return [self.recorded(answered[key.digest]) if key.pairs else NOTHING for key in asked]

    def recorded(self, seq: int) -> Answer:
        """The answer of a record; within `Ledger.locked`."""
        return recorded_answer(self.ledger.record(seq)[1])

    def _answer(self, fresh: Sequence[EncodedQuery], *, unguaranteed: bool) -> None:
        """Put answers to queries that are not on the record there."""
        state = self.present()
        answered = 0
        refusal: GraphCutsError = ExhaustedError(OUT)
        if not state.stopped:
            truths = self._truths([key.query for key in fresh])
            with self.ledger.writing() as entries:  # 1.
                for key in fresh:
                    _keep_query(entries, key)
                self._add(entries, Kind.RESERVE, b"".join(key.digest for key in fresh))
            self._state = None  # never step twice from one state
            made, state, problem = self._steps(fresh, truths, state)  # 2.
            with self.ledger.writing() as entries:  # 3.
                self._write(entries, fresh, made, state)
                if len(made) < len(fresh):
                    self._add(entries, Kind.RELEASE, {})
            self._keep(state)
            answered, refusal = len(made), problem or refusal
        if answered < len(fresh):
            if not (unguaranteed and isinstance(refusal, ExhaustedError)):
                raise refusal
            self._answer_freely(fresh[answered:], state)

    def _written_off(self, state: Any, steps: int) -> Any:
        """The state after some steps from `state` were lost.

        Mechanisms that count lost answers count each; others have one set of running noise, which
        they replace.
        """
        source = self._source()
        for _ in range(max(1, steps)):
            before = state.queries
            state = self.mechanism.interrupted(state, source)
            if state.queries == before:
                break
        return state

    def _steps(
        self, fresh: Sequence[EncodedQuery], truths: Sequence[int | None], state: Any
    ) -> tuple[list[Answer], Any, GraphCutsError | None]:
        """Answer until the mechanism stops or refuses.

        Only what is refused by `check`, before the noise, leaves the state as good as it was. Any
        error from within a step may depend on the noise or on private data (that a test fired,
        say): it is let through with the reservation standing, so that the steps of this call count
        as interrupted and are paid for before the session goes on.
        """
        source = self._source()
        made: list[Answer] = []
        for key, truth in zip(fresh, truths, strict=True):
            if state.stopped:
                break
            try:
                self.mechanism.check(state, key.query)
            except GraphCutsError as problem:
                return made, state, problem
            state, answer = self.mechanism.step(state, key.query, truth, source)
            made.append(self.mechanism.recorded(key, answer))
        return made, state, None

    def _write(
        self, entries: Entries, keys: Sequence[EncodedQuery], answers: Sequence[Answer], state: Any
    ) -> None:
        for index, (key, answer) in enumerate(zip(keys, answers, strict=False)):
            kind = Kind.CORRECTION if answer.updated else Kind.ANSWER
            after = state if index + 1 == len(answers) else None
            self._add(entries, kind, plain(answer), query=key.digest, state=after)
        corrections = len(self.totals.corrections) + sum(each.updated for each in answers)
        if corrections >= _LEARNT_EVERY:
            self._keep_learnt(entries, state)

    def _answer_freely(self, rest: Sequence[EncodedQuery], state: Any) -> None:
        """Answers without guarantee, which read what was learnt only."""
        made = [
            self.mechanism.recorded(k, self.mechanism.unguaranteed(state, k.query)) for k in rest
        ]
        with self.ledger.writing() as entries:
            for key, answer in zip(rest, made, strict=True):
                _keep_query(entries, key)
                self._add(entries, Kind.UNGUARANTEED, plain(answer), query=key.digest)

    def _keep_learnt(self, entries: Entries, state: Any) -> None:
        learnt = self.mechanism.learnt(state)
        if learnt is not None:
            self._add(entries, Kind.SNAPSHOT, {}, query=entries.content(learnt))

    def _restored(self) -> tuple[Any, bool]:
        """The state that the ledger keeps, and whether its secret was lost."""
        stored = self.ledger.state(self._number)
        if stored is None:
            raise LedgerError("the store was altered: a session has no state")
        try:
            with intact("the session cannot go on: what it has learned is damaged in its store"):
                learnt, since = self._learnt_since()
                state = read_state(self.mechanism, stored)
                state = self.mechanism.resumed(state, self._data, learnt, since)
        except FileFormatError as problem:
            raise LedgerError(f"the session cannot go on: {problem}") from None
        return state, stored.secret is None

    def _learnt_since(self) -> tuple[bytes, list[tuple[Any, Update]]]:
        """The latest snapshot of what was learnt, and the updates since, with their queries."""
        totals = self.totals
        if totals.snapshot is None:
            return b"", []
        if self._learnt is None or self._learnt[0] != totals.snapshot:
            digest, _ = self.ledger.record(totals.snapshot)
            self._learnt = totals.snapshot, self.ledger.content(digest)
        found = []
        for seq in totals.corrections:
            digest, body = self.ledger.record(seq)
            query = self.mechanism.decoded(self.ledger.content(digest), self.ledger.content)
            found += [(query, update) for update in recorded_answer(body).updates]
        return self._learnt[1], found

    def _keep(self, state: Any) -> None:
        self._state, self._record = state, self.totals.state or 0

    def _source(self) -> EntropySource:
        """Where noise comes from; a seeded session goes on the same way when it is resumed."""
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
        """A record of the session; with a state, which it goes on from after that."""
        stored = None if state is None else stored_state(self.mechanism, state)
        entries.add(kind, self._number, body, query=query, state=stored)


def stored_state(mechanism: SessionMechanism[Any, Any], state: Any) -> StoredState:
    """What the ledger keeps of a state: whose it is, and its fields by name."""
    secrets: list[Any] = []
    public = {**_header(mechanism), "state": plain(state, secrets)}
    return StoredState(encode(public), json.dumps(secrets).encode())


def read_state(mechanism: SessionMechanism[Any, Any], stored: StoredState) -> Any:
    """The state that `stored_state` wrote; a secret that was lost, and what lies apart, is None.

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
    """A mechanism's identity: its kind, its version, and a digest of its parameters by name."""
    parameters = json.dumps(mechanism.parameters, sort_keys=True)
    return {
        "kind": mechanism.name,
        "version": mechanism.version,
        "parameters": hashlib.sha256(parameters.encode()).hexdigest()[:32],
    }


def recorded_answer(body: dict[str, Any]) -> Answer:
    """The answer of a record.

    Raises:
        LedgerError: other values.
    """
    with intact("an answer on the record is of another version, or damaged"):
        body = {key: value for key, value in body.items() if key != "state"}
        return cast(Answer, from_plain(Answer, body))


def _keep_query(entries: Entries, key: EncodedQuery) -> None:
    for data in (*key.sets, key.data):
        entries.content(data)


@final
@dataclass(frozen=True)
class Remaining:
    """What is left of a session.

    Attributes:
        queries: guaranteed answers; None when there is no limit.
        updates: corrections, as of the latest answer; None before the first one, or when the
            method makes none.
    """

    queries: int | None
    updates: int | None


@final
@dataclass(frozen=True)
class SessionStatus:
    """Where a session stands.

    Attributes:
        terms: what was agreed when it began.
        state: "open", "stopped" (no further answer is guaranteed), or "failed" (interrupted while
            it started).
        answers: on the record.
        corrections: answers that corrected the hypothesis.
        interruptions: times that a step was lost; what it can have used counts as spent.
        remaining: what is left.
    """

    terms: Use
    state: str
    answers: int
    corrections: int
    interruptions: int
    remaining: Remaining

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "name": self.terms.name,
            "state": self.state,
            "parameters": self.terms.parameters,
            "guarantee": self.terms.guarantee.to_dict(),
            "answers": self.answers,
            "corrections": self.corrections,
            "interruptions": self.interruptions,
            "remaining": asdict(self.remaining),
        }


def session_status(ledger: Ledger, terms: Use) -> SessionStatus:
    """Where one session stands; within `Ledger.locked`."""
    totals = ledger.uses[terms.number]
    with intact("the store was altered: a record of the session is damaged"):
        queries = terms.parameters["queries"]
        remaining = Remaining(queries, None)
        stopped = False
        if totals.shown:
            answer = recorded_answer(ledger.record(totals.shown[-1])[1])
            remaining = Remaining(answer.queries_left, answer.updates_left)
            stopped = not answer.guaranteed or answer.queries_left == 0
        for seq in totals.lost:
            body = ledger.record(seq)[1]
            stopped |= body["stopped"]
            if remaining.queries is not None:
                remaining = replace(remaining, queries=remaining.queries - body["queries"])
        if stopped:
            remaining = replace(remaining, queries=0)
    state = "stopped" if stopped else "open"
    if not totals.started:
        state, remaining = FAILED, Remaining(0, 0)
    return SessionStatus(
        terms,
        state,
        len(totals.shown),
        totals.corrected,
        totals.interruptions + (totals.reserved > 0),
        remaining,
    )


def stored_error_bound(ledger: Ledger, terms: Use, mechanism: Any) -> float:
    """Return `CutMechanism.error_bound` of a session as its store has it; within `locked`.

    What lies apart from a state, such as a hypothesis, is not read.

    Args:
        ledger: the ledger.
        terms: of a session that has started.
        mechanism: of the session.

    Raises:
        LedgerError: the stored state is damaged, or of another mechanism.
    """
    stored = ledger.state(terms.number)
    if stored is None:
        raise LedgerError("the store was altered: a session has no state")
    try:
        return float(mechanism.error_bound(read_state(mechanism, stored)))
    except FileFormatError as problem:
        raise LedgerError(f"the session cannot go on: {problem}") from None


class StoreSession(Generic[M]):
    """What sessions of all kinds have: a place on a store, what is guaranteed, and a record.

    Attributes:
        chunk: queries that are reserved, and lost in a crash, together.
    """

    chunk: ClassVar[int] = 64

    def __init__(self, terms: Use, runner: Runner[M]) -> None:
        self._terms = terms
        self._runner = runner
        self._ledger = runner.ledger

    def __repr__(self) -> str:
        method = self._terms.parameters.get("method")
        parts = [repr(self.name), *([] if method is None else [method])]
        parts += [] if self._terms.seed is None else [SEEDED_WARNING]
        return f"{type(self).__name__}({', '.join(parts)})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the store back. Nothing is lost without it, but files stay beside the store.

        A session without a store ends here.
        """
        if self._runner.shares_ledger:
            self._ledger.forget_answers(self._terms.number)
            return
        self._ledger.close()
        if self._runner.temporary is not None:
            self._runner.temporary.remove()

    def __getstate__(self) -> Any:
        """Refuse to be pickled or copied.

        Raises:
            TypeError: always.
        """
        raise TypeError(
            "a session cannot be pickled or copied, since its store must see each answer once: "
            "open it in the other process, on the same store"
        )

    @property
    def name(self) -> str:
        """Of the session within the store."""
        return self._terms.name

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """What is guaranteed for all answers of this session together."""
        return self._terms.guarantee

    @property
    def parameters(self) -> dict[str, Any]:
        """What was agreed when it began, with "auto" replaced by what was chosen."""
        return dict(self._terms.parameters)

    @property
    def status(self) -> SessionStatus:
        """Where the session stands."""
        with self._ledger.locked():
            return session_status(self._ledger, self._terms)

    def _answers(
        self, keys: Iterable[EncodedQuery], *, unguaranteed: bool
    ) -> Iterator[list[Answer]]:
        """The answers to queries, chunk by chunk."""
        source = iter(keys)
        while chunk := list(islice(source, self.chunk)):
            yield self._runner.answers(chunk, unguaranteed=unguaranteed)


@final
@dataclass(frozen=True, kw_only=True)
class Beginning:
    """A session that can begin.

    Attributes:
        mechanism: the session's; it was tried out, so that what cannot start is not paid for.
        data: private, as the mechanism reads it.
        parameters: that are agreed on, plain values; the way back to the mechanism.
        guarantee: what is guaranteed for all answers together.
    """

    mechanism: SessionMechanism[Any, Any]
    data: Any
    parameters: dict[str, Any]
    guarantee: PrivacyGuarantee


def check_agreed(terms: Use, agreed: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Refuse to resume a session with other parameters than it was begun with.

    Raises:
        ParameterError: one differs.
    """
    agreed = {**agreed, "seed": terms.seed}
    for key, value in wanted.items():
        if agreed.get(key) != value:
            raise ParameterError(
                f"session {terms.name!r} is on the store with {key}={agreed.get(key)!r}; "
                "leave that out, or choose another name"
            )


@final
@dataclass(frozen=True)
class OpenStore:
    """A store that is open already, for one of the sessions that share its ledger.

    Whoever shares a ledger looks up uses by name: to read all of them for each session, as is done
    with a store that is opened, would cost more with each session.

    Attributes:
        ledger: open; it was compared with the private data, and stays open.
        store: which states purpose and author of new uses.
        use: the session, if it has begun; None begins it.
    """

    ledger: Ledger
    store: Store
    use: Use | None


def begun_or_resumed(
    store: PathLike | Store | OpenStore | None,
    subject: PrivateData | Subject,
    terms: dict[str, Any],
    *,
    name: str,
    seed: Seed | None,
    stacklevel: int,
    **known: Any,
) -> tuple[Use, Runner[Any]]:
    """Begin a session, or go on with the one of this name, on the ledger of a store.

    Args:
        store: made if it is not there; what is refused must leave none. One that is open already
            stays open. None for a new session in a store that ends with it.
        subject: the private data that it is about.
        terms: plain values by name; those that are None are open.
        name: of the session.
        seed: of the noise of a new session, or None.
        stacklevel: of the warning of a second use.
        known: see `_on_ledger`.

    Raises:
        BudgetError: the budget does not allow the session. Nothing was spent.
        LedgerError: the store cannot be used; or the state in it is of another mechanism.
        ParameterError: no name, epsilon, number of queries or seed of a session.

    Warns:
        PrivacyWarning: without a store, the second time that the same data are used.
    """
    number = as_seed(seed)
    known |= {"name": name, "seed": number}
    wanted = _wanted(name, terms)
    if isinstance(store, OpenStore):
        return _on_ledger(store, subject, wanted, **known)
    if store is not None:
        return _on_store(Store.of(store), subject, wanted, **known)
    temporary = TemporaryStore()
    try:
        use, runner = _on_store(temporary.store, subject, wanted, **known)
    except BaseException:
        temporary.remove()
        raise
    runner.temporary = temporary
    if number is None:
        warn_of_second_use(subject, stacklevel=stacklevel + 1)
    return use, runner


def _on_store(
    store: Store,
    subject: PrivateData | Subject,
    wanted: dict[str, Any],
    *,
    kind: str,
    name: str,
    fresh: Callable[[dict[str, Any]], Beginning],
    **known: Any,
) -> tuple[Use, Runner[Any]]:
    """Do what `begun_or_resumed` does, on a store that is opened for it.

    Args:
        store: made if it is not there.
        subject: as there.
        wanted: the terms that are given.
        kind: of the use.
        name: of the session.
        fresh: makes a new session of its terms; called before a store is made.
        known: see `_on_ledger`.

    Raises:
        GraphCutsError: as there.
    """

    def new() -> Beginning:  # as deep as in `_on_ledger`, for the stacklevel of warnings
        return fresh(_complete(wanted))

    beginning = None
    if store.exists:
        ledger = open_ledger(store, subject)
    else:
        beginning = new()
        ledger = open_to_charge(store, subject, beginning.mechanism.cost, beginning.guarantee)
    try:
        with ledger.locked():
            named = (use for use in uses_of(ledger) if (use.kind, use.name) == (kind, name))
            opened = OpenStore(ledger, store, next(named, None))
            known |= {"kind": kind, "name": name, "fresh": fresh}
            return _on_ledger(opened, subject, wanted, beginning=beginning, **known)
    except BaseException:
        ledger.close()
        raise


def _wanted(name: str, terms: dict[str, Any]) -> dict[str, Any]:
    """Return the terms that are given, as a store keeps them.

    Raises:
        ParameterError: no name or epsilon of a session.
    """
    if not isinstance(name, str) or not 0 < len(name) <= 100 or not name.isprintable():
        raise ParameterError("a session's name is a printable text of 1 to 100 characters")
    given_terms = {key: as_stored(value) for key, value in terms.items() if value is not None}
    if "epsilon" in given_terms:
        given_terms["epsilon"] = as_stored(exact_epsilon(terms["epsilon"]))
    return given_terms


def _complete(given_terms: dict[str, Any]) -> dict[str, Any]:
    """Return terms that a new session can have.

    Raises:
        ParameterError: one is missing that has no default.
    """
    for key, example in (("epsilon", "1.0"), ("queries", "100")):
        if key not in given_terms:
            raise ParameterError(f"a new session needs {key}, for example {key}={example}")
    return given_terms


def _on_ledger(
    open_store: OpenStore,
    subject: PrivateData | Subject,
    wanted: dict[str, Any],
    *,
    kind: str,
    name: str,
    seed: int | None,
    fresh: Callable[[dict[str, Any]], Beginning],
    resume: Callable[[Use, dict[str, Any]], tuple[SessionMechanism[Any, Any], Any]],
    beginning: Beginning | None = None,
    **noted: Any,
) -> tuple[Use, Runner[Any]]:
    """Do what `begun_or_resumed` does, on a ledger that is open.

    Args:
        open_store: the ledger, and the session if it is on it.
        subject: as there.
        wanted: the terms that are given.
        kind: of the use.
        name: of the session.
        seed: of the noise of a new session, or None.
        fresh: makes a new session of its terms.
        resume: from what was agreed the mechanism and the data, as it reads them; refuses terms,
            the seed among them, that do not agree.
        beginning: a new session that was made already; None if absent.
        noted: see `begin_use`: how the data were read.

    Raises:
        GraphCutsError: as there.
    """
    ledger, use = open_store.ledger, open_store.use
    check_vertices(ledger, Subject.of(subject))
    with ledger.locked():
        if use is not None:
            seeded = {} if seed is None else {"seed": seed}
            runner = Runner[Any](ledger, use, *resume(use, wanted | seeded))
            if runner.totals.started:
                runner.present()
            return use, runner
        beginning = beginning or fresh(_complete(wanted))
        use = begin_use(
            ledger,
            kind=kind,
            name=name,
            parameters=beginning.parameters,
            cost=beginning.mechanism.cost,
            guarantee=beginning.guarantee,
            store=open_store.store,
            **noted,
        )
        runner = Runner[Any](ledger, use, beginning.mechanism, beginning.data)
        runner.start()
        return use, runner
