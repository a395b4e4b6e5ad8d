"""What error messages advise, as data: what provokes each, and what its advice leads to."""

import gzip
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import igraph
import networkx as nx
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from pyarrow import parquet

import graphcuts_dp as gc
from graphcuts_dp import graph_job
from graphcuts_dp.graph import engine
from graphcuts_dp.graph.adjacency import kind_of_graph
from graphcuts_dp.graph.private_data import private_data, private_graph, private_rows
from graphcuts_dp.schema.counting import STEPS
from graphcuts_dp.schema.vertices import vertex_sets

Doing = Callable[[Path], Any]
_CONNECTIONS: list[Any] = []  # before DuckDB 1.5 a relation does not keep its own
COLUMNS = (
    *("source", "target", "weight", "user", "period", "header", "delimiter", "decimal"),
    *("on_bad", "encoding", "one_based", "time_zone", "date_format"),
)


@dataclass(frozen=True)
class Advice:
    """A message, and what it advises.

    Attributes:
        words: some of the message.
        given: raises the error.
        then: each way that it advises, and what it leads to: edges, or cells of rows; None where
            it leads to another source that is not ours to read.
    """

    words: str
    given: Doing
    then: tuple[tuple[Doing, Any], ...]


def split(options: dict[str, Any]) -> dict[str, Any]:
    """The options of a reader, of which some are those of columns."""
    own = {name: options.pop(name) for name in COLUMNS if name in options}
    return options | ({"columns": gc.Columns(**own)} if own else {})


def file(content: str | bytes, name: str = "x.csv", kind: Any = gc.Graph, **options: Any) -> Doing:
    """Reads a graph from a file of this content."""

    def do(folder: Path) -> Any:
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return kind.read(path, **split(dict(options)))

    return do


def made(given: Any, kind: Any = gc.Graph, /, **options: Any) -> Doing:
    """Makes a graph of something in memory."""
    return lambda _: kind.of(given() if callable(given) else given, **split(dict(options)))


def rows(source: Any, /, **options: Any) -> Doing:
    """Makes rows of a table in memory, or of the content of a file of text, and counts them."""

    def do(folder: Path) -> Any:
        given = {"vertices": ["a", "b"], "kind": "directed"} | split(dict(options))
        if isinstance(source, str):
            path = folder / "x.csv"
            path.write_text(source)
            return counted(gc.Rows.read(path, **given))
        return counted(gc.Rows.of(source() if callable(source) else source, **given))

    return do


def kept(table: pa.Table, /, **options: Any) -> Doing:
    """Makes rows of a Parquet file that stays where it is, and counts them."""

    def do(folder: Path) -> Any:
        parquet.write_table(table, folder / "x.parquet")
        given = {"vertices": ["a", "b"], "kind": "directed", "data_name": "x"} | split(
            dict(options)
        )
        return counted(gc.Rows.read(folder / "x.parquet", **given))

    return do


def counted(private: gc.Rows) -> dict[Any, float]:
    """The cells of rows, of users with at most nine."""
    weights = private.counting == "weight"
    plain = (
        gc.PrivacyUnit.edge()
        if private.counting == "edges"
        else gc.PrivacyUnit.row(9 if weights else 1)
    )
    cells = private.cells(
        gc.PrivacyUnit.user(max_contributions=9) if private.owned else plain, whole=False
    )
    left, right = (side.labels for side in vertex_sets(private.space))
    columns = (cells.first, cells.second, cells.period, cells.steps / STEPS)
    found = {}
    for first, second, period, amount in zip(*(c.tolist() for c in columns), strict=True):
        at = (left[first], right[second])
        when = () if private.periods is None else (private.periods.labels[period],)
        found[at + when] = amount
    return found


def edges(graph: Any) -> Any:
    """The edges of a graph with their weights; other facts as they are."""
    if not hasattr(graph, "rows") or not hasattr(graph, "weights"):
        return graph
    left, right = (side.labels for side in vertex_sets(graph.space))
    triples = zip(graph.rows.tolist(), graph.columns.tolist(), graph.weights.tolist(), strict=True)
    return {(left[row], right[column]): weight for row, column, weight in triples}


AB = {("a", "b"): 1.0}
ABC = {("a", "b"): 1.0, ("b", "c"): 1.0}
HEAVY = {("a", "b"): 2.5}
NUMBERS = {(1, 2): 1.0, (2, 3): 1.0}


def frame(**columns: Any) -> Callable[[], pd.DataFrame]:
    return lambda: pd.DataFrame(columns)


ONE = {"source": ["a"], "target": ["b"]}
WEIGHTED = frame(source=["a"], target=["b"], weight=[2.5])
PAIRS = [("a", "b"), ("b", "c")]


def networks(directed: bool = False, **attributes: Any) -> Callable[[], Any]:
    def make() -> Any:
        graph = nx.DiGraph() if directed else nx.Graph()
        graph.add_edge("a", "b", **attributes)
        return graph

    return make


def both_arcs() -> Any:
    graph = nx.Graph([("a", "b")])
    return graph.to_directed()


def an_igraph() -> Any:
    graph = igraph.Graph(n=2, edges=[(0, 1)])
    graph.vs["name"], graph.es["count"] = ["a", "b"], [2.5]
    return graph


def table(**columns: Any) -> pa.Table:
    return pa.table(columns)


TRIPS = {"source": "o", "target": "d"}
DAY = pd.Timestamp("2026-01-31")
MONTHS = {"period": "t", "periods": "2026-01..2026-02"}
IN_JANUARY = {("a", "b", "2026-01"): 1.0}
ZONED = pa.array([DAY.tz_localize("UTC")], pa.timestamp("us", "UTC"))
NAIVE = pa.array([DAY], pa.timestamp("us"))


def written(graph: Any, name: str, kind: Any = gc.Graph) -> Doing:
    """Writes a graph, and reads it."""

    def do(folder: Path) -> Any:
        graph().write(folder / name)
        return kind.read(folder / name)

    return do


def with_attribute(name: str) -> Doing:
    """Writes a graph with an attribute of this name to a GraphML file, and reads it."""

    def do(folder: Path) -> Any:
        gc.Graph.of(PAIRS[:1], weighted=False).write(folder / "x.graphml", about={name: 1.5})
        return gc.read_graph(folder / "x.graphml")

    return do


def odd(label: str) -> Callable[[], Any]:
    """A graph of which one vertex has this label."""
    return lambda: gc.Graph.of([("b", label)], weighted=False)


