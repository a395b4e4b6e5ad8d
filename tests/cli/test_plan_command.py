"""`graphcuts-dp plan`, and `plan --explain`, as a user meets them."""

import math
from functools import partial

import pytest

import graphcuts_dp as gc
from graphcuts_dp.estimate.strategy import equal_groups

SIZES = ("--n", "5000", "--edges", "5e4", "--queries", "1e6")
BUDGET = ("--epsilon", "1", "--delta", "1e-6")


@pytest.fixture
def call(command_line):
    return partial(command_line, "plan")


@pytest.mark.thorough
def test_a_table_with_all_that_can_be_added_to_it(call):
    added = ("--target-error", "5000", "--groups", "5,50")
    status, out, err = call(*SIZES, *BUDGET, *added)
    assert (status, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "m = 50,000 (a public guess), k = 1,000,000" in lines[0]
    assert "; epsilon for an error of 5,000" in lines[0]
    made = gc.plan(5000, edges=5e4, queries=10**6, epsilon=1.0, delta=1e-6)
    assert any(line.startswith("tight MW any k 7,947") for line in lines)
    assert [line.split()[1] for line in lines if line.startswith("flows")] == [
        *("cell", "union", "half")
    ]
    assert f"Advice: {made.advice}" in lines


def test_json_of_a_plan_for_two_sides(told):
    sizes = ("--n", "300,4000", "--edges", "1e4", "--queries", "100", "--groups", "2,10:3,20")
    read = told(*sizes, *BUDGET, "--queries", "beta=0.1")
    asked = gc.SessionWorkload(queries=100, beta=0.1, expected_edges=1e4)
    made = gc.plan((300, 4000), queries=asked, epsilon=1.0, delta=1e-6)
    assert read["n"] == [300, 4000]
    assert sum(row["method"] == "flows" for row in read["rows"]) == 3
    rest = [row for row in read["rows"] if row["method"] != "flows"]
    assert {**made.to_dict(), "rows": rest} == made.to_dict()


def test_plans_for_arcs_and_for_linear_queries(told):
    asked = {"edges": 1e4, "epsilon": 1.0, "delta": 1e-6}
    words = ("--edges", "1e4", *BUDGET, "--queries")
    read = told("--n", "1000", "--kind", "directed", *words, "100")
    made = gc.plan(1000, directed=True, queries=100, **asked)
    assert (read["directed"], read["rows"]) == (True, made.to_dict()["rows"])
    read = told("--n", "800,600", *words, "1e6,linear,max-spectral-norm=55", "--rank", "2")
    assert read["rank"] == 2
    assert {"mirror-descent", "sensing"} < {row["method"] for row in read["rows"]}


def test_a_guarantee_is_explained(done, told):
    out, _ = done("--explain", "--epsilon", "1", "--privacy-unit", "vertex:max-degree=50")
    assert "any one vertex with all its edges" in out
    assert "0.731" in out
    read = told("--explain", "--epsilon", "1")
    assert read["privacy_unit"] == "1 edge"
    (half,) = (each for each in read["odds"] if each["prior"] == 0.5)
    assert half["highest"] == pytest.approx(math.e / (1 + math.e))


PLAN = (*SIZES, *BUDGET)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "a plan needs --n 5000 and --epsilon 1"),
        (SIZES, "a plan needs --epsilon 1"),
        (BUDGET, "a plan needs --n 5000"),
        ((*PLAN, "--epsilon", "1,a"), "--epsilon must be a number"),
        (("--n", "50", *BUDGET, "--queries", "0"), "--queries: queries must be"),
        ((*PLAN, "--rank", "2"), "are for linear=True"),
        ((*PLAN, "--n", "3,4,5"), "--n is a whole number"),
        ((*PLAN, "--target-error", "-1"), "must be a positive"),
        ((*PLAN, "--groups", "6000"), "groups"),
        ((*PLAN, "--groups", "many"), "--groups are whole numbers"),
        ((*PLAN, "--groups", "5:5"), "--groups is LEFT:RIGHT"),
    ],
)
def test_bad_input_is_one_line_and_status_2(refused, words, message):
    assert message in refused(*words)


def test_a_key_that_is_typed_as_an_option_is_put_right(call, command_line):
    assert call("--linear") == (2, "", "error: --linear is typed as --queries QUERIES,linear\n")
    *_, told = command_line("answer", "r.graphml", "--vertices", "60")
    assert "No such option" in told
    assert "see graphcuts-dp answer --help" in told


ROWS = ("--n", "40", "--groups", "2,8", "--epsilon", "1")


def test_flows_of_rows_by_periods(done, told, refused):
    months = ("--periods", "2026-01..2026-12", "--by", "quarter,month")
    out, _ = done(*ROWS, *months)
    lines = out.splitlines()
    assert "m =" not in lines[0]
    assert lines[0].endswith("privacy unit 1 row")
    assert "Flows of rows in one month" in out
    assert "Advice" not in out
    owned = told(
        *ROWS, *months, "--privacy-unit", "user:max-contributions=9", "--counting", "weight"
    )
    assert owned["flows"].startswith("Flows of units of weight in one month")
    table = gc.planning.RowTable(
        groups=equal_groups(40, [2, 8]),
        counting="weight",
        periods="2026-01..2026-12",
        by=["quarter", "month"],
    )
    made = gc.plan(
        40, epsilon=1.0, groups=table, privacy_unit=gc.PrivacyUnit.user(max_contributions=9)
    )
    assert owned == made.to_dict()
    assert out.count("flows ") == len(made.shown)
    assert "add --groups" in refused(*ROWS[:2], *ROWS[4:], *months)
    assert "--periods" in refused(*ROWS, "--by", "month")
