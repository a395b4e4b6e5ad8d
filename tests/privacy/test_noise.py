"""Exact samplers: cut points, choices, Gaussian noise, wide noise, and noise above a threshold.

Chi-square tests take fixed seeds at a level of 1e-8; there are fewer than 20 of them, so that the
chance of a false alarm, had seeds been drawn at random, is below 1e-6. Each cell expects at least
40 samples.
"""

import decimal
import itertools
import math
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import scipy.special
import scipy.stats
from exact_reference import (
    ScriptedEntropy,
    exp_between,
    flip_cdf,
    floor_bits,
    geometric_cdf,
    script_of,
)
from p_values import chi_square

from graphcuts_dp import CutQuery, Graph, ParameterError
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.plugins import SeededEntropy, Universe
from graphcuts_dp.privacy import exceeding, inversion, noise
from graphcuts_dp.privacy.choices import Choice, uniform_below
from graphcuts_dp.privacy.exceeding import sample_exceeding, tail_chance
from graphcuts_dp.privacy.inversion import happens, wide_context
from graphcuts_dp.privacy.noise import (
    sample_discrete_gaussian,
    sample_discrete_laplace,
    sample_flips,
    sample_geometric,
)
from graphcuts_dp.session.plain import PerQueryNoise

SIGNIFICANT = 1e-8
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


@pytest.mark.thorough(cases=3)
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("bits", [16, 64, 128])
def test_cut_points_of_geometric_digits(rate, bits):
    checked = 0
    parts = noise._geometric_groups(rate)
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
        calls.append(decimal.getcontext().prec)
        # An irrational number a hair above 5/16: 45 digits cannot tell on which side it lies.
        return Decimal(5) / 16 + Decimal(2).sqrt().scaleb(-60)

    assert inversion.floor_bits(value, 4) == 5
    assert len(calls) > 1
    assert calls[-1] > 60


