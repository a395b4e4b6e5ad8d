"""Runs the server: uvicorn with one process, its limits, and what ends it."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable
from typing import Any, final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from graphcuts_dp.errors import ServerError
from graphcuts_dp.server.app import make_app
from graphcuts_dp.server.service import Service
from graphcuts_dp.server.settings import Binding

_CONNECTIONS = 500
_FINISH_SECONDS = 30
_HEADER_SECONDS = 15.0


@final
class _Patient(H11Protocol):
    """Closes connections on which the head of a request takes too long."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        if self._late is None and self.conn.their_state is h11.IDLE:
            self._watch()
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._forget()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _watch(self) -> None:
        self._late = self.loop.call_later(_HEADER_SECONDS, self._close)

    def _forget(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _close(self) -> None:
        self._late = None
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.close()


def serve(service: Service, binding: Binding, told: Callable[[str], None]) -> None:
    """Serve until SIGTERM or Ctrl-C: no new request is taken then, those at work are finished.

    Args:
        service: running; it is closed at the end.
        binding: where to listen.
        told: is called with the address once requests are taken.

    Raises:
        ServerError: the address is taken.
    """
    listening = _socket(binding)
    own = f"[{binding.host}]" if ":" in binding.host else binding.host
    kind = "http" if binding.certificate is None else "https"
    told(f"{kind}://{own}:{listening.getsockname()[1]}/")
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s", level=logging.WARNING)
    config = uvicorn.Config(
        make_app(service),
        host=binding.host,
        port=binding.port,
        ssl_certfile=binding.certificate,
        ssl_keyfile=binding.key,
        http=_Patient,
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
        h11_max_incomplete_event_size=16 << 10,
    )
    with contextlib.suppress(KeyboardInterrupt):  # uvicorn raises the signal again when it is done
        uvicorn.Server(config).run(sockets=[listening])


def _socket(binding: Binding) -> socket.socket:
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
