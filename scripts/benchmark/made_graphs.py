"""Simulated graphs of the benchmark, the same on every machine and under every NumPy.

Random numbers are those of SplitMix64. Probabilities of edges are computed in a fixed order with +,
-, *, / and sqrt alone, which IEEE 754 rounds correctly everywhere. No data here are private.
"""

import numpy as np

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.graph.adjacency import BipartiteGraph, DirectedGraph, Graph
from graphcuts_dp.schema.groups import Groups
from graphcuts_dp.schema.vertices import VertexSet

# Constants of SplitMix64.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def uniform(seed: int, shape: int | tuple[int, ...]) -> FloatMatrix:
    """Return numbers in [0, 1) with 53 bits: SplitMix64 from a seed of its own for each stream.

    Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
    """
    count = int(np.prod(shape))
    with np.errstate(over="ignore"):
        z = np.uint64(seed) * _FIRST + _GOLDEN * np.arange(1, count + 1, dtype=np.uint64)
        z = (z ^ (z >> np.uint64(30))) * _FIRST
        z = (z ^ (z >> np.uint64(27))) * _SECOND
    z ^= z >> np.uint64(31)
    numbers: FloatMatrix = ((z >> np.uint64(11)).astype(np.float64) * 2.0**-53).reshape(shape)
    return numbers


def equal_blocks(n: int, blocks: int) -> IntVector:
    """Return consecutive blocks whose sizes differ by at most 1."""
    return np.arange(n) * blocks // n


def in_blocks(n: int, blocks: int, inside: float, outside: float, *, seed: int) -> Graph:
    """Draw independent edges, with one probability inside equal blocks and another between them."""
    block = equal_blocks(n, blocks)
    return _drawn(np.where(block[:, None] == block, inside, outside), seed)


def corrected_blocks(n: int, sizes: tuple[int, ...], inside: float, outside: float) -> Graph:
    """Draw blocks in proportion to `sizes`, whose vertices differ sixteenfold in degree."""
    block, ends = uneven_blocks(n, sizes), uniform(2, n)
    ends = 0.25 + 3.75 * ends * ends * ends
    chances = ends[:, None] * ends * np.where(block[:, None] == block, inside, outside)
    return _drawn(chances, 3)


def uneven_blocks(n: int, sizes: tuple[int, ...]) -> IntVector:
    """Return consecutive blocks in proportion to `sizes`."""
    edges = np.cumsum(sizes) * n // sum(sizes)
    return np.searchsorted(edges, np.arange(n), side="right")


def hierarchy(n: int, depth: int) -> Graph:
    """Draw halves of halves: each deeper common half makes an edge 2.5 times as likely."""
    smallest_block = equal_blocks(n, 2**depth)
    chances = np.full((n, n), 0.012)
    for level in range(1, depth + 1):
        part = smallest_block >> (depth - level)
        chances = chances * np.where(part[:, None] == part, 2.5, 1.0)
    return _drawn(chances, 4)


def geometric(n: int, radius: float) -> Graph:
    """Join points of the unit square that are near each other; see `geometric_places`."""
    points = geometric_places(n)
    return _drawn((_squares(points) < radius * radius).astype(np.float64), 5)


def geometric_places(n: int) -> FloatMatrix:
    """Return the points, shape (n, 2): public, as addresses are."""
    return uniform(6, (n, 2))


def ring(n: int, reach: int, share: float) -> Graph:
    """Join neighbours on a ring up to a reach; a share of the edges goes to anybody instead."""
    tails = np.repeat(np.arange(n), reach)
    heads = (tails + np.tile(np.arange(1, reach + 1), n)) % n
    draws = uniform(7, (2, len(tails)))
    far = (draws[1] * n).astype(np.int64)
    heads = np.where(draws[0] < share, far, heads)
    is_edge = heads != tails
    return Graph(tails[is_edge], heads[is_edge], vertices=n)


def preferential(n: int, edges: int) -> Graph:
    """Join each new vertex to ends of random earlier edges.

    Source: Barabasi, Albert 1999.
    """
    ends = [*range(edges), *range(edges)]
    rows, columns = [], []
    draws = uniform(8, (n, edges))
    for new in range(edges, n):
        picked = {ends[int(draw * len(ends))] for draw in draws[new]}
        for old in sorted(picked):
            rows.append(new)
            columns.append(old)
            ends += [new, old]
    return Graph(rows, columns, vertices=n)


def power_law(n: int, degree: float, *, seed: int) -> Graph:
    """Draw a graph with degrees of tail exponent 3, at most n/4 times the mean, nothing else."""
    ends = 0.5 / np.sqrt(np.maximum(uniform(seed, n), 4 / n))  # of mean nearly 1
    return _drawn(ends[:, None] * ends * (degree / n), seed + 1)


def affiliation(n: int, clubs: int, size: int) -> Graph:
    """Draw a graph of clubs that overlap: members of a club meet with probability .4."""
    member = uniform(11, (clubs, n)) < size / n
    together = member.T.astype(np.float64) @ member
    return _drawn(np.where(together > 0, 0.4, 0.0), 12)


