"""What a request may weigh, and how many there may be in a time."""

import math
import threading
from dataclasses import dataclass
from typing import final

from graphcuts_dp.errors import ParameterError

_MOST_BUCKETS = 10_000


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
        failures: refused tokens of one address in a minute.
        seconds: in which a request has to arrive whole.
        waiting: requests that wait for the store; more are sent away.
        dummy: largest number of vertices for which a made graph is made.

    Raises:
        ParameterError: a number that is not positive.
    """

    body: int = 8 << 20
    batch: int = 1000
    numbers: int = 1 << 25
    rate: float = 20.0
    burst: int = 60
    failures: int = 10
    seconds: float = 15.0
    waiting: int = 200
    dummy: int = 200_000

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise ParameterError(f"the limit {name} must be positive")


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
            name: whose.
            time: now, in seconds by a clock that never goes back.
            take: False only looks.

        Returns:
            0 if it may go on; else after how many seconds to try again.
        """
        with self._turn:
            left, since = self._buckets.pop(name, (float(self._burst), time))
            left = min(float(self._burst), left + (time - since) * self._rate)
            allowed = left >= 1
            self._buckets[name] = (left - (allowed and take), time)
            if len(self._buckets) > _MOST_BUCKETS:  # the one that was idle for longest
                del self._buckets[next(iter(self._buckets))]
        return 0.0 if allowed else math.ceil((1 - left) / self._rate * 1000) / 1000
