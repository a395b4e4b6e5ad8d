"""B(alpha) of every construction: GRU12 Theorems 5.1, A.2 and A.4, DR14 5.8 and 5.11.

On every step of every adversary the potential must fall by what the proof says, and no sequence
may be longer than B(alpha), which `UpdateSequence` refuses.
"""

import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest
from helpers import frieze_kannan, multiplicative_weights
from hypothesis import given, settings
from hypothesis import strategies as st

import graphcuts_dp as gc
from graphcuts_dp import HypothesisError, QueryError
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.learn.constructions import learner_of
from graphcuts_dp.learn.median import DatabaseFamily, Median, all_graphs, alpha_net
from graphcuts_dp.learn.rules import MultiplicativeWeightsRule
from graphcuts_dp.plugins import CutSum, FriezeKannanRule, Universe
from scripts.figures.update_sequence import UpdateSequence, checked, potential

UNIVERSES = [
    *(Universe(n) for n in (2, 3, 4, 5)),
    *(Universe(*sides) for sides in ((1, 3), (3, 3), (2, 5))),
    *(Universe(n, directed=True) for n in (2, 3)),
]
ROUNDING = 1e-9


# Instances, queries and constructions


@dataclass(frozen=True)
class Case:
    """One instance: what is public and the truth."""

    universe: Universe
    truth: np.ndarray
    alpha: float
    rng: np.random.Generator

    @property
    def total_weight(self):
        return self.universe.total(self.truth)

    def noisy_total_weight(self, error):
        noisy = self.total_weight + self.rng.uniform(-error, error)
        return float(np.clip(noisy, min(1e-3, self.total_weight), self.universe.size))


def random_truth(universe, rng):
    """Random, a clique, a half graph, everything, or weighted; never empty."""
    left, right = universe.shape
    matrix = [
        lambda: rng.random((left, right)) < rng.choice([0.2, 0.5, 0.8]),
        lambda: np.outer(np.arange(left) < 3, np.arange(right) < 3),
        lambda: np.less.outer(np.arange(left), np.arange(right) + 1),
        lambda: np.ones((left, right)),
        lambda: rng.random((left, right)),
    ][rng.integers(5)]().astype(float)
    matrix[0, -1] = 1
    if universe.symmetric:
        matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T
    return checked(universe, matrix)


def random_case(seed):
    rng = np.random.default_rng(seed)
    universe = UNIVERSES[rng.integers(len(UNIVERSES))]
    truth = random_truth(universe, rng)
    share = rng.choice([0.05, 0.2, 0.5, 1.0, 3.0])
    return Case(universe, truth, share * universe.total(truth), rng)


def masks(n):
    return [np.array(mask, dtype=bool) for mask in itertools.product([0, 1], repeat=n)]


@functools.cache
def all_cuts(universe):
    left, right = universe.shape
    return [gc.CutQuery(S, T) for S in masks(left) for T in masks(right)]


@functools.cache
def disjoint_cuts(universe):
    return [q for q in all_cuts(universe) if universe.bipartite or not (q.S & q.T).any()]


@functools.cache
def rank_one_queries(universe):
    rng = np.random.default_rng(0)
    sides = [[rng.random(n) for n in universe.shape] for _ in range(200)]
    return [gc.Query.rank_one(*each) for each in [*sides, [np.ones(n) for n in universe.shape]]]


@functools.cache
def signed_queries(universe):
    """With coefficients up to 1 of both signs."""
    rng = np.random.default_rng(1)
    shape = universe.shape
    once = np.triu(np.ones(shape), 1) if universe.symmetric else np.ones(shape)
    return [gc.Query.matrix(once * rng.uniform(-1, 1, shape)) for _ in range(60)]


def usual(build, value_error=None, **options):
    """A rule of cuts; the error of values is in parts of alpha."""

    def made(case):
        terms = {"alpha": case.alpha, "total_weight": case.total_weight, **options}
        if value_error is not None:
            terms["value_error"] = value_error * case.alpha
        return build(case.universe, **terms)

    return made


def signed(name):
    """The rule of linear queries."""

    def made(case):
        learner = learner_of(name, case.universe, signed=True)
        return learner.construction(
            alpha=case.alpha, total_weight=case.total_weight, total_error=0.0
        )

    return made


def noisy(build, share, **options):
    """Tuned to a total that is off by up to a share of alpha."""

    def made(case):
        error = share * case.alpha
        total = case.noisy_total_weight(error)
        return build(
            case.universe, alpha=case.alpha, total_weight=total, total_error=error, **options
        )

    return made


def dense(kind, build, *, norms=None, **options):
    """The rule on a matrix, from the same weight for all pairs; for norms up to so many X."""

    def made(case):
        size = case.universe.size
        limits = {} if norms is None else {"largest_norm_squared": norms * size}
        return kind(
            start=DenseHypothesis.constant(case.universe, case.total_weight / size),
            alpha=case.alpha,
            start_potential=usual(build)(case).start_potential,
            **limits,
            **options,
        )

    return made


