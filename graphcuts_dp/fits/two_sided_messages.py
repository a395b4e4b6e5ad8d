"""Structure of a noisy matrix whose rows and columns differ, sharpened by what vertices share.

What `message_passing` does for an adjacency matrix, for a biadjacency matrix and that of a directed
graph: rows that are alike are placed together by an empirical-Bayes denoiser, columns that are
alike by another, and messages go from one to the other and back.
"""

import math
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.deadline import NEVER, Deadline
from graphcuts_dp.fits.message_passing import (
    DISAGREEMENT,
    MOST_INFLATION,
    PASSES,
    RECOUNT,
    refitted,
    whitening_of,
    with_row_sums,
)
from graphcuts_dp.fits.mixtures import Posterior, fit_mixture
from graphcuts_dp.fits.structure import Spectrum, Structure, find_spectrum, structure_along
from graphcuts_dp.fits.view import View


def sharpened_two_sided(
    view: View, deadline: Deadline = NEVER, *, seen: Spectrum | None = None
) -> Structure:
    """Structure of a noisy matrix that is not symmetric.

    With n rows, m columns and noise of deviation s, the steps of `sharpened_structure`, but for:

    2. Points of the rows: coordinates sqrt(n) u/sin and, when the vector of ones is not in the span
       of the right vectors, what the row sums say besides.
    4. With C such that P = E C has P^T P = n for the posterior means E of the rows, the points of
       the columns are Z^T P/(s sqrt(n)) - sqrt(n/m) Q S C, where Q is what was sent to the rows
       before and S the average posterior covariance; then with the posterior means of the columns
       back to the rows, Z Q/(s sqrt(m)) - sqrt(m/n) P S C; six times.
    5. With X and Y the true places, the expected graph is X K Y^T, and the last message gives
       X = X K Y^T Q/(s sqrt(m)), so K = s sqrt(m) (Y^T Q)^(-1), with E[Y^T Q] = E^T Q; and D is
       such that X^T (E D E'^T) Y = X^T (X K Y^T) Y on average.

    Source: Montanari, Venkataramanan 2021, section on rectangular matrices; see
    `sharpened_structure`.
    """
    n, m = view.shape
    if seen is None:
        seen = find_spectrum(view)
    if not len(seen.signal):
        return Structure.none(view.shape)
    to_rows, to_columns = seen.deviation * math.sqrt(m), seen.deviation * math.sqrt(n)
    points, Q = _coordinates(view, seen)
    rows = _Side(points, deadline)
    columns: _Side | None = None
    if deadline.passed():  # more components might have been better
        return structure_along(seen)
    for number in range(1, PASSES + 1):
        sent = rows.message()
        if sent is None:
            return Structure.none(view.shape)
        P, jacobian = sent
        points = view.transposed_times(P) / to_columns - Q @ jacobian * math.sqrt(n / m)
        if columns is None:
            columns = _Side(points, deadline)
        else:
            columns.take(points, deadline, anew=number == RECOUNT)
        sent = columns.message()
        if sent is None:
            return Structure.none(view.shape)
        Q, jacobian = sent
        points = view.times(Q) / to_rows - P @ jacobian * math.sqrt(m / n)
        rows.take(points, deadline, anew=number == RECOUNT)
        if deadline.passed():
            break
    assert columns is not None  # noqa: S101  # there is a first pass
    return _estimate(view, rows.posterior, columns.posterior, Q, to_rows)


@final
class _Side:
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
        self.posterior = refitted(self.mixture, points, self.posterior)

    def message(self) -> tuple[FloatMatrix, FloatMatrix] | None:
        """Whitened posterior means, and their average Jacobian; None if nothing is seen."""
        whitening = whitening_of(self.posterior.mean)
        if whitening is None:
            return None
        return self.posterior.mean @ whitening, self.posterior.covariance @ whitening


def _coordinates(view: View, seen: Spectrum) -> tuple[FloatMatrix, FloatMatrix]:
    """Points of the rows with noise of variance one, and the vectors whose products they are."""
    n, m = view.shape
    points = math.sqrt(n) * seen.left / np.sqrt(seen.left_noise)
    sent = math.sqrt(m) * seen.right
    return with_row_sums(view, points, sent, seen.right_noise, seen.deviation)


def _estimate(
    view: View, rows: Posterior, columns: Posterior, sent: FloatMatrix, scale: float
) -> Structure:
    """Step 5 of `sharpened_two_sided`."""
    n, m = view.shape
    groups = rows.memberships, columns.memberships
    left, right = _sure_directions(rows), _sure_directions(columns)
    if left is None or right is None:
        return Structure(np.zeros((n, 0)), np.zeros((m, 0)), np.zeros(0), *groups)
    (X, inflated_left), (Y, inflated_right) = left, right
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


def _sure_directions(posterior: Posterior) -> tuple[FloatMatrix, FloatVector] | None:
    """Whitened posterior means along directions that are known well, and what inflates each."""
    whitening = whitening_of(posterior.mean)
    if whitening is None:
        return None
    excess = whitening.T @ posterior.covariance @ whitening
    factors, axes = np.linalg.eigh(np.eye(len(excess)) + (excess + excess.T) / 2)
    sure = factors <= MOST_INFLATION
    if not sure.any():
        return None
    return posterior.mean @ whitening @ axes[:, sure], factors[sure]
