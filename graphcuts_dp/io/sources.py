"""Choose the reader of a table, a graph of another library, a matrix, or a list of edges.

The rules are those of files, see `io.assemble`. Without public vertices the labels are sorted,
since their order in the source may depend on the order in which edges were added.
"""

import os
from typing import Any

import numpy as np
import scipy.sparse as sp

from graphcuts_dp.errors import GraphError, KindError
from graphcuts_dp.frames import made_frame
from graphcuts_dp.io.edge_store import EdgeStore
from graphcuts_dp.io.libraries import (
    edges_of_igraph,
    edges_of_list,
    edges_of_matrix,
    edges_of_networkx,
)
from graphcuts_dp.io.raw_edges import Options, RawEdges
from graphcuts_dp.io.tables import edges_of_table, open_table
from graphcuts_dp.schema.columns import Columns
from graphcuts_dp.schema.library_graphs import library_of
from graphcuts_dp.schema.vertices import vertex_sets

_LIBRARIES = {"networkx": edges_of_networkx, "igraph": edges_of_igraph}


def edges_of(source: Any, options: Options) -> RawEdges:
    """Read the edges of whatever `Graph.of` takes.

    Raises:
        GraphError: as `Graph.of`.
    """
    if isinstance(source, EdgeStore):
        raise KindError(f"this is a {type(source).__name__} already; pass it as it is")
    if isinstance(source, str | os.PathLike):
        raise KindError("a file is read by gc.read_graph, or by the method read of its kind")
    library = library_of(source)
    if library is not None:
        return _LIBRARIES[library](source, options)
    if not (sp.issparse(source) or isinstance(source, np.ndarray | list | tuple | set)):
        table = open_table(source)
        if table is not None:
            return edges_of_table(table, options)
    if options.columns != Columns():
        raise GraphError("columns= is for tables, and for graphs of networkx and igraph")
    if sp.issparse(source) or (isinstance(source, np.ndarray) and source.dtype.kind in "biufc"):
        return edges_of_matrix(source, options)
    return edges_of_list(source, options)


def to_frame(graph: EdgeStore, kind: Any = None) -> Any:
    """Return a table with a row for each edge, of the library `kind`; see `Graph.to_frame`."""
    columns: dict[str, Any] = {}
    for name, rows, vertices in zip(
        ("source", "target"), (graph.rows, graph.columns), vertex_sets(graph.space), strict=True
    ):
        labels = [vertices.labels[row] for row in rows.tolist()]
        columns[name] = rows.astype(np.int64) if vertices.is_default else labels
        if not labels and not vertices.is_default:  # an empty list has no type
            columns[name] = np.zeros(0, dtype=np.array(vertices.labels).dtype)
    if graph.weighted:
        columns["weight"] = graph.weights
    return made_frame(columns, kind)
