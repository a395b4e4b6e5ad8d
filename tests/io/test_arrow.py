"""Parquet and Arrow files, and tables in memory."""

import io
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from helpers import make_flat, read_flat

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError, GraphCutsError, GraphError
from graphcuts_dp.io.arrow import open_folder
from graphcuts_dp.io.assemble import assemble
from graphcuts_dp.io.files import FORMATS
from graphcuts_dp.io.raw_edges import Schema
from graphcuts_dp.io.tables import edges_of_table, open_table
from graphcuts_dp.plugins import Options, RawEdges
from graphcuts_dp.schema.bad_rows import BadRows
from graphcuts_dp.schema.unpacking import most_unpacked

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ENDS = {"source": "source", "target": "target"}
ENDINGS = [".parquet", ".arrow"]  # .feather is another name of the latter
CALLS = {
    "when": [1, 2, 3],
    "caller": ["x", "y", "x"],
    "callee": ["y", "z", "y"],
    "minutes": [3, 4, 5],
}
NAMED = {"source": "caller", "target": "callee", "weight": "minutes"}


def save(path, columns, **options):
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pq.write_table(table, path, **options)
    else:
        new = pa.ipc.new_stream if options.pop("stream", False) else pa.ipc.new_file
        with new(path, table.schema) as writer:
            writer.write_table(table, **options)
    return path


def edges(graph):
    ends = zip(graph.rows.tolist(), graph.columns.tolist(), graph.weights.tolist(), strict=True)
    return {(graph.labels[row], graph.labels[column]): weight for row, column, weight in ends}


@pytest.mark.parametrize("ending", ENDINGS)
def test_columns_are_chosen_by_name_or_place(tmp_path, ending):
    path, told = save(tmp_path / f"calls{ending}", CALLS), []
    graph = read_flat(path, **NAMED, max_weight_change=1, tell=told.append)
    assert edges(graph) == {("x", "y"): 8.0, ("y", "z"): 4.0}
    assert told[0].endswith("'caller', 'callee'; as its weight: 'minutes'; ignored: 'when'.")
    by_place = gc.Columns(source=1, target=2, weight=3)
    assert gc.read_graph(path, columns=by_place, max_weight_change=1) == graph
    largest = read_flat(path, **NAMED, max_weight_change=1, merge="max")
    assert edges(largest) == {("x", "y"): 5.0, ("y", "z"): 4.0}
    assert edges(read_flat(path, **NAMED, max_weight_change=1, directed=True)) == edges(graph)
    assert read_flat(path, **NAMED, max_weight_change=1, bipartite=True).shape == (2, 2)
    with pytest.raises(FileFormatError, match="encoding= is for"):
        read_flat(path, **NAMED, encoding="utf-8")


WORDS, NUMBERS = pa.array(["a", "b"]), pa.array([5, 7])
COLUMNS = {
    "strings": WORDS,
    "large strings": WORDS.cast(pa.large_string()),
    "strings by number": WORDS.dictionary_encode(),
    "string views": WORDS.cast(pa.string_view()),
    **{str(kind): NUMBERS.cast(kind) for kind in (pa.int8(), pa.uint16(), pa.int64())},
    "integers by number": NUMBERS.cast(pa.int32()).dictionary_encode(),
}


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", COLUMNS)
def test_strings_and_integers_of_every_kind_are_labels(tmp_path, ending, kind):
    column = COLUMNS[kind]
    first, second = column.to_pylist()
    try:
        path = save(tmp_path / f"x{ending}", {"source": column, "target": [second, second]})
    except pa.ArrowNotImplementedError:
        pytest.skip("this version of Arrow writes no such file")
    assert gc.read_graph(path) == gc.Graph.of([(first, second)])


