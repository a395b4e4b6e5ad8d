"""Sums of what the uses of a store cost, by the periods that they read.

A store admits one more use by sums alone. `SpendingTotals` keeps them: one `CostSum` for each
`Coverage`, which is a set of periods that some uses have read. So their number grows with the
periods of the data, not with the uses, and a checkpoint of a ledger holds all of them (see
`ledger`). The theorem about periods is in `uses`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.filters import CostSum, renyi_order
from graphcuts_dp.privacy.guarantee import time_within
from graphcuts_dp.schema.periods import DATES, around, kind_of

PeriodPath = tuple[str, ...]  # a period after the coarser ones that hold it, see `periods.around`
_ANY_TIME: PeriodPath = ()


@final
@dataclass(frozen=True)
class Coverage:
    """The periods that the cost of a use counts for.

    Attributes:
        scheme: the column of the rows that tells periods, and the kind of their labels.
        paths: the periods, each after those that hold it.
    """

    scheme: tuple[str, str]
    paths: frozenset[PeriodPath]

    @classmethod
    def of(cls, periods: Sequence[str] | None, column: str, privacy_unit: str) -> "Coverage | None":
        """Return what a use of these periods counts for; None: for every period.

        Where neighbours differ in all of a month, a day counts for its month.

        Args:
            periods: labels; None for all.
            column: that tells the period of a row.
            privacy_unit: of the use, see `PrivacyGuarantee.privacy_unit`.
        """
        unit_of_time = time_within(privacy_unit)
        if periods is None or unit_of_time is None:
            return None
        kinds, paths = set(map(kind_of, periods)), [around(label) for label in periods]
        dates = kinds <= set(DATES)
        if unit_of_time in DATES:
            depth = DATES.index(unit_of_time) + 1
            if not dates or any(len(path) < depth for path in paths):
                return None
            return cls((column, unit_of_time), frozenset(path[:depth] for path in paths))
        if unit_of_time == "period" and len(kinds) > 1:
            return None
        kind = "date" if unit_of_time == "row" else "-".join(kinds)
        return cls((column, kind if dates else "name"), frozenset(paths))

    def holds(self, period: PeriodPath) -> bool:
        """Return True if all of a period lies in one of these."""
        return any(period[:depth] in self.paths for depth in range(1, len(period) + 1))


def readers_by_period(
    coverages: Sequence[Coverage | None], period: PeriodPath = _ANY_TIME
) -> dict[PeriodPath, tuple[int, ...]]:
    """Return the numbers of the coverages that hold each named period, and of those of any time.

    These are all sets of uses that a row may be read by: whatever periods hold the row hold the
    smallest of them, and where none does, the uses that read everything are left. Uses of other
    schemes than the first may read any row.

    Args:
        coverages: of uses, or of sums of uses with the same coverage.
        period: only it and those that it holds are returned; `_ANY_TIME` for all.
    """
    scheme = next((coverage.scheme for coverage in coverages if coverage is not None), None)
    comparable = [
        coverage if coverage is not None and coverage.scheme == scheme else None
        for coverage in coverages
    ]
    named = sorted(
        {path for coverage in comparable if coverage is not None for path in coverage.paths}
    )
    return {
        path: tuple(
            number
            for number, coverage in enumerate(comparable)
            if coverage is None or coverage.holds(path)
        )
        for path in [*(path for path in named if path[: len(period)] == period), period]
    }


@final
@dataclass
class SpendingTotals:
    """The costs of all uses of a store, added up.

    Attributes:
        order: Renyi order of its budget, see `filters.renyi_order`; None if it has no delta.
        uses: how many there are.
        sums: of their costs, by coverage, in the order of the first use of each.
    """

    order: float | None = None
    uses: int = 0
    sums: dict[Coverage | None, CostSum] = field(default_factory=dict)

    @classmethod
    def under(cls, budget: tuple[float, float] | None) -> "SpendingTotals":
        """Return the spending of no use.

        Args:
            budget: epsilon and delta of the store; None if it has no budget.
        """
        return cls(renyi_order(*budget) if budget is not None and 0 < budget[1] < 1 else None)

    def add(self, costs: Iterable[tuple[Coverage | None, Cost]]) -> None:
        """Count further uses, each with its coverage and its cost."""
        for coverage, cost in costs:
            present = self.sums.get(coverage, CostSum(order=self.order))
            self.sums[coverage] = present + CostSum.of([cost], self.order)
            self.uses += 1

    def allows(
        self, cost: Cost, coverage: Coverage | None, *, epsilon: float, delta: float
    ) -> bool:
        """Return True if one more use stays within a budget on each period that it reads.

        Args:
            cost: of the use.
            coverage: of the use.
            epsilon: of the budget.
            delta: of the budget.

        Privacy:
            The theorem of `uses`, with `filters.admits` on each set of uses that reads a period.
        """
        sums = [*self.sums.values(), CostSum.of([cost], self.order)]
        together = set(readers_by_period([*self.sums, coverage]).values())
        return all(
            sum((sums[number] for number in numbers), CostSum(order=self.order)).admitted(
                epsilon=epsilon, delta=delta
            )
            for numbers in together
            if len(sums) - 1 in numbers
        )

    @property
    def scheme(self) -> tuple[str, str] | None:
        """Return the scheme of the first use that reads some periods; None if all read all."""
        return next((coverage.scheme for coverage in self.sums if coverage is not None), None)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for a checkpoint."""
        return {
            "order": self.order,
            "uses": self.uses,
            "sums": [
                {
                    "scheme": None if coverage is None else [*coverage.scheme],
                    "periods": [] if coverage is None else sorted(map(list, coverage.paths)),
                    **cost_sum.to_dict(),
                }
                for coverage, cost_sum in self.sums.items()
            ],
        }

    @classmethod
    def from_dict(cls, stored: dict[str, Any]) -> "SpendingTotals":
        """Read what `to_dict` wrote.

        Raises:
            one of `plain_values.DAMAGED`: it wrote something else.
        """
        sums: dict[Coverage | None, CostSum] = {}
        order = stored["order"]
        for part in stored["sums"]:
            scheme = part["scheme"]
            paths = frozenset(tuple(map(str, path)) for path in part["periods"])
            coverage = None if scheme is None else Coverage((scheme[0], scheme[1]), paths)
            sums[coverage] = CostSum.from_dict(part, order)
        return cls(order, stored["uses"], sums)

    def agrees(self, other: "SpendingTotals") -> bool:
        """Return True if two sums of the same uses are the same, up to rounding.

        Divergences are floats, which other machines may round otherwise.
        """
        same_size = (self.uses, list(self.sums)) == (other.uses, list(other.sums))
        return same_size and all(
            mine.agrees(theirs)
            for mine, theirs in zip(self.sums.values(), other.sums.values(), strict=True)
        )
