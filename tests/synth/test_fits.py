"""What every fit must satisfy, on matrices of every kind and on graphs at the edge."""

from dataclasses import replace

import numpy as np
import pytest
from noisy_cases import matrix_problem, planted, planted_bipartite, planted_directed, problem
from threadpoolctl import threadpool_limits

from graphcuts_dp import (
    BipartiteGraph,
    DirectedGraph,
    Graph,
    Mechanism,
    ParameterError,
    cut_norm,
    release_graph,
    resources,
)
from graphcuts_dp.plugins import FitProblem
from graphcuts_dp.schema import layout as layout_module
from graphcuts_dp.synth import block_model, first_order, maximum_entropy
from graphcuts_dp.synth.methods import FITS
from scripts.benchmark.baselines import chung_lu

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")

GAP_FITS = [name for name in FITS if name != "maximum-entropy"]
KINDS = {
    "undirected": problem(planted((12, 12), 0.6, 0.1)[0]),
    "directed": problem(planted_directed((9, 9), 0.6, 0.1, 0.2)[0]),
    "bipartite": problem(planted_bipartite((8, 8), (6, 6), 0.7, 0.1)[0]),
}
# Of the value, over the cut norm of the residual: Krivine's constant for the relaxation; what the
# oracles find may be less than the largest cut.
WITHIN = {"first-order": (0.999, 1.783), "game": (0.97, 1.0), "cutting-plane": (0.97, 1.0)}


@pytest.fixture(autouse=True)
def few_starts(monkeypatch):
    """Which blocks are found does not matter here."""
    monkeypatch.setattr(block_model, "_STARTS", 2)
    monkeypatch.setattr(block_model, "_FEWEST_STARTS", 2)


def check_in_box(x, given):
    assert x.shape == given.shape
    assert np.isfinite(x).all()
    assert 0 <= x.min() <= x.max() <= given.cap
    assert not given.symmetric or np.array_equal(x, x.T)
    assert not given.hollow or not x.diagonal().any()


def check_same(found, other):
    assert np.array_equal(found.matrix, other.matrix)
    assert (found.value, found.lower, found.rounds) == (other.value, other.lower, other.rounds)


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fit", FITS)
def test_a_fit_is_a_point_of_the_box_and_its_value_that_of_the_residual(fit, kind):
    given = KINDS[kind]
    found = FITS[fit].run(given)
    check_in_box(found.matrix, given)
    assert found.method == fit
    if fit == "maximum-entropy":
        assert (found.value, found.lower, found.gap, found.tolerance) == (None,) * 4
        return
    assert found.stopped in ("gap", "rounds")
    assert found.gap <= (found.tolerance if found.stopped == "gap" else 0.2)
    residual = found.matrix - given.noisy
    if fit == "spectral":
        assert found.value == pytest.approx(np.linalg.norm(residual, 2))
        return
    certificate = cut_norm(residual)
    low, high = WITHIN[fit]
    assert low * certificate.lower <= found.value <= high * certificate.upper * (1 + 1e-9)
    assert 0 < found.lower <= high * certificate.upper


