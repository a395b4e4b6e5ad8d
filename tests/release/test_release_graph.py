"""The public function: parameters, promises, and what every release looks like."""

import dataclasses
import inspect
import math
import warnings

import helpers
import numpy as np
import pytest
from noisy_cases import matrix_problem

from graphcuts_dp.errors import AccuracyWarning, GraphError, ParameterError
from graphcuts_dp.estimate.measurement import Measurements
from graphcuts_dp.estimate.noisy_matrix import noise_distribution
from graphcuts_dp.graph.adjacency import BipartiteGraph, DirectedGraph, Graph
from graphcuts_dp.measure.entries import randomized_response
from graphcuts_dp.pairs.vertices import VertexSet
from graphcuts_dp.privacy.noise import SeededEntropy, SystemEntropy
from graphcuts_dp.release import measuring as mechanism
from graphcuts_dp.release import releases
from graphcuts_dp.release.releases import release_graph
from graphcuts_dp.release.shares import Response
from graphcuts_dp.synth.cutting_plane import QueryGame
from graphcuts_dp.synth.methods import FITS as METHODS
from graphcuts_dp.synth.methods import Fitting

NOISES = ["binary", "laplace", "discrete-laplace"]
NORM_FITS = ["cutting-plane", "first-order", "spectral", "game"]  # they minimise a norm, to a gap
FITS = ["maximum-entropy", *NORM_FITS]
SEEDED = "seeded: not private"


@pytest.fixture(autouse=True)
def short_games(monkeypatch):
    """What holds here holds after any round; tests of fits play to the end."""
    monkeypatch.setattr(QueryGame, "most_rounds", {math.inf: 60})


def random_graph(n=14, *, cap=None, weighted=False, density=0.3):
    largest = (cap or 5.0) if weighted else None
    return helpers.random_graph(n, density=density, largest=largest, whole=True, weight_cap=cap)


def random_bipartite(*, cap=None, weighted=False):
    largest = (cap or 5.0) if weighted else None
    options = {"largest": largest, "whole": True, "weight_cap": cap}
    return helpers.random_graph((6, 9), density=0.4, **options)


def random_directed(*, cap=None, weighted=False):
    largest = (cap or 5.0) if weighted else None
    options = {"largest": largest, "whole": True, "weight_cap": cap}
    return helpers.random_graph(8, density=0.4, directed=True, **options)


MAKERS = [random_graph, random_bipartite, random_directed]


def check_box(graph, cap):
    matrix = graph.dense()
    assert (matrix >= 0).all()
    assert (matrix <= cap).all()
    if isinstance(graph, Graph):
        assert np.array_equal(matrix, matrix.T)
    if not isinstance(graph, BipartiteGraph):
        assert not matrix.diagonal().any()


@pytest.mark.parametrize("fit", [*FITS, "auto"])
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("make", MAKERS)
def test_every_fit_and_noise_stays_in_the_box(make, noise, fit):
    graph = make()
    made = release_graph(graph, epsilon=3.0, noise=noise, fit=fit, seed=1)
    assert type(made.graph) is type(graph)
    check_box(made.graph, 1.0)
    assert made.noisy.steps.shape == graph.dense().shape
    assert made.certificate.lower <= made.certificate.upper
    if fit in NORM_FITS:
        assert 0 <= made.fit.lower <= made.fit.value * (1 + 1e-4)
        assert 0 <= made.fit.gap <= 1
        assert made.fit.mixed == 0
    else:
        assert (made.fit.value, made.fit.lower, made.fit.gap) == (None, None, None)
    assert made.fit.method == ("maximum-entropy" if fit == "auto" else fit)


