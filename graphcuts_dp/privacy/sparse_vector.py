"""Sparse vector tests: is the true answer far from the answer of a public hypothesis?

An online mechanism has a public *hypothesis*, a guess of the data that predicts answers. A test
compares the true answer q (`truth`) with the predicted answer h (`estimate`), and *fires* if the
gap q - h is large. Each test that fires is an *update*: the mechanism corrects its hypothesis. It
counts updates, and reads no more data after a number c of them that was fixed beforehand. A test
never releases q by itself; it reports the sign of a large gap, or that the gap is small. Answers
are counted in grid units: q is a whole number, h need not be.

Neighbours' true answers change in one direction: adding weight to one pair raises every cut that
the pair crosses, by at most s grid units (the *sensitivity*), and lowers none.

A test of the sparse vector technique runs in *instances*. An instance draws one noisy threshold
when it starts, and ends when it fires; then it is restarted with a new one. Silent tests cost
nothing beyond that. The noise of the running instances is the *secret* of the mechanism.

Three kinds of tests share the interface `GapTest`: `OneSidedPair` (ours, the cheapest),
`SharedThreshold` (DR14) and `NoisyComparison` (GRU12, JT12). Theorems are in docs/mathematics.md.

Papers: DR14 is Dwork, Roth, *The Algorithmic Foundations of Differential Privacy*, 2014; GRU12 is
Gupta, Roth, Ullman, *Iterative Constructions and Private Data Release*, 2012; JT12 is Jain,
Thakurta, *Mirror Descent based Database Privacy*, 2012.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol, final

from graphcuts_dp.privacy.composition import Cost, rounded_up
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_laplace, sample_geometric
from graphcuts_dp.privacy.noisy_comparison import comparison_epsilon

Secret = tuple[int, ...]  # noise of the thresholds of the running instances, in grid units
Sign = Literal[1, -1]  # 1: the true answer is above the predicted one; -1: below


@final
@dataclass(frozen=True)
class GapFinding:
    """The result of one test.

    Attributes:
        sign: 1 if the true answer is far above the predicted one, -1 if far below, None if the test
            did not fire.
        value: noisy true answer, in grid units; None if the test releases none.
    """

    sign: Sign | None
    value: int | None = None


class GapTest(Protocol):
    """A kind of test with its noise. It has no state: callers keep the secret, and pass it on.

    The order of draws in `start`, `run` and `restart` must not change: recorded outputs of seeded
    sources depend on it.
    """

    @property
    def sides(self) -> int:
        """Number of instances that run at the same time."""

    def start(self, source: EntropySource) -> Secret:
        """Draw the secret of `sides` new instances."""

    def run(
        self, secret: Secret, truth: int, estimate: Fraction, source: EntropySource
    ) -> GapFinding:
        """Test one query.

        Args:
            secret: of the running instances.
            truth: true answer q, in grid units. Private.
            estimate: predicted answer h, in grid units.
            source: of the noise.
        """

    def restart(self, secret: Secret, sign: Sign, source: EntropySource) -> Secret:  # noqa: ARG002
        """Draw the secret after a restart of the instance that fired with this sign."""
        return self.start(source)

    def cost(self, sensitivity: int, *, updates: int, delta: float) -> Cost:
        """Return the cost of all tests, and of the values that they release.

        Args:
            sensitivity: s, the largest change of a true answer, in grid units.
            updates: c >= 0, the number of tests that may fire; after that no data are read.
            delta: for which a cost that is not pure is stated: in [0, 1), and above 0 for
                `NoisyComparison`.
        """


@final
@dataclass(frozen=True)
class OneSidedPair(GapTest):
    """Two AboveThreshold tests, one for "q is above h" and one for "h is above q".

    The upper instance has a secret R >= 0, geometric of rate r1. It fires at the first query with
    q + N >= ceil(h + T) + R, where N >= 0 is fresh, geometric noise of rate r2. The lower instance
    does the same with -q and -h. Rounding h + T up changes nothing: it is public, and a whole
    number is at least x if and only if it is at least ceil(x).

    Attributes:
        threshold_rate: r1, for one grid unit.
        query_rate: r2, for one grid unit.
        threshold: T, in grid units; may be negative.

    Privacy:
        Theorem "One-sided sparse vector tests": let true answers change by at most s in one
        direction, a = s r1 and b = s r2. One instance is (a + b)-DP. Its privacy loss has range
        a + 2 b (largest minus smallest), so it is ((a + 2 b)^2/8)-zCDP. Queries may be chosen after
        earlier answers. `cost` states this, for one change in one direction. Where a change raises
        some answers and lowers others, callers count it as two changes (`PrivacyUnit.either_way`).

    Source: DR14 section 3.6 (AboveThreshold); Lyu, Su, Li 2017 (monotone queries).
    """

    threshold_rate: Fraction
    query_rate: Fraction
    threshold: Fraction

    sides = 2  # the upper and the lower instance

    def start(self, source: EntropySource) -> Secret:
        """Draw R of the upper and of the lower instance."""
        up, down = sample_geometric(self.threshold_rate, 2, source)
        return int(up), int(down)

    def run(
        self, secret: Secret, truth: int, estimate: Fraction, source: EntropySource
    ) -> GapFinding:
        """Test one query with the upper instance, and with the lower one if that is silent.

        The noises of both are always drawn, the upper one first.
        """
        up, down = (int(noise) for noise in sample_geometric(self.query_rate, 2, source))
        if truth + up >= math.ceil(self.threshold + estimate) + secret[0]:
            return GapFinding(1)
        if -truth + down >= math.ceil(self.threshold - estimate) + secret[1]:
            return GapFinding(-1)
        return GapFinding(None)

    def restart(self, secret: Secret, sign: Sign, source: EntropySource) -> Secret:
        """Draw a new R for the instance that fired; the other one goes on."""
        fresh = int(sample_geometric(self.threshold_rate, 1, source)[0])
        return (fresh, secret[1]) if sign > 0 else (secret[0], fresh)

    def cost(self, sensitivity: int, *, updates: int, delta: float) -> Cost:  # noqa: ARG002
        """Return the cost of c + 2 instances: two at the start, and one for each restart.

        The restart after the last update is counted, too, although that instance reads no data.
        """
        pure = (updates + 2) * sensitivity * (self.threshold_rate + self.query_rate)
        loss_range = sensitivity * (self.threshold_rate + 2 * self.query_rate)
        rho = rounded_up((updates + 2) * loss_range**2 / 8)
        return Cost(epsilon=rounded_up(pure), rho=rho, pure=pure)


@final
@dataclass(frozen=True)
class SharedThreshold(GapTest):
    """Both one-sided tests against one noisy threshold, with two-sided noise: DR14's Sparse.

    The test fires with sign 1 if q - h + N >= T + R, else with sign -1 if h - q + N' >= T + R.

    Attributes:
        threshold_rate: r1, of R, for one grid unit.
        query_rate: r2, of N and N', for one grid unit.
        threshold: T, in grid units.

    Privacy:
        Let true answers change by at most s in either direction. One instance is
        (s r1 + 2 s r2)-DP. The proof of AboveThreshold in DR14 shifts R by s and N by 2 s, and
        needs only that a shift changes probabilities by a factor of at most e^(r shift), which
        holds for discrete Laplace noise. Rounding the public side up to a whole number changes
        nothing, as for `OneSidedPair`.

    Source: DR14 Alg. 2 and 3 (Sparse, NumericSparse), as used by Alg. 11, with discrete Laplace
    noise in place of real Laplace noise.
    """

    threshold_rate: Fraction
    query_rate: Fraction
    threshold: Fraction

    sides = 1  # one instance runs both tests

    def start(self, source: EntropySource) -> Secret:
        """Draw the noise R of the threshold."""
        return (int(sample_discrete_laplace(self.threshold_rate, 1, source)[0]),)

    def run(
        self, secret: Secret, truth: int, estimate: Fraction, source: EntropySource
    ) -> GapFinding:
        """Test one query on both sides."""
        up, down = (int(noise) for noise in sample_discrete_laplace(self.query_rate, 2, source))
        if truth + up >= math.ceil(self.threshold + estimate) + secret[0]:
            return GapFinding(1)
        if -truth + down >= math.ceil(self.threshold - estimate) + secret[0]:
            return GapFinding(-1)
        return GapFinding(None)

    def cost(self, sensitivity: int, *, updates: int, delta: float) -> Cost:  # noqa: ARG002
        """Return the cost of one instance for each update, and of one at least.

        After the last update the mechanism halts, so no further instance starts.
        """
        instance_epsilon = sensitivity * (self.threshold_rate + 2 * self.query_rate)
        return Cost.of_pure(instance_epsilon).times(max(1, updates))


@final
@dataclass(frozen=True)
class NoisyComparison(GapTest):
    """A fresh noisy answer, which is released if it is far from the predicted one.

    The test fires if |q + Z - h| > T, and then releases q + Z. It has no secret.

    Attributes:
        rate: of Z, two-sided, for one grid unit.
        threshold: T, in grid units.

    Privacy:
        Theorem "Noisy comparison with a public guess": one noisy answer alone is (s rate)-DP, and
        at most c of them are released. The cost does not depend on the number of tests.

    Source: GRU12 Alg. 1; JT12 Alg. 1; with discrete Laplace noise in place of real Laplace noise.
    """

    rate: Fraction
    threshold: Fraction

    sides = 1  # one test for gaps of both signs

    def start(self, source: EntropySource) -> Secret:  # noqa: ARG002
        """Return an empty secret: all noise is fresh."""
        return ()

    def run(
        self,
        secret: Secret,  # noqa: ARG002
        truth: int,
        estimate: Fraction,
        source: EntropySource,
    ) -> GapFinding:
        """Test one query."""
        noisy_answer = truth + int(sample_discrete_laplace(self.rate, 1, source)[0])
        if abs(noisy_answer - estimate) <= self.threshold:
            return GapFinding(None)
        return GapFinding(1 if noisy_answer > estimate else -1, noisy_answer)

    def cost(self, sensitivity: int, *, updates: int, delta: float) -> Cost:
        """Return the cost of all tests until c have fired, for a delta above 0.

        Raises:
            ParameterError: delta is not in (0, 1), or the noise is too small for a proof.
        """
        count_epsilon = rounded_up(sensitivity * self.rate)
        epsilon = comparison_epsilon(count_epsilon, updates=max(1, updates), delta=delta)
        return Cost(epsilon=epsilon, delta=delta)
