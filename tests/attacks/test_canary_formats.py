"""No message, warning, note, log, repr or output quotes a cell of what is read.

Every cell of a file, a table or a graph of another library is a canary: a label, a weight, or what
is neither. Each file is read whole and broken in all ways: every word of it in turn is replaced by
a canary, left out, or doubled. Whatever is said about it is searched for canaries.
"""

import logging
import os
import re
import sys
import traceback
import warnings

import igraph
import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from command_lines import run_line
from helpers import make_flat, owned_flat, read_flat, read_owned_flat
from pyarrow import feather, parquet

import graphcuts_dp as gc
from graphcuts_dp.errors import GraphCutsError

WORD = "Canary"
NUMBER = "73190273"
BIRDS = [f"{WORD}{place}" for place in range(4)]
MASSES = [f"{NUMBER}.{place}25" for place in range(4)]
OPTIONS = (
    {},
    {"weighted": True},
    {"weighted": False},
    {"directed": True},
    {"bipartite": True},
    {"merge": "sum", "weight_cap": 3.0},
    {"vertices": ["ann", "bob"]},
    {"vertices": BIRDS},
    {"vertices": 4, "hide_change": 1},
    {"vertices": (["ann"], ["bob"]), "bipartite": True},
)


class Odd:
    """What no reader takes, with a canary for whoever prints it."""

    def __repr__(self):
        return BIRDS[0]


def said(read, caplog, capfd):
    """All that is said where something is read, and whether it was read."""
    texts = []
    caplog.clear()
    capfd.readouterr()
    read_at_all = True
    with warnings.catch_warnings(record=True) as caught, caplog.at_level(logging.DEBUG):
        warnings.simplefilter("always")
        try:
            found = read(texts.append)
            texts += [repr(found), str(found)]
            if hasattr(found, "_repr_html_"):
                texts.append(found._repr_html_())
        except GraphCutsError as problem:
            read_at_all = False
            # Without the lines of the sources, which are ours: what a log would hold.
            whole = traceback.TracebackException.from_exception(problem)
            texts += [str(problem), repr(problem), *whole.format_exception_only()]
            texts += [*getattr(problem, "__notes__", []), repr(problem.__cause__)]
            if not problem.__suppress_context__:
                texts.append(repr(problem.__context__))
    texts += [str(each.message) for each in caught]
    texts += [caplog.text, *capfd.readouterr()]
    return "\n".join(texts), read_at_all


def assert_silent(text):
    assert WORD.casefold() not in text.casefold()
    assert NUMBER not in text


def quote_in_an_error(_):
    raise GraphCutsError(f"an end {BIRDS[0]!r}")


def quote_in_a_cause(_):
    try:
        float(BIRDS[0])
    except ValueError as problem:
        raise GraphCutsError("not a number") from problem


@pytest.mark.parametrize(
    "talk",
    [
        quote_in_an_error,
        quote_in_a_cause,
        lambda tell: tell(BIRDS[0]),
        lambda _: warnings.warn(BIRDS[0], stacklevel=1),
        lambda _: logging.getLogger("x").debug(BIRDS[0]),
        lambda _: sys.stdout.write(MASSES[0]),
        lambda _: os.write(2, BIRDS[0].encode()),
        lambda _: BIRDS[0],
    ],
)
def test_a_reader_that_talks_is_noticed(talk, caplog, capfd):
    text, _ = said(talk, caplog, capfd)
    with pytest.raises(AssertionError):
        assert_silent(text)


# ------------------------------------------------------------------ files of text


def gml():
    nodes = [f'node [ id {i} label "{bird}" bipartite {i % 2} ]' for i, bird in enumerate(BIRDS)]
    edges = [
        f'edge [ source {i} target {i + 1} weight {MASSES[i]} kind "{BIRDS[i]}" ]' for i in range(3)
    ]
    return "\n".join(["graph [", "directed 0", *nodes, *edges, "]", ""])


def pajek():
    nodes = [f'{i + 1} "{bird}"' for i, bird in enumerate(BIRDS)]
    edges = [f"{i + 1} {i + 2} {MASSES[i]} c {BIRDS[i]}" for i in range(3)]
    return "\n".join(["*Vertices 4 2", *nodes, "*Edges", *edges, ""])


def graphml():
    keys = '<key id="w" for="edge" attr.name="weight"/><key id="t" for="node" attr.name="type"/>'
    nodes = [
        f'<node id="{bird}"><data key="t">{i % 2}</data></node>' for i, bird in enumerate(BIRDS)
    ]
    edges = [
        f'<edge source="{BIRDS[i]}" target="{BIRDS[i + 1]}"><data key="w">{MASSES[i]}</data></edge>'
        for i in range(3)
    ]
    body = ['<graph edgedefault="undirected">', *nodes, *edges, "</graph>"]
    return "\n".join(["<graphml>", keys, *body, "</graphml>", ""])


