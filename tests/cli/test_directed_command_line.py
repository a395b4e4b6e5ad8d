"""`--kind directed` from the file of a graph to answers, and back from what was written."""

import json

import numpy as np
import pytest
from helpers import random_graph

import graphcuts_dp as gc

LABELS = [f"v{i}" for i in range(15)]


@pytest.fixture
def mail(tmp_path):
    """A private directed graph, with arcs both ways, in a list that does not say so."""
    graph = random_graph(15, 2, density=0.4, directed=True, vertices=LABELS)
    names = np.array(LABELS)
    lines = zip(names[graph.rows], names[graph.columns], strict=True)
    (tmp_path / "mail.edges").write_text("".join(f"{a} {b}\n" for a, b in lines))
    (tmp_path / "staff.txt").write_text("\n".join(LABELS))
    return graph


READ = ("--kind", "directed", "--vertices", "staff.txt")
S, T = "v0,v1,v2,v3", "v2,v3,v4,v5,v6"
CUT = gc.CutQuery(S.split(","), T.split(","))


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
def test_a_release_its_answers_and_its_errors(command_line, mail, tmp_path):
    release = ("release", "mail.edges", "made.graphml", "--epsilon", "20", *READ)
    status, _, err = command_line(*release)
    assert status == 0, err
    assert "Duplicate arcs are merged." in err
    made = gc.Release.load(tmp_path / "made.graphml")
    assert isinstance(made.graph, gc.DirectedGraph)
    assert "ordered pair is an arc" in str(made.guarantee)
    receipt = json.loads((tmp_path / "made.graphml.json").read_text())
    assert (receipt["directed"], receipt["bipartite"]) == (True, False)
    assert "arc" in receipt["guarantee"]["neighbours"]
    values = []
    for first, second, query in ((S, T, CUT), (T, S, gc.CutQuery(CUT.T, CUT.S))):
        status, out, _ = command_line(
            "answer", "made.graphml", "--from", first, "--to", second, "--json"
        )
        assert status == 0
        low, high = json.loads(out)["interval"]
        assert low <= query.value(mail) <= high  # at epsilon = 20 no bit is wrong but for 1e-6
        values.append(json.loads(out)["value"])
    assert values[0] != values[1]
    status, out, _ = command_line("answer", "made.graphml", "--from", S, "--json")
    assert json.loads(out)["value"] == pytest.approx(gc.CutQuery(CUT.S).value(mail), abs=1)
    status, out, _ = command_line(
        "evaluate", "release", "mail.edges", "made.graphml", *READ, "--json"
    )
    assert status == 0
    assert {"out of one vertex", "into one vertex"} <= {
        row["kind"] for row in json.loads(out)["rows"]
    }
    status, out, _ = command_line("evaluate", "graphs", "mail.edges", "made.graphml", *READ)
    assert status == 0
    status, out, _ = command_line("evaluate", "cut-norm", "mail.edges", *READ, "--json")
    assert json.loads(out)["lower"] == len(mail.rows)


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
def test_a_session_remembers_the_direction(command_line, mail):
    terms = ("--epsilon", "40", "--delta", "0.01", "--queries", "50", "--method", "gaussian")
    start = ("session", "start", "mail.edges", "--store", "mail.db", *READ, *terms)
    status, _, err = command_line(*start)
    assert status == 0, err
    found = []
    for first, second in ((S, T), (T, S)):
        status, out, err = command_line(
            "session", "ask", "mail.db", "--from", first, "--to", second, "--json"
        )
        assert status == 0, err
        low, high = json.loads(out)["interval"]
        query = gc.CutQuery(first.split(","), second.split(","))
        assert low <= query.value(mail) <= high
        found.append(json.loads(out)["value"])
    status, out, _ = command_line("session", "export", "mail.db")
    assert status == 0
    document = json.loads(out)
    assert (document["directed"], document["bipartite"], document["vertices"]) == (True, False, 15)
    assert [entry["value"] for entry in document["answers"]] == found
    assert [entry["S"] for entry in document["answers"]] == [S.split(","), T.split(",")]


@pytest.mark.usefixtures("mail")
@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
def test_an_iterative_release(command_line, tmp_path):
    learn = ("release-iteratively", "mail.edges", "made.csv", "--epsilon", "8", "--delta", "1e-6")
    status, _, err = command_line(*learn, *READ)
    assert status == 0, err
    made = gc.IterativeRelease.load(tmp_path / "made.csv")
    assert isinstance(made.graph, gc.DirectedGraph)
    assert "arc" in made.guarantee.neighbours
    status, out, _ = command_line("answer", "made.csv", "--from", S, "--to", T, "--json")
    assert json.loads(out)["value"] == pytest.approx(made.answer(CUT).value)


def test_a_plan(command_line):
    numbers = ("--edges", "1e4", "--queries", "100", "--epsilon", "1", "--delta", "1e-6", "--json")
    status, out, _ = command_line("plan", "--n", "1000", "--kind", "directed", *numbers)
    assert status == 0
    assert json.loads(out)["directed"] is True
    assert (
        json.loads(out)["rows"]
        == gc.plan(1000, directed=True, edges=1e4, queries=100, epsilon=1.0, delta=1e-6).to_dict()[
            "rows"
        ]
    )


def test_mistakes_are_one_line_in_the_words_of_the_command_line(command_line, mail, tmp_path):
    mail.write(tmp_path / "arcs.graphml")
    gc.Graph([0], [1], vertices=3).write(tmp_path / "edges.graphml")
    for arguments, words in (
        (("arcs.graphml",), "pass --kind directed"),
        (("edges.graphml", "--kind", "directed"), "leave out --kind directed"),
    ):
        status, out, err = command_line("release", *arguments[:1], "x.csv", "--epsilon", "1",
                                        *arguments[1:])  # fmt: skip
        assert (status, out) == (2, "")
        assert words in err
        assert err.count("\n") == 1
