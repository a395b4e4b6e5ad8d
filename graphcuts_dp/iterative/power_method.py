"""The power method as a distinguisher: rank-one queries by noisy products, and a certificate.

`PowerRankOne` has the parameters and the guarantee, `PowerSearch` works on a graph. At each call a
few noisy products with A find a unit pair u, v with a large u'Rv, where R = A - h, and the cut that
`rank_one` makes of it.

A certificate bounds the error of the result. It is measured by more products, and one noisy
quotient: for noisy products Y_t = R X_t + E_t, a value sigma is not the largest singular value of R
if it would make some Y_t longer than it is, by Theorem "Noisy products bound the largest singular
value". The theorem also states how likely the random start is short, and from which signal on the
bound is near the truth: about 34/sqrt(rho) with a budget of rho.

Everything here but `PowerSearch` and `symmetric_matrix` reads public numbers only.

Source: Ball, *Cube slicing in R^n*, 1986; Hsu, Kakade, Zhang, *A tail inequality for quadratic
forms of subgaussian random vectors*, 2012; Kuczynski, Wozniakowski 1992, for random starts without
noise. GRU12 section 7 leaves open whether rank-one queries can be found privately; the certificate
states for which graphs they are.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import NoReturn, Self, final

import numpy as np
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from graphcuts_dp.confidence import DEFAULT_FAILURE
from graphcuts_dp.errors import ParameterError
from graphcuts_dp.graph.adjacency import AnyGraph, Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.iterative.distinguisher import ProposedQuery, checked_graph, written_out
from graphcuts_dp.iterative.rank_one import (
    UnitPair,
    best_partner,
    check_budget,
    heavier_sign,
    pair_scale,
    proposed_cut,
)
from graphcuts_dp.learn.base import Hypothesis
from graphcuts_dp.privacy.composition import Cost
from graphcuts_dp.privacy.count_noise import ValueNoise
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.noise import sample_discrete_gaussian
from graphcuts_dp.queries.universe import Universe

# The products that find a pair:
_ENTRY_BITS = 8  # a vector of equal entries has about 2^8 units in each
_CLIP = 0.5  # entries are clipped at this over sqrt(n): equal sizes have the least sensitivity
_LARGEST = 2**61  # of products and of the noise, so that their sum fits into 64 bits
# The certificate:
COLUMNS = 8  # of the random start: fewer may all be small by chance, more need more noise
STEPS = 4  # noisy products
_CERTIFICATE_BITS = 12  # a vector of equal entries has about 2^12 units in each
_PAIR_BITS = 8  # the same for the vectors of the quotient
_PRODUCTS_SHARE = Fraction(9, 10)  # of the budget; the quotient gets the remaining tenth
_FLOAT_MARGIN = 1 + 1e-9  # above the relative rounding errors of floats
_BISECTION_STEPS = 80
_LARGEST_NOISE = 40  # standard deviations: larger noise has a probability below e^-800


@final
@dataclass(frozen=True, kw_only=True)
class PowerCertificate:
    """Bounds on the largest singular value of R = A - h, and on u'Rv of a pair, proven. Public.

    Measured by a block of noisy products and one noisy quotient; see the module for the proof.

    Attributes:
        pair: the unit vectors u, v.
        upper: sigma_1(R) is at most this.
        lower: u'Rv is at least this.
        scale: every cut between disjoint sets is at most this times sigma_1.
        confidence: probability with which both hold at once.
    """

    pair: UnitPair
    upper: float
    lower: float
    scale: float
    confidence: float

    @property
    def cut_bound(self) -> float:
        """A bound on the error of the hypothesis on any cut between disjoint sets."""
        return self.scale * self.upper


@final
@dataclass(frozen=True, kw_only=True)
class NoisyStep:
    """The public numbers of one noisy product.

    Attributes:
        norm: ||Y_t||, the length of the noisy product.
        noise: tau_t, a bound on |u'E_t| for a fixed unit vector u, which fails with a small stated
            probability.
        scale: a_t, by which Y_t is multiplied for the next X.
        rounding: a bound on ||r_t||, the rounding of the next X to whole entries.
    """

    norm: float
    noise: float
    scale: float
    rounding: float


@final
@dataclass(frozen=True, kw_only=True)
class PowerRankOne:
    """Iterate Y = (A - h) X + noise, X = the orthonormal basis of Y, from random signs.

    Args:
        universe: the public vertex pairs.
        rho: zCDP budget of one call, >= 1e-12.
        delta: the delta for which its cost is stated, in (0, 1).
        grid: of the graph.
        steps: noisy products that find the pair, >= 1. The cut costs one more.
        certificate_rho: zCDP budget of one certificate (see `PowerSearch.certify`); 0 for none. If
            it is not 0, `with_rho` spends half of its budget on the certificate.
        beta: probability that the certificate is wrong, in (0, 1).

    Guarantee, for one call: rho-zCDP. X has whole entries, in units of a power of two, and is
        public: it is computed from random signs and earlier noisy products. Graphs that differ in
        the pair {i, j} by d grid units have products A X that differ in row i by d X_j, in row j by
        d X_i, and nowhere else. So the squared Euclidean sensitivity is exactly D^2 =
        s^2 max (|X_i|^2 + |X_j|^2) over pairs (`squared_sensitivity`), with s the sensitivity of
        the grid, and independent discrete Gaussian noise of parameter D^2/(2 rho') on the integers
        A X is rho'-zCDP, with rho' = rho/products. h X is public.
        Entries of X are clipped at 1/(2 sqrt(n)), which keeps the sensitivity near the least one
        for vectors of that length: post-processing, as is all else. With it, gaps of cuts were more
        than twice as large, unless the singular vectors are concentrated on few vertices.
        Side channel: products take time proportional to the number of edges.

    No bound on the shortfall is proven beforehand: the start is random, and with few steps the pair
    has only a share of the largest singular value. So `shortfall` is infinite; the experiment
    `rank_one` measures it. A certificate proves a bound afterwards, which is near the truth for
    graphs with a signal: see `PowerSearch.certify`.

    Raises:
        ParameterError: a number out of range, or weights without a cap.

    Source: Hardt, Price, *The Noisy Power Method*, 2014; Canonne, Kamath, Steinke 2020 (zCDP).
    """

    universe: Universe
    rho: float
    delta: float
    grid: Grid = field(default_factory=Grid)
    steps: int = 8
    certificate_rho: float = 0.0
    beta: float = DEFAULT_FAILURE

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ParameterError("steps must be at least 1")
        # Columns have length 1, so by Cauchy-Schwarz entries sum to at most n 2^(_ENTRY_BITS + 1).
        self._check(self.rho, 2 << _ENTRY_BITS, self.products)
        if self.certificate_rho:
            samples = sum(self.universe.shape) * COLUMNS * STEPS
            self._check(self.certificate_rho, 8 << _CERTIFICATE_BITS, samples)

    @property
    def name(self) -> str:
        """The name of the distinguisher, as it is typed."""
        return "power-rank-one-certified" if self.certificate_rho else "power-rank-one"

    @property
    def setup(self) -> Cost | None:
        """The cost of the certificate, once; None if there is none."""
        return Cost.of_rho(self.certificate_rho, delta=self.delta) if self.certificate_rho else None

    @property
    def call(self) -> Cost:
        """The cost of each call: rho-zCDP."""
        return Cost.of_rho(self.rho, delta=self.delta)

    @property
    def products(self) -> int:
        """The number of noisy products of one call."""
        return self.steps + 1

    @property
    def vector_bits(self) -> int:
        """The number b for which entries of X are counted in units of 2^-b."""
        return _ENTRY_BITS + math.ceil(math.log2(max(self.universe.shape)) / 2)

    def shortfall(self, gamma: float) -> float:  # noqa: ARG002
        """Return infinity: nothing is proven, see the class."""
        return math.inf

    @property
    def usual_shortfall(self) -> float:
        """`pair_scale` times the length of a product's noise if all entries are clipped."""
        weight = self.grid.unit * self.grid.sensitivity
        return pair_scale(self.universe) * math.sqrt(self.products / self.rho) * weight

    def with_rho(self, rho: float, *, rounds: int) -> Self:
        """See `Distinguisher.with_rho`."""
        certificate_rho = rho / 2 if self.certificate_rho else 0.0
        # Rounded down, so that all calls and the certificate stay within the budget.
        rho = math.nextafter(rho - certificate_rho, 0) if certificate_rho else rho
        rho_of_call = math.nextafter(rho / rounds, 0) if rounds > 1 else rho
        return replace(self, rho=rho_of_call, certificate_rho=certificate_rho)

    def with_epsilon(self, epsilon: Fraction, *, rounds: int) -> NoReturn:  # noqa: ARG002
        """Refuse a pure budget: Gaussian noise has no pure bound.

        Raises:
            ParameterError: always.
        """
        raise ParameterError("the power method has no pure bound: use 'response-rank-one', or rho")

    def begin(self, graph: AnyGraph, source: EntropySource) -> "PowerSearch":  # noqa: ARG002
        """See `Distinguisher.begin`. Draws no noise.

        Raises:
            ParameterError: other vertices, or weights counted on another grid.
        """
        checked_graph(graph, self.universe, self.grid)
        return PowerSearch(self, graph)

    def _check(self, rho: float, largest_entry: int, samples: int) -> None:
        """Refuse products, or noise on them, that do not fit into 64 bits.

        Args:
            rho: zCDP budget of all noise.
            largest_entry: of X, in units.
            samples: that share rho.
        """
        check_budget(rho, self.grid)
        term = largest_entry * self.grid.sensitivity
        largest = max(
            sum(self.universe.shape) * term, _LARGEST_NOISE * term * math.sqrt(samples / rho)
        )
        if largest >= _LARGEST:
            raise ParameterError("products of these weights do not fit into 64 bits; raise rho")


@final
class PowerSearch:
    """The power method on one graph. Holds its edges: private.

    Args:
        distinguisher: the parameters.
        graph: the private graph.
    """

    def __init__(self, distinguisher: PowerRankOne, graph: AnyGraph) -> None:
        self._parameters = distinguisher
        self._matrix = symmetric_matrix(graph, distinguisher.grid)
        rows, columns = distinguisher.universe.shape
        self._sides = [slice(0, rows)]
        if not distinguisher.universe.symmetric:
            self._sides.append(slice(rows, rows + columns))
        self._left, self._right = self._sides[0], self._sides[-1]
        self._certificate_left = bool(distinguisher.certificate_rho)  # it is measured once

    def __repr__(self) -> str:
        return "PowerSearch()"

    def find(self, hypothesis: Hypothesis, source: EntropySource) -> ProposedQuery:
        """See `Search.find`: a cut made from the pair with one more noisy product.

        The first set is where u has one sign; the noisy sums of R over it give its best partner,
        and the sign of the gap.
        """
        universe = self._parameters.universe
        dense = written_out(hypothesis, universe)
        S = heavier_sign(self.pair(dense, source).left)
        indicator = np.zeros((self._matrix.shape[0], 1), dtype=np.int64)
        indicator[self._left, 0] = S
        sums = self._product(indicator, 0, dense, source)[self._right, 0]
        T, gap = best_partner(sums, S, ordered=not universe.symmetric)
        return proposed_cut(S, T, gap)

    def pair(self, dense: FloatMatrix, source: EntropySource) -> UnitPair:
        """Return the pair that a call finds, by all its products but one.

        Args:
            dense: h, the matrix of the hypothesis.
            source: where the noise comes from.
        """
        bits = self._parameters.vector_bits
        X = self._random_signs(source)
        for step in range(self._parameters.steps):
            Y = self._product(X, bits, dense, source)
            if step + 1 < self._parameters.steps:
                for side in self._sides:
                    X[side] = on_grid(Y[side], bits)
        left, right = Y[self._left, 0], np.ldexp(X[self._right, 0], -bits)
        lengths = np.linalg.norm(left), np.linalg.norm(right)
        return UnitPair(left / lengths[0], right / lengths[1], float(lengths[0] / lengths[1]))

    @property
    def prove(self) -> Callable[[Hypothesis, EntropySource], float] | None:
        """See `GraphSearch.prove`, for all cuts between disjoint sets, by the certificate."""
        if not self._certificate_left:
            return None
        return lambda hypothesis, source: self.certify(hypothesis, source).cut_bound

    def certify(self, hypothesis: Hypothesis, source: EntropySource) -> PowerCertificate:
        """Measure a certificate: a bound on sigma_1(R), and a pair with a bound on its u'Rv.

        Steps:
        1. A random start of k = 8 columns and T = 4 noisy products, with 9/10 of the budget.
        2. The top singular pair of the last one, rounded to a grid; its Rayleigh quotient u'Rv with
           discrete Gaussian noise, with the remaining budget.

        Guarantee: `PowerRankOne.certificate_rho`-zCDP. The products as in `PowerRankOne`; for whole
        U and V the quotient U'AV moves by at most |U_i V_j| + |U_j V_i| units with pair {i, j}, so
        by 2 max |U| max |V| at most (half of that where pairs are ordered). It is measured once.
        The certificate holds with probability 1 - beta: half of beta is for the start, a quarter
        for the noise on the products, and a quarter for the noise on the quotient.

        Args:
            hypothesis: as for `find`.
            source: where the noise comes from.

        Raises:
            ParameterError: there is no budget for it, or it was spent.
            HypothesisError: as for `find`.
        """
        parameters = self._parameters
        if not self._certificate_left:
            raise ParameterError("there is no budget left for a certificate: it is measured once")
        dense = written_out(hypothesis, parameters.universe)
        self._certificate_left = False
        X, Y, start_length, steps, is_Y_left = self._certificate_products(dense, source)
        Y_vectors, _, combinations = np.linalg.svd(Y, full_matrices=False)
        left, right = Y_vectors[:, 0], X @ combinations[0]
        if not is_Y_left:
            left, right = right, left
        pair, radius = self.quotient(left, right, dense, source)
        limit = _singular_value_limit(dense, parameters.grid.cap or math.inf)
        return PowerCertificate(
            pair=pair,
            upper=largest_possible(start_length, steps, limit),
            lower=pair.gap - radius,
            scale=pair_scale(parameters.universe),
            confidence=1 - parameters.beta,
        )

    def quotient(
        self, left: FloatVector, right: FloatVector, dense: FloatMatrix, source: EntropySource
    ) -> tuple[UnitPair, float]:
        """Run step 2 of `certify`: measure the quotient of a pair.

        Args:
            left: u of any length, shape (n,), or (n1,) of two sides.
            right: v of any length.
            dense: h, the matrix of the hypothesis.
            source: where the noise comes from.

        Returns:
            The rounded pair with its noisy quotient, and a bound on the error of that.
        """
        parameters = self._parameters
        universe, grid = parameters.universe, parameters.grid
        bits = _PAIR_BITS + math.ceil(math.log2(max(universe.shape)) / 2)
        U, V = (_integer_vector(vector, bits) for vector in (left, right))
        units = np.zeros(self._matrix.shape[0], dtype=np.int64)
        units[self._right] = V
        private = (self._matrix @ units)[self._left]
        count = sum(int(a) * int(b) for a, b in zip(U, private, strict=True))
        sensitivity = quotient_sensitivity(U, V, universe) * grid.sensitivity
        budget = Fraction(parameters.certificate_rho) * (1 - _PRODUCTS_SHARE)
        noise = ValueNoise("gaussian", Fraction(max(1, sensitivity)) ** 2 / (2 * budget))
        lengths = [float(np.linalg.norm(vector)) for vector in (U, V)]
        scale = 1 / (lengths[0] * lengths[1])
        public_quotient = float(U @ (dense @ V)) * scale  # of h
        value = (count + noise.draw(source)) * grid.unit * scale - public_quotient
        # The noise is sub-Gaussian; its exact tail takes seconds at such a scale.
        bound = math.sqrt(2 * noise.parameter * math.log(8 / parameters.beta)) * _FLOAT_MARGIN
        radius = bound * grid.unit * scale
        sign = 1 if value >= 0 else -1
        pair = UnitPair(sign * U / lengths[0], V / lengths[1], abs(value))
        return pair, radius + 1e-9 * (radius + abs(public_quotient) + pair.gap)

    def _random_signs(self, source: EntropySource) -> IntMatrix:
        """Return random signs over sqrt(n), in units of 2^-vector_bits."""
        size = self._matrix.shape[0]
        coins = np.unpackbits(source.bytes(-(-size // 8)))[:size]
        signs = coins[:, None] * 2.0 - 1
        for side in self._sides:
            signs[side] /= np.linalg.norm(signs[side], axis=0)
        units: IntMatrix = np.rint(np.ldexp(signs, self._parameters.vector_bits)).astype(np.int64)
        return units

    def _product(
        self, X: IntMatrix, bits: int, dense: FloatMatrix, source: EntropySource
    ) -> FloatMatrix:
        """Return one of the noisy products of a call, at its share of the call's budget."""
        budget = Fraction(self._parameters.rho) / self._parameters.products
        return self._noisy(X, bits, dense, budget, source)[0]

    def _noisy(
        self,
        X: IntMatrix,
        bits: int,
        dense: FloatMatrix,
        budget: Fraction,
        source: EntropySource,
    ) -> tuple[FloatMatrix, Fraction]:
        """Return (A - h) X with noise; see the guarantee of `PowerRankOne`.

        Args:
            X: whole entries, in units of 2^-bits.
            bits: of its entries.
            dense: h, the matrix of the hypothesis.
            budget: zCDP of the product.
            source: where the noise comes from.

        Returns:
            The product, and the variance of its noise in squared units.
        """
        universe, grid = self._parameters.universe, self._parameters.grid
        sensitivity_squared = squared_sensitivity(X, universe) * grid.sensitivity**2
        variance = max(1, sensitivity_squared) / (2 * budget)
        noise = sample_discrete_gaussian(variance, X.size, source).reshape(X.shape)
        private = self._matrix @ X
        noisy_AX = np.ldexp((private + noise).astype(np.float64), -bits)
        public_X = np.ldexp(X.astype(np.float64), -bits)
        Y: FloatMatrix = noisy_AX * grid.unit
        Y[self._left] -= dense @ public_X[self._right]
        if not universe.symmetric:
            Y[self._right] -= dense.T @ public_X[self._left]
        return Y, variance

    def _certificate_products(
        self, dense: FloatMatrix, source: EntropySource
    ) -> tuple[FloatMatrix, FloatMatrix, float, list[NoisyStep], bool]:
        """Run step 1 of `certify`.

        Returns:
            The last X and Y, a lower bound on |z_0|, the steps, and whether Y is on the left side.
        """
        parameters = self._parameters
        bits = _CERTIFICATE_BITS + math.ceil(math.log2(max(parameters.universe.shape)) / 2)
        budget = Fraction(parameters.certificate_rho) * _PRODUCTS_SHARE / STEPS
        side_of_X, side_of_Y = self._right, self._left
        length = side_of_X.stop - side_of_X.start
        largest = math.floor(math.sqrt(3 / length) * 2**bits)
        units = np.zeros((self._matrix.shape[0], COLUMNS), dtype=np.int64)
        units[side_of_X] = uniform_integers(largest, (length, COLUMNS), source)
        start_length = math.ldexp(start_radius(largest, COLUMNS, parameters.beta / 2), -bits)
        steps = []
        for _ in range(STEPS):
            X = np.ldexp(units[side_of_X].astype(np.float64), -bits)
            product, variance = self._noisy(units, bits, dense, budget, source)
            Y = product[side_of_Y]
            units = np.zeros_like(units)
            step, units[side_of_Y] = self._next_step(Y, variance, bits)
            steps.append(step)
            side_of_X, side_of_Y = side_of_Y, side_of_X
        return X, Y, start_length, steps, side_of_X == self._left

    def _next_step(
        self, Y: FloatMatrix, variance: Fraction, bits: int
    ) -> tuple[NoisyStep, IntMatrix]:
        """Return the public numbers of a product, and the next X: Y scaled and rounded."""
        parameters = self._parameters
        norm = float(np.linalg.norm(Y, 2))
        scale = 1 / max(norm, 1e-300)
        next_X: IntMatrix = np.rint(np.ldexp(scale * Y, bits)).astype(np.int64)
        rounding = np.ldexp(next_X.astype(np.float64), -bits) - scale * Y
        proxy = math.ldexp(float(variance), -2 * bits) * parameters.grid.unit**2
        step = NoisyStep(
            norm=norm,
            noise=noise_length(proxy, COLUMNS, parameters.beta / (4 * STEPS)),
            scale=scale,
            rounding=float(np.linalg.norm(rounding)) * _FLOAT_MARGIN,
        )
        return step, next_X


def largest_possible(start: float, steps: Sequence[NoisyStep], limit: float) -> float:
    """Return the largest singular value sigma that the noisy products leave possible.

    Args:
        start: a lower bound on |z_0|.
        steps: those of the products, in order.
        limit: an upper bound on sigma without any product.
    """
    low, high = 0.0, limit
    if _possible(high, start, steps):
        return high
    for _ in range(_BISECTION_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _possible(middle, start, steps) else (low, middle)
    return high * _FLOAT_MARGIN


def start_radius(largest: int, columns: int, failure: float) -> float:
    """Return r, in units, such that |v'X| of a random start X is below r with small probability.

    Args:
        largest: K; entries of X are uniform on -K .. K.
        columns: k >= 1.
        failure: that probability, in (0, 1).
    """
    k = columns
    log_volume = k / 2 * math.log(math.pi) - math.lgamma(k / 2 + 1)
    reach = math.exp((math.log(0.75 * failure) - log_volume) / k) * (2 * largest + 1) / math.sqrt(2)
    return max(0.0, reach / _FLOAT_MARGIN - math.sqrt(k / 3))


def noise_length(proxy: float, columns: int, failure: float) -> float:
    """Return a length that a vector of k sub-Gaussian numbers exceeds with small probability.

    Args:
        proxy: E exp(t xi) <= exp(t^2 proxy/2).
        columns: k >= 1.
        failure: that probability, in (0, 1).
    """
    log_failures = math.log(1 / failure)
    squared = columns + 2 * math.sqrt(columns * log_failures) + 2 * log_failures
    return math.sqrt(proxy * squared) * _FLOAT_MARGIN


def quotient_sensitivity(left: IntVector, right: IntVector, universe: Universe) -> int:
    """Return a bound on the change of U'AV by a change of one pair's weight by one unit.

    |U_i V_j| + |U_j V_i|, or |U_i V_j| where pairs are ordered: at most 2 max |U| max |V|.

    Args:
        left: U, whole entries.
        right: V, whole entries.
        universe: the public vertex pairs.
    """
    largest = int(np.abs(left).max()) * int(np.abs(right).max())
    return 2 * largest if universe.symmetric else largest


def squared_sensitivity(vectors: IntMatrix, universe: Universe) -> int:
    """Return the squared length of the largest change of A X by one unit of one pair's weight.

    The largest |X_i|^2 + |X_j|^2 over the pairs {i, j} of the universe. For arcs it is an upper
    bound, since i and j may be the same vertex here.

    Args:
        vectors: X, whole entries, shape (n, k); the left vertices before the right ones.
        universe: the public vertex pairs.
    """
    lengths = np.square(vectors).sum(axis=1)
    if not universe.symmetric:
        rows = universe.shape[0]
        return int(lengths[:rows].max()) + int(lengths[rows:].max())
    return int(np.sort(lengths)[-2:].sum())


def uniform_integers(largest: int, shape: tuple[int, int], source: EntropySource) -> IntMatrix:
    """Return independent integers, uniform on -largest .. largest: public randomness.

    Args:
        largest: at most 2^30.
        shape: of the result.
        source: where the bytes come from.
    """
    width, count = 2 * largest + 1, shape[0] * shape[1]
    limit = 2**32 - 2**32 % width  # words below give each remainder equally often
    samples = np.zeros(0, dtype=np.int64)
    while len(samples) < count:
        words = source.bytes(4 * (count - len(samples))).copy().view(np.uint32).astype(np.int64)
        samples = np.concatenate([samples, words[words < limit] % width])
    return samples.reshape(shape) - largest


def symmetric_matrix(graph: AnyGraph, grid: Grid) -> sp.csr_array:
    """Return A, or [[0, B], [B', 0]] if A is not symmetric, in grid units. Private."""
    rows, columns = graph.rows, graph.columns
    n = graph.n if isinstance(graph, Graph) else sum(graph.shape)
    if not isinstance(graph, Graph):
        columns = columns + np.int32(graph.shape[0])
    units = np.tile(grid.steps(graph.weights), 2)
    indices = np.concatenate([rows, columns]), np.concatenate([columns, rows])
    return sp.csr_array((units, indices), shape=(n, n))


def on_grid(Y: FloatMatrix, bits: int) -> IntMatrix:
    """Return an orthonormal basis of noisy columns, clipped, in whole units of 2^-bits."""
    basis, _ = np.linalg.qr(Y)
    limit = _CLIP / math.sqrt(len(basis))
    units: IntMatrix = np.rint(np.ldexp(np.clip(basis, -limit, limit), bits)).astype(np.int64)
    return units


def _possible(sigma: float, start: float, steps: Sequence[NoisyStep]) -> bool:
    """Return whether no product would be longer than it is if sigma were the singular value."""
    z = start
    for step in steps:
        y = sigma * z - step.noise
        if y > step.norm * _FLOAT_MARGIN:
            return False
        z = step.scale * y - step.rounding
        if z <= 0:
            return True
    return True


def _integer_vector(vector: FloatVector, bits: int) -> IntVector:
    """Return a vector scaled to length 1, in whole units of 2^-bits; all 1 for a zero vector."""
    length = float(np.linalg.norm(vector))
    if not length:
        return np.ones(len(vector), dtype=np.int64)
    units: IntVector = np.rint(np.ldexp(vector / length, bits)).astype(np.int64)
    return units


def _singular_value_limit(dense: FloatMatrix, cap: float) -> float:
    """Return a bound on sigma_1(A - h) for all A with entries in [0, cap].

    Entries of |A - h| are at most those of a public matrix, whose norm is at most the root of its
    largest row sum times its largest column sum.
    """
    reach = np.maximum(np.abs(dense), np.abs(cap - dense))
    return (
        math.sqrt(float(reach.sum(axis=0).max()) * float(reach.sum(axis=1).max())) * _FLOAT_MARGIN
    )
