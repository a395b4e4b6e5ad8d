"""Graphs of more edges than one machine holds: files of edges, read and kept by a Dask cluster.

Each worker reads some of the files. Rows of the matrix are cut into ranges of about as many pairs;
the edges of a range come together on one worker, so that rows of the files that name the same pair
are merged wherever they stand. All of this draws no noise, and may be done again when a worker is
lost: the files are still there.

The private edges travel between workers, so the cluster, and its network, must be as trusted as
the curator's machine. Sums over the parts come to this process, which draws their noise once. The
noise of kept edges is drawn where the edges are. Nothing on the cluster reads such a draw: this
process asks each part for its result, and reads one. If a worker is lost with a draw that nobody
has read, the part is drawn anew; of two draws of a part never both are seen, so that the guarantee
is that of one draw.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast, final

import numpy as np

from graphcuts_dp.arrays import FloatArray, IndexArray, IntVector
from graphcuts_dp.errors import ClusterError, GraphCutsError, GraphError, ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.adjacency import AnyGraph, from_parts_on, on_space
from graphcuts_dp.graph.columns import Column
from graphcuts_dp.graph.edge_keys import EdgeParts, Merge
from graphcuts_dp.graph.files import read_graph
from graphcuts_dp.measure.dask_blocks import dask_client
from graphcuts_dp.measure.kept_edges import row_parts
from graphcuts_dp.measure.parts import PartedGraph, added
from graphcuts_dp.pairs.layout import Layout
from graphcuts_dp.pairs.vertices import Arcs, Space, VertexSet

R = TypeVar("R")
_Rows = tuple[IndexArray, IndexArray, FloatArray | None]


@final
class DaskParts(PartedGraph):
    """Edges on the workers of a cluster, a part for each range of rows of `row_parts`.

    Args:
        public: see `PartedGraph`.
        parts: futures of graphs on the same vertices, in the order of the ranges.
    """

    def __init__(self, public: AnyGraph, parts: Sequence[Any]) -> None:
        super().__init__(public)
        self._parts = list(parts)

    @staticmethod
    def read(
        paths: Sequence[PathLike],
        *,
        vertices: VertexSet | int | tuple[VertexSet | int, VertexSet | int],
        weighted: bool = True,
        weight_cap: float | None = None,
        hide_change: float | None = None,
        bipartite: bool = False,
        directed: bool = False,
        source: Column | None = None,
        target: Column | None = None,
        weight: Column | None = None,
        merge: Merge = "sum",
    ) -> "DaskParts":
        """Read files of edges on the workers, which must all see them under these names.

        Args:
            paths: files of the formats of `read_graph`, Parquet best; each is read whole by one
                worker, so many files of some 10^7 rows are better than one.
            vertices: the public vertex set, or the pair of both; a count is the least work.
            weighted: whether the edges have weights.
            weight_cap: as for `read_graph`.
            hide_change: likewise.
            bipartite: likewise.
            directed: likewise.
            source: likewise.
            target: likewise.
            weight: likewise.
            merge: weight of a pair that several rows name: their "sum" or the largest ("max").

        Raises:
            ParameterError: Dask is not installed, no cluster with workers, or another `merge`.
            GraphError: no files.
            FileFormatError: as `read_graph`.
        """
        if merge not in ("sum", "max"):
            raise ParameterError("merge of edges in parts is 'sum' or 'max'")
        if not paths:
            raise GraphError("no files of edges")
        client = dask_client()
        space = _space(vertices, bipartite=bipartite, directed=directed)
        facts = _Facts(space, weighted, weight_cap, hide_change, merge)
        options = {"source": source, "target": target, "weight": weight}
        bounds = row_parts(Layout.of(space))
        read = [
            client.submit(_read, str(path), facts, bounds, options, pure=False) for path in paths
        ]
        parts = [
            client.submit(
                _joined,
                facts,
                [client.submit(_bucket, rows, place, pure=False) for rows in read],
                pure=False,
            )
            for place in range(len(bounds))
        ]
        _results(client, [client.submit(_nothing, part, pure=False) for part in parts])
        return DaskParts(facts.graph(None), parts)

    def summed(self, function: Callable[..., list[IntVector]], *arguments: Any) -> list[IntVector]:
        """See `PartedGraph.summed`: added up on the workers, two by two."""
        client = dask_client()
        left = [client.submit(function, part, *arguments, pure=False) for part in self._parts]
        while len(left) > 1:
            pairs = itertools.zip_longest(left[::2], left[1::2])
            left = [a if b is None else client.submit(added, a, b, pure=False) for a, b in pairs]
        return cast(list[IntVector], _results(client, left)[0])

    def drawn(self, function: Callable[..., R], arguments: Sequence[tuple[Any, ...]]) -> list[R]:
        """See `PartedGraph.drawn`. No other task takes a result, which is read here once."""
        client = dask_client()
        pending = [
            client.submit(function, part, *own, pure=False)
            for part, own in zip(self._parts, arguments, strict=True)
        ]
        return _results(client, pending)

    def each(self, function: Callable[[AnyGraph], R]) -> Iterator[R]:
        """See `PartedGraph.each`."""
        client = dask_client()
        for part in self._parts:
            yield from _results(client, [client.submit(function, part, pure=False)])


@dataclass(frozen=True)
class _Facts:
    """What is public of the graph, and how its parts are made."""

    space: Space
    weighted: bool
    weight_cap: float | None
    hide_change: float | None
    merge: Merge

    def graph(self, rows: _Rows | None) -> AnyGraph:
        """A graph of these rows; without any, of no edges."""
        if rows is None:
            nothing = np.zeros(0) if self.weighted else None
            facts = {"weight_cap": self.weight_cap, "hide_change": self.hide_change}
            return on_space(self.space, [], [], nothing, **facts)
        return from_parts_on(
            self.space,
            EdgeParts(*rows, owned=True),
            merge=self.merge,
            weight_cap=self.weight_cap,
            hide_change=self.hide_change,
        )


def _space(vertices: Any, *, bipartite: bool, directed: bool) -> Space:
    if bipartite:
        if not isinstance(vertices, tuple | list) or len(vertices) != 2:
            raise GraphError("vertices of a bipartite graph are a pair: left and right")
        return VertexSet(vertices[0]), VertexSet(vertices[1])
    return Arcs(VertexSet(vertices)) if directed else VertexSet(vertices)


def _read(
    path: str, facts: _Facts, bounds: list[tuple[int, int]], options: dict[str, Any]
) -> list[_Rows]:
    """The edges of a file by the range that their row lies in."""
    space = facts.space
    graph = read_graph(
        path,
        vertices=space.vertices if isinstance(space, Arcs) else space,
        bipartite=isinstance(space, tuple) and not isinstance(space, Arcs),
        directed=isinstance(space, Arcs),
        weighted=facts.weighted,
        weight_cap=facts.weight_cap,
        hide_change=facts.hide_change,
        merge=facts.merge,
        **options,
    )
    cuts = np.searchsorted(graph.rows, [first for first, _ in bounds] + [bounds[-1][1]])
    pieces = [slice(*ends) for ends in itertools.pairwise(cuts.tolist())]
    return [
        (graph.rows[at], graph.columns[at], graph.weights[at] if facts.weighted else None)
        for at in pieces
    ]


def _bucket(rows: list[_Rows], place: int) -> _Rows:
    return rows[place]


def _joined(facts: _Facts, found: list[_Rows]) -> AnyGraph:
    rows, columns = (np.concatenate([each[side] for each in found]) for side in (0, 1))
    weights = [each[2] for each in found if each[2] is not None]
    return facts.graph((rows, columns, np.concatenate(weights) if facts.weighted else None))


def _nothing(_part: AnyGraph) -> None:
    """Tells that a part is there."""


def _results(client: Any, pending: list[Any]) -> list[Any]:
    try:
        return cast(list[Any], client.gather(pending))
    except GraphCutsError:
        raise
    except Exception as problem:  # noqa: BLE001, RUF100  # of a worker; may hold private rows
        raise ClusterError(
            f"the Dask cluster failed ({type(problem).__name__}); nothing was released: start again"
        ) from None
