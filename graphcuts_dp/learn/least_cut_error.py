"""Rates, privacy loss and error bounds of a private least cut, from public numbers alone.

`graphcuts_dp.cuts.least` draws a cut with discrete Laplace noise D on the cost of each vertex. Its
proof shows that this *noisy cut* weighs more than the least one by at most the sum of max(0, D)
over the n vertices; here a Chernoff bound is computed for that sum. With more than two terminals
each *halving* is such a cut, and the excess is that over the least cuts of all halvings, added up.
Then the weights of the noisy cut and of the *trivial cuts* are measured, in which one terminal
keeps all free vertices. `CutRates` are the rates of all noise, and `CutErrors` bounds its effects.
Noise is a whole number of grid units; a *grid unit* is a weight that the caller chooses.
"""

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Self, final

import numpy as np

from graphcuts_dp.privacy.count_noise import discrete_laplace_radius
from graphcuts_dp.privacy.inversion import wide_context

# Share of epsilon for the weight of the noisy cut. The weights at terminals cost nothing more. On
# the tuning graphs of scripts/bench/bench_trivial_cuts.py, epsilon 0.3 to 3, the mean ratio to the
# optimum is within 1 % of that of the best share; smaller shares give larger errors.
WEIGHT_SHARE = Fraction(1, 8)
# Shares of the failure probability: that of the excess of the noisy cut in all of it, and that of
# the weight of the noisy cut in the remainder.
_EXCESS_FAILURE, _ACROSS_FAILURE = 0.5, 0.6
_DIGITS = 60  # decimal digits of rates and losses
_RATE_BITS, _LOSS_BITS = 80, 100  # binary digits after the point that are kept of them
# The Chernoff bound holds for each exponent t in (0, rate). The least bound of 999 exponents is
# taken; these are their t/rate.
_TILTS = np.linspace(0.001, 0.999, 999)


def halvings_of(terminals: int) -> int:
    """Return the number ceil(log2 k) of halvings that part k >= 2 terminals."""
    return (terminals - 1).bit_length()


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
        cut: rate of the noise on the cost of each vertex, in each halving.
        across: rate for the weight of the noisy cut without pairs of two terminals.
        terminal: rate for the weight between each terminal and the free vertices.
        between: rate for the weight of the pairs of two different terminals.
    """

    cut: Fraction
    across: Fraction
    terminal: Fraction
    between: Fraction

    @classmethod
    def of(
        cls, epsilon: Fraction, change: int, halvings: int = 1, *, share: Fraction = WEIGHT_SHARE
    ) -> Self:
        """Return the rates with which one change by so many grid units loses at most epsilon.

        First `across` gets `share` of epsilon. Then `cut` is the largest rate, rounded down, with
        which a pair of free vertices loses at most epsilon (`loss`), and `terminal` the largest
        with which a pair of a terminal and a free vertex does.

        Args:
            epsilon: privacy parameter, above 0.
            change: largest change of one weight, in grid units.
            halvings: number of halvings, at least 1.
            share: share of epsilon for `across`, in (0, 1).
        """
        across = share * epsilon
        bounds = [(epsilon - across) / 2]
        if halvings > 1:
            for total, count in ((epsilon, halvings), (epsilon - across, halvings - 1)):
                with localcontext(wide_context(_DIGITS)):
                    # Solve ln(2 e^a - 1) = the loss of each halving.
                    halving_loss = Decimal(total.numerator) / total.denominator / count
                    rounded_down = int(((halving_loss.exp() + 1) / 2).ln() * 2**_RATE_BITS) - 1
                bounds.append(Fraction(rounded_down, 2**_RATE_BITS))
        cut = min(bounds)
        at_terminal = max(cut + across, halvings * cut, (halvings - 1) * cut + across)
        return cls(
            cut=cut / change,
            across=across / change,
            terminal=(epsilon - at_terminal) / change,
            between=epsilon / change,
        )

    def loss(self, change: int, halvings: int = 1) -> Fraction:
        """Return the privacy loss of all noise together by one change of so many grid units.

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
        if halvings > 1:  # else l <= 2a, which the rounded l may exceed
            free = max(free, halvings * most)
        at_terminal = max(a + x, halvings * a, (halvings - 1) * a + x)
        return max(free, self.terminal * change + at_terminal, self.between * change)

    def mean_excess(self, n: int, terminals: int) -> float:
        """Return a bound on the mean excess of the released cut over the least one, in grid units.

        The mean of max(0, D) for discrete Laplace noise D of rate r is 1/(2 sinh r). The excess of
        the noisy cut is at most n such terms in each halving. A trivial cut is released if its
        measured weight is less; it weighs more than the noisy cut by at most one such term for
        `across` and one for each terminal.

        Args:
            n: number of vertices.
            terminals: number of terminals, at least 2.
        """
        halvings = halvings_of(terminals)
        parts = (self.cut, halvings * n), (self.across, 1), (self.terminal, terminals)
        return sum(count / (2 * math.sinh(float(rate))) for rate, count in parts)


@final
@dataclass(frozen=True, kw_only=True)
class CutErrors:
    """Bounds on errors of a private least cut, in weight, which hold together with 1 - beta.

    Attributes:
        noisy: excess of the noisy cut over the least cuts of all halvings, added up.
        across: error of the measured weight of the noisy cut without pairs of two terminals.
        terminal: error of the measured weight between a terminal and the free vertices.
        trivial: error of the measured weight of a trivial cut without pairs of two terminals.
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
            rates: rates of the noise.
            n: number of vertices.
            terminals: number k of terminals; a trivial cut adds up k - 1 weights.
            unit: weight of one grid unit.
            beta: probability that any bound fails, in (0, 1).
        """
        halvings = halvings_of(terminals)
        halving_failure = beta * _EXCESS_FAILURE / halvings
        excess = halvings * least_cut_excess(n, rates.cut, unit=unit, beta=halving_failure)
        weights_failure = beta * (1 - _EXCESS_FAILURE)
        single_failure = weights_failure * (1 - _ACROSS_FAILURE) / (terminals + 1)

        def radius(rate: Fraction, failure: float) -> float:
            return unit * discrete_laplace_radius(float(rate), failure=failure)

        at_terminal = radius(rates.terminal, single_failure)
        return cls(
            noisy=excess,
            across=radius(rates.across, weights_failure * _ACROSS_FAILURE),
            terminal=at_terminal,
            trivial=(terminals - 1) * at_terminal,
            between=radius(rates.between, single_failure),
        )

    @property
    def above_trivial(self) -> float:
        """Return a bound on how much more the released cut weighs than the lightest trivial one.

        The released cut has the least measured weight. If it is the noisy cut, the errors of both
        weights add up. If it is another trivial cut, the two weights differ in one terminal each.
        """
        return max(self.across + self.trivial, 2 * self.terminal)

    @property
    def above_least(self) -> float:
        """Return a bound on the excess of the released cut over the least cuts of all halvings.

        That of the noisy cut is at most `noisy`. A trivial cut is released only if its measured
        weight is lower, so that it weighs at most `across` + `trivial` more than the noisy cut.
        """
        return self.noisy + self.across + self.trivial
