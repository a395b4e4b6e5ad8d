"""Approximate message passing: structure of a noisy matrix, sharper than its singular vectors.

Singular vectors treat every vertex for itself. Vertices of one block are alike, though, which shows
once all vertices are placed by the vectors: the points of a block gather. An empirical-Bayes
denoiser (`synth.mixture`) uses that: it replaces each noisy point by its posterior mean under a
mixture model of all points. Multiplying the noisy matrix by the denoised points (a message)
places the vertices anew, with less noise. A correction, Onsager's term, takes out of each message
what a vertex hears back of what it sent itself, so that the noise of the points stays Gaussian and
independent. Six passes sharpen the directions to nearly what the data allow.

`sharpened_structure` states the algorithm step by step. All of it works on public noisy data.

Terms used here:

- `View` is the noisy matrix Z, `Structure` a low-rank estimate of its expectation (both in
  `synth.structure`). Rows and columns are called left and right. For a symmetric matrix both are
  the same vertices.
- `Spectrum` (`synth.spectrum`) holds singular directions beyond the noise: unit columns `left` and
  `right`, for each the squared sine of its angle with the true direction (`left_noise`,
  `right_noise`), the `signal` (the true singular value), and the `deviation` s of the noise.
- A point is what is known of a vertex: a row of numbers with Gaussian noise of variance 1 each.
- `Posterior` (`synth.mixture`) holds denoised points: `mean` E and average covariance S, which is
  also the average Jacobian of the denoiser. Its `message()` returns E C and S C for a matrix C that
  makes E C white: (E C)^T (E C) is n times the identity.
"""

import math
from dataclasses import replace

import numpy as np

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.resources import NEVER, Deadline
from graphcuts_dp.synth.mixture import Mixture, Posterior, fit_mixture
from graphcuts_dp.synth.spectrum import Spectrum, find_spectrum, structure_along
from graphcuts_dp.synth.structure import Structure, View

_PASSES = 6
_REFIT_PASS = 3  # in which number and kind of the mixture's components are chosen anew
_WARM_ROUNDS = 15  # of EM in each pass, started from the memberships of the pass before
# Row sums become one more coordinate of the points if the squared sine of the angle between the
# vector of ones and the span of the directions is at least this.
_LEAST_SQUARED_SINE = 0.2
# A direction is dropped if its size differs from what the noisy matrix has along it by more than
# this share of the size.
_MOST_DISAGREEMENT = 0.35
_CUTOFF = 1e-2  # singular values below this share of the largest count as 0 in pseudo-inverses


