"""API v1: sessions, approvals, caps, budgets, keys, histories."""

import json

import numpy as np
import pytest
from server_cases import TERMS, LocalServer, body_of, labelled_graph, refusal_of

import graphcuts_dp as gc
from graphcuts_dp.server.book import Book, verify

LEFT = [f"v{i}" for i in range(12)]
MINE = "sessions/ann.default"


SIDES = gc.BipartiteGraph(*np.divmod(np.arange(0, 240, 2), 12), left=20, right=12)
EVEN = gc.BipartiteGraph(
    *np.nonzero(np.add.outer(np.arange(16), np.arange(16)) % 2), left=16, right=16
)
LEARNT = {"epsilon": 2.0, "delta": 1e-6, "queries": 5, "method": "mirror-descent"}
SPECTRAL = LEARNT | {"epsilon": 45.0, "norm": "schatten", "linear": True, "max_spectral_norm": 9.0}
STARTED = LEARNT | {"method": "frieze-kannan", "start": "groups"}
OPTIONS = {  # a graph, terms, a query that suits them, one that does not, and terms that are none
    "norm": (
        SIDES,
        LEARNT | {"norm": "2,p", "max_right_size": 2},
        {"S": [0, 1], "T": [3, 4]},
        {"S": [0, 1], "T": [3, 4, 5]},
        [{"norm": "l0"}, {"norm": "x" * 61}, {"norm": 2}, {"max_right_size": 0}],
    ),
    "linear": (
        EVEN,
        SPECTRAL,
        {"entries": [[i, i, 3.0] for i in range(16)]},
        {"entries": [[i, j, 1.0] for i in range(16) for j in range(16)]},
        [{"method": "gaussian", "norm": None}],
    ),
    "start": (None, STARTED, {"S": "@left"}, {"S": "@nobody"}, [{"start": "degrees"}]),
}


@pytest.fixture
def ann(server):
    server.add("ann", preapproved=True)
    body_of(server.open("ann"), 201)
    return server


def opened(folder, session="default", **given):
    """An server where Ann has a session."""
    server = LocalServer(folder, **given)
    server.add("ann", preapproved=True)
    body_of(server.open("ann", session), 201)
    return server


def test_the_public_side_of_the_graph(ann):
    found = ann.get("ann", "graph")
    assert found["vertices"] == [24]
    assert found["groups"] == [[{"level": "group", "names": ["left", "right"], "sizes": [12, 12]}]]
    labels = ann.get("ann", "vertices?first=20&limit=100")
    assert (labels["total"], labels["labels"]) == (24, ["v20", "v21", "v22", "v23"])


def test_an_answer_is_that_of_the_store(ann):
    found = body_of(ann.ask("ann", [(LEFT, None), (["v1"], ["v2"])]))
    assert (found["new"], len(found["answers"])) == (2, 2)
    ann.stop()
    with gc.open_session(ann.graph, store=ann.path, name="ann.default") as session:
        mine = [entry.answer for entry in session.history]
        assert [each.value for each in mine] == [each["value"] for each in found["answers"]]
        assert session.ask(LEFT).value == found["answers"][0]["value"]
    ann.start()


def test_groups_labels_and_bits_are_one_query(ann):
    sets = [("@left", "@right"), (LEFT, None), ({"bits": "//AA"}, {"bits": "AA//"})]
    found = [body_of(ann.ask("ann", [each])) for each in sets]
    assert [each["new"] for each in found] == [1, 0, 0]
    assert len({json.dumps(each["answers"]) for each in found}) == 1