def mtx():
    entries = [f"{i + 1} {i + 2} {MASSES[i]}" for i in range(3)]
    return "\n".join(["%%MatrixMarket matrix coordinate real general", "4 4 3", *entries, ""])


TEXTS = {".gml": gml, ".net": pajek, ".graphml": graphml, ".mtx": mtx}
# What stands where public facts do: their words are not cells.
HEAD = re.compile(r"\*(Vertices|Edges)|%%MatrixMarket|<key|<graph")


def broken(text):
    """The text whole, and with each of its words replaced, left out and doubled in turn."""
    yield text
    for found in re.finditer(r"[^\s\"<>\[\]=/]+", text):
        start = text.rfind("\n", 0, found.start()) + 1
        head = HEAD.match(text[start:])
        before, after = text[: found.start()], text[found.end() :]
        for other in ("", f"{found[0]} {found[0]}", BIRDS[0], MASSES[0], f"-{MASSES[0]}"):
            if head is None or WORD not in other:
                yield before + other + after
    for line in text.splitlines():
        yield text.replace(line + "\n", "", 1)
        yield text.replace(line, f"{line}\n{line}", 1)
        yield text.replace(line, f"{BIRDS[0]} {MASSES[0]} {BIRDS[1]}", 1)
    yield text + BIRDS[0]
    yield text[: len(text) // 2]


@pytest.mark.parametrize("ending", TEXTS)
def test_no_word_of_a_text_file_is_quoted(ending, tmp_path, caplog, capfd):
    path = tmp_path / f"x{ending}"
    results = set()
    for number, text in enumerate(broken(TEXTS[ending]())):
        path.write_text(text)
        options = OPTIONS[number % len(OPTIONS)] if number % 2 else {}
        text, success = said(lambda tell, o=options: read_flat(path, **o, tell=tell), caplog, capfd)
        assert_silent(text)
        results.add(success)
    assert results == {True, False}


@pytest.mark.parametrize("ending", TEXTS)
def test_no_option_makes_a_whole_file_talk(ending, tmp_path, caplog, capfd):
    path = tmp_path / f"x{ending}"
    path.write_text(TEXTS[ending]())
    results = [
        said(lambda tell, o=options: read_flat(path, **o, tell=tell), caplog, capfd)
        for options in OPTIONS
    ]
    for text, _ in results:
        assert_silent(text)
    assert {success for _, success in results} == {True, False}


# ------------------------------------------------------------------ tables


NAMED = {"source": "source", "target": "target"}


def columns():
    """Columns of source, target, weight and owner, whole and broken; what they hold is canaries."""
    good = {"source": BIRDS[:3], "target": BIRDS[1:], "weight": [float(m) for m in MASSES[:3]]}
    good["who"] = BIRDS[:3]
    yield good
    number = int(NUMBER)
    yield good | {"source": [number, number + 1, 2], "target": [number + 1, 2, 3]}
    yield good | {"source": [-number, 1, 2], "target": [number, 2, 3]}
    yield good | {"source": [float(MASSES[0]), 1.0, 2.0]}
    yield good | {"source": [BIRDS[0], None, BIRDS[1]]}
    yield good | {"target": [BIRDS[0], BIRDS[1], None]}
    yield good | {"who": [BIRDS[0], None, BIRDS[1]]}
    yield good | {"who": [float(MASSES[0]), 1.0, 2.0]}
    yield good | {"weight": [float(MASSES[0]), -float(MASSES[0]), 1.0]}
    yield good | {"weight": [float(MASSES[0]), float("inf"), 1.0]}
    yield good | {"weight": [float(MASSES[0]), None, 1.0]}
    yield good | {"weight": BIRDS[:3]}
    yield good | {"weight": [number**3, 1, 2]}
    yield {name: [] for name in good}


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".feather", "in memory"])
def test_no_cell_of_an_arrow_table_is_quoted(ending, tmp_path, caplog, capfd):
    path = tmp_path / f"x{ending}"
    results = set()
    for cells in columns():
        try:
            table = pa.table(cells)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            continue
        if ending == ".parquet":
            parquet.write_table(table, path)
        elif ending == ".feather":
            feather.write_feather(table, path, compression="uncompressed")
        else:
            with pa.ipc.new_stream(path, table.schema) as writer:
                writer.write_table(table)
        for options in OPTIONS:
            readers = [lambda _, o=options, t=table: make_flat(t, **o)]
            if ending != "in memory":
                readers = [lambda tell, o=options: read_flat(path, **NAMED, **o, tell=tell)]
                kind = {k: o for k, o in options.items() if k in ("vertices", "bipartite")}
                readers += [
                    lambda tell, o=kind, k=k: read_owned_flat(
                        path, owner="who", counting=k, **NAMED, **o, tell=tell
                    )
                    for k in ("edges", "weight")
                ]
            for read in readers:
                text, success = said(read, caplog, capfd)
                assert_silent(text)
                results.add(success)
    assert results == {True, False}


