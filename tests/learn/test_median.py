"""The median construction on explicit families."""

import math

import numpy as np
import pytest

from graphcuts_dp import CutQuery, HypothesisError
from graphcuts_dp.learn.median import DatabaseFamily, Median, all_graphs, alpha_net
from graphcuts_dp.plugins import Universe
from graphcuts_dp.queries.linear import RankOneQuery
from scripts.figures.small_databases import small_database_size, small_databases
from scripts.figures.update_sequence import UpdateSequence

FOUR = Universe(4)


def cuts_of(universe):
    sides = [
        [np.array([code >> i & 1 for i in range(n)], dtype=bool) for code in range(2**n)]
        for n in universe.shape
    ]
    return [CutQuery(S, T) for S in sides[0] for T in sides[1]]


def test_all_graphs_are_all_graphs():
    family = all_graphs(FOUR)
    assert family.databases.shape == (64, 6)
    assert len(np.unique(family.databases, axis=0)) == 64
    assert set(family.databases.ravel()) == {0.0, 1.0}
    some = all_graphs(FOUR, 2)
    assert some.databases.shape == (15, 6)
    assert (some.databases.sum(axis=1) == 2).all()
    assert len(np.unique(some.databases, axis=0)) == 15
    assert all_graphs(Universe(2, 3), 0).databases.tolist() == [[0.0] * 6]
    family = small_databases(FOUR, total_weight=4.0, size=3)  # all multisets
    assert len(np.unique(family.databases, axis=0)) == len(family) == math.comb(6 + 3 - 1, 3)
    assert np.allclose(family.databases.sum(axis=1), 4)


def test_where_answers_fit_no_graph_the_lenient_rule_keeps_the_nearest():
    full = Median(start=all_graphs(FOUR), alpha=1.0, lenient=True)
    some = full.start
    for _ in range(10):
        some = full.update(some, CutQuery([0]), 1)
    assert set(some.answers(CutQuery([0]))) == {3.0}
    assert len(full.update(some, CutQuery([0]), 1)) == len(some)


def test_answers_are_medians_over_the_family():
    rng = np.random.default_rng(0)
    for universe in (FOUR, Universe(2, 3), Universe(3, directed=True)):
        databases = rng.random((7, universe.size))
        family = DatabaseFamily(universe, databases)
        queries = [
            CutQuery([0], [1]),
            CutQuery([0, 1], range(universe.shape[1])),
            RankOneQuery(rng.random(universe.shape[0]), rng.random(universe.shape[1])),
        ]
        for query, answer in zip(queries, family.estimate_all(queries), strict=True):
            each = []
            for database in databases:
                matrix = np.zeros(universe.shape)
                matrix[universe.pairs()] = database
                if universe.symmetric:
                    matrix += matrix.T
                kind = {"bipartite": universe.bipartite, "directed": universe.directed}
                each.append(query.value(matrix, **kind))
            assert np.allclose(family.answers(query), each)
            assert answer == pytest.approx(sorted(each)[3])


def test_an_update_keeps_the_true_side_only():
    family = DatabaseFamily(Universe(1, 1), [[0.0], [0.1], [0.1], [0.7], [0.9]])
    construction = Median(start=family, alpha=0.2)
    query = CutQuery([0], [0])
    assert construction.initial().estimate(query) == 0.1
    higher = construction.update(family, query, 1, 0.8)
    assert higher.databases.tolist() == [[0.7], [0.9]]
    assert construction.update(family, query, -1).databases.tolist() == [[0.0]]
    assert construction.update(higher, query, -1).databases.tolist() == [[0.7]]
    with pytest.raises(HypothesisError, match="no database"):
        construction.update(construction.update(family, query, -1), query, 1)


def test_a_net_is_near_every_database_and_not_larger_than_needed():
    queries = cuts_of(FOUR)
    family = all_graphs(FOUR)
    answers = np.stack([family.answers(query) for query in queries], axis=1)
    sizes = []
    for alpha in (0.5, 1.5, 2.5, 100.0):
        net = alpha_net(family, queries, alpha)
        members = np.stack([net.answers(query) for query in queries], axis=1)
        distances = np.abs(answers[:, None] - members[None]).max(axis=2)
        assert (distances.min(axis=1) < alpha).all()
        apart = np.abs(members[:, None] - members[None]).max(axis=2) + alpha * np.eye(len(net))
        assert (apart >= alpha).all()
        sizes.append(len(net))
    assert sizes[0] == 64 > sizes[1] > sizes[2] > sizes[3] == 1


def test_small_databases_of_the_given_size_are_near_every_truth():
    """Claim A.3 on all graphs with three edges and all single-pair queries."""
    universe, total_weight, alpha = Universe(2, 2), 3.0, 1.2
    queries = cuts_of(universe)
    size = small_database_size(alpha=alpha, total_weight=total_weight, queries=len(queries))
    assert size <= small_database_size(
        alpha=alpha, total_weight=total_weight, queries=len(queries), rule="as printed"
    )
    family = small_databases(universe, total_weight=total_weight, size=size)
    members = np.stack([family.answers(query) for query in queries], axis=1)
    for truth in all_graphs(universe, 3).databases:
        answers = [query.value(truth.reshape(2, 2), bipartite=True) for query in queries]
        assert (np.abs(members - answers).max(axis=1) < alpha).any()
    sequence = UpdateSequence(Median(start=family, alpha=alpha), [[1, 1], [1, 0]])
    for query in queries:
        if abs(sequence.discrepancy(query)) >= alpha:
            sequence.update(query)
    assert sequence.count <= math.log2(len(family))


def test_sizes_as_formulas():
    assert small_database_size(
        alpha=2, total_weight=10, queries=100, rule="as printed"
    ) == math.ceil(25 * math.log(100))
    assert (
        small_database_size(alpha=2, total_weight=10, queries=100)
        == math.floor(12.5 * math.log(200)) + 1
    )
    assert small_database_size(alpha=10, total_weight=1, queries=1) == 1
