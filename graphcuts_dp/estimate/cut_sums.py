"""What cuts add up of a sparse release, for many cuts at once: over parts, or over vertices."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector, IntVector
from graphcuts_dp.estimate.known_parts import CommonParts, PartedCuts
from graphcuts_dp.estimate.sparse_model import SparseModel

_BLOCK = 1 << 21  # numbers in a matrix of cuts and parts
_AT_ONCE = 16  # cuts whose truth vectors are bits of a number
_BITS = 8  # of them, where sums are by group, too

_Values = tuple[FloatVector, FloatVector]  # of rows and of columns


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Added:
    """Sums for some cuts, an entry or a row for each.

    Attributes:
        places: which of the list they are.
        degrees: of noisy degrees of S and of T, in weight.
        counts: vertices of S in each group of the model, and of T; shape (cuts, groups).
        factors: of the model's factors in S and T, by group, and of row factors in both.
        spread: of the spread of residual degrees in S and in T, by group.
        in_both: vertices that are in both sets, of one vertex set.
        loops: of the model's weights of vertices with themselves, in both.
        kept: weight of kept pairs, each once.
        kept_spread: their variance, likewise.
    """

    places: IntVector
    degrees: _Values
    counts: tuple[FloatMatrix, FloatMatrix]
    factors: tuple[FloatMatrix, FloatMatrix, FloatMatrix]
    spread: tuple[FloatMatrix, FloatMatrix]
    in_both: FloatVector
    loops: FloatVector
    kept: FloatVector
    kept_spread: FloatVector


class Adding(Protocol):
    """A list of cuts that is added up."""

    def blocks(self) -> Iterator[Added]:
        """Sums for all cuts of the list, some at a time."""


@final
@dataclass(frozen=True, eq=False)
class _Side:
    """Sums over the parts of one side; all of shape (parts,) or (parts, groups).

    Attributes:
        sizes: how many vertices.
        degrees: of noisy degrees, in weight.
        counts: of vertices, by the model's group.
        factors: of the model's factors, by group.
        spread: of the spread of residual degrees, by group.
    """

    sizes: FloatVector
    degrees: FloatVector
    counts: FloatMatrix
    factors: FloatMatrix
    spread: FloatMatrix

    @classmethod
    def of(
        cls,
        parts: CommonParts,
        degrees: FloatVector,
        codes: IntVector,
        factors: FloatVector,
        spread: FloatVector,
        groups: int,
    ) -> "_Side":
        count = len(parts.first)
        within = np.zeros((count, groups))
        within[np.arange(count), codes[parts.first]] = 1

        def added(values: FloatVector | None) -> FloatVector:
            return np.bincount(parts.of, values, minlength=count).astype(np.float64)

        by_group = (added(each)[:, None] * within for each in (None, factors, spread))
        return cls(added(None), added(degrees), *by_group)


@final
class Between:
    """Sums over pairs between parts, each pair once however it lies in a cut.

    Args:
        matrix: sums over the pairs that are listed with the row in part a, the column in part b.
        symmetric: whether pairs have no direction.
    """

    def __init__(self, matrix: FloatMatrix, symmetric: bool) -> None:
        self._once = matrix
        self._all = matrix + matrix.T if symmetric else matrix
        self._symmetric = symmetric

    def sums(self, S: FloatMatrix, T: FloatMatrix, both: FloatMatrix) -> FloatVector:
        """For each cut: pairs with ends in S and T, less those that both orders name."""
        found: FloatVector = ((S @ self._all) * T).sum(axis=1)
        if self._symmetric and both.any():
            found -= ((both @ self._once) * both).sum(axis=1)
        return found


@final
class PartSums:
    """Cuts between few parts: each takes products of small matrices.

    Args:
        model: of the release.
        degrees: noisy degrees of rows and columns, in weight.
        cuts: of a list.
    """

    def __init__(self, model: SparseModel, degrees: _Values, cuts: PartedCuts) -> None:
        self._cuts, self._hollow = cuts, model.layout.hollow
        sides = (
            (cuts.left, model.row_codes, model.row_factors, model.row_spread),
            (cuts.right, model.column_codes, model.column_factors, model.column_spread),
        )
        self._rows, self._columns = (
            _Side.of(parts, own, codes, factors, spread, groups)
            for (parts, codes, factors, spread), own, groups in zip(
                sides, degrees, model.blocks.shape, strict=True
            )
        )
        self._kept = Between(_pair_sums(model, cuts, model.weights), model.symmetric)
        self._spread = Between(_pair_sums(model, cuts, model.spread), model.symmetric)
        self._loops = np.zeros(len(cuts.left.first))
        if self._hollow:
            self._loops += np.bincount(cuts.left.of, model.loops, minlength=len(self._loops))

    def blocks(self) -> Iterator[Added]:
        """See `Adding.blocks`."""
        cuts, rows, columns = self._cuts, self._rows, self._columns
        step = max(1, _BLOCK // max(cuts.S.shape[1], cuts.T.shape[1]))
        for start in range(0, len(cuts.places), step):
            block = slice(start, start + step)
            S, T = cuts.S[block].astype(np.float64), cuts.T[block].astype(np.float64)
            both = S * T if self._hollow else np.zeros_like(S)
            yield Added(
                places=cuts.places[block],
                degrees=(S @ rows.degrees, T @ columns.degrees),
                counts=(S @ rows.counts, T @ columns.counts),
                factors=(S @ rows.factors, T @ columns.factors, both @ rows.factors),
                spread=(S @ rows.spread, T @ columns.spread),
                in_both=both @ rows.sizes,
                loops=both @ self._loops,
                kept=self._kept.sums(S, T, both),
                kept_spread=self._spread.sums(S, T, both),
            )


def _pair_sums(model: SparseModel, cuts: PartedCuts, values: FloatVector) -> FloatMatrix:
    shape = len(cuts.left.first), len(cuts.right.first)
    places = cuts.left.of[model.rows] * shape[1] + cuts.right.of[model.columns]
    sums = np.bincount(places, values, minlength=shape[0] * shape[1])
    return sums.astype(np.float64).reshape(shape)


@final
class MaskSums:
    """Any cuts, some at a time: each vertex and each kept pair is looked at once for all of these.

    The truth vectors of some cuts are bits of a number for each vertex. Adding up by this number,
    and then the numbers with a bit for each cut, costs about as much as one cut alone.

    Args:
        model: of the release.
        degrees: noisy degrees of rows and columns, in weight.
        places: which of a list the cuts are.
        masks: truth vectors of each, made when they are asked for.
    """

    def __init__(
        self,
        model: SparseModel,
        degrees: _Values,
        places: Sequence[int],
        masks: Iterator[tuple[BoolVector, BoolVector]],
    ) -> None:
        self._model, self._degrees = model, degrees
        self._places, self._masks = places, masks

    def blocks(self) -> Iterator[Added]:
        """See `Adding.blocks`."""
        for start in range(0, len(self._places), _AT_ONCE):
            places = np.array(self._places[start : start + _AT_ONCE])
            sets = [next(self._masks) for _ in places]
            yield self._added(places, [S for S, _ in sets], [T for _, T in sets])

    def _added(self, places: IntVector, S: list[BoolVector], T: list[BoolVector]) -> Added:
        model, count = self._model, len(places)
        groups = model.blocks.shape
        rows = self._by_group(
            S, model.row_codes, groups[0], model.row_factors, model.row_spread, self._degrees[0]
        )
        columns = self._by_group(
            T,
            model.column_codes,
            groups[1],
            model.column_factors,
            model.column_spread,
            self._degrees[1],
        )
        in_both = [np.zeros((count, groups[0])) for _ in range(3)]
        if model.layout.hollow:
            both = [np.logical_and(*each) for each in zip(S, T, strict=True)]
            if any(each.any() for each in both):
                in_both = self._by_group(
                    both, model.row_codes, groups[0], model.row_factors, model.loops
                )
        kept, kept_spread = self._kept(S, T)
        return Added(
            places=places,
            degrees=(rows[3].sum(axis=1), columns[3].sum(axis=1)),
            counts=(rows[0], columns[0]),
            factors=(rows[1], columns[1], in_both[1]),
            spread=(rows[2], columns[2]),
            in_both=in_both[0].sum(axis=1),
            loops=in_both[2].sum(axis=1),
            kept=kept,
            kept_spread=kept_spread,
        )

    @staticmethod
    def _by_group(
        masks: list[BoolVector], codes: IntVector, groups: int, *values: FloatVector
    ) -> list[FloatMatrix]:
        """Numbers of vertices and sums of values in each set, by group: shape (sets, groups)."""
        found: list[list[FloatMatrix]] = [[] for _ in range(len(values) + 1)]
        for start in range(0, len(masks), _BITS):
            some = masks[start : start + _BITS]
            bits = _numbers(some)
            size = 1 << len(some)
            for sums, each in zip(found, (None, *values), strict=True):
                table = np.bincount(codes * size + bits, each, minlength=groups * size)
                sums.append((table.reshape(groups, size) @ _decoded(len(some))).T)
        return [np.concatenate(each) for each in found]

    def _kept(self, S: list[BoolVector], T: list[BoolVector]) -> tuple[FloatVector, FloatVector]:
        model = self._model
        left, right = (_numbers(each).astype(np.uint16) for each in (S, T))
        crossing = left[model.rows] & right[model.columns]
        if model.symmetric:
            crossing |= right[model.rows] & left[model.columns]
        places = crossing.astype(np.int64)
        decoded = _decoded(len(S))
        kept, spread = (
            np.bincount(places, each, minlength=len(decoded)) @ decoded
            for each in (model.weights, model.spread)
        )
        return kept, spread


def _numbers(masks: Sequence[BoolVector]) -> IntVector:
    """A number for each vertex whose bits tell the sets that it is in."""
    found = np.zeros(len(masks[0]), dtype=np.int64)
    for bit, mask in enumerate(masks):
        found |= mask.astype(np.int64) << bit
    return found


def _decoded(count: int) -> npt.NDArray[np.float64]:
    """Which bits each number has, shape (2^count, count)."""
    numbers = np.arange(1 << count)[:, None]
    return ((numbers >> np.arange(count)) & 1).astype(np.float64)
