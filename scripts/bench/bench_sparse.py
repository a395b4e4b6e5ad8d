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
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from unittest import mock

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.estimate.kept_edges import threshold_for
from graphcuts_dp.estimate.measurement import Measurements
from graphcuts_dp.estimate.noises import noise_distribution
from graphcuts_dp.measure.cells import measure_refinable_groups
from graphcuts_dp.measure.entries import measure_kept_edges
from graphcuts_dp.measure.statistics import measure_degrees, measure_weight_counts
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.release import measuring
from graphcuts_dp.synth.sparse_fit import fit_sparse
from scripts.bench.harness import Table, run

SIZES = (0.4, 0.3, 0.2, 0.1)
COLUMNS = ("halves", "sets", "degrees", "pairs", "half groups", "worst")
COUNTS = Fraction(1, 50)  # of epsilon, for counts of edges and weights
EPSILON, SEEDS = 1.0, 2
SHARES = {"d .02": 0.02, "d .95": 0.95}  # of epsilon, for degrees


def grouped_graph(n, degree, mean, seed, *, k=None, inside=0.7):
    """Draw a graph with groups, and return it with the group of each vertex."""
    rng = np.random.default_rng(seed)
    sizes = SIZES if k is None else (1 / k,) * k
    m = n * degree // 2
    codes = np.searchsorted(np.cumsum(sizes)[:-1], np.arange(n) / n, side="right")
    rng.shuffle(codes)
    activity = rng.lognormal(0, 0.6, n)
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(len(sizes) + 1))
    sums = np.concatenate([[0], np.cumsum(activity[order])])

    def members(groups):
        low, high = sums[ends[groups]], sums[ends[groups + 1]]
        at = np.searchsorted(sums, low + rng.random(len(groups)) * (high - low), side="right")
        return order[np.clip(at - 1, 0, n - 1)]

    volumes = sums[ends[1:]] - sums[ends[:-1]]
    first = rng.choice(len(sizes), m, p=volumes / volumes.sum())
    other = rng.choice(len(sizes), m, p=volumes / volumes.sum())
    second = np.where(rng.random(m) < inside, first, other)
    weights = np.ones(m) if mean == 1 else np.rint(rng.lognormal(math.log(mean) - 0.5, 1, m))
    graph = gc.Graph(
        members(first), members(second), np.maximum(weights, 1), vertices=n, max_weight_change=1
    )
    return graph, codes


def times(model, vectors):
    """Return the model's matrix times some vectors, shape (n, q)."""
    sums = np.zeros((model.blocks.shape[1], vectors.shape[1]))
    np.add.at(sums, model.column_codes, model.column_factors[:, None] * vectors)
    spread = model.row_factors[:, None] * (model.blocks @ sums)[model.row_codes]
    loops = model.residual_at(np.arange(len(vectors)), np.arange(len(vectors)))
    return model.kept @ vectors + spread - loops[:, None] * vectors


