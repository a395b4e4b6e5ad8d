"""The parts of a server that all handlers share: `Service`, and the sender of a request.

The sender is known by a token in the header, or by the cookie of a login with a CSRF token.
"""

import asyncio
import copy
import functools
import hmac
import logging
import math
import os
import re
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextvars import ContextVar
from ipaddress import IPv4Network, IPv6Network
from typing import Annotated, Any, Final, ParamSpec, Self, TypeVar, cast, final

from fastapi import Depends, Request

from graphcuts_dp.errors import GraphCutsError, LedgerError, ParameterError
from graphcuts_dp.server.desk import Desk
from graphcuts_dp.server.metrics import GraphFigures, Metrics
from graphcuts_dp.server.models import RefusedError, refusal_of
from graphcuts_dp.server.origins import SAFE_METHODS
from graphcuts_dp.server.people import ANALYST, CURATOR, MONITOR, Login, Person, digest_of
from graphcuts_dp.server.proxy_sign_in import ProxySignIn
from graphcuts_dp.server.queues import Steps, Turns, UnderWay, one_step
from graphcuts_dp.server.readiness import RECHECK_SECONDS
from graphcuts_dp.server.settings import Binding, Limits, Rates, Ticks

log: logging.Logger = logging.getLogger("graphcuts_dp.server")
Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")
COOKIE: Final = "gcdp_login"  # with the secret of a login
# Routes of the whole server; all others under /v1 are of one graph.
WHOLE_SERVER: Final = re.compile(r"/v1/(me|login|logout|graphs|people|grants|audit)(/|$)|/(?!v1/)")
# The person whose request the present task works on: it waits in the queue of this person.
_asking_person: ContextVar[str] = ContextVar("_asking_person", default="")
_TOKEN_WANTED = {"WWW-Authenticate": 'Bearer realm="graphcuts-dp"'}


