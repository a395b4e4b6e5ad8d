"""How good every fit is on every graph, as ratios to the raw noisy matrix, beside simple baselines.

Run `python -m scripts.bench.bench_fit_quality [--quick]`. Some real graphs may not be
distributed; they are read from the folder that `--data` or GRAPHCUTS_DP_DATA names, as
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

import argparse
import json
import math
import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.estimate.noisy_matrix import noise_distribution
from graphcuts_dp.evaluation.cut_error import cut_families
from scripts.benchmark.baselines import BASELINES

DATA_VARIABLE = "GRAPHCUTS_DP_DATA"
SEEDS = 5
LEAST_COMMUNITY = 20
VISIBLE = 1.3
TOLERANCE = 0.05  # of the certificates
LATER_EPSILONS = (2.0, 5.0)  # of the second table, beside 1
LATER_SEEDS = 3
RAW = next(iter(BASELINES))  # the raw matrix, the unit of the first table

Matrix = Any


@dataclass(frozen=True)
class Row:
    """A way to make a synthetic graph.

    Attributes:
        name: shown in the tables.
        make: called with graph, epsilon and seed; returns a matrix.
        largest: graphs with more vertices are left out.
        one_seed_above: graphs with more vertices get one seed only.
        baseline: whether the fits are compared with it.
    """

    name: str
    make: Callable[[gc.Graph, float, int], Matrix]
    largest: float = math.inf
    one_seed_above: float = math.inf
    baseline: bool = False


def release(
    name: str,
    *,
    largest: float = math.inf,
    one_seed_above: float = math.inf,
    **options: Any,
) -> Row:
    """A row made by `release_graph` with these options."""

    def make(graph: gc.Graph, epsilon: float, seed: int) -> Matrix:
        return gc.release_graph(graph, epsilon=epsilon, seed=seed, **options).graph.dense()

    return Row(name, make, largest, one_seed_above)


def baseline(name: str, function: Callable[..., Any]) -> Row:
    """A row made by one of `scripts.benchmark.baselines`."""
    return Row(
        name,
        lambda graph, epsilon, seed: function(graph, epsilon=epsilon, seed=seed).matrix,
        baseline=True,
    )


# One line for each fit; the baselines come first, and of them the raw matrix.
ROWS = (
    *(baseline(*named) for named in BASELINES.items()),
    release("default"),
    release("max. entropy, entries", mechanism="response"),
    release("max. entropy, degrees", mechanism="degrees+response"),
    release("first-order", one_seed_above=500, fit="first-order"),
    release("spectral", largest=150, fit="spectral"),
    release("cutting-plane", largest=150, one_seed_above=100, fit="cutting-plane"),
)


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
        """Pairs of communities, each with whether both are visible in the noise."""
        spread = noise_distribution("binary", epsilon=epsilon).standard_deviation
        sets = [(self._signal(C) >= VISIBLE * spread * math.sqrt(self.graph.n), C)
                for C in self.communities if C.sum() >= LEAST_COMMUNITY]  # fmt: skip
        for i, (first, S) in enumerate(sets):
            for second, T in sets[i + 1 :]:
                yield first and second, S, T

    def _signal(self, C: Any) -> float:
        size, others = C.sum(), (~C).sum()
        to_all = self.truth[C]
        inside = to_all[:, C].sum() / (size * (size - 1))
        return float(size * (inside - to_all[:, ~C].sum() / max(size * others, 1)))


@dataclass(frozen=True)
class Errors:
    """Errors of one matrix; nan where there is no such cut."""

    lower: float
    upper: float
    visible: float
    rest: float
    degrees: float
    halves: float
    small: float
    seconds: float = math.nan


def errors(case: Case, matrix: Matrix, epsilon: float, seconds: float = math.nan) -> Errors:
    """All errors of a matrix against the truth; pairs of communities in units of the expected."""
    difference = matrix - case.truth
    certificate = gc.cut_norm(difference, tolerance=TOLERANCE)
    spread = noise_distribution("binary", epsilon=epsilon).standard_deviation * math.sqrt(
        2 / math.pi
    )
    found: dict[bool, list[tuple[float, float]]] = {True: [], False: []}
    for visible, S, T in case.pairs(epsilon):
        expected = spread * math.sqrt(S.sum() * T.sum())
        found[visible].append((abs(difference[S][:, T].sum()), expected))
    visible, rest = (
        sum(error for error, _ in found[kind]) / sum(expected for _, expected in found[kind])
        if found[kind]
        else math.nan
        for kind in (True, False)
    )
    halves, small = (
        float(np.abs(gc.answer_all(case.random_cuts[kind], difference)).mean())
        for kind in ("random halves", "small random sets")
    )
    return Errors(
        lower=certificate.lower, upper=certificate.upper, visible=visible, rest=rest,
        degrees=float(np.abs(difference.sum(axis=1)).mean()), halves=halves, small=small,
        seconds=seconds,
    )  # fmt: skip


def planted(n: int, blocks: int, inside: float, outside: float) -> Case:
    """Blocks of equal size."""
    size = n // blocks
    graph = nx.planted_partition_graph(blocks, size, inside, outside, seed=1)
    block = np.arange(n) // size
    name = f"planted {n}, {blocks} blocks, {inside:g}/{outside:g}"
    return Case(name, gc.Graph.of(graph), [block == b for b in range(blocks)])


def with_louvain(name: str, graph: gc.Graph) -> Case:
    """A graph with the communities that Louvain's method finds in it."""
    found = nx.community.louvain_communities(graph.to_networkx(), seed=1)
    return Case(name, graph, [graph.vertices.mask(sorted(community)) for community in found])


