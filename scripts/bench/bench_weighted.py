"""Compare synthetic graphs with weights: the release, its fit on all pairs, and Chung-Lu.

Each graph is released at epsilon = 1 and 4. Compared are the release; its fit without rounding, a
weight on every pair; and Chung-Lu: noisy weighted degrees with all of epsilon, and a Poisson number
of each pair's expected weight. Chung-Lu knows neither the number of edges nor their weights.

Printed for each graph: edges over true edges, in the end the least and the largest ratio; then
errors, which are differences from the truth: of the clustering coefficient without and with
weights; of the mean length of shortest paths (a weight w is a length 1/w), over the true one; of
the weights of edges, as Wasserstein-1 over their mean; and of random halves, over half of the true
total weight. This reads the truth.
"""

import argparse
import statistics
import warnings

import networkx as nx
import numpy as np
import scipy

import graphcuts_dp as gc
from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.errors import AccuracyWarning

EPSILONS = (1.0, 4.0)
_HALVES = 50  # random ones
_SOURCES = 30  # of shortest paths
_LEAST = 1e-9
NAMES = ("edges", "clustering", "weighted clustering", "paths", "weights", "halves")


def graphs(count: int) -> dict[str, FloatMatrix]:
    """Return symmetric matrices of whole weights, by name; lesmis among them."""
    matrices: dict[str, FloatMatrix] = {"lesmis": nx.to_numpy_array(nx.les_miserables_graph())}
    shapes = {
        "random": lambda n, seed: nx.gnm_random_graph(n, 9 * n, seed=seed),
        "power law": lambda n, seed: nx.powerlaw_cluster_graph(n, 8, 0.6, seed=seed),
        "small world": lambda n, seed: nx.watts_strogatz_graph(n, 12, 0.2, seed=seed),
        "geometric": lambda n, seed: nx.random_geometric_graph(n, 0.13, seed=seed),
        "planted": lambda n, seed: nx.planted_partition_graph(6, n // 6, 0.25, 0.02, seed=seed),
    }
    laws = ("geometric", "heavy")
    for name, shape in shapes.items():
        for law in laws:
            graph = shape(300, len(matrices))  # type: ignore[no-untyped-call]
            rng = np.random.default_rng(len(matrices))
            matrix = np.triu(nx.to_numpy_array(graph) > 0, 1).astype(np.float64)
            rows, columns = np.nonzero(matrix)
            size = len(rows)
            weights = rng.geometric(0.2, size) if law == "geometric" else 1 + rng.pareto(1.5, size)
            matrix[rows, columns] = np.minimum(np.floor(weights), 40)
            matrices[f"{name}, {law}"] = matrix + matrix.T
    airports = gc.datasets.load("us-flights").to_scipy().toarray()
    matrices["flights"] = np.minimum(np.ceil(airports / 100), 100)
    return dict(list(matrices.items())[:count])


def chung_lu(matrix: FloatMatrix, epsilon: float, rng: np.random.Generator) -> FloatMatrix:
    """Return a graph of whole weights from noisy weighted degrees, with all of epsilon."""
    noise = rng.laplace(0, 2 * matrix.max() / epsilon, len(matrix))
    degrees = np.maximum(matrix.sum(axis=1) + noise, 0)
    expected = np.outer(degrees, degrees) / max(degrees.sum(), _LEAST)
    upper = np.triu(rng.poisson(expected), 1).astype(np.float64)
    return np.asarray(upper + upper.T)


def measures(synthetic: FloatMatrix, truth: FloatMatrix) -> FloatVector:
    """Return the ratio of edges, and the errors that the module's docstring names, in its order."""
    described = [_described(matrix) for matrix in (synthetic, truth)]
    (edges, *values, weights), (true_edges, *true_values, true_weights) = described
    errors = [abs(a - b) for a, b in zip(values, true_values, strict=True)]
    errors[2] /= true_values[2]  # lengths of paths
    weight_distance = scipy.stats.wasserstein_distance(weights, true_weights) / true_weights.mean()
    rng = np.random.default_rng(7)
    sides = rng.random((_HALVES, len(truth))) < 0.5
    cuts = np.einsum("ki,ij,kj->k", sides * 1.0, synthetic - truth, ~sides * 1.0, optimize=True)
    halves = float(np.sqrt((cuts**2).mean())) / (truth.sum() / 2)
    return np.array([edges / true_edges, *errors, weight_distance, halves])


def _described(matrix: FloatMatrix) -> tuple[float, float, float, float, FloatVector]:
    """Return number of edges, both clustering coefficients, length of paths, and weights."""
    joined = (matrix > 0).astype(np.float64)
    degrees = joined.sum(axis=1)
    triples = degrees * (degrees - 1)
    triangles = ((joined @ joined) * joined).sum(axis=1)
    roots = np.cbrt(matrix / max(matrix.max(), _LEAST))
    heavy = ((roots @ roots) * roots).sum(axis=1)
    clustering, weighted = (
        float(np.mean(np.divide(sums, triples, out=np.zeros(len(sums)), where=triples > 0)))
        for sums in (triangles, heavy)
    )
    lengths = scipy.sparse.csr_array(np.where(matrix > 0, 1 / np.maximum(matrix, _LEAST), 0))
    paths = scipy.sparse.csgraph.dijkstra(lengths, indices=range(min(_SOURCES, len(matrix))))
    reached = paths[np.isfinite(paths) & (paths > 0)]
    weights = matrix[np.triu(matrix, 1) > 0]
    length = float(reached.mean()) if reached.size else 0.0
    return len(weights), clustering, weighted, length, weights if len(weights) else np.zeros(1)


def main() -> None:
    """Print a line for each graph and method, then means and worst cases."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="three graphs, epsilon = 1")
    quick = parser.parse_args().quick
    warnings.simplefilter("ignore", AccuracyWarning)
    for epsilon in EPSILONS[: 1 if quick else None]:
        print(f"epsilon = {epsilon:g}: {', '.join(NAMES)}")
        results: dict[str, list[FloatVector]] = {"release": [], "all pairs": [], "chung-lu": []}
        for name, truth in graphs(3 if quick else 12).items():
            rows, columns = np.nonzero(np.triu(truth, 1))
            graph = gc.Graph(
                rows,
                columns,
                truth[rows, columns],
                vertices=len(truth),
                max_weight=float(truth.max()),
            )
            release = gc.release_graph(graph, epsilon=epsilon, seed=1)
            synthetic_graphs = {
                "release": release.graph.dense(),
                "all pairs": release.expected.dense(),
                "chung-lu": chung_lu(truth, epsilon, np.random.default_rng(1)),
            }
            for method, matrix in synthetic_graphs.items():
                results[method].append(measures(matrix.astype(np.float64), truth))
                line = "  ".join(f"{value:.3f}" for value in results[method][-1])
                print(f"{name}  {method}  {line}", flush=True)
        for method, lines in results.items():
            columns_of = list(zip(*lines, strict=True))
            cells = [
                f"{statistics.mean(values):.3f} ({max(values):.3f})" for values in columns_of[1:]
            ]
            edges = f"{min(columns_of[0]):.3f} to {max(columns_of[0]):.3f}"
            cells = [edges, *cells]
            print(f"all, mean (largest)  {method}  {'  '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
