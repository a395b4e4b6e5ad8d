"""What the rank-one distinguishers share: the unit-ball class, a top pair, a cut from a pair.

With R = G - h, the class is all queries scale * u'Rv with |u| = |v| = 1, where scale is n/2 (the
geometric mean of both sides of a bipartite graph). Its largest value is scale * sigma_1(R), which
singular vectors attain. Every cut between disjoint sets is in the ball: 1_S 1_T' = sqrt(|S||T|)
times a unit pair, and |S||T| <= scale^2. So a distinguisher that is F short on unit pairs
bounds all those cuts: max |R(S, T)| <= scale * (gap found + F). The class over [0, 1]^n is another
one: its largest value is the cut norm, which is hard to find.

The cut that a pair is rounded to has no such promise, since rounding may lose a factor:
`shortfall` is infinite for cuts. It is made of the set where u has one sign, the best partner of
that on noisy data, and so on: a cut between disjoint sets, or all pairs inside one set; in a
directed graph, any cut.

Everything here reads noisy data only. Source: GRU12 section 7, which leaves the distinguisher open.
"""

import math
from dataclasses import dataclass
from typing import Literal, final

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import ArpackError, eigsh, svds

from graphcuts_dp.arrays import BoolVector, FloatMatrix, FloatVector
from graphcuts_dp.errors import HypothesisError, ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.learn.base import Hypothesis, Sign
from graphcuts_dp.offline.distinguisher import Found
from graphcuts_dp.pairs.layout import Layout
from graphcuts_dp.pairs.queries import CutQuery, MatrixQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.entropy import EntropySource

# What `find` returns: a cut, or the unit pair itself as a matrix query times scale.
Answer = Literal["cut", "pair"]
_DENSE = 128  # up to here all eigenvectors are computed
_ROUNDS = 20  # of improvement of a cut on a noisy matrix, at most


@final
@dataclass(frozen=True, eq=False)
class UnitPair:
    """Unit vectors u, v on which u'Rv is found to be large. Public.

    Attributes:
        left: u, shape (n,) (left vertices of a bipartite graph).
        right: v, shape (n,).
        gap: noisy value of u'Rv; its sign is part of u, so it is positive but for noise.
    """

    left: FloatVector
    right: FloatVector
    gap: float


def written_out(hypothesis: Hypothesis, universe: Universe) -> FloatMatrix:
    """The hypothesis as a matrix.

    Raises:
        HypothesisError: one over another universe, or one that cannot be written out.
    """
    if hypothesis.universe != universe:
        raise HypothesisError("the hypothesis is over another universe than the distinguisher")
    dense = getattr(hypothesis, "dense", None)
    if dense is None:
        raise HypothesisError("rank-one distinguishers need a hypothesis with a matrix: `dense`")
    matrix: FloatMatrix = dense()
    return matrix


def pair_scale(universe: Universe) -> float:
    """Least c such that every cut between disjoint sets is c times the query of a unit pair."""
    return math.sqrt(universe.disjoint_norm_squared)


def usual_cut_norm(universe: Universe) -> float:
    """About the largest |E(S, T)| for independent noise of deviation 1 on all pairs.

    n^1.5/2 for a plain universe, where 0.50 to 0.54 n^1.5 was measured.
    """
    return pair_scale(universe) * math.sqrt(sum(universe.shape) / 2)


def checked_answer(answer: str) -> None:
    """Raise `ParameterError` unless it is "cut" or "pair"."""
    if answer not in ("cut", "pair"):
        raise ParameterError(f"answer is 'cut' or 'pair', not {answer!r}")


def checked_graph(graph: AnyGraph, universe: Universe, grid: Grid | None = None) -> None:
    """Check a private graph against what a distinguisher was made for; reads the schema only.

    Raises:
        ParameterError: other vertices, or weights that are counted on another grid.
    """
    if universe.space != graph.space:
        raise ParameterError("the graph has other vertices than the distinguisher")
    if grid is not None and Grid.of(graph) != grid:
        raise ParameterError("the graph's weights are counted on another grid: use Grid.of")


def checked_budget(rho: float, grid: Grid) -> None:
    """Check a zCDP budget for Gaussian noise on steps of a grid.

    Raises:
        ParameterError: a budget out of range, or weights without a public cap.
    """
    if not 1e-12 <= rho < math.inf:
        raise ParameterError(f"rho must be a finite number of at least 1e-12, not {rho}")
    if grid.cap is None:
        raise ParameterError("a distinguisher needs a public weight_cap; read the graph with one")


def pair_places(graph: AnyGraph) -> npt.NDArray[np.int64]:
    """The place of each edge in `Universe.pairs`, shape (edges,). Private."""
    layout = Layout.of(graph.space)
    return layout.places(graph.rows.astype(np.int64), graph.columns.astype(np.int64))


def matrix_of_pairs(values: npt.NDArray[np.float64], universe: Universe) -> FloatMatrix:
    """The matrix over the universe with one value a pair, in the order of `Universe.pairs`."""
    if not universe.hollow:
        return values.reshape(universe.shape)
    matrix = np.zeros(universe.shape)
    rows, columns = universe.pairs()
    matrix[rows, columns] = values
    if universe.symmetric:
        matrix[columns, rows] = values
    return matrix


