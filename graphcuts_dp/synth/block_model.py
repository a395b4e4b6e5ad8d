"""Blocks of alike vertices in a noisy matrix, by the equations of Thouless, Anderson and Palmer.

Singular vectors find what stands out of the noise one direction at a time, and a direction near its
edge is lost. A model of blocks takes all entries together: it sees k blocks whose directions lie
near the edge, since every vertex must belong to one of them. Memberships stay soft where the data
leave them open, and how soft they are tells how much of the true blocks they hold.

`best_structure` believes the blocks or the vectors, whichever the noisy matrix bears out.

Of kept edges, `found_groups` finds communities by the likelihood of their blocks. Leiden takes
longest where there are none; of many edges, a few products with their matrix tell first whether it
has a direction that the degrees alone do not give it.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self, final

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IndexArray, IntVector
from graphcuts_dp.resources import NEVER, Deadline, repeatable_igraph
from graphcuts_dp.synth.structure import (
    Structure,
    Triples,
    View,
    directions_near_noise,
    far_apart,
    find_spectrum,
    largest_triples,
    sharpened_structure,
    squares_between,
)

_STARTS = 16
_PRODUCTS = 8000  # vertices times starts: larger graphs have fewer, since they show their blocks
_FEWEST_STARTS = 4
_SHORT_ROUNDS = 12  # of each start
_ROUNDS = 30  # of the best one
_DAMPING = 0.5
_LLOYD_ROUNDS = 15
_FAITH = 0.8  # in the hard blocks that a start has
_SPREAD = 0.2  # of the cap: deviation of the kernel's prior law around the mean entry
_TINY = 1e-12
# Share of a direction of the true blocks that the soft ones must hold: a structure that lacks the
# direction errs in sums between blocks by all of it, one that has it by the noise over this share.
_LEAST_HELD = 1 / 2


@final
@dataclass(frozen=True, eq=False)
class BlockModel:
    """Soft blocks of each side and the mean entry between each two of them.

    Attributes:
        left: P, probabilities, shape (n_left, k).
        right: Q, shape (n_right, k); of an adjacency matrix the same object as `left`.
        kernel: B, shape (k, k); symmetric for an adjacency matrix.
        evidence: approximate log likelihood of the noisy matrix above that of no entries at all.
    """

    left: FloatMatrix
    right: FloatMatrix
    kernel: FloatMatrix
    evidence: float

    @property
    def count(self) -> int:
        """How many blocks a side has."""
        return len(self.kernel)

    def structure(self) -> Structure:
        """The estimate P D Q^T whose inner products along the true blocks are unbiased.

        With the true memberships X, a posterior law obeys E[X^T P] = P^T P and E[X^T X] = N, the
        diagonal matrix of the sizes; likewise Y on the right, with sizes N'. So
        X^T (P D Q^T) Y = X^T (X B Y^T) Y, in expectation, for
        D = (P^T P)^(-1) N B N' (Q^T Q)^(-1). Directions of which P or Q holds less than a half are
        left out: their share is the inverse of an eigenvalue of (P^T P)^(-1/2) N (P^T P)^(-1/2).
        """
        basis, factors = _held(self.left)
        symmetric = self.right is self.left
        other, others = (basis, factors) if symmetric else _held(self.right)
        # Coordinates of P B Q^T in the orthonormal columns P basis and Q other.
        core = basis.T @ (self.left.T @ self.left) @ self.kernel @ (self.right.T @ self.right)
        core = factors[:, None] * (core @ other) * others
        left, right = self.left @ basis, self.right @ other
        if symmetric:
            sizes, turn = np.linalg.eigh((core + core.T) / 2)
            directions = left @ turn
            return Structure(directions, directions, sizes, self.left, self.right)
        turn, sizes, other_turn = np.linalg.svd(core, full_matrices=False)
        return Structure(left @ turn, right @ other_turn.T, sizes, self.left, self.right)


def _held(memberships: FloatMatrix) -> tuple[FloatMatrix, FloatVector]:
    """Directions of the memberships that hold enough of the true ones.

    Returns:
        C such that P C has orthonormal columns, and the inverse share of each that P holds.
    """
    moments = _Moments.of(memberships)
    squares, axes = np.linalg.eigh(moments.products)
    clear = squares > _TINY * squares.max()
    whitening = axes[:, clear] / np.sqrt(squares[clear])
    factors, turn = np.linalg.eigh((whitening.T * moments.sizes) @ whitening)
    held = factors * _LEAST_HELD <= 1
    return whitening @ turn[:, held], factors[held]


_Stack = npt.NDArray[np.float64]  # matrices of several starts at once, shape (starts, ., .)


def _diagonals(vectors: FloatMatrix) -> _Stack:
    return vectors[..., None] * np.eye(vectors.shape[-1])


def _added(stack: _Stack) -> FloatVector:
    """The sum of each matrix."""
    return np.asarray(stack.reshape(len(stack), -1).sum(axis=1))


class _Moments(NamedTuple):
    """Of memberships P, shape (..., n, k): column sums, P^T P, and the sum of their covariances."""

    sizes: FloatMatrix
    products: _Stack
    covariance: _Stack

    @classmethod
    def of(cls, memberships: _Stack) -> Self:
        sizes, products = memberships.sum(axis=-2), memberships.mT @ memberships
        return cls(sizes, products, _diagonals(sizes) - products)


class _Points(NamedTuple):
    """Where an iteration is, from several starts.

    Attributes:
        sides: memberships of the left and the right; of an adjacency matrix one side.
        before: those of the round before.
        kernel: None before the first round.
    """

    sides: tuple[_Stack, ...]
    before: tuple[_Stack, ...]
    kernel: _Stack | None = None


@dataclass(frozen=True, eq=False)
class _Equations:
    """Those of a noisy matrix, its noise s and cap: see `fit_blocks`."""

    view: View
    deviation: float
    cap: float

    @property
    def times(self) -> int:
        """How often a pair is in the matrix."""
        return 2 if self.view.symmetric else 1

    @property
    def doubt(self) -> float:
        """Entries that the prior law of the kernel counts for."""
        return float(self.times * (self.deviation / (_SPREAD * self.cap)) ** 2)

    def settled(self, points: _Points, rounds: int) -> _Points:
        """Step 2 from several points at once: one product with the matrix serves them all."""
        for _ in range(rounds):
            points = self._step(points)
        return points

    def _products(self, sides: tuple[_Stack, ...]) -> list[_Stack]:
        """Z Q and Z^T P; of an adjacency matrix Z P."""
        found = [_each_times(self.view.times, sides[-1])]
        if not self.view.symmetric:
            found.append(_each_times(self.view.transposed_times, sides[0]))
        return found

    def _pairs(self, sides: tuple[_Stack, ...]) -> _Stack:
        """Expected number of ordered pairs between each two blocks."""
        sizes = [side.sum(axis=1) for side in sides]
        found: _Stack = sizes[0][:, :, None] * sizes[-1][:, None]
        if self.view.symmetric:
            found = found - _diagonals(sizes[0])
        elif self.view.blocks.layout.hollow:
            found = found - sides[0].mT @ sides[-1]
        return np.maximum(found, 0.0)

    def _means(self, totals: _Stack) -> _Stack:
        """Of all entries, shape (starts, 1, 1)."""
        rows, columns = self.view.shape
        pairs = rows * (columns - self.view.blocks.layout.hollow)
        return np.asarray((_added(totals) / pairs)[:, None, None])

    def _kernel(
        self, points: _Points, moments: list[_Moments], heard: _Stack
    ) -> tuple[_Stack, _Stack]:
        """The next kernel, and P^T Z Q."""
        totals, last = points.sides[0].mT @ heard, points.kernel
        if self.view.symmetric:
            totals = (totals + totals.mT) / 2
        if last is None:
            apart = moments[0].sizes[:, :, None] * moments[-1].sizes[:, None]
            if self.view.blocks.layout.hollow:
                apart = apart - points.sides[0].mT @ points.sides[-1]
            last = totals / np.maximum(apart, 1.0)
        found = totals + moments[0].covariance @ last @ moments[-1].covariance
        found = found + self.doubt * self._means(totals)
        found = found / (self._pairs(points.sides) + self.doubt)
        return np.clip(found, -self.cap, self.cap), totals

    def _step(self, points: _Points) -> _Points:
        """One round of the equations."""
        sums, moments = self._products(points.sides), [_Moments.of(each) for each in points.sides]
        kernel, _ = self._kernel(points, moments, sums[0])
        fresh = []
        for now, before, heard, B, other in zip(
            points.sides,
            points.before,
            sums,
            (kernel, kernel.mT),
            moments[::-1],
            strict=False,
        ):
            logs = heard @ B.mT - before @ (B @ other.covariance @ B.mT)
            lengths = np.diagonal(B @ other.products @ B.mT, axis1=1, axis2=2)
            logs = (logs - lengths[:, None] / 2) / self.deviation**2
            logs += np.log(now.mean(axis=1, keepdims=True) + _TINY)
            logs -= logs.max(axis=2, keepdims=True)
            next_one = np.exp(logs)
            next_one /= next_one.sum(axis=2, keepdims=True)
            fresh.append((1 - _DAMPING) * now + _DAMPING * next_one)
        return _Points(tuple(fresh), points.sides, kernel)

    def best(self, points: _Points) -> tuple[BlockModel, _Points]:
        """The model at the point of the largest evidence, and this point alone."""
        sums, moments = self._products(points.sides), [_Moments.of(each) for each in points.sides]
        kernel, totals = self._kernel(points, moments, sums[0])
        echo = moments[0].covariance @ kernel @ moments[-1].covariance
        gained = _added((totals + echo / 2) * kernel)
        gained -= _added(self._pairs(points.sides) * kernel**2) / 2
        prior = _added((kernel - self._means(totals)) ** 2) / (2 * (_SPREAD * self.cap) ** 2)
        evidence = (gained / self.deviation**2 - prior) / self.times - self._volumes(moments)
        for side in points.sides:
            shares = side.mean(axis=1, keepdims=True)
            evidence += _added(side * np.log((shares + _TINY) / (side + _TINY)))
        at = int(np.argmax(evidence))
        sides = [side[at] for side in points.sides]
        model = BlockModel(sides[0], sides[-1], kernel[at], float(evidence[at]))
        one = slice(at, at + 1)
        now, before = (tuple(each[one] for each in both) for both in (points.sides, points.before))
        return model, _Points(now, before, None if points.kernel is None else points.kernel[one])

    def _volumes(self, moments: list[_Moments]) -> FloatVector:
        """Log of how much wider the kernel's prior law is than what the data leave of it.

        The data tell the kernel's entry along principal axes of P^T P and Q^T Q, of sizes m and m',
        with precision m m'/s^2; of a symmetric one every pair of axes counts once, and half where
        they are one.
        """
        told = [np.maximum(np.linalg.eigvalsh(each.products), 0.0) for each in moments]
        precision = told[0][:, :, None] * told[-1][:, None]
        precision = precision * (_SPREAD * self.cap / self.deviation) ** 2
        if self.view.symmetric:
            precision = np.triu(precision) - np.triu(np.tril(precision)) / 2
        return _added(np.log1p(precision)) / 2


def _each_times(times: Callable[[FloatMatrix], FloatMatrix], stack: _Stack) -> _Stack:
    """The product of each matrix, from one product of all."""
    product = times(np.concatenate(list(stack), axis=1))
    return np.stack(np.split(product, len(stack), axis=1))


def fit_blocks(
    view: View, triples: Triples, count: int, deviation: float, cap: float = 1.0
) -> BlockModel:
    """The block model with a number of blocks on each side.

    1. k-means on the first `count` singular vectors, or one more, from several starts.
    2. By turns, with N = diag(sizes) of P, M = P^T P and V = N - M, and N', M', V' of Q: the kernel
       B = (P^T Z Q + V B V')/pairs, where the second term is what the noise of a pair adds to the
       joint law of its ends' memberships; and memberships
       log P_il = ((Z Q B^T)_il - (P' B V' B^T)_il - 1/2 (B M' B^T)_ll)/s^2 + log share_l + const,
       half of the way each time, P' being the memberships of the round before: what each vertex
       told the others and hears back is taken out. Likewise Q. Without V these are the mean-field
       equations, which believe noise. The start of the largest evidence goes on.

    The evidence is that of Plefka's expansion to second order:
    (<P^T Z Q, B> - 1/2 <pairs, B^2> + 1/2 tr(V B V' B^T))/s^2, half of it for an adjacency matrix,
    and the entropy of P and Q relative to the shares. The kernel's prior law is normal around the
    mean entry, of deviation cap/5, and within the cap; what it leaves open is integrated as if
    normal (Laplace's method).

    Args:
        view: the noisy matrix.
        triples: its leading singular triples, see `largest_triples`.
        count: of blocks.
        deviation: s, of the noise of an entry.
        cap: of an entry.

    Source: Thouless, Anderson, Palmer 1977; Plefka 1982; for blocks in Gaussian noise Lesieur,
    Krzakala, Zdeborova 2017.
    """
    equations = _Equations(view, deviation, cap)
    random = np.random.default_rng(count)  # starting points only: nothing private, no noise
    vectors = triples[1:2] if view.symmetric else triples[1:]
    if count == 1:  # nothing is left to find
        whole = tuple(np.ones((1, len(side), 1)) for side in vectors)
        return equations.best(_Points(whole, whole))[0]
    starts = []
    for number in range(max(_FEWEST_STARTS, min(_STARTS, _PRODUCTS // max(view.shape)))):
        hard = [_clustered(side[:, : count + number % 2], count, random) for side in vectors]
        starts.append([_FAITH * side + (1 - _FAITH) / count for side in hard])
    soft = tuple(np.stack(sides) for sides in zip(*starts, strict=True))
    _, point = equations.best(equations.settled(_Points(soft, soft), _SHORT_ROUNDS))
    return equations.best(equations.settled(point, _ROUNDS))[0]


def _clustered(points: FloatMatrix, count: int, random: np.random.Generator) -> FloatMatrix:
    """Hard memberships by k-means, from points chosen far from each other."""
    centres = far_apart(points, count, random)
    memberships, before = np.zeros((0, count)), None
    for _ in range(_LLOYD_ROUNDS):
        nearest = squares_between(points, centres).argmin(axis=1)
        if before is not None and np.array_equal(nearest, before):
            break  # the centres would stay
        memberships, before = np.eye(count)[nearest], nearest
        sizes = memberships.sum(axis=0)[:, None]
        centres = np.where(sizes > 0, memberships.T @ points / np.maximum(sizes, 1), centres)
    return memberships


_MOST_VERTICES = 2048  # for block models, which read the matrix some hundred times
_MOST_BLOCKS = 10
_FEWEST = 6  # numbers of blocks up to this one are tried in any case
_PATIENCE = 2  # above, until so many in a row are no better
_MARGIN = 3.0  # above the evidence of one block: matrices of noise alone reached 2


def best_structure(
    view: View, deviation: float, deadline: Deadline = NEVER, *, cap: float = 1.0
) -> Structure:
    """The structure that the noisy matrix bears out.

    Singular vectors, sharpened (`sharpened_structure`), find structure of
    any kind, but what lies near the edge of the noise they lose, and then two blocks become one.
    Block models (`fit_blocks`) find blocks there, and nothing else. Of these the one of largest
    evidence competes, where that is clearly above one block's. Of both the one is kept whose
    estimate has the larger likelihood under the law of the noise, less half the logarithm of the
    number of pairs for each entry of the kernel, and of the vertices for each share. Blocks without
    a direction that stands out count as near the noise.

    Args:
        view: the matrix.
        deviation: s, of the noise of an entry.
        deadline: when to stop.
        cap: of an entry.

    Source: Schwarz 1978 (the penalty).
    """
    triples = largest_triples(view)
    seen, near = find_spectrum(view, triples), directions_near_noise(view, triples)
    best = sharpened_structure(view, deadline, seen=seen)
    if max(view.shape) > _MOST_VERTICES:
        return replace(best, near=near)
    deviation = max(deviation, seen.deviation)  # what edges have of their own is noise, too
    blocks = _likeliest(view, triples, deviation, cap, deadline)
    if blocks is not None:
        if not len(seen.signal):
            near = max(near, 1)
        found = blocks.structure()
        ahead = explained(found, view) - explained(best, view)
        if ahead > deviation**2 * _penalty(blocks.count, view):
            best = found
    return replace(best, near=near)


def _likeliest(
    view: View, triples: Triples, deviation: float, cap: float, deadline: Deadline
) -> BlockModel | None:
    """The block model of largest evidence, or None where one block explains as much."""
    one = fit_blocks(view, triples, 1, deviation, cap).evidence
    best, score, worse = None, one + _MARGIN, 0
    most = min(_MOST_BLOCKS, min(view.shape) // 2, len(triples[0]))
    for count in range(2, most + 1):
        if deadline.passed() or (count > _FEWEST and worse >= _PATIENCE):
            break
        blocks = fit_blocks(view, triples, count, deviation, cap)
        if blocks.evidence > score:
            best, score, worse = blocks, blocks.evidence, 0
        else:
            worse += 1
    return best


def _penalty(count: int, view: View) -> float:
    """For the kernel's entries, and the shares of the blocks of each side."""
    n, m = view.shape
    if view.symmetric:
        return count * (count + 1) / 4 * math.log(n * (n - 1) / 2) + (count - 1) / 2 * math.log(n)
    return count**2 / 2 * math.log(n * m) + (count - 1) / 2 * math.log(n * m)


def explained(structure: Structure, view: View) -> float:
    """Log likelihood of a noisy matrix above that of no structure, times s^2.

    With T the structure's estimate, the sum over pairs of z T - T^2/2.
    """
    left, right = structure.left, structure.right
    shown = (left * view.times(right)).sum(axis=0)
    squares = float((structure.sizes**2).sum())
    if view.blocks.layout.hollow:
        diagonal = (left * right) @ structure.sizes
        squares -= float(diagonal @ diagonal)
    found = float(np.dot(structure.sizes, shown) - squares / 2)
    return found / 2 if view.symmetric else found


_Edges = tuple[IndexArray, IndexArray, FloatVector]
_RESOLUTIONS = (0.05, 0.15, 0.4, 1.0, 2.5)
_FEW_RESOLUTIONS = (0.3, 1.0)
_MANY = 500_000  # edges, from which few resolutions are tried, and only after `shows_structure`
_HELD_OUT = 5  # every fifth edge
_WORTH = 0.02  # log likelihood of an edge that groups, or more of them, have to gain
_LEAST_SHARE = 1 / 200  # of all vertices: smaller groups are not measured
_MOST_GROUPS = 64
_MOVES = 6
_STEPS = 32  # of Lanczos
_BEYOND = 1.05  # times the edge of the bulk; where Leiden finds groups, it is 1.18 at least
_SMALLEST = 1e-20  # where the space is exhausted
_DRAWN = 100_000  # vertices of the graph that has degrees alone


def found_groups(
    rows: IndexArray, columns: IndexArray, chances: FloatVector, vertices: int
) -> IntVector | None:
    """A group for each vertex, or None where kept edges show none worth measuring.

    Leiden's algorithm for modularity at several resolutions; of its partitions, with small groups
    put where most of their edges go, the one is taken whose degree-corrected blocks tell most of
    a fifth of the edges that were held out. Reads kept edges, so noisy data, alone.

    Args:
        rows: ends of the kept edges.
        columns: other ends.
        chances: probability that each is an edge.
        vertices: how many.

    Source: Traag, Waltman, van Eck 2019 (Leiden); Karrer, Newman 2011 (likelihood).
    """
    if len(rows) < 4 * math.sqrt(vertices):
        return None
    if len(rows) > _MANY and not shows_structure(rows, columns, chances, vertices):
        return None
    held = np.arange(len(rows)) % _HELD_OUT == 0
    parts = [(rows[where], columns[where], chances[where]) for where in (~held, held)]
    best, chosen = 0.0, 0.0
    resolutions = _RESOLUTIONS if len(rows) <= _MANY else _FEW_RESOLUTIONS
    for resolution, codes in zip(
        resolutions, _partitions(*parts[0], vertices, resolutions), strict=True
    ):
        gain = 0.0 if codes is None else _gain(codes, parts[0], parts[1])
        if gain > best + _WORTH * float(parts[1][2].sum()):
            best, chosen = gain, resolution
    return next(_partitions(rows, columns, chances, vertices, (chosen,))) if chosen else None


def shows_structure(
    rows: IndexArray, columns: IndexArray, chances: FloatVector, vertices: int
) -> bool:
    """Whether kept edges have a direction that their degrees alone do not give.

    With A the matrix of the edges and d its degrees of mean t, the largest eigenvalue of
    D^(-1/2) (A - d d'/sum d) D^(-1/2), D = diag(d + t), is compared with that of a graph whose
    ends are joined at random: those of all vertices, or of as many as tell the edge of the bulk.
    Groups that modularity can find lie beyond it. Both eigenvalues are estimated from below, by as
    many steps of Lanczos. Reads kept edges, so noisy data, alone.

    Source: Qin, Rohe 2013 (the matrix); Decelle, Krzakala, Moore, Zdeborova 2011 (which groups
    can be found).
    """
    rng = np.random.default_rng(1)  # a start and a comparison, no noise of privacy
    drawn = np.zeros(vertices, dtype=np.bool_)
    drawn[rng.permutation(vertices)[:_DRAWN]] = True
    ends = np.concatenate([rows[drawn[rows]], columns[drawn[columns]]])
    weights = np.concatenate([chances[drawn[rows]], chances[drawn[columns]]])
    half = len(ends) // 2
    order = rng.permutation(len(ends))[: 2 * half]
    weights = weights[order[:half]]
    if not weights.any():
        return True  # nothing to compare with
    first, second = (np.cumsum(drawn) - 1)[ends[order]].reshape(2, half)
    alone = _largest(first, second, weights, int(drawn.sum()), rng)
    return _largest(rows, columns, chances, vertices, rng) > _BEYOND * alone


def _largest(
    rows: IndexArray,
    columns: IndexArray,
    chances: FloatVector,
    vertices: int,
    rng: np.random.Generator,
) -> float:
    """The largest eigenvalue of the scaled matrix of edges, less what degrees explain."""
    half = sp.csr_matrix((chances.astype(np.float32), (rows, columns)), shape=(vertices, vertices))
    degrees = np.bincount(rows, chances, minlength=vertices)
    degrees += np.bincount(columns, chances, minlength=vertices)
    scale = (1 / np.sqrt(degrees + degrees.mean())).astype(np.float32)
    along = (degrees / math.sqrt(degrees.sum())).astype(np.float32) * scale
    vector = rng.standard_normal(vertices, dtype=np.float32)
    vector /= np.linalg.norm(vector)
    before = np.zeros_like(vector)
    diagonal, beside = np.zeros(_STEPS), np.zeros(_STEPS)
    for step in range(_STEPS):
        scaled = scale * vector
        image = scale * (half @ scaled + half.T @ scaled) - along * (along @ vector)
        image -= np.float32(beside[step - 1]) * before
        diagonal[step] = image @ vector
        image -= np.float32(diagonal[step]) * vector
        beside[step] = max(float(np.linalg.norm(image)), _SMALLEST)
        before, vector = vector, image / np.float32(beside[step])
    small = np.diag(diagonal) + np.diag(beside[:-1], 1) + np.diag(beside[:-1], -1)
    return float(np.linalg.eigvalsh(small)[-1])


def _partitions(
    rows: IndexArray,
    columns: IndexArray,
    chances: FloatVector,
    vertices: int,
    resolutions: Sequence[float],
) -> Iterator[IntVector | None]:
    """Leiden's groups at each resolution."""
    with repeatable_igraph() as igraph:
        graph = igraph.Graph(n=vertices, edges=np.column_stack([rows, columns]))
    weights = chances.tolist()
    for resolution in resolutions:
        # The same groups for the same edges, whatever was drawn before.
        with repeatable_igraph(1):
            found = graph.community_leiden(
                "modularity", weights=weights, resolution=resolution, n_iterations=2
            )
        yield _large(np.array(found.membership), rows, columns, chances)


def _large(
    codes: IntVector, rows: IndexArray, columns: IndexArray, chances: FloatVector
) -> IntVector | None:
    """With members of small groups moved to the large group that they send most weight to."""
    sizes = np.bincount(codes)
    large = np.flatnonzero(sizes >= max(_LEAST_SHARE * len(codes), 8))
    if len(large) > _MOST_GROUPS:
        large = large[np.argsort(-sizes[large])[:_MOST_GROUPS]]
    if len(large) < 2:
        return None
    place = np.full(len(sizes), -1)
    place[large] = np.arange(len(large))
    found = place[codes]
    for _ in range(_MOVES):
        if (found >= 0).all():
            break
        ends = np.concatenate([rows, columns]), np.concatenate([columns, rows])
        here = (found[ends[0]] < 0) & (found[ends[1]] >= 0)
        if not here.any():
            break
        keys = ends[0][here].astype(np.int64) * len(large) + found[ends[1][here]]
        unique, at = np.unique(keys, return_inverse=True)
        sums = np.bincount(at, np.concatenate([chances, chances])[here])
        order = np.argsort(sums, kind="stable")  # the largest last, and so kept
        found[unique[order] // len(large)] = unique[order] % len(large)
    lost = np.flatnonzero(found < 0)
    found[lost] = np.argmax(sizes[large])
    return found


def _gain(codes: IntVector, shown: _Edges, held: _Edges) -> float:
    """Log likelihood of edges that were held out, under blocks over that under degrees alone.

    Both are degree-corrected, so that degrees cancel: an edge between groups a and b gains
    ln(m_ab M/(v_a v_b)), with the blocks m and volumes v of the edges that were shown.
    """
    k = int(codes.max()) + 1
    rows, columns, chances = shown
    counted = np.bincount(codes[rows] * k + codes[columns], chances, minlength=k * k)
    blocks = counted.reshape(k, k) + counted.reshape(k, k).T + 1.0
    volumes = blocks.sum(axis=1)
    gains = np.log(blocks * blocks.sum() / np.outer(volumes, volumes))
    return float(gains[codes[held[0]], codes[held[1]]] @ held[2])
