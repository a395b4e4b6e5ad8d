"""Steps from a fit to a synthetic graph: rounding, a certificate, and a bound that it keeps.

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
from graphcuts_dp.resources import Deadline, Progress
from graphcuts_dp.synth.base import FitMethod, FitProblem, FitSummary
from graphcuts_dp.synth.dependent_rounding import BitMatrix, round_keeping_degrees
from graphcuts_dp.synth.first_order import first_order
from graphcuts_dp.synth.fit_weights import certify, cut_distance, row_parts, weights_of

# How far below the bound the mixtures of `_shares` aim, one after the other, as fractions of the
# way from the bound to the distance of the other fit. A further try costs a certificate; a share
# that is too large costs accuracy.
_MARGINS = (0.001, 0.01, 0.1, 0.4)


class Finished(NamedTuple):
    """A fit, and what a graph without weights gets of it.

    Attributes:
        expected: weights of the fit, as `weights_of` takes them.
        bits: these rounded to 0 and 1; None if the graph has weights.
    """

    expected: RealMatrix
    bits: BitMatrix | None

    @property
    def matrix(self) -> npt.NDArray[np.number]:
        """The matrix of the synthetic graph."""
        return self.expected if self.bits is None else self.bits


def finished_fit(
    method: FitMethod,
    problem: FitProblem,
    noisy: NoisyMatrix,
    *,
    time_limit: float | None,
    weighted: bool,
    source: EntropySource,
    progress: Progress,
) -> tuple[Finished, CutNormCertificate, FitSummary]:
    """Fit a graph to a noisy matrix, round it, and certify its distance.

    A method that minimises the cut norm is done then. The distance of another one may exceed
    `noise_cut_bound`, the distance that the true graph itself keeps with the default confidence. If
    it is not proven to be within this bound, the fit is mixed with the first-order fit, with
    growing shares, until it is, or until the first-order fit stands alone.

    Args:
        method: the fit.
        problem: what it solves.
        noisy: the noisy matrix, its blocks on this machine.
        time_limit: for all steps together, in seconds; None if there is no limit. After it no
            mixture is begun, and certificates are the shortest ones.
        weighted: whether the graph has weights; if not, those of the fit are rounded to 0 and 1.
        source: where the coins of this rounding come from.
        progress: called with the fraction done and a message.

    Returns:
        The synthetic graph; the certificate of its weights less the noisy matrix, in the cut norm;
        and how it was made.
    """
    deadline = Deadline.after(time_limit)

    def finish(x: RealMatrix) -> tuple[Finished, CutNormCertificate]:
        bits = None
        if not weighted:
            progress(1.0, "rounding")
            bits = round_keeping_degrees(x, symmetric=noisy.symmetric, source=source)
        finished = Finished(x, bits)
        progress(1.0, "certifying")
        return finished, certify(finished.matrix, noisy, problem.cap, deadline)

    fit = method.run(problem, time_limit=time_limit, progress=progress)
    x = _in_box(fit.matrix, problem)
    finished, certificate = finish(x)
    mixed_share, stopped = 0.0, fit.stopped
    if fit.value is None:  # the method minimised no norm
        bound = noise_cut_bound(noisy.distribution, noisy.shape, symmetric=noisy.symmetric)
        if certificate.upper > bound and not deadline.passed():
            nearest = first_order(problem, time_limit=deadline.seconds_left, progress=progress)
            distance = certify(nearest.matrix, noisy, problem.cap, deadline).upper
            for share in _shares(certificate.upper, distance, bound):
                if certificate.upper <= bound or deadline.passed():
                    break
                mixed_share = share
                finished, certificate = finish((1 - share) * x + share * nearest.matrix)
        if certificate.upper > bound and deadline.passed():
            stopped = "time"
    summary = {field.name: getattr(fit, field.name) for field in fields(FitSummary)}
    summary |= {"stopped": stopped, "time_limit": time_limit, "mixed": mixed_share}
    if finished.bits is not None:
        expected = (weights_of(rows, 1.0) for rows in row_parts(finished.expected))
        # The shortest proof. A longer one takes twice the time, and is 2 % closer.
        rounding = cut_distance(finished.bits, expected, 1.0, Deadline.after(0.0))
        summary["rounding"] = rounding.upper
    return finished, certificate, FitSummary(**summary)


def _in_box(matrix: RealMatrix, problem: FitProblem) -> RealMatrix:
    """Return a matrix that fits the problem: this one if it does, else its projection.

    Methods of this package return such matrices. A user's own method may not; what is certified is
    then the graph that is published, and the budget is not lost.
    """
    fits = all(((rows >= 0) & (rows <= problem.cap)).all() for rows in row_parts(matrix))
    if problem.hollow:
        fits = fits and not matrix.diagonal().any()
    if problem.symmetric:
        fits = fits and all(map(np.array_equal, row_parts(matrix), row_parts(matrix.T)))
    if fits:
        return matrix
    copy: RealMatrix = matrix.astype(np.float64)
    return problem.project((copy + copy.T) / 2 if problem.symmetric else copy)


def _shares(upper: float, distance: float, bound: float) -> Iterator[float]:
    """Iterate over shares of another fit in a mixture, in the order in which they are tried.

    The cut norm is convex: the distance of a mixture is at most (1 - share) upper + share distance.
    Its proven bound may be a little more, since weights are rounded and no two certificates have
    the same gap. So each try aims below the bound by a larger margin. The last is the other fit
    alone.

    Args:
        upper: proven distance of the fit, above `bound`.
        distance: proven distance of the other fit.
        bound: distance that a mixture must not exceed.
    """
    if distance < bound:
        for margin in _MARGINS:
            yield (upper - bound + margin * (bound - distance)) / (upper - distance)
    yield 1.0
