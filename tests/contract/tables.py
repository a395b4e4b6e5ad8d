"""The tables of the contract: each with what must come of it in every kind of source."""

import math
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from tests.contract.table import (
    Column,
    Outcome,
    Table,
    loose,
    number,
    reads,
    refused,
    skips,
    stored,
    text,
    whole,
)

NAN, INF = math.nan, math.inf
MISSING_USER, MISSING_PERIOD, MISSING_WEIGHT = (
    rf"{role}\b[^;]*\b(missing|empty)" for role in ("user", "period", "weight")
)
MISSING_END = r"(source|target|end|endpoint)s?\b[^;]*\b(missing|empty)"
UNKNOWN_END = r"vert(ex|ices)"
NO_END, NO_USER = r"(source|target|end|endpoint)s?\b", r"user"
NO_PERIOD, NO_WEIGHT = r"period", r"weight"
OF_COLUMN = r"column"
NEW_YORK, TOKYO = ZoneInfo("America/New_York"), ZoneInfo("Asia/Tokyo")
TABLES: dict[str, Table] = {}


def by_kind(typed: Outcome | None, **others: Outcome | None) -> dict[str, Outcome]:
    """Outcomes by kind of source: that of typed ones where no other is given; none of None."""
    outcomes = {"typed": typed, "object": typed, "text": typed} | others
    return {kind: each for kind, each in outcomes.items() if each is not None}


def add(name: str, columns: dict[str, Column], typed: Outcome | None, **options: Any) -> None:
    """Add a table.

    Args:
        name: of the table.
        columns: by role.
        typed: what must come of it in typed sources, and in others if nothing else is said.
        options: `engine`, `object` and `text`: what must come of it in these; others of `Table`.
    """
    kinds = {each: options.pop(each) for each in ("engine", "object", "text") if each in options}
    assert name not in TABLES
    TABLES[name] = Table(name=name, columns=columns, expected=by_kind(typed, **kinds), **options)


def between(count: int) -> dict[str, Column]:
    """So many rows from a to b."""
    return {"source": text(*"a" * count), "target": text(*"b" * count)}


def distinct(count: float) -> dict[tuple[str, str], float]:
    """The cells of so many users that have rows from a to b, each of whom counts once."""
    return {("a", "b"): float(count)} if count else {}


def add_users(name: str, users: Column, typed: Any, **options: Any) -> None:
    """Add a table of rows from a to b, of which each user counts for one.

    Outcomes may be numbers: how many users are distinct; or a number and faults of bad rows.
    """

    def outcome(given: Any) -> Any:
        if isinstance(given, tuple):
            return skips(distinct(given[0]), *given[1:])
        return reads(distinct(given)) if isinstance(given, int) else given

    given = {"typed": typed, **options}
    for kind in ("typed", "engine", "object", "text"):
        if kind in given:
            given[kind] = outcome(given[kind])
    add(name, {**between(len(users)), "user": users}, given.pop("typed"), bound=1, **given)


# Users: which values are one user, which are missing, which types are no identifiers.

for width in (8, 16, 32, 64):
    signed, unsigned = getattr(pa, f"int{width}")(), getattr(pa, f"uint{width}")()
    low, high, top = -(2 ** (width - 1)), 2 ** (width - 1) - 1, 2**width - 1
    add_users(f"users of int{width}", whole(low, high, 0, 7, low, 0, kind=signed), 4)
    add_users(f"users of uint{width}", whole(top, top - 1, 0, 0, top, kind=unsigned), 3)

