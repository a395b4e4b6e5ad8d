"""Inject faults into a session at every system call that changes files.

Run with failing_calls.c preloaded. Arguments: a folder, the stride between the calls with a fault.
Prints as JSON how often each fault was injected. `test_store_faults.py` runs it.
"""

import ctypes
import errno
import gc
import json
import os
import shutil
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import session_workers as workers

from graphcuts_dp import GraphCutsError, LedgerError

# By name: the action of `arm` in failing_calls.c, and the errno that the call sets.
FAULTS = {
    "killed before a system call": (1, 0),
    "killed after a system call": (2, 0),
    "disk full for one system call": (3, errno.ENOSPC),
    "disk fails for one system call": (3, errno.EIO),
    "disk fails from a system call on": (4, errno.EIO),
}
METHODS = ("gaussian", "multiplicative-weights", "mirror-descent", "schatten")


def ask_and_report(path: Path, method: str, pipe: int) -> None:
    """Begin or resume a session, ask singly and several at once; write each answer to a pipe."""

    def ask(numbers: range) -> None:
        answers = session.ask_all([workers.query(number, method) for number in numbers])
        for number, answer in zip(numbers, answers, strict=True):
            os.write(pipe, json.dumps([number, answer.value]).encode() + b"\n")

    with workers.begin(path, method=method) as session:
        ask(range(1))
        ask(range(1, 2))
        ask(range(2, 6))


def run_with_fault(
    prepare: Callable[[], Callable[[int], None]],
    arming: tuple[int, int, int],
    refusal: type[GraphCutsError],
) -> tuple[list[Any], bool, int]:
    """Run an action in a child process with a fault.

    Args:
        prepare: returns the action, which writes lines of JSON to a pipe.
        arming: number of the call with the fault, and the values of `FAULTS`.
        refusal: the only exception that the action may raise, with a message of one line.

    Returns:
        The lines of the action, whether the fault was injected, and the number of calls.
    """
    read_end, write_end = os.pipe()
    gc.freeze()  # the child's garbage collector would write to, and so copy, all shared memory
    child = os.fork()
    if child == 0:
        library, status = ctypes.CDLL(None), 0
        try:
            act = prepare()
            library.arm(*arming)
            act(write_end)
        except refusal as problem:
            status = "\n" in str(problem)
        except BaseException:
            library.arm(0, 0, 0)
            traceback.print_exc()
            status = 1
        calls = [library.calls_failed(), library.calls_made()]
        library.arm(0, 0, 0)
        os.write(write_end, json.dumps({"calls": calls}).encode() + b"\n")
        os._exit(status)
    os.close(write_end)
    with os.fdopen(read_end) as stream:
        lines = [json.loads(line) for line in stream]
    _, status = os.waitpid(child, 0)
    was_killed = os.WIFSIGNALED(status)
    assert was_killed or status == 0, f"the action did not refuse with {arming}"
    failures, calls = (1, 0) if was_killed else lines.pop()["calls"]
    return lines, failures > 0, calls


def targets_and_faults(last: int, stride: int) -> Iterator[tuple[int, str]]:
    """Yield numbers of calls with a fault: all faults if the stride is 1, else one in turn."""
    for index, target in enumerate(range(1, last + 1, stride)):
        for fault in FAULTS if stride == 1 else [list(FAULTS)[index % len(FAULTS)]]:
            yield target, fault


def use_store(path: Path, log: Path, method: str, arming: tuple[int, int, int]) -> tuple[bool, int]:
    """Run `ask_and_report` with a fault; log its answers.

    Returns:
        Whether the fault was injected, and the number of calls.
    """
    answers, was_injected, calls = run_with_fault(
        lambda: partial(ask_and_report, path, method), arming, LedgerError
    )
    log.write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    return was_injected, calls


def is_refused_when_moved(path: Path, log: Path, method: str, journal_share: float) -> bool:
    """Return whether a copy of the store with part of its journal is refused.

    If it is not refused, it must have all answers of the log.
    """
    moved = path.parent / "moved" / path.name
    moved.parent.mkdir()
    for suffix, share in (("", 1.0), ("-journal", journal_share)):
        source, copy = (store.with_name(store.name + suffix) for store in (path, moved))
        if share and source.exists():
            content = source.read_bytes()
            copy.touch(0o600)
            copy.write_bytes(content[: round(share * len(content))])
    try:
        workers.check(moved, log, method)
    except LedgerError:
        return True
    finally:
        shutil.rmtree(moved.parent)
    return False


def sweep(folder: Path, method: str, stride: int) -> Counter:
    """Run the session with a fault at every stride-th call; count faults and states left."""
    counts: Counter = Counter()
    _, last = use_store(folder / f"{method}.db", folder / f"{method}.log", method, (10**9, 0, 0))
    workers.check(folder / f"{method}.db", folder / f"{method}.log", method)
    assert last > 50
    for target, fault in targets_and_faults(last, stride):
        action, error_number = FAULTS[fault]
        work_folder = folder / f"{method} {target} {fault}"
        work_folder.mkdir()
        path, log = work_folder / "a.db", work_folder / "a.log"
        was_injected, _ = use_store(path, log, method, (target, action, error_number))
        counts[fault] += was_injected
        if error_number == errno.ENOSPC:
            assert not list(work_folder.glob(".*")), (fault, target)
        has_journal = path.with_name("a.db-journal").exists()
        for share in (0.0, target % 100 / 100) if has_journal else (0.0,):
            counts["left: moved, then refused"] += is_refused_when_moved(path, log, method, share)
        counts["left: with a journal"] += has_journal
        workers.check(path, log, method)
        workers.check(path, log, method)  # interrupted steps are written off once only
    return counts


if __name__ == "__main__":
    counts: Counter = Counter()
    stride = int(sys.argv[2])
    for name in METHODS if stride == 1 else METHODS[::3]:  # all four take too long for quick tests
        counts += sweep(Path(sys.argv[1]), name, stride)
    print(json.dumps(counts))  # noqa: T201
