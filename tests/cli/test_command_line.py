"""`release`, `answer`, `evaluate` and `datasets` as a user meets them, and what ends a command."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.cli import release

SENTINEL = "secret_vertex_7"


@pytest.fixture
def mail(tmp_path):
    """A private graph of 40 vertices in a file."""
    rng = np.random.default_rng(5)
    pairs = [(i, j) for i in range(40) for j in range(i + 1, 40) if rng.random() < 0.3]
    path = tmp_path / "mail.edges"
    path.write_text("# private\n" + "".join(f"{i} {j}\n" for i, j in pairs))
    return path


def files_in(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def test_release_writes_a_graph_a_receipt_and_the_noisy_matrix(done, mail, tmp_path):
    out, _ = done("release", mail, "s.csv", "--epsilon", "2", "--vertices", "40")
    assert "epsilon = 2" in out
    loaded = gc.Release.load("s.csv")
    assert (loaded.graph.n, loaded.guarantee.is_private) == (40, True)
    written = {"s.csv", "s.csv.json", "s.csv.noisy.npz", "s.csv.schema.json"}
    assert files_in(tmp_path) == {mail.name} | written


def test_weights_of_the_fit_are_written_beside_the_graph(told, refused, mail, tmp_path):
    line = ("release", mail, "s.csv", "--epsilon", "2", "--vertices", "40", "--weights")
    written = told(*line, "w.edges")["files"]
    assert files_in(tmp_path) >= {*map(os.path.basename, written), "w.edges"}
    made = gc.load("s.csv")
    assert made.expected == gc.read_graph("w.edges")
    assert (made.expected.weighted, made.graph.weighted) == (True, False)
    more = ("--force", "--epsilon", "50")
    for taken in ("./s.csv", "s.csv.noisy.npz"):
        assert "are the same file" in refused(*line, taken, *more)
    assert "is read or kept by this command" in refused(*line, mail, *more)
    assert "unknown ending" in refused(*line, "w.docx", *more)
    assert "exists" in refused(*line, "w.edges")
    for option in ("--fit=none", "--mechanism=sparse"):
        assert "--weights is for a release with a fit" in refused(*line, "x.edges", *more, option)


def test_files_of_weights_hold_all_labels_and_are_named(told, refused, tmp_path):
    (tmp_path / "in.csv").write_text("source,target\nann lee,bob\n")
    (tmp_path / "staff.txt").write_text("ann lee\nbob\nkim\n")
    line = ("release", "in.csv", "s.csv", "--epsilon=2", "--vertices=staff.txt", "--weights")
    assert "a label holds blanks" in refused(*line, "w.edges")
    assert told(*line, "w.csv")["files"][-2:] == ["w.csv.schema.json", "w.csv"]


def test_notes_say_the_same_whatever_the_edges(done, tmp_path):
    notes = []
    for text in ("0 1\n1 2\n", "0 0\n0 1\n1 0\n0 1\n2 2\n"):
        (tmp_path / "in.edges").write_text(text)
        line = ("release", "in.edges", "s.csv", "--epsilon", "9", "--vertices", "3", "--force")
        notes.append(done(*line)[1])
    assert notes[0] == notes[1]
    assert "Edges from a vertex to itself are dropped" in notes[0]


def test_seeded_runs_repeat_and_say_that_they_are_not_private(done, mail, tmp_path):
    outputs = []
    for name in ("a.csv", "b.csv"):
        assert "seeded: not private" in done("release", mail, name, "--epsilon=1", "--seed=3")[0]
        assert "seeded: not private" in (tmp_path / f"{name}.json").read_text()
        outputs.append((tmp_path / name).read_bytes())
    assert outputs[0] == outputs[1]


@pytest.mark.thorough
def test_a_hopeless_release_is_refused_until_it_is_forced(done, refused, mail):
    hopeless = ("release", mail, "s.csv", "--epsilon", "0.1")
    err = refused(*hopeless)
    assert "error: worthless at this size" in err
    assert "--allow-useless" in err
    _, err = done(*hopeless, "--allow-useless")
    assert "warning: worthless at this size" in err
    named = err.split("epsilon = ")[1].split()[0]
    assert "worthless" not in done("release", mail, "t.csv", "--epsilon", named)[1]


@pytest.fixture
def answered(done, mail, tmp_path):
    done("release", mail, "s.csv", "--epsilon", "3", "--seed", "1")
    (tmp_path / "cuts.csv").write_text('S,T\n"0,1,2","3,4"\n5,\n"3,4","0, 1,2"\n')
    lines = '{"S": [0, 1, 2], "T": [3, 4]}\n\n{"S": [5]}\n{"S": [3, 4], "T": [0, 1, 2]}\n'
    (tmp_path / "cuts.jsonl").write_text(lines)
    (tmp_path / "group.txt").write_text("0\n1\n2\n")
    return gc.Release.load("s.csv")


def test_one_answer(done, told, answered):
    one = ("answer", "s.csv", "--from", "0,1,2", "--to", "3,4")
    found, expected = told(*one), answered.answer([0, 1, 2], [3, 4])
    assert (found["value"], tuple(found["interval"])) == (expected.value, expected.interval)
    assert found["estimate"] == expected.estimate
    shrunk = answered.answer([0, 1, 2], [3, 4], estimate="shrunk").value
    assert found["shrunk"] == {"value": shrunk, "note": "estimate, no guarantee"}
    assert told("answer", "s.csv", "--from", "@group.txt", "--to", "3,4") == found
    assert done(*one)[0].splitlines() == [
        str(expected),
        f"{shrunk:.1f} with the synthetic graph (estimate, no guarantee)",
    ]


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("options", [(), ("--joint",)])
def test_answers_to_a_file_of_queries(done, told, refused, answered, tmp_path, options):
    queries = [gc.CutQuery([0, 1, 2], [3, 4]), gc.CutQuery([5]), gc.CutQuery([3, 4], [0, 1, 2])]
    expected = answered.answer_all(queries, joint=bool(options))
    shrunk = answered.answer_all(queries, estimate="shrunk")
    ask = ("answer", "s.csv", *options, "--queries")
    for file in ("cuts.csv", "cuts.jsonl"):
        answers = told(*ask, file)["answers"]
        assert [tuple(each["interval"]) for each in answers] == [a.interval for a in expected]
        assert [each["shrunk"]["value"] for each in answers] == [a.value for a in shrunk]
        assert {each["together"] for each in answers} == {2 if options else 1}
        assert (answers[1]["S"], answers[1]["T"]) == ("5", None)
    text, _ = done(*ask, "cuts.csv")
    for words in ("5 - others", f"{expected[1].value:,.1f}", "2 cuts at once" * bool(options)):
        assert words in text
    write = (*ask, "cuts.jsonl", "-o", "a.csv")
    assert done(*write)[0] == ""
    header, *rows = csv.reader((tmp_path / "a.csv").read_text().splitlines())
    at_once = "simultaneous_" if options else ""
    columns = ["S", "T", "value", f"{at_once}low", f"{at_once}high", "shrunk", "estimate", "mark"]
    assert header == columns
    values = [tuple(map(float, row[2:5])) for row in rows]
    assert [float(row[6]) for row in rows] == [a.estimate for a in expected]
    assert values == [(a.value, *a.interval) for a in expected]
    assert {row[-1] for row in rows} == {"seeded: not private"}
    assert "exists" in refused(*write)
    done(*write, "--force")


QUERIES = {  # a file, and what is said of it
    "missing.csv": (None, "missing.csv"),
    "wide.csv": ("S,T,U\n1,2,3\n", "needs a first row S,T"),
    "ragged.csv": ("S,T\n1,2\n1,2,3\n", "line 3 of the queries has 3 cells, not 2"),
    "unknown.csv": ("S\nnobody\n", "nobody"),
    "holes.csv": ('S\n"1,,2"\n', "line 2 of the queries: an empty label"),
    "broken.csv": ('S\n"1\n', "is no table"),
    "group.csv": ("S\n@Sales\n", "names a group, and there are none"),
    "empty.csv": ("", "needs a first row"),
    "header.csv": ("S,T\n", "has no queries"),
    "no.jsonl": ("[1]\n", "line 1 of the queries is not an object"),
}
FILE = ("--queries", "cuts.csv")


@pytest.mark.usefixtures("answered")
def test_queries_that_cannot_be_answered(refused, tmp_path):
    """Of one release, which takes longer than to be refused."""
    for name, (text, _) in QUERIES.items():
        if text is not None:
            (tmp_path / name).write_text(text)
    for options, message in (
        ([], "give one of --from, --query, --queries with a file, or --groups"),
        ([*FILE, "--from", "1"], "give one of --from, --query, --queries"),
        ([*FILE, "--to", "1"], "leave out --to"),
        (["--from", "1", "--joint"], "are for --queries"),
        ([*FILE, "-o", "a.txt"], "must end in .csv"),
        ([*FILE, "-o", "cuts.csv", "--force"], "read or kept by this command"),
        ([*FILE, "--joint", "--simultaneous"], "not both"),
        *((["--queries", name], words) for name, (_, words) in QUERIES.items()),
    ):
        assert message in refused("answer", "s.csv", *options)


def test_datasets_are_listed_and_written(done, told, refused):
    assert "us_flights_2008" in {data["name"] for data in told("datasets")}
    assert "sha256" in done("datasets")[0]
    done("datasets", "karate", "karate.graphml")
    assert gc.read_graph("karate.graphml").n == 34
    assert "name the file to write" in refused("datasets", "karate")
    assert "karate: unknown ending" in refused("datasets", "karate", "karate")


ONE = ["--epsilon", "1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epsilon", "0"], "epsilon"),
        (["--epsilon", "one"], "epsilon"),
        ([], "--epsilon"),
        ([*ONE, "--fit", "best"], "unknown --fit best; choose one of"),
        ([*ONE, "--mechanism", "auto:degree-share=1.5"], "--mechanism: degree-share must be a num"),
        ([*ONE, "--vertices", "0"], "vertex"),
        ([*ONE, "--vertices", "5"], "line"),
        ([*ONE, "--vertices", "9" * 99], "at most 2,147,483,647 vertices"),
        ([*ONE, "--vertices", "missing.txt"], "missing.txt"),
        (["--budget", "2", *ONE], "add, for example, --store"),
        (["--store", "m.db", "--budget", "delta=0.1", *ONE], "--budget: give epsilon"),
        (["--store", "m.db", "--budget", "2,delta=1", *ONE], "below 1"),
        (["--store", "x" * 300, *ONE], "cannot have this name"),
        (["--store", "m.db", "--uncounted", *ONE], "not both"),
    ],
)
def test_bad_options_give_one_line_and_write_nothing(refused, mail, arguments, message):
    assert message in refused("release", mail, "s.csv", "--public-vertices-from-file", *arguments)


def test_a_bad_file_gives_one_line_that_quotes_no_row(refused, tmp_path):
    (tmp_path / "bad.edges").write_text(f"0 1\n{SENTINEL}\n")
    said = refused("release", "bad.edges", "s.csv", *ONE)
    assert "line 2" in said
    assert SENTINEL not in said


def test_files_that_cannot_be_read_or_written(done, refused, mail, tmp_path):
    for source, target, message in [
        ("none.edges", "s.csv", "does not exist"),
        (tmp_path, "s.csv", "ending"),
        (mail, "no/s.csv", "create it first"),
        (mail, "s.docx", "unknown ending"),
        (mail, mail, "is read or kept by this command"),
    ]:
        assert message in refused("release", source, target, *ONE)
    sides = ("--kind", "bipartite", "--vertices", "left.txt,s.txt", "--force")
    assert "is read or kept by this command" in refused("release", mail, "s.txt", *ONE, *sides)
    (tmp_path / "s.csv.json").write_text("mine")
    assert "exists" in refused("release", mail, "s.csv", *ONE)
    done("release", mail, "s.csv", *ONE, "--force")


def test_labels_that_the_format_cannot_hold_are_told_before_anything_is_spent(
    refused, tmp_path, monkeypatch
):
    (tmp_path / "mail.csv").write_text('source,target\n"a\x01b",c\n')
    monkeypatch.setattr(release, "carry_out", lambda *_, **__: pytest.fail("budget was spent"))
    assert "label" in refused("release", "mail.csv", "s.graphml", *ONE)


def test_interruption_leaves_no_file(call, mail, tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(release, "carry_out", interrupt)
    status, _, err = call("release", mail, "s.csv", *ONE)
    assert status == 130
    assert err.splitlines()[-1] == "interrupted: no file is half-written"
    assert files_in(tmp_path) == {mail.name}


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_an_error():
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(
            [sys.executable, "-m", "graphcuts_dp", "datasets"],
            stdout=full.fileno(),
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            env={**os.environ, "PYTHONWARNINGS": "error"},  # nor is there any other line
        )
    assert run.returncode == 2
    assert run.stderr.startswith("error: ")
    assert len(run.stderr.splitlines()) == 1


def test_no_progress_bar_when_standard_error_is_not_a_terminal(done, mail, monkeypatch):
    monkeypatch.setattr("graphcuts_dp.cli.console._QUIET_SECONDS", 0.0)
    out, err = done("release", mail, "s.csv", *ONE)
    assert "%" not in err
    assert "\x1b" not in err + out


RELEASE = ("release", "calls.graphml", "x.graphml", "--epsilon", "40", "--seed", "1")
SPARSE = (*RELEASE, "--mechanism", "sparse")


@pytest.fixture
def calls(tmp_path):
    """A private weighted graph of two teams of 30, and a public table of three teams' halves."""
    rng = np.random.default_rng(1)
    rows, columns = rng.integers(0, 60, (2, 700))
    columns = np.where(rng.random(700) < 0.8, columns - (columns - rows) % 2, columns)
    apart = (rows != columns) & (columns >= 0)
    weights = np.full(apart.sum(), 90.0)
    graph = gc.Graph(rows[apart], columns[apart], weights, vertices=60, max_weight=90)
    graph.write(tmp_path / "calls.graphml")
    table = "".join(f"{v},t{v % 3},t{v % 3}{'ab'[v // 30]}\n" for v in range(60))
    (tmp_path / "teams.csv").write_text("vertex,team,half\n" + table)
    cuts = 'S,T\n@t0,@t1\n"@t0,@t1",\n@t0a,@t2b\n"@t0a,@t1b,3",\n'
    (tmp_path / "cuts.csv").write_text(cuts)
    return graph


