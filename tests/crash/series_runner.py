"""Strikes the commands of two months at every system call that changes files.

Run with failing_calls.c preloaded. Arguments: a folder, the stride between the calls that are
struck. Prints how often each trouble struck, and what that left, as JSON.
`test_series_faults.py` runs it.
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
import pyarrow  # noqa: F401  # what the command loads is loaded before it is struck
import pydantic  # noqa: F401
from series_cases import MONTHS, inputs, judge, line, published
from store_runner import TROUBLES, strikes, struck

from graphcuts_dp.cli import updates  # noqa: F401


def act(folder: Path, month: str, say: int) -> None:
    """Run the command of a month and tell its status and its messages."""
    ended = cases.call(folder, line(month))
    os.write(say, json.dumps([ended.status, ended.err]).encode() + b"\n")


def sweep(base: Path, month: str, files: dict[str, bytes], stride: int) -> Counter:
    """Strike at every stride-th call, by one trouble after the other."""
    counts, whole = Counter(), base / f"{month} whole"
    cases.prepare(whole, files)
    before = published(whole)
    _, _, last = struck(lambda: partial(act, whole, month), (10**9, 0, 0), AssertionError)
    judge(whole, month, before, 0, "")
    assert last > 50
    for target, trouble in strikes(last, stride):
        folder = base / f"{month} {target} {trouble}"
        cases.prepare(folder, files)
        arms = (target, *TROUBLES[trouble])
        told, hit, _ = struck(partial(partial, act, folder, month), arms, AssertionError)
        counts[trouble] += hit
        status, messages = told[0] if told else (None, "")
        counts[f"left: {judge(folder, month, before, status, messages)}"] += 1
        shutil.rmtree(folder)
    return counts


if __name__ == "__main__":
    place = Path(sys.argv[1])
    read = inputs(place / "inputs")
    found = sweep(place, MONTHS[0], read, int(sys.argv[2]))
    first = place / "first"
    cases.prepare(first, read)
    assert cases.call(first, line(MONTHS[0])).status == 0
    begun = {path.name: path.read_bytes() for path in first.iterdir() if path.is_file()}
    found += sweep(place, MONTHS[1], begun, int(sys.argv[2]))
    print(json.dumps(found))  # noqa: T201
