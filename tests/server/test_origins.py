"""A page of another site changes nothing, whatever token or cookie its request carries."""

import re

import pytest
from server_cases import TERMS, refusal_of

from graphcuts_dp.server.models import RefusedError
from graphcuts_dp.server.origins import check_origin

SITE = "http://testserver"
ELSEWHERE = [
    {"Origin": "http://evil.example"},
    {"Origin": "null"},
    {"Origin": ""},
    {"Origin": "http://testserver.evil.example"},
    {"Origin": "http://testserver@evil.example"},
    {"Origin": f"{SITE}:8080"},
    {"Origin": "https://testserver"},
    {"Origin": f"{SITE}/"},
    {"Origin": f"{SITE}:port"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": ""},
    {"Sec-Fetch-Site": "cross-site", "Origin": SITE},
    {"Sec-Fetch-Site": "same-origin", "Origin": "http://evil.example"},
]
HERE = [
    {},
    {"Origin": SITE},
    {"Origin": f"{SITE}:80"},
    {"Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "none", "Origin": SITE},
]


@pytest.mark.thorough(cases=6)
@pytest.mark.parametrize("headers", ELSEWHERE)
def test_no_login_of_another_site(server, headers):
    """Once only the framework's strictness about content types stood before a login."""
    body = {"token": server.tokens["curator"]}
    reply = server.send(None, "POST", "/v1/login", body, **headers)
    refusal_of(reply, "origin", 403)
    assert "set-cookie" not in reply.headers
    assert "login" not in server.log()


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("headers", HERE)
def test_a_login_of_the_page_and_of_programs(server, headers):
    reply = server.send(None, "POST", "/v1/login", {"token": server.tokens["curator"]}, **headers)
    assert reply.status_code == 200
    assert "set-cookie" in reply.headers


@pytest.mark.thorough
@pytest.mark.parametrize("headers", [ELSEWHERE[0], ELSEWHERE[9]])
def test_every_route_that_changes_something_refuses_pages_of_other_sites(server, headers):
    """With a valid token and all that the route wants, so that nothing else refuses it."""
    server.add("ann", preapproved=True)
    described = server.http.get("/v1/openapi.json").json()["paths"]
    changing = [
        (method.upper(), re.sub(r"\{name\}", "ann.default" if "sessions" in path else "ann", path))
        for path, methods in described.items()
        for method in methods
        if method not in ("get", "head", "options")
    ]
    assert len(changing) >= 12
    before = server.log()
    for method, path in changing:
        for name in ("ann", "curator"):
            refusal_of(server.send(name, method, path, dict(TERMS), **headers), "origin", 403)
    assert server.log() == before


def test_reading_is_allowed_since_other_sites_cannot_read_replies(server):
    reply = server.send("curator", "GET", "/v1/people", **ELSEWHERE[0])
    assert reply.status_code == 200
    assert "access-control-allow-origin" not in reply.headers
    assert reply.headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "", None])
def test_a_body_says_that_it_is_json(server, kind):
    """A form of another site cannot say so without the browser asking first."""
    headers = {} if kind is None else {"Content-Type": kind}
    content = f'{{"token": "{server.tokens["curator"]}"}}'.encode()
    reply = server.http.post("/v1/login", content=content, headers=headers)
    refusal_of(reply, "type", 415)
    assert "set-cookie" not in reply.headers


def pairs(**headers):
    return [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]


@pytest.mark.parametrize(
    ("host", "origin", "secure", "accepted"),
    [
        ("graphs.example.org", "https://graphs.example.org", True, True),
        ("graphs.example.org", "https://graphs.example.org:443", True, True),
        ("graphs.example.org:8443", "https://graphs.example.org:8443", True, True),
        ("graphs.example.org:8443", "https://graphs.example.org", True, False),
        ("graphs.example.org", "http://graphs.example.org", True, False),
        ("[::1]:8470", "http://[::1]:8470", False, True),
        ("[::1]:8470", "http://[::2]:8470", False, False),
        ("localhost:8470", "http://127.0.0.1:8470", False, False),
    ],
)
def test_an_origin_is_scheme_host_and_port(host, origin, secure, accepted):
    headers = pairs(host=host, origin=origin)
    check_origin("GET", headers, secure=secure)
    if accepted:
        check_origin("POST", headers, secure=secure)
        return
    with pytest.raises(RefusedError, match="another site"):
        check_origin("POST", headers, secure=secure)


def test_headers_that_are_there_twice_are_refused():
    for name in ("origin", "sec-fetch-site"):
        value = SITE if name == "origin" else "same-origin"
        once = [(b"host", b"testserver"), (name.encode(), value.encode())]
        check_origin("POST", once, secure=False)
        with pytest.raises(RefusedError):
            check_origin("POST", [*once, once[-1]], secure=False)
    hosts = [(b"host", b"testserver"), (b"host", b"evil.example")]
    with pytest.raises(RefusedError):  # nobody knows which one the browser meant
        check_origin("POST", [*hosts, (b"origin", SITE.encode())], secure=False)
