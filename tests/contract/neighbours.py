"""The tool that re-reads a table without one user, and random tables for it.

Who is a user follows from the rules of reading, written down here once more: the code under test
has no say in it. Rows that are bad for their user are removed one at a time; they must have no
influence at all.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from graphcuts_dp import GraphCutsError
from tests.contract.sources import Source
from tests.contract.table import Column, Table, loose, reads, text_of

Cells = Mapping[tuple[Any, ...], float]


def user_of(value: Any, kind: str) -> str | None:
    """The user whom a value names in a source of a kind, by the rules; None if it names none."""
    if kind == "text":
        return value.strip() or None
    if isinstance(value, str):
        return value
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return str(int(value))
    if kind != "object" and isinstance(value, Decimal):
        return str(int(value))
    return None


def users_of(table: Table, kind: str) -> dict[str | None, list[int]]:
    """The rows of each user; of None those that name no user."""
    rows = defaultdict(list)
    for row, value in enumerate(table.columns["user"].of_kind(kind)):
        rows[user_of(value, kind)].append(row)
    return rows


def change(before: Cells, after: Cells, *, per_period: bool) -> float:
    """The L1 distance of two tables of cells; of each period the largest if `per_period`."""
    distances: dict[Any, float] = defaultdict(float)
    for at in before.keys() | after.keys():
        period = at[2] if per_period else None
        distances[period] += abs(before.get(at, 0.0) - after.get(at, 0.0))
    return max(distances.values(), default=0.0)


@dataclass(frozen=True)
class Neighbours:
    """A table, and what becomes of it without one user after another.

    Attributes:
        read: whether the table is read.
        compared: how many smaller tables were read, too.
        largest: change of the cells by one user.
        of_bad_rows: the largest change by a row that names no user.
        disagreed: how many smaller tables were read though the whole was not, or the reverse.
    """

    read: bool
    compared: int
    largest: float
    of_bad_rows: float
    disagreed: int


def cells_or_none(source: Source, table: Table, folder: Path, on_bad: str) -> Cells | None:
    """The cells of a table; None if it is refused."""
    folder.mkdir(parents=True)
    try:
        return table.cells(source.rows(table, folder, on_bad))
    except GraphCutsError:
        return None


def neighbours(
    source: Source, table: Table, folder: Path, *, on_bad: str = "skip", most: int = 1_000
) -> Neighbours:
    """Re-read a table without one user after another, and without one row that names no user.

    Args:
        source: which the table is read from each time.
        table: with users.
        folder: an empty one.
        on_bad: what is done with bad rows.
        most: how many users, and how many bad rows, are tried at most.
    """
    whole = cells_or_none(source, table, folder / "whole", on_bad)
    by_user = users_of(table, source.kind)
    nobody = by_user.pop(None, [])
    removed = [*list(by_user.values())[:most], *([row] for row in nobody[:most])]
    changes: dict[bool, list[float]] = {True: [0.0], False: [0.0]}
    disagreed = compared = 0
    for place, rows in enumerate(removed):
        kept = [row for row in range(table.count) if row not in rows]
        part = cells_or_none(source, table.taken(kept), folder / str(place), on_bad)
        disagreed += (part is None) is not (whole is None)
        if part is not None and whole is not None:
            bad = len(nobody) > 0 and rows[0] in nobody
            changes[bad].append(change(whole, part, per_period=table.per_period))
            compared += 1
    return Neighbours(
        whole is not None, compared, max(changes[False]), max(changes[True]), disagreed
    )


# Random tables

USERS = {
    "text": (
        pa.string(),
        ["ann", "Ann", "7", "007", "", " ann", "Jos\u00e9", "Jose\u0301", None, "\U0001f600"],
    ),
    "integers": (pa.int64(), [1, 7, -7, 2**62, 0, None]),
    "unsigned": (pa.uint64(), [1, 7, 2**63, 2**64 - 1, None]),
    "small": (pa.int8(), [1, 7, -128, None]),
    "decimals": (pa.decimal128(30, 0), [Decimal(1), Decimal(10**25), Decimal(-7), None]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["ann", "bob", "", None, "7"]),
    "of no type": (pa.null(), [None]),
    "floats": (pa.float64(), [1.0, 0.0, -0.0, float("nan"), None]),
    "dates": (pa.date32(), [date(2026, 1, 31), None]),
}
USUAL_USERS = ("text", "integers", "unsigned", "small", "decimals", "dictionary")
ODD_USERS = (
    *(1, "1", 1.0, None, "", date(2026, 1, 31), "007", 7, "7", "ann", "Ann", " ann", True),
    *(b"ann", float("nan"), "Jos\u00e9", "Jose\u0301", 2**70, str(2**70), Decimal(7), np.int8(7)),
    *("2026-01-31", "True", "1.0", "nan", "\ud800"),
)
VERTICES = ("a", "b", "7")
TEXT_ENDS = ("a", "b", "7", "a", "b", "c", "07", "A", None, "")
ODD_ENDS = (*TEXT_ENDS, 7, 7.0, True, "7", b"a")
WEIGHTS = (0.5, 1.0, 2.75, 0.0, 1e300, 1e-9, -1.0, float("nan"), float("inf"), None)
ODD_WEIGHTS = (*WEIGHTS, 3, "1.5", "x", "", True, Decimal("0.25"), 10**400, "1e400")
LAST_NIGHT = datetime(2026, 2, 1, 3, 30, tzinfo=UTC)  # 22:30 of the 31st of January in New York
INSTANTS = (
    *(LAST_NIGHT, datetime(2026, 2, 1, 5, 0, tzinfo=UTC), datetime(2026, 3, 8, 7, 30, tzinfo=UTC)),
    *(datetime(2026, 3, 1, 4, 59, 59, tzinfo=UTC), datetime(2025, 1, 1, tzinfo=UTC), None),
)
TIMES = tuple(None if each is None else each.replace(tzinfo=None) for each in INSTANTS)
DAYS = tuple(None if each is None else each.date() for each in INSTANTS)
PERIOD_TEXTS = (
    *("2026-01-31", "2026-02", "2026-03-01T10:00:00", "2026-02-30", "soon", "2024-01-01", "", None),
    *("2026-01-31T23:30:00-05:00", "2026-02-01T03:30:00Z"),
)
ODD_PERIODS = (*PERIOD_TEXTS, *DAYS, *TIMES, *INSTANTS, 202601, 2026, 7.0, True)


def drawn(rng: np.random.Generator, values: Sequence[Any], count: int) -> tuple[Any, ...]:
    """So many of the values, of which a few are drawn often and all rarely."""
    few = [values[place] for place in rng.integers(len(values), size=3)]
    return tuple(
        few[rng.integers(len(few))] if rng.random() < 0.8 else values[rng.integers(len(values))]
        for _ in range(count)
    )


def random_table(rng: np.random.Generator, kind: str) -> Table:
    """A table of a few users that suits sources of a kind.

    Args:
        rng: random numbers.
        kind: "typed", "engine", "object" or "text".
    """
    count = int(rng.integers(1, 25))
    typed = kind in ("typed", "engine")
    counting = str(rng.choice(["rows", "users", "edges", "weight"]))
    dated = bool(rng.random() < 0.5)
    columns = {
        "source": _ends(rng, count, typed=typed),
        "target": _ends(rng, count, typed=typed),
        "user": _users(rng, count, typed=typed),
    }
    options: dict[str, Any] = {}
    if dated:
        columns["period"], options = _periods(rng, count, kind)
    if counting == "weight":
        values = drawn(rng, WEIGHTS if typed else ODD_WEIGHTS, count)
        columns["weight"] = Column(values, pa.float64()) if typed else _loose(values)
    return Table(
        name="random",
        columns=columns,
        vertices=VERTICES,
        periods="2026-01..2026-03" if dated else None,
        options=options,
        counting=counting,
        weight_unit=float(rng.choice([1.0, 0.25])) if counting == "weight" else 1.0,
        kind=str(rng.choice(["directed", "undirected"])),
        bound=int(rng.integers(1, 5)),
        whole=bool(rng.random() < 0.5),
        per_period=dated and bool(rng.random() < 0.5),
        expected={each: reads({}) for each in ("typed", "object", "text")},
    )


def _loose(values: Sequence[Any]) -> Column:
    """Mixed values: as they are, and as a text file has them."""
    texts = tuple(text_of(value).replace("\ud800", "\ufffd") for value in values)
    return loose(*values, texts=texts)


def _ends(rng: np.random.Generator, count: int, *, typed: bool) -> Column:
    if typed:
        return Column(drawn(rng, TEXT_ENDS, count), pa.string())
    return _loose(drawn(rng, ODD_ENDS, count))


def _users(rng: np.random.Generator, count: int, *, typed: bool) -> Column:
    if not typed:
        return _loose(drawn(rng, ODD_USERS, count))
    names = list(USERS) if rng.random() < 0.1 else USUAL_USERS
    stored, values = USERS[str(rng.choice(names))]
    return Column(drawn(rng, values, count), stored)


def _periods(rng: np.random.Generator, count: int, kind: str) -> tuple[Column, dict[str, Any]]:
    """A column of periods, and the options with which it is read."""
    zone = str(rng.choice(["America/New_York", "UTC", "Asia/Tokyo"]))
    given = {"time_zone": zone} if rng.random() < 0.5 else {}
    if kind in ("object", "text"):
        return _loose(drawn(rng, ODD_PERIODS, count)), given
    form = rng.choice(["days", "times", "instants", "texts"])
    if form == "instants":
        given = given or ({"time_zone": zone} if kind == "engine" else {})
        return Column(drawn(rng, INSTANTS, count), pa.timestamp("us", "America/New_York")), given
    if form == "texts":
        return Column(drawn(rng, PERIOD_TEXTS, count), pa.string()), given
    values, stored = (DAYS, pa.date32()) if form == "days" else (TIMES, pa.timestamp("us"))
    return Column(drawn(rng, values, count), stored), {}
