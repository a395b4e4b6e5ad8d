"""Neighbouring data on which floating-point noise would fall apart, and the epsilons to try."""

import math

import networkx as nx
import numpy as np

from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.graph.adjacency import BipartiteGraph, Graph

EPSILONS = (0.01, 0.03, 0.1, 0.2, 1 / 3, 0.5, math.log(2), 1.0, 2.0, 3.7, 10.0, 20.0)
SOON = (1.0,)  # the others take minutes
# Their binary digits are all different, and the first two differ in the last one.
WEIGHTS = (0.1 + 0.2, 1 / 3, 0.7, math.nextafter(1.0, 0.0), 2.0**-40, 5e-324, 0.1, 1e-17)
PLACES = ((0, 1), (0, 2), (1, 2), (2, 3), (3, 4), (0, 5), (4, 5), (1, 4))


def plain(*, more=False):
    """A graph without weights on 6 vertices, and its neighbour with one more edge."""
    places = [*PLACES, (2, 5)] if more else PLACES
    return Graph(*zip(*places, strict=True), vertices=6)


def weighted(first, *, cap=1.0):
    """WEIGHTS on the places, with another first one."""
    masses, change = [first, *WEIGHTS[1:]], None if cap else 1
    ends = zip(*PLACES, strict=True)
    return Graph(*ends, masses, vertices=6, weight_cap=cap, hide_change=change)


def ratings(first, *, cap=1.0):
    """The same between 6 vertices and 7."""
    ends = zip(*PLACES, strict=True)
    return BipartiteGraph(*ends, [first, *WEIGHTS[1:]], left=6, right=7, weight_cap=cap)


def plain_ratings(*, more=False):
    """A bipartite graph without weights, and its neighbour."""
    places = [*PLACES, (5, 6)] if more else PLACES
    return BipartiteGraph(*zip(*places, strict=True), left=6, right=7)


# (first, neighbour); one step in the last binary digit apart, or as far as is allowed
NEIGHBOURS = {
    "plain": (plain(), plain(more=True)),
    "bipartite": (plain_ratings(), plain_ratings(more=True)),
    "a last digit": (weighted(0.1 + 0.2), weighted(0.3)),
    "no cap": (weighted(0.1 + 0.2, cap=None), weighted(1.3, cap=None)),
    "odd cap": (weighted(0.1 + 0.2, cap=1.7), weighted(1.7, cap=1.7)),
    "ratings": (ratings(0.1 + 0.2), ratings(0.3)),
}
PLAIN = ("plain", "bipartite")
CAPPED = ("a last digit", "odd cap", "ratings")


def neighbouring_locations(metric, times=1):
    """Where people are on a map of 9 vertices, before and after one of them moves.

    Args:
        metric: the map.
        times: 40 people each.
    """
    counts = times * np.array([9, 0, 3, 7, 1, 5, 5, 0, 10])
    moved = counts + np.array([-1, 0, 0, 0, 0, 0, 0, 1, 0])
    return Locations(metric, counts), Locations(metric, moved)


def tree():
    """A public map whose lengths are like 0.1 + 0.2."""
    made = nx.random_labeled_tree(9, seed=2)
    nx.set_edge_attributes(made, dict(zip(made.edges, WEIGHTS[:4] * 2, strict=True)), "weight")
    return Metric.of(made)


def path():
    """Likewise, on a line."""
    return Metric.path(9, WEIGHTS[:4] * 2)
