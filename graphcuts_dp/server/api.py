"""Routes of API v1: first those for everybody with a token, then those for curators.

A handler that touches the store or the registry is a plain function, run on the thread of the store
(`Service.stored`); one that is `async` touches public numbers alone.
"""

from collections.abc import AsyncIterator
from itertools import islice
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Header, Path, Query, Request, Response
from fastapi.responses import PlainTextResponse, StreamingResponse

from graphcuts_dp.ledger.opening import Budget
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.queries.graph_queries import Question
from graphcuts_dp.queries.linear import CutQuery, MatrixQuery, RankOneQuery, sides_of
from graphcuts_dp.queries.query_lines import query_title, query_to_dict
from graphcuts_dp.server import models
from graphcuts_dp.server.book import line_of
from graphcuts_dp.server.desk import LISTED_AT_ONCE, Desk
from graphcuts_dp.server.models import RefusedError
from graphcuts_dp.server.people import Person
from graphcuts_dp.server.queues import Steps
from graphcuts_dp.server.requests import SessionRequest
from graphcuts_dp.server.service import (
    Analyst,
    Curator,
    CurrentLogin,
    CurrentService,
    Reader,
    Service,
    for_analysts,
    for_curators,
    for_readers,
    run_at_store,
)
from graphcuts_dp.session.base import Answer

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": models.Problem, "content": {"application/problem+json": {}}}
    for status in (400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 503)
}
SessionId = Annotated[str, Path(max_length=81, pattern=r"^[a-z0-9][a-z0-9_-]*\.[A-Za-z0-9_-]+$")]
Key = Annotated[str | None, Header(alias="Idempotency-Key", pattern=r"^[\x21-\x7e]{1,100}$")]
Offset = Annotated[int, Query(ge=0, le=10**12)]
_NUMBERS_OF_A_QUERY = 1 << 15  # numbers of queries are allotted the time of one more query
_LINES_AT_ONCE = 50  # of a transcript, read at once
_SHOWN_LABELS = 20  # labels of a set in a history, unless all are asked for
_MOST_SHOWN_NUMBERS = 1 << 21  # of a query in a history, if all labels are asked for
_MOST_PAGE_NUMBERS = 1 << 18  # numbers of queries after which a page of a history ends

router: APIRouter = APIRouter(prefix="/v1", responses=PROBLEMS)
curating: APIRouter = APIRouter(prefix="/v1", responses=PROBLEMS, dependencies=[for_curators])


@router.get("/me")
async def me(who: CurrentLogin) -> models.MeOut:
    """Return the name and the role of whoever asks."""
    return models.MeOut(name=who.person.name, role=who.person.role, csrf=who.csrf)


@router.get("/graphs", dependencies=[for_readers])
async def graphs(who: CurrentLogin, service: CurrentService) -> models.GraphsOut:
    """List the graphs that you may ask; routes of one begin with /v1/graphs/NAME, not /v1."""
    names = [name for name, desk in service.desks.items() if who.person.may_ask(desk.store)]
    return models.GraphsOut(graphs=names)


@router.get("/graph", dependencies=[for_readers])
async def graph(service: CurrentService) -> models.GraphOut:
    """Return what is public about the graph: sizes, kind, groups."""
    desk = service.desk
    universe, names = desk.universe, desk.names
    groups = [] if names is None else [names.left, names.right][: 1 + universe.bipartite]
    left, right = sides_of(universe.space)
    return models.GraphOut(
        vertices=[len(left), len(right)] if universe.bipartite else [len(left)],
        bipartite=universe.bipartite,
        directed=universe.directed,
        weighted=desk.grid.weighted,
        max_weight=desk.grid.cap,
        groups=[
            [
                models.GroupsOut(
                    level=level,
                    names=[str(label) for label in side.labels(level)],
                    sizes=side.sizes(level).tolist(),
                )
                for level in side.levels
            ]
            for side in groups
        ],
        tick=service.ticks.period,
        batch=service.limits.batch,
        numbers=service.limits.numbers,
    )


@router.get("/vertices", dependencies=[for_readers])
async def vertices(
    service: CurrentService,
    side: Annotated[int, Query(ge=0, le=1)] = 0,
    first: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=100_000)] = 10_000,
) -> models.VerticesOut:
    """Return labels of the public vertices, some at a time."""
    chosen = sides_of(service.desk.universe.space)[side]
    labels = list(chosen.labels[first : first + limit])
    return models.VerticesOut(side=side, first=first, total=len(chosen), labels=labels)


@router.post("/plan", dependencies=[for_readers])
async def plan(service: CurrentService, body: models.PlanIn) -> dict[str, Any]:
    """Show what every mechanism would guarantee. Free: it reads public numbers alone."""
    return await service.on_public_thread(service.desk.plan, body)


