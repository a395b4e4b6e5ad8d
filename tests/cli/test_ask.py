"""`graphcuts-dp plan --ask`: what it proposes works, keeps the error, and reads nothing private."""

import builtins
import io
import re
import shlex

import pytest

import graphcuts_dp as gc
from graphcuts_dp.cli import plan as asking
from graphcuts_dp.learn.sizes import usual_edges
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.release.graphs import graph_job
from graphcuts_dp.release.usefulness import made_up_graph, usefulness_of
from graphcuts_dp.schema.vertices import VertexSet
from graphcuts_dp.server import app

N = 40
EDGE = ("edge", "1")
USER = ("user", "2", "caller")
VERTEX = ("vertex", "3")


def lines(data="mail.edges", groups="", unit=EDGE, error="60", who="", n=N):
    """What somebody types: a line for each question; the number of vertices where it is asked."""
    asked = unit == USER if who == "analysts" else who in ("", "everybody") and not groups
    size = [str(n)] if asked else []
    return "\n".join([data, groups, *unit, error, who, *size])


@pytest.fixture(autouse=True)
def folder(tmp_path):
    edges = [(i, (i + step) % N) for i in range(N) for step in (1, 2, 3, 5, 7)]
    rows = "".join(f"{a},{b}\n" for a, b in edges)
    (tmp_path / "mail.edges").write_text(rows.replace(",", " "))
    (tmp_path / "calls.csv").write_text("caller,callee\n" + rows)
    (tmp_path / "staff.csv").write_text(
        "vertex,half\n" + "".join(f"{i},{2 * i // N}\n" for i in range(N))
    )
    return tmp_path


@pytest.fixture
def typed(monkeypatch):
    return lambda text: monkeypatch.setattr("sys.stdin", io.StringIO(text))


@pytest.fixture
def proposed(told, typed):
    def run(*given, **named):
        typed(lines(*given, **named))
        return told("plan", "--ask")

    return run


@pytest.mark.parametrize("groups", ["", "staff.csv"])
@pytest.mark.parametrize("who", ["everybody", "analysts", "team"])
@pytest.mark.parametrize("unit", [EDGE, ("edge", "3"), USER, VERTEX], ids=lambda it: it[:2])
def test_what_it_proposes_can_be_typed(groups, who, unit, proposed, call, typed, monkeypatch):
    """Along every path through the questions."""
    monkeypatch.setattr(app, "serve", lambda *_: None)
    error = "300" if groups and who == "everybody" else "900"  # a cell holds 190 edges
    data = "calls.csv" if unit == USER else "mail.edges"
    if (who, unit) in (("everybody", VERTEX), ("team", USER)):
        typed(lines(data, groups, unit, error, who))
        assert "choose analysts" in call("plan", "--ask")[2]
        return
    told = proposed(data, groups, unit, error, who)
    assert told["private_file_read"] is False
    first, *line = shlex.split(told["command"])
    assert first == "graphcuts-dp"
    status, out, err = call(*line)
    assert status == 0, err
    if who == "team":
        assert line[line.index("--budget") + 1] == f"{told['epsilon']:g}"
        return
    flat = " ".join(out.replace("= ", "").split())
    assert f"epsilon {told['epsilon']:g}" in flat
    assert re.search(rf"privacy unit:? {told['privacy_unit']}\b", flat)