def flights() -> Case:
    """US flights without their counts."""
    graph: Any = gc.datasets.load("us_flights_2008")
    return with_louvain("US flights", gc.Graph(graph.rows, graph.columns, vertices=graph.n))


def polblogs(folder: Path) -> Case:
    """The political blogs."""
    return with_louvain("polblogs", read_plain(folder / "polblogs.edges.gz"))


def facebook(folder: Path, size: int = 1500) -> Case:
    """The vertices of ego-Facebook with most neighbours."""
    whole = read_plain(folder / "ego_facebook.edges.gz")
    degrees = np.bincount(np.concatenate([whole.rows, whole.columns]), minlength=whole.n)
    kept = np.sort(np.argsort(-degrees, kind="stable")[:size])
    part = whole.adjacency[kept][:, kept]
    return with_louvain(f"ego-Facebook {size}", gc.Graph.of(part, weighted=False))


def read_plain(path: Path) -> gc.Graph:
    """A graph file, vertices renamed to 0..n-1."""
    graph: Any = gc.read_graph(path)
    return gc.Graph(graph.rows, graph.columns, vertices=graph.n)


def cases(quick: bool, folder: Path | None) -> Iterator[Case]:
    """All graphs; the real ones that are there."""
    densities = ((0.5, 0.05), (0.2, 0.02), (0.1, 0.01))
    yield planted(120, 4, 0.5, 0.05)
    if quick:
        yield planted(400, 4, 0.5, 0.05)
        yield flights()
        return
    for n in (400, 1000):
        for blocks in (4, 8):
            for inside, outside in densities:
                yield planted(n, blocks, inside, outside)
    yield with_louvain("G(1000, .3)", gc.Graph.of(nx.gnp_random_graph(1000, 0.3, seed=1)))
    attached = nx.barabasi_albert_graph(1000, 20, seed=1)
    yield with_louvain("Barabasi-Albert 1000, 20", gc.Graph.of(attached))
    yield flights()
    for load, file in ((polblogs, "polblogs.edges.gz"), (facebook, "ego_facebook.edges.gz")):
        if folder is not None and (folder / file).is_file():
            yield load(folder)
        else:
            print(f"skipped {file}: name its folder with --data or {DATA_VARIABLE}\n")


def measure(case: Case, row: Row, epsilon: float, seeds: int) -> list[Errors]:
    """Errors for each seed; none if the graph is too large for the row."""
    if case.graph.n > row.largest:
        return []
    found = []
    for seed in range(1 if case.graph.n > row.one_seed_above else seeds):
        started = time.perf_counter()
        matrix = row.make(case.graph, epsilon, seed)
        seconds = time.perf_counter() - started
        found.append(errors(case, matrix, epsilon, seconds))
    return found


