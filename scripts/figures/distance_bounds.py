"""HR12's error bounds with all constants, from sizes alone, for a diameter of 1.

What is guaranteed here is `L1Learner.error`; these are the paper's own formulas, which its O(.)
hides. With epsilon = 1, one dimension and a thousand queries they say less than the trivial
error, 1, from two million people on (pure), or from eleven million (delta = 1e-6).
"""

import math

import scipy

from graphcuts_dp.distances.embeddings import bourgain_levels

LEMMA_3 = 3000.0  # its constant


def mistake_bound_error(
    *,
    tolerance: float,
    functions: float,
    mistakes: float,
    sensitivity: float,
    people: float,
    queries: float,
    epsilon: float,
    delta: float,
    beta: float,
) -> float:
    """Solve Lemma 3 for alpha, for a learner that makes mistakes/sqrt(alpha) mistakes.

    c alpha = 3000 s/(n epsilon) sqrt(|S| m(alpha)) ln(4/delta) ln(k/beta), or, for delta = 0,
    3000 s/(n epsilon) |S| m(alpha) ln(k/beta).

    Args:
        tolerance: c, of the values that the learner is given, as a part of alpha.
        functions: |S|, how many values it is given at a mistake.
        mistakes: m(alpha) sqrt(alpha).
        sensitivity: s, of these values times n. The lemma has 1.
        people: n.
        queries: k.
        epsilon: > 0.
        delta: in [0, 1).
        beta: in (0, 1).

    Source: HR12, Lemma 3.
    """
    factor = LEMMA_3 * sensitivity / (people * epsilon * tolerance) * math.log(queries / beta)
    if delta == 0:
        return float((factor * functions * mistakes) ** (2 / 3))
    return float((factor * math.sqrt(functions * mistakes) * math.log(4 / delta)) ** (4 / 5))


def hr12_interactive_error(
    *, people: float, dimensions: int, queries: float, epsilon: float, delta: float, beta: float
) -> float:
    """Return the error of k answers about l1 distances in [0, 1]^l: Theorem 1, corrected.

    Lemma 6 gives c = 1/(4 l), |S| = 2 l and m(alpha) = 3 sqrt(2) l^(3/2)/sqrt(alpha) (Lemma 4 at
    alpha/(2 l), l times). The sensitivity is 2/n, that of the derivative; the paper has 1/n, which
    makes the bound 2^(4/5) or 2^(2/3) times smaller than what is proven.

    Args:
        people: n >= 1.
        dimensions: l >= 1.
        queries: k >= 1.
        epsilon: > 0.
        delta: in [0, 1); 0 is the pure mechanism.
        beta: in (0, 1).

    Source: HR12, Theorem 1.
    """
    return mistake_bound_error(
        tolerance=1 / (4 * dimensions),
        functions=2 * dimensions,
        mistakes=3 * math.sqrt(2) * dimensions**1.5,
        sensitivity=2,
        people=people,
        queries=queries,
        epsilon=epsilon,
        delta=delta,
        beta=beta,
    )


def hr12_offline_error(
    *, people: float, dimensions: int, epsilon: float, delta: float, beta: float
) -> float:
    """Return the error of all answers about l1 distances in [0, 1]^l: Theorem 2, corrected.

    The interactive mechanism with alpha/2 answers k = 2 l^2/alpha queries on a grid; between grid
    points the function and its hypothesis are 1-Lipschitz, which doubles the error.

    Args:
        people: n >= 1.
        dimensions: l >= 1.
        epsilon: > 0.
        delta: in [0, 1); 0 is the pure mechanism.
        beta: in (0, 1).

    Source: HR12, Theorem 2.
    """

    def excess(log_alpha: float) -> float:
        alpha = math.exp(log_alpha)
        online = hr12_interactive_error(
            people=people,
            dimensions=dimensions,
            queries=max(1.0, 2 * dimensions**2 / alpha),
            epsilon=epsilon,
            delta=delta,
            beta=beta,
        )
        return log_alpha - math.log(2 * online)

    # The online error falls with alpha: one root.
    return math.exp(
        float(scipy.optimize.brentq(excess, math.log(1e-30), math.log(1e30), xtol=1e-12))
    )