BIG = 10**30
add_users(
    "users of uint64 beside floats that merge them",
    whole(2**63, 2**63 + 1, 2**53, 2**53 + 1, kind=pa.uint64()),
    4,
)
add_users(
    "users of decimals without fractions",
    stored(pa.decimal128(38, 0), Decimal(BIG), Decimal(BIG + 1), Decimal(7), Decimal(BIG)),
    3,
    object=(0, NO_USER),
)
add_users(
    "users of decimals and of integers are one",
    stored(
        pa.decimal128(20, 0),
        *map(Decimal, (7, 2**64, -3, 0)),
        objects=(7, 2**64, "-3", 0),
        texts=("7", str(2**64), "-3", "0"),
    ),
    4,
)
add_users(
    "users of decimals with fractions",
    stored(pa.decimal128(10, 2), Decimal("1.50"), Decimal("1.00"), texts=("1.50", "1.5")),
    refused(NO_USER),
    object=(0, NO_USER),
    text=2,
)
add_users(
    "users of huge integers in objects",
    loose(2**100, str(2**100), 2**100 + 1),
    None,
    object=2,
    text=2,
)
add_users(
    "users of truth values",
    stored(pa.bool_(), True, False, True),
    refused(NO_USER),
    object=(0, NO_USER),
    text=2,
)
add_users(
    "users of floats",
    number(1.0, 2.0, 1.0),
    refused(NO_USER, "Int64"),
    object=(0, NO_USER),
    text=2,
)
add_users(
    "users of 32-bit floats",
    number(1.0, 2.0, 1.0, kind=pa.float32()),
    refused(NO_USER, "Int64"),
    object=(0, NO_USER),
    text=2,
)
add_users(
    "users of both zeros",
    number(0.0, -0.0),
    refused(NO_USER, "Int64"),
    object=(0, NO_USER),
    text=2,
)
add_users(
    "users of floats with NaN and null",
    number(1.0, NAN, None),
    refused(NO_USER, "Int64"),
    object=(0, NO_USER),
    text=(2, MISSING_USER),  # 1.0 and nan are texts
)
add_users("users that are missing", text("ann", None, "bob"), (2, MISSING_USER))
add_users("integer users that are missing", whole(1, None, 2), (2, MISSING_USER))
add_users(
    "users that are missing in objects",
    loose("ann", None, NAN, "bob", texts=("ann", "", "", "bob")),
    None,
    object=(2, MISSING_USER),
    text=(2, MISSING_USER),
)
add_users("all users are missing", text(None, None), (0, MISSING_USER))
add_users(
    "users of no type",
    stored(pa.null(), None, None),
    (0, MISSING_USER),
    but=("duckdb", "duckdb collated"),  # which makes integers of it
)
add_users(
    "users of dates",
    stored(pa.date32(), date(2026, 1, 31), date(2026, 2, 1)),
    refused(NO_USER),
    object=(0, NO_USER),
    text=2,
)
add_users(
    "users of times",
    stored(pa.timestamp("us"), datetime(2026, 1, 31, 8), datetime(2026, 2, 1)),
    refused(NO_USER),
    object=(0, NO_USER),
    text=2,
)
add_users(
    "users of durations",
    stored(pa.duration("us"), timedelta(1), timedelta(2)),
    refused(NO_USER),
    object=(0, NO_USER),
    text=2,
)
add_users(
    "users of bytes",
    stored(pa.binary(), b"ann", b"\xff"),
    refused(NO_USER),
    object=(0, NO_USER),
    text=None,
)
add_users(
    "users of lists",
    stored(pa.list_(pa.string()), ["ann"], ["bob", "eve"]),
    refused(NO_USER),
    object=(0, NO_USER),
    text=None,
)
add_users(
    "users of records",
    stored(pa.struct([("name", pa.string())]), {"name": "ann"}, {"name": "bob"}),
    refused(NO_USER),
    object=(0, NO_USER),
    text=None,
)
add_users(
    "users of a dictionary of text with nulls",
    stored(pa.dictionary(pa.int8(), pa.string()), "ann", None, "bob", "ann"),
    (2, MISSING_USER),
)
add_users(
    "users of a dictionary with a value twice",
    Column(
        ("ann", "ann", "bob"),
        pa.dictionary(pa.int8(), pa.string()),
        array=pa.DictionaryArray.from_arrays(
            pa.array([0, 1, 2], pa.int8()), pa.array(["ann", "ann", "bob"])
        ),
    ),
    2,
    sources=("arrow", "arrow kept", "arrow batches", "arrow file", "parquet"),
)
add_users(
    "users of a dictionary with a null among its values",
    Column(
        ("ann", None, "bob", None),
        pa.dictionary(pa.int8(), pa.string()),
        array=pa.DictionaryArray.from_arrays(
            pa.array([0, 1, 2, None], pa.int8()), pa.array(["ann", None, "bob"])
        ),
    ),
    (2, MISSING_USER),
    sources=("arrow", "arrow kept", "arrow batches", "arrow file"),
)
add_users(
    "users of a dictionary of integers",
    stored(pa.dictionary(pa.int8(), pa.int64()), 7, 8, 7),
    2,
)
add_users(
    "users of a dictionary of floats",
    stored(pa.dictionary(pa.int8(), pa.float64()), 7.0, 8.0, 7.0),
    refused(NO_USER),
    object=(0, NO_USER),
    text=2,
    but=("duckdb", "duckdb collated"),
)
add_users("users with leading zeros", text("007", "7", "07", "7"), 3)
add_users("an integer and its digits are one user", loose(1, "1", 1, "01"), None, object=2, text=2)
add_users(
    "an integer and its digits in numpy",
    loose(np.int64(1), "1", np.uint8(1), 1),
    None,
    object=1,
    text=1,
)
add_users(
    "objects that are no users",
    loose("ann", True, 7.0, b"ann", Decimal(7), date(2026, 1, 31), 7, ("ann",)),
    None,
    object=(2, NO_USER),
    text=None,
)
add_users(
    "strings of numpy are strings",
    loose(np.str_("ann"), "ann", np.str_("7"), 7),
    None,
    object=2,
    text=2,
)
add_users(
    "users with blanks around them",
    text("ann", " ann", "ann ", "\tann"),
    4,
    text=1,
    but=("tsv",),
)
add_users("users with a blank within", text("ann lee", "ann  lee", "annlee"), 3)
add_users(
    "users of empty text",
    text("ann", "", ""),
    2,
    text=(1, MISSING_USER),
)
add_users(
    "users of blanks",
    text("ann", "  ", " "),
    3,
    text=(1, MISSING_USER),
)
add_users("users in two Unicode forms", text("Jos\u00e9", "Jose\u0301", "Jos\u00e9"), 2)
add_users("users of other letter cases", text("ann", "Ann", "ANN", "ann"), 3)
add_users(
    "users that case folding merges",
    text("stra\u00dfe", "strasse", "\u0130", "i\u0307", "\u0131"),
    5,
)
add_users(
    "users with other blanks",
    text("ann", "ann\u00a0", "\u2003ann", "ann\u200b"),
    4,
    text=2,  # a cell is trimmed of all that Unicode calls white space
)
add_users(
    "users beyond the first plane", text("\U0001f600", "\U0001f601", "\U00020000", "\ufffd"), 4
)
add_users(
    "users that other readers take for missing",
    text("NA", "null", "None", "nan", "#N/A", "N/A", "NULL", "-", "NaT", "inf"),
    10,
)
add_users(
    "users that look like numbers", text("1", "1.0", "1e0", "+1", "0x1", "1_0", "\u0663", "01"), 8
)
add_users(
    "users that look like formulas and comments", text("=1+1", "#x", "%x", "//x", "@x", "'x"), 6
)
add_users("users with quotes and commas", text('a"b', "a'b", "a,b", "a;b", "a|b", "\\"), 6)
add_users("users with ends of lines", text("a\nb", "a\rb", "a b", "a\r\nb"), 4, text=None)
add_users("users with a NUL", text("ann", "ann\0", "ann\0x"), 3, text=None)
add_users("long users", text("x" * 5_000, "x" * 4_999 + "y", "x" * 5_000), 2)
add_users(
    "objects that are no Unicode",
    loose("ann", "\ud800", "ann\udcff"),
    None,
    object=(1, NO_USER),
    text=None,
)

# Vertices: which values name a public vertex, whose label comes back as it was given.

LABELS = [30, 10, 20]
for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64()):
    add(
        f"vertices of {kind}",
        {"source": whole(20, 20, 10, kind=kind), "target": whole(10, 30, 30, kind=kind)},
        reads({(20, 10): 1, (20, 30): 1, (10, 30): 1}),
        vertices=LABELS,
    )
