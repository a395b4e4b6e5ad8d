"""The papers' rates: they follow from the mechanisms' equations, once their slips are mended."""

import math

import numpy as np
import pytest

from graphcuts_dp import ParameterError
from graphcuts_dp.learn.bounds import (
    frieze_kannan_updates,
    gru12_online,
    multiplicative_weights_updates,
)
from scripts.figures import rates

GUARANTEE = {"epsilon": 1.0, "delta": 1e-6, "beta": 0.05}


def test_rates_follow_the_solved_circles():
    """Table 1's general column: alpha of GRU12's mode, up to its constant."""
    ratios = {"mw": set(), "fk": set()}
    for n, m, k in ((100, 300, 1e3), (3000, 9e4, 1e9)):
        X = n * (n - 1) / 2
        logs = math.log(2 * k / 0.05)
        mw = gru12_online(
            multiplicative_weights_updates(n, m, rule="as printed"), queries=k, **GUARANTEE
        )
        rate = rates.table_1_multiplicative_weights(
            m, log_queries=logs, log_universe=math.log(X), epsilon=1.0
        )
        ratios["mw"].add(round(mw.alpha / rate, 6))
        fk = gru12_online(frieze_kannan_updates(n, m, rule="as printed"), queries=k, **GUARANTEE)
        rate = rates.table_1_frieze_kannan(m, log_queries=logs, universe=X, epsilon=1.0)
        ratios["fk"].add(round(fk.alpha / rate, 6))
    constant = math.sqrt(3000 * math.log(4e6))
    assert ratios == {"mw": {round(math.sqrt(2) * constant, 6)}, "fk": {round(constant, 6)}}


def test_the_last_column_of_table_1_is_the_second_for_all_cuts():
    """k = 2^(2V), X < V^2/2: equal up to the constants that the table hides."""
    for V in (100, 1000):
        m = 20 * V
        last = rates.table_1_all_cuts(V, m, epsilon=0.5)
        shared = {"log_queries": 2 * V * math.log(2), "epsilon": 0.5}
        X = V * (V - 1) / 2
        logs = {"log_universe": math.log(X)}
        general = {
            "median": rates.table_1_median(m, **shared, **logs),
            "multiplicative_weights": rates.table_1_multiplicative_weights(m, **shared, **logs),
            "frieze_kannan": rates.table_1_frieze_kannan(m, universe=X, **shared),
        }
        for name, rate in general.items():
            assert 0.9 < rate / getattr(last, name) < 1.6
    dense = rates.table_1_all_cuts(1000, 4e5, epsilon=1.0)
    sparse = rates.table_1_all_cuts(1000, 4e3, epsilon=1.0)
    assert dense.frieze_kannan < dense.multiplicative_weights
    assert sparse.frieze_kannan > sparse.multiplicative_weights


def test_jt12_equations_2_to_5_on_the_imbalanced_family():
    """Putting |E|, zeta and the norms of section 4.1 into (2), (3), (4) gives (5), less logs."""
    V, S = 10.0**8, 10.0**3
    edges = V ** (7 / 4)
    found = rates.imbalanced_rates(V, S)
    log = math.log(V)
    assert rates.equation_2(edges, int(S), int(V), int(V)) == pytest.approx(
        found.multiplicative_weights * math.sqrt(2 * log)
    )
    fk = rates.dual_pair_rate(math.sqrt(S * V), math.sqrt(edges), S * log)
    assert fk == pytest.approx(found.frieze_kannan * math.sqrt(log))
    group = rates.dual_pair_rate(math.sqrt(S), V ** (5 / 4), S * log)
    assert group == pytest.approx(found.group_norm * math.sqrt(log))
    assert group < min(fk, rates.equation_2(edges, int(S), int(V), int(V)))


def test_erratum_jt12_the_power_law_rate_beats_both_for_exponents_above_1():
    V, S, b = 10.0**6, 10.0**2, 1.25
    found = rates.power_law_rates(V, S, b)
    norm = V ** (5 / 2 - b)
    assert rates.dual_pair_rate(math.sqrt(S), norm, S) == pytest.approx(found.group_norm)
    assert found.group_norm < found.frieze_kannan
    assert found.group_norm < found.multiplicative_weights
    # The printed V^(3/4-b/2) would guarantee sqrt(V) times less.
    assert found.group_norm / (V ** (3 / 4 - b / 2) * S**0.75) == pytest.approx(math.sqrt(V))


def test_jt12_equation_7_is_6_on_a_matrix_of_rank_r():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3)) @ rng.normal(size=(3, 9))
    trace, frobenius = np.linalg.norm(X, "nuc"), np.linalg.norm(X)
    six = rates.dual_pair_rate(2.0, trace, 5.0)
    assert six <= rates.dual_pair_rate(2.0, math.sqrt(3) * frobenius, 5.0)


