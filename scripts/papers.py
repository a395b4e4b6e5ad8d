"""Write docs/papers.md from the tables in scripts/papers: each statement, and where to find it."""

import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import graphcuts_dp
from graphcuts_dp import distances

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "papers.md"
ORDER = ("gru12", "dr14", "jt12", "hr12", "others")
_COLUMNS = ("statement", "where it is", "tests")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A statement of a paper.

    Attributes:
        paper: key of the paper, as in docstrings.
        at: number of the statement, such as "Theorem 2".
        what: the statement in words.
        python: names of the code: public ones as in `gc`, others from `graphcuts_dp` on, or from
            `scripts` of a checkout.
        command: commands of the command line.
        session: methods of sessions.
        test: paths below tests, with or without the name of a test.
        erratum: the error as printed, and the correct statement.
        reason: why the statement has no public interface, or only a part of it.
        note: a further remark.
    """

    paper: str
    at: str
    what: str
    python: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    session: tuple[str, ...] = ()
    test: tuple[str, ...] = ()
    erratum: str = ""
    reason: str = ""
    note: str = ""

    @property
    def public(self) -> bool:
        """Return whether callers can use it without importing from a module."""
        return bool(self.command or self.session or self.public_names)

    @property
    def public_names(self) -> tuple[str, ...]:
        """Names of the code that are attributes of `gc`."""
        names = [*graphcuts_dp.__all__, *(f"distances.{name}" for name in distances.__all__)]
        return tuple(name for name in self.python if name in names or hasattr(graphcuts_dp, name))


@dataclass(frozen=True)
class Paper:
    """A table of statements.

    Attributes:
        title: title of the paper.
        rows: statements, in the order of the paper.
    """

    title: str
    rows: tuple[Row, ...]


def papers() -> list[Paper]:
    """Return all tables, in the order of the page.

    Raises:
        TypeError: a row with an unknown or a missing key.
    """
    papers_read = []
    for name in ORDER:
        table = tomllib.loads((HERE / "papers" / f"{name}.toml").read_text(encoding="utf-8"))
        rows = tuple(_row(row, name.upper()) for row in table["row"])
        papers_read.append(Paper(table["title"], rows))
    return papers_read


def _row(row: dict[str, Any], paper: str) -> Row:
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}
    return Row(**({"paper": paper, "what": values.pop("is")} | values))


def page() -> str:
    """Return the text of docs/papers.md; what stands before its first section stays."""
    parts = [PAGE.read_text(encoding="utf-8").partition("## ")[0].rstrip() + "\n"]
    for paper in papers():
        several = len({row.paper for row in paper.rows}) > 1
        named = [(f"{row.paper} {row.at}" if several else row.at, row) for row in paper.rows]
        lines = [f"## {paper.title}", "", "**Errata.** Wrong as printed, and what holds:", ""]
        lines += [f"- **{at}**: {_sentence(row.erratum)}" for at, row in named if row.erratum]
        lines += ["", "**Statements.**", "", _line(_COLUMNS), _line(["---"] * len(_COLUMNS))]
        lines += [_line(_cells(at, row)) for at, row in named]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _cells(at: str, row: Row) -> list[str]:
    names = [f"`gc.{name}`" if name in row.public_names else f"`{name}`" for name in row.python]
    inside = "" if row.public or not names else "inside the package only: "
    remarks = " ".join(_sentence(text) for text in (row.note, row.reason) if text)
    commands = _code(f"graphcuts-dp {command}" for command in row.command)
    sessions = _code(row.session)
    where = [
        inside + ", ".join(names) if names else "",
        commands,
        f"sessions {sessions}" if sessions else "",
    ]
    return [
        f"**{at}** {_sentence(row.what)} {remarks}".rstrip(),
        "; ".join(filter(None, where)) or "-",
        ", ".join(_test(text) for text in row.test) or "-",
    ]


def _sentence(text: str) -> str:
    first = text[0] if "(" in text.split()[0] else text[0].upper()  # ln(x) stays as it is
    return f"{first}{text[1:].rstrip('.')}."


def _code(texts: Any) -> str:
    return ", ".join(f"`{text}`" for text in texts)


def _test(test: str) -> str:
    path, _, name = test.partition("::")
    return f"[{name or Path(path).stem}](../tests/{path})"


def _line(cells: Any) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
