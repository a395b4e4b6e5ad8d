"""API v1 for everybody with a token: the graph's public side, plans, sessions, answers, budgets."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Query, Request
from fastapi.responses import StreamingResponse

from graphcuts_dp.pairs.vertices import VertexSet
from graphcuts_dp.server.access import Check
from graphcuts_dp.server.models import Ask, DummyIn, PlanIn, Queries, SessionIn
from graphcuts_dp.server.people import ANALYST, CURATOR, Login, Person
from graphcuts_dp.server.problems import RefusedError
from graphcuts_dp.server.replies import (
    AnswersOut,
    BudgetOut,
    GraphOut,
    HistoryOut,
    MeOut,
    PreviewOut,
    Problem,
    SessionOut,
    SessionsOut,
    VerticesOut,
)
from graphcuts_dp.server.service import Service
from graphcuts_dp.server.telling import (
    exported,
    opened_session,
    told_answers,
    told_budget,
    told_forecast,
    told_graph,
    told_history,
    told_session_of,
    told_sessions,
)
from graphcuts_dp.session.query_lines import sides

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "content": {"application/problem+json": {}}}
    for status in (400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 503)
}
SessionId = Annotated[str, Path(max_length=81, pattern=r"^[a-z0-9][a-z0-9_-]*\.[A-Za-z0-9_-]+$")]
Key = Annotated[str | None, Header(alias="Idempotency-Key", pattern=r"^[\x21-\x7e]{1,100}$")]
After = Annotated[int, Query(ge=0, le=10**12)]
_NUMBERS = 1 << 15  # of which so many are allotted the time of one query more


def make_api(service: Service, anybody: Check) -> APIRouter:
    """The routes; see `server.app`."""
    router = APIRouter(prefix="/v1", responses=PROBLEMS)
    Who = Annotated[Login, Depends(anybody)]
    desk = service.desk

    @router.get("/me")
    async def me(who: Who) -> MeOut:
        """Who asks."""
        return MeOut(name=who.person.name, role=who.person.role, csrf=who.csrf)

    @router.get("/graph")
    async def graph(who: Who) -> GraphOut:
        """What is public about the graph: sizes, kind, groups."""
        _check_reader(who.person)
        return told_graph(service)

    @router.get("/vertices")
    async def vertices(
        who: Who,
        side: Annotated[int, Query(ge=0, le=1)] = 0,
        first: After = 0,
        limit: Annotated[int, Query(ge=1, le=100_000)] = 10_000,
    ) -> VerticesOut:
        """Labels of the public vertices, some at a time."""
        _check_reader(who.person)
        chosen: VertexSet = sides(desk.universe)[side]
        labels = list(chosen.labels[first : first + limit])
        return VerticesOut(side=side, first=first, total=len(chosen), labels=labels)

    @router.post("/plan")
    async def plan(who: Who, asked: PlanIn) -> dict[str, Any]:
        """What every mechanism would guarantee. Free: it reads public numbers alone."""
        _check_reader(who.person)
        return await service.aside(desk.plan, asked)

    @router.post("/dummy")
    async def dummy(who: Who, request: Request, asked: DummyIn) -> AnswersOut:
        """Queries to a made graph on the same vertices, under given terms. Free, of no use."""
        _check_analyst(who.person)
        _check_batch(service, request, asked)
        if sum(desk.universe.shape) > 2 * service.limits.dummy:
            raise RefusedError(422, "there is no made graph of this size", kind="value")
        answers = await service.aside(desk.dummy, asked)
        return AnswersOut(session="dummy", answers=told_answers(answers), new=len(answers))

    @router.get("/budget")
    async def budget(who: Who) -> BudgetOut:
        """What all uses of the graph have spent together, and your sessions."""
        _check_reader(who.person)
        return await service.at_store(told_budget, service, who.person)

    _add_sessions(router, service, anybody)
    return router


def _add_sessions(router: APIRouter, service: Service, anybody: Check) -> None:
    Who = Annotated[Login, Depends(anybody)]
    desk = service.desk

    @router.get("/sessions")
    async def sessions(who: Who) -> SessionsOut:
        """Sessions that you may see."""
        _check_reader(who.person)
        return SessionsOut(sessions=await service.at_store(told_sessions, service, who.person))

    @router.post("/forecast")
    async def told(who: Who, asked: SessionIn) -> dict[str, Any]:
        """What a session of these terms would cost and promise. Nothing is asked for. Free."""
        _check_reader(who.person)
        return await service.aside(told_forecast, service, asked)

    @router.post("/sessions", status_code=201)
    async def open_session(who: Who, asked: SessionIn) -> SessionOut:
        """Ask for a session; it begins at once if the curator has said so. The same again is free.

        When it begins, its whole cost is charged to the graph's budget. One that was approved and
        could not begin begins when it is asked for again.
        """
        _check_analyst(who.person)
        return await service.at_store(opened_session, service, who.person, asked)

    @router.get("/sessions/{name}")
    async def session(who: Who, name: SessionId) -> SessionOut:
        """Where a session stands."""
        return await service.at_store(told_session_of, service, who.person, name)

    @router.post("/sessions/{name}/cost")
    async def cost(who: Who, request: Request, name: SessionId, asked: Queries) -> PreviewOut:
        """What queries would use, and how far off an answer may be. Nothing is asked. Free."""
        _check_batch(service, request, asked)
        found, error = await service.at_store(desk.cost, who.person, name, asked.queries)
        return PreviewOut(
            queries=found.queries,
            free=found.free,
            new=found.new,
            left=found.left,
            allowed=found.allowed,
            error_bound=error if error < float("inf") else None,
        )

    @router.post("/sessions/{name}/answers")
    async def ask(
        who: Who, request: Request, name: SessionId, asked: Ask, key: Key = None
    ) -> AnswersOut:
        """Answer queries. What is on the record is free.

        With an `Idempotency-Key`, send the same request again after a lost connection: it has the
        same answers and costs nothing.
        """
        _check_analyst(who.person)
        _check_batch(service, request, asked)
        answers, new = await service.at_store(desk.ask, who.person, name, asked, key)
        return AnswersOut(session=name, answers=told_answers(answers), new=new)

    @router.get("/sessions/{name}/answers")
    async def history(
        who: Who,
        name: SessionId,
        after: After = 0,
        limit: Annotated[int, Query(ge=1, le=200)] = 100,
        labels: bool = False,
    ) -> HistoryOut:
        """Answers on the record, oldest first. `labels`: also all labels of large sets."""
        return await service.at_store(told_history, service, who.person, name, after, limit, labels)

    @router.get("/sessions/{name}/export", response_class=StreamingResponse)
    async def export(who: Who, name: SessionId) -> StreamingResponse:
        """The transcript, as JSON lines: first what was promised, then an answer on each line."""
        parts = desk.export(who.person, name)
        first = await service.at_store(exported, parts)  # what is refused is refused here

        async def lines() -> AsyncIterator[str]:
            more = first
            while more:
                yield more
                more = await service.at_store(exported, parts)

        header = {"Content-Disposition": f'attachment; filename="{name}.jsonl"'}
        return StreamingResponse(lines(), media_type="application/x-ndjson", headers=header)


def _check_reader(person: Person) -> None:
    if person.role not in (ANALYST, CURATOR):
        raise RefusedError(403, "this token reads the metrics alone", kind="role")


def _check_analyst(person: Person) -> None:
    if person.role != ANALYST:
        raise RefusedError(403, "analysts ask; make yourself a token of that role", kind="role")


def _check_batch(service: Service, request: Request, asked: Queries) -> None:
    """Refuse more than fits, and say for how much work the reply is to be allotted time."""
    count, limits = len(asked.queries), service.limits
    if count > limits.batch:
        raise RefusedError(413, f"a request asks at most {limits.batch:,} queries")
    numbers = sum(query.numbers(service.desk.universe) for query in asked.queries)
    if numbers > limits.numbers:
        raise RefusedError(
            413,
            f"these queries are made into {numbers:,} weights and coefficients, a request into at"
            f" most {limits.numbers:,}: ask fewer at once",
        )
    # By public sizes: how long a query of many numbers takes hardly depends on the graph.
    request.scope.setdefault("state", {})["queries"] = count + numbers // _NUMBERS
