"""DR14 Proposition 5.2: the Net mechanism's error, for all queries at once."""

import functools
import math

import numpy as np
import pytest
from scipy.stats import binom

import graphcuts_dp as gc
from graphcuts_dp.offline import lists

BETA, RUNS = 0.2, 300


def random_queries(kind, rng):
    if kind == "cuts":
        return [gc.CutQuery(rng.random(5) < 0.5, rng.random(5) < 0.5) for _ in range(12)]
    return [gc.Query.rank_one(rng.random(5), rng.random(5)) for _ in range(12)]


@pytest.fixture
def one_net(monkeypatch):
    """The net is public: one for all runs of a test, which have the same queries and alpha."""
    monkeypatch.setattr(lists, "_Net", functools.partial(net_of, real=lists._Net, made=[]))


def net_of(*arguments, real, made):
    if not made:
        made.append(real(*arguments))
    return made[0]


@pytest.mark.usefixtures("one_net")
@pytest.mark.parametrize(
    ("kind", "epsilon", "alpha"), [("cuts", 3.0, 0.0), ("cuts", 4.0, 1.5), ("rank-one", 8.0, 1.0)]
)
def test_the_error_is_within_the_bound_in_a_share_1_minus_beta_of_runs(kind, epsilon, alpha):
    """More failures than the binomial quantile at 1e-6 would refute beta."""
    rng = np.random.default_rng(5)
    queries = random_queries(kind, rng)
    rows, columns = np.triu_indices(5, 1)
    errors, bounds = [], []
    for run in range(RUNS):
        used = rng.random(10) < 0.5
        graph = gc.Graph(rows[used], columns[used], vertices=5)
        made = gc.release_iteratively(
            graph, queries, epsilon=epsilon, seed=run, construction=gc.Net(alpha=alpha)
        )
        errors.append(
            np.abs(gc.answer_all(queries, made.graph) - gc.answer_all(queries, graph)).max()
        )
        bounds.append(made.law.error(BETA))
    failures = int((np.array(errors) > np.array(bounds) + 1e-9).sum())
    assert failures <= binom.isf(1e-6, RUNS, BETA)
    assert max(errors) > 0  # the noise is there


def test_the_bound_is_at_most_the_papers():
    """alpha + 2 Delta (ln members + ln 1/beta)/epsilon, with Delta = 1 for cuts."""
    queries = random_queries("cuts", np.random.default_rng(1))
    graph = gc.Graph([0], [1], vertices=5)
    for epsilon in (0.5, 1.0, 4.0):
        for alpha in (0.0, 1.5):
            made = gc.release_iteratively(
                graph, queries, epsilon=epsilon, seed=0, construction=gc.Net(alpha=alpha)
            )
            printed = alpha + 2 * (math.log(made.law.members) + math.log(1 / BETA)) / epsilon
            assert alpha <= made.law.error(BETA) <= printed
