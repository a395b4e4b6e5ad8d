"""Rates, privacy loss and error bounds of a private least cut, from public numbers alone.

`graphcuts_dp.cuts.least` draws a cut with discrete Laplace noise D on the cost of each vertex. Its
proof shows that this *noisy cut* weighs more than the least one by at most the sum of max(0, D)
over the n vertices; here a Chernoff bound is computed for that sum. Then it measures what the
noisy cut weighs, and what the *trivial cuts* do, in which one terminal keeps all free vertices.
`CutRates` are the rates of all noise, and `CutErrors` bounds what the noise of weights does. Noise
is a whole number of grid units; a *grid unit* is a weight that the caller chooses.
"""

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Self, final

import numpy as np

from graphcuts_dp.privacy.count_noise import discrete_laplace_radius
from graphcuts_dp.privacy.inversion import wide_context

# Of epsilon, for the weight of the noisy cut. The weights at terminals cost nothing more. On the
# tuning graphs of scripts/bench/bench_trivial_cuts.py, epsilon 0.3 to 3, it is within 1 % of the
# best share in the mean ratio to the optimum; smaller ones state larger errors.
WEIGHT_SHARE = Fraction(1, 8)
# Of the failure probability: for the excess of the noisy cut; of the rest, for its weight.
_EXCESS_FAILURE, _ACROSS_FAILURE = 0.5, 0.6
_DIGITS = 60  # of rates and losses, of which these binary ones are kept:
_RATE_BITS, _LOSS_BITS = 80, 100
# The Chernoff bound holds for each exponent t in (0, rate). The least bound of 999 exponents is
# taken; these are their t/rate.
_TILTS = np.linspace(0.001, 0.999, 999)


def least_cut_excess(n: int, rate: float | Fraction, *, unit: float = 1.0, beta: float) -> float:
    """Return a bound on the excess weight of the private least cut of n vertices.

    The excess is at most the sum of n independent X = max(0, D), where D is discrete Laplace noise:
    P(X = k) = (1-r)/(1+r) r^k for k >= 1, with r = e^-rate. By Markov's inequality for e^(t sum X),

        P(sum X >= x) <= E[e^(tX)]^n e^(-tx)    for every 0 < t < rate,

    which is beta for x = (n ln E[e^(tX)] - ln beta)/t. The least such x of a grid of t is returned.

    Args:
        n: number of vertices.
        rate: rate of the noise, per grid unit.
        unit: weight of one grid unit.
        beta: probability that the excess is larger, in (0, 1).
    """
    rate = float(rate)
    tilts = rate * _TILTS  # t, shape (999,)
    r = math.exp(-rate)
    # E[e^(tX)] - 1 = r (e^t - 1)/((1 + r)(1 - r e^t)), with r e^t = e^(t - rate). The 1 is left out
    # to keep digits: for small t the expectation is near 1, and log1p takes the difference from 1.
    moments_minus_one = r / (1 + r) * np.expm1(tilts) / -np.expm1(tilts - rate)
    log_moments = np.log1p(moments_minus_one)
    return unit * float(np.min((n * log_moments - math.log(beta)) / tilts))


