"""How a file is read never depends on a row: one row apart, readings are one pair apart.

For random files, tables and graphs of other libraries, random options and a public vertex set, any
one row is taken away. All that is public of both readings is the same, and so is every pair but
that of the row, whose weight is what `merge` makes of its rows. Either reading may be refused for a
row that breaks a rule. Rows of a matrix are its entries. Of a table with users, all rows of one
user are taken away.
"""

import html
import os
from dataclasses import dataclass, field
from pathlib import Path

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from helpers import make_flat, owned_flat, read_flat, read_owned_flat
from one_row_apart import Case, check_row, check_user, in_many_cases
from pyarrow import parquet

import graphcuts_dp as gc
from graphcuts_dp.io.files import FORMATS

READ = 0.6  # share of the cases in which both are read, at least
N = 5
FORMS = ("count", "integers", "strings", "digits", "mixed")


@dataclass
class Source:
    """What is read: rows (place, place, weight or None), and all that stands in no row."""

    rng: np.random.Generator
    folder: Path
    weights: bool
    bipartite: bool
    directed: bool
    labels: list  # of the vertices by place, or of the left and then the right ones
    options: dict
    rows: list = field(default_factory=list)

    @property
    def sides(self):
        """Labels of the first ends, and of the second ones."""
        return (self.labels[:3], self.labels[3:]) if self.bipartite else (self.labels,) * 2

    def ends(self, rows):
        """Labels of both ends of each row."""
        first, second = self.sides
        return [first[row[0]] for row in rows], [second[row[1]] for row in rows]

    def masses(self, rows):
        return [1.0 if row[2] is None else row[2] for row in rows]

    def chance(self, share):
        return self.rng.random() < share

    def one_of(self, *things):
        return things[self.rng.integers(len(things))]


def case_of(rng, folder, forms=FORMS, *, distinct=False, loose=False):
    """Random rows and options; a pair once if `distinct`; weights that some lack if `loose`."""
    kind = rng.integers(4)  # plain in two of four
    case = Source(rng, folder, rng.random() < 0.6, bool(kind == 2), bool(kind == 3), [], {})
    form = case.one_of(*forms)
    size = 6 if case.bipartite else N
    case.labels = {
        "count": list(range(size)),
        "integers": [7 * place - 9 for place in range(size)],
        "strings": [f"v{place}" for place in range(size)],
        "digits": [str(10 + place) for place in range(size)],
        "mixed": [*range(size - 2), "a b", "007"],
    }[form]
    merge = case.one_of("max", "min", "sum")
    masses = (0.5 if merge == "min" else 0, 0.5, 1, 1, 2, 3, 3)
    odd = loose and case.chance(0.15)
    for _ in range(case.one_of(1, 1, 2, 3, 4, 6)):
        u, v = (int(end) for end in rng.integers(0, 3 if case.bipartite else N, 2))
        weight = float(case.one_of(*masses)) if case.weights else None
        if odd and case.chance(0.4):
            weight = None if case.weights else 2.0
        if not (distinct and any(row[:2] == (u, v) for row in case.rows)):
            case.rows.append((u, v, weight))
    case.options = {"bipartite": case.bipartite, "directed": case.directed, "merge": merge}
    said = case.options["weighted"] = case.one_of(None, None, None, False, case.weights or None)
    if case.weights and said is not False and case.chance(0.8):
        cap = {"max_weight": float(case.one_of(1, 2, 4))}
        case.options |= case.one_of(cap, cap, {"max_weight_change": 1})
    elif case.chance(0.1):
        case.options |= case.one_of({"max_weight": 1.0}, {"max_weight_change": 1})
    return case


def given(case, *, in_order=False, as_text=False, none=0.0):
    """The public vertex sets in one of the forms in which they may be given."""
    if case.chance(none):
        return None
    sets = []
    for side in case.sides[: 1 + case.bipartite]:
        labels = list(side)
        if labels == list(range(len(labels))) and case.chance(0.7):
            sets.append(case.one_of(len(labels), range(len(labels)), gc.VertexSet(len(labels))))
            continue
        if not in_order and case.chance(0.5):
            labels = [labels[place] for place in case.rng.permutation(len(labels))]
        if as_text and case.chance(0.3):
            labels = list(map(str, labels))
        sets.append(case.one_of(labels, tuple(labels), gc.VertexSet(labels)))
    return tuple(sets) if case.bipartite else sets[0]


