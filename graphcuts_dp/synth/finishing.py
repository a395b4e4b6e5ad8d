"""Steps from a fit to a synthetic graph: rounding, a certificate, and a bound that it keeps.

Given a noisy matrix z, a *fit* is a real matrix x near z, symmetric if z is. The *distance* of a
graph is the cut norm of its weights less z. A *certificate* proves bounds on the distance from both
sides; its `upper` is what is guaranteed. Fits are rounded twice: to the decimals that are published
(`weights_of`), and for graphs without weights to 0 and 1.

Read `finished_fit`, which runs these steps. It reads noisy data alone and costs no privacy.
"""

from collections.abc import Iterator
from dataclasses import fields
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import RealMatrix
from graphcuts_dp.cutnorm.certificate import CutNormCertificate
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.estimate.worst_cut_errors import noise_cut_bound
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.resources import Deadline, Progress, one_blas_thread
from graphcuts_dp.synth.base import FitMethod, FitProblem, FitSummary
from graphcuts_dp.synth.dependent_rounding import round_keeping_degrees
from graphcuts_dp.synth.first_order import first_order
from graphcuts_dp.synth.fit_weights import certify, rounding_bound, row_parts
from graphcuts_dp.synth.sparse_weights import WeightCounts, round_to_weights

# Mixtures are tried one after the other (`_shares`). With each margin m, the aim is the distance
# bound - m (bound - distance of the other fit). The first margin is small, because a larger share
# of the other fit costs accuracy; they grow fast, because each try costs a certificate.
_MARGINS = (0.001, 0.01, 0.1, 0.4)


class Finished(NamedTuple):
    """A fit that is ready to be published.

    Attributes:
        expected: x, the expected weights, before they are rounded to decimals.
        rounded: x rounded at random, to 0 and 1, or to sparse weights; None if it is not rounded.
    """

    expected: RealMatrix
    rounded: npt.NDArray[np.number] | None

    @property
    def matrix(self) -> npt.NDArray[np.number]:
        """The weights of the synthetic graph, before they are rounded to decimals."""
        return self.expected if self.rounded is None else self.rounded


def finished_fit(
    method: FitMethod,
    problem: FitProblem,
    noisy: NoisyMatrix,
    *,
    time_limit: float | None,
    weighted: bool,
    weight_counts: WeightCounts | None = None,
    source: EntropySource,
    progress: Progress,
) -> tuple[Finished, CutNormCertificate, FitSummary]:
    """Fit a graph to a noisy matrix, round it, and certify its distance.

    A method that minimises a norm of x - z (its `value` is not None) is done then. The distance of
    another one may exceed `noise_cut_bound`: a bound that the true graph's distance keeps with high
    confidence (the `DEFAULT_CONFIDENCE` of all results). If a fit's distance is not proven to be
    within this bound, the fit is mixed with the first-order fit, which minimises the distance. The
    share of the first-order fit grows until the bound is kept, or until it stands alone.

    Order of draws: each call of `finish` draws coins from `source`. Recorded results depend on it.

    Args:
        method: the fit.
        problem: what it solves.
        noisy: the same noisy matrix, with its distribution.
        time_limit: for all steps together, in seconds; None if there is no limit. After it no
            mixture is begun, and certificates have the shortest proofs.
        weighted: whether the graph has weights; if not, those of the fit are rounded to 0 and 1.
        weight_counts: what was counted of edges with weights, to which those of the fit are
            rounded; None to leave a weight on every pair.
        source: where the coins of this rounding come from.
        progress: called with the fraction done and a message.

    Returns:
        The synthetic graph; the certificate of its distance; and how it was made.
    """
    deadline = Deadline.after(time_limit)
    fit = method.run(problem, time_limit=time_limit, progress=progress)
    bound = 0.0  # that is to be kept; none if the method minimised a norm
    if fit.value is None:
        bound = noise_cut_bound(noisy.distribution, noisy.shape, symmetric=noisy.symmetric)

    def finish(x: RealMatrix) -> tuple[Finished, CutNormCertificate]:
        """Round x to 0 and 1, or to sparse weights, and certify its distance."""
        rounded: npt.NDArray[np.number] | None = None
        if not weighted:
            progress(1.0, "rounding")
            rounded = round_keeping_degrees(x, symmetric=noisy.symmetric, source=source)
        elif weight_counts is not None:
            progress(1.0, "rounding")
            rounded = round_to_weights(
                x, weight_counts, cap=problem.cap, symmetric=noisy.symmetric, source=source
            )
        finished = Finished(x, rounded)
        progress(1.0, "certifying")
        return finished, certify(finished.matrix, noisy, problem.cap, deadline, enough=bound)

    x = _in_box(fit.matrix, problem)
    with one_blas_thread():  # products have few columns; large ones are shared out by rows
        finished, certificate = finish(x)
    mixed_share, stopped = 0.0, fit.stopped
    if bound:
        if certificate.upper > bound and not deadline.passed():
            other = first_order(problem, time_limit=deadline.seconds_left, progress=progress)
            distance = certify(other.matrix, noisy, problem.cap, deadline).upper
            for share in _shares(certificate.upper, distance, bound):
                if certificate.upper <= bound or deadline.passed():
                    break
                mixed_share = share
                finished, certificate = finish((1 - share) * x + share * other.matrix)
        if certificate.upper > bound and deadline.passed():
            stopped = "time"
    summary = {field.name: getattr(fit, field.name) for field in fields(FitSummary)}
    summary |= {"stopped": stopped, "time_limit": time_limit, "mixed": mixed_share}
    if finished.rounded is not None:
        with one_blas_thread():
            summary["rounding"] = rounding_bound(finished.rounded, finished.expected, problem.cap)
    return finished, certificate, FitSummary(**summary)


def _in_box(matrix: RealMatrix, problem: FitProblem) -> RealMatrix:
    """Return this matrix if it lies in the box of the problem, else its projection.

    Methods of this package return matrices of the box. A user's own method may not. An error would
    lose the budget that is spent already, so its matrix is projected, before it is certified.
    """
    in_box = all(((rows >= 0) & (rows <= problem.cap)).all() for rows in row_parts(matrix))
    if problem.hollow:
        in_box = in_box and not matrix.diagonal().any()
    if problem.symmetric:
        # A few rows of the matrix and of its transpose at a time.
        pairs = zip(row_parts(matrix), row_parts(matrix.T), strict=True)
        in_box = in_box and all(np.array_equal(rows, mirrored) for rows, mirrored in pairs)
    if in_box:
        return matrix
    copy: RealMatrix = matrix.astype(np.float64)
    return problem.project((copy + copy.T) / 2 if problem.symmetric else copy)


def _shares(upper: float, distance: float, bound: float) -> Iterator[float]:
    """Iterate over shares of another fit in a mixture, in the order in which they are tried.

    The cut norm is convex: the distance of a mixture is at most (1 - share) upper + share distance.
    A share makes this equal to the aim of a margin. The proven distance may still be a little above
    the aim, since the mixture is rounded, and since proofs are not equally tight. Then the next
    margin is larger. The last share is 1, the other fit alone.

    Args:
        upper: proven distance of the fit, above `bound`.
        distance: proven distance of the other fit.
        bound: distance that a mixture must not exceed.
    """
    if distance < bound:
        for margin in _MARGINS:
            yield (upper - bound + margin * (bound - distance)) / (upper - distance)
    yield 1.0
