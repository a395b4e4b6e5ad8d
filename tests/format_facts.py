"""What stored files say through public functions: what fixtures of older formats are compared by.

`scripts/format_fixtures.py` writes down what each file said when it was made, from the objects that
were saved; tests read the files and compare. Only what users read is written down, so that a change
of a format needs no change here.
"""

import gzip
import json
import math
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, final

import numpy as np
from command_runs import run_line

import graphcuts_dp as gc
from graphcuts_dp.former_names import current
from graphcuts_dp.schema.vertices import sets_in
from graphcuts_dp.server.book import Book, first_digest, verify
from graphcuts_dp.server.people import People

Asked = Sequence[Sequence[Any]]  # S and T of each cut, T None for all others
_FIXTURES = Path(__file__).parent / "fixtures"
_NEAR = 1e-9  # a fit by least squares may end in other last digits elsewhere


@final
@dataclass(frozen=True)
class StoredFiles:
    """The files that the code of one version has written, which every later version reads.

    Attributes:
        version: such as "0.2".
    """

    version: str

    @property
    def folder(self) -> Path:
        """Where they are."""
        return _FIXTURES / f"formats_{self.version.replace('.', '_')}"

    @property
    def data(self) -> Path:
        """Where the private data and the public tables are that everything else was made of."""
        return self.folder / "data"

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What the files held when they were made, in the names of today."""
        return dict(current(json.loads((self.folder / "facts.json").read_text())))

    def unpack(self, target: Path, name: str = "") -> Path:
        """Unpack the stores into another folder, or one of them, for their owner only."""
        for packed in sorted((self.folder / "stores").glob(f"{name}*.gz")):
            path = target / packed.stem
            path.write_bytes(gzip.decompress(packed.read_bytes()))
            path.chmod(0o600)
        return target / name


VERSIONS = [
    StoredFiles(path.name.removeprefix("formats_").replace("_", "."))
    for path in sorted(_FIXTURES.glob("formats_*"))
]
VERSION_0_1 = VERSIONS[0]


def differences(found: Any, known: Any, where: str = "") -> list[str]:
    """Tell where something differs from a record; what the record does not have is not compared."""
    if isinstance(known, dict) and isinstance(found, dict):
        places = [(found.get(name), known[name], f"/{name}") for name in known]
    elif isinstance(known, list) and isinstance(found, list | tuple) and len(known) == len(found):
        places = [(*both, f"[{i}]") for i, both in enumerate(zip(found, known, strict=True))]
    else:
        same = found == known
        if float in (type(found), type(known)) and None not in (found, known) and not same:
            same = math.isclose(found, known, rel_tol=_NEAR, abs_tol=_NEAR)
        return [] if same else [f"{where}: {found!r}, recorded {known!r}"]
    return [line for one, other, step in places for line in differences(one, other, where + step)]


def facts_of(guarantee: gc.PrivacyGuarantee) -> dict[str, Any]:
    """Tell what is guaranteed."""
    return {
        "epsilon": float(guarantee.epsilon),
        "delta": float(guarantee.delta),
        "privacy_unit": guarantee.privacy_unit,
        "neighbours": guarantee.neighbours,
        "spent": {name: float(spent) for name, spent in guarantee.spent},
        "seed": guarantee.seed,
    }


def of_store(path: Path) -> dict[str, Any]:
    """Tell what a store says without its data: what was spent by what, and what was answered."""
    found = gc.store_status(path)
    status, out, _ = run_line("session", "export", str(path))
    assert status == 0
    sessions = {each["name"]: each for each in json.loads(out)["sessions"]}
    answers: dict[str, list[Any]] = {name: [] for name in sessions}
    for answer in json.loads(out)["answers"]:
        answers[answer.pop("session")].append(answer)
    told = found.to_dict()
    return {
        **{name: told[name] for name in ("epsilon", "delta", "budget", "left", "privacy_unit")},
        **{name: told[name] for name in ("entropy", "periods", "all_periods", "head")},
        "uses": [
            {
                **{name: use[name] for name in ("number", "kind", "name", "state", "time", "user")},
                **{name: use[name] for name in ("periods", "parameters")},
                "made_by": each.use.made_by,
                "guarantee": facts_of(each.use.guarantee),
            }
            for use, each in zip(told["uses"], found.uses, strict=True)
        ],
        "sessions": {
            name: {
                key: each[key]
                for key in ("state", "answers", "corrections", "interruptions", "remaining")
            }
            for name, each in sessions.items()
        },
        "answers": answers,
    }


def of_distance_session(path: Path, data: Path) -> dict[str, Any]:
    """Tell what the session of distances of a store says when it is opened again."""
    city = gc.distances.Metric.path(8)
    with gc.distances.open_distance_session(city, data / "people.csv", store=path) as session:
        status = session.status
        return {
            "state": [status.state, status.answers, status.corrections, status.remaining.queries],
            "answers": [[each.vertex, *_answer(each)] for each in session.history],
        }


def of_book(path: Path) -> dict[str, Any]:
    """Tell what the book of a server says, and the log that its chain proves."""
    with closing(Book(path)) as book:
        people = People(book)
        salt, start, lines = book.salt, book.log_start, list(people.log_lines())
        return {
            "people": [
                {name: value for name, value in vars(person).items() if name != "graphs"}
                for person in people.all()
            ],
            "read by bob": sorted(people.analysts_read_by("bob")),
            "requests": [
                [name, user, state, json.loads(terms)["epsilon"]]
                for name, user, state, terms in book.rows(
                    "SELECT id, owner, state, terms FROM requests ORDER BY id"
                )
            ],
            "keys": [list(row) for row in book.rows("SELECT person, name, response FROM keys")],
            "log": [[entry.seq, entry.who, entry.what] for entry, _ in lines],
            "log head": str(verify(start, lines)),
            "salted": first_digest(salt) == start.digest,
        }


def _answer(given: Any) -> list[float]:
    estimate = getattr(given, "estimate", given.value)  # answers of sessions have a value alone
    return [float(estimate), *(float(end) for end in given.interval)]


def _cuts(space: Any) -> list[gc.CutQuery]:
    """Cuts between sets of public vertices, by their labels."""
    left, *right = (side.labels for side in sets_in(space))
    if right:
        return [
            gc.CutQuery(left[:1]),
            gc.CutQuery(left[: len(left) // 2], right[0][: len(right[0]) // 2]),
        ]
    return [gc.CutQuery(left[:1]), gc.CutQuery(left[: len(left) // 2]), gc.CutQuery("*", "*")]


def of_release(made: gc.Release) -> dict[str, Any]:
    """Tell what a release of a graph says."""
    cuts = _cuts(made.space)
    told = {
        "measured": [part.name for part in made.measurements.values],
        "vertices": [len(side) for side in sets_in(made.space)],
        "answers": [_answer(made.answer(query)) for query in cuts],
    }
    if made.has_graph:
        told["fit"] = [made.fit.method, made.fit.objective]
        told["graph"] = [float(query.value(made.graph)) for query in cuts]
    if made.certificate is not None:
        told["certificate"] = [made.certificate.lower, made.certificate.upper]
    return told


def of_flows(made: gc.Flows) -> dict[str, Any]:
    """Tell what a table of flows says."""
    told = {
        "levels": list(made.levels),
        "groups": [list(labels) for labels in made.labels(made.levels[-1])],
        "total": _answer(made.total),
        "strategy": made.strategy.workload,
        "periods": None,
    }
    if made.periods is not None:
        told["periods"] = [list(made.periods.labels(name)) for name in made.periods.levels]
    for level in made.levels:
        low, high = made.intervals(level)
        numbers = {"values": made.values(level), "low": low, "high": high}
        told[level] = {name: np.ravel(each)[:12].tolist() for name, each in numbers.items()}
    return told


def of_iterative(made: gc.IterativeRelease, asked: Asked) -> dict[str, Any]:
    """Tell what an iterative release, or a list of answers, says to the queries that were given."""
    queries = [gc.CutQuery(S, T) for S, T in asked] or _cuts(made.universe.space)
    told = {
        "asked": [list(query) for query in asked],
        "construction": made.settings.construction,
        "rounds": made.settings.used,
        "error": made.accuracy.error,
        "confidence": made.accuracy.confidence,
        "measured": [float(each.value) for each in made.transcript],
        "answers": [_answer(made.answer(query)) for query in queries],
    }
    if made.has_graph:
        told["graph"] = [float(query.value(made.graph)) for query in queries]
    return told


def of_flows_over_time(made: gc.FlowsOverTime) -> dict[str, Any]:
    """Tell what a table of flows over time says."""
    left, right = made.labels(None)
    windows = [*made.periods, f"{made.periods[0]}..{made.periods[-1]}"]
    return {
        "levels": list(made.levels),
        "groups": [list(left), list(right)],
        "periods": list(made.periods),
        "horizon": list(made.horizon),
        "strategy": made.strategy,
        "windows": windows,
        "answers": [
            _answer(made.between(*pair, window))
            for window in windows
            for pair in ((left, right), (left[0], right[1]), (left[:2], right[2:4]))
        ],
    }


def of_partition(made: gc.Partition) -> dict[str, Any]:
    """Tell what a partition says."""
    return {
        "kind": made.kind,
        "names": list(made.names),
        "parts": made.part_names,
        "shortfall": float(made.shortfall),
        "value": made.value,
        "interval": None if made.interval is None else list(made.interval),
        "optimum": None if made.optimum is None else list(made.optimum),
        "merges": None if made.tree is None else len(made.tree),
    }


def of_result(made: Any, asked: Asked = ()) -> dict[str, Any]:
    """Tell what any saved result says; `asked` are the queries that it was made for, if any."""
    name = type(made).__name__
    if name == "IterativeRelease":
        told = of_iterative(made, asked)
    else:
        by_class = {
            "Release": of_release,
            "Flows": of_flows,
            "FlowsOverTime": of_flows_over_time,
            "Partition": of_partition,
        }
        told = by_class[name](made)
    return {"class": name, "guarantee": facts_of(made.guarantee), **told}
