"""Reading rows with users: their columns, kinds of sources, bad rows, and refusals."""

import gzip
import io
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from helpers import owned_flat, read_owned_flat
from pyarrow import parquet

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError, GraphError, ParameterError
from graphcuts_dp.io.files import read_raw
from graphcuts_dp.io.numbering import codes_and_names
from graphcuts_dp.io.tables import edges_of_table, open_table
from graphcuts_dp.plugins import Options
from graphcuts_dp.schema.counting import COUNTINGS
from tests.audits.rows_in_memory import bounded

VISITS = "patient,hospital,referred,cost\nann,A,B,2.5\nann,B,A,1\nbob,A,C,7\nbob,A,C,0.2\n"
HOSPITALS = ["A", "B", "C"]
ENDPOINTS = {"source": "hospital", "target": "referred"}
PATIENT = {"user": "patient", "vertices": HOSPITALS, **ENDPOINTS}
COSTS = {"counting": "weight", "weight": "cost"}
SIDES = {"bipartite": True, "vertices": (["ann", "bob", "eve"], HOSPITALS)}
SIDES |= {"source": "patient", "target": "hospital"}


@pytest.fixture
def visits(put):
    return put("visits.csv", VISITS)


def pair_weights(rows: gc.Rows, bound: int) -> list[float]:
    """Return the weights of the pairs AB, AC and BC if users are bounded."""
    return np.triu(bounded(rows, bound).dense())[np.triu_indices(3, 1)].tolist()


# Options, a bound, and the weights of the three pairs.
COUNTED = [
    ({}, 5, [1, 1, 0]),
    ({"user": 0, "counting": "rows"}, 5, [2, 2, 0]),
    ({"user": 0, "counting": "rows"}, 1, [1, 1, 0]),
    ({"counting": "users"}, 5, [1, 1, 0]),
    (COSTS | {"weight_unit": 0.5}, 100, [7, 14, 0]),
    (COSTS | {"weight_unit": 0.5}, 5, [5, 5, 0]),
]


@pytest.mark.thorough(cases=4)
@pytest.mark.parametrize(("options", "bound", "expected"), COUNTED)
def test_rows_are_counted_by_users_of_a_column_of_their_own(visits, options, bound, expected):
    rows = read_owned_flat(visits, **PATIENT | options)
    assert not rows.user_is_source
    assert pair_weights(rows, bound) == expected


def test_the_note_names_the_columns_that_were_read_and_ignored(visits):
    rows = read_owned_flat(visits, **PATIENT)
    assert rows.reading.endswith(
        "'hospital', 'referred'; as its user: 'patient'; ignored: column 4."
    )
    assert sorted(rows.contributions().tolist()) == [1, 1]
    public = read_owned_flat(visits, user="patient", public_vertices_from_file=True, **ENDPOINTS)
    assert not public.space.inferred


def test_users_of_directed_and_bipartite_rows_may_be_first_endpoints(visits):
    arcs = read_owned_flat(visits, **PATIENT, directed=True)
    assert bounded(arcs, 9).dense().tolist() == [[0, 1, 1], [1, 0, 0], [0, 0, 0]]
    for user in ("tail", "patient"):
        rated = read_owned_flat(visits, user=user, **SIDES)
        assert rated.user_is_source
        assert bounded(rated, 9).dense().tolist() == [[1, 1, 0], [1, 0, 0], [0, 0, 0]]
    paid = owned_flat(pd.read_csv(visits), user="patient", **SIDES, **COSTS)
    assert paid.user_is_source
    assert bounded(paid, 100).dense().tolist() == [[2, 1, 0], [7, 0, 0], [0, 0, 0]]


