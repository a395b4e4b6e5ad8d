"""Answers to a few cuts at once: values, intervals, columns, refusals."""

import numpy as np
import pytest
import scipy.stats
from offline_calls import answer_at_once

import graphcuts_dp as gc
from graphcuts_dp.errors import GraphError, QueryError
from graphcuts_dp.offline.lists import Answers, columns_of
from graphcuts_dp.offline.query_lists import CutList
from graphcuts_dp.offline.release import Task
from graphcuts_dp.pairs.universe import Universe
from graphcuts_dp.privacy.noise import SeededEntropy

GRAPH = gc.Graph([0, 0, 1, 3, 4], [1, 2, 2, 4, 5], vertices=6)
SIDES = gc.BipartiteGraph([0, 1, 2], [0, 1, 1], [0.5, 5, 2.5], left=3, right=2, weight_cap=5.0)
ARCS = gc.DirectedGraph([0, 1, 2], [1, 0, 3], vertices=4)
CUTS = [gc.CutQuery([0, 1]), gc.CutQuery([0, 2, 3]), gc.CutQuery([0], [1, 2])]
FALSE = 1e-6
EACH_KIND = pytest.mark.parametrize("graph", [GRAPH, SIDES, ARCS], ids=["plain", "sides", "arcs"])


def cuts_of(graph):
    if graph is SIDES:
        return [gc.CutQuery([0, 1], [0, 1]), gc.CutQuery([1], [1])]
    return [gc.CutQuery([0, 1]), gc.CutQuery([0], [1, 2]), gc.CutQuery([1, 2, 3], [0, 1])]


def law_of(graph, cuts, noise):
    """The list, and the law of its noise."""
    listed = CutList(Universe.of(graph), cuts)
    return listed, Answers(noise=noise).laws(Task.of(graph, cuts, epsilon=1.0), listed)[noise]


@EACH_KIND
@pytest.mark.parametrize("noise", ["k-norm", "laplace"])
def test_intervals_hold_for_all_answers_at_once(graph, noise):
    cuts = cuts_of(graph)
    truth = np.array([query.value(graph) for query in cuts])
    listed, law = law_of(graph, cuts, noise)
    wrong = 0
    for seed in range(60):
        made = answer_at_once(graph, cuts, epsilon=1.0, noise=noise, beta=0.2, seed=seed)
        wrong += any(
            not answer.interval[0] <= true <= answer.interval[1]
            for answer, true in zip(made.answer_all(cuts), truth, strict=True)
        )
    assert wrong <= scipy.stats.binom.isf(FALSE, 60, 0.2)
    assert made.accuracy.error == law.error(np.nextafter(1 - 0.8, 0))
    values = law.measure(listed, graph, SeededEntropy(59))
    assert [each.value for each in made.transcript] == values
    first = made.answer(cuts[0])
    assert (first.together, first.confidence) == (len(cuts), 0.8)
    assert made.answer(cuts[0], confidence=0.999).interval[1] >= first.interval[1]
    assert "seeded" in repr(made)


@EACH_KIND
def test_every_pair_has_its_column(graph):
    """What each pair changes, counted on graphs of that pair alone."""
    listed, law = law_of(graph, cuts_of(graph), "k-norm")
    columns = {tuple(column) for column in columns_of(listed)}
    rows, others = listed.universe.pairs()
    seen = set()
    for i, j in zip(rows, others, strict=True):
        if graph is SIDES:
            single = gc.BipartiteGraph([i], [j], [5.0], left=3, right=2, weight_cap=5.0)
        else:
            single = type(graph)([i], [j], vertices=len(graph.vertices))
        counts = listed.counts(single, law.grid)
        assert set(counts) <= {0, int(counts.max())}
        assert counts.max() <= law.grid.sensitivity
        seen.add(tuple((counts > 0).astype(int)))
    assert seen <= columns
    assert max(sum(column) for column in seen) > 1


def test_k_norm_noise_is_less_where_cuts_overlap():
    """Spread of answers to five random halves of 20 vertices, 200 draws of each noise."""
    rng = np.random.default_rng(1)
    graph = gc.Graph(*np.triu_indices(20, 1), vertices=20)
    halves = [gc.CutQuery(rng.random(20) < 0.5) for _ in range(5)]
    spread = {}
    for noise in ("k-norm", "laplace"):
        (listed, law), source = law_of(graph, halves, noise), SeededEntropy(3)
        values = np.array([law.measure(listed, graph, source) for _ in range(200)])
        spread[noise] = np.sqrt(((values - values.mean(axis=0)) ** 2).mean())
    assert spread["k-norm"] < 0.6 * spread["laplace"]
    radii = {
        noise: answer_at_once(graph, halves, epsilon=1.0, noise=noise, seed=1).accuracy.error
        for noise in ("auto", "k-norm", "laplace")
    }
    assert radii["auto"] == min(radii.values()) == radii["k-norm"] < radii["laplace"]


def test_long_lists_and_protections():
    many = [gc.CutQuery([i], [j]) for i in range(6) for j in range(6) if i < j]
    made = answer_at_once(GRAPH, many, epsilon=2.0)
    assert made.settings.construction == "laplace"  # no pair is in two of them: noise of 2
    assert made.guarantee.is_private
    one, ten = (
        answer_at_once(GRAPH, CUTS, epsilon=1.0, at_most=at_most, seed=1) for at_most in (1, 10)
    )
    assert ten.guarantee.protects == "10 edges"
    assert ten.guarantee.epsilon <= 1.0
    assert ten.accuracy.error > 8 * one.accuracy.error


def test_cuts_of_the_list_are_found_and_others_refused():
    made = answer_at_once(GRAPH, CUTS, epsilon=1.0, seed=1)
    other_way = made.answer([1, 2], [0])  # a cut of an undirected graph
    assert other_way == made.answer(CUTS[2])
    rank = gc.Query.rank_one([1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 1, 1])
    assert made.answer(rank) == made.answer(CUTS[0])
    arcs = answer_at_once(ARCS, cuts_of(ARCS), epsilon=1.0, seed=1)
    for few, asked, other in (
        (made, gc.CutQuery([5]), None),
        (made, gc.Query.rank_one([0.5] * 6, [1] * 6), None),
        (made, CUTS[0], [1]),
        (made, [77], None),
        (arcs, [1, 2], [0]),
    ):
        with pytest.raises(QueryError, match=r"none of them|not both|77"):
            few.answer(asked, other)
    for level in (0.0, 1.0, 2.0):
        with pytest.raises(QueryError, match="confidence"):
            made.answer(CUTS[0], confidence=level)
    with pytest.raises(GraphError, match="no graph"):
        made.graph  # noqa: B018  # refuses