def beside(facts: str | None, **options: Any) -> Doing:
    """Reads a file of ours with these facts beside it, or none."""

    def do(folder: Path) -> Any:
        gc.Graph.of(PAIRS[:1], weighted=False).write(folder / "x.csv")
        (folder / "x.csv.schema.json").unlink()
        if facts is not None:
            (folder / "x.csv.schema.json").write_text(facts)
        return gc.read_graph(folder / "x.csv", **options)

    return do


def with_vertices(content: bytes) -> Doing:
    """Reads a graph whose vertices stand in a file."""

    def do(folder: Path) -> Any:
        (folder / "vertices.txt").write_bytes(content)
        path = _put(folder, "source,target\nK\xf6ln,b\n")
        return gc.read_graph(path, vertices=folder / "vertices.txt")

    return do


def from_pipe(folder: Path) -> Any:
    """Reads a graph from a pipe that a thread writes into."""
    path = folder / "x.csv"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_text("source,target\na,b\n"))
    writer.start()
    time.sleep(0.2)  # until it waits for a reader
    try:
        return gc.read_graph(path)
    finally:
        writer.join()


def two_of_one_name() -> Any:
    graph = igraph.Graph(n=2, edges=[(0, 1)])
    graph.vs["name"], graph.vs["type"] = ["a", "a"], [False, True]
    return graph


def of_duckdb(folder: Path) -> Any:
    """Do as the advice about a file of DuckDB says."""
    with duckdb.connect(folder / "x.duckdb") as database:
        database.execute("create table edges as select 'a' as x, 'b' as y")
        database.sql("from edges").write_parquet(str(folder / "table.parquet"))
    return gc.Graph.read(folder / "table.parquet", columns=gc.Columns(source="x", target="y"))


def of_sqlite() -> pd.DataFrame:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute("create table edges as select 'a' as x, 'b' as y")
        return pd.read_sql("select x, y from edges", connection)
    finally:
        connection.close()


def checked(graph: Any) -> Any:
    """The graph, whose weights are bounded."""
    graph.check_bounded()
    return graph


def compared(folder: Path) -> Any:
    """How two graphs on the same vertices differ."""
    pair = (
        file(f"source,target\n{edge}\n", vertices=["a", "b", "c"])(folder)
        for edge in ("a,b", "b,c")
    )
    return next(pair).difference(next(pair)).toarray().tolist()


def in_folder(folder: Path, *tables: pa.Table) -> Any:
    """The cells of Parquet files in a folder."""
    for place, each in enumerate(tables):
        parquet.write_table(each, folder / f"{place}.parquet")
    columns = gc.Columns(**TRIPS)
    return counted(gc.Rows.read(folder, columns=columns, vertices=["a", "b"], kind="directed"))


def failing(problem: Exception | None) -> Any:
    """A stream of one row that fails after it, or ends."""
    batch = table(o=["a"], d=["b"]).to_batches()[0]

    def batches() -> Any:
        yield batch
        if problem is not None:
            raise problem

    return pa.RecordBatchReader.from_batches(batch.schema, batches())


def many_cells(vertices: int, periods: str) -> Any:
    given = table(o=[0], d=[1], t=["2026-01"])
    columns = gc.Columns(**TRIPS, period="t")
    how: dict[str, Any] = {"vertices": vertices, "periods": periods, "kind": "directed"}
    return counted(gc.Rows.of(given, columns=columns, **how))


def _users_of(counting: Any) -> gc.Rows:
    given = table(o=["a"], d=["b"], u=["k"])
    columns = gc.Columns(**TRIPS, user="u")
    return gc.Rows.of(given, columns=columns, vertices=["a", "b"], counting=counting)


def scaled(counting: Any) -> Any:
    """Cells of users that are scaled; no public call asks for it of edges."""
    private = _users_of(counting)
    found = engine.scaled_cells(private.coded_table(), private.shape_of_cells(), bound=1)
    return (found.steps / STEPS).tolist()


def kept_whole(counting: Any) -> Any:
    """Cells of users of whom whole rows are kept."""
    return (
        _users_of(counting).cells(gc.PrivacyUnit.user(max_contributions=1), whole=True).steps
        / STEPS
    ).tolist()


def _weights_of_users() -> gc.Rows:
    columns = gc.Columns(**TRIPS, user="u", weight="w")
    weighed = table(o=["a"], d=["b"], u=["k"], w=[2.5])
    return gc.Rows.of(weighed, columns=columns, vertices=["a", "b"], counting="weight")


def most_left_out(private: gc.Rows, *, bound: int, known_max: int) -> list[float]:
    """The most that a bound can leave out of one user."""
    unit = gc.PrivacyUnit.user(max_contributions=bound)
    return [private.most_left_out(unit, whole=True, known_max=known_max) / STEPS]


PLAIN = lambda: gc.Graph.of(PAIRS[:1], weighted=False)  # noqa: E731
ARCS = lambda: gc.DirectedGraph.of([("b", "a")], weighted=False)  # noqa: E731
TWO_SIDES = lambda: gc.BipartiteGraph.of([("a", "b")], weighted=False)  # noqa: E731
HEAVY_CSV = "source,target,weight\na,b,2.5\n"
LONG = b"source,target,note\n" + (b"a,b," + b"x" * (1 << 20) + b"\n") * 66  # over 64 MiB
KEY = '<key id="m" for="edge" attr.name="mass" attr.type="double"/>'
GRAPHML = (
    f'<graphml>{KEY}<graph edgedefault="undirected"><node id="a"/><node id="b"/>'
    '<edge source="a" target="b"><data key="m">2.5</data></edge></graph></graphml>'
)
GML = (
    'graph [\n  graphcutsdp "{&quot;weighted&quot;: false}"\n  node [ id 0 label "a" ]\n'
    '  node [ id 1 label "b" ]\n  edge [ source 0 target 1 weight 2.5 ]\n]\n'
)