def fringe(n: int, core: int) -> Graph:
    """Draw a dense core, and a periphery that hangs on it."""
    inner = np.arange(n) < core
    both, one = inner[:, None] & inner, inner[:, None] | inner
    return _drawn(np.where(both, 0.5, np.where(one, 0.1, 0.005)), 13)


def two_cliques(n: int) -> Graph:
    """Join two complete halves by one edge."""
    half = np.arange(n) < n // 2
    matrix = half[:, None] == half
    matrix[0, -1] = True
    return _drawn(matrix, 14)


def similarity(n: int) -> Graph:
    """Return weights in [0, 1] between points of three clouds, see `equal_blocks`."""
    # The sum of four uniform numbers is nearly normal.
    points = uniform(15, (4, n, 3)).sum(axis=0) - 2
    points = points * 1.7 + 2.5 * np.eye(3)[equal_blocks(n, 3)]
    nearness = 1 / (1 + _squares(points) / 2)
    weights = nearness * nearness
    rows, columns = np.nonzero(np.triu(weights > 0.05, 1))
    return Graph(rows, columns, weights[rows, columns], vertices=n, max_weight=1.0)


def counts(n: int, blocks: int, cap: int) -> Graph:
    """Draw whole weights in blocks, most of them small, none above the cap."""
    block, ends = equal_blocks(n, blocks), uniform(16, n)
    ends = 0.4 + 1.8 * ends * ends
    chances = ends[:, None] * ends * np.where(block[:, None] == block, 0.22, 0.03)
    draws = uniform(17, (cap, n, n)) < chances
    weights = np.triu(draws.sum(axis=0), 1)
    rows, columns = np.nonzero(weights)
    edge_weights = weights[rows, columns].astype(np.float64)
    return Graph(rows, columns, edge_weights, vertices=n, max_weight=float(cap))


def heavy(n: int, blocks: int) -> Graph:
    """Draw edges in blocks with whole weights of 7 to 400, mean 31; neighbours differ by 1."""
    block = equal_blocks(n, blocks)
    chances = np.where(block[:, None] == block, 0.3, 0.05)
    rows, columns = np.nonzero(np.triu(uniform(37, (n, n)) < chances, 1))
    weights = np.floor(8 / (uniform(38, len(rows)) + 0.02))
    return Graph(rows, columns, weights, vertices=n, max_weight_change=1)


def arcs(n: int, blocks: int) -> DirectedGraph:
    """Draw arcs that go round the blocks, with degrees that differ on both sides."""
    block = equal_blocks(n, blocks)
    step = (block[None, :] - block[:, None]) % blocks
    chances = np.where(step == 1, 0.12, np.where(step == 0, 0.06, 0.015))
    out, into = 0.3 + 1.4 * uniform(18, n), 0.3 + 1.4 * uniform(19, n)
    rows, columns = np.nonzero(uniform(20, (n, n)) < chances * out[:, None] * into)
    is_arc = rows != columns
    return DirectedGraph(rows[is_arc], columns[is_arc], vertices=n)


def two_sides(left: int, right: int) -> BipartiteGraph:
    """Draw three groups of rows that like three groups of columns, with degrees that differ."""
    likes = equal_blocks(left, 3)[:, None] == equal_blocks(right, 3)
    rows, columns = 0.3 + 1.4 * uniform(21, left), 0.3 + 1.4 * uniform(22, right)
    chances = 0.07 * rows[:, None] * columns * np.where(likes, 2.5, 0.25)
    edges = np.nonzero(uniform(23, (left, right)) < chances)
    return BipartiteGraph(*edges, left=left, right=right)


def large_blocks(n: int, blocks: int, degree: int, *, seed: int) -> Graph:
    """Draw a large sparse graph: half of all edges inside equal blocks, with uneven degrees.

    Time is linear in the edges; repeated ones and loops are dropped.
    """
    count = n * degree // 2
    draws = uniform(seed, (3, count))
    # The square prefers early vertices of a block.
    size = n // blocks
    tails = (draws[0] * blocks).astype(np.int64) * size
    tails += (uniform(seed + 1, count) ** 2 * size).astype(np.int64)
    near = tails // size * size + (draws[1] * draws[1] * size).astype(np.int64)
    far = (draws[1] * (size * blocks)).astype(np.int64)
    heads = np.where(draws[2] < 0.5, near, far)
    is_edge = tails != heads
    return Graph(tails[is_edge], heads[is_edge], vertices=n)


def named_groups(n: int, codes: IntVector, level: str) -> Groups:
    """Return public groups of the vertices 0..n-1 from their numbers."""
    return Groups(VertexSet(n), {level: [f"{level} {code}" for code in codes.tolist()]})


def _squares(points: FloatMatrix) -> FloatMatrix:
    """Return squared distances, added up in a fixed order."""
    squares: FloatMatrix = np.zeros((len(points), len(points)))
    for axis in points.T:
        gaps = axis[:, None] - axis
        squares = squares + gaps * gaps
    return squares


def _drawn(chances: FloatMatrix | FloatVector, seed: int) -> Graph:
    """Draw independent edges with these chances, shape (n, n), of which the upper half is read."""
    n = len(chances)
    rows, columns = np.nonzero(np.triu(uniform(seed, (n, n)) < chances, 1))
    return Graph(rows, columns, vertices=n)