def frieze_kannan_warm(case):
    """From a synthetic graph, with a potential that somebody measured."""
    noise = case.rng.random(case.universe.shape)
    noise = (noise + noise.T) / 2 if case.universe.symmetric else noise
    start = DenseHypothesis(case.universe, 0.3 * case.truth + 0.7 * noise)
    measured = case.universe.total((case.truth - start.matrix) ** 2)
    return FriezeKannanRule(start=start, alpha=case.alpha, start_potential=measured)


def weights_warm(case):
    """KL(D || (D + uniform) / 2) <= ln 2."""
    mixed = 0.5 * case.truth + 0.5 * case.total_weight / case.universe.size
    start = DenseHypothesis(case.universe, mixed)
    return MultiplicativeWeightsRule(start=start, alpha=case.alpha, start_potential=np.log(2))


def near_families(case):
    """All graphs without weights are a net for weighted ones only if rounding is allowed for."""
    graphs = all_graphs(case.universe).databases
    family = DatabaseFamily(case.universe, np.vstack([graphs, case.truth[case.universe.pairs()]]))
    return Median(start=family, alpha=case.alpha)


def net(case):
    family = alpha_net(near_families(case).start, all_cuts(case.universe), case.alpha)
    return Median(start=family, alpha=case.alpha)


# name: (construction of a case, query class, how far a value may be off in units of alpha)
FK, MW = frieze_kannan, multiplicative_weights
CONSTRUCTIONS = {
    "FK as printed": (usual(FK, rule="as printed"), all_cuts, None),
    "FK": (usual(FK), all_cuts, None),
    "FK disjoint": (usual(FK, disjoint=True), disjoint_cuts, None),
    "FK by value": (usual(FK), all_cuts, 0.999),
    "FK by good value": (usual(FK, value_error=0.1), all_cuts, 0.1),
    "FK by exact value": (usual(FK, value_error=0.0), all_cuts, 0.0),
    "FK, noisy total_weight": (noisy(FK, 1), all_cuts, None),
    "FK dense, rank one": (dense(FriezeKannanRule, FK, norms=4), rank_one_queries, None),
    "FK warm": (frieze_kannan_warm, all_cuts, None),
    "FK signed": (signed("frieze-kannan"), signed_queries, None),
    "MW as printed": (usual(MW, rule="as printed"), all_cuts, None),
    "MW": (usual(MW), all_cuts, None),
    "MW by value": (usual(MW), all_cuts, 0.999),
    "MW by exact value": (usual(MW, value_error=0.0), all_cuts, 0.0),
    "MW, noisy total_weight": (noisy(MW, 1 / 3), all_cuts, None),
    "MW as printed, noisy total_weight": (noisy(MW, 1 / 3, rule="as printed"), all_cuts, None),
    "MW dense": (dense(MultiplicativeWeightsRule, MW, span=1.0), all_cuts, None),
    "MW dense, rank one": (dense(MultiplicativeWeightsRule, MW, span=2.0), rank_one_queries, None),
    "MW warm": (weights_warm, all_cuts, None),
    "MW signed": (signed("multiplicative-weights"), signed_queries, None),
    "median": (near_families, all_cuts, None),
    "median on a net": (net, all_cuts, None),
}


# Adversaries


@functools.cache
def coefficient_rows(universe, query_class):
    """Rows are queries, columns pairs."""
    pairs = universe.pairs()
    return np.stack([universe.coefficients(query)[pairs] for query in query_class(universe)])


def estimates(hypothesis, coefficients):
    """Answers of all queries at once; rows of `coefficients` are queries over pairs."""
    if isinstance(hypothesis, DatabaseFamily):
        return np.median(coefficients @ hypothesis.databases.T, axis=1)
    return coefficients @ hypothesis.dense()[hypothesis.universe.pairs()]


