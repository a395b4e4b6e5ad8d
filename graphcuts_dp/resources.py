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

from graphcuts_dp.errors import ParameterError


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
_BAR_WIDTH = 30  # characters


def seen(progress: Progress | bool) -> Progress:
    """Return what reports the progress of a run, from what a caller passes as `progress=`.

    Args:
        progress: a function is called; True shows a bar, in a notebook below the cell and elsewhere
            on standard error; `silent`, the default, shows one in a notebook alone; False none.

    Raises:
        ParameterError: something else.
    """
    if progress is False:
        return _silent_everywhere
    if progress is not True and not callable(progress):
        raise ParameterError(
            "progress is True, False, or a function of the fraction done and a message"
        )
    if (progress is True or progress is silent) and _in_notebook():
        return _notebook_bar()
    return _TerminalBar() if progress is True else progress


def _silent_everywhere(done: float, message: str) -> None:
    """Tell nobody, not in notebooks either."""
    del done, message


def _in_notebook() -> bool:
    """Return whether the kernel of a notebook runs; its own IPython is asked: none is imported."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class _TerminalBar:
    """A bar on standard error, shown at once, since it was asked for; it goes when all is done.

    No thread draws it, so that a run that fails leaves nothing behind that goes on drawing. Where
    standard error is no terminal, each report is a line.
    """

    def __init__(self) -> None:
        from rich.console import Console  # slow to import, and seldom needed

        self._console = Console(stderr=True)
        self._next_look = 0.0

    def __call__(self, done: float, message: str) -> None:
        over, now = done >= 1, time.monotonic()
        if now < self._next_look and not over:
            return
        self._next_look = now + _SECONDS_BETWEEN
        filled = round(_BAR_WIDTH * min(done, 1.0))
        line = f"{'#' * filled}{'-' * (_BAR_WIDTH - filled)} {done:4.0%} {message}"
        if not self._console.is_terminal:
            print(line, file=self._console.file)
            return
        width = self._console.width - 1
        text = "" if over else line[:width]
        print(f"\r{text:<{width}}\r{text}", end="", file=self._console.file, flush=True)


def _notebook_bar() -> Progress:
    """Return a bar below the cell of a notebook, which goes when all is done."""
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
