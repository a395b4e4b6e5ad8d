"""What all mechanisms say in the same words: promises, certain answers, trivial ones."""

from dataclasses import replace

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.graph_queries import GraphQuery
from graphcuts_dp.graph.grid import Grid, possible_part
from graphcuts_dp.graph.queries import CutQuery
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.interactive.base import Answer
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, hidden_change

NOTHING = Answer(value=0.0, interval=(0.0, 0.0), confidence=1.0)  # to a cut without pairs


def check_graph(graph: AnyGraph, universe: Universe, grid: Grid) -> None:
    """Refuse a graph that a mechanism was not made for. Reads its schema only.

    Raises:
        ParameterError: other vertices, or other weights.
    """
    if Universe.of(graph) != universe or not grid.fits(graph):
        raise ParameterError("the mechanism was made for a graph with other vertices or weights")


def pairs_of(query: CutQuery | GraphQuery, universe: Universe) -> int:
    """How many pairs a cut has; of a statistic of the whole graph its largest number of steps.

    Raises:
        QueryError: unknown vertices, or another query.
    """
    if isinstance(query, GraphQuery):
        query.check(universe.space)
        return -(-query.largest(universe.space) // query.sensitivity(universe.space))
    return universe.pairs_between(query)


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
    if grid.bounded is not None:
        public += ", the degree bound"
    return PrivacyGuarantee(
        epsilon=cost.epsilon,
        delta=cost.delta,
        neighbours=hidden_change(
            weighted=grid.weighted, weight_cap=grid.cap, directed=universe.directed
        ),
        public=public,
        seed=seed,
        parts=parts,
    )


def trivial_answer(value: float, pairs: int, grid: Grid) -> Answer:
    """An answer without guarantee: the interval is what the pairs of the cut can weigh."""
    return Answer(value=value, interval=(0.0, grid.most(pairs)), confidence=1.0, guaranteed=False)


def in_numbers(answer: Answer, sensitivity: int) -> Answer:
    """An answer about steps, told about the number itself, which was divided by its sensitivity.

    Post-processing with a public number: a number of f steps lies in [f s, f s + s - 1].
    """
    if sensitivity == 1:
        return answer
    low, high = (end * sensitivity for end in answer.interval)
    rest = sensitivity - 1
    value = answer.value * sensitivity + rest / 2
    return replace(answer, value=value, interval=(low, high + rest))


def possible_answer(answer: Answer, pairs: int, grid: Grid) -> Answer:
    """An answer, value and interval, cut to what the pairs of its cut can weigh.

    Post-processing with public numbers. It takes no value farther from the truth, and no truth out
    of an interval.
    """
    most = grid.most(pairs)
    value = min(max(answer.value, 0.0), most)
    return replace(answer, value=value, interval=possible_part(answer.interval, most))
