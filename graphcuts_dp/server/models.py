"""Requests and replies of API v1, as models of pydantic. Unknown names are refused."""

import base64
import binascii
import json
import math
from collections.abc import Callable
from dataclasses import MISSING, fields
from http import HTTPStatus
from typing import Annotated, Any, ClassVar, Literal, TypeVar, cast, final, get_type_hints

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    FiniteFloat,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    Tag,
    create_model,
)

from graphcuts_dp.errors import (
    BudgetError,
    ExhaustedError,
    GraphCutsError,
    LedgerError,
    QueryError,
)
from graphcuts_dp.learn.workload import SessionWorkload
from graphcuts_dp.options import Option, described
from graphcuts_dp.queries.graph_queries import GraphQuery
from graphcuts_dp.queries.linear import CutQuery, LinearQuery
from graphcuts_dp.queries.query_lines import query_from_dict
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.server.book import LogLine
from graphcuts_dp.server.people import MOST_QUERIES, Caps
from graphcuts_dp.session.base import Answer
from graphcuts_dp.session.methods import FriezeKannan, MirrorDescent
from graphcuts_dp.session.session import Preview

_LARGEST_LABEL = 2**63 - 1  # of integer labels
_NAMED = 16  # numbers of working memory while one named coefficient is read
_MOST: dict[type | None, float] = {int: MOST_QUERIES, float: 1e18}  # if an option states no most
_KINDS = {bool: StrictBool, int: StrictInt, float: FiniteFloat, str: StrictStr}
_BUSY = "the store cannot be used now; tell the curator, whose log says why"
Model = TypeVar("Model", bound="Strict")


def _text(value: str) -> str:
    """Return a text; refuse surrogates, which no file can hold."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("not valid text") from None
    return value


def _finite(value: float) -> float:
    """Return a number as a float; refuse what is too large for one."""
    if not abs(value) < 1e300:
        raise ValueError("not a number of usual size")
    return float(value)


Text = Annotated[StrictStr, Field(max_length=1000), AfterValidator(_text)]
Number = Annotated[StrictInt, Field(ge=-_LARGEST_LABEL, le=_LARGEST_LABEL)]
SessionName = Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")]
GraphNames = Annotated[list[Text], Field(max_length=1000)] | None  # None for all graphs
PersonName = Annotated[StrictStr, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")]
Epsilon = Annotated[FiniteFloat, Field(ge=1e-6, le=50)]
Delta = Annotated[FiniteFloat, Field(ge=0, lt=1)]
Count = Annotated[StrictInt, Field(ge=1, le=MOST_QUERIES)]
Edges = Annotated[FiniteFloat, Field(gt=0, le=1e18)]
Finite = Annotated[StrictInt | StrictFloat, AfterValidator(_finite)]
Weight = Annotated[Finite, Field(ge=0, le=1)]
Coefficient = Annotated[Finite, Field(gt=-1e300, lt=1e300)]
Weights = dict[Text, Weight] | list[Weight]


class Strict(BaseModel):
    """A model that refuses unknown names."""

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", frozen=True, from_attributes=True
    )


def with_options_of(options: type) -> Callable[[type[Model]], type[Model]]:
    """Return a decorator that gives a model the fields of options, with their ranges and help."""

    def extended(model: type[Model]) -> type[Model]:
        added_fields = {
            option.name: (
                _annotation(option),
                ... if option.default is MISSING else option.default,
            )
            for option in described(options)
        }
        return _extended(model, added_fields)

    return extended


def with_fields_of(kind: type) -> Callable[[type[Model]], type[Model]]:
    """Return a decorator that gives a model the fields of a dataclass which it does not define."""

    def extended(model: type[Model]) -> type[Model]:
        hints = get_type_hints(kind)
        added_fields = {
            member.name: (hints[member.name], ...)
            for member in fields(kind)
            if member.name not in model.model_fields
        }
        return _extended(model, added_fields)

    return extended


def _extended(model: type[Model], added_fields: dict[str, Any]) -> type[Model]:
    """Return a model with further fields."""
    extended: type[Model] = create_model(
        model.__name__, __base__=model, __doc__=model.__doc__, **added_fields
    )
    return extended


def _annotation(option: Option) -> Any:
    """Return the type of a field for an option, with its range and its help."""
    kind: Any = _KINDS[cast(type, option.kind)]
    if option.choices:
        kind = Literal[option.choices]
    longest = 60 if option.kind is str and not option.choices else None
    most = option.most
    if option.kind in _MOST and (most, option.below) == (None, None):
        most = _MOST[option.kind]
    ranges = Field(ge=option.least, le=most, gt=option.above, lt=option.below, max_length=longest)
    kind = Annotated[kind, ranges]
    return Annotated[kind | None if option.optional else kind, Field(description=option.text)]


class Bits(Strict):
    """A set of vertices as a truth vector: eight vertices a byte, the first one highest."""

    bits: Annotated[StrictStr, Field(max_length=1 << 23)]

    def vector(self, n: int) -> Any:
        """Return the truth vector over n vertices.

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

    def numbers(self, universe: Universe) -> int:  # noqa: ARG002
        """Return how many numbers it is made into: none, but truth values."""
        return 0

    def query(self, universe: Universe) -> LinearQuery:
        """Return the query for a session.

        Raises:
            QueryError: a set that is written in no such way, or larger than all vertices.
        """
        left, right = universe.shape
        T = None if self.T is None else _subset(self.T, right)
        return CutQuery(_subset(self.S, left), T)


