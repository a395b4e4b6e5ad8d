"""Privacy of one test instance, by exact summation over its noise.

An instance sees a stream of true answers q_i and public thresholds A_i. Neighbouring streams differ
by d_i, and a = s r1, b = s r2. Where all 0 <= d_i <= s, no output's log ratio passes a + b, and the
range over outputs does not pass a + 2 b. Where d_i may have either sign, as sums of distances have
when one person moves (HR12), no log ratio passes a + 2 b. Streams are built that reach each of it.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from graphcuts_dp.distances import coordinate
from graphcuts_dp.distances.coordinate import AboveThreshold, geometric_quantile
from graphcuts_dp.privacy import sparse_vector
from graphcuts_dp.privacy.sparse_vector import NoisyComparison, OneSidedPair, SharedThreshold
from tests.audits.losses import one_sided_law

SLACK = 1e-9


def losses(truths, changes, thresholds, r1, r2):
    """ln P'/P of the outputs that are not too rare to be computed."""
    before = one_sided_law(truths, thresholds, r1, r2)
    after = one_sided_law(np.add(truths, changes), thresholds, r1, r2)
    seen = np.minimum(before, after) > 1e-14
    assert seen.any()
    return np.log(after[seen] / before[seen])


def worst_stream(r1, r2, s):
    """First a test that all of its own change can make fire; then changes that stay silent
    unless the threshold noise is large; then a test without a change, far below its threshold."""
    low = math.ceil(3 / r1)
    far = math.ceil(4 / r2)
    thresholds = [far + s] + [-low] * 400 + [far]
    changes = [s] + [s] * 400 + [0]
    return [0] * len(changes), changes, thresholds


def random_streams(count, *, either_way=False):
    """Changes, thresholds, rates, and the largest change."""
    rng = np.random.default_rng(5)
    for _ in range(count):
        s = int(rng.integers(1, 4))
        r1, r2 = rng.uniform(0.05, 1.0, 2) / s
        length = int(rng.integers(1, 25))
        spread = rng.integers(1, 4) / min(r1, r2)
        thresholds = rng.integers(-spread, spread + 2, length)
        if rng.random() < 0.3:
            thresholds[:] = thresholds[0]
        changes = (
            rng.integers(0, s + 1, length) if rng.random() < 0.5 else s * rng.integers(0, 2, length)
        )
        if either_way:
            changes *= rng.choice([-1, 1], length)
        yield np.zeros(length), changes, thresholds, r1, r2, s


def test_probabilities_add_up():
    for truths, _, thresholds, r1, r2, _ in random_streams(50):
        assert one_sided_law(truths, thresholds, r1, r2).sum() == pytest.approx(1, abs=1e-12)


def test_random_streams_stay_within_epsilon_and_range():
    checked = 0
    for truths, changes, thresholds, r1, r2, s in random_streams(400):
        found = losses(truths, changes, thresholds, r1, r2)
        a, b = s * r1, s * r2
        assert np.abs(found).max() <= a + b + SLACK
        assert max(found.max(), 0) <= b + SLACK  # the upper side is sharper
        assert np.ptp(found) <= a + 2 * b + SLACK
        checked += len(found)
    assert checked > 2000


def test_random_streams_that_move_either_way_stay_within_the_bound():
    for truths, changes, thresholds, r1, r2, s in random_streams(300, either_way=True):
        found = losses(truths, changes, thresholds, r1, r2)
        assert np.abs(found).max() <= s * (r1 + 2 * r2) + SLACK


@pytest.mark.parametrize(("r1", "r2", "s"), [(0.4, 0.2, 1), (0.2, 0.4, 1), (0.1, 0.15, 3)])
def test_the_bounds_are_reached(r1, r2, s):
    found = losses(*worst_stream(r1, r2, s), r1, r2)
    a, b = s * r1, s * r2
    assert 0.99 * (a + b) <= np.abs(found).max() <= a + b + SLACK
    assert 0.99 * (a + 2 * b) <= np.ptp(found) <= a + 2 * b + SLACK
    found = np.abs(losses(*worst_either_way(r1, r2, s), r1, r2)).max()
    assert 0.97 * (a + 2 * b) <= found <= a + 2 * b + SLACK
    assert found > 1.1 * (a + b)  # what `OneSidedPair` pays for would not do


def worst_either_way(r1, r2, s):
    """Silent tests whose change needs a larger R, then one that fires against its change."""
    low, far = math.ceil(3 / r1), math.ceil(4 / r2)
    return [0] * 401, [s] * 400 + [-s], [-low] * 400 + [far]


def test_the_cost_of_a_pair_is_that_of_all_instances_that_are_ever_started():
    """Two at first and one for each update; each (a + b)-DP and (a + 2 b)^2/8-zCDP."""
    pair = OneSidedPair(Fraction(1, 7), Fraction(1, 3), Fraction(10))
    for s, updates in itertools.product((1, 4), (0, 1, 9)):
        cost = pair.cost(s, updates=updates, delta=1e-6)
        a, b = s * pair.threshold_rate, s * pair.query_rate
        assert cost.pure == (updates + 2) * (a + b)
        assert cost.rho == pytest.approx(float((updates + 2) * (a + 2 * b) ** 2 / 8))
        assert cost.rho >= (updates + 2) * (a + 2 * b) ** 2 / 8


