"""Positions whose noise reaches a threshold: exact cut points, and the law of what comes out.

Chi-square tests take fixed seeds at a level of 1e-8; there are fewer than 20 of them, so that the
chance of a false alarm, had seeds been drawn at random, is below 1e-6. Each cell expects at least
40 samples.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from exact_reference import exp_between, floor_bits

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.privacy import noise as drawing
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.privacy.noise import sample_discrete_laplace, sample_exceeding, tail_chance

LEVEL = 1e-8
CASES = [
    (Fraction(1), 1),
    (Fraction(13, 20), 16),
    (Fraction(1, 2**20), 9 * 2**20),
    (Fraction(3), 9),
]


def missing_between(rate, threshold, count, bits=400):
    """Enclosure of (1-p)^count, p = P(noise >= threshold), in rational arithmetic."""
    low, high = exp_between(-rate * threshold, bits)
    small, large = exp_between(-rate, bits)
    least, most = 1 - high / (1 + small), 1 - low / (1 + large)
    unit = 1 << 500

    def power(base, up):
        found, square, left = Fraction(1), base, count
        while left:
            found = rounded(found * square, up) if left & 1 else found
            square, left = rounded(square * square, up), left >> 1
        return found

    def rounded(value, up):
        scaled = value.numerator * unit
        return Fraction(
            -(-scaled // value.denominator) if up else scaled // value.denominator, unit
        )

    return power(least, False), power(most, True)


@pytest.mark.parametrize(("rate", "threshold"), CASES)
@pytest.mark.parametrize("bits", [16, 64, 128])
def test_cut_points_of_gaps(rate, threshold, bits):
    parts = drawing._gap_parts(rate, threshold)
    checked = 0
    for (shift, sampler), after in zip(parts, [*parts[1:], None], strict=True):
        size = None if after is None else 1 << (after[0] - shift)
        for value in [v for v in (0, 1, 5, 100, 510) if v < (size or 200) - 1]:
            low, high = missing_between(rate, threshold, (value + 1) << shift)
            if size is None:
                enclosure = 1 - high, 1 - low
            else:
                low_all, high_all = missing_between(rate, threshold, size << shift)
                enclosure = (1 - high) / (1 - low_all), (1 - low) / (1 - high_all)
            assert sampler._cdf(value, bits) == floor_bits(enclosure, bits)
            checked += 1
    assert checked >= 4


def chi_square_p(counts, chances, total):
    expected = np.array(chances) * total
    assert expected.min() >= 40
    statistic = ((np.array(counts) - expected) ** 2 / expected).sum()
    return scipy.stats.chi2.sf(statistic, len(expected) - 1)


def kinds(positions, rate, threshold, source, sampler):
    """How often each pattern of 'below', 'at', 'above' the threshold came out."""
    counts = np.zeros(3**positions, dtype=int)
    for _ in range(6_000):
        found = sampler(rate, threshold, positions, source)
        digits = np.zeros(positions, dtype=int)
        digits[found.places] = np.where(found.values == threshold, 1, 2)
        counts[int(digits @ 3 ** np.arange(positions))] += 1
    return counts


def pattern_chances(positions, rate, threshold):
    kept, more = (tail_chance(rate, threshold + extra) for extra in (0, 1))
    each = [1 - kept, kept - more, more]
    return [
        math.prod(each[digit] for digit in digits)
        for digits in itertools.product(range(3), repeat=positions)
    ]


def filtered(rate, threshold, positions, source):
    noise = sample_discrete_laplace(rate, positions, source)
    (places,) = np.nonzero(noise >= threshold)
    return drawing.Exceeding(places, noise[places])


def one_too_near(rate, threshold, positions, source):
    """Broken: gaps of nothing never occur, so that no two neighbours are kept."""
    found = sample_exceeding(rate, threshold, positions, source)
    alone = np.diff(found.places, prepend=-2) > 1
    return drawing.Exceeding(found.places[alone], found.values[alone])


def excess_of_another_rate(rate, threshold, positions, source):
    """Broken: what is above the threshold has twice the rate."""
    found = sample_exceeding(rate, threshold, positions, source)
    excess = sample_exceeding(2 * rate, 1, 500, source).values[: len(found.places)] - 1
    return drawing.Exceeding(found.places, excess + threshold)


@pytest.mark.parametrize("positions", [1, 2])
@pytest.mark.parametrize("sampler", [sample_exceeding, filtered])
def test_the_law_is_that_of_filtered_noise(positions, sampler):
    rate, threshold = Fraction(2, 5), 1
    counts = kinds(positions, rate, threshold, SeededEntropy(positions), sampler)
    assert chi_square_p(counts, pattern_chances(positions, rate, threshold), 6_000) > LEVEL


@pytest.mark.parametrize("twin", [one_too_near, excess_of_another_rate])
def test_a_broken_sampler_is_noticed(twin):
    rate, threshold = Fraction(2, 5), 1
    counts = kinds(2, rate, threshold, SeededEntropy(5), twin)
    assert chi_square_p(counts, pattern_chances(2, rate, threshold), 6_000) < LEVEL


@pytest.mark.parametrize(("rate", "threshold"), [(Fraction(13, 20), 12), (Fraction(1, 10), 70)])
def test_gaps_between_many_positions(rate, threshold):
    positions, chance = 10**9, tail_chance(rate, threshold)
    found = sample_exceeding(rate, threshold, positions, SeededEntropy(8))
    assert found.places.min() >= 0
    assert found.places.max() < positions
    assert (np.diff(found.places) > 0).all()
    deviation = math.sqrt(positions * chance)
    assert abs(len(found.places) - positions * chance) < 6 * deviation  # 1e-8 is 5.7 deviations
    gaps = np.diff(found.places) - 1
    edges = np.linspace(0, 1, 51)[1:-1]
    cuts = np.floor(np.log1p(-edges) / math.log1p(-chance)).astype(int)
    lower = -np.expm1((cuts + 1) * math.log1p(-chance))
    chances = np.diff(np.concatenate([[0.0], lower, [1.0]]))
    counts = np.bincount(np.searchsorted(cuts, gaps, side="left"), minlength=50)
    assert chi_square_p(counts, chances, len(gaps)) > LEVEL
    excess = found.values - threshold
    tops = [(excess == k).sum() for k in range(4)] + [(excess >= 4).sum()]
    ratio = math.exp(-float(rate))
    law = [(1 - ratio) * ratio**k for k in range(4)] + [ratio**4]
    assert chi_square_p(tops, law, len(excess)) > LEVEL


def test_nothing_among_no_positions():
    found = sample_exceeding(Fraction(1), 3, 0, SeededEntropy(1))
    assert len(found.places) == len(found.values) == 0


def test_the_number_does_not_depend_on_how_many_gaps_are_drawn_at_once(monkeypatch):
    monkeypatch.setattr(drawing, "_LEAST_GAPS", 1)
    monkeypatch.setattr(drawing, "_SPREAD", -0.9)  # several rounds
    rate, threshold = Fraction(2, 5), 1
    counts = kinds(2, rate, threshold, SeededEntropy(7), sample_exceeding)
    assert chi_square_p(counts, pattern_chances(2, rate, threshold), 6_000) > LEVEL


def test_sums_of_gaps_do_not_overflow():
    gaps = np.array([2**62] * 9, dtype=np.int64)
    assert drawing._ends(gaps, 2**56).max() < 2**59
    wide = np.array([2**80, 3], dtype=object)
    assert drawing._ends(wide, 10).tolist() == [10, 14]
    assert drawing._ends(np.array([0, 2, 1]), 100).tolist() == [0, 3, 5]


@pytest.mark.parametrize(
    ("threshold", "positions", "words"),
    [(0, 5, "threshold"), (2**52 + 1, 5, "threshold"), (3, 2**56 + 1, "pairs"), (400, 5, "high")],
)
def test_what_is_out_of_range_is_refused(threshold, positions, words):
    with pytest.raises(ParameterError, match=words):
        sample_exceeding(Fraction(1), threshold, positions, SeededEntropy(1))
