"""`graphcuts-dp session`: what it prints, writes, refuses and returns."""

import json
import os
import re
import signal
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.cli import session as session_cli
from graphcuts_dp.session.session import open_session

NAMES = ["ann", "bob", "eve", "kim", "lee", *(f"p{i}" for i in range(25))]
TERMS = ("--epsilon", "40", "--delta", "0.001", "--queries", "500", "--method", "gaussian")


@pytest.fixture
def call(command_line):
    return partial(command_line, "session")


@pytest.fixture
def mail(tmp_path):
    """A private graph in a file."""
    rng = np.random.default_rng(5)
    path = tmp_path / "mail.edges"
    lines = [f"{a} {b}\n" for i, a in enumerate(NAMES) for b in NAMES[:i] if rng.random() < 0.3]
    path.write_text("".join(lines))
    return path


@pytest.fixture
def store(call, mail, tmp_path):
    """A store with a session."""
    path = tmp_path / "mail.db"
    status, _, err = call("start", mail, "--store", path, *TERMS)
    assert status == 0, err
    return path


def test_start_says_what_is_promised(call, mail, tmp_path):
    path = tmp_path / "mail.db"
    status, out, err = call("start", mail, "--store", path, *TERMS)
    assert status == 0
    assert "epsilon = 40, delta = 0.001" in out
    assert "error      up to 14.0 (95%, all queries at once)" in out
    assert "warning" not in err
    assert "note: The vertices are taken from the edges" in err
    assert "not private in its vertex set" in out
    status, out, _ = call("start", mail, "--store", path, *TERMS, "--name", "two", "--json")
    assert status == 0
    assert json.loads(out)["name"] == "two"
    assert oct(path.stat().st_mode)[-3:] == "600"


def test_a_worthless_session_is_warned_of_and_states_its_whole_error(call, mail, tmp_path):
    path = tmp_path / "mail.db"
    options = (
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "--queries",
        "10",
        "--method",
        "frieze-kannan:calibration=gru12",
    )
    start = ("start", mail, "--store", path, *options)
    status, out, err = call(*start)
    assert status == 0
    assert "warning: worthless at this size: answers are promised within" in err
    assert "method 'gaussian' promises" in err
    stated = float(re.search(r"up to ([0-9,.]+) ", out).group(1).replace(",", ""))
    assert stated > 10**5
    status, out, err = call("ask", path, "--from", "ann", "--to", "bob")
    assert (status, err) == (0, "")
    assert " in [0.0, 1.0] (95%" in out
    assert json.loads(call(*start, "--name", "two", "--json")[1])["error_bound"] > 10**5


def test_ask_in_all_its_forms(call, store, tmp_path):
    status, first, _ = call("ask", store, "--from", "ann, bob", "--to", "kim")
    assert status == 0
    assert "499 left" in first
    assert call("ask", store, "--from", "bob,ann", "--to", "kim")[1] == first
    team = tmp_path / "team.txt"
    team.write_text("bob\nann\n")
    assert call("ask", store, "--from", f"@{team}", "--to", "kim")[1] == first
    status, out, _ = call("ask", store, "--from", "ann", "--complement", "--json")
    found = json.loads(out)
    assert found["queries_left"] == 498
    assert found["interval"][0] <= found["value"] <= found["interval"][1]
    status, out, _ = call("ask", store, "--from", "ann", "--json")
    assert json.loads(out) == found


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--from", "nobody"), "unknown vertex"),
        (("--from", "ann,,bob"), "empty label"),
        (("--from", "ann", "--to", "bob", "--complement"), "not both"),
        (("--from", "ann", "--name", "other"), "no session 'other'"),
        (("--from", "ann", "--graph", "missing.edges"), "missing.edges"),
        (("--from", "@missing.txt"), "missing.txt"),
    ],
)
def test_bad_requests_are_one_line_and_spend_nothing(call, store, arguments, words):
    status, out, err = call("ask", store, *arguments)
    assert (status, out) == (2, "")
    assert words in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert "499 left" in call("ask", store, "--from", "ann")[1]


def test_a_moved_graph_is_named_again_and_a_changed_one_is_refused(call, store, mail):
    moved = mail.with_name("moved.edges")
    mail.rename(moved)
    status, _, err = call("ask", store, "--from", "ann")
    assert status == 2
    assert "--graph" in err
    assert call("ask", store, "--from", "ann", "--graph", moved)[0] == 0
    text = moved.read_text()
    lines = text.splitlines(keepends=True)
    moved.write_text("".join(lines[:-1]))
    status, _, err = call("ask", store, "--from", "ann", "--graph", moved)
    assert status == 2
    assert "other private data" in err or "these data, but read" in err
    assert not set(err.split()) & {lines[-1].split()[0]}