add(
    "vertices by their count",
    {"source": whole(0, 2, 2), "target": whole(1, 1, 1)},
    reads({(0, 1): 1, (2, 1): 2}),
    vertices=3,
)
add(
    "a column of bytes beside more vertices than it can name",
    {"source": whole(0, 2, kind=pa.int8()), "target": whole(1, 127, kind=pa.uint8())},
    reads({(0, 1): 1, (2, 127): 1}),
    vertices=1_000,
)
add(
    "integers beside text vertices",
    {"source": whole(1, 2), "target": whole(2, 7)},
    reads({("1", "2"): 1, ("2", "7"): 1}),
    vertices=["1", "2", "7"],
)
add(
    "text beside integer vertices",
    {"source": text("1", "2"), "target": text("2", "7")},
    reads({(1, 2): 1, (2, 7): 1}),
    vertices=[1, 2, 7],
)
add(
    "text beside a count of vertices",
    {"source": text("0", "2"), "target": text("1", "1")},
    reads({(0, 1): 1, (2, 1): 1}),
    vertices=3,
)
add(
    "text and integers, one at each end",
    {"source": text("1", "2"), "target": whole(2, 7)},
    reads({(1, 2): 1, (2, 7): 1}),
    vertices=[1, 2, 7],
)
add(
    "vertices of integers and of text together",
    {"source": text("1", "x"), "target": text("x", "1")},
    reads({(1, "x"): 1, ("x", 1): 1}),
    vertices=[1, "x"],
)
add(
    "vertices of integers in objects",
    {"source": loose(1, "1", "x"), "target": loose("x", "x", 1)},
    None,
    object=reads({(1, "x"): 2, ("x", 1): 1}),
    text=reads({(1, "x"): 2, ("x", 1): 1}),
    vertices=[1, "x"],
)
SPELLINGS = ("1", "01", "+1", "1.0", "1_0", "\u0661", "-0", "1e0", "0x1")
add(
    "text that is no integer vertex",
    {"source": text(*"1" * len(SPELLINGS)), "target": text(*SPELLINGS)},
    skips({(1, 1): 1}, UNKNOWN_END),
    vertices=[0, 1, 10],
)
add(
    "text that is no vertex of a count",
    {"source": text(*"1" * len(SPELLINGS)), "target": text(*SPELLINGS)},
    skips({(1, 1): 1}, UNKNOWN_END),
    vertices=11,
)
add(
    "vertices with blanks around them",
    {"source": text(" 1", "1", "1 "), "target": text("0", "0", "0")},
    skips({(1, 0): 1}, UNKNOWN_END),
    text=reads({(1, 0): 3}),
    vertices=2,
)
add(
    "vertices of negative integers",
    {"source": whole(-1, -1, 0), "target": whole(0, -2, -2)},
    reads({(-1, 0): 1, (-1, -2): 1, (0, -2): 1}),
    vertices=[-2, -1, 0],
)
add(
    "integers outside a count of vertices",
    {"source": whole(0, -1, 3, 2**40, 0), "target": whole(1, 0, 0, 0, 2)},
    skips({(0, 1): 1, (0, 2): 1}, UNKNOWN_END),
    vertices=3,
)
add(
    "unsigned integers that wrap around",
    {"source": whole(0, 2**64 - 1, 2**63, kind=pa.uint64()), "target": whole(1, 0, 1)},
    skips({(0, 1): 1}, UNKNOWN_END),
    vertices=[-1, 0, 1, -(2**63)],
)
add(
    "vertices beyond 64 bits",
    {"source": text(str(2**64), "0"), "target": text(str(2**70), str(2**64))},
    reads({(2**64, 2**70): 1, (0, 2**64): 1}),
    vertices=[0, 2**64, 2**70],
)
add(
    "vertices at the upper end of 64 bits",
    {
        "source": whole(2**63, 2**63 - 1, kind=pa.uint64()),
        "target": whole(2**64 - 1, 2**63, kind=pa.uint64()),
    },
    reads({(2**63, 2**64 - 1): 1, (2**63 - 1, 2**63): 1}),
    vertices=[2**63 - 1, 2**63, 2**64 - 1],
)
add(
    "vertices of decimals",
    {
        "source": stored(pa.decimal128(12, 0), Decimal(1), Decimal(2)),
        "target": stored(pa.decimal128(12, 0), Decimal(2), Decimal(10)),
    },
    reads({(1, 2): 1, (2, 10): 1}),
    object=skips({}, NO_END),
    vertices=[1, 2, 10],
)
add(
    "vertices of floats",
    {"source": number(1.0, 2.0), "target": whole(2, 1)},
    refused(NO_END, "Int64"),
    object=skips({}, NO_END),
    text=skips({}, UNKNOWN_END),
    vertices=[1, 2],
)
add(
    "targets of floats beside a count of vertices",
    {"source": whole(1, 2), "target": number(0.0, NAN)},
    refused(NO_END, "Int64"),
    object=skips({}, NO_END),
    text=skips({}, UNKNOWN_END),
    vertices=3,
)
add(
    "vertices of truth values",
    {"source": stored(pa.bool_(), True, False), "target": whole(0, 1)},
    refused(NO_END),
    object=skips({}, NO_END),
    text=skips({}, UNKNOWN_END),
    vertices=2,
)
add(
    "vertices of dates",
    {"source": stored(pa.date32(), date(2026, 1, 31)), "target": text("b")},
    refused(NO_END),
    object=skips({}, NO_END),
    text=reads({("2026-01-31", "b"): 1}),
    vertices=["2026-01-31", "b"],
)
add(
    "vertices of a dictionary",
    {
        "source": stored(pa.dictionary(pa.int32(), pa.string()), "a", None, "x", "a"),
        "target": stored(pa.dictionary(pa.int8(), pa.string()), "b", "b", "b", "a"),
    },
    skips({("a", "b"): 1, ("a", "a"): 1}, MISSING_END, UNKNOWN_END),
)
add(
    "vertices that are missing",
    {"source": text("a", None, "a", None), "target": text("b", "b", None, None)},
    skips({("a", "b"): 1}, MISSING_END),
)
add(
    "integer vertices that are missing",
    {"source": whole(0, None, 0), "target": whole(1, 1, None)},
    skips({(0, 1): 1}, MISSING_END),
    vertices=2,
)
add(
    "vertices of empty text",
    {"source": text("a", "", "a"), "target": text("b", "b", "")},
    skips({("a", "b"): 1}, UNKNOWN_END),
    text=skips({("a", "b"): 1}, MISSING_END),
)
add(
    "vertices outside the public set",
    {"source": text("a", "eve", "a"), "target": text("b", "b", "mallory")},
    skips({("a", "b"): 1}, UNKNOWN_END),
)
add(
    "vertices in another Unicode form and case",
    {
        "source": text("Jos\u00e9", "Jose\u0301", "jos\u00e9", "JOS\u00c9", "Jose"),
        "target": text(*"bbbbb"),
    },
    skips({("Jos\u00e9", "b"): 1}, UNKNOWN_END),
    vertices=["Jos\u00e9", "b"],
)
add(
    "vertices that differ in case alone",
    {"source": text("a", "A", "a"), "target": text("A", "a", "a")},
    reads({("a", "A"): 1, ("A", "a"): 1, ("a", "a"): 1}),
    vertices=["a", "A"],
)
add(
    "vertices with leading zeros",
    {"source": text("007", "7"), "target": text("7", "07")},
    skips({("007", "7"): 1}, UNKNOWN_END),
    vertices=["007", "7"],
)
add(
    "objects that are no vertices",
    {"source": loose("a", True, 7.0, b"a", NAN, "a"), "target": loose(*"bbbbbb")},
    None,
    object=skips({("a", "b"): 2}, NO_END, MISSING_END),
    text=None,
    vertices=["a", "b", "True", "7.0", "7"],
)

