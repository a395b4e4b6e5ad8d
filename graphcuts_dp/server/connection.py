"""One connection of a client to a server: requests that are sent again, refusals as exceptions."""

import http.client
import json
import ssl
import time
from typing import Any, final
from urllib.parse import urlsplit

from graphcuts_dp.errors import (
    BudgetError,
    ExhaustedError,
    ParameterError,
    QueryError,
    ServerError,
)

_PAUSES = (0.1, 0.2, 0.5, 1.0, *[2.0] * 20)  # seconds before a request is sent again
_AGAIN = (429, 503)


@final
class Connection:
    """One connection to a server, opened again when it was lost."""

    def __init__(self, url: str, token: str, *, timeout: float, certificate: str | None) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ParameterError("the address of a server is like https://graphs.example.org:8470")
        self._timeout = timeout
        self._host, self._port = parts.hostname, parts.port
        self._base = parts.path.rstrip("/")
        self._context: ssl.SSLContext | None = None
        if parts.scheme == "https":
            self._context = ssl.create_default_context(cafile=certificate)
        elif parts.hostname not in ("127.0.0.1", "localhost", "::1"):
            raise ParameterError("a token is sent by https alone, but to this machine")
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._open: http.client.HTTPConnection | None = None

    def __repr__(self) -> str:
        return f"{self._host}:{self._port}"

    def send(self, method: str, path: str, body: Any = None, *, key: str | None = None) -> bytes:
        """One request and its reply; sent again while the server cannot be reached.

        Raises:
            ServerError: it cannot be reached, or failed.
            QueryError, ExhaustedError, BudgetError, ParameterError: as the server says.
        """
        text = None if body is None else json.dumps(body)
        headers = self._headers if key is None else {**self._headers, "Idempotency-Key": key}
        trouble = "it does not answer"
        for pause in (*_PAUSES, None):
            try:
                if self._open is None:
                    self._open = self._connection()
                self._open.request(method, self._base + path, text, headers)
                reply = self._open.getresponse()
                content = reply.read()
            except (OSError, http.client.HTTPException) as problem:
                if isinstance(problem, ssl.SSLCertVerificationError):
                    raise ServerError(f"the certificate of {self} is not trusted") from None
                trouble = getattr(problem, "strerror", None) or type(problem).__name__
                self.close()
            else:
                if reply.status < 400:
                    return content
                if reply.status not in _AGAIN or pause is None:
                    raise _told(reply.status, content)
            if pause is not None:
                time.sleep(pause)
        raise ServerError(f"the server at {self} cannot be reached: {trouble}")

    def ask(self, method: str, path: str, body: Any = None, *, key: str | None = None) -> Any:
        """Likewise, with the reply read as JSON."""
        content = self.send(method, path, body, key=key)
        try:
            return json.loads(content)
        except ValueError:
            raise ServerError(f"what answers at {self} is no server of sessions") from None

    def _connection(self) -> http.client.HTTPConnection:
        if self._context is None:
            return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)
        return http.client.HTTPSConnection(
            self._host, self._port, timeout=self._timeout, context=self._context
        )

    def close(self) -> None:
        """Hang up."""
        if self._open is not None:
            self._open.close()
            self._open = None


def _told(status: int, content: bytes) -> Exception:
    try:
        problem = json.loads(content)
        detail, kind = str(problem["detail"]), str(problem["type"]).rpartition(":")[2]
    except (ValueError, LookupError, TypeError):
        detail, kind = f"status {status}", ""
    if kind == "exhausted":
        return ExhaustedError(detail)
    if kind == "budget":
        return BudgetError(detail)
    if kind == "value":
        return QueryError(detail)
    return ServerError(f"the server refuses: {detail}")