def test_a_key_has_one_answer_and_one_charge(ann):
    asked = [(["v1"], ["v2"]), (["v3"], None)]
    first = body_of(ann.ask("ann", asked, key="k"))
    assert first["new"] == 2
    for _ in range(2):
        again = body_of(ann.ask("ann", asked, key="k"))
        assert (again["answers"], again["new"]) == (first["answers"], 0)
        refusal_of(ann.ask("ann", asked[:1], key="k"), "key")
        refusal_of(ann.ask("ann", asked, key="k", unguaranteed=True), "key")
        assert ann.get("ann", MINE)["answers"] == 2
        items = ann.get("ann", f"{MINE}/answers")["items"]
        assert [each["answer"] for each in items] == first["answers"]
        ann.stop()
        ann.start()
    ann.add("bob", preapproved=True)
    ann.open("bob")
    assert body_of(ann.ask("bob", [(["v2"], None)], key="k"))["new"] == 1  # another person's key


def test_an_exhausted_session_is_a_conflict_that_says_what_is_left(ann):
    body_of(ann.ask("ann", [([f"v{i}"], None) for i in range(8)]))
    found = refusal_of(ann.ask("ann", [([f"v{i}"], None) for i in range(8, 12)]), "exhausted")
    assert found["left"] == {"queries": 2}
    body_of(ann.ask("ann", [(["v8"], None), (["v9"], None)]))
    found = refusal_of(ann.ask("ann", [(["v10"], None)]), "exhausted")
    assert found["left"] == {"queries": 0}
    assert body_of(ann.ask("ann", [(["v1"], None)]))["new"] == 0  # on the record


def test_the_budget_of_the_graph_is_a_conflict(ann):
    for number in range(3):
        body_of(ann.open("ann", f"s{number}"), 201)
    assert "epsilon = 2" in refusal_of(ann.open("ann", "more"), "budget")["detail"]
    spent = ann.get("ann", "budget")
    assert spent["all"] == {"epsilon": 2.0, "delta": 0.0, "cap_epsilon": 2.0, "cap_delta": 0.0}
    assert spent["yours"]["epsilon"] == 2.0
    begun = [each["id"] for each in ann.get("ann", "sessions")["sessions"]]
    assert begun == ["ann.default", "ann.s0", "ann.s1", "ann.s2"]


def test_a_session_waits_for_the_curator_and_for_the_caps(server):
    server.add("bob", epsilon=0.5)
    for name in ("default", "b"):
        assert body_of(server.open("bob", name), 201)["state"] == "waiting"
    refusal_of(server.ask("bob", [(["v1"], None)]), "waiting")
    assert server.get("bob", "budget")["all"]["epsilon"] == 0
    path = "/v1/sessions/bob.default/decision"
    refusal_of(server.send("bob", "POST", path, {"approve": True}), "role", 403)
    assert body_of(server.decide("bob.default", approve=True))["state"] == "open"
    refusal_of(server.decide("bob.default", approve=True), "decided")
    refusal_of(server.decide("bob.b", approve=True), "budget")
    assert server.get("bob", "sessions/bob.b")["state"] == "waiting"
    assert body_of(server.ask("bob", [(["v1"], None)]))["new"] == 1
    assert server.log()[-6:] == ["person", "request", "request", "approved", "ask", "answered"]


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("name", OPTIONS)
def test_options_of_methods_reach_the_session_and_come_back(tmp_path, name):
    graph, terms, suits, other, wrong = OPTIONS[name]
    with LocalServer(tmp_path, graph=graph, groups=graph is None, budget=(50.0, 1e-3)) as server:
        server.add("ann", preapproved=True)
        assert server.post("ann", "forecast", terms)["epsilon"] <= terms["epsilon"]
        dummy = {"terms": terms, "queries": [suits]}
        assert len(server.post("ann", "dummy", dummy)["answers"]) == 1
        for _ in range(2):
            session = body_of(server.open("ann", **terms), 201)
            assert session["state"] == "open"
            assert terms.items() <= session["terms"].items()
        refusal_of(server.open("ann", **terms | {"epsilon": 1.0}), "other-terms")
        found = server.post("ann", f"{MINE}/answers", {"queries": [suits]})
        assert (found["new"], found["answers"][0]["guaranteed"]) == (1, True)
        server.post("ann", f"{MINE}/answers", {"queries": [other]}, 422)
        for each in wrong:
            assert server.open("ann", "b", **terms | each).status_code == 422
        body_of(server.open("ann", "c"), 201)
        # Sessions that were asked for before there were such options go on with the same terms.
        assert set(list(server.desk.requests)[-1].terms) == set(TERMS)