def test_erratum_gru12_lemma_6_1():
    """2|Q| exp(-alpha^2 eps^2/(6X)) is beta at the corrected bound, 2 beta at the printed one."""
    X, log_q, epsilon, beta = 5000.0, 200.0, 0.5, 0.05
    error = rates.gru12_lemma_6_1(X, log_queries=log_q, epsilon=epsilon, beta=beta)

    def failure(alpha):
        return math.exp(math.log(2) + log_q - (alpha * epsilon) ** 2 / (6 * X))

    assert failure(error) == pytest.approx(beta)
    printed = math.sqrt(6 * X * (log_q - math.log(beta))) / epsilon
    assert failure(printed) == pytest.approx(2 * beta)
    with pytest.raises(ParameterError, match="too many"):
        rates.gru12_lemma_6_1(100, log_queries=200.0, epsilon=1.0, beta=0.05)


@pytest.mark.parametrize("V", [100, 10_000])
def test_erratum_gru12_corollary_7_4_constant(V):
    """alpha = F(epsilon/(4 sqrt(B ln(1/delta)))) with Theorem A.4's B and ln X for 2 ln V."""
    m, T, delta = 5 * V, 3.0, 1e-6

    def solved(B):
        """alpha = 4 T sqrt(B ln(1/delta)) for B = constant/alpha^2."""
        return math.sqrt(4 * T * math.sqrt(B(1.0) * math.log(1 / delta)))

    shared = {"distinguisher": T, "epsilon": 1.0, "delta": delta}
    X = V * (V - 1) // 2
    right = rates.corollary_7_4_multiplicative_weights(V, m, **shared)
    needed = solved(multiplicative_weights_updates(V, m, rule="as printed"))
    assert needed == pytest.approx(right * (math.log(X) / (2 * math.log(V))) ** 0.25)
    printed = right / math.sqrt(2)
    assert printed == pytest.approx(solved(lambda alpha: 2 * m**2 * math.log(V) / alpha**2))
    assert printed < needed < right
    second = rates.corollary_7_4_frieze_kannan(V, m, **shared)
    assert second == pytest.approx(solved(lambda alpha: m * V**2 / alpha**2))


def test_erratum_gru12_claim_4_3():
    """The loss when the noise falls outside E1 and no update is made: at most 2e/sigma, sigma >= 2.

    The densities of both parts of E2 are integrated; the worst neighbour moves the thresholds by 1.
    The printed chain has ln(2(1 + e/(sigma-1))), which is more than ln 2 however large sigma is.
    """
    for sigma in (2.0, 3.0, 10.0, 100.0):
        T = 4 * sigma * math.log(2 * 50 / 0.05)

        def part(low, high, sigma=sigma):
            """The integral of exp(-|u|/sigma)."""
            both = [sigma * math.copysign(1 - math.exp(-abs(u) / sigma), u) for u in (low, high)]
            return both[1] - both[0]

        worst = 0.0
        for R in np.linspace(-1.5 * T, 1.5 * T, 2001):
            first = part(-R - T, -R - T + sigma) + part(-R + T - sigma, -R + T)
            for shrink in (1.0, -1.0):
                second = part(-R - T + shrink, -R - T + sigma) + part(
                    -R + T - sigma, -R + T - shrink
                )
                worst = max(worst, abs(math.log(first / second)))
        assert 1 / sigma < worst <= 2 * math.e / sigma
        assert math.log(2 * (1 + math.e / (sigma - 1))) > math.log(2)


def test_erratum_gru12_claim_4_7_forgets_the_11():
    """Azuma with losses up to c epsilon_0: 1000 survives 11 and JT12's 100 survives 2e.

    |H| <= 16 B L rounds lose at most c epsilon_0 each and 2 (c epsilon_0)^2 on average, with
    epsilon_0 = epsilon/(K sqrt(B) L) and L = ln(4/delta): B cancels.
    """

    def failure(K, c, L, epsilon=1.0):
        """Of a total loss above epsilon, given |H|, by Azuma's 2 exp(-gap^2/(2 n c^2))."""
        unit = c * epsilon / (K * L)
        gap = epsilon - 16 * L * 2 * unit**2
        return 2 * math.exp(-(gap**2) / (2 * 16 * L * unit**2)) if gap > 0 else 1.0

    for delta in (1e-2, 1e-6, 1e-12):
        L = math.log(4 / delta)
        assert failure(1000, 11, L) <= delta / 2
        assert failure(100, 2 * math.e, L) <= delta / 2
        assert failure(20, 2 * math.e, L) > delta / 2
