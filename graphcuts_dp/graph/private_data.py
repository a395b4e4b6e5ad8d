"""Convert the input of functions that read private data: the one place that does.

Every public function that reads private data calls `private_data` first. The rule is the section
"What functions take" of docs/inputs.md:

| source | becomes | its vertices |
|---|---|---|
| a graph of this package, `Rows` | itself | |
| a graph of networkx or igraph | a `DirectedGraph` or a `Graph` | its own, sorted; public |
| a matrix of scipy or numpy | a `Graph` | 0, 1, 2, ...; public |
| a table of any library | a `Graph` | those that its rows name: not private, with a warning |

Options, such as a bound on weights, two sides or public vertices of a table, belong to `Graph.of`,
`DirectedGraph.of` and `BipartiteGraph.of`. Whether the graph has weights, and all warnings, depend
on the kind of source, on its vertices and on its declared names, never on an edge. networkx
declares no attributes of edges, so weights of its graphs are not read, and a warning says so,
whether or not there are any.
"""

import contextlib
import warnings
import weakref
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.errors import ConversionWarning, KindError, PrivacyWarning
from graphcuts_dp.graph.adjacency import AnyGraph, DirectedGraph, Graph, graph_of_source
from graphcuts_dp.graph.rows import PrivateData, Rows
from graphcuts_dp.schema.library_graphs import library_of
from graphcuts_dp.schema.vertices import sets_in

_WEIGHTS_NOT_READ = (
    "Weights of a networkx graph are not read, since only its private edges show whether there are "
    "any: pass gc.Graph.of(graph, max_weight=...), or weighted=False if there are none."
)


class LibraryGraph(Protocol):
    """A graph of networkx or of igraph."""

    def is_directed(self) -> bool:
        """Return whether edges have a direction."""


class ArrowTable(Protocol):
    """A table that hands out batches of Arrow: of pandas, Polars, pyarrow, DuckDB, ..."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> object:
        """Return a stream of batches."""


class SparseMatrix(Protocol):
    """A sparse matrix or array of scipy."""

    def tocoo(self, copy: bool = True) -> Any:
        """Return its entries."""


PrivateSource = PrivateData | LibraryGraph | ArrowTable | SparseMatrix | npt.NDArray[Any]


def private_data(
    source: PrivateSource | object, *, shows_truth: bool = False, stacklevel: int = 4
) -> PrivateData:
    """Return a graph, or rows, as they are; convert any other source to a graph.

    Args:
        source: see the module.
        shows_truth: whether the caller shows true answers, and nothing private: weights of a
            networkx graph are then read if all edges have them.
        stacklevel: of warnings, as for `warnings.warn` from here.

    Raises:
        KindError: something else.
        GraphError: as `Graph.of`.

    Warns:
        ConversionWarning: what the conversion joins or leaves out.
        PrivacyWarning: a table, whose vertices are taken from its edges.
    """
    if isinstance(source, PrivateData):
        return source
    if isinstance(source, type):
        raise KindError(f"a class was passed; pass an object: {source.__name__}(...)")
    kind: type[AnyGraph] = Graph
    if library_of(source) is not None:
        if cast(LibraryGraph, source).is_directed():
            kind = DirectedGraph
    elif not (sp.issparse(source) or _is_matrix(source) or _is_table(source)):
        raise KindError(
            "private data are a graph of this package, networkx or igraph, a matrix of scipy or "
            "numpy, a table, or Rows; read files by gc.read_graph, and make a graph of a list by "
            "gc.Graph.of"
        )
    ignores_weights = library_of(source) == "networkx" and not shows_truth
    graph, left_out = graph_of_source(source, kind, weighted=False if ignores_weights else None)
    notes = [left_out, _WEIGHTS_NOT_READ if ignores_weights else ""]
    if any(notes):
        warnings.warn(" ".join(filter(None, notes)), ConversionWarning, stacklevel=stacklevel)
    if any(vertices.inferred for vertices in sets_in(graph.space)):
        warnings.warn(
            "the vertices of a table are taken from its edges, so which vertices have edges is not "
            "private: pass gc.Graph.of(table, vertices=...) with a public vertex set.",
            PrivacyWarning,
            stacklevel=stacklevel,
        )
    with contextlib.suppress(TypeError):  # of an object without weak references
        graph.origin = weakref.ref(source)
    return graph


def private_graph(
    source: PrivateSource | object, *, shows_truth: bool = False, stacklevel: int = 5
) -> AnyGraph:
    """Return the graph of `private_data`, for functions that take no rows.

    Raises:
        KindError: rows, or as `private_data`.
        GraphError: as `private_data`.
    """
    data = private_data(source, shows_truth=shows_truth, stacklevel=stacklevel)
    if isinstance(data, Rows):
        raise KindError("this needs a graph, not rows with users; make one by Graph.of")
    return data


def private_rows(source: object) -> Rows:
    """Return rows as they are.

    Raises:
        KindError: something else. It is not converted, since only the caller knows its columns.
    """
    if not isinstance(source, Rows):
        raise KindError(
            "this needs rows with users: gc.Rows.of(table, columns=gc.Columns(user=...), "
            "vertices=...), or gc.Rows.read of a file"
        )
    return source


def _is_matrix(source: Any) -> bool:
    """Return whether something is a two-dimensional numpy array of numbers."""
    return isinstance(source, np.ndarray) and source.ndim == 2 and source.dtype.kind in "biuf"


def _is_table(source: Any) -> bool:
    """Return whether something is a table of some library, without opening it.

    Attributes are asked of its type: those of a lazy table may be computed.
    """
    kind = type(source)
    return hasattr(kind, "columns") or hasattr(kind, "__arrow_c_stream__")
