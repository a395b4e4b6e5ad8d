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
from graphcuts_dp.measure.statistics import bound_candidates, bound_scores, normalised_scores
from graphcuts_dp.plugins import EntropySource, Universe
from graphcuts_dp.privacy.level_noise import LevelNoise
from graphcuts_dp.session.online import OnlineMechanism
from graphcuts_dp.session.plain import PerQueryNoise
from tests.audits.base import Audit, Sampled, audited, audited_laws, audited_runs, claimed_for
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
from tests.audits.losses import DistributionPair, laplace_gain, normal_pair, one_sided_law, softmax
from tests.audits.sessions import ByHand, transcript

Count = Callable[[gc.CutQuery, gc.Graph], int]
_N, _BOUND = 16, 2
_VERTEX = gc.PrivacyUnit.vertex(max_degree=_BOUND)
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
    return tuple(
        tabled(pair, epsilon, noise, privacy_unit=_VERTEX, levels=_PARTS) for pair in _PAIRS
    )


@audited("vertex: flows, laplace")
def _flows_audit(epsilon: float) -> Audit:
    pairs = _tabled(epsilon, "laplace")
    return Sampled(
        claim=Claim(epsilon),
        pairs=pairs,
        start=partial(all_seen, honest, untouched),
        incorrect_variants={
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

_QUERIES = (gc.CutQuery([0, _N - 1]), gc.CutQuery(range(_N), range(_N)))
_GRID = Grid(1.0, _BOUND, 1.0, bounded=False)
_OF_AN_EDGE = replace(_GRID, sensitivity=1)


def _plain(epsilon: float, grid: Grid, delta: float = 0.0) -> PerQueryNoise:
    return PerQueryNoise(
        distribution="gaussian" if delta else "laplace",
        universe=Universe(_N),
        grid=grid,
        epsilon=epsilon,
        queries=len(_QUERIES),
        delta=delta,
    )


def _count_lists(query: gc.CutQuery, graph: gc.Graph) -> int:
    return int(query.value(_graph(in_both_lists(graph))))


def _count_all(query: gc.CutQuery, graph: gc.Graph) -> int:
    return int(query.value(graph))


@audited_runs(
    "vertex: session, laplace",
    pairs=_PAIRS,
    incorrect_variants={
        "lists of first edges": {"count": _count_lists},
        "no bound": {"count": _count_all},
        "epsilon of an edge": {"grid": _OF_AN_EDGE},
    },
    variant_pairs=_PAIRS[::2],
    prepared=True,
)
def _answers(
    epsilon: float, source: EntropySource, grid: Grid = _GRID, count: Count = _GRID.count
) -> Callable[[gc.Graph], npt.ArrayLike]:
    """Answers to all queries, their sum, and the log likelihood ratio of each pair of graphs."""
    made = _plain(epsilon, grid)
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


@audited_laws(
    "vertex: session, gaussian",
    incorrect_variants={"epsilon of an edge": {"grid": _OF_AN_EDGE}},
    claim=claimed_for(_DELTA),
)
def _all_answers(epsilon: float, grid: Grid = _GRID) -> Iterator[DistributionPair]:
    """All bounded cuts change by as much as a vertex can change them."""
    made = _plain(epsilon, grid, _DELTA)
    one = normal_pair(float(made.noise.parameter), _BOUND)
    yield replace(one, name=f"{made.queries} answers", copies=made.queries)


@audited_runs(
    "vertex: session, transcripts",
    pairs=_PAIRS[:1],
    incorrect_variants={
        "total without noise": {"raw": True},
        "a sixteenth of the noise": {"factor": 16, "steps": 1},
    },
    prepared=True,
)
def _online(
    epsilon: float, source: EntropySource, factor: int = 1, raw: bool = False, steps: int = 2
) -> Callable[[gc.Graph], npt.ArrayLike]:
    made = OnlineMechanism(
        learner=FriezeKannanLearner(Universe(_N)),
        calibration=ByHand(kind="one-sided", epsilon=factor * Fraction(epsilon) / 2, raw=raw),
        grid=_GRID,
        steps=steps,
    )
    return transcript(made, source, gc.CutQuery([1]))


@audited_laws(
    "vertex: session, one-sided tests", incorrect_variants={"one step for two": {"part": 1.0}}
)
def _test_laws(epsilon: float, part: float = 0.5) -> Iterator[DistributionPair]:
    """All ways in which three bounded cuts can change with a vertex, up and down at once.

    An instance costs r1 + r2 for a step of D, and a vertex is two steps.
    """
    r1 = part * epsilon / 4 / _BOUND  # one step costs part * epsilon
    low, thresholds = np.array([2, 3, 4]), (4, 6, 4)
    changes = [np.array(each) for each in itertools.product((0, _BOUND), repeat=3)]
    for one, other in itertools.combinations(changes, 2):
        laws = [one_sided_law(low + each, thresholds, r1, 3 * r1) for each in (one, other)]
        yield DistributionPair(f"changes {one - other}", laws[0], laws[1])


# The private choice of a bound.


@audited_laws(
    "vertex: degree bound",
    incorrect_variants={"sensitivity 1 for all bounds": {"noise": 0.1, "plain": True}},
    covers="degree bound",
    why_below_half="The scores of the graphs that are tried change by less than what is paid for.",
)
def _choices(epsilon: float, noise: float = 0.5, plain: bool = False) -> Iterator[DistributionPair]:
    candidates = bound_candidates(_PAIRS[0].first)

    def law(graph: gc.Graph) -> FloatVector:
        scores, changes = bound_scores(graph, candidates, noise=noise)
        new: Any = scores if plain else normalised_scores(scores, changes, Fraction(4))
        return softmax(np.array([float(each) for each in new]), epsilon / 2)

    for pair in _PAIRS:
        yield DistributionPair.of(pair, law)
