"""What a plan says of synthetic graphs, dense and sparse, beside what comes out."""

import math
from fractions import Fraction

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp import cut_job
from graphcuts_dp.estimate.kept_edges import threshold_for
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.estimate.worst_cut_errors import expected_worst_cut
from graphcuts_dp.learn.detectability import degrees_needed, difference_needed
from graphcuts_dp.learn.least_cut_error import WEIGHT_SHARE, CutRates
from graphcuts_dp.learn.sizes import ArcsOn
from graphcuts_dp.learn.workload import Setting
from graphcuts_dp.planning.synthetic import response_forecast, synthetic_forecast

ONE = gc.SessionWorkload(queries=1)


def forecast(n, edges, epsilon):
    return synthetic_forecast(Setting(n=n, edges=edges, workload=ONE, epsilon=epsilon))


@pytest.mark.thorough(cases=4)
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(("strength", "seen"), [(0.6, False), (1.6, True)])
def test_the_strongest_communities_show_where_the_forecast_says_so(epsilon, strength, seen):
    """Two halves without an edge between them: the second eigenvalue is the average degree."""
    n = 600
    noise = math.sqrt(n) / (2 * math.sinh(epsilon / 2))
    inside = strength * noise / (n / 2)
    draw = np.random.default_rng(3)
    sign = np.repeat([1.0, -1.0], n // 2)
    truth = np.triu((draw.random((n, n)) < inside) & np.equal.outer(sign, sign), 1)
    flip = 1 / (1 + math.exp(epsilon))
    bits = np.triu(truth ^ (draw.random((n, n)) < flip), 1)
    z = (bits - flip * np.triu(np.ones((n, n)), 1)) / (1 - 2 * flip)
    z += z.T
    z -= z.sum() / (n * (n - 1)) * (1 - np.eye(n))
    vector = np.linalg.eigh(z)[1][:, -1]
    # Below the threshold the overlap is of the order 1/sqrt(n); at 1.6 it is (1 - 1.6^-2)^(1/2).
    assert (abs(vector @ sign) / math.sqrt(n) > 0.5) == seen
    found = forecast(n, float(truth.sum()), epsilon)
    assert found.noise == pytest.approx(noise)
    assert (found.keeps in ("communities", "strong communities")) == seen


def test_epsilons_are_those_where_the_verdict_changes():
    found = forecast(4039, 88_234, 1.0)
    assert found.keeps == "degrees"
    for change, keeps in ((-1e-9, "strong communities"), (1e-9, "communities")):
        assert forecast(4039, 88_234, found.epsilon_for_communities + change).keeps == keeps
    odds = 88_234 / (4039 * 4038 / 2 - 88_234)
    assert odds * math.exp(found.epsilon_for_edges) == pytest.approx(1)


def test_dense_graphs_are_judged_by_what_is_missing():
    sparse, dense = forecast(100, 400, 1.0), forecast(100, 4950 - 400, 1.0)
    assert sparse.strength == pytest.approx(dense.strength)
    assert (sparse.epsilon_for_edges > 0, dense.epsilon_for_edges) == (True, 0.0)


def test_graphs_of_few_edges_and_full_ones():
    found = forecast(10_000, 100, 0.1)
    assert found.keeps == "nothing"
    assert "hardly more than the number of edges" in str(found)
    found = forecast(10, 45, 50.0)
    assert math.isinf(found.epsilon_for_communities)
    assert "communities show at no epsilon; single edges show at any epsilon" in str(found)


@pytest.mark.parametrize("n", [500, (200, 800), ArcsOn(500)])
def test_the_degrees_that_are_needed_are_where_the_verdict_changes(n):
    degree, single = degrees_needed(n, epsilon=1.0)
    side = {500: 2 / 500, (200, 800): 1 / 400, ArcsOn(500): 1 / 500}[n]
    for factor, keeps in ((0.999, "strong communities"), (1.001, "communities")):
        assert forecast(n, factor * degree / side, 1.0).keeps == keeps
    assert forecast(n, single / side, 1.0).epsilon_for_edges == pytest.approx(1.0)


def test_a_plan_says_it():
    made = gc.plan(4039, edges=88_234, queries=100, epsilon=1.0, delta=1e-6)
    assert f"\nSynthetic graph: {made.synthetic}.\n" in str(made)
    assert made.to_dict()["synthetic_graph"]["keeps"] == "degrees"


# Randomised response


@pytest.mark.thorough
@pytest.mark.parametrize("groups", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_planted_groups_are_kept_where_the_forecast_says_so(groups):
    """Above the difference of the forecast all of it stays; below, what noisy entries show."""
    n, epsilon, density = 400, 2.0, 0.3
    noise = noise_distribution("binary", epsilon=epsilon, max_weight=1.0)
    forecast = response_forecast(n, noise, edges=density * n * (n - 1) / 2)
    needed = forecast.difference_of_halves * groups / 2
    label = np.arange(n) % groups
    same = np.equal.outer(label, label)
    pairs = ~np.eye(n, dtype=bool)
    draw = np.random.default_rng(groups)
    for factor, kept in ((1.2, True), (0.6, False)):
        difference = factor * needed
        between = density - difference / groups  # the density of all pairs stays
        truth = np.triu(draw.random((n, n)) < between + difference * same, 1)
        graph = gc.Graph.of(truth | truth.T, weighted=False)
        released = gc.release_graph(
            graph, epsilon=epsilon, mechanism="randomized-response", seed=groups
        )
        x = released.expected.dense()
        shown = x[same & pairs].mean() - x[~same].mean()
        assert (shown > 0.72 * difference) == kept


def test_the_response_of_a_plan_is_that_of_its_noise():
    plan = gc.plan(n=500, edges=5000, queries=10, epsilon=1.5, delta=1e-6)
    noise = noise_distribution("binary", epsilon=1.5, max_weight=1.0)
    deviation = noise.standard_deviation
    assert deviation == pytest.approx(1 / (2 * math.sinh(0.75)))
    assert plan.response.difference_of_groups == pytest.approx(
        4 * plan.response.difference_of_halves
    )
    # Without edges the direction of halves is as strong as the degree that communities need.
    communities, _ = degrees_needed(500, epsilon=1.5)
    empty = response_forecast(500, noise, edges=0)
    assert empty.difference_of_halves * 500 / 2 == pytest.approx(communities)
    assert empty.difference_of_halves == difference_needed(500, 2, deviation=deviation)
    assert empty.difference_of_halves < plan.response.difference_of_halves
    assert plan.response.degree_error == pytest.approx(deviation * math.sqrt(500))
    assert plan.response.worst_cut_error == pytest.approx(expected_worst_cut(noise, (500, 500)))
    assert f"Randomised response: {plan.response}." in plan.remarks
    few = gc.plan(n=20, edges=50, queries=10, epsilon=0.2, delta=1e-6)
    assert few.response.difference_of_halves > 1
    assert "which no graph has" in str(few.response)


# Sparse releases


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


@pytest.mark.thorough
def test_a_release_keeps_what_was_forecast():
    rng = np.random.default_rng(1)
    n, m = 600, 6000
    rows, columns = rng.integers(0, n, (2, m))
    graph = gc.Graph(rows, columns, np.full(m, 60.0), vertices=n, max_weight_change=1)
    plan = gc.plan(n=n, edges=m, queries=10, epsilon=1.0, delta=1e-6)
    release = gc.release_graph(graph, epsilon=1.0, mechanism="sparse", seed=1)
    kept = release.measurements.kept
    assert kept.threshold * kept.unit == pytest.approx(plan.sparse.threshold, rel=0.25)
    errors = np.abs(release.degrees.values[0] - graph.adjacency.sum(axis=1))
    assert errors.mean() < 1.5 * plan.sparse.degree_error


# Least cuts


def rows_of_parts(plan):
    return {row.method: row for row in plan.rows if row.cuts in ("between two", "halves")}


@pytest.mark.parametrize(("privacy_unit", "k"), [("edge", 1), ("edge:4", 4)])
def test_what_a_plan_says_of_least_cuts_is_what_the_cut_says(privacy_unit, k):
    graph = gc.Graph([0], [1], vertices=300)
    plan = gc.plan(300, epsilon=2.0, privacy_unit=privacy_unit, target_error=50)
    row = rows_of_parts(plan)["least cut"]
    job = cut_job(graph, 0, 1, epsilon=2.0, privacy_unit=privacy_unit)
    assert row.guaranteed == pytest.approx(next(iter(job.errors()))[1], rel=1e-9)
    assert row.typical == pytest.approx(CutRates.of(Fraction(2, k), 1).mean_excess(300, 2))
    noisy = 300 / (2 * math.sinh((1 - WEIGHT_SHARE) / k))
    assert noisy < row.typical < row.guaranteed < 2 * row.typical
    assert "Least cut: what a private cut" in str(plan)
    needed = gc.plan(300, epsilon=row.epsilon_needed, privacy_unit=privacy_unit)
    assert rows_of_parts(needed)["least cut"].guaranteed <= 50


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_what_a_plan_says_of_partitions_is_the_half_of_their_interval(epsilon):
    """Of a graph in which both ends of it are possible."""
    inside = np.triu_indices(60, 1)
    graph = gc.Graph(*(side[::2] for side in inside), vertices=60)
    release = gc.release_graph(graph, epsilon=epsilon, mechanism="randomized-response", seed=1)
    found = release.partition("balanced")
    row = rows_of_parts(gc.plan(60, epsilon=epsilon))["partition"]
    cut = gc.CutQuery(found.codes == 0)
    noisy = release.noisy.cut_value(*cut.masks(release.space))
    low, high = found.interval
    assert min(noisy - low, high - noisy) <= row.guaranteed * (1 + 1e-9)
    assert max(noisy - low, high - noisy) == pytest.approx(row.guaranteed) or epsilon == 1.0


def test_a_plan_has_no_rows_of_parts_where_there_are_none():
    assert not rows_of_parts(gc.plan((20, 30), epsilon=1.0))
    assert not rows_of_parts(
        gc.plan(20, epsilon=1.0, queries=gc.SessionWorkload(queries=9, linear=True))
    )
    assert not rows_of_parts(
        gc.plan(20, epsilon=1.0, privacy_unit=gc.PrivacyUnit.vertex(max_degree=3))
    )
    assert rows_of_parts(gc.plan(20, epsilon=1.0, directed=True)).keys() == {"least cut"}
