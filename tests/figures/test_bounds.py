"""Guaranteed errors: the circles solved, the measured table, and the papers' slips."""

import math

import numpy as np
import pytest

from graphcuts_dp import ParameterError
from graphcuts_dp.learn.bounds import (
    dr14_online,
    frieze_kannan_updates,
    gru12_online,
    jt12_online,
    multiplicative_weights_updates,
    tight_online,
)
from graphcuts_dp.privacy.composition import zcdp_rho
from graphcuts_dp.privacy.noise_scales import sparse_vector_scales
from scripts.figures import rates
from scripts.figures.bounds import (
    dr14_offline,
    gru12_offline,
    median_updates,
    mirror_descent_updates,
    printed_update_bound,
)

GUARANTEE = {"epsilon": 1.0, "delta": 1e-6, "beta": 0.05}
ONLINE = [gru12_online, jt12_online, dr14_online, tight_online]

# n, m, k, then errors in thousands: tight MW, Gaussian per query, binary RR, answer 0.
TABLE = [
    (1_000, 2.5e5, 1e4, 9.8, 1.9, 2.2, 125),
    (5_000, 5e4, 1e6, 7.9, 23, 13, 25),
    (10_000, 1e5, 1e6, 11.7, 23, 26, 50),
    (100_000, 1e6, 1e8, 45, 263, 298, 500),
]


def inverse_square(constant):
    """B = constant / alpha^2."""
    return lambda alpha: constant / alpha**2


# The table of errors at epsilon = 1, delta = 1e-6, beta = 0.05


@pytest.mark.parametrize(("n", "m", "k", "tight"), [row[:4] for row in TABLE])
def test_the_tight_column_is_reproduced(n, m, k, tight):
    bound = tight_online(multiplicative_weights_updates(n, m), queries=k, **GUARANTEE)
    assert bound.error / 1e3 == pytest.approx(tight, rel=0.02)


@pytest.mark.parametrize(("n", "m", "k"), [row[:3] for row in TABLE])
@pytest.mark.parametrize("construction", [frieze_kannan_updates, multiplicative_weights_updates])
def test_gru12_and_jt12_exceed_every_cut_at_these_sizes(n, m, k, construction):
    """The reason for the tight mode, which stays under a fifth of the edges on these graphs."""
    printed, tight = construction(n, m, rule="as printed"), multiplicative_weights_updates(n, m)
    for mode in (gru12_online, jt12_online):
        assert mode(printed, queries=k, **GUARANTEE).error > m
    assert tight_online(tight, queries=k, **GUARANTEE).error < m / 5
    assert dr14_online(printed, queries=k, **GUARANTEE).error > m / 4


def test_dr14_is_not_trivial_on_a_dense_graph():
    """Frieze-Kannan, a thousand vertices, half of all pairs: under m/3, where 0 misses m/2."""
    printed = frieze_kannan_updates(1000, 2.5e5, rule="as printed")
    assert dr14_online(printed, queries=1e4, **GUARANTEE).error < 2.5e5 / 3


# Every mode solves its own circle


@pytest.mark.parametrize("constant", [1e4, 1e9, 1e15])
def test_gru12_the_error_is_five_thirds_of_alpha(constant):
    """Theorem 4.9 states and proves 5T/4; the least T has alpha = 3T/4."""
    B = inverse_square(constant)
    bound = gru12_online(B, queries=1e5, **GUARANTEE)
    sigma = 1000 * math.sqrt(B(bound.alpha)) * math.log(4e6)
    assert bound.threshold == pytest.approx(4 * sigma * math.log(2e5 / 0.05))
    assert bound.alpha == pytest.approx(3 * bound.threshold / 4)
    assert bound.error == pytest.approx(5 * bound.alpha / 3)
    assert bound.updates == math.floor(B(bound.alpha) + 1e-6)


def test_erratum_gru12_equation_3_needs_ln_2k_over_beta():
    """With ln(k/beta), 3T/4 is more than alpha: the update sequence's premise fails."""
    B, k, beta = inverse_square(1e12), 50.0, 0.05
    solved = gru12_online(B, queries=k, **GUARANTEE)
    printed = math.sqrt(3000 * 1e6 * math.log(4e6) * math.log(k / beta))
    sigma = 1000 * math.sqrt(B(printed)) * math.log(4e6)
    assert 0.75 * 4 * sigma * math.log(2 * k / beta) > printed * 1.05
    exact = math.sqrt(3000 * 1e6 * math.log(4e6) * math.log(2 * k / beta))
    assert solved.alpha == pytest.approx(exact)


