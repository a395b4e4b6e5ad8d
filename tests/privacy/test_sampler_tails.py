"""Samplers where nobody looks: tails of probability 1e-9 and less, and independence.

Stratified: the first bits of the uniform number that decides a sample are forced, so that it falls
in the tail, and the distribution given that is compared with the exact one. Everything after those
bits is drawn and decided as ever. Tolerances: exact binomial tests and chi-square tests (cells of
at least 1000 expected samples) at a level of 1e-9 (`LEVEL`) with fixed seeds, fewer than 100 of
them; the twins must be rejected at that level.
"""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from p_values import chi_square, dependence

from graphcuts_dp import Graph
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.measure.entries import randomized_response
from graphcuts_dp.plugins import SeededEntropy, ValueNoise
from graphcuts_dp.privacy import noise
from graphcuts_dp.privacy.choices import Choice, exponential_choice, noisy_maximum
from graphcuts_dp.privacy.inversion import happens
from graphcuts_dp.schema.layout import Layout

SIZE = 40_001  # odd, so that words of two bytes and of eight never have the same total
LEVEL = 1e-9
LEAST = 1000
FEW = 12_000  # of what is drawn one by one
RATES = [Fraction(3), Fraction(1), Fraction(1, 2), Fraction(1, 10), Fraction(1, 700)]


def tail_of_count(count, trials, probability):
    """How likely a count at least as far out is, either way, under the exact distribution."""
    below = scipy.stats.binom.cdf(count, trials, probability)
    above = scipy.stats.binom.sf(count - 1, trials, probability)
    return 2 * min(below, above)


def fit(samples, masses):
    """p-value of samples 0, 1, ... under masses; whatever is beyond them is one cell."""
    chances = np.append(masses, max(0.0, 1 - np.sum(masses)))
    counts = np.bincount(np.minimum(samples, len(masses)), minlength=len(chances))
    return chi_square(counts, chances, LEAST)


class Tail:
    """Bytes that put the uniform number of one inversion into its last 2^-bits.

    An inversion asks for 2 bytes a sample, then for 8 more of each that is still open: all are.

    Args:
        part: which inversion, counted from 0; the others are drawn as ever.
        bits: at least 17.
    """

    seed = None

    def __init__(self, part, bits, seed=1):
        self._source = SeededEntropy(seed)
        self._part, self._bits = part, bits
        self._forced = False

    def bytes(self, count):
        if self._forced:
            self._forced = False
            words = self._source.bytes(count).view(np.uint64)
            ones = ((1 << (self._bits - 16)) - 1) << (64 - (self._bits - 16))
            return (words | np.uint64(ones)).view(np.uint8)
        if count == 2 * SIZE:
            self._part -= 1
            if self._part == -1:
                self._forced = True
                return np.full(count, 255, dtype=np.uint8)
        return self._source.bytes(count)


class Head:
    """Eight bytes at a time, of which the first bits of the number that they are read as are 0."""

    seed = None

    def __init__(self, bits, seed=1):
        self._source = SeededEntropy(seed)
        self._bits, self._whole = bits, True

    def bytes(self, count):
        assert count == 8
        word = int.from_bytes(self._source.bytes(8).tobytes(), "little")
        if self._whole:
            word >>= self._bits
        return np.frombuffer(word.to_bytes(8, "little"), dtype=np.uint8)


class LowWords:
    """Words that decide a proposal each, of which the first bits are 0; the rest is as ever."""

    seed = None

    def __init__(self, bits, seed=1):
        self._source, self._bits = SeededEntropy(seed), bits

    def bytes(self, count):
        words = self._source.bytes(count).view(np.uint64)
        return (
            (words >> np.uint64(self._bits)).view(np.uint8) if count > 8 else words.view(np.uint8)
        )


def last_part(rate):
    return len(noise._geometric_groups(rate)) - 1


