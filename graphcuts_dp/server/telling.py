"""What the API tells, made from what the desk knows. Called on the thread of the store."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from graphcuts_dp.ledger.spending import total_cost
from graphcuts_dp.pairs.graph_queries import Question
from graphcuts_dp.pairs.queries import CutQuery, MatrixQuery, RankOneQuery
from graphcuts_dp.pairs.vertices import Label, VertexSet
from graphcuts_dp.server.approval import Request, forecast
from graphcuts_dp.server.models import SessionIn
from graphcuts_dp.server.people import Person
from graphcuts_dp.server.replies import (
    AnswerOut,
    BudgetOut,
    GraphOut,
    GroupsOut,
    HistoryItem,
    HistoryOut,
    SessionOut,
    Spent,
)
from graphcuts_dp.server.service import Service
from graphcuts_dp.session.query_lines import query_title, query_to_dict, sides

_LINES = 50  # of a transcript, read at once
_SHOWN = 20  # labels of a set in a history
_LONGEST = 1 << 21  # numbers of a query that a history shows
_PAGE = 1 << 18  # after so many a page of a history ends


def told_answers(plain: list[Any]) -> list[AnswerOut]:
    """Answers from plain values."""
    return [AnswerOut(**each) for each in plain]


def told_graph(service: Service) -> GraphOut:
    """What is public about the graph."""
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


def told_budget(service: Service, person: Person) -> BudgetOut:
    """What was spent by all, and what counts against the caps of one person."""
    desk = service.desk
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


def told_forecast(service: Service, asked: SessionIn) -> dict[str, Any]:
    """What a session would cost and promise."""
    desk = service.desk
    found = forecast(desk.terms_of(asked), desk.universe, desk.grid)
    return {
        "epsilon": found.cost.epsilon,
        "delta": found.cost.delta,
        "guarantee": found.guarantee,
        "error": found.error if found.error < float("inf") else None,
        "warning": found.warning,
    }


def told_sessions(service: Service, person: Person) -> list[SessionOut]:
    """Sessions that somebody may see."""
    return [told_session(service, each) for each in service.desk.visible(person)]


def told_session_of(service: Service, person: Person, name: str) -> SessionOut:
    """One of them."""
    return told_session(service, service.desk.readable(person, name))


def opened_session(service: Service, person: Person, asked: SessionIn) -> SessionOut:
    """Ask for a session."""
    request, warning = service.desk.request(person, asked)
    return told_session(service, request, warning)


def told_session(service: Service, request: Request, warning: str | None = None) -> SessionOut:
    """Where a session stands."""
    desk = service.desk
    error = desk.error_bound(request)
    status = desk.on_store(request)
    told = forecast(request.terms, desk.universe, desk.grid)
    state = request.state if status is None else status.state
    parts: dict[str, Any] = {"answers": 0, "corrections": 0, "interruptions": 0}
    left: int | None = request.terms["queries"]
    updates = None
    if status is not None:
        parts = {name: getattr(status, name) for name in parts}
        left, updates = status.remaining.queries, status.remaining.updates
    return SessionOut(
        id=request.id,
        owner=request.owner,
        name=request.name,
        state=state,
        terms=request.terms if status is None else status.terms.parameters,
        guarantee=told.guarantee if status is None else str(status.terms.guarantee),
        forecast=told.error if told.error < float("inf") else None,
        error_bound=error if error is not None and error < float("inf") else None,
        queries_left=left,
        updates_left=updates,
        asked=request.asked,
        note=request.note,
        warning=warning or told.warning,
        **parts,
    )


def told_history(
    service: Service, person: Person, name: str, after: int, limit: int, labels: bool
) -> HistoryOut:
    """Answers on the record."""
    total, found = service.desk.history(person, name, after, limit)
    most = None if labels else _SHOWN
    items, numbers = list[HistoryItem](), 0
    for record, query, answer in found:
        items.append(_item(service, record, query, answer, most))
        numbers += _length(query)
        if numbers > _PAGE:
            break
    return HistoryOut(session=name, total=total, after=after, items=items)


def _length(query: Question) -> int:
    """How many numbers a query is given by; 0 of a cut."""
    if isinstance(query, RankOneQuery):
        return sum(int(np.count_nonzero(each)) for each in (query.u, query.v))
    return int(np.count_nonzero(query.C)) if isinstance(query, MatrixQuery) else 0


def _item(
    service: Service, record: int, query: Question, answer: dict[str, Any], most: int | None
) -> HistoryItem:
    universe = service.desk.universe
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
            answer=AnswerOut(**answer),
        )
    S, T = query.masks(universe.space)

    def some(vertices: VertexSet, mask: Any) -> list[Label]:
        rows = mask.nonzero()[0][:most]
        return [vertices.labels[int(row)] for row in rows]

    return HistoryItem(
        record=record,
        S=some(left, S),
        S_size=int(S.sum()),
        S_group=service.desk.group_of(S, 0),
        T=None if query.T is None else some(right, T),
        T_size=int(T.sum()),
        T_group=None if query.T is None else service.desk.group_of(T, 1),
        answer=AnswerOut(**answer),
    )


def exported(parts: Iterator[str]) -> str:
    """The next lines of a transcript; empty at its end."""
    return "".join(islice(parts, _LINES))
