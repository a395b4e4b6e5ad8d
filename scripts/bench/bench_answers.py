"""How right the answers of a release are: unbiased, shrunk and pooled ones, and their intervals.

Run `python -m scripts.bench.bench_answers [--quick]`.

First tables, one for each epsilon: root mean square error of `Release.answer` on each kind of cut,
over that of the same cuts summed up in the noisy entries alone (which is what a release answered
before it used degrees and totals), all seeds together. Columns: "exp" is the ratio that the
variances predict; "unb" the unbiased answers; "syn" the synthetic graph; "one" estimate="shrunk"
cut by cut; "pool" the same in one list. A star marks where "pool" is above 1.1 times the better of
"unb" and "syn". The constants of the shrinkage were chosen on the graphs called "tuning" alone.

Second table: coverage of 95 % intervals on cuts that were chosen before the noise, with what
Chernoff's bound on the entries (the intervals before) has on the same draws, and mean widths.

Third table: the proven bound on the worst cut over the largest error that was found.
"""

import argparse
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import networkx as nx
import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.pairs.queries import pairs_of_cut
from graphcuts_dp.privacy.noise import SeededEntropy
from graphcuts_dp.release.measuring import measure
from scripts.bench.harness import Table
from scripts.figures.random_graphs import power_law_bipartite

EPSILONS = (0.5, 1.0, 2.0)
SEEDS = 3
CUTS = 60  # of each random kind
LEAST_COMMUNITY = 10
DRAWS, CUTS_A_DRAW, SHAPES = 1000, 20, 25  # of the second table

Mask = Any
Cut = tuple[Mask, Mask]


@dataclass(frozen=True)
class Case:
    """A graph, how it is released, and the communities of its two sides."""

    name: str
    graph: Any
    tuning: bool
    noise: str = "binary"
    communities: tuple[list[Mask], list[Mask]] = field(default=((), ()))  # type: ignore[assignment]

    def families(self) -> dict[str, list[gc.CutQuery]]:
        """The cuts, chosen before any noise."""
        rng = np.random.default_rng(0)
        rows, columns = self.graph.shape
        plain = isinstance(self.graph, gc.Graph)

        def subset(n: int, size: int) -> Mask:
            return np.isin(np.arange(n), rng.choice(n, size, replace=False))

        def against(S: Mask) -> Cut:
            return S, ~S if plain else np.ones(columns, dtype=bool)

        def small() -> Cut:
            a, b = max(1, math.isqrt(rows)), max(1, math.isqrt(columns))
            if not plain:
                return subset(rows, a), subset(columns, b)
            both = rng.choice(rows, 2 * a, replace=False)
            return tuple(np.isin(np.arange(rows), part) for part in (both[:a], both[a:]))  # type: ignore[return-value]

        def half() -> Cut:
            S = rng.random(rows) < 0.5
            return (S, ~S) if plain else (S, rng.random(columns) < 0.5)

        left, right = self.communities
        pairs = [(i, j) for i in range(len(left)) for j in range(len(right)) if i < j or not plain]
        kinds: dict[str, list[Cut]] = {
            "vertices": [against(np.arange(rows) == i) for i in range(rows)],
            "root n": [against(subset(rows, max(1, math.isqrt(rows)))) for _ in range(CUTS)],
            "small": [small() for _ in range(CUTS)],
            "halves": [half() for _ in range(CUTS)],
            "com-rest": [against(S) for S in left],
            "com-com": [(left[i], right[j]) for i, j in pairs],
            "inside": [(S, T) for S, T in zip(left, right, strict=False)] if plain else [],
        }
        return {kind: [gc.CutQuery(*cut) for cut in cuts] for kind, cuts in kinds.items() if cuts}


def plain(name: str, network: Any, tuning: bool) -> Case:
    """A graph with the communities of Louvain's method."""
    graph: Any = gc.Graph.of(nx.convert_node_labels_to_integers(network))
    return case_of(name, gc.Graph(graph.rows, graph.columns, vertices=graph.n), tuning)


def case_of(name: str, graph: Any, tuning: bool, noise: str = "binary") -> Case:
    """Likewise, from a graph."""
    weighted = nx.Graph()
    weighted.add_nodes_from(range(graph.n))
    weighted.add_weighted_edges_from(
        zip(graph.rows.tolist(), graph.columns.tolist(), graph.weights.tolist(), strict=True)
    )
    found = nx.community.louvain_communities(weighted, seed=1)
    masks = [np.isin(np.arange(graph.n), sorted(members)) for members in found]
    kept = [mask for mask in masks if mask.sum() >= LEAST_COMMUNITY]
    return Case(name, graph, tuning, noise, (kept, kept))


