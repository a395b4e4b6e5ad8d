"""Shortest-path distances between the vertices of a public graph with lengths on its edges.

The map is public, all of it: vertices, edges and lengths. Who is where on it is private, and is not
known here. Maps come from graphs, or from files: a graph file for the lengths, a CSV file for where
vertices are drawn.
"""

import csv
import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, final

import numpy as np
import numpy.typing as npt
from scipy.sparse import csgraph

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.distances.shapes import (
    COORDINATES,
    NormedPoints,
    RootedTree,
    attribute_coordinates,
    grid_positions,
    length_matrix,
    numbers,
)
from graphcuts_dp.errors import FileFormatError, GraphError, ParameterError, QueryError
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.adjacency import Graph, read_graph
from graphcuts_dp.graph.edge_store import Vertices
from graphcuts_dp.pairs.vertices import Label, VertexSet
from graphcuts_dp.resources import Progress, silent
from graphcuts_dp.tables.columns import Columns
from graphcuts_dp.tables.file_bytes import read_text

if TYPE_CHECKING:
    import igraph
    import networkx as nx


_BLOCK_ENTRIES = 1 << 20  # distances worked on at once: 8 MiB, within a cache


_KEPT_ENTRIES = 1 << 26  # up to so many, all distances are kept for the next time: 512 MiB