# Directed, undirected, two sides; loops, duplicates, empty tables.

MIXED = {
    "source": text("a", "b", "a", "c", "c", "a"),
    "target": text("b", "a", "b", "c", "a", "c"),
}
add(
    "directed pairs",
    MIXED,
    reads({("a", "b"): 2, ("b", "a"): 1, ("c", "c"): 1, ("c", "a"): 1, ("a", "c"): 1}),
    vertices=["a", "b", "c"],
)
add(
    "undirected pairs",
    MIXED,
    reads({("a", "b"): 3, ("c", "c"): 1, ("a", "c"): 2}),
    vertices=["a", "b", "c"],
    kind="undirected",
)
add(
    "undirected pairs in the order of the vertices",
    MIXED,
    reads({("b", "a"): 3, ("c", "c"): 1, ("c", "a"): 2}),
    vertices=["c", "b", "a"],
    kind="undirected",
)
add(
    "integers sort by number",
    {"source": whole(10, 9, 9), "target": whole(9, 10, 100)},
    reads({(9, 10): 2, (9, 100): 1}),
    vertices=[9, 10, 100],
    kind="undirected",
)
add(
    "two sides that share labels",
    MIXED,
    skips({("a", "b"): 2, ("a", "c"): 1}, UNKNOWN_END),
    vertices=(["a"], ["b", "c"]),
    kind="bipartite",
)
add(
    "two sides of integers and text",
    {"source": whole(1, 2, 1), "target": text("2", "x", "2")},
    reads({(1, "2"): 2, (2, "x"): 1}),
    vertices=([1, 2], ["2", "x"]),
    kind="bipartite",
)
add(
    "two sides by their counts",
    {"source": whole(0, 4), "target": whole(1, 1)},
    reads({(0, 1): 1, (4, 1): 1}),
    vertices=(5, 2),
    kind="bipartite",
)
add(
    "edges count once",
    MIXED,
    reads({("a", "b"): 1, ("c", "c"): 1, ("a", "c"): 1}),
    vertices=["a", "b", "c"],
    kind="undirected",
    counting="edges",
)
OWNED = {**MIXED, "user": text("u", "u", "v", "v", "v", "u")}
add(
    "users count once in each pair",
    OWNED,
    reads({("a", "b"): 2, ("c", "c"): 1, ("a", "c"): 2}),
    vertices=["a", "b", "c"],
    kind="undirected",
    counting="users",
)
add(
    "users share what they may have",
    OWNED,
    reads({("a", "b"): 1023 / 1024, ("c", "c"): 341 / 1024, ("a", "c"): 682 / 1024}),
    vertices=["a", "b", "c"],
    kind="undirected",
    bound=1,
)
add(
    "whole rows of users are kept",
    {**between(5), "user": text("u", "u", "u", "v", "w")},
    reads(distinct(4)),
    bound=2,
    whole=True,
)
add("no rows", {**between(0), "user": text()}, reads({}))
add(
    "no rows of integers",
    {"source": whole(), "target": whole(), "user": whole()},
    reads({}),
    vertices=3,
)
add(
    "no rows with weights and periods",
    {**between(0), "user": text(), "weight": number(), "period": stored(pa.date32())},
    reads({}),
    counting="weight",
    periods="2026-01..2026-02",
)
add("one row", {**between(1), "user": text("ann")}, reads(distinct(1)))
add(
    "all rows are bad",
    {"source": text("x", None), "target": text("b", "b")},
    skips({}, UNKNOWN_END, MISSING_END),
)
add("the same row many times", {**between(40), "user": text(*"u" * 40)}, reads(distinct(40)))
add(
    "a loop of one vertex",
    {"source": text("a"), "target": text("a"), "user": text("u")},
    reads({("a", "a"): 1}),
    kind="undirected",
)

# Users who are endpoints.

TRIPS = {"source": text("a", "a", "b"), "target": text("b", "b", "a")}
for name, user in (("tail", "tail"), ("the column of sources", "o")):
    add(
        f"the user is {name}",
        TRIPS,
        reads({("a", "b"): 1, ("b", "a"): 1}),
        user=user,
        bound=1,
    )
add(
    "the user is the column of targets",
    {"source": text("a", "b", "b"), "target": text("b", "b", "a")},
    reads({("a", "b"): 0.5, ("b", "b"): 0.5, ("b", "a"): 1}),
    user="d",
    bound=1,
)
add(
    "the user is an end of integers",
    {"source": whole(1, 1, 2), "target": whole(2, 2, 1)},
    reads({(1, 2): 1, (2, 1): 1}),
    vertices=[1, 2],
    user="o",
    bound=1,
)
add(
    "the user is an end, an integer or its digits",
    {"source": loose(1, "1", 2), "target": loose(2, 2, "1")},
    None,
    object=reads({(1, 2): 1, (2, 1): 1}),
    text=reads({(1, 2): 1, (2, 1): 1}),
    vertices=[1, 2],
    user="o",
    bound=1,
)
add(
    "the user is the end on the left",
    {"source": text("x", "x", "y"), "target": text("a", "a", "b")},
    reads({("x", "a"): 1, ("y", "b"): 1}),
    vertices=(["x", "y"], ["a", "b"]),
    kind="bipartite",
    user="tail",
    bound=1,
)
add(
    "the user is an end that is missing",
    {"source": text("a", None, "x"), "target": text("b", "b", "b")},
    skips({("a", "b"): 1}, MISSING_END, UNKNOWN_END),
    user="tail",
    bound=1,
)
add(
    "a column that is called tail holds the users",
    {**between(3), "user": text("u", "u", "v")},
    reads(distinct(2)),
    headers={"user": "tail"},
    bound=1,
)
add(
    "integers as users of sources that are text",
    {"source": text("1", "2", "2"), "target": whole(2, 1, 1), "user": whole(2, 2, 2)},
    reads({(1, 2): 341 / 1024, (2, 1): 682 / 1024}),
    vertices=[1, 2],
    bound=1,
)