def test_the_error_is_kept_and_not_by_much_more_epsilon_than_needed(proposed):
    told = proposed(groups="staff.csv", error="20")
    graph = gc.read_graph("mail.edges", vertices=N)
    groups = gc.Groups.read("staff.csv", graph)

    def radius(epsilon):
        flows = gc.release_flows(graph, groups, epsilon=epsilon, seed=1)
        value = flows.values()
        low, high = flows.intervals()
        inside = (low > 0) & (high < 200)  # not cut to what is possible
        assert inside.any()
        return max((high - value)[inside].max(), (value - low)[inside].max())

    assert radius(told["epsilon"]) <= 20
    assert radius(0.9 * told["epsilon"]) > 20
    three = proposed(groups="staff.csv", unit=("edge", "3"), error="20")
    assert three["epsilon"] == pytest.approx(3 * told["epsilon"], rel=0.1)
    told = proposed(who="analysts", error="500")
    plan = gc.plan(N, edges=200, queries=50, epsilon=told["epsilon"])
    laplace = next(row for row in plan.rows if row.method == "laplace")
    assert 0.85 * 500 < laplace.guaranteed <= 500
    told = proposed()

    def halves(epsilon):
        """As the dry run of a release forecasts, of a graph with as many edges as is usual."""
        made = made_up_graph(VertexSet(N), usual_edges(N), weighted=False, max_weight=None)
        release = graph_job(made, epsilon=epsilon, fitted=False).run(made, SeededEntropy(0))
        questions = usefulness_of(release, edges=usual_edges(N)).questions
        return next(each.error for each in questions if "halves" in each.what)

    assert 0.95 * 60 < halves(told["epsilon"]) <= 60


def test_it_says_what_the_guarantee_means_and_where_it_is_weak(done, typed):
    typed(lines(groups="staff.csv", error="2"))
    out, err = done("plan", "--ask")
    for words in ("Type:", "  graphcuts-dp flows mail.edges staff.csv", "Forecast:", "Strength:"):
        assert words in out
    assert ("That is weak" in out) == (float(out.split("--epsilon ")[1].split()[0]) >= 3)
    assert "Nothing of the private file was read" in err
    typed(lines(who="analysts", error="50"))
    assert "That is weak" in done("plan", "--ask")[0]


def test_the_private_file_is_looked_at_for_its_existence_only(call, folder, typed, monkeypatch):
    (folder / "mail.edges").write_bytes(b"\xff\x00")
    (folder / "mail.edges").chmod(0)
    opened = []
    plain = builtins.open
    monkeypatch.setattr(builtins, "open", lambda *a, **k: opened.append(a[0]) or plain(*a, **k))
    typed(lines())
    assert call("plan", "--ask")[0] == 0
    assert not [name for name in map(str, opened) if name.endswith("mail.edges")]


def test_questions_are_asked_where_somebody_sits(done, monkeypatch):
    asked = []

    def answered(question):
        asked.append(question)
        answers = {"1": "mail.edges", "2": "staff.csv", "3": "", "4": "30", "5": ""}
        return answers.get(question.strip()[0], "")

    monkeypatch.setattr(asking.sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(builtins, "input", answered)
    told, _ = done("plan", "--ask")
    assert [question[0] for question in asked] == ["1", "2", "3", " ", "4", "5"]
    assert "graphcuts-dp flows mail.edges staff.csv flows.csv" in told


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "'' does not exist; name a file"),
        (lines("none.edges"), "none.edges' does not exist"),
        (lines(groups="none.csv"), "none.csv' does not exist"),
        (lines(n=""), "say how many vertices"),
        (lines(n="1e3.5"), "is no number such as 0"),
        (lines(error="0"), "the error is a number"),
        (lines(error="nan"), "the error is a number"),
        (lines(error="much"), "is no number such as 20"),
        (lines(error="1e-9"), "cannot be had"),
        (lines(who="me"), "'me' is none of everybody"),
        (lines(unit=("people", "1")), "'people' is none of edge"),
        (lines(unit=("user", "2", "")), "needs the column that names the user"),
        (lines(unit=VERTEX), "cannot hide a vertex"),
        (lines(groups="staff.csv", unit=VERTEX), "choose analysts"),
        (lines(unit=("edge", "0")), "group-size must be a whole number"),
        (lines(unit=("edge", "1.5")), "1.5 is no whole number"),
    ],
)
def test_answers_that_do_not_fit_are_told_in_a_line(text, message, refused, typed):
    typed(text)
    assert message in refused("plan", "--ask")
