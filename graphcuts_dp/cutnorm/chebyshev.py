"""sigma_1 from above for large matrices: a Chebyshev polynomial of M^T M on a random block."""

import math
from typing import Protocol

import numpy as np
import scipy

from graphcuts_dp.arrays import FloatArray
from graphcuts_dp.cutnorm.operand import UNIT_ROUNDOFF

FAILURE_PROBABILITY = 1e-12
_COLUMNS = 16
_KRYLOV_COLUMNS = 4
_KRYLOV_STEPS = 12


class Multiplier(Protocol):
    """A matrix M known by its products in float64, with bounds on its norm and their error."""

    shape: tuple[int, int]

    def apply(self, block: FloatArray, *, transpose: bool = False) -> FloatArray:
        """M @ block, or M^T @ block."""

    def majorant_norm(self) -> float:
        """Some upper bound on sigma_1(M), however loose."""

    def product_error(self) -> float:
        """C with ||fl(M y) - M y|| <= c ||y|| for every y, and the same for M^T."""


def chebyshev_norm_bound(
    multiplier: Multiplier, rng: np.random.Generator, *, degree: int = 64
) -> float:
    """A bound on sigma_1(M) that fails with probability at most 1e-12 over `rng`.

    Let C = 2 M^T M / tau - I for any tau > 0, G a Gaussian block of s columns drawn after M is
    fixed, and Y_q the computed T_q(C) G by the three-term recurrence, with local errors E_j.
    Suppose sigma_1(M)^2 >= tau (1 + x) / 2 for some x >= 1, and let v be the singular vector, so
    that C v = z v with z >= x.

    1. Unrolling, Y_q = T_q(C) G + sum_j U_{q-j}(C) E_j with Chebyshev polynomials of the first
       and second kind: rounding is included, nothing is neglected.
    2. For z >= 1, U_m(z) <= (m + 1) T_m(z) and T_{q-j}(z) T_j(z) <= T_q(z). So ||v^T Y_q|| >=
       T_q(z) (||v^T G|| - r(z)), r(z) = sum_j (q - j + 1) ||E_j|| / T_j(z) <= r(x).
    3. ||v^T G||^2 is chi-square with s degrees of freedom, below its 1e-12 quantile c^2 with that
       probability. Otherwise ||Y_q||_2 >= T_q(x) (c - r(x)).
    4. The right side grows with x. Where it exceeds ||Y_q||_2 the supposition is false: so
       sigma_1(M)^2 < tau (1 + x) / 2 for the least such x, which bisection brackets from above.

    Lanczos, a lower bound, only suggests tau. With s = 16 and q = 64 the inflation of sigma_1 is
    about 0.2 percent (compare Kuczynski, Wozniakowski 1992, for Lanczos in exact arithmetic).
    The probability is over truly random G; the generator stands in for it.

    Args:
        multiplier: M.
        rng: a stream that M does not depend on.
        degree: q >= 1.

    Returns:
        The bound; infinite if the rounding error cannot be controlled.
    """
    transpose = multiplier.shape[1] > multiplier.shape[0]
    error, majorant = multiplier.product_error(), multiplier.majorant_norm()
    if not math.isfinite(error * majorant):
        return math.inf
    tau = 1.001 * ritz_value(multiplier, transpose)
    if not (math.isfinite(tau) and tau > 0.0):
        return math.inf

    def gram(block: FloatArray) -> tuple[FloatArray, float]:
        middle = multiplier.apply(block, transpose=transpose)
        image = multiplier.apply(middle, transpose=not transpose)
        norms = float(np.linalg.norm(block)), float(np.linalg.norm(middle))
        return image, (error * (majorant + error) * norms[0] + error * norms[1]) * 1.01

    previous = rng.standard_normal((min(multiplier.shape), _COLUMNS))
    errors = [4.0 * UNIT_ROUNDOFF * float(np.linalg.norm(previous))]
    with np.errstate(over="ignore", invalid="ignore"):
        image, local = gram(previous)
        current = (2.0 / tau) * image - previous
        errors.append(_local_error(2.0 / tau, local, image, current, previous))
        for _ in range(2, degree + 1):
            image, local = gram(current)
            following = (4.0 / tau) * image - 2.0 * current - previous
            errors.append(_local_error(4.0 / tau, local, image, current, previous))
            previous, current = current, following
    if not bool(np.isfinite(current).all()):
        return math.inf
    reach = float(np.linalg.norm(current, 2)) * (1.0 + 1e-6)
    return math.sqrt(tau * (1.0 + _least_refuted(reach, errors)) / 2.0) * (1.0 + 1e-12)


def _local_error(
    factor: float,
    local: float,
    image: FloatArray,
    current: FloatArray,
    previous: FloatArray,
) -> float:
    """A bound on ||E_j||_F: the error of the products, and the roundings of the combination."""
    size = factor * float(np.linalg.norm(image))
    size += 2.0 * float(np.linalg.norm(current)) + float(np.linalg.norm(previous))
    return (factor * local + 8.0 * UNIT_ROUNDOFF * size) * 1.01


def _least_refuted(reach: float, errors: list[float]) -> float:
    """An x >= 1 with T_q(x) (c - r(x)) > reach, close to the least; infinity if none is found."""
    degree = len(errors) - 1
    quantile = (
        math.sqrt(2.0 * float(scipy.special.gammaincinv(_COLUMNS / 2.0, FAILURE_PROBABILITY)))
        * 0.999
    )
    orders = np.arange(degree + 1)
    weighted = (degree - orders + 1) * np.asarray(errors)

    def refuted(angle: float) -> bool:
        remainder = float((weighted / np.cosh(orders * angle)).sum()) * 1.01
        margin = quantile - remainder
        if not margin > 0.0:
            return False
        return degree * angle - math.log(2.0) + math.log(margin) > math.log(reach) + 1e-9

    low, high = 0.0, 1.0 / 64.0
    while not refuted(high):
        low, high = high, 2.0 * high
        if high > 8.0:
            return math.inf
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if refuted(middle) else (middle, high)
    return math.cosh(high) * (1.0 + 1e-12)


def ritz_value(multiplier: Multiplier, transpose: bool) -> float:
    """The largest Ritz value of M^T M on a block Krylov space: a good tau, nothing more.

    Args:
        multiplier: M.
        transpose: True to use M M^T, the smaller one for a wide M.
    """
    size = min(multiplier.shape)
    rng = np.random.default_rng(20060517)
    block = np.linalg.qr(rng.standard_normal((size, min(_KRYLOV_COLUMNS, size))))[0]
    basis, images = [], []
    for step in range(min(_KRYLOV_STEPS, size // block.shape[1])):
        middle = multiplier.apply(block, transpose=transpose)
        if not bool(np.isfinite(middle).all()):
            return math.inf
        basis.append(block)
        images.append(middle)
        if step + 1 < _KRYLOV_STEPS:
            block = multiplier.apply(middle, transpose=not transpose)
            for _ in range(2):
                for earlier in basis:
                    block -= earlier @ (earlier.T @ block)
            block = np.linalg.qr(block)[0]
    return float(np.linalg.norm(np.concatenate(images, axis=1), 2)) ** 2
