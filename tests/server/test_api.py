"""API v1: sessions, approvals, caps, budgets, keys, histories."""

import json

import numpy as np
import pytest
from server_cases import TERMS, Office, made_graph

import graphcuts_dp as gc
from graphcuts_dp.server.book import verify

LEFT = [f"v{i}" for i in range(12)]


@pytest.fixture
def ann(office):
    office.add("ann", preapproved=True)
    assert office.open("ann").status_code == 201
    return office


def told(reply, status=200):
    assert reply.status_code == status, reply.text
    return reply.json() if reply.content else None


def problem(reply, status, kind):
    assert reply.status_code == status, reply.text
    assert reply.headers["content-type"] == "application/problem+json"
    found = reply.json()
    assert {"type", "title", "status", "detail"} <= set(found)
    assert (found["status"], found["type"]) == (status, f"urn:graphcuts-dp:{kind}")
    return found


def test_the_public_side_of_the_graph(ann):
    found = told(ann.send("ann", "GET", "/v1/graph"))
    assert found["vertices"] == [24]
    assert found["groups"] == [[{"level": "group", "names": ["left", "right"], "sizes": [12, 12]}]]
    labels = told(ann.send("ann", "GET", "/v1/vertices?first=20&limit=100"))
    assert (labels["total"], labels["labels"]) == (24, ["v20", "v21", "v22", "v23"])


def test_an_answer_is_that_of_the_store(ann):
    found = told(ann.ask("ann", [(LEFT, None), (["v1"], ["v2"])]))
    assert (found["new"], len(found["answers"])) == (2, 2)
    ann.stop()
    with gc.open_session(ann.graph, store=ann.path, name="ann.default") as session:
        mine = [entry.answer for entry in session.history]
        assert [each.value for each in mine] == [each["value"] for each in found["answers"]]
        assert session.ask(LEFT).value == found["answers"][0]["value"]
    ann.start()


def test_groups_labels_and_bits_are_one_query(ann):
    sets = [("@left", "@right"), (LEFT, None), ({"bits": "//AA"}, {"bits": "AA//"})]
    found = [told(ann.ask("ann", [each])) for each in sets]
    assert [each["new"] for each in found] == [1, 0, 0]
    assert len({json.dumps(each["answers"]) for each in found}) == 1


def test_a_key_has_one_answer_and_one_charge(ann):
    asked = [(["v1"], ["v2"]), (["v3"], None)]
    first = told(ann.ask("ann", asked, key="k"))
    again = told(ann.ask("ann", asked, key="k"))
    assert again["answers"] == first["answers"]
    assert (first["new"], again["new"]) == (2, 0)
    problem(ann.ask("ann", asked[:1], key="k"), 409, "key")
    problem(ann.ask("ann", asked, key="k", unguaranteed=True), 409, "key")
    assert told(ann.send("ann", "GET", "/v1/sessions/ann.default"))["answers"] == 2


def test_keys_of_others_are_others(ann):
    ann.add("bob", preapproved=True)
    ann.open("bob")
    assert told(ann.ask("ann", [(["v1"], None)], key="k"))["new"] == 1
    assert told(ann.ask("bob", [(["v2"], None)], key="k"))["new"] == 1


def test_an_exhausted_session_is_a_conflict_that_says_what_is_left(ann):
    told(ann.ask("ann", [([f"v{i}"], None) for i in range(8)]))
    found = problem(ann.ask("ann", [([f"v{i}"], None) for i in range(8, 12)]), 409, "exhausted")
    assert found["left"] == {"queries": 2}
    told(ann.ask("ann", [(["v8"], None), (["v9"], None)]))
    found = problem(ann.ask("ann", [(["v10"], None)]), 409, "exhausted")
    assert found["left"] == {"queries": 0}
    assert told(ann.ask("ann", [(["v1"], None)]))["new"] == 0  # on the record


def test_the_budget_of_the_graph_is_a_conflict(ann):
    for number in range(3):
        told(ann.open("ann", f"s{number}"), 201)
    found = problem(ann.open("ann", "more"), 409, "budget")
    assert "epsilon = 2" in found["detail"]
    spent = told(ann.send("ann", "GET", "/v1/budget"))
    assert spent["all"] == {"epsilon": 2.0, "delta": 0.0, "cap_epsilon": 2.0, "cap_delta": 0.0}
    assert spent["yours"]["epsilon"] == 2.0
    state = told(ann.send("ann", "GET", "/v1/sessions"))["sessions"]
    assert [each["id"] for each in state if each["state"] == "open"] == [
        "ann.default", "ann.s0", "ann.s1", "ann.s2"
    ]  # fmt: skip


