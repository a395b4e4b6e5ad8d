"""Steps of one session of distances on its ledger, in the order that survives a crash at any point.

The order, and why each point is safe, is told in `ledger.ledger`. Only this and the mechanism read
the private locations for a session.
"""

import hashlib
from collections.abc import Sequence
from typing import Any, final

from graphcuts_dp.distances.interactive import InteractiveDistances, InteractiveState
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.session_records import (
    DistanceReply,
    answer_body,
    encoded_query,
    query_digest,
    reply_of,
    restored_state,
    stored_state,
)
from graphcuts_dp.errors import BudgetError, ExhaustedError, LedgerError
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.records import Kind, UseTotals
from graphcuts_dp.privacy.entropy import EntropySource, SeededEntropy, SystemEntropy

_OUT = "the session has run out: no further answer is guaranteed; answers on the record stay free"


@final
class DistanceRunner:
    """Answers queries of one session. Any number may exist for it, in threads and processes.

    Args:
        ledger: the open ledger.
        number: of the session.
        mechanism: the session's.
        locations: private.
        seed: of the noise, or None.
    """

    def __init__(
        self,
        ledger: Ledger,
        number: int,
        mechanism: InteractiveDistances,
        locations: Locations,
        seed: int | None,
    ) -> None:
        self.ledger = ledger
        self.mechanism = mechanism
        self._number = number
        self._locations = locations
        self._seed = seed

    @property
    def totals(self) -> UseTotals:
        """What the records of the session add up to; within `Ledger.locked`."""
        return self.ledger.uses[self._number]

    @property
    def promised(self) -> int:
        """How many answers the session promises."""
        return self.mechanism.plan.queries or 0

    def start(self) -> None:
        """Make the first state. BEGIN is on the disk already: its cost counts from then on."""
        state = self.mechanism.start(self._locations, self._source())
        with self.ledger.writing() as entries:
            entries.with_state(Kind.STARTED, self._number, {}, stored_state(state))

    def replies(self, rows: Sequence[int], *, unguaranteed: bool) -> list[DistanceReply]:
        """Answer queries: from the record where possible, else by steps.

        Args:
            rows: of the vertices.
            unguaranteed: what to do once the session has run out: False refuses, True answers from
                what was learnt, marked.

        Raises:
            ExhaustedError: the session has run out. Answers before that are on the record.
            BudgetError: the session was interrupted while it started.
            LedgerError: the store cannot be used.
        """
        digests = {row: query_digest(row) for row in rows}
        with self.ledger.locked():
            known = self.totals.answers
            fresh = [row for row, digest in digests.items() if digest not in known]
            if fresh:
                self._answer(fresh, unguaranteed=unguaranteed)
            return [self.recorded(known[digests[row]]) for row in rows]

    def recorded(self, seq: int) -> DistanceReply:
        """The answer of a record; within `Ledger.locked`."""
        return reply_of(self.ledger.record(seq)[1], self._locations.metric)

    def present(self) -> InteractiveState:
        """The state to go on from, after anything that was interrupted has been written off.

        Raises:
            BudgetError: the session was interrupted while it started.
            LedgerError: the stored state does not belong to this session.
        """
        totals = self.totals
        if not totals.started:
            raise BudgetError(
                "this session was interrupted while it started, which counts as spent; "
                "start another under a new name"
            )
        stored = self.ledger.state(self._number)
        if stored is None:
            raise LedgerError("the store was altered: a session has no state")
        state, lost = restored_state(stored, self.mechanism.plan, self._locations)
        if totals.reserved or lost:
            source = self._source()
            for _ in range(max(1, totals.reserved)):
                state = self.mechanism.interrupted(state, source)
            body = {"steps": totals.reserved, "queries": state.queries}
            with self.ledger.writing() as entries:
                entries.with_state(Kind.INTERRUPTED, self._number, body, stored_state(state))
        return state

    def stopped(self, state: InteractiveState) -> bool:
        """Whether no further answer is guaranteed."""
        return not state.guaranteed or state.queries >= self.promised

    def _answer(self, fresh: list[int], *, unguaranteed: bool) -> None:
        state, done = self.present(), 0
        if not self.stopped(state):
            wanted = fresh[: self.promised - state.queries]
            with self.ledger.writing() as entries:  # 1.
                for row in wanted:
                    entries.content(encoded_query(row))
                reserved = b"".join(query_digest(row) for row in wanted)
                entries.add(Kind.RESERVE, self._number, reserved)
            # Whatever fails from here on may depend on the noise or on where people are: the
            # reservation stands, and the steps of this call are written off before the next.
            made, state = self._steps(wanted, state)  # 2.
            with self.ledger.writing() as entries:  # 3.
                for index, (row, kind, body) in enumerate(made):
                    if index + 1 < len(made):
                        entries.plain(kind, self._number, body, query_digest(row))
                    else:
                        after = stored_state(state)
                        entries.with_state(kind, self._number, body, after, query_digest(row))
                if len(made) < len(wanted):
                    entries.plain(Kind.RELEASE, self._number, {})
            done = len(made)
        if done < len(fresh):
            if not unguaranteed:
                raise ExhaustedError(_OUT)
            self._answer_freely(fresh[done:], state)

    def _steps(
        self, rows: list[int], state: InteractiveState
    ) -> tuple[list[tuple[int, Kind, dict[str, Any]]], InteractiveState]:
        source, made = self._source(), []
        for row in rows:
            if self.stopped(state):
                break
            before = state.hypothesis
            state, answer = self.mechanism.step(state, row, source)
            corrected = state.hypothesis != before
            left = 0 if self.stopped(state) else self.promised - state.queries
            body = answer_body(row, answer, corrected=corrected, left=left)
            made.append((row, Kind.CORRECTION if corrected else Kind.ANSWER, body))
        return made, state

    def _answer_freely(self, rows: list[int], state: InteractiveState) -> None:
        """Answers without guarantee; they read what was learnt only."""
        with self.ledger.writing() as entries:
            for row in rows:
                answer = self.mechanism.plan.answer(
                    state.hypothesis, row, guaranteed=False, seed=self._seed
                )
                entries.content(encoded_query(row))
                body = answer_body(row, answer, corrected=False, left=0)
                entries.plain(Kind.UNGUARANTEED, self._number, body, query_digest(row))

    def _source(self) -> EntropySource:
        """Where noise comes from. A seeded session goes on the same way when it is reopened."""
        if self._seed is None:
            return SystemEntropy()
        key = hashlib.sha256(f"{self._seed} {self._number} {self.ledger.records}".encode())
        return SeededEntropy(int.from_bytes(key.digest()[:16], "big"))
