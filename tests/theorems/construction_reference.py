"""Constructions, truths and adversaries that the theorems on constructions are tested with."""

import functools
import itertools
from dataclasses import dataclass

import numpy as np
from helpers import frieze_kannan, multiplicative_weights

from graphcuts_dp.learn.base import DenseHypothesis
from graphcuts_dp.learn.median import DatabaseFamily, Median, all_graphs, alpha_net
from graphcuts_dp.learn.rules import (
    FriezeKannanRule,
    MultiplicativeWeightsRule,
)
from graphcuts_dp.pairs.queries import CutQuery, RankOneQuery
from graphcuts_dp.pairs.universe import Universe
from scripts.figures.update_sequence import UpdateSequence, potential


@dataclass(frozen=True)
class Case:
    """One instance: what is public and the truth."""

    universe: Universe
    truth: np.ndarray
    alpha: float
    rng: np.random.Generator

    @property
    def total_weight(self):
        return self.universe.total(self.truth)

    def noisy_total_weight(self, error):
        noisy = self.total_weight + self.rng.uniform(-error, error)
        return float(np.clip(noisy, min(1e-3, self.total_weight), self.universe.size))


def masks(n):
    return [np.array(mask, dtype=bool) for mask in itertools.product([0, 1], repeat=n)]


@functools.cache
def all_cuts(universe):
    left, right = universe.shape
    return [CutQuery(S, T) for S in masks(left) for T in masks(right)]


@functools.cache
def disjoint_cuts(universe):
    left, right = universe.shape
    if universe.bipartite:
        return all_cuts(universe)
    return [CutQuery(S, T) for S in masks(left) for T in masks(right) if not (S & T).any()]


@functools.cache
def rank_one_queries(universe):
    rng = np.random.default_rng(0)
    left, right = universe.shape
    return [RankOneQuery(rng.random(left), rng.random(right)) for _ in range(200)] + [
        RankOneQuery(np.ones(left), np.ones(right))
    ]


def frieze_kannan_dense(case):
    usual = frieze_kannan(case.universe, alpha=case.alpha, total_weight=case.total_weight)
    density = case.total_weight / case.universe.size
    return FriezeKannanRule(
        start=DenseHypothesis.constant(case.universe, density),
        alpha=case.alpha,
        start_potential=usual.start_potential,
        largest_norm_squared=4 * case.universe.size,
    )


def frieze_kannan_warm(case):
    """From a synthetic graph, with a potential that somebody measured."""
    noise = case.rng.random(case.universe.shape)
    noise = noise if case.universe.bipartite else (noise + noise.T) / 2
    start = DenseHypothesis(case.universe, 0.3 * case.truth + 0.7 * noise)
    difference = case.truth - start.matrix
    return FriezeKannanRule(
        start=start, alpha=case.alpha, start_potential=case.universe.total(difference**2)
    )


def weights_dense(case, span):
    usual = multiplicative_weights(case.universe, alpha=case.alpha, total_weight=case.total_weight)
    return MultiplicativeWeightsRule(
        start=DenseHypothesis.constant(case.universe, case.total_weight / case.universe.size),
        alpha=case.alpha,
        start_potential=usual.start_potential,
        span=span,
    )


def weights_warm(case):
    start = DenseHypothesis(
        case.universe, 0.5 * case.truth + 0.5 * case.total_weight / case.universe.size
    )
    # KL(D || (D + uniform) / 2) <= ln 2
    return MultiplicativeWeightsRule(start=start, alpha=case.alpha, start_potential=np.log(2))


def noisy_frieze_kannan(case):
    error = case.alpha
    total_weight = case.noisy_total_weight(error)
    return frieze_kannan(
        case.universe, alpha=case.alpha, total_weight=total_weight, total_error=error
    )


def noisy_weights(case, rule):
    error = case.alpha / 3
    total_weight = case.noisy_total_weight(error)
    return multiplicative_weights(
        case.universe, alpha=case.alpha, total_weight=total_weight, total_error=error, rule=rule
    )


def near_families(case):
    """All graphs without weights are a net for weighted ones only if rounding is allowed for."""
    family = all_graphs(case.universe)
    truth = case.truth[case.universe.pairs()]
    return Median(
        start=DatabaseFamily(case.universe, np.vstack([family.databases, truth])), alpha=case.alpha
    )


def net(case):
    queries = all_cuts(case.universe)
    return Median(start=alpha_net(near_families(case).start, queries, case.alpha), alpha=case.alpha)