def test_a_server_without_groups_has_none_to_start_from(tmp_path):
    with LocalServer(tmp_path, groups=False, budget=(9.0, 1e-4)) as server:
        server.add("ann", preapproved=True)
        dummy = {"terms": STARTED, "queries": [{"S": ["v1"]}]}
        for place, body in (("forecast", STARTED), ("dummy", dummy)):
            detail = server.post("ann", place, body, 422)["detail"]
            assert "no public groups to start from" in detail
        body_of(server.open("ann", **STARTED), 422)


def test_caps_hold_beside_the_budget(server):
    server.add("cleo", preapproved=True, epsilon=0.75, queries=25)
    body_of(server.open("cleo", "a"), 201)
    assert "your limit (epsilon = 0.75)" in refusal_of(server.open("cleo", "b"), "budget")["detail"]
    body_of(server.open("cleo", "c", epsilon=0.25, queries=15), 201)
    body = {"epsilon": 2.0, "preapproved": True, "queries": 25}
    body_of(server.send("curator", "PUT", "/v1/people/cleo", body), 204)
    found = refusal_of(server.open("cleo", "b"), "budget")["detail"]
    assert "your limit of 25 queries leaves 0" in found


def test_nobody_reads_another_s_answers_unless_the_curator_says_so(ann):
    ann.add("bob")
    body_of(ann.ask("ann", [(["v1"], None)]))
    grant = {"reader": "bob", "analyst": "ann", "allowed": True}
    refusal_of(ann.send("bob", "PUT", "/v1/grants", grant), "role", 403)
    for allowed in (False, True, False):
        body_of(ann.send("curator", "PUT", "/v1/grants", {**grant, "allowed": allowed}), 204)
        assert len(ann.get("bob", "sessions")["sessions"]) == allowed
        for path in ("", "/answers", "/export"):
            mine = ann.send("bob", "GET", f"/v1/{MINE}{path}")
            nothing = ann.send("bob", "GET", f"/v1/sessions/ann.nothing{path}")
            found = refusal_of(nothing, "404", 404)
            assert mine.status_code == 200 if allowed else mine.json() == found
        body = {"queries": [{"S": ["v2"]}]}
        asked = ann.send("bob", "POST", f"/v1/{MINE}/answers", body)
        assert refusal_of(asked, *(("not-yours", 403) if allowed else ("404", 404)))


def test_a_session_of_others_is_looked_for_as_long_as_one_that_is_not_there(ann, monkeypatch):
    ann.add("bob")
    read, rows = [], Book.rows
    monkeypatch.setattr(
        Book, "rows", lambda book, *asked: read.append(asked[0]) or rows(book, *asked)
    )
    looked = []
    for name in ("default", "nothing"):
        read.clear()
        ann.get("bob", f"sessions/ann.{name}", 404)
        looked.append([*read])
    assert looked[0] == looked[1] != []


def test_history_and_export_tell_the_same_and_of_others_what_they_spent_together(ann):
    ann.add("bob", preapproved=True)
    ann.open("bob", "secret-plan")
    found = body_of(ann.ask("ann", [([f"v{i}"], ["v20"]) for i in range(5)]))["answers"]
    page = ann.get("ann", f"{MINE}/answers?after=1&limit=3")
    assert (page["total"], [each["answer"] for each in page["items"]]) == (5, found[1:4])
    text = ann.send("ann", "GET", f"/v1/{MINE}/export").text
    header, *lines = map(json.loads, text.splitlines())
    assert [each["value"] for each in lines] == [each["value"] for each in found]
    assert header["sessions"][0]["name"] == "ann.default"
    assert "secret-plan" not in text
    assert header["whole_ledger"]["epsilon"] == 1.0


