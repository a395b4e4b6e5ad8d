"""The forecast of sparse releases, from public numbers."""

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.estimate.noisy_matrix import KeptEdges, threshold_for
from graphcuts_dp.privacy.value_noise import noise_distribution


@pytest.mark.parametrize(("n", "edges"), [(10**4, 5 * 10**4), (10**6, 10**7)])
@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_the_threshold_is_that_of_the_filter(n, edges, epsilon):
    plan = gc.plan(n=n, edges=edges, queries=100, epsilon=epsilon, delta=1e-6)
    noise = noise_distribution("laplace", epsilon=0.65 * epsilon)
    threshold = threshold_for(noise, pairs=n * (n - 1) // 2, edges=edges, false_share=0.1)
    # The formula leaves out a factor 1 + e^-rate, and the rounding up: about a scale of noise.
    assert abs(plan.sparse.threshold - threshold * noise.unit) < 1.2 / (0.65 * epsilon)
    assert "keeps edges" in " ".join(plan.remarks)


def test_noise_on_all_pairs_is_compared_with_the_edges():
    def beats(n, degree, epsilon=1.0):
        plan = gc.plan(n=n, edges=n * degree / 2, queries=10, epsilon=epsilon, delta=1e-6)
        return plan.sparse.beats_matrix

    assert beats(10**5, 10)
    assert not beats(200, 50)
    assert not beats(10**4, 50, epsilon=8.0)


def test_a_release_keeps_what_was_forecast():
    rng = np.random.default_rng(1)
    n, m = 2000, 20_000
    rows, columns = rng.integers(0, n, (2, m))
    graph = gc.Graph(rows, columns, np.full(m, 60.0), vertices=n, hide_change=1)
    plan = gc.plan(n=n, edges=m, queries=10, epsilon=1.0, delta=1e-6)
    release = gc.release_graph(graph, epsilon=1.0, mechanism="sparse", seed=1)
    kept = release.measurements.find(KeptEdges)
    assert kept.threshold * kept.unit == pytest.approx(plan.sparse.threshold, rel=0.25)
    errors = np.abs(release.degrees.rows * release.degrees.unit - graph.adjacency.sum(axis=1))
    assert errors.mean() < 1.5 * plan.sparse.degree_error