@pytest.mark.parametrize("name", NORM_FITS)
@pytest.mark.parametrize("cap", [1.0, 0.3, math.inf])
@pytest.mark.parametrize("symmetric", [True, False])
def test_fits_before_rounding_are_symmetric_to_the_last_bit(name, cap, symmetric):
    rng = np.random.default_rng(2)
    noisy = rng.normal(0.3, 1.0, (9, 9 if symmetric else 5))
    if symmetric:
        noisy = np.triu(noisy, 1) + np.triu(noisy, 1).T
    found = METHODS[name].run(matrix_problem(noisy, symmetric, cap))
    assert (found.matrix >= 0).all()
    assert (found.matrix <= np.float32(cap)).all()
    if symmetric:
        assert np.array_equal(found.matrix, found.matrix.T)
        assert not found.matrix.diagonal().any()
    assert found.lower <= found.value * (1 + 1e-4)
    assert 0 <= found.gap <= 1


def test_the_fit_is_chosen_by_the_cap_and_the_oracle():
    uncapped, simple = random_graph(weighted=True), random_graph()
    assert release_graph(uncapped, epsilon=9.0, noise="laplace").fit.method == "first-order"
    assert (
        release_graph(simple, epsilon=9.0, fit=Fitting(oracle="spectral")).fit.method
        == "cutting-plane"
    )
    with pytest.raises(ParameterError, match="weight_cap"):
        release_graph(uncapped, epsilon=9.0, noise="laplace", fit="maximum-entropy")


WITHOUT_CAP = [fit for fit in FITS if fit != "maximum-entropy"]


@pytest.mark.parametrize(
    ("cap", "fit"), [*((5.0, fit) for fit in FITS), *((None, fit) for fit in WITHOUT_CAP)]
)
@pytest.mark.parametrize("noise", ["laplace", "discrete-laplace"])
@pytest.mark.parametrize("make", MAKERS)
def test_weights_with_and_without_a_cap(make, noise, cap, fit):
    graph = make(cap=cap, weighted=True)
    made = release_graph(graph, epsilon=20.0, noise=noise, fit=fit, seed=3)
    assert made.graph.weighted
    assert made.graph.weight_cap == cap
    check_box(made.graph, math.inf if cap is None else cap)
    neighbours = made.guarantee.neighbours
    assert ("by at most 1" in neighbours) if cap is None else ("within 0 .. 5" in neighbours)
    assert ("weight cap" in made.guarantee.public) == (cap is not None)


def test_heavy_weights_without_a_cap_stay_integers_and_sums_exact():
    """2^33 grid steps and more: wider than 32 bits, and their sum wider than 64."""
    n = 110
    rows, columns = np.triu_indices(n, 1)
    graph = Graph(rows, columns, np.full(len(rows), 4.0e9), vertices=n, hide_change=1)
    made = release_graph(graph, epsilon=1.0, noise="laplace", fit="none", seed=0)
    assert made.noisy.steps.dtype.kind in "iu"
    everything = np.ones(n, dtype=bool)
    answer = made.answer(everything, everything)
    truth = 4.0e9 * len(rows)
    assert sum(int(step) for step in made.noisy.steps[rows, columns]) > 2**63
    assert answer.interval[0] <= truth <= answer.interval[1]
    shape = random_bipartite(weighted=True)
    sides = {"left": shape.left, "right": shape.right, "hide_change": 1}
    heavy = BipartiteGraph(shape.rows, shape.columns, shape.weights * 1e6, **sides)
    noisy = release_graph(heavy, epsilon=1.0, noise="laplace", fit="none", seed=0).noisy
    assert noisy.steps.dtype == np.int64


@pytest.mark.parametrize("make", MAKERS)
def test_without_a_fit_there_is_no_graph(make):
    made = release_graph(make(), epsilon=3.0, fit="none", seed=1)
    assert not made.has_graph
    assert made.fit is None
    assert made.certificate is None
    with pytest.raises(GraphError, match="no synthetic graph"):
        _ = made.graph


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("make", MAKERS)
def test_unweighted_rounding(make, fit):
    made = release_graph(make(), epsilon=3.0, seed=1, fit=Fitting(fit, unweighted=True))
    assert not made.graph.weighted
    assert set(np.unique(made.graph.dense())) <= {0.0, 1.0}
    assert made.fit.unweighted
    again = release_graph(make(), epsilon=3.0, seed=1, fit=Fitting(fit, unweighted=True))
    assert again.graph == made.graph


