"""JT12, section 4: norms of its two graph families, cuts and Gaussian queries; ratings."""

import math

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.learn.potentials import Box, GroupNorm, LpNorm, SchattenNorm, near_one
from graphcuts_dp.learn.rules import MirrorDescentRule, minimal_start
from graphcuts_dp.pairs.universe import Universe
from scripts.figures.random_graphs import imbalanced_bipartite, power_law_bipartite
from scripts.figures.update_sequence import potential


def norms_of(graph):
    """(root of |E|^(1/2), ||X||_{2,p}) for p = near_one(V)."""
    dense = graph.dense()
    return math.sqrt(len(graph.rows)), GroupNorm(near_one(graph.shape[0])).norm(dense)


def test_the_group_norm_of_the_imbalanced_family_grows_as_v_to_the_five_quarters():
    sides = np.array([81, 256, 625])
    found = [norms_of(imbalanced_bipartite(side, seed=1))[1] for side in sides]
    slope = np.polyfit(np.log(sides), np.log(found), 1)[0]
    assert slope == pytest.approx(5 / 4, abs=0.06)
    for side, norm in zip(sides, found, strict=True):
        hubs = round(side**0.75)
        sums = hubs * math.sqrt(side) + (side - hubs) * math.sqrt(round(side**0.5))
        assert norm <= sums  # l_p is at most l_1


def test_erratum_jt12_the_power_law_exponent():
    """||X||_{2,1} = Theta(V^(5/2-b)), so the bound is V^(5/4-b/2)|S|^(3/4), not V^(3/4-b/2)."""
    b, sides = 1.25, np.array([200, 800, 3200])
    sums = []
    for side in sides:
        degrees = np.bincount(power_law_bipartite(int(side), b, seed=0).rows)
        sums.append(np.sqrt(degrees).sum())
    slope = np.polyfit(np.log(sides), np.log(np.sqrt(sums)), 1)[0]
    assert abs(slope - (5 / 4 - b / 2)) < 0.06
    assert abs(slope - (3 / 4 - b / 2)) > 0.4


@pytest.mark.parametrize(("side", "better"), [(10**4, False), (10**6, False), (10**8, True)])
def test_the_group_norm_wins_on_the_imbalanced_family_but_late(side, better):
    """o(1) Err_FK hides e^2 (ln V - 1): with that p, its B is the smaller one from 10^8 on."""
    hubs = round(side**0.75)
    counts, degrees = np.array([hubs, side - hubs]), np.array([side, round(side**0.5)], dtype=float)
    p = near_one(side)
    # B alpha^2 / |S|, zeta^2 = |S| V for l_2 and |S| V^(2/q) for the group norm.
    euclidean = side * (counts @ degrees)
    norm_squared = (counts @ degrees ** (p / 2)) ** (2 / p)
    group = math.e**2 * norm_squared / (p - 1)
    assert (group < euclidean) == better
    entropy = (counts @ degrees) ** 2 * math.log(side**2 / (counts @ degrees)) / 2
    assert group * math.isqrt(side) < entropy  # |S| = sqrt(V)


@pytest.mark.parametrize("size", [3, 20, 200, 1000])
def test_the_dual_group_norm_of_a_cut_is_within_e_of_the_root_of_t(size):
    """With p = ln V/(ln V - 1) the dual exponent is ln V, and V^(1/ln V) = e."""
    p = near_one(size)
    f = np.zeros((size, 16))
    f[:, :9] = 1
    found = GroupNorm(p).dual_norm(f)
    assert 3 <= found <= 3 * math.e * (1 + 1e-12)
    if size > math.e**2:
        assert p / (p - 1) == pytest.approx(math.log(size))


def test_schatten_beats_frobenius_on_spread_queries_and_low_rank():
    """Section 4.2: Gaussian queries on a rank-1 matrix; sqrt(r) ||F||_{S_q} < ||F||_F.

    And not on rank-1 queries. The paper's 9r(1/n) sigma_n^2 should read 9(r/n) ||F||_F^2.
    """
    rng = np.random.default_rng(0)
    m, n = 160, 40
    psi = SchattenNorm(near_one(m * n))
    spread = rng.normal(size=(m, n))
    values = np.linalg.svd(spread, compute_uv=False)
    assert math.sqrt(n) <= values[-1] <= values[0] <= 3 * math.sqrt(n)
    frobenius = np.linalg.norm(spread)
    assert values[0] ** 2 <= 9 * n <= 9 / n * frobenius**2
    assert psi.dual_norm(spread) <= math.e * values[0]
    assert psi.dual_norm(spread) < frobenius
    flat = np.outer(np.ones(m), np.ones(n))
    assert math.sqrt(2) * psi.dual_norm(flat) > np.linalg.norm(flat)


def test_ratings_with_negative_entries():
    """Section 4.2: a real matrix, averages and random queries, the sign rule, within B."""
    rng = np.random.default_rng(4)
    shape, alpha = (12, 8), 1.5
    truth = np.outer(rng.uniform(-1, 1, shape[0]), rng.uniform(-1, 1, shape[1]))
    universe = Universe(*shape)
    queries = [gc.Query.matrix(rng.normal(size=shape)) for _ in range(30)]
    true_answers = universe.answers(queries, truth)
    for psi, domain in ((SchattenNorm(near_one(96)), None), (LpNorm(), Box(-1, 1))):
        construction = MirrorDescentRule(
            start=minimal_start(universe, psi, domain),
            psi=psi,
            alpha=alpha,
            zeta=max(psi.dual_norm(universe.coefficients(query)) for query in queries),
            start_potential=psi.value(truth),
            domain=domain,
        )
        hypothesis, count = construction.initial(), 0
        while True:
            gaps = true_answers - hypothesis.estimate_all(queries)
            worst = int(np.argmax(np.abs(gaps)))
            if abs(gaps[worst]) < alpha:
                break
            before = potential(construction, hypothesis, truth)
            hypothesis = construction.update(
                hypothesis, queries[worst], 1 if gaps[worst] > 0 else -1
            )
            drop = before - potential(construction, hypothesis, truth)
            assert drop >= construction.least_drop(alpha) * (1 - 1e-9)
            count += 1
        assert 0 < count <= construction.update_bound(alpha)
