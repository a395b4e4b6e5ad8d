"""Options for reading: at every command, and in the words of the command line."""

import inspect
import json
from dataclasses import fields

import pytest

import graphcuts_dp as gc
from graphcuts_dp.cli.reading import Reading

TIMES = "Patient ID,Contacted Person,Time Stamp\n1,2,1597427261\n2,3,1597427999\n"
COLUMNS = ("--source", "--target", "--weight", "--header", "--delimiter", "--encoding")
RELEASE = ("release", "x.csv", "s.csv", "--epsilon", "40", "--noise", "laplace", "--force")
START = ("session", "start", "x.csv", "--store", "x.db", "--epsilon", "40", "--queries", "9")
LEARN = ("release-iteratively", "x.csv", "s.csv", "--epsilon", "40", "--delta", "1e-6", "--force")


@pytest.mark.parametrize(
    "command",
    [
        ("release",),
        ("release-iteratively",),
        ("session", "start"),
        ("distances",),
        ("evaluate", "graphs"),
        ("evaluate", "release"),
        ("evaluate", "cut-norm"),
    ],
)
def test_every_command_that_reads_a_graph_takes_the_columns(call, command):
    status, out, _ = call(*command, "--help")
    assert status == 0
    kinds = () if command == ("distances",) else ("--bipartite", "--directed")
    assert [name for name in (*COLUMNS, *kinds) if name not in out] == []


def test_time_stamps_are_not_published_and_the_user_is_told(call, tmp_path):
    (tmp_path / "x.csv").write_text(TIMES)
    for command in (RELEASE, START):
        status, _, err = call(*command)
        assert status == 0, err
        assert "column 1, column 2; ignored: 'timestamp'." in err
    assert gc.read_graph(tmp_path / "s.csv").weight_cap == 1
    assert "15974" not in (tmp_path / "s.csv").read_text()
    (tmp_path / "x.csv").write_text(TIMES.split("\n", 1)[1])
    for command in (RELEASE, START):
        status, _, err = call(*command)
        assert status == 2
        assert "pass --no-header if the file has no header" in err
        status, _, err = call(*command, "--no-header")
        assert status == 2
        assert "pass --weight with its number if it is a weight, else --ignore-weights" in err


def test_weights_are_released_only_with_a_cap_or_a_word(call, tmp_path):
    (tmp_path / "x.csv").write_text("source,target,weight\na,b,7\nb,c,1\n")
    for command in (RELEASE, START, LEARN):
        status, _, err = call(*command)
        assert status == 2
        assert "pass --weight-cap when you read" in err
        assert "--hide-change 1" in err
    assert {path.name for path in tmp_path.iterdir()} == {"x.csv"}
    assert call(*RELEASE, "--hide-change", "1")[0] == 0
    receipt = json.loads((tmp_path / "s.csv.json").read_text())
    assert "an edge that weighs more is not" in receipt["guarantee"]["neighbours"]
    for command in (RELEASE, START):
        assert call(*command, "--weight-cap", "7")[0] == 0


@pytest.mark.parametrize(
    ("name", "content", "told", "options"),
    [
        ("x.csv", "a,b\nb,c\n", "--no-header if", ("--no-header",)),
        ("x.csv", "p,q,r\na,b,3\n", "--no-header if", ("--source", "1", "--target", "q")),
        ("x.csv", "from,b,c\na,b,3\n", "--source and", ("--source", "1", "--target", "b")),
        ("x.csv", "a,b\nb,c\n", "--no-header if", ("--source", "1", "--target", "2", "--header")),
        ("x.edges", "from to\na b\n", "--header if it is, else --no-header", ("--no-header",)),
        ("x.edges", "a b 3\n", "--weight", ("--weight", "3", "--weight-cap", "3")),
        ("x.csv", "source;target,to\na;b\n", "--delimiter", ("--delimiter", ";", "--header")),
        ("x.csv", "a:b\n", "--delimiter", ("--delimiter", ":", "--no-header")),
        ("x.csv", b"from,to\nzo\xeb,b\n", "--encoding cp1252", ("--encoding", "cp1252")),
        ("x.gml", b'graph [ node [ id 1 label "\xeb" ] node [ id 2 ] ]', "--encoding", None),
        ("x.mtx", "%%MatrixMarket matrix coordinate pattern general\n1 2 0\n", "--bipartite", None),
    ],
)
def test_errors_name_the_options_of_the_command_line(call, tmp_path, name, content, told, options):
    data = content if isinstance(content, bytes) else content.encode()
    (tmp_path / name).write_bytes(data)
    line = ["release", name, "s.csv", "--epsilon", "40", "--noise", "laplace", "--force"]
    status, _, err = call(*line)
    assert status == 2
    assert told in err
    assert "=" not in err.split("error: ")[1]
    if options is not None:
        status, _, err = call(*line, *options)
        assert status == 0, err


