"""Behind a proxy, plain HTTP from anybody else is refused before its token is read."""

import warnings

import pytest
from server_cases import QUICK, Office

from graphcuts_dp import ParameterError
from graphcuts_dp.server import service
from graphcuts_dp.server.app import make_app
from graphcuts_dp.server.people import People
from graphcuts_dp.server.service import Service
from graphcuts_dp.server.settings import Binding, Ticks

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from fastapi.testclient import TestClient

PROXY = "10.0.0.7"
FORWARDED = {"X-Forwarded-For": "10.9.9.9, 198.51.100.2", "X-Forwarded-Proto": "https"}


@pytest.fixture(scope="module")
def office(tmp_path_factory):
    with Office(tmp_path_factory.mktemp("proxied")) as made:
        made.add("ann", preapproved=True)
        yield made


@pytest.fixture(scope="module")
def sent(office):
    """A request that comes to a server behind a proxy from some address of the network."""
    services, apps = [], {}

    def send(peer, path="/v1/me", *, token="", behind=PROXY, scheme="http", method="GET", **more):
        if behind not in apps:
            binding = Binding(host="0.0.0.0", behind_proxy=behind)  # noqa: S104
            ticks = Ticks(0.001, queries=1000)
            services.append(Service(office.desk, binding, limits=QUICK, ticks=ticks))
            apps[behind] = make_app(services[-1])
        client = TestClient(apps[behind], base_url=f"{scheme}://localhost", client=(peer, 9))
        headers = {"Authorization": f"Bearer {token or office.tokens['ann']}", **more}
        return client.request(method, path, headers=headers)

    yield send
    for running in services:
        running._store.close()
        running._public.close()


@pytest.fixture
def seen(monkeypatch):
    """Where requests with a valid token come from and how, as the check of limits sees it."""
    found, admit = [], service.admit

    def seen_and_admitted(at, request, login):
        found.append((request.client.host, request.url.scheme))
        admit(at, request, login)

    monkeypatch.setattr(service, "admit", seen_and_admitted)
    return found


STRANGERS = ["10.0.0.8", "127.0.0.1", "::1", "::ffff:10.0.0.8", "::10.0.0.7", "unix", ""]


@pytest.mark.parametrize("peer", STRANGERS)
def test_plain_http_that_goes_round_the_proxy_is_refused_whatever_its_token(
    office, sent, peer, monkeypatch
):
    read = []
    monkeypatch.setattr(People, "of_token", lambda _, text: read.append(text))
    monkeypatch.setattr(People, "of_login", lambda _, text: read.append(text))
    before = office.people.log_head
    replies = [
        sent(peer, token=token, **{"X-Forwarded-For": PROXY, "X-Forwarded-Proto": "https"})
        for token in (office.tokens["ann"], "gcdp_wrong", office.tokens["curator"])
    ]
    assert {(reply.status_code, reply.text) for reply in replies} == {(403, replies[0].text)}
    assert replies[0].json()["type"] == "urn:graphcuts-dp:proxy"
    assert replies[0].json()["detail"].startswith("this server answers its proxy alone")
    for path in ("/", "/page/login.js", "/v1/sessions", "/v1/openapi.json", "/metrics", "/no"):
        assert sent(peer, path, Cookie="gcdp_login=x").status_code == 403
    assert sent(peer, "/v1/sessions", method="POST").status_code == 403
    assert read == []
    assert office.people.log_head == before
    assert sent(peer, "/healthz").text == "ok\n"


@pytest.mark.thorough(cases=4)
@pytest.mark.parametrize(
    ("peer", "behind"),
    [
        (PROXY, PROXY),
        (f"::ffff:{PROXY}", PROXY),
        (PROXY, f"::ffff:{PROXY}"),
        (PROXY, f"192.0.2.1, {PROXY}"),
        (PROXY, "10.0.0.0/29"),
        ("fd00::7", "fd00:0::7"),
    ],
)
def test_the_proxy_is_answered_and_its_word_taken(sent, seen, peer, behind):
    assert sent(peer, behind=behind, **FORWARDED).json()["name"] == "ann"
    assert set(seen) == {("198.51.100.2", "https")}  # what the proxy added, not what it was given


def test_without_a_proxy_no_word_about_the_client_is_taken(office, sent, seen):
    assert sent("198.51.100.2", scheme="https").status_code == 200  # which needs none
    assert Binding().proxies == ()
    seen.clear()
    assert office.send("ann", "GET", "/v1/me", **FORWARDED).status_code == 200
    assert set(seen) == {("testclient", "http")}


@pytest.mark.parametrize("given", ["proxy", "*", "10.0.0.0/0", "::/0", "10.0.0.7,", "10.0.0.7:80"])
def test_proxies_that_have_no_address(given):
    with pytest.raises(ParameterError, match="no address of a proxy"):
        Binding(host="192.0.2.1", behind_proxy=given)
