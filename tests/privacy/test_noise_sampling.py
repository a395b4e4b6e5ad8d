"""The samplers' cut points and their handling of uniform numbers, bit by bit."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from exact_reference import (
    ScriptedEntropy,
    exp_between,
    flip_cdf,
    floor_bits,
    geometric_cdf,
    script_of,
)

from graphcuts_dp.privacy import noise
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.privacy.noise import (
    sample_discrete_laplace,
    sample_flips,
    sample_geometric,
)

RATES = [Fraction(1), Fraction(1, 10), Fraction(3), Fraction(7, 2**21), Fraction(1, 10**13)]
EPSILONS = [Fraction(0.01), Fraction(1), Fraction(0.1), Fraction(20), Fraction(50)]


def test_the_reference_encloses_e():
    low, high = exp_between(Fraction(-1))
    digits = "36787944117144232159552377016146086744581113103176783450783680169746149574489980"
    e = Fraction(int(digits), 10 ** len(digits))
    assert low - Fraction(1, 10**79) < e < high + Fraction(1, 10**79)
    assert 0 < high - low < Fraction(1, 2**390)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("bits", [16, 64, 128, 256])
def test_cut_points_of_flips(epsilon, bits):
    assert noise._flip_sampler(epsilon)._cdf(0, bits) == floor_bits(flip_cdf(epsilon), bits)


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("bits", [16, 64, 128])
def test_cut_points_of_geometric_digits(rate, bits):
    checked = 0
    parts = noise._geometric_parts(rate)
    for (shift, sampler), after in zip(parts, [*parts[1:], None], strict=True):
        size = None if after is None else 1 << (after[0] - shift)
        values = [0, 1, 2, 5, 100, 255, 510]
        for value in [v for v in values if size is None or v < size - 1]:
            exact = floor_bits(geometric_cdf(rate * 2**shift, value, size), bits)
            assert sampler._cdf(value, bits) == exact
            checked += 1
    assert checked >= 5


def test_cut_points_near_an_integer_are_settled_by_more_digits():
    calls = []

    def value():
        import decimal

        calls.append(decimal.getcontext().prec)
        # An irrational number a hair above 5/16: 45 digits cannot tell on which side it lies.
        return decimal.Decimal(5) / 16 + decimal.Decimal(2).sqrt().scaleb(-60)

    assert noise._floor_bits(value, 4) == 5
    assert len(calls) > 1
    assert calls[-1] > 60


@pytest.mark.parametrize(
    "sampler",
    [
        noise._flip_sampler(Fraction(1)),
        noise._flip_sampler(Fraction(50)),
        noise._top(noise._powers(Fraction(9, 10))),
        noise._top(noise._powers(Fraction(3))),
        noise._digits(Fraction(1, 512), 512, noise._powers(Fraction(1, 512))),
        noise._digits(Fraction(1, 10**13), 16, noise._powers(Fraction(1, 10**13))),
    ],
)
def test_the_table_holds_the_value_of_every_decided_word(sampler):
    """Exhaustive over all 2^16 words: the value is decided exactly where no cut lies."""
    cuts = sampler._cuts(16)
    table = sampler._table
    assert len(table) == 1 << 16
    undecided = set(np.flatnonzero(table == -1).tolist())
    assert undecided == {int(cut) for cut in cuts}
    decided = np.flatnonzero(table >= 0)
    expected = (cuts[None, :] < decided[:: 16 if len(cuts) > 100 else 1, None]).sum(axis=1)
    assert np.array_equal(table[decided[:: 16 if len(cuts) > 100 else 1]], expected)


def reveal(sampler, uniform, words):
    """What the sampler makes of one uniform number, given as a whole number of 64+64w bits."""
    script = script_of(uniform, words)
    source = ScriptedEntropy(*script)
    return int(sampler.draw(1, source)[0]), len(script) - len(source.pieces)


SAMPLERS = [
    (noise._flip_sampler(Fraction(1)), lambda _: flip_cdf(Fraction(1)), [0]),
    (
        noise._top(noise._powers(Fraction(9, 10))),
        lambda v: geometric_cdf(Fraction(9, 10), v, None),
        [0, 1, 7, 40],
    ),
    (
        noise._digits(Fraction(1, 512), 512, noise._powers(Fraction(1, 512))),
        lambda v: geometric_cdf(Fraction(1, 512), v, 512),
        [0, 1, 100, 510],
    ),
]


@pytest.mark.parametrize(("sampler", "cdf", "values"), SAMPLERS)
def test_numbers_around_a_cut_by_big_integers(sampler, cdf, values):
    """Inversion of numbers that agree with a cut on 64, 128 and 192 bits, and differ after."""
    for value in values:
        for words in (0, 1, 2, 3):
            bits = 64 * (words + 1)
            cut = floor_bits(cdf(value), bits)
            # One unit below the cut's cell: below the cut; one above: above it.
            below, used_below = reveal(sampler, cut - 1, words)
            above, used_above = reveal(sampler, cut + 1, words)
            assert (below, above) == (value, value + 1)
            assert max(used_below, used_above) <= 2 + words


@pytest.mark.parametrize(("sampler", "cdf", "values"), SAMPLERS)
def test_a_tie_asks_for_more_bits(sampler, cdf, values):
    for value in values:
        for words in (0, 1, 2):
            cut = floor_bits(cdf(value), 64 * (words + 1))
            more = floor_bits(cdf(value), 64 * (words + 2)) & (2**64 - 1)
            for offset, expected in ((-1, value), (1, value + 1)):
                uniform = cut << 64 | (more + offset)
                found, used = reveal(sampler, uniform, words + 1)
                assert found == expected
                assert used == 3 + words  # the tie was seen: every scripted piece was asked for


def test_extension_passes_over_values_of_tiny_probability():
    """In the far tail several cuts share their first 64 bits; more bits must sort them out."""
    rate = Fraction(3)
    sampler = noise._top(noise._powers(rate))
    last_64 = len(sampler._fine_cuts) - 1
    for value in range(last_64 + 1, last_64 + 12):
        low = floor_bits(geometric_cdf(rate, value - 1, None), 192)
        high = floor_bits(geometric_cdf(rate, value, None), 192)
        middle = (low + high) // 2
        assert middle >> 128 == 2**64 - 1
        assert reveal(sampler, middle, 2)[0] == value


def test_flips_at_the_largest_epsilon_still_happen():
    sampler = noise._flip_sampler(Fraction(50))
    assert reveal(sampler, (1 << 128) - 1, 1)[0] == 1  # probability 2e-22, below 2^-64
    cut = floor_bits(flip_cdf(Fraction(50)), 128)
    assert reveal(sampler, cut - 1, 1)[0] == 0


@pytest.mark.parametrize("rate", [Fraction(1, 37), Fraction(1, 3000), Fraction(5, 11)])
def test_digit_groups_are_a_geometric_variable(rate):
    """Product of the digits' probabilities against (1-r) r^k, in exact arithmetic on 256 bits."""
    bits = 256
    parts = noise._geometric_parts(rate)

    def cell(sampler, value):
        ends = [
            0 if v < 0 else (1 << bits if v == sampler._last else sampler._cdf(v, bits))
            for v in (value - 1, value)
        ]
        return ends[1] - ends[0]

    shifts = [shift for shift, _ in parts] + [None]
    for k in (0, 1, 2, 3, 10, 255, 256, 511, 512, 1000, 5000):
        product = Fraction(1)
        for (_, sampler), (start, end) in zip(parts, pairwise(shifts), strict=True):
            digits = k >> start if end is None else (k >> start) & ((1 << (end - start)) - 1)
            product *= Fraction(cell(sampler, digits), 1 << bits)
        low, high = exp_between(-rate * k)
        r_low, r_high = exp_between(-rate)
        slack = Fraction(1, 1 << 200)
        assert low * (1 - r_high) - slack < product < high * (1 - r_low) + slack


