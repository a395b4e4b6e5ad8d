"""A disk that fails, and a process that dies, at a chosen call that changes files.

`Calls` counts every call by which this process changes the disk (open for writing, write, fsync,
mkdir, link, rename, remove, chmod, truncate) under the folders that it is told to watch, and does
something at one of them. `sweep` runs an action once for each call and each kind of trouble.
"""

import builtins
import contextlib
import errno
import gc as garbage
import io
import itertools
import os
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_MAKING = ("open", "write", "fsync", "mkdir", "link")  # what a full disk refuses
_NAMED = ("mkdir", "link", "rename", "replace", "unlink", "remove", "rmdir", "chmod", "truncate")
_OF_HANDLES = ("fsync", "fchmod", "fdatasync", "ftruncate")

injected: dict[str, int] = {}  # how many faults of each kind did happen, in this run of the tests


@dataclass(frozen=True)
class Trouble:
    """What goes wrong.

    Attributes:
        kind: its name.
        number: the error that a call gives, 0 for none.
        lasts: whether all later calls of the same sort fail too.
        after: whether the call is made first.
    """

    kind: str
    number: int = 0
    lasts: bool = False
    after: bool = False


ERRORS = (
    Trouble("disk full for one call", errno.ENOSPC),
    Trouble("disk full from then on", errno.ENOSPC, lasts=True),
    Trouble("disk fails for one call", errno.EIO),
)
READ_ONLY = Trouble("read-only from then on", errno.EROFS, lasts=True)
INTERRUPTIONS = (
    Trouble("Ctrl-C before a call"),
    Trouble("Ctrl-C after a call", after=True),
)
DEATHS = (
    Trouble("killed before a call"),
    Trouble("killed after a call", after=True),
)


class Calls:
    """Counts the calls that change the disk, and acts at one of them.

    Args:
        trouble: what to do; None counts only.
        target: at which call, from 1.
    """

    def __init__(self, trouble: Trouble | None = None, target: int = 0) -> None:
        self.trouble = trouble
        self.target = target
        self.count = 0
        self.happened = False

    @contextlib.contextmanager
    def call(self, name: str, half: Callable[[], object] = lambda: None) -> Iterator[None]:
        """Around one call; `half` is what a failing call may have done already."""
        self.count += 1
        trouble = self.trouble
        hit = trouble is not None and self.count == self.target
        if trouble is not None and trouble.number:
            refused = trouble.number != errno.ENOSPC or name in _MAKING
            if refused and (hit or (trouble.lasts and 0 < self.target < self.count)):
                self.happened = True
                half()
                raise OSError(trouble.number, os.strerror(trouble.number))
        elif hit and not trouble.after:
            half()
            self._strike()
        yield
        if hit and not trouble.number and trouble.after:
            self._strike()

    def _strike(self) -> None:
        self.happened = True
        if self.trouble in DEATHS:
            os.kill(os.getpid(), signal.SIGKILL)
        raise KeyboardInterrupt

    @contextlib.contextmanager
    def watching(self) -> Iterator["Calls"]:
        """Take the place of what changes files, in all of this process."""
        real = {name: getattr(os, name) for name in (*_NAMED, *_OF_HANDLES, "open")}
        opened = io.open

        def counted(name: str) -> Callable[..., object]:
            def call(*arguments: object, **named: object) -> object:
                with self.call(name):
                    # What is flushed is in no danger here, and flushing takes most of the time.
                    return None if "sync" in name else real[name](*arguments, **named)

            return call

        def os_open(path: object, flags: int, *arguments: object, **named: object) -> int:
            if not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                return real["open"](path, flags, *arguments, **named)
            with contextlib.ExitStack() as undo:
                with self.call("open"):
                    handle = real["open"](path, flags, *arguments, **named)
                    undo.callback(os.close, handle)  # should Ctrl-C come before anybody has it
                undo.pop_all()
            return handle

        def open_file(file: object, mode: str = "r", *arguments: object, **named: object) -> object:
            if isinstance(file, int) or not set(mode) & set("wxa+"):
                return opened(file, mode, *arguments, **named)
            assert "b" in mode, "the package writes bytes"
            with contextlib.ExitStack() as undo:
                with self.call("open"):
                    raw = undo.enter_context(_File(self, os.fspath(file), mode.replace("b", "")))
                undo.pop_all()
            return io.BufferedWriter(raw)

        for name in (*_NAMED, *_OF_HANDLES):
            setattr(os, name, counted(name))
        os.open = os_open
        io.open = builtins.open = open_file
        try:
            yield self
        finally:
            for name in (*_NAMED, *_OF_HANDLES, "open"):
                setattr(os, name, real[name])
            io.open = builtins.open = opened


class _File(io.FileIO):
    def __init__(self, calls: Calls, path: str, mode: str) -> None:
        super().__init__(path, mode)
        self._calls = calls

    def write(self, data: object) -> int:
        text = bytes(data)
        with self._calls.call("write", lambda: super(_File, self).write(text[: len(text) // 2])):
            return super().write(text)


def count_calls(action: Callable[[], object]) -> int:
    """How many calls an action makes when nothing goes wrong."""
    calls = Calls()
    with calls.watching():
        action()
    return calls.count


def strike(trouble: Trouble, target: int, action: Callable[[], object]) -> object:
    """Run an action with trouble at one call.

    Returns:
        What it returned; or the exception that it raised; or, for deaths, whether it was killed.
    """
    calls = Calls(trouble, target)
    if trouble in DEATHS:
        killed = _dies(calls, action)
        injected[trouble.kind] = injected.get(trouble.kind, 0) + killed
        return killed
    try:
        with calls.watching():
            return action()
    except BaseException as problem:  # the caller looks at it
        return problem
    finally:
        injected[trouble.kind] = injected.get(trouble.kind, 0) + calls.happened


def sweep(
    fresh: Callable[[], tuple[Path, Callable[[], object]]],
    pick: Callable[[int], Sequence[Trouble]],
) -> Iterator[tuple[Trouble, Path, object]]:
    """Strike an action at each call, by the troubles that `pick` tells for it.

    Args:
        fresh: makes a folder ready, and gives it and the action.
        pick: of the number of a call.

    Yields:
        The trouble, the folder that it left, and what `strike` returned.
    """
    garbage.collect()  # what earlier tests left would be removed in the middle of a strike
    for target in range(1, count_calls(fresh()[1]) + 1):
        for trouble in pick(target):
            folder, action = fresh()
            yield trouble, folder, strike(trouble, target, action)


def one_of(troubles: Sequence[Trouble], every: int = 1) -> Callable[[int], Sequence[Trouble]]:
    """One trouble after the other, at each call or at every second one, for `sweep`."""
    return lambda target: [] if target % every else [troubles[target // every % len(troubles)]]


def _dies(calls: Calls, action: Callable[[], object]) -> bool:
    def act() -> None:
        with calls.watching():
            action()

    _, status = os.waitpid(fork(act), 0)
    return os.WIFSIGNALED(status)


def fork(action: Callable[[], object]) -> int:
    """Start an action in a process of its own; returns its number. Its exceptions are status 1."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork beside threads: no BLAS in it
        child = os.fork()
    if child == 0:
        status = 1
        try:
            action()
            status = 0
        finally:
            os._exit(status)
    return child


def folders(base: Path) -> Iterator[Path]:
    """New names of folders in one, for as many runs as there are."""
    return (base / f"work {number}" for number in itertools.count())


def visible(folder: Path) -> dict[str, bytes]:
    """What a user sees in a folder."""
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if not path.name.startswith(".")
    }
