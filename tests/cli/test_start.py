"""What a command and an import load: no more than they need."""

import io
import json
import os
import re
import subprocess
import sys

import pytest
from rich.console import Console

import graphcuts_dp as gc
from graphcuts_dp.cli import console, main

COMMAND = "from graphcuts_dp.cli import main"
HEAVY = ("cvxpy", "highspy", "igraph", "matplotlib", "networkx", "pandas", "scipy", "sqlite3")


def run(code, **options):
    """Run code in a fresh interpreter."""
    line = [sys.executable, "-c", code]
    return subprocess.run(line, capture_output=True, text=True, check=False, **options)


# Steps in one interpreter, one after the other, and the heavy modules that may be loaded then.
STEPS = {
    f"{COMMAND}; import sys; sys.argv = ['x', '--help']; main.run_command()": set(),
    "import graphcuts_dp as gc; gc.read_graph": {"scipy"},
    "main.loaded_command('session')": {"scipy", "sqlite3"},
    "main.loaded_command('release')": {"scipy", "highspy", "sqlite3"},
}


@pytest.mark.thorough
def test_only_what_is_needed_is_loaded():
    report = f"import json; print(json.dumps([m for m in {HEAVY} if m in sys.modules]))"
    # Older versions of filelock load sqlite3.
    by_locks = json.loads(run(f"import filelock, sys\n{report}").stdout)
    ended = run("\n".join(f"{step}\n{report}" for step in STEPS))
    assert ended.returncode == 0, ended.stderr
    loaded_after = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("[")]
    assert len(loaded_after) == len(STEPS)
    for loaded, needed in zip(loaded_after, STEPS.values(), strict=True):
        assert set(loaded) <= needed | set(by_locks)


@pytest.mark.thorough
def test_a_release_loads_no_other_construction():
    """`release-iteratively` and `plan` load what learns; `release` would wait for it in vain."""
    code = (
        "from graphcuts_dp.cli import main; main.loaded_command('release'); import sys\n"
        "print([name for name in sys.modules if name.startswith('graphcuts_dp.iterative')])"
    )
    ended = run(code)
    assert ended.stdout.strip() == "[]", ended.stdout + ended.stderr


@pytest.mark.thorough
def test_a_first_graph_loads_no_library_that_only_some_uses_need():
    """`scripts/bench/bench_start.py` measures how fast the first graph is, which rests on this."""
    heavy = ("cvxpy", "highspy", "igraph", "matplotlib", "networkx", "pandas", "pyarrow", "scs")
    heavy += ("asyncio", "duckdb", "fastapi", "filelock", "rich", "ssl", "typer", "urllib.request")
    code = (
        "import sys\nbefore = set(sys.modules)\nimport scipy.sparse\nbefore |= set(sys.modules)\n"
        "import graphcuts_dp as gc; gc.Graph([0], [1], vertices=3)\n"
        f"print([name for name in {heavy} if name in set(sys.modules) - before])"
    )
    ended = run(code)
    assert ended.stdout.strip() == "[]", ended.stdout + ended.stderr


@pytest.mark.parametrize("name", main.COMMANDS)
def test_the_list_of_commands_has_the_summary_of_each(name):
    assert main.COMMANDS[name][1] == main.loaded_command(name).get_short_help_str(400)


@pytest.mark.parametrize(
    "words", [(), ("plan",), ("session",), ("session", "ask"), ("serve", "access"), ("evaluate",)]
)
def test_the_short_form_of_help_is_known_everywhere(words, done):
    assert done(*words, "-h") == done(*words, "--help")
    assert "-h, --help" in done(*words, "-h")[0]


@pytest.mark.thorough
def test_a_shell_completes_names_of_commands():
    """The variables are those that the script of --show-completion sets."""
    code = f"{COMMAND}; import sys; sys.argv = ['graphcuts-dp']; main.run()"
    words = {"COMP_WORDS": "graphcuts-dp rel", "COMP_CWORD": "1"}
    ended = run(code, env={**os.environ, **words, "_GRAPHCUTS_DP_COMPLETE": "complete_bash"})
    assert ended.stdout.split() == ["release", "release-iteratively"]


def test_the_version_is_printed_and_an_unknown_command_gets_a_suggestion(done, refused):
    assert gc.__version__ in done("--version")[0]
    assert "Did you mean 'release'" in refused("relase")
    assert "--install-completion" in done("--help")[0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("release", "--out", "x"), "OUT is typed without --out: graphcuts-dp release GRAPH OUT"),
        (("flows", "--output", "x"), "OUT is typed without --output: graphcuts-dp flows GRAPH GRO"),
        (("flows", "--epsilom", "1"), "No such option: --epsilom; did you mean --epsilon?"),
        (("session", "start", "--verticse", "1"), "did you mean --vertices?"),
        (("flows", "--unlike"), "No such option: --unlike (see graphcuts-dp flows --help)"),
        (("plan", "--ask=trips.csv"), "--ask takes no value: type --ask alone"),
        (("flows", "a", "b", "c", "--epsilon"), "--epsilon needs a value after it"),
    ],
)
def test_a_wrong_option_is_refused_in_a_line_that_says_how_it_is_typed(words, message, refused):
    assert message in refused(*words)


@pytest.mark.parametrize(("no_colour", "bold"), [("", True), ("1", False)])
def test_tables_are_bold_unless_no_color_is_set(no_colour, bold, monkeypatch):
    text = io.StringIO()
    terminal = Console(file=text, force_terminal=True, width=80)
    monkeypatch.setattr(console, "out", terminal)
    monkeypatch.setenv("NO_COLOR", no_colour)
    console.show_table("Title", ("a", "b"), [("1", "2")])
    assert ("\x1b[" in text.getvalue()) == bold


def test_a_table_that_is_too_wide_for_the_terminal_loses_no_cell(monkeypatch):
    text = io.StringIO()
    monkeypatch.setattr(console, "out", Console(file=text, width=80))
    columns = ("no.", "began (UTC)", "purpose", "state", "epsilon", "files")
    files = "trips.csv, trips.csv.noisy.npz, trips.csv.json"
    row = ("7", "2026-11-30 11:38:23", "Timetable of the city", "open", "5", files)
    console.show_table("Spent", columns, [row])
    assert max(map(len, text.getvalue().splitlines())) <= 80
    assert {"7", "open", "5"} < set(text.getvalue().split())
    shown = re.sub(r"[\s─]", "", text.getvalue())
    assert sorted(shown) == sorted("".join(("Spent", *columns, *row)).replace(" ", ""))
