"""Privacy by enumeration: exact ratios of output probabilities on neighbouring inputs.

The probabilities come from the samplers' own cut points at 256 bits, so each is known up to
2^-250; the ratio of two is then enclosed from both sides, and compared with e^epsilon. Both
mechanisms are tight: the ratio is e^epsilon, not merely at most.
"""

from fractions import Fraction
from itertools import pairwise

import pytest
from exact_reference import exp_between

from graphcuts_dp.privacy import noise
from graphcuts_dp.privacy.distributions import BinaryResponse, LaplaceNoise

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
    parts = noise._geometric_parts(rate)
    cells = []
    for _, sampler in parts:
        size = count if sampler._last is None else sampler._last + 1
        ends = [0]
        for value in range(size):
            last = value == sampler._last
            ends.append((1 << BITS) if last else sampler._cdf(value, BITS))
        cells.append([b - a for a, b in pairwise(ends)])
    shifts = [shift for shift, _ in parts]
    masses = []
    for k in range(count):
        mass = 1 << BITS
        for i, cell in enumerate(cells):
            digits = k >> shifts[i]
            if i + 1 < len(shifts):
                digits &= (1 << (shifts[i + 1] - shifts[i])) - 1
            mass = mass * cell[digits] >> BITS
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


@pytest.mark.parametrize("rate", [Fraction(1), Fraction(2, 5)])
def test_the_noise_is_discrete_laplace(rate):
    mass = difference_pmf(rate, 20)
    low, high = exp_between(-rate)
    for k in range(20):
        assert abs(mass[k + 1] - mass[k] * low) < Fraction(1, 10**40)
    centre = (1 - high) / (1 + high)
    assert abs(mass[0] - centre) < Fraction(1, 10**40)


def test_the_enumeration_catches_half_the_noise():
    """A broken twin: noise of rate 2 on a claim of epsilon 1 must fail the same comparison."""
    mass = difference_pmf(Fraction(2), 5)
    _, high = limits(Fraction(1))
    assert (mass[0] - ERROR) / (mass[1] + ERROR) > high


def test_the_enumeration_catches_a_sensitivity_of_one_for_a_cap_of_two():
    distribution = LaplaceNoise(Fraction(1), 1.0, 0)
    mass = difference_pmf(distribution.rate, 5)
    _, high = limits(distribution.epsilon)
    assert (mass[0] - ERROR) / (mass[2] + ERROR) > high
