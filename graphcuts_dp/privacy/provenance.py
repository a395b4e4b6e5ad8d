"""The provenance of a result: when and why it was released, and which store was charged for it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self, final

from graphcuts_dp.display import printable

_LONGEST = 500  # characters of a text
_LONGEST_COLUMN = 100  # characters of the name of a column
_BAD_ROWS = {"skip": "left out; how many is private", "refuse": "would have stopped the program"}
_MOST_USES = 2**31  # of a store
_DIGEST = re.compile(r"[0-9a-f]{64}")


@final
@dataclass(frozen=True, kw_only=True)
class Provenance:
    """When, why and by which program something was released. All of it may be published.

    Attributes:
        time: in UTC, as ISO 8601 writes it: "2026-11-29T08:30:00+00:00".
        made_by: name and version of the program.
        purpose: what it is for, as its user stated it; empty if nothing was stated.
        author: who released it, as stated; empty if nothing was stated.
        separate_budget: why the data have a budget of their own in this store, though they were
            charged to another one, too; empty if they were not.
        store: identifier of the store that was charged, 32 hexadecimal digits; empty without one.
        use: number of the use in that store, from 1; 0 without one.
        columns: of a table of rows, the columns that were named, each with its role before it; a
            column that was found by its usual name is not among them.
        bad_rows: of such a table, "skip" if rows that could not be used were left out, "refuse" if
            one would have stopped the program; empty if that is not known. How many there were is
            private.
        measured: SHA-256 of what was measured, as that store records it, in hexadecimal; empty
            without one.
    """

    time: str
    made_by: str
    purpose: str = ""
    author: str = ""
    separate_budget: str = ""
    store: str = ""
    use: int = 0
    columns: tuple[tuple[str, str], ...] = ()
    bad_rows: str = ""
    measured: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for receipts, without the fields that are empty."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        values["columns"] = dict(self.columns)
        return {name: value for name, value in values.items() if value not in ("", 0, {})}

    def of_rows(self, named_columns: Iterable[tuple[str, str]] = (), on_bad: str = "") -> Self:
        """Return the same provenance with how rows were read; unchanged where that is not known.

        Args:
            named_columns: pairs of a role and the column that was named for it.
            on_bad: the rule for rows that could not be used.
        """
        short = ((role, printable(name)[:_LONGEST_COLUMN]) for role, name in named_columns)
        return replace(self, columns=tuple(sorted(short)), bad_rows=on_bad)

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Read what `to_dict` wrote.

        Raises:
            TypeError, ValueError: it is something else.
        """
        columns = dict(stored.get("columns", {}))
        provenance = cls(**{**stored, "columns": tuple(sorted(columns.items()))})
        texts = [value for name, value in stored.items() if name not in ("use", "columns")]
        texts += [*columns, *columns.values()]
        if not all(isinstance(text, str) and len(text) <= _LONGEST for text in texts):
            raise ValueError("a provenance consists of short texts")
        if type(provenance.use) is not int or not 0 <= provenance.use < _MOST_USES:
            raise ValueError("a use has a number from 1")
        if provenance.measured and not _DIGEST.fullmatch(provenance.measured):
            raise ValueError("what was measured is named by its SHA-256")
        return provenance

    @property
    def facts(self) -> tuple[tuple[str, object], ...]:
        """Names and values for tables, without those that are empty."""
        charged = f"use {self.use} of store {self.store[:8]}" if self.store else ""
        columns = ", ".join(f"{role} {name}" for role, name in self.columns)
        facts = (
            ("released", self.time.removesuffix("+00:00").replace("T", " ") + " UTC"),
            ("purpose", self.purpose),
            ("author", self.author),
            ("budget of its own", self.separate_budget),
            ("charged to", charged),
            ("columns", columns),
            ("rows that cannot be used", _BAD_ROWS.get(self.bad_rows, "")),
        )
        return tuple((name, value) for name, value in facts if value)
