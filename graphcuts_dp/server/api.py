"""API v1: routes for everybody with a token, then those of curators, and what they reply.

A handler that touches the store or the book is a plain function, run on the thread of the store
(`Service.stored`); one that is `async` touches public numbers alone.
"""

from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Header, Path, Query, Request
from fastapi.responses import PlainTextResponse, StreamingResponse

from graphcuts_dp.ledger.uses import total_cost
from graphcuts_dp.pairs.graph_queries import Question
from graphcuts_dp.pairs.queries import CutQuery, MatrixQuery, RankOneQuery
from graphcuts_dp.pairs.vertices import Label, VertexSet
from graphcuts_dp.server.access import Logins
from graphcuts_dp.server.approval import Request as Asked
from graphcuts_dp.server.approval import forecast
from graphcuts_dp.server.chain import line_of, log_text
from graphcuts_dp.server.desk import Desk, finite
from graphcuts_dp.server.models import (
    AnswerOut,
    AnswersOut,
    Ask,
    BudgetOut,
    CapsIn,
    DecisionIn,
    DummyIn,
    GrantIn,
    GraphOut,
    GroupsOut,
    HistoryItem,
    HistoryOut,
    LineOut,
    LogOut,
    MeOut,
    PeopleOut,
    PersonIn,
    PersonName,
    PersonOut,
    PlanIn,
    PreviewOut,
    Problem,
    Queries,
    SessionIn,
    SessionOut,
    SessionsOut,
    SpendingOut,
    Spent,
    TokenOut,
    UseOut,
    VerticesOut,
)
from graphcuts_dp.server.people import Login, Person
from graphcuts_dp.server.problems import RefusedError
from graphcuts_dp.server.service import Service
from graphcuts_dp.session.query_lines import query_title, query_to_dict, sides

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "content": {"application/problem+json": {}}}
    for status in (400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 503)
}
SessionId = Annotated[str, Path(max_length=81, pattern=r"^[a-z0-9][a-z0-9_-]*\.[A-Za-z0-9_-]+$")]
Key = Annotated[str | None, Header(alias="Idempotency-Key", pattern=r"^[\x21-\x7e]{1,100}$")]
After = Annotated[int, Query(ge=0, le=10**12)]
_NUMBERS = 1 << 15  # of which so many are allotted the time of one query more
_LINES = 50  # of a transcript, read at once
_SHOWN = 20  # labels of a set in a history
_LONGEST = 1 << 21  # numbers of a query that a history shows
_PAGE = 1 << 18  # after so many a page of a history ends


def make_api(service: Service, logins: Logins) -> APIRouter:
    """The routes of everybody with a token; see `server.app`."""
    router = APIRouter(prefix="/v1", responses=PROBLEMS)

    Who = Annotated[Login, Depends(logins.anybody)]
    Reader = Annotated[Login, Depends(logins.reader)]
    Analyst = Annotated[Login, Depends(logins.analyst)]
    desk = service.desk

    @router.get("/me")
    async def me(who: Who) -> MeOut:
        """Who asks."""
        return MeOut(name=who.person.name, role=who.person.role, csrf=who.csrf)

    @router.get("/graph")
    async def graph(who: Reader) -> GraphOut:  # noqa: ARG001
        """What is public about the graph: sizes, kind, groups."""
        return _graph(service)

    @router.get("/vertices")
    async def vertices(
        who: Reader,  # noqa: ARG001
        side: Annotated[int, Query(ge=0, le=1)] = 0,
        first: After = 0,
        limit: Annotated[int, Query(ge=1, le=100_000)] = 10_000,
    ) -> VerticesOut:
        """Labels of the public vertices, some at a time."""
        chosen: VertexSet = sides(desk.universe)[side]
        labels = list(chosen.labels[first : first + limit])
        return VerticesOut(side=side, first=first, total=len(chosen), labels=labels)

    @router.post("/plan")
    async def plan(who: Reader, asked: PlanIn) -> dict[str, Any]:  # noqa: ARG001
        """What every mechanism would guarantee. Free: it reads public numbers alone."""
        return await service.aside(desk.plan, asked)

    @router.post("/dummy")
    async def dummy(who: Analyst, request: Request, asked: DummyIn) -> AnswersOut:  # noqa: ARG001
        """Queries to a made graph on the same vertices, under given terms. Free, of no use."""
        _check_batch(service, request, asked)
        if sum(desk.universe.shape) > 2 * service.limits.dummy:
            raise RefusedError(422, "there is no made graph of this size", kind="value")
        answers = await service.aside(desk.dummy, asked)
        return AnswersOut(session="dummy", answers=answers, new=len(answers))

    @router.get("/budget")
    @service.stored
    def budget(who: Reader) -> BudgetOut:
        """What all uses of the graph have spent together, and your sessions."""
        return _budget(desk, who.person)

    _add_sessions(router, service, logins)
    return router