@pytest.mark.parametrize(
    "sampler",
    [
        noise._flip_sampler(Fraction(1)),
        noise._flip_sampler(Fraction(50)),
        noise._top_digits(noise._exponential_powers(Fraction(9, 10))),
        noise._top_digits(noise._exponential_powers(Fraction(3))),
        noise._low_digits(Fraction(1, 512), 512, noise._exponential_powers(Fraction(1, 512))),
        noise._low_digits(Fraction(1, 10**13), 16, noise._exponential_powers(Fraction(1, 10**13))),
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
    assert np.array_equal(table[decided], np.searchsorted(cuts, decided))


def reveal(sampler, uniform, words):
    """What the sampler makes of one uniform number, given as a whole number of 64+64w bits."""
    script = script_of(uniform, words)
    source = ScriptedEntropy(*script)
    return int(sampler.draw(1, source)[0]), len(script) - len(source.pieces)


SAMPLERS = [
    (noise._flip_sampler(Fraction(1)), lambda _: flip_cdf(Fraction(1)), [0]),
    (
        noise._top_digits(noise._exponential_powers(Fraction(9, 10))),
        lambda v: geometric_cdf(Fraction(9, 10), v, None),
        [0, 1, 7, 40],
    ),
    (
        noise._low_digits(Fraction(1, 512), 512, noise._exponential_powers(Fraction(1, 512))),
        lambda v: geometric_cdf(Fraction(1, 512), v, 512),
        [0, 1, 100, 510],
    ),
]


@pytest.mark.parametrize(("sampler", "cdf", "values"), SAMPLERS)
def test_numbers_around_a_cut_by_big_integers(sampler, cdf, values):
    """Inversion of numbers that agree with a cut on 64, 128 and 192 bits, and differ after."""
    for value in values:
        for words in range(4):
            bits = 64 * (words + 1)
            cut = floor_bits(cdf(value), bits)
            # One unit below the cut's cell: below the cut; one above: above it.
            below, used_below = reveal(sampler, cut - 1, words)
            above, used_above = reveal(sampler, cut + 1, words)
            assert (below, above) == (value, value + 1)
            if words:  # the ties were seen: every scripted piece was asked for
                assert used_below == used_above == 2 + words


def test_extension_passes_over_values_of_tiny_probability():
    """In the far tail several cuts share their first 64 bits; more bits must sort them out."""
    rate = Fraction(3)
    sampler = noise._top_digits(noise._exponential_powers(rate))
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


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("rate", [Fraction(1, 37), Fraction(1, 3000), Fraction(5, 11)])
def test_digit_groups_are_a_geometric_variable(rate):
    """Product of the digits' probabilities against (1-r) r^k, in exact arithmetic on 256 bits."""
    bits = 256
    parts = noise._geometric_groups(rate)

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


@pytest.mark.parametrize("error", [1e-12, 0.4])
def test_choice_has_the_stated_probabilities_whatever_the_floats(error):
    logs = [0.0, -1.0, -2.5, 0.3]
    wrong = np.array(logs) + error * np.array([1, -1, 1, -1])
    choice = Choice(wrong, error, lambda index: Decimal(str(logs[index])))
    source = SeededEntropy(1)
    counts = np.bincount([choice.draw(source) for _ in range(10_000)], minlength=4)
    weights = np.exp(logs)
    assert chi_square(counts, weights / weights.sum()) > SIGNIFICANT
    if error > 0.1:  # the test can fail: the floats' own distribution does not fit
        assert chi_square(counts, np.exp(wrong) / np.exp(wrong).sum()) < SIGNIFICANT


@pytest.mark.parametrize(
    ("logs", "error"),
    [
        ([0.0, -0.7, 0.2], 0.1),  # the floats may be off by much
        ([0.0, -33.0, -34.5, -36.2], 1e-12),  # proposals of a few units are rounded up by much
    ],
)
def test_a_draw_is_kept_with_the_exact_ratio_of_its_weights_and_never_by_its_margin_alone(
    logs, error
):
    wrong = np.array(logs) + error * np.resize([1, -1], len(logs)) * 0.9
    choice = Choice(wrong, error, lambda index: Decimal(str(logs[index])))
    shift, bits = Decimal(float(wrong.max())), min(52, 61 - len(logs).bit_length())
    ends = [0, *map(int, choice._cumulative)]
    ratios = []
    for index, log in enumerate(logs):
        true = (Decimal(str(log)) - shift).exp() * 2**bits
        ratios.append(float(true / (ends[index + 1] - ends[index])))
        for share in np.linspace(0.003, 0.997, 151):
            if abs(share - ratios[-1]) > 1e-9:
                words = [int(share * 2.0**64), 1 << 63, 1 << 63]
                source = ScriptedEntropy(*(word.to_bytes(8, "little") for word in words))
                kept = choice._accepts(index, source)
                assert kept == (share < ratios[-1]), (index, share, ratios[-1])
    assert min(ratios) < 0.9  # there is something to refuse
    assert max(ratios) <= 1


def test_choice_with_extreme_weights():
    logs = np.array([-1e6, 0.0, -800.0, 0.0])
    choice = Choice(logs, 1e-12, lambda index: Decimal(logs[index]))
    source = SeededEntropy(2)
    drawn = {choice.draw(source) for _ in range(2000)}
    assert drawn == {1, 3}


def test_happens_goes_on_from_a_prefix_that_does_not_decide():
    source = SeededEntropy(4)
    undecided = (1 << 63) - 1  # the last first word below a half: the next words cannot matter
    assert happens(lambda: Decimal("0.5"), source, prefix=undecided, bits=64)
    assert not happens(lambda: Decimal("0.5"), source, prefix=undecided + 1, bits=64)


def test_uniform_below():
    source = SeededEntropy(5)
    assert {uniform_below(1, source) for _ in range(5)} == {0}
    counts = np.bincount([uniform_below(5, source) for _ in range(5000)], minlength=5)
    assert chi_square(counts, np.full(5, 0.2)) > SIGNIFICANT


VARIANCES = [Fraction(1, 9), Fraction(1), Fraction(7, 2), Fraction(1000, 3)]
EXTREMES = [Fraction(1, 10**400), Fraction(1, 1400), Fraction(2) ** 80, Fraction(3) ** 200]
SIZE = 100_000


def masses(variance, reach):
    k = np.arange(-reach, reach + 1)
    weights = np.exp(-(k**2) / (2 * float(variance)))
    return k, weights / weights.sum()


def proposals_of(variance):
    """Proposals near 0, where nearly all stay, and far out; the farthest are never kept."""
    t = math.isqrt(math.floor(variance)) + 1
    sizes = {0, 1, 2, t - 1, t, 2 * t, 5 * t, 13 * t, 40 * t, round(variance / t)}
    return [sign * size for size in sorted(sizes) for sign in (-1, 1)]


def power_of(y, variance):
    t = math.isqrt(math.floor(variance)) + 1
    return (abs(y) - variance / t) ** 2 / (2 * variance)


def cut_of(y, variance, bits):
    """floor(2^bits times the probability that y stays)."""
    power = power_of(y, variance)
    if power > 1000:
        return 0
    if power < Fraction(1, 2**300):
        return (1 << bits) - 1
    return floor_bits(exp_between(-power), bits)


def as_array(y, count):
    narrow = abs(y) < 2**62
    return np.array([y] * count, dtype=np.int64 if narrow else object)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("variance", VARIANCES + EXTREMES)
def test_every_first_word_that_decides_does_so_as_the_exact_probability_does(variance, monkeypatch):
    """All 2^16 beginnings, each with the least and the largest end; and words around the cut.

    What is kept is below the cut, what is not is above it, and what is left to more bits is near
    it: so the probability of staying is the exact one on every proposal.
    """
    left_open = []
    monkeypatch.setattr(noise, "happens", lambda *_, prefix, **__: bool(left_open.append(prefix)))
    heads = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
    ends = np.concatenate([heads, heads | np.uint64(2**48 - 1)])
    for y in proposals_of(variance):
        cut = cut_of(y, variance, 64)
        near = [cut + sign * 2**k for k in range(45) for sign in (-1, 1)] + [cut]
        near = np.array([word for word in near if 0 <= word < 2**64], dtype=np.uint64)
        words = np.concatenate([ends, near])
        left_open.clear()
        kept = noise._accepted(
            as_array(y, len(words)), variance, ScriptedEntropy(words.astype("<u8").tobytes())
        )
        doubtful = np.isin(words, np.array(left_open, dtype=np.uint64))
        assert not kept[doubtful].any()
        assert (words[kept] < np.uint64(cut)).all()
        assert (words[~kept & ~doubtful] > np.uint64(cut)).all()
        assert cut in left_open
        assert max(abs(word - cut) for word in left_open) <= max(1, cut * 2.0**-29)


@pytest.mark.parametrize("variance", [Fraction(1, 9), Fraction(7, 2), Fraction(2) ** 80])
@pytest.mark.parametrize("words", [2, 3])
def test_a_first_word_at_the_cut_is_decided_by_more_bits_exactly(variance, words):
    """Uniform numbers one unit below and above the cut, which agree with it on all words before."""
    t = math.isqrt(math.floor(variance)) + 1
    for y in (-t, 2 * t):
        bits = 64 * words
        cut = cut_of(y, variance, bits)
        for number, stays in ((cut - 1, True), (cut + 1, False)):
            pieces = [
                ((number >> (64 * k)) & (2**64 - 1)).to_bytes(8, "little")
                for k in reversed(range(words))
            ]
            source = ScriptedEntropy(*pieces)
            assert noise._accepted(as_array(y, 1), variance, source)[0] == stays
            assert not source.pieces


def test_a_proposal_of_power_zero_stays():
    """variance = 2t: then |y| = 2 stays whatever bits come; ones alone ask for more of them."""
    source = ScriptedEntropy(b"\xff" * 8, b"\xff" * 8, bytes(8))
    assert power_of(2, Fraction(6)) == 0
    assert noise._accepted(np.array([2]), Fraction(6), source)[0]
    assert not source.pieces


def test_floats_are_as_right_as_the_margin_supposes():
    """Of exp on all powers that decide, and of the whole chance: far below the margin."""
    powers = np.concatenate([np.linspace(0, 700, 3001), np.logspace(-300, 2, 500)])
    found = np.exp(-powers)
    with_digits = wide_context(60)
    for power, value in zip(powers, found, strict=True):
        exact = with_digits.exp(-Decimal(float(power)))
        assert abs(Decimal(float(value)) - exact) <= exact * Decimal(2) ** -45


@pytest.mark.parametrize("variance", VARIANCES + EXTREMES)
def test_acceptance_makes_the_distribution(variance):
    """Proposal times acceptance is proportional to the discrete Gaussian, on every integer."""
    t = math.isqrt(math.floor(variance)) + 1
    left = {
        Fraction(abs(y), t) + power_of(y, variance) - Fraction(y**2) / (2 * variance)
        for y in proposals_of(variance)
    }
    assert len(left) == 1


@pytest.mark.parametrize("variance", VARIANCES)
def test_samples_fit(variance):
    samples = sample_discrete_gaussian(variance, SIZE, SeededEntropy(1))
    reach = math.ceil(12 * math.sqrt(variance)) + 3
    _, chances = masses(variance, reach)
    counts = np.bincount(np.clip(samples + reach, 0, 2 * reach), minlength=len(chances))
    assert chi_square(counts, chances) > SIGNIFICANT


@pytest.mark.parametrize("bits", [30, 60])
def test_samples_of_huge_scales_fit(bits):
    """In 40 cells of equal mass; sums over so many integers are integrals to 12 digits."""
    scale, count = 2**bits, 40_000 if bits > 52 else SIZE
    samples = sample_discrete_gaussian(Fraction(scale) ** 2, count, SeededEntropy(bits))
    cells = np.floor(40 * scipy.stats.norm.cdf((samples / scale).astype(float))).astype(int)
    assert chi_square(np.bincount(cells, minlength=40), np.full(40, 1 / 40)) > SIGNIFICANT
    assert samples.dtype == (np.int64 if bits <= 52 else object)
    low = np.array([int(sample) & 15 for sample in samples])  # the last bits are uniform
    assert chi_square(np.bincount(low, minlength=16), np.full(16, 1 / 16)) > SIGNIFICANT


def test_noise_of_almost_no_variance_is_zero():
    """P(not 0) is below e^-(10^399)."""
    assert not sample_discrete_gaussian(Fraction(1, 10**400), 1000, SeededEntropy(1)).any()


def test_a_twin_that_rounds_a_continuous_gaussian_is_rejected():
    rng = np.random.default_rng(0)
    samples = np.rint(rng.normal(scale=0.5, size=10 * SIZE)).astype(int)
    _, distribution = masses(Fraction(1, 4), 5)
    zeros = int((samples == 0).sum())
    assert scipy.stats.binomtest(zeros, len(samples), distribution[5]).pvalue < SIGNIFICANT


COUNT = 600
# Kolmogorov-Smirnov distances above this have probability below 1e-9.
FAR = scipy.stats.kstwo.isf(1e-9, COUNT)


def scaled(samples, scale):
    return np.array([float(Fraction(int(sample)) / scale) for sample in samples])


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("bits", [30, 53, 54, 100])
def test_geometric_and_laplace_noise_of_any_scale(bits):
    scale = Fraction(2) ** bits
    source = SeededEntropy(bits)
    one_sided = noise.sample_geometric(1 / scale, COUNT, source)
    assert min(one_sided) >= 0
    assert scipy.stats.kstest(scaled(one_sided, scale), "expon").statistic < FAR
    two_sided = noise.sample_discrete_laplace(1 / scale, COUNT, source)
    assert scipy.stats.kstest(scaled(two_sided, scale), "laplace").statistic < FAR
    narrow = bits <= 53
    assert (one_sided.dtype == np.int64) == narrow
    assert narrow or all(type(sample) is int for sample in one_sided)


def test_blocks_of_wide_noise_are_put_together(monkeypatch):
    rate = Fraction(1, 2**70)
    whole = noise.sample_geometric(rate, 10, SeededEntropy(1))
    monkeypatch.setattr(noise, "_BLOCK", 4)
    parts = noise.sample_geometric(rate, 10, SeededEntropy(1))
    assert parts.dtype == whole.dtype == object
    assert all(sample > 0 for sample in parts)


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    ("cap", "queries", "epsilon"),
    [(1000.0, 10**9, 1e-3), (1.0, 10**9, 1e-6), (2.0**40, 10**6, 0.1), (1e-9, 1, 50.0)],
)
def test_answers_of_a_session_err_as_much_as_they_claim(distribution, cap, queries, epsilon):
    graph = Graph([0], [1], [cap / 2], vertices=4, max_weight=cap)
    terms = {"universe": Universe.of(graph), "grid": Grid.of(graph), "queries": queries}
    terms |= {"epsilon": epsilon, "delta": 1e-6 if distribution == "gaussian" else 0.0}
    session = PerQueryNoise(distribution=distribution, **terms)
    query, source = CutQuery([0], [1]), SeededEntropy(3)
    truth = session.grid.count(query, graph)
    state = session.start(graph, source)
    errors = []
    for _ in range(300 if queries > 1 else 1):
        state, answer = session.step(state, query, truth, source)
        low, high = answer.interval
        assert low <= cap / 2 <= high
        errors.append((answer.value - cap / 2) / cap)
    if queries > 1:
        # Some weights are rounded up to whole steps: the scale is larger by less than 1e-8.
        scale, shape = queries / epsilon, "laplace"
        if distribution == "gaussian":
            scale, shape = float(session.noise.parameter) ** 0.5 / session.grid.sensitivity, "norm"
        assert scipy.stats.kstest(np.array(errors) / scale, shape).pvalue > 1e-9


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


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(("rate", "threshold"), CASES)
@pytest.mark.parametrize("bits", [16, 64, 128])
def test_cut_points_of_gaps(rate, threshold, bits):
    parts = exceeding._gap_digits(rate, threshold)
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


def fit_of_patterns(positions, sampler, seed, rate=Fraction(2, 5), threshold=1):
    """p-value of how often each pattern of 'below', 'at', 'above' the threshold comes out."""
    counts, source = np.zeros(3**positions, dtype=int), SeededEntropy(seed)
    for _ in range(6_000):
        found = sampler(rate, threshold, positions, source)
        digits = np.zeros(positions, dtype=int)
        digits[found.positions] = np.where(found.values == threshold, 1, 2)
        counts[int(digits @ 3 ** np.arange(positions))] += 1
    kept, more = (tail_chance(rate, threshold + extra) for extra in (0, 1))
    each = [1 - kept, kept - more, more]
    digits = itertools.product(range(3), repeat=positions)
    return chi_square(counts, [math.prod(each[digit] for digit in kinds) for kinds in digits])


def one_too_near(rate, threshold, positions, source):
    """Broken: gaps of nothing never occur, so that no two neighbours are kept."""
    found = sample_exceeding(rate, threshold, positions, source)
    alone = np.diff(found.positions, prepend=-2) > 1
    return exceeding.Exceeding(found.positions[alone], found.values[alone])


def excess_of_another_rate(rate, threshold, positions, source):
    """Broken: what is above the threshold has twice the rate."""
    found = sample_exceeding(rate, threshold, positions, source)
    excess = sample_exceeding(2 * rate, 1, 500, source).values[: len(found.positions)] - 1
    return exceeding.Exceeding(found.positions, excess + threshold)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("positions", [1, 2])
def test_the_law_is_that_of_filtered_noise(positions):
    assert fit_of_patterns(positions, sample_exceeding, positions) > SIGNIFICANT


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("twin", [one_too_near, excess_of_another_rate])
def test_a_broken_sampler_is_noticed(twin):
    assert fit_of_patterns(2, twin, 5) < SIGNIFICANT


@pytest.mark.parametrize(("rate", "threshold"), [(Fraction(13, 20), 12), (Fraction(1, 10), 70)])
def test_gaps_between_many_positions(rate, threshold):
    positions, chance = 10**9, tail_chance(rate, threshold)
    found = sample_exceeding(rate, threshold, positions, SeededEntropy(8))
    assert found.positions.min() >= 0
    assert found.positions.max() < positions
    assert (np.diff(found.positions) > 0).all()
    deviation = math.sqrt(positions * chance)
    assert abs(len(found.positions) - positions * chance) < 6 * deviation  # 1e-8 is 5.7 deviations
    gaps = np.diff(found.positions) - 1
    edges = np.linspace(0, 1, 51)[1:-1]
    cuts = np.floor(np.log1p(-edges) / math.log1p(-chance)).astype(int)
    lower = -np.expm1((cuts + 1) * math.log1p(-chance))
    chances = np.diff(np.concatenate([[0.0], lower, [1.0]]))
    counts = np.bincount(np.searchsorted(cuts, gaps, side="left"), minlength=50)
    assert chi_square(counts, chances) > SIGNIFICANT
    excess = found.values - threshold
    tops = [(excess == k).sum() for k in range(4)] + [(excess >= 4).sum()]
    ratio = math.exp(-float(rate))
    law = [(1 - ratio) * ratio**k for k in range(4)] + [ratio**4]
    assert chi_square(tops, law) > SIGNIFICANT


def test_nothing_among_no_positions():
    found = sample_exceeding(Fraction(1), 3, 0, SeededEntropy(1))
    assert len(found.positions) == len(found.values) == 0
    for sample in (sample_flips, sample_geometric, sample_discrete_laplace):
        assert sample(Fraction(1), 0, SeededEntropy(1)).shape == (0,)


def test_the_number_does_not_depend_on_how_many_gaps_are_drawn_at_once(monkeypatch):
    monkeypatch.setattr(exceeding, "_LEAST_GAPS", 1)
    monkeypatch.setattr(exceeding, "_GAP_MARGIN", -0.9)  # several rounds
    assert fit_of_patterns(2, sample_exceeding, 7) > SIGNIFICANT


def test_sums_of_gaps_do_not_overflow():
    gaps = np.array([2**62] * 9, dtype=np.int64)
    assert exceeding._positions_after(gaps, 2**56).max() < 2**59
    wide = np.array([2**80, 3], dtype=object)
    assert exceeding._positions_after(wide, 10).tolist() == [10, 14]
    assert exceeding._positions_after(np.array([0, 2, 1]), 100).tolist() == [0, 3, 5]


@pytest.mark.parametrize(
    ("threshold", "positions", "words"),
    [(0, 5, "threshold"), (2**52 + 1, 5, "threshold"), (3, 2**56 + 1, "pairs"), (400, 5, "high")],
)
def test_what_is_out_of_range_is_refused(threshold, positions, words):
    with pytest.raises(ParameterError, match=words):
        sample_exceeding(Fraction(1), threshold, positions, SeededEntropy(1))