def test_a_session_waits_for_the_curator(office):
    office.add("bob")
    assert told(office.open("bob"), 201)["state"] == "waiting"
    problem(office.ask("bob", [(["v1"], None)]), 409, "waiting")
    assert told(office.send("bob", "GET", "/v1/budget"))["all"]["epsilon"] == 0
    path = "/v1/sessions/bob.default/decision"
    problem(office.send("bob", "POST", path, {"approve": True}), 403, "role")
    assert told(office.send("curator", "POST", path, {"approve": True}))["state"] == "open"
    problem(office.send("curator", "POST", path, {"approve": True}), 409, "decided")
    assert told(office.ask("bob", [(["v1"], None)]))["new"] == 1
    assert office.log()[-5:] == ["person", "request", "approved", "ask", "answered"]


def test_a_session_that_is_refused_stays_so(office):
    office.add("bob")
    office.open("bob")
    body = {"approve": False, "note": "too much"}
    found = told(office.send("curator", "POST", "/v1/sessions/bob.default/decision", body))
    assert (found["state"], found["note"]) == ("refused", "too much")
    problem(office.ask("bob", [(["v1"], None)]), 409, "refused")
    assert told(office.open("bob"), 201)["state"] == "refused"


def test_the_same_request_is_one_session_and_other_terms_are_refused(ann):
    assert told(ann.open("ann"), 201)["state"] == "open"
    problem(ann.open("ann", epsilon=0.25), 409, "other-terms")
    assert told(ann.send("ann", "GET", "/v1/budget"))["yours"]["epsilon"] == 0.5


def test_sessions_of_mirror_descent_have_a_norm(tmp_path):
    """Its name and the most right vertices reach the session, and come back as terms."""
    rows, columns = np.divmod(np.arange(0, 240, 2), 12)
    sides = gc.BipartiteGraph(rows, columns, left=20, right=12)
    terms = {"epsilon": 2.0, "delta": 1e-6, "queries": 5, "method": "mirror-descent"}
    with Office(tmp_path, graph=sides, groups=False, budget=(9.0, 1e-4)) as office:
        office.add("ann", preapproved=True)
        forecast = {**terms, "norm": "2,p", "most_right": 2}
        assert told(office.send("ann", "POST", "/v1/forecast", forecast))["epsilon"] <= 2.0
        opened = told(office.open("ann", **forecast), 201)
        assert opened["terms"]["norm"] == "2,p"
        assert opened["terms"]["most_right"] == 2
        assert told(office.open("ann", **forecast), 201)["state"] == "open"
        problem(office.open("ann", **{**forecast, "norm": "l2"}), 409, "other-terms")
        assert told(office.ask("ann", [([0, 1], [3, 4])]))["new"] == 1
        problem(office.ask("ann", [([0, 1], [3, 4, 5])]), 422, "value")
        for wrong in ({"norm": "l0"}, {"norm": "x" * 61}, {"norm": 2}, {"most_right": 0}):
            assert office.open("ann", "b", **{**forecast, **wrong}).status_code == 422
        plain = {**terms, "method": "gaussian", "queries": 2}
        assert told(office.open("ann", "c", **plain), 201)["state"] == "open"
        dummy = {"terms": forecast, "queries": [{"S": [0], "T": [1]}]}
        assert len(told(office.send("ann", "POST", "/v1/dummy", dummy))["answers"]) == 1
        assert told(office.send("ann", "GET", "/v1/budget"))["yours"]["epsilon"] <= 4.0
        before = office.desk.requests()
        assert "norm" not in before[-1].terms  # as sessions that were asked for earlier
        assert before[0].terms["norm"] == "2,p"