def _add_sessions(router: APIRouter, service: Service, logins: Logins) -> None:
    Who = Annotated[Login, Depends(logins.anybody)]
    Reader = Annotated[Login, Depends(logins.reader)]
    Analyst = Annotated[Login, Depends(logins.analyst)]
    desk = service.desk

    @router.get("/sessions")
    @service.stored
    def sessions(who: Reader) -> SessionsOut:
        """Sessions that you may see."""
        return SessionsOut(sessions=[_session(desk, each) for each in desk.visible(who.person)])

    @router.post("/forecast")
    async def told(who: Reader, asked: SessionIn) -> dict[str, Any]:  # noqa: ARG001
        """What a session of these terms would cost and promise. Nothing is asked for. Free."""
        return await service.aside(_forecast, desk, asked)

    @router.post("/sessions", status_code=201)
    @service.stored
    def open_session(who: Analyst, asked: SessionIn) -> SessionOut:
        """Ask for a session; it begins at once if the curator has said so. The same again is free.

        When it begins, its whole cost is charged to the graph's budget. One that was approved and
        could not begin begins when it is asked for again.
        """
        return _session(desk, *desk.request(who.person, asked))

    @router.get("/sessions/{name}")
    @service.stored
    def session(who: Who, name: SessionId) -> SessionOut:
        """Where a session stands."""
        return _session(desk, desk.readable(who.person, name))

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
            error_bound=finite(error),
        )

    @router.post("/sessions/{name}/answers")
    async def ask(
        who: Analyst, request: Request, name: SessionId, asked: Ask, key: Key = None
    ) -> AnswersOut:
        """Answer queries. What is on the record is free.

        With an `Idempotency-Key`, send the same request again after a lost connection: it has the
        same answers and costs nothing.
        """
        _check_batch(service, request, asked)
        answers, new = await service.at_store(desk.ask, who.person, name, asked, key)
        return AnswersOut(session=name, answers=answers, new=new)

    @router.get("/sessions/{name}/answers")
    @service.stored
    def history(
        who: Who,
        name: SessionId,
        after: After = 0,
        limit: Annotated[int, Query(ge=1, le=200)] = 100,
        labels: bool = False,
    ) -> HistoryOut:
        """Answers on the record, oldest first. `labels`: also all labels of large sets."""
        total, found = desk.history(who.person, name, after, limit)
        most = None if labels else _SHOWN
        items, numbers = list[HistoryItem](), 0
        for record, query, answer in found:
            items.append(_item(desk, record, query, answer, most))
            numbers += _length(query)
            if numbers > _PAGE:
                break
        return HistoryOut(session=name, total=total, after=after, items=items)

    @router.get("/sessions/{name}/export", response_class=StreamingResponse)
    async def export(who: Who, name: SessionId) -> StreamingResponse:
        """The transcript, as JSON lines: first what was promised, then an answer on each line."""
        parts = desk.export(who.person, name)
        first = await service.at_store(_next_lines, parts)  # what is refused is refused here

        async def lines() -> AsyncIterator[str]:
            more = first
            while more:
                yield more
                more = await service.at_store(_next_lines, parts)

        header = {"Content-Disposition": f'attachment; filename="{name}.jsonl"'}
        return StreamingResponse(lines(), media_type="application/x-ndjson", headers=header)


