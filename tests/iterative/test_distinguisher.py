"""Distinguishers over a list, and over all cuts: exact counts, probabilities, shortfalls.

Chi-square tests fail with probability 1e-7 if their seed were drawn at random.
"""

import decimal
import itertools
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from helpers import frieze_kannan, random_graph

import graphcuts_dp as gc
from graphcuts_dp.estimate.noises import noise_distribution
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

FALSE_ALARM = 1e-7  # of each chi-square test, if its seed were drawn at random
UNIVERSE = Universe(12)
GRAPH = random_graph(12, 1, density=0.4)


def test_what_a_call_costs_is_rounded_up():
    cuts = random_cuts(UNIVERSE, 2, 0)
    for epsilon in (Fraction(n, d) for n in range(1, 20) for d in range(1, 20)):
        call = Exponential(queries=QuestionList(UNIVERSE, cuts), epsilon=epsilon).call
        assert Fraction(call.epsilon) >= call.pure == epsilon
        assert Fraction(call.rho) >= epsilon**2 / 8


def random_cuts(universe, count, seed, *, disjoint=False):
    rng = np.random.default_rng(seed)
    rows, columns = universe.shape
    S = rng.random((count, rows)) < 0.5
    T = rng.random((count, columns)) < 0.5
    return [gc.CutQuery(s, t & ~s if disjoint else t) for s, t in zip(S, T, strict=True)]


def all_graphs(n, *, directed=False):
    """Every graph on n vertices as (edges as a bit vector, graph)."""
    rows, columns = Universe(n, directed=directed).pairs()
    kind = gc.DirectedGraph if directed else gc.Graph
    for bits in itertools.product((False, True), repeat=len(rows)):
        kept = np.array(bits, dtype=bool)
        yield bits, kind(rows[kept], columns[kept], vertices=n)


def disjoint_pairs(n):
    """All (S, T) with S and T disjoint, as truth vectors, 3^n of them."""
    for places in itertools.product((0, 1, 2), repeat=n):
        where = np.array(places)
        yield where == 1, where == 2


def check_draws(draw, draws, expected):
    """Of sets and a sign, against the chance of each outcome: chi-square at FALSE_ALARM; rare
    outcomes are counted together."""
    seen = Counter()
    for _ in range(draws):
        S, T, sign = draw()
        seen[(*S, *T), sign] += 1
    assert set(seen) <= set(expected)
    counts = np.array([seen[each] for each in expected], float)
    found = draws * np.array(list(expected.values()))
    rare = found < 10
    if rare.any():
        counts = np.append(counts[~rare], counts[rare].sum())
        found = np.append(found[~rare], found[rare].sum())
    if found[-1] < 5:  # too few to count by themselves
        counts, found = counts[:-1], found[:-1]
    statistic = ((counts - found) ** 2 / found).sum()
    assert statistic < scipy.stats.chi2.isf(FALSE_ALARM, len(counts)), statistic


GRAPHS = {
    "plain": random_graph(7, 1, density=0.5),
    "weighted": random_graph(7, 1, density=0.5, largest=3.0, max_weight=3.0),
    "directed": random_graph(7, 1, density=0.5, directed=True),
    "bipartite": random_graph((4, 6), 1, density=0.5, largest=5.0, max_weight=5.0),
}
CUTS = gc.CutList(UNIVERSE, random_cuts(UNIVERSE, 30, 2))
HALF = DenseHypothesis.constant(UNIVERSE, 0.5)


def queries_of(universe, seed=2):
    rng = np.random.default_rng(seed)
    rows, columns = universe.shape
    return [
        gc.Query.matrix(rng.normal(size=(rows, columns)) * 3),
        gc.Query.rank_one(rng.random(rows), rng.random(columns)),
        gc.CutQuery([0, 1], [2, 3]),
        gc.Query.matrix(-np.abs(rng.normal(size=(rows, columns)))),
    ]


