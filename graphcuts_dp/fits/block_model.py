"""Blocks of alike vertices in a noisy adjacency matrix, by the equations of Thouless et al.

Eigenvectors find what stands out of the noise one direction at a time, and a direction near its
edge is lost. A model of blocks takes all entries together: it sees k blocks whose directions lie
near the edge, since every vertex must belong to one of them. Memberships stay soft where the data
leave them open, and how soft they are tells how much of the true blocks they hold.
"""

from dataclasses import dataclass
from typing import Self, final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.fits.structure import Structure
from graphcuts_dp.fits.view import View

_STARTS = 16
_PRODUCTS = 8000  # vertices times starts: larger graphs have fewer, since they show their blocks
_FEWEST_STARTS = 4
_SHORT_ROUNDS = 12  # of each start
_ROUNDS = 30  # of the best one
_DAMPING = 0.5
_LLOYD_ROUNDS = 15
_FAITH = 0.8  # in the hard blocks that a start has
_SPREAD = 0.2  # of the cap: deviation of the kernel's prior law around the mean entry
_TINY = 1e-12
# Share of a direction of the true blocks that the soft ones must hold: a structure that lacks the
# direction errs in sums between blocks by all of it, one that has it by the noise over this share.
_LEAST_HELD = 1 / 2


@final
@dataclass(frozen=True, eq=False)
class BlockModel:
    """Soft blocks and the mean entry between each two of them.

    Attributes:
        memberships: P, probabilities, shape (n, k).
        kernel: B, symmetric, shape (k, k).
        evidence: approximate log likelihood of the noisy matrix above that of no entries at all.
    """

    memberships: FloatMatrix
    kernel: FloatMatrix
    evidence: float

    @property
    def count(self) -> int:
        """How many blocks."""
        return len(self.kernel)

    def structure(self) -> Structure:
        """The estimate P D P^T whose inner products along the true blocks are unbiased.

        With the true memberships X, a posterior law obeys E[X^T P] = P^T P and E[X^T X] = N, the
        diagonal matrix of the sizes. So X^T (P D P^T) X = X^T (X B X^T) X, in expectation, for
        D = (P^T P)^(-1) N B N (P^T P)^(-1). Directions of which P holds less than a half are left
        out: their share is the inverse of an eigenvalue of (P^T P)^(-1/2) N (P^T P)^(-1/2).
        """
        moments = _Moments.of(self.memberships)
        squares, axes = np.linalg.eigh(moments.products)
        clear = squares > _TINY * squares.max()
        whitening = axes[:, clear] / np.sqrt(squares[clear])
        factors, turn = np.linalg.eigh((whitening.T * moments.sizes) @ whitening)
        held = factors * _LEAST_HELD <= 1
        basis = whitening @ turn[:, held]  # P basis is orthonormal
        core = basis.T @ moments.products @ self.kernel @ moments.products @ basis
        sizes, last = np.linalg.eigh(factors[held][:, None] * core * factors[held])
        directions = self.memberships @ basis @ last
        return Structure(directions, directions, sizes, self.memberships, self.memberships)


@dataclass(frozen=True, eq=False)
class _Moments:
    """Of memberships P, shape (n, k): column sums, P^T P, and the sum of their covariances."""

    sizes: FloatMatrix
    products: FloatMatrix
    covariance: FloatMatrix

    @classmethod
    def of(cls, memberships: FloatMatrix) -> Self:
        sizes, products = memberships.sum(axis=0), memberships.T @ memberships
        return cls(sizes, products, np.diag(sizes) - products)


@dataclass(frozen=True, eq=False)
class _Point:
    """Where an iteration is: memberships, those of the round before, the kernel."""

    memberships: FloatMatrix
    before: FloatMatrix
    kernel: FloatMatrix | None = None


