"""Degrees and epsilons from which a synthetic graph can show communities or single edges.

A synthetic graph is released with noise of standard deviation s on each entry of the adjacency
matrix. Communities of a graph are directions (eigenvectors) of the matrix. The eigenvalue theta of
a direction is its *strength*. In a model of communities in which every vertex has the same expected
degree d, no eigenvalue is expected to be above d: so the average degree is taken as the largest
strength of communities. (A hub alone can have a larger eigenvalue; it is a degree, no community.)

Noise spreads the other eigenvalues up to 2 s sqrt(n), and hides directions with theta below
s sqrt(n) entirely: a theorem on eigenvalues of noisy matrices, cited in
`graphcuts_dp.planning.synthetic`. By measurements (scripts/bench/bench_fit_quality.py) communities
show from theta = SHOWN s sqrt(n) on.

- Randomised response flips each bit of the matrix with probability 1/(1 + e^epsilon) and divides
  out the mean: s = 1/(2 sinh(epsilon/2)). Laplace noise has s = sqrt(2)/epsilon.
- A size n (`Size`) is a number of vertices, a pair (left, right) of a bipartite graph, or `ArcsOn`
  of a directed graph. X is the number of vertex pairs, m the number of edges.
- A bipartite graph has (sqrt(left) + sqrt(right))/2 in place of sqrt(n), and m/sqrt(left right) as
  average degree; a directed graph has the average number of arcs that leave a vertex.
"""

import math

from graphcuts_dp.learn.sizes import Size, pairs_of, shape_of

SHOWN = 1.5  # least visible strength, in units of s sqrt(n); 1 is the theoretical limit


def degrees_needed(n: Size, *, epsilon: float) -> tuple[float, float]:
    """Return the least average degrees at which communities, and single edges, can show.

    Communities: SHOWN sqrt(n)/(2 sinh(epsilon/2)). Single edges: a rule of thumb, by which at least
    half of the released edges should be true ones. Randomised response is expected to turn about
    X/(1 + e^epsilon) pairs without an edge into edges, so the true edges must be as many.

    Args:
        n: size of the graph.
        epsilon: privacy parameter of one edge.
    """
    sqrt_n, degree_per_edge = sqrt_and_degree_per_edge(n)
    communities = SHOWN * sqrt_n / (2 * math.sinh(epsilon / 2))
    # m = X/(1 + e^epsilon) edges, times the average degree that each edge adds
    single_edges = degree_per_edge * pairs_of(n) / (1 + math.exp(epsilon))
    return communities, single_edges


def epsilon_needed(n: Size, strength: float, *, flips: bool = True) -> float:
    """Return the least epsilon at which communities can show; infinite for strength 0.

    It solves theta = SHOWN s sqrt(n) for epsilon.

    Args:
        n: size of the graph.
        strength: theta, the largest strength that communities can have, such as the average degree.
        flips: True for randomised response, False for Laplace noise.
    """
    sqrt_n, _ = sqrt_and_degree_per_edge(n)
    if strength <= 0:
        return math.inf
    ratio = SHOWN * sqrt_n / (2 * strength)
    return 2 * math.asinh(ratio) if flips else 2 * math.sqrt(2) * ratio


def difference_needed(n: Size, groups: int, *, deviation: float) -> float:
    """Return the least difference of densities at which equal groups can show; it may be above 1.

    In a planted partition, pairs within one of k equal groups are edges with probability p, and
    others with probability q. Its k - 1 directions have the strength (p - q) n/k, which must be
    SHOWN s sqrt(n). Both sides of a bipartite graph have k groups, and sqrt(left right) is n.

    Args:
        n: size of the graph.
        groups: k, at least 2.
        deviation: s, of an entry of the noisy matrix: of the noise and of the random edge.
    """
    sqrt_n, _ = sqrt_and_degree_per_edge(n)
    return SHOWN * deviation * sqrt_n * groups / math.sqrt(math.prod(shape_of(n)))


def sqrt_and_degree_per_edge(n: Size) -> tuple[float, float]:
    """Return sqrt(n), and the average degree divided by the number of edges.

    The second is 2/n for an undirected graph and 1/n for a directed one. A bipartite graph has
    (sqrt(left) + sqrt(right))/2 and 1/sqrt(left right).
    """
    rows, columns = shape_of(n)  # both n if there is one vertex set
    counted_endpoints = 2 if isinstance(n, int) else 1  # an int is an undirected graph
    return (
        (math.sqrt(rows) + math.sqrt(columns)) / 2,
        counted_endpoints / math.sqrt(rows * columns),
    )
