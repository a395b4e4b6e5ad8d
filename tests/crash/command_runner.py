"""Strikes commands that charge a store at every system call that changes files.

Run with failing_calls.c preloaded. Arguments: a folder, the stride between the calls that are
struck. Prints how often each trouble struck, and what that left, as JSON.
`test_resumption.py` runs it.
"""

import json
import os
import shutil
import sys
from collections import Counter
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import command_cases as cases
import pyarrow  # noqa: F401  # what the commands load is loaded before they are struck
import pydantic  # noqa: F401
from resumption_cases import LINES, inputs, judge
from store_runner import TROUBLES, strikes, struck

from graphcuts_dp.cli import cuts, flows, release  # noqa: F401


def act(folder: Path, line: str, say: int) -> None:
    """Run a command and tell its status and its messages."""
    ended = cases.call(folder, line)
    os.write(say, json.dumps([ended.status, ended.err]).encode() + b"\n")


def sweep(base: Path, name: str, files: dict[str, bytes], stride: int) -> Counter:
    """Strike at every stride-th call, by one trouble after the other."""
    line, counts = LINES[name], Counter()
    whole = base / f"{name} whole"
    cases.prepare(whole, files)
    _, _, last = struck(lambda: partial(act, whole, line), (10**9, 0, 0), AssertionError)
    judge(whole, 0, "")
    assert last > 50
    for target, trouble in strikes(last, stride):
        folder = base / f"{name} {target} {trouble}"
        cases.prepare(folder, files)
        arms = (target, *TROUBLES[trouble])
        told, hit, _ = struck(partial(partial, act, folder, line), arms, AssertionError)
        counts[trouble] += hit
        status, messages = told[0] if told else (None, "")
        counts[f"left: {judge(folder, status, messages)}"] += 1
        shutil.rmtree(folder)
    return counts


if __name__ == "__main__":
    place = Path(sys.argv[1])
    read = inputs(place / "inputs")
    found: Counter = Counter()
    for command in LINES:
        found += sweep(place, command, read, int(sys.argv[2]))
    print(json.dumps(found))  # noqa: T201
