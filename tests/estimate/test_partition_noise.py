"""Shares of a failure probability for all partitions; bounds against noise that is drawn."""

import math
from collections import Counter

import numpy as np
import pytest

from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.estimate.partition_noise import PartitionNoise, log_partitions, radius


def partitions_of(n, most=None):
    """Sizes that add up to n, the largest first."""
    if not n:
        yield ()
    for first in range(min(n, most or n), 0, -1):
        for rest in partitions_of(n - first, first):
            yield (first, *rest)


def ways(sizes):
    """How many partitions have these sizes."""
    found = math.factorial(sum(sizes))
    for size, count in Counter(sizes).items():
        found //= math.factorial(size) ** count * math.factorial(count)
    return found


@pytest.mark.parametrize("n", [1, 2, 5, 9, 14, 30])
def test_shares_of_all_partitions_add_up_to_one_at_most(n):
    total = sum(ways(sizes) * math.exp(-log_partitions(sizes)) for sizes in partitions_of(n))
    assert 0 < total <= 1


@pytest.mark.parametrize("name", ["binary", "laplace", "discrete-laplace"])
def test_no_cut_in_two_and_no_partition_of_pure_noise_passes_its_bound(name):
    """All cuts in two of noise of 12 vertices, at a confidence that 60 draws could refute.

    Failures of 60 independent draws with probability 0.2 at most: more than 30 have probability
    below 1e-6, and a bound without the share for all cuts fails nearly always.
    """
    n, cap, rng = 12, 1.0, np.random.default_rng(7)
    distribution = noise_distribution(name, epsilon=0.7, max_weight=cap)
    noise = PartitionNoise(distribution, -math.log(0.2))
    signs = np.array([[mask >> i & 1 for i in range(n)] for mask in range(1, 1 << (n - 1))])
    sizes = signs.sum(axis=1)
    across = {size: noise.across(size, n) for size in set(sizes.tolist())}
    within = {size: noise.within((size, n - size)) for size in set(sizes.tolist())}
    alone = {size: radius(distribution, size * (n - size), -math.log(0.2)) for size in across}
    limits = [np.array([each[size] for size in sizes.tolist()]) for each in (across, within, alone)]
    failed = np.zeros(3, dtype=int)
    for _ in range(60):
        upper = np.zeros((n, n))
        upper[np.triu_indices(n, 1)] = drawn(distribution, n * (n - 1) // 2, rng)
        noisy = upper + upper.T
        cuts = np.einsum("ij,ij->i", signs @ noisy, 1 - signs)
        inside = noisy.sum() / 2 - cuts
        for place, (sums, limit) in enumerate(zip((cuts, inside, cuts), limits, strict=True)):
            failed[place] += bool((np.abs(sums) > limit).any())
    assert (failed[:2] <= 30).all()
    assert failed[2] >= 50  # the twin: one cut's interval for the worst of all


def drawn(distribution, pairs, rng):
    """Errors of entries that are 0, by numpy."""
    if distribution.bits:
        bits = rng.random(pairs) < distribution.offset
        return (bits - distribution.offset) * distribution.unit
    p = -math.expm1(-float(distribution.rate))
    return (rng.geometric(p, pairs) - rng.geometric(p, pairs)) * distribution.unit


def test_bounds_grow_with_the_pairs_and_shrink_with_the_failure():
    distribution = noise_distribution("binary", epsilon=1.0, max_weight=1.0)
    wide, narrow = (PartitionNoise(distribution, log) for log in (20.0, 2.0))
    assert wide.across(20, 40) > narrow.across(20, 40) > narrow.across(3, 40) > 0
    assert wide.within((40,)) > wide.within((20, 20)) * 0.9
    assert wide.within((1,) * 40) == 0.0