def similarity(n: int, width: float, cap: float | None, tuning: bool) -> Case:
    """Weights that fall with the distance of random points; with a cap of 1, or none."""
    rng = np.random.default_rng(1)
    points = rng.random((n, 2))
    squares = ((points[:, None] - points) ** 2).sum(axis=2)
    rows, columns = np.nonzero(np.triu(np.exp(-squares / width) > 0.05, 1))
    weights = np.exp(-squares / width)[rows, columns]
    options = {"weight_cap": cap} if cap else {"hide_change": 1}
    graph = gc.Graph(rows, columns, weights, vertices=n, **options)  # type: ignore[arg-type]
    name = f"similarity {n}, {'cap 1' if cap else 'no cap'}"
    return case_of(name, graph, tuning, "laplace")


def ratings(left: int, right: int, blocks: int, tuning: bool) -> Case:
    """Bipartite, in blocks."""
    rng = np.random.default_rng(1)
    a, b = np.arange(left) * blocks // left, np.arange(right) * blocks // right
    rows, columns = np.nonzero(rng.random((left, right)) < np.where(a[:, None] == b, 0.4, 0.04))
    groups = [a == k for k in range(blocks)], [b == k for k in range(blocks)]
    graph = gc.BipartiteGraph(rows, columns, left=left, right=right)
    return Case(f"ratings {left} x {right}", graph, tuning, communities=groups)


def degree_corrected(n: int, sizes: tuple[float, ...], tuning: bool) -> Case:
    """Uneven blocks, uneven degrees."""
    rng = np.random.default_rng(1)
    block = np.searchsorted(np.cumsum(sizes), np.arange(n) / n, side="right")
    weight = rng.pareto(2.5, n) + 1
    rates = np.outer(weight, weight) / weight.mean() ** 2
    rates *= np.where(block[:, None] == block, 0.12, 0.015)
    rows, columns = np.nonzero(np.triu(rng.random((n, n)) < rates, 1))
    name = f"degree-corrected {n}"
    return case_of(name, gc.Graph(rows, columns, vertices=n), tuning)


def cases(quick: bool) -> Iterator[Case]:
    """All graphs: half of the generators for tuning, the others and the real ones to validate."""
    yield plain("planted 400, .5/.05", nx.planted_partition_graph(4, 100, 0.5, 0.05, seed=1), True)
    yield plain("Barabasi-Albert 400", nx.barabasi_albert_graph(400, 12, seed=1), False)
    if quick:
        return
    yield plain("planted 400, .2/.02", nx.planted_partition_graph(4, 100, 0.2, 0.02, seed=1), True)
    yield plain("planted 300, .4/.04", nx.planted_partition_graph(4, 75, 0.4, 0.04, seed=1), True)
    yield plain("Holme-Kim 400", nx.powerlaw_cluster_graph(400, 10, 0.7, seed=1), True)
    yield plain("geometric 400", nx.random_geometric_graph(400, 0.13, seed=1), True)
    yield plain("two K100 and a bridge", nx.barbell_graph(100, 0), True)
    yield similarity(200, 0.05, 1.0, True)
    yield ratings(150, 300, 3, True)
    yield degree_corrected(400, (0.4, 0.3, 0.2, 0.1), True)
    yield plain("G(400, .3)", nx.gnp_random_graph(400, 0.3, seed=1), False)
    yield plain("relaxed caves 400", nx.relaxed_caveman_graph(20, 20, 0.2, seed=1), False)
    yield plain("small world 400", nx.watts_strogatz_graph(400, 16, 0.1, seed=1), False)
    yield plain("regular 300", nx.random_regular_graph(30, 300, seed=1), False)
    yield plain("LFR 400", nx.LFR_benchmark_graph(
        400, 2.8, 1.8, 0.25, average_degree=24, max_degree=80, min_community=30, seed=1,
    ), False)  # fmt: skip
    yield plain("core and periphery", nx.stochastic_block_model(
        [60, 340], [[0.6, 0.15], [0.15, 0.02]], seed=1), False)  # fmt: skip
    yield degree_corrected(500, (0.5, 0.2, 0.15, 0.1, 0.05), False)
    yield similarity(250, 0.02, 1.0, False)
    yield similarity(200, 0.03, None, False)
    yield ratings(80, 400, 4, False)
    uneven = power_law_bipartite(200, 1.25, seed=1)
    yield Case("power law 200 x 200", uneven, False)
    for name in ("us_flights_2008", "lesmis"):
        graph: Any = gc.datasets.load(name)
        kept = gc.Graph(graph.rows, graph.columns, vertices=graph.n)
        yield case_of(name, kept, False)
    routes: Any = gc.datasets.load("air_routes")
    part = routes.adjacency[:500][:, :500]
    yield case_of("air routes, first 500", gc.Graph.of(part, weighted=False), False)


