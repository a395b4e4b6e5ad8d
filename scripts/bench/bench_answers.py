"""Measure errors of the answers of a release, and how often their intervals contain the truth.

Run `python -m scripts.bench.bench_answers [--quick]`.

First tables, one for each epsilon: mean absolute errors over all cuts of a kind and all seeds, as
ratios; each cell has the geometric mean over the graphs, and the largest ratio. The columns are

- "unbiased", "graph", "list": over the best of three simple releases of the same epsilon (noisy
  degrees with Chung-Lu, the raw matrix, the empty graph), of unbiased answers, of those of the
  synthetic graph, and of estimate="shrunk" with all cuts of the kind in one list;
- "list/laplace": the same list, where the raw matrix has Laplace noise (see bench_baselines);
- "list/better", "mixed/better": over the better of "unbiased" and "graph", of shrunk answers to one
  list of the kind, and to one list of all kinds;
- "alone/unbiased": over the unbiased answers, of shrunk answers to single queries.

A kind whose cuts have at most one edge on average, or at most 1/epsilon, is left out: no private
answer to one cut can be better than an empty graph there. Then a table of each graph's communities.

Last table: coverage of 95 % intervals on cuts that were chosen before the noise, and mean widths;
"before" is, on the same draws, Chernoff's bound on the entries, which intervals used earlier.

The graphs are those of baseline_graphs.py, which says on which of them constants were chosen.
--save, --seconds and --data are those of bench_baselines.
"""

import math
from collections import defaultdict
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp

import graphcuts_dp as gc
from graphcuts_dp.evaluation.modularity import communities_of
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.queries.linear import answer_on_matrix, pairs_of_cut
from graphcuts_dp.release.graphs import graph_job
from scripts.bench.baseline_graphs import Entry, planted, similarity, two_sides
from scripts.bench.bench_baselines import (
    COMPARED,
    EMPTY,
    EPSILONS,
    LAPLACE,
    arguments,
    best_of,
    entries_of,
    geometric_mean,
    quiet_release,
    runs,
    simple_matrices,
)
from scripts.bench.harness import Table
from scripts.benchmark.min_cuts import one_matrix

CUTS = 60  # random cuts of each kind
SINGLE_QUERIES = 12  # of each kind: every shrunk answer to a single query takes a fit of its own
SMALLEST_COMMUNITY = 10  # vertices; most cuts of smaller ones have no edge
COMMUNITY_KINDS = ("com-rest", "com-com")
# Of the table of coverage: 20,000 cuts have a standard error of .0015 at 95 %.
DRAWS = 1000
CUTS_PER_DRAW = 20
SHAPES = 25
RATIOS = (
    "unbiased", "graph", "list", "list/laplace", "list/better", "mixed/better", "alone/unbiased"
)  # fmt: skip

Mask = Any
Cut = tuple[Mask, Mask]
Shape = tuple[int, int, int]  # how many vertices are only in S, only in T, in both


def queries_by_kind(graph: Any) -> dict[str, list[gc.CutQuery]]:
    """Return cut queries by their kind; none depends on the noise of a release.

    In a plain graph S is cut from its complement, in a bipartite graph a set of rows from all
    columns, if the kind has one set only.
    """
    rng = np.random.default_rng(0)
    rows, columns = graph.shape
    plain = isinstance(graph, gc.Graph)

    def random_subset(n: int, size: int) -> Mask:
        return np.isin(np.arange(n), rng.choice(n, size, replace=False))

    def cut_from_rest(S: Mask) -> Cut:
        return S, ~S if plain else np.ones(columns, dtype=bool)

    def small_cut() -> Cut:
        left_size, right_size = max(1, math.isqrt(rows)), max(1, math.isqrt(columns))
        if not plain:
            return random_subset(rows, left_size), random_subset(columns, right_size)
        both_sides = rng.choice(rows, 2 * left_size, replace=False)
        S, T = (np.isin(np.arange(rows), side) for side in np.split(both_sides, 2))
        return S, T

    def random_halves() -> Cut:
        S = rng.random(rows) < 0.5
        return (S, ~S) if plain else (S, rng.random(columns) < 0.5)

    left, right = communities(graph)
    pairs = [(i, j) for i in range(len(left)) for j in range(len(right)) if i < j or not plain]
    vertices = rng.choice(rows, min(rows, CUTS), replace=False)
    root = max(1, math.isqrt(rows))
    cuts_by_kind: dict[str, list[Cut]] = {
        "vertices": [cut_from_rest(np.arange(rows) == vertex) for vertex in vertices],
        "root n": [cut_from_rest(random_subset(rows, root)) for _ in range(CUTS)],
        "small": [small_cut() for _ in range(CUTS)],
        "halves": [random_halves() for _ in range(CUTS)],
        "com-rest": [cut_from_rest(S) for S in left],
        "com-com": [(left[i], right[j]) for i, j in pairs],
        "inside": [(S, S) for S in left] if plain else [],
    }
    return {
        kind: [gc.CutQuery(*cut) for cut in cuts] for kind, cuts in cuts_by_kind.items() if cuts
    }


