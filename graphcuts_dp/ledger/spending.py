"""Sums of the costs of the uses of a store, by the periods that they read.

These sums determine whether a store admits one more use. `SpendingTotals` has one `CostSum` for
each `Coverage`, which is a set of periods that some uses have read. So the number of sums grows
with the periods of the data, not with the uses, and a checkpoint of a ledger holds all of them (see
`ledger`). The theorem about periods is in `uses`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.filters import CostSum, renyi_order
from graphcuts_dp.privacy.guarantee import time_within
from graphcuts_dp.schema.periods import DATES, around, kind_of

# A period and the coarser periods that contain it, coarsest first, see `schema.periods.around`.
PeriodPath = tuple[str, ...]
_ANY_TIME: PeriodPath = ()


@final
@dataclass(frozen=True)
class Coverage:
    """The periods that the cost of a use counts for.

    Attributes:
        scheme: name of the column with the period of a row, and the kind of the labels.
        paths: the periods, each as a `PeriodPath`.
    """

    scheme: tuple[str, str]
    paths: frozenset[PeriodPath]

    @classmethod
    def of(cls, periods: Sequence[str] | None, column: str, privacy_unit: str) -> "Coverage | None":
        """Return the periods that a use counts for; None if it counts for every period.

        If neighbours may differ in all of a month, a day counts for its month.

        Args:
            periods: labels of the periods that it reads; None if it may read all.
            column: name of the column with the period of a row.
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

    def contains(self, period: PeriodPath) -> bool:
        """Return whether a period is one of these periods, or lies in one of them."""
        return any(period[:depth] in self.paths for depth in range(1, len(period) + 1))


def readers_by_period(
    coverages: Sequence[Coverage | None], period: PeriodPath = _ANY_TIME
) -> dict[PeriodPath, tuple[int, ...]]:
    """Return, for each period that a coverage names, the indices of all coverages that contain it.

    The results are all sets of uses that may read the same row. A row either lies in a smallest
    named period, which the same coverages contain as contain the row; or it lies in no named
    period, and only uses that read everything may read it (key `_ANY_TIME`). Uses of another scheme
    than the first one may read any row.

    Args:
        coverages: of uses, or of sums of uses with the same coverage.
        period: restricts the result to this period and those within it, and replaces `_ANY_TIME`.
    """
    scheme = next((coverage.scheme for coverage in coverages if coverage is not None), None)
    comparable = [
        coverage if coverage is not None and coverage.scheme == scheme else None
        for coverage in coverages
    ]
    named_paths = sorted(
        {path for coverage in comparable if coverage is not None for path in coverage.paths}
    )
    return {
        path: tuple(
            index
            for index, coverage in enumerate(comparable)
            if coverage is None or coverage.contains(path)
        )
        for path in [*(path for path in named_paths if path[: len(period)] == period), period]
    }


@final
@dataclass
class SpendingTotals:
    """The costs of all uses of a store, added up.

    Attributes:
        order: Renyi order of its budget, see `filters.renyi_order`; None if it has no delta.
        uses: number of uses.
        sums: sums of their costs, by coverage, in the order of the first use of each coverage.
    """

    order: float | None = None
    uses: int = 0
    sums: dict[Coverage | None, CostSum] = field(default_factory=dict)

    @classmethod
    def under(cls, budget: tuple[float, float] | None) -> "SpendingTotals":
        """Return totals without any use.

        Args:
            budget: epsilon and delta of the store; None if it has no budget.
        """
        return cls(renyi_order(*budget) if budget is not None and 0 < budget[1] < 1 else None)

    def add(self, costs: Iterable[tuple[Coverage | None, Cost]]) -> None:
        """Add further uses.

        Args:
            costs: coverage and cost of each use.
        """
        for coverage, cost in costs:
            earlier = self.sums.get(coverage, CostSum(order=self.order))
            self.sums[coverage] = earlier + CostSum.of([cost], self.order)
            self.uses += 1

    def allows(
        self, cost: Cost, coverage: Coverage | None, *, epsilon: float, delta: float
    ) -> bool:
        """Return whether one more use stays within a budget on each period that it reads.

        Args:
            cost: of the use.
            coverage: of the use.
            epsilon: of the budget.
            delta: of the budget.

        Privacy:
            The theorem of `uses`, with `filters.admits` on each set of uses that reads a period.
        """
        sums = [*self.sums.values(), CostSum.of([cost], self.order)]
        readers = set(readers_by_period([*self.sums, coverage]).values())
        return all(
            sum((sums[index] for index in indices), CostSum(order=self.order)).admitted(
                epsilon=epsilon, delta=delta
            )
            for indices in readers
            if len(sums) - 1 in indices
        )

    @property
    def scheme(self) -> tuple[str, str] | None:
        """Return the scheme of the first use that reads some periods; None if there is none."""
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
        """Return the totals that `to_dict` described.

        Raises:
            LookupError, TypeError, ValueError, ArithmeticError, AttributeError: `to_dict` has not
                written these values.
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
        """Return whether two totals of the same uses are the same, up to rounding.

        Divergences are floats, which other machines may round differently.
        """
        same_size = (self.uses, list(self.sums)) == (other.uses, list(other.sums))
        return same_size and all(
            cost_sum.agrees(other_sum)
            for cost_sum, other_sum in zip(self.sums.values(), other.sums.values(), strict=True)
        )
