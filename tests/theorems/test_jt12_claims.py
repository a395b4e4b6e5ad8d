"""Single statements of JT12 computed from the paper's text alone: errata of definitions and rates.

Its Psi_p is ||x||_p^2/(p - 1), and Theorem 3 gives an error with the square
zeta max(Psi)^(1/2) ln k for s = 2, less privacy parameters.
"""

import itertools
import math

import numpy as np
import pytest


def error(zeta, potential, log_queries):
    return math.sqrt(zeta * math.sqrt(potential) * log_queries)


# Definitions


@pytest.mark.parametrize(("s", "bounded"), [(1.0, False), (1.5, False), (2.0, True), (3.0, True)])
def test_erratum_definition_3_has_no_functions_below_2(s, bounded):
    """Convexity at steps of 1/N adds up to Psi(0) + Psi(1) - 2 Psi(1/2) over [0, 1]."""
    found = []
    for pieces in (2, 32, 512, 8192):
        second_difference = (2 / pieces) ** s / (2 * s)  # the definition with alpha = 1/2
        found.append(second_difference * pieces**2 / 4)
    assert (max(found) < 1) is bounded
    if not bounded:
        assert found[-1] > 10 * found[0]


def test_erratum_the_entropy_is_uniformly_convex_on_distributions_only():
    def psi(x):
        return float((x * np.log(x)).sum())

    x, y = np.array([10.0]), np.array([12.0])
    gap = (psi(x) + psi(y)) / 2 - psi((x + y) / 2)
    assert gap < 1 / 8 * np.abs(x - y).sum() ** 2
    rng = np.random.default_rng(0)
    for total in (1.0, 10.0):
        for _ in range(200):
            x, y = (total * rng.dirichlet(np.ones(4)) for _ in range(2))
            gap = (psi(x) + psi(y)) / 2 - psi((x + y) / 2)
            assert total * gap >= 1 / 8 * np.abs(x - y).sum() ** 2 * (1 - 1e-9)


def test_erratum_with_the_entropy_b_of_algorithm_2_is_0():
    """max Psi over distributions is 0, and the uniform start is off by 1 - 1/d on one element."""
    d, T = 10, 0.5
    corners = [0.0 for _ in range(d)]  # 1 ln 1 + 0: Psi at the corners, its largest values
    printed = 2 * 4 / T**2 * max(corners)
    assert printed == 0
    start, truth = np.full(d, 1 / d), np.eye(d)[0]
    assert truth[0] - start[0] > T
    assert max(corners) - float((start * np.log(start)).sum()) == pytest.approx(math.log(d))


def updates_by_the_worst_queries(radius, T, factor):
    """Updates of Algorithm 2 with Psi = factor ||x||^2 and queries of norm 1, off by 3T/4 each.

    Three-quarters of T is what Algorithm 1 leaves at least, where its noise is below T/4.
    """
    truth, x, count = radius * np.eye(2)[0], np.zeros(2), 0
    eta = T / 8
    while np.linalg.norm(rest := truth - x) >= 3 * T / 4:
        length = np.linalg.norm(rest)
        side = np.array([-rest[1], rest[0]]) / length
        along = 3 * T / 4 / length
        query = along * rest / length + math.sqrt(1 - along**2) * side * (-1 if x @ side > 0 else 1)
        assert query @ rest == pytest.approx(3 * T / 4)
        x = x + eta * query / (2 * factor)
        assert np.linalg.norm(x) <= radius  # x stays in C: nothing is projected
        count += 1
    return count


@pytest.mark.parametrize("factor", [0.5, 1.0])
def test_erratum_the_printed_step_makes_more_updates_than_b(factor):
    """Psi as printed (factor 1) and the half that Definition 3 needs: B = 8 zeta^2 max Psi/T^2."""
    radius, T = 10.0, 1.0
    printed = 8 * factor * radius**2 / T**2
    assert updates_by_the_worst_queries(radius, T, factor) > 1.2 * printed


# Theorems


def test_what_algorithm_1_answers_is_within_five_quarters_of_t():
    """Where no noise exceeds T/4, which is Theorem 2's event: it states 2T."""
    T, worst = 1.0, 0.0
    for gap, noise in itertools.product(np.linspace(-3, 3, 601), np.linspace(-0.25, 0.25, 51)):
        updated = abs(gap + noise) > T
        worst = max(worst, abs(noise) if updated else abs(gap))
    assert worst == pytest.approx(5 / 4)
    k, beta = 1000, 0.05
    assert k * math.exp(-math.log(2 * k / beta)) == pytest.approx(beta / 2)


