"""Update rules: Frieze-Kannan, multiplicative weights, and mirror descent with any potential.

A rule corrects a hypothesis h (a public matrix of weights) if the error of its answer to a query q
is at least alpha: the *discrepancy* g = q(D) - q(h), where D is the private truth, has a known sign
and |g| >= alpha. With each update a potential, a distance between D and h, falls by at least a
least drop, so there are at most B(alpha) = start potential / least drop updates. Rules see queries,
signs and noisy answers, never D: they are post-processing. See `learn.base`.

Terms used here:

- The public vertex pairs are a `Universe`: of an undirected graph, a directed one, or a bipartite
  one. X is their number. A query q is a vector with a coefficient for each pair, and q(h) = <q, h>.
  `universe.norm_squared` (||q||^2) and `universe.total` count each undirected pair once.
- A `Rule` is "as printed" for a paper's steps, "tight" for the best steps of the same proof.
- alpha is the tolerance, in edges. The *step* e of an update, also in edges, is the part of the
  discrepancy that is certain: at least alpha, and more if a noisy value shows it.

Sessions that are opened again repeat stored updates with these rules, from the stored queries,
signs and values. So a change of a step changes the answers of stored sessions, and the golden
numbers of tests. Steps and bounds use the same functions (`learn.bounds`, `learn.norms`): the bound
on updates is right only as long as both agree.

**Frieze-Kannan** adds a multiple of the query. With h' = h + (e/||q||^2) q the potential
||D - h||_2^2 falls by e (2 g - e)/||q||^2, which is at least e^2/||q||^2 for a step 0 < e <= g.

**Multiplicative weights** multiply the weights by exp(+-eta q), and scale them back to the total
weight m. GRU12 (appendix A) keeps a probability distribution instead, whose answers must be
multiplied by m. Write D^ = D/m and h^ = h/m for the normalised matrices, and g^ = q(D^) - q(h^) =
g/m for their discrepancy. The potential is KL(D^ || h^). Let all coefficients of q lie in an
interval of length R. An update with a factor eta > 0 lowers the potential by at least
eta |g^| - eta^2 R^2/8 (Hoeffding's lemma). The best eta is 4 |g^|/R^2, and the drop is then
2 (g^/R)^2. As printed: Lemma A.6 of GRU12 proves the drop eta |g^| - eta^2 for eta R <= 1 only, and
the printed factor exp(-eta (1 - q)) is exp(eta q) up to a constant that scaling removes.

**Mirror descent** moves to the x of a set C with the least Delta(x; x_t) - eta sgn(g) <q, x>, where
Delta is the divergence of a potential Psi of order s (see `learn.potentials`; s = 2 for all there).
If the truth x* is in C, the three-point identity gives

    Delta(x*; x_t) - Delta(x*; x_{t+1}) >= eta |g| - ((s-1)/s) (eta ||q||_*)^(s/(s-1)),

with the dual norm ||.||_* of the potential. For |g| = alpha the right side is largest with
eta = alpha^(s-1)/||q||_*^s, and is then alpha^s/(s ||q||_*^s).

Deviations of mirror descent from JT12, Algorithm 2, whose threshold T is 2 alpha:

- The printed eta is ((s-1)^(s-1)/s^s) times that: a quarter for s = 2. Let zeta be the largest
  ||q||_*, and s = 2. The eta above has the drop alpha^2/(2 zeta^2) = T^2/(8 zeta^2), so it proves
  the bound that the paper prints, B = 8 zeta^2 Psi/T^2. A quarter of it has the drop
  (1/4 - 1/32) alpha^2/zeta^2, which is 7/16 of that. So the printed eta proves only 16/7 times the
  printed bound, 18.3 zeta^2 Psi/T^2, and examples exceed the printed one. `rule="as printed"` keeps
  the printed eta and takes the bound that this eta proves.
- Equation (1) has the sign of the gradient term reversed; Algorithm 2 has it right.
- C = {||x|| <= ||x*||} would reveal the private norm. Here C is everything, or a public box; the
  proof needs only that x* is in it.

Source: Frieze-Kannan: GRU12 section 5, Alg. 2 and Theorem 5.1; it is the perceptron of DR14, Alg.
10, whose alpha is for databases divided by their total. Multiplicative weights: GRU12 appendix A.2,
Alg. 5 and Theorem A.4; DR14 Theorem 4.10. Mirror descent: JT12, Algorithm 2 and section 3.2.
"""

