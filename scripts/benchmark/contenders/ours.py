"""Contenders: what this package offers, mode by mode."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from graphcuts_dp.arrays import BoolVector
from graphcuts_dp.estimate.strategy import FlowWorkload
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.iterative.learning import Learning
from graphcuts_dp.iterative.methods import release_iteratively
from graphcuts_dp.measure.cells import cell_tree, sides_of_groups
from graphcuts_dp.queries.linear import CutQuery
from graphcuts_dp.queries.universe import Universe
from graphcuts_dp.release.flow_tables import release_flows
from graphcuts_dp.release.graphs import release_graph
from graphcuts_dp.results.release import Release
from scripts.benchmark.base import Clustering, Contender, Kind, Submission
from scripts.benchmark.contenders.blocks import spread_evenly
from scripts.benchmark.contenders.opening import Run, contender

SOURCE = "this package"
ALL_KINDS: frozenset[Kind] = frozenset({"undirected", "directed", "bipartite"})
_DENSE_VERTICES = 4_000  # the noisy matrix and its fit grow with the square
_SPARSE_VERTICES = 200_000
_MANY = {"most_vertices": _SPARSE_VERTICES}
_GROUPED = {"needs_groups": True, "kinds": frozenset({"undirected", "directed"})}
_PARTS = {"kinds": frozenset({"undirected"}), "weights": False, "most_vertices": 1_000}


def noise_of(graph: AnyGraph) -> str:
    """Return the name of the entry noise that suits the public schema of a graph."""
    return "laplace" if graph.weighted else "binary"


def _released(run: Run, **options: Any) -> Release:
    noise = noise_of(run.graph)
    return release_graph(run.graph, epsilon=run.asked, noise=noise, seed=run.seed, **options)


def _release(run: Run, *, grouped: bool = False, **fixed: Any) -> Submission:
    """Run `release_graph` with these options.

    Guarantee: that of `release_graph`: epsilon-DP at edge level, all of epsilon spent.
    """
    release = _released(run, groups=run.groups if grouped else None, **fixed)
    return Submission(estimate=release.graph, guarantee=release.guarantee)


def _answers(run: Run) -> Submission:
    """Return the unbiased answers of the default release, one cut at a time.

    Guarantee: that of `release_graph`; answers are computed from what it measured.
    """
    release = _released(run)

    def answer(S: BoolVector, T: BoolVector) -> float:
        return float(release.answer_all([CutQuery(S, T)])[0].estimate)

    return Submission(estimate=answer, guarantee=release.guarantee)


def _parts(run: Run, *, resolution: float | None) -> Submission:
    """Return the clusters of the default release: a partition without a graph.

    Guarantee: that of `release_graph`; the partition is computed from what it measured.
    """
    release = _released(run)
    partition = release.partition("clusters", resolution=resolution)
    return Submission(estimate=Clustering(partition.codes), guarantee=release.guarantee)


def _iterative(run: Run) -> Submission:
    """Run multiplicative weights on cuts that are found on a noisy matrix.

    Guarantee: that of `release_iteratively`: epsilon-DP at edge level with this distinguisher.
    """
    learning = Learning(distinguisher="response-rank-one")
    release = release_iteratively(
        run.graph, epsilon=run.asked, construction=learning, seed=run.seed
    )
    return Submission(estimate=release.graph, guarantee=release.guarantee)


def _flows(run: Run) -> Submission:
    """Return the finest table of `release_flows`, each cell spread evenly over its pairs.

    Guarantee: that of `release_flows`: epsilon-DP at edge level; spreading reads its table and
    public sizes alone.
    """
    work = FlowWorkload(expected_cell=0)  # also where noise hides all cells
    flows = release_flows(run.graph, run.groups, epsilon=run.asked, workload=work, seed=run.seed)
    sides = sides_of_groups(run.graph, run.groups)
    cells = cell_tree(run.graph, sides)
    pairs = cells.matrix(cells.depth - 1, cells.pairs(cells.depth - 1))
    density = flows.values() / np.maximum(pairs, 1)
    rows, columns = (side.codes() for side in sides)
    estimate = spread_evenly(density, rows, columns, hollow=Universe.of(run.graph).hollow)
    return Submission(estimate=estimate, guarantee=flows.guarantee)


def _ours(
    name: str, note: str, body: Callable[[Run], Submission] = _release, **about: Any
) -> Contender:
    known = {
        "kinds": ALL_KINDS,
        "weights": True,
        "unbounded_weights": True,
        "most_vertices": _DENSE_VERTICES,
    }
    return contender(body, name=name, note=note, source=SOURCE, **known | about)


OURS = (
    _ours("ours", "release_graph with its defaults."),
    _ours(
        "ours-answers",
        "The unbiased answers of the default release, not a graph: each is computed by itself.",
        _answers,
        most_vertices=1_000,
    ),
    _ours(
        "ours-communities",
        "The clusters of the default release, with the mean weight of a pair for resolution.",
        partial(_parts, resolution=None),
        **_PARTS,
    ),
    _ours(
        "ours-clusters",
        "The clusters of the default release with the least disagreements (resolution .5).",
        partial(_parts, resolution=0.5),
        **_PARTS,
    ),
    _ours(
        "ours-response",
        "release_graph with mechanism='randomized-response': all of epsilon for the entries.",
        partial(_release, mechanism="randomized-response"),
    ),
    _ours(
        "ours-degrees",
        "release_graph with mechanism='degrees+randomized-response': a fixed share for degrees.",
        partial(_release, mechanism="degrees+randomized-response"),
        unbounded_weights=False,
    ),
    _ours(
        "ours-groups",
        "release_graph with the public groups.",
        partial(_release, grouped=True),
        **_GROUPED,
    ),
    _ours(
        "ours-sparse",
        "release_graph with mechanism='sparse', which is made for large graphs.",
        partial(_release, mechanism="sparse"),
        **_MANY,
    ),
    _ours(
        "ours-sparse-groups",
        "release_graph with mechanism='sparse' and the public groups.",
        partial(_release, mechanism="sparse", grouped=True),
        **_MANY,
        **_GROUPED,
    ),
    _ours(
        "ours-flows",
        "release_flows, each cell of its finest level spread evenly over its pairs.",
        _flows,
        **_MANY,
        **_GROUPED,
    ),
    _ours(
        "ours-iterative",
        "release_iteratively with distinguisher='response-rank-one': for comparison, not advised.",
        _iterative,
        unbounded_weights=False,
        most_vertices=1_000,
    ),
)
