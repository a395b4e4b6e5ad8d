"""The public contents of a ledger: answers of sessions, uses with their cost, and exports.

Nothing here is secret, and no graph is needed.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, final, overload

from graphcuts_dp._version import __version__
from graphcuts_dp.files import PathLike
from graphcuts_dp.frames import made_frame
from graphcuts_dp.ledger.charges import file_digests
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.opening import (
    Store,
    ledger_budget,
    ledger_universe,
    open_ledger,
    store_id,
)
from graphcuts_dp.ledger.records import UseTotals
from graphcuts_dp.ledger.series import FLOWS_OVER_TIME
from graphcuts_dp.ledger.uses import (
    DISTANCE_SESSION,
    SESSION,
    Use,
    in_all_periods,
    spent_by_period,
    spent_together,
    uses_of,
)
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import SEEDED_WARNING
from graphcuts_dp.queries.graph_queries import Question
from graphcuts_dp.queries.query_lines import labels_of_cut, query_to_dict
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.session.base import Answer
from graphcuts_dp.session.queries import decode_query
from graphcuts_dp.session.runner import recorded_answer
from graphcuts_dp.session.store_sessions import SessionStatus, session_status

LEDGER_SCHEMA = "graphcuts_dp.ledger"  # of `LedgerStatus.to_json`
LEDGER_SCHEMA_VERSION = 1  # raised when a field goes, or changes its name or its meaning
_ROUNDING = 1e-12  # of a sum of epsilons as a float, relative to the sum
_COLUMNS = ("record", "S", "T", "value", "low", "high", "guaranteed", "corrected", "mark")


@final
@dataclass(frozen=True)
class HistoryEntry:
    """One answer on the record.

    Attributes:
        record: its number in the ledger.
        query: a cut with truth vectors for sets, a `RankOneQuery`, a `MatrixQuery`, or a
            `GraphQuery`.
        answer: the answer of the session.
    """

    record: int
    query: Question = field(repr=False)
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
        number = self._records[index]
        with self._ledger.locked():
            digest, body = self._ledger.record(number)
            content = self._ledger.content
            query = decode_query(content(digest), self._universe, content)
        return HistoryEntry(number, query, recorded_answer(body))

    def to_frame(self, kind: Any = None) -> Any:
        """Return a table with one row for each answer.

        The columns are record, S, T, value, low, high, guaranteed, corrected and mark. S and T are
        tuples of labels, or None for queries that are no cuts; `mark` marks seeded answers as not
        private.

        Args:
            kind: as for `Graph.to_frame`.
        """
        rows = []
        for entry in self:
            answer, labels = entry.answer, labels_of_cut(entry.query, self._universe)
            mark = SEEDED_WARNING if answer.seeded else ""
            values = (answer.value, *answer.interval, answer.guaranteed, answer.updated, mark)
            rows.append((entry.record, *labels, *values))
        return made_frame({name: [row[i] for row in rows] for i, name in enumerate(_COLUMNS)}, kind)

    def __repr__(self) -> str:
        return f"History({len(self)} answers)"


@final
@dataclass(frozen=True)
class UseStatus:
    """The status of one use of the private data.

    Attributes:
        use: the use, with its terms.
        state: "finished", or "unfinished" (running or interrupted; its cost counts as spent). Of a
            session: `SessionStatus.state`. Of a table over time that lacks periods: the number of
            the published ones, as "2 of 60 periods".
        files: SHA-256 of the files that hold its result, by name, as the command line recorded
            them; empty if none were recorded.
    """

    use: Use
    state: str
    files: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "number": self.use.number,
            "kind": self.use.kind,
            "name": self.use.name,
            "state": self.state,
            "time": self.use.time,
            "user": self.use.user,
            "author": self.use.author,
            "purpose": self.use.purpose,
            "files": dict(self.files),
            "periods": None if self.use.periods is None else list(self.use.periods),
            "parameters": self.use.parameters,
            "guarantee": self.use.guarantee.to_dict(),
        }

    def to_portable_dict(self) -> dict[str, Any]:
        """Return plain values for `LedgerStatus.to_json`: public fields, and the cost to add up."""
        guarantee = self.use.guarantee
        return {
            "number": self.use.number,
            "kind": self.use.kind,
            "state": self.state,
            "time": self.use.time,
            "author": self.use.author,
            "purpose": self.use.purpose,
            "made_by": self.use.made_by,
            "periods": None if self.use.periods is None else list(self.use.periods),
            "cost": self.use.cost.to_dict(),
            "neighbours": guarantee.neighbours,
            "public": guarantee.public,
            "private": guarantee.is_private,
            "dp_event": guarantee.dp_event,
            "zcdp_event": guarantee.zcdp_event,
        }


@final
@dataclass(frozen=True)
class LedgerStatus:
    """The cost of all uses of one private data set together.

    Attributes:
        store: identifier of the store, which receipts name, 32 hexadecimal digits.
        uses: all of them, in the order in which they began.
        sessions: those that are sessions, in the same order.
        epsilon: of all uses together, the smallest proven bound; 0 if there are none. If uses read
            some periods only: that of the period on which most is spent.
        delta: the delta that belongs to `epsilon`.
        periods: the cost of each period that a use names, by label; empty if none does.
        all_periods: the cost for neighbours that differ in all periods, such as all rows of a user,
            if guarantees are for one period; None if it is not bounded, or equal to the total.
        budget: the largest epsilon and delta as text; None if there is no budget.
        left: epsilon of the budget minus `epsilon`; a further use whose delta is 0 may always spend
            it. None if there is no budget.
        privacy_unit: of all guarantees, see `PrivacyGuarantee.privacy_unit`.
        seeded: true if any use is seeded: then nothing is guaranteed.
        head: the end of the record, for `Store.expect_head`.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> import pathlib, tempfile
        >>> store = pathlib.Path(tempfile.mkdtemp()) / "club.db"
        >>> with gc.open_session(club, store=store, epsilon=1.0, queries=10) as session:
        ...     answer = session.ask([0, 1], [2, 3])
        >>> gc.store_status(store).epsilon
        1.0
    """

    store: str
    uses: tuple[UseStatus, ...]
    sessions: tuple[SessionStatus, ...]
    epsilon: float
    delta: float
    periods: Mapping[str, Cost]
    all_periods: Cost | None
    budget: str | None
    left: float | None
    privacy_unit: str
    seeded: bool
    head: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "store": self.store,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "periods": {label: _cost_fields(cost) for label, cost in self.periods.items()},
            "all_periods": None if self.all_periods is None else _cost_fields(self.all_periods),
            "budget": self.budget,
            "left": self.left,
            "privacy_unit": self.privacy_unit,
            "entropy": SEEDED_WARNING if self.seeded else "operating system",
            "head": self.head,
            "uses": [use.to_dict() for use in self.uses],
            "sessions": [session.to_dict() for session in self.sessions],
        }

    def to_json(self) -> str:
        """Return the ledger as a portable document of JSON, for other tools that add up costs.

        It has public facts alone: no data, names of files, answers or accounts of the operating
        system. Its fields are described in docs/reliability.md, and those of one "schema_version"
        keep their names and meanings. Each use has its cost, its guarantee and its events for
        dp_accounting, see `PrivacyGuarantee.dp_event`.

        Examples:
            >>> import json, pathlib, tempfile
            >>> store = pathlib.Path(tempfile.mkdtemp()) / "club.db"
            >>> _ = gc.release_graph(gc.datasets.load("karate"), epsilon=1.0, store=store)
            >>> ledger = json.loads(gc.store_status(store).to_json())
            >>> ledger["schema"], ledger["total"]["epsilon"], len(ledger["uses"])
            ('graphcuts_dp.ledger', 1.0, 1)
        """
        document = {
            "schema": LEDGER_SCHEMA,
            "schema_version": LEDGER_SCHEMA_VERSION,
            "made_by": f"graphcuts_dp {__version__}",
            "store": self.store,
            "head": self.head,
            "privacy_unit": self.privacy_unit,
            "private": not self.seeded,
            "total": {"epsilon": self.epsilon, "delta": self.delta},
            "all_periods": None if self.all_periods is None else _cost_fields(self.all_periods),
            "periods": {label: _cost_fields(cost) for label, cost in self.periods.items()},
            "budget": self.budget,
            "left": self.left,
            "uses": [use.to_portable_dict() for use in self.uses],
        }
        return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


def store_status(store: PathLike | Store) -> LedgerStatus:
    """List everything that was spent on the private data of a store. The data are not needed.

    Args:
        store: an existing one.

    Raises:
        LedgerError: it is missing, damaged, of another version, or busy.

    Examples:
        >>> import tempfile, pathlib
        >>> store = pathlib.Path(tempfile.mkdtemp()) / "club.db"
        >>> _ = gc.release_graph(gc.datasets.load("karate"), epsilon=1.0, fit="none", store=store)
        >>> gc.store_status(store).epsilon
        1.0
    """
    with closing(open_ledger(store)) as ledger:
        return ledger_status(ledger)


def ledger_status(ledger: Ledger) -> LedgerStatus:
    """Return the status of all uses on a ledger, without the answers.

    Raises:
        LedgerError: the store cannot be read.
    """
    with ledger.locked():
        uses = uses_of(ledger)
        kinds = (SESSION, DISTANCE_SESSION)
        sessions = [session_status(ledger, use) for use in uses if use.kind in kinds]
        states = {session.terms.number: session.state for session in sessions}
        for use in uses:
            totals = ledger.uses[use.number]
            if use.kind == FLOWS_OVER_TIME:
                states[use.number] = _state_of_series(use, totals)
            elif use.kind not in kinds:
                states[use.number] = "finished" if totals.started else "unfinished"
        files = {use.number: file_digests(ledger, use.number) for use in uses}
        budget, head, identifier = ledger_budget(ledger), str(ledger.head), store_id(ledger)
    total = spent_together(uses, budget) if uses else None
    epsilon = total.epsilon if total else 0.0
    if budget is not None and budget.epsilon < epsilon <= budget.epsilon * (1 + _ROUNDING):
        epsilon = budget.epsilon  # exactly, a store never spends more than its budget
    return LedgerStatus(
        store=identifier,
        uses=tuple(UseStatus(use, states[use.number], files[use.number]) for use in uses),
        sessions=tuple(session for session in sessions if session.terms.kind == SESSION),
        epsilon=epsilon,
        delta=total.delta if total else 0.0,
        periods=spent_by_period(uses, budget),
        all_periods=in_all_periods(uses),
        budget=None if budget is None else str(budget),
        left=None if budget is None else max(0.0, budget.epsilon - epsilon),
        privacy_unit=str(ledger.header["privacy_unit"]),
        seeded=any(use.seed is not None for use in uses),
        head=head,
    )


def export_ledger(
    ledger: Ledger, name: str | None = None, status: LedgerStatus | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the public part of a ledger as plain values: first the guarantee, then the answers.

    Args:
        ledger: the ledger.
        name: of one session; None for all.
        status: the status for the header; None for that of all uses.

    Yields:
        A header with the guarantee and all uses, then one dictionary for each answer.

    Raises:
        LedgerError: the store cannot be read.
    """
    universe, subject = ledger_universe(ledger), ledger.header["subject"]
    status = status or ledger_status(ledger)
    sessions = [session for session in status.sessions if name in (None, session.terms.name)]
    yield {
        "made_by": f"graphcuts_dp {__version__}",
        "vertices": list(universe.shape) if universe.bipartite else universe.shape[0],
        "bipartite": universe.bipartite,
        "directed": universe.directed,
        "weighted": subject.get("weighted"),
        "max_weight": subject.get("max_weight"),
        "whole_ledger": {
            key: value for key, value in status.to_dict().items() if key != "sessions"
        },
        "sessions": [session.to_dict() for session in sessions],
    }
    for session in sessions:
        with ledger.locked():
            records = tuple(ledger.uses[session.terms.number].shown)
        for entry in History(ledger, records, universe):
            fields = query_to_dict(entry.query, universe) | answer_to_dict(entry.answer)
            yield {"session": session.terms.name, **fields}


def answer_to_dict(answer: Answer) -> dict[str, Any]:
    """Return an answer as plain values that every reader of JSON understands: infinity is null."""
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


def _state_of_series(use: Use, totals: UseTotals) -> str:
    """Return the number of published periods of a table over time, in words."""
    published, periods = len(totals.published), len(use.periods or ())
    if published == periods:
        return "finished"
    prefix = "ended after " if totals.ended is not None else ""
    return f"{prefix}{published} of {periods} periods"


def _cost_fields(cost: Cost) -> dict[str, float]:
    return {"epsilon": cost.epsilon, "delta": cost.delta}
