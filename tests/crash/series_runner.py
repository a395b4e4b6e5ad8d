"""Inject faults into the commands of two months at every system call that changes files.

Run with failing_calls.c preloaded. Arguments: a folder, the stride between the calls with a fault.
Prints as JSON how often each fault was injected, and the states that were left.
`test_series_faults.py` runs it.
"""

import json
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import command_cases as cases
import pyarrow  # noqa: F401  # modules are loaded here, so that no call of an import has a fault
import pydantic  # noqa: F401
from command_runner import sweep
from series_cases import MONTHS, check_and_repeat, command_of, inputs, published_contents

from graphcuts_dp.cli import updates  # noqa: F401


def sweep_month(base: Path, month: str, files: dict[str, bytes], stride: int) -> Counter:
    """Run a month's command with faults, see `sweep`."""
    (base / month).mkdir()
    cases.prepare(base / month / "before", files)
    before = published_contents(base / month / "before")

    def check(folder: Path, status: int | None, messages: str) -> str:
        return check_and_repeat(folder, month, before, status, messages)

    return sweep(base / month, command_of(month), files, stride, check)


if __name__ == "__main__":
    folder, stride = Path(sys.argv[1]), int(sys.argv[2])
    files = inputs(folder / "inputs")
    counts = sweep_month(folder, MONTHS[0], files, stride)
    first_month = folder / "first"
    cases.prepare(first_month, files)
    assert cases.call(first_month, command_of(MONTHS[0])).status == 0
    files = {path.name: path.read_bytes() for path in first_month.iterdir() if path.is_file()}
    counts += sweep_month(folder, MONTHS[1], files, stride)
    print(json.dumps(counts))  # noqa: T201
