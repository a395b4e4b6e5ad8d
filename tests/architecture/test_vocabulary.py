"""One concept has one word, that of the field: CONTRIBUTING.md, "Vocabulary", says which.

The first table of that chapter has words that stand nowhere: in no public name, option, message,
JSON key or page. So do former names of options, and former privacy units as they were typed, but
those that still have another meaning. The second has words that are no names, since they had
several meanings; as words of a sentence they may stand. On the pages for people who do not program,
words of the third column are allowed.
"""

import ast
import dataclasses
import inspect
import re
from functools import cache
from pathlib import Path

import pytest

from graphcuts_dp.cli import main
from graphcuts_dp.cli.main import COMMANDS
from graphcuts_dp.former_names import KEYS, OPTIONS, VALUES
from graphcuts_dp.options import described
from graphcuts_dp.server import models
from tests.audits.public_names import public_names

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "graphcuts_dp"
CHAPTER = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").split("\n## Vocabulary\n")[1]
CHAPTER = CHAPTER.split("\n## ")[0]
PAGES = [*(PACKAGE / "page" / "web").iterdir(), *(PACKAGE / "server" / "page").iterdir()]
PAGES = [page for page in PAGES if page.suffix in (".html", ".js")]
DOCS = [ROOT / "README.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
DOCS = [page for page in DOCS if page.name not in ("changelog.md", "history.md")]
# What pages for people who do not program say.
PAGE_WORDS = {
    PACKAGE / path
    for path in (
        "page/steps.py",
        "page/words.py",
        "reports/words.py",
        "cli/asking.py",
        "cli/plan_answers.py",
        "cli/plan_help.py",
        "cli/plan_questions.py",
    )
}
FORMER = PACKAGE / "former_names.py"  # the only file that has to name them
# Former names that are words of something else: "at most" of sentences, a degree bound.
STILL_WORDS = {"at_most", "data", "degree_bound", "response", "rest", "unit"}


def rows_of(number):
    """Cells of a table of the chapter, as lists of the words in backticks."""
    tables = re.findall(r"(?:^\|.*\n)+", CHAPTER + "\n", re.M)
    lines = tables[number].splitlines()[2:]
    rows = [[re.findall(r"`([^`]+)`", cell) for cell in line.split(" | ")] for line in lines]
    assert all(row[0] for row in rows)
    return rows


def former_names():
    """Words of version 0.1 that stand nowhere, as they were typed."""
    yield from OPTIONS
    yield from VALUES["mechanism"]
    units = {"vertex": "vertex", **VALUES["privacy_unit"]}
    yield from (f"{unit}:{key}" for unit, now in units.items() for key in KEYS.get(now, {}))


NOWHERE = [(word, row[2] if len(row) > 2 else []) for row in rows_of(0) for word in row[0]]
NOWHERE += [(word, []) for word in former_names() if word not in STILL_WORDS]
NO_NAMES = {word for row in rows_of(1) for word in row[0]}


def pattern_of(words):
    """Match any of these as words; blanks stand for blanks, hyphens and underscores."""
    spelled = (r"[-_ \n]+".join(map(re.escape, re.split(r"[ _-]", word))) for word in words)
    return re.compile(rf"(?<![A-Za-z])({'|'.join(spelled)})(?![A-Za-z])", re.I)


EVERYWHERE = pattern_of([word for word, _ in NOWHERE])
ON_PAGES = pattern_of([word for word, allowed in NOWHERE if word not in allowed])


# Columns of stored books, and a digest of stores, whose names stay.
STORED = re.compile(r"owner(?= TEXT| = \?|, terms|\))|SELECT owner FROM| without owners")
# Not the word of the table: an office, files as data, a class of JavaScript, rooms of hospitals.
NOT_MEANT = re.compile(
    r"data protection officers?|\bpaid\.csv|\bPromise(?=[.(])|wards and rooms", re.I
)
# Names of columns that files of others have, by the module that knows them.
HEADERS = {PACKAGE / "schema/header_words.py": {"room"}}


def words_of(name):
    """The words of an identifier, in lower case."""
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).split("_")
    return " ".join(part.lower() for part in parts if part)


