"""Fits by name: the game, and the maximum-entropy fit on graphs at the edge of what there is."""

from dataclasses import replace

import numpy as np
import pytest
from noisy_cases import matrix_problem, planted, planted_bipartite, problem

from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import BipartiteGraph, DirectedGraph, Graph
from graphcuts_dp.release.releases import release_graph
from graphcuts_dp.release.shares import Response
from graphcuts_dp.results.release import Release
from graphcuts_dp.synth.base import FitProblem
from graphcuts_dp.synth.cutting_plane import default_rounds, query_game
from graphcuts_dp.synth.first_order import first_order
from graphcuts_dp.synth.maximum_entropy import maximum_entropy
from graphcuts_dp.synth.methods import Fitting
from scripts.benchmark.baselines import chung_lu

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")

GRAPH, _ = planted([12, 12], 0.6, 0.1)
PROBLEM = problem(GRAPH)


def test_the_gap_closes_and_the_value_is_a_cut_of_the_residual():
    short = query_game(PROBLEM, max_rounds=50, tolerance=0)
    long = query_game(PROBLEM)
    assert long.gap < 0.1 < short.gap
    for found in (short, long):
        certificate = cut_norm(found.matrix - PROBLEM.noisy)
        assert found.lower <= certificate.upper
        assert 0.97 * certificate.lower <= found.value <= certificate.upper
        assert np.array_equal(found.matrix, found.matrix.T)
        assert found.matrix.min() >= 0
        assert found.matrix.max() <= 1


def test_no_worse_in_the_cut_norm_than_the_relaxation():
    """Both minimise nearly the same norm: the game's value is at most first-order's."""
    relaxed = first_order(PROBLEM)
    assert query_game(PROBLEM).value <= 1.02 * cut_norm(relaxed.matrix - PROBLEM.noisy).upper


def test_the_same_input_gives_the_same_output():
    first, second = (query_game(PROBLEM, max_rounds=60) for _ in range(2))
    assert np.array_equal(first.matrix, second.matrix)
    assert (first.value, first.lower, first.rounds) == (second.value, second.lower, second.rounds)


def test_it_stops_at_its_tolerance_its_rounds_or_its_time():
    assert query_game(PROBLEM, tolerance=0.5).stopped == "gap"
    few = query_game(PROBLEM, max_rounds=7)
    assert (few.stopped, few.rounds) == ("rounds", 7)
    hurried = query_game(PROBLEM, time_limit=1e-9)
    assert (hurried.stopped, hurried.rounds) == ("time", 1)
    assert default_rounds((100, 100)) > default_rounds((1000, 9))


def test_weights_without_a_cap_have_no_lower_bound():
    noisy = np.random.default_rng(0).normal(1, 2, (12, 12))
    found = query_game(matrix_problem(noisy, symmetric=False, cap=np.inf), max_rounds=50)
    start = np.maximum(noisy, 0) - noisy
    assert found.lower == 0
    assert found.value < cut_norm(start).lower
    assert found.matrix.max() > 1


def test_a_constant_matrix_is_fitted():
    flat = matrix_problem(np.full((6, 6), 1.5), symmetric=False)
    found = query_game(flat)
    assert found.matrix == pytest.approx(np.ones((6, 6)))
    assert found.value == pytest.approx(18)
    assert found.gap < 1e-9


@pytest.mark.parametrize("unweighted", [False, True])
def test_a_release_with_this_fit(tmp_path, unweighted):
    made = release_graph(GRAPH, epsilon=1.0, seed=1, fit=Fitting("game", unweighted=unweighted))
    assert made.fit.method == "game"
    assert made.fit.objective == "cut norm"
    assert 0 < made.fit.lower <= made.certificate.upper
    path = tmp_path / "synthetic.graphml"
    made.save(path)
    assert Release.load(path).graph == made.graph


def test_a_bipartite_release_with_this_fit():
    graph, _ = planted_bipartite([8, 8], [6, 6], 0.7, 0.1)
    made = release_graph(graph, epsilon=1.0, fit="game", seed=0)
    assert made.graph.shape == (16, 12)
    assert made.fit.gap < 0.15


def test_the_smallest_graph():
    made = release_graph(Graph([0], [1], vertices=2), epsilon=9.0, fit="game", seed=0)
    assert made.certificate.upper >= made.fit.lower


def star(n):
    return Graph(np.zeros(n - 1, int), np.arange(1, n), vertices=n)


def complete(n):
    return Graph(*np.triu_indices(n, 1), vertices=n)


GRAPHS = {
    "two vertices": Graph([0], [1], vertices=2),
    "three vertices": Graph([0], [1], vertices=3),
    "no edges": Graph([], [], vertices=25),
    "complete": complete(25),
    "star": star(40),
    "matching": Graph(np.arange(0, 40, 2), np.arange(1, 40, 2), vertices=40),
    "two cliques": planted((15, 15), 1.0, 0.0)[0],
    "1 x 1": BipartiteGraph([0], [0], left=1, right=1),
    "1 x 5": BipartiteGraph([0, 0], [1, 4], left=1, right=5),
    "5 x 1": BipartiteGraph([1, 4], [0, 0], left=5, right=1),
    "full bipartite": BipartiteGraph(*np.indices((8, 5)).reshape(2, -1), left=8, right=5),
    "bipartite star": BipartiteGraph(np.zeros(30, int), np.arange(30), left=30, right=30),
    "one arc": DirectedGraph([0], [1], vertices=2),
    "no arcs": DirectedGraph([], [], vertices=25),
    "all arcs": DirectedGraph(*np.nonzero(1 - np.eye(15)), vertices=15),
    "out-star": DirectedGraph(np.zeros(30, int), np.arange(1, 31), vertices=31),
    "arc weights": DirectedGraph([0, 1], [1, 0], [0.5, 2.5], vertices=9, weight_cap=2.5),
    "weights": Graph([0, 1, 4], [1, 2, 5], [0.5, 2.0, 1.25], vertices=20, weight_cap=2.5),
    "bipartite weights": BipartiteGraph(
        [0, 1], [1, 2], [0.5, 2.5], left=5, right=9, weight_cap=2.5
    ),
}


