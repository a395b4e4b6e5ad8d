"""`graphcuts-dp serve access`: tokens, lists, and the log."""

import json

import pytest

import graphcuts_dp as gc
from graphcuts_dp.ledger.opening import Store, create_ledger


@pytest.fixture
def access(call, tmp_path):
    create_ledger(
        Store(tmp_path / "mail.db", budget=1.0), gc.Graph([0], [1], vertices=3), protects="1 edge"
    )
    return lambda verb, *rest: call("serve", "access", verb, "mail.db", *rest)


def test_people_come_and_go(access):
    status, out, _ = access("add", "ann", "--epsilon", "1", "--queries", "10", "--json")
    token = json.loads(out)["token"]
    assert (status, token.startswith("gcdp_")) == (0, True)
    assert "shown this once" in access("add", "bob", "--preapproved")[1]
    status, out, _ = access("renew", "ann", "--json")
    assert json.loads(out)["token"] != token
    assert access("revoke", "bob")[0] == 0
    people = json.loads(access("list", "--json")[1])
    assert [(each["name"], each["active"]) for each in people] == [("ann", True), ("bob", False)]
    shown = access("list")[1]
    assert "revoked" in shown
    assert token not in shown + access("log")[1]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("add", "Ann"), "small letters"),
        (("add", "ann", "--role", "king"), "unknown --role king"),
        (("add", "ann", "--delta", "0.1"), "needs one on epsilon"),
        (("revoke", "nobody"), "nobody named"),
        (("renew", "nobody"), "nobody named"),
        (("verify", "--file", "none.jsonl"), "cannot read"),
        (("verify", "--expect-head", "5"), "a head is"),
    ],
)
def test_what_is_refused_is_one_line(access, words, told):
    status, _, err = access(*words)
    assert status == 2
    assert told in err
    assert len(err.splitlines()) == 1


def test_no_store_no_people(call):
    status, _, err = call("serve", "access", "list", "none.db")
    assert (status, "does not exist" in err) == (2, True)


def test_the_log_is_verified_against_a_head(access, tmp_path):
    access("add", "ann")
    head = access("verify")[1].strip()
    assert head.startswith("1:")
    access("add", "bob")
    assert access("verify", "--expect-head", head)[1].startswith("2:")
    assert access("log", "-o", "audit.jsonl")[0] == 0
    assert access("verify", "--file", "audit.jsonl", "--expect-head", head)[0] == 0
    lines = (tmp_path / "audit.jsonl").read_text().splitlines()
    (tmp_path / "short.jsonl").write_text("\n".join(lines[:1]))
    status, _, err = access("verify", "--file", "short.jsonl", "--expect-head", head)
    assert (status, "lines are missing" in err) == (2, True)
    (tmp_path / "changed.jsonl").write_text("\n".join(lines).replace("ann", "eve"))
    status, _, err = access("verify", "--file", "changed.jsonl")
    assert (status, "altered at line 1" in err) == (2, True)