ONES = {"source": [1, 2], "target": [2, 3]}
# Columns, options, and words of the error.
REFUSED = [
    ({"source": ["a", None], "target": ["b", "c"]}, {}, "row 1 .*an endpoint is missing"),
    (ONES | {"source": [1, None]}, {}, "row 1 .*an endpoint is missing"),
    (
        {"source": pa.array(["a", None]).dictionary_encode(), "target": ["b", "c"]},
        {},
        "an endpoint is missing",
    ),
    (ONES | {"weight": [None, 1.0]}, {}, "row 0 .*the weight is missing"),
    (ONES | {"weight": [1.0, float("nan")]}, {}, "row 1 .*not finite"),
    (ONES | {"weight": [1.0, -1.0]}, {}, "row 1 .*negative"),
    (ONES | {"weight": ["x", "y"]}, {}, "holds no numbers"),
    *(
        (ONES | {"source": ends}, {}, "neither integers nor text")
        for ends in ([True, False], [[1], [2]], [b"a", b"b"])
    ),
    (ONES | {"source": [1.5, 2.0]}, {}, "floating-point numbers"),
    ({"one": [1]}, {}, "fewer than two columns"),
    ({"a": [1], "b": [2], "c": [3]}, {}, "pass source= and target="),
    (
        pa.Table.from_arrays([NUMBERS] * 3, ["a", "a", "b"]),
        {"source": 0, "target": 2, "weighted": False},
        "two columns .*have one name",
    ),
    ({"source": ["a", "b"], "target": ["b", "zoe"]}, {"vertices": ["a", "b"]}, "row 1 .*not in"),
    (CALLS, {}, "pass weight= if so"),
    (CALLS, NAMED | {"header": True}, "leave out header="),
    (CALLS, NAMED | {"source": "nobody"}, "exactly one column 'nobody'"),
]


@pytest.mark.parametrize("ending", [*ENDINGS, "in memory"])
@pytest.mark.parametrize(("columns", "options", "message"), REFUSED)
def test_what_is_no_edge_is_refused_in_one_line(tmp_path, ending, columns, options, message):
    read, source = make_flat, pa.table(columns)
    if ending in ENDINGS:
        read, source = read_flat, save(tmp_path / f"x{ending}", columns)
    with pytest.raises(GraphCutsError, match=message) as error:
        read(source, **options)
    assert "\n" not in str(error.value)
    assert "zoe" not in str(error.value)
    assert ending not in ENDINGS or str(source) in str(error.value)


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("ending", [*ENDINGS, ".parquet.gz", ".arrow.gz"])
def test_the_form_of_a_file_does_not_matter(tmp_path, ending):
    """Row groups, batches, a stream instead of a file, and what `Graph.write` made."""
    draw = np.random.default_rng(0)
    ends = draw.integers(0, 500, (2, 3000))
    graph = gc.Graph(*ends, draw.random(3000), vertices=[f"v{i}" for i in range(501)], max_weight=1)
    graph.write(tmp_path / f"x{ending}")
    assert gc.read_graph(tmp_path / f"x{ending}") == graph
    for name, options in (
        ("x.parquet", {"row_group_size": 100}),
        ("stream.arrow", {"stream": True}),
        ("batches.arrow", {"max_chunksize": 77}),
    ):
        other = save(tmp_path / name, graph.to_frame("pyarrow"), **options)
        assert gc.read_graph(other, vertices=graph.vertices, max_weight=1) == graph


def test_a_dictionary_whose_entries_no_row_uses_makes_no_vertices(tmp_path):
    unused = pa.DictionaryArray.from_arrays(pa.array([0, 2]), pa.array(["a", "secret", "b"]))
    path = save(tmp_path / "x.arrow", {"source": unused, "target": ["c", "c"]})
    assert gc.read_graph(path).labels == ("a", "b", "c")