def test_users_are_found_by_known_words_and_by_column_numbers(put):
    calls = put("calls.csv", "caller,callee,phone\n1,2,x\n2,3,x\n3,1,y\n")
    for user, expected in (
        ("phone", ([1, 1, 0], [0, 1, 1])),
        *((end, ([1, 1, 1],)) for end in ("caller", "tail", "callee")),
    ):
        rows = gc.Rows.read(calls, columns=gc.Columns(user=user), vertices=range(1, 4))
        assert pair_weights(rows, 1) in expected
        assert rows.user_is_source == (user in ("caller", "tail"))
    plain = put("calls.edges", "0 1 7\n1 2 7\n0 2 8\n")
    rows = gc.Rows.read(plain, columns=gc.Columns(user=2), vertices=3)
    assert pair_weights(rows, 2) == [1, 1, 1]
    assert sum(pair_weights(rows, 1)) == 2
    with pytest.raises(FileFormatError, match="pass source= and target=, too"):
        gc.Rows.read(plain, columns=gc.Columns(user=0), vertices=3)


def test_names_of_other_users_do_not_change_the_rows_that_a_user_keeps(put):
    """Users are read as integers if all of them are; other users keep the same rows."""
    lines = [f"{o},{u},{v}" for o in range(5) for u in range(9) for v in range(u)]
    options = {"user": "o", "source": "u", "target": "v", "vertices": 9, "counting": "users"}
    graphs = []
    for more in (["7,0,0"], ["eve,0,0"], ["-1,0,0", "007,0,0"]):
        path = put("x.csv", "\n".join(["o,u,v", *more, *lines]) + "\n")
        graphs.append(bounded(read_owned_flat(path, **options), 4))
    assert graphs[0] == graphs[1] == graphs[2]


def test_tables_streams_and_packed_files_are_the_same_rows(visits, put, tmp_path):
    options, frame = PATIENT | {"counting": "rows"}, pd.read_csv(visits)
    expected = bounded(read_owned_flat(visits, **options), 1)
    parquet.write_table(pa.Table.from_pandas(frame), tmp_path / "visits.parquet")
    packed = put("visits.csv.gz", gzip.compress(VISITS.encode()))
    stream = io.BytesIO(VISITS.encode())
    for path in (packed, tmp_path / "visits.parquet", stream):
        assert bounded(read_owned_flat(path, **options), 1) == expected
    assert bounded(owned_flat(frame, **options), 1) == expected


@pytest.mark.parametrize(
    ("stream", "more", "message"),
    [
        (io.StringIO(VISITS), {}, "from a binary"),
        (7, {}, "from a binary"),
        (io.BytesIO(VISITS.encode()), {"data_name": "x"}, "read once"),
        (
            io.BytesIO(b"patient,hospital,referred\nann,A,zoe\n"),
            {},
            "the rows that come in: line 2",
        ),
        (io.BytesIO(b""), {}, "the rows that come in: "),
    ],
)
def test_streams_of_text_and_streams_with_bad_rows_are_refused(stream, more, message):
    with pytest.raises((ParameterError, FileFormatError), match=message) as error:
        read_owned_flat(stream, **PATIENT | more)
    assert "zoe" not in str(error.value)


MOVES = "who,from,to,when\nann,A,B,2026-01-17\n7,B,C,2026-02-01\nann,C,A,2026-01-17\n"


def row_tuples(raw: Any) -> list[tuple[str, str, str, int]]:
    """Return the endpoints and the user of each row as texts, and the number of its period."""
    columns = map(codes_and_names, (raw.sources, raw.targets, raw.users))
    texts = ([str(names[code]) for code in codes] for codes, names in columns)
    return list(zip(*texts, raw.periods.tolist(), strict=True))


