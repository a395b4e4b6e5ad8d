"""Noise of entries: scales, spread, evidence; and the exact ratio of probabilities.

The probabilities come from the samplers' own cut points at 256 bits, so each is known up to
2^-250; the ratio of two is then enclosed from both sides, and compared with e^epsilon. Both
mechanisms are tight: the ratio is e^epsilon, not merely at most.
"""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from exact_reference import exp_between
from hypothesis import given
from hypothesis import strategies as st

from graphcuts_dp import ParameterError
from graphcuts_dp.estimate.noises import NOISES, noise_distribution
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.privacy import noise
from graphcuts_dp.privacy.distributions import BinaryResponse, LaplaceNoise

EPSILONS = [0.01, 0.1, 0.5, 1.0, 3.0, 20.0]
CAPS = [None, 0.3, 1.0, 2.0, 7.3, 1000.0, 1e-3]
NO_CAPS = [0.0, -1.0, math.nan, math.inf]
NOWHERE = np.empty(0), np.empty(0, dtype=np.int64)


@pytest.mark.thorough(cases=11)
@pytest.mark.parametrize("cap", CAPS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_laplace_releases_integers_on_a_power_of_two_grid(epsilon, cap):
    distribution = noise_distribution("laplace", epsilon=epsilon, max_weight=cap)
    scale = (cap or 1.0) / epsilon
    # The sensitivity is at most one step too large, and a scale has 2^20 steps at least.
    real = math.sqrt(2) * scale
    assert 1 - 1e-9 <= distribution.standard_deviation / real <= 1 + 2**-20 / epsilon
    assert math.frexp(distribution.unit)[0] == 0.5
    # Without a cap a step is at least 2^-22, so that the largest weight, 2^40, fits into 64 bits.
    least = 2.0**-22 if cap is None else 0.0
    assert distribution.unit <= max(least, min(0.5, scale * 2.0**-20))
    assert distribution.unit >= least
    weights = np.array([cap or 1.0, (cap or 1.0) / 3])
    noisy = distribution.respond(100, weights, np.array([3, 50]), SeededEntropy(1))
    assert noisy.dtype == np.int64
    estimates = (noisy - distribution.offset) * distribution.unit
    assert (np.remainder(estimates, distribution.unit) == 0).all()


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("name", "cap"), [
    *(("laplace", cap) for cap in CAPS), *(("discrete-laplace", cap) for cap in (None, 1.0, 12.0)),
])  # fmt: skip
def test_sensitivity_is_the_cap_in_steps_rounded_up(name, cap, epsilon):
    made = noise_distribution(name, epsilon=epsilon, max_weight=cap)
    exact = Fraction(cap or 1) / Fraction(made.unit)
    assert made.sensitivity_steps - 1 < exact <= made.sensitivity_steps
    assert made.rate * made.sensitivity_steps == made.epsilon == Fraction(epsilon)


@pytest.mark.parametrize("name", NOISES)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_estimates_of_bits_are_right_on_average(name, epsilon):
    made = noise_distribution(name, epsilon=epsilon, max_weight=1.0)
    assert (made.name, made.bits) == (name, name == "binary")
    if made.bits:
        kept = 1 / (1 + math.exp(-epsilon))
        low, high = made.estimate(np.array([0, 1], dtype=np.uint8))
        assert kept * high + (1 - kept) * low == pytest.approx(1)
        assert (1 - kept) * high + kept * low == pytest.approx(0, abs=1e-9 * made.unit)


@pytest.mark.parametrize("cap", [0.3, 0.1, 7.3, 1e-3, 123.456])
def test_sensitivity_of_a_cap_off_the_grid_is_rounded_up(cap):
    coarse = LaplaceNoise(Fraction(1), cap, -2)
    steps = coarse.sensitivity_steps
    assert steps - 1 < Fraction(cap) * 4 <= steps
    assert coarse.rate * steps == 1  # so e^(rate |difference|) never exceeds e^epsilon


@given(
    a=st.floats(0, 1e6),
    b=st.floats(0, 1e6),
    log2_step=st.integers(-12, 0),
    cap=st.floats(1e-3, 50),
)
def test_rounding_down_never_stretches_a_difference(a, b, log2_step, cap):
    """floor(a + s) <= floor(a) + ceil(s), on the very numbers that the distribution computes."""
    low, high = min(a, b), max(a, b)
    distribution = LaplaceNoise(Fraction(1), cap, log2_step)
    if Fraction(high) - Fraction(low) > Fraction(cap):
        high = low
    steps = np.floor(np.array([low, high]) / distribution.unit)
    assert 0 <= steps[1] - steps[0] <= distribution.sensitivity_steps


