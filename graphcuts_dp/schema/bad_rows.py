"""Rows that cannot be used: all kinds of them are told at once, or they are left out.

Whether a row can be used follows from that row alone, together with what is public: the head of
the file, the options and the given vertices. No test compares rows, counts them, or looks at where
one stands; a record ends where its line ends, so that a quote left open spoils one row. Leaving bad
rows out therefore maps the rows of a file to the rows that count one by one:

    rows that count(file + row) = rows that count(file) + (row, or nothing).

Sensitivity: files that differ in one row become equal, or differ in one row that counts; files that
differ in the rows of one user differ in some of these rows alone. What is proved of neighbours
among rows that count therefore holds for neighbours among files, with the same numbers. How many
rows are left out is a sum over private rows, for which nothing is charged, so it is never told.

The head of a text file ends with the names of the columns, which are public: a file and its
neighbour have the same head. A file without such names has no head where bad rows are left out:
each of its lines is a row or nothing, and its name and the options alone tell how it is read; no
mark of an encoding, comment or line `sep=;` does, which a first row could look like.
"""

from collections.abc import Iterable
from typing import Literal, final

from graphcuts_dp.errors import FileFormatError, GraphCutsError

OnBad = Literal["refuse", "skip"]
_WITHOUT = {  # of each column, what a row that is left out may have in it
    "source": "a missing end",
    "target": "an end outside the vertex set",
    "weight": "a weight that is no number >= 0",
    "user": "no user",
    "period": "no period",
}


class BadRows:
    """The kinds of bad rows that were met, each with the place of the first one.

    Args:
        skip: whether bad rows are left out; nothing of them is kept then. None: the source has no
            such option.
    """

    def __init__(self, *, skip: bool | None = None) -> None:
        self.skip, self._optional = bool(skip), skip is not None
        self._first: dict[str, str] = {}

    def add(self, what: str, where: str, count: int = 1) -> None:  # noqa: ARG002
        """Note a bad row, or several that have one fault.

        Args:
            what: is wrong with it, and which option would accept it; no word of the row.
            where: its place, such as "line 3"; of several rows that of the first.
            count: how many there are, for `CountedBadRows`.
        """
        if not self.skip:
            self._first.setdefault(what, where)

    @property
    def found(self) -> bool:
        """Whether there is a row to refuse."""
        return bool(self._first)

    def check(self, error: type[GraphCutsError] = FileFormatError) -> None:
        """Refuse bad rows, unless they are left out.

        Not private: it tells which kinds of bad rows there are, and the place of the first of each.

        Raises:
            GraphCutsError: of class `error`: all kinds in one line.
        """
        if self._first:
            told = "; ".join(f"{where}: {what}" for what, where in self._first.items())
            advice = "; correct such rows, or leave them out with on_bad='skip'"
            raise error(told + (advice if self._optional else ""))


@final
class CountedBadRows(BadRows):
    """Bad rows that are left out and counted. Its numbers are private, and no release reads them.

    Attributes:
        counts: how often each kind was met; a row may have several, or one at both endpoints.
        rows: how many rows were left out, if all kinds of one row are added one after the other.
    """

    def __init__(self) -> None:
        super().__init__(skip=True)
        self.counts: dict[str, int] = {}
        self.rows = 0
        self._latest = ""

    def add(self, what: str, where: str, count: int = 1) -> None:
        """Count bad rows."""
        self.counts[what] = self.counts.get(what, 0) + count
        if where != self._latest:
            self.rows += count
            self._latest = where


def left_out(columns: Iterable[str], *, text: bool) -> str:
    """Which kinds of rows are left out, whether or not there are any: a sentence for the user.

    Args:
        columns: what is read of each row: source, target, and so on.
        text: whether rows are lines of text, in which cells may be wrong.
    """
    kinds = [_WITHOUT[name] for name in columns if name in _WITHOUT]
    if text:
        kinds.append("other cells than the columns have")
    return f"Rows with {', '.join(kinds[:-1])} or {kinds[-1]} are left out; how many is private."
