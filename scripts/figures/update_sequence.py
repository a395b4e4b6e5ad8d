"""A database update sequence, checked against its definition."""

import math
from collections.abc import Sequence
from typing import Any, Generic, final

import numpy as np
import numpy.typing as npt

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.errors import HypothesisError, MatrixError
from graphcuts_dp.learn.base import Construction, H, Sign
from graphcuts_dp.learn.median import Median
from graphcuts_dp.learn.potentials import bregman
from graphcuts_dp.learn.rules import (
    FriezeKannanRule,
    MirrorDescentRule,
    MultiplicativeWeightsRule,
    coordinates,
)
from graphcuts_dp.queries.linear import LinearQuery
from graphcuts_dp.queries.universe import Universe


@final
class UpdateSequence(Generic[H]):
    """A database update sequence that refuses every step against its definition. Not private.

    Args:
        construction: the rule; its alpha is the tolerance.
        truth: the true matrix over the universe, entries in [0, 1].

    Attributes:
        hypothesis: the present one.
        count: updates made so far.

    Raises:
        MatrixError: a truth that is no such matrix.

    Source: GRU12, Definition 3.1 (numbers in `update`) and Definition 3.2 (count <= B(alpha)).
    """

    def __init__(self, construction: Construction[H], truth: npt.ArrayLike) -> None:
        self.construction = construction
        self.hypothesis = construction.initial()  # 1. the start
        self.truth = checked(self.hypothesis.universe, truth, upper=1)
        self.count = 0

    def discrepancy(self, query: LinearQuery) -> float:
        """Return the true answer minus the hypothesis's."""
        true_answer = self.hypothesis.universe.answers([query], self.truth)[0]
        return float(true_answer) - self.hypothesis.estimate(query)

    def update(
        self, query: LinearQuery, sign: Sign | None = None, value: float | None = None
    ) -> None:
        """Update by a query, checking that the step is valid and within the bound.

        Args:
            query: the distinguishing query.
            sign: as for `Construction.update`; None takes the true one.
            value: as for `Construction.update`.

        Raises:
            HypothesisError: |q(D) - q(h)| < alpha, a wrong sign, |q(D) - value| >= alpha, or more
                updates than B(alpha).
        """
        alpha = self.construction.alpha
        gap = self.discrepancy(query)
        if not abs(gap) >= alpha:  # 2.
            raise HypothesisError(
                f"no update is due: the answer is off by {gap:g}, alpha={alpha:g}"
            )
        true_sign: Sign = 1 if gap > 0 else -1
        if sign not in (None, true_sign):
            raise HypothesisError(f"the sign is {sign:+d}, but the answer is off by {gap:+g}")
        if value is not None:
            off = value - (gap + self.hypothesis.estimate(query))
            if not abs(off) < alpha:  # 3.
                raise HypothesisError(f"the value is off by {off:g}, alpha={alpha:g}")
        if self.count + 1 > self.construction.update_bound(alpha):
            raise HypothesisError(f"update {self.count + 1} is more than B(alpha) allows")
        self.hypothesis = self.construction.update(self.hypothesis, query, true_sign, value)  # 4.
        self.count += 1

    def exhaust(self, queries: Sequence[LinearQuery]) -> None:
        """Update by the worst of the queries, again and again, until none is off by alpha.

        Raises:
            HypothesisError: that takes more updates than B(alpha).
        """
        while True:
            worst = max(queries, key=lambda query: abs(self.discrepancy(query)))
            if abs(self.discrepancy(worst)) < self.construction.alpha:
                return
            self.update(worst)


def checked(universe: Universe, matrix: npt.ArrayLike, *, upper: float = np.inf) -> FloatMatrix:
    """Return a copy of a matrix over the universe, with 0 on the diagonal if no pair lies there.

    Args:
        universe: the public vertex pairs.
        matrix: of the universe's shape, symmetric if plain, entries in [0, upper].
        upper: largest entry allowed.

    Raises:
        MatrixError: anything else.
    """
    copy = np.array(matrix, dtype=np.float64)
    if copy.shape != universe.shape:
        raise MatrixError(f"the matrix has shape {copy.shape}, the universe {universe.shape}")
    universe.clear_diagonal(copy)
    if universe.symmetric and (copy != copy.T).any():
        raise MatrixError("the matrix of a plain universe must be symmetric; this one is not")
    if not ((copy >= 0) & (copy <= upper) & (copy < np.inf)).all():
        raise MatrixError(f"the matrix has entries outside [0, {upper:g}] or not finite")
    return copy


def potential(construction: Construction[Any], hypothesis: Any, truth: FloatMatrix) -> float:
    """Return the potential of a hypothesis in the proof of its construction. Not private.

    Multiplicative weights: KL(D^ || h^) over pairs, in nats; D must not be zero. Frieze-Kannan:
    ||D - h||_2^2 over pairs. Mirror descent: the Bregman divergence Delta(D; h). Median: log2 of
    the number of databases left, which does not depend on the truth.

    Raises:
        TypeError: another construction.
    """
    if isinstance(construction, MultiplicativeWeightsRule):
        universe = construction.start.universe
        share = truth / universe.total(truth)
        present = share > 0
        against = hypothesis.dense()[present] / hypothesis.total()
        terms = share[present] * np.log(share[present] / against)
        return float(terms.sum()) / (2 if universe.symmetric else 1)
    if isinstance(construction, FriezeKannanRule):
        difference = truth - hypothesis.dense()
        return float(construction.start.universe.total(difference * difference))
    if isinstance(construction, MirrorDescentRule):
        universe = construction.start.universe
        x, y = coordinates(universe, truth), coordinates(universe, hypothesis.matrix)
        return bregman(construction.psi, x, y)
    if isinstance(construction, Median):
        return math.log2(len(hypothesis))
    raise TypeError("the potential of another construction is not known")
