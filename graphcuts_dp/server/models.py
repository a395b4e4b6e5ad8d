"""What requests of API v1 hold. Unknown names are refused."""

import base64
import binascii
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    FiniteFloat,
    StrictBool,
    StrictInt,
    StrictStr,
)

from graphcuts_dp.errors import QueryError
from graphcuts_dp.graph.queries import CutQuery

MOST_QUERIES = 10**12
_BIGGEST = 2**63 - 1  # of an integer label
_KEPT = ("expected_edges",)  # of terms: kept if None, as sessions that were asked for have it


def _text(given: str) -> str:
    try:
        given.encode()
    except UnicodeEncodeError:
        raise ValueError("not valid text") from None
    return given


Text = Annotated[StrictStr, Field(max_length=1000), AfterValidator(_text)]
Number = Annotated[StrictInt, Field(ge=-_BIGGEST, le=_BIGGEST)]
SessionName = Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")]
PersonName = Annotated[StrictStr, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")]
Epsilon = Annotated[FiniteFloat, Field(ge=1e-6, le=50)]
Delta = Annotated[FiniteFloat, Field(ge=0, lt=1)]
Count = Annotated[StrictInt, Field(ge=1, le=MOST_QUERIES)]
Edges = Annotated[FiniteFloat, Field(gt=0, le=1e18)]


class Strict(BaseModel):
    """A model that refuses unknown names."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Bits(Strict):
    """A set of vertices as a truth vector: eight vertices a byte, the first one highest."""

    bits: Annotated[StrictStr, Field(max_length=1 << 23)]

    def vector(self, n: int) -> Any:
        """The truth vector over n vertices.

        Raises:
            QueryError: another number of bits, or no base64.
        """
        try:
            data = base64.b64decode(self.bits, validate=True)
        except (binascii.Error, ValueError):
            raise QueryError("the bits of a set are not base64") from None
        if len(data) != (n + 7) // 8:
            raise QueryError(f"the bits of a set are {(n + 7) // 8} bytes for {n} vertices")
        return np.unpackbits(np.frombuffer(data, np.uint8), count=n).astype(np.bool_)


VertexSubset = Bits | Text | list[Number | Text]


class CutIn(Strict):
    """A cut query: vertex labels, "@NAME" of a public group, or bits; without T all the rest."""

    S: VertexSubset
    T: VertexSubset | None = None

    def query(self, left: int, right: int) -> CutQuery:
        """The same for a session.

        Args:
            left: how many vertices S is chosen from.
            right: likewise of T.

        Raises:
            QueryError: a set that is written in no such way, or larger than all vertices.
        """
        T = None if self.T is None else _subset(self.T, right)
        return CutQuery(_subset(self.S, left), T)


def _subset(given: VertexSubset, n: int) -> Any:
    if isinstance(given, Bits):
        return given.vector(n)
    if isinstance(given, str):
        if not given.startswith("@"):
            raise QueryError(
                f"a set is a list of labels, or the name of a group, such as '@{given:.60}'"
            )
        return [given]
    if len(given) > n + 1000:  # labels, and names of groups
        raise QueryError(f"a set names more vertices than there are: {n}")
    return given


class Queries(Strict):
    """Queries, in the order in which they are to be answered."""

    queries: Annotated[list[CutIn], Field(min_length=1)]


class Ask(Queries):
    """Queries to be answered. `unguaranteed`: go on without guarantee once it has run out."""

    unguaranteed: StrictBool = False


class Terms(Strict):
    """What a session is agreed on; see `open_session`."""

    epsilon: Epsilon
    delta: Delta = 0.0
    queries: Count
    method: Annotated[StrictStr, Field(max_length=60)] = "auto"
    beta: Annotated[FiniteFloat, Field(gt=0, lt=1)] = 0.05
    calibration: Annotated[StrictStr, Field(max_length=60)] = "tight"
    disjoint: StrictBool = False
    expected_edges: Edges | None = None
    norm: Annotated[StrictStr, Field(max_length=60)] | None = None
    most_right: Count | None = None
    start: Literal["total", "groups"] | None = None

    def keywords(self) -> dict[str, Any]:
        """As `open_session` takes them; without the norm's, where none was given."""
        given = self.model_dump(exclude={"name"})
        return {name: value for name, value in given.items() if value is not None or name in _KEPT}


class SessionIn(Terms):
    """A session that is asked for."""

    name: SessionName = "default"


class DummyIn(Queries):
    """Queries to a made graph of as many vertices, under the terms of a session."""

    terms: Terms


class PlanIn(Strict):
    """What a plan is made from; see `plan`."""

    epsilon: Epsilon
    delta: Delta = 0.0
    queries: Count
    edges: Edges | None = None
    beta: Annotated[FiniteFloat, Field(gt=0, lt=1)] = 0.05


class PersonIn(Strict):
    """Somebody new."""

    name: PersonName
    role: Literal["curator", "analyst", "monitor"] = "analyst"
    preapproved: StrictBool = False
    epsilon: Epsilon | None = None
    delta: Delta = 0.0
    queries: Count | None = None


class CapsIn(Strict):
    """The caps of an analyst."""

    preapproved: StrictBool = False
    epsilon: Epsilon | None = None
    delta: Delta = 0.0
    queries: Count | None = None


class DecisionIn(Strict):
    """Whether a session that waits may begin."""

    approve: StrictBool
    note: Text | None = None


class GrantIn(Strict):
    """Whether one analyst may read the answers of another."""

    reader: PersonName
    owner: PersonName
    allowed: StrictBool


class LoginIn(Strict):
    """A token, to begin a login of the page."""

    token: Annotated[StrictStr, Field(max_length=200)]
