"""Serve the requests of persons in rotation, and bound how many one person has under way.

`Turns` has a queue for each person and serves the persons in rotation. Work of many steps is given
as a generator: each of its steps is one turn, so that a batch of a thousand queries delays another
person by one step and not by the whole batch.

`UnderWay` bounds how many requests of one person, and of these in one session, are under way. A
request counts from its arrival until its reply has left, which is at a tick: so whether one more is
refused does not reveal when the work on an earlier one was done, and depends on no request of
anybody else. What load of others does show is the delay of a reply whose work took longer than its
ticks.
"""

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar, cast, final

from graphcuts_dp.server.models import RefusedError

Result = TypeVar("Result")
Steps = Generator[None, None, Result]  # work that lets others go first at each `yield`
_RETRY_SECONDS = "1"


def finished(steps: "Steps[Result]") -> Result:
    """Do all steps and return their result."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            return cast(Result, stop.value)


def one_step(work: Callable[[], Result]) -> "Steps[Result]":
    """Return work of one step."""
    yield from ()
    return work()


@final
@dataclass(eq=False)
class _Job:
    """Work of one request, whether it has begun, and where its result is awaited."""

    future: "asyncio.Future[Any]"
    steps: "Steps[Any]"
    begun: bool = False
    result: Any = None

    def step(self) -> bool:
        """Do one step; return True if it was the last one, which gives the result."""
        self.begun = True
        try:
            next(self.steps)
        except StopIteration as stop:
            self.result = stop.value
            return True
        return False


@final
class Turns:
    """One thread, and a queue of work for each person; the persons take turns.

    All methods but the work itself run on one event loop.

    Args:
        name: of the thread.
        initializer: called once on the thread.
    """

    def __init__(self, name: str, initializer: Callable[[], None] | None = None) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name, initializer=initializer)
        self._queues: dict[str, deque[_Job]] = {}  # by person; whose turn is next comes first
        self._working = False

    async def run(self, person: str, steps: "Steps[Result]") -> Result:
        """Do work of a person, one step at each of their turns; what has begun is finished.

        Args:
            person: whose queue it waits in, after their earlier work.
            steps: the work.

        Raises:
            Exception: what the work raised.
        """
        loop = asyncio.get_running_loop()
        job = _Job(loop.create_future(), steps)
        self._queues.setdefault(person, deque()).append(job)
        if not self._working:
            self._next(loop)
        return cast(Result, await job.future)

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have the thread do one step of whoever is next."""
        while self._queues:
            person, jobs = next(iter(self._queues.items()))
            job = jobs[0]
            if job.future.cancelled() and not job.begun:  # nobody waits, and nothing was done
                self._rotate(person, done=True)
                continue
            self._working = True
            step = self._pool.submit(job.step)
            step.add_done_callback(partial(_on_loop, loop, self._after, loop, person))
            return
        self._working = False

    def _after(self, loop: asyncio.AbstractEventLoop, person: str, step: "Future[bool]") -> None:
        """Hand a result on once it is there, and go on with the next person."""
        job, problem = self._queues[person][0], step.exception()
        done = problem is not None or step.result()
        if done and not job.future.done():
            if problem is None:
                job.future.set_result(job.result)
            else:
                job.future.set_exception(problem)
        self._rotate(person, done=done)
        self._next(loop)

    def _rotate(self, person: str, *, done: bool) -> None:
        """Move a person behind all others, without the first of their jobs if that is done."""
        jobs = self._queues.pop(person)
        if done:
            jobs.popleft()
        if jobs:
            self._queues[person] = jobs

    def close(self) -> None:
        """Finish the step that is at work; what waits is not begun."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._queues.clear()


def _on_loop(loop: asyncio.AbstractEventLoop, action: Callable[..., None], *given: Any) -> None:
    with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits any more
        loop.call_soon_threadsafe(action, *given)


@final
class UnderWay:
    """Counts requests that are under way, and bounds them; on one event loop.

    Args:
        person: the most of one person.
        session: the most of one person in one session.
    """

    def __init__(self, person: int, session: int) -> None:
        self._most = {False: person, True: session}
        self._counts: Counter[tuple[str, ...]] = Counter()

    def enter(self, person: str, session: str | None = None) -> Callable[[], None]:
        """Count one more request.

        Args:
            person: who sends it.
            session: that it is about, if any; it counts by itself for each person, so that nothing
                is revealed of sessions of others.

        Returns:
            What to call once, when the reply has left.

        Raises:
            RefusedError: too many are under way.
        """
        keys: list[tuple[str, ...]] = [(person,)] + ([] if session is None else [(person, session)])
        for key in keys:
            most = self._most[len(key) > 1]
            if self._counts[key] >= most:
                whose = "of yours" if len(key) == 1 else "of yours in this session"
                raise RefusedError(
                    429,
                    f"{most} requests {whose} are under way; wait for a reply before you send "
                    "more, or ask several queries in one request",
                    kind="under-way",
                    headers={"Retry-After": _RETRY_SECONDS},
                )
        self._counts.update(keys)

        def leave() -> None:
            for key in keys:
                self._counts[key] -= 1
                if not self._counts[key]:
                    del self._counts[key]

        return leave
