"""Audits of what hides all edges of a vertex, beside mistakes that are easily made about it.

Neighbours differ in the edges at one vertex, which has none, or those to everybody, or others.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

import graphcuts_dp as gc
from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.evaluation.audit import Claim, Neighbours
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.learners import FriezeKannanLearner
from graphcuts_dp.measure.cells import changes_on
from graphcuts_dp.measure.statistics import bound_candidates, bound_scores, normalised
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.privacy.noise import EntropySource
from graphcuts_dp.session.online import OnlineMechanism
from graphcuts_dp.session.plain import PerQueryNoise
from tests.audits.base import Audit, Enumerated, Sampled, audited
from tests.audits.flows import (
    NoisyTable,
    Tabled,
    all_seen,
    gaussian_audit,
    honest,
    scaled_noise,
    tabled,
    untouched,
)
from tests.audits.losses import DistributionPair, laplace_gain, normal_pair, softmax
from tests.audits.sessions import ByHand, transcript

Count = Callable[[gc.CutQuery, gc.Graph], int]
_N, _BOUND = 16, 2
_VERTEX = gc.Protect(kind="vertex", degree_bound=_BOUND)
_PARTS = {"part": [0, *[1] * (_N - 2), 0]}  # the first and the last vertex, and the others
_DELTA = 1e-6


def _graph(edges: Sequence[tuple[int, int]]) -> gc.Graph:
    rows, columns = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    return gc.Graph(rows, columns, vertices=_N)


_RING = [(v, v % (_N - 2) + 1) for v in range(1, _N - 1)]  # two edges at each of the others
_STAR = [(0, v) for v in range(1, _N)]
_PAIRS = (
    Neighbours(
        "a vertex gets all edges", _graph([]), _graph([(1, v) for v in range(_N) if v != 1])
    ),
    Neighbours(
        "a vertex changes sides",
        _graph([(1, v) for v in range(2, _N - 1)]),
        _graph([(0, 1), (1, _N - 1)]),
    ),
    Neighbours("a hub beside a ring", _graph(_RING), _graph([*_RING, *_STAR])),
)


def in_both_lists(graph: gc.Graph) -> list[tuple[int, int]]:
    """Edges that both ends have among their first two: one vertex moves an edge at each other."""
    edges = sorted(zip(graph.rows.tolist(), graph.columns.tolist(), strict=True))
    lists = {v: [edge for edge in edges if v in edge][:_BOUND] for v in range(graph.n)}
    return [edge for edge in edges if edge in lists[edge[0]] and edge in lists[edge[1]]]


# Flows.


def _table(where: Tabled, edges: Sequence[tuple[int, int]]) -> IntVector:
    """How many of these edges lie in each cell."""
    codes = where.sides[0].codes()
    rows, columns = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    cells = where.cells.locate(1, codes[rows], codes[columns])
    return np.bincount(cells, minlength=where.cells.size(1))


def _noise_of(where: Tabled, noisy: NoisyTable) -> IntVector:
    return noisy.steps[-1] - where.true[1]


def _from_lists(where: Tabled, noisy: NoisyTable, _source: EntropySource) -> NoisyTable:
    kept = _table(where, in_both_lists(where.graph))  # type: ignore[arg-type]
    return replace(noisy, steps=(kept + _noise_of(where, noisy),))


def _bounded_afterwards(where: Tabled, noisy: NoisyTable, _source: EntropySource) -> NoisyTable:
    edges = zip(where.graph.rows.tolist(), where.graph.columns.tolist(), strict=True)
    summed = _table(where, list(edges)) + _noise_of(where, noisy)
    left, right = (side.sizes("part") for side in (where.cells.rows, where.cells.columns))
    a, b = where.cells.cells(1)
    return replace(noisy, steps=(np.minimum(summed, _BOUND * np.minimum(left[a], right[b])),))


def _less_noise(change: int, where: Tabled) -> LevelNoise:
    """The noise of a table in which one cell changes, by so much."""
    linear, squared = changes_on(where.grid, where.cells, _VERTEX)[1]
    noise = where.strategy.noise
    factor = linear / change if noise.distribution == "laplace" else change**2 / squared
    return scaled_noise(noise, [factor])


_LESS: dict[str, Callable[[Tabled], LevelNoise]] = {
    "sensitivity of one cell": partial(_less_noise, _BOUND),
    "epsilon of an edge": partial(_less_noise, 1),
}


def _tabled(epsilon: float, noise: str) -> tuple[Neighbours, ...]:
    # All noise goes to the one level of groups.
    return tuple(tabled(pair, epsilon, noise, protection=_VERTEX, levels=_PARTS) for pair in _PAIRS)


@audited("vertex: flows, laplace")
def _flows_audit(epsilon: float) -> Audit:
    pairs = _tabled(epsilon, "laplace")
    return Sampled(
        claim=Claim(epsilon),
        pairs=pairs,
        start=partial(all_seen, honest, untouched),
        twins={
            "lists of first edges": partial(all_seen, honest, _from_lists),
            "bound after the noise": partial(all_seen, honest, _bounded_afterwards),
            **{name: partial(all_seen, noise, untouched) for name, noise in _LESS.items()},
        },
        runs=4000,
    )


@audited("vertex: flows, gaussian")
def _gaussian_flows_audit(epsilon: float) -> Audit:
    return gaussian_audit(_tabled(epsilon, "gaussian"), _LESS)


# Sessions.

_QUERIES = (
    gc.CutQuery([1]),
    gc.CutQuery([0, _N - 1]),
    gc.CutQuery(range(_N), range(_N)),
)
_GRID = Grid(1.0, _BOUND, 1.0, bounded=False)


def _answers(
    epsilon: float, grid: Grid, count: Count, source: EntropySource
) -> Callable[[gc.Graph], npt.ArrayLike]:
    """Answers to all queries, their sum, and the log likelihood ratio of each pair of graphs."""
    made = PerQueryNoise(
        distribution="laplace",
        universe=Universe(_N),
        grid=grid,
        epsilon=epsilon,
        queries=len(_QUERIES),
    )
    graphs = [(pair.first, pair.second) for pair in _PAIRS]
    counts = {  # exact, and the same in each run
        id(graph): np.array([count(query, graph) for query in _QUERIES])
        for graph in itertools.chain(*graphs)
    }

    def run(graph: gc.Graph) -> FloatVector:
        state, values = made.start(graph, source), []
        for query, truth in zip(_QUERIES, counts[id(graph)].tolist(), strict=True):
            state, answer = made.step(state, query, truth, source)
            values.append(answer.value)
        seen = np.array(values)
        told = [laplace_gain(seen, counts[id(a)], counts[id(b)], 1.0) for a, b in graphs]
        return np.array([*told, *seen, seen.sum()])

    return run


def _count_lists(query: gc.CutQuery, graph: gc.Graph) -> int:
    return int(query.value(_graph(in_both_lists(graph))))


def _count_all(query: gc.CutQuery, graph: gc.Graph) -> int:
    return int(query.value(graph))


@audited("vertex: session, laplace")
def _session_audit(epsilon: float) -> Audit:
    one_edge = replace(_GRID, sensitivity=1)
    return Sampled(
        claim=Claim(epsilon),
        pairs=_PAIRS,
        start=partial(_answers, epsilon, _GRID, _GRID.count),
        twins={
            "lists of first edges": partial(_answers, epsilon, _GRID, _count_lists),
            "no bound": partial(_answers, epsilon, _GRID, _count_all),
            "epsilon of an edge": partial(_answers, epsilon, one_edge, _GRID.count),
        },
        twin_pairs=_PAIRS[::2],
    )


def _all_answers(epsilon: float, grid: Grid) -> Iterator[DistributionPair]:
    """All bounded cuts change by as much as a vertex can change them."""
    made = PerQueryNoise(
        distribution="gaussian",
        universe=Universe(_N),
        grid=grid,
        epsilon=epsilon,
        queries=len(_QUERIES),
        delta=_DELTA,
    )
    one = normal_pair(float(made.noise.parameter), _BOUND)
    yield replace(one, name=f"{made.queries} answers", copies=made.queries)


@audited("vertex: session, gaussian")
def _gaussian_session_audit(epsilon: float) -> Audit:
    return Enumerated(
        claim=Claim(zcdp_rho(epsilon=epsilon, delta=_DELTA), kind="rho"),
        distributions=partial(_all_answers, epsilon, _GRID),
        twins={"epsilon of an edge": partial(_all_answers, epsilon, replace(_GRID, sensitivity=1))},
    )


def _online(
    epsilon: Fraction, raw: bool, steps: int, source: EntropySource
) -> Callable[[gc.Graph], npt.ArrayLike]:
    made = OnlineMechanism(
        learner=FriezeKannanLearner(Universe(_N)),
        calibration=ByHand(kind="one-sided", epsilon=epsilon, raw=raw),
        grid=_GRID,
        steps=steps,
    )
    return transcript(made, source, _QUERIES[0])


@audited("vertex: session, transcripts")
def _online_audit(epsilon: float) -> Audit:
    exact = Fraction(epsilon)
    return Sampled(
        claim=Claim(epsilon),
        pairs=_PAIRS[:1],
        start=partial(_online, exact / 2, False, 2),
        twins={
            "total without noise": partial(_online, exact / 2, True, 2),
            "a sixteenth of the noise": partial(_online, 8 * exact, False, 1),
        },
    )


def one_sided_law(
    truths: Sequence[int], thresholds: Sequence[int], rates: tuple[float, float]
) -> FloatVector:
    """Probabilities that a one-sided instance fires first at each test, and that it never does.

    The noise of the threshold is cut where e^-40 of it is left.

    Args:
        truths: true answers.
        thresholds: A_i of `OneSidedPair`.
        rates: r1 and r2.
    """
    R = np.arange(int(40 / rates[0]) + 1)
    weight = -np.expm1(-rates[0]) * np.exp(-rates[0] * R)
    found = []
    for truth, threshold in zip(truths, thresholds, strict=True):
        fires = np.exp(-rates[1] * np.maximum(threshold + R - truth, 0))
        found.append(float((weight * fires).sum()))
        weight = weight * (1 - fires)
    return np.array([*found, float(weight.sum())])


def _test_laws(epsilon: float, part: float) -> Iterator[DistributionPair]:
    """All ways in which three bounded cuts can change with a vertex, up and down at once."""
    a = part * epsilon / 4  # one step costs part * epsilon
    rates = a / _BOUND, 3 * a / _BOUND
    low, thresholds = np.array([2, 3, 4]), (4, 6, 4)
    changes = [np.array(each) for each in itertools.product((0, _BOUND), repeat=3)]
    for one, other in itertools.combinations(changes, 2):
        laws = [one_sided_law((low + each).tolist(), thresholds, rates) for each in (one, other)]
        yield DistributionPair(f"changes {one - other}", laws[0], laws[1])


@audited("vertex: session, one-sided tests")
def _tests_audit(epsilon: float) -> Audit:
    """An instance costs r1 + r2 for a step of D, and a vertex is two steps."""
    return Enumerated(
        claim=Claim(epsilon),
        distributions=partial(_test_laws, epsilon, 0.5),
        twins={"one step for two": partial(_test_laws, epsilon, 1.0)},
    )


# The private choice of a bound.


def _choices(epsilon: float, noise: float, plain: bool) -> Iterator[DistributionPair]:
    candidates = bound_candidates(_PAIRS[0].first)
    for pair in _PAIRS:
        laws: list[Any] = []
        for graph in (pair.first, pair.second):
            scores, changes = bound_scores(graph, candidates, noise=noise)
            new = scores if plain else normalised(scores, changes, Fraction(4))
            laws.append(softmax(np.array([float(each) for each in new]), epsilon / 2))
        yield DistributionPair(pair.name, laws[0], laws[1])


@audited(
    "vertex: degree bound",
    covers="degree bound",
    unseen="The scores of the graphs that are tried change by less than what is paid for.",
)
def _choice_audit(epsilon: float) -> Audit:
    return Enumerated(
        claim=Claim(epsilon),
        distributions=partial(_choices, epsilon, 0.5, False),
        twins={"sensitivity 1 for all bounds": partial(_choices, epsilon, 0.1, True)},
    )
