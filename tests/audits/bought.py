"""Audits of what sessions buy before they answer: root degrees, norms, sums of groups; the median.

The calibrations that users choose from give each thing that is bought a fiftieth of the budget or
less, which no number of runs tells apart. Here what is bought and the tests share it equally.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt

import graphcuts_dp as gc
from graphcuts_dp.arrays import FloatVector
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.bounds import UpdateBound
from graphcuts_dp.learn.calibration_base import Calibration, Tuning
from graphcuts_dp.learn.learners import FriezeKannanLearner, MedianLearner, MirrorDescentLearner
from graphcuts_dp.measure.private_norms import ROOT_STEPS, root_degrees
from graphcuts_dp.plugins import Cost, EntropySource, Universe, ValueNoise
from graphcuts_dp.privacy.sparse_vector import OneSidedPair
from graphcuts_dp.queries.graph_queries import GraphQuery
from graphcuts_dp.session.counts import linear_count
from graphcuts_dp.session.online import OnlineMechanism, OnlineState
from graphcuts_dp.session.starts import GROUPS
from tests.audits.base import audited_runs
from tests.audits.graphs import one_more
from tests.audits.losses import laplace_gain
from tests.audits.sessions import ByHand

Run = Callable[[Any], npt.ArrayLike]


@final
@dataclass(frozen=True, kw_only=True)
class EqualParts(Calibration):
    """The same part of epsilon for each thing that is bought, and one for the tests.

    Attributes:
        epsilon: of everything.
        parts: how many there are: what is bought, the total weight first, and the tests.
        other: the number of a thing that is bought with a rate beside the budget, and how many
            parts that is; None for none.
        factor: of all rates; 1 keeps the guarantee.
        bought: how many things were.
    """

    epsilon: Fraction
    parts: int
    other: tuple[int, int] | None = None
    factor: int = 1
    bought: int = 0
    queries: int = 2
    beta: float = 0.05

    name = "equal parts"

    @property
    def cost(self) -> Cost:
        """Pure epsilon, whatever happens."""
        return Cost.of_pure(self.epsilon)

    def split_budget(self, sensitivity: int) -> tuple[ValueNoise, int, Cost, Self]:
        """See `Calibration.split_budget`."""
        each = self.epsilon / self.parts
        rate = each * self.factor
        if self.other is not None and self.bought == self.other[0]:
            rate = each * self.other[1]
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


def _asked(
    mechanism: OnlineMechanism, graph: AnyGraph, query: Any, truth: int, source: EntropySource
) -> tuple[OnlineState, list[float], int]:
    """A session that is asked one query until it stops.

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


# Norms that mirror descent buys.

_SQUARE = Universe(2, 2)
_CORNER = gc.CutQuery([0], [0])
_SIGNED = gc.Query.matrix([[2.0, -1.0], [-1.0, 0.5]])
_CORNERED: Any = {"kind": gc.BipartiteGraph, "left": 2, "right": 2}
_FIRST_EDGE = (one_more("the first edge of a vertex", [1, 0], [1, 0], **_CORNERED),)
_RATINGS = (
    one_more("the rating that makes the rank 2", [1, 0], [1, 0], **_CORNERED),
    one_more("a rating with a negative coefficient", [1, 0], [1, 1], **_CORNERED),
)
_ROOTS = MirrorDescentLearner(_SQUARE, norm="2,p")
_NUCLEAR = MirrorDescentLearner(_SQUARE, norm="schatten-1.5", linear=True, max_spectral_norm=2.0)


def _normed(
    learner: MirrorDescentLearner, steps: int, calibration: EqualParts, source: EntropySource
) -> Run:
    """The total, the private norm, their sum, answers, and which way the hypothesis moved."""
    made = OnlineMechanism(learner=learner, calibration=calibration, grid=Grid(), steps=steps)
    signed = learner is _NUCLEAR
    query: Any = _SIGNED if signed else _CORNER

    def run(graph: AnyGraph) -> FloatVector:
        count = linear_count(query, graph, made.grid) if signed else made.grid.count(query, graph)
        begun, values, moved = _asked(made, graph, query, count, source)
        bought = [begun.total_weight, begun.norm_bound or 0.0]
        return np.array([*bought, sum(bought), values[0], values[-1], moved, sum(bought) + moved])

    return run


@audited_runs(
    "session: root degrees",
    pairs=_FIRST_EDGE,
    incorrect_variants={
        "root degrees used raw": {"other": (1, 100)},
        "an eighth of the noise": {"factor": 8},
    },
    runs=6000,
    prepared=True,
    why_below_half="A third of the budget is for tests that fire as often as not, and each of the "
    "other two parts shows only in runs in which all of them tell the neighbours apart; "
    "'session: root degrees, by its law' audits what is measured.",
)
def _roots(epsilon: float, source: EntropySource, **mistakes: Any) -> Run:
    parts = EqualParts(epsilon=Fraction(epsilon), parts=3, **mistakes)
    return _normed(_ROOTS, 1, parts, source)