def test_the_certificate_is_of_the_synthetic_graph_as_released():
    for unweighted in (False, True):
        made = release_graph(
            random_graph(), epsilon=3.0, seed=4, fit=Fitting(unweighted=unweighted)
        )
        difference = made.graph.dense() - made.noisy.estimate()
        assert math.isclose(made.certificate.verify(difference), made.certificate.lower)
        S, T = made.certificate.S, made.certificate.T
        assert math.isclose(abs(difference[np.ix_(S, T)].sum()), made.certificate.lower)


def test_the_guarantee_text():
    made = release_graph(random_graph(), epsilon=3.0, fit="none")
    assert made.guarantee.epsilon == 3.0
    assert made.guarantee.delta == 0
    assert made.guarantee.is_private
    text = str(made.guarantee)
    assert "epsilon = 3" in text
    assert "whether any one pair is an edge" in text
    assert "public: the vertex set" in text
    both = release_graph(random_bipartite(), epsilon=3.0, fit="none")
    assert "both vertex sets" in str(both.guarantee)
    arcs = release_graph(random_directed(), epsilon=3.0, fit="none")
    assert "whether any one ordered pair is an arc" in str(arcs.guarantee)
    assert "public: the vertex set" in str(arcs.guarantee)
    for release in (made, both, arcs):
        assert SEEDED not in repr(release) + str(release.guarantee)
        assert SEEDED not in str(release.answer([0]))


def test_repr_tells_public_facts_only():
    made = release_graph(random_graph(), epsilon=3.0, noise="laplace", fit="spectral", seed=0)
    assert repr(made) == (f"Release(14 x 14, epsilon=3, noise='laplace', fit='spectral', {SEEDED})")
    none = release_graph(random_bipartite(), epsilon=3.0, fit="none")
    assert repr(none) == "Release(6 x 9, epsilon=3, noise='binary', no synthetic graph)"


def test_seeded_runs_repeat_and_others_do_not():
    graph = random_graph(n=40)
    first, second = (release_graph(graph, epsilon=3.0, fit="none", seed=5) for _ in range(2))
    assert np.array_equal(first.noisy.steps, second.noisy.steps)
    first, second = (release_graph(graph, epsilon=3.0, fit="none") for _ in range(2))
    # 780 bits that each differ with probability 2q(1-q) = 0.09: all equal with 0.91^780 < 1e-31.
    assert not np.array_equal(first.noisy.steps, second.noisy.steps)


@pytest.mark.parametrize("fit", [*FITS, "none"])
def test_two_vertices(fit):
    edge = Graph([0], [1], vertices=2)
    made = release_graph(edge, epsilon=20.0, fit=fit, seed=0)
    assert made.noisy.steps.tolist() == [[0, 1], [1, 0]]  # a flip has probability 2e-9
    if fit != "none":
        check_box(made.graph, 1.0)
        assert made.graph.dense()[0, 1] > 0.9
    arc = DirectedGraph([1], [0], vertices=2)
    made = release_graph(arc, epsilon=20.0, fit=fit, seed=0)
    assert made.noisy.steps.tolist() == [[0, 0], [1, 0]]
    if fit != "none":
        check_box(made.graph, 1.0)
        assert made.graph.dense()[1, 0] > 0.9 > 0.5 > made.graph.dense()[0, 1]
    one = BipartiteGraph([0], [0], left=1, right=1)
    assert release_graph(one, epsilon=20.0, fit=fit, seed=0).noisy.steps.tolist() == [[1]]


def test_one_vertex_has_nothing_to_release():
    with pytest.raises(GraphError, match="one vertex"):
        release_graph(Graph([], [], vertices=1), epsilon=1.0)
    with pytest.raises(GraphError, match="one vertex"):
        release_graph(DirectedGraph([], [], vertices=1), epsilon=1.0)