def make_curating(service: Service, logins: Logins) -> APIRouter:
    """The routes of curators: people, tokens, approvals, grants, the audit log, spending."""
    router = APIRouter(prefix="/v1", responses=PROBLEMS)
    Who = Annotated[Login, Depends(logins.curator)]
    desk = service.desk
    people = desk.people

    @router.get("/people")
    @service.stored
    def everybody(who: Who) -> PeopleOut:  # noqa: ARG001
        """Everybody with a token."""
        return _people(desk)

    @router.post("/people", status_code=201)
    @service.stored
    def add(who: Who, asked: PersonIn) -> TokenOut:
        """Make a person; the token is shown this once."""
        token = people.add(Person(**asked.model_dump()), by=who.person.name)
        return TokenOut(name=asked.name, token=token.text)

    @router.put("/people/{name}")
    @service.stored
    def change(who: Who, name: PersonName, asked: CapsIn) -> PeopleOut:
        """Change the caps of an analyst, and whether their sessions need approval."""
        people.change(Person(name=name, **asked.model_dump()), by=who.person.name)
        return _people(desk)

    @router.post("/people/{name}/token", status_code=201)
    @service.stored
    def renew(who: Who, name: PersonName) -> TokenOut:
        """Withdraw all tokens of a person and make another, which is shown this once."""
        return TokenOut(name=name, token=people.renew(name, by=who.person.name).text)

    @router.delete("/people/{name}")
    @service.stored
    def revoke(who: Who, name: PersonName) -> PeopleOut:
        """Withdraw all tokens of a person. Answers stay on the record."""
        people.revoke(name, by=who.person.name)
        return _people(desk)

    @router.put("/grants")
    @service.stored
    def grant(who: Who, asked: GrantIn) -> PeopleOut:
        """Let one analyst read the answers of another, or no longer."""
        people.grant(asked.reader, asked.owner, allowed=asked.allowed, by=who.person.name)
        return _people(desk)

    @router.post("/sessions/{name}/decision")
    @service.stored
    def decide(who: Who, name: SessionId, asked: DecisionIn) -> SessionOut:
        """Approve a session that waits, which begins it and spends its cost; or refuse it.

        One that was approved and has not begun can be approved again, or refused after all.
        """
        found = desk.decide(who.person, name, approve=asked.approve, note=asked.note)
        return _session(desk, found)

    @router.get("/audit")
    @service.stored
    def audit(
        who: Who,  # noqa: ARG001
        after: After = 0,
        limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    ) -> LogOut:
        """Lines of the audit log, and its head: keep that to verify the log later."""
        lines = [LineOut(**line_of(*each)) for each in people.log_lines(after, limit)]
        return LogOut(head=str(people.log_head), lines=lines)

    @router.get("/audit/export", response_class=PlainTextResponse)
    @service.stored
    def export(who: Who) -> PlainTextResponse:  # noqa: ARG001
        """The whole audit log, as `graphcuts-dp access verify --file` reads it."""
        header = {"Content-Disposition": 'attachment; filename="audit.jsonl"'}
        text = log_text(people.book.salt, people.log_lines())
        return PlainTextResponse(text, headers=header)

    @router.get("/spending")
    @service.stored
    def spending(who: Who) -> SpendingOut:  # noqa: ARG001
        """Every use of the graph, in order, and what they have spent."""
        return _spending(service)

    return router


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


def _graph(service: Service) -> GraphOut:
    desk = service.desk
    universe, names = desk.universe, desk.names
    groups = [] if names is None else [names.left, names.right][: 1 + universe.bipartite]
    left, right = sides(universe)
    return GraphOut(
        vertices=[len(left), len(right)] if universe.bipartite else [len(left)],
        bipartite=universe.bipartite,
        directed=universe.directed,
        weighted=desk.weighted,
        weight_cap=desk.grid.cap,
        groups=[
            [
                GroupsOut(
                    level=level,
                    names=[str(label) for label in each.labels(level)],
                    sizes=each.sizes(level).tolist(),
                )
                for level in each.levels
            ]
            for each in groups
        ],
        tick=service.ticks.period,
        batch=service.limits.batch,
        numbers=service.limits.numbers,
    )