def answers_of(case: Case, epsilon: float, seeds: int) -> dict[str, dict[str, float]]:
    """The rows of the first table for one graph: roots of sums of squares, over the entries'."""
    families = case.families()
    sums = {kind: np.zeros(len(_COLUMNS)) for kind in families}
    entries, variance = dict.fromkeys(families, 0.0), dict.fromkeys(families, 0.0)
    for seed in range(seeds):
        release = gc.release_graph(case.graph, epsilon=epsilon, noise=case.noise, seed=seed)
        noisy = release.noisy
        space = noisy.space
        for kind, queries in families.items():
            truth = gc.answer_all(queries, case.graph)
            masks = [query.masks(space) for query in queries]
            variance[kind] += noisy.distribution.standard_deviation**2 * sum(
                pairs_of_cut(*m, space) for m in masks
            )
            entries[kind] += squared(np.array([noisy.cut_value(*m) for m in masks]), truth)
            alone = [release.answer(query, estimate="shrunk") for query in queries]
            sums[kind] += (
                sum(release.estimator.estimate(*m).noise.variance for m in masks),
                squared(values(release.answer_all(queries)), truth),
                squared(gc.answer_all(queries, release.expected), truth),
                squared(values(alone), truth),
                squared(values(release.answer_all(queries, estimate="shrunk")), truth),
            )
    scales = {kind: np.array([variance[kind], *[entries[kind]] * 4]) for kind in families}
    roots = {kind: np.sqrt(sums[kind] / scales[kind]) for kind in families}
    return {kind: dict(zip(_COLUMNS, roots[kind].tolist(), strict=True)) for kind in families}


_COLUMNS = ("exp", "unb", "syn", "one", "pool")


def values(answers: list[Any]) -> Any:
    """Of answers."""
    return np.array([answer.value for answer in answers])


def squared(found: Any, truth: Any) -> float:
    """Sum of squared errors."""
    return float(((found - truth) ** 2).sum())


def first_table(every: list[Case], epsilon: float, seeds: int) -> None:
    """Print it, with the summary that the promises are about."""
    rows: dict[str, list[tuple[str, dict[str, float]]]] = {"tuning": [], "validation": []}
    columns = " ".join(f"{name}:>7.2f" for name in _COLUMNS)
    table = Table(f":<26 cuts:<10 {columns} :<2", f"epsilon = {epsilon:g}")
    for case in every:
        for kind, ratios in answers_of(case, epsilon, seeds).items():
            rows["tuning" if case.tuning else "validation"].append((kind, ratios))
            worse = ratios["pool"] > 1.1 * min(ratios["unb"], ratios["syn"])
            table.row(case.name, kind, *ratios.values(), " *" if worse else "")
    for name, of in rows.items():
        if not of:
            continue
        better = [r["pool"] / min(r["unb"], r["syn"]) for _, r in of]
        single = [r["unb"] for kind, r in of if kind == "vertices"]
        print(f"{name}: pooled over the better of both: largest {max(better):.2f}, "
              f"above 1.1 on {sum(b > 1.1 for b in better)} of {len(of)}, below 1 on "
              f"{sum(b < 1 for b in better)}; unbiased over entries: largest expected "
              f"{max(r['exp'] for _, r in of):.3f}, measured {max(r['unb'] for _, r in of):.2f}; "
              f"single vertices {min(single):.2f} to {max(single):.2f}")  # fmt: skip
    print()


