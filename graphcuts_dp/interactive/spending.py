"""What all sessions on one graph cost together, and whether a budget allows one more."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy.composition import Cost, compose
from graphcuts_dp.privacy.guarantee import exact_epsilon

_SLACK = Fraction(1, 10**12)  # 0.1 + 0.2 is more than 0.3 as floats; budgets are read to 12 digits


@final
@dataclass(frozen=True)
class Budget:
    """The most that all sessions on a graph may cost together.

    Attributes:
        epsilon: > 0.
        delta: in [0, 1).

    Raises:
        ParameterError: a number out of range.
    """

    epsilon: float
    delta: float = 0.0

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
        if not isinstance(given, tuple):
            return cls(given)
        if len(given) != 2:
            raise ParameterError("a budget is epsilon, or a pair (epsilon, delta)")
        return cls(*given)

    def allows(self, costs: Sequence[Cost]) -> bool:
        """Whether some valid bound on the sum stays within the budget."""
        most = Fraction(self.epsilon) * (1 + _SLACK)
        delta = self.delta * float(1 + _SLACK)
        plain = sum((_exact(cost) for cost in costs), Fraction(0))
        if plain <= most and sum(cost.delta for cost in costs if cost.pure is None) <= delta:
            return True
        try:
            return compose(costs, delta=self.delta).epsilon <= most
        except ParameterError:  # no bound for so small a delta
            return False

    def __str__(self) -> str:
        return f"epsilon = {self.epsilon:g}" + (f", delta = {self.delta:g}" if self.delta else "")


def total_cost(costs: Sequence[Cost]) -> Cost:
    """The smallest valid bound on the sum of at least one cost.

    For the largest delta that any of them has, if there is a bound for that, else for the sum.
    """
    if len(costs) == 1:
        return costs[0]
    try:
        return compose(costs, delta=max(cost.delta for cost in costs))
    except ParameterError:
        return compose(costs, delta=sum(cost.delta for cost in costs))


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


def _exact(cost: Cost) -> Fraction:
    return Fraction(cost.epsilon) if cost.pure is None else cost.pure