def test_reading_options_are_remembered(call, tmp_path):
    source, labels, path = (tmp_path / name for name in ("m.edges", "v.txt", "m.db"))
    source.write_text("1 2 0.5\n2 3 1.5\n")
    labels.write_text("0\n1\n2\n3\n")
    options = (
        "--vertices",
        labels,
        "--columns",
        "weight=3",
        "--weight-cap",
        "2",
        "--columns",
        "one-based",
    )
    assert call("start", source, "--store", path, *TERMS, *options)[0] == 0
    status, _, err = call("ask", path, "--from", "3")
    assert status == 0, err


def test_run_answers_a_file_and_again_for_free(call, store, tmp_path):
    queries, answers = tmp_path / "q.jsonl", tmp_path / "a.jsonl"
    lines = [{"S": ["ann", "bob"]}, {"S": ["ann"], "T": ["kim"]}, {"T": ["ann"], "S": ["kim"]}]
    queries.write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    status, out, err = call("run", store, queries, "-o", answers)
    assert (status, out) == (0, "")
    assert "3 answers" in err
    found = [json.loads(line) for line in answers.read_text().splitlines()]
    assert [{key: row[key] for key in ("S", "T") if key in row} for row in found] == lines
    assert found[1]["value"] == found[2]["value"]
    status, _, err = call("run", store, queries, "-o", answers)
    assert status == 2
    assert "exists" in err
    status, out, _ = call("run", store, queries)
    assert [json.loads(line) for line in out.splitlines()] == found
    assert "497 left" in call("ask", store, "--from", "p3")[1]


@pytest.mark.parametrize(
    "line", ["nonsense", "[]", '{"T": ["ann"]}', '{"S": "ann"}', '{"S": ["ann"], "U": []}', "3"]
)
def test_a_bad_line_is_told_before_anything_is_asked(call, store, tmp_path, line):
    queries = tmp_path / "q.jsonl"
    queries.write_text('{"S": ["ann"]}\n' + line + "\n")
    status, out, err = call("run", store, queries)
    assert (status, out) == (2, "")
    assert "line 2 of the queries" in err
    assert "499 left" in call("ask", store, "--from", "p3")[1]


def test_more_queries_than_are_left_are_refused_at_once(call, mail, tmp_path):
    path, queries = tmp_path / "few.db", tmp_path / "q.jsonl"
    call("start", mail, "--store", path, *TERMS[:4], "--queries", "2", "--method", "laplace")
    queries.write_text("".join(json.dumps({"S": [name]}) + "\n" for name in NAMES[:3]))
    status, _, err = call("run", path, queries)
    assert status == 2
    assert "3 new queries, but the session has 2 left; nothing was asked" in err
    assert call("ask", path, "--from", "ann")[0] == 0
    assert call("ask", path, "--from", "bob")[0] == 0
    status, _, err = call("ask", path, "--from", "eve")
    assert status == 2
    assert "run out" in err
    assert call("ask", path, "--from", "bob")[0] == 0


def test_status_list_and_export_need_no_graph(call, store, mail, tmp_path):
    call("ask", store, "--from", "ann", "--to", "bob")
    mail.unlink()
    status, out, _ = call("status", store)
    assert status == 0
    assert "queries left  499" in out
    assert "no cap" in out
    found = json.loads(call("status", store, "--json")[1])
    assert found["sessions"][0]["remaining"]["queries"] == 499
    assert found["epsilon"] == 40.0
    assert found["sessions"][0]["answers"] == 1
    target = tmp_path / "t.json"
    assert call("export", store, "-o", target)[0] == 0
    document = json.loads(target.read_text())
    assert document["answers"][0]["S"] == ["ann"]
    assert json.loads(call("export", store, "--name", "default")[1]) == document
    for command in ("status", "export"):
        status, _, err = call(command, store, "--name", "other")
        assert status == 2
        assert "there is: default" in err
    for secret in ("salt", "nonce", "secret"):
        assert secret not in target.read_text()


def test_a_damaged_store_is_refused(call, store):
    store.write_bytes(store.read_bytes()[:5000])
    for command in (("status",), ("export",), ("ask", "--from", "ann")):
        status, _, err = call(command[0], store, *command[1:])
        assert status == 2
        assert "damaged" in err
        assert err.count("\n") == 1


def test_a_budget_is_kept(call, mail, tmp_path):
    path = tmp_path / "b.db"
    pure = ("--queries", "5", "--method", "laplace", "--store", path)
    first = ("--epsilon", "0.5", "--budget", "0.8")
    assert call("start", mail, *pure, *first)[0] == 0
    status, _, err = call("start", mail, *pure, "--epsilon", "0.5", "--name", "two")
    assert status == 2
    assert "nothing was spent" in err
    assert "epsilon = 0.8" in call("status", path)[1]


