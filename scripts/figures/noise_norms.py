"""Bound the spectral norm of a matrix of noise, and so the pairs that a search finds on it."""

import math

import scipy

from graphcuts_dp.privacy.distributions import BinaryResponse, NoiseDistribution

_ROUNDING = 1 + 1e-9  # covers the rounding of the special functions


def response_norm(distribution: NoiseDistribution, n: int, *, failure: float) -> float:
    """Return an upper bound on ||Z - A||, for Z made by a distribution of noise.

    The smaller of two bounds. One is `subgaussian_norm`. The other holds for any distribution. The
    noise on a pair is xi (e_i e_j' + e_j e_i'), whose exponential has the mean values M(t) and
    M(-t) on the plane of e_i and e_j. So P(||E|| >= t) is at most 2 n times the Chernoff bound for
    a sum of n - 1 entries: Tropp 2012, Theorem 3.6. About deviation * sqrt(2 n ln(2 n / failure)).

    Args:
        distribution: of the entries.
        n: rows and columns of Z, which is symmetric: pairs above the diagonal are independent.
        failure: probability that the norm is larger, in (0, 1).

    Source: Tropp, *User-friendly tail bounds for sums of random matrices*, 2012; Kearns, Saul 1998
    for the proxy of a centred bit, 1/(2 epsilon tanh(epsilon/2)) once it is scaled.
    """
    best = distribution.radius(n - 1, log_failures=math.log(n / failure))  # of both tails
    if isinstance(distribution, BinaryResponse):
        proxy = distribution.unit / (2 * float(distribution.epsilon))
        best = min(best, subgaussian_norm(proxy, n, failure=failure))
    return best


def subgaussian_norm(proxy: float, n: int, *, failure: float) -> float:
    """Return an upper bound on the norm of a symmetric matrix of independent sub-Gaussian noise.

    Let mu be uniform on the unit sphere. For x on it, x'Ex = sum over pairs of 2 x_i x_j xi, and
    the sum of (2 x_i x_j)^2 is at most 2, so E exp(theta x'Ex - theta^2 proxy) <= 1. By Donsker and
    Varadhan, with probability 1 - gamma every probability measure nu on the sphere has

        theta nu(x'Ex) <= theta^2 proxy + KL(nu, mu) + ln(1/gamma).

    Under mu, r = <x,u>^2 has the distribution Beta(1/2, (n-1)/2). For the largest eigenvalue lambda
    with its vector u take nu with r of distribution Beta(a, (n-1)/2) and all else as under mu:
    since E has no trace, nu(x'Ex) = lambda (n r' - 1)/(n - 1) with r' the mean of r. The best theta
    gives

        lambda <= 2 sqrt(proxy (KL + ln(1/gamma))) (n - 1)/(n r' - 1)

    for any a chosen beforehand, and likewise for -E. For large n that is 2.22 sqrt(n proxy), where
    Gaussian noise has 2.00.

    Args:
        proxy: E exp(t xi) <= exp(t^2 proxy / 2) for every entry and every t. The discrete Gaussian
            distribution exp(-k^2/(2 v)) on the integers has proxy v (Canonne, Kamath, Steinke
            2020).
        n: rows and columns; the diagonal is zero.
        failure: in (0, 1).
    """
    if n < 2:
        return 0.0
    b, log_failures = (n - 1) / 2, math.log(2 / failure)

    def bound(log_excess: float) -> float:
        a = 0.5 + math.exp(log_excess)
        mean = a / (a + b)
        return 2 * math.sqrt(_beta_divergence(a, 0.5, b) + log_failures) * (n - 1) / (n * mean - 1)

    middle = math.log(2.5 * b + 1)  # the best r' for large n is 0.715
    minimum = scipy.optimize.minimize_scalar(
        bound, bounds=(middle - 6, middle + 6), method="bounded"
    )
    return math.sqrt(proxy) * float(minimum.fun) * _ROUNDING


def _beta_divergence(a: float, start: float, b: float) -> float:
    """Return KL(Beta(a, b), Beta(start, b))."""
    return float(
        scipy.special.betaln(start, b)
        - scipy.special.betaln(a, b)
        + (a - start) * (scipy.special.digamma(a) - scipy.special.digamma(a + b))
    )
