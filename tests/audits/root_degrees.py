"""Audit of the root degrees that mirror descent buys, with all that a session releases."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.learners import MirrorDescentLearner
from graphcuts_dp.measure.statistics import ROOT_STEPS, root_degrees
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.noise import EntropySource
from graphcuts_dp.session.online import OnlineMechanism
from tests.audits.base import Audit, ByLaw, Entry, Sampled
from tests.audits.equal_parts import EqualParts, norm_and_answers, ratio_of_bought

_SIDE = 2
_UNIVERSE = Universe(_SIDE, _SIDE)
Run = Callable[[AnyGraph], float]
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
    )


def _bought(calibration: EqualParts, rate: Fraction, source: EntropySource) -> Run:
    mechanism = OnlineMechanism(
        learner=MirrorDescentLearner(_UNIVERSE, norm="2,p"), calibration=calibration, grid=Grid()
    )
    pair = _PAIRS[0]
    counts = root_degrees(pair.first, Grid()), root_degrees(pair.second, Grid())
    return ratio_of_bought(mechanism, counts, 1 + _SIDE, ROOT_STEPS, rate, source)


def _bought_audit(epsilon: float) -> Audit:
    """Of what is bought first: two of three parts, of half of epsilon each."""
    rate = Fraction(epsilon) / 2
    sound = EqualParts(epsilon=3 * rate, parts=3)
    half = replace(sound, other=(1, 2 * rate))
    return ByLaw(
        claim=Claim(epsilon),
        pairs=_PAIRS,
        ratio=partial(_bought, sound, rate),
        twins={"half the noise of root degrees": partial(_bought, half, rate)},
        runs=4000,
    )


ENTRIES = (
    Entry(
        "session: root degrees",
        _roots_audit,
        ("session: root degrees",),
        unseen="A third of the budget is for tests that fire as often as not, and each of the "
        "other two parts is seen in the runs only where all of them tell the neighbours apart; "
        "'session: root degrees, by its law' sees what is bought.",
    ),
    Entry("session: root degrees, by its law", _bought_audit),
)
