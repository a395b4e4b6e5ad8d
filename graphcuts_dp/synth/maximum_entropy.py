"""Fit for cuts of every kind, by maximum entropy with given sums.

The fit is x_ij = cap sigmoid(l_ij), with the *log-odds*

    l_ij = e_ij + a_i + b_j + s q_i^T Theta r_j.

- The *evidence* e_ij is the log likelihood ratio of the noisy entry: log P(entry | edge) - log
  P(entry | no edge). `RowBlock.evidence` returns it for a block of rows.
- Q and R are *frames*: matrices with orthonormal columns that stand for soft groups of rows and of
  columns. Their rows are q_i and r_j. The strength s is a constant scale.
- The *multipliers* a, b and Theta are such that x nearly has given row and column sums, and given
  sums Q^T x R over pairs of soft groups (`Targets`).

Among all matrices in the box (entries in [0, cap]) with these sums, x is the nearest to the
evidence in relative entropy. The multipliers are the minimum of the convex function `_Dual`. With
its small penalties a minimum always exists, whatever the sums are.

Without the evidence, the log-odds are a product of two thin matrices (`Factors`). So they are
computed for a few rows at a time, and no n x n matrix is held until the end.

Read `maximum_entropy` first.
"""

import math
from collections.abc import Callable
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

_CHUNK_ENTRIES = 1 << 17  # entries of the rows worked on at once: they stay in the cache
_ROWS_OF_PRODUCT = 64  # rows whose numbers from 1 to 2 are multiplied in float32
_ROUNDS = 160  # most rounds of L-BFGS
_LINE_SEARCH = 8  # most points of a round; if none of them will do, the search has ended
_MEMORY = 12  # earlier gradients that L-BFGS keeps
_TOLERANCE = 0.01  # largest component of the scaled gradient at which it ends
_VALUE_TOLERANCE = 1e-12  # relative decrease of the value in a round at which it ends
_TINY = 1e-300  # keeps a vector of zeros from being divided by 0
_LEAST_LOG_ODDS = -60.0  # smaller ones count as this; the diagonal has it, as a weight of 1e-26
_STRUCTURE_PROGRESS = 0.3  # share of the progress bar for the search for structure
# Least and largest share of the cap that all pairs together have at the start, and the least share
# of a row or column there, as a multiple of the mean one.
_LEAST_START, _LARGEST_START = 1e-4, 0.999
_LEAST_OF_MEAN = 0.01
_EQUAL_START_ENTRIES = 1 << 22  # entries up to which all pairs start with the same weight

Float32Matrix = npt.NDArray[np.float32]


class _Settled(Exception):  # noqa: N818  # it is a result
    """Raised with a point whose gradient is within the tolerance."""

    def __init__(self, point: FloatVector) -> None:
        super().__init__()
        self.point = point


class Factors(NamedTuple):
    """Factors of the log-odds less the evidence, l - e = left right^T.

    They are left = (s Q Theta, a, 1) and right = (R, 1, b). R has l columns.

    Attributes:
        left: shape (rows, l + 2).
        right: shape (columns, l + 2).
    """

    left: Float32Matrix
    right: Float32Matrix


