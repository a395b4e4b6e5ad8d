"""Private sensing: what it learns, promises, refuses and prints."""

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from offline_calls import sense
from scipy.stats import binom

from graphcuts_dp.errors import (
    AccuracyWarning,
    QueryError,
)
from graphcuts_dp.graph.adjacency import BipartiteGraph
from graphcuts_dp.offline.lists import SensingPlan, Steps
from graphcuts_dp.pairs.queries import CutQuery, MatrixQuery, RankOneQuery, answer_all
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.privacy.noise import SeededEntropy

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


def test_with_hardly_any_noise_the_queries_of_the_list_are_answered():
    made = sense(SMALL, QUERIES, epsilon=50.0, delta=0.5, rounds=60, p=2.0, seed=0)
    assert root_mean_square(made, SMALL, QUERIES) < 5
    assert made.answer(QUERIES[0]).value == pytest.approx(made.hypothesis.estimate(QUERIES[0]))
    assert len(made.transcript) == 60


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


def test_the_same_seed_gives_the_same_release():
    first, second = (sense(SMALL, QUERIES, epsilon=1.0, delta=1e-6, rounds=4, seed=7) for _ in "ab")
    assert [each.value for each in first.transcript] == [each.value for each in second.transcript]
    assert np.array_equal(first.hypothesis.matrix, second.hypothesis.matrix)


def test_what_is_promised_and_printed():
    said = []
    made = sense(
        SMALL, QUERIES, epsilon=1.0, delta=1e-6, rounds=2, seed=0,
        progress=lambda done, _: said.append(done),
    )  # fmt: skip
    assert (made.guarantee.epsilon, made.guarantee.delta) == (1.0, 1e-6)
    assert "within 0 .. 5" in made.guarantee.neighbours
    assert "seeded: not private" in repr(made)
    assert said == [0.5, 1.0]
    private = sense(SMALL, QUERIES, epsilon=1.0, delta=1e-6, rounds=1)
    assert private.guarantee.is_private
    assert "seeded" not in repr(private)
    assert len(private.transcript) == 1
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