@pytest.mark.parametrize("kind", ["plain", "bipartite"])
def test_shortfall_and_signs(kind):
    """Of cuts, and of other queries, in units of the largest coefficient. 20 calls: each falls
    short with probability 1e-8 at most; with next to no noise the worst query is found."""
    graph = GRAPHS[kind]
    universe, grid = Universe.of(graph), Grid.of(graph)
    listed = gc.CutList(universe, random_cuts(universe, 30, 2))
    if kind == "bipartite":
        listed = QuestionList(universe, queries_of(universe))
    truth = np.array([query.value(graph) for query in listed.public_queries]) / getattr(
        listed, "scale", 1
    )
    source = SeededEntropy(3)
    for epsilon, level in itertools.product((20, 10**4), (0.45, 0.0, 2.5)):
        finder = Exponential(queries=listed, epsilon=Fraction(epsilon), grid=grid)
        search, hypothesis = finder.begin(graph, source), DenseHypothesis.constant(universe, level)
        gaps = truth - listed.answers(hypothesis)
        for _ in range(20):
            found = search.find(hypothesis, source)
            gap = found.query.value(graph) - hypothesis.estimate(found.query)
            assert found.sign * gap >= np.abs(gaps).max() - finder.shortfall(1e-8)
            assert epsilon == 20 or abs(gap) == pytest.approx(np.abs(gaps).max())


def test_shortfall_is_that_of_the_paper():
    """DR14 Theorem 5.5, in edges: (2/epsilon) ln(k/gamma), where both signs make 2 k scores."""
    listed = Exponential(queries=CUTS, epsilon=Fraction(1, 2))
    assert listed.shortfall(0.1) == pytest.approx(4 * math.log(600), abs=1e-5)
    cuts = ExactCuts(universe=Universe(3, 4), epsilon=Fraction(1, 100))  # 2^7 pairs of sets
    assert cuts.shortfall(0.1) == pytest.approx(200 * math.log(2 * 2**7 / 0.1), rel=1e-3)


@pytest.mark.parametrize("kind", GRAPHS)
def test_counts_of_a_list_are_exact(kind):
    graph = GRAPHS[kind]
    grid, universe = Grid.of(graph), Universe.of(graph)
    queries = random_cuts(universe, 40, 5)
    listed = gc.CutList(universe, queries)
    assert listed.counts(graph, grid).tolist() == [grid.count(query, graph) for query in queries]
    assert listed.most_pairs == max(universe.pairs_between(query) for query in queries)


def test_lists_answer_as_their_queries():
    S, T = (np.array(masks) for masks in zip(*(UNIVERSE.masks(q) for q in CUTS), strict=True))
    assert list(map(repr, gc.CutList.of_masks(UNIVERSE, S, T))) == list(map(repr, CUTS))
    assert len(CUTS[3:5]) == 2
    assert CUTS[-1].value(GRAPH) == CUTS.public_queries[-1].value(GRAPH)
    for hypothesis in (
        DenseHypothesis(UNIVERSE, GRAPH.dense() * 0.7),
        frieze_kannan(UNIVERSE, alpha=1.0, total_weight=20.0).initial(),
        frieze_kannan(Universe(10_000), alpha=10.0, total_weight=50.0).initial(),
        all_databases(Universe(4)),
    ):
        some = random_cuts(hypothesis.universe, 20, 7)
        expected = [hypothesis.estimate(query) for query in some]
        found = gc.CutList(hypothesis.universe, some).answers(hypothesis)
        np.testing.assert_allclose(found, expected)
    large = gc.Graph([0, 5], [9999, 7], vertices=10_000)
    cuts = gc.CutList(Universe(10_000), [gc.CutQuery(range(6)), gc.CutQuery(range(9000, 10_000))])
    assert cuts.counts(large, Grid()).tolist() == [2, 1]


def test_answers_of_a_hypothesis_far_off_overflow_nothing():
    scoring = Scoring(Universe(5), Grid())
    found = scoring.in_substeps(np.array([1e200, -1e200, 3.0]))
    assert found.tolist() == [2**60, -(2**60), 3 * scoring.substeps]


def released(epsilon=1.0, noise="binary", cap=None, **options):
    distribution = noise_distribution(noise, epsilon=epsilon, max_weight=cap)
    return Released(queries=CUTS, distribution=distribution, **options)