@audited_runs(
    "session: nuclear norm",
    pairs=_RATINGS,
    incorrect_variants={
        "nuclear norm used raw": {"other": (1, 100)},
        "a sixteenth of the noise": {"factor": 16},
    },
    runs=6000,
    prepared=True,
)
def _nuclear(epsilon: float, source: EntropySource, **mistakes: Any) -> Run:
    """Two steps are paid for, of half of epsilon each."""
    parts = EqualParts(epsilon=Fraction(epsilon) / 2, parts=3, **mistakes)
    return _normed(_NUCLEAR, 2, parts, source)


@audited_runs(
    "session: root degrees, by its law",
    pairs=_FIRST_EDGE,
    incorrect_variants={"half the noise of root degrees": {"other": (1, 2)}},
    runs=4000,
    prepared=True,
    column=0,
)
def _bought_roots(epsilon: float, source: EntropySource, **mistakes: Any) -> Run:
    """The log-likelihood ratio of the total and the root degrees that a session buys first.

    These are two of three parts, of half of epsilon each. Neighbours have the total weights 1 and
    2, so that a session which cuts the total to what there can be, at least 1 and at most 4, tells
    as much of them as the total itself.
    """
    rate = Fraction(epsilon) / 2  # for a change by 1 of the total or by a root
    parts = EqualParts(epsilon=3 * rate, parts=3, **mistakes)
    made = OnlineMechanism(learner=_ROOTS, calibration=parts, grid=Grid())
    (pair,), radius = _FIRST_EDGE, 1 + _SQUARE.shape[0]  # which is added to the noisy count
    first, second = (root_degrees(graph, Grid()) for graph in (pair.first, pair.second))

    def run(graph: AnyGraph) -> list[float]:
        begun = made.start(graph, source)
        count = round((begun.norm_bound or 0.0) * ROOT_STEPS) - radius
        of_total = laplace_gain(begun.total_weight, 1, 2, rate)
        return [of_total + laplace_gain(count, first, second, rate / ROOT_STEPS)]

    return run


# A start from the sums of public groups.

_N = 8
_EDGE = gc.CutQuery([0], [1])
_HALVES = gc.Groups(gc.Graph([], [], vertices=_N).vertices, {"half": [0] * 4 + [1] * 4})
# Two halves; the first is full but for the pair that is hidden, the second empty.
_IN_GROUPS = (
    one_more("the last pair of a group", [0, 0, 1, 1, 2, 0], [2, 3, 2, 3, 3, 1], vertices=_N),
)
_SUMS, _NEAR = 1, 2  # that are bought after the total weight, and after that
_NO_NOISE = 200  # parts of 1/4 or so: noise but for a chance of e^-50


@audited_runs(
    "session: start from groups",
    pairs=_IN_GROUPS,
    incorrect_variants={
        "start from the true sums": {"other": (_SUMS, _NO_NOISE)},
        "how near it is used raw": {"other": (_NEAR, _NO_NOISE)},
        "sums not charged": {"other": (_SUMS, 16)},
        "an eighth of the noise": {"factor": 8},
    },
    runs=4000,
    prepared=True,
)
def _from_groups(epsilon: float, source: EntropySource, **mistakes: Any) -> Run:
    """All that is bought, weighted sums of it, the first and last answer, and which way it moved.

    The sum of all is what tells most: each number moves by a step of its own noise. How near the
    start is moves down, by as many steps as the coefficient of the cell of the pair has.
    """
    mechanism = OnlineMechanism(
        learner=FriezeKannanLearner(Universe(_N)),
        calibration=EqualParts(epsilon=Fraction(epsilon), parts=4, **mistakes),
        grid=Grid(),
        begins=GROUPS,
        groups=(_HALVES, _HALVES),
    )

    def run(graph: gc.Graph) -> FloatVector:
        truth = mechanism.grid.count(_EDGE, graph)
        begun, values, moved = _asked(mechanism, graph, _EDGE, truth, source)
        bought = begun.group_start
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


# The median, asked about triangles: one edge closes as many as it can.

_FIVE = Universe(5)
ALL_EDGES = (one_more("all edges but one, and all", *_FIVE.pairs(), vertices=5),)
_TRIANGLES, _MEDIAN = GraphQuery("triangles"), MedianLearner(_FIVE)


@audited_runs(
    "session: median",
    pairs=ALL_EDGES,
    incorrect_variants={
        "a quarter of the noise": {"factor": 4},
        "triangles taken for sensitivity 1": {"sensitivity": 1},
    },
    runs=6000,
)
def _triangles(
    epsilon: float,
    graph: gc.Graph,
    source: EntropySource,
    factor: int = 1,
    sensitivity: int = _TRIANGLES.sensitivity(_FIVE.space),
) -> FloatVector:
    """Answers and updates of an analyst who asks for triangles until the session ends."""
    mechanism = OnlineMechanism(
        learner=_MEDIAN,
        calibration=ByHand(kind="comparison", epsilon=Fraction(epsilon), factor=factor),
        grid=Grid(),
        total_weight=float(_FIVE.size),
    )
    truth = _TRIANGLES.value(graph) // sensitivity
    _, values, signs = _asked(mechanism, graph, _TRIANGLES, truth, source)
    return np.array([values[0], values[-1], float(signs), sum(values)])
