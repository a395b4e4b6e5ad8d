"""Mirror descent as a construction: special cases, the contract, and what it refuses."""

import math

import numpy as np
import pytest

from graphcuts_dp import CutQuery, QueryError
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.learn.potentials import (
    Box,
    Entropy,
    GroupNorm,
    LpNorm,
    SchattenNorm,
    near_one,
)
from graphcuts_dp.learn.rules import MirrorDescentRule, MultiplicativeWeightsRule, minimal_start
from graphcuts_dp.plugins import FriezeKannanRule, Universe
from graphcuts_dp.queries.linear import MatrixQuery, RankOneQuery
from scripts.figures.update_sequence import potential

UNIVERSES = {
    "plain": Universe(9),
    "bipartite": Universe(7, 5),
    "directed": Universe(6, directed=True),
}


def truth_of(universe, rng, density=0.4):
    matrix = (rng.random(universe.shape) < density).astype(float)
    universe.clear_diagonal(matrix)
    return np.triu(matrix, 1) + np.triu(matrix, 1).T if universe.symmetric else matrix


def cut(universe, rng):
    """A random cut that holds some pair and not all of them."""
    S, T = (rng.random(size) < 0.5 for size in universe.shape)
    S[:2], T[-1] = (True, False), True
    return CutQuery(S, T)


def any_query(universe, rng):
    """Cuts, rank-one and matrix queries in turn."""
    kind = rng.integers(3)
    if kind == 0:
        return cut(universe, rng)
    if kind == 1:
        return RankOneQuery(*(rng.random(size) for size in universe.shape))
    return MatrixQuery(rng.normal(size=universe.shape))


def rule_for(universe, psi, *, zeta=100.0, alpha=1.0, **more):
    start = minimal_start(universe, psi)
    return MirrorDescentRule(
        start=start, psi=psi, alpha=alpha, zeta=zeta, start_potential=50.0, **more
    )


# Special cases


def check_same_steps(ours, theirs, query_of, rng, *, steps=40, values=9):
    """Both rules make the same hypotheses, by signs and by values; the last of either."""
    mine, other = ours.initial(), theirs.initial()
    for step in range(steps):
        query, sign = query_of(mine.universe, rng), 1 if rng.random() < 0.5 else -1
        value = float(mine.estimate(query) + sign * rng.random() * values)
        value = value if step % 2 and values else None
        mine = ours.update(mine, query, sign, value)
        other = theirs.update(other, query, sign, value)
        assert np.abs(mine.matrix - other.matrix).max() <= 1e-12
    return mine, other


@pytest.mark.parametrize("kind", sorted(UNIVERSES))
@pytest.mark.parametrize("density", [0.0, 0.4])
@pytest.mark.parametrize("value_error", [None, 0.25])
def test_p_2_is_frieze_kannan(kind, density, value_error):
    universe, rng = UNIVERSES[kind], np.random.default_rng(3)
    start = DenseHypothesis.constant(universe, density)
    shared = {"start": start, "alpha": 1.5, "value_error": value_error}
    zeta = 10 * math.sqrt(4.0 * universe.size)
    ours = MirrorDescentRule(psi=LpNorm(2), zeta=zeta, start_potential=10.0, **shared)
    theirs = FriezeKannanRule(largest_norm_squared=zeta**2, start_potential=20.0, **shared)
    mine, other = check_same_steps(ours, theirs, any_query, rng)
    # Psi is half the squared distance, so the bounds agree as well.
    truth = truth_of(universe, rng)
    assert potential(ours, mine, truth) == pytest.approx(potential(theirs, other, truth) / 2)
    assert ours.update_bound(1.5) == pytest.approx(theirs.update_bound(1.5), rel=1e-12)


def test_p_2_as_printed_is_frieze_kannan_as_printed_for_a_quarter_of_alpha():
    universe = UNIVERSES["plain"]
    shared = {"start": DenseHypothesis.constant(universe, 0.0), "rule": "as printed"}
    zeta = math.sqrt(universe.size)
    ours = MirrorDescentRule(psi=LpNorm(2), alpha=2.0, zeta=zeta, start_potential=10.0, **shared)
    theirs = FriezeKannanRule(alpha=0.5, start_potential=20.0, **shared)
    check_same_steps(ours, theirs, cut, np.random.default_rng(4), steps=20, values=0)


