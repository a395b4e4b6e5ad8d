"""Universes, queries and starts that the tests of iterative constructions share."""

import numpy as np

from graphcuts_dp.pairs.queries import CutQuery, MatrixQuery, RankOneQuery
from graphcuts_dp.pairs.universe import Universe

SHAPES = [
    *((2, None), (3, None), (9, None), (64, None), (70, None), (1, 1), (1, 6), (65, 40)),
    *((2, "arcs"), (9, "arcs"), (65, "arcs")),
]


def universe_of(shape):
    """(n, None), (left, right), or (n, "arcs")."""
    return Universe(shape[0], directed=True) if shape[1] == "arcs" else Universe(*shape)


def random_cut(universe, rng):
    """Any two sets, overlapping or not; every fourth with the second set left out."""
    n_left, n_right = universe.shape
    share = rng.choice([0, 0.2, 0.5, 0.8, 1], 2)
    S = rng.random(n_left) < share[0]
    return CutQuery(S) if rng.random() < 0.25 else CutQuery(S, rng.random(n_right) < share[1])


def every_kind(universe, rng):
    """One query of each class."""
    n_left, n_right = universe.shape
    return [
        random_cut(universe, rng),
        RankOneQuery(rng.random(n_left), rng.random(n_right)),
        MatrixQuery(rng.normal(size=universe.shape)),
    ]


def extreme_cuts(universe):
    """Nothing, everything, one vertex against itself."""
    n_left, n_right = universe.shape
    none, every = np.zeros(n_left, dtype=bool), np.ones(n_left, dtype=bool)
    first = np.arange(n_right) == 0
    return [
        CutQuery(none, np.ones(n_right, dtype=bool)),
        CutQuery(every, np.ones(n_right, dtype=bool)),
        CutQuery(every, np.zeros(n_right, dtype=bool)),
        CutQuery(np.arange(n_left) == 0, first),
        CutQuery(every),
    ]
