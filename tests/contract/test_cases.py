"""Tables on which readers disagreed once, or let one user decide about others, made small."""

import io
import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import networkx as nx
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from command_runs import run_line
from pyarrow import compute, parquet

import graphcuts_dp as gc
from graphcuts_dp import BudgetError, GraphCutsError, GraphError, LedgerError
from graphcuts_dp.schema.counting import STEPS

_connect = duckdb.connect
ENDS = ["a", "b", "c"]
TRIPS = gc.Columns(source="u", target="v", user="o")


def cells_of(
    rows: gc.Rows, privacy_unit: gc.PrivacyUnit, *, whole: bool = False
) -> dict[Any, float]:
    """How much is in each cell, by period, source and target."""
    cells = rows.cells(privacy_unit, whole=whole)
    columns = (cells.period, cells.first, cells.second, cells.steps / STEPS)
    return {tuple(at): amount for *at, amount in zip(*(c.tolist() for c in columns), strict=True)}


def change(before: dict[Any, float], after: dict[Any, float]) -> float:
    """The L1 distance of two tables of cells."""
    return sum(abs(before.get(at, 0) - after.get(at, 0)) for at in before.keys() | after.keys())


# A column of objects whose first rows are text, and later ones integers.


def mixed_frame(*, odd: bool) -> pd.DataFrame:
    """Users 10, 11, ... each as text and as integers; perhaps one row of user 7 near the top."""
    rows: list[tuple[str, str, Any]] = [("a", "b", f"q{i}") for i in range(120)]
    if odd:
        rows.insert(50, ("a", "b", 7))
    for i in range(60):
        rows += [("a", "b", str(i + 10)), ("b", "c", i + 10)]
    return pd.DataFrame(rows, columns=["u", "v", "o"]).astype(object)


def read_in_chunks(*, odd: bool) -> pd.DataFrame:
    """As `pd.read_csv` reads a long file: what it makes of a column differs between its chunks."""
    first = "A17" if odd else "1007"
    lines = [
        f"a,b,{first}",
        *(f"{u},{v},{1000 + i % 50}" for i in range(400) for u, v in ["ab", "bc"]),
    ]
    text = "u,v,o\n" + "\n".join(lines)
    return pd.concat(list(pd.read_csv(io.StringIO(text), chunksize=100)), ignore_index=True)


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("data", [None, "trips"])
@pytest.mark.parametrize("frame", [mixed_frame, read_in_chunks])
def test_one_user_does_not_decide_how_objects_are_read(
    frame: Callable[..., pd.DataFrame], data: str | None, whole: bool
) -> None:
    found = [
        cells_of(
            gc.Rows.of(frame(odd=odd), columns=TRIPS, vertices=ENDS, data_name=data),
            gc.PrivacyUnit.user(max_contributions=1),
            whole=whole,
        )
        for odd in (True, False)
    ]
    assert sum(found[1].values()) > 40
    assert change(*found) <= 1 + (frame is read_in_chunks)  # there, one user is replaced
    users = {str(user) for user in frame(odd=True)["o"]}
    assert sum(found[0].values()) == pytest.approx(len(users), abs=len(users) / 500)


def test_read_csv_makes_columns_of_two_types() -> None:
    """Else the test above shows nothing."""
    assert {type(user) for user in read_in_chunks(odd=True)["o"]} >= {str, int}


# Instants near midnight, read by two readers.


@pytest.fixture
def trips(tmp_path: Path) -> Path:
    """Six rows of ann at 22:30 of the last of March in New York, which is April in UTC."""
    times = pd.to_datetime(["2026-03-31 22:30"] * 6 + ["2026-04-10 12:00"])
    columns = {
        "u": ["a"] * 6 + ["b"],
        "v": ["b"] * 6 + ["c"],
        "o": ["ann"] * 6 + ["bob"],
        "t": times.tz_localize("America/New_York"),
    }
    pd.DataFrame(columns).to_parquet(tmp_path / "trips.parquet")
    return tmp_path / "trips.parquet"


