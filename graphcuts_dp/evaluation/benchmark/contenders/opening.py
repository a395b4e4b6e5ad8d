"""What contenders on simple graphs begin with, and what they promise in the end."""

from fractions import Fraction

import numpy as np

from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph, DirectedGraph, Graph
from graphcuts_dp.privacy.composition import Cost, stated_cost
from graphcuts_dp.privacy.entropy import EntropySource, entropy_source
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, exact_epsilon, hidden_change


def simple_graph(graph: AnyGraph, name: str) -> Graph:
    """The graph, if it is undirected, has no weights and at least two vertices.

    Raises:
        GraphError: it is another.
    """
    graph.check_bounded()
    if not isinstance(graph, Graph):
        raise GraphError(f"{name} takes undirected graphs alone")
    if graph.weighted:
        raise GraphError(f"{name} takes graphs without weights alone")
    if graph.n < 2:
        raise GraphError("a graph of one vertex has no pairs: there is nothing to release")
    return graph


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
    hidden = hidden_change(
        weighted=graph.weighted,
        weight_cap=graph.weight_cap,
        directed=isinstance(graph, DirectedGraph),
    )
    return PrivacyGuarantee(
        epsilon=stated.epsilon, delta=stated.delta, neighbours=hidden, seed=seed
    )
