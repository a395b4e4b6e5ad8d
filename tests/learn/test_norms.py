"""Norms of mirror descent: their names, their bounds against the truth's own, and the best one."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from graphcuts_dp.errors import ParameterError, QueryError
from graphcuts_dp.learn.bounds import ArcsOn, CutSizes
from graphcuts_dp.learn.learners import MirrorDescentLearner, potential_of
from graphcuts_dp.learn.norms import (
    MOST_VERTICES,
    NORMS,
    best_exponent,
    norm_updates,
    norms_of,
    parse_norm,
    terms_of,
    worth_buying,
)
from graphcuts_dp.learn.potentials import GroupNorm, LpNorm, SchattenNorm, bregman, near_one
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from scripts.figures.update_sequence import UpdateSequence

SIZES = (14, 10)
WAYS = ("l2", "lp", "l1.3", "2,p", "2,1.3", "entropy", "schatten", "schatten-1.4")


def truth_of(seed, weighted=False):
    """A matrix with uneven rows."""
    rng = np.random.default_rng(seed)
    dense = rng.random(SIZES) < rng.choice([0.05, 0.9], size=(SIZES[0], 1), p=[0.8, 0.2])
    dense[0, 0] = True
    return dense * (rng.random(SIZES) if weighted else 1.0)


def roots_of(truth):
    return float(np.sqrt(truth.sum(axis=1)).sum())


def test_names_of_norms():
    for name in ("auto", "lp", "2,p", "entropy", "schatten"):
        assert parse_norm(name) == (name, None)
    assert parse_norm("l2") == ("l2", 2.0)
    assert parse_norm("l1.5") == ("lp", 1.5)
    assert parse_norm("2,2") == ("2,p", 2.0)
    assert parse_norm("schatten-1.1") == ("schatten", 1.1)
    for text in ("", "l", "l1", "l2.5", "2,", "2,1", "2,x", "max", "schatten-0.5"):
        with pytest.raises(ParameterError, match="norm"):
            parse_norm(text)


@pytest.mark.parametrize("norm", WAYS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_start_potentials_bound_the_divergence_of_the_truth(norm, weighted, seed):
    """From a total that is off, and from root degrees alone."""
    truth, total = truth_of(seed, weighted), truth_of(seed, weighted).sum()
    sizes = CutSizes.of(SIZES, disjoint=False)
    name, p = parse_norm(norm)
    for off, error in ((0.0, 0.0), (1.5, 1.5), (-1.5, 2.0)):
        near = max(total + off, 1.0)
        terms = terms_of(
            name, p, sizes, total_weight=near, total_error=error, roots=roots_of(truth)
        )
        psi, start = potential_of(terms, near), np.full(SIZES, terms.weight)
        shifted = truth * (near / total) if norm == "entropy" else truth
        assert bregman(psi, shifted, start) <= terms.start_potential * (1 + 1e-9)
        assert np.abs(shifted - truth).sum() <= terms.shift + 1e-9


@pytest.mark.parametrize("norm", WAYS)
@pytest.mark.parametrize("right", [None, 3])
def test_zeta_bounds_the_dual_norm_of_every_cut_and_is_met_by_the_largest(norm, right):
    sizes = CutSizes.of(SIZES, disjoint=False, most_right=right)
    name, p = parse_norm(norm)
    terms = terms_of(name, p, sizes, total_weight=20.0, roots=15.0)
    psi, rng = potential_of(terms, 20.0), np.random.default_rng(1)
    for most in (False, True):
        S, T = (np.ones(side, dtype=bool) if most else rng.random(side) < 0.6 for side in SIZES)
        if right is not None:
            T &= np.arange(SIZES[1]) < right
        if norm == "entropy" and most and right is None:
            continue  # the answer to all pairs is known: its range is 0
        size = psi.dual_norm(np.outer(S, T).astype(float))
        assert size <= terms.zeta * (1 + 1e-12)
        if most:
            assert size == pytest.approx(terms.zeta)


def test_the_best_exponent_is_the_best():
    ps = np.linspace(1.0005, 2, 20_000)
    for r in (-1.0, 0.0, 1.0, 1.99, 2.0, 2.01, 3.0, 8.0, 20.0):
        best = best_exponent(r)
        costs = np.exp(-2 * r / ps) / (ps - 1)
        assert math.exp(-2 * r / best) / (best - 1) <= costs.min() * (1 + 1e-6)


@pytest.mark.parametrize("norm", ["l2", "lp", "2,p", "schatten", "entropy"])
@pytest.mark.parametrize("rule", ["tight", "as printed"])
def test_updates_stay_within_their_bound(norm, rule):
    """An adversary asks the worst of many cuts until none is off by alpha."""
    universe, rng = Universe(*SIZES), np.random.default_rng(2)
    truth, alpha = truth_of(3), 6.0
    learner = MirrorDescentLearner(universe, rule=rule, norm=norm, roots=roots_of(truth))
    made = learner.construction(
        alpha=alpha, total_weight=truth.sum() + 1.0, total_error=1.0 if norm == "entropy" else 2.0
    )
    run = UpdateSequence(made, truth)
    cuts = [CutQuery(*(rng.random(side) < 0.5 for side in SIZES)) for _ in range(80)]
    run.exhaust(cuts)
    assert 0 < run.count <= made.update_bound(alpha)


# Which is best


def cases():
    for n in (40, 1000, (30, 50), (400, 900), (2000, 2000), ArcsOn(60)):
        sizes = CutSizes.of(n, disjoint=False)
        for share in (1e-3, 0.01, 0.1, 0.3, 0.8):
            rights = (None,) if not sizes.bipartite else (None, 3, sizes.shape[1] // 4)
            for right in rights:
                yield n, max(1.0, share * sizes.pairs), right


def test_auto_is_the_least_of_all_norms_whatever_the_tolerance():
    for n, edges, right in cases():
        sizes = CutSizes.of(n, disjoint=True, most_right=right)
        norms = norms_of(sizes)
        for alpha in (3.0, 50.0, 1e4):
            bounds = [norm_updates(n, edges, norm=norm, sizes=sizes)(alpha) for norm in norms]
            auto = norm_updates(n, edges, sizes=sizes)(alpha)
            assert auto == min(bounds)


def test_entropy_is_never_worse_where_all_cuts_may_come():
    for n, edges, right in cases():
        if right is None and edges <= 0.999 * CutSizes.of(n, disjoint=False).pairs:
            auto = norm_updates(n, edges)(10.0)
            assert auto == norm_updates(n, edges, norm="entropy")(10.0)


def test_root_degrees_help_only_where_few_right_vertices_were_announced():
    """The claim of `worth_buying`, over densities, shares of right vertices and sums of roots."""
    helped, n = set(), (512, 512)
    for share, right, spread in itertools.product(
        (1e-4, 1e-3, 0.01, 0.05, 0.13, 0.2, 0.5), (1, 8, 32, 60, 69, 80, 200, 512), (0, 0.3, 0.7, 1)
    ):
        sizes = CutSizes.of(n, disjoint=False, most_right=right)
        edges = share * sizes.pairs
        low, high = edges / math.sqrt(512), math.sqrt(512 * edges)
        roots = low ** (1 - spread) * high**spread
        bounds = {
            norm: terms_of(norm, None, sizes, total_weight=edges, roots=roots).updates(5.0)
            for norm in ("l2", "lp", "entropy", "2,p")
        }
        if bounds["2,p"] < 0.999 * min(bounds[norm] for norm in ("l2", "lp", "entropy")):
            helped.add(right)
            assert worth_buying(sizes)
    assert helped == {1, 8, 32}


def test_as_printed_the_exponents_are_the_papers():
    sizes = CutSizes.of((64, 100), disjoint=False)
    for norm, size in (("2,p", 64), ("lp", 6400), ("schatten", 6400)):
        terms = terms_of(norm, None, sizes, total_weight=90.0, rule="as printed")
        assert terms.p == near_one(size)
    made = {norm: terms_of(norm, 1.5, sizes, total_weight=90.0) for norm in NORMS[1:]}
    kinds = {
        name: type(potential_of(terms, 90.0)) for name, terms in made.items() if name != "entropy"
    }
    assert kinds == {"lp": LpNorm, "2,p": GroupNorm, "schatten": SchattenNorm}


# What is refused


@pytest.mark.parametrize(
    ("universe", "given", "message"),
    [
        (Universe(8), {"norm": "2,p"}, "for bipartite graphs"),
        (Universe(8), {"norm": "schatten"}, "for bipartite graphs"),
        (Universe(8), {"norm": "max"}, "unknown norm"),
        (Universe(8), {"most_right": 3}, "most_right is for bipartite"),
        (Universe(8), {"linear": True, "most_spectral": 4.0}, "for bipartite graphs"),
        (Universe(8, 9), {"linear": True, "disjoint": True}, "disjoint=True is for cuts"),
        (Universe(8, 9), {"most_spectral": 4.0}, "most_spectral is for linear=True"),
        (Universe(5000, 5000), {"linear": True}, "up to 16,777,216 coefficients"),
        *(
            (Universe(2, limit + 1), {"norm": norm}, f"up to {limit} vertices")
            for norm, limit in MOST_VERTICES.items()
        ),
    ],
)
def test_learners_that_do_not_suit_are_refused(universe, given, message):
    with pytest.raises(ParameterError, match=message):
        MirrorDescentLearner(universe, **given)


def test_cuts_that_were_announced_not_to_come_are_refused():
    learner = MirrorDescentLearner(Universe(8, 9), most_right=2)
    learner.check(CutQuery([0, 1, 2], [0, 1]))
    with pytest.raises(QueryError, match="at most 2 right vertices were announced"):
        learner.check(CutQuery([0], [0, 1, 2]))
    with pytest.raises(QueryError, match="disjoint"):
        MirrorDescentLearner(Universe(8), disjoint=True).check(CutQuery([0, 1], [1, 2]))


def test_a_total_that_may_be_off_shortens_the_tolerance():
    """By the shift: in the bound on updates, and in the step, as if alpha were so much less."""
    sizes = CutSizes.of(SIZES, disjoint=False)
    terms = terms_of("entropy", None, sizes, total_weight=30.0, total_error=4.0)
    exact = replace(terms, shift=0.0)
    assert terms.shift == 4.0
    for alpha in (5.0, 9.0, 40.0):
        assert terms.updates(alpha) == pytest.approx(exact.updates(alpha - 4))
        assert terms.updates(alpha) > exact.updates(alpha)
    assert terms.updates(4.0) == terms.updates(3.0) == math.inf
    learner = MirrorDescentLearner(Universe(*SIZES), norm="entropy")
    made = learner.construction(alpha=9.0, total_weight=30.0, total_error=4.0)
    same = replace(made, alpha=made.alpha - made.shift, shift=0.0)
    query = CutQuery(range(5), range(3))
    moved, expected = (rule.update(rule.initial(), query, 1).matrix for rule in (made, same))
    np.testing.assert_allclose(moved, expected)
    longer = replace(made, shift=0.0).update(made.initial(), query, 1).matrix
    assert (
        np.abs(longer - made.initial().matrix).max()
        > np.abs(moved - made.initial().matrix).max() * 1.2
    )
    assert made.least_drop(9.0) == pytest.approx(same.least_drop(5.0))
