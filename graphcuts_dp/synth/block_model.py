"""Soft block models of a noisy matrix, and the choice between them and sharpened directions.

A block model says that vertices belong to k blocks and that the expected entry of a pair depends on
the blocks of its two vertices alone. Singular vectors find what stands out of the noise one
direction at a time, and lose a direction near the edge of the noise. A block model takes all
entries together and finds blocks even if each of their directions lies near the edge, since every
vertex must belong to one of them. Memberships are soft: probabilities, whose spread also tells how
much of the true blocks they hold.

- `fit_blocks` fits a number of blocks by the equations of Thouless, Anderson and Palmer (TAP): the
  mean-field equations, corrected for what each vertex hears back of its own influence.
- `BlockModel.structure` turns a fit into an estimate with unbiased sums between blocks.
- `best_structure` takes blocks or sharpened singular vectors (`synth.message_passing`), whichever
  the noisy matrix supports.

`View` (the noisy matrix) and `Structure` (a low-rank estimate) are those of `synth.structure`. For
a symmetric matrix, of an undirected graph, both sides are one: `right` is the same object as
`left`. A layout is hollow if no vertex makes a pair with itself. Several starts are iterated at
once, in arrays whose first axis is the start.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix, FloatVector
from graphcuts_dp.resources import NEVER, Deadline
from graphcuts_dp.synth.message_passing import sharpened_structure
from graphcuts_dp.synth.mixture import far_apart, squared_distances
from graphcuts_dp.synth.spectrum import (
    Triples,
    directions_near_noise,
    find_spectrum,
    largest_triples,
)
from graphcuts_dp.synth.structure import Structure, View

_STARTS = 16  # at most
_FEWEST_STARTS = 4
_STARTED_VERTICES = 8000  # vertices times starts, about: large graphs show their blocks anyway
_SHORT_ROUNDS = 12  # rounds of each start
_ROUNDS = 30  # further rounds of the best start
_DAMPING = 0.5  # share of the way to the new memberships that a round goes
_K_MEANS_ROUNDS = 15
_START_CERTAINTY = 0.8  # weight of hard k-means blocks in a start; the rest is spread evenly
_KERNEL_DEVIATION = 0.2  # times the cap: prior deviation of an entry of the kernel from the mean
_TINY = 1e-12
# Least share of a true direction that soft blocks must hold. Without the direction, sums between
# blocks err by all of it; with it, by the noise over this share.
_LEAST_HELD_SHARE = 1 / 2

_MOST_VERTICES = 2048  # of a side, for block models: they read the matrix some hundred times
_MOST_BLOCKS = 10
_CERTAINLY_TRIED = 6  # numbers of blocks up to this one are tried in any case
_PATIENCE = 2  # larger numbers are tried until this many in a row are no better
_EVIDENCE_MARGIN = 3.0  # above the evidence of one block; matrices of noise alone reached 2

_Stack = npt.NDArray[np.float64]  # matrices of several starts at once, shape (starts, ., .)


@final
@dataclass(frozen=True, eq=False)
class BlockModel:
    """Soft blocks of the rows and of the columns, and the mean entry between each two of them.

    Attributes:
        left: P, probability of each block for each row, shape (n_left, k).
        right: Q, the same for the columns, shape (n_right, k); the same object as `left` for a
            symmetric matrix.
        kernel: B, mean entry between blocks, shape (k, k); symmetric for a symmetric matrix.
        evidence: approximate log likelihood of the noisy matrix above that of the zero matrix.
    """

    left: FloatMatrix
    right: FloatMatrix
    kernel: FloatMatrix
    evidence: float

    @property
    def count(self) -> int:
        """Number of blocks of a side."""
        return len(self.kernel)

    def structure(self) -> Structure:
        """Return the estimate P D Q^T whose inner products along the true blocks are unbiased.

        With the true memberships X and Y, a posterior law obeys E[X^T P] = P^T P =: M and
        E[X^T X] = N, the diagonal matrix of the sizes; on the right with M' and N'. So
        X^T (P D Q^T) Y = X^T (X B Y^T) Y in expectation, for D = M^(-1) N B N' M'^(-1).

        The basis C of `_held_directions` has C^T M C = 1 and C^T N C = diag(f), and on the right
        C' and f', which makes P D Q^T equal to (P C) K (Q C')^T with orthonormal columns P C and
        Q C' and K = diag(f) C^T M B M' C' diag(f'). Directions of which P or Q holds less than a
        half are left out of C and C'.
        """
        basis, factors = _held_directions(self.left)
        symmetric = self.right is self.left
        right_basis, right_factors = (basis, factors) if symmetric else _held_directions(self.right)
        core = basis.T @ (self.left.T @ self.left) @ self.kernel @ (self.right.T @ self.right)
        core = factors[:, None] * (core @ right_basis) * right_factors
        left, right = self.left @ basis, self.right @ right_basis
        if symmetric:
            sizes, rotation = np.linalg.eigh((core + core.T) / 2)
            directions = left @ rotation
            return Structure(directions, directions, sizes, self.left, self.right)
        rotation, sizes, right_rotation = np.linalg.svd(core, full_matrices=False)
        return Structure(left @ rotation, right @ right_rotation.T, sizes, self.left, self.right)


def best_structure(
    view: View, deviation: float, deadline: Deadline = NEVER, *, cap: float = 1.0
) -> Structure:
    """Return the structure that the noisy matrix supports best.

    Sharpened singular vectors (`sharpened_structure`) find structure of any kind, but lose what
    lies near the edge of the noise; two blocks then become one. Block models (`fit_blocks`) find
    blocks there, and nothing else. The block model of largest evidence competes if its evidence is
    clearly above that of one block.

    Of the two estimates the one of larger penalised likelihood is returned. The penalty of a block
    model is half the logarithm of the number of pairs for each entry of the kernel, and half the
    logarithm of the number of vertices for each share of a block (Schwarz). If there are blocks and
    no singular direction stands out, one direction counts as near the noise.

    Args:
        view: the noisy matrix. With more than 2,048 vertices no block models are fitted.
        deviation: s, standard deviation of the noise of an entry.
        deadline: when to stop.
        cap: largest weight of a pair.

    Privacy: reads the noisy matrix alone, which is public.

    Source: Schwarz 1978 (the penalty).
    """
    triples = largest_triples(view)
    spectrum = find_spectrum(view, triples)
    near = directions_near_noise(view, triples)
    best = sharpened_structure(view, deadline, spectrum=spectrum)
    if max(view.shape) > _MOST_VERTICES:
        return replace(best, near=near)
    # Entries deviate from their expectation by the noise, and since edges are random themselves.
    deviation = max(deviation, spectrum.deviation)
    blocks = _best_blocks(view, triples, deviation, cap, deadline)
    if blocks is not None:
        if not len(spectrum.signal):
            near = max(near, 1)
        block_structure = blocks.structure()
        gain = explained(block_structure, view) - explained(best, view)
        if gain > deviation**2 * _penalty(blocks.count, view):
            best = block_structure
    return replace(best, near=near)


def explained(structure: Structure, view: View) -> float:
    """Return s^2 times the log likelihood of a noisy matrix above that of no structure.

    With T the structure's estimate of the entry z, that is the sum over pairs of z T - T^2/2.
    """
    left, right = structure.left, structure.right
    observed = (left * view.times(right)).sum(axis=0)  # f^T Z g for each direction
    estimate_squares = float((structure.sizes**2).sum())
    if view.blocks.layout.hollow:  # no vertex makes a pair with itself
        diagonal = (left * right) @ structure.sizes
        estimate_squares -= float(diagonal @ diagonal)
    over_entries = float(np.dot(structure.sizes, observed) - estimate_squares / 2)
    return over_entries / 2 if view.symmetric else over_entries  # pairs are entries twice


def fit_blocks(
    view: View, triples: Triples, count: int, deviation: float, cap: float = 1.0
) -> BlockModel:
    """Fit a block model with a number of blocks on each side.

    1. k-means on the first `count` singular vectors, or one more, from several starts.
    2. The TAP equations, in turn for the kernel and the memberships. Notation for the soft
       memberships P of the rows: N = diag(column sums), M = P^T P and V = N - M, the sum of the
       covariances of the memberships; N', M', V' for Q of the columns.

       The kernel is B = (P^T Z Q + V B V' + d b)/(pairs + d). Here V B V' is what the noise of a
       pair adds to the joint law of the memberships of its two vertices, `pairs` is the expected
       number of pairs between blocks, b is the mean entry, and d is the number of pairs that the
       prior law of the kernel counts for.

       Memberships are
       log P_il = ((Z Q B^T)_il - (P_before B V' B^T)_il - 1/2 (B M' B^T)_ll)/s^2 + log share_l
       up to a constant, where P_before are the memberships of the round before: the second term
       takes out what each vertex hears back of what it sent. The same for Q. A round goes half of
       the way. Without V these are the mean-field equations, which mistake noise for blocks.

    The start of largest evidence goes on alone. The evidence is that of Plefka's expansion to
    second order, (<P^T Z Q, B> - 1/2 <pairs, B^2> + 1/2 tr(V B V' B^T))/s^2, half of it for a
    symmetric matrix, plus the entropy of P and Q relative to the shares of the blocks. The prior
    law of each entry of the kernel is normal around the mean entry with deviation cap/5. The kernel
    is integrated out as if its posterior were normal (Laplace's method).

    Args:
        view: the noisy matrix Z.
        triples: its leading singular triples, see `largest_triples`.
        count: number of blocks.
        deviation: s, standard deviation of the noise of an entry.
        cap: largest weight of a pair; entries of the kernel are clipped to [-cap, cap].

    Privacy: reads the noisy matrix alone, which is public.

    Source: Thouless, Anderson, Palmer 1977; Plefka 1982; for blocks in Gaussian noise Lesieur,
    Krzakala, Zdeborova 2017.
    """
    equations = _TapEquations(view, deviation, cap)
    random = np.random.default_rng(count)  # starting points only: nothing private, no noise
    n, m = view.shape
    if count == 1:  # all memberships are 1
        left = np.ones((1, n, 1))
        right = left if view.symmetric else np.ones((1, m, 1))
        return equations.best(_State(left, right, left, right))[0]
    lefts, rights = [], []
    starts = max(_FEWEST_STARTS, min(_STARTS, _STARTED_VERTICES // max(n, m)))
    for start in range(starts):
        dimensions = count + start % 2
        lefts.append(_soft_start(triples[1][:, :dimensions], count, random))
        if not view.symmetric:
            rights.append(_soft_start(triples[2][:, :dimensions], count, random))
    left = np.stack(lefts)
    right = left if view.symmetric else np.stack(rights)
    state = equations.iterated(_State(left, right, left, right), _SHORT_ROUNDS)
    _, best_state = equations.best(state)
    return equations.best(equations.iterated(best_state, _ROUNDS))[0]


def _best_blocks(
    view: View, triples: Triples, deviation: float, cap: float, deadline: Deadline
) -> BlockModel | None:
    """Return the block model of largest evidence; None if one block explains as much."""
    best = None
    best_evidence = fit_blocks(view, triples, 1, deviation, cap).evidence + _EVIDENCE_MARGIN
    numbers_without_gain = 0
    most = min(_MOST_BLOCKS, min(view.shape) // 2, len(triples[0]))
    for count in range(2, most + 1):
        out_of_patience = count > _CERTAINLY_TRIED and numbers_without_gain >= _PATIENCE
        if deadline.passed() or out_of_patience:
            break
        blocks = fit_blocks(view, triples, count, deviation, cap)
        if blocks.evidence > best_evidence:
            best, best_evidence, numbers_without_gain = blocks, blocks.evidence, 0
        else:
            numbers_without_gain += 1
    return best


def _penalty(count: int, view: View) -> float:
    """Return Schwarz's penalty of a log-likelihood for a number of blocks.

    Half a logarithm for each free number: those of the kernel, and count - 1 shares of a side.
    """
    n, m = view.shape
    if view.symmetric:
        return count * (count + 1) / 4 * math.log(n * (n - 1) / 2) + (count - 1) / 2 * math.log(n)
    return count**2 / 2 * math.log(n * m) + (count - 1) / 2 * math.log(n * m)


def _soft_start(points: FloatMatrix, count: int, random: np.random.Generator) -> FloatMatrix:
    """Return memberships near those of k-means, shape (points, count)."""
    return _START_CERTAINTY * _k_means(points, count, random) + (1 - _START_CERTAINTY) / count


def _k_means(points: FloatMatrix, count: int, random: np.random.Generator) -> FloatMatrix:
    """Return 0/1 memberships by k-means from k-means++ centres, shape (points, count)."""
    centres = far_apart(points, count, random)
    memberships, previous = np.zeros((0, count)), None
    for _ in range(_K_MEANS_ROUNDS):
        nearest = squared_distances(points, centres).argmin(axis=1)
        if previous is not None and np.array_equal(nearest, previous):
            break  # the centres would stay
        memberships, previous = np.eye(count)[nearest], nearest
        sizes = memberships.sum(axis=0)[:, None]
        means = memberships.T @ points / np.maximum(sizes, 1)
        centres = np.where(sizes > 0, means, centres)
    return memberships


def _held_directions(memberships: FloatMatrix) -> tuple[FloatMatrix, FloatVector]:
    """Return the directions of which soft memberships hold enough of the true ones.

    With M = P^T P and W = M^(-1/2), the share of a direction that P holds is the inverse of an
    eigenvalue of W^T N W, N being the diagonal matrix of the sizes.

    Returns:
        C such that P C has orthonormal columns, shape (k, r), and the inverse share of each, (r,).
    """
    moments = _Moments.of(memberships)
    eigenvalues, axes = np.linalg.eigh(moments.products)
    nonzero = eigenvalues > _TINY * eigenvalues.max()
    whitening = axes[:, nonzero] / np.sqrt(eigenvalues[nonzero])
    inverse_shares, rotation = np.linalg.eigh((whitening.T * moments.sizes) @ whitening)
    clear = inverse_shares * _LEAST_HELD_SHARE <= 1
    return whitening @ rotation[:, clear], inverse_shares[clear]


class _Moments(NamedTuple):
    """Moments of memberships P of shape (n, k), or of a stack of them.

    Attributes:
        sizes: column sums, the expected sizes of the blocks, shape (..., k).
        products: M = P^T P, shape (..., k, k).
        covariance: V = diag(sizes) - M, the sum of the covariances of the memberships.
    """

    sizes: FloatMatrix
    products: _Stack
    covariance: _Stack

    @classmethod
    def of(cls, memberships: _Stack) -> Self:
        sizes, products = memberships.sum(axis=-2), memberships.mT @ memberships
        return cls(sizes, products, _diagonal_matrices(sizes) - products)


class _State(NamedTuple):
    """State of the iteration of the TAP equations, from several starts.

    Attributes:
        left: P, shape (starts, n_left, k).
        right: Q, shape (starts, n_right, k); the same object as `left` for a symmetric matrix.
        previous_left: P of the round before.
        previous_right: Q of the round before.
        kernel: B of the last round, shape (starts, k, k); None before the first round.
    """

    left: _Stack
    right: _Stack
    previous_left: _Stack
    previous_right: _Stack
    kernel: _Stack | None = None


@dataclass(frozen=True, eq=False)
class _TapEquations:
    """The TAP equations of a noisy matrix; see `fit_blocks` for the formulas.

    Attributes:
        view: Z.
        deviation: s, standard deviation of the noise of an entry.
        cap: largest weight of a pair.
    """

    view: View
    deviation: float
    cap: float

    @property
    def multiplicity(self) -> int:
        """Number of entries of the matrix for each pair: 2 if it is symmetric, else 1."""
        return 2 if self.view.symmetric else 1

    @property
    def kernel_deviation(self) -> float:
        """Standard deviation of the prior law of an entry of the kernel."""
        return _KERNEL_DEVIATION * self.cap

    @property
    def prior_pairs(self) -> float:
        """The d of `fit_blocks`: how many entries the prior law of the kernel counts for."""
        return float(self.multiplicity * (self.deviation / self.kernel_deviation) ** 2)

    def iterated(self, state: _State, rounds: int) -> _State:
        """Return the state after some rounds of step 2 of `fit_blocks`."""
        for _ in range(rounds):
            state = self._next(state)
        return state

    def best(self, state: _State) -> tuple[BlockModel, _State]:
        """Return the model of the start with the largest evidence, and the state of it alone."""
        moments = self._moments(state)
        kernel, totals = self._kernel(state, moments, self._times(state.right))
        evidence = self._evidence(state, moments, kernel, totals)
        start = int(np.argmax(evidence))
        left = state.left[start]
        right = left if self.view.symmetric else state.right[start]
        model = BlockModel(left, right, kernel[start], float(evidence[start]))
        only = slice(start, start + 1)
        return model, _State(
            state.left[only],
            state.right[only],
            state.previous_left[only],
            state.previous_right[only],
            None if state.kernel is None else state.kernel[only],
        )

    def _next(self, state: _State) -> _State:
        """Return the state after one round."""
        moments = self._moments(state)
        left_moments, right_moments = moments
        row_sums = self._times(state.right)
        B, _ = self._kernel(state, moments, row_sums)
        left = self._updated(state.left, state.previous_left, row_sums, B, right_moments)
        if self.view.symmetric:
            return _State(left, left, state.left, state.left, B)
        column_sums = self._transposed_times(state.left)
        right = self._updated(state.right, state.previous_right, column_sums, B.mT, left_moments)
        return _State(left, right, state.left, state.right, B)

    def _updated(
        self,
        memberships: _Stack,
        previous: _Stack,
        sums: _Stack,
        B: _Stack,
        other_moments: _Moments,
    ) -> _Stack:
        """Return the memberships of one side after a round.

        Args:
            memberships: P, shape (starts, n, k).
            previous: P of the round before.
            sums: Z Q for the memberships Q of the other side, shape (starts, n, k).
            B: kernel, with the blocks of this side first.
            other_moments: of Q.
        """
        logs = sums @ B.mT - previous @ (B @ other_moments.covariance @ B.mT)
        squares = np.diagonal(B @ other_moments.products @ B.mT, axis1=1, axis2=2)
        logs = (logs - squares[:, None] / 2) / self.deviation**2
        logs += np.log(memberships.mean(axis=1, keepdims=True) + _TINY)
        logs -= logs.max(axis=2, keepdims=True)
        target = np.exp(logs)
        target /= target.sum(axis=2, keepdims=True)
        return (1 - _DAMPING) * memberships + _DAMPING * target

    def _kernel(
        self, state: _State, moments: tuple[_Moments, _Moments], row_sums: _Stack
    ) -> tuple[_Stack, _Stack]:
        """Return the next kernel B, and the totals P^T Z Q.

        Args:
            state: of the iteration.
            moments: of P and Q.
            row_sums: Z Q, shape (starts, n_left, k).
        """
        totals = state.left.mT @ row_sums
        if self.view.symmetric:
            totals = (totals + totals.mT) / 2
        previous = state.kernel
        if (
            previous is None
        ):  # the mean entry, with the memberships of its row and column as weights
            weights = moments[0].sizes[:, :, None] * moments[1].sizes[:, None]
            if self.view.blocks.layout.hollow:
                weights = weights - state.left.mT @ state.right
            previous = totals / np.maximum(weights, 1.0)
        kernel = totals + moments[0].covariance @ previous @ moments[1].covariance
        kernel = kernel + self.prior_pairs * self._mean_entries(totals)
        kernel = kernel / (self._pairs(state, moments) + self.prior_pairs)
        return np.clip(kernel, -self.cap, self.cap), totals

    def _evidence(
        self,
        state: _State,
        moments: tuple[_Moments, _Moments],
        kernel: _Stack,
        totals: _Stack,
    ) -> FloatVector:
        """Return the evidence of each start, shape (starts,); see `fit_blocks`."""
        correction = moments[0].covariance @ kernel @ moments[1].covariance
        gain = _entry_sums((totals + correction / 2) * kernel)
        gain -= _entry_sums(self._pairs(state, moments) * kernel**2) / 2
        prior = _entry_sums((kernel - self._mean_entries(totals)) ** 2)
        prior = prior / (2 * self.kernel_deviation**2)
        evidence = (gain / self.deviation**2 - prior) / self.multiplicity
        evidence = evidence - self._log_volume_ratios(moments)
        for memberships in (state.left,) if self.view.symmetric else (state.left, state.right):
            shares = memberships.mean(axis=1, keepdims=True)
            evidence += _entry_sums(memberships * np.log((shares + _TINY) / (memberships + _TINY)))
        return evidence

    def _log_volume_ratios(self, moments: tuple[_Moments, _Moments]) -> FloatVector:
        """Return how much wider the kernel's prior law is than its posterior, as a logarithm.

        The matrix determines the kernel's entry along each pair of principal axes of P^T P and
        Q^T Q, of eigenvalues e and e', with precision e e'/s^2. The logarithm is
        1/2 sum log(1 + prior variance * precision). For a symmetric matrix, each unordered pair of
        axes counts once, and with half the precision if both axes are the same.

        Returns:
            Shape (starts,).
        """
        left, right = (
            np.maximum(np.linalg.eigvalsh(side.products), 0.0) for side in moments
        )  # (starts, k) each
        precision = left[:, :, None] * right[:, None]
        ratio = precision * (self.kernel_deviation / self.deviation) ** 2
        if self.view.symmetric:
            diagonal = np.triu(np.tril(ratio))
            ratio = np.triu(ratio) - diagonal / 2
        return _entry_sums(np.log1p(ratio)) / 2

    def _moments(self, state: _State) -> tuple[_Moments, _Moments]:
        left = _Moments.of(state.left)
        return left, left if self.view.symmetric else _Moments.of(state.right)

    def _pairs(self, state: _State, moments: tuple[_Moments, _Moments]) -> _Stack:
        """Return the expected number of entries between blocks, shape (starts, k, k).

        A vertex makes no pair with itself. In a symmetric matrix its row and its column are in the
        same block, which takes the size of each block off the diagonal. In a directed graph they
        are in two independent blocks, which takes off P^T Q.
        """
        left_sizes, right_sizes = moments[0].sizes, moments[1].sizes
        pairs: _Stack = left_sizes[:, :, None] * right_sizes[:, None]
        if self.view.symmetric:
            pairs = pairs - _diagonal_matrices(left_sizes)
        elif self.view.blocks.layout.hollow:
            pairs = pairs - state.left.mT @ state.right
        return np.maximum(pairs, 0.0)

    def _mean_entries(self, totals: _Stack) -> _Stack:
        """Return the mean of all entries of the matrix, shape (starts, 1, 1)."""
        rows, columns = self.view.shape
        entries = rows * (columns - self.view.blocks.layout.hollow)
        return np.asarray((_entry_sums(totals) / entries)[:, None, None])

    def _times(self, right: _Stack) -> _Stack:
        """Return Z Q for each start."""
        return _stacked_product(self.view.times, right)

    def _transposed_times(self, left: _Stack) -> _Stack:
        """Return Z^T P for each start."""
        return _stacked_product(self.view.transposed_times, left)


def _stacked_product(times: Callable[[FloatMatrix], FloatMatrix], stack: _Stack) -> _Stack:
    """Multiply every matrix of a stack, side by side in one product."""
    product = times(np.concatenate(list(stack), axis=1))
    return np.stack(np.split(product, len(stack), axis=1))


def _diagonal_matrices(diagonals: FloatMatrix) -> _Stack:
    """Return matrices with these diagonals, shape (..., k, k) for diagonals of shape (..., k)."""
    return diagonals[..., None] * np.eye(diagonals.shape[-1])


def _entry_sums(stack: _Stack) -> FloatVector:
    """Return the sum of the entries of each matrix of a stack, shape (starts,)."""
    return np.asarray(stack.reshape(len(stack), -1).sum(axis=1))
