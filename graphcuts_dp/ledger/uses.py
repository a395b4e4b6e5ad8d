"""Uses of the private data: each is recorded with its whole cost before it draws noise.

**Periods.** A use may read some periods only, as when each month's table is released once the month
is over. The spending on a period is the cost of all uses that read it together; uses that read
everything count for every period. The budget limits the spending on each period.

**Theorem.** Let private data be one part for each period, and let neighbours differ in one part
only. Each use is begun with a cost and a set of periods, both chosen after seeing what the others
have shown; what it shows depends on the parts of these periods, on its own noise, and on what was
shown and asked before. If for every period the uses that read it, in the order in which they were
begun, have costs that `Budget.allows`, then everything together is (epsilon, delta)-DP.

Proof. Fix neighbours that differ in the part of q. Uses that do not read q, sessions among them, do
the same on both: let them, and whoever chooses, be one adversary that knows all other parts and
tosses its own coins. With its coins fixed, it begins uses that read q, side by side, in a tree of
which every path is admitted: whether a use is refused follows from costs and periods, which are
public. So the theorem of `privacy.filters` holds: P(S) <= e^epsilon Q(S) + delta for every
event S, with the coins. The coins have the same distribution on both sides, and the mean over them
keeps the inequality. (If the least of several bounds admits a use that spends all of the budget of
q, that bound may depend on earlier uses of other periods: with the coins fixed, it is fixed.)

It needs neighbours that differ in one period (`PrivacyGuarantee.differs_within`):

- one row, added or removed. A row that moves to another period is two changes, as everywhere;
- one pair of vertices, present or not in one period;
- all rows of one user in one period, where the bound on users holds for each period by itself.

It does not hold for a user with all rows of all periods, whatever bound each use has, nor for
edges or vertices of a graph without periods: they differ in every part, so twelve months cost them
twelve times. Such uses count for every period, whichever they read. For a user in one period, all
rows of all periods are as many changes as there are periods: `in_all_periods` returns that sum.

Months of a column contain days of the same column. If neighbours differ in one month, a use that
reads a day counts for its month. Other names of periods are comparable only within one column: two
names are two values of that column, and no row has both.
"""

import getpass
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, final

from graphcuts_dp._version import __version__
from graphcuts_dp.errors import BudgetError, LedgerError, ParameterError
from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.ledger.opening import (
    Budget,
    Store,
    ledger_budget,
)
from graphcuts_dp.ledger.plain_values import check_intact, from_plain, plain
from graphcuts_dp.ledger.records import Kind
from graphcuts_dp.ledger.spending import Coverage, PeriodPath, SpendingTotals, readers_by_period
from graphcuts_dp.privacy.composition import Cost, rounded_up
from graphcuts_dp.privacy.filters import CostSum, CostSums
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.privacy.privacy_unit import option_of_stated
from graphcuts_dp.schema.periods import around

SESSION = "session"
DISTANCE_SESSION = "distance session"
MADE_BY = f"graphcuts_dp {__version__}"  # the program that writes a record