def case_to_check(made, read, **more):
    """The case as it is checked; whatever is drawn while it is read is the same each time."""
    state = made.rng.bit_generator.state

    def of_rows(rows):
        made.rng.bit_generator.state = state
        return read(made, rows)

    options = {"merge": made.options["merge"], "max_weight": made.options.get("max_weight")}
    return Case(**{"rows": made.rows, "read": of_rows} | options | more)


# ------------------------------------------------------------------ our own files


def read_own(case, rows, ending, **options):
    """What `Graph.write` writes: its head declares the vertices, and whether there are weights."""
    triples = list(zip(*case.ends(rows), case.masses(rows), strict=True))
    edges = triples if case.weights else [triple[:2] for triple in triples]
    labels = case.sides if case.bipartite else case.labels
    kind = {name: case.options[name] for name in ("bipartite", "directed", "merge")}
    graph = make_flat(edges, vertices=labels, weighted=case.weights, **kind)
    graph.write(case.folder / f"own{ending}", force=True)
    return read_flat(case.folder / f"own{ending}", **case.options, **options)


def own(ending):
    """Reads a file of this ending that we wrote."""

    def read(case, rows):
        return read_own(case, rows, ending, vertices=given(case, as_text=True, none=0.5))

    return own_case, read


def own_case(rng, folder):
    """Without zeros, which are edges of a file that are not written."""
    case = case_of(rng, folder)
    case.rows = [(u, v, w or case.weights / 2 or None) for u, v, w in case.rows]
    return case


# ------------------------------------------------------------------ matrices


def matrix_case(rng, folder):
    case = case_of(rng, folder, distinct=True)
    case.dtype = case.one_of(float, float, int, bool)
    case.weights = case.dtype is not bool
    if not case.weights:
        case.options["weighted"] = case.one_of(None, False)
        case.options.pop("max_weight", None)
    if case.options["merge"] == "sum" and case.chance(0.5):
        case.options["merge"] = "min"  # sums are refused for plain graphs
    masses = {row[:2]: max(row[2] or 1.0, 1.0) for row in case.rows}
    if not case.bipartite and case.chance(0.4):  # symmetric
        masses |= {(v, u): weight for (u, v), weight in masses.items()}
    case.rows = [(u, v, float(w) if case.weights else None) for (u, v), w in masses.items()]
    case.shape = (3, 3) if case.bipartite else (N, N)
    return case


def matrix_of(case, rows):
    ends = np.array([row[:2] for row in rows], dtype=np.int64).reshape(-1, 2)
    data = np.array(case.masses(rows), dtype=case.dtype)
    matrix = sp.coo_array((data, (ends[:, 0], ends[:, 1])), case.shape)
    form = case.one_of("csr", "csc", "coo")
    return matrix.asformat(form)


def read_scipy(case, rows):
    matrix = matrix_of(case, rows)
    matrix = matrix.toarray() if case.chance(0.3) else matrix
    return make_flat(matrix, **case.options, vertices=given(case, in_order=True))


def read_npz(case, rows):
    sp.save_npz(case.folder / "x.npz", matrix_of(case, rows), compressed=False)
    options = case.options | {"vertices": given(case, in_order=True)}
    return read_flat(case.folder / "x.npz", **options)


def mtx_case(rng, folder):
    case = matrix_case(rng, folder)
    case.symmetric = not (case.directed or case.bipartite) and case.chance(0.5)
    case.dense = case.dtype is not bool and case.chance(0.3)
    if case.symmetric:  # each pair in one triangle, or a careless file's in any
        upper = {}
        for u, v, w in case.rows:
            upper[max(u, v), min(u, v)] = w
        turned = not case.dense and case.chance(0.5)
        case.rows = [(v, u, w) if turned else (u, v, w) for (u, v), w in upper.items()]
    return case


def read_mtx(case, rows):
    field_name = {float: "real", int: "integer", bool: "pattern"}[case.dtype]
    form = "array" if case.dense else "coordinate"
    symmetry = "symmetric" if case.symmetric else "general"
    lines = [f"%%MatrixMarket matrix {form} {field_name} {symmetry}"]
    height, width = case.shape
    if case.dense:
        table = np.zeros(case.shape, dtype=case.dtype)
        for u, v, w in rows:
            table[u, v] = w
        lines.append(f"{height} {width}")
        for column in range(width):
            lines += [str(cell) for cell in table[column if case.symmetric else 0 :, column]]
    else:
        lines.append(f"{height} {width} {len(rows)}")
        masses = [case.dtype(mass) for mass in case.masses(rows)]
        for row, mass in zip(rows, masses, strict=True):
            lines.append(f"{row[0] + 1} {row[1] + 1}" + (f" {mass}" if case.weights else ""))
    (case.folder / "x.mtx").write_text("\n".join(lines) + "\n")
    options = case.options | {"vertices": given(case, in_order=True)}
    return read_flat(case.folder / "x.mtx", **options)


