"""The session store on a disk that fails, in a read-only folder, of another version."""

import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

import faults
import pytest
import session_workers as workers
from command_cases import call

from graphcuts_dp import LedgerError

NOBODY = 65534


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("stride", "least"), [(23, 8), pytest.param(1, 1000, marks=pytest.mark.slow)]
)
def test_system_calls_of_a_session_fail_or_kill_it(strike, tmp_path, stride, least):
    found = strike("store_runner.py", tmp_path, stride)
    assert sum(found.values()) >= least
    assert stride > 1 or found["left: moved, then refused"] > 0


def as_nobody(action):
    """Run an action by a user who may not write everywhere; what it returns is text, and told."""
    hear, say = os.pipe()

    def act():
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        try:
            os.write(say, action().encode())
        except BaseException as problem:  # the parent looks at it
            os.write(say, repr(problem).encode())

    child = faults.fork(act)
    os.close(say)
    with os.fdopen(hear) as stream:
        told = stream.read()
    os.waitpid(child, 0)
    return told


@pytest.fixture
def shut():
    """A folder with a store of nobody's, whose entries nobody may change."""
    folder = Path(tempfile.mkdtemp())
    with workers.begin(folder / "a.db") as session:
        session.ask([1])
    if os.geteuid() == 0:
        os.chown(folder / "a.db", NOBODY, NOBODY)
    folder.chmod(0o555)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_store_in_a_read_only_folder_is_refused_and_unharmed(shut):
    before = (shut / "a.db").read_bytes()

    def make():
        with workers.begin(shut / "new.db"):
            return "made"

    def use():
        with workers.begin(shut / "a.db") as session:
            return str(session.ask([2]).value)

    for action, words in ((make, "cannot create the store"), (use, "cannot lock")):
        told = as_nobody(action)
        assert told.startswith("LedgerError("), told
        assert words in told
        assert "Permission denied" in told
    assert [path.name for path in shut.iterdir()] == ["a.db"]
    assert (shut / "a.db").read_bytes() == before


@pytest.mark.parametrize("version", [0, 1, 1000])
def test_a_store_of_another_version_is_refused_and_unharmed(tmp_path, version):
    path = tmp_path / "a.db"
    workers.begin(path).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="another version"):
        workers.begin(path)
    for line in ("status a.db", "export a.db", "ask a.db --from 1"):
        ended = call(tmp_path, f"session {line}")
        assert ended.status == 2
        assert ended.out == ""
        assert ended.err.count("\n") == 1
        assert f"version {version}" in ended.err
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]
