"""What a report says of people with more rows than count, compared with the table itself."""

import pandas
import pytest

import graphcuts_dp as gc
from graphcuts_dp.reports.release_report import report_of

BOUND = 3
COUNT = 40  # rows of the one person
SHARE = f"each of these rows counts for a share, {BOUND} together"


def trips():
    """One person with 40 rows from a to b, and one with a single row from b to a."""
    frame = pandas.DataFrame(
        {
            "user": ["ann"] * COUNT + ["ben"],
            "source": ["a"] * COUNT + ["b"],
            "target": ["b"] * COUNT + ["a"],
        }
    )
    return gc.Rows.of(frame, vertices=["a", "b"], columns=gc.Columns(user="user"), kind="directed")


@pytest.mark.parametrize("whole", [False, True])
def test_a_report_says_of_which_rows_the_total_is_and_how_further_rows_count(whole, tmp_path):
    rows, path = trips(), tmp_path / "flows.csv"
    unit = gc.PrivacyUnit.user(max_contributions=BOUND)
    groups = gc.Groups.of({"a": "north", "b": "south"}, rows)
    workload = {"workload": gc.FlowWorkload(whole=True)} if whole else {}
    flows = gc.release_flows(rows, groups, epsilon=1.0, privacy_unit=unit, **workload)
    flows.save(path)
    report = report_of(f"{path}.json")
    (in_all,) = (text for text in report.published if text.startswith("In all"))
    assert in_all.startswith(f"In all, of the rows that count (at most {BOUND} a person): ")
    assert any(SHARE in text for text in report.left_out) is not whole


def test_a_total_of_all_rows_has_no_reservation(tmp_path):
    rows, path = trips(), tmp_path / "flows.csv"
    groups = gc.Groups.of({"a": "north", "b": "south"}, rows)
    gc.release_flows(rows, groups, epsilon=1.0, privacy_unit="row").save(path)
    assert any(text.startswith("In all: ") for text in report_of(f"{path}.json").published)
