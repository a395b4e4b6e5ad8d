"""Refuse state changes that a page of another site sends, by `Origin` and `Sec-Fetch-Site`.

Browsers say with each request that can change something which site it comes from. A page cannot
forge that. Programs that are no browser say nothing, and send a token, which no browser adds by
itself. The check does not rely on how the framework reads bodies, on cookies or on CSRF tokens; it
comes before all of them, and also holds for a login.
"""

from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from graphcuts_dp.server.models import RefusedError

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")  # of HTTP: they change nothing
_SAME_SITE = ("same-origin", "none")  # "none": typed into the address bar
_DEFAULT_PORTS = {"http": 80, "https": 443}

Headers = Iterable[tuple[bytes, bytes]]


def values_of(headers: Headers, name: bytes) -> list[str]:
    """Return all values of a header, in order.

    Args:
        headers: of a request, as ASGI has them.
        name: in small letters.
    """
    return [value.decode("latin-1") for key, value in headers if key == name]


def check_origin(method: str, headers: Sequence[tuple[bytes, bytes]], *, secure: bool) -> None:
    """Refuse a state change that a page of another site sends.

    Args:
        method: of HTTP.
        headers: as ASGI has them; the name of the host was checked before.
        secure: whether browsers reach the server by HTTPS.

    Raises:
        RefusedError: the browser says that the request comes from elsewhere.
    """
    if method in SAFE_METHODS:
        return
    sites, origins = values_of(headers, b"sec-fetch-site"), values_of(headers, b"origin")
    hosts = values_of(headers, b"host")
    is_same_site = all(site in _SAME_SITE for site in sites) and len(sites) <= 1
    if origins and is_same_site:
        scheme = "https" if secure else "http"
        own_origin = _origin(f"{scheme}://{hosts[0]}") if len(hosts) == 1 else None
        is_same_site = (
            len(origins) == 1 and own_origin is not None and _origin(origins[0]) == own_origin
        )
    if not is_same_site:
        raise RefusedError(
            403,
            "a page of another site sent this request, by its Origin or Sec-Fetch-Site header; a "
            "proxy must pass on the Host header with its port",
            kind="origin",
        )


def _origin(text: str) -> tuple[str, str, int] | None:
    """Return scheme, host and port of an origin; None for what is none, such as "null"."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        return None
    default = _DEFAULT_PORTS.get(parts.scheme)
    if default is None or not parts.hostname or parts.path or parts.query or parts.fragment:
        return None
    return parts.scheme, parts.hostname, default if port is None else port