@pytest.mark.parametrize("order", [2.0, 3.0, 4.0])
def test_erratum_jt12_b_and_t_are_circular(order):
    """T = 400 gamma sqrt(B(T/2)) ln(4/delta) ln(2k/beta)/epsilon, solved in closed form."""
    zeta, psi, gamma, k = 30.0, 500.0, 0.5, 1000.0
    B = mirror_descent_updates(zeta, psi, order=order)
    bound = jt12_online(B, queries=k, gamma=gamma, **GUARANTEE)
    cost = 400 * gamma * math.log(4e6) * math.log(2 * k / 0.05)
    T = cost ** (2 / (order + 2)) * (order * (2 * zeta) ** order * psi) ** (1 / (order + 2))
    assert bound.threshold == pytest.approx(T)
    assert bound.alpha == pytest.approx(T / 2)
    assert bound.error == pytest.approx(2 * T)
    assert B(bound.alpha) == pytest.approx((T / cost) ** 2)


@pytest.mark.parametrize("order", [2.0, 3.0, 4.0])
def test_erratum_jt12_theorem_3_has_exponent_2_over_s_plus_2_throughout(order):
    """The solved T grows as `rates.theorem_3` in gamma, 1/epsilon, ln(4/delta), zeta and Psi."""

    def solved(zeta=30.0, psi=500.0, gamma=1.0, **changed):
        B = mirror_descent_updates(zeta, psi, order=order)
        return jt12_online(B, queries=1000, gamma=gamma, **(GUARANTEE | changed)).threshold

    base, power = solved(), 2 / (order + 2)
    assert solved(gamma=16) / base == pytest.approx(16**power)
    assert solved(epsilon=1 / 16) / base == pytest.approx(16**power)
    ratio = math.log(4e12) / math.log(4e6)
    assert solved(delta=1e-12) / base == pytest.approx(ratio**power)
    assert solved(zeta=60.0) / base == pytest.approx(2 ** (order / (order + 2)))
    assert solved(psi=1000.0) / base == pytest.approx(2 ** (1 / (order + 2)))
    if order != 2:  # the printed exponent of gamma and 1/epsilon
        assert solved(gamma=16) / base != pytest.approx(16 ** (order / (order + 2)), rel=0.05)
    shared = {"log_queries": 9.0, "order": order}
    assert rates.theorem_3(30, 500, gamma=16, **shared) / rates.theorem_3(
        30, 500, **shared
    ) == pytest.approx(16**power)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_dr14_online_satisfies_its_theorem(delta):
    B = inverse_square(1e9)
    bound = dr14_online(B, queries=500, epsilon=0.7, delta=delta, beta=0.1)
    c = B(bound.alpha)
    logs = math.log(1000) + math.log(4 * c / 0.1)
    if delta == 0:
        assert bound.alpha == pytest.approx(9 * c * logs / 0.7)
    else:
        factor = (math.sqrt(512) + 1) * math.sqrt(c * math.log(2 / delta))
        assert bound.alpha == pytest.approx(factor * logs / 0.7)
    assert (bound.threshold, bound.error) == pytest.approx((2 * bound.alpha, 3 * bound.alpha))


def test_erratum_dr14_algorithm_11_asks_2k_queries():
    """The printed threshold for delta > 0 has ln k, and so is below twice the proven accuracy."""
    B, k = inverse_square(1e9), 500
    bound = dr14_online(B, queries=k, **GUARANTEE)
    c = B(bound.alpha)
    logs = math.log(k) + math.log(4 * c / 0.05)
    printed = (2 + 32 * math.sqrt(2)) * math.sqrt(c * math.log(2e6)) * logs
    assert 2 * (1 + math.sqrt(512)) == pytest.approx(2 + 32 * math.sqrt(2))
    assert printed < bound.threshold
    assert bound.threshold / printed == pytest.approx(1 + math.log(2) / logs)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_erratum_dr14_theorem_5_7_has_32_and_64(delta):
    """Theorem 5.6's second term, 16 ln(|Q|/gamma)/eps0, with Theorem 5.3's eps0 put in."""
    B = inverse_square(1e15)
    bound = dr14_offline(B, queries=2.0**40, epsilon=1.0, delta=delta, beta=0.05)
    rounds = B(bound.alpha / 2)
    if delta == 0:
        epsilon_0 = 1 / (2 * rounds)
    else:
        epsilon_0 = 1 / (4 * math.sqrt(rounds * math.log(1 / delta)))
    logs = 40 * math.log(2) - math.log(0.05 / (2 * rounds))
    assert bound.alpha == pytest.approx(16 * logs / epsilon_0)
    # The distinguisher's guarantee F = 2 ln(|Q|/gamma)/eps0 is then alpha/8, as Theorem 5.4 asks.
    assert 2 * logs / epsilon_0 == pytest.approx(bound.alpha / 8)
    printed = (8 * rounds if delta == 0 else 16 * math.sqrt(rounds * math.log(1 / delta))) * logs
    assert bound.alpha == pytest.approx(4 * printed)


