"""docs/papers.md is what the tables say, and the tables say what is there."""

import ast
import functools
import importlib
import re
import shlex
import sys
from pathlib import Path

import pytest

import graphcuts_dp as gc
from graphcuts_dp.cli import main
from graphcuts_dp.session.terms import METHODS
from scripts.figures.registry import find_figure
from tests.audits.registry import find_audits

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
papers = importlib.import_module("papers")

PAPERS = papers.papers()
ROWS = [row for paper in PAPERS for row in paper.rows]
KEYS = ("GRU12", "DR14", "JT12", "HR12", "Nik17", "AN06", "Nikiforov 2009", "DMN23")
KEYS += ("CDFZ24", "AABD25", "IEMZ23", "Liu22", "DH73", "GW95", "GV14")


def test_the_page_is_what_the_tables_say():
    """Run `python scripts/papers.py` after a change of them."""
    assert papers.PAGE.read_text(encoding="utf-8") == papers.page()


def test_no_statement_stands_twice():
    names = [(row.paper, row.at) for row in ROWS]
    assert len(set(names)) == len(names)
    assert {row.paper for row in ROWS} == set(KEYS)


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("paper", PAPERS, ids=papers.ORDER)
def test_what_a_row_names_is_there_and_what_has_no_public_door_has_a_reason(paper):
    for row in paper.rows:
        for name in row.python:
            assert hasattr(gc, name) or _imported(name) is not None, row
        assert set(row.session) <= set(METHODS), row
        for text in row.command:
            _check_command(shlex.split(text))
        for test in row.test:
            _check_test(test)
        assert row.public or row.reason, row
        assert row.test or not row.python, row


def _imported(name):
    """A module below graphcuts_dp or in scripts, or a name in one."""
    place = name if name.startswith("scripts.") else f"graphcuts_dp.{name}"
    try:
        return importlib.import_module(place)
    except ModuleNotFoundError:
        module, _, last = place.rpartition(".")
        return getattr(importlib.import_module(module), last)


def _check_command(words):
    first = words.pop(0)
    command = main.loaded_command(first)
    while words and hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    assert not hasattr(command, "commands"), "a group of commands is no command"
    options = {option for parameter in command.params for option in parameter.opts}
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            assert {"audit": find_audits, "figures": lambda names: find_figure(names[0])}[first](
                [word]
            )
            continue
        assert word in options, word
        takes_value = word in {
            f"--{about.key}" for about in command.known if about.kind is not bool
        }
        if takes_value and words and not words[0].startswith("-"):
            about = next(each for each in command.known if f"--{each.key}" == word)
            about.check(about.read(words.pop(0)))


def _check_test(test):
    path, _, name = test.partition("::")
    functions = functions_of(ROOT / "tests" / path)
    assert any(found.startswith("test_") for found in functions), test
    assert not name or name in functions, test


@functools.cache
def functions_of(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


# The labels of docstrings.

KINDS = (
    *("Alg.", "Algs.", "Algorithm", "Theorem", "Lemma", "Definition", "Proposition", "Corollary"),
    *("Remark", "Claim", "Table", "Figure", "section", "appendix", "equation"),
)
LABEL = re.compile(
    rf"((?:{'|'.join(map(re.escape, KINDS))})s?)\s+"
    r"((?:\(?[A-Z]?\.?\d[\d.]*\)?)(?:(?:, | and | to )\(?[A-Z]?\.?\d[\d.]*\)?)*)"
)


def labels_of(text):
    """(paper, statement) of each label in a docstring's "Source:"."""
    for source in re.findall(r"Sources?: (.*?)(?:\n\s*\n|\Z)", text, re.DOTALL):
        flat = " ".join(source.split())
        parts = re.split(rf"\b({'|'.join(map(re.escape, KEYS))})", flat)
        for paper, after in zip(parts[1::2], parts[2::2], strict=True):
            for word, numbers in LABEL.findall(after.partition(";")[0]):
                kind = "Algorithm" if word.startswith("Alg") else word.rstrip("s")
                for number in _each(numbers):
                    yield paper, f"{kind} {number}"


def _each(numbers):
    """The numbers of "5.3 to 5.7", "1 and 2"."""
    for part in re.split(r", | and ", numbers.rstrip(".")):
        first, _, last = part.partition(" to ")
        if not last:
            yield first.rstrip(".")
            continue
        head, low = first.rsplit(".", 1)
        for number in range(int(low), int(last.rsplit(".", 1)[1]) + 1):
            yield f"{head}.{number}"


def docstrings():
    folders = ("graphcuts_dp", "scripts", "tests/audits")
    for path in sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node)
                if text and "Source" in text:
                    yield str(path.relative_to(ROOT)), text


def test_labels_are_read():
    text = "Source: GRU12 Alg. 3 and Theorem 7.3; DR14, Theorems 5.3 to 5.5; JT12, equation (5)."
    assert list(labels_of(text)) == [
        ("GRU12", "Algorithm 3"),
        ("GRU12", "Theorem 7.3"),
        *(("DR14", f"Theorem 5.{k}") for k in (3, 4, 5)),
        ("JT12", "equation (5)"),
    ]


@pytest.mark.thorough
def test_every_label_of_a_docstring_has_a_row():
    known = {(row.paper, row.at) for row in ROWS}
    found = [(path, label) for path, text in docstrings() for label in labels_of(text)]
    assert len(found) > 80
    assert [pair for pair in found if pair[1] not in known] == []
