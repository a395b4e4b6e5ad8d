"""Fit in the cut norm for large graphs: subgradient descent on its semidefinite relaxation.

Given a noisy matrix z, the fit looks for a matrix x in the *box* (entries in [0, cap]) such that
the cut norm of x - z is small. Nothing of size n x n is needed but what is kept in blocks of rows.

Terms of this file:

- The *residual* is z - x at the present point x. The cut norm does not see the sign, so F(x), the
  relaxation's value, is computed from z - x. All signs below follow from this choice.
- A *direction* G is a subgradient of that value in z - x. Moving x by a positive multiple of G
  makes the residual, and the value, smaller.
- The *direction sum* W is a weighted sum of all directions. W / `scale` is their running average,
  from which the lower bound is computed.
- An *alternation* is one step of the low-rank method (`cutnorm.low_rank`), which solves the
  relaxation by unit vectors for the rows and for the columns.

A block of rows (`RowBlock`) keeps the arrays of its rows in its dictionary `held`: "residual";
"best", the residual of the best point so far; and "direction sum". Four functions on one block
change them: `begin`, `move_on`, `return_to_best` and `kept_point`. `Blocks.map` runs a function on
all blocks in parallel and lists what it returns, `Blocks.results` yields the same one by one, and
`Blocks.gather` stacks it to a matrix. Within a block, work goes by *chunks* of rows that stay in
the processor's cache. Read `FirstOrder` first.
"""

import math
from collections.abc import Mapping
from functools import partial
from typing import ClassVar, final

import numpy as np

from graphcuts_dp.arrays import FloatVector, RealMatrix
from graphcuts_dp.cutnorm.low_rank import LowRankSolver
from graphcuts_dp.estimate.blocks import Blocks, RowBlock, mirror_upper
from graphcuts_dp.resources import NEVER, Deadline
from graphcuts_dp.synth.base import Fit, FitProblem, GapSearch, close_gap
from graphcuts_dp.synth.degree_matching import chunks, degree_matched_shifts, shifted

# Entries of a chunk: a handful of float32 arrays of this size fit into a core's cache.
_CHUNK_ENTRIES = 1 << 16

# All constants below were tuned for the time to a gap of 5 %: 0.3 s at n = 300, 5 s at n = 2,000.
_FIRST_ALTERNATIONS = 30  # of the low-rank method in the first round
_ALTERNATIONS = 3  # in each other round; doubled if values turn out to be understated
_MOST_ALTERNATIONS = 24
# `confirm` computes a value by several calls of the low-rank method.
_CONFIRM_ALTERNATIONS = 10  # of one call
_CONFIRM_CALLS = 20  # at most, after the first one
_CONVERGED = 1e-4  # a call that raises the value by a smaller share is the last one
_UNDERSTATED = 1e-3  # if `confirm` raises the best value by a larger share, rounds alternate more
_NEW_WEIGHT = 0.03  # of the newest direction in the running average
_LARGEST_SCALE = 1e6  # of the direction sum; above it the sum is divided, see `_averaging_weights`
# The target of a step is (1 - aim) times the best value. The aim starts at the largest one, and is
# halved, down to the least one, if there is no progress for some time.
_LARGEST_AIM = 0.2
_LEAST_AIM = 0.01
_PATIENCE = 20  # rounds without progress before the aim is halved
_PROGRESS = 5e-4  # relative decrease of the best value that counts as progress
_AIM_SHARE_OF_GAP = 0.25  # an aim is at least this part of the gap, up to the largest aim
_ROUNDS_BETWEEN_BOUNDS = 5  # a lower bound is computed in every fifth round