@pytest.mark.parametrize("bits", [30, 45])
@pytest.mark.parametrize("rate", RATES)
def test_geometric_tails(rate, bits):
    """Given U >= 1 - 2^-b, top digits exceed t with probability min(1, 2^b e^(-r (t+1)))."""
    shift, _ = noise._geometric_groups(rate)[-1]
    samples = noise.sample_geometric(rate, SIZE, Tail(last_part(rate), bits)) >> shift
    r = float(rate) * 2**shift
    least = math.floor(bits * math.log(2) / r)  # the smallest that can come out
    assert samples.min() >= least
    beyond = np.minimum(np.exp(bits * math.log(2) - r * np.arange(least, least + 60)), 1.0)
    assert fit(samples - least, -np.diff(beyond)) > LEVEL


@pytest.mark.parametrize("bits", [17, 30, 45])
@pytest.mark.parametrize("rate", RATES)
def test_laplace_tails(rate, bits):
    """P(X >= t) = 2^-b P(X >= t given the stratum) wherever the stratum holds all of G >= t."""
    samples = noise.sample_discrete_laplace(rate, SIZE, Tail(last_part(rate), bits))
    r = float(rate)
    checked = 0
    for more in (1.0, 2.0, 4.0):
        far = math.ceil((bits * math.log(2) + more) / r) + (1 << 9 if r < 0.1 else 0)
        true = math.exp(-r * far) / (1 + math.exp(-r))
        assert true < 2.0**-bits
        given = true * 2.0**bits
        assert tail_of_count(int((samples >= far).sum()), SIZE, given) > LEVEL
        checked += given * SIZE > 100
    assert checked


@pytest.mark.parametrize("epsilon", [13, 20, 30])
def test_rare_flips(epsilon):
    bits = math.floor(epsilon / math.log(2))
    flips = noise.sample_flips(Fraction(epsilon), SIZE, Tail(0, bits))
    q = 2.0**bits / (1 + math.exp(epsilon))
    assert 0.3 < q <= 1
    assert tail_of_count(int(flips.sum()), SIZE, q) > LEVEL


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("power", [0, 0.7, 5, 8, 15, 20.7, 30])
def test_rare_events(power):
    """What decides a choice, and of the discrete Gaussian's proposals those that floats leave."""
    bits = math.floor(power / math.log(2))
    exact = Fraction(power)
    chance = math.exp(-power) * 2.0**bits

    def decimal():
        return (-Decimal(exact.numerator) / Decimal(exact.denominator)).exp()

    source = Head(bits)
    count = sum(happens(decimal, source) for _ in range(4000))
    assert tail_of_count(count, 4000, chance) > LEVEL


@pytest.mark.parametrize(("variance", "bits"), [(Fraction(1), 29), (Fraction(3), 21)])
def test_gaussian_tails(variance, bits, monkeypatch):
    """Proposals are kept as if U were below 2^-b: then the far ones are as many as the near ones.

    The distribution is then proportional to e^(-|k|/t) min(1, 2^b a(k)), a(k) being what it is
    kept with.
    """
    keep, low = noise._accepted, LowWords(bits)
    monkeypatch.setattr(noise, "_accepted", lambda y, variance, _: keep(y, variance, low))
    samples = noise.sample_discrete_gaussian(variance, SIZE, SeededEntropy(3))
    t, v = 2, float(variance)
    k = np.arange(-40, 41)
    kept = np.exp(-((np.abs(k) - v / t) ** 2) / (2 * v)) * 2.0**bits
    masses = np.exp(-np.abs(k) / t) * np.minimum(1.0, kept)
    masses /= masses.sum()
    far = np.flatnonzero(kept < 1)
    true = np.exp(-(k**2) / (2 * v))
    true /= true.sum()
    tested = [i for i in far if masses[i] * SIZE > 20]
    assert any(true[np.abs(k) >= abs(k[i])].sum() < 1e-8 for i in tested)
    for i in tested:
        assert tail_of_count(int((samples == k[i]).sum()), SIZE, masses[i]) > LEVEL


class ByTurns:
    """Eight bytes from one source, then eight from another: the choice is forced, its check not."""

    seed = None

    def __init__(self, first, second):
        self._sources = [second, first]

    def bytes(self, count):
        self._sources.reverse()
        return self._sources[0].bytes(count)