READERS: dict[str, Callable[..., gc.Rows]] = {
    "memory": lambda path, **how: gc.Rows.read(path, **how),
    "kept": lambda path, **how: gc.Rows.read(path, data_name="trips", **how),
    "scan": lambda path, **how: gc.Rows.of(pl.scan_parquet(path), data_name="trips", **how),
    "pandas": lambda path, **how: gc.Rows.of(pd.read_parquet(path), **how),
    "pandas kept": lambda path, **how: gc.Rows.of(pd.read_parquet(path), data_name="trips", **how),
    "arrow": lambda path, **how: gc.Rows.of(parquet.read_table(path), data_name="trips", **how),
}


def timed(zone: str | None = None) -> gc.Columns:
    return gc.Columns(source="u", target="v", user="o", period="t", time_zone=zone)


@pytest.mark.thorough(cases=4)
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    ("zone", "expected"),
    [
        (None, {(0, 0, 1): 6, (1, 1, 2): 1}),
        ("America/New_York", {(0, 0, 1): 6, (1, 1, 2): 1}),
        ("UTC", {(1, 0, 1): 6, (1, 1, 2): 1}),
    ],
)
def test_all_readers_have_one_period_for_a_row(
    trips: Path, reader: str, zone: str | None, expected: dict[Any, float]
) -> None:
    how = {"columns": timed(zone), "vertices": ENDS, "periods": "2026-03..2026-04"}
    rows = READERS[reader](trips, **how)
    assert cells_of(rows, gc.PrivacyUnit.user(max_contributions=6, per_period=True)) == expected


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("second", ["kept", "scan", "arrow"])
@pytest.mark.parametrize("zone", ["UTC", "America/New_York", None])
def test_a_store_admits_no_row_in_two_months(
    trips: Path, tmp_path: Path, second: str, zone: str | None
) -> None:
    """The cap of a period is spent once on the same rows, whoever reads them and in which zone."""

    def release(reader: str, zone: str | None, period: str) -> None:
        how = {"columns": timed(zone), "vertices": ENDS, "periods": [period]}
        rows = READERS[reader](trips, **how)
        gc.release_flows(
            rows,
            gc.Groups(rows.space, {"g": ["x", "y", "y"]}),
            epsilon=1.0,
            privacy_unit=gc.PrivacyUnit.user(max_contributions=6, per_period=True),
            store=gc.Store(tmp_path / "store", budget=1.0),
        )

    release("scan", None, "2026-03")
    same = zone != "UTC"
    if same:  # the month of these rows is one month for all
        with pytest.raises(BudgetError):
            release(second, zone, "2026-03")
        release(second, zone, "2026-04")
    else:  # read in UTC, rows of March in New York would be rows of April
        with pytest.raises(GraphCutsError):
            release(second, zone, "2026-04")