@final
@dataclass(frozen=True, kw_only=True)
class CutRates:
    """The rates of all noise of a private least cut, per grid unit.

    Attributes:
        cut: of the noise on the cost of each vertex, in each halving.
        across: of the weight of the noisy cut, without pairs of two terminals.
        terminal: of the weight between each terminal and the free vertices.
        between: of the weight of the pairs of two different terminals.
    """

    cut: Fraction
    across: Fraction
    terminal: Fraction
    between: Fraction

    @classmethod
    def of(
        cls, epsilon: Fraction, change: int, halvings: int = 1, *, share: Fraction = WEIGHT_SHARE
    ) -> Self:
        """Return the rates by which one change of so many grid units loses at most epsilon.

        With x = `share` epsilon for `across`, this is `loss` solved for the others: for
        `cut`, rounded to a lower rate, by what a pair of free vertices loses; then for `terminal`
        by what is left to a pair of a terminal and a free vertex.
        """
        across = share * epsilon
        bounds = [(epsilon - across) / 2]
        for left, count in ((epsilon, halvings), (epsilon - across, halvings - 1)):
            if halvings > 1:  # l(a) = ln(2 e^a - 1) is the share of each
                with localcontext(wide_context(_DIGITS)):
                    each = Decimal(left.numerator) / left.denominator / count
                    least = int(((each.exp() + 1) / 2).ln() * 2**_RATE_BITS) - 1
                bounds.append(Fraction(least, 2**_RATE_BITS))
        cut = min(bounds)
        at_terminal = max(cut + across, halvings * cut, (halvings - 1) * cut + across)
        return cls(
            cut=cut / change,
            across=across / change,
            terminal=(epsilon - at_terminal) / change,
            between=epsilon / change,
        )

    def loss(self, change: int, halvings: int = 1) -> Fraction:
        """Return what all noise together loses by one change of so many grid units.

        With h halvings, a = `cut` change, l = ln(2e^a - 1), and x, f, b the other rates times the
        change, the loss by Theorem "Weights of cuts" is at most

            max(2a + x, h l, (h - 1) l + x)          for a pair of free vertices,
            f + max(a + x, h a, (h - 1) a + x)       for a pair of a terminal and a free vertex,
            b                                        for a pair of two terminals.
        """
        a, x = self.cut * change, self.across * change
        with localcontext(wide_context(_DIGITS)):
            once = (2 * (Decimal(a.numerator) / a.denominator).exp() - 1).ln()
            most = Fraction(int(once * 2**_LOSS_BITS) + 1, 2**_LOSS_BITS)
        free = max(2 * a + x, (halvings - 1) * most + x)
        if halvings > 1:  # of one, l <= 2a, and the power series of l loses digits
            free = max(free, halvings * most)
        at_terminal = max(a + x, halvings * a, (halvings - 1) * a + x)
        return max(free, self.terminal * change + at_terminal, self.between * change)

    def mean_excess(self, n: int, terminals: int) -> float:
        """Return a bound on the mean excess of the released cut over the least one, in grid units.

        The mean of max(0, D) for discrete Laplace noise D of rate r is 1/(2 sinh r). The noisy cut
        weighs more than the least one by a sum of n of them in each halving. A trivial cut is
        released if its measured weight is less, and weighs more than the noisy cut by at most one
        of them for `across`, and one for each terminal.

        Args:
            n: number of vertices.
            terminals: their number.
        """
        halvings = math.ceil(math.log2(terminals))
        parts = (self.cut, halvings * n), (self.across, 1), (self.terminal, terminals)
        return sum(count / (2 * math.sinh(float(rate))) for rate, count in parts)


@final
@dataclass(frozen=True, kw_only=True)
class CutErrors:
    """Bounds on errors of a private least cut, in weight, which hold together with 1 - beta.

    Attributes:
        noisy: how much more the noisy cut weighs than the least one, over all halvings.
        across: error of the measured weight of the noisy cut, without pairs of two terminals.
        terminal: likewise of the weight between a terminal and the free vertices.
        trivial: of a trivial cut, which adds up all of these but one.
        between: error of the measured weight of the pairs of two terminals.
    """

    noisy: float
    across: float
    terminal: float
    trivial: float
    between: float

    @classmethod
    def of(cls, rates: CutRates, n: int, terminals: int, *, unit: float, beta: float) -> Self:
        """Return the bounds.

        Half of beta is for the noisy cut; of the other half .6 for its weight, and equal parts for
        the weight at each terminal and the one between them.

        Args:
            rates: of the noise.
            n: number of vertices.
            terminals: their number k; a trivial cut adds up k - 1 weights.
            unit: weight of one grid unit.
            beta: probability that any of them fails, in (0, 1).
        """
        halvings = math.ceil(math.log2(terminals))
        first = beta * _EXCESS_FAILURE / halvings
        excess = halvings * least_cut_excess(n, rates.cut, unit=unit, beta=first)
        weights = beta * (1 - _EXCESS_FAILURE)
        single = weights * (1 - _ACROSS_FAILURE) / (terminals + 1)

        def radius(rate: Fraction, failure: float) -> float:
            return unit * discrete_laplace_radius(float(rate), failure=failure)

        at_terminal = radius(rates.terminal, single)
        return cls(
            noisy=excess,
            across=radius(rates.across, weights * _ACROSS_FAILURE),
            terminal=at_terminal,
            trivial=(terminals - 1) * at_terminal,
            between=radius(rates.between, single),
        )

    @property
    def above_trivial(self) -> float:
        """Return a bound on how much more than the lightest trivial cut the released one weighs.

        The released cut has the least measured weight. If it is the noisy cut, both weights may be
        in error; if it is another trivial one, the two differ in one terminal each.
        """
        return max(self.across + self.trivial, 2 * self.terminal)

    @property
    def above_least(self) -> float:
        """Return a bound on how much more than the least cut the released one weighs, always.

        The noisy cut is within `noisy` of it. A trivial one is released only if its measured weight
        is the lower one, so that it weighs at most `across` + `trivial` more than the noisy cut.
        """
        return self.noisy + self.across + self.trivial
