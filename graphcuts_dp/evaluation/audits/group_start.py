"""Audit of what a session buys that starts from public groups, with all that it releases beside it.

The calibrations that users choose from give the sums between groups, and how near they are, a
fortieth of the budget each, which no number of runs tells apart; here each gets a quarter of
epsilon, as do total weight and tests.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.evaluation.audits.base import Audit, Entry, Sampled
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.groups import Groups
from graphcuts_dp.graph.queries import CutQuery
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.idc.learners import FriezeKannanLearner
from graphcuts_dp.idc.update_bounds import UpdateBound
from graphcuts_dp.interactive.calibrations import Calibration
from graphcuts_dp.interactive.group_start import GROUPS
from graphcuts_dp.interactive.mechanism import OnlineMechanism
from graphcuts_dp.interactive.sparse_vector import OneSidedPair
from graphcuts_dp.interactive.tunings import Tuning
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.value_noise import ValueNoise

_N = 8
_UNIVERSE = Universe(_N)
_EDGE = CutQuery([0], [1])
_HALVES = Groups(Graph([], [], vertices=_N).vertices, {"half": [0] * 4 + [1] * 4})
# Two halves; the first is full but for the pair that is hidden, the second empty.
_ROWS, _COLUMNS = [0, 0, 1, 1, 2], [2, 3, 2, 3, 3]
_PAIRS = (
    Neighbours(
        "the last pair of a group",
        Graph(_ROWS, _COLUMNS, vertices=_N),
        Graph([0, *_ROWS], [1, *_COLUMNS], vertices=_N),
    ),
)
_SUMS, _NEAR = 1, 2  # that are bought after the total weight, and after that
_NO_NOISE = Fraction(50)  # a rate: noise but for a chance of e^-50


@final
@dataclass(frozen=True, kw_only=True)
class Quarters:
    """A quarter of epsilon for each thing that is bought, and one for the tests.

    Attributes:
        epsilon: of everything.
        other: the number of a thing that is bought, and a rate beside the budget; None for none.
        factor: of all rates; 1 keeps the promise.
        bought: how many things were.
        queries: promised.
        beta: of intervals.
    """

    epsilon: Fraction
    other: tuple[int, Fraction] | None = None
    factor: int = 1
    bought: int = 0
    queries: int = 2
    beta: float = 0.05

    @property
    def name(self) -> str:
        """As users type it."""
        return "quarters"

    @property
    def cost(self) -> Cost:
        """Pure epsilon, whatever happens."""
        return Cost.of_pure(self.epsilon)

    def with_total(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, Calibration]:
        """See `Calibration.with_total`."""
        each = self.epsilon / 4
        rate = each * self.factor
        if self.other is not None and self.bought == self.other[0]:
            rate = self.other[1]
        left = replace(self, bought=self.bought + 1)
        return ValueNoise("laplace", rate / sensitivity), 1, Cost.of_pure(each), left

    def tune(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:  # noqa: ARG002
        """See `Calibration.tune`. One update: three instances of (r1 + r2)-DP."""
        rate = self.factor * self.epsilon / 36 / sensitivity
        return Tuning(
            alpha=2.0,
            updates=1,
            queries=self.queries,
            test=OneSidedPair(rate, 2 * rate, Fraction(-sensitivity, 2)),
            error=3,
            value_error=3,
            halts=False,
        )


def _session(calibration: Quarters, source: EntropySource) -> Callable[[Graph], FloatVector]:
    """All that is bought, weighted sums of it, the first and last answer, and which way it moved.

    The sum of all is what tells most: each number moves by a step of its own noise. How near the
    start is moves down, by as many steps as the coefficient of the cell of the pair has.
    """
    mechanism = OnlineMechanism(
        learner=FriezeKannanLearner(_UNIVERSE),
        calibration=calibration,
        grid=Grid(),
        begins=GROUPS,
        groups=(_HALVES, _HALVES),
    )

    def run(graph: Graph) -> FloatVector:
        state, values, moved = mechanism.start(graph, source), [], 0
        bought = state.bought
        truth = mechanism.grid.count(_EDGE, graph)
        while not state.stopped:
            state, answer = mechanism.step(state, _EDGE, truth, source)
            values.append(answer.value)
            moved += sum(update.sign for update in answer.updates)
        if bought is None:
            raise TypeError("a session that starts from groups has bought sums")
        own = bought.start.coefficients("squares")
        step = max(1, int(np.abs(own).max())) / 1024
        near = bought.gain / step * (-1 if own[0] < 0 else 1)
        first = float(bought.sums[0])
        known = [state.total_weight, first, near]
        sums = [first + near, state.total_weight + first, sum(known), sum(known) + 4 * moved]
        return np.array([*known, *sums, values[0], values[-1], moved, *bought.sums[1:]])

    return run


def _groups_audit(epsilon: float) -> Audit:
    sound = Quarters(epsilon=Fraction(epsilon))
    twins = {
        "start from the true sums": replace(sound, other=(_SUMS, _NO_NOISE)),
        "how near it is used raw": replace(sound, other=(_NEAR, _NO_NOISE)),
        "sums not charged": replace(sound, other=(_SUMS, 4 * sound.epsilon)),
        "an eighth of the noise": replace(sound, factor=8),
    }
    return Sampled(
        claim=Claim(epsilon),
        pairs=_PAIRS,
        start=partial(_session, sound),
        twins={name: partial(_session, twin) for name, twin in twins.items()},
        runs=4000,
        least=1000,
    )


ENTRIES = (Entry("session: start from groups", _groups_audit, ("session: start from groups",)),)