@pytest.mark.parametrize("ending", ENDINGS)
def test_damaged_files_are_refused_in_one_line(tmp_path, ending):
    path = tmp_path / f"x{ending}"
    gc.Graph.of([("a", "b"), ("b", "c")]).write(path)
    data = path.read_bytes()
    for damaged in (b"", b"hello", data[: len(data) // 2], data[:-1], data[::-1]):
        path.write_bytes(damaged)
        with pytest.raises(FileFormatError, match=r"not a whole|empty"):
            gc.read_graph(path)


def test_a_small_file_of_far_too_many_rows_is_refused(tmp_path):
    rows = (1 << 26) // 24 + 1
    column = pa.array(np.zeros(rows, dtype=np.int8))
    path = save(tmp_path / "x.parquet", {"source": column, "target": column})
    assert rows * 24 > most_unpacked(path.stat().st_size)
    with pytest.raises(FileFormatError, match="unpacks to more than 64 MiB"):
        gc.read_graph(path)


def test_tables_in_memory():
    polars, table = pytest.importorskip("polars"), pa.table(CALLS)
    coded = polars.DataFrame(CALLS).with_columns(polars.col("caller").cast(polars.Categorical))
    graph = make_flat(table, **NAMED, max_weight=10)
    assert edges(graph) == {("x", "y"): 8.0, ("y", "z"): 4.0}
    for other in (pd.DataFrame(CALLS), table.to_reader(1), coded):
        assert make_flat(other, **NAMED, max_weight=10) == graph
    plain = gc.Graph.of(table, columns=gc.Columns(source="caller", target="callee"), weighted=False)
    assert plain == gc.Graph.of([("x", "y"), ("y", "z")])
    # Strings of digits stay strings, as in pandas frames.
    digits = pa.table({"source": ["1", "2"], "target": ["2", "3"]})
    assert gc.Graph.of(digits).labels == ("1", "2", "3")
    assert gc.Graph.of(digits, vertices=["3", "2", "1"]).labels == ("3", "2", "1")
    mixed = gc.Graph.of(pa.table({"source": ["1"], "target": [1]}), vertices=[1, 2])
    assert len(mixed.rows) == 0  # one vertex, whose text is 1


def test_rows_are_gathered_a_piece_at_a_time(monkeypatch):
    monkeypatch.setattr("graphcuts_dp.io.convert.CONVERTED_ROWS", 2)
    table = pa.table({"source": ["a", "b", "a", "c", "d"], "target": ["b", "c", "d", "d", None]})
    with pytest.raises(GraphCutsError, match="row 4 "):
        gc.Graph.of(table)
    skipping = Options(columns=gc.Columns(on_bad="skip"), weighted=False)
    raw = edges_of_table(open_table(table), skipping)
    assert [raw.sources.names[code] for code in raw.sources.codes] == ["a", "b", "a", "c"]
    assert raw.where(3) == "row 3 (counted from 0)"


def test_integers_of_any_width_are_their_decimal_text():
    wide = pa.table({"source": pa.array([2**64 - 1, 1], pa.uint64()), "target": ["1", "2"]})
    assert gc.Graph.of(wide, vertices=[1, 2, 2**64 - 1]).rows.tolist() == [0, 0]
    tens = [Decimal("2E+1"), Decimal("3E+1")]
    decimals = pa.table(
        {
            "source": pa.array([1, 20], pa.decimal128(38, 0)),
            "target": pa.array(tens, pa.decimal128(38, -1)),
        }
    )
    graph = gc.Graph.of(decimals, vertices=["1", "20", "30"])
    assert edges(graph) == {("1", "20"): 1, ("20", "30"): 1}


def test_a_pipe_can_be_parquet():
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    packed = io.BytesIO()
    pq.write_table(pa.table({"source": [1], "target": [2]}), packed)
    assert list(FORMATS[".parquet"].read(Pipe(packed.getvalue()), Options()).sources) == [1]


def test_integers_that_need_more_bits_in_one_column_than_in_the_other():
    """Their smallest does not fit into the type of the first column; an error would quote it."""
    first, second = [-(2**31) + 1, -(2**31) + 2], [-(2**31) - 2] * 2
    graph = gc.Graph.of(pa.table({"source": first, "target": second}))
    assert edges(graph) == {(second[0], label): 1 for label in first}


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "uint64"])
@pytest.mark.parametrize("n", [None, 1000])
def test_row_numbers_fit_whatever_integers_a_plug_in_hands_over(dtype, n):
    names = None if n is None else gc.VertexSet([str(i) for i in range(n - 1, -1, -1)])
    sources, targets = np.array([1, 100], dtype), np.array([2, 120], dtype)
    raw = RawEdges(sources=sources, targets=targets, where=str)
    vertices, parts, _ = assemble(raw, Options(vertices=names))
    for numbers, ids in ((parts.rows, [1, 100]), (parts.columns, [2, 120])):
        assert [int(vertices.labels[number]) for number in numbers] == ids


HUGE = 2**63  # the first integer that int64 does not hold


def rows_of_plug_in(sources, targets, *, skip=False, **options):
    """The edges by labels that a plug-in hands over, with the options of a reader."""
    raw = RawEdges(sources=sources, targets=targets, bad=BadRows(skip=skip), where="row {}".format)
    vertices, parts, _ = assemble(raw, Options(**options))
    pairs = zip(parts.rows.tolist(), parts.columns.tolist(), strict=True)
    return [(vertices.labels[row], vertices.labels[column]) for row, column in pairs]


