"""Steps of one session on its ledger, in the order that survives a crash at any point.

The order, and why each point is safe, is told in `ledger.ledger`. Only this and the mechanisms read
private data for a session.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, final

from graphcuts_dp.errors import ExhaustedError, GraphCutsError, LedgerError
from graphcuts_dp.ledger.ledger import Entries, Ledger
from graphcuts_dp.ledger.records import Kind, StoredState, UseTotals
from graphcuts_dp.ledger.uses import OUT, begun_totals, noise_of
from graphcuts_dp.privacy.entropy import EntropySource


class StateOfSteps(Protocol):
    """Where a mechanism stands, as far as its steps need to know."""

    @property
    def queries(self) -> int:
        """Answers that were given so far, lost ones among them."""


class Key(Protocol):
    """A query in its one form, as the ledger keeps it."""

    @property
    def data(self) -> bytes:
        """The query."""

    @property
    def digest(self) -> bytes:
        """SHA-256 of it."""

    @property
    def sets(self) -> tuple[bytes, ...]:
        """Long parts, which `data` names by their SHA-256."""


K = TypeVar("K", bound=Key)
S = TypeVar("S", bound=StateOfSteps)


@final
@dataclass(frozen=True)
class Step:
    """What a step leaves on the record: an answer, and whether it corrected what was learnt."""

    digest: bytes
    body: dict[str, Any]
    corrected: bool


class Steps(ABC, Generic[K, S]):
    """Takes the steps of one session. Any number may exist for it, in threads and processes.

    Args:
        ledger: the open ledger.
        number: of the session.
        seed: of the noise, or None.
    """

    def __init__(self, ledger: Ledger, number: int, seed: int | None) -> None:
        self.ledger = ledger
        self._number = number
        self._seed = seed
        self._state: S | None = None
        self._record = 0  # that `_state` belongs to

    @abstractmethod
    def begin(self, source: EntropySource) -> S:
        """The state before the first query."""

    @abstractmethod
    def stopped(self, state: S) -> bool:
        """Whether no further answer is guaranteed."""

    @abstractmethod
    def truths(self, keys: Sequence[K]) -> Sequence[int | None]:
        """What each step needs of the private data. Draws no noise: a failure has spent nothing."""

    @abstractmethod
    def check(self, state: S, key: K) -> None:
        """Refuse a query that `step` cannot answer. Draws no noise and reads public data alone."""

    @abstractmethod
    def step(self, state: S, key: K, truth: int | None, source: EntropySource) -> tuple[S, Step]:
        """Answer one query; the state must not be used again."""

    @abstractmethod
    def free(self, state: S, key: K) -> dict[str, Any]:
        """An answer without guarantee, which reads what was learnt only."""

    @abstractmethod
    def lose(self, state: S, source: EntropySource) -> S:
        """The state after a step whose answer was lost."""

    @abstractmethod
    def restored(self) -> tuple[S, bool]:
        """The state that the ledger keeps, and whether its secret was lost."""

    @abstractmethod
    def stored(self, state: S) -> StoredState:
        """What the ledger keeps of a state."""

    def keep_learnt(self, entries: Entries, state: S) -> None:
        """Write what was learnt, where a mechanism keeps it beside its states."""

    @property
    def totals(self) -> UseTotals:
        """What the records of the session add up to; within `Ledger.locked`."""
        return self.ledger.uses[self._number]

    def start(self) -> None:
        """Make the first state. BEGIN is on the disk already: its cost counts from then on."""
        state = self.begin(self._source())
        with self.ledger.writing() as entries:
            entries.with_state(Kind.STARTED, self._number, {}, self.stored(state))
            self.keep_learnt(entries, state)
        self._keep(state)

    def present(self) -> S:
        """The state to go on from, after anything that was interrupted has been written off.

        Raises:
            BudgetError: the session was interrupted while it started.
            LedgerError: the stored state does not belong to this session's mechanism.
        """
        totals = begun_totals(self.ledger, self._number)
        lost = False
        if self._state is None or self._record != totals.state:
            if self.ledger.state(self._number) is None:
                raise LedgerError("the store was altered: a session has no state")
            self._state, lost = self.restored()
            self._record = totals.state or 0
        if totals.reserved or lost:
            before, state = self._state, self._written_off(self._state, totals.reserved)
            self._state = None
            with self.ledger.writing() as entries:
                body = {
                    "steps": totals.reserved,
                    "queries": state.queries - before.queries,
                    "stopped": self.stopped(state),
                }
                entries.with_state(Kind.INTERRUPTED, self._number, body, self.stored(state))
            self._keep(state)
        assert self._state is not None  # noqa: S101  # for the type checker
        return self._state

    def answer(self, fresh: Sequence[K], *, unguaranteed: bool) -> None:
        """Put answers to queries that are not on the record there; within `Ledger.locked`.

        Raises:
            ExhaustedError: the mechanism has stopped. Answers before that are on the record.
            QueryError: a query that the mechanism refuses; likewise.
            BudgetError: the session was interrupted while it started.
            LedgerError: the store cannot be used.
        """
        state = self.present()
        answered = 0
        refusal: GraphCutsError = ExhaustedError(OUT)
        if not self.stopped(state):
            truths = self.truths(fresh)
            with self.ledger.writing() as entries:  # 1.
                for key in fresh:
                    _keep_query(entries, key)
                entries.add(Kind.RESERVE, self._number, b"".join(key.digest for key in fresh))
            self._state = None  # never step twice from one state
            steps, state, problem = self._steps(fresh, truths, state)  # 2.
            with self.ledger.writing() as entries:  # 3.
                self._write(entries, steps, state)
                if len(steps) < len(fresh):
                    entries.plain(Kind.RELEASE, self._number, {})
            self._keep(state)
            answered, refusal = len(steps), problem or refusal
        if answered < len(fresh):
            if not (unguaranteed and isinstance(refusal, ExhaustedError)):
                raise refusal
            self._answer_freely(fresh[answered:], state)

    def _written_off(self, state: S, steps: int) -> S:
        """The state after some steps from `state` were lost.

        Mechanisms that count lost answers count each; others have one set of running noise, which
        they replace.
        """
        source = self._source()
        for _ in range(max(1, steps)):
            before = state.queries
            state = self.lose(state, source)
            if state.queries == before:
                break
        return state

    def _steps(
        self, fresh: Sequence[K], truths: Sequence[int | None], state: S
    ) -> tuple[list[Step], S, GraphCutsError | None]:
        """Answer until the mechanism stops or refuses.

        Only what is refused by `check`, before the noise, leaves the state as good as it was. Any
        error from within a step may depend on the noise or on private data (that a test fired,
        say): it is let through with the reservation standing, so that the steps of this call count
        as interrupted and are paid for before the session goes on.
        """
        source = self._source()
        made: list[Step] = []
        for key, truth in zip(fresh, truths, strict=True):
            if self.stopped(state):
                break
            try:
                self.check(state, key)
            except GraphCutsError as problem:
                return made, state, problem
            state, step = self.step(state, key, truth, source)
            made.append(step)
        return made, state, None

    def _write(self, entries: Entries, steps: Sequence[Step], state: S) -> None:
        for index, step in enumerate(steps):
            kind = Kind.CORRECTION if step.corrected else Kind.ANSWER
            if index + 1 < len(steps):
                entries.plain(kind, self._number, step.body, step.digest)
            else:
                entries.with_state(kind, self._number, step.body, self.stored(state), step.digest)
        if len(self.totals.corrections) + sum(s.corrected for s in steps) >= _LEARNT_EVERY:
            self.keep_learnt(entries, state)

    def _answer_freely(self, rest: Sequence[K], state: S) -> None:
        bodies = [self.free(state, key) for key in rest]
        with self.ledger.writing() as entries:
            for key, body in zip(rest, bodies, strict=True):
                _keep_query(entries, key)
                entries.plain(Kind.UNGUARANTEED, self._number, body, key.digest)

    def _keep(self, state: S) -> None:
        self._state, self._record = state, self.totals.state or 0

    def _source(self) -> EntropySource:
        return noise_of(self.ledger, self._number, self._seed)


_LEARNT_EVERY = 32  # corrections that are made again when a session is opened, at most


def _keep_query(entries: Entries, key: Key) -> None:
    for data in (*key.sets, key.data):
        entries.content(data)
