"""What the store keeps of a session of distances: queries, answers, states, as plain values."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

from graphcuts_dp.distances.coordinate import CoordinateState
from graphcuts_dp.distances.interactive import InteractiveState
from graphcuts_dp.distances.l1_plan import L1Answer, L1Plan
from graphcuts_dp.distances.learner import Line, PiecewiseLinear
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.errors import LedgerError
from graphcuts_dp.ledger.records import StoredState
from graphcuts_dp.pairs.vertices import Label

_VERSION = 1


@final
@dataclass(frozen=True, kw_only=True)
class DistanceReply:
    """An answer of a distance session, in the units of the map's lengths. It may be published.

    Attributes:
        vertex: label.
        value: estimate of the average distance to all people: the middle of the interval.
        interval: (low, high).
        confidence: that all guaranteed intervals of the session hold at once.
        guaranteed: false where the session has run out: the interval is what is possible at all.
        corrected: whether the answer bought anything.
        queries_left: how many more answers are promised.
        seeded: whether noise came from a seed, so that the answer is not private.
    """

    vertex: Label
    value: float
    interval: tuple[float, float]
    confidence: float
    guaranteed: bool
    corrected: bool
    queries_left: int
    seeded: bool = False

    def __str__(self) -> str:
        low, high = self.interval
        mark = " [seeded: not private]" if self.seeded else ""
        if not self.guaranteed:
            return f"{self.vertex}: {self.value:.4g}, no guarantee: the session has run out{mark}"
        scope = f"{self.confidence:.0%}, all queries at once"
        return f"{self.vertex}: {self.value:.4g} in [{low:.4g}, {high:.4g}] ({scope}){mark}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {**vars(self), "interval": list(self.interval)}


@final
@dataclass(frozen=True)
class RowQuery:
    """How far the vertex of a row of the map is from all people; see `steps.Key`."""

    row: int
    sets: tuple[bytes, ...] = ()

    @cached_property
    def data(self) -> bytes:
        """The query as bytes."""
        return json.dumps({"distance_from_row": self.row}).encode()

    @cached_property
    def digest(self) -> bytes:
        """What the records name it by."""
        return hashlib.sha256(self.data).digest()


def answer_body(row: int, answer: L1Answer, *, corrected: bool, left: int) -> dict[str, Any]:
    """An answer as a record tells it."""
    low, high = answer.interval
    return {
        "row": row,
        "value": (low + high) / 2 if answer.guaranteed else answer.value,
        "interval": [low, high],
        "confidence": answer.confidence,
        "guaranteed": answer.guaranteed,
        "corrected": corrected,
        "queries_left": left,
        "seeded": answer.seeded,
    }


def reply_of(body: dict[str, Any], metric: Metric) -> DistanceReply:
    """The answer of a record.

    Raises:
        LedgerError: the record is of another version.
    """
    try:
        values = dict(body)
        values.pop("state", None)
        label = metric.vertices.labels[values.pop("row")]
        low, high = values.pop("interval")
        return DistanceReply(vertex=label, interval=(low, high), **values)
    except (LookupError, TypeError, ValueError):
        raise LedgerError("the session was begun by another version of this program") from None


def stored_state(state: InteractiveState) -> StoredState:
    """What the store keeps: counters and lines; and the running noise, which is secret."""
    public = {
        "version": _VERSION,
        "queries": state.queries,
        "coordinates": [
            {
                "lines": [[line.at, line.value, line.slope] for line in part.hypothesis.lines],
                "tests": part.tests,
                "lost": part.lost,
            }
            for part in state.coordinates
        ],
    }
    secret = [part.secret for part in state.coordinates]
    return StoredState(json.dumps(public).encode(), json.dumps(secret).encode())


def restored_state(
    stored: StoredState, plan: L1Plan, locations: Locations
) -> tuple[InteractiveState, bool]:
    """The state, with the private side made again, and whether its running noise was lost.

    A state without its noise is only good for `InteractiveDistances.interrupted`.

    Raises:
        LedgerError: it is of another version, or does not fit the plan.
    """
    try:
        public = json.loads(stored.public)
        if public["version"] != _VERSION or len(public["coordinates"]) != len(plan.tunings):
            raise ValueError
        secrets = [0] * len(plan.tunings)
        if stored.secret is not None:
            secrets = json.loads(stored.secret)
        parts = tuple(
            CoordinateState(
                PiecewiseLinear(tuple(Line(*line) for line in part["lines"])),
                secret,
                tests=part["tests"],
                lost=part["lost"],
            )
            for part, secret in zip(public["coordinates"], secrets, strict=True)
        )
        queries = int(public["queries"])
    except (LookupError, TypeError, ValueError):
        raise LedgerError("the session was begun by another version of this program") from None
    state = InteractiveState(plan.profiles(locations), parts, queries)
    return state, stored.secret is None
