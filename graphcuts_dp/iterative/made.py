"""What all iterative releases begin and end with: universe, list of queries, synthetic graph."""

from collections.abc import Iterable, Iterator

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.distinguishers.cut_list import CutList
from graphcuts_dp.distinguishers.question_list import QuestionList
from graphcuts_dp.errors import GraphError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph, from_rows_on
from graphcuts_dp.graph.graph_queries import GraphQuery, Question
from graphcuts_dp.graph.mixed_cuts import understood
from graphcuts_dp.graph.queries import CutQuery
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.idc.constructions import CONSTRUCTIONS
from graphcuts_dp.idc.learners import MOST_DENSE_VERTICES

MEDIAN = "median"  # beside the table of constructions: its hypothesis is no matrix
LEARNT_BY = (*CONSTRUCTIONS, MEDIAN)


def universe_of(graph: AnyGraph) -> Universe:
    """The public pairs of a graph.

    Raises:
        GraphError: something else than a graph, or one without pairs.
        ParameterError: more vertices than a matrix of all pairs can be held for.
    """
    if not isinstance(graph, AnyGraph):
        raise GraphError(
            "the first argument must be a Graph; build one with read_graph or from_..."
        )
    universe = Universe.of(graph)
    if not universe.size:
        raise GraphError("a graph of one vertex has no pairs: there is nothing to release")
    if max(universe.shape) > MOST_DENSE_VERTICES:
        raise ParameterError(
            f"an iterative construction holds a number for each pair: up to {MOST_DENSE_VERTICES}"
            " vertices; use release_graph"
        )
    return universe


def as_list(universe: Universe, queries: Iterable[Question]) -> CutList | QuestionList:
    """A public list of queries.

    Raises:
        ParameterError: a list for other vertices, or an empty one.
        QueryError: a query that does not fit.
    """
    if isinstance(queries, CutList | QuestionList):
        if queries.universe != universe:
            raise ParameterError("the queries are for other vertices than the graph's")
        return queries
    given = [
        each if isinstance(each, GraphQuery) else understood(each, universe.space)
        for each in queries
    ]
    cuts = [each for each in given if isinstance(each, CutQuery)]
    return CutList(universe, cuts) if len(cuts) == len(given) else QuestionList(universe, given)


def synthetic_graph(graph: AnyGraph, weights: FloatMatrix, cap: float, note: str) -> AnyGraph:
    """A graph with these weights on the vertices of another, of which the schema is read only."""

    def rows() -> Iterator[FloatMatrix]:
        yield from (weights[start : start + 512] for start in range(0, len(weights), 512))

    return from_rows_on(graph.space, rows(), weighted=True, weight_cap=cap, note=note)
