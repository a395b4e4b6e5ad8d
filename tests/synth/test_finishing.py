"""From a fit to a graph: rounding keeps probabilities and degrees; certificates hold."""

import math

import numpy as np
import pytest
from helpers import random_graph
from hypothesis import given, settings
from hypothesis import strategies as st

import graphcuts_dp as gc
from graphcuts_dp import cut_norm, release_graph
from graphcuts_dp.cutnorm import singular_values
from graphcuts_dp.plugins import SeededEntropy
from graphcuts_dp.synth import dependent_rounding, fit_weights
from graphcuts_dp.synth.dependent_rounding import round_keeping_degrees
from graphcuts_dp.synth.fit_weights import certify, rounding_bound, weights_of


class FixedBytes:
    """The same byte again and again."""

    seed = 0

    def __init__(self, byte):
        self.byte = byte

    def bytes(self, count):
        return np.full(count, self.byte, dtype=np.uint8)


def fractions(shape, seed, *, symmetric):
    """Entries in [0, 1], a part of them 0 or 1 already."""
    rng = np.random.default_rng(seed)
    matrix = np.clip(rng.random(shape) * 1.4 - 0.2, 0, 1)
    if symmetric:
        matrix = np.triu(matrix, 1)
        matrix += matrix.T
    return matrix


