"""The command line as a user meets it: what it prints, writes, and returns."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from noisy_cases import planted

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


@pytest.mark.parametrize("ending", ["csv", "edges.gz", "graphml", "gml", "net", "mtx", "npz"])
def test_release_writes_a_graph_a_receipt_and_the_noisy_matrix(call, mail, tmp_path, ending):
    target = tmp_path / f"synthetic.{ending}"
    status, out, err = call("release", mail, target, "--epsilon", "2", "--vertices", "40")
    assert status == 0, err
    assert "epsilon = 2" in out
    loaded = gc.Release.load(target)
    assert loaded.graph.n == 40
    assert loaded.guarantee.is_private
    weights = loaded.graph.dense()
    assert weights.min() >= 0
    assert weights.max() <= 1
    assert files_in(tmp_path) == {mail.name} | {
        target.name + suffix
        for suffix in ("", ".json", ".noisy.npz", *([".schema.json"] if ending == "csv" else []))
    }


def test_json_is_one_document_on_standard_output(call, mail, tmp_path):
    status, out, _ = call("release", mail, tmp_path / "s.csv", "--epsilon", "1", "--json")
    assert status == 0
    facts = json.loads(out)
    assert facts["noise"] == "binary"
    assert len(facts["files"]) == 4  # a .csv has its vertex set beside it


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ([], ("total",)),
        (["--mechanism", "response"], ("entries",)),
        (["--mechanism", "auto:workload=synthetic graph"], ("total",)),
        (["--mechanism", "degrees+response"], ("degrees", "entries")),
        (["--mechanism", "degrees+response:degree-share=0.25"], ("degrees", "entries")),
        (["--fit", "first-order"], ("entries",)),
    ],
)
def test_what_epsilon_was_spent_on_is_told_and_kept(call, mail, tmp_path, options, parts):
    target = tmp_path / "s.csv"
    status, out, err = call("release", mail, target, "--epsilon", "2", "--json", *options)
    assert status == 0, err
    facts = json.loads(out)
    spent = facts["epsilon_spent_on"]
    assert sum(spent.values()) == pytest.approx(2)
    assert set(parts) <= set(spent)
    assert "total" in parts or set(spent) == set(parts)
    if "degrees+response:degree-share=0.25" in options:
        assert spent["degrees"] == 0.5
    if (
        "auto:workload=synthetic graph" not in options
    ):  # else the noise of entries is more than the graph weighs
        assert facts["worst_cut_error_at_most"] > facts["distance_from_noisy_matrix_at_most"]
    assert ("fit_gap" in facts) == ("first-order" in options)
    loaded = gc.Release.load(target)
    assert loaded.workload == ("synthetic graph" if "workload" in " ".join(options) else "answers")
    assert facts["workload"].startswith(loaded.workload + "; ")
    assert (loaded.degrees is not None) == bool({"degrees", "early degrees"} & set(spent))
    assert (loaded.total is not None) == ("total" in spent)


def test_communities_near_the_noise_are_told(call, tmp_path):
    graph, _ = planted((60, 60), 0.34, 0.1, 0)
    source = tmp_path / "g.edges"
    graph.write(source)
    options = ["--epsilon", "1", "--vertices", "120", "--mechanism", "response", "--seed", "5"]
    status, out, err = call("release", source, tmp_path / "s.csv", *options)
    assert status == 0
    assert "warning: communities may be merged in the synthetic graph" in err
    assert "barely passed its noise" in " ".join(out.split())


def test_notes_say_the_same_whatever_the_edges(call, tmp_path):
    texts = {"plain": "0 1\n1 2\n", "loops and duplicates": "0 0\n0 1\n1 0\n0 1\n2 2\n"}
    notes = []
    for name, text in texts.items():
        source = tmp_path / f"{len(name)}.edges"
        source.write_text(text)
        target = tmp_path / f"{len(name)}.csv"
        status, _, err = call("release", source, target, "--epsilon", "9", "--vertices", "3")
        assert status == 0
        notes.append(err.replace(str(source), "IN").replace(target.name, "OUT"))
    assert notes[0] == notes[1]
    assert "Self-loops" in notes[0]


def test_seeded_runs_repeat_and_say_that_they_are_not_private(call, mail, tmp_path):
    outputs = []
    for name in ("a", "b"):
        target = tmp_path / f"{name}.csv"
        status, out, _ = call("release", mail, target, "--epsilon", "1", "--seed", "3")
        assert status == 0
        assert "seeded: not private" in out
        assert "seeded: not private" in (tmp_path / f"{name}.csv.json").read_text()
        outputs.append(target.read_bytes())
    assert outputs[0] == outputs[1]


def test_the_warning_comes_before_anything_is_spent_and_names_an_epsilon(
    call, mail, tmp_path, monkeypatch
):
    class NoEntropy:
        seed = None

        def bytes(self, _):
            raise AssertionError("noise was drawn")

    monkeypatch.setattr("graphcuts_dp.release.job.entropy_source", lambda _: NoEntropy())
    with pytest.raises(AssertionError, match="noise was drawn"):
        call("release", mail, tmp_path / "s.csv", "--epsilon", "0.1", "--force-hopeless")


def test_a_hopeless_release_is_refused_until_it_is_forced(call, mail, tmp_path):
    hopeless = ("release", mail, tmp_path / "s.csv", "--epsilon", "0.1")
    status, _, err = call(*hopeless)
    assert status == 2
    assert "error: worthless at this size" in err
    assert "--force-hopeless" in err
    assert files_in(tmp_path) == {mail.name}
    status, _, err = call(*hopeless, "--force-hopeless")
    assert status == 0
    assert "warning: worthless at this size" in err
    named = err.split("epsilon = ")[1].split()[0]
    status, _, err = call("release", mail, tmp_path / "t.csv", "--epsilon", named)
    assert status == 0
    assert "worthless" not in err


def test_answers_from_a_release(call, mail, tmp_path):
    target = tmp_path / "s.csv"
    call("release", mail, target, "--epsilon", "3")
    status, out, _ = call("answer", target, "--from", "0,1,2", "--to", "3,4", "--json")
    assert status == 0
    found = json.loads(out)
    expected = gc.Release.load(target).answer([0, 1, 2], [3, 4])
    assert found["value"] == expected.value
    assert tuple(found["interval"]) == expected.interval
    shrunk = gc.Release.load(target).answer([0, 1, 2], [3, 4], estimate="shrunk")
    assert found["shrunk"] == {"value": shrunk.value, "note": "estimate, no guarantee"}
    members = tmp_path / "group.txt"
    members.write_text("0\n1\n2\n")
    status, again, _ = call("answer", target, "--from", f"@{members}", "--to", "3,4", "--json")
    assert status == 0
    assert again == out
    status, text, _ = call("answer", target, "--from", "0,1,2", "--to", "3,4")
    assert status == 0
    assert text.splitlines() == [
        str(expected),
        f"{shrunk.value:.1f} with the synthetic graph (estimate, no guarantee)",
    ]


@pytest.fixture
def answered(call, mail, tmp_path):
    target = tmp_path / "s.csv"
    assert call("release", mail, target, "--epsilon", "3", "--seed", "1")[0] == 0
    table, lines = tmp_path / "cuts.csv", tmp_path / "cuts.jsonl"
    table.write_text('S,T\n"0,1,2","3,4"\n5,\n"3,4","0, 1,2"\n')
    lines.write_text('{"S": [0, 1, 2], "T": [3, 4]}\n\n{"S": [5]}\n{"S": [3, 4], "T": [0, 1, 2]}\n')
    return target, table, lines


@pytest.mark.parametrize("joint", [False, True])
def test_answers_to_a_file_of_queries(call, answered, tmp_path, joint):
    target, table, lines = answered
    release = gc.Release.load(target)
    queries = [gc.CutQuery([0, 1, 2], [3, 4]), gc.CutQuery([5]), gc.CutQuery([3, 4], [0, 1, 2])]
    expected = release.answer_all(queries, joint=joint)
    shrunk = release.answer_all(queries, estimate="shrunk")
    options = ["--joint"] if joint else []
    for file in (table, lines):
        status, out, err = call("answer", target, "--queries", file, "--json", *options)
        assert status == 0, err
        answers = json.loads(out)["answers"]
        assert [tuple(each["interval"]) for each in answers] == [a.interval for a in expected]
        assert [each["value"] for each in answers] == [a.value for a in expected]
        assert [each["shrunk"]["value"] for each in answers] == [a.value for a in shrunk]
        assert {each["together"] for each in answers} == {2 if joint else 1}
        assert answers[1]["S"] == "5"
        assert answers[1]["T"] is None
    status, text, _ = call("answer", target, "--queries", table, *options)
    assert status == 0
    assert "5 - others" in text
    assert ("2 cuts at once" if joint else "this cut") in text
    assert f"{expected[1].value:,.1f}" in text
    written = tmp_path / "answers.csv"
    status, out, err = call("answer", target, "--queries", lines, "-o", written, *options)
    assert (status, out) == (0, "")
    rows = list(csv.reader(written.read_text().splitlines()))
    assert rows[0] == ["S", "T", "value", "low", "high", "shrunk", "mark"]
    assert [tuple(map(float, row[2:5])) for row in rows[1:]] == [
        (a.value, *a.interval) for a in expected
    ]
    assert {row[-1] for row in rows[1:]} == {"seeded: not private"}
    assert call("answer", target, "--queries", lines, "-o", written)[0] == 2
    assert call("answer", target, "--queries", lines, "-o", written, "--force")[0] == 0


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ([], "give one of --from, --query, --queries with a file, or --groups"),
        (["--queries", "cuts.csv", "--from", "1"], "give one of --from, --query, --queries"),
        (["--queries", "cuts.csv", "--to", "1"], "leave out --to"),
        (["--queries", "cuts.csv", "--complement"], "leave out --to"),
        (["--from", "1", "--joint"], "are for --queries"),
        (["--from", "1", "-o", "a.csv"], "are for --queries"),
        (["--queries", "cuts.csv", "-o", "a.txt"], "must end in .csv"),
        (["--queries", "cuts.csv", "-o", "cuts.csv", "--force"], "read by this command"),
        (["--queries", "cuts.csv", "--joint", "--simultaneous"], "not both"),
        (["--queries", "missing.csv"], "missing.csv"),
        (["--queries", "wide.csv"], "needs a first row S,T"),
        (["--queries", "ragged.csv"], "line 3 of the queries has 3 cells, not 2"),
        (["--queries", "unknown.csv"], "nobody"),
        (["--queries", "holes.csv"], "line 2 of the queries: an empty label"),
        (["--queries", "broken.csv"], "is no table"),
        (["--queries", "group.csv"], "names a group, and there are none"),
        (["--queries", "empty.csv"], "needs a first row"),
        (["--queries", "header.csv"], "has no queries"),
        (["--queries", "no.jsonl"], "line 1 of the queries is not an object"),
    ],
)
def test_queries_that_cannot_be_answered(call, answered, tmp_path, monkeypatch, options, match):
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "wide.csv": "S,T,U\n1,2,3\n",
        "ragged.csv": "S,T\n1,2\n1,2,3\n",
        "unknown.csv": "S\nnobody\n",
        "holes.csv": 'S\n"1,,2"\n',
        "broken.csv": 'S\n"1\n',
        "group.csv": "S\n@Sales\n",
        "empty.csv": "",
        "header.csv": "S,T\n",
        "no.jsonl": "[1]\n",
    }.items():
        (tmp_path / name).write_text(text)
    status, out, err = call("answer", answered[0], *options)
    assert (status, out) == (2, "")
    assert match in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1


def test_evaluation_says_that_it_is_not_private(call, mail, tmp_path):
    target, figure = tmp_path / "s.csv", tmp_path / "errors.png"
    call("release", mail, target, "--epsilon", "3")
    status, out, _ = call("evaluate", "release", mail, target, "--plot", figure)
    assert status == 0
    assert "not private: evaluation" in out
    assert "worst cut" in out
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_cut_distance_of_two_files(call, tmp_path):
    first, second = tmp_path / "a.edges", tmp_path / "b.edges"
    first.write_text("0 1\n1 2\n2 3\n")
    second.write_text("0 1\n0 2\n0 3\n")
    arguments = ("evaluate", "cut-norm", first, second, "--vertices", "4", "--json")
    status, out, err = call(*arguments)
    assert status == 0, err
    found = json.loads(out)
    difference = gc.read_graph(first).dense() - gc.read_graph(second).dense()
    block = difference[np.ix_(found["S"], found["T"])]
    assert found["lower"] == found["upper"] == abs(block.sum())
    assert found["mark"] == "not private: evaluation"
    status, out, err = call("evaluate", "cut-norm", first)
    assert status == 0
    assert "at most 6" in " ".join(out.split())
    status, _, err = call("evaluate", "cut-norm", first, mtx_of_five(tmp_path))
    assert status == 2
    assert "different vertices" in err


def mtx_of_five(folder):
    path = folder / "five.mtx"
    gc.Graph([0], [4], vertices=5).write(path)
    return path


def test_datasets_are_listed_and_written(call, tmp_path):
    status, out, _ = call("datasets", "--json")
    assert status == 0
    assert "us_flights_2008" in {data["name"] for data in json.loads(out)}
    status, _, _ = call("datasets", "karate", tmp_path / "karate.graphml")
    assert status == 0
    assert gc.read_graph(tmp_path / "karate.graphml").n == 34


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--epsilon", "0"], "epsilon"),
        (["--epsilon", "one"], "epsilon"),
        ([], "--epsilon"),
        (["--epsilon", "1", "--fit", "best"], "unknown --fit best; choose one of"),
        (["--epsilon", "1", "--mechanism", "degrees+response", "--fit", "none"], "maximum-entropy"),
        (
            ["--epsilon", "1", "--mechanism", "auto:degree-share=1.5"],
            "--mechanism: degree-share must be a number above 0",
        ),
        (["--epsilon", "1", "--mechanism", "auto:degree-share=some"], "degree-share"),
        (["--epsilon", "1", "--seed", "-4"], "seed"),
        (["--epsilon", "1", "--vertices", "0"], "vertex"),
        (["--epsilon", "1", "--vertices", "5"], "line"),
        (["--epsilon", "1", "--vertices", "missing.txt"], "missing.txt"),
        (["--epsilon", "1", "--weight-cap", "-1"], "weight"),
        (["--epsilon", "1", "--fit", "none:unweighted"], "unweighted"),
    ],
)
def test_bad_options_give_one_line_and_write_nothing(call, mail, tmp_path, arguments, message):
    before = files_in(tmp_path)
    status, out, err = call("release", mail, tmp_path / "s.csv", *arguments)
    lines = [line for line in err.splitlines() if not line.startswith("note: ")]
    assert status == 2
    assert out == ""
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    assert message in lines[0]
    assert files_in(tmp_path) == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "no edges and no vertices"),
        ("# only a comment\n", "no edges and no vertices"),
        (f"0 1\n{SENTINEL}\n", "line 2"),
        (f"0 1 x{SENTINEL}\n", "line 1"),
        ("0 1 nan\n", "line 1"),
        ("0 1 -3\n", "line 1"),
        (f"a b\nb {SENTINEL} 1 2 3\n", "line 2"),
        ("0 0\n", "one vertex"),
    ],
)
def test_bad_files_give_one_line_that_quotes_no_row(call, tmp_path, content, message):
    source = tmp_path / "bad.edges"
    source.write_text(content)
    weights = ["--columns", "weight=3"] if content.startswith("0 1 ") else []
    status, out, err = call("release", source, tmp_path / "s.csv", "--epsilon", "1", *weights)
    lines = [line for line in err.splitlines() if not line.startswith("note: ")]
    assert status == 2
    assert out == ""
    assert len(lines) == 1, err
    assert message in lines[0]
    assert SENTINEL not in err
    assert files_in(tmp_path) == {"bad.edges"}


def test_missing_input_folder_and_ending(call, mail, tmp_path):
    for source, target, message in [
        (tmp_path / "none.edges", tmp_path / "s.csv", "does not exist"),
        (tmp_path, tmp_path / "s.csv", "ending"),
        (mail, tmp_path / "no" / "s.csv", "create it first"),
        (mail, tmp_path / "s.docx", "unknown ending"),
    ]:
        status, _, err = call("release", source, target, "--epsilon", "1")
        assert status == 2
        assert message in err
    assert files_in(tmp_path) == {mail.name}


def test_existing_output_needs_force(call, mail, tmp_path):
    target = tmp_path / "s.csv"
    receipt = tmp_path / "s.csv.json"
    receipt.write_text("mine")
    status, _, err = call("release", mail, target, "--epsilon", "1")
    assert status == 2
    assert "exists" in err
    assert receipt.read_text() == "mine"
    status, _, _ = call("release", mail, target, "--epsilon", "1", "--force")
    assert status == 0


def test_weights_and_binary_noise_are_refused_with_a_way_out(call, tmp_path):
    source = tmp_path / "w.csv"
    source.write_text("source,target,weight\na,b,2.5\nb,c,1\n")
    status, _, err = call("release", source, tmp_path / "s.csv", "--epsilon", "1")
    assert status == 2
    assert "pass --weight-cap when you read the graph" in err
    assert "--ignore-weights" in err
    for extra in (["--ignore-weights"], ["--noise", "laplace", "--weight-cap", "3"]):
        status, _, err = call(
            "release", source, tmp_path / "s.csv", "--epsilon", "9", "--force", *extra
        )
        assert status == 0, err


def test_labels_that_the_format_cannot_hold_are_told_before_anything_is_spent(
    call, tmp_path, monkeypatch
):
    source = tmp_path / "mail.csv"
    source.write_text('source,target\n"a\x01b",c\n')
    monkeypatch.setattr(release, "carry_out", lambda *_, **__: pytest.fail("budget was spent"))
    status, _, err = call("release", source, tmp_path / "s.graphml", "--epsilon", "1")
    assert status == 2
    assert "label" in err or "vertex" in err


def test_interruption_leaves_no_file(call, mail, tmp_path, monkeypatch):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(release, "carry_out", interrupt)
    status, _, err = call("release", mail, tmp_path / "s.csv", "--epsilon", "1")
    assert status == 130
    assert err.splitlines()[-1] == "interrupted: no file is half-written"
    assert files_in(tmp_path) == {mail.name}


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


def test_no_progress_bar_when_standard_error_is_not_a_terminal(call, mail, tmp_path, monkeypatch):
    monkeypatch.setattr("graphcuts_dp.cli.console._QUIET_SECONDS", 0.0)
    status, out, err = call("release", mail, tmp_path / "s.csv", "--epsilon", "1")
    assert status == 0
    assert "%" not in err
    assert "\x1b" not in err + out


def test_every_command_has_help_with_an_example(call):
    for words in (
        ["release"],
        ["answer"],
        ["datasets"],
        ["evaluate", "release"],
        ["evaluate", "cut-norm"],
        ["figures"],
    ):
        status, out, _ = call(*words, "--help")
        assert status == 0
        assert "Example: graphcuts-dp " + " ".join(words) in " ".join(out.split())


def test_version(call):
    status, out, _ = call("--version")
    assert status == 0
    assert gc.__version__ in out
