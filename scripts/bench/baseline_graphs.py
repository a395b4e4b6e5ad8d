"""The graphs of bench_baselines.py: simulated ones to tune with, others and real ones to validate.

Thresholds of the choice between mechanisms and of the fit were tuned on TUNING alone. VALIDATION
and the real graphs were looked at to decide whether a change stays, never to set a number.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import graphcuts_dp as gc

Matrix = Any


@dataclass(frozen=True)
class Entry:
    """A graph of the table.

    Attributes:
        name: shown.
        part: "tuning", "validation" or "real".
        make: returns the graph.
    """

    name: str
    part: str
    make: Callable[[], gc.Graph | gc.BipartiteGraph]


def drawn(chances: Matrix, seed: int) -> gc.Graph:
    """Draw independent edges with these chances."""
    random = np.random.default_rng(seed)
    n = len(chances)
    rows, columns = np.nonzero(np.triu(random.random((n, n)) < chances, 1))
    return gc.Graph(rows, columns, vertices=n)


def ends(random: np.random.Generator, n: int, spread: float) -> Matrix:
    """Return factors of degrees, of mean 1."""
    factors = np.exp(random.normal(0, spread, n))
    return factors / factors.mean()


def planted(n: int, blocks: int, inside: float, outside: float, seed: int = 1) -> gc.Graph:
    """Draw blocks of equal size."""
    block = np.arange(n) * blocks // n
    return drawn(np.where(block[:, None] == block, inside, outside), seed)


def corrected_blocks(n: int, sizes: list[float], inside: float, outside: float) -> gc.Graph:
    """Draw uneven blocks whose vertices differ in degree."""
    random = np.random.default_rng(2)
    block = random.choice(len(sizes), n, p=np.array(sizes) / sum(sizes))
    spread = ends(random, n, 0.6)
    chances = np.outer(spread, spread) * np.where(block[:, None] == block, inside, outside)
    return drawn(np.minimum(chances, 1), 2)


def geometric(n: int, radius: float) -> gc.Graph:
    """Join points of the unit square that are near each other."""
    points = np.random.default_rng(3).random((n, 2))
    distances = np.linalg.norm(points[:, None] - points, axis=2)
    return drawn((distances < radius).astype(float), 3)


def affiliation(n: int, clubs: int, size: int) -> gc.Graph:
    """Draw overlapping clubs, whose members meet with probability .4."""
    random = np.random.default_rng(4)
    chances = np.zeros((n, n))
    for _ in range(clubs):
        members = random.choice(n, random.integers(size // 2, 3 * size // 2), replace=False)
        chances[np.ix_(members, members)] = 0.4
    return drawn(chances, 4)


def fringe(n: int, core: int) -> gc.Graph:
    """Draw a dense core, and a periphery that hangs on it."""
    inner = np.arange(n) < core
    both, one = np.outer(inner, inner), inner[:, None] | inner
    return drawn(np.where(both, 0.5, np.where(one, 0.1, 0.005)), 5)


def levels(n: int, depth: int) -> gc.Graph:
    """Draw halves of halves: the deeper the common half, the denser."""
    position = np.arange(n) * 2**depth // n
    common = np.zeros((n, n), dtype=int)
    for level in range(1, depth + 1):
        common += position[:, None] >> (depth - level) == position >> (depth - level)
    return drawn(0.012 * 2.5**common, 6)


def recursive(scale: int, edges: int) -> gc.Graph:
    """Draw R-MAT with the customary chances .57, .19, .19, .05."""
    random = np.random.default_rng(7)
    n = 2**scale
    rows, columns = np.zeros(edges, dtype=int), np.zeros(edges, dtype=int)
    for _ in range(scale):
        quarter = random.choice(4, edges, p=[0.57, 0.19, 0.19, 0.05])
        rows, columns = 2 * rows + quarter // 2, 2 * columns + quarter % 2
    matrix = np.zeros((n, n))
    matrix[rows, columns] = 1
    return drawn(np.maximum(matrix, matrix.T), 7)


def cliques(n: int) -> gc.Graph:
    """Join two complete halves by one edge."""
    half = np.arange(n) < n // 2
    matrix = (half[:, None] == half).astype(float)
    matrix[0, -1] = matrix[-1, 0] = 1
    return drawn(matrix, 8)


def ring(count: int, size: int) -> gc.Graph:
    """Join cliques in a circle, each to the next one by one edge."""
    block = np.arange(count * size) // size
    matrix = (block[:, None] == block).astype(float)
    first = np.arange(count) * size
    ahead = np.roll(first, -1) + 1
    matrix[first, ahead] = matrix[ahead, first] = 1
    return drawn(matrix, 41)


def blocks_of(sizes: list[int], inside: float, outside: float, seed: int) -> gc.Graph:
    """Draw blocks of these sizes, which may have fewer edges inside than outside."""
    block = np.repeat(np.arange(len(sizes)), sizes)
    return drawn(np.where(block[:, None] == block, inside, outside), seed)


def hubs(n: int, radius: float, count: int) -> gc.Graph:
    """Join points of the unit square that are near, and some of them with a quarter of all."""
    points = np.random.default_rng(44).random((n, 2))
    chances = (np.linalg.norm(points[:, None] - points, axis=2) < radius).astype(float)
    hub = np.arange(n) < count
    either = hub[:, None] | hub
    return drawn(np.where(either, np.maximum(chances, 0.25), chances), 44)


def classes(n: int, count: int, inside: float, outside: float, seed: int) -> gc.Graph:
    """Draw dense classes whose members differ in degree, like a day of contacts at a school."""
    spread = ends(np.random.default_rng(seed), n, 0.35)
    block = np.arange(n) * count // n
    chances = np.outer(spread, spread) * np.where(block[:, None] == block, inside, outside)
    return drawn(np.minimum(chances, 1), seed)


def _small_world(side: int) -> gc.Graph:
    """Return a grid with neighbours within three steps, and two far links of each vertex."""
    grid = nx.navigable_small_world_graph(side, p=3, q=2, r=2, seed=45)
    return _from_networkx(grid.to_undirected())


def lognormal(n: int, degree: float) -> gc.Graph:
    """Draw a graph with degrees of a wide spread, and nothing else."""
    spread = ends(np.random.default_rng(9), n, 0.9)
    return drawn(np.minimum(np.outer(spread, spread) * degree / n, 1), 9)


def similarity(n: int) -> gc.Graph:
    """Return weights in [0, 1] between points of three clouds."""
    random = np.random.default_rng(10)
    points = random.normal(0, 1, (n, 3)) + 2.5 * np.eye(3)[random.integers(3, size=n)]
    squares = ((points[:, None] - points) ** 2).sum(axis=2)
    weights = np.exp(-squares / 2)
    weights[weights < 0.02] = 0
    np.fill_diagonal(weights, 0)
    return gc.Graph.of(weights, weighted=True, max_weight=1.0)


def counts(n: int, *, capped: bool) -> gc.Graph:
    """Draw whole weights in blocks, most of them small: capped at 5, or of any size."""
    random = np.random.default_rng(11)
    block = np.arange(n) * 3 // n
    spread = ends(random, n, 0.5)
    mean = np.outer(spread, spread) * np.where(block[:, None] == block, 1.5, 0.15)
    weights = np.triu(random.poisson(mean), 1)
    if capped:
        weights = np.minimum(weights, 5)
    symmetric = (weights + weights.T).astype(float)
    if capped:
        return gc.Graph.of(symmetric, weighted=True, max_weight=5.0)
    rows, columns = np.nonzero(np.triu(symmetric))
    return gc.Graph(rows, columns, symmetric[rows, columns], vertices=n, max_weight_change=1)


def two_sides(left: int, right: int, *, blocks: bool) -> gc.BipartiteGraph:
    """Draw groups of rows that like groups of columns, or degrees alone."""
    random = np.random.default_rng(12 if blocks else 13)
    chances = np.outer(ends(random, left, 0.5), ends(random, right, 0.8)) * 0.08
    if blocks:
        likes = (np.arange(left) * 3 // left)[:, None] == np.arange(right) * 3 // right
        chances = chances * np.where(likes, 2.5, 0.25)
    rows, columns = np.nonzero(random.random((left, right)) < chances)
    return gc.BipartiteGraph(rows, columns, left=left, right=right)


def _from_networkx(graph: Any) -> gc.Graph:
    plain = nx.convert_node_labels_to_integers(nx.Graph(graph))
    plain.remove_edges_from(list(nx.selfloop_edges(plain)))
    return gc.Graph.of(plain)


def _lfr() -> gc.Graph:
    return _from_networkx(
        nx.LFR_benchmark_graph(
            500, 2.8, 1.6, 0.25, average_degree=22, max_degree=80, min_community=30, seed=4
        )
    )


MADE = (
    Entry("planted 400, 4 blocks, .2/.02", "tuning", lambda: planted(400, 4, 0.2, 0.02)),
    Entry("planted 300, 4 blocks, .4/.04", "validation", lambda: planted(300, 4, 0.4, 0.04)),
    Entry("planted 400, 4 blocks, .5/.05", "tuning", lambda: planted(400, 4, 0.5, 0.05)),
    Entry("corrected blocks 600", "tuning",
          lambda: corrected_blocks(600, [5, 4, 3, 2, 1], 0.18, 0.015)),
    Entry("LFR 500", "validation", _lfr),
    Entry("hierarchy 512", "validation", lambda: levels(512, 4)),
    Entry("geometric 400", "tuning", lambda: geometric(400, 0.13)),
    Entry("ring of neighbours 500", "validation",
          lambda: _from_networkx(nx.watts_strogatz_graph(500, 20, 0.1, seed=5))),
    Entry("Barabasi-Albert 500", "tuning",
          lambda: _from_networkx(nx.barabasi_albert_graph(500, 12, seed=6))),
    Entry("Holme-Kim 600", "validation",
          lambda: _from_networkx(nx.powerlaw_cluster_graph(600, 12, 0.7, seed=7))),
    Entry("lognormal degrees 600", "validation", lambda: lognormal(600, 16)),
    Entry("R-MAT 512", "tuning", lambda: recursive(9, 6000)),
    Entry("affiliation 500", "tuning", lambda: affiliation(500, 40, 25)),
    Entry("core and periphery 500", "validation", lambda: fringe(500, 80)),
    Entry("G(400, .1)", "tuning", lambda: planted(400, 1, 0.1, 0.1)),
    Entry("planted 250, 2 blocks, .9/.1", "tuning", lambda: planted(250, 2, 0.9, 0.1, seed=21)),
    Entry("G(500, .2)", "tuning", lambda: planted(500, 1, 0.2, 0.2, seed=21)),
    Entry("G(300, .5)", "validation", lambda: planted(300, 1, 0.5, 0.5)),
    Entry("two cliques 300", "validation", lambda: cliques(300)),
    Entry("similarity 300, weighted", "tuning", lambda: similarity(300)),
    Entry("counts 300, capped", "validation", lambda: counts(300, capped=True)),
    Entry("counts 300, uncapped", "validation", lambda: counts(300, capped=False)),
    Entry("two sides 250 x 350, blocks", "tuning", lambda: two_sides(250, 350, blocks=True)),
    Entry("two sides 200 x 500, degrees", "validation",
          lambda: two_sides(200, 500, blocks=False)),
    Entry("classes 240", "tuning", lambda: classes(240, 10, 0.8, 0.2, 31)),
    Entry("G(250, .5)", "tuning", lambda: planted(250, 1, 0.5, 0.5, seed=47)),
    Entry("ring of cliques 300", "validation", lambda: ring(20, 15)),
    Entry("unequal blocks 400", "validation", lambda: blocks_of([200, 100, 60, 40], 0.3, 0.03, 42)),
    Entry("kinds apart 400", "validation", lambda: blocks_of([100] * 4, 0.01, 0.12, 43)),
    Entry("geometric with hubs 500", "validation", lambda: hubs(500, 0.11, 15)),
    Entry("classes 300", "validation", lambda: classes(300, 12, 0.7, 0.15, 46)),
    Entry("small world 400", "validation", lambda: _small_world(20)),
)  # fmt: skip


def _plain(graph: Any) -> gc.Graph:
    return gc.Graph(graph.rows, graph.columns, vertices=graph.n)


def _largest(graph: Any, size: int) -> gc.Graph:
    """Return the part of a graph on the vertices with most neighbours."""
    degrees = np.bincount(np.concatenate([graph.rows, graph.columns]), minlength=graph.n)
    busiest = np.sort(np.argsort(-degrees, kind="stable")[:size])
    return gc.Graph.of(_plain(graph).adjacency[busiest][:, busiest], weighted=False)


def _ball(graph: Any, size: int) -> gc.Graph:
    """Return the part on the first vertices that a breadth-first walk from vertex 0 meets."""
    network = _plain(graph).to_networkx()
    order = [0, *(b for _, b in nx.bfs_edges(network, 0))][:size]
    nearest = np.sort(np.array([int(v) for v in order]))
    return gc.Graph.of(_plain(graph).adjacency[nearest][:, nearest], weighted=False)


def _flights_weighted() -> gc.Graph:
    graph: Any = gc.datasets.load("us_flights_2008")
    weights = np.minimum(np.log2(1 + graph.weights) / 12, 1.0)
    return gc.Graph(graph.rows, graph.columns, weights, vertices=graph.n, max_weight=1.0)


def bundled() -> tuple[Entry, ...]:
    """Return real graphs that are part of the package."""
    return (
        Entry("US flights 305", "real", lambda: _plain(gc.datasets.load("us_flights_2008"))),
        Entry("US flights, logarithms, weighted", "real", _flights_weighted),
        Entry("air routes, top 600", "real",
              lambda: _largest(gc.datasets.load("air_routes"), 600)),
    )  # fmt: skip


_FILES = (
    ("polblogs, top 600", "polblogs.edges.gz", lambda graph: _largest(graph, 600)),
    ("ego-Facebook, top 600", "ego_facebook.edges.gz", lambda graph: _largest(graph, 600)),
    ("e-mail, top 600", "email_enron.edges.gz", lambda graph: _largest(graph, 600)),
    ("ego-Facebook, ball of 500", "ego_facebook.edges.gz", lambda graph: _ball(graph, 500)),
    ("worm's neurons 297", "celegansneural_w.edges", _plain),
)


def from_folder(folder: Path) -> Iterator[Entry]:
    """Yield real graphs that may not be distributed, if their files are in a folder."""
    for name, file, part in _FILES:
        if (folder / file).is_file():
            yield Entry(name, "real", lambda file=file, part=part: part(_read(folder / file)))
        else:
            print(f"skipped {name}: no {file}")


def _read(path: Path) -> Any:
    graph: Any = gc.read_graph(path, weighted=False)
    return gc.Graph(graph.rows, graph.columns, vertices=graph.n)
