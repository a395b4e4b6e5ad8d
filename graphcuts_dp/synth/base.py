"""What every fit solves and returns.

Given a noisy matrix z, find x in the box [0, cap] that is near z in a cut norm:
GRU12 Lemma 6.2 with the cut norm, GRU12 section 6.2 with the normalised one. Because the true
matrix A lies in the box, a minimiser has ||x - z|| <= ||A - z||, hence ||x - A|| <= 2 ||A - z||;
a point whose value is at most c times the minimum has ||x - A|| <= (1 + c) ||A - z||.
Fits read z alone, so they are post-processing: they cost no privacy.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatVector, RealMatrix
from graphcuts_dp.estimate.blocks import Blocks, RowBlock
from graphcuts_dp.estimate.measurement import CellSums, CountMeasurement, Degrees, Total
from graphcuts_dp.privacy.guarantee import LARGEST_EPSILON
from graphcuts_dp.resources import NEVER, Deadline, Progress, one_blas_thread, silent

_PIECE = 1 << 16  # entries worked on at a time: they stay in the cache
_SWEEPS = 15
_STEP = 0.7

Stopped = Literal["gap", "settled", "rounds", "time"]


@final
@dataclass(frozen=True, eq=False)
class FitProblem:
    """A noisy matrix and the box that the synthetic one must lie in.

    Attributes:
        blocks: z, in blocks of rows: shape (n, n), symmetric with zero diagonal, or
            (n_left, n_right), or (n, n) with zero diagonal for a directed graph.
        cap: upper side of the box; infinity when weights have no public bound.
        degrees: noisy degrees besides, when the budget was split.
        total: a noisy sum of all of z's true entries besides, likewise.
        groups: noisy sums between public groups besides, likewise.
    """

    blocks: Blocks
    cap: float = 1.0
    degrees: CountMeasurement[Degrees] | None = None
    total: CountMeasurement[Total] | None = None
    groups: CountMeasurement[CellSums] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.blocks.shape

    @property
    def symmetric(self) -> bool:
        """Whether z is an adjacency matrix (else a biadjacency matrix)."""
        return self.blocks.layout.symmetric

    @property
    def hollow(self) -> bool:
        """Whether z and x have a zero diagonal: of one vertex set, with or without directions."""
        return self.blocks.layout.hollow

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


@dataclass(frozen=True, kw_only=True)
class FitSummary:
    """How the synthetic graph was fitted; plain values, all from noisy data.

    Attributes:
        method: name of the fit.
        objective: the norm of x - z that was minimised, or "relative entropy".
        value: that norm at x, as the method found it, before the weights were rounded; None if it
            is no norm.
        lower: no point of the box has a smaller value, up to rounding; never below 0. None
            likewise.
        rounds: steps taken.
        stopped: why it ended: "gap" (within the tolerance), "settled" (stood still), "rounds" or
            "time" (also when the time was over before a mixture was proven to be within the bound
            that it was to keep).
        tolerance: gap at which the method was to stop; None if it has none.
        time_limit: seconds that it, mixtures and certificates were given together, or None.
        rounding: proven bound on what it moved any cut by (in the cut norm, matrix form) to round
            the weights to 0 and 1; None where they were kept.
        mixed: share of the first-order fit that was mixed in to keep a bound; nearly always 0.
        near_noise: how many directions of z stand out of its noise by less than half of what the
            least visible ones have; the synthetic graph may have merged the communities behind
            them.
        directions: how many directions of z beyond its noise the graph was held to; None where that
            tells nothing: entries that tell edges, no noisy degrees, public groups, other fits.
        shown_from: if there are none, epsilon from which communities of a graph of so many edges,
            by the noisy data, could show, perhaps one out of range; None where it could be seen
            already.
    """

    method: str
    objective: str
    value: float | None = None
    lower: float | None = None
    rounds: int = 1
    stopped: Stopped = "settled"
    tolerance: float | None = None
    time_limit: float | None = None
    rounding: float | None = None
    mixed: float = 0.0
    near_noise: int = 0
    directions: int | None = None
    shown_from: float | None = None

    @property
    def gap(self) -> float | None:
        """How far above the minimum the value may be, as a fraction of the value; in [0, 1]."""
        if self.value is None or self.lower is None:
            return None
        return gap_between(self.value, self.lower)

    @property
    def warning(self) -> str | None:
        """What a reader of the synthetic graph should know of it; None if there is nothing."""
        if not self.near_noise and self.directions == 0:
            return (
                "this graph has the degrees of yours and none of its communities, if it has any: "
                f"{what_could_show(self.shown_from)} them, and answer tells sums between groups"
            )
        if not self.near_noise:
            return None
        some = "a direction" if self.near_noise == 1 else f"{self.near_noise} directions"
        return (
            f"communities may be merged in the synthetic graph: {some} of the noisy matrix barely "
            "passed its noise; ask answer for sums between groups, or raise epsilon"
        )


def what_could_show(epsilon: float | None) -> str:
    """What could show communities, and an epsilon that would do, rounded up; None if unknown."""
    if epsilon is None:
        return "public groups, or more epsilon, could show"
    if epsilon > LARGEST_EPSILON:
        return "public groups could show"
    return f"public groups, or epsilon >= {math.ceil(10 * epsilon) / 10:g}, could show"


@final
@dataclass(frozen=True, eq=False, kw_only=True)
class Fit(FitSummary):
    """A point of the box and how it was found.

    Attributes:
        matrix: x, same shape and symmetry as z, every entry in [0, cap].
    """

    matrix: RealMatrix


class GapSearch(ABC):
    """A fit that closes the gap between the best value so far and a lower bound, round by round.

    Made of a problem, the deadline of the whole run, and options of its own.

    Attributes:
        method, objective: see `FitSummary`.
        tolerance: gap at which it stops, where nothing else is said.
        most_rounds: it does, up to so many vertices.
        one_thread: whether its pieces are too small to be shared out in BLAS calls.
        best: least value found.
        best_matrix: where.
        lower: no point of the box has less.
        rounds: done so far.
    """

    method: str
    objective: str
    tolerance = 0.05
    one_thread = True
    most_rounds: ClassVar[Mapping[float, int]]
    best = math.inf
    best_matrix: RealMatrix
    lower = 0.0
    rounds = 0

    def __init__(self, problem: FitProblem, deadline: Deadline = NEVER) -> None:
        self.problem, self.deadline = problem, deadline

    @abstractmethod
    def round(self) -> None:
        """One step, which counts itself and may find a better point or a larger bound."""

    def confirm(self) -> float:
        """Look at the best point again, lest its value is understated; the gap with that."""
        return self.gap()

    def best_point(self) -> RealMatrix:
        """The best x, dense; ends the search."""
        return self.best_matrix

    def gap(self) -> float:
        """How far above the lower bound the best value may be."""
        return gap_between(self.best, self.lower)


def close_gap(
    search: type[GapSearch],
    problem: FitProblem,
    *,
    tolerance: float | None = None,
    max_rounds: int | None = None,
    time_limit: float | None = None,
    progress: Progress = silent,
    **options: Any,
) -> Fit:
    """Search until the gap is at most the tolerance, all rounds are done, or time is up.

    Same input, same output, unless the time limit strikes.

    Args:
        search: what is done in a round.
        problem: z and the box.
        tolerance: stop when the gap is at most this; None for that of the search.
        max_rounds: most rounds; None lets the search choose from n.
        time_limit: seconds after which the best point so far is returned; None for no limit.
        progress: called with the fraction done and a message.
        options: of the search.
    """
    deadline = Deadline.after(time_limit)
    tolerance = search.tolerance if tolerance is None else tolerance
    n = max(problem.shape)
    most = max_rounds or next(most for size, most in search.most_rounds.items() if n <= size)
    stopped: Stopped | None = None
    with one_blas_thread() if search.one_thread else nullcontext():
        run = search(problem, deadline, **options)
        while stopped is None:
            run.round()
            progress(run.rounds / most, f"error {run.best:.4g}, gap {run.gap():.0%}")
            if run.gap() <= tolerance and run.confirm() <= tolerance:
                stopped = "gap"
            elif deadline.passed():
                stopped = "time"
            elif run.rounds == most:
                stopped = "rounds"
        if stopped != "gap":
            run.confirm()
        return Fit(
            matrix=run.best_point(),
            method=run.method,
            objective=run.objective,
            value=run.best,
            lower=run.lower,
            rounds=run.rounds,
            stopped=stopped,
            tolerance=tolerance,
        )


@final
@dataclass(frozen=True)
class FitMethod:
    """A way to solve a `FitProblem`, and what it needs.

    Attributes:
        run: gets the problem, `time_limit`, seconds after which it is to return the best point so
            far, or None, and `progress`, called with the fraction done and a message.
        uses_degrees: whether noisy degrees and a noisy total help it: a budget may then be split.
        needs_cap: whether it refuses weights without a public bound.

    It reads noisy data alone, so it needs no audit and no budget. One that minimises no norm
    (`value` is None) is mixed with the first-order fit where its certificate exceeds
    `noise_cut_bound`. A fit of your own, which `release_graph(graph, epsilon=1.0,
    fit=FitMethod(clipped))` takes::

        def clipped(problem, *, time_limit=None, progress=silent):
            x = problem.project(problem.noisy.copy())
            return Fit(matrix=x, method="clipped", objective="distance of each entry")
    """

    run: Callable[..., Fit]
    uses_degrees: bool = False
    needs_cap: bool = False


def degree_matched_start(problem: FitProblem) -> RealMatrix:
    """A start x = clip(z + a_i + b_j) whose row and column sums are near those of z; dense."""
    rows, columns = degree_matched_shifts(problem)
    return problem.blocks.gather(
        shifted, rows, columns, problem.cap, np.float64, width=problem.shape[1], dtype=np.float64
    )


def degree_matched_shifts(problem: FitProblem) -> tuple[FloatVector, FloatVector]:
    """Vectors a, b such that clip(z + a_i + b_j) has nearly the row and column sums of z.

    Clipping z alone moves cuts by order n^2; shifting rows and columns takes most of that back.
    """
    row_target, column_target, *_ = _all_margins(problem, None, None)
    rows, columns = np.zeros(problem.shape[0]), np.zeros(problem.shape[1])
    for _ in range(_SWEEPS):
        by_row, by_column, free_rows, free_columns = _all_margins(problem, rows, columns)
        rows = rows + _share(row_target - by_row, free_rows)
        if problem.symmetric:
            columns = rows  # the very same numbers: x stays symmetric to the last bit
        else:
            columns = columns + _share(column_target - by_column, free_columns)
    return rows, columns


def _share(missing: FloatVector, free: FloatVector) -> FloatVector:
    # Moving both ends of a pair would overshoot when nothing is clipped, hence a floor.
    return _STEP * (missing / np.maximum(free, 0.05 * len(missing)) / 2)


def shifted(
    block: RowBlock,
    rows: FloatVector,
    columns: FloatVector,
    cap: float,
    dtype: npt.DTypeLike = np.float32,
) -> RealMatrix:
    """clip(z + a_i + b_j) for the rows of a block, zero on the diagonal."""
    x = block.estimate(dtype)
    x += np.add(rows[block.start : block.stop, None], columns, dtype=dtype)
    np.maximum(x, x.dtype.type(0), out=x)
    np.minimum(x, x.dtype.type(cap), out=x)
    return block.clear_diagonal(x)


def _all_margins(
    problem: FitProblem, rows: FloatVector | None, columns: FloatVector | None
) -> list[FloatVector]:
    """Row and column sums, and how many entries lie inside the box in each row and column."""
    parts = zip(*problem.blocks.map(_margins, rows, columns, problem.cap), strict=True)
    by_row, by_column, free_rows, free_columns = parts
    return [
        np.concatenate(by_row),
        np.sum(by_column, axis=0),
        np.concatenate(free_rows),
        np.sum(free_columns, axis=0),
    ]


def _margins(
    block: RowBlock, rows: FloatVector | None, columns: FloatVector | None, cap: float
) -> list[FloatVector]:
    """Sums and free counts of a block of z, or of clip(z + a_i + b_j) if there are shifts."""
    height, width = block.shape
    by_row, by_column, free_rows, free_columns = map(np.zeros, (height, width, height, width))
    for part, where in pieces(block, _PIECE):
        if rows is None or columns is None:
            x = part.estimate()
        else:
            x = shifted(part, rows, columns, cap)
            free = (x > 0) & (x < cap)
            free_rows[where] = np.count_nonzero(free, axis=1)
            if not block.layout.symmetric:
                free_columns += np.count_nonzero(free, axis=0)
        by_row[where] = x.sum(axis=1)
        if not block.layout.symmetric:
            by_column += x.sum(axis=0)
    return [by_row, by_column, free_rows, free_columns]


def pieces(block: RowBlock, entries: int) -> Iterator[tuple[RowBlock, slice]]:
    """Parts of a block that fit into the cache, each with its place in the block."""
    for part in block.parts(entries):
        yield part, slice(part.start - block.start, part.stop - block.start)