def typed(monkeypatch, *lines):
    feed = iter(lines)

    def read(_prompt=""):
        try:
            line = next(feed)
        except StopIteration:
            raise EOFError from None
        if isinstance(line, BaseException):
            raise line
        return line

    monkeypatch.setattr("builtins.input", read)


def test_repl(call, store, monkeypatch, tmp_path):
    figure = tmp_path / "answers.png"
    typed(
        monkeypatch,
        "ann, bob | kim",
        "bob,ann|kim",
        "",
        ":cost ann, bob | kim",
        ":cost p1",
        KeyboardInterrupt(),
        "nobody",
        "ann | bob | eve",
        ":nonsense",
        ":plot",
        ":history",
        f":plot {figure}",
        ":status",
        ":help",
        ":quit",
        "never read",
    )
    status, out, err = call("repl", store)
    assert status == 0
    lines = out.splitlines()
    assert lines[0] == lines[1]
    assert "499 left" in lines[0]
    assert "free: on the record, or without pairs" in out
    assert "one new query" in out
    assert "1  kim | ann, bob " in out  # the smaller set first
    assert ":plot FILE.png" in out
    assert "queries left  499" in out
    assert [line.split(":")[0] for line in err.splitlines()] == ["error"] * 4
    assert figure.read_bytes()[:4] == b"\x89PNG"


def test_completion(store, mail):
    graph = gc.read_graph(mail)
    with open_session(graph, store=store) as session:
        prompt = session_cli.Prompt(session, unguaranteed=False)
        assert prompt.completions("k", "ann, ") == ["kim"]
        assert prompt.completions("l", "ann |") == ["lee"]
        assert prompt.completions(":st", "") == [":status"]
        assert prompt.completions("x", "") == []


@pytest.mark.parametrize("command", ["start", "ask", "repl", "run", "status", "export"])
def test_help_has_an_example(call, command):
    status, out, _ = call(command, "--help")
    assert status == 0
    assert "Example: graphcuts-dp session" in out


def test_run_can_be_interrupted_and_goes_on(call, store, tmp_path, monkeypatch):
    queries, answers = tmp_path / "q.jsonl", tmp_path / "a.jsonl"
    rng = np.random.default_rng(1)
    rows = [{"S": [name for name in NAMES if rng.random() < 0.5]} for _ in range(200)]
    queries.write_text("".join(json.dumps(row) + "\n" for row in rows))
    before = signal.getsignal(signal.SIGINT)

    @contextmanager
    def impatient(_title):
        yield lambda _done, _message: os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr(session_cli, "progress_bar", impatient)
        status, out, err = call("run", store, queries, "-o", answers)
    assert (status, out) == (130, "")
    assert "answers so far are on the record" in err
    assert not answers.exists()
    assert signal.getsignal(signal.SIGINT) is before
    found = json.loads(call("status", store, "--json")[1])["sessions"][0]
    assert 0 < found["answers"] < 200
    assert found["interruptions"] == 0
    status, _, err = call("run", store, queries, "-o", answers)
    assert status == 0
    assert f"200 answers in {answers}, {found['answers']} of them free" in err
    assert len(answers.read_text().splitlines()) == 200


def test_a_session_starts_from_groups_of_a_file(call, mail, tmp_path):
    table = tmp_path / "staff.csv"
    rows = [f"{name},{'short' if len(name) == 2 else 'long'}\n" for name in NAMES]
    table.write_text("name,unit\n" + "".join(rows))
    store = tmp_path / "mail.db"
    terms = (*TERMS[:-1], "frieze-kannan:start=groups")
    status, _, err = call("start", mail, "--store", store, *terms, "--json")
    assert status == 2
    assert "start=groups needs --groups FILE" in err
    status, _, err = call("start", mail, "--store", store, *TERMS, "--groups", table)
    assert status == 2
    assert "give it to session ask" in err
    assert not store.exists()
    status, out, err = call("start", mail, "--store", store, *terms, "--groups", table, "--json")
    assert status == 0, err
    assert json.loads(out)["parameters"]["start"] == "groups"
    status, out, err = call("ask", store, "--from", "@@short", "--groups", table)
    assert status == 0, err
    assert "all queries at once" in out
    status, out, _ = call(
        "start", mail, "--store", store, *terms, "--groups", table, "--name", "again"
    )
    assert status == 0
    assert "start      a weight for each two public groups" in out
    status, _, err = call(
        "start", mail, "--store", store, *terms[:-1], "frieze-kannan:start=blocks", "--name", "b"
    )
    assert status == 2
    assert "unknown start='blocks'" in err
