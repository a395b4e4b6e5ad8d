"""`graphcuts-dp session`, and one store for all that is spent on a graph."""

import json
import os
import re
import shutil
import signal
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import graphcuts_dp as gc
from graphcuts_dp import open_session
from graphcuts_dp.cli import session as session_cli
from graphcuts_dp.cli.session_prompt import Prompt
from graphcuts_dp.confidence import DEFAULT_PERCENT
from graphcuts_dp.ledger.charges import begin_charge
from graphcuts_dp.ledger.opening import Subject
from graphcuts_dp.plugins import Cost

NAMES = ["ann", "bob", "eve", "kim", "lee", *(f"p{i}" for i in range(15))]
TERMS = ("--epsilon", "40", "--delta", "0.001", "--queries", "500", "--method", "gaussian")
LAPLACE = ("--epsilon", "1", "--queries", "3", "--method", "laplace")
KEEP = ("--store", "mail.db")
START = ("session", "start", "mail.edges", *KEEP)
ASK = ("session", "ask", "mail.db")
TABLE = ("--groups", "staff.csv", "--groups-columns", "levels=unit")


@pytest.fixture(autouse=True)
def mail(tmp_path):
    """A private graph, and a public table of its vertices."""
    rng = np.random.default_rng(5)
    lines = [f"{a} {b}\n" for i, a in enumerate(NAMES) for b in NAMES[:i] if rng.random() < 0.3]
    (tmp_path / "mail.edges").write_text("".join(lines))
    rows = [f"{name},{'short' if len(name) == 2 else 'long'}\n" for name in NAMES]
    (tmp_path / "staff.csv").write_text("name,unit\n" + "".join(rows))
    return tmp_path / "mail.edges"


@pytest.fixture
def store(done, mail):
    """A store with a session."""
    done(*START, *TERMS)
    return mail.with_name("mail.db")


def test_start_says_what_is_guaranteed(done, told, mail):
    out, err = done(*START, *TERMS)
    assert "epsilon = 40, delta = 0.001" in out
    assert "error      up to " in out
    assert "warning" not in err
    assert "note: The vertices are taken from the edges" in err
    assert told(*START, *TERMS, "--name", "two")["name"] == "two"
    assert oct(mail.with_name("mail.db").stat().st_mode)[-3:] == "600"


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
def test_a_worthless_session_is_warned_of_and_states_its_whole_error(done, told):
    terms = ("--epsilon", "1", "--delta", "1e-6", "--queries", "10", "--method")
    start = (*START, *terms, "frieze-kannan:calibration=gru12")
    out, err = done(*start)
    assert "warning: worthless at this size: answers are guaranteed within" in err
    assert float(re.search(r"up to ([0-9,.]+) ", out).group(1).replace(",", "")) > 10**5
    out, err = done(*ASK, "--from", "ann", "--to", "bob")
    assert f" in [0.0, 1.0] ({DEFAULT_PERCENT}" in out
    assert told(*start, "--name", "two")["error_bound"] > 10**5
    # which norm guarantees least depends on the noisy total weight; that one was chosen is told
    out, _ = done(*START, *terms, "mirror-descent", "--name", "c")
    assert re.search(r"method +mirror-descent, norm (l2|lp|2,p|entropy|schatten)", out)


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
@pytest.mark.parametrize("named", [True, False])
def test_a_table_that_would_be_far_more_exact_is_named_before_anything_is_spent(done, mail, named):
    terms = ("--epsilon", "1", "--queries", "50", "--method", "laplace", "--vertices", "names.txt")
    mail.with_name("names.txt").write_text("\n".join(NAMES))
    start = (*START, *terms, *(TABLE if named else ()))
    begins = "for sums between the groups, a table" if named else "if your questions are sums"
    _, said_before = done(*start, "--dry-run")
    assert f"note: {begins}" in said_before
    assert not mail.with_name("mail.db").exists()
    out, said = done(*start)
    assert f"{'warning' if named else 'note'}: {begins}" in said
    in_session = float(re.search(r"up to ([0-9,.]+) ", out).group(1))
    of_table, again = map(float, re.findall(r"(?:most|about|up to) ([0-9.]+),", said)[:2])
    assert again == in_session
    assert of_table < in_session / 4
    assert ("half of these sums can be no more than" in said) == named
    job = gc.release.flows_job(
        gc.read_graph("mail.edges", vertices=NAMES),
        gc.Groups(gc.VertexSet(NAMES), {"unit": [min(len(name), 3) for name in NAMES]}),
        epsilon=1.0,
    )
    assert of_table >= job.errors()[0][1]  # that of one sum alone


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
def test_a_session_of_few_answers_is_as_exact_as_a_table(done):
    assert "a table of them" not in done(*START, *LAPLACE, *TABLE)[1]


