"""Directed, two-sided and weighted graphs of bench_regret.py: no threshold was chosen on them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import graphcuts_dp as gc

Matrix = Any
Random = np.random.Generator


@dataclass(frozen=True)
class KindGraph:
    """A graph of a list.

    Attributes:
        name: of the kind, with its numbers.
        made: returns the graph of a matrix of weights, whose rows and columns are shuffled.
        weights: returns that matrix in order, from a random generator.
    """

    name: str
    draw: Callable[[Matrix, Random], Any]
    weights: Callable[[Random], Matrix]

    def drawn(self) -> tuple[Any, None]:
        """Return the graph, and no labels."""
        random = np.random.default_rng(sum(map(ord, self.name)))
        return self.draw(self.weights(random), random), None


def _directed(matrix: Matrix, random: Random) -> gc.DirectedGraph:
    np.fill_diagonal(matrix, 0)
    order = random.permutation(len(matrix))
    return gc.DirectedGraph(*np.nonzero(matrix[np.ix_(order, order)]), vertices=len(matrix))


def _two_sided(matrix: Matrix, random: Random) -> gc.BipartiteGraph:
    n, m = matrix.shape
    shuffled = matrix[np.ix_(random.permutation(n), random.permutation(m))]
    return gc.BipartiteGraph(*np.nonzero(shuffled), left=n, right=m)


def _capped(largest: float) -> Callable[[Matrix, Random], gc.Graph]:
    """Return a generator of graphs with the weights above the diagonal, cut off at the largest."""

    def draw(matrix: Matrix, random: Random) -> gc.Graph:
        order = random.permutation(len(matrix))
        upper = np.minimum(np.triu(matrix, 1), largest)
        symmetric = np.triu((upper + upper.T)[np.ix_(order, order)])
        rows, columns = np.nonzero(symmetric)
        return gc.Graph(
            rows, columns, symmetric[rows, columns], vertices=len(matrix), max_weight=largest
        )

    return draw


def _factors(random: Random, n: int, spread: float) -> Matrix:
    factors = np.exp(random.normal(0, spread, n))
    return factors / factors.mean()


def _blocks(n: int, m: int, count: int, inside: float, between: float, shift: int = 0) -> Matrix:
    """Return chances of pairs; with a shift of 1, blocks of columns stand one further (a ring)."""
    rows, columns = np.arange(n) * count // n, np.arange(m) * count // m
    return np.where((rows[:, None] + shift) % count == columns, inside, between)


def _uneven(random: Random, chances: Matrix, spread: float) -> Matrix:
    n, m = chances.shape
    return np.minimum(
        chances * np.outer(_factors(random, n, spread), _factors(random, m, spread)), 1
    )


def _drawn(random: Random, chances: Matrix) -> Matrix:
    return (random.random(chances.shape) < chances).astype(float)


def _plain(
    draw: Callable[[Matrix, Random], Any], name: str, chances: Matrix, spread: float = 0.0
) -> KindGraph:
    """Draw independent edges with these chances; with a spread, degrees differ."""
    return KindGraph(name, draw, lambda random: _drawn(random, _uneven(random, chances, spread)))


DIRECTED = (
    _plain(_directed, "directed 120, 3 blocks", _blocks(120, 120, 3, 0.4, 0.06)),
    _plain(_directed, "directed 200, 4 blocks", _blocks(200, 200, 4, 0.35, 0.04)),
    _plain(_directed, "directed 150, ring of 3", _blocks(150, 150, 3, 0.4, 0.06, 1)),
    _plain(_directed, "directed 240, ring of 4", _blocks(240, 240, 4, 0.25, 0.03, 1)),
    _plain(_directed, "directed 180, 3 uneven blocks", _blocks(180, 180, 3, 0.35, 0.05), 0.5),
    _plain(_directed, "directed 150, uneven", np.full((150, 150), 0.08), 0.8),
    _plain(_directed, "directed 250, uneven", np.full((250, 250), 0.06), 0.5),
    _plain(_directed, "directed 200, uniform", np.full((200, 200), 0.08)),
    _plain(_directed, "directed 90, 2 blocks", _blocks(90, 90, 2, 0.4, 0.1)),
    _plain(_directed, "directed 300, 5 blocks", _blocks(300, 300, 5, 0.2, 0.03)),
)
TWO_SIDED = (
    _plain(_two_sided, "120 x 80, 3 blocks", _blocks(120, 80, 3, 0.45, 0.06)),
    _plain(_two_sided, "200 x 150, 4 blocks", _blocks(200, 150, 4, 0.4, 0.04)),
    _plain(_two_sided, "300 x 60, 2 blocks", _blocks(300, 60, 2, 0.35, 0.08)),
    _plain(_two_sided, "90 x 90, 2 blocks", _blocks(90, 90, 2, 0.4, 0.1)),
    _plain(_two_sided, "160 x 160, 3 uneven blocks", _blocks(160, 160, 3, 0.4, 0.05), 0.5),
    _plain(_two_sided, "150 x 150, uneven", np.full((150, 150), 0.08), 0.8),
    _plain(_two_sided, "250 x 100, uneven", np.full((250, 100), 0.08), 0.5),
    _plain(_two_sided, "200 x 120, uniform", np.full((200, 120), 0.1)),
    _plain(_two_sided, "260 x 260, 5 blocks", _blocks(260, 260, 5, 0.25, 0.03)),
)
WEIGHTED = (
    KindGraph("counts 120, 3 blocks", _capped(3.0),
              lambda random: random.poisson(_blocks(120, 120, 3, 1.5, 0.15))),
    KindGraph("counts 200, 4 blocks", _capped(3.0),
              lambda random: random.poisson(_blocks(200, 200, 4, 1.5, 0.1))),
    KindGraph("counts 300, 3 blocks", _capped(5.0),
              lambda random: random.poisson(_blocks(300, 300, 3, 1.5, 0.15))),
    KindGraph("parts 200, 4 blocks", _capped(1.0),
              lambda random: _drawn(random, _blocks(200, 200, 4, 0.6, 0.05))
              * random.random((200, 200))),
    KindGraph("parts 150, 2 blocks apart", _capped(1.0),
              lambda random: _drawn(random, _blocks(150, 150, 2, 0.1, 0.6))
              * random.random((150, 150))),
    KindGraph("counts 150, uneven", _capped(3.0),
              lambda random: random.poisson(_uneven(random, np.full((150, 150), 0.2), 0.8))),
    KindGraph("parts 200, uniform", _capped(1.0),
              lambda random: _drawn(random, np.full((200, 200), 0.1)) * random.random((200, 200))),
    KindGraph("lognormal 180, 3 blocks", _capped(3.0),
              lambda random: _drawn(random, _blocks(180, 180, 3, 0.6, 0.08))
              * np.exp(random.normal(0, 0.5, (180, 180)))),
    KindGraph("dense 100, 2 blocks", _capped(1.0),
              lambda random: random.beta(2, 2, (100, 100)) * _blocks(100, 100, 2, 1.0, 0.4)),
)  # fmt: skip
