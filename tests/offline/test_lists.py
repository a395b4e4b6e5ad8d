"""Nets, few answers at once, and sensing: what they return, promise and learn."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from offline_calls import answer_at_once, choose_from_net, sense
from scipy.stats import binom

import graphcuts_dp as gc
from graphcuts_dp.errors import (
    AccuracyWarning,
    GraphError,
    QueryError,
)
from graphcuts_dp.graph.adjacency import BipartiteGraph, Graph
from graphcuts_dp.learn.median import all_graphs
from graphcuts_dp.learn.potentials import LpNorm, SchattenNorm
from graphcuts_dp.learn.rules import MirrorDescentRule, minimal_start
from graphcuts_dp.offline.lists import Answers, QueryBlocks, SensingPlan, Steps, columns_of
from graphcuts_dp.offline.query_lists import CutList
from graphcuts_dp.offline.release import Task
from graphcuts_dp.pairs.queries import CutQuery, MatrixQuery, RankOneQuery, answer_all
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.privacy.noise import SeededEntropy
from scripts.figures.small_databases import small_databases

PATH = Graph([0, 1, 2], [1, 2, 3], vertices=["a", "b", "c", "d"])
PATH_CUTS = [CutQuery([label]) for label in "abcd"] + [CutQuery(["a", "b"]), CutQuery(["a", "c"])]


def worst_error(made, graph, queries):
    return np.abs(answer_all(queries, made.graph) - answer_all(queries, graph)).max()


def test_a_large_epsilon_returns_a_graph_with_the_same_answers():
    made = choose_from_net(PATH, PATH_CUTS, epsilon=50.0, seed=0)
    assert worst_error(made, PATH, PATH_CUTS) == 0
    assert made.graph.labels == PATH.labels
    assert not made.graph.weighted


def test_a_net_has_one_member_for_each_way_to_answer():
    degree = choose_from_net(PATH, [CutQuery(["a"])], epsilon=1.0, seed=0)
    assert degree.law.members == 4  # degrees 0 to 3
    coarse = choose_from_net(PATH, PATH_CUTS, epsilon=1.0, alpha=2.0, seed=0)
    fine = choose_from_net(PATH, PATH_CUTS, epsilon=1.0, seed=0)
    assert 1 < coarse.law.members < fine.law.members <= 64
    assert coarse.law.error(0.05) >= coarse.law.alpha == 2.0


def test_a_public_number_of_edges_makes_the_net_smaller():
    family = all_graphs(Universe("abcd"), edges=3)
    made = choose_from_net(PATH, PATH_CUTS, epsilon=1.0, family=family, seed=0)
    assert len(made.graph.rows) == 3
    assert made.law.members <= 20
    assert made.law.error(0.05) < choose_from_net(PATH, PATH_CUTS, epsilon=1.0, seed=0).law.error(
        0.05
    )


def test_members_with_weights_make_a_weighted_graph():
    family = small_databases(Universe("abcd"), total_weight=3.0, size=2)
    made = choose_from_net(PATH, PATH_CUTS, epsilon=1.0, family=family, seed=1)
    assert made.graph.weighted
    assert made.graph.weights.sum() == pytest.approx(3.0)


def test_real_coefficients_are_counted_in_small_units():
    rng = np.random.default_rng(0)
    queries = [RankOneQuery(rng.random(4), rng.random(4)) for _ in range(5)]
    made = choose_from_net(PATH, queries, epsilon=50.0, seed=0)
    assert 0 < made.law.unit < 1e-5
    assert 0 < made.law.rounding < 1e-4
    assert worst_error(made, PATH, queries) <= made.law.error(1e-3)


def test_nets_of_bipartite_graphs():
    graph = BipartiteGraph([0, 1], [1, 0], left=2, right=["x", "y"])
    queries = [CutQuery([0], ["x"]), CutQuery([1], ["x"]), CutQuery([0, 1], ["y"])]
    made = choose_from_net(graph, queries, epsilon=50.0, seed=0)
    assert worst_error(made, graph, queries) == 0
    assert made.graph.shape == (2, 2)


def test_answers_have_intervals_for_the_queries_of_the_release():
    made = choose_from_net(PATH, PATH_CUTS, epsilon=1.0, seed=0)
    for query in PATH_CUTS:
        found = made.answer(query, confidence=0.9)
        error = made.law.error(np.nextafter(1 - 0.9, 0))
        assert found.value == answer_all([query], made.graph)[0]
        assert found.interval[0] == pytest.approx(max(0, found.value - error))
        assert (found.confidence, found.simultaneous, found.seeded) == (0.9, True, True)
    other = made.answer(["a"], ["b"])
    assert (other.interval, other.confidence) == ((0, 1), 1)
    differs = MatrixQuery([[0, -1, 2, 0], [-1, 0, 0, 0], [2, 0, 0, 0], [0, 0, 0, 0]])
    low, high = made.answer(differs).interval
    assert low < 0 < high
    assert made.answer(differs).confidence == 1
    with pytest.raises(QueryError, match="confidence"):
        made.answer(PATH_CUTS[0], confidence=1.0)
    with pytest.raises(QueryError, match="not both"):
        made.answer(PATH_CUTS[0], ["a"])


GRAPH = gc.Graph([0, 0, 1, 3, 4], [1, 2, 2, 4, 5], vertices=6)
SIDES = gc.BipartiteGraph([0, 1, 2], [0, 1, 1], [0.5, 5, 2.5], left=3, right=2, weight_cap=5.0)
ARCS = gc.DirectedGraph([0, 1, 2], [1, 0, 3], vertices=4)
CUTS = [gc.CutQuery([0, 1]), gc.CutQuery([0, 2, 3]), gc.CutQuery([0], [1, 2])]
FALSE = 1e-6
EACH_KIND = pytest.mark.parametrize("graph", [GRAPH, SIDES, ARCS], ids=["plain", "sides", "arcs"])


def cuts_of(graph):
    if graph is SIDES:
        return [gc.CutQuery([0, 1], [0, 1]), gc.CutQuery([1], [1])]
    return [gc.CutQuery([0, 1]), gc.CutQuery([0], [1, 2]), gc.CutQuery([1, 2, 3], [0, 1])]


def law_of(graph, cuts, noise):
    """The list, and the law of its noise."""
    listed = CutList(Universe.of(graph), cuts)
    return listed, Answers(noise=noise).laws(Task.of(graph, cuts, epsilon=1.0), listed)[noise]


@EACH_KIND
@pytest.mark.parametrize("noise", ["k-norm", "laplace"])
def test_intervals_hold_for_all_answers_at_once(graph, noise):
    cuts = cuts_of(graph)
    truth = np.array([query.value(graph) for query in cuts])
    listed, law = law_of(graph, cuts, noise)
    made = answer_at_once(graph, cuts, epsilon=1.0, noise=noise, beta=0.2, seed=59)
    drawn = np.array([law.measure(listed, graph, SeededEntropy(seed)) for seed in range(60)])
    assert [each.value for each in made.transcript] == drawn[59].tolist()
    assert made.accuracy.error == law.error(np.nextafter(1 - 0.8, 0))
    below = np.array([law.grid.rounding(listed.universe.pairs_between(cut)) for cut in listed])
    low, high = drawn - made.accuracy.error, drawn + made.accuracy.error + below
    wrong = ((truth < low) | (truth > high)).any(axis=1).sum()
    assert wrong <= scipy.stats.binom.isf(FALSE, 60, 0.2)
    for answer, least, most in zip(made.answer_all(cuts), low[59], high[59], strict=True):
        assert answer.interval[0] in (0, pytest.approx(least))
        assert answer.interval[1] <= most + 1e-9
    first = made.answer(cuts[0])
    assert (first.together, first.confidence) == (len(cuts), 0.8)
    assert made.answer(cuts[0], confidence=0.999).interval[1] >= first.interval[1]
    assert "seeded" in repr(made)


@EACH_KIND
def test_every_pair_has_its_column(graph):
    """What each pair changes, counted on graphs of that pair alone."""
    listed, law = law_of(graph, cuts_of(graph), "k-norm")
    columns = {tuple(column) for column in columns_of(listed)}
    rows, others = listed.universe.pairs()
    seen = set()
    for i, j in zip(rows, others, strict=True):
        if graph is SIDES:
            single = gc.BipartiteGraph([i], [j], [5.0], left=3, right=2, weight_cap=5.0)
        else:
            single = type(graph)([i], [j], vertices=len(graph.vertices))
        counts = listed.counts(single, law.grid)
        assert set(counts) <= {0, int(counts.max())}
        assert counts.max() <= law.grid.sensitivity
        seen.add(tuple((counts > 0).astype(int)))
    assert seen <= columns
    assert max(sum(column) for column in seen) > 1


def test_k_norm_noise_is_less_where_cuts_overlap():
    """Spread of answers to five random halves of 20 vertices, 200 draws of each noise."""
    rng = np.random.default_rng(1)
    graph = gc.Graph(*np.triu_indices(20, 1), vertices=20)
    halves = [gc.CutQuery(rng.random(20) < 0.5) for _ in range(5)]
    spread = {}
    for noise in ("k-norm", "laplace"):
        (listed, law), source = law_of(graph, halves, noise), SeededEntropy(3)
        values = np.array([law.measure(listed, graph, source) for _ in range(200)])
        spread[noise] = np.sqrt(((values - values.mean(axis=0)) ** 2).mean())
    assert spread["k-norm"] < 0.6 * spread["laplace"]
    radii = {
        noise: answer_at_once(graph, halves, epsilon=1.0, noise=noise, seed=1).accuracy.error
        for noise in ("auto", "k-norm", "laplace")
    }
    assert radii["auto"] == min(radii.values()) == radii["k-norm"] < radii["laplace"]


def test_long_lists_and_protections():
    many = [gc.CutQuery([i], [j]) for i in range(6) for j in range(6) if i < j]
    made = answer_at_once(GRAPH, many, epsilon=2.0)
    assert made.settings.construction == "laplace"  # no pair is in two of them: noise of 2
    assert made.guarantee.is_private
    one, ten = (
        answer_at_once(GRAPH, CUTS, epsilon=1.0, at_most=at_most, seed=1) for at_most in (1, 10)
    )
    assert ten.guarantee.protects == "10 edges"
    assert ten.guarantee.epsilon <= 1.0
    assert ten.accuracy.error > 8 * one.accuracy.error


def test_cuts_of_the_list_are_found_and_others_refused():
    made = answer_at_once(GRAPH, CUTS, epsilon=1.0, seed=1)
    other_way = made.answer([1, 2], [0])  # a cut of an undirected graph
    assert other_way == made.answer(CUTS[2])
    rank = gc.Query.rank_one([1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1])
    assert made.answer(rank) == made.answer(CUTS[0])
    arcs = answer_at_once(ARCS, cuts_of(ARCS), epsilon=1.0, seed=1)
    for few, asked, other in (
        (made, gc.CutQuery([5]), None),
        (made, gc.Query.rank_one([0.5] * 6, [1] * 6), None),
        (made, CUTS[0], [1]),
        (made, [77], None),
        (arcs, [1, 2], [0]),
    ):
        with pytest.raises(QueryError, match=r"none of them|not both|77"):
            few.answer(asked, other)
    for level in (0.0, 1.0, 2.0):
        with pytest.raises(QueryError, match="confidence"):
            made.answer(CUTS[0], confidence=level)
    with pytest.raises(GraphError, match="no graph"):
        made.graph  # noqa: B018  # refuses


pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")


def ratings(shape, seed, cap=1.0):
    """A matrix of rank one with entries in [0, cap]."""
    rng = np.random.default_rng(seed)
    matrix = cap * np.outer(rng.random(shape[0]), rng.random(shape[1]))
    rows, columns = np.nonzero(matrix)
    return BipartiteGraph(
        rows, columns, matrix[rows, columns], left=shape[0], right=shape[1], weight_cap=cap
    )


def random_signs(count, shape, seed):
    """Queries with spread singular values, of sensitivity 1."""
    rng = np.random.default_rng(seed)
    return [MatrixQuery(rng.choice([-1.0, 1.0], size=shape)) for _ in range(count)]


SMALL = ratings((6, 4), 0, cap=5.0)
QUERIES = [
    *random_signs(4, (6, 4), 1),
    RankOneQuery(np.linspace(0, 1, 6), np.linspace(1, 0.2, 4)),
    CutQuery([0, 1], [2, 3]),
]


def root_mean_square(made, truth, queries):
    errors = made.hypothesis.estimate_all(queries) - answer_all(queries, truth)
    return math.sqrt(float(np.mean(errors**2)))


def test_a_schatten_norm_learns_queries_that_were_not_asked_and_frobenius_does_not():
    """JT12 section 4.2: random queries recover a low-rank matrix. At a large epsilon: it is small.

    New random queries are as far off as ||X - h||_F, which answering 0 leaves as it is.
    """
    shape = (64, 16)
    truth = ratings(shape, 0)
    asked, new = random_signs(200, shape, 1), random_signs(200, shape, 2)
    nothing = math.sqrt(float(np.mean(answer_all(new, truth) ** 2)))
    found = {}
    for p in (None, 2.0):
        made = sense(truth, asked, epsilon=20.0, delta=1e-3, rounds=60, p=p, seed=0)
        found[p] = root_mean_square(made, truth, new), root_mean_square(made, truth, asked)
    # Of five seeds: found[None][0] is .63 to .71 of nothing, found[2.0][0] .94 to .97.
    assert found[None][0] < 0.85 * nothing < 0.93 * found[2.0][0]
    assert found[None][1] < found[2.0][1] < 0.7 * nothing


@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_no_answer_is_farther_off_than_stated_in_a_share_1_minus_beta_of_runs(epsilon):
    """More failures than the binomial quantile at 1e-6 would refute beta."""
    beta, runs = 0.3, 60
    truth = answer_all(QUERIES, SMALL)
    failures = 0
    for seed in range(runs):
        made = sense(SMALL, QUERIES, epsilon=epsilon, delta=1e-4, rounds=3, beta=beta, seed=seed)
        failures += (
            np.abs(made.hypothesis.estimate_all(QUERIES) - truth).max() > made.accuracy.error
        )
    assert failures <= binom.isf(1e-6, runs, beta)


def test_the_stated_error_is_the_last_gap_and_what_noise_choice_and_rounding_may_hide():
    beta, rounds = 0.1, 3
    made = sense(SMALL, QUERIES, epsilon=1.0, delta=1e-6, rounds=rounds, beta=beta, seed=1)
    steps = Steps(Universe(6, 4), QUERIES, 5.0)
    rho = Fraction(zcdp_rho(epsilon=1.0, delta=1e-6)) / 2  # the last round has half of it
    rate, noise = steps.noise(rho, 1)
    short = math.log(2 * 2 * len(QUERIES) / beta) / float(rate) + 1  # both signs, half of beta
    slack = steps.unit * (noise.radius(beta / 2) + short) + steps.rounding
    last = made.transcript[-1]
    assert made.accuracy.error == pytest.approx(abs(last.value - last.estimate) + slack, rel=1e-6)
    learning = steps.noise(rho, rounds - 1)[1]
    assert made.accuracy.deviation == pytest.approx(steps.unit * math.sqrt(learning.parameter))
    assert made.accuracy.error > slack > 3 * made.accuracy.deviation


@pytest.mark.parametrize("shape", [(6, 4), (512, 512), (4096, 8192)])
def test_no_sum_of_steps_can_pass_what_is_left_for_it(shape):
    steps = Steps(Universe(*shape), [CutQuery([0], [1])], 1.99)
    assert steps.sensitivity * math.prod(shape) <= 2**61
    assert steps.sensitivity >= 2**30


# Answers of a hypothesis that are numbers of no use.
FAR = np.array([1e200, -1e200, *[0.0] * (len(QUERIES) - 2)])


def test_a_hypothesis_far_off_overflows_nothing():
    """Both huge gaps are cut to the same size, and one of them is chosen."""

    class Learnt:
        def estimates(self):
            return FAR

    steps = Steps(Universe(6, 4), QUERIES, 5.0)
    plan, truth = SensingPlan.of(steps, Fraction(1), 1, 0.05), steps.count(SMALL)
    runs = [plan.run(Learnt(), truth, SeededEntropy(seed), lambda *_: None) for seed in range(9)]
    assert {made.query for run in runs for made in run} == {0, 1}


def test_answers_in_steps_are_within_the_rounding_of_true_ones():
    for cap, scale in ((5.0, 1.0), (0.3, 100.0), (1e6, 1e-9)):
        truth = ratings((6, 4), 3, cap=cap)
        queries = [
            MatrixQuery(scale * np.random.default_rng(i).normal(size=(6, 4))) for i in range(5)
        ]
        steps = Steps(Universe(6, 4), queries, cap)
        off = steps.unit * steps.count(truth) - answer_all(queries, truth)
        assert 0 < np.abs(off).max() <= steps.rounding < 1e-3 * cap * scale
        # Of an entry: half a step of its coefficient, and a step of its rating.
        coefficient = max(query.sensitivity(truth) for query in queries)
        parts = cap * steps._of_coefficients / 2, coefficient * steps._of_ratings
        assert steps.rounding == pytest.approx(24 * sum(parts))
        assert steps.sensitivity * steps.unit == pytest.approx(
            cap * max(query.sensitivity(truth) for query in queries), rel=1e-5
        )


def test_graphs_without_weights_have_answers_of_their_own():
    graph = BipartiteGraph([0, 2], [1, 3], left=6, right=4)
    steps = Steps(Universe(6, 4), QUERIES[:4], graph.weight_cap)
    assert (steps.unit * steps.count(graph) == answer_all(QUERIES[:4], graph)).all()
    made = sense(graph, QUERIES, epsilon=1.0, delta=1e-6, rounds=2)
    assert made.guarantee.neighbours == "whether any one pair is an edge"


def test_what_is_promised_and_printed():
    said = []
    terms = {"epsilon": 1.0, "delta": 1e-6, "progress": lambda done, _: said.append(done)}
    made = sense(SMALL, QUERIES, rounds=2, seed=0, **terms)
    assert "within 0 .. 5" in made.guarantee.neighbours
    assert "seeded: not private" in repr(made)
    assert said == [0.5, 1.0]
    private = sense(SMALL, QUERIES, rounds=1, **terms)
    assert private.guarantee.is_private
    assert "seeded" not in repr(private)
    assert not private.hypothesis.matrix.any()  # the only round tests


def sums_over_groups(shape, groups):
    """Sums between groups of users and groups of items, which share no rating."""
    rows, columns = (np.arange(n) * k // n for n, k in zip(shape, groups, strict=True))
    return [CutQuery(rows == i, columns == j) for i in range(groups[0]) for j in range(groups[1])]


def test_sums_that_share_no_rating_are_measured_at_the_price_of_one():
    shape = (60, 40)
    truth, queries = ratings(shape, 1, cap=5.0), sums_over_groups(shape, (6, 5))
    made = sense(truth, queries, epsilon=1.0, delta=1e-6, seed=1)
    alone = sense(truth, queries[:1], epsilon=1.0, delta=1e-6, seed=1)
    assert len(made.transcript) == 30
    assert made.accuracy.deviation == pytest.approx(alone.accuracy.deviation, rel=1e-4)
    ten = sense(truth, queries, epsilon=1.0, delta=1e-6, rounds=10, seed=1)
    assert made.accuracy.error < ten.accuracy.error / 5
    off = [answer.value - query.value(truth) for answer, query in zip(
        made.answer_all(queries), queries, strict=True
    )]  # fmt: skip
    assert np.abs(off).max() <= made.accuracy.error
    for query in queries:
        low, high = made.answer(query).interval
        assert low <= query.value(truth) <= high


def test_queries_that_share_every_rating_are_chosen_if_they_are_many():
    steps = Steps(Universe(6, 4), [CutQuery(range(6), range(4))] * 2000, 5.0)
    rho = Fraction(1, 40)
    assert not SensingPlan.of(steps, rho, None, 0.05).measures_all
    few = Steps(Universe(6, 4), QUERIES, 5.0)
    assert SensingPlan.of(few, rho, None, 0.05).measures_all
    assert SensingPlan.of(few, rho, 7, 0.05).rounds == 7


@pytest.mark.parametrize("rounds", [None, 1, 2, 10])
def test_a_plan_costs_what_was_asked_for_and_no_more(rounds):
    steps, rho = Steps(Universe(6, 4), QUERIES, 5.0), Fraction(1, 40)
    spent = SensingPlan.of(steps, rho, rounds, 0.05).cost(1e-6).rho
    assert 0.999 * rho < spent <= float(rho) * (1 + 1e-9)


def test_no_rating_moves_the_list_by_more_than_its_square():
    steps = Steps(Universe(6, 4), QUERIES, 5.0)
    moved = []
    nothing = steps.count(BipartiteGraph([], [], [], left=6, right=4, weight_cap=5.0))
    for i in range(6):
        for j in range(4):
            one = BipartiteGraph([i], [j], [5.0], left=6, right=4, weight_cap=5.0)
            change = (steps.count(one) - nothing).tolist()
            moved.append(sum(step * step for step in change))
    assert max(moved) <= steps.square < max(moved) * (1 + 1e-8)


def test_intervals_of_measured_queries_hold_in_a_share_1_minus_beta_of_runs():
    beta, runs = 0.3, 60
    truth = answer_all(QUERIES, SMALL)
    failures = 0
    for seed in range(runs):
        made = sense(SMALL, QUERIES, epsilon=5.0, delta=1e-4, beta=beta, seed=seed)
        ends = np.array([answer.interval for answer in made.answer_all(QUERIES)])
        failures += ((truth < ends[:, 0]) | (truth > ends[:, 1])).any()
    assert failures <= binom.isf(1e-6, runs, beta)


def test_what_is_not_of_the_list_is_answered_with_what_is_certain():
    made = sense(SMALL, QUERIES, epsilon=5.0, delta=1e-4, seed=1)
    other = MatrixQuery(np.full((6, 4), -2.0))
    answer = made.answer(other)
    assert answer.confidence == 1
    assert answer.interval == pytest.approx((-2.0 * 24 * 5, 0.0), rel=1e-6)
    assert made.answer([0, 1], [2, 3]) == made.answer(QUERIES[-1])
    assert made.answer("*", "*").interval[1] == pytest.approx(24 * 5)
    with pytest.raises(QueryError, match="not both"):
        made.answer(other, [1])


def test_a_promise_worse_than_no_knowledge_is_told_before_it_is_paid_for(tmp_path):
    store = tmp_path / "s.db"
    with pytest.warns(AccuracyWarning, match="by the middle of what it can be"):
        sense(SMALL, QUERIES, epsilon=1.0, delta=1e-6, seed=0)
    large = ratings((60, 40), 1)
    cut = [CutQuery(range(30), range(20))]
    terms = {"epsilon": 1.0, "delta": 1e-6}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sense(large, cut, expected_ratings=100, **terms)
        with pytest.raises(AccuracyWarning, match="each query by 0 is never farther off than 5"):
            sense(large, cut, expected_ratings=5, store=store, **terms)
    assert not store.exists()


SHAPE = (9, 7)
RNG = np.random.default_rng(5)
BLOCK_CUTS = [CutQuery(RNG.random(9) < 0.4, RNG.random(7) < 0.5) for _ in range(2)] + [
    CutQuery(np.arange(9) < 3, np.arange(7) > 2)
]


def learnt(queries, universe, psi, moves):
    """The hypothesis after some moves, and its answers before each."""
    start = hypothesis = minimal_start(universe, psi)
    answers = []
    for index, length, sign in moves:
        answers.append(hypothesis.estimate(queries[index]))
        rule = MirrorDescentRule(
            start=start, psi=psi, alpha=length, zeta=100.0, start_potential=0.0
        )
        hypothesis = rule.update(hypothesis, queries[index], sign)
    return hypothesis, answers


# Singular values that are 0 but for rounding, 1e-16, become 1e-16^(p-1) in the dual.
@pytest.mark.parametrize(
    ("psi", "tolerance"),
    [(SchattenNorm(1.2), 3e-3), (SchattenNorm(1.7), 1e-8), (LpNorm(2.0), 1e-8)],
    ids=("1.2", "1.7", "2"),
)
def test_mirror_descent_is_the_same_on_blocks(psi, tolerance):
    universe = Universe(*SHAPE)
    blocks = QueryBlocks.of(BLOCK_CUTS, universe)
    assert blocks.universe.size < universe.size
    moves = [(0, 2.0, 1), (1, 1.0, -1), (2, 3.0, 1), (0, 0.5, -1), (1, 2.0, 1)]
    whole, answers = learnt(BLOCK_CUTS, universe, psi, moves)
    small, likewise = learnt(blocks.queries, blocks.universe, psi, moves)
    assert likewise == pytest.approx(answers, abs=tolerance)
    assert np.allclose(blocks.expand(small).matrix, whole.matrix, atol=tolerance)


def test_classes_are_as_coarse_as_the_cuts_allow():
    blocks = QueryBlocks.of(BLOCK_CUTS, Universe(*SHAPE))
    for side, codes in enumerate(blocks.sides):
        kinds = {}
        for place, code in enumerate(codes.tolist()):
            held = tuple(bool(cut.masks(Universe(*SHAPE).space)[side][place]) for cut in BLOCK_CUTS)
            assert kinds.setdefault(code, held) == held
        assert len(set(kinds.values())) == len(kinds)
