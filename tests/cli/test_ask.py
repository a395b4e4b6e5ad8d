"""`graphcuts-dp plan --ask`: what it proposes works, keeps the error, and reads nothing private."""

import builtins
import shlex

import pytest

import graphcuts_dp as gc
from graphcuts_dp.cli import plan as asking
from graphcuts_dp.estimate.noisy_matrix import noise_distribution
from graphcuts_dp.server import app

N = 40
OWNER = ("--data", "calls.csv", "--columns", "owner=caller", "--protect", "owner:at-most=2")
VERTEX = ("--protect", "vertex:degree-bound=3")
WHOLE = ("--data", "mail.edges", "--target-error", "60", "--n", str(N))


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
def proposed(told):
    return lambda *words: told("plan", "--ask", *words)


@pytest.mark.parametrize("groups", [(), ("--groups", "staff.csv")])
@pytest.mark.parametrize("who", ["everybody", "analysts", "team"])
@pytest.mark.parametrize(
    "whom", [(), ("--protect", "edges:at-most=3"), OWNER, VERTEX], ids=lambda it: it[-2:]
)
def test_what_it_proposes_can_be_typed(groups, who, whom, proposed, call, monkeypatch):
    """Along every path through the questions."""
    monkeypatch.setattr(app, "serve", lambda *_: None)
    error = "300" if groups and who == "everybody" else "900"  # a cell holds 190 edges
    asked = (*WHOLE, "--target-error", error, "--who", who, *groups, *whom)
    if (who, whom) in (("everybody", VERTEX), ("team", OWNER)):
        assert "choose --who analysts" in call("plan", "--ask", *asked)[2]
        return
    told = proposed(*asked)
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
    assert f"protects {told['protects']}" in flat


def test_the_error_is_kept_and_not_by_much_more_epsilon_than_needed(proposed):
    told = proposed(*WHOLE, "--groups", "staff.csv", "--target-error", "20")
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
    three = proposed(
        *WHOLE, "--groups", "staff.csv", "--target-error", "20", "--protect", "edges:at-most=3"
    )
    assert three["epsilon"] == pytest.approx(3 * told["epsilon"], rel=0.1)
    told = proposed(*WHOLE, "--who", "analysts", "--target-error", "500")
    plan = gc.plan(N, edges=200, queries=50, epsilon=told["epsilon"])
    laplace = next(row for row in plan.rows if row.method == "laplace")
    assert 0.85 * 500 < laplace.guaranteed <= 500
    told = proposed(*WHOLE, "--target-error", "60")
    noise = noise_distribution("binary", epsilon=told["epsilon"], weight_cap=1.0)
    assert 0.85 * 60 < 1.96 * noise.standard_deviation * N / 2 <= 60


def test_it_says_what_the_promise_means_and_where_it_is_weak(done):
    out, err = done("plan", "--ask", *WHOLE, "--groups", "staff.csv", "--target-error", "2")
    for words in ("Type:", "  graphcuts-dp flows mail.edges staff.csv", "Forecast:", "Strength:"):
        assert words in out
    assert ("That is weak" in out) == (float(out.split("--epsilon ")[1].split()[0]) >= 3)
    assert "Nothing of the private file was read" in err
    weak = ("plan", "--ask", *WHOLE, "--who", "analysts", "--target-error", "50")
    assert "That is weak" in done(*weak)[0]


def test_columns_that_are_given_twice_are_taken_together(proposed):
    words = ("--data", "calls.csv", "--columns", "source=1", "--columns", "owner=caller")
    told = proposed(*WHOLE, *words, *OWNER[4:], "--groups", "staff.csv")
    assert "--columns source=1,owner=caller" in told["command"]


def test_the_private_file_is_looked_at_for_its_existence_only(call, folder, monkeypatch):
    (folder / "mail.edges").write_bytes(b"\xff\x00")
    (folder / "mail.edges").chmod(0)
    opened = []
    plain = builtins.open
    monkeypatch.setattr(builtins, "open", lambda *a, **k: opened.append(a[0]) or plain(*a, **k))
    assert call("plan", "--ask", *WHOLE)[0] == 0
    assert not [name for name in map(str, opened) if name.endswith("mail.edges")]


def test_questions_are_asked_where_somebody_sits(done, monkeypatch):
    asked = []

    def typed(question):
        asked.append(question)
        answers = {"1": "mail.edges", "2": "staff.csv", "3": "", "4": "30", "5": ""}
        return answers.get(question.strip()[0], "")

    monkeypatch.setattr(asking.sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(builtins, "input", typed)
    told, _ = done("plan", "--ask")
    assert [question[0] for question in asked] == ["1", "2", "3", " ", "4", "5"]
    assert "graphcuts-dp flows mail.edges staff.csv flows.csv" in told


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "--data FILE"),
        (("--data", "none.edges"), "none.edges does not exist"),
        (("--data", "mail.edges", "--groups", "none.csv"), "none.csv does not exist"),
        (("--data", "mail.edges"), "give --n"),
        ((*WHOLE, "--target-error", "0"), "--target-error is a number"),
        ((*WHOLE, "--target-error", "nan"), "--target-error must be a number"),
        ((*WHOLE, "--target-error", "1e-9"), "cannot be had"),
        ((*WHOLE, "--who", "me"), "unknown --who"),
        ((*WHOLE, "--protect", "people"), "unknown --protect people"),
        ((*WHOLE, "--protect", "owner"), "needs at-most"),
        ((*WHOLE, "--protect", "owner:at-most=2"), "needs --columns owner=COLUMN"),
        ((*WHOLE, "--protect", "vertex:9"), "cannot hide a vertex"),
        ((*WHOLE, "--protect", "vertex:9", "--groups", "staff.csv"), "choose --who analysts"),
        ((*WHOLE, "--protect", "edges:at-most=0"), "at-most must be a whole number"),
    ],
)
def test_answers_that_do_not_fit_are_told_in_a_line(words, message, refused):
    assert message in refused("plan", "--ask", *words)
