"""Fit for cuts of every kind: maximum entropy around the noisy bits, a program in the log-odds.

x_ij = cap sigmoid(e_ij + a_i + b_j + s q_i^T Theta r_j), where e is what the noisy entry says by
itself (its log likelihood ratio), and a, b, Theta are such that given row and column sums and given
sums Q^T x R over soft groups of vertices come out. Among all matrices in the box with those sums it
is the one nearest to the noisy bits' own odds in relative entropy. Always feasible, always in the
box, and no n x n matrix is needed until the end.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy

from graphcuts_dp.arrays import FloatVector, RealMatrix
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.estimate.blocks import Blocks, RowBlock, mirror_upper
from graphcuts_dp.resources import NEVER, Deadline, Progress, one_blas_thread, silent
from graphcuts_dp.synth.base import Fit, FitProblem, Stopped
from graphcuts_dp.synth.degree_matching import chunks
from graphcuts_dp.synth.targets import Targets, credible_sums

_PIECE = 1 << 17  # entries worked on at once, so that they stay in the cache
_ROUNDS = 160
_MEMORY = 12
_TOLERANCE = 0.01  # of the scaled gradient
_TINY = 1e-300
_NEVER = -60.0  # log-odds of a pair that is none
_STRUCTURE = 0.3  # of the progress

_Short = npt.NDArray[np.float32]


class Factors(NamedTuple):
    """Log-odds beyond the evidence: L R^T. Shapes (n_left, k), (n_right, k)."""

    left: _Short
    right: _Short


def solve(
    blocks: Blocks,
    sums: Targets,
    cap: float,
    *,
    rounds: int = _ROUNDS,
    deadline: Deadline = NEVER,
    progress: Progress = silent,
) -> tuple[Factors, int, Stopped]:
    """Minimise the dual: h cap sum log(1 + e^L) - <a, d> - <b, d'> - h s <Theta, G> + ridges.

    h is 1/2 for an adjacency matrix, whose pairs appear twice, with a = b and Theta symmetric. The
    gradient is the difference between the sums of x and those wanted. L-BFGS in variables scaled by
    the diagonal of the Hessian; 20-100 rounds of O(n^2 k).

    Args:
        blocks: the noisy matrix, with its distribution.
        sums: what x is to have.
        cap: upper side of the box, finite.
        rounds: most rounds.
        deadline: after which the last point is returned.
        progress: called after each round.

    Returns:
        The log-odds beyond the evidence, how many rounds it took, and what ended it.
    """
    dual = _Dual(blocks, sums, cap)
    done = 0
    stopped: Stopped = "settled"

    def after_round(_: FloatVector) -> None:
        nonlocal done, stopped
        done += 1
        progress(_STRUCTURE + (1 - _STRUCTURE) * done / rounds, f"matching sums, round {done}")
        if deadline.passed():
            stopped = "time"
            raise StopIteration
        stopped = "settled" if done < rounds else "rounds"

    solution = scipy.optimize.minimize(
        dual,
        dual.start(),
        jac=True,
        method="L-BFGS-B",
        callback=after_round,
        options={"maxiter": rounds, "maxcor": _MEMORY, "gtol": _TOLERANCE, "ftol": 1e-12},
    )
    return dual.factors(solution.x), done, stopped


class _Dual:
    """The function that L-BFGS minimises, of scaled variables."""

    def __init__(self, blocks: Blocks, sums: Targets, cap: float) -> None:
        self.blocks, self.sums, self.cap = blocks, sums, cap
        self.symmetric = blocks.layout.symmetric
        self.half = 0.5 if self.symmetric else 1.0
        self.strength = math.sqrt(math.prod(blocks.shape))  # s
        self.slack = cap * sums.slack * self.strength
        self.ridge = cap * sums.ridge * self.strength
        self.sides = len(sums.rows) + (0 if self.symmetric else len(sums.columns))
        k = len(sums.frame_sums)
        free = k * (k + 1) // 2 if self.symmetric else sums.frame_sums.size
        self.scale = np.ones(self.sides + free)
        self.scale = 1 / np.sqrt(self._curvature())

    def start(self) -> FloatVector:
        """Equal log-odds for all pairs that give the wanted total, the evidence left out."""
        total = float(self.sums.rows.sum())
        share = min(max(total / (self.cap * self.strength**2), 1e-4), 0.999)
        point = np.zeros(len(self.scale))
        point[: self.sides] = 0.5 * math.log(share / (1 - share))
        return np.asarray(point / self.scale)

    def _split(self, point: FloatVector) -> tuple[FloatVector, FloatVector, FloatVector]:
        """Return a, b and Theta of a scaled point."""
        plain = point * self.scale
        n, shape = len(self.sums.rows), self.sums.frame_sums.shape
        a, theta_entries = plain[:n], plain[self.sides :]
        if not self.symmetric:
            return a, plain[n : self.sides], theta_entries.reshape(shape)
        theta = np.zeros(shape)
        theta[np.triu_indices(shape[0])] = theta_entries
        return a, a, theta + np.triu(theta, 1).T

    def _join(self, a: FloatVector, b: FloatVector, theta: FloatVector) -> FloatVector:
        """Gradient in the scaled variables, from those in a, b and Theta."""
        if self.symmetric:
            double = 2 * theta - np.diag(np.diag(theta))  # an entry above stands for two
            return np.concatenate([a, double[np.triu_indices(len(theta))]]) * self.scale
        return np.concatenate([a, b, theta.ravel()]) * self.scale

    def factors(self, point: FloatVector) -> Factors:
        a, b, theta = self._split(point)
        left = np.column_stack([self.strength * self.sums.left_frame @ theta, a, np.ones_like(a)])
        right = np.column_stack([self.sums.right_frame, np.ones_like(b), b])
        return Factors(left.astype(np.float32), right.astype(np.float32))

    def __call__(self, point: FloatVector) -> tuple[float, FloatVector]:
        a, b, theta = self._split(point)
        sums, cap = self.sums, self.cap
        right = sums.right_frame.astype(np.float32)
        parts = self.blocks.map(_moments, self.factors(point), right)
        logs, by_row, by_column, products = zip(*parts, strict=True)
        rows = cap * np.concatenate(by_row)
        columns = rows if self.symmetric else cap * np.sum(by_column, 0)
        groups = cap * (sums.left_frame.T @ np.concatenate(products))
        if self.symmetric:
            groups = (groups + groups.T) / 2
        near_a, near_b = a - a.mean(), b - b.mean()
        value = self.half * (
            cap * sum(logs)
            - self.strength * float((theta * sums.frame_sums).sum())
            + 0.5 * float((self.slack * theta**2).sum())
            + 0.5 * self.ridge * float(near_a @ near_a + near_b @ near_b)
        )
        value -= float(a @ sums.rows if self.symmetric else a @ sums.rows + b @ sums.columns)
        slope = self.half * (self.strength * (groups - sums.frame_sums) + self.slack * theta)
        row_slope = rows - sums.rows + self.ridge * near_a
        return value, self._join(row_slope, columns - sums.columns + self.ridge * near_b, slope)

    def _curvature(self) -> FloatVector:
        """Return nearly the diagonal of the Hessian at the start, in plain variables."""
        by_row, by_column = zip(*self.blocks.map(_spreads, self.factors(self.start())), strict=True)
        rows = self.cap * np.concatenate(by_row)
        columns = rows if self.symmetric else self.cap * np.sum(by_column, axis=0)
        # As if the spread x (1 - x/cap) of a pair were a product of one number for each end.
        left, right = self.sums.left_frame, self.sums.right_frame
        root = math.sqrt(max(rows.sum(), _TINY))  # nothing is spread where evidence settles all
        shares_left, shares_right = rows / root, columns / root
        squares = np.outer((left**2).T @ shares_left, (right**2).T @ shares_right)
        core = self.half * (self.strength**2 * squares + self.slack)
        if not self.symmetric:
            return np.concatenate([rows + self.ridge, columns + self.ridge, core.ravel()])
        crossed = (left.T * shares_left) @ left
        double = 2 * core + self.strength**2 * crossed**2
        np.fill_diagonal(double, np.diag(core))
        return np.concatenate([rows + self.ridge, double[np.triu_indices(len(core))]])


def _moments(
    block: RowBlock, factors: Factors, right: _Short
) -> tuple[float, FloatVector, FloatVector, npt.NDArray[np.float64]]:
    """Return the sum of log(1 + e^L), the row and column sums of sigmoid(L), and sigmoid(L) R."""
    rows, columns = map(np.zeros, block.shape)
    products = np.zeros((block.shape[0], right.shape[1]))
    logs = 0.0
    for chunk, rows_of_chunk in chunks(block, _PIECE):
        odds = _log_odds(chunk, factors)
        logs += float(np.maximum(odds, 0).sum(dtype=np.float64))
        small = np.exp(-np.abs(odds))
        one_plus = small + np.float32(1)  # 1 + e^-|L|
        logs += float(np.log(one_plus).sum(dtype=np.float64))
        x = np.where(odds > 0, np.float32(1), small)
        x /= one_plus
        rows[rows_of_chunk] = x.sum(axis=1)
        if not block.layout.symmetric:
            columns += x.sum(axis=0)
        products[rows_of_chunk] = x @ right
    return logs, rows, columns, products


def _spreads(block: RowBlock, factors: Factors) -> tuple[FloatVector, FloatVector]:
    """Return row and column sums of x (1 - x), x = sigmoid(L)."""
    rows, columns = map(np.zeros, block.shape)
    for chunk, rows_of_chunk in chunks(block, _PIECE):
        x = sigmoid(_log_odds(chunk, factors))
        x *= 1 - x
        rows[rows_of_chunk] = x.sum(axis=1)
        columns += x.sum(axis=0)
    return rows, columns


def synthetic_rows(block: RowBlock, factors: Factors, cap: float) -> RealMatrix:
    """Return rows of x, float32, zero on the diagonal."""
    x = sigmoid(_log_odds(block, factors))
    x *= np.float32(cap)
    return block.clear_diagonal(x)


def sigmoid(odds: RealMatrix) -> RealMatrix:
    """1/(1 + e^-odds), in place and without overflow."""
    np.clip(odds, _NEVER, -_NEVER, out=odds)
    np.negative(odds, out=odds)
    np.exp(odds, out=odds)
    odds += 1
    np.reciprocal(odds, out=odds)
    return odds


def _log_odds(block: RowBlock, factors: Factors) -> RealMatrix:
    odds = factors.left[block.start : block.stop] @ factors.right.T
    odds += block.evidence(np.float32)
    if block.layout.hollow:
        odds[np.arange(len(odds)), np.arange(block.start, block.stop)] = _NEVER
    return odds


def maximum_entropy(
    problem: FitProblem, *, time_limit: float | None = None, progress: Progress = silent
) -> Fit:
    """The matrix of largest entropy, relative to the noisy bits' own odds, with credible sums.

    The fits that only minimise a norm of x - z spend the freedom that is left on cuts between
    communities, and make those 4 to 25 times worse than in z. Here x gives every noisy entry the
    weight of the evidence that it is, and is held to the sums that the noisy data show well:

    1. Structure: directions of z beyond its noise, denoised, with sizes such that inner products
       along the true directions are unbiased, and soft blocks of vertices
       (`sharpened_structure`).
    2. Degrees and sums over pairs of blocks (`credible_sums`).
    3. x = cap sigmoid(evidence + a_i + b_j + s q_i^T Theta r_j) with those sums (`solve`).

    Guarantee: x lies in the box. It minimises no norm of x - z, so the worst error is bounded
    through the certificate of x - z: ||x - A||_C <= ||x - z||_C + ||z - A||_C. A release compares
    that certificate with `noise_cut_bound` and mixes x with the first-order fit where it is
    larger, so ||x - A||_C is at most twice that bound.

    With s the deviation of the noise if all of epsilon were spent on entries, blocks were mostly
    told apart when (p_in - p_out) |block| was above about 1.5 s sqrt(n); at 1.4 some of them were
    merged in half of the releases, and below once that no method sees them: cuts between them then
    come out as if the graph had its degrees only. `Fit.near_noise` tells.

    Source: GRU12 section 6 (post-processing of z); Jaynes 1957 (maximum entropy).

    Args:
        problem: z with its distribution, in a box with a cap, and noisy sums.
        time_limit: seconds after which the point reached is returned; None for no limit.
        progress: called with the fraction done and a message.
    """
    blocks, cap = problem.blocks, problem.cap
    if blocks.distribution is None or math.isinf(cap):
        raise ParameterError(
            "fit 'maximum-entropy' needs the noise's distribution and a public maximum weight: "
            "give max_weight, or choose fit='first-order'"
        )
    deadline = Deadline.after(time_limit)
    progress(0.0, "looking for structure")
    with one_blas_thread():
        sums = credible_sums(problem, blocks.distribution, deadline)

    factors, rounds, stopped = solve(blocks, sums, cap, deadline=deadline, progress=progress)
    x = blocks.gather(synthetic_rows, factors, cap, width=problem.shape[1], dtype=np.float32)
    if problem.symmetric:
        mirror_upper(x, blocks.layout)
    return Fit(
        matrix=x,
        method="maximum-entropy",
        objective="relative entropy",
        rounds=rounds,
        stopped=stopped,
        near_noise=sums.near_noise,
        directions=sums.directions,
    )
