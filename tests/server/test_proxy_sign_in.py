"""Persons whom a proxy has signed in: believed of the proxy with its secret, and of nobody else."""

import warnings

import pytest
from server_cases import NO_LIMITS, LocalServer, body_of, refusal_of

from graphcuts_dp import ParameterError
from graphcuts_dp.server.app import make_app
from graphcuts_dp.server.proxy_sign_in import ProxySignIn
from graphcuts_dp.server.service import Service
from graphcuts_dp.server.settings import Binding, Ticks

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from fastapi.testclient import TestClient

PROXY, SECRET = "10.0.0.7", "5f0c" * 16
NAMED = {"X-Forwarded-User": "ann"}
ORIGIN = {"Origin": "https://graphs.example.org", "Host": "graphs.example.org"}


@pytest.fixture
def secret(tmp_path):
    path = tmp_path / "proxy-secret"
    path.write_text(SECRET + "\n")
    path.chmod(0o600)
    return path


def binding(secret, **options):
    return Binding(
        host="0.0.0.0",  # noqa: S104
        behind_proxy=PROXY,
        server_name="graphs.example.org",
        **{"person_header": "X-Forwarded-User", "proxy_secret": str(secret), **options},
    )


@pytest.fixture
def server(tmp_path):
    with LocalServer(tmp_path) as made:
        made.add("ann", preapproved=True)
        made.add("bob")
        yield made


@pytest.fixture
def proxy(server, secret):
    """A simulated proxy: what it sends for a person whom it has signed in."""
    services = []

    def send(
        method="GET", path="/v1/me", body=None, *, peer=PROXY, person="ann", options=None, **headers
    ):
        services.append(
            Service(
                server.desk,
                binding(secret, **(options or {})),
                limits=NO_LIMITS,
                ticks=Ticks(0.001, queries=1000),
            )
        )
        client = TestClient(
            make_app(services[-1]),
            base_url="http://graphs.example.org",
            client=(peer, 9),
            follow_redirects=False,
        )
        own = {
            "X-Proxy-Secret": SECRET,
            "X-Forwarded-For": "198.51.100.2",
            "X-Forwarded-Proto": "https",
        }
        own |= {} if person is None else {"X-Forwarded-User": person}
        sent = {key: value for key, value in {**own, **headers}.items() if value is not None}
        return client.request(method, path, json=body, headers=sent)

    yield send
    for service in services:
        service._store.close()
        service._public.close()


def test_a_person_is_who_the_proxy_says(server, proxy):
    me = body_of(proxy())
    assert (me["name"], me["role"]) == ("ann", "analyst")
    assert body_of(proxy(person="curator", path="/v1/people"))["people"]
    assert proxy(person=None).status_code == 401  # signed in nowhere, and no token
    bob = body_of(proxy(person=None, Authorization=f"Bearer {server.tokens['bob']}"))
    assert bob["name"] == "bob"


@pytest.mark.thorough(cases=10)
@pytest.mark.parametrize("path", ["/v1/me", "/v1/people", "/metrics", "/", "/v1/openapi.json"])
@pytest.mark.parametrize(
    "change",
    [
        {"X-Proxy-Secret": None},
        {"X-Proxy-Secret": ""},
        {"X-Proxy-Secret": SECRET[:-1]},
        {"X-Proxy-Secret": SECRET.upper()},
        {"peer": "10.0.0.8"},
        {"peer": "127.0.0.1"},
        {"peer": "10.0.0.8", "X-Forwarded-For": PROXY},
    ],
)
def test_nobody_else_names_a_person(proxy, path, change):
    reply = proxy(path=path, person="curator", **change)
    found = refusal_of(reply, "proxy", 403)
    assert SECRET not in reply.text
    assert "curator" not in found["detail"]