def test_sessions_start_from_the_groups_of_the_server(tmp_path):
    start = {**TERMS, "epsilon": 2.0, "delta": 1e-6, "method": "frieze-kannan", "start": "groups"}
    for number, groups in enumerate((True, False)):
        folder = tmp_path / str(number)
        folder.mkdir()
        with Office(folder, groups=groups, budget=(9.0, 1e-4)) as office:
            office.add("ann", preapproved=True)
            dummy = {"terms": start, "queries": [{"S": ["v1"]}]}
            if not groups:
                for place, body in (("forecast", start), ("dummy", dummy)):
                    refused = office.send("ann", "POST", f"/v1/{place}", body)
                    assert "no public groups to start from" in refused.text
                    assert refused.status_code == 422
                assert office.open("ann", **start).status_code == 422
                continue
            told(office.send("ann", "POST", "/v1/forecast", start))
            assert len(told(office.send("ann", "POST", "/v1/dummy", dummy))["answers"]) == 1
            opened = told(office.open("ann", **start), 201)
            assert (opened["state"], opened["terms"]["start"]) == ("open", "groups")
            assert office.open("ann", "b", **{**start, "start": "degrees"}).status_code == 422
            told(office.open("ann", "c", **{**TERMS, "epsilon": 0.1}), 201)
            assert "start" not in office.desk.requests()[-1].terms  # as in earlier sessions


def test_caps_hold_beside_the_budget(office):
    office.add("cleo", preapproved=True, epsilon=0.75, queries=25)
    told(office.open("cleo", "a"), 201)
    found = problem(office.open("cleo", "b"), 409, "budget")
    assert "your cap (epsilon = 0.75)" in found["detail"]
    told(office.open("cleo", "c", epsilon=0.25, queries=15), 201)
    body = {"epsilon": 2.0, "preapproved": True, "queries": 25}
    told(office.send("curator", "PUT", "/v1/people/cleo", body), 204)
    assert (
        "your cap of 25 queries leaves 0"
        in problem(office.open("cleo", "b"), 409, "budget")["detail"]
    )


def test_caps_hold_when_the_curator_approves(office):
    office.add("bob", epsilon=0.5)
    for name in ("a", "b"):
        assert told(office.open("bob", name), 201)["state"] == "waiting"
    path = "/v1/sessions/bob.{}/decision"
    told(office.send("curator", "POST", path.format("a"), {"approve": True}))
    problem(office.send("curator", "POST", path.format("b"), {"approve": True}), 409, "budget")
    found = told(office.send("bob", "GET", "/v1/sessions/bob.b"))
    assert found["state"] == "waiting"


def test_nobody_reads_another_s_answers_unless_the_curator_says_so(ann):
    ann.add("bob")
    told(ann.ask("ann", [(["v1"], None)]))
    paths = ["", "/answers", "/export"]
    for path in paths:
        missing = ann.send("bob", "GET", f"/v1/sessions/ann.default{path}")
        nothing = ann.send("bob", "GET", f"/v1/sessions/ann.nothing{path}")
        assert problem(missing, 404, "404") == problem(nothing, 404, "404")
    assert told(ann.send("bob", "GET", "/v1/sessions")) == {"sessions": []}
    grant = {"reader": "bob", "owner": "ann", "allowed": True}
    problem(ann.send("bob", "PUT", "/v1/grants", grant), 403, "role")
    told(ann.send("curator", "PUT", "/v1/grants", grant), 204)
    for path in paths:
        assert ann.send("bob", "GET", f"/v1/sessions/ann.default{path}").status_code == 200
    body = {"queries": [{"S": ["v2"]}]}
    problem(ann.send("bob", "POST", "/v1/sessions/ann.default/answers", body), 403, "not-owner")
    told(ann.send("curator", "PUT", "/v1/grants", {**grant, "allowed": False}), 204)
    assert ann.send("bob", "GET", "/v1/sessions/ann.default").status_code == 404


def test_history_and_export_tell_the_same(ann):
    found = told(ann.ask("ann", [([f"v{i}"], ["v20"]) for i in range(5)]))["answers"]
    path = "/v1/sessions/ann.default/answers"
    page = told(ann.send("ann", "GET", f"{path}?after=1&limit=3"))
    assert (page["total"], [each["answer"] for each in page["items"]]) == (5, found[1:4])
    header, *lines = map(
        json.loads, ann.send("ann", "GET", "/v1/sessions/ann.default/export").text.splitlines()
    )
    assert [each["value"] for each in lines] == [each["value"] for each in found]
    assert header["sessions"][0]["name"] == "ann.default"


