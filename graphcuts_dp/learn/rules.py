"""Update rules: Frieze-Kannan, multiplicative weights, and mirror descent with any potential.

Frieze-Kannan adds a multiple of the query that went wrong. With h' = h + (e / ||q||^2) q the
potential ||D - h||_2^2 falls by e (2 g - e) / ||q||^2, where g is the discrepancy q(D) - q(h). A
step 0 < e <= g therefore lowers it by e^2 / ||q||^2 or more.

Multiplicative weights multiply by exp(+-eta q), and renormalise. The hypothesis is normalised to
the total weight m over pairs, so that its answers count edges: GRU12 appendix A keeps a probability
distribution, whose answers must be scaled by m. With D^ = D / m and h^ = h / m the potential is
KL(D^ || h^). If the discrepancy q(D^) - q(h^) is g and the coefficients of q span R, an update
lowers it by eta g - eta^2 R^2 / 8 or more (Hoeffding's lemma), and by eta g - eta^2 if eta R <= 1
(GRU12 Lemma A.6).

Mirror descent moves to argmin over C of Delta(x; x_t) - eta sgn(d) <f, x>. When the answer to f is
off by |d| >= alpha and the truth x* is in C, the three-point identity and Psi's order s give

    Delta(x*; x_t) - Delta(x*; x_{t+1}) >= eta |d| - ((s-1)/s) (eta ||f||_*)^(s/(s-1)),

and eta = alpha^(s-1) / ||f||_*^s makes the right side alpha^s / (s ||f||_*^s), its largest.

Deviations from JT12, Algorithm 2 (alpha is its T/2):

- The printed eta is ((s-1)^(s-1)/s^s) times that: a quarter for s = 2. The printed B does not
  follow from it, and can be exceeded; it proves B = 18.3 zeta^2 Psi/T^2, where the larger step
  proves the printed 8 zeta^2 Psi/T^2. `rule="as printed"` keeps it, with the bound that it has.
- Equation (1) has the sign of the gradient term reversed; Algorithm 2 has it right.
- C = {||x|| <= ||x*||} would tell the private norm. Here C is everything, or a public box; the
  proof asks only that x* be in it.

Source: GRU12 section 5, Alg. 2 and Theorem 5.1 (the same rule is the perceptron, DR14 Alg. 10,
where alpha is for normalised databases; here and in GRU12 it counts edges); GRU12 appendix A.2,
Alg. 5 and Theorem A.4; DR14 Theorem 4.10; JT12, Algorithm 2 and section 3.2.
"""

from dataclasses import dataclass
from typing import Any, TypeVar, final

import numpy as np

from graphcuts_dp.arrays import FloatArray
from graphcuts_dp.errors import HypothesisError, ParameterError, QueryError
from graphcuts_dp.learn.base import Construction, DenseHypothesis, Rule, Sign, checked_tuning
from graphcuts_dp.learn.blocks import BlockHypothesis
from graphcuts_dp.learn.bounds import entropy_drop, squared_drop
from graphcuts_dp.learn.cut_sum import CutSum
from graphcuts_dp.learn.norms import mirror_drop, printed_step_size, step_size
from graphcuts_dp.learn.potentials import Domain, Potential
from graphcuts_dp.queries.linear import LinearQuery
from graphcuts_dp.queries.universe import Universe

# What queries can be added to, and what they can tilt.
A = TypeVar("A", DenseHypothesis, CutSum)
M = TypeVar("M", DenseHypothesis, BlockHypothesis)
H = TypeVar("H", DenseHypothesis, CutSum, BlockHypothesis)


@dataclass(frozen=True, kw_only=True)
class _SteppingRule(Construction[H]):
    """What the three rules share.

    Attributes:
        start: the first hypothesis.
        alpha: tolerance in edges, > 0.
        start_potential: public upper bound on the potential of the truth at the start, >= 0.
        rule: see `Rule`.
        value_error: how far a value given to `update` may be from the truth; the tight step is
            then the longest one that is safe. None means alpha, which Definition 3.1 of GRU12
            grants.

    Raises:
        ParameterError: alpha <= 0, or a universe without pairs.
    """

    start: H
    alpha: float
    start_potential: float
    rule: Rule = "tight"
    value_error: float | None = None

    def __post_init__(self) -> None:
        checked_tuning(self.start.universe, self.alpha)

    def step(self, hypothesis: H, query: LinearQuery, sign: Sign, value: float | None) -> float:
        """The longest step that is certainly not above the true discrepancy; at least alpha."""
        if value is None or self.rule == "as printed":
            return self.alpha
        off = sign * (value - hypothesis.estimate(query))
        return max(self.alpha, off - (self.alpha if self.value_error is None else self.value_error))


