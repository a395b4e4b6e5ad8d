"""Mirror descent: one update rule for every potential.

The hypothesis moves to argmin over C of Delta(x; x_t) - eta sgn(d) <f, x>. When the answer to f is
off by |d| >= alpha and the truth x* is in C, the three-point identity and Psi's order s give

    Delta(x*; x_t) - Delta(x*; x_{t+1}) >= eta |d| - ((s-1)/s) (eta ||f||_*)^(s/(s-1)),

and eta = alpha^(s-1) / ||f||_*^s makes the right side alpha^s / (s ||f||_*^s), its largest.

Deviations from JT12, Algorithm 2 (alpha is its T/2):

- The printed eta is ((s-1)^(s-1)/s^s) times that: a quarter for s = 2. The printed B does not
  follow from it, and can be exceeded; it proves B = 18.3 zeta^2 Psi/T^2, where the larger step
  proves the printed 8 zeta^2 Psi/T^2. `rule="as printed"` keeps it, with the bound that it has.
- Equation (1) has the sign of the gradient term reversed; Algorithm 2 has it right.
- C = {||x|| <= ||x*||} would tell the private norm. Here C is everything, a public box, or a ball
  of public radius; the proof asks only that x* be in it.

Source: JT12, Algorithm 2 and section 3.2.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from graphcuts_dp.arrays import FloatArray
from graphcuts_dp.errors import HypothesisError, ParameterError, QueryError
from graphcuts_dp.learn.base import Rule, Sign, checked_tuning, step_length
from graphcuts_dp.learn.bit_sets import DenseHypothesis
from graphcuts_dp.learn.potentials import Domain, Potential
from graphcuts_dp.pairs.queries import LinearQuery
from graphcuts_dp.pairs.universe import Universe


def step_size(alpha: float, zeta: float, order: float) -> float:
    """The step eta = alpha^(s-1)/zeta^s, which has the largest proven drop.

    Args:
        alpha: least discrepancy of an update, > 0 (T/2 in JT12).
        zeta: dual norm of the query, or the largest one of the class, > 0.
        order: s >= 2.
    """
    return float(alpha ** (order - 1) / zeta**order)


def printed_step_size(alpha: float, zeta: float, order: float) -> float:
    """The eta that JT12, Alg. 2 prints: (s-1)^(s-1)/s^s of `step_size`, with its arguments."""
    return float((order - 1) ** (order - 1) / order**order) * step_size(alpha, zeta, order)


def proven_drop(eta: float, alpha: float, zeta: float, order: float) -> float:
    """Least fall of Delta(x*; x) in a step: eta alpha - ((s-1)/s) (eta zeta)^(s/(s-1)).

    Args:
        eta: step size, > 0.
        alpha: see `step_size`.
        zeta: see `step_size`.
        order: see `step_size`.
    """
    return float(eta * alpha - (order - 1) / order * (eta * zeta) ** (order / (order - 1)))


@final
@dataclass(frozen=True)
class FlatStart:
    """The same weight on every pair, of which no matrix is made before it is needed.

    Attributes:
        universe: the public vertex pairs.
        weight: of each.
    """

    universe: Universe
    weight: float


@final
@dataclass(frozen=True, kw_only=True)
class MirrorDescentRule:
    """The rule on any start; see the module. `minimal_start` makes the usual one.

    Args:
        start: the first hypothesis, in the domain; positive everywhere for `Entropy`.
        psi: the potential. `LpNorm(2)` is Frieze-Kannan, `Entropy` is multiplicative weights; its
            truth must have the potential's total (`MultiplicativeWeightsRule` takes a noisy one).
        alpha: tolerance, > 0, in the units of the answers.
        zeta: public bound on the dual norm of every query that may come, > 0, which updates are
            held to: 1/2 for `Entropy` with coefficients in [0, 1]; the root of the largest number
            of pairs between S and T for `LpNorm(2)`.
        start_potential: public upper bound on Delta(truth; start), >= 0: R^2/(2(p-1)) for a norm,
            start 0 and a truth of norm at most R; M^2 ln(X/M) for `Entropy`, a uniform start and a
            truth in [0, 1]. The truth's own value is private.
        domain: C, which must hold the truth; None for all x.
        rule: "tight": eta = e^(s-1)/||f||_*^s for a step e = alpha. "as printed": JT12's eta.
        value_error: how far a value given to `update` may be from the truth; the tight step e is
            then the longest one that is safe. None means alpha, as Definition 3.1 of GRU12 grants.
        shift: how far an answer of the truth may be from that of the point that the potential is
            bounded for, >= 0: for `Entropy`, the truth times total/M, where M is the true total.
            Steps are shortened by it.

    Guarantee: for a truth in the domain within `start_potential`, and queries within `zeta`, at
        most s (zeta/(alpha - shift))^s start_potential updates (as printed: see `least_drop`).

    Raises:
        ParameterError: a number out of range, among them alpha <= shift, or a potential of matrices
            on a plain universe.

    Source: JT12, Algorithm 2; deviations in the module.
    """

    start: DenseHypothesis | FlatStart
    psi: Potential
    alpha: float
    zeta: float
    start_potential: float
    domain: Domain = None
    rule: Rule = "tight"
    value_error: float | None = None
    shift: float = 0.0

    def __post_init__(self) -> None:
        _check_universe(self.start.universe, self.psi)
        checked_tuning(self.start.universe, self.alpha, self.rule, self.value_error)
        if not 0 < self.zeta < np.inf:
            raise ParameterError(f"zeta must be a finite number > 0, not {self.zeta}")
        if not 0 <= self.start_potential < np.inf:
            raise ParameterError("start_potential must be a finite number >= 0")
        if not 0 <= self.shift < np.inf:
            raise ParameterError("shift must be a finite number >= 0")
        self._left(self.alpha)

    def _left(self, step: float) -> float:
        """The discrepancy of the shifted truth that one of `step` implies."""
        if not step > self.shift:
            raise ParameterError(f"alpha must be larger than the shift, {self.shift:g}")
        return step - self.shift

    def initial(self) -> DenseHypothesis:
        """The first hypothesis."""
        if isinstance(self.start, FlatStart):
            return DenseHypothesis.constant(self.start.universe, self.start.weight)
        return self.start

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
        if self.rule == "as printed":
            eta = printed_step_size(self._left(self.alpha), self.zeta, self.psi.order)
        else:
            length = self.alpha
            if value is not None:
                off = sign * (value - hypothesis.estimate(query))
                length = step_length(self.alpha, off, self.value_error)
            eta = step_size(self._left(length), size, self.psi.order)
        theta = self.psi.to_dual(coordinates(universe, hypothesis.matrix)) + eta * sign * f
        return _hypothesis(universe, self.psi.minimise(theta, self.domain))

    def least_drop(self, alpha: float) -> float:
        """(alpha - shift)^s/(s zeta^s); as printed what JT12's eta proves: 7/16 of it for s = 2."""
        order, left = self.psi.order, self._left(alpha)
        rule = printed_step_size if self.rule == "as printed" else step_size
        return proven_drop(rule(left, self.zeta, order), left, self.zeta, order)

    def update_bound(self, alpha: float) -> float:
        """B(alpha) = start_potential / least_drop(alpha)."""
        return self.start_potential / self.least_drop(alpha)


