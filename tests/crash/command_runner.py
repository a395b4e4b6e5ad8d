"""Inject faults into commands that charge a store at every system call that changes files.

Run with failing_calls.c preloaded. Arguments: a folder, the stride between the calls with a fault.
Prints as JSON how often each fault was injected, and the states that were left.
`test_resumption.py` runs it.
"""

import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import command_cases as cases
import pyarrow  # noqa: F401  # modules are loaded here, so that no call of an import has a fault
import pydantic  # noqa: F401
from resumption_cases import LINES, check_and_resume, inputs
from store_runner import FAULTS, run_with_fault, targets_and_faults

from graphcuts_dp.cli import cuts, flows, release  # noqa: F401


def call_and_report(folder: Path, line: str, pipe: int) -> None:
    """Run a command and write its status and its messages to a pipe."""
    result = cases.call(folder, line)
    os.write(pipe, json.dumps([result.status, result.err]).encode() + b"\n")


def sweep(
    base: Path,
    line: str,
    files: dict[str, bytes],
    stride: int,
    check: Callable[[Path, int | None, str], str],
) -> Counter:
    """Run a command with a fault at every stride-th call; count faults and states left.

    Args:
        base: folder in which each run has a new one, which no other command has used.
        line: the command line.
        files: the files of each folder, by name.
        stride: 1 for every fault at each call; else one fault at every stride-th call.
        check: checks a folder by the status of its command, None if it was killed, and its
            messages, and returns the state that was left.
    """
    counts, undisturbed = Counter(), base / "undisturbed"
    cases.prepare(undisturbed, files)
    _, _, last = run_with_fault(
        lambda: partial(call_and_report, undisturbed, line), (10**9, 0, 0), AssertionError
    )
    check(undisturbed, 0, "")
    shutil.rmtree(undisturbed)
    assert last > 50
    for target, fault in targets_and_faults(last, stride):
        folder = base / f"{target} {fault}"
        cases.prepare(folder, files)
        reports, was_injected, _ = run_with_fault(
            partial(partial, call_and_report, folder, line),
            (target, *FAULTS[fault]),
            AssertionError,
        )
        counts[fault] += was_injected
        status, messages = reports[0] if reports else (None, "")
        counts[f"left: {check(folder, status, messages)}"] += 1
        shutil.rmtree(folder)
    return counts


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    files = inputs(folder / "inputs")
    counts: Counter = Counter()
    for name, line in LINES.items():
        (folder / name).mkdir()
        counts += sweep(folder / name, line, files, int(sys.argv[2]), check_and_resume)
    print(json.dumps(counts))  # noqa: T201
