"""How far the weight of any partition can be off, for all partitions at once: it is chosen late.

Whoever picks a partition after looking at noisy entries picks its noise along with it. So each
partition gets a share of the failure probability, and shares of all partitions add up to at most
that. The noise of a sum of so many pairs is `NoiseSum`'s; weights between parts are what is not
within them.
"""

import math
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.noise_sums import NoiseSum, NoiseTerm

FOR_EACH = 0.3  # of a failure probability: for single cuts, for cuts in two, for partitions


def log_partitions(sizes: Sequence[int]) -> float:
    """Ln of 1 over the share of each partition whose parts have these sizes, among all partitions.

    Each number of parts k = 1..n has a share of 1/n; in it each list of sizes the same one, of
    which there are at most C(n-1, k-1), and at most e^(pi sqrt(2n/3)); and of a list each of the
    n!/(n_1! ... n_k! m_1! m_2! ...) partitions, m_j being how many parts have the j-th size.
    """
    n, k = sum(sizes), len(sizes)
    ways = math.lgamma(n + 1) - math.fsum(math.lgamma(size + 1) for size in sizes)
    ways -= math.fsum(math.lgamma(count + 1) for count in Counter(sizes).values())
    lists = math.lgamma(n) - math.lgamma(k) - math.lgamma(n - k + 1)
    return math.log(n) + min(lists, math.pi * math.sqrt(2 * n / 3)) + ways + 1e-9 * (1 + ways)


@lru_cache(maxsize=1 << 14)
def radius(distribution: NoiseDistribution, pairs: int, log_failures: float) -> float:
    """Of a sum of so many noisy entries, which rounding to fine grids may lower besides."""
    noise = NoiseSum.of([NoiseTerm(distribution.law, 1.0, pairs)])
    return noise.radius(log_failures) + pairs * distribution.rounding if pairs else 0.0


class PartitionNoise(NamedTuple):
    """Bounds on the noise of sums of noisy entries over partitions of n vertices.

    Attributes:
        distribution: of the noise of each entry.
        log_failures: ln of 1 over the probability that any partition passes its bound, and the same
            once more for any cut in two.
    """

    distribution: NoiseDistribution
    log_failures: float

    def within(self, sizes: Sequence[int]) -> float:
        """Of the weight within parts of these sizes, for all partitions at once."""
        pairs = sum(int(size) * (int(size) - 1) // 2 for size in sizes)
        return radius(self.distribution, pairs, self.log_failures + log_partitions(sizes))

    def across(self, size: int, n: int) -> float:
        """Of the weight between so many vertices and all others, for all cuts in two at once.

        Each size up to n/2 has a share of 1/n, and of it each set of that size the same part.
        """
        ways = math.lgamma(n + 1) - math.lgamma(size + 1) - math.lgamma(n - size + 1)
        share = math.log(n) + ways * (1 + 1e-9)
        return radius(self.distribution, size * (n - size), self.log_failures + share)

    def worst(self, n: int) -> float:
        """Of the weight across any cut in two of n vertices; two of these between any parts.

        A cut in two that takes each part to either side at random holds half of what is between
        the parts on average.
        """
        return max(self.across(size, n) for size in range(1, n // 2 + 1))
