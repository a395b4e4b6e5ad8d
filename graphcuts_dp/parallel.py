"""A map on several threads that gives results in order."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import lru_cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

R = TypeVar("R")
T = TypeVar("T")


def in_parallel(
    function: Callable[[T], R], items: Sequence[T], threads: int | None = None
) -> Iterator[R]:
    """function(item) for every item, on several threads; yields results in the order of the items.

    Several calls run at once, each with one thread in its BLAS calls. Must not be called from
    within `function`. A single item is computed right here, with BLAS as it is.

    Args:
        function: mostly numpy, which lets other threads run meanwhile.
        items: of any number.
        threads: how many; None for one on each processor.
    """
    if len(items) == 1:
        yield function(items[0])
        return
    threads = threads or _processors()
    pool = _workers(os.getpid(), threads)
    pending: deque[Future[R]] = deque()
    with one_blas_thread():
        try:
            for item in items:
                pending.append(pool.submit(function, item))
                # Results that nobody has taken yet fill the memory: not too far ahead.
                if len(pending) > 2 * threads:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()
            wait(pending)


@lru_cache(maxsize=4)
def _workers(process: int, count: int) -> ThreadPoolExecutor:  # noqa: ARG001
    # A child made by a fork has none of its parent's threads, and needs a pool of its own.
    return ThreadPoolExecutor(count)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One thread in each BLAS call, where work is already shared out or its pieces are small."""
    with _thread_pools().limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
