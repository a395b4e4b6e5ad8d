"""Sessions on a store: their status, their common base, and how they begin or are resumed.

`begin_or_resume` is for sessions of all kinds; `session` and `distances.session` call it. A new
session is made before anything is spent, and begins with its whole cost on the ledger.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any, ClassVar, Generic, Self, final

from graphcuts_dp.errors import FileFormatError, LedgerError, ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.rows import PrivateData
from graphcuts_dp.ledger.charges import open_to_charge, warn_of_second_use
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.opening import Store, Subject, check_vertices, open_ledger
from graphcuts_dp.ledger.plain_values import check_intact
from graphcuts_dp.ledger.temporary import TemporaryStore
from graphcuts_dp.ledger.uses import Use, begin_use, uses_of
from graphcuts_dp.privacy.composition import as_stored
from graphcuts_dp.privacy.entropy import SEEDED_WARNING, Seed, as_seed
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, exact_epsilon
from graphcuts_dp.session.base import Answer, SessionMechanism
from graphcuts_dp.session.queries import EncodedQuery
from graphcuts_dp.session.runner import M, Runner, read_state, recorded_answer

FAILED = "failed"  # the state of a session that was interrupted while it started


@final
@dataclass(frozen=True)
class Remaining:
    """The numbers of queries and updates that are left of a session.

    Attributes:
        queries: guaranteed answers; None if there is no limit.
        updates: corrections, as of the latest answer; None before the first one, or if the method
            makes none.
    """

    queries: int | None
    updates: int | None


@final
@dataclass(frozen=True)
class SessionStatus:
    """The status of a session.

    Attributes:
        terms: the use of the data, with the terms of the session.
        state: "open", "stopped" (no further answer is guaranteed), or "failed" (interrupted while
            it started).
        answers: number of answers on the record.
        corrections: number of answers that corrected the hypothesis.
        interruptions: number of lost steps, whose possible costs count as spent.
        remaining: the numbers of queries and updates that are left.
    """

    terms: Use
    state: str
    answers: int
    corrections: int
    interruptions: int
    remaining: Remaining

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
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
    """Return the status of one session; within `Ledger.locked`."""
    totals = ledger.uses[terms.number]
    with check_intact("the store was altered: a record of the session is damaged"):
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
    """Return `CutMechanism.error_bound` of a session from its stored state; within `locked`.

    The hypothesis and other things that are stored apart from the state are not read.

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
    """Base of sessions of all kinds: they have a store, a guarantee, and a record of answers.

    Attributes:
        chunk: number of queries that are reserved together, and lost together in a crash.
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
        """Close the store. Without this nothing is lost, but temporary files of the store remain.

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
        """The name of the session within the store."""
        return self._terms.name

    @property
    def guarantee(self) -> PrivacyGuarantee:
        """The guarantee for all answers of this session together."""
        return self._terms.guarantee

    @property
    def parameters(self) -> dict[str, Any]:
        """The terms of the session, with "auto" replaced by the chosen method."""
        return dict(self._terms.parameters)

    @property
    def status(self) -> SessionStatus:
        """The status of the session."""
        with self._ledger.locked():
            return session_status(self._ledger, self._terms)

    def _answers(
        self, queries: Iterable[EncodedQuery], *, unguaranteed: bool
    ) -> Iterator[list[Answer]]:
        """Yield the answers to queries, chunk by chunk."""
        remaining = iter(queries)
        while chunk := list(islice(remaining, self.chunk)):
            yield self._runner.answers(chunk, unguaranteed=unguaranteed)


@final
@dataclass(frozen=True, kw_only=True)
class NewSession:
    """A new session that is prepared, before anything is spent.

    Attributes:
        mechanism: of the session; it was tried on data without rows, so that a mechanism that
            cannot start is not charged.
        data: the private data, as the mechanism reads them.
        parameters: the terms of the session, plain values, from which the mechanism can be made.
        guarantee: for all answers together.
    """

    mechanism: SessionMechanism[Any, Any]
    data: Any
    parameters: dict[str, Any]
    guarantee: PrivacyGuarantee


def check_same_terms(use: Use, stored: dict[str, Any], requested: dict[str, Any]) -> None:
    """Refuse to resume a session with other terms than those with which it began.

    Args:
        use: the session on its store.
        stored: its terms.
        requested: the terms with which it is to be resumed, perhaps with a seed.

    Raises:
        ParameterError: one differs.
    """
    stored = {**stored, "seed": use.seed}
    for key, value in requested.items():
        if stored.get(key) != value:
            raise ParameterError(
                f"session {use.name!r} is on the store with {key}={stored.get(key)!r}; "
                "leave that out, or choose another name"
            )


@final
@dataclass(frozen=True)
class OpenStore:
    """A store that is open already, for one of the sessions that share its ledger.

    The caller looks up the session by its name: reading all uses of the store for each session, as
    for a store that is opened, would take longer with each session.

    Attributes:
        ledger: open; it was compared with the private data, and stays open.
        store: with the purpose and the author of new uses.
        use: the session; None if it has not begun.
    """

    ledger: Ledger
    store: Store
    use: Use | None


