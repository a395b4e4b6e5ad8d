"""Audits of sessions of the median, asked about triangles: one edge closes as many as it can."""

from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.learners import MedianLearner
from graphcuts_dp.pairs.graph_queries import GraphQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.noise import EntropySource
from graphcuts_dp.session.online import OnlineMechanism
from tests.audits.base import Audit, Entry, Sampled
from tests.audits.transcripts import ByHand, Kind, Run

_UNIVERSE = Universe(5)
_ROWS, _COLUMNS = _UNIVERSE.pairs()
_PAIRS = (
    Neighbours(
        "all edges but one, and all",
        Graph(_ROWS[:-1], _COLUMNS[:-1], vertices=5),
        Graph(_ROWS, _COLUMNS, vertices=5),
    ),
)
_TRIANGLES = GraphQuery("triangles")


def _asked(calibration: ByHand, sensitivity: int, source: EntropySource) -> Run:
    """Answers and updates of an analyst who asks for triangles until the session ends."""
    mechanism = OnlineMechanism(
        learner=MedianLearner(_UNIVERSE),
        calibration=calibration,
        grid=Grid(),
        total_weight=float(_UNIVERSE.size),
    )

    def run(graph: Graph) -> FloatVector:
        state, truth = mechanism.start(graph, source), _TRIANGLES.value(graph) // sensitivity
        values, signs = [], 0
        while not state.stopped:
            state, answer = mechanism.step(state, _TRIANGLES, truth, source)
            values.append(answer.value)
            signs += sum(update.sign for update in answer.updates)
        return np.array([values[0], values[-1], float(signs), sum(values)])

    return run


def _audit(kind: Kind, epsilon: float) -> Audit:
    sound = ByHand(kind=kind, epsilon=Fraction(epsilon))
    change = _TRIANGLES.sensitivity(_UNIVERSE.space)
    return Sampled(
        claim=Claim(epsilon),
        pairs=_PAIRS,
        start=partial(_asked, sound, change),
        twins={
            "a quarter of the noise": partial(_asked, replace(sound, factor=4), change),
            "triangles taken for sensitivity 1": partial(_asked, sound, 1),
        },
        runs=6000,
    )


ENTRIES = (Entry("session: median", partial(_audit, "comparison"), ("session: median",)),)
