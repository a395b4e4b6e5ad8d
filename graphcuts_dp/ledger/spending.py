"""What all uses of one private data set cost together, and whether a budget allows one more."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.options import PRIVACY, option
from graphcuts_dp.privacy.composition import (
    Cost,
    admits,
    as_stored,
    exact,
    least_epsilon,
    rounded_up,
)
from graphcuts_dp.privacy.guarantee import exact_epsilon


@final
@dataclass(frozen=True)
class Budget:
    """The most that all uses of a graph may cost together.

    Raises:
        ParameterError: a number out of range.
    """

    epsilon: float = option(help="Cap on epsilon.", group=PRIVACY)
    delta: float = option(0.0, help="Cap on delta.", group=PRIVACY)

    def __post_init__(self) -> None:
        exact_epsilon(self.epsilon)
        if isinstance(self.delta, bool) or not isinstance(self.delta, int | float):
            raise ParameterError("a budget is epsilon, or a pair (epsilon, delta)")
        if not 0 <= self.delta < 1:
            raise ParameterError(f"delta must be at least 0 and below 1, not {self.delta}")

    @classmethod
    def of(cls, given: "float | tuple[float, float] | Budget") -> "Budget":
        """A budget from a number or a pair.

        Raises:
            ParameterError: neither.
        """
        if isinstance(given, Budget):
            return given
        numbers = given if isinstance(given, tuple) else (given,)
        if len(numbers) not in (1, 2):
            raise ParameterError("a budget is epsilon, or a pair (epsilon, delta)")
        return cls(*(as_stored(number) for number in numbers))

    def allows(self, costs: Sequence[Cost]) -> bool:
        """Whether uses of these costs, each chosen after seeing the others' answers, fit in.

        Args:
            costs: in the order in which the uses were begun.

        Guarantee: all uses that this rule admits are (epsilon, delta)-DP together, also when
        their parameters are chosen adaptively and their queries interleave: see `admits`.
        """
        return admits(costs, epsilon=self.epsilon, delta=self.delta)

    def __str__(self) -> str:
        return f"epsilon = {self.epsilon:g}" + (f", delta = {self.delta:g}" if self.delta else "")


def total_cost(costs: Sequence[Cost], budget: Budget | None = None) -> Cost:
    """What at least one use cost together, as a valid odometer.

    Whoever stops before it passes numbers fixed beforehand is within these, though each was
    chosen after seeing the others' answers. With a budget that has a delta: the least epsilon for
    that delta (`least_epsilon`). Else the sums of the stated numbers; one use is its own cost.

    Args:
        costs: in the order in which the uses were begun.
        budget: of the store, fixed when it was made.
    """
    if len(costs) == 1:
        return costs[0]
    pure = [cost.pure for cost in costs if cost.pure is not None]
    if len(pure) == len(costs):
        return Cost.of_pure(sum(pure, Fraction(0)))
    # A store from before the filter may hold more than it would admit: then the plain sums.
    if budget is not None and budget.delta and budget.allows(costs):
        return Cost(epsilon=least_epsilon(costs, delta=budget.delta), delta=budget.delta)
    return Cost(
        epsilon=rounded_up(sum((exact(cost) for cost in costs), Fraction(0))),
        delta=rounded_up(sum((Fraction(cost.delta) for cost in costs), Fraction(0))),
    )


def cost_to_dict(cost: Cost) -> dict[str, Any]:
    """Plain values; exact."""
    pure = None if cost.pure is None else [cost.pure.numerator, cost.pure.denominator]
    return {"epsilon": cost.epsilon, "delta": cost.delta, "rho": cost.rho, "pure": pure}


def cost_from_dict(values: dict[str, Any]) -> Cost:
    """The cost that `cost_to_dict` made these values of."""
    pure = values["pure"]
    return Cost(
        epsilon=values["epsilon"],
        delta=values["delta"],
        rho=values["rho"],
        pure=None if pure is None else Fraction(*pure),
    )
