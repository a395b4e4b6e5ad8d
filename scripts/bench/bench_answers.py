"""Measure errors of the answers of a release, and how often their intervals hold the truth.

Run `python -m scripts.bench.bench_answers [--quick]`.

First tables, one for each epsilon, on the graphs of baseline_graphs.py, which says which of them
constants were chosen on: mean absolute errors of all cuts of a kind and all seeds together.
"unbiased" answers, those of the synthetic graph ("graph"), and estimate="shrunk" in one list of
the kind ("list"), over the best of three simple releases of the same epsilon (noisy degrees with
Chung-Lu, the raw matrix, the empty graph); those of the list also where the raw matrix has Laplace
noise ("list/laplace", see bench_baselines); then over the better of "unbiased" and "graph" those of
one list of the kind, and of one list of all kinds ("mixed"); then shrunk answers that are asked for
one by one, a dozen of each kind, over the unbiased ones ("alone"). Geometric means over the graphs,
and the largest.
Kinds whose cuts have one edge in the mean, or 1/epsilon, or less are left out: no private answer to
one cut can be better than an empty graph there. Then each graph's communities.

Last table: coverage of 95 % intervals on cuts that were chosen before the noise, with what
Chernoff's bound on the entries (the intervals before) has on the same draws, and mean widths.

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

CUTS, ALONE = 60, 12  # of each random kind; of each kind that are asked one by one
LEAST_COMMUNITY = 10
DRAWS, CUTS_A_DRAW, SHAPES = 1000, 20, 25  # of the last table
COMMUNITIES = ("com-rest", "com-com")

Mask = Any
Cut = tuple[Mask, Mask]


def kinds_of(graph: Any) -> dict[str, list[gc.CutQuery]]:
    """Return the cuts, chosen before any noise."""
    rng = np.random.default_rng(0)
    rows, columns = graph.shape
    plain = isinstance(graph, gc.Graph)

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

    left, right = communities(graph)
    pairs = [(i, j) for i in range(len(left)) for j in range(len(right)) if i < j or not plain]
    chosen = rng.choice(rows, min(rows, CUTS), replace=False)
    kinds: dict[str, list[Cut]] = {
        "vertices": [against(np.arange(rows) == i) for i in chosen],
        "root n": [against(subset(rows, max(1, math.isqrt(rows)))) for _ in range(CUTS)],
        "small": [small() for _ in range(CUTS)],
        "halves": [half() for _ in range(CUTS)],
        "com-rest": [against(S) for S in left],
        "com-com": [(left[i], right[j]) for i, j in pairs],
        "inside": [(S, S) for S in left] if plain else [],
    }
    return {kind: [gc.CutQuery(*cut) for cut in cuts] for kind, cuts in kinds.items() if cuts}


def communities(graph: Any) -> tuple[list[Mask], list[Mask]]:
    """Return the communities of rows and columns, of ten vertices or more, by Louvain's method."""
    if isinstance(graph, gc.Graph):
        parts = communities_of(graph)
        masks = [parts == part for part in range(parts.max() + 1)]
        masks = [mask for mask in masks if mask.sum() >= LEAST_COMMUNITY]
        return masks, masks
    square = sp.csr_array(one_matrix(graph.to_scipy(), bipartite=True))
    both, _ = communities(gc.Graph.of(square, weighted=graph.weighted, max_weight=graph.max_weight))
    sides = ([mask[: graph.shape[0]] for mask in both], [mask[graph.shape[0] :] for mask in both])
    left, right = ([mask for mask in side if mask.any()] for side in sides)
    return left, right


def values(answers: list[Any]) -> Any:
    """Return the estimates of answers."""
    return np.array([answer.estimate for answer in answers])


