"""Sign-in by a reverse proxy, by OpenID Connect or otherwise: it names the person in a header.

It is off unless a header and a secret are stated. The server believes the header only if

1. the request came from an address of a stated proxy, at the other end of the connection; and
2. the request has the secret that the proxy and the server share, in `X-Proxy-Secret`.

A request that has the header without these is refused, whoever sends it. The proxy must remove both
headers from what browsers send. Since a browser sends the proxy's cookie by itself, a change also
needs the CSRF token of the person, which `/v1/me` tells.
"""

import hashlib
import hmac
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, final

from graphcuts_dp.server.models import RefusedError
from graphcuts_dp.server.origins import values_of

SECRET_HEADER: Final = "x-proxy-secret"  # noqa: S105  # a name, no secret


@final
@dataclass(frozen=True)
class ProxySignIn:
    """Header and secret by which a proxy states whom it has signed in.

    Attributes:
        header: name of the header with the person's name, in small letters.
        secret: that the proxy shares with the server.
    """

    header: str
    secret: str = field(repr=False)

    def person_named(self, headers: Sequence[tuple[bytes, bytes]], *, trusted: bool) -> str | None:
        """Return the name of the person whom the proxy has signed in, None if it names nobody.

        Args:
            headers: of the request, as ASGI has them.
            trusted: whether the request came from an address of a proxy.

        Raises:
            RefusedError: the header does not come from the proxy, or there are several.
        """
        names = values_of(headers, self.header.encode())
        secrets = values_of(headers, SECRET_HEADER.encode())
        if not names:
            return None
        has_secret = len(secrets) == 1 and hmac.compare_digest(
            _digest(secrets[0]), _digest(self.secret)
        )
        if not (trusted and has_secret and len(names) == 1):
            raise RefusedError(
                403,
                "only the proxy names who has signed in: this request names somebody, and does not "
                "come from the proxy with its secret",
                kind="proxy",
                headers={"Connection": "close"},
            )
        return names[0]

    def csrf_of(self, person: str) -> str:
        """Return the CSRF token of a person; it changes with the secret."""
        return hmac.new(self.secret.encode(), f"csrf\0{person}".encode(), "sha256").hexdigest()


def _digest(text: str) -> bytes:
    """Return a digest, so that texts of different lengths take the same time to compare."""
    return hashlib.sha256(text.encode()).digest()
