"""Potentials and points that JT12's theorems are tested on, and a worst-query adversary."""

from dataclasses import dataclass

import numpy as np

from graphcuts_dp.learn.potentials import Entropy, GroupNorm, LpNorm, SchattenNorm
from graphcuts_dp.pairs.queries import CutQuery
from scripts.figures.update_sequence import potential


@dataclass(frozen=True)
class FourthPower:
    """(3/4) sum x^4: Delta(x; y) = (3/4) h^2 (6y^2 + 4yh + h^2) >= h^4/4, so the order is 4."""

    order: float = 4.0
    needs_matrix: bool = False

    def value(self, x):
        return 0.75 * float((x**4).sum())

    def norm(self, x):
        return float((x**4).sum()) ** 0.25

    def dual_norm(self, f):
        return float((np.abs(f) ** (4 / 3)).sum()) ** 0.75

    def to_dual(self, x):
        return 3 * x**3

    def minimise(self, theta, domain=None):
        x = np.cbrt(theta / 3)
        return x if domain is None else np.clip(x, domain.low, domain.high)


NORMS = {
    "l_2": LpNorm(2.0),
    "l_1.5": LpNorm(1.5),
    "l_1.1": LpNorm(1.1),
    "group 1.2": GroupNorm(1.2),
    "group 1.7": GroupNorm(1.7),
    "group 2": GroupNorm(2.0),
    "schatten 1.2": SchattenNorm(1.2),
    "schatten 1.6": SchattenNorm(1.6),
}
POTENTIALS = {**NORMS, "entropy": Entropy(6.0), "fourth power": FourthPower()}
BOXED = [name for name in POTENTIALS if not name.startswith("schatten")]


def point(psi, rng, shape=(5, 4)):
    """A random point of the domain, with entries of very different sizes."""
    x = rng.normal(size=shape) * np.exp(2 * rng.normal(size=shape))
    if not isinstance(psi, Entropy):
        return x
    x = np.abs(x)
    return x * (psi.total / x.sum())


def random_cuts(shape, count, rng):
    return [CutQuery(rng.random(shape[0]) < 0.5, rng.random(shape[1]) < 0.5) for _ in range(count)]


def attack(sequence, queries, alpha, limit):
    """Ask the worst query again and again; after each update, `yield` (gap, drop)."""
    rule, truth = sequence.construction, sequence.truth
    universe = sequence.hypothesis.universe
    true_answers = universe.answers(queries, truth)
    for _ in range(limit):
        gaps = true_answers - sequence.hypothesis.estimate_all(queries)
        worst = int(np.argmax(np.abs(gaps)))
        if abs(gaps[worst]) < alpha:
            return
        before = potential(rule, sequence.hypothesis, truth)
        sequence.update(queries[worst])
        yield gaps[worst], before - potential(rule, sequence.hypothesis, truth)
