"""Vertices of graphs of networkx and igraph: labels and attributes, which are public.

Neither library is imported here: who has a graph of one has imported it. Edges are read by
`io.libraries`.
"""

import sys
from typing import Any

from graphcuts_dp.errors import GraphError
from graphcuts_dp.schema.vertices import Label, VertexSet, is_label, label_order

_SIDES = {"networkx": "bipartite", "igraph": "type"}  # the attribute that tells the side
_NAMES = {"networkx": "", "igraph": "name"}  # the attribute that holds labels


def library_of(source: Any) -> str | None:
    """Return "networkx" or "igraph" for a graph of these libraries, None for all else."""
    for library in ("networkx", "igraph"):
        module = sys.modules.get(library)
        if module is not None and isinstance(source, module.Graph):
            return library
    return None


def vertex_labels(graph: Any) -> list[Label]:
    """Return the labels of the vertices, in the order of the library.

    They are the nodes of networkx; of igraph the attribute "name", or 0..n-1 without it.

    Raises:
        GraphError: labels that are neither text nor integers.
    """
    if library_of(graph) == "networkx":
        return [plain_label(node) for node in graph.nodes]
    named = "name" in graph.vs.attributes()
    return [plain_label(name) for name in (graph.vs["name"] if named else range(graph.vcount()))]


def vertex_set_of(graph: Any) -> VertexSet:
    """Return the vertex set that a graph of another library becomes: its labels, sorted.

    Their order there may tell in which order edges were added.

    Raises:
        GraphError: as `vertex_labels`; no vertices, or a label twice.
    """
    return VertexSet(sorted(vertex_labels(graph), key=label_order))


def vertex_attribute(graph: Any, name: str) -> dict[Label, Any]:
    """Return an attribute of the vertices by label; vertices without it are left out.

    Raises:
        GraphError: no vertex has it, or as `vertex_labels`.
    """
    labels = vertex_labels(graph)
    if library_of(graph) == "networkx":
        values = [graph.nodes[node].get(name) for node in graph.nodes]
    else:
        values = list(graph.vs[name]) if name in graph.vs.attributes() else []
    attribute = {
        label: value for label, value in zip(labels, values, strict=False) if value is not None
    }
    if not attribute:
        raise GraphError(f"no vertex has an attribute {name!r:.60}; name one that some have")
    return attribute


def unread_attributes(graph: Any) -> list[str]:
    """Return the names of the attributes of vertices that a conversion leaves out, sorted."""
    library = library_of(graph)
    if library == "networkx":
        names = {str(name) for _, attributes in graph.nodes(data=True) for name in attributes}
    else:
        names = set(graph.vs.attributes())
    return sorted(names - {_SIDES[str(library)], _NAMES[str(library)]})


def plain_label(value: Any) -> Label:
    """Return a label as Python's own text or integer.

    Raises:
        GraphError: something else.
    """
    if not is_label(value):
        raise GraphError("vertex labels must be strings or integers; relabel the vertices first")
    return str(value) if isinstance(value, str) else int(value)
