"""Random rounding of a fit to a graph without weights that nearly keeps all degrees.

A fit is a matrix of numbers between 0 and 1. Independent coins would round each entry to 0 or 1
with the right probability, but the degrees would scatter. `round_keeping_degrees` chains the coins
instead: when one entry of a row or a column goes up, a neighbouring one goes down.

Terms of this file:

- Entries are kept as integers on a *grid*: the integer k stands for k 2^-b. A *unit* is a bit of
  these integers, 2^0 to 2^(b-1). Units are handled from the smallest to the largest, so that all
  smaller bits are 0 already.
- The *odd* entries at a unit are those that have its bit: odd multiples of the unit.
- *Mates* are two odd entries of one row, or of one column, that are paired. Every odd entry has at
  most one row mate and one column mate, so mates link the odd entries to *chains*: paths or cycles.

Rounding reads a fit, which is public, so it costs no privacy. Its coins come from the entropy
source all the same, so that a release has one origin of randomness. Results of a seed are recorded
in tests, so the order of the draws must not change.
"""

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from graphcuts_dp.arrays import FloatVector, IntegerVector
from graphcuts_dp.privacy.entropy import EntropySource

BitMatrix = npt.NDArray[np.uint8]

_NO_MATE = -1  # index in place of the mate of an entry that has none
_POWER_ITERATIONS = 30  # for the order of rows and columns, which need not be exact
_TINY = 1e-300  # keeps a vector of zeros from being divided by 0


def round_keeping_degrees(
    matrix: npt.NDArray[np.floating], *, symmetric: bool, source: EntropySource
) -> BitMatrix:
    """Round each entry x to 1 with probability x, by dependent coins that nearly keep all degrees.

    1. Put rows and columns in an order in which neighbours have similar entries (if symmetric, one
       order; only the half above the diagonal is rounded). Round each x by a coin of its own to a
       multiple of 2^-b, where 2^b >= 8 max(n_left, n_right).
    2. For unit = 2^-b, ..., 1/4, 1/2: in every row, pair the entries that are odd multiples of the
       unit, neighbour with neighbour; do the same in every column. Along the resulting chains row
       pairs and column pairs take turns, so cycles have even length. Flip one coin for each chain,
       and move its entries up and down by one unit in turn.

    Probabilities: an odd entry goes up or down with probability 1/2 each, whatever was before, and
    stays in [0, 1], so the value is a martingale. Hence P(1) = x up to 2^-(32+b), and all cuts keep
    their expectation.

    Degrees, in every draw: a pair keeps the sum of its row (or column), and at most one odd entry
    of a row finds no partner. So a unit moves the sum by at most itself, and all units together
    move it by less than 1. Step 1 moves it by at most 1/8. So row and column sums of a biadjacency
    matrix move by less than 1 1/8. The degree of a vertex in a symmetric matrix is a row sum plus a
    column sum of the upper half: it moves by less than 2 1/8 (measured: 0.6 root mean square).

    Other cuts have no bound beyond their expectation. Measured at n = 400 and 1,000, relative to
    independent coins: the worst of all cuts, and random halves, move by 0.6 to 0.7 times as much.
    Cuts between groups that are visible in x move by 0.1 to 1 times as much, since pairs seldom
    leave a group.

    It takes time O(b n^2), in whole-array steps: 3 s at n = 2,000, 90 s and 2.3 GB at n = 10,000.

    Args:
        matrix: entries in [0, 1]; symmetric to the last bit if `symmetric`, whose diagonal is
            ignored.
        symmetric: whether this is an undirected adjacency matrix (else all entries are rounded).
        source: where the coins come from.

    Returns:
        Zeros and ones, of the shape of the matrix.

    Source: GRU12 Remark 6.3, for independent coins; Gandhi, Khuller, Parthasarathy, Srinivasan,
    "Dependent rounding and its applications to approximation algorithms", JACM 2006, for bipartite
    graphs. Deviations: bit by bit, which moves all chains at once, and a symmetric matrix is
    treated as the bipartite graph of its upper half.
    """
    row_count, column_count = matrix.shape
    row_order, column_order = _orders(matrix, symmetric=symmetric)
    bits = (max(row_count, column_count) - 1).bit_length() + 3
    grid = np.zeros((row_count, column_count), dtype=np.int32)
    for position, row in enumerate(row_order):
        start = position + 1 if symmetric else 0
        grid[position, start:] = _to_grid(matrix[row, column_order[start:]], bits, source)
    entries = grid.reshape(-1)  # a view: what changes in it changes in the grid
    for unit in (1 << bit for bit in range(bits)):
        odd = np.flatnonzero(entries & unit)  # positions in `entries`
        goes_up = _alternate(odd, column_count, source)
        entries[odd] += np.where(goes_up, unit, -unit)
    rounded = np.zeros((row_count, column_count), dtype=np.uint8)
    rounded[np.ix_(row_order, column_order)] = grid >> bits  # now multiples of 2^b
    if symmetric:
        rounded |= rounded.T
    return rounded


def _to_grid(
    entries: npt.NDArray[np.floating], bits: int, source: EntropySource
) -> npt.NDArray[np.int32]:
    """Return multiples of 2^-bits, as integers, of expectation `entries` up to 2^-(32+bits)."""
    scaled = entries.astype(np.float64) * 2.0**bits
    lower = np.floor(scaled)
    coins = source.bytes(4 * len(scaled)).view(np.uint32)
    goes_up = coins < np.floor((scaled - lower) * 2.0**32)
    return lower.astype(np.int32) + goes_up


