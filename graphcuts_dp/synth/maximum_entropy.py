"""Fit for cuts of every kind, by maximum entropy with given sums.

The fit is x_ij = cap sigmoid(l_ij), with the *log-odds*

    l_ij = e_ij + a_i + b_j + s q_i^T Theta r_j.

The *evidence* e_ij is the log likelihood ratio of the noisy entry. Q and R are *frames*: matrices
whose columns stand for soft groups of rows and of columns, with rows q_i and r_j. The numbers a, b
and Theta are such that x nearly has given row and column sums, and given sums Q^T x R over pairs of
soft groups. Among all matrices in the box with these sums, x is the nearest to the evidence in
relative entropy. It always exists, and lies in the box, and no n x n matrix is held until the end.

Read `maximum_entropy` first. `solve` finds a, b and Theta as the minimum of `_Dual`.
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
_ROUNDS = 160  # most rounds of L-BFGS
_MEMORY = 12  # earlier gradients that L-BFGS keeps
_TOLERANCE = 0.01  # largest component of the scaled gradient at which it ends
_VALUE_TOLERANCE = 1e-12  # relative decrease of the value in a round at which it ends
_TINY = 1e-300  # keeps a vector of zeros from being divided by 0
_LEAST_LOG_ODDS = -60.0  # smaller ones, and those of the diagonal, give a weight of 1e-26
_STRUCTURE_PROGRESS = 0.3  # share of the progress bar for the search for structure
# Share of the cap that the start gives every pair, at least and at most.
_LEAST_START, _LARGEST_START = 1e-4, 0.999

_Short = npt.NDArray[np.float32]


class Factors(NamedTuple):
    """Factors of the log-odds less the evidence, l - e = left right^T.

    Attributes:
        left: shape (rows, k).
        right: shape (columns, k).
    """

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
    """Find the log-odds of the fit, by L-BFGS.

    It minimises the function of `_Dual` in 20 to 100 rounds, each of time O(n^2 k).

    Args:
        blocks: the noisy matrix, with its distribution.
        sums: the sums that x is to have.
        cap: largest weight, finite.
        rounds: most rounds, >= 1.
        deadline: after it the last point is returned.
        progress: called after each round.

    Returns:
        The factors of the log-odds less the evidence, the number of rounds, and what ended them.
    """
    dual = _Dual(blocks, sums, cap)
    done = 0
    stopped: Stopped = "settled"

    def after_round(_: FloatVector) -> None:
        nonlocal done, stopped
        done += 1
        progress(
            _STRUCTURE_PROGRESS + (1 - _STRUCTURE_PROGRESS) * done / rounds,
            f"matching sums, round {done}",
        )
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
        options={
            "maxiter": rounds,
            "maxcor": _MEMORY,
            "gtol": _TOLERANCE,
            "ftol": _VALUE_TOLERANCE,
        },
    )
    return dual.factors(solution.x), done, stopped


class _Dual:
    """The convex function whose minimum gives a, b and Theta, with its gradient.

    With the wanted row sums d, column sums d' and sums G over pairs of soft groups, it is

        h cap sum log(1 + e^l) - <a, d> - <b, d'> - h s <Theta, G>
        + h slack |Theta|^2/2 + h ridge (|a - mean a|^2 + |b - mean b|^2)/2.

    Its gradient is the difference between the sums of x and the wanted ones, plus the last two
    terms, which let the sums differ a little. For a symmetric matrix h = 1/2, since its pairs
    appear twice; then a = b, and Theta is symmetric. Else h = 1. The strength s is the root of the
    number of entries, so that frames with columns of length 1 weigh as much as degrees.

    L-BFGS sees *scaled* variables: the entries of a, b and Theta divided by `scale`, the inverse
    root of the Hessian's diagonal. They stand in this order, for a symmetric matrix without b and
    with the upper half of Theta.
    """

    def __init__(self, blocks: Blocks, sums: Targets, cap: float) -> None:
        self.blocks, self.sums, self.cap = blocks, sums, cap
        self.symmetric = blocks.layout.symmetric
        self.half = 0.5 if self.symmetric else 1.0  # h
        self.strength = math.sqrt(math.prod(blocks.shape))  # s
        self.slack = cap * sums.slack * self.strength
        self.ridge = cap * sums.ridge * self.strength
        self.sides = len(sums.rows) + (0 if self.symmetric else len(sums.columns))
        k = len(sums.frame_sums)
        free = k * (k + 1) // 2 if self.symmetric else sums.frame_sums.size
        self.scale = np.ones(self.sides + free)
        self.scale = 1 / np.sqrt(self._curvature())

    def start(self) -> FloatVector:
        """Return the start: equal log-odds for all pairs, with the wanted total, if e were 0."""
        total = float(self.sums.rows.sum())
        share = min(max(total / (self.cap * self.strength**2), _LEAST_START), _LARGEST_START)
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
        """Return the gradient in the scaled variables, from those in a, b and Theta."""
        if self.symmetric:
            double = 2 * theta - np.diag(np.diag(theta))  # an entry above stands for two
            return np.concatenate([a, double[np.triu_indices(len(theta))]]) * self.scale
        return np.concatenate([a, b, theta.ravel()]) * self.scale

    def factors(self, point: FloatVector) -> Factors:
        """Return the factors of the log-odds at a scaled point."""
        a, b, theta = self._split(point)
        left = np.column_stack([self.strength * self.sums.left_frame @ theta, a, np.ones_like(a)])
        right = np.column_stack([self.sums.right_frame, np.ones_like(b), b])
        return Factors(left.astype(np.float32), right.astype(np.float32))

    def __call__(self, point: FloatVector) -> tuple[float, FloatVector]:
        """Return the value and the gradient at a scaled point."""
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
        """Return nearly the diagonal of the Hessian at the start, in plain variables.

        With w_ij = cap x (1 - x) at x = sigmoid(l_ij), the second derivative by a_i is the sum of
        row i of w, and that by Theta_kl is h (s^2 sum_ij q_ik^2 r_jl^2 w_ij + slack). Here w_ij is
        taken to be the product of its row and column sums over the sum of all. For a symmetric
        matrix an entry of Theta above the diagonal stands for two: their derivatives add up, with
        s^2 sum_ij q_ik q_il w_ij q_jk q_jl twice.
        """
        by_row, by_column = zip(*self.blocks.map(_spreads, self.factors(self.start())), strict=True)
        rows = self.cap * np.concatenate(by_row)
        columns = rows if self.symmetric else self.cap * np.sum(by_column, axis=0)
        left, right = self.sums.left_frame, self.sums.right_frame
        root = math.sqrt(max(rows.sum(), _TINY))
        shares_left, shares_right = rows / root, columns / root
        squared_sums = np.outer((left**2).T @ shares_left, (right**2).T @ shares_right)
        core = self.half * (self.strength**2 * squared_sums + self.slack)
        if not self.symmetric:
            return np.concatenate([rows + self.ridge, columns + self.ridge, core.ravel()])
        cross_sums = (left.T * shares_left) @ left
        double = 2 * core + self.strength**2 * cross_sums**2
        np.fill_diagonal(double, np.diag(core))
        return np.concatenate([rows + self.ridge, double[np.triu_indices(len(core))]])


def _moments(
    block: RowBlock, factors: Factors, right: _Short
) -> tuple[float, FloatVector, FloatVector, npt.NDArray[np.float64]]:
    """Return the sum of log(1 + e^l), the row and column sums of sigmoid(l), and sigmoid(l) R.

    They are of the rows of a block. Of a symmetric matrix the column sums are zeros.
    """
    rows, columns = map(np.zeros, block.shape)
    products = np.zeros((block.shape[0], right.shape[1]))
    logs = 0.0
    for chunk, rows_of_chunk in chunks(block, _PIECE):
        log_odds = _log_odds(chunk, factors)
        # log(1 + e^l) = max(l, 0) + log(1 + e^-|l|), without overflow.
        logs += float(np.maximum(log_odds, 0).sum(dtype=np.float64))
        small = np.exp(-np.abs(log_odds))
        one_plus = small + np.float32(1)
        logs += float(np.log(one_plus).sum(dtype=np.float64))
        x = np.where(log_odds > 0, np.float32(1), small)
        x /= one_plus
        rows[rows_of_chunk] = x.sum(axis=1)
        if not block.layout.symmetric:
            columns += x.sum(axis=0)
        products[rows_of_chunk] = x @ right
    return logs, rows, columns, products


def _spreads(block: RowBlock, factors: Factors) -> tuple[FloatVector, FloatVector]:
    """Return row and column sums of x (1 - x), x = sigmoid(l), of the rows of a block."""
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


def sigmoid(log_odds: RealMatrix) -> RealMatrix:
    """Return 1/(1 + e^-l), in place and without overflow."""
    np.clip(log_odds, _LEAST_LOG_ODDS, -_LEAST_LOG_ODDS, out=log_odds)
    np.negative(log_odds, out=log_odds)
    np.exp(log_odds, out=log_odds)
    log_odds += 1
    np.reciprocal(log_odds, out=log_odds)
    return log_odds


def _log_odds(block: RowBlock, factors: Factors) -> RealMatrix:
    """Return l for the rows of a block; its diagonal gives no weight."""
    log_odds = factors.left[block.start : block.stop] @ factors.right.T
    log_odds += block.evidence(np.float32)
    if block.layout.hollow:
        rows = np.arange(len(log_odds))
        log_odds[rows, rows + block.start] = _LEAST_LOG_ODDS
    return log_odds


def maximum_entropy(
    problem: FitProblem, *, time_limit: float | None = None, progress: Progress = silent
) -> Fit:
    """Fit the matrix nearest to the evidence in relative entropy, with sums that z shows well.

    A fit that only minimises a norm of x - z may put its errors anywhere. It puts them on cuts
    between communities, which get 4 to 25 times as wrong as in z. This fit weighs each noisy entry
    as the evidence that it is, and keeps the sums that the noisy data show well:

    1. Find the structure: directions of z that are detected in its noise, and soft blocks of
       vertices (`sharpened_structure`).
    2. Estimate degrees, and sums over pairs of blocks (`credible_sums`).
    3. Find the log-odds with these sums (`solve`).

    Guarantee: x lies in the box. It minimises no norm of x - z, so its worst error is bounded by
    the certificate of x - z: ||x - A||_C <= ||x - z||_C + ||z - A||_C. If this certificate exceeds
    `noise_cut_bound`, a release mixes x with the first-order fit. So ||x - A||_C is at most twice
    that bound.

    Measured: let s be the deviation of the noise if all of epsilon were spent on entries. Blocks
    whose density differs by (p_in - p_out) were mostly separated if (p_in - p_out) |block| was
    above about 1.5 s sqrt(n). At 1.4 times, some of them were merged in half of the releases. Below
    1 no method detects them, and cuts between them come out as if the graph had only its degrees.
    `Fit.near_noise` counts directions that are close to this limit.

    Source: GRU12 section 6 (post-processing of z); Jaynes 1957 (maximum entropy).

    Args:
        problem: z with its distribution, in a box with a cap, and noisy sums.
        time_limit: seconds after which the point reached is returned; None for no limit.
        progress: called with the fraction done and a message.

    Raises:
        ParameterError: the distribution of z is unknown, or weights have no public maximum.
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
