"""Compare sparse releases with other methods: errors of cuts, and time.

Simulated graphs have four uneven groups (.4, .3, .2, .1 of the vertices) that hold 70 % of the
edges, vertices of uneven activity (lognormal, .6), and weights 1 or lognormal of a given mean.
Errors are mean absolute errors of the model's expected weights, in units of weight: of random
halves; two random sets of 100 (or of a quarter of the vertices); degrees; sums between the true
groups; sums between a random half of one group and the other half of another; and of the worst cut
that an ascent from random signs finds, over the sum of the matrix.

Methods, all with the same epsilon: `raw` is the expected error of discrete Laplace noise on all
pairs (not run: it has n^2 entries); `degrees` is noisy degrees alone with independent pairs;
`blocks` degrees and public groups without kept edges; `filter` kept edges alone, with their noisy
weights; `top-m` the same with a threshold that as many false edges reach as there are edges (TmF);
`public`, `found`, `none` are `release_graph` with mechanism "sparse" and public groups, without
groups, and without looking for any; `d .02` and `d .95` are public groups with that `degree_share`.
"best" is the better of `degrees` and `filter`, and "chosen/best" the least of the three with public
groups, column by column. Graphs of seeds 0 and 1 are for validation; the tuning used those of seeds
100 and 101.

    python -m scripts.bench.bench_sparse                 # n = 10^4, and 10^5 for two weights
    python -m scripts.bench.bench_sparse --data FOLDER   # real graphs of a folder
"""

import itertools
import math
from collections.abc import Iterator
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.estimate.kept_edges import KeptEdges, threshold_for
from graphcuts_dp.estimate.measurement import Measurements
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.measure.cells import measure_refinable_groups
from graphcuts_dp.measure.entries import measure_kept_edges
from graphcuts_dp.measure.statistics import measure_degrees, measure_weight_counts
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.synth import sparse_decisions
from graphcuts_dp.synth.sparse_fit import fit_sparse
from scripts.bench.harness import Table, run

Codes = Any  # group of each vertex
IntVector = Any
Matrix = Any
Errors = dict[str, float]  # by column
Results = dict[str, list[Errors]]  # of methods, one for each seed

SIZES = (0.4, 0.3, 0.2, 0.1)
# Kinds of errors; see the module.
COLUMNS = ("halves", "sets", "degrees", "pairs", "half groups", "worst")
COUNTS = Fraction(1, 50)  # of epsilon, for counts of edges and weights
EPSILON, SEEDS = 1.0, 2
SHARES = {"d .02": 0.02, "d .95": 0.95}  # of epsilon, for degrees


def grouped_graph(
    n: int,
    degree: int,
    mean_weight: float,
    seed: int,
    *,
    groups: int | None = None,
    inside: float = 0.7,
) -> tuple[gc.Graph, Codes]:
    """Draw a graph with groups, and return it with the group of each vertex.

    Args:
        n: number of vertices.
        degree: twice the number of edges over n, before parallel edges are merged.
        mean_weight: 1 for edges without weights.
        seed: of numpy's generator.
        groups: how many of equal size; None for four uneven ones.
        inside: chance that an edge is within a group by choice.
    """
    rng = np.random.default_rng(seed)
    sizes = SIZES if groups is None else (1 / groups,) * groups
    edges = n * degree // 2
    codes = np.searchsorted(np.cumsum(sizes)[:-1], np.arange(n) / n, side="right")
    rng.shuffle(codes)
    activity = rng.lognormal(0, 0.6, n)
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(sizes) + 1))
    sums = np.concatenate([[0], np.cumsum(activity[order])])

    def random_members(group_of_endpoint: Codes) -> IntVector:
        """Draw a member of each group, in proportion to activity."""
        low, high = sums[starts[group_of_endpoint]], sums[starts[group_of_endpoint + 1]]
        points = low + rng.random(len(low)) * (high - low)
        indices = np.searchsorted(sums, points, side="right") - 1
        return order[np.clip(indices, 0, n - 1)]

    volumes = sums[starts[1:]] - sums[starts[:-1]]
    first = rng.choice(len(sizes), edges, p=volumes / volumes.sum())
    other_group = rng.choice(len(sizes), edges, p=volumes / volumes.sum())
    second = np.where(rng.random(edges) < inside, first, other_group)
    weights = (
        np.ones(edges)
        if mean_weight == 1
        else np.rint(rng.lognormal(math.log(mean_weight) - 0.5, 1, edges))
    )
    graph = gc.Graph(
        random_members(first),
        random_members(second),
        np.maximum(weights, 1),
        vertices=n,
        max_weight_change=1,
    )
    return graph, codes


def times(model: Any, vectors: Matrix) -> Matrix:
    """Return the model's matrix times some vectors, shape (n, q)."""
    sums = np.zeros((model.blocks.shape[1], vectors.shape[1]))
    np.add.at(sums, model.column_codes, model.column_factors[:, None] * vectors)
    spread = model.row_factors[:, None] * (model.blocks @ sums)[model.row_codes]
    loops = model.residual_at(np.arange(len(vectors)), np.arange(len(vectors)))
    return model.kept_matrix @ vectors + spread - loops[:, None] * vectors


