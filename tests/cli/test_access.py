"""`graphcuts-dp serve access`: tokens, lists, and the log."""

import pytest

import graphcuts_dp as gc
from graphcuts_dp.ledger.opening import Store, create_ledger


@pytest.fixture
def call(command_line, tmp_path):
    store = Store(tmp_path / "mail.db", budget=1.0)
    create_ledger(store, gc.Graph([0], [1], vertices=3), protects="1 edge")
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


@pytest.mark.parametrize(
    ("words", "message"),
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
def test_what_is_refused_is_one_line(call, words, message):
    status, _, err = call(*words)
    assert (status, len(err.splitlines())) == (2, 1)
    assert message in err


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
