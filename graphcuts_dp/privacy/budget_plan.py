"""Plans of a privacy budget, as data: which statistic gets which share of it, and when.

A `BudgetPlan` is written down before any private row is read. A mechanism executes it step by step
with a `PlanExecution`, and what it states of its cost is computed from the plan: forecasts from the
runs that are possible (`BudgetPlan.possible_runs`), receipts and costs from the steps that ran.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Literal, Self, cast, final

from graphcuts_dp.display import Card, Tabled
from graphcuts_dp.errors import BudgetError
from graphcuts_dp.privacy.composition import Cost, rounded_up

Currency = Literal["epsilon", "rho"]
ALL_LEFT = Fraction(1)  # the share of a step that takes all that earlier steps have left
# Fractions in files: exponents would let a short text name a number that fills the memory.
_FRACTION = re.compile(r"[0-9]{1,600}(/[0-9]{1,600})?")
# Of plans in files, so that none takes long to read, or to follow through all of its conditions.
_MOST_LISTED, _MOST_CONDITIONS, _LONGEST = 64, 12, 10_000
_LARGEST_AMOUNT, _LARGEST_GROUP = 10**6, 2**40


@final
@dataclass(frozen=True)
class Condition:
    """What earlier public results must show for a step to run.

    Attributes:
        name: a statement about them, such as "the groups are informative".
        holds: whether the statement must be true; False if it must be false.
    """

    name: str
    holds: bool = True

    def __str__(self) -> str:
        return f"if {self.name}" if self.holds else f"unless {self.name}"


@final
@dataclass(frozen=True, kw_only=True)
class BudgetStep:
    """One measurement, or the refinement of one, and the share of the budget that it gets.

    A step for a statistic that was measured before refines its measurement: both together get the
    share of the later step. If its share is not larger than that already held, it is skipped.

    Attributes:
        statistic: what is measured, such as "degrees".
        share: in (0, 1], of what the statistics measured before it have left of the budget; or
            several shares, of which earlier public results choose one.
        noise: name of the distribution of the noise.
        conditions: all of which must be met; each is about results of earlier steps.
        name: of the measurement in receipts; the statistic if empty.
    """

    statistic: str
    share: Fraction | tuple[Fraction, ...]
    noise: str
    conditions: tuple[Condition, ...] = ()
    name: str = ""

    def __post_init__(self) -> None:
        if not self.shares or not all(0 < share <= 1 for share in self.shares):
            raise ValueError(f"shares of {self.statistic} lie in (0, 1]")

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """All shares that it can get."""
        return self.share if isinstance(self.share, tuple) else (self.share,)

    @property
    def label(self) -> str:
        """The name of its measurement."""
        return self.name or self.statistic

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; a share is a list of fractions, as text."""
        return {
            "statistic": self.statistic,
            "name": self.label,
            "share": [str(share) for share in self.shares],
            "distribution": self.noise,
            "conditions": [[each.name, each.holds] for each in self.conditions],
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Raises:
            LookupError, TypeError, ValueError, ZeroDivisionError: it is something else.
        """
        shares = tuple(map(_fraction, _list(stored["share"])))
        conditions = [
            Condition(_text(name), holds=holds is True)
            for name, holds in _list(stored["conditions"])
        ]
        name = _text(stored["name"])
        return cls(
            statistic=_text(stored["statistic"]),
            share=shares if shares[1:] else shares[0],
            noise=_text(stored["distribution"]),
            conditions=tuple(conditions),
            name="" if name == stored["statistic"] else name,
        )


@final
@dataclass(frozen=True)
class StepRun:
    """A step that ran.

    Attributes:
        step: its place in the plan, from 0.
        share: that it got, one of the shares of the step.
    """

    step: int
    share: Fraction


@final
@dataclass(frozen=True, kw_only=True, repr=False)
class BudgetPlan(Tabled):
    """How a mechanism spends its budget: steps in order, and after a release the steps that ran.

    Attributes:
        steps: in the order in which they are considered.
        amount: the whole budget for neighbours that differ in one privacy unit: an exact epsilon,
            or an exact rho of zero-concentrated privacy.
        currency: which of the two.
        delta: in [0, 1): of (epsilon, delta)-privacy, or for which a cost in rho is stated.
        group_size: the number of privacy units in which neighbours differ.
        ran: the steps that ran, in order; None before a release.

    Examples:
        >>> club = gc.datasets.load("karate")
        >>> release = gc.release_graph(club, epsilon=1.0, mechanism="randomized-response")
        >>> print(release.budget_plan)
        Budget plan: epsilon = 1
        spent on: entries 1
        statistic  share   noise  ran
        entries        1  binary  yes
        A share is of what ...
    """

    steps: tuple[BudgetStep, ...]
    amount: Fraction
    currency: Currency = "epsilon"
    delta: float = 0.0
    group_size: int = 1
    ran: tuple[StepRun, ...] | None = None

    stored_as_dict: ClassVar[bool] = True  # in stores, as in receipts

    def __post_init__(self) -> None:
        if self.amount < 0 or not self.steps:
            raise ValueError("a plan has an amount of at least 0, and at least one step")
        if len(set(self.steps)) < len(self.steps):
            raise ValueError("two steps of a plan are the same")

    @classmethod
    def of_cost(cls, cost: Cost, steps: Sequence[BudgetStep]) -> Self:
        """Return the plan whose steps share a cost, in the currency in which it is proven.

        Args:
            cost: for neighbours that differ in one privacy unit.
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
        """Return the plan that spends a whole cost on one statistic."""
        return cls.of_cost(cost, [BudgetStep(statistic=statistic, share=ALL_LEFT, noise=noise)])

    @classmethod
    def of_costs(cls, costs: Mapping[str, Cost], noise: str, cost: Cost) -> Self:
        """Return the plan of statistics whose costs add up to a cost, in its currency.

        Args:
            costs: of each statistic, in order; all pure, or all in rho.
            noise: name of the distribution of the noise.
            cost: of everything together.
        """
        amounts = [each.pure or Fraction(each.rho or 0.0) for each in costs.values()]
        left, steps = sum(amounts, Fraction(0)), []
        for statistic, amount in zip(costs, amounts, strict=True):
            steps.append(BudgetStep(statistic=statistic, share=amount / left, noise=noise))
            left -= amount
        return cls.of_cost(cost, steps)

    @classmethod
    def of_parts(cls, parts: Sequence[tuple[str, float]]) -> Self:
        """Return the plan of what older receipts state: names and the epsilon of each."""
        left = amount = sum((Fraction(epsilon) for _, epsilon in parts), Fraction(0))
        steps = []
        for name, epsilon in parts:
            steps.append(BudgetStep(statistic=name, share=Fraction(epsilon) / left, noise=""))
            left -= Fraction(epsilon)
        runs = tuple(StepRun(place, step.shares[0]) for place, step in enumerate(steps))
        return cls(steps=tuple(steps), amount=amount, ran=runs)

    @property
    def statistics(self) -> tuple[str, ...]:
        """The statistics that it can measure, in order."""
        return tuple(dict.fromkeys(step.statistic for step in self.steps))

    @property
    def possible_runs(self) -> tuple["BudgetPlan", ...]:
        """The plan with every list of steps that earlier results can lead to.

        Each condition is met or not, independently of the others, so there may be runs that no
        data can cause; there is none that is missing. Of several shares of a step the least and
        the largest stand for all.
        """
        return tuple(replace(self, ran=run) for run in _runs_of(self.steps))

    @cached_property
    def amounts(self) -> dict[str, Fraction]:
        """What each measured statistic got in all, exactly, in the order of measuring.

        Raises:
            ValueError: a plan that did not run.
        """
        if self.ran is None:
            raise ValueError("only a plan that ran has amounts; see possible_runs")
        execution = PlanExecution(replace(self, ran=None))
        for run in self.ran:
            if execution.take(self.steps[run.step], run.share) is None:
                raise ValueError("a step that measured nothing did not run")
        return execution.amounts

    @cached_property
    def names(self) -> dict[str, str]:
        """The name of the measurement of each measured statistic; that of its last step."""
        return {
            self.steps[run.step].statistic: self.steps[run.step].label for run in self.ran or ()
        }

    @property
    def spent(self) -> Fraction:
        """What the steps that ran cost together, exactly; of a plan the most that any run costs."""
        if self.ran is None:
            return self.amount * max(sum(run.values()) for run in _parts_of(self.steps))
        return sum(self.amounts.values(), Fraction(0))

    @property
    def cost(self) -> Cost:
        """The cost of `spent`, for neighbours that differ in `group_size` privacy units."""
        if not self.spent or (self.currency == "epsilon" and not self.delta):
            return Cost.of_pure(self.spent * self.group_size)
        if self.currency == "rho":
            cost = Cost.of_rho(rounded_up(self.spent), delta=self.delta)
            return cost.for_group(self.group_size)
        cost = Cost(epsilon=rounded_up(self.spent), delta=self.delta).for_group(self.group_size)
        return replace(cost, epsilon=rounded_up(self.spent * self.group_size))

    def least(self, statistic: str) -> Fraction:
        """Return the least that a statistic gets in any run that measures it.

        Raises:
            ValueError: no run measures it.
        """
        return self.amount * min(
            run[statistic] for run in _parts_of(self.steps) if statistic in run
        )

    @property
    def smallest(self) -> Fraction:
        """The smallest amount that a statistic has after any step of any run."""
        return self.amount * _smallest_part(self.steps)

    def spent_by_statistic(self, epsilon: float) -> tuple[tuple[str, float], ...]:
        """Return the names of measurements with the epsilon of each.

        Of a pure budget that is the amount times the group size; of one in rho, the stated epsilon
        in proportion to the amounts. Empty for a single measurement, and before a release.

        Args:
            epsilon: stated for the whole privacy unit.
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
        """Return the plan after all its steps, if no result can change which of them run.

        A plan with a condition, or with several shares of a step, is returned as it is.
        """
        if any(step.conditions or step.shares[1:] for step in self.steps):
            return self
        execution = PlanExecution(self)
        for step in self.steps:
            execution.take(step)
        return replace(self, ran=execution.plan.ran)

    def replayed(self, ran: Sequence[StepRun]) -> Self:
        """Return the plan after these steps.

        Raises:
            BudgetError: they are not steps of this plan in its order, each with a share of its own.
        """
        places = [run.step for run in ran]
        in_order = all(before < after for before, after in itertools.pairwise([-1, *places]))
        if not in_order or any(place >= len(self.steps) for place in places):
            raise BudgetError("the steps that ran are not steps of this plan, in its order")
        if any(run.share not in self.steps[run.step].shares for run in ran):
            raise BudgetError("a step got a share that its plan does not offer")
        return replace(self, ran=tuple(ran))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; fractions as text, such as "2/25"."""
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

        Raises:
            LookupError, TypeError, ValueError, ZeroDivisionError: it is something else.
        """
        currency = stored["currency"]
        if currency not in ("epsilon", "rho"):
            raise ValueError("a budget is an epsilon or a rho")
        steps = tuple(BudgetStep.from_dict(step) for step in _list(stored["steps"]))
        if len({each.name for step in steps for each in step.conditions}) > _MOST_CONDITIONS:
            raise ValueError("too many conditions")
        amount, delta, group = _fraction(stored["amount"]), stored["delta"], stored["group_size"]
        if amount > _LARGEST_AMOUNT or type(delta) is not float or not 0 <= delta < 1:
            raise ValueError("no amount of a budget")
        if type(group) is not int or not 1 <= group <= _LARGEST_GROUP:
            raise ValueError("no size of a group")
        plan = cls(steps=steps, amount=amount, currency=currency, delta=delta, group_size=group)
        if stored["ran"] is None:
            return plan
        ran = _list(stored["ran"])
        if any(type(run["step"]) is not int for run in ran):
            raise ValueError("steps are numbered")
        runs = [StepRun(run["step"], _fraction(run["share"])) for run in ran]
        try:
            replayed = plan.replayed(runs)
            if replayed.spent <= replayed.amount:
                return replayed
        except BudgetError as problem:
            raise ValueError(str(problem)) from None
        raise ValueError("more was spent than there was")

    def _card(self) -> Card:
        ran = {run.step: run for run in self.ran or ()}
        rows = []
        for place, step in enumerate(self.steps):
            run = ran.get(place)
            shares = (run.share,) if run else step.shares
            share = f"{min(shares)} to {max(shares)}" if shares[1:] else str(shares[0])
            when = " and ".join(map(str, step.conditions))
            state = () if self.ran is None else ("yes" if run else "no",)
            label = f"{step.label}, {when}" if when else step.label
            rows.append((_shown(label), share, _shown(step.noise), *state))
        columns = ("statistic", "share", "noise", *(() if self.ran is None else ("ran",)))
        parts = [f"{_shown(name)} {float(amount):.4g}" for name, amount in self._shown_amounts()]
        note = "A share is of what the statistics before it have left; a later step for the same "
        note += "statistic refines it, and both together get its share."
        return Card(
            title=f"Budget plan: {self.currency} = {float(self.amount):.4g}{self._scope}",
            facts=[("spent on", ", ".join(parts))] if parts else [],
            columns=columns,
            rows=rows,
            notes=(note,),
        )

    @property
    def _scope(self) -> str:
        """What the amount is for: the delta, and one of several privacy units."""
        delta = f", delta = {self.delta:g}" if self.delta else ""
        units = f" for each of {self.group_size:,} changes together" if self.group_size > 1 else ""
        return delta + units

    def _shown_amounts(self) -> list[tuple[str, Fraction]]:
        if self.ran is None:
            return []
        return [(self.names[statistic], amount) for statistic, amount in self.amounts.items()]

    def __repr__(self) -> str:
        state = "planned" if self.ran is None else f"{len(self.ran)} ran"
        return (
            f"BudgetPlan({self.currency}={float(self.amount):g}, {len(self.steps)} steps, {state})"
        )


@final
class PlanExecution:
    """The execution of a plan: how much each statistic has, and what is left.

    Args:
        plan: that did not run yet.

    Attributes:
        left: of the amount of the plan, exactly.
        amounts: what each measured statistic has in all, in the order of measuring.
    """

    def __init__(self, plan: BudgetPlan) -> None:
        self._plan = plan
        self._available: dict[str, Fraction] = {}  # when a statistic was first measured
        self._ran: list[StepRun] = []
        self.left = plan.amount
        self.amounts: dict[str, Fraction] = {}

    def take(self, step: BudgetStep, share: Fraction | None = None) -> Fraction | None:
        """Spend on a step.

        Args:
            step: of the plan.
            share: one of its shares, where there are several; None for the only one.

        Returns:
            What its statistic has in all, this step included; None if that would be no more than
            it has, so that nothing is to be measured.

        Raises:
            BudgetError: another share than one of the step, or a statistic that is refined after
                another one was measured, so that its share would be of what is spent already.
        """
        share = step.shares[0] if share is None and not step.shares[1:] else share
        if share is None or share not in step.shares:
            raise BudgetError(f"the plan offers no such share for {step.statistic}")
        available = self.available(step.statistic)
        held = self.amounts.get(step.statistic, Fraction(0))
        amount = available * share
        if amount <= held:
            return None
        if held and next(reversed(self.amounts)) != step.statistic:
            raise BudgetError(f"{step.statistic} cannot be refined after other measurements")
        self._available[step.statistic] = available
        self.amounts[step.statistic] = amount
        self.left = available - amount
        self._ran.append(StepRun(self._plan.steps.index(step), share))
        return amount

    def available(self, statistic: str) -> Fraction:
        """Return what was left when a statistic was first measured, of which it gets its share."""
        return self._available.get(statistic, self.left)

    @property
    def plan(self) -> BudgetPlan:
        """The plan with the steps that ran so far."""
        return replace(self._plan, ran=tuple(self._ran))


@lru_cache(maxsize=256)  # the same steps are planned for many budgets
def _runs_of(steps: tuple[BudgetStep, ...]) -> tuple[tuple[StepRun, ...], ...]:
    """Return every list of steps that answers to the conditions can lead to, once each."""
    whole = BudgetPlan(steps=steps, amount=Fraction(1))
    found: dict[tuple[StepRun, ...], None] = {}
    for met in _met_steps(steps, 0, {}):
        chosen = [place for place in met if steps[place].shares[1:]]
        for extremes in itertools.product((min, max), repeat=len(chosen)):
            picks = dict(zip(chosen, extremes, strict=True))
            execution = PlanExecution(whole)
            for place in met:
                step = steps[place]
                execution.take(step, picks.get(place, max)(step.shares))
            found[execution.plan.ran or ()] = None
    return tuple(found)


def _met_steps(
    steps: tuple[BudgetStep, ...], place: int, answers: dict[str, bool]
) -> Iterator[tuple[int, ...]]:
    """Yield the places of the steps from one on whose conditions are met, for all other answers."""
    if place == len(steps):
        yield ()
        return
    conditions = steps[place].conditions
    if all(answers.get(each.name, each.holds) is each.holds for each in conditions):
        open_ones = [each for each in conditions if each.name not in answers]
        known = dict(answers)
        for each in open_ones:  # the first one that is not met
            yield from _met_steps(steps, place + 1, known | {each.name: not each.holds})
            known[each.name] = each.holds
        for rest in _met_steps(steps, place + 1, known):
            yield (place, *rest)
    else:
        yield from _met_steps(steps, place + 1, answers)


@lru_cache(maxsize=256)
def _parts_of(steps: tuple[BudgetStep, ...]) -> tuple[Mapping[str, Fraction], ...]:
    """Return which part of the whole each statistic gets, for each possible run."""
    whole = BudgetPlan(steps=steps, amount=Fraction(1))
    return tuple(replace(whole, ran=run).amounts for run in _runs_of(steps))


@lru_cache(maxsize=256)
def _smallest_part(steps: tuple[BudgetStep, ...]) -> Fraction:
    """Return the smallest part of the whole that a statistic has after any step of any run."""
    whole = BudgetPlan(steps=steps, amount=Fraction(1))
    parts = []
    for run in _runs_of(steps):
        execution = PlanExecution(whole)
        for each in run:
            step = steps[each.step]
            execution.take(step, each.share)
            parts.append(execution.amounts[step.statistic])
    return min(parts)


def _list(stored: Any) -> list[Any]:
    """Read a list that is not too long.

    Raises:
        ValueError: something else.
    """
    if isinstance(stored, list) and len(stored) <= _MOST_LISTED:
        return stored
    raise ValueError("no list, or a long one")


def _text(stored: Any) -> str:
    """Read a text that is not too long.

    Raises:
        ValueError: something else.
    """
    if isinstance(stored, str) and len(stored) <= _LONGEST:
        return stored
    raise ValueError("no text, or a long one")


def _shown(text: str) -> str:
    """Return a text as one line of a terminal may show it: others than users chose it."""
    return text if text.isprintable() else repr(text)


def _fraction(stored: Any) -> Fraction:
    """Read a fraction as `to_dict` writes it.

    Raises:
        ValueError: it is something else.
        ZeroDivisionError: its denominator is 0.
    """
    if not isinstance(stored, str) or not _FRACTION.fullmatch(stored):
        raise ValueError("no fraction")
    return Fraction(stored)