def test_ask_in_all_its_forms(done, told, store):
    first, _ = done(*ASK, "--from", "ann, bob", "--to", "kim")
    assert "499 left" in first
    store.with_name("team.txt").write_text("bob\nann\n")
    for S in ("bob,ann", "@team.txt"):
        again = done(*ASK, "--from", S, "--to", "kim")[0]
        assert again == f"{first.rstrip()}  (free: it was answered before, or has no pairs)\n"
    found = told(*ASK, "--from", "ann")
    assert found["queries_left"] == 498
    assert found["interval"][0] <= found["value"] <= found["interval"][1]
    assert told(*ASK, "--from", "ann") == found
    assert told(*ASK, "--query", '{"S": ["ann"]}')["value"] == found["value"]
    names = ",".join(name for name in NAMES if len(name) == 2)
    group = told(*ASK, *TABLE, "--from", "@@short")
    assert told(*ASK, "--from", names)["value"] == group["value"]


@pytest.mark.thorough(cases=6)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*ASK,), "give either sets"),
        ((*ASK, "--from", "ann", "--name", "other"), "no session 'other'"),
        ((*ASK, *TABLE, "--from", "@@Sale"), "unknown group '@@Sale'; there are @@long, @@short"),
        ((*ASK, *TABLE, "--from", "@@Shrot"), "unknown group '@@Shrot'; did you mean @@short?"),
        (
            (*ASK, *TABLE, "--from", "ann, short"),
            "unknown vertex 'short'; a group is typed @@short",
        ),
        ((*ASK, "--from", "@@short"), "give --groups FILE"),
        ((*ASK, *TABLE[2:], "--from", "ann"), "need --groups FILE"),
        ((*ASK, *TABLE, "--from", "@short"), "type @@short for the group"),
        ((*ASK, *TABLE, "--right-groups", "staff.csv", "--from", "ann"), "for --kind bipartite"),
        (("session", "status", "mail.db", "--name", "other"), "there is: default"),
        (("session", "status", "mail.db", "--expect-head", "5"), "a head is what"),
        (("session", "status", "none.db"), "none.db"),
        ((*START, *TERMS[:-1], "frieze-kannan:start=groups", "--name", "b"), "needs --groups FILE"),
    ],
)
@pytest.mark.usefixtures("store")
def test_bad_requests_are_one_line_and_spend_nothing(refused, words, message):
    assert message in refused(*words)


@pytest.mark.usefixtures("store")
def test_a_moved_graph_is_named_again_and_a_changed_one_is_refused(done, refused, mail):
    moved = mail.with_name("moved.edges")
    mail.rename(moved)
    assert "--graph" in refused(*ASK, "--from", "ann")
    done(*ASK, "--from", "ann", "--graph", moved)
    *lines, last = moved.read_text().splitlines(keepends=True)
    moved.write_text("".join(lines))
    err = refused(*ASK, "--from", "ann", "--graph", moved)
    assert "other private data" in err or "these data, but read" in err
    assert not set(err.split()) & {last.split()[0]}


def test_reading_options_and_directions_are_remembered(
    done, told, mail, tmp_path_factory, monkeypatch
):
    mail.with_name("m.csv").write_bytes("Wer|Wen|Wie oft\nZoë|b|200\nb|c|9\n".encode("cp1252"))
    options = ("--columns", "source=Wer,target=2,weight=3,delimiter=|", "--max-weight-change", "1")
    start = ("session", "start", "m.csv", *KEEP, *TERMS, "--columns", "encoding=cp1252", *options)
    assert "'Wer', column 2; as its weight: column 3." in done(*start, "--kind", "directed")[1]
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    store = mail.with_name("mail.db")
    for S, T, truth in (("Zoë", "b,c", 200), ("b,c", "Zoë", 0)):
        low, high = told("session", "ask", store, "--from", S, "--to", T)["interval"]
        assert low <= truth <= high
    document = json.loads(done("session", "export", store)[0])
    assert document["directed"]
    assert [entry["S"] for entry in document["answers"]] == [["Zoë"], ["b", "c"]]


