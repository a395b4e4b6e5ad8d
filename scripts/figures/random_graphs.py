"""Random public test graphs. Nothing here touches private data, so ordinary seeds are fine.

Every generator takes `seed`: an integer, or a `numpy.random.Generator` to draw from; the same
integer gives the same graph.
"""

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.graph.adjacency import BipartiteGraph, DirectedGraph, Graph

Seed = int | np.random.Generator


def imbalanced_bipartite(side: int, *, seed: Seed) -> BipartiteGraph:
    """Draw a few left vertices joined to everyone, the others to few: JT12's imbalanced family.

    With V left and V right vertices, the first round(V^(3/4)) left vertices (the set A) are joined
    to all right vertices, every other one (B) to round(V^(1/2)) right vertices, drawn uniformly
    without replacement. |E| is about V^(7/4) + V^(3/2).

    Args:
        side: V >= 1.
        seed: see the module.

    Source: JT12, section 4.1; which right vertices B is joined to is left open there.
    """
    degrees = np.full(side, round(side**0.5), dtype=np.int64)
    degrees[: round(side**0.75)] = side
    return _with_left_degrees(degrees, side, seed)


def power_law_bipartite(side: int, exponent: float, *, seed: Seed) -> BipartiteGraph:
    """Draw left degrees by a power law: JT12's second family.

    Of V left vertices, V i^-b / sum_j j^-b have degree i, for i = 1..V, rounded to whole numbers
    that add up to V (largest remainders first, then small degrees). Neighbours are drawn uniformly
    without replacement. For 1 < b < 2, |E| grows as V^(3-b).

    Args:
        side: V >= 1.
        exponent: b > 0; the paper's bound is for 1 < b < 3/2.
        seed: see the module.

    Source: JT12, section 4.1, the deterministic statement.
    """
    counts = largest_remainders(np.arange(1, side + 1, dtype=np.float64) ** -exponent, side)
    degrees = np.repeat(np.arange(1, side + 1), counts)[::-1]
    return _with_left_degrees(degrees, side, seed)


def largest_remainders(weights: FloatVector, total: int) -> IntVector:
    """Return whole numbers in proportion to weights that add up to a total, nearly."""
    shares = weights * (total / weights.sum())
    counts: IntVector = np.floor(shares).astype(np.int64)
    missing = total - int(counts.sum())
    counts[np.argsort(counts - shares, kind="stable")[:missing]] += 1
    return counts


def planted_partition(n: int, blocks: int, p_in: float, p_out: float, *, seed: Seed) -> Graph:
    """Draw independent edges, of one probability inside blocks and another between them.

    Vertex v is in block v * blocks // n: consecutive blocks whose sizes differ by at most 1.

    Args:
        n: vertices, at least 1.
        blocks: from 1 to n.
        p_in: probability of an edge inside a block, in [0, 1].
        p_out: probability of an edge between two blocks, in [0, 1].
        seed: see the module.
    """
    rng = np.random.default_rng(seed)
    block = np.arange(n) * blocks // n
    neighbours = []
    for i in range(n - 1):
        chance = np.where(block[i + 1 :] == block[i], p_in, p_out)
        neighbours.append(np.flatnonzero(rng.random(n - 1 - i) < chance) + i + 1)
    rows = np.repeat(np.arange(len(neighbours)), [len(columns) for columns in neighbours])
    return Graph(rows, np.concatenate([*neighbours, np.empty(0, np.int64)]), vertices=n)


def directed_blocks(n: int, chances: npt.ArrayLike, *, seed: Seed) -> DirectedGraph:
    """Draw independent arcs, with a probability for each two blocks in that order.

    Vertex v is in block v * blocks // n, as in `planted_partition`.

    Args:
        n: vertices, at least 1.
        chances: probability of an arc from a vertex of block a to another one of block b, in
            [0, 1]; shape (blocks, blocks), with at most n blocks.
        seed: see the module.
    """
    block_chances = np.array(chances, dtype=np.float64)
    rng = np.random.default_rng(seed)
    block = np.arange(n) * len(block_chances) // n
    heads = [np.flatnonzero(rng.random(n) < block_chances[block[tail]][block]) for tail in range(n)]
    tails = np.repeat(np.arange(n), [len(targets) for targets in heads])
    return DirectedGraph(tails, np.concatenate(heads), vertices=n)


def _with_left_degrees(degrees: IntVector, side: int, seed: Seed) -> BipartiteGraph:
    rng = np.random.default_rng(seed)
    columns = [rng.choice(side, size=degree, replace=False) for degree in degrees]
    rows = np.repeat(np.arange(len(degrees)), degrees)
    return BipartiteGraph(rows, np.concatenate(columns), left=len(degrees), right=side)