# Weights.


def add_weights(name: str, weights: Column, typed: Any, **options: Any) -> None:
    """Add a table of rows from a to b with weights; outcomes may be sums, perhaps with faults."""

    def outcome(given: Any) -> Any:
        if isinstance(given, tuple):
            return skips(distinct(given[0]), *given[1:])
        return reads(distinct(given)) if isinstance(given, int | float) else given

    given = {"typed": typed, "counting": "weight", **options}
    for kind in ("typed", "engine", "object", "text"):
        if kind in given:
            given[kind] = outcome(given[kind])
    add(name, {**between(len(weights)), "weight": weights}, given.pop("typed"), **given)


for kind in (pa.int8(), pa.uint8(), pa.int32(), pa.int64(), pa.uint64()):
    add_weights(f"weights of {kind}", whole(1, 5, 0, kind=kind), 6)
add_weights("weights of floats", number(1.5, 0.25, 0.0, -0.0), 1.75)
add_weights("weights of 32-bit floats", number(1.5, 0.25, kind=pa.float32()), 1.75)
add_weights(
    "weights of 16-bit floats",
    number(np.float16(1.5), np.float16(0.25), kind=pa.float16()),  # older Arrow takes no others
    1.75,
    sources=("arrow", "arrow batches", "arrow file", "arrow kept"),
)
add_weights(
    "weights of decimals", stored(pa.decimal128(10, 2), Decimal("1.50"), Decimal("0.25")), 1.75
)
add_weights("weights beyond the bound of a row", number(1e300, 3e6, 1.0), 2_001, bound=1_000)
add_weights("weights of huge integers", whole(2**63 - 1, 1), 1_001)
add_weights(
    "weights of unsigned integers beyond 63 bits", whole(2**64 - 1, 1, kind=pa.uint64()), 1_001
)
add_weights("weights in a unit", number(100.0, 50.0), 1.5, weight_unit=100.0)
add_weights("weights in a small unit", number(1e-9, 2e-9), 3, weight_unit=1e-9)
add_weights("weights that are missing", number(1.0, None, 2.0), (3, NO_WEIGHT))
add_weights("integer weights that are missing", whole(1, None, 2), (3, MISSING_WEIGHT))
add_weights(
    "weights that are NaN", number(1.0, NAN, 2.0, objects=(1.0, float("nan"), 2.0)), (3, NO_WEIGHT)
)
add_weights("weights that are infinite", number(1.0, INF, -INF, 2.0), (3, NO_WEIGHT))
add_weights("weights that are negative", number(1.0, -1.0, -1e-300, 2.0), (3, NO_WEIGHT))
add_weights("integer weights that are negative", whole(1, -1, 2), (3, NO_WEIGHT))
add_weights(
    "weights of text",
    text("1.5", "2"),
    refused(NO_WEIGHT),
    object=3.5,
    text=3.5,
)
add_weights(
    "weights of truth values",
    stored(pa.bool_(), True, False),
    refused(NO_WEIGHT),
    object=(0, NO_WEIGHT),
    text=(0, NO_WEIGHT),
)
add_weights(
    "weights of dates",
    stored(pa.date32(), date(2026, 1, 31)),
    refused(NO_WEIGHT),
    object=(0, NO_WEIGHT),
    text=(0, NO_WEIGHT),
)
add_weights(
    "weights of a dictionary of text",
    stored(pa.dictionary(pa.int8(), pa.string()), "1.5", "2"),
    refused(NO_WEIGHT),
    object=3.5,
    text=3.5,
    but=("pandas by numpy", "pandas categories"),  # which forget the type of no values
)
WRITTEN = ("1.5", "2e0", ".5", "1.", "+1", "007", "1e-400")
UNWRITTEN = ("abc", "1_0", "\u0663", "0x10", "1,5", "1e400", "nan", "inf", "-1", "1 0", "$1", "--1")
add_weights(
    "weights as they are written",
    loose(*WRITTEN, *UNWRITTEN),
    None,
    object=(1.5 + 2 + 0.5 + 1 + 1 + 7, NO_WEIGHT),
    text=(1.5 + 2 + 0.5 + 1 + 1 + 7, NO_WEIGHT),
)
add_weights(
    "weights that are no number of text",
    loose("1.5", "", "  "),
    None,
    object=(1.5, NO_WEIGHT),
    text=(1.5, NO_WEIGHT),
)
add_weights(
    "weights with a decimal comma",
    loose("1,5", "0,25", "1.5", "1.234,5", "2", objects=("1,5", "0,25", "1.5", "1.234,5", 2.0)),
    None,
    object=(3.75, NO_WEIGHT),
    text=(3.75, NO_WEIGHT),
    options={"decimal": ","},
)
add_weights(
    "weights that are numbers beside a decimal comma",
    number(1.5, 2.0, texts=("1,5", "2,0")),
    refused("decimal"),
    object=3.5,
    text=3.5,
    options={"decimal": ","},
)
add_weights(
    "weights of mixed objects",
    loose(
        1,
        1.5,
        Decimal("0.5"),
        "2",
        np.float32(1.0),
        np.int8(1),
        None,
        True,
        b"1",
        date(2026, 1, 1),
        NAN,
    ),
    None,
    object=(7, NO_WEIGHT),
    text=None,
)
add(
    "weights of users",
    {**between(4), "user": text("u", "u", "v", "w"), "weight": number(3.0, 1.0, 1.5, 0.5)},
    reads(distinct(2 + 1.5 + 0.5)),
    counting="weight",
    bound=2,
)
add(
    "weights of users in whole units",
    {**between(3), "user": text("u", "v", "w"), "weight": number(2.7, 0.9, 1.0)},
    reads(distinct(3)),
    counting="weight",
    bound=5,
    whole=True,
)
add(
    "a weight is ignored where rows count",
    between(2),
    reads(distinct(2)),
    others={"weight": number(NAN, -1.0)},
)

