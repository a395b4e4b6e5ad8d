"""What replies of API v1 hold."""

from typing import Any

from pydantic import BaseModel, ConfigDict

from graphcuts_dp.server.models import Strict


class AnswerOut(Strict):
    """An answer; an end of an interval that is infinite is null."""

    value: float
    interval: tuple[float | None, float | None]
    confidence: float
    guaranteed: bool
    updates: list[tuple[int, float | None]]
    queries_left: int | None
    updates_left: int | None
    seeded: bool


class AnswersOut(Strict):
    """Answers, in the order of the queries. `new` of them were not on the record before."""

    session: str
    answers: list[AnswerOut]
    new: int


class PreviewOut(Strict):
    """What queries would use; see `Preview`. `error_bound`: of any answer, in weight."""

    queries: int
    free: int
    new: int
    left: int | None
    allowed: bool
    error_bound: float | None


class GroupsOut(Strict):
    """A level of public groups: names, in order, and how many vertices each has."""

    level: str
    names: list[str]
    sizes: list[int]


class GraphOut(Strict):
    """What is public about the graph."""

    vertices: list[int]
    bipartite: bool
    directed: bool
    weighted: bool
    weight_cap: float | None
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
    """Where a session stands: waiting, refused, approved, open, stopped or failed.

    "approved" is one that has not begun, since the store could not take it then: ask for it again.
    """

    id: str
    owner: str
    name: str
    state: str
    terms: dict[str, Any]
    guarantee: str | None
    forecast: float | None
    error_bound: float | None
    answers: int
    corrections: int
    interruptions: int
    queries_left: int | None
    updates_left: int | None
    asked: str
    note: str | None
    warning: str | None = None


class SessionsOut(Strict):
    """Sessions that somebody may see."""

    sessions: list[SessionOut]


class HistoryItem(Strict):
    """An answer on the record. Labels of large sets are cut short unless all are asked for.

    `S_group` is the name of the group that S is, as "@Sales", if it is one. Of another query than a
    cut it says what it is, and `query` is the query as it can be asked, unless it is too long.
    """

    record: int
    S: list[int | str]
    S_size: int
    S_group: str | None
    T: list[int | str] | None
    T_size: int
    T_group: str | None
    query: dict[str, Any] | None = None
    answer: AnswerOut


class HistoryOut(Strict):
    """Answers on the record, oldest first, from the first one after `after`."""

    session: str
    total: int
    after: int
    items: list[HistoryItem]


class Spent(Strict):
    """Epsilon and delta that were spent, and the cap; null where there is none."""

    epsilon: float
    delta: float
    cap_epsilon: float | None
    cap_delta: float | None


class BudgetOut(Strict):
    """What all uses of the graph have spent, and what counts against the caps of whoever asks.

    `yours` and `queries` count sessions from their approval on, whether or not they have begun.
    """

    all: Spent
    yours: Spent
    queries: int
    cap_queries: int | None
    preapproved: bool


class PersonOut(Strict):
    """Somebody with a token."""

    name: str
    role: str
    preapproved: bool
    epsilon: float | None
    delta: float
    queries: int | None
    active: bool
    reads: list[str]


class PeopleOut(Strict):
    """Everybody."""

    people: list[PersonOut]


class TokenOut(Strict):
    """A token, shown this once."""

    name: str
    token: str


class LineOut(Strict):
    """A line of the audit log; `body` is JSON text."""

    seq: int
    time: str
    who: str
    what: str
    body: str
    digest: str


class LogOut(Strict):
    """Lines of the audit log."""

    head: str
    lines: list[LineOut]


class SpendingOut(Strict):
    """Every use of the graph, in order, with what all up to it have spent."""

    budget: str | None
    head: str
    overruns: int
    uses: list["UseOut"]


class UseOut(Strict):
    """One use of the graph. `cumulative`: epsilon of all uses up to this one, as plain sums."""

    number: int
    kind: str
    name: str
    time: str
    epsilon: float
    delta: float
    cumulative: float


class MeOut(Strict):
    """Who asks. `csrf`: what a page sends along with a change."""

    name: str
    role: str
    csrf: str | None


class Problem(BaseModel):
    """What went wrong: application/problem+json."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
