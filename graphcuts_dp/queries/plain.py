"""Plain queries: queries of any class as numbers that are read once.

Users write classes of queries, and may override every method of them. A mechanism derives the noise
of a query from its coefficients and counts the true answer by them. So all of that must read the
same numbers, none of which may depend on the private graph: an overridden `sensitivity` can be too
small, `coefficients_at` gets the private edges, and a method can return something else each time.
`plain_query` reads a query once, from its public vertices alone, before any graph is read. What it
returns is of a class of this package, whose methods are proven to agree with each other.

`linear` has the kinds of queries, `graph_queries` the statistics and the base class of users.
"""

import numpy as np

from graphcuts_dp.queries.coefficients import pair_coefficients
from graphcuts_dp.queries.graph_queries import GraphQuery, Question
from graphcuts_dp.queries.linear import CutQuery, LinearQuery, MatrixQuery, RankOneQuery
from graphcuts_dp.queries.mixed_cuts import MixedCut
from graphcuts_dp.schema.vertices import Space

# Classes whose objects hold their coefficients as plain read-only numbers already. Subclasses of
# these are classes of users.
_PLAIN: tuple[type, ...] = (RankOneQuery, MatrixQuery, MixedCut)


def plain_query(query: LinearQuery, space: Space) -> LinearQuery:
    """Return a linear query with the same coefficients, of a class of this package.

    Cuts come back with truth vectors for sets; rank-one queries, matrix queries and `MixedCut` as
    they are; all others, subclasses of these included, as a `MatrixQuery`.

    Privacy: whatever sensitivity a mechanism derives from the returned query holds for the counts
    that it makes of it. No method of a class of the user's own runs after this call, and none is
    passed anything private by it.

    Args:
        query: of any class, for this space; names of groups in its sets must have been read.
        space: the vertex set, both, or `Arcs`.

    Raises:
        QueryError: unknown vertices, or coefficients that `pair_coefficients` refuses.
    """
    if isinstance(query, CutQuery):
        S, T = (np.array(mask, dtype=np.bool_) for mask in query.masks(space))
        S.flags.writeable = T.flags.writeable = False
        return CutQuery(S, T)
    if type(query) in _PLAIN:
        return query
    return MatrixQuery(pair_coefficients(query, space))


def plain_question(question: Question, space: Space) -> Question:
    """Return `plain_query` of a linear query, and a statistic by its name alone.

    Raises:
        QueryError: as for `plain_query`; or a statistic that does not exist.
    """
    if isinstance(question, GraphQuery):
        return GraphQuery(question.statistic)
    return plain_query(question, space)
