"""Compute costs and guarantees of sessions before they begin, and check the limits of analysts.

A forecast is made from public numbers alone: the terms of a session, the vertex pairs and the grid
of weights. Claims are the sessions that count against the limits of an analyst. `desk` checks them
before a session is approved, and again before it begins.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

from graphcuts_dp.errors import BudgetError
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.sizes import size_of
from graphcuts_dp.learn.workload import SessionWorkload, Setting
from graphcuts_dp.ledger.opening import Budget
from graphcuts_dp.ledger.uses import total_of
from graphcuts_dp.planning.planner import plan_of
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.filters import CostSums
from graphcuts_dp.privacy.guarantee import delta_warning
from graphcuts_dp.privacy.privacy_unit import PrivacyUnit
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.schema.vertices import sets_in
from graphcuts_dp.server.models import PlanIn
from graphcuts_dp.server.people import Person
from graphcuts_dp.session.terms import SessionTerms

_KEPT_FORECASTS = 1000  # in memory, since some take long
_KEPT_MECHANISMS = 64  # in memory, for bounds on errors


@final
@dataclass(frozen=True)
class Forecast:
    """Cost and guarantee of a session that has not begun.

    Attributes:
        cost: of the whole session.
        guarantee: as text.
        error: largest error of any answer that is guaranteed, in weight, if the guess of the number
            of edges is right.
        warning: a sentence if that is worthless or its delta too large; None otherwise.
    """

    cost: Cost
    guarantee: str
    error: float
    warning: str | None


def forecast(terms: dict[str, Any], universe: Universe, grid: Grid) -> Forecast:
    """Return cost and guarantee of a session of these terms. Reads public numbers alone.

    Args:
        terms: keywords of `open_session`.
        universe: the public vertex pairs.
        grid: of the weights.

    Raises:
        ParameterError: a number out of range, or a method that does not suit the graph.
    """
    resolved_terms = SessionTerms.of(**terms).resolved(universe, grid)
    mechanism = resolved_terms.mechanism(universe, grid)
    count = sum(map(len, sets_in(universe.space)))
    warnings = (
        delta_warning(mechanism.cost.delta, count=count),
        resolved_terms.warning(universe, grid),
    )
    return Forecast(
        cost=mechanism.cost,
        guarantee=str(resolved_terms.guarantee(mechanism, None)),
        error=resolved_terms.expected_error(universe, grid),
        warning="; ".join(filter(None, warnings)) or None,
    )


@final
class Forecasts:
    """Forecasts and plans for sessions on one graph, from its public numbers.

    Args:
        universe: the public vertex pairs.
        grid: of the weights.
        privacy_unit: of all sessions.
    """

    def __init__(self, universe: Universe, grid: Grid, privacy_unit: PrivacyUnit) -> None:
        self._universe = universe
        self._privacy_unit = privacy_unit
        self._forecast: Callable[[str], Forecast] = lru_cache(_KEPT_FORECASTS)(
            lambda text: forecast(json.loads(text), universe, grid)
        )
        self._mechanism: Callable[[str], Any] = lru_cache(_KEPT_MECHANISMS)(
            lambda text: SessionTerms.of(**json.loads(text)).mechanism(universe, grid)
        )

    def of(self, terms: dict[str, Any]) -> Forecast:
        """Return cost and guarantee of a session of these terms, as `forecast` does.

        Raises:
            ParameterError: as there.
        """
        return self._forecast(json.dumps(terms, sort_keys=True))

    def mechanism(self, parameters: dict[str, Any]) -> Any:
        """Return the mechanism of a session that has begun, from its parameters."""
        return self._mechanism(json.dumps(parameters, sort_keys=True))

    def plan(self, question: PlanIn) -> dict[str, Any]:
        """Return what every mechanism would guarantee, see `planning.planner`.

        Iterative releases, which analysts cannot ask for, are left out.

        Raises:
            ParameterError: a number out of range.
        """
        size = size_of(self._universe)
        workload = SessionWorkload(
            queries=question.queries, beta=question.beta, expected_edges=question.edges
        )
        setting = Setting(
            n=size,
            edges=workload.expected(size),
            workload=workload,
            epsilon=question.epsilon,
            delta=question.delta,
            privacy_unit=self._privacy_unit,
        )
        return plan_of(setting, iterative=False).to_dict()


@final
@dataclass(frozen=True)
class Claims:
    """Costs and queries that count against the limits of one analyst.

    Attributes:
        costs: of the sessions that are on the store, and of those that have not begun.
        queries: that all of these guarantee.
        not_begun: how many were approved and are not on the store.
    """

    costs: CostSums
    queries: int
    not_begun: int

    def total(self, limit: Budget | None) -> Cost | None:
        """Return what all of them cost together, see `total_cost`; None if there are none."""
        return total_of(self.costs, limit) if self.costs.count else None

    def beside(self, other: "Claims") -> "Claims":
        """Return these and others together."""
        return Claims(
            self.costs.with_more(other.costs.elements()),
            self.queries + other.queries,
            self.not_begun + other.not_begun,
        )

    def check(self, person: Person, terms: dict[str, Any], cost: Cost) -> None:
        """Refuse a session that the limits of an analyst do not allow beside these.

        Args:
            person: the analyst.
            terms: of the session.
            cost: of the session.

        Raises:
            BudgetError: a limit does not allow it; the message names the limit that would.
        """
        waiting = f" ({self.not_begun} of them approved and not begun)" if self.not_begun else ""
        limit = person.cap
        if limit is not None and not self.costs.allows(
            cost, epsilon=limit.epsilon, delta=limit.delta
        ):
            needed = limit.enlarged_for([*self.costs.elements(), cost])
            missing = " has no delta, and" if cost.delta and not limit.delta else ""
            grant = ""
            if needed is not None:
                grant = (
                    f": it would have to be {needed}, which a curator grants by `graphcuts-dp serve"
                    f" access limits STORE {person.name} --epsilon {needed.epsilon:g} --delta "
                    f"{needed.delta:g}`"
                )
            raise BudgetError(
                f"your limit ({limit}){missing} does not allow this session, which costs "
                f"epsilon = {cost.epsilon:g}, delta = {cost.delta:g}, beside those you have"
                f"{waiting}; nothing was spent{grant}"
            )
        if person.queries is not None and self.queries + terms["queries"] > person.queries:
            left = max(0, person.queries - self.queries)
            needed_queries = self.queries + terms["queries"]
            raise BudgetError(
                f"your limit of {person.queries:,} queries leaves {left:,} beside the sessions you "
                f"have{waiting}; nothing was spent: it would have to be "
                f"{needed_queries:,}, which a curator grants by `graphcuts-dp serve access limits "
                f"STORE {person.name} --queries {needed_queries}`"
            )