def errors(graph, codes, model, *, few=False, seed=5):
    """Return mean absolute errors, by column; see the module."""
    rng, n, matrix = np.random.default_rng(seed), graph.n, graph.adjacency

    def off(vectors):
        return matrix @ vectors - times(model, vectors)

    errors_of = {}
    half = (rng.random((n, 6 if few else 100)) < 0.5).astype(float)
    errors_of["halves"] = np.abs((half * off(1 - half)).sum(axis=0)).mean()
    sets = []
    for _ in range(2 if few else 8):
        size = min(100, n // 4)
        left, right = np.zeros((n, 25)), np.zeros((n, 25))
        for q in range(25):
            chosen = rng.choice(n, 2 * size, replace=False)
            left[chosen[:size], q], right[chosen[size:], q] = 1, 1
        sets.append(np.abs((left * off(right)).sum(axis=0)))
    errors_of["sets"] = np.mean(sets)
    errors_of["degrees"] = np.abs(matrix.sum(axis=1) - model.degrees()[0]).mean()
    k = int(codes.max()) + 1
    member = np.eye(k)[codes]
    between = member.T @ off(member)
    between[np.diag_indices(k)] /= 2
    errors_of["pairs"] = np.abs(between[np.triu_indices(k)]).mean()
    halves = []
    for _ in range(2 if few else 6):
        side = (rng.random(n) < 0.5)[:, None]
        halves.append(np.abs((member * side).T @ off(member * ~side)).mean())
    errors_of["half groups"] = np.mean(halves)
    signs = np.sign(rng.standard_normal((n, 4)))
    for _ in range(15 if few else 40):
        signs = np.sign(off(signs)) + (off(signs) == 0)
    errors_of["worst"] = np.abs(off(signs)).sum(axis=0).max() / 4 / matrix.sum()
    return errors_of


def raw(graph, codes):
    """Return expected errors of discrete Laplace noise on all pairs."""
    n, law = graph.n, noise_distribution("discrete-laplace", epsilon=EPSILON).law
    deviation = law.variance**0.5
    normal = math.sqrt(2 / math.pi) * deviation
    sizes = np.bincount(codes).astype(float)
    pairs = np.outer(sizes, sizes)
    pairs[np.diag_indices(len(sizes))] /= 2
    return {
        "halves": normal * n / 2,
        "sets": normal * min(100, n // 4),
        "degrees": normal * math.sqrt(n),
        "pairs": normal * np.sqrt(pairs[np.triu_indices(len(sizes))]).mean(),
        "half groups": normal * np.sqrt(np.outer(sizes, sizes)).mean() / 2,
        "worst": 0.65 * deviation * n**1.5 / graph.adjacency.sum() / math.sqrt(2),
    }


def baseline(graph, groups, method, seed):
    """Return a model of one kind of measurement alone."""
    source, cap = SeededEntropy(seed), graph.max_weight
    count_noise = noise_distribution("discrete-laplace", epsilon=EPSILON, max_weight=cap)
    counts = measure_weight_counts(
        graph, count_noise, epsilon=COUNTS * Fraction(EPSILON), source=source
    )
    remaining = (1 - COUNTS) * Fraction(EPSILON)

    def model(*more):
        measurements = Measurements((counts, *more), None)
        return fit_sparse(measurements, graph.space, max_weight=cap, integral=True)

    if method in ("filter", "top-m"):
        noise = noise_distribution("discrete-laplace", epsilon=remaining, max_weight=cap)
        share = 0.05 if method == "filter" else 1.0
        pairs, edges = graph.n * (graph.n - 1) // 2, max(counts.total, 1.0)
        threshold = threshold_for(noise, pairs=pairs, edges=edges, false_share=share)
        kept_edges = measure_kept_edges(graph, noise, threshold=threshold, source=source)
        return listed(model(kept_edges), kept_edges)
    sums = []
    if method == "blocks":
        how = {"epsilon": remaining / 20, "whole": True, "name": "groups", "source": source}
        sums = [measure_refinable_groups(graph, (groups, groups), **how).measurement]
        remaining -= remaining / 20
    degrees = measure_degrees(
        graph, count_noise, epsilon=remaining, source=source, without_maximum=True
    )
    return model(*sums, degrees)


def listed(model, kept_edges):
    """Return kept edges with their noisy weights, and nothing else."""
    parts = model.to_parts()
    parts["weights"], parts["blocks"] = kept_edges.weights, np.zeros_like(model.blocks)
    return type(model).from_parts(parts, model.space, max_weight=None, whole=True)


def ours(graph, groups, seed, share=None):
    """Return the released model; groups are public ones, "found" or "none"."""
    options = {} if isinstance(groups, str) else {"groups": groups}
    looking = mock.patch.object(measuring, "_may_be_found", return_value="none")
    with looking if groups == "none" else nullcontext():
        options |= {"mechanism": gc.Mechanism("sparse", degree_share=share), "seed": seed}
        noise = {"noise": "discrete-laplace", "fit": "none"}
        return gc.release_graph(graph, epsilon=EPSILON, **noise, **options)._model


def show(title, results):
    """Print a table of medians, a method a line."""
    print()
    shown = " ".join(f"{name.replace(' ', '_')}:>13.4g" for name in COLUMNS)
    lines = Table(f":<13 {shown}", title)
    for method, errors_of in results.items():
        lines.row(method, *least([errors_of]))
    best = least([results["degrees"], results["filter"]])
    chosen = {name: [results[name]] for name in ("public", "found", "none")}
    chosen["chosen"] = [results[name] for name in ("public", *SHARES)]
    for name, of in chosen.items():
        lines.row(f"{name}/best", *least(of) / best)


def least(methods):
    """Return the least median of some methods, by column."""
    medians = [
        [np.median([errors_of_seed[c] for errors_of_seed in errors_of_method]) for c in COLUMNS]
        for errors_of_method in methods
    ]
    return np.min(medians, axis=0)


def table(n, degrees, weights, seeds):
    """Print the errors of all methods on simulated graphs."""
    for degree, mean in itertools.product(degrees, weights):
        results = {}
        for seed in range(seeds):
            add(results, *grouped_graph(n, degree, mean, seed), seed, few=n >= 10**5)
        show(f"n = {n:,}, average degree {degree}, mean weight {mean}", results)


def add(results, graph, codes, seed, *, few=False):
    """Add the errors of all methods on one graph."""
    results.setdefault("raw", []).append(raw(graph, codes))
    for method, model in models(graph, codes, seed):
        results.setdefault(method, []).append(errors(graph, codes, model, few=few))


def models(graph, codes, seed):
    """Yield all methods that are run."""
    groups = gc.Groups(graph.vertices, {"group": codes.tolist()})
    for method in ("degrees", "blocks", "filter", "top-m"):
        yield method, baseline(graph, groups, method, seed)
    for name, group_option in (("public", groups), ("found", "found"), ("none", "none")):
        yield name, ours(graph, group_option, seed)
    for name, share in SHARES.items():
        yield name, ours(graph, groups, seed, share)


def real(folder):
    """Return real graphs, without and with weights; groups are Louvain communities."""
    import igraph

    for name in ("email_enron", "ego_facebook", "lesmis_w", "us_flights_2008_w"):
        path = next(iter(sorted(folder.glob(f"{name}.edges*"))), None)
        if path is None:
            continue
        weighted = name.endswith("_w")
        how = {"columns": gc.Columns(weight=2), "max_weight_change": 1} if weighted else {}
        graph = gc.read_graph(path, **how)
        network = igraph.Graph(n=graph.n, edges=np.column_stack([graph.rows, graph.columns]))
        codes = np.array(network.community_multilevel().membership)
        order = np.argsort(-np.bincount(codes))[:10]
        codes = np.where(np.isin(codes, order), np.searchsorted(np.sort(order), codes), len(order))
        results = {}
        for seed in range(SEEDS):
            add(results, graph, codes, seed)
        edges = len(graph.rows)
        show(f"{name}: n = {graph.n:,}, m = {edges:,}, mean {graph.weights.mean():.3g}", results)


def main(quick, data):
    """Run simulated graphs, or real ones."""
    if quick:
        table(2_000, [10], [20], 1)
    elif data:
        real(data)
    else:
        table(10**4, [10, 50], [1, 5, 20, 100], SEEDS)
        table(10**5, [10], [5, 20], 1)


if __name__ == "__main__":
    run(main, __doc__, data=Path)
