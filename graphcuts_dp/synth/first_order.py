"""Fit in the cut norm for large graphs: subgradient descent on its semidefinite relaxation.

The noisy matrix z is in blocks of rows, and so is all that the search holds. A block keeps three
arrays in its dictionary `held`: "residual", which is z - x at the present point x; "best", the
residual of the best point so far; and "average", a running sum W of directions, which becomes an
average when it is divided by the search's `scale`. They are updated in chunks that stay in the
processor's cache.

Read `FirstOrder` first. It calls the functions on blocks: `begin`, `move_on`, `return_to_best` and
`kept_point`.
"""

import math
from functools import partial
from typing import ClassVar, final

import numpy as np

from graphcuts_dp.arrays import FloatVector, RealMatrix
from graphcuts_dp.cutnorm.low_rank import LowRankSolver
from graphcuts_dp.estimate.blocks import Blocks, RowBlock, mirror_upper
from graphcuts_dp.resources import NEVER, Deadline
from graphcuts_dp.synth.base import FitProblem, GapSearch, close_gap
from graphcuts_dp.synth.degree_matching import chunks, degree_matched_shifts, shifted

_PIECE = 1 << 16  # entries: a handful of such float32 arrays fit into a core's cache
# The following were tuned for the time to a gap of 5 %: 0.3 s at n = 300, 5 s at n = 2,000.
_FIRST_ALTERNATIONS = 30  # of the low-rank method in the first round
_ALTERNATIONS = 3  # in each other round; doubled if values turn out to be understated
_MOST_ALTERNATIONS = 24
_NEW_WEIGHT = 0.03  # of the newest direction in the average of directions
_PATIENCE = 20  # rounds without progress before the next targets are less ambitious
_PROGRESS = 5e-4  # relative decrease of the best value that counts as progress
# A target is below the best value by a share of it, the aim. It is halved without progress.
_LARGEST_AIM = 0.2
_LEAST_AIM = 0.01
_AIM_SHARE_OF_GAP = 0.25  # an aim is at least this part of the gap, up to the largest aim
_CONVERGED = 1e-4  # relative growth in ten alternations below which a value counts as converged
_UNDERSTATED = 1e-3  # relative growth on confirmation from which on rounds need more alternations
_LARGEST_SCALE = 1e6  # of the sum of directions, see `_weights`


@final
class Residual:
    """The residual z - x, which blocks hold, as a matrix that can be multiplied by thin ones."""

    def __init__(self, blocks: Blocks, *, transpose: bool = False) -> None:
        self._blocks = blocks
        self._transpose = transpose

    @property
    def T(self) -> "Residual":
        """The transposed matrix."""
        return Residual(self._blocks, transpose=not self._transpose)

    def __matmul__(self, thin: RealMatrix) -> RealMatrix:
        if self._transpose and not self._blocks.layout.symmetric:
            total = np.zeros((self._blocks.shape[1], thin.shape[1]), dtype=thin.dtype)
            for product in self._blocks.results(
                lambda block: block.held["residual"].T @ thin[block.start : block.stop]
            ):
                total += product
            return total
        return self._blocks.gather(
            lambda block: block.held["residual"] @ thin, width=thin.shape[1], dtype=thin.dtype
        )


def begin(block: RowBlock, rows: FloatVector, columns: FloatVector, cap: float) -> None:
    """Hold the residual of the first point x = clip(z + rows + columns), and an empty sum."""
    residual = np.empty(block.shape, dtype=np.float32)
    for chunk, rows_of_chunk in chunks(block, _PIECE):
        x = shifted(chunk, rows, columns, cap)
        np.subtract(chunk.estimate(), x, out=residual[rows_of_chunk])
    block.held["residual"] = residual
    block.held["average"] = np.zeros(block.shape, dtype=np.float32)


