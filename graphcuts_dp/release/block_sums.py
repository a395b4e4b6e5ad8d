"""Noisy sums over blocks of pairs, as answers use them: the total, and sums between groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from graphcuts_dp.arrays import BoolVector, FloatVector, IntVector
from graphcuts_dp.measurements.combination import PairTypes
from graphcuts_dp.measurements.noisy_groups import NoisyGroups
from graphcuts_dp.measurements.noisy_matrix import NoisyMatrix
from graphcuts_dp.privacy.noise_sums import NoiseTerm

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