@final
@dataclass(frozen=True, kw_only=True)
class Use:
    """One use of the private data, as its BEGIN record describes it.

    All of it is public, except `source`, `command` and `folder`, which name files and are as
    private as the store.

    Attributes:
        number: number of the use in its store, from 1.
        kind: "session", "release", "distances", ...
        name: of a session or series, unique in a ledger; empty for other uses.
        parameters: of the mechanism, plain values.
        cost: of all that it measures.
        guarantee: for all that it measures.
        source: how to read the data again; empty if that is not known.
        reading: of a session, the choices in reading its data, see `opening.reading_of`.
        named_columns: for a table of rows, pairs of a role and the column that was named for it,
            see `opening.rows_read`; empty for graphs, and for uses of earlier versions.
        on_bad: for a table of rows, "skip" if rows that could not be used were left out, else
            "refuse"; empty for graphs, and for uses of earlier versions.
        periods: labels of the finest declared periods that it reads; None if it may read all data.
        column: name of the column with the period of a row.
        inputs: digest of its public inputs, see `public_digest`; empty if there were none.
        time: when it began, in UTC, in ISO 8601.
        user: name of the account of the operating system that began it.
        made_by: name and version of the program that began it.
        purpose: what it is for, as stated; empty if nothing was stated.
        author: who released it, as stated; empty if nothing was stated.
        separate_budget: why the data have a separate budget here, although they were charged to
            another store, too; empty if they were not.
        command: words of the command line that began it; empty outside of the command line.
        folder: working folder of that command; empty outside of the command line.
        keeps_first: whether a measurement is stored before anything of it is shown, so that an
            unfinished use may be measured again. False for uses of earlier versions.

    Raises:
        ParameterError: the tuple of periods or a label in it is empty.
    """

    number: int
    kind: str
    name: str
    parameters: dict[str, Any]
    cost: Cost
    guarantee: PrivacyGuarantee
    source: dict[str, Any] = field(repr=False)
    reading: dict[str, Any]
    named_columns: tuple[tuple[str, str], ...] = ()
    on_bad: str = ""
    periods: tuple[str, ...] | None = None
    column: str = ""
    inputs: str = ""
    time: str
    user: str
    made_by: str
    purpose: str = ""
    author: str = ""
    separate_budget: str = ""
    command: tuple[str, ...] = field(default=(), repr=False)
    folder: str = field(default="", repr=False)
    keeps_first: bool = False

    def __post_init__(self) -> None:
        # A use that reads no period would cost nothing.
        has_periods = isinstance(self.periods, tuple) and self.periods and all(self.periods)
        if self.periods is not None and not has_periods:
            raise ParameterError("name the periods that are read, or None where all are")

    @cached_property
    def coverage(self) -> Coverage | None:
        """Return the periods that its cost counts for; None for all of them."""
        return Coverage.of(self.periods, self.column, self.guarantee.privacy_unit)

    @property
    def seed(self) -> int | None:
        """Return the seed of the noise, which voids the guarantee; None without one."""
        return self.guarantee.seed


def uses_of(ledger: Ledger) -> list[Use]:
    """Return all uses, in order. Within `Ledger.locked`.

    Raises:
        LedgerError: as `use_of`.
    """
    return [use_of(ledger, number) for number in ledger.uses]


def use_of(ledger: Ledger, number: int) -> Use:
    """Return one use. Within `Ledger.locked`.

    Raises:
        LedgerError: its record is damaged, or another version has written it.
    """
    with check_intact(
        f"the store {ledger.file.path} was written by another version, or is damaged"
    ):
        use: Use = from_plain(Use, ledger.record(ledger.uses[number].begin)[1])
        if use.number != number:
            raise ValueError
        return use


def total_cost(costs: Sequence[Cost], budget: Budget | None = None) -> Cost:
    """Return the cost of uses together, as a valid odometer.

    If the uses stop before this cost exceeds a limit that was fixed beforehand, they are within
    that limit, although each was chosen after seeing the others' answers. With a budget that has a
    delta, the cost is the least epsilon for that delta (`least_epsilon`); otherwise it is the sums
    of the stated numbers. A single use has its own cost.

    Args:
        costs: at least one, in the order in which the uses were begun.
        budget: of the store, fixed when it was created.
    """
    return total_of(CostSums(costs), budget)


def total_of(sums: CostSums, budget: Budget | None = None) -> Cost:
    """Return the cost of uses together from sums of their costs, see `total_cost`."""
    stated_sums = sums.at(None)
    if stated_sums.single is not None:
        return stated_sums.single
    if stated_sums.pure is not None:
        return Cost.of_pure(stated_sums.pure)
    # A store of a version without the filter may hold more than the filter admits. Then the sums of
    # the stated numbers are the cost.
    delta = 0.0 if budget is None else budget.delta
    if budget is not None and delta and sums.admitted(epsilon=budget.epsilon, delta=delta):
        return Cost(epsilon=sums.least_epsilon(delta=delta), delta=delta)
    return Cost(epsilon=rounded_up(stated_sums.stated), delta=rounded_up(stated_sums.deltas))