@final
class Residual:
    """The residual z - x, which blocks hold, as a matrix that can be multiplied by thin ones.

    It has what `LowRankSolver.step` needs of a matrix: `M @ thin` and `M.T @ thin`.
    """

    def __init__(self, blocks: Blocks, *, transpose: bool = False) -> None:
        self._blocks = blocks
        self._transpose = transpose

    @property
    def T(self) -> "Residual":
        """The transposed matrix."""
        return Residual(self._blocks, transpose=not self._transpose)

    def __matmul__(self, thin: RealMatrix) -> RealMatrix:
        if self._transpose and not self._blocks.layout.symmetric:
            # M^T V is the sum over blocks of (rows of M)^T (rows of V).
            total = np.zeros((self._blocks.shape[1], thin.shape[1]), dtype=thin.dtype)
            for product in self._blocks.results(
                lambda block: block.workspace["residual"].T @ thin[block.start : block.stop]
            ):
                total += product
            return total
        return self._blocks.gather(
            lambda block: block.workspace["residual"] @ thin, width=thin.shape[1], dtype=thin.dtype
        )


def begin(block: RowBlock, row_shifts: FloatVector, column_shifts: FloatVector, cap: float) -> None:
    """Hold the residual of the first point, and a direction sum of zeros.

    The first point is x = clip(z + row_shifts_i + column_shifts_j), see `degree_matching`.
    """
    residual = np.empty(block.shape, dtype=np.float32)
    for chunk, rows_of_chunk in chunks(block, _CHUNK_ENTRIES):
        x = shifted(chunk, row_shifts, column_shifts, cap)
        np.subtract(chunk.estimate(), x, out=residual[rows_of_chunk])
    block.workspace["residual"] = residual
    block.workspace["direction sum"] = np.zeros(block.shape, dtype=np.float32)


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
    """Keep the present point if it is the best, add the direction to the direction sum, and move.

    The weighted direction is C = left right^T, zero on the diagonal of a hollow matrix. The
    direction sum becomes W <- fade W + C, and the point x <- project(x + `length` C).

    Args:
        block: some rows; what it holds is changed.
        left: a factor of C for all rows, shape (rows, r).
        right: the other factor, shape (columns, r).
        fade: factor of W; 1 in nearly all rounds.
        length: of the step, in multiples of C.
        cap: upper side of the box.
        keep: whether the present point is the best so far.
        bound: whether the sums that are returned are needed.

    Returns:
        The sum of W's positive entries in these rows, and <W, z> over them; zeros if they are not
        needed.
    """
    residual, direction_sum = block.workspace["residual"], block.workspace["direction sum"]
    if keep:
        block.workspace["best"] = residual.copy()
    direction = left[block.start : block.stop] @ right.T  # C, shape of the block
    block.clear_diagonal(direction)
    positive_sum = product = 0.0
    for chunk, rows_of_chunk in chunks(block, _CHUNK_ENTRIES):
        z = chunk.estimate()
        # These three are views: what is done to them in place is done to the whole arrays.
        sum_rows = direction_sum[rows_of_chunk]
        step_rows = direction[rows_of_chunk]
        residual_rows = residual[rows_of_chunk]
        if fade != 1.0:
            sum_rows *= np.float32(fade)
        sum_rows += step_rows
        if bound:
            positive_sum += float(np.maximum(sum_rows, np.float32(0)).sum())
            product += float(np.vdot(sum_rows, z))
        step_rows *= np.float32(length)
        residual_rows -= step_rows  # x grows by the step
        # x in [0, cap] means z - x in [z - cap, z]. numpy's clip between arrays is slower.
        np.minimum(residual_rows, z, out=residual_rows)
        z -= np.float32(cap)
        chunk.clear_diagonal(z)
        np.maximum(residual_rows, z, out=residual_rows)
    return positive_sum, product


def return_to_best(block: RowBlock) -> None:
    """Make the best point the present one: hold its residual again."""
    block.workspace["residual"][:] = block.workspace["best"]


def kept_point(block: RowBlock, cap: float) -> RealMatrix:
    """Return the best point's rows of x, and let go of all that the block holds."""
    x: RealMatrix = block.estimate() - block.workspace["best"]
    block.workspace.clear()
    np.clip(x, np.float32(0), np.float32(cap), out=x)  # an entry may leave the range by rounding
    return x


