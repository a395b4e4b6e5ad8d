"""Time to read and write graphs, ours beside networkx, igraph, pandas, and polars and pyarrow if
they are installed.

Run `python -m scripts.bench.bench_files [--quick]`. Medians of five, on temporary files; seconds
of processor time, since polars and pyarrow take every core there is. "Rows only" tools parse text;
"and numbers" tools also number the distinct names, as a graph has to.

A second table has files of ten times as many rows, 10^7, each read in a process of its own: seconds
of processor time, and the most memory that the process held beyond its imports. Of ours it is set
beside the arrays (and names) of the graph that came out. pandas, Polars and DuckDB read integers
and names of vertices to a frame, or to a table in memory; Polars also numbers them.
"""

import gzip
import importlib.util
import io
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import igraph
import networkx as nx
import numpy as np
import pandas as pd

from graphcuts_dp.graph.adjacency import Graph, read_graph
from graphcuts_dp.io.raw_edges import Options
from graphcuts_dp.io.text import read_edge_list
from graphcuts_dp.schema.text_format import TextFormat
from scripts.bench.harness import Table, run

_OURS = "ours"
_IMPORTS = {  # of a tool that reads a file
    _OURS: "import pyarrow.parquet\nfrom graphcuts_dp.graph.adjacency import read_graph",
    "pandas": "import pandas, pyarrow.parquet",
    "Polars": "import polars",
    "DuckDB": "import duckdb",
}
_READS = {  # of a tool and the ending of the file; `path` is its name
    (_OURS, ""): 'read_graph(path, max_weight_change=1 if "weight" in path else None)',
    ("pandas", ".edges"): 'pandas.read_csv(path, sep=" ", header=None)',
    ("pandas", ".csv"): "pandas.read_csv(path)",
    ("pandas", ".parquet"): "pandas.read_parquet(path)",
    ("Polars", ".edges"): """polars.read_csv(
    path, separator=" ", has_header=False, schema=dict.fromkeys("ab", polars.Categorical)
)""",
    ("Polars", ".csv"): (
        'polars.read_csv(path, schema_overrides=dict.fromkeys(["source", "target"], '
        "polars.Categorical))"
    ),
    ("Polars", ".parquet"): (
        'polars.read_parquet(path).cast(dict.fromkeys(["source", "target"], polars.String))'
        '.cast(dict.fromkeys(["source", "target"], polars.Categorical))'
    ),
    ("DuckDB", ""): 'duckdb.execute("create or replace table rows_read as from " + repr(path))',
    ("DuckDB", ".edges"): (
        'duckdb.execute("create or replace table rows_read as from read_csv(" + repr(path) + '
        "\", delim=' ', header=false)\")"
    ),
}
_READ = """
import re, sys, time
from pathlib import Path
import numpy
{imports}
path = str(Path(sys.argv[1]).with_name("tiny.csv"))
{warm}  # which imports what is imported late
path = sys.argv[1]
def held(what):  # of this process alone: what getrusage tells is that of its parent, too
    return int(re.search(what + r":\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) * 1024
base = held("VmRSS")
start = time.process_time()
result = {read}
seconds = time.process_time() - start
peak = held("VmHWM") - base
print(seconds, peak / 1e6)
if hasattr(result, "vertices"):
    arrays = result.rows.nbytes + result.columns.nbytes + result.weights.nbytes
    if not result.vertices.is_default:
        arrays += sum(8 + sys.getsizeof(label) for label in result.labels)
    print(arrays / 1e6)
"""