def embedded_range(
    average: float, *, expansion: float, contraction: float, error: float
) -> tuple[float, float]:
    """Return the range of the answer of a mechanism on an embedding: Theorem 7, corrected.

    With expansion 1, (1/C) average - alpha to average + alpha. The theorem prints sums of distances
    where the answers are averages: it lacks 1/n.

    Args:
        average: true average distance, >= 0.
        expansion: of the embedding, >= 1.
        contraction: C >= 1.
        error: alpha, of the mechanism on the embedded points.

    Source: HR12, Theorem 7.
    """
    return average / contraction - error, average * expansion + error


def bourgain_contraction(queries: int) -> float:
    """Return a factor by which, with probability 1 - 1/n, none of the n k distances shrinks.

    Source: HR12, Theorem 11, with the levels of `bourgain_levels` in place of log k.
    """
    return 64.0 * bourgain_levels(queries)


def decomposable_tolerance(alpha: float, dimensions: int) -> float:
    """Return the largest error of values and slopes: alpha_1/4 = alpha/(4 l), alpha_1 = alpha/l.

    Source: HR12, Lemma 6.
    """
    return alpha / (4 * dimensions)


def decomposable_mistakes(alpha: float, dimensions: int) -> int:
    """Return the most mistakes of more than alpha on a sum of functions of slopes in [-1, 1].

    With values and slopes off by at most `decomposable_tolerance`, in every coordinate at every
    mistake. No part of the hypothesis is more than alpha/(2 l) above its function, so a mistake is
    a sum that is too low by more than alpha, and some coordinate is too low by more than alpha/l:
    it is charged to that one, and none is charged more often than Lemma 5 allows.

    Source: HR12, Lemma 6, m(alpha) = O(l^(3/2)/alpha^(1/2)).
    """
    share = alpha / dimensions
    return dimensions * learner_mistakes(share, line_error=share / 2)


def learner_mistakes(
    tolerance: float, *, line_error: float = 0, width: float = 1, slope_range: float = 2
) -> int:
    """Return the most mistakes of more than `tolerance` (or as much) that the learner can make.

    For convex functions >= 0 on an interval of this width, whose derivative varies by no more than
    `slope_range`. Let x < y be two points of mistakes. The line of the earlier one is off by at
    least g = tolerance - line_error from the exact tangent at the later one, and convexity gives
    g <= (G'(y) - G'(x))(y - x) whichever came first. Summing over neighbouring points and using
    the Cauchy-Schwarz inequality, (T - 1)^2 g <= slope_range width.

    Exact tangents, width 1 and slopes in [-1, 1]: 1 + sqrt(2/tolerance), below Lemma 4's
    3/sqrt(tolerance). Values and slopes off by tolerance/4 each: a line is off by at most
    tolerance/2, and there are at most 1 + 2/sqrt(tolerance) mistakes, which is Lemma 5.

    Args:
        tolerance: > line_error.
        line_error: how far a line may be from the exact tangent, anywhere in the interval, >= 0.
        width: of the interval, > 0.
        slope_range: > 0.

    Source: HR12, Lemmas 4 and 5.
    """
    return 1 + math.floor(math.sqrt(slope_range * width / (tolerance - line_error)))


def projection_dimensions(vertices: int, *, distortion: float, failure: float) -> int:
    """Return dimensions that suffice for factors 1 +- distortion on all pairs of V points.

    For a unit vector and m independent Gaussian directions, the average of |g_j . v| is a
    1/sqrt(m)-Lipschitz function of them with mean sqrt(2/pi), so it is off by t with probability at
    most 2 exp(-m t^2/2): a union over pairs gives m = (pi/distortion^2) ln(V^2/failure). HR12's
    O(l ln(1/a)/a^2) holds for all points of the cube at once; the vertices are public and finite.

    Args:
        vertices: V >= 2.
        distortion: in (0, 1).
        failure: in (0, 1).

    Source: HR12, Lemma 9 (Figiel, Lindenstrauss, Milman 1977; Indyk 2006).
    """
    return math.ceil(math.pi / distortion**2 * math.log(vertices**2 / failure))
