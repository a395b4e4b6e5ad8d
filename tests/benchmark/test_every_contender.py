"""All contenders: graphs that they take or refuse, their spending, guarantees and estimates.

All noise is seeded, so nothing here fails by chance.
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from contender_runs import run
from helpers import random_graph

import graphcuts_dp as gc
from graphcuts_dp import Graph, GraphError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy import count_noise
from graphcuts_dp.privacy.noise import RefinableLaplace
from scripts.benchmark.base import Clustering, Contender
from scripts.benchmark.contenders import (
    der,
    dgg,
    dp_1k,
    high_pass_filter,
    hrg,
    isotonic_degrees,
    johnson_lindenstrauss,
    louvain_dp,
    privgraph,
    super_graph,
    tmf,
    topology_sampler,
)
from scripts.benchmark.contenders.blocks import spread_evenly
from scripts.benchmark.contenders.dendrogram import Dendrogram
from scripts.benchmark.contenders.ours import OURS
from scripts.benchmark.contenders.simple import DRAWN, EMPTY, GROUP_SUMS, SIMPLE
from scripts.benchmark.contenders.table import CONTENDERS
from scripts.figures.random_graphs import planted_partition
from tests.audits.registry import ENTRIES

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
N = 60
PLAIN = planted_partition(N, 3, 0.5, 0.1, seed=1)
KINDS = {
    "undirected": PLAIN,
    "weighted": gc.Graph(
        PLAIN.rows, PLAIN.columns, np.linspace(0.1, 2, len(PLAIN.rows)), vertices=N, max_weight=2.0
    ),
    "directed": gc.DirectedGraph(PLAIN.rows, PLAIN.columns, vertices=N),
    "bipartite": gc.BipartiteGraph(PLAIN.rows % 30, PLAIN.columns % 50, left=30, right=50),
}
GROUPS = gc.Groups(PLAIN.vertices, {"block": (np.arange(N) * 3 // N).tolist()})
SUPPORTED = [
    (contender, kind)
    for contender in CONTENDERS.values()
    for kind in KINDS
    if (contender.weights if kind == "weighted" else kind in contender.kinds)
]
OF_PAPERS = [contender for contender in CONTENDERS.values() if contender not in (*OURS, *SIMPLE)]
SMALL = (Graph([], [], vertices=2), Graph([0], [1], vertices=2), Graph([], [], vertices=12),
         Graph([0], [1], vertices=17), Graph(*np.triu_indices(12, 1), vertices=12))  # fmt: skip
of_papers = pytest.mark.parametrize("contender", OF_PAPERS, ids=lambda contender: contender.name)


@pytest.fixture(autouse=True)
def _short_chains(monkeypatch):
    monkeypatch.setattr(hrg, "MOVES", 5)


def submission(
    contender: Contender, graph: AnyGraph, *, epsilon: float = 2.0, seed: int | None = 5
) -> Any:
    """Return what a contender releases, with the delta and the groups that it needs."""
    groups = None if isinstance(graph, gc.BipartiteGraph) else GROUPS
    delta = 1e-6 if contender.needs_delta else 0.0
    return run(contender, graph, epsilon, delta=delta, groups=groups, seed=seed)


def matrix_of(estimate: Any) -> np.ndarray:
    """Return the matrix of an estimate; of a partition, 1 for two vertices of one part."""
    if isinstance(estimate, Clustering):
        return (estimate.codes[:, None] == estimate.codes).astype(float)
    if isinstance(estimate, np.ndarray):
        return estimate
    return estimate.toarray() if sp.issparse(estimate) else estimate.dense()


@pytest.mark.thorough(cases=4)
@pytest.mark.parametrize(
    ("contender", "kind"),
    SUPPORTED,
    ids=[f"{contender.name}, {kind}" for contender, kind in SUPPORTED],
)
def test_an_estimate_has_the_shape_of_the_graph_and_the_budget_that_was_set(contender, kind):
    graph = KINDS[kind]
    release = submission(contender, graph)
    assert release.guarantee.epsilon == (0.0 if contender is EMPTY else 2.0)
    assert release.guarantee.delta <= (1e-6 if contender.needs_delta else 0.0)
    assert release.guarantee.seed == 5
    assert sum(part for _, part in release.guarantee.spent) in (0, pytest.approx(2.0))
    if isinstance(release.estimate, Clustering):
        assert release.estimate.codes.shape == graph.shape[:1]
        return
    if callable(release.estimate):
        S = np.arange(graph.shape[0]) < 10
        T = np.arange(graph.shape[1]) >= 10
        assert np.isfinite(release.estimate(S, T))
        return
    matrix = matrix_of(release.estimate)
    assert matrix.shape == graph.shape
    assert np.isfinite(matrix).all()
    if kind in ("undirected", "weighted"):
        assert (matrix == matrix.T).all()
    if kind != "bipartite":
        assert not matrix.diagonal().any()
    if isinstance(release.estimate, Graph | gc.DirectedGraph | gc.BipartiteGraph):
        assert type(release.estimate) is type(graph)
        assert release.estimate.space == graph.space
        assert contender.weights or not release.estimate.weighted


@pytest.mark.thorough(cases=7)
@of_papers
def test_a_seed_repeats_a_run_and_voids_its_guarantee(contender):
    releases = [submission(contender, PLAIN, seed=seed) for seed in (5, 5, 6, None)]
    first, repeated, other, private = (matrix_of(release.estimate) for release in releases)
    assert np.array_equal(first, repeated)
    # A filter at this delta lets no edge of weight 1 pass.
    assert contender.needs_delta or not np.array_equal(first, other)
    assert contender.needs_delta or not np.array_equal(first, private)
    assert [release.guarantee.is_private for release in releases] == [False, False, False, True]


@pytest.mark.thorough(cases=3)
@of_papers
def test_small_complete_and_empty_graphs_have_finite_estimates(contender):
    for graph in SMALL:
        for seed in range(4):
            matrix = matrix_of(submission(contender, graph, epsilon=0.5, seed=seed).estimate)
            assert np.isfinite(matrix).all()


@of_papers
def test_unsupported_graphs_budgets_and_seeds_are_refused(contender):
    cases = [(Graph([], [], vertices=1), {}, "one vertex")]
    if contender.kinds == {"undirected"}:
        cases += [
            (KINDS[kind], {}, "undirected graphs alone") for kind in ("directed", "bipartite")
        ]
    if contender.weights:
        cases += [(Graph([0], [1], [2.5], vertices=3), {}, "max_weight")]
    else:
        weighted = Graph([0], [1], [0.5], vertices=2, max_weight=1.0)
        cases += [(weighted, {}, "without weights")]
    cases += [(PLAIN, {"epsilon": epsilon}, "epsilon") for epsilon in (0.0, -1.0, 60.0, math.nan)]
    cases += [(PLAIN, {"seed": -1}, "seed")]
    if contender.needs_delta:
        cases += [(PLAIN, {"delta": delta}, "delta") for delta in (0.0, 1.0, -1e-6, True)]
    for graph, options, message in cases:
        with pytest.raises((GraphError, ParameterError), match=message):
            run(contender, graph, **options)


def test_every_contender_is_listed_by_its_name_with_a_note_or_a_source():
    assert [CONTENDERS[contender.name] for contender in (*OURS, *SIMPLE)] == [*OURS, *SIMPLE]
    assert all(contender.note or contender.source for contender in CONTENDERS.values())
    assert [contender.name for contender in OF_PAPERS if not contender.claim_holds] == ["hrg"]
    assert "stationary" in hrg.HRG.note
    for contender in CONTENDERS.values():
        if contender.needs_groups:
            with pytest.raises(GraphError, match="public groups"):
                run(contender, PLAIN)


# Audits of contenders that are public functions or baselines, by the beginnings of their names.
OTHER_AUDITS = {
    "ours": ("auto, binary", "auto, laplace"),
    "ours-answers": ("auto, binary", "auto, laplace"),
    "ours-communities": ("auto, binary",),
    "ours-clusters": ("auto, binary",),
    "ours-response": ("response, binary", "response, laplace"),
    "ours-degrees": ("degrees+randomized-response, binary", "degrees+randomized-response, laplace"),
    "ours-groups": ("groups, binary", "groups, laplace"),
    "ours-sparse": ("sparse",),
    "ours-sparse-groups": ("sparse",),
    "ours-flows": ("flows: laplace",),
    "ours-iterative": ("distinguisher: response-rank-one",),
    "density": ("baseline: density only",),
    "raw-response": ("baseline: raw matrix",),
    "degrees-chung-lu": ("baseline: noisy degrees, Chung-Lu",),
    "top-m": ("baseline: top-m filter",),
    "empty-graph": (),  # it reads nothing
}


@pytest.mark.parametrize("name", CONTENDERS)
def test_every_contender_has_an_audit(name):
    """Names of audits of papers' contenders begin with "benchmark: NAME"."""
    for beginning in OTHER_AUDITS.get(name, (f"benchmark: {name}",)):
        assert any(entry.name.startswith(beginning) for entry in ENTRIES), beginning


