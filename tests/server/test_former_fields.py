"""A field of version 0.1 is refused with its new name; what was sent is not repeated."""

import pytest
from server_cases import TERMS, problem, told

GRANT = {"reader": "ann", "allowed": True}
PLAN = {"epsilon": 1.0, "queries": 10}
CUT = {"S": ["v1"], "T": ["v2"]}
SENT = "what-ann-sent"
METHODS = {"grants": "PUT"}


@pytest.fixture
def ann(office):
    """An analyst with a session."""
    office.add("ann", preapproved=True)
    told(office.open("ann"), 201)
    return office


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize(
    ("who", "path", "body", "former", "now"),
    [
        ("curator", "grants", GRANT, "owner", "analyst"),
        ("ann", "sessions", TERMS, "most_right", "max_right_size"),
        ("ann", "sessions", TERMS, "most_spectral", "max_spectral_norm"),
        ("ann", "forecast", TERMS, "most_right", "max_right_size"),
    ],
)
def test_a_former_field_gives_the_new_one(ann, who, path, body, former, now):
    reply = ann.send(who, METHODS.get(path, "POST"), f"/v1/{path}", {**body, former: SENT})
    found = problem(reply, "value", 422)
    assert found["detail"] == f"body.{former}: is now called {now}"
    assert {"field": ["body", former], "problem": f"is now called {now}"} in found["errors"]
    assert SENT not in reply.text


def test_a_former_field_within_another_gives_the_new_one(ann):
    body = {"terms": {**TERMS, "most_right": 3}, "queries": [CUT]}
    found = problem(ann.send("ann", "POST", "/v1/dummy", body), "value", 422)
    assert found["detail"] == "body.terms.most_right: is now called max_right_size"


def test_another_unknown_field_is_only_refused(ann):
    found = problem(ann.send("ann", "POST", "/v1/plan", {**PLAN, "wrong": 1}), "value", 422)
    assert "is now called" not in found["detail"]


def test_replies_have_the_names_of_today(ann):
    session = ann.get("ann", "sessions")["sessions"][0]
    assert session["analyst"] == "ann"
    assert "owner" not in session
    assert "weight_cap" not in ann.get("ann", "graph")
    ann.add("bob")
    grant = {"reader": "bob", "analyst": "ann", "allowed": True}
    told(ann.send("curator", "PUT", "/v1/grants", grant), 204)