def test_a_sparse_release_is_made_and_asked(done, told, calls, tmp_path):
    groups = ("--groups", "teams.csv", "--groups-columns")
    made = told(*SPARSE, *groups, "levels=team")
    assert sum(made["epsilon_spent_on"].values()) == pytest.approx(40)
    assert {"weights", "groups", "degrees"} <= set(made["epsilon_spent_on"])
    assert {"x.graphml", "x.graphml.noisy.npz", "x.graphml.json"} <= files_in(tmp_path)
    assert "typical error" in done("answer", "x.graphml", "--from", "1,2,3")[0]
    asked = ("answer", "x.graphml", "--queries", "cuts.csv", "-o", "a.csv", *groups)
    done(*asked, "levels=team/half")
    rows = list(csv.DictReader((tmp_path / "a.csv").read_text().splitlines()))
    assert [row["kind"] for row in rows] == ["unbiased", "unbiased", "model", "model"]
    assert all(float(row["typical_error"]) > 0 for row in rows)
    member = np.arange(60) % 3
    queries = [gc.CutQuery(member == 0, member == 1), gc.CutQuery(member < 2)]
    for row, query in zip(rows, queries, strict=False):
        assert float(row["low"]) <= query.value(calls) <= float(row["high"])


@pytest.mark.usefixtures("calls")
def test_auto_tells_before_it_takes_a_sparse_release(done, monkeypatch):
    monkeypatch.setattr("graphcuts_dp.release.graphs.memory_limit", lambda: 10**4)
    assert "released sparsely" in done(*RELEASE, "--noise", "laplace")[1]


