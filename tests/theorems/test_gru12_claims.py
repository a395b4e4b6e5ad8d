"""Single steps of GRU12 computed from the paper's text alone: claims, errata and rates."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy

from scripts.figures.bounds import pure_cut_lower_bound, sized_cut_radius


def laplace_mass(low, high):
    """The probability that Lap(1) lies between two numbers."""
    return float(np.diff(scipy.stats.laplace.cdf([low, high]))[0])


@pytest.mark.parametrize("threshold", [4.0, 20.0])
def test_claim_4_5_an_update_has_a_chance_of_an_eighth(threshold):
    """In units of sigma: of the noise outside E1, the share that lies in E3, for every residual."""
    shares = []
    for residual in np.linspace(-2 * threshold, 2 * threshold, 801):
        low, high = -threshold - residual, threshold - residual
        update = laplace_mass(-math.inf, low - 1) + laplace_mass(high + 1, math.inf)
        possible = 1 - laplace_mass(low + 1, high - 1)
        shares.append(update / possible)
    assert min(shares) == pytest.approx(math.exp(-2), rel=1e-6)
    assert min(shares) > 1 / 8


def test_erratum_claim_4_7_has_121_for_191_and_8b_for_8():
    """With eps_0 = eps/(1000 sqrt(B) ln(4/delta)), B cancels; and B updates take 8B rounds."""
    assert Fraction(1936, 1000**2) == Fraction(121, 62500) != Fraction(191, 62500)
    # Each round outside E1 is an update with probability 1/8 at least: B of them end the run.
    for updates in (1, 5, 40):
        mean_rounds = updates + float(scipy.stats.nbinom(updates, 1 / 8).mean())
        assert mean_rounds == pytest.approx(8 * updates)


def test_erratum_azumas_inequality_needs_the_2():
    """A walk with steps of +-1 exceeds the printed tail, and not the one with 2 n eta^2."""
    n, distance = 100, 30
    above = sum(math.comb(n, k) for k in range(n + 1) if abs(2 * k - n) > distance) / 2**n
    assert above > 2 * math.exp(-(distance**2) / n)
    assert above <= 2 * math.exp(-(distance**2) / (2 * n))


def test_erratum_theorem_5_1_has_the_other_case():
    """If Q(D^t) is below the answer, Q(D^t - D) is at most -alpha: the printed sign is wrong."""
    alpha, truth = 1.0, 5.0
    for hypothesis, error in itertools.product((2.0, 3.9, 6.1, 8.0), (-0.99, 0.0, 0.99)):
        answer = truth + error
        assert abs(truth - hypothesis) >= alpha > abs(error)  # Definition 3.1, properties 2 and 3
        assert (hypothesis - truth <= -alpha) == (hypothesis < answer)
        assert (hypothesis - truth >= alpha) == (hypothesis > answer)


def test_errors_of_all_cuts_follow_their_sizes_as_section_6_1_says():
    """The radius is of order sqrt(n |S||T|), and all cuts of a small graph keep it."""
    for n in (30, 300, 3000):
        sizes = sorted({1, 2, n // 10, n // 2, n})
        for s, t in itertools.product(sizes, repeat=2):
            radius = sized_cut_radius(n, s, t, epsilon=1.0, beta=0.05)
            assert radius <= 12 * math.sqrt(n * s * t)
    n, broken = 7, 0
    sides = ((np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1).astype(float)
    count = sides.sum(axis=1).astype(int)
    radius = np.array(
        [[sized_cut_radius(n, s, t, epsilon=1.0, beta=0.05 / n**2) for t in count] for s in count]
    )
    rng = np.random.default_rng(0)
    for _ in range(40):
        errors = np.abs(sides @ rng.laplace(size=(n, n)) @ sides.T)
        broken += bool((errors > radius).any())
        assert (errors > radius / 9).any()  # the radius is not much too large
    assert broken <= 6  # of 40, each with a chance of at most .05


@pytest.mark.parametrize("epsilon", [0.05, 0.2])
def test_the_lower_bound_of_section_6_grows_as_n(epsilon):
    small, large = (pure_cut_lower_bound(n, epsilon=epsilon, beta=0.05) for n in (200, 800))
    assert small > 0
    assert large / small == pytest.approx(4, rel=0.2)
    # A mechanism that is private and has less error on such graphs would break it: noise has more.
    rng = np.random.default_rng(1)
    edges = 100  # pairs of 200 vertices
    worst = [np.abs(rng.laplace(scale=1 / epsilon, size=edges)).sum() / 2 for _ in range(50)]
    assert min(worst) > small


def test_graphs_of_the_packing_are_never_confused():
    """By brute force: graphs within 2 alpha on all sums differ in at most 4 alpha pairs."""
    m, alpha = 6, 1
    words = list(itertools.product((0, 1), repeat=m))
    subsets = np.array(words)
    for first, second in itertools.combinations(words, 2):
        difference = np.array(first) - np.array(second)
        if np.abs(subsets @ difference).max() <= 2 * alpha:
            assert np.abs(difference).sum() <= 4 * alpha


def test_erratum_corollary_5_2_gamma_grows_with_log_1_over_delta():
    """alpha = sqrt(B(alpha)) ln(1/delta) ln(k/beta)/epsilon: the same power for alpha and gamma."""

    def solved(delta):
        # (n_2 |X|)^(1/4) and ln(k/beta)/epsilon are 1.
        return scipy.optimize.brentq(lambda a: a - math.log(1 / delta) / a, 1e-9, 1e9)

    assert solved(1e-8) / solved(1e-2) == pytest.approx(2)
    assert solved(1e-8) == pytest.approx(math.sqrt(math.log(1e8)))


def test_erratum_section_6_1_a_cut_of_sets_that_meet_has_fewer_numbers():
    """S = T = V: n(n - 1)/2 numbers, each twice, where |S||T| = n^2 is printed."""
    n = 6
    numbers = np.zeros((n, n), dtype=int)
    numbers[np.triu_indices(n, 1)] = np.arange(1, n * (n - 1) // 2 + 1)
    numbers += numbers.T
    for s, t in (((0, 1), (2, 3, 4)), ((0, 1, 2), (1, 2, 3)), (range(n), range(n))):
        found = numbers[np.ix_(s, t)]
        count = len(set(found[found > 0].tolist()))
        disjoint = not set(s) & set(t)
        assert (count == len(s) * len(t)) == disjoint
        assert count <= len(s) * len(t)


def test_erratum_section_7_rank_one_queries_are_as_hard_as_cuts():
    """Over u and v in [0, 1]^n, u A v is largest at 0 and 1: the cut norm, not a singular value."""
    rng = np.random.default_rng(2)
    n = 5
    sides = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(float)
    for _ in range(20):
        matrix = rng.integers(-1, 2, (n, n)).astype(float)
        matrix += matrix.T
        cut_norm = np.abs(sides @ matrix @ sides.T).max()
        left, right = rng.uniform(size=(2, 2000, n))
        assert np.abs(np.einsum("ij,jk,ik->i", left, matrix, right)).max() <= cut_norm + 1e-12
    # The best singular pair may have no part in it: here its vectors have sums of 0.
    matrix = np.array([[1.0, -1.0], [-1.0, 1.0]]) + 0.1
    u, sizes, v = np.linalg.svd(matrix)
    assert abs(u[:, 0].sum()) < 1e-9 > abs(v[0].sum())
    assert sizes[0] == pytest.approx(2)
    two = sides[:4, :2]
    assert np.abs(two @ matrix @ two.T).max() == pytest.approx(1.1)


def test_erratum_theorem_7_2_needs_a_delta_below_0_6():
    """The last line of its proof, with epsilon_0 put in, for every epsilon < 1."""

    def lost(epsilon, delta, rounds):
        log = math.log(1 / delta)
        each = epsilon / (4 * math.sqrt(rounds * log))
        return math.sqrt(4 * rounds * log) * each + 2 * rounds * each * math.expm1(each)

    for epsilon, rounds in itertools.product((0.01, 0.5, 0.999), (1, 10, 10**6)):
        for delta in (0.6, 0.1, 1e-9):
            assert lost(epsilon, delta, rounds) <= epsilon
    assert lost(0.9, 0.95, 100) > 0.9


def test_erratum_theorem_7_3_a_gap_below_the_threshold_is_below_alpha_only():
    """|A - Q(D^t-1)| < 3/4 and |A - Q(D)| <= 1/4, in units of alpha: 0.99 is above 1/2."""
    truth, answer, hypothesis = 0.99, 0.74, 0.0
    assert abs(answer - hypothesis) < 3 / 4
    assert abs(answer - truth) <= 1 / 4
    assert 1 / 2 < truth - hypothesis < 1


def test_erratum_corollary_7_4_needs_2_f_and_another_beta():
    """Theorem 7.3's maximum has 2F, and a first term that the corollary's beta lets pass it."""
    n, m, epsilon, delta, distinguisher = 10_000, 100_000, 0.1, 1e-6, 5.0
    log = math.log(1 / delta)
    printed = 2 * epsilon**-0.5 * (m * log) ** 0.25 * math.sqrt(n * distinguisher)
    updates = m * n**2 / printed**2  # Theorem 5.1 with |X| <= n^2
    shortfall = distinguisher * 4 * math.sqrt(updates * log) / epsilon
    assert printed == pytest.approx(shortfall)
    assert printed < 2 * shortfall

    def first(beta):
        return 16 * math.sqrt(updates * log) * math.log(2 * updates / beta) / epsilon

    assert first(math.exp(-epsilon * distinguisher)) > 2 * shortfall
    assert first(2 * updates * math.exp(-distinguisher / 2)) == pytest.approx(2 * shortfall)


def test_erratum_section_7_an_improvement_needs_m_of_o_n_squared():
    """|V| m^(1/4) sqrt(T/|V|) with T = |V|, against |V|^(3/2): the ratio is (m/n^2)^(1/4)."""
    n = 10_000.0

    def ratio(m):
        return m**0.25 * math.sqrt(n * n) / n**1.5

    assert ratio(n**2 / 2) == pytest.approx(0.5**0.25)  # a constant: no improvement
    assert ratio(n**1.5) == pytest.approx(n ** (-1 / 8))


def test_erratum_claim_a_3_answers_must_be_scaled_to_n():
    """The query that is 1 everywhere counts elements: n of D, and |D'| of a smaller database."""
    n, alpha, k = 50, 20.0, 3
    size = math.ceil(n**2 * math.log(k) / alpha**2)
    assert abs(size - n) > alpha
    assert abs(size * (n / size) - n) <= alpha
    # Scaled, it holds from k = 3 on by Hoeffding's inequality; with k = 1 the size is 0.
    for queries in range(3, 50):
        assert 2 * queries * math.exp(-2 * math.log(queries)) < 1
    assert n**2 * math.log(1) / alpha**2 == 0


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.5, 1.0])
def test_theorem_2_4_a_loss_within_epsilon_is_at_most_twice_its_square_on_average(epsilon):
    """The mean loss of laws within epsilon is largest for two outcomes: epsilon tanh(epsilon/2).

    P = (e^epsilon, 1)/(1 + e^epsilon) and Q = P reversed reach it; random pairs stay below.
    """
    extreme = np.array([math.exp(epsilon), 1.0]) / (1 + math.exp(epsilon))
    mean_loss = float(extreme @ np.log(extreme / extreme[::-1]))
    assert math.isclose(mean_loss, epsilon * math.tanh(epsilon / 2))
    assert mean_loss <= 2 * epsilon**2
    random = np.random.default_rng(0)
    for _ in range(200):
        first = random.dirichlet(np.ones(4))
        weights = first * np.exp(random.uniform(-epsilon / 2, epsilon / 2, 4))
        second = weights / weights.sum()
        losses = np.log(first / second)
        assert np.abs(losses).max() <= epsilon
        assert float(first @ losses) <= mean_loss