# name: (construction of a case, query class, how far a value may be off in units of alpha)
CONSTRUCTIONS = {
    "FK as printed": (
        lambda c: frieze_kannan(
            c.universe, alpha=c.alpha, total_weight=c.total_weight, rule="as printed"
        ),
        all_cuts,
        None,
    ),
    "FK": (
        lambda c: frieze_kannan(c.universe, alpha=c.alpha, total_weight=c.total_weight),
        all_cuts,
        None,
    ),
    "FK disjoint": (
        lambda c: frieze_kannan(
            c.universe,
            alpha=c.alpha,
            total_weight=c.total_weight,
            disjoint=True,
        ),
        disjoint_cuts,
        None,
    ),
    "FK by value": (
        lambda c: frieze_kannan(c.universe, alpha=c.alpha, total_weight=c.total_weight),
        all_cuts,
        0.999,
    ),
    "FK by good value": (
        lambda c: frieze_kannan(
            c.universe, alpha=c.alpha, total_weight=c.total_weight, value_error=0.1 * c.alpha
        ),
        all_cuts,
        0.1,
    ),
    "FK by exact value": (
        lambda c: frieze_kannan(
            c.universe, alpha=c.alpha, total_weight=c.total_weight, value_error=0.0
        ),
        all_cuts,
        0.0,
    ),
    "FK, noisy total_weight": (noisy_frieze_kannan, all_cuts, None),
    "FK dense, rank one": (frieze_kannan_dense, rank_one_queries, None),
    "FK warm": (frieze_kannan_warm, all_cuts, None),
    "MW as printed": (
        lambda c: multiplicative_weights(
            c.universe, alpha=c.alpha, total_weight=c.total_weight, rule="as printed"
        ),
        all_cuts,
        None,
    ),
    "MW": (
        lambda c: multiplicative_weights(c.universe, alpha=c.alpha, total_weight=c.total_weight),
        all_cuts,
        None,
    ),
    "MW by value": (
        lambda c: multiplicative_weights(c.universe, alpha=c.alpha, total_weight=c.total_weight),
        all_cuts,
        0.999,
    ),
    "MW by exact value": (
        lambda c: multiplicative_weights(
            c.universe, alpha=c.alpha, total_weight=c.total_weight, value_error=0.0
        ),
        all_cuts,
        0.0,
    ),
    "MW, noisy total_weight": (lambda c: noisy_weights(c, "tight"), all_cuts, None),
    "MW as printed, noisy total_weight": (lambda c: noisy_weights(c, "as printed"), all_cuts, None),
    "MW dense": (lambda c: weights_dense(c, 1.0), all_cuts, None),
    "MW dense, rank one": (lambda c: weights_dense(c, 2.0), rank_one_queries, None),
    "MW warm": (weights_warm, all_cuts, None),
    "median": (near_families, all_cuts, None),
    "median on a net": (net, all_cuts, None),
}


@functools.cache
def coefficient_rows(universe, query_class):
    """Rows are queries, columns pairs."""
    pairs = universe.pairs()
    return np.stack([universe.coefficients(query)[pairs] for query in query_class(universe)])


def estimates(hypothesis, coefficients):
    """Answers of all queries at once; rows of `coefficients` are queries over pairs."""
    if isinstance(hypothesis, DatabaseFamily):
        return np.median(coefficients @ hypothesis.databases.T, axis=1)
    return coefficients @ hypothesis.dense()[hypothesis.universe.pairs()]


def choose(gaps, alpha, strategy, rng):
    """A query that is at least alpha off, or None: the worst, the least useful, or any."""
    due = np.flatnonzero(np.abs(gaps) >= alpha * (1 + 1e-9))
    if not len(due):
        return None
    if strategy == "any":
        return int(rng.choice(due))
    order = np.abs(gaps[due])
    return int(due[order.argmax() if strategy == "worst" else order.argmin()])


def run(construction, case, query_class, strategy, off=None):
    """Play an adversary to the end; the potential before each update and after the last."""
    sequence = UpdateSequence(construction, case.truth)
    queries, coefficients = query_class(case.universe), coefficient_rows(case.universe, query_class)
    answers = coefficients @ case.truth[case.universe.pairs()]
    rule = getattr(construction, "sound", construction)  # of a broken twin
    potentials = [potential(rule, sequence.hypothesis, case.truth)]
    while True:
        gaps = answers - estimates(sequence.hypothesis, coefficients)
        chosen = choose(gaps, case.alpha, strategy, case.rng)
        if chosen is None:
            return sequence, potentials
        value = None
        if off is not None:
            value = answers[chosen] + off * case.alpha * case.rng.uniform(-1, 1)
        sequence.update(queries[chosen], value=value)
        potentials.append(potential(rule, sequence.hypothesis, case.truth))
