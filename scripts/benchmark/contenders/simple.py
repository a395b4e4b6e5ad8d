"""Contenders: what anybody would try first, with exact noise."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.errors import GraphError
from graphcuts_dp.graph.adjacency import AnyGraph, DirectedGraph
from graphcuts_dp.measure.cells import measure_groups, sides_of_groups
from graphcuts_dp.measure.statistics import measure_degrees
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.entropy import entropy_source
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, exact_epsilon, hidden_change
from graphcuts_dp.privacy.value_noise import noise_distribution
from scripts.benchmark.base import Contender, Method, SparseMatrix, Submission
from scripts.benchmark.baselines import (
    Baseline,
    density_only,
    noisy_degrees_chung_lu,
    raw_matrix,
    top_m_filter,
)
from scripts.benchmark.contenders.blocks import spread_evenly
from scripts.benchmark.contenders.ours import ALL_KINDS

_DENSE_VERTICES = 4_000
_LINEAR_VERTICES = 1_000_000
_DRAWS = "graph drawn from noisy degrees"  # mixed into a seed


def _promise(graph: AnyGraph, epsilon: float, seed: int | None) -> PrivacyGuarantee:
    return PrivacyGuarantee(
        epsilon=float(epsilon),
        neighbours=hidden_change(
            weighted=graph.weighted,
            weight_cap=graph.weight_cap,
            directed=isinstance(graph, DirectedGraph),
        ),
        seed=seed,
    )


def _baseline_method(make: Callable[..., Baseline]) -> Method:
    """A baseline of `scripts.benchmark.baselines`, with its guarantee: epsilon-DP at edge level."""

    def method(
        graph: AnyGraph, *, epsilon: float, delta: float, groups: Groups | None, seed: int | None
    ) -> Submission:
        del delta, groups
        made = make(graph, epsilon=epsilon, seed=seed)
        return Submission(estimate=made.matrix, guarantee=made.guarantee)

    return method


def _empty(
    graph: AnyGraph, *, epsilon: float, delta: float, groups: Groups | None, seed: int | None
) -> Submission:
    """No edge at all. Guarantee: 0-DP: reads the public shape alone."""
    del epsilon, delta, groups
    return Submission(estimate=sp.csr_array(graph.shape), guarantee=_promise(graph, 0.0, seed))


def _group_sums(
    graph: AnyGraph, *, epsilon: float, delta: float, groups: Groups | None, seed: int | None
) -> Submission:
    """Noisy sums between public groups of the finest level, spread evenly over their pairs.

    Guarantee: epsilon-DP at edge level: `measure_groups` draws discrete Laplace noise for a table
    whose cells are disjoint; the rest reads its table and public sizes.
    """
    del delta
    if groups is None:
        raise GraphError("this contender needs public groups")
    exact, source = exact_epsilon(epsilon), entropy_source(seed)
    level = groups.levels[-1]
    names = groups.labels(level)
    finest = Groups(groups.vertices, {level: [names[code] for code in groups.codes(level)]})
    noisy = measure_groups(
        graph,
        sides_of_groups(graph, finest),
        epsilon=exact,
        whole=False,
        name="groups",
        source=source,
    )
    cells, place = noisy.measured.cells, noisy.place
    density = cells.matrix(place, noisy.values / noisy.pairs)
    hollow = Universe.of(graph).hollow
    estimate = spread_evenly(density, noisy.rows, noisy.columns, hollow=hollow)
    return Submission(estimate=estimate, guarantee=_promise(graph, epsilon, seed))


def _drawn_degrees(
    graph: AnyGraph, *, epsilon: float, delta: float, groups: Groups | None, seed: int | None
) -> Submission:
    """A graph drawn from noisy degrees: both ends of each edge in proportion to them.

    As many edges are drawn as the noisy degrees add up to; loops and repetitions are dropped.
    Time and memory grow with the edges.

    Guarantee: epsilon-DP at edge level: computed from `measure_degrees`, of sensitivity 2.
    Source: Chung, Lu 2002, by the draws of Miller, Hagberg 2011.
    """
    del delta, groups
    exact, source = exact_epsilon(epsilon), entropy_source(seed)
    distribution = noise_distribution("binary", epsilon=exact, weight_cap=1.0)
    noisy = measure_degrees(graph, distribution, epsilon=exact, source=source)
    random = np.random.default_rng(None if seed is None else [seed, len(_DRAWS)])  # no noise
    estimate = drawn_graph(noisy.rows, noisy.columns, random, Universe.of(graph))
    return Submission(estimate=estimate, guarantee=_promise(graph, epsilon, seed))


def drawn_graph(
    rows: IntVector,
    columns: IntVector,
    random: np.random.Generator,
    universe: Universe,
    *,
    count: int | None = None,
) -> SparseMatrix:
    """A graph whose edges have their ends drawn in proportion to noisy degrees: post-processing.

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
    tails, heads = (_picked(each, count, random) for each in (rows, columns))
    if not len(tails) or not len(heads):
        return sp.csr_array(universe.shape)
    if universe.hollow:
        kept = tails != heads
        tails, heads = tails[kept], heads[kept]
    if universe.symmetric:
        tails, heads = np.minimum(tails, heads), np.maximum(tails, heads)
    places = np.unique(tails * universe.shape[1] + heads)
    ends = np.divmod(places, universe.shape[1])
    found = sp.coo_array((np.ones(len(places)), ends), shape=universe.shape).tocsr()
    return (found + found.T).tocsr() if universe.symmetric else found


