"""Find the numbers that README and guides state, and the records from which they come.

A statement of what was measured stands between two comments, which no reader of the page sees:

    <!-- measured: NAME -->errors of .74 to 1.81 times that<!-- /measured -->

NAME is a file of docs/measured, or several with commas between. `unrecorded` finds numbers of a
statement that no line of these records has, rounded as the statement rounds them; `unmarked` finds
sentences with a number about errors or speed that are in no such statement.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/releases.md", "docs/groups.md")

_STATEMENT = re.compile(r"<!-- measured: ([a-z_, ]+) -->(.*?)<!-- /measured -->", re.DOTALL)
_NUMBER = re.compile(r"(?<![\w.])(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?![\w]*[a-zA-Z(/])")
_CLAIM = re.compile(
    r"\berr(?:s|ed|or|ors)?\b|\btimes\b|\bseconds?\b|\bminutes?\b|\d s\b|\b[GM]B\b|\blonger\b|"
    r"\bshorter\b|\bfaster\b|\bslower\b|\bbetter\b|\bworse\b"
)


class Statement(NamedTuple):
    """A statement of a page about one or several records.

    Attributes:
        records: names of files in docs/measured.
        text: of the page.
    """

    records: tuple[str, ...]
    text: str


def statements(page: str) -> list[Statement]:
    """Return the marked statements of a page, in order."""
    return [
        Statement(tuple(name.strip() for name in names.split(",")), " ".join(text.split()))
        for names, text in _STATEMENT.findall(page)
    ]


def numbers(text: str) -> list[str]:
    """Return the numbers of a text outside of formulas, as they are written."""
    without_formulas = re.sub(r"\$[^$]*\$", " ", text)
    return [match for match in _NUMBER.findall(without_formulas) if any(map(str.isdigit, match))]


def _value(number: str) -> float:
    return float(number.replace(",", ""))


def recorded(records: tuple[str, ...]) -> list[float]:
    """Return all numbers of some records."""
    folder = ROOT / "docs" / "measured"
    text = " ".join((folder / f"{name}.txt").read_text() for name in records)
    numbers = re.findall(r"(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?", text)
    return [_value(number) for number in numbers if any(map(str.isdigit, number))]


def unrecorded(statement: Statement) -> list[str]:
    """Return the numbers of a statement that its records do not have, so rounded."""
    known = recorded(statement.records)

    def is_known(number: str) -> bool:
        digits = len(number.partition(".")[2])
        half = 0.5000001 * 10.0**-digits
        return any(abs(value - _value(number)) <= half for value in known)

    return [number for number in numbers(statement.text) if not is_known(number)]


def unmarked(page: str) -> Iterator[str]:
    """Yield sentences with a number about errors or speed that are in no statement."""
    text = re.sub(r"^```.*?^```$", "", page, flags=re.DOTALL | re.MULTILINE)
    text = _STATEMENT.sub("", text)
    text = re.sub(r"\]\([^)]*\)|`[^`]*`|^#.*$|^\|[ -|]*$", " ", text, flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|^\||\n\|", text):
        for sentence in re.split(r"(?<=[.:;]) ", " ".join(paragraph.split())):
            if _CLAIM.search(sentence) and numbers(sentence):
                yield sentence


def main() -> int:
    """Print what is not recorded."""
    problems = False
    for name in PAGES:
        page = (ROOT / name).read_text()
        for statement in statements(page):
            for number in unrecorded(statement):
                problems = True
                sys.stdout.write(f"{name}: {number} is in no record of: {statement.text}\n")
        for sentence in unmarked(page):
            sys.stdout.write(f"{name}: not marked: {sentence}\n")
    return int(problems)


if __name__ == "__main__":
    raise SystemExit(main())
