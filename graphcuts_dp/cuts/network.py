"""Find a least cut of weights in whole grid units, exactly.

The problem. Arcs have weights in whole grid units; a pair without direction is two arcs. Each
vertex is in S, in T, or free. The free vertices are divided so that

    f(S) = weight of the arcs from S to the others - sum of the pull of the vertices in S

is as small as possible. Several sets may be least. f is submodular, so the intersection of two
least sets is a least set, too, and one least set, the *smallest* one, lies within all others. It is
what either solver returns.

Peeling. A free vertex whose pull is above all the weight that leaves it is in every least set: to
add it saves more than it can cost. One whose pull is at most minus all the weight that enters it is
not in the smallest least set: to take it out costs nothing. Decided vertices pull their neighbours,
and so on. A maximum flow decides the remaining vertices: those that the source reaches in the
residual network are in the smallest least set.
"""

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from graphcuts_dp.arrays import BoolVector, IntVector

# Largest weight of all arcs that leave a vertex, and of all that enter it. What flows into a vertex
# is at most twice that, and floats hold every whole number up to 2^53.
MOST_VERTEX_WEIGHT = 2**51
# Largest capacity for scipy's maximum flow. It counts in 32 bits, and adds the capacities of both
# directions of an arc; larger ones would wrap around without a word.
_SMALL_FLOW = 2**30
_PEELED_SHARE = 64  # peeling goes on while a round decides one in so many free vertices


def least_side(arcs: sp.csr_array, pull: IntVector, side: npt.NDArray[np.int8]) -> BoolVector:
    """Return which vertices are in S, shape (n,).

    Args:
        arcs: private weights, shape (n, n): whole numbers of at least 0. Those that leave a vertex
            add up to at most `MOST_VERTEX_WEIGHT`, and so do those that enter it.
        pull: pull of each vertex towards S, shape (n,); integers of any size.
        side: 1 for vertices in S, -1 for those in T, 0 for free ones, shape (n,).
    """
    is_in_s: BoolVector = side == 1
    rows = np.arange(len(side))
    # Larger pulls decide a vertex as these bounds do, which are above the weight of its arcs.
    pull = np.clip(pull, -2 * MOST_VERTEX_WEIGHT, 2 * MOST_VERTEX_WEIGHT).astype(np.int64)
    while True:
        pull = pull + arcs.T @ (side == 1) - arcs @ (side == -1)
        free = np.flatnonzero(side == 0)
        arcs, pull, rows = arcs[free][:, free], pull[free], rows[free]
        leaving, entering = arcs.sum(axis=1), arcs.sum(axis=0)
        joins, stays = pull > leaving, pull <= -entering
        if np.count_nonzero(joins | stays) * _PEELED_SHARE <= len(rows):
            break  # so few that the maximum flow decides them, too
        is_in_s[rows[joins]] = True
        side = joins.astype(np.int8) - stays
    # A pull outside these bounds decides as the nearest of them does.
    is_in_s[rows] = _smallest_least_set(arcs, np.clip(pull, -entering, leaving + 1))
    return is_in_s


def _smallest_least_set(arcs: sp.csr_array, pull: IntVector) -> BoolVector:
    """Return the least set that lies within all others if all vertices are free, shape (n,).

    The source n has an arc to each vertex with a positive pull, and each vertex with a negative one
    has an arc to the sink n + 1.
    """
    n, to_s, to_t = len(pull), np.flatnonzero(pull > 0), np.flatnonzero(pull < 0)
    # An arc carries at most all that the source sends, all that the sink takes, and all that can
    # flow into a vertex. The sums are integers of Python, since they may pass 64 bits.
    sent, taken = sum(pull[to_s].tolist()), -sum(pull[to_t].tolist())
    most_flow = min(sent, taken, 2 * MOST_VERTEX_WEIGHT)
    entries = arcs.tocoo()
    tails = np.concatenate([entries.row, np.full_like(to_s, n), to_t])
    heads = np.concatenate([entries.col, to_s, np.full_like(to_t, n + 1)])
    # More capacity than an arc can carry changes nothing; one more unit keeps the arc out of the
    # cut.
    capacities = np.minimum(np.concatenate([entries.data, pull[to_s], -pull[to_t]]), most_flow + 1)
    if most_flow + 1 < _SMALL_FLOW:
        endpoints = tails.astype(np.int32), heads.astype(np.int32)
        network = sp.csr_array((capacities.astype(np.int32), endpoints), shape=(n + 2, n + 2))
        residual = sp.csr_array(network - maximum_flow(network, n, n + 1).flow)
        residual.eliminate_zeros()
        reached = breadth_first_order(residual, n, return_predecessors=False)
    else:
        import igraph  # loads slowly, and is seldom needed here; its floats are exact up to 2^53

        # igraph returns the largest set of the source, and the least of the sink. So everything
        # flows backwards, from n + 1 to n.
        graph = igraph.Graph(n=n + 2, edges=np.column_stack([heads, tails]), directed=True)
        cut = graph.maxflow(n + 1, n, capacity=capacities.astype(np.float64).tolist())
        reached = cut.partition[1]
    return np.isin(np.arange(n), reached)