def test_group_sums_at_a_large_epsilon_are_exact_in_every_block():
    # At epsilon 50 the noise of a sum is not 0 with a chance of 2 e^-50.
    matrix = submission(GROUP_SUMS, PLAIN, epsilon=50.0).estimate
    truth, block = PLAIN.dense(), GROUPS.codes()
    for a in range(3):
        for b in range(3):
            cell = np.ix_(block == a, block == b)
            assert matrix[cell].sum() == pytest.approx(truth[cell].sum(), abs=1e-9)


@pytest.mark.parametrize("hollow", [True, False])
def test_cuts_of_a_table_of_densities_are_those_of_its_matrix(hollow, monkeypatch):
    random = np.random.default_rng(1)
    density = random.random((3, 3))
    density += density.T
    codes = random.integers(0, 3, 40)
    matrix = spread_evenly(density, codes, codes, hollow=hollow)
    monkeypatch.setattr("scripts.benchmark.contenders.blocks._DENSE_ENTRIES", 0)
    answer = spread_evenly(density, codes, codes, hollow=hollow)
    for _ in range(5):
        S, T = random.random((2, 40)) < 0.5
        assert answer(S, T) == pytest.approx(matrix[S][:, T].sum())


@pytest.mark.parametrize(
    ("contender", "graph"),
    [
        (der.DER, random_graph(14, 5)),
        (tmf.TMF, random_graph(200, 3, density=0.02)),
    ],
    ids=["der", "tmf"],
)
def test_at_epsilon_50_the_estimate_is_the_graph(contender, graph):
    """A wrong count has a chance of 2 e^-5, a wrong entry far less; the seed is fixed."""
    assert run(contender, graph, 50.0, seed=1).estimate == graph


