"""What the store keeps of a session of distances: queries and answers."""

import hashlib
import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

from graphcuts_dp.pairs.vertices import Label
from graphcuts_dp.session.base import Answer


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
class MapQuery:
    """How far the vertex of a row of the map is from all people; see `session.base.Key`."""

    query: int
    sets: tuple[bytes, ...] = ()
    pairs: int = 1

    @cached_property
    def data(self) -> bytes:
        """The query as bytes."""
        return json.dumps({"distance_from_row": self.query}).encode()

    @classmethod
    def row_of(cls, data: bytes) -> int:
        """The row that `data` was made of."""
        return int(json.loads(data)["distance_from_row"])

    @cached_property
    def digest(self) -> bytes:
        """What the records name it by."""
        return hashlib.sha256(self.data).digest()


def reply_of(answer: Answer, vertex: Label) -> DistanceReply:
    """An answer of the record, about a vertex."""
    return DistanceReply(
        vertex=vertex,
        value=answer.value,
        interval=answer.interval,
        confidence=answer.confidence,
        guaranteed=answer.guaranteed,
        corrected=answer.updated,
        queries_left=answer.queries_left or 0,
        seeded=answer.seeded,
    )