class CountedUse(Protocol):
    """The part of a `Use` that adding up costs needs."""

    @property
    def coverage(self) -> Coverage | None:
        """Return the periods that its cost counts for; None for all of them."""

    @property
    def cost(self) -> Cost:
        """Return the cost of all that it measures."""


def spent_together(uses: Sequence[CountedUse], budget: Budget | None = None) -> Cost:
    """Return the largest cost of uses on any one period in which neighbours may differ.

    Args:
        uses: at least one, in the order in which they were begun.
        budget: as for `total_cost`.
    """
    return _largest(_cost_by_period(uses, budget).values())


def _largest(alternatives: Iterable[Cost]) -> Cost:
    """Return the least cost that is at least each of these."""
    costs = list(dict.fromkeys(alternatives))
    if len(costs) == 1:
        return costs[0]
    pure = [cost.pure for cost in costs if cost.pure is not None]
    if len(pure) == len(costs):
        return Cost.of_pure(max(pure))
    return Cost(
        epsilon=max(cost.epsilon for cost in costs), delta=max(cost.delta for cost in costs)
    )


def _cost_by_period(
    uses: Sequence[CountedUse], budget: Budget | None, period: PeriodPath = ()
) -> dict[PeriodPath, Cost]:
    """Return the cost of each set of `readers_by_period` that is not empty, by period."""
    readers = readers_by_period([use.coverage for use in uses], period)
    cost_of_set = {
        indices: total_cost([uses[index].cost for index in indices], budget)
        for indices in dict.fromkeys(readers.values())
        if indices
    }
    return {path: cost_of_set[indices] for path, indices in readers.items() if indices}


def spent_by_period(uses: Sequence[CountedUse], budget: Budget | None = None) -> dict[str, Cost]:
    """Return the cost of uses on each period that a use names, in order; see `total_cost`.

    For a period that contains other named ones, it is the largest cost of those.
    """
    costs_within: dict[PeriodPath, list[Cost]] = {}
    totals = _cost_by_period(uses, budget)
    for path, total in totals.items():
        for depth in range(1, len(path) + 1):
            if path[:depth] in totals:
                costs_within.setdefault(path[:depth], []).append(total)
    return {path[-1]: _largest(costs) for path, costs in sorted(costs_within.items())}


def spent_on(uses: Sequence[Use], period: str, budget: Budget | None = None) -> Cost | None:
    """Return the largest cost of uses on a period or a part of it; None if no use reads it.

    Args:
        uses: in the order in which they were begun.
        period: a label such as "2026-03", or "2026", which contains it.
        budget: as for `total_cost`.
    """
    totals = _cost_by_period(uses, budget, around(period))
    return _largest(totals.values()) if totals else None


def in_all_periods(uses: Sequence[Use]) -> Cost | None:
    """Return the cost of uses for neighbours that differ in all periods, once in each of them.

    None if a use may read any number of periods, or if neighbours differ in one row, which is in
    one period.
    """
    coverages = [use.coverage for use in uses]
    if not uses or any(use.guarantee.differs_within == "row" for use in uses):
        return None
    counts = [len(coverage.paths) for coverage in coverages if coverage is not None]
    if len(counts) < len(uses):
        return None
    return total_cost([use.cost.for_group(count) for use, count in zip(uses, counts, strict=True)])


def check_budget(
    budget: Budget | None, before: Sequence[Use], cost: Cost, coverage: Coverage | None = None
) -> None:
    """Check that the budget allows one more use on each of the periods that it reads.

    Args:
        budget: of the store; None allows all uses.
        before: all uses that were begun, in order.
        cost: of the next use.
        coverage: of the next use.

    Raises:
        BudgetError: it would cost too much.
    """
    if budget is None:
        return
    spending = SpendingTotals.under((budget.epsilon, budget.delta))
    spending.add((use.coverage, use.cost) for use in before)
    if not spending.allows(cost, coverage, epsilon=budget.epsilon, delta=budget.delta):
        raise BudgetError(_refusal(budget, before, cost, coverage))


