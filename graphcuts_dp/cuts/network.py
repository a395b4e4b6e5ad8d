"""Least cuts of whole numbers, exactly: of all that are least, the one with the fewest vertices.

A problem. Each vertex is in S, in T, or free. Of free vertices the set S is sought, with

    f(S) = weight of the pairs (arcs) from S to the others - sum of the pull of the vertices in S

as small as possible. f is submodular, so of two least sets the intersection is one, too, and there
is one that lies within all others: what is found here, whichever solver finds it.

Peeling. A free vertex v whose pull is above all the weight that leaves it is in every least set: to
add it saves more than it can cost. One whose pull is at most minus all the weight that enters it is
not in the least set that lies within all others: to take it out costs nothing. Decided vertices
pull those that they are joined to, and so on. The rest is a maximum flow: what a source has reached
when nothing more flows is the least set within all others.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

from graphcuts_dp.arrays import BoolVector, IntegerVector, IntVector

# Of what the pairs of a vertex let pass. What flows into one is at most twice that: floats hold
# every whole number up to 2^53.
MOST_TOTAL = 2**51
# What scipy's flows hold: it counts in 32 bits, and adds what a pair lets pass in both directions;
# larger ones would wrap around without a word.
_SMALL_FLOW = 2**30
_WORTH = 64  # one in so many free vertices has to be decided, or another round is not worth it


@final
@dataclass(frozen=True, eq=False)
class Network:
    """Weights in whole steps, each pair once. Private.

    Attributes:
        tails: one end of each pair, where arcs begin, shape (pairs,).
        heads: the other end, likewise.
        weights: at least 0; those at any vertex add up to at most `MOST_TOTAL`.
        directed: whether pairs are arcs.
    """

    tails: IntegerVector
    heads: IntegerVector
    weights: IntVector
    directed: bool

    def where(self, kept: BoolVector) -> "Network":
        """The same with some of the pairs."""
        return Network(self.tails[kept], self.heads[kept], self.weights[kept], self.directed)

    def leaving_and_entering(self, n: int) -> tuple[IntVector, IntVector]:
        """What leaves each vertex, and what enters it, shape (n,) each."""
        leaving, entering = _at(self.tails, self.weights, n), _at(self.heads, self.weights, n)
        if self.directed:
            return leaving, entering
        return (both := leaving + entering), both


def least_side(network: Network, pull: IntVector, side: npt.NDArray[np.int8]) -> BoolVector:
    """Which vertices are in S, shape (n,).

    Args:
        network: private.
        pull: of each vertex towards S, shape (n,); integers of any size.
        side: 1 of vertices in S, -1 of those in T, 0 of free ones, shape (n,).
    """
    n, side = len(side), side.copy()
    # Beyond all weights together a pull decides, however large it is.
    pull = np.clip(pull, -2 * MOST_TOTAL, 2 * MOST_TOTAL).astype(np.int64)
    worth = True
    while worth:
        pull += _settled(network, side)
        network = network.where((side[network.tails] == 0) & (side[network.heads] == 0))
        leaving, entering = network.leaving_and_entering(n)
        free = side == 0
        joins, stays = free & (pull > leaving), free & (pull <= -entering)
        side[joins], side[stays] = 1, -1
        decided = np.count_nonzero(joins) + np.count_nonzero(stays)
        worth = bool(decided * _WORTH > np.count_nonzero(free))
    if decided:
        pull += _settled(network, side)
        network = network.where((side[network.tails] == 0) & (side[network.heads] == 0))
        leaving, entering = network.leaving_and_entering(n)
    free = side == 0
    if free.any():
        # What decides needs no more than to decide.
        pull = np.clip(pull, -entering, leaving + 1)[free]
        number = np.cumsum(free) - 1
        rest = Network(
            number[network.tails], number[network.heads], network.weights, network.directed
        )
        side[free] = np.where(_reached(rest, pull), 1, -1)
    found: BoolVector = side == 1
    return found


def _settled(network: Network, side: npt.NDArray[np.int8]) -> IntVector:
    """How pairs with one decided end pull the other one, shape (n,)."""
    found = np.zeros(len(side), dtype=np.int64)
    for here, there, sign in (
        (network.heads, network.tails, 1),
        (network.tails, network.heads, -1),
    ):
        decided = side[there] == sign if network.directed else side[there] != 0
        chosen = decided & (side[here] == 0)
        found += _at(here[chosen], network.weights[chosen] * side[there[chosen]], len(side))
    return found


def _at(ends: IntegerVector, weights: IntVector, n: int) -> IntVector:
    """Sums of weights at each vertex; exact, since they stay below 2^52."""
    return np.bincount(ends, weights=weights, minlength=n).astype(np.int64)


def _reached(network: Network, pull: IntVector) -> BoolVector:
    """The least set within all others where all vertices are free, shape (n,)."""
    n = len(pull)
    above, below = np.flatnonzero(pull > 0), np.flatnonzero(pull < 0)
    # Python's integers: of many vertices the sum may pass 64 bits.
    most = min(sum(pull[above].tolist()), -sum(pull[below].tolist()))
    tails = np.concatenate([network.tails, np.full_like(above, n), below])
    heads = np.concatenate([network.heads, above, np.full_like(below, n + 1)])
    # A pair that lets pass more than can flow is in no least cut, however much more it is.
    most = min(most, 2 * MOST_TOTAL)
    room = np.minimum(np.concatenate([network.weights, pull[above], -pull[below]]), most + 1)
    if most + 1 < _SMALL_FLOW:
        return _by_scipy(tails, heads, room, n, pairs=len(network.tails), both=not network.directed)
    return _by_igraph(tails, heads, room, n, directed=network.directed)


def _by_scipy(
    tails: IntVector, heads: IntVector, room: IntVector, n: int, *, pairs: int, both: bool
) -> BoolVector:
    """From the source n to the sink n + 1, at most 2^30; the first `pairs` let pass both ways."""
    back = slice(0, pairs if both else 0)
    starts = np.concatenate([tails, heads[back]]).astype(np.int32)
    ends = np.concatenate([heads, tails[back]]).astype(np.int32)
    amounts = np.concatenate([room, room[back]]).astype(np.int32)
    passing = sp.csr_array((amounts, (starts, ends)), shape=(n + 2, n + 2))
    left = sp.csr_array(passing - maximum_flow(passing, n, n + 1).flow)
    left.eliminate_zeros()
    found = np.zeros(n + 2, dtype=np.bool_)
    found[breadth_first_order(left, n, return_predecessors=False)] = True
    return found[:n]


def _by_igraph(
    tails: IntVector, heads: IntVector, room: IntVector, n: int, *, directed: bool
) -> BoolVector:
    """The same by a solver that counts in floats, which hold whole numbers up to 2^53.

    It finds what can still reach the sink; so everything flows backwards, from n + 1 to n.
    """
    import igraph  # loads slowly, and is seldom needed here

    graph = igraph.Graph(n=n + 2, edges=np.column_stack([heads, tails]), directed=directed)
    cut = graph.maxflow(n + 1, n, capacity=room.astype(np.float64).tolist())
    found = np.zeros(n + 2, dtype=np.bool_)
    found[cut.partition[1]] = True
    return found[:n]