from dataclasses import dataclass
from typing import Any, TypeVar, final

import numpy as np

from graphcuts_dp.arrays import FloatArray
from graphcuts_dp.errors import HypothesisError, ParameterError, QueryError
from graphcuts_dp.learn.base import Construction, DenseHypothesis, Rule, Sign, check_tuning
from graphcuts_dp.learn.blocks import BlockHypothesis
from graphcuts_dp.learn.bounds import entropy_drop, squared_drop
from graphcuts_dp.learn.cut_sum import CutSum
from graphcuts_dp.learn.norms import mirror_drop, printed_step_size, step_size
from graphcuts_dp.learn.potentials import Domain, Potential
from graphcuts_dp.queries.linear import LinearQuery
from graphcuts_dp.queries.universe import Universe

A = TypeVar("A", DenseHypothesis, CutSum)  # hypotheses to which a query can be added
# Hypotheses whose weights a query can multiply.
M = TypeVar("M", DenseHypothesis, BlockHypothesis)
H = TypeVar("H", DenseHypothesis, CutSum, BlockHypothesis)

_ROUNDING = 1e-12  # relative: by how much a computed norm may exceed its bound


@dataclass(frozen=True, kw_only=True)
class _SteppingRule(Construction[H]):
    """An update rule with a step that may grow with the discrepancy.

    Attributes:
        start: the hypothesis before the first update.
        alpha: tolerance in edges, > 0.
        start_potential: public upper bound on the potential of the truth at the start, >= 0.
        rule: see `Rule`.
        value_error: v: how far a noisy value that `update` gets may be from the true answer. If
            the value is at a distance x from the answer of the hypothesis, the discrepancy is at
            least x - v. The tight step is max(alpha, x - v). None for v = alpha, as in Definition
            3.1 of GRU12.

    Raises:
        ParameterError: alpha <= 0, or a universe without pairs.
    """

    start: H
    alpha: float
    start_potential: float
    rule: Rule = "tight"
    value_error: float | None = None

    def __post_init__(self) -> None:
        check_tuning(self.start.universe, self.alpha)

    def step(self, hypothesis: H, query: LinearQuery, sign: Sign, value: float | None) -> float:
        """Return a step that is certainly not above the true discrepancy |g|, at least alpha.

        Args:
            hypothesis: a public approximation of the graph, over the universe of the list.
            query: a query of the universe.
            sign: +1 if the truth is above the hypothesis, -1 below.
            value: noisy true answer, or None.
        """
        if value is None or self.rule == "as printed":
            return self.alpha
        value_error = self.alpha if self.value_error is None else self.value_error
        discrepancy = sign * (value - hypothesis.estimate(query))
        return max(self.alpha, discrepancy - value_error)


