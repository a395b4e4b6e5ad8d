"""Weights that a synthetic graph gets from a fit, and a certificate of their distance.

A fit is a real matrix x, the noisy matrix is z. `weights_of` rounds x to the decimals that are
published. `certify` proves bounds from both sides on the cut norm ||x - z||_C: the largest modulus
of the sum of x - z over any rows S and any columns T. Whole matrices of float64 are avoided: work
goes by a few rows at a time.

All of this reads noisy data and costs no privacy.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import RealMatrix
from graphcuts_dp.cutnorm.certificate import CutNormCertificate
from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.estimate.blocks import RowBlock
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.resources import NEVER, Deadline

DECIMALS = 4  # of the weights of a synthetic graph
# Relative gap between the bounds at which the search for a large cut stops. A release guarantees
# the upper bound alone. A smaller tolerance would take a third more time, for a better lower bound
# only: the semidefinite relaxation, which proves the upper bound, leaves a gap of 12 to 17 % on
# noise in any case.
TOLERANCE = 0.2
_CHUNK_ENTRIES = 1 << 20  # entries of the rows that are handled at once: 8 MiB
# Differences with more entries (32 MiB of float64) are held in float32. Searches use float32
# anyway, and the bounds are widened by what that loses, about 1e-6 of them.
_MOST_DOUBLE_ENTRIES = 1 << 22
_ROUNDING = 1e-6  # relative error of a sum of at most 2^31 floats is less


def weights_of(rows: npt.NDArray[np.number], cap: float) -> npt.NDArray[np.float64]:
    """Return the weights that a synthetic graph gets from rows of a fit.

    They are rounded to `DECIMALS`, and at most the cap.

    Args:
        rows: numbers >= 0, shape (some rows, columns).
        cap: largest weight, or infinity.
    """
    return np.minimum(rows.astype(np.float64).round(DECIMALS), cap)


def row_parts(matrix: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    """Iterate over a matrix, a few rows at a time, so that copies of them take little memory."""
    height = max(1, _CHUNK_ENTRIES // matrix.shape[1])
    return (matrix[start : start + height] for start in range(0, len(matrix), height))


def decimal_units(matrix: RealMatrix) -> npt.NDArray[np.uint16]:
    """Return the weights of a fit, whose cap is at most 1, in units of their last decimal."""
    parts = (weights_of(rows, 1.0) * 10**DECIMALS for rows in row_parts(matrix))
    return np.concatenate([np.rint(part).astype(np.uint16) for part in parts])


def certify(
    matrix: npt.NDArray[np.number], noisy: NoisyMatrix, cap: float, deadline: Deadline = NEVER
) -> CutNormCertificate:
    """Return a bound from both sides on ||x - z||_C, where x are the published weights.

    The search for a large cut stops where both bounds are within `TOLERANCE` of each other.

    Args:
        matrix: the fit, as `weights_of` takes it.
        noisy: the noisy matrix z.
        cap: largest weight, or infinity.
        deadline: when to stop looking for better bounds. They are proven all the same.
    """
    estimates = noisy.blocks.results(RowBlock.estimate, np.float64)
    return cut_distance(matrix, estimates, cap, deadline)


def cut_distance(
    matrix: npt.NDArray[np.number],
    row_blocks: Iterable[RealMatrix],
    cap: float,
    deadline: Deadline,
) -> CutNormCertificate:
    """Return a bound from both sides on the cut norm of a fit's weights less another matrix.

    A large difference is held in float32, which changes each entry by a little. Let L be the larger
    of two sums: of all changes of entries that become smaller, and of all changes of those that
    become larger. A cut adds up some of the entries, so its error is between minus and plus L, and
    both bounds are widened by L.

    Args:
        matrix: the fit, as `weights_of` takes it.
        row_blocks: the other matrix, a few rows at a time.
        cap: largest weight, or infinity.
        deadline: when to stop looking for better bounds.
    """
    single_precision = matrix.size > _MOST_DOUBLE_ENTRIES
    difference = np.empty(matrix.shape, dtype=np.float32 if single_precision else np.float64)
    positive_loss = negative_loss = 0.0
    start = 0
    for rows in row_blocks:
        stop = start + len(rows)
        exact = weights_of(matrix[start:stop], cap) - rows
        difference[start:stop] = exact
        if single_precision:
            exact -= difference[start:stop]  # what each entry loses; negative if it gains
            positive_loss += float(np.maximum(exact, 0).sum())
            negative_loss -= float(np.minimum(exact, 0).sum())
        start = stop
    certificate = cut_norm(difference, tolerance=TOLERANCE, time_limit=deadline.seconds_left)
    if not single_precision:
        return certificate
    slack = max(positive_loss, negative_loss) * (1 + _ROUNDING)
    return replace(
        certificate,
        lower=max(0.0, certificate.lower - slack),
        upper=certificate.upper + slack,
    )