def communities(graph: Any) -> tuple[list[Mask], list[Mask]]:
    """Return the large communities by Louvain's method, as masks of rows and of columns.

    Communities of a bipartite graph are found on both sides together, then divided.
    """
    if isinstance(graph, gc.Graph):
        labels = communities_of(graph)
        masks = [labels == label for label in range(labels.max() + 1)]
        masks = [mask for mask in masks if mask.sum() >= SMALLEST_COMMUNITY]
        return masks, masks
    square = sp.csr_array(one_matrix(graph.to_scipy(), bipartite=True))
    both, _ = communities(gc.Graph.of(square, weighted=graph.weighted, max_weight=graph.max_weight))
    left = [mask[: graph.shape[0]] for mask in both]
    right = [mask[graph.shape[0] :] for mask in both]
    return [mask for mask in left if mask.any()], [mask for mask in right if mask.any()]


def estimates_of(answers: list[Any]) -> Any:
    """Return the estimates of answers as an array."""
    return np.array([answer.estimate for answer in answers])


def mean_errors(entry: Entry, graph: Any, epsilon: float, seed: int) -> dict[str, Any]:
    """Return the mean absolute error of each way to answer the cuts of each kind, for one run."""
    queries_of = queries_by_kind(graph)
    queries = [query for of_kind in queries_of.values() for query in of_kind]
    stops = np.cumsum([len(of_kind) for of_kind in queries_of.values()])
    indices_of = dict(zip(queries_of, np.split(np.arange(len(queries)), stops[:-1]), strict=True))

    release = quiet_release(graph, epsilon, seed)
    estimates = {
        name: answer_on_matrix(queries, matrix, graph.space)
        for name, matrix in simple_matrices(graph, epsilon, seed).items()
    }
    estimates["unbiased"] = estimates_of(release.answer_all(queries))
    estimates["graph"] = gc.answer_all(queries, release.expected)
    estimates["mixed"] = estimates_of(release.answer_all(queries, estimate="shrunk"))
    estimates["list"] = np.concatenate(
        [
            estimates_of(release.answer_all(of_kind, estimate="shrunk"))
            for of_kind in queries_of.values()
        ]
    )

    truth = gc.answer_all(queries, graph)
    absolute_errors = {name: np.abs(values - truth) for name, values in estimates.items()}
    means = {}
    for kind, indices in indices_of.items():
        means[kind] = {
            name: float(errors[indices].mean()) for name, errors in absolute_errors.items()
        }
        first = indices[:SINGLE_QUERIES]
        alone = estimates_of([release.answer(queries[i], estimate="shrunk") for i in first])
        # Over the unbiased errors of the same few queries, so that their choice matters less.
        ratio = np.abs(alone - truth[first]).sum() / absolute_errors["unbiased"][first].sum()
        means[kind]["alone"] = float(ratio * means[kind]["unbiased"])
    return {
        "graph": entry.name, "part": entry.part, "epsilon": epsilon, "seed": seed, "errors": means
    }  # fmt: skip


