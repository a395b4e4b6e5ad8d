"""Running command lines, for all tests of the command line."""

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
        status = main._status()
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture
def call(command_line):
    """The same; files about one command give it a fixture that begins with its name."""
    return command_line