# ------------------------------------------------------------------ exchange formats


def exchange_case(rng, folder):
    case = case_of(rng, folder, loose=True)
    case.declared = case.chance(0.5)  # of GraphML: a key for weights
    return case


def nodes_of(case):
    """The id, the label as text, and the side of each vertex."""
    return [(row, str(label), int(row >= 3)) for row, label in enumerate(case.labels)]


def edges_of(case, rows):
    """Ids of both ends, and the weight as text or None."""
    offset = 3 * case.bipartite
    return [(u, v + offset, None if w is None else str(w)) for u, v, w in rows]


def read_as(case, ending, text):
    (case.folder / f"x{ending}").write_text(text)
    options = case.options | {"vertices": given(case, as_text=True, none=0.3)}
    return read_flat(case.folder / f"x{ending}", **options)


def read_gml(case, rows):
    lines = ["graph [", f"  directed {int(case.directed)}"]
    for row, label, side in nodes_of(case):
        lines.append(f'  node [ id {row} label "{label}" bipartite {side} ]')
    key = case.one_of("weight", "weight", "value")
    for u, v, w in edges_of(case, rows):
        weight = "" if w is None else f" {key} {w}"
        lines.append(f"  edge [ source {u} target {v}{weight} ]")
    return read_as(case, ".gml", "\n".join([*lines, "]\n"]))


def read_graphml(case, rows):
    numbered = case.chance(0.5)
    default = "<default>1.0</default>" if case.chance(0.2) else ""
    lines = ["<graphml>"]
    lines.append('<key id="s" for="node" attr.name="bipartite" attr.type="int"/>')
    lines.append('<key id="n" for="node" attr.name="name" attr.type="string"/>')
    if case.declared or case.weights:
        lines.append(f'<key id="w" for="edge" attr.name="weight">{default}</key>')
    lines.append(f'<graph edgedefault="{"directed" if case.directed else "undirected"}">')
    ids = [f"n{row}" if numbered else html.escape(label) for row, label, _ in nodes_of(case)]
    for row, label, side in nodes_of(case):
        data = f'<data key="n">{label}</data><data key="s">{side}</data>'
        lines.append(f'<node id="{ids[row]}">{data}</node>')
    for u, v, w in edges_of(case, rows):
        data = "" if w is None else f'<data key="w">{w}</data>'
        lines.append(f'<edge source="{ids[u]}" target="{ids[v]}">{data}</edge>')
    return read_as(case, ".graphml", "\n".join([*lines, "</graph>", "</graphml>\n"]))


def read_pajek(case, rows):
    lines = [f"*Vertices {len(case.labels)}" + (" 3" if case.bipartite else "")]
    lines += [f'{row + 1} "{label}"' for row, label, _ in nodes_of(case)]
    matrix = case.weights and not case.bipartite and case.chance(0.3)
    if matrix:  # one pair in a cell of its own
        table = [["0"] * N for _ in range(N)]
        for u, v, w in rows:
            table[u][v] = "1" if w is None else str(w)
        lines += ["*Matrix", *(" ".join(cells) for cells in table)]
    else:
        lines.append("*Arcs" if case.directed or case.chance(0.3) else "*Edges")
        for u, v, w in edges_of(case, rows):
            lines.append(f"{u + 1} {v + 1}" + ("" if w is None else f" {w}"))
    return read_as(case, ".net", "\n".join(lines) + "\n")


def pajek_case(rng, folder):
    case = exchange_case(rng, folder)
    if case.weights:  # in a matrix, a cell has room for one
        case.rows = list({row[:2]: row for row in case.rows}.values())
        case.rows = [(u, v, w or 1.0) for u, v, w in case.rows]
    return case


# ------------------------------------------------------------------ tables


def table_case(rng, folder):
    case = case_of(rng, folder, ("count", "integers", "strings", "digits"))
    integers = isinstance(case.labels[0], int)
    texts = (pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()))
    case.kind = case.one_of(*((pa.int64(), pa.int32(), pa.int8()) if integers else texts))
    case.floats = case.one_of(pa.float64(), pa.float32(), pa.decimal128(9, 3))
    if not case.weights and case.chance(0.1):
        case.options["weighted"] = True
    return case


