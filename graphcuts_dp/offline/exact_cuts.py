"""The exponential mechanism over all cuts between disjoint sets, exactly, for up to 22 vertices.

The score of a cut is a sum over its pairs, so that for a fixed S the vertices of T are independent:
with r_j = sum_{i in S} R_ij, sum_T e^(c r(S,T)) = prod_{j not in S} (1 + e^(c r_j)). S is drawn by
that product, all 2^n of which are computed, and each vertex j outside S joins T with probability
e^(c r_j)/(1 + e^(c r_j)). Floats only propose: see `privacy.noise.Choice`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import BoolVector, FloatVector, IntMatrix, IntVector
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph
from graphcuts_dp.learn.base import Hypothesis, Sign
from graphcuts_dp.offline.distinguisher import (
    Found,
    PaidByCall,
    Score,
    Scoring,
    checked_graph,
)
from graphcuts_dp.offline.query_lists import MatrixHypothesis
from graphcuts_dp.pairs.queries import CutQuery
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import Choice, happens

MOST_VERTICES = 22  # 2^22 products, both signs: 64 MiB
_CHUNK_BITS = 10  # sets computed together
_SURE = 2.0**-40  # more than a float e^x/(1+e^x) can be off


@final
@dataclass(frozen=True, kw_only=True)
class ExactCuts(PaidByCall):
    """Finds a cut by its gap among all cuts between disjoint S and T; S left, T right if bipartite.

    P(S, T) is proportional to e^(c score), exactly; each cut counts as (S, T) and as (T, S), which
    are two cuts in a directed graph. With
    the score "two-signed" the sign is drawn along with S. "absolute" draws that way and keeps a
    draw with probability e^(c|r|)/(e^(c r) + e^(-c r)), at least a half.

    Args:
        universe: up to 22 vertices; of a bipartite one, on its smaller side.
        epsilon: of one call, exact, > 0.
        grid: of the graph.
        score: see `Scoring`.

    Guarantee: epsilon-DP and epsilon^2/8-zCDP for a call: see `Scoring.rate`.

    Raises:
        ParameterError: too many vertices, an unknown score, or a number out of range.

    Source: GRU12 Definition 7.1; McSherry, Talwar 2007.
    """

    universe: Universe

    def __post_init__(self) -> None:
        if min(self.universe.shape) > MOST_VERTICES or not self.universe.size:
            raise ParameterError(
                f"exact-cuts goes through all sets of vertices: up to {MOST_VERTICES} of them; use"
                " another distinguisher"
            )
        self.scoring.rate(self.epsilon)

    name = "exact-cuts"

    @property
    def scoring(self) -> Scoring:
        """How gaps are scored."""
        return Scoring(self.universe, self.grid, self.score)

    def shortfall(self, gamma: float) -> float:
        """(n ln 3 + ln(1/gamma))/c, and a sub-step a pair for rounding, in weight.

        c = epsilon for "signed" (behind the largest gap then), epsilon/2 else. Of the 3^n pairs of
        sets, twice that with signs, two have the largest |gap|. Directed: one has, so another ln 2
        for the sign. Bipartite: (n1 + n2) ln 2, and another ln 2 for the sign.
        """
        left, right = self.universe.shape
        outcomes = (left + right) * math.log(2) if self.universe.bipartite else left * math.log(3)
        if not self.universe.symmetric:
            outcomes += math.log(self.scoring.signs)
        steps = (outcomes - math.log(gamma)) / float(self.scoring.rate(self.epsilon))
        return (steps * (1 + 1e-12) + self.universe.disjoint_norm_squared) * self.scoring.unit

    def begin(self, graph: AnyGraph, source: EntropySource) -> "ExactCutsSearch":  # noqa: ARG002
        """Take the graph as a matrix of integers. Draws no noise.

        Raises:
            ParameterError: a graph over other vertices, or of another grid.
        """
        checked_graph(graph, self.universe, self.grid)
        matrix = np.zeros(self.universe.shape, dtype=np.int64)
        steps = self.grid.steps(graph.weights) if graph.weighted else 1
        matrix[graph.rows, graph.columns] = steps
        if self.universe.symmetric:
            matrix += matrix.T.copy()
        return ExactCutsSearch(self, matrix)


@final
class ExactCutsSearch:
    """All cuts of one graph. Holds the graph: private.

    Args:
        distinguisher: with its epsilon.
        matrix: weights in steps, shape of the universe.
    """

    def __init__(self, distinguisher: ExactCuts, matrix: IntMatrix) -> None:
        self._of = distinguisher
        self._matrix = matrix * distinguisher.scoring.substeps

    def __repr__(self) -> str:
        return "ExactCutsSearch()"

    def find(self, hypothesis: Hypothesis, source: EntropySource) -> Found:
        """See `Search.find`.

        Raises:
            ParameterError: a hypothesis that is no matrix (the median's).
        """
        if not isinstance(hypothesis, MatrixHypothesis):
            raise ParameterError(
                "exact-cuts needs a hypothesis that is a matrix; use the distinguisher exponential"
            )
        of = self._of
        gaps = self._matrix - of.scoring.rounded(hypothesis.dense())
        cuts = CutSampler(
            gaps, of.scoring.rate(of.epsilon), score=of.score, bipartite=of.universe.bipartite
        )
        S, T, sign = cuts.draw(source)
        return Found(query=CutQuery(S, T), sign=sign)


@final
class CutSampler:
    """Draws pairs of sets with probability proportional to e^(rate score), exactly.

    Args:
        gaps: R in sub-steps, shape (n, n), or (n1, n2); the sum of all |R_ij| below 2^62. Of an
            undirected graph it is symmetric.
        rate: c, > 0.
        score: see `Scoring`.
        bipartite: whether S are rows and T columns; else both are disjoint sets of vertices.

    Cost: 2^n steps once, n the number of rows, or the smaller number if bipartite; O(n) a draw.
    """

    def __init__(self, gaps: IntMatrix, rate: Fraction, *, score: Score, bipartite: bool) -> None:
        self._turned = bipartite and gaps.shape[1] < gaps.shape[0]
        self._gaps = np.ascontiguousarray(gaps.T if self._turned else gaps)
        self._rate = rate
        self._score = score
        self._disjoint = not bipartite
        self._signs: tuple[Sign, ...] = (1,) if score == "signed" else (1, -1)
        self._n = len(self._gaps)
        logs = np.concatenate(
            [np.concatenate(chunks) for chunks in zip(*self._log_sums(), strict=True)]
        )
        # Each term c r_j is off by 2^-51 of its size, and log, exp and the sum by 2^-50 a term.
        size = float(rate) * float(np.abs(self._gaps).sum(axis=0, dtype=np.float64).sum())
        error = (size + self._gaps.shape[1] + 1) * 2.0**-49 + 2.0**-45
        self._choice = Choice(logs, error, self._exact_log_sum)

    def __repr__(self) -> str:
        return "CutSampler()"

    def draw(self, source: EntropySource) -> tuple[BoolVector, BoolVector, Sign | None]:
        """Truth vectors of S and T, and the sign; None for the score "absolute"."""
        while True:
            S, sign = self._set(self._choice.draw(source))
            T = self._second_set(S, sign, source)
            if self._score != "absolute":
                break
            size = abs(int(self._gaps[S][:, T].sum()))
            if happens(partial(self._share, 2 * size), source):
                break
        told = None if self._score == "absolute" else sign
        return (T, S, told) if self._turned else (S, T, told)

    def _log_sums(self) -> Iterator[tuple[FloatVector, ...]]:
        """Logarithms of the sums over T for the sets S of a chunk, one array for each sign."""
        low = min(self._n, _CHUNK_BITS)
        inside = (np.arange(1 << low)[:, None] >> np.arange(low) & 1).astype(np.float64)
        c = float(self._rate)
        terms_low = inside @ self._gaps[:low].astype(np.float64) * c
        ones = np.ones(self._gaps.shape[1])
        for high in range(1 << (self._n - low)):
            chosen = (high >> np.arange(self._n - low) & 1).astype(np.bool_)
            terms = terms_low + self._gaps[low:][chosen].sum(axis=0) * c
            absent: FloatVector | float = 0.0
            if self._disjoint:  # a term of 0 for each vertex in S, which adds ln 2
                terms[:, :low] *= 1 - inside
                terms[:, low:] *= ~chosen
                absent = (inside.sum(axis=1) + chosen.sum()) * math.log(2)
            # ln(1 + e^x) = x/2 + |x|/2 + ln(1 + e^-|x|)
            sizes = np.abs(terms)
            both = sizes @ ones / 2 + _log_products(np.exp(-sizes) + 1) - absent
            half = terms @ ones / 2
            yield (both + half, both - half)[: len(self._signs)]

    def _exact_log_sum(self, index: int) -> Decimal:
        S, sign = self._set(index)
        total = Decimal(0)
        for r in self._sums(S)[self._outside(S)].tolist():
            total += (1 + self._power(sign * r).exp()).ln()
        return total

    def _set(self, index: int) -> tuple[BoolVector, Sign]:
        sign = self._signs[index >> self._n]
        S: BoolVector = (index >> np.arange(self._n) & 1).astype(np.bool_)
        return S, sign

    def _sums(self, S: BoolVector) -> IntVector:
        sums: IntVector = self._gaps[S].sum(axis=0)
        return sums

    def _outside(self, S: BoolVector) -> npt.NDArray[np.intp]:
        return np.flatnonzero(~S) if self._disjoint else np.arange(self._gaps.shape[1])

    def _second_set(self, S: BoolVector, sign: Sign, source: EntropySource) -> BoolVector:
        T = np.zeros(self._gaps.shape[1], dtype=np.bool_)
        free = self._outside(S)
        if not len(free):
            return T
        sums = sign * self._sums(S)[free]
        words = source.bytes(8 * len(free)).view(np.uint64)
        shares = 1 / (1 + np.exp(np.clip(-sums * float(self._rate), -700, 700)))
        uniform = words * 2.0**-64
        inside = uniform < shares
        for i in np.flatnonzero(np.abs(uniform - shares) < _SURE):
            r = int(sums[i])
            inside[i] = happens(partial(self._share, r), source, prefix=int(words[i]), bits=64)
        T[free] = inside
        return T

    def _power(self, r: int) -> Decimal:
        return r * Decimal(self._rate.numerator) / Decimal(self._rate.denominator)

    def _share(self, r: int) -> Decimal:
        """e^(c r)/(1 + e^(c r)), all digits of it right."""
        power = self._power(r)
        if power > 0:
            return 1 / (1 + (-power).exp())
        grown = power.exp()
        return grown / (1 + grown)


def _log_products(factors: npt.NDArray[np.float64]) -> FloatVector:
    """Logarithms of the products of rows of numbers in [1, 2]."""
    total = np.zeros(len(factors))
    for start in range(0, factors.shape[1], 512):  # 2^512 is a float
        total += np.log(factors[:, start : start + 512].prod(axis=1))
    return total
