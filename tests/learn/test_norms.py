"""Norms of mirror descent: their names, their bounds against the truth's own, and the best one."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from graphcuts_dp import CutQuery, QueryError
from graphcuts_dp.learn.learners import MirrorDescentLearner, potential_of
from graphcuts_dp.learn.norms import (
    NORMS,
    best_exponent,
    norm_updates,
    norms_of,
    parse_norm,
    root_degrees_can_help,
    terms_of,
)
from graphcuts_dp.learn.potentials import GroupNorm, LpNorm, SchattenNorm, bregman, near_one
from graphcuts_dp.learn.sizes import ArcsOn, CutSizes
from graphcuts_dp.plugins import Universe
from graphcuts_dp.queries.linear import MatrixQuery
from scripts.figures.update_sequence import UpdateSequence

SIZES = (14, 10)
UNIVERSE = Universe(*SIZES)
WAYS = ("l2", "lp", "l1.3", "2,p", "2,1.3", "entropy", "schatten", "schatten-1.4")


def test_names_of_norms():
    for name in ("auto", "lp", "2,p", "entropy", "schatten"):
        assert parse_norm(name) == (name, None)
    assert parse_norm("l2") == ("l2", 2.0)
    assert parse_norm("l1.5") == ("lp", 1.5)
    assert parse_norm("2,2") == ("2,p", 2.0)
    assert parse_norm("schatten-1.1") == ("schatten", 1.1)


def truth_of(kind, weighted, seed):
    """A matrix with uneven rows, or of low rank: users and items of two kinds."""
    rng = np.random.default_rng(seed)
    if kind == "uneven":
        truth = rng.random(SIZES) < rng.choice([0.05, 0.9], size=(SIZES[0], 1), p=[0.8, 0.2])
        truth[0, 0] = True
        return truth * (rng.random(SIZES) if weighted else 1.0)
    users, items = (rng.integers(2, size=side) for side in SIZES)
    taste = 0.3 * rng.random((2, 2)) if weighted else rng.random((2, 2)) < 0.5
    return np.maximum(taste, np.eye(2) * (0.9 if weighted else 1.0))[users][:, items]


def asked(kind, truth, rng):
    """Many cuts; or signed queries, among them the most telling, and what is announced of them."""
    if kind == "cuts":
        return [CutQuery(*(rng.random(side) < 0.5 for side in SIZES)) for _ in range(60)], {}
    matrices = [rng.choice([-1.0, 1.0], size=SIZES) for _ in range(40)]
    matrices += [np.outer(truth.any(axis=1), truth.any(axis=0)).astype(float)]
    matrices += [truth - truth.mean(), np.where(truth > 0.5, 1.0, -1.0)]
    spectral = max(float(np.linalg.norm(each, 2)) for each in matrices)
    return [MatrixQuery(each) for each in matrices], {"linear": True, "max_spectral_norm": spectral}


@pytest.mark.thorough(cases=6)
@pytest.mark.parametrize("kind", ["cuts", "signed"])
@pytest.mark.parametrize("norm", WAYS)
@pytest.mark.parametrize(
    ("rule", "truth"),
    [
        *(("tight", way) for way in itertools.product(("uneven", "two kinds"), (False, True))),
        ("as printed", ("uneven", False)),
    ],
)
def test_bounds_hold_for_what_they_are_about(kind, norm, rule, truth):
    """The divergence of the truth from the start, with a total that is off, too; the dual norms;
    and the updates that an adversary forces, who asks the worst query until none is off."""
    rng, alpha = np.random.default_rng(2), 2.5 if truth[1] else 6.0
    for seed in (1, 3):
        matrix = truth_of(*truth, seed)
        queries, announced = asked(kind, matrix, rng)
        total, alone = matrix.sum(), MirrorDescentLearner(UNIVERSE, norm=norm, **announced)
        learner = replace(
            alone,
            rule=rule,
            root_degrees=float(np.sqrt(matrix.sum(axis=1)).sum()),
            nuclear_norm=float(np.linalg.norm(matrix, "nuc")),
        )
        for off, error in ((0.0, 0.0), (1.5, 1.5), (-1.5, 2.0)):
            near = max(total + off, 1.0)
            terms = learner.terms_at(alpha=alpha, total_weight=near, total_error=error)
            psi, start = potential_of(terms, near), np.full(SIZES, terms.weight)
            shifted = matrix * (near / total) if norm == "entropy" else matrix
            assert bregman(psi, shifted, start) <= terms.start_potential * (1 + 1e-9)
            assert np.abs(shifted - matrix).sum() <= terms.shift + 1e-9
        for query in queries:
            assert psi.dual_norm(UNIVERSE.coefficients(query)) <= terms.zeta * (1 + 1e-9)
    made = learner.construction(
        alpha=alpha, total_weight=total + 1, total_error=1 if norm == "entropy" else 2
    )
    run = UpdateSequence(made, matrix)
    for query in queries:
        learner.check(query)
    run.exhaust(queries)
    assert 0 < run.count <= made.update_bound(alpha)


@pytest.mark.parametrize("norm", WAYS)
@pytest.mark.parametrize("right", [None, 3])
def test_zeta_is_met_by_the_largest_cut(norm, right):
    name, p = parse_norm(norm)
    sizes = CutSizes.of(SIZES, max_right_size=right)
    terms = terms_of(name, p, sizes, total_weight=20.0, root_degrees=15.0)
    # Not all pairs for the entropy: their range is 0.
    T = np.arange(SIZES[1]) < (right or SIZES[1] - (norm == "entropy"))
    largest = potential_of(terms, 20.0).dual_norm(np.outer(np.ones(SIZES[0]), T))
    assert largest == pytest.approx(terms.zeta)


def test_jt12_bound_on_updates_is_the_paper_s_with_its_norms():
    """B = 8 zeta^2 Psi/T^2 for T = 2 alpha, as Algorithm 2 prints it for order 2, in both norms."""
    truth = truth_of("two kinds", False, 3)
    queries, announced = asked("signed", truth, np.random.default_rng(0))
    nuclear, alpha, p = float(np.linalg.norm(truth, "nuc")), 30.0, 1.3
    learner = MirrorDescentLearner(
        UNIVERSE, norm=f"schatten-{p}", nuclear_norm=nuclear, **announced
    )
    found = learner.update_bound(total_weight=truth.sum(), total_error=0.0)(alpha)
    q = p / (p - 1)
    zeta = announced["max_spectral_norm"] ** (1 - 2 / q) * math.sqrt(truth.size) ** (2 / q)
    length = nuclear ** (2 / p - 1) * math.sqrt(truth.sum()) ** (2 - 2 / p)
    assert found == pytest.approx(8 * zeta**2 * (length**2 / (2 * (p - 1))) / (2 * alpha) ** 2)
    for query in queries:
        singular = np.linalg.svd(UNIVERSE.coefficients(query), compute_uv=False)
        assert np.linalg.norm(singular, q) <= zeta
    unbought = replace(learner, nuclear_norm=None).update_bound(
        total_weight=truth.sum(), total_error=0
    )
    assert unbought(alpha) >= found


def test_a_zeta_for_cuts_is_not_one_for_signed_queries():
    """The twin: the entropy of a learner of cuts refuses what its bound is not about."""
    query = MatrixQuery(np.random.default_rng(0).choice([-1.0, 1.0], size=SIZES))
    signed, cuts = (
        MirrorDescentLearner(UNIVERSE, norm="entropy", linear=linear).construction(
            alpha=5.0, total_weight=100.0, total_error=0.0
        )
        for linear in (True, False)
    )
    signed.update(signed.initial(), query, 1)
    with pytest.raises(QueryError, match="dual norm 1"):
        cuts.update(cuts.initial(), query, 1)


# Which is best


def test_the_best_exponent_is_the_best():
    ps = np.linspace(1.0005, 2, 20_000)
    for r in (-1.0, 0.0, 1.0, 1.99, 2.0, 2.01, 3.0, 8.0, 20.0):
        best = best_exponent(r)
        costs = np.exp(-2 * r / ps) / (ps - 1)
        assert math.exp(-2 * r / best) / (best - 1) <= costs.min() * (1 + 1e-6)


def test_auto_is_the_least_of_all_norms_and_entropy_where_all_cuts_may_come():
    for n, share in itertools.product(
        (40, 1000, (30, 50), (400, 900), (2000, 2000), ArcsOn(60)), (1e-3, 0.01, 0.1, 0.3, 0.8)
    ):
        for right in (None, 3, n[1] // 4) if isinstance(n, tuple) else (None,):
            sizes = CutSizes.of(n, disjoint=True, max_right_size=right)
            edges = max(1.0, share * sizes.pairs)
            for alpha in (3.0, 50.0, 1e4):
                bounds = [
                    norm_updates(n, edges, norm=norm, sizes=sizes)(alpha)
                    for norm in norms_of(sizes)
                ]
                assert norm_updates(n, edges, sizes=sizes)(alpha) == min(bounds)
        assert norm_updates(n, edges)(10.0) == norm_updates(n, edges, norm="entropy")(10.0)


def test_root_degrees_help_only_where_few_right_vertices_were_announced():
    """The claim of `root_degrees_can_help`, over densities, right vertices and sums of roots."""
    helped, n = set(), (512, 512)
    for share, right, spread in itertools.product(
        (1e-4, 1e-3, 0.01, 0.05, 0.13, 0.2, 0.5), (1, 8, 32, 60, 69, 80, 200, 512), (0, 0.3, 0.7, 1)
    ):
        sizes = CutSizes.of(n, max_right_size=right)
        edges = share * sizes.pairs
        low, high = edges / math.sqrt(512), math.sqrt(512 * edges)
        roots = low ** (1 - spread) * high**spread
        bounds = {
            norm: terms_of(norm, None, sizes, total_weight=edges, root_degrees=roots).updates(5.0)
            for norm in ("l2", "lp", "entropy", "2,p")
        }
        if bounds["2,p"] < 0.999 * min(bounds[norm] for norm in ("l2", "lp", "entropy")):
            helped.add(right)
            assert root_degrees_can_help(sizes)
    assert helped == {1, 8, 32}


def test_low_rank_and_spread_queries_make_schatten_the_best_norm():
    """JT12 section 4.2: at 400 x 400 with two kinds of users, fewer updates than l2 and entropy."""
    n, alpha, bounds = 400, 500.0, {}
    for norm in ("l2", "entropy", "schatten", "auto"):
        learner = MirrorDescentLearner(
            Universe(n, n),
            norm=norm,
            linear=True,
            max_spectral_norm=2.1 * math.sqrt(n),
            nuclear_norm=n,
        )
        bounds[norm] = learner.update_bound(total_weight=n**2 / 2, total_error=0.0)(alpha)
    assert bounds["auto"] == bounds["schatten"] < min(0.8 * bounds["l2"], bounds["entropy"])
    assert learner.measured_norm == "nuclear norm"


def test_as_printed_the_exponents_are_the_papers():
    sizes = CutSizes.of((64, 100))
    for norm, size in (("2,p", 64), ("lp", 6400), ("schatten", 6400)):
        terms = terms_of(norm, None, sizes, total_weight=90.0, rule="as printed")
        assert terms.p == near_one(size)
    made = {norm: terms_of(norm, 1.5, sizes, total_weight=90.0) for norm in NORMS[1:]}
    kinds = {
        name: type(potential_of(terms, 90.0)) for name, terms in made.items() if name != "entropy"
    }
    assert kinds == {"lp": LpNorm, "2,p": GroupNorm, "schatten": SchattenNorm}


def test_a_total_that_may_be_off_shortens_the_tolerance():
    """By the shift: in the bound on updates, and in the step, as if alpha were so much less."""
    terms = terms_of("entropy", None, CutSizes.of(SIZES), total_weight=30.0, total_error=4.0)
    exact = replace(terms, shift=0.0)
    assert terms.shift == 4.0
    for alpha in (5.0, 9.0, 40.0):
        assert terms.updates(alpha) == pytest.approx(exact.updates(alpha - 4))
    assert terms.updates(4.0) == terms.updates(3.0) == math.inf
    learner = MirrorDescentLearner(UNIVERSE, norm="entropy")
    made = learner.construction(alpha=9.0, total_weight=30.0, total_error=4.0)
    same = replace(made, alpha=5.0, shift=0.0)
    query = CutQuery(range(5), range(3))
    moved, expected = (rule.update(rule.initial(), query, 1).matrix for rule in (made, same))
    np.testing.assert_allclose(moved, expected)
    assert made.least_drop(9.0) == pytest.approx(same.least_drop(5.0))
