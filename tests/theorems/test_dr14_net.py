"""DR14 sections 5.1 to 5.3: nets.

Proposition 5.2: the error of the Net mechanism, for all queries at once. Section 5.3.1: what a
construction can reach is a net, and the mechanism runs on it. Theorems 5.8 to 5.10 for queries that
need not be linear: the median learns every graph.
"""

import functools
import math
from functools import partial

import numpy as np
import pytest
from scipy.stats import binom

import graphcuts_dp as gc
from graphcuts_dp import HypothesisError, ParameterError
from graphcuts_dp.iterative import net as net_module
from graphcuts_dp.learn.learners import MirrorDescentLearner, MultiplicativeWeightsLearner
from graphcuts_dp.learn.median import Median, all_graphs
from graphcuts_dp.plugins import Universe
from graphcuts_dp.queries.graph_queries import STATISTICS, GraphQuery
from scripts.figures import construction_net as nets
from scripts.figures.construction_net import construction_net
from scripts.figures.random_graphs import planted_partition

BETA, RUNS = 0.2, 300


def random_queries(kind, rng):
    if kind == "cuts":
        return [gc.CutQuery(rng.random(5) < 0.5, rng.random(5) < 0.5) for _ in range(12)]
    return [gc.Query.rank_one(rng.random(5), rng.random(5)) for _ in range(12)]


@pytest.fixture
def one_net(monkeypatch):
    """The net is public: one for all runs of a test, which have the same queries and alpha."""
    monkeypatch.setattr(
        net_module, "_Net", functools.partial(net_of, real=net_module._Net, made=[])
    )


def net_of(*arguments, real, made):
    if not made:
        made.append(real(*arguments))
    return made[0]


@pytest.mark.thorough
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


# What a construction can reach


LEARNERS = {
    "mw": MultiplicativeWeightsLearner,
    "md l2": partial(MirrorDescentLearner, norm="l2"),
    "md auto": MirrorDescentLearner,
}
CASES = {
    "plain": (Universe(5), [gc.CutQuery([0]), gc.CutQuery([0, 1]), gc.CutQuery([1], [2, 3])]),
    "bipartite": (Universe(2, 4), [gc.CutQuery([0], [0, 1]), gc.CutQuery([1], [0, 1, 2])]),
    "directed": (Universe(3, directed=True), [gc.CutQuery([0], [1, 2]), gc.CutQuery([1], [0])]),
}


def answers_of(family, queries):
    return np.stack([family.answers(query) for query in queries], axis=1)


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(("edges", "alpha"), [(2, 1.2), (3, 1.8), (4, 2.4)])
def test_every_graph_has_a_member_within_alpha(learner, case, edges, alpha):
    """Of all graphs with so many edges; and the net is no larger than the theorem says."""
    universe, queries = CASES[case]
    rule = LEARNERS[learner](universe)
    net = construction_net(rule, queries, alpha=alpha, total_weight=float(edges))
    truths = answers_of(all_graphs(universe, edges), queries)
    members = answers_of(net, queries)
    gaps = np.abs(truths[:, None] - members[None]).max(axis=2).min(axis=1)
    assert gaps.max() < alpha * (1 + 1e-9)
    made = rule.construction(alpha=alpha, total_weight=float(edges), total_error=0.0)
    most = math.floor(made.update_bound(alpha))
    assert len(net) <= sum((2 * len(queries)) ** t for t in range(most + 1))
    assert (net.databases >= 0).all()


def test_a_net_that_stops_too_early_is_none():
    """The start alone: some graph is farther off than alpha. So the test above can fail."""
    universe, queries = CASES["plain"]
    rule = MultiplicativeWeightsLearner(universe)
    start = construction_net(rule, queries, alpha=3.9, total_weight=4.0)
    truths = answers_of(all_graphs(universe, 4), queries)
    first = answers_of(start, queries)[:1]
    assert np.abs(truths - first).max() > 0.8


