"""Public maps from files: a graph file for the lengths, a CSV file for where vertices are drawn."""

import csv
import io
import math

import numpy as np

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.errors import FileFormatError
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.adjacency import read_graph
from graphcuts_dp.pairs.vertices import VertexSet
from graphcuts_dp.tables.columns import Columns
from graphcuts_dp.tables.file_bytes import read_text

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
