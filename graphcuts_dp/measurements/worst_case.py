"""A proven bound on the cut norm of the noise."""

import math

from graphcuts_dp.privacy.laws import NoiseLaw


def noise_cut_bound(
    law: NoiseLaw, shape: tuple[int, int], *, symmetric: bool, confidence: float = 0.95
) -> float:
    """A number that ||z - A||_C (matrix form) does not pass, with a given probability.

    With E = z - A and signs s, t = 2 * indicator - 1,
    4 1_S^T E 1_T = 1^T E 1 + s^T E 1 + 1^T E t + s^T E t. Each of the terms, for all signs at once,
    is bounded by Chernoff's method and a union over the signs: none, 2^rows, 2^columns and
    2^(rows + columns) choices. For a symmetric E the pairs above its diagonal are independent, with
    coefficients of at most 2 in modulus, and the two middle terms are one.

    About 1.42 n^1.5 standard deviations for n vertices; the true norm is about half of that.

    Args:
        law: of the noise.
        shape: rows and columns.
        symmetric: whether the matrix is an adjacency matrix.
        confidence: in (0, 1).

    Source: GRU12 Lemma 6.1 is the same argument for one family of cuts; the split into signs saves
    a factor of 1.7 over it.
    """
    rows, columns = shape
    terms = 3 if symmetric else 4
    failures = math.log(terms) - math.log1p(-confidence)
    coefficient, pairs = (2, rows * (rows - 1) // 2) if symmetric else (1, rows * columns)

    def largest(signs: int) -> float:
        return coefficient * law.radius(pairs, log_failures=failures + signs * math.log(2))

    return (largest(0) + largest(rows) + largest(columns) + largest(rows + columns)) / 4
