"""Audit of the root degrees that mirror descent buys, with all that a session releases."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.evaluation.audits.base import Audit, Entry, Sampled
from graphcuts_dp.evaluation.audits.equal_parts import EqualParts, norm_and_answers
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.queries import CutQuery
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.idc.norm_learner import MirrorDescentLearner
from graphcuts_dp.interactive.mechanism import OnlineMechanism
from graphcuts_dp.privacy.entropy import EntropySource

_UNIVERSE = Universe(2, 2)
_EDGE = CutQuery([0], [0])
_PAIRS = (
    Neighbours(
        "the first edge of a vertex",
        BipartiteGraph([1], [1], left=2, right=2),
        BipartiteGraph([0, 1], [0, 1], left=2, right=2),
    ),
)


def _session(calibration: EqualParts, source: EntropySource) -> Callable[[AnyGraph], FloatVector]:
    mechanism = OnlineMechanism(
        learner=MirrorDescentLearner(_UNIVERSE, norm="2,p"), calibration=calibration, grid=Grid()
    )
    return norm_and_answers(
        mechanism, _EDGE, lambda graph: mechanism.grid.count(_EDGE, graph), source
    )


def _roots_audit(epsilon: float) -> Audit:
    sound = EqualParts(epsilon=Fraction(epsilon), parts=3)
    twins = {
        "root degrees used raw": replace(sound, other=(1, 100 * sound.epsilon / 3)),
        "an eighth of the noise": replace(sound, factor=8),
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
