"""Inject faults into the commands of two months at every system call that changes files.

Run with failing_calls.c preloaded. Arguments: a folder, the stride between the calls with a fault.
Prints as JSON how often each fault was injected, and the states that were left.
`test_series_faults.py` runs it.
"""

import json
import shutil
import sys
from collections import Counter
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import command_cases as cases
import pyarrow  # noqa: F401  # modules are loaded here, so that no call of an import has a fault
import pydantic  # noqa: F401
from command_runner import call_and_report
from series_cases import MONTHS, check_and_repeat, command_of, inputs, published_contents
from store_runner import FAULTS, run_with_fault, targets_and_faults

from graphcuts_dp.cli import updates  # noqa: F401


def sweep(base: Path, month: str, files: dict[str, bytes], stride: int) -> Counter:
    """Run a month's command with a fault at every stride-th call; count faults and states left."""
    counts, undisturbed = Counter(), base / f"{month} undisturbed"
    line = command_of(month)
    cases.prepare(undisturbed, files)
    before = published_contents(undisturbed)
    _, _, last = run_with_fault(
        lambda: partial(call_and_report, undisturbed, line), (10**9, 0, 0), AssertionError
    )
    check_and_repeat(undisturbed, month, before, 0, "")
    assert last > 50
    for target, fault in targets_and_faults(last, stride):
        folder = base / f"{month} {target} {fault}"
        cases.prepare(folder, files)
        reports, was_injected, _ = run_with_fault(
            partial(partial, call_and_report, folder, line),
            (target, *FAULTS[fault]),
            AssertionError,
        )
        counts[fault] += was_injected
        status, messages = reports[0] if reports else (None, "")
        counts[f"left: {check_and_repeat(folder, month, before, status, messages)}"] += 1
        shutil.rmtree(folder)
    return counts


if __name__ == "__main__":
    folder, stride = Path(sys.argv[1]), int(sys.argv[2])
    files = inputs(folder / "inputs")
    counts = sweep(folder, MONTHS[0], files, stride)
    first_month = folder / "first"
    cases.prepare(first_month, files)
    assert cases.call(first_month, command_of(MONTHS[0])).status == 0
    files = {path.name: path.read_bytes() for path in first_month.iterdir() if path.is_file()}
    counts += sweep(folder, MONTHS[1], files, stride)
    print(json.dumps(counts))  # noqa: T201
