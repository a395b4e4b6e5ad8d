"""The staircase mechanism: its law, its privacy loss, its samples, and intervals from it.

Probabilities come from the sampler's own cut points at 256 bits, as in `test_distributions`; ratios
of them are then compared with e^epsilon. Samples are compared with the formula by chi-square tests
at a level of 1e-9, with fixed seeds; incorrect samplers must be rejected at that level.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from exact_reference import exp_between
from p_values import chi_square
from test_distributions import BITS, ERROR, geometric_pmf, limits

import graphcuts_dp as gc
from graphcuts_dp import ParameterError
from graphcuts_dp.estimate.noises import best_capped_noise, noise_distribution
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.measure.entries import randomized_response
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy import noise
from graphcuts_dp.privacy.noise import sample_staircase, sample_uniform
from graphcuts_dp.privacy.noise_sums import NoiseSum, NoiseTerm
from graphcuts_dp.privacy.staircase import Staircase, StaircaseNoise, best_inner

LEVEL = 1e-9
NEAR = Fraction(1, 10**30)
SIZE = 200_000
SHAPES = [
    (Fraction(1), 5, 2),
    (Fraction(1, 2), 7, 7),
    (Fraction(3), 10, 1),
    (Fraction(2), 1, 1),
    (Fraction(8), 6, 1),
    (Fraction(1, 10), 4, 3),
]


def masses(epsilon, period, inner, reach):
    """Probabilities of -reach..reach by the formula, and what lies beyond."""
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-float(epsilon) * ((np.abs(k) + period - inner) // period))
    total = 2 * inner - 1 + 2 * period / math.expm1(float(epsilon))
    return k, weights / total


def exact_masses(epsilon, period, inner, periods):
    """P(|K| = j) for one sign, from the cut points of the sampler, up to 2^-240."""
    inside = Fraction(noise._staircase_sampler(epsilon, period, inner)._cdf(0, BITS), 1 << BITS)
    of_periods = [Fraction(each, 1 << BITS) for each in geometric_pmf(epsilon, periods)]
    found = [inside / (2 * inner - 1)] * inner
    for mass in of_periods:
        found += [(1 - inside) * mass / (2 * period)] * period
    return found


@pytest.mark.parametrize(("epsilon", "period", "inner"), SHAPES)
def test_masses_of_the_sampler_are_those_of_the_formula(epsilon, period, inner):
    low, high = exp_between(-epsilon)
    found = exact_masses(epsilon, period, inner, 4)
    for j, mass in enumerate(found):
        level = (j + period - inner) // period
        bounds = [q**level / (2 * inner - 1 + 2 * period * q / (1 - q)) for q in (low, high)]
        assert min(bounds) - ERROR <= mass <= max(bounds) + ERROR


@pytest.mark.parametrize(("epsilon", "period", "inner"), SHAPES)
def test_the_loss_of_a_change_is_what_is_stated_and_is_reached(epsilon, period, inner):
    made = Staircase(epsilon, period, inner)
    mass = exact_masses(epsilon, period, inner, 6)
    for change in (1, period, period + 1, 2 * period):
        times = -(-change // period)
        assert made.cost(change).pure == times * epsilon
        _, high = limits(times * epsilon)
        reach = len(mass) - 1 - change
        ratios = [mass[abs(k)] / mass[abs(k + change)] for k in range(-reach, reach + 1)]
        assert max(ratios) * (1 - NEAR) <= high  # masses down to e^-48 are known up to 2^-256
        assert max(ratios) > limits(Fraction(times) * epsilon * Fraction(99, 100))[1] or times > 1
        if times > 1:  # an incorrect variant: a period that is shorter than the change
            assert max(ratios) > limits(epsilon)[1] * (1 + NEAR)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 1024, 1025])
def test_uniform_integers(count):
    drawn = sample_uniform(count, SIZE, SeededEntropy(1))
    assert drawn.dtype == np.int64
    assert drawn.shape == (SIZE,)
    if count > 1:
        chances = np.full(count, 1 / count)
        assert chi_square(np.bincount(drawn, minlength=count), chances) > LEVEL
    else:
        assert not drawn.any()


def test_uniform_integers_of_many_bits_fill_their_range():
    drawn = sample_uniform(2**62, SIZE, SeededEntropy(1))
    assert drawn.min() < 2**46
    assert 2**62 - 2**46 < drawn.max() < 2**62
    third = 3 * 2**60  # three quarters of the words stay
    cells = sample_uniform(third, SIZE, SeededEntropy(2)) >> 60
    assert chi_square(np.bincount(cells, minlength=3), np.full(3, 1 / 3)) > LEVEL


def fit(drawn, epsilon, period, inner, reach=60):
    _, chances = masses(epsilon, period, inner, reach)
    drawn = np.clip(drawn, -reach - 1, reach + 1) + reach + 1
    beyond = max(0.0, (1 - chances.sum()) / 2)
    return chi_square(
        np.bincount(drawn, minlength=2 * reach + 3), np.concatenate([[beyond], chances, [beyond]])
    )


@pytest.mark.parametrize(("epsilon", "period", "inner"), SHAPES)
def test_samples_fit(epsilon, period, inner, monkeypatch):
    monkeypatch.setattr(noise, "_BLOCK", SIZE // 3)
    drawn = sample_staircase(epsilon, period, inner, SIZE, SeededEntropy(3))
    assert fit(drawn, epsilon, period, inner) > LEVEL


@pytest.mark.parametrize(
    "wrong",
    [
        lambda e, s, r, *rest: sample_staircase(e, s, r + 1, *rest),
        lambda e, s, r, *rest: sample_staircase(e, s - 1, r, *rest),
        lambda e, s, r, *rest: sample_staircase(e * Fraction(11, 10), s, r, *rest),
        lambda *given: np.abs(sample_staircase(*given)),
        lambda *given: np.where(
            np.abs(drawn := sample_staircase(*given)) < given[2],
            drawn,
            drawn + np.sign(drawn) * given[1],
        ),
    ],
    ids=["wider top", "shorter period", "larger epsilon", "one side", "one period too far"],
)
def test_incorrect_samplers_are_rejected(wrong):
    shape = Fraction(1), 5, 2
    assert fit(wrong(*shape, SIZE, SeededEntropy(3)), *shape) < LEVEL


def test_samples_that_may_not_fit_into_64_bits_are_big_integers():
    drawn = sample_staircase(Fraction(1, 1000), 2**60, 2**59, 2000, SeededEntropy(5))
    assert drawn.dtype == object
    scale = float(np.mean(np.abs(drawn.astype(np.float64)))) / 2.0**60
    assert abs(scale / 1000 - 1) < 8 / math.sqrt(2000)
    narrow = sample_staircase(Fraction(1, 1000), 2**20, 2**19, 2000, SeededEntropy(5))
    assert narrow.dtype == np.int64
    none = sample_staircase(Fraction(1), 5, 2, 0, SeededEntropy(5))
    assert none.shape == (0,)


@pytest.mark.parametrize(("epsilon", "period", "inner"), SHAPES)
def test_the_law_is_that_of_the_masses(epsilon, period, inner):
    law = Staircase(epsilon, period, inner).law(0.5)
    reach = math.ceil(60 * period / float(epsilon))
    k, chances = masses(epsilon, period, inner, reach)
    x = k * 0.5
    assert math.isclose(law.variance, chances @ x**2, rel_tol=1e-9)
    for part in (1e-6, 0.01, 0.1, 0.25):
        s = part * law.mgf_limit
        exact = math.log(chances @ np.exp(s * x))
        assert exact - 1e-14 <= law.log_mgf(s) <= exact + 1e-12
    u = np.array([0.0, 1e-9, 0.01, 0.3, 1.0, 3.0, 4 * math.pi, 4 * math.pi + 0.01, 40.0])
    exact = np.array([chances @ np.cos(each * x) for each in u])
    assert np.allclose(law.transform(u), exact, atol=1e-12)
    assert np.allclose(np.exp(law.log_modulus(u)), np.abs(exact), atol=1e-12)
    assert ((law.phase(u) == math.pi) == (exact < 0))[np.abs(exact) > 1e-9].all()


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(4), Fraction(12)])
@pytest.mark.parametrize("period", [1, 2, 9, 40])
def test_no_other_top_has_a_smaller_variance(epsilon, period):
    variances = [
        Staircase(epsilon, period, inner).law(1.0).variance for inner in range(1, period + 1)
    ]
    best = best_inner(epsilon, period)
    assert variances[best - 1] <= min(variances) * (1 + 1e-12)


@pytest.mark.thorough(cases=33)
@pytest.mark.parametrize("failure", [0.05, 1e-3, 1e-8])
@pytest.mark.parametrize("count", [1, 2, 6, 40, 300])
@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(2), Fraction(8)])
def test_radii_hold_for_the_exact_sum(epsilon, count, failure):
    """By convolution; a normal interval of the same level is not much shorter for many."""
    period = 6
    made = Staircase(epsilon, period, best_inner(epsilon, period))
    law = made.law(1.0)
    radius = NoiseSum.of([NoiseTerm(law, 1.0, count)]).radius(-math.log(failure))
    reach = math.ceil((60 * period) / float(epsilon))
    _, one = masses(epsilon, period, made.inner, reach)
    size = 1 << (2 * reach * count + 1).bit_length()
    chances = np.fft.irfft(np.fft.rfft(one, size) ** count, size)[: 2 * reach * count + 1]
    k = np.arange(-reach * count, reach * count + 1)
    beyond = chances[np.abs(k) > radius].sum()
    assert beyond <= failure + 1e-12
    # It is not much wider than need be.
    assert chances[np.abs(k) > radius / 2 - period].sum() > failure
    if count == 1:
        assert chances[np.abs(k) > made.radius(failure)].sum() <= failure + 1e-12


def test_radii_of_unequal_coefficients_hold():
    made = Staircase(Fraction(6), 4, 1)
    _, one = masses(made.epsilon, 4, 1, 80)
    half = np.zeros(2 * len(one) - 1)
    half[::2] = one  # in half steps: coefficient 1 beside coefficient 1/2
    sums = np.ones(1)
    for each in (*[half] * 5, *[one] * 12):
        sums = np.convolve(sums, each)
    x = (np.arange(len(sums)) - len(sums) // 2) / 2
    terms = [NoiseTerm(made.law(1.0), 1.0, 5), NoiseTerm(made.law(1.0), -0.5, 12)]
    for failure in (0.1, 1e-2, 1e-5):
        radius = NoiseSum.of(terms).radius(-math.log(failure))
        assert sums[np.abs(x) > radius].sum() <= failure + 1e-12


@pytest.mark.parametrize("cap", [0.3, 1.0, 10.0, 1e6, 1e-3])
@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 2.0, 8.0, 50.0])
def test_the_grid_is_fine_beside_the_noise(epsilon, cap):
    made = noise_distribution("staircase", epsilon=epsilon, max_weight=cap)
    exact = Fraction(cap) / Fraction(made.unit)
    assert made.sensitivity_steps - 1 < exact <= made.sensitivity_steps
    assert made.noise.period == made.sensitivity_steps
    assert made.cost.pure == made.epsilon == Fraction(epsilon)
    assert made.rounding == made.unit <= 1e-4 * made.standard_deviation
    # The best noise for real numbers, up to the grid: Geng, Viswanath 2014.
    b = math.exp(-epsilon)
    gammas = np.geomspace(1e-9, 1, 200_001)
    tops = gammas**3 + sum_of_squares(gammas, b)
    best = math.sqrt(float((tops / 3 / (gammas + b / -math.expm1(-epsilon))).min())) * cap
    assert math.isclose(made.standard_deviation, best, rel_tol=2e-3)


def sum_of_squares(gamma, b):
    """Three times the integral of x^2 beyond the top, which has height 1, up to gamma."""
    missing = 1 - b if b < 0.5 else -math.expm1(math.log(b))
    m = [b / missing, b**2 / missing**2, b**2 * (1 + b) / missing**3]  # of (m-1)^0, ^1, ^2
    # (a + 1)^3 - a^3 = 3 a^2 + 3 a + 1 with a = gamma + (m - 1).
    return m[0] * (3 * gamma**2 + 3 * gamma + 1) + m[1] * (6 * gamma + 3) + 3 * m[2]


@pytest.mark.parametrize("cap", [0.3, 1.0, 10.0, 1000.0])
def test_the_better_noise_of_capped_weights_is_chosen_from_public_numbers(cap):
    assert [best_capped_noise(e, cap) for e in (0.1, 1.0, 2.2)] == ["laplace"] * 3
    assert [best_capped_noise(e, cap) for e in (2.3, 3.0, 8.0, 50.0)] == ["staircase"] * 4
    for epsilon in (2.3, 8.0):
        laplace, staircase = (
            noise_distribution(name, epsilon=epsilon, max_weight=cap).standard_deviation
            for name in ("laplace", "staircase")
        )
        assert staircase <= 0.9 * laplace


def test_weights_without_a_cap_are_refused_in_one_line():
    with pytest.raises(ParameterError, match="needs a public maximum weight") as refused:
        noise_distribution("staircase", epsilon=1.0)
    assert "\n" not in str(refused.value)
    with pytest.raises(ParameterError, match="needs a public maximum weight"):
        gc.release_graph(
            gc.Graph([0], [1], [2.5], vertices=9, max_weight_change=1),
            epsilon=1.0,
            noise="staircase",
            fit="none",
            seed=1,
        )


N = 12
ROWS, COLUMNS = np.triu_indices(N, 1)
WEIGHTS = np.where((ROWS + 2 * COLUMNS) % 3 == 0, (ROWS * COLUMNS) % 11, 0).astype(float)
HELD = WEIGHTS > 0
GRAPH = gc.Graph(ROWS[HELD], COLUMNS[HELD], WEIGHTS[HELD], vertices=N, max_weight=10.0)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_entries_are_unbiased_and_intervals_hold(epsilon):
    """Of 2000 releases 5 % may miss; the tolerance is for a false alarm of 1e-9."""
    distribution = noise_distribution("staircase", epsilon=epsilon, max_weight=10.0)
    S = np.arange(N) < 4
    truth = GRAPH.dense()[np.ix_(S, ~S)].sum()
    pairs = int(S.sum() * (~S).sum())
    radius = distribution.radius(pairs, log_failures=-math.log(0.05))
    tight = NoiseSum.of([NoiseTerm(distribution.law, 1.0, pairs)]).radius(-math.log(0.05))
    runs = 2000
    errors = np.empty(runs)
    for seed in range(runs):
        noisy = randomized_response(GRAPH, distribution, SeededEntropy(seed))
        errors[seed] = noisy.cut_value(S, ~S) - truth
    deviation = distribution.standard_deviation * math.sqrt(pairs)
    assert abs(errors.mean()) < 6.2 * deviation / math.sqrt(runs)
    assert 0.8 < errors.std() / deviation < 1.2
    most = 0.05 * runs + 6.2 * math.sqrt(0.05 * 0.95 * runs)
    assert (np.abs(errors) > tight + pairs * distribution.rounding).sum() <= most
    assert (np.abs(errors) > radius).sum() <= most
    assert tight < 5 * deviation  # a few long steps, which Chernoff's bound has to allow for


def test_a_release_is_saved_and_read_with_its_answers(tmp_path):
    made = gc.release_graph(GRAPH, epsilon=8.0, noise="staircase", seed=1)
    made.save(tmp_path / "x.edges")
    again = gc.Release.load(tmp_path / "x.edges")
    assert again.noisy.distribution == made.noisy.distribution
    assert isinstance(again.noisy.distribution, StaircaseNoise)
    assert np.array_equal(again.noisy.steps, made.noisy.steps)
    cut = [0, 1, 2]
    one, other = (each.answer(cut) for each in (made, again))
    assert one == other
    assert one.interval[0] <= GRAPH.dense()[:3, 3:].sum() <= one.interval[1]
    fields, arrays = made.noisy.parts()
    same = NoisyMatrix.from_parts(fields, arrays, made.noisy.space)
    assert same.cost() == made.noisy.cost()
    assert same.epsilon == made.noisy.epsilon