def _orders(
    matrix: npt.NDArray[np.floating], *, symmetric: bool
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return orders of rows and columns in which neighbours have similar entries.

    They sort the second singular vectors of D_r^(-1/2) x D_c^(-1/2), where D_r and D_c hold the row
    and column sums: correspondence analysis. The first singular vectors are the square roots of
    these sums. Power iteration on vectors orthogonal to them finds the second ones. It need not
    converge: `round_keeping_degrees` is right with any order, and only less accurate on some cuts.
    """
    row_roots, column_roots = (
        _square_roots(matrix.sum(axis=axis, dtype=np.float64)) for axis in (1, 0)
    )
    right: FloatVector = np.random.default_rng(0).standard_normal((matrix.shape[1],))
    left: FloatVector = np.zeros(matrix.shape[0])
    # Factors have the type of the matrix, so that a product makes no copy of it.
    dtype = np.result_type(matrix.dtype, np.float32)
    for _ in range(_POWER_ITERATIONS):
        factor = (_orthogonal_to(column_roots, right) / column_roots).astype(dtype)
        left = (matrix @ factor) / row_roots
        factor = (_orthogonal_to(row_roots, left) / row_roots).astype(dtype)
        right = (factor @ matrix) / column_roots
        right /= max(float(np.abs(right).max()), _TINY)
    row_order = np.argsort(_orthogonal_to(row_roots, left) / row_roots, kind="stable")
    if symmetric:
        return row_order, row_order
    return row_order, np.argsort(right / column_roots, kind="stable")


def _orthogonal_to(direction: FloatVector, vector: FloatVector) -> FloatVector:
    """Return the part of a vector that is orthogonal to a direction."""
    return vector - direction * (np.vdot(direction, vector) / np.vdot(direction, direction))


def _square_roots(sums: FloatVector) -> FloatVector:
    """Return the square roots of sums, and 1 where a sum is 0."""
    return np.sqrt(np.where(sums > 0, sums, 1.0))


def _alternate(
    positions: IntegerVector, width: int, source: EntropySource
) -> npt.NDArray[np.bool_]:
    """Return for each odd entry whether it goes up: in turn along every chain, by one fair coin.

    Args:
        positions: of the odd entries in a matrix that is read row by row, rising.
        width: columns of the matrix.
        source: where the coins come from.

    Returns:
        Shape (positions,).
    """
    # Below, an index of an entry is its index in `positions`, which has the shape (count,).
    count = len(positions)
    dtype: type[np.signedinteger] = np.int32 if count < 2**31 - 1 else np.int64
    rows, columns = (positions // width).astype(dtype), (positions % width).astype(dtype)
    row_mate = _mates(rows)
    column_order = _order_by_column(rows, columns, width)
    # Mates of columns are found in that order, and translated back to indices of entries.
    mate_in_order = _mates(columns[column_order])
    column_mate = np.full(count, _NO_MATE, dtype=dtype)
    column_mate[column_order] = np.where(
        mate_in_order == _NO_MATE, _NO_MATE, column_order[mate_in_order]
    )

    # Mates move against each other, so the column mate of a row mate moves as the entry itself.
    # Linking each entry to that one divides every chain into two *classes*: each second entry is in
    # the same class. (Index -1 of an entry without a row mate reads any number, and is masked.)
    has_row_mate, has_column_mate = row_mate != _NO_MATE, column_mate != _NO_MATE
    second_next = np.where(has_row_mate, column_mate[row_mate], _NO_MATE)
    is_linked = second_next != _NO_MATE
    # A sparse matrix with a 1 from each linked entry to its second next.
    starts = np.concatenate([[0], np.cumsum(is_linked)]).astype(dtype)
    ones = np.ones(starts[-1], dtype=np.int8)
    links = sp.csr_array((ones, second_next[is_linked], starts), shape=(count, count))
    class_count, class_of = connected_components(links, connection="weak")

    # All mates of the entries of one class, in row or column, are in the other class of the chain.
    # An entry without mates is a chain of one class, which is its own opposite.
    classes = np.arange(class_count)
    opposite = classes.copy()
    opposite[class_of[has_row_mate]] = class_of[row_mate[has_row_mate]]
    opposite[class_of[has_column_mate]] = class_of[column_mate[has_column_mate]]
    # The first class of a chain takes its coin, and the second class does the reverse.
    first_class = np.minimum(opposite, classes)
    is_second_class = first_class < classes
    coins = (source.bytes(class_count) & 1).astype(np.bool_)  # an array of bytes, one a class
    goes_up = coins[first_class] ^ is_second_class
    return np.asarray(goes_up[class_of])


def _mates(lines: IntegerVector) -> IntegerVector:
    """Return the index of the mate of each entry: the first with the second of its line, and so on.

    Args:
        lines: the line (row, or column) of each entry, rising.

    Returns:
        Shape (entries,); -1 for the last entry of a line that has an odd number of them.
    """
    stops = np.cumsum(np.bincount(lines)).astype(lines.dtype)  # index after the last of each line
    index = np.arange(len(lines), dtype=lines.dtype)
    starts = np.concatenate([[0], stops]).astype(lines.dtype)  # index of the first of each line
    is_second = (index - starts[lines]) & 1  # of its pair
    has_no_mate = (is_second == 0) & (index + 1 == stops[lines])
    return np.where(has_no_mate, _NO_MATE, index + 1 - 2 * is_second)


def _order_by_column(rows: IntegerVector, columns: IntegerVector, width: int) -> IntegerVector:
    """Return the order of entries column by column, in linear time.

    The entries are put into a sparse matrix by rows, with their own indices as data. Converted to
    columns (`tocsc`), its data are the order that is wanted.
    """
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows))])
    index = np.arange(len(rows), dtype=rows.dtype)
    shape = (len(starts) - 1, width)
    by_rows = sp.csr_array((index, columns, starts.astype(rows.dtype)), shape=shape)
    return np.asarray(by_rows.tocsc().data)