@pytest.mark.parametrize("kind", ["x.csv", "x.parquet", "days.parquet", "times.arrow", "frame"])
def test_users_and_periods_are_read_with_the_endpoints(put, tmp_path, kind):
    frame = pd.read_csv(put("x.csv", MOVES), dtype=str)
    if kind in ("days.parquet", "times.arrow"):
        frame["when"] = pd.to_datetime(frame["when"])
    table = pa.Table.from_pandas(frame)
    if kind == "days.parquet":
        table = table.set_column(3, "when", table.column("when").cast(pa.date32()))
    columns, days = gc.Columns(user="who", period="when"), gc.Periods.of("2026-01-01..2026-02-28")
    options = Options(columns=columns, periods=days, weighted=False)
    if kind.endswith(".parquet"):
        parquet.write_table(table, tmp_path / kind)
    elif kind.endswith(".arrow"):
        with pa.ipc.new_file(tmp_path / kind, table.schema) as writer:
            writer.write_table(table)
    if kind == "frame":
        raw = edges_of_table(open_table(frame), options)
    else:
        raw = read_raw(tmp_path / kind, options)
    who, *others = zip(*(line.split(",") for line in MOVES.split()[1:]), strict=True)
    numbers = map(days.number, others[2])
    assert row_tuples(raw) == list(zip(*others[:2], who, numbers, strict=True))
    assert "as its user: 'who'; as its period: 'when'." in raw.reading


def test_a_user_that_is_an_endpoint_has_no_column_of_its_own(put):
    path = put("x.csv", MOVES)
    options = Options(columns=gc.Columns(user="from", source="from", target="to"), weighted=False)
    assert read_raw(path, options).users is None
    for same in ({"period": "from"}, {"user": "who", "period": "who"}):
        columns = gc.Columns(**{"source": "from", "target": "to"} | same)
        with pytest.raises(FileFormatError, match="name different columns"):
            read_raw(path, Options(columns=columns, weighted=False))
    for asked in ({"user": "who"}, {"period": "when"}):
        with pytest.raises(ParameterError, match="are for rows"):
            gc.read_graph(path, columns=gc.Columns(**asked))


@pytest.mark.parametrize("kind", ["x.csv", "x.parquet", "frame"])
def test_bad_rows_are_left_out_with_their_users(put, tmp_path, kind):
    lines = [
        *VISITS.split(),
        ",A,B,1",
        "eve,A,X,1",
        "eve,A,B,-1",
        "eve,A,,1",
        "eve,A,B,x",
        "bob,B,C,1",
    ]
    frame = pd.read_csv(put("x.csv", "\n".join(lines)), dtype=str)
    options = PATIENT | COSTS | {"on_bad": "skip"}
    if kind == "x.parquet":  # its weights are numbers
        frame["cost"] = pd.to_numeric(frame["cost"], errors="coerce")
        parquet.write_table(pa.Table.from_pandas(frame), tmp_path / kind)
    if kind == "frame":  # and there each value is read by itself
        frame["cost"] = frame["cost"].astype(object)
    read = owned_flat if kind == "frame" else read_owned_flat
    rows = read(frame if kind == "frame" else tmp_path / kind, **options)
    assert pair_weights(rows, 100) == [3, 7, 1]
    assert sorted(rows.contributions().tolist()) == [4, 9]


FRAME = pd.DataFrame(
    [row.split(",") for row in VISITS.split()[1:]], columns=VISITS.split()[0].split(",")
)
GAPS = FRAME.assign(patient=["ann", "ann", None, "bob"])
HEAD = "patient,hospital,referred\n"
# A file or a table, options, and words of the error.
REFUSED = [
    (HEAD + "ann,A,B\n,A,C\n", {}, "line 3: the user is missing"),
    (HEAD + "ann,A,X\n", {}, "line 2: a vertex is not in the public"),
    ("who,hospital,referred\nann,A,B\n", {}, "does not have exactly one column 'patient'"),
    (VISITS, {"user": "cost "}, "exactly one column"),
    (VISITS, {"vertices": None}, "need the public vertex set"),
    (VISITS, {"weight": "cost"}, "weight= is for"),
    (VISITS, {"counting": "all"}, "unknown counting"),
    (VISITS, {"user": "cost", "counting": "weight"}, "no column of weights"),
    (VISITS, {"user": None, "counting": "users"}, "needs the column of the users"),
    (VISITS, {"period": "cost"}, "pass both, or neither"),
    (VISITS, {"periods": "2026"}, "pass both, or neither"),
    (FRAME, {"vertices": None}, "need the public vertex set"),
    (FRAME, {"user": "who"}, "exactly one column 'who'"),
    (GAPS, {}, "row 2 .*the user is missing"),
    ([("ann", "A", "B")], {}, "this is no table"),
]


