"""B(alpha) of every construction: GRU12 Theorems 5.1, A.2 and A.4, DR14 5.8 and 5.11.

On every step of every adversary the potential must fall by what the proof says, and no sequence
may be longer than B(alpha), which `UpdateSequence` refuses.
"""

import math

import numpy as np
import pytest
from construction_reference import (
    CONSTRUCTIONS,
    Case,
    all_cuts,
    masks,
    run,
)
from helpers import frieze_kannan, multiplicative_weights
from hypothesis import given, settings
from hypothesis import strategies as st

from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.errors import HypothesisError, QueryError
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.learn.cut_sum import CutSum
from graphcuts_dp.learn.median import DatabaseFamily, Median
from graphcuts_dp.learn.rules import FriezeKannanRule
from graphcuts_dp.pairs.queries import CutQuery, RankOneQuery
from graphcuts_dp.pairs.universe import Universe
from scripts.figures.update_sequence import UpdateSequence, checked, potential

SHAPES = [(2, None), (3, None), (4, None), (5, None), (1, 3), (3, 3), (2, 5)]
ROUNDING = 1e-9


def random_truth(universe, rng):
    """Random, a clique, a half graph, everything, or weighted; never empty."""
    n_left, n_right = universe.shape
    kind = rng.integers(5)
    if kind == 0:
        matrix = rng.random((n_left, n_right)) < rng.choice([0.2, 0.5, 0.8])
    elif kind == 1:
        matrix = np.outer(np.arange(n_left) < 3, np.arange(n_right) < 3)
    elif kind == 2:
        matrix = np.less.outer(np.arange(n_left), np.arange(n_right) + 1)
    elif kind == 3:
        matrix = np.ones((n_left, n_right))
    else:
        matrix = rng.random((n_left, n_right))
    matrix = np.triu(matrix.astype(float), 0 if universe.bipartite else 1)
    if universe.bipartite:
        matrix = np.where(kind == 2, matrix, rng.permutation(matrix))
    else:
        matrix += matrix.T
    matrix[0, -1] = 1
    if not universe.bipartite:
        matrix[-1, 0] = 1
    return checked(universe, matrix)


def random_case(seed):
    rng = np.random.default_rng(seed)
    universe = Universe(*SHAPES[rng.integers(len(SHAPES))])
    truth = random_truth(universe, rng)
    share = rng.choice([0.05, 0.2, 0.5, 1.0, 3.0])
    return Case(universe, truth, share * universe.total(truth), rng)


def check_drops(construction, potentials):
    drop = construction.least_drop(construction.alpha)
    falls = -np.diff(potentials)
    assert (falls >= drop * (1 - ROUNDING) - ROUNDING).all(), falls.min() / drop
    assert potentials[-1] >= -ROUNDING


def forced(construction, truth, worst):
    """How many updates the worst queries force: each lowers the potential, and B holds."""
    sequence = UpdateSequence(construction, truth)
    potentials = [potential(construction, sequence.hypothesis, truth)]
    while abs(sequence.discrepancy(query := worst(sequence))) >= construction.alpha:
        sequence.update(query)
        potentials.append(potential(construction, sequence.hypothesis, truth))
    check_drops(construction, potentials)
    assert sequence.count <= construction.update_bound(construction.alpha)
    return sequence.count


@pytest.mark.parametrize("name", CONSTRUCTIONS)
@settings(max_examples=40, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**9), strategy=st.sampled_from(["worst", "least", "any"]))
def test_no_adversary_makes_more_updates_than_the_bound(name, seed, strategy):
    build, queries, off = CONSTRUCTIONS[name]
    case = random_case(seed)
    if name.startswith("median") and case.universe.size > 10:
        return
    construction = build(case)
    sequence, potentials = run(construction, case, queries, strategy, off)
    if not name.startswith("median"):
        assert potentials[0] <= construction.start_potential + ROUNDING
    check_drops(construction, potentials)
    assert sequence.count <= construction.update_bound(case.alpha)
    assert construction.update_bound(case.alpha) == pytest.approx(
        start_of(construction) / construction.least_drop(case.alpha)
    )


def start_of(construction):
    if isinstance(construction, Median):
        return math.log2(len(construction.start))
    return construction.start_potential


@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_adversaries_do_find_updates(name):
    """Else the test above would hold for want of updates."""
    build, queries, off = CONSTRUCTIONS[name]
    counts = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        universe = Universe(4) if seed % 2 else Universe(2, 4)
        truth = random_truth(universe, rng)
        case = Case(universe, truth, 0.1 * universe.total(truth), rng)
        counts.append(run(build(case), case, queries, "worst", off)[0].count)
    assert max(counts) >= 3


# The bounds as formulas.


