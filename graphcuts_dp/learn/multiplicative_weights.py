"""The multiplicative-weights construction: multiply by exp(+-eta q), and renormalise.

The hypothesis is normalised to the total weight m over pairs, so that its answers count edges:
GRU12 appendix A keeps a probability distribution, whose answers must be scaled by m.
With D^ = D / m and h^ = h / m the potential is KL(D^ || h^). If the discrepancy q(D^) - q(h^) is g
and the coefficients of q span R, an update lowers it by eta g - eta^2 R^2 / 8 or more (Hoeffding's
lemma), and by eta g - eta^2 if eta R <= 1 (GRU12 Lemma A.6).

Source: GRU12 appendix A.2, Alg. 5 and Theorem A.4; DR14 Theorem 4.10.
"""

import math
from dataclasses import dataclass
from typing import Generic, Protocol, Self, TypeVar, final

import numpy as np

from graphcuts_dp.arrays import FloatMatrix
from graphcuts_dp.errors import ParameterError, QueryError
from graphcuts_dp.learn.base import Hypothesis, Rule, Sign, checked_tuning, step_length
from graphcuts_dp.learn.blocks import BlockHypothesis
from graphcuts_dp.pairs.queries import LinearQuery
from graphcuts_dp.pairs.universe import Universe


class Tiltable(Hypothesis, Protocol):
    """A hypothesis that queries can tilt: `DenseHypothesis`, `BlockHypothesis`."""

    def tilted(self, query: LinearQuery, exponent: float) -> Self:
        """A new hypothesis, weights times exp(exponent * coefficient), with the same total."""

    def total(self) -> float:
        """Sum of the weights of all pairs."""

    def dense(self) -> FloatMatrix:
        """The matrix over the universe."""


M = TypeVar("M", bound=Tiltable)


@final
@dataclass(frozen=True, kw_only=True)
class MultiplicativeWeightsRule(Generic[M]):
    """The rule on any start. `multiplicative_weights` makes the usual one.

    Args:
        start: the first hypothesis, every pair's weight positive. Its total is taken for m.
        alpha: tolerance in edges, > 0.
        start_potential: public upper bound on KL(D^ || start^). At a uniform start
            ln(X / m) for weights in [0, 1], and ln X in any case.
        total_error: how far the true m may be from the start's total, >= 0; the step is shortened
            accordingly.
        rule: "tight": eta = 4 alpha / (m R^2). "as printed": alpha / (2 m), coefficients in [0, 1].
        span: R, the largest span of the coefficients (0 included) in the query class, which
            updates are held to: 1 for cuts, 2 for rank-one queries on a plain graph.
        value_error: how far a value given to `update` may be from the truth; the tight step is
            then the longest one that is safe. None means alpha, which Definition 3.1 grants.

    Guarantee: for D of total weight within `total_error`, of KL within `start_potential`, and
        queries within `span`, at most start_potential / least_drop(alpha) updates.

    Raises:
        ParameterError: a number out of range, among them alpha <= total_error * span.
    """

    start: M
    alpha: float
    start_potential: float
    total_error: float = 0.0
    rule: Rule = "tight"
    span: float = 1.0
    value_error: float | None = None

    def __post_init__(self) -> None:
        checked_tuning(self.start.universe, self.alpha, self.rule, self.value_error)
        if not 0 <= self.start_potential < np.inf:
            raise ParameterError("start_potential must be a finite number >= 0")
        if not (0 < self.span < np.inf and 0 <= self.total_error < np.inf):
            raise ParameterError("span must be a finite number > 0, and total_error >= 0")
        if self.rule == "as printed" and self.span != 1:
            raise ParameterError("the rule as printed is for coefficients in [0, 1]: span=1")
        if not self.start.total() > 0:
            raise ParameterError("multiplicative weights need a start of positive total weight")
        self._normalised(self.alpha)

    def _normalised(self, step: float) -> float:
        """A discrepancy of the normalised databases that one of `step` edges implies."""
        left = step - self.total_error * self.span
        if not left > 0:
            raise ParameterError(
                f"alpha must be larger than total_error * span = {self.total_error * self.span:g}"
            )
        # No discrepancy is larger than the span of the coefficients.
        return min(left / self.start.total(), self.span)

    def initial(self) -> M:
        """The first hypothesis."""
        return self.start

    def update(
        self, hypothesis: M, query: LinearQuery, sign: Sign, value: float | None = None
    ) -> M:
        """The hypothesis tilted by the query; see `Construction.update`.

        Raises:
            QueryError: coefficients that span more than `span`, or (as printed) not in [0, 1].
            HypothesisError: too many blocks; see `BlockHypothesis`.
        """
        low, high = self.start.universe.coefficient_range(query)
        if high - low > self.span * (1 + 1e-12) or (self.rule == "as printed" and low < 0):
            raise QueryError(
                f"the query's coefficients lie in [{low:g}, {high:g}]; the bound on updates is for"
                f" span={self.span:g}"
            )
        if self.rule == "as printed":
            # exp(-eta (1 - q)) is exp(eta q) up to normalisation.
            return hypothesis.tilted(query, sign * self._normalised(self.alpha) / 2)
        step = self.alpha
        if value is not None:
            off = sign * (value - hypothesis.estimate(query))
            step = step_length(self.alpha, off, self.value_error)
        return hypothesis.tilted(query, sign * 4 * self._normalised(step) / self.span**2)

    def least_drop(self, alpha: float) -> float:
        """Tight 2 (alpha / (m R))^2; as printed alpha^2 / (4 m^2), for the paper's m = n.

        GRU12 prints alpha^2 / (4 n) after Claim A.5; its own theorem needs the square.
        """
        share = self._normalised(alpha)
        return share**2 / 4 if self.rule == "as printed" else 2 * (share / self.span) ** 2

    def update_bound(self, alpha: float) -> float:
        """B(alpha) = start_potential / least_drop(alpha)."""
        return self.start_potential / self.least_drop(alpha)


def multiplicative_weights(
    universe: Universe,
    *,
    alpha: float,
    total_weight: float,
    total_error: float = 0.0,
    rule: Rule = "tight",
    value_error: float | None = None,
    max_blocks: int = 2048,
) -> MultiplicativeWeightsRule[BlockHypothesis]:
    """The construction from a uniform start on blocks, for cuts and weights in [0, 1].

    Updates by other queries need a `DenseHypothesis`: build `MultiplicativeWeightsRule` with
    `DenseHypothesis.constant` and the `start_potential` of this one.

    Args:
        universe: the public vertex pairs.
        alpha: tolerance in edges, > total_error.
        total_weight: m or a noisy value of it, in (0, X].
        total_error: how far the true m may be from `total_weight`, >= 0.
        rule: "tight" has B = m^2 ln(X/m) / (2 alpha^2); "as printed" 4 m^2 ln(X) / alpha^2.
        value_error: see `MultiplicativeWeightsRule`.
        max_blocks: see `BlockHypothesis`.

    Raises:
        ParameterError: a number out of range, or an unknown rule.
    """
    if not 0 < total_weight <= universe.size:
        raise ParameterError(f"total_weight must lie in (0, {universe.size}]")
    # Weights in [0, 1] that sum to m have entropy at least ln m once normalised, and at least 0.
    entropy = math.log(max(1.0, total_weight - total_error)) if rule == "tight" else 0.0
    return MultiplicativeWeightsRule(
        start=BlockHypothesis.constant(
            universe, total_weight / universe.size, max_blocks=max_blocks
        ),
        alpha=alpha,
        start_potential=math.log(universe.size) - entropy,
        total_error=total_error,
        rule=rule,
        value_error=value_error,
    )
