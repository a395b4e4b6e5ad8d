"""Compare every fit on every graph with the raw noisy matrix and simple baselines, as ratios.

Run `python -m scripts.bench.bench_fit_quality [--quick] [--graphs NAME]`. Some real graphs may not
be distributed; they are read from the folder that `--data` or GRAPHCUTS_DP_DATA names, as
polblogs.edges.gz and ego_facebook.edges.gz, and skipped, with a line that says so, when it is not
there. Noise differs between seeds, graphs do not.

First table: epsilon = 1, medians over seeds; each error over that of the raw matrix (binary noise,
whole epsilon, same seed).
  W    worst of all cuts, proven: our upper bound over the raw lower bound. Too large by what the
       certificates leave open; W low is lower over lower.
  C    mean absolute error of the cuts between communities of 20 vertices or more (planted ones,
       or Louvain's on the true graph), over the error expected of the raw matrix,
       sd sqrt(2/pi) sqrt(|S||T|). "vis": both communities have (density inside - density to the
       others) |C| >= 1.3 sd sqrt(n); "rest": the other pairs. C' is over the same draw's raw error,
       which is itself noisy when pairs are few.
  D    degrees, R random halves, U random sets of sqrt(n) vertices: mean absolute errors.
Second table: worst cut error over 2m for epsilon = 1, 2, 5; "to best" is a fit's upper bound over
the least lower bound of all baselines. 1 is the empty graph.
"""

import math
import os
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.evaluation.cut_error import cut_families
from scripts.bench.harness import Table, run, timed
from scripts.benchmark.baselines import BASELINES
from scripts.benchmark.graphs import largest_part

DATA_VARIABLE = "GRAPHCUTS_DP_DATA"
SEEDS, LATER_SEEDS, QUICK_SEEDS = 5, 3, 2
LEAST_COMMUNITY = 20
VISIBLE = 1.3
TOLERANCE = 0.05  # of the certificates
EPSILONS = (1.0, 2.0, 5.0)  # the first one alone in the first table
RAW = next(iter(BASELINES))  # the raw matrix, the unit of the first table

Matrix = Any
Errors = dict[str, float]  # of one matrix; nan where there is no such cut


@dataclass(frozen=True)
class Row:
    """A way to make a synthetic graph.

    Attributes:
        make: called with graph, epsilon and seed; returns a matrix.
        largest: graphs with more vertices are left out.
        one_seed_above: graphs with more vertices get one seed only.
    """

    make: Callable[..., Matrix]
    largest: float = math.inf
    one_seed_above: float = math.inf


def released(graph: gc.Graph, *, epsilon: float, seed: int, **options: Any) -> Matrix:
    """Return the matrix that `release_graph` releases with these options."""
    return gc.release_graph(graph, epsilon=epsilon, seed=seed, **options).expected.dense()


# One line for each fit; the baselines come first, and of them the raw matrix.
ROWS = {
    **{
        name: Row(lambda graph, make=make, **terms: make(graph, **terms).matrix)
        for name, make in BASELINES.items()
    },
    "default": Row(released),
    "max. entropy, entries": Row(partial(released, mechanism="randomized-response")),
    "max. entropy, degrees": Row(partial(released, mechanism="degrees+randomized-response")),
    "first-order": Row(partial(released, fit="first-order"), one_seed_above=500),
    "spectral": Row(partial(released, fit="spectral"), largest=150),
    "cutting-plane": Row(partial(released, fit="cutting-plane"), 150, one_seed_above=100),
}