def test_range_gives_the_claimed_renyi_divergence():
    """Divergences of order 1..50 in both directions, against eta^2/8 times the order."""
    for truths, changes, thresholds, r1, r2, s in [
        *random_streams(100),
        *[(*worst_stream(r1, r2, 1), r1, r2, 1) for r1, r2 in [(0.4, 0.2), (0.05, 0.05)]],
    ]:
        rho = (s * (r1 + 2 * r2)) ** 2 / 8
        before = one_sided_law(truths, thresholds, r1, r2)
        after = one_sided_law(np.add(truths, changes), thresholds, r1, r2)
        for p, q in ((before, after), (after, before)):
            seen = np.minimum(p, q) > 1e-14
            for order in (1.1, 2, 5, 20, 50):
                moment = (p[seen] * np.exp((order - 1) * np.log(p[seen] / q[seen]))).sum()
                assert math.log(moment) / (order - 1) <= order * rho + 1e-6


def test_a_twin_with_half_the_noise_passes_the_bound():
    r1, r2 = 0.2, 0.3
    found = losses(*worst_stream(2 * r1, 2 * r2, 1), 2 * r1, 2 * r2)
    assert np.abs(found).max() > 1.5 * (r1 + r2)
    assert np.ptp(found) > 1.5 * (r1 + 2 * r2)
    found = losses(*worst_either_way(2 * r1, 2 * r2, 1), 2 * r1, 2 * r2)
    assert np.abs(found).max() > 1.5 * (r1 + 2 * r2)


def fired_in_a_row(count, cap, r1, r2):
    """ln P'/P of "each of the first tests fires", for a query that has the change, asked again
    and again; after cap + 1 firings the instance is not restarted and nothing more is told."""
    one = losses([0], [1], [math.ceil(3 / r2)], r1, r2)[0]
    return min(count, cap + 1) * one


def test_a_twin_that_continues_after_the_cap_passes_the_bound():
    r1, r2, cap = 0.2, 0.3, 3
    paid = (cap + 2) * (r1 + r2)
    assert fired_in_a_row(20, cap, r1, r2) < paid < fired_in_a_row(20, math.inf, r1, r2)
    assert fired_in_a_row(20, cap, r1, r2) == pytest.approx((cap + 1) * r2)


def test_a_twin_that_tests_both_signs_at_once_passes_the_bound():
    """|q - h| is not monotone: a + b would not do for it."""
    r1, r2, low, far = 0.3, 0.3, 10, 14
    # Silent tests with a change upwards, then one downwards that fires: 2 b in place of b.
    truths, changes = [0] * 402, [1] * 401 + [-1]
    found = losses(truths, changes, [far + 1] + [-low] * 400 + [far], r1, r2)
    assert np.abs(found).max() > 1.2 * (r1 + r2)


@pytest.fixture
def script(monkeypatch):
    """Numbers that are drawn in place of noise; what rates and sizes they are drawn for."""
    numbers, drawn = [], []

    def scripted(rate, size, _):
        drawn.append((rate, size))
        return np.array([numbers.pop(0) for _ in range(size)])

    for module, name in (
        (sparse_vector, "sample_geometric"),
        (sparse_vector, "sample_discrete_laplace"),
        (coordinate, "sample_geometric"),
    ):
        monkeypatch.setattr(module, name, scripted)
    return numbers, drawn


def test_a_pair_decides_as_the_formula(script):
    """Which rates are drawn, and when a side fires."""
    rng, (script, drawn) = np.random.default_rng(3), script
    test = OneSidedPair(Fraction(1, 7), Fraction(1, 5), Fraction(25, 4))
    for _ in range(300):
        numbers = [int(x) for x in rng.integers(0, 12, 4)]
        script[:] = numbers
        truth, estimate = int(rng.integers(-5, 30)), Fraction(int(rng.integers(-40, 100)), 8)
        secret = test.start(None)
        found = test.run(secret, truth, estimate, None)
        above = truth + numbers[2] >= math.ceil(estimate + test.threshold) + numbers[0]
        below = -truth + numbers[3] >= math.ceil(test.threshold - estimate) + numbers[1]
        assert found.sign == (1 if above else -1 if below else None)
        # The real inequality, without rounding.
        assert above == (truth - estimate + numbers[2] >= test.threshold + numbers[0])
    assert set(drawn) == {(Fraction(1, 7), 2), (Fraction(1, 5), 2)}
    script[:] = [99]
    assert test.restart((1, 2), 1, None) == (99, 2)
    script[:] = [98]
    assert test.restart((1, 2), -1, None) == (1, 98)
    assert drawn[-2:] == [(Fraction(1, 7), 1)] * 2


