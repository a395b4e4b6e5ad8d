"""What a ledger shows: histories, totals and exports. Nothing secret, and no graph is needed."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, final, overload

from graphcuts_dp._version import __version__
from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.graph.queries import CutQuery
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.graph.vertices import Label, VertexSet
from graphcuts_dp.interactive.base import Answer
from graphcuts_dp.interactive.encoding import decode_answer, decode_query
from graphcuts_dp.interactive.ledger import Ledger
from graphcuts_dp.interactive.opening import (
    Terms,
    ledger_budget,
    ledger_universe,
    session_terms,
)
from graphcuts_dp.interactive.spending import total_cost
from graphcuts_dp.privacy.entropy import SEEDED_WARNING


@final
@dataclass(frozen=True)
class HistoryEntry:
    """One answer on the record.

    Attributes:
        record: its number in the ledger.
        query: the cut, with truth vectors for sets.
        answer: as it was given.
    """

    record: int
    query: CutQuery = field(repr=False)
    answer: Answer


@final
class History(Sequence[HistoryEntry]):
    """The answers of a session so far, oldest first; each is read from the record when needed."""

    def __init__(self, ledger: Ledger, records: Sequence[int], universe: Universe) -> None:
        self._ledger = ledger
        self._records = records
        self._universe = universe

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, index: int) -> HistoryEntry: ...
    @overload
    def __getitem__(self, index: slice) -> "History": ...
    def __getitem__(self, index: int | slice) -> "HistoryEntry | History":
        if isinstance(index, slice):
            return History(self._ledger, self._records[index], self._universe)
        seq = self._records[index]
        with self._ledger.locked():
            digest, body = self._ledger.record(seq)
            query = decode_query(self._ledger.content(digest), self._universe)
        return HistoryEntry(seq, query, decode_answer(body))

    def __repr__(self) -> str:
        return f"History({len(self)} answers)"


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

    terms: Terms
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


@final
@dataclass(frozen=True)
class LedgerStatus:
    """What all sessions on one graph have spent together.

    Attributes:
        sessions: in the order in which they began.
        epsilon: of all of them together, the smallest proven bound; 0 if there are none.
        delta: likewise.
        budget: the cap on that as text, or None.
        seeded: whether any of them is seeded: then nothing is promised.
    """

    sessions: tuple[SessionStatus, ...]
    epsilon: float
    delta: float
    budget: str | None
    seeded: bool

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "budget": self.budget,
            "entropy": SEEDED_WARNING if self.seeded else "operating system",
            "sessions": [session.to_dict() for session in self.sessions],
        }


def ledger_status(ledger: Ledger) -> LedgerStatus:
    """What is on the ledger, without the answers.

    Raises:
        LedgerError: the store cannot be read.
    """
    with ledger.locked():
        terms = session_terms(ledger)
        sessions = tuple(_session_status(ledger, each) for each in terms)
        budget = ledger_budget(ledger)
        total = total_cost([each.cost for each in terms], budget) if terms else None
    return LedgerStatus(
        sessions,
        total.epsilon if total else 0.0,
        total.delta if total else 0.0,
        None if budget is None else str(budget),
        any(each.seed is not None for each in terms),
    )


def _session_status(ledger: Ledger, terms: Terms) -> SessionStatus:
    totals = ledger.sessions[terms.number]
    queries = terms.parameters["queries"]
    remaining = Remaining(queries, None)
    stopped = False
    if totals.shown:
        answer = decode_answer(ledger.record(totals.shown[-1])[1])
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
        state, remaining = "failed", Remaining(0, 0)
    return SessionStatus(
        terms,
        state,
        len(totals.shown),
        totals.corrected,
        totals.interruptions + (totals.reserved > 0),
        remaining,
    )


def export_ledger(ledger: Ledger, name: str | None = None) -> Iterator[dict[str, Any]]:
    """The public part of a ledger, as plain values: first what was promised, then the answers.

    Args:
        ledger: the ledger.
        name: of one session; None for all.

    Yields:
        A header with the guarantee, then one dictionary for each answer.

    Raises:
        LedgerError: the store cannot be read.
    """
    universe = ledger_universe(ledger)
    status = ledger_status(ledger)
    chosen = [each for each in status.sessions if name in (None, each.terms.name)]
    yield {
        "made_by": f"graphcuts_dp {__version__}",
        "vertices": list(universe.shape) if universe.bipartite else universe.shape[0],
        "bipartite": universe.bipartite,
        "weighted": ledger.header["weighted"],
        "weight_cap": ledger.header["weight_cap"],
        "whole_ledger": {
            key: value for key, value in status.to_dict().items() if key != "sessions"
        },
        "sessions": [each.to_dict() for each in chosen],
    }
    for each in chosen:
        with ledger.locked():
            shown = tuple(ledger.sessions[each.terms.number].shown)
        for entry in History(ledger, shown, universe):
            yield {"session": each.terms.name, **entry_to_dict(entry, universe)}


def entry_to_dict(entry: HistoryEntry, universe: Universe) -> dict[str, Any]:
    """One answer as plain values, with labels; T is left out when it is all the rest."""
    left, right = sides(universe)
    values: dict[str, Any] = {"S": labels_in(left, entry.query.masks(universe.space)[0])}
    if entry.query.T is not None:
        values["T"] = labels_in(right, entry.query.masks(universe.space)[1])
    return values | answer_to_dict(entry.answer)


def answer_to_dict(answer: Answer) -> dict[str, Any]:
    """An answer as plain values that every reader of JSON understands: infinity is null."""
    low, high = answer.interval
    return {
        "value": answer.value,
        "interval": [low if math.isfinite(low) else None, high if math.isfinite(high) else None],
        "confidence": answer.confidence,
        "guaranteed": answer.guaranteed,
        "corrected": answer.updated,
        "queries_left": answer.queries_left,
        "updates_left": answer.updates_left,
        "seeded": answer.seeded,
    }


def sides(universe: Universe) -> tuple[VertexSet, VertexSet]:
    """The vertex sets of the rows and of the columns."""
    space = universe.space
    return (space, space) if isinstance(space, VertexSet) else space


def labels_in(vertices: VertexSet, mask: BoolVector) -> list[Label]:
    """The labels that a truth vector chooses."""
    return [label for label, chosen in zip(vertices.labels, mask, strict=True) if chosen]
