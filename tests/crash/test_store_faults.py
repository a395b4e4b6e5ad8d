"""A session store on a failing disk, in a read-only folder, or of another version."""

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

import faults
import pytest
import session_workers as workers
from command_cases import call

from graphcuts_dp import LedgerError

NOBODY = 65534  # user id of the account `nobody` on Linux


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("stride", "minimum"), [(23, 8), pytest.param(1, 1000, marks=pytest.mark.slow)]
)
def test_a_session_with_a_fault_at_any_system_call_keeps_its_answers(
    strike, tmp_path, stride, minimum
):
    counts = strike("store_runner.py", tmp_path, stride)
    assert sum(counts.values()) >= minimum
    assert stride > 1 or counts["left: moved, then refused"] > 0


def run_as_nobody(action: Callable[[], str]) -> str:
    """Run an action as a user without rights; return its text, or the repr of its exception."""
    read_end, write_end = os.pipe()

    def run_and_report() -> None:
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        try:
            os.write(write_end, action().encode())
        except BaseException as problem:  # the parent checks it
            os.write(write_end, repr(problem).encode())

    child = faults.fork(run_and_report)
    os.close(write_end)
    with os.fdopen(read_end) as stream:
        report = stream.read()
    os.waitpid(child, 0)
    return report


@pytest.fixture
def read_only_folder():
    """Yield a read-only folder with a store that `nobody` owns."""
    folder = Path(tempfile.mkdtemp())
    with workers.begin(folder / "a.db") as session:
        session.ask([1])
    if os.geteuid() == 0:
        os.chown(folder / "a.db", NOBODY, NOBODY)
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_store_in_a_read_only_folder_is_refused_and_unchanged(read_only_folder):
    before = (read_only_folder / "a.db").read_bytes()

    def create_store():
        with workers.begin(read_only_folder / "new.db"):
            return "created"

    def use_store():
        with workers.begin(read_only_folder / "a.db") as session:
            return str(session.ask([2]).value)

    for action, message in (
        (create_store, "cannot create the store"),
        (use_store, "cannot lock"),
    ):
        report = run_as_nobody(action)
        assert report.startswith("LedgerError("), report
        assert message in report
        assert "Permission denied" in report
    assert [path.name for path in read_only_folder.iterdir()] == ["a.db"]
    assert (read_only_folder / "a.db").read_bytes() == before


@pytest.mark.parametrize("version", [0, 1, 1000])
def test_a_store_of_another_version_is_refused_and_unchanged(tmp_path, version):
    path = tmp_path / "a.db"
    workers.begin(path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="another version"):
        workers.begin(path)
    for line in ("status a.db", "export a.db", "ask a.db --from 1"):
        result = call(tmp_path, f"session {line}")
        assert result.status == 2
        assert result.out == ""
        assert result.err.count("\n") == 1
        assert f"version {version}" in result.err
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]