def _subset(subset: VertexSubset, n: int) -> Any:
    """Return a set of some of n vertices as `CutQuery` takes it.

    Raises:
        QueryError: a set that is written in no such way, or larger than all vertices.
    """
    if isinstance(subset, Bits):
        return subset.vector(n)
    if isinstance(subset, str):
        if not subset.startswith("@"):
            raise QueryError(
                f"a set is a list of labels, or the name of a group, such as '@{subset:.60}'"
            )
        return [subset]
    if len(subset) > n + 1000:  # labels, and names of groups
        raise QueryError(f"a set names more vertices than there are: {n}")
    return subset


class _Plain(Strict):
    """A query that is read by the same code as those of `session run`."""

    def query(self, universe: Universe) -> LinearQuery:
        """Return the query for a session.

        Raises:
            QueryError: unknown vertices, or another number of weights.
        """
        query = query_from_dict(self.model_dump(exclude_none=True), universe.space)
        if query is None or isinstance(query, GraphQuery):  # never: the models allow neither
            raise QueryError("this is no linear query")
        return query


class RankOneIn(_Plain):
    """A rank-one query: weights from 0 to 1 by label, or one for each vertex; see `RankOneQuery`.

    Without `right`: 1 less the left weights, or of two sides 1 for all right vertices.
    """

    left: Weights
    right: Weights | None = None

    def numbers(self, universe: Universe) -> int:
        """Return how many numbers it is made into."""
        return sum(universe.shape)


class EntriesIn(_Plain):
    """A linear query by its coefficients: label, label, coefficient; 0 for all other pairs."""

    entries: list[tuple[Number | Text, Number | Text, Coefficient]]

    def numbers(self, universe: Universe) -> int:
        """Return how many numbers it is made into: all coefficients, and 16 for each named one."""
        rows, columns = universe.shape
        return rows * columns + _NAMED * len(self.entries)


def _kind(query: Any) -> str:
    """Return the tag of the model of a query; what fits none is refused as a cut."""
    names = query if isinstance(query, dict) else getattr(type(query), "model_fields", ())
    return "weights" if "left" in names else "entries" if "entries" in names else "cut"


QueryIn = Annotated[
    Annotated[CutIn, Tag("cut")]
    | Annotated[RankOneIn, Tag("weights")]
    | Annotated[EntriesIn, Tag("entries")],
    Discriminator(_kind),
]


