"""What contenders on simple graphs begin with, and what they promise in the end."""

from fractions import Fraction

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntegerVector
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph, BipartiteGraph, DirectedGraph, Graph
from graphcuts_dp.privacy.composition import Cost, stated_cost
from graphcuts_dp.privacy.entropy import EntropySource, entropy_source
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, exact_epsilon, hidden_change
from scripts.benchmark.base import Submission

Parts = tuple[tuple[str, Fraction], ...]


def simple_graph(graph: AnyGraph, name: str) -> Graph:
    """The graph, if it is undirected, has no weights and at least two vertices.

    Raises:
        GraphError: it is another.
    """
    if not isinstance(graph, Graph):
        raise GraphError(f"{name} takes undirected graphs alone")
    check_unweighted(graph, name)
    check_pairs(graph)
    return graph


def check_unweighted(graph: AnyGraph, name: str) -> None:
    """Check that a graph has no weights.

    Raises:
        GraphError: it has.
    """
    if graph.weighted:
        raise GraphError(f"{name} takes graphs without weights alone")


def check_pairs(graph: AnyGraph) -> None:
    """Check that there is a pair to hide, and that it is said which change of a weight is hidden.

    Raises:
        GraphError: one vertex.
        ParameterError: weights without a cap.
    """
    graph.check_bounded()
    if min(graph.shape) < (1 if isinstance(graph, BipartiteGraph) else 2):
        raise GraphError("a graph of one vertex has no pairs: there is nothing to release")


def same_kind(
    graph: AnyGraph, rows: IntegerVector, columns: IntegerVector, weights: FloatVector | None
) -> AnyGraph:
    """A graph of the same kind on the same vertices, with other edges.

    Args:
        graph: its vertices and its kind are public.
        rows: ends of the edges.
        columns: other ends.
        weights: of the edges; None for none.
    """
    if isinstance(graph, Graph):
        return Graph(rows, columns, weights, vertices=graph.vertices)
    if isinstance(graph, DirectedGraph):
        return DirectedGraph(rows, columns, weights, vertices=graph.vertices)
    return BipartiteGraph(rows, columns, weights, left=graph.left, right=graph.right)


def opened(epsilon: float, seed: int | None) -> tuple[Fraction, EntropySource]:
    """The exact privacy parameter, and where noise comes from.

    Raises:
        ParameterError: epsilon or seed out of range.
    """
    return exact_epsilon(epsilon), entropy_source(seed)


def checked_delta(delta: float, name: str) -> float:
    """A delta that a method without a pure promise can spend.

    Raises:
        ParameterError: it is 0, or no number in (0, 1).
    """
    number = isinstance(delta, float | int) and not isinstance(delta, bool)
    if not (number and 0 < delta < 1):
        raise ParameterError(f"{name} has no pure promise: give a delta in (0, 1)")
    return float(delta)


def public_generator(source: EntropySource) -> np.random.Generator:
    """For what reads public or noisy values alone. Its seed is drawn from the source."""
    return np.random.default_rng(int.from_bytes(source.bytes(16).tobytes(), "little"))


def promise(
    graph: AnyGraph, built: Cost, *, epsilon: float, seed: int | None, delta: float = 0.0
) -> PrivacyGuarantee:
    """What is promised of a graph, from the cost of the noise that was built.

    Args:
        graph: its schema is public.
        built: the cost.
        epsilon: that was asked for.
        seed: None when the operating system's entropy was used.
        delta: that was asked for.

    Raises:
        BudgetError: it costs more than that.
    """
    stated = stated_cost(built, epsilon=epsilon, delta=delta)
    return PrivacyGuarantee(
        epsilon=stated.epsilon, delta=stated.delta, neighbours=_hidden(graph), seed=seed
    )


def _hidden(graph: AnyGraph) -> str:
    """Which change of a graph of this schema is hidden."""
    return hidden_change(
        weighted=graph.weighted,
        weight_cap=graph.weight_cap,
        directed=isinstance(graph, DirectedGraph),
    )


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
    spent = sum((epsilon for _, epsilon in parts), Fraction(0))
    promised = PrivacyGuarantee(
        epsilon=float(spent),
        neighbours=_hidden(graph),
        seed=seed,
        parts=tuple((name, float(epsilon)) for name, epsilon in parts) if parts[1:] else (),
    )
    return Submission(estimate=same_kind(graph, rows, columns, None), guarantee=promised)
