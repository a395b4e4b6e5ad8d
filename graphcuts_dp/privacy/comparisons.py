"""Noisy answers that are shown only where they are far from a public guess: what they cost.

A round adds discrete Laplace noise to a private count. If the noisy count is within T of a public
guess, the round is silent; else it shows the noisy count. After B rounds that have shown one,
nothing is read any more. How many rounds are silent plays no part in the cost.

Theorem. Let one noisy count be e-DP (e = rate times sensitivity), theta = exp(e) - 1, and for an
order a > 0 with a theta < 1

    K = a (a+1)/2 exp((a+2) e),    mu = 2 artanh(K theta^2/(1 - a theta)),

if that argument is below 1. Then all rounds together are (epsilon, delta)-DP for every epsilon and
delta >= exp(mu B - a epsilon), also when guesses and queries are chosen after earlier rounds.

Proof. 1. One round, with fixed history: let P and P' be the probabilities of its outputs on two
neighbours, x and y those of showing a count, and w = 1 - P'/P at an output. The output is computed
from a noisy count, so P'/P lies in [exp(-e), exp(e)], and |w| <= theta.

2. By Taylor's formula (P/P')^a = (1 - w)^-a <= 1 + a w + K w^2: the remainder has a factor
(1 - z)^(-a-2) with z between 0 and w, and 1 - z >= exp(-e).

3. Sum of P (P/P')^a over counts that are shown: at most x + a (x - y) + K theta^2 x, since P w sums
to x - y. Hence also |x - y| <= theta x.

4. At silence, P = 1 - x and P w = y - x, so P (P/P')^a <= 1 - x + a (y - x) + K w (y - x), and
w (y - x) <= theta |y - x| <= theta^2 x.

5. So the mean S of (P/P')^a exp(-mu [a count is shown]) is at most
1 - (1 - exp(-mu)) (x + a (x - y)) + (1 + exp(-mu)) K theta^2 x. As x + a (x - y) >= (1 - a theta) x
and (1 - exp(-mu))/(1 + exp(-mu)) = tanh(mu/2) = K theta^2/(1 - a theta), S <= 1.

6. Let Psi be the privacy loss of all rounds, the logarithm of the ratio of probabilities of what
was shown, and N <= B the number of counts shown. By 5, exp(a Psi - mu N) has mean at most 1, round
after round; so exp(a Psi) has mean at most exp(mu B), and P(Psi > epsilon) <= exp(mu B - a epsilon)
by Markov. A loss that passes epsilon with probability delta at most is (epsilon, delta)-DP.

For small e this is about (1 + a) e^2 B in Renyi divergence of order 1 + a: B noisy counts that are
always shown cost half of it.

Source: our own; in place of the proof of GRU12's Theorem 4.1, which does not hold as printed. Claim
4.3 bounds ln(2 (1 + e/(sigma - 1))), which is above ln 2, by 2e/(sigma - 1), which falls to 0.
Claim 4.7 takes the loss of a silent round as 0 outside of H, where only the loss given the event E1
is; it uses epsilon0 for terms that Claim 4.3 bounds by 11 epsilon0, E|H| <= 8 for 8 B, and Azuma's
inequality without the 2 in its exponent. The constant 1000 is large enough to make up for all that.
"""

import math

import scipy

from graphcuts_dp.errors import ParameterError


def comparison_moment(order: float, each: float) -> float:
    """The theorem's mu; infinite where it says nothing.

    Args:
        order: a > 0.
        each: e > 0, the pure epsilon of one noisy count.
    """
    theta = math.expm1(each)
    room = 1 - order * theta
    log_factor = math.log(order * (order + 1) / 2) + (order + 2) * each + 2 * math.log(theta)
    if room <= 0 or log_factor >= math.log(room):
        return math.inf
    return 2 * math.atanh(math.exp(log_factor) / room)


def comparison_epsilon(each: float, *, updates: float, delta: float) -> float:
    """Nearly the least epsilon that the theorem proves for a delta, rounded up.

    Args:
        each: e > 0, the pure epsilon of one noisy count.
        updates: B > 0, how many are shown at most.
        delta: in (0, 1).

    Raises:
        ParameterError: delta out of range, or noise so small that the theorem says nothing.
    """
    if not 0 < delta < 1:
        raise ParameterError(f"delta must be between 0 and 1, not {delta}")

    def at(log_order: float) -> float:  # every order gives a valid epsilon
        order = math.exp(log_order)
        moment = comparison_moment(order, each)
        return min(1e9, (moment * updates - math.log(delta)) / order)

    # mu is finite only below about 1/e; the best order is about sqrt(ln(1/delta)/B)/e.
    middle = math.log(math.sqrt(-math.log(delta) / updates) / each)
    top = min(middle + 3, -math.log(each))
    found = scipy.optimize.minimize_scalar(at, bounds=(top - 12, top), method="bounded")
    if found.fun >= 1e9:
        raise ParameterError("the noise is too small for a proven delta; use more noise")
    return float(found.fun) * (1 + 1e-9)