def test_erratum_theorem_3_needs_zeta_to_be_the_largest_norm():
    """zeta <= max ||f|| is printed. A smaller one allows no update where the start is off by 2T."""
    T, truth, query = 0.5, np.array([1.0]), np.array([1.0])
    bounds = {zeta: 8 * zeta**2 * float(truth @ truth) / T**2 for zeta in (0.1, 1.0)}
    assert query @ truth >= 2 * T  # and the start is 0
    assert bounds[0.1] < 1 < bounds[1.0]


# Section 4.1


def test_erratum_section_4_1_a_cut_has_all_of_v_1_as_its_rows():
    """S = {0} of V_2; the one edge leaves S, and the printed F has i in S, j outside of S."""
    X, S = np.array([[1, 0], [0, 0]]), np.array([1, 0])
    assert (X * np.outer(S, 1 - S)).sum() == 0
    assert (X * np.outer(np.ones(2), S)).sum() == 1
    assert np.linalg.norm(np.outer(np.ones(9), [1] * 4 + [0] * 5)) == pytest.approx(
        math.sqrt(9 * 4)
    )


def test_erratum_equation_2_lacks_half_a_logarithm():
    """Theorem 3 gives |E| ln(d)^(1/2) |S| ln|V_2|; |E| |S| ln d is printed, d = |V_1||V_2|."""
    ratios = []
    for side in (1e3, 1e9, 1e27):
        edges, sets = side**1.5, 10.0
        log_d = 2 * math.log(side)
        follows = error(1.0, (log_d - 1) * edges**2, sets * math.log(side))
        ratios.append(follows**2 / (edges * sets * log_d))
    assert ratios[1] / ratios[0] == pytest.approx(math.sqrt(3), rel=0.05)
    assert ratios[2] / ratios[1] == pytest.approx(math.sqrt(3), rel=0.05)
    assert ratios[-1] > 5


def test_erratum_randomised_response_is_better_on_small_sets():
    """|V|^(3/2) is its error at |S| = |V| only: the worst set of s is s sqrt(V), up to logs."""
    rng, s, compared = np.random.default_rng(0), 4, []
    for side in (10**2, 10**4, 10**6):
        columns = 2.0 * rng.binomial(side, 0.5, size=side) - side  # noise +-1, summed over V_1
        worst = np.sort(np.abs(columns))[-s:].sum()  # at least that of any S with s members
        assert worst <= 2 * s * math.sqrt(side * math.log(side))
        compared.append(2 * s * math.sqrt(side) / (side ** (5 / 8) * s ** (3 / 4)))
    assert compared == sorted(compared, reverse=True)  # s^(1/4) V^(-1/8)
    # Power law with exponent b: |V|^(5/4-b/2) s^(3/4) is above s sqrt(V) below V^(3-2b).
    side, b = 1e12, 1.25
    for size, better in ((side**0.4, True), (side**0.6, False)):
        assert (size * math.sqrt(side) < side ** (5 / 4 - b / 2) * size**0.75) is better


def test_erratum_the_power_law_needs_small_sets_against_multiplicative_weights():
    """With the right exponent the ratio is (|S|/|V|)^(1/4): 1 at |S| = |V|."""
    side, b = 1e6, 1.25
    for share in (1.0, 1e-4):
        group = side ** (5 / 4 - b / 2) * (share * side) ** 0.75
        weights = side ** (3 / 2 - b / 2) * (share * side) ** 0.5
        assert group / weights == pytest.approx(share**0.25)


# Section 4.2


def test_erratum_gaussian_queries_have_the_norms_of_m_4n_and_entries_above_1():
    """sigma_1 is about sqrt(m) + sqrt(n): at most 3 sqrt(n) only for m up to 4n."""
    rng, n = np.random.default_rng(0), 40
    for times, within in ((4, True), (16, False)):
        F = rng.normal(size=(times * n, n))
        largest = np.linalg.norm(F, 2)
        assert bool(largest <= 3.1 * math.sqrt(n)) is within
        assert largest == pytest.approx(math.sqrt(n) * (math.sqrt(times) + 1), rel=0.1)
        # What follows holds for both: the spectrum is spread out.
        assert largest <= 3 / math.sqrt(n) * np.linalg.norm(F)
    assert np.abs(F).max() > 1  # Theorem 1 is for entries within [-1, 1]


def test_erratum_after_equation_7_the_sum_of_squares_is_meant():
    """9 r n <= 9 r sigma_n^2/n is printed; 9 (r/n) ||F||_F^2 follows, from sigma_n^2 >= n."""
    n, r = 40, 2
    F = np.random.default_rng(0).normal(size=(4 * n, n))
    values = np.linalg.svd(F, compute_uv=False)
    assert 9 * r * n > 9 * r / n * values[-1] ** 2
    assert 9 * r * n <= 9 * r / n * (values**2).sum()
