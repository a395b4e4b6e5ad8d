"""How the certificate of the power method is bought: noisy products, and one noisy quotient."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import final

import numpy as np
import scipy.sparse as sp

from graphcuts_dp.arrays import FloatMatrix, FloatVector, IntMatrix, IntVector
from graphcuts_dp.distinguishers.power_certificate import (
    NoisyStep,
    PowerCertificate,
    largest_possible,
    noise_length,
    start_radius,
)
from graphcuts_dp.distinguishers.rank_one import UnitPair, pair_scale
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.graph.universe import Universe
from graphcuts_dp.privacy.entropy import EntropySource
from graphcuts_dp.privacy.value_noise import ValueNoise

COLUMNS = 8  # of the start: fewer may all be small, and more share the noise
STEPS = 4
_BITS = 12  # a vector of equal entries has about 2^12 steps in each
_PAIR_BITS = 8
_SHARE = Fraction(9, 10)  # of the budget for products; the rest is for the quotient

# X in steps of 2^-bits, bits, h, budget, source: the noisy product, the variance in steps squared.
Product = Callable[
    [IntMatrix, int, FloatMatrix, Fraction, EntropySource], tuple[FloatMatrix, Fraction]
]


def largest_product(universe: Universe, grid: Grid, rho: float) -> float:
    """A number of steps that neither products nor noise can pass: to be below 2^63."""
    n = sum(universe.shape)
    entry = 4 * grid.sensitivity * 2**_BITS
    noise = 40 * entry * math.sqrt(n * COLUMNS * STEPS / rho)
    return float(max(2.0 * n * entry, noise))


@final
@dataclass(frozen=True, kw_only=True, repr=False)
class Certifying:
    """The purchase of one certificate about one private graph.

    Guarantee: rho-zCDP, see `PowerSearch.certify`.

    Attributes:
        universe: the public vertex pairs.
        grid: of the graph.
        rho: budget.
        beta: probability that the certificate is wrong, in (0, 1).
        matrix: of the graph in steps, both sides. Private.
        sides: places of the rows and of the columns in it.
        product: a noisy product with it.
    """

    universe: Universe
    grid: Grid
    rho: float
    beta: float
    matrix: sp.csr_array
    sides: tuple[slice, slice]
    product: Product

    def certificate(self, dense: FloatMatrix, source: EntropySource) -> PowerCertificate:
        """Buy it, for a hypothesis that is written out."""
        known, reached, start, steps, on_left = self._products(dense, source)
        of_reached, _, mixed = np.linalg.svd(reached, full_matrices=False)
        left, right = of_reached[:, 0], known @ mixed[0]
        if not on_left:
            left, right = right, left
        pair, radius = self.quotient(left, right, dense, source)
        return PowerCertificate(
            pair=pair,
            upper=largest_possible(start, steps, _most(dense, self.grid.cap or math.inf)),
            lower=pair.gap - radius,
            scale=pair_scale(self.universe),
            confidence=1 - self.beta,
        )

    def _products(
        self, dense: FloatMatrix, source: EntropySource
    ) -> tuple[FloatMatrix, FloatMatrix, float, list[NoisyStep], bool]:
        """Step 1: the last X and Y, |z_0|, the steps, and whether Y is on the left."""
        bits = _BITS + math.ceil(math.log2(max(self.universe.shape)) / 2)
        budget = Fraction(self.rho) * _SHARE / STEPS
        there, here = self.sides
        length = here.stop - here.start
        most = math.floor(math.sqrt(3 / length) * 2**bits)
        vectors = np.zeros((self.matrix.shape[0], COLUMNS), dtype=np.int64)
        vectors[here] = uniform_whole(most, (length, COLUMNS), source)
        start = math.ldexp(start_radius(most, COLUMNS, self.beta / 2), -bits)
        steps = []
        for _ in range(STEPS):
            known = np.ldexp(vectors[here].astype(np.float64), -bits)
            every, variance = self.product(vectors, bits, dense, budget, source)
            reached = every[there]
            vectors = np.zeros_like(vectors)
            step, vectors[there] = self._scaled(reached, variance, bits)
            steps.append(step)
            here, there = there, here
        return known, reached, start, steps, here == self.sides[0]

    def _scaled(
        self, reached: FloatMatrix, variance: Fraction, bits: int
    ) -> tuple[NoisyStep, IntMatrix]:
        """What a product tells, and the next X."""
        norm = float(np.linalg.norm(reached, 2))
        scale = 1 / max(norm, 1e-300)
        following: IntMatrix = np.rint(np.ldexp(scale * reached, bits)).astype(np.int64)
        off = np.ldexp(following.astype(np.float64), -bits) - scale * reached
        proxy = math.ldexp(float(variance), -2 * bits) * self.grid.unit**2
        step = NoisyStep(
            norm=norm,
            noise=noise_length(proxy, COLUMNS, self.beta / (4 * STEPS)),
            scale=scale,
            rounding=float(np.linalg.norm(off)) * (1 + 1e-9),
        )
        return step, following

    def quotient(
        self, left: FloatVector, right: FloatVector, dense: FloatMatrix, source: EntropySource
    ) -> tuple[UnitPair, float]:
        """Step 2: the pair with its noisy quotient, and how far that may be off."""
        bits = _PAIR_BITS + math.ceil(math.log2(max(self.universe.shape)) / 2)
        U, V = (_whole(vector, bits) for vector in (left, right))
        whole = np.zeros(self.matrix.shape[0], dtype=np.int64)
        whole[self.sides[1]] = V
        private = (self.matrix @ whole)[self.sides[0]]
        count = sum(int(a) * int(b) for a, b in zip(U, private, strict=True))
        move = quotient_sensitivity(U, V, self.universe) * self.grid.sensitivity
        budget = Fraction(self.rho) * (1 - _SHARE)
        noise = ValueNoise("gaussian", Fraction(max(1, move)) ** 2 / (2 * budget))
        lengths = [float(np.linalg.norm(vector)) for vector in (U, V)]
        one = 1 / (lengths[0] * lengths[1])
        known = float(U @ (dense @ V)) * one
        value = (count + noise.draw(source)) * self.grid.unit * one - known
        # The noise is sub-Gaussian; its exact tail takes seconds at such a scale.
        steps = math.sqrt(2 * noise.parameter * math.log(8 / self.beta)) * (1 + 1e-9)
        radius = steps * self.grid.unit * one
        sign = 1 if value >= 0 else -1
        pair = UnitPair(sign * U / lengths[0], V / lengths[1], abs(value))
        return pair, radius + 1e-9 * (radius + abs(known) + pair.gap)


def quotient_sensitivity(left: IntVector, right: IntVector, universe: Universe) -> int:
    """By how much U'AV moves when one pair's weight moves by one step, at most.

    |U_i V_j| + |U_j V_i|, or |U_i V_j| where pairs are ordered: at most 2 max |U| max |V|.

    Args:
        left: U, whole entries.
        right: V, likewise.
        universe: the public vertex pairs.
    """
    most = int(np.abs(left).max()) * int(np.abs(right).max())
    return 2 * most if universe.symmetric else most


def uniform_whole(most: int, shape: tuple[int, int], source: EntropySource) -> IntMatrix:
    """Independent whole numbers, uniform on -most .. most: public randomness.

    Args:
        most: at most 2^30.
        shape: of the result.
        source: where the bytes come from.
    """
    width, count = 2 * most + 1, shape[0] * shape[1]
    limit = 2**32 - 2**32 % width  # of equal shares
    found = np.zeros(0, dtype=np.int64)
    while len(found) < count:
        words = source.bytes(4 * (count - len(found))).copy().view(np.uint32).astype(np.int64)
        found = np.concatenate([found, words[words < limit] % width])
    return found.reshape(shape) - most


def _whole(vector: FloatVector, bits: int) -> IntVector:
    """A unit vector in steps of 2^-bits, not zero."""
    length = float(np.linalg.norm(vector))
    if not length:
        return np.ones(len(vector), dtype=np.int64)
    steps: IntVector = np.rint(np.ldexp(vector / length, bits)).astype(np.int64)
    return steps


def _most(dense: FloatMatrix, cap: float) -> float:
    """What sigma_1(A - h) cannot pass for any A with entries in [0, cap]: |R| is within a matrix.

    The norm of that is at most the root of its largest row sum times its largest column sum.
    """
    reach = np.maximum(np.abs(dense), np.abs(cap - dense))
    return math.sqrt(float(reach.sum(axis=0).max()) * float(reach.sum(axis=1).max())) * (1 + 1e-9)