@final
class Service:
    """The running parts of a server.

    One thread does all work on the store, another all work on public numbers alone, and the event
    loop does neither. On each thread the persons who ask take turns, see `queues`.

    Args:
        desk: open; it is closed with the service. Of several graphs, one desk for each; all have
            the same registry, and the same thread.
        binding: where it listens; None answers to every name.
        limits: of requests.
        ticks: when replies leave.
        clock: seconds, never going back; the event loop's sleep must go by it.
    """

    def __init__(
        self,
        desk: Desk | Sequence[Desk],
        binding: Binding | None = None,
        *,
        limits: Limits | None = None,
        ticks: Ticks | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        desks = (desk,) if isinstance(desk, Desk) else tuple(desk)
        for graph_desk in desks:
            graph_desk.others = tuple(other for other in desks if other is not graph_desk)
        self.desks: dict[str, Desk] = {graph_desk.name: graph_desk for graph_desk in desks}
        self.desk: Desk = desks[0]
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
        self.sign_in: ProxySignIn | None = None
        if binding.person_header:
            header = binding.person_header.lower()
            self.sign_in = ProxySignIn(header, binding.shared_secret)
        self.metrics: Metrics = Metrics()
        self.metrics.graphs.update(self.figures())
        self._check_time = -math.inf  # of the latest check whether changes can be taken
        self._not_ready: str | None = None  # the result of that check
        self._check_lock = asyncio.Lock()
        self.overruns = 0
        self._store = Turns("store")
        self._public = Turns("public", _lower_priority)
        self._close_lock = threading.Lock()
        self._closed = False

    def _failures(self) -> Rates:
        """Return new buckets of wrong tokens."""
        return Rates(self.limits.failures / 60, self.limits.failures)

    async def at_store(self, work: Callable[..., Result], *values: object) -> Result:
        """Do something on the thread of the store, when the turn of the person who asks comes.

        Raises:
            RefusedError: for an error of the package that the work raised, as HTTP states it.
        """
        return await self._run_steps(self._store, one_step(functools.partial(work, *values)))

    async def steps_at_store(self, steps: Steps[Result]) -> Result:
        """Do something on the thread of the store, in steps between which others take turns."""
        return await self._run_steps(self._store, steps)

    async def on_public_thread(self, work: Callable[..., Result], *values: object) -> Result:
        """Do something as `at_store`, on the thread for work on public numbers alone."""
        return await self._run_steps(self._public, one_step(functools.partial(work, *values)))

    async def steps_on_public_thread(self, steps: Steps[Result]) -> Result:
        """Do something as `steps_at_store`, on the thread for work on public numbers alone."""
        return await self._run_steps(self._public, steps)

    async def _run_steps(self, turns: Turns, steps: Steps[Result]) -> Result:
        """Do steps on one of the two threads, at turns of the person who asks."""
        try:
            return await turns.run(_asking_person.get(), steps)
        except GraphCutsError as problem:
            if isinstance(problem, LedgerError):
                log.error("store: %s", problem)
            raise refusal_of(problem) from None

    def figures(self) -> dict[str, GraphFigures]:
        """Return public numbers of each graph, by its name; on the thread of the store."""
        return {name: desk.figures() for name, desk in self.desks.items()}

    def at_graph(self, name: str | None) -> Self:
        """Return this service at one of its graphs: all but `desk` is shared.

        Args:
            name: of the graph; None for the only one.

        Raises:
            RefusedError: there are several, or none of this name.
        """
        if name is None and len(self.desks) > 1:
            raise RefusedError(
                404,
                "this server has several graphs: name one, by graph= of gc.connect or in "
                "/v1/graphs/NAME/...; GET /v1/graphs lists those that you may ask",
                kind="graph",
            )
        if name is not None and name not in self.desks:
            raise _no_graph()
        service = copy.copy(self)
        service.desk = self.desk if name is None else self.desks[name]
        return service

    def names_of(self, person: Person) -> list[str] | None:
        """Return the names of the graphs that a person may ask; None for all graphs."""
        if not person.graphs:
            return None
        return [name for name, desk in self.desks.items() if person.may_ask(desk.store)]

    def ids_of(self, graphs: Sequence[str]) -> list[str]:
        """Return the identifiers of the stores of some graphs.

        Raises:
            ParameterError: there is no such graph.
        """
        for name in graphs:
            if name not in self.desks:
                raise ParameterError(f"there is no graph {name!r:.60} on this server")
        return [self.desks[name].store for name in graphs]

    async def not_ready(self) -> str | None:
        """Return what keeps the server from taking changes; None if nothing does.

        It is checked again only after `RECHECK_SECONDS`; requests that come meanwhile wait for it.
        """
        async with self._check_lock:
            if self.clock() - self._check_time >= RECHECK_SECONDS:
                problems = [await self.at_store(desk.not_ready) for desk in self.desks.values()]
                self._not_ready = next(filter(None, problems), None)
                self._check_time = self.clock()
            return self._not_ready

    def close(self) -> None:
        """Finish the work that has begun, then close the stores; a second call does nothing."""
        with self._close_lock:
            if not self._closed:
                self._closed = True
                self._store.close()
                self._public.close()
                for desk in self.desks.values():
                    desk.close()


def run_at_store(
    handler: Callable[Parameters, Result],
) -> Callable[Parameters, Coroutine[Any, Any, Result]]:
    """Return a handler that runs by `at_store` of its `service`, with the same parameters."""

    @functools.wraps(handler)
    async def at_store(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        service = cast(Service, kwargs["service"])
        return await service.at_store(functools.partial(handler, *args, **kwargs))

    return at_store


async def service_of(request: Request) -> Service:
    """Return the service that an application runs, at the graph that the request is about."""
    service: Service = request.app.state.service
    graph: str | None = getattr(request.state, "graph", None)
    if WHOLE_SERVER.match(request.url.path):
        if graph is not None:
            raise RefusedError(404, "this is of the whole server, and not of one graph")
        return service
    try:
        return service.at_graph(graph)
    except RefusedError as problem:
        request.state.graph_problem = problem  # `current_login` raises it if the token is valid
        return service


CurrentService = Annotated[Service, Depends(service_of)]  # parameter of handlers


def address_of(request: Request) -> str:
    """Return the address that a request comes from, as far as the server knows."""
    return request.client.host if request.client else "unknown"


def note_failure(service: Service, request: Request, credential: str = "") -> RefusedError:
    """Count a wrong token, and return the refusal.

    Wrong tokens are counted by address and by token. Only refusals depend on the counts: a valid
    token is accepted whatever came from the same address.

    Args:
        service: keeps the counts.
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
    return RefusedError(
        401, "send a valid token: Authorization: Bearer gcdp_...", headers=_TOKEN_WANTED
    )


def admit(service: Service, request: Request, login: Login) -> None:
    """Note who sends a request, and refuse it if the person has sent too many.

    Raises:
        RefusedError: too many a second, or too many are under way.
    """
    person = login.person.name
    request.state.person = person  # for the log of requests
    _check_rate(service.rates.wait(person, service.clock()))
    session = request.path_params.get("name") if "/sessions/" in request.url.path else None
    request.state.leave = service.under_way.enter(person, session)
    _asking_person.set(person)


async def current_login(request: Request, service: CurrentService) -> Login:
    """Return the login of whoever sends a request.

    Raises:
        RefusedError: no valid token or login, no CSRF token, or too many requests.
    """
    people = service.desk.people
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    signed_in: str | None = getattr(request.state, "signed_in", None)
    if kind.lower() == "bearer":
        credential = token.strip()
        login = people.of_token(credential)
    elif signed_in is not None and service.sign_in is not None:
        login = people.of_name(signed_in, csrf=service.sign_in.csrf_of(signed_in))
        if login is None:
            raise RefusedError(
                403, "there is no account of your name here; ask a curator", kind="person"
            )
    else:
        credential = request.cookies.get(COOKIE, "")
        login = people.of_login(credential)
    if login is None:
        raise note_failure(service, request, credential)
    if login.csrf is not None and request.method not in SAFE_METHODS:
        csrf = request.headers.get("x-csrf-token", "")
        if not hmac.compare_digest(csrf.encode(), login.csrf.encode()):
            raise RefusedError(403, "the page must send its CSRF token", kind="csrf")
    admit(service, request, login)
    graph_problem: RefusedError | None = getattr(request.state, "graph_problem", None)
    if graph_problem is not None:
        raise graph_problem
    if not WHOLE_SERVER.match(request.url.path) and not login.person.may_ask(service.desk.store):
        raise _no_graph()
    return login


CurrentLogin = Annotated[Login, Depends(current_login)]  # parameter of handlers


def _role_check(refusal: str, *roles: str) -> Callable[[Login], Awaitable[Login]]:
    """Return the check that a request is sent by somebody in one of these roles."""

    async def check(who: CurrentLogin) -> Login:
        if who.person.role not in roles:
            raise RefusedError(403, refusal, kind="role")
        return who

    return check


for_analysts: Any = Depends(
    _role_check("analysts ask; make yourself a token of that role", ANALYST)
)
for_readers: Any = Depends(_role_check("this token reads the metrics alone", ANALYST, CURATOR))
for_curators: Any = Depends(_role_check("only a curator may do that", CURATOR))
for_monitors: Any = Depends(_role_check("monitors and curators read the metrics", MONITOR, CURATOR))
Reader = Annotated[Login, for_readers]
Analyst = Annotated[Login, for_analysts]
Curator = Annotated[Login, for_curators]


def _check_rate(wait: float) -> None:
    """Refuse a request whose sender has to wait.

    Raises:
        RefusedError: there are seconds to wait.
    """
    if wait:
        retry_after = {"Retry-After": str(max(1, round(wait + 0.5)))}
        raise RefusedError(429, f"try again in {wait:.1f} seconds", headers=retry_after)


def _no_graph() -> RefusedError:
    """Return the refusal for a graph that is not there, and for one that is somebody else's."""
    return RefusedError(404, "there is no such graph, or you may not ask it", kind="graph")


def _lower_priority() -> None:
    """Give the present thread a lower priority than the thread of the store, where that works."""
    try:
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
    except (AttributeError, OSError):
        return
