"""The maximum-entropy fit through the public function, on graphs at the edge of what there is."""

from dataclasses import replace

import numpy as np
import pytest
from noisy_cases import planted, planted_bipartite, problem

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import BipartiteGraph, DirectedGraph, Graph
from graphcuts_dp.release.choice import Response
from graphcuts_dp.release.synthesis import release_graph
from graphcuts_dp.synth.base import FitProblem
from graphcuts_dp.synth.methods import Fitting, MaximumEntropy
from scripts.benchmark.baselines import chung_lu

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")


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
    plain = FitProblem.of_matrix(rng.normal(size=(6, 4)), symmetric=False)
    uncapped = FitProblem(problem(star(9)).blocks, np.inf)
    for given in (plain, uncapped):
        with pytest.raises(ParameterError, match="weight cap") as caught:
            MaximumEntropy()(given)
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
    rows = noisy.rows.copy()
    rows[[0, 3]] = huge
    columns = noisy.columns if bipartite else rows
    broken = replace(given, degrees=(replace(noisy, rows=rows, columns=columns),))
    x = MaximumEntropy()(broken).matrix
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
