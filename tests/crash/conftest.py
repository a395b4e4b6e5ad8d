"""A fixture that injects faults into system calls, and a summary of the faults injected."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import faults
import pytest

HERE = Path(__file__).parent


@pytest.fixture
def _nothing_waits_for_the_disk():
    """Undo the fixture of all tests: tests of crashes flush to the disk."""


@pytest.fixture(scope="session")
def strike(tmp_path_factory):
    """Return a function that runs a script of this folder with failing_calls.c preloaded.

    It takes the script, a folder, and the stride between the calls with a fault. It returns counts
    of the faults injected and of the states that they left.
    """
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs Linux and a C compiler")
    library = tmp_path_factory.mktemp("library") / "failing_calls.so"
    source = HERE / "failing_calls.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    module_folders = os.pathsep.join(str(path) for path in (HERE.parents[1], HERE.parent, HERE))

    def run(script: str, folder: Path, stride: int) -> dict[str, int]:
        process = subprocess.run(
            [sys.executable, HERE / script, folder, str(stride)],
            env={**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": module_folders},
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == 0, process.stderr
        counts = json.loads(process.stdout)
        for kind, count in counts.items():
            if not kind.startswith("left"):
                faults.injected[kind] = faults.injected.get(kind, 0) + count
        return counts

    return run


def pytest_terminal_summary(terminalreporter):
    """Print one line for each kind of fault, and their sum."""
    if faults.injected:
        terminalreporter.section("faults injected")
        for kind, count in sorted(faults.injected.items()):
            terminalreporter.write_line(f"{count:>7,}  {kind}")
        terminalreporter.write_line(f"{sum(faults.injected.values()):>7,}  in all")
