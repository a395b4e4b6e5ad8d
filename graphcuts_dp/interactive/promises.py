"""What all mechanisms say in the same words: promises, certain answers, trivial ones."""

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.queries import CutQuery, pairs_between
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.interactive.base import Answer
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, hidden_change


def check_graph(graph: AnyGraph, universe: Universe, grid: Grid) -> None:
    """Refuse a graph that a mechanism was not made for. Reads its schema only.

    Raises:
        ParameterError: other vertices, or other weights.
    """
    if Universe.of(graph) != universe or Grid.of(graph) != grid:
        raise ParameterError("the mechanism was made for a graph with other vertices or weights")


def pairs_of(query: CutQuery, universe: Universe) -> int:
    """How many pairs a cut has.

    Raises:
        QueryError: unknown vertices, or not a cut query.
    """
    return pairs_between(*universe.masks(query), bipartite=universe.bipartite)


def promise(
    cost: Cost,
    universe: Universe,
    grid: Grid,
    *,
    seed: int | None,
    parts: tuple[tuple[str, float], ...] = (),
) -> PrivacyGuarantee:
    """The guarantee of a mechanism of this cost."""
    public = universe.public
    if grid.weighted and grid.cap is not None:
        public += ", the weight cap"
    return PrivacyGuarantee(
        epsilon=cost.epsilon,
        delta=cost.delta,
        neighbours=hidden_change(weighted=grid.weighted, weight_cap=grid.cap),
        public=public,
        seed=seed,
        parts=parts,
    )


def trivial_answer(value: float, pairs: int, grid: Grid) -> Answer:
    """An answer without guarantee: the interval is what the pairs of the cut can weigh."""
    return Answer(value=value, interval=(0.0, grid.most(pairs)), confidence=1.0, guaranteed=False)
