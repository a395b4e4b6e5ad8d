"""What the handlers share: the desk with its one thread, the clock, rates, counters; and who asks.

Who sends a request is told by a token in its header, or the cookie of a login with a CSRF token.
"""

import functools
import hmac
import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import ContextVar
from ipaddress import IPv4Network, IPv6Network
from typing import Annotated, Any, Final, ParamSpec, TypeVar, cast, final

from fastapi import Depends, Request

from graphcuts_dp.errors import GraphCutsError, LedgerError
from graphcuts_dp.server.desk import Desk
from graphcuts_dp.server.models import RefusedError, refusal_of
from graphcuts_dp.server.people import ANALYST, CURATOR, MONITOR, Login, digest_of
from graphcuts_dp.server.queues import Steps, Turns, UnderWay, one_step
from graphcuts_dp.server.settings import Binding, Limits, Rates, Ticks

log: logging.Logger = logging.getLogger("graphcuts_dp.server")
Result = TypeVar("Result")
Given = ParamSpec("Given")
COOKIE: Final = "gcdp_login"
_READING = ("GET", "HEAD", "OPTIONS")
# Whose request the present task works on: it waits in the queue of this person.
_asking: ContextVar[str] = ContextVar("_asking", default="")
_WHO = {"WWW-Authenticate": 'Bearer realm="graphcuts-dp"'}