def test_a_drawn_graph_has_the_degrees_it_was_drawn_from():
    star = gc.Graph(np.zeros(400, int), np.arange(1, 401), vertices=2_000)
    matrix = run(DRAWN, star, 50.0, seed=5).estimate
    assert set(np.unique(matrix.data)) == {1.0}
    degrees = matrix.sum(axis=1)
    assert degrees[401:].sum() == 0
    # Half of all 800 endpoints are the hub's: of 400 random edges about 100 are loops and 200 join
    # the hub to leaves, 400 (1 - (1 - 1/800)^400) = 157 different ones. Standard deviations are
    # below 10.
    assert 157 - 50 <= degrees[0] <= 157 + 50
    assert degrees[0] + 50 <= matrix.sum() / 2 <= degrees[0] + 150
    assert (run(DRAWN, star, 2.0).estimate != run(DRAWN, star, 2.0, seed=6).estimate).nnz
    assert run(DRAWN, gc.Graph([], [], vertices=50), 50.0).estimate.nnz == 0


# Functions that draw noise: the epsilon that they spend, of their arguments, and the stated one.

EPSILON = 0.7
WHOLE = Fraction(EPSILON)
STEPS = {
    "tmf, count": (tmf, "noisy_count", lambda *_, epsilon, **__: epsilon, WHOLE / 10),
    "tmf, entries": (tmf, "filtered", lambda *_, epsilon, **__: epsilon, 9 * WHOLE / 10),
    "dgg": (dgg, "noisy_degrees", lambda _, epsilon, __: epsilon, WHOLE),
    "dp-1k": (dp_1k, "measure_histogram", lambda _, epsilon, **__: epsilon, WHOLE),
    "isotonic-degrees": (
        isotonic_degrees, "measure_sorted", lambda _, epsilon, **__: epsilon, WHOLE,
    ),
    "der, regions": (der, "explored", lambda _, budgets, __: budgets.epsilon, 2 * WHOLE / 3),
    "der, edges": (der, "reconstructed", lambda *_, rate, **__: rate, WHOLE / 3),
    # The chain's rate is epsilon over twice the sensitivity, a float.
    "hrg, tree": (
        Dendrogram, "walk", lambda tree, _, rate, __: (tree.n, rate),
        (12, float(WHOLE / 2) / (2 * hrg.sensitivity(12))),
    ),
    "hrg, counts": (hrg, "noisy_chances", lambda *_, epsilon, **__: epsilon, WHOLE / 2),
}  # fmt: skip