def solve(
    blocks: Blocks,
    targets: Targets,
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
        targets: the sums that x is to have.
        cap: largest weight, finite.
        rounds: most rounds, >= 1.
        deadline: after it the last point is returned.
        progress: called after each round.

    Returns:
        The factors of the log-odds less the evidence, the number of rounds, and what ended them.
    """
    dual = _Dual(blocks, targets, cap)
    rounds_done = 0
    stopped: Stopped = "settled"

    def after_round(_: FloatVector) -> None:
        nonlocal rounds_done, stopped
        rounds_done += 1
        progress(
            _STRUCTURE_PROGRESS + (1 - _STRUCTURE_PROGRESS) * rounds_done / rounds,
            f"matching sums, round {rounds_done}",
        )
        if deadline.passed():
            stopped = "time"
            raise StopIteration  # scipy ends and returns the present point
        if rounds_done == rounds:
            stopped = "rounds"

    def until_settled(point: FloatVector) -> tuple[float, FloatVector]:
        """Return value and gradient; end at any point within the tolerance.

        L-BFGS accepts a point only if its value is lower. Near the minimum of a large matrix the
        rounding of float32 hides that, and the search would go on for dozens of points.
        """
        value, gradient = dual(point)
        if np.abs(gradient).max() <= _TOLERANCE:
            raise _Settled(point.copy())
        return value, gradient

    start = dual.start()
    try:
        end = _minimum(until_settled, start, rounds, after_round)
    except _Settled as settled:
        end = settled.point
        rounds_done += int(not np.array_equal(end, start))
    return dual.factors(end), rounds_done, stopped


def _minimum(
    function: Callable[[FloatVector], tuple[float, FloatVector]],
    start: FloatVector,
    rounds: int,
    after_round: Callable[[FloatVector], None],
) -> FloatVector:
    """Return the point where L-BFGS ends; for the arguments see `solve`."""
    solution = scipy.optimize.minimize(
        function,
        start,
        jac=True,
        method="L-BFGS-B",
        callback=after_round,
        options={
            "maxiter": rounds,
            "maxcor": _MEMORY,
            "maxls": _LINE_SEARCH,
            "gtol": _TOLERANCE,
            "ftol": _VALUE_TOLERANCE,
        },
    )
    return np.asarray(solution.x)


class _Dual:
    """The convex function whose minimum gives a, b and Theta, with its gradient.

    With the wanted row sums d, column sums d' and sums G over pairs of soft groups, it is

        h ( cap sum_ij log(1 + e^l_ij) - <a, d> - <b, d'> - s <Theta, G>
            + sum_kl slack_kl Theta_kl^2/2 + ridge (|a - mean a|^2 + |b - mean b|^2)/2 ).

    Since the derivative of log(1 + e^l) is sigmoid(l), the gradient is the difference between the
    sums of x and the wanted ones, plus the derivatives of the last two terms, which let the sums
    differ a little. The strength s is the root of the number of entries, so that frames with
    columns of length 1 weigh as much as degrees.

    For a matrix that is not symmetric h = 1. A symmetric one has every pair twice, so h = 1/2;
    then a = b, d = d', and Theta is symmetric. There a alone is a variable, and the terms of a and
    b are equal: h times both is one of them.

    L-BFGS sees *scaled* variables: the entries of a, b and Theta divided by `scale`, the inverse
    root of the Hessian's diagonal. They stand in this order, for a symmetric matrix without b and
    with the upper half of Theta.

    Attributes:
        half: h.
        strength: s.
        slack: of the formula: that of the targets times cap and s; a matrix, or one number for all.
        ridge: of the formula: that of the targets times cap and s.
        degree_count: number of variables a and b, which stand before those of Theta.
        scale: shape (variables,).
    """

    def __init__(self, blocks: Blocks, targets: Targets, cap: float) -> None:
        self.blocks, self.targets, self.cap = blocks, targets, cap
        self.symmetric = blocks.layout.symmetric
        self.half = 0.5 if self.symmetric else 1.0
        self.strength = math.sqrt(math.prod(blocks.shape))
        self.slack = cap * targets.slack * self.strength
        self.ridge = cap * targets.ridge * self.strength
        self.degree_count = len(targets.rows) + (0 if self.symmetric else len(targets.columns))
        k = len(targets.frame_sums)
        theta_count = k * (k + 1) // 2 if self.symmetric else targets.frame_sums.size
        # `_hessian_diagonal` reads points, so it needs a scale: 1 makes them plain variables.
        self.scale = np.ones(self.degree_count + theta_count)
        self.scale = 1 / np.sqrt(self._hessian_diagonal())

    def start(self) -> FloatVector:
        """Return the scaled start, whose log-odds a_i + b_j have the wanted total if e = 0.

        With the wanted share p_i = d_i/(cap m) of a row, and p of all rows, a_i is logit(p_i) less
        half of logit(p), and b_j likewise. So a row whose columns have the average b_j has its
        wanted sum; and where all shares are small, x_ij is d_i d'_j/(total), as Chung and Lu have
        it. Evidence moves sums by little: e^e_ij is 1 on average where there is no edge.

        A small matrix starts with p for all, since results of a seed are recorded; there, rounds
        take little time.
        """
        total = float(self.targets.rows.sum())
        mean = min(max(total / (self.cap * self.strength**2), _LEAST_START), _LARGEST_START)
        point = np.zeros(len(self.scale))
        point[: self.degree_count] = math.log(mean / (1 - mean)) / 2
        if math.prod(self.blocks.shape) > _EQUAL_START_ENTRIES:
            rows, columns = self.blocks.shape
            shares = self.targets.rows / (self.cap * columns)
            if not self.symmetric:
                shares = np.concatenate([shares, self.targets.columns / (self.cap * rows)])
            shares = np.clip(shares, _LEAST_OF_MEAN * mean, _LARGEST_START)
            odds = shares / (1 - shares)
            point[: self.degree_count] = np.log(odds) - math.log(mean / (1 - mean)) / 2
        return np.asarray(point / self.scale)

    def _split(self, point: FloatVector) -> tuple[FloatVector, FloatVector, FloatVector]:
        """Return a, b and Theta of a scaled point."""
        plain = point * self.scale
        n, shape = len(self.targets.rows), self.targets.frame_sums.shape
        a, theta_entries = plain[:n], plain[self.degree_count :]
        if not self.symmetric:
            return a, plain[n : self.degree_count], theta_entries.reshape(shape)
        theta = np.zeros(shape)
        theta[np.triu_indices(shape[0])] = theta_entries
        return a, a, theta + np.triu(theta, 1).T

    def _join(self, a: FloatVector, b: FloatVector, theta: FloatVector) -> FloatVector:
        """Return the gradient in the scaled variables, from the gradients in a, b and Theta."""
        if self.symmetric:
            # A variable above the diagonal is two entries of Theta, whose derivatives add up.
            summed = 2 * theta - np.diag(np.diag(theta))
            return np.concatenate([a, summed[np.triu_indices(len(theta))]]) * self.scale
        return np.concatenate([a, b, theta.ravel()]) * self.scale

    def factors(self, point: FloatVector) -> Factors:
        """Return the factors of the log-odds at a scaled point."""
        a, b, theta = self._split(point)
        frames = self.targets.left_frame, self.targets.right_frame
        left = np.column_stack([self.strength * frames[0] @ theta, a, np.ones_like(a)])
        right = np.column_stack([frames[1], np.ones_like(b), b])
        return Factors(left.astype(np.float32), right.astype(np.float32))

    def __call__(self, point: FloatVector) -> tuple[float, FloatVector]:
        """Return the value and the gradient at a scaled point."""
        a, b, theta = self._split(point)
        targets, cap = self.targets, self.cap
        right = targets.right_frame.astype(np.float32)
        block_sums = self.blocks.map(_fit_sums, self.factors(point), right)
        logs, rows_of_blocks, columns_of_blocks, products = zip(*block_sums, strict=True)
        # The sums of x: of rows, of columns, and Q^T x R.
        joined = np.sum if self.symmetric else np.concatenate
        rows = cap * joined(rows_of_blocks, axis=0)
        columns = rows if self.symmetric else cap * np.sum(columns_of_blocks, 0)
        frame_sums = cap * (targets.left_frame.T @ joined(products, axis=0))
        if self.symmetric:  # it is so but for the rounding of float32
            frame_sums = (frame_sums + frame_sums.T) / 2

        centred_a, centred_b = a - a.mean(), b - b.mean()
        value = self.half * (
            cap * sum(logs)
            - self.strength * float((theta * targets.frame_sums).sum())
            + 0.5 * float((self.slack * theta**2).sum())
            + 0.5 * self.ridge * float(centred_a @ centred_a + centred_b @ centred_b)
        )
        if self.symmetric:
            value -= float(a @ targets.rows)
        else:
            value -= float(a @ targets.rows + b @ targets.columns)

        gradient_a = rows - targets.rows + self.ridge * centred_a
        gradient_b = columns - targets.columns + self.ridge * centred_b
        gradient_theta = self.half * (
            self.strength * (frame_sums - targets.frame_sums) + self.slack * theta
        )
        return value, self._join(gradient_a, gradient_b, gradient_theta)

    def _hessian_diagonal(self) -> FloatVector:
        """Return nearly the diagonal of the Hessian at the start, in plain variables.

        With w_ij = cap p (1 - p) for p = sigmoid(l_ij), the second derivatives are

            by a_i:       sum_j w_ij + ridge,
            by Theta_kl:  h (s^2 sum_ij q_ik^2 r_jl^2 w_ij + slack).

        The matrix w is replaced by (its row sums) (its column sums)^T / (its total), which makes
        the last sum a product of two sums. Of a symmetric matrix, the variable of Theta_kl and
        Theta_lk together (k < l) has the second derivatives of both, and twice the mixed one, which
        is h s^2 sum_ij q_ik q_il w_ij q_jk q_jl.
        """
        block_sums = self.blocks.map(_curvature_sums, self.factors(self.start()))
        rows_of_blocks, columns_of_blocks = zip(*block_sums, strict=True)
        rows = self.cap * np.concatenate(rows_of_blocks)  # row sums of w
        columns = rows if self.symmetric else self.cap * np.sum(columns_of_blocks, axis=0)
        left, right = self.targets.left_frame, self.targets.right_frame
        root = math.sqrt(max(rows.sum(), _TINY))
        left_weights, right_weights = rows / root, columns / root  # w_ij is nearly their product
        squared_sums = np.outer((left**2).T @ left_weights, (right**2).T @ right_weights)
        single = self.half * (self.strength**2 * squared_sums + self.slack)  # of Theta_kl alone
        if not self.symmetric:
            return np.concatenate([rows + self.ridge, columns + self.ridge, single.ravel()])
        cross_sums = (left.T * left_weights) @ left
        joint = 2 * single + self.strength**2 * cross_sums**2
        np.fill_diagonal(joint, np.diag(single))
        return np.concatenate([rows + self.ridge, joint[np.triu_indices(len(single))]])


def _fit_sums(
    block: RowBlock, factors: Factors, right: Float32Matrix
) -> tuple[float, FloatVector, FloatVector, npt.NDArray[np.float64]]:
    """Return the sum of log(1 + e^l), the row and column sums of sigmoid(l), and sigmoid(l) R.

    They are sums over the rows of a block. Of a symmetric matrix only the columns from the first
    row of the block on are computed; those right of the block also stand for the entries below the
    diagonal that repeat them. There the last two have a row for each vertex, and the column sums
    are zeros.
    """
    n, m = block.layout.shape
    symmetric = block.layout.symmetric
    first = block.start if symmetric else 0
    beyond = block.stop - first  # first column, from `first` on, right of the diagonal square
    rows, columns = np.zeros(n if symmetric else block.shape[0]), np.zeros(m)
    products = np.zeros((len(rows), right.shape[1]))
    logs = 0.0
    for chunk, rows_of_chunk in chunks(block, _CHUNK_ENTRIES):
        shares, log_sums = _shares_and_logs(_log_odds(chunk, factors, first))
        logs += float(log_sums.sum())
        if not symmetric:
            rows[rows_of_chunk] = shares.sum(axis=1)
            columns += shares.sum(axis=0)
            products[rows_of_chunk] = shares @ right
            continue
        logs += float(log_sums[beyond:].sum())
        of_chunk = slice(chunk.start, chunk.stop)
        rows[of_chunk] += shares.sum(axis=1)
        products[of_chunk] += shares @ right[first:]
        mirrored = shares[:, beyond:]
        rows[block.stop :] += mirrored.sum(axis=0)
        products[block.stop :] += mirrored.T @ right[of_chunk]
    return logs, rows, columns, products


def _shares_and_logs(log_odds: Float32Matrix) -> tuple[Float32Matrix, FloatVector]:
    """Return sigmoid(l), and the sum of log(1 + e^l) over the rows; the log-odds are overwritten.

    Without overflow, with t = e^-|l|: log(1 + e^l) = max(l, 0) + log(1 + t), and sigmoid(l) =
    1/(1 + t) for l > 0, else t/(1 + t). The logarithms are those of products of some rows of 1 + t,
    which lie between 1 and 2^64.

    Returns:
        Shapes (rows, columns) and (columns,).
    """
    if log_odds.max(initial=-1.0) <= 0:  # the usual case of sparse graphs
        sums = np.zeros(log_odds.shape[1])
        t = np.exp(log_odds, out=log_odds)
        one_plus_t = t + np.float32(1)
        shares = t
    else:
        sums = np.maximum(log_odds, 0).sum(axis=0, dtype=np.float64)
        t = np.exp(-np.abs(log_odds))
        one_plus_t = t + np.float32(1)
        shares = np.maximum(log_odds > 0, t)  # as t <= 1; without a branch for each entry
    starts = range(0, len(one_plus_t), _ROWS_OF_PRODUCT)
    factors = np.multiply.reduceat(one_plus_t, starts, axis=0)
    sums += np.log(factors).sum(axis=0, dtype=np.float64)
    shares /= one_plus_t
    return shares, sums


def _curvature_sums(block: RowBlock, factors: Factors) -> tuple[FloatVector, FloatVector]:
    """Return row and column sums of p (1 - p), p = sigmoid(l), of the rows of a block.

    These are the sums of w of `_Dual._hessian_diagonal`, divided by the cap.
    """
    rows, columns = map(np.zeros, block.shape)
    for chunk, rows_of_chunk in chunks(block, _CHUNK_ENTRIES):
        products = sigmoid(_log_odds(chunk, factors))
        products *= 1 - products
        rows[rows_of_chunk] = products.sum(axis=1)
        columns += products.sum(axis=0)
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


def _log_odds(block: RowBlock, factors: Factors, first: int = 0) -> Float32Matrix:
    """Return l for the rows of a block; its diagonal gives no weight.

    Args:
        block: the rows.
        factors: of the log-odds less the evidence.
        first: the first column, at most the first row, and a multiple of 8.
    """
    log_odds: Float32Matrix = factors.left[block.start : block.stop] @ factors.right[first:].T
    log_odds += block.evidence(np.float32, first)
    if block.layout.hollow:
        rows = np.arange(len(log_odds))
        log_odds[rows, rows + block.start - first] = _LEAST_LOG_ODDS
    return log_odds


def maximum_entropy(
    problem: FitProblem, *, time_limit: float | None = None, progress: Progress = silent
) -> Fit:
    """Fit the matrix nearest to the evidence in relative entropy, with sums that z shows well.

    A fit that only minimises a norm of x - z may put its errors on any cut of small norm. Measured,
    it puts them on cuts between communities: their errors are 4 to 25 times those in z. This fit
    weighs each noisy entry as the evidence that it is, and keeps the sums that the noisy data show
    well:

    1. Find the structure: directions of z that are detected in its noise, and soft blocks of
       vertices.
    2. Estimate degrees, and sums over pairs of blocks. Steps 1 and 2 are `credible_sums`.
    3. Find the log-odds with these sums (`solve`).

    Guarantee: x lies in the box. It minimises no norm of x - z, so its worst error is bounded by a
    certificate, a proven upper bound on the cut norm ||x - z||_C:
    ||x - A||_C <= ||x - z||_C + ||z - A||_C. A release computes that certificate. If it exceeds
    `noise_cut_bound`, a bound on ||z - A||_C that holds with high confidence, the release mixes x
    with the first-order fit until it does not, unless the time limit ends this. With that
    confidence ||x - A||_C is then at most twice the bound.

    Measured: let s be the standard deviation of the noise if all of epsilon were spent on entries,
    and let p_in and p_out be the densities inside a block of vertices and between blocks. If
    (p_in - p_out) |block| was above about 1.5 s sqrt(n), blocks were mostly separated. At 1.4
    s sqrt(n), some of them were merged in half of the releases. Below 1 s sqrt(n) no method detects
    them, and cuts between them come out as if the graph had only its degrees. `Fit.near_noise`
    counts directions that are close to this limit.

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
        targets = credible_sums(problem, blocks.distribution, deadline)
        factors, rounds, stopped = solve(blocks, targets, cap, deadline=deadline, progress=progress)
    x = blocks.gather(synthetic_rows, factors, cap, width=problem.shape[1], dtype=np.float32)
    if problem.symmetric:
        # Entries above and below the diagonal may differ in the last bit: copy the former.
        mirror_upper(x, blocks.layout)
    return Fit(
        matrix=x,
        method="maximum-entropy",
        objective="relative entropy",
        rounds=rounds,
        stopped=stopped,
        near_noise=targets.near_noise,
        directions=targets.directions,
    )