def test_erratum_gru12_algorithm_3_reaches_three_halves_of_alpha():
    """A gap just under alpha passes the stopping test, and the distinguisher adds alpha/2."""
    B, F = inverse_square(1e9), lambda epsilon: 40 / epsilon
    bound = gru12_offline(B, distinguisher=F, **GUARANTEE)
    rounds = B(bound.alpha / 2)
    share = 1 / (4 * math.sqrt(rounds * math.log(1e6)))
    noise = math.log(2 * rounds / 0.05) / share
    assert max(4 * noise, 2 * F(share)) == pytest.approx(bound.alpha)
    gap = bound.alpha * (1 - 1e-6)
    assert abs(gap - bound.alpha / 4) < bound.threshold  # stops
    assert gap + bound.alpha / 2 == pytest.approx(bound.error)
    # An update has a gap of 3/4 - 1/4 of alpha: B(alpha/2) rounds, four times B(alpha).
    assert bound.updates == math.floor(4 * B(bound.alpha))


# The tight mode


@pytest.mark.parametrize("constant", [1e3, 1e7, 1e12])
@pytest.mark.parametrize("queries", [10, 1e6])
def test_tight_is_the_best_over_every_cap(constant, queries):
    B = inverse_square(constant)
    bound = tight_online(B, queries=queries, **GUARANTEE)
    assert B(bound.alpha) < bound.updates + 1
    rho = zcdp_rho(epsilon=1.0, delta=1e-6)
    for c in np.unique(np.geomspace(1, 1e6, 60).astype(int)):
        alpha = math.sqrt(constant / (c + 1))
        scales = sparse_vector_scales(rho=rho, updates=c, queries=queries, beta=0.05)
        assert bound.error <= (alpha + scales.slack) * (1 + 1e-6)
    margin = bound.threshold - bound.alpha
    assert 0 < margin < bound.error - bound.alpha


def test_tight_takes_a_bound_with_jumps():
    B = median_updates(50, 200, 1000)
    bound = tight_online(B, queries=1000, **GUARANTEE)
    assert B(bound.alpha) < bound.updates + 1
    assert B(bound.alpha * (1 - 1e-9)) >= bound.updates * (1 - 1e-9)


@pytest.mark.parametrize("mode", ONLINE)
def test_errors_fall_with_more_privacy_budget_and_rise_with_more_queries(mode):
    B = inverse_square(1e10)

    def error(queries=1e4, **changed):
        return mode(B, queries=queries, **(GUARANTEE | changed)).error

    base = error()
    assert error(epsilon=2.0) < base < error(epsilon=0.5)
    assert error(delta=1e-3) < base < error(delta=1e-9)
    assert error(queries=100) < base < error(queries=1e6)
    assert error(beta=0.2) < base < error(beta=0.01)


# B from sizes


def test_update_bounds_have_the_stated_constants():
    n, m, alpha = 40, 100, 7.0
    X = 780
    fk, mw = frieze_kannan_updates, multiplicative_weights_updates
    assert fk(n, m, rule="as printed")(alpha) == pytest.approx(m * X / alpha**2)
    assert fk(n, m)(alpha) == pytest.approx(m * (1 - m / X) * X / alpha**2)
    assert fk(n, m, disjoint=True)(alpha) == pytest.approx(m * (1 - m / X) * 400 / alpha**2)
    assert mw(n, m, rule="as printed")(alpha) == pytest.approx(4 * m**2 * math.log(X) / alpha**2)
    assert mw(n, m)(alpha) == pytest.approx(m**2 * math.log(X / m) / (2 * alpha**2))
    assert mw(n, m)(10 * m) == pytest.approx(math.log(X / m) / 200)
    tight = mirror_descent_updates(2.0, 5.0)(alpha)
    assert tight == pytest.approx(printed_update_bound(alpha, 2.0, 2.0, 5.0))
    printed = mirror_descent_updates(2.0, 5.0, rule="as printed")(alpha)
    assert printed == pytest.approx(16 / 7 * tight)


def test_erratum_gru12_the_median_needs_log2():
    n, m, k, alpha = 40, 100, 10**4, 20.0
    printed = m**2 * math.log(780) * math.log(k) / alpha**2
    found = median_updates(n, m, k, rule="as printed")(alpha)
    assert found == pytest.approx(printed / math.log(2), rel=0.01)
    assert median_updates(n, m, k)(alpha) < found


# Refusals


OUT_OF_RANGE = [("queries", 0.5), *(("epsilon", wrong) for wrong in (0.0, math.inf))]
OUT_OF_RANGE += [("delta", 1.0), ("delta", -1e-6), ("beta", 0.0), ("beta", 1.0)]


@pytest.mark.parametrize(("name", "wrong"), OUT_OF_RANGE)
def test_numbers_out_of_range_are_refused(name, wrong):
    with pytest.raises(ParameterError):
        dr14_offline(inverse_square(1e6), **({"queries": 10} | GUARANTEE | {name: wrong}))


def test_other_refusals():
    for mode in (gru12_online, jt12_online, dr14_online):
        with pytest.raises(ParameterError, match="no tolerance"):
            mode(lambda alpha: 1e300 * (1 + 1 / alpha), queries=10, **GUARANTEE)
