"""Low-rank structure that a noisy matrix shows, along directions that its noise does not hide.

A noisy matrix is the expected graph, of low rank, plus independent noise of deviation s. Directions
whose singular value passes the edge s (sqrt(n) + sqrt(m)) of the noise can be seen, but only in
part: the cosine with the true direction is below one, and is known. `View` is the noisy matrix, or
that less an expected graph, as far as products with it are needed.

Singular vectors treat every vertex alone. Vertices of one block are alike, and that is visible once
all are placed by the vectors: an empirical-Bayes denoiser uses it. Going back to the matrix with
denoised vectors, corrected so that the noise stays Gaussian (approximate message passing), sharpens
the directions to nearly what the data allow.

The denoiser is a mixture model of points in Gaussian noise of unit variance: blocks of alike
vertices are clusters with free means; blocks whose vertices differ in degree are rays t v with a
spread of scales t. Both are fitted by expectation maximisation; the number of components and the
kind are chosen by the Bayesian information criterion. All this is one topic, hence a long file.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.estimate.blocks import Blocks, RowBlock
from graphcuts_dp.resources import NEVER, Deadline

_Short = npt.NDArray[np.float32]
_LARGEST_SHORT = 1e15  # products with larger ends may be out of float32's range


@final
@dataclass(frozen=True, eq=False)
class View:
    """Z, or Z less the matrix cap min(1, r_i c_j b_gh) that degrees and public groups expect.

    Attributes:
        blocks: Z.
        ends: r and c, shapes (n_left,) and (n_right,), one object twice if Z is symmetric; None for
            Z itself.
        cap: of the expected matrix.
        cells: the group g of each row, the group h of each column, and b, shape (groups of rows,
            groups of columns); None where there are no groups.
    """

    blocks: Blocks
    ends: tuple[FloatVector, FloatVector] | None = None
    cap: float = 1.0
    cells: tuple[IntVector, IntVector, FloatMatrix] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.blocks.shape

    @property
    def symmetric(self) -> bool:
        """Whether rows and columns are the same vertices."""
        return self.blocks.layout.symmetric

    def times(self, vectors: FloatMatrix) -> FloatMatrix:
        """Product with the columns of a matrix of shape (n_right, k), in float32."""
        return self._product(self.rows, vectors)

    def transposed_times(self, vectors: FloatMatrix) -> FloatMatrix:
        """Product of the transpose with a matrix of shape (n_left, k)."""
        if self.symmetric:
            return self.times(vectors)
        short = vectors.astype(np.float32)
        parts = self.blocks.map(lambda block: self.rows(block).T @ short[block.start : block.stop])
        return np.asarray(np.sum(parts, axis=0, dtype=np.float64))

    def square_sum(self) -> float:
        """Sum of all squared entries."""
        rows = self.blocks.results(self.rows)
        return sum(float(np.vdot(z, z)) for z in rows)

    def expected_times(self, vectors: FloatMatrix) -> FloatMatrix:
        """Product of the expected matrix with the columns of a matrix of shape (n_right, k)."""
        return self._product(self.expected_rows, vectors)

    def _product(self, rows: Callable[[RowBlock], _Short], vectors: FloatMatrix) -> FloatMatrix:
        short = vectors.astype(np.float32)
        return np.concatenate(self.blocks.map(lambda block: rows(block) @ short)).astype(np.float64)

    def expected_column_sums(self) -> FloatVector:
        """Column sums of the expected matrix."""
        sums: FloatVector = sum(
            rows.sum(axis=0, dtype=np.float64) for rows in self.blocks.results(self.expected_rows)
        )
        return sums

    def rows(self, block: RowBlock) -> _Short:
        """The entries of a block."""
        z: _Short = block.estimate(np.float32)
        if self.ends is not None:
            z -= self.expected_rows(block)
        return z

    def expected_rows(self, block: RowBlock) -> _Short:
        """The entries of the expected matrix in the rows of a block."""
        if self.ends is None:
            return np.zeros(block.shape, dtype=np.float32)
        ends, others = self.ends
        own = slice(block.start, block.stop)
        # Near a star, some ends tend to infinity and others to zero.
        kind = np.float64 if max(ends.max(), others.max()) > _LARGEST_SHORT else np.float32
        products = ends[own].astype(kind)[:, None] * others.astype(kind)
        if self.cells is not None:
            row_groups, column_groups, ratios = self.cells
            products *= ratios.astype(kind)[:, column_groups][row_groups[own]]
        np.minimum(products, 1, out=products)
        expected: _Short = products.astype(np.float32, copy=False)
        expected *= np.float32(self.cap)
        block.clear_diagonal(expected)
        return expected


# Tuned with bench_fit_quality.py: over the twelve graphs of docs/releases.md the median worst cut
# is 0.39 of the raw matrix's, the largest 0.56.
_MOST = 40  # directions looked for
_WIDTH = 48  # of the block Krylov space
_DEPTH = 12
_MARGIN = 2.0  # times n^(-2/3): how far beyond the edge a value must lie
_LEAST_REST = 1e-12  # of the sum of squares, that counts as noise
_MOST_NOISE = 0.8  # share of noise above which a direction is left alone
_NEAR = 1.5  # times the least signal that can be seen: blocks below are merged or lost now and then
_TRACY_WIDOM = 0.98  # 95 % of its law: how far noise alone reaches beyond the edge
_MEAN = 0.1  # squared cosine with the vector of ones, from which a direction is the mean
_FEWEST = 50  # vertices of a side, below which that law says little


Triples = tuple[FloatVector, FloatMatrix, FloatMatrix]  # singular values, left and right vectors


@final
@dataclass(frozen=True, eq=False)
class Structure:
    """An estimate F diag(sizes) G^T of what is expected, with unbiased inner products.

    Attributes:
        left: F, orthonormal columns, shape (n_left, r).
        right: G, shape (n_right, r); the same object as `left` for an adjacency matrix.
        sizes: shape (r,). Larger in modulus than the noisy matrix would have them: F and G hold
            only part of the true directions, so for cuts along those to come out right, more is
            needed.
        left_groups: columns that tell groups of vertices apart, shape (n_left, k).
        right_groups: likewise.
        near: how many directions of the noisy matrix lie near the edge of its noise; see
            `directions_near_noise`.
    """

    left: FloatMatrix
    right: FloatMatrix
    sizes: FloatVector
    left_groups: FloatMatrix
    right_groups: FloatMatrix
    near: int = 0

    @classmethod
    def none(cls, shape: tuple[int, int]) -> Self:
        """No direction passes the noise."""
        left, right = np.zeros((shape[0], 0)), np.zeros((shape[1], 0))
        return cls(left, right, np.zeros(0), left, right)

    @property
    def row_sums(self) -> FloatVector:
        """Of the estimate."""
        return np.asarray(self.left @ (self.sizes * self.right.sum(axis=0)))

    @property
    def column_sums(self) -> FloatVector:
        """Of the estimate."""
        return np.asarray(self.right @ (self.sizes * self.left.sum(axis=0)))


@final
@dataclass(frozen=True, eq=False)
class Spectrum:
    """Singular triples, or eigenpairs of a symmetric matrix, beyond the edge of the noise.

    Attributes:
        left: unit columns, shape (n_left, r).
        right: shape (n_right, r); for a symmetric matrix the same object as `left`.
        signal: the expected matrix's own singular values (eigenvalues, signed), estimated.
        left_noise: squared sine of the angle between a column and the true direction.
        right_noise: likewise.
        deviation: s, of the noise in one entry.
    """

    left: FloatMatrix
    right: FloatMatrix
    signal: FloatVector
    left_noise: FloatVector
    right_noise: FloatVector
    deviation: float


def find_spectrum(view: View, triples: Triples | None = None) -> Spectrum:
    """What of a noisy matrix passes the edge of its noise.

    With n rows, m columns, b = n/m and y = w/(s sqrt(m)) for a singular value w, the signal x
    behind it solves y^2 = (1 + x^2)(b + x^2)/x^2, and the squared sines are
    b (1 + x^2)/(x^2 (x^2 + b)) on the left and (b + x^2)/(x^2 (x^2 + 1)) on the right. For a
    symmetric matrix, b = 1: x = (y + sqrt(y^2 - 4))/2 and 1/x^2.

    Args:
        view: the matrix.
        triples: what `largest_triples` says of it, if it has been asked.

    Source: Benaych-Georges, Nadakuditi 2011 and 2012.
    """
    values, left, right = largest_triples(view) if triples is None else triples
    n, m = view.shape
    count, deviation = _beyond(view, values, 1 + _MARGIN * min(n, m) ** (-2 / 3))
    values, ratio = values[:count], n / m
    x = _signals(values, deviation, view.shape)
    if view.symmetric:
        left_noise = right_noise = 1 / x
    else:
        left_noise = ratio * (1 + x) / (x * (x + ratio))
        right_noise = (ratio + x) / (x * (x + 1))
    clear = np.maximum(left_noise, right_noise) < _MOST_NOISE
    kept_left = left[:, :count][:, clear]
    return Spectrum(
        left=kept_left,
        right=kept_left if view.symmetric else right[:, :count][:, clear],
        signal=(np.sign(values) * np.sqrt(x) * deviation * math.sqrt(m))[clear],
        left_noise=left_noise[clear],
        right_noise=right_noise[clear],
        deviation=deviation,
    )


def directions_near_noise(view: View, triples: Triples) -> int:
    """How many directions of a noisy matrix stand out of its noise, but by little.

    Singular values of noise alone reach s (sqrt(n) + sqrt(m)), and beyond by a multiple of
    n^(-2/3) that follows the law of Tracy and Widom: in one of twenty matrices of noise alone a
    direction is counted. The largest that count have a signal of 1.5 times the least that any
    method sees. Of blocks behind such directions some may be hidden, and the synthetic graph may
    have two of them for one. A direction along the vector of ones is the mean entry, no community.

    Args:
        view: the matrix. With fewer than 50 rows or columns none is counted.
        triples: what `largest_triples` says of it.

    Source: Johnstone 2001.
    """
    n, m = view.shape
    if min(n, m) < _FEWEST:
        return 0
    root = math.sqrt(n) + math.sqrt(m)
    width = _TRACY_WIDOM * (1 / math.sqrt(n) + 1 / math.sqrt(m)) ** (1 / 3) / root
    count, deviation = _beyond(view, triples[0], math.sqrt(1 + width))
    near = _signals(triples[0][:count], deviation, view.shape) < _NEAR**2 * math.sqrt(n / m)
    left = triples[1][:, :count]
    return int((near & (left.sum(axis=0) ** 2 < _MEAN * n)).sum())


def _beyond(view: View, values: FloatVector, margin: float) -> tuple[int, float]:
    """How many singular values pass so many times the edge of the noise, and its deviation."""
    n, m = view.shape
    total = view.square_sum()
    count = 0
    for _ in range(20):
        # Never quite nothing (a star without noise has two directions): float32 shows no less.
        rest = max(total - float((values[:count] ** 2).sum()), _LEAST_REST * total)
        freedom = max(1 - count / n - count / m, 1 / n)
        deviation = math.sqrt(rest / (n * m * freedom))
        edge = deviation * (math.sqrt(n) + math.sqrt(m))
        beyond = int((np.abs(values) > edge * margin).sum())
        if beyond == count:
            break
        count = beyond
    return count, deviation


def _signals(values: FloatVector, deviation: float, shape: tuple[int, int]) -> FloatVector:
    """The squared signals behind singular values beyond the edge, over s^2 m."""
    n, m = shape
    y = (np.abs(values) / max(deviation * math.sqrt(m), 1e-300)) ** 2
    middle = y - 1 - n / m
    found = (middle + np.sqrt(np.maximum(middle**2 - 4 * n / m, 0.0))) / 2
    return np.asarray(np.maximum(found, math.sqrt(n / m)))


def structure_along(seen: Spectrum) -> Structure:
    """Seen directions u, v with sizes x/(cos cos).

    u and v hold the shares cos of the true u*, v*, so u*^T (size u v^T) v* = x, the true value.
    """
    cosines = np.sqrt((1 - seen.left_noise) * (1 - seen.right_noise))
    return Structure(seen.left, seen.right, seen.signal / cosines, seen.left, seen.right)


def largest_triples(view: View) -> Triples:
    """Up to 40 largest singular values with vectors, by a block Krylov space; largest first.

    For a symmetric matrix: eigenvalues of largest modulus, and eigenvectors twice.
    """
    n, m = view.shape
    width = min(_WIDTH, n, m)
    block = np.random.default_rng(0).standard_normal((m, width))  # a start, no noise of privacy
    block[:, 0] = 1.0
    space = np.zeros((m, 0))
    most = min(_DEPTH * width, min(n, m))
    while True:
        for _ in range(2):  # once is not enough to stay orthogonal
            block -= space @ (space.T @ block)
        block = np.linalg.qr(block)[0][:, : most - space.shape[1]]
        space = np.hstack([space, block])
        if space.shape[1] == most:
            break
        block = view.times(block)
        if not view.symmetric:
            block = view.transposed_times(block)
    image = view.times(space)
    count = min(_MOST, most)
    if view.symmetric:
        reduced = space.T @ image
        values, vectors = np.linalg.eigh((reduced + reduced.T) / 2)
        order = np.argsort(-np.abs(values))[:count]
        left = space @ vectors[:, order]
        return values[order], left, left
    left, values, vectors = np.linalg.svd(image, full_matrices=False)
    return values[:count], left[:, :count], space @ vectors[:count].T


_MOST_COMPONENTS = 24
_STARTS = 3
_ROUNDS = 60
_SETTLED = 1e-6  # relative growth of the likelihood at which a fit stands still
_SCALES = 20
_SMALLEST_SCALE = 0.02  # of the largest
_PATIENCE = 3  # more components are tried until this many in a row are no better
_SAMPLE = 2000  # points from which number and kind of components are chosen
_TINY = 1e-300


@final
@dataclass(frozen=True, eq=False)
class Posterior:
    """Where each point lies without its noise, as far as a mixture can tell.

    Attributes:
        memberships: probability of each component, shape (points, components).
        mean: posterior mean of each point's place, shape (points, dimensions).
        covariance: average over the points of the posterior covariance; by Tweedie's formula also
            the average Jacobian of `mean` as a function of the points.
        rays: whether the components are rays rather than points.
    """

    memberships: FloatMatrix
    mean: FloatMatrix
    covariance: FloatMatrix
    rays: bool

    def message(self) -> tuple[FloatMatrix, FloatMatrix] | None:
        """Whitened posterior means, and their average Jacobian; None if nothing is seen."""
        whitening = self.whitening()
        return None if whitening is None else (self.mean @ whitening, self.covariance @ whitening)

    def whitening(self) -> FloatMatrix | None:
        """C with (E C)^T (E C) = n, on the directions that carry signal; None if none does."""
        variances, axes = np.linalg.eigh(self.mean.T @ self.mean / len(self.mean))
        clear = variances > max(_LEAST_SIGNAL, 1e-3 * variances.max(initial=0.0))
        if not clear.any():
            return None
        return np.asarray(axes[:, clear] / np.sqrt(variances[clear]))

    def sure_directions(self) -> tuple[FloatMatrix, FloatVector] | None:
        """C whose posterior means E C are whitened and known well, and what inflates each."""
        whitening = self.whitening()
        if whitening is None:
            return None
        excess = whitening.T @ self.covariance @ whitening
        factors, axes = np.linalg.eigh(_symmetric(np.eye(len(excess)) + excess))
        sure = factors <= _MOST_INFLATION
        return (whitening @ axes[:, sure], factors[sure]) if sure.any() else None


@final
@dataclass(frozen=True, eq=False)
class Mixture:
    """Components on rays t v_k with weights over a grid of scales t; one scale: plain means.

    Attributes:
        directions: v, shape (components, dimensions).
        scales: t, shape (scales,).
        weights: of each component and scale, shape (components, scales), total 1.
    """

    directions: FloatMatrix
    scales: FloatVector
    weights: FloatMatrix

    @property
    def is_rays(self) -> bool:
        """Whether components are rays rather than points."""
        return len(self.scales) > 1

    @property
    def parameters(self) -> int:
        """How many numbers the criterion counts: means and weights, or directions and a spread."""
        components, dimensions = self.directions.shape
        if self.is_rays:
            return int(components * (dimensions + 2))
        return int(components * (dimensions + 1) - 1)

    @classmethod
    def of_memberships(cls, points: FloatMatrix, memberships: FloatMatrix, *, rays: bool) -> Self:
        """A first guess from soft memberships.

        Args:
            points: shape (points, dimensions).
            memberships: shape (points, components).
            rays: which kind.
        """
        sizes = memberships.sum(axis=0) + 1e-9
        means = memberships.T @ points / sizes[:, None]
        if not rays:
            return cls(means, np.ones(1), (sizes / sizes.sum())[:, None])
        directions = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)
        largest = float(np.quantile(np.linalg.norm(points, axis=1), 0.999)) + 1.0
        scales = largest * np.linspace(_SMALLEST_SCALE, 1.0, _SCALES) ** 1.5
        weights = np.repeat((sizes / sizes.sum())[:, None] / _SCALES, _SCALES, axis=1)
        return cls(directions, scales, weights)

    def fitted(self, points: FloatMatrix, rounds: int = _ROUNDS) -> tuple["Mixture", float]:
        """Expectation maximisation from here; the mixture and its log-likelihood."""
        mixture: Mixture = self
        before = -math.inf
        for _ in range(rounds):
            shares, likelihood = mixture._shares(points)
            mixture = mixture._maximised(points, shares)
            if likelihood - before < _SETTLED * abs(likelihood):
                break
            before = likelihood
        return mixture, likelihood

    def posterior(self, points: FloatMatrix) -> Posterior:
        """What the mixture says of each point."""
        shares, _ = self._shares(points)
        amounts = shares @ self.scales
        mean = amounts @ self.directions
        squares = (shares @ self.scales**2).sum(axis=0)
        second = (self.directions.T * squares) @ self.directions
        covariance = (second - mean.T @ mean) / len(points)
        return Posterior(shares.sum(axis=2), mean, covariance, self.is_rays)

    def _shares(self, points: FloatMatrix) -> tuple[FloatMatrix, float]:
        """Probability of each component and scale for each point, and the log-likelihood."""
        along = points @ self.directions.T
        lengths = (self.directions**2).sum(axis=1)
        logs = along[:, :, None] * self.scales
        logs -= 0.5 * lengths[:, None] * self.scales**2
        logs += np.log(self.weights + _TINY)
        top = logs.max(axis=(1, 2), keepdims=True)
        logs -= top
        shares: FloatMatrix = np.exp(logs, out=logs)
        total = shares.sum(axis=(1, 2), keepdims=True)
        shares /= total
        likelihood = float(top.sum() + np.log(total).sum() - 0.5 * (points**2).sum())
        return shares, likelihood

    def _maximised(self, points: FloatMatrix, shares: FloatMatrix) -> "Mixture":
        weights = shares.mean(axis=0)
        pull = (shares @ self.scales).T @ points
        if self.is_rays:
            directions = pull / np.maximum(np.linalg.norm(pull, axis=1, keepdims=True), 1e-9)
        else:
            directions = pull / (shares.sum(axis=0) + 1e-9)
        return Mixture(directions, self.scales, weights)


def fit_mixture(points: FloatMatrix, deadline: Deadline = NEVER) -> Mixture:
    """The mixture that the Bayesian information criterion prefers.

    Components are added while that helps, each number from several k-means++ starts; at each
    number both kinds are tried. From a sample of 2,000 points if there are more.

    Args:
        points: shape (points, dimensions), each coordinate with noise of variance one.
        deadline: after which no more components are tried.

    Source: Dempster, Laird, Rubin 1977 (EM); Schwarz 1978 (criterion); Arthur, Vassilvitskii 2007.
    """
    random = np.random.default_rng(0)  # starting points only: nothing private, no noise
    if len(points) > _SAMPLE:
        points = points[random.choice(len(points), _SAMPLE, replace=False)]
    most = min(2 * points.shape[1] + 4, _MOST_COMPONENTS, len(points))
    best, best_score, worse = None, -math.inf, 0
    for components in range(1, most + 1):
        mixture, score = _best_of(points, components, random)
        if score > best_score:
            best, best_score, worse = mixture, score, 0
        else:
            worse += 1
        if worse == _PATIENCE or deadline.passed():
            break
    assert best is not None  # noqa: S101  # one component has a finite score
    return best


def _best_of(
    points: FloatMatrix, components: int, random: np.random.Generator
) -> tuple[Mixture, float]:
    """The better kind with a number of components, and its score."""
    penalty = 0.5 * math.log(len(points))
    starts = [
        Mixture.of_memberships(points, _nearest(points, components, random), rays=False)
        for _ in range(_STARTS if components > 1 else 1)
    ]
    means, likelihood = max((start.fitted(points) for start in starts), key=lambda found: found[1])
    score = likelihood - penalty * means.parameters
    memberships = means.posterior(points).memberships
    rays, likelihood = Mixture.of_memberships(points, memberships, rays=True).fitted(points)
    ray_score = likelihood - penalty * rays.parameters
    return (rays, ray_score) if ray_score > score else (means, score)


def _nearest(points: FloatMatrix, components: int, random: np.random.Generator) -> FloatMatrix:
    """Memberships by the nearest of some points chosen far from each other."""
    distances = squares_between(points, far_apart(points, components, random))
    return np.asarray(np.eye(components)[distances.argmin(axis=1)])


def far_apart(points: FloatMatrix, count: int, random: np.random.Generator) -> FloatMatrix:
    """Some of the points, each chosen with a chance that grows with its distance from others.

    Source: Arthur, Vassilvitskii 2007.
    """
    chosen = [int(random.integers(len(points)))]
    nearest = np.full(len(points), np.inf)
    while len(chosen) < count:
        nearest = np.minimum(nearest, squares_between(points, points[chosen[-1:]])[:, 0])
        total = nearest.sum()
        chances = nearest / total if total > 0 else None
        chosen.append(int(random.choice(len(points), p=chances)))
    return np.asarray(points[chosen])


def squares_between(points: FloatMatrix, centres: FloatMatrix) -> FloatMatrix:
    """Squared distances, shape (points, centres)."""
    return np.asarray(((points[:, None] - centres) ** 2).sum(axis=2))


_LEAST_ANGLE = 0.2  # of the vector of ones to the span, above which row sums are a coordinate
PASSES = 6
RECOUNT = 3  # pass after which the mixture is chosen anew
_WARM_ROUNDS = 15
_LEAST_SIGNAL = 0.05  # variance of a posterior mean, in units of the noise, that counts as seen
_MOST_INFLATION = 1.45
DISAGREEMENT = 0.35  # of a component's size with what the matrix says of its direction


def sharpened_structure(
    view: View, deadline: Deadline = NEVER, *, seen: Spectrum | None = None
) -> Structure:
    """Structure of a noisy matrix, from its spectrum.

    Steps, for a symmetric matrix:

    1. Eigenpairs beyond the edge of the noise, n vertices, noise deviation s (`find_spectrum`).
    2. Points: coordinates sqrt(n) v/sin, whose noise has variance one, and, when the vector of ones
       is not in the span, the part of the row sums that is independent of them.
    3. Posterior means E of the points' places, with average posterior covariance S, from a mixture
       (`fit_mixture`).
    4. Message passing: with C such that W = E C has W^T W = n, the next points are
       Z W/(s sqrt(n)) - U S C, where U is the W before; back to 3, six times. The last term takes
       out what each vertex told the others and hears back.
    5. With X the true places, the expected graph is X K X^T, and X = (X K X^T) W/(s sqrt(n)) gives
       K = s sqrt(n) (X^T W)^(-1). Posterior means obey E[X^T W] = E^T W and E[X^T X] = E^T E + n S,
       so K is known, and so is the D for which E D E^T has the inner products of the expected
       graph along the true directions: X^T (E D E^T) X = X^T (X K X^T) X. Directions that this
       inflates by more than 1.45, or where the noisy matrix disagrees by a third, are dropped.

    For a biadjacency matrix and that of a directed graph, with n rows and m columns, messages go
    from rows to columns and back, but for:

    2. Points of the rows: coordinates sqrt(n) u/sin, and row sums where the vector of ones is not
       in the span of the right vectors.
    4. With C such that P = E C has P^T P = n for the posterior means E of the rows, the points of
       the columns are Z^T P/(s sqrt(n)) - sqrt(n/m) Q S C, where Q is what was sent to the rows
       before and S the average posterior covariance; then with the posterior means of the columns
       back to the rows, Z Q/(s sqrt(m)) - sqrt(m/n) P S C; six times.
    5. With X and Y the true places, the expected graph is X K Y^T, and the last message gives
       X = X K Y^T Q/(s sqrt(m)), so K = s sqrt(m) (Y^T Q)^(-1), with E[Y^T Q] = E^T Q; and D is
       such that X^T (E D E'^T) Y = X^T (X K Y^T) Y on average.

    The soft blocks of the last mixtures are the groups. When the time is up before the first pass,
    the structure is that of the spectrum alone; later, that of the passes so far.

    Args:
        view: the matrix.
        deadline: when to stop.
        seen: its spectrum, if that has been found.

    Source: Montanari, Venkataramanan 2021 (message passing from a spectral start, and its section
    on rectangular matrices); Zhong, Wang, Fan 2022 (empirical Bayes). Deviation: step 5's sizes,
    and that the mixture is fitted, not known.
    """
    n, m = view.shape
    if seen is None:
        seen = find_spectrum(view)
    if not len(seen.signal):
        return Structure.none(view.shape)
    points = math.sqrt(n) * seen.left / np.sqrt(seen.left_noise)
    sent = math.sqrt(m) * seen.right * np.sign(seen.signal)
    points, sent = with_row_sums(view, points, sent, seen.right_noise, seen.deviation)
    scales = seen.deviation * math.sqrt(m), seen.deviation * math.sqrt(n)  # to rows, to columns
    rows, columns = _placed(points, deadline), None
    if deadline.passed():  # more components might have been better
        return structure_along(seen)
    for number in range(1, PASSES + 1):
        anew = number == RECOUNT
        told = sent
        if view.symmetric:
            columns = rows
        else:
            message = rows.message()
            if message is None:
                return Structure.none(view.shape)
            told, jacobian = message
            points = view.transposed_times(told) / scales[1] - sent @ jacobian * math.sqrt(n / m)
            columns = _placed(points, deadline, columns, anew=anew)
        message = columns.message()
        if message is None:
            return Structure.none(view.shape)
        sent, jacobian = message
        points = view.times(sent) / scales[0] - told @ jacobian * math.sqrt(m / n)
        rows = _placed(points, deadline, rows, anew=anew)
        if deadline.passed():
            break
    assert columns is not None  # noqa: S101  # there is a first pass
    return _estimate(view, rows, rows if view.symmetric else columns, sent, scales[0])


def _placed(
    points: FloatMatrix, deadline: Deadline, before: Posterior | None = None, *, anew: bool = False
) -> Posterior:
    """Where points lie that came back; `anew` chooses the mixture again."""
    if before is None or anew:
        found = fit_mixture(points, deadline).posterior
        if before is None or not deadline.passed():
            before = found(points)
    # A mixture of the same kind and size, started where we are.
    start = Mixture.of_memberships(points, before.memberships, rays=before.rays)
    return start.fitted(points, _WARM_ROUNDS)[0].posterior(points)


def with_row_sums(
    view: View, points: FloatMatrix, sent: FloatMatrix, noise: FloatVector, deviation: float
) -> tuple[FloatMatrix, FloatMatrix]:
    """Row sums as one more coordinate, where the vector of ones is apart from the directions.

    Args:
        view: the matrix Z.
        points: coordinates of the rows, with noise of variance one.
        sent: the vectors whose products with Z they are, shape (columns, k).
        noise: share of the noise in each of these vectors.
        deviation: of the noise of an entry.
    """
    m = len(sent)
    tilt = (sent / np.sqrt(1 - noise)).mean(axis=0)
    apart = 1 - float(tilt @ tilt)
    if apart >= _LEAST_ANGLE:
        sums = view.times(np.ones((m, 1)))[:, 0] / (deviation * math.sqrt(m))
        extra = (sums - points @ tilt) / math.sqrt(apart)
        points = np.column_stack([points, extra])
        sent = np.column_stack([sent, (1 - sent @ tilt) / math.sqrt(apart)])
    return points, sent


def _estimate(
    view: View, rows: Posterior, columns: Posterior, sent: FloatMatrix, scale: float
) -> Structure:
    """Step 5 of `sharpened_structure`."""
    groups = rows.memberships, columns.memberships
    left, right = rows.sure_directions(), columns.sure_directions()
    if left is None or right is None:
        nothing = Structure.none(view.shape)
        return replace(nothing, left_groups=groups[0], right_groups=groups[1])
    (basis, factors), (other_basis, other_factors) = left, right
    X, Y = rows.mean @ basis, columns.mean @ other_basis
    if view.symmetric:
        kernel = np.linalg.pinv(_symmetric(X.T @ (sent @ basis)) / scale, rcond=1e-2)
    else:
        # Places of rows have a coordinate for each message; X is a turn of some of them.
        lifted = np.linalg.lstsq(X, rows.mean, rcond=None)[0]
        kernel = scale * lifted @ np.linalg.pinv(Y.T @ sent, rcond=1e-2)
    core = factors[:, None] * kernel * other_factors
    (frame, triangle), (other_frame, other_triangle) = np.linalg.qr(X), np.linalg.qr(Y)
    core = triangle @ core @ other_triangle.T
    if view.symmetric:
        sizes, turn = np.linalg.eigh(_symmetric(core))
        F = G = frame @ turn
    else:
        turn, sizes, other_turn = np.linalg.svd(core, full_matrices=False)
        F, G = frame @ turn, other_frame @ other_turn.T
    shown = (view.times(G) * F).sum(axis=0)
    agrees = np.abs(shown - sizes) <= DISAGREEMENT * np.abs(sizes)
    F, G = F[:, agrees], F[:, agrees] if view.symmetric else G[:, agrees]
    return Structure(F, G, sizes[agrees], *groups)


def _symmetric(matrix: FloatMatrix) -> FloatMatrix:
    return np.asarray((matrix + matrix.T) / 2)
