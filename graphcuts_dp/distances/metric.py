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
_BLOCK_ENTRIES = 1 << 20  # distances in memory at once: 8 MiB, which fit in a cache
_KEPT_ENTRIES = 1 << 26  # most distances of a map that are all kept in memory: 512 MiB
_MOST_POINTS = 2048  # points whose distances are all kept in memory


@final
class Metric:
    """The shortest-path metric of a connected public graph. Immutable.

    Distances are computed when they are needed. On maps of up to 8,192 vertices all of them are
    kept once they have been computed; on larger maps memory never holds all V x V of them.

    Args:
        rows: one endpoint of each edge, row numbers in 0..V-1, shape (edges,).
        columns: the other endpoint of each edge, shape (edges,). Loops are dropped; of parallel
            edges the shortest counts.
        lengths: > 0 and finite, shape (edges,).
        vertices: public vertex set: a count, labels, or a `VertexSet`.
        coordinates: of the vertices in pictures, shape (V, 2), finite; None if there are none.

    Attributes:
        positions: of the vertices, shape (V, k), if distances are those of an l_p norm; else None.
        p: of the norm.

    Raises:
        GraphError: a length that is not positive and finite, ends outside the vertex set, a map
            that is not connected, or coordinates that do not fit.

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
        graph, drawing_keys = source, {key for pair in _COORDINATES for key in pair}
        attributes: dict[str, list[Any]] = {}
        lengths: list[Any] = []
        if hasattr(source, "get_edgelist"):
            lengths = source.es[weight] if weight in source.es.attributes() else []
            known = source.vs.attributes()
            labels = source.vs["name"] if "name" in known else source.vcount()
            attributes = {key: source.vs[key] for key in drawing_keys & set(known)}
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
            columns = Columns() if weight == "weight" else Columns(weight=weight)  # need not exist
            ignored_attributes: list[str] = []  # x, y, lon and lat are read here
            graph = Graph.of(
                source,
                vertices=labels,
                columns=columns,
                merge="min",
                tell=ignored_attributes.append,
            )
        for x, y in _COORDINATES:
            pairs = list(zip(attributes.get(x, ()), attributes.get(y, ()), strict=True))
            if coordinates is None and pairs and not any(None in pair for pair in pairs):
                coordinates = pairs
        ends = graph.rows, graph.columns
        return cls(*ends, graph.weights, vertices=graph.vertices, coordinates=coordinates)

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
        are_integers = isinstance(rows, int | np.integer) and isinstance(columns, int | np.integer)
        if not are_integers or rows < 1 or columns < 1:
            raise ParameterError("a grid has at least one row and one column")
        number = np.arange(rows * columns).reshape(rows, columns)
        first = np.concatenate([number[:, :-1].ravel(), number[:-1].ravel()])
        second = np.concatenate([number[:, 1:].ravel(), number[1:].ravel()])
        y, x = np.divmod(number.ravel(), columns)
        points = np.column_stack([x, y])
        return cls(first, second, np.ones(len(first)), vertices=number.size, coordinates=points)

    @classmethod
    def of_points(
        cls, points: npt.ArrayLike, *, p: float = 2.0, vertices: Vertices | None = None
    ) -> Self:
        """Return points at their l_p distances, which no edges of a map make longer.

        Args:
            points: public, all different, shape (V, k), V from 1 to 2,048.
            p: in [1, 2]: 2 for straight lines, 1 for the sum of the coordinates' distances.
            vertices: labels of the points; None for 0..V-1.

        Raises:
            ParameterError: points or a p that will not do.
            GraphError: points that are no numbers, or another number of labels.
        """
        coordinates = _numbers(points)
        if coordinates.ndim != 2 or not coordinates.size or not np.isfinite(coordinates).all():
            raise ParameterError("points are finite numbers, shape (V, k)")
        size = len(coordinates)
        if size > _MOST_POINTS:
            raise ParameterError(f"at most {_MOST_POINTS:,} points, not {size:,}")
        if len(np.unique(coordinates, axis=0)) != size:
            raise ParameterError("two points are the same; give each place once")
        if isinstance(p, bool) or not isinstance(p, int | float) or not 1 <= p <= 2:
            raise ParameterError(f"the p of a norm is a number from 1 to 2, not {p!r:.30}")
        if vertices is not None and len(VertexSet(vertices)) != size:
            raise GraphError(f"one label for each of the {size} points, please")
        coordinates.flags.writeable = False
        table = norm_distances(coordinates, p, np.arange(size))
        rows, columns = np.triu_indices(size, 1)
        flat = coordinates if coordinates.shape[1] == 2 else None
        metric = cls(
            rows, columns, table[rows, columns], vertices=vertices or size, coordinates=flat
        )
        metric.positions, metric.p = coordinates, float(p)
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
        return bool(np.diff(self.lengths.indptr).max(initial=0) <= 2)

    @cached_property
    def tree(self) -> "RootedTree | None":
        """The map as a rooted tree, or None if it has a cycle."""
        if self.lengths.nnz != 2 * (len(self) - 1):
            return None
        return RootedTree(self.lengths)

    @cached_property
    def l1_coordinates(self) -> FloatMatrix | None:
        """Points whose l1 distances are the metric, exactly up to rounding.

        Shape (V, k) for points at l_1 distances, (V, 1) for a path, (V, 2) for a grid: vertices at
        all crossings of some columns and rows of the given coordinates, edges between neighbours
        only, whose lengths depend on their column or row alone. None for everything else.
        """
        if self.tree is not None and self._unbranched:
            end = int(np.argmin(np.diff(self.lengths.indptr)))
            return self._search(np.array([end])).T
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
        """Return all distances, shape (V, V), read-only; 8 V^2 bytes are kept from then on."""
        distances = self.distances_from(np.arange(len(self)))
        distances.flags.writeable = False
        return distances

    def weighted_sums(self, weights: npt.ArrayLike) -> FloatVector:
        """Return the sum over x of d(v, x) weights[x], for all vertices v; weights are real.

        O(V) on trees, V shortest-path searches on other maps.

        Args:
            weights: one for each vertex, shape (V,).
        """
        mass = np.asarray(weights, dtype=np.float64)
        if self.tree is not None:
            return self.tree.sums(mass)
        return np.concatenate([distances @ mass for _, distances in self.blocks()])

    @cached_property
    def eccentricities(self) -> FloatVector:
        """The largest distance from each vertex, shape (V,). Two searches on a tree, else V."""
        if self.tree is not None:
            end = int(np.argmax(self.distances_from([0])))
            other = self.distances_from([end])[0]
            far = self.distances_from([int(np.argmax(other))])[0]
            return np.asarray(np.maximum(other, far))
        return np.concatenate([distances.max(axis=1) for _, distances in self.blocks()])

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


def _numbers(values: npt.ArrayLike) -> FloatMatrix:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise GraphError("a length or coordinate of the map is not a number") from None


def _length_matrix(
    rows: npt.ArrayLike, columns: npt.ArrayLike, lengths: npt.ArrayLike, size: int
) -> sp.csr_array:
    """Return the symmetric matrix of lengths of edges: the shortest of parallel ones, no loops."""
    try:
        ends = [np.asarray(end, dtype=np.int64).reshape(-1) for end in (rows, columns)]
    except (TypeError, ValueError, OverflowError):
        raise GraphError("the ends of a map's edges are row numbers") from None
    length = _numbers(lengths).reshape(-1)
    if not len(ends[0]) == len(ends[1]) == len(length):
        raise GraphError("edge ends and lengths must have the same length")
    low, high = np.minimum(*ends), np.maximum(*ends)
    if len(low) and (low.min() < 0 or high.max() >= size):
        raise GraphError("an edge of the map ends outside its vertex set")
    if not (np.isfinite(length) & (length > 0)).all():
        raise GraphError(_NO_LENGTH)
    order = np.argsort(length, kind="stable")
    order = order[low[order] != high[order]]
    _, shortest = np.unique(low[order] * size + high[order], return_index=True)
    edges = order[shortest]
    ends = [np.concatenate([low[edges], high[edges]]), np.concatenate([high[edges], low[edges]])]
    return sp.coo_array((np.tile(length[edges], 2), tuple(ends)), shape=(size, size)).tocsr()


def norm_distances(points: FloatMatrix, p: float, rows: IntVector) -> FloatMatrix:
    """Return l_p distances from some points to all, shape (k, V)."""
    total = np.zeros((len(rows), len(points)))
    largest = float(np.ptp(points, axis=0).max()) or 1.0  # no power of it overflows
    for axis in points.T / largest:
        total += np.abs(axis[rows, None] - axis) ** p
    return np.asarray(total ** (1 / p) * largest)


@final
class RootedTree:
    """A tree, with vertex 0 as its root.

    Attributes:
        order: all rows, each after its parent, shape (V,).
        parent: row of each vertex's parent, -1 for the root, shape (V,).
        length: of the edge to the parent, 0 for the root, shape (V,).
        depth: distances to the root, shape (V,).
    """

    def __init__(self, lengths: sp.csr_array) -> None:
        order, parent = csgraph.breadth_first_order(lengths, 0, directed=False)
        self.order: IntVector = order.astype(np.int64)
        self.parent: IntVector = np.where(parent < 0, -1, parent).astype(np.int64)
        self.length: FloatVector = np.zeros(len(order))
        below = self.order[1:]
        if len(below):
            self.length[below] = np.asarray(lengths[below, self.parent[below]]).ravel()
        self.depth: FloatVector = csgraph.dijkstra(lengths, directed=False, indices=0)
        steps = csgraph.dijkstra(lengths, directed=False, indices=0, unweighted=True)
        self._level: IntVector = steps.astype(np.int64)

    def sums(self, mass: FloatVector) -> FloatVector:
        """Return the sum over x of d(v, x) mass[x] for all v, shape (V,), in O(V).

        Crossing an edge of length l with mass b below it changes the sum by l (total - 2 b).
        """
        below = mass.copy()
        order = self.order.tolist()
        for v in reversed(order[1:]):
            below[self.parent[v]] += below[v]
        total = below[order[0]]
        result = np.empty(len(mass))
        result[order[0]] = self.depth @ mass
        for v in order[1:]:
            result[v] = result[self.parent[v]] + self.length[v] * (total - 2 * below[v])
        return result

    def distances_between(self, first: IntVector, second: IntVector) -> FloatVector:
        """Return distances of k pairs of rows, in O(log V) each."""
        u, v = np.array(first), np.array(second)
        swap = self._level[u] < self._level[v]
        u[swap], v[swap] = v[swap], u[swap]
        for power, above in reversed(list(enumerate(self._ancestors))):
            u = np.where(self._level[u] - self._level[v] >= 1 << power, above[u], u)
        for above in reversed(self._ancestors):
            differs = above[u] != above[v]
            u, v = np.where(differs, above[u], u), np.where(differs, above[v], v)
        meeting = np.where(u == v, u, self._ancestors[0][u])
        return np.asarray(self.depth[first] + self.depth[second] - 2 * self.depth[meeting])

    @cached_property
    def _ancestors(self) -> list[IntVector]:
        """Rows 1, 2, 4, ... edges above; the root for what would be beyond it."""
        ancestors = [np.maximum(self.parent, 0)]
        while 1 << len(ancestors) <= self._level.max():
            ancestors.append(ancestors[-1][ancestors[-1]])
        return ancestors


def _grid_positions(points: FloatMatrix, lengths: sp.csr_array) -> FloatMatrix | None:
    """Return points, shape (V, 2), whose l1 distances are the shortest ones, if the map is a grid.

    Of the given coordinates only which of them are equal, and their order, count.
    """
    axes = [np.unique(points[:, axis], return_inverse=True) for axis in (0, 1)]
    cells = np.column_stack([axis[1] for axis in axes])  # row and column of each point
    sizes = [len(axis[0]) for axis in axes]
    full = sizes[0] * sizes[1] == len(cells) == len(np.unique(cells @ [sizes[1], 1]))
    edges = sizes[0] * (sizes[1] - 1) + sizes[1] * (sizes[0] - 1)
    if not full or lengths.nnz != 2 * edges:
        return None
    entries = lengths.tocoo()
    steps = cells[entries.col] - cells[entries.row]
    if not (np.abs(steps).sum(axis=1) == 1).all():
        return None
    positions = np.zeros((len(points), 2))
    for axis in (0, 1):
        forward = steps[:, axis] == 1
        start = cells[entries.row[forward], axis]
        gap = np.full(sizes[axis] - 1, -1.0)
        gap[start] = entries.data[forward]
        if (gap[start] != entries.data[forward]).any():
            return None
        positions[:, axis] = np.concatenate([[0.0], np.cumsum(gap)])[cells[:, axis]]
    return positions


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
    latitude. These last become kilometres on a plane that is true along the middle latitude.
    Vertices that are not on the map are skipped.

    Raises:
        FileFormatError: the file cannot be read, has no such columns, a cell is not a number (told
            by its line), or a vertex of the map is missing.
    """
    heads, rows = read_table(path)
    pair = next((names for names in _COORDINATES if set(names) <= set(heads)), None)
    if pair is None:
        raise FileFormatError(f"{path!s}: the first row must name columns x and y, or lon and lat")
    columns = [heads.index(name) for name in pair]
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
    kilometres = np.array([math.cos(middle), 1.0]) * 6371.0
    return np.asarray(np.radians(points) * kilometres)