@final
class MatrixSearch:
    """A search that has bought a noisy matrix once; what it finds is post-processing.

    Args:
        universe: the public vertex pairs.
        noisy: Z with E[Z] = G, over the universe. It is not copied.
        answer: what `find` returns.
    """

    def __init__(self, universe: Universe, noisy: FloatMatrix, answer: Answer) -> None:
        self._universe = universe
        self._noisy = noisy
        self._answer = answer

    def find(self, hypothesis: Hypothesis, source: EntropySource) -> Found:  # noqa: ARG002
        """See `Search.find`: the top singular pair of Z - h, or a cut made from it."""
        gaps = self._gaps(hypothesis)
        pair = top_pair(gaps, symmetric=self._universe.symmetric)
        if self._answer == "pair":
            return found_pair(pair, self._universe)
        return self._cut_of(gaps, pair)

    def find_pair(self, hypothesis: Hypothesis) -> UnitPair:
        """The top singular pair of Z - h."""
        return top_pair(self._gaps(hypothesis), symmetric=self._universe.symmetric)

    def _gaps(self, hypothesis: Hypothesis) -> FloatMatrix:
        return self._noisy - written_out(hypothesis, self._universe)

    def _cut_of(self, gaps: FloatMatrix, pair: UnitPair) -> Found:
        """Alternate: the best partner of a set, then the best partner of that, while it helps."""
        known, on_left = heavier_sign(pair.left), True
        best = -1.0
        for _ in range(_ROUNDS):
            sums = (gaps.T if on_left else gaps) @ known
            partner, gap = best_partner(sums, known, ordered=not self._universe.symmetric)
            if abs(gap) <= best:
                break
            best = abs(gap)
            found = found_cut(*((known, partner) if on_left else (partner, known)), gap)
            known, on_left = partner, not on_left
        return found


def top_pair(matrix: FloatMatrix, *, symmetric: bool) -> UnitPair:
    """The top singular pair of a noisy matrix, as exact as LAPACK or ARPACK make it.

    Args:
        matrix: shape (n1, n2).
        symmetric: whether it is symmetric; then u = v or u = -v.
    """
    if min(matrix.shape) > _DENSE:
        start = np.random.default_rng(7).standard_normal(min(matrix.shape))
        try:
            return _iterated(matrix, start, symmetric)
        except ArpackError:  # two values nearly alike; slower, but it always ends
            pass
    if symmetric:
        values, vectors = np.linalg.eigh(matrix)
        largest = int(np.abs(values).argmax())
        return _eigenpair(float(values[largest]), vectors[:, largest])
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    return UnitPair(left[:, 0], right[0], float(values[0]))


def _eigenpair(value: float, vector: FloatVector) -> UnitPair:
    return UnitPair(vector if value >= 0 else -vector, vector, abs(value))


def _iterated(matrix: FloatMatrix, start: FloatVector, symmetric: bool) -> UnitPair:
    if symmetric:
        values, vectors = eigsh(matrix, k=1, which="LM", v0=start)
        return _eigenpair(float(values[0]), vectors[:, 0])
    left, values, right = svds(matrix, k=1, v0=start, tol=0)
    return UnitPair(left[:, 0], right[0], float(values[0]))


def heavier_sign(sums: FloatVector) -> BoolVector:
    """The set with the largest |sum|: all entries that are not negative, or all that are.

    It is the best prefix of the sorted entries. Prefixes that are best for |sum| / sqrt(size) are
    shorter, and what they found under noise was less by either measure.
    """
    negative = sums < 0
    return negative if -sums[negative].sum() > sums[~negative].sum() else ~negative


def best_partner(
    sums: FloatVector, known: BoolVector, *, ordered: bool
) -> tuple[BoolVector, float]:
    """The set whose cut with a known one has the largest |gap|, and the gap.

    Args:
        sums: noisy sums of R over the known set, one for each vertex of the other side.
        known: S (or T), not empty.
        ordered: whether rows and columns are pairs in that order only, as between two sides or of
            arcs: any partner is then possible. If not, the partner is disjoint from the known set,
            or is the known set itself, whose pairs `sums` counts twice.
    """
    if ordered:
        partner = heavier_sign(sums)
        return partner, float(sums[partner].sum())
    inside = float(sums[known].sum()) / 2
    if known.all():
        return known, inside
    partner = np.zeros(len(known), dtype=np.bool_)
    partner[~known] = heavier_sign(sums[~known])
    across = float(sums[partner].sum())
    if known.sum() > 1 and abs(inside) > abs(across):
        return known, inside
    return partner, across


def found_cut(S: BoolVector, T: BoolVector, gap: float) -> Found:
    """A cut with the sign of its noisy gap."""
    sign: Sign = 1 if gap >= 0 else -1
    return Found(query=CutQuery(S, T), sign=sign)


def found_pair(pair: UnitPair, universe: Universe) -> Found:
    """A unit pair as a query of the class: coefficients scale * u v'."""
    coefficients = np.outer(pair_scale(universe) * pair.left, pair.right)
    return Found(query=MatrixQuery(coefficients), sign=1)