def test_an_export_tells_of_others_what_they_spent_together(ann):
    ann.add("bob", preapproved=True)
    ann.open("bob", "secret-plan")
    text = ann.send("ann", "GET", "/v1/sessions/ann.default/export").text
    assert "secret-plan" not in text
    assert json.loads(text.splitlines()[0])["whole_ledger"]["epsilon"] == 1.0


def test_a_large_set_is_cut_short_unless_asked_for(tmp_path):
    with Office(tmp_path, graph=made_graph(n=200), groups=False) as office:
        office.add("ann", preapproved=True)
        office.open("ann")
        told(office.ask("ann", [([f"v{i}" for i in range(90)], None)]))
        path = "/v1/sessions/ann.default/answers"
        for query, shown in (("", 20), ("?labels=true", 90)):
            (item,) = told(office.send("ann", "GET", path + query))["items"]
            assert (len(item["S"]["labels"]), item["S"]["size"], item["T"]) == (shown, 90, None)


def test_what_is_free_spends_nothing(ann):
    before = told(ann.send("ann", "GET", "/v1/budget"))
    plan = told(ann.send("ann", "POST", "/v1/plan", {"epsilon": 1, "queries": 100}))
    assert plan["rows"]
    body = {"terms": TERMS, "queries": [{"S": ["v1"]}, {"S": "@left", "T": "@right"}]}
    assert len(told(ann.send("ann", "POST", "/v1/dummy", body))["answers"]) == 2
    told(ann.send("ann", "POST", "/v1/forecast", TERMS))
    cost = told(
        ann.send("ann", "POST", "/v1/sessions/ann.default/cost", {"queries": [{"S": ["v1"]}]})
    )
    assert (cost["new"], cost["left"], cost["allowed"]) == (1, 10, True)
    assert told(ann.send("ann", "GET", "/v1/budget")) == before
    assert told(ann.send("ann", "GET", "/v1/sessions/ann.default"))["answers"] == 0


def test_dummy_answers_are_of_a_made_graph(tmp_path):
    """They are the same, but for noise, whatever the private graph is."""
    values = []
    for number, edges in enumerate(([], [(i, j) for i in range(24) for j in range(i)])):
        graph = gc.Graph(*zip(*edges, strict=True) if edges else ([], []), vertices=24)
        folder = tmp_path / str(number)
        folder.mkdir()
        with Office(folder, graph=graph, groups=False) as office:
            office.add("ann")
            terms = {**TERMS, "epsilon": 50, "queries": 1}
            body = {"terms": terms, "queries": [{"S": list(range(12))}]}
            found = told(office.send("ann", "POST", "/v1/dummy", body))["answers"]
            values.append(found[0]["value"])
    # Noise of scale 1/50 is not 0 with probability below 1e-21; the cut of the full graph is 144.
    assert values[0] == values[1]
    assert 0 < values[0] < 144


def test_an_analyst_s_plan_is_the_planner_s(ann):
    asked = {"epsilon": 1, "delta": 1e-6, "queries": 50, "edges": 96.0}
    plan = gc.plan(24, edges=96.0, queries=50, epsilon=1, delta=1e-6).to_dict()
    plan["rows"] = [row for row in plan["rows"] if not row["offline"]]
    assert told(ann.send("ann", "POST", "/v1/plan", asked)) == plan


def test_a_curator_makes_people_and_tokens(office):
    found = told(office.send("curator", "POST", "/v1/people", {"name": "dan", "epsilon": 1.0}), 201)
    office.tokens["dan"] = found["token"]
    assert told(office.send("dan", "GET", "/v1/me")) == {
        "name": "dan",
        "role": "analyst",
        "csrf": None,
    }
    found = told(office.send("curator", "POST", "/v1/people/dan/token"), 201)
    problem(office.send("dan", "GET", "/v1/me"), 401, "401")
    office.tokens["dan"] = found["token"]
    told(office.send("dan", "GET", "/v1/me"))
    told(office.send("curator", "DELETE", "/v1/people/dan"), 204)
    people = told(office.send("curator", "GET", "/v1/people"))["people"]
    assert [each["active"] for each in people if each["name"] == "dan"] == [False]
    problem(office.send("dan", "GET", "/v1/me"), 401, "401")
    problem(office.send("curator", "POST", "/v1/people", {"name": "dan"}), 422, "value")
    problem(office.send("curator", "DELETE", "/v1/people/nobody"), 422, "value")


