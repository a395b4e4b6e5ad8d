"""Sessions that learn from any linear queries, and plans for them, as a user meets them."""

import json

import numpy as np
import pytest

import graphcuts_dp as gc

TERMS = ("--epsilon", "45", "--delta", "0.01", "--queries", "50", "--method")
READ = ("--kind", "bipartite", "--weight-cap", "5")


@pytest.fixture
def ratings(tmp_path):
    """Stars of two kinds of users."""
    rng = np.random.default_rng(3)
    users, films = rng.integers(2, size=(2, 20))
    rows = [
        f"u{i},f{j},{rng.integers(4, 6) if users[i] == films[j] else 1}"
        for i in range(20)
        for j in range(20)
    ]
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(["source,target,weight", *rows, ""]))
    return path


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
def test_a_session_is_begun_asked_and_gone_on_with(call, ratings, tmp_path):
    store = tmp_path / "sensing.db"
    more = ("mirror-descent:norm=schatten", "--queries", "linear,most-spectral=8")
    status, out, err = call("session", "start", ratings, "--store", store, *TERMS, *more, *READ)
    assert status == 0, err
    assert "mirror-descent, norm schatten-" in out
    assert "nuclear norm" in call("session", "status", store, "--json")[1]
    graph = gc.BipartiteGraph.read(ratings, weight_cap=5.0)
    lines = [
        {"left": {"u1": 0.5, "u2": 1}, "right": {"f1": 1, "f2": 0.25}},
        {"entries": [["u1", "f1", -2.5], ["u3", "f2", 1]]},
        {"S": ["u1", "u2"], "T": ["f1"]},
    ]
    path = tmp_path / "queries.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    status, out, err = call("session", "run", store, path, "-o", tmp_path / "answers.jsonl")
    assert status == 0, err
    told = [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]
    truths = []
    for line in lines:
        found = 0.0
        for row, column, weight in zip(graph.rows, graph.columns, graph.weights, strict=True):
            user, film = graph.left.labels[row], graph.right.labels[column]
            if "left" in line:
                found += weight * line["left"].get(user, 0) * line["right"].get(film, 0)
            elif "entries" in line:
                found += weight * sum(c for u, f, c in line["entries"] if (u, f) == (user, film))
            else:
                found += weight * (user in line["S"] and film in line["T"])
        truths.append(found)
    for answer, truth in zip(told, truths, strict=True):
        low, high = answer["interval"]
        assert low <= truth <= high
    again = json.dumps(lines[1])
    status, out, _ = call("session", "ask", store, "--query", again, "--json")
    assert status == 0
    assert json.loads(out)["value"] == told[1]["value"]
    spread = json.dumps({"left": [1.0] * 20, "right": [1.0] * 20})
    status, _, err = call("session", "ask", store, "--query", spread)
    assert status == 2
    assert "largest singular value is 20 times its largest coefficient" in err


def test_what_is_worse_than_answering_0_is_warned_of(call, ratings, tmp_path):
    weak = ("--epsilon", "1", "--delta", "1e-6", "--queries", "50,linear,expected-edges=100")
    start = ("session", "start", ratings, "--store", tmp_path / "a.db", *weak, *READ)
    status, _, err = call(*start, "--method", "mirror-descent:norm=l2")
    assert status == 0
    assert "warning: worthless at this size" in err
    assert "to answer 0 is never farther off than 500" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("most-spectral=8", "most-spectral is for method 'mirror-descent' with linear=True"),
        ("linear,most-spectral=0", "most-spectral must be a number from 1 on"),
        ("linear,disjoint", "disjoint=True is for cuts"),
    ],
)
def test_options_that_do_not_fit_leave_no_store(call, ratings, tmp_path, options, message):
    store = tmp_path / "a.db"
    status, _, err = call(
        "session",
        "start",
        ratings,
        "--store",
        store,
        *TERMS,
        "mirror-descent",
        "--queries",
        options,
        *READ,
    )
    assert status == 2
    assert message in err
    assert not store.exists()


def test_a_plan_for_linear_queries(call):
    sizes = ("--n", "800,600", "--edges", "2e4", "--queries", "1e6")
    more = ("--queries", "linear,most-spectral=55", "--rank", "2")
    status, out, err = call("plan", *sizes, "--epsilon", "1", "--delta", "1e-6", *more, "--json")
    assert (status, err) == (0, "")
    told = json.loads(out)
    assert {row["method"] for row in told["rows"]} == {
        "gaussian",
        "laplace",
        "mirror-descent",
        "sensing",
        "answer 0",
    }
    assert told["rank"] == 2
    status, _, err = call("plan", *sizes, "--epsilon", "1", "--delta", "1e-6", "--rank", "2")
    assert status == 2
    assert "are for linear=True" in err
