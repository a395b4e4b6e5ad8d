"""Analysts who know the truth: they ask where the error of a hypothesis is largest. Not private."""

import numpy as np

from graphcuts_dp.arrays import BoolMatrix, FloatMatrix
from graphcuts_dp.queries.linear import CutQuery
from graphcuts_dp.queries.universe import Universe

Cut = tuple[BoolMatrix, BoolMatrix]
_MOST_ALTERNATIONS = 30
_STARTS = 6


def worst_cut(
    residual: FloatMatrix,
    universe: Universe,
    *,
    rng: np.random.Generator,
    max_right_size: int | None = None,
) -> CutQuery:
    """Return a cut with a large |residual|: alternation from everything and from random halves.

    Greedy: a lower bound on the worst, equal to it on small graphs nearly always.

    Args:
        residual: truth minus hypothesis, a matrix over the universe.
        universe: the pairs.
        rng: of the random starts.
        max_right_size: largest |T| allowed; None for any.
    """
    size = residual.shape[1] if max_right_size is None else max_right_size
    queries = []
    for signed in (residual, -residual):
        S, T = _ascent(signed, size, rng)
        if not universe.bipartite:  # the matrix counts pairs inside S and T twice, a cut query once
            S, T = max(
                (
                    _settled(signed, *cut)
                    for cut in ((S, T), (S & ~T, T), (S, T & ~S), (S & T,) * 2)
                ),
                key=lambda cut: universe.answers([CutQuery(*cut)], signed)[0],
            )
        queries.append(CutQuery(S, T))
    off = np.abs(universe.answers(queries, residual))
    return queries[int(off.argmax())]


def _ascent(matrix: FloatMatrix, size: int, rng: np.random.Generator) -> Cut:
    """Return the best S and T of all starts, by the sum of the matrix between them."""
    S = rng.random((matrix.shape[0], _STARTS)) < 0.5
    S[:, 0] = True
    best = np.full(_STARTS, -np.inf)
    for _ in range(_MOST_ALTERNATIONS):
        T = _largest(matrix.T @ S.astype(np.float64), size)
        sums = matrix @ T.astype(np.float64)
        S = sums > 0
        values = np.maximum(sums, 0).sum(axis=0)
        if (values <= best * (1 + 1e-9)).all():
            break
        best = np.maximum(best, values)
    winner = int(values.argmax())
    return S[:, winner], T[:, winner]


def _largest(sums: FloatMatrix, size: int) -> BoolMatrix:
    """Return in each column the positive ones among the `size` largest."""
    if size >= len(sums):
        positive: BoolMatrix = sums > 0
        return positive
    chosen = np.zeros(sums.shape, dtype=np.bool_)
    order = np.argsort(-sums, axis=0, kind="stable")[:size]
    chosen[order, np.arange(sums.shape[1])] = True
    return chosen & (sums > 0)


def _settled(matrix: FloatMatrix, S: BoolMatrix, T: BoolMatrix) -> Cut:
    """Move one vertex at a time in or out of S and T while a cut query's answer grows.

    A vertex meets T if it is in S, S if it is in T, and their union, once, if it is in both.
    """
    S, T = S.copy(), T.copy()
    everyone = np.arange(len(S))
    least = 1e-9 * float(np.abs(matrix).sum())
    while True:
        met = np.stack([np.zeros_like(S), T, S, S | T], axis=1)
        values = matrix @ met.astype(np.float64)
        gains = values - values[everyone, S + 2 * T][:, None]
        vertex, state = divmod(int(gains.argmax()), 4)
        if gains[vertex, state] <= least:
            return S, T
        S[vertex], T[vertex] = state % 2, state // 2