def shapes_of(rows: int, columns: int, plain: bool) -> list[tuple[int, int, int]]:
    """Sizes (only S, only T, both) of the cuts whose coverage is measured; many, but not too many:
    cuts of one shape have one radius."""
    rng = np.random.default_rng(4)
    found = [(1, columns - 1 if plain else columns, 0), (rows // 2, columns // 2, 0)]
    while len(found) < SHAPES:
        a, b, c = (rng.random(3) ** 2 * (rows, columns, rows)).astype(int)
        c = c if plain and len(found) % 3 == 0 else 0
        if a and b and (not plain or a + b + c <= rows):
            found.append((int(a), int(b), int(c)))
    return found


def cut_of(shape: tuple[int, int, int], rows: int, columns: int, plain: bool, rng: Any) -> Cut:
    """A random cut of a shape."""
    a, b, c = shape
    if not plain:
        return tuple(  # type: ignore[return-value]
            np.isin(np.arange(n), rng.choice(n, k, replace=False))
            for n, k in ((rows, a), (columns, b))
        )
    parts = np.split(rng.permutation(rows), [a, a + b, a + b + c])[:3]
    first, second, both = (np.isin(np.arange(rows), part) for part in parts)
    return first | both, second | both


def coverage(graph: Any, noise: str, mechanism: str, epsilon: float, draws: int) -> list[float]:
    """A row of the second table."""
    rng = np.random.default_rng(2)
    terms = {"epsilon": epsilon, "noise": noise, "response": gc.Response(mechanism)}
    source = SeededEntropy(3)
    plain = isinstance(graph, gc.Graph)
    sizes = (*graph.shape, plain)
    shapes = shapes_of(*sizes)
    held = before = for_all = widths = old_widths = 0.0
    for draw in range(draws):
        # Chosen before the noise of this draw.
        cuts = [cut_of(shapes[(draw + i) % SHAPES], *sizes, rng) for i in range(CUTS_A_DRAW)]
        queries = [gc.CutQuery(*cut) for cut in cuts]
        truth = gc.answer_all(queries, graph)
        release = gc.Release(measurements=measure(graph, source=source, **terms))
        for answer, (S, T), true in zip(release.answer_all(queries), cuts, truth, strict=True):
            old = old_radius(release.noisy.distribution, pairs_of_cut(S, T, graph.space))
            held += answer.interval[0] <= true <= answer.interval[1]
            before += abs(release.noisy.cut_value(S, T) - true) <= old
        estimate = release.estimator.estimate(S, T)  # the last cut's: the shapes take turns
        widths += estimate.radius(math.log(20)) / estimate.noise.deviation
        old_widths += old / estimate.noise.deviation
        every = release.answer_all(queries[:1], simultaneous=True)[0].interval
        for_all += every[0] <= truth[0] <= every[1]
    count = draws * CUTS_A_DRAW
    return [held / count, before / count, widths / draws, old_widths / draws, for_all / draws]


@lru_cache(maxsize=1 << 12)
def old_radius(distribution: Any, pairs: int) -> float:
    """Chernoff's bound on the entries alone, at 95 %."""
    return float(distribution.radius(pairs, log_failures=math.log(20)))


def second_table(draws: int) -> None:
    """Coverage."""
    print("coverage of 95 %: now, before; half widths over the deviation: now, before; all at once")
    table = Table(":<36 now:>9.4f before:>9.4f now:>9.3f before:>9.3f at_once:>9.3f cuts:>9")
    planted: Any = gc.Graph.of(nx.planted_partition_graph(4, 75, 0.4, 0.04, seed=1))
    both = "degrees+response"
    mechanisms = (("response", 1.0), ("auto", 1.0), *((both, epsilon) for epsilon in EPSILONS))
    settings: dict[str, tuple[Any, str, str, float]] = {
        f"planted 300, {how}, {epsilon:g}": (planted, "binary", how, epsilon)
        for how, epsilon in mechanisms
    }
    weighted = similarity(60, 0.05, 1.0, True).graph
    settings["similarity 60, laplace, 1"] = (weighted, "laplace", both, 1.0)
    settings["ratings 80 x 200, 1"] = (ratings(80, 200, 4, True).graph, "binary", both, 1.0)
    for name, setting in settings.items():
        table.row(name, *coverage(*setting, draws), draws * CUTS_A_DRAW)
    print()


def third_table(every: list[Case], epsilons: tuple[float, ...]) -> None:
    """The proven bound on the worst cut over what is found."""
    ratios: list[float] = []
    table = Table(":<26 " + " ".join(f"{epsilon:g}:>8.1f" for epsilon in epsilons))
    for case in every:
        for epsilon in epsilons:
            release = gc.release_graph(case.graph, epsilon=epsilon, noise=case.noise, seed=0)
            found = gc.cut_norm(release.graph.dense() - case.graph.dense())
            ratios.append(release.worst_cut_error_bound() / found.lower)
        table.row(case.name, *ratios[-len(epsilons) :])
    print(f"from {min(ratios):.1f} to {max(ratios):.1f}, median {np.median(ratios):.1f}\n")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two graphs, few draws")
    parser.add_argument("--table", type=int, choices=(1, 2, 3), help="one of them alone")
    parser.add_argument("--epsilon", type=float, help="one epsilon alone")
    options = parser.parse_args()
    warnings.simplefilter("ignore", gc.errors.AccuracyWarning)
    epsilons = (options.epsilon,) if options.epsilon else EPSILONS
    every = list(cases(options.quick))
    tables: dict[int, Callable[[], None]] = {
        1: lambda: [first_table(every, e, SEEDS) for e in epsilons] and None,
        2: lambda: second_table(50 if options.quick else DRAWS),
        3: lambda: third_table(every, epsilons),
    }
    for number, table in tables.items():
        if options.table in (None, number):
            table()


if __name__ == "__main__":
    main()
