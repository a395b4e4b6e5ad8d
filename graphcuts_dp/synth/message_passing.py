"""Structure of a noisy adjacency matrix, sharpened by what vertices have in common.

Eigenvectors of a noisy matrix treat every vertex alone. Vertices of one block are alike, and that
is visible once all are placed by the eigenvectors: an empirical-Bayes denoiser uses it. Going back
to the matrix with denoised vectors, corrected so that the noise stays Gaussian (approximate message
passing), sharpens the directions to nearly what the data allow.
"""

import math
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.deadline import NEVER, Deadline
from graphcuts_dp.synth.mixtures import Mixture, Posterior, fit_mixture
from graphcuts_dp.synth.structure import Spectrum, Structure, find_spectrum, structure_along
from graphcuts_dp.synth.view import View

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
    """Structure of a symmetric noisy matrix, from its spectrum.

    Steps:

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

    The soft blocks of the last mixture are the groups. When the time is up before the first pass,
    the structure is that of the spectrum alone; later, that of the passes so far.

    Args:
        view: the matrix.
        deadline: when to stop.
        seen: its spectrum, if that has been found.

    Source: Montanari, Venkataramanan 2021 (message passing from a spectral start); Zhong, Wang, Fan
    2022 (empirical Bayes). Deviation: step 5's sizes, and that the mixture is fitted, not known.
    """
    if seen is None:
        seen = find_spectrum(view)
    if not len(seen.signal):
        return Structure.none(view.shape)
    scale = seen.deviation * math.sqrt(view.shape[0])
    points, before = _coordinates(view, seen)
    side = PlacedSide(points, deadline)
    if deadline.passed():  # more components might have been better
        return structure_along(seen)
    for number in range(1, PASSES + 1):
        message = side.message()
        if message is None:
            return Structure.none(view.shape)
        sent, jacobian = message
        points = view.times(sent) / scale - before @ jacobian
        before = sent
        side.take(points, deadline, anew=number == RECOUNT)
        if deadline.passed():
            break
    return _estimate(view, side.posterior, before, scale)


def _coordinates(view: View, seen: Spectrum) -> tuple[FloatMatrix, FloatMatrix]:
    """Points with noise of variance one, and the vectors whose products with Z they are."""
    n = view.shape[0]
    points = math.sqrt(n) * seen.left / np.sqrt(seen.left_noise)
    sent = math.sqrt(n) * seen.left * np.sign(seen.signal)
    return with_row_sums(view, points, sent, seen.left_noise, seen.deviation)


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
