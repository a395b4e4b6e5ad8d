"""DR14 section 5.3.1: what a construction can reach is a net, and the Net mechanism runs on it."""

import math
from functools import partial

import numpy as np
import pytest

import graphcuts_dp as gc
from graphcuts_dp.errors import HypothesisError, ParameterError
from graphcuts_dp.learn.learners import MirrorDescentLearner, MultiplicativeWeightsLearner
from graphcuts_dp.learn.median import all_graphs
from graphcuts_dp.pairs.universe import Universe
from scripts.figures import construction_net as nets
from scripts.figures.construction_net import construction_net
from scripts.figures.random_graphs import planted_partition

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
        graph, queries, epsilon=2.0, seed=1, construction=gc.Net(family=net, within=alpha)
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
    with pytest.raises(ParameterError, match="within"):
        gc.release_iteratively(
            graph, [gc.CutQuery([0])], epsilon=1.0, construction=gc.Net(within=-1.0)
        )
