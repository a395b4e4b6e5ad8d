"""Results that earlier versions have saved are read, and say what they said then.

`tests/fixtures` holds them, with what they said when they were made: see the README of each folder.
"""

import csv
import json
import shutil

import pytest
from command_runs import run_line
from format_facts import VERSIONS, differences, of_result

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError
from graphcuts_dp.results.bundle import KINDS, kind_at

TABLE = "distances.csv"
RESULTS = [(files, name) for files in VERSIONS for name in files.facts["results"]]
LATER_KINDS = {"0.1": {"flows over time"}}  # which a version does not have, by its number
MEASURED = {
    *("total", "degrees", "groups", "entries"),
    *("weights", "kept edges", "found groups", "edges", "squared distance"),
}
LATER_MEASURED = {"0.1": {"edges", "squared distance"}}


def ids(parameter):
    return getattr(parameter, "version", str(parameter))


@pytest.fixture
def copied(tmp_path):
    """Copies the files of a result, and gives its path."""

    def copy(files, name):
        for file in files.facts["results"][name]["files"]:
            shutil.copy(files.folder / "results" / file, tmp_path)
        return tmp_path / name

    return copy


@pytest.mark.parametrize("files", VERSIONS, ids=ids)
def test_every_file_and_every_kind_is_looked_at(files):
    known = files.facts["results"]
    in_folder = {path.name for path in (files.folder / "results").iterdir()}
    assert in_folder == {file for facts in known.values() for file in facts["files"]}
    kinds = {kind_at(files.folder / "results" / name) for name in known}
    assert kinds == set(KINDS) - LATER_KINDS.get(files.version, set())
    measured = {
        part for facts in known.values() if "vertices" in facts for part in facts["measured"]
    }
    assert measured == MEASURED - LATER_MEASURED.get(files.version, set())


@pytest.mark.thorough(cases=19)
@pytest.mark.parametrize(("files", "name"), [each for each in RESULTS if each[1] != TABLE], ids=ids)
def test_a_result_says_what_it_said(copied, files, name):
    known = {key: fact for key, fact in files.facts["results"][name].items() if key != "files"}
    found = of_result(gc.load(copied(files, name)), known.get("asked", ()))
    assert differences(json.loads(json.dumps(found)), known) == []


@pytest.mark.thorough(cases=15)
@pytest.mark.parametrize(("files", "name"), RESULTS, ids=ids)
def test_a_receipt_is_explained_and_its_files_are_found_whole(copied, files, name):
    status, out, _ = run_line("inspect", str(copied(files, name)))
    assert status == 0
    assert "whole, as the receipt says" in " ".join(out.split())


@pytest.mark.parametrize("files", VERSIONS, ids=ids)
def test_of_distances_the_table_and_the_receipt_are_kept(copied, files):
    path, known = copied(files, TABLE), files.facts["results"][TABLE]
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
