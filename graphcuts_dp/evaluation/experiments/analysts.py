"""Analysts who know the truth: they ask where a hypothesis is farthest off. Not private."""

import numpy as np
import numpy.typing as npt

from graphcuts_dp.graph.queries import CutQuery, FloatMatrix
from graphcuts_dp.graph.universe import Universe

BoolMatrix = npt.NDArray[np.bool_]
_MOST_ALTERNATIONS = 30
_STARTS = 12


def worst_cut(
    residual: FloatMatrix,
    universe: Universe,
    *,
    rng: np.random.Generator,
    most_right: int | None = None,
) -> CutQuery:
    """A cut with a large |residual|: alternation from everything and from random halves.

    Greedy: a lower bound on the worst, equal to it on small graphs nearly always.

    Args:
        residual: truth minus hypothesis, a matrix over the universe.
        universe: the pairs.
        rng: of the random starts.
        most_right: largest |T| allowed; None for any.
    """
    size = residual.shape[1] if most_right is None else most_right
    candidates = [
        found for signed in (residual, -residual) for found in _ascents(signed, size, rng)
    ]
    if not universe.bipartite:  # the matrix counts pairs inside S and T twice, a cut query once
        candidates = [
            cut for S, T in candidates for cut in ((S, T), (S & ~T, T), (S, T & ~S), (S & T, S & T))
        ]
    queries = [CutQuery(S, T) for S, T in candidates]
    off = np.abs(universe.answers(queries, residual))
    return queries[int(off.argmax())]


def _ascents(
    matrix: FloatMatrix, size: int, rng: np.random.Generator
) -> list[tuple[BoolMatrix, BoolMatrix]]:
    """The best S and T of all starts, by the value on this sign of the matrix."""
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
    return [(S[:, winner], T[:, winner])]


def _largest(sums: FloatMatrix, size: int) -> BoolMatrix:
    """In each column the positive ones among the `size` largest."""
    chosen = np.zeros(sums.shape, dtype=np.bool_)
    order = np.argsort(-sums, axis=0, kind="stable")[:size]
    np.put_along_axis(chosen, order, True, axis=0)
    return chosen & (sums > 0)