def begin_or_resume(
    store: PathLike | Store | OpenStore | None,
    subject: PrivateData | Subject,
    terms: dict[str, Any],
    *,
    name: str,
    seed: Seed | None,
    stacklevel: int,
    **options: Any,
) -> tuple[Use, Runner[Any]]:
    """Begin a session, or resume the one of this name, on the ledger of a store.

    Args:
        store: created if it does not exist, but not if the session is refused. A store that is open
            already stays open. None for a new session in a store that ends with it.
        subject: the private data.
        terms: plain values by name; None for those that are not requested.
        name: of the session.
        seed: of the noise of a new session, or None.
        stacklevel: of the warning of a second use.
        options: see `_on_ledger`.

    Raises:
        BudgetError: the budget does not allow the session. Nothing was spent.
        LedgerError: the store cannot be used; or the state in it is of another mechanism.
        ParameterError: no name, epsilon, number of queries or seed of a session.

    Warns:
        PrivacyWarning: without a store, the second time that the same data are used.
    """
    seed_number = as_seed(seed)
    options |= {"name": name, "seed": seed_number}
    requested = _requested_terms(name, terms)
    if isinstance(store, OpenStore):
        return _on_ledger(store, subject, requested, **options)
    if store is not None:
        return _on_store(Store.of(store), subject, requested, **options)
    temporary = TemporaryStore()
    try:
        use, runner = _on_store(temporary.store, subject, requested, **options)
    except BaseException:
        temporary.remove()
        raise
    runner.temporary = temporary
    if seed_number is None:
        warn_of_second_use(subject, stacklevel=stacklevel + 1)
    return use, runner


def _on_store(
    store: Store,
    subject: PrivateData | Subject,
    requested: dict[str, Any],
    *,
    kind: str,
    name: str,
    prepare: Callable[[dict[str, Any]], NewSession],
    **options: Any,
) -> tuple[Use, Runner[Any]]:
    """Begin or resume a session as `begin_or_resume` does, on a store that is opened for it.

    Args:
        store: created if it does not exist.
        subject: the private data.
        requested: the terms that are requested.
        kind: of the use.
        name: of the session.
        prepare: returns a new session with these terms; called before a store is created.
        options: see `_on_ledger`.

    Raises:
        GraphCutsError: as `begin_or_resume`.
    """

    def new() -> NewSession:
        # Calls are as deep as in `_on_ledger`: the stacklevel of warnings is the same.
        return prepare(_complete_terms(requested))

    new_session = None
    if store.exists:
        ledger = open_ledger(store, subject)
    else:
        new_session = new()
        ledger = open_to_charge(store, subject, new_session.mechanism.cost, new_session.guarantee)
    try:
        with ledger.locked():
            matches = (use for use in uses_of(ledger) if (use.kind, use.name) == (kind, name))
            open_store = OpenStore(ledger, store, next(matches, None))
            options |= {"kind": kind, "name": name, "prepare": prepare}
            return _on_ledger(open_store, subject, requested, new_session=new_session, **options)
    except BaseException:
        ledger.close()
        raise


def _requested_terms(name: str, terms: dict[str, Any]) -> dict[str, Any]:
    """Return the terms that are not None, in the form in which a store has them.

    Raises:
        ParameterError: no name or epsilon of a session.
    """
    if not isinstance(name, str) or not 0 < len(name) <= 100 or not name.isprintable():
        raise ParameterError("a session's name is a printable text of 1 to 100 characters")
    requested = {key: as_stored(value) for key, value in terms.items() if value is not None}
    if "epsilon" in requested:
        requested["epsilon"] = as_stored(exact_epsilon(terms["epsilon"]))
    return requested


def _complete_terms(requested: dict[str, Any]) -> dict[str, Any]:
    """Return the terms of a new session; refuse them if one is missing.

    Raises:
        ParameterError: a term is missing that has no default.
    """
    for key, example in (("epsilon", "1.0"), ("queries", "100")):
        if key not in requested:
            raise ParameterError(f"a new session needs {key}, for example {key}={example}")
    return requested


def _on_ledger(
    open_store: OpenStore,
    subject: PrivateData | Subject,
    requested: dict[str, Any],
    *,
    kind: str,
    name: str,
    seed: int | None,
    prepare: Callable[[dict[str, Any]], NewSession],
    resume: Callable[[Use, dict[str, Any]], tuple[SessionMechanism[Any, Any], Any]],
    new_session: NewSession | None = None,
    **use_options: Any,
) -> tuple[Use, Runner[Any]]:
    """Begin or resume a session as `begin_or_resume` does, on a ledger that is open.

    Args:
        open_store: the ledger, and the session if it is on it.
        subject: the private data.
        requested: the terms that are requested.
        kind: of the use.
        name: of the session.
        seed: of the noise of a new session, or None.
        prepare: returns a new session with these terms.
        resume: (use, requested terms) -> the mechanism, and the data as it reads them; refuses
            requested terms, the seed among them, that differ from those of the use.
        beginning: a new session that was prepared already; None if absent.
        use_options: options of `begin_use` on how the data were read.

    Raises:
        GraphCutsError: as `begin_or_resume`.
    """
    ledger, use = open_store.ledger, open_store.use
    check_vertices(ledger, Subject.of(subject))
    with ledger.locked():
        if use is not None:
            requested_seed = {} if seed is None else {"seed": seed}
            runner = Runner[Any](ledger, use, *resume(use, requested | requested_seed))
            if runner.totals.started:
                runner.current_state()
            return use, runner
        new_session = new_session or prepare(_complete_terms(requested))
        use = begin_use(
            ledger,
            kind=kind,
            name=name,
            parameters=new_session.parameters,
            cost=new_session.mechanism.cost,
            guarantee=new_session.guarantee,
            store=open_store.store,
            **use_options,
        )
        runner = Runner[Any](ledger, use, new_session.mechanism, new_session.data)
        runner.start()
        return use, runner