def _refusal(budget: Budget, before: Sequence[Use], cost: Cost, coverage: Coverage | None) -> str:
    """Return the message that names the period without enough budget for a use.

    Arguments as for `check_budget`.
    """
    costs = [*(use.cost for use in before), cost]
    readers = readers_by_period([*(use.coverage for use in before), coverage])
    for path, indices in readers.items():
        costs_on_period = [costs[index] for index in indices]
        if len(before) in indices and not budget.allows(costs_on_period):
            return _refusal_text(budget, costs_on_period, *path[-1:])
    return _refusal_text(budget, costs)


def _refusal_text(budget: Budget, costs: Sequence[Cost], period: str = "") -> str:
    """Return the message that a budget does not allow the last of some uses.

    Args:
        budget: of the store.
        costs: of the uses, in order; the last one is refused.
        period: the period that they read; "" if that is not known, or if they read all data.
    """
    *earlier_costs, cost = costs
    deltas = sum(other.delta for other in costs if other.pure is None)
    hint = (
        f". Uses that share a budget may state deltas of {budget.delta / 2:g} together, "
        "half of the budget's: choose a smaller delta"
        if earlier_costs and deltas > budget.delta / 2
        else ""
    )
    if cost.delta and not budget.delta:
        enlarged = budget.enlarged_for(costs)
        size = "" if enlarged is None else f": it would have to be {enlarged}"
        hint = f"; it has no delta, which this use needs{size}"
    article = "another" if earlier_costs else "a"
    where = f" that reads {period}" if period else ""
    if period and earlier_costs:
        total = total_cost(earlier_costs, budget)
        delta = f", delta = {total.delta:g}" if total.delta else ""
        where += f", on which epsilon = {total.epsilon:.4g}{delta} was spent"
    spent_text = ""
    if earlier_costs and not period:
        spent_text = f"; epsilon = {total_cost(earlier_costs, budget).epsilon:.4g} of it is used up"
    published = "; what is published can still be asked, free of charge" if earlier_costs else ""
    return (
        f"the budget of these data ({budget}) does not allow {article} use of epsilon = "
        f"{cost.epsilon:g}, delta = {cost.delta:g}{where}; nothing was spent"
        f"{spent_text}{published}{hint}"
    )


def check_spending(budget: Budget | None, spending: SpendingTotals, cost: Cost) -> None:
    """Check that the budget allows one more use of all periods, without reading the earlier uses.

    Args:
        budget: of the store; None allows all uses.
        spending: of all uses that were begun.
        cost: of the next use.

    Raises:
        BudgetError: it would cost too much.
    """
    if budget is None:
        return
    if spending.allows(cost, None, epsilon=budget.epsilon, delta=budget.delta):
        return
    earlier = sum(spending.sums.values(), CostSum(order=spending.order))
    total = Cost(epsilon=rounded_up(earlier.stated), delta=rounded_up(earlier.deltas))
    raise BudgetError(_refusal_text(budget, [*([total] if earlier.count else []), cost]))


def check_privacy_unit(ledger: Ledger, guarantee: PrivacyGuarantee) -> None:
    """Check that the privacy unit of a use is that of the store.

    Costs for edges, for ten edges, for a user and for a vertex are costs for different
    neighbours: their sum would guarantee nothing.

    Raises:
        BudgetError: the store has another privacy unit.
    """
    privacy_unit = ledger.header.get("privacy_unit")
    if privacy_unit != guarantee.privacy_unit:
        options = option_of_stated(str(privacy_unit))
        raise BudgetError(
            f"the privacy unit of the store {ledger.file.path} is {privacy_unit}, that of this use"
            f" {guarantee.privacy_unit}, and costs for different neighbours do not add up;"
            f" nothing was spent: choose the privacy unit of the store by {options}, or name a"
            " new store with separate_budget= and a reason: for whoever is in both, what the two"
            " stores spend adds up"
        )


