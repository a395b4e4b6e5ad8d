"""GRU12's Lemma 6.1 for any number of queries, and the K-norm row of its Table 1."""

import math

import numpy as np
import pytest
from scipy.stats import binom, gamma

from scripts.figures import rates
from scripts.figures.bounds import gru12_lemma_6_1_general, k_norm_bound

BETA, RUNS = 0.05, 400
FEWEST = int(binom.isf(1e-6, RUNS, BETA))  # more failures than this refute a bound


def failures(bound, universe, worst, seed):
    rng = np.random.default_rng(seed)
    noise = rng.laplace(size=(RUNS, universe))
    return int((worst(noise) > bound).sum())


def all_of_the_cube(noise):
    """The largest error of any query in [0, 1]^X."""
    return np.maximum(np.maximum(noise, 0).sum(axis=1), np.maximum(-noise, 0).sum(axis=1))


@pytest.mark.parametrize("universe", [10, 300])
def test_it_holds_for_all_queries_at_once_and_half_of_it_does_not(universe):
    for log_queries in (math.inf, universe * math.log(2)):  # all 0/1 vectors are as bad
        bound = gru12_lemma_6_1_general(universe, log_queries=log_queries, epsilon=1.0, beta=BETA)
        assert failures(bound, universe, all_of_the_cube, 1) <= FEWEST
        assert failures(bound / 2, universe, all_of_the_cube, 1) > FEWEST


def test_it_holds_for_random_queries():
    rng = np.random.default_rng(2)
    queries = rng.uniform(size=(500, 50))
    bound = gru12_lemma_6_1_general(50, log_queries=math.log(500), epsilon=1.0, beta=BETA)
    assert failures(bound, 50, lambda noise: np.abs(noise @ queries.T).max(axis=1), 3) <= FEWEST


def test_it_is_no_worse_than_the_first_half_where_that_holds():
    for universe in (200.0, 5000.0):
        for log_queries in (0.0, 5.0, universe / 10):
            first = rates.gru12_lemma_6_1(universe, log_queries=log_queries, epsilon=0.5, beta=BETA)
            general = gru12_lemma_6_1_general(
                universe, log_queries=log_queries, epsilon=0.5, beta=BETA
            )
            assert general <= first


def test_it_has_the_printed_order_which_the_printed_proof_misses_by_a_root():
    """Erratum: Hoeffding's inequality with noise cut off at L has L^2 in its exponent."""
    above_print, above_proof = [], []
    for universe in (100.0, 1e4, 1e6):
        for log_queries in np.geomspace(1, 1e4 * universe, 30).tolist():
            general = gru12_lemma_6_1_general(
                universe, log_queries=log_queries, epsilon=1.0, beta=BETA
            )
            cut_off = math.log(2 * universe / BETA)
            proven = cut_off * math.sqrt(2 * universe * (math.log(4 / BETA) + log_queries))
            logs = math.log(universe / BETA) * (log_queries - math.log(BETA))
            above_print.append(general / math.sqrt(universe * logs))
            above_proof.append(proven / math.sqrt(universe * logs))
    assert max(above_print) < 2
    assert max(above_proof) > 2 * max(above_print)


def test_errors_fall_with_epsilon_and_grow_with_queries():
    numbers = {"log_queries": 9.0, "beta": BETA}
    one = gru12_lemma_6_1_general(100, epsilon=1.0, **numbers)
    assert gru12_lemma_6_1_general(100, epsilon=2.0, **numbers) == pytest.approx(one / 2)
    assert gru12_lemma_6_1_general(100, epsilon=1.0, log_queries=10.0, beta=BETA) > one


@pytest.mark.parametrize("queries", [1, 5, 200])
def test_the_k_norm_bound_holds_for_the_largest_body_and_a_third_of_it_does_not(queries):
    """The cube, uniform: the largest coordinate of noise is r times a maximum of k uniforms."""
    rng = np.random.default_rng(queries)
    points = rng.uniform(-1, 1, size=(RUNS, queries))
    noise = rng.gamma(queries + 1, size=(RUNS, 1)) * points
    worst = np.abs(noise).max(axis=1)
    bound = k_norm_bound(queries, epsilon=1.0, beta=BETA)
    assert (worst > bound).sum() <= FEWEST
    assert (worst > bound / 3).sum() > FEWEST
    assert k_norm_bound(queries, epsilon=0.5, beta=BETA) == pytest.approx(2 * bound)
    assert gamma.sf(bound, queries + 1) == pytest.approx(BETA, rel=1e-6)


def test_the_rate_of_table_1():
    """Four times the queries: twice the error, up to the logarithm."""
    rate = rates.table_1_k_norm(100, universe=1e6, epsilon=1.0)
    assert rate == pytest.approx(10 * math.sqrt(math.log(1e4)))
    assert rates.table_1_k_norm(400, universe=4e6, epsilon=1.0) == pytest.approx(2 * rate)
    assert rate < k_norm_bound(100, epsilon=1.0, beta=0.5)