def _median(action: Callable[[], object], repeats: int = 5) -> float:
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
    ends = pairs.tolist()
    plain.write_text("".join(f"{a} {b}\n" for a, b in ends))
    named.write_text("source,target\n" + "".join(f"v{a},v{b}\n" for a, b in ends))
    mass = zip(ends, draw.random(edges).tolist(), strict=True)
    rows = "".join(f"{a},{b},{w!r}\n" for (a, b), w in mass)
    weighted.write_text("source,target,weight\n" + rows)
    data = plain.read_bytes()
    n = int((4 * edges) ** 0.5) + 1
    first, second = np.triu_indices(n, 1)
    dense = Graph(first, second, draw.random(len(first)), vertices=n)

    tasks: dict[str, dict[str, Callable[[], object]]] = {
        f"read {edges:,} plain rows": {
            "ours": lambda: read_graph(plain),
            "ours, parsing only": lambda: read_edge_list(
                io.BytesIO(data), Options(), form=TextFormat()
            ),
            "ours, building only": lambda: Graph(*pairs.T, vertices=max(edges // 10, 2)),
            "pandas (rows only)": lambda: pd.read_csv(plain, sep=" ", header=None),
            "igraph": lambda: igraph.Graph.Read_Edgelist(str(plain), directed=False).simplify(),
            "networkx": lambda: nx.read_edgelist(plain, nodetype=int),
        },
        f"read {edges:,} named rows (csv)": {
            "ours": lambda: read_graph(named),
            "pandas (rows only)": lambda: pd.read_csv(named),
            "networkx": lambda: nx.from_pandas_edgelist(pd.read_csv(named)),
        },
        f"read {edges:,} weighted rows (csv)": {
            "ours": lambda: read_graph(weighted),
            "pandas (rows only)": lambda: pd.read_csv(weighted),
            "networkx": lambda: nx.from_pandas_edgelist(pd.read_csv(weighted), edge_attr=True),
        },
    }
    tasks[f"read {edges:,} named rows (csv)"].update(_readers(named))
    many = folder / "many.edges"
    ends = draw.integers(0, edges, (10 * edges, 2))
    with many.open("w") as file:
        file.writelines(f"{a} {b}\n" for a, b in ends.tolist())
    tasks[f"read {10 * edges:,} plain rows"] = {
        "ours": lambda: read_graph(many),
        "pandas (rows only)": lambda: pd.read_csv(many, sep=" ", header=None),
    }
    for ending in (".edges", ".csv", ".csv.gz", ".mtx", ".npz", ".graphml", ".gml", ".net"):
        path, content = str(folder / f"dense{ending}"), f"{len(first):,} weighted edges {ending}"
        tasks[f"write {content}"] = {"ours": partial(dense.write, path, force=True)}
        tasks[f"read  {content}"] = {"ours": partial(read_graph, path)}
        form = {".graphml": "graphml", ".gml": "gml", ".net": "pajek"}.get(ending)
        if form is not None:
            tasks[f"read  {content}"]["igraph"] = partial(igraph.Graph.Read, path, format=form)
    return tasks


def _readers(named: Path) -> dict[str, Callable[[], object]]:
    """Return readers of names, with and without numbers for them."""
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


def reading(path: Path, tool: str) -> list[float]:
    """Read a file in its own process; return seconds, peak in MB and, for ours, MB of arrays."""
    (path.parent / "tiny.csv").write_text("source,target\na,b\n")
    warm, read = (_READS.get((tool, end)) or _READS[tool, ""] for end in (".csv", path.suffix))
    code = _READ.format(imports=_IMPORTS[tool], warm=warm, read=read)
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return [float(number) for number in done.stdout.split()]


def _tools(path: Path) -> list[str]:
    """Return our tool and, for files without weights, all others that are installed."""
    tools = [_OURS]
    if "weight" not in path.name:
        modules = {"pandas": "pandas", "Polars": "polars", "DuckDB": "duckdb"}
        tools += [tool for tool, name in modules.items() if importlib.util.find_spec(name)]
    return tools


def _large_files(folder: Path, edges: int) -> list[Path]:
    draw = np.random.default_rng(0)
    ends = draw.integers(0, max(edges // 10, 2), (edges, 2))
    weights = draw.integers(1, 50, edges)
    names = ("integers.edges", "integers-weights.csv", "names.csv", "names-weights.csv")
    paths = [folder / name for name in names]
    forms = ("{a} {b}\n", "{a},{b},{w}\n", "user{a},user{b}\n", "user{a},user{b},{w}\n")
    heads = ("", "source,target,weight\n", "source,target\n", "source,target,weight\n")
    for path, form, head in zip(paths, forms, heads, strict=True):
        with path.open("w") as file:
            file.write(head)
            pairs = zip(ends.tolist(), weights.tolist(), strict=True)
            file.writelines(form.format(a=a, b=b, w=w) for (a, b), w in pairs)
    packed = folder / "integers-weights.csv.gz"
    packed.write_bytes(gzip.compress(paths[1].read_bytes(), 1))
    paths.append(packed)
    if importlib.util.find_spec("pyarrow") is not None:
        from pyarrow import csv, feather, parquet

        for text in paths[1:4]:
            table = csv.read_csv(text)
            paths.append(text.with_suffix(".parquet"))
            parquet.write_table(table, paths[-1])
            if "weight" in text.name:
                paths.append(text.with_suffix(".feather"))
                feather.write_feather(table, paths[-1])
    return paths


def main(quick: bool) -> None:
    """Print both tables; --quick takes a tenth of the edges."""
    edges = 100_000 if quick else 1_000_000
    table = Table("task:<45 _tool:<23 seconds:>9.3f ratio:>8.1f")
    with tempfile.TemporaryDirectory() as folder:
        for task, tools in _tasks(Path(folder), edges).items():
            ours = 0.0  # the first tool of a task is ours
            for tool, action in tools.items():
                seconds = _median(action)
                ours = ours or seconds
                table.row(task, f" {tool}", seconds, seconds / ours)
    print()
    table = Table(
        "file:<28 _tool:<10 seconds:>9.2f times:>8.1f peak_MB:>9.0f arrays:>9.0f ratio:>8.2f"
    )
    with tempfile.TemporaryDirectory() as folder:
        for path in _large_files(Path(folder), 10 * edges):
            ours = 0.0
            for tool in _tools(path):
                seconds, peak, *arrays = reading(path, tool)
                ours = ours or seconds
                ratios = [part for size in arrays for part in (size, peak / size)]
                table.row(path.name, f" {tool}", seconds, seconds / ours, peak, *ratios)


if __name__ == "__main__":
    run(main, __doc__)
