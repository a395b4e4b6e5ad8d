"""Combine runs: errors by graph, ratios to the best contender, and ranks."""

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

from scripts.benchmark.contenders.table import CONTENDERS
from scripts.benchmark.measures import MEASURES, OF_PARTITIONS
from scripts.benchmark.runs import BenchmarkRun

OURS = "ours"  # names of this package's contenders begin so
RANKED = tuple(measure.name for measure in MEASURES if measure.relative)
LEAST = 1e-3  # smaller shares of the empty graph's error count as so much
TITLES = (
    "Graphs",
    "Graphs, with public groups",
    "Answers to cuts, without a graph",
    "Partitions, without a graph",
    "Graphs, by contenders whose claim does not hold",
)
_OF_GRAPHS = "worst cut proven"  # a measure that every graph has, and no answers have
FAILED = 1.0  # a run that failed has handed in nothing: the empty graph


@final
@dataclass(frozen=True, kw_only=True)
class Standing:
    """Rank and ratios of a contender in one measure at one epsilon.

    Attributes:
        contender: its name.
        ratio: its error over that of the best contender of the table, a geometric mean over the
            graphs on which all contenders of the table have the measure.
        share: its error over that of the empty graph, a geometric mean over the same graphs.
        worst: the largest ratio of a single run, over the mean of the best contender on its graph.
        worst_graph: where that is.
        rank: from 1 among contenders whose claim holds; None for the others.
        graphs: how many these are.
        below_empty: on how many its error is below that of the empty graph.
    """

    contender: str
    ratio: float
    share: float
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
        self.ordered = {run.graph for run in self.runs if not run.shuffled}
        measured: dict[str, set[str]] = defaultdict(set)
        for run in self.runs:
            measured[run.contender] |= set(run.errors) & set(RANKED)
        self.partitioning = {
            name for name, have in measured.items() if have and have <= OF_PARTITIONS
        }
        self.answering = {
            name
            for name, have in measured.items()
            if have and _OF_GRAPHS not in have and name not in self.partitioning
        }

    def seeds(self, graph: str) -> int:
        """Return how many repetitions a graph has."""
        return len({run.seed for run in self.runs if run.graph == graph})

    def error(self, contender: str, graph: str, epsilon: float, measure: str) -> float | None:
        """Return the mean over seeds; None if it was not run, or cannot have the measure."""
        values = self.values(contender, graph, epsilon, measure)
        return math.fsum(values) / len(values) if values else None

    def values(self, contender: str, graph: str, epsilon: float, measure: str) -> list[float]:
        """Return the errors of all seeds; empty if it was not run, or cannot have the measure.

        A run that failed counts as the empty graph, in what other runs on this graph have.
        """
        runs = self._cells.get((contender, graph, epsilon), [])
        known = [run for run in runs if not run.failure]
        values = [run.errors[measure] for run in known if measure in run.errors]
        if known and not values:
            return []
        if measure in RANKED and (graph, measure) in self._known:
            values += [FAILED] * (len(runs) - len(known))
        return values

    def errors(self, graph: str, epsilon: float, measure: str) -> dict[str, float]:
        """Return the errors of the contenders that have one, by contender."""
        errors = {
            name: self.error(name, graph, epsilon, measure)
            for name in self.contenders
            if (name, graph, epsilon) in self._cells
        }
        return {name: value for name, value in errors.items() if value is not None}

    def tables(self) -> dict[str, tuple[str, ...]]:
        """Return the contenders that are compared with each other, by title of their table."""
        names_of: dict[str, tuple[str, ...]] = dict.fromkeys(TITLES, ())
        for name in self.contenders:
            names_of[self._title(name)] += (name,)
        return {title: names for title, names in names_of.items() if names}

    def _title(self, name: str) -> str:
        graphs, grouped, answers, partitions, unsound = TITLES
        if name not in self.sound:
            return unsound
        if name in self.answering:
            return answers
        if name in self.partitioning:
            return partitions
        return grouped if needs_groups(name) else graphs

    def standings(self, epsilon: float, measure: str, title: str) -> list[Standing]:
        """Return the contenders of a table and the release with its defaults, the best first.

        On the graphs on which all of them have the measure. A contender that would leave less than
        a quarter of the graphs is left out. Those whose claim does not hold come last.
        """
        names = self.tables()[title]
        errors = {graph: self.errors(graph, epsilon, measure) for graph in self.graphs}
        graphs_of = {
            name: {graph for graph in self.graphs if name in errors[graph]}
            for name in self.contenders
            if name in (*names, OURS)
        }
        most = max(len(graphs_of[name]) for name in names)
        ranked, common = [], set(self.graphs)
        for name in sorted(graphs_of, key=lambda name: -len(graphs_of[name])):
            left = common & graphs_of[name]
            if left and most and 4 * len(left) >= most:
                ranked.append(name)
                common = left
        shared = {graph: errors[graph] for graph in self.graphs if graph in common}
        worst = {
            (name, graph): max(self.values(name, graph, epsilon, measure))
            for name in ranked
            for graph in shared
        }
        standings = [self._standing(name, ranked, shared, worst) for name in ranked]
        standings.sort(
            key=lambda standing: (
                standing.contender not in self.sound,
                standing.ratio,
                standing.contender,
            )
        )
        return [
            replace(standing, rank=rank) if standing.contender in self.sound else standing
            for rank, standing in enumerate(standings, 1)
        ]

    def _standing(
        self,
        name: str,
        names: Sequence[str],
        errors: Mapping[str, Mapping[str, float]],
        worst_runs: Mapping[tuple[str, str], float],
    ) -> Standing:
        """Return the standing of one contender in a table, without its rank.

        Args:
            name: of the contender.
            names: of all in the table.
            errors: by graph and contender, means over seeds.
            worst_runs: the largest error of a run, by contender and graph.
        """
        sound_names = [other for other in names if other in self.sound] or names
        shares = {
            graph: max(errors_of_graph[name], LEAST) for graph, errors_of_graph in errors.items()
        }
        best = {
            graph: max(min(errors_of_graph[other] for other in sound_names), LEAST)
            for graph, errors_of_graph in errors.items()
        }
        ratios = {graph: shares[graph] / best[graph] for graph in errors}
        largest = {graph: max(worst_runs[name, graph], LEAST) / best[graph] for graph in errors}
        worst = max(largest, key=largest.__getitem__)
        return Standing(
            contender=name,
            ratio=geometric_mean(list(ratios.values())),
            share=geometric_mean(list(shares.values())),
            worst=largest[worst],
            worst_graph=worst,
            rank=None,
            graphs=len(errors),
            below_empty=sum(errors_of_graph[name] < 1 for errors_of_graph in errors.values()),
        )

    def duels(
        self,
        epsilon: float,
        measure: str,
        *,
        only: str | None = None,
        without: Collection[str] = (),
    ) -> dict[str, tuple[str, float]]:
        """Compare this package with the best other contender whose claim holds, by graph.

        Args:
            epsilon: at which.
            measure: in which.
            only: one of our contenders; None for the best of them.
            without: contenders that are left out.

        Returns:
            For each graph on which both have the measure, the best of the others, and how many
            times our error is its. Contenders that hand in answers and no graph are left out.
        """
        duels = {}
        for graph in self.graphs:
            errors = {
                name: max(value, LEAST)
                for name, value in self.errors(graph, epsilon, measure).items()
                if name in self.sound - self.answering and name not in without
            }
            our_names = [name for name in errors if is_ours(name) and only in (None, name)]
            other_names = [name for name in errors if not is_ours(name)]
            if our_names and other_names:
                first = min(other_names, key=lambda name: errors[name])
                duels[graph] = (first, min(errors[name] for name in our_names) / errors[first])
        return duels

    @property
    def failures(self) -> Mapping[tuple[str, str], Sequence[BenchmarkRun]]:
        """Runs that failed, by contender and reason."""
        failures: dict[tuple[str, str], list[BenchmarkRun]] = defaultdict(list)
        for run in self.runs:
            if run.failure:
                failures[run.contender, run.failure].append(run)
        return failures


def is_ours(name: str) -> bool:
    """Return whether a contender is a product of this package."""
    return name == OURS or name.startswith(f"{OURS}-")


def needs_groups(name: str) -> bool:
    """Return whether a contender runs only on graphs with public groups."""
    known = CONTENDERS.get(name)
    return known is not None and known.needs_groups


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of positive numbers."""
    return math.exp(math.fsum(map(math.log, values)) / len(values))


def _order(name: str) -> tuple[bool, str]:
    return not is_ours(name), name
