"""A server behind a proxy refuses plain HTTP from other addresses before it reads the token."""

import warnings

import httpx
import pytest
from server_cases import NO_LIMITS, LocalServer

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
# Headers of the proxy, which appends the client's address to those that the client sent.
FORWARDED = {"X-Forwarded-For": "10.9.9.9, 198.51.100.2", "X-Forwarded-Proto": "https"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with LocalServer(tmp_path_factory.mktemp("server")) as local_server:
        local_server.add("ann", preapproved=True)
        yield local_server


@pytest.fixture(scope="module")
def send_from(server):
    """Return a function that sends a request from an address to a server behind a proxy."""
    services, apps = [], {}

    def send(
        address: str,
        path: str = "/v1/me",
        *,
        token: str = "",
        proxy: str = PROXY,
        scheme: str = "http",
        method: str = "GET",
        **headers: str,
    ) -> httpx.Response:
        if proxy not in apps:
            binding = Binding(host="0.0.0.0", behind_proxy=proxy)  # noqa: S104
            ticks = Ticks(0.001, queries=1000)
            services.append(Service(server.desk, binding, limits=NO_LIMITS, ticks=ticks))
            apps[proxy] = make_app(services[-1])
        client = TestClient(apps[proxy], base_url=f"{scheme}://localhost", client=(address, 9))
        headers = {"Authorization": f"Bearer {token or server.tokens['ann']}", **headers}
        return client.request(method, path, headers=headers)

    yield send
    for started_service in services:
        started_service._store.close()
        started_service._public.close()


@pytest.fixture
def client_addresses(monkeypatch):
    """Return a list to which each admitted request adds its client's address and its scheme."""
    addresses, admit = [], service.admit

    def record_and_admit(service_of_request, request, login):
        addresses.append((request.client.host, request.url.scheme))
        admit(service_of_request, request, login)

    monkeypatch.setattr(service, "admit", record_and_admit)
    return addresses


OTHER_ADDRESSES = ["10.0.0.8", "127.0.0.1", "::1", "::ffff:10.0.0.8", "::10.0.0.7", "unix", ""]


@pytest.mark.thorough(cases=4)
@pytest.mark.parametrize("address", OTHER_ADDRESSES)
def test_plain_http_that_bypasses_the_proxy_is_refused_before_its_token_is_read(
    server, send_from, address, monkeypatch
):
    tokens_read = []
    monkeypatch.setattr(People, "of_token", lambda _, text: tokens_read.append(text))
    monkeypatch.setattr(People, "of_login", lambda _, text: tokens_read.append(text))
    log_before = server.people.log_head
    forged = {"X-Forwarded-For": PROXY, "X-Forwarded-Proto": "https"}
    replies = [
        send_from(address, token=token, **forged)
        for token in (server.tokens["ann"], "gcdp_wrong", server.tokens["curator"])
    ]
    assert {(reply.status_code, reply.text) for reply in replies} == {(403, replies[0].text)}
    assert replies[0].json()["type"] == "urn:graphcuts-dp:proxy"
    assert replies[0].json()["detail"].startswith("this server answers its proxy alone")
    for path in ("/", "/page/login.js", "/v1/sessions", "/v1/openapi.json", "/metrics", "/no"):
        assert send_from(address, path, Cookie="gcdp_login=x").status_code == 403
    assert send_from(address, "/v1/sessions", method="POST").status_code == 403
    assert tokens_read == []
    assert server.people.log_head == log_before
    assert send_from(address, "/healthz").text == "ok\n"


@pytest.mark.thorough(cases=4)
@pytest.mark.parametrize(
    ("address", "proxy"),
    [
        (PROXY, PROXY),
        (f"::ffff:{PROXY}", PROXY),
        (PROXY, f"::ffff:{PROXY}"),
        (PROXY, f"192.0.2.1, {PROXY}"),
        (PROXY, "10.0.0.0/29"),
        ("fd00::7", "fd00:0::7"),
    ],
)
def test_the_client_address_is_the_last_one_that_the_proxy_forwards(
    send_from, client_addresses, address, proxy
):
    assert send_from(address, proxy=proxy, **FORWARDED).json()["name"] == "ann"
    assert set(client_addresses) == {("198.51.100.2", "https")}


def test_https_from_another_address_is_answered(send_from):
    assert send_from("198.51.100.2", scheme="https").status_code == 200


def test_a_server_without_a_proxy_ignores_forwarded_headers(server, client_addresses):
    assert Binding().proxies == ()
    assert server.send("ann", "GET", "/v1/me", **FORWARDED).status_code == 200
    assert set(client_addresses) == {("testclient", "http")}


@pytest.mark.parametrize(
    "behind_proxy", ["proxy", "*", "10.0.0.0/0", "::/0", "10.0.0.7,", "10.0.0.7:80"]
)
def test_a_proxy_without_a_definite_address_is_refused(behind_proxy):
    with pytest.raises(ParameterError, match="no address of a proxy"):
        Binding(host="192.0.2.1", behind_proxy=behind_proxy)
