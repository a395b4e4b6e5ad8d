"""Stores, locks and commands where Python is as on Windows: the tests of these, run once more."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STORES = ("tests/ledger/test_durability.py",)
MORE = (
    *("tests/ledger", "tests/cli/test_session_cli.py", "tests/session/test_every_session.py"),
    "tests/server/test_people.py",
)


def _ended(folder, *words):
    options = ("-p", "tests.other_system", "-n", "0", "-q", f"--basetemp={folder / 'inner'}")
    command = [sys.executable, "-m", "pytest", *options, *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "files",
    [pytest.param(STORES, id="stores"), pytest.param(MORE, id="more", marks=pytest.mark.slow)],
)
def test_stores_and_commands_work_without_fcntl(files, tmp_path):
    # Windows has neither permissions of others nor folders that can be flushed
    without = "not other_files_are and not on_the_disk_before_it_has_its_name"
    ended = _ended(tmp_path, *files, "-k", without)
    assert ended.returncode == 0, ended.stdout[-3000:]


def test_what_plays_the_other_system_does_as_it_says(tmp_path):
    """No `fcntl`, no removal of what is locked, no folder opened, no flush of what is read."""
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
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert ended.stdout.split() == ["fcntl", "resource", "refused", "refused", "read", "only"]
