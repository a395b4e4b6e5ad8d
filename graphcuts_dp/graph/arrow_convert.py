"""Graphs from Arrow tables in memory, and from all that hands out a stream of Arrow's batches."""

from typing import Any

from graphcuts_dp.errors import GraphError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.arrow_tables import gather, is_label, is_number, pyarrow
from graphcuts_dp.graph.assemble import build
from graphcuts_dp.graph.convert import options_of
from graphcuts_dp.graph.edge_keys import Merge
from graphcuts_dp.graph.edge_store import Vertices


def from_arrow(
    table: Any,
    *,
    source: str = "source",
    target: str = "target",
    weight: str = "weight",
    vertices: Vertices | tuple[Vertices, Vertices] | None = None,
    weighted: bool | None = None,
    weight_cap: float | None = None,
    hide_change: float | None = None,
    bipartite: bool = False,
    directed: bool = False,
    merge: Merge = "max",
) -> AnyGraph:
    """Make a graph from a table of pyarrow, polars, DuckDB or others with one row for each edge.

    Args:
        table: whatever has the method `__arrow_c_stream__`, such as `pyarrow.Table`, a
            `RecordBatchReader`, a polars `DataFrame` or a DuckDB relation; read a batch at a time.
            Ends are integers, or strings (perhaps by number); none may be null. A table has no
            isolated vertices: give `vertices`.
        source: column with the first (left) ends.
        target: column with the second (right) ends.
        weight: column with the weights; if there is none, the graph is simple.
        vertices: public vertex set: a count or labels; a pair of these if `bipartite`.
        weighted: None: use weights where there are any; False: ignore them; True: require them.
        weight_cap: public bound on any weight; larger ones are clipped to it.
        hide_change: 1 to have weights without a cap, see `read_graph`.
        bipartite: make a `BipartiteGraph`.
        directed: make a `DirectedGraph`.
        merge: weight of parallel edges: the largest ("max"), the smallest ("min") or their "sum".

    Raises:
        FileFormatError: pyarrow is not installed.
        GraphError: not such a table, no such columns, missing values, or what `assemble.build`
            refuses.
    """
    options = options_of(vertices, weighted, weight_cap, hide_change, bipartite, directed, merge)
    arrow = pyarrow()
    if not hasattr(table, "__arrow_c_stream__"):
        raise GraphError("not a table of Arrow; give one of pyarrow, polars or DuckDB")
    reader = arrow.RecordBatchReader.from_stream(table)
    kinds = dict(zip(reader.schema.names, reader.schema.types, strict=True))
    if source not in kinds or target not in kinds:
        raise GraphError("the table lacks the source or target column; name them")
    names = [source, target]
    if weight in kinds and weighted is not False:
        names.append(weight)
        if not is_number(kinds[weight]):
            raise GraphError("the column of weights holds no numbers; name another by weight=")
    if any(reader.schema.names.count(name) > 1 for name in names):
        raise GraphError("two columns have one name; rename one")
    if not is_label(kinds[source]) or is_label(kinds[source]) != is_label(kinds[target]):
        raise GraphError("the columns of ends hold integers both, or strings both")
    try:
        raw = gather(reader, names, error=GraphError, as_text=False)
    except arrow.ArrowException:  # which may quote rows
        raise GraphError("the table cannot be read to its end") from None
    return build(raw, options)