def minimal_start(universe: Universe, psi: Potential, domain: Domain = None) -> DenseHypothesis:
    """The minimiser of Psi over C (steps 3 and 4 of Algorithm 2): 0, or uniform for `Entropy`.

    Args:
        universe: the public vertex pairs (users and items, for a matrix of ratings).
        psi: the potential.
        domain: C; None for all x.

    Raises:
        ParameterError: a domain that the potential does not have, or a potential of matrices on a
            plain universe.
    """
    _check_universe(universe, psi)
    nothing = np.zeros_like(coordinates(universe, np.zeros(universe.shape)))
    return _hypothesis(universe, psi.minimise(nothing, domain))


def _check_universe(universe: Universe, psi: Potential) -> None:
    if psi.needs_matrix and not universe.bipartite:
        raise ParameterError("a potential of rows or singular values needs a bipartite universe")


def coordinates(universe: Universe, matrix: FloatArray) -> FloatArray:
    """What the potential sees: each pair once."""
    return matrix[universe.pairs()] if universe.hollow else matrix


def _hypothesis(universe: Universe, x: FloatArray) -> DenseHypothesis:
    if not universe.hollow:
        return DenseHypothesis(universe, x)
    matrix = np.zeros(universe.shape)
    matrix[universe.pairs()] = x
    return DenseHypothesis(universe, matrix + matrix.T if universe.symmetric else matrix)
