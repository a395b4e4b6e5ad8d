"""`graphcuts-dp audit` as a user meets it."""

import json
from functools import partial

import pytest

from graphcuts_dp.evaluation.audit import Claim
from tests.audits import registry
from tests.audits.base import Entry, Enumerated
from tests.audits.losses import DistributionPair


@pytest.fixture
def call(command_line):
    return partial(command_line, "audit")


def test_without_a_name_all_are_listed(call):
    status, out, _ = call()
    assert status == 0
    for entry in registry.ENTRIES:
        assert f"  {entry.name}\n" in out
    status, out, _ = call("--json")
    assert json.loads(out) == [entry.name for entry in registry.ENTRIES]


def test_table(call):
    """Exact, so that nothing is left to chance."""
    status, out, _ = call("net")
    assert status == 0
    (line,) = [line for line in out.splitlines() if line.strip().startswith("net")]
    assert line.split() == ["net", "1", "=", "0.837", "84", "of", "100", "2/2", "ok"]
    assert "found: exactly, or the loss is at least that" in out


def test_json_and_epsilon(call):
    status, out, _ = call("net", "sensing", "--epsilon", "0.5", "--json")
    assert status == 0
    net, sensing = json.loads(out)
    assert net["claim"] == {"value": 0.5, "delta": 0.0, "kind": "epsilon"}
    assert 0 < net["loss"] <= 0.5
    assert [variant["caught"] for variant in net["incorrect_variants"]] == [True, True]
    assert net["passed"]
    assert net["data"] == "made graphs"
    assert sensing["claim"]["kind"] == "rho"


def test_a_seed_makes_it_repeatable(call):
    quick = ("baseline: density only", "--quick", "--seed", "3", "--json")
    assert call(*quick)[:2] == call(*quick)[:2]


def test_an_audit_that_sees_less_than_half_says_why(call, monkeypatch):
    bits = DistributionPair("bits", [0.55, 0.45], [0.45, 0.55])
    little = Enumerated(claim=Claim(1.0), distributions=lambda: [bits], incorrect_variants={})
    entries = [
        Entry(name, lambda _: little, why_below_half="Made to be small.") for name in ("a", "b")
    ]
    full = Enumerated(claim=Claim(0.21), distributions=lambda: [bits], incorrect_variants={})
    entries[1] = Entry("b", lambda _: full, why_below_half="Not shown.")
    monkeypatch.setattr(registry, "ENTRIES", tuple(entries))
    status, out, _ = call("all")
    assert status == 0
    assert "a shows 20 % of its claim: Made to be small." in out
    assert "Not shown" not in out
    status, out, _ = call("all", "--json")
    assert [each["why_below_half"] for each in json.loads(out)] == ["Made to be small.", ""]


def test_status_1_and_a_line_for_each_failure(call, monkeypatch):
    bare, same = (
        DistributionPair("bare", [1.0, 0.0], [0.0, 1.0]),
        DistributionPair("same", [1.0], [1.0]),
    )
    leaks = Enumerated(
        claim=Claim(1.0), distributions=lambda: [bare], incorrect_variants={"tame": lambda: [same]}
    )
    blind = Enumerated(
        claim=Claim(1.0), distributions=lambda: [same], incorrect_variants={"tame": lambda: [same]}
    )
    entries = Entry("leaks", lambda _: leaks), Entry("blind", lambda _: blind)
    monkeypatch.setattr(registry, "ENTRIES", entries)
    status, out, _ = call("all")
    assert status == 1
    flat = " ".join(out.split())
    assert "REFUTED: leaks: at least inf on 'bare' by all outputs" in flat
    assert "MISSED: blind: incorrect variant 'tame', loss 0" in flat
    assert flat.count(" missed ") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nothing",), "no audit is called 'nothing'"),
        (("",), "no audit is called ''"),
        (("net", "--epsilon", "0"), "epsilon"),
        (("net", "--processes", "0"), "--processes"),
        (("net", "--seed", "-1"), "--seed"),
    ],
)
def test_mistakes_are_told_in_a_line(refused, arguments, said):
    assert said in refused(*arguments)
