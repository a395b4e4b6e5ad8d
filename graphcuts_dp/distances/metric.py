"""Shortest-path distances between the vertices of a public graph with lengths on its edges.

The whole map is public: vertices, edges and lengths. The locations of people on it are private, and
are not known here. Maps come from graphs or from files: a graph file has the lengths, a CSV file
the coordinates of vertices for pictures. Distances are cheap on trees, on grids with coordinates,
and between points with a norm.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.sparse import csgraph

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntVector
from graphcuts_dp.errors import FileFormatError, GraphError, ParameterError, QueryError
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.adjacency import Graph, read_graph
from graphcuts_dp.io.edge_store import Vertices
from graphcuts_dp.resources import Progress, silent
from graphcuts_dp.schema.columns import Columns
from graphcuts_dp.schema.text_rows import read_table
from graphcuts_dp.schema.vertices import Label, VertexSet

_COORDINATES = (("x", "y"), ("lon", "lat"), ("longitude", "latitude"))
_NO_LENGTH = "a length of the map is not a positive, finite number"
_BLOCK_ENTRIES = 1 << 20  # distances in a block: 8 MiB, which fit in a cache
_KEPT_ENTRIES = 1 << 26  # V x V up to which `Metric.matrix` is kept: 512 MiB
_MOST_POINTS = 2048  # of `Metric.of_points`, which has an edge for each pair
_EARTH_RADIUS = 6371.0  # kilometres


@final
class Metric:
    """The shortest-path metric of a connected public graph. Its distances do not change.

    Distances are computed when they are needed. On maps of up to 8,192 vertices all of them are
    kept once they have been computed; on larger maps memory never holds all V x V of them.

    Args:
        rows: one endpoint of each edge, row numbers in 0..V-1, shape (edges,).
        columns: the other endpoint of each edge, shape (edges,). Loops are dropped; of parallel
            edges the shortest counts.
        lengths: > 0 and finite, shape (edges,).
        vertices: public vertex set: a count, labels, or a `VertexSet`.
        coordinates: where the vertices are drawn, shape (V, 2), finite; None if that is unknown.

    Attributes:
        positions: points of the vertices, shape (V, k), if distances are those of an l_p norm; else
            None.
        p: exponent of the norm; 0 if there is none.

    Raises:
        GraphError: a length that is not positive and finite, an endpoint that is no row number, a
            map that is not connected, or coordinates that do not fit.

    Examples:
        >>> city = gc.distances.Metric.grid(3, 4)
        >>> len(city.vertices)
        12
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
        self.vertices: VertexSet = (
            vertices if isinstance(vertices, VertexSet) else VertexSet(vertices)
        )
        self.lengths: Any = _length_matrix(rows, columns, lengths, len(self))
        parts = int(csgraph.connected_components(self.lengths, directed=False)[0])
        if parts > 1:
            raise GraphError(
                f"the map is not connected: it has {parts} parts; keep one of them, or join them"
            )
        self.coordinates: FloatMatrix | None = None
        if coordinates is not None:
            self.coordinates = _numbers(coordinates)
            if self.coordinates.shape != (len(self), 2) or not np.isfinite(self.coordinates).all():
                raise GraphError(
                    f"coordinates are finite, one pair for each of the {len(self)} vertices"
                )
            self.coordinates.flags.writeable = False
        self.positions: FloatMatrix | None = None
        self.p: float = 0.0
        self._progress: Progress = silent

    @classmethod
    def of(
        cls, source: Any, *, weight: str = "weight", coordinates: npt.ArrayLike | None = None
    ) -> "Metric":
        """Return the metric of a graph; a `Metric` is returned as it is.

        Args:
            source: a `Graph`, whose weights are lengths (each edge of a simple graph has length
                1), or a graph of networkx or igraph, see `Graph.of`; arcs are edges. Attributes x
                and y, or lon and lat, are coordinates if all nodes have them.
            weight: edge attribute of networkx and igraph with the length; all are 1 if there is no
                "weight".
            coordinates: where the vertices are drawn, as for `Metric`.

        Raises:
            ParameterError: something else.
            GraphError: what `Metric` or `Graph.of` refuses.
        """
        if isinstance(source, Metric):
            return source
        graph = source
        drawing_keys = {key for pair in _COORDINATES for key in pair}
        attributes: dict[str, list[Any]] = {}
        lengths: list[Any] = []
        if hasattr(source, "get_edgelist"):
            lengths = source.es[weight] if weight in source.es.attributes() else []
            vertex_attributes = source.vs.attributes()
            labels = source.vs["name"] if "name" in vertex_attributes else source.vcount()
            attributes = {key: source.vs[key] for key in drawing_keys & set(vertex_attributes)}
        elif hasattr(source, "nodes") and hasattr(source, "edges"):
            labels = list(source.nodes)
            lengths = [edge[-1] for edge in source.edges(data=weight)]
            attributes = {
                key: [value for _, value in source.nodes(data=key)] for key in drawing_keys
            }
        elif not isinstance(source, Graph):
            raise ParameterError(
                "a map is a Metric, an undirected Graph, or a graph of networkx or igraph"
            )
        if 0 in lengths:  # to a `Graph` it would be no edge
            raise GraphError(_NO_LENGTH)
        if not isinstance(source, Graph):
            # An attribute "weight" may be missing, one that the caller names may not.
            columns = Columns() if weight == "weight" else Columns(weight=weight)
            notes: list[
                str
            ] = []  # on attributes that `Graph.of` ignores, of which x and y are read
            graph = Graph.of(
                source,
                vertices=labels,
                columns=columns,
                merge="min",
                tell=notes.append,
            )
        for x, y in _COORDINATES:
            pairs = list(zip(attributes.get(x, ()), attributes.get(y, ()), strict=True))
            if coordinates is None and pairs and not any(None in pair for pair in pairs):
                coordinates = pairs
        return cls(
            graph.rows,
            graph.columns,
            graph.weights,
            vertices=graph.vertices,
            coordinates=coordinates,
        )

    @classmethod
    def path(cls, vertices: Vertices, lengths: npt.ArrayLike | None = None) -> Self:
        """Return a path through the vertices in their order.

        Args:
            vertices: a count or labels.
            lengths: of its edges, shape (V-1,); None for 1 each.

        Raises:
            GraphError: a wrong number of lengths, or what `Metric` refuses.
        """
        labels = vertices if isinstance(vertices, VertexSet) else VertexSet(vertices)
        row = np.arange(len(labels))
        edge_lengths = np.ones(len(labels) - 1) if lengths is None else lengths
        return cls(row[:-1], row[1:], edge_lengths, vertices=labels)

    @classmethod
    def grid(cls, rows: int, columns: int) -> Self:
        """Return a grid with unit lengths and integer coordinates; vertices are numbered by rows.

        Args:
            rows: number of rows, at least 1.
            columns: number of columns, at least 1.

        Raises:
            ParameterError: a side below 1.
        """
        for side in (rows, columns):
            if isinstance(side, bool) or not isinstance(side, int | np.integer) or side < 1:
                raise ParameterError("a grid has at least one row and one column")
        numbers = np.arange(rows * columns).reshape(rows, columns)
        tails = np.concatenate([numbers[:, :-1].ravel(), numbers[:-1].ravel()])
        heads = np.concatenate([numbers[:, 1:].ravel(), numbers[1:].ravel()])
        y, x = np.divmod(numbers.ravel(), columns)
        points = np.column_stack([x, y])
        return cls(tails, heads, np.ones(len(tails)), vertices=numbers.size, coordinates=points)

    @classmethod
    def of_points(
        cls, points: npt.ArrayLike, *, p: float = 2.0, vertices: Vertices | None = None
    ) -> Self:
        """Return the metric of points at their l_p distances.

        Args:
            points: public, all different, shape (V, k), V from 1 to 2,048.
            p: in [1, 2]: 2 for straight lines, 1 for the sum of the coordinates' distances.
            vertices: labels of the points; None for 0..V-1.

        Raises:
            ParameterError: points that are infinite, equal, too many or of another shape; or a p
                out of range.
            GraphError: points that are no numbers, or another number of labels.
        """
        positions = _numbers(points)
        if positions.ndim != 2 or not positions.size or not np.isfinite(positions).all():
            raise ParameterError("points are finite numbers, shape (V, k)")
        size = len(positions)
        if size > _MOST_POINTS:
            raise ParameterError(f"at most {_MOST_POINTS:,} points, not {size:,}")
        if len(np.unique(positions, axis=0)) != size:
            raise ParameterError("two points are the same; give each point once")
        if isinstance(p, bool) or not isinstance(p, int | float) or not 1 <= p <= 2:
            raise ParameterError(f"the p of a norm is a number from 1 to 2, not {p!r:.30}")
        if vertices is not None and len(VertexSet(vertices)) != size:
            raise GraphError(f"one label for each of the {size} points, please")
        positions.flags.writeable = False
        distances = norm_distances(positions, p, np.arange(size))
        rows, columns = np.triu_indices(size, 1)
        metric = cls(
            rows,
            columns,
            distances[rows, columns],
            vertices=size if vertices is None else vertices,
            coordinates=positions if positions.shape[1] == 2 else None,
        )
        metric.positions, metric.p = positions, float(p)
        return metric

    def __len__(self) -> int:
        return len(self.vertices)

    def __repr__(self) -> str:
        return f"Metric({self.kind}, vertices={len(self)})"

    def row(self, vertex: Label) -> int:
        """Return the row number of a vertex.

        Args:
            vertex: its label.

        Raises:
            QueryError: it is not on the map.
        """
        row = self.vertices.find(vertex)
        if row is None:
            raise QueryError(f"unknown vertex {vertex!r}; the map has {len(self)} vertices")
        return row

    @cached_property
    def kind(self) -> str:
        """Kind of the map: "path", "tree", "grid", "points" or "graph"."""
        if self.tree is not None:
            return "path" if self._unbranched else "tree"
        if self.positions is not None:
            return "points"
        return "graph" if self.l1_coordinates is None else "grid"

    @property
    def _unbranched(self) -> bool:
        """True if no vertex has more than two neighbours."""
        return bool(np.diff(self.lengths.indptr).max(initial=0) <= 2)

    @cached_property
    def tree(self) -> "RootedTree | None":
        """The map as a rooted tree, or None if it has a cycle."""
        if self.lengths.nnz != 2 * (len(self) - 1):
            return None
        return RootedTree(self.lengths)

    @cached_property
    def l1_coordinates(self) -> FloatMatrix | None:
        """Points whose l1 distances are the metric, up to the rounding of floats.

        Shape (V, k) for points at l_1 distances, (V, 1) for a path, (V, 2) for a grid: vertices at
        all crossings of some columns and rows of the given coordinates, edges between neighbours
        only, whose lengths depend on their column or row alone. None for everything else.
        """
        if self.tree is not None and self._unbranched:
            end_of_path = int(np.argmin(np.diff(self.lengths.indptr)))
            return self._search(np.array([end_of_path])).T
        if self.positions is not None:
            return self.positions if self.p == 1 else None
        return None if self.coordinates is None else _grid_positions(self.coordinates, self.lengths)

    def distances_from(self, rows: npt.ArrayLike) -> FloatMatrix:
        """Return distances from k vertices, given by row numbers, to all, shape (k, V).

        Args:
            rows: row numbers of vertices, shape (k,).
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
        """Return `distances_from` by the norm, or by Dijkstra's search."""
        if self.positions is not None:
            return norm_distances(self.positions, self.p, index)
        distances = csgraph.dijkstra(self.lengths, directed=False, indices=index)
        return np.asarray(distances, dtype=np.float64).reshape(len(index), len(self))

    @contextmanager
    def reporting(self, progress: Progress) -> Iterator[None]:
        """Report progress within this context: how far each pass over all distances is.

        Args:
            progress: called with the fraction of the vertices done and a message.
        """
        self._progress = progress
        try:
            yield
        finally:
            self._progress = silent

    def blocks(self) -> Iterator[tuple[IntVector, FloatMatrix]]:
        """Yield all distances, some rows at a time: row numbers, and distances to all vertices."""
        block_rows = max(1, _BLOCK_ENTRIES // len(self))
        for start in range(0, len(self), block_rows):
            self._progress(start / len(self), "of the map's vertices")
            rows = np.arange(start, min(start + block_rows, len(self)))
            if len(self) ** 2 <= _KEPT_ENTRIES:
                yield rows, self.matrix[rows[0] : rows[-1] + 1]
            else:
                yield rows, self.distances_from(rows)

    @cached_property
    def matrix(self) -> FloatMatrix:
        """All distances, shape (V, V), read-only; 8 V^2 bytes are kept from then on."""
        distances = self.distances_from(np.arange(len(self)))
        distances.flags.writeable = False
        return distances

    def weighted_sums(self, weights: npt.ArrayLike) -> FloatVector:
        """Return the sum over x of d(v, x) weights[x], for all vertices v; weights are real.

        O(V) on trees, V shortest-path searches on other maps.

        Args:
            weights: one for each vertex, shape (V,).
        """
        vector = np.asarray(weights, dtype=np.float64)
        if self.tree is not None:
            return self.tree.sums(vector)
        return np.concatenate([distances @ vector for _, distances in self.blocks()])

    @cached_property
    def eccentricities(self) -> FloatVector:
        """The largest distance from each vertex, shape (V,). Two searches on a tree, else V."""
        if self.tree is not None:
            end = int(np.argmax(self.distances_from([0])))  # one end of a longest path
            from_end = self.distances_from([end])[0]
            from_other_end = self.distances_from([int(np.argmax(from_end))])[0]
            return np.asarray(np.maximum(from_end, from_other_end))
        return np.concatenate([distances.max(axis=1) for _, distances in self.blocks()])

    @cached_property
    def diameter(self) -> float:
        """The largest distance, by fewer searches than V if that is possible.

        Each search from a vertex u bounds all others: ecc(v) <= ecc(u) + d(u, v). Vertices whose
        bound is at most the largest distance so far are not searched from.

        Source: Takes, Kosters, *Determining the diameter of small world networks*, CIKM 2011.
        """
        if self.tree is not None:
            return float(self.eccentricities.max())
        bounds = np.full(len(self), np.inf)
        longest, searches, row = 0.0, 0, 0
        while bounds[row] > longest:
            distances = self.distances_from([row])[0]
            eccentricity = float(distances.max())
            longest = max(longest, eccentricity)
            np.minimum(bounds, eccentricity + distances, out=bounds)
            bounds[row] = min(bounds[row], eccentricity)
            searches += 1
            candidates = np.flatnonzero(bounds > longest)
            if not len(candidates):
                break
            # By turns: far vertices raise the largest distance, central ones lower the bounds.
            choose = np.argmax if searches % 2 else np.argmin
            row = int(candidates[choose(bounds[candidates])])
        return longest


@final
class RootedTree:
    """A tree, with vertex 0 as its root.

    Attributes:
        order: all rows, each after its parent, shape (V,).
        parent: row of each vertex's parent, -1 for the root, shape (V,).
        length: length of the edge to the parent, 0 for the root, shape (V,).
        depth: distances from the root, shape (V,).
    """

    def __init__(self, lengths: sp.csr_array) -> None:
        order, parent = csgraph.breadth_first_order(lengths, 0, directed=False)
        self.order: IntVector = order.astype(np.int64)
        self.parent: IntVector = np.where(parent < 0, -1, parent).astype(np.int64)
        self.length: FloatVector = np.zeros(len(order))
        others = self.order[1:]  # all but the root
        if len(others):
            self.length[others] = np.asarray(lengths[others, self.parent[others]]).ravel()
        self.depth: FloatVector = csgraph.dijkstra(lengths, directed=False, indices=0)
        edges_above = csgraph.dijkstra(lengths, directed=False, indices=0, unweighted=True)
        self._level: IntVector = edges_above.astype(np.int64)

    def sums(self, weights: FloatVector) -> FloatVector:
        """Return the sum over x of d(v, x) weights[x] for all v, shape (V,), in O(V).

        Crossing an edge of length l with weight b below it changes the sum by l (total - 2 b).
        """
        weight_below = weights.copy()
        order = self.order.tolist()
        for v in reversed(order[1:]):
            weight_below[self.parent[v]] += weight_below[v]
        total = weight_below[order[0]]
        sums = np.empty(len(weights))
        sums[order[0]] = self.depth @ weights
        for v in order[1:]:
            sums[v] = sums[self.parent[v]] + self.length[v] * (total - 2 * weight_below[v])
        return sums

    def distances_between(self, first: IntVector, second: IntVector) -> FloatVector:
        """Return distances of k pairs of rows, in O(log V) each."""
        u, v = np.array(first), np.array(second)
        swap = self._level[u] < self._level[v]
        u[swap], v[swap] = v[swap], u[swap]
        for power, ancestor in reversed(list(enumerate(self._ancestors))):
            u = np.where(self._level[u] - self._level[v] >= 1 << power, ancestor[u], u)
        for ancestor in reversed(self._ancestors):
            differs = ancestor[u] != ancestor[v]
            u, v = np.where(differs, ancestor[u], u), np.where(differs, ancestor[v], v)
        common = np.where(u == v, u, self._ancestors[0][u])  # the lowest common ancestor
        return np.asarray(self.depth[first] + self.depth[second] - 2 * self.depth[common])

    @cached_property
    def _ancestors(self) -> list[IntVector]:
        """The ancestors 1, 2, 4, ... edges above each vertex; the root if there are fewer edges."""
        ancestors = [np.maximum(self.parent, 0)]
        while 1 << len(ancestors) <= self._level.max():
            ancestors.append(ancestors[-1][ancestors[-1]])
        return ancestors


def read_map(
    path: PathLike,
    *,
    coordinates: PathLike | None = None,
    ignore_lengths: bool = False,
    text: Columns = Columns(),  # noqa: B008  # frozen
) -> Metric:
    r"""Read a public map; weights are lengths, 1 without weights.

    Args:
        path: a graph file of any format that `read_graph` knows. Of parallel edges the shortest
            counts.
        coordinates: a CSV file, see `read_coordinates`.
        ignore_lengths: give every edge the length 1.
        text: how to read the columns of an edge list.

    Raises:
        FileFormatError: a file cannot be read, or is malformed.
        GraphError: the map is not connected.

    Examples:
        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "map.csv"
        >>> _ = file.write_text("source,target,weight\na,b,2\nb,c,1\n")
        >>> gc.distances.read_map(file).vertices.labels
        ('a', 'b', 'c')
    """
    graph = read_graph(path, columns=text, weighted=False if ignore_lengths else None, merge="min")
    points = None if coordinates is None else read_coordinates(coordinates, graph.vertices)
    return Metric.of(graph, coordinates=points)


def read_coordinates(path: PathLike, vertices: VertexSet) -> FloatMatrix:
    """Read where the vertices of a map are, shape (V, 2), from a CSV file with a header.

    The first column is the vertex; two others are called x and y, or lon and lat, or longitude and
    latitude. Degrees become kilometres on a plane whose scale is right at the middle latitude.
    Vertices that are not on the map are skipped.

    Raises:
        FileFormatError: the file cannot be read, has no such columns, a cell is not a number (the
            message has its line), or a vertex of the map is missing.
    """
    header, rows = read_table(path)
    pair = next((names for names in _COORDINATES if set(names) <= set(header)), None)
    if pair is None:
        raise FileFormatError(f"{path!s}: the first row must name columns x and y, or lon and lat")
    columns = [header.index(name) for name in pair]
    points = np.full((len(vertices), 2), np.nan)
    for line, cells in rows:
        row = vertices.find_text(cells[0].strip()) if cells else None
        if row is None:
            continue
        try:
            points[row] = [float(cells[column]) for column in columns]
        except (IndexError, ValueError):
            raise FileFormatError(f"{path!s}: line {line}: a coordinate is not a number") from None
        if not np.isfinite(points[row]).all():
            raise FileFormatError(f"{path!s}: line {line}: a coordinate is not finite")
    missing = np.flatnonzero(np.isnan(points[:, 0])).tolist()
    if missing:
        first = vertices.labels[missing[0]]
        raise FileFormatError(f"{path!s}: no row for {len(missing)} vertices, such as {first!r}")
    if pair == _COORDINATES[0]:
        return points
    middle = math.radians(float(points[:, 1].min() + points[:, 1].max()) / 2)
    kilometres = np.array([math.cos(middle), 1.0]) * _EARTH_RADIUS
    return np.asarray(np.radians(points) * kilometres)


def norm_distances(points: FloatMatrix, p: float, rows: IntVector) -> FloatMatrix:
    """Return l_p distances from the points of k rows to all, shape (k, V)."""
    total = np.zeros((len(rows), len(points)))
    largest = float(np.ptp(points, axis=0).max()) or 1.0  # no power of it overflows
    for axis in points.T / largest:
        total += np.abs(axis[rows, None] - axis) ** p
    return np.asarray(total ** (1 / p) * largest)


def _length_matrix(
    rows: npt.ArrayLike, columns: npt.ArrayLike, lengths: npt.ArrayLike, size: int
) -> sp.csr_array:
    """Return the symmetric matrix of lengths of edges: the shortest of parallel ones, no loops.

    Raises:
        GraphError: endpoints or lengths that do not fit.
    """
    tails, heads = _row_numbers(rows), _row_numbers(columns)
    length = _numbers(lengths).reshape(-1)
    if not len(tails) == len(heads) == len(length):
        raise GraphError("edge endpoints and lengths must have the same length")
    low, high = np.minimum(tails, heads), np.maximum(tails, heads)
    if len(low) and (low.min() < 0 or high.max() >= size):
        raise GraphError("an edge of the map ends outside its vertex set")
    if not (np.isfinite(length) & (length > 0)).all():
        raise GraphError(_NO_LENGTH)
    order = np.argsort(length, kind="stable")
    order = order[low[order] != high[order]]
    _, shortest = np.unique(low[order] * size + high[order], return_index=True)
    edges = order[shortest]
    endpoints = (
        np.concatenate([low[edges], high[edges]]),
        np.concatenate([high[edges], low[edges]]),
    )
    return sp.coo_array((np.tile(length[edges], 2), endpoints), shape=(size, size)).tocsr()


def _row_numbers(endpoints: npt.ArrayLike) -> IntVector:
    """Return one endpoint of each edge, shape (edges,); refuse numbers that are not integers."""
    try:
        array = np.asarray(endpoints).reshape(-1)
    except ValueError:
        array = np.zeros(1, dtype=object)
    if len(array) and array.dtype.kind not in "iu":
        raise GraphError("the endpoints of a map's edges are row numbers: integers from 0 on")
    return array.astype(np.int64)


def _numbers(values: npt.ArrayLike) -> FloatMatrix:
    """Return lengths or coordinates as floats.

    Raises:
        GraphError: one is not a number.
    """
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise GraphError("a length or coordinate of the map is not a number") from None


def _grid_positions(points: FloatMatrix, lengths: sp.csr_array) -> FloatMatrix | None:
    """Return points, shape (V, 2), whose l1 distances are the metric; None if the map is no grid.

    The coordinates only say which vertices share a column or a row, and in which order these are.
    """
    axes = [np.unique(points[:, axis], return_inverse=True) for axis in (0, 1)]
    cells = np.column_stack([inverse for _, inverse in axes])  # column and row of each point
    sizes = [len(values) for values, _ in axes]
    is_full = sizes[0] * sizes[1] == len(cells) == len(np.unique(cells @ [sizes[1], 1]))
    edges = sizes[0] * (sizes[1] - 1) + sizes[1] * (sizes[0] - 1)
    if not is_full or lengths.nnz != 2 * edges:
        return None
    entries = lengths.tocoo()
    moves = cells[entries.col] - cells[entries.row]  # by columns and rows, along each edge
    if not (np.abs(moves).sum(axis=1) == 1).all():
        return None
    positions = np.zeros((len(points), 2))
    for axis in (0, 1):
        forward = moves[:, axis] == 1
        start = cells[entries.row[forward], axis]
        gap = np.full(sizes[axis] - 1, -1.0)
        gap[start] = entries.data[forward]
        if (gap[start] != entries.data[forward]).any():
            return None
        positions[:, axis] = np.concatenate([[0.0], np.cumsum(gap)])[cells[:, axis]]
    return positions