# Periods.


def moments(*values: Any, zone: Any = None, unit: str = "us", **others: Any) -> Column:
    """A column of timestamps, of a time zone or of none."""
    kind = pa.timestamp(unit, None if zone is None else str(zone))
    return Column(tuple(values), kind, **others)


def add_periods(name: str, when: Column, typed: Any, **options: Any) -> None:
    """Add a table of rows from a to b in periods; outcomes may be counts of each, with faults."""

    def outcome(given: Any) -> Any:
        if isinstance(given, dict):
            return reads({("a", "b", period): float(n) for period, n in given.items()})
        if isinstance(given, tuple):
            return skips(
                {("a", "b", period): float(n) for period, n in given[0].items()}, *given[1:]
            )
        return given

    given = {"typed": typed, "periods": "2026-01..2026-02", **options}
    for kind in ("typed", "engine", "object", "text"):
        if kind in given:
            given[kind] = outcome(given[kind])
    add(name, {**between(len(when)), "period": when}, given.pop("typed"), **given)


JANUARY, FEBRUARY = "2026-01", "2026-02"
add_periods(
    "days",
    stored(pa.date32(), date(2026, 1, 1), date(2026, 1, 31), date(2026, 2, 1), date(2026, 3, 1)),
    {JANUARY: 2, FEBRUARY: 1},
)
add_periods(
    "days in milliseconds",
    stored(pa.date64(), date(2026, 1, 1), date(2026, 1, 31), date(2026, 2, 1)),
    {JANUARY: 2, FEBRUARY: 1},
    but=("spark",),
)
NAIVE = (
    datetime(2026, 1, 31, 23, 59, 59, 999_000),
    datetime(2026, 2, 1),
    datetime(2026, 2, 28, 23, 59),
    datetime(2025, 12, 31, 23, 59, 59),
)
for unit in ("s", "ms", "us", "ns"):
    values = tuple(each.replace(microsecond=0) for each in NAIVE) if unit == "s" else NAIVE
    add_periods(
        f"times without a zone in {unit}",
        moments(*values, unit=unit),
        {JANUARY: 1, FEBRUARY: 2},
    )
add_periods(
    "times that are missing",
    moments(NAIVE[0], None, NAIVE[1]),
    ({JANUARY: 1, FEBRUARY: 1}, MISSING_PERIOD),
)
add_periods(
    "times of early and late years",
    moments(
        datetime(1, 1, 1), datetime(9999, 12, 31, 23), datetime(2026, 1, 5), datetime(1582, 10, 10)
    ),
    {JANUARY: 1},
    but=("pandas by numpy", "pandas categories", "spark"),
)
# 20:00 of the last of January in New York is 01:00 of the first of February in UTC.
EVENING = datetime(2026, 1, 31, 20, tzinfo=NEW_YORK)
MORNING = datetime(2026, 2, 1, 8, tzinfo=NEW_YORK)
ZONED = {"zone": NEW_YORK}
add_periods(
    "times with a stored zone",
    moments(EVENING, MORNING, **ZONED),
    {JANUARY: 1, FEBRUARY: 1},
    engine=refused("time_zone"),
    object=({}, NO_PERIOD),
    text=({}, NO_PERIOD),
)
add_periods(
    "times with a stored zone that is another one",
    moments(EVENING, MORNING, zone="UTC"),
    {FEBRUARY: 2},
    engine=refused("time_zone"),
    object=({}, NO_PERIOD),
    text=({}, NO_PERIOD),
)
add_periods(
    "times with a stored offset",
    moments(EVENING, MORNING, zone="-05:00"),
    {JANUARY: 1, FEBRUARY: 1},
    engine=refused("time_zone"),
    object=({}, NO_PERIOD),
    text=({}, NO_PERIOD),
    but=("polars", "polars kept", "polars lazy", "polars scan", "polars categories"),
)
for zone, cells in (
    ("America/New_York", {JANUARY: 1, FEBRUARY: 1}),
    ("UTC", {FEBRUARY: 2}),
    ("Asia/Tokyo", {FEBRUARY: 2}),
    ("Pacific/Honolulu", {JANUARY: 1, FEBRUARY: 1}),
):
    for stored_zone in ("America/New_York", "UTC"):
        add_periods(
            f"times stored in {stored_zone}, read in {zone}",
            moments(EVENING, MORNING, zone=stored_zone),
            cells,
            options={"time_zone": zone},
        )
