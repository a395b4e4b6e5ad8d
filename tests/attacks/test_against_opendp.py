"""Our samplers beside OpenDP's, an implementation that shares no code with them.

OpenDP is in the extra `bench` only; without it these tests are skipped, and say so. Both draw from
the operating system, so no seed can be fixed: each comparison is a chi-square test of two samples
at a level of 1e-9, in cells that hold at least 1000 of both together, and there are fewer than 20.
"""

from fractions import Fraction

import numpy as np
import pytest
import scipy.stats

from graphcuts_dp.privacy.noise import (
    SystemEntropy,
    sample_discrete_gaussian,
    sample_discrete_laplace,
    sample_flips,
)

dp = pytest.importorskip("opendp.prelude", reason="OpenDP is not installed: pip install '.[bench]'")

pytestmark = pytest.mark.slow
SIZE = 100_000
LEVEL = 1e-9
LEAST = 1000


def difference(first, second):
    """p-value of a chi-square test that two samples have one distribution."""
    low, high = min(first.min(), second.min()), max(first.max(), second.max())
    table = np.array(
        [np.bincount(each - low, minlength=high - low + 1) for each in (first, second)]
    )
    cells, held = [], np.zeros(2)
    for column in table.T:
        held = held + column
        if held.sum() >= LEAST:
            cells.append(held)
            held = np.zeros(2)
    cells[-1] = cells[-1] + held
    return scipy.stats.chi2_contingency(np.array(cells), correction=False).pvalue


def peer(name, scale):
    """Noise of OpenDP on zeros."""
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int), SIZE)
    if name == "laplace":
        measurement = dp.m.make_laplace(space, dp.l1_distance(T=int), scale=scale)
    else:
        measurement = dp.m.make_gaussian(space, dp.l2_distance(T=float), scale=scale)
    return np.array(measurement([0] * SIZE))


@pytest.mark.parametrize("scale", [0.5, 1.0, 10.0, 300.0])
def test_discrete_laplace(scale):
    ours = sample_discrete_laplace(1 / Fraction(scale), SIZE, SystemEntropy())
    assert difference(ours, peer("laplace", scale)) > LEVEL


@pytest.mark.parametrize("scale", [0.5, 2.0, 40.0])
def test_discrete_gaussian(scale):
    ours = sample_discrete_gaussian(Fraction(scale) ** 2, SIZE, SystemEntropy())
    assert difference(ours, peer("gaussian", scale)) > LEVEL


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_flips(epsilon):
    ours = sample_flips(Fraction(epsilon), SIZE, SystemEntropy()).astype(int)
    dp.enable_features("contrib")
    keep = 1 / (1 + np.exp(-epsilon))
    measurement = dp.m.make_randomized_response_bool(prob=float(keep))
    theirs = np.array([measurement(False) for _ in range(SIZE // 4)]).astype(int)
    assert difference(ours, theirs) > LEVEL


def test_twins_of_another_scale_are_rejected():
    """Ten per cent is seen with overwhelming probability: the statistic is 3 times its limit."""
    assert difference(
        sample_discrete_laplace(Fraction(11, 100), SIZE, SystemEntropy()), peer("laplace", 10.0)
    ) < LEVEL  # fmt: skip
    assert difference(
        sample_discrete_gaussian(Fraction(44) ** 2, SIZE, SystemEntropy()), peer("gaussian", 40.0)
    ) < LEVEL  # fmt: skip
