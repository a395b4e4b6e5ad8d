"""Blocks of rows on the workers of a Dask cluster: for matrices too large for one machine.

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
"""

import contextlib
import itertools
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, final

import numpy.typing as npt

from graphcuts_dp.errors import ClusterError, ParameterError
from graphcuts_dp.estimate.blocks import (
    Blocks,
    LocalBlocks,
    Pairs,
    RowBlock,
    complete,
    draw_part,
    joined,
)
from graphcuts_dp.pairs.layout import Layout
from graphcuts_dp.privacy.distributions import NoiseDistribution

_PATIENCE = 10  # seconds, for a scheduler to answer
R = TypeVar("R")

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
