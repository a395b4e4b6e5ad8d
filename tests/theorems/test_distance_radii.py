"""Proven radii of distances are no wider than twice what errors are: neither too narrow nor idle.

Of each run the largest |error|/radius over all vertices is taken. If its quantile at the confidence
of the intervals were below 1/2, a run would reach 1/2 with probability at most 1 - confidence, and
the number of runs that do would be binomial: it has to be larger than that with a chance of 1e-6
allows. And runs above 1 have to be as few as were guaranteed.
"""

import networkx as nx
import numpy as np
import pytest
from scipy.stats import binom

import graphcuts_dp as gc
from graphcuts_dp.distances.answers import plan_distances
from graphcuts_dp.distances.locations import all_distances
from graphcuts_dp.plugins import SeededEntropy

CONFIDENCE = 0.95


def ring():
    graph = nx.cycle_graph(40)
    graph.add_edge(0, 13)
    return gc.distances.Metric.of(graph)


MAPS = {
    "path": gc.distances.Metric.path(128),
    "grid": gc.distances.Metric.grid(9, 12),
    "tree": gc.distances.Metric.of(nx.random_labeled_tree(80, seed=1)),
    "ring": ring(),
}
CASES = [
    *((kind, "tree-counts", noise, 200) for kind in ("grid", "tree", "ring")
      for noise in ("laplace", "gaussian")),
    ("path", "tree-counts", "gaussian", 200),
    *((kind, "learner", noise, 20) for kind in ("path", "grid")
      for noise in ("laplace", "gaussian")),
]  # fmt: skip


def worst_shares(kind, mechanism, noise, runs):
    metric = MAPS[kind]
    rng = np.random.default_rng(5)
    shares = rng.dirichlet(np.full(len(metric), 0.05))
    here = gc.distances.Locations(metric, rng.multinomial(10**6, shares))
    truth = all_distances(here)
    delta = 1e-6 if noise == "gaussian" else 0.0
    built = plan_distances(
        metric, people=10**6, epsilon=1.0, delta=delta, mechanism=mechanism, noise=noise
    ).best.built
    answered = (
        built.answer_all(here, SeededEntropy(seed), confidence=CONFIDENCE) for seed in range(runs)
    )
    return np.array([(np.abs(values - truth) / radii).max() for values, radii in answered])


def refuted(reached, runs):
    """Whether so many runs are too many for a chance of 1 - confidence each."""
    return binom.sf(reached - 1, runs, 1 - CONFIDENCE) < 1e-6


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(("kind", "mechanism", "noise", "runs"), CASES)
def test_the_radius_is_within_twice_the_typical_one_and_holds(kind, mechanism, noise, runs):
    shares = worst_shares(kind, mechanism, noise, runs)
    assert refuted(int((shares > 0.5).sum()), runs)
    assert not refuted(int((shares > 1).sum()), runs)


def test_a_radius_of_twice_the_width_would_be_found_idle():
    shares = worst_shares("grid", "tree-counts", "laplace", 200) / 2
    assert not refuted(int((shares > 0.5).sum()), 200)
