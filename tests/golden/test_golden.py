"""Results of a fixed seed are what they were, from the call and from the files that it saved.

`python scripts/golden.py` records them anew. Do so only for a change that is meant, and say in the
changelog which results have changed and why.
"""

import json
from pathlib import Path

import pytest
from golden_cases import CASES
from golden_facts import differences

pytestmark = [
    pytest.mark.filterwarnings("ignore::graphcuts_dp.errors.AccuracyWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),  # what else is said to a user
]
KNOWN = json.loads((Path(__file__).parent / "answers.json").read_text())


@pytest.mark.thorough(cases=10)
@pytest.mark.parametrize("name", CASES)
def test_a_result_is_what_it_was_and_its_files_are(name):
    case = CASES[name]
    assert name in KNOWN, "a new case: python scripts/golden.py records it"
    made = case.make()
    again = case.saved(made)
    for result in [made] if again is None else [made, again]:
        found = differences(case.tell(result), KNOWN[name], case.fitted)
        assert not found, "\n".join(found[:20])


def test_no_recorded_result_has_gone():
    assert KNOWN.keys() <= CASES.keys()


def test_a_difference_is_seen():
    known = {"a": [1.0, 2, "x"], "graph": [3.0]}
    assert not differences({"a": [1.0 + 1e-10, 2, "x"], "graph": [3.001]}, known, 1e-3)
    for change in (
        {"a": [1.0 + 1e-8, 2, "x"]},
        {"a": [1.0, 3, "x"]},
        {"a": [1.0, 2, "y"]},
        {"a": [1.0, 2]},
        {"a": None},
        {"graph": [3.01]},
        {"more": 1},
    ):
        assert len(differences(known | change, known, 1e-3)) == 1
    assert differences(known | {"graph": [3.001]}, known)
