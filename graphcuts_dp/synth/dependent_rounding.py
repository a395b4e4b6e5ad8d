"""Random rounding of a fit to a graph without weights that nearly keeps all degrees.

A fit is a matrix of numbers between 0 and 1. Independent coins would round each entry to 0 or 1
with the right probability, but the degrees would scatter. `round_keeping_degrees` chains the coins
instead: when one entry of a row or a column goes up, a neighbouring one goes down.

Terms of this file:

- Entries are kept as integers on a *grid*: the integer k stands for k 2^-b. A *unit* is a bit of
  these integers, 2^0 to 2^(b-1). An entry is *open* if it is neither 0 nor 1.
- A *cycle* is four open entries, in two rows and two columns. Moved up and down in turn, they keep
  the sums of both rows and both columns.
- The *odd* entries at a unit are those that have its bit: odd multiples of the unit.
- *Mates* are two odd entries of one row, or of one column, that are paired. Every odd entry has at
  most one row mate and one column mate, so mates link the odd entries to *chains*: paths or cycles.

Cycles of four close nearly all entries, in time O(n^2). Chains close the rest, bit by bit.

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

_ROW_BITS = 7  # 2^7 rows are handled together, and two of them are numbered in 14 bits
_BLOCK_ROWS = 1 << _ROW_BITS
# Passes over a block end when the cycles of one are less than this share of the open entries.
_LEAST_CYCLES = 0.1
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
    2. In blocks of 128 rows, pair open entries of a column, neighbour with neighbour. Of two
       columns with a pair in the same two rows, the four entries are a cycle. Move it by u in one
       direction or by d in the other, each as far as all four stay in [0, 1], by a coin that goes
       in the first direction with probability d / (u + d). This closes one entry at least. Repeat
       until few cycles are left.
    3. For unit = 2^-b, ..., 1/4, 1/2: in every row, pair the entries that are odd multiples of the
       unit, neighbour with neighbour; do the same in every column. Along the resulting chains row
       pairs and column pairs take turns, so cycles have even length. Flip one coin for each chain,
       and move its entries up and down by one unit in turn.

    Probabilities: a move has expectation 0, whatever was before: in step 2 it is u d / (u + d) -
    d u / (u + d), and in step 3 an odd entry goes up or down with probability 1/2 each. Entries
    stay in [0, 1], so their values are martingales. Hence P(1) = x up to 2^-(32+b), the precision
    of the coins of step 1, and all cuts keep their expectation.

    Degrees, in every draw: a cycle keeps all sums. A pair of step 3 keeps the sum of its row (or
    column), and at most one odd entry of a row finds no partner. So a unit moves the sum by at most
    itself, and all units together move it by less than 1. Step 1 moves it by at most 1/8. So row
    and column sums of a biadjacency matrix move by less than 1 1/8. The degree of a vertex in a
    symmetric matrix is a row sum plus a column sum of the upper half: it moves by less than 2 1/8
    (measured: 0.6 root mean square).

    Other cuts have no bound beyond their expectation. Measured at n = 400 and 1,000, relative to
    independent coins: the worst of all cuts, and random halves, move by 0.6 to 0.7 times as much.
    Cuts between groups that are visible in x move by 0.1 to 1 times as much, since pairs seldom
    leave a group.

    It takes time O(n^2), and memory for the result and for what step 2 leaves open.

    Args:
        matrix: entries in [0, 1]; symmetric to the last bit if `symmetric`, whose diagonal is
            ignored.
        symmetric: whether this is an undirected adjacency matrix (else all entries are rounded).
        source: where the coins come from.

    Returns:
        Zeros and ones, of the shape of the matrix.

    Source: GRU12 Remark 6.3, for independent coins; Gandhi, Khuller, Parthasarathy, Srinivasan,
    "Dependent rounding and its applications to approximation algorithms", JACM 2006, for bipartite
    graphs. Deviations: many cycles of four at once; then bit by bit, all chains at once; and a
    symmetric matrix is treated as the bipartite graph of its upper half.
    """
    row_count, column_count = matrix.shape
    row_order, column_order = _orders(matrix, symmetric=symmetric)
    bits = (max(row_count, column_count) - 1).bit_length() + 3
    rounded = np.zeros((row_count, column_count), dtype=np.uint8)
    # Of the entries that step 2 leaves open: positions in the ordered matrix, which is read row by
    # row, and values on the grid.
    open_positions, open_values = [], []
    for start in range(0, row_count, _BLOCK_ROWS):
        rows = row_order[start : start + _BLOCK_ROWS]
        first = start + 1 if symmetric else 0  # column: those before hold no pair of this block
        columns = column_order[first:]
        # Column by column, since step 2 pairs entries of a column; the last block has rows of 0.
        entries = np.zeros((len(columns), _BLOCK_ROWS), dtype=matrix.dtype)
        entries[:, : len(rows)] = matrix[rows][:, columns].T
        if symmetric:  # keep entries above the diagonal: of column j + 1 and row i <= j
            corner = entries[:_BLOCK_ROWS]
            corner *= np.tri(*corner.shape, dtype=np.bool_)
        grid = _to_grid(entries.reshape(-1), bits, source).reshape(entries.shape)
        _close_by_cycles(grid, bits, source)
        by_rows = np.ascontiguousarray(grid[:, : len(rows)].T)
        rounded[rows[:, None], columns] = by_rows >> bits
        row, column = np.nonzero(by_rows & ((1 << bits) - 1))
        open_positions.append((start + row) * column_count + first + column)
        open_values.append(by_rows[row, column])
    positions, values = np.concatenate(open_positions), np.concatenate(open_values)
    for unit in (1 << bit for bit in range(bits)):
        odd = np.flatnonzero(values & unit)
        goes_up = _alternate(positions[odd], column_count, source)
        values[odd] += np.where(goes_up, unit, -unit)
    row, column = np.divmod(positions, column_count)
    rounded[row_order[row], column_order[column]] = values >> bits  # now multiples of 2^b
    if symmetric:
        rounded |= rounded.T
    return rounded


