"""Sessions whose budget is shared equally by what they buy first and their tests, to audit these.

The calibrations that users choose from give each thing that is bought a fiftieth of the budget or
less, which no number of runs tells apart.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self, final

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.learn.bounds import UpdateBound
from graphcuts_dp.learn.calibrations import Calibration, Tuning
from graphcuts_dp.measure.statistics import ROOT_STEPS
from graphcuts_dp.pairs.queries import LinearQuery
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.distributions import ValueNoise
from graphcuts_dp.privacy.noise import EntropySource
from graphcuts_dp.privacy.sparse_vector import OneSidedPair
from graphcuts_dp.session.online import OnlineMechanism, OnlineState


@final
@dataclass(frozen=True, kw_only=True)
class EqualParts(Calibration):
    """The same part of epsilon for each thing that is bought, and one for the tests.

    Attributes:
        epsilon: of everything.
        parts: how many there are: what is bought, the total weight first, and the tests.
        other: the number of a thing that is bought, and its rate beside the budget; None for none.
        factor: of all rates; 1 keeps the promise.
        bought: how many things were.
        queries: promised.
        beta: of intervals.
    """

    epsilon: Fraction
    parts: int
    other: tuple[int, Fraction] | None = None
    factor: int = 1
    bought: int = 0
    queries: int = 2
    beta: float = 0.05

    name = "equal parts"

    @property
    def cost(self) -> Cost:
        """Pure epsilon, whatever happens."""
        return Cost.of_pure(self.epsilon)

    def with_total(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, Self]:
        """See `Calibration.with_total`."""
        each = self.epsilon / self.parts
        rate = each * self.factor
        if self.other is not None and self.bought == self.other[0]:
            rate = self.other[1]
        left = replace(self, bought=self.bought + 1)
        return ValueNoise("laplace", rate / sensitivity), 1, Cost.of_pure(each), left

    def tune(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:  # noqa: ARG002
        """See `Calibration.tune`. One update: three instances of (r1 + r2)-DP."""
        rate = self.factor * self.epsilon / (9 * self.parts) / sensitivity
        return Tuning(
            alpha=2.0,
            updates=1,
            queries=self.queries,
            test=OneSidedPair(rate, 2 * rate, Fraction(-sensitivity, 2)),
            error=3,
            value_error=3,
            halts=False,
        )


def asked_until_it_stops(
    mechanism: OnlineMechanism,
    graph: AnyGraph,
    query: LinearQuery,
    truth: int,
    source: EntropySource,
) -> tuple[OnlineState, list[float], int]:
    """A session that is asked one query again and again.

    Returns:
        Its start, its answers, and which way the hypothesis moved.
    """
    begun = state = mechanism.start(graph, source)
    values, moved = list[float](), 0
    while not state.stopped:
        state, answer = mechanism.step(state, query, truth, source)
        values.append(answer.value)
        moved += sum(update.sign for update in answer.updates)
    return begun, values, moved


def ratio_of_bought(
    mechanism: OnlineMechanism,
    counts: tuple[int, int],
    radius: int,
    steps: int,
    rate: Fraction,
    source: EntropySource,
) -> Callable[[AnyGraph], float]:
    """The log-likelihood ratio of the total and the norm that a session buys first.

    Of neighbours with total weights 1 and 2, so that a session which cuts the total to what there
    can be, at least 1 and at most 4, tells as much of them as the total itself.

    Args:
        mechanism: of such a session.
        counts: of the norm, on the first neighbour and the second, in steps.
        radius: what is added to the noisy count, in steps.
        steps: of the norm that a change by 1 has.
        rate: of the noise of either, for a change by 1 of the total and the sensitivity of the
            count.
        source: of its noise.
    """

    def run(graph: AnyGraph) -> float:
        begun = mechanism.start(graph, source)
        count = round((begun.norm_bound or 0.0) * ROOT_STEPS) - radius
        of_total = abs(begun.total_weight - 2) - abs(begun.total_weight - 1)
        of_norm = abs(count - counts[1]) - abs(count - counts[0])
        return float(rate) * (of_total + of_norm / steps)

    return run


def norm_and_answers(
    mechanism: OnlineMechanism,
    query: LinearQuery,
    count: Callable[[AnyGraph], int],
    source: EntropySource,
) -> Callable[[AnyGraph], FloatVector]:
    """The total, the private norm, their sum, answers, and which way the hypothesis moved."""

    def run(graph: AnyGraph) -> FloatVector:
        begun, values, moved = asked_until_it_stops(mechanism, graph, query, count(graph), source)
        bought = [begun.total_weight, begun.norm_bound or 0.0]
        return np.array([*bought, sum(bought), values[0], values[-1], moved, sum(bought) + moved])

    return run
