"""Contenders: simple methods that anybody would try first, with exact noise."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.measure.cells import measure_refinable_groups, sides_of_groups
from graphcuts_dp.measure.statistics import measure_degrees
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.schema.groups import Groups
from scripts.benchmark.base import Answers, Contender, SparseMatrix, Submission
from scripts.benchmark.baselines import (
    Baseline,
    density_only,
    noisy_degrees_chung_lu,
    raw_matrix,
    top_m_filter,
)
from scripts.benchmark.contenders.blocks import spread_evenly
from scripts.benchmark.contenders.opening import Run, contender
from scripts.benchmark.contenders.ours import ALL_KINDS

_DENSE_VERTICES = 4_000
_LINEAR_VERTICES = 1_000_000
_DRAWS = "graph drawn from noisy degrees"  # mixed into a seed
_OF_BASELINES = {
    "density": (density_only, "the noisy total, spread evenly over all pairs", ""),
    "raw-response": (
        raw_matrix,
        "Warner 1965, entry by entry, made unbiased",
        "A matrix with entries below 0 and above the cap, not a graph.",
    ),
    "degrees-chung-lu": (noisy_degrees_chung_lu, "noisy degrees; Chung, Lu 2002", ""),
    "top-m": (top_m_filter, "Nguyen, Imine, Rusinowitch, ASONAM 2015, with the matrix filled", ""),
}


def _of_baseline(make: Callable[..., Baseline], run: Run) -> Submission:
    """Run a baseline of `scripts.benchmark.baselines`, epsilon-DP at edge level."""
    result = make(run.graph, epsilon=run.asked, seed=run.seed)
    return Submission(estimate=result.matrix, guarantee=result.guarantee)


def _empty(run: Run) -> SparseMatrix:
    """Return a graph without edges. Guarantee: 0-DP: reads the public shape alone."""
    run.spend(nothing=Fraction(0))
    return sp.csr_array(run.graph.shape)


def _group_sums(run: Run) -> FloatMatrix | Answers:
    """Return noisy sums between public groups of the finest level, spread over their pairs.

    Guarantee: epsilon-DP at edge level: `measure_refinable_groups` draws discrete Laplace noise for
    a table whose cells are disjoint; the rest reads its table and public sizes.
    """
    run.spend(sums=run.epsilon)
    groups, level = run.groups, run.groups.levels[-1]
    names = groups.labels(level)
    finest = Groups(groups.vertices, {level: [names[code] for code in groups.codes(level)]})
    noisy = measure_refinable_groups(
        run.graph,
        sides_of_groups(run.graph, finest),
        epsilon=run.epsilon,
        whole=False,
        name="groups",
        source=run.source,
    ).measurement
    tree, cells = noisy.map.tree, noisy.map
    density = tree.matrix(cells.measured_levels[0], noisy.values[0] / cells.pairs)
    hollow = Universe.of(run.graph).hollow
    return spread_evenly(density, *cells.members, hollow=hollow)


def _drawn_degrees(run: Run) -> SparseMatrix:
    """Draw a graph from noisy degrees: both ends of each edge in proportion to them.

    As many edges are drawn as the noisy degrees add up to; loops and repetitions are dropped.
    Time and memory grow with the edges.

    Guarantee: epsilon-DP at edge level: computed from `measure_degrees`, of sensitivity 2.
    Source: Chung, Lu 2002, by the draws of Miller, Hagberg 2011.
    """
    run.spend(degrees=run.epsilon)
    distribution = noise_distribution("binary", epsilon=run.epsilon, max_weight=1.0)
    noisy = measure_degrees(run.graph, distribution, epsilon=run.epsilon, source=run.source)
    seed = None if run.seed is None else [run.seed, len(_DRAWS)]
    random = np.random.default_rng(seed)  # no noise
    return drawn_graph(noisy.steps[0], noisy.steps[-1], random, Universe.of(run.graph))


def drawn_graph(
    rows: IntVector,
    columns: IntVector,
    random: np.random.Generator,
    universe: Universe,
    *,
    count: int | None = None,
) -> SparseMatrix:
    """Draw a graph whose edges have ends in proportion to noisy degrees: post-processing.

    Args:
        rows: noisy degrees of the rows; negative ones count as 0.
        columns: likewise.
        random: of the draws; no noise.
        universe: of the pairs.
        count: of draws; None for what the degrees of the rows add up to.

    Returns:
        A sparse matrix of zeros and ones, without loops and repetitions.
    """
    if count is None:
        total = max(0, int(rows.sum()))
        count = total // 2 if universe.symmetric else total
    tails, heads = (_picked(weights, count, random) for weights in (rows, columns))
    if not len(tails) or not len(heads):
        return sp.csr_array(universe.shape)
    if universe.hollow:
        is_edge = tails != heads
        tails, heads = tails[is_edge], heads[is_edge]
    if universe.symmetric:
        tails, heads = np.minimum(tails, heads), np.maximum(tails, heads)
    pair_numbers = np.unique(tails * universe.shape[1] + heads)
    ends = np.divmod(pair_numbers, universe.shape[1])
    upper = sp.coo_array((np.ones(len(pair_numbers)), ends), shape=universe.shape).tocsr()
    return (upper + upper.T).tocsr() if universe.symmetric else upper


def _picked(degrees: IntVector, count: int, random: np.random.Generator) -> IntVector:
    ends: FloatVector = np.cumsum(np.maximum(degrees, 0)).astype(np.float64)
    if not len(ends) or ends[-1] <= 0:
        return np.empty(0, dtype=np.int64)
    picked: IntVector = np.searchsorted(ends, random.random(count) * ends[-1], side="right")
    return picked


def _simple(name: str, body: Callable[[Run], Any], source: str, **about: Any) -> Contender:
    known = {"kinds": ALL_KINDS, "weights": True, "most_vertices": _DENSE_VERTICES}
    return contender(body, name=name, source=source, **known | about)


EMPTY = _simple(
    "empty-graph",
    _empty,
    "nothing is read",
    most_vertices=_LINEAR_VERTICES,
    unbounded_weights=True,
    note="Spends nothing: what is worse than this is useless.",
)
DRAWN = _simple(
    "degrees-drawn",
    _drawn_degrees,
    "noisy degrees; Chung, Lu 2002",
    weights=False,
    most_vertices=_LINEAR_VERTICES,
    note="A graph drawn from the noisy degrees, in time linear in its edges.",
)
GROUP_SUMS = _simple(
    "group-sums",
    _group_sums,
    "a block model on public groups",
    most_vertices=_LINEAR_VERTICES,
    needs_groups=True,
    unbounded_weights=True,
    kinds=frozenset({"undirected", "directed"}),
    note="Noisy sums between public groups, spread evenly over their pairs.",
)
SIMPLE = (
    EMPTY,
    *(
        _simple(
            name,
            partial(_of_baseline, make),
            source,
            note=note,
            unbounded_weights=name == "raw-response",
        )
        for name, (make, source, note) in _OF_BASELINES.items()
    ),
    DRAWN,
    GROUP_SUMS,
)
