"""Density-based exploration and reconstruction: a quadtree of counts, edges in its leaves."""

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple, final

import numpy as np
import scipy

from graphcuts_dp.arrays import FloatVector, IntVector
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.pairs.groups import Groups
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import Choice
from scripts.benchmark.base import Contender, Submission
from scripts.benchmark.contenders.opening import opened, simple_graph, submitted
from scripts.benchmark.contenders.quadtree import (
    Budgets,
    RegionLevel,
    explored,
    place_in,
)
from scripts.benchmark.contenders.realised import pairs_at
from scripts.benchmark.subsets import uniform_subset

SHARES = (Fraction(1, 3), Fraction(1, 3))  # of epsilon, for counts and for cuts; the rest for edges
_ROUNDING = 2.0**-46  # of the largest logarithm of a factorial: by how much sums of six are off


def density_based_graph(
    graph: AnyGraph,
    *,
    epsilon: float,
    delta: float = 0.0,
    groups: Groups | None = None,
    seed: int | None = None,
) -> Submission:
    """A graph with noisy numbers of edges in regions, in which true pairs are a little likelier.

    1. The matrix, vertices in their public order, is cut in four again and again where it is dense,
       by noisy counts and by the exponential mechanism, for a third of epsilon each (`explored`).
    2. In every region that was not cut, as many pairs as its noisy count says, at least none and at
       most all, are drawn by the exponential mechanism: a set of them with a chance proportional
       to e^(rate u), u being how many of them are edges (`arranged`).

    Guarantee: epsilon-DP by basic composition: `explored`, and `arranged` in disjoint regions, of
    which one pair is in one.

    Arguments and errors as for `Method`; the graph is undirected, without weights.

    Source: Chen, Fung, Yu, Desai, "Correlated network data publication via differential privacy",
    VLDB Journal 2014, without correlation; constants and scores as in the public code of others,
    github.com/hiepbkhn/itce2011. Deviations: the paper's first step, which gives the vertices a new
    order privately, is left out, as it is there; only the upper half of the matrix is
    used, in which an edge counts once; the whole matrix is counted with noise, too.
    """
    del delta, groups
    simple_graph(graph, "der")
    exact, source = opened(epsilon, seed)
    counts, cuts = (exact * share for share in SHARES)
    edges = exact - counts - cuts
    budgets = Budgets.of(graph.shape[0], counts=counts, cuts=cuts)
    levels = explored(graph, budgets, source)
    ends = [np.zeros((2, 0), dtype=np.int64)]
    leaves = reconstructed(graph, levels, rate=edges, source=source)
    ends += [np.array(pairs_of(leaf.region, leaf.places)) for leaf in leaves]
    parts = (("counts", counts), ("cuts", cuts), ("edges in regions", edges))
    return submitted(graph, *np.concatenate(ends, axis=1), parts=parts, seed=seed)


@final
class DrawnRegion(NamedTuple):
    """What was drawn in a region that was not cut.

    Attributes:
        region: first row, end, first column and end.
        area: how many pairs it has.
        places: of the drawn pairs, see `place_in`.
    """

    region: IntVector
    area: int
    places: IntVector


def reconstructed(
    graph: AnyGraph, levels: Sequence[RegionLevel], *, rate: Fraction, source: EntropySource
) -> Iterator[DrawnRegion]:
    """The pairs that are drawn in each region that was not cut.

    Guarantee: (rate)-DP, for regions and counts that were paid for; see `arranged`.

    Args:
        graph: the private graph.
        levels: of `explored`.
        rate: exact.
        source: where the noise comes from.
    """
    for level in levels:
        for index in np.flatnonzero(level.leaf & (level.counts > 0)):
            region, area = level.regions[index], int(level.areas[index])
            own = level.edges[index]
            edges = np.sort(place_in(region, graph.rows[own], graph.columns[own]))
            count = min(int(level.counts[index]), area)
            yield DrawnRegion(region, area, arranged(edges, area, count, rate=rate, source=source))


def arranged(
    edges: IntVector, pairs: int, count: int, *, rate: Fraction, source: EntropySource
) -> IntVector:
    """A set of so many pairs with a chance proportional to e^(rate u), u of them being edges.

    First u, with the chance C(m, u) C(N - m, M - u) e^(rate u), exactly; then u uniform ones of
    the m edges, and M - u uniform ones of the others.

    Guarantee: (rate)-DP for a count M that is public or was paid for. One pair more or less among
    the edges changes u of any set by 0 or 1, for all sets in the same direction: both e^(rate u)
    and the sum of all of them change by a factor in 1..e^rate, in the same direction.

    Args:
        edges: places of the m edges, distinct, ascending, in 0..N-1. Private.
        pairs: N.
        count: M, in 0..N.
        rate: exact, > 0.
        source: where the noise comes from.

    Returns:
        Places, ascending, shape (count,).
    """
    found = _overlap(len(edges), pairs, count, rate, source)
    true = edges[uniform_subset(found, len(edges), source)]
    others = uniform_subset(count - found, pairs - len(edges), source)
    # The k-th place without an edge lies behind all edges with fewer than k such places before.
    others += np.searchsorted(edges - np.arange(len(edges)), others, side="right")
    return np.sort(np.concatenate([true, others]))


def _overlap(edges: int, pairs: int, count: int, rate: Fraction, source: EntropySource) -> int:
    """How many of the drawn pairs are edges."""
    least, most = max(0, count - (pairs - edges)), min(edges, count)
    if least == most:
        return least
    u = np.arange(least, most + 1)
    logs = _log_choices(edges, u) + _log_choices(pairs - edges, count - u) + float(rate) * u
    error = _ROUNDING * (float(scipy.special.gammaln(pairs + 1)) + float(rate) * most + 1)

    def exact(index: int) -> Decimal:
        of = least + index
        ways = math.comb(edges, of) * math.comb(pairs - edges, count - of)
        power = Decimal(rate.numerator) * of / Decimal(rate.denominator)
        return Decimal(ways).ln() + power

    return least + Choice(logs, error, exact).draw(source)


def _log_choices(of: int, chosen: IntVector) -> FloatVector:
    gammaln = scipy.special.gammaln
    return np.asarray(gammaln(of + 1) - gammaln(chosen + 1) - gammaln(of - chosen + 1))


def pairs_of(region: IntVector, places: IntVector) -> tuple[IntVector, IntVector]:
    """Rows and columns of places in a region: the inverse of `place_in`."""
    top, left = int(region[0]), int(region[2])
    if top == left:
        down, along = pairs_at(places)
    else:
        down, along = np.divmod(places, region[3] - region[2])
    return down + top, along + left


DER = Contender(
    name="der",
    method=density_based_graph,
    source="Chen, Fung, Yu, Desai, VLDB Journal 2014",
    most_vertices=5_000,
    note=(
        "Vertices stay in their public order, which helps where neighbours have near numbers: the "
        "paper's private relabelling is left out. Budgets are a third each for counts, "
        "cuts and edges. Public code (github.com/hiepbkhn/itce2011) counts an edge in both halves "
        "of the matrix with the noise for one, takes the number of edges of the whole matrix "
        "without noise, and draws with floating-point chances."
    ),
)
