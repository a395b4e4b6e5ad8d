"""Mirror descent: one update rule for every potential.

The hypothesis moves to argmin over C of Delta(x; x_t) - eta sgn(d) <f, x>. When the answer to f is
off by |d| >= alpha and the truth x* is in C, the three-point identity and Psi's order s give

    Delta(x*; x_t) - Delta(x*; x_{t+1}) >= eta |d| - ((s-1)/s) (eta ||f||_*)^(s/(s-1)),

and eta = alpha^(s-1) / ||f||_*^s makes the right side alpha^s / (s ||f||_*^s), its largest.

Deviations from JT12, Algorithm 2 (alpha is its T/2):

- The printed eta is ((s-1)^(s-1)/s^s) times that: a quarter for s = 2. The printed B does not
  follow from it, and can be exceeded; it proves B = 18.3 zeta^2 Psi/T^2, where the larger step
  proves the printed 8 zeta^2 Psi/T^2. `step="printed"` keeps it, with the bound that it does prove.
- Equation (1) has the sign of the gradient term reversed; Algorithm 2 has it right.
- C = {||x|| <= ||x*||} would tell the private norm. Here C is everything, a public box, or a ball
  of public radius; the proof asks only that x* be in it.

Source: JT12, Algorithm 2 and section 3.2.
"""

from typing import Literal, final, get_args

import numpy as np
import numpy.typing as npt

from graphcuts_dp.errors import HypothesisError, ParameterError, QueryError
from graphcuts_dp.graph.queries import LinearQuery
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.idc.base import Sign
from graphcuts_dp.idc.dense import DenseHypothesis
from graphcuts_dp.idc.potentials import Box, Domain, Entropy, Potential, bregman
from graphcuts_dp.idc.power_norms import FloatArray

Step = Literal["query", "class", "printed"]


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


def printed_update_bound(alpha: float, zeta: float, order: float, start_potential: float) -> float:
    """B = 2^(s-1) s^s zeta^s Psi / (T^s (s-1)^(s-1)) for T = 2 alpha, as JT12, Alg. 2 prints it.

    Not proven for the printed step. For s = 2 it is what `step_size` proves, for larger s more.
    """
    factor = order**order / (2 * (order - 1) ** (order - 1))
    return float(factor * (zeta / alpha) ** order * start_potential)


