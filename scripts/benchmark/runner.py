"""Run the benchmark, cases x contenders x epsilons x seeds, in processes; continue after a stop."""

import multiprocessing
import platform
import threading
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, final

from graphcuts_dp._version import __version__
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.files import PathLike
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.resources import Progress, silent
from scripts.benchmark.contenders.table import CONTENDERS
from scripts.benchmark.entering import is_audited, load_contender
from scripts.benchmark.graphs import GraphCase, find_cases
from scripts.benchmark.measures import MEASURES
from scripts.benchmark.runs import BenchmarkRun, RunFile, open_runs
from scripts.benchmark.worker import FAILED, MADE, MEASURED, Job, serve

EPSILONS, QUICK_EPSILONS = (0.5, 1.0, 2.0, 5.0), (1.0,)
SEEDS, LARGE_SEEDS, QUICK_SEEDS = 5, 3, 1
MOST_SMALL = 1_000  # vertices of graphs that have all SEEDS
DELTA = 1e-6  # of contenders that have no pure guarantee
QUICK_CONTENDERS = ("ours", "ours-groups", "empty-graph", "raw-response", "degrees-chung-lu")
SECONDS = 600.0  # for the method of one run
_OTHER_SECONDS = 1_800.0  # to make a graph with all that is true of it, and to measure an estimate
_POLL = 0.2


@final
@dataclass(frozen=True, kw_only=True)
class BenchmarkPlan:
    """The runs that a benchmark consists of.

    Attributes:
        cases: the graphs.
        contenders: names in the table, or "module:NAME".
        epsilons: each in [1e-6, 50].
        seeds: how many repetitions, at least 1; None for 5 on graphs of up to 1,000 vertices, and 3
            on larger ones.
    """

    cases: tuple[GraphCase, ...]
    contenders: tuple[str, ...]
    epsilons: tuple[float, ...] = EPSILONS
    seeds: int | None = None

    @classmethod
    def of(
        cls,
        *,
        graphs: Sequence[str] = (),
        contenders: Sequence[str] = (),
        added: Sequence[str] = (),
        epsilons: Sequence[float] = (),
        seeds: int | None = None,
        quick: bool = False,
    ) -> "BenchmarkPlan":
        """Return the plan of options as they were typed.

        Args:
            graphs: names of cases, or their beginnings; none for all.
            contenders: of the table; none for all of it, or with `quick` a few.
            added: of your own, as module:NAME.
            epsilons: none for .5, 1, 2 and 5.
            seeds: repetitions; None for 5 on graphs of up to 1,000 vertices, and 3 on larger ones.
            quick: three small graphs, a few contenders, epsilon 1, one repetition.

        Raises:
            ParameterError: an unknown name, or a number out of range.
        """
        names = tuple(contenders) or (QUICK_CONTENDERS if quick else tuple(CONTENDERS))
        for spec in (*names, *added):
            load_contender(spec)
        chosen = tuple(epsilons) or (QUICK_EPSILONS if quick else EPSILONS)
        count = QUICK_SEEDS if quick and seeds is None else seeds
        if count is not None and count < 1:
            raise ParameterError(f"there is at least one seed, not {count}")
        return cls(
            cases=find_cases(graphs, quick=quick),
            contenders=tuple(dict.fromkeys((*names, *added))),
            epsilons=tuple(sorted({float(exact_epsilon(epsilon)) for epsilon in chosen})),
            seeds=count,
        )

    def seeds_of(self, case: GraphCase) -> int:
        """Return how many repetitions a graph has."""
        if self.seeds is not None:
            return self.seeds
        return SEEDS if case.vertices <= MOST_SMALL else LARGE_SEEDS

    def runs(self) -> Iterator[tuple[Job, BenchmarkRun]]:
        """Yield each run, with what is known of it beforehand; graph by graph."""
        known, folder = versions(), str(Path.cwd())
        loaded = {spec: load_contender(spec) for spec in self.contenders}
        for case in self.cases:
            for epsilon in self.epsilons:
                for spec, contender in loaded.items():
                    for seed in range(self.seeds_of(case)) if case.takes(contender) else ():
                        delta = DELTA if contender.needs_delta else 0.0
                        run_seed = seed_of(case.name, epsilon, seed)
                        yield (
                            Job(contender=spec, folder=folder, graph=case.name, epsilon=epsilon,
                                delta=delta, seed=run_seed),
                            BenchmarkRun(
                                contender=contender.name, source=contender.source,
                                graph=case.name, epsilon=epsilon, delta=delta, seed=seed,
                                claimed_epsilon=None, claimed_delta=None,
                                claim_holds=contender.claim_holds, audited=is_audited(spec),
                                failure="", shuffled=True, errors={}, versions=known,
                            ),
                        )  # fmt: skip


def seed_of(graph: str, epsilon: float, seed: int) -> int:
    """Return the seed of noise and of the order of vertices: a new one for each run."""
    return zlib.crc32(f"{graph} {epsilon!r} {seed}".encode())


