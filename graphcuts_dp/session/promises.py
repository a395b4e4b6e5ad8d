"""What all mechanisms say in the same words: promises, certain answers, trivial ones."""

from dataclasses import replace

from graphcuts_dp.errors import ParameterError, QueryError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.pairs.graph_queries import GraphQuery, Question
from graphcuts_dp.pairs.linear_query import LinearQuery
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.guarantee import PrivacyGuarantee, hidden_change
from graphcuts_dp.session.base import Answer

NOTHING = Answer(value=0.0, interval=(0.0, 0.0), confidence=1.0)  # to a cut without pairs


def check_graph(graph: AnyGraph, universe: Universe, grid: Grid) -> None:
    """Refuse a graph that a mechanism was not made for. Reads its schema only.

    Raises:
        ParameterError: other vertices, or other weights.
    """
    if Universe.of(graph) != universe or not grid.fits(graph):
        raise ParameterError("the mechanism was made for a graph with other vertices or weights")


def only_linear(query: Question) -> LinearQuery:
    """A linear query; a statistic of the whole graph is refused.

    Raises:
        QueryError: such a statistic.
    """
    return query.masks(None) if isinstance(query, GraphQuery) else query


def only_cuts(query: Question, method: str) -> CutQuery:
    """A cut query; others are refused by methods that learn from cuts.

    Raises:
        QueryError: another query.
    """
    query = only_linear(query)
    if isinstance(query, CutQuery):
        return query
    raise QueryError(
        f"method {method!r} learns from cuts and answers cut queries, not {type(query).__name__}"
        " (a cut that mixes both sides counts as such, unless it is asked in two parts); methods"
        " 'gaussian', 'laplace' and 'mirror-descent' answer every linear query, 'binary' rank-one"
        " ones: start a session with linear=True"
    )


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


def possible_answer(answer: Answer, possible: tuple[float, float]) -> Answer:
    """An answer, value and interval, cut to what its query can be on any graph.

    Post-processing with public numbers. It takes no value farther from the truth, and no truth out
    of an interval; one that lies beside all possible truths becomes the nearest of them.

    Args:
        answer: as the mechanism gave it.
        possible: (low, high), see `EncodedQuery.possible`.
    """
    least, most = possible
    value, low, high = (min(max(each, least), most) for each in (answer.value, *answer.interval))
    return replace(answer, value=value, interval=(low, high))
