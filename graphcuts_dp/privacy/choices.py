"""Random choices by score: exact weighted choices, noisy maximum, and the exponential mechanism.

Two mechanisms choose one of several candidates, each with a private whole-number score. Larger
scores are chosen with larger probability, at a `rate` > 0 for one unit of score:

- `noisy_maximum` adds geometric noise to each score and returns the candidate with the largest sum;
- `exponential_choice` chooses candidate i with probability proportional to e^(rate score_i).

`shortfall` bounds how far the score chosen by `noisy_maximum` may lie below the largest; the text
of `exponential_choice` has its own bound. `Choice` draws from any list of real weights, exactly.

Exactness: floats only speed up a draw. What they leave open is decided by decimals, to as many
digits as it takes (`inversion.happens`). So the error constants below must be upper bounds; else
the probabilities, and with them the privacy guarantee, would be wrong.

Papers: DR14 is Dwork, Roth, *The Algorithmic Foundations of Differential Privacy*, 2014.
"""

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.privacy.entropy import EntropySource, next_word
from graphcuts_dp.privacy.inversion import happens
from graphcuts_dp.privacy.noise import sample_geometric

_LARGEST_WEIGHT_BITS = 52  # the largest weight of a proposal is about 2^52, whole as a float
_WEIGHT_ERROR = 2.0**-40  # relative: more than the floats of proposal weights lose
_COMPARISON_ERROR = 2**-50  # relative: more than a float comparison loses
# Error of float logarithms of weights that are within 100 of the largest logarithm.
_LOGARITHM_ERROR = 2.0**-40


def noisy_maximum(scores: IntVector, rate: Fraction, source: EntropySource) -> int:
    """Return the index of the largest score plus noise, the first one of equal sums.

    The noise of each candidate is an independent geometric G >= 0: P(G >= k) = e^(-rate k).

    Accuracy: the chosen score is within k of the largest, except with probability
    (candidates - 1) e^(-rate (k+1)): a candidate more than k below the best one wins only if
    G > k. See `shortfall`.

    Args:
        scores: whole numbers below 2^62 in modulus, shape (candidates,). Private.
        rate: > 0.
        source: of the noise.

    Privacy:
        (2 s rate)-DP if each score changes by at most s between neighbours; (s rate)-DP if moreover
        all scores change in the same direction. Proof: fix the noise of all candidates but i. Then
        i is chosen if and only if score_i + G_i >= t_i, where t_i is the largest sum of the others,
        plus 1 if it belongs to an earlier candidate. For a neighbour, the least G_i that suffices,
        max(t_i - score_i, 0), grows by at most 2 s (by at most s if all scores change in the same
        direction). So the probability of i falls by a factor of at most e^(2 s rate), for each
        noise of the others.

    Source: DR14 section 3.3 (report noisy max).
    """
    # Noise is either of Python integers, or below 2^62 except with probability e^-512. Scores are
    # below 2^62, too, so the sums do not overflow.
    noise = sample_geometric(rate, len(scores), source)
    return int(np.argmax(scores + noise))


def shortfall(candidates: int, rate: Fraction, *, failure: float) -> int:
    """Return how far the score chosen by `noisy_maximum` may lie below the largest, rounded up.

    Args:
        candidates: number of scores, >= 1.
        rate: as for `noisy_maximum`.
        failure: probability that it lies further below, in (0, 1).
    """
    if candidates == 1:
        return 0
    # The least whole k with (candidates - 1) e^(-rate (k+1)) <= failure; `least` is k + 1 before
    # rounding up.
    least = math.log((candidates - 1) / failure) / float(rate) * (1 + 1e-12)
    return max(0, math.ceil(least) - 1)


def exponential_choice(scores: IntVector, rate: Fraction, source: EntropySource) -> int:
    """Return i with probability proportional to e^(rate score_i), exactly.

    Accuracy: the chosen score is within t of the largest, except with probability
    (candidates - 1) e^(-rate t).

    Args:
        scores: whole numbers below 2^62 in modulus, shape (candidates,). Private.
        rate: > 0.
        source: of the random bits.

    Privacy:
        If each score changes by at most s between neighbours, the privacy loss has a range of
        2 s rate. So the choice is (2 s rate)-DP and ((2 s rate)^2/8)-zCDP, a quarter of the zCDP
        that is proven for `noisy_maximum`. The range is s rate if all scores change in the same
        direction.

    Source: McSherry, Talwar 2007; zCDP: Cesar, Rogers 2021.
    """
    return exponential_choices(scores, rate, 1, source)[0]


