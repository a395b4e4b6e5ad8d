"""Every command and every Python example of the pages runs, on the files that they speak of.

A block is a fence of a page. Each runs in a fresh copy of the files, but for one after the comment
`<!-- continues -->`, which goes on where the last block of its language ended, the first of Python
where the last command did; names of Python are kept down a page. `<!-- not run: reason -->` before
a fence says why it cannot run here, `<!-- needs module -->` that it runs where that is installed.
"""

import re
import shlex
import shutil
import sys
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

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
    """A command line of a page, what is typed into it, and the error that the page shows."""

    words: tuple[str, ...]
    typed: str
    error: str


def commands_of(text):
    """The lines that begin with graphcuts-dp, after a prompt or not."""
    lines = text.replace("\\\n", " ").splitlines()
    found = []
    for number, line in enumerate(lines):
        line = line.removeprefix("$ ")
        if not line.startswith("graphcuts-dp "):
            continue
        words = shlex.split(line, comments=True)
        shown = []
        for following in lines[number + 1 :]:
            if following.startswith(("$ ", "graphcuts-dp")):
                break
            shown.append(following)
        typed = [each.partition("left> ")[2] for each in shown if "left> " in each]
        error = shown[0] if shown and shown[0].startswith("error:") else ""
        found.append(Command(tuple(words[1:]), "\n".join(typed), error))
    return found


def blocks_of(page):
    """(marks, language, text) of each fence."""
    text = page.read_text(encoding="utf-8")
    return [(each["mark"] or "", each["language"], each["text"]) for each in FENCE.finditer(text)]


RUN = [page for page in PAGES if any(b[1] in PYTHON or commands_of(b[2]) for b in blocks_of(page))]


# Notebooks of ten seconds and more, which `make docs` runs, too: six million trips, whose calls
# docs/tables.md has as well, and searches among all cuts of 304 airports, as in docs/cuts.md.
LONG = {"phone-records", "cuts-of-flights"}
RUN_NOW = [
    pytest.param(page, marks=[pytest.mark.slow] * (page.stem in LONG), id=page.stem) for page in RUN
]


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """The files that the pages speak of, which are read and copied alone."""
    folder = tmp_path_factory.mktemp("files")
    world.make_files(folder)
    return folder


@pytest.mark.thorough
@pytest.mark.parametrize("page", RUN_NOW)
def test_the_examples_of_a_page_run(page, first, tmp_path, monkeypatch, capsys, request):
    known, folders = world.names(first), {}
    request.addfinalizer(known["connection"].close)
    for number, (mark, language, text) in enumerate(blocks_of(page)):
        if mark.startswith("not run: "):
            continue
        if mark.startswith("needs ") and find_spec(mark.removeprefix("needs ")) is None:
            continue
        if mark != "continues":
            folders[language] = shutil.copytree(first, tmp_path / str(number))
        folder = folders.setdefault(language, folders.get(""))
        monkeypatch.chdir(folder)
        monkeypatch.setenv("GRAPHCUTS_DP_STATE", f"{folder}-state")  # of another person
        if language in PYTHON:
            with warnings.catch_warnings():
                for expected in (AccuracyWarning, ConversionWarning):
                    warnings.simplefilter("ignore", expected)
                exec(compile(text, f"{page.name}, block {number}", "exec"), known)  # noqa: S102
            plt.close("all")
        for command in commands_of(text) if language == "" else ():
            _runs(command, page, monkeypatch, capsys)


def _runs(command, page, monkeypatch, capsys):
    typed = iter([*command.typed.splitlines(), ":quit"])
    monkeypatch.setattr("builtins.input", lambda *_: next(typed))
    monkeypatch.setattr(sys, "argv", ["graphcuts-dp", *command.words])
    status = main.run_command()
    shown = capsys.readouterr()
    said = f"{page.name}: {shlex.join(command.words)}\n{shown.out}\n{shown.err}"
    assert (status != 0) is bool(command.error), said
    # Paths are shown whole; a page names the file alone.
    assert command.error in shown.err.replace(f"{Path.cwd()}/", ""), said


def test_commands_are_found_as_they_are_typed():
    text = "$ graphcuts-dp plan --n 5 \\\n  --edges 4  # a guess\nerror: no\nmake demo\n"
    (found,) = commands_of(text)
    assert found == Command(("plan", "--n", "5", "--edges", "4"), "", "error: no")
    typed = "graphcuts-dp session repl s.db\n3 left> a | b\n2.0 in [0, 4]\n2 left> :quit\n"
    assert commands_of(typed)[0].typed == "a | b\n:quit"
