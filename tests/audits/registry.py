"""Every mechanism that the package exports, and the audit that stands for it."""

import importlib
import inspect
import multiprocessing
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from graphcuts_dp import ParameterError
from graphcuts_dp.distances import answers as distance_answers
from graphcuts_dp.estimate.noises import NOISES
from graphcuts_dp.estimate.time_strategy import TIME_STRATEGIES
from graphcuts_dp.evaluation.audit import ALPHA
from graphcuts_dp.iterative.game import PLAYERS
from graphcuts_dp.iterative.learning import CALIBRATIONS as OFFLINE_CALIBRATIONS
from graphcuts_dp.iterative.learning import DISTINGUISHERS, MEDIAN
from graphcuts_dp.learn.calibrations import CALIBRATIONS
from graphcuts_dp.learn.constructions import CONSTRUCTIONS
from graphcuts_dp.plugins import EntropySource
from graphcuts_dp.privacy.entropy import entropy_source
from graphcuts_dp.privacy.guarantee import exact_epsilon
from graphcuts_dp.privacy.k_norm import NORMS
from graphcuts_dp.resources import Progress, silent
from graphcuts_dp.session.starts import STARTS, TOTAL
from graphcuts_dp.session.terms import METHODS
from graphcuts_dp.synth.mechanisms import MECHANISMS
from graphcuts_dp.synth.methods import FIT_NAMES
from scripts.benchmark.baselines import BASELINES
from tests.audits.base import REGISTERED, AuditOutcome, Entry
from tests.audits.public_names import public_names
from tests.audits.sparse import NOISES as SPARSE_NOISES

for _file in pkgutil.iter_modules([str(Path(__file__).parent)]):
    if not _file.name.startswith(("test_", "command")):
        importlib.import_module(f"tests.audits.{_file.name}")
ENTRIES: tuple[Entry, ...] = tuple(sorted(REGISTERED, key=lambda entry: entry.name))


def exported_mechanisms() -> tuple[str, ...]:
    """Names of all that draws noise on private data, from the tables that users choose from.

    A public function that takes an epsilon and is in neither table below is named as itself: no
    audit has that name, so the registry is then incomplete.
    """
    found = list(_BESIDES)
    for name, function in public_names().items():
        if name in _PRODUCTS:
            found += _PRODUCTS[name]()
        elif inspect.isfunction(function) and "epsilon" in inspect.signature(function).parameters:
            found += [] if name in READS_NO_DATA else [f"function: {name}"]
    return tuple(found)


def _releases() -> Iterator[str]:
    for mechanism in MECHANISMS:
        yield from (f"release: {mechanism}, {noise}" for noise in NOISES)
    yield from (f"release: groups, {noise}" for noise in NOISES)
    yield from (f"release: sparse, {noise}" for noise in SPARSE_NOISES)
    yield from (f"fit: {fit}" for fit in FIT_NAMES)


def _sessions() -> Iterator[str]:
    for method in METHODS:
        if method in CONSTRUCTIONS:
            yield from (f"session: {method}, {name}" for name in CALIBRATIONS)
        else:
            yield f"session: {method}"
    yield from ("session: root degrees", "session: linear queries", "session: nuclear norm")
    yield from (f"session: start from {start}" for start in STARTS if start != TOTAL)
    yield "budget of a store"


def _iterative() -> Iterator[str]:
    yield from (f"distinguisher: {name}" for name in DISTINGUISHERS)
    yield from ("iterative: other queries", f"iterative: {MEDIAN}")
    yield from (f"player: {player}" for player in PLAYERS[1:])
    yield from (f"iterative: {construction}" for construction in CONSTRUCTIONS)
    yield from (f"iterative: {name} calibration" for name in OFFLINE_CALIBRATIONS)
    yield from (f"answers: {noise}" for noise in NORMS)
    yield from ("release: net", "release: sensing")


def _distances() -> Iterator[str]:
    for name in distance_answers.MECHANISMS:
        if name != "auto":
            yield from (
                f"distances: {name}, {distribution}" for distribution in ("laplace", "gaussian")
            )


