"""Draw edges of random graphs within and between groups, from public or noisy numbers alone."""

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector

Edges = tuple[IntVector, IntVector]
_CHUNK = 1 << 22  # pairs that are drawn together


def drawn_within(members: IntVector, degrees: FloatVector, generator: np.random.Generator) -> Edges:
    """Draw edges within a group by the Chung-Lu model, with chances min(1, d_i d_j/sum d).

    Args:
        members: the vertices, shape (k,).
        degrees: expected degrees, >= 0, shape (k,).
        generator: source of randomness.
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
    """Draw distinct pairs of a vertex on the left and one on the right, uniformly.

    Args:
        left: vertices, shape (a,).
        right: others, shape (b,).
        edges: number of pairs; at most a b are drawn.
        generator: source of randomness.
    """
    pairs = len(left) * len(right)
    pair_indices = generator.choice(pairs, min(edges, pairs), replace=False, shuffle=False)
    return left[pair_indices // max(len(right), 1)], right[pair_indices % max(len(right), 1)]


def _joined(parts: list[IntVector]) -> IntVector:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
