"""What long work takes and tells: time limits, progress, threads, and how much memory there is."""

import math
import os
import random
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any, Self, TypeVar, final

from threadpoolctl import ThreadpoolController


@final
@dataclass(frozen=True)
class Deadline:
    """A moment after which no new step of some work should begin.

    Attributes:
        moment: in seconds of `time.monotonic`; infinity for never.
    """

    moment: float = math.inf

    @classmethod
    def after(cls, seconds: float | None) -> Self:
        """So many seconds from now, at least 0; never for None."""
        return cls() if seconds is None else cls(time.monotonic() + seconds)

    def passed(self) -> bool:
        """Whether the time is up."""
        return math.isfinite(self.moment) and time.monotonic() >= self.moment

    @property
    def seconds_left(self) -> float | None:
        """Seconds until then, at least 0; None for never."""
        if not math.isfinite(self.moment):
            return None
        return max(0.0, self.moment - time.monotonic())


NEVER = Deadline()


# Called with the fraction done, from 0 to 1, and a message for people.
Progress = Callable[[float, str], None]


def silent(done: float, message: str) -> None:
    """Tell nobody."""
    del done, message


_QUIET_SECONDS = 2.0  # work shorter than this gets no bar
_SECONDS_BETWEEN = 0.2  # of two looks of a bar


def seen(progress: Progress) -> Progress:
    """It, or in a notebook in place of `silent` a bar below the cell, which goes when all is done.

    Only the kernel of a notebook gets one: its own IPython is asked, so that nothing is imported.
    """
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if progress is not silent or getattr(shell, "kernel", None) is None:
        return progress
    display = import_module("IPython.display").display
    next_look = time.monotonic() + _QUIET_SECONDS
    handle: Any = None

    def tell(done: float, message: str) -> None:
        nonlocal handle, next_look
        over, now = done >= 1, time.monotonic()
        if (now < next_look and not over) or (over and handle is None):
            return
        next_look = now + _SECONDS_BETWEEN
        bar = f'<progress value="{done:.3f}"></progress> {done:.0%} {escape(message)}'
        shown = {"text/html": "" if over else bar, "text/plain": "" if over else message}
        if handle is None:
            handle = display(shown, raw=True, display_id=True)
        else:
            handle.update(shown, raw=True)

    return tell


@contextmanager
def repeatable_igraph(seed: int = 0) -> Iterator[Any]:
    """igraph, which draws the same random numbers each time within the `with` statement."""
    import igraph  # slow to import, and seldom needed

    igraph.set_random_number_generator(random.Random(seed))  # noqa: S311  # no noise
    try:
        yield igraph
    finally:
        igraph.set_random_number_generator(random)


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


_NO_LIMIT = 1 << 60  # control groups write some huge number where there is none


def memory_limit(root: Path = Path("/")) -> int | None:
    """The most memory that this process can ever have, in bytes; None where nobody knows.

    The machine's, the process's own limit, or that of its control group (of a container, say),
    whichever is least. Not what is free at the moment: that depends on the size of what has been
    read, which may be private.

    Args:
        root: where `proc` and `sys` lie.
    """
    limits = [_machine(), _process(), *_control_groups(root)]
    return min((limit for limit in limits if limit is not None), default=None)


def _machine() -> int | None:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on every system
        return None


def _process() -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def _control_groups(root: Path) -> list[int]:
    """The limits of the process's control group and all around it, of either version."""
    found = []
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers == "":
            base, name = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            base, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        group = base / path.lstrip("/")
        # A container may see its own group as the root, and not the path that it has outside.
        for folder in (group, *group.parents):
            if folder.is_relative_to(base):
                text = _text(folder / name).strip()
                if text.isdigit() and int(text) < _NO_LIMIT:
                    found.append(int(text))
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