@pytest.mark.parametrize("mechanism", ["auto", "response", "degrees+response"])
@pytest.mark.parametrize("epsilon", [1e-4, 1.0, 50.0])
@pytest.mark.parametrize("name", GRAPHS)
def test_graphs_at_the_edge(name, epsilon, mechanism):
    """Warnings are errors here: no overflow, no division by zero, no entry out of the box."""
    graph = GRAPHS[name]
    noise = "laplace" if graph.weighted else "binary"
    made = release_graph(graph, epsilon=epsilon, noise=noise, mechanism=mechanism, seed=0)
    x = made.graph.dense()
    assert x.shape == graph.dense().shape
    assert np.isfinite(x).all()
    assert 0 <= x.min() <= x.max() <= graph.weight_cap
    if isinstance(graph, Graph):
        assert np.array_equal(x, x.T)
    if not isinstance(graph, BipartiteGraph):
        assert not x.diagonal().any()
    assert made.certificate.upper >= made.certificate.lower >= 0
    assert made.degrees is not None or mechanism != "degrees+response"


@pytest.mark.parametrize(
    "name", ["no edges", "complete", "two cliques", "full bipartite", "all arcs"]
)
def test_without_noise_to_speak_of_the_graph_comes_back(name):
    graph = GRAPHS[name]
    made = release_graph(graph, epsilon=50.0, mechanism="response", seed=0)
    assert np.abs(made.graph.dense() - graph.dense()).mean() < 0.02


@pytest.mark.parametrize("noise", ["laplace", "discrete-laplace"])
def test_other_noise_for_graphs_without_weights(noise):
    for graph in (star(40), GRAPHS["bipartite star"]):
        made = release_graph(graph, epsilon=50.0, noise=noise, seed=0)
        assert 0 <= made.graph.dense().min() <= made.graph.dense().max() <= 1


def test_the_least_epsilon_is_left_whole():
    made = release_graph(star(20), epsilon=1e-6, seed=0)
    assert made.guarantee.epsilon == 1e-6
    assert made.guarantee.parts == ()


@pytest.mark.parametrize("limit", [1e-9, 1e-3])
def test_a_tiny_time_limit_gives_a_point_of_the_box(limit):
    graph, _ = planted((40, 40), 0.5, 0.1)
    told = []
    made = release_graph(
        graph,
        epsilon=1.0,
        seed=0,
        progress=lambda *step: told.append(step),
        fit=Fitting(time_limit=limit),
    )
    assert made.fit.stopped == "time"
    assert made.fit.rounds == 1
    assert made.fit.time_limit == limit
    assert 0 <= made.graph.dense().min() <= made.graph.dense().max() <= 1
    assert all(0 <= done <= 1 for done, _ in told)
    assert told[-1] == (1.0, "certifying")


def test_matrices_without_a_distribution_or_a_cap_are_refused():
    rng = np.random.default_rng(0)
    plain = matrix_problem(rng.normal(size=(6, 4)), symmetric=False)
    uncapped = FitProblem(problem(star(9)).blocks, np.inf)
    for given in (plain, uncapped):
        with pytest.raises(ParameterError, match="weight cap") as caught:
            maximum_entropy(given)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("huge", [10**6, -(10**6), 2**60])
@pytest.mark.parametrize("bipartite", [False, True])
def test_vertices_with_huge_noisy_degrees(bipartite, huge):
    """The noise has no bound: the fit must have none on what it can take."""
    graph = (
        planted_bipartite((15, 15), (10, 10), 0.5, 0.1)[0]
        if bipartite
        else planted((20, 20), 0.5, 0.1)[0]
    )
    given = problem(graph, degrees=1)
    (noisy,) = given.degrees
    rows = noisy.steps[0].copy()
    rows[[0, 3]] = huge
    broken = replace(given, degrees=(replace(noisy, steps=(rows, *noisy.steps[1:])),))
    x = maximum_entropy(broken).matrix
    assert np.isfinite(x).all()
    assert 0 <= x.min() <= x.max() <= 1
    if not bipartite:
        assert np.array_equal(x, x.T)


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_noise_in_the_direction_of_the_degrees_makes_no_core(seed):
    """Entries with little of epsilon do not tell whether vertices of many neighbours are
    neighbours. The sum that says so has a noise of more than the mean degree; the graph may move
    from what its degrees expect by a twentieth of that, not by a tenth to a quarter."""
    n, density = 200, 0.3
    rng = np.random.default_rng(100)
    rows, columns = np.nonzero(np.triu(rng.random((n, n)) < density, 1))
    made = release_graph(
        Graph(rows, columns, vertices=n),
        epsilon=0.5,
        seed=seed,
        mechanism=Response("degrees+response", degree_share=0.97),
    )
    x = made.graph.dense()
    away = np.linalg.norm(x - chung_lu(x.sum(axis=1)), 2)
    assert away < 0.05 * density * n