NIGHT = datetime(2026, 3, 31, 22, 30, tzinfo=NEW_YORK)  # April in UTC
add_periods(
    "the night before a month, in a stored zone",
    moments(*[NIGHT] * 6, datetime(2026, 4, 10, 12, tzinfo=NEW_YORK), **ZONED),
    {"2026-03": 6, "2026-04": 1},
    engine=refused("time_zone"),
    object=({}, NO_PERIOD),
    text=({}, NO_PERIOD),
    periods="2026-03..2026-04",
)
# Clocks go forward at 07:00 UTC of the 8th of March, and back at 06:00 UTC of the 1st of November.
CHANGES = tuple(
    datetime(2026, *rest, tzinfo=UTC)
    for rest in (
        (3, 8, 4, 59),  # the 7th, 23:59
        (3, 8, 5, 0),  # the 8th, 0:00
        (3, 9, 3, 59),  # the 8th, 23:59
        (3, 9, 4, 0),  # the 9th, 0:00
        (11, 1, 3, 59),  # the 31st of October, 23:59
        (11, 1, 4, 0),  # the 1st of November, 0:00
        (11, 2, 4, 59),  # the 1st, 23:59
        (11, 2, 5, 0),  # the 2nd, 0:00
    )
)
DAYS = ["2026-03-07", "2026-03-08", "2026-03-09", "2026-10-31", "2026-11-01", "2026-11-02"]
OF_CHANGES = dict(zip(DAYS, (1, 2, 1, 1, 2, 1), strict=True))
add_periods(
    "days on which clocks change, in a given zone",
    moments(*CHANGES, zone="UTC"),
    OF_CHANGES,
    periods=DAYS,
    options={"time_zone": "America/New_York"},
)
add_periods(
    "days on which clocks change, in a stored zone",
    moments(*CHANGES, **ZONED),
    OF_CHANGES,
    engine=refused("time_zone"),
    object=({}, NO_PERIOD),
    text=({}, NO_PERIOD),
    periods=DAYS,
)
add_periods(
    "an hour that comes twice",
    moments(
        datetime(2026, 11, 1, 1, 30, tzinfo=NEW_YORK, fold=0),
        datetime(2026, 11, 1, 1, 30, tzinfo=NEW_YORK, fold=1),
        **ZONED,
    ),
    {"2026-11-01": 2},
    periods=["2026-11-01"],
    options={"time_zone": "America/New_York"},
)
add_periods(
    "times without a zone beside a given zone",
    moments(*NAIVE),
    refused("time_zone"),
    object=({}, NO_PERIOD),
    text=({}, NO_PERIOD),
    options={"time_zone": "UTC"},
)
add_periods(
    "days beside a given zone",
    stored(pa.date32(), date(2026, 1, 1), date(2026, 2, 1)),
    refused("time_zone"),
    object=({}, NO_PERIOD),
    text=({}, NO_PERIOD),
    options={"time_zone": "Europe/Berlin"},
)
TEXTS = ("2026-01-31T22:30:00Z", "2026-02-01T08:00:00+02:00", "2026-01-31T23:30:00-05:00")
add_periods("text with an offset", text(*TEXTS, "2026-01-15"), ({JANUARY: 1}, NO_PERIOD))
add_periods(
    "text with an offset and a given zone",
    text(*TEXTS, "2026-01-15T12:00:00", "2026-01-15"),
    ({JANUARY: 1, FEBRUARY: 2}, NO_PERIOD),  # 23:30 in Berlin; 07:00; 05:30
    options={"time_zone": "Europe/Berlin"},
)
add_periods(
    "text of days and times",
    text(
        "2026-01-31",
        "2026-01-31T23:59:59",
        "2026-01-31 23:59",
        "2026-02-01T00:00:00.000",
        "2026-02",
    ),
    {JANUARY: 3, FEBRUARY: 2},
)
add_periods(
    "text that is no day",
    text(
        "2026-01-31",
        "2026-02-30",
        "2026-13-01",
        "2026-1-5",
        "spring",
        "202601",
        "31.01.2026",
        "2026",
        "2026-Q1",
    ),
    ({JANUARY: 1}, NO_PERIOD),
)
add_periods(
    "empty text in place of a period",
    text("2026-01-31", "", None),
    ({JANUARY: 1}, NO_PERIOD),
)
add_periods(
    "undeclared periods do not count",
    text("2026-01-31", "2026-03-01", "1999-12-31"),
    {JANUARY: 1},
)
add_periods(
    "months",
    text("2026-01", "2026-02", "2026-02", "2026-03"),
    {JANUARY: 1, FEBRUARY: 2},
)
add_periods(
    "months of a dictionary",
    stored(pa.dictionary(pa.int8(), pa.string()), "2026-01", None, "2026-02", "x"),
    ({JANUARY: 1, FEBRUARY: 1}, MISSING_PERIOD, NO_PERIOD),
)
add_periods(
    "quarters of labels and days",
    text("2026-Q1", "2026-03-31", "2026-04-01", "2026-04", "2026-Q3", "2026-Q5", "2026"),
    ({"2026-Q1": 2, "2026-Q2": 2}, NO_PERIOD),
    periods="2026-Q1..2026-Q2",
)
add_periods(
    "quarters of stored days",
    stored(pa.date32(), date(2026, 3, 31), date(2026, 4, 1), date(2026, 7, 1)),
    {"2026-Q1": 1, "2026-Q2": 1},
    periods="2026-Q1..2026-Q2",
)
add_periods(
    "years of integers",
    whole(2025, 2026, 2026, 2027),
    {"2025": 1, "2026": 2},
    periods="2025..2026",
)
add_periods(
    "years of integers that are none",
    whole(2025, 26, None, 20260131, -2025),
    ({"2025": 1}, NO_PERIOD),
    periods="2025..2026",
)
add_periods(
    "years of stored times",
    moments(NAIVE[0], NAIVE[3]),
    {"2025": 1, "2026": 1},
    periods="2025..2026",
)
add_periods(
    "months of integers",
    whole(202601, 1),
    ({}, NO_PERIOD),
)
add_periods(
    "periods of floats",
    number(2025.0, 2026.0),
    refused(NO_PERIOD),
    object=({}, NO_PERIOD),
    text=({}, NO_PERIOD),
    periods="2025..2026",
)
add_periods(
    "periods of truth values",
    stored(pa.bool_(), True, False),
    refused(NO_PERIOD),
    object=({}, NO_PERIOD),
    text=None,
    periods=["True", "False"],
)
add_periods(
    "periods of clock times",
    stored(pa.time64("us"), NAIVE[0].time(), NAIVE[1].time()),
    refused(NO_PERIOD),
    object=({}, NO_PERIOD),
    text=({}, NO_PERIOD),
)
NAMES = ["spring", "autumn"]
add_periods(
    "names of periods",
    text("spring", "autumn", "spring", "winter", "Spring"),
    {"spring": 2, "autumn": 1},
    periods=NAMES,
)
add_periods(
    "numbers of periods",
    whole(1, 2, 2, 3),
    {"1": 1, "2": 2},
    periods=["1", "2"],
)
add_periods(
    "numbers and their digits in objects",
    loose(1, "1", "2", "01"),
    None,
    object={"1": 2, "2": 1},
    text={"1": 2, "2": 1},
    periods=["1", "2"],
)
add_periods(
    "stored days beside names of periods",
    stored(pa.date32(), date(2026, 1, 31)),
    refused(NO_PERIOD),
    object=None,
    text={},
    periods=NAMES,
)
add_periods(
    "days in a given order",
    text("31.01.2026", "01.02.2026", "2026-01-31", "31.13.2026", "1.2.26", "01/02/2026"),
    ({JANUARY: 1, FEBRUARY: 1}, NO_PERIOD),
    options={"date_format": "%d.%m.%Y"},
)
add_periods(
    "days and times in a given order",
    text("01/31/2026 23:59", "02/01/2026 00:00", "31/01/2026 12:00", "01/31/2026"),
    ({JANUARY: 1, FEBRUARY: 1}, NO_PERIOD),
    options={"date_format": "%m/%d/%Y %H:%M"},
)
add_periods(
    "times with an offset in a given order",
    text("31.01.2026 22:30 +0000", "31.01.2026 20:00 -0500", "31.01.2026 22:30"),
    ({JANUARY: 1, FEBRUARY: 1}, NO_PERIOD),
    options={"date_format": "%d.%m.%Y %H:%M %z", "time_zone": "Europe/London"},
)
add_periods(
    "stored days beside a given order of text",
    stored(pa.date32(), date(2026, 1, 31), date(2026, 2, 1), texts=("31.01.2026", "01.02.2026")),
    refused("date_format"),
    object={JANUARY: 1, FEBRUARY: 1},
    text={JANUARY: 1, FEBRUARY: 1},
    options={"date_format": "%d.%m.%Y"},
)
add_periods(
    "objects of many kinds without a zone",
    loose(
        date(2026, 1, 31),
        NAIVE[0],
        "2026-02-01",
        EVENING,
        TEXTS[0],
        2026,
        None,
        7.0,
        np.datetime64("NaT"),
    ),
    None,
    object=({JANUARY: 2, FEBRUARY: 1}, NO_PERIOD, MISSING_PERIOD),
    text=None,
)
add_periods(
    "objects of many kinds with a zone",
    loose(date(2026, 1, 31), NAIVE[0], "2026-02-01", EVENING, TEXTS[0], None),
    None,
    object=({JANUARY: 1, FEBRUARY: 1}, NO_PERIOD, MISSING_PERIOD),
    text=None,
    options={"time_zone": "UTC"},
)
add_periods(
    "objects in zones of their own",
    loose(EVENING, EVENING.astimezone(TOKYO), EVENING.astimezone(timezone(timedelta(hours=5)))),
    None,
    object={JANUARY: 3},
    text={JANUARY: 3},
    options={"time_zone": "America/New_York"},
)
add(
    "users are bounded in each period",
    {
        **between(5),
        "user": text("u", "u", "u", "v", "v"),
        "period": text("2026-01-01", "2026-01-31", "2026-02-01", "2026-01-05", "2026-03-01"),
    },
    reads({("a", "b", JANUARY): 2, ("a", "b", FEBRUARY): 1}),
    periods="2026-01..2026-02",
    bound=1,
    per_period=True,
)
add(
    "users are bounded in all periods together",
    {
        **between(4),
        "user": text("u", "u", "v", "v"),
        "period": stored(
            pa.date32(), date(2026, 1, 1), date(2026, 2, 1), date(2026, 1, 5), date(2026, 3, 1)
        ),
    },
    reads({("a", "b", JANUARY): 1.5, ("a", "b", FEBRUARY): 0.5}),
    periods="2026-01..2026-02",
    bound=1,
)
add(
    "one bad row of each kind",
    {
        "source": text("a", None, "x", "a", "a", "a"),
        "target": text("b", "b", "b", "b", "b", "b"),
        "user": text("ann", "bob", "eve", None, "kim", "lee"),
        "period": text(
            "2026-01-01", "2026-01-01", "2026-01-01", "2026-01-01", "soon", "2026-02-01"
        ),
        "weight": number(1.0, 1.0, 1.0, 1.0, 1.0, -2.0),
    },
    skips({("a", "b", JANUARY): 1}, MISSING_END, UNKNOWN_END, MISSING_USER, NO_PERIOD, NO_WEIGHT),
    periods="2026-01..2026-02",
    counting="weight",
    bound=9,
)
add(
    "a row with every fault",
    {
        "source": text("a", None),
        "target": text("b", None),
        "user": text("ann", None),
        "period": text("2026-01-01", None),
        "weight": number(1.0, None),
    },
    skips({("a", "b", JANUARY): 1}, MISSING_END),
    text=reads({("a", "b", JANUARY): 1}),  # a line of separators is no row
    periods="2026-01..2026-02",
    counting="weight",
    bound=9,
)

