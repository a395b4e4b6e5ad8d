"""Look up the uses of a server's store, and follow those that begin.

A store may have any number of sessions, and no request reads all of them: the index knows the
number of each session by its name, and has the costs of each analyst added up. It reads a use once,
after it has begun; so what it costs to begin a session does not depend on how many there are. All
of it follows from records of the store, and is made again when a server starts.
"""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import final

from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.opening import Budget, ledger_budget
from graphcuts_dp.ledger.spending import Coverage
from graphcuts_dp.ledger.uses import (
    SESSION,
    Use,
    spent_by_period,
    spent_together,
    total_of,
    use_of,
)
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.filters import CostSums


@final
@dataclass(slots=True)
class AnalystSessions:
    """Sessions of one analyst that are on the store, added up.

    Attributes:
        costs: of the sessions.
        queries: the number of answers that all of them guarantee together.
    """

    costs: CostSums = field(default_factory=CostSums)
    queries: int = 0


@final
@dataclass(frozen=True, slots=True)
class SpentUse:
    """Cost of one use and the periods that it reads, for `spent_together`."""

    coverage: Coverage | None
    cost: Cost


@final
class UseIndex:
    """Index of the uses of a store; every method is called within `Ledger.locked`.

    Args:
        ledger: open.

    Attributes:
        seeded: whether any use is seeded.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._budget: Budget | None = ledger_budget(ledger)
        self._numbers: dict[str, int] = {}
        self._analysts: dict[str, AnalystSessions] = {}
        self._spent: list[SpentUse] = []
        self._distinct: dict[SpentUse, SpentUse] = {}  # one object for uses of the same cost
        self._all_uses = _CostTotal(self._budget)
        # The epsilon of the first uses together, by their number; computed when it is needed.
        self._epsilons = array("d")
        self._first_uses = _CostTotal(self._budget)  # the uses that `_epsilons` covers
        self.seeded: bool = False
        self.update()

    def update(self) -> None:
        """Add the uses that have begun since the last call."""
        for number in range(len(self._spent) + 1, len(self._ledger.uses) + 1):
            use = use_of(self._ledger, number)
            spent_use = SpentUse(use.coverage, use.cost)
            spent_use = self._distinct.setdefault(spent_use, spent_use)
            self._spent.append(spent_use)
            self._all_uses.add(spent_use)
            self.seeded |= use.seed is not None
            if use.kind == SESSION:
                self._numbers[use.name] = number
                analyst = use.name.partition(".")[0]
                sessions = self._analysts.setdefault(analyst, AnalystSessions())
                sessions.costs.add(spent_use.cost)
                sessions.queries += use.parameters["queries"]

    def __len__(self) -> int:
        """Return how many uses there are."""
        return len(self._spent)

    def number(self, session: str) -> int | None:
        """Return the number of a session by its name, "analyst.name"; None if it has not begun."""
        return self._numbers.get(session)

    def use(self, session: str) -> Use | None:
        """Return a session that has begun; None if it has not."""
        number = self.number(session)
        return None if number is None else use_of(self._ledger, number)

    def of(self, analyst: str) -> AnalystSessions:
        """Return the sessions of an analyst."""
        return self._analysts.get(analyst, AnalystSessions())

    @property
    def total(self) -> Cost | None:
        """Return the cost of all uses together, see `spent_together`; None if there are none."""
        return self._all_uses.total_of_first(len(self._spent), self._spent) if self._spent else None

    @property
    def by_period(self) -> dict[str, Cost]:
        """Return what was spent on each period that a use names, see `spent_by_period`."""
        return spent_by_period(self._spent, self._budget) if self._all_uses.has_periods else {}

    def epsilons(self, count: int) -> Sequence[float]:
        """Return the epsilon of the first uses together: of one, two, ... and `count` of them."""
        for number in range(len(self._epsilons), count):
            self._first_uses.add(self._spent[number])
            total = self._first_uses.total_of_first(number + 1, self._spent)
            self._epsilons.append(total.epsilon)
        return self._epsilons[:count]


@final
class _CostTotal:
    """Adds up the costs of uses, one after the other.

    Attributes:
        has_periods: whether a use reads some periods only; then the total needs all uses.
    """

    def __init__(self, budget: Budget | None) -> None:
        self._budget = budget
        self._sums = CostSums()
        self._total: Cost | None = None  # of the uses so far, once it was computed
        self.has_periods = False

    def add(self, use: SpentUse) -> None:
        """Count one more use."""
        self._sums.add(use.cost)
        self.has_periods |= use.coverage is not None
        self._total = None

    def total_of_first(self, count: int, uses: Sequence[SpentUse]) -> Cost:
        """Return the cost of the added uses together.

        Args:
            count: the number of added uses.
            uses: a sequence that begins with them.
        """
        if self._total is None:
            budget = self._budget
            self._total = (
                spent_together(uses[:count], budget)
                if self.has_periods
                else total_of(self._sums, budget)
            )
        return self._total
