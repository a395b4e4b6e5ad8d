"""Results that earlier versions have saved are read with the same content.

`tests/fixtures` has the files of each version, with the facts that this version read from them: see
the README of each folder.
"""

import csv
import json
import shutil
from typing import Any

import pytest
from command_runs import run_line
from format_facts import VERSIONS, differences, of_result

import graphcuts_dp as gc
from graphcuts_dp import FileFormatError
from graphcuts_dp.results.bundle import KINDS, kind_at

TABLE = "distances.csv"
RESULTS = [(files, name) for files in VERSIONS for name in files.facts["results"]]
LOADED_RESULTS = [(files, name) for files, name in RESULTS if name != TABLE]
MEASUREMENTS = {
    *("total", "degrees", "groups", "entries"),
    *("weights", "kept edges", "found groups", "edges", "squared distance"),
}
# Kinds of results and of measurements that a version does not have yet.
LATER_KINDS = {"0.1": {"flows over time"}}
LATER_MEASUREMENTS = {"0.1": {"edges", "squared distance"}}


def case_id(parameter: Any) -> str:
    """Return the number of a version, or the name of a result."""
    return getattr(parameter, "version", str(parameter))


@pytest.fixture
def copy_result(tmp_path):
    """Return a function that copies the files of a version's result and returns its path."""

    def copy(files, name):
        for file in files.facts["results"][name]["files"]:
            shutil.copy(files.folder / "results" / file, tmp_path)
        return tmp_path / name

    return copy


@pytest.mark.parametrize("files", VERSIONS, ids=case_id)
def test_the_facts_of_a_version_cover_all_files_kinds_and_measurements(files):
    facts_by_name = files.facts["results"]
    files_in_folder = {path.name for path in (files.folder / "results").iterdir()}
    assert files_in_folder == {file for facts in facts_by_name.values() for file in facts["files"]}
    kinds = {kind_at(files.folder / "results" / name) for name in facts_by_name}
    assert kinds == set(KINDS) - LATER_KINDS.get(files.version, set())
    measurements = {
        measurement
        for facts in facts_by_name.values()
        if "vertices" in facts
        for measurement in facts["measured"]
    }
    assert measurements == MEASUREMENTS - LATER_MEASUREMENTS.get(files.version, set())


@pytest.mark.thorough(cases=19)
@pytest.mark.parametrize(("files", "name"), LOADED_RESULTS, ids=case_id)
def test_a_result_of_an_earlier_version_is_loaded_with_the_same_content(copy_result, files, name):
    facts = {key: fact for key, fact in files.facts["results"][name].items() if key != "files"}
    facts_today = of_result(gc.load(copy_result(files, name)), facts.get("asked", ()))
    assert differences(json.loads(json.dumps(facts_today)), facts) == []


@pytest.mark.thorough(cases=15)
@pytest.mark.parametrize(("files", "name"), RESULTS, ids=case_id)
def test_inspect_finds_the_files_of_an_earlier_version_intact(copy_result, files, name):
    status, output, _ = run_line("inspect", str(copy_result(files, name)))
    assert status == 0
    assert "whole, as the receipt says" in " ".join(output.split())


@pytest.mark.parametrize("files", VERSIONS, ids=case_id)
def test_a_table_of_distances_and_its_receipt_are_read_as_csv_and_json(copy_result, files):
    path, facts = copy_result(files, TABLE), files.facts["results"][TABLE]
    with pytest.raises(FileFormatError, match="is a table of distances"):
        gc.load(path)
    with path.open(newline="") as table:
        answers = [
            [int(row["vertex"]), *(float(row[column]) for column in ("value", "low", "high"))]
            for row in csv.DictReader(table)
        ]
    assert differences(answers, facts["answers"]) == []
    receipt = json.loads(path.with_name(f"{TABLE}.json").read_text())
    assert receipt["best"] == facts["best"]
    assert receipt["guarantee"]["epsilon"] == facts["guarantee"]["epsilon"]