def test_the_net_mechanism_for_more_vertices_than_all_graphs_can_be_listed_for(tmp_path):
    """120 pairs. Deterministic, seeded; the bound fails with probability 1e-6."""
    graph = planted_partition(16, 2, 0.9, 0.1, seed=3)
    universe, edges = Universe.of(graph), len(graph.rows)
    block = gc.CutQuery(range(8))
    queries = [block, gc.CutQuery([0]), gc.CutQuery(range(8), range(4))]
    alpha = 0.7 * edges
    net = construction_net(
        MultiplicativeWeightsLearner(universe), queries, alpha=alpha, total_weight=float(edges)
    )
    made = gc.release_iteratively(
        graph, queries, epsilon=2.0, seed=1, construction=gc.Net(family=net, family_error=alpha)
    )
    off = np.abs(gc.answer_all(queries, made.graph) - gc.answer_all(queries, graph)).max()
    assert made.law.alpha == alpha
    assert off <= made.law.error(1e-6)
    made.save(tmp_path / "net.csv")
    assert gc.IterativeRelease.load(tmp_path / "net.csv").law.error(0.1) == made.law.error(0.1)


def test_what_is_refused(monkeypatch):
    universe, queries = CASES["plain"]
    rule = MultiplicativeWeightsLearner(universe)
    for wrong in ({"alpha": 0.0}, {"total_weight": 11.0}, {"queries": []}):
        options = {"queries": queries, "alpha": 1.0, "total_weight": 3.0} | wrong
        with pytest.raises(ParameterError, match="net needs"):
            construction_net(rule, options.pop("queries"), **options)
    with pytest.raises(ParameterError, match=r"\[0, 1\]"):
        construction_net(
            rule, [gc.Query.matrix(np.full((5, 5), -1.0))], alpha=1.0, total_weight=3.0
        )
    monkeypatch.setattr(nets, "_MOST_NUMBERS", 200)
    with pytest.raises(HypothesisError, match=r"more than 20 members.*larger alpha"):
        construction_net(rule, queries, alpha=0.5, total_weight=5.0)
    graph = planted_partition(4, 2, 0.9, 0.1, seed=3)
    with pytest.raises(ParameterError, match="family_error"):
        gc.release_iteratively(
            graph, [gc.CutQuery([0])], epsilon=1.0, construction=gc.Net(family_error=-1.0)
        )


# The median


UNIVERSE = Universe(4)
EVERY = all_graphs(UNIVERSE)
QUERIES = [
    *(GraphQuery(name) for name in STATISTICS),
    *(gc.CutQuery([i]) for i in range(4)),
    gc.CutQuery([0, 1]),
]


@pytest.mark.thorough(cases=2)
@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.5])
@pytest.mark.parametrize("chosen", ["largest gap", "first", "statistics first"])
def test_every_graph_is_learnt_within_log2_of_their_number(alpha, chosen):
    """Theorem 5.8 with the trivial net of Theorem 5.9: for each of the 64 truths, updates by
    queries that are off by alpha or more end after at most log2(64); the truth is never lost."""
    answers = np.stack([EVERY.answers(query) for query in QUERIES], axis=1)
    rule = Median(start=EVERY, alpha=alpha)
    most = 0
    for truth, row in zip(EVERY.databases, answers, strict=True):
        family, count = rule.initial(), 0
        while True:
            gaps = row - np.array([family.estimate(query) for query in QUERIES])
            due = np.flatnonzero(np.abs(gaps) >= alpha)
            if not len(due):
                break
            place = due[np.abs(gaps[due]).argmax()] if chosen == "largest gap" else due[0]
            if chosen == "first":
                place = due[-1]
            before = len(family)
            family = rule.update(family, QUERIES[place], 1 if gaps[place] > 0 else -1)
            assert len(family) <= before / 2
            assert (family.databases == truth).all(axis=1).any()
            count += 1
        most = max(most, count)
    assert 1 <= most <= rule.update_bound(alpha) == math.log2(64)
