"""API v1 for curators: people, tokens, approvals, grants, the audit log, spending."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from fastapi.responses import PlainTextResponse

from graphcuts_dp.ledger.spending import total_cost
from graphcuts_dp.server.access import Check
from graphcuts_dp.server.api import PROBLEMS, After, SessionId
from graphcuts_dp.server.chain import line_of
from graphcuts_dp.server.logs import log_text
from graphcuts_dp.server.models import CapsIn, DecisionIn, GrantIn, PersonIn, PersonName
from graphcuts_dp.server.people import Login, Person
from graphcuts_dp.server.replies import (
    LineOut,
    LogOut,
    PeopleOut,
    PersonOut,
    SessionOut,
    SpendingOut,
    TokenOut,
    UseOut,
)
from graphcuts_dp.server.service import Service
from graphcuts_dp.server.telling import told_session


def make_curating(service: Service, curator: Check) -> APIRouter:
    """The routes; see `server.app`."""
    router = APIRouter(prefix="/v1", responses=PROBLEMS)
    Who = Annotated[Login, Depends(curator)]
    people = service.desk.people

    @router.get("/people")
    async def everybody(who: Who) -> PeopleOut:  # noqa: ARG001
        """Everybody with a token."""
        return await service.at_store(_people, service)

    @router.post("/people", status_code=201)
    async def add(who: Who, asked: PersonIn) -> TokenOut:
        """Make a person; the token is shown this once."""

        def work() -> str:
            return people.add(Person(**asked.model_dump()), by=who.person.name).text

        return TokenOut(name=asked.name, token=await service.at_store(work))

    @router.put("/people/{name}")
    async def change(who: Who, name: PersonName, asked: CapsIn) -> PeopleOut:
        """Change the caps of an analyst, and whether their sessions need approval."""

        def work() -> PeopleOut:
            people.change(Person(name=name, **asked.model_dump()), by=who.person.name)
            return _people(service)

        return await service.at_store(work)

    @router.post("/people/{name}/token", status_code=201)
    async def renew(who: Who, name: PersonName) -> TokenOut:
        """Withdraw all tokens of a person and make another, which is shown this once."""

        def work() -> str:
            return people.renew(name, by=who.person.name).text

        return TokenOut(name=name, token=await service.at_store(work))

    @router.delete("/people/{name}")
    async def revoke(who: Who, name: PersonName) -> PeopleOut:
        """Withdraw all tokens of a person. Answers stay on the record."""

        def work() -> PeopleOut:
            people.revoke(name, by=who.person.name)
            return _people(service)

        return await service.at_store(work)

    _add_rest(router, service, curator)
    return router


def _add_rest(router: APIRouter, service: Service, curator: Check) -> None:
    Who = Annotated[Login, Depends(curator)]
    desk = service.desk
    people = desk.people

    @router.put("/grants")
    async def grant(who: Who, asked: GrantIn) -> PeopleOut:
        """Let one analyst read the answers of another, or no longer."""

        def work() -> PeopleOut:
            people.grant(asked.reader, asked.owner, allowed=asked.allowed, by=who.person.name)
            return _people(service)

        return await service.at_store(work)

    @router.post("/sessions/{name}/decision")
    async def decide(who: Who, name: SessionId, asked: DecisionIn) -> SessionOut:
        """Approve a session that waits, which begins it and spends its cost; or refuse it."""

        def work() -> SessionOut:
            found = desk.decide(who.person, name, approve=asked.approve, note=asked.note)
            return told_session(service, found)

        return await service.at_store(work)

    @router.get("/audit")
    async def audit(
        who: Who,  # noqa: ARG001
        after: After = 0,
        limit: Annotated[int, Query(ge=1, le=1000)] = 200,
    ) -> LogOut:
        """Lines of the audit log, and its head: keep that to verify the log later."""

        def work() -> LogOut:
            lines = [
                LineOut(**line_of(*each)) for each in people.log_lines(after=after, limit=limit)
            ]
            return LogOut(head=str(people.log_head), lines=lines)

        return await service.at_store(work)

    @router.get("/audit/export", response_class=PlainTextResponse)
    async def export(who: Who) -> PlainTextResponse:  # noqa: ARG001
        """The whole audit log, as `graphcuts-dp access verify --file` reads it."""
        text = await service.at_store(log_text, people)
        header = {"Content-Disposition": 'attachment; filename="audit.jsonl"'}
        return PlainTextResponse(text, headers=header)

    @router.get("/spending")
    async def spending(who: Who) -> SpendingOut:  # noqa: ARG001
        """Every use of the graph, in order, and what they have spent."""
        return await service.at_store(_spending, service)


def _people(service: Service) -> PeopleOut:
    people = service.desk.people
    return PeopleOut(
        people=[
            PersonOut(
                name=each.name,
                role=each.role,
                preapproved=each.preapproved,
                epsilon=each.epsilon,
                delta=each.delta,
                queries=each.queries,
                active=each.active,
                reads=sorted(people.owners_read_by(each.name)),
            )
            for each in people.all()
        ]
    )


def _spending(service: Service) -> SpendingOut:
    status, budget = service.desk.status, service.desk.budget
    uses = []
    costs = []
    for each in status.uses:
        costs.append(each.use.cost)
        uses.append(
            UseOut(
                number=each.use.number,
                kind=each.use.kind,
                name=each.use.name,
                time=each.use.time,
                epsilon=each.use.cost.epsilon,
                delta=each.use.cost.delta,
                cumulative=total_cost(costs, budget).epsilon,
            )
        )
    return SpendingOut(budget=status.budget, head=status.head, overruns=service.overruns, uses=uses)