def ratios(found: list[Errors], raw: list[Errors]) -> dict[str, float]:
    """The columns of the first table, medians over seeds."""

    def median(value: Callable[[Errors, Errors], float]) -> float:
        return statistics.median(value(x, z) for x, z in zip(found, raw, strict=False))

    return {
        "W": median(lambda x, z: x.upper / z.lower),
        "W low": median(lambda x, z: x.lower / z.lower),
        "C vis": median(lambda x, _: x.visible),
        "C' vis": median(lambda x, z: x.visible / z.visible),
        "C rest": median(lambda x, _: x.rest),
        "C' rest": median(lambda x, z: x.rest / z.rest),
        "D": median(lambda x, z: x.degrees / z.degrees),
        "R": median(lambda x, z: x.halves / z.halves),
        "U": median(lambda x, z: x.small / z.small),
        "seconds": median(lambda x, _: x.seconds),
    }


def first_table(case: Case, seeds: int, measured: dict[str, list[Errors]]) -> list[dict[str, Any]]:
    """Measure and print all rows for one graph."""
    pairs = [visible for visible, _, _ in case.pairs(1.0)]
    print(f"{case.name} (n = {case.graph.n}; pairs of communities: {sum(pairs)} visible, "
          f"{len(pairs) - sum(pairs)} not)")  # fmt: skip
    table = []
    for row in ROWS:
        found = measured[row.name] = measure(case, row, 1.0, seeds)
        if not found:
            continue
        columns = ratios(found, measured[RAW])
        if not table:
            print(f"  {'':<24}" + "".join(f"{name:>9}" for name in columns) + "  seeds")
        cells = "".join("        -" if math.isnan(x) else f"{x:>9.2f}" for x in columns.values())
        print(f"  {row.name:<24}{cells}{len(found):>7}", flush=True)
        table.append({"graph": case.name, "fit": row.name, "seeds": len(found), **columns})
    print()
    return table


def second_table(case: Case, seeds: int, at_one: dict[str, list[Errors]]) -> list[dict[str, Any]]:
    """Measure and print worst cut over 2m for one graph; epsilon = 1 was measured before."""
    total = case.truth.sum()
    shares: dict[tuple[str, float], tuple[float, float]] = {}
    epsilons = (1.0, *LATER_EPSILONS)
    for row in ROWS:
        for epsilon in epsilons:
            found = at_one[row.name] if epsilon == 1 else measure(case, row, epsilon, seeds)
            if found:
                lower = statistics.median(x.lower for x in found) / total
                upper = statistics.median(x.upper for x in found) / total
                shares[row.name, epsilon] = lower, upper
    best = {
        epsilon: min(shares[row.name, epsilon][0] for row in ROWS if row.baseline)
        for epsilon in epsilons
    }
    print(f"{case.name}: worst cut error / 2m (baselines: lower bound, fits: upper bound)")
    print(f"  {'':<24}" + "".join(f"{f'eps {epsilon:g}':>9}{'to best':>9}" for epsilon in epsilons))
    table = []
    for row in ROWS:
        if (row.name, 1.0) not in shares:
            continue
        values = [shares[row.name, epsilon][0 if row.baseline else 1] for epsilon in epsilons]
        relative = [value / best[epsilon] for value, epsilon in zip(values, epsilons, strict=True)]
        cells = (f"{v:>9.3f}{r:>9.2f}" for v, r in zip(values, relative, strict=True))
        print(f"  {row.name:<24}" + "".join(cells), flush=True)
        table.append({"graph": case.name, "fit": row.name, "worst / 2m": values,
                      "to best": relative})  # fmt: skip
    print()
    return table


def main() -> None:
    """Read the options, run, print, and save if asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three small graphs, two seeds")
    parser.add_argument("--data", type=Path, help=f"folder of graphs; else {DATA_VARIABLE}")
    parser.add_argument("--graphs", default="", help="only graphs whose name contains this")
    parser.add_argument("--save", type=Path, help="write the rows as JSON")
    options = parser.parse_args()
    named = os.environ.get(DATA_VARIABLE)
    folder = options.data or (Path(named) if named else None)
    seeds = 2 if options.quick else SEEDS
    rows = []
    kept: list[tuple[Case, dict[str, list[Errors]]]] = []
    print("errors over those of the raw noisy matrix; epsilon = 1\n")
    for case in cases(options.quick, folder):
        if options.graphs not in case.name:
            continue
        measured: dict[str, list[Errors]] = {}
        rows += first_table(case, seeds, measured)
        kept.append((case, measured))
    for case, measured in kept:
        rows += second_table(case, 1 if options.quick else LATER_SEEDS, measured)
    if options.save:
        options.save.write_text(json.dumps(rows, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