def test_the_bounds_are_those_of_the_table():
    universe, alpha, m = Universe(100), 30.0, 1000.0
    X = 4950

    def fk(**more):
        return frieze_kannan(universe, alpha=alpha, total_weight=m, **more).update_bound(alpha)

    def mw(**more):
        return multiplicative_weights(universe, alpha=alpha, total_weight=m, **more).update_bound(
            alpha
        )

    assert fk(rule="as printed") == pytest.approx(m * X / alpha**2)
    assert fk() == pytest.approx(m * (1 - m / X) * X / alpha**2)
    disjoint = fk(disjoint=True)
    assert disjoint == pytest.approx(m * (1 - m / X) * 2500 / alpha**2)
    assert mw(rule="as printed") == pytest.approx(4 * m**2 * math.log(X) / alpha**2)
    assert mw() == pytest.approx(m**2 * math.log(X / m) / (2 * alpha**2))


# Larger universes: brute force over one side, and the cut-norm oracle.


def worst_disjoint_cut(residual, sides):
    """The disjoint S, T with the largest |R(S, T)|: for each S the best T by sign."""
    inner = sides @ residual
    inner[sides] = 0
    best = np.maximum(np.maximum(inner, 0).sum(axis=1), np.maximum(-inner, 0).sum(axis=1))
    row = best.argmax()
    positive = inner[row] > 0
    T = positive if inner[row][positive].sum() >= best[row] * (1 - 1e-12) else inner[row] < 0
    return CutQuery(sides[row], T)


@pytest.mark.parametrize("rule", ["tight", "as printed"])
@pytest.mark.parametrize("build", [frieze_kannan, multiplicative_weights])
@pytest.mark.parametrize("seed", range(2))
def test_twelve_vertices_against_the_worst_disjoint_cut(build, rule, seed):
    rng = np.random.default_rng(seed)
    universe = Universe(12)
    truth = np.triu(rng.random((12, 12)) < np.outer(np.arange(12) < 6, [0.8] * 12) + 0.1, 1)
    truth = checked(universe, truth + truth.T)
    total_weight = universe.total(truth)
    alpha = 0.1 * total_weight
    construction = build(universe, alpha=alpha, total_weight=total_weight, rule=rule)
    sides = np.array(masks(12))

    def worst(sequence):
        return worst_disjoint_cut(truth - sequence.hypothesis.dense(), sides)

    assert forced(construction, truth, worst) > 0


@pytest.mark.parametrize("build", [frieze_kannan, multiplicative_weights])
@pytest.mark.parametrize("share", [0.08, pytest.param(0.03, marks=pytest.mark.slow)])
def test_two_hundred_vertices_against_the_cut_norm_oracle(build, share):
    rng = np.random.default_rng(1)
    universe = Universe(200)
    groups = rng.integers(0, 4, 200)
    chance = np.where(np.equal.outer(groups, groups), 0.5, 0.05)
    truth = np.triu(rng.random((200, 200)) < chance, 1).astype(float)
    truth += truth.T
    total_weight = universe.total(truth)
    alpha = share * total_weight
    construction = build(universe, alpha=alpha, total_weight=total_weight)

    def worst(sequence):
        found = cut_norm(truth - sequence.hypothesis.dense(), method="low-rank", tolerance=0.5)
        S, T = found.S, found.T
        tried = [CutQuery(S, T), CutQuery(S & ~T, T), CutQuery(S & T, S & T), CutQuery(S, T & ~S)]
        return max(tried, key=lambda one: abs(sequence.discrepancy(one)))

    assert forced(construction, truth, worst) >= 3


# Twins that must fail.


class TooFar:
    """Frieze-Kannan with two and a half times the step."""

    def __init__(self, sound):
        self.sound, self.alpha = sound, sound.alpha
        self.initial = sound.initial
        self.least_drop, self.update_bound = sound.least_drop, sound.update_bound
        self.start_potential = sound.start_potential

    def update(self, hypothesis, query, sign, value=None):  # noqa: ARG002
        step = sign * 2.5 * self.alpha / hypothesis.universe.norm_squared(query)
        return hypothesis.plus(query, step)


class WrongWay(TooFar):
    """Frieze-Kannan with the sign turned."""

    def update(self, hypothesis, query, sign, value=None):  # noqa: ARG002
        return self.sound.update(hypothesis, query, -sign)


@pytest.mark.parametrize("twin", [TooFar, WrongWay])
def test_broken_rules_are_seen(twin):
    case = Case(Universe(4), np.ones((4, 4)) - np.eye(4), 1.0, np.random.default_rng(0))
    start = CutSum.constant(case.universe, 0.5)
    sound = FriezeKannanRule(start=start, alpha=1.0, start_potential=1.5)
    broken = twin(sound)
    with pytest.raises((AssertionError, HypothesisError)):
        check_drops(broken, run(broken, case, all_cuts, "least")[1])
    check_drops(sound, run(sound, case, all_cuts, "least")[1])


# The papers' errors.


def test_erratum_gru12_mw_drop_is_alpha_squared_over_4_n_squared():
    """GRU12 prints alpha^2 / 4n after Claim A.5 (n is the total weight, m here)."""
    universe = Universe(12)
    truth = np.triu(np.ones((12, 12)), 1)
    truth[:6, :6] = 0
    truth += truth.T
    total_weight = universe.total(truth)
    alpha = 0.2 * total_weight
    construction = multiplicative_weights(
        universe, alpha=alpha, total_weight=total_weight, rule="as printed"
    )
    query = CutQuery(range(6), range(6))
    start = construction.initial()
    assert start.estimate(query) >= alpha  # the truth is 0
    after = construction.update(start, query, -1)
    fall = potential(construction, start, truth) - potential(construction, after, truth)
    assert construction.least_drop(alpha) == pytest.approx(alpha**2 / (4 * total_weight**2))
    assert alpha**2 / (4 * total_weight**2) <= fall < alpha**2 / (4 * total_weight)