def test_a_large_set_is_cut_short_unless_asked_for(tmp_path):
    with opened(tmp_path, graph=labelled_graph(n=200), groups=False) as server:
        body_of(server.ask("ann", [([f"v{i}" for i in range(90)], None)]))
        for query, shown in (("", 20), ("?labels=true", 90)):
            (item,) = server.get("ann", f"{MINE}/answers{query}")["items"]
            assert (len(item["S"]["labels"]), item["S"]["size"], item["T"]) == (shown, 90, None)


def test_what_is_free_spends_nothing(ann):
    before = ann.get("ann", "budget")
    asked = {"epsilon": 1, "delta": 1e-6, "queries": 50, "edges": 96.0}
    plan = gc.plan(24, edges=96.0, queries=50, epsilon=1, delta=1e-6).to_dict()
    plan["rows"] = [row for row in plan["rows"] if not row["iterative"]]
    assert plan["rows"]
    assert ann.post("ann", "plan", asked) == plan
    body = {"terms": TERMS, "queries": [{"S": ["v1"]}, {"S": "@left", "T": "@right"}]}
    assert len(ann.post("ann", "dummy", body)["answers"]) == 2
    ann.post("ann", "forecast", TERMS)
    cost = ann.post("ann", f"{MINE}/cost", {"queries": [{"S": ["v1"]}]})
    assert (cost["new"], cost["left"], cost["allowed"]) == (1, 10, True)
    assert ann.get("ann", "budget") == before
    assert ann.get("ann", MINE)["answers"] == 0


def test_dummy_answers_are_of_a_made_graph(tmp_path):
    """They are the same, but for noise, whatever the private graph is."""
    values, body = [], {"queries": [{"S": list(range(12))}]}
    body["terms"] = {**TERMS, "epsilon": 50, "queries": 1}
    for name, edges in (("empty", ([], [])), ("full", np.triu_indices(24, 1))):
        (tmp_path / name).mkdir()
        graph = gc.Graph(*edges, vertices=24)
        with opened(tmp_path / name, graph=graph, groups=False) as server:
            values.append(server.post("ann", "dummy", body)["answers"][0]["value"])
    # Noise of scale 1/50 is not 0 with probability below 1e-21; the cut of the full graph is 144.
    assert values[0] == values[1]
    assert 0 < values[0] < 144


def test_a_curator_makes_people_and_tokens(server):
    new = {"name": "dan", "epsilon": 1.0}
    server.tokens["dan"] = server.post("curator", "people", new, 201)["token"]
    assert server.get("dan", "me") == {"name": "dan", "role": "analyst", "csrf": None}
    found = server.post("curator", "people/dan/token", None, 201)
    server.get("dan", "me", 401)
    server.tokens["dan"] = found["token"]
    server.get("dan", "me")
    body_of(server.send("curator", "DELETE", "/v1/people/dan"), 204)
    people = server.get("curator", "people")["people"]
    assert [each["active"] for each in people if each["name"] == "dan"] == [False]
    refusal_of(server.send("dan", "GET", "/v1/me"), "401", 401)
    refusal_of(server.send("curator", "POST", "/v1/people", {"name": "dan"}), "value", 422)
    refusal_of(server.send("curator", "DELETE", "/v1/people/nobody"), "value", 422)


def test_the_audit_log_over_http_is_the_chain(ann):
    body_of(ann.ask("ann", [(["v1"], None)]))
    page = ann.get("curator", "audit?after=2")
    assert [each["what"] for each in page["lines"]] == ["request", "ask", "answered"]
    assert page["head"] == str(verify(ann.people.book.log_start, ann.people.log_lines()))
    note = json.loads(page["lines"][1]["body"])
    assert set(note) == {"session", "request", "queries", "new"}
    spending = ann.get("curator", "spending")
    assert [each["cumulative"] for each in spending["uses"]] == [0.5]
    assert json.loads(page["lines"][2]["body"])["store"] == spending["head"]


