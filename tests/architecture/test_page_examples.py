"""Every command and every Python example of the pages runs, on the files that they name.

A block is a fence of a page. It runs in a fresh copy of the files, except after the comment
`<!-- continues -->`: then it uses the files as the last block of its language left them, or, if
there is none, the last command. Variables of Python last to the end of a page. Before a fence,
`<!-- not run: reason -->` says why it cannot run here, `<!-- needs module -->` what it needs.
"""

import re
import shlex
import shutil
import sys
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import page_files as world
import pytest

from graphcuts_dp import AccuracyWarning, ConversionWarning
from graphcuts_dp.cli import main

pytest.importorskip("pyarrow", reason="one example reads Parquet, with the extra of that name")

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(
    r"(?:<!-- (?P<mark>[^>]*?) -->\n)?^```(?P<language>\w*|\{code-cell\})\n(?P<text>.*?)^```",
    re.M | re.S,
)

PYTHON = ("python", "{code-cell}")


@dataclass(frozen=True)
class Command:
    """A command line of a page, its input, and the error that the page shows ("" if none)."""

    words: tuple[str, ...]
    typed: str
    error: str


def commands_of(text: str) -> list[Command]:
    """Return the commands of a block: lines with graphcuts-dp, perhaps after a prompt."""
    lines = text.replace("\\\n", " ").splitlines()
    commands = []
    for number, line in enumerate(lines):
        line = line.removeprefix("$ ")
        if not line.startswith("graphcuts-dp "):
            continue
        words = shlex.split(line, comments=True)
        output = []
        for following in lines[number + 1 :]:
            if following.startswith(("$ ", "graphcuts-dp")):
                break
            output.append(following)
        typed = [line.partition("left> ")[2] for line in output if "left> " in line]
        error = output[0] if output and output[0].startswith("error:") else ""
        commands.append(Command(tuple(words[1:]), "\n".join(typed), error))
    return commands


def blocks_of(page: Path) -> list[tuple[str, str, str]]:
    """Return the mark, the language and the text of each fence."""
    text = page.read_text(encoding="utf-8")
    return [
        (fence["mark"] or "", fence["language"], fence["text"]) for fence in FENCE.finditer(text)
    ]


def has_examples(page: Path) -> bool:
    return any(
        language in PYTHON or bool(commands_of(text)) for _, language, text in blocks_of(page)
    )


# Notebooks of ten seconds and more, which `make docs` runs, too: six million trips, whose calls
# docs/tables.md has as well, and searches among all cuts of 304 airports, as in docs/cuts.md.
LONG = {"phone-records", "cuts-of-flights"}
EXAMPLES = [
    pytest.param(page, marks=[pytest.mark.slow] * (page.stem in LONG), id=page.stem)
    for page in PAGES
    if has_examples(page)
]


@pytest.fixture(scope="module")
def original_files(tmp_path_factory):
    """Return the folder of the files that the pages name, which tests only read and copy."""
    folder = tmp_path_factory.mktemp("files")
    world.make_files(folder)
    return folder


@pytest.mark.thorough
@pytest.mark.parametrize("page", EXAMPLES)
def test_the_examples_of_a_page_run(page, original_files, tmp_path, monkeypatch, capsys, request):
    variables, folders = world.names(original_files), {}
    request.addfinalizer(variables["connection"].close)
    for number, (mark, language, text) in enumerate(blocks_of(page)):
        if mark.startswith("not run: "):
            continue
        if mark.startswith("needs ") and find_spec(mark.removeprefix("needs ")) is None:
            continue
        if mark != "continues":
            folders[language] = shutil.copytree(original_files, tmp_path / str(number))
        folder = folders.setdefault(language, folders.get(""))
        monkeypatch.chdir(folder)
        monkeypatch.setenv("GRAPHCUTS_DP_STATE", f"{folder}-state")  # of another person
        if language in PYTHON:
            with warnings.catch_warnings():
                for expected in (AccuracyWarning, ConversionWarning):
                    warnings.simplefilter("ignore", expected)
                exec(compile(text, f"{page.name}, block {number}", "exec"), variables)  # noqa: S102
            plt.close("all")
        for command in commands_of(text) if language == "" else ():
            _check_command(command, page, monkeypatch, capsys)


def _check_command(command: Command, page: Path, monkeypatch: Any, capsys: Any) -> None:
    """Run a command; it fails if and only if the page shows its error."""
    typed = iter([*command.typed.splitlines(), ":quit"])
    monkeypatch.setattr("builtins.input", lambda *_: next(typed))
    monkeypatch.setattr(sys, "argv", ["graphcuts-dp", *command.words])
    status = main.run_command()
    printed = capsys.readouterr()
    details = f"{page.name}: {shlex.join(command.words)}\n{printed.out}\n{printed.err}"
    assert (status != 0) is bool(command.error), details
    # Messages have whole paths, pages only names of files.
    assert command.error in printed.err.replace(f"{Path.cwd()}/", ""), details


def test_commands_are_read_with_their_continued_lines_input_and_error():
    text = "$ graphcuts-dp plan --n 5 \\\n  --edges 4  # a guess\nerror: no\nmake demo\n"
    (command,) = commands_of(text)
    assert command == Command(("plan", "--n", "5", "--edges", "4"), "", "error: no")
    session = "graphcuts-dp session repl s.db\n3 left> a | b\n2.0 in [0, 4]\n2 left> :quit\n"
    assert commands_of(session)[0].typed == "a | b\n:quit"
