"""No message, warning, note, log, repr, receipt or output quotes a cell of what is read.

Every cell of a file, a table or a graph of another library is a canary: a label, a weight, or what
is neither. Files are read whole and broken in all ways: every word in turn is replaced by a canary,
left out, or doubled. Whatever is said about it is searched for canaries. To put another format to
the test, add lines to `FILES`: a name whose ending tells the format, and a file of canaries; all of
`TEXT_OPTIONS` are tried on each, and so are the command lines of `COMMANDS`.
"""

import itertools
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
from command_runs import run_line
from helpers import make_flat, owned_flat, read_flat, read_owned_flat
from pyarrow import feather, parquet

import graphcuts_dp as gc
from graphcuts_dp import GraphCutsError
from graphcuts_dp.distances.locations import Locations
from graphcuts_dp.distances.metric import Metric
from graphcuts_dp.io.files import read_vertices

WORD = "Canary"
NUMBER = "73190273"
BIRDS = [f"{WORD}{place}" for place in range(4)]
MASSES = [f"{NUMBER}.{place}25" for place in range(4)]
KNOWN = ["ann", "bob", "eve"]
OPTIONS = (
    *({}, {"weighted": True}, {"weighted": False}, {"directed": True}, {"bipartite": True}),
    *({"merge": "sum", "max_weight": 3.0}, {"vertices": ["ann", "bob"]}, {"vertices": BIRDS}),
    {"vertices": 4, "max_weight_change": 1},
    {"vertices": (["ann"], ["bob"]), "bipartite": True},
)


class Odd:
    """What no reader takes, with a canary for whoever prints it."""

    def __repr__(self):
        return BIRDS[0]


def said(call, given, options, caplog, capfd):
    """All that is said where something is read, and whether it was read."""
    texts, read_at_all = [], True
    if call in (read_flat, quote_in_a_note):
        options = options | {"tell": texts.append}
    caplog.clear()
    capfd.readouterr()
    with warnings.catch_warnings(record=True) as caught, caplog.at_level(logging.DEBUG):
        warnings.simplefilter("always")
        try:
            found = call(*given, **options)
            texts += [repr(found), str(found), getattr(found, "reading", "")]
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


@pytest.fixture
def is_read(caplog, capfd):
    """Whether a call reads what it is given, after a check that it quotes nothing."""

    def is_read(call, *given, **options):
        text, success = said(call, given, options, caplog, capfd)
        assert_silent(text)
        return success

    return is_read


def quote_in_an_error():
    raise GraphCutsError(f"an end {BIRDS[0]!r}")


def quote_in_a_cause():
    try:
        float(BIRDS[0])
    except ValueError as problem:
        raise GraphCutsError("not a number") from problem


def quote_in_a_note(tell):
    tell(BIRDS[0])


TALKING = [
    *(quote_in_an_error, quote_in_a_cause, quote_in_a_note),
    lambda: warnings.warn(BIRDS[0], stacklevel=1),
    lambda: logging.getLogger("x").debug(BIRDS[0]),
    lambda: sys.stdout.write(MASSES[0]),
    lambda: os.write(2, BIRDS[0].encode()),
    lambda: BIRDS[0],
]


@pytest.mark.parametrize("talk", TALKING)
def test_a_reader_that_talks_is_noticed(talk, is_read):
    with pytest.raises(AssertionError):
        is_read(talk)


# ------------------------------------------------------------------ exchange formats


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


TEXTS = {".gml": gml(), ".net": pajek(), ".graphml": graphml(), ".mtx": mtx()}
# What stands where public facts do: their words are not cells, nor are names of declared keys.
HEAD = re.compile(r"\*(Vertices|Edges)|%%MatrixMarket|<key|<graph")


