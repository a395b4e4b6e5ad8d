"""The application of a server: routes behind a guard, errors as problem+json; and `serve`.

The guard checks the limits of requests before a handler, and after it adds the headers of replies.
A reply leaves at a tick (`settings.Ticks`), so that its time does not tell how long the work took.
"""

import asyncio
import contextlib
import re
import socket
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import Any, cast, final

import h11
import uvicorn
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, PlainTextResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware
from uvicorn.protocols.http.h11_impl import H11Protocol

from graphcuts_dp._version import __version__
from graphcuts_dp.errors import GraphCutsError, ServerError
from graphcuts_dp.former_names import FIELDS
from graphcuts_dp.server.api import curating, router
from graphcuts_dp.server.logs import (
    REQUEST_ID_HEADER,
    begin_request,
    log_request,
    set_up_logging,
)
from graphcuts_dp.server.metrics import budgets_text
from graphcuts_dp.server.models import LoginIn, MeOut, RefusedError, refusal_of
from graphcuts_dp.server.origins import SAFE_METHODS, check_origin, values_of
from graphcuts_dp.server.people import LOGIN_SECONDS
from graphcuts_dp.server.service import (
    COOKIE,
    CurrentLogin,
    CurrentService,
    Service,
    admit,
    for_monitors,
    log,
    note_failure,
)
from graphcuts_dp.server.settings import Binding

