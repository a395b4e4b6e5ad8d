"""PrivGraph: find communities privately, then edges within and between them, then a graph.

Integer noise in place of floats. The exponential mechanism has twice the public code's rate, which
spends only half of its share: an edge more raises one score of each end. Vertices choose among all
communities that were found, also those that became empty; in the public code a graph without edges
skips the choice and gets a community for each vertex, which tells that it has none: that is no
differential privacy at any epsilon. The public code draws the ends of edges between communities
from the last community, whatever the pair (an index left over from an earlier loop), and counts
each edge within a super-vertex twice; here neither. Pairs between communities are drawn without
repetition, so that their number is what was measured.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.privacy.choices import exponential_choice
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_laplace
from scripts.benchmark.contenders.block_draws import Edges, drawn_between, drawn_within
from scripts.benchmark.contenders.opening import Run, contender, public_generator
from scripts.benchmark.contenders.super_graph import (
    SuperGraph,
    cell_ends,
    cell_numbers,
    measure_super_graph,
    norm_sub,
    random_groups,
    shown_communities,
)

GROUP_SIZE = 20  # vertices of a super-vertex, as in the paper
# (scores, rate, source) -> the community that is chosen
Choose = Callable[[IntVector, Fraction, EntropySource], int]


@final
@dataclass(frozen=True, kw_only=True)
class PrivGraphRates:
    """Exponents of the noise of each part, for one unit.

    Attributes:
        cells: of the counts of the super-graph; one pair changes one count by 1.
        moves: of the choice of a community; one pair changes one score of each of its ends by 1.
        degrees: of degrees within communities; one pair changes two of them by 1.
        between: of counts between communities; one pair changes one of them by 1.
    """

    cells: Fraction
    moves: Fraction
    degrees: Fraction
    between: Fraction

    @classmethod
    def of(cls, epsilon: Fraction) -> "PrivGraphRates":
        """Return a third of epsilon for each of the three phases, as in the paper."""
        third = epsilon / 3
        return cls(cells=third, moves=third / 2, degrees=third / 2, between=third)

    @property
    def cost(self) -> Cost:
        """Return the cost of all measurements together: see `measure_privgraph`."""
        details = max(2 * self.degrees, self.between)
        return Cost.of_pure(self.cells + 2 * self.moves + details)


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class PrivGraphDraws:
    """All that PrivGraph draws of a private graph; the synthetic graph is made of it.

    Attributes:
        super_graph: the noisy super-graph.
        start: the community of each vertex that it shows, shape (n,).
        order: the vertices, as they were moved, shape (n,); drawn without the graph.
        moves: the community that each of these chose, shape (n,).
        communities: of each vertex after that, shape (n,).
        degrees: noisy degrees within communities, shape (n,).
        between: noisy counts of edges between two communities, in the order of `cell_ends` (those
            of a community with itself are 0 and not released).
    """

    super_graph: SuperGraph
    start: IntVector
    order: IntVector
    moves: IntVector
    communities: IntVector
    degrees: IntVector
    between: IntVector


def adjusted(
    graph: Graph,
    start: IntVector,
    order: IntVector,
    *,
    rate: Fraction,
    source: EntropySource,
    choose: Choose = exponential_choice,
) -> IntVector:
    """Let each vertex in turn choose a community, by how many of its edges lead there.

    Args:
        graph: the private graph.
        start: the community of each vertex, shape (n,).
        order: in which they choose.
        rate: a community is chosen with probability proportional to e^(rate edges).
        source: where the choices come from.
        choose: draws one of them.

    Returns:
        What the vertices chose, in that order. Later ones see what earlier ones chose.

    Guarantee: (2 rate)-DP. A pair of vertices u and v is seen by the choices of u and of v alone.
    Given all earlier choices, an edge more raises one score of u by 1, and no other, so that the
    probability of that choice grows by a factor in [1, e^rate], and the others shrink by one
    in [e^-rate, 1]. The same for v; the choices are composed adaptively.
    Source: PrivGraph, "Community adjustment".
    """
    adjacency = graph.adjacency
    labels = start.copy()
    count = int(start.max()) + 1
    chosen = np.empty(len(order), dtype=np.int64)
    for step, vertex in enumerate(order.tolist()):
        neighbours = slice(adjacency.indptr[vertex], adjacency.indptr[vertex + 1])
        scores = np.bincount(labels[adjacency.indices[neighbours]], minlength=count)
        labels[vertex] = chosen[step] = choose(scores, rate, source)
    return chosen


def true_details(graph: Graph, communities: IntVector) -> tuple[IntVector, IntVector]:
    """Count degrees within communities, and edges between any two communities. Private."""
    count = int(communities.max()) + 1
    ends = communities[graph.rows], communities[graph.columns]
    is_inside = ends[0] == ends[1]
    degrees = np.bincount(graph.rows[is_inside], minlength=graph.n)
    degrees += np.bincount(graph.columns[is_inside], minlength=graph.n)
    numbers = cell_numbers(ends[0][~is_inside], ends[1][~is_inside], count)
    return degrees, np.bincount(numbers, minlength=count * (count + 1) // 2)


def measure_privgraph(
    graph: Graph, rates: PrivGraphRates, source: EntropySource, *, group_size: int = GROUP_SIZE
) -> PrivGraphDraws:
    """Measure all noisy numbers of the private graph.

    1. Vertices are put into groups of `group_size` at random. Edges within and between groups are
       counted with noise; Louvain's algorithm finds communities of groups.
    2. Each vertex chooses a community by the exponential mechanism (`adjusted`).
    3. Degrees within communities and counts of edges between them get noise.

    Args:
        graph: the private graph, without weights.
        rates: of the noise.
        source: where it comes from.
        group_size: public.

    Guarantee: epsilon-DP, epsilon = cells + 2 moves + max(2 degrees, between) of the rates. One
    pair of vertices lies in one cell of the super-graph; see `adjusted` for the second phase. Of
    the third: communities are known by then, and either the pair lies within one, and two degrees
    change by 1, or between two, and one count changes by 1. Sequential composition, adaptively.
    """
    groups = random_groups(graph.n, group_size, source)
    super_graph = measure_super_graph(graph, groups, rate=rates.cells, source=source)
    count = int(groups.max()) + 1
    start = shown_communities(_consistent(super_graph.cells, count), count)[groups]
    order = public_generator(source).permutation(graph.n)
    moves = adjusted(graph, start, order, rate=rates.moves, source=source)
    communities = start.copy()
    communities[order] = moves
    degrees, between = true_details(graph, communities)
    degrees += sample_discrete_laplace(rates.degrees, len(degrees), source)
    between += sample_discrete_laplace(rates.between, len(between), source)
    first, second = cell_ends(int(communities.max()) + 1)
    between[first == second] = 0
    return PrivGraphDraws(
        super_graph=super_graph,
        start=start,
        order=order,
        moves=moves,
        communities=communities,
        degrees=degrees,
        between=between,
    )


def _consistent(cells: IntVector, groups: int) -> FloatVector:
    """Return counts within and between groups, each made >= 0 with their sum kept."""
    first, second = cell_ends(groups)
    is_inside = first == second
    consistent = np.empty(len(cells))
    for part in (is_inside, ~is_inside):
        if part.any():
            consistent[part] = norm_sub(cells[part])
    return consistent


def reconstructed(measured: PrivGraphDraws, generator: np.random.Generator) -> Edges:
    """Return the edges of a synthetic graph. Reads noisy numbers alone.

    Within a community, of its degrees made consistent, by the Chung-Lu model; between two of them,
    as many distinct pairs as were counted, drawn uniformly.

    Args:
        measured: what was drawn.
        generator: of the synthetic graph.

    Returns:
        Both ends of the edges.
    """
    count = int(measured.communities.max()) + 1
    members = [np.flatnonzero(measured.communities == number) for number in range(count)]
    parts = []
    for group in members:
        if len(group) > 1:
            degrees = np.minimum(norm_sub(measured.degrees[group]), len(group) - 1.0)
            parts.append(drawn_within(group, degrees, generator))
    first, second = cell_ends(count)
    between_groups = np.flatnonzero(first != second)
    if len(between_groups):
        counts = np.rint(norm_sub(measured.between[between_groups])).astype(np.int64)
        for cell, edges in zip(between_groups[counts > 0], counts[counts > 0], strict=True):
            sides = members[first[cell]], members[second[cell]]
            parts.append(drawn_between(*sides, int(edges), generator))
    empty = np.zeros(0, dtype=np.int64)
    rows, columns = zip((empty, empty), *parts, strict=True)
    return np.concatenate(rows), np.concatenate(columns)


def privgraph(run: Run) -> AnyGraph:
    """Return a synthetic graph by PrivGraph.

    Guarantee: epsilon-DP; see `measure_privgraph`. The rest reads what it drew.
    Source: Yuan, Zhang, Du, Chen, Cheng, Sun, "PrivGraph: differentially private graph data
    publication by exploiting community information", USENIX Security 2023.
    """
    rates = PrivGraphRates.of(run.epsilon)
    run.spend(rates.cost)
    measured = measure_privgraph(run.graph, rates, run.source)
    return run.made(*reconstructed(measured, run.generator()))


PRIVGRAPH = contender(
    privgraph,
    name="privgraph",
    source="Yuan, Zhang, Du, Chen, Cheng, Sun: PrivGraph, USENIX Security 2023",
    most_vertices=10_000,
)