@final
class MirrorDescent:
    """The mirror descent construction on dense hypotheses; see the module.

    Args:
        universe: the public vertex pairs (users and items, for a matrix of ratings).
        potential: Psi. p = 2 of `LpNorm` is Frieze-Kannan, `Entropy` is multiplicative weights.
        alpha: tolerance, > 0.
        zeta: public bound on the dual norm of every query that may come, > 0: 1/2 for `Entropy`
            with coefficients in [0, 1]; sqrt of the number of pairs for `LpNorm(2)`.
        start_potential: public bound on Delta(truth; start), >= 0: R^2 / (2(p-1)) for a truth
            within R of the start in a norm's potential, M^2 ln(X/M) for `Entropy` and a truth with
            entries in [0, 1]. The truth's own value is private. It enters `update_bound` only.
        domain: C, which must hold the truth; None for all x.
        step: "query" scales each step to the query's own dual norm, "class" to zeta, "printed" is
            JT12's.
        start: the weight of every pair at the start; the potential is centred there. 0 for
            `Entropy`, which starts uniform.

    Guarantee: at most `update_bound(alpha)` updates, if each has |d| >= alpha and the right sign,
    the truth is in the domain, and zeta and start_potential are true bounds.

    Raises:
        ParameterError: a number out of range, a potential of matrices on a plain universe, or a
            domain that the potential does not have.

    Source: JT12, Algorithm 2; deviations in the module.
    """

    def __init__(
        self,
        universe: Universe,
        potential: Potential,
        *,
        alpha: float,
        zeta: float,
        start_potential: float,
        domain: Domain = None,
        step: Step = "query",
        start: float = 0.0,
    ) -> None:
        for name, number in (("alpha", alpha), ("zeta", zeta)):
            if not (np.isfinite(number) and number > 0):
                raise ParameterError(f"{name} must be positive and finite, not {number}")
        if not (np.isfinite(start_potential) and start_potential >= 0):
            raise ParameterError("start_potential must be a finite number >= 0")
        if step not in get_args(Step):
            raise ParameterError(f"step must be one of {', '.join(get_args(Step))}, not {step!r}")
        if potential.needs_matrix and not universe.bipartite:
            raise ParameterError("this potential is for bipartite universes: rows and columns")
        if not np.isfinite(start) or (start != 0 and isinstance(potential, Entropy)):
            raise ParameterError("start must be a finite number, and 0 for the entropy")
        self.universe = universe
        self.potential_function = potential
        self._alpha = float(alpha)
        self.zeta = float(zeta)
        self.start_potential = float(start_potential)
        self.domain = domain
        self.step = step
        self.start = float(start)
        self._pairs = np.triu_indices(universe.shape[0], 1) if not universe.bipartite else None
        self._initial = self._hypothesis(np.zeros_like(self._array(np.zeros(universe.shape))))

    @property
    def alpha(self) -> float:
        """Tolerance, in the units of the answers."""
        return self._alpha

    def initial(self) -> DenseHypothesis:
        """The minimiser of Psi over C (steps 3 and 4 of Algorithm 2)."""
        return self._initial

    def update(
        self,
        hypothesis: DenseHypothesis,
        query: LinearQuery,
        sign: Sign,
        value: float | None = None,  # noqa: ARG002
    ) -> DenseHypothesis:
        """One step of mirror descent (step 6 of Algorithm 2); the value is not used.

        Args:
            hypothesis: the present one.
            query: a cut, rank-one or matrix query whose dual norm is at most zeta.
            sign: of truth minus hypothesis.
            value: ignored.

        Raises:
            QueryError: a query that does not fit, or whose dual norm is above zeta.
            HypothesisError: a query without coefficients, whose answer cannot be off.
        """
        f = self._array(self.universe.coefficients(query))
        size = self.potential_function.dual_norm(f)
        if size > self.zeta * (1 + 1e-12):
            raise QueryError(f"the query's dual norm {size:g} is above zeta={self.zeta:g}")
        if size == 0:
            raise HypothesisError("a query with a constant answer gives nothing to update by")
        eta = self._step_size(self.alpha, size if self.step == "query" else self.zeta)
        x = self._array(hypothesis.matrix) - self.start
        return self._hypothesis(self.potential_function.to_dual(x) + eta * sign * f)

    def least_drop(self, alpha: float) -> float:
        """alpha^s/(s zeta^s), or what the printed step proves: 7/8 of a half of that for s = 2."""
        order = self.potential_function.order
        return proven_drop(self._step_size(alpha, self.zeta), alpha, self.zeta, order)

    def update_bound(self, alpha: float) -> float:
        """B(alpha) = start_potential / least_drop(alpha): s (zeta/alpha)^s Psi."""
        return self.start_potential / self.least_drop(alpha)

    def potential(self, hypothesis: DenseHypothesis, truth: npt.NDArray[np.float64]) -> float:
        """Delta(truth; hypothesis). Not private."""
        x, y = self._array(truth), self._array(hypothesis.matrix)
        return bregman(self.potential_function, x - self.start, y - self.start)

    def _step_size(self, alpha: float, zeta: float) -> float:
        rule = printed_step_size if self.step == "printed" else step_size
        return rule(alpha, zeta, self.potential_function.order)

    def _array(self, matrix: FloatArray) -> FloatArray:
        """What the potential sees: the vector of pairs of a plain universe, else the matrix."""
        return matrix if self._pairs is None else matrix[self._pairs]

    def _hypothesis(self, theta: FloatArray) -> DenseHypothesis:
        """The minimiser over C of Psi(x - start) - <theta, x>."""
        domain = self.domain
        if isinstance(domain, Box):
            domain = Box(domain.low - self.start, domain.high - self.start)
        x = self.potential_function.minimise(theta, domain) + self.start
        if self._pairs is None:
            return DenseHypothesis(self.universe, x)
        matrix = np.zeros(self.universe.shape)
        matrix[self._pairs] = x
        return DenseHypothesis(self.universe, matrix + matrix.T)
