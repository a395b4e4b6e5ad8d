"""The noisy matrix: all that a release knows of the private graph.

`NOISES` is what `noise=` of a release can name.
"""

import bisect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatVector
from graphcuts_dp.confidence import DEFAULT_CONFIDENCE
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.base import PairMeasurement
from graphcuts_dp.estimate.blocks import Blocks, RowBlock
from graphcuts_dp.privacy.distributions import (
    BinaryResponse,
    LaplaceNoise,
    NoiseDistribution,
    fine_grid,
)
from graphcuts_dp.privacy.guarantee import LARGEST_EPSILON, SMALLEST_EPSILON, exact_epsilon
from graphcuts_dp.privacy.staircase import StaircaseNoise
from graphcuts_dp.queries.linear import pairs_of_cut
from graphcuts_dp.schema.layout import Layout
from graphcuts_dp.schema.vertices import Arcs, Space, VertexSet


@final
@dataclass(frozen=True, eq=False)
class NoisyMatrix(PairMeasurement):
    """Randomised responses for all vertex pairs, with the distribution that made them.

    Attributes:
        blocks: released integers (bits for binary noise, else grid steps) with their distribution,
            in blocks of rows; symmetric with zero diagonal, or (n_left, n_right), or those of arcs
            with zero diagonal.
        space: what the pairs are of, public: one vertex set, two, or `Arcs`.
    """

    blocks: Blocks
    space: Space

    name = "entries"

    @property
    def pair_noise(self) -> NoiseDistribution:
        """See `PairMeasurement.pair_noise`."""
        return self.distribution

    @property
    def distribution(self) -> NoiseDistribution:
        """Turns released integers into unbiased estimates."""
        if self.blocks.distribution is None:
            raise ValueError("a noisy matrix is made by a distribution of noise")
        return self.blocks.distribution

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.blocks.shape

    @property
    def symmetric(self) -> bool:
        """Whether this is the noisy adjacency matrix of an undirected graph."""
        return isinstance(self.space, VertexSet)

    @property
    def directed(self) -> bool:
        """Whether it is that of a directed graph."""
        return isinstance(self.space, Arcs)

    @property
    def steps(self) -> npt.NDArray[np.integer]:
        """All released integers, dense: for small matrices and tests."""
        return np.concatenate(self.blocks.map(RowBlock.steps))

    def estimate(self, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
        """Z with E[Z] = A off the diagonal, zero on it; dense, for small matrices."""
        return self.blocks.estimate(dtype)

    def cut_value(self, S: BoolVector, T: BoolVector) -> float:
        """Estimate of a cut. The sum of the released integers is exact.

        Args:
            S: mask of rows.
            T: mask of columns.
        """
        total = self._sum(S, T)
        if self.symmetric:
            both = S & T
            # Edges inside S and T lie twice in the block; the diagonal is zero.
            total -= self._sum(both, both) // 2
        pairs = pairs_of_cut(S, T, self.space)
        return (total - pairs * self.distribution.offset) * self.distribution.unit

    def _sum(self, S: BoolVector, T: BoolVector) -> int:
        return sum(self.blocks.map(_block_sum, S, T))

    def vertex_sums(self) -> tuple[FloatVector, ...]:
        """Estimates of the sums of the rows, and of the columns unless symmetric."""
        layout, distribution = self.blocks.layout, self.distribution
        rows, columns = (side - layout.hollow for side in layout.shape)  # pairs of a vertex
        found = self.blocks.map(_block_vertex_sums)
        first = np.concatenate([sums for sums, _ in found]) - columns * distribution.offset
        first *= distribution.unit
        if self.symmetric:
            return (first,)
        second = np.sum([sums for _, sums in found], axis=0) - rows * distribution.offset
        return first, second * distribution.unit

    def parts(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Plain values for receipts, and an array: bits of a graph take n^2/16 bytes."""
        distribution = self.distribution
        fields = {
            "noise": distribution.name,
            "epsilon": [distribution.epsilon.numerator, distribution.epsilon.denominator],
            "max_weight": distribution.max_weight,
            "offset": distribution.offset,
            "unit": distribution.unit,
            "standard_deviation": distribution.standard_deviation,
            "note": "estimate of an entry = (released integer - offset) * unit",
        }
        if distribution.bits:
            return fields, {"values": self._packed()}
        return fields, {"values": np.concatenate(self.blocks.map(_pairs))}

    def _packed(self) -> npt.NDArray[np.uint8]:
        """All bits, one for each pair in row order, eight a byte; unpacked a few blocks at once."""
        whole: list[npt.NDArray[np.uint8]] = []
        rest = np.empty(0, dtype=np.uint8)
        for pairs in self.blocks.results(_pairs):
            bits = np.concatenate([rest, pairs.astype(np.uint8)])
            end = len(bits) // 8 * 8
            whole.append(np.packbits(bits[:end]))
            rest = bits[end:]
        return np.concatenate([*whole, np.packbits(rest)])

    @classmethod
    def from_parts(cls, fields: Mapping[str, Any], arrays: Mapping[str, Any], space: Space) -> Self:
        """Read what `parts` gave.

        Raises:
            GraphCutsError, LookupError, TypeError, ValueError, ArithmeticError: it is something
                else.
        """
        distribution = noise_distribution(
            fields["noise"], epsilon=Fraction(*fields["epsilon"]), max_weight=fields["max_weight"]
        )
        if type(distribution) is LaplaceNoise:  # finer steps were in use once
            steps = LaplaceNoise(
                distribution.epsilon,
                distribution.max_weight,
                math.frexp(float(fields["unit"]))[1] - 1,
            )
            if steps.unit != fields["unit"]:
                raise ValueError("a step is a power of two")
            distribution = steps
        return cls(_unpack(arrays["values"], distribution, space), space)


def _pairs(block: RowBlock) -> npt.NDArray[Any]:
    return block.layout.fold(block.steps(), block.start)


def _block_sum(block: RowBlock, S: BoolVector, T: BoolVector) -> int:
    """Sum of the released integers of a block, exactly."""
    rows = block.data[S[block.start : block.stop]]
    if block.distribution is not None and block.distribution.bits:
        return int(np.bitwise_count(rows & np.packbits(T)).sum(dtype=np.int64))
    if rows.dtype.itemsize < 8:
        return int(rows.sum(axis=0, dtype=np.int64)[T].sum())
    # Two halves: a sum of 64-bit integers could overflow.
    high, low = rows >> 32, rows & 0xFFFFFFFF
    return (int(high.sum(axis=0)[T].sum()) << 32) + int(low.sum(axis=0)[T].sum())


def _block_vertex_sums(block: RowBlock) -> tuple[FloatVector, FloatVector]:
    """Sums of the released integers of the rows and of the columns of a block.

    In two halves, which integers add up exactly; each result is a float, rounded twice.
    """
    steps = block.steps()
    if steps.dtype.itemsize < 8:
        return steps.sum(axis=1, dtype=np.int64) + 0.0, steps.sum(axis=0, dtype=np.int64) + 0.0
    high, low = steps >> 32, steps & 0xFFFFFFFF
    sums = [high.sum(axis=axis) * 2.0**32 + low.sum(axis=axis) for axis in (1, 0)]
    return sums[0], sums[1]


def _unpack(values: npt.NDArray[Any], distribution: NoiseDistribution, space: Space) -> Blocks:
    layout = Layout.of(space)
    pairs = layout.pairs_before(layout.shape[0])
    length = -(-pairs // 8) if distribution.bits else pairs
    if values.shape != (length,) or values.dtype.kind not in "iu":
        raise ValueError("there is another number of entries")
    if distribution.bits and values.dtype != np.uint8:
        raise ValueError("these are other numbers than bits")

    bounds = layout.bounds()

    def part(index: int) -> npt.NDArray[Any]:
        first, end = (layout.pairs_before(row) for row in bounds[index])
        if not distribution.bits:
            return values[first:end]
        bits = np.unpackbits(values[first // 8 : -(-end // 8)])
        return bits[first % 8 :][: end - first]

    return Blocks.from_pairs(distribution, layout, part)


_FINEST_OPEN = -22  # of weights without a cap, of which the largest, 2^40, has 2^62 steps then
_LEAST_CAP = 1e-300  # below, floats lose digits of its steps
_LARGEST_SCALE = 2**44  # of the noise, in steps: 64-bit integers hold it, and sums of it


def noise_distribution(
    name: str, *, epsilon: float | Fraction, max_weight: float | None = None
) -> NoiseDistribution:
    """The distribution of a name, as `NOISES` lists them.

    Args:
        name: one of `NOISES`.
        epsilon: privacy parameter, in [1e-6, 50].
        max_weight: public largest weight; None if neighbours differ by at most 1 in one weight.

    Raises:
        ParameterError: an unknown name, epsilon out of range, a cap that is not positive and
            finite, a fractional cap with discrete-laplace, none with staircase, or noise too large
            for 64 bits.
    """
    exact = exact_epsilon(epsilon)
    if max_weight is not None and not (math.isfinite(max_weight) and max_weight > _LEAST_CAP):
        raise ParameterError("max_weight must be a positive, finite number, of at least 1e-300")
    if (max_weight or 1.0) / exact > _LARGEST_SCALE:
        raise ParameterError(
            "the maximum weight is too large for this epsilon; rescale the weights"
        )
    return _distribution(name, exact, max_weight)


@lru_cache(maxsize=64)  # distributions keep what they have computed of themselves
def _distribution(name: str, exact: Fraction, max_weight: float | None) -> NoiseDistribution:
    if name not in NOISES:
        raise ParameterError(f"unknown noise {name!r}; choose one of {', '.join(NOISES)}")
    return NOISES[name](exact, max_weight)


def _binary(epsilon: Fraction, max_weight: float | None) -> NoiseDistribution:
    if max_weight not in (None, 1.0):
        raise ParameterError("binary noise is for graphs without weights: use laplace noise")
    return BinaryResponse(epsilon, 1.0)


def laplace_grid(epsilon: Fraction, max_weight: float | None) -> LaplaceNoise:
    """Return Laplace noise on a grid that is fine beside it: "laplace"."""
    scale = Fraction(max_weight or 1.0) / epsilon
    step = fine_grid(scale)
    if max_weight is None:
        step = max(step, _FINEST_OPEN)
    return LaplaceNoise(epsilon, max_weight, step)


def _discrete_laplace(epsilon: Fraction, max_weight: float | None) -> NoiseDistribution:
    if max_weight is not None and not float(max_weight).is_integer():
        raise ParameterError(
            "discrete-laplace noise needs a whole-number maximum weight: use laplace noise"
        )
    return LaplaceNoise(epsilon, max_weight)


def _staircase(epsilon: Fraction, max_weight: float | None) -> NoiseDistribution:
    if max_weight is None:
        raise ParameterError(
            "staircase noise needs a public maximum weight: give max_weight, or use laplace noise"
        )
    return StaircaseNoise.for_max_weight(epsilon, max_weight)


# The table of noises: what `noise=` of a release can name. Each is made from epsilon and the cap.
NOISES: Mapping[str, Callable[[Fraction, float | None], NoiseDistribution]] = {
    "binary": _binary,
    "laplace": laplace_grid,
    "discrete-laplace": _discrete_laplace,
    "staircase": _staircase,
}
_WORTH_CHANGING = 0.9  # of Laplace noise's deviation: a default changes for a gain of a tenth


def best_capped_noise(epsilon: float | Fraction, max_weight: float) -> str:
    """Return the name of the better noise for weights with a cap, from public numbers alone.

    "staircase" where its standard deviation is lower than that of "laplace" by a tenth or more,
    which begins at epsilon = 2.25, whatever the cap is; else "laplace".

    Args:
        epsilon: of the entries, in [1e-6, 50].
        max_weight: public largest weight.

    Raises:
        ParameterError: as `noise_distribution`.
    """
    laplace, staircase = (
        noise_distribution(name, epsilon=epsilon, max_weight=max_weight).standard_deviation
        for name in ("laplace", "staircase")
    )
    return "staircase" if staircase <= _WORTH_CHANGING * laplace else "laplace"


LARGEST_ENTRY = 2**31  # in steps, so that 2^31 of them and their noise fit into 64 bits


def sums_grid(distribution: NoiseDistribution, *, without_cap: bool = False) -> LaplaceNoise:
    """Return the grid that weights are rounded down to before they are added.

    Args:
        distribution: of the entries of the same release.
        without_cap: whether weights may have no cap.

    Raises:
        ParameterError: weights without a cap, or with one so large that sums could overflow.
    """
    cap = distribution.max_weight
    if cap is None and not without_cap:
        raise ParameterError(
            "sums of weights have no bounded sensitivity without a public maximum weight: give "
            "max_weight, or choose mechanism='randomized-response'"
        )
    if isinstance(distribution, LaplaceNoise):
        grid = distribution
    elif isinstance(distribution, BinaryResponse):
        grid = LaplaceNoise(distribution.epsilon, cap)
    else:
        grid = laplace_grid(distribution.epsilon, cap)
    if cap is not None and grid.sensitivity_steps > LARGEST_ENTRY:
        raise ParameterError(
            "the maximum weight is too large for sums of weights: rescale the weights, or choose "
            "mechanism='randomized-response'"
        )
    return grid


# Expected cut norm of a symmetric matrix of independent entries of deviation s, over s n^1.5. For
# n = 60..2000 and the first three of `NOISES` the largest cuts found have 0.61-0.66 and the proven
# upper bounds 0.68-0.75 (tests/theorems); in between, to err on the side of a warning.
_WORST_CUT = 0.68


def noise_cut_bound(
    distribution: NoiseDistribution,
    shape: tuple[int, int],
    *,
    symmetric: bool,
    confidence: float = DEFAULT_CONFIDENCE,
) -> float:
    """A number that ||z - A||_C (matrix form) does not pass, with a given probability.

    With E = z - A and signs s, t = 2 * indicator - 1,
    4 1_S^T E 1_T = 1^T E 1 + s^T E 1 + 1^T E t + s^T E t. Each of the terms, for all signs at once,
    is bounded by Chernoff's method and a union over the signs: none, 2^rows, 2^columns and
    2^(rows + columns) choices. For a symmetric E the pairs above its diagonal are independent, with
    coefficients of at most 2 in modulus, and the two middle terms are one.

    About 1.42 n^1.5 standard deviations for n vertices; the true norm is about half of that.

    Args:
        distribution: of the noise.
        shape: rows and columns.
        symmetric: whether the matrix is an adjacency matrix.
        confidence: in (0, 1).

    Source: GRU12 Lemma 6.1 is the same argument for one family of cuts; the split into signs saves
    a factor of 1.7 over it.
    """
    rows, columns = shape
    terms = 3 if symmetric else 4
    failures = math.log(terms) - math.log1p(-confidence)
    coefficient, pairs = (2, rows * (rows - 1) // 2) if symmetric else (1, rows * columns)

    def largest(signs: int) -> float:
        return coefficient * distribution.radius(pairs, log_failures=failures + signs * math.log(2))

    return (largest(0) + largest(rows) + largest(columns) + largest(rows + columns)) / 4


def expected_worst_cut(distribution: NoiseDistribution, shape: tuple[int, int]) -> float:
    """Expected max over S, T of |Z(S,T) - A(S,T)| before any fit, from public numbers alone.

    A measured constant times the deviation of one entry, not a proven bound.
    """
    rows, columns = shape
    mean_root = (math.sqrt(rows) + math.sqrt(columns)) / 2
    return _WORST_CUT * distribution.standard_deviation * math.sqrt(rows * columns) * mean_root


def expected_error_note(distribution: NoiseDistribution, shape: tuple[int, int]) -> str:
    """What error to expect, for the user, before anything is spent.

    Args:
        distribution: of the entries.
        shape: rows and columns.
    """
    error = expected_worst_cut(distribution, shape)
    return (
        f"Expect a worst cut error of up to about {error:,.0f} before the fit (edges inside both "
        "sets counted twice); a graph of less total weight drowns in it."
    )


def largest_cut(shape: tuple[int, int], *, symmetric: bool, cap: float) -> float:
    """The most that can pass between a set of vertices and the others in a graph of this size."""
    rows, columns = shape
    return cap * ((rows // 2) * (rows - rows // 2) if symmetric else rows * columns)


def accuracy_warning(
    distribution: NoiseDistribution, left: VertexSet, right: VertexSet, *, steps: int = 1
) -> str | None:
    """A sentence when the noise drowns any graph of this size, with the epsilon that would do.

    From the vertex sets, the cap and epsilon alone: nothing private is read, nothing is spent.

    Args:
        distribution: of the noise of a pair.
        left: public vertex set of the rows.
        right: of the columns.
        steps: how many pairs share the epsilon that is asked for, see `PrivacyUnit.group_size`.

    Returns:
        None when a graph of this size can hold cuts above the expected worst error.
    """
    if distribution.max_weight is None:
        return None  # weights without a bound can be larger than any noise
    shape = len(left), len(right)
    holds = largest_cut(shape, symmetric=left is right, cap=distribution.max_weight)
    error = expected_worst_cut(distribution, shape)
    if error <= holds:
        return None
    start = (
        f"worthless at this size: the expected worst cut error is {error:,.0f}, "
        f"but no cut of {' x '.join(f'{n:,}' for n in sorted(set(shape)))} vertices can hold more "
        f"than {holds:,.0f}"
    )
    enough = _least_epsilon(distribution, shape, holds)
    if enough is None or enough * steps > LARGEST_EPSILON:
        return f"{start}; no epsilon in range helps at this size"
    return f"{start}; epsilon = {enough * steps:.3g} or more would do"


def _least_epsilon(
    distribution: NoiseDistribution, shape: tuple[int, int], holds: float
) -> float | None:
    """Smallest epsilon on a grid of 1 % at which the expected error is what a cut can hold."""
    grid: FloatVector = np.geomspace(SMALLEST_EPSILON, LARGEST_EPSILON, 1800)
    candidates = grid[grid > float(distribution.epsilon)]

    def gain(epsilon: float) -> float:
        trial = noise_distribution(
            distribution.name, epsilon=float(epsilon), max_weight=distribution.max_weight
        )
        return -expected_worst_cut(trial, shape)

    first = bisect.bisect_left(candidates, -holds, key=gain)  # errors fall as epsilon grows
    if first == len(candidates):
        return None
    epsilon = candidates[first]
    rounded = float(f"{epsilon:.2g}")
    return rounded if rounded >= epsilon else float(f"{epsilon * 1.05:.2g}")
