"""The Frieze-Kannan construction: add a multiple of the query that went wrong.

With h' = h + (e / ||q||^2) q the potential ||D - h||_2^2 falls by e (2 g - e) / ||q||^2, where
g is the discrepancy q(D) - q(h). A step 0 < e <= g therefore lowers it by e^2 / ||q||^2 or more.

Source: GRU12 section 5, Alg. 2 and Theorem 5.1; the same rule is the perceptron, DR14 Alg. 10,
where alpha is for normalised databases (here and in GRU12 it counts edges).
"""

from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar, final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.errors import HypothesisError, ParameterError, QueryError
from graphcuts_dp.learn.base import Hypothesis, Rule, Sign, checked_tuning, step_length
from graphcuts_dp.learn.cut_sum import CutSum
from graphcuts_dp.pairs.queries import LinearQuery
from graphcuts_dp.pairs.universe import Universe


class Additive(Hypothesis, Protocol):
    """A hypothesis to which multiples of queries can be added: `DenseHypothesis`, `CutSum`."""

    def plus(self, query: LinearQuery, weight: float) -> Self:
        """A new hypothesis with `weight` times the query's coefficients added."""

    def dense(self) -> FloatMatrix:
        """The matrix over the universe."""


A = TypeVar("A", bound=Additive)


@final
@dataclass(frozen=True, kw_only=True)
class FriezeKannanRule(Generic[A]):
    """The rule on any start. `frieze_kannan` makes the usual ones.

    Args:
        start: the first hypothesis: constant, Chung-Lu, or a matrix at hand (a warm start).
        alpha: tolerance in edges, > 0.
        start_potential: public upper bound on ||D - start||_2^2. For a graph without weights
            it is m - 2 start(D) + ||start||^2, linear in D with sensitivity at most 1 if the start
            lies in [0, 1]: a noisy value of it is cheap.
        rule: "tight": step e = alpha over ||q||^2. "as printed": alpha over X (GRU12 Alg. 2).
        largest_norm_squared: largest ||q||_2^2 of the query class, which updates are held to; None
            means X, right for all cuts. For disjoint S and T, `Universe.disjoint_norm_squared`.
        value_error: how far a value given to `update` may be from the truth; the tight step is
            then the longest one that is safe, and with 0 the hypothesis fits the value exactly.
            None means alpha, which Definition 3.1 grants.

    Guarantee: for D with weights in [0, 1] within `start_potential`, and queries within
        `largest_norm_squared`, at most start_potential * N / alpha^2 updates, where N is that
        norm, or X as printed.

    Raises:
        ParameterError: a number out of range.
    """

    start: A
    alpha: float
    start_potential: float
    rule: Rule = "tight"
    largest_norm_squared: float | None = None
    value_error: float | None = None

    def __post_init__(self) -> None:
        checked_tuning(self.start.universe, self.alpha, self.rule, self.value_error)
        if not 0 <= self.start_potential < np.inf:
            raise ParameterError("start_potential must be a finite number >= 0")
        if self.largest_norm_squared is not None and not 0 < self.largest_norm_squared < np.inf:
            raise ParameterError("largest_norm_squared must be a finite number > 0")

    @property
    def _norm_limit(self) -> float:
        size = float(self.start.universe.size)
        return size if self.largest_norm_squared is None else self.largest_norm_squared

    def initial(self) -> A:
        """The first hypothesis."""
        return self.start

    def update(
        self, hypothesis: A, query: LinearQuery, sign: Sign, value: float | None = None
    ) -> A:
        """The hypothesis plus or minus a multiple of the query; see `Construction.update`.

        Raises:
            QueryError: ||q||^2 is above `largest_norm_squared` (or X, as printed).
            HypothesisError: a query that no pair has a part in.
        """
        universe = self.start.universe
        norm_squared = universe.norm_squared(query)
        limit = float(universe.size) if self.rule == "as printed" else self._norm_limit
        if norm_squared > limit * (1 + 1e-12):
            raise QueryError(
                f"the query has ||q||^2 = {norm_squared:g}, the bound on updates allows {limit:g}"
            )
        if norm_squared == 0:
            raise HypothesisError("no pair has a part in this query; its answer is always 0")
        if self.rule == "as printed":
            return hypothesis.plus(query, sign * self.alpha / universe.size)
        step = self.alpha
        if value is not None:
            off = sign * (value - hypothesis.estimate(query))
            step = step_length(self.alpha, off, self.value_error)
        return hypothesis.plus(query, sign * step / norm_squared)

    def least_drop(self, alpha: float) -> float:
        """alpha^2 over the largest ||q||^2, or over X as printed."""
        limit = self._norm_limit if self.rule == "tight" else float(self.start.universe.size)
        return alpha**2 / limit

    def update_bound(self, alpha: float) -> float:
        """B(alpha) = start_potential / least_drop(alpha)."""
        return self.start_potential / self.least_drop(alpha)


def frieze_kannan(
    universe: Universe,
    *,
    alpha: float,
    total_weight: float,
    total_error: float = 0.0,
    rule: Rule = "tight",
    largest_norm_squared: float | None = None,
    value_error: float | None = None,
) -> FriezeKannanRule[CutSum]:
    """The construction from the total weight m alone, for graphs with weights in [0, 1].

    The hypothesis is a `CutSum`. Updates by other queries than cuts need a `DenseHypothesis`: build
    `FriezeKannanRule` with `DenseHypothesis.constant` and the `start_potential` of this one.

    Args:
        universe: the public vertex pairs.
        alpha: tolerance in edges, > 0.
        total_weight: m or a noisy value of it, in [0, X].
        total_error: how far the true m may be from `total_weight`, >= 0.
        rule: "tight" starts at density d = m / X, where ||D - d||^2 <= m (1 - d); "as printed"
            starts at 0, where ||D||^2 <= m.
        largest_norm_squared: see `FriezeKannanRule`.
        value_error: see `FriezeKannanRule`.

    Raises:
        ParameterError: a number out of range, or an unknown rule.
    """
    if not (0 <= total_weight <= universe.size and 0 <= total_error < np.inf):
        raise ParameterError(
            f"total_weight must lie in [0, {universe.size}], and total_error be >= 0"
        )
    density = total_weight / max(universe.size, 1) if rule == "tight" else 0.0
    # ||D - d||^2 <= m (1 - 2 d) + d^2 X for the true m, which may lie on either side of
    # `total_weight`.
    potential = total_weight * (1 - 2 * density) + density**2 * universe.size
    potential += total_error * abs(1 - 2 * density)
    return FriezeKannanRule(
        start=CutSum.constant(universe, density),
        alpha=alpha,
        start_potential=potential,
        rule=rule,
        largest_norm_squared=largest_norm_squared,
        value_error=value_error,
    )
