"""`graphcuts-dp serve access`: tokens, lists, and the log."""

import pytest

import graphcuts_dp as gc
from graphcuts_dp import Store
from graphcuts_dp.ledger.opening import create_ledger


@pytest.fixture
def call(command_line, tmp_path):
    store = Store(tmp_path / "mail.db", budget=1.0)
    create_ledger(store, gc.Graph([0], [1], vertices=3), privacy_unit="1 edge")
    return lambda verb, *rest: command_line("serve", "access", verb, "mail.db", *rest)


def test_people_come_and_go(done, told):
    token = told("add", "ann", "--epsilon", "1", "--queries", "10")["token"]
    assert token.startswith("gcdp_")
    assert "shown this once" in done("add", "bob", "--preapproved")[0]
    assert told("renew", "ann")["token"] != token
    done("revoke", "bob")
    people = [(each["name"], each["active"]) for each in told("list")]
    assert people == [("ann", True), ("bob", False)]
    shown, _ = done("list")
    assert "revoked" in shown
    assert token not in shown + done("log")[0]


def test_caps_above_the_budget_of_all_are_announced(done):
    for words, told in (
        (("ann", "--epsilon", "1"), False),
        (("bob", "--epsilon", "1.5"), True),
        (("cleo", "--epsilon", "0.5", "--delta", "1e-9"), True),
        (("dan",), False),
    ):
        assert ("above the store's budget" in done("add", *words)[1]) == told


def test_the_log_goes_to_a_file_and_on_in_the_same_chain(done, told, refused, tmp_path):
    done("list")  # makes the book
    assert "no line since" in refused("rotate", "--output", "a.jsonl")
    done("add", "ann")
    early = done("verify")[0].strip()
    done("add", "bob")
    first = told("rotate", "--output", "a.jsonl")
    assert (first["lines"], first["head"][:2]) == (2, "2:")
    done("add", "cleo")  # lines 3 and 4: that it was rotated, and this one
    second = told("rotate", "--output", "b.jsonl")
    assert (second["lines"], told("verify")["head"][:2]) == (2, "5:")
    assert told("verify", "--file", "a.jsonl", "--expect-head", early)["head"] == first["head"]
    words = ("verify", "--file", "b.jsonl", "--expect-head")
    assert told(*words, first["head"])["head"] == second["head"]
    assert "begins after the kept head" in refused(*words, early)
    other = first["head"][:-1] + ("1" if first["head"][-1] == "0" else "0")
    assert "not that of the kept head" in refused(*words, other)
    assert "exists" in refused("rotate", "--output", "b.jsonl")
    assert told("verify")["head"][:2] == "5:"  # and nothing was forgotten
    lines = (tmp_path / "b.jsonl").read_text().splitlines()
    (tmp_path / "c.jsonl").write_text("\n".join(lines).replace(first["head"], early))
    assert "altered at line 2" in refused("verify", "--file", "c.jsonl")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("add", "Ann"), "small letters"),
        (("add", "ann", "--role", "king"), "unknown --role king"),
        (("add", "ann", "--delta", "0.1"), "needs one of epsilon"),
        (("revoke", "nobody"), "nobody named"),
        (("renew", "nobody"), "nobody named"),
        (("verify", "--file", "none.jsonl"), "cannot read"),
        (("verify", "--expect-head", "5"), "a head is"),
    ],
)
def test_what_is_refused_is_one_line(call, words, message):
    status, _, err = call(*words)
    assert (status, len(err.splitlines())) == (2, 1)
    assert message in err


def test_all_tokens_are_withdrawn_when_the_latest_registry_is_lost(done, told, refused, tmp_path):
    registry = tmp_path / "mail.db-server"
    done("add", "ann", "--preapproved")
    before = registry.read_bytes()
    done("revoke", "ann")
    registry.write_bytes(before)
    for words in (("list",), ("add", "bob"), ("renew", "ann"), ("log",)):
        said = refused(*words)
        assert "tokens revoked since would work again" in said
        assert "serve access revoke-all" in said
    assert told("revoke-all")["people"] == 1
    (ann,) = told("list")
    assert (ann["active"], ann["preapproved"]) == (False, False)
    done("renew", "ann")
    registry.unlink()
    assert "is missing: bring it back" in refused("list")
    assert "0 people" in done("revoke-all")[0]
    assert told("list") == []


def test_no_store_no_people(command_line):
    status, _, err = command_line("serve", "access", "list", "none.db")
    assert (status, "does not exist" in err) == (2, True)


def test_the_log_is_verified_against_a_head(done, refused, tmp_path):
    done("add", "ann")
    head = done("verify")[0].strip()
    assert head.startswith("1:")
    done("add", "bob")
    assert done("verify", "--expect-head", head)[0].startswith("2:")
    done("log", "-o", "audit.jsonl")
    done("verify", "--file", "audit.jsonl", "--expect-head", head)
    lines = (tmp_path / "audit.jsonl").read_text().splitlines()
    (tmp_path / "short.jsonl").write_text("\n".join(lines[:1]))
    short = ("verify", "--file", "short.jsonl", "--expect-head", head)
    assert "lines are missing" in refused(*short)
    (tmp_path / "changed.jsonl").write_text("\n".join(lines).replace("ann", "eve"))
    assert "altered at line 1" in refused("verify", "--file", "changed.jsonl")


def test_limits_change_as_stated_and_others_stay(done, told, refused):
    done("add", "ann", "--epsilon", "1", "--queries", "50")
    person = told("limits", "ann", "--delta", "1e-6", "--preapproved", "yes")
    stated = {"epsilon": 1.0, "delta": 1e-6, "queries": 50, "preapproved": True}
    assert {name: person[name] for name in stated} == stated
    for words, message in (
        (("ann",), "state the limits that change"),
        (("nobody", "--epsilon", "1"), "nobody named"),
        (("ann", "--epsilon", "-1"), "--epsilon"),
    ):
        assert message in refused("limits", *words)
    assert [each["delta"] for each in told("list")] == [1e-6]
    assert "0.5" in done("limits", "ann", "--epsilon", "0.5")[0]
    done("limits", "ann", "--preapproved", "no")
    assert told("list")[0]["preapproved"] is False