def test_run_answers_a_file_and_again_for_free(done, refused, store):
    lines = [{"S": ["ann", "bob"]}, {"S": ["ann"], "T": ["kim"]}, {"T": ["ann"], "S": ["kim"]}]
    queries = store.with_name("q.jsonl")
    queries.write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    run = ("session", "run", "mail.db", "q.jsonl")
    out, err = done(*run, "-o", "a.jsonl")
    assert (out, "3 answers" in err) == ("", True)
    found = [json.loads(line) for line in store.with_name("a.jsonl").read_text().splitlines()]
    assert [{key: row[key] for key in ("S", "T") if key in row} for row in found] == lines
    assert found[1]["value"] == found[2]["value"]
    assert [json.loads(line) for line in done(*run)[0].splitlines()] == found
    queries.write_text('{"S": "@short"}\n')
    assert "--groups FILE" in refused(*run)
    assert "exists" in refused(*run, *TABLE, "-o", "a.jsonl")  # before anything is asked
    done(*run, *TABLE)
    for line in ("nonsense", '{"T": ["ann"]}', '{"S": ["ann"], "U": []}', "3"):
        queries.write_text('{"S": ["p1"]}\n' + line + "\n")
        assert "line 2 of the queries" in refused(*run)
    assert "496 left" in done(*ASK, "--from", "p3")[0]


def test_more_queries_than_are_left_are_refused_at_once(done, refused, mail):
    done(*START, *LAPLACE)
    lines = "".join(json.dumps({"S": [name]}) + "\n" for name in NAMES[:4])
    mail.with_name("q.jsonl").write_text(lines)
    run = ("session", "run", "mail.db", "q.jsonl")
    assert "4 new queries, but the session has 3 left; nothing was asked" in refused(*run)
    for name in NAMES[:3]:
        done(*ASK, "--from", name)
    assert "run out" in refused(*ASK, "--from", "kim")
    done(*ASK, "--from", "ann")


def test_status_and_export_need_no_graph(done, told, store, mail):
    done(*ASK, "--from", "ann", "--to", "bob")
    mail.unlink()
    out, _ = done("session", "status", "mail.db")
    for words in ("queries left  499", "no limit", "head"):
        assert words in out
    found = told("session", "status", "mail.db")
    assert found["sessions"][0]["remaining"]["queries"] == 499
    assert (found["epsilon"], found["sessions"][0]["answers"]) == (40.0, 1)
    done("session", "export", "mail.db", "-o", "t.json")
    text = store.with_name("t.json").read_text()
    assert json.loads(text)["answers"][0]["S"] == ["ann"]
    assert done("session", "export", "mail.db", "--name", "default")[0] == text
    assert not any(secret in text for secret in ("salt", "nonce", "secret"))


def spend_on(*periods, privacy_unit):
    """Charge a use of rows that stay elsewhere to a store."""
    schema = {"kind": "rows", "vertices": [9], "directed": False, "weighted": False}
    cost = Cost.of_pure(Fraction(1))
    words = {"epsilon": 1.0, "neighbours": "a row", "privacy_unit": privacy_unit}
    begin_charge(
        "trips.db",
        Subject.named(schema, "trips"),
        kind="flows",
        parameters={},
        cost=cost,
        guarantee=gc.PrivacyGuarantee(**words),
        periods=periods or None,
    )


@pytest.mark.parametrize("whole", [False, True])
def test_status_shows_what_was_spent_on_each_period(done, told, whole):
    for periods in (("2026-01", "2026-02"), ("2026-02",), *([()] if whole else [])):
        spend_on(*periods, privacy_unit="1 user in one month")
    out, _ = done("session", "status", "trips.db")
    found = told("session", "status", "trips.db")
    spent = {"2026-01": 1.0 + whole, "2026-02": 2.0 + whole}
    for period, epsilon in spent.items():
        assert re.search(rf"{period} +{epsilon:g} +0 *\n", out)
        assert found["periods"][period] == {"epsilon": epsilon, "delta": 0.0}
    assert "flows of 2 periods" in out
    assert "flows of 2026-02" in out
    assert re.search(rf"the most on one period +epsilon = {2 + whole}\n", out)
    assert bool(re.search(r"all periods together +epsilon = 3\n", out)) == (not whole)
    assert found["all_periods"] == (None if whole else {"epsilon": 3.0, "delta": 0.0})
    assert found["epsilon"] == 2.0 + whole


def test_status_joins_periods_that_follow_each_other_at_one_price(done):
    years = [f"{year}-{month:02}" for year in (2026, 2027) for month in range(1, 13)]
    spend_on(*years[:18], privacy_unit="1 user in one month")
    spend_on(*years[2:4], years[5], years[20], privacy_unit="1 user in one month")
    out, _ = done("session", "status", "trips.db")
    rows = re.findall(r"(?m)^ +(\d{4}-\S+) +(\d) +0 *$", out)
    assert rows == [
        ("2026-01..2026-02", "1"),
        ("2026-03..2026-04", "2"),
        ("2026-05", "1"),
        ("2026-06", "2"),
        ("2026-07..2027-06", "1"),
        ("2027-09", "1"),  # not with the months before: nothing was spent between them
    ]