def broken(text):
    """The text whole, and with each of its words replaced, left out and doubled in turn."""
    yield text
    for found in re.finditer(r"[^\s\"<>\[\]=/]+", text):
        start = text.rfind("\n", 0, found.start()) + 1
        head = HEAD.match(text[start:])
        before, after = text[: found.start()], text[found.end() :]
        for other in ("", f"{found[0]} {found[0]}", BIRDS[0], MASSES[0], f"-{MASSES[0]}"):
            if head is None or not (WORD in other or (head[0] == "<key" and NUMBER in other)):
                yield before + other + after
    for line in text.splitlines():
        yield text.replace(line + "\n", "", 1)
        yield text.replace(line, f"{line}\n{line}", 1)
        yield text.replace(line, f"{BIRDS[0]} {MASSES[0]} {BIRDS[1]}", 1)
    yield text + BIRDS[0]
    yield text[: len(text) // 2]


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("ending", TEXTS)
def test_no_word_of_a_text_file_is_quoted(ending, tmp_path, is_read):
    path = tmp_path / f"x{ending}"
    results = set()
    for number, text in enumerate(broken(TEXTS[ending])):
        path.write_text(text)
        options = OPTIONS[number % len(OPTIONS)] if number % 2 else {}
        results.add(is_read(read_flat, path, **options))
    assert results == {True, False}


# ------------------------------------------------------------------ all files of text


def table(separator, width, *, head="", mark=WORD, end="\n", rows=3):
    """A text file whose cells all hold the canary, each with a number so that names differ."""
    lines = [separator.join(f"{mark}{i}{j}" for j in range(width)) for i in range(rows)]
    return (head + end.join([*lines, ""])).encode()


# (name of the file, its content): each row may be short, long, in quotes, or of another encoding.
FILES = [
    *((f"two{ending}", table(",", 2)) for ending in (".csv", ".edges", ".txt")),
    *((f"three{ending}", table(",", 3)) for ending in (".csv", ".edges", ".txt")),
    *((f"four{ending}", table("\t", 4)) for ending in (".tsv", ".csv", ".edgelist", ".konect")),
    ("one.csv", table(",", 1)),
    ("one.txt", table(",", 1)),
    ("blanks.edges", table(" ", 5)),
    ("bars.csv", table("|", 3)),
    ("out.moreno", table(" ", 4, head="% sym weighted\n")),
    ("known.csv", table(",", 3, head="from,to,weight\n")),
    ("known.tsv", table("\t", 4, head="source\ttarget\tx\ty\n")),
    ("quotes.csv", table(",", 2, mark=f'"{WORD}')),
    ("quoted.csv", table('","', 3, mark=WORD, end='"\n"')),
    ("mixed.edges", table(", \t", 3)),
    ("comment.edges", f"# graphcuts-dp: {WORD}\n{WORD} {WORD}1\n".encode()),
    ("late.edges", f"a b\n# graphcuts-dp: {WORD}\n".encode()),
    ("comments.csv", table(",", 2, mark=f"#{WORD}")),
    ("mac.csv", table(",", 3, end="\r")),
    ("wide.csv", table(",", 3).decode().encode("utf-16")),
    ("broken.csv", table(",", 3) + b"\xff\xfe\n"),
    ("ragged.csv", table(",", 3) + table(",", 2) + table(",", 7)),
    ("number.csv", f"1,2,3\n{WORD},{WORD}1,4\n".encode()),
    ("other.dat", table(",", 2)),
    *((f"whole{ending}", text.encode()) for ending, text in TEXTS.items()),
]
NAMES = [name for name, _ in FILES]
ENDS = [{}, {"source": 0, "target": 1}, {"source": "from", "target": "to"}]
ENDS.append({"source": 3, "target": 9})
HEADERS = ({}, {"header": True}, {"header": False})
MORE = (
    *({"weight": 2}, {"weight": "weight"}, {"delimiter": ";"}, {"one_based": True}),
    *({"encoding": "cp1252"}, {"vertices": KNOWN}, {"vertices": 9, "weighted": False}),
    *({"bipartite": True, "vertices": (KNOWN, KNOWN)}, *OPTIONS[:6], OPTIONS[7]),
    {"on_bad": "skip", "decimal": ",", "weight": 2, "vertices": KNOWN},
)
TEXT_OPTIONS = [ends | head | more for ends, head, more in itertools.product(ENDS, HEADERS, MORE)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with all files."""
    made = tmp_path_factory.mktemp("cells")
    for name, content in FILES:
        (made / name).write_bytes(content)
    (made / "known.txt").write_text("".join(f"{name}\n" for name in KNOWN))
    return made


IN_TURN = 4  # files, of which each is read with another part of the options in the quick tests
HALVES = 2  # and as much of the ways to type a command
every = pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.slow)])


@pytest.mark.thorough(cases=2)
@every
@pytest.mark.parametrize("name", NAMES)
def test_no_reader_quotes_a_cell(folder, name, is_read, every):
    path = folder / name
    turn = NAMES.index(name)
    text_options = TEXT_OPTIONS if every else TEXT_OPTIONS[turn % IN_TURN :: IN_TURN]
    for options in text_options:
        is_read(read_flat, path, **options)
    for options in text_options[::5]:
        of_graphs = ("weighted", "max_weight", "merge")
        text = {key: value for key, value in options.items() if key not in of_graphs}
        for user in ("tail", 0, 2, "user"):
            is_read(read_owned_flat, path, user=user, **{"vertices": KNOWN} | text)
    for header, columns in itertools.product((None, True, False), (None, [1], ["area"], [1, 2])):
        text = gc.Columns(header=header)
        is_read(gc.Groups.read, path, gc.VertexSet(KNOWN), text=text, columns=columns)
    metric = Metric([0, 1], [1, 2], [1.0, 1.0], vertices=KNOWN)
    is_read(Locations.read, metric, path)
    is_read(read_vertices, path)
    is_read(read_flat, folder / "known.csv", vertices=path)


READ = "--vertices known.txt"
COMMANDS = {
    "release": "release {} new.edges --epsilon 1 --force",
    "users": "release {} new.edges --epsilon 1 --privacy-unit user:1",
    "count": "flows {} --contributions table --epsilon 1",
    "groups": f"release mail.edges new.edges --epsilon 1 --groups {{}} {READ}",
    "labels": "release mail.edges new.edges --epsilon 1 --vertices {}",
    "session": "session start {} --store new.db --epsilon 1 --queries 2",
    "people": "distances map.csv {} --epsilon 1 --uncounted",
    "inspect": "inspect {}",
    "counts": f"inspect {{}} --nonprivate {READ}",
    "cuts": "cuts {} new.csv --from ann --to bob --epsilon 1 --force",
    "answers": "release-iteratively mail.edges new.npz --construction answers --queries {}"
    f" --epsilon 1 {READ}",
    "lists": "release-iteratively mail.edges new.edges --queries {} --epsilon 1",
}
OF_GRAPHS = ("release", "users", "count", "session", "cuts")
TYPED = [
    *("", READ, f"{READ} --columns header=yes,source=1,target=2"),
    f"{READ} --columns header=no --ignore-weights",
    f"{READ} --columns header=no,weight=3 --max-weight 5",
    "--columns source=from,target=to",
]


@pytest.mark.thorough(cases=3)
@every
@pytest.mark.parametrize("name", NAMES)
def test_no_command_prints_a_cell(folder, tmp_path, monkeypatch, name, every):
    monkeypatch.chdir(tmp_path)
    for file in (name, "known.txt"):
        (tmp_path / file).write_bytes((folder / file).read_bytes())
    (tmp_path / "mail.edges").write_text("ann bob\nbob eve\n")
    (tmp_path / "map.csv").write_text("source,target\nann,bob\nbob,eve\n")
    before = {file.name for file in tmp_path.iterdir()}
    turn = NAMES.index(name)
    for number, (what, line) in enumerate(COMMANDS.items()):
        ways = TYPED if every else TYPED[(turn + number) % HALVES :: HALVES]
        for typed in ways if what in OF_GRAPHS else [""]:
            words = [*line.format(name).split(), *typed.split()]
            if what in ("users", "count"):  # columns given twice are one list
                words += ["--columns", "user=1"]
            status, out, err = run_line(*words)
            assert_silent(out + err)
            written = [file for file in tmp_path.iterdir() if file.name not in before]
            for file in written:
                # Vertices that nobody gave are taken from the file, and are in what comes out.
                if status != 0 or "--vertices" in words:
                    assert WORD.encode() not in file.read_bytes(), (words, file)
                file.unlink()


# ------------------------------------------------------------------ tables

NAMED = {"source": "source", "target": "target"}
MASS, BIG = float(MASSES[0]), int(NUMBER)


def columns():
    """Columns of source, target, weight and user, whole and broken; what they hold is canaries."""
    good = {"source": BIRDS[:3], "target": BIRDS[1:], "weight": [float(m) for m in MASSES[:3]]}
    good["who"] = BIRDS[:3]
    yield good
    for changed in (
        {"source": [BIG, BIG + 1, 2], "target": [BIG + 1, 2, 3]},
        {"source": [-BIG, 1, 2], "target": [BIG, 2, 3]},
        {"source": [MASS, 1.0, 2.0]},
        {"source": [BIRDS[0], None, BIRDS[1]]},
        {"target": [BIRDS[0], BIRDS[1], None]},
        {"who": [BIRDS[0], None, BIRDS[1]]},
        {"who": [MASS, 1.0, 2.0]},
        *({"weight": [MASS, odd, 1.0]} for odd in (-MASS, float("inf"), None)),
        {"weight": BIRDS[:3]},
        {"weight": [BIG**3, 1, 2]},
        {name: [] for name in good},
    ):
        yield good | changed


def public(options):
    """The options that readers of rows with users take, too."""
    return {key: each for key, each in options.items() if key in ("vertices", "bipartite")}


@pytest.mark.thorough
@pytest.mark.parametrize("ending", [".parquet", ".arrow", "in memory"])
def test_no_cell_of_an_arrow_table_is_quoted(ending, tmp_path, is_read):
    path = tmp_path / f"x{ending}"
    results = set()
    for cells in columns():
        try:
            table = pa.table(cells)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
            continue
        if ending == ".parquet":
            parquet.write_table(table, path)
        else:
            with pa.ipc.new_stream(path, table.schema) as writer:
                writer.write_table(table)
        for options in OPTIONS:
            if ending == "in memory":
                results.add(is_read(make_flat, table, **options))
                continue
            results.add(is_read(read_flat, path, **NAMED, **options))
            for counting in ("edges", "weight"):
                owned = {"user": "who", "counting": counting} | NAMED | public(options)
                results.add(is_read(read_owned_flat, path, **owned))
    assert results == {True, False}


@pytest.mark.thorough
def test_no_cell_of_a_damaged_table_is_quoted(tmp_path, is_read):
    table = pa.table(next(columns()))
    for ending, write in ((".parquet", parquet.write_table), (".arrow", feather.write_feather)):
        path = tmp_path / f"x{ending}"
        write(table, path, compression="none" if ending == ".parquet" else "uncompressed")
        data = path.read_bytes()
        rng = np.random.default_rng(5)
        for place in rng.integers(0, len(data), 200):
            path.write_bytes(data[:place] + bytes([int(rng.integers(256))]) + data[place + 1 :])
            is_read(read_flat, path, **NAMED)


@pytest.mark.thorough
def test_no_cell_of_a_data_frame_is_quoted(is_read):
    results = set()
    for cells in columns():
        frame = pd.DataFrame({name: pd.Series(each, dtype=object) for name, each in cells.items()})
        odd = frame.assign(source=[Odd() for _ in range(len(frame))])
        for some, options in itertools.product((frame, frame.infer_objects(), odd), OPTIONS):
            results.add(is_read(make_flat, some, **options))
            for counting in ("edges", "weight"):
                owned = {"user": "who", "counting": counting} | public(options)
                results.add(is_read(owned_flat, some, **owned))
    assert results == {True, False}


# ------------------------------------------------------------------ libraries, lists, matrices

LABELS = [*BIRDS, BIG, -BIG, 10**30 + BIG, MASS, None, Odd()]
WEIGHTS = (MASS, -MASS, BIRDS[0], BIG**60, complex(BIG, 1), [MASS], Odd(), None)


def sources():
    """What is not a file, with canaries in every place, and its kind."""
    for end, weight in itertools.product(LABELS, WEIGHTS):
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
    for cell in (MASS, -MASS, complex(BIG), BIRDS[0], Odd()):
        matrix = np.full((4, 4), cell)
        yield "matrix", matrix
        if matrix.dtype.kind in "fc":
            yield "matrix", sp.csr_array(matrix)


@pytest.mark.thorough
def test_no_cell_of_another_librarys_graph_is_quoted(is_read):
    results = {}
    for (kind, source), options in itertools.product(sources(), OPTIONS):
        results.setdefault(kind, set()).add(is_read(make_flat, source, **options))
    assert len(results) == 4
    assert all(found == {True, False} for found in results.values())


def test_no_entry_of_an_npz_file_is_quoted(tmp_path, is_read):
    path = tmp_path / "x.npz"
    for cell in (MASS, -MASS, complex(BIG), np.nan):
        members = {"row": [0], "col": [1], "shape": [2, 2], "format": b"coo", "data": [cell]}
        for name in (None, *members):
            for value in (BIRDS[0], [BIG], [-BIG], [Odd()]):
                np.savez(path, **(members if name is None else members | {name: value}))
                is_read(gc.read_graph, path)
