"""`graphcuts-dp cuts`: what it writes, says and refuses."""

import json

import pytest
from command_runs import run_line

import graphcuts_dp as gc
from graphcuts_dp.confidence import DEFAULT_PERCENT

EDGES = "ann,bob\nbob,eve\nkim,joe\njoe,lee\neve,kim\n"
NAMES = "ann\nbob\neve\nkim\njoe\nlee\n"
RUN = ("--epsilon", "40", "--vertices", "names.txt", "--columns", "header=no")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    (tmp_path / "mail.csv").write_text(EDGES)
    (tmp_path / "names.txt").write_text(NAMES)
    (tmp_path / "ends.txt").write_text("ann\nbob\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def cut(*words):
    return run_line("cuts", "mail.csv", "parts.csv", *words)


@pytest.mark.parametrize(
    ("ends", "names"),
    [
        (("--from", "ann", "--to", "lee"), ("ann", "lee")),
        (("--from", "@ends.txt", "--to", "lee,joe"), ("ann", "joe")),
        (("--from", "ann", "--to", "eve/joe,lee"), ("ann", "eve", "joe")),
    ],
)
def test_the_parts_are_written_and_can_be_asked_for(folder, ends, names):
    status, out, err = cut(*ends, *RUN)
    assert (status, f"With probability {DEFAULT_PERCENT} the cut weighs at most" in err) == (
        0,
        True,
    )
    assert "Partition: least-cut" in out
    made = gc.load(folder / "parts.csv")
    assert made.names == names
    status, out, _ = run_line("flows", "mail.csv", "parts.csv", "flows.csv", *RUN)
    assert status == 0
    assert "Flows between groups: part" in out
    status, _, err = cut(*ends, *RUN)
    assert (status, "parts.csv" in err) == (2, True)


def test_json_says_the_same(folder):
    status, out, _ = cut("--from", "ann", "--to", "lee", *RUN, "--json", "--store", "mail.db")
    told = json.loads(out)
    made = gc.load(folder / "parts.csv")
    assert status == 0
    assert (told["names"], told["sizes"]) == (list(made.names), list(made.sizes))
    assert told["files"] == ["parts.csv", "parts.csv.arrays.npz", "parts.csv.json"]
    assert (told["shortfall"], told["notes"]) == (made.shortfall, list(made.notes))
    (use,) = gc.store_status(folder / "mail.db").uses
    assert use.use.kind == "cut"


def test_a_dry_run_reads_no_graph(folder):
    (folder / "mail.csv").unlink()
    words = ("--from", "ann", "--to", "lee", *RUN, "--dry-run", "--store", "mail.db")
    status, out, err = cut(*words)
    assert status == 0
    assert "epsilon = 40" in out
    assert "nothing was spent" in err
    assert sorted(file.name for file in folder.iterdir()) == ["ends.txt", "names.txt"]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--from", "ann", "--to", "ann"), "in two terminals"),
        (("--from", "ann", "--to", "max"), "unknown vertex"),
        (("--from", "ann", "--to", "*"), "a star is all vertices"),
        (("--from", "ann", "--to", "lee/"), "empty"),
        (("--from", "ann", "--to", "lee/eve", "--kind", "directed"), "name two"),
        (
            ("--from", "ann", "--to", "lee", "--privacy-unit", "vertex:max-degree=3"),
            "not possible here",
        ),
    ],
)
def test_what_is_wrong_is_told_in_a_line(folder, words, told):
    status, out, err = cut(*words, *RUN)
    assert (status, out) == (2, "")
    (line,) = [line for line in err.splitlines() if line.startswith("error: ")]
    assert told in line
    assert not (folder / "parts.csv").exists()


@pytest.fixture
def release(folder):
    graph = gc.Graph.of([("ann", "bob"), ("bob", "eve"), ("kim", "joe"), ("joe", "lee")])
    made = gc.release_graph(graph, epsilon=5.0, seed=1)
    made.save(folder / "made.edges")
    return made


def part(asked, *words):
    return run_line("cuts", "made.edges", "parts.csv", "--partition", asked, *words)


def test_a_release_is_partitioned_for_free(folder, release):
    status, out, err = part("balanced:parts=3,confidence=0.9")
    assert status == 0
    assert "although the partition was chosen after looking" in out
    assert "publish nothing of this" in err
    made = gc.load(folder / "parts.csv")
    assert [len(each) for each in made.parts] == [2, 2, 2]
    asked = release.partition("balanced", parts=3, confidence=0.9)
    assert (made.codes == asked.codes).all()
    assert made.interval == pytest.approx(asked.interval)
    status, out, _ = part("max-cut", "--force", "--json")
    told = json.loads(out)
    made = gc.load(folder / "parts.csv")
    assert (status, told["value"], told["interval"]) == (0, made.value, list(made.interval))
    assert told["files"] == ["parts.csv", "parts.csv.arrays.npz", "parts.csv.json"]
    assert "mark" in (folder / "parts.csv").read_text()  # it was seeded, and is a table of groups
    status, out, _ = run_line("flows", "mail.csv", "parts.csv", "flows.csv", *RUN)
    assert "Flows between groups: part" in out  # what it weighs can be bought, too


@pytest.mark.thorough(cases=6)
@pytest.mark.parametrize(
    ("asked", "words", "told"),
    [
        ("modularity", (), "unknown kind 'modularity'; choose one of max-cut"),
        ("", (), "unknown kind ''; choose one of max-cut"),
        (":parts=3", (), "unknown kind ''; choose one of max-cut"),
        ("max-cut:parts=3", (), "parts is an option of kind 'balanced' and 'hierarchy'"),
        ("balanced:size=3", (), "unknown option 'size' of 'balanced'"),
        ("balanced:parts=7", (), "at most the number of vertices, 6"),
        ("max-cut", ("--epsilon", "1"), "goes with --force and --spreadsheet alone"),
        ("max-cut", ("--store", "mail.db"), "goes with --force and --spreadsheet alone"),
        (
            "max-cut",
            ("--privacy-unit", "edge:group-size=3"),
            "goes with --force and --spreadsheet alone",
        ),
    ],
)
@pytest.mark.usefixtures("release")
def test_what_is_wrong_with_a_partition_is_told_in_a_line(folder, asked, words, told):
    status, out, err = part(asked, *words)
    assert (status, out) == (2, "")
    (line,) = [line for line in err.splitlines() if line.startswith("error: ")]
    assert told in line
    assert not (folder / "parts.csv").exists()


def test_another_result_is_no_release():
    cut("--from", "ann", "--to", "lee", *RUN)
    status, _, err = run_line("cuts", "parts.csv", "more.csv", "--partition", "max-cut")
    assert (status, "is no release" in err) == (2, True)
    status, _, err = run_line("cuts", "mail.csv", "more.csv", "--from", "ann")
    assert (status, "give --epsilon, --from and --to; or --partition" in err) == (2, True)
