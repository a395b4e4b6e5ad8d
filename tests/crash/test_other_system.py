"""Tests of stores, locks and commands, repeated with Python's functions as on Windows."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
QUICK_FILES = ("tests/ledger/test_durability.py",)
SLOW_FILES = (
    *("tests/ledger", "tests/cli/test_session_cli.py", "tests/session/test_every_session.py"),
    "tests/server/test_people.py",
)


def _run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    options = ("-p", "tests.other_system", "-n", "0", "-q", f"--basetemp={folder / 'inner'}")
    command = [sys.executable, "-m", "pytest", *options, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "files",
    [
        pytest.param(QUICK_FILES, id="stores"),
        pytest.param(SLOW_FILES, id="more", marks=pytest.mark.slow),
    ],
)
def test_stores_and_commands_work_without_fcntl(files, tmp_path):
    # Windows has neither permissions of other users nor folders that can be flushed.
    selection = "not other_files_are and not on_the_disk_before_it_has_its_name"
    process = _run_pytest(tmp_path, *files, "-k", selection)
    assert process.returncode == 0, process.stdout[-3000:]


def test_the_plug_in_of_the_other_system_refuses_what_windows_refuses(tmp_path):
    """Windows lacks `fcntl` and `resource`.

    It refuses to remove a locked file, to open a folder, and to flush a file opened for reading.
    """
    code = f"""
import os, tests.other_system, filelock
for name in ("fcntl", "resource"):
    try:
        __import__(name)
    except ImportError:
        print(name)
path = {str(tmp_path / "x")!r}
handle = os.open(path, os.O_RDWR | os.O_CREAT)
assert filelock.lock_descriptor(handle, blocking=False)
for trial in (lambda: os.unlink(path), lambda: os.open({str(tmp_path)!r}, os.O_RDONLY)):
    try:
        trial()
    except PermissionError:
        print("refused")
os.close(handle)
os.unlink(path)
try:
    os.fsync(os.open(__file__ if "__file__" in globals() else os.__file__, os.O_RDONLY))
except OSError:
    print("read only")
"""
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert process.stdout.split() == ["fcntl", "resource", "refused", "refused", "read", "only"]