def test_erratum_gru12_answers_scaled_by_m():
    """A probability distribution never answers above 1, so updates would not end."""
    universe = Universe(6)
    truth = checked(universe, np.ones((6, 6)))
    total_weight, alpha = 15.0, 2.0
    everything = CutQuery(range(6), range(6))
    scaled = multiplicative_weights(
        universe, alpha=alpha, total_weight=total_weight, rule="as printed"
    )
    assert scaled.initial().estimate(everything) == pytest.approx(total_weight)
    distribution = DenseHypothesis.constant(universe, 1 / universe.size)
    for _ in range(math.floor(scaled.update_bound(alpha)) + 1):
        gap = everything.value(truth) - distribution.estimate(everything)
        assert gap >= alpha
        distribution = distribution.tilted(everything, alpha / (2 * total_weight))


def test_erratum_gru12_median_log2():
    """GRU12 Theorem A.2 and DR14 Theorem 5.8 say log; halving 64 weights takes 6 > ln 64."""
    universe = Universe(1, 1)
    family = DatabaseFamily(universe, np.arange(64)[:, None] / 64)
    construction = Median(start=family, alpha=1 / 256)
    sequence = UpdateSequence(construction, [[0.0]])
    query = CutQuery([0], [0])
    while abs(sequence.discrepancy(query)) >= construction.alpha:
        sequence.update(query)
    assert sequence.count == 6 > math.log(64)
    assert construction.update_bound(construction.alpha) == 6


def test_erratum_gru12_overlapping_sets_double_count():
    """The matrix form has ||q||^2 up to 4X, where the proof of Theorem 5.1 needs X."""
    universe = Universe(5)
    ones = np.ones(5)
    form, cut = RankOneQuery(ones, ones), CutQuery(range(5), range(5))
    assert universe.norm_squared(form) == 4 * universe.size
    assert universe.norm_squared(cut) == universe.size
    start = DenseHypothesis.constant(universe, 0.0)
    printed = FriezeKannanRule(start=start, alpha=3.0, start_potential=10.0, rule="as printed")
    with pytest.raises(QueryError, match="allows 10"):
        printed.update(start, form, 1)
    # A sparse truth: the printed step overshoots, and the potential falls too little.
    truth = checked(universe, np.full((5, 5), 0.16))
    assert form.value(truth) >= printed.alpha
    after = start.plus(form, printed.alpha / universe.size)
    fall = potential(printed, start, truth) - potential(printed, after, truth)
    assert fall < printed.least_drop(printed.alpha)
    after = printed.update(start, cut, 1)
    assert after.estimate(cut) == pytest.approx(printed.alpha)


def test_erratum_gru12_symmetric_difference_needs_symmetrised_queries():
    """Adding 1_S 1_T' to a symmetric hypothesis leaves it asymmetric; cut queries do not."""
    universe = Universe(4)
    S, T = np.array([1, 1, 0, 0]), np.array([0, 1, 1, 0])
    form = np.outer(S, T)
    assert (form != form.T).any()
    for start in (CutSum.constant(universe, 0.5), DenseHypothesis.constant(universe, 0.5)):
        matrix = start.plus(CutQuery(S == 1, T == 1), 0.25).dense()
        assert np.array_equal(matrix, matrix.T)
        assert matrix[0, 1] == pytest.approx(0.75)


def test_erratum_gru12_corollary_7_4_takes_a_quarter_of_the_bound():
    """2 m^2 ln V is written where Theorem A.4 gives 4 m^2 ln X, about 8 m^2 ln V."""
    V, m, alpha = 1000, 500.0, 50.0
    construction = multiplicative_weights(
        Universe(V), alpha=alpha, total_weight=m, rule="as printed"
    )
    written = 2 * m**2 * math.log(V) / alpha**2
    assert 3.5 * written < construction.update_bound(alpha) < 4 * written


def test_erratum_dr14_algorithm_10_takes_the_unnormalised_alpha():
    """With alpha as a share of the total weight its steps are too short for Theorem 5.11."""
    universe, alpha = Universe(6), 5.0
    truth = checked(universe, np.ones((6, 6)))
    total_weight = universe.total(truth)
    everything = CutQuery(range(6), range(6))
    sound = frieze_kannan(universe, alpha=alpha, total_weight=total_weight, rule="as printed")
    for share, within in ((1.0, True), (1 / total_weight, False)):
        hypothesis, count = sound.initial(), 0
        while everything.value(truth) - hypothesis.estimate(everything) >= alpha:
            hypothesis = hypothesis.plus(everything, share * alpha / universe.size)
            count += 1
        assert (count <= sound.update_bound(alpha)) is within