@pytest.mark.parametrize("step", STEPS)
def test_a_step_spends_the_stated_part_of_epsilon(step, watch):
    module, name, spent_by, stated = STEPS[step]
    spent = watch(module, name, spent_by)
    release = run(CONTENDERS[step.split(",")[0]], random_graph(12, 1), EPSILON)
    assert spent == [stated]
    assert release.guarantee.epsilon == EPSILON


def test_all_steps_together_spend_epsilon():
    for name in {step.split(",")[0] for step in STEPS} - {"hrg"}:
        parts = [stated for step, (*_, stated) in STEPS.items() if step.split(",")[0] == name]
        assert sum(parts) == WHOLE


# Rates of noise and how many values are drawn, of contenders whose cost is added up from rates.

GRAPH = random_graph(45, 8)
RATE = Fraction(3, 2)
EDGES = len(GRAPH.rows)
JL_NOISE = johnson_lindenstrauss.projection_noise(
    epsilon=float(RATE), delta=1e-6, rows=johnson_lindenstrauss.rows_for(45)
)
DRAWS = {
    "high-pass-filter": [(RATE, EDGES)],
    "johnson-lindenstrauss": [
        (JL_NOISE.vertex_variance, 45 * JL_NOISE.rows), (2**20, EDGES * JL_NOISE.rows),
    ],
    "privskg": [(RATE / 2, 45)],
    "topology-sampler": [(RATE / 10, 1)],
}  # fmt: skip


@pytest.fixture
def draws(watch):
    """Return the list of all later draws: rate or variance, and how many values."""
    calls = []

    def record(*arguments, **keywords):
        *_, source = (*arguments, *keywords.values())
        assert source is not None
        calls.append((keywords.get("rate", arguments[0] if arguments else None), arguments[1]))

    modules = (super_graph, privgraph, louvain_dp, topology_sampler, high_pass_filter, count_noise)
    for module in modules:
        watch(module, "sample_discrete_laplace", record)
    watch(johnson_lindenstrauss, "sample_discrete_gaussian", record)
    watch(RefinableLaplace, "draw", record)
    return calls