def test_a_dry_run_says_when_communities_would_be_lost(done, told):
    """78 edges on 34 vertices: an average degree of 4.6, where 8.4 are needed at epsilon = 1."""
    line = ("release", "no.csv", "out.csv", "--epsilon", "1", "--vertices", "34", "--dry-run", "78")
    lost = told(*line)["communities"]
    assert "no communities" in lost
    assert "epsilon >= 1.7" in lost
    assert lost in done(*line)[1]
    assert "epsilon >= 3.4" in told(*line, "--privacy-unit", "edge:group-size=2")["communities"]
    assert "epsilon >= 2.7" in told(*line, "--noise", "laplace")["communities"]
    for options in (("--fit", "none"), ("--mechanism", "sparse"), ("--epsilon", "1.7")):
        assert told(*line, *options)["communities"] is None
    few = told(*line[:-1], "62")["communities"]  # what is said would do, does
    assert "epsilon >= 2.1" in few
    assert told(*line[:-1], "62", "--epsilon", "2.1")["communities"] is None
    none = told(*line, "--privacy-unit", "edge:group-size=40")["communities"]
    assert "public groups could show them" in none


USER = ("--privacy-unit", "user:max-contributions=2", "--columns", "user=caller")
DRY = ("release", "private.csv", "out.csv", "--epsilon", "4", "--vertices", "40", "--dry-run")