def _close_by_cycles(grid: npt.NDArray[np.int32], bits: int, source: EntropySource) -> None:
    """Move cycles of four open entries until few are left; see `round_keeping_degrees`, step 2.

    A *rung* is a pair of open entries in one column. A pass numbers its rungs by their two rows and
    then by their column, so that rungs in the same rows stand together. Neighbouring rungs in the
    same rows are a cycle. One of them at least has a closed entry afterwards, and drops out.

    Args:
        grid: some rows of the matrix, column by column: shape (columns, `_BLOCK_ROWS`), on the
            grid and contiguous. It is changed in place.
        bits: b.
        source: where the coins come from.
    """
    below_one = (1 << bits) - 1  # the bits of open entries
    column_bits = max(len(grid) - 1, 1).bit_length()
    values = grid.reshape(-1)  # a view
    # Rungs are numbered by two rows and a column.
    index_type: type[np.signedinteger] = np.int32 if 2 * _ROW_BITS + column_bits < 31 else np.int64
    while True:
        positions = np.flatnonzero((values & below_one) != 0).astype(index_type)
        upper = _pairs(positions >> _ROW_BITS)  # by the column
        tops, bottoms = positions[upper], positions[upper + 1]
        rows = (tops % _BLOCK_ROWS << _ROW_BITS) + bottoms % _BLOCK_ROWS
        order = np.argsort(rows.astype(np.uint16), kind="stable")  # linear, of 16 bits
        rungs = ((rows << column_bits) + (tops >> _ROW_BITS))[order]
        a, b = values[tops[order]], values[bottoms[order]]
        cycle_count = idle_rounds = 0
        while idle_rounds < 2:
            # Of neighbours that start at an even index; if there are none, at an odd one.
            left = slice(idle_rounds, len(rungs) - (len(rungs) - idle_rounds) % 2, 2)
            right = slice(left.start + 1, left.stop, 2)
            is_cycle = rungs[left] ^ rungs[right] < 1 << column_bits
            count = int(np.count_nonzero(is_cycle))
            idle_rounds = 0 if count else idle_rounds + 1
            if not count:
                continue
            cycle_count += count
            step = _cycle_steps(a[left], b[left], a[right], b[right], bits, source)
            step *= is_cycle
            a[left] += step
            b[left] -= step
            a[right] -= step
            b[right] += step
            stays = ((a & below_one) != 0) & ((b & below_one) != 0)
            # By numbers, as masks of random bits are slow.
            finished, open_rungs = np.flatnonzero(~stays), np.flatnonzero(stays)
            _write(values, column_bits, rungs[finished], a[finished], b[finished])
            rungs, a, b = rungs[open_rungs], a[open_rungs], b[open_rungs]
        _write(values, column_bits, rungs, a, b)
        if cycle_count <= _LEAST_CYCLES * len(positions):
            return


