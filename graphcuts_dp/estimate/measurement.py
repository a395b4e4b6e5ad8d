"""What a measurement is: a noisy value that was bought of the private graph, and its exact cost."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol, Self, TypeVar, final

from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee
from graphcuts_dp.privacy.protection import EDGE, Protection


class Measurement(Protocol):
    """A frozen value that may be published: it depends on the private graph through noise alone."""

    @property
    def name(self) -> str:
        """As the parts of a guarantee name it: "total", "degrees", "entries" and the like."""

    @property
    def epsilon(self) -> Fraction:
        """What it cost, exactly, for neighbours that differ in one pair."""


M = TypeVar("M")


@final
@dataclass(frozen=True, eq=False)
class Measurements:
    """All that a release knows of the private graph.

    Attributes:
        values: in the order in which they were bought; at most one of each name.
        guarantee: for all of them together.
    """

    values: tuple[Measurement, ...]
    guarantee: PrivacyGuarantee

    def protected(self, protection: Protection, *, epsilon: float | Fraction) -> Self:
        """The same values, with the guarantee for whom they shall protect.

        Args:
            protection: whom; a step of it is what the measurements' own costs are for.
            epsilon: that was asked for, for all steps together.

        Raises:
            BudgetError: they cost more.
        """
        if protection == EDGE:
            return self
        spent = Cost.of_pure(sum((value.epsilon for value in self.values), Fraction(0)))
        cost = protection.cost(spent, epsilon=epsilon)
        return replace(self, guarantee=protection.promise(self.guarantee, cost))

    def find(self, kind: type[M]) -> M | None:
        """The last measurement of a kind, or None if none was bought."""
        return next(iter(self.all_of(kind)[::-1]), None)

    def all_of(self, kind: type[M]) -> tuple[M, ...]:
        """All measurements of a kind, in the order in which they were bought."""
        return tuple(value for value in self.values if isinstance(value, kind))
