"""docs/papers.md is generated from its tables, and all names in these tables exist."""

import ast
import functools
import importlib
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


def test_the_page_is_generated_from_the_tables():
    text = papers.PAGE.read_text(encoding="utf-8")
    assert text == papers.page(), "run python scripts/papers.py"


def test_no_statement_has_two_rows():
    labels = [(row.paper, row.at) for row in ROWS]
    assert len(set(labels)) == len(labels)
    assert {row.paper for row in ROWS} == set(KEYS)


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("paper", PAPERS, ids=papers.ORDER)
def test_names_commands_and_tests_of_a_row_exist_and_a_row_without_a_public_name_has_a_reason(
    paper,
):
    for row in paper.rows:
        for name in row.python:
            assert hasattr(gc, name) or _import(name) is not None, row
        assert set(row.session) <= set(METHODS), row
        for text in row.command:
            _check_command(shlex.split(text))
        for test in row.test:
            _check_test(test)
        assert row.public or row.reason, row
        assert row.test or not row.python, row


def _import(name: str) -> Any:
    """Return a module of the package or of scripts, or an object that such a module defines."""
    path = name if name.startswith("scripts.") else f"graphcuts_dp.{name}"
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError:
        module, _, attribute = path.rpartition(".")
        return getattr(importlib.import_module(module), attribute)


def _check_command(words: list[str]) -> None:
    """Check that a command line names a command, its options, and values that these take."""
    first = words.pop(0)
    command = main.loaded_command(first)
    while words and hasattr(command, "commands"):
        command = command.commands[words.pop(0)]
    assert not hasattr(command, "commands"), "a group of commands is no command"
    options = {option for parameter in command.params for option in parameter.opts}
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            assert find_audits([word]) if first == "audit" else find_figure(word)
            continue
        assert word in options, word
        takes_value = word in {
            f"--{about.key}" for about in command.known if about.kind is not bool
        }
        if takes_value and words and not words[0].startswith("-"):
            about = next(option for option in command.known if f"--{option.key}" == word)
            about.check(about.read(words.pop(0)))


def _check_test(test: str) -> None:
    """Check that "file::test", or "file" with any test, exists."""
    path, _, name = test.partition("::")
    functions = functions_of(ROOT / "tests" / path)
    assert any(function.startswith("test_") for function in functions), test
    assert not name or name in functions, test


@functools.cache
def functions_of(path: Path) -> set[str]:
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


def labels_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield (paper, statement) for each label after "Source:" in a docstring."""
    for source in re.findall(r"Sources?: (.*?)(?:\n\s*\n|\Z)", text, re.DOTALL):
        flat = " ".join(source.split())
        parts = re.split(rf"\b({'|'.join(map(re.escape, KEYS))})", flat)
        for paper, after in zip(parts[1::2], parts[2::2], strict=True):
            for word, numbers in LABEL.findall(after.partition(";")[0]):
                kind = "Algorithm" if word.startswith("Alg") else word.rstrip("s")
                for number in _numbers_of(numbers):
                    yield paper, f"{kind} {number}"


def _numbers_of(numbers: str) -> Iterator[str]:
    """Yield each number of "1 and 2", or of a range such as "5.3 to 5.7"."""
    for part in re.split(r", | and ", numbers.rstrip(".")):
        first, _, last = part.partition(" to ")
        if not last:
            yield first.rstrip(".")
            continue
        head, low = first.rsplit(".", 1)
        for number in range(int(low), int(last.rsplit(".", 1)[1]) + 1):
            yield f"{head}.{number}"


def docstrings_with_sources() -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each docstring that names a source."""
    folders = ("graphcuts_dp", "scripts", "tests/audits")
    for path in sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = ast.get_docstring(node)
                if text and "Source" in text:
                    yield str(path.relative_to(ROOT)), text


def test_labels_are_read_from_lists_and_ranges_of_numbers():
    text = "Source: GRU12 Alg. 3 and Theorem 7.3; DR14, Theorems 5.3 to 5.5; JT12, equation (5)."
    assert list(labels_of(text)) == [
        ("GRU12", "Algorithm 3"),
        ("GRU12", "Theorem 7.3"),
        *(("DR14", f"Theorem 5.{k}") for k in (3, 4, 5)),
        ("JT12", "equation (5)"),
    ]


@pytest.mark.thorough
def test_every_label_of_a_docstring_has_a_row():
    rows = {(row.paper, row.at) for row in ROWS}
    labels = [
        (path, label) for path, text in docstrings_with_sources() for label in labels_of(text)
    ]
    assert len(labels) > 80
    assert [(path, label) for path, label in labels if label not in rows] == []