def _budget(desk: Desk, person: Person) -> BudgetOut:
    """What was spent by all, and what counts against the caps of one person."""
    status, cap = desk.status, desk.budget
    claims = desk.claims(person.name, [each.use for each in status.uses])
    spent = total_cost(claims.costs, person.cap) if claims.costs else None
    return BudgetOut(
        all=Spent(
            epsilon=status.epsilon,
            delta=status.delta,
            cap_epsilon=cap.epsilon if cap else None,
            cap_delta=cap.delta if cap else None,
        ),
        yours=Spent(
            epsilon=spent.epsilon if spent else 0.0,
            delta=spent.delta if spent else 0.0,
            cap_epsilon=person.epsilon,
            cap_delta=person.delta if person.epsilon is not None else None,
        ),
        queries=claims.queries,
        cap_queries=person.queries,
        preapproved=person.preapproved,
    )


def _forecast(desk: Desk, asked: SessionIn) -> dict[str, Any]:
    """What a session would cost and promise."""
    found = forecast(desk.terms_of(asked), desk.universe, desk.grid)
    return {
        "epsilon": found.cost.epsilon,
        "delta": found.cost.delta,
        "guarantee": found.guarantee,
        "error": finite(found.error),
        "warning": found.warning,
    }


def _session(desk: Desk, request: Asked, warning: str | None = None) -> SessionOut:
    """Where a session stands."""
    status = desk.on_store(request)
    told = forecast(request.terms, desk.universe, desk.grid)
    return SessionOut(
        id=request.id,
        owner=request.owner,
        name=request.name,
        state=request.state if status is None else status.state,
        terms=request.terms if status is None else status.terms.parameters,
        guarantee=told.guarantee if status is None else str(status.terms.guarantee),
        forecast=finite(told.error),
        error_bound=finite(desk.error_bound(request)),
        answers=status.answers if status else 0,
        corrections=status.corrections if status else 0,
        interruptions=status.interruptions if status else 0,
        queries_left=status.remaining.queries if status else request.terms["queries"],
        updates_left=status.remaining.updates if status else None,
        asked=request.asked,
        note=request.note,
        warning=warning or told.warning,
    )


def _length(query: Question) -> int:
    """How many numbers a query is given by; 0 of a cut."""
    if isinstance(query, RankOneQuery):
        return sum(int(np.count_nonzero(each)) for each in (query.u, query.v))
    return int(np.count_nonzero(query.C)) if isinstance(query, MatrixQuery) else 0


def _item(
    desk: Desk, record: int, query: Question, answer: AnswerOut, most: int | None
) -> HistoryItem:
    universe = desk.universe
    left, right = sides(universe)
    if not isinstance(query, CutQuery):  # no sets to show
        shown = _length(query) <= (_LONGEST if most is None else most)
        return HistoryItem(
            record=record,
            S=[],
            S_size=0,
            S_group=query_title(query, universe),
            T=None,
            T_size=0,
            T_group=None,
            query=query_to_dict(query, universe) if shown else None,
            answer=answer,
        )
    S, T = query.masks(universe.space)

    def some(vertices: VertexSet, mask: Any) -> list[Label]:
        rows = mask.nonzero()[0][:most]
        return [vertices.labels[int(row)] for row in rows]

    return HistoryItem(
        record=record,
        S=some(left, S),
        S_size=int(S.sum()),
        S_group=desk.group_of(S, 0),
        T=None if query.T is None else some(right, T),
        T_size=int(T.sum()),
        T_group=None if query.T is None else desk.group_of(T, 1),
        answer=answer,
    )


def _next_lines(parts: Iterator[str]) -> str:
    """The next lines of a transcript; empty at its end."""
    return "".join(islice(parts, _LINES))


def _people(desk: Desk) -> PeopleOut:
    people = desk.people
    return PeopleOut(
        people=[
            PersonOut(**vars(each), reads=sorted(people.owners_read_by(each.name)))
            for each in people.all()
        ]
    )


def _spending(service: Service) -> SpendingOut:
    status, budget = service.desk.status, service.desk.budget
    uses = [each.use for each in status.uses]
    costs = [use.cost for use in uses]
    return SpendingOut(
        budget=status.budget,
        head=status.head,
        overruns=service.overruns,
        uses=[
            UseOut(
                number=use.number,
                kind=use.kind,
                name=use.name,
                time=use.time,
                epsilon=use.cost.epsilon,
                delta=use.cost.delta,
                cumulative=total_cost(costs[: place + 1], budget).epsilon,
            )
            for place, use in enumerate(uses)
        ],
    )