# Headers and other columns.

PLAIN = {**between(3), "user": text("u", "u", "v")}


def add_headers(name: str, headers: dict[str, str], outcome: Any = None, **options: Any) -> None:
    """Add a table of two users whose columns have these names."""
    add(name, PLAIN, outcome or reads(distinct(2)), headers=headers, bound=1, **options)


NO_DUCKDB = ("duckdb", "duckdb collated", "spark")
add_headers(
    "headers with blanks and quotes",
    {"source": 'from "x"', "target": "to  y", "user": "the user's"},
)
add_headers(
    "headers that are no ASCII",
    {"source": "Stra\u00dfe", "target": "\u76ee\u7684\u5730", "user": "\U0001f600"},
)
add_headers(
    "headers that look like commands",
    {"source": '"; drop table t; --', "target": "select", "user": "*"},
)
add_headers("headers that are numbers", {"source": "3", "target": "1", "user": "2"})
add_headers(
    "headers that name other roles", {"source": "target", "target": "source", "user": "weight"}
)
add_headers(
    "headers that the program uses",
    {"source": "second", "target": "first", "user": "cell"},
    others={
        each: text("x", "y", "z") for each in ("user", "place", "amount", "period", "mark", "known")
    },
)
add_headers("headers with dots and braces", {"source": "a.b", "target": "{b}", "user": "c[0]"})
add_headers(
    "headers that differ in case alone",
    {"source": "x", "target": "X", "user": "who"},
    but=NO_DUCKDB,
)
add_headers(
    "a header of other letter case is another one",
    {},
    refused(OF_COLUMN),
    options={"source": "O"},
)
add_headers("a column that is missing", {}, refused(OF_COLUMN), options={"source": "start"})
add_headers("a user column that is missing", {}, refused(OF_COLUMN), options={"user": "person"})
add_headers(
    "other columns of any type",
    {},
    others={
        "truth": stored(pa.bool_(), True, None, False),
        "bytes": stored(pa.binary(), b"\xff", None, b""),
        "time": stored(pa.timestamp("us"), NAIVE[0], None, NAIVE[1]),
        "share": number(NAN, INF, None),
        "name": text("x", None, ""),
    },
    object=reads(distinct(2)),
    text=reads(distinct(2)),
)
add_headers(
    "other columns of nested types",
    {},
    others={
        "list": stored(pa.list_(pa.int64()), [1], None, []),
        "record": stored(pa.struct([("x", pa.int64())]), {"x": 1}, None, {"x": 2}),
    },
)
add_headers("a column without a name", {}, others={"": text("x", "y", "z")}, but=NO_DUCKDB)
