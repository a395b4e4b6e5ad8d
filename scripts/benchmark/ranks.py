"""What runs say together: errors by graph, ratios to the best contender, ranks."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from scripts.benchmark.measures import MEASURES
from scripts.benchmark.runs import BenchmarkRun

OURS = "ours"  # names of this package's contenders begin so
RANKED = tuple(measure.name for measure in MEASURES if measure.relative)
LEAST = 1e-3  # smaller shares of the empty graph's error count as so much
FAILED = 1.0  # a run that failed has handed in nothing: the empty graph


@final
@dataclass(frozen=True, kw_only=True)
class Standing:
    """How a contender stands in a measure at an epsilon.

    Attributes:
        contender: its name.
        ratio: geometric mean over graphs of its error over the best contender's.
        worst: the largest such ratio.
        worst_graph: where that is.
        rank: from 1 among contenders whose claim holds; None for the others.
        graphs: on how many it was measured.
        below_empty: on how many its error is below that of the empty graph.
    """

    contender: str
    ratio: float
    worst: float
    worst_graph: str
    rank: int | None
    graphs: int
    below_empty: int


@final
class Results:
    """Runs, by what they are of.

    Args:
        runs: of any graphs, epsilons and seeds.
    """

    def __init__(self, runs: Iterable[BenchmarkRun]) -> None:
        self.runs = tuple(runs)
        self.epsilons = tuple(sorted({run.epsilon for run in self.runs}))
        self.contenders = tuple(sorted({run.contender for run in self.runs}, key=_order))
        self.graphs = tuple(dict.fromkeys(run.graph for run in self.runs))
        self.sound = {run.contender for run in self.runs if run.claim_holds}
        self.audited = {run.contender for run in self.runs if run.audited}
        self._cells: dict[tuple[str, str, float], list[BenchmarkRun]] = defaultdict(list)
        for run in self.runs:
            self._cells[run.contender, run.graph, run.epsilon].append(run)
        self._known = {(run.graph, name) for run in self.runs for name in run.errors}

    def error(self, contender: str, graph: str, epsilon: float, measure: str) -> float | None:
        """Mean over seeds; None where it was not run, or cannot have the measure.

        A run that failed counts as the empty graph, in what other runs on this graph have.
        """
        runs = self._cells.get((contender, graph, epsilon), [])
        known = [run for run in runs if not run.failure]
        values = [run.errors[measure] for run in known if measure in run.errors]
        if known and not values:
            return None
        if measure in RANKED and (graph, measure) in self._known:
            values += [FAILED] * (len(runs) - len(known))
        return math.fsum(values) / len(values) if values else None

    def errors(self, graph: str, epsilon: float, measure: str) -> dict[str, float]:
        """By contender, those that have it."""
        found = {
            name: self.error(name, graph, epsilon, measure)
            for name in self.contenders
            if (name, graph, epsilon) in self._cells
        }
        return {name: value for name, value in found.items() if value is not None}

    def ratios(self, graph: str, epsilon: float, measure: str) -> dict[str, float]:
        """Each contender's error over the best one's whose claim holds; by contender."""
        errors = self.errors(graph, epsilon, measure)
        sound = [max(value, LEAST) for name, value in errors.items() if name in self.sound]
        if not sound:
            return {}
        return {name: max(value, LEAST) / min(sound) for name, value in errors.items()}

    def standings(self, epsilon: float, measure: str) -> list[Standing]:
        """The contenders of a measure at an epsilon, those whose claim holds first, best first."""
        found: dict[str, dict[str, float]] = defaultdict(dict)
        below: dict[str, int] = defaultdict(int)
        for graph in self.graphs:
            errors = self.errors(graph, epsilon, measure)
            for name, ratio in self.ratios(graph, epsilon, measure).items():
                found[name][graph] = ratio
                below[name] += errors[name] < 1
        means = {name: geometric_mean(list(ratios.values())) for name, ratios in found.items()}
        order = sorted(found, key=lambda name: (name not in self.sound, means[name], name))
        made = []
        for place, name in enumerate(order, 1):
            worst = max(found[name], key=lambda graph: found[name][graph])
            made.append(
                Standing(
                    contender=name,
                    ratio=means[name],
                    worst=found[name][worst],
                    worst_graph=worst,
                    rank=place if name in self.sound else None,
                    graphs=len(found[name]),
                    below_empty=below[name],
                )
            )
        return made

    def duels(
        self,
        epsilon: float,
        measure: str,
        *,
        only: str | None = None,
        without: Collection[str] = (),
    ) -> dict[str, tuple[str, float]]:
        """This package beside the best of the others whose claim holds, by graph.

        Args:
            epsilon: at which.
            measure: in which.
            only: one of our contenders; None for the best of them.
            without: contenders that are left out.

        Returns:
            For each graph on which both have the measure, the best of the others, and how many
            times our error is its.
        """
        found = {}
        for graph in self.graphs:
            errors = {
                name: max(value, LEAST)
                for name, value in self.errors(graph, epsilon, measure).items()
                if name in self.sound and name not in without
            }
            own = [name for name in errors if is_ours(name) and only in (None, name)]
            others = [name for name in errors if not is_ours(name)]
            if own and others:
                first = min(others, key=lambda name: errors[name])
                found[graph] = (first, min(errors[name] for name in own) / errors[first])
        return found

    @property
    def failures(self) -> Mapping[tuple[str, str], Sequence[BenchmarkRun]]:
        """Runs that failed, by contender and reason."""
        found: dict[tuple[str, str], list[BenchmarkRun]] = defaultdict(list)
        for run in self.runs:
            if run.failure:
                found[run.contender, run.failure].append(run)
        return found


def is_ours(name: str) -> bool:
    """Whether a contender is one of this package's products."""
    return name == OURS or name.startswith(f"{OURS}-")


def geometric_mean(values: Sequence[float]) -> float:
    """Of positive numbers."""
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def _order(name: str) -> tuple[bool, str]:
    return not is_ours(name), name
