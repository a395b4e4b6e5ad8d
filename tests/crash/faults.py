"""Faults at a chosen call that changes files: a failing disk, Ctrl-C, or a killed process.

`Calls` counts every call by which this process changes the disk (open for writing, write, fsync,
mkdir, link, rename, remove, chmod, truncate), and injects a fault at one of them. `sweep` runs an
action once for each call and each fault.
"""

import builtins
import contextlib
import errno
import gc as garbage
import io
import itertools
import os
import shutil
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_NEED_SPACE = ("open", "write", "fsync", "mkdir", "link")  # calls that a full disk refuses
_PATH_CALLS = (
    "mkdir",
    "link",
    "rename",
    "replace",
    "unlink",
    "remove",
    "rmdir",
    "chmod",
    "truncate",
)
_HANDLE_CALLS = ("fsync", "fchmod", "fdatasync", "ftruncate")

injected: dict[str, int] = {}  # counts of the faults injected in this run of the tests, by kind


@dataclass(frozen=True)
class Fault:
    """A kind of fault at a call.

    Attributes:
        kind: its name.
        error_number: errno of the OSError that the call raises; 0 for Ctrl-C and deaths.
        lasts: whether all later calls of the same sort fail too.
        after: whether the call is made before the fault.
    """

    kind: str
    error_number: int = 0
    lasts: bool = False
    after: bool = False


ERRORS = (
    Fault("disk full for one call", errno.ENOSPC),
    Fault("disk full from then on", errno.ENOSPC, lasts=True),
    Fault("disk fails for one call", errno.EIO),
)
READ_ONLY = Fault("read-only from then on", errno.EROFS, lasts=True)
INTERRUPTIONS = (
    Fault("Ctrl-C before a call"),
    Fault("Ctrl-C after a call", after=True),
)
DEATHS = (
    Fault("killed before a call"),
    Fault("killed after a call", after=True),
)


class Calls:
    """Counts the calls that change the disk, and injects a fault at one of them.

    Args:
        fault: to inject; None counts only.
        target: number of the call with the fault, from 1.
    """

    def __init__(self, fault: Fault | None = None, target: int = 0) -> None:
        self.fault = fault
        self.target = target
        self.count = 0
        self.happened = False

    @contextlib.contextmanager
    def call(self, name: str, half: Callable[[], object] = lambda: None) -> Iterator[None]:
        """Count one call and let it fail if it is the target.

        Args:
            name: of the call.
            half: does the part of the work that a failing call may have done already.
        """
        self.count += 1
        fault = self.fault
        is_target = fault is not None and self.count == self.target
        if fault is not None and fault.error_number:
            can_fail = fault.error_number != errno.ENOSPC or name in _NEED_SPACE
            if can_fail and (is_target or (fault.lasts and 0 < self.target < self.count)):
                self.happened = True
                half()
                raise OSError(fault.error_number, os.strerror(fault.error_number))
        elif is_target and not fault.after:
            half()
            self._strike()
        yield
        if is_target and not fault.error_number and fault.after:
            self._strike()

    def _strike(self) -> None:
        self.happened = True
        if self.fault in DEATHS:
            os.kill(os.getpid(), signal.SIGKILL)
        raise KeyboardInterrupt

    @contextlib.contextmanager
    def watching(self) -> Iterator["Calls"]:
        """Replace the functions that change files, in all of this process."""
        real = {name: getattr(os, name) for name in (*_PATH_CALLS, *_HANDLE_CALLS, "open")}
        real_open = io.open

        def counted(name: str) -> Callable[..., object]:
            def call(*arguments: object, **named: object) -> object:
                with self.call(name):
                    # Without a power failure nothing is lost; flushing takes most of the time.
                    return None if "sync" in name else real[name](*arguments, **named)

            return call

        def os_open(path: object, flags: int, *arguments: object, **named: object) -> int:
            if not flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                return real["open"](path, flags, *arguments, **named)
            with contextlib.ExitStack() as undo:
                with self.call("open"):
                    handle = real["open"](path, flags, *arguments, **named)
                    undo.callback(os.close, handle)  # Ctrl-C may come before it is returned
                undo.pop_all()
            return handle

        def open_file(file: object, mode: str = "r", *arguments: object, **named: object) -> object:
            if isinstance(file, int) or not set(mode) & set("wxa+"):
                return real_open(file, mode, *arguments, **named)
            assert "b" in mode, "the package writes bytes"
            with contextlib.ExitStack() as undo:
                with self.call("open"):
                    raw = undo.enter_context(_File(self, os.fspath(file), mode.replace("b", "")))
                undo.pop_all()
            return io.BufferedWriter(raw)

        for name in (*_PATH_CALLS, *_HANDLE_CALLS):
            setattr(os, name, counted(name))
        os.open = os_open
        io.open = builtins.open = open_file
        try:
            yield self
        finally:
            for name in (*_PATH_CALLS, *_HANDLE_CALLS, "open"):
                setattr(os, name, real[name])
            io.open = builtins.open = real_open