def test_flows_names_the_zone_and_reads_one_month(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """20:00 of the last of January in New York is 01:00 of the first of February in UTC."""
    monkeypatch.chdir(tmp_path)
    night = pd.to_datetime(["2024-01-31 20:00"] * 300).tz_localize("America/New_York")
    frame = pd.DataFrame({"o": ["x"] * 300, "d": ["y"] * 300, "t": night})
    frame.to_parquet("trips.parquet")
    Path("zones.txt").write_text("x\ny\n")
    Path("groups.csv").write_text("zone,borough\nx,A\ny,B\n")
    for name, more in {"memory": [], "kept": ["--data-name", "trips"]}.items():
        status, out, err = run_line(
            *("flows", "trips.parquet", "groups.csv", f"{name}.csv", "--vertices", "zones.txt"),
            *("--epsilon", "1", "--kind", "directed", "--columns", "source=o,target=d,period=t"),
            *("--periods", "2024-01..2024-02", "--by", "month", "--uncounted", *more),
        )
        assert status == 0, err
        assert "America/New_York" in out + err
        table = pd.read_csv(f"{name}.csv", dtype=str, skiprows=1)  # after the comment
        from_a = table.eq("A").any(axis=1) & table.eq("B").any(axis=1)
        of_january = table.eq("2024-01").any(axis=1)
        numbers = table[from_a & of_january].apply(pd.to_numeric, errors="coerce")
        assert 200 < numbers.max(axis=None) < 400


# A relation that differs each time it is evaluated.


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("bound", [2, 4])
@pytest.mark.parametrize("whole", [False, True])
def test_a_relation_is_evaluated_once(bound: int, whole: bool) -> None:
    """Each user has loops at a vertex of its own, so a cell holds all that one user adds."""
    connection = _connect()
    connection.execute(
        "create table t as select i % 20 as u, i % 20 as v, 'o' || (i % 20) as o "
        "from range(20 * 40) r(i)"
    )
    sampled = "select * from t using sample 10 percent (bernoulli)"
    largest = []
    for _ in range(2):  # two samples of 800 rows are never the same
        relation = connection.sql(sampled)
        rows = gc.Rows.of(relation, columns=TRIPS, vertices=20, data_name="t", kind="directed")
        found = cells_of(rows, gc.PrivacyUnit.user(max_contributions=bound), whole=whole)
        again = cells_of(rows, gc.PrivacyUnit.user(max_contributions=bound), whole=whole)
        assert found == again
        largest.append(max(found.values()))
        contributions = rows.contributions()
        assert sum(min(c, bound) for c in contributions.tolist()) == pytest.approx(
            sum(found.values())
        )
    assert max(largest) == bound


# One bad weight, one bad identifier.

AMOUNTS = pa.table({"o": ["a"] * 11, "d": ["b"] * 11, "w": [1.0] * 10 + [math.nan]})
GAPS = pa.table({"o": [1.0] * 10 + [None], "d": [2.0] * 11})
NANS = pa.table({"o": [1.0] * 10 + [math.nan], "d": [2.0] * 11})


def opened(table: pa.Table, folder: Path, way: str, **how: Any) -> gc.Rows:
    """The rows of a table, from a frame or from a file that is read into memory or stays."""
    if way == "frame":
        return gc.Rows.of(table.to_pandas(), **how)
    parquet.write_table(table, folder / "x.parquet")
    return gc.Rows.read(folder / "x.parquet", data_name="x" if way == "kept" else None, **how)


@pytest.mark.parametrize("way", ["memory", "kept", "frame"])
def test_one_weight_that_is_nan_is_left_out(tmp_path: Path, way: str) -> None:
    columns = gc.Columns(source="o", target="d", weight="w", on_bad="skip")
    how = {"vertices": ["a", "b"], "kind": "directed", "counting": "weight"}
    rows = opened(AMOUNTS, tmp_path, way, columns=columns, **how)
    assert cells_of(rows, gc.PrivacyUnit.row(5)) == {(0, 0, 1): 10}
    groups = gc.Groups.of({v: f"G{v}" for v in "ab"}, rows)
    flows = gc.release_flows(
        rows,
        groups,
        epsilon=1.0,
        privacy_unit=gc.PrivacyUnit.row(5),
        workload=gc.FlowWorkload(expected_cell=0),
    )
    assert flows.guarantee.epsilon == 1.0


@pytest.mark.parametrize("table", [GAPS, NANS, GAPS.slice(0, 10), GAPS.slice(0, 0)])
@pytest.mark.parametrize("way", ["memory", "kept", "frame"])
def test_identifiers_of_floats_are_refused_by_their_type(
    tmp_path: Path, way: str, table: pa.Table
) -> None:
    """Whether one of them is missing has no say."""
    columns = gc.Columns(source="o", target="d", on_bad="skip")
    with pytest.raises(GraphCutsError, match="Int64"):
        opened(table, tmp_path, way, columns=columns, vertices=[1, 2])


# Frames whose columns have no text names.

SNAP = "# FromNodeId\tToNodeId\n1\t2\n2\t3\n"
FRAMES = {
    "read without a header": lambda: pd.read_csv(
        io.StringIO(SNAP), sep="\t", comment="#", header=None
    ),
    "a list of pairs": lambda: pd.DataFrame([(1, 2), (2, 3)]),
    "several levels": lambda: pd.DataFrame(
        [(1, 2), (2, 3)], columns=pd.MultiIndex.from_tuples([("x", "source"), ("x", "target")])
    ),
}


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("columns", [None, gc.Columns(source=0, target=1)])
def test_frames_without_names_give_edges(frame: str, columns: gc.Columns | None) -> None:
    options = {} if columns is None else {"columns": columns}
    graph = gc.Graph.of(FRAMES[frame](), **options)
    assert list(graph.labels) == [1, 2, 3]
    assert graph.dense().tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def test_adjacency_frames_are_refused_in_words() -> None:
    frame = nx.to_pandas_adjacency(nx.path_graph(3))
    with pytest.raises(GraphError, match=r"source=|matrix"):
        gc.Graph.of(frame)


def test_groups_of_frames_without_names() -> None:
    graph = gc.Graph.of([(1, 2), (2, 3)])
    frame = pd.DataFrame([(1, "x"), (2, "y"), (3, "x")])
    for names in (None, ["vertex", "g"]):
        if names is not None:
            frame.columns = pd.Index(names)
        groups = gc.Groups.of(frame, graph)
        (level,) = groups.levels
        labels = groups.labels(level)
        assert [labels[code] for code in groups.codes(level)] == ["x", "y", "x"]


@pytest.mark.parametrize(
    "odd",
    [
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))),
        10**5000,
        "\ud800",
        float("inf"),
    ],
    ids=["before year 1", "many digits", "half a surrogate", "infinite"],
)
def test_no_value_of_a_period_stops_a_reading(odd: Any) -> None:
    """One row of an odd time must not decide whether the others are read."""
    good = datetime(2026, 1, 1, tzinfo=UTC)
    frame = pd.DataFrame({"o": ["a", "b"], "d": ["b", "a"]})
    frame["when"] = pd.Series([odd, good], dtype=object)
    columns = gc.Columns(
        source="o", target="d", period="when", time_zone="Europe/Berlin", on_bad="skip"
    )
    rows = gc.Rows.of(
        frame, columns=columns, vertices=["a", "b"], periods="2026-01..2026-02", kind="directed"
    )
    cells = rows.cells(gc.PrivacyUnit.row(), whole=False)
    assert (cells.first.tolist(), cells.period.tolist()) == ([1], [0])


