"""`graphcuts-dp flows` as a user meets it."""

import csv
import json
from functools import partial

import pytest

import graphcuts_dp as gc


@pytest.fixture
def call(command_line):
    return partial(command_line, "flows")


@pytest.fixture(autouse=True)
def files(tmp_path):
    gc.Graph.of([(f"v{i}", f"v{(3 * i + 1) % 12}") for i in range(12)]).write(
        tmp_path / "mail.edges"
    )
    staff = "".join(f"v{i};{'AB'[i // 6]};u{i // 3}\n" for i in range(12))
    (tmp_path / "staff.csv").write_text("person;site;unit\n" + staff)
    (tmp_path / "plain.csv").write_text("".join(f"v{i},u{i // 3}\n" for i in range(12)))
    (tmp_path / "labels.txt").write_text("".join(f"v{i}\n" for i in range(12)))


BASE = ("mail.edges", "staff.csv", "flows.csv", "--epsilon", "1", "--vertices", "labels.txt")
COLUMNS = ("--groups-columns", "levels=site/unit")


def test_table_and_receipt(call, tmp_path):
    status, out, err = call(*BASE, *COLUMNS, "--seed", "1")
    assert status == 0
    assert "hidden    whether any one pair is an edge" in out
    assert "the vertex set and the groups" in out
    assert "seeded: not private" in out
    assert "Largest of 10 cells of level 'unit'" in out
    assert "note: Expected error of a cell of level 'site'" in err
    assert "note: Expected error of a cell of level 'unit'" in err
    with (tmp_path / "flows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 3 + 10
    assert {row["level"] for row in rows} == {"site", "unit"}
    made = gc.load(tmp_path / "flows.csv")
    assert made.levels == ("site", "unit")
    assert float(rows[0]["value"]) == pytest.approx(made.values("site")[0, 0])
    status, _, err = call(*BASE, *COLUMNS)
    assert status == 2
    assert "exists" in err
    assert call(*BASE, *COLUMNS, "--force")[0] == 0


def test_json(call):
    status, out, _ = call(
        *BASE, "--groups-columns", "levels=3,header=yes", "--json", "--delta", "1e-6"
    )
    told = json.loads(out)
    assert status == 0
    assert told["levels"] == {"unit": "4 x 4"}
    assert told["shares"] == {"unit": 1.0}
    assert told["files"] == ["flows.csv", "flows.csv.noisy.npz", "flows.csv.json"]
    assert told["noise"] == "laplace"


def test_other_tables_and_options(call, tmp_path):
    plain = ("mail.edges", "plain.csv", *BASE[2:])
    assert "pass --groups-columns header=no if the file has no header" in call(*plain)[2]
    assert call(*plain, "--groups-columns", "header=no")[0] == 0
    (tmp_path / "some.csv").write_text("who,unit\nv1,a\nv2,b\nzoe,b\n")
    some = ("mail.edges", "some.csv", "some_out.csv", *BASE[3:], "--groups-columns", "vertex=who")
    status, _, err = call(*some)
    assert status == 2
    assert (
        "some.csv: line 4: not a vertex of the graph; correct it, or pass --groups-columns "
        "unknown=ignore" in err
    )
    status, _, err = call(*some, "--groups-columns", "unknown=ignore")
    assert status == 2
    assert "have no group of level 'unit'; add them, or pass --groups-columns rest=other" in err
    assert call(*some, "--groups-columns", "unknown=ignore,rest=others")[0] == 0
    assert gc.load(tmp_path / "some_out.csv").groups.labels() == ("a", "b", "others")


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ((), "pass --groups-columns levels=, the columns of the groups"),
        (("--groups-columns", "levels=site//unit"), "an empty name"),
        (("--groups-columns", "levels=town"), "exactly one column 'town'"),
        (("--groups-columns", "levels=unit/site"), "lies in two groups"),
        (
            ("--groups-columns", "levels=9"),
            "pass --groups-columns header=yes if the first line names the columns",
        ),
        (("--groups-columns", "levels=9,header=yes"), "no such column"),
        ((*COLUMNS, "--workload", "town"), "unknown workload 'town'"),
        ((*COLUMNS, "--noise", "gaussian"), "needs a delta"),
        ((*COLUMNS, "--right-groups", "staff.csv"), "--right-groups is for --kind bipartite"),
        ((*COLUMNS, "--groups-columns", "encoding=utf-99"), "unknown encoding"),
        (
            (*COLUMNS, "--groups-columns", "header=no"),
            "needs a header; pass --groups-columns header=yes",
        ),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(call, tmp_path, more, told):
    status, out, err = call(*BASE, *more)
    assert (status, out) == (2, "")
    assert told in err
    assert err.splitlines()[-1].startswith("error: ")
    assert not (tmp_path / "flows.csv").exists()


def test_outputs_are_apart_from_inputs(call):
    for target in ("staff.csv", "mail.edges"):
        status, _, err = call("mail.edges", "staff.csv", target, "--epsilon", "1")
        assert status == 2
        assert "write to another file" in err


def test_two_sides(call, tmp_path):
    (tmp_path / "films.csv").write_text("user,film\n" + "a,x\nb,y\nc,x\n")
    (tmp_path / "users.csv").write_text("user,region\na,N\nb,N\nc,S\n")
    (tmp_path / "genres.csv").write_text("film,kind\nx,drama\ny,comedy\n")
    base = (
        "films.csv",
        "users.csv",
        "out.csv",
        "--epsilon",
        "5",
        "--kind",
        "bipartite",
        "--columns",
        "header=yes",
    )
    status, _, err = call(*base)
    assert status == 2
    assert "needs --right-groups" in err
    assert call(*base, "--right-groups", "genres.csv")[0] == 0
    assert gc.load(tmp_path / "out.csv").values().shape == (2, 2)


def test_a_store_is_charged_and_remembered(call):
    store = ("--store", "mail.db", "--budget", "1.5")
    assert call(*BASE, *COLUMNS, *store)[0] == 0
    status, _, err = call(*BASE, *COLUMNS, "--force")
    assert status == 2
    assert "keeps account" in err
    status, _, err = call(*BASE, *COLUMNS, "--force", "--store", "mail.db")
    assert status == 2
    assert "nothing was spent" in err
