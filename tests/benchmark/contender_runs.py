"""Runs of contenders, and comparisons of counts of outcomes with their chances."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.stats

from graphcuts_dp.evaluation.audit import clopper_pearson
from graphcuts_dp.graph.adjacency import AnyGraph
from scripts.benchmark.base import Contender
from scripts.benchmark.runs import BenchmarkRun

ALPHA = 1e-9  # of each comparison of a share of runs with a chance, of which there are hundreds


def run(
    contender: Contender,
    graph: AnyGraph,
    epsilon: float = 1.0,
    *,
    delta: float = 1e-6,
    groups: Any = None,
    seed: int = 7,
) -> Any:
    """Return what a contender releases of a graph."""
    return contender.method(graph, epsilon=epsilon, delta=delta, groups=groups, seed=seed)


def run_of(contender: str = "ours", graph: str = "karate", **fields: Any) -> BenchmarkRun:
    """Return a run of the benchmark as its file has it, with these fields instead of usual ones."""
    usual = {
        "source": "this package", "epsilon": 1.0, "delta": 0.0, "seed": 0, "claimed_epsilon": 1.0,
        "claimed_delta": 0.0, "claim_holds": True, "audited": True, "failure": "", "shuffled": True,
        "errors": {"worst cut proven": 0.25, "seconds": 1.5}, "versions": "graphcuts_dp 0",
    }  # fmt: skip
    return BenchmarkRun(contender=contender, graph=graph, **(usual | fields))


def differs_from_chance(count: int, runs: int, chance: float) -> bool:
    """Return whether an outcome with this chance has such a count in fewer than ALPHA of cases."""
    low, high = clopper_pearson(count, runs, ALPHA / 2)
    return not low <= chance <= high


def follows(counts: Sequence[int], chances: Sequence[float]) -> bool:
    """Return whether counts of all outcomes fit their chances, by a chi-squared test at 1e-7."""
    expected = np.asarray(chances) * np.sum(counts)
    return scipy.stats.chisquare(counts, expected).pvalue > 1e-7


def degrees_of(graph: AnyGraph) -> np.ndarray:
    return np.bincount(np.concatenate([graph.rows, graph.columns]), minlength=graph.n)


def edges_of(graph: AnyGraph) -> set[tuple[int, int]]:
    return set(zip(graph.rows.tolist(), graph.columns.tolist(), strict=True))
