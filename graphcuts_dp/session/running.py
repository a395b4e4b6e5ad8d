"""Steps of one session on its ledger, in the order that survives a crash at any point.

The order, and why each point is safe, is told in `ledger`. This is the only place besides the
mechanisms that reads the private graph for a session.
"""

from collections.abc import Sequence
from typing import Any, final

from graphcuts_dp.errors import (
    ExhaustedError,
    FileFormatError,
    GraphCutsError,
    LedgerError,
)
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.ledger.ledger import Entries, Ledger
from graphcuts_dp.ledger.records import Kind, StoredState, UseTotals
from graphcuts_dp.ledger.uses import OUT, begun_totals, noise_of
from graphcuts_dp.pairs.graph_queries import Question
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.session.base import Answer, Mechanism, State, Update
from graphcuts_dp.session.counts import EdgeCounter
from graphcuts_dp.session.encoding import (
    EncodedQuery,
    decode_answer,
    decode_query,
    encode_answer,
)
from graphcuts_dp.session.promises import NOTHING, in_numbers, possible_answer

_SNAPSHOT_EVERY = 32  # corrections that are made again when a session is opened, at most


@final
class Runner:
    """Answers queries of one session. Any number may exist for it, in threads and processes.

    Args:
        ledger: the open ledger.
        number: of the session.
        mechanism: the session's.
        graph: the private graph.
        seed: of the noise, or None.
    """

    def __init__(
        self,
        ledger: Ledger,
        number: int,
        mechanism: Mechanism[Any],
        graph: AnyGraph,
        seed: int | None,
    ) -> None:
        self.ledger = ledger
        self.mechanism = mechanism
        self._number = number
        self._graph = graph
        self._counter = EdgeCounter(graph, mechanism.grid)
        self._seed = seed
        self._state: State | None = None
        self._record = 0  # that `_state` belongs to
        self._hypothesis: tuple[int, bytes] | None = None  # the latest snapshot that was read

    @property
    def totals(self) -> UseTotals:
        """What the records of the session add up to; within `Ledger.locked`."""
        return self.ledger.uses[self._number]

    def start(self) -> None:
        """Make the first state. BEGIN is on the disk already: its cost counts from then on."""
        state = self.mechanism.start(self._graph, self._source())
        with self.ledger.writing() as entries:
            hypothesis = entries.content(state.hypothesis)
            entries.with_state(Kind.STARTED, self._number, {}, _stored(state))
            entries.plain(Kind.SNAPSHOT, self._number, {}, hypothesis)
        self._keep(state)

    def answers(self, asked: Sequence[EncodedQuery], *, unguaranteed: bool) -> list[Answer]:
        """Answer queries: from the record where possible, else by steps.

        A cut without pairs is 0 whatever the graph: that takes no step, no record and no budget.

        Args:
            asked: the queries.
            unguaranteed: what to do once the mechanism has stopped: False refuses, True answers
                from the hypothesis, marked.

        Raises:
            ExhaustedError: the mechanism has stopped. Answers before that are on the record.
            QueryError: a query that the mechanism refuses; likewise.
            BudgetError: the session was interrupted while it started.
            LedgerError: the store cannot be used.
        """
        with self.ledger.locked():
            answered = self.totals.answers
            fresh = {key.digest: key for key in asked if key.pairs and key.digest not in answered}
            if fresh:
                self._answer(list(fresh.values()), unguaranteed=unguaranteed)
            return [self.recorded(answered[key.digest]) if key.pairs else NOTHING for key in asked]

    def recorded(self, seq: int) -> Answer:
        """The answer of a record."""
        return decode_answer(self.ledger.record(seq)[1])

    def present(self) -> State:
        """The state to go on from, after anything that was interrupted has been written off.

        Raises:
            BudgetError: the session was interrupted while it started.
            LedgerError: the stored state does not belong to this session's mechanism.
        """
        totals = begun_totals(self.ledger, self._number)
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
                entries.with_state(Kind.INTERRUPTED, self._number, body, _stored(state))
            self._keep(state)
        assert self._state is not None  # noqa: S101  # for the type checker
        return self._state

    def _written_off(self, state: State, steps: int) -> State:
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

    def _answer(self, fresh: list[EncodedQuery], *, unguaranteed: bool) -> None:
        state = self.present()
        answered = 0
        refusal: GraphCutsError = ExhaustedError(OUT)
        if not state.stopped:
            # Reading the graph draws no noise: what fails here has spent nothing.
            truths: list[int] | None = None
            if self.mechanism.needs_truth:
                truths = self._counter.counts([key.query for key in fresh])
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

    def _steps(
        self, fresh: list[EncodedQuery], truths: list[int] | None, state: State
    ) -> tuple[list[tuple[EncodedQuery, Answer]], State, GraphCutsError | None]:
        """Answer until the mechanism stops or refuses.

        Only what is refused by `check`, before the noise, leaves the state as good as it was. Any
        error from within a step may depend on the noise or on the graph (that a test fired, say):
        it is let through with the reservation standing, so that the steps of this call count as
        interrupted and are paid for before the session goes on.
        """
        source = self._source()
        made: list[tuple[EncodedQuery, Answer]] = []
        for index, key in enumerate(fresh):
            if state.stopped:
                break
            truth = None if truths is None else truths[index]
            try:
                self.mechanism.check(state, key.query)
            except GraphCutsError as problem:
                return made, state, problem
            state, answer = self.mechanism.step(state, key.query, truth, source)
            made.append((key, self._possible(key, answer)))
        return made, state, None

    def _write(
        self, entries: Entries, steps: list[tuple[EncodedQuery, Answer]], state: State
    ) -> None:
        corrections = len(self.totals.corrections)
        for index, (key, answer) in enumerate(steps):
            kind = Kind.CORRECTION if answer.updated else Kind.ANSWER
            corrections += answer.updated
            body = encode_answer(answer)
            if index + 1 < len(steps):
                entries.plain(kind, self._number, body, key.digest)
            else:
                entries.with_state(kind, self._number, body, _stored(state), key.digest)
        if corrections >= _SNAPSHOT_EVERY:
            hypothesis = entries.content(state.hypothesis)
            entries.plain(Kind.SNAPSHOT, self._number, {}, hypothesis)

    def _answer_freely(self, rest: list[EncodedQuery], state: State) -> None:
        """Answers without guarantee; they read the hypothesis only."""
        answers = [
            self._possible(key, self.mechanism.unguaranteed(state, key.query)) for key in rest
        ]
        with self.ledger.writing() as entries:
            for key, answer in zip(rest, answers, strict=True):
                _keep_query(entries, key)
                body = encode_answer(answer)
                entries.plain(Kind.UNGUARANTEED, self._number, body, key.digest)

    def _possible(self, key: EncodedQuery, answer: Answer) -> Answer:
        told = in_numbers(answer, key.sensitivity)
        return possible_answer(told, key.possible(self.mechanism.grid))

    def _keep(self, state: State) -> None:
        self._state, self._record = state, self.totals.state or 0

    def _restored(self) -> tuple[State, bool]:
        """The stored state, and whether its secret was lost."""
        totals = self.totals
        stored = self.ledger.state(self._number)
        if stored is None or totals.snapshot is None:
            raise LedgerError("the store was altered: a session has no state")
        if self._hypothesis is None or self._hypothesis[0] != totals.snapshot:
            digest, _ = self.ledger.record(totals.snapshot)
            self._hypothesis = totals.snapshot, self.ledger.content(digest)
        try:
            state = self.mechanism.restore(
                stored.public, stored.secret, self._hypothesis[1], self._corrections()
            )
        except FileFormatError as problem:
            raise LedgerError(f"the session cannot go on: {problem}") from None
        return state, stored.secret is None

    def _corrections(self) -> list[tuple[Question, Update]]:
        """Updates since the latest snapshot, with their queries."""
        found = []
        for seq in self.totals.corrections:
            digest, body = self.ledger.record(seq)
            query = recorded_query(self.ledger, digest, self.mechanism.universe)
            found += [(query, update) for update in decode_answer(body).updates]
        return found

    def _source(self) -> EntropySource:
        return noise_of(self.ledger, self._number, self._seed)


def recorded_query(ledger: Ledger, digest: bytes, universe: Universe) -> Question:
    """The query of a record, by its digest; within `Ledger.locked`."""
    return decode_query(ledger.content(digest), universe, ledger.content)


def _keep_query(entries: Entries, key: EncodedQuery) -> None:
    for data in (*key.sets, key.data):
        entries.content(data)


def _stored(state: State) -> StoredState:
    return StoredState(state.public, state.secret)