def cut_shapes(rows: int, columns: int, plain: bool) -> list[Shape]:
    """Return shapes of the cuts whose coverage is measured.

    There are many cuts and few shapes, since cuts of one shape have one radius.
    """
    rng = np.random.default_rng(4)
    shapes = [(1, columns - 1 if plain else columns, 0), (rows // 2, columns // 2, 0)]
    while len(shapes) < SHAPES:
        only_S, only_T, both = (rng.random(3) ** 2 * (rows, columns, rows)).astype(int)
        both = both if plain and len(shapes) % 3 == 0 else 0
        if only_S and only_T and (not plain or only_S + only_T + both <= rows):
            shapes.append((int(only_S), int(only_T), int(both)))
    return shapes


def random_cut(shape: Shape, rows: int, columns: int, plain: bool, rng: Any) -> Cut:
    """Draw a cut of a shape."""
    only_S, only_T, both = shape
    if not plain:
        S, T = (
            np.isin(np.arange(n), rng.choice(n, size, replace=False))
            for n, size in ((rows, only_S), (columns, only_T))
        )
        return S, T
    stops = [only_S, only_S + only_T, only_S + only_T + both]
    in_S, in_T, in_both = (
        np.isin(np.arange(rows), part) for part in np.split(rng.permutation(rows), stops)[:3]
    )
    return in_S | in_both, in_T | in_both


def coverage(graph: Any, noise: str, mechanism: str, epsilon: float, draws: int) -> list[float]:
    """Return a line of the table of coverage.

    Returns:
        Coverage of the intervals, and by Chernoff's bound; mean half width in deviations of the
        noise, and by Chernoff's bound; coverage of a simultaneous interval.
    """
    rng = np.random.default_rng(2)
    job = graph_job(graph, epsilon=epsilon, noise=noise, mechanism=mechanism, fitted=False)
    source = SeededEntropy(3)
    plain = isinstance(graph, gc.Graph)
    shapes = cut_shapes(*graph.shape, plain)
    covered = covered_by_chernoff = covered_simultaneously = 0
    width = chernoff_width = 0.0
    for draw in range(draws):
        # Chosen before the noise of this draw.
        cuts = [
            random_cut(shapes[(draw + i) % SHAPES], *graph.shape, plain, rng)
            for i in range(CUTS_PER_DRAW)
        ]
        queries = [gc.CutQuery(*cut) for cut in cuts]
        truth = gc.answer_all(queries, graph)
        release = gc.Release(measurements=job.measure(graph, source))
        for answer, (S, T), true in zip(release.answer_all(queries), cuts, truth, strict=True):
            low, high = answer.interval
            covered += low <= true <= high
            pairs = pairs_of_cut(S, T, graph.space)
            radius = chernoff_radius(release.noisy.distribution, pairs)
            covered_by_chernoff += abs(release.noisy.cut_value(S, T) - true) <= radius
        # Widths are those of the last cut of a draw: its shape is another one in the next draw.
        estimate = release.estimator.estimate_cut(S, T)
        width += estimate.radius(math.log(20)) / estimate.noise.deviation
        chernoff_width += radius / estimate.noise.deviation
        low, high = release.answer_all(queries[:1], simultaneous=True)[0].interval
        covered_simultaneously += low <= truth[0] <= high
    count = draws * CUTS_PER_DRAW
    return [
        covered / count,
        covered_by_chernoff / count,
        width / draws,
        chernoff_width / draws,
        covered_simultaneously / draws,
    ]


@lru_cache(maxsize=1 << 12)
def chernoff_radius(distribution: Any, pairs: int) -> float:
    """Return the half width of a 95 % interval by Chernoff's bound on the entries alone."""
    return float(distribution.radius(pairs, log_failures=math.log(20)))


def print_coverage(draws: int) -> None:
    """Print the table of coverage."""
    print("coverage of 95 %: now, before; half widths over the deviation: now, before; all at once")
    table = Table(":<36 now:>9.4f before:>9.4f now:>9.3f before:>9.3f at_once:>9.3f cuts:>9")
    blocks = planted(300, 4, 0.4, 0.04)
    both = "degrees+randomized-response"
    mechanisms = (
        ("randomized-response", 1.0),
        ("auto", 1.0),
        *((both, epsilon) for epsilon in EPSILONS[:3]),
    )
    settings: dict[str, tuple[Any, str, str, float]] = {
        f"planted 300, {mechanism}, {epsilon:g}": (blocks, "binary", mechanism, epsilon)
        for mechanism, epsilon in mechanisms
    }
    settings["similarity 60, laplace, 1"] = (similarity(60), "laplace", both, 1.0)
    settings["two sides 80 x 200, 1"] = (two_sides(80, 200, blocks=True), "binary", both, 1.0)
    for name, setting in settings.items():
        table.row(name, *coverage(*setting, draws), draws * CUTS_PER_DRAW)
    print()


def ratios_by_graph(
    runs: list[dict[str, Any]],
) -> dict[tuple[float, str, str], dict[str, dict[str, float]]]:
    """Return the ratios of the first tables.

    Returns:
        For each epsilon, part of the graphs and kind of cuts: RATIOS of each graph, unless its cuts
        of this kind are too small.
    """
    errors_of: dict[tuple[float, str, str, str], dict[str, list[float]]] = {}
    for run in runs:
        for kind, errors in run["errors"].items():
            key = run["epsilon"], run["part"], kind, run["graph"]
            of_seeds = errors_of.setdefault(key, defaultdict(list))
            for name, error in errors.items():
                of_seeds[name].append(error)
    ratios: dict[tuple[float, str, str], dict[str, dict[str, float]]] = defaultdict(dict)
    for (epsilon, part, kind, graph), of_seeds in errors_of.items():
        mean = {name: float(np.mean(errors)) for name, errors in of_seeds.items()}
        simple = {name: mean[name] for name in (*COMPARED, EMPTY, LAPLACE) if name in mean}
        best = mean[best_of(simple)]
        better = min(mean["unbiased"], mean["graph"])
        # The error of the empty graph is the number of edges of the cut.
        if mean[EMPTY] > max(1.0, 1 / epsilon):
            ratios[epsilon, part, kind][graph] = {
                **{name: mean[name] / best for name in ("unbiased", "graph", "list")},
                "list/laplace": mean["list"] / mean[best_of(simple, laplace=True)],
                **{f"{name}/better": mean[name] / better for name in ("list", "mixed")},
                "alone/unbiased": mean["alone"] / mean["unbiased"],
            }
    return ratios


def print_ratios(runs: list[dict[str, Any]]) -> None:
    """Print a table of parts of the graphs for each epsilon, and one of communities."""
    ratios = ratios_by_graph(runs)
    for epsilon in sorted({epsilon for epsilon, _, _ in ratios}):
        title = f"epsilon = {epsilon:g}: geometric means, and in brackets the largest"
        table = Table("graphs:<12 cuts:<10 n:>4 " + " ".join(f"{n}:>16" for n in RATIOS), title)
        of_epsilon = {key: value for key, value in ratios.items() if key[0] == epsilon}
        for (_, part, kind), of_graphs in sorted(of_epsilon.items()):
            columns = [[of_graph[name] for of_graph in of_graphs.values()] for name in RATIOS]
            cells = [f"{geometric_mean(column):.2f} ({max(column):.2f})" for column in columns]
            table.row(part, kind, len(of_graphs), *cells)
        print()
    table = Table(
        "communities:<36 epsilon:>8 cuts:>10 unbiased:>10 graph:>10 list:>10",
        "each graph: over the best of three simple releases",
    )
    for (epsilon, _, kind), of_graphs in sorted(ratios.items()):
        if kind not in COMMUNITY_KINDS:
            continue
        for graph, of_graph in of_graphs.items():
            cells = [f"{of_graph[name]:.2f}" for name in ("unbiased", "graph", "list")]
            table.row(graph, f"{epsilon:g}", kind, *(f"{cell:>10}" for cell in cells))
    print()


def main() -> None:
    """Print the tables."""
    options = arguments(__doc__)
    options.epsilon = options.epsilon or EPSILONS[:3]
    print_ratios(list(runs(entries_of(options), mean_errors, options)))
    print_coverage(50 if options.quick else DRAWS)


if __name__ == "__main__":
    main()