class Queries(Strict):
    """Queries, in the order in which they are to be answered."""

    queries: Annotated[list[QueryIn], Field(min_length=1)]


class Ask(Queries):
    """Queries to be answered. `unguaranteed`: go on without guarantee once it has run out."""

    unguaranteed: StrictBool = False


@with_options_of(FriezeKannan)
@with_options_of(MirrorDescent)
@with_options_of(SessionWorkload)
class Terms(Strict):
    """Terms of a session; see `open_session`."""

    epsilon: Epsilon
    delta: Delta = 0.0
    method: Annotated[StrictStr, Field(max_length=60)] = "auto"

    def keywords(self) -> dict[str, Any]:
        """Return the terms as `session_of` takes them, without what has its default."""
        stated = self.model_dump(exclude={"name"}, exclude_defaults=True)
        return {"delta": self.delta, "method": self.method, **stated}


class SessionIn(Terms):
    """A session that is asked for."""

    name: SessionName = "default"


class DummyIn(Queries):
    """Queries to a simulated graph on the same vertices, under the terms of a session."""

    terms: Terms


class PlanIn(Strict):
    """Public numbers that a plan is made from; see `plan`."""

    epsilon: Epsilon
    delta: Delta = 0.0
    queries: Count
    edges: Edges | None = None
    beta: Annotated[FiniteFloat, Field(gt=0, lt=1)] = SessionWorkload.beta


@with_options_of(Caps)
class PersonIn(Strict):
    """Somebody new."""

    name: PersonName
    role: Literal["curator", "analyst", "monitor"] = "analyst"
    graphs: GraphNames = None


@with_options_of(Caps)
class CapsIn(Strict):
    """The limits of an analyst; graphs stay as they are if they are left out, [] is all of them."""

    graphs: GraphNames = None


class DecisionIn(Strict):
    """Decision of a curator on whether a session that waits may begin."""

    approve: StrictBool
    note: Text | None = None


class GrantIn(Strict):
    """Grant that lets one analyst read the answers of another, or its withdrawal."""

    reader: PersonName
    analyst: PersonName
    allowed: StrictBool


class LoginIn(Strict):
    """A token, to begin a login of the page."""

    token: Annotated[StrictStr, Field(max_length=200)]


# Replies.


def finite(number: float | None) -> float | None:
    """Return a number, or None where it is infinite, which JSON cannot write."""
    return None if number is None or math.isinf(number) else number


Bound = Annotated[float | None, BeforeValidator(finite)]


@with_fields_of(Answer)
class AnswerOut(Strict):
    """An `Answer`; an end of an interval that is infinite is null."""

    interval: tuple[Bound, Bound]


class AnswersOut(Strict):
    """Answers, in the order of the queries. `new` of them were not on the record before."""

    session: str
    answers: list[AnswerOut]
    new: int


@with_fields_of(Preview)
class PreviewOut(Strict):
    """Preview of what queries would use; see `Preview`. `error_bound`: of any answer, in weight."""

    allowed: bool
    error_bound: Bound


class GroupsOut(Strict):
    """A level of public groups: names, in order, and how many vertices each has."""

    level: str
    names: list[str]
    sizes: list[int]


class GraphsOut(Strict):
    """Names of the graphs that somebody may ask."""

    graphs: list[str]


class GraphOut(Strict):
    """Public facts about the graph."""

    vertices: list[int]
    bipartite: bool
    directed: bool
    weighted: bool
    max_weight: float | None
    groups: list[list[GroupsOut]]
    tick: float
    batch: int
    numbers: int


class VerticesOut(Strict):
    """Some labels of a public vertex set, in order."""

    side: int
    first: int
    total: int
    labels: list[int | str]


class SessionOut(Strict):
    """Status of a session: waiting, refused, approved, open, stopped or failed.

    "approved" is one that has not begun, since the store could not take it then: ask for it again.
    """

    id: str
    analyst: str
    name: str
    state: str
    terms: dict[str, Any]
    guarantee: str | None
    forecast: Bound
    error_bound: Bound
    answers: int
    corrections: int
    interruptions: int
    queries_left: int | None
    updates_left: int | None
    time: str
    note: str | None
    warning: str | None = None


