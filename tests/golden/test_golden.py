"""Results of a fixed seed equal their records, as returned and as loaded from files.

`python scripts/golden.py` records them again. Do so only if results should change, and say in the
changelog which results have changed and why.
"""

import json
from pathlib import Path

import pytest
from golden_cases import CASES
from golden_facts import differences

pytestmark = [
    pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),  # such as of seeds
]
RECORDS = json.loads((Path(__file__).parent / "answers.json").read_text())


@pytest.mark.thorough(cases=10)
@pytest.mark.parametrize("name", CASES)
def test_a_result_and_its_files_equal_their_record(name):
    case = CASES[name]
    assert name in RECORDS, "a new case: python scripts/golden.py records it"
    result = case.make()
    loaded = case.saved_and_loaded(result)
    for version in [result] if loaded is None else [result, loaded]:
        lines = differences(case.record(version), RECORDS[name], case.fitted)
        assert not lines, "\n".join(lines[:20])


def test_every_record_has_its_case():
    assert RECORDS.keys() <= CASES.keys()


def test_each_kind_of_difference_is_detected_and_a_tiny_one_is_none():
    recorded = {"a": [1.0, 2, "x"], "graph": [3.0]}
    assert not differences({"a": [1.0 + 1e-10, 2, "x"], "graph": [3.001]}, recorded, 1e-3)
    for change in (
        {"a": [1.0 + 1e-8, 2, "x"]},
        {"a": [1.0, 3, "x"]},
        {"a": [1.0, 2, "y"]},
        {"a": [1.0, 2]},
        {"a": None},
        {"graph": [3.01]},
        {"more": 1},
    ):
        assert len(differences(recorded | change, recorded, 1e-3)) == 1
    assert differences(recorded | {"graph": [3.001]}, recorded)
