"""What contenders that make graphs without weights share: checks, subsets, what they hand in."""

from fractions import Fraction

import numpy as np

from graphcuts_dp.arrays import IntegerVector, IntVector
from graphcuts_dp.errors import GraphError
from graphcuts_dp.evaluation.benchmark.base import Submission
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, DirectedGraph, Graph
from graphcuts_dp.privacy.entropy import EntropySource, entropy_source
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, exact_epsilon, hidden_change

Parts = tuple[tuple[str, Fraction], ...]


def opened(
    graph: AnyGraph, epsilon: float, seed: int | None, kinds: tuple[type, ...] = (Graph,)
) -> tuple[Fraction, EntropySource]:
    """Epsilon as a fraction and the source of noise, after all checks; nothing was drawn.

    Args:
        graph: the private graph.
        epsilon: to spend.
        seed: None for the operating system's entropy.
        kinds: of graphs that the method takes.

    Raises:
        GraphError: another kind of graph, weights, or a graph of one vertex.
        ParameterError: epsilon or seed out of range.
    """
    if not isinstance(graph, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise GraphError(f"this method takes a {names}, not a {type(graph).__name__}")
    if graph.weighted:
        raise GraphError("this method takes graphs without weights")
    if not isinstance(graph, BipartiteGraph) and graph.n < 2:
        raise GraphError("a graph of one vertex has no pairs: there is nothing to release")
    return exact_epsilon(epsilon), entropy_source(seed)


def submitted(
    graph: AnyGraph,
    rows: IntegerVector,
    columns: IntegerVector,
    *,
    parts: Parts,
    seed: int | None,
) -> Submission:
    """A synthetic graph of the kind and on the vertices of a private one, of which no edge is read.

    Args:
        graph: the private graph.
        rows: of the synthetic edges; loops are dropped, and a pair counts once.
        columns: likewise.
        parts: what epsilon was spent on; the promise is their sum.
        seed: as given.
    """
    made: AnyGraph
    if isinstance(graph, BipartiteGraph):
        made = BipartiteGraph(rows, columns, left=graph.left, right=graph.right)
    elif isinstance(graph, DirectedGraph):
        made = DirectedGraph(rows, columns, vertices=graph.vertices)
    else:
        made = Graph(rows, columns, vertices=graph.vertices)
    hidden = hidden_change(
        weighted=False, weight_cap=None, directed=isinstance(graph, DirectedGraph)
    )
    promise = PrivacyGuarantee(
        epsilon=float(sum(epsilon for _, epsilon in parts)),
        neighbours=hidden,
        seed=seed,
        parts=tuple((name, float(epsilon)) for name, epsilon in parts) if parts[1:] else (),
    )
    return Submission(estimate=made, guarantee=promise)


def generator(source: EntropySource) -> np.random.Generator:
    """Ordinary random numbers for post-processing, which protect nobody, seeded from a source."""
    return np.random.default_rng(int.from_bytes(source.bytes(16).tobytes(), "little"))


def uniform_subset(count: int, size: int, source: EntropySource) -> IntVector:
    """A uniform subset of 0..size-1, exactly, ascending.

    Numbers are drawn until enough are distinct, and the first ones stay: each is uniform whatever
    was drawn before, given that it is a new one. Where more than half is wanted, those to leave
    out are drawn.

    Args:
        count: how many, in 0..size.
        size: at most 2^62.
        source: where the bits come from.

    Returns:
        Shape (count,).
    """
    if 2 * count > size:
        left_out = uniform_subset(size - count, size, source)
        kept = np.ones(size, dtype=np.bool_)
        kept[left_out] = False
        return np.flatnonzero(kept)
    found = np.zeros(0, dtype=np.int64)
    while len(found) < count:
        more = np.concatenate([found, _uniform(2 * (count - len(found)) + 8, size, source)])
        _, first = np.unique(more, return_index=True)
        found = more[np.sort(first)][:count]
    found.sort()
    return found


def _uniform(count: int, size: int, source: EntropySource) -> IntVector:
    """About so many independent uniform numbers in 0..size-1: those of `count` words that fit."""
    bits = max(1, (size - 1).bit_length())
    words = source.bytes(8 * count).view(np.uint64) >> np.uint64(64 - bits)
    return words[words < np.uint64(size)].astype(np.int64)
