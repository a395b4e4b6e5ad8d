"""Every advice of an error message of readers is executed, and leads to what it says."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from graphcuts_dp import GraphCutsError
from tests.contract.advice import ADVICE, Advice, edges

PACKAGE = Path(__file__).resolve().parents[2] / "graphcuts_dp"
READERS = ("io", "graph", "schema")
HOLE = "\x01"  # where a value stands in a message
# What no input here leads to: faults of an engine, of the machine, or of other libraries' tables.
OF_OTHERS = (
    "the engine returned a user above the bound",
    "the database failed",
    "two columns of the table have one name",
    "which are read in parts, or allow duckdb more memory",
)
VERBS = "|".join(
    (
        *("pass", "name", "leave", "use", "make", "cast", "choose", "give", "rename", "convert"),
        *("delete", "write", "save", "hand", "relabel", "take", "move", "repair", "export", "read"),
        *("correct", "raise", "scale", "clip", "add", "free", "look", "put", "declare", "list"),
    )
)
# A verb in the imperative, where a sentence or a part of one begins.
_IMPERATIVE = re.compile(rf"(?:^|[:;,] |\b(?:or|and|else|please|then) )(?:{VERBS})\b")


def test_what_is_advice() -> None:
    assert _IMPERATIVE.search("no weights; leave out weighted=True")
    assert _IMPERATIVE.search("pass source= and target= together")
    assert _IMPERATIVE.search("repair it, or delete it")
    assert not _IMPERATIVE.search("weights have a name that a file can read")


def text_of(node: ast.expr) -> str | None:
    """A message as it is written in the source, with holes; None of anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(getattr(each, "value", HOLE)) if isinstance(each, ast.Constant) else HOLE
            for each in node.values
        )
    return None


def texts_in(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every text of a module that is no documentation, no help of an option and no part of one."""
    skipped: set[int] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            skipped.add(id(body[0].value))
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("option"):
            skipped.update(id(each) for each in ast.walk(node))
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(each) for each in ast.walk(node) if each is not node)
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and id(node) not in skipped:
            text = text_of(node)
            if text is not None:
                yield node.lineno, text


# Of `schema`: what no row of a private table passes through.
PUBLIC_FACTS = {
    *("cells", "group_codes", "group_tables", "group_tree", "groups", "layout", "periods"),
    "vertices",
}


def advising() -> dict[str, str]:
    """Every message with advice: where it stands, by its text with holes."""
    found = {}
    for room in READERS:
        for path in sorted((PACKAGE / room).glob("*.py")):
            if path.stem in PUBLIC_FACTS:
                continue
            tree = ast.parse(path.read_text(encoding="utf-8"))
            for line, text in texts_in(tree):
                note = text.endswith(".")  # a sentence that is said of what is read, no error
                if " " in text.strip() and not note and _IMPERATIVE.search(text):
                    found[text] = f"{room}/{path.name}:{line}"
    return found


def message_of(advice: Advice, folder: Path) -> str:
    """The message that the input of an advice provokes."""
    with pytest.raises(GraphCutsError) as caught:
        advice.given(folder)
    return str(caught.value)


@cache
def all_messages() -> tuple[str, ...]:
    """The messages of all inputs."""
    messages = []
    for advice in ADVICE:
        with TemporaryDirectory() as folder:
            messages.append(message_of(advice, Path(folder)))
    return tuple(messages)


@pytest.mark.thorough(cases=12)
@pytest.mark.parametrize("advice", ADVICE, ids=[each.words for each in ADVICE])
def test_what_is_advised_leads_to_what_it_says(advice: Advice, tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    message = message_of(advice, tmp_path / "given")
    assert advice.words in message
    assert "\n" not in message
    assert advice.then
    for place, (do, expected) in enumerate(advice.then):
        folder = tmp_path / str(place)
        folder.mkdir()
        found: Any = edges(do(folder))
        assert found == expected, place


@pytest.mark.thorough
def test_every_advice_is_in_the_table() -> None:
    told = "\n".join(all_messages())
    missing = {
        where: text.replace(HOLE, "...")
        for text, where in advising().items()
        if not any(words in text for words in OF_OTHERS)
        and not re.search(".*".join(map(re.escape, text.strip().split(HOLE))), told)
    }
    assert missing == {}
