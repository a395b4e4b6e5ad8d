"""`graphcuts-dp explain`."""

import json
import math

import pytest


def test_it_says_whom_a_promise_protects_and_how_well(call):
    status, told, _ = call(
        "explain", "--protect", "vertex", "--degree-bound", "50", "--epsilon", "1"
    )
    assert status == 0
    assert "any one vertex with all its edges" in told
    assert "0.731" in told


def test_as_json(call):
    status, told, _ = call("explain", "--epsilon", "1", "--priors", "0.5", "--json")
    read = json.loads(told)
    assert status == 0
    assert read["protects"] == "1 edge"
    (odds,) = read["odds"]
    assert odds["lowest"] == pytest.approx(1 / (1 + math.e))
    assert odds["highest"] == pytest.approx(math.e / (1 + math.e))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--priors", "half"), "--priors are numbers with commas between"),
        (("--priors", "2"), "a prior is a probability"),
        (("--protect", "owner"), "needs --at-most"),
        (("--protect", "vertex"), "needs --degree-bound"),
    ],
)
def test_mistakes_are_told_in_a_line(call, words, message):
    status, _, err = call("explain", "--epsilon", "1", *words)
    assert status == 2
    assert message in err
    assert err.count("\n") == 1