@pytest.mark.parametrize("fit", FITS)
def test_a_fit_stops_at_its_time_its_rounds_or_its_tolerance_and_repeats(fit):
    told, given, run = [], KINDS["undirected"], FITS[fit].run
    found = run(given, time_limit=1e-9, progress=lambda *step: told.append(step))
    assert (found.stopped, found.rounds) == ("time", 1)
    check_in_box(found.matrix, given)
    assert told
    assert all(0 <= done <= 1 for done, _ in told)
    assert given.blocks.map(lambda block: len(block.workspace)) == [0]  # nothing is left behind
    if fit == "maximum-entropy":
        check_same(run(given), run(given))
        return
    few, again = (run(given, max_rounds=3, tolerance=0) for _ in range(2))
    check_same(few, again)
    assert (few.stopped, few.rounds) == ("rounds", 3)
    rough = run(given, tolerance=0.5)
    assert rough.stopped == "gap"
    assert rough.gap <= 0.5


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("fit", GAP_FITS)
@pytest.mark.parametrize("cap", [0.3, np.inf])
@pytest.mark.parametrize("symmetric", [True, False])
def test_weights_stay_within_any_cap_and_without_one_pass_it(fit, cap, symmetric):
    """A cap that float32 does not hold; without one the lower bound says next to nothing."""
    noisy = np.random.default_rng(0).normal(1, 2, (12, 12 if symmetric else 9))
    if symmetric:
        noisy = np.triu(noisy, 1) + np.triu(noisy, 1).T
    given = matrix_problem(noisy, symmetric, cap)
    found = FITS[fit].run(given)
    check_in_box(found.matrix, replace(given, cap=np.float32(cap)))
    assert found.lower <= found.value * (1 + 1e-4)
    assert 0 <= found.gap <= 1
    if cap == np.inf:
        nearest = np.maximum(noisy, 0)
        assert cut_norm(found.matrix - noisy).lower < cut_norm(nearest - noisy).lower
        assert found.matrix.max() > 1


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("fit", "degrees", "symmetric"),
    [
        ("first-order", None, False),
        ("maximum-entropy", None, True),
        ("maximum-entropy", 1, False),
    ],
)
def test_any_number_of_threads_gives_the_same_fit_to_the_last_bit(
    fit, degrees, symmetric, monkeypatch
):
    monkeypatch.setattr(layout_module, "_SMALL", 0)
    monkeypatch.setattr(layout_module, "_BLOCK_ENTRIES", 1)
    monkeypatch.setattr(maximum_entropy, "_CHUNK_ENTRIES", 200)
    monkeypatch.setattr(first_order, "_CHUNK_ENTRIES", 300)
    graph = planted((11,) * 3, 0.9, 0.05)[0]
    if not symmetric:
        graph = planted_bipartite((11,) * 3, (9,) * 3, 0.9, 0.05)[0]
    options = {"max_rounds": 25} if fit == "first-order" else {}
    fits = []
    for threads in (1, 3):
        monkeypatch.setattr(resources, "_processors", lambda count=threads: count)
        given = problem(graph, epsilon=2.0, degrees=degrees)
        assert len(given.blocks.layout.bounds()) == 5
        with threadpool_limits(threads, user_api="blas"):
            fits.append(FITS[fit].run(given, **options))
    check_same(*fits)
    check_in_box(fits[0].matrix, given)


def test_matrices_without_a_distribution_or_a_cap_are_refused():
    plain = matrix_problem(np.ones((6, 4)), symmetric=False)
    for given in (plain, FitProblem(KINDS["undirected"].blocks, np.inf)):
        with pytest.raises(ParameterError, match="maximum weight"):
            FITS["maximum-entropy"].run(given)


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("huge", [-(10**6), 2**60])
@pytest.mark.parametrize("bipartite", [False, True])
def test_vertices_with_huge_noisy_degrees(bipartite, huge):
    """The noise has no bound: the fit must have none on what it can take."""
    graph = planted((20, 20), 0.5, 0.1)[0]
    if bipartite:
        graph = planted_bipartite((15, 15), (10, 10), 0.5, 0.1)[0]
    given = problem(graph, degrees=1)
    noisy = given.degrees
    rows = noisy.steps[0].copy()
    rows[[0, 3]] = huge
    broken = replace(given, degrees=replace(noisy, steps=(rows, *noisy.steps[1:])))
    check_in_box(FITS["maximum-entropy"].run(broken).matrix, given)