@final
@dataclass(frozen=True, kw_only=True)
class FriezeKannanRule(_SteppingRule[A]):
    """Frieze-Kannan on any start. `FriezeKannanLearner` makes the usual ones.

    Args:
        start: constant, of blocks, or a matrix at hand (a warm start).
        alpha: see `_SteppingRule`, with `rule` and `value_error`: "tight": step e = alpha over
            ||q||^2; "as printed": alpha over X (GRU12 Alg. 2). With a value_error of 0 the
            hypothesis fits the value exactly.
        start_potential: upper bound on ||D - start||_2^2. For a graph without weights it is
            m - 2 start(D) + ||start||^2, linear in D with sensitivity at most 1 if the start lies
            in [0, 1]: a noisy value of it is cheap.
        largest_norm_squared: largest ||q||_2^2 of the query class, which updates are held to; None
            means X, right for all cuts. For disjoint S and T, `Universe.disjoint_norm_squared`.

    Guarantee: for D with weights in [0, 1] within `start_potential`, and queries within
        `largest_norm_squared`, at most start_potential * N / alpha^2 updates, where N is that
        norm, or X as printed.

    Raises:
        ParameterError: alpha <= 0, or a universe without pairs.
    """

    largest_norm_squared: float | None = None

    @property
    def _norm_limit(self) -> float:
        if self.rule == "as printed" or self.largest_norm_squared is None:
            return float(self.start.universe.size)
        return self.largest_norm_squared

    def update(
        self, hypothesis: A, query: LinearQuery, sign: Sign, value: float | None = None
    ) -> A:
        """The hypothesis plus or minus a multiple of the query; see `Construction.update`.

        Raises:
            QueryError: ||q||^2 is above `largest_norm_squared` (or X, as printed).
            HypothesisError: a query that no pair has a part in.
        """
        norm_squared = self.start.universe.norm_squared(query)
        if norm_squared > self._norm_limit * (1 + 1e-12):
            raise QueryError(
                f"the query has ||q||^2 = {norm_squared:g}, the bound on updates allows"
                f" {self._norm_limit:g}"
            )
        if norm_squared == 0:
            raise HypothesisError("no pair has a part in this query; its answer is always 0")
        if self.rule == "as printed":
            norm_squared = self.start.universe.size
        step = self.step(hypothesis, query, sign, value)
        return hypothesis.plus(query, sign * step / norm_squared)

    def least_drop(self, alpha: float) -> float:
        """alpha^2 over the largest ||q||^2, or over X as printed."""
        return squared_drop(alpha, self._norm_limit)


@final
@dataclass(frozen=True, kw_only=True)
class MultiplicativeWeightsRule(_SteppingRule[M]):
    """Multiplicative weights on any start. `MultiplicativeWeightsLearner` makes the usual one.

    Args:
        start: every pair's weight is positive. Its total is taken for m.
        alpha: see `_SteppingRule`, with `rule` and `value_error`: "tight": eta = 4 alpha / (m R^2).
            "as printed": alpha / (2 m), coefficients in [0, 1].
        start_potential: upper bound on KL(D^ || start^). At a uniform start ln(X / m) for weights
            in [0, 1], and ln X in any case.
        total_error: how far the true m may be from the start's total, >= 0; the step is shortened
            accordingly.
        span: R, the largest span of the coefficients (0 included) in the query class, which
            updates are held to: 1 for cuts, 2 for rank-one queries on a plain graph.

    Guarantee: for D of total weight within `total_error`, of KL within `start_potential`, and
        queries within `span`, at most start_potential / least_drop(alpha) updates.

    Raises:
        ParameterError: alpha <= 0, or alpha <= total_error * span.
    """

    total_error: float = 0.0
    span: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
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

    def update(
        self, hypothesis: M, query: LinearQuery, sign: Sign, value: float | None = None
    ) -> M:
        """The hypothesis tilted by the query; see `Construction.update`.

        Raises:
            QueryError: coefficients that span more than `span`, or (as printed) not in [0, 1].
        """
        low, high = self.start.universe.coefficient_range(query)
        if high - low > self.span * (1 + 1e-12) or (self.rule == "as printed" and low < 0):
            raise QueryError(
                f"the query's coefficients lie in [{low:g}, {high:g}]; the bound on updates is for"
                f" span={self.span:g}"
            )
        share = self._normalised(self.step(hypothesis, query, sign, value))
        # exp(-eta (1 - q)) is exp(eta q) up to normalisation.
        rate = share / 2 if self.rule == "as printed" else 4 * share / self.span**2
        return hypothesis.tilted(query, sign * rate)

    def least_drop(self, alpha: float) -> float:
        """See `entropy_drop`."""
        return entropy_drop(self._normalised(alpha), span=self.span, rule=self.rule)


