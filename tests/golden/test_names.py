"""No name that a user can type vanishes unnoticed: to rename one, record the names anew.

`python scripts/golden.py --names` does that; the change of the record shows what has gone.
"""

import json
from pathlib import Path

import pytest
from golden_cases import CASES
from golden_names import names

RECORDED = json.loads((Path(__file__).parent / "names.json").read_text())
FOUND = names()


@pytest.mark.parametrize("table", RECORDED)
def test_the_names_of_a_table_are_those_recorded(table):
    assert FOUND.get(table) == RECORDED[table], "python scripts/golden.py --names records them"


def test_every_table_is_recorded():
    assert FOUND.keys() == RECORDED.keys()
    assert all(RECORDED.values())


# Made of public tables and of no cases of their own, or slow: their audits run them.
UNMADE = ("distances: HR12", "distinguisher: gaussian-rank-one", "budget of a store")


def test_every_mechanism_that_is_audited_has_a_recorded_result():
    missing = [
        name
        for name in RECORDED["mechanisms that are audited"]
        if not name.startswith(UNMADE) and not any(case.startswith(name) for case in CASES)
    ]
    assert not missing