@pytest.mark.parametrize(("source", "options", "message"), REFUSED)
def test_bad_users_vertices_weights_and_periods_are_refused_on_one_line(
    put, source, options, message
):
    read = owned_flat
    if isinstance(source, str):
        source, read = put("visits.csv", source), read_owned_flat
    with pytest.raises((FileFormatError, GraphError, ParameterError), match=message) as error:
        read(source, **PATIENT | options)
    assert "\n" not in str(error.value)


def test_a_matrix_has_no_column_of_users(put):
    with pytest.raises(FileFormatError, match="rows stand in an edge list"):
        gc.Rows.read(put("some.mtx", ""), columns=gc.Columns(user=0), vertices=3)


@pytest.mark.thorough(cases=3)
@pytest.mark.parametrize("counting", COUNTINGS)
@pytest.mark.parametrize("user", ["tail", 2])
def test_files_without_rows_are_read(put, counting, user):
    weight = {"weight": 3} if counting == "weight" else {}
    path = put("visits.edges", "")
    rows = read_owned_flat(path, user=user, vertices=3, counting=counting, **weight)
    assert rows.user_is_source == (user == "tail")
    assert len(bounded(rows, 1).rows) == 0
    assert bounded(rows, 1).weighted == (counting != "edges")


FAULTY = {
    "who": ["ann", "bob", "7", None],
    "from": ["A", "B", "7", "X", "007", None],
    "to": ["A", "B", "7", "X", None],
    "when": [
        *("2026-01-17", "2026-02", "2026-02-03 08:30", "2026-01-05T10:00", "2025-01-01", "2026-Q1"),
        *("2026-13-01", "2026-01-99", "2026-02-30", "2026-02foo", "2026", "spring", None),
    ],
    "paid": [1.25, 0.0, 7.0, 0.33, -1.0, float("nan"), float("inf"), None],
}


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("periods", ["2026-01..2026-03", "2026-Q1", "2025..2026"])
def test_bad_rows_are_the_same_whether_rows_are_read_or_stay_in_an_engine(tmp_path, periods):
    rng = np.random.default_rng(0)
    columns = {
        name: [values[i] for i in rng.integers(0, len(values), 3_000)]
        for name, values in FAULTY.items()
    }
    frame = pd.DataFrame(columns)
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.to_parquet(tmp_path / "x.parquet")
    options = {"counting": "weight", "vertices": ["A", "B", "7"], "periods": periods}
    names = {"source": "from", "target": "to", "user": "who", "period": "when", "weight": "paid"}
    options["columns"] = gc.Columns(**names, on_bad="skip")
    sources = (
        gc.Rows.read(tmp_path / "x.csv", **options),
        gc.Rows.read(tmp_path / "x.parquet", **options),
        gc.Rows.of(frame, **options),
        gc.Rows.read(tmp_path / "x.parquet", data_name="x", **options),
        gc.Rows.of(frame, data_name="x", **options),
    )
    cells_of_sources = [
        rows.cells(gc.PrivacyUnit.user(max_contributions=50), whole=False) for rows in sources
    ]
    expected, *others = cells_of_sources
    for cells in others:
        for name in ("period", "first", "second", "steps"):
            assert getattr(cells, name).tolist() == getattr(expected, name).tolist()
    assert len(expected.steps) > 5


def test_a_column_by_its_number_is_no_column_of_that_name(put):
    """If a store took both for one, two periods of a row could each spend a budget of its own."""
    path = put("x.csv", "a,b,3,when\n0,1,2026-02-01,2026-01-01\n")
    period_columns = [
        gc.Rows.read(
            path,
            columns=gc.Columns(source=0, target=1, period=period, header=True),
            vertices=2,
            periods="2026-01..2026-02",
        ).period_column
        for period in (3, "3", "when")
    ]
    assert period_columns == ["3", '"3"', "when"]