def move_on(
    block: RowBlock,
    *,
    left: RealMatrix,
    right: RealMatrix,
    fade: float,
    length: float,
    cap: float,
    keep: bool,
    bound: bool,
) -> tuple[float, float]:
    """Keep the present point if it is the best, add the direction to the running sum W, and move.

    With C = left right^T, zero on the diagonal: W <- fade W + C, and the residual z - x loses
    `length` C, so that x grows by it, within the box.

    Args:
        block: some rows; what it holds is changed.
        left: a factor of C for all rows, shape (rows, r).
        right: the other factor, shape (columns, r).
        fade: factor of W; nearly always 1.
        length: of the step.
        cap: upper side of the box.
        keep: whether the present point is the best so far.
        bound: whether the sums that are returned are needed.

    Returns:
        The sum of W's positive entries in these rows, and <W, z>; zeros if they are not needed.
    """
    residual, average = block.held["residual"], block.held["average"]
    if keep:
        block.held["best"] = residual.copy()
    direction = left[block.start : block.stop] @ right.T
    block.clear_diagonal(direction)
    positive = product = 0.0
    for chunk, rows_of_chunk in chunks(block, _PIECE):
        z = chunk.estimate()
        total, change = average[rows_of_chunk], direction[rows_of_chunk]
        short = residual[rows_of_chunk]  # z - x; all three are views
        if fade != 1.0:
            total *= np.float32(fade)
        total += change
        if bound:
            positive += float(np.maximum(total, np.float32(0)).sum())
            product += float(np.vdot(total, z))
        change *= np.float32(length)
        short -= change
        # 0 <= x <= cap means z - cap <= short <= z. numpy's clip between arrays is slower.
        np.minimum(short, z, out=short)
        z -= np.float32(cap)
        chunk.clear_diagonal(z)
        np.maximum(short, z, out=short)
    return positive, product


def return_to_best(block: RowBlock) -> None:
    """Hold the residual of the best point again."""
    block.held["residual"][:] = block.held["best"]


def kept_point(block: RowBlock, cap: float) -> RealMatrix:
    """Return the best point, and let go of all that the block holds."""
    x: RealMatrix = block.estimate() - block.held["best"]
    block.held.clear()
    np.clip(x, np.float32(0), np.float32(cap), out=x)  # it may be off by a rounding
    return x


