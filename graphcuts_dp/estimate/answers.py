"""The one estimate of every cut that a release has, with its noise: all that was bought counts.

Noisy sums over blocks of pairs, as answers use them: the total, and sums between groups.

Estimates between the unbiased answers and those of the synthetic graph: no guarantee.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatVector, IntVector
from graphcuts_dp.estimate.combination import (
    Combination,
    PairTypes,
    best_combination,
    cut_types,
)
from graphcuts_dp.estimate.measurement import Measurements, NoisyDegrees, NoisyGroups, NoisyTotal
from graphcuts_dp.estimate.noisy_matrix import NoisyMatrix
from graphcuts_dp.pairs.queries import pairs_of_cut
from graphcuts_dp.privacy.noise_laws import TwoSidedGeometric
from graphcuts_dp.privacy.noise_sums import NoiseSum, NoiseTerm

# What may hold for a list. Constants were chosen on the made graphs that
# scripts/bench/bench_answers.py calls "tuning".
# Errors of the synthetic graph's answers, in deviations of the unbiased ones: none, or one of
# these, no size likelier than another.
_RATIOS: FloatVector = np.concatenate([[0.0], np.geomspace(0.4, 100.0, 20)])
_EXACT = 0.5  # chance that they have none, before anything is seen
# Share of the list whose answers have none all the same, and the chance of each share: lists of
# one kind of cuts have one ratio, mixed ones have more.
_SHARES = {0.0: 0.97, 0.5: 0.01, 0.8: 0.01, 0.95: 0.01}


def shrunk_towards(
    synthetic: FloatVector, unbiased: FloatVector, deviations: FloatVector
) -> FloatVector:
    """Unbiased answers drawn towards those of the synthetic graph, as far as these seem right.

    Let the truth be synthetic + g s X with X normal and s the deviation of the unbiased answer r +
    synthetic; then r has variance s^2 (1 + g^2), and the best estimate of the truth is synthetic +
    r E[g^2/(1 + g^2) | all r]. The ratio g is one for the list, but for a share of the answers that
    have none; both are averaged over what the list leaves open (hierarchical Bayes): what one
    answer tells about the synthetic graph serves the others.

    It is an estimate without guarantee: biased, and computed as if the synthetic graph, which was
    fitted to the same noisy data, did not share their noise. Where it does (entries that show
    blocks), or where a list has few cuts, it can be worse than the unbiased answers.

    Args:
        synthetic: values of the synthetic graph, shape (queries,).
        unbiased: unbiased values.
        deviations: their standard deviations, >= 0.

    Source: Lindley, Smith 1972 (one law for a list); Mitchell, Beauchamp 1988 (exact answers).
    """
    known = deviations > 0
    found = unbiased.copy()
    residuals = (unbiased - synthetic)[known]
    if not len(residuals):
        return found
    squares = (residuals / deviations[known]) ** 2
    prior = np.full(len(_RATIOS), math.log((1 - _EXACT) / (len(_RATIOS) - 1)))
    prior[0] = math.log(_EXACT)
    logs = np.array(
        [
            prior + math.log(chance) + _likelihoods(squares, share)[0].sum(axis=0)
            for share, chance in _SHARES.items()
        ]
    )
    chances = np.exp(logs - logs.max())
    chances /= chances.sum()
    kept = np.zeros(len(residuals))
    for share, own in zip(_SHARES, chances, strict=True):
        kept += _likelihoods(squares, share)[1] @ own
    found[known] = synthetic[known] + kept * residuals
    return found


def _likelihoods(squares: FloatVector, share: float) -> tuple[FloatVector, FloatVector]:
    """For each answer and ratio: its log likelihood, and which part of its residual is kept.

    Args:
        squares: of the residuals, in units of the variances, shape (answers,).
        share: of answers whose synthetic value is exact.
    """
    spreads = 1 + _RATIOS**2
    logs = -squares[:, None] / (2 * spreads) - np.log(spreads) / 2
    kept = np.broadcast_to(1 - 1 / spreads, logs.shape)
    if not share:
        return logs, kept
    others = logs + math.log1p(-share)
    both = np.logaddexp(others, logs[:, :1] + math.log(share))
    return both, kept * np.exp(others - both)


_MOST_SPLIT = 12  # groups that a cut splits and that are kept apart; see `GroupRows.classes`

Classes = tuple[IntVector, IntVector]


@final
@dataclass(frozen=True)
class BlockSum:
    """A noisy sum over all pairs between two classes of vertices, or over all pairs.

    Attributes:
        value: unbiased, each pair counted once.
        noises: of its noise: so many independent ones of each law, with a coefficient.
        entries: the same sum of the noisy entries.
        rounding: by how much each pair may have been rounded down.
        between: the two classes, the smaller one first where rows and columns are the same
            vertices; None for all pairs.
    """

    value: float
    noises: tuple[NoiseTerm, ...]
    entries: float
    rounding: float
    between: tuple[int, int] | None = None

    @property
    def variance(self) -> float:
        """Of the noise."""
        return sum(count * c**2 * law.variance for law, c, count in self.noises)

    def coefficients(self, types: PairTypes, classes: IntVector) -> FloatVector:
        """Of each type of pairs: 1 for those that the sum adds up.

        Args:
            types: of the pairs.
            classes: the class of each cell of the types; of columns counted on after the rows'.
        """
        if self.between is None:
            return np.ones(len(types.counts))
        ends = np.sort([classes[types.first], classes[types.second]], axis=0)
        return np.asarray((ends == np.array(self.between)[:, None]).all(axis=0), dtype=np.float64)


@final
class GroupRows:
    """Measured sums between public groups, added up over classes of groups as a cut needs them.

    Args:
        measured: of the same groups, at least one; several looks are weighed by their inverse
            variances.
        noisy: the noisy entries of the same release.
    """

    def __init__(self, measured: Sequence[NoisyGroups], noisy: NoisyMatrix) -> None:
        self._measured = measured
        self._noisy = noisy
        weights = np.array([1 / each.law.variance for each in measured])
        self._weights: FloatVector = weights / weights.sum()

    def classes(self, S: BoolVector, T: BoolVector) -> Classes:
        """A class for each row and each column (one array twice for a plain graph).

        Groups that a cut does not split are in one class for each of the ways in which they can
        lie (in S, in T, in both, in none): permuting such groups changes nothing but their sizes.
        Each of the groups that it splits is a class of its own, as far as there are at most 12; if
        there are more, the smaller ones are one class. Fewer classes mean fewer numbers that are
        used apart, never a bias.

        Args:
            S: mask of rows.
            T: mask of columns.
        """
        first = self._measured[0]
        if first.symmetric:
            found = _classes(first.rows, S + 2 * T.astype(np.int64))
            return found, found
        rows = _classes(first.rows, S.astype(np.int64))
        columns = _classes(first.columns, T.astype(np.int64))
        return rows, columns + int(rows.max()) + 1

    def blocks(self, classes: Classes) -> list[BlockSum]:
        """The sums between every two classes.

        Args:
            classes: as `classes` gives them.
        """
        first = self._measured[0]
        of_groups = [
            _of_groups(codes, own)
            for codes, own in zip((first.rows, first.columns), classes, strict=True)
        ]
        ends = np.sort([of_groups[0][first.ends[0]], of_groups[1][first.ends[1]]], axis=0)
        found, block = np.unique(ends, axis=1, return_inverse=True)
        block = block.ravel()
        counts = np.bincount(block)
        entries = np.bincount(block, weights=self._entries)
        values = sum(
            w * np.bincount(block, weights=each.values)
            for w, each in zip(self._weights, self._measured, strict=True)
        )
        laws = [each.law for each in self._measured]
        rounding = max(each.unit for each in self._measured) if first.measured.weighted else 0.0
        return [
            BlockSum(
                value=float(value),
                noises=tuple(
                    NoiseTerm(law, w, int(count))
                    for law, w in zip(laws, self._weights.tolist(), strict=True)
                ),
                entries=float(own),
                rounding=rounding,
                between=(int(a), int(b)),
            )
            for a, b, count, value, own in zip(*found, counts, values, entries, strict=True)
        ]

    @cached_property
    def _entries(self) -> FloatVector:
        """Sums of the noisy entries over the cells, each pair once."""
        first = self._measured[0]
        left, right = (
            np.eye(count)[codes]
            for count, codes in zip(first.shape, (first.rows, first.columns), strict=True)
        )
        sums = (left.T @ self._noisy.blocks.times(right))[first.ends]
        if first.symmetric:
            sums[first.ends[0] == first.ends[1]] /= 2
        return np.asarray(sums)


def _classes(groups: IntVector, codes: IntVector) -> IntVector:
    """The class of each vertex, from its group and how it lies to the cut; numbered from 0."""
    count = int(groups.max()) + 1
    low, high = np.full(count, 4), np.full(count, -1)
    np.minimum.at(low, groups, codes)
    np.maximum.at(high, groups, codes)
    of_group = low.copy()  # 0 to 3: not split
    (split,) = np.nonzero(low < high)
    sizes = np.bincount(groups, minlength=count)[split]
    order = split[np.argsort(-sizes, kind="stable")]
    of_group[order] = 4 + np.minimum(np.arange(len(order)), _MOST_SPLIT - 1)
    found: IntVector = np.unique(of_group, return_inverse=True)[1].ravel()[groups]
    return found


def _of_groups(groups: IntVector, classes: IntVector) -> IntVector:
    """The class of each group, from those of its members."""
    found = np.zeros(int(groups.max()) + 1, dtype=np.int64)
    found[groups] = classes
    return found


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