def run(entry: Entry, graph: Any, epsilon: float, seed: int) -> dict[str, Any]:
    """Return the mean absolute error of each way to answer the cuts of each kind, for one run."""
    kinds = kinds_of(graph)
    release = quiet_release(graph, epsilon, seed)
    every = [query for queries in kinds.values() for query in queries]
    ends = np.cumsum([len(queries) for queries in kinds.values()])
    of_kinds = np.split(np.arange(len(every)), ends[:-1])
    simple = simple_matrices(graph, epsilon, seed)
    answers = {
        **{
            name: answer_on_matrix(every, estimates, graph.space)
            for name, estimates in simple.items()
        },
        "unbiased": values(release.answer_all(every)),
        "graph": gc.answer_all(every, release.expected),
        "mixed": values(release.answer_all(every, estimate="shrunk")),
        "list": np.concatenate(
            [values(release.answer_all(queries, estimate="shrunk")) for queries in kinds.values()]
        ),
    }
    truth = gc.answer_all(every, graph)
    off = {name: np.abs(estimates - truth) for name, estimates in answers.items()}
    errors = {}
    for kind, where in zip(kinds, of_kinds, strict=True):
        errors[kind] = {name: float(distances[where].mean()) for name, distances in off.items()}
        few = where[:ALONE]
        single_answers = values([release.answer(every[at], estimate="shrunk") for at in few])
        ratio = np.abs(single_answers - truth[few]).sum() / off["unbiased"][few].sum()
        errors[kind]["alone"] = float(ratio * errors[kind]["unbiased"])
    return {
        "graph": entry.name, "part": entry.part, "epsilon": epsilon, "seed": seed, "errors": errors
    }  # fmt: skip