def test_status_joins_no_periods_that_have_names(done):
    spend_on("spring", "autumn", privacy_unit="1 row")
    out, _ = done("session", "status", "trips.db")
    for name in ("autumn", "spring"):
        assert re.search(rf"(?m)^ +{name} +1 +0", out)


def test_status_names_no_period_where_all_count(done, told):
    spend_on("2026-01", privacy_unit="1 user")
    out, _ = done("session", "status", "trips.db")
    assert "all uses together  epsilon = 1" in out
    assert "flows of 2026-01" in out
    assert "Spent by period" not in out
    assert told("session", "status", "trips.db")["periods"] == {}


def typed(monkeypatch, *lines):
    feed = iter(lines)

    def read(_prompt=""):
        line = next(feed, EOFError())
        if isinstance(line, BaseException):
            raise line
        return line

    monkeypatch.setattr("builtins.input", read)


def test_repl(done, store, monkeypatch):
    good = ("ann, bob | kim", "bob,ann|kim", "", ":cost ann, bob | kim", ":cost p1")
    bad = (KeyboardInterrupt(), "nobody", "ann | bob | eve", ":nonsense", ":plot")
    last = (":history", ":plot a.png", ":status", ":help", '{"S": ["p2"]}', ":quit", "never read")
    typed(monkeypatch, *good, *bad, *last)
    out, err = done("session", "repl", "mail.db")
    lines = out.splitlines()
    assert lines[0] == lines[1]
    for words in (
        "499 left",
        "free: on the record, or without pairs",
        "one new query",
        "1  kim | ann, bob ",  # the smaller set first
        ":plot FILE.png",
        "queries left  499",
        "498 left",
    ):
        assert words in out
    assert [line.split(":")[0] for line in err.splitlines()] == ["error"] * 4
    assert store.with_name("a.png").read_bytes()[:4] == b"\x89PNG"


def test_completion(store, mail):
    with open_session(gc.read_graph(mail), store=store) as session:
        prompt = Prompt(session, unguaranteed=False)
        assert prompt.completions("k", "ann, ") == ["kim"]
        assert prompt.completions("l", "ann |") == ["lee"]
        assert prompt.completions(":st", "") == [":status"]
        assert prompt.completions("x", "") == []