class SessionsOut(Strict):
    """Sessions that somebody may see."""

    sessions: list[SessionOut]


class SetOut(Strict):
    """A set of vertices; labels of a large one are cut short unless all are asked for.

    `group` is the name of the group that it is, as "@Sales", if it is one.
    """

    labels: list[int | str]
    size: int
    group: str | None


class HistoryItem(Strict):
    """An answer on the record: to a cut between S and T (null: all the rest), or to another query.

    `title` says what another query is, and `query` is it as it can be asked, unless it is too long.
    """

    record: int
    S: SetOut | None = None
    T: SetOut | None = None
    title: str | None = None
    query: dict[str, Any] | None = None
    answer: AnswerOut


class HistoryOut(Strict):
    """Answers on the record, oldest first, from the first one after `after`."""

    session: str
    total: int
    after: int
    items: list[HistoryItem]


class Spent(Strict):
    """Epsilon and delta that were spent, and the limit; null where there is none."""

    epsilon: float
    delta: float
    cap_epsilon: float | None
    cap_delta: float | None


class BudgetOut(Strict):
    """Spending of all uses of the graph, and what counts against the limits of whoever asks.

    `yours` and `queries` count sessions from their approval on, whether or not they have begun.
    """

    all: Spent
    yours: Spent
    queries: int
    cap_queries: int | None
    preapproved: bool


class PersonOut(PersonIn):
    """Somebody with a token."""

    active: bool
    reads: list[str]


class PeopleOut(Strict):
    """Everybody."""

    people: list[PersonOut]


class TokenOut(Strict):
    """A token, shown this once."""

    name: str
    token: str


@with_fields_of(LogLine)
class LineOut(Strict):
    """A line of the audit log; `body` is JSON text."""

    digest: str


class LogOut(Strict):
    """Lines of the audit log."""

    head: str
    lines: list[LineOut]


class UseOut(Strict):
    """One use of the graph. `cumulative`: epsilon of all uses up to this one, as plain sums."""

    number: int
    kind: str
    name: str
    time: str
    epsilon: float
    delta: float
    cumulative: float


class SpendingOut(Strict):
    """Every use of the graph, in order, with what all up to it have spent."""

    budget: str | None
    head: str
    overruns: int
    uses: list[UseOut]


class MeOut(Strict):
    """Who asks. `csrf`: what a page sends along with a change."""

    name: str
    role: str
    csrf: str | None


class Problem(BaseModel):
    """Problem of a request that failed: application/problem+json."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str


@final
class RefusedError(GraphCutsError):
    """A request that is refused.

    Attributes:
        status: of HTTP.
        kind: short name of the problem, its type.
        more: further members of the problem.
        headers: of the reply.
    """

    def __init__(
        self,
        status: int,
        detail: str = "",
        *,
        kind: str | None = None,
        headers: dict[str, str] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.kind: str = kind or str(status)
        self.headers: dict[str, str] = headers or {}
        self.more = more

    @property
    def body(self) -> str:
        """Return the problem as JSON."""
        title = HTTPStatus(self.status).phrase
        return json.dumps(
            {
                "type": f"urn:graphcuts-dp:{self.kind}",
                "title": title,
                "status": self.status,
                "detail": str(self) or title,
                **self.more,
            }
        )


def refusal_of(problem: GraphCutsError) -> RefusedError:
    """Return an error of the package as a refusal over HTTP."""
    if isinstance(problem, RefusedError):
        return problem
    if isinstance(problem, ExhaustedError):
        return RefusedError(409, str(problem), kind="exhausted", left={"queries": 0})
    if isinstance(problem, BudgetError):
        return RefusedError(409, str(problem), kind="budget")
    if isinstance(problem, LedgerError):  # its message names files of the server
        return RefusedError(503, _BUSY, kind="store")
    return RefusedError(422, str(problem), kind="value")