@pytest.mark.parametrize(("behind", "bits"), [(-20.7, 28), (-27.6, 38)])
def test_rare_choices(behind, bits):
    """A candidate of probability 1e-9 and one of 1e-12, given that the first bits are 0."""
    logs = [behind, 0.0]
    choice = Choice(np.array(logs), 2.0**-40, lambda i: Decimal(logs[i]))
    stratum = 2.0 ** (int(choice._cumulative[-1]).bit_length() - bits)
    given = math.exp(behind) * 2.0**choice._bits / stratum
    assert 0.01 < given < 1
    source = ByTurns(Head(bits), SeededEntropy(5))
    count = sum(choice.draw(source) == 0 for _ in range(FEW))
    assert tail_of_count(count, FEW, given) > LEVEL


SCORES = np.array([0, 3, 7, 7, 1, -20])


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("rate", [Fraction(1, 100), Fraction(1, 3), Fraction(2)])
def test_choices_have_their_distribution(rate):
    source = SeededEntropy(2)
    drawn = np.array([exponential_choice(SCORES, rate, source) for _ in range(FEW)])
    masses = np.exp(float(rate) * (SCORES - SCORES.max()))
    order = np.argsort(-masses, kind="stable")
    ranks = np.argsort(order)
    assert fit(ranks[drawn], masses[order] / masses.sum()) > LEVEL
    # Of 3 and 7 the first wins if its noise is at least 4 more: sum of (1 - r) r^g r^(g + 4).
    won = np.array([noisy_maximum(SCORES[1:3], rate, source) for _ in range(FEW)]) == 0
    r = math.exp(-float(rate))
    assert tail_of_count(int(won.sum()), FEW, r**4 / (1 + r)) > LEVEL


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
def test_noise_on_values_has_its_distribution(distribution):
    source, scale = SeededEntropy(6), 9
    parameter = Fraction(1, 3) if distribution == "laplace" else Fraction(scale)
    drawn = np.array([ValueNoise(distribution, parameter).draw(source) for _ in range(FEW)])
    k = np.arange(0, 60)
    masses = np.exp(-k / 3 if distribution == "laplace" else -(k**2) / (2 * scale))
    masses[1:] *= 2
    assert fit(np.abs(drawn), masses / masses.sum()) > LEVEL


def test_streams_that_are_split_off_are_independent():
    streams = [part for part in SeededEntropy(4).split(3) for part in (part, *part.split(1))]
    drawn = [noise.sample_discrete_laplace(Fraction(1, 9), 60_000, part) for part in streams]
    for first, second in itertools.combinations(drawn, 2):
        assert dependence(first, second, 4) > LEVEL


def test_blocks_of_a_noisy_matrix_are_independent():
    graph = Graph([], [], [], vertices=1000, max_weight=1.0)
    distribution = noise_distribution("discrete-laplace", epsilon=0.3, max_weight=1.0)
    steps = randomized_response(graph, distribution, SeededEntropy(4)).steps
    rows = [start for start, _ in Layout((1000, 1000), symmetric=True).bounds()][:4]
    assert rows[-1] < 500
    blocks = [steps[row : row + 80, 600:].ravel() for row in rows]
    for first, second in itertools.combinations(blocks, 2):
        assert dependence(first, second, 4) > LEVEL


def test_twins_with_lighter_tails_are_rejected():
    """All that floats can hold of a tail: 53 bits of the uniform number, or 24."""
    rate = Fraction(1)
    for row_arrays, bits in ((53, 53 - 3), (24, 24 - 3)):
        rng = np.random.default_rng(0)
        low = rng.integers(0, 1 << (row_arrays - bits), SIZE)  # what is left of the stratum
        uniform = 1 - (low + 1.0) * 2.0**-row_arrays
        samples = np.floor(-np.log1p(-uniform)).astype(int)
        least = math.floor(bits * math.log(2))
        beyond = np.minimum(np.exp(bits * math.log(2) - np.arange(least, least + 60)), 1.0)
        assert fit(np.maximum(samples - least, 0), -np.diff(beyond)) < LEVEL
    samples = noise.sample_geometric(rate, SIZE, Tail(0, 30))
    assert tail_of_count(int((samples >= 22).sum()), SIZE, 2.0**30 * math.exp(-22 * 1.01)) < LEVEL