@pytest.mark.parametrize("name", DRAWS)
def test_noise_has_the_stated_rates_and_nothing_else_is_drawn(name, draws, watch):
    sets = watch(
        topology_sampler,
        "sampled_topology",
        lambda edges, _, pairs, rate, **__: (len(edges), pairs, rate),
    )
    run(CONTENDERS[name], GRAPH, float(RATE))
    assert draws == DRAWS[name]
    whole = (EDGES, 45 * 44 // 2, RATE * 9 / 10)
    assert sets == ([whole] if name == "topology-sampler" else [])


def test_privgraph_spends_a_third_on_each_part(draws, monkeypatch):
    choices = []
    exponential_choice = privgraph.exponential_choice

    def recorded_choice(scores, rate, source):
        choices.append((rate, len(scores)))
        return exponential_choice(scores, rate, source)

    monkeypatch.setattr(privgraph.adjusted, "__kwdefaults__", {"choose": recorded_choice})
    rates = privgraph.PrivGraphRates.of(RATE)
    measured = privgraph.measure_privgraph(GRAPH, rates, SeededEntropy(1), group_size=9)
    third = RATE / 3
    assert draws == [(third, 15), (third / 2, 45), (third, len(measured.between))]
    assert choices == [(third / 2, int(measured.start.max()) + 1)] * 45
    assert sorted(measured.order.tolist()) == list(range(45))
    first, second = super_graph.cell_ends(int(measured.communities.max()) + 1)
    assert not measured.between[first == second].any()
    draws.clear()
    run(privgraph.PRIVGRAPH, GRAPH, float(RATE))
    assert [rate for rate, _ in draws] == [third, third / 2, third]


def test_louvain_dp_spends_its_shares_on_threshold_cells_and_edges(draws, watch):
    exceeding = watch(louvain_dp, "sample_exceeding", lambda rate, *_: rate)
    run(louvain_dp.LOUVAIN_DP, GRAPH, float(RATE))
    rates, sizes = zip(*draws, strict=True)
    assert rates == (RATE / 50, RATE * 12 / 25, RATE / 2)
    assert exceeding == [RATE * 12 / 25]
    assert sum(rates) == RATE
    assert sizes[0] == 1
    assert sizes[1] <= 3 * 4 // 2  # cells of groups of 16, 16 and 13 vertices


def test_louvain_dp_without_edges_spends_all_on_its_communities(draws, watch):
    exceeding = watch(louvain_dp, "sample_exceeding", lambda rate, *_: rate)
    run(CONTENDERS["louvain-dp-parts"], GRAPH, float(RATE))
    assert [rate for rate, _ in draws] == [RATE / 50, RATE * 49 / 50]
    assert exceeding == [RATE * 49 / 50]


def test_random_groups_do_not_read_the_graph():
    """They take sizes and a seed alone."""
    first, repeated, other = (
        super_graph.random_groups(45, 9, SeededEntropy(seed)) for seed in (4, 4, 5)
    )
    assert np.array_equal(first, repeated)
    assert np.bincount(first).tolist() == [9] * 5
    assert not np.array_equal(first, other)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("name", "epsilon", "least", "most"),
    [("dgg", 10.0, -1e4, 2e4), ("dp-1k", 10.0, -1e4, 2e4), ("isotonic-degrees", 10.0, -1e4, 2e4),
     ("tmf", 10.0, -25, 25), ("topology-sampler", 1.0, -300, 300),
     ("high-pass-filter", 1.0, -1e5, 0)],
)  # fmt: skip
def test_the_work_grows_with_the_edges_and_not_with_the_pairs(name, epsilon, least, most):
    """The matrix of all 5 * 10^9 pairs would need 40 GB; noise of counts has a rate >= 1/10."""
    endpoints = np.random.default_rng(0).integers(0, 100_000, (2, 100_000))
    graph = Graph(*endpoints, vertices=100_000)
    estimate = run(CONTENDERS[name], graph, epsilon, delta=1e-9).estimate
    assert estimate.shape == graph.shape
    assert least <= len(estimate.rows) - len(graph.rows) <= most
