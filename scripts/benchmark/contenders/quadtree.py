"""Noisy counts of edges in regions of the adjacency matrix, cut in four where they are dense."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import final

import numpy as np

from graphcuts_dp.arrays import BoolVector, IntegerVector, IntMatrix, IntVector
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.privacy.choices import exponential_choice
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_laplace

SCALE = 1 << 10  # sensitivity of the score of a cut, a whole number
_FULL = 0.8  # share of its pairs that are edges, from which on a region is not cut
_MEAN_COUNT = 5.0  # of edges, in the rule for the depth
_GROWTH: float = 2 ** (1 / 3)  # of the budget of counts, from one depth to the next
_LINES = 16  # where rows or columns of a region may be cut, at most
_LEAST_PART = 16  # a part has at least this part of its region's pairs


@final
@dataclass(frozen=True, eq=False)
class RegionLevel:
    """Disjoint regions of one depth, with what was measured of them.

    Attributes:
        regions: first row, end, first column and end of each, shape (regions, 4). Of a region on
            the diagonal, whose rows are its columns, only pairs i < j are meant.
        areas: how many pairs each has.
        counts: noisy numbers of edges, any sign.
        leaf: whether it was not cut.
        edges: private: for each region, where its edges are among those of the graph.
    """

    regions: IntMatrix
    areas: IntVector
    counts: IntVector
    leaf: BoolVector
    edges: tuple[IntVector, ...] = field(repr=False)


@final
@dataclass(frozen=True)
class Budgets:
    """The budgets of an exploration.

    Attributes:
        counts: epsilon of the counts of each depth, from the whole matrix to the smallest regions.
        cuts: epsilon of the cuts of each depth but the last.
    """

    counts: tuple[Fraction, ...]
    cuts: tuple[Fraction, ...]

    @property
    def depth(self) -> int:
        """Return how often a region may be cut."""
        return len(self.cuts)

    @property
    def epsilon(self) -> Fraction:
        """Return the epsilon of all steps together."""
        return sum((*self.counts, *self.cuts), Fraction(0))

    @classmethod
    def of(cls, n: int, *, counts: Fraction, cuts: Fraction) -> "Budgets":
        """Return the budgets for a graph of n vertices: the depth, and the share of each depth.

        The depth h is the least with 2^(1/3) 4^h - 2^(5h/3) > (2^(1/3) - 1) n^2 epsilon/(10
        sqrt(2)), epsilon being that of counts. These get shares that grow by 2^(1/3) with the depth
        (Cormode et al. 2012), cuts equal ones.

        Args:
            n: public.
            counts: epsilon of all counts, exact.
            cuts: epsilon of all cuts, exact.
        """
        most = (_GROWTH - 1) * n**2 * float(counts) / (_MEAN_COUNT * 2 * math.sqrt(2))
        depth = 1
        while _GROWTH * 4**depth - 2 ** (5 * depth / 3) <= most:
            depth += 1
        weights = [round(_GROWTH**level * 2**20) for level in range(depth + 1)]
        shares = tuple(counts * Fraction(weight, sum(weights)) for weight in weights)
        return cls(shares, (cuts / depth,) * depth)


def explored(graph: AnyGraph, budgets: Budgets, source: EntropySource) -> list[RegionLevel]:
    """Count the edges of regions of the upper half of the matrix, from the whole to small ones.

    1. Every region of a depth is counted with discrete Laplace noise of rate epsilon_c.
    2. It is not cut if at least 4/5 of its pairs are edges by that count, if there are fewer edges
       than 4/5 n^2/4^h, or if no cut leaves parts of enough pairs.
    3. Otherwise it is cut in four (on the diagonal in three), by the exponential mechanism with
       epsilon_p among the cuts of `cuts_of`.

    Source: Chen, Fung, Yu, Desai, VLDB Journal 2014; see `der.py`.

    Guarantee: `budgets.epsilon`-DP, without `RegionLevel.edges`. Regions of one depth are disjoint:
    one pair is in one of them, moves its count by 1, and the scores of its cuts by `SCALE` at most;
    the choice of a cut thus has rate epsilon_p/(2 SCALE). Which regions there are follows from
    what came before. So mechanisms of epsilon_c and epsilon_p for each depth are composed.

    Args:
        graph: the private graph, undirected, without weights.
        budgets: of each depth.
        source: where the noise comes from.
    """
    n = graph.shape[0]
    least = _FULL * n**2 / 4**budgets.depth
    regions = np.array([[0, n, 0, n]], dtype=np.int64)
    edges = [np.arange(len(graph.rows))]
    levels = []
    for level, rate in enumerate(budgets.counts):
        areas = pairs_in(regions)
        counts = np.array([len(edges_of_region) for edges_of_region in edges], dtype=np.int64)
        counts += sample_discrete_laplace(rate, len(counts), source)
        leaf = (counts < least) | (counts >= _FULL * areas) | (level == budgets.depth)
        parts: list[IntMatrix] = []
        for index in np.flatnonzero(~leaf):
            edge_ends = graph.rows[edges[index]], graph.columns[edges[index]]
            cuts, scores = cuts_of(regions[index], *edge_ends)
            leaf[index] = not len(cuts)
            if len(cuts):
                chosen = exponential_choice(scores, budgets.cuts[level] / (2 * SCALE), source)
                parts.append(parts_of(regions[index], *cuts[chosen].tolist()))
        levels.append(RegionLevel(regions, areas, counts, leaf, tuple(edges)))
        if not parts:
            break
        edges = _divided(graph.rows, graph.columns, levels[-1], parts)
        regions = np.concatenate(parts)
    return levels


def pairs_in(regions: IntMatrix) -> IntVector:
    """Return the number of pairs i < j of each region."""
    counts: IntVector
    heights, widths = regions[:, 1] - regions[:, 0], regions[:, 3] - regions[:, 2]
    diagonal = regions[:, 0] == regions[:, 2]
    counts = np.where(diagonal, heights * (heights - 1) // 2, heights * widths)
    return counts


def place_in(region: IntVector, rows: IntegerVector, columns: IntegerVector) -> IntVector:
    """Return the numbers of pairs i < j within a region, in 0..area-1."""
    down, along = rows.astype(np.int64) - region[0], columns.astype(np.int64) - region[2]
    if region[0] == region[2]:
        return np.asarray(along * (along - 1) // 2 + down)
    return np.asarray(down * int(region[3] - region[2]) + along)


def parts_of(region: IntVector, row: int, column: int) -> IntMatrix:
    """Return the parts of a region that is cut before a row and a column, or at one vertex."""
    top, bottom, left, right = region.tolist()
    parts = [(top, row, left, column), (top, row, column, right), (row, bottom, column, right)]
    if top != left:
        parts.append((row, bottom, left, column))
    return np.array(parts, dtype=np.int64)


def cuts_of(
    region: IntVector, rows: IntegerVector, columns: IntegerVector
) -> tuple[IntMatrix, IntVector]:
    """Return the cuts of a region, and how much the densities of its parts would differ.

    At most 16 rows and 16 columns, evenly spaced; on the diagonal as many vertices. Every part must
    have at least a sixteenth of the pairs, A of them. With a part's count c and its a >= A pairs,
    its density is floor(c A SCALE/a), and the score is the largest density less the smallest.

    One pair changes one c by 1, its density by at most ceil(A SCALE/a) <= SCALE, and the largest
    and the smallest density by at most that in the same direction: the score by at most SCALE.

    Args:
        region: one row of `RegionLevel.regions`.
        rows: of its edges. Private.
        columns: likewise.

    Returns:
        Row and column of each cut, shape (cuts, 2), public; and their scores, private.
    """
    top, bottom, left, right = region.tolist()
    least = max(1, int(pairs_in(region[None])[0]) // _LEAST_PART)
    down = _lines(top, bottom)
    if top == left:
        cuts = np.stack([down, down], axis=1)
        counts = _below_diagonal(down, rows, columns)
        high, low = down - top, bottom - down
        areas = np.stack([high * (high - 1) // 2, high * low, low * (low - 1) // 2])
    else:
        along = _lines(left, right)
        cuts = np.stack(np.meshgrid(down, along, indexing="ij"), axis=-1).reshape(-1, 2)
        counts = _in_quarters(down, along, rows, columns)
        heights, widths = (down - top, bottom - down), (along - left, right - along)
        quarters = [np.outer(high, low).ravel() for high in heights for low in widths]
        areas = np.stack(quarters)
    allowed = (areas >= least).all(axis=0)
    densities = counts[:, allowed] * (least * SCALE) // areas[:, allowed]
    return cuts[allowed], densities.max(axis=0) - densities.min(axis=0)


def _below_diagonal(lines: IntVector, rows: IntegerVector, columns: IntegerVector) -> IntMatrix:
    """Count edges before, across and after each line of a region on the diagonal, (3, lines)."""
    before = np.searchsorted(np.sort(columns), lines, "left")
    after = len(rows) - np.searchsorted(np.sort(rows), lines, "left")
    return np.stack([before, len(rows) - before - after, after]).astype(np.int64)


def _in_quarters(
    down: IntVector, along: IntVector, rows: IntegerVector, columns: IntegerVector
) -> IntMatrix:
    """Count edges in the four parts of each cut, row by row, shape (4, cuts)."""
    cells = np.zeros((len(down) + 1, len(along) + 1), dtype=np.int64)
    np.add.at(
        cells, (np.searchsorted(down, rows, "right"), np.searchsorted(along, columns, "right")), 1
    )
    sums = cells.cumsum(axis=0).cumsum(axis=1)
    both, above, before = sums[:-1, :-1], sums[:-1, -1:], sums[-1:, :-1]
    below = len(rows) - above - before + both
    return np.stack([both, above - both, before - both, below]).reshape(4, -1)


def _lines(first: int, end: int) -> IntVector:
    """Return the numbers strictly between two numbers, at most 16 of them."""
    inside = end - first - 1
    spaced = np.linspace(first + 1, end - 1, min(_LINES, inside)).round()
    return np.asarray(np.unique(spaced).astype(np.int64))


def _divided(
    rows: IntegerVector,
    columns: IntegerVector,
    level: RegionLevel,
    parts: Sequence[IntMatrix],
) -> list[IntVector]:
    """Return the edges in the parts of the regions that are no leaves, in order of the parts."""
    edges = []
    for index, of_region in zip(np.flatnonzero(~level.leaf), parts, strict=True):
        edge_indices = level.edges[index]
        for top, bottom, left, right in of_region.tolist():
            inside = (rows[edge_indices] >= top) & (rows[edge_indices] < bottom)
            inside &= (columns[edge_indices] >= left) & (columns[edge_indices] < right)
            edges.append(edge_indices[inside])
    return edges