@dataclass(frozen=True)
class _Law:
    """What is known of a noisy matrix beforehand: n vertices, the noise s, the cap."""

    n: int
    deviation: float
    cap: float

    @property
    def doubt(self) -> float:
        """Pairs that the prior law of the kernel counts for: entries of two triangles."""
        return float(2 * (self.deviation / (_SPREAD * self.cap)) ** 2)

    def pairs(self, moments: _Moments) -> FloatMatrix:
        """Expected number of ordered pairs between each two blocks."""
        found: FloatMatrix = np.outer(moments.sizes, moments.sizes) - np.diag(moments.sizes)
        return np.maximum(found, 0.0)

    def kernel(self, point: _Point, sums: FloatMatrix) -> tuple[FloatMatrix, FloatMatrix]:
        """The next kernel, and P^T Z P made symmetric."""
        moments = _Moments.of(point.memberships)
        totals = point.memberships.T @ sums
        totals = (totals + totals.T) / 2
        last = point.kernel
        if last is None:
            apart = np.outer(moments.sizes, moments.sizes) - moments.products
            last = totals / np.maximum(apart, 1.0)
        mean = totals.sum() / (self.n * (self.n - 1))
        found = totals + moments.covariance @ last @ moments.covariance + self.doubt * mean
        found /= self.pairs(moments) + self.doubt
        return np.clip((found + found.T) / 2, -self.cap, self.cap), totals

    def _volume(self, moments: _Moments) -> float:
        """Log of how much wider the kernel's prior law is than what the data leave of it.

        The data tell the kernel's entry along two principal axes of P^T P, of sizes m and m', with
        precision m m'/s^2, and half of it where they are one.
        """
        told = np.maximum(np.linalg.eigvalsh(moments.products), 0.0)
        precision = np.outer(told, told) * (_SPREAD * self.cap / self.deviation) ** 2
        precision[np.diag_indices(len(told))] /= 2
        return float(np.log1p(precision[np.triu_indices(len(told))]).sum() / 2)

    def step(self, point: _Point, sums: FloatMatrix) -> _Point:
        """One round of the equations, with the products Z P."""
        kernel, _ = self.kernel(point, sums)
        moments = _Moments.of(point.memberships)
        heard = point.before @ (kernel @ moments.covariance @ kernel)
        logs = sums @ kernel - heard - np.diag(kernel @ moments.products @ kernel) / 2
        logs = logs / self.deviation**2 + np.log(moments.sizes / self.n + _TINY)
        logs -= logs.max(axis=1, keepdims=True)
        fresh = np.exp(logs)
        fresh /= fresh.sum(axis=1, keepdims=True)
        mixed = (1 - _DAMPING) * point.memberships + _DAMPING * fresh
        return _Point(mixed, point.memberships, kernel)

    def model(self, point: _Point, sums: FloatMatrix) -> BlockModel:
        """The model at a point, with the products Z P."""
        kernel, totals = self.kernel(point, sums)
        P, moments = point.memberships, _Moments.of(point.memberships)
        echo = moments.covariance @ kernel
        gained = (totals * kernel).sum() + np.trace(echo @ echo) / 2
        gained -= (self.pairs(moments) * kernel**2).sum() / 2
        mean = totals.sum() / (self.n * (self.n - 1))
        prior = ((kernel - mean) ** 2).sum() / (4 * (_SPREAD * self.cap) ** 2)
        entropy = (P * np.log((moments.sizes / self.n + _TINY) / (P + _TINY))).sum()
        evidence = gained / (2 * self.deviation**2) + entropy - prior - self._volume(moments)
        return BlockModel(P, kernel, float(evidence))


def fit_blocks(
    view: View, vectors: FloatMatrix, count: int, deviation: float, cap: float = 1.0
) -> BlockModel:
    """The block model with a number of blocks.

    1. k-means on the first `count` vectors, or one more, from several starts.
    2. By turns, with N = diag(sizes), M = P^T P and V = N - M: the kernel
       B = (P^T Z P + V B V)/pairs, where the second term is what the noise of a pair adds to the
       joint law of its ends' memberships; and memberships
       log P_il = (sum_b (Z P)_ib B_lb - (P' B V B)_il - 1/2 (B M B)_ll)/s^2 + log share_l + const,
       half of the way each time, P' being the memberships of the round before: what each vertex
       told the others and hears back is taken out. Without V these are the mean-field equations,
       which believe noise. The start of the largest evidence goes on.

    The evidence is that of Plefka's expansion to second order:
    (<P^T Z P, B> - 1/2 <pairs, B^2> + 1/2 tr(V B V B))/(2 s^2), and the entropy of P relative to
    the shares. The kernel's prior law is normal around the mean entry, of deviation cap/2, and
    within the cap.

    Args:
        view: symmetric noisy matrix, n vertices.
        vectors: leading eigenvectors, shape (n, at least 1).
        count: of blocks.
        deviation: s, of the noise of an entry.
        cap: of an entry.

    Source: Thouless, Anderson, Palmer 1977; Plefka 1982; for blocks in Gaussian noise Lesieur,
    Krzakala, Zdeborova 2017.
    """
    law = _Law(len(vectors), deviation, cap)
    random = np.random.default_rng(count)  # starting points only: nothing private, no noise
    starts = max(_FEWEST_STARTS, min(_STARTS, _PRODUCTS // law.n)) if count > 1 else 1
    points = []
    for number in range(starts):
        used = vectors[:, : count + number % 2]
        hard = _clustered(used, count, random)
        soft = _FAITH * hard + (1 - _FAITH) / count
        points.append(_Point(soft, soft))
    points = _settled(view, law, points, _SHORT_ROUNDS)
    reached = [model.evidence for model in _models(view, law, points)]
    best = _settled(view, law, [points[int(np.argmax(reached))]], _ROUNDS)
    return _models(view, law, best)[0]


def _settled(view: View, law: _Law, points: list[_Point], rounds: int) -> list[_Point]:
    """Step 2 from several points at once: one product with the matrix serves them all."""
    for _ in range(rounds):
        sums = _products(view, points)
        points = [law.step(point, each) for point, each in zip(points, sums, strict=True)]
    return points


def _models(view: View, law: _Law, points: list[_Point]) -> list[BlockModel]:
    sums = _products(view, points)
    return [law.model(point, each) for point, each in zip(points, sums, strict=True)]


def _products(view: View, points: list[_Point]) -> list[FloatMatrix]:
    return np.split(view.times(np.hstack([point.memberships for point in points])), len(points), 1)


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