def sharpened_structure(
    view: View, deadline: Deadline = NEVER, *, spectrum: Spectrum | None = None
) -> Structure:
    """Return the structure of a noisy matrix by message passing from its spectrum.

    Steps, for a symmetric matrix Z of n vertices with noise of deviation s:

    1. Eigenpairs beyond the edge of the noise (`find_spectrum`).
    2. Points: coordinates sqrt(n) v/sin for each eigenvector v, whose noise has variance one. Here
       sin is the sine of the angle between v and the true direction. Row sums tell one more
       coordinate, unless the vector of ones is nearly in the span of the eigenvectors; see
       `_with_row_sums`.
    3. Posterior means E of the points, with average posterior covariance S, from a mixture.
    4. Message passing: the message is W = E C, with C such that W^T W is n times the identity. The
       next points are Z W/(s sqrt(n)) - U S C. U S C is Onsager's term, and U is the message of the
       pass before (in the first pass sqrt(n) v for each eigenvector v). Back to 3, six times.
    5. Estimate.
       a. The true points X lie along the true directions, so the expected graph is X K X^T for some
          matrix K. The last product was X = (X K X^T) W/(s sqrt(n)) but for noise, so
          K = s sqrt(n) (X^T W)^(-1). X is unknown, but posterior means obey E[X^T W] = E^T W.
       b. E D E^T is to have the inner products of the expected graph along the true directions:
          X^T (E D E^T) X = X^T (X K X^T) X. Again E[X^T E] = E^T E, and E[X^T X] = E^T E + n S. In
          a basis in which E^T E is n times the identity and E^T E + n S is n diag(f), the equation
          is D = diag(f) K diag(f).
       c. A direction is dropped if its inflation factor is too large
          (`Posterior.reliable_directions`), or if its size differs by more than 35 % from what the
          noisy matrix has along it.

    For a matrix of n rows and m columns (of a bipartite or directed graph) messages go from rows to
    columns and back. The steps that differ:

    2. Points of the rows: coordinates sqrt(n) u/sin, and row sums when the vector of ones is not in
       the span of the right vectors.
    4. The message P = E C to the columns is made of the posterior means E of the rows, and P^T P
       is n times the identity. The points of the columns are
       Z^T P/(s sqrt(n)) - sqrt(n/m) Q S C, where Q is the message that the rows received last (at
       first sqrt(m) v for each right vector v). Then the same back: with E', S', C' of the columns,
       Q = E' C' and the points of the rows are Z Q/(s sqrt(m)) - sqrt(m/n) P S' C'.
    5. With X and Y the true points of rows and columns, the expected graph is X K Y^T. The last
       product was X = X K Y^T Q/(s sqrt(m)) but for noise, so K = s sqrt(m) (Y^T Q)^(-1), with
       E[Y^T Q] = E'^T Q. D is such that X^T (E D E'^T) Y = X^T (X K Y^T) Y on average:
       D = diag(f) K diag(f').

    The memberships of the last mixtures are the groups of the structure. If the time is up before
    the first pass, the structure is that of the spectrum alone; later, that of the passes so far.

    Args:
        view: the matrix.
        deadline: when to stop; by default never.
        spectrum: of the matrix; None to compute it.

    Privacy: reads the noisy matrix alone, which is public.

    Source: Montanari, Venkataramanan 2021 (message passing from a spectral start, and its section
    on rectangular matrices); Zhong, Wang, Fan 2022 (empirical Bayes). Deviation: step 5's sizes,
    and that the mixture is fitted, not known.
    """
    n, m = view.shape
    if spectrum is None:
        spectrum = find_spectrum(view)
    if not len(spectrum.signal):
        return Structure.none(view.shape)
    points = math.sqrt(n) * spectrum.left / np.sqrt(spectrum.left_noise)  # of the rows
    # The message that the rows received last, here as if `points` came from it. It is called Q in
    # the text above, and U for a symmetric matrix. The sign is that of the eigenvalue.
    to_rows = math.sqrt(m) * spectrum.right * np.sign(spectrum.signal)
    points, to_rows = _with_row_sums(view, points, to_rows, spectrum)
    row_scale = spectrum.deviation * math.sqrt(m)
    column_scale = spectrum.deviation * math.sqrt(n)
    rows = _denoised(points, deadline)  # posterior of the rows
    columns: Posterior | None = None  # stays None for a symmetric matrix
    if deadline.passed():  # the mixture may have too few components
        return structure_along(spectrum)
    for pass_number in range(1, _PASSES + 1):
        refit = pass_number == _REFIT_PASS
        # `sender` sends to the rows; `sent_before` is the last message that the sender received.
        if view.symmetric:
            sender, sent_before = rows, to_rows
        else:
            message = rows.message()
            if message is None:
                return Structure.none(view.shape)
            to_columns, jacobian = message
            onsager = to_rows @ jacobian * math.sqrt(n / m)
            points = view.transposed_times(to_columns) / column_scale - onsager
            columns = _denoised(points, deadline, columns, refit=refit)
            sender, sent_before = columns, to_columns
        message = sender.message()
        if message is None:
            return Structure.none(view.shape)
        to_rows, jacobian = message
        onsager = sent_before @ jacobian * math.sqrt(m / n)
        points = view.times(to_rows) / row_scale - onsager
        rows = _denoised(points, deadline, rows, refit=refit)
        if deadline.passed():
            break
    return _estimate(view, rows, rows if columns is None else columns, to_rows, row_scale)


def _denoised(
    points: FloatMatrix,
    deadline: Deadline,
    previous: Posterior | None = None,
    *,
    refit: bool = False,
) -> Posterior:
    """Return the posterior of points under a mixture that is fitted to them.

    Args:
        points: shape (points, dimensions), with noise of variance one.
        deadline: after which the mixture keeps the number and kind of its components.
        previous: posterior of the pass before, whose memberships EM starts from; None at first.
        refit: whether number and kind of the components are chosen anew.
    """
    if previous is None:
        previous = fit_mixture(points, deadline).posterior(points)
    elif refit:
        mixture = fit_mixture(points, deadline)
        if not deadline.passed():  # otherwise it may have too few components
            previous = mixture.posterior(points)
    start = Mixture.of_memberships(points, previous.memberships, rays=previous.rays)
    fitted_mixture, _log_likelihood = start.fitted(points, _WARM_ROUNDS)
    return fitted_mixture.posterior(points)