@dataclass(frozen=True)
class Case:
    """A true graph with the cuts to try on it."""

    name: str
    graph: gc.Graph
    communities: list[Any]

    @cached_property
    def truth(self) -> Matrix:
        """Its adjacency matrix."""
        return self.graph.dense()

    @cached_property
    def random_cuts(self) -> dict[str, tuple[gc.CutQuery, ...]]:
        """The random cuts of `cut_errors`, by kind."""
        return {family.kind: family.queries for family in cut_families(self.graph, seed=0)}

    def pairs(self, epsilon: float) -> Iterator[tuple[bool, Any, Any]]:
        """Yield pairs of communities, each with whether both are visible in the noise."""
        spread = noise_distribution("binary", epsilon=epsilon).standard_deviation
        sets = [(self._signal(C) >= VISIBLE * spread * math.sqrt(self.graph.n), C)
                for C in self.communities if C.sum() >= LEAST_COMMUNITY]  # fmt: skip
        for i, (first, S) in enumerate(sets):
            for second, T in sets[i + 1 :]:
                yield first and second, S, T

    def _signal(self, C: Any) -> float:
        size, outside = C.sum(), (~C).sum()
        to_all = self.truth[C]
        inside = to_all[:, C].sum() / (size * (size - 1))
        return float(size * (inside - to_all[:, ~C].sum() / max(size * outside, 1)))


def errors(case: Case, matrix: Matrix, epsilon: float) -> Errors:
    """Return all errors of a matrix; for pairs of communities in units of the expected weight."""
    difference = matrix - case.truth
    certificate = gc.cut_norm(difference, tolerance=TOLERANCE)
    deviation = noise_distribution("binary", epsilon=epsilon).standard_deviation
    ratios_of: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for visible, S, T in case.pairs(epsilon):
        expected = deviation * math.sqrt(2 / math.pi) * math.sqrt(S.sum() * T.sum())
        ratios_of[visible].append((abs(difference[S][:, T].sum()), expected))
    visible, hidden = (
        np.divide(*np.sum(ratios_of[kind], axis=0)) if ratios_of[kind] else math.nan
        for kind in (True, False)
    )
    halves, small = (
        float(np.abs(gc.answer_all(case.random_cuts[kind], difference)).mean())
        for kind in ("random halves", "small random sets")
    )
    return {
        "lower": certificate.lower, "upper": certificate.upper, "visible": visible, "rest": hidden,
        "D": float(np.abs(difference.sum(axis=1)).mean()), "R": halves, "U": small,
    }  # fmt: skip


def planted(n: int, blocks: int, inside: float, outside: float) -> Case:
    """Draw blocks of equal size."""
    size = n // blocks
    graph = nx.planted_partition_graph(blocks, size, inside, outside, seed=1)
    block = np.arange(n) // size
    name = f"planted {n}, {blocks} blocks, {inside:g}/{outside:g}"
    return Case(name, gc.Graph.of(graph), [block == b for b in range(blocks)])


def with_louvain(name: str, graph: gc.Graph) -> Case:
    """Return a graph with the communities that Louvain's method finds in it."""
    communities = nx.community.louvain_communities(graph.to_networkx(), seed=1)
    return Case(name, graph, [graph.vertices.mask(sorted(community)) for community in communities])


def plain(graph: Any) -> gc.Graph:
    """Return a graph without its weights, vertices renamed to 0..n-1."""
    return gc.Graph(graph.rows, graph.columns, vertices=graph.n)


def cases(quick: bool, folder: Path | None) -> Iterator[Case]:
    """Yield all graphs; of the real ones those whose files are there."""
    yield planted(120, 4, 0.5, 0.05)
    flights = with_louvain("US flights", plain(gc.datasets.load("us_flights_2008")))
    if quick:
        yield planted(400, 4, 0.5, 0.05)
        yield flights
        return
    for n in (400, 1000):
        for blocks in (4, 8):
            for inside, outside in ((0.5, 0.05), (0.2, 0.02), (0.1, 0.01)):
                yield planted(n, blocks, inside, outside)
    yield with_louvain("G(1000, .3)", gc.Graph.of(nx.gnp_random_graph(1000, 0.3, seed=1)))
    attached = nx.barabasi_albert_graph(1000, 20, seed=1)
    yield with_louvain("Barabasi-Albert 1000, 20", gc.Graph.of(attached))
    yield flights
    for name, file in (("polblogs", "polblogs"), ("ego-Facebook 1500", "ego_facebook")):
        path = None if folder is None else folder / f"{file}.edges.gz"
        if path is not None and path.is_file():
            is_small = file == "polblogs"
            graph = plain(gc.read_graph(path)) if is_small else largest_part(path, 1500)
            yield with_louvain(name, graph)
        else:
            print(f"skipped {name}: name its folder with --data or {DATA_VARIABLE}\n")


