"""Tests whether a private count is above a hypothesis by more than a threshold.

The tests of `interactive.sparse_vector` do not fit: `OneSidedPair` needs neighbours of which one
is never below the other, and when a person moves some distances grow and others shrink;
`SharedThreshold` tests both signs, and a learner whose hypothesis lies below the truth needs one.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_geometric


@final
@dataclass(frozen=True)
class AboveThreshold:
    """Fires when q + N >= h + T + R.

    R >= 0 is geometric of rate r1, drawn once for each instance; N >= 0 is fresh and geometric of
    rate r2. An instance is used until it fires once.

    Guarantee, for counts q that change by at most s steps either way, a = s r1 and b = s r2: one
    instance is (a + 2 b)-DP, hence (a + 2 b)^2/2-zCDP, also for queries and hypotheses that are
    chosen after earlier answers.

    Proof. Fixed choices of the analyst fix the thresholds A_i = h_i + T, and the output is the
    number j of the test that fires. P(j) = sum over R >= 0 of
    p(R) prod_{i<j} P(q_i + N < A_i + R) P(q_j + N >= A_j + R), where p(R + s) = e^-a p(R) and
    G(x) = P(N >= x) = e^(-r2 max(x, 0)) has G(x + 2 s) >= e^(-2 b) G(x). For q' = q + d with
    |d_i| <= s, put R + s for R in P'(j): terms are left out, p falls by e^-a, no silent factor
    falls (d_i <= s), and the last is G(A_j + R + s - q_j - d_j) >= e^(-2 b) G(A_j + R - q_j). So
    P'(j) >= e^(-a - 2 b) P(j), and likewise for silence to the end. Exchange q and q'.

    Attributes:
        threshold_rate: r1, of one step.
        query_rate: r2, of one step.
        threshold: T, in steps.

    Source: DR14 section 3.6 (AboveThreshold), with one-sided noise.
    """

    threshold_rate: Fraction
    query_rate: Fraction
    threshold: int

    def start(self, source: EntropySource) -> int:
        """R of a new instance. Secret."""
        return int(sample_geometric(self.threshold_rate, 1, source)[0])

    def fires(self, secret: int, truth: int, estimate: int, source: EntropySource) -> bool:
        """Test once.

        Args:
            secret: R of the running instance.
            truth: q, in steps.
            estimate: h, in steps.
            source: of N.
        """
        noise = int(sample_geometric(self.query_rate, 1, source)[0])
        return truth + noise >= estimate + self.threshold + secret

    def cost(self, sensitivity: int) -> Fraction:
        """Pure epsilon of one instance, a + 2 b, exactly."""
        return sensitivity * (self.threshold_rate + 2 * self.query_rate)


def geometric_quantile(rate: Fraction, *, failure: float) -> int:
    """The least whole t with P(N > t) = e^(-rate (t+1)) <= failure.

    Args:
        rate: > 0.
        failure: in (0, 1).
    """
    return max(0, math.ceil(-math.log(failure) / float(rate) * (1 + 1e-12)) - 1)
