"""What a command and an import load: no more than they need."""

import io
import json
import os
import subprocess
import sys

import pytest
from rich.console import Console

import graphcuts_dp as gc
from graphcuts_dp.cli import console, main

COMMAND = "from graphcuts_dp.cli import main"
HEAVY = ("cvxpy", "highspy", "igraph", "matplotlib", "networkx", "pandas", "scipy", "sqlite3")


def loaded(code):
    """Which of the heavy modules a fresh interpreter has after running this."""
    report = f"import json, sys; print(json.dumps([m for m in {HEAVY} if m in sys.modules]))"
    ended = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"], capture_output=True, text=True, check=True
    )
    return set(json.loads(ended.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    ("code", "needed"),
    [
        ("import graphcuts_dp", set()),
        (f"{COMMAND}; import sys; sys.argv = ['x', '--help']; main._status()", set()),
        ("import graphcuts_dp as gc; gc.read_graph", {"scipy"}),
        ("import graphcuts_dp as gc; gc.open_session", {"scipy", "sqlite3"}),
        (f"{COMMAND}; main._loaded('session')", {"scipy", "sqlite3"}),
        (f"{COMMAND}; main._loaded('release')", {"scipy", "highspy", "sqlite3"}),
    ],
)
def test_only_what_is_needed_is_loaded(code, needed):
    assert loaded(code) <= needed


@pytest.mark.parametrize("name", main.COMMANDS)
def test_the_list_of_commands_says_what_each_says(name):
    assert main.COMMANDS[name][1] == main._loaded(name).get_short_help_str(400)


def test_a_name_that_is_nearly_right_is_suggested(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["graphcuts-dp", "relase"])
    assert main._status() == 2
    assert "Did you mean 'release'" in capsys.readouterr().err


def test_without_fcntl_the_import_says_which_systems_will_do():
    """As on Windows, where there is no module of this name."""
    code = "import sys; sys.modules['fcntl'] = None; import graphcuts_dp"
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    last = ended.stderr.splitlines()[-1]
    assert ended.returncode == 1
    assert last.startswith("ImportError: graphcuts_dp needs a Unix system")
    assert "Windows" in last
    assert "No module named" not in ended.stderr


@pytest.mark.parametrize(
    "words", [(), ("plan",), ("session",), ("session", "ask"), ("serve", "access"), ("evaluate",)]
)
def test_the_short_form_of_help_is_known_everywhere(words, monkeypatch, capsys):
    told = []
    for option in ("-h", "--help"):
        monkeypatch.setattr("sys.argv", ["graphcuts-dp", *words, option])
        assert main._status() == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]
    assert "-h, --help" in told[0]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(shell, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["graphcuts-dp", "--completion", shell])
    assert main._status() == 0
    script = capsys.readouterr().out
    assert f"_GRAPHCUTS_DP_COMPLETE=complete_{shell}" in script
    assert "graphcuts-dp" in script


def test_a_shell_is_told_what_may_come_next():
    """As the script asks for it."""
    code = f"{COMMAND}; import sys; sys.argv = ['graphcuts-dp']; main.run()"
    asked = {
        "_GRAPHCUTS_DP_COMPLETE": "complete_bash",
        "COMP_WORDS": "graphcuts-dp rel",
        "COMP_CWORD": "1",
    }
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **asked},
    )
    assert ended.stdout.split() == [
        "release",
        "release-iteratively",
    ]


def test_the_version_is_told(call):
    assert gc.__version__ in call("--version")[1]


def test_an_unknown_shell_is_told_in_a_line(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["graphcuts-dp", "--completion", "tcsh"])
    assert main._status() == 2
    assert "knows bash, zsh, fish" in capsys.readouterr().err


@pytest.mark.parametrize(("no_colour", "bold"), [("", True), ("1", False)])
def test_tables_are_bold_unless_no_color_is_set(no_colour, bold, monkeypatch):
    text = io.StringIO()
    terminal = Console(file=text, force_terminal=True, width=80)
    monkeypatch.setattr(console, "out", terminal)
    monkeypatch.setenv("NO_COLOR", no_colour)
    console.show_table("Title", ("a", "b"), [("1", "2")])
    assert ("\x1b[" in text.getvalue()) == bold
