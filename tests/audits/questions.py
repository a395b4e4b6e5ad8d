"""Audits of iterative releases for lists of any linear queries, and of statistics (the median)."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial

import numpy as np

from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.adjacency import BipartiteGraph, Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.offline.distinguisher import Exponential
from graphcuts_dp.offline.query_lists import QuestionList
from graphcuts_dp.offline.tuning import OfflineTuning, PracticalOffline
from graphcuts_dp.pairs.graph_queries import GraphQuery, Question
from graphcuts_dp.pairs.queries import CutQuery, MatrixQuery
from graphcuts_dp.pairs.universe import Universe
from tests.audits.base import Audit, Entry, Enumerated
from tests.audits.distances import normal_distribution
from tests.audits.losses import DistributionPair
from tests.audits.selection import softmax

_CAP, _DELTA, _ROUNDS = 3.0, 1e-6, 4
_SIDES = Universe(2, 3)
_LARGEST = 2.5  # the largest coefficient
_LINEAR = QuestionList(
    _SIDES,
    [
        MatrixQuery(np.array([[0.0, 0.3, -0.7], [_LARGEST, 0.01, 0.0]])),
        MatrixQuery(np.array([[0.1, 0.0, 0.2], [-_LARGEST, 0.5, 0.0]])),
    ],
)
_RATINGS = Neighbours(
    "the largest coefficient",
    BipartiteGraph([], [], [], left=2, right=3, weight_cap=_CAP),
    BipartiteGraph([1], [0], [_CAP], left=2, right=3, weight_cap=_CAP),
)
_FIVE = Universe(5)
_ROWS, _COLUMNS = _FIVE.pairs()
_STATISTICS = QuestionList(_FIVE, [GraphQuery("triangles"), CutQuery([3], [4])])
_EDGES = Neighbours(
    "all edges but one, and all",
    Graph(_ROWS[:-1], _COLUMNS[:-1], vertices=5),
    Graph(_ROWS, _COLUMNS, vertices=5),
)


def _tuned(listed: QuestionList, grid: Grid, epsilon: float) -> tuple[OfflineTuning, Claim]:
    """The rounds of a release, and what they are promised to cost."""
    budget = PracticalOffline(epsilon=epsilon, delta=_DELTA, rounds=_ROUNDS)
    _, _, _, rest = budget.with_total(grid.sensitivity)
    finder = Exponential(queries=listed, epsilon=Fraction(1), grid=grid)
    unit = grid.unit * grid.sensitivity
    tuning = rest.tune(lambda alpha: 1 / alpha**2, finder, one=unit, steps=grid.sensitivity)
    return tuning, Claim(rest.cost.rho or 0.0, kind="rho")


def _rounds(
    listed: QuestionList,
    pair: Neighbours,
    epsilon: float,
    *,
    choices: float = 1,
    answers: float = 1,
) -> Iterator[DistributionPair]:
    """All choices and all answers, from the list's own scores and counts on both neighbours.

    Args:
        listed: the list.
        pair: the neighbours.
        epsilon: of the release.
        choices: factor of the rate of the choices; 1 keeps the promise.
        answers: factor of what an answer moves by; likewise.
    """
    grid = Grid.of(pair.first)
    tuning, _ = _tuned(listed, grid, epsilon)
    finder, noise = tuning.distinguisher, tuning.noise
    if not isinstance(finder, Exponential) or noise is None:
        raise TypeError("a list is searched by the exponential mechanism")
    scoring, rate = finder.scoring, float(finder.scoring.rate(finder.epsilon)) * choices
    first, second = (listed.scored(graph, scoring) for graph in (pair.first, pair.second))
    moved = (second - first).astype(np.float64)
    both = np.concatenate([moved, -moved])
    own = max(listed, key=lambda each: abs(_change(listed, each, pair, grid)))
    change = abs(_change(listed, own, pair, grid)) * answers
    measured = normal_distribution(float(noise.parameter), change)
    # Half way between the neighbours all signed questions are as likely as each other.
    yield DistributionPair(
        pair.name,
        softmax(-both / 2, rate),
        softmax(both / 2, rate),
        _ROUNDS,
        (replace(measured, copies=_ROUNDS),),
    )


def _change(listed: QuestionList, own: Question, pair: Neighbours, grid: Grid) -> int:
    counts = [listed.counted(own, graph, grid) for graph in (pair.first, pair.second)]
    return counts[1] - counts[0]


def _audit(
    listed: QuestionList, pair: Neighbours, twin: str, factor: float, epsilon: float
) -> Audit:
    run = partial(_rounds, listed, pair, epsilon)
    return Enumerated(
        claim=_tuned(listed, Grid.of(pair.first), epsilon)[1],
        distributions=run,
        twins={
            "half the noise": partial(run, choices=2, answers=2),
            "choices taken for monotone": partial(run, choices=2),
            twin: partial(run, answers=factor),
        },
    )


ENTRIES = (
    Entry(
        "iterative: other queries",
        partial(_audit, _LINEAR, _RATINGS, "coefficients not divided by the largest", _LARGEST),
        ("iterative: other queries",),
    ),
    Entry(
        "iterative: median",
        partial(_audit, _STATISTICS, _EDGES, "triangles with the noise of cuts", 3.0),
        ("iterative: median",),
    ),
)