@final
@dataclass(frozen=True, kw_only=True)
class FriezeKannanRule(_SteppingRule[A]):
    """Frieze-Kannan on any start. `FriezeKannanLearner` makes the usual ones.

    The step of an update is divided by ||q||^2 ("tight") or by X ("as printed", GRU12 Alg. 2). If
    the value_error is 0 and the value is alpha or more away, the tight update makes the hypothesis
    answer the value exactly.

    Guarantee: for D with weights in [0, 1] within `start_potential`, and queries within
        `largest_norm_squared`, at most start_potential * N/alpha^2 updates, where N is
        `largest_norm_squared`, or X as printed.

    Attributes:
        start: a hypothesis that is constant or constant on blocks, or a matrix (a warm start).
        alpha: see `_SteppingRule`, with `rule` and `value_error`.
        start_potential: upper bound on ||D - start||_2^2. For a graph without weights this is
            m - 2 <start, D> + ||start||^2, since D_ij^2 = D_ij. It is linear in D, and one edge
            changes it by |1 - 2 start_ij| <= 1 if the start lies in [0, 1]. So a noisy value is
            cheap.
        largest_norm_squared: largest ||q||_2^2 of the query class; a larger query is refused. None
            for X, the largest of all cuts. For disjoint S and T,
            `Universe.disjoint_norm_squared`.
        fixed_step: e, the step of every update, in edges; None for the steps described above. Then
            the potential falls by at least e (2 alpha - e)/N.

    Raises:
        ParameterError: alpha <= 0, or a universe without pairs.
    """

    largest_norm_squared: float | None = None
    fixed_step: float | None = None

    @property
    def _norm_limit(self) -> float:
        """Largest ||q||_2^2 of a query."""
        if self.rule == "as printed" or self.largest_norm_squared is None:
            return float(self.start.universe.size)
        return self.largest_norm_squared

    def update(
        self, hypothesis: A, query: LinearQuery, sign: Sign, value: float | None = None
    ) -> A:
        """Return the hypothesis plus or minus a multiple of the query, see `Construction.update`.

        Raises:
            QueryError: ||q||^2 is above `largest_norm_squared` (or X, as printed).
            HypothesisError: a query with coefficient 0 for each pair.
        """
        # ||q||_2^2 over pairs, each pair once: for a cut, the number of pairs it counts
        norm_squared = self.start.universe.norm_squared(query)
        if norm_squared > self._norm_limit * (1 + _ROUNDING):
            raise QueryError(
                f"the query has ||q||^2 = {norm_squared:g}, the bound on updates allows"
                f" {self._norm_limit:g}"
            )
        if norm_squared == 0:
            raise HypothesisError("no pair has a part in this query; its answer is always 0")
        if self.rule == "as printed":
            norm_squared = self.start.universe.size
        step = self.fixed_step
        if step is None:
            step = self.step(hypothesis, query, sign, value)
        return hypothesis.plus(query, sign * step / norm_squared)

    def least_drop(self, alpha: float) -> float:
        """Return alpha^2 over the largest ||q||^2, or over X as printed; see `squared_drop`."""
        return squared_drop(alpha, self._norm_limit, step=self.fixed_step)


