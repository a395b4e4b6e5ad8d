"""Updates that learn a low-rank matrix, with Schatten norms and without."""

import numpy as np
import pytest

from graphcuts_dp.learn.potentials import LpNorm, SchattenNorm
from graphcuts_dp.learn.rules import MirrorDescentRule, minimal_start
from graphcuts_dp.plugins import Universe
from graphcuts_dp.queries.linear import MatrixQuery
from scripts.figures.low_rank import (
    BEST,
    FROBENIUS,
    SCHATTEN,
    best_exponent,
    count_updates,
    low_rank_matrix,
    random_query,
)

METHODS = (BEST, SCHATTEN, FROBENIUS)


def updates(table, part, queries, method):
    return table.middle(part, "updates", part=part, queries=queries, method=method)


@pytest.fixture(scope="module")
def table(quick_table):
    return quick_table("low-rank").table


@pytest.mark.thorough
def test_the_statements_hold_in_a_quick_run(table):
    found = {str(finding): finding.agrees for finding in table.findings}
    assert len(found) == 7
    assert all(found.values()), found


@pytest.mark.thorough
def test_for_rank_one_queries_frobenius_needs_fewer_updates_at_every_size_and_rank(table):
    for part in ("n", "rank"):
        places, schatten = updates(table, part, "rank-one", SCHATTEN)
        _, frobenius = updates(table, part, "rank-one", FROBENIUS)
        assert len(places) == 3
        assert (np.array(schatten) > 2 * np.array(frobenius)).all()


def test_the_best_exponent_is_never_much_worse_than_either(table):
    for part in ("n", "rank"):
        best, *others = (updates(table, part, "gaussian", of)[1] for of in METHODS)
        assert (best <= 1.15 * np.min(others, axis=0)).all()


def test_the_best_exponent_is_2_for_rank_one_queries_and_smaller_for_spread_ones():
    rng = np.random.default_rng(0)
    X = low_rank_matrix(40, 1, rng)
    assert best_exponent(X, random_query("rank-one", 40, rng)) > 1.9
    assert best_exponent(X, random_query("gaussian", 40, rng)) < 1.5


def test_matrices_and_queries_are_as_described():
    rng = np.random.default_rng(0)
    X = low_rank_matrix(6, 2, rng)
    assert X.shape == (24, 6)
    assert np.linalg.norm(X) == pytest.approx(1)
    assert np.linalg.matrix_rank(X) == 2
    for queries, rank in (("gaussian", 6), ("rank-one", 1)):
        F = random_query(queries, 6, rng)
        assert np.linalg.norm(F) == pytest.approx(12)
        assert np.linalg.matrix_rank(F) == rank


@pytest.mark.parametrize("psi", [LpNorm(2.0), SchattenNorm(1.3)])
def test_the_counted_updates_are_those_of_mirror_descent(psi):
    X = low_rank_matrix(5, 1, np.random.default_rng(1))
    queries = [random_query("gaussian", 5, np.random.default_rng(i)) for i in range(400)]
    stream = iter(queries)
    made, zeta = count_updates(X, psi, lambda: next(stream), alpha=1.0, silence=20)
    universe = Universe(*X.shape)
    rule = MirrorDescentRule(
        start=minimal_start(universe, psi), psi=psi, alpha=1.0, zeta=zeta, start_potential=1.0
    )
    hypothesis, count, quiet = rule.initial(), 0, 0
    for F in queries:
        gap = float(np.vdot(F, X - hypothesis.matrix))
        quiet = quiet + 1 if abs(gap) < 1 else 0
        if quiet == 20:
            break
        if not quiet:
            count += 1
            hypothesis = rule.update(hypothesis, MatrixQuery(F), 1 if gap > 0 else -1)
    assert made == count > 20
