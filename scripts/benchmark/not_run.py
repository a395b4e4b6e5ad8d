"""Methods that are not run, with the bounds of their theorems and the error of the empty graph.

A theorem without stated constants is computed with 1 in their place and natural logarithms, in the
method's favour. If its bound still exceeds the error of the empty graph, which spends nothing, the
theorem says nothing about these graphs.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import final

from scripts.benchmark.contenders.johnson_lindenstrauss import projection_noise

DELTA = 1e-6


@final
@dataclass(frozen=True, kw_only=True)
class NotRun:
    """A method that is not run.

    Attributes:
        name: its authors and year.
        source: the paper.
        theorem: what it guarantees, in a sentence; formulas as plain text.
        reason: why it is not run, in plain sentences.
        bound: of the error at epsilon and `DELTA`, from the vertices, the edges and epsilon of a
            graph without weights.
    """

    name: str
    source: str
    theorem: str
    reason: str
    bound: Callable[[int, int, float], float]


def cut_release_bound(n: int, edges: int, epsilon: float) -> float:
    """Return sqrt(m n/epsilon) ln(n/delta)^2: of all cuts of one synthetic graph."""
    return math.sqrt(edges * n / epsilon) * math.log(n / DELTA) ** 2


def sparsifier_bound(n: int, edges: int, epsilon: float) -> float:  # noqa: ARG001
    """Return the error of a cut of n/2 vertices by a projection with w/n added to each pair.

    With r rows, all cuts err by sqrt(n/r) of themselves and of what is added to them, which is
    w n/4 for a half; w grows as sqrt(r), so that r = n rows give the order of any number. The w
    here is the least that the privacy of such a projection is known to need (`projection_noise`),
    and the error of the cut itself is left out.
    """
    noise = projection_noise(epsilon=epsilon, delta=DELTA, rows=n)
    return float(noise.weight) * n / 4


def clustering_bound(n: int, edges: int, epsilon: float) -> float:  # noqa: ARG001
    """Return n^1.75: disagreements above the least, times a constant, without logarithms."""
    return float(n**1.75)


NOT_RUN = (
    NotRun(
        name="Elias, Kapralov, Kulkarni, Lee 2020",
        source="Differentially private release of synthetic graphs, SODA 2020",
        theorem="every cut errs by O(sqrt(m n/epsilon) log^2(n/delta))",
        reason="Private mirror descent on a semidefinite program over all pairs, with noise in "
        "each of many steps. At epsilon = 1 its bound is above m for every graph without weights "
        "of up to a million vertices.",
        bound=cut_release_bound,
    ),
    NotRun(
        name="Arora, Upadhyay 2019",
        source="On differentially private graph sparsification and applications, NeurIPS 2019",
        theorem="the spectrum of the graph with w/n added to each pair, within a factor",
        reason="Its noise is that of a random projection after each pair has got the weight w/n, "
        "as that of johnson-lindenstrauss, which is run; sparsifying it afterwards can only lose. "
        "The bound is computed with the least w that is proven private here, not with the "
        "constants of the paper.",
        bound=sparsifier_bound,
    ),
    NotRun(
        name="Bun, Elias, Kulkarni 2021",
        source="Differentially private correlation clustering, ICML 2021",
        theorem="a constant times the least number of disagreements, and O~(n^1.75) besides",
        reason="It clusters the synthetic graph of the first row; ours-clusters does the same with "
        "the synthetic graph of this package. Their exponential mechanism, with an error of "
        "O(n log n/epsilon), chooses among all partitions and cannot be computed.",
        bound=clustering_bound,
    ),
)


def bound_shares(
    method: NotRun, sizes: Sequence[tuple[int, int]], epsilon: float
) -> tuple[float, ...]:
    """Return a method's bound over the number of edges, which the empty graph errs by.

    The empty graph's largest error of a cut, and the disagreements of each vertex alone.

    Args:
        method: which.
        sizes: vertices and edges of graphs without weights.
        epsilon: to spend.
    """
    return tuple(method.bound(n, edges, epsilon) / edges for n, edges in sizes)