GRAPHS = {
    "two vertices": Graph([0], [1], vertices=2),
    "three vertices": Graph([0], [1], vertices=3),
    "no edges": Graph([], [], vertices=15),
    "complete": Graph(*np.triu_indices(15, 1), vertices=15),
    "star": Graph(np.zeros(19, int), np.arange(1, 20), vertices=20),
    "matching": Graph(np.arange(0, 20, 2), np.arange(1, 20, 2), vertices=20),
    "two cliques": planted((9, 9), 1.0, 0.0)[0],
    "1 x 1": BipartiteGraph([0], [0], left=1, right=1),
    "1 x 5": BipartiteGraph([0, 0], [1, 4], left=1, right=5),
    "5 x 1": BipartiteGraph([1, 4], [0, 0], left=5, right=1),
    "full bipartite": BipartiteGraph(*np.indices((8, 5)).reshape(2, -1), left=8, right=5),
    "bipartite star": BipartiteGraph(np.zeros(15, int), np.arange(15), left=15, right=15),
    "one arc": DirectedGraph([0], [1], vertices=2),
    "no arcs": DirectedGraph([], [], vertices=15),
    "all arcs": DirectedGraph(*np.nonzero(1 - np.eye(12)), vertices=12),
    "out-star": DirectedGraph(np.zeros(15, int), np.arange(1, 16), vertices=16),
    "arc weights": DirectedGraph([0, 1], [1, 0], [0.5, 2.5], vertices=9, max_weight=2.5),
    "weights": Graph([0, 1, 4], [1, 2, 5], [0.5, 2.0, 1.25], vertices=12, max_weight=2.5),
    "bipartite weights": BipartiteGraph(
        [0, 1], [1, 2], [0.5, 2.5], left=5, right=9, max_weight=2.5
    ),
}
SEEN = ("no edges", "complete", "two cliques", "full bipartite", "all arcs")
RELEASES = (
    (1e-4, "degrees+randomized-response"),
    (1.0, "degrees+randomized-response"),
    (50.0, "randomized-response"),
)
# Each graph has one quick release, in turn; those that come back have that without noise, too.
AT_THE_EDGE = [
    pytest.param(name, *release, marks=() if quick else pytest.mark.slow)
    for number, name in enumerate(GRAPHS)
    for index, release in enumerate(RELEASES)
    for quick in [number % 3 == index or (name in SEEN and release[0] == 50.0)]
]


@pytest.mark.thorough(cases=3)
@pytest.mark.parametrize(("name", "epsilon", "mechanism"), AT_THE_EDGE)
def test_graphs_at_the_edge(name, epsilon, mechanism):
    """Warnings are errors here: no overflow, no division by zero, no entry out of the box. Without
    noise to speak of the graph comes back."""
    graph = GRAPHS[name]
    noise = "laplace" if graph.weighted else "binary"
    made = release_graph(graph, epsilon=epsilon, noise=noise, mechanism=mechanism, seed=0)
    check_in_box(made.graph.dense(), FitProblem(made.noisy.blocks, graph.max_weight))
    assert made.certificate.upper >= made.certificate.lower >= 0
    assert (made.degrees is None) is (mechanism == "randomized-response")
    if mechanism == "randomized-response" and name in SEEN:
        assert np.abs(made.graph.dense() - graph.dense()).mean() < 0.02


@pytest.mark.parametrize("seed", [1, 4])
def test_noise_in_the_direction_of_the_degrees_makes_no_core(seed):
    """Entries with little of epsilon do not tell whether vertices of many neighbours are
    neighbours. The sum that says so has a noise of more than the mean degree; the graph may move
    from what its degrees expect by a twentieth of that, not by a tenth to a quarter."""
    n, density = 200, 0.3
    rng = np.random.default_rng(100)
    ends = np.nonzero(np.triu(rng.random((n, n)) < density, 1))
    how = Mechanism("degrees+randomized-response", degree_share=0.97)
    made = release_graph(Graph(*ends, vertices=n), epsilon=0.5, seed=seed, mechanism=how)
    x = made.expected.dense()
    away = np.linalg.norm(x - chung_lu(x.sum(axis=1)), 2)
    assert away < 0.05 * density * n
