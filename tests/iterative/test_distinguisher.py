"""Distinguishers over a list of queries and over all cuts: counts, probabilities, shortfalls.

A distinguisher finds a query whose answer differs much between the graph and a hypothesis, and the
sign of this gap. Its shortfall bounds by how much the gap is below the largest one.
"""

import decimal
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from helpers import frieze_kannan, random_graph

import graphcuts_dp as gc
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.iterative import distinguisher
from graphcuts_dp.iterative.distinguisher import CutSampler, ExactCuts, Exponential
from graphcuts_dp.iterative.power_method import PowerRankOne
from graphcuts_dp.iterative.query_lists import QuestionList, Scoring
from graphcuts_dp.iterative.rank_one import Released, ResponseRankOne
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.learn.median import all_graphs as all_databases
from graphcuts_dp.plugins import SeededEntropy, Universe
from graphcuts_dp.queries.coefficients import exact_sums
from graphcuts_dp.queries.graph_queries import GraphQuery

FALSE_ALARM = 1e-7  # probability that a chi-square test fails for a random seed
Outcome = tuple[tuple[bool, ...], int]  # the masks of S and T, and the sign
UNIVERSE = Universe(12)
GRAPH = random_graph(12, 1, density=0.4)


def test_the_cost_of_a_call_is_rounded_up_to_a_float():
    cuts = random_cuts(UNIVERSE, 2, 0)
    epsilons = itertools.starmap(Fraction, itertools.product(range(1, 20), repeat=2))
    for epsilon in epsilons:
        call = Exponential(queries=QuestionList(UNIVERSE, cuts), epsilon=epsilon).call
        assert Fraction(call.epsilon) >= call.pure == epsilon
        assert Fraction(call.rho) >= epsilon**2 / 8


def random_cuts(
    universe: Universe, count: int, seed: int, *, disjoint: bool = False
) -> list[gc.CutQuery]:
    """Return cuts of random sets, each of about half of the vertices."""
    rng = np.random.default_rng(seed)
    rows, columns = universe.shape
    S = rng.random((count, rows)) < 0.5
    T = rng.random((count, columns)) < 0.5
    return [gc.CutQuery(s, t & ~s if disjoint else t) for s, t in zip(S, T, strict=True)]


def all_graphs(n: int, *, directed: bool = False) -> Iterator[tuple[tuple[bool, ...], AnyGraph]]:
    """Yield every graph on n vertices, with whether each pair is an edge."""
    rows, columns = Universe(n, directed=directed).pairs()
    graph_class = gc.DirectedGraph if directed else gc.Graph
    for bits in itertools.product((False, True), repeat=len(rows)):
        is_edge = np.array(bits, dtype=bool)
        yield bits, graph_class(rows[is_edge], columns[is_edge], vertices=n)


