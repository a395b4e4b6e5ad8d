"""Who sends a request: a token in its header, or the cookie of a login with a CSRF token."""

import hmac
from collections.abc import Awaitable, Callable
from typing import Annotated, Final

from fastapi import Depends, Request

from graphcuts_dp.server.people import ANALYST, CURATOR, MONITOR, Login
from graphcuts_dp.server.problems import RefusedError
from graphcuts_dp.server.service import Service

COOKIE: Final = "gcdp_login"
_READING = ("GET", "HEAD", "OPTIONS")
_WHO = {"WWW-Authenticate": 'Bearer realm="graphcuts-dp"'}


async def service_of(request: Request) -> Service:
    """The service that an application runs."""
    found: Service = request.app.state.service
    return found


At = Annotated[Service, Depends(service_of)]


def address_of(request: Request) -> str:
    """Where a request comes from, as far as the server knows."""
    return request.client.host if request.client else "unknown"


def check_failures(service: Service, request: Request) -> None:
    """Refuse an address that has sent too many wrong tokens.

    Raises:
        RefusedError: it has.
    """
    _check_rate(service.failures.wait(address_of(request), service.clock(), take=False))


def note_failure(service: Service, request: Request) -> RefusedError:
    """Count a wrong token; returns the refusal."""
    service.failures.wait(address_of(request), service.clock())
    return RefusedError(401, "send a valid token: Authorization: Bearer gcdp_...", headers=_WHO)


async def anybody(request: Request, service: At) -> Login:
    """Whoever has a token.

    Raises:
        RefusedError: no valid token or login, no CSRF token, or too many requests.
    """
    check_failures(service, request)
    people = service.desk.people
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        login = people.of_token(token.strip())
    else:
        login = people.of_login(request.cookies.get(COOKIE))
    if login is None:
        raise note_failure(service, request)
    if login.csrf is not None and request.method not in _READING:
        given = request.headers.get("x-csrf-token", "")
        if not hmac.compare_digest(given.encode(), login.csrf.encode()):
            raise RefusedError(403, "the page must send its CSRF token", kind="csrf")
    _check_rate(service.rates.wait(login.person.name, service.clock()))
    return login


Who = Annotated[Login, Depends(anybody)]


def _only(refusal: str, *roles: str) -> Callable[[Login], Awaitable[Login]]:
    async def check(who: Who) -> Login:
        if who.person.role not in roles:
            raise RefusedError(403, refusal, kind="role")
        return who

    return check


for_analysts = Depends(_only("analysts ask; make yourself a token of that role", ANALYST))
for_readers = Depends(_only("this token reads the metrics alone", ANALYST, CURATOR))
for_curators = Depends(_only("only a curator may do that", CURATOR))
for_monitors = Depends(_only("monitors and curators read the metrics", MONITOR, CURATOR))
Reader = Annotated[Login, for_readers]
Analyst = Annotated[Login, for_analysts]
Curator = Annotated[Login, for_curators]


def _check_rate(wait: float) -> None:
    if wait:
        after = {"Retry-After": str(max(1, round(wait + 0.5)))}
        raise RefusedError(429, f"try again in {wait:.1f} seconds", headers=after)
