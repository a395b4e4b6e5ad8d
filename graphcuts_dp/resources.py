"""Limit and report long work: deadlines, progress, threads and the memory of the machine."""

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

# Called with the fraction of the work that is done, from 0 to 1, and a message for people.
Progress = Callable[[float, str], None]
_QUIET_SECONDS = 2.0  # shorter work shows no bar in a notebook
_SECONDS_BETWEEN = 0.2  # between two updates of a bar
_BAR_WIDTH = 30  # characters
_NO_LIMIT = 1 << 60  # bytes; a control group without a limit states a larger number
T = TypeVar("T")
R = TypeVar("R")


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
        """Return the moment in `seconds`, which are at least 0; None means never."""
        return cls() if seconds is None else cls(time.monotonic() + seconds)

    def passed(self) -> bool:
        """Return whether the moment has passed."""
        return math.isfinite(self.moment) and time.monotonic() >= self.moment

    @property
    def seconds_left(self) -> float | None:
        """Return the seconds until the moment, at least 0; None means never."""
        if not math.isfinite(self.moment):
            return None
        return max(0.0, self.moment - time.monotonic())


NEVER = Deadline()


def silent(done: float, message: str) -> None:
    """Report nothing, except that notebooks show a bar: the default of `progress=`."""
    del done, message


def progress_function(progress: Progress | bool) -> Progress:
    """Return the function that reports progress, from the argument `progress=` of a caller.

    Args:
        progress: a function; True for a bar, below the cell of a notebook or on standard error;
            `silent`, the default, for a bar in notebooks only; False for none.

    Raises:
        ParameterError: `progress` is none of these.
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
    """Report nothing, in notebooks either."""
    del done, message


def _in_notebook() -> bool:
    """Return whether the kernel of a notebook runs; its own IPython is asked: none is imported."""
    shell: Any = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


class _TerminalBar:
    """Draw a bar on standard error at once, and remove it when the work is done.

    No thread draws it, so a run that fails leaves nothing behind that goes on drawing. If standard
    error is no terminal, each report is a line.
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
    """Return a bar below the cell of a notebook, which disappears when the work is done."""
    display = import_module("IPython.display").display
    next_look = time.monotonic() + _QUIET_SECONDS
    handle: Any = None

    def report(done: float, message: str) -> None:
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

    return report


@contextmanager
def repeatable_igraph(seed: int = 0) -> Iterator[Any]:
    """Yield igraph, with the same random numbers in each `with` statement of a seed."""
    import igraph  # slow to import, and seldom needed

    igraph.set_random_number_generator(random.Random(seed))  # noqa: S311  # no noise
    try:
        yield igraph
    finally:
        igraph.set_random_number_generator(random)


def in_parallel(
    function: Callable[[T], R], items: Sequence[T], threads: int | None = None
) -> Iterator[R]:
    """Yield function(item) for every item in order, computed on several threads.

    Each call has one BLAS thread. A single item is computed by the calling thread with all BLAS
    threads. `function` must not call `in_parallel`.

    Args:
        function: function that mostly calls numpy, which lets other threads run meanwhile.
        items: items to compute.
        threads: number of threads; None for one on each processor.
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
                # Results that wait to be taken fill the memory: stay close to the consumer.
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
    """Limit BLAS calls to one thread: for work that is already parallel, or has small pieces."""
    with _thread_pools().limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_limit(root: Path = Path("/")) -> int | None:
    """Return the most memory that this process can have, in bytes; None if it is unknown.

    This is the smallest of the machine's memory, the limit of the process and that of its control
    group (a container, for example). Free memory plays no part, since it depends on the size of
    what was read, which may be private.

    Args:
        root: folder that holds `proc` and `sys`.
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
    """Return the limits of the control groups of the process, of versions 1 and 2."""
    limits = []
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
                    limits.append(int(text))
    return limits


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