@final
@dataclass(frozen=True, kw_only=True)
class MirrorDescentRule(_SteppingRule[Any]):
    """Mirror descent on any start; see the module. `minimal_start` makes the usual one.

    Args:
        start: in the domain; positive everywhere for `Entropy`. One of blocks is made a matrix when
            it is needed.
        alpha: see `_SteppingRule`, with `rule` and `value_error`, in the units of the answers.
            "tight": eta = e^(s-1)/||f||_*^s for a step e = alpha. "as printed": JT12's eta.
        psi: the potential. `LpNorm(2)` is Frieze-Kannan, `Entropy` is multiplicative weights; its
            truth must have the potential's total (`MultiplicativeWeightsRule` takes a noisy one).
        zeta: public bound on the dual norm of every query that may come, > 0, which updates are
            held to: 1/2 for `Entropy` with coefficients in [0, 1]; the root of the largest number
            of pairs between S and T for `LpNorm(2)`.
        start_potential: upper bound on Delta(truth; start): R^2/(2(p-1)) for a norm, start 0 and a
            truth of norm at most R; M^2 ln(X/M) for `Entropy`, a uniform start and a truth in
            [0, 1]. The truth's own value is private.
        domain: C, which must hold the truth; None for all x.
        shift: how far an answer of the truth may be from that of the point that the potential is
            bounded for, >= 0: for `Entropy`, the truth times total/M, where M is the true total.
            Steps are shortened by it.

    Guarantee: for a truth in the domain within `start_potential`, and queries within `zeta`, at
        most s (zeta/(alpha - shift))^s start_potential updates (as printed: see `least_drop`).

    Raises:
        ParameterError: alpha <= 0, or alpha <= shift.

    Source: JT12, Algorithm 2; deviations in the module.
    """

    psi: Potential
    zeta: float
    domain: Domain = None
    shift: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._left(self.alpha)

    def _left(self, step: float) -> float:
        """The discrepancy of the shifted truth that one of `step` implies."""
        if not step > self.shift:
            raise ParameterError(f"alpha must be larger than the shift, {self.shift:g}")
        return step - self.shift

    def initial(self) -> DenseHypothesis:
        """The first hypothesis, as a matrix."""
        if isinstance(self.start, DenseHypothesis):
            return self.start
        return DenseHypothesis(self.start.universe, self.start.dense())

    def update(
        self,
        hypothesis: DenseHypothesis,
        query: LinearQuery,
        sign: Sign,
        value: float | None = None,
    ) -> DenseHypothesis:
        """One step of mirror descent (step 6 of Algorithm 2); see `Construction.update`.

        Raises:
            QueryError: a query that does not fit, or whose dual norm is above zeta.
            HypothesisError: a query whose answer is the same on all hypotheses.
        """
        universe = self.start.universe
        f = coordinates(universe, universe.coefficients(query))
        size = self.psi.dual_norm(f)
        if size > self.zeta * (1 + 1e-12):
            raise QueryError(
                f"the query has dual norm {size:g}, the bound on updates allows {self.zeta:g}"
            )
        if size == 0:
            raise HypothesisError("all hypotheses answer this query alike; it cannot be off")
        left = self._left(self.step(hypothesis, query, sign, value))
        if self.rule == "as printed":
            eta = printed_step_size(left, self.zeta, self.psi.order)
        else:
            eta = step_size(left, size, self.psi.order)
        theta = self.psi.to_dual(coordinates(universe, hypothesis.matrix)) + eta * sign * f
        return _hypothesis(universe, self.psi.minimise(theta, self.domain))

    def least_drop(self, alpha: float) -> float:
        """(alpha - shift)^s/(s zeta^s); as printed what JT12's eta proves: 7/16 of it for s = 2."""
        return mirror_drop(self._left(alpha), self.zeta, self.psi.order, self.rule)


def minimal_start(universe: Universe, psi: Potential) -> DenseHypothesis:
    """The minimiser of Psi (steps 3 and 4 of Algorithm 2): 0, or uniform for `Entropy`.

    Args:
        universe: the public vertex pairs (users and items, for a matrix of ratings).
        psi: the potential.
    """
    nothing = np.zeros_like(coordinates(universe, np.zeros(universe.shape)))
    return _hypothesis(universe, psi.minimise(nothing))


def coordinates(universe: Universe, matrix: FloatArray) -> FloatArray:
    """What the potential sees: each pair once."""
    return matrix[universe.pairs()] if universe.hollow else matrix


def _hypothesis(universe: Universe, x: FloatArray) -> DenseHypothesis:
    if not universe.hollow:
        return DenseHypothesis(universe, x)
    matrix = np.zeros(universe.shape)
    matrix[universe.pairs()] = x
    return DenseHypothesis(universe, matrix + matrix.T if universe.symmetric else matrix)