def faults_of_names(names):
    """Names that have a word of the first table, or that are a word of the second."""
    return sorted(
        name
        for name in names
        if EVERYWHERE.search(words_of(name)) or name.lower().replace("-", "_") in NO_NAMES
    )


def signature_names(function):
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return set()


def public_identifiers():
    """Public names, their attributes and methods, and the parameters of all of these."""
    for name, value in public_names().items():
        yield from name.split(".")
        if not inspect.isclass(value):
            yield from signature_names(value) if callable(value) else ()
            continue
        own = {key: member for key, member in vars(value).items() if not key.startswith("_")}
        if dataclasses.is_dataclass(value):
            yield from (f.name for f in dataclasses.fields(value) if not f.name.startswith("_"))
        yield from own
        for member in (value, *own.values()):
            yield from signature_names(getattr(member, "__func__", member))


def commands_in(command):
    """The commands of a group, or the command itself."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield command
    for one in (inner or {}).values():
        yield from commands_in(one)


@cache
def options():
    """All options of commands, also those within others."""
    found = []
    for name in COMMANDS:
        for command in commands_in(main.loaded_command(name)):
            for about in command.known:
                found += [about, *(key for kind in about.kinds.values() for key in described(kind))]
    return found


def fields_of_models():
    for value in vars(models).values():
        if inspect.isclass(value) and issubclass(value, models.BaseModel):
            yield from value.model_fields


@cache
def strings_of(path):
    """Texts that callers can see, and names of keys: literals that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and isinstance(node.body[0], ast.Expr)
    }
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
    ]


def keys_of(path):
    """Keys of literal dictionaries, which become keys of JSON."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Dict):
            for key in node.keys:
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    yield key.value


def modules():
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path != FORMER]


def test_the_chapter_has_both_tables():
    assert len(NOWHERE) > 30
    assert len(NO_NAMES) > 15
    assert {"protect", "owner", "promise", "told", "bought"} <= {word for word, _ in NOWHERE}
    assert {"weight_cap", "edges:at-most", "vertex:degree-bound"} <= {word for word, _ in NOWHERE}
    assert {"place", "ends", "given"} <= NO_NAMES


def test_public_names_are_words_of_the_field():
    assert faults_of_names(set(public_identifiers()) - {"self", "cls"}) == []


def test_options_are_named_and_described_in_words_of_the_field():
    found = options()
    assert len(found) > 100
    assert faults_of_names({about.name for about in found}) == []
    texts = {f"{about.switch}: {about.text} {about.metavar or ''}" for about in found}
    assert sorted(text for text in texts if EVERYWHERE.search(text)) == []


def test_fields_over_http_are_words_of_the_field():
    assert faults_of_names(set(fields_of_models())) == []


@pytest.mark.thorough(cases=14)
@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_messages_and_keys_are_words_of_the_field(path):
    rule = ON_PAGES if path in PAGE_WORDS else EVERYWHERE
    texts = [(line, STORED.sub("", text)) for line, text in strings_of(path)]
    texts = [(line, text) for line, text in texts if text not in HEADERS.get(path, ())]
    found = [f"{line}: {text[:80]!r}" for line, text in texts if rule.search(text)]
    assert found + faults_of_names(key for key in keys_of(path) if key.isidentifier()) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_for_people_who_do_not_program(page):
    text = NOT_MEANT.sub("", page.read_text(encoding="utf-8"))
    assert sorted({found[0] for found in ON_PAGES.finditer(text)}) == []


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_pages_of_the_guide(page):
    lines = page.read_text(encoding="utf-8").splitlines()
    assert [line[:100] for line in lines if ON_PAGES.search(NOT_MEANT.sub("", line))] == []
