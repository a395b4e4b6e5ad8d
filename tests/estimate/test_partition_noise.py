"""Shares of a failure probability for all partitions; bounds against noise that is drawn."""

import math
from collections import Counter

import numpy as np
import pytest

from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.estimate.partition_noise import PartitionNoise, log_partitions, radius


def sizes_of_partitions(n, largest=None):
    """Generate the sizes of the parts of n vertices, the largest part first."""
    if not n:
        yield ()
    for first in range(min(n, largest or n), 0, -1):
        for others in sizes_of_partitions(n - first, first):
            yield (first, *others)


def count_partitions(sizes):
    """Count the partitions whose parts have these sizes."""
    count = math.factorial(sum(sizes))
    for size, parts in Counter(sizes).items():
        count //= math.factorial(size) ** parts * math.factorial(parts)
    return count


@pytest.mark.parametrize("n", [1, 2, 5, 9, 14, 30])
def test_shares_of_all_partitions_add_up_to_one_at_most(n):
    total = sum(
        count_partitions(sizes) * math.exp(-log_partitions(sizes))
        for sizes in sizes_of_partitions(n)
    )
    assert 0 < total <= 1


def draw_errors(distribution, pairs, rng):
    """Draw the errors of entries that are 0, by numpy's generator, which is fast."""
    if distribution.bits:
        bits = rng.random(pairs) < distribution.offset
        return (bits - distribution.offset) * distribution.unit
    p = -math.expm1(-float(distribution.rate))
    return (rng.geometric(p, pairs) - rng.geometric(p, pairs)) * distribution.unit


@pytest.mark.parametrize("name", ["binary", "laplace", "discrete-laplace"])
def test_no_cut_in_two_and_no_partition_of_pure_noise_passes_its_bound(name):
    """All 2^11 cuts in two of 12 vertices without edges, at failure probability 0.2.

    Of 60 independent draws more than 30 fail with probability below 1e-6. The incorrect variant
    has the bound of a single cut; it fails nearly always.
    """
    n, draws, log_failure = 12, 60, -math.log(0.2)
    distribution = noise_distribution(name, epsilon=0.7, max_weight=1.0)
    noise = PartitionNoise(distribution, log_failure)
    masks = np.array([[number >> v & 1 for v in range(n)] for number in range(1, 1 << (n - 1))])
    sizes = masks.sum(axis=1).tolist()
    bound_across = np.array([noise.across(size, n) for size in sizes])
    bound_within = np.array([noise.within((size, n - size)) for size in sizes])
    bound_of_one_cut = np.array(
        [radius(distribution, size * (n - size), log_failure) for size in sizes]
    )

    rng = np.random.default_rng(7)
    failures = {"across": 0, "within": 0, "bound of one cut": 0}
    for _ in range(draws):
        upper = np.zeros((n, n))
        upper[np.triu_indices(n, 1)] = draw_errors(distribution, n * (n - 1) // 2, rng)
        errors = upper + upper.T
        across = np.einsum("ij,ij->i", masks @ errors, 1 - masks)
        within = errors.sum() / 2 - across
        failures["across"] += bool((np.abs(across) > bound_across).any())
        failures["within"] += bool((np.abs(within) > bound_within).any())
        failures["bound of one cut"] += bool((np.abs(across) > bound_of_one_cut).any())

    assert failures["across"] <= 30
    assert failures["within"] <= 30
    assert failures["bound of one cut"] >= 50


def test_bounds_grow_with_the_pairs_and_shrink_with_the_failure_probability():
    distribution = noise_distribution("binary", epsilon=1.0, max_weight=1.0)
    rare_failure, usual_failure = (PartitionNoise(distribution, log) for log in (20.0, 2.0))
    assert rare_failure.across(20, 40) > usual_failure.across(20, 40)
    assert usual_failure.across(20, 40) > usual_failure.across(3, 40) > 0
    assert rare_failure.within((40,)) > rare_failure.within((20, 20)) * 0.9
    assert rare_failure.within((1,) * 40) == 0.0  # no pair lies within a part of one vertex
