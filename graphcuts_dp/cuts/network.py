"""Least cuts of whole numbers, exactly: of all that are least, the one with the fewest vertices.

A problem. Arcs have weights in whole steps; a pair without direction is two arcs. Each vertex is in
S, in T, or free. Of free vertices the set S is sought, with

    f(S) = weight of the arcs from S to the others - sum of the pull of the vertices in S

as small as possible. f is submodular, so of two least sets the intersection is one, too, and there
is one that lies within all others: what is found here, whichever solver finds it.

Peeling. A free vertex v whose pull is above all the weight that leaves it is in every least set: to
add it saves more than it can cost. One whose pull is at most minus all the weight that enters it is
not in the least set that lies within all others: to take it out costs nothing. Decided vertices
pull those that they are joined to, and so on. The rest is a maximum flow: what a source has reached
when nothing more flows is the least set within all others.
"""

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from graphcuts_dp.arrays import BoolVector, IntVector

# Of the arcs that leave a vertex, or enter it. What flows into one is at most twice that: floats
# hold every whole number up to 2^53.
MOST_TOTAL = 2**51
# What scipy's flows hold: it counts in 32 bits, and adds what arcs let pass in both directions;
# larger ones would wrap around without a word.
_SMALL_FLOW = 2**30
_WORTH = 64  # one in so many free vertices has to be decided, or another round is not worth it


def least_side(arcs: sp.csr_array, pull: IntVector, side: npt.NDArray[np.int8]) -> BoolVector:
    """Return which vertices are in S, shape (n,).

    Args:
        arcs: private, shape (n, n): whole numbers of at least 0; those that leave any vertex add up
            to at most `MOST_TOTAL`, and those that enter it.
        pull: of each vertex towards S, shape (n,); integers of any size.
        side: 1 of vertices in S, -1 of those in T, 0 of free ones, shape (n,).
    """
    is_in_s: BoolVector = side == 1
    rows = np.arange(len(side))
    # Beyond all weights together a pull decides, however large it is.
    pull = np.clip(pull, -2 * MOST_TOTAL, 2 * MOST_TOTAL).astype(np.int64)
    while True:
        pull = pull + arcs.T @ (side == 1) - arcs @ (side == -1)
        free = np.flatnonzero(side == 0)
        arcs, pull, rows = arcs[free][:, free], pull[free], rows[free]
        leaving, entering = arcs.sum(axis=1), arcs.sum(axis=0)
        joins, stays = pull > leaving, pull <= -entering
        if np.count_nonzero(joins | stays) * _WORTH <= len(rows):
            break
        is_in_s[rows[joins]] = True
        side = joins.astype(np.int8) - stays
    # What decides needs no more than to decide.
    is_in_s[rows] = _reached(arcs, np.clip(pull, -entering, leaving + 1))
    return is_in_s


def _reached(arcs: sp.csr_array, pull: IntVector) -> BoolVector:
    """Return the least set within all others in which all vertices are free, shape (n,)."""
    n, above, below = len(pull), np.flatnonzero(pull > 0), np.flatnonzero(pull < 0)
    # Python's integers: of many vertices the sum may pass 64 bits.
    most = min(sum(pull[above].tolist()), -sum(pull[below].tolist()), 2 * MOST_TOTAL)
    between = arcs.tocoo()
    tails = np.concatenate([between.row, np.full_like(above, n), below])
    heads = np.concatenate([between.col, above, np.full_like(below, n + 1)])
    # What lets pass more than can flow is in no least cut, however much more it is.
    room = np.minimum(np.concatenate([between.data, pull[above], -pull[below]]), most + 1)
    if most + 1 < _SMALL_FLOW:
        endpoints = tails.astype(np.int32), heads.astype(np.int32)
        passing = sp.csr_array((room.astype(np.int32), endpoints), shape=(n + 2, n + 2))
        left = sp.csr_array(passing - maximum_flow(passing, n, n + 1).flow)
        left.eliminate_zeros()
        reached = breadth_first_order(left, n, return_predecessors=False)
    else:
        import igraph  # loads slowly, and is seldom needed here; its floats are exact up to 2^53

        # It finds what can still reach the sink; so everything flows backwards, from n + 1 to n.
        graph = igraph.Graph(n=n + 2, edges=np.column_stack([heads, tails]), directed=True)
        cut = graph.maxflow(n + 1, n, capacity=room.astype(np.float64).tolist())
        reached = cut.partition[1]
    return np.isin(np.arange(n), reached)