def exponential_choices(
    scores: IntVector, rate: Fraction, count: int, source: EntropySource
) -> list[int]:
    """Return several independent draws of `exponential_choice` with the same scores.

    Args:
        scores: as for `exponential_choice`. Private.
        rate: > 0.
        count: number of draws, >= 1.
        source: of the random bits.

    Privacy:
        The cost of `exponential_choice` for each draw.
    """
    below_best = scores - scores.max()

    def exact_log_weight(index: int) -> Decimal:
        return int(below_best[index]) * Decimal(rate.numerator) / Decimal(rate.denominator)

    choice = Choice(below_best * float(rate), _LOGARITHM_ERROR, exact_log_weight)
    return [choice.draw(source) for _ in range(count)]


@final
class Choice:
    """Draws index i with probability w_i/sum(w), exactly, for real weights w.

    Rejection sampling. Let M be the largest of the floats `log_weights`, and the *true weight* of
    index i 2^bits w_i e^(-M). An index is proposed with a whole-number weight that is a little
    above its true weight, and accepted with probability true weight/proposal weight. Floats make
    the proposal weights, but once made they are exact integers, and so is the draw of a proposal.
    The ratio is compared with a uniform number in decimal arithmetic (`happens`).

    Invariant: a proposal weight is never below the true weight; else a ratio above 1 would be
    cut off. Where a float is within 100 of M, `error` ensures it. Elsewhere the true weight is at
    most 2^52 e^(-100 + 50) < 1, and each proposal weight is at least 1.

    Cost: O(k) once, O(log k) for each draw. A draw needs decimals with probability about
    2 error + 2^-36.

    Args:
        log_weights: floats near ln w_i, shape (k,). The same number may be added to all of them.
        error: bound on the errors of floats within 100 of the largest; that of others is 50.
        exact: computes ln w_i, plus the same number, in the current decimal context. If that has n
            digits, the error is at most 10^(inversion.UNTRUSTED_DIGITS - n) absolutely, so that the
            relative error of its exponential meets the contract of `happens`.
    """

    def __init__(
        self, log_weights: FloatVector, error: float, exact: Callable[[int], Decimal]
    ) -> None:
        self._exact = exact
        self._shift = float(log_weights.max())  # M
        # k < 2^bit_length weights of little more than 2^bits each: their sum is below 2^62, as the
        # 64-bit integers need.
        self._bits = min(_LARGEST_WEIGHT_BITS, 61 - len(log_weights).bit_length())
        self._error = error
        # At least the true weights, so that a ratio is at most 1.
        inflated = np.exp(np.minimum(log_weights - self._shift, 0) + (error + _WEIGHT_ERROR))
        inflated *= 2.0**self._bits
        proposal_weights = np.ceil(inflated).astype(np.uint64) + np.uint64(1)
        self._cumulative = np.cumsum(proposal_weights, dtype=np.uint64)
        self._total = int(self._cumulative[-1])

    def draw(self, source: EntropySource) -> int:
        """Draw one index. The order of its draws must not change: recorded outputs depend on it."""
        while True:
            word = uniform_below(self._total, source)
            index = int(np.searchsorted(self._cumulative, np.uint64(word), side="right"))
            if self._accepts(index, source):
                return index

    def _accepts(self, index: int, source: EntropySource) -> bool:
        """Draw whether a proposal is accepted."""
        below = int(self._cumulative[index - 1]) if index else 0
        weight = int(self._cumulative[index]) - below
        first_word = next_word(source)
        # A lower bound on the ratio. The proposal weight is at most e^(2 error + 2 _WEIGHT_ERROR)
        # times the true one (the float may be too large by e^error, and was multiplied by
        # e^(error + _WEIGHT_ERROR)), plus 2 for rounding up and adding 1. Where the error of
        # the float may exceed `error`, the proposal weight is 2, and the bound is below 0.
        least = math.exp(-2 * self._error - 2 * _WEIGHT_ERROR) - 2 / weight - _COMPARISON_ERROR
        # A uniform number whose first 64 bits are `first_word` is below (first_word + 1)/2^64. If
        # that is at most the lower bound, as nearly always, the proposal is accepted.
        if (first_word + 1) * 2.0**-64 * (1 + _COMPARISON_ERROR) <= least:
            return True

        def ratio() -> Decimal:
            true_weight = (self._exact(index) - Decimal(self._shift)).exp() * (1 << self._bits)
            return true_weight / weight

        # Decide exactly, by more bits of the same uniform number.
        return happens(ratio, source, prefix=first_word, bits=64)


def uniform_below(count: int, source: EntropySource) -> int:
    """Draw a uniform integer in 0..count-1, exactly, for count in 1..2^64.

    Rejection: words of as many bits as count - 1 has, until one is below count. For count = 1 that
    is no bit; `next_word` is a Python integer, so shifting it by 64 gives 0.
    """
    bits = (count - 1).bit_length()
    while True:
        word = next_word(source) >> (64 - bits)
        if word < count:
            return word