@router.post("/dummy", dependencies=[for_analysts])
async def dummy(
    service: CurrentService, request: Request, body: models.DummyIn
) -> models.AnswersOut:
    """Ask a simulated graph on the same vertices, under the terms that are sent. Free."""
    _check_batch(service, request, body)
    if sum(service.desk.universe.shape) > 2 * service.limits.dummy:
        raise RefusedError(422, "there is no simulated graph of this size", kind="value")
    answers = await service.steps_on_public_thread(service.desk.simulated_answers(body))
    return models.AnswersOut(session="dummy", answers=answers, new=len(answers))


@router.get("/budget")
@run_at_store
def budget(who: Reader, service: CurrentService) -> models.BudgetOut:
    """Show what all uses of the graph have spent together, and your sessions."""
    desk, person = service.desk, who.person
    total, claims = desk.spent, desk.all_claims(person.name)
    return models.BudgetOut(
        all=_spent(total, desk.budget),
        yours=_spent(claims.total(person.cap), person.cap),
        queries=claims.queries,
        cap_queries=person.queries,
        preapproved=person.preapproved,
    )


@router.get("/sessions", response_model=models.SessionsOut)
async def sessions(who: Reader, service: CurrentService) -> Response:
    """List the sessions that you may see."""
    text = await service.steps_at_store(_sessions_text(service.desk, who.person))
    return Response(text, media_type="application/json")


@router.post("/forecast", dependencies=[for_readers])
async def forecast_session(service: CurrentService, body: models.SessionIn) -> dict[str, Any]:
    """Show what a session of these terms would cost and guarantee. Nothing is asked for. Free."""
    return await service.on_public_thread(_forecast, service.desk, body)


@router.post("/sessions", status_code=201)
@run_at_store
def open_session(
    who: Analyst, service: CurrentService, request: Request, body: models.SessionIn
) -> models.SessionOut:
    """Ask for a session; it begins at once if the curator has said so. The same again is free.

    When it begins, its whole cost is charged to the graph's budget. One that was approved and
    could not begin begins when it is asked for again.
    """
    session_request, warning = service.desk.request(who.person, body)
    request.state.figures = service.figures()  # for the metrics, once the reply leaves
    return _session(service.desk, session_request, warning)


@router.get("/sessions/{name}")
@run_at_store
def session(who: CurrentLogin, service: CurrentService, name: SessionId) -> models.SessionOut:
    """Show the status of a session."""
    return _session(service.desk, service.desk.requests.get_visible(who.person, name))


@router.post("/sessions/{name}/cost")
async def cost(
    who: CurrentLogin,
    service: CurrentService,
    request: Request,
    name: SessionId,
    body: models.Queries,
) -> models.PreviewOut:
    """Return what queries would use, and a bound on the error. Nothing is asked. Free."""
    _check_batch(service, request, body)
    preview, error = await service.at_store(service.desk.cost, who.person, name, body.queries)
    return models.PreviewOut(**vars(preview), allowed=preview.allowed, error_bound=error)


@router.post("/sessions/{name}/answers")
async def ask(
    who: Analyst,
    service: CurrentService,
    request: Request,
    name: SessionId,
    body: models.Ask,
    key: Key = None,
) -> models.AnswersOut:
    """Answer queries. What is on the record is free.

    With an `Idempotency-Key`, send the same request again after a lost connection: it has the
    same answers and costs nothing.
    """
    _check_batch(service, request, body)
    answers, new = await service.steps_at_store(
        service.desk.ask_in_steps(who.person, name, body, key)
    )
    request.state.asked = service.desk.name, len(answers)  # for the metrics, once the reply leaves
    return models.AnswersOut(session=name, answers=answers, new=new)


@router.get("/sessions/{name}/answers")
@run_at_store
def history(
    who: CurrentLogin,
    service: CurrentService,
    name: SessionId,
    after: Offset = 0,
    limit: Annotated[int, Query(ge=1, le=200)] = 100,
    labels: bool = False,
) -> models.HistoryOut:
    """List answers on the record, oldest first. `labels`: also all labels of large sets."""
    total, entries = service.desk.history(who.person, name, after, limit)
    most_labels = None if labels else _SHOWN_LABELS
    items, numbers = list[models.HistoryItem](), 0
    for record, query, answer in entries:
        items.append(_item(service.desk, record, query, answer, most_labels))
        numbers += _length(query)
        if numbers > _MOST_PAGE_NUMBERS:
            break
    return models.HistoryOut(session=name, total=total, after=after, items=items)