def test_run_can_be_interrupted_and_goes_on(call, done, told, store, monkeypatch):
    rng = np.random.default_rng(1)
    rows = [{"S": [name for name in NAMES if rng.random() < 0.5]} for _ in range(200)]
    store.with_name("q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = ("session", "run", "mail.db", "q.jsonl", "-o", "a.jsonl")
    before = signal.getsignal(signal.SIGINT)

    @contextmanager
    def impatient(_title):
        yield lambda _done, _message: os.kill(os.getpid(), signal.SIGINT)

    with monkeypatch.context() as patched:
        patched.setattr(session_cli, "progress_bar", impatient)
        status, out, err = call(*run)
    assert (status, out) == (130, "")
    assert "answers so far are on the record" in err
    assert not store.with_name("a.jsonl").exists()
    assert signal.getsignal(signal.SIGINT) is before
    (found,) = told("session", "status", "mail.db")["sessions"]
    assert 0 < found["answers"] < 200
    assert found["interruptions"] == 0
    assert f"200 answers in a.jsonl, {found['answers']} of them free" in done(*run)[1]


@pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning")
def test_a_session_starts_from_groups_of_a_file(done, told):
    terms = (*START, *TERMS[:-1], "frieze-kannan:start=groups", "--groups", "staff.csv")
    assert told(*terms)["parameters"]["start"] == "groups"
    assert "all queries at once" in done(*ASK, "--from", "@@short", "--groups", "staff.csv")[0]
    assert "a weight for each two public groups" in done(*terms, "--name", "again")[0]


def release(*more, epsilon="0.5"):
    line = ("release", "mail.edges", "a.csv", "--epsilon", epsilon, "--fit", "none")
    return (*line, "--allow-useless", "--force", *more)


def test_one_budget_for_all_that_is_spent_on_a_graph(done, told, refused):
    done(*START, *LAPLACE, "--budget", "2")
    assert "does not allow another use of epsilon = 5" in refused(*release(*KEEP, epsilon="5"))
    done(*release(*KEEP))
    learn = ("release-iteratively", "mail.edges", "i.csv", "--epsilon", "1", "--delta", "1e-6")
    assert "nothing was spent" in refused(*learn, *KEEP)
    assert "nothing was spent" in refused(*START, *LAPLACE, "--name", "two")
    out, _ = done("session", "status", "mail.db")
    for words in ("session default", "release", "epsilon = 1.5", "epsilon = 2", "head"):
        assert words in out
    found = told("session", "status", "mail.db")
    assert [use["kind"] for use in found["uses"]] == ["session", "release"]
    assert all(use["user"] and use["time"] for use in found["uses"])
    assert out.count("guarantee") == 1  # a release is none


@pytest.mark.parametrize("place", ["beside", "here"])
def test_a_release_without_the_store_of_its_graph_is_reminded(done, refused, mail, place):
    other = mail.parent / "private"
    other.mkdir()
    graph = shutil.move(mail, other / "mail.edges")
    store = (other if place == "beside" else mail.parent) / "s.db"
    done("session", "start", graph, "--store", store, *LAPLACE)
    line = ("release", graph, *release()[2:])
    said = refused(*line)
    assert f"add --store {store}" in said
    assert "--uncounted" in said
    done(*line, "--uncounted")
    assert len(gc.store_status(store).uses) == 1


def test_every_command_that_opens_a_store_can_demand_its_head(done, told, refused, store):
    shutil.copy(store, store.with_name("older.db"))
    done(*ASK, "--from", "ann")
    head = told("session", "status", "mail.db")["head"]
    store.with_name("q.jsonl").write_text('{"S": ["ann"]}\n')
    for verb, *more in (
        ["status"],
        ["export"],
        ["ask", "--from", "ann"],
        ["run", "q.jsonl"],
        ["repl"],
    ):
        demand = (*more, "--expect-head", head)
        assert "older copy" in refused("session", verb, "older.db", *demand)
        if verb != "repl":
            done("session", verb, "mail.db", *demand)
    start = (*START[:4], "older.db", *LAPLACE, "--expect-head", head)
    assert "older copy" in refused(*start)


@pytest.mark.thorough
@pytest.mark.parametrize(("delta", "said"), [("0.3", 1), ("1e-6", 0)])
def test_a_delta_that_is_too_large_is_told_and_no_refusal(done, delta, said):
    """Before anything is spent, by every command that takes one."""
    flows = ("flows", "mail.edges", *TABLE[1:2], "f.csv", "--noise", "gaussian")
    learn = ("release-iteratively", "mail.edges", "made.graphml", "--construction")
    for line in (
        (*START, "--queries", "5", "--method", "gaussian"),
        (*flows, "--uncounted"),
        (*learn, "multiplicative-weights:rounds=1", "--uncounted"),
    ):
        err = " ".join(done(*line, "--epsilon", "1", "--delta", delta)[1].split())
        assert err.count("warning: delta = 0.3 is above 0.001") == said


@pytest.mark.parametrize("verb", ["start", "ask", "run", "repl", "status", "export"])
def test_help_has_an_example(done, verb):
    assert "Example: graphcuts-dp session" in done("session", verb, "--help")[0]


def test_a_dry_run_says_what_the_session_will_guarantee_and_reads_no_graph(told, mail):
    (mail.parent / "names.txt").write_text("\n".join(NAMES) + "\n")
    line = (*START, *TERMS, "--vertices", "names.txt")
    kept = mail.read_bytes()
    mail.unlink()
    forecast = told(*line, "--dry-run")
    assert not (mail.parent / "mail.db").exists()
    mail.write_bytes(kept)
    begun = told(*line)
    assert begun["guarantee"]["epsilon"] == forecast["epsilon"]
    (error,) = forecast["errors"]
    assert error["of"] == "each of 500 answers, all at once"
    assert error["bound"] == pytest.approx(begun["error_bound"])


def test_a_session_on_a_folder_of_rows_goes_on(done, tmp_path):
    """Folders are read as rows; the store remembers where the folder is."""
    (tmp_path / "calls").mkdir()
    rows = pd.DataFrame({"user": ["x", "y"], "source": ["ann", "bob"], "target": ["bob", "eve"]})
    for name, part in (("1", rows[:1]), ("2", rows[1:])):
        part.to_parquet(tmp_path / "calls" / f"{name}.parquet")
    (tmp_path / "people.txt").write_text("\n".join(NAMES))
    reading = ("--vertices", "people.txt", "--columns", "user=user", "--data-name", "calls")
    unit = ("--privacy-unit", "user:max-contributions=2")
    done("session", "start", "calls", "--store", "calls.db", *reading, *unit, *LAPLACE)
    assert "2 left" in done("session", "ask", "calls.db", "--from", "ann")[0]
