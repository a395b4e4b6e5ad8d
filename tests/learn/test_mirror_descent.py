"""Mirror descent as a construction: special cases, the contract, and what it refuses."""

import dataclasses
import math
from functools import partial

import numpy as np
import pytest

from graphcuts_dp.errors import HypothesisError, ParameterError, QueryError
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.learn.potentials import (
    Ball,
    Box,
    Entropy,
    GroupNorm,
    LpNorm,
    SchattenNorm,
    near_one,
)
from graphcuts_dp.learn.rules import (
    FriezeKannanRule,
    MirrorDescentRule,
    MultiplicativeWeightsRule,
    minimal_start,
)
from graphcuts_dp.pairs.queries import CutQuery, MatrixQuery, RankOneQuery
from graphcuts_dp.pairs.universe import Universe
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
    start = minimal_start(universe, psi, more.get("domain"))
    return MirrorDescentRule(
        start=start, psi=psi, alpha=alpha, zeta=zeta, start_potential=50.0, **more
    )


# Special cases


@pytest.mark.parametrize("kind", sorted(UNIVERSES))
@pytest.mark.parametrize("density", [0.0, 0.4])
@pytest.mark.parametrize("value_error", [None, 0.25])
def test_p_2_is_frieze_kannan(kind, density, value_error):
    universe, rng = UNIVERSES[kind], np.random.default_rng(3)
    start = DenseHypothesis.constant(universe, density)
    shared = {"start": start, "alpha": 1.5, "start_potential": 20.0, "value_error": value_error}
    zeta = math.sqrt(4.0 * universe.size)
    ours = MirrorDescentRule(psi=LpNorm(2), zeta=10 * zeta, **(shared | {"start_potential": 10.0}))
    theirs = FriezeKannanRule(largest_norm_squared=100 * zeta**2, **shared)
    mine, other = ours.initial(), theirs.initial()
    truth = truth_of(universe, rng)
    for step in range(40):
        query = any_query(universe, rng)
        sign = 1 if rng.random() < 0.5 else -1
        value = None if step % 2 else float(mine.estimate(query) + sign * rng.random() * 9)
        mine = ours.update(mine, query, sign, value)
        other = theirs.update(other, query, sign, value)
        assert np.abs(mine.matrix - other.matrix).max() <= 1e-12
    # Psi is half the squared distance, so the bounds agree as well.
    assert potential(ours, mine, truth) == pytest.approx(potential(theirs, other, truth) / 2)
    assert ours.update_bound(1.5) == pytest.approx(theirs.update_bound(1.5), rel=1e-12)


def test_p_2_as_printed_is_frieze_kannan_as_printed_for_a_quarter_of_alpha():
    universe, rng = UNIVERSES["plain"], np.random.default_rng(4)
    start = DenseHypothesis.constant(universe, 0.0)
    ours = MirrorDescentRule(
        start=start,
        psi=LpNorm(2),
        alpha=2.0,
        zeta=math.sqrt(universe.size),
        start_potential=10.0,
        rule="as printed",
    )
    theirs = FriezeKannanRule(start=start, alpha=0.5, start_potential=20.0, rule="as printed")
    mine, other = start, start
    for _ in range(20):
        query, sign = cut(universe, rng), 1 if rng.random() < 0.5 else -1
        mine, other = ours.update(mine, query, sign), theirs.update(other, query, sign)
        assert np.abs(mine.matrix - other.matrix).max() <= 1e-12


@pytest.mark.parametrize("kind", sorted(UNIVERSES))
@pytest.mark.parametrize("value_error", [None, 0.25])
def test_entropy_is_multiplicative_weights(kind, value_error):
    universe, rng = UNIVERSES[kind], np.random.default_rng(5)
    total = 12.0
    psi = Entropy(total)
    start = minimal_start(universe, psi)
    theirs = MultiplicativeWeightsRule(
        start=start, alpha=1.0, start_potential=0.7, value_error=value_error
    )
    ours = MirrorDescentRule(
        start=start,
        psi=psi,
        alpha=1.0,
        zeta=0.5,
        start_potential=0.7 * total**2,
        value_error=value_error,
    )
    truth = truth_of(universe, rng)
    truth *= total / universe.total(truth)
    mine, other = ours.initial(), theirs.initial()
    for step in range(40):
        query, sign = cut(universe, rng), 1 if rng.random() < 0.5 else -1
        value = None if step % 2 else float(mine.estimate(query) + sign * rng.random() * 4)
        mine = ours.update(mine, query, sign, value)
        other = theirs.update(other, query, sign, value)
        assert np.abs(mine.matrix - other.matrix).max() <= 1e-12
    assert universe.total(mine.matrix) == pytest.approx(total)
    divergence = potential(ours, mine, truth)
    assert divergence == pytest.approx(total**2 * potential(theirs, other, truth))
    assert ours.update_bound(1.0) == pytest.approx(theirs.update_bound(1.0))


@pytest.mark.parametrize(
    "psi", [LpNorm(2), GroupNorm(2), SchattenNorm(2)], ids=["l_2", "group", "schatten"]
)
def test_all_norms_agree_at_p_2(psi):
    universe, rng = UNIVERSES["bipartite"], np.random.default_rng(6)
    rule, plain = rule_for(universe, psi), rule_for(universe, LpNorm(2))
    hypothesis, expected = rule.initial(), plain.initial()
    for _ in range(10):
        query = any_query(universe, rng)
        hypothesis, expected = rule.update(hypothesis, query, -1), plain.update(expected, query, -1)
    assert hypothesis.matrix == pytest.approx(expected.matrix, abs=1e-12)


