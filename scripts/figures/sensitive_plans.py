"""Embeddings in which one person's move also moves the points of others: s-sensitive ones."""

from dataclasses import dataclass
from fractions import Fraction
from typing import final

from graphcuts_dp.distances.answers import step_epsilon
from graphcuts_dp.distances.embeddings import L1Embedding
from graphcuts_dp.distances.learner import L1Learner
from graphcuts_dp.distances.locations import HIDDEN, PUBLIC
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, Protect, exact_epsilon
from graphcuts_dp.privacy.level_noise import DistributionPair


@final
@dataclass(frozen=True, kw_only=True)
class SensitivePlan:
    """A plan whose mechanisms run on a list of points made from the people by an s-sensitive map.

    A move of one person changes up to s points of that list: the lists of neighbours are the ends
    of a path of s + 1 lists, each one point's move from the last. So the mechanism costs what it
    costs for a group of s, and each step gets epsilon/s, or rho/s^2.

    Only the points of *people* may depend on where others are. The points of the vertices that are
    asked about are used in the open, so they must be public: the table of `embedding` is made from
    the map alone, and the list of points that people have is a `Locations` on it. No embedding is
    known that gains by this; with s = 1 it is the plan itself.

    Attributes:
        plan: for all vertices at once, or for `InteractiveDistances`.
        sensitivity: s.
        epsilon: what was asked for, for one person's move.
        delta: likewise.

    Source: HR12, Definition 6 and Remark 8.1.
    """

    plan: L1Learner
    sensitivity: int
    epsilon: Fraction
    delta: float

    @property
    def cost(self) -> Cost:
        """What everything costs for one person's move, from the scales of the noise.

        Raises:
            BudgetError: more than was asked for.
        """
        protection = Protect.of_people(self.sensitivity)
        return protection.cost(self.plan.cost, epsilon=self.epsilon, delta=self.delta)

    def guarantee(self, seed: int | None = None) -> PrivacyGuarantee:
        """What is promised to one person.

        Raises:
            BudgetError: as for `cost`.
        """
        cost = self.cost
        return PrivacyGuarantee(
            epsilon=cost.epsilon,
            delta=cost.delta,
            neighbours=f"{HIDDEN}, which moves up to {self.sensitivity:,} points",
            public=PUBLIC,
            seed=seed,
        )


def plan_sensitive(
    embedding: L1Embedding,
    *,
    sensitivity: int,
    people: int,
    queries: int | None,
    epsilon: float | Fraction,
    delta: float = 0.0,
    beta: float = 0.05,
) -> SensitivePlan:
    """Plan for points of which one person's move changes up to s.

    Args:
        embedding: the public table of points.
        sensitivity: s >= 1, proven by whoever makes the points.
        people: as for `L1Learner`.
        queries: likewise.
        epsilon: for one person's move.
        delta: likewise.
        beta: as for `L1Learner`.

    Raises:
        ParameterError: a number out of range, or too little is left for each of the s moves.
    """
    protection, exact = Protect.of_people(sensitivity), exact_epsilon(epsilon)
    noise: DistributionPair = "gaussian" if delta else "laplace"
    each = step_epsilon(noise, protection=protection, epsilon=exact, delta=delta)
    plan = L1Learner(
        embedding=embedding,
        people=people,
        queries=queries,
        epsilon=each,
        delta=delta,
        beta=beta,
    )
    return SensitivePlan(plan=plan, sensitivity=sensitivity, epsilon=exact, delta=delta)
