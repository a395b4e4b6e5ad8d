"""Metrics, readiness and the log tell how the server does, and nothing of graphs and answers."""

import asyncio
import json
import logging
import math
import os
import re
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from server_cases import LocalServer, refusal_of

from graphcuts_dp.ledger.ledger import Ledger
from graphcuts_dp.server import readiness
from graphcuts_dp.server.book import Book, book_of
from graphcuts_dp.server.logs import JsonLines, RequestIds, requests, shown_path
from graphcuts_dp.server.metrics import BOUNDS, GraphFigures, Metrics, budgets_text

LINE = re.compile(r'(\w+)(?:\{((?:\w+="[^"]*",?)+)\})? (\S+)')


def parsed(text):
    """Samples by name and labels; each family has one HELP and one TYPE before its samples."""
    samples, types = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ", 3)
            assert name not in types
            types[name] = kind
        elif not line.startswith("# HELP "):
            name, labels, value = LINE.fullmatch(line).groups()
            family = re.sub("_(bucket|sum|count)$", "", name)
            assert family in types or name in types, name
            key = (name.removeprefix("graphcuts_dp_"), labels or "")
            assert key not in samples
            samples[key] = float(value)
    return samples


@pytest.fixture
def team(tmp_path):
    with LocalServer(tmp_path, budget=(4.0, 1e-5)) as server:
        server.add("ann", preapproved=True, epsilon=2.0)
        server.add("mona", role="monitor")
        yield server


def scraped(server, name="mona"):
    reply = server.send(name, "GET", "/metrics")
    assert reply.status_code == 200
    return parsed(reply.text)


def test_metrics_count_asks_refusals_times_sessions_and_what_is_left(team):
    assert scraped(team)["budget_left_epsilon", 'graph="mail"'] == 4.0
    team.open("ann")
    team.open("ann", "dear", epsilon=1.75)
    team.ask("ann", [(["v1"], None), (["v2"], None)])
    team.ask("ann", [(["v3"], None)])
    team.ask("ann", [([f"v{i}"], None) for i in range(20)])
    team.send("ann", "GET", "/v1/people")
    team.send(None, "GET", "/v1/me")
    found = scraped(team)
    assert found["asks_total", 'graph="mail"'] == 2
    assert found["answers_total", 'graph="mail"'] == 3
    refusals = {key[1]: value for key, value in found.items() if key[0] == "refusals_total"}
    assert refusals == {f'reason="{each}"': 1 for each in ("401", "budget", "exhausted", "role")}
    assert found["budget_left_epsilon", 'graph="mail"'] == 3.5
    assert found["spent_epsilon", 'graph="mail"'] == 0.5
    assert found["budget_left_delta", 'graph="mail"'] == 1e-5
    assert found["sessions", 'graph="mail",state="approved"'] == 1
    assert found["waiting_requests", ""] == 1
    assert found["reply_seconds_count", 'kind="ask"'] == 2
    assert found["requests_total", 'status="409"'] == 2


def test_a_store_without_a_budget_has_nothing_left_to_state():
    figures = {"a": GraphFigures(0.5, 0.0, None, None, {})}
    text = budgets_text(figures)
    assert 'graphcuts_dp_spent_epsilon{graph="a"} 0.5' in text
    assert "graphcuts_dp_budget_left_epsilon{" not in text


def test_the_histogram_adds_up():
    metrics = Metrics()
    for seconds in (*BOUNDS, 0.05, 61.0, 0.3):
        metrics.count_reply(200, seconds, refusal=None, asked=("mail", 1))
    found = parsed(metrics.text(overruns=0))
    buckets = [found["reply_seconds_bucket", f'kind="ask",le="{bound:g}"'] for bound in BOUNDS]
    assert buckets == sorted(buckets)
    assert (buckets[0], buckets[-1]) == (2, len(BOUNDS) + 2)
    assert found["reply_seconds_bucket", 'kind="ask",le="+Inf"'] == len(BOUNDS) + 3
    assert found["reply_seconds_count", 'kind="ask"'] == len(BOUNDS) + 3