def test_roles_end_where_they_end(ann):
    ann.add("mona", role="monitor")
    assert "graphcuts_dp_up 1" in ann.send("mona", "GET", "/metrics").text
    for path in ("/v1/graph", "/v1/budget", "/v1/people", "/v1/audit", "/v1/sessions"):
        refusal_of(ann.send("mona", "GET", path), "role", 403)
    for path in ("/metrics", "/v1/audit"):
        refusal_of(ann.send("ann", "GET", path), "role", 403)
    for name in ("mona", "curator"):
        refusal_of(ann.open(name), "role", 403)
    assert ann.send(None, "GET", "/healthz").text == "ok\n"


@pytest.mark.thorough
def test_what_is_described_is_served_and_refuses_strangers(ann):
    described = ann.http.get("/v1/openapi.json").json()["paths"]
    assert sum(map(len, described.values())) > 20
    for path, methods in described.items():
        for method in methods:
            found = ann.http.request(method, path.replace("{name}", "ann.default"), json={})
            free = path in ("/healthz", "/readyz", "/v1/login")
            assert found.status_code in ((200, 422) if free else (401, 422)), path


def test_a_page_logs_in_with_a_cookie_and_needs_its_csrf_token(ann):
    reply = ann.http.post("/v1/login", json={"token": ann.tokens["ann"]})
    cookie = reply.headers["set-cookie"]
    assert all(word in cookie for word in ("HttpOnly", "SameSite=strict", "Path=/"))
    csrf = body_of(reply)["csrf"]
    assert body_of(ann.http.get("/v1/me"))["csrf"] == csrf
    body = {"queries": [{"S": ["v1"]}]}
    path = f"/v1/{MINE}/answers"
    for headers in ({}, {"X-CSRF-Token": "x"}, {"X-CSRF-Token": csrf[:-1]}):
        refusal_of(ann.http.post(path, json=body, headers=headers), "csrf", 403)
    body_of(ann.http.post(path, json=body, headers={"X-CSRF-Token": csrf}))
    body_of(ann.http.post("/v1/logout", headers={"X-CSRF-Token": csrf}))
    ann.http.cookies.set("gcdp_login", cookie.split("=", 1)[1].split(";")[0])
    refusal_of(ann.http.get("/v1/me"), "401", 401)


@pytest.mark.parametrize(
    ("privacy_unit", "name"),
    [(gc.PrivacyUnit.vertex(max_degree=5), "1 vertex"), (gc.PrivacyUnit.edge(3), "3 edges")],
)
def test_a_server_has_the_privacy_unit_that_it_was_started_with(tmp_path, privacy_unit, name):
    with opened(tmp_path, privacy_unit=privacy_unit) as server:
        for each in (
            server.post("ann", "forecast", {"name": "x", **TERMS}),
            server.get("ann", MINE),
        ):
            assert f"privacy unit: {name}" in each["guarantee"]
        (answer,) = body_of(server.ask("ann", [(LEFT, None)]))["answers"]
        dummy = {"terms": TERMS, "queries": [{"S": LEFT}]}
        assert len(server.post("ann", "dummy", dummy)["answers"]) == 1
        assert (
            server.post("ann", "plan", {"epsilon": 1.0, "queries": 5})["privacy_unit"]
            == privacy_unit.typed
        )
    assert gc.store_status(server.path).privacy_unit == name
    with gc.open_session(server.graph, store=server.path, name="ann.default") as session:
        assert session.parameters["privacy_unit"] == privacy_unit.typed
        assert session.ask(LEFT).value == answer["value"]
