"""Whole sessions against an adversary who knows the graph: intervals hold, the cap holds.

A session fails if any guaranteed answer lies outside its interval. That happens with probability
beta at most, so the number of failures in N sessions passes the quantile of Binomial(N, beta) at
1e-6 with no more than that probability.
"""

from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from online_cases import two_communities

from graphcuts_dp import CutQuery
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.plugins import SeededEntropy, Universe
from graphcuts_dp.session.terms import SessionTerms

BETA = 0.2


def adversary(graph, rng, candidates):
    """Cuts of the two halves and random ones; asks the one that the hypothesis has most wrong."""
    n = graph.n
    half = np.arange(n) < n // 2
    pool = [CutQuery(half), CutQuery(half, half), CutQuery(~half, ~half)]
    pool += [CutQuery(rng.random(n) < 0.5, rng.random(n) < 0.5) for _ in range(candidates)]
    truths = [int(query.value(graph)) for query in pool]

    def ask(state):
        gaps = np.abs(state.current.estimate_all(pool) - truths)
        # Mostly the worst, at times any: those of the middle are near the threshold.
        k = int(gaps.argmax()) if rng.random() < 0.7 else int(rng.integers(len(pool)))
        return pool[k], truths[k]

    return ask


def run_session(mechanism, graph, seed, queries, shrunk=1):
    """(whether some interval was wrong, updates); intervals may be shrunk to a part of them."""
    rng, source = np.random.default_rng(seed), SeededEntropy(seed)
    ask = adversary(graph, rng, 10)
    state = mechanism.start(graph, source)
    state = replace(state, tuning=replace(state.tuning, error=state.tuning.error // shrunk))
    wrong = False
    for _ in range(queries):
        if state.stopped:
            break
        query, truth = ask(state)
        state, answer = mechanism.step(state, query, truth, source)
        low, high = answer.interval
        wrong |= not low <= truth <= high
        assert state.updates + state.lost <= state.tuning.updates
    # With a right bound on updates a session runs out only if its noise failed.
    return wrong or state.halted, state.updates


def failures(n, seeds, queries, shrunk=1, **numbers):
    given = {"delta": 1e-6, "beta": BETA, **numbers}
    mechanism = SessionTerms.of(queries=queries, **given).mechanism(Universe(n), Grid())
    ended = [
        run_session(mechanism, two_communities(n, seed), seed, queries, shrunk)
        for seed in range(seeds)
    ]
    return sum(failed for failed, _ in ended), sum(updates for _, updates in ended)


METHODS = ["multiplicative-weights", "frieze-kannan"]
BOOK = {"method": "frieze-kannan", "epsilon": 40.0, "calibration": "dr14", "delta": 0.0}


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("given", "learnt"),
    [
        *(
            ({"method": m, "epsilon": 20.0, "value_share": s}, 10)
            for m in METHODS
            for s in (0, 0.3)
        ),
        (BOOK, 0),
    ],
)
def test_sessions_keep_their_guarantee(given, learnt):
    found, updates = failures(50, 10, 40, **given)
    assert found <= scipy.stats.binom.isf(1e-6, 10, BETA)
    assert updates >= learnt  # the hypotheses had something to learn


def test_a_twin_with_too_little_room_fails():
    """Intervals a fifth as wide are wrong far more often: the test above can fail."""
    terms = {"method": "frieze-kannan", "epsilon": 20.0, "beta": 0.05}
    found, _ = failures(50, 10, 40, shrunk=5, **terms)
    assert found > scipy.stats.binom.isf(1e-6, 10, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_many_sessions_keep_their_guarantee(method):
    found, updates = failures(200, 200, 100, method=method, epsilon=4.0)
    assert found <= scipy.stats.binom.isf(1e-6, 200, BETA)
    assert updates > 200


@pytest.mark.slow
def test_a_hundred_thousand_adversarial_queries():
    n, queries = 5000, 10**5
    graph = two_communities(n, 1, inside=0.0078, across=0.0002)
    assert 45_000 < len(graph.rows) < 55_000
    mechanism = SessionTerms.of(
        method="frieze-kannan", epsilon=4.0, delta=1e-6, queries=queries, disjoint=True
    ).mechanism(Universe(n), Grid())
    rng, source = np.random.default_rng(5), SeededEntropy(5)
    half = np.arange(n) < n // 2
    noisy_halves = [half ^ (rng.random(n) < flips) for flips in np.linspace(0, 0.5, 200)]
    pool = [CutQuery(mask) for mask in noisy_halves]
    truths = [mechanism.grid.count(query, graph) for query in pool]
    state = mechanism.start(graph, source)
    worst = 0.0
    for turn in range(queries):
        if turn % 500 == 0:
            # The adversary sees the hypothesis, and keeps to the cuts that it has most wrong.
            gaps = np.abs(state.current.estimate_all(pool) - truths)
            favourites = np.argsort(-gaps)[:20]
        k = int(rng.choice(favourites))
        state, answer = mechanism.step(state, pool[k], truths[k], source)
        low, high = answer.interval
        assert low <= truths[k] <= high
        worst = max(worst, abs(answer.value - truths[k]))
        assert state.updates <= state.tuning.updates
    assert not state.halted
    assert state.updates > 0
    assert worst <= state.tuning.error
