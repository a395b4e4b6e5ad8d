"""Tables of several libraries: read alike, and made in the kind that is asked for."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import graphcuts_dp as gc
from graphcuts_dp import GraphError, ParameterError, frames
from tests.audits.rows_in_memory import bounded

KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
CALLS = {"caller": ["ann", "bob"], "callee": ["bob", "eve"], "minutes": [2.0, 3.5]}
COLUMNS = gc.Columns(source="caller", target="callee", weight="minutes")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_comes_in_and_goes_out(kind):
    graph = gc.DirectedGraph.of(KINDS[kind](CALLS), columns=COLUMNS, max_weight=5)
    assert graph == gc.DirectedGraph.of(zip(*CALLS.values(), strict=True), max_weight=5)
    made = graph.to_frame(kind)
    assert type(made) is type(graph.to_frame(made)) is type(KINDS[kind](CALLS))
    assert gc.DirectedGraph.of(made, max_weight=5) == graph
    towns = KINDS[kind]({"who": ["eve", "ann", "bob"], "town": ["waco", "waco", "austin"]})
    groups = gc.Groups.of(towns, graph, vertex="who")
    assert groups == gc.Groups.of({"ann": "waco", "bob": "austin", "eve": "waco"}, graph, "town")
    rows = gc.Rows.of(
        KINDS[kind](CALLS),
        columns=gc.Columns(source="caller", target="callee", user="caller"),
        vertices=graph.vertices,
        counting="edges",
    )
    assert bounded(rows, 1) == gc.Graph.of(zip(*list(CALLS.values())[:2], strict=True))


def test_labels_of_two_types_are_text_where_a_column_has_one_type():
    graph = gc.Graph.of([(1, "x"), (2, "y")])
    assert list(graph.to_frame("pandas")["source"]) == [1, 2]
    two = gc.Graph.of([(1, 2), (2, "y")])
    assert two.to_frame("polars")["target"].to_list() == ["2", "y"]


def test_a_lazy_table_is_computed_and_a_series_is_a_column():
    assert gc.Graph.of(pl.LazyFrame(CALLS), columns=COLUMNS, max_weight=5).max_weight == 5
    series = pd.Series({0: "a", 1: "b"}, name="side")
    assert gc.Groups.of(series, gc.VertexSet(2)).levels == ("side",)


def test_what_is_no_kind_of_table(monkeypatch):
    graph = gc.Graph.of([(0, 1)])
    for kind in ("excel", 7):
        with pytest.raises(ParameterError, match="kind of table"):
            graph.to_frame(kind)
    twice = pd.DataFrame([[0, 1]], columns=["a", "a"])
    with pytest.raises(GraphError, match="one name"):
        gc.Graph.of(twice)
    with pytest.raises(GraphError, match="pass vertex="):
        gc.Groups.of(pl.DataFrame({"town": ["a", "b"]}), graph)
    monkeypatch.setattr(frames, "find_spec", lambda name: None if name == "pandas" else name)
    assert isinstance(graph.to_frame(), pl.DataFrame)
    monkeypatch.setattr(frames, "find_spec", lambda _: None)
    with pytest.raises(ParameterError, match="install pandas, polars or pyarrow"):
        graph.to_frame()