@final
@dataclass(frozen=True, kw_only=True)
class MultiplicativeWeightsRule(_SteppingRule[M]):
    """Multiplicative weights on any start. `MultiplicativeWeightsLearner` makes the usual one.

    m is the total of the start, and of all later hypotheses. Let e^ be the step after division by m
    (see `_normalised_step`). eta is 4 e^/span^2 if "tight". It is e^/2 "as printed", which is for
    coefficients in [0, 1].

    Guarantee: for D of total weight within `total_error` of m, of KL within `start_potential`, and
        queries within `span`, at most start_potential/least_drop(alpha) updates.

    Attributes:
        start: a hypothesis with a positive weight on every pair.
        alpha: see `_SteppingRule`, with `rule` and `value_error`.
        start_potential: upper bound on KL(D^ || start^). For a uniform start it is ln(X/m) for
            weights in [0, 1], and ln X in any case.
        total_error: how far the true total may be from m, >= 0. Steps are shortened by it.
        span: R: each query must have 0 and all its coefficients in an interval of length R, else
            it is refused. 1 for cuts, 2 for rank-one queries on an undirected graph, whose
            coefficients are u_i v_j + u_j v_i. (Hoeffding's lemma does not need the 0 in the
            interval; `_normalised_step` does.)
        eta: the factor of every update; None for the factors described above. See `entropy_drop`
            for the drop.

    Raises:
        ParameterError: alpha <= 0, or alpha <= total_error * span.
    """

    total_error: float = 0.0
    span: float = 1.0
    eta: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._normalised_step(self.alpha)  # called for its error: alpha may be too small

    def _normalised_step(self, step: float) -> float:
        """Return a lower bound on |g^|, if the discrepancy of D and h is at least `step` edges.

        h has total m, but D has another total m', at most total_error away. Let D' = D m/m' be the
        truth scaled to m: then D'/m = D/m' = D^. Scaling adds the weights D (m/m' - 1), whose total
        is m - m', so it changes an answer by at most |m - m'| span <= total_error * span. So the
        answers of D' and h differ by at least step - total_error * span. Divided by m this is the
        bound on |g^|. No two normalised matrices have answers that differ by more than `span`. So a
        larger bound cannot be right (a noisy value may suggest it), and is cut to `span`.

        Raises:
            ParameterError: the bound is not positive.
        """
        remaining_step = step - self.total_error * self.span
        if not remaining_step > 0:
            raise ParameterError(
                f"alpha must be larger than total_error * span = {self.total_error * self.span:g}"
            )
        return min(remaining_step / self.start.total(), self.span)

    def update(
        self, hypothesis: M, query: LinearQuery, sign: Sign, value: float | None = None
    ) -> M:
        """Return the hypothesis tilted by the query, see `Construction.update`.

        Raises:
            QueryError: coefficients that span more than `span`, or (as printed) not in [0, 1].
        """
        # An interval that holds 0 and all coefficients of the query: low <= 0 <= high.
        low, high = self.start.universe.coefficient_range(query)
        if high - low > self.span * (1 + _ROUNDING) or (self.rule == "as printed" and low < 0):
            raise QueryError(
                f"the query's coefficients lie in [{low:g}, {high:g}]; the bound on updates is for"
                f" span={self.span:g}"
            )
        eta = self.eta
        if eta is None:
            step = self._normalised_step(self.step(hypothesis, query, sign, value))
            eta = step / 2 if self.rule == "as printed" else 4 * step / self.span**2
        return hypothesis.tilted(query, sign * eta)

    def least_drop(self, alpha: float) -> float:
        """Return the least drop of KL: `entropy_drop` of the normalised alpha."""
        share = self._normalised_step(alpha)
        return entropy_drop(share, span=self.span, rule=self.rule, eta=self.eta)


