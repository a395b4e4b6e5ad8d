"""The graphs of bench_regret.py: 40 to choose thresholds with, and 40 to look at afterwards.

Degrees alike or uneven; structure that is planted, nested, overlapping, avoids itself, lies between
two parts, or is absent; 60 to 2,000 vertices, whose order is shuffled. No graph of VALIDATION has
the numbers of one of TUNING. Thresholds were chosen on TUNING alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np

import graphcuts_dp as gc

Matrix = Any


@dataclass(frozen=True)
class RegretGraph:
    """A graph of a list.

    Attributes:
        name: of the kind, with its numbers.
        chances: returns the probability of each pair and a label for each vertex (None if its
            communities are to be sought), from a random generator.
    """

    name: str
    chances: Callable[[np.random.Generator], tuple[Matrix, Matrix | None]]

    def drawn(self) -> tuple[gc.Graph, Matrix]:
        """Return the graph, shuffled, and the labels of its communities."""
        random = np.random.default_rng(sum(map(ord, self.name)))
        chances, labels = self.chances(random)
        n = len(chances)
        upper = np.triu(random.random((n, n)) < chances, 1)
        order = random.permutation(n)
        matrix = (upper | upper.T)[np.ix_(order, order)]
        graph = gc.Graph(*np.nonzero(np.triu(matrix, 1)), vertices=n)
        if labels is not None:
            return graph, np.asarray(labels)[order]
        parts = nx.community.louvain_communities(nx.from_numpy_array(matrix), seed=1)
        sought = np.zeros(n, dtype=int)
        for number, part in enumerate(parts):
            sought[list(part)] = number
        return graph, sought


def _factors(random: np.random.Generator, n: int, spread: float) -> Matrix:
    factors = np.exp(random.normal(0, spread, n))
    return factors / factors.mean()


def planted(n: int, blocks: int, inside: float, between: float, spread: float = 0) -> RegretGraph:
    """Draw equal blocks; with a spread, degrees differ. `between` may exceed `inside`."""

    def chances(random: np.random.Generator) -> tuple[Matrix, Matrix]:
        block = np.arange(n) * blocks // n
        factors = _factors(random, n, spread)
        same = np.where(block[:, None] == block, inside, between)
        return np.minimum(np.outer(factors, factors) * same, 1), block

    name = f"planted {n}, {blocks} x {inside:g}/{between:g}" + (f", {spread:g}" if spread else "")
    return RegretGraph(name, chances)


def unequal(sizes: tuple[int, ...], inside: float, between: float) -> RegretGraph:
    """Draw blocks of these sizes."""

    def chances(_: np.random.Generator) -> tuple[Matrix, Matrix]:
        block = np.repeat(np.arange(len(sizes)), sizes)
        return np.where(block[:, None] == block, inside, between), block

    return RegretGraph(f"blocks {'/'.join(map(str, sizes))}, {inside:g}/{between:g}", chances)


def nested(n: int, depth: int, base: float, factor: float) -> RegretGraph:
    """Draw halves of halves: the deeper the common half, the denser."""

    def chances(_: np.random.Generator) -> tuple[Matrix, Matrix]:
        leaf = np.arange(n) * 2**depth // n
        common = sum((leaf[:, None] >> k == leaf >> k).astype(int) for k in range(depth))
        return np.minimum(base * factor**common, 1), leaf >> (depth - 1)

    return RegretGraph(f"nested {n}, {depth} levels, {base:g} x {factor:g}", chances)


def overlapping(n: int, clubs: int, size: int, inside: float) -> RegretGraph:
    """Draw overlapping clubs, whose members meet."""

    def chances(random: np.random.Generator) -> tuple[Matrix, None]:
        matrix = np.full((n, n), 0.02)
        for _ in range(clubs):
            members = random.choice(n, size, replace=False)
            matrix[np.ix_(members, members)] = inside
        return matrix, None

    return RegretGraph(f"clubs {n}, {clubs} of {size}, {inside:g}", chances)


def two_parts(left: int, right: int, blocks: int, inside: float, outside: float) -> RegretGraph:
    """Draw edges from the left part to the right one alone, more of them within blocks of both."""

    def chances(_: np.random.Generator) -> tuple[Matrix, Matrix]:
        block = np.concatenate([np.arange(k) * blocks // k for k in (left, right)])
        side = np.arange(left + right) < left
        same = np.where(block[:, None] == block, inside, outside)
        return np.where(side[:, None] != side, same, 0.0), block

    return RegretGraph(f"two parts {left}+{right}, {blocks} x {inside:g}/{outside:g}", chances)


def uneven(n: int, density: float, spread: float) -> RegretGraph:
    """Draw degrees alone (Chung-Lu); with a spread of 0 a uniform graph."""

    def chances(random: np.random.Generator) -> tuple[Matrix, None]:
        factors = _factors(random, n, spread)
        return np.minimum(density * np.outer(factors, factors), 1), None

    return RegretGraph(f"degrees {n}, {density:g}, {spread:g}", chances)


def core(n: int, inner: int, dense: float, middle: float, outer: float) -> RegretGraph:
    """Draw a dense core and a periphery."""

    def chances(_: np.random.Generator) -> tuple[Matrix, None]:
        inside = np.arange(n) < inner
        both, one = np.outer(inside, inside), inside[:, None] | inside
        return np.where(both, dense, np.where(one, middle, outer)), None

    return RegretGraph(f"core {n}, {inner}, {dense:g}/{middle:g}/{outer:g}", chances)


def near(n: int, radius: float) -> RegretGraph:
    """Join points of the unit square that are near each other."""

    def chances(random: np.random.Generator) -> tuple[Matrix, None]:
        points = random.random((n, 2))
        distances = np.linalg.norm(points[:, None] - points, axis=2)
        return (distances < radius).astype(float), None

    return RegretGraph(f"geometric {n}, {radius:g}", chances)


def preferential(n: int, edges: int) -> RegretGraph:
    """Join each new vertex to old ones in proportion to their degrees."""
    return RegretGraph(
        f"preferential {n}, {edges}",
        lambda _: (nx.to_numpy_array(nx.barabasi_albert_graph(n, edges, seed=n)), None),
    )


def cliques(count: int, size: int) -> RegretGraph:
    """Draw a ring of cliques."""
    return RegretGraph(
        f"ring of {count} cliques of {size}",
        lambda _: (
            nx.to_numpy_array(nx.ring_of_cliques(count, size)),
            np.arange(count * size) // size,
        ),
    )


def real(name: str, most: int = 0) -> RegretGraph:
    """Return a bundled graph without its weights; of a large one the vertices of most edges."""

    def chances(_: np.random.Generator) -> tuple[Matrix, None]:
        matrix = gc.datasets.load(name, weighted=False).dense()
        if most:
            largest = np.argsort(-matrix.sum(axis=0), kind="stable")[:most]
            matrix = matrix[np.ix_(largest, largest)]
        return matrix, None

    return RegretGraph(f"{name}{f', top {most}' if most else ''}", chances)


TUNING = (
    planted(60, 2, 0.6, 0.1), planted(90, 3, 0.6, 0.08), planted(100, 2, 0.5, 0.15),
    planted(120, 4, 0.7, 0.05), planted(140, 3, 0.35, 0.12), planted(160, 2, 0.3, 0.1),
    planted(180, 3, 0.56, 0.065), planted(220, 5, 0.6, 0.05), planted(240, 2, 0.2, 0.05),
    planted(300, 4, 0.4, 0.04), planted(320, 8, 0.6, 0.04), planted(400, 5, 0.3, 0.05),
    planted(130, 3, 0.4, 0.06, 0.5), planted(200, 2, 0.35, 0.07, 0.6),
    planted(280, 4, 0.4, 0.05, 0.8), planted(350, 6, 0.4, 0.03, 0.4),
    planted(110, 3, 0.05, 0.45), planted(260, 2, 0.05, 0.3), planted(360, 6, 0.02, 0.2),
    unequal((60, 40, 20), 0.55, 0.06), unequal((150, 60, 30), 0.4, 0.06),
    nested(128, 3, 0.03, 2.5), nested(256, 4, 0.02, 2.2), nested(384, 3, 0.02, 2.8),
    overlapping(100, 6, 25, 0.5), overlapping(200, 8, 40, 0.5), overlapping(300, 12, 40, 0.4),
    two_parts(60, 60, 2, 0.5, 0.1), two_parts(120, 80, 3, 0.4, 0.05),
    uneven(80, 0.15, 0.0), uneven(200, 0.1, 0.0), uneven(300, 0.04, 0.0),
    uneven(100, 0.1, 0.7), uneven(250, 0.05, 1.0), uneven(350, 0.1, 0.5),
    core(150, 25, 0.6, 0.15, 0.02), near(200, 0.17), preferential(300, 4), cliques(10, 12),
    real("us_flights_2008", 200),
)  # fmt: skip
VALIDATION = (
    planted(70, 2, 0.55, 0.12), planted(80, 4, 0.75, 0.1), planted(105, 3, 0.5, 0.07),
    planted(150, 3, 0.5, 0.08), planted(150, 5, 0.6, 0.08), planted(170, 2, 0.4, 0.12),
    planted(200, 4, 0.6, 0.05), planted(210, 3, 0.3, 0.1), planted(250, 2, 0.22, 0.06),
    planted(310, 3, 0.3, 0.05), planted(400, 8, 0.5, 0.05), planted(500, 5, 0.2, 0.04),
    planted(120, 2, 0.45, 0.1, 0.5), planted(190, 3, 0.5, 0.05, 0.7),
    planted(270, 5, 0.5, 0.04, 0.5), planted(420, 4, 0.25, 0.04, 0.8),
    planted(125, 2, 0.08, 0.5), planted(230, 4, 0.04, 0.3), planted(330, 3, 0.03, 0.15),
    unequal((80, 30, 15), 0.5, 0.08), unequal((120, 100, 50, 30), 0.35, 0.05),
    nested(112, 2, 0.06, 3.0), nested(224, 3, 0.03, 2.4), nested(320, 4, 0.015, 2.4),
    overlapping(120, 5, 35, 0.45), overlapping(240, 10, 35, 0.5), overlapping(360, 8, 70, 0.3),
    two_parts(50, 90, 2, 0.5, 0.08), two_parts(140, 100, 4, 0.5, 0.06),
    uneven(120, 0.2, 0.0), uneven(260, 0.06, 0.0), uneven(400, 0.02, 0.0),
    uneven(130, 0.08, 0.8), uneven(220, 0.15, 0.6), uneven(450, 0.03, 1.0),
    core(200, 30, 0.5, 0.1, 0.01), near(280, 0.12), preferential(220, 6),
    real("lesmis"), real("air_routes", 400),
)  # fmt: skip
# Larger ones, which take minutes: looked at afterwards as well.
LARGE = (
    planted(800, 6, 0.15, 0.03), uneven(1000, 0.02, 0.7), planted(2000, 8, 0.08, 0.02),
    real("us_flights_2008"),
)  # fmt: skip