class FirstOrder(GapSearch):
    """Minimise F(x) = SDP(z - x)/4 over the box.

    SDP(M) is the Alon-Naor relaxation of the bordered matrix of M (one more row and column, such
    that all rows and columns sum to zero): the largest sum_ij m'_ij <u_i, v_j> over unit vectors
    u_i and v_j, where index 0 is the border. It satisfies

        ||x - z||_C <= F(x) <= 1.7823 ||x - z||_C    (Krivine).

    A round has four steps:

    1. Compute U and V by a few alternations of the low-rank method at the present residual,
       beginning with those of the last round. They give the value F(x).
    2. The direction is G_ij = <u_i - u_0, v_j - v_0>/4, symmetrised for a symmetric matrix. It is
       the gradient of the value in z - x for fixed U and V, so -G is a subgradient in x.
    3. x <- project(x + (F(x) - target)/||G||^2 G): Polyak's step. The target is slightly under the
       best F so far, or the lower bound if that is larger.
    4. The running average of the G's is again the direction of some feasible U and V, because
       their Gram matrices form a convex set. So for this average A, <A, z - x> <= F(x) at every x,
       and the least <A, z - x> over the box is a lower bound on min F. This gives the gap.

    U and V approach the relaxation from below, so a value may be understated. Therefore `confirm`
    computes the value of the best point again, with as many alternations as it takes, before the
    run ends. If it was understated, each later round makes more alternations.

    Memory: n^2 float32 numbers for the residual, as many for that of the best point and for the
    direction sum; z itself stays packed. The result is the same to the last bit on any number of
    processors. Another division into blocks, or another linear algebra library, adds float32
    numbers in another order, which moves value and bound by about 1e-3.

    Guarantee: with gap g as reported, F(x) <= min F/(1-g), so
    ||x - A||_C <= (1 + 1.7823/(1-g)) ||A - z||_C for every A in the box.
    Value and lower bound are float32 numbers, right to about 1e-3 of the value. The certificate of
    a release does not use them: it is computed from x and z in float64.

    Source: GRU12 section 6.2 and Lemma 6.2 (program); Alon, Naor 2006 (relaxation);
    Polyak 1969 (step). Deviation: first-order steps in place of the ellipsoid method.

    Attributes:
        blocks: z, with the arrays of this search held in its blocks.
        residual: z - x as a matrix, for the solver.
        solver: the low-rank method, with U and V.
        aim: how far targets are below the best value, as a share of it.
        stalled: rounds since the last progress.
        scale: the running average of directions is the direction sum divided by this.
        alternations: of the low-rank method in a round after the first.
    """

    method = "first-order"
    objective = "cut norm (semidefinite)"
    # Seconds at n = 2,000, minutes at 10,000; the gap is then 5-20 %.
    most_rounds: ClassVar[Mapping[float, int]] = {1000: 800, 5000: 300, math.inf: 100}
    best: float
    lower: float

    def __init__(self, problem: FitProblem, deadline: Deadline = NEVER) -> None:
        super().__init__(problem, deadline)
        self.blocks: Blocks = problem.blocks.copy()
        self.blocks.map(begin, *degree_matched_shifts(problem), problem.cap)
        self.residual: Residual = Residual(self.blocks)
        # With about 2 sqrt(n) columns in U and V they reach an optimum of the relaxation. With too
        # few the lower bound stays low: at n = 10,000 the gap was 19 % after 150 rounds with 32
        # columns, and 15 % after 90 rounds with 64.
        rank = 32 if max(problem.shape) <= 2000 else 64
        self.solver: LowRankSolver = LowRankSolver(
            problem.shape, rank=rank, dtype=np.float32, seed=0
        )
        self.aim: float = _LARGEST_AIM
        self.stalled: int = 0
        self.scale: float = 1.0
        self.alternations: int = _ALTERNATIONS

    def round(self) -> None:
        """Do steps 1 to 4; the lower bound is computed in every fifth round."""
        self.rounds += 1
        # Step 1: `step` returns F(x) at the U and V that it has reached.
        alternations = _FIRST_ALTERNATIONS if self.rounds == 1 else self.alternations
        value = self.solver.step(self.residual, alternations)
        is_best = value < self.best
        self.stalled = 0 if value < self.best * (1 - _PROGRESS) else self.stalled + 1
        self.best = min(self.best, value)
        if self.stalled >= _PATIENCE:
            self.aim, self.stalled = max(self.aim / 2, _LEAST_AIM), 0

        # Step 2: G = left right^T, in factors of few columns.
        left, right = self.solver.subgradient_factors()
        if self.problem.symmetric:  # (G + G^T)/2 has twice the columns
            half = np.float32(0.5)
            left, right = np.hstack([left * half, right * half]), np.hstack([right, left])

        # Step 3. While the gap is wide, steps towards values just under the best are too short.
        aim = max(self.aim, min(_LARGEST_AIM, _AIM_SHARE_OF_GAP * self.gap()))
        target = max(self.best * (1 - aim), self.lower)
        fade, sum_weight = self._averaging_weights()
        square = self._square(left, right)
        # `move_on` adds C = sum_weight G to the sum, and moves x by `length` C.
        length = (value - target) / square / sum_weight if square > 0 else 0.0

        # Step 4.
        bound = self.rounds % _ROUNDS_BETWEEN_BOUNDS == 0
        step = partial(
            move_on,
            left=left * np.float32(sum_weight),
            right=right,
            fade=fade,
            length=length,
            cap=self.problem.cap,
            keep=is_best,
            bound=bound,
        )
        sums_of_blocks = self.blocks.map(step)
        if bound:
            positive_sum, product = (sum(column) for column in zip(*sums_of_blocks, strict=True))
            # <W, z - x> is least at x = cap where W > 0, and x = 0 elsewhere. 0 x infinity, for a
            # box without a cap, is avoided.
            largest_product = self.problem.cap * positive_sum if positive_sum else 0.0
            self.lower = max(self.lower, (product - largest_product) / self.scale)

    def confirm(self) -> float:
        """Compute the value of the best point until it converges; store it, and return the gap.

        The best point becomes the present one. Its value can only rise: before, it may have been
        understated.
        """
        self.blocks.map(return_to_best)
        value = self.solver.step(self.residual, _CONFIRM_ALTERNATIONS)
        for _ in range(_CONFIRM_CALLS):
            last_value = value
            value = self.solver.step(self.residual, _CONFIRM_ALTERNATIONS)
            if value <= last_value * (1 + _CONVERGED):
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
            # Entries above and below the diagonal may differ in the last bit: copy the former.
            mirror_upper(x, self.blocks.layout)
        return x

    def _square(self, left: RealMatrix, right: RealMatrix) -> float:
        """Return ||G||^2, the sum of the squared entries of G = L R^T.

        It is <L^T L, R^T R>, without an n x n matrix. The diagonal of a hollow matrix is left out.
        """
        L, R = left.astype(np.float64), right.astype(np.float64)
        square = float(np.vdot(L.T @ L, R.T @ R))
        if self.problem.hollow:
            square -= float((np.einsum("ij,ij->i", L, R) ** 2).sum())
        return square

    def _averaging_weights(self) -> tuple[float, float]:
        """Update the scale; return the factors of W and of the new direction in the next sum.

        The running average A of the directions G is to become (1-w) A + w G. It is kept as
        A = W/scale, so that the n x n numbers of W need no multiplication by 1-w: the scale is
        divided by 1-w, and then W <- W + (w scale) G gives the new average. The scale grows without
        end. If it is above the largest, W is multiplied once by 1/scale, the `fade`, and the scale
        begins at 1 again.

        In the first round W is 0 and w = 1: the sum becomes G.
        """
        if self.rounds == 1:
            return 1.0, 1.0
        weight = max(1.0 / self.rounds, _NEW_WEIGHT)  # w
        fade = 1.0
        if self.scale > _LARGEST_SCALE:
            fade, self.scale = 1.0 / self.scale, 1.0
        self.scale /= 1 - weight
        return fade, weight * self.scale


first_order: partial[Fit] = partial(close_gap, FirstOrder)