def log_probability(distribution, y, entry):
    """Of a released integer, up to a constant that does not depend on the entry."""
    if distribution.name == "binary":
        q = distribution.offset
        return math.log(1 - q if y == entry else q)
    noise = y - math.floor(Fraction(entry) / Fraction(distribution.unit))
    if distribution.name == "staircase":
        return -float(distribution.epsilon) * int(
            distribution.noise.stairs_below_top(np.array(noise))
        )
    return -float(distribution.rate) * abs(noise)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("cap", [None, 1.0, 3.0])
@pytest.mark.parametrize("name", NOISES)
def test_evidence_is_the_log_likelihood_ratio(name, cap, epsilon):
    if name == "binary":
        cap = None
    if name == "staircase":
        cap = cap or 2.0
    distribution = noise_distribution(name, epsilon=epsilon, max_weight=cap)
    reach = round((cap or 1.0) / distribution.unit)
    steps = [0, 1] if name == "binary" else [-3 * reach, -1, 0, 1, reach // 3, reach, 5 * reach]
    found = distribution.evidence(np.array(steps))
    expected = [
        log_probability(distribution, y, cap or 1.0) - log_probability(distribution, y, 0)
        for y in steps
    ]
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-9 * epsilon)
    assert math.isclose(found.max(), epsilon, rel_tol=1e-9)
    assert math.isclose(found.min(), -epsilon, rel_tol=1e-9)
    assert distribution.evidence(np.array(steps), np.float32).dtype == np.float32


@pytest.mark.parametrize("name", NOISES)
def test_noise_does_not_depend_on_where_the_edges_are(name):
    distribution = noise_distribution(name, epsilon=1.0, max_weight=1.0)
    plain = distribution.respond(50, *NOWHERE, SeededEntropy(4))
    noisy = distribution.respond(50, np.ones(2), np.array([7, 49]), SeededEntropy(4))
    changed = np.flatnonzero(plain != noisy)
    assert changed.tolist() == [7, 49]
    if name == "binary":
        assert (plain[changed] + noisy[changed] == 1).all()
    else:
        assert ((noisy - plain)[changed] * distribution.unit == 1).all()


@pytest.mark.parametrize(
    ("name", "weight", "steps"),
    [
        ("discrete-laplace", 0.5, 0),
        ("discrete-laplace", 1.999, 1),
        ("discrete-laplace", 1e300, 2**62),
        ("laplace", 2.0**40, 2**60),
        ("laplace", 1e308, 2**62),
    ],
)
def test_no_weight_is_refused_for_a_refusal_would_tell_of_it(name, weight, steps):
    made = noise_distribution(name, epsilon=1.0)
    none, noisy = (
        made.respond(1, np.array([each]), np.array([0]), SeededEntropy(0)) for each in (0, weight)
    )
    assert (noisy - none).tolist() == [steps]


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"name": "gauss"}, "unknown noise"),
        ({"name": "binary", "max_weight": 2.0}, "without weights"),
        *(({"name": "laplace", "max_weight": cap}, "max_weight") for cap in NO_CAPS),
        ({"name": "discrete-laplace", "max_weight": 2.5}, "whole-number"),
        ({"name": "discrete-laplace", "max_weight": 1e20}, "too large"),
        ({"name": "laplace", "epsilon": 0}, "epsilon"),
    ],
)
def test_parameters_out_of_range(arguments, match):
    with pytest.raises(ParameterError, match=match):
        noise_distribution(**{"epsilon": 1.0, **arguments})


def test_the_largest_noise_fits_into_64_bits():
    distribution = noise_distribution("discrete-laplace", epsilon=1.0, max_weight=2.0**44)
    noisy = distribution.respond(20_000, *NOWHERE, SeededEntropy(3)).astype(float)
    # Wrapped noise would be uniform on 64 bits. 8 sigma of the mean of |noise|/scale, which is 1.
    assert abs(np.abs(noisy).mean() / 2.0**44 - 1) < 8 / math.sqrt(20_000)


