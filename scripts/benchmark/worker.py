"""Run contenders in a process, one after the other, and measure their results."""

import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, final

from threadpoolctl import threadpool_limits

from graphcuts_dp.errors import AccuracyWarning, ParameterError, PrivacyWarning
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.schema.groups import Groups
from scripts.benchmark.base import Contender, Submission
from scripts.benchmark.entering import load_contender, one_line
from scripts.benchmark.estimates import checked_estimate
from scripts.benchmark.graphs import find_cases
from scripts.benchmark.measures import measured
from scripts.benchmark.shuffle import Shuffle
from scripts.benchmark.truth import Truth, truth_of_case

READY, MADE, MEASURED, FAILED = "ready", "made", "measured", "failed"
_SMALL = "karate"
_MEMORY_FILE, _RESET_FILE = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@final
@dataclass(frozen=True, kw_only=True)
class Job:
    """A run for the worker process: contender, graph, epsilon, seed and measures.

    Attributes:
        contender: name in the table, or "module:NAME".
        folder: where modules are looked for.
        graph: name of the case.
        epsilon: to spend.
        delta: likewise.
        seed: of the noise, and of the order of the vertices.
    """

    contender: str
    folder: str
    graph: str
    epsilon: float
    delta: float
    seed: int


def serve(pipe: Connection) -> None:
    """Answer each job with messages (READY,), then (MADE, facts), then (MEASURED, errors).

    Or (FAILED, one line) in the place of any of them. Ends when the other side is gone. Numerical
    libraries have one thread, so that times can be compared.
    """
    warnings.simplefilter("ignore", AccuracyWarning)
    warnings.simplefilter("ignore", PrivacyWarning)
    truths: dict[str, Truth] = {}
    warmed: set[str] = set()
    with threadpool_limits(1):
        while True:
            try:
                job = pipe.recv()
                for message in answers(job, truths, warmed):
                    pipe.send(message)
            except (EOFError, BrokenPipeError, KeyboardInterrupt):
                return


def _warm_up(contender: Contender, delta: float) -> None:
    """Run a contender once on a small graph, so that no time is that of loading modules."""
    with suppress(Exception):  # told when it is run
        (case,) = find_cases([_SMALL])
        if case.takes(contender) and case.groups is not None:
            graph, groups = case.make(), case.groups()
            contender.method(graph, epsilon=1.0, delta=delta, groups=groups, seed=0)


def answers(job: Job, truths: dict[str, Truth], warmed: set[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the messages of a job.

    Args:
        job: what to run.
        truths: the graph at hand, by name; kept up to date.
        warmed: contenders that ran before; likewise.
    """
    try:
        contender = load_contender(job.contender, Path(job.folder))
        truth = _truth(job.graph, truths)
        shuffle = Shuffle.of(truth.graph, job.seed)
        graph, groups = shuffle.graph(truth.graph), shuffle.groups(truth.groups)
        yield (READY,)
        if job.contender not in warmed:
            warmed.add(job.contender)
            _warm_up(contender, job.delta)
        submission, facts = _timed(contender, graph, groups, job)
        yield MADE, facts
        estimate = checked_estimate(submission.estimate, graph)
        yield MEASURED, measured(shuffle.restored(estimate), truth)
    except MemoryError:
        yield FAILED, "not enough memory"
    except Exception as problem:  # a contender may raise whatever it likes
        yield FAILED, one_line("", problem)


def _truth(graph: str, truths: dict[str, Truth]) -> Truth:
    """Return the truth of a graph; only that of the last graph is kept."""
    if graph not in truths:
        truths.clear()
        (case,) = find_cases([graph])
        truths[graph] = truth_of_case(case)
    return truths[graph]


def _timed(
    contender: Contender, graph: AnyGraph, groups: Groups | None, job: Job
) -> tuple[Submission, dict[str, float]]:
    before = start_of_peak()
    started = time.perf_counter()
    submission = contender.method(
        graph, epsilon=job.epsilon, delta=job.delta, groups=groups, seed=job.seed
    )
    seconds = time.perf_counter() - started
    after = _memory("VmHWM")
    if not isinstance(submission, Submission):
        raise ParameterError("a method of a Contender returns a Submission")
    facts = {
        "epsilon": submission.guarantee.epsilon,
        "delta": submission.guarantee.delta,
        "seconds": seconds,
    }
    for name, allowed in (("epsilon", job.epsilon), ("delta", job.delta)):
        if (claim := facts[name]) > allowed * (1 + 1e-9):
            raise ParameterError(f"it claims {name} = {claim:g}, more than the {allowed:g} given")
    if before is not None and after is not None:
        facts["memory"] = max(0.0, after - before)
    return submission, facts


def start_of_peak() -> float | None:
    """Count the peak anew; return resident memory in MiB, None if the system does not report it."""
    if sys.platform != "linux":
        return None
    try:
        _RESET_FILE.write_text("5")
    except OSError:
        return None
    return _memory("VmRSS")


def _memory(name: str) -> float | None:
    """Return a line of the kernel's table of this process, in MiB."""
    try:
        lines = _MEMORY_FILE.read_text().splitlines()
    except OSError:
        return None
    sizes = [line.split()[1] for line in lines if line.startswith(f"{name}:")]
    return int(sizes[0]) / 1024 if sizes else None
