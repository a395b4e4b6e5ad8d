"""A field of version 0.1 is refused with its new name and without the value sent."""

import pytest
from server_cases import TERMS, body_of, refusal_of

GRANT = {"reader": "ann", "allowed": True}
PLAN = {"epsilon": 1.0, "queries": 10}
CUT = {"S": ["v1"], "T": ["v2"]}
SENT_VALUE = "value-of-ann"


@pytest.fixture
def server_of_ann(server):
    """Return a server on which Ann has a session."""
    server.add("ann", preapproved=True)
    body_of(server.open("ann"), 201)
    return server


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize(
    ("person", "method", "path", "body", "former_name", "new_name"),
    [
        ("curator", "PUT", "grants", GRANT, "owner", "analyst"),
        ("ann", "POST", "sessions", TERMS, "most_right", "max_right_size"),
        ("ann", "POST", "sessions", TERMS, "most_spectral", "max_spectral_norm"),
        ("ann", "POST", "forecast", TERMS, "most_right", "max_right_size"),
    ],
)
def test_a_former_field_is_refused_with_its_new_name(
    server_of_ann, person, method, path, body, former_name, new_name
):
    reply = server_of_ann.send(person, method, f"/v1/{path}", {**body, former_name: SENT_VALUE})
    refusal = refusal_of(reply, "value", 422)
    problem = f"is now called {new_name}"
    assert refusal["detail"] == f"body.{former_name}: {problem}"
    assert {"field": ["body", former_name], "problem": problem} in refusal["errors"]
    assert SENT_VALUE not in reply.text


def test_a_nested_former_field_is_refused_with_its_new_name(server_of_ann):
    body = {"terms": {**TERMS, "most_right": 3}, "queries": [CUT]}
    refusal = refusal_of(server_of_ann.send("ann", "POST", "/v1/dummy", body), "value", 422)
    assert refusal["detail"] == "body.terms.most_right: is now called max_right_size"


def test_an_unknown_field_that_is_no_former_name_gets_no_new_name(server_of_ann):
    reply = server_of_ann.send("ann", "POST", "/v1/plan", {**PLAN, "wrong": 1})
    assert "is now called" not in refusal_of(reply, "value", 422)["detail"]


def test_replies_have_no_former_names(server_of_ann):
    session = server_of_ann.get("ann", "sessions")["sessions"][0]
    assert session["analyst"] == "ann"
    assert "owner" not in session
    assert "weight_cap" not in server_of_ann.get("ann", "graph")


def test_a_grant_with_the_new_names_is_accepted(server_of_ann):
    server_of_ann.add("bob")
    grant = {"reader": "bob", "analyst": "ann", "allowed": True}
    body_of(server_of_ann.send("curator", "PUT", "/v1/grants", grant), 204)