ADVICE = (
    # Text files
    Advice(
        "the first line does not name the columns in known words",
        file("x,y\na,b\nb,c\n", weighted=False),
        (
            (file("x,y\na,b\nb,c\n", header=True), ABC),
            (file("x,y\na,b\nb,c\n", source="x", target="y"), ABC),
            (file("a,b\nb,c\n", header=False), ABC),
        ),
    ),
    Advice(
        "the first line looks like names of columns",
        file("source target\na b\n", "x.edges"),
        (
            (file("source target\na b\n", "x.edges", header=True), AB),
            (file("a b\nb c\n", "x.edges", header=False), ABC),
        ),
    ),
    Advice(
        "columns by number: pass header=True",
        file("x,y\na,b\n", source=0, target=1),
        (
            (file("x,y\na,b\n", source=0, target=1, header=True), AB),
            (file("a,b\nb,c\n", source=0, target=1, header=False), ABC),
        ),
    ),
    Advice(
        "a column by name needs a header",
        file("a b\n", "x.edges", source="x", target="y", header=False),
        ((file("x y\na b\n", "x.edges", source="x", target="y", header=True), AB),),
    ),
    Advice(
        "of an edge; pass source= and target=",
        file("x,y,z,source\nk,a,b,k\n", header=True),
        ((file("x,y,z,source\nk,a,b,k\n", source="y", target="z", weighted=False), AB),),
    ),
    Advice(
        "pass source= and target= together",
        file("x,y\na,b\n", source="x"),
        ((file("x,y\na,b\n", source="x", target="y"), AB),),
    ),
    Advice(
        "is a weight; pass weight= if so, else weighted=False",
        file("source,target,x\na,b,2.5\n"),
        (
            (file("source,target,x\na,b,2.5\n", weight="x"), HEAVY),
            (file("source,target,x\na,b,2.5\n", weighted=False), AB),
        ),
    ),
    Advice(
        "no name; pass weight= with its number if it is a weight, else weighted=False",
        file("a b 2.5\n", "x.edges"),
        (
            (file("a b 2.5\n", "x.edges", weight=2), HEAVY),
            (file("a b 2.5\n", "x.edges", weighted=False), AB),
        ),
    ),
    Advice(
        "pass weight= or weighted=False, not both",
        file("source,target,x\na,b,2.5\n", weight="x", weighted=False),
        (
            (file("source,target,x\na,b,2.5\n", weight="x"), HEAVY),
            (file("source,target,x\na,b,2.5\n", weighted=False), AB),
        ),
    ),
    Advice(
        "is needed, and there are 2; pass delimiter= if",
        file("a|b k\n", "x.edges", source=0, target=1, weight=2),
        (
            (
                file("a|b|2.5\n", "x.edges", source=0, target=1, weight=2, delimiter="|"),
                HEAVY,
            ),
        ),
    ),
    Advice(
        "or weighted=False if there are no weights",
        file("a b\n", "x.edges", weight=2),
        ((file("a b\n", "x.edges", weighted=False), AB),),
    ),
    Advice(
        "columns without names: pass source= and target=, too",
        lambda p: _rows_of_text(p, "a b k\n", user=0),
        ((lambda p: _rows_of_text(p, "a b k\n", user=0, source=0, target=1), AB),),
    ),
    Advice(
        "on_bad='skip' of rows without names of columns: pass weight= or weighted=False",
        file("", "x.edges", on_bad="skip", vertices=["a", "b"]),
        (
            (file("a b 2.5\n", "x.edges", on_bad="skip", weight=2, vertices=["a", "b"]), HEAVY),
            (file("a b\n", "x.edges", on_bad="skip", weighted=False, vertices=["a", "b"]), AB),
        ),
    ),
    Advice(
        "the first line has fewer than two columns; pass delimiter=",
        file("source|target\na|b\n", header=True, delimiter=";"),
        ((file("source|target\na|b\n", header=True, delimiter="|"), AB),),
    ),
    Advice(
        "the header has more than one kind of separator; pass delimiter=",
        file("source,target;x\na,b;k\n"),
        (
            (
                file("source;target,x\na;b,k\n", delimiter=";", source="source", target="target,x"),
                {("a", "b,k"): 1.0},
            ),
        ),
    ),
    Advice(
        "blanks and commas are mixed; pass delimiter=",
        file("a b,c\n", "x.edges", weighted=False),
        ((file("a b,c\n", "x.edges", delimiter=","), {("a b", "c"): 1.0}),),
    ),
    Advice(
        "tabs and blanks are mixed; pass delimiter=",
        file("a k\tb\n", "x.edges", weighted=False),
        ((file("a k\tb\n", "x.edges", delimiter="\t"), {("a k", "b"): 1.0}),),
    ),
    Advice(
        "the weight is not a number; pass decimal=','",
        file("source;target;weight\na;b;2,5\n"),
        (
            (file("source;target;weight\na;b;2,5\n", decimal=","), HEAVY),
            (file("source;target;weight\na;b;2,5\n", weighted=False), AB),
        ),
    ),
    Advice(
        "pass decimal='.' for decimal points",
        file("source;target;weight\na;b;2.5\n", decimal=","),
        ((file("source;target;weight\na;b;2.5\n", decimal="."), HEAVY),),
    ),
    Advice(
        "not UTF-8 text; pass encoding=",
        file("source,target\nK\xf6ln,b\n".encode("cp1252")),
        (
            (
                file("source,target\nK\xf6ln,b\n".encode("cp1252"), encoding="cp1252"),
                {("K\xf6ln", "b"): 1.0},
            ),
        ),
    ),
    Advice(
        "looks like UTF-16 without its mark; pass encoding='utf-16-le'",
        file("source,target\na,b\n".encode("utf-16-le")),
        ((file("source,target\na,b\n".encode("utf-16-le"), encoding="utf-16-le"), AB),),
    ),
    Advice(
        "pass another encoding=",
        file(b"source,target\n\xff\xfe\xfd,b\n", encoding="ascii"),
        (
            (
                file("source,target\nK\xf6ln,b\n".encode("latin-1"), encoding="latin-1"),
                {("K\xf6ln", "b"): 1.0},
            ),
        ),
    ),
    Advice(
        "unknown encoding; choose one such as",
        file("source,target\na,b\n", encoding="x-none"),
        tuple(
            (file("source,target\na,b\n".encode(name), encoding=name), AB)
            for name in ("utf-8", "utf-16", "cp1252", "latin-1")
        ),
    ),
    Advice(
        "on_bad='skip' needs an encoding in which no line depends on others",
        file("source,target\na,b\n", encoding="iso2022_jp", on_bad="skip"),
        ((file("source,target\na,b\n", on_bad="skip"), AB),),
    ),
    Advice(
        "a byte-order mark stands within the file; take it out",
        file("source,target\na,b\n\ufeffb,c\n"),
        ((file("source,target\na,b\nb,c\n"), ABC),),
    ),
    Advice(
        "begins with # or %; take comments out, and put labels in quotes",
        file("a,b\n#c,d\n", header=False),
        (
            (file("a,b\n", header=False), AB),
            (file('a,b\n"#c",d\n', header=False), AB | {("#c", "d"): 1.0}),
        ),
    ),
    Advice(
        "this comment tells how to read the file; move it above the rows",
        file('a b\n# graphcuts-dp: {"weighted": false}\nb c\n', "x.edges"),
        ((file('# graphcuts-dp: {"weighted": false}\na b\nb c\n', "x.edges"), ABC),),
    ),
    Advice(
        "' is damaged; repair it, or delete it and give vertices=",
        file("# graphcuts-dp: {oops\na b\n", "x.edges"),
        (
            (file('# graphcuts-dp: {"weighted": false}\na b\n', "x.edges"), AB),
            (file("a b\n", "x.edges", vertices=["a", "b"]), AB),
        ),
    ),
    Advice(
        "correct such rows, or leave them out with on_bad='skip'",
        file("source,target,weight\na,b,2.5\nb,c,-1\n"),
        (
            (file("source,target,weight\na,b,2.5\nb,c,1\n"), HEAVY | {("b", "c"): 1.0}),
            (file("source,target,weight\na,b,2.5\nb,c,-1\n", on_bad="skip"), HEAVY),
        ),
    ),
    Advice(
        "no edges and no vertices; give the public vertex set with vertices=",
        file("source,target\n"),
        ((file("source,target\n", vertices=["a", "b"]), {}),),
    ),
    Advice(
        "not a whole gzip file; take off .gz if it is not packed",
        file("source,target\na,b\n", "x.csv.gz"),
        ((file("source,target\na,b\n"), AB),),
    ),
    Advice(
        "name a file such as x.csv",
        lambda _: gc.read_graph("/dev/stdin"),
        ((file("source,target\na,b\n"), AB),),
    ),
    Advice(
        "a spreadsheet; save it as CSV",
        file(b"PK", "x.xlsx"),
        (
            (file("\ufeffsource;target\r\na;b\r\n"), AB),
            (made(frame(x=["a"], y=["b"]), source="x", target="y"), AB),
        ),
    ),
    Advice(
        "does not exist; check the name",
        lambda p: gc.read_graph(p / "y.csv"),
        ((file("source,target\na,b\n"), AB),),
    ),
    # Graphs in memory
    Advice(
        "a dict is no list of edges; pass tuples such as (source, target, weight)",
        made({("a", "b"): 2.5}),
        ((made([("a", "b", 2.5)]), HEAVY),),
    ),
    Advice(
        "an edge is a dict; make a table: gc.Graph.of(pandas.DataFrame(records))",
        made([{"source": "a", "target": "b"}, {"source": "b", "target": "c"}]),
        (
            (
                made(
                    lambda: pd.DataFrame(
                        [{"source": "a", "target": "b"}, {"source": "b", "target": "c"}]
                    )
                ),
                ABC,
            ),
        ),
    ),
    Advice(
        "an edge is a set, which has no first endpoint; make it a tuple",
        made([{"a", "b"}]),
        ((made([("a", "b")]), AB),),
    ),
    Advice(
        "an edge is a string; make it a tuple",
        made(["ab"]),
        ((made([("a", "b")]), AB),),
    ),
    Advice(
        "the graph is undirected: it is no DirectedGraph; make both arcs of each edge first",
        made(networks(), gc.DirectedGraph),
        ((made(both_arcs, gc.DirectedGraph), AB | {("b", "a"): 1.0}),),
    ),
    Advice(
        "vertex labels must be strings or integers; relabel the vertices first",
        made(lambda: nx.Graph([((0, 1), (1, 1))])),
        ((made(lambda: nx.Graph([("0,1", "1,1")])), {("0,1", "1,1"): 1.0}),),
    ),
    Advice(
        "of a graph only the weight can be named: columns=Columns(weight=NAME)",
        made(networks(count=2.5), source="x", target="y"),
        ((made(networks(count=2.5), weight="count"), HEAVY),),
    ),
    Advice(
        "pass another weight=",
        made(an_igraph, weight="mass"),
        ((made(an_igraph, weight="count"), HEAVY),),
    ),
    Advice(
        "an edge has no weight though others have, or weights are declared; add it",
        made(lambda: nx.Graph([("a", "b", {"weight": 2.5}), ("b", "c")])),
        (
            (
                made(lambda: nx.Graph([("a", "b", {"weight": 2.5}), ("b", "c", {"weight": 1})])),
                HEAVY | {("b", "c"): 1.0},
            ),
            (
                made(lambda: nx.Graph([("a", "b", {"weight": 2.5}), ("b", "c")]), weighted=False),
                ABC,
            ),
        ),
    ),
    Advice(
        "the source has no weights; leave out weighted=True",
        made([("a", "b")], weighted=True),
        ((made([("a", "b")]), AB),),
    ),
    Advice(
        "max_weight needs weights, and none were read",
        file("source,target,x\na,b,2.5\n", weighted=False, max_weight=5.0),
        ((file("source,target,x\na,b,2.5\n", weight="x", max_weight=5.0), HEAVY),),
    ),
    Advice(
        "nothing declares whether there are weights; pass weighted=True or False",
        made([], vertices=["a", "b"], max_weight=1.0),
        (
            (made([], vertices=["a", "b"], max_weight=1.0, weighted=True), {}),
            (made([], vertices=["a", "b"], max_weight=1.0, weighted=False), {}),
        ),
    ),
    Advice(
        "leave out merge='sum' if it is symmetric, or add it to its transpose first",
        made(lambda: np.array([[0, 2.5], [2.5, 0]]), merge="sum"),
        (
            (made(lambda: np.array([[0, 2.5], [2.5, 0]])), {(0, 1): 2.5}),
            (
                made(lambda: np.array([[0, 1.5], [1, 0]]) + np.array([[0, 1.5], [1, 0]]).T),
                {(0, 1): 2.5},
            ),
        ),
    ),
    Advice(
        "a graph is bipartite or directed, not both: leave one out",
        lambda _: kind_of_graph(bipartite=True, directed=True),
        (
            (lambda _: kind_of_graph(bipartite=True, directed=False), gc.BipartiteGraph),
            (lambda _: kind_of_graph(bipartite=False, directed=True), gc.DirectedGraph),
        ),
    ),
    Advice(
        "user= and period= are for rows: read them with Rows.read",
        file("source,target,who\na,b,k\n", user="who"),
        ((rows("source,target,who\na,b,k\n", user="who"), AB),),
    ),
    # Typed tables
    Advice(
        "the columns have names and types; leave out header=",
        made(WEIGHTED, header=True),
        ((made(WEIGHTED), HEAVY),),
    ),
    Advice(
        "two columns have one name; rename one",
        made(
            lambda: pa.RecordBatchReader.from_batches(
                *(lambda t: (t.schema, t.to_batches()))(
                    pa.table([["a"], ["b"], ["c"]], ["o", "d", "d"])
                )
            ),
            source="o",
            target=1,
            weighted=False,
        ),
        (
            (
                made(
                    lambda: pa.table([["a"], ["b"], ["c"]], ["o", "d", "e"]),
                    source="o",
                    target=1,
                    weighted=False,
                ),
                AB,
            ),
        ),
    ),
    Advice(
        "decimal= is for weights that are text; leave it out",
        made(WEIGHTED, decimal=","),
        ((made(WEIGHTED), HEAVY),),
    ),
    Advice(
        "as several pairs have known names; pass",
        file("source,target,from,to\na,b,b,c\n", weighted=False),
        (
            (
                file(
                    "source,target,from,to\na,b,b,c\n",
                    weighted=False,
                    source="source",
                    target="target",
                ),
                AB,
            ),
            (
                file(
                    "source,target,from,to\nb,c,a,b\n", weighted=False, source="from", target="to"
                ),
                AB,
            ),
        ),
    ),
    Advice(
        "known names of columns contradict their order as endpoints of an edge; pass source=1",
        file("target,x\nb,a\n", kind=gc.DirectedGraph),
        (
            (file("target,x\nb,a\n", kind=gc.DirectedGraph, source=1, target="target"), AB),
            (file("target,x\na,b\n", kind=gc.DirectedGraph, source="target", target=1), AB),
        ),
    ),
    Advice(
        "the largest with max_weight_change=1: pass max_weight=, or divide all weights",
        file("source,target,weight\na,b,2.5e12\n", max_weight_change=1),
        (
            (file("source,target,weight\na,b,2.5e12\n", max_weight=1e13), {("a", "b"): 2.5e12}),
            (file("source,target,weight\na,b,2.5\n", max_weight_change=1), HEAVY),
        ),
    ),
    Advice(
        "holds floating-point numbers, which are no exact keys: cast it to integers",
        made(frame(source=[1.0, None], target=[2, 3]), on_bad="skip"),
        (
            (
                made(
                    lambda: pd.DataFrame({"source": [1.0, None], "target": [2, 3]}).astype(
                        {"source": "Int64"}
                    ),
                    on_bad="skip",
                ),
                {(1, 2): 1.0},
            ),
            (
                lambda p: gc.Graph.of(
                    pd.read_csv(_put(p, "source,target\n1,2\n,3\n"), dtype=str),
                    columns=gc.Columns(on_bad="skip"),
                ),
                {("1", "2"): 1.0},
            ),
            (file("source,target\n1,2\n,3\n", on_bad="skip"), {(1, 2): 1.0}),
            (
                made(
                    frame(source=[1.0], target=[2], id=[1]),
                    source="id",
                    target="target",
                    weighted=False,
                ),
                {(1, 2): 1.0},
            ),
        ),
    ),
    Advice(
        "holds neither integers nor text; name another by",
        made(frame(x=[True], y=["b"], z=["a"]), source="x", target="y"),
        ((made(frame(x=[True], y=["b"], z=["a"]), source="z", target="y", weighted=False), AB),),
    ),
    Advice(
        "the column of weights holds no numbers; name another by weight=",
        made(
            lambda: pa.table({"source": ["a"], "target": ["b"], "x": ["k"], "y": [2.5]}), weight="x"
        ),
        (
            (
                made(
                    lambda: pa.table({"source": ["a"], "target": ["b"], "x": ["k"], "y": [2.5]}),
                    weight="y",
                ),
                HEAVY,
            ),
        ),
    ),
    Advice(
        "holds neither dates, times, text nor integers; name another by period=",
        rows(table(o=["a"], d=["b"], t=[1.5], day=[DAY]), **TRIPS, **MONTHS),
        (
            (
                rows(
                    table(o=["a"], d=["b"], t=[1.5], day=[DAY]),
                    **TRIPS,
                    **MONTHS | {"period": "day"},
                ),
                IN_JANUARY,
            ),
        ),
    ),
    Advice(
        "holds dates or times, and the periods have names: pass periods=",
        rows(table(o=["a"], d=["b"], t=[DAY]), **TRIPS, **MONTHS | {"periods": ["spring"]}),
        ((rows(table(o=["a"], d=["b"], t=[DAY]), **TRIPS, **MONTHS), IN_JANUARY),),
    ),
    Advice(
        "holds dates or times without a zone; leave out time_zone=",
        rows(table(o=["a"], d=["b"], t=NAIVE), **TRIPS, **MONTHS, time_zone="UTC"),
        ((rows(table(o=["a"], d=["b"], t=NAIVE), **TRIPS, **MONTHS), IN_JANUARY),),
    ),
    Advice(
        "pass time_zone= such as Europe/Berlin",
        rows(lambda: _in_duckdb(table(o=["a"], d=["b"], t=ZONED)), **TRIPS, **MONTHS),
        (
            (
                rows(
                    lambda: _in_duckdb(table(o=["a"], d=["b"], t=ZONED)),
                    **TRIPS,
                    **MONTHS,
                    time_zone="Europe/Berlin",
                ),
                IN_JANUARY,
            ),
        ),
    ),
    Advice(
        "unknown time zone",
        rows(table(o=["a"], d=["b"], t=ZONED), **TRIPS, **MONTHS, time_zone="Berlin"),
        tuple(
            (rows(table(o=["a"], d=["b"], t=ZONED), **TRIPS, **MONTHS, time_zone=zone), IN_JANUARY)
            for zone in ("Europe/Berlin", "UTC")
        ),
    ),
    Advice(
        "belong together: pass both or neither",
        rows("o,d,t\na,b,31.01.2026 +0000\n", **TRIPS, **MONTHS, date_format="%d.%m.%Y %z"),
        (
            (
                rows(
                    "o,d,t\na,b,31.01.2026 +0000\n",
                    **TRIPS,
                    **MONTHS,
                    date_format="%d.%m.%Y %z",
                    time_zone="UTC",
                ),
                IN_JANUARY,
            ),
            (
                rows("o,d,t\na,b,31.01.2026\n", **TRIPS, **MONTHS, date_format="%d.%m.%Y"),
                IN_JANUARY,
            ),
        ),
    ),
    Advice(
        "this is no table: hand over one of pandas, Polars, Arrow, DuckDB or PySpark",
        rows([("a", "b")], **TRIPS),
        (
            (rows(frame(o=["a"], d=["b"]), **TRIPS), AB),
            (rows(lambda: pl.DataFrame({"o": ["a"], "d": ["b"]}), **TRIPS), AB),
            (rows(table(o=["a"], d=["b"]), **TRIPS), AB),
            (rows(lambda: _in_duckdb(table(o=["a"], d=["b"])), **TRIPS), AB),
            (kept(table(o=["a"], d=["b"]), **TRIPS), AB),
        ),
    ),
    Advice(
        "cannot be read as Parquet; write the table again as Parquet",
        lambda p: gc.Rows.read(
            _put(p, "no", "x.parquet"),
            columns=gc.Columns(**TRIPS),
            vertices=["a", "b"],
            data_name="x",
        ),
        ((kept(table(o=["a"], d=["b"]), **TRIPS), AB),),
    ),
    Advice(
        "there is no Parquet file; name one, or a folder",
        lambda p: gc.Rows.read(p, columns=gc.Columns(**TRIPS), vertices=["a", "b"], data_name="x"),
        (
            (kept(table(o=["a"], d=["b"]), **TRIPS), AB),
            (
                lambda p: (
                    kept(table(o=["a"], d=["b"]), **TRIPS)(p),
                    counted(
                        gc.Rows.read(
                            p, columns=gc.Columns(**TRIPS), vertices=["a", "b"], kind="directed"
                        )
                    ),
                )[1],
                AB,
            ),
        ),
    ),
    # Rows
    Advice(
        "since which vertices they name is private: pass vertices=",
        rows("o,d\na,b\n", **TRIPS, vertices=None),
        ((rows("o,d\na,b\n", **TRIPS), AB),),
    ),
    Advice(
        "periods= declares the periods that the column period= has: pass both, or neither",
        rows("o,d,t\na,b,2026-01\n", **TRIPS, period="t"),
        (
            (rows("o,d,t\na,b,2026-01\n", **TRIPS, **MONTHS), IN_JANUARY),
            (rows("o,d,t\na,b,2026-01\n", **TRIPS), AB),
        ),
    ),
    Advice(
        "there is no column of weights; name it by weight=, or count rows",
        rows("o,d,x\na,b,2.5\n", **TRIPS, counting="weight"),
        (
            (rows("o,d,x\na,b,2.5\n", **TRIPS, counting="weight", weight="x"), HEAVY),
            (rows("o,d,x\na,b,2.5\n", **TRIPS), AB),
        ),
    ),
    Advice(
        "rows with periods are for release_flows; leave out periods= for a graph of them",
        lambda _: _trips(**MONTHS).bounded(gc.PrivacyUnit.user(max_contributions=9)),
        ((lambda _: _trips().bounded(gc.PrivacyUnit.user(max_contributions=9)), AB),),
    ),
    Advice(
        "bounding users needs the column of users; name it by user=",
        lambda _: gc.Rows.of(
            table(o=["a"], d=["b"]), columns=gc.Columns(**TRIPS), vertices=["a", "b"]
        ).contributions(),
        ((lambda _: _trips().contributions().tolist(), [1]),),
    ),
    Advice(
        "known_max bounds what is left out of rows, users or pairs, and not of weights: leave it",
        lambda _: most_left_out(_weights_of_users(), bound=1, known_max=3),
        (
            (
                lambda _: (
                    _weights_of_users()
                    .cells(gc.PrivacyUnit.user(max_contributions=1), whole=False)
                    .steps
                    / STEPS
                ).tolist(),
                [1.0],
            ),
        ),
    ),
    Advice(
        "known_max=3 is below max_contributions=9: if no user has more than 3, pass",
        lambda _: most_left_out(_users_of("rows"), bound=9, known_max=3),
        ((lambda _: most_left_out(_users_of("rows"), bound=3, known_max=3), [0.0]),),
    ),
    Advice(
        "needs rows, not a graph: read them by Rows.read",
        lambda _: gc.release_graph(
            gc.Graph.of([("a", "b")]),
            epsilon=1.0,
            privacy_unit=gc.PrivacyUnit.user(max_contributions=9),
        ),
        ((rows("o,d,u\na,b,k\n", **TRIPS, user="u"), AB),),
    ),
    Advice(
        "the weights are too large for this unit; pass a larger weight_unit=",
        lambda _: _huge(1.0),
        ((lambda _: _huge(1e300), [3_000.0]),),
    ),
    # Files of graphs, and what is written
    Advice(
        "the source holds a bipartite graph; make it a BipartiteGraph",
        written(TWO_SIDES, "x.edges", gc.Graph),
        ((written(TWO_SIDES, "x.edges", gc.BipartiteGraph), AB),),
    ),
    Advice(
        "the source holds a directed graph; make it a DirectedGraph",
        written(ARCS, "x.edges", gc.Graph),
        ((written(ARCS, "x.edges", gc.DirectedGraph), {("b", "a"): 1.0}),),
    ),
    Advice(
        "an edge has a weight though the file declares that none has; pass weighted=True",
        file(GML, "x.gml"),
        ((file(GML, "x.gml", weighted=True), HEAVY), (file(GML, "x.gml", weighted=False), AB)),
    ),
    Advice(
        "a vertex label occurs twice; if meant, make it a BipartiteGraph",
        made(two_of_one_name),
        ((made(two_of_one_name, gc.BipartiteGraph), {("a", "a"): 1.0}),),
    ),
    Advice(
        "cannot tell which edge attribute is a weight",
        file(GRAPHML, "x.graphml"),
        (
            (file(GRAPHML, "x.graphml", weight="mass"), HEAVY),
            (file(GRAPHML, "x.graphml", weighted=False), AB),
        ),
    ),
    Advice(
        "there is not exactly one edge attribute",
        file(GRAPHML, "x.graphml", weight="money"),
        ((file(GRAPHML, "x.graphml", weight="mass"), HEAVY),),
    ),
    Advice(
        "a <key> below <graph>; move it above",
        file(
            GRAPHML.replace(KEY, "").replace("</graphml>", KEY + "</graphml>"),
            "x.graphml",
            weighted=False,
        ),
        ((file(GRAPHML, "x.graphml", weight="mass"), HEAVY),),
    ),
    Advice(
        "the file has a DOCTYPE, which may hold entity bombs; delete it",
        file(GRAPHML.replace("<graphml>", "<!DOCTYPE x><graphml>"), "x.graphml", weight="mass"),
        ((file(GRAPHML, "x.graphml", weight="mass"), HEAVY),),
    ),
    Advice(
        "not XML in a known encoding; convert it to UTF-8",
        file('<?xml version="1.0" encoding="x-none"?>' + GRAPHML, "x.graphml", weight="mass"),
        (
            (
                file(
                    '<?xml version="1.0" encoding="UTF-8"?>' + GRAPHML, "x.graphml", weight="mass"
                ),
                HEAVY,
            ),
        ),
    ),
    Advice(
        "far more vertices than a file of this size can name; write it as .mtx",
        file("*Vertices 1000000000\n*Edges\n1 2\n", "x.net"),
        (
            (
                file("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 1\n2 1\n", "x.mtx"),
                {(0, 1): 1.0},
            ),
        ),
    ),
    Advice(
        "a *Matrix stands alone; write each section of edges to its own file",
        file("*Vertices 2\n*Matrix\n0 1\n1 0\n*Edges\n1 2 2.5\n", "x.net"),
        (
            (file("*Vertices 2\n*Matrix\n0 1\n1 0\n", "x.net"), {(1, 2): 1.0}),
            (file("*Vertices 2\n*Edges\n1 2 2.5\n", "x.net"), {(1, 2): 2.5}),
        ),
    ),
    Advice(
        "a database; export the table as CSV or Parquet",
        file(b"SQLite format 3", "x.sqlite"),
        (
            (file("x,y\na,b\n", source="x", target="y"), AB),
            (made(of_sqlite, source="x", target="y"), AB),
        ),
    ),
    Advice(
        'duckdb.connect(FILE).sql("from TABLE").write_parquet("table.parquet")',
        file(b"any bytes", "x.duckdb"),
        (
            (file("x,y\na,b\n", source="x", target="y"), AB),
            (of_duckdb, AB),
        ),
    ),
    Advice(
        "files are only read; write .edges instead",
        written(PLAIN, "x.konect"),
        ((written(PLAIN, "x.edges"), AB),),
    ),
    Advice(
        "beside it is damaged; repair it, or delete it and give vertices=",
        beside("{oops"),
        (
            (beside('{"vertices": ["a", "b"], "weighted": false}'), AB),
            (beside(None, vertices=["a", "b"]), AB),
        ),
    ),
    Advice(
        "a label is not valid Unicode; rename it",
        written(odd("\ud800"), "x.csv"),
        ((written(odd("x"), "x.csv"), {("b", "x"): 1.0}),),
    ),
    Advice(
        "the attribute graphcuts_dp of a graph holds its schema; rename it",
        with_attribute("graphcuts_dp"),
        ((with_attribute("error"), AB),),
    ),
    Advice(
        "a label holds a control character; rename it, or write .csv",
        written(odd("x\x01"), "x.graphml"),
        (
            (written(odd("x"), "x.graphml"), {("b", "x"): 1.0}),
            (written(odd("x\x01"), "x.csv"), {("b", "x\x01"): 1.0}),
        ),
    ),
    Advice(
        "a label holds a sign that programs read differently in",
        written(odd('x"y'), "x.net"),
        ((written(odd('x"y'), "x.graphml"), {("b", 'x"y'): 1.0}),),
    ),
    Advice(
        "a text edge list cannot hold an empty label; write .graphml",
        written(odd(""), "x.csv"),
        tuple((written(odd(""), f"x.{ending}"), {("", "b"): 1.0}) for ending in ("graphml", "gml")),
    ),
    Advice(
        "a label holds a line break, and a row is one line; write .graphml",
        written(odd("x\ny"), "x.csv"),
        ((written(odd("x\ny"), "x.graphml"), {("b", "x\ny"): 1.0}),),
    ),
    Advice(
        "a label holds blanks, a comma, or starts with # or %; write .csv or .graphml",
        written(odd("#x y,z"), "x.edges"),
        tuple(
            (written(odd("#x y,z"), f"x.{ending}"), {("#x y,z", "b"): 1.0})
            for ending in ("csv", "graphml")
        ),
    ),
    Advice(
        "not UTF-8 text; convert it to UTF-8",
        with_vertices("K\xf6ln\nb\n".encode("cp1252")),
        ((with_vertices("K\xf6ln\nb\n".encode()), {("K\xf6ln", "b"): 1.0}),),
    ),
    Advice(
        "is a device, not a file; name a file",
        lambda p: ((p / "x.csv").symlink_to("/dev/null"), gc.read_graph(p / "x.csv")),
        ((file("source,target\na,b\n"), AB),),
    ),
    Advice(
        "is a pipe that nothing writes into; start its writer, or name a file",
        lambda p: (os.mkfifo(p / "x.csv"), gc.read_graph(p / "x.csv")),
        ((file("source,target\na,b\n"), AB), (from_pipe, AB)),
    ),
    Advice(
        "as bombs do; if it is right, pass it unpacked",
        file(gzip.compress(LONG, 1), "x.csv.gz", weighted=False),
        ((file(LONG, weighted=False), AB),),
    ),
    # Weights that need a bound
    Advice(
        "weights without a public bound: pass max_weight= when you read the graph",
        lambda p: file(HEAVY_CSV)(p).check_bounded(),
        (
            (lambda p: checked(file(HEAVY_CSV, max_weight=5.0)(p)), HEAVY),
            (lambda p: checked(file(HEAVY_CSV, weighted=False)(p)), AB),
            (lambda p: checked(file(HEAVY_CSV, max_weight_change=1)(p)), HEAVY),
        ),
    ),
    Advice(
        "max_weight_change can only be 1; scale the weights, or give max_weight",
        file(HEAVY_CSV, max_weight_change=2),
        (
            (file("source,target,weight\na,b,1.25\n", max_weight_change=1), {("a", "b"): 1.25}),
            (file(HEAVY_CSV, max_weight=5.0), HEAVY),
        ),
    ),
    Advice(
        "an edge weighs more than max_weight; raise it or clip the weights",
        lambda _: gc.Graph([0], [1], [2.5], vertices=["a", "b"], max_weight=1.0),
        (
            (lambda _: gc.Graph([0], [1], [2.5], vertices=["a", "b"], max_weight=3.0), HEAVY),
            (lambda _: gc.Graph([0], [1], [1.0], vertices=["a", "b"], max_weight=1.0), AB),
        ),
    ),
    Advice(
        "the graphs have different vertices; read both with the same vertices=",
        lambda p: file("source,target\na,b\n")(p).difference(file("source,target\nb,c\n")(p)),
        ((compared, [[0, 1, 0], [1, 0, -1], [0, -1, 0]]),),
    ),
    Advice(
        "the first argument must be a Graph; make one by Graph.of, or read_graph",
        lambda _: graph_job([("a", "b")], epsilon=1.0),  # type: ignore[arg-type]
        ((made([("a", "b")]), AB), (file("source,target\na,b\n"), AB)),
    ),
    # What functions take
    Advice(
        "read files by gc.read_graph, and make a graph of a list by gc.Graph.of",
        lambda _: private_data([("a", "b")]),
        ((made([("a", "b")]), AB), (file("source,target\na,b\n"), AB)),
    ),
    Advice(
        "a class was passed; pass an object: Graph(...)",
        lambda _: private_data(gc.Graph),
        ((lambda _: private_data(gc.Graph([0], [1], vertices=["a", "b"])), AB),),
    ),
    Advice(
        "this needs a graph, not rows with users; make one by Graph.of",
        lambda _: private_graph(gc.Rows.empty(columns=gc.Columns(user=0), vertices=2)),
        ((lambda _: private_graph(gc.Graph.of([("a", "b")])), AB),),
    ),
    Advice(
        "this needs rows with users: gc.Rows.of(table, columns=gc.Columns(user=...), vertices=...)",
        lambda _: private_rows(gc.Graph.of([("a", "b")])),
        (
            (rows(frame(who=["x"], o=["a"], d=["b"]), user="who", source="o", target="d"), AB),
            (rows("who,o,d\nx,a,b\n", user="who", source="o", target="d"), AB),
        ),
    ),
    Advice(
        "this is a Graph already; pass it as it is",
        made(lambda: gc.Graph.of([("a", "b")])),
        ((lambda _: private_data(gc.Graph.of([("a", "b")])), AB),),
    ),
    Advice(
        "no vertex has an attribute 'cub'; name one that some have",
        lambda _: gc.Groups.of("cub", nx.karate_club_graph()),
        (
            (
                lambda _: gc.Groups.of("club", nx.karate_club_graph()).labels(),
                ("Mr. Hi", "Officer"),
            ),
        ),
    ),
    # Tables that fail, or that do not fit
    Advice(
        "the files of the folder have different columns or types; write them again",
        lambda p: in_folder(p, table(o=["a"], d=["b"]), table(o=[1], d=["b"])),
        (
            (
                lambda p: in_folder(p, table(o=["a"], d=["b"]), table(o=["b"], d=["a"])),
                AB | {("b", "a"): 1.0},
            ),
        ),
    ),
    Advice(
        "the table cannot be read to its end; look at it with the program that made it",
        rows(lambda: failing(ValueError("secret")), **TRIPS),
        ((rows(lambda: failing(None), **TRIPS), AB),),
    ),
    Advice(
        "the table does not fit into memory: hand it over as Parquet files",
        rows(lambda: failing(MemoryError()), **TRIPS),
        ((kept(table(o=["a"], d=["b"]), **TRIPS), AB),),
    ),
    Advice(
        "pass date_format= for dates in another order",
        rows("o,d,t\na,b,31.01.2026\n", **TRIPS, **MONTHS),
        ((rows("o,d,t\na,b,31.01.2026\n", **TRIPS, **MONTHS, date_format="%d.%m.%Y"), IN_JANUARY),),
    ),
    Advice(
        "or time_zone= for times with an offset",
        rows("o,d,t\na,b,2026-01-31T10:00Z\n", **TRIPS, **MONTHS),
        ((rows("o,d,t\na,b,2026-01-31T10:00Z\n", **TRIPS, **MONTHS, time_zone="UTC"), IN_JANUARY),),
    ),
    Advice(
        "there are too many cells; name fewer vertices or periods",
        lambda _: many_cells(2**31 - 1, "2026-01..2026-12"),
        (
            (lambda _: many_cells(2, "2026-01..2026-12"), {(0, 1, "2026-01"): 1.0}),
            (lambda _: many_cells(2**31 - 1, "2026-01"), {(0, 1, "2026-01"): 1.0}),
        ),
    ),
    Advice(
        "counting='edges' cannot be scaled: choose rows of each user, or count users",
        lambda _: scaled("edges"),
        ((lambda _: kept_whole("edges"), [1.0]), (lambda _: scaled("users"), [1.0])),
    ),
)