@pytest.mark.parametrize("name", NOISES)
def test_radius_grows_with_pairs_and_confidence(name):
    distribution = noise_distribution(name, epsilon=1.0, max_weight=1.0)
    assert distribution.radius(0, log_failures=3.0) == 0
    by_pairs = [distribution.radius(n, log_failures=3.0) for n in (1, 10, 1000, 10**6)]
    by_confidence = [
        distribution.radius(100, log_failures=f) for f in (1e-3, 1.0, 3.0, 100.0, 2000.0)
    ]
    assert by_pairs == sorted(by_pairs)
    assert by_confidence == sorted(by_confidence)
    # Large sums are nearly normal: the radius is near sqrt(2 N ln(2/p)) deviations.
    normal = distribution.standard_deviation * math.sqrt(2 * 10**6 * (3 + math.log(2)))
    assert normal <= by_pairs[-1] <= 1.02 * normal + 10**6 * distribution.rounding


BITS = 256
ERROR = Fraction(1, 1 << 240)


def limits(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    low, high = exp_between(-epsilon)
    return 1 / high, 1 / low


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(0.3), Fraction(1), Fraction(20)])
def test_binary_response_ratio_is_e_to_the_epsilon(epsilon):
    distribution = BinaryResponse(epsilon, 1.0)
    keep = Fraction(noise._flip_sampler(distribution.epsilon)._cdf(0, BITS), 1 << BITS)
    given = {0: (keep, 1 - keep), 1: (1 - keep, keep)}  # bit -> P(y=0), P(y=1)
    low, high = limits(epsilon)
    ratios = [given[a][y] / given[1 - a][y] for a in (0, 1) for y in (0, 1)]
    for ratio in ratios:
        assert ratio * (1 - ERROR) <= high
    assert max(ratios) >= Fraction(99, 100) * low
    assert abs(max(ratios) - high) < Fraction(1, 10**30)


def geometric_pmf(rate: Fraction, count: int) -> list[int]:
    """P(k) 2^256 for k < count, from the samplers of the digit groups."""
    parts = noise._geometric_groups(rate)
    cells = []
    for shift, sampler in parts:
        size = count if sampler._last is None else sampler._last + 1
        ends = [0, *(sampler._cdf(value, BITS) for value in range(size - 1))]
        ends.append(1 << BITS if sampler._last is not None else sampler._cdf(size - 1, BITS))
        cells.append((shift, [b - a for a, b in pairwise(ends)]))
    masses = []
    for k in range(count):
        mass = 1 << BITS
        for shift, cell in cells:  # below the last group digits come round again
            digits = k >> shift
            mass = mass * cell[digits if cell is cells[-1][1] else digits % len(cell)] >> BITS
        masses.append(mass)
    return masses


def difference_pmf(rate: Fraction, reach: int) -> dict[int, Fraction]:
    """P(D = k) for |k| <= reach, up to 2^-240: D is the difference of two geometric variables."""
    count = reach + 1 + int(170 / rate)  # the rest has mass e^-170 < 2^-245
    mass = geometric_pmf(rate, count)
    half = {
        k: Fraction(sum(mass[j] * mass[j + k] for j in range(count - k)), 1 << (2 * BITS))
        for k in range(reach + 1)
    }
    return {k: half[abs(k)] for k in range(-reach, reach + 1)}


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    "distribution",
    [
        LaplaceNoise(Fraction(1), 1.0, 0),
        LaplaceNoise(Fraction(1), 1.0, -2),
        LaplaceNoise(Fraction(0.5), 0.3, -3),
        LaplaceNoise(Fraction(2), 5.0, 0),
        LaplaceNoise(Fraction(0.7), 2.3, -1),
    ],
)
def test_laplace_ratio_is_at_most_e_to_the_epsilon_and_reaches_it(distribution):
    steps = distribution.sensitivity_steps
    reach = 3 * steps + 8
    mass = difference_pmf(distribution.rate, reach)
    low, high = limits(distribution.epsilon)
    largest = Fraction(0)
    for shift in range(1, steps + 1):
        for y in range(shift - reach, reach + 1):
            # P(y | 0) and P(y | shift); each known up to ERROR.
            first, second = mass[y], mass[y - shift]
            assert first > 10**20 * ERROR
            assert (first - ERROR) / (second + ERROR) <= high
            assert (second - ERROR) / (first + ERROR) <= high
            largest = max(largest, (first - ERROR) / (second + ERROR))
    assert largest >= Fraction(99, 100) * low


@pytest.mark.parametrize(("rate", "steps", "epsilon"), [(2, 1, 1), (1, 2, 1)])
def test_the_enumeration_catches_half_the_noise_and_a_sensitivity_of_one_for_two(
    rate, steps, epsilon
):
    """Broken twins must fail the same comparison."""
    mass = difference_pmf(Fraction(rate), 5)
    _, high = limits(Fraction(epsilon))
    assert (mass[0] - ERROR) / (mass[steps] + ERROR) > high
