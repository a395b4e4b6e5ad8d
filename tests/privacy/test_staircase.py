"""The staircase mechanism: its law, its privacy loss, its samples, and intervals from it.

Noise is a whole number K with P(K = k) proportional to e^(-epsilon * level(k)). The *inner* part
|k| < inner has level 0; each further *period* of values has one level more.

Probabilities come from the sampler's own cut points at 256 bits, as in `test_distributions`; ratios
of them are then compared with e^epsilon. Samples are compared with the formula by chi-square tests
at a level of 1e-9, with fixed seeds; incorrect samplers must be rejected at that level.

Source: Geng, Viswanath 2014.
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

LEVEL = 1e-9  # of chi-square tests
ROUNDING = Fraction(1, 10**30)  # relative error of ratios of probabilities
SIZE = 200_000  # of samples
SHAPES = [  # epsilon, period, inner
    (Fraction(1), 5, 2),
    (Fraction(1, 2), 7, 7),
    (Fraction(3), 10, 1),
    (Fraction(2), 1, 1),
    (Fraction(8), 6, 1),
    (Fraction(1, 10), 4, 3),
]


def law_by_formula(epsilon, period, inner, reach):
    """Return the values -reach..reach and their probabilities, in floats."""
    k = np.arange(-reach, reach + 1)
    levels = (np.abs(k) + period - inner) // period
    total = 2 * inner - 1 + 2 * period / math.expm1(float(epsilon))
    return k, np.exp(-float(epsilon) * levels) / total


def law_of_sampler(epsilon, period, inner, periods):
    """Return P(K = k) for k = 0, 1, ... from the cut points of the sampler, up to 2^-240."""
    sampler = noise._staircase_sampler(epsilon, period, inner)
    inner_probability = Fraction(sampler._cdf(0, BITS), 1 << BITS)
    probabilities = [inner_probability / (2 * inner - 1)] * inner
    for numerator in geometric_pmf(epsilon, periods):
        period_probability = (1 - inner_probability) * Fraction(numerator, 1 << BITS)
        probabilities += [period_probability / (2 * period)] * period
    return probabilities


@pytest.mark.parametrize(("epsilon", "period", "inner"), SHAPES)
def test_masses_of_the_sampler_are_those_of_the_formula(epsilon, period, inner):
    ratio_bounds = exp_between(-epsilon)
    for k, probability in enumerate(law_of_sampler(epsilon, period, inner, periods=4)):
        level = (k + period - inner) // period
        bounds = [
            ratio**level / (2 * inner - 1 + 2 * period * ratio / (1 - ratio))
            for ratio in ratio_bounds
        ]
        assert min(bounds) - ERROR <= probability <= max(bounds) + ERROR


@pytest.mark.parametrize(("epsilon", "period", "inner"), SHAPES)
def test_the_loss_of_a_change_is_what_is_stated_and_is_reached(epsilon, period, inner):
    """A change costs epsilon for each period of it that has begun."""
    mechanism = Staircase(epsilon, period, inner)
    law = law_of_sampler(epsilon, period, inner, periods=6)
    for change in (1, period, period + 1, 2 * period):
        begun_periods = -(-change // period)
        stated_loss = begun_periods * epsilon
        assert mechanism.cost(change).pure == stated_loss
        reach = len(law) - 1 - change
        largest_ratio = max(law[abs(k)] / law[abs(k + change)] for k in range(-reach, reach + 1))
        # Probabilities down to e^-48 are known up to 2^-256.
        assert largest_ratio * (1 - ROUNDING) <= limits(stated_loss)[1]
        if begun_periods == 1:
            assert largest_ratio > limits(stated_loss * Fraction(99, 100))[1]
        else:  # so a period that is shorter than the change would not keep epsilon
            assert largest_ratio > limits(epsilon)[1] * (1 + ROUNDING)


@pytest.mark.parametrize("count", [1, 2, 3, 7, 1024, 1025])
def test_uniform_integers(count):
    samples = sample_uniform(count, SIZE, SeededEntropy(1))
    assert samples.dtype == np.int64
    assert samples.shape == (SIZE,)
    if count == 1:
        assert not samples.any()
    else:
        expected = np.full(count, 1 / count)
        assert chi_square(np.bincount(samples, minlength=count), expected) > LEVEL


def test_uniform_integers_below_2_to_the_62_fill_their_range():
    samples = sample_uniform(2**62, SIZE, SeededEntropy(1))
    assert samples.min() < 2**46
    assert 2**62 - 2**46 < samples.max() < 2**62


def test_uniform_integers_are_uniform_if_words_are_rejected():
    """A quarter of all 62-bit words is not below 3 * 2^60."""
    thirds = sample_uniform(3 * 2**60, SIZE, SeededEntropy(2)) >> 60
    assert chi_square(np.bincount(thirds, minlength=3), np.full(3, 1 / 3)) > LEVEL


def p_value_of_samples(samples, epsilon, period, inner):
    """Test whether samples have the law of a staircase; values beyond 60 are counted together."""
    reach = 60
    _, law = law_by_formula(epsilon, period, inner, reach)
    counts = np.bincount(
        np.clip(samples, -reach - 1, reach + 1) + reach + 1, minlength=2 * reach + 3
    )
    tail = max(0.0, (1 - law.sum()) / 2)
    return chi_square(counts, np.concatenate([[tail], law, [tail]]))


@pytest.mark.parametrize(("epsilon", "period", "inner"), SHAPES)
def test_samples_fit(epsilon, period, inner, monkeypatch):
    monkeypatch.setattr(noise, "_BLOCK", SIZE // 3)
    samples = sample_staircase(epsilon, period, inner, SIZE, SeededEntropy(3))
    assert p_value_of_samples(samples, epsilon, period, inner) > LEVEL


def samples_one_period_too_far(epsilon, period, inner, size, source):
    samples = sample_staircase(epsilon, period, inner, size, source)
    is_inner = np.abs(samples) < inner
    return np.where(is_inner, samples, samples + np.sign(samples) * period)


@pytest.mark.parametrize(
    "incorrect_sampler",
    [
        pytest.param(
            lambda epsilon, period, inner, *more: sample_staircase(
                epsilon, period, inner + 1, *more
            ),
            id="wider inner part",
        ),
        pytest.param(
            lambda epsilon, period, *more: sample_staircase(epsilon, period - 1, *more),
            id="shorter period",
        ),
        pytest.param(
            lambda epsilon, *more: sample_staircase(epsilon * Fraction(11, 10), *more),
            id="larger epsilon",
        ),
        pytest.param(lambda *arguments: np.abs(sample_staircase(*arguments)), id="one side"),
        pytest.param(samples_one_period_too_far, id="one period too far"),
    ],
)
def test_incorrect_samplers_are_rejected(incorrect_sampler):
    shape = Fraction(1), 5, 2
    samples = incorrect_sampler(*shape, SIZE, SeededEntropy(3))
    assert p_value_of_samples(samples, *shape) < LEVEL


def test_samples_that_may_not_fit_into_64_bits_are_big_integers():
    """Their mean absolute value is about period/epsilon."""
    samples = sample_staircase(Fraction(1, 1000), 2**60, 2**59, 2000, SeededEntropy(5))
    assert samples.dtype == object
    mean_in_periods = float(np.mean(np.abs(samples.astype(np.float64)))) / 2.0**60
    assert abs(mean_in_periods / 1000 - 1) < 8 / math.sqrt(2000)


def test_samples_that_fit_into_64_bits_are_numpy_integers():
    samples = sample_staircase(Fraction(1, 1000), 2**20, 2**19, 2000, SeededEntropy(5))
    assert samples.dtype == np.int64


def test_no_samples_are_an_empty_array():
    assert sample_staircase(Fraction(1), 5, 2, 0, SeededEntropy(5)).shape == (0,)


@pytest.mark.parametrize(("epsilon", "period", "inner"), SHAPES)
def test_the_law_is_that_of_the_masses(epsilon, period, inner):
    """Variance, moment generating function and characteristic function, for a unit of 1/2."""
    unit = 0.5
    law = Staircase(epsilon, period, inner).law(unit)
    reach = math.ceil(60 * period / float(epsilon))
    k, probabilities = law_by_formula(epsilon, period, inner, reach)
    x = k * unit
    assert math.isclose(law.variance, probabilities @ x**2, rel_tol=1e-9)
    for share_of_limit in (1e-6, 0.01, 0.1, 0.25):
        s = share_of_limit * law.mgf_limit
        expected = math.log(probabilities @ np.exp(s * x))
        assert expected - 1e-14 <= law.log_mgf(s) <= expected + 1e-12
    frequencies = np.array([0.0, 1e-9, 0.01, 0.3, 1.0, 3.0, 4 * math.pi, 4 * math.pi + 0.01, 40.0])
    expected = np.array([probabilities @ np.cos(frequency * x) for frequency in frequencies])
    assert np.allclose(law.transform(frequencies), expected, atol=1e-12)
    assert np.allclose(np.exp(law.log_modulus(frequencies)), np.abs(expected), atol=1e-12)
    is_negative = law.phase(frequencies) == math.pi
    assert (is_negative == (expected < 0))[np.abs(expected) > 1e-9].all()


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1), Fraction(4), Fraction(12)])
@pytest.mark.parametrize("period", [1, 2, 9, 40])
def test_no_other_inner_part_has_a_smaller_variance(epsilon, period):
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
    """And half of them would not hold. The law of the sum is computed by convolution."""
    period = 6
    mechanism = Staircase(epsilon, period, best_inner(epsilon, period))
    noise_sum = NoiseSum.of([NoiseTerm(mechanism.law(1.0), 1.0, count)])
    radius = noise_sum.radius(-math.log(failure))
    reach = math.ceil((60 * period) / float(epsilon))
    _, law = law_by_formula(epsilon, period, mechanism.inner, reach)
    length = 2 * reach * count + 1
    fft_size = 1 << length.bit_length()
    law_of_sum = np.fft.irfft(np.fft.rfft(law, fft_size) ** count, fft_size)[:length]
    distance = np.abs(np.arange(-reach * count, reach * count + 1))
    assert law_of_sum[distance > radius].sum() <= failure + 1e-12
    assert law_of_sum[distance > radius / 2 - period].sum() > failure
    if count == 1:
        assert law_of_sum[distance > mechanism.radius(failure)].sum() <= failure + 1e-12


def test_radii_of_unequal_coefficients_hold():
    """Five coefficients of 1 and twelve of -1/2, on a grid of halves."""
    mechanism = Staircase(Fraction(6), 4, 1)
    _, law_of_half = law_by_formula(mechanism.epsilon, 4, 1, 80)
    law_of_one = np.zeros(2 * len(law_of_half) - 1)
    law_of_one[::2] = law_of_half
    law_of_sum = np.ones(1)
    for law in (*[law_of_one] * 5, *[law_of_half] * 12):
        law_of_sum = np.convolve(law_of_sum, law)
    x = (np.arange(len(law_of_sum)) - len(law_of_sum) // 2) / 2
    law = mechanism.law(1.0)
    noise_sum = NoiseSum.of([NoiseTerm(law, 1.0, 5), NoiseTerm(law, -0.5, 12)])
    for failure in (0.1, 1e-2, 1e-5):
        radius = noise_sum.radius(-math.log(failure))
        assert law_of_sum[np.abs(x) > radius].sum() <= failure + 1e-12


MAX_WEIGHTS_AND_EPSILONS = [
    (epsilon, max_weight)
    for epsilon in (1e-6, 0.5, 2.0, 8.0, 50.0)
    for max_weight in (0.3, 1.0, 10.0, 1e6, 1e-3)
]


@pytest.mark.parametrize(("epsilon", "max_weight"), MAX_WEIGHTS_AND_EPSILONS)
def test_the_grid_is_fine_beside_the_noise(epsilon, max_weight):
    distribution = noise_distribution("staircase", epsilon=epsilon, max_weight=max_weight)
    exact_sensitivity = Fraction(max_weight) / Fraction(distribution.unit)
    steps = distribution.sensitivity_steps
    assert steps - 1 < exact_sensitivity <= steps
    assert distribution.noise.period == steps
    assert distribution.cost.pure == distribution.epsilon == Fraction(epsilon)
    assert distribution.rounding == distribution.unit <= 1e-4 * distribution.standard_deviation


def least_deviation(epsilon):
    """Return the standard deviation of the best staircase on real numbers with sensitivity 1.

    The density is 1 on [-gamma, gamma] and b^m between gamma + m - 1 and gamma + m, b = e^-epsilon.
    The integral of x^2 over one such interval is (a + 1)^3 - a^3 = 3 a^2 + 3 a + 1, divided by 3,
    with a = gamma + m - 1; below it is summed over m = 1, 2, ... by powers of m - 1.
    Source: Geng, Viswanath 2014, here by a search over gamma.
    """
    b, gamma = math.exp(-epsilon), np.geomspace(1e-9, 1, 200_001)
    one_minus_b = -math.expm1(-epsilon)
    sum_of_ones = b / one_minus_b
    sum_of_m = b**2 / one_minus_b**2
    sum_of_squares = b**2 * (1 + b) / one_minus_b**3
    beyond = sum_of_ones * (3 * gamma**2 + 3 * gamma + 1) + sum_of_m * (6 * gamma + 3)
    beyond += 3 * sum_of_squares
    variances = (gamma**3 + beyond) / 3 / (gamma + sum_of_ones)
    return math.sqrt(float(variances.min()))


@pytest.mark.parametrize(("epsilon", "max_weight"), MAX_WEIGHTS_AND_EPSILONS)
def test_the_deviation_is_the_least_of_all_staircases_up_to_the_grid(epsilon, max_weight):
    distribution = noise_distribution("staircase", epsilon=epsilon, max_weight=max_weight)
    expected = least_deviation(epsilon) * max_weight
    assert math.isclose(distribution.standard_deviation, expected, rel_tol=2e-3)


@pytest.mark.parametrize("max_weight", [0.3, 1.0, 10.0, 1000.0])
def test_the_better_noise_of_weights_with_a_maximum_depends_on_epsilon_alone(max_weight):
    small, large = (0.1, 1.0, 2.2), (2.3, 3.0, 8.0, 50.0)
    assert {best_capped_noise(epsilon, max_weight) for epsilon in small} == {"laplace"}
    assert {best_capped_noise(epsilon, max_weight) for epsilon in large} == {"staircase"}


@pytest.mark.parametrize("max_weight", [0.3, 1.0, 10.0, 1000.0])
@pytest.mark.parametrize("epsilon", [2.3, 8.0])
def test_the_staircase_has_a_smaller_deviation_at_large_epsilon(epsilon, max_weight):
    laplace, staircase = (
        noise_distribution(name, epsilon=epsilon, max_weight=max_weight).standard_deviation
        for name in ("laplace", "staircase")
    )
    assert staircase <= 0.9 * laplace


def test_weights_without_a_maximum_are_refused_in_one_line():
    with pytest.raises(ParameterError, match="needs a public maximum weight") as error:
        noise_distribution("staircase", epsilon=1.0)
    assert "\n" not in str(error.value)
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
# Whole weights up to 10 on a third of all pairs.
WEIGHTS = np.where((ROWS + 2 * COLUMNS) % 3 == 0, (ROWS * COLUMNS) % 11, 0).astype(float)
IS_EDGE = WEIGHTS > 0
GRAPH = gc.Graph(ROWS[IS_EDGE], COLUMNS[IS_EDGE], WEIGHTS[IS_EDGE], vertices=N, max_weight=10.0)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_noisy_cuts_are_unbiased_and_intervals_hold(epsilon):
    """Of 2000 intervals 5 % may miss; limits allow for 6.2 deviations, a false alarm of 1e-9."""
    runs, log_failure = 2000, -math.log(0.05)
    distribution = noise_distribution("staircase", epsilon=epsilon, max_weight=10.0)
    S = np.arange(N) < 4
    truth = GRAPH.dense()[np.ix_(S, ~S)].sum()
    pairs = int(S.sum() * (~S).sum())

    errors = np.array(
        [
            randomized_response(GRAPH, distribution, SeededEntropy(seed)).cut_value(S, ~S) - truth
            for seed in range(runs)
        ]
    )

    deviation = distribution.standard_deviation * math.sqrt(pairs)
    assert abs(errors.mean()) < 6.2 * deviation / math.sqrt(runs)
    assert 0.8 < errors.std() / deviation < 1.2
    radius = distribution.radius(pairs, log_failures=log_failure)
    noise_sum = NoiseSum.of([NoiseTerm(distribution.law, 1.0, pairs)])
    radius_of_noise = noise_sum.radius(log_failure)
    most_misses = 0.05 * runs + 6.2 * math.sqrt(0.05 * 0.95 * runs)
    rounding = pairs * distribution.rounding
    assert (np.abs(errors) > radius_of_noise + rounding).sum() <= most_misses
    assert (np.abs(errors) > radius).sum() <= most_misses
    assert radius_of_noise < 5 * deviation  # not 2: Chernoff's bound allows for a few large errors


@pytest.fixture(scope="module")
def release():
    return gc.release_graph(GRAPH, epsilon=8.0, noise="staircase", seed=1)


def test_a_release_is_loaded_with_its_answers(release, tmp_path):
    release.save(tmp_path / "x.edges")
    loaded = gc.Release.load(tmp_path / "x.edges")
    assert isinstance(loaded.noisy.distribution, StaircaseNoise)
    assert loaded.noisy.distribution == release.noisy.distribution
    assert np.array_equal(loaded.noisy.steps, release.noisy.steps)
    answer = release.answer([0, 1, 2])
    assert loaded.answer([0, 1, 2]) == answer
    low, high = answer.interval
    assert low <= GRAPH.dense()[:3, 3:].sum() <= high


def test_a_noisy_matrix_is_restored_with_its_cost(release):
    fields, arrays = release.noisy.parts()
    restored = NoisyMatrix.from_parts(fields, arrays, release.noisy.space)
    assert restored.cost() == release.noisy.cost()
    assert restored.epsilon == release.noisy.epsilon
