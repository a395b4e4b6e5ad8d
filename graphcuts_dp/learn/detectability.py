"""Degrees and epsilons from which a synthetic graph can show communities or single edges.

A synthetic graph is released with noise of standard deviation s on each entry of the adjacency
matrix. A community is a direction (eigenvector) of the matrix; its strength, the eigenvalue theta,
is at most the average degree. Noise spreads the other eigenvalues up to 2 s sqrt(n), and a
direction shows if theta >= SHOWN s sqrt(n). `graphcuts_dp.planning.synthetic` has the reason, and
scripts/bench/bench_fit_quality.py the measurement.

- Binary randomised response has s = 1/(2 sinh(epsilon/2)), Laplace noise s = sqrt(2)/epsilon.
- A bipartite graph has (sqrt(left) + sqrt(right))/2 in place of sqrt(n), and m/sqrt(left right) as
  average degree; a directed graph has the average number of arcs that leave a vertex.
"""

import math

from graphcuts_dp.learn.sizes import Size, pairs_of, shape_of

SHOWN = 1.5  # least visible strength, in units of s sqrt(n); 1 is the theoretical limit


def degrees_needed(n: Size, *, epsilon: float) -> tuple[float, float]:
    """Return the least average degrees at which communities, and single edges, can show.

    Communities: SHOWN sqrt(n)/(2 sinh(epsilon/2)). Single edges: the degree at which edges are as
    many as the X/(1 + e^epsilon) pairs that randomised response is expected to turn into edges.

    Args:
        n: size of the graph.
        epsilon: privacy parameter of one edge.
    """
    sqrt_n, degree_per_edge = sqrt_and_degree_per_edge(n)
    communities = SHOWN * sqrt_n / (2 * math.sinh(epsilon / 2))
    single_edges = degree_per_edge * pairs_of(n) / (1 + math.exp(epsilon))
    return communities, single_edges


def epsilon_needed(n: Size, strength: float, *, flips: bool = True) -> float:
    """Return the least epsilon at which communities can show; infinite if there are none.

    It solves theta = SHOWN s sqrt(n) for epsilon.

    Args:
        n: size of the graph.
        strength: theta, the largest strength of a direction: at most the average degree.
        flips: whether bits are flipped; else Laplace noise is added.
    """
    sqrt_n, _ = sqrt_and_degree_per_edge(n)
    if strength <= 0:
        return math.inf
    ratio = SHOWN * sqrt_n / (2 * strength)
    return 2 * math.asinh(ratio) if flips else 2 * math.sqrt(2) * ratio


def sqrt_and_degree_per_edge(n: Size) -> tuple[float, float]:
    """Return sqrt(n), and the average degree over the number of edges.

    Undirected: 2/n. Directed: 1/n. Bipartite: (sqrt(left) + sqrt(right))/2 and 1/sqrt(left right).
    """
    rows, columns = shape_of(n)
    counted_endpoints = 2 if isinstance(n, int) else 1
    return (
        (math.sqrt(rows) + math.sqrt(columns)) / 2,
        counted_endpoints / math.sqrt(rows * columns),
    )
