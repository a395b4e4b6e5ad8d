"""What the handlers share: the desk with its one thread, the clock, rates, counters."""

import asyncio
import functools
import logging
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar, cast, final

from graphcuts_dp.errors import GraphCutsError, LedgerError
from graphcuts_dp.server.desk import Desk
from graphcuts_dp.server.problems import RefusedError, refusal_of
from graphcuts_dp.server.settings import Binding, Limits, Rates, Ticks

log = logging.getLogger("graphcuts_dp.server")
Result = TypeVar("Result")
Given = ParamSpec("Given")


@final
class Service:
    """The running parts of a server.

    All that touches the store is done by one thread, in the order in which it came; what touches
    public numbers alone, by another. The event loop does neither.

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
        self.hosts = frozenset[str]() if binding is None else binding.hosts
        binding = binding or Binding()
        self.secure, self.proxies = binding.secure, binding.proxies
        self.limits = limits or Limits(rate=binding.rate)
        self.ticks = ticks or Ticks(binding.tick)
        self.clock = clock
        self.rates = Rates(self.limits.rate, self.limits.burst)
        self.failures = Rates(self.limits.failures / 60, self.limits.failures)
        self.counts: Counter[str] = Counter()
        self.overruns = 0
        self._waiting = 0
        self._store = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._public = ThreadPoolExecutor(1, thread_name_prefix="public", initializer=_yielding)
        self._closing = threading.Lock()
        self._closed = False

    async def at_store(self, work: Callable[..., Result], *given: object) -> Result:
        """Do something on the thread of the store.

        Raises:
            RefusedError: too much waits already, or what the work raised, as it is told over HTTP.
        """
        return await self._on(self._store, work, *given)

    async def aside(self, work: Callable[..., Result], *given: object) -> Result:
        """Do something that reads public numbers alone, on another thread; likewise."""
        return await self._on(self._public, work, *given)

    async def _on(
        self, pool: ThreadPoolExecutor, work: Callable[..., Result], *given: object
    ) -> Result:
        if self._waiting >= self.limits.waiting:
            raise RefusedError(
                503, "too many requests wait", headers={"Retry-After": "2"}, kind="busy"
            )
        self._waiting += 1
        try:
            call = functools.partial(work, *given)
            return await asyncio.get_running_loop().run_in_executor(pool, call)
        except GraphCutsError as problem:
            if isinstance(problem, LedgerError):
                log.error("store: %s", problem)
            raise refusal_of(problem) from None
        finally:
            self._waiting -= 1

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
                self._store.shutdown(wait=True)
                self._public.shutdown(wait=True, cancel_futures=True)
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
