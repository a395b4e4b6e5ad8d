"""The exponential mechanism on the unit sphere: a reference in floats. Not for release.

It samples x with density proportional to exp(c x'Rx), the Bingham distribution. One edge changes
x'Rx by 2 x_i x_j, within [-1, 1], so c = epsilon/2 would make it epsilon-DP: but only for real
numbers with exact logarithms, which no computer has. It serves to see what such a mechanism would
find: its gap stays below the largest by about n/epsilon, where hiding every pair loses sqrt(n).
"""

import numpy as np
import scipy

from graphcuts_dp.arrays import FloatMatrix


def bingham_samples(
    matrix: FloatMatrix, concentration: float, count: int, rng: np.random.Generator
) -> FloatMatrix:
    """Draw independent unit vectors with density proportional to exp(concentration x'Rx).

    Exact but for floats: rejection from an angular central Gaussian distribution. In the
    eigenbasis of R let a_i = concentration (lambda_max - lambda_i) >= 0, so that the density is
    exp(-x'ax) up to a factor. With W = I + 2 a/b, y ~ N(0, W^-1) and x = y/|y|, the density of x
    is proportional to (x'Wx)^(-n/2). For t = x'ax, exp(-t) (1 + 2 t/b)^(n/2) is largest at t = (n
    - b)/2, so a proposal stays with probability exp(-t + (n-b)/2) ((b + 2 t)/n)^(n/2). The best b
    in (0, n] solves sum 1/(b + 2 a_i) = 1.

    Args:
        matrix: R, symmetric, shape (n, n).
        concentration: c >= 0.
        count: how many.
        rng: where the randomness comes from.

    Returns:
        Shape (count, n).

    Source: Kent, Ganeiber, Mardia, *A new unified approach for the simulation of a wide class of
    directional distributions*, 2018.
    """
    values, basis = np.linalg.eigh(matrix)
    n = len(values)
    a = concentration * (values[-1] - values)
    b = float(scipy.optimize.brentq(lambda b: float((1 / (b + 2 * a)).sum()) - 1, 1e-9, n + 1.0))
    scale = 1 / np.sqrt(1 + 2 * a / b)
    samples = np.empty((0, n))
    while len(samples) < count:
        y = rng.standard_normal((max(8, min(count, 4096)), n)) * scale
        x = y / np.linalg.norm(y, axis=1)[:, None]
        t = (x * x) @ a
        log_chance = -t + (n - b) / 2 + n / 2 * np.log((b + 2 * t) / n)
        stays = np.log(rng.random(len(x))) < log_chance
        samples = np.concatenate([samples, x[stays]])
    result: FloatMatrix = samples[:count] @ basis.T
    return result