def test_metrics_have_no_labels_but_names_states_and_reasons(team):
    """No person, session, set or value: whoever reads them sees no more than a curator's page."""
    team.open("ann", "secret-plan")
    team.ask("ann", [(["v1", "v7"], ["v3"])], "secret-plan")
    text = team.send("mona", "GET", "/metrics").text
    assert not re.search("ann|secret|v1|v7|@", text)
    labels = {
        label
        for labels in re.findall(r"\{(.*?)\}", text)
        for label in re.findall(r"(\w+)=", labels)
    }
    assert labels <= {"status", "reason", "graph", "kind", "le", "state"}


def test_only_monitors_and_curators_read_them(team):
    assert team.send("curator", "GET", "/metrics").status_code == 200
    refusal_of(team.send("ann", "GET", "/metrics"), "role", 403)
    assert team.send(None, "GET", "/metrics").status_code == 401


class Work:
    """A service as an application sees it, whose clock stands unless work is done."""

    def __init__(self, server, seconds):
        self.time, self.seconds = 1e9, seconds
        server.service.clock = lambda: self.time
        ask = server.desk.ask_in_steps

        def slow(*given):
            self.time += self.seconds
            return ask(*given)

        server.desk.ask_in_steps = slow


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize("at_ticks", [True, False])
def test_metrics_do_not_tell_how_long_the_work_took(tmp_path, monkeypatch, at_ticks):
    """Work of 10 and of 200 ms has the same metrics: times are those of ticks.

    Where replies are counted when the work is done (`at_ticks` is False), they differ.
    """
    texts = []
    for number, seconds in enumerate((0.01, 0.2)):
        (tmp_path / str(number)).mkdir()
        with LocalServer(tmp_path / str(number)) as server:
            server.add("ann", preapproved=True)
            server.open("ann")
            server.service.ticks = type(server.service.ticks)(0.25)
            work = Work(server, seconds)

            async def sleep(pause, work=work):
                work.time += pause

            monkeypatch.setattr("graphcuts_dp.server.app.asyncio.sleep", sleep)
            if not at_ticks:
                monkeypatch.setattr("graphcuts_dp.server.app._ON_TICKS", "/nowhere")
            server.ask("ann", [(["v1"], None)])
            texts.append(
                re.findall(
                    '.*reply_seconds.*"ask".*', server.send("curator", "GET", "/metrics").text
                )
            )
    assert len(texts[0]) == len(texts[1]) > 10
    assert (texts[0] == texts[1]) is at_ticks


def test_what_waits_is_counted_until_its_reply_leaves(team):
    seen = []
    ask = team.desk.ask_in_steps
    team.desk.ask_in_steps = lambda *given: seen.append(team.service.metrics.waiting) or ask(*given)
    team.open("ann")
    team.ask("ann", [(["v1"], None)])
    assert seen == [1]
    assert team.service.metrics.waiting == 0
    team.send(None, "GET", "/nowhere")
    team.http.get("/v1/me", headers={"Content-Encoding": "gzip"})
    assert team.service.metrics.waiting == 0


def ready(server):
    server.service._check_time = -1e9
    return server.http.get("/readyz")


def test_a_server_is_ready_while_it_can_write(team, monkeypatch):
    assert ready(team).text == "ready\n"
    with monkeypatch.context() as full:
        full.setattr(readiness, "FREE_BYTES", 1 << 62)
        found = refusal_of(ready(team), "not-ready", 503)
        assert found["detail"] == "not ready: the disk"
        assert team.http.get("/healthz").text == "ok\n"
    assert ready(team).status_code == 200


def test_requests_that_come_during_the_first_check_wait_for_it(tmp_path):
    """They used to read "the server: it starts"."""
    with LocalServer(tmp_path) as server:
        service = server.service

        async def two_at_once():
            service._check_time = -math.inf
            return await asyncio.gather(service.not_ready(), service.not_ready())

        assert server.http.portal.call(two_at_once) == [None, None]


def test_a_server_whose_store_is_gone_or_read_only_is_not_ready(team, monkeypatch):
    moved = team.path.with_name("moved.db")
    team.path.rename(moved)
    assert "the store" in refusal_of(ready(team), "not-ready", 503)["detail"]
    moved.rename(team.path)
    assert ready(team).status_code == 200
    monkeypatch.setattr(os, "access", lambda *_: False)  # the tests' account may write everything
    assert "the store" in refusal_of(ready(team), "not-ready", 503)["detail"]