@pytest.mark.parametrize("size", [0, 1, 1000, (1 << 19) + 3])
def test_sizes_and_types(size):
    flips = sample_flips(Fraction(1), size, SeededEntropy(0))
    numbers = sample_discrete_laplace(Fraction(1, 50), size, SeededEntropy(0))
    assert (flips.shape, flips.dtype) == ((size,), np.bool_)
    assert (numbers.shape, numbers.dtype) == ((size,), np.int64)
    assert (sample_geometric(Fraction(2), size, SeededEntropy(0)) >= 0).all()


def test_a_seed_fixes_every_sample():
    for draw in (sample_flips, sample_geometric, sample_discrete_laplace):
        first = draw(Fraction(1, 9), 5000, SeededEntropy(11))
        assert np.array_equal(first, draw(Fraction(1, 9), 5000, SeededEntropy(11)))
        assert not np.array_equal(first, draw(Fraction(1, 9), 5000, SeededEntropy(12)))


def test_the_number_of_bits_read_does_not_depend_on_data():
    """The samplers are never told the data, so equal bits give equal noise; see test_laws."""
    first, second = SeededEntropy(3), SeededEntropy(3)
    sample_discrete_laplace(Fraction(1, 9), 1000, first)
    sample_discrete_laplace(Fraction(1, 9), 1000, second)
    assert np.array_equal(first.bytes(32), second.bytes(32))
