"""The steps of sessions of queries on a private graph."""

from collections.abc import Sequence
from typing import Any, final

from graphcuts_dp.errors import FileFormatError, LedgerError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.ledger.ledger import Entries, Ledger
from graphcuts_dp.ledger.records import Kind, StoredState
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
from graphcuts_dp.session.steps import Step, Steps


@final
class Runner(Steps[EncodedQuery, State]):
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
        super().__init__(ledger, number, seed)
        self.mechanism = mechanism
        self._graph = graph
        self._counter = EdgeCounter(graph, mechanism.grid)
        self._hypothesis: tuple[int, bytes] | None = None  # the latest snapshot that was read

    def answers(self, asked: Sequence[EncodedQuery], *, unguaranteed: bool) -> list[Answer]:
        """Answer queries: from the record where possible, else by steps.

        A cut without pairs is 0 whatever the graph: that takes no step, no record and no budget.

        Args:
            asked: the queries.
            unguaranteed: what to do once the mechanism has stopped: False refuses, True answers
                from the hypothesis, marked.

        Raises:
            ExhaustedError, QueryError, BudgetError, LedgerError: see `Steps.answer`.
        """
        with self.ledger.locked():
            answered = self.totals.answers
            fresh = {key.digest: key for key in asked if key.pairs and key.digest not in answered}
            if fresh:
                self.answer(list(fresh.values()), unguaranteed=unguaranteed)
            return [self.recorded(answered[key.digest]) if key.pairs else NOTHING for key in asked]

    def recorded(self, seq: int) -> Answer:
        """The answer of a record."""
        return decode_answer(self.ledger.record(seq)[1])

    def begin(self, source: EntropySource) -> State:
        """See `Steps.begin`."""
        state: State = self.mechanism.start(self._graph, source)
        return state

    def stopped(self, state: State) -> bool:
        """See `Steps.stopped`."""
        return state.stopped

    def truths(self, keys: Sequence[EncodedQuery]) -> Sequence[int | None]:
        """See `Steps.truths`."""
        if not self.mechanism.needs_truth:
            return [None] * len(keys)
        return self._counter.counts([key.query for key in keys])

    def check(self, state: State, key: EncodedQuery) -> None:
        """See `Steps.check`."""
        self.mechanism.check(state, key.query)

    def step(
        self, state: State, key: EncodedQuery, truth: int | None, source: EntropySource
    ) -> tuple[State, Step]:
        """See `Steps.step`."""
        state, answer = self.mechanism.step(state, key.query, truth, source)
        return state, Step(key.digest, self._body(key, answer), answer.updated)

    def free(self, state: State, key: EncodedQuery) -> dict[str, Any]:
        """See `Steps.free`."""
        return self._body(key, self.mechanism.unguaranteed(state, key.query))

    def lose(self, state: State, source: EntropySource) -> State:
        """See `Steps.lose`."""
        after: State = self.mechanism.interrupted(state, source)
        return after

    def stored(self, state: State) -> StoredState:
        """See `Steps.stored`."""
        return StoredState(state.public, state.secret)

    def keep_learnt(self, entries: Entries, state: State) -> None:
        """A snapshot of the hypothesis."""
        entries.plain(Kind.SNAPSHOT, self._number, {}, entries.content(state.hypothesis))

    def restored(self) -> tuple[State, bool]:
        """See `Steps.restored`."""
        totals, stored = self.totals, self.ledger.state(self._number)
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

    def _body(self, key: EncodedQuery, answer: Answer) -> dict[str, Any]:
        told = in_numbers(answer, key.sensitivity)
        return encode_answer(possible_answer(told, key.possible(self.mechanism.grid)))


def recorded_query(ledger: Ledger, digest: bytes, universe: Universe) -> Question:
    """The query of a record, by its digest; within `Ledger.locked`."""
    return decode_query(ledger.content(digest), universe, ledger.content)