@final
class Service:
    """The running parts of a server.

    All that touches the store is done by one thread; what touches public numbers alone, by another.
    The event loop does neither. On each thread the persons who ask take turns, see `queues`.

    Args:
        desk: open; it is closed with the service.
        binding: where it listens; None answers to every name.
        limits: of requests.
        ticks: when replies leave.
        clock: seconds, never going back; the event loop's sleep must go by it.
    """

    def __init__(
        self,
        desk: Desk,
        binding: Binding | None = None,
        *,
        limits: Limits | None = None,
        ticks: Ticks | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.desk = desk
        self.hosts: frozenset[str] = frozenset[str]() if binding is None else binding.hosts
        binding = binding or Binding()
        self.secure: bool = binding.secure
        self.proxies: tuple[IPv4Network | IPv6Network, ...] = binding.proxies
        self.limits: Limits = limits or Limits(rate=binding.rate)
        self.ticks: Ticks = ticks or Ticks(binding.tick)
        self.clock = clock
        self.rates: Rates = Rates(self.limits.rate, self.limits.burst)
        # Wrong tokens, by the address that they came from and by the token.
        self.failures: tuple[Rates, Rates] = (self._failures(), self._failures())
        self.under_way: UnderWay = UnderWay(self.limits.waiting, self.limits.session_waiting)
        self.counts: Counter[str] = Counter()
        self.overruns = 0
        self._store = Turns("store")
        self._public = Turns("public", _yielding)
        self._closing = threading.Lock()
        self._closed = False

    def _failures(self) -> Rates:
        return Rates(self.limits.failures / 60, self.limits.failures)

    async def at_store(self, work: Callable[..., Result], *given: object) -> Result:
        """Do something on the thread of the store, when the turn of the person who asks comes.

        Raises:
            RefusedError: what the work raised, as it is told over HTTP.
        """
        return await self._on(self._store, one_step(functools.partial(work, *given)))

    async def steps_at_store(self, steps: Steps[Result]) -> Result:
        """Likewise, in steps between which others take their turns."""
        return await self._on(self._store, steps)

    async def aside(self, work: Callable[..., Result], *given: object) -> Result:
        """Do something that reads public numbers alone, on another thread; likewise."""
        return await self._on(self._public, one_step(functools.partial(work, *given)))

    async def steps_aside(self, steps: Steps[Result]) -> Result:
        """Likewise, in steps."""
        return await self._on(self._public, steps)

    async def _on(self, turns: Turns, steps: Steps[Result]) -> Result:
        try:
            return await turns.run(_asking.get(), steps)
        except GraphCutsError as problem:
            if isinstance(problem, LedgerError):
                log.error("store: %s", problem)
            raise refusal_of(problem) from None

    def metrics(self) -> str:
        """Counters for Prometheus: of requests, by status. No times, and nothing of any answer."""
        lines = [
            "# HELP graphcuts_dp_up Whether the server runs.",
            "# TYPE graphcuts_dp_up gauge",
            "graphcuts_dp_up 1",
            "# HELP graphcuts_dp_requests_total Replies, by status.",
            "# TYPE graphcuts_dp_requests_total counter",
        ]
        lines += [
            f'graphcuts_dp_requests_total{{status="{status}"}} {count}'
            for status, count in sorted(self.counts.items())
        ]
        return "\n".join(lines) + "\n"

    def close(self) -> None:
        """Finish what is at work, then give the store back; a second time it does nothing."""
        with self._closing:
            if not self._closed:
                self._closed = True
                self._store.close()
                self._public.close()
                self.desk.close()


def stored(handler: Callable[Given, Result]) -> Callable[Given, Coroutine[Any, Any, Result]]:
    """A handler that is run by `at_store` of its `service`; FastAPI still reads its parameters."""

    @functools.wraps(handler)
    async def at_store(*given: Given.args, **named: Given.kwargs) -> Result:
        service = cast(Service, named["service"])
        return await service.at_store(functools.partial(handler, *given, **named))

    return at_store


def _yielding() -> None:
    """Let the thread of the store go first, where the system can."""
    try:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
    except (AttributeError, OSError):
        return


async def service_of(request: Request) -> Service:
    """The service that an application runs."""
    found: Service = request.app.state.service
    return found


At = Annotated[Service, Depends(service_of)]


def address_of(request: Request) -> str:
    """Where a request comes from, as far as the server knows."""
    return request.client.host if request.client else "unknown"


def note_failure(service: Service, request: Request, credential: str = "") -> RefusedError:
    """Count a wrong token; returns the refusal.

    It counts by its address and by itself, and only the refusal of wrong ones depends on that: a
    valid token is accepted whatever came from the same address.

    Args:
        service: that counts.
        request: with the wrong token.
        credential: the token, or the secret of a login; empty if there was none.
    """
    by_address, by_token = service.failures
    wait = by_address.wait(address_of(request), service.clock())
    if credential:
        wait = max(wait, by_token.wait(digest_of(credential).hex(), service.clock()))
    try:
        _check_rate(wait)
    except RefusedError as refusal:
        return refusal
    return RefusedError(401, "send a valid token: Authorization: Bearer gcdp_...", headers=_WHO)


def admit(service: Service, request: Request, login: Login) -> None:
    """Note who asks, and let the request go on if the person has not sent too many.

    Raises:
        RefusedError: too many a second, or too many are under way.
    """
    person = login.person.name
    request.state.person = person  # for the log of requests
    _check_rate(service.rates.wait(person, service.clock()))
    session = request.path_params.get("name") if "/sessions/" in request.url.path else None
    request.state.leave = service.under_way.enter(person, session)
    _asking.set(person)


async def anybody(request: Request, service: At) -> Login:
    """Whoever has a token.

    Raises:
        RefusedError: no valid token or login, no CSRF token, or too many requests.
    """
    people = service.desk.people
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        credential = token.strip()
        login = people.of_token(credential)
    else:
        credential = request.cookies.get(COOKIE, "")
        login = people.of_login(credential)
    if login is None:
        raise note_failure(service, request, credential)
    if login.csrf is not None and request.method not in _READING:
        given = request.headers.get("x-csrf-token", "")
        if not hmac.compare_digest(given.encode(), login.csrf.encode()):
            raise RefusedError(403, "the page must send its CSRF token", kind="csrf")
    admit(service, request, login)
    return login


Who = Annotated[Login, Depends(anybody)]


def _only(refusal: str, *roles: str) -> Callable[[Login], Awaitable[Login]]:
    async def check(who: Who) -> Login:
        if who.person.role not in roles:
            raise RefusedError(403, refusal, kind="role")
        return who

    return check


for_analysts: Any = Depends(_only("analysts ask; make yourself a token of that role", ANALYST))
for_readers: Any = Depends(_only("this token reads the metrics alone", ANALYST, CURATOR))
for_curators: Any = Depends(_only("only a curator may do that", CURATOR))
for_monitors: Any = Depends(_only("monitors and curators read the metrics", MONITOR, CURATOR))
Reader = Annotated[Login, for_readers]
Analyst = Annotated[Login, for_analysts]
Curator = Annotated[Login, for_curators]


def _check_rate(wait: float) -> None:
    if wait:
        after = {"Retry-After": str(max(1, round(wait + 0.5)))}
        raise RefusedError(429, f"try again in {wait:.1f} seconds", headers=after)
