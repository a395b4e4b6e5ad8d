"""`graphcuts-dp plan` as a user meets it."""

import json
from functools import partial

import pytest

import graphcuts_dp as gc

SIZES = ("--vertices", "5000", "--edges", "5e4", "--queries", "1e6")
PROMISE = ("--epsilon", "1", "--delta", "1e-6")


@pytest.fixture
def call(command_line):
    return partial(command_line, "plan")


def test_table(call):
    status, out, err = call(*SIZES, *PROMISE)
    assert (status, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "m = 50,000 (a public guess), k = 1,000,000" in lines[0]
    made = gc.plan(5000, edges=5e4, queries=10**6, epsilon=1.0, delta=1e-6)
    for cells in made.cells():
        assert " ".join(cells).strip() in lines
    assert lines[-1] == f"Advice: {made.advice}"


def test_target_error_adds_a_column(call):
    status, out, _ = call(*SIZES, *PROMISE, "--target-error", "5000")
    assert status == 0
    assert "; epsilon for an error of 5,000" in out
    assert "never" in out


def test_json_of_a_bipartite_plan(call):
    sizes = ("--vertices", "300,4000", "--bipartite", "--edges", "1e4", "--queries", "100")
    status, out, _ = call(*sizes, *PROMISE, "--beta", "0.1", "--json")
    assert status == 0
    made = gc.plan((300, 4000), edges=1e4, queries=100, epsilon=1.0, delta=1e-6, beta=0.1)
    assert json.loads(out) == made.to_dict()
    assert json.loads(out)["vertices"] == [300, 4000]


def test_flows_between_groups(call):
    status, out, _ = call(*SIZES, *PROMISE, "--groups", "5,50")
    assert status == 0
    lines = [line.split() for line in out.splitlines()]
    assert [line[1] for line in lines if line[:1] == ["flows"]] == ["cell", "union", "half"]
    assert "Flows: fixed k cells of the finest level" in out
    sides = ("--vertices", "300,4000", "--bipartite", "--groups", "2,10:3,20", "--json")
    status, out, _ = call(*SIZES[2:], *PROMISE, *sides)
    assert status == 0
    assert sum(row["method"] == "flows" for row in json.loads(out)["rows"]) == 3


@pytest.mark.parametrize(
    "wrong",
    [
        ("--epsilon", "0"),
        ("--epsilon", "nan"),
        ("--delta", "1"),
        ("--queries", "0"),
        ("--queries", "2.5"),
        ("--queries", "nan"),
        ("--edges", "1e8"),
        ("--edges", "nan"),
        ("--vertices", "many"),
        ("--vertices", "3,4"),
        ("--bipartite",),
        ("--bipartite", "--directed"),
        ("--beta", "1"),
        ("--target-error", "-1"),
        ("--groups", "50,5"),
        ("--groups", "0"),
        ("--groups", "6000"),
        ("--groups", "many"),
        ("--groups", "5:5"),
    ],
)
def test_bad_input_is_one_line_and_status_2(call, wrong):
    status, out, err = call(*SIZES, *PROMISE, *wrong)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1


LINE = ("--vertices", "100", "--edges", "400", "--queries", "20", "--delta", "0")


def test_several_epsilons_are_beside_each_other(call):
    status, told, _ = call(*LINE, "--epsilon", "0.5,1")
    assert status == 0
    assert "epsilon = 0.5   epsilon = 1" in told
    assert told.count("Advice: ") == 2
    laplace = next(line.split() for line in told.splitlines() if line.startswith("  laplace"))
    for epsilon, shown in zip((0.5, 1.0), laplace[-2:], strict=True):
        plan = gc.plan(100, edges=400, queries=20, epsilon=epsilon, delta=0.0)
        row = next(row for row in plan.rows if row.method == "laplace")
        assert float(shown.replace(",", "")) == pytest.approx(row.guaranteed, abs=0.5)
    status, told, _ = call(*LINE, "--epsilon", "0.5,1", "--json")
    assert [plan["epsilon"] for plan in json.loads(told)["plans"]] == [0.5, 1.0]
    assert "plans" not in json.loads(call(*LINE, "--epsilon", "1", "--json")[1])


def test_offline_rows_stand_where_the_first_plan_has_them(call):
    """The first epsilon alone would not have shown one of them."""
    sizes = ("--vertices", "200", "--edges", "2000", "--queries", "4", "--delta", "1e-6")
    status, out, _ = call(*sizes, "--epsilon", "0.5,1")
    assert status == 0
    lines = [line.split() for line in out.splitlines()]
    (place,) = [i for i, line in enumerate(lines) if line[:4] == ["offline", "MW", "fixed", "k"]]
    assert float(lines[place][4].replace(",", "")) > float(lines[place][5].replace(",", ""))
    assert lines[place + 1][:2] == ["tight", "MW"]
    assert not any(line[:3] == ["offline", "MW", "released"] for line in lines)
    assert lines[4][:3] == ["answers", "fixed", "k"]


def test_set_sizes_have_a_table(call):
    status, told, _ = call(*LINE, "--epsilon", "1", "--set-sizes", "10,40")
    assert status == 0
    assert "the cut holds about" in told
    status, told, _ = call(*LINE, "--epsilon", "1", "--set-sizes", "10,40", "--json")
    read = json.loads(told)
    assert read["set_sizes"] == [10, 40]
    assert read["held"] == pytest.approx([400 * d * d / 4950 for d in (10, 40)])
    assert len(read["expected_errors"]["binary"]) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--epsilon", "1,a"), "--epsilon is a number, or several"),
        (("--epsilon", "1,0"), "epsilon must be"),
        (("--epsilon", "1", "--set-sizes", "x"), "--set-sizes are whole numbers"),
        (("--epsilon", "1", "--set-sizes", "51"), "set sizes must be from 1 to 50"),
    ],
)
def test_wrong_lists_are_told_in_a_line(options, message, call):
    status, told, err = call(*LINE, *options)
    assert (status, told) == (2, "")
    assert message in err
    assert err.count("\n") == 1