def shapes_of(rows: int, columns: int, plain: bool) -> list[tuple[int, int, int]]:
    """Return sizes (only S, only T, both) of the cuts whose coverage is measured.

    There are many cuts and few shapes, since cuts of one shape have one radius.
    """
    rng = np.random.default_rng(4)
    shapes = [(1, columns - 1 if plain else columns, 0), (rows // 2, columns // 2, 0)]
    while len(shapes) < SHAPES:
        a, b, c = (rng.random(3) ** 2 * (rows, columns, rows)).astype(int)
        c = c if plain and len(shapes) % 3 == 0 else 0
        if a and b and (not plain or a + b + c <= rows):
            shapes.append((int(a), int(b), int(c)))
    return shapes


def cut_of(shape: tuple[int, int, int], rows: int, columns: int, plain: bool, rng: Any) -> Cut:
    """Draw a cut of a shape."""
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
    """Return a row of the last table."""
    rng = np.random.default_rng(2)
    job = graph_job(graph, epsilon=epsilon, noise=noise, mechanism=mechanism, fitted=False)
    source = SeededEntropy(3)
    plain = isinstance(graph, gc.Graph)
    sizes = (*graph.shape, plain)
    shapes = shapes_of(*sizes)
    covered = before = for_all = widths = old_widths = 0.0
    for draw in range(draws):
        # Chosen before the noise of this draw.
        cuts = [cut_of(shapes[(draw + i) % SHAPES], *sizes, rng) for i in range(CUTS_A_DRAW)]
        queries = [gc.CutQuery(*cut) for cut in cuts]
        truth = gc.answer_all(queries, graph)
        release = gc.Release(measurements=job.measure(graph, source))
        for answer, (S, T), true in zip(release.answer_all(queries), cuts, truth, strict=True):
            old = old_radius(release.noisy.distribution, pairs_of_cut(S, T, graph.space))
            covered += answer.interval[0] <= true <= answer.interval[1]
            before += abs(release.noisy.cut_value(S, T) - true) <= old
        estimate = release.estimator.estimate_cut(S, T)  # the last cut's: the shapes take turns
        widths += estimate.radius(math.log(20)) / estimate.noise.deviation
        old_widths += old / estimate.noise.deviation
        every = release.answer_all(queries[:1], simultaneous=True)[0].interval
        for_all += every[0] <= truth[0] <= every[1]
    count = draws * CUTS_A_DRAW
    return [covered / count, before / count, widths / draws, old_widths / draws, for_all / draws]


@lru_cache(maxsize=1 << 12)
def old_radius(distribution: Any, pairs: int) -> float:
    """Return Chernoff's bound on the entries alone, at 95 %."""
    return float(distribution.radius(pairs, log_failures=math.log(20)))


def last_table(draws: int) -> None:
    """Print the table of coverage."""
    print("coverage of 95 %: now, before; half widths over the deviation: now, before; all at once")
    table = Table(":<36 now:>9.4f before:>9.4f now:>9.3f before:>9.3f at_once:>9.3f cuts:>9")
    blocks = planted(300, 4, 0.4, 0.04)
    both = "degrees+randomized-response"
    mechanisms = (("response", 1.0), ("auto", 1.0), *((both, epsilon) for epsilon in EPSILONS[:3]))
    settings: dict[str, tuple[Any, str, str, float]] = {
        f"planted 300, {how}, {epsilon:g}": (blocks, "binary", how, epsilon)
        for how, epsilon in mechanisms
    }
    settings["similarity 60, laplace, 1"] = (similarity(60), "laplace", both, 1.0)
    settings["two sides 80 x 200, 1"] = (two_sides(80, 200, blocks=True), "binary", both, 1.0)
    for name, setting in settings.items():
        table.row(name, *coverage(*setting, draws), draws * CUTS_A_DRAW)
    print()


def first_tables(runs: list[dict[str, Any]]) -> None:
    """Print a table of parts of the graphs for each epsilon, and one of communities."""
    cells: dict[tuple[float, str, str, str], dict[str, list[float]]] = {}
    for run in runs:
        for kind, off in run["errors"].items():
            key = run["epsilon"], run["part"], kind, run["graph"]
            cell = cells.setdefault(key, defaultdict(list))
            for name, error in off.items():
                cell[name].append(error)
    ratios: dict[tuple[float, str, str], dict[str, dict[str, float]]] = defaultdict(dict)
    for (epsilon, part, kind, graph), off in cells.items():
        mean = {name: float(np.mean(run)) for name, run in off.items()}
        simple = {name: mean[name] for name in (*COMPARED, EMPTY, LAPLACE) if name in mean}
        best = mean[best_of(simple)]
        better = min(mean["unbiased"], mean["graph"])
        if mean[EMPTY] > max(1.0, 1 / epsilon):
            ratios[epsilon, part, kind][graph] = {
                **{name: mean[name] / best for name in ("unbiased", "graph", "list")},
                "list/laplace": mean["list"] / mean[best_of(simple, laplace=True)],
                **{f"{name}/better": mean[name] / better for name in ("list", "mixed")},
                "alone/unbiased": mean["alone"] / mean["unbiased"],
            }
    names = (
        "unbiased", "graph", "list", "list/laplace", "list/better", "mixed/better", "alone/unbiased"
    )  # fmt: skip
    for epsilon in sorted({key[0] for key in ratios}):
        title = f"epsilon = {epsilon:g}: geometric means, and in brackets the largest"
        table = Table("graphs:<12 cuts:<10 n:>4 " + " ".join(f"{n}:>16" for n in names), title)
        for (_, part, kind), run in sorted(key for key in ratios.items() if key[0][0] == epsilon):
            columns = [[of[name] for of in run.values()] for name in names]
            shown = [f"{geometric_mean(column):.2f} ({max(column):.2f})" for column in columns]
            table.row(part, kind, len(run), *shown)
        print()
    table = Table(
        "communities:<36 epsilon:>8 cuts:>10 unbiased:>10 graph:>10 list:>10",
        "each graph: over the best of three simple releases",
    )
    for (epsilon, _, kind), run in sorted(ratios.items()):
        for graph, of in run.items() if kind in COMMUNITIES else ():
            cut = [f"{of[name]:.2f}" for name in ("unbiased", "graph", "list")]
            table.row(graph, f"{epsilon:g}", kind, *(f"{text:>10}" for text in cut))
    print()


def main() -> None:
    """Print the tables."""
    options = arguments(__doc__)
    options.epsilon = options.epsilon or EPSILONS[:3]
    first_tables(list(runs(entries_of(options), run, options)))
    last_table(50 if options.quick else DRAWS)


if __name__ == "__main__":
    main()
