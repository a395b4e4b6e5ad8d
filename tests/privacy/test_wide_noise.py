"""Noise never wraps around at 64 bits, whatever the parameters; too much was lost by it before."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy import noise
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.privacy.value_noise import ValueNoise
from graphcuts_dp.session.per_query import PerQueryNoise

COUNT = 600
# Kolmogorov-Smirnov distances above this have probability below 1e-9.
FAR = scipy.stats.kstwo.isf(1e-9, COUNT)


def scaled(samples, scale):
    return np.array([float(Fraction(int(sample)) / scale) for sample in samples])


@pytest.mark.parametrize("bits", [30, 52, 53, 54, 71, 100])
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


@pytest.mark.parametrize("bits", [30, 53, 71])
def test_gaussian_noise_of_any_scale(bits):
    scale = Fraction(2) ** bits
    samples = noise.sample_discrete_gaussian(scale**2, COUNT, SeededEntropy(bits))
    assert scipy.stats.kstest(scaled(samples, scale), "norm").statistic < FAR


def test_blocks_of_wide_noise_are_put_together(monkeypatch):
    rate = Fraction(1, 2**70)
    whole = noise.sample_geometric(rate, 10, SeededEntropy(1))
    monkeypatch.setattr(noise, "_BLOCK", 4)
    parts = noise.sample_geometric(rate, 10, SeededEntropy(1))
    assert parts.dtype == whole.dtype == object
    assert all(sample > 0 for sample in parts)


def test_wide_noise_is_never_added_to_narrow_integers_in_silence():
    values = np.zeros(3, dtype=np.int64)
    with pytest.raises((TypeError, OverflowError)):
        values += noise.sample_discrete_laplace(Fraction(1, 2**70), 3, SeededEntropy(1))


@pytest.mark.parametrize("distribution", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    ("cap", "queries", "epsilon"),
    [(1000.0, 10**9, 1e-3), (1.0, 10**9, 1e-6), (2.0**40, 10**6, 0.1), (1e-9, 1, 50.0)],
)
def test_answers_of_a_session_err_as_much_as_they_claim(distribution, cap, queries, epsilon):
    graph = Graph([0], [1], [cap / 2], vertices=4, weight_cap=cap)
    session = PerQueryNoise(
        distribution=distribution,
        universe=Universe.of(graph),
        grid=Grid.of(graph),
        epsilon=epsilon,
        delta=1e-6 if distribution == "gaussian" else 0.0,
        queries=queries,
    )
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
        if distribution == "laplace":
            # Some weights are rounded up to whole steps: the scale is larger by less than 1e-8.
            scale, shape = queries / epsilon, "laplace"
        else:
            scale, shape = float(session._scale_squared) ** 0.5, "norm"
        far = scipy.stats.kstwo.isf(1e-9, len(errors))
        assert scipy.stats.kstest(np.array(errors) / scale, shape).statistic < far


def test_a_bought_value_can_be_of_any_size():
    drawn = [ValueNoise("laplace", Fraction(1, 2**80)).draw(SeededEntropy(n)) for n in range(40)]
    assert 2**76 < np.mean([abs(value) for value in drawn]) < 2**84