class _File(io.FileIO):
    def __init__(self, calls: Calls, path: str, mode: str) -> None:
        super().__init__(path, mode)
        self._calls = calls

    def write(self, data: object) -> int:
        text = bytes(data)
        with self._calls.call("write", lambda: super(_File, self).write(text[: len(text) // 2])):
            return super().write(text)


def count_calls(action: Callable[[], object]) -> int:
    """Return the number of calls of an action without a fault."""
    calls = Calls()
    with calls.watching():
        action()
    return calls.count


def strike(fault: Fault, target: int, action: Callable[[], object]) -> object:
    """Run an action with a fault at one call.

    Returns:
        What the action returned or the exception that it raised; for deaths, whether the process
        was killed.
    """
    calls = Calls(fault, target)
    if fault in DEATHS:
        killed = _dies(calls, action)
        injected[fault.kind] = injected.get(fault.kind, 0) + killed
        return killed
    try:
        with calls.watching():
            return action()
    except BaseException as problem:  # the caller checks it
        return problem
    finally:
        injected[fault.kind] = injected.get(fault.kind, 0) + calls.happened


def sweep(
    prepare: Callable[[], tuple[Path, Callable[[], object]]],
    faults_at: Callable[[int], Sequence[Fault]],
) -> Iterator[tuple[Fault, Path, object]]:
    """Run an action once for each call and each fault at it.

    Args:
        prepare: makes a new folder and returns it with the action.
        faults_at: returns the faults for the number of a call.

    Yields:
        The fault, the folder after the action, and what `strike` returned.
    """
    garbage.collect()  # finalisers of objects of earlier tests would run within an action
    for target in range(1, count_calls(prepare()[1]) + 1):
        for fault in faults_at(target):
            folder, action = prepare()
            yield fault, folder, strike(fault, target, action)


def in_turn(faults: Sequence[Fault], every: int = 1) -> Callable[[int], Sequence[Fault]]:
    """Return `faults_at` for `sweep`: one fault at every n-th call, each kind in turn."""
    return lambda target: [] if target % every else [faults[target // every % len(faults)]]


def _dies(calls: Calls, action: Callable[[], object]) -> bool:
    def act() -> None:
        with calls.watching():
            action()

    _, status = os.waitpid(fork(act), 0)
    return os.WIFSIGNALED(status)


def fork(action: Callable[[], object]) -> int:
    """Start an action in a child process and return its pid; an exception gives exit status 1."""
    with warnings.catch_warnings():
        # Python warns of forks in processes with threads; the child calls no BLAS.
        warnings.simplefilter("ignore", DeprecationWarning)
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
    """Yield paths of new folders without end."""
    return (base / f"work {number}" for number in itertools.count())


def in_copies(
    template: Path, base: Path, action: Callable[[Path], object]
) -> Callable[[], tuple[Path, Callable[[], object]]]:
    """Return `prepare` for `sweep`: it copies a folder, and the action runs on the copy."""
    work_folders = folders(base)

    def prepare() -> tuple[Path, Callable[[], object]]:
        folder = next(work_folders)
        shutil.copytree(template, folder)
        return folder, lambda: action(folder)

    return prepare


def visible(folder: Path) -> dict[str, bytes]:
    """Return the contents of the files of a folder that are not hidden, by name."""
    return {
        path.name: path.read_bytes()
        for path in sorted(folder.iterdir())
        if not path.name.startswith(".")
    }
