"""Bad rows: rows that cannot be used are refused, all kinds at once, or left out.

Whether a row can be used follows from that row alone, together with public things: the head of the
file, the options and the public vertex set. No test compares rows, counts them, or looks at where
a row stands. A record ends where its line ends, so a quote that is left open spoils one row only.
Leaving bad rows out therefore maps the rows of a file to the usable rows one by one:

    usable rows(file + row) = usable rows(file) + (row, or nothing).

Sensitivity: two files that differ in one row become equal, or differ in one usable row. Two files
that differ in the rows of one user differ in some of these rows alone. So what is proved of
neighbours among usable rows holds for neighbours among files, with the same numbers. How many rows
are left out is a sum over private rows for which no budget is spent, so it is never reported.

The head of a text file ends with its header, the names of the columns, which are public: a file and
its neighbour have the same head. Where bad rows are left out of a file without a header, no line is
read as its head. Each line is then a usable row or left out, and the name of the file and the
options alone decide how it is read. A byte-order mark, a comment or a line `sep=;` then has no
effect, because a first row could look like one.

Readers of files and tables pass each fault to `BadRows.add`, and call `BadRows.check` at the end.
"""

from collections.abc import Iterable
from typing import Literal, final

from graphcuts_dp.errors import FileFormatError, GraphCutsError

OnBad = Literal["refuse", "skip"]
SKIP_ADVICE = "; correct such rows, or leave them out with on_bad='skip'"
# For each role of a column that is read, a reason why rows are left out. An endpoint can be missing
# or unknown, whether it is a source or a target. Both columns are always read, so a sentence lists
# both reasons if one stands under "source" and the other one under "target".
_FAULTS = {
    "source": "a missing end",
    "target": "an end outside the vertex set",
    "weight": "a weight that is no number >= 0",
    "user": "no user",
    "period": "no period",
}

_MOST_POSITIONS = 5  # that are kept of each kind of fault


class BadRows:
    """The kinds of bad rows that were met, each with the position of its first row.

    Args:
        skip: True: bad rows are left out, and nothing about them is stored. False: they are
            refused, and the message offers on_bad="skip". None: they are refused, and the message
            does not offer it, as the source of the rows has no such option.
    """

    def __init__(self, *, skip: bool | None = None) -> None:
        self.skip: bool = bool(skip)
        self._can_be_skipped = skip is not None
        self._first: dict[str, str] = {}  # position of the first row of each kind

    def add(self, fault: str, position: str, count: int = 1) -> None:  # noqa: ARG002 # of subclasses
        """Note one bad row, or several with the same fault.

        Args:
            fault: what is wrong, and which option would accept it; no word of the row.
            position: where the row is, such as "line 3"; of several rows that of the first.
            count: how many rows there are. It is ignored here; `CountedBadRows` adds it up.
        """
        if not self.skip:
            self._first.setdefault(fault, position)

    @property
    def has_refused_row(self) -> bool:
        """Return whether there is a row to refuse."""
        return bool(self._first)

    def check(self, error: type[GraphCutsError] = FileFormatError) -> None:
        """Refuse bad rows, unless they are left out.

        Privacy: not private. The message says which kinds of bad rows there are, and the position
        of the first row of each.

        Raises:
            GraphCutsError: of class `error`, with all kinds in one line.
        """
        if self._first:
            faults = "; ".join(f"{position}: {fault}" for fault, position in self._first.items())
            raise error(faults + (SKIP_ADVICE if self._can_be_skipped else ""))


@final
class CountedBadRows(BadRows):
    """Bad rows that are left out and counted, for the owner of the data who inspects a file.

    Privacy: not private. No release reads these numbers.

    Attributes:
        counts: how many faults of each kind there are. A row may have several kinds, and the same
            one at both endpoints.
        rows: how many rows were left out. This is right only if callers add all faults of one row
            in succession and with the same position, and those of other rows with another one.
        positions: where the first faults of each kind are, such as "line 3", at most 5; of several
            rows that are noted together that of the first.
    """

    def __init__(self) -> None:
        super().__init__(skip=True)
        self.counts: dict[str, int] = {}
        self.rows: int = 0
        self.positions: dict[str, list[str]] = {}
        self._latest_position = ""

    def add(self, fault: str, position: str, count: int = 1) -> None:
        """Count bad rows, see `BadRows.add`.

        A fault at the same position as the fault before is taken for a further fault of the same
        rows: it adds to `counts`, but not to `rows`.
        """
        self.counts[fault] = self.counts.get(fault, 0) + count
        positions = self.positions.setdefault(fault, [])
        if len(positions) < _MOST_POSITIONS and position not in positions:
            positions.append(position)
        if position != self._latest_position:
            self.rows += count
            self._latest_position = position


def left_out(columns: Iterable[str], *, text: bool) -> str:
    """Return a sentence for the user: which kinds of rows are left out, if there are any.

    Args:
        columns: roles of the columns that are read: source, target, and so on.
        text: whether rows are lines of text, which may have more or fewer cells than columns.
    """
    faults = [_FAULTS[role] for role in columns if role in _FAULTS]
    if text:
        faults.append("other cells than the columns have")
    listed_faults = f"{', '.join(faults[:-1])} or {faults[-1]}"
    return f"Rows with {listed_faults} are left out; how many is private."