def test_above_threshold_decides_as_the_formula(script):
    rng, (script, drawn) = np.random.default_rng(3), script
    test, fired = AboveThreshold(Fraction(1, 7), Fraction(1, 5), 4), 0
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
def test_quantiles_are_the_least_that_do(rate):
    for failure in (0.5, 1e-3, 1e-9):
        t = geometric_quantile(rate, failure=failure)
        assert math.exp(-float(rate) * (t + 1)) <= failure
        assert t == 0 or math.exp(-float(rate) * t) > failure * (1 - 1e-9)


def test_the_papers_tests_decide_as_their_formulas(script):
    """One threshold for both sides in DR14, one noisy answer in GRU12 and JT12."""
    rng, (script, drawn) = np.random.default_rng(4), script
    shared = SharedThreshold(Fraction(1, 7), Fraction(1, 9), Fraction(25, 4))
    compared = NoisyComparison(Fraction(1, 5), Fraction(25, 4))
    signs = set()
    for _ in range(300):
        R, up, down, Z = numbers = [int(x) for x in rng.integers(-6, 7, 4)]
        script[:] = numbers
        gap = Fraction(int(rng.integers(-160, 160)), 8)
        estimate = Fraction(int(rng.integers(-40, 100)), 8)
        truth = math.floor(gap + estimate)
        gap = truth - estimate
        sign = (
            1
            if gap + up >= shared.threshold + R
            else -1
            if down - gap >= R + Fraction(25, 4)
            else 0
        )
        assert (shared.run(shared.start(None), truth, estimate, None).sign or 0) == sign
        found = compared.run(compared.start(None), truth, estimate, None)
        far = abs(gap + Z) > compared.threshold
        assert found.value == (truth + Z if far else None)
        assert (found.sign or 0) == ((1 if gap + Z > 0 else -1) if far else 0)
        signs.add((sign, found.sign or 0))
    assert len(signs) >= 5
    assert drawn == [(Fraction(1, 7), 1), (Fraction(1, 9), 2), (Fraction(1, 5), 1)] * 300
    script[:] = [99]
    assert shared.restart((1,), 1, None) == (99,)
    assert compared.restart((), -1, None) == ()


def instance(silent, fired, r1, r2):
    """Probability that an instance is silent at these gaps A - q, and then fires at one, if any."""
    gaps = [*silent] if fired is None else [*silent, fired]
    return one_sided_law(np.zeros(len(gaps)), gaps, r1, r2)[-1 if fired is None else -2]


def transcripts(choose, changed, cap, length, r1, r2):
    """Probability of every transcript of a session against one analyst.

    Args:
        choose: (transcript so far) -> (true answer, its change, both thresholds).
        changed: whether the change is in the data.
        cap: number of restarts.
    """
    found = {}

    def walk(history, up, down, factor, fired):
        # up and down: gaps at which the running instances were silent
        if len(history) == length or fired > cap:
            rest = instance(up, None, r1, r2) * instance(down, None, r1, r2)
            if fired > cap:  # the one that fired last is in the factor already
                rest = instance(down if history[-1] > 0 else up, None, r1, r2)
            found[history] = factor * rest
            return
        truth, change, above, below = choose(history)
        q = truth + change * changed
        gap_up, gap_down = above - q, below + q
        walk((*history, 0), [*up, gap_up], [*down, gap_down], factor, fired)
        p = instance(up, gap_up, r1, r2)
        walk((*history, 1), [], down, factor * p, fired + 1)
        p = instance(down, gap_down, r1, r2)
        walk((*history, -1), [*up, gap_up], [], factor * p, fired + 1)

    walk((), [], [], 1.0, 0)
    return found


def test_whole_sessions_of_adaptive_analysts_cost_what_their_instances_cost():
    """Both sides interleaved, restarts, and queries that depend on everything before."""
    r1, r2, cap, length = 0.3, 0.4, 1, 5
    pure, rho = (cap + 2) * (r1 + r2), (cap + 2) * (r1 + 2 * r2) ** 2 / 8
    largest = 0.0
    for seed in range(20):

        def choose(history, seed=seed):
            rng = np.random.default_rng([seed, *(sign + 1 for sign in history), 7])
            low, high = rng.integers(-8, 6, 2)
            return 0, int(rng.integers(0, 2)), int(low), int(high)

        before, after = (
            transcripts(choose, changed, cap, length, r1, r2) for changed in (False, True)
        )
        assert sum(before.values()) == pytest.approx(1, abs=1e-9)
        p, q = (np.array([table[key] for key in before]) for table in (before, after))
        assert np.abs(np.log(p / q)).max() <= pure + SLACK
        largest = max(largest, np.abs(np.log(p / q)).max())
        for first, second in ((p, q), (q, p)):
            for order in (1.5, 4, 20):
                moment = (first * np.exp((order - 1) * np.log(first / second))).sum()
                assert math.log(moment) / (order - 1) <= order * rho + SLACK
    assert largest > 0.4 * pure