def test_a_server_with_the_registry_of_another_time_is_not_ready(tmp_path):
    with LocalServer(tmp_path) as server:
        server.add("ann")
    registry = book_of(server.path)
    shutil.copy(registry, tmp_path / "older")
    with LocalServer(tmp_path) as server:
        server.people.revoke("ann", by="curator")
    (tmp_path / "older").chmod(0o600)
    with closing(Ledger(server.path)) as ledger, closing(Book(tmp_path / "older")) as older:
        assert readiness.not_ready(ledger, older) == "registry"


def test_readiness_is_looked_at_now_and_then_and_tells_nothing(team, monkeypatch):
    looked = []
    monkeypatch.setattr(team.desk, "not_ready", lambda: looked.append(1))
    team.service._check_time = -1e9
    replies = {team.http.get("/readyz").text for _ in range(20)}
    assert replies == {"ready\n"}
    assert len(looked) == 1
    assert ready(team).text == "ready\n"
    assert len(looked) == 2


def lines(caplog):
    """The log as JSON lines would write it."""
    ids = RequestIds()
    assert all(ids.filter(record) for record in caplog.records)
    return [json.loads(JsonLines().format(record)) for record in caplog.records]


def test_each_line_has_the_identifier_that_the_reply_has(team, caplog):
    caplog.set_level(logging.INFO, requests.name)
    handler = caplog.handler
    handler.addFilter(RequestIds())
    replies = [team.send("ann", "GET", "/v1/me"), team.http.get("/no"), team.http.get("/healthz")]
    told = [reply.headers["x-request-id"] for reply in replies]
    assert len(set(told)) == 3
    assert all(re.fullmatch("[0-9a-f]{16}", each) for each in told)
    kept = [json.loads(JsonLines().format(record)) for record in caplog.records]
    assert [line["request"] for line in kept if line["log"] == requests.name] == told
    sent = team.send("ann", "GET", "/v1/me", **{"X-Request-Id": "forged"})
    assert sent.headers["x-request-id"] != "forged"


def test_failures_have_the_identifier_of_their_request(team, caplog, monkeypatch):
    caplog.handler.addFilter(RequestIds())

    def fails(*_):
        raise RuntimeError("edge v1 - v2")

    monkeypatch.setattr(team.desk, "ask_in_steps", fails)
    team.open("ann")
    reply = team.ask("ann", [(["v1"], None)])
    kept = [json.loads(JsonLines().format(record)) for record in caplog.records]
    (failure,) = [line for line in kept if line["level"] == "error"]
    assert failure["request"] == reply.headers["x-request-id"]
    assert "v1" not in json.dumps(failure)


def test_the_log_has_no_queries_no_answers_and_no_tokens(team, caplog):
    caplog.set_level(logging.DEBUG, "graphcuts_dp")
    token = team.tokens["ann"]
    team.open("ann", method="laplace")
    reply = team.ask("ann", [(["v1", "v7"], ["v3"])], key="key-of-ann")
    team.send("ann", "GET", f"/v1/people/{token}?token={token}")
    team.send(None, "GET", f"/{token}")
    facts = [line | {"time": "", "seconds": 0, "request": ""} for line in lines(caplog)]
    text = re.sub("/v1/", "/", json.dumps(facts))
    value = reply.json()["answers"][0]["value"]
    for secret in (token, token[5:], "v1", "v7", "key-of-ann", str(value)):
        assert secret not in text, secret
    assert "gcdp_..." in text
    assert shown_path("/a\nb" + "c" * 500).startswith("/a%0Ab")
    assert len(shown_path("/" + "c" * 500)) == 200


def test_the_page_names_all_numbers(team):
    page = (Path(__file__).parents[2] / "docs" / "server.md").read_text()
    section = page.split("## Metrics, health and readiness")[1].split("\n## ")[0]
    rows = section.split("| name | labels | |")[1].split("\n\n")[0].splitlines()[1:]
    documented = {name for row in rows for name in re.findall("`(.*?)`", row.split("|")[1])}
    text = team.send("mona", "GET", "/metrics").text
    families = set(re.findall(r"# TYPE graphcuts_dp_(\S+)", text))
    assert documented == families - {"up"}
