"""From a fit to a graph: rounded, certified, within a bound.

Post-processing of noisy data: costs no privacy. The coins of rounding come from the entropy source
all the same, so that a release has one origin of randomness.
"""

from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from graphcuts_dp.arrays import FloatVector, IntegerVector, RealMatrix
from graphcuts_dp.cutnorm.certificate import CutNormCertificate
from graphcuts_dp.cutnorm.cut_norm import cut_norm
from graphcuts_dp.estimate.blocks import RowBlock
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.estimate.worst_cut_errors import noise_cut_bound
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.resources import NEVER, Deadline, Progress
from graphcuts_dp.synth.base import FitMethod, FitProblem, FitSummary
from graphcuts_dp.synth.first_order import first_order

DECIMALS = 4  # of the weights of a synthetic graph
# Enough for a release, whose guarantees use the upper bound alone: a closer lower one takes a third
# of the time again, and the relaxation leaves 12 to 17 % open on noise in any case.
TOLERANCE = 0.2
_PART = 1 << 20  # entries of some rows
_LARGEST_WIDE = 1 << 25  # entries up to which the difference is held in float64


def weights_of(rows: npt.NDArray[np.number], cap: float) -> npt.NDArray[np.float64]:
    """The weights that a synthetic graph gets from rows of a fit: rounded, within the box.

    Args:
        rows: shape (some rows, columns).
        cap: largest weight, or infinity.
    """
    return np.minimum(rows.astype(np.float64).round(DECIMALS), cap)