def begin_use(  # noqa: PLR0913  # the fields of a record
    ledger: Ledger,
    *,
    kind: str,
    name: str = "",
    parameters: dict[str, Any],
    cost: Cost,
    guarantee: PrivacyGuarantee,
    source: dict[str, Any] | None = None,
    reading: dict[str, Any] | None = None,
    rows_read: dict[str, Any] | None = None,
    periods: tuple[str, ...] | None = None,
    column: str = "",
    inputs: str = "",
    store: Store | None = None,
) -> Use:
    """Record that a use begins: from then on its whole cost is spent. Within `Ledger.locked`.

    Args:
        ledger: the ledger.
        kind: as in `Use`, like all arguments that are not named here.
        rows_read: its `named_columns` and `on_bad`; None if the data are no table of rows.
        store: states purpose, author and command; None if nothing is stated.

    Raises:
        BudgetError: the budget does not allow it, or the store has another privacy unit.
        LedgerError: the store cannot be written, its periods cannot be compared with these, or the
            working folder of the command was removed.
        ParameterError: the tuple of periods or a label in it is empty.
    """
    spending = ledger.spending
    use = Use(
        number=spending.uses + 1,
        kind=kind,
        name=name,
        parameters=parameters,
        cost=cost,
        guarantee=guarantee,
        source=source or {},
        reading=reading or {},
        **(rows_read or {}),
        periods=periods,
        column="" if periods is None else column,
        inputs=inputs,
        time=time_now(),
        user=_user(),
        made_by=MADE_BY,
        keeps_first=True,
        **({} if store is None else _fields_of_store(store)),
    )
    check_privacy_unit(ledger, guarantee)
    _check_scheme(spending, use.coverage)
    budget = ledger_budget(ledger)
    if budget is not None and not spending.allows(
        cost, use.coverage, epsilon=budget.epsilon, delta=budget.delta
    ):
        check_budget(budget, uses_of(ledger), cost, use.coverage)  # its error has the reason
    with ledger.writing() as entries:
        entries.add(Kind.BEGIN, use.number, plain(use))
    return use


def _user() -> str:
    """Return the name of the user of the operating system, or a number if the user has no name."""
    try:
        return getpass.getuser()
    except (ImportError, KeyError, OSError):  # a container whose user has no name
        return f"uid {os.getuid()}" if hasattr(os, "getuid") else "unknown"


def _fields_of_store(store: Store) -> dict[str, Any]:
    """Return the fields of a `Use` that its caller states by options of the store.

    Raises:
        LedgerError: as `_working_folder`.
    """
    return {
        "purpose": store.purpose,
        "author": store.author,
        "separate_budget": store.separate_budget,
        "command": store.command,
        "folder": _working_folder() if store.command else "",
    }


def _working_folder() -> str:
    """Return the working folder of this process, in which `resume` runs a command again.

    Raises:
        LedgerError: it was removed, or may not be read.
    """
    try:
        return str(Path.cwd())
    except OSError as problem:
        raise LedgerError(
            f"the working folder cannot be used: {problem.strerror}; nothing was spent: change to "
            "another folder, and repeat the command"
        ) from None


def _check_scheme(spending: SpendingTotals, coverage: Coverage | None) -> None:
    """Check that periods can be compared with those of the earlier uses of a store.

    Raises:
        LedgerError: they come from another column, or their labels are of another kind.
    """
    scheme = spending.scheme
    if coverage is not None and scheme is not None and coverage.scheme != scheme:
        (first_column, first_kind), (column, kind) = scheme, coverage.scheme
        columns = [f" of the column {name!r}" if name else "" for name in (first_column, column)]
        raise LedgerError(
            f"uses of this store read periods by {first_kind}{columns[0]}, this one by "
            f"{kind}{columns[1]},"
            " and nobody knows which of them overlap; nothing was spent: read them as before, or"
            " all periods together"
        )


def time_now() -> str:
    """Return the present time in UTC, in ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
