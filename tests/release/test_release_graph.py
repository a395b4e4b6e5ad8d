"""The public function: parameters, guarantees, and what every release looks like."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from group_cases import drawn
from helpers import covering, random_graph

from graphcuts_dp import (
    AccuracyWarning,
    BipartiteGraph,
    DirectedGraph,
    FitOptions,
    Graph,
    GraphError,
    Mechanism,
    ParameterError,
    Release,
    Store,
    VertexSet,
    cut_norm,
    release_graph,
)
from graphcuts_dp.estimate.noises import NOISES, noise_distribution
from graphcuts_dp.measure.entries import randomized_response
from graphcuts_dp.plugins import Fit, FitMethod, SeededEntropy
from graphcuts_dp.privacy.entropy import SystemEntropy
from graphcuts_dp.release import graph_jobs
from graphcuts_dp.release import measuring as mechanism
from graphcuts_dp.synth.fit_weights import DECIMALS
from graphcuts_dp.synth.query_game import QueryGame

NORM_FITS = ["cutting-plane", "first-order", "spectral", "game"]  # they minimise a norm, to a gap
FITS = ["maximum-entropy", *NORM_FITS]
SEEDED = "seeded: not private"
KINDS = {
    "plain": {"shape": 14},
    "two sides": {"shape": (6, 9), "density": 0.4},
    "directed": {"shape": 8, "density": 0.4, "directed": True},
}


@pytest.fixture(autouse=True)
def short_games(monkeypatch):
    """What holds here holds after any round; tests of fits play to the end."""
    monkeypatch.setattr(QueryGame, "most_rounds", {math.inf: 60})


def graph_of(kind="plain", **options):
    return random_graph(**KINDS[kind] | options)


def weighted(cap=None, kind="plain"):
    return graph_of(kind, largest=cap or 5.0, whole=True, max_weight=cap)


def check_graph(graph, cap):
    matrix = graph.dense()
    assert (matrix >= 0).all()
    assert (matrix <= cap).all()
    assert not isinstance(graph, Graph) or np.array_equal(matrix, matrix.T)
    assert isinstance(graph, BipartiteGraph) or not matrix.diagonal().any()


@pytest.mark.thorough(cases=5)
@pytest.mark.parametrize(("kind", "noise", "fit"), covering(KINDS, NOISES, [*FITS, "auto"]))
def test_every_fit_and_noise_stays_in_the_box(kind, noise, fit):
    graph = graph_of(kind)
    made = release_graph(graph, epsilon=3.0, noise=noise, fit=fit, seed=1)
    assert type(made.graph) is type(made.expected) is type(graph)
    assert (made.graph.weighted, made.expected.weighted) == (False, True)
    check_graph(made.graph, 1.0)
    check_graph(made.expected, 1.0)
    assert made.certificate.lower <= made.certificate.upper
    if fit in NORM_FITS:
        assert 0 <= made.fit.lower <= made.fit.value * (1 + 1e-4)
        assert 0 <= made.fit.gap <= 1
        assert made.fit.mixed == 0
    else:
        assert (made.fit.value, made.fit.lower, made.fit.gap) == (None, None, None)
    assert made.fit.method == ("maximum-entropy" if fit == "auto" else fit)
    assert ("fit_gap" in made.facts()) == (fit in NORM_FITS)


OUTSIDE = {
    "below": lambda z: np.clip(z, 0, 1) - 0.3,
    "above": lambda z: np.clip(z, 0, 1) + 0.5,
    "on the diagonal": np.ones_like,
    "not symmetric": lambda z: np.clip(z + np.arange(z.shape[1]) / 20, 0, 1),
}


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize(("kind", "outside"), covering(KINDS, OUTSIDE, together=1))
def test_a_fit_of_ones_own_that_leaves_the_box_is_put_back(kind, outside, tmp_path):
    """Nothing that was paid for is lost, and certificates are of the graph that comes out."""

    def leaves(problem, **_):
        return Fit(matrix=OUTSIDE[outside](problem.noisy), method="own", objective="none")

    made = release_graph(graph_of(kind), epsilon=3.0, fit=FitMethod(leaves), seed=1)
    check_graph(made.expected, 1.0)
    moved = cut_norm(made.graph.dense() - made.expected.dense(), tolerance=0.0)
    assert moved.lower <= made.fit.rounding
    distance = cut_norm(made.graph.dense() - made.noisy.estimate(), tolerance=0.0)
    assert distance.lower <= made.certificate.upper
    assert made.certificate.lower <= distance.upper
    made.save(tmp_path / "own.csv")
    assert Release.load(tmp_path / "own.csv").expected == made.expected


@pytest.mark.thorough
@pytest.mark.parametrize("kind", KINDS)
def test_what_rounding_moved_is_told_and_proven(kind):
    """Degrees stay, no cut moves by more than is told, and shrunk answers go by the weights."""
    made = release_graph(graph_of(kind), epsilon=3.0, seed=1)
    difference = made.graph.dense() - made.expected.dense()
    for axis in (0, 1):
        assert np.abs(difference.sum(axis=axis)).max() < 2.13 + 1e-4 * len(difference)
    lower = cut_norm(difference).lower
    assert 0 < lower <= made.fit.rounding == made.facts()["cuts_moved_by_rounding_at_most"]
    assert made.fit.rounding < 2 * lower
    heavy = release_graph(weighted(5.0), epsilon=3.0, noise="laplace", seed=1)
    assert 0 < cut_norm(heavy.graph.dense() - heavy.expected.dense()).lower <= heavy.fit.rounding
    S = np.arange(made.shape[0]) < 3
    shrunk = made.answer(S, estimate="shrunk").value
    assert replace(made, _graph=graph_of(kind)).answer(S, estimate="shrunk").value == shrunk
    empty = replace(made, _weights=np.zeros(made.shape, dtype=np.uint16))
    assert empty.answer(S, estimate="shrunk").value != shrunk


# Every second one is quick: each fit has some kind of graph, and each kind half of the fits.
WEIGHTED = [
    pytest.param(kind, cap, fit, marks=pytest.mark.slow if number % 2 else ())
    for number, ((cap, fit), kind) in enumerate(
        itertools.product(
            [*((5.0, fit) for fit in FITS), *((None, fit) for fit in NORM_FITS)], KINDS
        )
    )
]


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(("kind", "cap", "fit"), WEIGHTED)
def test_weights_with_and_without_a_cap(kind, cap, fit):
    """Of both noises for weights, each has been with and without a cap."""
    noise = "laplace" if (kind == "plain") == (cap is None) else "discrete-laplace"
    made = release_graph(weighted(cap, kind), epsilon=20.0, noise=noise, fit=fit, seed=3)
    assert made.graph.weighted
    assert made.graph.max_weight == cap
    check_graph(made.graph, math.inf if cap is None else cap)
    told = "by at most 1" if cap is None else "within 0 .. 5"
    assert told in made.guarantee.neighbours
    assert ("maximum weight" in made.guarantee.public) == (cap is not None)


@pytest.mark.thorough
def test_the_fit_is_chosen_by_the_cap_and_the_oracle():
    assert release_graph(weighted(), epsilon=9.0, noise="laplace").fit.method == "first-order"
    asked = release_graph(graph_of(), epsilon=9.0, fit=FitOptions(oracle="spectral"))
    assert asked.fit.method == "cutting-plane"


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("fit", NORM_FITS)
def test_a_fit_stops_at_the_gap_that_is_asked_for(fit):
    rough = release_graph(graph_of(), epsilon=1.0, fit=FitOptions(fit, tolerance=0.5), seed=1)
    near = release_graph(graph_of(), epsilon=1.0, fit=fit, seed=1)
    assert (rough.fit.tolerance, rough.fit.stopped) == (0.5, "gap")
    assert near.fit.tolerance <= 0.05
    assert rough.fit.rounds <= near.fit.rounds


@pytest.mark.parametrize(
    "options", [{"fit": "maximum-entropy"}, {"fit": "auto"}, {"fit": "none"}, {"tolerance": 2}]
)
def test_a_tolerance_that_no_fit_can_use_is_refused(options):
    with pytest.raises(ParameterError, match="tolerance"):
        release_graph(
            graph_of(), epsilon=9.0, fit=FitOptions(**{"tolerance": 0.1, **options}), seed=1
        )


def test_the_semidefinite_oracle_refuses_large_graphs_before_it_is_paid(tmp_path):
    store = Store(tmp_path / "a.db")
    fit = FitOptions("cutting-plane", oracle="sdp")
    with pytest.raises(ParameterError, match="260 rows and columns"):
        release_graph(random_graph(140), epsilon=9.0, fit=fit, store=store)
    assert not (tmp_path / "a.db").exists()


def test_heavy_weights_without_a_cap_stay_integers_and_sums_exact():
    """2^33 grid steps and more: wider than 32 bits, and their sum wider than 64."""
    n = 110
    rows, columns = np.triu_indices(n, 1)
    graph = Graph(rows, columns, np.full(len(rows), 4.0e9), vertices=n, max_weight_change=1)
    made = release_graph(graph, epsilon=1.0, noise="laplace", fit="none", seed=0)
    assert made.noisy.steps.dtype in (np.int64, np.uint64)
    assert sum(int(step) for step in made.noisy.steps[rows, columns]) > 2**63
    low, high = made.answer("*", "*").interval
    assert low <= 4.0e9 * len(rows) <= high


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("weights", [False, True])
def test_the_certificate_is_of_the_synthetic_graph_as_released(weights):
    graph, noise = (weighted(5.0), "laplace") if weights else (graph_of(), "binary")
    made = release_graph(graph, epsilon=3.0, noise=noise, seed=4)
    difference = made.graph.dense() - made.noisy.estimate()
    assert math.isclose(made.certificate.verify(difference), made.certificate.lower)
    S, T = made.certificate.S, made.certificate.T
    assert math.isclose(abs(difference[np.ix_(S, T)].sum()), made.certificate.lower)


def test_weights_of_a_synthetic_graph_are_decimals_at_most_the_maximum():
    """Also those that are as large as can be, where the maximum has more decimals."""
    graph = random_graph(14, largest=1 / 3, max_weight=1 / 3, max_weight_change=None)
    made = release_graph(graph, epsilon=40.0, noise="laplace", seed=4)
    assert made.graph.weights.max() == 0.3333
    assert made.graph.weights.tolist() == made.graph.weights.round(DECIMALS).tolist()


@pytest.mark.parametrize(
    ("kind", "hidden", "public", "size"),
    [
        ("plain", "whether any one pair is an edge", "public: the vertex set", "14 x 14"),
        ("two sides", "whether any one pair is an edge", "both vertex sets", "6 x 9"),
        ("directed", "whether any one ordered pair is an arc", "public: the vertex set", "8 x 8"),
    ],
)
def test_without_a_fit_there_is_no_graph_and_texts_tell_public_facts(kind, hidden, public, size):
    made = release_graph(graph_of(kind), epsilon=3.0, fit="none")
    assert (made.has_graph, made.fit, made.certificate) == (False, None, None)
    with pytest.raises(GraphError, match="no synthetic graph"):
        _ = made.graph
    text = str(made.guarantee)
    assert all(part in text for part in ("epsilon = 3", hidden, public))
    assert size in repr(made)
    assert made.guarantee.is_private
    assert SEEDED not in text + str(made.answer([0])) + repr(made)
    assert SEEDED in repr(release_graph(graph_of(kind), epsilon=3.0, fit="spectral", seed=0))


def test_without_a_seed_runs_do_not_repeat():
    first, second = (release_graph(random_graph(40), epsilon=3.0, fit="none") for _ in range(2))
    # 780 bits that each differ with probability 2q(1-q) = 0.09: all equal with 0.91^780 < 1e-31.
    assert not np.array_equal(first.noisy.steps, second.noisy.steps)


SMALLEST = [
    Graph([0], [1], vertices=2),
    DirectedGraph([1], [0], vertices=2),
    BipartiteGraph([0], [0], left=1, right=1),
]


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("fit", [*FITS, "none"])
def test_the_smallest_graphs(fit):
    for graph in SMALLEST:
        made = release_graph(graph, epsilon=20.0, fit=fit, seed=0)
        assert np.array_equal(made.noisy.steps, graph.dense())  # a flip has probability 2e-9
        if fit != "none":
            check_graph(made.graph, 1.0)
            assert np.array_equal(made.graph.dense() > 0.5, graph.dense() == 1)


def forbidden(*_, **__):
    raise AssertionError("noise was drawn")


def forbid_noise(monkeypatch):
    for part in ("randomized_response", "measure_refinable_total", "measure_refinable_degrees"):
        monkeypatch.setattr(mechanism, part, forbidden)


LAPLACE = {"noise": "laplace"}


@pytest.mark.parametrize(
    ("graph", "options", "match"),
    [
        *((graph_of(), {"epsilon": e}, "epsilon") for e in (0, math.nan, math.inf, 1e9, "1", True)),
        *((graph_of(), {"seed": seed}, "seed") for seed in (-1, 1.5, True)),
        (graph_of(), {"noise": "gauss"}, "unknown noise"),
        (graph_of(), {"fit": "best"}, "unknown fit"),
        (graph_of(), {"mechanism": "degrees"}, "unknown mechanism"),
        (graph_of(), {"mechanism": None}, "mechanism is a name or a Mechanism"),
        (
            graph_of(),
            {"mechanism": "degrees+randomized-response", "fit": "spectral"},
            "maximum-entropy",
        ),
        (
            graph_of(),
            {"mechanism": "degrees+randomized-response", "fit": "none"},
            "maximum-entropy",
        ),
        (graph_of(), {"mechanism": Mechanism(degree_share=0.3), "fit": "game"}, "maximum-ent"),
        (weighted(), LAPLACE | {"fit": "maximum-entropy"}, "max_weight"),
        (weighted(), LAPLACE | {"mechanism": "degrees+randomized-response"}, "maximum-entropy"),
        (weighted(5.0), {"noise": "binary"}, "binary noise is for"),
        (Graph([], [], vertices=1), {}, "one vertex"),
        (DirectedGraph([], [], vertices=1), {}, "one vertex"),
        *((other, {}, "private data are a graph") for other in ([(0, 1)], None, "graph.edges")),
    ],
)
def test_what_cannot_be_released_costs_nothing(graph, options, match, monkeypatch):
    forbid_noise(monkeypatch)
    with pytest.raises((ParameterError, GraphError), match=match) as caught:
        release_graph(graph, **{"epsilon": 3.0, **options})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"fit": "best"}, "unknown fit"),
        ({"fit": 5}, "as `FitMethod` describes it"),
        ({"oracle": "delphi"}, "unknown oracle"),
        ({"fit": "first-order", "oracle": "spectral"}, "oracle"),
        ({"fit": "none", "oracle": "spectral"}, "oracle"),
        *(({"time_limit": seconds}, "time_limit") for seconds in (0, -3.0, math.nan)),
    ],
)
def test_ways_to_fit_that_make_no_sense_are_refused(options, match):
    with pytest.raises(ParameterError, match=match):
        FitOptions(**options)


def test_progress_is_told_and_a_time_limit_kept():
    told = []
    made = release_graph(
        random_graph(30),
        epsilon=3.0,
        seed=0,
        progress=lambda done, message: told.append((done, message)),
        fit=FitOptions("first-order", time_limit=1e-9),
    )
    assert (made.fit.stopped, made.fit.rounds) == ("time", 1)
    assert all(0 <= done <= 1 for done, _ in told)
    assert told[-1] == (1.0, "certifying")


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("fit", [*FITS, "none"])
def test_equal_noisy_matrices_give_equal_releases_whatever_the_graph(fit, monkeypatch):
    """With the one reading step replaced by a constant, nothing of the graph may shine through."""
    data = drawn(random_graph(12), None, "degrees+randomized-response", epsilon=3.0).measurements
    monkeypatch.setattr(graph_jobs, "measure", lambda *_, **__: data)
    first, second = (
        release_graph(graph, epsilon=3.0, seed=1, fit=FitOptions(fit, certificate=False))
        for graph in (Graph([], [], vertices=12), random_graph(12, density=1.0))
    )
    for told in (repr, lambda made: made.fit, lambda made: made.guarantee):
        assert told(first) == told(second)
    if fit != "none":
        assert first.graph == second.graph
        assert first.certificate.upper == second.certificate.upper


# Warnings come before anything is spent.


@pytest.mark.thorough(cases=7)
@pytest.mark.parametrize(
    ("graph", "noises"),
    [
        (Graph([0], [1], vertices=3), NOISES),
        (Graph([], [], vertices=60), ["binary"]),
        (BipartiteGraph([0], [1], left=3, right=40), ["laplace"]),
        (Graph([0], [1], [5.0], vertices=20, max_weight=5.0), ["laplace", "discrete-laplace"]),
        (Graph([0], [1], [0.2], vertices=20, max_weight=0.3), ["laplace"]),
    ],
)
@pytest.mark.parametrize("epsilon", [0.01, 0.1])
def test_a_warning_comes_before_noise_and_names_an_epsilon_that_helps(
    graph, noises, epsilon, monkeypatch
):
    for noise in noises:
        with monkeypatch.context() as patch:
            patch.setattr(SystemEntropy, "bytes", forbidden)
            patch.setattr(SeededEntropy, "bytes", forbidden)
            forbid_noise(patch)
            for seed in (None, 1):
                with pytest.raises(AccuracyWarning, match="worthless at this size") as caught:
                    release_graph(graph, epsilon=epsilon, noise=noise, fit="none", seed=seed)
        assert "\n" not in str(caught.value)
        enough = float(str(caught.value).split("epsilon = ")[1].split()[0])
        assert epsilon < enough <= 50
        release_graph(graph, epsilon=enough, noise=noise, fit="none", seed=1)  # a warning is raised
        with pytest.raises(AccuracyWarning):  # and not by much more than needed
            release_graph(graph, epsilon=enough / 1.15, noise=noise, fit="none", seed=1)


def test_the_warning_does_not_stop_the_release_and_tells_nothing_private():
    texts = []
    for density in (0.9, 0.1):
        with pytest.warns(AccuracyWarning) as caught:
            release_graph(graph_of(density=density), epsilon=0.1, fit="none")
        texts.append([str(warning.message) for warning in caught])
    assert len(texts[0]) == 1
    assert texts[0] == texts[1]
    # No bound of the weights, no warning: it would be an error here.
    release_graph(weighted(), epsilon=0.01, noise="laplace", fit="none", seed=0)


@pytest.mark.parametrize("noise", ["laplace", "binary"])
def test_noise_made_for_another_schema_is_refused(noise):
    graph = Graph([0], [1], [2.0], vertices=4, max_weight=2.0)
    with pytest.raises(ParameterError, match="does not suit"):
        randomized_response(graph, noise_distribution(noise, epsilon=1.0), SeededEntropy(0))


def test_two_sides_given_by_one_vertex_set_stay_two():
    people = VertexSet(["ann", "bob", "eve"])
    graph = BipartiteGraph([0, 2], [1, 2], left=people, right=people)
    release = release_graph(graph, epsilon=30.0, fit="none")
    assert not release.noisy.symmetric
    assert round(release.answer(["eve"], ["eve"]).value) == 1
    assert round(release.answer(["bob"], ["ann"]).value) == 0