def _with_row_sums(
    view: View, points: FloatMatrix, to_rows: FloatMatrix, spectrum: Spectrum
) -> tuple[FloatMatrix, FloatMatrix]:
    """Add row sums as a coordinate if the vector of ones is far from the span of the directions.

    Every coordinate of the points counts as a product Z q/(s sqrt(m)) with a column q of Q. The row
    sums are such a product, with the vector of ones. Let a_q be the cosine of the vector of ones
    with the true direction of q. Then the noise of the row sums has covariance a_q with that of
    coordinate q, and the row sums less the sum over q of a_q (coordinate q) have noise that is
    independent of the coordinates, of variance 1 - sum of a_q^2. That is the squared sine of the
    angle between the vector of ones and the span. Divided by the sine, they are one more
    coordinate.

    Args:
        view: the matrix Z.
        points: coordinates of the rows, shape (n, k).
        to_rows: Q, shape (m, k).
        spectrum: of Z.

    Returns:
        Points and Q, with one more column each or as they were.
    """
    m = len(to_rows)
    # The mean of a column sqrt(m) v is the cosine of v with the vector of ones. The cosine of
    # the true direction is larger: divided by the cosine of the angle between both.
    cosines = (to_rows / np.sqrt(1 - spectrum.right_noise)).mean(axis=0)
    squared_sine = 1 - float(cosines @ cosines)
    if squared_sine >= _LEAST_SQUARED_SINE:
        row_sums = view.times(np.ones((m, 1)))[:, 0] / (spectrum.deviation * math.sqrt(m))
        coordinate = (row_sums - points @ cosines) / math.sqrt(squared_sine)
        points = np.column_stack([points, coordinate])
        direction = (1 - to_rows @ cosines) / math.sqrt(squared_sine)
        to_rows = np.column_stack([to_rows, direction])
    return points, to_rows


def _estimate(
    view: View, rows: Posterior, columns: Posterior, to_rows: FloatMatrix, row_scale: float
) -> Structure:
    """Return the estimate of step 5 of `sharpened_structure`.

    Here X and Y are estimates of the true points, in the basis of `reliable_directions`: X^T X is n
    times the identity.

    Args:
        view: the matrix Z.
        rows: posterior of the rows.
        columns: posterior of the columns; that of the rows for a symmetric matrix.
        to_rows: Q, the last message to the rows, shape (m, k).
        row_scale: s sqrt(m).
    """
    groups = rows.memberships, columns.memberships
    # Pairs of the basis of reliable directions, and their inflation factors f.
    row_directions, column_directions = rows.reliable_directions(), columns.reliable_directions()
    if row_directions is None or column_directions is None:
        empty = Structure.none(view.shape)
        return replace(empty, left_groups=groups[0], right_groups=groups[1])
    (row_basis, row_inflation), (column_basis, column_inflation) = row_directions, column_directions
    X, Y = rows.mean @ row_basis, columns.mean @ column_basis
    if view.symmetric:
        # X is in the basis of `row_basis`, and so must be the message that the points came from.
        inner = _symmetrised(X.T @ (to_rows @ row_basis))
        K = np.linalg.pinv(inner / row_scale, rcond=_CUTOFF)
    else:
        # The sides may have different numbers of reliable directions, so Y^T Q in the basis of X
        # need not be square. Instead all coordinates of the rows are used, one for each column of
        # Q. They are X T, for a matrix T that least squares finds. So X T = X K Y^T Q/(s sqrt(m)).
        T = np.linalg.lstsq(X, rows.mean, rcond=None)[0]
        K = row_scale * T @ np.linalg.pinv(Y.T @ to_rows, rcond=_CUTOFF)
    D = row_inflation[:, None] * K * column_inflation
    # With X = F R and Y = G R', the estimate X D Y^T is F (R D R'^T) G^T.
    (F, R), (G, R_columns) = np.linalg.qr(X), np.linalg.qr(Y)
    core = R @ D @ R_columns.T
    if view.symmetric:
        sizes, rotation = np.linalg.eigh(_symmetrised(core))
        F = G = F @ rotation
    else:
        rotation, sizes, column_rotation = np.linalg.svd(core, full_matrices=False)
        F, G = F @ rotation, G @ column_rotation.T
    observed = (view.times(G) * F).sum(axis=0)  # f^T Z g for each direction
    agrees = np.abs(observed - sizes) <= _MOST_DISAGREEMENT * np.abs(sizes)
    left = F[:, agrees]
    right = left if view.symmetric else G[:, agrees]
    return Structure(left, right, sizes[agrees], *groups)


def _symmetrised(matrix: FloatMatrix) -> FloatMatrix:
    """Return the symmetric part of a square matrix, which rounding or noise made asymmetric."""
    return np.asarray((matrix + matrix.T) / 2)