def test_it_names_the_largest_released_gap_and_its_sign():
    gaps = released().answers(GRAPH, SeededEntropy(1)) - CUTS.answers(HALF)
    worst = int(np.argmax(np.abs(gaps)))
    search = released().begin(GRAPH, SeededEntropy(1))
    for seed in (9, 10):  # draws nothing more
        found = search.find(HALF, SeededEntropy(seed))
        assert found.query in CUTS[worst : worst + 1]
        assert found.sign == np.sign(gaps[worst])
    off = np.abs(gaps).max() + released().radius(0.05)
    assert search.prove(HALF, SeededEntropy(9)) == off


@pytest.mark.parametrize("noise", ["binary", "laplace"])
def test_dr14_the_reduction_of_section_5_3_2(noise):
    """True signed gaps are within 2 r of the largest, at every call, as often as is guaranteed.

    Also every hypothesis's error is within what is proven. More failures than are allowed have
    probability 1e-6 if each run fails with probability gamma.
    """
    gamma, runs = 0.2, 60
    weights = {"weights": np.full(len(GRAPH.rows), 0.7), "max_weight": 1.0}
    weights = weights if noise == "laplace" else {}
    graph = gc.Graph(GRAPH.rows, GRAPH.columns, vertices=12, **weights)
    of = released(4.0, noise=noise, cap=weights.get("max_weight"), beta=gamma)
    grid = Grid.of(graph)
    truth = CUTS.counts(graph, grid) * grid.unit
    hypotheses = [DenseHypothesis.constant(UNIVERSE, level) for level in (0.0, 0.3, 0.5, 1.0)]
    short, wrong = of.shortfall(gamma), 0
    for seed in range(runs):
        search = of.begin(graph, SeededEntropy(seed))
        failed = False
        for hypothesis in hypotheses:
            gaps = truth - CUTS.answers(hypothesis)
            found = search.find(hypothesis, SeededEntropy(0))
            failed |= found.sign * gaps[CUTS.find(found.query)] < np.abs(gaps).max() - short
            failed |= np.abs(gaps).max() > search.prove(hypothesis, SeededEntropy(0))
        wrong += failed
    assert wrong <= scipy.stats.binom.isf(1e-6, runs, gamma)
    assert short < np.abs(truth).max() * 3  # it says something


@pytest.mark.parametrize("kind", GRAPHS)
def test_answers_are_those_of_the_queries_over_the_largest_coefficient(kind):
    graph = GRAPHS[kind]
    universe, grid = Universe.of(graph), Grid.of(graph)
    queries = queries_of(universe)
    listed = QuestionList(universe, queries)
    assert listed.scale == pytest.approx(max(q.sensitivity(universe.space) for q in queries))
    assert listed.signed
    truth = np.array([query.value(graph) for query in queries]) / listed.scale
    scoring = Scoring(universe, grid)
    off = listed.rounding(grid) + grid.rounding(universe.size)
    np.testing.assert_allclose(
        listed.true_scores(graph, scoring) * scoring.unit, truth, atol=off + scoring.unit
    )
    counted = [listed.true_count(own, graph, grid) * grid.unit for own in listed]
    np.testing.assert_allclose(counted, truth, atol=off)
    hypothesis = DenseHypothesis(universe, graph.dense())
    np.testing.assert_allclose(listed.answers(hypothesis), truth)
    assert [listed.public_query(own)[0] for own in listed] == list(listed.public_queries)
    assert all(query in listed for query in queries)
    assert gc.Query.matrix(np.ones(universe.shape)) not in listed
    assert queries[0] in listed[:1]
    assert queries[1] not in listed[:1]


@pytest.mark.parametrize("kind", GRAPHS)
def test_no_pair_moves_a_score_or_a_count_by_more_than_is_paid_for(kind):
    """Every pair taken away, or its weight made the cap; the largest moves are reached."""
    graph = GRAPHS[kind]
    universe, grid = Universe.of(graph), Grid.of(graph)
    listed, scoring = QuestionList(universe, queries_of(universe)), Scoring(universe, grid)
    dense = graph.dense()
    options = {"weighted": True, "max_weight": graph.max_weight} if graph.weighted else {}

    def counted(matrix):
        other = type(graph).of(matrix, **options)
        counts = np.array([listed.true_count(own, other, grid) for own in listed])
        return listed.true_scores(other, scoring), counts

    base, most = counted(dense), np.zeros(2)
    for i, j in zip(*universe.pairs(), strict=True):
        other = dense.copy()
        other[i, j] = graph.max_weight if dense[i, j] == 0 else 0
        if universe.symmetric:
            other[j, i] = other[i, j]
        moved = [np.abs(a - b).max() for a, b in zip(counted(other), base, strict=True)]
        most = np.maximum(most, moved)
    paid = np.array([scoring.sensitivity, grid.sensitivity])
    assert (0.5 * paid < most).all()
    assert (most <= paid).all()


