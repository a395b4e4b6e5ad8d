"""Exact draws: floats that are off by their bound must not change probabilities.

Each chi-square test fails with probability 1e-7 if its seed were drawn at random.
"""

import math
from decimal import Decimal

import numpy as np
import pytest
import scipy.stats

from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.privacy.noise import Choice, happens, uniform_below


def fits(counts, probabilities, false_alarm=1e-7):
    expected = np.asarray(probabilities) * np.sum(counts)
    statistic = ((counts - expected) ** 2 / expected).sum()
    return statistic < scipy.stats.chi2.isf(false_alarm, len(expected) - 1)


@pytest.mark.parametrize("error", [1e-12, 0.4])
def test_choice_has_the_stated_probabilities_whatever_the_floats(error):
    logs = [0.0, -1.0, -2.5, 0.3]
    wrong = np.array(logs) + error * np.array([1, -1, 1, -1])
    choice = Choice(wrong, error, lambda index: Decimal(str(logs[index])))
    source = SeededEntropy(1)
    counts = np.bincount([choice.draw(source) for _ in range(10_000)], minlength=4)
    weights = np.exp(logs)
    assert fits(counts, weights / weights.sum())
    if error > 0.1:  # the test can fail: the floats' own distribution does not fit
        assert not fits(counts, np.exp(wrong) / np.exp(wrong).sum())


class Scripted:
    """A source whose first word is given; what follows is not asked for."""

    seed = None

    def __init__(self, word):
        self._words = [word]

    def bytes(self, count):
        assert count == 8
        word = self._words.pop() if self._words else 1 << 63
        return np.frombuffer(word.to_bytes(8, "little"), dtype=np.uint8)


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
    ends = [0, *map(int, choice._ends)]
    ratios = []
    for index, log in enumerate(logs):
        true = (Decimal(str(log)) - shift).exp() * 2**bits
        ratios.append(float(true / (ends[index + 1] - ends[index])))
        for share in np.linspace(0.003, 0.997, 151):
            if abs(share - ratios[-1]) > 1e-9:
                kept = choice._kept(index, Scripted(int(share * 2.0**64)))
                assert kept == (share < ratios[-1]), (index, share, ratios[-1])
    assert min(ratios) < 0.9  # there is something to refuse
    assert max(ratios) <= 1


def test_choice_with_extreme_weights():
    logs = np.array([-1e6, 0.0, -800.0, 0.0])
    choice = Choice(logs, 1e-12, lambda index: Decimal(logs[index]))
    source = SeededEntropy(2)
    drawn = {choice.draw(source) for _ in range(2000)}
    assert drawn == {1, 3}


@pytest.mark.parametrize("power", [0.0, 1e-3, 0.7, 5.0])
def test_happens(power):
    source = SeededEntropy(3)
    runs = 5000
    hits = sum(happens(lambda: (-Decimal(power)).exp(), source) for _ in range(runs))
    if power == 0:
        assert hits == runs
    else:
        chance = math.exp(-power)
        assert abs(hits - runs * chance) < 6 * math.sqrt(runs * chance * (1 - chance))


def test_happens_goes_on_from_a_prefix_that_does_not_decide():
    source = SeededEntropy(4)
    undecided = (1 << 63) - 1  # the last first word below a half: the next words cannot matter
    assert happens(lambda: Decimal("0.5"), source, prefix=undecided, bits=64)
    assert not happens(lambda: Decimal("0.5"), source, prefix=undecided + 1, bits=64)


def test_uniform_below():
    source = SeededEntropy(5)
    assert {uniform_below(1, source) for _ in range(5)} == {0}
    counts = np.bincount([uniform_below(5, source) for _ in range(5000)], minlength=5)
    assert fits(counts, np.full(5, 0.2))