def disjoint_pairs(n: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the masks of all 3^n pairs of disjoint sets (S, T) of n vertices."""
    for labels in itertools.product((0, 1, 2), repeat=n):
        set_of_vertex = np.array(labels)
        yield set_of_vertex == 1, set_of_vertex == 2


def check_draws(
    draw: Callable[[], tuple[np.ndarray, np.ndarray, int]],
    draws: int,
    probabilities: dict[Outcome, float],
) -> None:
    """Compare draws of (S, T, sign) with their probabilities by a chi-square test.

    Outcomes that are expected less than 10 times are counted together.
    """
    counts_by_outcome = Counter()
    for _ in range(draws):
        S, T, sign = draw()
        counts_by_outcome[(*S, *T), sign] += 1
    assert set(counts_by_outcome) <= set(probabilities)
    counts = np.array([counts_by_outcome[outcome] for outcome in probabilities], float)
    expected = draws * np.array(list(probabilities.values()))
    is_rare = expected < 10
    if is_rare.any():
        counts = np.append(counts[~is_rare], counts[is_rare].sum())
        expected = np.append(expected[~is_rare], expected[is_rare].sum())
    if expected[-1] < 5:  # too few for the chi-square distribution
        counts, expected = counts[:-1], expected[:-1]
    statistic = ((counts - expected) ** 2 / expected).sum()
    assert statistic < scipy.stats.chi2.isf(FALSE_ALARM, len(counts)), statistic


GRAPHS = {
    "plain": random_graph(7, 1, density=0.5),
    "weighted": random_graph(7, 1, density=0.5, largest=3.0, max_weight=3.0),
    "directed": random_graph(7, 1, density=0.5, directed=True),
    "bipartite": random_graph((4, 6), 1, density=0.5, largest=5.0, max_weight=5.0),
}
CUTS = gc.CutList(UNIVERSE, random_cuts(UNIVERSE, 30, 2))
HALF = DenseHypothesis.constant(UNIVERSE, 0.5)


def mixed_queries(universe: Universe, seed: int = 2) -> list[gc.Query]:
    """Return two matrix queries, one of them negative, a rank-one query and a cut."""
    rng = np.random.default_rng(seed)
    rows, columns = universe.shape
    return [
        gc.Query.matrix(rng.normal(size=(rows, columns)) * 3),
        gc.Query.rank_one(rng.random(rows), rng.random(columns)),
        gc.CutQuery([0, 1], [2, 3]),
        gc.Query.matrix(-np.abs(rng.normal(size=(rows, columns)))),
    ]


@pytest.mark.parametrize("kind", ["plain", "bipartite"])
def test_the_gap_of_a_query_from_the_exponential_mechanism_is_the_largest_but_for_the_shortfall(
    kind,
):
    """Each call falls short with probability 1e-8 at most; a large epsilon finds the largest gap.

    Gaps are in units of the largest coefficient.
    """
    graph = GRAPHS[kind]
    universe, grid = Universe.of(graph), Grid.of(graph)
    query_list = gc.CutList(universe, random_cuts(universe, 30, 2))
    if kind == "bipartite":
        query_list = QuestionList(universe, mixed_queries(universe))
    true_values = np.array([query.value(graph) for query in query_list.public_queries])
    true_values = true_values / getattr(query_list, "scale", 1)
    source = SeededEntropy(3)
    for epsilon, level in itertools.product((20, 10**4), (0.45, 0.0, 2.5)):
        exponential = Exponential(queries=query_list, epsilon=Fraction(epsilon), grid=grid)
        search = exponential.begin(graph, source)
        hypothesis = DenseHypothesis.constant(universe, level)
        largest_gap = np.abs(true_values - query_list.answers(hypothesis)).max()
        for _ in range(20):
            finding = search.find(hypothesis, source)
            gap = finding.query.value(graph) - hypothesis.estimate(finding.query)
            assert finding.sign * gap >= largest_gap - exponential.shortfall(1e-8)
            assert epsilon == 20 or abs(gap) == pytest.approx(largest_gap)


def test_the_shortfall_is_that_of_the_paper():
    """DR14 Theorem 5.5, in edges: (2/epsilon) ln(k/gamma), with 2 k scores for both signs."""
    exponential = Exponential(queries=CUTS, epsilon=Fraction(1, 2))
    assert exponential.shortfall(0.1) == pytest.approx(4 * math.log(600), abs=1e-5)
    exact_cuts = ExactCuts(universe=Universe(3, 4), epsilon=Fraction(1, 100))  # 2^7 pairs of sets
    assert exact_cuts.shortfall(0.1) == pytest.approx(200 * math.log(2 * 2**7 / 0.1), rel=1e-3)


@pytest.mark.parametrize("kind", GRAPHS)
def test_counts_of_a_list_of_cuts_are_those_of_its_cuts(kind):
    graph = GRAPHS[kind]
    grid, universe = Grid.of(graph), Universe.of(graph)
    cuts = random_cuts(universe, 40, 5)
    cut_list = gc.CutList(universe, cuts)
    assert cut_list.counts(graph, grid).tolist() == [grid.count(cut, graph) for cut in cuts]
    assert cut_list.most_pairs == max(universe.pairs_between(cut) for cut in cuts)


@pytest.mark.parametrize("shape", [(200, 100), (100, 200), (64, 65)])
def test_the_most_pairs_of_a_cut_are_counted_where_the_sides_have_different_numbers_of_words(shape):
    universe = Universe(*shape)
    cuts = random_cuts(universe, 10, 5)
    most_pairs = gc.CutList(universe, cuts).most_pairs
    assert most_pairs == max(universe.pairs_between(cut) for cut in cuts)


def test_a_list_of_cuts_is_a_sequence_and_can_be_given_by_masks():
    S, T = (np.array(masks) for masks in zip(*(UNIVERSE.masks(cut) for cut in CUTS), strict=True))
    assert list(map(repr, gc.CutList.of_masks(UNIVERSE, S, T))) == list(map(repr, CUTS))
    assert len(CUTS[3:5]) == 2
    assert CUTS[-1].value(GRAPH) == CUTS.public_queries[-1].value(GRAPH)


def test_estimates_of_a_list_of_cuts_are_those_of_its_cuts():
    for hypothesis in (
        DenseHypothesis(UNIVERSE, GRAPH.dense() * 0.7),
        frieze_kannan(UNIVERSE, alpha=1.0, total_weight=20.0).initial(),
        frieze_kannan(Universe(10_000), alpha=10.0, total_weight=50.0).initial(),
        all_databases(Universe(4)),
    ):
        cuts = random_cuts(hypothesis.universe, 20, 7)
        expected = [hypothesis.estimate(cut) for cut in cuts]
        estimates = gc.CutList(hypothesis.universe, cuts).answers(hypothesis)
        np.testing.assert_allclose(estimates, expected)


def test_counts_of_cuts_of_ten_thousand_vertices_need_no_dense_matrix():
    graph = gc.Graph([0, 5], [9999, 7], vertices=10_000)
    cuts = gc.CutList(Universe(10_000), [gc.CutQuery(range(6)), gc.CutQuery(range(9000, 10_000))])
    assert cuts.counts(graph, Grid()).tolist() == [2, 1]


def test_huge_estimates_of_a_hypothesis_are_clipped_and_do_not_overflow():
    scoring = Scoring(Universe(5), Grid())
    scores = scoring.in_substeps(np.array([1e200, -1e200, 3.0]))
    assert scores.tolist() == [2**60, -(2**60), 3 * scoring.substeps]


def released_cuts(
    epsilon: float = 1.0, noise: str = "binary", max_weight: float | None = None, **options
) -> Released:
    """Return the distinguisher that releases all answers to `CUTS` once."""
    distribution = noise_distribution(noise, epsilon=epsilon, max_weight=max_weight)
    return Released(queries=CUTS, distribution=distribution, **options)


def test_released_answers_give_the_query_of_the_largest_noisy_gap_without_more_noise():
    gaps = released_cuts().answers(GRAPH, SeededEntropy(1)) - CUTS.answers(HALF)
    worst_index = int(np.argmax(np.abs(gaps)))
    search = released_cuts().begin(GRAPH, SeededEntropy(1))
    for seed in (9, 10):
        finding = search.find(HALF, SeededEntropy(seed))
        assert finding.query in CUTS[worst_index : worst_index + 1]
        assert finding.sign == np.sign(gaps[worst_index])
    error_bound = np.abs(gaps).max() + released_cuts().radius(0.05)
    assert search.prove(HALF, SeededEntropy(9)) == error_bound


@pytest.mark.parametrize("noise", ["binary", "laplace"])
def test_shortfall_and_error_bound_of_released_answers_fail_no_more_often_than_gamma(noise):
    """DR14 Section 5.3.2: gaps are within twice the radius of the noise of the largest one.

    If each run fails with probability gamma, this test fails with probability 1e-6.
    """
    gamma, runs = 0.2, 60
    weights = {}
    if noise == "laplace":
        weights = {"weights": np.full(len(GRAPH.rows), 0.7), "max_weight": 1.0}
    graph = gc.Graph(GRAPH.rows, GRAPH.columns, vertices=12, **weights)
    released = released_cuts(4.0, noise, weights.get("max_weight"), beta=gamma)
    grid = Grid.of(graph)
    true_values = CUTS.counts(graph, grid) * grid.unit
    hypotheses = [DenseHypothesis.constant(UNIVERSE, level) for level in (0.0, 0.3, 0.5, 1.0)]
    shortfall, failures = released.shortfall(gamma), 0
    for seed in range(runs):
        search = released.begin(graph, SeededEntropy(seed))
        failed = False
        for hypothesis in hypotheses:
            gaps = true_values - CUTS.answers(hypothesis)
            largest_gap = np.abs(gaps).max()
            finding = search.find(hypothesis, SeededEntropy(0))
            failed |= finding.sign * gaps[CUTS.find(finding.query)] < largest_gap - shortfall
            failed |= largest_gap > search.prove(hypothesis, SeededEntropy(0))
        failures += failed
    assert failures <= scipy.stats.binom.isf(1e-6, runs, gamma)
    assert shortfall < np.abs(true_values).max() * 3  # else the bound would hold for any query


@pytest.mark.parametrize("kind", GRAPHS)
def test_answers_are_those_of_the_queries_over_the_largest_coefficient(kind):
    graph = GRAPHS[kind]
    universe, grid = Universe.of(graph), Grid.of(graph)
    queries = mixed_queries(universe)
    query_list = QuestionList(universe, queries)
    assert query_list.scale == pytest.approx(
        max(query.sensitivity(universe.space) for query in queries)
    )
    assert query_list.signed
    true_values = np.array([query.value(graph) for query in queries]) / query_list.scale
    scoring = Scoring(universe, grid)
    rounding = query_list.rounding(grid) + grid.rounding(universe.size)
    scores = query_list.true_scores(graph, scoring) * scoring.unit
    np.testing.assert_allclose(scores, true_values, atol=rounding + scoring.unit)
    counts = [query_list.true_count(query, graph, grid) * grid.unit for query in query_list]
    np.testing.assert_allclose(counts, true_values, atol=rounding)
    hypothesis = DenseHypothesis(universe, graph.dense())
    np.testing.assert_allclose(query_list.answers(hypothesis), true_values)


def test_a_list_of_queries_contains_its_public_queries_and_no_others():
    universe = Universe.of(GRAPHS["plain"])
    queries = mixed_queries(universe)
    query_list = QuestionList(universe, queries)
    public_queries = [query_list.public_query(query)[0] for query in query_list]
    assert public_queries == list(query_list.public_queries)
    assert all(query in query_list for query in queries)
    assert gc.Query.matrix(np.ones(universe.shape)) not in query_list
    assert queries[0] in query_list[:1]
    assert queries[1] not in query_list[:1]


@pytest.mark.parametrize("kind", GRAPHS)
def test_no_pair_changes_a_score_or_a_count_by_more_than_the_sensitivity(kind):
    """Each pair in turn is removed or gets the maximum weight; more than half is reached."""
    graph = GRAPHS[kind]
    universe, grid = Universe.of(graph), Grid.of(graph)
    query_list = QuestionList(universe, mixed_queries(universe))
    scoring = Scoring(universe, grid)
    options = {"weighted": True, "max_weight": graph.max_weight} if graph.weighted else {}

    def scores_and_counts(matrix):
        matrix_graph = type(graph).of(matrix, **options)
        counts = np.array(
            [query_list.true_count(query, matrix_graph, grid) for query in query_list]
        )
        return query_list.true_scores(matrix_graph, scoring), counts

    weights = graph.dense()
    original, largest_changes = scores_and_counts(weights), np.zeros(2)
    for i, j in zip(*universe.pairs(), strict=True):
        neighbour = weights.copy()
        neighbour[i, j] = graph.max_weight if weights[i, j] == 0 else 0
        if universe.symmetric:
            neighbour[j, i] = neighbour[i, j]
        changes = [
            np.abs(after - before).max()
            for after, before in zip(scores_and_counts(neighbour), original, strict=True)
        ]
        largest_changes = np.maximum(largest_changes, changes)
    sensitivities = np.array([scoring.sensitivity, grid.sensitivity])
    assert (0.5 * sensitivities < largest_changes).all()
    assert (largest_changes <= sensitivities).all()


def test_statistics_are_counted_in_units_of_their_sensitivity():
    universe = Universe(5)
    query_list = QuestionList(
        universe, [GraphQuery("triangles"), GraphQuery("max-cut"), gc.CutQuery([0])]
    )
    family = all_databases(Universe(5))
    scoring = Scoring(universe, Grid())
    for graph_index in range(0, 1024, 37):
        is_edge = family.databases[graph_index] > 0
        rows, columns = (endpoints[is_edge] for endpoints in universe.pairs())
        graph = gc.Graph(rows, columns, vertices=5)
        counts = [query_list.true_count(query, graph, Grid()) for query in query_list]
        # One edge is in at most 3 triangles, and in a cut once.
        assert counts[0] == GraphQuery("triangles").value(graph) // 3
        assert counts[1] == GraphQuery("max-cut").value(graph)
        assert (query_list.true_scores(graph, scoring) == np.array(counts) * scoring.substeps).all()
        only_graph = type(family)(universe, family.databases[graph_index : graph_index + 1])
        np.testing.assert_array_equal(query_list.answers(only_graph), counts)
    assert query_list.public_query(query_list[0]) == (GraphQuery("triangles"), 3.0)
    assert GraphQuery("min-cut") not in query_list
    assert GraphQuery("triangles") in query_list


def test_sums_of_products_are_exact():
    """Products reach 2^82, beyond floats and 64-bit integers."""
    rng = np.random.default_rng(5)
    coefficients = rng.integers(-(2**30), 2**30 + 1, size=(6, 50))
    weights = rng.integers(0, 2**52, size=50)
    expected = [
        sum(
            int(coefficient) * int(weight) for coefficient, weight in zip(row, weights, strict=True)
        )
        for row in coefficients
    ]
    assert exact_sums(coefficients, weights) == expected


def random_gaps(shape: tuple[int, int], seed: int, *, largest: int = 3) -> np.ndarray:
    """Return a matrix of integers up to a largest absolute value, symmetric if it is square."""
    gaps = np.random.default_rng(seed).integers(-largest, largest + 1, shape)
    if shape[0] == shape[1]:
        gaps = np.triu(gaps, 1)
        gaps = gaps + gaps.T
    return gaps


def exponential_probabilities(
    gaps: np.ndarray, rate: float, pairs: Iterable[tuple[np.ndarray, np.ndarray]]
) -> dict[Outcome, float]:
    """Return the probabilities, proportional to exp(rate * sign * gap), by enumeration."""
    weights = {}
    for S, T in pairs:
        exponent = rate * float(gaps[S][:, T].sum())
        weights |= {((*S, *T), 1): math.exp(exponent), ((*S, *T), -1): math.exp(-exponent)}
    total = math.fsum(weights.values())
    return {outcome: weight / total for outcome, weight in weights.items()}


def test_a_draw_by_exact_probabilities_is_the_same_as_by_floats(monkeypatch):
    """A claimed error of 2 makes every comparison of floats undecided, so that it is exact."""
    sampler = CutSampler(random_gaps((6, 6), 1), Fraction(1, 5), bipartite=False)
    draws_by_floats = [sampler.draw(SeededEntropy(seed)) for seed in range(60)]
    monkeypatch.setattr(distinguisher, "_FLOAT_ERROR", 2.0)
    exact_draws = [sampler.draw(SeededEntropy(seed)) for seed in range(60)]
    for draw_by_floats, exact_draw in zip(draws_by_floats, exact_draws, strict=True):
        for by_floats, exact in zip(draw_by_floats, exact_draw, strict=True):
            np.testing.assert_array_equal(by_floats, exact)


SMALL_GRAPHS = {
    "plain": gc.Graph([0, 0, 1], [1, 2, 3], vertices=4),
    "arcs": gc.DirectedGraph([0, 0, 1, 3], [1, 2, 0, 1], vertices=4),
    "wide": gc.BipartiteGraph([0, 1, 1], [1, 0, 3], left=2, right=4),
    "tall": gc.BipartiteGraph([0, 1, 3], [1, 0, 1], left=4, right=2),
    "large": random_graph(6, 2, density=0.5),
}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "distinguisher_name"),
    [
        ("plain", "list"),
        *((kind, "all cuts") for kind in ("plain", "arcs", "wide", "tall")),
        pytest.param("large", "all cuts", marks=pytest.mark.slow),
    ],
)
def test_a_search_draws_with_rate_epsilon_over_two_for_an_edge(kind, distinguisher_name):
    """The guarantee of epsilon rests on this rate; epsilon/3 is an incorrect variant."""
    graph, epsilon = SMALL_GRAPHS[kind], Fraction(5)
    universe = Universe.of(graph)
    pairs = list(disjoint_pairs(universe.shape[0]))
    if universe.bipartite:
        sides = [itertools.product((False, True), repeat=size) for size in universe.shape]
        pairs = [tuple(map(np.array, pair)) for pair in itertools.product(*sides)]
    if distinguisher_name == "list":
        cuts = gc.CutList(universe, [gc.CutQuery(S, T) for S, T in pairs])
        tested = Exponential(queries=cuts, epsilon=epsilon)
    else:
        tested = ExactCuts(universe=universe, epsilon=epsilon)
    hypothesis, source = DenseHypothesis.constant(universe, 0.5), SeededEntropy(4)
    search, gaps = tested.begin(graph, source), graph.dense() - hypothesis.dense()

    def draw():
        finding = search.find(hypothesis, source)
        return *universe.masks(finding.query), finding.sign

    draws = 1_000_000 if kind == "large" else 2000
    check_draws(draw, draws, exponential_probabilities(gaps, float(epsilon) / 2, pairs))
    if kind != "large":
        with pytest.raises(AssertionError):
            check_draws(draw, draws, exponential_probabilities(gaps, float(epsilon) / 3, pairs))


@pytest.mark.parametrize("hypothesis_weights", ["zero", "large", "both signs"])
@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_probabilities_of_all_neighbours_differ_by_no_more_than_epsilon(
    hypothesis_weights, directed
):
    """All outcomes on all pairs of neighbours with 4 vertices, 3 if directed, are enumerated."""
    n = 3 if directed else 4
    matrix = np.full((n, n), 3.0 if hypothesis_weights == "large" else 0.0)
    if hypothesis_weights == "both signs":  # the pair {0, 1} is in cuts of gaps of both signs
        matrix[0, 1:] = matrix[1:, 0] = (3, -10) if directed else (3, -10, 10)
    epsilon = Fraction(6)
    universe = Universe(n, directed=directed)
    exact_cuts = ExactCuts(universe=universe, epsilon=epsilon)
    rate = float(exact_cuts.scoring.rate(epsilon))
    hypothesis = DenseHypothesis(universe, matrix)
    log_probabilities = {}  # by the bits of a graph
    pairs = list(disjoint_pairs(n))
    for bits, graph in all_graphs(n, directed=directed):
        gaps = exact_cuts.pair_scores(graph) - exact_cuts.scoring.in_substeps(hypothesis.dense())
        probabilities = exponential_probabilities(gaps, rate, pairs)
        log_probabilities[bits] = np.log(list(probabilities.values()))
    largest_log_ratio = 0.0
    for bits, logs in log_probabilities.items():
        for pair in range(6):
            neighbour = tuple(bit != (i == pair) for i, bit in enumerate(bits))
            log_ratios = logs - log_probabilities[neighbour]
            largest_log_ratio = max(largest_log_ratio, np.abs(log_ratios).max())
            # The zCDP bound of rho = epsilon^2/8 needs a range of at most epsilon.
            assert log_ratios.max() - log_ratios.min() <= float(epsilon) * (1 + 1e-9)
    assert largest_log_ratio <= float(epsilon) * (1 + 1e-9)
    # With 3 vertices, no pair is in cuts of large gaps of both signs.
    assert largest_log_ratio >= (0.4 if directed else 0.9) * float(epsilon)


@pytest.mark.parametrize("directed", [False, True], ids=["undirected", "directed"])
def test_the_probability_of_falling_short_is_at_most_gamma(directed):
    """Enumerated for several gamma."""
    graph = random_graph(6, 6, density=0.5, directed=directed)
    universe = Universe.of(graph)
    hypothesis = DenseHypothesis.constant(universe, 0.3)
    exact_cuts = ExactCuts(universe=universe, epsilon=Fraction(2))
    scoring = exact_cuts.scoring
    gaps = exact_cuts.pair_scores(graph) - scoring.in_substeps(hypothesis.dense())
    rate = float(scoring.rate(exact_cuts.epsilon))
    probability_by_outcome = exponential_probabilities(gaps, rate, disjoint_pairs(6))

    def signed_gap(outcome):
        masks, sign = outcome
        S, T = np.array(masks[:6], bool), np.array(masks[6:], bool)
        return sign * gaps[S][:, T].sum() * scoring.unit

    signed_gaps = np.array([signed_gap(outcome) for outcome in probability_by_outcome])
    probabilities = np.array(list(probability_by_outcome.values()))
    for gamma in (0.5, 0.1, 1e-3):
        falls_short = signed_gaps < signed_gaps.max() - exact_cuts.shortfall(gamma)
        assert probabilities[falls_short].sum() <= gamma


@pytest.mark.parametrize(
    ("shape", "epsilon"),
    [
        pytest.param(14, 20, id="undirected"),
        pytest.param((3, 40), 20, id="bipartite"),
        pytest.param(22, 50, id="most vertices", marks=pytest.mark.slow),
    ],
)
def test_the_gap_from_all_cuts_is_not_below_that_of_random_cuts_but_for_the_shortfall(
    shape, epsilon
):
    """For a random seed this fails with probability 1e-6."""
    graph = random_graph(shape, 10, density=0.4)
    universe = Universe.of(graph)
    hypothesis = DenseHypothesis.constant(universe, 0.4)
    exact_cuts = ExactCuts(universe=universe, epsilon=Fraction(epsilon))
    source = SeededEntropy(10)
    finding = exact_cuts.begin(graph, source).find(hypothesis, source)
    assert tuple(map(len, universe.masks(finding.query))) == universe.shape
    gap = finding.sign * (finding.query.value(graph) - hypothesis.estimate(finding.query))
    cuts = random_cuts(universe, 2000, 11, disjoint=universe.symmetric)
    largest_gap = max(abs(cut.value(graph) - hypothesis.estimate(cut)) for cut in cuts)
    assert gap >= largest_gap - exact_cuts.shortfall(1e-6)


def test_scores_of_all_cuts_are_those_of_the_weights():
    graph = gc.Graph([0, 1], [1, 2], weights=[2.5, 0.5], vertices=3, max_weight=4.0)
    exact_cuts = ExactCuts(universe=Universe(3), epsilon=Fraction(40), grid=Grid.of(graph))
    assert (exact_cuts.pair_scores(graph) * exact_cuts.scoring.unit == graph.dense()).all()


BINARY_NOISE = noise_distribution("binary", epsilon=1.0)
POWER = {"universe": UNIVERSE, "rho": 1.0, "delta": 1e-6}
PURE_DISTINGUISHERS = {
    "exponential": Exponential(queries=CUTS, epsilon=Fraction(1)),
    "exact-cuts": ExactCuts(universe=UNIVERSE, epsilon=Fraction(1)),
    "response": ResponseRankOne(universe=UNIVERSE, distribution=BINARY_NOISE),
    "released": Released(queries=CUTS, distribution=BINARY_NOISE),
}
DISTINGUISHERS = PURE_DISTINGUISHERS | {
    "power": PowerRankOne(**POWER),
    "certified": PowerRankOne(**POWER, certificate_rho=1.0),
}


@pytest.mark.parametrize("name", DISTINGUISHERS)
def test_the_rho_of_five_rounds_is_spent_and_not_exceeded(name):
    scaled, rho = DISTINGUISHERS[name].with_rho(0.02, rounds=5), Fraction(0.02)
    costs = [(1, scaled.setup), (5, scaled.call)]
    spent = sum(times * Fraction(cost.rho) for times, cost in costs if cost is not None)
    assert rho * (1 - Fraction(1, 10**6)) < spent <= rho * (1 + Fraction(1, 10**12))


@pytest.mark.parametrize("name", PURE_DISTINGUISHERS)
def test_the_epsilon_of_five_rounds_is_spent_exactly(name):
    scaled = PURE_DISTINGUISHERS[name].with_epsilon(Fraction(1, 3), rounds=5)
    costs = [(1, scaled.setup), (5, scaled.call)]
    assert sum(times * cost.pure for times, cost in costs if cost is not None) == Fraction(1, 3)


@pytest.mark.parametrize("largest", [0, 3, 500, 10**6])
def test_logarithms_are_within_the_error_that_the_draw_allows_for(monkeypatch, largest):
    """The draw is exact only if the errors of floats are within the stated bound.

    The shapes need one chunk or several, and exponentials of the largest gaps overflow.
    """
    choices = []
    monkeypatch.setattr(distinguisher, "Choice", lambda *arguments: choices.append(arguments))
    for shape in ((5, 5), (3, 6), (12, 12)):
        gaps = random_gaps(shape, 1, largest=largest)
        CutSampler(gaps, Fraction(1, 7), bipartite=shape == (3, 6))
        logs, error_bound, exact_log = choices.pop()
        with decimal.localcontext(prec=60):
            indices = np.random.default_rng(5).integers(0, len(logs), 30)
            error = max(
                abs(Decimal(float(logs[index])) - exact_log(int(index))) for index in indices
            )
        assert error <= error_bound < 1e-2


def test_a_draw_is_right_where_exponentials_of_the_gaps_overflow():
    """The sets of the largest gap have all but e^-2000 of the probability."""
    gaps = np.array([[0, 2000, 0], [2000, 0, -2000], [0, -2000, 0]])
    sampler = CutSampler(gaps, Fraction(1), bipartite=False)
    for seed in range(10):
        S, T, sign = sampler.draw(SeededEntropy(seed))
        assert sign * gaps[S][:, T].sum() == 2000
