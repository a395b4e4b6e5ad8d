"""Serve the requests of persons in rotation, and bound how many one person has under way.

`Turns` has a queue for each person and serves the persons in rounds: in a round each person who
waits has one turn. Work of many steps is written as a generator, and each of its steps is one turn,
so that a batch of a thousand queries delays another person by one step and not by the whole batch.

Within its turn, work may hand over a part that can be done together with like parts of others in
the same round, such as a transaction (`JointPart`). So the files of a server are flushed to the
disk once for all who ask at the same time, and not once for each of them.

`UnderWay` bounds how many requests of one person, and of these in one session, are under way. A
request counts from its arrival until its reply has left, which is at a tick: so whether one more is
refused does not reveal when the work on an earlier one was done, and depends on no request of
anybody else. What load of others does show is the delay of a reply whose work took longer than its
ticks.
"""

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar, cast, final

from graphcuts_dp.server.models import RefusedError

Result = TypeVar("Result")
_RETRY_SECONDS = "1"  # of the header Retry-After


class JointPart(Protocol):
    """A part of the work on a request that is done together with parts of other requests.

    Work yields it, and gets its result from `yield`, or its exception is raised there.
    """

    def parts_to_join(self, parts: "Sequence[JointPart]") -> "Sequence[JointPart]":
        """Return this part, and those of `parts` that can be done together with it.

        Args:
            parts: the others that wait in this round.
        """

    def do_together(self, parts: Sequence[Any], /) -> Sequence[Any]:
        """Do parts that were chosen.

        Returns:
            The result of each, or the exception that it raised.
        """


# Work of a request: its turn ends at `yield None`, and continues with the result of a `JointPart`.
Steps = Generator[JointPart | None, Any, Result]


def run_all(steps: "Steps[Result]") -> Result:
    """Run all steps without a pause, and return their result; each part is done by itself."""
    reply: Any = None
    while True:
        try:
            part = _continue(steps, reply)
        except StopIteration as stop:
            return cast(Result, stop.value)
        reply = None if part is None else part.do_together([part])[0]


def _continue(steps: "Steps[Any]", reply: Any) -> JointPart | None:
    """Continue work with the result, or the exception, of the part that it has yielded."""
    return steps.throw(reply) if isinstance(reply, Exception) else steps.send(reply)


def one_step(work: Callable[[], Result]) -> "Steps[Result]":
    """Return work that is done in one step."""
    yield from ()
    return work()


@final
@dataclass(eq=False)
class _Job:
    """The work of one request, and the future of its result.

    Attributes:
        future: of the result.
        steps: the work.
        started: whether the work has begun.
        part: the part that the work waits for; None if there is none.
        done: whether the work has ended.
        result: of work that has ended; an exception if it failed.
    """

    future: "asyncio.Future[Any]"
    steps: "Steps[Any]"
    started: bool = False
    part: JointPart | None = None
    done: bool = False
    result: Any = None

    def go_on(self, reply: Any = None) -> None:
        """Work until the turn ends, the work ends, or a part is handed over.

        Args:
            reply: result or exception of the part that was handed over before.
        """
        self.part = None
        try:
            self.part = _continue(self.steps, reply)
        except StopIteration as stop:
            self.done, self.result = True, stop.value
        except BaseException as problem:  # raised where the result is awaited
            self.done, self.result = True, problem

    def deliver(self) -> None:
        """Set the result of the future; on the event loop."""
        if self.future.done():  # nobody waits any more
            return
        if isinstance(self.result, BaseException):
            self.future.set_exception(self.result)
        else:
            self.future.set_result(self.result)


def _work_round(jobs: Sequence[_Job], on_end: Callable[[_Job], None]) -> None:
    """Give each job one turn, and do parts together that can be.

    Args:
        jobs: of different persons.
        on_end: called with each job whose work has ended.
    """

    def go_on(job: _Job, reply: Any = None) -> None:
        job.go_on(reply)
        if job.done:
            on_end(job)

    for job in jobs:
        go_on(job)
    while waiting := {id(job.part): job for job in jobs if job.part is not None}:
        first, *other_parts = (cast(JointPart, job.part) for job in waiting.values())
        parts = first.parts_to_join(other_parts)
        try:
            replies = first.do_together(parts)
        except Exception as problem:
            replies = [problem] * len(parts)
        for part, reply in zip(parts, replies, strict=True):
            go_on(waiting[id(part)], reply)


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
            self._next_round(loop)
        return cast(Result, await job.future)

    def _next_round(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have the thread give each person who waits one turn."""
        jobs: dict[str, _Job] = {}
        for person, queue in list(self._queues.items()):
            while queue and queue[0].future.cancelled() and not queue[0].started:
                queue.popleft()  # nobody waits, and nothing was done
            if not queue:
                del self._queues[person]
                continue
            jobs[person] = queue[0]
            queue[0].started = True
        self._working = bool(jobs)
        if jobs:
            turns = self._pool.submit(
                _work_round, list(jobs.values()), partial(_on_loop, loop, _Job.deliver)
            )
            turns.add_done_callback(partial(_on_loop, loop, self._after_round, loop, jobs))

    def _after_round(
        self, loop: asyncio.AbstractEventLoop, jobs: dict[str, _Job], turns: "Future[None]"
    ) -> None:
        """Move the persons of a round behind all others, and go on with the next round."""
        problem = turns.exception()
        for person, job in jobs.items():
            if problem is not None and not job.done:
                job.done, job.result = True, problem
                job.deliver()
            queue = self._queues.pop(person, deque())  # empty once this is closed
            if queue and job.done:
                queue.popleft()
            if queue:
                self._queues[person] = queue
        self._next_round(loop)

    def close(self) -> None:
        """Finish the round that is at work; what waits is not begun."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._queues.clear()


def _on_loop(loop: asyncio.AbstractEventLoop, action: Callable[..., None], *values: Any) -> None:
    """Call a function on the event loop, from another thread."""
    with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits any more
        loop.call_soon_threadsafe(action, *values)


@final
class UnderWay:
    """Counts requests that are under way, and bounds them; on one event loop.

    Args:
        person: the most of one person.
        session: the most of one person in one session.
    """

    def __init__(self, person: int, session: int) -> None:
        self._person_limit, self._session_limit = person, session
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
            limit = self._person_limit if len(key) == 1 else self._session_limit
            if self._counts[key] >= limit:
                whose = "of yours" if len(key) == 1 else "of yours in this session"
                raise RefusedError(
                    429,
                    f"{limit} requests {whose} are under way; wait for a reply before you send "
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
