"""From the edges a file or a library gives to a graph: one set of rules for all of them.

Vertices: those that the caller gives, else those that the source declares, else those that occur.
They are sorted, unless the caller or a file of ours gives an order. Loops are dropped; arcs are
edges, unless a directed graph is asked for; parallel edges are merged; weights above the cap are
clipped to it. No error tells more of the private edges than where the source breaks a rule.

Undirected edges are never read as two arcs: what hides one arc would then hide half an edge.
"""

from collections.abc import Callable, Sequence

import numpy as np

from graphcuts_dp.arrays import FloatArray, IntegerVector, IntVector
from graphcuts_dp.errors import GraphCutsError
from graphcuts_dp.graph.adjacency import AnyGraph, from_parts_on
from graphcuts_dp.graph.edge_keys import EdgeParts
from graphcuts_dp.graph.numbering import row_numbers
from graphcuts_dp.graph.raw_edges import Options, RawEdges
from graphcuts_dp.graph.vertices import Arcs, Label, Space, VertexSet

UNDIRECTED = "the source holds undirected edges; leave out directed=True"


def build(raw: RawEdges, options: Options) -> AnyGraph:
    """Graph of the edges, by the rules of this module.

    Raises:
        GraphCutsError: of the class `raw.error`: an end outside the vertex set, a weight that is
            negative or not finite, no vertices, or options that do not fit the source.
    """
    space, parts, cap = numbered(raw, options)
    return from_parts_on(
        space,
        parts,
        merge=options.merge,
        weight_cap=cap,
        hide_change=options.hide_change,
        note=raw.schema.note,
    )


def numbered(raw: RawEdges, options: Options) -> tuple[Space, EdgeParts, float | None]:
    """What may be joined, the edges by row numbers in it, and the cap on weights if there is one.

    Raises:
        GraphCutsError: as `build`.
    """
    _check_kind(raw, options)
    weights = _weights(raw, options)
    rows, columns, sets = row_numbers(raw, options)
    cap = options.weight_cap
    if weights is not None:
        if cap is None:
            cap = raw.schema.weight_cap
    elif cap not in (None, 1.0):
        raise raw.error("weight_cap needs weights; the source has none, or weighted=False")
    space: Space = (sets[0], sets[1]) if options.bipartite else sets[0]
    if options.directed:
        space = Arcs(sets[0])
    parts = EdgeParts(rows, columns, weights, owned=raw.owned)
    # From here on they are in `parts` alone, which the graph empties as it goes.
    raw.sources = raw.targets = ()
    raw.weights = None
    return space, parts, cap


def _check_kind(raw: RawEdges, options: Options) -> None:
    if raw.schema.sides is not None and not options.bipartite:
        raise raw.error("the source holds a bipartite graph; pass bipartite=True")
    if raw.schema.vertices is not None and options.bipartite:
        raise raw.error("the source declares one vertex set, not two; leave out bipartite=True")
    if raw.schema.directed and not options.directed:
        raise raw.error("the source holds a directed graph; pass directed=True")
    if options.directed and raw.schema.directed is False:
        raise raw.error(UNDIRECTED)


def _weights(raw: RawEdges, options: Options) -> FloatArray | None:
    if options.weighted is False or (options.weighted is None and raw.schema.weighted is False):
        return None
    if raw.weights is None:
        if options.weighted or raw.schema.weighted:
            if len(raw.sources):
                raise raw.error("the source has no weights; leave out weighted=True")
            return np.zeros(0)
        if raw.undeclared and options.weighted is None and not len(raw.sources):
            return _no_weights(raw, options)
        return None
    if raw.both_ways and options.merge == "sum":
        raise raw.error(
            "the matrix does not declare whether two entries of a pair are one edge or two arcs: "
            "leave out merge='sum' if it is symmetric, or add it to its transpose first"
        )
    good = np.isfinite(raw.weights) & (raw.weights >= 0)
    if not good.all():
        place = raw.where(int(np.argmin(good)))
        raise raw.error(f"{place}: a weight is negative or not finite; weights must be >= 0")
    return raw.weights


def _no_weights(raw: RawEdges, options: Options) -> FloatArray | None:
    """The weights of no edges, which the options must tell: with one edge more it would do so."""
    if options.weight_cap not in (None, 1.0):
        return np.zeros(0)  # edges without weights would be refused
    if options.weight_cap is not None or options.hide_change is not None:
        raise raw.error("nothing declares whether there are weights; pass weighted=True or False")
    return None  # an edge with a weight, which has no bound then, would be refused later


def split_sides(
    ends: Sequence[IntegerVector],
    labels: Sequence[Label],
    sides: Sequence[int | None],
    where: Callable[[int], str],
    error: type[GraphCutsError],
) -> tuple[list[IntVector], tuple[VertexSet, VertexSet]]:
    """Row numbers within the left and the right side, and both vertex sets.

    Args:
        ends: row numbers of both ends of each edge among all vertices.
        labels: label of each vertex.
        sides: for each vertex 0 (left) or 1 (right); None where the source does not tell.
        where: place of an edge.
        error: class of the errors to raise.

    Raises:
        GraphCutsError: a vertex without a side, an edge within a side, or an empty side.
    """
    if len(sides) != len(labels) or not all(side in (0, 1) for side in sides):
        raise error(
            "bipartite=True needs a side for every vertex: attribute bipartite 0 or 1 (or igraph's "
            "type; in Pajek '*Vertices n n_left')"
        )
    side = np.array(sides, dtype=np.int64)
    if not 0 < side.sum() < len(side):
        raise error("a bipartite graph needs at least one vertex on each side")
    within = np.where(side == 0, np.cumsum(side == 0), np.cumsum(side == 1)) - 1
    wrong = side[ends[0]] == side[ends[1]]
    if wrong.any():
        place = where(int(np.argmax(wrong)))
        raise error(f"{place}: an edge joins two vertices of the same side")
    turned = side[ends[0]] == 1
    left, right = np.where(turned, ends[1], ends[0]), np.where(turned, ends[0], ends[1])
    sets = [
        VertexSet([label for label, own in zip(labels, sides, strict=True) if own == wanted])
        for wanted in (0, 1)
    ]
    return [within[left], within[right]], (sets[0], sets[1])
