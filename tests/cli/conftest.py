"""Running command lines, for all tests of the command line."""

import json
import sys

import pytest

from graphcuts_dp.cli import main


@pytest.fixture
def command_line(monkeypatch, capsys, tmp_path):
    """Run a command in this process, in a folder of its own.

    Returns (status, standard output, standard error).
    """
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["graphcuts-dp", *map(str, arguments)])
        status = main.run_command()
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture
def call(command_line):
    """The same; files about one command give it a fixture that begins with its name."""
    return command_line


@pytest.fixture
def done(call):
    """Run a command that goes well: what it prints, and what it says beside."""

    def run(*arguments):
        status, out, err = call(*arguments)
        assert status == 0, err
        return out, err

    return run


@pytest.fixture
def told(done):
    """Run a command that goes well: its JSON."""
    return lambda *arguments: json.loads(done(*arguments, "--json")[0])


def files_in(folder):
    """All but what Python keeps of a module of one's own that it has compiled."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path: path.read_bytes() for path in files if path.parent.name != "__pycache__"}


@pytest.fixture
def refused(call, tmp_path):
    """Run a command that is refused in one line, and leaves every file as it was: that line."""

    def run(*arguments):
        before = files_in(tmp_path)
        status, out, err = call(*arguments)
        lines = [line for line in err.splitlines() if not line.startswith("note: ")]
        assert (status, out, len(lines)) == (2, "", 1), err
        assert lines[0].startswith("error: ")
        assert files_in(tmp_path) == before
        return lines[0]

    return run
