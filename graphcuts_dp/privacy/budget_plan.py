"""Plans of a privacy budget, as data: the share of each statistic, and the condition for it.

A `BudgetPlan` is a list of steps (`BudgetStep`), written down before any private row is read. Each
step measures one statistic with a *share* of the budget that earlier statistics have left. Some
steps run only if earlier public results meet a `Condition`; a step may also offer several shares,
of which earlier results choose one. A step for a statistic that was measured before *refines* the
measurement: both together get the share of the later step. A plan, its execution and its form in
files are one file, so that no other code computes amounts from shares.

A mechanism executes a plan with a `PlanExecution`, which computes the amount of each statistic. The
cost that the mechanism states comes from the same object: a forecast from `possible_runs`, a
receipt from the steps that `ran`.

Terms used here:

- An *amount* is a part of the budget, an exact fraction in one *currency*: an epsilon, or a rho of
  zero-concentrated privacy. Amounts of statistics add up to the cost of a run.
- A *share* is relative: of what was left when the statistic was first measured. If 1 was left, a
  step of share 1/4 gets 1/4, and a later refinement of share 1/2 raises the statistic to 1/2.
- A *reserved* step has a share of the whole budget, which is set aside before anything is measured.
  The shares of all other steps are of what that leaves.
- A *portion* is the amount of a statistic if the whole budget is 1.
- A *change* is the step between neighbouring data for which mechanisms prove their costs. A privacy
  unit may consist of several changes, its *group size*; amounts are for one change.

Stores and receipts hold plans as `BudgetPlan.to_dict` writes them; its keys must not change. A
`Tabled` object is printed, and shown in notebooks, as the table that its `_card` returns.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Literal, Self, cast

from graphcuts_dp.display import Card, Tabled
from graphcuts_dp.errors import BudgetError
from graphcuts_dp.final_classes import final
from graphcuts_dp.privacy.composition import Cost, rounded_up

Currency = Literal["epsilon", "rho"]
ALL_LEFT = Fraction(1)  # the share of a step that takes all that earlier statistics have left
# A fraction in a file. Without exponents, a short text cannot name a number that fills the memory.
_FRACTION = re.compile(r"[0-9]{1,600}(/[0-9]{1,600})?")
# Limits of plans in files, so that none takes long to read. `_possible_runs` follows every way to
# answer the conditions, so their number is limited most. (Steps with several shares double the
# runs, too, and only `_MOST_LISTED` limits these.)
_MOST_LISTED = 64  # steps, shares and conditions of one list
# Different conditions of one plan, and steps with several shares, together: each doubles its runs.
_MOST_DECISIONS = 12
_LONGEST_TEXT = 10_000  # characters
_LARGEST_AMOUNT = 10**6
_LARGEST_GROUP = 2**40
# Share of a total. A smaller remainder is due to the rounding of floats, and is no part of its own.
_LEAST_PART = Fraction(1, 10**9)
_CACHED = 256  # lists of steps whose runs are kept: the same steps are planned for many budgets


@final
@dataclass(frozen=True)
class Condition:
    """A statement about earlier public results that must be true, or false, for a step to run.

    Attributes:
        name: the statement, such as "the groups are informative".
        holds: True if the statement must be true, False if it must be false.
    """

    name: str
    holds: bool = True

    def __str__(self) -> str:
        return f"if {self.name}" if self.holds else f"unless {self.name}"


@final
@dataclass(frozen=True, kw_only=True)
class BudgetStep:
    """One measurement of a statistic, or its refinement, and its share of the budget.

    A step that refines a statistic is skipped if the statistic would have no more than before.

    Attributes:
        statistic: what is measured, such as "degrees".
        share: in (0, 1], of what the statistics measured before this one have left of the budget;
            or several shares, of which earlier public results choose one.
        noise: name of the distribution of the noise.
        conditions: about results of earlier steps; the step runs if all are met.
        name: of the measurement in receipts; if empty, the statistic.
        reserved: True if the share is of the whole budget and set aside from the start. Such a step
            has one share, and no other step measures its statistic.
    """

    statistic: str
    share: Fraction | tuple[Fraction, ...]
    noise: str
    conditions: tuple[Condition, ...] = ()
    name: str = ""
    reserved: bool = False

    def __post_init__(self) -> None:
        if not self.shares or not all(0 < share <= 1 for share in self.shares):
            raise ValueError(f"shares of {self.statistic} lie in (0, 1]")
        if self.reserved and self.shares[1:]:
            raise ValueError(f"a reserved step has one share, and {self.statistic} has several")

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """All shares that the step may get."""
        return self.share if isinstance(self.share, tuple) else (self.share,)

    @property
    def label(self) -> str:
        """The name of the measurement in receipts: `name`, or the statistic if that is empty."""
        return self.name or self.statistic

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; the shares are a list of fractions, as text."""
        fields = {
            "statistic": self.statistic,
            "name": self.label,
            "share": [str(share) for share in self.shares],
            "distribution": self.noise,
            "conditions": [[condition.name, condition.holds] for condition in self.conditions],
        }
        return fields | ({"reserved": True} if self.reserved else {})

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Raises:
            LookupError, TypeError, ValueError, ZeroDivisionError: it is something else.
        """
        shares = tuple(map(_read_fraction, _read_list(stored["share"])))
        conditions = [
            Condition(_read_text(name), holds=holds is True)
            for name, holds in _read_list(stored["conditions"])
        ]
        name = _read_text(stored["name"])
        return cls(
            statistic=_read_text(stored["statistic"]),
            share=shares if shares[1:] else shares[0],
            noise=_read_text(stored["distribution"]),
            conditions=tuple(conditions),
            name="" if name == stored["statistic"] else name,
            reserved=stored.get("reserved") is True,
        )


@final
@dataclass(frozen=True)
class StepRun:
    """A step that ran.

    Attributes:
        step: index of the step in its plan, from 0.
        share: that it got, one of the shares of the step.
    """

    step: int
    share: Fraction


@final
@dataclass(frozen=True, kw_only=True, repr=False)
class BudgetPlan(Tabled):
    """A plan of how a mechanism spends its budget: its steps, and after a release those that ran.

    Attributes:
        steps: in the order in which they are considered.
        amount: the budget for one change: an exact epsilon, or an exact rho.
        currency: "epsilon" or "rho".
        delta: of (epsilon, delta)-DP, in [0, 1), 0 for a pure epsilon; for a rho the delta in
            (0, 1) for which its cost is stated.
        group_size: number of changes between neighbours. `cost` is for all of them together, by
            group privacy.
        ran: the steps that ran, in order; None before a release.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> release = gc.release_graph(club, epsilon=1.0, mechanism="randomized-response")
        >>> print(release.budget_plan)
        Budget plan: epsilon = 1
        spent on: entries 0.99, squared distance 0.01
        statistic                share             noise  ran
        entries                      1            binary  yes
        squared distance  1/100 of all  discrete Laplace  yes
        A share is of what ...
    """

    steps: tuple[BudgetStep, ...]
    amount: Fraction
    currency: Currency = "epsilon"
    delta: float = 0.0
    group_size: int = 1
    ran: tuple[StepRun, ...] | None = None

    # Read by `ledger`, which stores objects of this class as their `to_dict`, as receipts do.
    stored_as_dict: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.amount < 0 or not self.steps:
            raise ValueError("a plan has an amount of at least 0, and at least one step")
        if len(set(self.steps)) < len(self.steps):
            raise ValueError("two steps of a plan are the same")
        reserved = [step for step in self.steps if step.reserved]
        statistics = [step.statistic for step in self.steps]
        if any(statistics.count(step.statistic) > 1 for step in reserved):
            raise ValueError("a statistic with a reserved step has another step")
        if sum((step.shares[0] for step in reserved), Fraction(0)) > 1:
            raise ValueError("more is reserved than there is")

    @classmethod
    def of_cost(cls, cost: Cost, steps: Sequence[BudgetStep]) -> Self:
        """Return the plan whose steps share a cost, in the currency in which it is proven.

        A cost may have several bounds, which all hold: `pure`, an exact pure epsilon; `rho`, zCDP;
        and `epsilon` with `delta`. The first one of these that is not None is the amount. So the
        currency epsilon has a delta above 0 only if neither `pure` nor `rho` is known.

        Args:
            cost: for one change.
            steps: in order.
        """
        amount, currency = Fraction(cost.epsilon), "epsilon"
        if cost.pure is not None:
            amount = cost.pure
        elif cost.rho is not None:
            amount, currency = Fraction(cost.rho), "rho"
        return cls(
            steps=tuple(steps),
            amount=amount,
            currency=cast(Currency, currency),
            delta=0.0 if cost.pure is not None else cost.delta,
        )

    @classmethod
    def of_one(cls, statistic: str, noise: str, cost: Cost) -> Self:
        """Return the plan that spends a whole cost on one statistic.

        Args:
            statistic: name of what is measured.
            noise: name of its noise.
            cost: what it costs.
        """
        return cls.of_cost(cost, [BudgetStep(statistic=statistic, share=ALL_LEFT, noise=noise)])

    @classmethod
    def of_costs(cls, costs: Mapping[str, Cost], noise: str, cost: Cost) -> Self:
        """Return the plan of statistics whose costs add up to a total cost, in its currency.

        Args:
            costs: of each statistic, in order; all pure and above 0, or all in rho.
            noise: name of the distribution of the noise.
            cost: the total.
        """
        # Each step's share is of what the steps before it left, so that it gets its own amount.
        amounts = [part.pure or Fraction(part.rho or 0.0) for part in costs.values()]
        left, steps = sum(amounts, Fraction(0)), []
        for statistic, amount in zip(costs, amounts, strict=True):
            steps.append(BudgetStep(statistic=statistic, share=amount / left, noise=noise))
            left -= amount
        return cls.of_cost(cost, steps)

    @classmethod
    def of_parts(cls, parts: Sequence[tuple[str, float]]) -> Self:
        """Return the plan that ran according to a receipt of version 0.1.

        Args:
            parts: pairs (name, epsilon) of what epsilon was spent on.
        """
        left = amount = sum((Fraction(epsilon) for _, epsilon in parts), Fraction(0))
        steps = []
        for name, epsilon in parts:
            steps.append(BudgetStep(statistic=name, share=Fraction(epsilon) / left, noise=""))
            left -= Fraction(epsilon)
        runs = tuple(StepRun(index, step.shares[0]) for index, step in enumerate(steps))
        return cls(steps=tuple(steps), amount=amount, ran=runs)

    @property
    def statistics(self) -> tuple[str, ...]:
        """The statistics that the plan can measure, in order."""
        return tuple(dict.fromkeys(step.statistic for step in self.steps))

    @property
    def unreserved(self) -> Fraction:
        """The amount that is not set aside for reserved steps."""
        reserved = (step.shares[0] for step in self.steps if step.reserved)
        return self.amount * (1 - sum(reserved, Fraction(0)))

    @property
    def possible_runs(self) -> tuple["BudgetPlan", ...]:
        """The plan with each list of steps that earlier results may lead to.

        Every combination of conditions that are met or not is included, also combinations that no
        data can cause. If a step offers several shares, only the least and the largest are
        included: the amount of every statistic is monotone in each share, so these two give the
        least and the largest amounts.
        """
        return tuple(replace(self, ran=run) for run in _possible_runs(self.steps))

    @cached_property
    def amounts(self) -> dict[str, Fraction]:
        """The exact amount of each measured statistic, in the order of measuring.

        Raises:
            ValueError: the plan did not run.
        """
        if self.ran is None:
            raise ValueError("only a plan that ran has amounts; see possible_runs")
        execution = PlanExecution(replace(self, ran=None))
        for run in self.ran:  # not by the constructor, which ignores what measured nothing
            if execution.take(self.steps[run.step], run.share) is None:
                raise ValueError("a step that measured nothing did not run")
        return execution.amounts

    def separate_amounts(self, total: Fraction) -> tuple[Fraction, ...]:
        """Return exact amounts that add up to a total, one for each part that is known beforehand.

        Each statistic that every possible run measures with one and the same amount is a part, and
        all others together are one: their amounts are chosen by earlier results. In a composition
        theorem the parts count as mechanisms whose costs are fixed, which theorems about more than
        sums need; the last part is an interactive mechanism, interleaved with the others.

        Args:
            total: for the whole privacy unit, in the currency of the plan; not below the cost.

        Source: Lyu 2022 and Vadhan, Zhang 2023 (interleaved, with interactive ones).
        """
        changes = self.group_size if self.currency == "epsilon" else self.group_size**2
        first, *later_runs = _possible_portions(self.steps)
        parts = [
            portion * self.amount * changes
            for statistic, portion in first.items()
            if all(portions.get(statistic) == portion for portions in later_runs)
        ]
        left = total - sum(parts, Fraction(0))
        if not parts or left > total * _LEAST_PART:
            parts.append(left)
        elif left > 0:  # by rounding
            parts[-1] += left
        return tuple(parts)

    @cached_property
    def names(self) -> dict[str, str]:
        """The name of the measurement of each measured statistic, from its last step that ran."""
        return {
            self.steps[run.step].statistic: self.steps[run.step].label for run in self.ran or ()
        }

    @property
    def spent(self) -> Fraction:
        """The exact cost of the steps that ran; before a release, the largest cost of any run."""
        if self.ran is None:
            return self.amount * max(sum(run.values()) for run in _possible_portions(self.steps))
        return sum(self.amounts.values(), Fraction(0))

    @property
    def cost(self) -> Cost:
        """The cost of `spent`, for data that differ by `group_size` changes."""
        if not self.spent or (self.currency == "epsilon" and not self.delta):
            return Cost.of_pure(self.spent * self.group_size)
        if self.currency == "rho":
            cost = Cost.of_rho(rounded_up(self.spent), delta=self.delta)
            return cost.for_group(self.group_size)
        # An epsilon with a delta, which has neither a pure bound nor a rho.
        cost = Cost(epsilon=rounded_up(self.spent), delta=self.delta).for_group(self.group_size)
        # `for_group` computed its delta. It multiplied an epsilon that was rounded up already; here
        # the exact product is rounded up once.
        return replace(cost, epsilon=rounded_up(self.spent * self.group_size))

    def least(self, statistic: str) -> Fraction:
        """Return the least amount that a statistic gets in any run that measures it.

        Args:
            statistic: name of a statistic of the plan.

        Raises:
            ValueError: no run measures it.
        """
        return self.amount * min(
            run[statistic] for run in _possible_portions(self.steps) if statistic in run
        )

    @property
    def smallest(self) -> Fraction:
        """The smallest amount that any statistic has after any step of any run."""
        return self.amount * _smallest_portion(self.steps)

    def spent_by_statistic(self, epsilon: float) -> tuple[tuple[str, float], ...]:
        """Return pairs of the name and the epsilon of each measurement.

        If the currency is epsilon, that is the amount times the group size; if it is rho, the
        stated epsilon is divided in proportion to the amounts. Empty for a single measurement, and
        before a release.

        Args:
            epsilon: stated for the privacy unit.
        """
        if self.ran is None or len(self.amounts) < 2:
            return ()
        scale = Fraction(self.group_size)
        if self.currency == "rho":
            scale = Fraction(epsilon) / self.spent
        return tuple(
            (self.names[statistic], float(amount * scale))
            for statistic, amount in self.amounts.items()
        )

    def with_certain_runs(self) -> Self:
        """Return the plan after all of its steps, if no result can change which of them run.

        A plan with a condition, or with several shares of a step, is returned unchanged.
        """
        if any(step.conditions or step.shares[1:] for step in self.steps):
            return self
        execution = PlanExecution(self)
        for step in self.steps:
            execution.take(step)
        return replace(self, ran=execution.plan.ran)

    def replayed(self, ran: Sequence[StepRun]) -> Self:
        """Return the plan after these runs of its steps.

        Args:
            ran: the steps that ran, in order.

        Raises:
            BudgetError: they are not steps of this plan in its order, or a step got a share that it
                does not offer.
        """
        indices = [run.step for run in ran]
        in_order = all(before < after for before, after in itertools.pairwise([-1, *indices]))
        if not in_order or any(index >= len(self.steps) for index in indices):
            raise BudgetError("the steps that ran are not steps of this plan, in its order")
        if any(run.share not in self.steps[run.step].shares for run in ran):
            raise BudgetError("a step got a share that its plan does not offer")
        return replace(self, ran=tuple(ran))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; fractions are text, such as "2/25"."""
        ran = None
        if self.ran is not None:
            ran = [{"step": run.step, "share": str(run.share)} for run in self.ran]
        return {
            "amount": str(self.amount),
            "currency": self.currency,
            "delta": self.delta,
            "group_size": self.group_size,
            "steps": [step.to_dict() for step in self.steps],
            "ran": ran,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Args:
            stored: what `to_dict` returned, perhaps of an earlier version.

        Raises:
            LookupError, TypeError, ValueError, ZeroDivisionError: it is something else.
        """
        currency = stored["currency"]
        if currency not in ("epsilon", "rho"):
            raise ValueError("a budget is an epsilon or a rho")
        steps = tuple(BudgetStep.from_dict(step) for step in _read_list(stored["steps"]))
        conditions = {condition.name for step in steps for condition in step.conditions}
        choices = sum(len(step.shares) > 1 for step in steps)
        if len(conditions) + choices > _MOST_DECISIONS:
            raise ValueError("too many conditions, or steps with several shares")
        amount, delta = _read_fraction(stored["amount"]), stored["delta"]
        if amount > _LARGEST_AMOUNT or type(delta) is not float or not 0 <= delta < 1:
            raise ValueError("no amount of a budget")
        group_size = stored["group_size"]
        if type(group_size) is not int or not 1 <= group_size <= _LARGEST_GROUP:
            raise ValueError("no size of a group")
        plan = cls(
            steps=steps, amount=amount, currency=currency, delta=delta, group_size=group_size
        )
        if stored["ran"] is None:
            return plan
        stored_runs = _read_list(stored["ran"])
        if any(type(run["step"]) is not int for run in stored_runs):
            raise ValueError("steps are numbered")
        runs = [StepRun(run["step"], _read_fraction(run["share"])) for run in stored_runs]
        try:
            replayed = plan.replayed(runs)
            if replayed.spent <= replayed.amount:
                return replayed
        except BudgetError as problem:
            raise ValueError(str(problem)) from None
        raise ValueError("more was spent than there was")

    def _card(self) -> Card:
        """Return the table that notebooks and `print` show."""
        runs = {run.step: run for run in self.ran or ()}
        rows = []
        for index, step in enumerate(self.steps):
            run = runs.get(index)
            shares = (run.share,) if run else step.shares
            share = f"{min(shares)} to {max(shares)}" if shares[1:] else str(shares[0])
            share += " of all" if step.reserved else ""
            conditions = " and ".join(map(str, step.conditions))
            state = () if self.ran is None else ("yes" if run else "no",)
            label = f"{step.label}, {conditions}" if conditions else step.label
            rows.append((_printable(label), share, _printable(step.noise), *state))
        columns = ("statistic", "share", "noise", *(() if self.ran is None else ("ran",)))
        spent_on = [
            f"{_printable(self.names[statistic])} {float(amount):.4g}"
            for statistic, amount in (self.amounts.items() if self.ran is not None else ())
        ]
        note = "A share is of what the statistics before it have left; a later step for the same "
        note += "statistic refines it, and both together get its share."
        if any(step.reserved for step in self.steps):
            note += " A share of all is set aside first."
        return Card(
            title=f"Budget plan: {self.currency} = {float(self.amount):.4g}{self._scope}",
            facts=[("spent on", ", ".join(spent_on))] if spent_on else [],
            columns=columns,
            rows=rows,
            notes=(note,),
        )

    @property
    def _scope(self) -> str:
        """The delta, and the number of changes if there are several, for the title."""
        delta = f", delta = {self.delta:g}" if self.delta else ""
        changes = f" for each of {self.group_size:,} changes"
        return delta + (changes if self.group_size > 1 else "")

    def __repr__(self) -> str:
        state = "planned" if self.ran is None else f"{len(self.ran)} ran"
        return (
            f"BudgetPlan({self.currency}={float(self.amount):g}, {len(self.steps)} steps, {state})"
        )


@final
class PlanExecution:
    """The execution of a plan: the amount of each statistic, and what is left.

    Args:
        plan: that did not run yet, or only in part: its steps so far are taken again.

    Attributes:
        left: exact rest of the plan's amount.
        amounts: exact amount of each measured statistic, in the order of measuring.
    """

    def __init__(self, plan: BudgetPlan) -> None:
        self._plan = replace(plan, ran=None)
        # What was left when each statistic was first measured. All shares of the statistic, those
        # of refinements included, are of that.
        self._available: dict[str, Fraction] = {}
        self._runs: list[StepRun] = []
        self.left: Fraction = plan.unreserved
        self.amounts: dict[str, Fraction] = {}
        for run in plan.ran or ():
            self.take(plan.steps[run.step], run.share)

    def take(self, step: BudgetStep, share: Fraction | None = None) -> Fraction | None:
        """Spend on a step, and return the amount of its statistic, earlier measurements included.

        Args:
            step: of the plan.
            share: one of its shares; None if there is only one.

        Returns:
            None if the statistic would have no more than before, so that nothing is to be measured.

        Raises:
            BudgetError: the step does not offer the share; or it refines a statistic after another
                one was measured, so that its share would be of an amount that is spent already.
        """
        if share is None and len(step.shares) == 1:
            share = step.shares[0]
        if share is None or share not in step.shares:
            raise BudgetError(f"the plan offers no such share for {step.statistic}")
        if step.reserved:
            if step.statistic in self.amounts:
                return None
            self.amounts[step.statistic] = self._plan.amount * share
            self._runs.append(StepRun(self._plan.steps.index(step), share))
            return self.amounts[step.statistic]
        available = self.available(step.statistic)
        earlier_amount = self.amounts.get(step.statistic, Fraction(0))
        amount = available * share
        if amount <= earlier_amount:
            return None
        if earlier_amount:
            last_measured = list(self.amounts)[-1]
            if last_measured != step.statistic:
                raise BudgetError(f"{step.statistic} cannot be refined after other measurements")
        self._available[step.statistic] = available
        self.amounts[step.statistic] = amount
        # Of a refinement, too: `amount` includes the earlier measurement.
        self.left = available - amount
        self._runs.append(StepRun(self._plan.steps.index(step), share))
        return amount

    def available(self, statistic: str) -> Fraction:
        """Return the amount that the shares of a statistic are of.

        It is what was left when the statistic was first measured, or is left now if it was not.
        """
        return self._available.get(statistic, self.left)

    @property
    def plan(self) -> BudgetPlan:
        """The plan with the steps that ran so far."""
        return replace(self._plan, ran=tuple(self._runs))


@lru_cache(maxsize=_CACHED)
def _possible_runs(steps: tuple[BudgetStep, ...]) -> tuple[tuple[StepRun, ...], ...]:
    """Return each list of runs that conditions, and the least or largest shares, can lead to."""
    unit_plan = BudgetPlan(steps=steps, amount=Fraction(1))
    distinct_runs: dict[tuple[StepRun, ...], None] = {}
    for met in _met_steps(steps, 0, {}):
        with_choice = [index for index in met if len(steps[index].shares) > 1]
        for extremes in itertools.product((min, max), repeat=len(with_choice)):
            extreme_of = dict(zip(with_choice, extremes, strict=True))
            execution = PlanExecution(unit_plan)
            for index in met:
                shares = steps[index].shares
                share = extreme_of[index](shares) if index in extreme_of else shares[0]
                execution.take(steps[index], share)
            distinct_runs[execution.plan.ran or ()] = None
    return tuple(distinct_runs)


def _met_steps(
    steps: tuple[BudgetStep, ...], start: int, answers: dict[str, bool]
) -> Iterator[tuple[int, ...]]:
    """Yield the indices, from `start` on, of the steps whose conditions are met.

    There is one tuple for each way to answer the conditions that are still open. A condition is
    asked only when a step needs it: the conditions of a step are asked in order, up to the first
    one that fails.

    Args:
        steps: of the plan.
        start: index of the first step to consider.
        answers: by the name of a condition that earlier steps asked: True if the statement holds.
    """
    if start == len(steps):
        yield ()
        return
    conditions = steps[start].conditions
    contradicted = any(
        answers.get(condition.name, condition.holds) is not condition.holds
        for condition in conditions
    )
    if contradicted:
        yield from _met_steps(steps, start + 1, answers)
        return
    open_conditions = [condition for condition in conditions if condition.name not in answers]
    known = dict(answers)
    # Case i: the i-th open condition fails, and those before it are met. The step does not run.
    for condition in open_conditions:
        yield from _met_steps(steps, start + 1, known | {condition.name: not condition.holds})
        known[condition.name] = condition.holds
    # The last case: all are met, and the step runs.
    for later_steps in _met_steps(steps, start + 1, known):
        yield (start, *later_steps)


@lru_cache(maxsize=_CACHED)
def _possible_portions(steps: tuple[BudgetStep, ...]) -> tuple[Mapping[str, Fraction], ...]:
    """Return the portion of the budget that each statistic gets, for each possible run."""
    unit_plan = BudgetPlan(steps=steps, amount=Fraction(1))
    return tuple(replace(unit_plan, ran=run).amounts for run in _possible_runs(steps))


@lru_cache(maxsize=_CACHED)
def _smallest_portion(steps: tuple[BudgetStep, ...]) -> Fraction:
    """Return the smallest portion of the budget that a statistic has after any step of any run."""
    unit_plan = BudgetPlan(steps=steps, amount=Fraction(1))
    portions = []
    for runs in _possible_runs(steps):
        execution = PlanExecution(unit_plan)
        for run in runs:
            step = steps[run.step]
            execution.take(step, run.share)
            portions.append(execution.amounts[step.statistic])
    return min(portions)


def _read_list(stored: Any) -> list[Any]:
    """Return a list that is not too long.

    Raises:
        ValueError: it is something else.
    """
    if isinstance(stored, list) and len(stored) <= _MOST_LISTED:
        return stored
    raise ValueError("no list, or a long one")


def _read_text(stored: Any) -> str:
    """Return a text that is not too long.

    Raises:
        ValueError: it is something else.
    """
    if isinstance(stored, str) and len(stored) <= _LONGEST_TEXT:
        return stored
    raise ValueError("no text, or a long one")


def _read_fraction(stored: Any) -> Fraction:
    """Return a fraction that `to_dict` wrote.

    Raises:
        ValueError: it is something else.
        ZeroDivisionError: its denominator is 0.
    """
    if not isinstance(stored, str) or not _FRACTION.fullmatch(stored):
        raise ValueError("no fraction")
    return Fraction(stored)


def _printable(text: str) -> str:
    """Return a text from a file without control characters, which a terminal would obey."""
    return text if text.isprintable() else repr(text)