@router.get("/sessions/{name}/export", response_class=StreamingResponse)
async def export(who: CurrentLogin, service: CurrentService, name: SessionId) -> StreamingResponse:
    """Return the transcript as JSON lines: first what was guaranteed, then an answer on each."""
    transcript = service.desk.export(who.person, name)

    def next_lines() -> str:
        return "".join(islice(transcript, _LINES_AT_ONCE))

    first_lines = await service.at_store(next_lines)  # a refusal is raised here

    async def lines() -> AsyncIterator[str]:
        text = first_lines
        while text:
            yield text
            text = await service.at_store(next_lines)

    header = {"Content-Disposition": f'attachment; filename="{name}.jsonl"'}
    return StreamingResponse(lines(), media_type="application/x-ndjson", headers=header)


@curating.get("/people")
@run_at_store
def everybody(service: CurrentService) -> models.PeopleOut:
    """List everybody with a token."""
    people = service.desk.people
    return models.PeopleOut(
        people=[
            models.PersonOut(
                **{**vars(person), "graphs": service.names_of(person)},
                reads=sorted(people.analysts_read_by(person.name)),
            )
            for person in people.all()
        ]
    )


@curating.post("/people", status_code=201)
@run_at_store
def add(who: Curator, service: CurrentService, body: models.PersonIn) -> models.TokenOut:
    """Make a person; the token is shown this once."""
    graphs = service.ids_of(body.graphs or [])
    person = Person(**{**body.model_dump(), "graphs": ",".join(graphs)})
    token = service.desk.people.add(person, by=who.person.name)
    return models.TokenOut(name=body.name, token=token)


@curating.put("/people/{name}", status_code=204)
@run_at_store
def change(
    who: Curator, service: CurrentService, name: models.PersonName, body: models.CapsIn
) -> None:
    """Change the limits of an analyst, and whether their sessions need approval."""
    limits = body.model_dump(exclude={"graphs"})
    stores = None if body.graphs is None else service.ids_of(body.graphs)
    service.desk.people.change(Person(name=name, **limits), by=who.person.name)
    if stores is not None:
        service.desk.people.restrict(name, stores, by=who.person.name)


@curating.post("/people/{name}/token", status_code=201)
@run_at_store
def renew(who: Curator, service: CurrentService, name: models.PersonName) -> models.TokenOut:
    """Withdraw all tokens of a person and make another, which is shown this once."""
    token = service.desk.people.renew(name, by=who.person.name)
    return models.TokenOut(name=name, token=token)


@curating.delete("/people/{name}", status_code=204)
@run_at_store
def revoke(who: Curator, service: CurrentService, name: models.PersonName) -> None:
    """Withdraw all tokens of a person. Answers stay on the record."""
    service.desk.people.revoke(name, by=who.person.name)


@curating.put("/grants", status_code=204)
@run_at_store
def grant(who: Curator, service: CurrentService, body: models.GrantIn) -> None:
    """Let one analyst read the answers of another, or no longer."""
    service.desk.people.grant(**body.model_dump(), by=who.person.name)


@curating.post("/sessions/{name}/decision")
@run_at_store
def decide(
    who: Curator,
    service: CurrentService,
    request: Request,
    name: SessionId,
    body: models.DecisionIn,
) -> models.SessionOut:
    """Approve a session that waits, which begins it and spends its cost; or refuse it.

    One that was approved and has not begun can be approved again, or refused after all.
    """
    decided = service.desk.decide(who.person, name, approve=body.approve, note=body.note)
    request.state.figures = service.figures()
    return _session(service.desk, decided)


@curating.get("/audit")
@run_at_store
def audit(
    service: CurrentService, after: Offset = 0, limit: Annotated[int, Query(ge=1, le=1000)] = 200
) -> models.LogOut:
    """List lines of the audit log, and its head: keep that to verify the log later."""
    people = service.desk.people
    lines = [models.LineOut(**line_of(*line)) for line in people.log_lines(after, limit)]
    return models.LogOut(head=str(people.log_head), lines=lines)


@curating.get("/audit/export", response_class=PlainTextResponse)
@run_at_store
def export_log(service: CurrentService) -> PlainTextResponse:
    """Return the whole audit log, as `graphcuts-dp serve access verify --file` reads it."""
    people = service.desk.people
    header = {"Content-Disposition": 'attachment; filename="audit.jsonl"'}
    return PlainTextResponse(people.log_text(), headers=header)


@curating.get("/spending")
async def spending(service: CurrentService) -> models.SpendingOut:
    """List every use of the graph, in order, and what they have spent."""
    desk = service.desk
    uses, head = await service.steps_at_store(desk.spending())
    return models.SpendingOut(
        budget=None if desk.budget is None else str(desk.budget),
        head=head,
        overruns=service.overruns,
        uses=[
            models.UseOut(
                number=use.number,
                kind=use.kind,
                name=use.name,
                time=use.time,
                epsilon=use.cost.epsilon,
                delta=use.cost.delta,
                cumulative=cumulative,
            )
            for use, cumulative in uses
        ],
    )