def test_statistics_are_counted_in_their_steps():
    universe = Universe(5)
    listed = QuestionList(
        universe, [GraphQuery("triangles"), GraphQuery("max-cut"), gc.CutQuery([0])]
    )
    family = all_databases(Universe(5))
    scoring = Scoring(universe, Grid())
    for bits in range(0, 1024, 37):
        present = family.databases[bits] > 0
        rows, columns = (ends[present] for ends in universe.pairs())
        graph = gc.Graph(rows, columns, vertices=5)
        found = [listed.true_count(own, graph, Grid()) for own in listed]
        expected = [GraphQuery("triangles").value(graph) // 3, GraphQuery("max-cut").value(graph)]
        assert found[:2] == expected
        assert (listed.true_scores(graph, scoring) == np.array(found) * scoring.substeps).all()
        own = type(family)(universe, family.databases[bits : bits + 1])
        np.testing.assert_array_equal(listed.answers(own), found)
    assert listed.public_query(listed[0]) == (GraphQuery("triangles"), 3.0)
    assert GraphQuery("min-cut") not in listed
    assert GraphQuery("triangles") in listed


def test_sums_of_products_are_exact():
    rng = np.random.default_rng(5)
    coefficients = rng.integers(-(2**30), 2**30 + 1, size=(6, 50))
    weights = rng.integers(0, 2**52, size=50)
    expected = [
        sum(int(c) * int(w) for c, w in zip(row, weights, strict=True)) for row in coefficients
    ]
    assert exact_sums(coefficients, weights) == expected


def random_gaps(shape, seed, *, largest=3):
    gaps = np.random.default_rng(seed).integers(-largest, largest + 1, shape)
    if shape[0] == shape[1]:
        gaps = np.triu(gaps, 1)
        gaps = gaps + gaps.T
    return gaps


def distribution(gaps, rate, pairs):
    """Outcome -> probability by enumeration."""
    weights = {}
    for S, T in pairs:
        r = rate * float(gaps[S][:, T].sum())
        weights |= {((*S, *T), 1): math.exp(r), ((*S, *T), -1): math.exp(-r)}
    total = math.fsum(weights.values())
    return {outcome: weight / total for outcome, weight in weights.items()}


def test_exact_shares_decide_as_floats_do_where_these_can_tell(monkeypatch):
    """Of the second set; a float alone would be off where it is as good as a share."""
    sampler = CutSampler(random_gaps((6, 6), 1), Fraction(1, 5), bipartite=False)
    floats = [sampler.draw(SeededEntropy(seed)) for seed in range(60)]
    monkeypatch.setattr(distinguisher, "_FLOAT_ERROR", 2.0)
    exact = [sampler.draw(SeededEntropy(seed)) for seed in range(60)]
    for one, other in zip(floats, exact, strict=True):
        np.testing.assert_array_equal(np.concatenate(one[:2]), np.concatenate(other[:2]))
        assert one[2] == other[2]


DRAWN = {
    "plain": gc.Graph([0, 0, 1], [1, 2, 3], vertices=4),
    "arcs": gc.DirectedGraph([0, 0, 1, 3], [1, 2, 0, 1], vertices=4),
    "wide": gc.BipartiteGraph([0, 1, 1], [1, 0, 3], left=2, right=4),
    "tall": gc.BipartiteGraph([0, 1, 3], [1, 0, 1], left=4, right=2),
    "large": random_graph(6, 2, density=0.5),
}


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("kind", "listed"),
    [
        ("plain", True),
        *((kind, False) for kind in ("plain", "arcs", "wide", "tall")),
        pytest.param("large", False, marks=pytest.mark.slow),
    ],
)
def test_a_search_draws_at_half_of_epsilon_for_an_edge(kind, listed):
    """What a call finds, with its sign, has the law that its guarantee of epsilon rests on; two
    thirds of that are another law, which is noticed."""
    graph, epsilon = DRAWN[kind], Fraction(5)
    universe = Universe.of(graph)
    pairs = list(disjoint_pairs(universe.shape[0]))
    if universe.bipartite:
        sides = [itertools.product((False, True), repeat=size) for size in universe.shape]
        pairs = [tuple(map(np.array, pair)) for pair in itertools.product(*sides)]
    of = ExactCuts(universe=universe, epsilon=epsilon)
    if listed:
        cuts = gc.CutList(universe, [gc.CutQuery(S, T) for S, T in pairs])
        of = Exponential(queries=cuts, epsilon=epsilon)
    hypothesis, source = DenseHypothesis.constant(universe, 0.5), SeededEntropy(4)
    search, gaps = of.begin(graph, source), graph.dense() - hypothesis.dense()

    def draw():
        found = search.find(hypothesis, source)
        return *universe.masks(found.query), found.sign

    draws = 1_000_000 if kind == "large" else 2000
    check_draws(draw, draws, distribution(gaps, float(epsilon) / 2, pairs))
    if kind != "large":
        with pytest.raises(AssertionError):
            check_draws(draw, draws, distribution(gaps, float(epsilon) / 3, pairs))