def _write(
    values: IntegerVector, column_bits: int, rungs: IntegerVector, *pair: IntegerVector
) -> None:
    """Write the entries of rungs back; for the terms see `_close_by_cycles`."""
    rows, starts = rungs >> column_bits, (rungs & ((1 << column_bits) - 1)) << _ROW_BITS
    values[starts + (rows >> _ROW_BITS)], values[starts + rows % _BLOCK_ROWS] = pair


def _cycle_steps(
    a: IntegerVector,
    b: IntegerVector,
    c: IntegerVector,
    d: IntegerVector,
    bits: int,
    source: EntropySource,
) -> IntegerVector:
    """Return what is added to a and d, and subtracted from b and c, of each cycle; at random.

    It is u with probability d / (u + d) and -d with probability u / (u + d), where u and d are the
    largest numbers that leave all four entries in [0, 2^bits].
    """
    one = 1 << bits
    up = np.minimum(np.minimum(one - a, b), np.minimum(c, one - d))
    down = np.minimum(np.minimum(a, one - b), np.minimum(one - c, d))
    total = up + down
    goes_down = ~_happens(down, total, one, source)
    return np.asarray(up - total * goes_down)  # a random choice without a branch


def _happens(
    favourable: npt.NDArray[np.int32],
    total: npt.NDArray[np.int32],
    largest_total: int,
    source: EntropySource,
) -> npt.NDArray[np.bool_]:
    """Return for each entry whether an event of probability favourable / total happens; exactly.

    A coin of 32 bits counts modulo `total` if it is below the largest multiple of it; then all
    remainders are equally likely. Others are drawn again.

    Args:
        favourable: shape (count,), from 0 to the total.
        total: shape (count,), from 1 to `largest_total`.
        largest_total: below 2^31.
        source: where the coins come from.
    """
    totals = total.astype(np.uint32)
    remainders = np.empty_like(totals)
    undecided = np.arange(len(totals))
    while len(undecided):
        coins = source.bytes(4 * len(undecided)).view(np.uint32)
        moduli = totals[undecided]
        remainders[undecided] = coins % moduli
        # Coins above the largest multiple; nearly all are below a bound that suits all totals.
        high = np.flatnonzero(coins >= (1 << 32) - largest_total)
        undecided = undecided[high[coins[high] > ~((-moduli[high]) % moduli[high])]]
    return remainders < favourable


def _to_grid(
    entries: npt.NDArray[np.floating], bits: int, source: EntropySource
) -> npt.NDArray[np.int32]:
    """Return multiples of 2^-bits, as integers, of expectation `entries` up to 2^-(32+bits)."""
    # Units of 2^-(32+bits), exact. A coin c below their last 32 bits f goes up: c < f just if
    # f + (2^32 - 1 - c) >= 2^32, so the complement of the coin is added.
    scaled = np.multiply(entries, 2.0 ** (32 + bits), dtype=np.float64).astype(np.int64)
    scaled += ~source.bytes(4 * len(scaled)).view(np.uint32)
    scaled >>= 32
    return np.asarray(scaled, dtype=np.int32)


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
    """Return the index of the mate of each entry; see `_pairs`.

    Args:
        lines: the line (row, or column) of each entry, rising.

    Returns:
        Shape (entries,); -1 for the last entry of a line that has an odd number of them.
    """
    first = _pairs(lines)
    mates = np.full(len(lines), _NO_MATE, dtype=lines.dtype)
    mates[first] = first + 1
    mates[first + 1] = first
    return mates


def _pairs(lines: IntegerVector) -> IntegerVector:
    """Return the index of the first entry of each pair; the second one is the next entry.

    The first entry of a line is paired with the second, the third with the fourth, and so on.

    Args:
        lines: the line of each entry, rising; at least 0.
    """
    counts = np.bincount(lines)
    # Whether the index of the first entry of each line is odd.
    starts_odd = ((np.cumsum(counts) - counts) & 1).astype(np.bool_)
    is_first = starts_odd[lines]
    is_first[::2] ^= True  # entries at an even distance from the start of their line
    is_first[:-1] &= lines[1:] == lines[:-1]
    is_first[-1:] = False
    return np.flatnonzero(is_first)


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