@final
@dataclass(frozen=True, kw_only=True)
class MirrorDescentRule(_SteppingRule[Any]):
    """Mirror descent on any start. `MirrorDescentLearner` makes the usual ones.

    Guarantee: for a truth in the domain within `start_potential`, and queries within `zeta`, at
        most s (zeta/(alpha - shift))^s start_potential updates (as printed: see `least_drop`).

    Attributes:
        start: a matrix in the domain, positive everywhere for `Entropy`; or a hypothesis on blocks,
            of which `initial` makes a matrix.
        alpha: see `_SteppingRule`, with `rule` and `value_error`.
        psi: the potential. `LpNorm(2)` is Frieze-Kannan. `Entropy` is multiplicative weights for a
            truth of the potential's total; `shift` makes up for another total.
        zeta: public bound on the dual norm ||q||_* of every query, > 0; a query with a larger one
            is refused. Each potential has its own dual norm (`psi.dual_norm`). 1/2 for `Entropy`
            with coefficients in [0, 1]; for `LpNorm(2)` the root of the largest number of pairs
            between S and T.
        start_potential: upper bound on Delta(truth; start). For a norm, start 0 and a truth of norm
            at most L it is L^2/(2(p-1)); for `Entropy` of total m, a uniform start and a truth in
            [0, 1] it is m^2 ln(X/m). The value for the truth itself is private.
        domain: C, which must contain the truth; None for all x.
        shift: >= 0, 0 for all norms. `Entropy` keeps the total of x fixed, so its bound is proven
            for the truth scaled to that total, in place of the truth. The shift is how much these
            two may differ in an answer. Steps are shortened by it.
        eta: of every update, for all queries; None for the eta of the rule. The drop is then
            eta (alpha - shift) - ((s-1)/s) (eta zeta)^(s/(s-1)).

    Raises:
        ParameterError: alpha <= 0, or alpha <= shift.

    Source: JT12, Algorithm 2; deviations in the module.
    """

    psi: Potential
    zeta: float
    domain: Domain = None
    shift: float = 0.0
    eta: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self._shifted_step(self.alpha)  # called for its error: alpha may be too small

    def _shifted_step(self, step: float) -> float:
        """Return a lower bound on the discrepancy of the scaled truth and the hypothesis.

        The truth itself has a discrepancy of at least `step`; see `shift`.

        Raises:
            ParameterError: the bound is not positive.
        """
        if not step > self.shift:
            raise ParameterError(f"alpha must be larger than the shift, {self.shift:g}")
        return step - self.shift

    def initial(self) -> DenseHypothesis:
        """Return the start as a matrix."""
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
        """Return the hypothesis after one step (step 6 of Algorithm 2), see `Construction.update`.

        Raises:
            QueryError: a query that does not fit, or whose dual norm is above zeta.
            HypothesisError: a query to which all hypotheses give the same answer.
        """
        universe = self.start.universe
        q = coordinates(universe, universe.coefficients(query))
        dual_norm = self.psi.dual_norm(q)
        if dual_norm > self.zeta * (1 + _ROUNDING):
            raise QueryError(
                f"the query has dual norm {dual_norm:g}, the bound on updates allows {self.zeta:g}"
            )
        if dual_norm == 0:
            raise HypothesisError("all hypotheses answer this query alike; it cannot be off")
        step = self._shifted_step(self.step(hypothesis, query, sign, value))
        if self.eta is not None:
            eta = self.eta
        elif self.rule == "as printed":  # with the largest dual norm, so the same for all queries
            eta = printed_step_size(step, self.zeta, self.psi.order)
        else:  # with the dual norm of this query, which may be smaller and so eta larger
            eta = step_size(step, dual_norm, self.psi.order)
        theta = self.psi.to_dual(coordinates(universe, hypothesis.matrix)) + eta * sign * q
        return _hypothesis(universe, self.psi.minimise(theta, self.domain))

    def least_drop(self, alpha: float) -> float:
        """Return (alpha - shift)^s/(s zeta^s), or as printed 7/16 of it for s = 2.

        With an eta of one's own see `proven_drop`.
        """
        alpha = self._shifted_step(alpha)
        return mirror_drop(alpha, self.zeta, self.psi.order, self.rule, eta=self.eta)


def minimal_start(universe: Universe, psi: Potential) -> DenseHypothesis:
    """Return the minimiser of Psi (steps 3 and 4 of Algorithm 2): 0, or uniform for `Entropy`.

    Args:
        universe: the public vertex pairs (users and items, for a matrix of ratings).
        psi: the potential.
    """
    zero = np.zeros_like(coordinates(universe, np.zeros(universe.shape)))
    return _hypothesis(universe, psi.minimise(zero))


def coordinates(universe: Universe, matrix: FloatArray) -> FloatArray:
    """Return the numbers that a potential takes, each pair once.

    On one vertex set (`universe.hollow`: no vertex is paired with itself) these are the entries of
    its pairs, shape (X,). A bipartite matrix is returned as it is, since norms of rows and of
    singular values need its shape.
    """
    return matrix[universe.pairs()] if universe.hollow else matrix


def _hypothesis(universe: Universe, x: FloatArray) -> DenseHypothesis:
    """Return the hypothesis with these coordinates: the inverse of `coordinates`."""
    return DenseHypothesis(universe, universe.matrix_of(x) if universe.hollow else x)
