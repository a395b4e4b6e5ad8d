"""Blocks of alike vertices in a noisy adjacency matrix, by a mean-field approximation.

Eigenvectors find what stands out of the noise one direction at a time, and a direction near its
edge is lost. A model of blocks takes all entries together: it sees k blocks whose directions lie
near the edge, since every vertex must belong to one of them.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.fits.view import View

_STARTS = 2
_SHORT_ROUNDS = 8  # of each start
_ROUNDS = 16  # of the better one
_DAMPING = 0.5
_LLOYD_ROUNDS = 15
_TINY = 1e-12


@final
@dataclass(frozen=True, eq=False)
class BlockModel:
    """Soft blocks and the mean entry between each two of them.

    Attributes:
        memberships: P, probabilities, shape (n, k).
        kernel: B, symmetric, shape (k, k).
        evidence: lower bound on the log likelihood of the noisy matrix above that of no entries at
            all: sum of B^2 pairs/(2 s^2), and the entropy of P relative to the shares.
    """

    memberships: FloatMatrix
    kernel: FloatMatrix
    evidence: float

    @property
    def count(self) -> int:
        """How many blocks."""
        return len(self.kernel)


def fit_blocks(view: View, vectors: FloatMatrix, count: int, deviation: float) -> BlockModel:
    """The block model with a number of blocks.

    1. k-means on the first `count` vectors, from two starts.
    2. By turns, the kernel B = P^T Z P over the pairs of each two blocks, and memberships
       log P_il = (sum_b (Z P)_ib B_lb - 1/2 sum_b (N_b - P_ib) B_lb^2)/s^2 + log share_l + const,
       half of the way each time; the start of the larger evidence goes on.

    Args:
        view: symmetric noisy matrix, n vertices.
        vectors: leading eigenvectors, shape (n, at least 1).
        count: of blocks.
        deviation: s, of the noise of an entry.

    Source: Daudin, Picard, Robin 2008 (mean field); Celisse, Daudin, Pierre 2012 (consistency).
    """
    random = np.random.default_rng(count)  # starting points only: nothing private, no noise
    tried = [
        _settled(view, _clustered(vectors[:, :count], count, random), deviation, _SHORT_ROUNDS)
        for _ in range(_STARTS)
    ]
    best = max(tried, key=lambda model: model.evidence)
    return _settled(view, best.memberships, deviation, _ROUNDS)


def _settled(view: View, start: FloatMatrix, deviation: float, rounds: int) -> BlockModel:
    """Step 2 from soft or hard memberships."""
    memberships = start
    for _ in range(rounds):
        sums = view.times(memberships)
        kernel, _ = _kernel(memberships, sums)
        sizes, shares = memberships.sum(axis=0), memberships.mean(axis=0)
        logs = sums @ kernel - 0.5 * (sizes - memberships) @ kernel**2
        logs = logs / deviation**2 + np.log(shares + _TINY)
        logs -= logs.max(axis=1, keepdims=True)
        fresh = np.exp(logs)
        fresh /= fresh.sum(axis=1, keepdims=True)
        memberships = (1 - _DAMPING) * memberships + _DAMPING * fresh
    kernel, pairs = _kernel(memberships, view.times(memberships))
    return BlockModel(memberships, kernel, _evidence(memberships, kernel, pairs, deviation))


def _kernel(memberships: FloatMatrix, sums: FloatMatrix) -> tuple[FloatMatrix, FloatMatrix]:
    """Mean entries between blocks, and the (ordered) pairs that they are means of."""
    sizes = memberships.sum(axis=0)
    pairs = np.maximum(np.outer(sizes, sizes) - memberships.T @ memberships, 1.0)
    totals = memberships.T @ sums
    return (totals + totals.T) / 2 / pairs, pairs


def _evidence(
    memberships: FloatMatrix, kernel: FloatMatrix, pairs: FloatMatrix, deviation: float
) -> float:
    shares: FloatVector = memberships.mean(axis=0)
    gained = float((kernel**2 * pairs).sum()) / (4 * deviation**2)
    entropy = float((memberships * np.log((shares + _TINY) / (memberships + _TINY))).sum())
    return float(gained + entropy)


def _clustered(points: FloatMatrix, count: int, random: np.random.Generator) -> FloatMatrix:
    """Hard memberships by k-means, from points chosen far from each other."""
    centres = points[[random.integers(len(points))]]
    for _ in range(1, count):
        nearest = _squares(points, centres).min(axis=1)
        total = nearest.sum()
        chances = nearest / total if total > 0 else None
        centres = np.vstack([centres, points[random.choice(len(points), p=chances)]])
    for _ in range(_LLOYD_ROUNDS):
        memberships: FloatMatrix = np.eye(count)[_squares(points, centres).argmin(axis=1)]
        sizes = memberships.sum(axis=0)[:, None]
        centres = np.where(sizes > 0, memberships.T @ points / np.maximum(sizes, 1), centres)
    return memberships


def _squares(points: FloatMatrix, centres: FloatMatrix) -> FloatMatrix:
    return np.stack([((points - centre) ** 2).sum(axis=1) for centre in centres], axis=1)