def planted(n, blocks, inside, outside, seed):
    """Entries of about the density of their blocks, in random order."""
    rng = np.random.default_rng(seed)
    block = rng.permutation(np.arange(n) * blocks // n)
    matrix = np.where(block[:, None] == block, inside, outside) * np.exp(rng.normal(0, 0.3, (n, n)))
    matrix = np.triu(np.clip(matrix, 0, 1), 1)
    return matrix + matrix.T, block


sizes = st.tuples(st.integers(1, 12), st.integers(1, 12))


def check_degrees(heads, matrix, *, symmetric):
    """No sum of a row or a column has moved by as much as an edge, or two of a symmetric matrix."""
    for axis in (0, 1):
        moved = (heads - matrix.astype(float)).sum(axis=axis)
        assert np.abs(moved).max() < (2.125 if symmetric else 1.125)


@settings(max_examples=60, deadline=None)
@given(sizes, st.booleans(), st.integers(0, 10**6), st.sampled_from([0, 1]))
def test_every_draw_keeps_degrees(shape, symmetric, seed, scale):
    shape = (shape[0], shape[0]) if symmetric else shape
    matrix = scale * fractions(shape, seed, symmetric=symmetric)
    heads = round_keeping_degrees(matrix, symmetric=symmetric, source=SeededEntropy(seed))
    assert heads.dtype == np.uint8
    assert (heads <= 1).all()
    assert (heads[matrix == 0] == 0).all()
    assert (heads[matrix == 1] == 1).all()
    assert not symmetric or np.array_equal(heads, heads.T)
    check_degrees(heads, matrix, symmetric=symmetric)


@pytest.mark.thorough(cases=4)
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
def test_the_bound_holds_at_scale_for_short_floats_too_and_a_seed_keeps_its_graph(kind, symmetric):
    matrix = fractions((300, 300 if symmetric else 170), 0, symmetric=symmetric).astype(kind)
    heads, again = (
        round_keeping_degrees(matrix, symmetric=symmetric, source=SeededEntropy(1))
        for _ in range(2)
    )
    assert np.array_equal(heads, again)
    check_degrees(heads, matrix, symmetric=symmetric)


def test_whole_sums_stay():
    halves = np.full((6, 8), 0.5)  # on the grid: nothing may move them
    heads = round_keeping_degrees(halves, symmetric=False, source=SeededEntropy(2))
    assert (heads.sum(axis=1) == 4).all()
    assert (heads.sum(axis=0) == 3).all()


COPIES = 25


@pytest.fixture
def copies_in_one_order(monkeypatch):
    """The order of each copy in `largest_deviation` is that of the matrix alone."""
    real = dependent_rounding._orders

    def orders(matrix, *, symmetric):
        side = len(matrix) // COPIES
        starts = side * np.arange(COPIES)[:, None]
        alone = real(matrix[:side, :side], symmetric=symmetric)
        return tuple((starts + order).reshape(-1) for order in alone)

    monkeypatch.setattr(dependent_rounding, "_orders", orders)


def largest_deviation(matrix, *, symmetric, source, draws=1500):
    """Of the mean of draws from the matrix, over what Hoeffding's inequality allows.

    The bound fails for one of the entries with probability at most 1e-7. Copies along a diagonal
    share no row and no column, so a draw from all of them is one independent draw from each.
    """
    side = len(matrix)
    stacked = np.kron(np.eye(COPIES), matrix)
    total = np.zeros_like(matrix)
    for _ in range(draws // COPIES):
        drawn = round_keeping_degrees(stacked, symmetric=symmetric, source=source)
        blocks = drawn.reshape(COPIES, side, COPIES, side)
        total += np.einsum("kikj->ij", blocks, dtype=np.float64)
    allowed = math.sqrt(math.log(2 * matrix.size / 1e-7) / (2 * draws))
    return np.abs(total / draws - matrix).max() / allowed


@pytest.mark.thorough(cases=1)
@pytest.mark.usefixtures("copies_in_one_order")
@pytest.mark.parametrize("symmetric", [True, False])
def test_each_entry_keeps_its_probability(symmetric):
    matrix = fractions((6, 6), 3, symmetric=symmetric)
    source = SeededEntropy(4)
    assert largest_deviation(matrix, symmetric=symmetric, source=source) <= 1


@pytest.mark.usefixtures("copies_in_one_order")
def test_a_twin_with_bad_coins_is_caught():
    matrix = fractions((6, 6), 3, symmetric=True)
    source = FixedBytes(0x54)
    assert largest_deviation(matrix, symmetric=True, source=source, draws=400) > 1


@settings(max_examples=60, deadline=None)
@given(sizes, st.integers(0, 10**6))
def test_both_moves_of_an_entry_are_equally_likely(shape, seed):
    """Opposite coins give opposite moves, so each has probability 1/2 exactly."""
    rng = np.random.default_rng(seed)
    places = np.flatnonzero(rng.random(shape) < rng.random())
    up = dependent_rounding._alternate(places, shape[1], FixedBytes(0))
    down = dependent_rounding._alternate(places, shape[1], FixedBytes(255))
    assert np.array_equal(up, ~down)
    moves = np.zeros(shape)
    moves.reshape(-1)[places] = np.where(up, 1, -1)
    assert np.abs(moves.sum(axis=1)).max() <= 1
    assert np.abs(moves.sum(axis=0)).max() <= 1


class Coins:
    """Coins of 32 bits in turn."""

    seed = 0

    def __init__(self, *coins):
        self.coins = list(coins)

    def bytes(self, count):
        taken, self.coins = self.coins[: count // 4], self.coins[count // 4 :]
        return np.array(taken, dtype="<u4").view(np.uint8)


def test_an_event_has_its_probability_to_the_last_coin():
    """2^32 = 1 modulo 3: the coin 2^32 - 1 has no right to a remainder, and is drawn again."""
    totals, favourable = np.array([3, 3, 4], dtype=np.int32), np.array([1, 1, 4], dtype=np.int32)
    source = Coins(2**32 - 2, 2**32 - 1, 2**32 - 1, 2**32 - 1, 3)
    happens = dependent_rounding._happens(favourable, totals, 4, source)
    assert happens.tolist() == [False, True, True]
    assert source.coins == []
    totals = np.repeat(np.arange(1, 8, dtype=np.int32), 8)
    coins = np.tile(np.arange(8), 7)
    for wanted in range(1, 8):
        favourable = np.minimum(totals, wanted)
        happens = dependent_rounding._happens(favourable, totals, 8, Coins(*coins.tolist()))
        assert np.array_equal(happens, coins % totals < favourable)


def test_both_moves_of_a_cycle_are_fair_and_close_an_entry(monkeypatch):
    bits = 6
    corners = np.random.default_rng(3).integers(1, 2**bits, (4, 500)).astype(np.int32)
    asked = []

    def event(outcome):
        def happens(favourable, total, largest_total, _):
            asked.append(favourable / total)
            assert (total <= largest_total).all()
            return np.full(len(total), outcome)

        return happens

    steps = []
    for outcome in (True, False):
        monkeypatch.setattr(dependent_rounding, "_happens", event(outcome))
        step = dependent_rounding._cycle_steps(*corners, bits, None)
        moved = corners + np.array([[1], [-1], [-1], [1]]) * step
        assert moved.min() == 0
        assert moved.max() == 2**bits
        assert ((moved == 0) | (moved == 2**bits)).any(axis=0).all()
        steps.append(step)
    up, down = steps
    assert (up > 0).all()
    assert (down < 0).all()
    assert np.allclose(asked[0] * up + (1 - asked[0]) * down, 0, atol=1e-12)


@pytest.mark.parametrize("n", [127, 128, 129, 130, 257])
def test_blocks_of_rows_meet(n):
    matrix = fractions((n, n), n, symmetric=True)
    heads = round_keeping_degrees(matrix, symmetric=True, source=SeededEntropy(n))
    assert np.array_equal(heads, heads.T)
    assert not heads.diagonal().any()
    check_degrees(heads, matrix, symmetric=True)


def test_few_entries_are_left_for_chains(monkeypatch):
    """Cycles keep sums exactly: without chains, sums are those of the grid."""
    n = 512
    matrix = fractions((n, n), 8, symmetric=False)
    alternate, left = dependent_rounding._alternate, []

    def counted(positions, *arguments):
        left.append(len(positions))
        return alternate(positions, *arguments)

    monkeypatch.setattr(dependent_rounding, "_alternate", counted)
    round_keeping_degrees(matrix, symmetric=False, source=SeededEntropy(1))
    assert max(left) < 0.05 * n**2


def test_the_first_step_is_right_to_the_last_coin():
    """An entry of k + f units goes up for exactly f 2^32 of the 2^32 coins."""
    entry = np.array([0.3])
    for bits in (0, 5):
        scaled = 0.3 * 2**bits
        threshold = math.floor((scaled - math.floor(scaled)) * 2**32)

        class Coin(FixedBytes):
            def bytes(self, count):
                assert count == 4
                return np.array([self.byte], dtype="<u4").view(np.uint8)

        below = dependent_rounding._to_grid(entry, bits, Coin(threshold - 1))
        above = dependent_rounding._to_grid(entry, bits, Coin(threshold))
        assert below[0] == math.floor(scaled) + 1
        assert above[0] == math.floor(scaled)


@pytest.mark.parametrize(
    ("n", "draws", "most"),
    [
        (300, 4, (0.2, 0.75, 0.6, 0.9)),
        pytest.param(1000, 10, (0.1, 0.75, 0.5, 0.8), marks=pytest.mark.slow),
    ],
)
def test_dependent_coins_move_all_kinds_of_cuts_less(n, draws, most):
    """Root mean squares, over those of independent coins: degrees, worst cut, groups, halves."""
    matrix, block = planted(n, 4, 0.2, 0.02, 5)
    half = np.random.default_rng(6).random((20, n)) < 0.5
    source, rng = SeededEntropy(7), np.random.default_rng(7)

    def independent():
        heads = np.triu(rng.random((n, n)) < matrix, 1)
        return heads | heads.T

    found = []
    for drawn in (
        independent,
        lambda: round_keeping_degrees(matrix, symmetric=True, source=source),
    ):
        rows = []
        for _ in range(draws):
            moved = drawn() - matrix
            groups = [moved[block == i][:, block == j].sum() for i in range(4) for j in range(i)]
            cuts = [moved[S][:, ~S].sum() for S in half]
            worst = gc.cut_norm(moved).lower
            rows.append([np.mean(np.square(moved.sum(axis=1))), worst**2,
                         np.mean(np.square(groups)), np.mean(np.square(cuts))])  # fmt: skip
        found.append(np.sqrt(np.mean(rows, axis=0)))
    assert (found[1] / found[0] < most).all()


def test_weights_are_rounded_and_stay_in_the_box():
    found = weights_of(np.array([[0.12344, 0.12346, 0.3]], dtype=np.float32), 0.12345)
    assert found.tolist() == [[0.1234, 0.12345, 0.12345]]
    assert weights_of(np.array([[7.00004]]), math.inf).tolist() == [[7.0]]
    assert weights_of(np.array([[1, 0]], dtype=np.uint8), 1.0).tolist() == [[1.0, 0.0]]


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("noise", ["binary", "laplace"])
def test_a_narrow_certificate_holds_for_the_exact_difference(noise, symmetric, monkeypatch):
    """At n = 14 enumeration gives the norm itself; float32 alone would miss it by rounding."""
    for seed in range(2):
        graph = random_graph(14 if symmetric else (14, 11), seed, density=0.4)
        made = release_graph(graph, epsilon=3.0, noise=noise, fit="first-order", seed=seed)
        exact = cut_norm(made.graph.dense() - made.noisy.estimate(), method="exact")
        assert math.isclose(made.certificate.lower, exact.lower, rel_tol=1e-12)
        with monkeypatch.context() as patch:
            patch.setattr(fit_weights, "_MOST_DOUBLE_ENTRIES", 0)
            narrow = certify(made.graph.dense(), made.noisy, 1.0)
        assert narrow.lower <= exact.lower
        assert exact.upper <= narrow.upper
        assert narrow.upper - narrow.lower <= 1e-5 * exact.upper
        assert narrow.lower < narrow.upper


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("symmetric", [True, False])
def test_a_brief_certificate_is_proven_and_kept_only_if_it_suffices(symmetric, monkeypatch):
    monkeypatch.setattr(fit_weights, "_MOST_DOUBLE_ENTRIES", 0)
    monkeypatch.setattr(singular_values, "_SHORT_CHOLESKY_LIMIT", 0)  # a randomised proof
    graph = random_graph(14 if symmetric else (14, 11), 5, density=0.4)
    made = release_graph(graph, epsilon=3.0, fit="first-order", seed=5)
    exact = cut_norm(made.graph.dense() - made.noisy.estimate(), method="exact")

    def certificate(enough):
        return certify(made.graph.dense(), made.noisy, 1.0, enough=enough)

    best, brief = certificate(0.0), certificate(math.inf)
    assert brief.lower <= exact.lower <= exact.upper <= brief.upper
    assert brief.failure_probability > best.failure_probability == 0
    assert brief.upper > best.upper
    assert certificate(brief.upper).upper == brief.upper
    assert certificate((best.upper + brief.upper) / 2).upper == best.upper


@pytest.mark.parametrize("narrow", [True, False])
@pytest.mark.parametrize("shape", [(14, 14), (14, 11)])
def test_the_bound_on_rounding_holds_for_all_cuts(shape, narrow, monkeypatch):
    """Enumeration gives the largest move of a cut; weights are those with four decimals."""
    if narrow:
        monkeypatch.setattr(fit_weights, "_MOST_DOUBLE_ENTRIES", 0)
    rng = np.random.default_rng(6)
    for _ in range(20):
        expected = (rng.random(shape) ** 3).astype(np.float32)
        rounded = (rng.random(shape) < expected).astype(np.uint8)
        moved = cut_norm(rounded - weights_of(expected, 1.0), method="exact")
        bound = rounding_bound(rounded, expected, 1.0)
        assert moved.lower <= bound <= 1.6 * moved.upper
