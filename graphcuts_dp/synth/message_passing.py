"""Structure of a noisy adjacency matrix, sharpened by what vertices have in common.

Eigenvectors of a noisy matrix treat every vertex alone. Vertices of one block are alike, and that
is visible once all are placed by the eigenvectors: an empirical-Bayes denoiser uses it. Going back
to the matrix with denoised vectors, corrected so that the noise stays Gaussian (approximate message
passing), sharpens the directions to nearly what the data allow.

**Mixture models** of points seen in Gaussian noise of unit variance: vertices of a noisy graph
become points whose coordinates carry independent noise of variance one (see `structure`). Blocks of
alike vertices are then clusters with free means; blocks whose vertices differ in degree are rays t
v with a spread of scales t. Both are fitted by expectation maximisation, the number of components
and the kind are chosen by the Bayesian information criterion, and the posterior of each point's
place is what an empirical-Bayes denoiser needs.
"""

import math
from dataclasses import dataclass
from typing import Self, final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.resources import NEVER, Deadline
from graphcuts_dp.synth.structure import Spectrum, Structure, View, find_spectrum, structure_along

# Tuned with bench_fit_quality.py: over the twelve graphs of docs/releases.md the median worst cut
# is 0.39 of the raw matrix's, the largest 0.56.
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
    """

    memberships: FloatMatrix
    mean: FloatMatrix
    covariance: FloatMatrix


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
        return Posterior(shares.sum(axis=2), mean, covariance)

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
    chosen = [int(random.integers(len(points)))]
    distances = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    nearest = np.zeros(len(points), dtype=np.int64)
    for k in range(1, components):
        total = distances.sum()
        if total <= 0:
            break
        chosen.append(int(random.choice(len(points), p=distances / total)))
        fresh = ((points - points[chosen[-1]]) ** 2).sum(axis=1)
        nearest[fresh < distances] = k
        distances = np.minimum(distances, fresh)
    return np.eye(components)[nearest]


# Tuned with bench_fit_quality.py: over the twelve graphs of docs/releases.md the median worst cut
# is 0.39 of the raw matrix's, the largest 0.56.
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
    rows = PlacedSide(points, deadline)
    columns = rows if view.symmetric else None
    if deadline.passed():  # more components might have been better
        return structure_along(seen)
    for number in range(1, PASSES + 1):
        anew = number == RECOUNT
        if not view.symmetric:
            message = rows.message()
            if message is None:
                return Structure.none(view.shape)
            told, jacobian = message
            points = view.transposed_times(told) / scales[1] - sent @ jacobian * math.sqrt(n / m)
            if columns is None:
                columns = PlacedSide(points, deadline)
            else:
                columns.take(points, deadline, anew=anew)
        else:
            told = sent
        assert columns is not None  # noqa: S101  # there is a first pass
        message = columns.message()
        if message is None:
            return Structure.none(view.shape)
        sent, jacobian = message
        points = view.times(sent) / scales[0] - told @ jacobian * math.sqrt(m / n)
        rows.take(points, deadline, anew=anew)
        if deadline.passed():
            break
    assert columns is not None  # noqa: S101
    if view.symmetric:
        return _estimate(view, rows.posterior, sent, scales[0])
    return _estimate_two_sided(view, rows.posterior, columns.posterior, sent, scales[0])


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


def whitening_of(means: FloatMatrix) -> FloatMatrix | None:
    """C with (E C)^T (E C) = n, on the directions that carry signal; None if none does."""
    variances, axes = np.linalg.eigh(means.T @ means / len(means))
    clear = variances > max(_LEAST_SIGNAL, 1e-3 * variances.max(initial=0.0))
    if not clear.any():
        return None
    whitening: FloatMatrix = axes[:, clear] / np.sqrt(variances[clear])
    return whitening


def _estimate(view: View, posterior: Posterior, sent: FloatMatrix, scale: float) -> Structure:
    """Step 5 of `sharpened_structure`."""
    groups = posterior.memberships
    directions, sizes = np.zeros((len(sent), 0)), np.zeros(0)
    found = sure_directions(posterior)
    if found is not None:
        basis, factors = found
        means = posterior.mean @ basis
        kernel = np.linalg.pinv(_symmetric(means.T @ (sent @ basis)) / scale, rcond=1e-2)
        core = factors[:, None] * kernel * factors
        frame, triangle = np.linalg.qr(means)
        sizes, turn = np.linalg.eigh(_symmetric(triangle @ core @ triangle.T))
        directions = frame @ turn
        shown = (view.times(directions) * directions).sum(axis=0)
        agrees = np.abs(shown - sizes) <= DISAGREEMENT * np.abs(sizes)
        directions, sizes = directions[:, agrees], sizes[agrees]
    return Structure(directions, directions, sizes, groups, groups)


def _estimate_two_sided(
    view: View, rows: Posterior, columns: Posterior, sent: FloatMatrix, scale: float
) -> Structure:
    """Step 5 of `sharpened_structure` where rows and columns differ."""
    n, m = view.shape
    groups = rows.memberships, columns.memberships
    left, right = sure_directions(rows), sure_directions(columns)
    if left is None or right is None:
        return Structure(np.zeros((n, 0)), np.zeros((m, 0)), np.zeros(0), *groups)
    (basis, inflated_left), (other_basis, inflated_right) = left, right
    X, Y = rows.mean @ basis, columns.mean @ other_basis
    # Places of rows have a coordinate for each message; X is a turn of some of them.
    lifted = np.linalg.lstsq(X, rows.mean, rcond=None)[0]
    kernel = scale * lifted @ np.linalg.pinv(Y.T @ sent, rcond=1e-2)
    core = inflated_left[:, None] * kernel * inflated_right
    left_frame, left_triangle = np.linalg.qr(X)
    right_frame, right_triangle = np.linalg.qr(Y)
    turn, sizes, other = np.linalg.svd(left_triangle @ core @ right_triangle.T, full_matrices=False)
    F, G = left_frame @ turn, right_frame @ other.T
    shown = (view.times(G) * F).sum(axis=0)
    agrees = np.abs(shown - sizes) <= DISAGREEMENT * sizes
    return Structure(F[:, agrees], G[:, agrees], sizes[agrees], *groups)


def sure_directions(posterior: Posterior) -> tuple[FloatMatrix, FloatVector] | None:
    """C whose posterior means E C are whitened and known well, and what inflates each of them."""
    whitening = whitening_of(posterior.mean)
    if whitening is None:
        return None
    excess = whitening.T @ posterior.covariance @ whitening
    factors, axes = np.linalg.eigh(_symmetric(np.eye(len(excess)) + excess))
    sure = factors <= _MOST_INFLATION
    return (whitening @ axes[:, sure], factors[sure]) if sure.any() else None


def _symmetric(matrix: FloatMatrix) -> FloatMatrix:
    half: FloatMatrix = (matrix + matrix.T) / 2
    return half


@final
class PlacedSide:
    """What is known of the rows, or of the columns: the mixture that their points come from."""

    def __init__(self, points: FloatMatrix, deadline: Deadline) -> None:
        self.mixture = fit_mixture(points, deadline)
        self.posterior: Posterior = self.mixture.posterior(points)
        self.take(points, deadline)

    def take(self, points: FloatMatrix, deadline: Deadline, *, anew: bool = False) -> None:
        """Look at points that came back; `anew` chooses the mixture again."""
        if anew:
            found = fit_mixture(points, deadline)
            if not deadline.passed():
                self.mixture, self.posterior = found, found.posterior(points)
        # A mixture of the same kind and size, started where we are.
        start = Mixture.of_memberships(
            points, self.posterior.memberships, rays=self.mixture.is_rays
        )
        self.posterior = start.fitted(points, _WARM_ROUNDS)[0].posterior(points)

    def message(self) -> tuple[FloatMatrix, FloatMatrix] | None:
        """Whitened posterior means, and their average Jacobian; None if nothing is seen."""
        whitening = whitening_of(self.posterior.mean)
        if whitening is None:
            return None
        return self.posterior.mean @ whitening, self.posterior.covariance @ whitening
