"""Before and after every handler: limits of requests, headers of replies, and the tick."""

import asyncio
import json
import traceback
from typing import Any, final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from graphcuts_dp.server.problems import RefusedError, body_of
from graphcuts_dp.server.service import Service, log

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
_SECURE = {"strict-transport-security": "max-age=31536000"}
_ON_TICKS = "/v1/"
_HEADER_BYTES = 16 << 10


@final
class Guard:
    """Refuses what is too large, too slow or encoded; replies to it, and to every failure.

    A body is read whole before a handler sees it. Replies of the API leave at ticks. A handler says
    in `scope["state"]["queries"]` for how many queries it is to be allotted time.

    Args:
        app: what it guards.
        service: whose limits hold.
    """

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request, as ASGI has it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        service = self._service
        reply = _Reply(scope, send, service)
        try:
            self._check(scope)
            body = await asyncio.wait_for(self._body(scope, receive), service.limits.seconds)
            reply.came = service.clock()
            await self._app(scope, _once(body, receive), reply.send)
        except RefusedError as problem:
            await reply.refuse(problem)
        except TimeoutError:
            close = {"Connection": "close"}
            await reply.refuse(RefusedError(408, "send the whole request at once", headers=close))
        except Exception as problem:
            _log_failure(problem)
            if not reply.started:
                await reply.refuse(RefusedError(500, "the failure is in the server's log"))

    def _check(self, scope: Scope) -> None:
        if sum(len(name) + len(value) for name, value in scope["headers"]) > _HEADER_BYTES:
            raise RefusedError(431, "", headers={"Connection": "close"})
        headers = dict(scope["headers"])
        host = headers.get(b"host", b"").decode("latin-1").lower()
        name = host.rsplit(":", 1)[0] if not host.endswith("]") else host
        if self._service.hosts and name not in self._service.hosts:
            raise RefusedError(400, "the server does not go by this name", kind="host")
        if headers.get(b"content-encoding", b"identity") not in (b"identity", b""):
            raise RefusedError(415, "send the body without an encoding")
        length = headers.get(b"content-length", b"0")
        if length.isdigit() and int(length[:20]) > self._service.limits.body:
            raise self._too_large()

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        if scope["method"] in ("GET", "HEAD") and not _has_body(scope):
            return b""
        parts, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise RefusedError(400, "the connection was lost")
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._service.limits.body:
                raise self._too_large()
            if not message.get("more_body", False):
                return b"".join(parts)

    def _too_large(self) -> RefusedError:
        most = self._service.limits.body
        return RefusedError(
            413, f"a request has at most {most:,} bytes", headers={"Connection": "close"}
        )


@final
class _Reply:
    """Sends a reply, at its tick and with the headers that all replies have."""

    def __init__(self, scope: Scope, send: Send, service: Service) -> None:
        self._scope = scope
        self._send = send
        self._service = service
        self.came = service.clock()
        self.started = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            await self._wait()
            self.started = True
            self._service.counts[str(message["status"])] += 1
            headers = {**_HEADERS, **(_SECURE if self._service.secure else {})}
            given = [(key, value) for key, value in message["headers"] if key != b"server"]
            given += [(key.encode(), value.encode()) for key, value in headers.items()]
            message = {**message, "headers": given}
        await self._send(message)

    async def refuse(self, problem: RefusedError) -> None:
        text = json.dumps(body_of(problem.status, str(problem), problem.kind, **problem.more))
        body = text.encode()
        headers = {
            "content-type": "application/problem+json",
            "content-length": str(len(body)),
            **{key.lower(): value for key, value in problem.headers.items()},
        }
        raw = [(key.encode(), value.encode("latin-1")) for key, value in headers.items()]
        await self.send({"type": "http.response.start", "status": problem.status, "headers": raw})
        await self.send({"type": "http.response.body", "body": body})

    async def _wait(self) -> None:
        if not self._scope["path"].startswith(_ON_TICKS):
            return
        service = self._service
        queries = self._scope.get("state", {}).get("queries", 1)
        leaves, overrun = service.ticks.departure(self.came, service.clock(), queries)
        service.overruns += overrun
        await asyncio.sleep(max(0.0, leaves - service.clock()))


def _has_body(scope: Scope) -> bool:
    names = {name for name, _ in scope["headers"]}
    return b"content-length" in names or b"transfer-encoding" in names


def _once(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def give() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return give


def _log_failure(problem: Exception) -> None:
    """Where it failed, without the message, which may hold values."""
    frames: Any = traceback.extract_tb(problem.__traceback__)
    places = " < ".join(f"{frame.name}:{frame.lineno}" for frame in reversed(frames[-6:]))
    log.error("failure: %s at %s", type(problem).__name__, places)
