"""Weights that a synthetic graph gets from a fit, and a certificate of their distance.

A fit is a real matrix x, the noisy matrix is z. `weights_of` rounds x to the decimals that are
published. `certify` proves bounds from both sides on the cut norm ||x - z||_C: the largest modulus
of the sum of x - z over any rows S and any columns T. Whole matrices of float64 are avoided: work
goes by a few rows at a time.

All of this reads noisy data and costs no privacy.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import RealMatrix
from graphcuts_dp.cutnorm.certificate import CutNormCertificate, build_certificate
from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.cutnorm.low_rank import SearchLimits, search_low_rank, short_upper_bound
from graphcuts_dp.cutnorm.operand import Operand
from graphcuts_dp.estimate.blocks import RowBlock
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.resources import NEVER, Deadline

DECIMALS = 4  # of the weights of a synthetic graph
# Relative gap between the bounds at which the search for a large cut stops. A release guarantees
# the upper bound alone. A smaller tolerance would take a third more time, for a better lower bound
# only: the semidefinite relaxation, which proves the upper bound, leaves a gap of 12 to 17 % on
# noise in any case.
TOLERANCE = 0.2
_BRIEF_TOLERANCE = 0.25  # the same of a brief search, whose upper bound is some 2 % looser
_CHUNK_ENTRIES = 1 << 17  # entries of the rows that are handled at once: 1 MiB, within the cache
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
    weights = rows.astype(np.float64)
    if rows.dtype.kind == "f":
        weights.round(DECIMALS, out=weights)
    return np.minimum(weights, cap, out=weights)


def row_parts(matrix: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    """Iterate over a matrix, a few rows at a time, so that copies of them take little memory."""
    height = max(1, _CHUNK_ENTRIES // matrix.shape[1])
    return (matrix[start : start + height] for start in range(0, len(matrix), height))


def decimal_units(matrix: RealMatrix) -> npt.NDArray[np.uint16]:
    """Return the weights of a fit, whose cap is at most 1, in units of their last decimal."""
    parts = (weights_of(rows, 1.0) * 10**DECIMALS for rows in row_parts(matrix))
    return np.concatenate([np.rint(part).astype(np.uint16) for part in parts])


def certify(
    matrix: npt.NDArray[np.number],
    noisy: NoisyMatrix,
    cap: float,
    deadline: Deadline = NEVER,
    *,
    enough: float = 0.0,
) -> CutNormCertificate:
    """Return a bound from both sides on ||x - z||_C, where x are the published weights.

    The search for a large cut stops where both bounds are within `TOLERANCE` of each other.

    Args:
        matrix: the fit, as `weights_of` takes it.
        noisy: the noisy matrix z.
        cap: largest weight, or infinity.
        deadline: when to stop looking for better bounds. They are proven all the same.
        enough: an upper bound that suffices. Of a large matrix a brief search is tried first, whose
            bound is about 2 % looser, and kept if it is at most this.
    """
    single_precision = matrix.size > _MOST_DOUBLE_ENTRIES
    parts = noisy.blocks.results(_block_difference, matrix, cap, single_precision)
    difference = _gathered(parts, matrix.shape, single_precision=single_precision)
    if single_precision and enough > 0:
        certificate = _brief_certificate(difference.entries, deadline)
        if certificate.upper + difference.slack <= enough:
            return _widened(certificate, difference.slack)
    certificate = cut_norm(
        difference.entries, tolerance=TOLERANCE, time_limit=deadline.seconds_left
    )
    return _widened(certificate, difference.slack)


def _brief_certificate(matrix: npt.NDArray[np.floating], deadline: Deadline) -> CutNormCertificate:
    """Return the certificate of a large matrix by a brief search; it is proven all the same."""
    operand = Operand.from_matrix(matrix)
    limits = SearchLimits(_BRIEF_TOLERANCE, deadline, brief=True)
    outcome = search_low_rank(operand, bordered=True, limits=limits, seed=0)
    return build_certificate(operand, outcome, method="low-rank", norm="cut")


def _widened(certificate: CutNormCertificate, slack: float) -> CutNormCertificate:
    """Return a certificate of a matrix whose cuts differ by at most a slack from the given one."""
    if not slack:
        return certificate
    lower, upper = max(0.0, certificate.lower - slack), certificate.upper + slack
    return replace(certificate, lower=lower, upper=upper)


def rounding_bound(rounded: npt.NDArray[np.number], expected: RealMatrix, cap: float) -> float:
    """Return a proven bound on how far rounding has moved any cut of a fit's weights.

    It takes the shortest proof: a longer one takes twice the time, and is 2 % closer.

    Args:
        rounded: the fit, rounded, shape (n, m).
        expected: the fit, as `weights_of` takes it.
        cap: largest weight, or infinity.
    """
    single_precision = rounded.size > _MOST_DOUBLE_ENTRIES
    parts = (
        _part(weights_of(rows, cap) - weights_of(expected_rows, cap), single_precision)
        for rows, expected_rows in zip(row_parts(rounded), row_parts(expected), strict=True)
    )
    difference = _gathered(parts, rounded.shape, single_precision=single_precision)
    if not single_precision:
        return cut_norm(difference.entries, tolerance=TOLERANCE, time_limit=0.0).upper
    operand = Operand.from_matrix(difference.entries)
    bound = short_upper_bound(operand, bordered=True, seed=0)
    return operand.unscale_up(bound.value) + difference.slack


class _Difference(NamedTuple):
    """A difference of two matrices, or a few rows of it.

    A large one is held in float32, which changes each entry by a little. Let L be the larger of two
    sums: of all changes of entries that become smaller, and of all changes of those that become
    larger. A cut adds up some of the entries, so its error is between minus and plus L.

    Attributes:
        entries: float32, or float64 of a small matrix.
        change: sum of exact less held entries.
        absolute_change: sum of the moduli of these.
    """

    entries: npt.NDArray[np.floating]
    change: float
    absolute_change: float

    @property
    def slack(self) -> float:
        """L, rounded up; 0 in float64."""
        return (self.absolute_change + abs(self.change)) / 2 * (1 + _ROUNDING)


def _part(exact: npt.NDArray[np.float64], single_precision: bool) -> _Difference:
    """Return rows of a difference as they are held."""
    if not single_precision:
        return _Difference(exact, 0.0, 0.0)
    entries = exact.astype(np.float32)
    exact -= entries
    return _Difference(entries, float(exact.sum()), float(np.abs(exact).sum()))


def _block_difference(
    block: RowBlock, matrix: npt.NDArray[np.number], cap: float, single_precision: bool
) -> _Difference:
    """Return the weights of a fit less the estimates of a noisy matrix, in the rows of a block."""
    parts = (
        _part(
            weights_of(matrix[part.start : part.stop], cap) - part.estimate(np.float64),
            single_precision,
        )
        for part in block.parts(_CHUNK_ENTRIES)
    )
    return _gathered(parts, block.shape, single_precision=single_precision)


def _gathered(
    parts: Iterable[_Difference], shape: tuple[int, int], *, single_precision: bool
) -> _Difference:
    """Return a difference whose rows are those of its parts."""
    entries = np.empty(shape, dtype=np.float32 if single_precision else np.float64)
    change = absolute_change = 0.0
    start = 0
    for part in parts:
        entries[start : start + len(part.entries)] = part.entries
        start += len(part.entries)
        change += part.change
        absolute_change += part.absolute_change
    return _Difference(entries, change, absolute_change)
