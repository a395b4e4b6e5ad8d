"""From a fit to the matrix of a synthetic graph: rounded, certified, within a bound."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import RealMatrix
from graphcuts_dp.cutnorm.certificate import CutNormCertificate
from graphcuts_dp.deadline import Deadline
from graphcuts_dp.fits.base import FitMethod, FitProblem, FitSummary
from graphcuts_dp.fits.certify import certify
from graphcuts_dp.fits.first_order import FirstOrder
from graphcuts_dp.fits.rounding import round_keeping_degrees
from graphcuts_dp.measurements.noisy_matrix import NoisyMatrix
from graphcuts_dp.measurements.worst_case import noise_cut_bound
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.progress import Progress

_MARGINS = (0.001, 0.01, 0.1, 0.4)  # each try costs a certificate, a share too large costs accuracy


@final
@dataclass(frozen=True, eq=False)
class FinishedFit:
    """What a synthetic graph is made from.

    Attributes:
        matrix: as `weights_of` takes it.
        certificate: of the synthetic weights minus the noisy matrix, in the cut norm.
        summary: how it was made.
    """

    matrix: npt.NDArray[np.number]
    certificate: CutNormCertificate
    summary: FitSummary


def finished_fit(
    method: FitMethod,
    problem: FitProblem,
    noisy: NoisyMatrix,
    unweighted: bool,
    source: EntropySource,
    progress: Progress,
) -> FinishedFit:
    """Fit, round, certify; a fit that minimises no norm is kept within `noise_cut_bound`.

    Where ||x - z||_C of such a fit is not proven to be within that bound, x is mixed with the
    first-order fit until it is, as far as that itself is. The method's time limit is for all of
    this: when it is over no mixture is begun, and certificates are the shortest ones.

    Args:
        method: the fit.
        problem: what it solves.
        noisy: the noisy matrix, its blocks on this machine.
        unweighted: whether to round to weights 0 and 1.
        source: of the coins for that; no private data are involved.
        progress: called with the fraction done and a message.
    """
    deadline = Deadline.after(method.time_limit)

    def finished(x: RealMatrix) -> tuple[npt.NDArray[np.number], CutNormCertificate]:
        matrix: npt.NDArray[np.number] = x
        if unweighted:
            progress(1.0, "rounding")
            matrix = round_keeping_degrees(x, symmetric=noisy.symmetric, source=source)
        progress(1.0, "certifying")
        return matrix, certify(matrix, noisy, problem.cap, deadline)

    found = method(problem, progress=progress)
    matrix, certificate = finished(found.matrix)
    mixed = 0.0
    if found.value is None:
        bound = noise_cut_bound(noisy.distribution, noisy.shape, symmetric=noisy.symmetric)
        if certificate.upper > bound and not deadline.passed():
            other = FirstOrder(time_limit=deadline.seconds_left)(problem, progress=progress)
            least = certify(other.matrix, noisy, problem.cap, deadline).upper
            for share in _shares(certificate.upper, least, bound):
                if certificate.upper <= bound or deadline.passed():
                    break
                mixed = share
                matrix, certificate = finished((1 - mixed) * found.matrix + mixed * other.matrix)
        if certificate.upper > bound and deadline.passed():
            found = replace(found, stopped="time")
    summary = FitSummary.of(found, method, unweighted=unweighted, mixed=mixed)
    return FinishedFit(matrix, certificate, summary)


def _shares(upper: float, least: float, bound: float) -> Iterator[float]:
    """How much of another fit may bring a mixture within a bound: to be tried in this order.

    The cut norm is convex, so a mixture is at most the line between the two fits. Its proven bound
    is so only nearly: weights are rounded, flipped for `unweighted`, and no two certificates have
    the same gap. So the aim is below the bound by a growing part of the way to `least`, and at last
    the other fit alone.

    Args:
        upper: proven bound of the fit, above `bound`.
        least: proven bound of the other fit.
        bound: what a mixture must not pass.
    """
    if least < bound:
        for margin in _MARGINS:
            yield (upper - bound + margin * (bound - least)) / (upper - least)
    yield 1.0
