"""The one estimate of every cut that a release has, with its noise: all that was bought counts."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatVector, IntVector
from graphcuts_dp.graph.queries import pairs_of_cut
from graphcuts_dp.measurements.base import Measurements
from graphcuts_dp.measurements.combination import (
    Combination,
    PairTypes,
    best_combination,
    cut_types,
)
from graphcuts_dp.measurements.noisy_groups import NoisyGroups
from graphcuts_dp.measurements.noisy_matrix import NoisyMatrix
from graphcuts_dp.measurements.noisy_sums import NoisyDegrees, NoisyTotal
from graphcuts_dp.privacy.noise_laws import TwoSidedGeometric
from graphcuts_dp.privacy.noise_sums import NoiseSum, NoiseTerm
from graphcuts_dp.release.block_sums import BlockSum, Classes, GroupRows

_ROUNDING = 1e-12  # of all that is added up: what floats may be off


@final
@dataclass(frozen=True)
class Estimate:
    """An unbiased estimate of a cut, and what is known of its error.

    Attributes:
        value: the estimate.
        noise: the law of its error, up to `slack`.
        slack: by how much rounding weights down to fine grids, and floats, may move it besides.
    """

    value: float
    noise: NoiseSum
    slack: float

    def radius(self, log_failures: float) -> float:
        """Half width of an interval; `log_failures` is ln of 1 over its failure probability."""
        return self.noise.radius(log_failures) + self.slack if self.noise.terms else 0.0


@final
class CutEstimator:
    """Estimates cuts by the best linear unbiased combination of all that was measured.

    That are entries, degrees, the total, and sums between public groups.

    Reads noisy values alone, so it is post-processing. See `measurements.combination`.

    Args:
        measurements: of a release.
        noisy: the noisy matrix among them.
    """

    def __init__(self, measurements: Measurements, noisy: NoisyMatrix) -> None:
        self._noisy = noisy
        self._degrees = [v for v in measurements.values if isinstance(v, NoisyDegrees)]
        self._totals = [v for v in measurements.values if isinstance(v, NoisyTotal)]
        groups = measurements.all_of(NoisyGroups)
        self._groups = GroupRows(groups, noisy) if groups else None

    def estimate(self, S: BoolVector, T: BoolVector) -> Estimate:
        """The estimate of a cut that has the least variance.

        Args:
            S: mask of rows.
            T: mask of columns.
        """
        return self._estimate(S, T, 1.0, 1.0)

    def estimate_for_all(self, S: BoolVector, T: BoolVector, log_failures: float) -> Estimate:
        """The estimate whose interval is the shortest that holds for all cuts at once.

        Each cut has so small a share of the failure probability that the tails of single noises
        count: a sum is then trusted less than its variance says, or not used. All combinations are
        unbiased, and which one is taken depends on public numbers alone.

        Args:
            S: mask of rows.
            T: mask of columns.
            log_failures: of this cut, its share for all cuts included.
        """
        # A Laplace tail e^-L is L/4 times as far away as that of a normal law, squared.
        wary = max(1.0, log_failures / 4)
        tried = [self._estimate(S, T, *distrust) for distrust in ((1, 1), (1, wary), (wary, wary))]
        tried.append(self._estimate(S, T, math.inf, math.inf))
        return min(tried, key=lambda estimate: estimate.radius(log_failures))

    def _estimate(
        self, S: BoolVector, T: BoolVector, of_degrees: float, of_sums: float
    ) -> Estimate:
        """An unbiased estimate.

        Args:
            S: mask of rows.
            T: mask of columns.
            of_degrees: variances of degrees are multiplied by this first; infinity for entries
                alone.
            of_sums: likewise those of sums over blocks.
        """
        noisy = self._noisy
        known = math.isfinite(of_degrees + of_sums)
        classes = self._groups.classes(S, T) if known and self._groups is not None else None
        types, joined, cells = cut_types(S, T, noisy.blocks.layout, classes=classes)
        if not pairs_of_cut(S, T, noisy.space):
            return Estimate(0.0, NoiseSum(()), 0.0)
        families = self._degrees if known else []
        blocks = self._blocks(classes) if known else []
        of_cells = _classes_of_cells(classes, cells, len(types.sizes))
        shapes = [block.coefficients(types, of_cells) for block in blocks]
        combination = best_combination(
            types,
            joined,
            entry=noisy.distribution.law.variance,
            degrees=[of_degrees * degrees.law.variance for degrees in families],
            sums=[
                (shape, of_sums * block.variance)
                for shape, block in zip(shapes, blocks, strict=True)
            ],
        )
        parts = [noisy.cut_value(S, T)]
        for degrees, k in zip(families, combination.degrees, strict=True):
            given = _sums_by_cell((degrees.rows, degrees.columns), cells, len(types.sizes))
            own = _sums_by_cell(self._vertex_sums, cells, len(types.sizes))
            parts += [*(k * (degrees.unit * given)), *(-k * own)]
        for block, k in zip(blocks, combination.sums.tolist(), strict=True):
            parts += [k * block.value, -k * block.entries]
        slack = _ROUNDING * math.fsum(map(abs, parts))
        if noisy.distribution.rounding:
            slack += self._rounding(types, combination, blocks, shapes)
        return Estimate(math.fsum(parts), self._noise(types, combination, blocks), slack)

    def _noise(
        self, types: PairTypes, combination: Combination, blocks: Sequence[BlockSum]
    ) -> NoiseSum:
        """The error of a combination: each pair of a type, each vertex of a cell has its own."""
        counts, sizes = types.counts.tolist(), types.sizes.tolist()
        law = self._noisy.distribution.law
        weights = zip(combination.entries.tolist(), counts, strict=True)
        terms = [NoiseTerm(law, weight, count) for weight, count in weights]
        # Nothing is added where entries alone are used.
        for degrees, ks in zip(self._degrees, combination.degrees.tolist(), strict=False):
            own = zip(ks, sizes, strict=True)
            terms += [NoiseTerm(degrees.law, k, count) for k, count in own]
        for block, k in zip(blocks, combination.sums.tolist(), strict=True):
            terms += [NoiseTerm(own, k * c, count) for own, c, count in block.noises]
        return NoiseSum.of(terms)

    def _rounding(
        self,
        types: PairTypes,
        combination: Combination,
        blocks: Sequence[BlockSum],
        shapes: Sequence[FloatVector],
    ) -> float:
        """What rounding weights down to fine grids may move a combination by.

        Each number that was measured rounds each pair by less than a step of its own grid.
        """
        counts = types.counts
        moved = [self._noisy.distribution.rounding * float(counts @ np.abs(combination.entries))]
        for degrees, k in zip(self._degrees, combination.degrees, strict=False):
            moved.append(degrees.unit * float(counts @ np.abs(types.ends @ k)))
        for block, shape, k in zip(blocks, shapes, combination.sums.tolist(), strict=True):
            moved.append(block.rounding * abs(k) * float(counts @ shape))
        return math.fsum(moved)

    @cached_property
    def _vertex_sums(self) -> tuple[FloatVector, FloatVector]:
        """Sums of the noisy entries at each vertex: of rows, of columns."""
        return self._noisy.vertex_sums()

    def _blocks(self, classes: Classes | None) -> list[BlockSum]:
        """Noisy sums over blocks of pairs: the total, and those between classes of groups."""
        between = [] if classes is None or self._groups is None else self._groups.blocks(classes)
        return [*self._wholes, *between]

    @cached_property
    def _wholes(self) -> list[BlockSum]:
        """The total, which counts each pair of a graph twice."""
        twice = 2 if self._noisy.symmetric else 1
        return [
            BlockSum(
                value=total.value / twice,
                noises=(
                    NoiseTerm(TwoSidedGeometric(float(total.rate), total.unit / twice), 1.0, 1),
                ),
                entries=math.fsum(self._vertex_sums[0]) / twice,
                rounding=total.unit / twice,
            )
            for total in self._totals
        ]


def _classes_of_cells(
    classes: Classes | None, cells: tuple[IntVector, IntVector], count: int
) -> IntVector:
    """The class of each cell; zeros where there are none."""
    found = np.zeros(count, dtype=np.int64)
    if classes is not None:
        for own, cell in zip(classes, cells, strict=True):
            found[cell] = own
    return found


def _sums_by_cell(
    values: tuple[FloatVector | IntVector, FloatVector | IntVector],
    cells: tuple[IntVector, IntVector],
    count: int,
) -> FloatVector:
    """Sums of the values of the vertices in each cell.

    Args:
        values: of rows and of columns; one array twice for a plain graph.
        cells: likewise, the cell of each.
        count: number of cells.
    """
    sides = (0, 1) if cells[1] is not cells[0] else (0,)
    found = [np.bincount(cells[i], weights=values[i], minlength=count) for i in sides]
    total: FloatVector = np.sum(found, axis=0, dtype=np.float64)
    return total


def distinct_cuts(cuts: Sequence[tuple[BoolVector, BoolVector]], *, symmetric: bool) -> int:
    """How many cuts a list names; in an undirected graph (S, T) and (T, S) are one.

    Args:
        cuts: masks of rows and of columns.
        symmetric: whether the graph is undirected and on one vertex set.
    """
    named = ((S.tobytes(), T.tobytes()) for S, T in cuts)
    return len({tuple(sorted(sides)) if symmetric else sides for sides in named})


def log_cuts(S: BoolVector, T: BoolVector, *, symmetric: bool) -> float:
    """Logarithm of 1 over the share of a failure probability for all cuts that one cut gets.

    Shares of all cuts add up to at most 1. Each shape of a cut gets the same share, and each cut of
    a shape the same part of it: of a graph with n vertices there are C(n+3, 3) shapes (|S only|,
    |T only|, |both|), and n!/(|S only|! |T only|! |both|! |neither|!) pairs (S, T) of each; (S, T)
    and (T, S) are one cut and use both of their shares. Of a bipartite or directed graph there are
    (rows + 1)(columns + 1) shapes (|S|, |T|), and C(rows, |S|) C(columns, |T|) cuts of each. So a
    cut of few vertices pays for the few cuts that there are of its kind, not for all 4^n.

    Args:
        S: mask of rows.
        T: mask of columns.
        symmetric: whether the graph is undirected and on one vertex set.
    """
    both = int((S & T).sum()) if symmetric else 0
    sizes = int(S.sum()), int(T.sum()), both
    return log_cuts_of_sizes(sizes, (len(S), len(T)), symmetric=symmetric)


def log_cuts_of_sizes(
    sizes: tuple[int, int, int], shape: tuple[int, int], *, symmetric: bool
) -> float:
    """`log_cuts` of sets of known sizes.

    Args:
        sizes: of S, of T, and of both together; the last does not matter if not symmetric.
        shape: numbers of rows and columns.
        symmetric: whether the graph is undirected and on one vertex set.
    """
    (in_s, in_t, both), (rows, columns) = sizes, shape
    if not symmetric:
        shapes = math.log(rows + 1) + math.log(columns + 1)
        return shapes + _log_ways(in_s, rows - in_s) + _log_ways(in_t, columns - in_t)
    parts = in_s - both, in_t - both, both, rows - in_s - in_t + both
    found = math.log(math.comb(rows + 3, 3)) + _log_ways(*parts)
    return found - math.log(2) if parts[0] or parts[1] else found


def _log_ways(*sizes: int) -> float:
    """Logarithm of the number of ways to put vertices into sets of these sizes."""
    return math.lgamma(sum(sizes) + 1) - math.fsum(math.lgamma(size + 1) for size in sizes)