def test_a_header_that_is_there_twice_is_refused():
    """A browser's own header that the proxy passed on beside its own."""
    sign_in = ProxySignIn("x-forwarded-user", SECRET)
    one, other = (b"x-forwarded-user", b"ann"), (b"x-forwarded-user", b"curator")
    shared = (b"x-proxy-secret", SECRET.encode())
    assert sign_in.person_named([one, shared], trusted=True) == "ann"
    assert sign_in.person_named([shared], trusted=True) is None
    assert SECRET not in repr(sign_in)
    for headers in ([one, other, shared], [one, one, shared], [one, shared, shared], [one]):
        with pytest.raises(Exception, match="only the proxy"):
            sign_in.person_named(headers, trusted=True)
    with pytest.raises(Exception, match="only the proxy"):
        sign_in.person_named([one, shared], trusted=False)


@pytest.mark.thorough
def test_without_the_option_the_header_says_nothing(server, proxy):
    """The account counts that the token proves, and no header does."""
    off = {"person_header": "", "proxy_secret": None}
    assert proxy(options=off).status_code == 401
    token = {"Authorization": f"Bearer {server.tokens['bob']}"}
    assert body_of(proxy(options=off, **token))["name"] == "bob"
    assert (
        server.send(None, "GET", "/v1/me", **NAMED, **{"X-Proxy-Secret": SECRET}).status_code == 401
    )


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("name", ["nobody", "ann@example.org", "Ann", "ann,curator", "", "x" * 99])
def test_a_name_without_an_account_is_refused(proxy, name):
    refusal_of(proxy(person=name), "person", 403)


def test_a_person_who_was_revoked_is_refused(server, proxy):
    server.people.revoke("ann", by="curator")
    refusal_of(proxy(), "person", 403)


def test_a_change_needs_the_csrf_token_and_comes_from_the_page(proxy):
    """The proxy's cookie comes with requests of other sites, too."""
    body = {"name": "default", "epsilon": 0.5, "queries": 10, "method": "laplace"}
    path = "/v1/sessions"
    refusal_of(proxy("POST", path, body, **ORIGIN), "csrf", 403)
    refusal_of(proxy("POST", path, body, **ORIGIN, **{"X-CSRF-Token": "0" * 64}), "csrf", 403)
    of_ann, of_bob = (body_of(proxy(person=name))["csrf"] for name in ("ann", "bob"))
    refusal_of(proxy("POST", path, body, **ORIGIN, **{"X-CSRF-Token": of_bob}), "csrf", 403)
    right = {"X-CSRF-Token": of_ann}
    elsewhere = {**ORIGIN, "Origin": "https://evil.example"}
    refusal_of(proxy("POST", path, body, **elsewhere, **right), "origin", 403)
    assert body_of(proxy("POST", path, body, **ORIGIN, **right), 201)["state"] == "open"


def test_the_page_needs_no_token(proxy):
    reply = proxy(path="/")
    assert (reply.status_code, reply.headers["location"]) == (303, "/analyst")
    assert "Sign in" in proxy(path="/", person=None).text


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"behind_proxy": ""}, "together"),
        ({"proxy_secret": None}, "together"),
        ({"person_header": ""}, "together"),
        ({"person_header": "X User"}, "cannot be the header"),
        ({"person_header": "Authorization"}, "cannot be the header"),
        ({"person_header": "x-proxy-secret"}, "cannot be the header"),
        ({"proxy_secret": "/nowhere/secret"}, "cannot read"),
    ],
)
def test_options_that_do_not_fit(secret, options, match):
    stated = {
        "host": "127.0.0.1",
        "behind_proxy": PROXY,
        "person_header": "X-Forwarded-User",
        "proxy_secret": str(secret),
        **options,
    }
    with pytest.raises(ParameterError, match=match):
        Binding(**stated)


@pytest.mark.parametrize(
    ("text", "mode", "match"),
    [
        ("short", 0o600, "at least 32"),
        ("two words " * 10, 0o600, "at least 32"),
        ("é" * 40, 0o600, "cannot read"),
        (SECRET, 0o644, "others may read"),
    ],
)
def test_secrets_that_are_none(secret, text, mode, match):
    secret.write_text(text, encoding="utf-8")
    secret.chmod(mode)
    with pytest.raises(ParameterError, match=match) as caught:
        binding(secret)
    assert text not in str(caught.value)
