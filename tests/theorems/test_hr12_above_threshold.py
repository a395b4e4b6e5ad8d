"""Privacy of one AboveThreshold instance for counts that move either way, by exact summation.

Neighbouring streams of true counts differ by -s <= d_i <= s: one person's move makes some sums of
distances larger and others smaller. With a = s r1 and b = s r2 no output's log ratio passes
a + 2 b, and a stream is built that comes near.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from graphcuts_dp.distances import coordinate as above_threshold
from graphcuts_dp.distances.coordinate import AboveThreshold, geometric_quantile

SLACK = 1e-9


def outcomes(truths, thresholds, r1, r2):
    """Probability of each output: index of the first test that fires, and of silence (last)."""
    R = np.arange(math.ceil(45 / r1))  # what is cut off has probability e^-45
    weights = np.exp(-r1 * R) * -math.expm1(-r1)
    gaps = np.array(thresholds)[:, None] + R - np.array(truths)[:, None]
    fires = np.exp(-r2 * np.maximum(gaps, 0))
    silent = np.cumprod(np.vstack([np.ones(len(R)), 1 - fires]), axis=0)
    return np.append((silent[:-1] * fires) @ weights, silent[-1] @ weights)


def losses(changes, thresholds, r1, r2):
    before = outcomes([0] * len(changes), thresholds, r1, r2)
    after = outcomes(changes, thresholds, r1, r2)
    seen = np.minimum(before, after) > 1e-14
    return np.log(after[seen] / before[seen])


def random_streams(count):
    rng = np.random.default_rng(7)
    for _ in range(count):
        s = int(rng.integers(1, 4))
        r1, r2 = rng.uniform(0.05, 1.0, 2) / s
        length = int(rng.integers(1, 25))
        spread = rng.integers(1, 4) / min(r1, r2)
        thresholds = rng.integers(-spread, spread + 2, length)
        yield rng.integers(-s, s + 1, length), thresholds, r1, r2, s


def test_random_streams_stay_within_the_bound():
    checked = 0
    for changes, thresholds, r1, r2, s in random_streams(300):
        found = losses(changes, thresholds, r1, r2)
        assert np.abs(found).max() <= s * (r1 + 2 * r2) + SLACK
        checked += len(found)
    assert checked > 2000


def worst_stream(r1, r2, s):
    """Silent tests whose change needs a larger R, then one that fires against its change."""
    low, far = math.ceil(3 / r1), math.ceil(4 / r2)
    return [s] * 400 + [-s], [-low] * 400 + [far]


@pytest.mark.parametrize(("r1", "r2", "s"), [(0.4, 0.2, 1), (0.2, 0.4, 1), (0.1, 0.1, 3)])
def test_the_bound_is_nearly_reached_and_the_monotone_one_does_not_do(r1, r2, s):
    found = np.abs(losses(*worst_stream(r1, r2, s), r1, r2)).max()
    assert 0.97 * s * (r1 + 2 * r2) <= found <= s * (r1 + 2 * r2) + SLACK
    assert found > 1.1 * s * (r1 + r2)  # what `OneSidedPair` pays for


def test_a_twin_with_half_the_noise_passes_the_bound():
    r1, r2, s = 0.2, 0.2, 2
    found = losses(*worst_stream(2 * r1, 2 * r2, s), 2 * r1, 2 * r2)
    assert np.abs(found).max() > 1.5 * s * (r1 + 2 * r2)


def test_the_code_decides_as_the_formula(monkeypatch):
    rng = np.random.default_rng(3)
    script, drawn = [], []

    def scripted(rate, size, _):
        drawn.append((rate, size))
        return np.array([script.pop(0) for _ in range(size)])

    monkeypatch.setattr(above_threshold, "sample_geometric", scripted)
    test = AboveThreshold(Fraction(1, 7), Fraction(1, 5), 4)
    fired = 0
    for _ in range(300):
        first, second, truth, estimate = (int(x) for x in rng.integers(0, 12, 4))
        script[:] = [first, second]
        found = test.fires(test.start(None), truth, estimate, None)
        assert found == (truth + second >= estimate + 4 + first)
        fired += found
    assert 0 < fired < 300
    assert drawn == [(Fraction(1, 7), 1), (Fraction(1, 5), 1)] * 300
    assert test.cost(3) == 3 * (Fraction(1, 7) + Fraction(2, 5))


@pytest.mark.parametrize("rate", [Fraction(1, 1000), Fraction(1, 3), Fraction(5)])
@pytest.mark.parametrize("failure", [0.5, 1e-3, 1e-9])
def test_quantiles_are_the_least_that_do(rate, failure):
    t = geometric_quantile(rate, failure=failure)
    assert math.exp(-float(rate) * (t + 1)) <= failure
    assert t == 0 or math.exp(-float(rate) * t) > failure * (1 - 1e-9)