class FirstOrder(GapSearch):
    """Minimise F(x) = SDP(x - z)/4 over the box.

    SDP is the Alon-Naor relaxation of the bordered matrix, so
    ||x - z||_C <= F(x) <= 1.7823 ||x - z||_C (Krivine). Steps:

    1. U, V: a few alternations of the low-rank method at the present x (warm start).
    2. The subgradient is G_ij = <u_i - u_0, v_j - v_0>/4, where 0 is the border, symmetrised.
    3. x <- project(x - (F - target)/||G||^2 G): Polyak's step, the target being the best lower
       bound known or slightly under the best F.
    4. A running average of the G's is again the value of some feasible U, V (their Gram matrices
       form a convex set). So for the average W the least <W, x - z> over the box is at most min F.
       This gives the gap, and a target that no point of the box can be below.

    5. U, V approach the relaxation from below. So before the run ends, the value of the best
       point is computed again with as many alternations as it takes; if it was understated, the
       run goes on with more of them in each step.

    All work is done in blocks of rows: n^2 float32 numbers for the residual, as many for that of
    the best point and for the sum of directions; z itself stays packed. The result is the same to
    the last bit on any number of processors. Another cut into blocks, or another linear algebra
    library, adds float32 sums in another order, which moves value and bound by about 1e-3.

    Guarantee: with gap g as reported, F(x) <= min F/(1-g), so
    ||x - A||_C <= (1 + 1.7823/(1-g)) ||A - z||_C for every A in the box.
    Value and lower bound are float32 numbers, right to about 1e-3 of the value; the certificate of
    a release is computed apart from them, in float64.

    Source: GRU12 section 6.2 and Lemma 6.2 (program); Alon, Naor 2006 (relaxation);
    Polyak 1969 (step). Deviation: first-order steps in place of the ellipsoid method.
    """

    method = "first-order"
    objective = "cut norm (semidefinite)"
    # Seconds at n = 2,000, minutes at 10,000; the gap is then 5-20 %.
    most_rounds: ClassVar = {1000: 800, 5000: 300, math.inf: 100}

    def __init__(self, problem: FitProblem, deadline: Deadline = NEVER) -> None:
        super().__init__(problem, deadline)
        self.blocks = problem.blocks.copy()
        self.blocks.map(begin, *degree_matched_shifts(problem), problem.cap)
        self.residual = Residual(self.blocks)
        # An optimum of 2 sqrt(n) columns of U and V exists; with too few, the lower bound stays
        # low: measured at n = 10,000, the gap was 19 % after 150 rounds with 32 columns, and 15 %
        # after 90 with 64.
        rank = 32 if max(problem.shape) <= 2000 else 64
        self.solver = LowRankSolver(problem.shape, rank=rank, dtype=np.float32, seed=0)
        self.aim = _LARGEST_AIM
        self.stalled = 0
        self.scale = 1.0  # the running average is the running sum over this
        self.alternations = _ALTERNATIONS

    def round(self) -> None:
        """Do steps 1 to 4; the bound is computed in each fifth round."""
        self.rounds += 1
        first = self.rounds == 1
        value = self.solver.step(self.residual, _FIRST_ALTERNATIONS if first else self.alternations)
        keep = value < self.best
        self.stalled = 0 if value < self.best * (1 - _PROGRESS) else self.stalled + 1
        self.best = min(self.best, value)
        if self.stalled >= _PATIENCE:
            self.aim, self.stalled = max(self.aim / 2, _LEAST_AIM), 0
        fade, weight = self._weights()
        left, right = self.solver.subgradient_factors()
        if self.problem.symmetric:
            half = np.float32(0.5)
            left, right = np.hstack([left * half, right * half]), np.hstack([right, left])
        # While the gap is wide, steps towards values just under the best are too short.
        aim = max(self.aim, min(_LARGEST_AIM, _AIM_SHARE_OF_GAP * self.gap()))
        target = max(self.best * (1 - aim), self.lower)
        square = self._square(left, right)
        bound = self.rounds % 5 == 0
        step = partial(
            move_on,
            left=left * np.float32(weight),
            right=right,
            fade=fade,
            length=(value - target) / square / weight if square > 0 else 0.0,
            cap=self.problem.cap,
            keep=keep,
            bound=bound,
        )
        sums = self.blocks.map(step)
        if bound:
            # The sum has the sign of z - x: <W, z - x> is least where x is the cap for W > 0.
            positive, product = (sum(column) for column in zip(*sums, strict=True))
            box = self.problem.cap * positive if positive else 0.0
            self.lower = max(self.lower, (product - box) / self.scale)

    def confirm(self) -> float:
        """Compute the value of the best point until it converges, and return the gap with it.

        The present point is the best one afterwards. Its value can only have been understated.
        """
        self.blocks.map(return_to_best)
        value = self.solver.step(self.residual, 10)
        for _ in range(20):
            before, value = value, self.solver.step(self.residual, 10)
            if value <= before * (1 + _CONVERGED):
                break
        if value > self.best * (1 + _UNDERSTATED):
            self.alternations = min(2 * self.alternations, _MOST_ALTERNATIONS)
        self.best = max(self.best, value)
        return self.gap()

    def best_point(self) -> RealMatrix:
        """Return the best x as a dense matrix; the search cannot go on after it."""
        x = self.blocks.gather(
            kept_point, self.problem.cap, width=self.problem.shape[1], dtype=np.float32
        )
        if self.problem.symmetric:
            mirror_upper(x, self.blocks.layout)
        return x

    def _square(self, left: RealMatrix, right: RealMatrix) -> float:
        """Return the sum of the squared entries of L R^T, off the diagonal of a hollow matrix."""
        L, R = left.astype(np.float64), right.astype(np.float64)
        square = float(np.vdot(L.T @ L, R.T @ R))
        if self.problem.hollow:
            square -= float((np.einsum("ij,ij->i", L, R) ** 2).sum())
        return square

    def _weights(self) -> tuple[float, float]:
        """Return the factor of the running sum, and the weight of the next direction in it.

        The average A <- (1-w) A + w G of the directions G is kept as W/scale. So old terms need no
        work: the scale is divided by 1-w, and W <- W + (w scale) G. If the scale gets large, W is
        multiplied by 1/scale, which is the factor, and the scale begins at 1 again.
        """
        weight = max(1.0 / self.rounds, _NEW_WEIGHT)
        if self.rounds == 1:
            return 1.0, 1.0
        fade = 1.0
        if self.scale > _LARGEST_SCALE:
            fade, self.scale = 1.0 / self.scale, 1.0
        self.scale /= 1 - weight
        return fade, weight * self.scale


first_order = partial(close_gap, FirstOrder)