@pytest.mark.parametrize("weights", ["nothing", "much", "both"])
@pytest.mark.parametrize("directed", [False, True])
def test_privacy_by_enumeration_of_all_neighbours(weights, directed):
    """Log-ratios of all outcomes on all pairs of neighbours with 4 vertices, 3 if directed."""
    n = 3 if directed else 4
    matrix = np.full((n, n), 3.0 if weights == "much" else 0.0)
    if weights == "both":  # the pair {0, 1} is in a cut of large positive gap, and of negative
        matrix[0, 1:] = matrix[1:, 0] = (3, -10) if directed else (3, -10, 10)
    epsilon = Fraction(6)
    universe = Universe(n, directed=directed)
    tuned = ExactCuts(universe=universe, epsilon=epsilon)
    rate = tuned.scoring.rate(epsilon)
    hypothesis = DenseHypothesis(universe, matrix)
    distributions = {}
    pairs = list(disjoint_pairs(n))
    for bits, graph in all_graphs(n, directed=directed):
        gaps = tuned.pair_scores(graph) - tuned.scoring.in_substeps(hypothesis.dense())
        distributions[bits] = np.log(list(distribution(gaps, float(rate), pairs).values()))
    worst = 0.0
    for bits, logs in distributions.items():
        for pair in range(6):
            other = tuple(bit != (i == pair) for i, bit in enumerate(bits))
            ratios = logs - distributions[other]
            worst = max(worst, np.abs(ratios).max())
            # the range that the zCDP bound rests on
            assert ratios.max() - ratios.min() <= float(epsilon) * (1 + 1e-9)
    assert worst <= float(epsilon) * (1 + 1e-9)
    # gaps of both signs need a third vertex beside a pair
    assert worst >= (0.4 if directed else 0.9) * float(epsilon)


@pytest.mark.parametrize("directed", [False, True])
def test_shortfall_holds(directed):
    """The probability of falling short, by enumeration, is at most gamma for any gamma."""
    graph = random_graph(6, 6, density=0.5, directed=directed)
    universe = Universe.of(graph)
    hypothesis = DenseHypothesis.constant(universe, 0.3)
    tuned = ExactCuts(universe=universe, epsilon=Fraction(2))
    gaps = tuned.pair_scores(graph) - tuned.scoring.in_substeps(hypothesis.dense())
    rate, unit = float(tuned.scoring.rate(tuned.epsilon)), tuned.scoring.unit
    found = distribution(gaps, rate, disjoint_pairs(6))

    def value(outcome):
        name, sign = outcome
        S, T = np.array(name[:6], bool), np.array(name[6:], bool)
        return sign * gaps[S][:, T].sum() * unit

    values = np.array([value(outcome) for outcome in found])
    chances = np.array(list(found.values()))
    for gamma in (0.5, 0.1, 1e-3):
        short = values < values.max() - tuned.shortfall(gamma)
        assert chances[short].sum() <= gamma