def test_decimals_that_no_text_could_hold_are_refused_by_their_type() -> None:
    for rows in (0, 1):
        wide = pa.array([Decimal(10)] * rows, pa.decimal256(76, -1))
        table = pa.table({"o": wide, "d": ["b"] * rows})
        with pytest.raises(GraphCutsError, match="neither integers nor text"):
            gc.Graph.of(table, columns=gc.Columns(source="o", target="d", on_bad="skip"))


# What one row once decided about others; each was found by an attack on the readers.

SKIPPING = gc.Columns(source="s", target="t", user="u", on_bad="skip")
ONE_EACH = gc.PrivacyUnit.user(max_contributions=1)


def kept(table: Any, name: str | None = None) -> dict[Any, float]:
    """The cells of one row of each user."""
    rows = gc.Rows.of(table, columns=SKIPPING, vertices=["a", "b"], kind="directed", data_name=name)
    return cells_of(rows, ONE_EACH, whole=True)


@pytest.mark.parametrize("name", [None, "trips"])
def test_a_batch_of_bad_rows_alone_is_left_out(name: str | None) -> None:
    table = pa.table({"s": ["a", "z"], "t": ["b", "b"], "u": ["x", None]})
    assert kept(table, name) == {(0, 0, 1): 1}
    assert kept(table.slice(1), name) == {}


@pytest.mark.parametrize("encoding", [None, "utf-8-sig"])
def test_a_byte_order_mark_counts_alike_on_every_line(encoding: str | None) -> None:
    columns = gc.Columns(source=0, target=1, user=2, header=False, on_bad="skip", encoding=encoding)
    lines = [b"\xef\xbb\xbfa,b,u1\n", b"\xef\xbb\xbfb,a,u2\n", b"a,b,u3\n"]
    found = []
    for some in (lines, lines[1:]):
        stream = io.BytesIO(b"".join(some))
        rows = gc.Rows.read(stream, columns=columns, vertices=["a", "b"], kind="directed")
        found.append(cells_of(rows, ONE_EACH))
    assert found == [{(0, 0, 1): 2, (0, 1, 0): 1}, {(0, 0, 1): 1, (0, 1, 0): 1}]


def test_a_mark_that_tells_the_order_of_bytes_is_no_first_row() -> None:
    columns = gc.Columns(source=0, target=1, header=False, on_bad="skip", encoding="utf-16")
    with pytest.raises(GraphCutsError, match="utf-16-le"):
        gc.Rows.read(io.BytesIO("a,b\n".encode("utf-16")), columns=columns, vertices=["a", "b"])


def test_blanks_beside_cells_do_not_count_in_a_row_with_quotes() -> None:
    for row in ("a,b,x ", '"a",b,x ', '"a" , b ,x', 'a,"b",\tx'):
        stream = io.BytesIO(f"s,t,u\n{row}\na,b,x\n".encode())
        rows = gc.Rows.read(stream, columns=SKIPPING, vertices=["a", "b"], kind="directed")
        assert cells_of(rows, ONE_EACH) == {(0, 0, 1): 1}, row


