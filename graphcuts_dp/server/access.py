"""Who sends a request: a token in its header, or the cookie of a login with a CSRF token."""

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final, final

from fastapi import Request

from graphcuts_dp.server.people import ANALYST, CURATOR, Login
from graphcuts_dp.server.problems import RefusedError
from graphcuts_dp.server.service import Service

COOKIE: Final = "gcdp_login"
_READING = ("GET", "HEAD", "OPTIONS")
_WHO = {"WWW-Authenticate": 'Bearer realm="graphcuts-dp"'}

Check = Callable[[Request], Awaitable[Login]]


def address_of(request: Request) -> str:
    """Where a request comes from, as far as the server knows."""
    return request.client.host if request.client else "unknown"


def _token_in(request: Request) -> str | None:
    kind, _, text = request.headers.get("authorization", "").partition(" ")
    return text.strip() if kind.lower() == "bearer" else None


def check_failures(service: Service, request: Request) -> None:
    """Refuse an address that has sent too many wrong tokens.

    Raises:
        RefusedError: it has.
    """
    wait = service.failures.wait(address_of(request), service.clock(), take=False)
    if wait:
        raise _too_many(wait)


def note_failure(service: Service, request: Request) -> RefusedError:
    """Count a wrong token; returns the refusal."""
    service.failures.wait(address_of(request), service.clock())
    return RefusedError(401, "send a valid token: Authorization: Bearer gcdp_...", headers=_WHO)


@final
@dataclass(frozen=True)
class Logins:
    """What asks who sends a request, and refuses whoever may not.

    Attributes:
        anybody: with a token.
        reader: analysts and curators.
        analyst: analysts alone.
        curator: curators alone.
    """

    anybody: Check
    reader: Check
    analyst: Check
    curator: Check

    @classmethod
    def of(cls, service: Service) -> "Logins":
        """For the handlers of a service."""

        async def anybody(request: Request) -> Login:
            return _login(service, request)

        def those(roles: tuple[str, ...], refusal: str) -> Check:
            async def check(request: Request) -> Login:
                login = _login(service, request)
                if login.person.role not in roles:
                    raise RefusedError(403, refusal, kind="role")
                return login

            return check

        return cls(
            anybody,
            reader=those((ANALYST, CURATOR), "this token reads the metrics alone"),
            analyst=those((ANALYST,), "analysts ask; make yourself a token of that role"),
            curator=those((CURATOR,), "only a curator may do that"),
        )


def _login(service: Service, request: Request) -> Login:
    check_failures(service, request)
    people = service.desk.people
    token, cookie = _token_in(request), request.cookies.get(COOKIE)
    login = None
    if token is not None:
        login = people.of_token(token)
    elif cookie is not None:
        login = people.of_login(cookie)
    if login is None:
        raise note_failure(service, request)
    if login.csrf is not None and request.method not in _READING:
        given = request.headers.get("x-csrf-token", "")
        if not hmac.compare_digest(given.encode(), login.csrf.encode()):
            raise RefusedError(403, "the page must send its CSRF token", kind="csrf")
    wait = service.rates.wait(login.person.name, service.clock())
    if wait:
        raise _too_many(wait)
    return login


def _too_many(wait: float) -> RefusedError:
    text = f"try again in {wait:.1f} seconds"
    return RefusedError(429, text, headers={"Retry-After": str(max(1, round(wait + 0.5)))})
