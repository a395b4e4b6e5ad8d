"""What every fit solves and returns.

Given a noisy matrix z, find x in the box [0, cap] that is near z in a cut norm:
GRU12 Lemma 6.2 with the cut norm, GRU12 section 6.2 with the normalised one. Because the true
matrix A lies in the box, a minimiser has ||x - z|| <= ||A - z||, hence ||x - A|| <= 2 ||A - z||;
a point whose value is at most c times the minimum has ||x - A|| <= (1 + c) ||A - z||.
Fits read z alone, so they are post-processing: they cost no privacy.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatVector, RealMatrix
from graphcuts_dp.estimate.blocks import Blocks, RowBlock
from graphcuts_dp.estimate.measurement import CellSums, Degrees, Measurement, Total
from graphcuts_dp.resources import Progress, silent

_PIECE = 1 << 16  # entries worked on at a time: they stay in the cache

Stopped = Literal["gap", "settled", "rounds", "time"]


@final
@dataclass(frozen=True, eq=False)
class FitProblem:
    """A noisy matrix and the box that the synthetic one must lie in.

    Attributes:
        blocks: z, in blocks of rows: shape (n, n), symmetric with zero diagonal, or
            (n_left, n_right), or (n, n) with zero diagonal for a directed graph.
        cap: upper side of the box; infinity when weights have no public bound.
        degrees: noisy degrees besides, when the budget was split; twice where early ones chose how.
        total: a noisy sum of all of z's true entries besides, likewise.
        groups: noisy sums between public groups besides, likewise; all of the same groups.
    """

    blocks: Blocks
    cap: float = 1.0
    degrees: tuple[Measurement[Degrees], ...] = ()
    total: Measurement[Total] | None = None
    groups: tuple[Measurement[CellSums], ...] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.blocks.shape

    @property
    def symmetric(self) -> bool:
        """Whether z is an adjacency matrix (else a biadjacency matrix)."""
        return self.blocks.symmetric

    @property
    def hollow(self) -> bool:
        """Whether z and x have a zero diagonal: of one vertex set, with or without directions."""
        return self.blocks.hollow

    @cached_property
    def noisy(self) -> RealMatrix:
        """The noisy matrix in full, float64: for fits that are meant for small ones."""
        return self.blocks.estimate()

    def project(self, matrix: RealMatrix) -> RealMatrix:
        """Nearest matrix in the box, in place. A symmetric matrix stays so to the last bit."""
        np.clip(matrix, 0.0, self.cap, out=matrix)
        if self.hollow:
            np.fill_diagonal(matrix, 0.0)
        return matrix

    def dual_value(self, direction: RealMatrix) -> float:
        """Least <direction, x - z> over the box: a lower bound for any norm of x - z whose dual
        unit ball holds `direction`.

        Args:
            direction: same shape and symmetry as z.
        """
        negative = float(np.minimum(direction, 0).sum(dtype=np.float64))
        box = self.cap * negative if negative else 0.0
        return box - float(np.vdot(direction.astype(np.float64), self.noisy))


def gap_between(value: float, lower: float) -> float:
    """How far above a lower bound a value is, as a fraction of the value; in [0, 1]."""
    return max(0.0, 1.0 - lower / value) if value > 0 else 0.0


@final
@dataclass(frozen=True, eq=False)
class Fit:
    """A point of the box and how good it is.

    Attributes:
        matrix: x, same shape and symmetry as z, every entry in [0, cap].
        method: name of the fit.
        objective: which norm of x - z was minimised, or "relative entropy".
        value: that norm at x, as the method found it; None if it is no norm.
        lower: no point of the box has a smaller value, up to rounding; never below 0. None
            likewise.
        rounds: steps taken.
        stopped: why it ended: "gap" (within the tolerance), "settled" (stood still), "rounds" or
            "time".
        near_noise: how many directions of z stand out of its noise by so little that x may have
            merged the communities behind them.
        directions: how many directions of z beyond its noise x was held to; None where that tells
            nothing of communities.
    """

    matrix: RealMatrix
    method: str
    objective: str
    value: float | None
    lower: float | None
    rounds: int
    stopped: Stopped
    near_noise: int = 0
    directions: int | None = None

    @property
    def gap(self) -> float | None:
        """How far above the minimum the value may be, as a fraction of the value; in [0, 1]."""
        if self.value is None or self.lower is None:
            return None
        return gap_between(self.value, self.lower)


@final
@dataclass(frozen=True, kw_only=True)
class FitSummary:
    """How the synthetic graph was fitted; plain values, all from noisy data.

    Attributes:
        method: "maximum-entropy", "cutting-plane", "first-order" or "spectral".
        objective: the norm of x - z that was minimised, or "relative entropy".
        value: that norm, before the weights were rounded; None for relative entropy, as are
            `lower`, `gap` and `tolerance`.
        lower: no point of the box does better.
        gap: 1 - lower/value.
        rounds: steps taken.
        stopped: "gap", "settled", "rounds" or "time" (also when the time was over before a mixture
            was proven to be within the bound that it was to keep).
        tolerance: gap at which the method was to stop.
        time_limit: seconds that it, mixtures and certificates were given together, or None.
        unweighted: whether the weights were then rounded to 0 and 1 by coin flips.
        mixed: share of the first-order fit that was mixed in to keep a bound; nearly always 0.
        near_noise: how many directions of z stand out of its noise by less than half of what the
            least visible ones have; the synthetic graph may have merged the communities behind
            them.
        directions: how many directions of z beyond its noise the graph was held to; None where that
            tells nothing: entries that tell edges, no noisy degrees, public groups, fewer than 50
            vertices of a side, other fits.
    """

    method: str
    objective: str
    value: float | None
    lower: float | None
    gap: float | None
    rounds: int
    stopped: str
    tolerance: float | None
    time_limit: float | None
    unweighted: bool
    mixed: float = 0.0
    near_noise: int = 0
    directions: int | None = None

    @property
    def warning(self) -> str | None:
        """What a reader of the synthetic graph should know of it; None if there is nothing."""
        if not self.near_noise and self.directions == 0:
            return (
                "no communities show in the synthetic graph: sums between groups follow from its "
                "degrees alone; ask answer for them, or raise epsilon"
            )
        if not self.near_noise:
            return None
        some = "a direction" if self.near_noise == 1 else f"{self.near_noise} directions"
        return (
            f"communities may be merged in the synthetic graph: {some} of the noisy matrix barely "
            "passed its noise; ask answer for sums between groups, or raise epsilon"
        )

    @classmethod
    def of(cls, fit: Fit, method: "FitMethod", *, unweighted: bool, mixed: float = 0.0) -> Self:
        """Summary of a fit by a method."""
        said = {key: value for key, value in vars(fit).items() if key != "matrix"}
        return cls(
            gap=fit.gap,
            tolerance=method.tolerance,
            time_limit=method.time_limit,
            unweighted=unweighted,
            mixed=mixed,
            **said,
        )


class FitMethod(Protocol):
    """An algorithm that solves a `FitProblem`, to a gap or within a time.

    A fit of your own, which `release_graph(graph, epsilon=1.0, fit=Clipped())` takes::

        @dataclass(frozen=True)
        class Clipped:
            tolerance: float | None = None
            time_limit: float | None = None
            uses_degrees: bool = False
            needs_cap: bool = True

            def __call__(self, problem, *, progress=silent):
                x = problem.project(problem.noisy.copy())
                return Fit(
                    matrix=x,
                    method="clipped",
                    objective="distance of each entry",
                    value=None,
                    lower=None,
                    rounds=1,
                    stopped="settled",
                )

    It reads noisy data alone, so it needs no audit and no budget. One that minimises no norm
    (`value` is None) is mixed with the first-order fit where its certificate exceeds
    `noise_cut_bound`.
    """

    @property
    def tolerance(self) -> float | None:
        """Stop when the gap is at most this; None if the method has no gap."""

    @property
    def time_limit(self) -> float | None:
        """Seconds after which the best point so far is returned, and after which a release looks
        for no better certificate and no mixture; None for no limit.
        """

    @property
    def uses_degrees(self) -> bool:
        """Whether noisy degrees and a noisy total help it: a budget may then be split."""

    @property
    def needs_cap(self) -> bool:
        """Whether it refuses weights without a public cap."""

    def __call__(self, problem: FitProblem, *, progress: Progress = silent) -> Fit:
        """Minimise the norm of x - z over the box."""


def degree_matched_start(problem: FitProblem) -> RealMatrix:
    """A start x = clip(z + a_i + b_j) whose row and column sums are near those of z; dense."""
    rows, columns = degree_matched_shifts(problem)
    blocks = problem.blocks
    return blocks.gather(
        shifted, rows, columns, problem.cap, np.float64, width=problem.shape[1], dtype=np.float64
    )


def degree_matched_shifts(problem: FitProblem, sweeps: int = 15) -> tuple[FloatVector, FloatVector]:
    """Vectors a, b such that clip(z + a_i + b_j) has nearly the row and column sums of z.

    Clipping z alone moves cuts by order n^2; shifting rows and columns takes most of that back.
    """
    row_target, column_target, *_ = _all_margins(problem, None, None)
    rows, columns = np.zeros(problem.shape[0]), np.zeros(problem.shape[1])
    for _ in range(sweeps):
        by_row, by_column, free_rows, free_columns = _all_margins(problem, rows, columns)
        rows = rows + 0.7 * _share(row_target - by_row, free_rows)
        if problem.symmetric:
            columns = rows  # the very same numbers: x stays symmetric to the last bit
        else:
            columns = columns + 0.7 * _share(column_target - by_column, free_columns)
    return rows, columns


def shifted(
    block: RowBlock,
    rows: FloatVector,
    columns: FloatVector,
    cap: float,
    dtype: npt.DTypeLike = np.float32,
) -> RealMatrix:
    """clip(z + a_i + b_j) for the rows of a block, zero on the diagonal.

    Args:
        block: rows of z.
        rows: a, for all rows of the matrix.
        columns: b.
        cap: upper side of the box.
        dtype: of the result.
    """
    x = block.estimate(dtype)
    x += np.add(rows[block.start : block.stop, None], columns, dtype=dtype)
    np.maximum(x, x.dtype.type(0), out=x)
    np.minimum(x, x.dtype.type(cap), out=x)
    return block.clear_diagonal(x)


def _all_margins(
    problem: FitProblem, rows: FloatVector | None, columns: FloatVector | None
) -> tuple[FloatVector, FloatVector, FloatVector, FloatVector]:
    """Row and column sums, and how many entries lie inside the box in each row and column."""
    parts = problem.blocks.map(_margins, rows, columns, problem.cap)
    by_row, by_column, free_rows, free_columns = zip(*parts, strict=True)
    return (
        np.concatenate(by_row),
        np.sum(by_column, axis=0),
        np.concatenate(free_rows),
        np.sum(free_columns, axis=0),
    )


def _margins(
    block: RowBlock, rows: FloatVector | None, columns: FloatVector | None, cap: float
) -> tuple[FloatVector, FloatVector, FloatVector, FloatVector]:
    """Sums and free counts of a block of z, or of clip(z + a_i + b_j) if there are shifts."""
    by_row, free_rows = np.zeros(block.shape[0]), np.zeros(block.shape[0])
    by_column, free_columns = np.zeros(block.shape[1]), np.zeros(block.shape[1])
    for part in block.parts(_PIECE):
        where = slice(part.start - block.start, part.stop - block.start)
        if rows is None or columns is None:
            x = part.estimate()
        else:
            x = shifted(part, rows, columns, cap)
            free = (x > 0) & (x < cap)
            free_rows[where] = np.count_nonzero(free, axis=1)
            if not block.symmetric:
                free_columns += np.count_nonzero(free, axis=0)
        by_row[where] = x.sum(axis=1)
        if not block.symmetric:
            by_column += x.sum(axis=0)
    return by_row, by_column, free_rows, free_columns


def _share(missing: FloatVector, free: FloatVector) -> FloatVector:
    # Moving both ends of a pair would overshoot when nothing is clipped, hence a floor.
    return missing / np.maximum(free, 0.05 * len(missing)) / 2
