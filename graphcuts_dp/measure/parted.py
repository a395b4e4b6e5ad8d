"""Graphs whose edges lie in parts, perhaps on other machines: what is added up over them.

From what a user hands over to the graph that is measured, for whom a promise protects.

Blocks of rows on the workers of a Dask cluster: for matrices too large for one machine.

What travels: the private edges of a block go from the curator's process to the worker that draws
its noise, and nowhere else. So the cluster, and the network between its machines, must be as
trusted as the curator's machine. Noise is drawn where the block will live: released bits go from
worker to worker once, for the lower half of a symmetric matrix, and come home in `fetch`. Later
only results of maps travel, all of them computed from noisy data; those of one worker come home
together, so both ends need memory for them.

When a worker dies, Dask computes again what was lost with it: noise too, and with fresh noise the
same private edges would be told twice. So every draw has a number of its own, and no result is used
before all workers are known to hold the same draw of each block. After that the blocks live in
actors, which Dask does not make again. A worker that dies ends the release with an error, at any
time; what was drawn until then has left the cluster in no form (a store that was charged keeps the
charge all the same).

Graphs of more edges than one machine holds: files of edges, read and kept by a Dask cluster.

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

import contextlib
import itertools
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatArray, IndexArray, IntVector
from graphcuts_dp.errors import ClusterError, GraphCutsError, GraphError, ParameterError
from graphcuts_dp.estimate.blocks import (
    Blocks,
    LocalBlocks,
    Pairs,
    RowBlock,
    complete,
    draw_part,
    joined,
)
from graphcuts_dp.files import PathLike
from graphcuts_dp.graph.adjacency import AnyGraph, from_parts_on, graph_class, on_space
from graphcuts_dp.graph.edge_store import EdgeParts, Merge
from graphcuts_dp.graph.owned_rows import OwnedRows, PrivateData
from graphcuts_dp.pairs.layout import Layout
from graphcuts_dp.pairs.vertices import Arcs, Space, VertexSet
from graphcuts_dp.privacy.distributions import NoiseDistribution
from graphcuts_dp.privacy.protection import Protect
from graphcuts_dp.tables.columns import Columns


def bounded_graph(data: PrivateData, protection: Protect) -> AnyGraph:
    """The graph of private data: of rows with owners, that in which each owner is bounded. Private.

    Between neighbours, files with and without the rows of one owner, it changes by at most
    `protection.steps` steps: see `OwnedRows.bounded`.

    Args:
        data: a graph, or rows with owners.
        protection: whom the promise is for.

    Raises:
        ParameterError: an owner shall be protected of a graph, which has none; or rows with owners
            shall be released for somebody else; or a bound out of range.
    """
    if isinstance(data, OwnedRows):
        if protection.kind != "owner":
            raise ParameterError(
                "rows with owners are released under protect='owner' with a bound at_most; for "
                "anything else read the file with read_graph"
            )
        return data.bounded(at_most=protection.steps)
    if protection.kind == "owner":
        raise ParameterError(
            "protect='owner' needs rows with owners: read the file with OwnedRows.read"
        )
    return data


def paired_graph(
    data: PrivateData, protect: str | Protect, *, at_most: int | None, epsilon: float
) -> tuple[AnyGraph, Protect]:
    """The graph of private data, for what is made of noisy pairs, and whom that can protect.

    Args:
        data: a graph, or rows with owners.
        protect: as users type it, see `Protect.of_pairs`.
        at_most: likewise.
        epsilon: that was asked for.

    Raises:
        GraphError: neither a graph nor rows.
        ParameterError: as `Protect.of_pairs` and `bounded_graph`.
    """
    if not isinstance(data, PrivateData):
        raise GraphError("the first argument must be a Graph; make one by Graph.of, or read_graph")
    protection = Protect.of_pairs(
        protect, at_most=at_most, others=max(data.shape) - 1, epsilon=epsilon
    )
    return bounded_graph(data, protection), protection


R = TypeVar("R")
_PARTS = 64  # of the rows, so that processors share them; the noise depends on how many
_LARGEST_PART_SUM = 2**62


def row_parts(layout: Layout) -> list[tuple[int, int]]:
    """First row and end of each part, of about as many pairs each; from the shape alone."""
    height = layout.shape[0]
    before = layout.pairs_before(np.arange(height + 1, dtype=np.int64))
    ends = np.searchsorted(before, [int(before[-1]) * part // _PARTS for part in range(1, _PARTS)])
    edges = np.unique(np.concatenate([[0], ends, [height]])).tolist()
    return list(itertools.pairwise(edges))


class PartedGraph(ABC):
    """A private graph whose edges are not in this process. Parts hold different pairs.

    Measurements take it where they take a graph, and give the same: what they add up of the edges
    is added up where the parts are, and one process draws the noise of the sums.

    Attributes:
        public: a graph of the same kind without edges: its vertices, and what is known of weights.
    """

    def __init__(self, public: AnyGraph) -> None:
        self.public = public

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.public!r})"

    @abstractmethod
    def summed(self, function: Callable[..., list[IntVector]], *arguments: Any) -> list[IntVector]:
        """function(part, *arguments), arrays of integers >= 0, added up over parts, to 2^62.

        The function draws no noise: it may run twice for a part whose result was lost.
        """

    @abstractmethod
    def drawn(self, function: Callable[..., R], arguments: Sequence[tuple[Any, ...]]) -> list[R]:
        """function(part, *its own arguments) for each part, in order, which may draw noise.

        Of a part whose function runs twice, since a worker was lost, one result is seen by anybody.
        """

    @abstractmethod
    def each(self, function: Callable[[AnyGraph], R]) -> Iterator[R]:
        """function(part) of one part after the other, in the order of their edges. Private.

        The function draws no noise.
        """


def public_of(graph: AnyGraph | PartedGraph) -> AnyGraph:
    """A graph of the same kind of which only public facts may be read."""
    return graph.public if isinstance(graph, PartedGraph) else graph


def summed(
    graph: AnyGraph | PartedGraph, function: Callable[..., list[IntVector]], *arguments: Any
) -> list[IntVector]:
    """function(graph, *arguments), wherever the edges are. Private."""
    if isinstance(graph, PartedGraph):
        return graph.summed(function, *arguments)
    return function(graph, *arguments)


def added(first: list[IntVector], second: list[IntVector]) -> list[IntVector]:
    """Sums of integers in 0..2^62, cut at 2^62: in whatever order parts are added, the same."""
    return [a + np.minimum(b, _LARGEST_PART_SUM - a) for a, b in zip(first, second, strict=True)]


_PATIENCE = 10  # seconds, for a scheduler to answer


_LOST = "a worker of the Dask cluster was lost; nothing was released: start again"


@final
class DaskBlocks(Blocks):
    """Blocks shared out over the workers of a Dask cluster, each keeping neighbouring ones.

    The same cut into blocks and the same order of results as `LocalBlocks`: what is computed is
    the same to the last bit, if the machines' linear algebra is.

    Args:
        distribution: of the noise.
        layout: of the matrix.
        shelves: actors of `_Shelf`, in the order of their blocks.
    """

    def __init__(
        self, distribution: NoiseDistribution | None, layout: Layout, shelves: Sequence[Any]
    ) -> None:
        super().__init__(distribution, layout)
        self._shelves = list(shelves)
        self._names = itertools.count(1)
        self._name = 0

    @staticmethod
    def from_pairs(
        distribution: NoiseDistribution, layout: Layout, pairs: Sequence[Pairs]
    ) -> "DaskBlocks":
        """Draw the pairs of each block on the worker where it will live.

        Args:
            distribution: that the integers come from.
            layout: of the matrix.
            pairs: as for `LocalBlocks.from_pairs`.

        Raises:
            ParameterError: Dask is not installed, or there is no client of a cluster with workers.
            ClusterError: a worker died.
        """
        client = dask_client()
        threads = dict(client.nthreads())
        count = min(len(threads), len(pairs))
        ends = [len(pairs) * i // count for i in range(count + 1)]
        places = list(zip(sorted(threads)[:count], itertools.pairwise(ends), strict=True))
        parts = [
            client.submit(
                _draw, distribution, layout, first, list(pairs[first:end]), **_only_at(worker)
            )
            for worker, (first, end) in places
        ]
        shelves = [
            client.submit(
                _Shelf,
                distribution,
                layout,
                bounds,
                threads[worker],
                *parts[: index + 1],
                actor=True,
                **_only_at(worker),
            )
            for index, (worker, bounds) in enumerate(places)
        ]
        with _lost_workers_told():
            made = _all_made(client, [worker for worker, _ in places], shelves)
            _check_draws([shelf.draws().result() for shelf in made])
        return DaskBlocks(distribution, layout, made)

    def results(self, function: Callable[..., R], *arguments: Any) -> Iterator[R]:
        """See `Blocks.results`. The function and the arguments go to each worker once.

        Raises:
            ClusterError: a worker died.
        """
        with _lost_workers_told():
            pending = [shelf.map(self._name, function, arguments) for shelf in self._shelves]
        for shelf in pending:
            with _lost_workers_told():
                found = shelf.result()
            yield from found

    def copy(self) -> "DaskBlocks":
        """See `Blocks.copy`."""
        blocks = DaskBlocks(self.distribution, self.layout, self._shelves)
        blocks._names = self._names
        blocks._name = next(self._names)
        return blocks

    def fetch(self) -> LocalBlocks:
        """See `Blocks.fetch`."""
        return joined(self.distribution, self.layout, self.map(_data))


@final
class _Shelf:
    """The blocks of one worker; an actor.

    Args:
        distribution: of the noise.
        layout: of the matrix.
        bounds: index of the first block, and the one after the last.
        threads: to work with.
        parts: results of `_draw` for this worker's blocks and all before them.
    """

    def __init__(
        self,
        distribution: NoiseDistribution,
        layout: Layout,
        bounds: tuple[int, int],
        threads: int,
        *parts: "_Drawn",
    ) -> None:
        self._draws = [part.number for part in parts]
        every = list(itertools.chain.from_iterable(part.rows for part in parts))
        rows = [
            RowBlock(
                *layout.bounds()[index],
                complete(distribution, layout, index, every),
                distribution,
                layout,
            )
            for index in range(*bounds)
        ]
        self._copies = {0: LocalBlocks(rows, threads)}

    def draws(self) -> list[bytes]:
        """The numbers of the draws that its blocks are made from."""
        return self._draws

    def map(self, name: int, function: Callable[..., R], arguments: tuple[Any, ...]) -> list[R]:
        """Results of a function for each block of a copy; copy 0 is the first."""
        if name not in self._copies:
            self._copies[name] = self._copies[0].copy()
        return self._copies[name].map(function, *arguments)


@final
@dataclass(frozen=True)
class _Drawn:
    """What one run of `_draw` gives: packed rows, a random number that no other run has."""

    number: bytes
    rows: list[npt.NDArray[Any]]


def _draw(
    distribution: NoiseDistribution, layout: Layout, first: int, pairs: list[Pairs]
) -> _Drawn:
    rows = [draw_part(distribution, layout, first + i, block) for i, block in enumerate(pairs)]
    return _Drawn(secrets.token_bytes(16), rows)


def _all_made(client: Any, workers: Sequence[str], shelves: Sequence[Any]) -> list[Any]:
    """The actors behind futures. What is to be made on a worker that is gone would never come."""
    from distributed import wait

    while not all(shelf.done() for shelf in shelves):
        if not set(workers) <= set(client.nthreads()):
            raise ClusterError(_LOST)
        with contextlib.suppress(TimeoutError):
            wait(shelves, timeout=1)  # type: ignore[no-untyped-call]
    return [shelf.result() for shelf in shelves]


def _check_draws(seen: Sequence[Sequence[bytes]]) -> None:
    """Refuse blocks of which two draws were read.

    Args:
        seen: by each shelf, of all draws up to its own.

    Raises:
        ClusterError: a worker died and came back, and its noise was drawn again.
    """
    if any(list(draws) != list(seen[-1][: len(draws)]) for draws in seen):
        raise ClusterError(_LOST)


@contextlib.contextmanager
def _lost_workers_told() -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError) as problem:
        if "Actor" not in str(problem):  # Dask has no exception of its own for this
            raise
        raise ClusterError(_LOST) from problem


def _data(block: RowBlock) -> npt.NDArray[Any]:
    return block.data


def _only_at(worker: str) -> dict[str, Any]:
    # Not pure: noise drawn twice must not be taken for the same.
    return {"workers": [worker], "allow_other_workers": False, "pure": False}


@contextmanager
def dask_cluster(address: str | None) -> Iterator[None]:
    """Work with the cluster of a scheduler; within, `dask_client` is its client.

    Args:
        address: of the scheduler, for example "tcp://10.0.0.1:8786".

    Raises:
        ParameterError: Dask is not installed, or no scheduler answers at the address.
    """
    distributed = _distributed()
    if not address:
        raise ParameterError(
            "blocks='dask' needs the address of a scheduler: give --scheduler tcp://HOST:PORT, or "
            "set DASK_SCHEDULER_ADDRESS"
        )
    try:
        client = distributed.Client(address, timeout=_PATIENCE)
    except (OSError, ValueError):
        raise ParameterError(
            f"no Dask scheduler answers at {address}; start one with `dask scheduler`"
        ) from None
    with client:
        yield


def dask_client() -> Any:
    """The client of the Dask cluster that this process works with.

    Raises:
        ParameterError: Dask is not installed, or there is no client of a cluster with workers.
    """
    distributed = _distributed()
    try:
        client: Any = distributed.default_client()
    except ValueError:
        raise ParameterError(
            "blocks='dask' needs a cluster: make a dask.distributed.Client first"
        ) from None
    if not client.nthreads():
        raise ParameterError("the Dask cluster has no workers yet; wait for them or add some")
    return client


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise ParameterError("blocks='dask' needs Dask: pip install 'graphcuts-dp[dask]'") from None
    return distributed


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
        columns: Columns = Columns(),  # noqa: B008  # frozen
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
            bipartite: a `BipartiteGraph`.
            directed: a `DirectedGraph`.
            columns: likewise.
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
        bounds = row_parts(Layout.of(space))
        read = [
            client.submit(_read, str(path), facts, bounds, columns, pure=False) for path in paths
        ]
        parts = [
            client.submit(
                _one_part,
                facts,
                [client.submit(_bucket, rows, place, pure=False) for rows in read],
                pure=False,
            )
            for place in range(len(bounds))
        ]
        _gathered(client, [client.submit(_nothing, part, pure=False) for part in parts])
        return DaskParts(facts.graph(None), parts)

    def summed(self, function: Callable[..., list[IntVector]], *arguments: Any) -> list[IntVector]:
        """See `PartedGraph.summed`: added up on the workers, two by two."""
        client = dask_client()
        left = [client.submit(function, part, *arguments, pure=False) for part in self._parts]
        while len(left) > 1:
            pairs = itertools.zip_longest(left[::2], left[1::2])
            left = [a if b is None else client.submit(added, a, b, pure=False) for a, b in pairs]
        return cast(list[IntVector], _gathered(client, left)[0])

    def drawn(self, function: Callable[..., R], arguments: Sequence[tuple[Any, ...]]) -> list[R]:
        """See `PartedGraph.drawn`. No other task takes a result, which is read here once."""
        client = dask_client()
        pending = [
            client.submit(function, part, *own, pure=False)
            for part, own in zip(self._parts, arguments, strict=True)
        ]
        return _gathered(client, pending)

    def each(self, function: Callable[[AnyGraph], R]) -> Iterator[R]:
        """See `PartedGraph.each`."""
        client = dask_client()
        for part in self._parts:
            yield from _gathered(client, [client.submit(function, part, pure=False)])


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


def _read(path: str, facts: _Facts, bounds: list[tuple[int, int]], columns: Columns) -> list[_Rows]:
    """The edges of a file by the range that their row lies in."""
    space = facts.space
    graph = graph_class(space).read(
        path,
        columns=columns,
        vertices=space.vertices if isinstance(space, Arcs) else space,
        weighted=facts.weighted,
        weight_cap=facts.weight_cap,
        hide_change=facts.hide_change,
        merge=facts.merge,
    )
    cuts = np.searchsorted(graph.rows, [first for first, _ in bounds] + [bounds[-1][1]])
    pieces = [slice(*ends) for ends in itertools.pairwise(cuts.tolist())]
    return [
        (graph.rows[at], graph.columns[at], graph.weights[at] if facts.weighted else None)
        for at in pieces
    ]


def _bucket(rows: list[_Rows], place: int) -> _Rows:
    return rows[place]


def _one_part(facts: _Facts, found: list[_Rows]) -> AnyGraph:
    rows, columns = (np.concatenate([each[side] for each in found]) for side in (0, 1))
    weights = [each[2] for each in found if each[2] is not None]
    return facts.graph((rows, columns, np.concatenate(weights) if facts.weighted else None))


def _nothing(_part: AnyGraph) -> None:
    """Tells that a part is there."""


def _gathered(client: Any, pending: list[Any]) -> list[Any]:
    try:
        return cast(list[Any], client.gather(pending))
    except GraphCutsError:
        raise
    except Exception as problem:  # noqa: BLE001, RUF100  # of a worker; may hold private rows
        raise ClusterError(
            f"the Dask cluster failed ({type(problem).__name__}); nothing was released: start again"
        ) from None