@pytest.mark.parametrize("graph", [np.zeros((3, 3)), None, "graph.edges"])
def test_only_graphs_are_released(graph):
    with pytest.raises(GraphError, match="must be a Graph"):
        release_graph(graph, epsilon=1.0)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"epsilon": 1e9}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"epsilon": True}, "epsilon"),
        ({"noise": "gauss"}, "unknown noise"),
        ({"fit": "best"}, "unknown fit"),
        ({"fit": Fitting("none", unweighted=True)}, "unweighted"),
        ({"seed": -1}, "seed"),
        ({"seed": 1.5}, "seed"),
        ({"seed": True}, "seed"),
        ({"mechanism": "degrees"}, "unknown mechanism"),
        ({"mechanism": None}, "mechanism is a name or a Response"),
        ({"mechanism": "degrees+response", "fit": "spectral"}, "maximum-entropy"),
        ({"mechanism": "degrees+response", "fit": "none"}, "maximum-entropy"),
        ({"mechanism": Response(degree_share=0.3), "fit": "first-order"}, "maximum-entropy"),
        ({"mechanism": Response("degrees+response", degree_share=1e-9)}, "below 1e-06"),
        ({"mechanism": Response("degrees+response", degree_share=1 - 1e-9)}, "below 1e-06"),
    ],
)
def test_options_out_of_range_cost_nothing(options, match, monkeypatch):
    forbid_noise(monkeypatch)
    with pytest.raises(ParameterError, match=match) as caught:
        release_graph(random_graph(), **{"epsilon": 3.0, **options})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"fit": "best"}, "unknown fit"),
        ({"fit": 5}, "as `FitMethod` describes it"),
        ({"oracle": "delphi"}, "unknown oracle"),
        ({"fit": "first-order", "oracle": "spectral"}, "oracle"),
        ({"fit": "none", "oracle": "spectral"}, "oracle"),
        ({"time_limit": 0}, "time_limit"),
        ({"time_limit": -3.0}, "time_limit"),
        ({"time_limit": math.nan}, "time_limit"),
    ],
)
def test_ways_to_fit_that_make_no_sense_are_refused(options, match):
    with pytest.raises(ParameterError, match=match):
        Fitting(**options)


def forbidden(*_, **__):
    raise AssertionError("noise was drawn")


def forbid_noise(monkeypatch):
    for part in ("randomized_response", "measure_total", "measure_degrees"):
        monkeypatch.setattr(mechanism, part, forbidden)


@pytest.mark.parametrize("option", [{"fit": Fitting(unweighted=True)}, {"noise": "binary"}])
def test_weighted_graphs_refuse_what_is_for_simple_ones(option, monkeypatch):
    forbid_noise(monkeypatch)
    graph = random_graph(weighted=True, cap=5.0)
    with pytest.raises(ParameterError):
        release_graph(graph, **{"epsilon": 3.0, "noise": "laplace", **option})


def test_progress_is_told_and_a_time_limit_kept():
    told = []
    made = release_graph(
        random_graph(n=30),
        epsilon=3.0,
        seed=0,
        progress=lambda done, message: told.append((done, message)),
        fit=Fitting("first-order", time_limit=1e-9),
    )
    assert made.fit.stopped == "time"
    assert made.fit.rounds == 1
    assert all(0 <= done <= 1 for done, _ in told)
    assert told[-1] == (1.0, "certifying")


# Post-processing cannot reach the private graph.


def test_post_processing_is_not_even_given_the_graph():
    names = set(inspect.signature(releases._post_process).parameters)
    assert names == {"measurements", "method", "fitting", "source", "progress"}
    held = {field.name for field in dataclasses.fields(Measurements)}
    assert held == {"values", "guarantee"}


