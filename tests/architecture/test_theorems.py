"""Every theorem that a docstring cites, as Theorem "Title", is a heading of docs/mathematics.md."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "mathematics.md"
# A line may break anywhere in a citation; a docstring may escape the quotes.
CITATION = re.compile(r'\bTheorems?\s+\\?"([^"\\]*)\\?"')


def headings(text):
    """The headings of a page, of any level."""
    outside = re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.M | re.S)
    return set(re.findall(r"^#{1,6}[ \t]+(.+?)[ \t]*#*$", outside, re.M))


def citations(source):
    """(line, title) of every citation in the docstrings of a module."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(
            node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        ) or not ast.get_docstring(node, clean=False):
            continue
        docstring = node.body[0].value
        for match in CITATION.finditer(docstring.value):
            line = docstring.lineno + docstring.value[: match.start()].count("\n")
            found.append((line, " ".join(match.group(1).split())))
    return sorted(found)


def unknown_theorems(source, name, titles):
    """A message for each citation of a heading that is not there."""
    return [
        f'{name}:{line}: Theorem "{title}" is no heading of docs/mathematics.md'
        for line, title in citations(source)
        if title not in titles
    ]


TITLES = headings(PAGE.read_text(encoding="utf-8"))


def test_headings_are_found():
    assert {"Notation", "Noise on every pair", "The fit", "Least cuts", "Bounded cuts"} <= TITLES


@pytest.mark.thorough
def test_every_theorem_that_is_cited_is_a_heading():
    unknown = []
    for path in sorted((ROOT / "graphcuts_dp").rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        unknown += unknown_theorems(path.read_text(encoding="utf-8"), name, TITLES)
    assert not unknown, "\n".join(unknown)


@pytest.mark.parametrize(
    ("docstring", "unknown"),
    [
        ('Private by Theorem "Bounded cuts".', []),
        ('Private by Theorem\n        "Bounded\n        cuts".', []),
        ('Privacy:\n        Theorem "Bounded cut".', [(3, "Bounded cut")]),
        ('Private.\n\n    By Theorem "Noise on\n    no pair".', [(4, "Noise on no pair")]),
        ('Theorem "bounded cuts" and Theorem "None".', [(2, "None"), (2, "bounded cuts")]),
        ("GRU12, Theorem 7.1, and a Theorem without a title.", []),
    ],
)
def test_the_checker_finds_titles_that_are_no_headings(docstring, unknown):
    source = f"def noisy():\n    '''{docstring}\n    '''\n"
    assert unknown_theorems(source, "module.py", TITLES) == [
        f'module.py:{line}: Theorem "{title}" is no heading of docs/mathematics.md'
        for line, title in unknown
    ]


def test_the_checker_reads_docstrings_alone():
    source = 'x = 1  # Theorem "None"\ny = \'Theorem "None"\'\n'
    assert citations(source) == []
    nested = "class A:\n    def f(self):\n        '''Theorem \"None\".'''\n"
    assert citations(nested) == [(3, "None")]
