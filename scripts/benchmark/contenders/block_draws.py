"""Edges of random graphs within and between groups. Reads public or noisy numbers alone."""

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector

Edges = tuple[IntVector, IntVector]
_CHUNK = 1 << 22  # pairs that are drawn together


def drawn_within(members: IntVector, degrees: FloatVector, generator: np.random.Generator) -> Edges:
    """Edges within a group by the Chung-Lu model: a pair with probability min(1, d_i d_j/sum d).

    Args:
        members: the vertices, shape (k,).
        degrees: that are expected of them, >= 0, shape (k,).
        generator: of the edges.
    """
    total = float(degrees.sum())
    size = len(members)
    rows: list[IntVector] = []
    columns: list[IntVector] = []
    step = max(1, _CHUNK // size)
    for start in range(0, size if total > 0 else 0, step):
        stop = min(start + step, size)
        chances = np.outer(degrees[start:stop], degrees) / total
        hit = np.triu(generator.random(chances.shape) < chances, k=start + 1)
        first, second = np.nonzero(hit)
        rows.append(members[first + start])
        columns.append(members[second])
    return _joined(rows), _joined(columns)


def drawn_between(
    left: IntVector, right: IntVector, edges: int, generator: np.random.Generator
) -> Edges:
    """So many distinct pairs of a vertex on the left and one on the right, drawn uniformly.

    Args:
        left: vertices, shape (a,).
        right: others, shape (b,).
        edges: how many; all a b pairs where there are fewer.
        generator: of the edges.
    """
    pairs = len(left) * len(right)
    places = generator.choice(pairs, min(edges, pairs), replace=False, shuffle=False)
    return left[places // max(len(right), 1)], right[places % max(len(right), 1)]


def _joined(parts: list[IntVector]) -> IntVector:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
