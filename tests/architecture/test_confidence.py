"""The default confidence is one number, from which all statements follow.

A copy of the package gets another number in `graphcuts_dp/confidence.py`; see docs/extending.md.
"""

import ast
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import confidence_cases as cases
import pytest
from package_copies import ROOT, copied_package, output_of

from graphcuts_dp.confidence import (
    DEFAULT_CONFIDENCE,
    DEFAULT_DEVIATIONS,
    DEFAULT_FAILURE,
    DEFAULT_PERCENT,
    percent,
)

MODULE = Path("graphcuts_dp", "confidence.py")
NAMES = {"confidence", "beta", "failure"}
PERCENT = re.compile(r"\b95 ?%")
# Sentences of the pages about the default; {} stands for the number.
DOCS = {
    "start.md": ["within the interval with a probability of {}, whatever the graph is"],
    "releases.md": [
        "intervals that are all correct together with probability {};",
        "`release.worst_cut_error_bound()` holds for all cuts at once with probability {}.",
    ],
    "tables.md": ["numbers are smaller than their ± ({}): most of this table is noise"],
    "sessions.md": [
        "error      up to 149.0 ({}, all queries at once)",
        "30.0 in [0.0, 179.0] ({}, all queries at once)  99 left",
        "401.0 in [252.0, 550.0] ({}, all queries at once)  98 left",
        "s.error_bound  # the error of every answer is at most this, with {}",
    ],
    "cuts.md": [
        "partition.value, partition.interval  # in the release; in the true graph, with {}",
        "holds the true one with {}, although it",
        "47 edges at epsilon = 1 with {}, and mostly far less.",
    ],
    "people.md": ["What is reported of left-out rows holds with {} confidence"],
}
# Sentences about measurements that were made at 95 %, whatever the default is.
MEASURED = {
    "distances.md": ["proven with 95 %: 0.0032"],
    "releases.md": ["Its 95 % intervals are proven for every graph, and"],
    "queries.md": ["the radius that holds for all at once with 95 %:", "95 % of the draws stay"],
    "measured.md": [
        "with a sum outside its 95 % interval",
        "by more than was stated before, with 95 %",
        "Count how often intervals of 95 % miss the truth",
    ],
}


def is_chance(node: ast.AST | None) -> bool:
    """Return whether an expression is a number in (0, 1), alone or as the default of an option."""
    if isinstance(node, ast.Call):
        return bool(node.args) and is_chance(node.args[0])
    return isinstance(node, ast.Constant) and isinstance(node.value, float) and 0 < node.value < 1


def named_values(node: ast.AST) -> Iterator[tuple[Any, Any]]:
    """Yield each name to which a node gives a value, and the expression of the value."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        arguments = node.args
        plain = [*arguments.posonlyargs, *arguments.args]
        defaults = arguments.defaults
        pairs = [*zip(plain[len(plain) - len(defaults) :], defaults, strict=True)]
        pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        yield from ((argument.arg, value) for argument, value in pairs)
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        yield node.target.id, node.value
    elif isinstance(node, ast.Assign):
        yield from (
            (target.id, node.value) for target in node.targets if isinstance(target, ast.Name)
        )
    elif isinstance(node, ast.keyword):
        yield node.arg, node.value
    elif isinstance(node, ast.Dict):
        keys = zip(node.keys, node.values, strict=True)
        yield from ((key.value, value) for key, value in keys if isinstance(key, ast.Constant))


def literals(source: str) -> list[int]:
    """Return the lines that have a confidence or a chance of failure as a number or in a text."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        for name, value in named_values(node):
            if str(name).strip("_").lower() in NAMES and is_chance(value):
                lines.append(value.lineno)
        if isinstance(node, ast.Constant):
            text = isinstance(node.value, str) and PERCENT.search(node.value)
            if text or node.value == 1.96:
                lines.append(node.lineno)
    return lines


@pytest.mark.parametrize(
    "source",
    [
        "def f(a, confidence=0.95): pass",
        "def f(*, beta: float = 0.05): pass",
        "class A:\n    failure: float = 0.05",
        "class A:\n    beta: float = option(0.05, help='')",
        "f(confidence=0.95)",
        "asked = {'confidence': 0.95}",
        "_FAILURE = 0.05",
        "title = f'intervals of 95 %, {x}'",
        "title = '(95%)'",
        "half = 1.96 * deviation",
    ],
)
def test_the_scan_finds_a_literal(source):
    assert literals(source)


@pytest.mark.thorough
def test_no_file_states_the_default_confidence_itself():
    lines = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in sorted((ROOT / "graphcuts_dp").rglob("*.py"))
        if path != ROOT / MODULE
        for line in literals(path.read_text(encoding="utf-8"))
    ]
    pages = [path for kind in ("html", "js") for path in (ROOT / "graphcuts_dp").rglob(f"*.{kind}")]
    lines += [
        f"{path.relative_to(ROOT)}:{number}"
        for path in pages
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if PERCENT.search(line) or "1.96" in line
    ]
    assert len(pages) > 3
    assert not lines, f"write DEFAULT_CONFIDENCE, DEFAULT_FAILURE or DEFAULT_PERCENT: {lines}"