def test_the_mark_of_inferred_vertices_can_be_avoided_by_one_option(call, tmp_path):
    (tmp_path / "x.csv").write_text("source,target\na,b\nb,c\n")
    mark = "not private in its vertex set"
    for command in ((*RELEASE, "--uncounted"), START, (*LEARN, "--uncounted")):
        status, out, err = call(*command)
        assert status == 0, err
        assert mark in out
        assert "--vertices, or --public-vertices-from-file" in err
    (tmp_path / "x.db").unlink()
    for command in (RELEASE, START, (*LEARN, "--uncounted")):
        status, out, err = call(*command, "--public-vertices-from-file")
        assert status == 0, err
        assert mark not in out + err


def test_reading_options_of_a_session_are_remembered(call, tmp_path):
    (tmp_path / "x.csv").write_bytes("Wer|Wen|Wann|Wie oft\nZoë|b|1|2\nb|c|1|9\n".encode("cp1252"))
    options = ("--source", "Wer", "--target", "2", "--weight", "4", "--delimiter", "|")
    status, _, err = call(*START, *options, "--encoding", "cp1252", "--hide-change", "1")
    assert status == 0, err
    assert "'Wer', column 2; as its weight: column 4; ignored: column 3." in err
    status, _, err = call("session", "ask", "x.db", "--from", "Zoë")
    assert status == 0, err


def test_a_map_is_read_by_the_same_options(call, tmp_path):
    (tmp_path / "map.csv").write_text("a;b;2.5\nb;c;1\n")
    (tmp_path / "people.csv").write_text("vertex\na\nb\nb\n")
    line = ("distances", "map.csv", "people.csv", "--epsilon", "1", "--no-header")
    assert "pass --delimiter" in call(*line)[2]
    line += ("--delimiter", ";")
    status, _, err = call(*line)
    assert status == 2
    assert "pass --weight with its number if it is a weight, else --ignore-lengths" in err
    assert call(*line, "--weight", "3")[0] == 0
    assert call(*line, "--ignore-lengths")[0] == 0


def test_answer_takes_the_complement_as_sessions_do(call, tmp_path):
    graph = gc.Graph([0, 1], [1, 2], vertices=["a", "b", "c"])
    gc.release_graph(graph, epsilon=9.0, seed=0).save(tmp_path / "s.csv")
    line = ("answer", "s.csv", "--from", "a", "--json")
    assert call(*line, "--complement") == call(*line) == call(*line, "--to", "b,c")
    status, _, err = call(*line, "--complement", "--to", "b")
    assert status == 2
    assert "not both" in err


@pytest.mark.parametrize("command", [RELEASE, START, ("evaluate", "cut-norm", "x.csv")])
def test_a_vertex_count_of_99_digits_is_refused_in_words(call, tmp_path, command):
    (tmp_path / "x.csv").write_text("1,2\n2,3\n")
    status, _, err = call(*command, "--vertices", "9" * 99)
    assert status == 2
    assert "at most 2,147,483,647 vertices" in err


def test_the_options_cover_all_that_read_graph_takes():
    """Whatever can be said in Python about how a file is read can be said here."""
    taken = set(inspect.signature(gc.read_graph).parameters)
    columns = {field.name for field in fields(gc.Columns)}
    offered = {field.name.removesuffix("_column") for field in fields(Reading)}
    assert (taken | columns) - offered == {"path", "columns", "weighted", "tell"}


def test_what_to_type_in_python_is_not_spelled_as_options(call, tmp_path):
    (tmp_path / "calls.xlsx").write_bytes(b"PK")
    status, _, err = call("release", tmp_path / "calls.xlsx", tmp_path / "out.csv", "--epsilon", 1)
    assert status == 2
    assert "gc.Graph.of(pandas.read_excel(FILE), columns=gc.Columns(source=..., target=...))" in err