@pytest.mark.parametrize(
    ("shape", "epsilon"),
    [(14, 20), ((3, 40), 20), pytest.param(22, 50, marks=pytest.mark.slow)],
)
def test_found_cuts_are_near_the_largest_gap(shape, epsilon):
    """Near the best of 2000 cuts, but for 1e-6 if the seed were drawn at random; 22 is the most."""
    graph = random_graph(shape, 10, density=0.4)
    universe = Universe.of(graph)
    hypothesis = DenseHypothesis.constant(universe, 0.4)
    tuned = ExactCuts(universe=universe, epsilon=Fraction(epsilon))
    source = SeededEntropy(10)
    found = tuned.begin(graph, source).find(hypothesis, source)
    assert tuple(map(len, universe.masks(found.query))) == universe.shape
    gap = found.sign * (found.query.value(graph) - hypothesis.estimate(found.query))
    cuts = random_cuts(universe, 2000, 11, disjoint=universe.symmetric)
    best = max(abs(cut.value(graph) - hypothesis.estimate(cut)) for cut in cuts)
    assert gap >= best - tuned.shortfall(1e-6)


def test_weighted_graphs():
    graph = gc.Graph([0, 1], [1, 2], weights=[2.5, 0.5], vertices=3, max_weight=4.0)
    tuned = ExactCuts(universe=Universe(3), epsilon=Fraction(40), grid=Grid.of(graph))
    assert (tuned.pair_scores(graph) * tuned.scoring.unit == graph.dense()).all()


ONE, BITS = {"epsilon": Fraction(1)}, noise_distribution("binary", epsilon=1.0)
POWER = {"universe": UNIVERSE, "rho": 1.0, "delta": 1e-6}
EVERY = {
    "exponential": Exponential(queries=CUTS, **ONE),
    "exact-cuts": ExactCuts(universe=UNIVERSE, **ONE),
    "response": ResponseRankOne(universe=UNIVERSE, distribution=BITS),
    "released": Released(queries=CUTS, distribution=BITS),
    "power": PowerRankOne(**POWER),
    "certified": PowerRankOne(**POWER, certificate_rho=1.0),
}


@pytest.mark.parametrize("name", EVERY)
def test_a_budget_is_kept_and_all_of_it_is_used(name):
    tuned, rho = EVERY[name].with_rho(0.02, rounds=5), Fraction(0.02)
    parts = [(1, tuned.setup), (5, tuned.call)]
    spent = sum(count * Fraction(part.rho) for count, part in parts if part is not None)
    assert rho * (1 - Fraction(1, 10**6)) < spent <= rho * (1 + Fraction(1, 10**12))
    if not name.startswith(("power", "certified")):
        tuned = EVERY[name].with_epsilon(Fraction(1, 3), rounds=5)
        parts = [(1, tuned.setup), (5, tuned.call)]
        assert sum(n * part.pure for n, part in parts if part is not None) == Fraction(1, 3)


@pytest.mark.parametrize("largest", [0, 3, 500, 10**6])
def test_logarithms_are_within_the_error_that_the_draw_allows_for(monkeypatch, largest):
    """The draw is exact only if floats are off by no more than the error it is told.

    Also over several chunks, and with gaps that make e^x overflow.
    """
    told = []
    monkeypatch.setattr(distinguisher, "Choice", lambda *given: told.append(given))
    for shape in ((5, 5), (3, 6), (12, 12)):
        gaps = random_gaps(shape, 1, largest=largest)
        CutSampler(gaps, Fraction(1, 7), bipartite=shape == (3, 6))
        logs, error, exact = told.pop()
        with decimal.localcontext(prec=60):
            some = np.random.default_rng(5).integers(0, len(logs), 30)
            off = max(abs(Decimal(float(logs[i])) - exact(int(i))) for i in some)
        assert off <= error < 1e-2


def test_gaps_that_no_exponential_of_a_float_holds():
    """Probabilities are 1 but for e^-2000."""
    gaps = np.array([[0, 2000, 0], [2000, 0, -2000], [0, -2000, 0]])
    sampler = CutSampler(gaps, Fraction(1), bipartite=False)
    for seed in range(10):
        S, T, sign = sampler.draw(SeededEntropy(seed))
        assert sign * gaps[S][:, T].sum() == 2000