@pytest.mark.parametrize("vertices", [None, [HUGE + 6, 1, HUGE + 5, 4, 2**64 - 1, 2]])
@pytest.mark.parametrize(
    ("ids", "other_type"),
    [
        ([(HUGE + 5, 1), (2, HUGE + 6)], np.uint64),
        ([(HUGE + 5, HUGE + 6), (2**64 - 1, HUGE + 5)], np.uint64),
        ([(HUGE + 5, 1), (2**64 - 1, 2)], np.int64),
        ([(2, 1), (1, 4)], np.int8),
    ],
)
def test_large_unsigned_integers_of_a_plug_in_are_read_as_they_are(ids, other_type, vertices):
    sources = np.array([source for source, _ in ids], np.uint64)
    targets = np.array([target for _, target in ids], other_type)
    public = None if vertices is None else gc.VertexSet(vertices)
    assert rows_of_plug_in(sources, targets, vertices=public) == ids
    shifted = [(source - 1, target - 1) for source, target in ids]
    assert rows_of_plug_in(sources, targets, columns=gc.Columns(one_based=True)) == shifted


@pytest.mark.parametrize("vertices", [gc.VertexSet(4), gc.VertexSet([3, 2, 1, "x"])])
def test_a_large_unsigned_integer_outside_the_vertices_is_a_bad_row(vertices):
    sources, targets = np.array([2, HUGE + 5, 3], np.uint64), np.array([1, 2, 2], np.uint64)
    with pytest.raises(GraphError, match=r"^row 1: a vertex is not in the public"):
        rows_of_plug_in(sources, targets, vertices=vertices)
    kept = rows_of_plug_in(sources, targets, vertices=vertices, skip=True)
    assert kept == [(2, 1), (3, 2)]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint16", "int32", "uint32", "int64"])
@pytest.mark.parametrize("vertices", [gc.VertexSet(4), gc.VertexSet([3, 2, 1, "x"])])
def test_an_integer_of_any_type_outside_the_vertices_is_a_bad_row(dtype, vertices):
    sources, targets = np.array([2, 100, 3], dtype), np.array([1, 2, 2], dtype)
    with pytest.raises(GraphError, match=r"^row 1: a vertex is not in the public"):
        rows_of_plug_in(sources, targets, vertices=vertices)
    kept = rows_of_plug_in(sources, targets, vertices=vertices, skip=True)
    assert kept == [(2, 1), (3, 2)]


@pytest.mark.parametrize("outside", [4, HUGE + 1, 2**64 - 1, -1])
@pytest.mark.parametrize("order", ["as declared", "sorted", "of the caller"])
def test_a_row_number_of_a_plug_in_outside_its_vertices_is_a_bad_row(outside, order):
    declared = gc.VertexSet(["d", "c", "b", "a"])
    public = gc.VertexSet(["a", "b", "c", "d", "e"]) if order == "of the caller" else None

    def edges_at(skip):
        raw = RawEdges(
            sources=np.array([0, outside, 1], np.int64 if outside < 0 else np.uint64),
            targets=np.array([1, 2, 3], np.uint64),
            schema=Schema(vertices=declared),
            as_rows=True,
            arbitrary_order=order == "sorted",
            bad=BadRows(skip=skip),
            where="row {}".format,
        )
        vertices, parts, _ = assemble(raw, Options(vertices=public))
        return [
            (vertices.labels[row], vertices.labels[column])
            for row, column in zip(parts.rows, parts.columns, strict=True)
        ]

    with pytest.raises(GraphError, match=r"^row 1: a row number is outside the declared vertices"):
        edges_at(skip=False)
    assert edges_at(skip=True) == [("d", "c"), ("c", "a")]


@pytest.mark.parametrize("sources", [[1.5, 2], ["7", "8"], [2**64, 1], [[1], [2]], [1j, 2]])
def test_endpoints_of_a_plug_in_that_are_no_identifiers_are_refused(sources):
    for as_rows in (False, True):
        raw = RawEdges(
            sources=np.array(sources),
            targets=np.array([1, 0]),
            schema=Schema(vertices=gc.VertexSet(4)) if as_rows else Schema(),
            as_rows=as_rows,
            where=str,
        )
        with pytest.raises(GraphError, match="the reader of this format hands over endpoints"):
            assemble(raw, Options())


def test_a_folder_may_hold_folders_that_are_named_like_files(tmp_path):
    """As Spark writes a table for each month."""
    for month, row in (("2026-01", ["a", "b"]), ("2026-02", ["b", "c"])):
        folder = tmp_path / f"{month}.parquet"
        folder.mkdir()
        table = pa.table({"source": row[:1], "target": row[1:]})
        pq.write_table(table, folder / "part-0.parquet")
    parts = open_folder(tmp_path).read_columns([0, 1])
    assert [[column.to_pylist() for column in part] for part in parts] == [
        [["a"], ["b"]],
        [["b"], ["c"]],
    ]
