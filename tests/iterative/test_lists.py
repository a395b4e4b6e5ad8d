"""Nets, few answers at once, and sensing: what they return, guarantee and learn."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

import graphcuts_dp as gc
from graphcuts_dp import AccuracyWarning, GraphError, QueryError
from graphcuts_dp.iterative.answer_grid import AnswerGrid, QueryBlocks
from graphcuts_dp.iterative.answers import Answers, pair_columns
from graphcuts_dp.iterative.sensing import SensingPlan
from graphcuts_dp.learn.median import all_graphs
from graphcuts_dp.learn.potentials import LpNorm, SchattenNorm
from graphcuts_dp.learn.rules import MirrorDescentRule, minimal_start
from graphcuts_dp.plugins import SeededEntropy, Task, Universe
from graphcuts_dp.privacy.composition import zcdp_rho
from scripts.figures.small_databases import small_databases

pytestmark = pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")

FALSE = 1e-6  # chance of each test of frequencies to fail, were its seed drawn
PATH = gc.Graph([0, 1, 2], [1, 2, 3], vertices=["a", "b", "c", "d"])
PATH_CUTS = [gc.CutQuery([label]) for label in "abcd"] + [
    gc.CutQuery(["a", "b"]),
    gc.CutQuery(["a", "c"]),
]


def of_net(graph=PATH, queries=PATH_CUTS, *, epsilon=1.0, seed=0, **options):
    made = gc.Net(**options)
    return gc.release_iteratively(graph, queries, epsilon=epsilon, construction=made, seed=seed)


def test_a_large_epsilon_returns_a_graph_with_the_same_answers():
    rng = np.random.default_rng(0)
    sides = gc.BipartiteGraph([0, 1], [1, 0], left=2, right=["x", "y"])
    cuts = [gc.CutQuery([0], ["x"]), gc.CutQuery([1], ["x"]), gc.CutQuery([0, 1], ["y"])]
    real = [gc.Query.rank_one(rng.random(4), rng.random(4)) for _ in range(5)]
    for graph, queries in ((PATH, PATH_CUTS), (sides, cuts), (PATH, real)):
        made = of_net(graph, queries, epsilon=50.0)
        off = np.abs(gc.answer_all(queries, made.graph) - gc.answer_all(queries, graph)).max()
        assert made.graph.space == graph.space
        assert not made.graph.weighted
        assert off <= (made.law.error(1e-3) if queries is real else 0)
    assert 0 < made.law.unit < 1e-5  # real coefficients are counted in small units
    assert 0 < made.law.rounding < 1e-4


def test_a_net_has_one_member_for_each_way_to_answer():
    assert of_net(queries=PATH_CUTS[:1]).law.members == 4  # degrees 0 to 3
    coarse, fine = of_net(alpha=2.0), of_net()
    assert 1 < coarse.law.members < fine.law.members <= 64
    assert coarse.law.error(0.05) >= coarse.law.alpha == 2.0
    known = of_net(family=all_graphs(Universe("abcd"), edges=3))  # a public number of edges
    assert len(known.graph.rows) == 3
    assert known.law.members <= 20
    assert known.law.error(0.05) < fine.law.error(0.05)
    heavy = of_net(family=small_databases(Universe("abcd"), total_weight=3.0, size=2)).graph
    assert heavy.weighted
    assert heavy.weights.sum() == pytest.approx(3.0)


def test_the_noise_of_a_net_is_for_the_heaviest_query_wherever_it_stands():
    """With the sensitivity of the first query alone, light queries first would mean less noise."""
    light, heavy = np.zeros((2, 4, 4))
    light[0, 1] = light[1, 0] = 1
    heavy[2, 3] = heavy[3, 2] = 10
    errors = [
        of_net(queries=[gc.Query.matrix(each) for each in order]).law.error(0.05)
        for order in ((light, heavy), (heavy, light))
    ]
    assert errors[0] == errors[1]
    assert errors[0] > 4 * of_net(queries=[gc.Query.matrix(light)]).law.error(0.05)


def test_answers_have_intervals_for_the_queries_of_the_release():
    made = of_net()
    error = made.law.error(np.nextafter(1 - 0.9, 0))
    for query in PATH_CUTS:
        found = made.answer(query, confidence=0.9)
        assert found.value == gc.answer_all([query], made.graph)[0]
        assert found.interval[0] == pytest.approx(max(0, found.value - error))
        assert (found.confidence, found.simultaneous, found.seeded) == (0.9, True, True)
    other = made.answer(["a"], ["b"])
    assert (other.interval, other.confidence) == ((0, 1), 1)
    coefficients = np.zeros((4, 4))
    coefficients[0, 1:3] = coefficients[1:3, 0] = -1, 2
    differs = made.answer(gc.Query.matrix(coefficients))
    assert differs.interval[0] < 0 < differs.interval[1]
    assert differs.confidence == 1
    with pytest.raises(QueryError, match="not both"):
        made.answer(PATH_CUTS[0], ["a"])


# Few answers at once.

GRAPH = gc.Graph([0, 0, 1, 3, 4], [1, 2, 2, 4, 5], vertices=6)
SIDES = gc.BipartiteGraph([0, 1, 2], [0, 1, 1], [0.5, 5, 2.5], left=3, right=2, max_weight=5.0)
ARCS = gc.DirectedGraph([0, 1, 2], [1, 0, 3], vertices=4)
CUTS = [gc.CutQuery([0, 1]), gc.CutQuery([0, 2, 3]), gc.CutQuery([0], [1, 2])]
ONE_WAY = [gc.CutQuery([0, 1]), gc.CutQuery([0], [1, 2]), gc.CutQuery([1, 2, 3], [0, 1])]
BETWEEN = [gc.CutQuery([0, 1], [0, 1]), gc.CutQuery([1], [1])]
EACH_KIND = pytest.mark.parametrize(
    ("graph", "cuts"),
    [(GRAPH, ONE_WAY), (SIDES, BETWEEN), (ARCS, ONE_WAY)],
    ids=["plain", "sides", "arcs"],
)


def at_once(graph=GRAPH, cuts=CUTS, *, epsilon=1.0, noise="answers", seed=1, **options):
    return gc.release_iteratively(
        graph, cuts, epsilon=epsilon, construction=noise, seed=seed, **options
    )


def law_of(graph, cuts, noise):
    """The list, and the law of its noise."""
    listed = gc.CutList(Universe.of(graph), cuts)
    return listed, Answers(noise=noise).laws(Task(graph, cuts, epsilon=1.0), listed)[noise]


@pytest.mark.thorough(cases=4)
@EACH_KIND
@pytest.mark.parametrize("noise", ["k-norm", "laplace"])
def test_intervals_hold_for_all_answers_at_once(graph, cuts, noise):
    truth = np.array([query.value(graph) for query in cuts])
    listed, law = law_of(graph, cuts, noise)
    made = at_once(graph, cuts, noise=noise, beta=0.2, seed=39)
    drawn = np.array([law.measure(listed, graph, SeededEntropy(seed)) for seed in range(40)])
    assert [each.value for each in made.transcript] == drawn[39].tolist()
    assert made.accuracy.error == law.error(np.nextafter(1 - 0.8, 0))
    below = np.array([law.grid.rounding(listed.universe.pairs_between(cut)) for cut in listed])
    low, high = drawn - made.accuracy.error, drawn + made.accuracy.error + below
    wrong = ((truth < low) | (truth > high)).any(axis=1).sum()
    assert wrong <= binom.isf(FALSE, 40, 0.2)
    for answer, least, most in zip(made.answer_all(cuts), low[39], high[39], strict=True):
        assert answer.interval[0] in (0, pytest.approx(least))
        assert answer.interval[1] <= most + 1e-9
    first = made.answer(cuts[0])
    assert (first.together, first.confidence) == (len(cuts), 0.8)
    assert made.answer(cuts[0], confidence=0.999).interval[1] >= first.interval[1]
    assert "seeded" in repr(made)


@EACH_KIND
def test_every_pair_has_its_column(graph, cuts):
    """What each pair changes, counted on graphs of that pair alone."""
    listed, law = law_of(graph, cuts, "k-norm")
    columns = {tuple(column) for column in pair_columns(listed)}
    seen = set()
    for i, j in zip(*listed.universe.pairs(), strict=True):
        if graph is SIDES:
            single = gc.BipartiteGraph([i], [j], [5.0], left=3, right=2, max_weight=5.0)
        else:
            single = type(graph)([i], [j], vertices=len(graph.vertices))
        counts = listed.counts(single, law.grid)
        assert set(counts) <= {0, int(counts.max())}
        assert counts.max() <= law.grid.sensitivity
        seen.add(tuple((counts > 0).astype(int)))
    assert seen <= columns
    assert max(sum(column) for column in seen) > 1


@pytest.mark.thorough
def test_k_norm_noise_is_less_where_cuts_overlap():
    """Spread of answers to five random halves of 20 vertices, 100 draws of each noise."""
    rng = np.random.default_rng(1)
    graph = gc.Graph(*np.triu_indices(20, 1), vertices=20)
    halves = [gc.CutQuery(rng.random(20) < 0.5) for _ in range(5)]
    spread = {}
    for noise in ("k-norm", "laplace"):
        (listed, law), source = law_of(graph, halves, noise), SeededEntropy(3)
        values = np.array([law.measure(listed, graph, source) for _ in range(100)])
        spread[noise] = values.std(axis=0).mean()
    assert spread["k-norm"] < 0.6 * spread["laplace"]
    radii = {
        noise: at_once(graph, halves, noise=noise).accuracy.error
        for noise in ("answers", "k-norm", "laplace")
    }
    assert radii["answers"] == min(radii.values()) == radii["k-norm"] < radii["laplace"]


def test_long_lists_and_protections():
    many = [gc.CutQuery([i], [j]) for i in range(6) for j in range(6) if i < j]
    made = at_once(cuts=many, epsilon=2.0, seed=None)
    assert made.settings.construction == "laplace"  # no pair is in two of them: noise of 2
    assert made.guarantee.is_private
    one, ten = (at_once(privacy_unit=gc.PrivacyUnit.edge(group_size)) for group_size in (1, 10))
    assert ten.guarantee.privacy_unit == "10 edges"
    assert ten.guarantee.epsilon <= 1.0
    assert ten.accuracy.error > 8 * one.accuracy.error


def test_cuts_of_the_list_are_found_and_others_refused():
    made, arcs = at_once(), at_once(ARCS, ONE_WAY)
    assert made.answer([1, 2], [0]) == made.answer(CUTS[2])  # a cut of an undirected graph
    rank = gc.Query.rank_one([1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1])
    assert made.answer(rank) == made.answer(CUTS[0])
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


# Sensing.


def rated(matrix, cap):
    """The ratings of a matrix."""
    ends, (left, right) = np.nonzero(matrix), matrix.shape
    return gc.BipartiteGraph(*ends, matrix[ends], left=left, right=right, max_weight=cap)


def ratings(shape, seed, cap=1.0):
    """Of a matrix of rank one with entries in [0, cap]."""
    rng = np.random.default_rng(seed)
    return rated(cap * np.outer(rng.random(shape[0]), rng.random(shape[1])), cap)


def random_signs(count, shape, seed):
    """Queries with spread singular values, of sensitivity 1."""
    rng = np.random.default_rng(seed)
    return [gc.Query.matrix(rng.choice([-1.0, 1.0], size=shape)) for _ in range(count)]


SMALL, OF_SMALL = ratings((6, 4), 0, cap=5.0), Universe(6, 4)
QUERIES = [
    *random_signs(4, (6, 4), 1),
    gc.Query.rank_one(np.linspace(0, 1, 6), np.linspace(1, 0.2, 4)),
    gc.CutQuery([0, 1], [2, 3]),
]
STEPS = AnswerGrid(OF_SMALL, QUERIES, 5.0)


def sensed(graph=SMALL, queries=QUERIES, *, epsilon=1.0, delta=1e-6, seed=1, **options):
    """With options of the release, and of sensing."""
    own = {name: options.pop(name) for name in ("beta", "store", "progress") if name in options}
    terms = {"epsilon": epsilon, "delta": delta, "seed": seed} | own
    return gc.release_iteratively(graph, queries, construction=gc.Sensing(**options), **terms)


@pytest.mark.parametrize("rounds", [3, None])
def test_a_run_of_a_job_of_sensing_knows_nothing_of_the_runs_before(rounds):
    """A trial with a seed is not private: what it learnt may not go into a run that is."""

    def job():
        return gc.Sensing(rounds=rounds).job(Task(SMALL, QUERIES, epsilon=20.0, delta=1e-6))

    def run(job, graph):
        return job.run(job.bounded(graph), SeededEntropy(2)).hypothesis.matrix

    used, empty = job(), SMALL.without_edges()
    assert np.abs(run(used, SMALL)).max() > 0
    assert np.array_equal(run(used, empty), run(job(), empty))


@pytest.mark.thorough
def test_a_schatten_norm_learns_queries_that_were_not_asked_and_frobenius_does_not():
    """JT12 section 4.2: random queries recover a low-rank matrix. At a large epsilon: it is small.

    New random queries are as far off as ||X - h||_F, which answering 0 leaves as it is.
    """
    shape = (64, 16)
    truth = ratings(shape, 0)
    asked, new = random_signs(200, shape, 1), random_signs(200, shape, 2)

    def root_mean_square(estimates, queries):
        return math.sqrt(float(np.mean((estimates - gc.answer_all(queries, truth)) ** 2)))

    nothing, found = root_mean_square(0, new), {}
    for p in (None, 2.0):
        made = sensed(truth, asked, epsilon=20.0, delta=1e-3, rounds=60, p=p, seed=0)
        guess = made.hypothesis.estimate_all
        found[p] = [root_mean_square(guess(queries), queries) for queries in (new, asked)]
    # Of five seeds: found[None][0] is .63 to .71 of nothing, found[2.0][0] .94 to .97.
    assert found[None][0] < 0.85 * nothing < 0.93 * found[2.0][0]
    assert found[None][1] < found[2.0][1] < 0.7 * nothing


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(("epsilon", "rounds"), [(1.0, 3), (10.0, 3), (5.0, None)])
def test_intervals_hold_for_all_queries_in_a_share_1_minus_beta_of_runs(epsilon, rounds):
    """Learnt in rounds, or all measured. More failures than the binomial quantile at 1e-6 would
    refute beta."""
    beta, runs, failures = 0.3, 40, 0
    truth = gc.answer_all(QUERIES, SMALL)
    terms = {"epsilon": epsilon, "delta": 1e-4, "rounds": rounds, "beta": beta}
    for seed in range(runs):
        made = sensed(seed=seed, **terms)
        ends = np.array([answer.interval for answer in made.answer_all(QUERIES)])
        wrong = ((truth < ends[:, 0]) | (truth > ends[:, 1])).any()
        off = np.abs(made.hypothesis.estimate_all(QUERIES) - truth).max()
        failures += wrong or (rounds is not None and off > made.accuracy.error)
    assert failures <= binom.isf(FALSE, runs, beta)


def test_the_stated_error_is_the_last_gap_and_what_noise_choice_and_rounding_may_hide():
    beta, rounds = 0.1, 3
    made = sensed(rounds=rounds, beta=beta)
    rho = Fraction(zcdp_rho(epsilon=1.0, delta=1e-6)) / 2  # the last round has half of it
    rate, noise = STEPS.noise(rho, 1)
    short = math.log(2 * 2 * len(QUERIES) / beta) / float(rate) + 1  # both signs, half of beta
    slack = STEPS.unit * (noise.radius(beta / 2) + short) + STEPS.rounding
    last = made.transcript[-1]
    assert made.accuracy.error == pytest.approx(abs(last.value - last.estimate) + slack, rel=1e-6)
    learning = STEPS.noise(rho, rounds - 1)[1]
    assert made.accuracy.deviation == pytest.approx(STEPS.unit * math.sqrt(learning.parameter))
    assert made.accuracy.error > slack > 3 * made.accuracy.deviation


def test_a_card_has_no_rounds_if_every_query_was_measured():
    chosen, all_measured = sensed(rounds=3), sensed(rounds=None, epsilon=5.0)
    assert all_measured.accuracy.queries == "measured"
    assert "3 of at most 3" in chosen._repr_html_()
    assert "of at most" not in all_measured._repr_html_()


@pytest.mark.parametrize("shape", [(6, 4), (512, 512), (4096, 8192)])
def test_no_sum_of_steps_can_pass_what_is_left_for_it(shape):
    steps = AnswerGrid(Universe(*shape), [gc.CutQuery([0], [1])], 1.99)
    assert steps.sensitivity * math.prod(shape) <= 2**61
    assert steps.sensitivity >= 2**30


def test_a_hypothesis_far_off_overflows_nothing():
    """Both huge gaps are cut to the same size, and one of them is chosen."""

    class Learnt:
        def estimates(self):
            return np.array([1e200, -1e200, *[0.0] * (len(QUERIES) - 2)])

    plan, truth = SensingPlan.of(STEPS, Fraction(1), 1, 0.05), STEPS.count(SMALL)
    runs = [plan.run(Learnt(), truth, SeededEntropy(seed), lambda *_: None) for seed in range(9)]
    assert {made.query for run in runs for made in run} == {0, 1}


def test_answers_in_steps_are_within_the_rounding_of_true_ones():
    for cap, scale in ((5.0, 1.0), (0.3, 100.0), (1e6, 1e-9)):
        truth, rng = ratings((6, 4), 3, cap=cap), np.random.default_rng(0)
        queries = [gc.Query.matrix(scale * rng.normal(size=(6, 4))) for _ in range(5)]
        steps = AnswerGrid(OF_SMALL, queries, cap)
        off = steps.unit * steps.count(truth) - gc.answer_all(queries, truth)
        assert 0 < np.abs(off).max() <= steps.rounding < 1e-3 * cap * scale
        # Of an entry: half a step of its coefficient, and a step of its rating.
        coefficient = max(query.sensitivity(truth) for query in queries)
        parts = cap * steps._coefficient_unit / 2, coefficient * steps._rating_unit
        assert steps.rounding == pytest.approx(24 * sum(parts))
        assert steps.sensitivity * steps.unit == pytest.approx(cap * coefficient, rel=1e-5)
    graph = gc.BipartiteGraph([0, 2], [1, 3], left=6, right=4)  # without weights nothing is rounded
    steps = AnswerGrid(OF_SMALL, QUERIES[:4], graph.max_weight)
    assert (steps.unit * steps.count(graph) == gc.answer_all(QUERIES[:4], graph)).all()
    assert sensed(graph, rounds=2).guarantee.neighbours == "whether any one pair is an edge"


def test_what_is_guaranteed_and_printed():
    said = []
    made = sensed(rounds=2, seed=None, progress=lambda done, _: said.append(done))
    assert "within 0 .. 5" in made.guarantee.neighbours
    assert made.guarantee.is_private
    assert "seeded" not in repr(made)
    assert "seeded: not private" in repr(sensed(rounds=2))
    assert said == [0.5, 1.0]
    assert not sensed(rounds=1).hypothesis.matrix.any()  # the only round tests


def test_sums_that_share_no_rating_are_measured_at_the_price_of_one():
    """Sums between groups of users and groups of items."""
    rows, columns = (np.arange(n) * k // n for n, k in ((60, 6), (40, 5)))
    queries = [gc.CutQuery(rows == i, columns == j) for i in range(6) for j in range(5)]
    truth = ratings((60, 40), 1, cap=5.0)
    made, alone = sensed(truth, queries), sensed(truth, queries[:1])
    assert len(made.transcript) == 30
    assert made.accuracy.deviation == pytest.approx(alone.accuracy.deviation, rel=1e-4)
    assert made.accuracy.error < sensed(truth, queries, rounds=10).accuracy.error / 5
    for query, answer in zip(queries, made.answer_all(queries), strict=True):
        true = query.value(truth)
        assert abs(answer.value - true) <= made.accuracy.error
        assert answer.interval[0] <= true <= answer.interval[1]


@pytest.mark.parametrize("rounds", [None, 1, 2, 10])
def test_a_plan_costs_what_was_asked_for_and_no_more(rounds):
    """Queries that share every rating are chosen in rounds if they are many."""
    rho = Fraction(1, 40)
    plan = SensingPlan.of(STEPS, rho, rounds, 0.05)
    assert 0.999 * rho < plan.cost(1e-6).rho <= float(rho) * (1 + 1e-9)
    assert plan.measures_all is (rounds is None)
    assert rounds is None or plan.rounds == rounds
    many = AnswerGrid(OF_SMALL, [gc.CutQuery(range(6), range(4))] * 2000, 5.0)
    assert not SensingPlan.of(many, rho, rounds, 0.05).measures_all


def changes():
    """How far each answer moves, in steps, on neighbours of random matrices: every rating."""
    rng = np.random.default_rng(0)
    for place in np.ndindex(6, 4):
        for both in ((0.0, 5.0), (5.0, 0.0), *rng.uniform(0, 5.0, (10, 2))):
            matrix, counts = rng.uniform(0, 5.0, (6, 4)), []
            for matrix[place] in both:
                counts.append(STEPS.count(rated(matrix, 5.0)))
            yield counts[1] - counts[0]


def test_no_rating_moves_an_answer_or_the_list_by_more_than_is_paid_for():
    """And one does by as much: a twin that rounds up would be below."""
    moved = list(changes())
    assert max(int(np.abs(change).max()) for change in moved) == STEPS.sensitivity
    assert STEPS.sensitivity * STEPS.unit == pytest.approx(5.0)
    squares = max(sum(int(step) ** 2 for step in change) for change in moved)
    assert squares <= STEPS.squared_sensitivity < squares * (1 + 1e-8)
    # Both directions occur at once: the choice must not be taken for monotone.
    assert any((change > 0).any() and (change < 0).any() for change in moved)


def test_the_largest_coefficient_counts_as_many_steps_as_its_own_rounding_gives():
    """To the nearest step, upwards in half of the cases: rounded down, Delta would be too small."""
    one = rated(np.ones((1, 1)), 1.0)
    upwards = 0
    for largest in np.random.default_rng(1).uniform(0.5, 2.0, size=40):
        steps = AnswerGrid(Universe(1, 1), [gc.Query.matrix(np.array([[largest]]))], 1.0)
        assert int(steps.count(one)[0]) == steps.sensitivity
        upwards += largest / steps._coefficient_unit % 1 > 0.5
    assert 5 < upwards < 35


def test_what_is_not_of_the_list_is_answered_with_what_is_certain():
    made = sensed(epsilon=5.0, delta=1e-4)
    other = gc.Query.matrix(np.full((6, 4), -2.0))
    answer = made.answer(other)
    assert answer.confidence == 1
    assert answer.interval == pytest.approx((-2.0 * 24 * 5, 0.0), rel=1e-6)
    assert made.answer([0, 1], [2, 3]) == made.answer(QUERIES[-1])
    assert made.answer("*", "*").interval[1] == pytest.approx(24 * 5)
    with pytest.raises(QueryError, match="not both"):
        made.answer(other, [1])


def test_a_guarantee_worse_than_no_knowledge_is_told_before_it_is_paid_for(tmp_path):
    store = tmp_path / "s.db"
    with pytest.warns(AccuracyWarning, match="by the middle of what it can be"):
        sensed()
    large, cut = ratings((60, 40), 1), [gc.CutQuery(range(30), range(20))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sensed(large, cut, expected_ratings=100, seed=None)
        with pytest.raises(AccuracyWarning, match="each query by 0 is at most 5"):
            sensed(large, cut, expected_ratings=5, seed=None, store=store)
    assert not store.exists()


SHAPE = Universe(9, 7)
RNG = np.random.default_rng(5)
BLOCK_CUTS = [gc.CutQuery(RNG.random(9) < 0.4, RNG.random(7) < 0.5) for _ in range(2)] + [
    gc.CutQuery(np.arange(9) < 3, np.arange(7) > 2)
]
BLOCKS = QueryBlocks.of(BLOCK_CUTS, SHAPE)


def learnt(queries, universe, psi, moves):
    """The hypothesis after some moves, and its answers before each."""
    start = hypothesis = minimal_start(universe, psi)
    answers = []
    for index, length, sign in moves:
        answers.append(hypothesis.estimate(queries[index]))
        terms = {"start": start, "psi": psi, "zeta": 100.0, "start_potential": 0.0}
        hypothesis = MirrorDescentRule(alpha=length, **terms).update(
            hypothesis, queries[index], sign
        )
    return hypothesis, answers


# Singular values that are 0 but for rounding, 1e-16, become 1e-16^(p-1) in the dual.
@pytest.mark.parametrize(
    ("psi", "tolerance"),
    [(SchattenNorm(1.2), 3e-3), (SchattenNorm(1.7), 1e-8), (LpNorm(2.0), 1e-8)],
)
def test_mirror_descent_is_the_same_on_blocks(psi, tolerance):
    assert BLOCKS.universe.size < SHAPE.size
    moves = [(0, 2.0, 1), (1, 1.0, -1), (2, 3.0, 1), (0, 0.5, -1), (1, 2.0, 1)]
    whole, answers = learnt(BLOCK_CUTS, SHAPE, psi, moves)
    small, likewise = learnt(BLOCKS.queries, BLOCKS.universe, psi, moves)
    assert likewise == pytest.approx(answers, abs=tolerance)
    assert np.allclose(BLOCKS.expand(small).matrix, whole.matrix, atol=tolerance)


def test_classes_are_as_coarse_as_the_cuts_allow():
    for side, codes in enumerate(BLOCKS.classes):
        kinds = {}
        for place, code in enumerate(codes.tolist()):
            row_arrays = tuple(bool(cut.masks(SHAPE.space)[side][place]) for cut in BLOCK_CUTS)
            assert kinds.setdefault(code, row_arrays) == row_arrays
        assert len(set(kinds.values())) == len(kinds)