@pytest.mark.parametrize("second", [27, 28, 100])
def test_dictionaries_of_several_parts_are_read_however_many_values_they_have(second: int) -> None:
    parts = [
        pa.DictionaryArray.from_arrays(
            pa.array(range(count), pa.int8()), pa.array([f"{name}{i}" for i in range(count)])
        )
        for name, count in (("x", 100), ("y", second))
    ]
    users = pd.Series(pa.chunked_array(parts), dtype=pd.ArrowDtype(parts[0].type))
    frame = pd.DataFrame({"s": "a", "t": "b", "u": users})
    assert kept(frame) == {(0, 0, 1): 100 + second}


@pytest.mark.parametrize("count", [0, 1, 3])
def test_run_ends_are_refused_by_their_type(count: int) -> None:
    users = compute.run_end_encode(pa.array(["x", "x", "y"]))[:count]
    table = pa.table({"s": ["a"] * count, "t": ["b"] * count, "u": users})
    with pytest.raises(GraphCutsError, match="the user holds neither integers nor text"):
        kept(table)


class _Odd(str):
    def __str__(self) -> str:
        raise RuntimeError


def test_a_value_of_a_class_of_its_own_stops_nothing() -> None:
    users = pd.Series(["x", _Odd("x"), object()], dtype=object)
    assert kept(pd.DataFrame({"s": "a", "t": "b", "u": users})) == {(0, 0, 1): 1}


def test_negative_scales_are_one_key_in_any_encoding() -> None:
    plain = pa.array([Decimal(12300)], pa.decimal128(5, -2))
    for users in (plain, plain.dictionary_encode()):
        table = pa.table({"s": users, "t": ["b"], "u": ["x"]})
        rows = gc.Rows.of(table, columns=SKIPPING, vertices=["12300", "b"], kind="directed")
        assert cells_of(rows, ONE_EACH) == {(0, 0, 1): 1}


def test_tables_that_cannot_be_opened_are_refused_in_a_line() -> None:
    connection = duckdb.connect()
    connection.execute("create table trips as select 'a' as s, 'b' as t, 'x' as u")
    gone = connection.table("trips")
    connection.execute("drop table trips")
    wide = pl.DataFrame(
        {"s": ["a"], "t": ["b"], "u": ["x"], "w": [1]}, schema_overrides={"w": pl.Int128}
    )
    assert kept(wide) == kept(wide.lazy()) == {(0, 0, 1): 1}
    for source in (gone, pl.LazyFrame({"s": ["a"]}).select("t"), pl.Series([1])):
        with pytest.raises(GraphCutsError) as caught:
            kept(source)
        assert "\n" not in str(caught.value)


def test_named_rows_have_one_meaning_of_pairs_and_periods(tmp_path: Path) -> None:
    """Else one store would add up costs of two kinds of neighbours, or share a row's months."""
    trips = pd.DataFrame({"s": ["a"], "t": ["b"], "s2": ["b"], "t2": ["a"]})

    def release(source: str, target: str) -> None:
        columns = gc.Columns(source=source, target=target)
        rows = gc.Rows.of(
            trips,
            columns=columns,
            vertices=["a", "b"],
            data_name="trips",
            counting="edges",
        )
        groups = gc.Groups(rows.space, {"side": ["x", "y"]})
        store = gc.Store(tmp_path / "trips.db", budget=4.0)
        workload = gc.FlowWorkload(expected_cell=0)
        gc.release_flows(rows, groups, epsilon=2.0, store=store, workload=workload)

    release("s", "t")
    with pytest.raises(LedgerError, match="with endpoints from other columns"):
        release("s2", "t2")
    told = []
    for column, zone in (("p", "Europe/Berlin"), ("p in Europe/Berlin", None)):
        frame = pd.DataFrame({"s": ["a"], "t": ["b"], column: ["2026-01-01T00:00Z"]})
        columns = gc.Columns(source="s", target="t", period=column, time_zone=zone)
        rows = gc.Rows.of(
            frame, columns=columns, vertices=["a", "b"], periods="2026", data_name="trips"
        )
        told.append(rows.period_column)
    assert told[0] != told[1]
