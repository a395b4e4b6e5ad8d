"""Intervals of sums of noises and of single answers, against exact laws."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from graphcuts_dp.privacy.count_noise import discrete_gaussian_radius, discrete_laplace_radius
from graphcuts_dp.privacy.distributions import BinaryResponse, response_radius
from graphcuts_dp.privacy.laws import FlippedBit, TwoSidedGeometric
from graphcuts_dp.privacy.noise_sums import NoiseSum, NoiseTerm, _Spectrum, equal_bits_radius

EPSILONS = (0.2, 1.0, 3.0, 9.0)
FAILURES = (0.5, 0.05, 1e-3, 1e-6)


def bits(epsilon):
    return FlippedBit(Fraction(epsilon))


def error_of_bits(law, count, ones):
    """Values and probabilities of the error of `count` bits of which so many are ones."""
    kept = scipy.stats.binom.pmf(np.arange(ones + 1), ones, 1 - law.flip)
    flipped = scipy.stats.binom.pmf(np.arange(count - ones + 1), count - ones, law.flip)
    mean = ones * (1 - law.flip) + (count - ones) * law.flip
    return (np.arange(count + 1) - mean) * law.unit, np.convolve(kept, flipped)


def single(law):
    """Values and probabilities of one noise, as far as probabilities pass 1e-18."""
    if isinstance(law, FlippedBit):
        return error_of_bits(law, 1, 0)
    k = np.arange(-math.ceil(42 / law.rate), math.ceil(42 / law.rate) + 1)
    return k * law.unit, np.tanh(law.rate / 2) * np.exp(-law.rate * np.abs(k))


LAWS = [bits(0.3), bits(1), bits(5), TwoSidedGeometric(0.7, 1.0), TwoSidedGeometric(2.5, 0.125)]


@pytest.mark.parametrize("law", LAWS)
def test_the_transforms_of_a_law_are_those_of_its_probabilities(law):
    values, chances = single(law)
    assert chances.sum() == pytest.approx(1)
    assert chances @ values == pytest.approx(0, abs=1e-12)
    assert law.variance == pytest.approx(chances @ values**2)
    assert np.abs(values).max() <= law.max_noise * (1 + 1e-12)
    for s in (0.01, 0.2 * law.mgf_limit, 0.5 * law.mgf_limit):
        if s * np.abs(values).max() < 600:
            moments = [math.log(chances @ np.exp(z * values)) for z in (s, -s)]
            assert law.log_mgf(s) == pytest.approx(max(moments), rel=1e-6, abs=1e-12)
            assert law.log_mgf(s) >= max(moments) - 1e-9
    u = np.linspace(0.01, 20, 200)
    transform = np.exp(1j * np.outer(u, values)) @ chances
    assert np.exp(law.log_modulus(u)) == pytest.approx(np.abs(transform), abs=1e-9)
    for sign in (1, -1):
        turned = np.exp(1j * sign * law.phase(u))
        assert np.isclose(turned * np.abs(transform), transform, atol=1e-9).sum() >= (
            0 if isinstance(law, FlippedBit) else 200
        )
    best = [np.abs(np.exp(1j * s * law.phase(u)) * np.abs(transform) - transform) for s in (1, -1)]
    assert np.minimum(*best).max() < 1e-9


@pytest.mark.thorough(cases=6)
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("count", [1, 2, 5, 17, 60, 150, 400])
def test_every_bound_holds_for_every_number_of_ones(count, epsilon):
    """The whole claim by brute force: all laws that the private bits can give."""
    law = bits(epsilon)
    noise = NoiseSum.of([NoiseTerm(law, 1.0, count)])
    laws = [error_of_bits(law, count, ones) for ones in range(count + 1)]
    for failure in FAILURES:
        logs = -math.log(failure)
        bounds = [noise.radius(logs), noise.exponential_radius(logs), noise.inverted_radius(logs)]
        bounds.append(equal_bits_radius(law, count, logs))
        bounds.append(noise.reach)
        for values, chances in laws:
            for bound in bounds:
                assert chances[np.abs(values) > bound].sum() <= failure * (1 + 1e-9)
        if failure <= 0.05 and count <= 300:
            assert bounds[0] <= 1.06 * min(bounds)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("count", [1, 5, 17, 60])
def test_equal_bits_get_the_least_radius_there_is(count, epsilon):
    law = bits(epsilon)
    for failure in FAILURES[:3]:
        radius = equal_bits_radius(law, count, -math.log(failure)) * (1 - 1e-6)
        worst = max(
            chances[np.abs(values) > radius].sum()
            for values, chances in (error_of_bits(law, count, ones) for ones in range(count + 1))
        )
        assert worst > failure or radius == 0


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("coefficients", "law"),
    [
        ((1.0, 0.3), TwoSidedGeometric(0.15, 1.0)),
        ((0.8, -0.1), TwoSidedGeometric(1.5, 1.0)),
        ((0.5, 0.25), TwoSidedGeometric(0.05, 0.5)),
        ((1.0, 0.01), TwoSidedGeometric(0.9, 2.0)),
    ],
)
@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_mixed_sums_hold_whatever_the_bits_are(coefficients, law, epsilon):
    """Two kinds of bits and a geometric noise; all numbers of ones of both kinds, exactly."""
    bit, counts, k = bits(epsilon), (9, 14), 0.9
    noise = NoiseSum.of(
        [*(NoiseTerm(bit, c, n) for c, n in zip(coefficients, counts, strict=True)),
         NoiseTerm(law, k, 1)]
    )  # fmt: skip
    steps, chances = single(law)
    beyond = np.append(np.cumsum(chances[::-1])[::-1], 0.0)  # P(noise >= each value)
    for failure in FAILURES[:3]:
        logs = -math.log(failure)
        bounds = [noise.radius(logs), noise.exponential_radius(logs), noise.inverted_radius(logs)]
        for ones in itertools.product(range(counts[0] + 1), range(counts[1] + 1)):
            parts = [error_of_bits(bit, n, o) for n, o in zip(counts, ones, strict=True)]
            sums = np.add.outer(*(c * v for c, (v, _) in zip(coefficients, parts, strict=True)))
            weights = np.multiply.outer(parts[0][1], parts[1][1])
            for bound in bounds:
                if math.isfinite(bound):
                    above = beyond[np.searchsorted(steps, (bound - sums) / k, side="right")]
                    below = beyond[np.searchsorted(steps, (bound + sums) / k, side="right")]
                    assert (weights * (above + below)).sum() <= failure * (1 + 1e-6)
    assert noise.variance == pytest.approx(
        sum(c**2 * n * bit.variance for c, n in zip(coefficients, counts, strict=True))
        + k**2 * law.variance
    )


@pytest.mark.parametrize(("count", "epsilon", "t"), [(40, 3.0, 2.2), (12, 1.0, 2.5), (300, 0.5, 2)])
def test_the_inversion_is_prawitz_inequality_with_the_worst_phase(count, epsilon, t):
    """The bound of the docstring, by another way: from probabilities, on a fine even grid."""
    law = bits(epsilon)
    noise = NoiseSum.of([NoiseTerm(law, 1.0, count)])
    spectrum = _Spectrum(noise, t)
    values, chances = single(law)
    s = (np.arange(100_000) + 0.5) / 100_000
    u = s * spectrum._kernel.cutoff / noise.deviation
    one = np.exp(1j * np.outer(u, values)) @ chances
    phase = np.minimum(count * np.abs(np.unwrap(np.angle(one))), np.pi)
    a = u * t * noise.deviation
    kernel = ((1 - s) / np.tan(np.pi * s) + 1 / np.pi) * np.sin(a) - (1 - s) * np.cos(a)
    worst = kernel * np.abs(one) ** count * np.where(kernel > 0, np.cos(phase), 1.0)
    lost = (np.maximum(kernel, 0) * np.abs(one) ** count * (1 - np.cos(phase))).mean()
    assert spectrum.failure(t) == pytest.approx(1 - 2 * worst.mean(), abs=1e-6 + 3e-3 * lost)
    assert lost > 1e-6  # there is something to lose


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize(("count", "widest"), [(1000, 2.02), (5000, 1.99), (10**5, 1.98)])
def test_intervals_are_nearly_those_of_a_normal_law(count, widest, epsilon):
    """1.96 would be the normal law's; Chernoff's bound has 2.72 to 2.81."""
    noise = NoiseSum.of([NoiseTerm(bits(epsilon), 0.7, count)])
    radius = noise.radius(math.log(20)) / noise.deviation
    assert 1.9599 < radius < widest
    before = BinaryResponse(Fraction(epsilon), 1.0).radius(count, log_failures=math.log(20))
    assert radius * noise.deviation < 0.75 * 0.7 * before


def test_a_single_heavy_tail_gets_its_own_quantile():
    """Where one Laplace noise is nearly all there is, a normal quantile would be wrong."""
    law = TwoSidedGeometric(0.01, 1.0)
    noise = NoiseSum.of([NoiseTerm(law, 1.0, 1), NoiseTerm(bits(1), 1.0, 50)])
    for failure in (0.05, 1e-3):
        exact = math.log(1 / failure) / 0.01
        assert exact <= noise.radius(-math.log(failure)) < 1.05 * exact
    assert noise.radius(math.log(1000)) > 1.3 * 3.29 * noise.deviation


@pytest.mark.parametrize("noise", [
    NoiseSum.of([NoiseTerm(bits(1), 1.0, 3)]),
    NoiseSum.of([NoiseTerm(bits(1), 1.0, 113)]),
    NoiseSum.of([NoiseTerm(bits(2), 1.0, 400), NoiseTerm(TwoSidedGeometric(0.2, 1.0), 0.5, 3)]),
])  # fmt: skip
def test_a_radius_grows_with_what_is_asked_and_never_ends(noise):
    """Failure probabilities below what floats can hold, too: there were none once."""
    logs = [1e-3, 0.1, 0.7, 2.0, 3.0, 7.0, 15.0, 16.5, 20.0, 28.0, 30.0, 60.0, 300.0, 800.0, 5000.0]
    radii = [noise.radius(log) for log in logs]
    assert all(later >= 0.98 * radius for radius, later in itertools.pairwise(radii))
    assert radii[-1] >= radii[4]
    assert all(radius <= noise.reach for radius in radii)
    assert all(math.isfinite(radius) for radius in radii)


def test_terms_that_are_nothing_are_left_out():
    law = bits(1)
    assert NoiseSum.of([]).radius(3.0) == 0
    assert NoiseSum.of([NoiseTerm(law, 0.0, 5), NoiseTerm(law, 1.0, 0)]).radius(3.0) == 0
    there = NoiseSum.of([NoiseTerm(law, -2.0, 5), NoiseTerm(law, 0.0, 5)])
    assert there == NoiseSum.of([NoiseTerm(law, 2.0, 5)])
    assert there.deviation == pytest.approx(2 * math.sqrt(5 * law.variance))


@pytest.mark.parametrize("scale", [0.7, 3.0, 55.5])
@pytest.mark.parametrize("failure", [0.3, 1e-3, 1e-9])
def test_discrete_gaussian(scale, failure):
    radius = discrete_gaussian_radius(scale, failure=failure)
    x = np.arange(-int(20 * scale) - 5, int(20 * scale) + 6)
    weights = np.exp(-((x / scale) ** 2) / 2)
    weights /= weights.sum()
    assert weights[np.abs(x) > radius].sum() <= failure
    assert weights[np.abs(x) > radius - 2].sum() > failure  # by Proposition 25, one may be lost


@pytest.mark.parametrize("rate", [2.0, 0.3, 0.001])
@pytest.mark.parametrize("failure", [0.9, 0.05, 1e-8])
def test_discrete_laplace_is_the_least(rate, failure):
    radius = discrete_laplace_radius(rate, failure=failure)

    def beyond(t):
        return 1.0 if t < 0 else 2 * math.exp(-rate * (t + 1)) / (1 + math.exp(-rate))

    assert beyond(radius) <= failure * (1 + 1e-9)
    assert beyond(radius - 1) > failure


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("failure", [0.2, 1e-3, 1e-9])
def test_binary_response_has_the_radius_of_its_bits(epsilon, failure):
    """Which holds whatever the bits are, see above, and is shorter than Chernoff's."""
    distribution = BinaryResponse(Fraction(epsilon), 1.0)
    assert response_radius(distribution, 0, failure=failure) == 0
    for pairs in (1, 12, 700):
        radius = response_radius(distribution, pairs, failure=failure)
        sums = NoiseSum.of([NoiseTerm(bits(epsilon), 1.0, pairs)])
        assert radius == sums.exponential_radius(-math.log(failure))
        assert radius <= distribution.radius(pairs, log_failures=-math.log(failure)) * (1 + 1e-6)
