"""Least cuts of whole numbers beside all sets: ties, peeling, both solvers, numbers of any size."""

import itertools
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from graphcuts_dp.cuts import network

LARGE = 2**40  # beyond what scipy counts in
SOLVERS = {
    "scipy": {"_PEELED_SHARE": 0},
    "igraph": {"_PEELED_SHARE": 0, "_SMALL_FLOW": 0},
    "peeling": {},
}


class Network(NamedTuple):
    tails: Any
    heads: Any
    weights: Any
    directed: bool


def least_side(problem, pull, side):
    shape = len(side), len(side)
    arcs = sp.csr_array((problem.weights, (problem.tails, problem.heads)), shape=shape)
    arcs = arcs if problem.directed else sp.csr_array(arcs + arcs.T)
    return network.least_side(arcs, pull, side)


def cost(problem, pull, S):
    inside = S[problem.tails] & ~S[problem.heads]
    if not problem.directed:
        inside |= S[problem.heads] & ~S[problem.tails]
    return sum(map(int, problem.weights[inside])) - sum(map(int, pull[S]))


def by_all_sets(problem, pull, side):
    """The least set with the fewest vertices; that there is only one is checked, too."""
    free = np.flatnonzero(side == 0)
    found = []
    for chosen in itertools.product([False, True], repeat=len(free)):
        S = side == 1
        S[free] = chosen
        found.append((cost(problem, pull, S), int(S.sum()), S))
    least = min(each[:2] for each in found)
    (one,) = [S for *key, S in found if tuple(key) == least]
    return one


def made(generator, *, scale=1):
    n, directed = int(generator.integers(2, 8)), bool(generator.integers(2))
    pairs = [
        (a, b)
        for a in range(n)
        for b in range(n)
        if (a != b if directed else a < b) and generator.random() < 0.6
    ]
    terminal_rows = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    weights = generator.integers(0, 4, len(pairs)) * scale
    side = np.zeros(n, dtype=np.int8)
    side[:2] = 1, -1
    pull = generator.integers(-4, 5, n) * scale
    pull[:2] = 0
    return Network(terminal_rows[:, 0], terminal_rows[:, 1], weights, directed), pull, side


@cache
def problems(scale):
    """Small problems, and what is best of all sets."""
    generator = np.random.default_rng(5)
    drawn = [made(generator, scale=scale) for _ in range(400)]
    return [(problem, by_all_sets(*problem)) for problem in drawn]


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("scale", [1, LARGE])
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_least_set_within_all_others_is_found(solver, scale, monkeypatch):
    """With weights of 0 to 3 and pulls of -4 to 4 most problems have several least sets."""
    for name, value in SOLVERS[solver].items():
        monkeypatch.setattr(network, name, value)
    for problem, best in problems(scale):
        np.testing.assert_array_equal(least_side(*problem), best)


def test_solvers_and_peeling_agree_on_larger_graphs(monkeypatch):
    generator = np.random.default_rng(6)
    for rate in (0.05, 0.5, 2.0):
        for directed in (False, True):
            n = 300
            terminal_rows = np.unique(generator.integers(0, n, (1500, 2)), axis=0)
            terminal_rows = terminal_rows[terminal_rows[:, 0] < terminal_rows[:, 1]]
            weights = generator.integers(1, 5, len(terminal_rows))
            problem = Network(terminal_rows[:, 0], terminal_rows[:, 1], weights, directed)
            pull = np.diff(generator.geometric(1 - np.exp(-rate), (2, n)), axis=0)[0]
            side = np.zeros(n, dtype=np.int8)
            side[:2] = 1, -1
            found = []
            for options in SOLVERS.values():
                with monkeypatch.context() as patch:
                    for name, value in options.items():
                        patch.setattr(network, name, value)
                    found.append(least_side(problem, pull, side))
            assert 1 <= found[0].sum() < n
            np.testing.assert_array_equal(found[0], found[1])
            np.testing.assert_array_equal(found[0], found[2])


def test_what_flows_above_32_bits_does_not_wrap_around():
    """Through a path whose middle is the narrowest, by 2^31 and a little."""
    path = np.arange(4)
    for middle in (2**31 + 5, 2**32, 2**33 + 1):
        weights = np.array([2**50, middle, 2**50, 2**50])
        problem = Network(path, path + 1, weights, False)
        side = np.array([1, 0, 0, 0, -1], dtype=np.int8)
        for pull in ([0, 0, 0, 0, 0], [0, -(2**31), 2**31 - 7, 0, 0]):
            found = least_side(problem, np.array(pull), side)
            np.testing.assert_array_equal(found, [True, True, False, False, False])


def test_the_pulls_of_many_vertices_do_not_wrap_around():
    """On a path of 10,000 vertices they add up to more than 64 bits hold."""
    n, heavy = 10_002, 2**50
    path = np.arange(2, n - 1)
    problem = Network(path, path + 1, np.full(len(path), heavy), False)
    side = np.zeros(n, dtype=np.int8)
    side[:2] = 1, -1
    pull = np.full(n, heavy)
    pull[:2], pull[-1] = 0, 1 - heavy
    assert least_side(problem, pull, side).tolist() == [True, False] + [True] * (n - 2)


def test_noise_of_any_size_decides():
    """At small rates it is made of Python integers, beyond 64 bits."""
    problem = Network(np.array([0, 1]), np.array([1, 2]), np.array([2**50, 2**50]), False)
    pull = np.array([0, 3**60, -(3**60), 1, 0], dtype=object)
    side = np.array([1, 0, 0, 0, -1], dtype=np.int8)
    np.testing.assert_array_equal(least_side(problem, pull, side), [True, True, False, True, False])


def test_nothing_that_is_given_changes():
    problem, pull, side = made(np.random.default_rng(8))
    before = [each.copy() for each in (problem.tails, problem.weights, pull, side)]
    least_side(problem, pull, side)
    for one, other in zip(before, (problem.tails, problem.weights, pull, side), strict=True):
        np.testing.assert_array_equal(one, other)
