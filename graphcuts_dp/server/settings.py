"""Options of a server: where it listens, limits of requests, and ticks at which replies leave."""

import math
import os
import re
import threading
from dataclasses import dataclass
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import final

from graphcuts_dp.errors import ParameterError
from graphcuts_dp.files import others_may_read
from graphcuts_dp.options import check, output_option

_LOCAL = ("127.0.0.1", "::1", "localhost")
_MOST_BUCKETS = 10_000  # that `Rates` keeps
_SHORTEST_SECRET = 32  # characters of what a proxy shares
_HEADER_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,59}")
_TAKEN_HEADERS = ("authorization", "cookie", "host", "origin", "x-proxy-secret", "x-csrf-token")
_TICK_PARTS = 1 << 20  # times are compared in whole parts of a tick, not in floats that may round


@final
@dataclass(frozen=True, kw_only=True)
class Binding:
    """Options of where a server listens, and how fast it answers.

    An address of one proxy, or a network of them, is enough: plain HTTP is taken from these alone,
    and their word about the client.

    Raises:
        ParameterError: open to others without a certificate or a proxy, or no address of a proxy.
    """

    host: str = output_option("127.0.0.1", help="Address to listen on.")
    port: int = output_option(
        8470, help="Port to listen on; 0 takes any free port.", least=0, most=65535
    )
    certificate: str | None = output_option(
        None, help="PEM file with the certificate for HTTPS; it may contain the key."
    )
    key: str | None = output_option(None, help="PEM file with the key.")
    server_name: str = output_option(
        "", help="Host names by which the server is reached, separated by commas."
    )
    behind_proxy: str = output_option(
        "",
        help="Address of a proxy that encrypts and passes on the address of the client. Plain "
        "HTTP from other addresses is refused. Several are separated by commas.",
    )
    person_header: str = output_option(
        "",
        help="Header by which the proxy names whom it has signed in, such as X-Forwarded-User. "
        "Needs --behind-proxy and --proxy-secret.",
    )
    proxy_secret: str | None = output_option(
        None,
        help="File with a secret of at least 32 characters, which the proxy sends as the header "
        "X-Proxy-Secret with each request.",
        metavar="FILE",
    )
    tick: float = output_option(
        0.25,
        help="Seconds between ticks; replies leave at ticks, which hides how long the work took.",
        least=0.001,
        most=60,
    )
    log_json: bool = output_option(False, help="Log requests as JSON lines, on stderr.")
    rate: float = output_option(20.0, help="Limit on requests per second of one person.", above=0)

    def __post_init__(self) -> None:
        check(self)
        if self.host not in _LOCAL and self.certificate is None and not self.behind_proxy:
            raise ParameterError(
                f"tokens would cross the network in the clear on {self.host}: give a certificate, "
                "or say which proxy encrypts"
            )
        _ = self.proxies
        for file in (self.certificate, self.key):
            if file is not None and not Path(file).is_file():
                raise ParameterError(f"there is no file {file}")
        self._check_sign_in()

    def _check_sign_in(self) -> None:
        """Refuse a header for persons that anybody could send, or a secret that is none."""
        if not (self.person_header or self.proxy_secret):
            return
        if not (self.person_header and self.proxy_secret and self.behind_proxy):
            raise ParameterError(
                "a proxy that names persons needs person_header=, proxy_secret= and behind_proxy= "
                "together"
            )
        name = self.person_header
        if not _HEADER_NAME.fullmatch(name) or name.lower() in _TAKEN_HEADERS:
            raise ParameterError(
                f"{name!r:.60} cannot be the header that names persons; give one such as "
                "X-Forwarded-User"
            )
        _ = self.shared_secret

    @cached_property
    def shared_secret(self) -> str:
        """Return the secret of the proxy and the server; empty if there is no file.

        Raises:
            ParameterError: the file cannot be read, others may read it, or it has no long secret.
        """
        if self.proxy_secret is None:
            return ""
        path = Path(self.proxy_secret)
        try:
            with path.open(encoding="ascii") as file:
                readable = others_may_read(os.fstat(file.fileno()))
                secret = file.read(1 << 12).strip()
        except (OSError, ValueError):
            raise ParameterError(f"cannot read the secret in {path}") from None
        if readable:
            raise ParameterError(f"others may read {path}, which holds a secret; run: chmod 600 it")
        if len(secret) < _SHORTEST_SECRET or not secret.isprintable() or " " in secret:
            raise ParameterError(
                f"the secret in {path} must be one word of at least {_SHORTEST_SECRET} characters; "
                "make one with: openssl rand -hex 32"
            )
        return secret

    @property
    def proxies(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """Return the addresses of proxies; of IPv4 also those that are written as IPv6.

        Raises:
            ParameterError: a name, or a network of all addresses.
        """
        parts = self.behind_proxy.split(",") if self.behind_proxy else []
        return tuple(_network(part.strip()) for part in parts)

    @property
    def secure(self) -> bool:
        """Return whether browsers come by HTTPS."""
        return self.certificate is not None or bool(self.behind_proxy)

    @property
    def hosts(self) -> frozenset[str]:
        """Return the names under which the server may be addressed."""
        address = f"[{self.host}]" if ":" in self.host else self.host
        names = (name.strip() for name in self.server_name.lower().split(","))
        return frozenset({address, "localhost", *filter(None, names)})


@final
@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of a server; each is public.

    Attributes:
        body: bytes of a request.
        batch: queries of a request.
        numbers: that the queries of a request are made into: a weight for each vertex of a rank-one
            query, a coefficient for each pair of one that is given by coefficients, and 16 more
            for each that is named.
        rate: requests a second of one person, in the long run.
        burst: requests of one person at once.
        failures: refused tokens of one address in a minute, and of one wrong token; more get 429.
            Valid tokens are accepted all the same.
        seconds: in which a request has to arrive whole.
        unread: bytes of a request beyond `body` that are read and forgotten, so that its sender
            sees the refusal.
        waiting: requests of one person that are under way; more are refused.
        session_waiting: requests of one person in one session that are under way; more are refused.
        dummy: largest number of vertices for which a graph is simulated.
    """

    body: int = 8 << 20
    batch: int = 1000
    numbers: int = 1 << 25
    rate: float = 20.0
    burst: int = 60
    failures: int = 10
    seconds: float = 15.0
    unread: int = 32 << 20
    waiting: int = 32
    session_waiting: int = 16
    dummy: int = 200_000


@final
class Rates:
    """Buckets of requests, one for each name: a bucket fills at a rate, up to a burst.

    Args:
        rate: requests a second.
        burst: at once.
    """

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, burst
        self._buckets: dict[str, tuple[float, float]] = {}
        self._turn = threading.Lock()

    def wait(self, name: str, time: float, *, take: bool = True) -> float:
        """Take one request from the bucket of this name.

        Args:
            name: of the bucket.
            time: now, in seconds by a clock that never goes back.
            take: False only looks.

        Returns:
            0 if it may go on; else after how many seconds to try again.
        """
        with self._turn:
            left, before = self._buckets.pop(name, (float(self._burst), time))
            left = min(float(self._burst), left + (time - before) * self._rate)
            allowed = left >= 1
            self._buckets[name] = (left - (allowed and take), time)
            if len(self._buckets) > _MOST_BUCKETS:  # the one that was idle for longest
                del self._buckets[next(iter(self._buckets))]
        return 0.0 if allowed else math.ceil((1 - left) / self._rate * 1000) / 1000


@final
@dataclass(frozen=True)
class Ticks:
    """Times at which replies leave: ticks that do not tell how long the work took.

    How long an answer takes depends on what a sparse vector test found, and on how many edges were
    counted. So a reply leaves at a time that is a function of when its request came and of public
    sizes, whatever the work took, as long as it took less than was allotted; and if it took longer,
    after twice as much, four times as much, and so on: then the time tells, once for each doubling,
    that the work was longer than that, and no more. Overruns are counted, and the curator sees how
    many there were.

    Attributes:
        period: seconds from one to the next, > 0.
        queries: how many queries of a batch are allotted one more period, at least 1.
    """

    period: float
    queries: int = 16

    def allotted(self, queries: int = 1) -> int:
        """Return the whole periods that are allotted to so many queries; a public number."""
        return max(1, math.ceil(queries / self.queries))

    def departure(self, came: float, done: float, queries: int = 1) -> tuple[float, bool]:
        """Return when a reply leaves.

        Args:
            came: when the request had come, in seconds from some start.
            done: when the work on it was done, by the same clock.
            queries: how many it asks; 1 for a request that asks none.

        Returns:
            The time at which the reply leaves, a whole number of periods, and whether the work took
            longer than allotted. Among all `done` that are within what is allotted, the time does
            not depend on `done`.
        """
        first = _whole(came / self.period)
        wait = self.allotted(queries)
        overrun = False
        while (first + wait) * self.period < done:
            wait *= 2
            overrun = True
        return (first + wait) * self.period, overrun


def _network(text: str) -> IPv4Network | IPv6Network:
    """Return the network of a proxy; of IPv4 also if it is written as IPv6.

    Raises:
        ParameterError: a name, or a network of all addresses.
    """
    try:
        network = ip_network(text)
    except ValueError:
        network = None
    if network is None or not network.prefixlen:
        raise ParameterError(
            f"{text!r:.60} is no address of a proxy; give it as 10.0.0.7 or 10.0.0.0/29"
        )
    mapped = network.network_address.ipv4_mapped if isinstance(network, IPv6Network) else None
    if mapped is None or network.prefixlen <= 96:
        return network
    return IPv4Network((mapped, network.prefixlen - 96))


def _whole(ticks: float) -> int:
    """Return the first tick that is not before a time, which is in ticks."""
    return -((-round(ticks * _TICK_PARTS)) // _TICK_PARTS)
