"""Strikes system calls, and says at the end how many faults were injected."""

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
    """These tests do."""


@pytest.fixture(scope="session")
def strike(tmp_path_factory):
    """Runs a script of this folder under a library that takes the place of system calls.

    It is given a folder and the stride between the calls that are struck; it tells how often each
    trouble struck, and what that left.
    """
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs Linux and a C compiler")
    library = tmp_path_factory.mktemp("library") / "failing_calls.so"
    source = HERE / "failing_calls.c"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    places = os.pathsep.join(str(path) for path in (HERE.parents[1], HERE.parent, HERE))

    def run(script, folder, stride):
        ended = subprocess.run(
            [sys.executable, HERE / script, folder, str(stride)],
            env={**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": places},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        found = json.loads(ended.stdout)
        for kind, count in found.items():
            if not kind.startswith("left"):
                faults.injected[kind] = faults.injected.get(kind, 0) + count
        return found

    return run


def pytest_terminal_summary(terminalreporter):
    """One line for each kind of fault, and their sum."""
    if faults.injected:
        terminalreporter.section("faults injected")
        for kind, count in sorted(faults.injected.items()):
            terminalreporter.write_line(f"{count:>7,}  {kind}")
        terminalreporter.write_line(f"{sum(faults.injected.values()):>7,}  in all")
