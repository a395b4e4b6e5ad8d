"""Bounds on the noise of sums over a partition, for all partitions of the vertices at once.

Whoever chooses a partition after looking at noisy entries chooses its noise along with it. So the
bounds must hold for all partitions. A failure probability is divided among them: each partition
gets a *share*, and the shares add up to at most 1. The weight within parts is a sum of noisy
entries, and `NoiseSum` is the law of their noise; the weight between parts is the total less that.
A *cut in two* is a set of vertices against all others.

Functions take a failure probability as `log_failures`, which is ln(1/probability). A share is
returned in the same way, as ln(1/share), so that both are added.
"""

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.noise_sums import NoiseSum, NoiseTerm

# Whoever bounds the values of partitions needs bounds of four kinds at once, and divides the
# failure probability among them: FOR_EACH for single cuts, for cuts in two, and for partitions;
# FOR_TOTAL for the total weight. The four add up to 1. This file does not use them.
FOR_EACH = 0.3
FOR_TOTAL = 0.1
_OUTWARD = 1e-9  # relative: more than the rounding of logarithms of factorials


def log_partitions(sizes: Sequence[int]) -> float:
    """Return ln of 1 over the share of each partition whose parts have these sizes.

    The share is divided in three steps, each time in equal parts:

    1. among the numbers of parts k = 1..n;
    2. among the lists of k sizes. There are at most C(n-1, k-1), and at most e^(pi sqrt(2n/3));
    3. among the partitions with a list of sizes. There are n!/(n_1! ... n_k! m_1! m_2! ...), with
       n_i the sizes and m_j the number of parts of the j-th size.

    Args:
        sizes: of the parts, >= 1.
    """
    n, k = sum(sizes), len(sizes)
    log_ways = math.lgamma(n + 1) - math.fsum(math.lgamma(size + 1) for size in sizes)
    log_ways -= math.fsum(math.lgamma(count + 1) for count in Counter(sizes).values())
    log_lists = math.lgamma(n) - math.lgamma(k) - math.lgamma(n - k + 1)
    log_lists = min(log_lists, math.pi * math.sqrt(2 * n / 3))
    return math.log(n) + log_lists + log_ways + _OUTWARD * (1 + log_ways)


@lru_cache(maxsize=1 << 14)
def radius(distribution: NoiseDistribution, pairs: int, log_failures: float) -> float:
    """Return a bound on the error of a sum of noisy entries.

    Args:
        distribution: of the noise of an entry.
        pairs: how many entries are added up.
        log_failures: of the bound. What rounding weights down takes is added.
    """
    noise = NoiseSum.of([NoiseTerm(distribution.law, 1.0, pairs)])
    return noise.radius(log_failures) + pairs * distribution.rounding if pairs else 0.0


class PartitionNoise(NamedTuple):
    """Bounds on the noise of sums of noisy entries over partitions of n vertices.

    Attributes:
        distribution: of the noise of each entry.
        log_failures: ln of 1 over p. With probability p at most, the sum within the parts of some
            partition exceeds its bound; and with probability p at most, some cut in two does.
    """

    distribution: NoiseDistribution
    log_failures: float

    def within(self, sizes: Sequence[int]) -> float:
        """Return a bound on the noise of the weight within parts, for all partitions at once.

        Args:
            sizes: of the parts.
        """
        pairs = sum(int(size) * (int(size) - 1) // 2 for size in sizes)
        return radius(self.distribution, pairs, self.log_failures + log_partitions(sizes))

    def across(self, size: int, n: int) -> float:
        """Return a bound on the noise of the weight of a cut in two, for all of them at once.

        Each size up to n/2 gets a share of 1/n, and each set of a size the same part of it.

        Args:
            size: number of vertices on one side, at most n/2.
            n: number of vertices.
        """
        log_ways = math.lgamma(n + 1) - math.lgamma(size + 1) - math.lgamma(n - size + 1)
        log_share = math.log(n) + log_ways * (1 + _OUTWARD)
        return radius(self.distribution, size * (n - size), self.log_failures + log_share)

    def worst(self, n: int) -> float:
        """Return a bound on the noise of the weight of every cut in two.

        Twice this number bounds the noise of the weight between the parts of any partition: put
        each part on either side of a cut in two at random; the cut holds half of that weight on
        average.

        Args:
            n: number of vertices, at least 2.
        """
        return max(self.across(size, n) for size in range(1, n // 2 + 1))
