"""Time to read and write graphs, ours beside networkx, igraph, pandas, and polars and pyarrow if
they are installed.

Run `python tests/benchmarks/bench_files.py [--quick]`. Medians of five, on temporary files; seconds
of processor time, since polars and pyarrow take every core there is. "Rows only" tools parse text;
"and numbers" tools also number the distinct names, as a graph has to.
"""

import importlib.util
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import igraph
import networkx as nx
import numpy as np
import pandas as pd

from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.graph.dialect import TextFormat
from graphcuts_dp.graph.edge_lists import read_edge_list
from graphcuts_dp.graph.files import read_graph, write_graph


class Row(NamedTuple):
    """One measurement; `ratio` is this time over ours for the same task."""

    task: str
    tool: str
    seconds: float
    ratio: float


def rows(edges: int = 1_000_000, repeats: int = 5) -> list[Row]:
    """Measure every task with every tool; the first tool of a task is ours."""
    with tempfile.TemporaryDirectory() as folder:
        results = []
        for task, tools in _tasks(Path(folder), edges).items():
            ours = 0.0
            for tool, action in tools.items():
                seconds = _median(action, repeats)
                ours = ours or seconds
                results.append(Row(task, tool, seconds, seconds / ours))
        return results


def _median(action: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.process_time()
        action()
        times.append(time.process_time() - start)
        if times[-1] > 10:  # slow tools are measured once
            break
    return statistics.median(times)


def _tasks(folder: Path, edges: int) -> dict[str, dict[str, Callable[[], object]]]:
    draw = np.random.default_rng(0)
    pairs = draw.integers(0, max(edges // 10, 2), (edges, 2))
    plain, named = folder / "plain.edges", folder / "named.csv"
    weighted = folder / "weighted.csv"
    plain.write_text("".join(f"{a} {b}\n" for a, b in pairs.tolist()))
    named.write_text("source,target\n" + "".join(f"v{a},v{b}\n" for a, b in pairs.tolist()))
    mass = draw.random(edges).tolist()
    weighted.write_text(
        "source,target,weight\n"
        + "".join(f"{a},{b},{w!r}\n" for (a, b), w in zip(pairs.tolist(), mass, strict=True))
    )
    data = plain.read_bytes()
    n = int((4 * edges) ** 0.5) + 1
    first, second = np.triu_indices(n, 1)
    dense = Graph(first, second, draw.random(len(first)), vertices=n)

    def frame(path: Path, **options: Any) -> pd.DataFrame:
        return pd.read_csv(path, **options)

    def writing(ending: str) -> dict[str, Callable[[], object]]:
        return {"ours": lambda: write_graph(dense, folder / f"dense{ending}", force=True)}

    def reading(ending: str) -> dict[str, Callable[[], object]]:
        path = str(folder / f"dense{ending}")
        tools: dict[str, Callable[[], object]] = {"ours": lambda: read_graph(path)}
        form = {".graphml": "graphml", ".gml": "gml", ".net": "pajek"}.get(ending)
        if form is not None:
            tools["igraph"] = lambda: igraph.Graph.Read(path, format=form)
        return tools

    tasks: dict[str, dict[str, Callable[[], object]]] = {
        f"read {edges:,} plain rows": {
            "ours": lambda: read_graph(plain),
            "ours, parsing only": lambda: read_edge_list(data, TextFormat()),
            "ours, building only": lambda: Graph(
                pairs[:, 0], pairs[:, 1], vertices=max(edges // 10, 2)
            ),
            "pandas (rows only)": lambda: frame(plain, sep=" ", header=None),
            "igraph": lambda: igraph.Graph.Read_Edgelist(str(plain), directed=False).simplify(),
            "networkx": lambda: nx.read_edgelist(plain, nodetype=int),
        },
        f"read {edges:,} named rows (csv)": {
            "ours": lambda: read_graph(named),
            "pandas (rows only)": lambda: frame(named),
            "networkx": lambda: nx.from_pandas_edgelist(frame(named)),
        },
        f"read {edges:,} weighted rows (csv)": {
            "ours": lambda: read_graph(weighted),
            "pandas (rows only)": lambda: frame(weighted),
            "networkx": lambda: nx.from_pandas_edgelist(frame(weighted), edge_attr=True),
        },
    }
    tasks[f"read {edges:,} named rows (csv)"].update(_readers(named))
    many = folder / "many.edges"
    ends = draw.integers(0, edges, (10 * edges, 2))
    with many.open("w") as file:
        file.writelines(f"{a} {b}\n" for a, b in ends.tolist())
    tasks[f"read {10 * edges:,} plain rows"] = {
        "ours": lambda: read_graph(many),
        "pandas (rows only)": lambda: frame(many, sep=" ", header=None),
    }
    for ending in (".edges", ".csv", ".csv.gz", ".mtx", ".npz", ".graphml", ".gml", ".net"):
        tasks[f"write {len(first):,} weighted edges {ending}"] = writing(ending)
        tasks[f"read  {len(first):,} weighted edges {ending}"] = reading(ending)
    return tasks


def _readers(named: Path) -> dict[str, Callable[[], object]]:
    """Readers of names with and without numbers for them."""
    tools: dict[str, Callable[[], object]] = {}
    if importlib.util.find_spec("polars") is not None:
        import polars

        numbered = dict.fromkeys(("source", "target"), polars.Categorical)
        tools["polars (rows only)"] = lambda: polars.read_csv(named)
        tools["polars (and numbers)"] = lambda: polars.read_csv(named, schema=numbered)
    if importlib.util.find_spec("pyarrow") is not None:
        import pyarrow
        from pyarrow import csv

        kind = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
        options = csv.ConvertOptions(column_types=dict.fromkeys(("source", "target"), kind))
        tools["pyarrow (rows only)"] = lambda: csv.read_csv(named)
        tools["pyarrow (and numbers)"] = lambda: csv.read_csv(named, convert_options=options)
    return tools


def main() -> None:
    """Print the table; --quick takes a tenth of the edges."""
    edges = 100_000 if "--quick" in sys.argv else 1_000_000
    print(f"{'task':45} {'tool':22} {'seconds':>8} {'ratio':>7}")
    for row in rows(edges):
        print(f"{row.task:45} {row.tool:22} {row.seconds:8.3f} {row.ratio:7.1f}")


if __name__ == "__main__":
    main()
