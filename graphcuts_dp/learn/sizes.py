"""Public sizes of a graph and of the queries about it, from which all bounds are computed.

A size is public. It is one of

- an int n: an undirected graph on n vertices, with X = n(n-1)/2 vertex pairs;
- a tuple (left, right): a bipartite graph, with X = left * right pairs;
- `ArcsOn(n)`: a directed graph on n vertices, with X = n(n-1) arcs.

`CutSizes` adds how large a query can be. The bounds of `learn.bounds` and `learn.norms` take both.
A query has a matrix of coefficients over the pairs; "spectral" is short for its largest singular
value, which users announce as `max_spectral_norm`.
"""

import math
from dataclasses import dataclass
from typing import Self, final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.queries.universe import Universe

_USUAL_DEGREE = 20  # average degree that is assumed of a graph if nobody guesses its edges


@final
@dataclass(frozen=True)
class ArcsOn:
    """The size of a directed graph: its number of vertices."""

    n: int


Size = int | tuple[int, int] | ArcsOn


def shape_of(n: Size) -> tuple[int, int]:
    """Return the shape of the graph's matrix: (rows, columns)."""
    if isinstance(n, tuple):
        return n
    return (n.n, n.n) if isinstance(n, ArcsOn) else (n, n)


def size_of(universe: Universe) -> Size:
    """Return the size of a graph on these vertex pairs."""
    if universe.bipartite:
        return universe.shape
    return ArcsOn(universe.shape[0]) if universe.directed else universe.shape[0]


def pairs_of(n: Size) -> int:
    """Return X, the number of vertex pairs: n(n-1)/2, left * right, or n(n-1) arcs."""
    rows, columns = shape_of(n)
    if isinstance(n, int):
        return n * (n - 1) // 2
    if isinstance(n, ArcsOn):
        return rows * (rows - 1)
    return rows * columns


def largest_disjoint_cut(n: Size) -> int:
    """Return the most pairs between disjoint S and T: floor(n^2/4), or X if bipartite."""
    return pairs_of(n) if isinstance(n, tuple) else shape_of(n)[0] ** 2 // 4


def usual_edges(n: Size) -> float:
    """Return the number of edges assumed if nobody guesses it.

    10 a vertex, but at most X/2, and at least 1.
    """
    vertices = sum(n) if isinstance(n, tuple) else shape_of(n)[0]
    usual = vertices * _USUAL_DEGREE / 2  # each edge counts for the degrees of two vertices
    return max(1.0, min(usual, pairs_of(n) / 2))


@final
@dataclass(frozen=True, kw_only=True)
class CutSizes:
    """Public sizes of a graph and of the largest query about it.

    Attributes:
        shape: shape of the graph's matrix.
        pairs: X, the number of vertex pairs.
        largest_query: N, the most pairs that one query has.
        query_columns: t, the most columns in which one query has pairs.
        bipartite: whether rows and columns are two sides.
        span: largest difference of two coefficients of a query: 1 for cuts, 2 if some are -1.
        spectral: largest singular value that the matrix of a query can have, if queries are divided
            by their largest coefficient; for bipartite graphs only. None if no bound was announced.
            For cuts callers leave it at None: the matrix of a bipartite cut has one singular value,
            the root of its number of pairs, at most N^(1/2).
    """

    shape: tuple[int, int]
    pairs: int
    largest_query: int
    query_columns: int
    bipartite: bool
    span: float = 1.0
    spectral: float | None = None

    @classmethod
    def of(
        cls,
        n: Size,
        *,
        disjoint: bool = False,
        max_right_size: int | None = None,
        linear: bool = False,
        spectral: float | None = None,
    ) -> Self:
        """Compute the sizes from the size of a graph and what was announced of the queries.

        Args:
            n: size of the graph.
            disjoint: whether all queries are cuts with disjoint S and T.
            max_right_size: of a bipartite graph: the most right vertices of a query; None for no
                limit.
            linear: whether queries may have any coefficients in [-1, 1].
            spectral: the `max_spectral_norm` that was announced of such queries on a bipartite
                graph; None if nothing was announced.

        Raises:
            ParameterError: a limit that is for bipartite graphs only.
        """
        shape, bipartite = shape_of(n), isinstance(n, tuple)
        if max_right_size is not None and not bipartite:
            raise ParameterError("max_right_size is for bipartite graphs: the other side of a cut")
        if spectral is not None and not bipartite:
            raise ParameterError("max_spectral_norm is for bipartite graphs")
        query_columns = shape[1] if max_right_size is None else min(shape[1], max_right_size)
        if bipartite:
            largest_query = shape[0] * query_columns
        elif disjoint:
            largest_query = largest_disjoint_cut(n)
        else:
            largest_query = pairs_of(n)
        return cls(
            shape=shape,
            pairs=pairs_of(n),
            largest_query=largest_query,
            query_columns=query_columns,
            bipartite=bipartite,
            span=2.0 if linear else 1.0,
            spectral=None if spectral is None else min(float(spectral), math.sqrt(largest_query)),
        )