def test_the_audit_log_over_http_is_the_chain(ann):
    told(ann.ask("ann", [(["v1"], None)]))
    problem(ann.send("ann", "GET", "/v1/audit"), 403, "role")
    page = told(ann.send("curator", "GET", "/v1/audit?after=2"))
    assert [each["what"] for each in page["lines"]] == ["request", "ask", "answered"]
    assert page["head"] == str(verify(ann.people.book.salt, ann.people.log_lines()))
    note = json.loads(page["lines"][1]["body"])
    assert set(note) == {"session", "request", "queries", "new"}
    spending = told(ann.send("curator", "GET", "/v1/spending"))
    assert [each["cumulative"] for each in spending["uses"]] == [0.5]
    assert json.loads(page["lines"][2]["body"])["store"] == spending["head"]


def test_roles_end_where_they_end(ann):
    ann.add("mona", role="monitor")
    assert "graphcuts_dp_up 1" in ann.send("mona", "GET", "/metrics").text
    problem(ann.send("ann", "GET", "/metrics"), 403, "role")
    for path in ("/v1/graph", "/v1/budget", "/v1/people", "/v1/audit", "/v1/sessions"):
        problem(ann.send("mona", "GET", path), 403, "role")
    problem(ann.open("mona"), 403, "role")
    problem(ann.open("curator"), 403, "role")
    assert ann.send(None, "GET", "/healthz").text == "ok\n"


def test_history_survives_a_restart(ann):
    asked = [(["v1"], ["v2"])]
    first = told(ann.ask("ann", asked, key="k"))
    ann.stop()
    ann.start()
    assert told(ann.ask("ann", asked, key="k"))["answers"] == first["answers"]
    page = told(ann.send("ann", "GET", "/v1/sessions/ann.default/answers"))
    assert [each["answer"] for each in page["items"]] == first["answers"]


def test_a_page_logs_in_with_a_cookie_and_needs_its_csrf_token(ann):
    reply = ann.http.post("/v1/login", json={"token": ann.tokens["ann"]})
    cookie = reply.headers["set-cookie"]
    assert all(word in cookie for word in ("HttpOnly", "SameSite=strict", "Path=/"))
    csrf = told(reply)["csrf"]
    assert told(ann.http.get("/v1/me"))["csrf"] == csrf
    body = {"queries": [{"S": ["v1"]}]}
    path = "/v1/sessions/ann.default/answers"
    for headers in ({}, {"X-CSRF-Token": "x"}, {"X-CSRF-Token": csrf[:-1]}):
        problem(ann.http.post(path, json=body, headers=headers), 403, "csrf")
    told(ann.http.post(path, json=body, headers={"X-CSRF-Token": csrf}))
    told(ann.http.post("/v1/logout", headers={"X-CSRF-Token": csrf}))
    ann.http.cookies.set("gcdp_login", cookie.split("=", 1)[1].split(";")[0])
    problem(ann.http.get("/v1/me"), 401, "401")


@pytest.mark.parametrize(
    ("protecting", "name"),
    [({"protect": "vertex", "degree_bound": 5}, "1 vertex"), ({"at_most": 3}, "3 edges")],
)
def test_a_server_protects_whom_it_was_started_for(tmp_path, protecting, name):
    with Office(tmp_path, protecting=protecting) as office:
        office.add("ann", preapproved=True)
        forecast = told(office.send("ann", "POST", "/v1/forecast", {"name": "x", **TERMS}))
        assert f"protects {name}" in forecast["guarantee"]
        opened = told(office.open("ann"), 201)
        assert f"protects {name}" in opened["guarantee"]
        (answer,) = told(office.ask("ann", [(LEFT, None)]))["answers"]
        dummy = {"terms": TERMS, "queries": [{"S": LEFT}]}
        assert len(told(office.send("ann", "POST", "/v1/dummy", dummy))["answers"]) == 1
        assert (
            told(office.send("ann", "POST", "/v1/plan", {"epsilon": 1.0, "queries": 5}))["protects"]
            == name
        )
    assert gc.store_status(office.path).protects == name
    with gc.open_session(office.graph, store=office.path, name="ann.default") as session:
        assert session.parameters["protect"] == protecting.get("protect", "edges")
        assert session.ask(LEFT).value == answer["value"]
