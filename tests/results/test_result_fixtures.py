"""Results that earlier versions have saved are read, and say what they said then.

`tests/fixtures` holds them, with what they said when they were made: see the README of each folder.
"""

import csv
import json
import shutil

import pytest
from command_runs import run_line
from format_facts import FOLDER, differences, of_result, recorded

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError
from graphcuts_dp.results.bundle import KINDS, kind_at

KNOWN = recorded()["results"]
TABLE = "distances.csv"


@pytest.fixture
def copied(tmp_path):
    """Copies the files of a result, and gives its path."""

    def copy(name):
        for file in KNOWN[name]["files"]:
            shutil.copy(FOLDER / "results" / file, tmp_path)
        return tmp_path / name

    return copy


def test_every_file_and_every_kind_is_looked_at():
    files = {path.name for path in (FOLDER / "results").iterdir()}
    assert files == {file for known in KNOWN.values() for file in known["files"]}
    # Tables over time came after these files were written.
    since = {"flows over time"}
    assert {kind_at(FOLDER / "results" / name) for name in KNOWN} == set(KINDS) - since
    measured = {
        part for known in KNOWN.values() if "vertices" in known for part in known["measured"]
    }
    assert measured == {
        *("total", "degrees", "groups", "entries"),
        *("weights", "kept edges", "found groups"),
    }


@pytest.mark.parametrize("name", [name for name in KNOWN if name != TABLE])
def test_a_result_says_what_it_said(copied, name):
    known = {key: each for key, each in KNOWN[name].items() if key != "files"}
    found = of_result(gc.load(copied(name)), known.get("asked", ()))
    assert differences(json.loads(json.dumps(found)), known) == []


@pytest.mark.parametrize("name", KNOWN)
def test_a_receipt_is_explained_and_its_files_are_found_whole(copied, name):
    status, out, _ = run_line("inspect", str(copied(name)))
    assert status == 0
    assert "whole, as the receipt says" in " ".join(out.split())


def test_of_distances_the_table_and_the_receipt_are_kept(copied):
    path, known = copied(TABLE), KNOWN[TABLE]
    with pytest.raises(FileFormatError, match="is a table of distances"):
        gc.load(path)
    with path.open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    told = [
        [int(row["vertex"]), *(float(row[k]) for k in ("value", "low", "high"))] for row in rows
    ]
    assert differences(told, known["answers"]) == []
    fields = json.loads(path.with_name(f"{TABLE}.json").read_text())
    assert [fields["best"], fields["guarantee"]["epsilon"]] == [
        known["best"],
        known["guarantee"]["epsilon"],
    ]