@pytest.mark.parametrize("fit", [*FITS, "none"])
def test_equal_noisy_matrices_give_equal_releases_whatever_the_graph(fit, monkeypatch):
    """With the one reading step replaced by a constant, nothing of the graph may shine through."""
    empty, full = Graph([], [], vertices=12), random_graph(n=12, density=1.0)
    data = mechanism.measure(
        random_graph(n=12),
        epsilon=3.0,
        noise="binary",
        response=Response("degrees+response"),
        source=SeededEntropy(0),
    )
    monkeypatch.setattr(releases, "measure", lambda *_, **__: data)
    first, second = (
        release_graph(graph, epsilon=3.0, seed=1, fit=Fitting(fit, unweighted=fit == "first-order"))
        for graph in (empty, full)
    )
    assert (first.guarantee, first.fit, repr(first)) == (
        second.guarantee,
        second.fit,
        repr(second),
    )
    if fit != "none":
        assert first.graph == second.graph
        assert first.certificate.upper == second.certificate.upper


# Warnings come before anything is spent.

SMALL = [
    Graph([0], [1], vertices=3),
    Graph([0], [1], vertices=12),
    Graph([], [], vertices=60),
    BipartiteGraph([0], [1], left=3, right=40),
    Graph([0], [1], [5.0], vertices=20, weight_cap=5.0),
    Graph([0], [1], [0.2], vertices=20, weight_cap=0.3),
]


@pytest.mark.parametrize("graph", SMALL)
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("epsilon", [0.01, 0.1])
def test_a_warning_comes_before_noise_and_names_an_epsilon_that_helps(
    graph, noise, epsilon, monkeypatch
):
    if graph.weighted and (noise == "binary" or graph.weight_cap == 0.3):
        noise = "laplace"
    with monkeypatch.context() as patch:
        patch.setattr(SystemEntropy, "bytes", forbidden)
        patch.setattr(SeededEntropy, "bytes", forbidden)
        forbid_noise(patch)
        for seed in (None, 1):
            with pytest.raises(AccuracyWarning, match="worthless at this size") as caught:
                release_graph(graph, epsilon=epsilon, noise=noise, fit="none", seed=seed)
    text = str(caught.value)
    assert "\n" not in text
    enough = float(text.split("epsilon = ")[1].split()[0])
    assert epsilon < enough <= 50
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release_graph(graph, epsilon=enough, noise=noise, fit="none", seed=1)
    with pytest.raises(AccuracyWarning):  # and not by much more than needed
        release_graph(graph, epsilon=enough / 1.15, noise=noise, fit="none", seed=1)


def test_the_warning_does_not_stop_the_release_and_tells_nothing_private():
    dense, sparse = random_graph(density=0.9), random_graph(density=0.1)
    texts = []
    for graph in (dense, sparse):
        with pytest.warns(AccuracyWarning) as caught:
            assert release_graph(graph, epsilon=0.1, fit="none").noisy.steps.shape == (14, 14)
        texts.append([str(warning.message) for warning in caught])
    assert len(texts[0]) == 1
    assert texts[0] == texts[1]


def test_no_warning_where_weights_have_no_bound():
    graph = random_graph(weighted=True)
    made = release_graph(graph, epsilon=0.01, noise="laplace", fit="none", seed=0)
    assert made.expected_worst_cut_error > 0


def test_noise_made_for_another_schema_is_refused():
    weighted = Graph([0], [1], [2.0], vertices=4, weight_cap=2.0)
    for distribution in (
        noise_distribution("laplace", epsilon=1.0),
        noise_distribution("binary", epsilon=1.0),
    ):
        with pytest.raises(ParameterError, match="does not suit"):
            randomized_response(weighted, distribution, SeededEntropy(0))


def test_two_sides_given_by_one_vertex_set_stay_two():
    people = VertexSet(["ann", "bob", "eve"])
    graph = BipartiteGraph([0, 2], [1, 2], left=people, right=people)
    release = release_graph(graph, epsilon=30.0, fit="none")
    assert release.noisy.steps.shape == (3, 3)
    assert not release.noisy.symmetric
    assert round(release.answer(["eve"], ["eve"]).value) == 1
    assert round(release.answer(["bob"], ["ann"]).value) == 0
