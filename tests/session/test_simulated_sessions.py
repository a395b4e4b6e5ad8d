"""Sessions against an adversary who knows the graph: intervals and the bound on updates hold.

A session fails if the true value of a guaranteed answer lies outside its interval. That happens
with probability beta at most, so the number of failures in N sessions exceeds the upper quantile of
Binomial(N, beta) at 1e-6 with no more than that probability.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.stats
from online_cases import two_communities

from graphcuts_dp import CutQuery, Graph
from graphcuts_dp.graph.grid import Grid
from graphcuts_dp.plugins import SeededEntropy, Universe
from graphcuts_dp.session.terms import SessionTerms

BETA = 0.2  # large, so that few sessions show failures
FALSE_ALARM = 1e-6


def adversary(
    graph: Graph, rng: np.random.Generator, random_cuts: int
) -> Callable[[Any], tuple[CutQuery, int]]:
    """Return a function that chooses a cut, with its true value, for the state of a session.

    It chooses among cuts of the two halves and random ones, mostly that on which the hypothesis has
    the largest error.
    """
    n = graph.n
    half = np.arange(n) < n // 2
    pool = [CutQuery(half), CutQuery(half, half), CutQuery(~half, ~half)]
    pool += [CutQuery(rng.random(n) < 0.5, rng.random(n) < 0.5) for _ in range(random_cuts)]
    true_values = [int(query.value(graph)) for query in pool]

    def choose(state: Any) -> tuple[CutQuery, int]:
        errors = np.abs(state.current.estimate_all(pool) - true_values)
        # Cuts of moderate error are near the threshold of the tests, so at times any is chosen.
        index = int(errors.argmax()) if rng.random() < 0.7 else int(rng.integers(len(pool)))
        return pool[index], true_values[index]

    return choose


def run_session(
    mechanism: Any, graph: Graph, seed: int, queries: int, *, divide_error: int = 1
) -> tuple[bool, int]:
    """Run a session against the adversary.

    Args:
        seed: of the adversary and of the noise.
        divide_error: intervals are narrower by this factor (1 for a correct mechanism).

    Returns:
        Whether the session failed, and the number of updates.
    """
    rng, source = np.random.default_rng(seed), SeededEntropy(seed)
    choose = adversary(graph, rng, 10)
    state = mechanism.start(graph, source)
    state = replace(state, tuning=replace(state.tuning, error=state.tuning.error // divide_error))
    failed = False
    for _ in range(queries):
        if state.stopped:
            break
        query, true_value = choose(state)
        state, answer = mechanism.step(state, query, true_value, source)
        low, high = answer.interval
        failed |= not low <= true_value <= high
        assert state.updates + state.lost <= state.tuning.updates
    # The bound on updates is a theorem, so a session halts early only if its noise was too large.
    return failed or state.halted, state.updates


def count_failures(
    n: int, sessions: int, queries: int, *, divide_error: int = 1, **terms
) -> tuple[int, int]:
    """Run sessions on random graphs of n vertices; return how many failed, and all updates."""
    terms = {"delta": 1e-6, "beta": BETA, **terms}
    mechanism = SessionTerms.of(queries=queries, **terms).mechanism(Universe(n), Grid())
    outcomes = [
        run_session(mechanism, two_communities(n, seed), seed, queries, divide_error=divide_error)
        for seed in range(sessions)
    ]
    return sum(failed for failed, _ in outcomes), sum(updates for _, updates in outcomes)


METHODS = ["multiplicative-weights", "frieze-kannan"]
DR14_TERMS = {"method": "frieze-kannan", "epsilon": 40.0, "calibration": "dr14", "delta": 0.0}


@pytest.mark.thorough(cases=1)
@pytest.mark.parametrize(
    ("terms", "min_updates"),
    [
        *(
            pytest.param(
                {"method": method, "epsilon": 20.0, "value_share": value_share},
                10,
                id=f"{method}, value share {value_share:g}",
            )
            for method in METHODS
            for value_share in (0, 0.3)
        ),
        pytest.param(DR14_TERMS, 0, id="dr14"),
    ],
)
def test_sessions_fail_no_more_often_than_beta(terms, min_updates):
    failures, updates = count_failures(50, 10, 40, **terms)
    assert failures <= scipy.stats.binom.isf(FALSE_ALARM, 10, BETA)
    assert updates >= min_updates  # else the hypothesis was right without learning


@pytest.mark.thorough
def test_an_incorrect_variant_with_intervals_a_fifth_as_wide_fails_more_often_than_beta():
    beta = 0.05
    failures, _ = count_failures(
        50, 10, 40, divide_error=5, method="frieze-kannan", epsilon=20.0, beta=beta
    )
    assert failures > scipy.stats.binom.isf(FALSE_ALARM, 10, beta)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_many_sessions_fail_no_more_often_than_beta(method):
    failures, updates = count_failures(200, 200, 100, method=method, epsilon=4.0)
    assert failures <= scipy.stats.binom.isf(FALSE_ALARM, 200, BETA)
    assert updates > 200


@pytest.mark.slow
def test_intervals_hold_for_a_hundred_thousand_adversarial_queries():
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
    true_values = [mechanism.grid.count(query, graph) for query in pool]
    state = mechanism.start(graph, source)
    largest_error = 0.0
    for query_number in range(queries):
        if query_number % 500 == 0:
            # The adversary sees the hypothesis and asks the cuts on which its error is largest.
            errors = np.abs(state.current.estimate_all(pool) - true_values)
            worst_indices = np.argsort(-errors)[:20]
        index = int(rng.choice(worst_indices))
        true_value = true_values[index]
        state, answer = mechanism.step(state, pool[index], true_value, source)
        low, high = answer.interval
        assert low <= true_value <= high
        largest_error = max(largest_error, abs(answer.value - true_value))
        assert state.updates <= state.tuning.updates
    assert not state.halted
    assert state.updates > 0
    assert largest_error <= state.tuning.error
