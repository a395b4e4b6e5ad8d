"""Parameters of the papers on the command line: every one, with every construction that has it."""

import re

import pytest
from parameter_cases import EVERYTHING, NUMBERS, STEPS, typed, values_of

import graphcuts_dp as gc

BUDGET = ("--epsilon", "1", "--delta", "1e-6")


@pytest.fixture(autouse=True)
def files(tmp_path):
    gc.Graph([0, 1, 2, 4], [1, 2, 3, 5], vertices=30).write(tmp_path / "in.csv")
    (tmp_path / "cuts.jsonl").write_text('{"S": [0, 1]}\n{"S": [0], "T": [4, 5]}\n')


@pytest.mark.thorough(cases=1)
@pytest.mark.usefixtures("no_forecast")
@pytest.mark.parametrize(("method", "calibration"), EVERYTHING)
def test_a_session_takes_every_parameter(told, method, calibration):
    values = values_of(method, calibration)
    started = told(
        *("session", "start", "in.csv", "--store", "s.db", "--vertices", "30", *BUDGET),
        *("--queries", "100", "--method", typed(method, values)),
    )
    assert "error_bound" in started
    with gc.open_session(
        gc.Graph([0, 1, 2, 4], [1, 2, 3, 5], vertices=30), store="s.db"
    ) as session:
        parameters = session.learning_parameters.chosen
    expected = {name: values[name] for name in parameters}
    assert parameters == pytest.approx(expected)
    assert (started["error_bound"] is None) is ("void_reason" in started)


@pytest.mark.thorough(cases=8)
@pytest.mark.parametrize("calibration", NUMBERS)
@pytest.mark.parametrize("rule", STEPS)
def test_a_release_takes_every_parameter(told, rule, calibration):
    values = {"calibration": calibration, **STEPS[rule], **NUMBERS[calibration]}
    text = ",".join(f"{name}={value}" for name, value in values.items())
    made = told(
        *("release-iteratively", "in.csv", "out.graphml", "--vertices", "30", *BUDGET),
        *("--queries", "cuts.jsonl", "--seed", "1", "--construction", f"{rule}:{text}"),
    )
    assert made["rounds"].endswith(f"of at most {NUMBERS[calibration]['rounds']} ({calibration})")
    assert ("error_at_most" in made) is not made.get("error", "").startswith("no bound holds")


def test_a_dry_run_prints_parameters_that_can_be_pasted(told):
    line = ("session", "start", "none.csv", "--vertices", "200", *BUDGET, "--queries", "50")
    line = (*line, "--store", "s.db", "--dry-run", "--method")
    first = told(*line, "frieze-kannan:calibration=dr14,updates=40")
    (note,) = (note for note in first["notes"] if note.startswith("Its parameters"))
    text = note.split(": ")[1].rstrip(".")
    again = told(*line, f"frieze-kannan:calibration=dr14,{text}")
    (note_again,) = (note for note in again["notes"] if note.startswith("Its parameters"))
    numbers = [list(map(float, re.findall(r"[\d.]+\d", each))) for each in (note, note_again)]
    assert numbers[0] == pytest.approx(numbers[1], rel=1e-9)
    assert again["errors"][0]["bound"] <= first["errors"][0]["bound"] + 2


def test_a_release_that_would_run_no_round_is_refused_in_a_dry_run_and_before_it_is_charged(
    refused, tmp_path
):
    line = ("release-iteratively", "in.csv", "out.graphml", "--vertices", "30", *BUDGET)
    line = (*line, "--queries", "cuts.jsonl", "--construction")
    line = (*line, "multiplicative-weights:calibration=gru12")
    for more in (("--dry-run",), ("--store", "s.db")):
        assert "would run no round on any graph of this size" in refused(*line, *more)
    assert not (tmp_path / "s.db").exists()