def _picked(degrees: IntVector, count: int, random: np.random.Generator) -> IntVector:
    ends: FloatVector = np.cumsum(np.maximum(degrees, 0)).astype(np.float64)
    if not len(ends) or ends[-1] <= 0:
        return np.empty(0, dtype=np.int64)
    found: IntVector = np.searchsorted(ends, random.random(count) * ends[-1], side="right")
    return found


def _contender(name: str, method: Method, **about: Any) -> Contender:
    given = {"kinds": ALL_KINDS, "weights": True, "most_vertices": _DENSE_VERTICES, **about}
    return Contender(name=name, method=method, **given)


EMPTY = _contender(
    "empty-graph",
    _empty,
    source="nothing is read",
    most_vertices=_LINEAR_VERTICES,
    note="Spends nothing: what is worse than this has told nothing.",
)
DENSITY = _contender(
    "density",
    _baseline_method(density_only),
    source="the noisy total, spread evenly over all pairs",
)
RAW = _contender(
    "raw-response",
    _baseline_method(raw_matrix),
    source="Warner 1965, entry by entry, made unbiased",
    note="A matrix with entries below 0 and above the cap, not a graph.",
)
CHUNG_LU = _contender(
    "degrees-chung-lu",
    _baseline_method(noisy_degrees_chung_lu),
    source="noisy degrees; Chung, Lu 2002",
)
TOP_M = _contender(
    "top-m",
    _baseline_method(top_m_filter),
    source="Nguyen, Imine, Rusinowitch, ASONAM 2015, with the matrix filled",
)
DRAWN = _contender(
    "degrees-drawn",
    _drawn_degrees,
    source="noisy degrees; Chung, Lu 2002",
    weights=False,
    most_vertices=_LINEAR_VERTICES,
    note="A graph drawn from the noisy degrees, in time linear in its edges.",
)
GROUP_SUMS = _contender(
    "group-sums",
    _group_sums,
    source="a block model on public groups",
    most_vertices=_LINEAR_VERTICES,
    needs_groups=True,
    kinds=frozenset({"undirected", "directed"}),
    note="Noisy sums between public groups, spread evenly over their pairs.",
)
SIMPLE = (EMPTY, DENSITY, RAW, CHUNG_LU, TOP_M, DRAWN, GROUP_SUMS)