@final
class Metric:
    """The shortest-path metric of a connected public graph. Immutable.

    Distances are computed when they are asked for. On maps of up to 8,192 vertices they are kept
    once all were needed; on larger ones all V x V of them are never held at once.

    Args:
        rows: one end of each edge, row numbers in 0..V-1, shape (edges,).
        columns: the other end, likewise. Loops are dropped; of parallel edges the shortest counts.
        lengths: > 0 and finite, shape (edges,).
        vertices: public vertex set: a count, labels, or a `VertexSet`.
        coordinates: where the vertices are drawn, shape (V, 2), finite; None if nobody knows.

    Attributes:
        positions: of the vertices, where distances are those of a norm; else None.

    Raises:
        GraphError: a length that is not positive and finite, ends outside the vertex set, a map
            that is not connected, or coordinates that do not fit.
    """

    def __init__(
        self,
        rows: npt.ArrayLike,
        columns: npt.ArrayLike,
        lengths: npt.ArrayLike,
        *,
        vertices: Vertices,
        coordinates: npt.ArrayLike | None = None,
    ) -> None:
        self.vertices = vertices if isinstance(vertices, VertexSet) else VertexSet(vertices)
        self.lengths = length_matrix(rows, columns, lengths, len(self))
        parts = int(csgraph.connected_components(self.lengths, directed=False)[0])
        if parts > 1:
            raise GraphError(
                f"the map is not connected: it has {parts} parts; keep one of them, or join them"
            )
        self.coordinates = _checked_coordinates(coordinates, len(self))
        self.positions: NormedPoints | None = None
        self._progress: Progress = silent

    @classmethod
    def from_graph(cls, graph: Graph, *, coordinates: npt.ArrayLike | None = None) -> Self:
        """Metric of a `Graph`; weights are lengths, and each edge of a simple graph has length 1.

        Raises:
            GraphError: not connected, not undirected on one vertex set, or coordinates that do not
                fit.
        """
        if not isinstance(graph, Graph):
            raise GraphError("distances are measured in undirected graphs: the map must be a Graph")
        return cls(
            graph.rows,
            graph.columns,
            graph.weights,
            vertices=graph.vertices,
            coordinates=coordinates,
        )

    @classmethod
    def from_networkx(cls, graph: "nx.Graph[Any]", *, weight: str = "weight") -> Self:
        """Metric of a networkx graph; arcs are edges.

        Args:
            graph: nodes are strings or integers. Node attributes x and y, or lon and lat, are
                coordinates if all nodes have them.
            weight: edge attribute with the length; 1 for edges without it.

        Raises:
            GraphError: other nodes, or what `Metric` refuses.
        """
        table = {node: row for row, node in enumerate(graph.nodes)}
        edges = [(table[u], table[v], length) for u, v, length in graph.edges(data=weight)]
        held = {key: list(graph.nodes(data=key)) for pair in COORDINATES for key in pair}
        values = {key: [value for _, value in pairs] for key, pairs in held.items()}
        return cls(
            [edge[0] for edge in edges],
            [edge[1] for edge in edges],
            numbers([1.0 if edge[2] is None else edge[2] for edge in edges]),
            vertices=list(graph.nodes),
            coordinates=attribute_coordinates(values),
        )

    @classmethod
    def from_igraph(cls, graph: "igraph.Graph", *, weight: str = "weight") -> Self:
        """Metric of an igraph graph; labels are the vertex attribute `name`, or 0..V-1.

        Args:
            graph: vertex attributes x and y, or lon and lat, are coordinates.
            weight: edge attribute with the length; all lengths are 1 without it.

        Raises:
            GraphError: as for `from_networkx`.
        """
        known = graph.vs.attributes()
        pairs = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
        weighted = weight in graph.es.attributes()
        return cls(
            pairs[:, 0],
            pairs[:, 1],
            numbers(graph.es[weight]) if weighted else np.ones(len(pairs)),
            vertices=graph.vs["name"] if "name" in known else graph.vcount(),
            coordinates=attribute_coordinates({key: graph.vs[key] for key in known}),
        )

    @classmethod
    def path(cls, vertices: Vertices, lengths: npt.ArrayLike | None = None) -> Self:
        """A path through the vertices in their order.

        Args:
            vertices: a count or labels.
            lengths: of its edges, shape (V-1,); None for 1 each.

        Raises:
            GraphError: a wrong number of lengths, or what `Metric` refuses.
        """
        labels = vertices if isinstance(vertices, VertexSet) else VertexSet(vertices)
        row = np.arange(len(labels))
        given = np.ones(len(labels) - 1) if lengths is None else numbers(lengths)
        return cls(row[:-1], row[1:], given, vertices=labels)

    @classmethod
    def grid(cls, rows: int, columns: int) -> Self:
        """A grid with unit lengths and integer coordinates; vertices 0.., row by row.

        Raises:
            ParameterError: a side below 1.
        """
        if rows < 1 or columns < 1:
            raise ParameterError("a grid has at least one row and one column")
        place = np.arange(rows * columns).reshape(rows, columns)
        first = np.concatenate([place[:, :-1].ravel(), place[:-1].ravel()])
        second = np.concatenate([place[:, 1:].ravel(), place[1:].ravel()])
        y, x = np.divmod(place.ravel(), columns)
        points = np.column_stack([x, y])
        return cls(first, second, np.ones(len(first)), vertices=place.size, coordinates=points)

    @classmethod
    def of_points(
        cls, points: npt.ArrayLike, *, p: float = 2.0, vertices: Vertices | None = None
    ) -> Self:
        """Points at their l_p distances, which no edges of a map make longer.

        Args:
            points: public, all different, shape (V, k), V from 1 to 2,048.
            p: in [1, 2]: 2 for straight lines, 1 for the sum of the coordinates' distances.
            vertices: labels of the points; None for 0..V-1.

        Raises:
            ParameterError: points or a p that will not do.
            GraphError: another number of labels.
        """
        placed = NormedPoints.of(points, p)
        size, table = len(placed.points), placed.distances(np.arange(len(placed.points)))
        if vertices is not None and len(VertexSet(vertices)) != size:
            raise GraphError(f"one label for each of the {size} points, please")
        rows, columns = np.triu_indices(size, 1)
        flat = placed.points if placed.points.shape[1] == 2 else None
        made = cls(rows, columns, table[rows, columns], vertices=vertices or size, coordinates=flat)
        made.positions = placed
        return made

    def __len__(self) -> int:
        return len(self.vertices)

    def __repr__(self) -> str:
        return f"Metric({self.kind}, vertices={len(self)})"

    def row(self, vertex: Label) -> int:
        """Row number of a vertex.

        Raises:
            QueryError: it is not on the map.
        """
        found = self.vertices.find(vertex)
        if found is None:
            raise QueryError(f"unknown vertex {vertex!r}; the map has {len(self)} vertices")
        return found

    @cached_property
    def kind(self) -> str:
        """What the map was recognised as: "path", "tree", "grid", "points" or "graph"."""
        if self.tree is not None:
            return "tree" if np.diff(self.lengths.indptr).max(initial=0) > 2 else "path"
        if self.positions is not None:
            return "points"
        return "graph" if self.l1_coordinates is None else "grid"

    @cached_property
    def tree(self) -> RootedTree | None:
        """The map as a rooted tree, or None if it has a cycle."""
        if self.lengths.nnz != 2 * (len(self) - 1):
            return None
        order, parent = csgraph.breadth_first_order(self.lengths, 0, directed=False)
        parent = np.where(parent < 0, -1, parent).astype(np.int64)
        length = np.zeros(len(self))
        below = np.flatnonzero(parent >= 0)
        if len(below):
            length[below] = np.asarray(self.lengths[below, parent[below]]).ravel()
        return RootedTree(order=order.astype(np.int64), parent=parent, length=length)

    @cached_property
    def l1_coordinates(self) -> FloatMatrix | None:
        """Points whose l1 distances are the metric, exactly up to rounding.

        Shape (V, k) for points at l_1 distances, (V, 1) for a path, (V, 2) for a grid: vertices at
        all crossings of some columns and rows of the given coordinates, edges between neighbours
        only, whose lengths depend on their column or row alone. None for everything else.
        """
        if self.tree is not None and np.diff(self.lengths.indptr).max(initial=0) <= 2:
            end = int(np.argmin(np.diff(self.lengths.indptr)))
            return self._search(np.array([end])).T
        if self.positions is not None:
            return self.positions.points if self.positions.p == 1 else None
        return None if self.coordinates is None else grid_positions(self.coordinates, self.lengths)

    def distances_from(self, rows: npt.ArrayLike) -> FloatMatrix:
        """Distances from some vertices to all.

        Args:
            rows: k row numbers.

        Returns:
            Shape (k, V). Asked for all vertices it is the V x V matrix.
        """
        index = np.asarray(rows, dtype=np.int64).reshape(-1)
        points = self.l1_coordinates
        if points is None:
            return self._search(index)
        result = np.zeros((len(index), len(self)))
        for axis in points.T:
            result += np.abs(axis[index, None] - axis)
        return result

    def _search(self, index: IntVector) -> FloatMatrix:
        if self.positions is not None:
            return self.positions.distances(index)
        found = csgraph.dijkstra(self.lengths, directed=False, indices=index)
        return np.asarray(found, dtype=np.float64).reshape(len(index), len(self))

    @contextmanager
    def reporting(self, progress: Progress) -> Iterator[None]:
        """Within this context, each pass over all distances reports how far it is.

        Args:
            progress: called with the fraction of the vertices done and a message.
        """
        self._progress = progress
        try:
            yield
        finally:
            self._progress = silent

    def blocks(self) -> Iterator[tuple[IntVector, FloatMatrix]]:
        """All distances, some rows at a time: row numbers and their distances to all vertices."""
        step = max(1, _BLOCK_ENTRIES // len(self))
        for start in range(0, len(self), step):
            self._progress(start / len(self), "of the map's vertices")
            rows = np.arange(start, min(start + step, len(self)))
            if len(self) ** 2 <= _KEPT_ENTRIES:
                yield rows, self.matrix[rows[0] : rows[-1] + 1]
            else:
                yield rows, self.distances_from(rows)

    @cached_property
    def matrix(self) -> FloatMatrix:
        """All distances, shape (V, V), read-only: 8 V^2 bytes, kept once read, whatever V is."""
        found = self.distances_from(np.arange(len(self)))
        found.flags.writeable = False
        return found

    def weighted_sums(self, weights: npt.ArrayLike) -> FloatVector:
        """The sum over x of d(v, x) weights[x], for all vertices v.

        Args:
            weights: real, shape (V,).

        Returns:
            Shape (V,). O(V) on trees, V shortest-path searches on other maps.
        """
        mass = np.asarray(weights, dtype=np.float64)
        if self.tree is not None:
            return self.tree.sums(mass)
        result = np.empty(len(self))
        for rows, distances in self.blocks():
            result[rows] = distances @ mass
        return result

    def eccentricity(self, row: int) -> float:
        """The largest distance from a vertex."""
        return float(self.distances_from([row]).max())

    @cached_property
    def eccentricities(self) -> FloatVector:
        """The largest distance from each vertex, shape (V,). Two searches on a tree, else V."""
        if self.tree is not None:
            end = int(np.argmax(self.distances_from([0])))
            other = self.distances_from([end])[0]
            far = self.distances_from([int(np.argmax(other))])[0]
            return np.asarray(np.maximum(other, far))
        result = np.empty(len(self))
        for rows, distances in self.blocks():
            result[rows] = distances.max(axis=1)
        return result

    @cached_property
    def diameter(self) -> float:
        """The largest distance, exactly: the map has V searches only if nothing less decides.

        Each search from a vertex u bounds all others: ecc(v) <= ecc(u) + d(u, v). Vertices whose
        bound is no more than a distance that was found are left out.

        Source: Takes, Kosters, *Determining the diameter of small world networks*, CIKM 2011.
        """
        if self.tree is not None:
            return float(self.eccentricities.max())
        upper = np.full(len(self), np.inf)
        longest, turn, row = 0.0, 0, 0
        while upper[row] > longest:
            distances = self.distances_from([row])[0]
            ecc = float(distances.max())
            longest = max(longest, ecc)
            np.minimum(upper, ecc + distances, out=upper)
            upper[row] = min(upper[row], ecc)
            turn += 1
            # Far vertices raise the lower bound, central ones lower the upper bounds.
            open_rows = np.flatnonzero(upper > longest)
            if not len(open_rows):
                break
            pick = np.argmax(upper[open_rows]) if turn % 2 else np.argmin(upper[open_rows])
            row = int(open_rows[pick])
        return longest


def as_metric(source: Any) -> Metric:
    """A `Metric` of whatever it is: a `Metric`, a `Graph`, a networkx or an igraph graph.

    Raises:
        ParameterError: something else.
        GraphError: what `Metric` refuses.
    """
    if isinstance(source, Metric):
        return source
    if isinstance(source, Graph):
        return Metric.from_graph(source)
    if hasattr(source, "get_edgelist"):
        return Metric.from_igraph(source)
    if hasattr(source, "nodes") and hasattr(source, "edges"):
        return Metric.from_networkx(source)
    raise ParameterError("a map is a Metric, a Graph, or a graph of networkx or igraph")


def _checked_coordinates(coordinates: npt.ArrayLike | None, size: int) -> FloatMatrix | None:
    if coordinates is None:
        return None
    points = np.array(coordinates, dtype=np.float64)
    if points.shape != (size, 2) or not np.isfinite(points).all():
        raise GraphError(f"coordinates are finite, one pair for each of the {size} vertices")
    points.flags.writeable = False
    return points


_PLANE = ("x", "y")


_SPHERE = (("lon", "lat"), ("longitude", "latitude"))


def read_map(
    path: PathLike,
    *,
    coordinates: PathLike | None = None,
    ignore_lengths: bool = False,
    text: Columns = Columns(),  # noqa: B008  # frozen
) -> Metric:
    """Read a public map; weights are lengths, 1 without weights.

    Args:
        path: a graph file of any format that `read_graph` knows. Of parallel edges the shortest
            counts.
        coordinates: a CSV file, see `read_coordinates`.
        ignore_lengths: give every edge the length 1.
        text: how to read the columns of an edge list.

    Raises:
        FileFormatError: a file cannot be read, or is malformed.
        GraphError: the map is not connected.
    """
    graph = read_graph(path, columns=text, weighted=False if ignore_lengths else None, merge="min")
    points = None if coordinates is None else read_coordinates(coordinates, graph.vertices)
    return Metric.from_graph(graph, coordinates=points)


def read_coordinates(path: PathLike, vertices: VertexSet) -> FloatMatrix:
    """Read where vertices are from a CSV file with a header.

    The first column is the vertex; two others are called x and y, or lon and lat, or longitude and
    latitude. These last become kilometres on a plane that is true along the middle latitude.

    Args:
        path: the file; vertices that are not on the map are skipped.
        vertices: of the map.

    Returns:
        Shape (V, 2).

    Raises:
        FileFormatError: the file cannot be read, has no such columns, a cell is not a number (told
            by its line), or a vertex of the map is missing.
    """
    try:
        rows = list(csv.reader(io.StringIO(read_text(path), newline=""), strict=True))
    except csv.Error:
        raise FileFormatError(f"cannot read {path!s}: it is not a CSV file") from None
    heads = [cell.strip().lower() for cell in rows[0]] if rows else []
    pair = next((p for p in (_PLANE, *_SPHERE) if set(p) <= set(heads)), None)
    if pair is None:
        raise FileFormatError(f"{path!s}: the first row must name columns x and y, or lon and lat")
    columns = [heads.index(name) for name in pair]
    points = np.full((len(vertices), 2), np.nan)
    for line, cells in enumerate(rows[1:], start=2):
        row = vertices.find_text(cells[0].strip()) if cells else None
        if row is not None:
            points[row] = [_number(cells, column, f"{path!s}: line {line}") for column in columns]
    missing = np.flatnonzero(np.isnan(points[:, 0])).tolist()
    if missing:
        first = vertices.labels[missing[0]]
        raise FileFormatError(f"{path!s}: no row for {len(missing)} vertices, such as {first!r}")
    return points if pair == _PLANE else _on_plane(points)


def _on_plane(points: FloatMatrix) -> FloatMatrix:
    middle = math.radians(float(points[:, 1].min() + points[:, 1].max()) / 2)
    kilometres = np.array([math.cos(middle), 1.0]) * 6371.0
    return np.asarray(np.radians(points) * kilometres)


def _number(cells: list[str], column: int, where: str) -> float:
    try:
        value = float(cells[column])
    except (IndexError, ValueError):
        raise FileFormatError(f"{where}: a coordinate is not a number") from None
    if not math.isfinite(value):
        raise FileFormatError(f"{where}: a coordinate is not finite")
    return value
