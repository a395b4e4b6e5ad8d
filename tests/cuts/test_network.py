"""Least cuts with whole weights: against all sets, with ties, by every solver, of any size."""

import itertools
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp

from graphcuts_dp.cuts import network

LARGE = 2**40  # scipy counts in 32 bits
# Constants of the module that lead to a solver.
SOLVERS = {
    "scipy": {"_PEELED_SHARE": 0},
    "igraph": {"_PEELED_SHARE": 0, "_SMALL_FLOW": 0},
    "peeling": {},
}


class Network(NamedTuple):
    """A graph by its edges, from tails to heads if it is directed."""

    tails: Any
    heads: Any
    weights: Any
    directed: bool


class Problem(NamedTuple):
    """A network, the gain of each vertex of S, and its side: 1 in S, -1 not in S, 0 free."""

    network: Network
    pull: Any
    side: Any


def least_side(graph: Network, pull: Any, side: Any) -> Any:
    """Return the set S of the package: the least of `cost`, and of those the smallest one."""
    shape = len(side), len(side)
    arcs = sp.csr_array((graph.weights, (graph.tails, graph.heads)), shape=shape)
    arcs = arcs if graph.directed else sp.csr_array(arcs + arcs.T)
    return network.least_side(arcs, pull, side)


def cost(graph: Network, pull: Any, S: Any) -> int:
    """Return the weight of the cut of S less the pulls of its vertices, as exact integers."""
    crosses = S[graph.tails] & ~S[graph.heads]
    if not graph.directed:
        crosses |= S[graph.heads] & ~S[graph.tails]
    return sum(map(int, graph.weights[crosses])) - sum(map(int, pull[S]))


def by_all_sets(graph: Network, pull: Any, side: Any) -> Any:
    """Return the smallest of the sets of least cost; check that there is only one."""
    free = np.flatnonzero(side == 0)
    candidates = []
    for in_S in itertools.product([False, True], repeat=len(free)):
        S = side == 1
        S[free] = in_S
        candidates.append(((cost(graph, pull, S), int(S.sum())), S))
    least = min(key for key, _ in candidates)
    (best,) = [S for key, S in candidates if key == least]
    return best


def random_problem(generator: np.random.Generator, *, scale: int = 1) -> Problem:
    """Draw a graph of at most seven vertices with small weights, so that many cuts are ties."""
    n, directed = int(generator.integers(2, 8)), bool(generator.integers(2))
    pairs = [
        (a, b)
        for a in range(n)
        for b in range(n)
        if (a != b if directed else a < b) and generator.random() < 0.6
    ]
    edges = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    weights = generator.integers(0, 4, len(pairs)) * scale
    side = np.zeros(n, dtype=np.int8)
    side[:2] = 1, -1
    pull = generator.integers(-4, 5, n) * scale
    pull[:2] = 0
    return Problem(Network(*edges.T, weights, directed), pull, side)


@cache
def solved_problems(scale: int) -> list[tuple[Problem, Any]]:
    """Return small problems with their least sets."""
    generator = np.random.default_rng(5)
    problems = [random_problem(generator, scale=scale) for _ in range(400)]
    return [(problem, by_all_sets(*problem)) for problem in problems]


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("scale", [1, LARGE])
@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_finds_the_smallest_of_the_least_sets(solver, scale, monkeypatch):
    """With weights of 0 to 3 and pulls of -4 to 4 most problems have several least sets."""
    for name, value in SOLVERS[solver].items():
        monkeypatch.setattr(network, name, value)
    for problem, best in solved_problems(scale):
        np.testing.assert_array_equal(least_side(*problem), best)


def test_solvers_and_peeling_agree_on_larger_graphs(monkeypatch):
    generator = np.random.default_rng(6)
    for rate in (0.05, 0.5, 2.0):
        for directed in (False, True):
            n = 300
            edges = np.unique(generator.integers(0, n, (1500, 2)), axis=0)
            edges = edges[edges[:, 0] < edges[:, 1]]
            weights = generator.integers(1, 5, len(edges))
            graph = Network(*edges.T, weights, directed)
            pull = np.diff(generator.geometric(1 - np.exp(-rate), (2, n)), axis=0)[0]
            side = np.zeros(n, dtype=np.int8)
            side[:2] = 1, -1
            sides = []
            for options in SOLVERS.values():
                with monkeypatch.context() as patch:
                    for name, value in options.items():
                        patch.setattr(network, name, value)
                    sides.append(least_side(graph, pull, side))
            assert 1 <= sides[0].sum() < n
            np.testing.assert_array_equal(sides[0], sides[1])
            np.testing.assert_array_equal(sides[0], sides[2])


def test_flows_above_32_bits_do_not_wrap_around():
    """On a path whose lightest edge weighs a little more than 2^31."""
    path = np.arange(4)
    for lightest in (2**31 + 5, 2**32, 2**33 + 1):
        weights = np.array([2**50, lightest, 2**50, 2**50])
        graph = Network(path, path + 1, weights, False)
        side = np.array([1, 0, 0, 0, -1], dtype=np.int8)
        for pull in ([0, 0, 0, 0, 0], [0, -(2**31), 2**31 - 7, 0, 0]):
            S = least_side(graph, np.array(pull), side)
            np.testing.assert_array_equal(S, [True, True, False, False, False])


def test_sums_of_pulls_above_64_bits_do_not_wrap_around():
    """On a path of 10,000 vertices."""
    n, heavy = 10_002, 2**50
    path = np.arange(2, n - 1)
    graph = Network(path, path + 1, np.full(len(path), heavy), False)
    side = np.zeros(n, dtype=np.int8)
    side[:2] = 1, -1
    pull = np.full(n, heavy)
    pull[:2], pull[-1] = 0, 1 - heavy
    assert least_side(graph, pull, side).tolist() == [True, False] + [True] * (n - 2)


def test_pulls_may_be_integers_beyond_64_bits():
    """Noise of small rates consists of Python integers."""
    graph = Network(np.array([0, 1]), np.array([1, 2]), np.array([2**50, 2**50]), False)
    pull = np.array([0, 3**60, -(3**60), 1, 0], dtype=object)
    side = np.array([1, 0, 0, 0, -1], dtype=np.int8)
    np.testing.assert_array_equal(least_side(graph, pull, side), [True, True, False, True, False])


def test_no_argument_is_changed():
    graph, pull, side = random_problem(np.random.default_rng(8))
    arguments = (graph.tails, graph.weights, pull, side)
    copies = [array.copy() for array in arguments]
    least_side(graph, pull, side)
    for argument, copy in zip(arguments, copies, strict=True):
        np.testing.assert_array_equal(argument, copy)
