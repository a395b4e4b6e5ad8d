"""Strikes a session at every system call that changes files; run with failing_calls.c preloaded.

Arguments: a folder, the stride between the calls that are struck. Prints how often each trouble
struck, as JSON. `test_store_faults.py` runs it.
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

TROUBLES = {
    "killed before a system call": (1, 0),
    "killed after a system call": (2, 0),
    "disk full for one system call": (3, errno.ENOSPC),
    "disk fails for one system call": (3, errno.EIO),
    "disk fails from a system call on": (4, errno.EIO),
}
METHODS = ("gaussian", "multiplicative-weights", "mirror-descent", "schatten")


def use(path: Path, method: str, say: int) -> None:
    """Begin or resume a session, ask singly and several at once; show each answer at once."""

    def show(numbers: range) -> None:
        answers = session.ask_all([workers.query(number, method) for number in numbers])
        for number, answer in zip(numbers, answers, strict=True):
            os.write(say, json.dumps([number, answer.value]).encode() + b"\n")

    with workers.begin(path, method=method) as session:
        show(range(1))
        show(range(1, 2))
        show(range(2, 6))


def struck(
    prepare: Callable[[], Callable[[int], None]],
    arms: tuple[int, int, int],
    refusal: type[GraphCutsError],
) -> tuple[list[Any], bool, int]:
    """Do what `prepare` makes ready in a child process that is struck, and may refuse in one line.

    Returns what it said, whether it was struck, and how many calls it made.
    """
    hear, say = os.pipe()
    gc.freeze()  # what the child shares is not looked through there, and so not copied
    child = os.fork()
    if child == 0:
        library, status = ctypes.CDLL(None), 0
        try:
            act = prepare()
            library.arm(*arms)
            act(say)
        except refusal as problem:
            status = "\n" in str(problem)
        except BaseException:
            library.arm(0, 0, 0)
            traceback.print_exc()
            status = 1
        calls = [library.calls_failed(), library.calls_made()]
        library.arm(0, 0, 0)
        os.write(say, json.dumps({"calls": calls}).encode() + b"\n")
        os._exit(status)
    os.close(say)
    with os.fdopen(hear) as stream:
        told = [json.loads(line) for line in stream]
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status)
    assert killed or status == 0, f"something else than a refusal at {arms}"
    failed, calls = (1, 0) if killed else told.pop()["calls"]
    return told, failed > 0, calls


def strikes(last: int, stride: int) -> Iterator[tuple[int, str]]:
    """Which calls are struck, and how: each by all troubles, or by one after the other."""
    for index, target in enumerate(range(1, last + 1, stride)):
        for trouble in TROUBLES if stride == 1 else [list(TROUBLES)[index % len(TROUBLES)]]:
            yield target, trouble


def in_child(path: Path, log: Path, method: str, arms: tuple[int, int, int]) -> tuple[bool, int]:
    """Use a store in a child process; returns whether it was struck, and how many calls it made."""
    told, hit, calls = struck(lambda: partial(use, path, method), arms, LedgerError)
    log.write_text("".join(json.dumps(answer) + "\n" for answer in told))
    return hit, calls


def refused_when_moved(path: Path, log: Path, method: str, journal: float) -> bool:
    """Whether the store is refused with a share of its journal, or all that was shown is known."""
    moved = path.parent / "moved" / path.name
    moved.parent.mkdir()
    for suffix, share in (("", 1.0), ("-journal", journal)):
        source, copy = (place.with_name(place.name + suffix) for place in (path, moved))
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
    """Strike at every stride-th call, by one trouble after the other."""
    counts: Counter = Counter()
    _, last = in_child(folder / f"{method}.db", folder / f"{method}.log", method, (10**9, 0, 0))
    workers.check(folder / f"{method}.db", folder / f"{method}.log", method)
    assert last > 50
    for target, trouble in strikes(last, stride):
        what, number = TROUBLES[trouble]
        place = folder / f"{method} {target} {trouble}"
        place.mkdir()
        path, log = place / "a.db", place / "a.log"
        hit, _ = in_child(path, log, method, (target, what, number))
        counts[trouble] += hit
        if number == errno.ENOSPC:
            assert not list(place.glob(".*")), (trouble, target)
        cut = [target % 100 / 100] if path.with_name("a.db-journal").exists() else []
        for share in (0.0, *cut):
            counts["left: moved, then refused"] += refused_when_moved(path, log, method, share)
        counts["left: with a journal"] += len(cut)
        workers.check(path, log, method)
        workers.check(path, log, method)  # what was interrupted is written off once only
    return counts


if __name__ == "__main__":
    found: Counter = Counter()
    apart = int(sys.argv[2])
    for name in METHODS if apart == 1 else METHODS[::3]:  # the others take too long to be struck
        found += sweep(Path(sys.argv[1]), name, apart)
    print(json.dumps(found))  # noqa: T201