# The contract


PSIS = [LpNorm(1.3), GroupNorm(1.3), SchattenNorm(1.3), Entropy(9.0)]


@pytest.mark.parametrize("psi", PSIS, ids=lambda psi: type(psi).__name__)
def test_an_update_moves_the_answer_the_right_way_and_leaves_the_old_hypothesis(psi):
    universe, rng = UNIVERSES["bipartite"], np.random.default_rng(7)
    rule = rule_for(universe, psi)
    hypothesis = rule.initial()
    for _ in range(20):
        query, sign = any_query(universe, rng), 1 if rng.random() < 0.5 else -1
        kept = hypothesis.matrix.copy()
        moved = rule.update(hypothesis, query, sign)
        assert sign * (moved.estimate(query) - hypothesis.estimate(query)) > 0
        assert np.array_equal(hypothesis.matrix, kept)
        hypothesis = moved


@pytest.mark.parametrize(
    ("psi", "domain"),
    [
        (LpNorm(1.3), Box()),
        (GroupNorm(1.3), Box(0, 0.5)),
        (GroupNorm(1.3), Ball(2.0)),
        (SchattenNorm(1.3), Ball(2.0)),
        (Entropy(9.0), Box()),
    ],
)
def test_hypotheses_stay_in_the_domain(psi, domain):
    universe, rng = UNIVERSES["bipartite"], np.random.default_rng(10)
    rule = rule_for(universe, psi, domain=domain, alpha=5.0)
    hypothesis = rule.initial()
    reached = False
    for _ in range(30):
        hypothesis = rule.update(hypothesis, any_query(universe, rng), 1)
        if isinstance(domain, Box):
            assert hypothesis.matrix.min() >= domain.low
            assert hypothesis.matrix.max() <= domain.high
            reached |= bool((hypothesis.matrix == domain.high).any())
        else:
            assert psi.norm(hypothesis.matrix) <= domain.radius * (1 + 1e-9)
            reached |= psi.norm(hypothesis.matrix) >= domain.radius * (1 - 1e-9)
    assert reached


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


# Refusals


def test_queries_above_zeta_or_without_effect_are_refused():
    universe = UNIVERSES["bipartite"]
    everything, nothing = CutQuery(range(7), range(5)), CutQuery([], [])
    rule = rule_for(universe, LpNorm(2), zeta=5.0)
    with pytest.raises(QueryError, match="dual norm"):
        rule.update(rule.initial(), everything, 1)
    with pytest.raises(HypothesisError, match="alike"):
        rule.update(rule.initial(), nothing, 1)
    with pytest.raises(QueryError):
        rule.update(rule.initial(), CutQuery([7], [0]), 1)
    weights = rule_for(universe, Entropy(4.0), zeta=0.5)
    with pytest.raises(HypothesisError, match="alike"):
        weights.update(weights.initial(), everything, 1)


PLAIN = UNIVERSES["plain"]
REFUSED = [
    *((partial(rule_for, PLAIN, LpNorm(), alpha=x), "alpha") for x in (0.0, math.nan, math.inf)),
    *((partial(rule_for, PLAIN, LpNorm(), zeta=x), "zeta") for x in (0.0, math.nan, math.inf)),
    *(
        (partial(dataclasses.replace, rule_for(PLAIN, LpNorm()), **change), message)
        for change, message in (
            ({"start_potential": -1.0}, "start_potential"),
            ({"start_potential": math.nan}, "start_potential"),
            ({"shift": -1.0}, "shift"),
            ({"shift": 1.0}, "larger than the shift"),
            ({"rule": "printed"}, "rule"),
            ({"value_error": -1.0}, "value_error"),
            ({"psi": GroupNorm(1.5)}, "bipartite"),
            ({"psi": SchattenNorm(1.5)}, "bipartite"),
        )
    ),
    (partial(minimal_start, PLAIN, GroupNorm(1.5)), "bipartite"),
    *((partial(norm, p), "exponent") for norm in (LpNorm, GroupNorm) for p in (1.0, 2.1, math.nan)),
    *((partial(Ball, radius), "radius") for radius in (0.0, -1.0, math.inf, math.nan)),
    *((partial(Box, *sides), "box") for sides in ((1, 1), (2, 1), (-math.inf, 0), (0, math.nan))),
    *((partial(Entropy, total), "total") for total in (0.0, -1.0, math.inf, math.nan)),
    (partial(near_one, 0), "size"),
    *(
        (partial(psi.minimise, np.zeros((3, 3)), domain), message)
        for psi, domain, message in (
            (SchattenNorm(1.5), Box(), "no projection on a box"),
            (LpNorm(1.5), Box(0.5, 1), "contain the start"),
            (LpNorm(2), Box(0.5, 1), "contain the start"),
            (Entropy(4.0), Ball(1.0), "takes no domain"),
            (Entropy(4.0), Box(-1, 1), "takes no domain"),
            (Entropy(4.0), Box(0, 0.4), "room for the total"),
        )
    ),
]


@pytest.mark.parametrize(("make", "message"), REFUSED)
def test_what_will_not_do_is_refused(make, message):
    with pytest.raises(ParameterError, match=message):
        make()


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
    full = Entropy(24.0).minimise(rng.normal(size=(6, 4)), Box())
    assert full == pytest.approx(np.ones((6, 4)))
    assert not LpNorm(1.2).minimise(np.zeros((2, 2)), Box()).any()
