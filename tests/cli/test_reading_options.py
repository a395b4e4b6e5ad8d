"""Options for reading: at every command, and in the words of the command line."""

import inspect
import json
from dataclasses import fields

import pytest

import graphcuts_dp as gc
from graphcuts_dp.cli.reading import Reading

TIMES = "Patient ID,Contacted Person,Time Stamp\n1,2,1597427261\n2,3,1597427999\n"
RELEASE = ("release", "x.csv", "s.csv", "--epsilon", "40", "--force")
START = ("session", "start", "x.csv", "--store", "x.db", "--epsilon", "40", "--queries", "9")
LEARN = ("release-iteratively", "x.csv", "s.csv", "--epsilon", "40", "--delta", "1e-6", "--force")
QUICK = ("--construction", "multiplicative-weights:rounds=1", "--uncounted")


@pytest.mark.parametrize(
    "command",
    ["release", "release-iteratively", "session start", "distances", "flows", "evaluate graphs",
     "evaluate compare", "evaluate release", "evaluate cut-norm", "serve start", "inspect"],
)  # fmt: skip
def test_every_command_that_reads_a_graph_takes_the_columns(done, command):
    out, _ = done(*command.split(), "--help")
    assert "Keys of --columns" in out
    assert ("--kind" in out) == (command != "distances")


def test_time_stamps_are_not_published_and_the_user_is_told(done, refused, tmp_path):
    (tmp_path / "x.csv").write_text(TIMES)
    for command in (RELEASE, START):
        assert "'Patient ID', 'Contacted Person'; ignored: 'Time Stamp'." in done(*command)[1]
    assert gc.read_graph("s.csv").max_weight == 1
    assert "15974" not in (tmp_path / "s.csv").read_text()
    (tmp_path / "x.csv").write_text(TIMES.split("\n", 1)[1])
    for command in (RELEASE, START):
        said = refused(*command)
        assert "pass --columns header=no if the file has no header" in said
        said = refused(*command, "--columns", "header=no")
        assert "pass --columns weight= with its number if it is a weight, else --ignore-w" in said


@pytest.mark.thorough
def test_weights_are_released_only_with_a_cap_or_a_word(done, refused, tmp_path):
    (tmp_path / "x.csv").write_text("source,target,weight\na,b,7\nb,c,1\n")
    for command in (RELEASE, START, LEARN):
        said = refused(*command)
        assert "pass --max-weight when you read" in said
        assert "--max-weight-change 1" in said
    assert "choose --noise laplace" in refused(*RELEASE, "--noise", "binary", "--max-weight", "7")
    for more in (("--ignore-weights",), ("--max-weight", "7"), ("--max-weight-change", "1")):
        done(*RELEASE, *more)
    receipt = json.loads((tmp_path / "s.csv.json").read_text())
    assert "an edge that weighs more is not" in receipt["guarantee"]["neighbours"]
    done(*START, "--max-weight", "7")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.csv", b"from,to\nzo\xeb,b\n", "--columns encoding=cp1252"),
        ("x.gml", b'graph [ node [ id 1 label "\xeb" ] node [ id 2 ] ]', "--columns encoding="),
        ("x.mtx", b"%%MatrixMarket matrix coordinate pattern general\n1 2 0\n", "--kind bipartite"),
        # What to type in Python is not spelled as options.
        ("x.xlsx", b"PK", "gc.Graph.of(pandas.read_excel(FILE), columns=gc.Columns(source=..."),
    ],
)
def test_errors_name_the_options_of_the_command_line(
    done, refused, tmp_path, name, content, message
):
    """Messy files of `tests/tables` say the rest, by the class that is behind these options."""
    (tmp_path / name).write_bytes(content)
    line = ("release", name, *RELEASE[2:])
    assert message in refused(*line)
    if name == "x.csv":
        done(*line, *message.split())


def test_the_mark_of_inferred_vertices_can_be_avoided_by_one_option(done, tmp_path):
    (tmp_path / "x.csv").write_text("source,target\na,b\nb,c\n")
    mark = "not private in its vertex set"
    for command in ((*RELEASE, "--uncounted"), START, (*LEARN, *QUICK)):
        out, err = done(*command)
        assert mark in out
        assert "--vertices, or --public-vertices-from-file" in err
    (tmp_path / "x.db").rename(tmp_path / "moved.db")
    start = [word.replace("x.db", "moved.db") for word in START]
    for command in ((*RELEASE, "--uncounted"), (*start, "--name", "b"), (*LEARN, *QUICK)):
        assert mark not in "".join(done(*command, "--public-vertices-from-file"))


def test_the_options_cover_all_that_read_graph_takes():
    """Whatever can be said in Python about how a file is read can be said here."""
    taken = set(inspect.signature(gc.read_graph).parameters)
    assert taken - {field.name for field in fields(Reading)} == {"path", "weighted", "tell"}