def run(construction, case, query_class, strategy, off=None):
    """An adversary to the end; the potential before each update and after the last.

    It asks the query that is off by most, by least but alpha, or any such.
    """
    sequence = UpdateSequence(construction, case.truth)
    queries, coefficients = query_class(case.universe), coefficient_rows(case.universe, query_class)
    answers = coefficients @ case.truth[case.universe.pairs()]
    rule = getattr(construction, "sound", construction)  # of an incorrect variant
    potentials = [potential(rule, sequence.hypothesis, case.truth)]
    while True:
        gaps = np.abs(answers - estimates(sequence.hypothesis, coefficients))
        due = np.flatnonzero(gaps >= case.alpha * (1 + 1e-9))
        if not len(due):
            return sequence, potentials
        picks = {"worst": gaps[due].argmax(), "least": gaps[due].argmin()}
        chosen = int(case.rng.choice(due) if strategy == "any" else due[picks[strategy]])
        value = None
        if off is not None:
            value = answers[chosen] + off * case.alpha * case.rng.uniform(-1, 1)
        sequence.update(queries[chosen], value=value)
        potentials.append(potential(rule, sequence.hypothesis, case.truth))


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


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("examples", [6, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_no_adversary_makes_more_updates_than_the_bound(name, examples):
    build, queries, off = CONSTRUCTIONS[name]

    @settings(max_examples=examples, deadline=None, derandomize=True)
    @given(seed=st.integers(0, 10**9), strategy=st.sampled_from(["worst", "least", "any"]))
    def is_within_the_bound(seed, strategy):
        case = random_case(seed)
        if case.universe.size > {"median": 10, "median on a net": 6}.get(name, math.inf):
            return  # too many graphs
        construction = build(case)
        sequence, potentials = run(construction, case, queries, strategy, off)
        if not name.startswith("median"):
            assert potentials[0] <= construction.start_potential + ROUNDING
        check_drops(construction, potentials)
        assert sequence.count <= construction.update_bound(case.alpha)
        bound = construction.start_potential / construction.least_drop(case.alpha)
        assert construction.update_bound(case.alpha) == pytest.approx(bound)

    is_within_the_bound()


@pytest.mark.thorough(cases=7)
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
    alpha, m, X = 30.0, 1000.0, 4950

    def bound(build, **more):
        made = build(Universe(100), alpha=alpha, total_weight=m, **more)
        return made.update_bound(alpha) * alpha**2 / m

    assert bound(FK, rule="as printed") == pytest.approx(X)
    assert bound(FK) == pytest.approx((1 - m / X) * X)
    assert bound(FK, disjoint=True) == pytest.approx((1 - m / X) * 2500)
    assert bound(MW, rule="as printed") == pytest.approx(4 * m * math.log(X))
    assert bound(MW) == pytest.approx(m * math.log(X / m) / 2)


# Larger universes: brute force over one side, and the cut-norm oracle.


def worst_disjoint_cut(residual, sides):
    """The disjoint S, T with the largest |R(S, T)|: for each S the best T by sign."""
    inner = sides @ residual
    inner[sides] = 0
    best = np.maximum(np.maximum(inner, 0).sum(axis=1), np.maximum(-inner, 0).sum(axis=1))
    row = best.argmax()
    positive = inner[row] > 0
    T = positive if inner[row][positive].sum() >= best[row] * (1 - 1e-12) else inner[row] < 0
    return gc.CutQuery(sides[row], T)


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


@pytest.mark.thorough(cases=1)
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
        found = gc.cut_norm(truth - sequence.hypothesis.dense(), method="low-rank", tolerance=0.5)
        S, T = found.S, found.T
        tried = [
            gc.CutQuery(S, T),
            gc.CutQuery(S & ~T, T),
            gc.CutQuery(S & T, S & T),
            gc.CutQuery(S, T & ~S),
        ]
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
    query = gc.CutQuery(range(6), range(6))
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
    everything = gc.CutQuery(range(6), range(6))
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
    query = gc.CutQuery([0], [0])
    while abs(sequence.discrepancy(query)) >= construction.alpha:
        sequence.update(query)
    assert sequence.count == 6 > math.log(64)
    assert construction.update_bound(construction.alpha) == 6


def test_erratum_gru12_overlapping_sets_double_count():
    """The matrix form has ||q||^2 up to 4X, where the proof of Theorem 5.1 needs X."""
    universe = Universe(5)
    ones = np.ones(5)
    form, cut = gc.Query.rank_one(ones, ones), gc.CutQuery(range(5), range(5))
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
        matrix = start.plus(gc.CutQuery(S == 1, T == 1), 0.25).dense()
        assert np.array_equal(matrix, matrix.T)
        assert matrix[0, 1] == pytest.approx(0.75)


def test_dr14_algorithm_10_takes_the_alpha_of_the_database_that_it_learns():
    """With alpha as a share, and a database that is not, its steps are too short."""
    universe, alpha = Universe(6), 5.0
    truth = checked(universe, np.ones((6, 6)))
    total_weight = universe.total(truth)
    everything = gc.CutQuery(range(6), range(6))
    sound = frieze_kannan(universe, alpha=alpha, total_weight=total_weight, rule="as printed")
    for share, within in ((1.0, True), (1 / total_weight, False)):
        hypothesis, count = sound.initial(), 0
        while everything.value(truth) - hypothesis.estimate(everything) >= alpha:
            hypothesis = hypothesis.plus(everything, share * alpha / universe.size)
            count += 1
        assert (count <= sound.update_bound(alpha)) is within
