"""The certificate of a release: how far the synthetic matrix is from the noisy one."""

import dataclasses
import math

import numpy as np
import numpy.typing as npt

from graphcuts_dp.cutnorm.certificate import CutNormCertificate
from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.deadline import NEVER, Deadline
from graphcuts_dp.estimate.blocks import RowBlock
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix

DECIMALS = 4  # of the weights of a synthetic graph
# Enough for a release, whose promises use the upper bound alone: a closer lower one takes a third
# of the time again, and the relaxation leaves 12 to 17 % open on noise in any case.
TOLERANCE = 0.2
_LARGEST_WIDE = 1 << 25  # entries up to which the difference is held in float64


def weights_of(rows: npt.NDArray[np.number], cap: float) -> npt.NDArray[np.float64]:
    """The weights that a synthetic graph gets from rows of a fit: rounded, within the box.

    Args:
        rows: shape (some rows, columns).
        cap: largest weight, or infinity.
    """
    return np.minimum(rows.astype(np.float64).round(DECIMALS), cap)


def certify(
    matrix: npt.NDArray[np.number], noisy: NoisyMatrix, cap: float, deadline: Deadline = NEVER
) -> CutNormCertificate:
    """Two-sided bound on ||x - z||_C, where x has the weights of the synthetic graph.

    The search for a large cut stops where both bounds are within `TOLERANCE` of each other.

    A large difference is held in float32. What each entry loses by that is known: the bounds are
    widened by the sum of all losses of one sign, the most that a cut can gather of them.

    Args:
        matrix: the fit, as `weights_of` takes it.
        noisy: the noisy matrix.
        cap: largest weight, or infinity.
        deadline: when to stop looking for better bounds; those found are proven all the same.
    """
    narrow = math.prod(noisy.shape) > _LARGEST_WIDE
    difference = np.empty(noisy.shape, dtype=np.float32 if narrow else np.float64)
    gained = lost = 0.0
    start = 0
    for z in noisy.blocks.results(RowBlock.estimate, np.float64):
        stop = start + len(z)
        exact = weights_of(matrix[start:stop], cap) - z
        difference[start:stop] = exact
        if narrow:
            exact -= difference[start:stop]
            gained += float(np.maximum(exact, 0).sum())
            lost -= float(np.minimum(exact, 0).sum())
        start = stop
    found = cut_norm(difference, tolerance=TOLERANCE, time_limit=deadline.seconds_left)
    if not narrow:
        return found
    slack = max(gained, lost) * (1 + 1e-6)
    return dataclasses.replace(
        found, lower=max(0.0, found.lower - slack), upper=found.upper + slack
    )
