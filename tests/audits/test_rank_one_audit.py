"""Audits of the rank-one distinguishers, and of broken twins that must be caught.

Each audit may fail with probability 1e-6 if its seed were drawn at random. For rho-zCDP: an event
of probability p on one graph and q on a neighbour has p^a q^(1-a) <= exp(a (a-1) rho) for every
a > 1, hence rho >= ln(p)/(a-1) - ln(q)/a. The event is chosen on the first half of the runs, and
p and q are bounded by Clopper-Pearson on the second half.

Runs are many copies of a tiny graph side by side in one large one: the noise on each copy is
independent and has the variance that a copy alone would get.
"""

import math

import numpy as np
import pytest

from graphcuts_dp.evaluation.audit import ALPHA, clopper_pearson
from graphcuts_dp.graph.adjacency import Graph
from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.offline import rank_one
from graphcuts_dp.offline.rank_one import PowerRankOne
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.noise import SeededEntropy

COPIES = 2000
ORDERS = 1 + np.geomspace(0.05, 50, 400)


def rho_lower(first, second):
    """The true rho is at least this, with probability 1 - 1e-6; samples of a number each."""
    best = -math.inf, 0.0
    half = len(first) // 2
    for level in np.quantile(np.concatenate([first[:half], second[:half]]), np.linspace(0, 1, 60)):
        found = bound(first[:half], second[:half], level)
        best = max(best, (found, level))
    return bound(first[half:], second[half:], best[1])


def bound(first, second, level):
    p, _ = clopper_pearson((first >= level).sum(), len(first), ALPHA / 2)
    _, q = clopper_pearson((second >= level).sum(), len(second), ALPHA / 2)
    return float((math.log(max(float(p), 1e-300)) / (ORDERS - 1) - math.log(q) / ORDERS).max())


def noisy_products(rho, edge, columns, *, seed, turns=(1,)):
    """Noisy products of many single pairs, with or without the edge, and the same public X.

    Args:
        rho: of each product.
        edge: whether the pairs are edges.
        columns: of X, the entries of the two ends.
        seed: of the noise.
        turns: one product for each; the entries of the second end are multiplied by it.

    Returns:
        Shape (copies, products, 2, columns): the two ends of each pair.
    """
    ends = 2 * np.arange(COPIES)
    rows = ends if edge else ends[:0]
    graph = Graph(rows, rows + 1, vertices=2 * COPIES)
    of = PowerRankOne(
        universe=Universe(2 * COPIES),
        rho=2 * rho,  # of both products of a call
        delta=1e-6,
        steps=1,
    )
    source = SeededEntropy(seed + edge)
    search = of.begin(graph, source)
    made = []
    for turn in turns:
        X = np.array(columns, dtype=np.int64).T * np.array([[1], [turn]])
        X = np.tile(X, (COPIES, 1))
        made.append(search._product(X, 0, NoHypothesis(), source))
    return np.stack(made).reshape(len(turns), COPIES, 2, len(columns)).swapaxes(0, 1)


class NoHypothesis:
    """A zero matrix that takes no memory."""

    def __matmul__(self, X):
        return np.zeros(X.shape)


def towards_the_edge(rho, columns, seed=1, turns=(1,)):
    """Samples with the edge and without."""
    made = [noisy_products(rho, edge, columns, seed=seed, turns=turns) for edge in (True, False)]
    return [along(noisy, columns, turns) for noisy in made]


def along(noisy, columns, turns):
    """The inner product of all that is seen with what the edge adds to it, the most telling number
    there is."""
    moves = [np.array(columns, dtype=float).T[::-1] * np.array([[turn], [1]]) for turn in turns]
    return np.einsum("ctek,tek->c", noisy, moves)


ALIKE = ((1, 1), (1, 1), (1, 1))


@pytest.mark.parametrize("columns", [((1, 1),), ((3, -4),), ALIKE])
def test_noisy_products_keep_their_promise(columns):
    assert 0.1 < rho_lower(*towards_the_edge(1.0, columns)) <= 1.0


def test_a_sensitivity_of_the_largest_entry_is_caught(monkeypatch):
    """Both ends of a pair move, in all columns; the noise must be for all of that."""
    monkeypatch.setattr(rank_one, "squared_sensitivity", lambda X, _: int(np.abs(X).max()) ** 2)
    assert rho_lower(*towards_the_edge(1.0, ALIKE)) > 1.0


def test_half_the_noise_is_caught(monkeypatch):
    sample = rank_one.sample_discrete_gaussian
    monkeypatch.setattr(
        rank_one,
        "sample_discrete_gaussian",
        lambda variance, size, source: sample(variance / 4, size, source),
    )
    assert rho_lower(*towards_the_edge(1.0, ((5, 5),))) > 1.0


def difference(made):
    """Of the two products at the first end: the noise of both is left, if it is fresh."""
    return made[:, 0, 0, 0] - made[:, 1, 0, 0]


def test_noise_reused_between_products_is_caught(monkeypatch):
    columns, turns = ((1, 1),), (1, -1)
    fresh = [noisy_products(1.0, edge, columns, seed=3, turns=turns) for edge in (True, False)]
    assert rho_lower(*map(difference, fresh)) <= 2.0
    assert 0.3 < rho_lower(*(along(noisy, columns, turns) for noisy in fresh)) <= 2.0

    sample = rank_one.sample_discrete_gaussian
    monkeypatch.setattr(
        rank_one,
        "sample_discrete_gaussian",
        lambda variance, size, _: sample(variance, size, SeededEntropy(7)),
    )
    twin = [noisy_products(1.0, edge, columns, seed=3, turns=turns) for edge in (True, False)]
    assert rho_lower(*map(difference, twin)) > 2.0


def test_what_a_call_says_keeps_its_promise():
    """Whether the found cut holds the edge, and its sign, on three vertices."""
    of = PowerRankOne(universe=Universe(3), rho=0.5, delta=1e-6, steps=1)
    hypothesis, source = DenseHypothesis.constant(Universe(3), 0.5), SeededEntropy(8)

    def run(graph, _):
        found = of.begin(graph, source).find(hypothesis, source)
        S, T = found.query.masks(graph)
        joined = (S[0] and T[1]) or (S[1] and T[0])
        return [found.sign * joined]

    graphs = [Graph([0], [1], vertices=3), Graph([], [], vertices=3)]
    runs = [np.array([run(graph, k)[0] for k in range(400)], dtype=float) for graph in graphs]
    assert rho_lower(*runs) <= 0.5