def test_the_pages_state_the_default_confidence():
    wrong = []
    for name, sentences in DOCS.items():
        text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        for sentence in sentences:
            pattern = r"\d+(?:\.\d+)? ?%".join(map(re.escape, sentence.split("{}")))
            matches = list(re.finditer(pattern, text))
            assert matches, f"docs/{name} no longer says: {sentence}"
            wrong += [
                f"docs/{name}:{text[: match.start()].count(chr(10)) + 1}"
                for match in matches
                if match[0] != sentence.format(DEFAULT_PERCENT)
            ]
    assert not wrong, f"the default confidence is {DEFAULT_PERCENT}: {wrong}"


def test_every_other_line_of_the_pages_with_the_default_is_listed():
    number = DEFAULT_PERCENT.removesuffix("%")
    percent_pattern = re.compile(rf"(?<![\d.]){re.escape(number)} ?%")
    sentences = {
        name: [sentence.format(DEFAULT_PERCENT) for sentence in DOCS.get(name, [])]
        + MEASURED.get(name, [])
        for name in {*DOCS, *MEASURED}
    }
    unknown = [
        f"{page.name}:{place}"
        for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
        if page.name != "history.md"  # it states what was the default
        for place, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1)
        if percent_pattern.search(line)
        and not any(each in line for each in sentences.get(page.name, []))
    ]
    assert not unknown, f"add these lines to DOCS or MEASURED: {unknown}"


def test_failure_deviations_and_percent_follow_from_the_confidence():
    assert (
        float(f"{1 - DEFAULT_CONFIDENCE:.12g}") == DEFAULT_FAILURE
    )  # without the rounding error of 1 - .95
    assert 1 - DEFAULT_FAILURE == DEFAULT_CONFIDENCE
    assert pytest.approx(cases.deviations_of(DEFAULT_FAILURE)) == DEFAULT_DEVIATIONS
    assert f"{100 * DEFAULT_CONFIDENCE:g}%" == DEFAULT_PERCENT


@pytest.mark.parametrize(
    ("confidence", "text"),
    [(0.95, "95%"), (1 - 0.07, "93%"), (0.999, "99.9%"), (1 - 1e-9, "99.99%"), (1, "100%"),
     (1 - 0.05 / 3, "98.33%"), (0.5, "50%"), (0.57, "57%"), (1e-6, "0%")],
)  # fmt: skip
def test_a_confidence_is_written_rounded_down(confidence, text):
    assert percent(confidence) == text


def with_confidence(line: str, tree: Path) -> None:
    """Change the default confidence in a tree that has a copy of the package."""
    assignment = re.compile(r"^DEFAULT_CONFIDENCE = [\d.]+", re.M)
    text, count = assignment.subn(line, (tree / MODULE).read_text(encoding="utf-8"))
    assert count == 1
    (tree / MODULE).write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """Return the statements of a copy of the package with another default."""
    tree = tmp_path_factory.mktemp("tree")
    copied_package(tree)
    for name in ("confidence_cases.py", "period_cases.py"):
        shutil.copy(ROOT / "tests" / name, tree)
    with_confidence(f"DEFAULT_CONFIDENCE = {cases.CONFIDENCE}", tree)
    statements = json.loads(output_of(tree, "confidence_cases.py"))
    assert Path(statements["package"]).is_relative_to(tree)
    return statements


def leaves(value: Any) -> list[Any]:
    """Return all numbers and texts of nested lists, in order."""
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def differing_names(statements: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """Return the names whose numbers or texts differ."""
    assert list(statements) == list(expected)
    return [
        name
        for name in expected
        if leaves(statements[name]) != [
            pytest.approx(leaf, rel=1e-9) if isinstance(leaf, float) else leaf
            for leaf in leaves(expected[name])
        ]
    ]  # fmt: skip


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
def test_all_stated_numbers_follow_the_default(changed):
    """They equal those with the confidence as an argument, and are not those of this package."""
    assert differing_names(changed["stated"], cases.stated(given=True)) == []
    assert differing_names(changed["forecast"], cases.forecast_as_given()) == []
    changed_forecasts = differing_names(changed["forecast"], cases.forecast_by_default())
    assert changed_forecasts == list(changed["forecast"])


@pytest.mark.thorough
def test_all_texts_follow_the_default(changed):
    old = re.compile(r"\b95 ?%|\[0\.95\]|0\.95 if omitted|\[0\.05\]")
    new = re.compile(r"\b90%|\[0\.9\]|0\.9 if omitted|\[0\.1\]")
    texts = {name: " ".join(text.split()) for name, text in changed["written"].items()}
    assert [name for name, text in texts.items() if old.search(text)] == []
    assert [name for name, text in texts.items() if not new.search(text)] == []
    assert changed["served"] in (None, [cases.FAILURE, "90%", "error at most (90%)"])
