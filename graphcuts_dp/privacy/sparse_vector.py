"""Tests whether a hypothesis is off: the part of an online mechanism that reads the truth.

A test compares the true answer q with a hypothesis's answer h, both counted in steps of the grid:
q is a whole number, h need not be. Of neighbours' true answers one is never below the other and
never more than s steps above it (s = `Grid.sensitivity`), the same one for all cuts: adding weight
to one pair raises every cut that it crosses.

A test never decides what an answer is; it tells the sign of the discrepancy, or that it is small.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol, final

from graphcuts_dp.privacy.composition import Cost, comparison_epsilon, rounded_up
from graphcuts_dp.privacy.noise import EntropySource, sample_discrete_laplace, sample_geometric

Secret = tuple[int, ...]
Sign = Literal[1, -1]  # +1: the truth is above the hypothesis; -1: below


@final
@dataclass(frozen=True)
class GapFinding:
    """What a test found.

    Attributes:
        sign: +1 when the truth is above the hypothesis, -1 below, None when nothing fired.
        value: noisy true answer in steps, from tests that make one.
    """

    sign: Sign | None
    value: int | None = None


class GapTest(Protocol):
    """One kind of test with its noise. Stateless: the noise of running instances is an argument.

    An instance lasts from its start until it fires.
    """

    @property
    def sides(self) -> int:
        """How many instances run at once."""

    def start(self, source: EntropySource) -> Secret:
        """Noise for `sides` new instances."""

    def run(
        self, secret: Secret, truth: int, estimate: Fraction, source: EntropySource
    ) -> GapFinding:
        """Test once.

        Args:
            secret: of the running instances.
            truth: q, in steps.
            estimate: h, in steps.
            source: where noise comes from.
        """

    def restart(self, secret: Secret, sign: Sign, source: EntropySource) -> Secret:  # noqa: ARG002
        """Noise after the instance that found `sign` has been replaced by a new one."""
        return self.start(source)

    def cost(self, sensitivity: int, *, updates: int, delta: float) -> Cost:
        """Of all tests until so many have fired, and values that they make.

        Args:
            sensitivity: s, by how many steps the truth can change.
            updates: c >= 0.
            delta: for which a cost that is not pure is stated, in [0, 1).
        """


@final
@dataclass(frozen=True)
class OneSidedPair(GapTest):
    """Two one-sided AboveThreshold instances: "query above hypothesis", "hypothesis above query".

    The upper one holds a secret R >= 0, geometric of rate r1, and fires at the first test with
    q + N >= ceil(h + T) + R, where N >= 0 is fresh and geometric of rate r2; the lower one likewise
    with -q and -h. Rounding h + T up is exact: it is public, and a whole number is at least x just
    when it is at least ceil(x).

    Guarantee, for one instance and a change of the truth by s steps, with a = s r1 and b = s r2:
    it is (a + b)-DP, its privacy loss has range a + 2 b, and it is (a + 2 b)^2/8-zCDP, whatever the
    queries, also when they are chosen after earlier answers.

    Proof. An instance is silent until it fires once, so fixed choices of the analyst fix the
    stream of thresholds A_i = ceil(h_i + T), and its output is the number j of the test that fires
    (or none). Let D' have q'_i = q_i + d_i with 0 <= d_i <= s, and
    P(j) = sum over R >= 0 of p(R) prod_{i<j} P(q_i + N < A_i + R) P(q_j + N >= A_j + R), where
    p(R + s) = e^-a p(R), and G(x) = P(N >= x) = e^(-r2 max(x, 0)) has G(x + s) >= e^-b G(x).
    Lower bound: put R + s for R in P'(j). Each silent factor can only grow, since d_i <= s. The
    last becomes G(A_j + R + s - q_j - d_j) >= e^(-r2 (s - d_j)) G(A_j + R - q_j). So
    P'(j) >= e^(-a - r2 (s - d_j)) P(j).
    Upper bound: with the same R, silent factors can only shrink, and the last grows by at most
    e^(r2 d_j): P'(j) <= e^(r2 d_j) P(j).
    So ln P'(j)/P(j) lies within [-a - b + x, x] with x = r2 d_j in [0, b] for every j (no firing:
    within [-a, 0]). Hence |ln| <= a + b, the loss lies in [-a - b, b], which has length a + 2 b,
    and a loss of range eta is eta^2/8-zCDP (Cesar, Rogers 2021, by Hoeffding's lemma). For the
    lower instance exchange D and D'. Interleaved and restarted instances add up in zCDP (Lyu 2022:
    concurrent composition of interactive mechanisms holds under Renyi divergence).

    Answers that change in both directions. Let q'_i = q_i + d_i with |d_i| <= s. The same proof,
    with R + s for R both ways, gives ln P'(j)/P(j) within [-a - b + x, a + b + x], x in [-b, b]:
    (a + 2 b)-DP and a range of 2 (a + 2 b), (a + 2 b)^2/2-zCDP, four times as much. Group privacy
    through a third graph, whose answers are at most as large as those of both neighbours, and by at
    most s smaller, gives 2 (a + b) and the same zCDP: nothing is lost by taking two steps for it.

    The usual single test of |q - h| has no monotone direction and costs four times as much zCDP.

    Attributes:
        threshold_rate: r1, of one step.
        query_rate: r2, of one step.
        threshold: T, in steps; may be negative.

    Source: DR14 section 3.6 (AboveThreshold); Lyu, Su, Li 2017 (monotone queries).
    """

    threshold_rate: Fraction
    query_rate: Fraction
    threshold: Fraction

    sides = 2  # two: above the threshold, and below its negative

    def start(self, source: EntropySource) -> Secret:
        """R of the upper and of the lower instance."""
        up, down = sample_geometric(self.threshold_rate, 2, source)
        return int(up), int(down)

    def run(
        self, secret: Secret, truth: int, estimate: Fraction, source: EntropySource
    ) -> GapFinding:
        """See `GapTest.run`. Both noises are drawn, whichever side fires; the upper one is first.

        The lower instance is not asked when the upper one fires: its test is left out.
        """
        up, down = (int(noise) for noise in sample_geometric(self.query_rate, 2, source))
        if truth + up >= math.ceil(self.threshold + estimate) + secret[0]:
            return GapFinding(1)
        if -truth + down >= math.ceil(self.threshold - estimate) + secret[1]:
            return GapFinding(-1)
        return GapFinding(None)

    def restart(self, secret: Secret, sign: Sign, source: EntropySource) -> Secret:
        """A new R for the side that fired."""
        fresh = int(sample_geometric(self.threshold_rate, 1, source)[0])
        return (fresh, secret[1]) if sign > 0 else (secret[0], fresh)

    def cost(self, sensitivity: int, *, updates: int, delta: float) -> Cost:  # noqa: ARG002
        """Of c + 2 instances: two at first, and one for each update."""
        pure = (updates + 2) * sensitivity * (self.threshold_rate + self.query_rate)
        span = sensitivity * (self.threshold_rate + 2 * self.query_rate)
        rho = rounded_up((updates + 2) * span**2 / 8)
        return Cost(epsilon=rounded_up(pure), rho=rho, pure=pure)


@final
@dataclass(frozen=True)
class SharedThreshold(GapTest):
    """Both one-sided tests against one noisy threshold, all noise two-sided: DR14's Sparse.

    Fires at q - h + N >= T + R, else at h - q + N' >= T + R.

    Attributes:
        threshold_rate: of R, for one step.
        query_rate: of N and N', for one step.
        threshold: T, in steps.

    Guarantee, for one instance and a truth that changes by s steps either way: it is
    (s r1 + 2 s r2)-DP. The proof of AboveThreshold shifts R by s and N by 2 s and needs ratios
    e^(r s) of the distributions only, which the discrete distributions have; rounding the
    hypothesis's side up to a whole number is exact.

    Source: DR14 Alg. 2 and 3 (Sparse, NumericSparse), as used by Alg. 11, with the discrete Laplace
    distribution in place of Laplace's.
    """

    threshold_rate: Fraction
    query_rate: Fraction
    threshold: Fraction

    sides = 1  # one instance sees both tests

    def start(self, source: EntropySource) -> Secret:
        """Draw the noisy threshold R."""
        return (int(sample_discrete_laplace(self.threshold_rate, 1, source)[0]),)

    def run(
        self, secret: Secret, truth: int, estimate: Fraction, source: EntropySource
    ) -> GapFinding:
        """See `GapTest.run`."""
        up, down = (int(noise) for noise in sample_discrete_laplace(self.query_rate, 2, source))
        if truth + up >= math.ceil(self.threshold + estimate) + secret[0]:
            return GapFinding(1)
        if -truth + down >= math.ceil(self.threshold - estimate) + secret[0]:
            return GapFinding(-1)
        return GapFinding(None)

    def cost(self, sensitivity: int, *, updates: int, delta: float) -> Cost:  # noqa: ARG002
        """One instance for each update: after the last one the mechanism halts."""
        one = sensitivity * (self.threshold_rate + 2 * self.query_rate)
        return Cost.of_pure(one).times(max(1, updates))


@final
@dataclass(frozen=True)
class NoisyComparison(GapTest):
    """One noisy answer is compared with the hypothesis, and released if it is far: no secret.

    Fires when |q + Z - h| > T, and the value is q + Z.

    Guarantee: the theorem of `comparison_moment`, with e = s rate and B = c, for any number of
    tests.

    Attributes:
        rate: of Z, for one step, two-sided.
        threshold: T, in steps.

    Source: GRU12 Alg. 1; JT12 Alg. 1; with the discrete Laplace distribution in place of Laplace's.
    """

    rate: Fraction
    threshold: Fraction

    sides = 1  # one test for gaps of both signs

    def start(self, source: EntropySource) -> Secret:  # noqa: ARG002
        """Keep nothing: all noise is fresh."""
        return ()

    def run(
        self,
        secret: Secret,  # noqa: ARG002
        truth: int,
        estimate: Fraction,
        source: EntropySource,
    ) -> GapFinding:
        """See `GapTest.run`."""
        noisy = truth + int(sample_discrete_laplace(self.rate, 1, source)[0])
        if abs(noisy - estimate) <= self.threshold:
            return GapFinding(None)
        return GapFinding(1 if noisy > estimate else -1, noisy)

    def cost(self, sensitivity: int, *, updates: int, delta: float) -> Cost:
        """After the last update the mechanism halts. Needs delta > 0."""
        each = rounded_up(sensitivity * self.rate)
        epsilon = comparison_epsilon(each, updates=max(1, updates), delta=delta)
        return Cost(epsilon=epsilon, delta=delta)
