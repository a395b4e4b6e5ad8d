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

`View` (the noisy matrix Z) and `Structure` (a low-rank estimate of its expectation) are those of
`synth.structure`. Rows and columns are called left and right. There are three kinds of matrices:

- symmetric, of an undirected graph: both sides are one, and `right` is the same object as `left`.
  Code tests `is`, so a function that gets one object must return one object. The matrix has two
  entries for each pair.
- of a directed graph: rows and columns are the same vertices in blocks of their own.
- of a bipartite graph: rows and columns are different vertices.

The first two are hollow (`layout.hollow`): no vertex makes a pair with itself, and the diagonal is
zero. Several starts are iterated at once, in arrays whose first axis is the start.
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
# Least share of a true direction that soft blocks must hold; other directions are left out of the
# estimate. If a direction is left out, sums between blocks err by all that lies along it. If it is
# not, its size is divided by the share, and so is its noise.
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

        Let X and Y be the true 0/1 memberships of rows and columns. The expected matrix is X B Y^T.
        The soft memberships P are posterior means of X, so E[X^T P] = P^T P =: M. And
        E[X^T X] = N, the diagonal matrix of the sizes of the blocks. On the right M' = Q^T Q and
        N'. We look for D such that P D Q^T has the sums between true blocks of X B Y^T:

            E[X^T P D Q^T Y] = M D M'   and   E[X^T X B Y^T Y] = N B N',

        so D = M^(-1) N B N' M'^(-1).

        The basis C of `_held_directions` has C^T M C = 1 and C^T N C = diag(f). With all k
        directions, C C^T = M^(-1) and N = M C diag(f) C^T M, so M^(-1) N = C diag(f) C^T M. With
        C' and f' on the right,

            P D Q^T = (P C) K (Q C')^T   for   K = diag(f) C^T M B M' C' diag(f').

        P C and Q C' have orthonormal columns. Directions of which P or Q holds less than a half are
        left out of C and C'. The code makes K first (`core`) and then its eigenvectors or singular
        vectors, which the class `Structure` asks for.
        """
        basis, factors = _held_directions(self.left)  # C and f
        symmetric = self.right is self.left
        right_basis, right_factors = (basis, factors) if symmetric else _held_directions(self.right)
        left_products, right_products = self.left.T @ self.left, self.right.T @ self.right  # M, M'
        core = basis.T @ left_products @ self.kernel @ right_products
        core = factors[:, None] * (core @ right_basis) * right_factors
        left, right = self.left @ basis, self.right @ right_basis
        if symmetric:
            sizes, rotation = np.linalg.eigh((core + core.T) / 2)
            directions = left @ rotation
            return Structure(
                left=directions,
                right=directions,
                sizes=sizes,
                left_groups=self.left,
                right_groups=self.right,
            )
        rotation, sizes, right_rotation = np.linalg.svd(core, full_matrices=False)
        return Structure(
            left=left @ rotation,
            right=right @ right_rotation.T,
            sizes=sizes,
            left_groups=self.left,
            right_groups=self.right,
        )


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
    logarithm of the number of vertices for each share of a block (Schwarz). The result's `near` is
    the number of directions that barely stand out of the noise (`directions_near_noise`); it warns
    users that blocks may be hidden. If there are blocks and no singular direction stands out, it is
    at least one.

    Args:
        view: the noisy matrix. With more than 2,048 vertices no block models are fitted.
        deviation: s, standard deviation of the noise of an entry.
        deadline: after which no more numbers of blocks are tried; by default there is none.
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
    # `spectrum.deviation` is what entries deviate from their expected value as observed. It may be
    # larger than the noise, since the edges of the graph are random themselves.
    deviation = max(deviation, spectrum.deviation)
    blocks = _best_blocks(view, triples, deviation, cap, deadline)
    if blocks is not None:
        if not len(spectrum.signal):  # the blocks were found although no direction stands out
            near = max(near, 1)
        block_structure = blocks.structure()
        gain = explained(block_structure, view) - explained(best, view)
        if gain > deviation**2 * _penalty(blocks.count, view):
            best = block_structure
    return replace(best, near=near)


def explained(structure: Structure, view: View) -> float:
    """Return s^2 times the log likelihood of a noisy matrix above that of no structure.

    With T the structure's estimate of the entry z, and s the deviation of the noise, that is the
    sum over pairs of z T - T^2/2. The sum of z T over all entries is the sum of size f^T Z g over
    the directions f and g. The sum of T^2 is that of the squared sizes, less the diagonal if no
    vertex makes a pair with itself.
    """
    left, right = structure.left, structure.right
    observed = (left * view.times(right)).sum(axis=0)  # f^T Z g for each direction
    estimate_squares = float((structure.sizes**2).sum())
    if view.blocks.layout.hollow:
        diagonal = (left * right) @ structure.sizes  # T of each vertex with itself
        estimate_squares -= float(diagonal @ diagonal)
    over_entries = float(np.dot(structure.sizes, observed) - estimate_squares / 2)
    return over_entries / 2 if view.symmetric else over_entries  # pairs are entries twice


def fit_blocks(
    view: View, triples: Triples, count: int, deviation: float, cap: float = 1.0
) -> BlockModel:
    """Fit a block model with a number of blocks on each side.

    1. Starts: k-means on the first `count` singular vectors, and in every second start on one
       vector more.
    2. The TAP equations, in turn for the kernel and the memberships, for 12 rounds from each start.
    3. The start of largest evidence goes on alone for 30 rounds.

    Notation: P are the soft memberships of the rows, N = diag(column sums of P), M = P^T P, and
    V = N - M is the sum of the covariances of the memberships of all rows. Q, N', M', V' are those
    of the columns. The letters k, l are blocks, i is a row.

    Kernel. B = (P^T Z Q + V B_before V' + d b)/(pairs + d), entry by entry.

    - P^T Z Q / pairs is the mean entry between two blocks, where `pairs` is the expected number of
      entries between them. B_before is the kernel of the round before.
    - The memberships of two vertices are dependent once their entry z is known: z raises the
      probability of the blocks whose kernel entry is like z. To first order their joint law gains
      z/s^2 times (covariance of i) B (covariance of j). That times z, summed over all entries with
      z^2 about s^2, is V B V'.
    - The prior law of B counts like d entries of the mean entry b.

    Memberships. log P_il is a constant plus

        ((Z Q B^T)_il - (P_before B V' B^T)_il - 1/2 (B M' B^T)_ll)/s^2 + log share_l.

    The first and the third term are the log likelihood of row i in block l with the columns in the
    blocks Q. The second takes out what the row hears back of what it sent in the round before, with
    the memberships P_before. share_l is the mean of P_il. The same holds for Q. A round goes half
    of the way to the new memberships. Without V and V' these are the mean-field equations, which
    mistake noise for blocks.

    Evidence. It is the logarithm of the probability of Z, in Plefka's expansion to second order:

    - (<P^T Z Q, B> - 1/2 <pairs, B^2> + 1/2 tr(V B V' B^T))/s^2, half of it for a symmetric matrix;
    - plus the entropy of P and Q relative to the shares of the blocks;
    - plus what the unknown kernel costs. The prior law of each of its entries is normal around the
      mean entry with deviation cap/5; the kernel is integrated out as if its posterior were normal
      (Laplace's method).

    Draws: only starts are random, in a fixed order (for each start the rows, then the columns).
    Golden results depend on it.

    Args:
        view: the noisy matrix Z.
        triples: its leading singular values, left vectors (n_left, r) and right vectors
            (n_right, r), largest first; see `largest_triples`.
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
    _, left_vectors, right_vectors = triples
    if count == 1:  # all memberships are 1
        left = np.ones((1, n, 1))
        right = left if view.symmetric else np.ones((1, m, 1))
        model, _ = equations.best(_State.first(left, right))
        return model
    lefts, rights = [], []
    starts = max(_FEWEST_STARTS, min(_STARTS, _STARTED_VERTICES // max(n, m)))
    for start in range(starts):
        dimensions = count + start % 2  # in every second start one more than blocks
        lefts.append(_soft_start(left_vectors[:, :dimensions], count, random))
        if not view.symmetric:
            rights.append(_soft_start(right_vectors[:, :dimensions], count, random))
    left = np.stack(lefts)
    right = left if view.symmetric else np.stack(rights)
    state = equations.iterated(_State.first(left, right), _SHORT_ROUNDS)
    _, best_state = equations.best(state)
    model, _ = equations.best(equations.iterated(best_state, _ROUNDS))
    return model


def _best_blocks(
    view: View, triples: Triples, deviation: float, cap: float, deadline: Deadline
) -> BlockModel | None:
    """Return the block model of largest evidence; None if one block explains as much.

    The evidence is a log likelihood. Two or more blocks must exceed that of one block by 3.
    Numbers of blocks up to 6 are all tried, if there are vertices and singular vectors for them;
    larger ones, up to 10, until two in a row are no better.
    """
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

    Half a logarithm for each free number: of the number of pairs for entries of the kernel, of the
    number of vertices for the count - 1 free shares of the blocks of a side. (The diagonal of a
    directed graph is not taken off the number of pairs; that hardly changes a logarithm.)
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
    """Return the directions of the blocks that soft memberships P hold at least half of.

    Let X be the true memberships, M = P^T P, N = E[X^T X] the diagonal matrix of the sizes, and W
    with W^T M W = 1. For a unit vector c, the direction W c of the blocks has |P W c|^2 = 1 and
    E|X W c|^2 = c^T W^T N W c. So P holds the share 1/f of it if c is an eigenvector of W^T N W for
    the eigenvalue f.

    Returns:
        C = W (c_1, ..., c_r), shape (k, r), such that P C has orthonormal columns; and f, the
        inverse share of each column, shape (r,), at least 1 up to rounding.
    """
    moments = _Moments.of(memberships)
    eigenvalues, axes = np.linalg.eigh(moments.products)
    nonzero = eigenvalues > _TINY * eigenvalues.max()
    whitening = axes[:, nonzero] / np.sqrt(eigenvalues[nonzero])  # W, shape (k, nonzero)
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
        """Return the moments of memberships of shape (..., n, k)."""
        sizes, products = memberships.sum(axis=-2), memberships.mT @ memberships
        return cls(sizes, products, _diagonal_matrices(sizes) - products)


class _State(NamedTuple):
    """State of the iteration of the TAP equations, from several starts.

    Attributes:
        left: P, shape (starts, n_left, k).
        right: Q, shape (starts, n_right, k); the same object as `left` for a symmetric matrix.
        previous_left: P of the round before; before the first round, P itself.
        previous_right: Q of the round before; before the first round, Q itself.
        kernel: B of the last round, shape (starts, k, k); None before the first round.
    """

    left: _Stack
    right: _Stack
    previous_left: _Stack
    previous_right: _Stack
    kernel: _Stack | None = None

    @classmethod
    def first(cls, left: _Stack, right: _Stack) -> Self:
        """Return the state before the first round."""
        return cls(left, right, previous_left=left, previous_right=right)

    def only(self, start: int) -> "_State":
        """Return the state of a single start, in arrays whose first axis has length 1."""
        chosen = slice(start, start + 1)
        return _State(
            self.left[chosen],
            self.right[chosen],
            self.previous_left[chosen],
            self.previous_right[chosen],
            None if self.kernel is None else self.kernel[chosen],
        )


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
        """The d of `fit_blocks`: how many entries the prior law of the kernel counts for.

        A normal law of variance t^2 counts like s^2/t^2 pairs, each measured with variance s^2. A
        pair is two entries of a symmetric matrix.
        """
        return float(self.multiplicity * (self.deviation / self.kernel_deviation) ** 2)

    def iterated(self, state: _State, rounds: int) -> _State:
        """Return the state after some rounds of step 2 of `fit_blocks`."""
        for _ in range(rounds):
            state = self._next(state)
        return state

    def best(self, state: _State) -> tuple[BlockModel, _State]:
        """Return the model of the start with the largest evidence, and the state of it alone.

        The state keeps the kernel of its last round; the model has the next one, which belongs to
        its memberships.
        """
        moments = self._moments(state)
        kernel, totals = self._kernel(state, moments, self._times(state.right))
        evidence = self._evidence(state, moments, kernel, totals)
        start = int(np.argmax(evidence))
        left = state.left[start]
        right = left if self.view.symmetric else state.right[start]
        model = BlockModel(left, right, kernel[start], float(evidence[start]))
        return model, state.only(start)

    def _next(self, state: _State) -> _State:
        """Return the state after one round.

        Both sides are updated from the memberships of the same round: the columns do not see the
        new memberships of the rows.
        """
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
        logs += np.log(memberships.mean(axis=1, keepdims=True) + _TINY)  # shares of the blocks
        logs -= logs.max(axis=2, keepdims=True)
        target = np.exp(logs)
        target /= target.sum(axis=2, keepdims=True)
        return (1 - _DAMPING) * memberships + _DAMPING * target

    def _kernel(
        self, state: _State, moments: tuple[_Moments, _Moments], row_sums: _Stack
    ) -> tuple[_Stack, _Stack]:
        """Return the next kernel B, and the totals P^T Z Q, shape (starts, k, k) each.

        Args:
            state: of the iteration.
            moments: of P and Q.
            row_sums: Z Q, shape (starts, n_left, k).
        """
        totals = state.left.mT @ row_sums
        if self.view.symmetric:
            totals = (totals + totals.mT) / 2
        previous = state.kernel
        if previous is None:
            # Before the first round: the mean of the entries z_ij with weights P_ik Q_jl, without
            # i = j if no vertex makes a pair with itself.
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
        """Return the evidence of each start, shape (starts,); see `fit_blocks`.

        Args:
            state: of the iteration.
            moments: of P and Q.
            kernel: B, shape (starts, k, k).
            totals: P^T Z Q, shape (starts, k, k).
        """
        # `gain` and `prior` are sums over the entries of k x k matrices. Of a symmetric matrix they
        # count each pair, and each free entry of the kernel, twice; so both are halved below.
        correction = moments[0].covariance @ kernel @ moments[1].covariance
        gain = _entry_sums((totals + correction / 2) * kernel)
        gain -= _entry_sums(self._pairs(state, moments) * kernel**2) / 2
        prior = _entry_sums((kernel - self._mean_entries(totals)) ** 2)
        prior = prior / (2 * self.kernel_deviation**2)
        evidence = (gain / self.deviation**2 - prior) / self.multiplicity
        evidence = evidence - self._log_volume_ratios(moments)  # counts free entries once already
        for memberships in (state.left,) if self.view.symmetric else (state.left, state.right):
            shares = memberships.mean(axis=1, keepdims=True)
            evidence += _entry_sums(memberships * np.log((shares + _TINY) / (memberships + _TINY)))
        return evidence

    def _log_volume_ratios(self, moments: tuple[_Moments, _Moments]) -> FloatVector:
        """Return how much wider the kernel's prior law is than its posterior, as a logarithm.

        The matrix determines the kernel's entry along each pair of principal axes of P^T P and
        Q^T Q, of eigenvalues e and e', with precision e e'/s^2. The logarithm is
        1/2 sum log(1 + prior variance * precision). For a symmetric matrix the kernel is symmetric,
        so each unordered pair of axes counts once. If both axes are the same, the precision is
        half as large: half as many pairs tell of this entry of the kernel.

        Returns:
            Shape (starts,).
        """
        # Eigenvalues of both sides, shape (starts, k) each.
        left, right = (np.maximum(np.linalg.eigvalsh(side.products), 0.0) for side in moments)
        # Here without the factor 1/s^2, shape (starts, k, k).
        precision = left[:, :, None] * right[:, None]
        ratio = precision * (self.kernel_deviation / self.deviation) ** 2
        if self.view.symmetric:
            diagonal = np.triu(np.tril(ratio))  # of each matrix; zeros elsewhere
            ratio = np.triu(ratio) - diagonal / 2
        return _entry_sums(np.log1p(ratio)) / 2

    def _moments(self, state: _State) -> tuple[_Moments, _Moments]:
        """Return the moments of P and of Q; one object twice for a symmetric matrix."""
        left = _Moments.of(state.left)
        return left, left if self.view.symmetric else _Moments.of(state.right)

    def _pairs(self, state: _State, moments: tuple[_Moments, _Moments]) -> _Stack:
        """Return the expected number of entries between blocks, shape (starts, k, k).

        In hollow matrices (see the module's docstring) a vertex makes no pair with itself. If the
        matrix is symmetric, the row and the column of a vertex are in the same block, whichever it
        is: the size of each block is taken off the diagonal. In a directed graph they are in two
        independent blocks: P^T Q is taken off. Bipartite graphs have all pairs.
        """
        left_sizes, right_sizes = moments[0].sizes, moments[1].sizes
        pairs: _Stack = left_sizes[:, :, None] * right_sizes[:, None]
        if self.view.symmetric:
            pairs = pairs - _diagonal_matrices(left_sizes)
        elif self.view.blocks.layout.hollow:
            pairs = pairs - state.left.mT @ state.right
        return np.maximum(pairs, 0.0)

    def _mean_entries(self, totals: _Stack) -> _Stack:
        """Return the mean of all entries of the matrix, shape (starts, 1, 1).

        Memberships of a vertex add up to 1, so the totals of all blocks add up to the matrix.
        """
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
    """Multiply every matrix of a stack, side by side in one product.

    Args:
        times: multiplies a matrix of shape (n, any) by Z or Z^T.
        stack: shape (starts, n, k).
    """
    product = times(np.concatenate(list(stack), axis=1))
    return np.stack(np.split(product, len(stack), axis=1))


def _diagonal_matrices(diagonals: FloatMatrix) -> _Stack:
    """Return matrices with these diagonals, shape (..., k, k) for diagonals of shape (..., k)."""
    return diagonals[..., None] * np.eye(diagonals.shape[-1])


def _entry_sums(stack: _Stack) -> FloatVector:
    """Return the sum of the entries of each matrix of a stack, shape (starts,)."""
    return np.asarray(stack.reshape(len(stack), -1).sum(axis=1))