def test_no_cell_of_a_damaged_table_is_quoted(tmp_path, caplog, capfd):
    table = pa.table(next(columns()))
    for ending, write in ((".parquet", parquet.write_table), (".arrow", feather.write_feather)):
        path = tmp_path / f"x{ending}"
        write(table, path, compression="none" if ending == ".parquet" else "uncompressed")
        data = path.read_bytes()
        rng = np.random.default_rng(5)
        for place in rng.integers(0, len(data), 200):
            path.write_bytes(data[:place] + bytes([int(rng.integers(256))]) + data[place + 1 :])
            text, _ = said(lambda _, p=path: read_flat(p, **NAMED), caplog, capfd)
            assert_silent(text)


def test_no_cell_of_a_data_frame_is_quoted(caplog, capfd):
    results = set()
    for cells in columns():
        frame = pd.DataFrame({name: pd.Series(each, dtype=object) for name, each in cells.items()})
        odd = frame.astype({"source": object})
        odd["source"] = [Odd() for _ in range(len(odd))]
        for some in (frame, frame.infer_objects(), odd):
            for options in OPTIONS:
                kind = {k: o for k, o in options.items() if k in ("vertices", "bipartite")}
                for read in (
                    lambda _, o=options, f=some: make_flat(f, **o),
                    lambda _, o=kind, f=some: owned_flat(f, owner="who", **o),
                    lambda _, o=kind, f=some: owned_flat(f, owner="who", counting="weight", **o),
                ):
                    text, success = said(read, caplog, capfd)
                    assert_silent(text)
                    results.add(success)
    assert results == {True, False}


# ------------------------------------------------------------------ libraries, lists, matrices

ENDS = [*BIRDS, int(NUMBER), -int(NUMBER), 10**30 + int(NUMBER), float(MASSES[0]), None, Odd()]
WEIGHTS = (
    float(MASSES[0]),
    -float(MASSES[0]),
    *BIRDS[:1],
    int(NUMBER) ** 60,
    complex(int(NUMBER), 1),
    [float(MASSES[0])],
    Odd(),
    None,
)


def sources():
    """What is not a file, with canaries in every place, and its kind."""
    for end in ENDS:
        for weight in WEIGHTS:
            edges = [(BIRDS[0], BIRDS[1], 1.0), (end, BIRDS[2], weight)]
            yield "edges", edges
            yield "edges", [edge[:2] for edge in edges]
            yield "edges", [edges[0][:2], edges[1]]
            graph = nx.MultiDiGraph()
            graph.add_node(BIRDS[3], bipartite=0)
            if end is not None:
                graph.add_weighted_edges_from(edges)
            yield "networkx", graph
            other = igraph.Graph(4, [(0, 1), (1, 2)])
            other.vs["name"] = [end, *BIRDS[1:]]
            other.vs["type"] = [False, True, False, BIRDS[0]]
            other.es["weight"] = [1.0, weight]
            yield "igraph", other
    for cell in (float(MASSES[0]), -float(MASSES[0]), complex(int(NUMBER)), BIRDS[0], Odd()):
        matrix = np.full((4, 4), cell)
        yield "matrix", matrix
        if matrix.dtype.kind in "fc":
            yield "matrix", sp.csr_array(matrix)


def test_no_cell_of_another_librarys_graph_is_quoted(caplog, capfd):
    results = {}
    for kind, source in sources():
        for options in OPTIONS:
            text, success = said(lambda _, s=source, o=options: make_flat(s, **o), caplog, capfd)
            assert_silent(text)
            results.setdefault(kind, set()).add(success)
    assert len(results) == 4
    assert all(found == {True, False} for found in results.values())


def test_no_entry_of_an_npz_file_is_quoted(tmp_path, caplog, capfd):
    path = tmp_path / "x.npz"
    for cell in (float(MASSES[0]), -float(MASSES[0]), complex(int(NUMBER)), np.nan):
        members = {"row": [0], "col": [1], "shape": [2, 2], "format": b"coo", "data": [cell]}
        for name in (None, *members):
            for value in (BIRDS[0], [int(NUMBER)], [-int(NUMBER)], [Odd()]):
                np.savez(path, **(members if name is None else members | {name: value}))
                text, _ = said(lambda _: gc.read_graph(path), caplog, capfd)
                assert_silent(text)


# ------------------------------------------------------------------ the command line


@pytest.mark.parametrize("ending", TEXTS)
def test_no_word_of_a_file_is_printed_by_a_command(ending, tmp_path):
    path = tmp_path / f"x{ending}"
    words = list(broken(TEXTS[ending]()))
    statuses = set()
    for text in (words[0], *words[1 :: len(words) // 8]):
        path.write_text(text)
        for more in (("--weight-cap", "3", "--noise", "laplace"), ("--ignore-weights", "--json")):
            made = str(tmp_path / "made.csv")
            line = ("release", str(path), made, "--epsilon", "9", "--force", "--force-hopeless")
            status, out, err = run_line(*line, *more)
            statuses.add(status)
            assert_silent(out + err)
    assert 0 in statuses
    assert statuses - {0}