def arrow_table(case, rows, users=None):
    ends = case.ends(rows)
    if pa.types.is_dictionary(case.kind):
        ends = [pa.array(end, pa.string()).dictionary_encode().cast(case.kind) for end in ends]
    columns = dict(zip(("source", "target"), (pa.array(e, case.kind) for e in ends), strict=True))
    if case.weights:
        columns["weight"] = pa.array(case.masses(rows)).cast(case.floats)
    if users is not None:
        columns["who"] = users
    return pa.table(columns)


def write_table(case, table, path):
    if path.suffix == ".parquet":
        parquet.write_table(table, path, row_group_size=3)
    else:
        new = case.one_of(pa.ipc.new_stream, pa.ipc.new_file)
        with new(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=3)


def table(ending):
    def read(case, rows):
        path = case.folder / f"x{ending}"
        write_table(case, arrow_table(case, rows), path)
        return read_flat(path, **case.options, vertices=given(case, as_text=True))

    return table_case, read


def read_from_arrow(case, rows):
    return make_flat(arrow_table(case, rows), **case.options, vertices=given(case))


def pandas_case(rng, folder):
    case = case_of(rng, folder)
    numbers = all(isinstance(label, int) for label in case.labels)
    case.kind = case.one_of("int64", "float64", "Int64", "object") if numbers else "object"
    case.floats = case.one_of("float64", "float32", "object", "Float64")
    return case


def frame_of(case, rows):
    ends = case.ends(rows)
    columns = {
        name: pd.Series(end, dtype=case.kind)
        for name, end in zip(("source", "target"), ends, strict=True)
    }
    if case.weights:
        columns["weight"] = pd.Series(case.masses(rows), dtype=case.floats)
    return pd.DataFrame(columns)


def read_pandas(case, rows):
    return make_flat(frame_of(case, rows), **case.options, vertices=given(case))


# ------------------------------------------------------------------ libraries, lists


def read_networkx(case, rows):
    graph = nx.MultiDiGraph() if case.directed or case.chance(0.3) else nx.MultiGraph()
    graph.add_nodes_from(case.sides[0], bipartite=0)
    if case.bipartite:
        graph.add_nodes_from(case.sides[1], bipartite=1)
    for u, v, (_, _, w) in zip(*case.ends(rows), rows, strict=True):
        graph.add_edge(u, v, **({} if w is None else {"weight": w}))
    return make_flat(graph, **case.options, vertices=given(case, none=0.3))


def read_igraph(case, rows):
    edges = edges_of(case, rows)
    graph = igraph.Graph(len(case.labels), [edge[:2] for edge in edges], directed=case.directed)
    graph.vs["name"] = case.labels
    graph.vs["type"] = [bool(side) for _, _, side in nodes_of(case)]
    if case.weights:
        graph.es["weight"] = [row[2] for row in rows]
    return make_flat(graph, **case.options, vertices=given(case, none=0.3))


def read_edges(case, rows):
    """An iterable of tuples, or an array; the latter has no labels of two kinds."""
    triples = list(zip(*case.ends(rows), (row[2] for row in rows), strict=True))
    options = case.options | {"vertices": given(case)}
    if all(isinstance(label, int) for label in case.labels) and case.chance(0.3):
        weighted = case.rows[0][2] is not None  # by the kind of the array, not by what is in it
        if all((row[2] is not None) == weighted for row in case.rows):
            cells = [triple if weighted else triple[:2] for triple in triples]
            array = np.array(cells, dtype=float).reshape(-1, 2 + weighted)
            return make_flat(array, **options)
    return make_flat(iter([t[:2] if t[2] is None else t for t in triples]), **options)


def loose_case(rng, folder):
    return case_of(rng, folder, loose=True)