# Public functions that draw noise, and the names of the mechanisms that they can run.
_PRODUCTS: Mapping[str, Callable[[], Iterable[str]]] = {
    "release_graph": _releases,
    "release_iteratively": _iterative,
    "open_session": _sessions,
    "choose_degree_bound": lambda: ["degree bound"],
    "detect_structure": lambda: [
        "structure test",
        "structure test, arcs and two sides",
        "structure test, weights",
    ],
    "distances.answer_distances": _distances,
    "distances.open_distance_session": lambda: [
        f"distances: session, {noise}" for noise in ("laplace", "gaussian")
    ],
    "release_flows": lambda: [
        *(
            f"{whose}flows{mark} {noise}"
            for whose, mark in (("", ":"), ("users: ", ","))
            for noise in ("laplace", "gaussian")
        ),
        *(f"flows: measured margins, {noise}" for noise in ("laplace", "gaussian")),
        *(f"{whose}: flows by period" for whose in ("rows", "users")),
        *(f"users: rows left out, {way}" for way in ("kept", "scaled")),
    ],
    "update_flows": lambda: [
        *(f"updates: {strategy}, laplace" for strategy in TIME_STRATEGIES[1:3]),
        *(f"users: updates, {strategy}" for strategy in TIME_STRATEGIES[1:3]),
        *(f"updates: {strategy}, gaussian" for strategy in TIME_STRATEGIES[1:]),
    ],
    "release_contributions": lambda: ["users: contributions"],
    "choose_contribution_bound": lambda: ["users: bound"],
    "least_cut": lambda: ["least cut", "least cut: directed", "least cut: several"],
}
# Plans; and `connect`, which asks a server: the sessions that answer there are audited.
READS_NO_DATA = {
    "connect",
    "contributions_job",  # this job and the others read the schema of the data alone
    "cut_job",
    "flows_job",
    "graph_job",
    "plan",
    "session_parameters",
    "update_plan",
    "planning.plan_contribution_bounds",
    "planning.plan_degree_bounds",
    "distances.plan_distances",
}
# What researchers import from its module.
_BESIDES = (
    *(f"baseline: {name}" for name in BASELINES),
    "distinguisher: gaussian-rank-one",
    "distances: HR12 interactive",
    "distances: HR12 offline",
)


def find_audits(names: Sequence[str]) -> tuple[Entry, ...]:
    """The entries of these names, or of all that begin with one; ("all",) for every one.

    Raises:
        ParameterError: a name that no entry begins with, or an empty one.
    """
    if list(names) == ["all"]:
        return ENTRIES
    found: dict[str, Entry] = {}
    for name in names:
        same = [entry for entry in ENTRIES if entry.name == name]
        same = same or [entry for entry in ENTRIES if name and entry.name.startswith(name)]
        if not same:
            raise ParameterError(
                f"no audit is called {name!r}; `graphcuts-dp audit` without a name lists them"
            )
        found |= {entry.name: entry for entry in same}
    return tuple(found.values())


def run_audits(
    entries: Sequence[Entry],
    *,
    epsilon: float = 1.0,
    quick: bool = False,
    seed: int | None = None,
    processes: int = 1,
    progress: Progress = silent,
) -> list[AuditOutcome]:
    """Audit mechanisms on made data, and see whether their incorrect variants are caught.

    A claim that holds is refuted with probability 1e-6 at most, for all entries together.

    Args:
        entries: which.
        epsilon: that the mechanisms shall claim, in [1e-6, 50].
        quick: as many runs of each as decide, see `sequential`.
        seed: of all noise, for a run that can be repeated; None for the system's entropy.
        processes: how many to use; outcomes of a seed do not depend on it.
        progress: called with the part that is done and a message.

    Raises:
        ParameterError: epsilon or seed out of range.
    """
    exact_epsilon(epsilon)
    terms: dict[str, Any] = {
        "epsilon": epsilon,
        "quick": quick,
        "alpha": ALPHA / max(1, len(entries)),
    }
    sources = entropy_source(seed).split(len(entries))
    if processes > 1:
        return _on_processes(entries, sources, terms, processes, progress)
    outcomes = []
    for number, (entry, source) in enumerate(zip(entries, sources, strict=True)):

        def report(message: str, entry: Entry = entry, number: int = number) -> None:
            progress(number / len(entries), f"{entry.name}: {message}")

        outcomes.append(entry.run(source=source, report=report, **terms))
    return outcomes


def _on_processes(
    entries: Sequence[Entry],
    sources: Sequence[EntropySource],
    terms: dict[str, Any],
    processes: int,
    progress: Progress,
) -> list[AuditOutcome]:
    # Fresh interpreters: a fork would copy locks that threads of numerical libraries hold.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        running = {
            pool.submit(_audited, entry.name, source, terms): number
            for number, (entry, source) in enumerate(zip(entries, sources, strict=True))
        }
        made: dict[int, AuditOutcome] = {}
        for future in as_completed(running):
            number = running[future]
            made[number] = future.result()
            progress(len(made) / len(entries), entries[number].name)
    return [made[number] for number in range(len(entries))]


def _audited(name: str, source: EntropySource, terms: dict[str, Any]) -> AuditOutcome:
    (entry,) = (entry for entry in ENTRIES if entry.name == name)
    return entry.run(source=source, **terms)
