"""How tests run a contender, and how sure they are."""

import numpy as np
import scipy.stats

from graphcuts_dp.evaluation.audit import clopper_pearson
from scripts.benchmark.runs import BenchmarkRun

ALPHA = 1e-9  # of each comparison of a share of runs with a chance, of which there are hundreds


def run(contender, graph, epsilon=1.0, *, delta=1e-6, groups=None, seed=7):
    return contender.method(graph, epsilon=epsilon, delta=delta, groups=groups, seed=seed)


def run_of(contender="ours", graph="karate", **fields):
    """A run of the benchmark as it stands in its file."""
    known = {
        "source": "this package", "epsilon": 1.0, "delta": 0.0, "seed": 0, "claimed_epsilon": 1.0,
        "claimed_delta": 0.0, "claim_holds": True, "audited": True, "failure": "", "shuffled": True,
        "errors": {"worst cut proven": 0.25, "seconds": 1.5}, "versions": "graphcuts_dp 0",
    }  # fmt: skip
    return BenchmarkRun(contender=contender, graph=graph, **(known | fields))


def wrong_by_luck(seen, runs, chance):
    """Whether a share of runs is impossible for a chance, but for a probability of ALPHA."""
    low, high = clopper_pearson(seen, runs, ALPHA / 2)
    return not low <= chance <= high


def follows(counts, chances):
    """Whether counts of all outcomes have these chances, but for a probability of 1e-7."""
    expected = np.asarray(chances) * np.sum(counts)
    return scipy.stats.chisquare(counts, expected).pvalue > 1e-7


def degrees_of(graph):
    return np.bincount(np.concatenate([graph.rows, graph.columns]), minlength=graph.n)


def edges_of(graph):
    return set(zip(graph.rows.tolist(), graph.columns.tolist(), strict=True))