def errors(
    graph: gc.Graph, codes: Codes, model: Any, *, few: bool = False, seed: int = 5
) -> Errors:
    """Return mean absolute errors by column; from fewer random cuts if `few`."""
    rng, n, matrix = np.random.default_rng(seed), graph.n, graph.adjacency

    def difference_times(vectors):
        return matrix @ vectors - times(model, vectors)

    errors_of = {}
    side_of_halves = (rng.random((n, 6 if few else 100)) < 0.5).astype(float)
    errors_of["halves"] = np.abs(
        (side_of_halves * difference_times(1 - side_of_halves)).sum(axis=0)
    ).mean()
    set_errors = []
    for _ in range(2 if few else 8):
        size = min(100, n // 4)
        left, right = np.zeros((n, 25)), np.zeros((n, 25))
        for column in range(25):
            vertices = rng.choice(n, 2 * size, replace=False)
            left[vertices[:size], column], right[vertices[size:], column] = 1, 1
        set_errors.append(np.abs((left * difference_times(right)).sum(axis=0)))
    errors_of["sets"] = np.mean(set_errors)
    errors_of["degrees"] = np.abs(matrix.sum(axis=1) - model.degrees()[0]).mean()
    groups = int(codes.max()) + 1
    member = np.eye(groups)[codes]
    between = member.T @ difference_times(member)
    between[np.diag_indices(groups)] /= 2
    errors_of["pairs"] = np.abs(between[np.triu_indices(groups)]).mean()
    half_group_errors = []
    for _ in range(2 if few else 6):
        side = (rng.random(n) < 0.5)[:, None]
        half_group_errors.append(
            np.abs((member * side).T @ difference_times(member * ~side)).mean()
        )
    errors_of["half groups"] = np.mean(half_group_errors)
    signs = np.sign(rng.standard_normal((n, 4)))
    for _ in range(15 if few else 40):
        signs = np.sign(difference_times(signs)) + (difference_times(signs) == 0)
    errors_of["worst"] = np.abs(difference_times(signs)).sum(axis=0).max() / 4 / matrix.sum()
    return errors_of


def raw(graph: gc.Graph, codes: Codes) -> Errors:
    """Return expected errors of discrete Laplace noise on all pairs."""
    n, law = graph.n, noise_distribution("discrete-laplace", epsilon=EPSILON).law
    deviation = law.variance**0.5
    mean_error = math.sqrt(2 / math.pi) * deviation
    sizes = np.bincount(codes).astype(float)
    pairs = np.outer(sizes, sizes)
    pairs[np.diag_indices(len(sizes))] /= 2
    return {
        "halves": mean_error * n / 2,
        "sets": mean_error * min(100, n // 4),
        "degrees": mean_error * math.sqrt(n),
        "pairs": mean_error * np.sqrt(pairs[np.triu_indices(len(sizes))]).mean(),
        "half groups": mean_error * np.sqrt(np.outer(sizes, sizes)).mean() / 2,
        "worst": 0.65 * deviation * n**1.5 / graph.adjacency.sum() / math.sqrt(2),
    }


def baseline(graph: gc.Graph, groups: gc.Groups, method: str, seed: int) -> Any:
    """Return a model of one kind of measurement alone."""
    source, max_weight = SeededEntropy(seed), graph.max_weight
    count_noise = noise_distribution("discrete-laplace", epsilon=EPSILON, max_weight=max_weight)
    counts = measure_weight_counts(
        graph, count_noise, epsilon=COUNTS * Fraction(EPSILON), source=source
    )
    remaining = (1 - COUNTS) * Fraction(EPSILON)

    def model(*measured):
        measurements = Measurements((counts, *measured), None)
        return fit_sparse(measurements, graph.space, max_weight=max_weight, integral=True)

    if method in ("filter", "top-m"):
        noise = noise_distribution("discrete-laplace", epsilon=remaining, max_weight=max_weight)
        share = 0.05 if method == "filter" else 1.0
        pairs, edges = graph.n * (graph.n - 1) // 2, max(counts.total, 1.0)
        threshold = threshold_for(noise, pairs=pairs, edges=edges, false_share=share)
        kept_edges = measure_kept_edges(graph, noise, threshold=threshold, source=source)
        return without_blocks(model(kept_edges), kept_edges)
    sums = []
    if method == "blocks":
        options = {"epsilon": remaining / 20, "whole": True, "name": "groups", "source": source}
        sums = [measure_refinable_groups(graph, (groups, groups), **options).measurement]
        remaining -= remaining / 20
    degrees = measure_degrees(
        graph, count_noise, epsilon=remaining, source=source, without_maximum=True
    )
    return model(*sums, degrees)


def without_blocks(model: Any, kept_edges: KeptEdges) -> Any:
    """Return kept edges with their noisy weights, and nothing else."""
    parts = model.to_parts()
    parts["weights"], parts["blocks"] = kept_edges.weights, np.zeros_like(model.blocks)
    return type(model).from_parts(parts, model.space, max_weight=None, integral=True)


def sparse_model(
    graph: gc.Graph, groups: gc.Groups | str, seed: int, degree_share: float | None = None
) -> Any:
    """Return the model of a sparse release.

    Args:
        graph: private.
        groups: public groups; "found" if the release may find some, "none" if not.
        seed: of the noise.
        degree_share: of epsilon; None for the default.
    """
    options = {} if isinstance(groups, str) else {"groups": groups}
    without_search = mock.patch.object(sparse_decisions, "find_communities", return_value=None)
    with without_search if groups == "none" else nullcontext():
        options |= {"mechanism": gc.Mechanism("sparse", degree_share=degree_share), "seed": seed}
        noise = {"noise": "discrete-laplace", "fit": "none"}
        return gc.release_graph(graph, epsilon=EPSILON, **noise, **options)._model


def print_medians(title: str, results: Results) -> None:
    """Print a table of median errors, a line for each method, then ratios to the best baseline."""
    print()
    columns = " ".join(f"{name.replace(' ', '_')}:>13.4g" for name in COLUMNS)
    table = Table(f":<13 {columns}", title)
    for method, errors_of in results.items():
        table.row(method, *least_medians([errors_of]))
    best = least_medians([results["degrees"], results["filter"]])
    combined = {name: [results[name]] for name in ("public", "found", "none")}
    combined["chosen"] = [results[name] for name in ("public", *SHARES)]
    for name, methods in combined.items():
        table.row(f"{name}/best", *least_medians(methods) / best)


def least_medians(methods: list[list[Errors]]) -> Any:
    """Return the least of the medians of some methods, by column."""
    medians = [
        [
            np.median([errors_of_seed[column] for errors_of_seed in errors_of_method])
            for column in COLUMNS
        ]
        for errors_of_method in methods
    ]
    return np.min(medians, axis=0)


def simulated(n: int, degrees: list[int], mean_weights: list[int], seeds: int) -> None:
    """Print the errors of all methods on simulated graphs."""
    for degree, mean_weight in itertools.product(degrees, mean_weights):
        results = {}
        for seed in range(seeds):
            add_errors(results, *grouped_graph(n, degree, mean_weight, seed), seed, few=n >= 10**5)
        print_medians(f"n = {n:,}, average degree {degree}, mean weight {mean_weight}", results)


def add_errors(
    results: Results, graph: gc.Graph, codes: Codes, seed: int, *, few: bool = False
) -> None:
    """Add the errors of all methods on one graph."""
    results.setdefault("raw", []).append(raw(graph, codes))
    for method, model in models(graph, codes, seed):
        results.setdefault(method, []).append(errors(graph, codes, model, few=few))


def models(graph: gc.Graph, codes: Codes, seed: int) -> Iterator[tuple[str, Any]]:
    """Yield the name and the model of all methods that are run."""
    groups = gc.Groups(graph.vertices, {"group": codes.tolist()})
    for method in ("degrees", "blocks", "filter", "top-m"):
        yield method, baseline(graph, groups, method, seed)
    for name, group_option in (("public", groups), ("found", "found"), ("none", "none")):
        yield name, sparse_model(graph, group_option, seed)
    for name, share in SHARES.items():
        yield name, sparse_model(graph, groups, seed, share)


def real(folder: Path) -> None:
    """Print the errors on real graphs of a folder; groups are communities by Louvain's method."""
    import igraph

    for name in ("email_enron", "ego_facebook", "lesmis_w", "us_flights_2008_w"):
        path = next(iter(sorted(folder.glob(f"{name}.edges*"))), None)
        if path is None:
            continue
        weighted = name.endswith("_w")
        options = {"columns": gc.Columns(weight=2), "max_weight_change": 1} if weighted else {}
        graph = gc.read_graph(path, **options)
        network = igraph.Graph(n=graph.n, edges=np.column_stack([graph.rows, graph.columns]))
        codes = np.array(network.community_multilevel().membership)
        largest = np.argsort(-np.bincount(codes))[:10]
        codes = np.where(
            np.isin(codes, largest), np.searchsorted(np.sort(largest), codes), len(largest)
        )
        results = {}
        for seed in range(SEEDS):
            add_errors(results, graph, codes, seed)
        edges = len(graph.rows)
        print_medians(
            f"{name}: n = {graph.n:,}, m = {edges:,}, mean {graph.weights.mean():.3g}", results
        )


def main(quick: bool, data: Path | None) -> None:
    """Run simulated graphs, or real ones."""
    if quick:
        simulated(2_000, [10], [20], 1)
    elif data:
        real(data)
    else:
        simulated(10**4, [10, 50], [1, 5, 20, 100], SEEDS)
        simulated(10**5, [10], [5, 20], 1)


if __name__ == "__main__":
    run(main, __doc__, data=Path)