def test_a_release_ends_with_what_it_is_good_for_as_a_dry_run_forecasts(done, told, mail):
    line = ("release", mail, "out.csv", "--epsilon", "4", "--vertices", "40", "--mechanism")
    out, _ = done(*line, "randomized-response")
    table = out[out.index("Is it good for my questions?") :]
    for words in ("one vertex with all others", "two halves", "any cut", "Advice: "):
        assert words in table
    made = told(*line, "randomized-response", "--force")["good_for"]
    forecast = told(*DRY, "234", "--mechanism", "randomized-response")
    assert forecast["communities"] is None
    assert (forecast["dry_run"], forecast["edges"]) == (True, 234)
    for before, after in zip(forecast["questions"][:2], made["questions"][:2], strict=True):
        assert before["what"] == after["what"]
        assert before["error_bound"] == pytest.approx(after["error_bound"])


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize(
    "options",
    [
        ("--mechanism", "sparse"),
        ("--kind", "directed"),
        ("--kind", "bipartite", "--vertices", "20,10"),
        ("--groups", "staff.csv"),
        ("--privacy-unit", "edge:group-size=3"),
        ("--max-weight-change", "1", "--noise", "laplace"),
        (*USER, "--counting", "edges"),
    ],
)
def test_a_dry_run_reads_and_writes_nothing(done, options, tmp_path):
    staff = "vertex,half\n" + "".join(f"{i},{i // 20}\n" for i in range(40))
    (tmp_path / "staff.csv").write_text(staff)
    out, err = done(*DRY, "150", *options)
    assert "150 (a public guess)" in out
    assert "no graph was read" in err
    assert files_in(tmp_path) == {"staff.csv"}  # private.csv was never there
    assert done(*DRY, "150", *options)[0] == out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((*DRY[:5], "--dry-run", "9"), "name its vertices by --vertices"),
        ((*DRY, "0"), "must be above 0"),
        ((*DRY, "781"), "at most 780"),
        ((*DRY, "nan"), "--dry-run must be a number"),
        ((*DRY, "9", *USER, "--counting", "rows"), "--counting edges"),
    ],
)
def test_what_a_dry_run_needs(words, message, refused):
    assert message in refused(*words)


def test_json_alone(call, mail):
    """One document, and nothing beside it for people."""
    how = ("--mechanism", "degrees+randomized-response:degree-share=0.25")
    status, out, err = call("release", mail, "s.csv", "--epsilon", "2", *how, "--json")
    facts = json.loads(out)
    assert (status, facts["noise"], len(facts["files"])) == (0, "binary", 4)
    spent = {"degrees": 0.495, "entries": 1.485, "squared distance": 0.02}
    assert facts["epsilon_spent_on"] == pytest.approx(spent)
    assert "published" not in out + err


def test_the_page_says_where_it_runs(refused, monkeypatch):
    monkeypatch.setattr("sys.platform", "win32")
    assert "the page runs on Linux and macOS" in refused("page")