def _check_batch(service: Service, request: Request, body: models.Queries) -> None:
    """Refuse more queries than a request may have, and note how much time its reply is allotted.

    Raises:
        RefusedError: too many queries, or too many numbers in them.
    """
    count, limits = len(body.queries), service.limits
    if count > limits.batch:
        raise RefusedError(413, f"a request asks at most {limits.batch:,} queries")
    numbers = sum(query.numbers(service.desk.universe) for query in body.queries)
    if numbers > limits.numbers:
        raise RefusedError(
            413,
            f"these queries are made into {numbers:,} weights and coefficients, a request into at"
            f" most {limits.numbers:,}: ask fewer at once",
        )
    # Sizes are public, and the time for a query of many numbers hardly depends on the graph.
    request.scope.setdefault("state", {})["queries"] = count + numbers // _NUMBERS_OF_A_QUERY


def _spent(total: Cost | None, limit: Budget | None) -> models.Spent:
    """Return what was spent, and the limit."""
    return models.Spent(
        epsilon=total.epsilon if total else 0.0,
        delta=total.delta if total else 0.0,
        cap_epsilon=limit.epsilon if limit else None,
        cap_delta=limit.delta if limit else None,
    )


def _forecast(desk: Desk, body: models.SessionIn) -> dict[str, Any]:
    """Return what a session would cost and guarantee."""
    forecast = desk.forecast(desk.terms_of(body))
    return {
        "epsilon": forecast.cost.epsilon,
        "delta": forecast.cost.delta,
        "guarantee": forecast.guarantee,
        "error": models.finite(forecast.error),
        "warning": forecast.warning,
    }


def _sessions_text(desk: Desk, person: Person) -> Steps[str]:
    """Return the JSON of `SessionsOut`, in steps: it may be long, and others take turns."""
    texts: list[str] = []
    for request in desk.requests.visible_to(person):
        if texts and len(texts) % LISTED_AT_ONCE == 0:
            yield None
        texts.append(_session(desk, request).model_dump_json())
    return f'{{"sessions":[{",".join(texts)}]}}'


def _session(desk: Desk, request: SessionRequest, warning: str | None = None) -> models.SessionOut:
    """Return the status of a session."""
    status = desk.status_of(request)
    forecast = desk.forecast(request.terms)
    facts = dict(vars(request))
    if status is not None:
        facts.update(state=status.state, terms=status.terms.parameters)
    return models.SessionOut(
        **facts,
        name=request.name,
        guarantee=forecast.guarantee if status is None else str(status.terms.guarantee),
        forecast=forecast.error,
        error_bound=desk.error_bound(status),
        answers=status.answers if status else 0,
        corrections=status.corrections if status else 0,
        interruptions=status.interruptions if status else 0,
        queries_left=status.remaining.queries if status else request.terms["queries"],
        updates_left=status.remaining.updates if status else None,
        warning=warning or forecast.warning,
    )


def _length(query: Question) -> int:
    """Return how many numbers other than 0 a query has; 0 for a cut."""
    if isinstance(query, RankOneQuery):
        return sum(int(np.count_nonzero(weights)) for weights in (query.u, query.v))
    return int(np.count_nonzero(query.C)) if isinstance(query, MatrixQuery) else 0


def _item(
    desk: Desk, record: int, query: Question, answer: Answer, most_labels: int | None
) -> models.HistoryItem:
    """Return an answer on the record, with its query.

    Args:
        desk: session service of the graph.
        record: number of the answer's record on the store.
        query: that was answered.
        answer: to the query.
        most_labels: of each set; None for all, and then longer queries are shown, too.
    """
    item = models.HistoryItem(record=record, answer=models.AnswerOut.model_validate(answer))
    if not isinstance(query, CutQuery):  # no sets to show
        is_shown = _length(query) <= (_MOST_SHOWN_NUMBERS if most_labels is None else most_labels)
        plain = query_to_dict(query, desk.universe) if is_shown else None
        return item.model_copy(update={"title": query_title(query, desk.universe), "query": plain})
    sets = {}
    names = ("S",) if query.T is None else ("S", "T")
    masks = query.masks(desk.universe.space)
    for side, (name, mask) in enumerate(zip(names, masks, strict=False)):
        labels = sides_of(desk.universe.space)[side].labels
        sets[name] = models.SetOut(
            labels=[labels[int(row)] for row in mask.nonzero()[0][:most_labels]],
            size=int(mask.sum()),
            group=desk.group_of(mask, side),
        )
    return item.model_copy(update=sets)
