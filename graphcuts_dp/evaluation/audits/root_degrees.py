"""Audit of what a session of mirror descent buys for its norm, with all that it releases beside it.

The calibrations that users choose from give the sum of root degrees a fiftieth of the budget, which
no number of runs tells apart; here it gets a third of epsilon, as do total weight and tests.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.evaluation.audits.base import Audit, Entry, Sampled
from graphcuts_dp.graph.adjacency import BipartiteGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.queries import CutQuery
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.idc.norm_learner import MirrorDescentLearner
from graphcuts_dp.idc.update_bounds import UpdateBound
from graphcuts_dp.interactive.calibrations import Calibration
from graphcuts_dp.interactive.mechanism import OnlineMechanism
from graphcuts_dp.interactive.sparse_vector import OneSidedPair
from graphcuts_dp.interactive.tunings import Tuning
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.value_noise import ValueNoise

_UNIVERSE = Universe(2, 2)
_EDGE = CutQuery([0], [0])
_PAIRS = (
    Neighbours(
        "the first edge of a vertex",
        BipartiteGraph([1], [1], left=2, right=2),
        BipartiteGraph([0, 1], [0, 1], left=2, right=2),
    ),
)


@final
@dataclass(frozen=True, kw_only=True)
class Thirds:
    """A third of epsilon for each thing that is bought, and one for the tests.

    Attributes:
        epsilon: of everything.
        roots: factor of the rate of the noise on a private norm; 1 keeps the promise.
        factor: of all rates.
        queries: promised.
        beta: of intervals.
    """

    epsilon: Fraction
    roots: int = 1
    factor: int = 1
    queries: int = 2
    beta: float = 0.05

    @property
    def name(self) -> str:
        """As users type it."""
        return "thirds"

    @property
    def cost(self) -> Cost:
        """Pure epsilon, whatever happens."""
        return Cost.of_pure(self.epsilon)

    def with_total(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, Calibration]:
        """See `Calibration.with_total`."""
        each = self.epsilon / 3
        norm = sensitivity != Grid().sensitivity  # which has steps of its own; else the total
        rate = each * self.factor * (self.roots if norm else 1)
        return ValueNoise("laplace", rate / sensitivity), 1, Cost.of_pure(each), self

    def tune(self, update_bound: UpdateBound, sensitivity: int) -> Tuning:  # noqa: ARG002
        """See `Calibration.tune`. One update: three instances of (r1 + r2)-DP."""
        rate = self.factor * self.epsilon / 27 / sensitivity
        return Tuning(
            alpha=2.0,
            updates=1,
            queries=self.queries,
            test=OneSidedPair(rate, 2 * rate, Fraction(-sensitivity, 2)),
            error=3,
            value_error=3,
            halts=False,
        )


def _session(calibration: Thirds, source: EntropySource) -> Callable[[BipartiteGraph], FloatVector]:
    """The total, the root degrees, their sum, answers, and which way updates went."""
    mechanism = OnlineMechanism(
        learner=MirrorDescentLearner(_UNIVERSE, norm="2,p"), calibration=calibration, grid=Grid()
    )

    def run(graph: BipartiteGraph) -> FloatVector:
        state, values, moved = mechanism.start(graph, source), [0.0], 0
        bought = [state.total_weight, state.norm_bound or 0.0]
        truth = mechanism.grid.count(_EDGE, graph)
        while not state.stopped:
            state, answer = mechanism.step(state, _EDGE, truth, source)
            values.append(answer.value)
            moved += sum(update.sign for update in answer.updates)
        return np.array([*bought, sum(bought), values[1], values[-1], moved, sum(bought) + moved])

    return run


def _roots_audit(epsilon: float) -> Audit:
    sound = Thirds(epsilon=Fraction(epsilon))
    twins = {
        "root degrees used raw": Thirds(epsilon=Fraction(epsilon), roots=100),
        "an eighth of the noise": Thirds(epsilon=Fraction(epsilon), factor=8),
    }
    return Sampled(
        claim=Claim(epsilon),
        pairs=_PAIRS,
        start=partial(_session, sound),
        twins={name: partial(_session, twin) for name, twin in twins.items()},
        runs=6000,
        least=250,
    )


ENTRIES = (Entry("session: root degrees", _roots_audit, ("session: root degrees",)),)
