"""Simple graphs with given degrees, and with given degrees and dense blocks. Noisy data alone."""

import numpy as np

from graphcuts_dp.arrays import BoolVector, IntegerVector, IntVector

# Connectivity of a block of vertices of degree d: RHO (1 - ETA (ln(d + 1)/ln(d_max + 1))^2).
RHO = 0.95
ETA = 0.05
_ROUNDS = 200  # of exchanges; each leaves a fraction of the loops and double edges
_LEAST_DEGREE = 2  # of vertices in blocks


def whole_degrees(degrees: IntegerVector, most: int) -> IntVector:
    """Return whole degrees within 0..most of even sum: if need be, one of them is less by 1."""
    rounded = np.clip(degrees, 0, most).astype(np.int64)
    if rounded.sum() % 2:
        rounded[int(np.argmax(rounded))] -= 1
    return rounded


def with_degrees(degrees: IntegerVector, rng: np.random.Generator) -> tuple[IntVector, IntVector]:
    """Draw a simple graph with these degrees, or nearly.

    Ends are joined at random (the configuration model); as long as there are loops or pairs that
    are joined twice, each of these exchanges an end with a random other edge. What is still left
    after many rounds, as where no graph has these degrees, is dropped.

    Args:
        degrees: noisy ones, shape (n,); brought into 0..n-1 first.
        rng: ordinary random numbers.

    Returns:
        Two ends of each edge, the smaller one first. No vertex has more edges than its degree.
    """
    n = len(degrees)
    rounded_degrees = whole_degrees(degrees, n - 1)
    ends = rng.permutation(np.repeat(np.arange(n), rounded_degrees))
    half = len(ends) // 2
    rows, columns = ends[:half].copy(), ends[half:].copy()
    for _ in range(_ROUNDS):
        bad = np.flatnonzero(~_simple(rows, columns, n))
        if not len(bad):
            break
        partners = rng.choice(half, size=len(bad), replace=False)
        is_good = ~np.isin(partners, bad)
        first, second = bad[is_good], partners[is_good]
        columns[first], columns[second] = columns[second], columns[first]
        # Otherwise an end would stay a row for good, and two rows could never be joined.
        turned = rng.random(half) < 1 / 2
        rows[turned], columns[turned] = columns[turned], rows[turned]
    is_simple = _simple(rows, columns, n)
    return np.minimum(rows, columns)[is_simple], np.maximum(rows, columns)[is_simple]


def with_blocks(degrees: IntegerVector, rng: np.random.Generator) -> tuple[IntVector, IntVector]:
    """Draw a simple graph of dense blocks of vertices of like degree: the model BTER.

    1. Vertices of degree at least 2, by degree, are cut into blocks of d + 1 vertices, d being the
       smallest degree in the block; the last block may be smaller.
    2. Pairs within a block are joined with its connectivity (see `RHO`), independently.
    3. What a vertex lacks of its degree in expectation is its excess. Edges, a Poisson number of
       them with half of all excess as its mean, get ends with chances proportional to it
       (Chung-Lu); loops and pairs that are joined already are dropped.

    Args:
        degrees: noisy ones, shape (n,); brought into 0..n-1 first.
        rng: ordinary random numbers.

    Returns:
        Two ends of each edge, the smaller one first.

    Source: Seshadhri, Kolda, Pinar, "Community structure and scale-free collections of
    Erdős-Rényi graphs", Phys. Rev. E 2012, section IV. Deviation: connectivities are not fitted to
    a graph, which would cost budget; the two constants are public.
    """
    n = len(degrees)
    target = np.clip(degrees, 0, n - 1).astype(np.int64)
    order = np.argsort(target, kind="stable")
    order = order[target[order] >= _LEAST_DEGREE]
    largest = int(target.max(initial=0))
    excess = target.astype(np.float64)
    rows, columns = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    start = 0
    while start < len(order):
        least = int(target[order[start]])
        block = order[start : start + least + 1]
        chance = RHO * (1 - ETA * (np.log1p(least) / np.log1p(largest)) ** 2)
        joined = np.flatnonzero(rng.random(len(block) * (len(block) - 1) // 2) < chance)
        first, second = pairs_at(joined)
        rows.append(block[first])
        columns.append(block[second])
        excess[block] -= chance * (len(block) - 1)
        start += len(block)
    excess = np.maximum(excess, 0)
    count = rng.poisson(excess.sum() / 2)
    if count:
        thrown = rng.choice(n, size=(2, count), p=excess / excess.sum())
        rows.append(thrown[0])
        columns.append(thrown[1])
    ends = np.concatenate(rows), np.concatenate(columns)
    is_simple = _simple(*ends, n)
    return np.minimum(*ends)[is_simple], np.maximum(*ends)[is_simple]


def pairs_at(pair_indices: IntVector) -> tuple[IntVector, IntVector]:
    """Return the pairs i < j of some numbers, in the order (0,1), (0,2), (1,2), (0,3), ..."""
    second = ((1 + np.sqrt(1 + 8.0 * pair_indices)) / 2).astype(np.int64)
    second -= second * (second - 1) // 2 > pair_indices  # where the root was rounded up
    second += (second + 1) * second // 2 <= pair_indices
    return pair_indices - second * (second - 1) // 2, second


def _simple(rows: IntVector, columns: IntVector, n: int) -> BoolVector:
    """Return which edges are no loops, and the first ones of their pairs."""
    keys = np.minimum(rows, columns) * n + np.maximum(rows, columns)
    first = np.zeros(len(keys), dtype=np.bool_)
    first[np.unique(keys, return_index=True)[1]] = True
    return np.asarray(first & (rows != columns))