def _put(folder: Path, content: str, name: str = "x.csv") -> Path:
    path = folder / name
    path.write_text(content)
    return path


def _rows_of_text(folder: Path, content: str, **columns: Any) -> Any:
    given = {"columns": gc.Columns(**columns), "vertices": ["a", "b"], "kind": "directed"}
    return counted(gc.Rows.read(_put(folder, content, "x.edges"), **given))


def _in_duckdb(rows_of_advice: pa.Table) -> Any:
    connection = duckdb.connect()
    _CONNECTIONS.append(connection)
    connection.register("rows_of_advice", rows_of_advice)
    return connection.sql("from rows_of_advice")


def _trips(**options: Any) -> gc.Rows:
    given = pa.table({"o": ["a"], "d": ["b"], "u": ["k"], "t": ["2026-01"]})
    period = {"period": options.pop("period")} if options else {}
    columns = gc.Columns(**TRIPS, user="u", **period)
    return gc.Rows.of(given, columns=columns, vertices=["a", "b"], **options)


def _huge(unit: float) -> Any:
    """The sum of weights of which no row is bounded; no public call asks for it."""
    count = 3_000  # each counts at most 2^41 units
    given = pa.table({"o": ["a"] * count, "d": ["b"] * count, "w": [1e300] * count})
    how: dict[str, Any] = {"vertices": ["a", "b"], "counting": "weight", "weight_unit": unit}
    private = gc.Rows.of(given, columns=gc.Columns(**TRIPS, weight="w"), **how)
    shape = private.shape_of_cells()
    return (engine.unbounded_cells(private.coded_table(), shape).steps / STEPS).tolist()