def measure(case: Case, row: Row, epsilon: float, seeds: int) -> list[Errors]:
    """Return errors for each seed; none if the graph is too large for the row."""
    if case.graph.n > row.largest:
        return []
    results = []
    for seed in range(1 if case.graph.n > row.one_seed_above else seeds):
        seconds, matrix = timed(partial(row.make, case.graph, epsilon=epsilon, seed=seed))
        results.append(errors(case, matrix, epsilon) | {"seconds": seconds})
    return results


def ratios(results: list[Errors], raw: list[Errors]) -> list[float]:
    """Return the columns of the first table, medians over seeds."""

    def median(column: str, over: str = "") -> float:
        pairs = zip(results, raw, strict=False)
        return statistics.median(x[column] / (z[over] if over else 1) for x, z in pairs)

    return [
        median("upper", "lower"), median("lower", "lower"),
        median("visible"), median("visible", "visible"), median("rest"), median("rest", "rest"),
        median("D", "D"), median("R", "R"), median("U", "U"), median("seconds"),
    ]  # fmt: skip


def first_table(case: Case, seeds: int) -> dict[str, list[Errors]]:
    """Measure and print all rows for one graph."""
    pairs = [visible for visible, _, _ in case.pairs(1.0)]
    names = ("W", "W_low", "C_vis", "C'_vis", "C_rest", "C'_rest", "D", "R", "U", "seconds")
    table = Table(
        ":<26 " + " ".join(f"{name}:>9.2f" for name in names) + " seeds:>7",
        f"{case.name} (n = {case.graph.n}; pairs of communities: {sum(pairs)} visible, "
        f"{len(pairs) - sum(pairs)} not)",
    )
    measured: dict[str, list[Errors]] = {}
    for name, row in ROWS.items():
        results = measure(case, row, EPSILONS[0], seeds)
        if results:
            measured[name] = results
            columns = ratios(results, measured[RAW])
            cells = ("-" if math.isnan(x) else x for x in columns)
            table.row(f"  {name}", *cells, len(results))
    print()
    return measured


def second_table(case: Case, seeds: int, at_one: dict[str, list[Errors]]) -> None:
    """Measure and print worst cut over 2m for one graph; epsilon = 1 was measured before."""
    total = case.truth.sum()
    shares: dict[str, list[float]] = {}  # of baselines the lower bounds, of fits the upper ones
    for name, first in at_one.items():
        later = [measure(case, ROWS[name], epsilon, seeds) for epsilon in EPSILONS[1:]]
        bound = "lower" if name in BASELINES else "upper"
        shares[name] = [
            statistics.median(x[bound] for x in results) / total for results in (first, *later)
        ]
    best = np.min([shares[name] for name in BASELINES], axis=0)
    table = Table(
        ":<26 " + " ".join(f"eps_{epsilon:g}:>9.3f to_best:>9.2f" for epsilon in EPSILONS),
        f"{case.name}: worst cut error / 2m (baselines: lower bound, fits: upper bound)",
    )
    for name, values in shares.items():
        table.row(f"  {name}", *np.column_stack([values, values / best]).ravel())
    print()


def main(quick: bool, data: Path | None, graphs: str) -> None:
    """Measure, and print."""
    named = os.environ.get(DATA_VARIABLE)
    folder = data or (Path(named) if named else None)
    print("errors over those of the raw noisy matrix; epsilon = 1\n")
    chosen = (case for case in cases(quick, folder) if graphs in case.name)
    first_tables = [(case, first_table(case, QUICK_SEEDS if quick else SEEDS)) for case in chosen]
    for case, measured in first_tables:
        second_table(case, 1 if quick else LATER_SEEDS, measured)


if __name__ == "__main__":
    run(main, __doc__, data=Path, graphs="")