@pytest.mark.parametrize("kind", sorted(UNIVERSES))
@pytest.mark.parametrize("value_error", [None, 0.25])
def test_entropy_is_multiplicative_weights(kind, value_error):
    universe, rng, total = UNIVERSES[kind], np.random.default_rng(5), 12.0
    psi = Entropy(total)
    shared = {"start": minimal_start(universe, psi), "alpha": 1.0, "value_error": value_error}
    theirs = MultiplicativeWeightsRule(start_potential=0.7, **shared)
    ours = MirrorDescentRule(psi=psi, zeta=0.5, start_potential=0.7 * total**2, **shared)
    mine, other = check_same_steps(ours, theirs, cut, rng, values=4)
    assert universe.total(mine.matrix) == pytest.approx(total)
    truth = truth_of(universe, rng)
    truth *= total / universe.total(truth)
    divergence = potential(ours, mine, truth)
    assert divergence == pytest.approx(total**2 * potential(theirs, other, truth))
    assert ours.update_bound(1.0) == pytest.approx(theirs.update_bound(1.0))


@pytest.mark.parametrize("norm", [GroupNorm, SchattenNorm])
def test_all_norms_agree_at_p_2(norm):
    rule, plain = (rule_for(UNIVERSES["bipartite"], psi) for psi in (norm(2), LpNorm(2)))
    check_same_steps(rule, plain, any_query, np.random.default_rng(6), steps=10)


# The contract


@pytest.mark.parametrize(
    ("psi", "domain"),
    [
        (LpNorm(1.3), Box()),
        (GroupNorm(1.3), Box(0, 0.5)),
    ],
)
def test_hypotheses_stay_in_the_domain(psi, domain):
    universe, rng = UNIVERSES["bipartite"], np.random.default_rng(10)
    rule, limit = rule_for(universe, psi, domain=domain, alpha=5.0), 0.0
    hypothesis = rule.initial()
    for _ in range(12):
        hypothesis = rule.update(hypothesis, any_query(universe, rng), 1)
        assert domain.low <= hypothesis.matrix.min()
        limit = max(limit, hypothesis.matrix.max() / domain.high)
    assert limit == pytest.approx(1, abs=1e-9)  # reached, and never passed


def test_a_plain_universe_counts_each_pair_once():
    """The symmetric matrix has every pair twice; norms and answers must not."""
    universe, rng = UNIVERSES["plain"], np.random.default_rng(11)
    psi = LpNorm(1.4)
    query = cut(universe, rng)
    pairs = universe.norm_squared(query)
    rule = rule_for(universe, psi, zeta=pairs ** (1 - 1 / 1.4), alpha=2.0)
    hypothesis = rule.update(rule.initial(), query, 1)
    assert (hypothesis.matrix == hypothesis.matrix.T).all()
    assert (np.diag(hypothesis.matrix) == 0).all()
    # From 0 the step lands at answer (p-1) alpha: Psi* of order 2 is (p-1) ||theta||^2 / 2.
    assert hypothesis.estimate(query) == pytest.approx(0.4 * 2.0)
    with pytest.raises(QueryError):
        rule_for(universe, psi, zeta=0.99 * pairs ** (1 - 1 / 1.4)).update(hypothesis, query, 1)


def test_near_one_gives_the_dual_exponent_ln_v():
    for size in (8, 100, 10**6):
        p = near_one(size)
        assert p / (p - 1) == pytest.approx(math.log(size))
    assert near_one(7) == near_one(2) == 2.0


def test_extreme_entries_do_not_break_the_maps():
    rng = np.random.default_rng(13)
    theta = rng.normal(size=(6, 4)) * 10.0 ** rng.integers(-120, 120, size=(6, 4))
    for psi in (LpNorm(1.2), GroupNorm(1.1)):
        x = psi.minimise(theta, Box(-1, 1))
        assert np.isfinite(x).all()
        assert np.abs(x).max() == 1
    weights = Entropy(3.0)
    spread = weights.minimise(1e6 * rng.normal(size=(6, 4)))
    assert np.isfinite(weights.to_dual(spread)).all()
    assert spread.sum() == pytest.approx(3.0)
    assert not LpNorm(1.2).minimise(np.zeros((2, 2)), Box()).any()