# What `Graph.write` writes; lists of edges and text tables are those of `test_one_row_apart`, and
# .feather is another name of .arrow.
LISTED = (".edges", ".edgelist", ".txt", ".csv", ".tsv", ".konect", ".feather")
OWN_ENDINGS = [ending for ending in FORMATS if ending not in LISTED]
READERS = {
    "MatrixMarket": (mtx_case, read_mtx),
    "npz": (matrix_case, read_npz),
    "from_scipy": (matrix_case, read_scipy),
    "GML": (exchange_case, read_gml),
    "GraphML": (exchange_case, read_graphml),
    "Pajek": (pajek_case, read_pajek),
    "Parquet": table(".parquet"),
    "Arrow": table(".arrow"),
    "from_arrow": (table_case, read_from_arrow),
    "from_pandas": (pandas_case, read_pandas),
    "from_networkx": (loose_case, read_networkx),
    "from_igraph": (loose_case, read_igraph),
    "from_edges": (loose_case, read_edges),
    **{f"our own {ending}": own(ending) for ending in OWN_ENDINGS},
}


UNDECLARED = ("GML", "Pajek", "from_networkx", "from_edges")


@pytest.mark.thorough(cases=1)
@in_many_cases
@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.ConversionWarning")  # of hostile tables
@pytest.mark.parametrize("reader", READERS)
def test_a_row_changes_its_own_pair_and_nothing_else(reader, tmp_path, monkeypatch, cases):
    make, read = READERS[reader]
    monkeypatch.setattr(os, "fsync", lambda _: None)  # no file outlives its case
    count = 0
    for number in range(cases):
        made = make(np.random.default_rng(number), tmp_path)
        taken = int(made.rng.integers(len(made.rows)))
        infers_weights = reader in UNDECLARED and made.options["weighted"] is None
        count += check_row(case_to_check(made, read, infers_weights=infers_weights), taken)
    assert count >= READ * cases


# ------------------------------------------------------------------ rows with users


def owned_case(rng, folder):
    """Rows whose users stand in a column of their own, or are one of the ends."""
    case = table_case(rng, folder)
    case.bipartite = case.directed = False
    case.labels = case.labels[:N]
    case.rows = [(u % N, v % N, w) for u, v, w in case.rows * 2]
    case.rows += [(v, u, w) for u, v, w in case.rows[:3]]
    case.directed = case.chance(0.5)
    case.counting = case.one_of("edges", "users", "rows", *(["weight"] if case.weights else []))
    case.user = case.one_of("who", "who", "who", "source", "target")
    names = case.one_of(["ann", "bob", "cat", "007"], [4, 5, 6, 10**12], ["4", "5", "6", "x"])
    case.names = [names[i] for i in rng.integers(0, len(names), len(case.rows))]
    return case


def users_of(case):
    ends = case.ends(case.rows)
    return {"who": case.names, "source": ends[0], "target": ends[1]}[case.user]


def owned_options(case):
    options = {"user": case.user, "counting": case.counting, "directed": case.directed}
    if case.counting == "weight":
        options |= {"unit": float(case.one_of(0.5, 1, 2)), "weight": "weight"}
    return options | {"vertices": given(case)}


def read_owned_frame(case, rows):
    frame = frame_of(case, [row for row, _ in rows])
    frame["who"] = pd.Series([name for _, name in rows], dtype=object)
    return owned_flat(frame, **owned_options(case))


def owned_frame_case(rng, folder):
    case = owned_case(rng, folder)
    case.kind = "int64" if isinstance(case.labels[0], int) else "object"
    case.floats = case.one_of("float64", "object")
    return case


def owned_table(ending):
    def read(case, rows):
        kind = pa.int64() if isinstance(case.names[0], int) else pa.string()
        names, path = pa.array([name for _, name in rows], kind), case.folder / f"x{ending}"
        write_table(case, arrow_table(case, [row for row, _ in rows], names), path)
        options = owned_options(case)
        return read_owned_flat(path, source="source", target="target", **options)

    return owned_case, read


OWNED = {
    "Parquet": owned_table(".parquet"),
    "Arrow": owned_table(".arrow"),
    "pandas": (owned_frame_case, read_owned_frame),
}


@pytest.mark.thorough(cases=1)
@pytest.mark.usefixtures("one_database")
@in_many_cases
@pytest.mark.parametrize("source", OWNED)
def test_the_rows_of_a_user_change_no_other_users_rows(source, tmp_path, cases):
    make, read = OWNED[source]
    count = 0
    for number in range(cases):
        made = make(np.random.default_rng(number), tmp_path)
        users, at_most = users_of(made), int(made.one_of(1, 2, 3))
        gone = users[made.rng.integers(len(users))]
        rows = list(zip(made.rows, made.names, strict=True))
        case = case_to_check(made, read, rows=rows, users=users)
        count += check_user(case, gone, max_contributions=None if number % 4 else at_most)
    assert count >= READ * cases