def versions() -> str:
    """Return the versions that results may depend on."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "igraph"))
    python = platform.python_version()
    return f"graphcuts_dp {__version__}, Python {python}, {libraries}, {platform.machine()}"


def run_benchmark(
    plan: BenchmarkPlan,
    path: PathLike,
    *,
    jobs: int = 1,
    seconds: float = SECONDS,
    progress: Progress = silent,
) -> list[BenchmarkRun]:
    """Run what is not in the file yet, and add it there, run by run.

    All noise is seeded, so that runs can be repeated: nothing that comes out is private, and no
    graph of the benchmark is. A contender that raises, dies or takes too long is a run that failed.

    Args:
        plan: which runs.
        path: of the file of runs, see `open_runs`; a run that is there is not run again.
        jobs: processes side by side.
        seconds: for the method of each run, and its first run on a small graph.
        progress: called with the fraction done and a message.

    Returns:
        The runs of the plan, those that were there before and the new ones.

    Raises:
        FileFormatError: the file cannot be used.
    """
    with open_runs(path) as file:
        planned = list(plan.runs())
        keys = {known.key for _, known in planned}
        earlier = [run for run in file.runs if run.key in keys]
        done = {run.key for run in earlier}
        todo = [(job, known) for job, known in planned if known.key not in done]
        return earlier + _Crew(todo, file, seconds, progress, len(earlier)).work(jobs)


@dataclass
class _Crew:
    """Threads with a process each, that take runs off one list."""

    todo: list[tuple[Job, BenchmarkRun]]
    file: RunFile
    seconds: float
    progress: Progress
    before: int

    def __post_init__(self) -> None:
        self._all = self.before + len(self.todo)
        self._lock = threading.Lock()
        self._held: dict[int, str] = {}
        self._made: list[BenchmarkRun] = []
        self._stopped = threading.Event()

    def work(self, jobs: int) -> list[BenchmarkRun]:
        """Run everything, and return the runs in the order in which they ended."""
        count = min(jobs, len(self.todo))
        with ThreadPoolExecutor(max(1, count)) as pool:
            try:
                for ended in as_completed([pool.submit(self._one, i) for i in range(count)]):
                    ended.result()
            finally:
                self._stopped.set()
        return self._made

    def _one(self, number: int) -> None:
        process = _Process(self._stopped)
        try:
            while (task := self._take(number)) is not None and not self._stopped.is_set():
                run = process.run(*task, self.seconds)
                if run is None:
                    return
                with self._lock:
                    self.file.append(run)
                    self._made.append(run)
                    share = (self.before + len(self._made)) / self._all
                    self.progress(share, f"{run.contender} on {run.graph}, epsilon {run.epsilon}")
        finally:
            process.end()

    def _take(self, number: int) -> tuple[Job, BenchmarkRun] | None:
        """Take a run on the present graph, whose truth is known, or on one that no process has."""
        with self._lock:
            if not self.todo:
                return None
            mine, graphs_in_use = self._held.get(number), set(self._held.values())
            index = next((i for i, (job, _) in enumerate(self.todo) if job.graph == mine), None)
            if index is None:
                free = (i for i, (job, _) in enumerate(self.todo) if job.graph not in graphs_in_use)
                index = next(free, 0)
            self._held[number] = self.todo[index][0].graph
            return self.todo.pop(index)


class _Process:
    """A worker in a process of its own, started again when it was lost."""

    def __init__(self, stopped: threading.Event) -> None:
        self._stopped = stopped
        self._worker: Any = None
        self._pipe: Any = None

    def run(self, job: Job, known: BenchmarkRun, seconds: float) -> BenchmarkRun | None:
        """Return the run with its results, or why there are none; None if all is stopped."""
        try:
            return self._run(job, known, seconds)
        except (EOFError, BrokenPipeError, ConnectionResetError):
            self._worker.join(1)
            status = self._worker.exitcode
            self.end()
            return replace(known, failure=f"the process died, status {status}")

    def _run(self, job: Job, known: BenchmarkRun, seconds: float) -> BenchmarkRun | None:
        if self._worker is None:
            self._start()
        self._pipe.send(job)
        facts: dict[str, float] = {}
        for stage, limit in (
            ("preparing the graph", _OTHER_SECONDS),
            ("the method", seconds),
            ("measuring", _OTHER_SECONDS),
        ):
            answer = self._wait(limit)
            if self._stopped.is_set():
                return None
            if answer is None:
                self.end()
                return replace(known, failure=f"{stage} took more than {limit:g} seconds")
            if answer[0] == FAILED:
                return replace(known, failure=answer[1])
            if answer[0] == MADE:
                facts = answer[1]
                known = replace(
                    known, claimed_epsilon=facts["epsilon"], claimed_delta=facts["delta"]
                )
            if answer[0] == MEASURED:
                facts |= answer[1]
        names = [measure.name for measure in MEASURES]
        return replace(known, errors={name: facts[name] for name in names if name in facts})

    def _wait(self, seconds: float) -> tuple[Any, ...] | None:
        """Return the next message; None when the time is over, or all is stopped."""
        left = seconds
        while left > 0 and not self._stopped.is_set():
            if self._pipe.poll(min(_POLL, left)):
                message: tuple[Any, ...] = self._pipe.recv()
                return message
            left -= _POLL
        return None

    def _start(self) -> None:
        # A fresh interpreter: a fork would copy locks that threads of numerical libraries hold.
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._worker = context.Process(target=serve, args=(theirs,), daemon=True)
        self._worker.start()
        theirs.close()

    def end(self) -> None:
        """Kill the process, if it runs."""
        if self._worker is not None:
            self._worker.kill()
            self._worker.join()
            self._worker.close()
            self._pipe.close()
            self._worker = None