def row_parts(matrix: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    """A few rows at a time, so that what is made of them takes little memory."""
    height = max(1, _PART // matrix.shape[1])
    return (matrix[start : start + height] for start in range(0, len(matrix), height))


def whole_weights(matrix: RealMatrix) -> npt.NDArray[np.uint16]:
    """The weights of a fit without a cap above 1, in units of their last decimal."""
    parts = (weights_of(rows, 1.0) * 10**DECIMALS for rows in row_parts(matrix))
    return np.concatenate([np.rint(part).astype(np.uint16) for part in parts])


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
    others = noisy.blocks.results(RowBlock.estimate, np.float64)
    return _distance(matrix, others, cap, deadline)


def _distance(
    matrix: npt.NDArray[np.number],
    others: Iterable[RealMatrix],
    cap: float,
    deadline: Deadline,
) -> CutNormCertificate:
    """The same for any other matrix, which comes a few rows at a time."""
    narrow = matrix.size > _LARGEST_WIDE
    difference = np.empty(matrix.shape, dtype=np.float32 if narrow else np.float64)
    gained = lost = 0.0
    start = 0
    for other in others:
        stop = start + len(other)
        exact = weights_of(matrix[start:stop], cap) - other
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
    return replace(found, lower=max(0.0, found.lower - slack), upper=found.upper + slack)


BitMatrix = npt.NDArray[np.uint8]

_NONE = -1
_POWER_STEPS = 30
_TINY = 1e-300


def round_keeping_degrees(
    matrix: npt.NDArray[np.floating], *, symmetric: bool, source: EntropySource
) -> BitMatrix:
    """Dependent coin flips: entry x becomes 1 with probability x, and degrees stay.

    1. Put rows and columns in an order in which neighbours have alike entries (if symmetric, one
       order; only the half above the diagonal is rounded). Round each x by a coin of its own to a
       multiple of 2^-b, where 2^b >= 8 max(n_left, n_right).
    2. For unit = 2^-b, ..., 1/4, 1/2: in every row, pair the entries that are odd multiples of the
       unit, neighbour with neighbour; in every column likewise. Pairs of both kinds chain these
       entries to paths and to cycles, of even length because row pairs and column pairs take
       turns. Flip one coin for each chain, and move its entries up and down by one unit in turn.

    Marginals: an odd entry goes up or down with probability 1/2 each, whatever was before, and
    stays in [0, 1]: the value is a martingale. So P(1) = x up to 2^-(32+b), and all cuts keep
    their expectation.
    Degrees, in every draw: a pair keeps the sum of its row (column), and at most one odd entry of a
    row finds no partner, so a unit moves the sum by at most itself, and all units together by less
    than 1. With at most 1/8 for step 1, row and column sums of a biadjacency matrix move by less
    than 1 1/8. The degree of a vertex in a symmetric matrix is a row sum plus a column sum of
    the upper half: it moves by less than 2 1/8 (measured: 0.6 root mean square).
    Other cuts have no bound beyond their expectation. Measured at n = 400 and 1,000, the worst of
    all cuts moves by 0.6 to 0.7 of what independent coins move it by, random halves likewise, and
    cuts between groups that x itself shows by 0.1 to 1, since pairs seldom leave a group.

    Time O(b n^2), in whole-array steps: 3 s at n = 2,000, 90 s and 2.3 GB at n = 10,000.

    Source: GRU12 Remark 6.3, for independent coins; Gandhi, Khuller, Parthasarathy, Srinivasan,
    "Dependent rounding and its applications to approximation algorithms", JACM 2006, for bipartite
    graphs. Deviations: bit by bit, which moves all chains at once, and a symmetric matrix is
    treated as the bipartite graph of its upper half.

    Args:
        matrix: entries in [0, 1]; symmetric to the last bit if `symmetric`, whose diagonal is
            ignored.
        symmetric: whether this is an adjacency matrix (else a biadjacency matrix).
        source: where the coins come from.
    """
    left, right = matrix.shape
    row_order, column_order = _orders(matrix, symmetric=symmetric)
    bits = (max(left, right) - 1).bit_length() + 3
    grid = np.zeros((left, right), dtype=np.int32)
    for k, i in enumerate(row_order):
        start = k + 1 if symmetric else 0
        grid[k, start:] = _to_grid(matrix[i, column_order[start:]], bits, source)
    entries = grid.reshape(-1)
    for unit in (1 << bit for bit in range(bits)):
        odd = np.flatnonzero(entries & unit)
        up = _alternate(odd, right, source)
        entries[odd] += np.where(up, unit, -unit)
    heads = np.zeros((left, right), dtype=np.uint8)
    heads[np.ix_(row_order, column_order)] = grid >> bits
    if symmetric:
        heads |= heads.T
    return heads


def _to_grid(
    entries: npt.NDArray[np.floating], bits: int, source: EntropySource
) -> npt.NDArray[np.int32]:
    """Multiples of 2^-bits, as integers, with expectation `entries` up to 2^-(32+bits)."""
    scaled = entries.astype(np.float64) * 2.0**bits
    whole = np.floor(scaled)
    coins = source.bytes(4 * len(scaled)).view(np.uint32)
    up = coins < np.floor((scaled - whole) * 2.0**32)
    return whole.astype(np.int32) + up


def _orders(
    matrix: npt.NDArray[np.floating], *, symmetric: bool
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Orders of rows and columns in which neighbours have alike entries.

    By the second singular vectors of the matrix over the roots of its row and column sums, found by
    power iteration, which need not converge: any order will do.
    """
    row_roots, column_roots = (_roots(matrix.sum(axis=axis, dtype=np.float64)) for axis in (1, 0))
    v: FloatVector = np.random.default_rng(0).standard_normal((matrix.shape[1],))
    u: FloatVector = np.zeros(matrix.shape[0])
    kind = np.result_type(matrix.dtype, np.float32)
    for _ in range(_POWER_STEPS):
        # The first pair of singular vectors are the roots themselves.
        # In the type of the matrix where it can be, lest each product makes a copy of it.
        inner = (_without(v, column_roots) / column_roots).astype(kind)
        u = (matrix @ inner) / row_roots
        inner = (_without(u, row_roots) / row_roots).astype(kind)
        v = (inner @ matrix) / column_roots
        v /= max(float(np.abs(v).max()), _TINY)
    row_order = np.argsort(_without(u, row_roots) / row_roots, kind="stable")
    if symmetric:
        return row_order, row_order
    return row_order, np.argsort(v / column_roots, kind="stable")


def _without(vector: FloatVector, direction: FloatVector) -> FloatVector:
    return vector - direction * (np.vdot(direction, vector) / np.vdot(direction, direction))


def _roots(sums: FloatVector) -> FloatVector:
    return np.sqrt(np.where(sums > 0, sums, 1.0))


def _alternate(places: IntegerVector, width: int, source: EntropySource) -> npt.NDArray[np.bool_]:
    """Up (true) or down for each entry: in turn along every chain, its start by a fair coin.

    Args:
        places: of the entries in a matrix read row by row, rising.
        width: columns of the matrix.
        source: where the coins come from.
    """
    count = len(places)
    index: type[np.signedinteger] = np.int32 if count < 2**31 - 1 else np.int64
    rows, columns = (places // width).astype(index), (places % width).astype(index)
    row_mate = _mates(rows)
    order = _by_column(rows, columns, width)
    in_order = _mates(columns[order])
    column_mate = np.full(count, _NONE, dtype=index)
    column_mate[order] = np.where(in_order == _NONE, _NONE, order[in_order])

    # Two steps along a chain join entries that move alike; there is such a link, in one of both
    # directions, for each two entries at distance two.
    has_row, has_column = row_mate != _NONE, column_mate != _NONE
    after = np.where(has_row, column_mate[row_mate], _NONE)
    linked = after != _NONE
    starts = np.concatenate([[0], np.cumsum(linked)]).astype(index)
    ones = np.ones(starts[-1], dtype=np.int8)
    links = sp.csr_array((ones, after[linked], starts), shape=(count, count))
    groups, group = connected_components(links, connection="weak")

    # The mates of a group's entries, in row or column, are all of one group, which moves against.
    opposite = np.arange(groups)
    opposite[group[has_row]] = group[row_mate[has_row]]
    opposite[group[has_column]] = group[column_mate[has_column]]
    first = np.minimum(opposite, np.arange(groups))
    coins = (source.bytes(groups) & 1).astype(np.bool_)
    up = coins[first] ^ (first < np.arange(groups))
    return np.asarray(up[group])


def _mates(lines: IntegerVector) -> IntegerVector:
    """Partner of each entry: neighbours of the same line, in pairs; -1 for the last of an odd line.

    Args:
        lines: the line of each entry, rising.
    """
    ends = np.cumsum(np.bincount(lines)).astype(lines.dtype)
    here = np.arange(len(lines), dtype=lines.dtype)
    odd_place = (here - np.concatenate([[0], ends]).astype(lines.dtype)[lines]) & 1
    alone = (odd_place == 0) & (here + 1 == ends[lines])
    return np.where(alone, _NONE, here + 1 - 2 * odd_place)


def _by_column(rows: IntegerVector, columns: IntegerVector, width: int) -> IntegerVector:
    """Order of the entries column by column: a transposition, which takes linear time."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows))])
    here = np.arange(len(rows), dtype=rows.dtype)
    shape = (len(starts) - 1, width)
    table = sp.csr_array((here, columns, starts.astype(rows.dtype)), shape=shape)
    return np.asarray(table.tocsc().data)


_MARGINS = (0.001, 0.01, 0.1, 0.4)  # each try costs a certificate, a share too large costs accuracy


class Finished(NamedTuple):
    """A fit, and what a graph without weights gets of it.

    Attributes:
        expected: weights of the fit, as `weights_of` takes them.
        bits: these rounded to 0 and 1, or None where the graph has weights.
    """

    expected: RealMatrix
    bits: BitMatrix | None

    @property
    def matrix(self) -> npt.NDArray[np.number]:
        """Of the synthetic graph."""
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
    """Fit, round, certify; a fit that minimises no norm is kept within `noise_cut_bound`.

    Where ||x - z||_C of such a fit is not proven to be within that bound, x is mixed with the
    first-order fit until it is, as far as that itself is. The time limit is for all of this: when
    it is over no mixture is begun, and certificates are the shortest ones.

    Args:
        method: the fit.
        problem: what it solves.
        noisy: the noisy matrix, its blocks on this machine.
        time_limit: in seconds, or None.
        weighted: whether the graph has weights; if not, those of the fit are rounded to 0 and 1.
        source: of the coins for that; no private data are involved.
        progress: called with the fraction done and a message.

    Returns:
        The synthetic graph; the certificate of its weights minus the noisy matrix, in the cut norm;
        and how it was made.
    """
    deadline = Deadline.after(time_limit)

    def finished(x: RealMatrix) -> tuple[Finished, CutNormCertificate]:
        made = Finished(x, None)
        if not weighted:
            progress(1.0, "rounding")
            bits = round_keeping_degrees(x, symmetric=noisy.symmetric, source=source)
            made = Finished(x, bits)
        progress(1.0, "certifying")
        return made, certify(made.matrix, noisy, problem.cap, deadline)

    fit = method.run(problem, time_limit=time_limit, progress=progress)
    x = _in_box(fit.matrix, problem)
    made, certificate = finished(x)
    mixed, stopped = 0.0, fit.stopped
    if fit.value is None:
        bound = noise_cut_bound(noisy.distribution, noisy.shape, symmetric=noisy.symmetric)
        if certificate.upper > bound and not deadline.passed():
            other = first_order(problem, time_limit=deadline.seconds_left, progress=progress)
            least = certify(other.matrix, noisy, problem.cap, deadline).upper
            for share in _shares(certificate.upper, least, bound):
                if certificate.upper <= bound or deadline.passed():
                    break
                mixed = share
                made, certificate = finished((1 - mixed) * x + mixed * other.matrix)
        if certificate.upper > bound and deadline.passed():
            stopped = "time"
    told = {field.name: getattr(fit, field.name) for field in fields(FitSummary)}
    told |= {"stopped": stopped, "time_limit": time_limit, "mixed": mixed}
    if made.bits is not None:
        expected = (weights_of(rows, 1.0) for rows in row_parts(made.expected))
        # The shortest proof: a longer one takes twice the time, and tells two hundredths less.
        told["rounding"] = _distance(made.bits, expected, 1.0, Deadline.after(0.0)).upper
    return made, certificate, FitSummary(**told)


def _in_box(matrix: RealMatrix, problem: FitProblem) -> RealMatrix:
    """A fit as it is; one of somebody's own that leaves the box of a `FitProblem`, within it.

    What is certified is then what the synthetic graph has, and nothing that was paid for is lost.
    """
    kept = all(((rows >= 0) & (rows <= problem.cap)).all() for rows in row_parts(matrix))
    if problem.hollow:
        kept = kept and not matrix.diagonal().any()
    if problem.symmetric:
        others = row_parts(matrix.T)
        kept = kept and all(map(np.array_equal, row_parts(matrix), others))
    if kept:
        return matrix
    copy: RealMatrix = matrix.astype(np.float64)
    return problem.project((copy + copy.T) / 2 if problem.symmetric else copy)


def _shares(upper: float, least: float, bound: float) -> Iterator[float]:
    """How much of another fit may bring a mixture within a bound: to be tried in this order.

    The cut norm is convex, so a mixture is at most the line between the two fits. Its proven bound
    is so only nearly: weights are rounded to decimals, or to 0 and 1, and no two certificates have
    the same gap. So the aim is below the bound by a growing part of the way to `least`, and at last
    the other fit alone.

    `upper` is the proven bound of the fit, `least` that of the other one, and `bound`, below
    `upper`, what a mixture must not pass.
    """
    if least < bound:
        for margin in _MARGINS:
            yield (upper - bound + margin * (bound - least)) / (upper - least)
    yield 1.0