FOLDER = Path(__file__).resolve().parent / "page"
_LOGIN_PAGE = "login.html"
_PAGES = {"/": _LOGIN_PAGE, "/analyst": "analyst.html", "/curator": "curator.html"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
_PROBLEM = "application/problem+json"
_RENAMED = "is now called"  # begins what is said of a field with a former name
_SECURE = {"strict-transport-security": "max-age=31536000"}
_ON_TICKS = ("/v1/", "/metrics", "/readyz")  # paths whose replies leave at ticks
_FOR_ALL = ("/healthz", "/readyz")  # read no token, and tell nothing of graphs and people
_HEADER_BYTES = 16 << 10
_MOST_ERRORS = 10  # of one request that a refusal names
_CONNECTIONS = 500  # at once
_FINISH_SECONDS = 30  # that requests have to end when the server stops
_HEADER_SECONDS = 15.0  # in which the head of a request has to arrive
_GRAPH_ROUTE = re.compile(r"/v1/graphs/([^/]+)/(.+)")  # a graph, and its route without it


@final
class Guard:
    """Refuses requests that are too large, too slow or encoded, and replies to every failure.

    Behind a proxy it refuses plain HTTP from any address but the proxy's, before any header is
    read. Only then are the proxy's headers about its client applied, so uvicorn must not do so.
    A body is read whole before a handler sees it. Replies of the API leave at ticks. A handler sets
    `scope["state"]["queries"]` to the number of queries for which its reply is allotted time.

    Args:
        app: what it guards.
        service: whose limits hold.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._service = service
        self._app = app
        if service.proxies:
            trusted = [str(network) for network in service.proxies]
            self._app = cast(ASGIApp, ProxyHeadersMiddleware(cast(Any, app), trusted))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request, as ASGI has it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        service = self._service
        reply = _Reply(scope, send, service)
        if route := _GRAPH_ROUTE.fullmatch(scope["path"]):
            scope.setdefault("state", {})["graph"] = route[1]
            scope = {**scope, "path": f"/v1/{route[2]}"}
        service.metrics.waiting += 1
        try:
            self._check(scope)
            body = await self._timely_body(receive)
            _check_type(scope, body)
            reply.arrival = service.clock()
            await self._app(scope, _with_body(body, receive), reply.send)
        except RefusedError as problem:
            await reply.refuse(problem)
        except Exception as problem:
            log_failure(problem)
            if not reply.started:
                await reply.refuse(RefusedError(500, "the failure is in the server's log"))
        finally:
            reply.leave()
            leave_person = scope.get("state", {}).get("leave", _nothing)  # see `service.admit`
            leave_person()

    def _check(self, scope: Scope) -> None:
        """Refuse a request by its headers, before its body is read.

        Raises:
            RefusedError: from a wrong address, for another host, from a page of another site, or
                too large.
        """
        trusted = self._check_peer(scope)
        if sum(len(name) + len(value) for name, value in scope["headers"]) > _HEADER_BYTES:
            raise RefusedError(431, headers={"Connection": "close"})
        service, headers = self._service, dict(scope["headers"])
        if service.sign_in is not None:
            person = service.sign_in.person_named(scope["headers"], trusted=trusted)
            scope.setdefault("state", {})["signed_in"] = person
        host = headers.get(b"host", b"").decode("latin-1").lower()
        host_name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        if service.hosts and host_name not in service.hosts:
            raise RefusedError(400, "the server does not go by this name", kind="host")
        check_origin(scope["method"], scope["headers"], secure=service.secure)
        if headers.get(b"content-encoding", b"identity") not in (b"identity", b""):
            raise RefusedError(415, "send the body without an encoding")
        length = headers.get(b"content-length", b"0")
        limits = self._service.limits
        # A client that expects a reply before its body sends none yet: it can be refused at once.
        largest = limits.body + (0 if b"expect" in headers else limits.unread)
        if length.isdigit() and int(length[:20]) > largest:
            raise self._too_large()

    def _check_peer(self, scope: Scope) -> bool:
        """Refuse an unencrypted request that is not from a proxy; its token is not read.

        Returns:
            Whether it comes from a proxy.
        """
        if not self._service.proxies:
            return False
        name, port = scope.get("client") or ("unknown", 0)
        peer = _address(name)
        if peer is not None and any(peer in network for network in self._service.proxies):
            scope["client"] = (str(peer), port)  # as the proxies are written
            return True
        if scope["scheme"] != "https" and scope["path"] not in _FOR_ALL:
            raise RefusedError(
                403,
                f"this server answers its proxy alone, and {name} is not its address",
                kind="proxy",
                headers={"Connection": "close"},
            )
        return False

    async def _timely_body(self, receive: Receive) -> bytes:
        """Return the whole body, see `_body`.

        Raises:
            RefusedError: it does not arrive in time, or is refused.
        """
        try:
            return await asyncio.wait_for(self._body(receive), self._service.limits.seconds)
        except TimeoutError:
            close = {"Connection": "close"}
            raise RefusedError(408, "send the whole request at once", headers=close) from None

    async def _body(self, receive: Receive) -> bytes:
        """Return the whole body.

        One that is too large is read to its end, as far as `Limits.unread` goes, and forgotten: a
        connection that is closed while its client still sends loses the refusal.
        """
        limits = self._service.limits
        parts, size = list[bytes](), 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise RefusedError(400, "the connection was lost")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > limits.body:
                parts.clear()
            ended = not message.get("more_body", False)
            if size > limits.body and (ended or size > limits.body + limits.unread):
                raise self._too_large()
            if ended:
                return b"".join(parts)

    def _too_large(self) -> RefusedError:
        """Return the refusal of a body that is too large."""
        largest = self._service.limits.body
        return RefusedError(
            413, f"a request has at most {largest:,} bytes", headers={"Connection": "close"}
        )


@final
class _Reply:
    """Sends a reply, at its tick and with the headers that all replies have."""

    def __init__(self, scope: Scope, send: Send, service: Service) -> None:
        self._scope = scope
        self._send = send
        self._service = service
        self.arrival = service.clock()
        self.started = False
        self._waits = True
        self._id = begin_request()

    def leave(self) -> None:
        """Count, once, that the request no longer waits: its reply leaves, or never will."""
        if self._waits:
            self._waits = False
            self._service.metrics.waiting -= 1

    async def send(self, message: Message) -> None:
        """Send a message of a handler; the first one waits for its tick, and gets the headers."""
        if message["type"] == "http.response.start":
            await self._wait()
            self.started = True
            self._count(message["status"])
            headers = {**HEADERS, **(_SECURE if self._service.secure else {})}
            headers[REQUEST_ID_HEADER] = self._id
            raw = [(key, value) for key, value in message["headers"] if key != b"server"]
            raw += [(key.encode(), value.encode()) for key, value in headers.items()]
            message = {**message, "headers": raw}
        await self._send(message)

    async def refuse(self, problem: RefusedError) -> None:
        """Reply with a refusal."""
        self._scope.setdefault("state", {})["refusal"] = problem.kind
        body = problem.body.encode()
        headers = {
            "content-type": _PROBLEM,
            "content-length": str(len(body)),
            **{key.lower(): value for key, value in problem.headers.items()},
        }
        raw = [(key.encode(), value.encode("latin-1")) for key, value in headers.items()]
        await self.send({"type": "http.response.start", "status": problem.status, "headers": raw})
        await self.send({"type": "http.response.body", "body": body})

    def _count(self, status: int) -> None:
        """Log and count a reply that leaves, at its tick."""
        state, seconds = self._scope.get("state", {}), self._service.clock() - self.arrival
        self.leave()
        log_request(
            method=self._scope["method"],
            path=self._scope["path"],
            status=status,
            seconds=seconds,
            person=state.get("person", "-"),
        )
        metrics = self._service.metrics
        metrics.count_reply(status, seconds, refusal=state.get("refusal"), asked=state.get("asked"))
        if "figures" in state:
            metrics.graphs.update(state["figures"])

    async def _wait(self) -> None:
        """Wait for the tick at which the reply leaves, if it leaves at one."""
        if not self._scope["path"].startswith(_ON_TICKS):
            return
        service = self._service
        queries = self._scope.get("state", {}).get("queries", 1)
        leaves, overrun = service.ticks.departure(self.arrival, service.clock(), queries)
        await asyncio.sleep(max(0.0, leaves - service.clock()))
        service.overruns += overrun  # not before: it would tell when the work was done


def _address(name: str) -> IPv4Address | IPv6Address | None:
    """Return the address of a peer, of IPv4 also if it is written as IPv6; None for a name."""
    try:
        address = ip_address(name)
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address


def _nothing() -> None:
    """Do nothing: for a request that `admit` did not count."""


def _check_type(scope: Scope, body: bytes) -> None:
    """Refuse a change whose body does not say that it is JSON; forms of other sites cannot say so.

    Raises:
        RefusedError: it is none.
    """
    types = [value.partition(";")[0] for value in values_of(scope["headers"], b"content-type")]
    json_alone = [kind.strip().lower() for kind in types] == ["application/json"]
    if body and scope["method"] not in SAFE_METHODS and not json_alone:
        raise RefusedError(415, "send the body as Content-Type: application/json", kind="type")


def _with_body(body: bytes, receive: Receive) -> Receive:
    """Return a function that gives a body that was read, and after it what `receive` gives."""
    sent = False

    async def receive_body() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_body


def log_failure(problem: Exception) -> None:
    """Log where a request failed, without the message of the exception, which may hold values."""
    frames: Any = traceback.extract_tb(problem.__traceback__)
    lines = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames[-6:]))
    log.error("failure: %s at %s", type(problem).__name__, lines)


pages: APIRouter = APIRouter()


@pages.post("/v1/login")
async def login(
    service: CurrentService, request: Request, response: Response, body: LoginIn
) -> MeOut:
    """Begin a login of the page with a token: the reply sets a cookie."""
    token_login = service.desk.people.of_token(body.token)
    if token_login is None:
        raise note_failure(service, request, body.token)
    admit(service, request, token_login)
    secret, csrf = await service.at_store(service.desk.people.log_in, token_login)
    response.set_cookie(
        COOKIE,
        secret,
        max_age=int(LOGIN_SECONDS),
        httponly=True,
        samesite="strict",
        secure=service.secure,
    )
    return MeOut(name=token_login.person.name, role=token_login.person.role, csrf=csrf)


@pages.post("/v1/logout")
async def logout(
    who: CurrentLogin, service: CurrentService, request: Request, response: Response
) -> MeOut:
    """End a login of the page."""
    await service.at_store(service.desk.people.log_out, request.cookies.get(COOKIE, ""))
    response.delete_cookie(COOKIE)
    return MeOut(name=who.person.name, role=who.person.role, csrf=None)


@pages.get("/healthz", response_class=PlainTextResponse)
async def healthz() -> str:
    """Reply that the server runs, and nothing else."""
    return "ok\n"


@pages.get("/readyz", response_class=PlainTextResponse)
async def readyz(service: CurrentService) -> str:
    """Reply whether the server can take changes: stores are writable, the registry is theirs."""
    problem = await service.not_ready()
    if problem is not None:
        raise RefusedError(503, f"not ready: the {problem}", kind="not-ready")
    return "ready\n"


@pages.get("/metrics", response_class=PlainTextResponse, dependencies=[for_monitors])
async def metrics(service: CurrentService, request: Request) -> str:
    """Return counters for Prometheus, to monitors and curators."""
    text = service.metrics.text(overruns=service.overruns)
    # With other requests at work, fresh figures would tell when the work of one was done.
    if service.metrics.waiting == 1:
        request.state.figures = await service.at_store(service.figures)
        return text + budgets_text(request.state.figures)
    return text + budgets_text(service.metrics.graphs)


def _page(name: str) -> Callable[[Request], Awaitable[Response]]:
    """Return the handler of a page."""

    async def page(request: Request) -> Response:
        if name == _LOGIN_PAGE and getattr(request.state, "signed_in", None) is not None:
            return RedirectResponse("/analyst", 303)  # which sends curators on
        return FileResponse(FOLDER / name)

    return page


def make_app(service: Service) -> FastAPI:
    """Return the application of a service; the service is closed when the application ends.

    Args:
        service: running.
    """

    @contextlib.asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        try:
            yield
        finally:
            service.close()

    app = FastAPI(
        title="graphcuts_dp",
        version=__version__,
        description="Cuts and other linear queries on a private graph, answered one by one.",
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
    )
    app.state.service = service
    for routes in (router, curating, pages):
        app.include_router(routes)
    for path, name in _PAGES.items():
        app.add_api_route(path, _page(name), include_in_schema=False)
    app.mount("/page", StaticFiles(directory=FOLDER))
    for kind in (GraphCutsError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _refused)
    app.add_middleware(Guard, service=service)
    return app


async def _refused(request: Request, problem: Exception) -> Response:
    """Return the reply for an exception that a handler raised."""
    if isinstance(problem, RequestValidationError):
        refusal = _not_valid(problem)
    elif isinstance(problem, HTTPException):
        refusal = RefusedError(problem.status_code, headers=dict(problem.headers or {}))
    else:
        refusal = refusal_of(cast(GraphCutsError, problem))
    request.state.refusal = refusal.kind
    return Response(refusal.body, refusal.status, refusal.headers, _PROBLEM)


def _not_valid(problem: RequestValidationError) -> RefusedError:
    """Return the refusal that names the fields that are wrong, and why; not what was sent."""
    errors: list[dict[str, Any]] = [
        {"field": [str(part)[:60] for part in error["loc"]], "problem": _problem_of(error)}
        for error in problem.errors()[:_MOST_ERRORS]
    ]
    errors.sort(key=lambda error: not error["problem"].startswith(_RENAMED))
    first = errors[0] if errors else {"field": [], "problem": "not valid"}
    detail = f"{'.'.join(first['field'])}: {first['problem']}"
    return RefusedError(422, detail, kind="value", errors=errors)


def _problem_of(error: Any) -> str:
    """Return what is wrong with a field; of a former name, its present name."""
    now = FIELDS.get(str(error["loc"][-1]))
    if error["type"] == "extra_forbidden" and now is not None:
        return f"{_RENAMED} {now}"
    return str(error["msg"])[:200]


@final
class _TimedProtocol(H11Protocol):
    """Closes connections on which the head of a request takes too long."""

    _timer: asyncio.TimerHandle | None = None  # while the head of a request is awaited

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        if self._timer is None and self.conn.their_state is h11.IDLE:
            self._watch()
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_watching()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watching()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Start the timer that closes the connection."""
        self._timer = self.loop.call_later(_HEADER_SECONDS, self._close)

    def _stop_watching(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        """Close the connection if no head of a request has arrived."""
        self._timer = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()


def serve(service: Service, binding: Binding, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C: no new request is taken then, those at work are finished.

    Args:
        service: running; it is closed at the end.
        binding: where to listen.
        announce: called with the address once requests are taken.

    Raises:
        ServerError: the address is taken.
    """
    listening = listening_at(binding)
    address = f"[{binding.host}]" if ":" in binding.host else binding.host
    kind = "http" if binding.certificate is None else "https"
    announce(f"{kind}://{address}:{listening.getsockname()[1]}/")
    set_up_logging(as_json=binding.log_json)
    config = uvicorn.Config(
        make_app(service),
        host=binding.host,
        port=binding.port,
        ssl_certfile=binding.certificate,
        ssl_keyfile=binding.key,
        http=_TimedProtocol,
        ws="none",
        lifespan="on",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=False,
        proxy_headers=False,  # the guard believes them, once it has seen where they come from
        limit_concurrency=_CONNECTIONS,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=_FINISH_SECONDS,
        h11_max_incomplete_event_size=_HEADER_BYTES,
    )
    with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises the signal again when it is done
        uvicorn.Server(config).run(sockets=[listening])


def listening_at(binding: Binding) -> socket.socket:
    """Return a socket on which requests may come.

    Raises:
        ServerError: the address is taken.
    """
    family = socket.AF_INET6 if ":" in binding.host else socket.AF_INET
    listening = socket.socket(family)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((binding.host, binding.port))
        listening.listen(_CONNECTIONS)
    except OSError as problem:
        listening.close()
        where = f"{binding.host}:{binding.port}"
        raise ServerError(f"cannot listen on {where}: {problem.strerror}") from None
    return listening
