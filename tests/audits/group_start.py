"""Audit of what a session buys that starts from public groups, with all that it releases."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.learners import FriezeKannanLearner
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.noise import EntropySource
from graphcuts_dp.session.online import GROUPS, OnlineMechanism
from tests.audits.base import Audit, Entry, Sampled
from tests.audits.equal_parts import EqualParts, asked_until_it_stops

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


def _session(calibration: EqualParts, source: EntropySource) -> Callable[[Graph], FloatVector]:
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
        truth = mechanism.grid.count(_EDGE, graph)
        begun, values, moved = asked_until_it_stops(mechanism, graph, _EDGE, truth, source)
        bought = begun.bought
        if bought is None:
            raise TypeError("a session that starts from groups has bought sums")
        own = bought.start.coefficients("squares")
        step = max(1, int(np.abs(own).max())) / 1024
        near = bought.gain / step * (-1 if own[0] < 0 else 1)
        first = float(bought.sums[0])
        known = [begun.total_weight, first, near]
        sums = [first + near, begun.total_weight + first, sum(known), sum(known) + 4 * moved]
        return np.array([*known, *sums, values[0], values[-1], moved, *bought.sums[1:]])

    return run


def _groups_audit(epsilon: float) -> Audit:
    sound = EqualParts(epsilon=Fraction(epsilon), parts=4)
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
    )


ENTRIES = (Entry("session: start from groups", _groups_audit, ("session: start from groups",)),)
