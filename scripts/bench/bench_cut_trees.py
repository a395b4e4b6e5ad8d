"""Measure what a private tree of all least cuts could add to noisy degrees: next to nothing.

Run `python -m scripts.bench.bench_cut_trees [--quick] [--epsilon 1]`.

A Gomory-Hu tree has for each pair of vertices the weight of the least cut between them. Two
estimates cost epsilon: the smaller one of the two noisy degrees, which is the weight of the cut
around one vertex, and the tree of a synthetic graph. "alone" is the share of the pairs whose least
cut is that around one vertex. Errors are the mean over all pairs and the
largest. "least cut" is the least of the whole graph (k = 2): the truth, and both estimates.
n/epsilon, without its logarithms, is the error of the private tree of Aamand et al. 2025.
"""

import warnings
from fractions import Fraction

import numpy as np

import graphcuts_dp as gc
from graphcuts_dp.privacy.entropy import SeededEntropy
from graphcuts_dp.privacy.noise import sample_discrete_laplace
from scripts.bench.bench_least_cuts import GENERATORS
from scripts.bench.harness import Table, run

SIZES = (200, 400)


def least_cuts(n, rows, columns, weights):
    """Return the weight of the least cut of every pair, shape (n, n); infinite on the diagonal."""
    import igraph

    graph = igraph.Graph(n=n, edges=np.column_stack([rows, columns]))
    tree = graph.gomory_hu_tree(capacity=np.asarray(weights, dtype=float).tolist())
    cuts = np.full((n, n), np.inf)
    flows = np.array(tree.es["flow"])
    # Add the edges of the tree, the heaviest first: an edge is the least cut of the pairs between
    # the two parts that it joins.
    part = [[v] for v in range(n)]
    at = list(range(n))
    for edge in np.argsort(-flows, kind="stable"):
        a, b = (at[v] for v in tree.es[int(edge)].tuple)
        cuts[np.ix_(part[a], part[b])] = flows[edge]
        cuts[np.ix_(part[b], part[a])] = flows[edge]
        part[a] += part[b]
        for v in part[b]:
            at[v] = a
    return cuts


def _errors(estimate, truth):
    pairs = np.triu_indices(len(truth), 1)
    wrong = np.abs(estimate[pairs] - truth[pairs])
    return float(wrong.mean()), float(wrong.max())


def main(quick: bool, epsilon: float) -> None:
    """Print the table."""
    table = Table(
        "graph:<16 n:>5 alone:>7.0% degrees:>9.1f worst:>6.0f release:>9.1f worst:>6.0f"
        " least_cut:>14 n/epsilon:>10.0f"
    )
    for name, make in GENERATORS.items():
        for size in SIZES[:1] if quick else SIZES:
            graph = make(size)
            n, rows, columns = graph.n, graph.rows, graph.columns
            truth = least_cuts(n, rows, columns, graph.weights)
            degrees = np.bincount(np.concatenate([rows, columns]), minlength=n)
            noise = sample_discrete_laplace(Fraction(epsilon) / 2, n, SeededEntropy(1))
            noisy = np.maximum(degrees + noise, 0)
            with warnings.catch_warnings(action="ignore"):
                synthetic = gc.release_graph(graph, epsilon=epsilon, seed=2).graph
            tree_cuts = least_cuts(n, synthetic.rows, synthetic.columns, synthetic.weights)
            pairs = np.triu_indices(n, 1)
            table.row(
                name,
                n,
                float((np.minimum.outer(degrees, degrees) == truth)[pairs].mean()),
                *_errors(np.minimum.outer(noisy, noisy), truth),
                *_errors(tree_cuts, truth),
                f"{truth[pairs].min():.0f}/{noisy.min()}/{tree_cuts[pairs].min():.0f}",
                n / epsilon,
            )


if __name__ == "__main__":
    run(main, __doc__, epsilon=1.0)
